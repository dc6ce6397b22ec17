package pulls

import (
	"strings"
	"testing"
)

// A forge is asked once to merge a request: when its check holds, and it is no draft.
func TestAutoMerge(t *testing.T) {
	terms := Terms{Manager: "fleet"}
	asked := func(change func(*Request)) *Request {
		a, b := draft("alpha", "1", "k"), draft("beta", "2", "k")
		a.AutoMerge, b.AutoMerge = "squash", "squash"
		r := Group(ByClass, "fleet", []Draft{a, b})[0]
		r.Proof = Status{Context: ProofCheck, State: StateSuccess}
		if change != nil {
			change(&r)
		}
		return &r
	}
	there := func(r *Request, merge string) *Open {
		return &Open{Number: 1, Branch: r.Branch, Commit: "h", Title: r.Title, Body: r.body(&terms, "", "h", merge)}
	}
	pending := func(r *Request) { r.Proof.State = StatePending }
	for name, tt := range map[string]struct {
		r    *Request
		open *Open
		want string
	}{
		"opened":              {asked(nil), nil, "squash"},
		"opened as a draft":   {asked(func(r *Request) { r.Draft = true }), nil, ""},
		"opened unproved":     {asked(pending), nil, ""},
		"proved later":        {asked(nil), there(asked(pending), ""), "squash"},
		"still unproved":      {asked(pending), there(asked(pending), ""), ""},
		"asked for already":   {asked(nil), there(asked(nil), "squash"), ""},
		"still a draft":       {asked(nil), func() *Open { o := there(asked(nil), ""); o.Draft = true; return o }(), ""},
		"made ready":          {asked(func(r *Request) { r.Draft = true }), there(asked(nil), ""), "squash"},
		"not asked for":       {asked(func(r *Request) { r.AutoMerge = "" }), there(asked(nil), ""), ""},
		"a person's own":      {asked(nil), &Open{Number: 1, Branch: "drafts/x", Body: "mine"}, ""},
		"asked for no longer": {asked(func(r *Request) { r.AutoMerge = "" }), there(asked(nil), "squash"), ""},
	} {
		if tt.open != nil {
			tt.open.mark, tt.open.marked = findMark(tt.open.Body)
		}
		s := terms.step(tt.r, tt.open)
		if s.Merge != tt.want || s.Action == ActionNone && tt.want != "" {
			t.Errorf("%s: %s, %q", name, s.Action, s.Merge)
		}
		if s.Body == "" {
			continue
		}
		says := strings.Contains(s.Body, " merge=squash ")
		if was := tt.open != nil && tt.open.mark.merge != ""; says != (was || tt.want != "") {
			t.Errorf("%s: %s", name, s.Body)
		}
		if tt.want == "" {
			continue
		}
		if s.At(terms, "built"); !strings.Contains(s.Body, " merge=squash ") {
			t.Errorf("%s, once built: %s", name, s.Body)
		}
		if s.Unmerged(terms); s.Merge != "" || strings.Contains(s.Body, " merge=") || !strings.Contains(s.Body, " proof=") {
			t.Errorf("%s, refused: %s", name, s.Body)
		}
		s = terms.step(tt.r, tt.open)
		if s.Unchecked(terms); s.Merge != "" || strings.Contains(s.Body, " merge=") {
			t.Errorf("%s, without a check: %s", name, s.Body)
		}
	}
	told := asked(nil)
	told.Drafts[0].AutoMerge = ""
	if r := Group(ByClass, "fleet", told.Drafts)[0]; r.AutoMerge != "" {
		t.Error("a Draft is merged that does not ask for it")
	}
	loses := asked(nil)
	loses.Drafts[1].Loses = "loses 1 edit: x 9 → 3 (by Ux)"
	grouped := Group(ByClass, "fleet", loses.Drafts)[0]
	if grouped.AutoMerge != "" {
		t.Error("a request that loses an edit is merged without a person")
	}
	for merge, want := range map[string]State{"": StateSuccess, "squash": StateFailure} { // the forge may merge what it was asked to
		r := grouped
		r.Proof = Status{Context: ProofCheck, State: StateSuccess}
		o := there(asked(nil), merge)
		o.mark, o.marked = findMark(o.Body)
		if s := terms.step(&r, o); s.Merge != "" || s.Request.Proof.State != want {
			t.Errorf("a request that loses an edit, asked for %q before: %q, %+v", merge, s.Merge, s.Request.Proof)
		}
	}
	theirs := terms
	theirs.Theirs = func(string, string) string { return "Ann" }
	o := there(asked(nil), "")
	o.mark, o.marked = findMark(o.Body)
	if s := theirs.step(asked(nil), o); s.Merge != "" || strings.Contains(s.Body, " merge=") {
		t.Errorf("a person's commit is merged: %+v", s)
	}
}

// What is said nearest to a Draft counts.
func TestAutoMergeOf(t *testing.T) {
	says := func(style string) map[string]string {
		return map[string]string{"variform.dev/review-auto-merge": style}
	}
	for want, of := range map[string][]map[string]string{
		"squash": {says("merge"), says("squash"), nil}, "merge": {says("merge"), nil, nil}, "rebase": {nil, nil, says("rebase")}, "": {says("merge"), nil, says("never")},
	} {
		if got := OpeningOf(of...).AutoMerge; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
