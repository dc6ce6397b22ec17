package decide

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/record"
)

func policyOf(p v1alpha1.DeletionPolicy) func(*v1alpha1.PackageVariant) {
	return func(pv *v1alpha1.PackageVariant) { pv.Spec.DeletionPolicy = p }
}

func labelled(value string) func(*v1alpha1.PackageVariant) {
	return func(pv *v1alpha1.PackageVariant) { pv.Spec.Labels = map[string]string{"l": value} }
}

func TestRestated(t *testing.T) {
	at := func(place record.Place, policy string) record.Entry {
		return record.Entry{Path: webPath, Place: place, Workspace: workspace(1), Owner: webOwner, DeletionPolicy: policy}
	}
	said := func(policy string) record.Entry {
		return record.Entry{Path: webPath, Place: record.Variant, Owner: webOwner, DeletionPolicy: policy}
	}
	v1 := publishedOf(1, 9)
	past := func(of *Revision) record.Entry {
		return record.Entry{Path: webPath, Place: record.Past, Revision: 1, Commit: of.Ref.Commit.String(), Owner: webOwner}
	}
	squashed := publishedOf(1, 9, func(r *Revision) { r.Machine = nil })
	behind := publishedOf(1, 9, func(r *Revision) { r.Machine.Commit = Hash{8} })
	untold := []string{"neither the record nor its commit tells whose it is"}
	both := []*Revision{draftOf(2, 10, since("v1")), v1}
	for name, c := range map[string]struct {
		why       string
		want      *Want
		revisions []*Revision
		entries   []record.Entry
		says      []string // nil: nothing is recorded
	}{
		"as it was made":           {"", wanted(), []*Revision{v1}, []record.Entry{at(record.Main, "")}, nil},
		"delete is the default":    {"", wanted(policyOf("delete")), []*Revision{v1}, []record.Entry{at(record.Main, "")}, nil},
		"now orphan":               {"", wanted(policyOf("orphan")), []*Revision{v1}, []record.Entry{at(record.Main, "")}, []string{"deletionPolicy is orphan from now on"}},
		"now delete":               {"", wanted(), []*Revision{v1}, []record.Entry{at(record.Main, "orphan")}, []string{"deletionPolicy is delete from now on"}},
		"said already":             {"what was said last counts", wanted(policyOf("orphan")), []*Revision{v1}, []record.Entry{at(record.Main, ""), said("orphan")}, nil},
		"said, and taken back":     {"what was said last counts", wanted(), []*Revision{v1}, []record.Entry{at(record.Main, ""), said("orphan")}, []string{"deletionPolicy is delete from now on"}},
		"a Draft was made by it":   {"the newest revision counts", wanted(policyOf("orphan")), both, []record.Entry{at(record.Main, ""), {Place: record.Open, Workspace: workspace(2), DeletionPolicy: "orphan"}}, nil},
		"another Draft":            {"it is not there", wanted(policyOf("orphan")), []*Revision{v1}, []record.Entry{at(record.Main, ""), {Place: record.Open, Workspace: workspace(3), DeletionPolicy: "orphan"}}, []string{"deletionPolicy is orphan from now on"}},
		"a merged Draft":           {"its entry is that of an open one yet", wanted(policyOf("orphan")), []*Revision{v1}, []record.Entry{at(record.Open, "orphan")}, nil},
		"labels":                   {"", wanted(labelled("two")), []*Revision{v1}, []record.Entry{at(record.Main, "")}, []string{"its labels have changed: Drafts get them when they are created"}},
		"nothing is known, delete": {"the Kptfile stands in", wanted(), []*Revision{v1}, nil, nil},
		"nothing is known, orphan": {"nothing that is to stay goes", wanted(policyOf("orphan")), []*Revision{v1}, nil, []string{"deletionPolicy is orphan from now on"}},
		"released, and ours again": {"a release counts for what was released", wanted(), []*Revision{v1}, []record.Entry{at(record.Main, ""), {Place: record.Variant, Owner: record.Nobody, DeletionPolicy: "orphan"}}, nil},
		"nothing is there":         {"its Draft says it", wanted(policyOf("orphan")), nil, nil, nil},
		"a Draft merged, and held": {"it is not tagged", wanted(policyOf("orphan")), nil, []record.Entry{at(record.Open, "")}, []string{"deletionPolicy is orphan from now on"}},
		"its hold was recorded":    {"with the policy of then", wanted(policyOf("orphan")), nil, []record.Entry{at(record.Open, "orphan"), said("")}, []string{"deletionPolicy is orphan from now on"}},
		"merged, as it was made":   {"", wanted(policyOf("orphan")), nil, []record.Entry{at(record.Open, "orphan")}, nil},
		"its tags have gone":       {"it stands on the branch", wanted(), nil, []record.Entry{at(record.Main, "orphan")}, []string{"deletionPolicy is delete from now on"}},
		"only its builds known":    {"nothing was made", wanted(policyOf("orphan")), nil, []record.Entry{at(record.Built, "")}, nil},
		"another's merged Draft":   {"", wanted(policyOf("orphan")), nil, []record.Entry{{Path: webPath, Place: record.Open, Owner: "other/default/web"}}, nil},
		"another manager's":        {"", wanted(policyOf("orphan")), []*Revision{publishedOf(1, 9, by("other/default/web"))}, nil, nil},
		"squashed, unrecorded":     {"nobody reads the Kptfile once it is not wanted", wanted(), []*Revision{squashed}, nil, untold},
		"merged, unrecorded":       {"nobody looks behind its commit then", wanted(), []*Revision{behind}, nil, untold},
		"squashed, of before":      {"the record is of another commit", wanted(), []*Revision{squashed}, []record.Entry{at(record.Main, ""), past(publishedOf(1, 7))}, untold},
		"squashed, recorded":       {"", wanted(), []*Revision{squashed}, []record.Entry{past(squashed)}, nil},
		"squashed, said":           {"", wanted(), []*Revision{squashed}, []record.Entry{said("")}, nil},
		"squashed, then released":  {"it is ours by its Kptfile", wanted(), []*Revision{squashed}, []record.Entry{{Place: record.Variant, Owner: record.Nobody}}, untold},
		"a Draft upon it":          {"its commit tells", wanted(), []*Revision{draftOf(2, 10), squashed}, nil, nil},
		"a lock":                   {"it has no policy", webLock(lockOf(), nil, nil), []*Revision{v1}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := webPackage(tags(tag(1, 9)), c.revisions...)
			p.Entries = c.entries
			repo := repository(p)
			if _, ok := Restated(fleet, c.want, repo, p, nil); ok {
				t.Error("recorded where no record is kept")
			}
			repo.Records = true
			got, ok := Restated(fleet, c.want, repo, p, nil)
			if ok != (c.says != nil) {
				t.Fatalf("%s: %v", c.why, got)
			}
			if !ok {
				return
			}
			if d := cmp.Diff(c.says, got.Reasons); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.why, d)
			}
			e := got.Decision.(Record).Entry
			if lost := got.Decision.(Record).Lost; lost != (c.says[0] == untold[0]) {
				t.Errorf("lost: %t", lost)
			}
			want := c.want.Said()
			want.Path, want.Place, want.Owner = webPath, record.Variant, webOwner
			if d := cmp.Diff(want, e); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			p.Entries = append(c.entries[:len(c.entries):len(c.entries)], e)
			if _, again := Restated(fleet, c.want, repo, p, nil); again && len(c.entries) < 2 {
				t.Error("recorded twice")
			}
		})
	}
}

