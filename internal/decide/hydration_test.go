package decide

import (
	"testing"

	"github.com/variform/variform/internal/record"
)

// TestHydrationOfARevision: a newer version's package waits where the record and
// its commit name one tree, and an older one's is made anew only where that is
// asked for.
func TestHydrationOfARevision(t *testing.T) {
	tree := Hash{7}
	for name, c := range map[string]struct {
		entry     record.Entry
		changed   bool
		rehydrate bool
		want      Action // "" for a build
	}{
		"newer":                        {record.Entry{Place: record.Main, Hydrated: tree.String(), Hydration: Hydration + 1}, true, false, ActionWait},
		"newer, and nothing to do":     {record.Entry{Place: record.Main, Hydrated: tree.String(), Hydration: Hydration + 1}, false, false, ActionNone},
		"newer, of another tree":       {record.Entry{Place: record.Main, Hydrated: Hash{8}.String(), Hydration: Hydration + 1}, true, false, ""},
		"newer, of a Draft":            {record.Entry{Place: record.Open, Workspace: "w", Hydrated: tree.String(), Hydration: Hydration + 1}, true, false, ""},
		"older":                        {record.Entry{Place: record.Main, Hydrated: tree.String()}, false, false, ActionNone},
		"older, made anew":             {record.Entry{Place: record.Main, Hydrated: tree.String()}, false, true, ""},
		"this one's, made anew":        {record.Entry{Place: record.Main, Hydrated: tree.String(), Hydration: Hydration}, false, true, ActionNone},
		"newer, to be made anew by us": {record.Entry{Place: record.Main, Hydrated: tree.String(), Hydration: Hydration + 1}, false, true, ActionNone},
	} {
		t.Run(name, func(t *testing.T) {
			now := parts()
			r := publishedOf(1, 9, recorded(now.Inputs(nil)))
			r.Machine = &Machine{Hydrated: tree}
			q := asked(webPackage(tags(tag(1, 9)), r), r)
			q.Package.Entries, q.Rehydrate = []record.Entry{c.entry}, c.rehydrate
			if c.changed {
				upgraded(&q)
			}
			var got Action
			if r, ok := Intend(q).(Rule); ok {
				got = r.Decision.Action()
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A Draft that went on after a forge merged it is a newer version's still.
func TestHydrationOfADraftThatWentOn(t *testing.T) {
	tree := Hash{7}.String()
	published := record.Entry{Place: record.Main, Hydrated: tree, Hydration: Hydration + 1}
	for name, c := range map[string]struct {
		entries []record.Entry
		want    int
	}{
		"the Published revision's tells": {[]record.Entry{published}, Hydration + 1},
		"its own tells":                  {[]record.Entry{published, {Place: record.Open, Workspace: "packagevariant-4", Hydrated: tree, Hydration: Hydration}}, Hydration},
		"its own, before the other":      {[]record.Entry{{Place: record.Open, Workspace: "packagevariant-4", Hydrated: tree, Hydration: Hydration}, published}, Hydration},
		"renamed":                        {[]record.Entry{{Place: record.Open, Workspace: "packagevariant-5", Commit: Hash{9}.String(), Hydrated: tree, Hydration: Hydration + 1}}, Hydration + 1},
		"another Draft's says nothing":   {[]record.Entry{{Place: record.Open, Workspace: "packagevariant-5", Hydrated: tree, Hydration: Hydration + 1}}, 0},
	} {
		d := draftOf(4, 9)
		d.Machine = &Machine{Hydrated: Hash{7}}
		p := webPackage(tags(tag(1, 8)), publishedOf(1, 8), d)
		p.Entries = c.entries
		if got := asked(p, d).hydration(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// Of what a forge squashed no commit says what the machine made: the record is
// believed by the commit.
func TestHydrationOfASquash(t *testing.T) {
	for name, c := range map[string]struct {
		commit Hash
		want   int
	}{"the commit": {Hash{9}, Hydration + 1}, "another": {Hash{6}, 0}} {
		r := publishedOf(1, 9)
		r.Machine = nil
		p := webPackage(tags(tag(1, 9)), r)
		p.Entries = []record.Entry{{Place: record.Main, Commit: c.commit.String(), Hydrated: Hash{7}.String(), Hydration: Hydration + 1}}
		q := asked(p, r)
		if got := q.hydration(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
