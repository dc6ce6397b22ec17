package fault

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// scenario is an apply to disturb.
type scenario struct {
	share int // of FAULT_POINTS, in percent
	args  []string
	split bool // a repository's refs move in several pushes
}

// fleets each have 100 variants to bring up to date.
var fleets = map[string]struct {
	setUp     func(t *testing.T) *fleet
	scenarios map[string]scenario
}{
	"first Drafts": {newborn, map[string]scenario{
		"one push": {share: 40},
	}},
	"all kinds of work in four repositories": {grown, map[string]scenario{
		"a push each":         {share: 40, args: pruning},
		"several pushes each": {share: 20, args: append([]string{"--max-refs-per-push", "25"}, pruning...), split: true},
	}},
}

var pruning = []string{"--prune", "--max-delete", "20"}

// newborn wants 100 packages where there are none.
func newborn(t *testing.T) *fleet {
	f := newFleet(t, "one")
	f.publish(1)
	f.want(1, map[string][]string{"one": numbered(0, 100)})
	f.keep()
	return f
}

// automatic is the repository whose Drafts are published at once, by a second
// push.
const automatic = "auto"

// grown has packages in all states, and wants something of each.
func grown(t *testing.T) *fleet {
	f := newFleet(t, "big", "mid", "few", automatic)
	in := func(repo string, names []string) []string {
		out := make([]string, len(names))
		for i, n := range names {
			out[i] = repo + "/" + n
		}
		return out
	}
	f.publish(1)
	f.want(1, map[string][]string{"big": numbered(0, 50), "mid": numbered(0, 20), "few": numbered(0, 8), automatic: numbered(0, 2)})
	for _, n := range numbered(0, 4) {
		f.write("installations/"+n+".yaml", fmt.Sprintf("apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: %s}\nspec: {target: %s, package: %[1]s, activation: Automatic}\n", n, automatic))
	}
	f.write("merged.yaml", `apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: merged}
spec:
  upstream: {repo: catalog, package: web, revision: v1}
  downstream: {repo: big, package: merged}
`)
	f.must("set-up", "apply")
	f.must("set-up", append([]string{"approve"}, slices.Concat(in("big", numbered(0, 20)), in("mid", numbered(0, 8)), in("few", numbered(0, 4)))...)...)
	f.must("set-up", append([]string{"propose"}, slices.Concat(in("big", numbered(20, 28)), in("mid", numbered(8, 12)))...)...)
	for _, n := range numbered(24, 34) { // Proposed and Draft
		for _, phase := range []string{"drafts", "proposed"} {
			branch := phase + "/" + n + "/packagevariant-1"
			if f.refs()["big refs/heads/"+branch] != "" {
				f.repos["big"].Commit(t, branch, "by hand", gittest.Text{n + "/hand.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: hand\n"})
			}
		}
	}
	w := f.clone("big", "rae")
	w.must("merge", "-q", "--no-ff", "-m", "merge merged", "origin/drafts/merged/packagevariant-1")
	w.must("push", "-q", "origin", "HEAD:main")
	// Three Published and four Drafts go, 26 come; the rest are updated.
	f.publish(2)
	f.want(2, map[string][]string{"big": append(numbered(2, 47), numbered(50, 65)...), "mid": append(numbered(1, 19), numbered(20, 27)...), "few": numbered(0, 10), automatic: numbered(0, 4)})
	f.srv.Wait()
	f.keep()
	return f
}

// A process that is killed after any byte of its talk with the servers has done
// each push wholly or not at all, and the next run gives what an undisturbed run
// gives.
func TestKilledOnTheWire(t *testing.T) {
	total := amount(t, "FAULT_POINTS", 25, 6)
	for name, fl := range fleets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := fl.setUp(t)
			for name, s := range fl.scenarios {
				t.Run(name, func(t *testing.T) {
					d := f.at(t).undisturbed(s)
					for _, p := range spread(d.passed, max(1, total*s.share/100)) {
						t.Run(p.String(), func(t *testing.T) { f.at(t).killed(d, p) })
					}
				})
			}
		})
	}
}

// disturbed is what an undisturbed run began with, did and talked.
type disturbed struct {
	scenario
	start, whole map[string]string
	passed       map[gittest.Stream]int64
}

// undisturbed runs once in peace.
func (f *fleet) undisturbed(s scenario) *disturbed {
	f.t.Helper()
	f.restore()
	d := &disturbed{scenario: s, start: f.refs()}
	f.srv.ResetCounts()
	if err := os.RemoveAll(f.cache("peace")); err != nil {
		f.t.Fatal(err)
	}
	f.must("peace", append([]string{"apply"}, s.args...)...)
	d.passed, d.whole = f.srv.Passed(), f.refs()
	if cmp.Equal(d.start, d.whole) {
		f.t.Fatal("the undisturbed run does nothing")
	}
	f.nothingToDo("peace", s.args)
	return d
}

