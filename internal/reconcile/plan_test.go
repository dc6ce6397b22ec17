package reconcile

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
)

func TestBrake(t *testing.T) {
	cases := map[string]struct {
		reason          string
		going, staying  int
		maxDelete       int
		otherSetStaying int
		braked          bool
		empty           bool
	}{
		"two of three":       {"the brake is for many", 2, 1, -1, 0, false, false},
		"three of four":      {"more than a quarter, and three", 3, 1, -1, 0, true, false},
		"three of twelve":    {"exactly a quarter is not more", 3, 9, -1, 0, false, false},
		"three of eleven":    {"a little more than a quarter", 3, 8, -1, 0, true, false},
		"another set's":      {"each set counts for itself", 3, 1, -1, 100, true, false},
		"named":              {"the number was said", 3, 1, 3, 0, false, false},
		"one less than that": {"the number was another", 4, 1, 3, 0, true, false},
		"zero":               {"nothing may go", 3, 1, 0, 0, true, false},
		"all of two":         {"a set that selects nothing is a mistake", 2, 0, -1, 0, true, false},
		"one target empty":   {"its packages may be missed", 1, 11, -1, 0, true, true},
		"all of two, named":  {"or is meant", 2, 0, 2, 0, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := New(Config{Prune: true, MaxDelete: c.maxDelete})
			plan := &Plan{Sets: []*SetStatus{{Namespace: "default", Name: "web", Variants: c.staying, Empty: c.empty}, {Namespace: "default", Name: "other", Variants: c.otherSetStaying}}}
			var items []*Item
			for i := range c.going {
				action := []Action{Discard, Retire}[i%2]
				items = append(items, &Item{Identity: Identity{"default", "c1", fmt.Sprint("p", i)}, Set: "web", Action: action})
			}
			var wanted []*variant
			for i := range c.staying {
				wanted = append(wanted, &variant{Identity: Identity{"default", "c2", fmt.Sprint("q", i)}, set: "web"})
			}
			for i := range c.otherSetStaying {
				wanted = append(wanted, &variant{Identity: Identity{"default", "c3", fmt.Sprint("r", i)}, set: "other"})
			}
			e.brake(plan, items, wanted)
			for _, i := range items {
				if got := i.Action == Keep; got != c.braked {
					t.Errorf("%s: %s %v (%s)", i, i.Action, i.Reasons, c.reason)
				} else if got && !strings.Contains(i.Reasons[0], fmt.Sprintf("--max-delete=%d", c.going)) {
					t.Errorf("no remedy in %q", i.Reasons[0])
				}
			}
			if got := len(plan.Warnings) > 0; got != c.braked {
				t.Errorf("warnings %q", plan.Warnings)
			}
		})
	}
}

