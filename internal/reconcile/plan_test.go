package reconcile

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
)

func TestOnly(t *testing.T) {
	all := []*decide.Want{
		{Identity: decide.Identity{Namespace: "default", Repository: "c1", Package: "web"}, Set: "web", Name: "web-c1-web"},
		{Identity: decide.Identity{Namespace: "default", Repository: "c2", Package: "web"}, Set: "web", Name: "web-c2-web"},
		{Identity: decide.Identity{Namespace: "default", Repository: "c2", Package: "db"}, Name: "database"},
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
				e.cfg.Only.Names = []string{name}
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

func TestVariantStatus(t *testing.T) {
	if VariantStatus() != nil || VariantStatus(&Item{}) != nil {
		t.Error("a package without a variant has a status")
	}
	pv := named("web")
	id := decide.Identity{Namespace: "default", Repository: "c1", Package: "sub/web"}
	cases := map[string]struct {
		item                   Item
		stalled, ready, reason string
		message                string
	}{
		"up to date": {Item{Action: decide.ActionNone, downstreams: []decide.Downstream{{Workspace: "packagevariant-2", Phase: lifecycle.Draft}}}, "False", "True", "NoErrors", "successfully"},
		"main moved": {Item{Action: decide.ActionNone, Reasons: []string{"main moved since v1"}}, "False", "True", "NoErrors", "variant; main moved since v1"},
		"pending":    {Item{Action: decide.ActionUpdate, Reasons: []string{"upstream changed"}}, "False", "False", "OutOfDate", "update: upstream changed"},
		"held":       {Item{Action: decide.ActionWait, Reasons: []string{"held by Ann"}}, "False", "False", "Waiting", "wait: held by Ann"},
		"stalled":    {*new(Item).fail(decide.Stalled("no Repository")), "True", "False", "Error", "no Repository"},
		"failed":     {*new(Item).fail(errors.New("network")), "False", "False", "Error", "network"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.item.Identity, c.item.Variant = id, pv
			got := VariantStatus(&c.item).Status
			if s := got.Conditions[0]; s.Type != "Stalled" || string(s.Status) != c.stalled {
				t.Errorf("%+v", s)
			}
			if r := got.Conditions[1]; r.Type != "Ready" || string(r.Status) != c.ready || r.Reason != c.reason || !strings.Contains(r.Message, c.message) {
				t.Errorf("%+v", r)
			}
			if len(got.DownstreamTargets) != len(c.item.downstreams) {
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
	s := &SetStatus{observe.Set{Namespace: "default", Name: "web", Variants: 9}}
	set := &v1alpha2.PackageVariantSet{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	if c := s.WithStatus(set, nil).Status.Conditions; c[0].Status != "False" || c[1].Status != "True" {
		t.Errorf("%+v", c)
	}
	for i := range 7 {
		s.Failures = append(s.Failures, fmt.Errorf("target %d", i))
	}
	items := []*Item{{Identity: decide.Identity{Namespace: "default", Repository: "c1", Package: "web"}, Set: "web", Name: "late", Variant: named("late"), Action: decide.ActionUpdate}}
	c := s.WithStatus(set, items).Status.Conditions
	if c[0].ObservedGeneration != 3 || c[1].ObservedGeneration != 3 {
		t.Errorf("of another generation: %+v", c)
	}
	if c[0].Status != "True" || c[1].Status != "False" || !strings.Contains(c[1].Message, "8 of 16") || !strings.Contains(c[1].Message, "and 3 more") {
		t.Errorf("%+v", c)
	}
	if c[1].Reason != "Error" {
		t.Errorf("%+v", c)
	}
	s.Failures = nil
	held := &Item{Identity: decide.Identity{Namespace: "default"}, Set: "web", Name: "held", Variant: named("held"), Action: decide.ActionWait}
	broken := *held
	for reason, of := range map[string][]*Item{"OutOfDate": append(items, held), "Waiting": {held}, "Error": {held, broken.fail(errors.New("network"))}} {
		if c := s.WithStatus(set, of).Status.Conditions; c[1].Status != "False" || c[1].Reason != reason {
			t.Errorf("%s: %+v", reason, c)
		}
	}
	if len(set.Status.Conditions) > 0 {
		t.Error("the fleet's own set was changed")
	}
}

func TestAliases(t *testing.T) {
	got := aliases(decide.Identity{Namespace: "default", Repository: "c1", Package: "eu/web-2"}, "web-c1", "web")
	want := map[string]string{"web-c1": "variant", "web-2": "package", "eu/web-2": "package", "c1": "repository"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	// The upstream's own name says nothing about the variant.
	if got := aliases(decide.Identity{Namespace: "default", Repository: "c1", Package: "web"}, "", "web"); len(got) != 1 || got["c1"] == "" {
		t.Errorf("%v", got)
	}
}

// A lock's own names are its target's: it has that name in a form of Kubernetes.
func TestAliasesOfLocks(t *testing.T) {
	for name, tt := range map[string]struct {
		pkg  string
		want map[string]string
	}{
		"of a folder": {"clusters/eu_1/variform-lock", map[string]string{
			"clusters/eu_1/variform-lock": "package", "fleet": "repository", "fleet/clusters/eu_1": "target", "fleet-clusters-eu-1": "target", "clusters/eu_1": "target",
		}},
		"of a repository": {"variform-lock", map[string]string{"fleet": "target"}},
		"none":            {"clusters/eu_1/app", map[string]string{"app": "package", "clusters/eu_1/app": "package", "fleet": "repository"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := aliases(decide.Identity{Namespace: "default", Repository: "fleet", Package: tt.pkg}, "", "variform-lock")
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

func TestFileMemo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "memo")
	open := func(program string) *FileMemo {
		t.Helper()
		return OpenMemo(path, program, []byte("a key"))
	}
	m := open("v1")
	if m.Has("a") {
		t.Error("an empty memo has a key")
	}
	m.Put("a")
	m.Put("a")
	m.Put("b")
	if n := open("v1"); !n.Has("a") || !n.Has("b") || n.Has("c") {
		t.Error("the keys were not kept")
	}
	if open("v2").Has("a") {
		t.Error("another program believes what came to nothing for this one")
	}
	if OpenMemo(path, "v1", []byte("another key")).Has("a") {
		t.Error("a machine believes what another noted")
	}
}

// What a Repository fails that is among the problems is told there.
func TestFailures(t *testing.T) {
	repository := func(name string) error {
		return &observe.RepositoryError{Namespace: "default", Name: name, Err: errors.New("not there")}
	}
	item := func(pkg string, err error) *Item {
		return &Item{Identity: decide.Identity{Namespace: "default", Repository: "c1", Package: pkg}, Err: err}
	}
	plan := &Plan{
		Problems: []error{errors.New("a file"), repository("c1")},
		Items: []*Item{
			item("fine", nil), item("itself", errors.New("bad value")),
			item("told", fmt.Errorf("spec.downstream.repo: %w", repository("c1"))), item("untold", repository("c2")),
		},
	}
	var got []string
	for _, i := range plan.Failures() {
		got = append(got, i.Identity.Package)
	}
	if d := cmp.Diff([]string{"itself", "untold"}, got); d != "" {
		t.Error("-want +got:\n" + d)
	}
}

// TestRest: what is left of a plan says what was done, and holds nothing that it was done with.
func TestRest(t *testing.T) {
	id := func(name string) decide.Identity { return decide.Identity{Repository: "c1", Package: name} }
	moved := &Item{Identity: id("a"), want: &decide.Want{}, change: &publish.Change{}, After: &krm.Package{}}
	failed := &Item{Identity: id("b"), change: &publish.Change{}, Err: errors.New("no")}
	published := &Item{Identity: id("c"), publish: true}
	still := &Item{Identity: id("d"), Action: decide.ActionNone, orphan: &decide.Orphan{}}
	plan := &Plan{Items: []*Item{moved, failed, published, still}, Targets: []*TargetPlan{{Repository: "c1", Answer: &depend.Answer{}}}, run: &run{}}
	rest := plan.Rest().Rest()
	if got := rest.Moved(); !slices.Equal(got, []decide.Identity{id("a"), id("c")}) {
		t.Errorf("moved %v", got)
	}
	for n, want := range []bool{false, false, false, true} {
		one := &Plan{Items: rest.Items[n : n+1]}
		if one.Items[0].Action, one.Items[0].Err = decide.ActionNone, nil; one.Settled() != want {
			t.Errorf("%s is settled: %v", one.Items[0].Identity, !want)
		}
	}
	for _, i := range rest.Items {
		if i.want != nil || i.change != nil || i.orphan != nil || i.After != nil {
			t.Errorf("%s holds what it was done with", i.Identity)
		}
	}
	if rest.run != nil || len(rest.Targets) != 1 || rest.Targets[0].Answer != nil || rest.Targets[0].Repository != "c1" || plan.Targets[0].Answer == nil {
		t.Errorf("%+v", rest.Targets)
	}
}

// TestRevisionIsSmall counts: a run holds one for each package, in pieces of memory of 512
// bytes or of 576.
func TestRevisionIsSmall(t *testing.T) {
	if n := unsafe.Sizeof(revision{}); n > 512 {
		t.Errorf("%d bytes: put fields together that are smaller than a word", n)
	}
}
