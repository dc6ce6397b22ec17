package gitrepo

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// Which tree stood where along a line is what each commit says by itself, for folders
// that come, go, change, move into each other and have names that sort as files do not.
func TestAlong(t *testing.T) {
	s := newSite(t)
	names := []string{"a", "a-b", "a.b", "a0", "b", "b/c", "b/c/d", "b-c", "z"}
	rng := rand.New(rand.NewPCG(1, 2))
	there := map[string]string{}
	for n := range 60 {
		for range rng.IntN(3) + 1 {
			file := names[rng.IntN(len(names))] + "/f.yaml"
			if rng.IntN(3) == 0 {
				delete(there, file)
			} else {
				there[file] = fmt.Sprint(rng.IntN(4))
			}
		}
		text := gittest.Text{"README.md": fmt.Sprint(n)}
		for file, data := range there {
			text[file] = data
		}
		s.repo.Commit(t, "main", "step", text)
	}
	for _, address := range []string{"path", "http"} {
		t.Run(address, func(t *testing.T) {
			r := open(t, s.urls[address])
			commits := []*Commit{head(t, r, "main")}
			for len(commits[len(commits)-1].Parents) > 0 {
				next := commits[len(commits)-1].Parents[0]
				if err := r.deepen(t.Context(), []Hash{commits[0].Hash}, 100, 100, nil); err != nil {
					t.Fatal(err)
				}
				cs, err := r.Commits(t.Context(), next)
				if err != nil {
					t.Fatal(err)
				}
				commits = append(commits, cs...)
			}
			along, err := r.Along(t.Context(), commits)
			if err != nil {
				t.Fatal(err)
			}
			changes := 0
			for _, dir := range append(names, "nowhere", "b/nowhere") {
				var last Hash
				for i, c := range commits {
					want, _, err := r.TreeAt(t.Context(), c.Hash, dir)
					if err != nil {
						t.Fatal(err)
					}
					got, err := along.Tree(i, dir)
					if err != nil || got != want {
						t.Fatalf("%s in commit %d: %s, want %s, %v", dir, i, got, want, err)
					}
					if got != last {
						changes++
					}
					last = got
				}
			}
			if len(commits) < 60 || changes < 60 {
				t.Errorf("%d changes in %d commits", changes, len(commits))
			}
		})
	}
}

// A line of commits keeps what changed, and of no commit the names of all folders beside it.
func TestAlongKeepsChanges(t *testing.T) {
	const folders, commits = 400, 200
	s := newSite(t)
	text := gittest.Text{}
	for i := range folders {
		text[fmt.Sprintf("a-package-with-a-long-name-%04d/f.yaml", i)] = "a: 1\n"
	}
	s.repo.Commit(t, "main", "start", text)
	for i := range commits {
		s.repo.Commit(t, "main", "step", gittest.Text{fmt.Sprintf("a-package-with-a-long-name-%04d/f.yaml", i): "a: 2\n"})
	}
	r := open(t, s.urls["path"])
	line := []*Commit{head(t, r, "main")}
	if err := r.deepen(t.Context(), []Hash{line[0].Hash}, 2*commits, 2*commits, nil); err != nil {
		t.Fatal(err)
	}
	for len(line[len(line)-1].Parents) > 0 {
		cs, err := r.Commits(t.Context(), line[len(line)-1].Parents[0])
		if err != nil {
			t.Fatal(err)
		}
		line = append(line, cs...)
	}
	read := func() *Along {
		t.Helper()
		a, err := r.Along(t.Context(), line)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	read() // what the repository keeps
	before := held()
	a := read()
	after := held()
	if len(a.steps) != commits {
		t.Errorf("%d folders changed, want %d", len(a.steps), commits)
	}
	if kept := int64(after) - int64(before); kept > 500_000 {
		t.Errorf("%d bytes are kept of %d changes beside %d folders", kept, commits, folders)
	}
	runtime.KeepAlive(a)
}
