package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// figured is a fleet of n members whose package each has values of its cluster, as
// the machine makes it: what it was, and what it is.
func figured(n int, was, is func(i int) string) []member {
	out := make([]member, n)
	for i := range out {
		out[i] = member{before: was(i), machine: is(i)}
	}
	return out
}

// TestFigures counts the classes of what changes in a fleet, and holds that what a
// person must see stands at the head.
func TestFigures(t *testing.T) {
	full := func(i int, host, size, image, function string) string {
		return strings.Join([]string{
			resource("Ingress", "web", fmt.Sprintf("spec:\n  rules:\n  - host: shop.cluster-%d.%s\n", i, host)),
			config(fmt.Sprintf("region: eu-%d\n  size: %s", i%5, size)),
			running(image),
			"apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n  - image: " + function + fmt.Sprintf("\n    configMap: {cluster: c%d}\n", i),
		}, "---\n")
	}
	as := func(host, size, image, function string) func(int) string {
		return func(i int) string { return full(i, host, size, image, function) }
	}
	plain := as("example.com", "1", "web:1.4", "set:v1")
	for _, n := range []int{30, 300} {
		for name, tt := range map[string]struct {
			was, is func(int) string
			classes int
		}{
			"first creation":                   {func(int) string { return config("region: none") }, plain, 1},
			"one value of each cluster":        {plain, func(i int) string { return full(i, "example.com", fmt.Sprint(i+2), "web:1.4", "set:v1") }, 1},
			"a function's version":             {plain, as("example.com", "1", "web:1.4", "set:v2"), 1},
			"a region's value":                 {plain, func(i int) string { return full(i, "example.com", fmt.Sprint("size-", i%5), "web:1.4", "set:v1") }, 1},
			"an image's version":               {plain, as("example.com", "1", "web:1.5", "set:v1"), 1},
			"removal of what is not the same":  {plain, func(int) string { return "-" }, 1},
			"nothing that anything could fold": {plain, func(i int) string { return full(i, "example.com", "1", fmt.Sprintf("r%d.io/web:1", i), "set:v1") }, n},
		} {
			report, err := Classify(changes(t, figured(n, tt.was, tt.is)))
			if err != nil || len(report.Classes) != tt.classes {
				t.Errorf("%s on %d: %d classes, want %d, %v", name, n, len(report.Classes), tt.classes, err)
			}
		}

		// 20 edits by hand and 3 lost ones.
		members := figured(n, plain, as("example.com", "1", "web:1.5", "set:v1"))
		for i := range 20 {
			members[i].after = full(i, "example.com", fmt.Sprint("mine-", i), "web:1.5", "set:v1")
		}
		all := changes(t, members)
		for i := 20; i < 23; i++ {
			all[i].Marks = []Mark{{Kind: Lost, Text: "an edit by hand was lost"}}
		}
		report, err := Classify(all)
		if err != nil {
			t.Fatal(err)
		}
		if m := report.Marks; len(m) != 2 || m[0].Kind != Lost || len(m[0].Members) != 3 || m[1].Kind != ByHand || len(m[1].Members) != 20 {
			t.Errorf("of %d: %+v", n, m)
		}
		if last := report.Classes[len(report.Classes)-1]; len(report.Classes) != 22 || len(last.Members) != n-23 || len(last.Marks) > 0 {
			t.Errorf("of %d: %d classes, the last of %d", n, len(report.Classes), len(last.Members))
		}

		// Outliers, of one object each, in the table and by a template in all.
		members = figured(n, plain, func(i int) string {
			switch i {
			case 7:
				return full(i, "evil.net.org", "2", "web:1.5", "set:v1")
			case 8:
				return full(i, "example.com", "20", "web:1.5", "set:v1")
			case 9:
				return full(i, "example.com", "0", "web:1.5", "set:v1")
			case 10:
				return full(i, "example.com", "2", "evil.io/web:1.5", "set:v1")
			case 11:
				return full(i, "example.com", "2", "web:latest", "set:v1")
			}
			return full(i, "example.com", "2", "web:1.5", "set:v1")
		})
		for i := range members {
			if i != 7 {
				members[i].before = full(i, "test.example.com", "1", "web:1.4", "set:v1")
			}
		}
		if report, err = Classify(changes(t, members)); err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{7, 8, 9, 10, 11} {
			seen := slices.IndexFunc(report.Marks, func(m Mark) bool {
				return slices.Contains(m.Members, fmt.Sprintf("cluster-%d/web", i)) && len(m.Members) == 1
			})
			if seen < 0 || seen > 18 {
				t.Errorf("of %d: the outlier of cluster-%d stands at %d of %+v", n, i, seen, report.Marks)
			}
		}
	}
}
