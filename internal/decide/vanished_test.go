package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/resolver"
)

func in(name string) *Target {
	t := &Target{}
	t.Repository = name
	return t
}

// TestVanishedIsSaidOnce: each version once, with the targets that have it.
func TestVanishedIsSaidOnce(t *testing.T) {
	locked := resolver.LockedPackage{Name: "db", Version: "1.0.0", Digest: "a", Source: "s"}
	gone, moved := depend.Vanished{LockedPackage: locked}, depend.Vanished{LockedPackage: locked, Now: "b"}
	kept := &resolver.Package{Tag: "db/v1.0.0"}
	var v Vanished
	v.Add(in("c1"), gone, kept)
	v.Add(in("c2"), moved, kept)
	v.Add(in("c3"), gone, kept)
	v.Add(in("c4"), gone, nil)
	v.Add(in("c5"), moved, nil) // its answer says it
	want := []string{
		"db 1.0.0 is locked in target c1, c3 and no source has it any more (tag db/v1.0.0 of s): it stays; --upgrade db takes the newest version",
		"db 1.0.0 is locked in target c2 as a and is now b in s: what is locked stays; find out why tag db/v1.0.0 moved, then take what it is now with --upgrade db@1.0.0, or the newest version with --upgrade db",
		"db 1.0.0 is locked in target c4 and no source has it any more: nothing was made of it yet, so that it is resolved anew",
	}
	if diff := cmp.Diff(want, v.Warnings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUnknown: what is to be upgraded is a package, or a version of one, that there
// is.
func TestUnknown(t *testing.T) {
	versions := []resolver.Package{{Package: "database", Version: "1.0.0"}, {Package: "web", Version: "1.0.0"}}
	old := in("c1")
	old.Lock = &resolver.Lock{Packages: []resolver.LockedPackage{{Name: "left", Package: "leftover", Version: "1.0.0"}}}
	for name, want := range map[string]string{
		"*": "", "web": "", "leftover": "", "web@1.0.0": "", "web@v1.0.0": "",
		"databas":        `--upgrade databas: no package is called databas: did you mean "database"?`,
		"nosuch":         "--upgrade nosuch: no package is called nosuch: there are database, leftover, web",
		"nosuch@1.0.0":   "--upgrade nosuch@1.0.0: no package is called nosuch: there are database, leftover, web",
		"w*":             "--upgrade w*: patterns mean nothing: give names, or * alone for all",
		"web@2.0.0":      "--upgrade web@2.0.0: no source has version 2.0.0 of web",
		"leftover@1.0.0": "--upgrade leftover@1.0.0: no source has version 1.0.0 of leftover",
	} {
		got := ""
		if errs := Unknown([]string{name}, versions, []*Target{old}); len(errs) > 0 {
			got = errs[0].Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
