package resolver

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// lock records a resolution and the order of all its instances. What is there already and stays keeps what the
// previous lock says of it and of all below it: a resolution does not look into it again.
func (r *Resolution) lock(previous *Lock, after map[string]map[string]bool) *Lock {
	k := &locker{
		r: r, previous: previous, old: map[string]*LockedPackage{}, there: map[string]bool{}, kept: map[string]bool{}, after: map[string]map[string]bool{},
		instances: map[string]*Instance{}, wires: map[string][]v1alpha1.LockedWiring{}, made: map[madeWire]bool{},
		out: &Lock{CustomResourceDefinitions: map[string]string{}, Compositions: map[string]string{}},
	}
	if previous == nil {
		k.previous = &Lock{}
	}
	for n := range k.previous.Packages {
		p := &k.previous.Packages[n]
		k.old[lockedRef(p)] = p
	}
	if previous == nil {
		k.after = after
	} else { // it grows by what the previous lock knows
		for ref, names := range after {
			k.after[ref] = maps.Clone(names)
		}
	}
	for _, w := range r.Wiring {
		k.wires[w.To] = append(k.wires[w.To], v1alpha1.LockedWiring{Field: w.Field, Template: w.Template, Parent: w.Parent})
	}
	for _, w := range r.made {
		k.made[madeWire{w.To, w.Field, w.Parent}] = true
	}
	for _, i := range r.Instances {
		k.instances[i.Ref()] = i
	}
	for _, i := range r.Instances {
		k.instance(i)
	}
	k.owners()
	for n := 0; n < len(k.out.Packages); n++ { // which grows
		k.below(&k.out.Packages[n])
	}
	k.settle()
	k.plan()
	slices.SortFunc(k.out.Packages, func(a, b LockedPackage) int {
		return strings.Compare(a.Namespace+"\x00"+a.Name, b.Namespace+"\x00"+b.Name)
	})
	return k.out
}

func lockedRef(p *LockedPackage) string {
	return Installation{Name: p.Name, Namespace: p.Namespace}.Ref()
}

// madeWire is a wire that an existing installation got when it was made.
type madeWire struct{ to, field, parent string }

// locker makes a lock of a resolution and the previous lock.
type locker struct {
	r         *Resolution
	instances map[string]*Instance // r.Instances by ref
	previous  *Lock
	old       map[string]*LockedPackage // previous.Packages by ref
	out       *Lock
	wires     map[string][]v1alpha1.LockedWiring // of what is made now, by ref
	made      map[madeWire]bool
	there     map[string]bool // refs of out.Packages
	kept      map[string]bool // refs of what the previous lock has as well, and stays
	after     map[string]map[string]bool
}

func (k *locker) add(p LockedPackage) {
	k.there[lockedRef(&p)] = true
	k.out.Packages = append(k.out.Packages, p)
}

// instance records one instance. Nothing in it names another instance's version: a change of that one would
// change these lines as well.
func (k *locker) instance(i *Instance) {
	p := LockedPackage{Name: i.Name, Namespace: i.Namespace, Version: i.Version, Source: i.Source, Digest: i.Digest, Share: i.apart()}
	if i.Package != i.Name {
		p.Package = i.Package
	}
	for n := range i.Bindings {
		if b := &i.Bindings[n]; b.Installation != "" {
			p.Dependencies = append(p.Dependencies, v1alpha1.LockedEdge{Alias: b.Alias, Namespace: b.Namespace, Name: b.Installation})
		}
	}
	slices.SortFunc(p.Dependencies, v1alpha1.LockedEdge.Compare)
	p.Dependencies = slices.Compact(p.Dependencies)
	p.Wiring = k.wires[i.Ref()]
	old := k.old[i.Ref()]
	if p.Digest == "" && old != nil && lockedPackage(old) == i.Package && old.Version == i.Version {
		p.Digest = old.Digest // that the catalogue knows none takes nothing back
	}
	if i.Existing && old != nil && lockedPackage(old) == i.Package {
		p.Share = cmp.Or(p.Share, old.Share)
		k.kept[i.Ref()] = true
		if len(i.Bindings) == 0 && i.stays() {
			p.Dependencies = old.Dependencies
		}
		p.Wiring = append(p.Wiring, k.stillWired(i, old.Wiring)...)
	}
	k.add(p)
}

// stillWired are the wires of an installation from when it was made: its own outputs while it stays, and its
// inputs while their parents stay or still map them.
func (k *locker) stillWired(i *Instance, wires []v1alpha1.LockedWiring) []v1alpha1.LockedWiring {
	var out []v1alpha1.LockedWiring
	for _, w := range wires {
		parent := k.instances[w.Parent]
		switch {
		case strings.HasPrefix(w.Field, "outputs."):
			if !i.stays() {
				continue
			}
		case parent == nil || parent.stays():
		case !k.made[madeWire{i.Ref(), w.Field, w.Parent}]:
			continue
		}
		out = append(out, w)
	}
	return out
}

