package resolver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/resolver/internal/solve"
)

// edge leads from an instance to one that it needs, by way of the slots that were decided for it.
type edge struct {
	to      *slot
	via     []*slot // a choice, where there was one
	info    *info
	option  *option // nil for a dependent that moves along
	support bool
}

// edges are the instances that an instance needs under an assignment.
func (u *universe) edges(s *slot, a solve.Assignment) []edge {
	infos := u.infosOf(s, a.Value(s.id))
	out := make([]edge, 0, len(infos))
	for n := range infos {
		i := &infos[n]
		if i.need.Slot <= 0 || i.need.Allowed.Has(0) {
			continue
		}
		to := u.slots[i.need.Slot]
		e := edge{to: to, info: i, option: i.static}
		if to.kind == slotChoice {
			e.option = &to.options[a.Value(to.id)-1]
			e.via = append(e.via, to)
			if e.option.slot < 0 {
				continue
			}
			e.to, e.support = u.slots[e.option.slot], e.option.support
		}
		out = append(out, e)
	}
	return out
}

// Check implements solve.Source: package cycles, wiring cycles, two owners of one API, and things that only
// keep one another in the graph.
func (u *universe) Check(a solve.Assignment) []solve.Clause {
	if c := u.cycle(a); c != nil {
		return c
	}
	if c := u.owners(a); c != nil {
		return c
	}
	return u.unfounded(a)
}

// reachable lists the instances of an assignment in the order of a walk from the root.
func (u *universe) reachable(a solve.Assignment, supported bool) []*slot {
	seen := map[int32]bool{solve.Root: true}
	queue := []*slot{u.slots[solve.Root]}
	for at := 0; at < len(queue); at++ {
		for _, e := range u.edges(queue[at], a) {
			if !seen[e.to.id] && (supported || !e.support) {
				seen[e.to.id] = true
				queue = append(queue, e.to)
			}
		}
	}
	return queue
}

// before are the edges that order the execution: what an instance needs runs before it, and what one of
// its dependencies reads of another, or is to come after, runs before that one.
func (u *universe) before(s *slot, a solve.Assignment) map[int32][]edge {
	out := map[int32][]edge{}
	byAlias := map[string]edge{}
	for _, e := range u.edges(s, a) {
		if e.info.req == nil { // a dependent that moves along waits for nothing
			continue
		}
		byAlias[e.info.req.Alias] = e
		out[s.id] = append(out[s.id], e)
	}
	wait := func(e edge, alias string) {
		if src, there := byAlias[alias]; there && src.to != e.to {
			src.via = append(slices.Clone(src.via), e.via...)
			out[e.to.id] = append(out[e.to.id], src)
		}
	}
	for _, alias := range sortedKeys(byAlias) {
		e := byAlias[alias]
		for _, t := range e.info.req.templates() {
			for _, p := range paths(t.text) {
				if ref, ok := dependencyOutput(p); ok {
					wait(e, ref.alias)
				}
			}
		}
		for _, first := range e.info.req.After {
			wait(e, first)
		}
	}
	return out
}

// cycle finds a cycle among what must run before what, and forbids the choices that make it.
func (u *universe) cycle(a solve.Assignment) []solve.Clause {
	next := map[int32][]edge{}
	order := u.reachable(a, true)
	for _, s := range order {
		for from, es := range u.before(s, a) {
			next[from] = append(next[from], es...)
		}
	}
	color := map[int32]int{}
	var path []int32
	var found []int32
	var visit func(id int32) bool
	visit = func(id int32) bool {
		color[id] = 1
		path = append(path, id)
		for _, e := range next[id] {
			if color[e.to.id] == 1 {
				found = append([]int32(nil), path[slices.Index(path, e.to.id):]...)
				return true
			}
			if color[e.to.id] == 0 && visit(e.to.id) {
				return true
			}
		}
		path = path[:len(path)-1]
		color[id] = 2
		return false
	}
	for _, s := range order {
		if color[s.id] == 0 && visit(s.id) {
			return []solve.Clause{u.forbid(a, found, next)}
		}
	}
	return nil
}

// forbid is the clause that one of the values on a cycle must be another.
func (u *universe) forbid(a solve.Assignment, cycle []int32, next map[int32][]edge) solve.Clause {
	c := solve.Clause{Tag: int32(len(u.cycles))}
	used := map[int32]bool{}
	not := func(s *slot) {
		if !used[s.id] {
			used[s.id] = true
			c.Literals = append(c.Literals, solve.Literal{Slot: s.id, Set: u.except(s, a.Value(s.id))})
		}
	}
	var names []string
	for i, id := range cycle {
		s := u.slots[id]
		not(s)
		names = append(names, s.pkg)
		to := cycle[(i+1)%len(cycle)]
		for _, e := range next[id] {
			if e.to.id == to {
				for _, v := range e.via {
					not(v)
				}
				break
			}
		}
	}
	// A wiring edge is made by the parent of both ends: every parent of what is on the cycle takes part.
	for _, s := range u.reachable(a, true) {
		for from, es := range u.before(s, a) {
			if from != s.id && used[from] && slices.ContainsFunc(es, func(e edge) bool { return used[e.to.id] }) {
				not(s)
			}
		}
	}
	names = append(names, names[0])
	u.cycles = append(u.cycles, checked{Cycle, "each must be there before the other: " + strings.Join(names, " needs ")})
	return c
}

