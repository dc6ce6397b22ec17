package pulls

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is open comes before what is to be opened, whole steps alone are taken, and a
// push is counted once for a repository.
func TestAllot(t *testing.T) {
	check := &Status{}
	open := func() Step { return Step{Action: ActionOpen, Request: &Request{}, Build: true, Check: check} }
	merged := func() Step {
		s := open()
		s.Merge = "squash"
		return s
	}
	update := func() Step { return Step{Action: ActionUpdate, Open: &Open{}, Build: true, Check: check} }
	text := func() Step { return Step{Action: ActionUpdate, Open: &Open{Body: "x"}} }
	over := func() Step { return Step{Action: ActionClose, Open: &Open{}} }
	checked := func() Step { return Step{Action: ActionKeep, Open: &Open{}, Check: check} }
	none := func() Step { return Step{Action: ActionNone, Open: &Open{}} }
	for name, tt := range map[string]struct {
		most  int
		steps [][]Step
		want  string
		rest  int
	}{
		"no bound":            {0, [][]Step{{open(), open()}}, "open open", 0},
		"enough":              {5, [][]Step{{open(), open()}}, "open open", 0},
		"one is too much":     {4, [][]Step{{open(), open()}}, "open later", 1},
		"the least":           {LeastWrites, [][]Step{{merged()}}, "open", 0},
		"a merge counts":      {3, [][]Step{{merged()}}, "later", 3},
		"each its push":       {6, [][]Step{{open()}, {open()}}, "open|open", 0},
		"open ones first":     {6, [][]Step{{open(), update()}, {update()}}, "later update|update", 0},
		"one push":            {5, [][]Step{{open(), update()}}, "open update", 0},
		"waves":               {8, [][]Step{{open(), open()}, {open(), open()}}, "open open|open later", 0},
		"a text":              {1, [][]Step{{text()}, {text()}}, "update|later", 0},
		"closing says why":    {3, [][]Step{{over(), over()}}, "close later", 1},
		"a check":             {1, [][]Step{{checked(), checked()}}, "keep later", 0},
		"nothing":             {3, [][]Step{{none()}, {open()}}, "none|open", 0},
		"nothing after a gap": {3, [][]Step{{over(), over(), text()}}, "close later later", 1},
	} {
		rest := Allot(tt.most, tt.steps)
		var got []string
		for _, steps := range tt.steps {
			var of []string
			for _, s := range steps {
				of = append(of, string(s.Action))
				if s.Action == ActionLater && (s.Build || s.Check != nil || s.Merge != "" || s.Why == "") {
					t.Errorf("%s: %+v", name, s)
				}
			}
			got = append(got, strings.Join(of, " "))
		}
		if d := cmp.Diff(tt.want, strings.Join(got, "|")); d != "" || rest != tt.rest {
			t.Errorf("%s: %d left; -want +got:\n%s", name, rest, d)
		}
	}
}

