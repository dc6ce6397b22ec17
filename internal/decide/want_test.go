package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/resolver"
)

// A lock is no variant: it has no upstream and no policies.
func TestContent(t *testing.T) {
	type answers struct {
		Variant, Lock, Upstream bool
		Adoption                v1alpha1.AdoptionPolicy
		Deletion                v1alpha1.DeletionPolicy
	}
	deletes := func(p v1alpha1.DeletionPolicy) *Want {
		return wanted(func(pv *v1alpha1.PackageVariant) { pv.Spec.DeletionPolicy = p })
	}
	lock := lockOf("web", "1.0.0")
	for name, c := range map[string]struct {
		w    *Want
		want answers
	}{
		"a variant":           {wanted(), answers{Variant: true, Upstream: true}},
		"one that adopts":     {wanted(adopting), answers{Variant: true, Upstream: true, Adoption: v1alpha1.AdoptExisting}},
		"one that is left":    {deletes(v1alpha1.DeletionOrphan), answers{Variant: true, Upstream: true, Deletion: v1alpha1.DeletionOrphan}},
		"one that is deleted": {deletes(v1alpha1.DeletionDelete), answers{Variant: true, Upstream: true}},
		"a lock":              {webLock(lock, nil, nil), answers{Lock: true}},
	} {
		got := answers{c.w.Variant() != nil, c.w.Lock() != nil, c.w.Upstream() != nil, c.w.adoption(), c.w.DeletionPolicy()}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

func TestWantNames(t *testing.T) {
	w := wanted()
	w.Name, w.Set = "web-c1", "webs"
	for name, want := range map[string]bool{"web-c1": true, "c1/web": true, "webs": true, "c1": true, "web": true, "c1/clusters": false, "db": false} {
		if got := slices.Contains(w.Names(), name); got != want {
			t.Errorf("%q is among the names: %t", name, got)
		}
	}
	w.Target = NewTarget(repository(), "clusters")
	if !slices.Contains(w.Names(), "c1/clusters") || w.TargetName() != "c1/clusters" {
		t.Errorf("target %s", w.TargetName())
	}
	if w.Target = nil; w.TargetName() != "c1" {
		t.Errorf("target %s", w.TargetName())
	}
}

func TestResolution(t *testing.T) {
	w := wanted()
	if w.Resolution() != nil {
		t.Error("in no target")
	}
	w.Target = NewTarget(repository(), "")
	if w.Resolution() != nil {
		t.Error("nothing was resolved")
	}
	res := &resolver.Resolution{}
	if w.Target.Answer = (&depend.Answer{Resolution: res}); w.Resolution() != res {
		t.Error("the answer's is not given")
	}
}

func TestLock(t *testing.T) {
	old, now, other := lockOf("web", "1.0.0"), lockOf("web", "1.1.0"), lockOf("web", "0.9.0")
	empty := resolver.Lock{Packages: []resolver.LockedPackage{}}
	const since = "web: web 1.1.0 instead of "
	hand := []string{"the lock is not what was resolved: it was changed by hand, or written by another version of variform"}
	made := []string{"it was written for another variform.dev/order of its Repository, or by another version of variform"}
	cases := map[string]struct {
		reason  string
		lock    *Lock
		from    *Revision
		reasons []string
		edited  bool
	}{
		"a Draft":           {"against the newest", webLock(now, &old, &other).Lock(), draftOf(1, 1), []string{since + "1.0.0"}, true},
		"Published":         {"against what was approved", webLock(now, &old, &other).Lock(), publishedOf(1, 1), []string{since + "0.9.0"}, true},
		"none before":       {"all of it comes", webLock(now, nil, nil).Lock(), nil, []string{"web comes: web 1.1.0, asked for"}, false},
		"the Draft is it":   {"", webLock(now, &now, &old).Lock(), draftOf(1, 1), made, false},
		"Published is it":   {"", webLock(now, &old, &now).Lock(), publishedOf(1, 1), made, false},
		"none is there":     {"nothing to compare with", webLock(now, nil, nil).Lock(), draftOf(1, 1), []string{"web comes: web 1.1.0, asked for"}, false},
		"an empty one":      {"an empty list is none", webLock(resolver.Lock{}, &empty, nil).Lock(), draftOf(1, 1), made, false},
		"more than it says": {"by hand", webLock(now, &resolver.Lock{Packages: now.Packages, Target: "x"}, nil).Lock(), draftOf(1, 1), hand, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.reasons, c.lock.reasons(c.from)); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
			if c.from != nil && c.lock.edited(c.from) != c.edited {
				t.Errorf("%s: edited is %t", c.reason, !c.edited)
			}
		})
	}
	if got := webLock(now, &old, nil).Lock().Differs(nil); len(got) != 1 || !strings.Contains(got[0].What, "comes") {
		t.Errorf("a first lock differs from nothing: %v", got)
	}
}