func TestOnly(t *testing.T) {
	all := []*variant{
		{Identity: Identity{"default", "c1", "web"}, set: "web", pv: named("web-c1-web")},
		{Identity: Identity{"default", "c2", "web"}, set: "web", pv: named("web-c2-web")},
		{Identity: Identity{"default", "c2", "db"}, pv: named("database")},
	}
	for name, want := range map[string][]string{
		"":           {"c1/web", "c2/web", "c2/db"},
		"web-c1-web": {"c1/web"},
		"c2/web":     {"c2/web"},
		"web":        {"c1/web", "c2/web"},
		"c2":         {"c2/web", "c2/db"},
		"db":         {"c2/db"},
		"nobody":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			e := New(Config{})
			if name != "" {
				e.cfg.Only = []string{name}
			}
			list, err := e.only(all)
			if (err == nil) != (want != nil) {
				t.Fatalf("error %v", err)
			}
			var got []string
			for _, v := range list {
				got = append(got, v.Identity.String())
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func named(name string) *v1alpha1.PackageVariant {
	pv := &v1alpha1.PackageVariant{}
	pv.Namespace, pv.Name = "default", name
	return pv
}

// A manager's packages are its own, and no other's whose name begins alike.
func TestMine(t *testing.T) {
	e := New(Config{Manager: "fleet"})
	for owner, want := range map[string]bool{
		"fleet/default/web": true, "fleet/other/web": false, "fleet2/default/web": false,
		"": false, "-": false, "fleet/default": false, "x/fleet/default/web": false,
	} {
		if got := e.mine(owner, "default"); got != want {
			t.Errorf("mine(%q) = %t", owner, got)
		}
	}
}

func TestStalled(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a person's to solve": {stalled("no"), true},
		"wrapped":             {fmt.Errorf("x: %w", stalled("no")), true},
		"no such revision":    {&gitrepo.NotFoundError{}, true},
		"the network":         {errors.New("connection refused"), false},
	} {
		if got := new(Item).fail(c.err); got.Stalled != c.want || got.Action != Fail || !errors.Is(got.Err, c.err) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestVariantStatus(t *testing.T) {
	if VariantStatus() != nil || VariantStatus(&Item{}) != nil {
		t.Error("a package without a variant has a status")
	}
	pv := named("web")
	id := Identity{"default", "c1", "sub/web"}
	cases := map[string]struct {
		item           Item
		stalled, ready string
		message        string
	}{
		"up to date": {Item{Action: UpToDate, targets: []target{{"packagevariant-2", lifecycle.Draft}}}, "False", "True", "successfully"},
		"pending":    {Item{Action: Update, Reasons: []string{"upstream changed"}, write: &write{}}, "False", "False", "update: upstream changed"},
		"stalled":    {*new(Item).fail(stalled("no Repository")), "True", "False", "no Repository"},
		"failed":     {*new(Item).fail(errors.New("network")), "False", "False", "network"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.item.Identity, c.item.Variant = id, pv
			got := VariantStatus(&c.item).Status
			if s := got.Conditions[0]; s.Type != "Stalled" || string(s.Status) != c.stalled {
				t.Errorf("%+v", s)
			}
			if r := got.Conditions[1]; r.Type != "Ready" || string(r.Status) != c.ready || !strings.Contains(r.Message, c.message) {
				t.Errorf("%+v", r)
			}
			if len(got.DownstreamTargets) != len(c.item.targets) {
				t.Errorf("targets %+v", got.DownstreamTargets)
			}
			for _, d := range got.DownstreamTargets {
				if d.Name != "c1.sub.web.packagevariant-2" {
					t.Errorf("target %q", d.Name)
				}
			}
		})
	}
	if len(pv.Status.Conditions) > 0 {
		t.Error("the fleet's own variant was changed")
	}
}

func TestSetStatus(t *testing.T) {
	s := &SetStatus{Namespace: "default", Name: "web", Variants: 9}
	set := &v1alpha2.PackageVariantSet{}
	if c := s.WithStatus(set, nil).Status.Conditions; c[0].Status != "False" || c[1].Status != "True" {
		t.Errorf("%+v", c)
	}
	for i := range 7 {
		s.Failures = append(s.Failures, fmt.Errorf("target %d", i))
	}
	items := []*Item{{Identity: Identity{"default", "c1", "web"}, Set: "web", Name: "late", Variant: named("late"), write: &write{}}}
	c := s.WithStatus(set, items).Status.Conditions
	if c[0].Status != "True" || c[1].Status != "False" || !strings.Contains(c[1].Message, "8 of 16") || !strings.Contains(c[1].Message, "and 3 more") {
		t.Errorf("%+v", c)
	}
	if len(set.Status.Conditions) > 0 {
		t.Error("the fleet's own set was changed")
	}
}

func TestAliases(t *testing.T) {
	got := aliases(Identity{"default", "c1", "eu/web-2"}, "web-c1", "web")
	want := map[string]string{"web-c1": "variant", "web-2": "package", "eu/web-2": "package", "c1": "repository"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	// The upstream's own name says nothing about the variant.
	if got := aliases(Identity{"default", "c1", "web"}, "", "web"); len(got) != 1 || got["c1"] == "" {
		t.Errorf("%v", got)
	}
}

func TestSameAddress(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want bool
	}{
		"equal":    {"https://h/a.git", "https://h/a.git", true},
		".git":     {"https://h/a.git", "https://h/a", true},
		"slash":    {"https://h/a/", "https://h/a.git/", true},
		"file":     {"file:///srv/a.git", "/srv/a", true},
		"another":  {"https://h/a", "https://h/ab", false},
		"a server": {"https://h/a", "https://g/a", false},
	} {
		if got := sameAddress(c.a, c.b); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestFileMemo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "memo")
	open := func() *FileMemo {
		t.Helper()
		m, err := OpenMemo(path)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := open()
	if m.Has("a") {
		t.Error("an empty memo has a key")
	}
	m.Put("a")
	m.Put("a")
	m.Put("b")
	if n := open(); !n.Has("a") || !n.Has("b") || n.Has("c") {
		t.Error("the keys were not kept")
	}
}
