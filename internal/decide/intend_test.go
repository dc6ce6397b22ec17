package decide

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/resolver"
)

// asked is the question about a revision of web.
func asked(p *Package, from *Revision, changes ...func(*Question)) Question {
	q := Question{Want: wanted(), Work: Work{From: from}, Repo: repository(p), Package: p, Parts: parts(), Source: "catalog/web@v1", Unfilled: []string{"nothing fills it"}}
	if from != nil && from.Number == 0 {
		q.Since = p.Tagged(from.Since)
	}
	for _, c := range changes {
		c(&q)
	}
	return q
}

func upgraded(q *Question) { q.Parts.UpstreamTree = "newer" }
func invoked(q *Question)  { q.Invoked = true }
func adopted(q *Question)  { q.Adopt = true }

func valued(values string) func(*Question) {
	return func(q *Question) { q.Parts.Values = values }
}

// knows says that every build came to nothing before.
func knows(q *Question) {
	q.Fruitless, q.Unkept = func(string) bool { return true }, true
}

// gave says that a build of these inputs upon the Draft gave what is there.
func gave(in Inputs) func(*Question) {
	return func(q *Question) { q.Last, q.Gave = &Built{Commit: q.From.Ref.Commit, Inputs: in}, true }
}

func locking(now resolver.Lock, newest, placed *resolver.Lock) func(*Question) {
	return func(q *Question) {
		q.Want, q.Source, q.Parts = webLock(now, newest, placed), "", Parts{UpstreamTree: "digest of the lock"}
	}
}

