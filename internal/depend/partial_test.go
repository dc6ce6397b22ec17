package depend

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

// at is target with variants of given versions, each "package version".
func at(catalogue []resolver.Package, variants ...string) *Target {
	t := target(catalogue)
	for _, v := range variants {
		name, version, _ := strings.Cut(v, " ")
		i := slices.IndexFunc(catalogue, func(p resolver.Package) bool { return p.Package == name && p.Version == version })
		own := variantOf("set", "set-c1-"+name, name, name)
		up := catalogue[i]
		own.Upstream = &up
		t.Variants = append(t.Variants, own)
	}
	return t
}

// shares is a package that shares all that it needs in a mode.
func shares(p resolver.Package, mode string) resolver.Package {
	for n := range p.Requires {
		p.Requires[n].Share.Mode = mode
	}
	return p
}

// A conflict fails what takes part in it and is not as it is locked, and what needs
// that; all else is answered, and what is locked stays.
func TestTheSmallestPartFails(t *testing.T) {
	cluster := func(p resolver.Package) resolver.Package { p.Scope = resolver.ScopeCluster; return p }
	catalogue := []resolver.Package{
		cluster(needs("cm", "1.0.0")), cluster(needs("cm", "2.0.0")), needs("log", "1.0.0"), needs("log", "2.0.0"), needs("disk", "1.0.0"),
		needs("good", "1.0.0", "cm ^1"), needs("good", "2.0.0", "cm ^1", "log ^9"), needs("good", "3.0.0"),
		needs("bad", "1.0.0", "cm ^2"), needs("other", "1.0.0", "log"), needs("other", "2.0.0", "log"),
		needs("onbad", "1.0.0", "bad"), needs("ongood", "1.0.0", "good ^2"), needs("on", "1.0.0", "good"), needs("lost", "1.0.0", "nowhere"),
		needs("plain", "1.0.0", "cm"), shares(needs("alone", "1.0.0", "cm"), resolver.ModeNone), shares(needs("alone2", "1.0.0", "cm"), resolver.ModeNone),
		shares(needs("alone", "2.0.0", "cm"), ""), needs("onalone", "1.0.0", "alone ^1"),
	}
	const none = "has share.mode none"
	for name, tt := range map[string]struct {
		before, now []string
		change      func(*Target)
		failed      map[string]string // by path: part of why
		stands      []string
		lock        []string
		derived     []string
		err         string
	}{
		"one of what is new": {
			now: []string{"other 1.0.0", "lost 1.0.0"}, failed: map[string]string{"lost": "needs nowhere"},
			lock: []string{"log 2.0.0", "other 1.0.0"}, derived: []string{"log"},
		},
		"all that is new": {now: []string{"lost 1.0.0"}, failed: map[string]string{"lost": "needs nowhere"}, err: "needs nowhere"},
		"two of what is new": {
			now: []string{"good 1.0.0", "bad 1.0.0", "other 1.0.0"}, failed: map[string]string{"good": "bad 1.0.0, good 1.0.0:", "bad": "bad 1.0.0, good 1.0.0:"},
			lock: []string{"log 2.0.0", "other 1.0.0"}, derived: []string{"log"},
		},
		"what came to what is locked": {
			before: []string{"good 1.0.0", "other 1.0.0"}, now: []string{"good 1.0.0", "bad 1.0.0", "other 2.0.0"}, failed: map[string]string{"bad": "needs cm ^2"},
			lock: []string{"cm 1.0.0", "good 1.0.0", "log 2.0.0", "other 2.0.0"}, derived: []string{"cm", "log"},
		},
		"a new version, what was locked goes on": {
			before: []string{"good 1.0.0", "other 1.0.0"}, now: []string{"good 2.0.0", "other 2.0.0"}, failed: map[string]string{"good": "needs log ^9"},
			lock: []string{"cm 1.0.0", "good 1.0.0", "log 2.0.0", "other 2.0.0"}, derived: []string{"cm", "log"},
		},
		"what needs what fails": {
			now: []string{"bad 1.0.0", "good 1.0.0", "onbad 1.0.0", "other 1.0.0"}, failed: map[string]string{"bad": "cm", "good": "cm", "onbad": "it needs bad, which fails"},
			lock: []string{"log 2.0.0", "other 1.0.0"}, derived: []string{"log"},
		},
		"what needs what goes on as it was locked": {
			before: []string{"good 1.0.0"}, now: []string{"good 2.0.0", "on 1.0.0"}, failed: map[string]string{"good": "needs log ^9"},
			lock: []string{"cm 1.0.0", "good 1.0.0", "on 1.0.0"}, derived: []string{"cm"},
		},
		"what needs the new version of what fails": {
			before: []string{"good 1.0.0"}, now: []string{"good 2.0.0", "ongood 1.0.0"}, failed: map[string]string{"good": "log ^9", "ongood": "good ^2"},
			lock: []string{"cm 1.0.0", "good 1.0.0"}, derived: []string{"cm"},
		},
		"what is locked and cannot be had any more stands": {
			before: []string{"good 1.0.0", "other 1.0.0"}, now: []string{"good 1.0.0", "other 2.0.0"},
			change: func(tg *Target) {
				tg.Existing = []resolver.Installation{{Name: "cm2", Package: "cm", Version: "2.0.0", Fixed: true}}
			},
			failed: map[string]string{"good": "needs cm ^1"}, stands: []string{"good", "cm"},
			lock: []string{"cm 1.0.0", "good 1.0.0", "log 2.0.0", "other 2.0.0"}, derived: []string{"log"},
		},
		"what cannot be told stands": {
			before: []string{"good 1.0.0", "other 1.0.0"}, now: []string{"other 2.0.0"},
			change: func(tg *Target) { tg.Failing = map[string]Unread{"good": {"good", errors.New("no such tag")}} },
			failed: map[string]string{"good": "no such tag"}, stands: []string{"good", "cm"},
			lock: []string{"cm 1.0.0", "good 1.0.0", "log 2.0.0", "other 2.0.0"}, derived: []string{"log"},
		},
		"what cannot be told, new": {
			now: []string{"other 1.0.0"}, change: func(tg *Target) { tg.Failing = map[string]Unread{"good": {"good", errors.New("no such tag")}} },
			failed: map[string]string{"good": "no such tag"}, lock: []string{"log 2.0.0", "other 1.0.0"}, derived: []string{"log"},
		},
		"what needs a new one that cannot be told": {
			now: []string{"on 1.0.0", "other 1.0.0"}, change: func(tg *Target) { tg.Failing = map[string]Unread{"team/good": {"good", errors.New("no such tag")}} },
			failed: map[string]string{"team/good": "no such tag", "on": "it needs team/good, which fails"}, lock: []string{"log 2.0.0", "other 1.0.0"}, derived: []string{"log"},
		},
		"what stands is what others get": {
			before: []string{"good 1.0.0"}, now: []string{"bad 1.0.0", "other 1.0.0"},
			change: func(tg *Target) { tg.Failing = map[string]Unread{"good": {"good", errors.New("no such tag")}} },
			failed: map[string]string{"good": "no such tag", "bad": "cm 1.0.0 is installed"}, stands: []string{"good", "cm"},
			lock: []string{"cm 1.0.0", "good 1.0.0", "log 2.0.0", "other 1.0.0"}, derived: []string{"log"},
		},
		"what nobody can share is not had for any": {
			now: []string{"alone 1.0.0", "alone2 1.0.0", "other 1.0.0"}, failed: map[string]string{"alone": none + ", but alone2", "alone2": none + ", but alone needs"},
			lock: []string{"log 2.0.0", "other 1.0.0"}, derived: []string{"log"},
		},
		"who asks for itself what others have": {
			before: []string{"plain 1.0.0"}, now: []string{"plain 1.0.0", "onalone 1.0.0", "other 1.0.0"}, failed: map[string]string{"onalone": "requires[cm] of alone 1.0.0 " + none + ", but plain"},
			lock: []string{"cm 2.0.0", "log 2.0.0", "other 1.0.0", "plain 1.0.0"}, derived: []string{"log", "cm"},
		},
		"who comes to what one has for itself": {
			before: []string{"alone 1.0.0"}, now: []string{"alone 1.0.0", "plain 1.0.0", "other 1.0.0"}, failed: map[string]string{"plain": "alone 1.0.0 " + none + ", but plain"},
			lock: []string{"alone 1.0.0", "cm 2.0.0", "log 2.0.0", "other 1.0.0"}, derived: []string{"cm", "log"},
		},
		"who shared and wants for itself goes on as it was locked": {
			before: []string{"alone 2.0.0", "plain 1.0.0"}, now: []string{"alone 1.0.0", "plain 1.0.0"}, failed: map[string]string{"alone": none},
			lock: []string{"alone 2.0.0", "cm 2.0.0", "plain 1.0.0"}, derived: []string{"cm"},
		},
		"what cannot be at the version that was asked for": {
			before: []string{"plain 1.0.0", "good 1.0.0", "other 1.0.0"}, now: []string{"plain 1.0.0", "good 1.0.0", "other 1.0.0"},
			change: func(tg *Target) {
				tg.Refresh = []string{"log", "cm@2.0.0"}
				own := *tg.Lock
				own.Packages = slices.Clone(own.Packages)
				lockedAt(&own, "log").Version = "1.0.0"
				lockedAt(&own, "log").Digest = ""
				tg.Lock, tg.Placed = &own, &own
				tg.Published = map[string]bool{"log": true} // others allow that it changes
			},
			failed: map[string]string{"good": "cm cannot be cm 2.0.0", "plain": "cm cannot be cm 2.0.0"},
			stands: []string{"good", "cm", "plain"}, lock: []string{"cm 1.0.0", "good 1.0.0", "log 2.0.0", "other 1.0.0", "plain 1.0.0"}, derived: []string{"log"},
		},
		"what is other than it was locked": {
			before: []string{"good 1.0.0", "other 1.0.0"}, now: []string{"good 1.0.0", "other 2.0.0"},
			change: func(tg *Target) {
				own := *tg.Lock
				own.Packages = slices.Clone(own.Packages)
				lockedAt(&own, "cm").Digest = "git:edited"
				tg.Lock, tg.Placed = &own, nil
			},
			failed: map[string]string{"good": "cm 1.0.0 was locked as git:edited and is now git:cccccccccccccccc\nhint: find out why it moved, or who edited the lock; to take what is there now, run with --upgrade cm@1.0.0"},
			stands: []string{"good", "cm"}, lock: []string{"cm 1.0.0", "good 1.0.0", "log 2.0.0", "other 2.0.0"}, derived: []string{"log"},
		},
		"two Installations about one variant": {
			now: []string{"cm 1.0.0", "other 1.0.0"},
			change: func(tg *Target) {
				tg.Installations = []*v1alpha1.Installation{installation("c1", "cm", "one"), installation("c1", "cm", "two")}
			},
			lock: []string{"cm 1.0.0", "log 2.0.0", "other 1.0.0"}, derived: []string{"log"},
		},
		"two of which a target has one": {
			now: []string{"cm 1.0.0", "other 1.0.0"},
			change: func(tg *Target) {
				more := *tg.Variants[0]
				more.Ref = "cm2"
				tg.Variants = append(tg.Variants, &more)
			},
			failed: map[string]string{"cm": "both variants of cm", "cm2": "both variants of cm"}, lock: []string{"log 2.0.0", "other 1.0.0"}, derived: []string{"log"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lock *resolver.Lock
			if tt.before != nil {
				first := at(catalogue, tt.before...).Resolve(t.Context(), pool(t, catalogue))
				if first.Err != nil || len(first.Failed) > 0 {
					t.Fatal(first.Err, first.Failed)
				}
				lock = &first.Lock.Spec
			}
			tg := at(catalogue, tt.now...)
			tg.Lock, tg.Placed = lock, lock
			if tt.change != nil {
				tt.change(tg)
			}
			a := tg.Resolve(t.Context(), pool(t, catalogue))
			var got []string
			for ref, err := range a.Failed {
				if want, ok := tt.failed[ref]; !ok || !strings.Contains(err.Error(), want) {
					t.Errorf("%s fails: %v", ref, err)
				}
				got = append(got, ref)
			}
			if d := cmp.Diff(slices.Sorted(maps.Keys(tt.failed)), slices.Sorted(slices.Values(got))); d != "" {
				t.Errorf("failed: -want +got:\n%s", d)
			}
			if tt.err != "" || a.Err != nil {
				if a.Err == nil || !strings.Contains(a.Err.Error(), tt.err) || tt.err == "" || a.Lock != nil {
					t.Errorf("error %v, lock %v", a.Err, a.Lock)
				}
				return
			}
			var locked, derived []string
			for _, p := range a.Lock.Spec.Packages {
				locked = append(locked, path.Join(p.Namespace, p.Name)+" "+p.Version)
				if was := lockedAt(tg.Lock, p.Name); slices.Contains(tt.stands, p.Name) && cmp.Diff(*was, p) != "" {
					t.Errorf("what stands is locked otherwise: %s", cmp.Diff(*was, p))
				}
			}
			ds, failures := a.Derive(upstreamOf)
			for _, d := range ds {
				derived = append(derived, d.Ref)
			}
			if d := cmp.Diff(tt.lock, locked); d != "" || failures != nil {
				t.Errorf("lock: -want +got:\n%s%v", d, failures)
			}
			if d := cmp.Diff(tt.derived, derived); d != "" {
				t.Errorf("derived: -want +got:\n%s", d)
			}
			if d := cmp.Diff(tt.stands, a.Stands); d != "" {
				t.Errorf("stands: -want +got:\n%s", d)
			}
		})
	}
}

