package merge

import (
	"fmt"
	"testing"

	"github.com/variform/variform/internal/krm"
)

// BenchmarkPackages merges packages in which upstream changed the image of
// every resource and local a label of every one: no file can be taken whole.
// Reading the three packages and writing the result is part of it, as it is
// with kpt.
func BenchmarkPackages(b *testing.B) {
	for _, n := range []int{50, 200, 1000, 5000} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			var in [3][]krm.File
			for i, side := range []string{"", "u", "l"} {
				in[i], _ = synthetic(b, n, side).Files()
			}
			b.ReportAllocs()
			for b.Loop() {
				var p [3]*krm.Package
				for i := range in {
					p[i], _ = krm.Parse(in[i])
				}
				res, err := Packages(p[0], p[1], p[2], Options{})
				if err != nil {
					b.Fatal(err)
				}
				if files, err := res.Package.Files(); err != nil || len(files) == 0 {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/resource")
		})
	}
}

// BenchmarkPackagesOneChange merges packages in which upstream changed one
// resource.
func BenchmarkPackagesOneChange(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		b.Run(fmt.Sprintf("resources=%d", n), func(b *testing.B) {
			base, local := synthetic(b, n, ""), synthetic(b, n, "l")
			upstream := base.Clone()
			if err := upstream.Resources()[n/2].SetLabel("new", "label"); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := Packages(base, upstream, local, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestMergeCosts: the text of a file that both sides edited is not parsed as a whole
// again: it differs from upstream's in words.
func TestMergeCosts(t *testing.T) {
	const n = 40
	base, upstream, local := synthetic(t, n, ""), synthetic(t, n, "u"), synthetic(t, n, "l")
	allocs := testing.AllocsPerRun(5, func() {
		if _, err := Packages(base, upstream, local, Options{}); err != nil {
			t.Fatal(err)
		}
	})
	if each := allocs / n; each > 115 {
		t.Errorf("%.0f allocated objects for each resource that both sides edited, 99 when this was written", each)
	}
}
