package fleet

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/reconcile"
)

func item(pkg string, action decide.Action, phase lifecycle.Phase) *reconcile.Item {
	return &reconcile.Item{Identity: decide.Identity{Namespace: "default", Repository: "c1", Package: pkg}, Set: "web", Action: action, Phase: phase}
}

func TestOverview(t *testing.T) {
	held := item("a", decide.ActionNone, lifecycle.Draft)
	held.Held = "Ann: freeze"
	failed := item("a", decide.ActionFail, lifecycle.Published)
	failed.Err = errors.New("no upstream")
	for name, tt := range map[string]struct {
		items []*reconcile.Item
		done  bool
		want  Overview
	}{
		"Nothing":            {nil, false, Overview{}},
		"Live":               {[]*reconcile.Item{item("a", decide.ActionNone, lifecycle.Published)}, false, Overview{Variants: 1, Live: 1}},
		"Draft":              {[]*reconcile.Item{item("a", decide.ActionNone, lifecycle.Draft)}, false, Overview{Variants: 1, ToReview: 1}},
		"Proposed":           {[]*reconcile.Item{item("a", decide.ActionNone, lifecycle.Proposed)}, false, Overview{Variants: 1, ToReview: 1}},
		"Deletion":           {[]*reconcile.Item{item("a", decide.ActionNone, lifecycle.DeletionProposed)}, false, Overview{Variants: 1, ToReview: 1}},
		"New":                {[]*reconcile.Item{item("a", decide.ActionCreate, lifecycle.Draft)}, false, Overview{Variants: 1, ToApply: 1}},
		"NewWritten":         {[]*reconcile.Item{item("a", decide.ActionCreate, lifecycle.Draft)}, true, Overview{Variants: 1, ToReview: 1}},
		"PublishedByTheRun":  {[]*reconcile.Item{item("a", decide.ActionPublish, lifecycle.Draft)}, true, Overview{Variants: 1, Live: 1}},
		"RetirementProposed": {[]*reconcile.Item{item("a", decide.ActionRetire, lifecycle.Published)}, true, Overview{Variants: 1, ToReview: 1}},
		"WaitsForAPerson":    {[]*reconcile.Item{item("a", decide.ActionWait, lifecycle.Published)}, false, Overview{Variants: 1, Waiting: 1}},
		"WaitsWithADraft":    {[]*reconcile.Item{item("a", decide.ActionWait, lifecycle.Draft)}, false, Overview{Variants: 1, Waiting: 1}},
		"KeptWithoutPrune":   {[]*reconcile.Item{item("a", decide.ActionKeep, lifecycle.Published)}, false, Overview{Variants: 1, Leaving: 1}},
		"KeptDraft":          {[]*reconcile.Item{item("a", decide.ActionKeep, lifecycle.Draft)}, false, Overview{Variants: 1, Leaving: 1}},
		"HeldBeforeDraft":    {[]*reconcile.Item{held}, false, Overview{Variants: 1, Held: 1}},
		"FailedBeforeLive":   {[]*reconcile.Item{failed}, false, Overview{Variants: 1, Failing: 1}},
		"TwoRevisions":       {[]*reconcile.Item{item("a", decide.ActionTag, lifecycle.Published), item("a", decide.ActionNone, lifecycle.Draft)}, true, Overview{Variants: 1, ToReview: 1}},
		"Two":                {[]*reconcile.Item{item("a", decide.ActionNone, lifecycle.Published), item("b", decide.ActionNone, lifecycle.Draft)}, false, Overview{Variants: 2, Live: 1, ToReview: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, OverviewOf(&reconcile.Plan{Items: tt.items}, tt.done)); diff != "" {
				t.Errorf("OverviewOf (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNext(t *testing.T) {
	for name, tt := range map[string]struct {
		o              Overview
		state, command string
	}{
		"Nothing":      {Overview{}, "", ""},
		"Live":         {Overview{Variants: 2, Live: 2}, "Everything is live at what the fleet asks for.", ""},
		"Apply":        {Overview{Variants: 3, ToApply: 1, ToReview: 2}, "1 variant changes: apply writes Drafts, which are not live before you approve them.", "apply"},
		"Review":       {Overview{Variants: 3, ToReview: 2, Waiting: 1}, "2 variants wait for review.", "review"},
		"Decide":       {Overview{Variants: 3, Live: 2, Waiting: 1}, "1 variant waits for a decision, which status names.", "status"},
		"OnlyFailures": {Overview{Variants: 2, Live: 1, Failing: 1}, "", ""},
		"OnlyHolds":    {Overview{Variants: 2, Live: 1, Held: 1}, "", ""},
		"OnlyLeaving":  {Overview{Variants: 2, Live: 1, Leaving: 1}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			state, command := tt.o.Next()
			if state != tt.state || command != tt.command {
				t.Errorf("Next() = %q, %q", state, command)
			}
		})
	}
}

// Whatever a plan holds, each variant counts once, in its set and in the whole.
func TestOverviewAddsUp(t *testing.T) {
	actions := []decide.Action{
		decide.ActionNone, decide.ActionCreate, decide.ActionUpdate, decide.ActionRedraft, decide.ActionTag, decide.ActionDiscard, decide.ActionRetire, decide.ActionRestore,
		decide.ActionRelease, decide.ActionKeep, decide.ActionPublish, decide.ActionTrim, decide.ActionRecord, decide.ActionForget, decide.ActionWait, decide.ActionFail,
	}
	phases := []lifecycle.Phase{"", lifecycle.Draft, lifecycle.Proposed, lifecycle.Published, lifecycle.DeletionProposed}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		var items []*reconcile.Item
		variants := r.IntN(12)
		for v := range variants {
			set := []string{"", "web", "db"}[r.IntN(3)]
			for range 1 + r.IntN(3) {
				i := item(string(rune('a'+v)), actions[r.IntN(len(actions))], phases[r.IntN(len(phases))])
				if i.Set = set; r.IntN(8) == 0 {
					i.Held = "Ann"
				}
				if r.IntN(8) == 0 {
					i.Rollout = "web-v2-prod"
				}
				items = append(items, i)
			}
		}
		plan := &reconcile.Plan{Items: items}
		whole := OverviewOf(plan, false)
		var sum Overview
		for _, o := range OverviewsOf(plan) {
			if n := o.Live + o.ToReview + o.ToApply + o.Waiting + o.Failing + o.Held + o.Rollout + o.Leaving; n != o.Variants {
				t.Fatalf("seed %d: set %q: %d of %d variants are counted", seed, o.Set, n, o.Variants)
			}
			sum = Overview{"", sum.Variants + o.Variants, sum.Live + o.Live, sum.ToReview + o.ToReview, sum.Waiting + o.Waiting, sum.ToApply + o.ToApply, sum.Failing + o.Failing, sum.Held + o.Held, sum.Rollout + o.Rollout, sum.Leaving + o.Leaving}
		}
		if diff := cmp.Diff(whole, sum); diff != "" || whole.Variants != variants {
			t.Fatalf("seed %d: the sets' sum (-whole +sum):\n%s", seed, diff)
		}
	}
}
