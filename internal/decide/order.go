package decide

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/variform/variform/resolver"
)

// This file says in which order the packages of a target are deployed, for those who
// do that (docs/design/dependencies.md#the-order-on-the-cluster).

// Deployers are those that are told of the order. The zero value is nobody.
type Deployers struct {
	ArgoCD, Kpt bool
	Flux        FluxSource
}

// FluxSource is a GitRepository of Flux by namespace and name, "" for none.
type FluxSource struct{ Namespace, Name string }

// bootstrapped is where `flux bootstrap` puts a cluster's repository.
var bootstrapped = FluxSource{"flux-system", "flux-system"}

// add takes a word of the annotation; false for one that means nothing.
func (d *Deployers) add(word string) bool {
	name, source, given := strings.Cut(word, "=")
	ns, repo, whole := strings.Cut(source, "/")
	switch {
	case name == "flux" && whole && ns != "" && repo != "" && !strings.Contains(repo, "/"):
		d.Flux = FluxSource{ns, repo}
	case given:
		return false
	case name == "flux":
		d.Flux = bootstrapped
	case name == "argocd":
		d.ArgoCD = true
	case name == "kpt":
		d.Kpt = true
	default:
		return false
	}
	return true
}

// Asks says whether the target is to be answered: something in it needs something, or
// Flux deploys what its lock names.
func (t *Target) Asks() bool { return t.Target.Wants() || t.Deployers.Flux.Name != "" }

// placed gives the wanted packages of an answered target their place in the order.
// It follows from what each needs alone: a package that comes beside them moves none.
func (t *Target) placed() {
	if t.Deployers == (Deployers{}) {
		return
	}
	g := t.graph()
	depths := g.depths()
	for ref, w := range t.Wants {
		w.Wave, w.After = depths[ref], g[ref].Needs
	}
}

// graph is the lock's graph, in which those whose outputs a package reads are needed,
// too.
func (t *Target) graph() LockGraph {
	g := NewLockGraph(&t.Answer.Lock.Spec)
	for ref, l := range g {
		for _, o := range t.Answer.Resolution.Reads(ref) {
			if g.has(o.Instance) && o.Instance != ref && !slices.Contains(l.Needs, o.Instance) {
				l.Needs = append(l.Needs, o.Instance)
			}
		}
		slices.Sort(l.Needs)
		g[ref] = l
	}
	return g
}

// depths are the lengths of the longest ways down from packages.
func (g LockGraph) depths() map[string]int {
	out := map[string]int{}
	for _, ref := range g.order(slices.Sorted(maps.Keys(g))) {
		for _, d := range g[ref].Needs {
			if g.has(d) {
				out[ref] = max(out[ref], out[d]+1)
			}
		}
	}
	return out
}

// Kustomization is what Flux is told of one package.
type Kustomization struct {
	Name, Path string
	After      []string // names of others
}

// Kustomizations are those of the packages that stand in a target, or are to by its
// lock, whoever made them; nil where Flux is not told of the order.
func (t *Target) Kustomizations(lock *resolver.Lock) []Kustomization {
	if t.Deployers.Flux.Name == "" {
		return nil
	}
	locked := NewLockGraph(lock)
	refs := slices.DeleteFunc(slices.Collect(maps.Keys(t.Wants)), func(ref string) bool {
		return !locked.has(ref) && t.Repo.Package(t.Path(ref)).Latest == nil
	})
	for _, p := range t.Paths {
		if ref, here := t.Below(p); here && p != t.LockPath && t.Wants[ref] == nil && t.Repo.Package(p).Latest != nil {
			refs = append(refs, ref)
		}
	}
	slices.Sort(refs)
	names, g := objectNames(refs), t.graph()
	out := make([]Kustomization, 0, len(refs))
	for _, ref := range refs {
		k := Kustomization{Name: names[ref], Path: "./" + t.Path(ref)}
		for _, d := range g[ref].Needs {
			if names[d] != "" {
				k.After = append(k.After, names[d])
			}
		}
		slices.Sort(k.After)
		out = append(out, k)
	}
	return out
}

// objectNames are packages' paths as names of Kubernetes can be, with a digest where
// two would have one.
func objectNames(refs []string) map[string]string {
	out, taken := map[string]string{}, map[string]int{}
	for _, ref := range refs {
		out[ref] = objectName(ref)
		taken[out[ref]]++
	}
	for ref, name := range out {
		if taken[name] > 1 {
			out[ref] = name + "-" + Digest(ref)[:8]
		}
	}
	return out
}

func objectName(ref string) string {
	return strings.Map(func(r rune) rune {
		if r = unicode.ToLower(r); r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, ref)
}
