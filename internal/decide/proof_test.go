package decide

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

// What is said of an open revision that nothing builds.
func TestProof(t *testing.T) {
	now := parts().Inputs(nil)
	nothing, build := Rule{Ruling{Decision: Nothing{}}}, Build{As: ActionUpdate, Inputs: now, Reasons: []string{"upstream changed"}}
	entry := record.Entry{Path: webPath, Place: record.Open, Workspace: workspace(1), Restless: "f"}
	of := func(r *Revision, failure, restless string) Question {
		return Question{Gave: true, Last: &Built{Commit: r.Ref.Commit, Inputs: now, Failure: failure, Restless: restless, At: noon}, Work: Work{From: r}}
	}
	stated := Question{Proven: true}
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
		"up to date":               {o: Outcome{Intent: nothing, Question: stated}, at: draft, state: Proved},
		"unstated":                 {o: Outcome{Intent: nothing}, at: draft, state: Unproved, why: "this machine has not built it: run plan"},
		"a build and edits":        {o: Outcome{Intent: nothing, Question: Question{Own: true}}, at: draft, state: Edited, why: editedReason},
		"hidden edits":             {o: Outcome{Intent: nothing, Question: Question{Gave: true}}, at: draft.Disowned(), state: Edited, why: editedReason},
		"edited, unstated":         {o: Outcome{Intent: nothing}, at: byHand, state: Unproved, why: "this machine has not built it: run plan"},
		"no deployment repository": {o: Outcome{Intent: nothing, Question: stated}, at: draft, state: Proved, remote: true},
		"Proposed":                 {o: Outcome{Intent: nothing, Question: stated}, at: proposedOf(1, 10), state: Proved},
		"to be recorded":           {o: Outcome{Intent: Rule{Ruling{Decision: Nothing{}, Reasons: []string{"x"}}}, Question: stated}, at: draft, state: Proved},
		"no function rests":        {o: Outcome{Intent: nothing, Question: stated}, at: draft, entry: &entry, state: Proved, why: "f changes what it has made already, so that it is not rendered again after edits"},
		"of another Draft":         {o: Outcome{Intent: nothing, Question: stated}, at: draftOf(2, 10), entry: &entry, state: Proved},
		"edited, and built":        {o: Outcome{Intent: nothing, Question: of(byHand, "", "")}, at: byHand, entry: &entry, state: Edited, why: editedReason},
		"edited, no function rests": {
			o: Outcome{Intent: nothing, Question: of(byHand, "", "g")}, at: byHand, state: Edited, why: editedReason + "; g changes what it has made already, so that it is not rendered again after edits",
		},
		"edited":           {o: Outcome{Intent: build}, at: byHand, state: Unproved, why: "edited by hand (0a00000), and no run has built it since"},
		"inputs changed":   {o: Outcome{Intent: build}, at: draft, state: Unproved, why: "upstream changed"},
		"held":             {o: Outcome{Intent: Rule{ruled(Wait{}, "held")}}, at: draft, state: Unproved, why: "held"},
		"fails":            {o: Outcome{Intent: build, Question: of(draft, "bad value", "")}, at: draft, state: Failing, why: "bad value"},
		"cannot be read":   {o: Outcome{Intent: Rule{failed(errors.New("bad Kptfile"))}}, at: draft, state: Failing, why: "bad Kptfile"},
		"sets it back":     {o: Outcome{Intent: Rule{ruled(Wait{}, "sets it back")}}, at: draftOf(1, 10, reverting("v1")), state: Proved},
		"set back, edited": {o: Outcome{Intent: Rule{ruled(Wait{}, "sets it back")}, Unproved: "edited"}, at: draftOf(1, 10, reverting("v1")), state: Unproved, why: "edited"},
		"built, the same":  {o: Outcome{Intent: build, Tried: true, Same: true, Restless: "h", Question: stated}, at: draft, state: Proved, why: "h changes what it has made already, so that it is not rendered again after edits"},
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

// TestConfirm: the word of this machine counts for an open revision, and that of its commit
// does not.
func TestConfirm(t *testing.T) {
	byHand := draftOf(1, 10, edited)
	for name, tt := range map[string]struct {
		reason      string
		from        *Revision
		state       ProofState
		gave        bool
		byHand      bool // as it is asked about then
		unconfirmed bool
	}{
		"nothing is known":         {"its commit alone says that it is a build", draftOf(1, 10), "", false, false, true},
		"proved":                   {"this machine built it", draftOf(1, 10), Proved, false, false, false},
		"a build and edits":        {"this machine made the commit", draftOf(1, 10), Edited, false, false, false},
		"edits that are hidden":    {"this machine built upon it, for it is no build", draftOf(1, 10), "", true, true, false},
		"edited":                   {"a build upon it is called for anyway", byHand, "", false, true, false},
		"edited, and built":        {"", byHand, "", true, true, false},
		"Published":                {"it is on the registered branch", publishedOf(1, 9), "", true, false, false},
		"it sets the package back": {"it is compared with that revision", draftOf(1, 10, reverting("v1")), "", false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := asked(webPackage(nil, tt.from), tt.from)
			q = q.Confirm(tt.state, tt.gave)
			if q.byHand() != tt.byHand || q.Unconfirmed() != tt.unconfirmed {
				t.Errorf("%s: by hand %t, unconfirmed %t", tt.reason, q.byHand(), q.Unconfirmed())
			}
			if tt.from.Machine != nil && !tt.from.Machine.Ours {
				t.Error("the revision itself was changed")
			}
		})
	}
}

