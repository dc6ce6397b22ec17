package forgetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/pulls"
)

// World is a forge with one repository, of the test or a real one, that has the
// branches main and other, and gives no more than PageSize in an answer.
type World interface {
	// Branch makes a branch upon main with a commit of its own.
	Branch(t testing.TB, name string) (commit string)
	// Copied opens a request from a branch of somebody's copy of the repository.
	Copied(t testing.TB, base, branch, title string)
	Merge(t testing.TB, number int)
	// Require protects main: nothing is merged without a check.
	Require(t testing.TB, check string)
	See(t testing.TB, number int) Request
	// Statuses are all that were ever set, the last one first.
	Statuses(t testing.TB, commit string) []Status
}

// Obligations are what has to hold of a forge, whatever its kind: each is asked of a
// World of its own, with clients that are signed in as a user, "" for nobody, with a
// token that is none where the user is unknown.
func Obligations(t *testing.T, newWorld func(t *testing.T) (World, func(user string) pulls.Forge)) {
	for name, test := range map[string]func(*testing.T, World, func(user string) pulls.Forge){
		"a request's life": life, "pages": pages, "others' requests": others, "drafts": drafts, "people and labels": people,
		"opened twice": twice, "checks": checks, "merged by the forge": merging, "refusals": refusals,
	} {
		t.Run(name, func(t *testing.T) {
			w, client := newWorld(t)
			test(t, w, client)
		})
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// numbers are those of requests in a state, in their order.
func numbers(all []pulls.Open, is func(pulls.Open) bool) []int {
	var out []int
	for _, o := range all {
		if is(o) {
			out = append(out, o.Number)
		}
	}
	slices.Sort(out)
	return out
}

func open(o pulls.Open) bool   { return !o.Closed && !o.Merged }
func closed(o pulls.Open) bool { return o.Closed && !o.Merged }
func merged(o pulls.Open) bool { return o.Merged && !o.Closed }

func life(t *testing.T, w World, client func(string) pulls.Forge) {
	f, ctx := client(Ann), t.Context()
	tip := w.Branch(t, "variform/fleet/a")
	made := must(f.Open(ctx, "main", "variform/fleet/a", pulls.Content{Title: "One <b>", Body: "<!-- mark -->\ntext\n"}))(t)
	if made.Number != 1 || !strings.Contains(made.URL, "/1") || made.Commit != tip || made.Branch != "variform/fleet/a" || made.Author != Ann || made.Title != "One <b>" || !strings.HasPrefix(made.Body, "<!-- mark -->\ntext") || made.Draft {
		t.Errorf("%+v", made)
	}
	all := must(f.Requests(ctx, "main"))(t)
	if len(all) != 1 || fmt.Sprintf("%+v", all[0]) != fmt.Sprintf("%+v", made) {
		t.Errorf("%+v, opened was %+v", all, made)
	}
	if err := f.Update(ctx, made, "Two", "<!-- mark -->\nother"); err != nil {
		t.Fatal(err)
	}
	if r := w.See(t, 1); r.Title != "Two" || r.Body != "<!-- mark -->\nother" || r.State != "open" || r.Base != "main" {
		t.Errorf("%+v", r)
	}
	if err := f.Close(ctx, 1, "closed text", "Because of this."); err != nil {
		t.Fatal(err)
	}
	if r := w.See(t, 1); r.State != "closed" || r.Body != "closed text" || r.Title != "Two" || !slices.Equal(r.Comments, []string{"Because of this."}) {
		t.Errorf("%+v", r)
	}
	if all := must(f.Requests(ctx, "main"))(t); len(all) != 1 || !closed(all[0]) || all[0].Title != "Two" {
		t.Errorf("%+v", all)
	}
}

func pages(t *testing.T, w World, client func(string) pulls.Forge) {
	f, ctx := client(Ann), t.Context()
	for n := range 8 {
		branch := fmt.Sprintf("b%d", n+1)
		w.Branch(t, branch)
		must(f.Open(ctx, "main", branch, pulls.Content{Title: branch, Body: branch}))(t)
	}
	w.Merge(t, 8)
	if err := f.Close(ctx, 3, "", "no"); err != nil {
		t.Fatal(err)
	}
	all := must(f.Requests(ctx, "main"))(t)
	for what, want := range map[string][]int{"open": {1, 2, 4, 5, 6, 7}, "closed": {3}, "merged": {8}} {
		is := map[string]func(pulls.Open) bool{"open": open, "closed": closed, "merged": merged}[what]
		if d := cmp.Diff(want, numbers(all, is)); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	for _, n := range []int{1, 2, 4, 5, 6} { // an answer has three
		if err := f.Close(ctx, n, "", "no"); err != nil {
			t.Fatal(err)
		}
	}
	latest, older := must(f.Requests(ctx, "main"))(t), must(f.Older(ctx, "main"))(t)
	if d := cmp.Diff([]int{1, 2, 3, 4, 5, 6}, slices.Compact(numbers(slices.Concat(latest, older), closed))); d != "" || len(numbers(older, open)) > 0 || !slices.Contains(numbers(older, closed), 3) {
		t.Errorf("latest %v, older %v", numbers(latest, closed), numbers(older, closed))
	}
}

func others(t *testing.T, w World, client func(string) pulls.Forge) {
	f, ctx := client(Ann), t.Context()
	w.Branch(t, "a")
	must(f.Open(ctx, "other", "a", pulls.Content{Title: "elsewhere"}))(t)
	w.Copied(t, "main", "variform/fleet/a", "a stranger's")
	if all := must(f.Requests(ctx, "main"))(t); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	made := must(f.Open(ctx, "main", "a", pulls.Content{Title: "here"}))(t)
	if all := must(f.Requests(ctx, "main"))(t); len(all) != 1 || all[0].Number != made.Number {
		t.Errorf("%+v", all)
	}
}

func drafts(t *testing.T, w World, client func(string) pulls.Forge) {
	f, ctx := client(Ann), t.Context()
	w.Branch(t, "a")
	made := must(f.Open(ctx, "main", "a", pulls.Content{Title: "Not yet", Opening: pulls.Opening{Draft: true}}))(t)
	all := must(f.Requests(ctx, "main"))(t)
	if len(all) != 1 || !made.Draft || !all[0].Draft || made.Title != "Not yet" || all[0].Title != "Not yet" || !w.See(t, 1).Draft {
		t.Errorf("%+v %+v", made, all)
	}
	if err := f.Update(ctx, all[0], "Still not", "text"); err != nil {
		t.Fatal(err)
	}
	if all := must(f.Requests(ctx, "main"))(t); len(all) != 1 || !all[0].Draft || all[0].Title != "Still not" {
		t.Errorf("%+v", all)
	}
}

func people(t *testing.T, w World, client func(string) pulls.Forge) {
	f, ctx := client(Ann), t.Context()
	w.Branch(t, "a")
	w.Branch(t, "b")
	w.Branch(t, "c")
	for _, branch := range []string{"a", "b"} { // labels are made once
		made := must(f.Open(ctx, "main", branch, pulls.Content{Title: branch, Opening: pulls.Opening{Labels: []string{"variform", "fleet"}, Assignees: []string{Ann}, Reviewers: []string{Bob}}}))(t)
		r := w.See(t, made.Number)
		slices.Sort(r.Labels)
		if d := cmp.Diff([][]string{{"fleet", "variform"}, {Ann}, {Bob}}, [][]string{r.Labels, r.Assignees, r.Reviewers}); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
	if _, err := f.Open(ctx, "main", "c", pulls.Content{Title: "c", Opening: pulls.Opening{Reviewers: []string{"nobody"}}}); err == nil {
		t.Error("nobody was asked to review")
	}
}

func twice(t *testing.T, w World, client func(string) pulls.Forge) {
	f, ctx := client(Ann), t.Context()
	w.Branch(t, "a")
	must(f.Open(ctx, "main", "a", pulls.Content{Title: "first"}))(t)
	again, err := f.Open(ctx, "main", "a", pulls.Content{Title: "second"})
	if err != nil || again.Number != 1 || again.Title != "first" {
		t.Errorf("%+v, %v", again, err)
	}
	if all := must(f.Requests(ctx, "main"))(t); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

func checks(t *testing.T, w World, client func(string) pulls.Forge) {
	f, ctx := client(Ann), t.Context()
	tip := w.Branch(t, "a")
	must(f.Open(ctx, "main", "a", pulls.Content{Title: "a"}))(t)
	proof := pulls.Status{Context: "variform/proof", State: pulls.StatePending, Description: "the inputs\nmoved"}
	for _, step := range []struct {
		s    pulls.Status
		want int
	}{
		{proof, 1},
		{proof, 1},
		{pulls.Status{Context: "variform/proof", State: pulls.StateSuccess, Description: "it holds", URL: "https://example.com/page"}, 2},
		{pulls.Status{Context: "variform/proof", State: pulls.StateSuccess, Description: "it holds", URL: "https://example.com/page"}, 2},
		{pulls.Status{Context: "variform/other", State: pulls.StateSuccess, Description: "it holds", URL: "https://example.com/page"}, 3},
		{pulls.Status{Context: "variform/proof", State: pulls.StateFailure, Description: strings.Repeat("é", 300)}, 4},
		{pulls.Status{Context: "variform/proof", State: pulls.StateFailure, Description: strings.Repeat("é", 300)}, 4},
		{pulls.Status{Context: "variform/proof", State: pulls.StateError, Description: "broken"}, 5},
		{proof, 6},
	} {
		if err := f.Status(ctx, tip, step.s); err != nil {
			t.Fatalf("%+v: %v", step.s, err)
		}
		there := w.Statuses(t, tip)
		if len(there) != step.want {
			t.Errorf("%+v: %d statuses, want %d", step.s, len(there), step.want)
		}
		i := slices.IndexFunc(there, func(s Status) bool { return s.Context == step.s.Context })
		if i < 0 || there[i].State != string(step.s.State) && there[i].State != "failed" || there[i].URL != step.s.URL || strings.Contains(there[i].Description, "\n") {
			t.Errorf("%+v: %+v", step.s, there)
		}
	}
	if err := f.Status(ctx, strings.Repeat("1", 40), proof); err == nil {
		t.Error("a commit that is not there has a check")
	}
}

func merging(t *testing.T, w World, client func(string) pulls.Forge) {
	f, ctx := client(Ann), t.Context()
	tip := w.Branch(t, "b")
	made := must(f.Open(ctx, "main", "b", pulls.Content{Title: "b"}))(t)
	state := func(is func(pulls.Open) bool) bool {
		return len(numbers(must(f.Requests(ctx, "main"))(t), is)) == 1
	}
	w.Require(t, "variform/proof")
	for range 2 { // another run may have asked, too
		if err := f.AutoMerge(ctx, made, "squash"); err != nil {
			t.Fatal(err)
		}
	}
	if !state(open) {
		t.Fatal("it is merged without its check")
	}
	if err := f.Status(ctx, tip, pulls.Status{Context: "variform/proof", State: pulls.StateFailure, Description: "no"}); err != nil {
		t.Fatal(err)
	}
	if !state(open) {
		t.Fatal("it is merged though its check fails")
	}
	if err := f.Status(ctx, tip, pulls.Status{Context: "variform/proof", State: pulls.StateSuccess, Description: "it holds"}); err != nil {
		t.Fatal(err)
	}
	if !soon(func() bool { return state(merged) }) {
		t.Error("it is not merged")
	}
	// Where nothing stands in its way it is merged at once.
	next := w.Branch(t, "a")
	if err := f.Status(ctx, next, pulls.Status{Context: "variform/proof", State: pulls.StateSuccess, Description: "it holds"}); err != nil {
		t.Fatal(err)
	}
	free := must(f.Open(ctx, "main", "a", pulls.Content{Title: "a"}))(t)
	if err := f.AutoMerge(ctx, free, "merge"); err != nil {
		t.Fatal(err)
	}
	if !soon(func() bool { return len(numbers(must(f.Requests(ctx, "main"))(t), merged)) == 2 }) {
		t.Error("the second is not merged")
	}
}

// soon asks again until the answer is yes: a forge merges by itself a little later.
func soon(ok func() bool) bool {
	for range 100 {
		if ok() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

func refusals(t *testing.T, w World, client func(string) pulls.Forge) {
	w.Branch(t, "a")
	ctx := t.Context()
	for user, want := range map[string][]string{
		"nobody": {"401", "sign in", "_TOKEN"},
		Bob:      {"403", "the login may not do that", "a token needs"},
	} {
		f := client(user)
		_, err := f.Open(ctx, "main", "a", pulls.Content{Title: "a"})
		if err == nil {
			t.Fatalf("%q opened one", user)
		}
		for _, word := range append(want, "POST http") {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%q: %q is not in: %v", user, word, err)
			}
		}
		if strings.Contains(err.Error(), Token(user)) {
			t.Errorf("a secret: %v", err)
		}
	}
	if _, err := client(Ann).Open(ctx, "main", "nowhere", pulls.Content{Title: "a"}); err == nil || errors.Is(err, pulls.ErrNothing) {
		t.Errorf("a branch that is not there has a request: %v", err)
	}
}
