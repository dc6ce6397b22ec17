package fleet

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/variantgen"
)

// Ground is what a run of a fleet went by, as far as the documents say: the next reading
// is held against it to find what a change concerns. It is small, and holds no document.
type Ground struct {
	whole    bool   // something is so that every change concerns the whole
	all      string // digest of the documents that concern everything
	sets     string
	variants map[decide.Identity]footing
	objects  map[source.Key]string
	catalogs []string // addresses
}

// footing is what a variant stands on.
type footing struct {
	digest   string
	at, from string // where it stands and where it comes from, by observe.ShardKey
	injects  []objectName
}

// objectName names an object of a kind that is known, or, as injectors do, of any.
type objectName struct{ namespace, name string }

// GroundOf reads nothing but what was read.
func GroundOf(f *source.Fleet) *Ground {
	g := &Ground{variants: map[decide.Identity]footing{}, objects: map[source.Key]string{}}
	// What could not be read may be anything.
	g.whole = len(f.Problems)+len(f.Rejected)+len(f.Offered) > 0
	at := map[objectName]string{}
	for _, r := range f.Repositories {
		at[objectName{r.Namespace, r.Name}] = observe.ShardKey(r)
	}
	key := func(namespace, name string) string {
		if k, ok := at[objectName{namespace, name}]; ok {
			return k
		}
		return observe.UnregisteredKey(namespace, name)
	}
	for _, i := range f.Installations {
		// Revisions beyond a limit go with what is pruned.
		g.whole = g.whole || i.Spec.HistoryLimit != nil && *i.Spec.HistoryLimit > 0
	}
	for _, c := range f.Catalogs {
		for _, s := range c.Spec.Sources {
			if s.Git != nil {
				g.catalogs = append(g.catalogs, repositoryKey(s.Git.Repo))
			}
		}
	}
	g.all, g.sets = g.digest(f.Manager, f.Repositories, f.Installations, f.Catalogs, f.Locks), g.digest(f.Sets)
	var objects []variantgen.Object
	for _, o := range f.Objects {
		// Versions are objects of their own, for what is injected.
		g.objects[source.Key{Group: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}] = o.Digest()
		objects = append(objects, targetOf(o))
	}
	result := variantgen.ExpandAll(variantgen.NewEnv(variantgen.Inputs{
		Repositories: f.Repositories, Objects: objects, Written: f.Variants,
		Upstreams: variantgen.UpstreamFunc(func(string, v1alpha1.Upstream) (variantgen.Metadata, error) {
			return variantgen.Metadata{}, errors.New("upstreams are read by a run")
		}),
	}), f.Sets...)
	g.whole = g.whole || len(result.Failures) > 0
	annotations := map[objectName]map[string]string{} // of sets
	for _, s := range f.Sets {
		annotations[objectName{s.Namespace, s.Name}] = s.Annotations
	}
	add := func(pv *v1alpha1.PackageVariant, set string) {
		d := pv.Spec.Downstream
		v := footing{at: key(pv.Namespace, d.Repo), digest: g.digest(pv, set, annotations[objectName{pv.Namespace, set}])}
		if up := pv.Spec.Upstream; up != nil {
			v.from = key(pv.Namespace, up.Repo)
		}
		for _, i := range pv.Spec.Injectors {
			v.injects = append(v.injects, objectName{pv.Namespace, i.Name})
		}
		g.variants[decide.Identity{Namespace: pv.Namespace, Repository: d.Repo, Package: d.Package}] = v
	}
	for n, pv := range result.Variants {
		add(pv, result.Origin(n).Set)
	}
	for _, pv := range result.Written {
		add(pv, "")
	}
	return g
}

// repositoryKey is the observe.ShardKey of the Git repository at an address.
func repositoryKey(address string) string {
	r := &v1alpha1.Repository{}
	r.Spec.Git = &v1alpha1.GitRepository{Repo: address}
	return observe.ShardKey(r)
}

func (g *Ground) digest(values ...any) string {
	data, err := json.Marshal(values)
	g.whole = g.whole || err != nil // it is not told from any other
	return decide.Digest(string(data))
}

// Upstreams are the Git repositories of packages, by observe.ShardKey, where they are
// what variants are made from.
func (g *Ground) Upstreams(packages []decide.Identity) (out []string) {
	moved := map[string]bool{}
	for _, id := range packages {
		moved[g.variants[id].at] = true // those that no variant stands for are no upstreams
	}
	for _, v := range g.variants {
		if v.from != "" && moved[v.from] && !slices.Contains(out, v.from) {
			out = append(out, v.from)
		}
	}
	slices.Sort(out)
	return out
}

// Since says which Git repositories a run must look at after one that went by an older
// Ground, by observe.ShardKey and sorted: those of variants that are other than then, or
// whose injectors name an object that is, those that moved, and those of what is made from
// any of them. asking are repositories of targets that need something, for which the
// resolver chooses among what all others are made from.
//
// ok is false where the whole fleet is to be decided: a set has shrunk, so that something
// may go, which only the whole can tell of; documents have changed that concern all; or
// something is not known.
func (g *Ground) Since(old *Ground, moved, asking []string) (part []string, ok bool) {
	if old == nil || g.whole || old.whole || g.all != old.all || slices.ContainsFunc(moved, func(k string) bool { return slices.Contains(g.catalogs, k) }) {
		return nil, false
	}
	for id, was := range old.variants {
		if now, there := g.variants[id]; !there || now.at != was.at {
			return nil, false
		}
	}
	changed := map[objectName]bool{}
	for k, d := range g.objects {
		if old.objects[k] != d {
			changed[objectName{k.Namespace, k.Name}] = true
		}
	}
	for k := range old.objects {
		if _, there := g.objects[k]; !there {
			changed[objectName{k.Namespace, k.Name}] = true
		}
	}
	in := map[string]bool{}
	all := len(changed) > 0 // it may be what the resolver, or an output, goes by
	for _, k := range moved {
		in[k] = true
	}
	for id, v := range g.variants {
		differs := v.digest != old.variants[id].digest
		all = all || differs
		if differs || slices.ContainsFunc(v.injects, func(o objectName) bool { return changed[o] }) {
			in[v.at] = true
		}
	}
	for again := true; again; {
		again = false
		for _, v := range g.variants {
			if in[v.from] {
				all = true
				again = again || !in[v.at]
				in[v.at] = true
			}
		}
		for _, k := range asking {
			if all && !in[k] {
				in[k], again = true, true
			}
		}
	}
	for k := range in {
		part = append(part, k)
	}
	slices.Sort(part)
	// A set that changed and gives the same is told so all the same.
	return part, len(part) > 0 || g.sets == old.sets
}
