package gitrepo

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// Who wrote a line is who git says, whatever became of the lines around it, of the file
// beside it and of the folder that it is in.
func TestSince(t *testing.T) {
	for _, file := range []string{"f.yaml", "sets/eu/f.yaml"} {
		t.Run(file, func(t *testing.T) {
			s := newSite(t)
			rng := rand.New(rand.NewPCG(3, 4))
			lines := []string{"first: 0"}
			for n := range 40 {
				switch at := rng.IntN(len(lines) + 1); {
				case n == 20: // it goes, and comes again
					s.repo.Commit(t, "main", "gone", gittest.Text{"other": "x"})
				case rng.IntN(4) == 0 && at < len(lines) && len(lines) > 1:
					lines = slices.Delete(lines, at, at+1)
				case rng.IntN(3) == 0 && at < len(lines):
					lines[at] = fmt.Sprintf("changed: %d", n)
				case rng.IntN(3) == 0: // another file alone
				default:
					lines = slices.Insert(lines, at, fmt.Sprintf("new: %d", n))
				}
				if n != 20 {
					s.repo.Commit(t, "main", "step", gittest.Text{file: strings.Join(lines, "\n"), "other": fmt.Sprint(n), "sets/us/f.yaml": fmt.Sprint(n)})
				}
			}
			want := map[int]string{}
			for _, l := range strings.Split(s.repo.Git(t, "blame", "--first-parent", "--root", "-l", "-s", "main", "--", file), "\n") {
				commit, rest, ok := strings.Cut(l, " ")
				if ok {
					want[len(want)+1] = commit
					if text := strings.TrimSpace(rest[strings.Index(rest, ")")+1:]); text != lines[len(want)-1] {
						t.Fatalf("git's line %d is %q", len(want), text)
					}
				}
			}
			var all []int
			for i := range lines {
				all = append(all, i+1)
			}
			for _, address := range []string{"path", "http"} {
				r := open(t, s.urls[address])
				got, err := r.Since(t.Context(), "main", file, []byte(strings.Join(lines, "\n")), all)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range all {
					if got[n] == nil || got[n].Hash.String() != want[n] {
						t.Errorf("%s: line %d %q is of %v, git says %s", address, n, lines[n-1], got[n], want[n])
					}
				}
				// In a work tree, below a line that nobody committed.
				edited := append([]string{"mine: 1"}, lines...)
				got, err = r.Since(t.Context(), "", file, []byte(strings.Join(edited, "\n")), []int{1, 2})
				if c, there := got[1]; err != nil || c != nil || !there || got[2] == nil || got[2].Hash.String() != want[1] {
					t.Errorf("%s: %v, %v", address, got, err)
				}
			}
		})
	}
}

// What is older than what is looked at first is looked for further back.
func TestSinceLongAgo(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "first", gittest.Text{"f": "a\nb\n"})
	oldest := strings.TrimSpace(s.repo.Git(t, "rev-parse", "main"))
	for n := range blameFirst + 10 {
		s.repo.Commit(t, "main", "step", gittest.Text{"f": fmt.Sprintf("a\nb\n%d\n", n)})
	}
	for _, address := range []string{"path", "http"} {
		got, err := open(t, s.urls[address]).Since(t.Context(), "main", "f", fmt.Appendf(nil, "a\nb\n%d\n", blameFirst+9), []int{2, 3, 9})
		if err != nil || got[2] == nil || got[2].Hash.String() != oldest || got[3] == nil || got[3].Hash.String() == oldest || got[9] != nil {
			t.Errorf("%s: %v, %v", address, got, err)
		}
	}
}