// owners records who owns which API.
func (k *locker) owners() {
	for _, i := range k.r.Instances {
		if i.manifest == nil {
			continue
		}
		for _, p := range i.manifest.Provides {
			if p.GVK != nil {
				k.out.CustomResourceDefinitions[p.GVK.GroupKind()] = i.Ref()
			}
		}
		for _, c := range i.manifest.Compositions {
			k.out.Compositions[c] = i.Ref()
		}
	}
}

// below takes over what an instance that stays depends on, with what that owns.
func (k *locker) below(p *LockedPackage) {
	from := lockedRef(p)
	if !k.kept[from] {
		return
	}
	for _, d := range p.Dependencies {
		to := d.Ref()
		if k.after[from] == nil {
			k.after[from] = map[string]bool{}
		}
		k.after[from][to] = true
		old := k.old[to]
		if k.there[to] || old == nil {
			continue
		}
		k.kept[to] = true
		k.add(*old)
		take := func(into, owners map[string]string) {
			for what, owner := range owners {
				if _, taken := into[what]; (owner == to || owner == old.Name && k.old[owner] == nil) && !taken {
					into[what] = owner
				}
			}
		}
		take(k.out.CustomResourceDefinitions, k.previous.CustomResourceDefinitions)
		take(k.out.Compositions, k.previous.Compositions)
	}
}

// settle says of each instance who asked for it, drops the wiring of parents that are gone, and sorts the rest.
func (k *locker) settle() {
	who := k.r.askers()
	for n := range k.out.Packages {
		p := &k.out.Packages[n]
		i, asked := k.instances[lockedRef(p)], who[lockedRef(p)]
		if k.kept[lockedRef(p)] {
			asked = append(asked, k.askedBefore(k.old[lockedRef(p)])...)
		}
		setAsked(p, i != nil && i.Requested, asked)
		p.Wiring = slices.DeleteFunc(slices.Clone(p.Wiring), func(w v1alpha1.LockedWiring) bool { return !k.there[w.Parent] })
		slices.SortStableFunc(p.Wiring, func(a, b v1alpha1.LockedWiring) int { return strings.Compare(a.Field, b.Field) })
	}
}

// askedBefore are those who needed a locked package, stay and are not looked into.
func (k *locker) askedBefore(old *LockedPackage) []v1alpha1.LockedEdge {
	return slices.DeleteFunc(slices.Clone(old.NeededBy), func(who v1alpha1.LockedEdge) bool {
		i := k.instances[who.Ref()]
		return !k.kept[who.Ref()] || i != nil && !i.stays()
	})
}

// plan orders all instances. Those that stay keep the order that they had, unless that contradicts what is needed now.
func (k *locker) plan() {
	refs := sortedKeys(k.there)
	if len(k.kept) == 0 {
		k.out.Plan, _ = waves(refs, k.after)
		return
	}
	before := map[string]map[string]bool{}
	for ref, names := range k.after {
		before[ref] = maps.Clone(names)
	}
	var last []string
	for _, wave := range k.previous.Plan {
		kept := slices.DeleteFunc(slices.Clone(wave), func(ref string) bool { return !k.kept[ref] })
		for _, ref := range kept {
			if before[ref] == nil {
				before[ref] = map[string]bool{}
			}
			for _, l := range last {
				before[ref][l] = true
			}
		}
		if len(kept) > 0 {
			last = kept
		}
	}
	var ok bool
	if k.out.Plan, ok = waves(refs, before); !ok {
		k.out.Plan, _ = waves(refs, k.after)
	}
}

// setAsked notes in a lock who wants a package, as data and in a line for people.
func setAsked(p *LockedPackage, requested bool, who []v1alpha1.LockedEdge) {
	slices.SortFunc(who, v1alpha1.LockedEdge.Compare)
	p.Requested, p.NeededBy = requested, slices.Compact(who)
	var texts []string
	for _, e := range p.NeededBy {
		texts = append(texts, strings.TrimSuffix(e.Ref()+" as "+e.Alias, " as "))
	}
	slices.Sort(texts)
	switch text := strings.Join(texts, ", "); {
	case requested && text == "":
		p.Why = "asked for"
	case requested:
		p.Why = "asked for, and needed by " + text
	case text == "":
		p.Why = ""
	default:
		p.Why = "needed by " + text
	}
}

// WithoutAskers removes the packages that are not there from those that need a locked package.
func WithoutAskers(p *LockedPackage, there func(ref string) bool) {
	setAsked(p, p.Requested, slices.DeleteFunc(slices.Clone(p.NeededBy), func(e v1alpha1.LockedEdge) bool { return !there(e.Ref()) }))
}

// askers lists who needs each instance, by ref.
func (r *Resolution) askers() map[string][]v1alpha1.LockedEdge {
	out := map[string][]v1alpha1.LockedEdge{}
	for _, p := range r.Instances {
		for n := range p.Bindings {
			if b := &p.Bindings[n]; b.Installation != "" {
				out[ref(b)] = append(out[ref(b)], v1alpha1.LockedEdge{Alias: b.Alias, Namespace: p.Namespace, Name: p.Name})
			}
		}
	}
	return out
}
