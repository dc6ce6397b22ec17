package decide

import (
	"errors"
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
		"failed again":       {"once for each digest of the inputs", Outcome{Tried: true, Err: bad, Failure: "other words", Question: Question{Last: failure(now, at, "bad value")}}, false, nil, false},
		"failed otherwise":   {"of other inputs", Outcome{Tried: true, Err: bad, Failure: "bad value", Question: Question{Last: failure(newer.Inputs(nil), at, "x")}}, true, failure(now, at, "bad value"), false},
		"failed elsewhere":   {"upon another commit", Outcome{Tried: true, Err: bad, Failure: "bad value", Question: Question{Last: failure(now, Hash{1}, "x")}}, true, failure(now, at, "bad value"), false},
		"in passing":         {"another try may do", Outcome{Tried: true, Err: bad}, false, nil, false},
		"in passing, failed": {"what is known stays", Outcome{Tried: true, Err: bad, Question: Question{Last: failure(now, at, "x")}}, false, nil, false},
		"the same":           {"there is nothing to forget", Outcome{Tried: true, Same: true}, false, nil, false},
		"works again":        {"what failed is forgotten", Outcome{Tried: true, Same: true, Question: Question{Last: failure(now, at, "x")}}, true, nil, false},
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