// What fails is said before what a run of apply brings up to date.
func TestProof(t *testing.T) {
	good, behind, bad := Verdict{Name: "a"}, Verdict{Name: "b", Refused: "moved", Behind: true}, Verdict{Name: "c", Refused: "gates"}
	loses := Verdict{Name: "d", Loses: "loses 1 edit: x 9 → 3 (by Ux)"}
	for name, tt := range map[string]struct {
		verdicts []Verdict
		state    State
		says     string
	}{
		"one":             {[]Verdict{good}, StateSuccess, "1 package rendered, valid, its gates met"},
		"two":             {[]Verdict{good, good}, StateSuccess, "2 packages rendered, valid, their gates met"},
		"an edit is lost": {[]Verdict{good, loses}, StateSuccess, "2 packages rendered, valid, their gates met; d loses 1 edit: x 9 → 3 (by Ux)"},
		"behind":          {[]Verdict{good, behind}, StatePending, "b: moved"},
		"bad":             {[]Verdict{bad, good}, StateFailure, "c: gates"},
		"behind, bad":     {[]Verdict{behind, bad, good}, StateFailure, "1 more, and c: gates"},
		"bad, behind":     {[]Verdict{bad, behind}, StateFailure, "1 more, and c: gates"},
		"several":         {[]Verdict{behind, bad, bad, behind}, StateFailure, "3 more, and c: gates"},
		"two are behind":  {[]Verdict{behind, behind}, StatePending, "1 more, and b: moved"},
	} {
		got := Proof(tt.verdicts, "https://x")
		if d := cmp.Diff(Status{"variform/proof", tt.state, tt.says, "https://x"}, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

// The check of a head is set once: the request says which it has, of which commit.
func TestCheck(t *testing.T) {
	a, b := draft("alpha", "1", "k1"), draft("beta", "2", "k1")
	tip := "h"
	terms := Terms{Manager: "fleet", Tip: func(string) string { return tip }}
	wanted := func(mode Mode, state State, drafts ...Draft) []Request {
		out := Group(mode, "fleet", drafts)
		for i := range out {
			out[i].Text, out[i].Proof = "text", Status{Context: ProofCheck, State: state}
		}
		return out
	}
	first := Plan(terms, wanted(ByClass, StateSuccess, a, b), nil)[0]
	if first.Check == nil || first.Check.State != StateSuccess {
		t.Fatalf("%+v", first)
	}
	first.At(terms, "h")
	open := Open{Number: 1, Branch: first.Request.Branch, Commit: "h", Title: first.Title, Body: first.Body}
	step := func(state State, drafts ...Draft) Step {
		return Plan(terms, wanted(ByClass, state, drafts...), []Open{open})[0]
	}
	if s := step(StateSuccess, a, b); s.Action != ActionNone || s.Check != nil {
		t.Errorf("%+v", s)
	}
	if s := step("", a, b); s.Action != ActionNone || s.Check != nil {
		t.Errorf("not known: %+v", s)
	}
	if s := step(StatePending, a, b); s.Action != ActionUpdate || s.Check == nil || s.Check.State != StatePending || s.Commit != "h" || s.Build {
		t.Errorf("another state: %+v", s)
	}
	if s := step(StateSuccess, a, draft("beta", "3", "k1")); !s.Build || s.Check == nil {
		t.Errorf("another head: %+v", s)
	}
	tip = "merged"
	if s := step(StateSuccess, a, b); s.Action != ActionUpdate || s.Check == nil || s.Commit != "merged" {
		t.Errorf("main was merged into it: %+v", s)
	}
	tip = "h"
	s := step(StatePending, a, b)
	s.Unchecked(terms)
	open.Body = s.Body
	if s := step(StatePending, a, b); s.Check == nil {
		t.Errorf("it could not be set: %+v", s)
	}
	first.Unchecked(terms)
	if strings.Contains(first.Body, "proof=") {
		t.Errorf("%s", first.Body)
	}
	terms.Theirs = func(string, string) string { return "Ann" }
	if s := step(StateSuccess, a, b); s.Check == nil || s.Check.State != StateFailure || !strings.Contains(s.Check.Description, "what Ann committed") {
		t.Errorf("a person's commit: %+v", s)
	}
	if s := step(StateSuccess, a); s.Action != ActionKeep || s.Check == nil || s.Check.State != StateFailure || s.Commit != "h" {
		t.Errorf("a person's commit, and it moved: %+v", s)
	}
	terms.Theirs, terms.Fails = nil, func(path string) string { return map[string]string{b.Path: "it fails"}[path] }
	if list := Plan(terms, nil, []Open{open}); len(list) != 1 || list[0].Action != ActionKeep || list[0].Check == nil || list[0].Check.Description != "apps/beta: it fails" {
		t.Errorf("all fails: %+v", list)
	}
	byHand := Open{Number: 5, Branch: a.Branch, Title: "mine"}
	if s := Plan(terms, wanted(ByVariant, StateSuccess, a), []Open{byHand})[0]; s.Action != ActionKeep || s.Check == nil || s.Commit != "h" {
		t.Errorf("by hand: %+v", s)
	}
	closed := open
	closed.Closed = true
	if s := step(StateSuccess, a, b); s.Action == ActionOpen {
		t.Errorf("%+v", s)
	}
	if s := Plan(terms, wanted(ByClass, StateSuccess, a, b), []Open{closed})[0]; s.Action != ActionKeep || s.Check != nil {
		t.Errorf("closed: %+v", s)
	}
}
