package bench

import (
	"fmt"
	"testing"
)

// BenchmarkAges updates a fleet again and again, with the cache folder of the first run: the
// last update beside the second, by processor time and by peak, and with an empty folder by
// requests.
func BenchmarkAges(b *testing.B) {
	const revisions = 12
	for _, variants := range []int{500, 2000} {
		b.Run(fmt.Sprint(variants), func(b *testing.B) {
			for range b.N {
				s := scenario{variants: variants, http: true, edited: 0.01}
				w := newWorld(b, s)
				w.apply(b)
				w.editDrafts(b, s)
				w.run(b, "approve", "--all")
				var second, last childCost
				for n := 2; n <= revisions; n++ {
					w.publishApp(b, s, fmt.Sprintf("v%d", n))
					switch cost := runChild(b, w); n {
					case 2:
						second = cost
					case revisions:
						last = cost
					}
					w.run(b, "approve", "--all")
				}
				w.publishApp(b, s, "v99")
				cold := w.requestsAnew(b, "apply")
				b.ReportMetric(float64(last.cpu)/float64(second.cpu), "×second-cpu")
				b.ReportMetric(float64(last.Peak)/float64(second.Peak), "×second-peak")
				b.ReportMetric(float64(cold), "requests-cold")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}
