package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/variantgen"
)

// Names are those that mean the fleet's variants, sorted, as far as its files tell:
// nothing else is read.
func (f *Fleet) Names() []string {
	result := variantgen.ExpandAll(variantgen.NewEnv(variantgen.Inputs{
		Repositories: f.Repositories, Objects: f.Objects, Written: f.Variants,
		Upstreams: variantgen.UpstreamFunc(func(string, v1alpha1.Upstream) (variantgen.Metadata, error) {
			return variantgen.Metadata{}, errors.New("the upstream is not read for its names")
		}),
	}), f.Sets...)
	var names []string
	for i, pv := range result.Variants {
		names = append(names, newWant(pv, result.Origin(i).Set, nil).Names()...)
	}
	for _, pv := range result.Written {
		names = append(names, newWant(pv, "", nil).Names()...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" })
}

// expand turns the fleet's sets and hand-written variants into what is wanted.
func (r *Reader) expand(ctx context.Context, s *Snapshot) {
	f := &r.cfg.Fleet
	env := variantgen.NewEnv(variantgen.Inputs{
		Repositories: f.Repositories, Objects: f.Objects, Written: f.Variants,
		Upstreams: variantgen.UpstreamFunc(func(namespace string, u v1alpha1.Upstream) (variantgen.Metadata, error) {
			return r.upstreamMetadata(ctx, namespace, u)
		}),
	})
	// Nearly all will be wanted, but where other runs see to some repositories, and nothing
	// that is resolved needs to know what goes there.
	if r.TreesAhead && (r.cfg.Dependencies != nil || !slices.ContainsFunc(r.sorted, func(repo *Repo) bool { return repo.closed })) {
		var upstreams sync.WaitGroup
		defer upstreams.Wait()
		upstreams.Go(func() { r.readKeys(ctx, f.named()) })
	}
	sets := make([]*variantgen.Expander, len(f.Sets))
	var asked []upstreamKey
	for i, set := range f.Sets {
		sets[i], _ = variantgen.New(set)
		namespace, upstreams := sets[i].Asks()
		for _, u := range upstreams {
			asked = append(asked, upstreamKey{namespace, u, ""})
		}
	}
	r.readKeys(ctx, asked) // else one after the other
	result := variantgen.Expand(env, sets...)
	statuses := map[string]*Set{}
	annotations := map[string]map[string]string{} // of sets
	for _, set := range f.Sets {
		st := &Set{Namespace: set.Namespace, Name: set.Name}
		statuses[set.Namespace+"/"+set.Name] = st
		annotations[set.Namespace+"/"+set.Name] = set.Annotations
		s.Sets = append(s.Sets, st)
	}
	sort.Slice(s.Sets, func(i, j int) bool {
		a, b := s.Sets[i], s.Sets[j]
		return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
	})
	for _, w := range result.Warnings {
		if st := statuses[w.Namespace+"/"+w.Set]; st != nil {
			st.Warnings = append(st.Warnings, w.String())
			st.Empty = st.Empty || w.Empty
		} else {
			s.Warnings = append(s.Warnings, w.String())
		}
	}
	for _, x := range result.Failures {
		if st := statuses[x.Namespace+"/"+x.Set]; st != nil {
			st.Failures = append(st.Failures, x)
		} else {
			s.Problems = append(s.Problems, x)
		}
	}
	var one sync.Mutex
	for i, pv := range result.Variants {
		set := result.Origin(i).Set
		if st := statuses[pv.Namespace+"/"+set]; st != nil {
			st.Variants++
		}
		w := newWant(pv, set, annotations[pv.Namespace+"/"+set])
		if r.cfg.Blame {
			w.Where = func(steps ...string) (field, expression string) {
				one.Lock() // packages are built side by side
				defer one.Unlock()
				at := result.Where(env, i, steps...)
				return at.Field, at.Expression
			}
		}
		s.Wants = append(s.Wants, w)
	}
	for _, pv := range result.Written {
		s.Wants = append(s.Wants, newWant(pv, "", nil))
	}
	r.markWanted(s.Wants)
}

func newWant(pv *v1alpha1.PackageVariant, set string, ofSet map[string]string) *decide.Want {
	w := &decide.Want{
		Identity: decide.Identity{Namespace: pv.Namespace, Repository: pv.Spec.Downstream.Repo, Package: pv.Spec.Downstream.Package},
		Name:     pv.Name, Set: set, Content: &decide.Variant{Object: pv},
	}
	nearest := func(key string) (own, set string) { return pv.Annotations[key], ofSet[key] }
	var errs [2]error
	w.KeepEdits, errs[0] = decide.OnConflict(nearest(variformv1alpha1.OnConflictAnnotation))
	w.Strategy, errs[1] = decide.UpdateStrategy(nearest(variformv1alpha1.UpdateStrategyAnnotation))
	w.Err = errors.Join(errs[:]...)
	return w
}

// keepNames has variants of sets keep the names under which they own their packages.
func (r *Reader) keepNames(wants []*decide.Want) {
	for _, w := range wants {
		repo := r.RepoOf(w)
		if w.Set == "" || repo == nil {
			continue
		}
		name := decide.KeptName(r.cfg.Manager, w, repo.Packages[repo.Path(w.Package)], func() []string {
			return variantgen.Names(w.Set, w.Repository, w.Package)
		})
		if name != w.Name {
			pv := *w.Variant()
			pv.Name, w.Name, w.Content = name, name, &decide.Variant{Object: &pv}
		}
	}
}

// named are the upstreams that sets and hand-written variants name.
func (f *Fleet) named() (out []upstreamKey) {
	for _, set := range f.Sets {
		for _, u := range set.Spec.AllUpstreams() {
			out = append(out, upstreamKey{api.NamespaceOr(set.Namespace), u, ""})
		}
	}
	for _, pv := range f.Variants {
		if u := pv.Spec.Upstream; u != nil {
			out = append(out, upstreamKey{api.NamespaceOr(pv.Namespace), *u, ""})
		}
	}
	return out
}

// upstreamMetadata is what CEL expressions see of an upstream (docs/design/fan-out.md).
func (r *Reader) upstreamMetadata(ctx context.Context, namespace string, u v1alpha1.Upstream) (variantgen.Metadata, error) {
	up := r.ReadUpstream(ctx, namespace, u)
	if up.Err != nil {
		return variantgen.Metadata{}, up.Err
	}
	k, err := mutate.Read(up.Package, "")
	if err != nil {
		return variantgen.Metadata{}, fmt.Errorf("upstream %s: %w", up.String(), err)
	}
	return variantgen.Metadata{Name: up.PorchName(u.Package), Namespace: namespace, Labels: k.Labels, Annotations: k.Annotations}, nil
}
