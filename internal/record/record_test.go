package record

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"
)

func hash(n int) string { return fmt.Sprintf("%040x", n) }

var day = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// open is an entry whose package has edits: its Tree is not its Hydrated.
func open(path, workspace string, n int) Entry {
	return Entry{Path: path, Place: Open, Workspace: workspace, Commit: hash(n), Tree: hash(n + 1), Hydrated: hash(n + 2), Inputs: "sha256:00", Owner: "fleet/default/" + path, Set: "web"}
}

func with(t testing.TB, r *Record, edits ...Edit) *Record {
	t.Helper()
	next, _, err := r.With(edits, day)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func names(entries []Entry) []string {
	var out []string
	for _, e := range entries {
		name := e.Name() + "=" + strings.TrimLeft(e.Hydrated, "0")
		if e.Reverts != "" {
			name += " " + e.Reverts
		}
		if e.Withdrawn != 0 {
			name += " withdrawn"
		}
		out = append(out, name)
	}
	return out
}

// built is what came of a build upon an open revision, or of a new one.
func built(path, workspace, failure string) Entry {
	e := Entry{Path: path, Place: Built, Workspace: workspace, Inputs: "sha256:00 spec=1", Failure: failure, At: day.Format(time.RFC3339)}
	if workspace != "" {
		e.Commit = hash(7)
	}
	return e
}

// A tag that is set again takes nothing from what the record has of its commit.
func TestTagSetAgain(t *testing.T) {
	made := Entry{Path: "web", Workspace: "ws-1", Revision: 1, Commit: hash(0x20), Tree: hash(0x11), Hydrated: hash(0x11), Hydration: 99}
	again := made
	again.Hydration = 0
	r := with(t, New("fleet"), Publish{Entry: made}, Publish{Entry: again})
	for _, e := range r.Package("web") {
		if e.Hydration != 99 {
			t.Errorf("%s: hydration %d", e.Place, e.Hydration)
		}
	}
	if n := len(r.Package("web")); n != 2 {
		t.Errorf("%d entries", n)
	}
}

func TestEdits(t *testing.T) {
	draft := open("web", "ws-1", 0x10)
	fails, first, other := Put{built("web", "ws-1", "bad value")}, Put{built("web", "", "bad value")}, Put{built("web", "ws-2", "")}
	published := func(n int, hydrated int) Publish {
		return Publish{Entry: Entry{Path: "web", Workspace: "ws-1", Revision: n, Commit: hash(0x20), Tree: hash(0x11), Hydrated: hash(hydrated)}}
	}
	unedited := published(1, 0x11)
	back := draft
	back.Reverts = "v1 by Ann"
	for name, tt := range map[string]struct {
		edits []Edit
		want  []string
	}{
		"put":                               {[]Edit{Put{draft}}, []string{"open/web/ws-1=12"}},
		"put again":                         {[]Edit{Put{draft}, Put{open("web", "ws-1", 0x30)}}, []string{"open/web/ws-1=32"}},
		"two are open":                      {[]Edit{Put{draft}, Put{open("web", "ws-2", 0x30)}}, []string{"open/web/ws-1=12", "open/web/ws-2=32"}},
		"published":                         {[]Edit{Put{draft}, published(1, 0x12)}, []string{"main/web=12", "past/web/v1=12"}},
		"the other Draft stays":             {[]Edit{Put{draft}, Put{open("web", "ws-2", 0x30)}, published(1, 0x12)}, []string{"main/web=12", "open/web/ws-2=32", "past/web/v1=12"}},
		"published, its entry is another's": {[]Edit{Put{draft}, published(1, 0x99)}, nil},
		"published, the entry was lost":     {[]Edit{published(1, 0x12)}, nil},
		"published unedited, no entry":      {[]Edit{unedited}, []string{"main/web=11", "past/web/v1=11"}},
		"what was on the branch goes":       {[]Edit{unedited, Put{draft}, published(2, 0x12)}, []string{"main/web=12", "past/web/v1=11", "past/web/v2=12"}},
		"unknown takes what was known":      {[]Edit{unedited, published(2, 0x12)}, []string{"past/web/v1=11"}},
		"dropped":                           {[]Edit{Put{draft}, unedited, Put{draft}, Drop{"web", "ws-1"}}, []string{"main/web=11", "past/web/v1=11"}},
		"drop of another":                   {[]Edit{Put{draft}, Drop{"web", "ws-2"}}, []string{"open/web/ws-1=12"}},
		"withdrawn":                         {[]Edit{Put{draft}, Put{open("web", "ws-2", 0x30)}, fails, Withdraw{"web", "ws-1"}}, []string{"open/web/ws-1=12 withdrawn", "open/web/ws-2=32"}},
		"withdrawn, and merged":             {[]Edit{Put{draft}, Withdraw{"web", "ws-1"}, published(1, 0x12)}, []string{"main/web=12", "past/web/v1=12"}},
		"withdrawn, and wanted again":       {[]Edit{Put{draft}, Withdraw{"web", "ws-1"}, Put{draft}}, []string{"open/web/ws-1=12"}},
		"nothing to withdraw":               {[]Edit{unedited, Withdraw{"web", "ws-1"}}, []string{"main/web=11", "past/web/v1=11"}},
		"trimmed":                           {[]Edit{published(1, 0x11), published(2, 0x11), Trim{"web", []int{1}}}, []string{"main/web=11", "past/web/v2=11"}},
		"forgotten":                         {[]Edit{Put{draft}, unedited, Forget{Path: "web"}}, nil},
		"deleted":                           {[]Edit{Put{draft}, unedited, Forget{Path: "web", Revision: 1, Workspace: "ws-1"}}, []string{"gone/web="}},
		"deleted, and forgotten":            {[]Edit{Forget{Path: "web", Revision: 3, Workspace: "ws-3"}, Put{draft}, Forget{Path: "web"}}, []string{"gone/web="}},
		"deleted, and made again":           {[]Edit{Forget{Path: "web", Revision: 3, Workspace: "ws-3"}, Put{draft}, Unsay{"web"}}, []string{"gone/web=", "open/web/ws-1=12"}},
		"built upon nothing":                {[]Edit{first}, []string{"built/web="}},
		"built upon a Draft":                {[]Edit{Put{draft}, fails, other}, []string{"built/web/ws-1=", "built/web/ws-2=", "open/web/ws-1=12"}},
		"what was built last counts":        {[]Edit{fails, Put{built("web", "ws-1", "")}}, []string{"built/web/ws-1="}},
		"a commit is newer than what was built": {
			[]Edit{fails, first, other, Put{draft}}, []string{"built/web/ws-2=", "open/web/ws-1=12"},
		},
		"squashed, its tree tells":  {[]Edit{Put{draft}, Publish{Entry: Entry{Path: "web", Revision: 1, Commit: hash(0x20), Tree: hash(0x11)}}}, []string{"main/web=12", "past/web/v1=12"}},
		"others went on":            {[]Edit{Put{draft}, Publish{Entry: Entry{Path: "web", Revision: 1, Commit: hash(0x20), Tree: hash(0x11)}}, Publish{Entry: Entry{Path: "web", Revision: 2, Commit: hash(0x21), Tree: hash(0x13)}, Upon: true}}, []string{"main/web=12", "past/web/v1=12", "past/web/v2=12"}},
		"squashed, another tree":    {[]Edit{Put{draft}, Publish{Entry: Entry{Path: "web", Revision: 1, Commit: hash(0x20), Tree: hash(0x13)}}}, []string{"open/web/ws-1=12"}},
		"squashed with edits, held": {[]Edit{Put{draft}, Publish{Entry: Entry{Path: "web", Workspace: "ws-1", Revision: 1, Commit: hash(0x20), Tree: hash(0x13), Hydrated: hash(0x14)}, Held: true}}, []string{"main/web=14", "past/web/v1=14"}},
		"settled":                   {[]Edit{fails, first, other, Settle{"web", ""}, Settle{"web", "ws-2"}}, []string{"built/web/ws-1="}},
		"dropped, built":            {[]Edit{fails, other, Drop{"web", "ws-1"}}, []string{"built/web/ws-2="}},
		"published, built":          {[]Edit{Put{draft}, fails, other, published(1, 0x12)}, []string{"built/web/ws-2=", "main/web=12", "past/web/v1=12"}},
		"forgotten, built":          {[]Edit{fails, first, Forget{Path: "web"}}, nil},
		"squashed, its Draft was to set it back": {
			[]Edit{Put{back}, Publish{Entry: Entry{Path: "web", Revision: 3, Commit: hash(0x20), Tree: hash(0x11)}}, Publish{Entry: Entry{Path: "web", Revision: 4, Commit: hash(0x21), Tree: hash(0x13)}, Upon: true}},
			[]string{"main/web=12 v1 by Ann", "past/web/v3=12 v1 by Ann", "past/web/v4=12 v1 by Ann"},
		},
		"drafted anew": {[]Edit{Put{back}, Put{draft}}, []string{"open/web/ws-1=12"}},
		"five are kept": {
			[]Edit{published(1, 0x11), published(2, 0x11), published(3, 0x11), published(10, 0x11), published(11, 0x11), published(12, 0x11)},
			[]string{"main/web=11", "past/web/v2=11", "past/web/v3=11", "past/web/v10=11", "past/web/v11=11", "past/web/v12=11"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := with(t, New("fleet"), append([]Edit{Put{open("db", "ws-1", 0x50)}}, tt.edits...)...)
			if d := cmp.Diff(tt.want, names(r.Package("web"))); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if got := names(r.Package("db")); len(got) != 1 {
				t.Errorf("another package has %v", got)
			}
		})
	}
}

// Of a revision that nothing is known of the record says whose it is, and keeps what
// was said of the package.
func TestPublishSaysWhose(t *testing.T) {
	e := Publish{Entry: Entry{Path: "web", Workspace: "ws-1", Revision: 1, Commit: hash(7), Tree: hash(8), Hydrated: hash(9), Owner: "fleet/default/web", Set: "webs"}, Whose: true}
	held := Put{Entry{Path: "web", Place: Variant, Owner: "fleet/default/web", Set: "old", Hold: &Word{By: "a", Reason: "b"}}}
	for name, tt := range map[string]struct {
		edits []Edit
		want  Entry
	}{
		"nothing was said": {[]Edit{e}, Entry{Path: "web", Place: Variant, Owner: "fleet/default/web", Set: "webs"}},
		"held":             {[]Edit{held, e}, held.Entry},
		"released now":     {[]Edit{Put{Entry{Path: "web", Place: Variant, Owner: Nobody, Commit: hash(7)}}, e}, Entry{Path: "web", Place: Variant, Owner: Nobody, Commit: hash(7)}},
		"released before":  {[]Edit{Put{Entry{Path: "web", Place: Variant, Owner: Nobody, Commit: hash(6)}}, e}, Entry{Path: "web", Place: Variant, Owner: "fleet/default/web", Set: "webs"}},
	} {
		if d := cmp.Diff([]Entry{tt.want}, with(t, New("fleet"), tt.edits...).Package("web")); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
	e.Whose = false
	if got := with(t, New("fleet"), e).Package("web"); len(got) != 0 {
		t.Errorf("a commit says it, and the record %+v", got)
	}
}

// What the open revision's entry says of its variant goes along.
func TestPublishKeepsVariant(t *testing.T) {
	draft := open("web", "ws-1", 0x10)
	draft.Labels, draft.DeletionPolicy, draft.Hydration = map[string]string{"a": "b"}, "orphan", 2
	r := with(t, New("fleet"), Put{draft}, Publish{Entry: Entry{Path: "web", Workspace: "ws-1", Revision: 1, Commit: hash(7), Tree: hash(8), Hydrated: draft.Hydrated}})
	want := draft
	want.Place, want.Revision, want.Commit, want.Tree = Main, 1, hash(7), hash(8)
	if d := cmp.Diff(want, r.Package("web")[0]); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A package has one entry for its branch, and one of each Published revision,
// whatever their workspaces; no record has none.
func TestOneEach(t *testing.T) {
	var none *Record
	if got := none.Package("web"); got != nil {
		t.Errorf("no record has %v", got)
	}
	at := func(place Place, workspace string, n int) Put {
		e := open("web", workspace, n)
		e.Place, e.Revision = place, 1
		return Put{e}
	}
	r := with(t, New("fleet"), at(Main, "ws-1", 0x10), at(Past, "ws-1", 0x20), at(Main, "ws-2", 0x30), at(Past, "ws-2", 0x40))
	if d := cmp.Diff([]string{"main/web=32", "past/web/v1=42"}, names(r.Package("web"))); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// What was read goes on as it is: edits make another record.
func TestWithMakesAnother(t *testing.T) {
	r := with(t, New("fleet"), Put{open("web", "ws-1", 1)})
	before := filesOf(r)
	with(t, r, Forget{Path: "web"}, Put{open("web", "ws-2", 5)})
	if d := cmp.Diff(before, filesOf(r)); d != "" {
		t.Error(d)
	}
}

func TestWithRefuses(t *testing.T) {
	good := open("web", "ws-1", 1)
	for name, tt := range map[string]struct {
		broken func(e *Entry)
		want   string
	}{
		"path":             {func(e *Entry) { e.Path = "../web" }, "path"},
		"git":              {func(e *Entry) { e.Path = "web/.git" }, "path"},
		"workspace":        {func(e *Entry) { e.Workspace = "a/b" }, "workspace"},
		"none":             {func(e *Entry) { e.Workspace = "" }, "workspace"},
		"revision":         {func(e *Entry) { e.Revision = 1 }, "revision"},
		"past":             {func(e *Entry) { e.Place = Past }, "revision"},
		"main":             {func(e *Entry) { e.Place, e.Revision = Main, -1 }, "revision"},
		"place":            {func(e *Entry) { e.Place = "here" }, "place"},
		"commit":           {func(e *Entry) { e.Commit = "abc" }, "commit"},
		"tree":             {func(e *Entry) { e.Tree = strings.ToUpper(hash(0xabc)) }, "tree"},
		"hydrated":         {func(e *Entry) { e.Hydrated = "" }, "hydrated"},
		"failure":          {func(e *Entry) { e.Failure = "bad" }, "failure"},
		"at":               {func(e *Entry) { e.At = day.Format(time.RFC3339) }, "failure and at"},
		"built":            {func(e *Entry) { *e = built("web", "ws-1", ""); e.Tree = hash(1) }, "tree"},
		"hydrated, built":  {func(e *Entry) { *e = built("web", "ws-1", ""); e.Hydrated = hash(1) }, "hydrated"},
		"at, built":        {func(e *Entry) { *e = built("web", "ws-1", ""); e.At = "now" }, "at"},
		"commit, built":    {func(e *Entry) { *e = built("web", "ws-1", ""); e.Commit = "1" }, "commit"},
		"revision, built":  {func(e *Entry) { *e = built("web", "", ""); e.Revision = 1 }, "revision"},
		"workspace, built": {func(e *Entry) { *e = built("web", "a/b", "") }, "workspace"},
		"variant":          {func(e *Entry) { e.Place = Variant }, "of no revision"},
		"owned": {func(e *Entry) {
			*e = Entry{Path: "web", Place: Variant, Owner: "fleet/default/web", Commit: hash(1)}
		}, "commit"},
		"reverts, built": {func(e *Entry) {
			*e = built("web", "ws-1", "")
			e.Reverts = "v1 by Ann"
		}, "reverts"},
		"reverts, of the package itself": {func(e *Entry) {
			*e = Entry{Path: "web", Place: Variant, Owner: "fleet/default/web", Reverts: "v1 by Ann"}
		}, "of no revision"},
		"withdrawn, published": {func(e *Entry) { e.Place, e.Withdrawn = Main, 1 }, "withdrawn"},
		"withdrawn, when":      {func(e *Entry) { e.Withdrawn = -2 }, "withdrawn"},
		"withdrawn, built": {func(e *Entry) {
			*e = built("web", "ws-1", "")
			e.Withdrawn = 1
		}, "withdrawn"},
		"withdrawn, of the package itself": {func(e *Entry) {
			*e = Entry{Path: "web", Place: Variant, Owner: "fleet/default/web", Withdrawn: 1}
		}, "of no revision"},
		"held":     {func(e *Entry) { e.Hold = &Word{By: "a", Reason: "b"} }, "hold"},
		"released": {func(e *Entry) { *e = Entry{Path: "web", Place: Variant, Owner: Nobody} }, "commit"},
	} {
		t.Run(name, func(t *testing.T) {
			e := good
			tt.broken(&e)
			if _, _, err := New("fleet").With([]Edit{Put{e}}, day); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Error(err)
			}
		})
	}
}

// What is said of a package itself has no tree, and stays while its revisions come
// and go, until nothing of the package is left.
func TestVariantEntry(t *testing.T) {
	said := Entry{Path: "web", Place: Variant, Owner: "fleet/default/web", DeletionPolicy: "orphan", Labels: map[string]string{"a": "b"}, Hold: &Word{By: "Ann", Reason: "no"}, Discarded: &Word{By: "Bob", Reason: "big", Inputs: "sha256:00"}}
	one := open("web", "ws-1", 1)
	one.Hydrated = one.Tree
	published := one
	published.Revision = 1
	r := with(t, New("fleet"), Put{one}, Put{said}, Publish{Entry: published})
	if got := r.Package("web"); len(got) != 3 || !got[2].equal(said) {
		t.Errorf("%v", got)
	}
	for _, l := range r.Trees() {
		if strings.HasPrefix(l.Path, "variant") {
			t.Errorf("%v", l)
		}
	}
	if again, err := Decode(filesOf(r)); err != nil || !again.Same(r) {
		t.Error(err)
	}
	said.DeletionPolicy = ""
	if got := with(t, r, Put{said}).Package("web"); len(got) != 3 || got[2].DeletionPolicy != "" {
		t.Errorf("%v", got)
	}
	if got := with(t, r, Forget{Path: "web"}).Package("web"); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// many are entries of all kinds, of packages inside of one another too.
func many(n int) []Edit {
	rnd := rand.New(rand.NewPCG(1, uint64(n)))
	var out []Edit
	for i := range n {
		path := fmt.Sprintf("team-%d/app-%d", rnd.IntN(5), rnd.IntN(n))
		if rnd.IntN(4) == 0 {
			path += "/inner"
		}
		if rnd.IntN(6) == 0 {
			out = append(out, Put{built(path, "", "was: \"bad\"\n")})
			continue
		}
		e := open(path, fmt.Sprintf("packagevariant-%d", rnd.IntN(3)), 16*i)
		if e.Tree = e.Hydrated; rnd.IntN(2) == 0 {
			e.Revision = 1 + rnd.IntN(9)
			out = append(out, Publish{Entry: e})
		} else {
			out = append(out, Put{e})
		}
	}
	return out
}

// The same entries give the same bytes, whatever the order they came in, and
// are read again as they were.
func TestFilesRoundTrip(t *testing.T) {
	edits := many(500)
	r := with(t, New("fl\"eet: #"), edits...)
	got, err := Decode(filesOf(r))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r.Entries(), got.Entries()); d != "" || !r.Same(got) || got.Manager != r.Manager || got.Number != 1 || !got.Since.Equal(day) {
		t.Errorf("%+v -want +got:\n%s", got, d)
	}
	slices.SortStableFunc(edits, func(a, b Edit) int { return strings.Compare(b.Package(), a.Package()) })
	if d := cmp.Diff(filesOf(r), filesOf(with(t, New(r.Manager), edits...))); d != "" {
		t.Error(d)
	}
	for path, data := range filesOf(r) {
		var doc any
		if err := yaml.Unmarshal(data, &doc); err != nil || !IsFile(path) {
			t.Errorf("%s is no YAML: %v", path, err)
		}
	}
	if IsFile("main/web") || IsFile("index/a/b.yaml") {
		t.Error("trees are no files of the record")
	}
}

// One change rewrites the head and one file of the index.
func TestOneChangeOneFile(t *testing.T) {
	r := with(t, New("fleet"), many(300)...)
	next := with(t, r, Put{open("web", "ws-1", 1)})
	now, was := filesOf(next), filesOf(r)
	var changed, edited []string
	for path, data := range now {
		if string(was[path]) != string(data) {
			changed = append(changed, path)
		}
	}
	for path, is := range next.Files(r) {
		if is {
			edited = append(edited, path)
		}
	}
	want := []string{"index/" + shardOf("web") + ".yaml", "record.yaml"}
	for what, got := range map[string][]string{"changed": changed, "edited": edited} {
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s %v, want %v", what, got, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	files := func() map[string][]byte { return filesOf(with(t, New("fleet"), Put{open("web", "ws-1", 1)})) }
	index := "index/" + shardOf("web") + ".yaml"
	replace := func(path, old, now string) func(map[string][]byte) {
		return func(f map[string][]byte) {
			if !strings.Contains(string(f[path]), old) {
				t.Fatalf("%s has no %q", path, old)
			}
			f[path] = []byte(strings.Replace(string(f[path]), old, now, 1))
		}
	}
	for name, tt := range map[string]struct {
		damage func(map[string][]byte)
		want   string
		is     error
	}{
		"no record":       {func(f map[string][]byte) { delete(f, "record.yaml") }, "record.yaml", ErrNone},
		"newer head":      {replace("record.yaml", "/v1", "/v2"), "record.yaml", ErrNewer},
		"newer index":     {replace(index, "/v1", "/v10"), index, ErrNewer},
		"another kind":    {replace(index, "variform.dev/record/v1", "v1"), index + ":1: apiVersion", nil},
		"unknown field":   {replace(index, `"place"`, `"plaice"`), index + ":3: json: unknown field", nil},
		"a field twice":   {replace(index, `"place":"open"`, `"place":"main","place":"open"`), index + ":3", nil},
		"spelled another": {replace(index, `"path"`, `"Path"`), index + ":3", nil},
		"wrong place":     {replace(index, `"open"`, `"past"`), index + ":3", nil},
		"bad hash":        {replace(index, hash(1), hash(1)[1:]), index + ":3: commit", nil},
		"another's path":  {replace(index, `"web"`, `"wab"`), "belongs into", nil},
		"out of place":    {replace(index, `"web"`, `"../web"`), index + ":3: path", nil},
		"twice": {func(f map[string][]byte) {
			f[index] = append(f[index], strings.SplitAfterN(string(f[index]), "\n", 3)[2]...)
		}, index + ":4: open/web/ws-1 stands there twice", nil},
		"no entries":       {func(f map[string][]byte) { f[index] = []byte("apiVersion: variform.dev/record/v1\nentries:\n") }, index + ":2", nil},
		"block style":      {replace(index, "- {", "-   {"), index + ":3", nil},
		"number with zero": {replace(index, "/v1", "/v01"), index + ":2", nil},
		"no end of line":   {func(f map[string][]byte) { f[index] = f[index][:len(f[index])-1] }, index, nil},
		"two in a line":    {replace(index, "}\n", "} {}\n"), index + ":3: something follows", nil},
		"number":           {replace("record.yaml", "number: 1", "number: 0"), "record.yaml:3: number", nil},
		"no number":        {replace("record.yaml", "number: 1", "number: one"), "record.yaml:3: number", nil},
		"head's field":     {replace("record.yaml", "since", "until"), "record.yaml:4: until", nil},
		"head's since":     {replace("record.yaml", "2026", "x"), "record.yaml:4: since", nil},
		"head out of form": {replace("record.yaml", "number: 1", "number: 01"), "record.yaml", nil},
		"another file":     {func(f map[string][]byte) { f["index/readme"] = nil }, "index/readme", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := files()
			tt.damage(f)
			_, err := Decode(f)
			if tt.is == nil {
				tt.is = ErrDamaged
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, tt.is) {
				t.Error(err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	r, _, err := New("fleet").With(many(4), day)
	if err != nil {
		f.Fatal(err)
	}
	files := filesOf(r)
	head := files["record.yaml"]
	for path, data := range files {
		f.Add(head, path, data)
	}
	f.Add(head, "index/00.yaml", []byte("apiVersion: variform.dev/record/v1\nentries:\n- {\"path\":\"a\"}\n"))
	f.Fuzz(func(t *testing.T, head []byte, path string, data []byte) {
		in := map[string][]byte{"record.yaml": head, path: data}
		r, err := Decode(in)
		if err != nil {
			return
		}
		if d := cmp.Diff(in, filesOf(r)); d != "" { // what is read is written as it was
			t.Errorf("-read +written:\n%s", d)
		}
		r.Trees()
	})
}

// A package that stands inside of another's folder would change its tree there.
func TestTreesApart(t *testing.T) {
	unedited := func(path string, n int) Publish {
		return Publish{Entry: Entry{Path: path, Workspace: "ws-1", Revision: 1, Commit: hash(n), Tree: hash(n), Hydrated: hash(n)}}
	}
	leaves := with(t, New("fleet"), unedited("a", 1), unedited("a/b", 2), unedited("a-c", 3), Put{open("a", "ws-1", 4)}, Put{built("a-c", "", "")}).Trees()
	at := map[string]string{}
	for _, l := range leaves {
		at[l.Path] = l.Tree
		for o := range at {
			if o != l.Path && strings.HasPrefix(l.Path, o+"/") {
				t.Errorf("%s stands inside of %s", l.Path, o)
			}
		}
	}
	var aside []string
	for path, tree := range at {
		if strings.HasPrefix(path, "apart/") {
			aside = append(aside, tree)
			delete(at, path)
		}
	}
	want := map[string]string{"main/a": hash(1), "main/a-c": hash(3), "open/a/ws-1": hash(6), "past/a/v1": hash(1), "past/a/b/v1": hash(2), "past/a-c/v1": hash(3)}
	if d := cmp.Diff(want, at); d != "" || !slices.Equal(aside, []string{hash(2)}) || !slices.IsSortedFunc(leaves, func(a, b Leaf) int { return strings.Compare(a.Path, b.Path) }) {
		t.Errorf("apart %v -want +got:\n%s", aside, d)
	}
}

// Entries of a package that another run changed too are not laid upon its.
func TestMoved(t *testing.T) {
	base := with(t, New("fleet"), Put{open("web", "ws-1", 1)}, Put{open("db", "ws-1", 10)})
	edits := []Edit{Put{open("web", "ws-1", 20)}, Drop{"web", "ws-2"}, Put{open("new", "ws-1", 30)}}
	for name, tt := range map[string]struct {
		now  *Record
		want []string
	}{
		"nothing":          {base, nil},
		"another package":  {with(t, base, Put{open("db", "ws-1", 40)}), nil},
		"the same package": {with(t, base, Drop{"web", "ws-1"}), []string{"web"}},
		"its labels":       {with(t, base, Put{func() Entry { e := open("web", "ws-1", 1); e.Labels = map[string]string{"a": "b"}; return e }()}), []string{"web"}},
		"both are new":     {with(t, base, Put{open("new", "ws-1", 50)}), []string{"new"}},
		"it has gone":      {New("fleet"), []string{"web"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tt.now.Moved(base, edits); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestStartAnew(t *testing.T) {
	for name, tt := range map[string]struct {
		number, days int
		anew         bool
	}{
		"young": {1, 1, false}, "many": {999, 1, false}, "full": {1000, 1, true}, "old": {3, 91, true}, "almost": {3, 90, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := with(t, New("fleet"), Put{open("api", "ws-1", 1)}, Put{open("web", "ws-1", 1)})
			r.Number = 4
			r = with(t, r, Withdraw{"api", "ws-1"})
			r.Number = tt.number
			at := day.Add(time.Duration(tt.days) * 24 * time.Hour)
			next, anew, err := r.With([]Edit{Put{open("db", "ws-1", 1)}}, at)
			if err != nil || anew != tt.anew || len(next.Package("web")) != 1 || len(next.Package("db")) != 1 {
				t.Fatal(anew, err)
			}
			left := next.Package("api")
			if gone := !anew && tt.number+1-5 >= withdrawnKept; (len(left) == 0) != gone || len(r.Package("api")) != 1 || anew && left[0].Withdrawn != 1 {
				t.Errorf("left of what was withdrawn: %+v", left)
			}
			if anew && (next.Number != 1 || !next.Since.Equal(at)) || !anew && (next.Number != tt.number+1 || !next.Since.Equal(day)) {
				t.Errorf("number %d since %s", next.Number, next.Since)
			}
		})
	}
}

// What was withdrawn goes some pushes later, whatever they are about; not what was withdrawn again.
func TestWithdrawnGoes(t *testing.T) {
	r := with(t, New("fleet"), Put{open("api", "ws-1", 1)}, Put{open("web", "ws-1", 1)})
	r = with(t, r, Withdraw{"api", "ws-1"}, Withdraw{"web", "ws-1"})
	at := r.Number
	if e := r.Package("api"); len(e) != 1 || e[0].Withdrawn != at {
		t.Fatalf("number %d: %+v", at, e)
	}
	for n := 1; n <= withdrawnKept+2; n++ {
		edits := []Edit{Put{open("db", "ws-1", n)}}
		if n == 3 {
			edits = append(edits, Put{open("web", "ws-1", 2)})
		}
		if n == 4 {
			edits = append(edits, Withdraw{"web", "ws-1"})
		}
		r = with(t, r, edits...)
		if api, web := len(r.Package("api")), len(r.Package("web")); (api == 1) != (n < withdrawnKept) || web != 1 {
			t.Errorf("after %d pushes %d and %d entries are left", n, api, web)
		}
	}
}

func TestProved(t *testing.T) {
	e := open("web", "ws-1", 1)
	for name, tt := range map[string]struct {
		trailer string
		behind  bool
		there   string
		want    bool
	}{
		"its commit is behind it":      {e.Hydrated, true, hash(99), true},
		"squashed":                     {e.Hydrated, false, e.Tree, true},
		"neither":                      {e.Hydrated, false, hash(99), false},
		"the trailer names another":    {hash(99), true, e.Tree, false},
		"the commit says nothing":      {"", true, e.Tree, false},
		"the package is the hydrated":  {e.Hydrated, false, e.Hydrated, false},
		"there is nothing there today": {e.Hydrated, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := e.Proved(tt.trailer, tt.behind, tt.there); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// A manager's name is any text, and one segment of a ref of its own.
func TestRef(t *testing.T) {
	for manager, want := range map[string]string{
		"fleet": "fleet", "a.b-c_D9": "a.b-c_D9", "a/b": "a%2Fb", "a%2Fb": "a%252Fb", ".a": "%2Ea", "a.": "a%2E", "a..b": "a.%2Eb",
		"a.lock": "a%2Elock", "a.lock.b": "a%2Elock.b", "a b~^:?*[\\": "a%20b%7E%5E%3A%3F%2A%5B%5C", "ü": "%C3%BC", "": "%", "@{": "%40%7B",
	} {
		if got := Ref(manager); got != "refs/variform/"+want || Branch(manager) != "refs/heads/variform-record/"+want || !IsRef(got) {
			t.Errorf("%q: %s, %s", manager, got, Branch(manager))
		}
	}
	if IsRef("refs/heads/main") || IsRef("refs/heads/variform-recorded") {
		t.Error("not every branch is a record")
	}
}

func ExampleRecord_With() {
	h := strings.Repeat("0", 39)
	r, _, _ := New("fleet").With([]Edit{Put{Entry{Path: "web", Place: Open, Workspace: "packagevariant-1", Commit: h + "1", Tree: h + "2", Hydrated: h + "3"}}}, day)
	for _, path := range slices.Sorted(maps.Keys(filesOf(r))) {
		fmt.Printf("--- %s\n%s", path, filesOf(r)[path])
	}
	fmt.Println("---", r.Trees()[0])
	// Output:
	// --- index/4b.yaml
	// apiVersion: variform.dev/record/v1
	// entries:
	// - {"path":"web","place":"open","workspace":"packagevariant-1","commit":"0000000000000000000000000000000000000001","tree":"0000000000000000000000000000000000000002","hydrated":"0000000000000000000000000000000000000003"}
	// --- record.yaml
	// apiVersion: variform.dev/record/v1
	// manager: "fleet"
	// number: 1
	// since: "2026-01-02T03:04:05Z"
	// --- {open/web/packagevariant-1 0000000000000000000000000000000000000003}
}

func BenchmarkWith10000(b *testing.B) {
	r, _, err := New("fleet").With(many(10000), day)
	if err != nil {
		b.Fatal(err)
	}
	files := filesOf(r)
	for b.Loop() {
		r, err := Decode(files)
		if err != nil {
			b.Fatal(err)
		}
		next, _, err := r.With([]Edit{Put{open("web", "ws-1", 1)}}, day)
		if err != nil {
			b.Fatal(err)
		}
		filesOf(next)
		next.Trees()
	}
}

// What people said of a variant goes with it; what else is said of a package stays
// while a revision of it is known to be Published.
func TestUnsay(t *testing.T) {
	said := Entry{Path: "web", Place: Variant, Owner: "m/ns/web", DeletionPolicy: "orphan", Hold: &Word{By: "Ann"}, Discarded: &Word{By: "Bo"}}
	released := Entry{Path: "web", Place: Variant, Owner: Nobody, Commit: strings.Repeat("a", 40)}
	main := Entry{Path: "web", Place: Main, Revision: 1}
	quiet := said
	quiet.Hold, quiet.Discarded = nil, nil
	for name, c := range map[string]struct{ have, want []Entry }{
		"nothing else":  {[]Entry{said}, nil},
		"Published":     {[]Entry{main, said}, []Entry{main, quiet}},
		"released":      {[]Entry{released}, []Entry{released}},
		"nothing said":  {[]Entry{main}, []Entry{main}},
		"another Draft": {[]Entry{{Path: "web", Place: Open, Workspace: "w"}, said}, []Entry{{Path: "web", Place: Open, Workspace: "w"}}},
	} {
		if d := cmp.Diff(c.want, Unsay{"web"}.apply(c.have)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if said.Hold == nil || (Unsay{"web"}).Package() != "web" {
		t.Error("what was given was changed")
	}
}

// The highest revision that has gone stays known, whatever goes after it.
func TestGone(t *testing.T) {
	forget := func(n int) Edit {
		return Forget{Path: "web", Revision: n, Workspace: fmt.Sprint("ws-", n)}
	}
	for name, tt := range map[string]struct {
		edits []Edit
		want  int
	}{
		"once":            {[]Edit{forget(2)}, 2},
		"twice":           {[]Edit{forget(2), forget(5)}, 5},
		"an older one":    {[]Edit{forget(5), forget(2)}, 5},
		"nothing was any": {[]Edit{forget(0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var want []Entry
			if tt.want > 0 {
				want = []Entry{{Path: "web", Place: Gone, Revision: tt.want, Workspace: fmt.Sprint("ws-", tt.want)}}
			}
			if d := cmp.Diff(want, with(t, New("fleet"), tt.edits...).Package("web"), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
	for _, e := range []Entry{{Revision: 0}, {Revision: 1, Commit: hash(1)}, {Revision: 1, Owner: "x"}} {
		e.Path, e.Place = "web", Gone
		if err := e.check(); err == nil {
			t.Errorf("%+v: no error", e)
		}
	}
}

func filesOf(r *Record) map[string][]byte {
	out := map[string][]byte{}
	for path := range r.Files(nil) {
		out[path] = r.File(path)
	}
	return out
}
