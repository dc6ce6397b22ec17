package decide

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/record"
)

var ann = record.Word{By: "Ann", Reason: "not now"}

// saying is a package whose record says something of it.
func saidOf(p *Package, e record.Entry) *Package {
	e.Path, e.Place, e.Owner = webPath, record.Variant, webOwner
	p.Entries = []record.Entry{e}
	return p
}

func TestHeld(t *testing.T) {
	if _, held := Held(webPackage(nil)); held {
		t.Error("nobody holds it")
	}
	p := saidOf(webPackage(nil, draftOf(1, 10)), record.Entry{Hold: &ann})
	r, held := Held(p)
	if !held || r.Decision != (Wait{}) || r.Reasons[0] != "held by Ann: not now" {
		t.Errorf("%v", r)
	}
	list := []*Candidate{{Identity: wanted().Identity, Package: p}, {Package: webPackage(nil)}}
	RefuseHeld(list, "")
	if s := saying(list[0].Err, "held by Ann: not now: variform hold --off c1/web"); s != "" || list[1].Err != nil {
		t.Error(s, list[1].Err)
	}
	p.Entries[0].Owner = record.Nobody
	if _, held := Held(p); held {
		t.Error("what was said before it was released is over")
	}
}

// What people said counts in whosever record it stands, and is taken back there.
func TestHeldElsewhere(t *testing.T) {
	e := record.Entry{Path: webPath, Place: record.Variant, Owner: "other/default/web", Hold: &ann}
	rec := recordWith(t, "other", e)
	rec.Origin = "git.example.com/fleet//"
	p := webPackage(nil, draftOf(1, 10))
	p.Others = []*record.Record{rec}
	const says = "held by Ann, in the record of manager other of git.example.com/fleet//: not now"
	r, held := Held(p)
	if !held || r.Reasons[0] != says {
		t.Errorf("%v", r)
	}
	list := []*Candidate{{Identity: wanted().Identity, Package: p}}
	RefuseHeld(list, "")
	if s := saying(list[0].Err, says+": variform hold --off c1/web --manager other takes that off"); s != "" {
		t.Error(s)
	}
	if _, err := SayOff(repository(p), p); saying(err, "take that off with --manager other") != "" {
		t.Error(err)
	}
	if now := restating(fleet, wanted(), p); now.Hold != nil {
		t.Error("it is not taken over into this manager's record")
	}
	if rulings := Remove(&Orphan{Identity: wanted().Identity, Repo: repository(p), Package: p}); rulings[0].Decision != (Keep{}) {
		t.Errorf("%v", rulings)
	}
	p.Entries = []record.Entry{{Path: webPath, Place: record.Variant, Owner: webOwner, Hold: &record.Word{By: "Bo", Reason: "mine"}}}
	if r, _ := Held(p); r.Reasons[0] != "held by Bo: mine" {
		t.Errorf("one's own first: %v", r)
	}
	e.Owner, e.Commit = record.Nobody, Hash{1}.String()
	if p.Entries, p.Others = nil, []*record.Record{recordWith(t, "other", e)}; p.Hold() != nil {
		t.Error("what was said before it was released is over")
	}
}