func TestIntend(t *testing.T) {
	v1, v2 := tag(1, 9), tag(2, 8)
	now, newer, marked := parts(), parts(), parts()
	newer.UpstreamTree, marked.Points = "newer", "0123,v1/A/a"
	withValues := func(p Parts, values string) Parts { p.Values = values; return p }
	lockParts := Parts{UpstreamTree: "digest of the lock"}
	key := func(in Inputs, commit byte) string {
		return Digest("unchanged", in.Digest, Hash{commit}.String(), webPath)
	}
	build := func(as Action, in Inputs, commit byte, reasons ...string) Build {
		b := Build{As: as, Reasons: reasons, Inputs: in}
		if commit != 0 {
			b.Key = key(in, commit)
		}
		return b
	}
	nothing := Rule{Ruling{Decision: Nothing{}, Warnings: []string{"nothing fills it"}}}
	const changed = "upstream changed: now catalog/web@v1"

	first := webPackage(nil)
	draft := draftOf(1, 10, recorded(now.Inputs(nil)))
	inDraft := webPackage(nil, draft)
	v1rev := publishedOf(1, 9, recorded(now.Inputs(nil)))
	inV1 := webPackage(tags(v1), v1rev)
	v2rev := publishedOf(2, 8, recorded(now.Inputs(&v1)))
	inV2 := webPackage(tags(v1, v2), v2rev)
	draft2 := draftOf(2, 10, since("v1"), recorded(now.Inputs(&v1)))
	inDraft2 := webPackage(tags(v1), draft2, v1rev)
	behind := webPackage(tags(v1, v2), draft2, v2rev)
	before := webPackage(tags(v1), draft, v1rev)
	withV := draftOf(1, 10, recorded(withValues(now, "0123").Inputs(nil)))
	inWithV := webPackage(nil, withV)
	inDoomed := webPackage(tags(doomedTag(1, 9)), doomedOf(1, 9))
	byHand := draftOf(1, 10, recorded(now.Inputs(nil)), edited)
	handValues := draftOf(1, 10, recorded(withValues(now, "0123").Inputs(nil)), edited)
	handV1 := publishedOf(1, 9, recorded(now.Inputs(nil)), edited)
	handReason := "edited by hand (" + byHand.Ref.Commit.String()[:7] + "): rendered and validated"
	old, answer := lockOf("web", "1.0.0"), lockOf("web", "1.1.0")
	lockDraft := draftOf(1, 10, recorded(lockParts.Inputs(nil)))
	inLockDraft := webPackage(nil, lockDraft)
	lockV1 := publishedOf(1, 9, recorded(lockParts.Inputs(nil)))
	inLockV1 := webPackage(tags(v1), lockV1)

	dropped := func(q *Question) { q.Drop = []string{"Deployment web spec.replicas", "README.md"} }
	const without = "without the edit by hand of Deployment web spec.replicas, of README.md, as was asked for"
	cases := map[string]struct {
		reason string
		q      Question
		want   Intent
	}{
		"new": {"nothing is there", asked(first, nil), build(ActionCreate, now.Inputs(nil), 0, "new: from catalog/web@v1")},
		"new, needed": {
			"people see by whom, at most three",
			asked(first, nil, func(q *Question) { q.Needs = []string{"a", "b", "c", "d"} }),
			build(ActionCreate, now.Inputs(nil), 0, "new: from catalog/web@v1, needed by a, b, c, and 1 more"),
		},
		"new, its values in doubt": {
			"none were trusted before", asked(first, nil, valued("0123"), func(q *Question) { q.Doubt = "the catalogue" }),
			build(ActionCreate, withValues(now, "0123").Inputs(nil), 0, "new: from catalog/web@v1"),
		},
		"an added point": {
			"what it gets is beside the digest",
			asked(inDraft, draft, func(q *Question) { q.Parts = marked }),
			Build{
				As: ActionUpdate, Reasons: []string{"context objects changed that are injected where people asked for it"}, Inputs: marked.Inputs(nil),
				Key: Digest("unchanged", now.Inputs(nil).Digest, draft.Ref.Commit.String(), webPath, marked.Points),
			},
		},
		"up to date":            {"the inputs are those recorded", asked(inDraft, draft), nothing},
		"up to date, Published": {"what it started from is no change", asked(inV2, v2rev), nothing},
		"changed":               {"", asked(inDraft, draft, upgraded), build(ActionUpdate, newer.Inputs(nil), 10, changed)},
		"changed since v1":      {"a new Draft, which starts from v1", asked(inV1, v1rev, upgraded), build(ActionRedraft, newer.Inputs(&v1), 9, changed)},
		"changed since v2":      {"a new Draft, which starts from the newest", asked(inV2, v2rev, upgraded), build(ActionRedraft, newer.Inputs(&v2), 8, changed)},
		"a Draft after v1":      {"nothing was published since", asked(inDraft2, draft2), nothing},
		"changed, after v1":     {"it still starts from v1", asked(inDraft2, draft2, upgraded), build(ActionUpdate, newer.Inputs(&v1), 10, changed)},
		"behind":                {"v2 came while the Draft was open", asked(behind, draft2), build(ActionUpdate, now.Inputs(&v2), 10, "v2 was published since")},
		"behind a first":        {"the Draft started from nothing", asked(before, draft), build(ActionUpdate, now.Inputs(&v1), 10, "v1 was published since")},
		"behind and changed":    {"the change is told", asked(behind, draft2, upgraded), build(ActionUpdate, newer.Inputs(&v2), 10, changed)},
		"invoked":               {"it was asked for", asked(inDraft, draft, invoked), build(ActionUpdate, now.Inputs(nil), 10, invokedReason)},
		"invoked, Published":    {"it was asked for", asked(inV1, v1rev, invoked), build(ActionRedraft, now.Inputs(&v1), 9, invokedReason)},
		"an edit dropped":       {"it was asked for, whatever came of this before", asked(inV1, v1rev, dropped, knows), Build{As: ActionRedraft, Inputs: now.Inputs(&v1), Reasons: []string{without}}},
		"dropped, of a Draft":   {"that goes on", asked(inDraft, draft, dropped), Build{As: ActionUpdate, Inputs: now.Inputs(nil), Reasons: []string{without}}},
		"dropped and changed":   {"both are told", asked(inDraft, draft, upgraded, dropped), Build{As: ActionUpdate, Inputs: newer.Inputs(nil), Reasons: []string{changed, without}}},
		"adopted":               {"from a Draft", asked(inDraft, draft, adopted), build(ActionUpdate, now.Inputs(nil), 10, "adopted")},
		"adopted, Published":    {"from the latest", asked(inV1, v1rev, adopted), build(ActionRedraft, now.Inputs(&v1), 9, "adopted from v1")},
		"adopted, to be deleted": {
			"a person said that it goes", asked(inDoomed, doomedOf(1, 9), adopted),
			Rule{ruled(Wait{}, "v1 is proposed for deletion although the variant is wanted: reject the deletion")},
		},
		"its own, to be deleted": {
			"the proposal is taken back elsewhere", asked(inDoomed, doomedOf(1, 9, recorded(now.Inputs(nil)))), nothing,
		},

		"fruitless":            {"the same build gave what is there", asked(inDraft, draft, upgraded, knows), nothing},
		"edited":               {"what a person wrote is rendered and validated", asked(webPackage(nil, byHand), byHand), build(ActionUpdate, now.Inputs(nil), 10, handReason)},
		"edited, proved":       {"a build gave what is there", asked(webPackage(nil, byHand), byHand, gave(now.Inputs(nil))), nothing},
		"edited, recorded":     {"the record alone says that a build gave what is there", asked(webPackage(nil, byHand), byHand, gave(now.Inputs(nil)), func(q *Question) { q.Gave = false }), build(ActionUpdate, now.Inputs(nil), 10, "edited by hand (0a00000): rendered and validated")},
		"edited, surveyed":     {"the same, where nothing is built", asked(webPackage(nil, byHand), byHand, gave(now.Inputs(nil)), func(q *Question) { q.Gave, q.Surveyed = false, true }), nothing},
		"edited, unrendered":   {"nothing can be told of it", asked(webPackage(nil, byHand), byHand, func(q *Question) { q.Unrendered = true }), nothing},
		"edited, alone":        {"its values cannot be made", asked(webPackage(nil, handValues), handValues, valued("0123"), func(q *Question) { q.Alone = true }), nothing},
		"edited, Published":    {"that is for another rule", asked(webPackage(tags(v1), handV1), handV1), nothing},
		"proved":               {"the record says so, and this machine", asked(inDraft, draft, upgraded, gave(newer.Inputs(nil))), nothing},
		"proved, unrendered":   {"what was not rendered proves nothing", asked(inDraft, draft, upgraded, gave(newer.Inputs(nil)), func(q *Question) { q.Unrendered = true }), build(ActionUpdate, newer.Inputs(nil), 10, changed)},
		"proved, of another":   {"the inputs were others", asked(inDraft, draft, upgraded, gave(now.Inputs(nil))), build(ActionUpdate, newer.Inputs(nil), 10, changed)},
		"proved, invoked":      {"it was asked for all the same", asked(inDraft, draft, upgraded, gave(newer.Inputs(nil)), invoked), build(ActionUpdate, newer.Inputs(nil), 10, changed)},
		"proved, behind":       {"the Draft has to start from the newest", asked(behind, draft2, gave(now.Inputs(&v2))), build(ActionUpdate, now.Inputs(&v2), 10, "v2 was published since")},
		"fruitless here alone": {"the record is to say so too", asked(inDraft, draft, upgraded, knows, func(q *Question) { q.Unkept = false }), build(ActionUpdate, newer.Inputs(nil), 10, changed)},
		"fruitless, Published": {"the same build gave what is there", asked(inV1, v1rev, upgraded, knows), nothing},
		"fruitless, invoked":   {"it was asked for all the same", asked(inDraft, draft, upgraded, knows, invoked), build(ActionUpdate, newer.Inputs(nil), 10, changed)},
		"fruitless, behind":    {"the Draft has to start from the newest", asked(behind, draft2, knows), build(ActionUpdate, now.Inputs(&v2), 10, "v2 was published since")},
		"fruitless, by its key": {
			"another build is not known", asked(inDraft, draft, upgraded, func(q *Question) {
				q.Fruitless = func(k string) bool { return k == key(now.Inputs(nil), 10) }
			}), build(ActionUpdate, newer.Inputs(nil), 10, changed),
		},
		"new, nothing known": {"what is not there cannot be the same", asked(first, nil, knows), build(ActionCreate, now.Inputs(nil), 0, "new: from catalog/web@v1")},

		"values in doubt": {
			"they would change", asked(inWithV, withV, valued("4567"), func(q *Question) { q.Doubt = "1 part of the catalogue could not be read" }),
			Rule{failed(Stalled("1 part of the catalogue could not be read, so that its values, which would change, are not trusted"))},
		},
		"other changes in doubt": {
			"the values stay", asked(inWithV, withV, valued("0123"), upgraded, func(q *Question) { q.Doubt = "x" }),
			build(ActionUpdate, withValues(newer, "0123").Inputs(nil), 10, changed),
		},
		"values change": {"trusted", asked(inWithV, withV, valued("4567")), build(ActionUpdate, withValues(now, "4567").Inputs(nil), 10, "values of other packages changed")},
		"alone": {
			"what is built without its values is not what a whole run builds", asked(inWithV, withV, valued("0123"), upgraded, func(q *Question) { q.Alone = true }),
			build(ActionUpdate, withValues(newer, "left").Inputs(nil), 10, changed),
		},
		"alone, without values": {"", asked(inDraft, draft, upgraded, func(q *Question) { q.Alone = true }), build(ActionUpdate, newer.Inputs(nil), 10, changed)},
		"alone, new":            {"", asked(first, nil, func(q *Question) { q.Alone = true }), build(ActionCreate, now.Inputs(nil), 0, "new: from catalog/web@v1")},

		"a lock, new": {
			"it tells what comes", asked(first, nil, locking(answer, nil, nil)),
			build(ActionCreate, lockParts.Inputs(nil), 0, "web comes: web 1.1.0, asked for"),
		},
		"a lock, changed": {
			"compared with the Draft", asked(inLockDraft, lockDraft, locking(answer, &old, nil), func(q *Question) { q.Parts.UpstreamTree = "new" }),
			build(ActionUpdate, Parts{UpstreamTree: "new"}.Inputs(nil), 10, "web: web 1.1.0 instead of 1.0.0"),
		},
		"a lock, edited": {
			"it was made for this answer, and has another by now", asked(inLockDraft, lockDraft, locking(answer, &old, nil)),
			build(ActionUpdate, lockParts.Inputs(nil), 10, "web: web 1.1.0 instead of 1.0.0"),
		},
		"a lock, as made":           {"", asked(inLockDraft, lockDraft, locking(answer, &answer, nil)), nothing},
		"a lock, edited, Published": {"what was approved is a person's", asked(inLockV1, lockV1, locking(answer, &old, &old)), nothing},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Intend(c.q), unseen, errText); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

// A Draft whose content stands on the registered branch was approved on a forge.
func TestLanded(t *testing.T) {
	const head, draft, v1, came = 100, 10, 9, 77
	trees := func(pairs ...byte) []Folder {
		out := []Folder{}
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, Folder{Hash{pairs[i]}, Hash{pairs[i+1]}})
		}
		return out
	}
	machine := &Machine{Commit: Hash{12}, Variant: webOwner, Inputs: parts().Inputs(nil).String()}
	merged := &Branch{Tree: Hash{50}, Came: Hash{came}, Owner: webOwner, Drafted: true, Workspace: "packagevariant-4", Merged: machine}
	with := func(change func(*Branch)) *Branch {
		b := *merged
		change(&b)
		return &b
	}
	open := draftOf(1, draft)
	for name, c := range map[string]struct {
		reason string
		trees  []Folder
		v1     bool
		from   *Revision // nil for none
		branch *Branch
		want   string // "" for nothing
		commit byte
	}{
		"merged, first":          {"becomes v1", trees(head, 50, draft, 50), false, open, nil, "v1", draft},
		"merged after v1":        {"becomes v2", trees(head, 50, draft, 50, v1, 40), true, open, nil, "v2", draft},
		"proposed and merged":    {"becomes v1", trees(head, 50, draft, 50), false, proposedOf(1, draft), nil, "v1", draft},
		"squashed":               {"the tag is on the branch", trees(head, 50, draft, 50, v1, 40), true, open, merged, "v2", came},
		"squashed, no trailers":  {"the Draft says that it is ours", trees(head, 50, draft, 50, v1, 40), true, open, with(func(b *Branch) { b.Drafted = false }), "v2", came},
		"its branch is gone":     {"the branch tells", trees(head, 50, v1, 40), true, nil, merged, "v2", came},
		"its branch is gone, v1": {"the Kptfile tells", trees(head, 50), false, nil, merged, "v1", came},
		"renamed":                {"a variant's earlier name", trees(head, 50, v1, 40), true, nil, with(func(b *Branch) { b.Owner = "fleet/default/old" }), "v2", came},
		"a copy":                 {"another variant's package was copied", trees(head, 50), false, nil, with(func(b *Branch) { b.Owner = "fleet/default/old" }), "", 0},
		"another manager's Draft": {"it was merged and overtaken", trees(head, 50, v1, 40), true, nil, with(func(b *Branch) {
			b.Owner, b.Drafted, b.Landed, b.LandedTree = "other/default/web", false, Hash{66}, Hash{51}
		}), "", 0},
		"another manager's":       {"", trees(head, 50, v1, 40), true, nil, with(func(b *Branch) { b.Owner = "other/default/web" }), "", 0},
		"changed on its request":  {"what the head of a request names was merged with it", trees(head, 50, draft, 51), false, open, with(func(b *Branch) { b.Draft = open }), "v1", came},
		"merged with a change":    {"what has the very variant's name was its Draft, which goes on", trees(head, 50, draft, 51), false, nil, with(func(b *Branch) { b.Drafted = false }), "v1", came},
		"a hotfix":                {"no Draft was merged", trees(head, 50, v1, 40), true, nil, with(func(b *Branch) { b.Drafted = false }), "", 0},
		"not merged":              {"the branch holds something else", trees(head, 50, draft, 51), false, open, nil, "", 0},
		"the branch has v1":       {"a Draft with the same content says nothing", trees(head, 50, draft, 50, v1, 50), true, open, nil, "", 0},
		"nothing on the branch":   {"", trees(head, 0, draft, 0), false, open, nil, "", 0},
		"the branch was not read": {"nothing is known", trees(draft, 50), false, open, nil, "", 0},
		"the Draft was not read":  {"nothing is known", trees(head, 50), false, open, nil, "", 0},
		"v1 was not read":         {"nothing is known", trees(head, 50, draft, 50), true, open, nil, "", 0},
		"begun at main":           {"a branch that a person began there", trees(head, 50, draft, 50, v1, 40), true, draftOf(1, draft, func(r *Revision) { r.Machine = publishedOf(1, v1).Machine }), nil, "", 0},
		"made upon a hotfix":      {"which won over it", trees(head, 50, draft, 50, v1, 40), true, draftOf(1, draft, func(r *Revision) { r.Inputs.Main = (&Branch{Tree: Hash{50}}).Main() }), nil, "", 0},
		"another's Draft":         {"adoption comes first", trees(head, 50, draft, 50), false, draftOf(1, draft, by("x/default/web")), nil, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var revisions []*Revision
			if c.from != nil {
				revisions = append(revisions, c.from)
			}
			var published []Published
			if c.v1 {
				published, revisions = tags(tag(1, v1)), append(revisions, publishedOf(1, v1))
			}
			p := webPackage(published, revisions...)
			p.Trees, p.Branch = c.trees, c.branch
			ruling, next, ok := Landed(fleet, wanted(), repository(p), p)
			if ok != (c.want != "") {
				t.Fatalf("%v: %s", ok, c.reason)
			}
			if !ok {
				return
			}
			tag := Tag{Ref: "refs/tags/apps/web/" + c.want, Commit: Hash{c.commit}}
			for _, r := range revisions {
				if r.Phase.Open() && c.from != nil {
					tag.Draft = c.from
				}
			}
			want := Ruling{Decision: tag, Reasons: []string{"merged into main by other means: becomes " + c.want}}
			if d := cmp.Diff(want, ruling, unseen); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
			if next.Branch != nil || next.Open() != nil || next.Latest.Ref.Commit != tag.Commit || RevisionName(next.Latest.Number) != c.want || next.Newest().Ref.Name != tag.Ref {
				t.Errorf("the package once it is tagged: %+v %+v", next, next.Latest)
			}
			if next.Latest.Workspace == "" || next.Latest.Owner == "" || next.Latest.Machine == nil {
				t.Errorf("what became of the Draft: %+v", next.Latest)
			}
			if there, _ := next.Tree(tag.Commit); !slices.Contains(c.trees, Folder{Hash{head}, there}) {
				t.Errorf("its folder: %s", there)
			}
		})
	}
}