// Twenty lines tell what changed, and how much more there is.
func TestLockReasonsEnd(t *testing.T) {
	var pairs []string
	for n := range 22 {
		pairs = append(pairs, string(rune('a'+n)), "1.0.0")
	}
	got := webLock(lockOf(pairs...), nil, nil).Lock().reasons(nil)
	if len(got) != maxReasons+1 || got[maxReasons] != "and 2 more" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

func TestNewLock(t *testing.T) {
	old, placed := lockOf("web", "1.0.0"), lockOf("web", "0.9.0")
	target := NewTarget(repository(), "")
	target.Lock, target.Placed = &old, &placed
	when := time.Unix(5, 0)
	one := func(version string) *Lock {
		l, err := NewLock(target, &variformv1alpha1.PackageLock{Spec: lockOf("web", version)}, when)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := one("1.1.0")
	if l.Newest != &old || l.Placed != &placed || !l.When.Equal(when) || l.Document.Annotations["config.kubernetes.io/local-config"] != "true" {
		t.Errorf("%+v", l)
	}
	if l.Digest != one("1.1.0").Digest || l.Digest == one("1.2.0").Digest {
		t.Error("the digest is not the document's")
	}
}

func TestStalled(t *testing.T) {
	cause := errors.New("broken")
	s := Stall(cause)
	if !IsStalled(s) || !errors.Is(s, cause) || s.Error() != "broken" || IsStalled(cause) || Stall(nil) != nil {
		t.Errorf("%v", s)
	}
	if err := Stalled("%s: %w", "x", cause); !IsStalled(err) || !errors.Is(err, cause) || err.Error() != "x: broken" {
		t.Error(err)
	}
}

// unreachable is a failure that says itself whether it may pass.
type unreachable struct{ passing bool }

func (unreachable) Error() string   { return "no connection" }
func (u unreachable) Passing() bool { return u.passing }

// TestPassing: what may heal by itself needs no person, however it is wrapped.
func TestPassing(t *testing.T) {
	for _, c := range []struct {
		err              error
		stalled, passing bool
	}{
		{nil, false, false},
		{unreachable{true}, false, true},
		{unreachable{false}, false, false},
		{Stalled("spec.downstream.repo: %w", unreachable{true}), false, true},
		{Stalled("spec.downstream.repo: %w", unreachable{false}), true, false},
		{fmt.Errorf("a: %w", Stall(fmt.Errorf("b: %w", unreachable{true}))), false, true},
		{errors.Join(unreachable{true}, Stalled("c")), false, true},
	} {
		if IsStalled(c.err) != c.stalled || IsPassing(c.err) != c.passing {
			t.Errorf("%v: stalled %v, passing %v", c.err, IsStalled(c.err), IsPassing(c.err))
		}
	}
}

func TestLimit(t *testing.T) {
	list := []string{"a", "b", "c"}
	for n, want := range map[int][]string{4: list, 3: list, 2: {"a", "b", "and 1 more"}, 0: {"and 3 more"}} {
		if d := cmp.Diff(want, Limit(list, n)); d != "" {
			t.Errorf("%d: -want +got:\n%s", n, d)
		}
	}
	if list[2] != "c" {
		t.Error("the list was written to")
	}
}

// TestOnConflict: the nearest annotation counts.
func TestOnConflict(t *testing.T) {
	for _, c := range []struct {
		values []string
		keep   bool
		bad    bool
	}{
		{nil, false, false},
		{[]string{"", "keep"}, true, false},
		{[]string{"upstream", "keep"}, false, false},
		{[]string{"keep", "upstream"}, true, false},
		{[]string{"", "mine"}, false, true},
	} {
		if keep, err := OnConflict(c.values...); keep != c.keep || (err != nil) != c.bad {
			t.Errorf("OnConflict(%q): %v, %v", c.values, keep, err)
		}
	}
}

// TestUpdateStrategy: the nearest annotation counts, and is one of kpt's.
func TestUpdateStrategy(t *testing.T) {
	for _, c := range []struct {
		values []string
		want   string
		bad    bool
	}{
		{nil, "", false},
		{[]string{"", ""}, "", false},
		{[]string{"", "copy-merge"}, "copy-merge", false},
		{[]string{"fast-forward", "copy-merge"}, "fast-forward", false},
		{[]string{"", "merge"}, "", true},
	} {
		got, err := UpdateStrategy(c.values...)
		if string(got) != c.want || (err != nil) != c.bad || c.bad && !strings.Contains(err.Error(), "resource-merge") {
			t.Errorf("UpdateStrategy(%q): %q, %v", c.values, got, err)
		}
	}
}
