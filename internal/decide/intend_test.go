package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
func knows(q *Question) { q.Fruitless = func(string) bool { return true } }

func locking(now resolver.Lock, newest, placed *resolver.Lock) func(*Question) {
	return func(q *Question) {
		q.Want, q.Source, q.Parts = webLock(now, newest, placed), "", Parts{UpstreamTree: "digest of the lock"}
	}
}

func TestIntend(t *testing.T) {
	v1, v2 := tag(1, 9), tag(2, 8)
	now, newer := parts(), parts()
	newer.UpstreamTree = "newer"
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
	old, answer := lockOf("web", "1.0.0"), lockOf("web", "1.1.0")
	lockDraft := draftOf(1, 10, recorded(lockParts.Inputs(nil)))
	inLockDraft := webPackage(nil, lockDraft)
	lockV1 := publishedOf(1, 9, recorded(lockParts.Inputs(nil)))
	inLockV1 := webPackage(tags(v1), lockV1)

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
func TestIntendMerged(t *testing.T) {
	const head, draft, v1 = 100, 10, 9
	trees := func(pairs ...byte) map[Hash]Hash {
		out := map[Hash]Hash{}
		for i := 0; i < len(pairs); i += 2 {
			out[Hash{pairs[i]}] = Hash{pairs[i+1]}
		}
		return out
	}
	cases := map[string]struct {
		reason  string
		trees   map[Hash]Hash
		v1      bool
		adopt   bool
		changed bool
		from    *Revision // the Draft where it is nil
		want    string
	}{
		"merged, first":             {"becomes v1", trees(head, 50, draft, 50), false, false, false, nil, "v1"},
		"merged, and out of date":   {"what a person merged comes first", trees(head, 50, draft, 50), false, false, true, nil, "v1"},
		"merged after v1":           {"becomes v2", trees(head, 50, draft, 50, v1, 40), true, false, false, nil, "v2"},
		"proposed and merged":       {"becomes v1", trees(head, 50, draft, 50), false, false, false, proposedOf(1, draft), "v1"},
		"not merged":                {"the branch holds something else", trees(head, 50, draft, 51), false, false, false, nil, ""},
		"the branch has v1":         {"a Draft with the same content says nothing", trees(head, 50, draft, 50, v1, 50), true, false, false, nil, ""},
		"nothing on the branch":     {"", trees(head, 0, draft, 0), false, false, false, nil, ""},
		"the branch was not read":   {"nothing is known", trees(draft, 50), false, false, false, nil, ""},
		"the Draft was not read":    {"nothing is known", trees(head, 50), false, false, false, nil, ""},
		"v1 was not read":           {"nothing is known", trees(head, 50, draft, 50), true, false, false, nil, ""},
		"another's Draft":           {"adoption comes first", trees(head, 50, draft, 50), false, true, false, nil, ""},
		"a Published one":           {"it has its tag", trees(head, 50, v1, 40), true, false, false, publishedOf(1, v1), ""},
		"a Published one, the head": {"it has its tag", trees(head, 50, v1, 50), true, false, false, publishedOf(1, v1), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			from := c.from
			if from == nil {
				from = draftOf(1, draft)
			}
			var published []Published
			if c.v1 {
				published = tags(tag(1, v1))
			}
			p := webPackage(published, from)
			p.Trees = c.trees
			from.Inputs = parts().Inputs(p.Newest())
			from.Since = RevisionName(len(published))
			q := asked(p, from, func(q *Question) { q.Adopt = c.adopt })
			if from.Number > 0 {
				from.Inputs.Published = ""
			}
			if c.changed {
				upgraded(&q)
			}
			got := ""
			if r, ok := Intend(q).(Rule); ok {
				if d, ok := r.Decision.(Tag); ok {
					got = d.Ref
					if d.Draft != from || len(r.Reasons) != 1 || r.Reasons[0] != "merged into main by other means: becomes "+c.want {
						t.Errorf("%+v", r)
					}
				}
			}
			if want := c.want; want != "" {
				want = "refs/tags/apps/web/" + want
				if got != want {
					t.Errorf("tag %q, want %q: %s", got, want, c.reason)
				}
			} else if got != "" {
				t.Errorf("tagged %s: %s", got, c.reason)
			}
		})
	}
}
