package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// An approval that is killed after any byte of its talk with the server has
// published all or nothing. Approving again and one apply complete it, with the
// trees that were approved and a record that proves itself.
func TestApproveKilled(t *testing.T) {
	t.Parallel()
	points := max(2, amount(t, "FAULT_POINTS", 25, 6)*20/100)
	f := newborn(t)
	f.must("set-up", "apply")
	f.keep()
	trees := f.trees("refs/heads/drafts/%/packagevariant-1")
	f.srv.ResetCounts()
	f.must("peace", "approve", "--all")
	for _, p := range spread(f.srv.Passed(), points) {
		t.Run(p.String(), func(t *testing.T) { f.at(t).approveKilled(p, trees) })
	}
}

// trees are the packages' folders, at a ref each; % stands for the package.
func (f *fleet) trees(ref string) map[string]string {
	f.t.Helper()
	names := numbered(0, 100)
	var asked strings.Builder
	for _, n := range names {
		asked.WriteString(strings.ReplaceAll(ref, "%", n) + ":" + n + "\n")
	}
	out := map[string]string{}
	answers := strings.Split(strings.TrimSpace(gittest.Run(f.t, f.repos["one"].Dir, []byte(asked.String()), "cat-file", "--batch-check")), "\n")
	for i, n := range names {
		out[n] = answers[i]
	}
	return out
}

func (f *fleet) approveKilled(p point, trees map[string]string) {
	f.t.Helper()
	f.restore()
	cache := "approve-" + strings.ReplaceAll(p.String(), " ", "-")
	f.srv.ResetCounts()
	victim := make(chan *child, 1)
	f.srv.StopAt(p.stream, p.at, func() {
		time.Sleep(settle)
		c := <-victim
		c.kill()
	})
	c := f.variform("rae", cache, "approve", "--all")
	victim <- c
	if c.status() >= 0 {
		f.t.Fatalf("the run did not come to this point: %s", c)
	}
	f.srv.Wait()
	drafts, tags := 0, 0
	for ref := range f.refs() {
		switch {
		case isOpen(ref):
			drafts++
		case strings.Contains(ref, " refs/tags/"):
			tags++
		}
	}
	if drafts+tags != len(trees) || drafts*tags != 0 {
		f.t.Errorf("half pushed: %d Drafts and %d tags", drafts, tags)
	}
	if c := f.variform("rae", cache, "approve", "--all"); c.status() != 0 && !harmless.MatchString(c.out.String()+c.err.String()) {
		f.t.Errorf("%s\n%s", c, &c.out)
	}
	f.nothingToDo(cache, nil)
	for _, at := range []string{"refs/tags/%/v1", "refs/heads/main"} {
		if diff := cmp.Diff(trees, f.trees(at)); diff != "" {
			f.t.Errorf("at %s is something else than was approved (-approved +there):\n%s", at, diff)
		}
	}
	f.must(cache, "record", "check")
	if p.stream.Kind == gittest.Push {
		f.fsck()
	}
}