// A Draft whose branch a person renamed has, once it is merged, the workspace that its commits
// name: that of the Published revision is read from them.
func TestLandedUnderAnotherName(t *testing.T) {
	renamed := draftOf(1, 10, func(r *Revision) { r.Workspace, r.Called = "ours", "packagevariant-1" })
	p := webPackage(nil, renamed)
	p.Trees = []Folder{{Hash{100}, Hash{50}}, {Hash{10}, Hash{50}}}
	_, next, ok := Landed(fleet, wanted(), repository(p), p)
	if !ok || next.Latest.Workspace != "packagevariant-1" {
		t.Errorf("%v %+v", ok, next)
	}
}

// Nothing is tagged upon a revision whose tag is not where it was Published.
func TestLandedBesideAMovedTag(t *testing.T) {
	for name, c := range map[string]struct {
		newest Numbered
		want   bool
	}{
		"where it was":     {Numbered{1, Hash{9}, false}, true},
		"moved to another": {Numbered{1, Hash{8}, false}, false},
	} {
		p := webPackage(tags(tag(1, 9)), draftOf(1, 10), publishedOf(1, 9, func(r *Revision) { r.Newest, r.Approved = c.newest, c.newest.Commit == Hash{9} }))
		p.Trees = []Folder{{Hash{100}, Hash{50}}, {Hash{10}, Hash{50}}, {Hash{9}, Hash{40}}}
		if _, _, ok := Landed(fleet, wanted(), repository(p), p); ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
}

// A Draft was merged, and then the branch went on, or the Draft: what came first is
// tagged, and what came then is others' work on it.
func TestLandedAndWentOn(t *testing.T) {
	open := draftOf(1, 10)
	for name, c := range map[string]struct {
		there byte // on the branch
		left  *Revision
	}{
		"a hotfix came":     {60, open},
		"the Draft went on": {50, nil},
		"both":              {60, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := webPackage(nil, open)
			p.Trees = []Folder{{Hash{100}, Hash{c.there}}, {Hash{10}, Hash{51}}}
			p.Branch = &Branch{Tree: Hash{c.there}, Came: Hash{78}, By: "Robin", Owner: webOwner, Landed: Hash{77}, LandedTree: Hash{50}, Draft: c.left, Workspace: "packagevariant-1", Merged: &Machine{}}
			ruling, next, ok := Landed(fleet, wanted(), repository(p), p)
			if want := (Tag{Ref: "refs/tags/apps/web/v1", Commit: Hash{77}, Draft: c.left}); !ok || ruling.Decision != want {
				t.Fatalf("%v %+v", ok, ruling)
			}
			if tree, _ := next.Tree(Hash{77}); tree != (Hash{50}) {
				t.Errorf("the tag is of %s", tree)
			}
			if hotfix := c.there == 60; hotfix != (next.Branch != nil) || hotfix && (next.Branch.Tree != Hash{60} || next.Branch.By != "Robin") {
				t.Errorf("what came then: %+v", next.Branch)
			}
			if (next.Open() == nil) != (c.left != nil) {
				t.Errorf("what is left of the Draft: %+v", next.Open())
			}
		})
	}
}

