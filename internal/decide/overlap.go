package decide

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/api"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/krm"
)

// Party is a package of a target, with what it brings to the cluster.
type Party struct {
	Ref     string // its path below the target
	Objects []contents.Object
	// Published are those of what is Published, where that was asked for.
	Published []contents.Object
	// New says that this run would draft it so; There that a revision of it is there.
	New, There bool
	// Derived says that the target needs it alone, Takes that it needs others, or
	// others need it. Package is what it is an instance of, "" where unknown.
	Derived, Takes bool
	Package        string
}

// Party is a wanted package of the target.
func (t *Target) Party(ref string) Party {
	p := Party{Ref: ref}
	if w := t.Wants[ref]; w != nil {
		p.Derived = w.Derived
	}
	if t.Answer == nil || t.Answer.Resolution == nil {
		return p
	}
	if i := t.Answer.Resolution.Find(ref); i != nil {
		p.Package = i.Package
		p.Takes = p.Derived || len(i.Bindings) > 0 || len(t.Answer.Requirers(ref)) > 0
	}
	return p
}

// Overlaps finds the objects that two packages of a cluster bring. Of those that
// take part in dependencies it refuses what comes last, by path below the target;
// of others, and of what is there already, it warns.
func Overlaps(parties []Party) (refused map[string]error, warnings []string) {
	refused = map[string]error{}
	slices.SortStableFunc(parties, func(a, b Party) int {
		return cmp.Or(last(a.New, b.New), last(!a.There, !b.There), last(a.Derived, b.Derived), strings.Compare(a.Ref, b.Ref))
	})
	type claim struct {
		*Party
		at *contents.Object
	}
	claimed := map[krm.ID]claim{}
	for n := range parties {
		p := &parties[n]
		met := map[string][]string{} // what is there twice, by the other's path
		refuse := map[string]bool{}
		for _, o := range p.Objects {
			c, ok := claimed[o.ID]
			if !ok || c.Ref == p.Ref || !o.Placed() && !p.beside(c.Party) {
				continue
			}
			met[c.Ref] = append(met[c.Ref], fmt.Sprintf("%s (%s, %s)", o.ID, c.at.Place(c.Ref), o.Place(p.Ref)))
			had := slices.ContainsFunc(p.Published, func(was contents.Object) bool { return was.ID == o.ID })
			refuse[c.Ref] = refuse[c.Ref] || p.New && (p.Takes || c.Takes) && o.Placed() && !had
		}
		for _, other := range slices.Sorted(maps.Keys(met)) {
			twice := fmt.Sprintf("packages %s and %s both bring %s", other, p.Ref, met[other][0])
			if more := len(met[other]) - 1; more > 0 {
				twice += fmt.Sprintf(" and %s more", count.Of(more, "object"))
			}
			switch {
			case refuse[other] && refused[p.Ref] == nil:
				refused[p.Ref] = Stalled("%s: a cluster has one of it, so give one of them another namespace or other names (by a parameter of the package, in its Installation), or let both use one instance (share of the requirement)", twice)
			case !refuse[other]:
				warnings = append(warnings, twice+": in one cluster each overwrites the other, so remove one, or give it another namespace or other names")
			}
		}
		if refused[p.Ref] != nil {
			continue
		}
		for k := range p.Objects {
			o := &p.Objects[k]
			if _, ok := claimed[o.ID]; !ok && o.Name != "" && !o.Common() {
				claimed[o.ID] = claim{p, o}
			}
		}
	}
	return refused, warnings
}

// Unserved warns of objects that this run would draft and whose API nothing serves
// that is known of the target: the first of each API in a package.
func Unserved(parties []Party, served []contents.GVK) (warnings []string) {
	for n := range parties {
		p := &parties[n]
		said := map[contents.GVK]bool{}
		for _, o := range p.Objects {
			g := o.GVK()
			if !p.New || o.Declared || said[g] || contents.BuiltIn(o.Group) || slices.Contains(served, g) {
				continue
			}
			said[g] = true
			what, do := "which nothing here serves", "bring a package that does, or say in annotation "+variformv1alpha1.APIsAnnotation+" of the Repository that the cluster has it"
			if versions := servedAs(served, g); len(versions) > 0 {
				slices.Sort(versions)
				what = "and " + strings.Join(slices.Compact(versions), ", ") + " is served here"
				do = "take a version of either that suits the other"
			}
			warnings = append(warnings, fmt.Sprintf("package %s: %s (%s) is of the API %s, %s: %s", p.Ref, o.ID, o.Place(p.Ref), g, what, do))
		}
	}
	return warnings
}

// Unmade warns of objects that this run would draft into a namespace that nothing makes
// which is known of the target: the first of each in a package. Where no package makes a
// namespace and none is said to be there, something else makes them all.
func Unmade(parties []Party, there []string) (warnings []string) {
	made := slices.Clone(there)
	for n := range parties {
		for _, o := range parties[n].Objects {
			if o.Group == "" && o.Kind == "Namespace" {
				made = append(made, o.Name)
			}
		}
	}
	if len(made) == 0 || slices.Contains(there, anyNamespace) {
		return nil
	}
	for n := range parties {
		p := &parties[n]
		said := map[string]bool{}
		for _, o := range p.Objects {
			ns := o.Namespace
			if !p.New || ns == "" || said[ns] || ns == api.DefaultNamespace || strings.HasPrefix(ns, "kube-") || slices.Contains(made, ns) {
				continue
			}
			said[ns] = true
			warnings = append(warnings, fmt.Sprintf("package %s: %s (%s) is in namespace %s, which nothing here makes: bring a package that does, or say in annotation %s of the Repository that the cluster has it (%s for all)",
				p.Ref, o.ID, o.Place(p.Ref), ns, variformv1alpha1.NamespacesAnnotation, anyNamespace))
		}
	}
	return warnings
}

// anyNamespace stands for all in a list of namespaces that are there.
const anyNamespace = "*"

// beside says that two are instances of one package in one folder: what names no
// namespace is one object wherever a deployer puts them.
func (p *Party) beside(o *Party) bool {
	return p.Package != "" && p.Package == o.Package && path.Dir(p.Ref) == path.Dir(o.Ref)
}

// last orders what is so behind what is not.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Alike tells what each of some targets is warned of, each warning once with the
// targets that have it.
func Alike(warnings map[string][]string) (out []string) {
	where := map[string][]string{}
	for _, target := range slices.Sorted(maps.Keys(warnings)) {
		for _, text := range warnings[target] {
			where[text] = append(where[text], target)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(where)) {
		out = append(out, fmt.Sprintf("target %s: %s", strings.Join(Limit(where[text], 3), ", "), text))
	}
	return out
}
