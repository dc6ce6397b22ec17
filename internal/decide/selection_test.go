package decide

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMeant(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC) }
	all := []string{"c1/web", "c2/web", "c2/db", "c3/db"}
	of := map[string]Selectable{
		"c1/web": {Labels: LabelsOf(map[string]string{"region": "eu", "env": "prod"}, nil), When: at(1)},
		"c2/web": {Labels: LabelsOf(map[string]string{"region": "us", "env": "prod"}, map[string]string{"env": "dev"}), When: at(2)},
		"c2/db":  {Labels: LabelsOf(map[string]string{"region": "us"}, nil), When: at(3)},
		"c3/db":  {}, // it waits for a run
	}
	for name, tc := range map[string]struct {
		names         []string
		labels, since string
		want, missing string
	}{
		"all":            {want: "c1/web c2/web c2/db c3/db"},
		"names":          {names: []string{"c2", "web"}, want: "c1/web c2/web c2/db"},
		"nobody":         {names: []string{"c2", "c9"}, want: "c2/web c2/db", missing: "c9"},
		"labels":         {labels: "region=us", want: "c2/web c2/db"},
		"the package's":  {labels: "env=dev", want: "c2/web"},
		"without":        {labels: "!env", want: "c2/db c3/db"},
		"names and more": {names: []string{"web"}, labels: "region in (us, asia)", want: "c2/web"},
		"since":          {since: "2026-01-02", want: "c2/web c2/db c3/db"},
		"ago":            {since: "36h", want: "c2/db c3/db"},
		"days ago":       {since: "2d", want: "c2/web c2/db c3/db"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Selection{Names: tc.names}
			var err error
			if s.Labels, err = ParseLabels(tc.labels); err != nil {
				t.Fatal(err)
			}
			if s.Since, err = ParseSince(tc.since, at(4)); err != nil {
				t.Fatal(err)
			}
			if s.All() != (name == "all") {
				t.Errorf("all: %t", s.All())
			}
			got, missing := Meant(s, all, func(name string) Selectable {
				out := of[name]
				out.Names = func() []string { return strings.Split(name, "/") }
				return out
			})
			for _, name := range all {
				at := of[name]
				at.Names = func() []string { return strings.Split(name, "/") }
				if s.Means(at) != slices.Contains(got, name) {
					t.Errorf("%s by itself is meant: %t", name, s.Means(at))
				}
			}
			if g, m := strings.Join(got, " "), strings.Join(missing, " "); g != tc.want || m != tc.missing {
				t.Errorf("means %q without %q, want %q without %q", g, m, tc.want, tc.missing)
			}
		})
	}
}

func TestSelectionsThatAreNone(t *testing.T) {
	for _, text := range []string{"yesterday", "-3h", "-2d", "d", "2026-13-01"} {
		if _, err := ParseSince(text, time.Time{}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := ParseLabels("a in b"); err == nil {
		t.Error("a broken selector is taken")
	}
}

func TestPart(t *testing.T) {
	for _, tc := range []struct{ max, percent, n, want int }{
		{0, 0, 7, 7}, {3, 0, 7, 3}, {9, 0, 7, 7}, {0, 10, 7, 1}, {0, 50, 7, 4}, {0, 100, 7, 7}, {2, 50, 7, 2}, {0, 10, 0, 0}, {0, 10, 300, 30},
	} {
		if got := (Part{tc.max, tc.percent}).Of(tc.n); got != tc.want {
			t.Errorf("%d and %d %% of %d: %d, want %d", tc.max, tc.percent, tc.n, got, tc.want)
		}
	}
	for _, p := range []Part{{Max: -1}, {Percent: -1}, {Percent: 101}} {
		if p.Check() == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}

// A script's unset variable names nothing: no hand-written variant, which has no set, no
// package that is left of one.
func TestNoNameIsEmpty(t *testing.T) {
	id := Identity{Namespace: "default", Repository: "c1", Package: "web"}
	w := &Want{Identity: id, Name: "web"}
	o := &Orphan{Identity: id, Package: &Package{Path: "web"}}
	for name, names := range map[string][]string{"wanted": w.Names(), "left": o.Names()} {
		if len(names) == 0 || slices.Contains(names, "") {
			t.Errorf("%s: %q", name, names)
		}
	}
	if !slices.Contains(w.Names(), "web") {
		t.Errorf("wanted: %q", w.Names())
	}
}