func recordWith(t *testing.T, manager string, e record.Entry) *record.Record {
	t.Helper()
	rec, _, err := record.New(manager).With([]record.Edit{record.Put{Entry: e}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func TestSay(t *testing.T) {
	kept, unkept := repository(), repository()
	kept.Records = true
	draft, foreign := draftOf(1, 10), draftOf(2, 11, by("other/default/web"))
	draft.Inputs.Digest = "abc"
	both := func() *Package { return webPackage(nil, draft, foreign) }

	e, err := SayHold(fleet, wanted(policyOf("orphan")), kept, both(), ann)
	if err != nil || *e.Hold != ann || e.DeletionPolicy != "orphan" || e.Owner != webOwner {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := SayHold(fleet, wanted(), unkept, both(), ann); saying(err, "has no record") != "" {
		t.Error(err)
	}
	e, gone, err := SayDiscard(fleet, wanted(), kept, both(), nil, ann)
	if err != nil || ParseInputs(e.Discarded.Inputs).Digest != "abc" || len(gone) != 1 || gone[0].Revision != draft {
		t.Errorf("%+v, %v, %v", e, gone, err)
	}
	built := both()
	built.Entries = []record.Entry{{Place: record.Built, Workspace: draft.Workspace, Commit: draft.Ref.Commit.String(), Inputs: Inputs{Digest: "def", Values: "v"}.String()}}
	if e, _, err = SayDiscard(fleet, wanted(), kept, built, nil, ann); err != nil || ParseInputs(e.Discarded.Inputs).Digest != "def" {
		t.Errorf("what a build showed to be the same: %+v, %v", e, err)
	}
	for name, c := range map[string]struct {
		change func(*Revision)
		want   string
	}{
		"the Draft is as the record has it":    {func(r *Revision) { r.Machine.Commit = Hash{60} }, "abc"},
		"the record is behind":                 {func(r *Revision) { r.Machine.Parents = []Hash{{60}} }, "abc"},
		"a person replaced the machine's last": {func(r *Revision) { r.Machine.Commit = Hash{59} }, "def"},
		"a person replaced all that was made":  {func(r *Revision) { r.Machine, r.Inputs = nil, Inputs{} }, "def"},
	} {
		amended := draftOf(1, 10)
		machine := *amended.Machine
		amended.Inputs.Digest, amended.Machine = "abc", &machine
		c.change(amended)
		p := webPackage(nil, amended)
		p.Entries = []record.Entry{{Place: record.Open, Workspace: amended.Workspace, Commit: Hash{60}.String(), Inputs: Inputs{Digest: "def"}.String()}}
		if e, _, err := SayDiscard(fleet, wanted(), kept, p, nil, ann); err != nil || ParseInputs(e.Discarded.Inputs).Digest != c.want {
			t.Errorf("%s: %+v, %v, want %s", name, e.Discarded, err, c.want)
		}
	}
	merged, onMain := both(), *kept
	merged.Trees = []Folder{{onMain.Head, Hash{50}}, {draft.Ref.Commit, Hash{50}}}
	overtaken, others := both(), both()
	overtaken.Trees, others.Trees = []Folder{{onMain.Head, Hash{51}}, {draft.Ref.Commit, Hash{50}}}, []Folder{{onMain.Head, Hash{51}}, {draft.Ref.Commit, Hash{50}}}
	overtaken.Branch = &Branch{Tree: Hash{51}, Owner: webOwner, Landed: Hash{66}, LandedTree: Hash{51}, Workspace: draft.Workspace}
	other := *overtaken.Branch
	other.Workspace = "packagevariant-9"
	others.Branch = &other
	if _, _, err := SayDiscard(fleet, wanted(), &onMain, others, nil, ann); err != nil {
		t.Errorf("another Draft was merged: %v", err)
	}
	onMain.Branch = "trunk"
	for says, c := range map[string]struct {
		repo *Repository
		p    *Package
	}{
		"merged into trunk":                             {&onMain, overtaken},
		"merged into trunk, and the next apply tags it": {&onMain, merged},
		"has no record":                                 {unkept, both()},
		"has no open Draft":                             {kept, webPackage(nil, foreign)},
		"held by Ann":                                   {kept, saidOf(both(), record.Entry{Hold: &ann})},
	} {
		if _, _, err := SayDiscard(fleet, wanted(), c.repo, c.p, nil, ann); saying(err, says) != "" {
			t.Error(saying(err, says))
		}
	}
	e, err = SayOff(kept, saidOf(both(), record.Entry{Hold: &ann, Discarded: &ann, DeletionPolicy: "orphan"}))
	if err != nil || e.Hold != nil || e.Discarded == nil || e.DeletionPolicy != "orphan" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := SayOff(kept, both()); saying(err, "nobody holds it") != "" {
		t.Error(err)
	}
}

// Of several open revisions a person says which; one that sets the package back takes
// no inputs along.
func TestSayDiscardOfSeveral(t *testing.T) {
	kept := repository()
	kept.Records = true
	update, back := draftOf(3, 10), draftOf(4, 11, reverting("v1"))
	update.Inputs.Digest, back.Inputs.Digest = "abc", "def"
	other := record.Word{By: "Bo", Inputs: "sha256:fed"}
	for name, c := range map[string]struct {
		names  []string
		gone   []string
		inputs string // that are kept away
		err    string
	}{
		"all":        {names: []string{"web"}, err: "several open revisions: c1.web.packagevariant-4 (Draft), which sets it back to v1 by Ann, c1.web.packagevariant-3 (Draft): discard them by those names"},
		"the update": {names: []string{"c1.web.packagevariant-3"}, gone: []string{"Draft packagevariant-3"}, inputs: "abc"},
		"the revert": {names: []string{"c1.web.packagevariant-4"}, gone: []string{"Draft packagevariant-4, which sets it back to v1 by Ann"}, inputs: "fed"},
		"both":       {names: []string{"c1.web.packagevariant-3", "c1.web.packagevariant-4"}, gone: []string{"Draft packagevariant-4, which sets it back to v1 by Ann", "Draft packagevariant-3"}, inputs: "abc"},
	} {
		p := saidOf(webPackage(tags(tag(1, 8)), update, back, publishedOf(1, 8)), record.Entry{Discarded: &other})
		p.Entries = append(p.Entries, record.Entry{Place: record.Open, Workspace: workspace(2), Set: "older"},
			record.Entry{Place: record.Open, Workspace: workspace(3), Set: "sites", For: "c1/db"})
		e, list, err := SayDiscard(fleet, wanted(), kept, p, c.names, ann)
		if s := saying(err, c.err); s != "" {
			t.Errorf("%s: %s", name, s)
		}
		if err != nil {
			continue
		}
		var gone []string
		for _, d := range list {
			gone = append(gone, d.Describe(""))
		}
		if d := cmp.Diff(c.gone, gone); d != "" || ParseInputs(e.Discarded.Inputs).Digest != c.inputs {
			t.Errorf("%s: keeps %q away, %s", name, e.Discarded.Inputs, d)
		}
		if made := e.Discarded.Set + " " + e.Discarded.For; c.inputs == "abc" && made != "sites c1/db" {
			t.Errorf("%s: was made for %q", name, made)
		}
	}
	if s := (Discard{Revision: update}).Describe("Bo (abc)"); s != "Draft packagevariant-3, edited by Bo (abc)" {
		t.Error(s)
	}
	p := webPackage(nil, update)
	for name, want := range map[string]bool{"c1.web.packagevariant-3": true, "c1.web.packagevariant-4": false, "web": false} {
		if slices.Contains(wanted().DraftNames(p), name) != want {
			t.Error(name)
		}
	}
}

// A Draft of inputs that a person discarded is not made again unasked, and what they
// said is over with the Draft that comes then.
func TestDiscardedDraft(t *testing.T) {
	word := ann
	word.Inputs = "sha256:" + parts().Inputs(nil).Digest
	p := saidOf(webPackage(nil), record.Entry{Discarded: &word})
	q := asked(p, nil)
	if r, ok := Intend(q).(Rule); !ok || r.Decision != (Wait{}) || r.Reasons[0] != "discarded by Ann: not now: apply --retry c1/web drafts it again" {
		t.Errorf("%+v", Intend(q))
	}
	builds := func(why string, q Question) {
		t.Helper()
		if _, ok := Intend(q).(Build); !ok {
			t.Errorf("%s: %+v", why, Intend(q))
		}
	}
	retried := q
	w := *q.Want
	retried.Want, w.Retry = &w, true
	builds("it was asked for", retried)
	builds("something is new", asked(p, nil, upgraded))
	// Which set it is made for by now is no new input, also once the record says it.
	made, moved := parts(), asked(p, nil)
	moved.Repo.Records, moved.Owner = true, webOwner
	made.Spec, _ = SpecDigest(wanted().Variant(), webOwner, "sites", "c1/db")
	word.Inputs, word.Set, word.For = made.Inputs(nil).String(), "sites", "c1/db"
	if r, ok := Intend(moved).(Rule); !ok || r.Decision != (Wait{}) {
		t.Errorf("another set wants it: %+v", Intend(moved))
	}
	word.For = ""
	builds("it was made for another one", moved)
	v1, v2 := tag(1, 8), tag(2, 9)
	word.Inputs = parts().Inputs(&v1).On("abc").String()
	since := asked(saidOf(webPackage(tags(v1, v2), publishedOf(2, 9)), record.Entry{Discarded: &word}), publishedOf(2, 9))
	if r, ok := Intend(since).(Rule); !ok || r.Decision != (Wait{}) {
		t.Errorf("what was Published since is no other input: %+v", Intend(since))
	}
	recreated := *since.Want
	since.Want, recreated.Recreate = &recreated, true
	builds("it is made again", since)
	draft := draftOf(1, 10)
	// In another's record the inputs are those of its own variant.
	pv, owner := *wanted().Variant(), "other/default/shop"
	theirs := parts()
	theirs.Spec, _ = SpecDigest(&pv, owner, "sets", "")
	word.Inputs = "sha256:" + theirs.Inputs(nil).Digest
	elsewhere := asked(webPackage(nil), nil)
	elsewhere.Package.Others = []*record.Record{recordWith(t, "other", record.Entry{Path: webPath, Place: record.Variant, Owner: owner, Set: "sets", Discarded: &word})}
	elsewhere.Repo.Records = true
	if r, ok := Intend(elsewhere).(Rule); !ok || r.Reasons[0] != "discarded by Ann, in the record of manager other: not now: apply --retry c1/web drafts it again" {
		t.Errorf("%+v", Intend(elsewhere))
	}
	if s := elsewhere.Package.discarded(); s == nil || s.whose() != ", in the record of manager other" {
		t.Errorf("%+v", s)
	}
	if s := (&Package{Path: webPath, Revisions: []*Revision{draftOf(1, 10)}, Others: elsewhere.Package.Others}).discarded(); s != nil {
		t.Errorf("a Draft is open: %+v", s)
	}
	if elsewhere.Set != "" {
		t.Error("what was asked was changed")
	}
	builds("somebody made a Draft by hand", asked(saidOf(webPackage(nil, draft), p.Entries[0]), draft))

	repo := repository(p)
	repo.Records = true
	if _, over := Restated(fleet, wanted(), repo, p, nil); over {
		t.Error("over, and no Draft was made")
	}
	if r, over := Restated(fleet, wanted(), repo, p, &Draft{}); !over || r.Decision.(Record).Entry.Discarded != nil {
		t.Error("not over with a new Draft")
	}
	// With the first Draft of a package that was there before its policy of now is said.
	before := saidOf(webPackage(nil), record.Entry{})
	if r, over := Restated(fleet, wanted(policyOf("orphan")), repo, before, &Draft{}); !over || r.Decision.(Record).Entry.DeletionPolicy != "orphan" {
		t.Error("the policy of then stays with a new Draft")
	}
	if _, over := Restated(fleet, wanted(policyOf("orphan")), repo, before, nil); over {
		t.Error("said, and nothing is there")
	}
	if _, over := Restated(fleet, wanted(), repo, before, &Draft{}); over {
		t.Error("nothing has changed")
	}
}

// A Draft of which nothing is left goes, and says so.
func TestBack(t *testing.T) {
	v1 := tag(1, 9)
	draft := draftOf(2, 10, since("v1"))
	q := asked(webPackage(tags(v1), draft, publishedOf(1, 9)), draft, upgraded)
	o := &Outcome{Question: q, Intent: Intend(q), Tried: true, Back: true}
	r := Activation{}.Rule([]*Outcome{o})[0]
	if r.Decision != (Discard{Revision: draft, Withdrawn: true}) || r.Reasons[len(r.Reasons)-1] != "nothing is left of it: the package is to be what v1 is" {
		t.Errorf("%+v", r)
	}
}

func TestUnpublished(t *testing.T) {
	named := &v1alpha1.Upstream{Repo: "c1", Package: "web"}
	missing := errors.New("no revision of it is Published")
	for name, c := range map[string]struct {
		p      *Package
		wanted bool
		err    error
		waits  bool
	}{
		"a variant's, not Published": {webPackage(nil, draftOf(1, 10)), true, missing, true},
		"not even drafted":           {webPackage(nil), true, missing, true},
		"nobody's":                   {webPackage(nil), false, missing, false},
		"Published, another fails":   {webPackage(tags(tag(1, 9)), publishedOf(1, 9)), true, missing, false},
		"it can be read":             {webPackage(nil, draftOf(1, 10)), true, nil, false},
	} {
		repo := repository(c.p)
		repo.Wanted[webPath] = c.wanted
		r, waits := Unpublished(named, &Upstream{Repo: repo, Err: c.err})
		if waits != c.waits || waits && r.Decision != (Wait{}) {
			t.Errorf("%s: %v", name, r)
		}
	}
	if _, waits := Unpublished(named, &Upstream{Err: missing}); waits {
		t.Error("waits for a Repository that is not there")
	}
}