// What turns out not to be had when it is derived fails what needs it, and no more.
func TestFailLater(t *testing.T) {
	catalogue := []resolver.Package{
		needs("app", "1.0.0", "db"), needs("app", "2.0.0", "db", "log"), needs("web", "1.0.0", "log"), needs("db", "1.0.0"), needs("log", "1.0.0"), needs("lonely", "1.0.0"),
	}
	gone := errors.New("no Repository has it")
	for name, tt := range map[string]struct {
		before, now []string
		failure     Failure
		failed      []string
		lock        []string
		err         bool
	}{
		"of one of three":         {nil, []string{"app 1.0.0", "web 1.0.0", "lonely 1.0.0"}, Failure{[]string{"db"}, gone}, []string{"app"}, []string{"log", "lonely", "web"}, false},
		"of two of three":         {nil, []string{"app 2.0.0", "web 1.0.0", "lonely 1.0.0"}, Failure{[]string{"log"}, gone}, []string{"app", "web"}, []string{"lonely"}, false},
		"of what is new of two":   {[]string{"web 1.0.0", "app 1.0.0"}, []string{"app 2.0.0", "web 1.0.0"}, Failure{[]string{"log"}, gone}, []string{"app"}, []string{"app", "db", "log", "web"}, false},
		"of all":                  {nil, []string{"web 1.0.0"}, Failure{[]string{"log"}, gone}, []string{"web"}, nil, true},
		"of what nobody asks for": {nil, []string{"web 1.0.0"}, Failure{[]string{"x"}, gone}, nil, nil, true},
		"of two at once":          {nil, []string{"app 1.0.0", "web 1.0.0", "lonely 1.0.0"}, Failure{[]string{"db", "lonely"}, gone}, []string{"app", "lonely"}, []string{"log", "web"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tg := at(catalogue, tt.now...)
			if tt.before != nil {
				tg.Lock = &at(catalogue, tt.before...).Resolve(t.Context(), pool(t, catalogue)).Lock.Spec
			}
			a := tg.Resolve(t.Context(), pool(t, catalogue))
			if a.Err != nil || len(a.Failed) > 0 {
				t.Fatal(a.Err, a.Failed)
			}
			a.Fail(t.Context(), tt.failure)
			if d := cmp.Diff(tt.failed, slices.Sorted(maps.Keys(a.Failed))); d != "" {
				t.Errorf("failed: -want +got:\n%s", d)
			}
			if tt.err {
				if !errors.Is(a.Err, gone) || a.Lock != nil {
					t.Errorf("got %v", a.Err)
				}
				return
			}
			var lock []string
			for _, p := range a.Lock.Spec.Packages {
				lock = append(lock, p.Name)
			}
			if d := cmp.Diff(tt.lock, lock); d != "" || !errors.Is(errors.Join(a.Causes()...), gone) || len(a.Causes()) != 1 {
				t.Errorf("lock: -want +got:\n%s%v", d, a.Causes())
			}
		})
	}
}
