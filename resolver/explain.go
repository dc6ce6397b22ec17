package resolver

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/variform/variform/resolver/internal/solve"
)

const (
	hintTrials = 24 // facts of which it is tried whether going without them helps
	// explainSteps are those that an explanation may take where its search took fewer.
	explainSteps = 2_000_000
)

// refuse tells why the search found nothing. Where that takes more than the search did, more facts may be named than
// are needed, and fewer ways out.
func (u *universe) refuse(s *solve.Solver, res solve.Result) (err error) {
	switch {
	case u.work.Err() != nil:
		return u.work.Err()
	case res.GaveUp:
		return u.gaveUp(s)
	}
	u.work.Within(max(u.work.Steps(), explainSteps), func() { err = u.explain(s) })
	return cmp.Or(u.work.Err(), err)
}

// gaveUp says that neither an answer was found nor a proof that there is none, and where the search was stuck.
func (u *universe) gaveUp(s *solve.Solver) error {
	var stuck []string
	for _, id := range s.Hardest() {
		if p := u.slots[id].pkg; p != "" && !slices.Contains(stuck, p) {
			stuck = append(stuck, p)
		}
	}
	e := &ConflictError{
		Kind: SearchLimit, Summary: u.summary(nil),
		Reasons: []string{fmt.Sprintf("no answer was found in %d steps of the search, and no proof that there is none", u.work.Steps())},
		Hints:   []Hint{{Text: "ask for exact versions of some of the packages, or override the ranges of their dependencies, to leave less to search"}},
	}
	if len(stuck) > 0 {
		e.Reasons = append(e.Reasons, "most of them went into versions that exclude each other, of "+shorten(stuck, 5))
	}
	return e
}

// explain tells why there is no solution, in facts none of which can be left out.
func (u *universe) explain(s *solve.Solver) error {
	facts := solve.Minimize(u, s.Core(), u.work)
	facts = u.merged(facts)
	at := depths(facts)
	slices.SortStableFunc(facts, func(a, b solve.Fact) int { return place(at, a) - place(at, b) })
	asked := u.asked(facts)
	e := &ConflictError{Kind: u.kind(facts), Summary: u.summary(asked), Asked: refsOf(asked)}
	var needs []NeededInput
	first := firstCheck(facts)
	for _, f := range facts {
		if t := u.tell(f); t != "" && !slices.Contains(e.Reasons, t) && !u.besideThePoint(e.Kind, f, first) {
			e.Reasons = append(e.Reasons, t)
		}
		if fl := u.failureOf(f); fl != nil {
			e.Hints = append(e.Hints, fl.hints...)
			if fl.need != nil {
				needs = append(needs, *fl.need)
			}
		}
	}
	e.Hints = unique(append(e.Hints, u.helps(facts)...))
	if len(e.Reasons) > 1 && (len(asked) == 1 || len(u.wants) == 1) {
		e.Reasons = foldFirst(e.Reasons)
	}
	if e.Kind == InputNeeded {
		return &NeedsInputError{Needs: needs, Conflict: e}
	}
	return e
}

