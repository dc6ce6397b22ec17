package decide

import "testing"

// A second fleet of one name is rejected before it changes anything.
func TestOtherFleet(t *testing.T) {
	id := func(pkg string) Identity { return Identity{"default", "c1", pkg} }
	web, db := []Identity{id("web")}, []Identity{id("db")}
	const other = `another fleet has the name "fleet": it owns c1/web, and this fleet makes none of these packages`
	for name, c := range map[string]struct {
		reason string
		p      Presence
		err    string
	}{
		"none of the name's packages":   {"they are another fleet's", Presence{Wanted: db, Owned: web}, other},
		"nothing is there":              {"the first apply", Presence{Wanted: db}, ""},
		"one of them":                   {"it is this fleet, that changed", Presence{Wanted: []Identity{id("web"), id("db")}, Owned: []Identity{id("web"), id("old")}}, ""},
		"it makes nothing":              {"all variants were taken away", Presence{Owned: web}, ""},
		"applied from this machine":     {"it replaced all that it had", Presence{Wanted: db, Owned: web, Known: true}, ""},
		"of the record's origin":        {"it replaced all, in CI", Presence{Wanted: db, Owned: web, SameOrigin: true}, ""},
		"a person says that it is this": {"--manager", Presence{Wanted: db, Owned: web, Claimed: true}, ""},
		"part of it is unread":          {"that may make them", Presence{Wanted: db, Owned: web, Doubt: true}, ""},
		"another namespace":             {"a package of that name is another", Presence{Wanted: []Identity{{"team", "c1", "web"}}, Owned: web}, other},
	} {
		c.p.Manager = fleet
		err := c.p.Other()
		if bad := saying(err, c.err); bad != "" {
			t.Errorf("%s: %s: %s", name, c.reason, bad)
		}
		if err != nil && !IsStalled(err) {
			t.Errorf("%s: only a person can end it", name)
		}
	}
}

// A variant keeps the name under which it owns its package.
func TestKeptName(t *testing.T) {
	names := func() []string { return []string{"s-r-a", "s-r-a-1234"} }
	for name, c := range map[string]struct {
		reason string
		p      *Package
		now    string
		want   string
	}{
		"new":                  {"the name of now", nil, "s-r-a", "s-r-a"},
		"another came":         {"it has the plain name", webPackage(nil, draftOf(1, 1, by("fleet/default/s-r-a"))), "s-r-a-1234", "s-r-a"},
		"another went":         {"it has the one with a hash", webPackage(tags(tag(1, 9)), publishedOf(1, 9, by("fleet/default/s-r-a-1234"))), "s-r-a", "s-r-a-1234"},
		"the newest tells":     {"a person's rename took effect", webPackage(tags(tag(1, 9)), publishedOf(1, 9, by("fleet/default/s-r-a")), draftOf(2, 1, by("fleet/default/s-r-a-1234"))), "s-r-a", "s-r-a-1234"},
		"the set was renamed":  {"its old name is none of its set's", webPackage(nil, draftOf(1, 1, by("fleet/default/old-r-a"))), "s-r-a", "s-r-a"},
		"another manager's":    {"", webPackage(nil, draftOf(1, 1, by("x/default/s-r-a-1234"))), "s-r-a", "s-r-a"},
		"of another namespace": {"", webPackage(nil, draftOf(1, 1, by("fleet/team/s-r-a-1234"))), "s-r-a", "s-r-a"},
		"nobody's":             {"", webPackage(nil, draftOf(1, 1, by(""))), "s-r-a", "s-r-a"},
	} {
		w := wanted()
		w.Name = c.now
		if got := KeptName(fleet, w, c.p, names); got != c.want {
			t.Errorf("%s: %s: %s", name, c.reason, got)
		}
	}
}