// A new Draft says the policy itself, whatever became of one before it.
func TestNewDraftRestates(t *testing.T) {
	p := webPackage(nil)
	p.Entries = []record.Entry{{Path: webPath, Place: record.Open, Workspace: workspace(1), Owner: webOwner}}
	repo := repository(p)
	repo.Records = true
	if got, ok := Restated(fleet, wanted(policyOf("orphan")), repo, p, &Draft{}); ok {
		t.Errorf("%v", got)
	}
}

// A Draft whose history a person replaced is nobody's until this run takes it over.
func TestAdoptedDraftRestates(t *testing.T) {
	draft := draftOf(1, 9, by(""))
	p := webPackage(nil, draft)
	p.Entries = []record.Entry{{Path: webPath, Place: record.Open, Workspace: workspace(1), Owner: webOwner}}
	repo := repository(p)
	repo.Records = true
	if got, ok := Restated(fleet, wanted(policyOf("orphan")), repo, p, nil); ok {
		t.Errorf("nobody's: %v", got)
	}
	if got, ok := Restated(fleet, wanted(policyOf("orphan")), repo, p, &Draft{As: ActionUpdate, From: draft}); !ok || got.Decision.(Record).Entry.DeletionPolicy != "orphan" {
		t.Errorf("taken over: %v", got)
	}
}