// What people do on the registered branch is respected, and what they write there
// goes into the next Draft.
func TestIntendBranch(t *testing.T) {
	moved := &Branch{Tree: Hash{50}, Came: Hash{77}, By: "Robin (4d00000)"}
	away := &Branch{By: "Robin (4d00000)"}
	elsewhere := &Branch{By: "Robin (4d00000)", Now: []string{"apps/web"}}
	back := &Branch{Tree: Hash{40}, By: "Robin (4d00000)", Reverted: publishedOf(1, 9)}
	rewritten := &Branch{Tree: Hash{40}, By: "Robin (4d00000)", Reverted: publishedOf(1, 9), Rewritten: true}
	now := parts()
	v2rev, v2 := publishedOf(2, 8, since("v1")), tag(2, 8)
	v2rev.Inputs = now.Inputs(nil)
	draft := func(main string) *Revision {
		return draftOf(3, 10, since("v2"), recorded(now.Inputs(&v2).On(main)))
	}
	unknown := publishedOf(2, 8, since("v1"))
	unknown.Inputs = Inputs{}
	gone := tag(7, 70) // its tag
	upon1, upon0 := publishedOf(2, 8, recorded(now.Inputs(&gone))), publishedOf(2, 8, recorded(Inputs{Digest: "f", Published: "v6"}))
	upgrade := asked(webPackage(tags(tag(1, 9), v2), v2rev), v2rev, upgraded)
	changed := draftOf(3, 10, since("v2"), recorded(upgrade.Parts.Inputs(&v2)))
	recreate := func(q *Question) { q.Recreate = true }
	retry := func(q *Question) { q.Retry = true }
	ofSet := func(q *Question) { q.Set = "webs" }
	derived := func(q *Question) { q.Derived = true }
	keep := func(q *Question) { q.KeepEdits = true }
	kept := func(r *Revision) *Revision { r.Inputs.Keep = true; return r }
	unrecorded := func(q *Question) { q.Package.Entries = nil }
	gave := func(kept bool) func(q *Question) {
		return func(q *Question) {
			in := q.Parts.Inputs(&v2).On(moved.Main())
			in.Keep = kept
			q.Last = &Built{Commit: q.From.Ref.Commit, Inputs: in, At: noon}
		}
	}
	for name, c := range map[string]struct {
		reason string
		branch *Branch
		from   *Revision
		change []func(*Question)
		action Action
		main   string // of the inputs that are built
		says   string
	}{
		"a hotfix":                {"it is part of the next revision", moved, v2rev, nil, ActionNone, "", "main moved since v2 by Robin (4d00000)"},
		"a hotfix and a change":   {"the Draft starts from it", moved, v2rev, []func(*Question){upgraded}, ActionRedraft, moved.Main(), "upstream changed: now catalog/web@v1\nwith what is on main since v2 by Robin (4d00000)"},
		"a Draft before a hotfix": {"it is brought up", moved, draft(""), nil, ActionUpdate, moved.Main(), "main moved since it was made by Robin (4d00000)"},
		"a Draft of the hotfix":   {"it holds it", moved, draft(moved.Main()), nil, ActionNone, "", ""},
		"edits to keep":           {"it may have overruled the hotfix", moved, draft(moved.Main()), []func(*Question){keep}, ActionUpdate, moved.Main(), "edits by hand are to be kept now"},
		"edits kept":              {"it was made so", moved, kept(draft(moved.Main())), []func(*Question){keep}, ActionNone, "", ""},
		"edits kept no more":      {"they are the Draft's by now", moved, kept(draft(moved.Main())), nil, ActionNone, "", ""},
		"edits to keep, of none":  {"nothing was there to overrule", nil, draft(""), []func(*Question){keep}, ActionNone, "", ""},
		"edits to keep, unknown":  {"no record tells what was there", nil, draft(""), []func(*Question){keep, unrecorded}, ActionUpdate, "", "edits by hand are to be kept now"},
		"edits to keep, on main":  {"no Draft overrules them", moved, v2rev, []func(*Question){keep}, ActionNone, "", "main moved since v2"},
		"built before":            {"nothing says since what", moved, draft(moved.Main()), []func(*Question){keep, gave(true)}, ActionUpdate, moved.Main(), "edits by hand are to be kept now"},
		"built before, kept":      {"it says so itself", moved, kept(draft(moved.Main())), []func(*Question){keep, gave(false)}, ActionNone, "", ""},
		"a hotfix taken back":     {"the Draft follows", nil, draft(moved.Main()), nil, ActionUpdate, "", "main moved since it was made"},
		"deleted":                 {"a person did it", away, v2rev, []func(*Question){upgraded}, ActionWait, "", "deleted on main by Robin (4d00000): apply --recreate c1/web"},
		"deleted, a Draft open":   {"", away, draft(""), nil, ActionWait, "", "deleted on main"},
		"made again":              {"a person asks", away, v2rev, []func(*Question){upgraded, recreate}, ActionRedraft, deleted, "upstream changed"},
		"made again, Draft open":  {"the Draft takes that over", away, draft(""), []func(*Question){recreate}, ActionUpdate, deleted, "main moved since it was made"},
		"made again before":       {"the Draft waits for its approval", away, draft(deleted), nil, ActionNone, "", ""},
		"made again, unchanged":   {"a person asks", away, v2rev, []func(*Question){recreate}, ActionRedraft, deleted, "made again, as was asked for"},
		"deleted, unchanged":      {"it is told", away, v2rev, nil, ActionWait, "", "deleted on main"},
		"deleted once more":       {"it was made again, and deleted again", away, func() *Revision { r := *v2rev; r.Inputs.Main = deleted; return &r }(), nil, ActionWait, "", "deleted on main"},
		"moved":                   {"a person did it", elsewhere, v2rev, []func(*Question){upgraded}, ActionWait, "", "moved to apps/web on main by Robin (4d00000): set downstream.package to apps/web in its variant, or move it back to web; apply --recreate c1/web"},
		"moved, of a set":         {"its set names the folder", elsewhere, v2rev, []func(*Question){ofSet}, ActionWait, "", "in PackageVariantSet webs, or move it back"},
		"moved, needed":           {"no variant names the folder", elsewhere, v2rev, []func(*Question){derived}, ActionWait, "", "by Robin (4d00000): move it back to web;"},
		"moved, a Draft open":     {"", elsewhere, draft(""), nil, ActionWait, "", "moved to apps/web on main"},
		"moved, made again":       {"a person asks", elsewhere, v2rev, []func(*Question){upgraded, recreate}, ActionRedraft, deleted, "upstream changed"},
		"rewritten":               {"nobody's commit set it back", rewritten, v2rev, nil, ActionWait, "", "set back to v1 on main (its history was rewritten)"},
		"set back, a Draft open":  {"what it holds was set back", back, draft(""), nil, ActionWait, "", "set back to v1"},
		"set back, a Draft asked": {"a person asks", back, draft(""), []func(*Question){retry}, ActionUpdate, back.Main(), "main moved since it was made"},
		"set back, a Draft of it": {"it was asked for", back, draft(back.Main()), nil, ActionNone, "", ""},
		"set back, unchanged":     {"it is told", back, v2rev, nil, ActionWait, "", "set back to v1"},
		"set back, asked for":     {"a person asks", back, v2rev, []func(*Question){retry}, ActionRedraft, back.Main(), "made again, as was asked for"},
		"set back, and a change":  {"others are no longer what was set back", back, v2rev, []func(*Question){upgraded}, ActionRedraft, back.Main(), "brings what v2 held with it, though it was set back to v1 on main by Robin (4d00000)"},
		"set back, a Draft since": {"it is of other inputs than what was set back", back, changed, []func(*Question){upgraded}, ActionUpdate, back.Main(), "main moved since it was made by Robin (4d00000)\nbrings what v2 held with it"},
		"set back, the tag gone":  {"the record has what it started from", back, upon1, nil, ActionWait, "", "set back to v1"},
		"set back, of nothing":    {"what it started from is not known", back, upon0, []func(*Question){upgraded}, ActionWait, "", "set back to v1"},
		"set back, of no inputs":  {"nobody knows what was set back", back, unknown, []func(*Question){upgraded}, ActionWait, "", "set back to v1"},
		"set back, once more":     {"a person asks", back, v2rev, []func(*Question){upgraded, retry}, ActionRedraft, back.Main(), "upstream changed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := webPackage(tags(tag(1, 9), v2), c.from)
			if c.from.Number == 0 {
				p = webPackage(tags(tag(1, 9), v2), v2rev, c.from)
			}
			p.Branch = c.branch
			p.Entries = []record.Entry{{Place: record.Past, Revision: 7, Commit: Hash{70}.String()}}
			q := asked(p, c.from, c.change...)
			if c.from.Number == 0 {
				q.Since = &v2
			}
			var action Action
			var reasons []string
			main := ""
			switch i := Intend(q).(type) {
			case Build:
				action, reasons, main = i.As, i.Reasons, i.Inputs.Main
			case Rule:
				action, reasons = i.Decision.Action(), i.Reasons
			}
			if action != c.action || main != c.main {
				t.Errorf("%s: %s of %q, want %s of %q", c.reason, action, main, c.action, c.main)
			}
			if got := strings.Join(reasons, "\n"); !strings.Contains(got, c.says) || c.says == "" && got != "" {
				t.Errorf("%s: says %q, want %q", c.reason, got, c.says)
			}
		})
	}
}

