package bench

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// kptVariants is on how many variants kpt is run; what it took is scaled to all.
const kptVariants = 10

// BenchmarkFleetAgainstKpt brings one changed upstream to 500 variants, from
// the management directory to the pushed and rendered Drafts, against a loop of
// kpt pkg update, kpt fn render, git commit and git push over ten of them.
// Both push to a bare repository by path. Metrics as for
// BenchmarkUpdateAgainstKpt, kpt's times scaled to all variants.
func BenchmarkFleetAgainstKpt(b *testing.B) {
	s := scenario{variants: 500, render: true}
	b.Run(fmt.Sprintf("variants=%d", s.variants), func(b *testing.B) {
		d := &duel{}
		for b.Loop() {
			b.StopTimer()
			fleetBoth(b, d, s, kptVariants)
			b.StartTimer()
		}
		d.report(b, float64(s.variants)/kptVariants)
	})
}

func fleetBoth(b testing.TB, d *duel, s scenario, loops int) {
	b.Helper()
	w := newWorld(b, s)
	w.apply(b)
	w.publish(b, s)
	start := time.Now()
	child := runChild(b, w)
	d.ours = append(d.ours, cost{wall: time.Since(start), cpu: child.cpu})
	for ref, hash := range w.drafts(b) {
		pkg := strings.TrimPrefix(ref[:strings.LastIndex(ref, "/")], "refs/heads/drafts/")
		if text := w.fleet.Show(b, hash, pkg+"/part-04.yaml"); !updated(text) {
			b.Fatalf("%s is not updated and rendered:\n%s", ref, text)
		}
		if s.variants > loops {
			break // one is looked at: each takes a git program
		}
	}
	if hasKpt() {
		d.kpts = append(d.kpts, loopKpt(b, loops))
	}
}

func updated(text string) bool {
	return strings.Contains(text, "part-04:v2.0.0") && strings.Contains(text, "fleet: bench")
}

// loopKpt updates some variants of the same package with kpt and git, each on a
// branch of its own, and returns what that took in all.
func loopKpt(b testing.TB, n int) cost {
	b.Helper()
	catalog, fleet, kpt := gittest.NewRepo(b), gittest.NewRepo(b), newKpt(b)
	for _, v := range []string{"1", "2"} {
		text := scenario{render: true}.catalogPackage("v" + v + ".0.0")
		text["app/Kptfile"] = asPrograms(b, text["app/Kptfile"])
		catalog.Tag(b, "app/v"+v, catalog.Commit(b, "main", "app v"+v, text))
	}
	fleet.Commit(b, "main", "start", gittest.Text{"README.md": "# fleet\n"})
	dir := filepath.Join(b.TempDir(), "fleet")
	gittest.Run(b, "", nil, "clone", "-q", fleet.Dir, dir)
	for i := range n {
		kpt.run(b, dir, "pkg", "get", catalog.URL()+"/app@v1", variantName(i))
		kpt.run(b, dir, "fn", "render", variantName(i), "--allow-exec")
	}
	gittest.Run(b, dir, nil, "add", "-A")
	gittest.Run(b, dir, nil, "commit", "-qm", "v1 of all")
	gittest.Run(b, dir, nil, "push", "-q", "origin", "main")

	var all cost
	for i := range n {
		branch := "drafts/" + variantName(i) + "/packagevariant-2"
		all.add(git(b, dir, nil, "checkout", "-q", "-b", branch, "main"))
		all.add(kpt.run(b, dir, "pkg", "update", variantName(i)+"@v2"))
		all.add(kpt.run(b, dir, "fn", "render", variantName(i), "--allow-exec"))
		all.add(git(b, dir, nil, "add", "-A"))
		all.add(git(b, dir, nil, "commit", "-qm", "v2"))
		all.add(git(b, dir, nil, "push", "-q", "origin", branch))
		if text := fleet.Show(b, branch, variantName(i)+"/part-04.yaml"); !updated(text) {
			b.Fatalf("kpt did not update and render:\n%s", text)
		}
	}
	return all
}

func variantName(i int) string { return fmt.Sprintf("cluster-%05d-app", i) }

// TestKptComparisonsHold runs the comparisons with kpt small: both sides must
// come to the same result.
func TestKptComparisonsHold(t *testing.T) {
	if !hasKpt() {
		t.Skip("SKIPPED: kpt is not on the PATH, the comparisons with it did not run")
	}
	t.Run("update", func(t *testing.T) {
		catalog, _ := updateOurs(t, 6, true)
		updateKpt(t, catalog, 6, true)
	})
	t.Run("render", func(t *testing.T) {
		for _, functions := range []int{0, 3} {
			renderBoth(t, &duel{}, 6, functions)
		}
	})
	t.Run("fleet", func(t *testing.T) {
		fleetBoth(t, &duel{}, scenario{variants: 2, render: true}, 2)
	})
}
