package decide

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/lifecycle"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestFits(t *testing.T) {
	now := parts().Inputs(nil)
	for name, tt := range map[string]struct {
		other func(*Parts)
		want  bool
	}{
		"the same":   {func(*Parts) {}, true},
		"functions":  {func(p *Parts) { p.Functions = []string{"newer"} }, true},
		"upstream":   {func(p *Parts) { p.UpstreamTree = "newer" }, false},
		"spec":       {func(p *Parts) { p.Spec = "other" }, false},
		"context":    {func(p *Parts) { p.Context = "other" }, false},
		"values":     {func(p *Parts) { p.Values = "0123" }, false},
		"a revision": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, v1 := parts(), tag(1, 9)
			other := p.Inputs(&v1)
			if tt.other != nil {
				tt.other(&p)
				other = p.Inputs(nil)
			}
			if got := now.Fits(other); got != tt.want || other.Fits(now) != tt.want {
				t.Error(got)
			}
			if got := now.Fits(ParseInputs(other.String())); got != tt.want {
				t.Errorf("as a trailer: %v", got)
			}
		})
	}
	kept := now
	if kept.Keep = true; !kept.Fits(now) {
		t.Error("that edits are kept makes no other inputs")
	}
	if now.Fits(now.On("0123")) {
		t.Error("what stands on the branch makes no difference")
	}
}