// A package that was Published, and was deleted on the branch, is not new without its tags.
func TestIntendVanished(t *testing.T) {
	published := record.Entry{Path: webPath, Place: record.Past, Revision: 2, Commit: Hash{9}.String()}
	for name, c := range map[string]struct {
		branch *Branch
		change []func(*Question)
		action Action
	}{
		"the branch never had it": {nil, nil, ActionCreate},
		"deleted there":           {&Branch{}, nil, ActionWait},
		"retried":                 {&Branch{}, []func(*Question){func(q *Question) { q.Retry = true }}, ActionWait},
		"others need it":          {&Branch{}, []func(*Question){func(q *Question) { q.Derived = true }}, ActionCreate},
		"asked for":               {&Branch{}, []func(*Question){func(q *Question) { q.Recreate = true }}, ActionCreate},
	} {
		t.Run(name, func(t *testing.T) {
			p := webPackage(nil)
			p.Entries, p.Branch = []record.Entry{published}, c.branch
			action, reasons := Action(""), []string(nil)
			switch i := Intend(asked(p, nil, c.change...)).(type) {
			case Build:
				action = i.As
			case Rule:
				action, reasons = i.Decision.Action(), i.Reasons
			}
			if action != c.action {
				t.Errorf("%s %q, want %s", action, reasons, c.action)
			}
			if c.action == ActionWait && (len(reasons) != 1 || !strings.Contains(reasons[0], "v2 was Published") || !strings.Contains(reasons[0], "apply --recreate c1/web")) {
				t.Errorf("says %q", reasons)
			}
		})
	}
}

