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

// TestPlanted plants what a person must see, in one variant of a fleet whose others differ
// only as their clusters do: by hand, and as the machine makes it, of a template or a context
// object; and in all of them, of an upstream. It stands among the first 20 lines.
func TestPlanted(t *testing.T) {
	type cluster struct{ replicas, image, host, more, security string }
	text := func(i int, c cluster) string {
		return strings.Join([]string{
			resource("Deployment", "web", "spec:\n  replicas: "+c.replicas+"\n  template:\n    spec:\n      containers:\n      - name: web\n        image: "+c.image+"\n"+c.security),
			resource("Ingress", "web", fmt.Sprintf("spec:\n  rules:\n  - host: shop.cluster-%d.%s\n", i, c.host)),
			config(fmt.Sprintf("region: eu-%d", i%5)),
			c.more,
		}, "---\n")
	}
	was := cluster{replicas: "3", image: "registry.example.com/web:1.4", host: "old.example.com"}
	usual := cluster{replicas: "4", image: "registry.example.com/web:1.5", host: "new.example.com"}
	for name, plant := range map[string]func(c *cluster){
		"replicas 0":       func(c *cluster) { c.replicas = "0" },
		"tenfold":          func(c *cluster) { c.replicas = "40" },
		"latest":           func(c *cluster) { c.image = "registry.example.com/web:latest" },
		"another registry": func(c *cluster) { c.image = "evil.example.net/web:1.5" },
		"another domain":   func(c *cluster) { c.host = "evil.net" },
		"privileged":       func(c *cluster) { c.security = "        securityContext:\n          privileged: true\n" },
		"a ClusterRole":    func(c *cluster) { c.more = resource("ClusterRole", "r", "rules:\n- verbs: ['*']\n") },
	} {
		for _, n := range []int{30, 300} {
			for _, way := range []string{"by hand", "by template or context object", "by upstream"} {
				if n == 300 && way == "by hand" { // each of these is in a class of its own, however many others there are
					continue
				}
				planted := usual
				plant(&planted)
				members := make([]member, n)
				for i := range members {
					members[i] = member{before: text(i, was), machine: text(i, usual)}
					switch {
					case way == "by upstream":
						members[i].machine = text(i, planted)
					case i != 7:
					case way == "by hand":
						members[i].after = text(i, planted)
					default:
						members[i].machine = text(i, planted)
					}
				}
				report, err := Classify(changes(t, members))
				if err != nil {
					t.Fatal(err)
				}
				seen := slices.IndexFunc(report.Marks, func(m Mark) bool {
					alone := len(m.Members) == 1 && m.Members[0] == "cluster-7/web"
					return m.Kind != ByHand && (alone || way == "by upstream" && len(m.Members) == n)
				})
				if seen < 0 || seen > 18 {
					t.Errorf("%s, %s, among %d: at %d of %+v", name, way, n, seen, report.Marks)
				}
				if most := map[bool]int{true: 1, false: 2}[way == "by upstream"]; len(report.Classes) > most {
					t.Errorf("%s, %s, among %d: %d classes", name, way, n, len(report.Classes))
				}
			}
		}
	}
}