// What is remembered of a build, and what is said of it where nothing is built.
func TestBuilt(t *testing.T) {
	now, newer := parts().Inputs(nil), parts()
	newer.UpstreamTree = "newer"
	draft := draftOf(1, 10)
	bad := errors.New("bad value")
	failure := func(in Inputs, commit Hash, text string) *Built {
		return &Built{Commit: commit, Inputs: in, Failure: text, At: noon}
	}
	at := draft.Ref.Commit
	for name, tt := range map[string]struct {
		reason string
		o      Outcome
		tell   bool
		want   *Built
		stalls bool
	}{
		"failed":             {"remembered", Outcome{Tried: true, Err: bad, Failure: "bad value"}, true, failure(now, at, "bad value"), false},
		"failed to drop":     {"nobody wants that again", Outcome{Tried: true, Err: bad, Failure: "bad value", Question: Question{Want: &Want{Drop: []string{"x"}}}}, false, nil, false},
		"failed again":       {"once for each digest of the inputs", Outcome{Tried: true, Err: bad, Failure: "other words", Question: Question{Last: failure(now, at, "bad value")}}, false, nil, false},
		"failed otherwise":   {"of other inputs", Outcome{Tried: true, Err: bad, Failure: "bad value", Question: Question{Last: failure(newer.Inputs(nil), at, "x")}}, true, failure(now, at, "bad value"), false},
		"failed elsewhere":   {"upon another commit", Outcome{Tried: true, Err: bad, Failure: "bad value", Question: Question{Last: failure(now, Hash{1}, "x")}}, true, failure(now, at, "bad value"), false},
		"in passing":         {"another try may do", Outcome{Tried: true, Err: bad}, false, nil, false},
		"in passing, failed": {"what is known stays", Outcome{Tried: true, Err: bad, Question: Question{Last: failure(now, at, "x")}}, false, nil, false},
		"the same":           {"it is proved", Outcome{Tried: true, Same: true}, true, failure(now, at, ""), false},
		"proved":             {"once", Outcome{Tried: true, Same: true, Question: Question{Last: failure(now, at, "")}}, false, nil, false},
		"proved otherwise":   {"of other inputs", Outcome{Tried: true, Same: true, Question: Question{Last: failure(newer.Inputs(nil), at, "")}}, true, failure(now, at, ""), false},
		"unrendered":         {"what was not rendered proves nothing", Outcome{Tried: true, Same: true, Question: Question{Unrendered: true}}, false, nil, false},
		"unrendered, failed": {"the last build failed no more", Outcome{Tried: true, Same: true, Question: Question{Unrendered: true, Last: failure(now, at, "x")}}, true, nil, false},
		"works again":        {"what failed is forgotten", Outcome{Tried: true, Same: true, Question: Question{Last: failure(now, at, "x")}}, true, failure(now, at, ""), false},
		"a commit":           {"the commit says it", Outcome{Tried: true, Question: Question{Last: failure(now, at, "x")}}, false, nil, false},
		"not tried":          {"nothing is known", Outcome{}, false, nil, false},
		"not tried, failed":  {"as it did last", Outcome{Question: Question{Last: failure(now, at, "bad value")}}, false, nil, true},
		"not tried, moved":   {"the Draft is another", Outcome{Question: Question{Last: failure(now, Hash{1}, "bad value")}}, false, nil, false},
		"not tried, changed": {"the inputs are others", Outcome{Question: Question{Last: failure(newer.Inputs(nil), at, "bad value")}}, false, nil, false},
		"not tried, worked":  {"", Outcome{Question: Question{Last: failure(now, at, "")}}, false, nil, false},
		"nothing to build":   {"", Outcome{Intent: Rule{}, Tried: true, Err: bad, Failure: "bad value"}, false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := tt.o
			if o.Want == nil {
				o.Want = &Want{}
			}
			o.Question.Work, o.Question.Repo, o.At = Work{From: draft}, repository(webPackage(nil, draft)), noon
			if o.Intent == nil {
				o.Intent = Build{As: ActionUpdate, Inputs: now}
			}
			got, tell := o.Remember()
			if d := cmp.Diff(tt.want, got); d != "" || tell != tt.tell {
				t.Errorf("%s: tell %v, -want +got:\n%s", tt.reason, tell, d)
			}
			if o.Tried || tt.o.Intent != nil {
				return
			}
			r := o.ruling()
			if IsStalled(r.Err) != tt.stalls {
				t.Errorf("%s: %v", tt.reason, r.Err)
			}
			if tt.stalls && (r.Err.Error() != "bad value" || r.Since != noon || r.Decision != Fail{}) {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestBuiltAs(t *testing.T) {
	for name, tt := range map[string]struct {
		from *Revision
		want string
	}{
		"a first Draft": {nil, ""},
		"a new Draft":   {publishedOf(1, 9), ""},
		"a Draft":       {draftOf(2, 9), "packagevariant-2"},
		"Proposed":      {revision(lifecycle.ProposedRef(webPath, "packagevariant-3"), 3, 9, lifecycle.Proposed, nil), "packagevariant-3"},
	} {
		if got := BuiltAs(tt.from); got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Of what is Published only failures of a new Draft are remembered, and, where
// others approved it, that it is what it is to be.
func TestBuiltOfPublished(t *testing.T) {
	v1, approved := publishedOf(1, 9), publishedOf(1, 8)
	v1.Inputs.Digest, approved.Inputs.Digest = "abc", ""
	theirs := Question{Want: &Want{}, Work: Work{From: approved}}
	same := Outcome{Question: theirs, Intent: Build{As: ActionRedraft}, Tried: true, Same: true}
	back := Outcome{Question: Question{Want: &Want{}, Work: Work{From: draftOf(1, 9)}, Package: &Package{Latest: approved}}, Intent: Build{As: ActionUpdate}, Tried: true, Back: true}
	for name, o := range map[string]*Outcome{"others approved it": &same, "nothing is left of the Draft": &back} {
		b, tell := o.Remember()
		if !tell || b == nil || b.Commit != approved.Ref.Commit || o.Upon() != approved {
			t.Fatalf("%s: %v %v upon %v", name, b, tell, o.Upon())
		}
		theirs.Last = b
		if !theirs.proved(Inputs{}) {
			t.Errorf("%s: not known the next time", name)
		}
	}
	back.Package.Latest = v1
	if b, tell := back.Remember(); tell {
		t.Errorf("back to what says its inputs: %v", b)
	}
	o := Outcome{Question: Question{Want: &Want{}, Work: Work{From: v1}}, Intent: Build{As: ActionRedraft}, Tried: true, Same: true}
	if b, tell := o.Remember(); b != nil || tell {
		t.Errorf("the same: %v %v", b, tell)
	}
	o.Last = &Built{Commit: v1.Ref.Commit, Failure: "bad value"}
	if b, tell := o.Remember(); b != nil || !tell {
		t.Errorf("works again: %v %v", b, tell)
	}
}

func TestCurrent(t *testing.T) {
	v1 := tag(1, 9)
	now := parts().Inputs(nil)
	draft := draftOf(1, 10, recorded(now))
	newer := parts()
	newer.UpstreamTree = "newer"
	marked := parts()
	marked.Points = "0123,v1/A/a"
	other := parts()
	other.Functions, other.Versions = []string{"newer"}, []string{"newer"}
	built := func(in Inputs, failure string) *Built {
		return &Built{Commit: draft.Ref.Commit, Inputs: in, Failure: failure, At: noon}
	}
	keeping := now
	keeping.Keep = true
	unrendered, none := parts(), parts()
	unrendered.Functions, unrendered.Versions, none.Functions = []string{NotRendered}, []string{NotRendered}, nil
	const corrected = "\nwhen that is corrected run apply, review, and approve again"
	const changed = "upstream changed: now catalog/web@v1 since this Draft was made: run apply, review, and approve again"
	for name, tt := range map[string]struct {
		reason string
		from   *Revision
		tags   []Published
		parts  Parts
		last   *Built
		want   string
	}{
		"an added point":       {"the digest has it not", draft, nil, marked, nil, "injected where people asked for it since this Draft was made"},
		"up to date":           {"", draft, nil, parts(), nil, ""},
		"upstream":             {"the Draft is of another", draft, nil, newer, nil, changed},
		"functions":            {"alone they refuse nothing", draft, nil, other, nil, ""},
		"not rendered":         {"nothing has validated it", draftOf(1, 10, recorded(unrendered.Inputs(nil))), nil, parts(), nil, "without running its functions"},
		"not rendered here":    {"who approves leaves them unrun too", draftOf(1, 10, recorded(unrendered.Inputs(nil))), nil, unrendered, nil, ""},
		"nothing to render":    {"it has no functions", draftOf(1, 10, recorded(unrendered.Inputs(nil))), nil, none, nil, ""},
		"no inputs":            {"nobody knows what it is of", draftOf(1, 10), nil, parts(), nil, "no record of the inputs since"},
		"it fails":             {"", draft, nil, parts(), built(now, "bad value"), "its variant fails: bad value" + corrected},
		"it fails now":         {"the failure tells more", draft, nil, newer, built(newer.Inputs(nil), "bad value"), "its variant fails: bad value" + corrected},
		"it failed":            {"of other inputs", draft, nil, parts(), built(newer.Inputs(nil), "bad value"), ""},
		"it failed, kept":      {"as edits are not kept any more", draft, nil, parts(), built(keeping, "bad value"), ""},
		"it failed and moved":  {"of inputs before", draft, nil, newer, built(now, "bad value"), changed},
		"no difference":        {"a build gave what is there", draft, nil, newer, built(newer.Inputs(nil), ""), ""},
		"no difference then":   {"of other inputs", draft, nil, newer, built(now, ""), changed},
		"of main":              {"what stood there is for another rule", draftOf(1, 10, recorded(now.On("0123"))), nil, parts(), nil, ""},
		"v1 came":              {"for another rule", draft, tags(v1), parts(), nil, ""},
		"since v1":             {"", draftOf(2, 10, since("v1"), recorded(parts().Inputs(&v1))), tags(v1), parts(), nil, ""},
		"since v1, it fails":   {"", draftOf(2, 10, since("v1"), recorded(parts().Inputs(&v1))), tags(v1), parts(), built(parts().Inputs(&v1), "bad value"), "its variant fails"},
		"its values are taken": {"they cannot be told here", draftOf(1, 10, recorded(withValues("0123"))), nil, parts(), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := webPackage(tt.tags, tt.from)
			q := asked(p, tt.from)
			q.Parts, q.Last, q.Gave = tt.parts, tt.last, true
			q.Parts.Values = tt.from.Inputs.Values
			err := q.Current()
			if got := errorText(err); (tt.want == "") != (err == nil) || !strings.Contains(got, tt.want) {
				t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
			}
			if err != nil && IsBehind(err) != strings.Contains(err.Error(), ": run apply") {
				t.Errorf("that a run is lacking: %t, of %v", IsBehind(err), err)
			}
		})
	}
}

func withValues(values string) Inputs {
	p := parts()
	p.Values = values
	return p.Inputs(nil)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestUnproved: what a person committed is proved by a build that gave just that,
// whether or not this run could make it.
func TestUnproved(t *testing.T) {
	now := parts().Inputs(nil)
	byHand := func(r *Revision) { r.Machine.Commit = Hash{77} }
	wired := func(r *Revision) { r.Inputs.Values = "v" }
	for name, tt := range map[string]struct {
		from  *Revision
		last  *Built
		alone bool
		want  bool
		ready bool // it can be built here
	}{
		"the machine's":       {draftOf(1, 10, recorded(now)), nil, true, false, true},
		"a person's":          {draftOf(1, 10, recorded(now), byHand), nil, true, true, true},
		"built since":         {draftOf(1, 10, recorded(now), byHand), &Built{Commit: Hash{10}, Inputs: now}, true, false, true},
		"built before":        {draftOf(1, 10, recorded(now), byHand), &Built{Commit: Hash{9}, Inputs: now}, true, true, true},
		"failed":              {draftOf(1, 10, recorded(now), byHand), &Built{Commit: Hash{10}, Inputs: now, Failure: "bad"}, true, true, true},
		"with values":         {draftOf(1, 10, recorded(now), byHand, wired), nil, true, true, false},
		"with values, a run":  {draftOf(1, 10, recorded(now), byHand, wired), nil, false, true, true},
		"values, the machine": {draftOf(1, 10, recorded(now), wired), nil, true, false, false},
	} {
		q := asked(webPackage(nil, tt.from), tt.from)
		q.Parts, q.Last, q.Alone, q.Gave = parts(), tt.last, tt.alone, true
		q.Unrendered = true // that shows nothing
		if got := q.Unproved(); got != tt.want || q.Buildable() != tt.ready {
			t.Errorf("%s: unproved %t, can be built %t", name, got, q.Buildable())
		}
	}
}

// TestUnwanted: an edited Draft that no variant wants is approved where a run
// built just that.
func TestUnwanted(t *testing.T) {
	byHand := func(r *Revision) { r.Machine.Commit = Hash{77} }
	for name, tt := range map[string]struct {
		from   *Revision
		edited bool
		last   *Built
		want   string
	}{
		"the machine's": {from: draftOf(1, 10)},
		"a person's":    {from: draftOf(1, 10, byHand), edited: true, want: "this run has no variant to build it for"},
		"built since":   {from: draftOf(1, 10, byHand), edited: true, last: &Built{Commit: Hash{10}}},
		"built before":  {from: draftOf(1, 10, byHand), edited: true, last: &Built{Commit: Hash{9}}, want: "this run has no variant to build it for"},
		"failed":        {from: draftOf(1, 10, byHand), edited: true, last: &Built{Commit: Hash{10}, Failure: "bad"}, want: "this run has no variant to build it for"},
		"Published":     {from: &Revision{Number: 1}},
	} {
		c := &Candidate{Head: tt.from, From: tt.from.Phase}
		if c.Edited() != tt.edited {
			t.Errorf("%s: edited %t", name, c.Edited())
		}
		if got := errorText(c.Unwanted(tt.last)); tt.edited && (!strings.Contains(got, tt.want) || (got == "") != (tt.want == "")) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestFails(t *testing.T) {
	failed := &Built{Commit: Hash{10}, Failure: "no"}
	unrun := func(r *Revision) { r.Inputs.Functions = Digest(NotRendered)[:part] }
	for name, c := range map[string]struct {
		reason string
		r      *Revision
		last   *Built
		want   string
	}{
		"nothing known":         {"", draftOf(1, 10), nil, ""},
		"built":                 {"", draftOf(1, 10), &Built{Commit: Hash{10}}, ""},
		"failed":                {"", draftOf(1, 10), failed, "it fails: no"},
		"failed before":         {"it is another commit now", draftOf(1, 11), failed, ""},
		"not run":               {"", draftOf(1, 11, unrun), nil, "its functions were not run"},
		"not run, for it fails": {"it failed when there was no Draft", draftOf(1, 11, unrun), failed, "it fails: no"},
		"not run, edited since": {"a run builds what people left", draftOf(1, 11, unrun, edited), nil, ""},
	} {
		if got := c.r.Fails(c.last); got != c.want {
			t.Errorf("%s: %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
}