// nothingToDo runs apply, which is to find nothing.
func (f *fleet) nothingToDo(cache string, args []string) {
	f.t.Helper()
	refs := f.refs()
	f.srv.ResetCounts()
	f.must(cache, append([]string{"apply"}, args...)...)
	if n := f.srv.Count(gittest.WriteRefs) + f.srv.Count(gittest.Push); n != 0 {
		f.t.Errorf("apply had something to push though nothing had changed")
	}
	f.wantRefs(refs, "apply with nothing to do")
}

// point is a place in the talk with the servers.
type point struct {
	stream gittest.Stream
	at, of int64
	first  bool // of its stream
}

func (p point) String() string { return fmt.Sprintf("%s at byte %d of %d", p.stream, p.at, p.of) }

// spread takes n points, as many of each stream and evenly within it. One of
// them is before the first byte of the answer to a push: all is done, and nobody
// told.
func spread(passed map[gittest.Stream]int64, n int) []point {
	streams := slices.SortedFunc(maps.Keys(passed), func(a, b gittest.Stream) int { return strings.Compare(a.String(), b.String()) })
	streams = slices.DeleteFunc(streams, func(s gittest.Stream) bool { return passed[s] == 0 })
	// Where they do not come out even, those of the push have one more.
	slices.SortStableFunc(streams, func(a, b gittest.Stream) int {
		push := func(s gittest.Stream) int {
			if s.Kind == gittest.Push {
				return 0
			}
			return 1
		}
		return push(a) - push(b)
	})
	var out []point
	for i, s := range streams {
		here := n / len(streams)
		if i < n%len(streams) {
			here++
		}
		for k := range here {
			at := passed[s] * int64(2*k+1) / int64(2*here)
			if k == 0 && s == (gittest.Stream{Kind: gittest.Push, Answer: true}) {
				at = 0
			}
			out = append(out, point{s, at, passed[s], k == 0})
		}
	}
	return out
}

// at is the fleet in a subtest.
func (f *fleet) at(t testing.TB) *fleet {
	g := *f
	g.t = t
	return &g
}

// settle is how long a client that waits for a byte may digest those before it.
const settle = 10 * time.Millisecond

// killed runs apply, kills it at a point, and runs it again.
func (f *fleet) killed(d *disturbed, p point) {
	f.t.Helper()
	f.restore()
	cache := fmt.Sprintf("%s-%d", strings.ReplaceAll(p.stream.String(), " ", "-"), p.at)
	if err := os.RemoveAll(f.cache(cache)); err != nil { // another scenario's of the same point
		f.t.Fatal(err)
	}
	f.srv.ResetCounts()
	victim := make(chan *child, 1)
	f.srv.StopAt(p.stream, p.at, func() {
		time.Sleep(settle)
		c := <-victim
		c.kill()
	})
	c := f.variform("rae", cache, append([]string{"apply"}, d.args...)...)
	victim <- c
	if c.status() >= 0 {
		f.t.Fatalf("the run did not come to this point: %s", c)
	}
	f.srv.Wait()
	f.wholePushes(d)
	f.again(d, cache, p.first)
}

// wholePushes checks that each push happened or not: a repository is as before
// or as after, and where there are several pushes, each package is. Drafts that
// are to be published at once come and go between.
func (f *fleet) wholePushes(d *disturbed) {
	f.t.Helper()
	unit := func(ref string) string {
		if d.split {
			return packageOf(ref)
		}
		repo, _, _ := strings.Cut(ref, " ")
		return repo
	}
	group := func(refs map[string]string) map[string]map[string]string {
		out := map[string]map[string]string{}
		for _, set := range []map[string]string{d.start, d.whole, refs} {
			for ref := range set {
				out[unit(ref)] = map[string]string{}
			}
		}
		for ref, hash := range refs {
			if !isOpen(ref) || !strings.HasPrefix(ref, automatic+" ") {
				out[unit(ref)][ref] = hash
			}
		}
		return out
	}
	before, after := group(d.start), group(d.whole)
	for name, now := range group(f.refs()) {
		if !cmp.Equal(now, before[name]) && !cmp.Equal(now, after[name]) {
			f.t.Errorf("%s is half pushed (-whole +now):\n%s", name, cmp.Diff(after[name], now))
		}
	}
}

// packageOf is the repository and the package that a ref is of, the ref itself
// where it is of none.
func packageOf(ref string) string {
	repo, name, _ := strings.Cut(ref, " ")
	for _, prefix := range []string{"refs/heads/drafts/", "refs/heads/proposed/", "refs/heads/deletionProposed/", "refs/tags/"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return repo + "/" + rest[:max(0, strings.LastIndexByte(rest, '/'))]
		}
	}
	return ref
}

// again completes what was disturbed.
func (f *fleet) again(d *disturbed, cache string, thorough bool) {
	f.t.Helper()
	f.must(cache, append([]string{"apply"}, d.args...)...)
	f.wantRefs(d.whole, "after the next run")
	if thorough {
		f.nothingToDo(cache, d.args)
		f.fsck()
	}
}
