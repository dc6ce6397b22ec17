package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// BenchmarkUpdateAgainstKpt brings a new revision of a package to one variant,
// which changes every resource; edited, somebody did so on its Draft, too. kpt pkg
// update does its part of that, in a work tree; variform apply plans, merges,
// commits and pushes. Where there is no kpt, ours runs alone.
//
//	kpt/ours      elapsed time of kpt over that of ours
//	kpt/ours-cpu  the same in user and system time, git's programs included
//	cpu-µs/resource  user and system time of ours for each resource: linear if it stays
//	ms, kpt-ms    elapsed times
func BenchmarkUpdateAgainstKpt(b *testing.B) {
	for _, n := range []int{50, 200, 1000, 5000} {
		for _, edited := range []bool{false, true} {
			b.Run(fmt.Sprintf("resources=%d/edited=%t", n, edited), func(b *testing.B) {
				d := &duel{}
				for b.Loop() {
					b.StopTimer()
					catalog, ours := updateOurs(b, n, edited)
					d.ours = append(d.ours, ours)
					if hasKpt() && n <= 1000 { // it takes half a minute for 1,000, and grows with the square
						d.kpts = append(d.kpts, updateKpt(b, catalog, n, edited))
					}
					b.StartTimer()
				}
				d.report(b, 1)
				var each []float64
				for _, c := range d.ours {
					each = append(each, float64(c.cpu.Microseconds())/float64(n))
				}
				b.ReportMetric(median(each), "cpu-µs/resource")
			})
		}
	}
}

// updateOurs updates a Draft from v2 to v3 of a package of n resources, and returns
// the repository with both revisions.
func updateOurs(b testing.TB, n int, edited bool) (*gittest.Repo, cost) {
	b.Helper()
	w := newWorld(b, scenario{variants: 1})
	w.catalog.Tag(b, "app/v2", w.catalog.Commit(b, "main", "app v2", largePackage(n, "v2.0.0")))
	w.want(b, "v2")
	w.apply(b)
	if edited {
		draft, dir := w.clone(b)
		edit(b, dir)
		gittest.Run(b, dir, nil, "commit", "-qam", "by hand")
		gittest.Run(b, dir, nil, "push", "-q", "origin", draft)
	}
	w.catalog.Tag(b, "app/v3", w.catalog.Commit(b, "main", "app v3", largePackage(n, "v3.0.0")))
	w.want(b, "v3")

	start := time.Now()
	child := runChild(b, w)
	c := cost{wall: time.Since(start), cpu: child.cpu}

	_, dir := w.clone(b)
	bothEdits(b, dir, n, edited)
	return w.catalog, c
}

// updateKpt is kpt pkg update on the same package with the same edits.
func updateKpt(b testing.TB, catalog *gittest.Repo, n int, edited bool) cost {
	b.Helper()
	dir := b.TempDir()
	gittest.Run(b, dir, nil, "init", "-q", "-b", "main")
	kpt := newKpt(b)
	kpt.run(b, dir, "pkg", "get", catalog.URL()+"/app@v2", "app")
	if edited {
		edit(b, dir)
	}
	gittest.Run(b, dir, nil, "add", "-A")
	gittest.Run(b, dir, nil, "commit", "-qm", "by hand")
	c := kpt.run(b, dir, "pkg", "update", "app@v3", "--strategy=resource-merge")
	bothEdits(b, dir, n, edited)
	return c
}

// largePackage is the benchmarks' package with n Deployments in place of its
// files, four to a file.
func largePackage(n int, image string) gittest.Text {
	p := gittest.Text{"app/Kptfile": kptfile(false), "app/package-context.yaml": packageContext, "app/region.yaml": injectionPoint}
	for i := 0; i < n; i += 4 {
		var docs []string
		for j := i; j < min(i+4, n); j++ {
			docs = append(docs, fmt.Sprintf(deployment, fmt.Sprintf("part-%05d", j), image))
		}
		p[fmt.Sprintf("app/tier-%d/parts-%05d.yaml", i/4%7, i)] = strings.Join(docs, "---\n")
	}
	return p
}

const replicas, moreReplicas = "replicas: 2 # two zones", "replicas: 3 # three zones"

// edit changes every Deployment below a directory as a person would.
func edit(b testing.TB, dir string) {
	b.Helper()
	eachPart(b, dir, func(file, text string) {
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, replicas, moreReplicas)), 0o644); err != nil {
			b.Fatal(err)
		}
	})
}

// bothEdits fails unless n Deployments have upstream's edit, and the person's where
// there was one.
func bothEdits(b testing.TB, dir string, n int, edited bool) {
	b.Helper()
	mine, theirs := 0, 0
	eachPart(b, dir, func(_, text string) {
		mine += strings.Count(text, moreReplicas)
		theirs += strings.Count(text, ":v3.0.0")
	})
	if theirs != n || edited != (mine == n) {
		b.Fatalf("%d local edits and %d of upstream in %d resources: the comparison is void", mine, theirs, n)
	}
}

func eachPart(b testing.TB, dir string, visit func(file, text string)) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "tier-*", "*.yaml"))
	if err != nil || len(files) == 0 {
		b.Fatal("no parts in ", dir, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		visit(file, string(text))
	}
}

// clone checks the fleet's one Draft out; it returns the branch.
func (w *world) clone(b testing.TB) (draft, dir string) {
	b.Helper()
	for ref := range w.drafts(b) {
		draft = strings.TrimPrefix(ref, "refs/heads/")
	}
	dir = filepath.Join(b.TempDir(), "clone")
	gittest.Run(b, "", nil, "clone", "-q", "-b", draft, w.fleet.Dir, dir)
	return draft, dir
}

// duel collects what ours and kpt took for the same work, run in turn.
type duel struct{ ours, kpts []cost }

// report gives the medians; kpt did its work for one in scale.
func (d *duel) report(b *testing.B, scale float64) {
	b.ReportMetric(0, "ns/op") // the loop holds both sides: its time says nothing
	b.ReportMetric(float64(median(walls(d.ours)).Microseconds())/1000, "ms")
	if len(d.kpts) == 0 {
		b.Log("kpt is not compared with here")
		return
	}
	var wall, cpu []float64
	for i, k := range d.kpts {
		wall = append(wall, scale*float64(k.wall)/float64(d.ours[i].wall))
		cpu = append(cpu, scale*float64(k.cpu)/float64(d.ours[i].cpu))
	}
	b.ReportMetric(scale*float64(median(walls(d.kpts)).Microseconds())/1000, "kpt-ms")
	b.ReportMetric(median(wall), "kpt/ours")
	b.ReportMetric(median(cpu), "kpt/ours-cpu")
}

func walls(costs []cost) []time.Duration {
	var out []time.Duration
	for _, c := range costs {
		out = append(out, c.wall)
	}
	return out
}

// kptRunner runs real kpt with a cache of its own.
type kptRunner struct{ env []string }

func hasKpt() bool {
	_, err := exec.LookPath("kpt")
	return err == nil
}

func newKpt(b testing.TB) kptRunner {
	return kptRunner{append(gittest.Env(), "KPT_CACHE_DIR="+b.TempDir())}
}

func (k kptRunner) run(b testing.TB, dir string, args ...string) cost {
	b.Helper()
	cmd := exec.Command("kpt", args...)
	cmd.Dir, cmd.Env = dir, k.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("kpt %v: %v\n%s", args, err, out.String())
	}
	return cost{wall: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}