// TestStates: what a machine may state of the Draft that it makes.
func TestStates(t *testing.T) {
	draft, approved := draftOf(2, 10, since("v1")), publishedOf(1, 9)
	approved.Machine = &Machine{Commit: Hash{9}, Approval: true, Hydrated: Hash{50}}
	merged := publishedOf(1, 9)
	merged.Machine = &Machine{Commit: Hash{9}, Hydrated: Hash{50}}
	with := func(latest *Revision, tree Hash, from *Revision) Question {
		p := webPackage([]Published{{Number: 1, Ref: latest.Ref}}, latest, draft)
		p.Learn(latest.Ref.Commit, tree)
		return asked(p, from)
	}
	proven := func(q Question) Question { q.Proven = true; return q }
	for name, tt := range map[string]struct {
		q               Question
		edited, guessed bool
		want            ProofState
	}{
		"the first":                     {asked(webPackage(nil), nil), false, false, Proved},
		"from the branch":               {with(approved, Hash{50}, approved), false, false, Proved},
		"from the branch, with edits":   {with(approved, Hash{51}, approved), true, false, Proved},
		"by a guess":                    {with(approved, Hash{51}, approved), true, true, Edited},
		"from a Draft":                  {with(approved, Hash{50}, draft), false, false, Proved},
		"from a Draft, with edits":      {with(approved, Hash{50}, draft), true, false, Edited},
		"the branch has edits":          {with(approved, Hash{51}, draft), false, false, Edited},
		"a forge merged what is there":  {with(merged, Hash{50}, draft), false, false, Edited},
		"from a proved Draft":           {proven(with(merged, Hash{50}, draft)), false, false, Proved},
		"from a proved Draft, edits":    {proven(with(merged, Hash{50}, draft)), true, false, Edited},
		"from a proved one, by a guess": {proven(with(merged, Hash{50}, draft)), false, true, Edited},
		"nothing is Published":          {asked(webPackage(nil, draft), draft), false, false, Proved},
	} {
		if got := tt.q.States(tt.edited, tt.guessed); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestHowProved: what approve does to prove an open revision.
func TestHowProved(t *testing.T) {
	made, byHand := draftOf(1, 10), draftOf(1, 10, edited)
	of := func(from *Revision) Question { return asked(webPackage(nil, from), from) }
	own := func(q Question) Question { q.Own = true; return q }
	behind := func(q Question) Question {
		latest := publishedOf(1, 9)
		q.Package = webPackage([]Published{{Number: 1, Ref: latest.Ref}}, latest, q.From)
		return q
	}
	values := func(q Question) Question { // other packages give it some
		from := *q.From
		from.Inputs.Values = "v"
		q.From, q.Alone = &from, true
		return q
	}
	for name, tt := range map[string]struct {
		q                 Question
		merged, functions bool
		want              string
	}{
		"a build":                          {of(made), false, true, "Proved"},
		"edited":                           {of(byHand), false, true, "Proved"},
		"merged as it was made":            {of(made), true, true, "Proved"},
		"merged as a person left it":       {of(byHand), true, true, "it was merged on main as a person left it"},
		"something newer is published":     {behind(of(made)), false, true, ""},
		"edited, something newer is":       {behind(of(byHand)), false, true, ""},
		"no functions":                     {of(made), false, false, "Unproved pipelines are left unrun"},
		"no functions, edited":             {of(byHand), false, false, "run apply, with its functions"},
		"no functions, this machine's own": {own(of(made)), false, false, "Edited"},
		"values":                           {values(of(made)), false, true, "Unproved other packages give it values"},
		"values, edited":                   {values(of(byHand)), false, true, "with the values that other packages give it"},
		"values, this machine's own":       {own(values(of(made))), false, true, "Edited"},
		"this machine's own":               {own(of(made)), false, true, "Proved"},
	} {
		state, err := HowProved(tt.q, tt.merged, tt.functions, "main")
		got := strings.TrimSpace(string(state) + " " + errorText(err))
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestRefuseEdited: a person who saw the edits approves an edited revision, and --unproved
// approves one that cannot be built.
func TestRefuseEdited(t *testing.T) {
	here := errors.New("image x cannot run here")
	for name, tt := range map[string]struct {
		c              Candidate
		unproved, seen bool
		want           string
	}{
		"proved":                    {Candidate{}, false, false, ""},
		"edited":                    {Candidate{Edits: []string{"a.yaml"}}, false, false, "it holds edits in a.yaml"},
		"edited, by its class":      {Candidate{Edits: []string{"a.yaml"}, Class: "key"}, false, false, ""},
		"edited, merged on a forge": {Candidate{Edits: []string{"a.yaml"}}, false, true, ""},
		"edited, unproved":          {Candidate{Edits: []string{"a.yaml"}}, true, false, "it holds edits in a.yaml"},
		"unprovable":                {Candidate{Unprovable: here}, false, false, "image x cannot run here"},
		"unprovable, by its class":  {Candidate{Unprovable: here, Class: "key"}, false, false, "image x cannot run here"},
		"unprovable, merged":        {Candidate{Unprovable: here}, false, true, "image x cannot run here"},
		"unprovable, unproved":      {Candidate{Unprovable: here}, true, false, ""},
		"refused before":            {Candidate{Unprovable: here, Err: errors.New("held")}, false, false, "held"},
		"its deletion":              {Candidate{From: lifecycle.DeletionProposed, Unprovable: here}, false, false, ""},
	} {
		c := tt.c
		if c.From == "" {
			c.From = lifecycle.Draft
		}
		RefuseEdited([]*Candidate{&c}, tt.unproved, tt.seen)
		if got := errorText(c.Err); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