// except is the set of all values of a slot but one, absence included.
func (u *universe) except(s *slot, v int32) solve.Set {
	set := allOf(u.Size(s.id))
	set.Add(0)
	set.Remove(int(v))
	return set
}

// owners finds an API that two instances would own, and forbids it for all versions that do.
func (u *universe) owners(a solve.Assignment) []solve.Clause {
	owner := map[string]*slot{}
	chosen := map[*Installation]bool{}
	selected := u.reachable(a, true)
	for _, s := range selected {
		if s.inst != nil {
			chosen[s.inst] = true
		}
	}
	for _, s := range selected {
		for _, api := range u.owned(s, a.Value(s.id)) {
			other := owner[api]
			if other == nil {
				owner[api] = s
				continue
			}
			return []solve.Clause{u.clash(fmt.Sprintf("both %s and %s would own %s", other.pkg, s.pkg, api), api, other, s)}
		}
	}
	for _, i := range u.insts {
		v := u.manifest(i)
		if chosen[i] || v == nil {
			continue
		}
		for _, p := range v.Provides {
			if p.GVK == nil || owner[p.GVK.GroupKind()] == nil {
				continue
			}
			s := owner[p.GVK.GroupKind()]
			return []solve.Clause{u.clash(fmt.Sprintf("%s would own %s, which the installation %s owns", s.pkg, p.GVK.GroupKind(), i.Ref()), p.GVK.GroupKind(), s)}
		}
	}
	return nil
}

// owned are the APIs that a version owns, by group and kind.
func (u *universe) owned(s *slot, value int32) []string {
	if s.kind == slotChoice || s.kind == slotRoot || value < 1 || int(value) > len(s.cands) || s.cands[value-1].v == nil {
		return nil
	}
	var out []string
	for _, p := range s.cands[value-1].v.Provides {
		if p.GVK != nil && !slices.Contains(out, p.GVK.GroupKind()) {
			out = append(out, p.GVK.GroupKind())
		}
	}
	return out
}

func (u *universe) clash(text, api string, slots ...*slot) solve.Clause {
	c := solve.Clause{Tag: int32(len(u.cycles))}
	for _, s := range slots {
		set := solve.NewSet(u.Size(s.id)+1, 0)
		for v := 1; v <= u.Size(s.id); v++ {
			if !slices.Contains(u.owned(s, int32(v)), api) {
				set.Add(v)
			}
		}
		c.Literals = append(c.Literals, solve.Literal{Slot: s.id, Set: set})
	}
	u.cycles = append(u.cycles, checked{OwnershipConflict, text})
	return c
}

// unfounded finds instances that are there only because an API is wanted of them, which must not bring
// anything in by itself: either something else needs one of them, or the choice must be another.
func (u *universe) unfounded(a solve.Assignment) []solve.Clause {
	founded := map[int32]bool{}
	for _, s := range u.reachable(a, false) {
		founded[s.id] = true
	}
	for _, s := range u.reachable(a, true) {
		for _, e := range u.edges(s, a) {
			if !e.support || founded[e.to.id] {
				continue
			}
			choice := e.via[0]
			c := solve.Clause{Tag: int32(len(u.cycles))}
			c.Literals = append(c.Literals, solve.Literal{Slot: choice.id, Set: u.except(choice, a.Value(choice.id))})
			c.Literals = append(c.Literals, u.supporters(e.to, founded)...)
			g := e.option.req.GVK
			u.cycles = append(u.cycles, checked{MissingProvider, fmt.Sprintf("%s provides %s, but nothing else needs it, and providers are not searched for", e.to.pkg, g)})
			return []solve.Clause{c}
		}
	}
	return nil
}

// supporters are the values of slots that need a slot other than for an API. All of the graph that can
// be reached is looked at, so that none is missed.
func (u *universe) supporters(to *slot, _ map[int32]bool) []solve.Literal {
	var out []solve.Literal
	for id := int32(0); int(id) < len(u.slots); id++ {
		s := u.slots[id]
		set, any := solve.NewSet(u.Size(id)+1), false
		for v := int32(1); int(v) <= u.Size(id); v++ {
			if s.kind == slotChoice && s.options[v-1].support {
				continue
			}
			for _, n := range u.Needs(id, v) {
				if n.Slot == to.id && !n.Allowed.Has(0) && id != to.id {
					set.Add(int(v))
					any = true
				}
			}
		}
		if any && id != solve.Root {
			out = append(out, solve.Literal{Slot: id, Set: set})
		}
	}
	return out
}
