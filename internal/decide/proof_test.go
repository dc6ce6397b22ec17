package decide

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/record"
)

// What is said of an open revision that nothing builds.
func TestProof(t *testing.T) {
	now := parts().Inputs(nil)
	nothing, build := Rule{Ruling{Decision: Nothing{}}}, Build{As: ActionUpdate, Inputs: now, Reasons: []string{"upstream changed"}}
	entry := record.Entry{Path: webPath, Place: record.Open, Workspace: workspace(1), Restless: "f"}
	of := func(r *Revision, failure, restless string) Question {
		return Question{Last: &Built{Commit: r.Ref.Commit, Inputs: now, Failure: failure, Restless: restless, At: noon}, Work: Work{From: r}}
	}
	draft, byHand := draftOf(1, 10), draftOf(1, 10, edited)
	for name, tt := range map[string]struct {
		o      Outcome
		entry  *record.Entry
		at     *Revision
		state  ProofState // "" for no proof
		why    string
		remote bool // not a deployment repository
	}{
		"nothing there":            {o: Outcome{Intent: build}},
		"Published":                {o: Outcome{Intent: nothing}, at: publishedOf(1, 9)},
		"up to date":               {o: Outcome{Intent: nothing}, at: draft, state: Proved},
		"no deployment repository": {o: Outcome{Intent: nothing}, at: draft, state: Proved, remote: true},
		"Proposed":                 {o: Outcome{Intent: nothing}, at: proposedOf(1, 10), state: Proved},
		"to be recorded":           {o: Outcome{Intent: Rule{Ruling{Decision: Nothing{}, Reasons: []string{"x"}}}}, at: draft, state: Proved},
		"no function rests":        {o: Outcome{Intent: nothing}, at: draft, entry: &entry, state: Proved, why: "f changes what it has made already, so that it is not rendered again after edits"},
		"of another Draft":         {o: Outcome{Intent: nothing}, at: draftOf(2, 10), entry: &entry, state: Proved},
		"edited, and built":        {o: Outcome{Intent: nothing, Question: of(byHand, "", "")}, at: byHand, entry: &entry, state: Proved},
		"edited, no function rests": {
			o: Outcome{Intent: nothing, Question: of(byHand, "", "g")}, at: byHand, state: Proved, why: "g changes what it has made already, so that it is not rendered again after edits",
		},
		"edited":           {o: Outcome{Intent: build}, at: byHand, state: Unproved, why: "edited by hand (0a00000), and no run has built it since"},
		"inputs changed":   {o: Outcome{Intent: build}, at: draft, state: Unproved, why: "upstream changed"},
		"held":             {o: Outcome{Intent: Rule{ruled(Wait{}, "held")}}, at: draft, state: Unproved, why: "held"},
		"fails":            {o: Outcome{Intent: build, Question: of(draft, "bad value", "")}, at: draft, state: Failing, why: "bad value"},
		"cannot be read":   {o: Outcome{Intent: Rule{failed(errors.New("bad Kptfile"))}}, at: draft, state: Failing, why: "bad Kptfile"},
		"sets it back":     {o: Outcome{Intent: Rule{ruled(Wait{}, "sets it back")}}, at: draftOf(1, 10, reverting("v1")), state: Proved},
		"set back, edited": {o: Outcome{Intent: Rule{ruled(Wait{}, "sets it back")}, Unproved: "edited"}, at: draftOf(1, 10, reverting("v1")), state: Unproved, why: "edited"},
		"built, the same":  {o: Outcome{Intent: build, Tried: true, Same: true, Restless: "h"}, at: draft, state: Proved, why: "h changes what it has made already, so that it is not rendered again after edits"},
		"built, another":   {o: Outcome{Intent: build, Tried: true}, at: draft, state: Unproved, why: "upstream changed"},
		"built, failed":    {o: Outcome{Intent: build, Tried: true, Err: errors.New("bad")}, at: draft, state: Failing, why: "bad"},
	} {
		t.Run(name, func(t *testing.T) {
			o := tt.o
			o.Package = webPackage(nil)
			o.From, o.Repo, o.Want = tt.at, repository(o.Package), &Want{}
			o.Repo.Deployment = !tt.remote
			o.Unmet = []Gate{{Type: "sec.review"}}
			if tt.entry != nil {
				o.Package.Entries = []record.Entry{*tt.entry}
			}
			var want *Proof
			if tt.state != "" {
				want = &Proof{State: tt.state, Why: tt.why, Gated: !tt.remote, Unmet: o.Unmet}
			}
			if name == "fails" {
				want.Since = noon
			}
			if d := cmp.Diff(want, o.Proof()); d != "" {
				t.Error("-want +got:\n" + d)
			}
		})
	}
}
