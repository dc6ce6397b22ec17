package depend

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/resolver"
)

// TestVanished: what is locked as no source has it, unless that is nobody's
// catalogue's, or is to change.
func TestVanished(t *testing.T) {
	offered := NewOffered([]resolver.Package{{Package: "db", Version: "2.0.0", Digest: "new"}, {Package: "db", Version: "1.0.0", Digest: "mirror"}, {Package: "db", Version: "1.0.0", Digest: "b"}})
	db := func(version, digest string) resolver.LockedPackage {
		return resolver.LockedPackage{Name: "main-db", Namespace: "data", Package: "db", Version: version, Digest: digest, Source: "s"}
	}
	cases := map[string]struct {
		p       resolver.LockedPackage
		refresh []string
		is      bool
		now     string
	}{
		"there":         {db("1.0.0", "b"), nil, false, ""},
		"gone":          {db("1.5.0", "a"), nil, true, ""},
		"moved":         {db("2.0.0", "old"), nil, true, "new"},
		"of no digest":  {db("1.5.0", ""), nil, false, ""},
		"of no source":  {resolver.LockedPackage{Name: "db", Version: "1.5.0", Digest: "a"}, nil, false, ""},
		"refreshed":     {db("1.5.0", "a"), []string{"db"}, false, ""},
		"all refreshed": {db("1.5.0", "a"), []string{"*"}, false, ""},
		"exactly":       {db("2.0.0", "old"), []string{"db@v2.0.0"}, false, ""},
		"another":       {db("1.5.0", "a"), []string{"web", "web@1.0.0"}, true, ""},
		"a variant's":   {resolver.LockedPackage{Name: "web", Version: "1.5.0", Digest: "a", Source: "s"}, nil, false, ""},
		"another's":     {resolver.LockedPackage{Name: "theirs", Version: "1.5.0", Digest: "a", Source: "s"}, nil, false, ""},
	}
	for name, tc := range cases {
		target := &Target{
			Lock: &resolver.Lock{Packages: []resolver.LockedPackage{tc.p}}, Refresh: tc.refresh,
			Variants: []*Variant{{Ref: "web"}}, Existing: []resolver.Installation{{Name: "theirs"}},
		}
		got := target.Vanished(offered)
		if (len(got) == 1) != tc.is || tc.is && got[0].Now != tc.now {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := (&Target{}).Vanished(offered); got != nil {
		t.Errorf("without a lock: %v", got)
	}
}

// TestExactVersion: name@version takes that version, newer or not, and fails where
// it does not fit.
func TestExactVersion(t *testing.T) {
	of := func(version, digest string) resolver.Package {
		return resolver.Package{Package: "db", Version: version, Digest: digest, Source: "s"}
	}
	app := &resolver.Package{Package: "app", Version: "1.0.0", Digest: "app", Requires: []resolver.Requirement{{Alias: "db", Package: "db", Version: "<1.3"}}}
	for refresh, want := range map[string]string{
		"": "a conflict", "db@1.0.0": "1.0.0 moved", "db@v1.1.0": "1.1.0 b", "db": "1.2.0 c", "other@1.0.0": "a conflict",
		"db@1.3.0": "db cannot be db 1.3.0, and would be 1.2.0:\n  app 1.0.0 needs db <1.3 (1.2.0, 1.1.0, 1.0.0)",
	} {
		v := *app
		pool, err := NewPool([]resolver.Package{of("1.0.0", "moved"), of("1.1.0", "b"), of("1.2.0", "c"), of("1.3.0", "d")}, nil, []*resolver.Package{&v})
		if err != nil {
			t.Fatal(err)
		}
		pv := variantOf("", "app", "app", "app")
		pv.Upstream = &v
		a := (&Target{
			Namespace: "default", Repository: "c1", Variants: []*Variant{pv}, Refresh: []string{refresh},
			Lock: &resolver.Lock{Packages: []resolver.LockedPackage{{Name: "db", Version: "1.0.0", Digest: "locked", Source: "s"}}},
		}).Resolve(context.Background(), pool)
		got := "a conflict"
		switch {
		case strings.HasPrefix(want, "db cannot"):
			got = a.Err.Error()
		case a.Err == nil:
			i := a.Resolution.Find("db")
			got = i.Version + " " + i.Digest
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %v\n%s", refresh, a.Err, diff)
		}
	}
}

// TestWarnings: each broken version, and once for a source the tags that only look
// like versions.
func TestWarnings(t *testing.T) {
	passed := func(tags ...string) (out []*resolver.VersionError) {
		for _, tag := range tags {
			out = append(out, &resolver.VersionError{Package: "p", Source: "s", Tag: tag})
		}
		return out
	}
	got := Warnings(append(passed("p/2024.01.15", "p/stable", "p/v1.2", "p-1.0.0", "p/1.0.0-01", "p/v1.02.3", "p/v01.2.3"),
		&resolver.VersionError{Package: "p", Version: "1.0.0", Source: "t", Tag: "p/v1.0.0", Why: "broken"}))
	want := []string{
		"source t: tag p/v1.0.0: broken",
		"source s: passed over what is no semantic version: p/2024.01.15, p/1.0.0-01, p/v1.02.3 and 1 more (a version is vN or vX.Y.Z, of numbers without leading zeros)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
