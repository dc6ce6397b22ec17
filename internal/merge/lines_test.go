package merge

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// gitMerge is what git merge-file makes of three texts, and whether it found no
// conflict.
func gitMerge(t testing.TB, dir, b, u, l string) (merged string, clean bool) {
	t.Helper()
	for name, text := range map[string]string{"b": b, "u": u, "l": l} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "merge-file", "-p", "l", "b", "u")
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 128) {
		t.Fatalf("git merge-file: %v", err)
	}
	return string(out), err == nil
}

func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
}

// TestLinesAsGit: where Git merges random lines without a conflict, the result
// is Git's, however often a line is there.
func TestLinesAsGit(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	compared := 0
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		words := 3 + rnd.IntN(60)
		base := make([]string, 1+rnd.IntN(60))
		for i := range base {
			base[i] = fmt.Sprintf("%d\n", rnd.IntN(words))
		}
		change := func() []string {
			out := slices.Clone(base)
			for range 1 + rnd.IntN(3) {
				at := rnd.IntN(len(out) + 1)
				to := min(len(out), at+rnd.IntN(3))
				lines := make([]string, rnd.IntN(3))
				for i := range lines {
					lines[i] = fmt.Sprintf("%d\n", rnd.IntN(words))
				}
				out = slices.Replace(out, at, to, lines...)
			}
			return out
		}
		u, l := change(), change()
		want, clean := gitMerge(t, dir, strings.Join(base, ""), strings.Join(u, ""), strings.Join(l, ""))
		if !clean {
			continue
		}
		compared++
		got, _ := mergeLines(base, u, l, func(s stretch) []string { return append([]string{"clash\n"}, s.l...) })
		if diff := cmp.Diff(want, strings.Join(got, "")); diff != "" {
			t.Errorf("seed %d: base %q, upstream %q, local %q (-git +got):\n%s", seed, base, u, l, diff)
		}
	}
	if compared < 100 {
		t.Errorf("only %d merges had no conflict", compared)
	}
}