// Where the record has a package's last revision, for the branch to confirm it.
func TestPublishedOnce(t *testing.T) {
	entry := func(place record.Place, n int, commit Hash) record.Entry {
		return record.Entry{Path: webPath, Place: place, Revision: n, Commit: commit.String()}
	}
	v1, v2 := entry(record.Past, 1, Hash{8}), entry(record.Main, 2, Hash{9})
	for name, c := range map[string]struct {
		p    *Package
		want Numbered
	}{
		"new":                   {&Package{}, Numbered{}},
		"drafted":               {&Package{Entries: []record.Entry{entry(record.Open, 0, Hash{7})}}, Numbered{}},
		"Published":             {&Package{Entries: []record.Entry{v1, v2}}, Numbered{2, Hash{9}, true}},
		"in another order":      {&Package{Entries: []record.Entry{v2, v1}}, Numbered{2, Hash{9}, true}},
		"with a tag":            {webPackage(tags(tag(1, 9)), publishedOf(1, 9)), Numbered{}},
		"its deletion approved": {&Package{Entries: []record.Entry{{Place: record.Gone, Revision: 2}}}, Numbered{}},
	} {
		if got := PublishedOnce(c.p); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	p := webPackage(tags(tag(1, 9)), publishedOf(1, 9))
	if p.Entries = []record.Entry{v1}; PublishedOnce(p) != (Numbered{}) {
		t.Error("vanished with its tag")
	}
}

// What fails to render is drafted all the same as if its functions were left unrun.
func TestWithoutRendering(t *testing.T) {
	p := parts()
	p.Functions = []string{"f"}
	unrendered := p
	unrendered.Functions, unrendered.Versions = []string{NotRendered}, []string{NotRendered}
	plain := p
	plain.Functions = nil
	drop := wanted()
	drop.Drop = []string{"x"}
	for name, c := range map[string]struct {
		q    Question
		want bool
	}{
		"a first Draft":    {Question{Want: wanted(), Parts: p}, true},
		"a new one":        {Question{Want: wanted(), Work: Work{From: publishedOf(1, 9)}, Parts: p}, true},
		"an open one":      {Question{Want: wanted(), Work: Work{From: draftOf(1, 9)}, Parts: p}, false},
		"an edit dropped":  {Question{Want: drop, Work: Work{From: publishedOf(1, 9)}, Parts: p}, false},
		"nothing to leave": {Question{Want: wanted(), Parts: plain}, false},
	} {
		c.q.Package = webPackage(nil)
		b, ok := c.q.WithoutRendering(Build{As: ActionCreate, Inputs: p.Inputs(nil)})
		if ok != c.want || ok && b.Inputs != unrendered.Inputs(nil) || b.As != ActionCreate {
			t.Errorf("%s: %v, %+v", name, ok, b)
		}
	}
}

// Nobody's Draft is not ours to discard.
func TestNoPackage(t *testing.T) {
	q := asked(webPackage(nil, draftOf(1, 10)), draftOf(1, 10))
	for adopt, way := range map[bool]string{false: "variform discard c1/web --reason TEXT", true: "delete that branch"} {
		if q.Adopt = adopt; !IsStalled(q.NoPackage()) || !strings.HasSuffix(q.NoPackage().Error(), way) {
			t.Error(q.NoPackage())
		}
	}
}

// Whom a package was made for, or of which set, makes no Draft by itself: the record
// says it, and the next Draft.
func TestMadeForAnother(t *testing.T) {
	first := wanted()
	for name, c := range map[string]struct {
		said   record.Entry
		given  func(*Question)
		open   bool
		drafts bool
	}{
		"the record has it":  {said: record.Entry{Set: "default/old", For: "default/app"}},
		"for another":        {said: record.Entry{Set: "default/old", For: "default/other"}, drafts: true},
		"of another set":     {said: record.Entry{Set: "default/other", For: "default/app"}, drafts: true},
		"there is no record": {said: record.Entry{Set: "default/old", For: "default/app"}, given: func(q *Question) { q.Repo.Records = false }, drafts: true},
		"more than that":     {said: record.Entry{Set: "default/old", For: "default/app"}, given: func(q *Question) { q.Parts.Context = "other" }, drafts: true},
		"another policy, too": {said: record.Entry{Set: "default/old", For: "default/app"}, given: func(q *Question) {
			pv := *q.Variant()
			pv.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
			w := *q.Want
			w.Content, q.Want = &Variant{&pv}, &w
		}},
	} {
		t.Run(name, func(t *testing.T) {
			then := parts()
			var err error
			if then.Spec, err = SpecDigest(first.Variant(), asked(webPackage(nil), nil).Owner, "default/old", "default/app"); err != nil {
				t.Fatal(err)
			}
			from := publishedOf(1, 9, recorded(then.Inputs(nil)))
			if c.open {
				from = draftOf(1, 9, recorded(then.Inputs(nil)))
			}
			q := asked(webPackage(nil, from), from)
			q.Repo.Records, q.Parts = true, parts()
			c.said.Place = record.Main
			q.Package.Entries = []record.Entry{c.said}
			if c.given != nil {
				c.given(&q)
			}
			if b, drafts := q.changed(); drafts != c.drafts {
				t.Errorf("%t, %q", drafts, b.Reasons)
			}
		})
	}
}

// Another version of a built-in function alone makes no Draft: it comes along with
// the next change, where that is asked for, and before anything is published
// unattended. What was made before digests were without these versions is known.
func TestVersionsOfBuiltinFunctions(t *testing.T) {
	then, now := parts(), parts()
	now.Versions = []string{"f@v2"}
	before := then
	before.Functions = then.Versions
	changed := now
	changed.UpstreamTree = "newer"
	other := now
	other.Functions = []string{"g"}
	orphan, w := before, wanted()
	pv := *w.Variant()
	pv.Spec.DeletionPolicy = v1alpha1.DeletionOrphan
	var err error
	if orphan.Spec, err = SpecDigest(&pv, asked(webPackage(nil), nil).Owner, w.Set, w.MadeFor); err != nil {
		t.Fatal(err)
	}
	published := func(in Inputs) *Revision { return publishedOf(1, 9, recorded(in)) }
	open := func(in Inputs) *Revision { return draftOf(1, 10, recorded(in)) }
	for name, c := range map[string]struct {
		from   *Revision
		parts  Parts
		change func(*Question)
		want   string // the reasons of a build, "" for none
	}{
		"Published":             {from: published(then.Inputs(nil)), parts: now},
		"open":                  {from: open(then.Inputs(nil)), parts: now},
		"by an earlier program": {from: published(before.Inputs(nil)), parts: then},
		"with another policy":   {from: published(orphan.Inputs(nil)), parts: then, change: func(q *Question) { q.Repo.Records = true }},
		"with a change":         {published(then.Inputs(nil)), changed, nil, "upstream changed: now catalog/web@v1; functions, or their versions, changed"},
		"another function":      {published(then.Inputs(nil)), other, nil, "functions, or their versions, changed"},
		"asked for":             {published(then.Inputs(nil)), now, func(q *Question) { q.Rehydrate = true }, "functions, or their versions, changed"},
		"asked for in vain":     {published(now.Inputs(nil)), now, func(q *Question) { q.Rehydrate = true }, "made by an earlier version, hydration version 3 now"},
		"unattended":            {open(then.Inputs(nil)), now, func(q *Question) { q.Automatic = true }, "functions, or their versions, changed"},
		"unattended, Published": {from: published(then.Inputs(nil)), parts: now, change: func(q *Question) { q.Automatic = true }},
	} {
		t.Run(name, func(t *testing.T) {
			q := asked(webPackage(nil, c.from), c.from)
			q.Parts = c.parts
			if c.change != nil {
				c.change(&q)
			}
			b, ok := q.changed()
			if got := strings.Join(b.Reasons, "; "); ok != (c.want != "") || got != c.want {
				t.Errorf("%t, %q, want %q", ok, got, c.want)
			}
		})
	}
}