// Recording a package whose tag was moved would confirm the tag.
func TestMovedTagIsNotRestated(t *testing.T) {
	v1 := publishedOf(1, 9)
	p := webPackage(tags(tag(1, 9)), v1)
	p.Numbers = []Numbered{{Number: 1, Commit: Hash{8}}}
	repo := repository(p)
	repo.Records = true
	v1.Approved = false
	if p.misplaced() == nil {
		t.Fatal("the tag is in its place")
	}
	if got, ok := Restated(fleet, wanted(policyOf("orphan")), repo, p, nil); ok {
		t.Errorf("%v", got)
	}
}

// The tag of a merge is recorded as it is made: there is nothing to say beside it.
func TestTagIsTold(t *testing.T) {
	p := webPackage(tags(tag(1, 9)), publishedOf(1, 9))
	p.Branch = &Branch{Tree: Hash{12}, Came: Hash{11}, Owner: webOwner}
	repo := repository(p)
	repo.Records = true
	next := p.with(Tag{Ref: tag(2, 11).Ref.Name, Commit: Hash{11}}, 2, repo)
	if got, ok := Restated(fleet, wanted(), repo, next, nil); ok || next.Latest.Owner != webOwner {
		t.Errorf("%v of %q", got, next.Latest.Owner)
	}
}

