package bench

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// BenchmarkClasses lives through what happens to a fleet, each step approved before the
// next, and counts what a person is shown:
//
//	classes  what is decided at once
//	lines    of the text, on a terminal of any height
//	marked   variants that stand at the head by name
func BenchmarkClasses(b *testing.B) {
	for _, n := range []int{30, 300, 3000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				for step, s := range classes(b, n) {
					b.Run(step, func(b *testing.B) {
						for range b.N { // counted already
						}
						b.ReportMetric(0, "ns/op")
						b.ReportMetric(float64(s.classes), "classes")
						b.ReportMetric(float64(s.lines), "lines")
						b.ReportMetric(float64(len(s.marked)), "marked")
					})
				}
			}
		})
	}
}

// TestClasses holds the figures on a small fleet.
func TestClasses(t *testing.T) {
	const n = 30
	got := classes(t, n)
	for step, want := range map[string]struct{ classes, marked int }{
		"first creation":           {1, 0},
		"a value of each cluster":  {1, 0},
		"a table of regions":       {1, 0},
		"a function's version":     {1, n}, // what runs is sensitive
		"an image's version":       {1, 0},
		"20 edits and 3 conflicts": {22, 23}, // each edit is another, what conflicts is lost alike
	} {
		if s := got[step]; s.classes != want.classes || len(s.marked) != want.marked {
			t.Errorf("%s: %d classes and %d variants at the head, want %+v", step, s.classes, len(s.marked), want)
		}
		delete(got, step)
	}
	if len(got) > 0 {
		t.Errorf("no figures for %v", got)
	}
}

// shown is what a review shows.
type shown struct {
	classes, lines int
	marked         map[string]bool
}

// classes makes a fleet of n variants, and shows what waits after each step.
func classes(t testing.TB, n int) map[string]shown {
	t.Helper()
	w := newWorld(t, scenario{variants: n, render: true})
	out := map[string]shown{}
	step := func(name string) {
		t.Helper()
		w.apply(t)
		var report struct {
			Classes []any
			Marks   []struct {
				Kind    string
				Members []string
			}
		}
		if err := json.Unmarshal([]byte(w.run(t, "review", "-o", "json")), &report); err != nil {
			t.Fatal(err)
		}
		s := shown{classes: len(report.Classes), lines: strings.Count(w.run(t, "review"), "\n"), marked: map[string]bool{}}
		for _, m := range report.Marks {
			for _, v := range m.Members {
				s.marked[v] = true
			}
		}
		out[name] = s
	}
	publish := func(revision, image, functions string) gittest.Text {
		p := scenario{render: true}.catalogPackage(image)
		p["app/Kptfile"] = strings.Replace(p["app/Kptfile"], "set-labels:v0.2", functions, 1)
		w.catalog.Tag(t, "app/"+revision, w.catalog.Commit(t, "main", "app "+revision, p))
		return p
	}
	approved := func(name string) {
		t.Helper()
		step(name)
		w.run(t, "approve", "--all")
	}

	approved("first creation")
	perCluster := strings.Replace(set, "valueExpr: target.name\n", "valueExpr: target.name + '.example.com'\n", 1)
	want := func(revision string) { w.write(t, "set.yaml", fmt.Sprintf(perCluster, revision)) }
	want("v1")
	approved("a value of each cluster")
	for i := range regions {
		w.write(t, fmt.Sprintf("regions/region-%d.yaml", i), strings.Replace(fmt.Sprintf(region, i), "https://", "https://new.", 1))
	}
	approved("a table of regions")
	publish("v2", "v1.0.0", "set-labels:v0.2.1")
	want("v2")
	approved("a function's version")
	publish("v3", "v3.0.0", "set-labels:v0.2.1")
	want("v3")
	step("an image's version")

	for i := range 23 {
		file := "part-05.yaml"
		from, to := "workers", fmt.Sprintf("helpers-%d", i)
		if i >= 20 { // what the next version sets as well
			file, from, to = "part-04.yaml", ":v3.0.0", fmt.Sprintf(":v3.0.0-mine-%d", i)
		}
		pkg := fmt.Sprintf("cluster-%05d-app", i)
		branch := ""
		for ref := range maps.Keys(w.drafts(t)) {
			if strings.HasPrefix(ref, "refs/heads/drafts/"+pkg+"/") {
				branch = strings.TrimPrefix(ref, "refs/heads/")
			}
		}
		text := w.fleet.Show(t, branch, pkg+"/"+file)
		if !strings.Contains(text, from) {
			t.Fatalf("%s has no %q:\n%s", file, from, text)
		}
		w.fleet.Commit(t, branch, "by hand", gittest.Text{pkg + "/" + file: strings.Replace(text, from, to, 1)})
	}
	publish("v4", "v4.0.0", "set-labels:v0.2.1")
	want("v4")
	step("20 edits and 3 conflicts")
	return out
}
