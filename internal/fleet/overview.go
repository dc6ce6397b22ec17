package fleet

import (
	"cmp"
	"maps"
	"slices"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/reconcile"
)

// Overview counts variants by what has to happen next. Each variant counts once, in
// the first group that applies in the order Failing, Held, ToApply, Waiting, Rollout,
// ToReview, Leaving, Live.
type Overview struct {
	Set      string // "" for variants that no set made, and for a whole fleet
	Variants int
	Live     int // the registered branch holds what the fleet asks for
	ToReview int // an open revision waits for review
	Waiting  int // a person has to decide something first, which the item names
	ToApply  int // the next apply writes something
	Failing  int
	Held     int
	Rollout  int // a Rollout publishes it
	Leaving  int // no longer in the fleet, and kept without --prune
}

// OverviewOf counts all variants of a plan. With done, what is pending was
// written, as after apply: a Draft that the run wrote waits for review.
func OverviewOf(p *reconcile.Plan, done bool) Overview {
	var out Overview
	for _, items := range ByVariant(p.Items) {
		out.add(items, done)
	}
	return out
}

// Next returns what waits, as a sentence, and the command to run next. Both are "" where
// failures, holds or packages that leave the fleet are all that is left.
func (o Overview) Next() (state, command string) {
	switch {
	case o.ToApply > 0:
		return count.Of(o.ToApply, "variant changes", "variants change") + ": apply writes Drafts, which are not live before you approve them.", "apply"
	case o.ToReview > 0:
		return count.Of(o.ToReview, "variant waits", "variants wait") + " for review.", "review"
	case o.Waiting > 0:
		return count.Of(o.Waiting, "variant waits", "variants wait") + " for a decision, which status names.", "status"
	case o.Variants > 0 && o.Live == o.Variants:
		return "Everything is live at what the fleet asks for.", ""
	}
	return "", ""
}

// OverviewsOf counts the variants of each set, sorted by the sets' names.
func OverviewsOf(p *reconcile.Plan) []Overview {
	sets := map[string]*Overview{}
	for _, items := range ByVariant(p.Items) {
		set := ""
		for _, i := range items {
			set = cmp.Or(set, i.Set)
		}
		if sets[set] == nil {
			sets[set] = &Overview{Set: set}
		}
		sets[set].add(items, false)
	}
	var out []Overview
	for _, set := range slices.Sorted(maps.Keys(sets)) {
		out = append(out, *sets[set])
	}
	return out
}

func (o *Overview) add(items []*reconcile.Item, done bool) {
	has := func(is func(*reconcile.Item) bool) bool { return slices.ContainsFunc(items, is) }
	o.Variants++
	switch {
	case has(func(i *reconcile.Item) bool { return i.Action == decide.ActionFail }):
		o.Failing++
	case has(func(i *reconcile.Item) bool { return i.Held != "" }):
		o.Held++
	case !done && has(func(i *reconcile.Item) bool { return i.Action.Pending() }):
		o.ToApply++
	case has(func(i *reconcile.Item) bool { return i.Action == decide.ActionWait }):
		o.Waiting++
	case has(func(i *reconcile.Item) bool { return i.Rollout != "" && Open(i) }):
		o.Rollout++
	case has(Open):
		o.ToReview++
	case has(func(i *reconcile.Item) bool { return i.Action == decide.ActionKeep }):
		o.Leaving++
	default:
		o.Live++
	}
}

// ItemOf returns what counts of an item that was printed: its action, and the phase of
// the revision that it is about.
func ItemOf(id decide.Identity, action decide.Action, phase string) *reconcile.Item {
	return &reconcile.Item{Identity: id, Action: action, Phase: lifecycle.Phase(phase)}
}

// Open reports whether an item is about a revision that waits for review.
func Open(i *reconcile.Item) bool {
	switch i.Action {
	case decide.ActionDiscard, decide.ActionRelease, decide.ActionForget, decide.ActionPublish, decide.ActionTag, decide.ActionTrim,
		decide.ActionRecord, decide.ActionKeep, decide.ActionWait:
		return false
	case decide.ActionRetire:
		return true
	}
	return i.Phase != "" && i.Phase != lifecycle.Published
}
