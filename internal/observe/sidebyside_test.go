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
// built at once, and a large one beside small ones gets the workers that these leave. Calls
// wait for each other, so that the most are at once that may be.
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
		list  []*Repo
		most  int   // at once
		large *Repo // of which there are 3 at once, the limit of one repository
	}{
		"many":         {many, 8, nil},
		"one":          {times(few[0], 20), 3, few[0]},
		"few":          {slices.Concat(few, few, few), 3, nil},
		"a large one":  {slices.Concat(times(many[0], 30), many[1:9]), 8, many[0]},
		"unregistered": {make([]*Repo, 5), 3, nil},
		"nothing":      {nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Config{Concurrency: 3, Repositories: 8})
			var mu sync.Mutex
			called, all, now, most, each := 0, 0, map[*Repo]int{}, 0, map[*Repo]int{}
			full, deep := make(chan struct{}), make(chan struct{})
			wait := func(until chan struct{}) {
				select {
				case <-until:
				case <-time.After(10 * time.Second):
					t.Error("fewer are called at once than may be")
				}
			}
			err := SideBySide(t.Context(), r, c.list, func(at *Repo) *Repo { return at }, func(_ context.Context, at *Repo) error {
				mu.Lock()
				called, all, now[at] = called+1, all+1, now[at]+1
				if all > most {
					if most = all; most == c.most {
						close(full)
					}
				}
				if now[at] > each[at] {
					if each[at] = now[at]; at == c.large && at != nil && each[at] == 3 {
						close(deep)
					}
				}
				mu.Unlock()
				wait(full)
				if at == c.large && at != nil {
					wait(deep)
				}
				mu.Lock()
				all, now[at] = all-1, now[at]-1
				mu.Unlock()
				return nil
			})
			if err != nil || called != len(c.list) || most != c.most {
				t.Errorf("%v, %d of %d calls, %d at once, want %d", err, called, len(c.list), most, c.most)
			}
			for _, n := range each {
				if n > 3 || name == "many" && n > 1 {
					t.Errorf("%d at once of one repository", n)
				}
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
