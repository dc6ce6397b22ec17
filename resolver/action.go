package resolver

import (
	"fmt"
	"slices"
)

// Verb is an action on an installation.
type Verb string

// The verbs of Porter PEP003, provisional; installing is [Resolve] alone.
const (
	VerbUpgrade   Verb = "upgrade"
	VerbInvoke    Verb = "invoke"
	VerbUninstall Verb = "uninstall"
)

// Kept is a managed dependency that stays although what managed it goes.
type Kept struct{ Name, Because string }

// Reach is which installations an action acts on.
type Reach struct {
	// ActsOn is in the order of execution: dependencies first, when uninstalling last.
	ActsOn []string
	// Removes, in the same order, and Keeps are of an uninstall.
	Removes []string
	Keeps   []Kept
	// Unused are managed dependencies that nothing uses any more once the action is done, removed or not.
	Unused []string
}

// Act works out which installations an action on one of them reaches (Porter PEP003, provisional: "Post-Install
// Dependency Management"): the managed dependencies, unless dependencies are switched off.
func Act(in Input, verb Verb, namespace, name string, dependencies bool) (*Reach, error) {
	if in.Catalog == nil {
		in.Catalog = emptyCatalog()
	}
	in.Want = nil
	u := newUniverse(in)
	root := u.installation(namespace, name)
	if root == nil {
		return nil, &ConflictError{Kind: MissingInstallation, Summary: fmt.Sprintf("there is no installation %s to %s", name, verb)}
	}
	w := &reach{u: u, verb: verb, seen: map[*Installation]bool{root: true}}
	if verb == VerbUninstall {
		return w.uninstall(root, dependencies), nil
	}
	out := &Reach{}
	if dependencies {
		w.follow(root, out)
	}
	out.ActsOn = append(out.ActsOn, root.Name)
	return out, nil
}

// reach walks the managed dependencies of an installation.
type reach struct {
	u    *universe
	verb Verb
	seen map[*Installation]bool
}

// managed lists the dependencies that an action on an installation reaches, by alias.
func (w *reach) managed(i *Installation) []*Installation {
	var out []*Installation
	lifecycles := map[string]Lifecycle{}
	if v := w.u.manifest(i); v != nil {
		for _, r := range v.Requires {
			lifecycles[r.Alias] = r.Lifecycle
		}
	}
	for _, alias := range sortedKeys(i.Bindings) {
		d := w.u.installation(i.Namespace, i.Bindings[alias])
		l := lifecycles[alias]
		if d == nil || d == i {
			continue
		}
		if w.follows(l) || w.verb == VerbUninstall && i.DeleteDependencies && d.Owner == i.Name {
			out = append(out, d)
		}
	}
	return out
}

// follows says whether the action acts on a dependency with that lifecycle as well.
func (w *reach) follows(l Lifecycle) bool {
	switch w.verb {
	case VerbUpgrade:
		return l.Upgrades()
	case VerbUninstall:
		return l.Removes()
	}
	return l.Invokes()
}

// follow lists what an action reaches, dependencies before what depends on them.
func (w *reach) follow(i *Installation, out *Reach) {
	for _, d := range w.managed(i) {
		if w.seen[d] {
			continue
		}
		w.seen[d] = true
		w.follow(d, out)
		out.ActsOn = append(out.ActsOn, d.Name)
	}
}

// uninstall removes an installation and, one after the other, the managed dependencies that nothing else uses.
func (w *reach) uninstall(root *Installation, dependencies bool) *Reach {
	out := &Reach{Removes: []string{root.Name}}
	gone := []*Installation{root}
	for changed := true; changed; {
		changed = false
		for at := 0; at < len(gone); at++ {
			for _, d := range w.managed(gone[at]) {
				if slices.Contains(gone, d) || w.user(d, gone) != nil {
					continue
				}
				if !slices.Contains(out.Unused, d.Name) {
					out.Unused = append(out.Unused, d.Name)
				}
				if dependencies {
					gone, changed = append(gone, d), true
					out.Removes = append(out.Removes, d.Name)
				}
			}
		}
	}
	for _, i := range gone {
		for _, d := range w.managed(i) {
			if user := w.user(d, gone); user != nil && !slices.ContainsFunc(out.Keeps, func(k Kept) bool { return k.Name == d.Name }) {
				out.Keeps = append(out.Keeps, Kept{d.Name, "still used by " + user.Name})
			}
		}
	}
	out.ActsOn = out.Removes
	return out
}

// user is an installation, not among those that go, which is bound to d.
func (w *reach) user(d *Installation, gone []*Installation) *Installation {
	for _, i := range w.u.insts {
		if slices.Contains(gone, i) || i == d {
			continue
		}
		for _, alias := range sortedKeys(i.Bindings) {
			if w.u.installation(i.Namespace, i.Bindings[alias]) == d {
				return i
			}
		}
	}
	return nil
}