// unique is a list without what it has twice, in its order.
func unique[T comparable](list []T) (out []T) {
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// besideThePoint tells whether a fact says no more than another: that a package that is needed is a new one; or, of a
// cycle, that there was no way around it, which ways were tried and that they are cycles as well, and needs that no range
// narrows, which the cycle's own line has.
func (u *universe) besideThePoint(k Kind, f solve.Fact, first int32) bool {
	s := u.slots[f.Slot]
	if s.kind == slotChoice && f.Kind == solve.FactNeed {
		return k == Cycle || s.options[f.Values.Values()[0]-1].fresh
	}
	if k != Cycle || f.Kind != solve.FactNeed || s.kind == slotRoot || u.failureOf(f) != nil {
		return k == Cycle && f.Kind == solve.FactCheck && f.Tag > first
	}
	i := u.infoOf(f, f.Values.Values()[0])
	return i != nil && i.req != nil && i.req.Package != "" && i.req.Version == ""
}

// firstCheck is the lowest tag among facts.
func firstCheck(facts []solve.Fact) int32 {
	first := int32(math.MaxInt32)
	for _, f := range facts {
		if f.Kind == solve.FactCheck {
			first = min(first, f.Tag)
		}
	}
	return first
}

// foldFirst drops the reason that only repeats what was asked for: the summary says it.
func foldFirst(reasons []string) []string {
	if strings.HasPrefix(reasons[0], "you asked for ") {
		return reasons[1:]
	}
	return reasons
}

// merged joins facts that differ in the version alone, so that "every version needs it" is one sentence.
func (u *universe) merged(facts []solve.Fact) []solve.Fact {
	var out []solve.Fact
next:
	for _, f := range facts {
		for i, o := range out {
			if u.alike(f, o) {
				values := o.Values.Clone()
				for _, v := range f.Values.Values() {
					values.Add(v)
				}
				out[i].Values = values
				continue next
			}
		}
		out = append(out, f)
	}
	return out
}

// alike tells whether two facts say the same of versions of one slot. What nothing can meet is the same need
// only where it fails for the same reason.
func (u *universe) alike(f, o solve.Fact) bool {
	if f.Kind != solve.FactNeed || o.Kind != f.Kind || o.Slot != f.Slot || o.Need.Slot != f.Need.Slot {
		return false
	}
	if f.Need.Slot == solve.Impossible {
		a, b := u.failureOf(f), u.failureOf(o)
		return a != nil && b != nil && a.text == b.text && a.need == b.need
	}
	return o.Need.Allowed.Equal(f.Need.Allowed)
}

// depths is how far from the root each slot is, by the needs among the facts.
func depths(facts []solve.Fact) map[int32]int {
	next := map[int32][]int32{}
	for _, f := range facts {
		if f.Kind == solve.FactNeed && f.Need.Slot >= 0 {
			next[f.Slot] = append(next[f.Slot], f.Need.Slot)
		}
	}
	at := map[int32]int{solve.Root: 0}
	for queue := []int32{solve.Root}; len(queue) > 0; queue = queue[1:] {
		for _, s := range next[queue[0]] {
			if _, ok := at[s]; !ok {
				at[s] = at[queue[0]] + 1
				queue = append(queue, s)
			}
		}
	}
	return at
}

// place puts the facts about what is near the root first, and after the needs of a slot what limits it.
func place(at map[int32]int, f solve.Fact) int {
	d, ok := at[f.Slot]
	if !ok {
		d = len(at)
	}
	if f.Kind != solve.FactNeed {
		return 2*d + 1
	}
	return 2 * d
}

// asked are the requests among facts, in their order.
func (u *universe) asked(facts []solve.Fact) (out []*Request) {
	root := u.slots[solve.Root]
	for i, n := range u.needInfos(root, 1) {
		if slices.ContainsFunc(facts, func(f solve.Fact) bool { return f.Kind == solve.FactNeed && f.Slot == solve.Root && f.Index == i }) {
			out = append(out, n.want)
		}
	}
	return out
}

// refsOf are the names of what requests ask for.
func refsOf(wants []*Request) (out []string) {
	for _, w := range wants {
		out = append(out, w.Ref())
	}
	return out
}

// summary says what was asked for that takes part, all of it where that is not known.
func (u *universe) summary(wants []*Request) string {
	if len(wants) == 0 {
		wants = u.wants
	}
	var names []string
	for _, w := range wants {
		n := w.what()
		if w.Upgrade {
			n = strings.TrimSpace(w.name() + " " + w.Version)
		}
		if w.Namespace != "" {
			n += " in " + w.Namespace
		}
		names = append(names, n)
	}
	return "cannot resolve " + shorten(names, 3) + ":"
}

// infoOf is what stands behind a need.
func (u *universe) infoOf(f solve.Fact, value int) *info {
	s := u.slots[f.Slot]
	if s.kind == slotChoice {
		return nil
	}
	for _, i := range u.needInfos(s, int32(value)) {
		if i.need.Slot == f.Need.Slot && i.need.Allowed.Equal(f.Need.Allowed) {
			return &i
		}
	}
	return nil
}

// failureOf is the failure behind a fact, where it is one.
func (u *universe) failureOf(f solve.Fact) *failure {
	if f.Kind != solve.FactNeed || f.Need.Slot != solve.Impossible {
		return nil
	}
	v := f.Values.Values()[0]
	ns := u.needInfos(u.slots[f.Slot], int32(v))
	if f.Index < len(ns) {
		return ns[f.Index].failure
	}
	return nil
}

// kind is what sort of conflict facts make: that of the one failure among them, if nothing else is.
func (u *universe) kind(facts []solve.Fact) Kind {
	kind, straight := Kind(""), true
	slots := map[int32]int{}
	for _, f := range facts {
		switch {
		case f.Kind == solve.FactCheck:
			if kind == "" || kind == u.cycles[f.Tag].kind {
				kind = u.cycles[f.Tag].kind
			}
			continue
		case f.Kind == solve.FactLimit:
			straight = false
		}
		if fl := u.failureOf(f); fl != nil {
			switch {
			case kind == "" || kind == fl.kind:
				kind = fl.kind
			case fl.kind == InputNeeded || kind == InputNeeded:
				kind = InputNeeded
			default:
				straight = false
			}
			continue
		}
		if f.Kind == solve.FactNeed {
			slots[f.Need.Slot]++
		}
	}
	if kind == "" || !straight && kind != Cycle && kind != OwnershipConflict {
		kind = NoSolution
	}
	for _, w := range u.wants {
		if w.ValidateOnly && kind == NoSolution {
			kind = MissingDependency
		}
	}
	return kind
}

// tell is one fact as a sentence.
func (u *universe) tell(f solve.Fact) string {
	s := u.slots[f.Slot]
	switch f.Kind {
	case solve.FactLimit:
		return s.limits[f.Index].text
	case solve.FactCheck:
		return u.cycles[f.Tag].text
	case solve.FactNeed:
		if s.kind == slotChoice {
			return u.tellChoice(s, f)
		}
		return u.tellNeed(s, f)
	}
	return ""
}

func (u *universe) tellNeed(s *slot, f solve.Fact) string {
	subject := u.subject(s, f.Values)
	if fl := u.failureOf(f); fl != nil {
		if s.kind == slotRoot {
			return fl.text
		}
		return subject + " " + fl.text
	}
	i := u.infoOf(f, f.Values.Values()[0])
	switch {
	case i == nil:
		return subject + " has a need"
	case i.text != "" && i.req == nil && s.kind == slotRoot:
		return i.text
	case i.text != "":
		return i.text + ", which does not accept that version"
	}
	text := fmt.Sprintf("%s needs %s", subject, i.req.what())
	if extra := append(slices.Clone(i.k.uses), describeAll(i.k.doc.Outputs)...); len(extra) > 0 {
		text += " with output " + strings.Join(extra, ", ")
	}
	to, allowed := u.slots[f.Need.Slot], f.Need.Allowed
	if to.kind == slotChoice && to.options[0].fresh {
		to, allowed = u.slots[to.options[0].slot], to.options[0].allowed
	}
	if to.kind != slotChoice {
		text += u.falls(to, allowed)
	}
	return text
}

func describeAll(fs []Field) []string {
	var out []string
	for _, f := range fs {
		out = append(out, f.describe())
	}
	return out
}

// falls says what a need leaves of the versions of its target.
func (u *universe) falls(to *slot, allowed solve.Set) string {
	var fit, not []string
	for i, c := range to.cands {
		if allowed.Has(i + 1) {
			fit = append(fit, c.text)
		} else {
			not = append(not, c.text)
		}
	}
	switch {
	case len(not) == 0:
		return ""
	case len(fit) == 0:
		return ", and there are only " + shorten(not, 5)
	case len(fit) == 1:
		return " (only " + fit[0] + ")"
	}
	return fmt.Sprintf(" (%s)", shorten(fit, 4))
}

func (u *universe) tellChoice(s *slot, f solve.Fact) string {
	v := f.Values.Values()[0]
	o := s.options[v-1]
	to := u.slots[o.slot]
	text := fmt.Sprintf("for %s of %s there is %s", s.req.Alias, s.parent.pkg, o.text)
	if to.inst == nil {
		text += u.falls(to, o.allowed)
	}
	return text
}

// subject names versions of a slot's package.
func (u *universe) subject(s *slot, values solve.Set) string {
	if s.kind == slotRoot {
		return "what was asked for"
	}
	vs := values.Values()
	if len(vs) == len(s.cands) && len(vs) > 1 {
		return "every version of " + s.pkg
	}
	var names []string
	for _, v := range vs {
		names = append(names, s.cands[v-1].text)
	}
	if len(names) > 3 {
		return fmt.Sprintf("%s %s (%d versions)", s.pkg, names[0]+" to "+names[len(names)-1], len(names))
	}
	return s.pkg + " " + strings.Join(names, ", ")
}

// helps lists what would help: limits that, lifted, and ranges that, widened, leave the facts solvable
// together with all the rest of the problem.
func (u *universe) helps(facts []solve.Fact) []Hint {
	var out []Hint
	trials := hintTrials
	for i, f := range facts {
		if trials == 0 || u.work.Over() {
			break
		}
		s := u.slots[f.Slot]
		rest := slices.Delete(slices.Clone(facts), i, i+1)
		switch {
		case f.Kind == solve.FactLimit:
			if ok, _ := solve.Solvable(u, rest, u.work); ok {
				out = append(out, s.limits[f.Index].hints...)
			}
			trials--
		case f.Kind == solve.FactNeed && s.kind != slotChoice && s.kind != slotRoot && f.Need.Slot > 0 && f.Values.Count() == 1:
			if h := u.widen(f, rest); h.Text != "" {
				out = append(out, h)
			}
			trials--
		}
	}
	slices.SortStableFunc(out, func(a, b Hint) int { return hintRank(a) - hintRank(b) })
	return out
}

// hintRank puts what the user can do at once before what the author of a package would have to.
func hintRank(h Hint) int {
	if h.Field == FieldAllowChanges {
		return 0
	}
	return 1
}

// widen names a version that a range would have to admit for the conflict to go.
func (u *universe) widen(f solve.Fact, rest []solve.Fact) Hint {
	to := u.slots[f.Need.Slot]
	i := u.infoOf(f, f.Values.Values()[0])
	if i == nil || i.req == nil || i.req.Package == "" || to.kind == slotChoice {
		return Hint{}
	}
	for n, c := range to.cands {
		if f.Need.Allowed.Has(n+1) || c.sem == nil || len(to.limits) > 0 || u.work.Over() {
			continue
		}
		g := f
		g.Need.Allowed = solve.NewSet(len(to.cands)+1, n+1)
		if ok, _ := solve.Solvable(u, append(slices.Clone(rest), g), u.work); ok {
			s := u.slots[f.Slot]
			return u.written(s, i.req, "constraints", c.text, fmt.Sprintf("override %s with a range that admits %s, if %s works with it", i.req.Package, c.text, s.pkg))
		}
	}
	return Hint{}
}

// written is the hint to override a requirement: of what was asked for itself it is by alias, below that by package.
func (u *universe) written(s *slot, r *Requirement, field, value, what string) Hint {
	key, name := "alias", r.Alias
	if s.want == nil {
		if r.Package == "" {
			return Hint{Text: fmt.Sprintf("%s: {%s: %s}", what, r.Interface.id(), value), Field: FieldDefaults}
		}
		key, name = "package", r.Package
	}
	return Hint{Text: fmt.Sprintf("%s: {%s: %s, %s: %s}", what, key, name, field, value), Field: FieldOverrides, Of: u.rootOf(s)}
}

// rootOf names what was asked for and decides about what a slot was made for.
func (u *universe) rootOf(s *slot) string {
	w := s.want
	for ; w == nil && s.maker != nil; s = s.maker {
		w = s.maker.want
	}
	if w == nil && len(u.wants) > 0 {
		w = u.wants[0]
	}
	if w == nil {
		return ""
	}
	return w.Ref()
}

// allowing is the hint to allow a change of what is there: all that is asked for has to agree.
func (u *universe) allowing(text, change string) Hint {
	h := Hint{Text: text + ": " + change, Field: FieldAllowChanges}
	if len(u.wants) == 1 {
		h.Of = u.wants[0].Ref()
	}
	return h
}