// A policy that changed alone makes no Draft, by whichever it was made; with
// anything else that changed it does.
func TestPolicyMakesNoDraft(t *testing.T) {
	policies := []v1alpha1.DeletionPolicy{"", v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan}
	partsOf := func(w *Want) Parts {
		p := parts()
		var err error
		if p.Spec, err = SpecDigest(w.Variant(), webOwner, w.Set, w.MadeFor); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, then := range policies {
		for _, now := range policies {
			draft := draftOf(1, 10, recorded(partsOf(wanted(policyOf(then))).Inputs(nil)))
			q := asked(webPackage(nil, draft), draft)
			q.Want, q.Owner = wanted(policyOf(now)), webOwner
			q.Parts = partsOf(q.Want)
			if _, builds := Intend(q).(Build); builds != (then != now) {
				t.Errorf("%q to %q, where no record tells: a Draft is %t", then, now, builds)
			}
			q.Repo.Records = true
			if _, rules := Intend(q).(Rule); !rules {
				t.Errorf("%q to %q makes a Draft", then, now)
			}
			q.Parts.UpstreamTree = "newer"
			if _, builds := Intend(q).(Build); !builds {
				t.Errorf("%q to %q and another upstream make no Draft", then, now)
			}
		}
	}
}

func TestBelieve(t *testing.T) {
	past := record.Entry{Place: record.Past, Revision: 1, Commit: Hash{9}.String(), Owner: webOwner}
	main := past
	main.Place = record.Main
	released := record.Entry{Place: record.Variant, Commit: Hash{9}.String(), Owner: record.Nobody}
	stale := released
	stale.Commit = Hash{8}.String()
	squashed := func(r *Revision) { r.Machine, r.Owner = nil, "" }
	for name, c := range map[string]struct {
		why     string
		latest  *Revision
		manager string
		entries []record.Entry
		want    string
	}{
		"nothing is said":       {"", publishedOf(1, 9), "fleet", nil, webOwner},
		"what is known anyway":  {"", publishedOf(1, 9), "fleet", []record.Entry{main, past}, webOwner},
		"a squash":              {"no commit tells", publishedOf(1, 9, squashed), "fleet", []record.Entry{main, past}, webOwner},
		"a squash, another's":   {"the commit is another one", publishedOf(1, 7, squashed), "fleet", []record.Entry{main, past}, ""},
		"a package of theirs":   {"no entry is about the revision", publishedOf(1, 7, squashed), "fleet", []record.Entry{{Place: record.Variant, Owner: webOwner}}, webOwner},
		"one of another's":      {"", publishedOf(1, 7, squashed), "other", []record.Entry{{Place: record.Variant, Owner: webOwner}}, ""},
		"said, then given up":   {"commits tell", publishedOf(1, 9, by("")), "fleet", []record.Entry{{Place: record.Variant, Owner: webOwner}}, ""},
		"given up by a person":  {"commits tell", publishedOf(1, 9, by("")), "fleet", []record.Entry{past}, ""},
		"released":              {"", publishedOf(1, 9), "fleet", []record.Entry{main, past, released}, ""},
		"a squash, released":    {"", publishedOf(1, 9, squashed), "fleet", []record.Entry{past, released}, ""},
		"released before":       {"it was taken over since", publishedOf(1, 9), "fleet", []record.Entry{stale}, webOwner},
		"released by another":   {"it is not theirs", publishedOf(1, 9), "other", []record.Entry{released}, webOwner},
		"a manager's beginning": {"it is another manager", publishedOf(1, 9), "fle", []record.Entry{released}, webOwner},
	} {
		p := webPackage(tags(tag(1, 9)), c.latest)
		p.Believe(c.manager, c.entries)
		if p.Latest.Owner != c.want {
			t.Errorf("%s (%s): owner %q, want %q", name, c.why, p.Latest.Owner, c.want)
		}
	}
	webPackage(nil, draftOf(1, 10)).Believe("fleet", []record.Entry{released}) // nothing is Published
}

// What a Draft was made of that a forge squashed the record says: commits lead to the
// one before.
func TestBelieveSquashed(t *testing.T) {
	entry := record.Entry{
		Place: record.Past, Revision: 3, Commit: Hash{9}.String(), Owner: webOwner, Hydrated: Hash{70}.String(),
		Reverts: "v1 by Ann", Inputs: "sha256:ff upstream=ee published=v2",
	}
	later, short := entry, entry
	later.Commit, short.Inputs = Hash{8}.String(), "sha256:ff"
	behind := func(r *Revision) { r.Machine.Commit = Hash{7} }
	for name, c := range map[string]struct {
		latest *Revision
		entry  record.Entry
		told   bool
	}{
		"squashed":              {publishedOf(3, 9, behind), entry, true},
		"squashed, all others":  {publishedOf(3, 9, func(r *Revision) { r.Machine, r.Owner = nil, "" }), entry, true},
		"of another commit":     {publishedOf(3, 9, behind), later, false},
		"of the machine's own":  {publishedOf(3, 9), entry, false},
		"the digest alone says": {publishedOf(3, 9, behind), short, false},
	} {
		before := c.latest.Machine
		p := webPackage(tags(tag(3, 9)), c.latest)
		p.Believe("fleet", []record.Entry{c.entry})
		l := p.Latest
		told := l.Reverts() == "v1 by Ann" && l.Inputs == ParseInputs(entry.Inputs) && l.Machine.Hydrated == Hash{70}
		if told != c.told || !told && l.Machine != before || l.Owner != webOwner {
			t.Errorf("%s: %+v of %q", name, l.Machine, l.Owner)
		}
		if before != nil && before.Reverts != "" {
			t.Errorf("%s: what was given was changed", name)
		}
	}
}

func TestReleaseSaid(t *testing.T) {
	if _, published := (Release{draftOf(1, 10)}).Said(webPath); published {
		t.Error("a Draft's own commit says it")
	}
	d := Release{publishedOf(1, 9)}
	e, published := d.Said(webPath)
	if want := (record.Entry{Path: webPath, Place: record.Variant, Owner: record.Nobody, Commit: Hash{9}.String()}); !published || !cmp.Equal(e, want) {
		t.Errorf("%+v", e)
	}
	if m := d.Moves(Hash{}); len(m) > 0 {
		t.Errorf("refs move: %v", m)
	}
}

// The tag of a merged Draft is made by the run that acts on the package.
func TestMoving(t *testing.T) {
	landed := ruled(Tag{Ref: "refs/tags/apps/web/v1", Commit: Hash{9}}, "merged")
	o := orphan(webPackage(tags(tag(1, 9)), publishedOf(1, 9)), Ownership{}, publishedOf(1, 9))
	o.Landed = &landed
	var list []*Removed
	for _, m := range Remove(o) {
		list = append(list, &Removed{o, m})
	}
	actions := func(list []*Removed) (out []Action) {
		for _, r := range list {
			out = append(out, r.Decision.Action())
		}
		return out
	}
	if d := cmp.Diff([]Action{ActionTag, ActionRetire}, actions(Moving(slices.Clone(list)))); d != "" {
		t.Error(d)
	}
	Pruning{MaxDelete: -1}.Settle(list, nil, nil)
	if d := cmp.Diff([]Action{ActionKeep}, actions(Moving(list))); d != "" {
		t.Error(d)
	}
}

// Who may push to a Draft's branch writes trailers under any name.
func TestDoubtTrailers(t *testing.T) {
	hydrated := draftOf(1, 10)
	entry := func(place record.Place, workspace string, commit byte) []record.Entry {
		return []record.Entry{{Path: webPath, Place: place, Workspace: workspace, Commit: Hash{commit}.String()}}
	}
	for name, c := range map[string]struct {
		r       *Revision
		entries []record.Entry
		ours    bool
	}{
		"known":           {draftOf(1, 10), entry(record.Open, "packagevariant-1", 10), true},
		"another commit":  {draftOf(1, 10), entry(record.Open, "packagevariant-1", 11), false},
		"another Draft":   {draftOf(1, 10), entry(record.Open, "packagevariant-2", 10), false},
		"built upon":      {hydrated, entry(record.Built, "packagevariant-1", 10), false},
		"without a base":  {draftOf(1, 10), entry(record.Built, "packagevariant-1", 10), true},
		"nothing known":   {draftOf(1, 10), nil, false},
		"another manager": {draftOf(1, 10, by("team/default/web")), nil, true},
		"Published":       {publishedOf(1, 10), nil, true},
	} {
		c.r.Machine = &Machine{Commit: Hash{10}, Ours: true}
		if c.r == hydrated {
			c.r.Machine.Hydrated = Hash{1}
		}
		p := webPackage(nil, c.r)
		p.Entries = c.entries
		if p.Doubt(string(fleet)); c.r.Machine.Ours != c.ours {
			t.Errorf("%s: %t", name, c.r.Machine.Ours)
		}
	}
	p := webPackage(nil, draftOf(1, 10, func(r *Revision) { r.Machine = nil }))
	p.Doubt(string(fleet))

	lock := NewPackage("clusters/"+depend.LockPackage, nil, draftOf(1, 10))
	lock.Revisions[0].Machine = &Machine{Commit: Hash{10}, Ours: true}
	if lock.Doubt(string(fleet)); !lock.Revisions[0].Machine.Ours {
		t.Error("a lock of which no commit names what the machine made")
	}
	lock.Revisions[0].Machine.Hydrated = Hash{1}
	if lock.Doubt(string(fleet)); lock.Revisions[0].Machine.Ours {
		t.Error("a lock that the record does not know")
	}
}

// What people set back stays so in whosever record it stands, of that very commit.
func TestHeed(t *testing.T) {
	e := record.Entry{Place: record.Past, Revision: 2, Commit: publishedOf(2, 9).Ref.Commit.String(), Hydrated: Hash{7}.String(), Reverts: "v1 by Ann", Inputs: "sha256:ff upstream=ee"}
	for want, change := range map[string]func(*record.Entry){
		"v1 by Ann": func(*record.Entry) {},
		"":          func(e *record.Entry) { e.Commit = Hash{3}.String() },
	} {
		p, e := webPackage(tags(tag(2, 9)), publishedOf(2, 9, func(r *Revision) { r.Machine.Commit = Hash{7} })), e
		change(&e)
		if p.Heed([]record.Entry{e}); p.Latest.Reverts() != want {
			t.Errorf("%q, want %q", p.Latest.Reverts(), want)
		}
	}
	NewPackage(webPath, nil).Heed([]record.Entry{e})
}

// What people said stands until it is taken off: one word of theirs is enough.
func TestSpoken(t *testing.T) {
	for name, c := range map[string]struct {
		entry record.Entry
		want  bool
	}{
		"nothing":          {record.Entry{Place: record.Variant}, false},
		"a hold":           {record.Entry{Place: record.Variant, Hold: &record.Word{}}, true},
		"a discard":        {record.Entry{Place: record.Variant, Discarded: &record.Word{}}, true},
		"of another place": {record.Entry{Place: record.Main, Hold: &record.Word{}}, false},
		"taken off":        {record.Entry{Place: record.Variant, Owner: record.Nobody, Hold: &record.Word{}}, false},
	} {
		p := webPackage(nil)
		p.Entries = []record.Entry{{Place: record.Main}, c.entry}
		if got := p.Spoken(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
