package variantgen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Target is one entry of the list that a target's criteria give.
type Target struct {
	Index          int     // into spec.targets
	RepoDefault    string  // the variable repoDefault
	PackageDefault string  // the variable packageDefault
	Object         *Object // the selected object, nil for an explicit list

	repo, pkg int // positions in repositories and packageNames, -1 where defaulted
	object    *object
}

// MaxTargets bounds what one expansion makes of all its sets: criteria multiply
// (targets by objects by packageNames), and a few lines can ask for millions.
const MaxTargets = 100_000

// Targets lists what the set's criteria select, in the order of the document
// and then of the objects' names, and warns about those that select nothing. It
// stops soon after MaxTargets.
func (e *Expander) Targets(env *Env) ([]Target, []Warning) {
	var out []Target
	var warnings []Warning
	for i := range e.targets {
		before := len(out)
		out = e.unroll(env, i, out)
		if len(out) == before && !e.targets[i].broken && len(out) <= MaxTargets {
			warnings = append(warnings, Warning{Origin: e.origin(i), Message: e.emptySelection(env, i), Empty: true})
		}
	}
	return out, warnings
}

func (e *Expander) unroll(env *Env, i int, out []Target) []Target {
	t := &e.targets[i]
	switch {
	case t.broken, len(out) > MaxTargets:
		return out
	case t.spec.RepositorySelector != nil:
		return e.selected(i, env.repositories(e.namespace), out)
	case t.spec.ObjectSelector != nil:
		s := t.spec.ObjectSelector
		return e.selected(i, env.objects[objectKey{s.APIVersion, s.Kind, e.namespace}], out)
	}
	for r := range t.spec.Repositories {
		rt := &t.spec.Repositories[r]
		if len(rt.PackageNames) == 0 {
			out = append(out, Target{Index: i, RepoDefault: rt.Name, PackageDefault: e.upstream.Package, repo: r, pkg: -1})
		}
		for p, name := range rt.PackageNames {
			out = append(out, Target{Index: i, RepoDefault: rt.Name, PackageDefault: name, repo: r, pkg: p})
		}
	}
	return out
}

func (e *Expander) selected(i int, candidates []*object, out []Target) []Target {
	t := &e.targets[i]
	for _, o := range candidates {
		if len(out) > MaxTargets {
			break
		}
		if !t.matches(o) {
			continue
		}
		one := Target{Index: i, RepoDefault: o.Name, PackageDefault: e.upstream.Package, Object: &o.Object, repo: -1, pkg: -1, object: o}
		if len(t.spec.PackageNames) == 0 {
			out = append(out, one)
		}
		for p, name := range t.spec.PackageNames {
			one.PackageDefault, one.pkg = name, p
			out = append(out, one)
		}
	}
	return out
}

func (t *compiledTarget) matches(o *object) bool {
	if s := t.spec.ObjectSelector; s != nil && s.Name != nil && *s.Name != o.Name {
		return false
	}
	return t.selector.Matches(labelMap(o.Labels))
}

// labelMap is labels.Set with a nil map allowed and nothing allocated.
type labelMap map[string]string

func (m labelMap) Has(key string) bool              { _, ok := m[key]; return ok }
func (m labelMap) Get(key string) string            { return m[key] }
func (m labelMap) Lookup(key string) (string, bool) { v, ok := m[key]; return v, ok }

func (e *Expander) emptySelection(env *Env, i int) string {
	t := &e.targets[i]
	switch {
	case t.spec.RepositorySelector != nil:
		return fmt.Sprintf("repositorySelector matches no Repository in namespace %q; %s", e.namespace, labelsOf(env.repositories(e.namespace)))
	case t.spec.ObjectSelector != nil:
		s := t.spec.ObjectSelector
		there := labelsOf(env.objects[objectKey{s.APIVersion, s.Kind, e.namespace}])
		return fmt.Sprintf("objectSelector matches no %s of %s in namespace %q; %s", s.Kind, s.APIVersion, e.namespace, there)
	}
	return "repositories is empty"
}

// describe names a target's entry; only failures and duplicates need it.
func (e *Expander) describe(t *Target) Origin {
	o := e.origin(t.Index)
	switch {
	case t.object == nil:
		o.Description += at(".repositories", t.repo)
		if t.pkg >= 0 {
			o.Description += at(".packageNames", t.pkg)
		}
		o.Description += fmt.Sprintf(" (%s/%s)", t.RepoDefault, t.PackageDefault)
	default:
		kind := ".repositorySelector"
		if e.targets[t.Index].spec.ObjectSelector != nil {
			kind = ".objectSelector"
		}
		o.Description += fmt.Sprintf("%s (%s %s, package %s)", kind, t.object.Kind, t.object.Name, t.PackageDefault)
	}
	return o
}

// shownLabels is how many labels a warning lists.
const shownLabels = 12

// labelsOf says which labels there are to select by, in order.
func labelsOf(candidates []*object) string {
	if len(candidates) == 0 {
		return "there is none there"
	}
	set := map[string]bool{}
	for _, o := range candidates {
		for k, v := range o.Labels {
			set[k+"="+v] = true
		}
	}
	if len(set) == 0 {
		return fmt.Sprintf("the %d there have no labels", len(candidates))
	}
	labels := slices.Sorted(maps.Keys(set))
	if more := len(labels) - shownLabels; more > 0 {
		labels = append(labels[:shownLabels], fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("the %d there have the labels %s", len(candidates), strings.Join(labels, ", "))
}
