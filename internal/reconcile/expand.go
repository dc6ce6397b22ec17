package reconcile

import (
	"context"
	"fmt"
	"sort"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/variantgen"
)

// expand turns the fleet's sets and hand-written variants into the variants
// that are wanted, and fills in the plan's sets.
func (e *Engine) expand(ctx context.Context, plan *Plan) []*variant {
	f := &e.cfg.Fleet
	env := variantgen.NewEnv(variantgen.Inputs{
		Repositories: f.Repositories, Objects: f.Objects, Written: f.Variants,
		Upstreams: variantgen.UpstreamFunc(func(namespace string, u v1alpha1.Upstream) (variantgen.Metadata, error) {
			return e.upstreamMetadata(ctx, namespace, u)
		}),
	})
	result := variantgen.ExpandAll(env, f.Sets...)
	statuses := map[string]*SetStatus{}
	for _, s := range f.Sets {
		st := &SetStatus{Namespace: s.Namespace, Name: s.Name}
		statuses[s.Namespace+"/"+s.Name] = st
		plan.Sets = append(plan.Sets, st)
	}
	sort.Slice(plan.Sets, func(i, j int) bool {
		a, b := plan.Sets[i], plan.Sets[j]
		return a.Namespace+"/"+a.Name < b.Namespace+"/"+b.Name
	})
	for _, w := range result.Warnings {
		if st := statuses[w.Namespace+"/"+w.Set]; st != nil {
			st.Warnings = append(st.Warnings, w.String())
			st.Empty = st.Empty || w.Empty
		} else {
			plan.Warnings = append(plan.Warnings, w.String())
		}
	}
	for _, x := range result.Failures {
		if st := statuses[x.Namespace+"/"+x.Set]; st != nil {
			st.Failures = append(st.Failures, x)
		} else {
			plan.Problems = append(plan.Problems, x)
		}
	}
	out := make([]*variant, 0, len(result.Variants))
	for i, pv := range result.Variants {
		set := result.Origin(i).Set
		if st := statuses[pv.Namespace+"/"+set]; st != nil {
			st.Variants++
		}
		out = append(out, &variant{
			Identity: Identity{pv.Namespace, pv.Spec.Downstream.Repo, pv.Spec.Downstream.Package}, pv: pv, set: set,
		})
	}
	for _, pv := range result.Written {
		out = append(out, &variant{
			Identity: Identity{pv.Namespace, pv.Spec.Downstream.Repo, pv.Spec.Downstream.Package}, pv: pv,
		})
	}
	e.markWanted(out)
	return out
}

// upstreamMetadata is what CEL expressions see of an upstream (design section 4).
func (e *Engine) upstreamMetadata(ctx context.Context, namespace string, u v1alpha1.Upstream) (variantgen.Metadata, error) {
	up := e.resolveUpstream(ctx, namespace, u)
	if up.err != nil {
		return variantgen.Metadata{}, up.err
	}
	k, err := mutate.Read(up.pkg, "")
	if err != nil {
		return variantgen.Metadata{}, fmt.Errorf("upstream %s: %w", up.String(), err)
	}
	return variantgen.Metadata{Name: up.name(u.Package), Namespace: namespace, Labels: k.Labels, Annotations: k.Annotations}, nil
}
