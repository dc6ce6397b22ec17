package observe

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/variform/variform/internal/decide"
)

// stubGit is a Repository that nothing is asked of.
type stubGit struct{ Repository }

// Of many repositories as many are waited for as may be, of one no more than packages are
// built at once, and no repository waits until another is done.
func TestSideBySide(t *testing.T) {
	repos := func(n int) (out []*Repo) {
		for range n {
			out = append(out, &Repo{Git: &stubGit{}})
		}
		return out
	}
	times := func(r *Repo, n int) (out []*Repo) { return slices.Repeat([]*Repo{r}, n) }
	many, few := repos(40), repos(3)
	for name, c := range map[string]struct {
		list       []*Repo
		most, each int // at once, of all and of one repository
	}{
		"many":             {many, 8, 1},
		"many, some twice": {slices.Concat(many, many), 8, 2},
		"one":              {times(few[0], 20), 3, 3},
		"few":              {slices.Concat(few, few, few), 3, 2},
		"a large one last": {slices.Concat(times(many[0], 30), many[1:9]), 8, 3},
		"none registered":  {make([]*Repo, 5), 3, 3},
		"nothing":          {nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Config{Concurrency: 3, Repositories: 8})
			var mu sync.Mutex
			called, now, most, each := 0, map[*Repo]int{}, 0, 0
			err := SideBySide(t.Context(), r, c.list, func(at *Repo) *Repo { return at }, func(_ context.Context, at *Repo) error {
				mu.Lock()
				called++
				now[at]++
				all := 0
				for _, n := range now {
					all, each = all+n, max(each, n)
				}
				most = max(most, all)
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
				mu.Lock()
				now[at]--
				mu.Unlock()
				return nil
			})
			if err != nil || called != len(c.list) || most > c.most || each > c.each || most < (c.most+1)/2 {
				t.Errorf("%v, %d of %d calls, %d at once (want %d), %d of one repository (want %d)", err, called, len(c.list), most, c.most, each, c.each)
			}
		})
	}
}

// What fails ends its repository's part alone, what is cancelled all of it.
func TestSideBySideEnds(t *testing.T) {
	r := New(Config{Concurrency: 1, Repositories: 2})
	broken, sound := &Repo{Git: &stubGit{}}, &Repo{Git: &stubGit{}}
	list := slices.Concat(slices.Repeat([]*Repo{broken}, 5), slices.Repeat([]*Repo{sound}, 5))
	called := map[*Repo]int{}
	var mu sync.Mutex
	call := func(fail func(*Repo) error) error {
		clear(called)
		return SideBySide(t.Context(), r, list, func(at *Repo) *Repo { return at }, func(_ context.Context, at *Repo) error {
			mu.Lock()
			defer mu.Unlock()
			called[at]++
			return fail(at)
		})
	}
	err := call(func(at *Repo) error {
		if at == broken {
			return errors.New("it does not answer")
		}
		return nil
	})
	if err != nil || called[broken] != 1 || called[sound] != 5 {
		t.Errorf("%v, called %d times of the broken repository, %d of the sound one", err, called[broken], called[sound])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := SideBySide(ctx, r, list, func(at *Repo) *Repo { return at }, func(context.Context, *Repo) error { t.Error("called"); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A package that is named twice, as one with two open Drafts, is read by one caller.
func TestLookAtOnce(t *testing.T) {
	repo, a, b := &Repo{Git: &stubGit{}}, &decide.Package{Path: "a"}, &decide.Package{Path: "b"}
	var mu sync.Mutex
	var read []string
	New(Config{}).lookAt(t.Context(), []looked{{repo, a}, {repo, b}, {repo, a}}, func(_ context.Context, at *Repo, p *decide.Package) error {
		mu.Lock()
		defer mu.Unlock()
		if read = append(read, p.Path); at != repo {
			t.Error("another repository")
		}
		return nil
	})
	if slices.Sort(read); !slices.Equal(read, []string{"a", "b"}) {
		t.Errorf("read %v", read)
	}
}
