package bench

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// BenchmarkHistory plans a new upstream revision for packages that were Published
// 10,000 commits ago, of which each changed a folder of a monorepo: a few the packages,
// most of them others. The yardstick is git log of first parents, over all folders, in
// the server's own repository. Metrics:
//
//	×git       time of the whole command over that of git log
//	requests   for objects, of all repositories
//	again×git  the same command with the cache that the first one left
func BenchmarkHistory(b *testing.B) {
	const packages, commits = 100, 10_000
	s := scenario{variants: packages, http: true}
	w := newWorld(b, s)
	w.apply(b)
	w.run(b, "approve", "--all")
	var more strings.Builder
	for i := range commits {
		folder := fmt.Sprintf("others/%03d", i%500)
		if i%1000 == 0 { // a hotfix
			folder = fmt.Sprintf("cluster-%05d-app", i/1000)
		}
		fmt.Fprintf(&more, "commit refs/heads/main\ncommitter Ann <ann@example.com> %d +0000\ndata 1\nx\n", 1700000000+i)
		if i == 0 {
			more.WriteString("from refs/heads/main^0\n")
		}
		text := fmt.Sprintf("# %d\n", i)
		fmt.Fprintf(&more, "M 100644 inline %s/more.txt\ndata %d\n%s\n", folder, len(text), text)
	}
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = w.fleet.Dir, strings.NewReader(more.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	w.fleet.Git(b, "repack", "-adq")
	w.publish(b, s)
	var cold, warm []float64
	requests := 0
	for b.Loop() {
		b.StopTimer()
		log := float64(git(b, w.fleet.Dir, nil, "log", "--first-parent", "--name-only", "--format=%H", "main").wall)
		w.cache = b.TempDir()
		for _, list := range []*[]float64{&cold, &warm} {
			w.srv.ResetCounts()
			start := time.Now()
			w.run(b, "plan")
			*list = append(*list, float64(time.Since(start))/log)
			requests = max(requests, w.srv.Count(gittest.Fetch))
		}
		b.StartTimer()
	}
	b.ReportMetric(median(cold), "×git")
	b.ReportMetric(median(warm), "again×git")
	b.ReportMetric(float64(requests), "requests")
	b.ReportMetric(0, "ns/op")
}
