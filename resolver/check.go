package resolver

import (
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/resolver/internal/solve"
)

// edge leads from an instance to one that it needs, or that is to be there before it, by way of the slots that were
// decided for it.
type edge struct {
	to      *slot
	by      *slot   // whose requirements make it: the instance itself, or what needs both
	via     []*slot // choices, where there were some
	info    *info
	option  *option // nil for a dependent that moves along
	support bool
}

// edges are the instances that an instance needs under an assignment.
func (u *universe) edges(s *slot, a solve.Assignment) []edge { return u.edgesAt(s, a.Value(s.id), a) }

// edgesAt are those that it would need with another version of its own.
func (u *universe) edgesAt(s *slot, value int32, a solve.Assignment) []edge {
	infos := u.infosOf(s, value)
	u.work.Spend(checkSteps * len(infos))
	out := make([]edge, 0, len(infos))
	for n := range infos {
		i := &infos[n]
		if i.need.Slot <= 0 || i.need.Allowed.Has(0) {
			continue
		}
		to := u.slots[i.need.Slot]
		e := edge{to: to, by: s, info: i, option: i.static}
		if to.kind == slotChoice {
			chosen := a.Value(to.id)
			if chosen == 0 { // of a version that the assignment does not have
				continue
			}
			e.option = &to.options[chosen-1]
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

// Check implements solve.Source: package cycles, wiring cycles, two owners of one API or object, and things that only
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
	return u.beforeAt(s, a.Value(s.id), a)
}

func (u *universe) beforeAt(s *slot, value int32, a solve.Assignment) map[int32][]edge {
	out := map[int32][]edge{}
	byAlias := map[string]edge{}
	for _, e := range u.edgesAt(s, value, a) {
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

// cycle finds cycles among what must run before what, and forbids the choices that make them.
func (u *universe) cycle(a solve.Assignment) []solve.Clause {
	next := map[int32][]edge{}
	order := u.reachable(a, true)
	for _, s := range order {
		for from, es := range u.before(s, a) {
			next[from] = append(next[from], es...)
		}
	}
	var out []solve.Clause
	for _, first := range knots(order, next) {
		way := around(first, next)
		edges := make([]edge, len(way))
		for n, id := range way {
			to := way[(n+1)%len(way)]
			edges[n] = next[id][slices.IndexFunc(next[id], func(e edge) bool { return e.to.id == to })]
		}
		out = append(out, u.forbid(a, way, edges))
	}
	if out == nil {
		out = u.twice(a, order, next)
	}
	return out
}

// twice finds a package that would be made a second time beneath itself, beside the instance that would do, only because
// a need on the way is optional: that is to be a cycle, which goes without the optional need.
func (u *universe) twice(a solve.Assignment, order []*slot, next map[int32][]edge) []solve.Clause {
	present := map[int32]bool{}
	for _, s := range order {
		present[s.id] = true
	}
	for _, s := range order {
		for _, e := range next[s.id] {
			if e.to.kind != slotFresh || e.by != s || len(e.via) != 1 {
				continue
			}
			for n := range e.via[0].options {
				o := &e.via[0].options[n]
				if o.slot < 0 || o.slot == e.to.id || !present[o.slot] || u.slots[o.slot].pkg != e.to.pkg || !o.allowed.Has(int(a.Value(o.slot))) {
					continue
				}
				if way, edges := optionalWay(o.slot, s.id, next); way != nil {
					return []solve.Clause{u.forbid(a, way, append(edges, e))}
				}
			}
		}
	}
	return nil
}

// optionalWay is the shortest way between instances that has an optional need, and its edges; nil where there is none.
func optionalWay(first, last int32, next map[int32][]edge) (way []int32, edges []edge) {
	type state struct {
		id       int32
		optional bool
	}
	type step struct {
		from state
		edge edge
	}
	came := map[state]step{{id: first}: {}}
	for queue := []state{{id: first}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at.id == last && at.optional {
			way = []int32{at.id}
			for at != (state{id: first}) {
				s := came[at]
				at, way, edges = s.from, append(way, s.from.id), append(edges, s.edge)
			}
			slices.Reverse(way)
			slices.Reverse(edges)
			return way, edges
		}
		for _, e := range next[at.id] {
			to := state{e.to.id, at.optional || e.info.req.Optional}
			if _, met := came[to]; !met {
				came[to] = step{at, e}
				queue = append(queue, to)
			}
		}
	}
	return nil, nil
}

// knots are the first instances, in the order of the walk, of the groups in which each waits for all others (the
// strongly connected components of the graph: Tarjan 1972).
func knots(order []*slot, next map[int32][]edge) []int32 {
	at := map[int32]int{} // when it was met, from 1; less than 0 once its group is known
	low := map[int32]int{}
	var stack []int32
	group := map[int32]int32{} // of what waits for itself: a member of its group
	var visit func(id int32)
	visit = func(id int32) {
		at[id] = len(at) + 1
		low[id] = at[id]
		stack = append(stack, id)
		self := false
		for _, e := range next[id] {
			to := e.to.id
			self = self || to == id
			if at[to] == 0 {
				visit(to)
				low[id] = min(low[id], low[to])
			} else if at[to] > 0 {
				low[id] = min(low[id], at[to])
			}
		}
		if low[id] < at[id] {
			return
		}
		k := len(stack) - 1
		for stack[k] != id {
			k--
		}
		for _, m := range stack[k:] {
			if len(stack)-k > 1 || self {
				group[m] = id
			}
			at[m] = -1
		}
		stack = stack[:k]
	}
	var out []int32
	known := map[int32]bool{}
	for _, s := range order {
		if at[s.id] == 0 {
			visit(s.id)
		}
	}
	for _, s := range order {
		if g, ok := group[s.id]; ok && !known[g] {
			known[g] = true
			out = append(out, s.id)
		}
	}
	return out
}

// around is the shortest way from an instance back to it: the shorter a cycle, the more its clause forbids.
func around(first int32, next map[int32][]edge) []int32 {
	from := map[int32]int32{}
	for queue := []int32{first}; ; queue = queue[1:] {
		for _, e := range next[queue[0]] {
			if e.to.id == first {
				var out []int32
				for id := queue[0]; id != first; id = from[id] {
					out = append(out, id)
				}
				out = append(out, first)
				slices.Reverse(out)
				return out
			}
			if _, met := from[e.to.id]; !met {
				from[e.to.id] = queue[0]
				queue = append(queue, e.to.id)
			}
		}
	}
}

// forbid is the clause that not all edges of a cycle can be there. It is about all versions that make them, not just
// those that were chosen, so that a cycle of many versions is found once.
func (u *universe) forbid(a solve.Assignment, cycle []int32, edges []edge) solve.Clause {
	c := solve.Clause{Tag: int32(len(u.cycles))}
	add := func(s *slot, free solve.Set) {
		for n := range c.Literals {
			if c.Literals[n].Slot == s.id {
				for _, v := range free.Values() {
					c.Literals[n].Set.Add(v)
				}
				return
			}
		}
		c.Literals = append(c.Literals, solve.Literal{Slot: s.id, Set: free})
	}
	var names []string
	for i, id := range cycle {
		names = append(names, u.slots[id].pkg)
		e := edges[i]
		add(e.by, u.without(e.by, id, e, a))
		for _, v := range e.via {
			add(v, u.elsewhere(v, a.Value(v.id)))
		}
	}
	names = append(names, names[0])
	text := "each must be there before the other: " + strings.Join(names, " needs ")
	if n := len(cycle); n > maxNamed {
		text = fmt.Sprintf("each of %d must be there before the other: %s needs … needs %s", n, strings.Join(names[:maxNamed-2], " needs "), strings.Join(names[n-1:], " needs "))
	}
	u.cycles = append(u.cycles, checked{Cycle, text})
	return c
}

// maxNamed is how many packages of a cycle are named.
const maxNamed = 12

// without are the values of a slot that do not make an edge in the same way, absence included.
func (u *universe) without(s *slot, from int32, e edge, a solve.Assignment) solve.Set {
	set := u.except(s, a.Value(s.id))
	for _, v := range set.Values() {
		if v > 0 && slices.ContainsFunc(u.beforeAt(s, int32(v), a)[from], func(o edge) bool { return o.to == e.to && slices.Equal(o.via, e.via) }) {
			set.Remove(v)
		}
	}
	return set
}

// elsewhere are the values of a choice that lead to another instance than one of them, absence included.
func (u *universe) elsewhere(s *slot, v int32) solve.Set {
	set := u.except(s, v)
	for n := range s.options {
		if s.options[n].slot == s.options[v-1].slot {
			set.Remove(n + 1)
		}
	}
	return set
}

// except is the set of all values of a slot but one, absence included.
func (u *universe) except(s *slot, v int32) solve.Set {
	set := allOf(u.Size(s.id))
	set.Add(0)
	set.Remove(int(v))
	return set
}

// owners finds an API or object that two instances would own, and forbids it for all versions that do.
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
		for _, what := range v.owned() {
			if s := owner[what]; s != nil {
				return []solve.Clause{u.clash(fmt.Sprintf("%s would own %s, which the installation %s owns", s.pkg, what, i.Ref()), what, s)}
			}
		}
	}
	return nil
}

// owned is what a version owns ([Package.owned]).
func (u *universe) owned(s *slot, value int32) []string {
	if s.kind == slotChoice || s.kind == slotRoot || value < 1 || int(value) > len(s.cands) || s.cands[value-1].v == nil {
		return nil
	}
	return s.cands[value-1].v.owned()
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
