package decide

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

func TestRestored(t *testing.T) {
	cases := map[string]struct {
		reason string
		p      *Package
		want   *Ruling // nil for none
	}{
		"none proposed": {"", webPackage(tags(tag(1, 1)), publishedOf(1, 1)), nil},
		"one of two": {
			"only proposals are taken back", webPackage(tags(tag(1, 1), doomedTag(2, 2)), doomedOf(2, 2)),
			&Ruling{Decision: Restore{tags(doomedTag(2, 2))}, Reasons: []string{"the proposed deletion of v2 is taken back: the package is wanted"}},
		},
		"an older one": {
			"the latest is meant to stay", webPackage(tags(doomedTag(1, 1), tag(2, 2)), publishedOf(2, 2)),
			&Ruling{Decision: Restore{tags(doomedTag(1, 1))}, Reasons: []string{"the proposed deletion of v1 is taken back: the package is wanted"}},
		},
		"many": {
			"five are named", webPackage(tags(doomedTag(1, 1), doomedTag(2, 2), doomedTag(3, 3), doomedTag(4, 4), doomedTag(5, 5), doomedTag(6, 6)), doomedOf(6, 6)),
			&Ruling{
				Decision: Restore{tags(doomedTag(1, 1), doomedTag(2, 2), doomedTag(3, 3), doomedTag(4, 4), doomedTag(5, 5), doomedTag(6, 6))},
				Reasons:  []string{"the proposed deletion of v1, v2, v3, v4, v5, and 1 more is taken back: the package is wanted"},
			},
		},
		"another's": {"not this manager's to take back", webPackage(tags(doomedTag(1, 1)), doomedOf(1, 1, by("other/default/web"))), nil},
		"no latest": {"nobody can be asked whose it is", webPackage(tags(doomedTag(1, 1))), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := Restored(fleet, wanted(), c.p)
			if ok != (c.want != nil) {
				t.Fatalf("%t: %s", ok, c.reason)
			}
			if !ok {
				c.want = &Ruling{}
			}
			if d := cmp.Diff(*c.want, got, unseen); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

func TestLeftover(t *testing.T) {
	mine, other := draftOf(1, 10), draftOf(2, 11, by("other/default/web"))
	p := webPackage(nil, mine, proposedOf(1, 10), other, proposedOf(2, 11))
	want := []Ruling{{Decision: Discard{Revision: mine}, Reasons: []string{"all of it was proposed or published meanwhile"}}}
	if d := cmp.Diff(want, Leftover(fleet, wanted(), p), unseen); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// unanswered says of a lock's target that a package has no answer.
func unanswered(lock *Want, ref string) *Want {
	if lock.Target == nil {
		lock.Target = NewTarget(repository(), "")
	}
	lock.Target.Answer = &depend.Answer{Failed: map[string]error{ref: errors.New("no such tag")}}
	return lock
}

// A lock is drafted with what could be made of an answer; of what could not it says
// what stands.
func TestLockWithout(t *testing.T) {
	old, answer := lockOf("db", "1.0.0", "web", "1.0.0"), lockOf("db", "1.1.0", "web", "1.1.0")
	six := lockOf("a", "1.0.0", "b", "1.0.0", "c", "1.0.0", "d", "1.0.0", "e", "1.0.0", "f", "1.0.0")
	draft := ruled(Draft{As: ActionUpdate}, "changed")
	draft.Warnings = []string{"w"}
	hold := func(names string) Ruling {
		return Ruling{Decision: Wait{}, Warnings: []string{"w"}, Reasons: []string{"is drafted with what it names, and failed: " + names}}
	}
	cases := map[string]struct {
		reason string
		w      *Want
		r      Ruling
		failed []string
		locks  []string // nil for the whole answer
		want   Ruling
	}{
		"all is made":          {"", webLock(answer, &old, nil), draft, nil, nil, draft},
		"one of two":           {"the other is locked", webLock(answer, &old, nil), draft, []string{"web"}, []string{"db 1.1.0", "web 1.0.0"}, draft},
		"one of a first lock":  {"what stands nowhere is left out", webLock(answer, nil, nil), draft, []string{"web"}, []string{"db 1.1.0"}, draft},
		"nothing":              {"there is nothing to lock", webLock(answer, nil, nil), draft, []string{"db", "web"}, nil, hold("c1/db, c1/web")},
		"nothing new":          {"it stays as it is", webLock(answer, &old, nil), draft, []string{"db", "web"}, []string{"db 1.0.0", "web 1.0.0"}, draft},
		"many":                 {"five are named", webLock(six, nil, nil), draft, []string{"a", "b", "c", "d", "e", "f"}, nil, hold("c1/a, c1/b, c1/c, c1/d, c1/e, and 1 more")},
		"nothing, up to date":  {"nothing is drafted", webLock(answer, nil, nil), ruled(Nothing{}), []string{"db", "web"}, nil, ruled(Nothing{})},
		"what has no answer":   {"it is named as it stands", unanswered(webLock(answer, &old, nil), "web"), draft, []string{"web"}, nil, draft},
		"what did not change ": {"the lock that is there names it already", webLock(answer, &answer, nil), draft, []string{"web"}, nil, draft},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			target := c.w.Target
			if target == nil {
				target = NewTarget(repository(), "")
			}
			for _, p := range c.w.Lock().Document.Spec.Packages {
				target.Wants[p.Name] = &Want{Identity: Identity{"default", "c1", p.Name}}
			}
			target.Lock = c.w.Lock().Newest
			lock, err := c.w.Lock().Without(target, func(ref string) bool { return slices.Contains(c.failed, ref) })
			if err != nil {
				t.Fatal(err)
			}
			var locks []string
			for _, p := range lock.Document.Spec.Packages {
				if lock.Document != c.w.Lock().Document {
					locks = append(locks, p.Name+" "+p.Version)
				}
			}
			if d := cmp.Diff(c.locks, locks); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
			c.w.Content = lock
			if d := cmp.Diff(c.want, HeldLock(outcome(nil, Build{}, func(o *Outcome) { o.Want = c.w }), c.r), unseen); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
	o := outcome(nil, Build{}, func(o *Outcome) { o.Want = wanted() })
	if d := cmp.Diff(draft, HeldLock(o, draft), unseen); d != "" {
		t.Errorf("what is no lock waits: -want +got:\n%s", d)
	}
}

func TestTrimmable(t *testing.T) {
	five := tags(tag(1, 1), tag(2, 2), tag(3, 3), tag(4, 4), tag(5, 5))
	v5 := publishedOf(5, 5)
	cases := map[string]struct {
		reason string
		p      *Package
		keep   int
		want   []int
	}{
		"keep all":              {"0 is no limit", webPackage(five, v5), 0, nil},
		"two beside the latest": {"the oldest go", webPackage(five, v5), 2, []int{1, 2}},
		"exactly as many":       {"", webPackage(five, v5), 4, nil},
		"one too many":          {"", webPackage(five, v5), 3, []int{1}},
		"more than there are":   {"", webPackage(five, v5), 9, nil},
		"a Draft needs v2":      {"its update starts from it", webPackage(five, v5, draftOf(6, 6, since("v2"))), 1, []int{1}},
		"a surplus Draft, too":  {"it is there", webPackage(five, v5, draftOf(6, 6, since("v2")), proposedOf(6, 6, since("v4"))), 1, []int{1}},
		"a Draft of the latest": {"", webPackage(five, v5, draftOf(6, 6, since("v5"))), 1, []int{1, 2, 3}},
		"what v5 started from":  {"it is Published: history", webPackage(five, publishedOf(5, 5, since("v1"))), 1, []int{1, 2, 3}},
		"deletion proposed":     {"a person decides about it, and it does not count", webPackage(tags(doomedTag(1, 1), tag(2, 2), tag(3, 3), tag(4, 4)), publishedOf(4, 4)), 1, []int{2}},
		"beyond the latest":     {"a newer tag is no history", webPackage(five, publishedOf(3, 3)), 1, []int{1}},
		"another's":             {"not this manager's history", webPackage(five, publishedOf(5, 5, by("x/default/web"))), 1, nil},
		"nothing Published":     {"", webPackage(nil, draftOf(1, 1)), 1, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, p := range Trimmable(fleet, wanted(), c.p, c.keep) {
				got = append(got, p.Number)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
	want := ruled(Trim{five[:2]}, "historyLimit 3: v1, v2 go")
	if d := cmp.Diff(want, Trimmed(five[:2], 3), unseen); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := Trimmed(append(five[:5:5], tag(6, 6)), 1).Reasons[0]; got != "historyLimit 1: v1, v2, v3, v4, v5, and 1 more go" {
		t.Error(got)
	}
}

// orphan is a package that nobody wants; what it owns says owner.
func orphan(p *Package, owner Ownership, owned ...*Revision) *Orphan {
	o := &Orphan{Identity: Identity{"default", "c1", "web"}, Name: "web", Repo: repository(p), Package: p, Owners: map[string]Ownership{}}
	for _, r := range owned {
		o.Owners[r.Ref.Name] = owner
	}
	return o
}

// One revision, by policy, phase, a person's commits, and what it was made for.
func TestRemoveOne(t *testing.T) {
	const (
		goes     = "discard: its variant has gone"
		retires  = "retire: its variant has gone"
		releases = "release: its variant has gone; deletionPolicy orphan leaves the package"
		kept     = "keep: its variant has gone, and Ann <ann@example.com> edited %s by hand: data.a of ConfigMap x: bring its variant back, or, to lose 1 edit, "
		unnamed  = "keep: its variant has gone, and Ann <ann@example.com> committed to %s by hand: bring its variant back"
		waits    = "wait: proposed for deletion: approve that, or reject it"
		nothing  = "none: "
		unneeded = "none: it was brought for others, and nothing needs it any more"
		alone    = "none: another package needed it, and dependencies are left alone in this run"
	)
	draft, proposed := draftOf(1, 10), proposedOf(1, 11)
	keptDraft := fmt.Sprintf(kept, draft.Describe()) + "delete the branch drafts/apps/web/packagevariant-1"
	keptProposed := fmt.Sprintf(kept, proposed.Describe()) + "delete the branch proposed/apps/web/packagevariant-1"
	discard := func(r *Revision) string {
		return fmt.Sprintf(kept, r.Describe()) + "run variform discard c1.web.packagevariant-1 --reason TEXT"
	}
	ann := Ownership{Author: "Ann <ann@example.com>", Edits: []string{"data.a of ConfigMap x"}}
	leave := Ownership{Policy: "orphan"}
	annLeaves := Ownership{Policy: "orphan", Author: ann.Author}
	forOther := Ownership{Policy: "orphan", For: "default/shop"}
	forOtherAnn := Ownership{Policy: "orphan", For: "default/shop", Author: ann.Author, Edits: ann.Edits}
	needed := Ownership{Dependency: true}
	cases := map[string]struct {
		reason                             string
		owner                              Ownership
		alone, recorded                    bool
		draft, proposed, published, doomed string
	}{
		"delete":                          {"nothing uses what was never Published", Ownership{}, false, false, goes, goes, retires, waits},
		"delete, by its name":             {"any other policy is delete", Ownership{Policy: "delete"}, false, false, goes, goes, retires, waits},
		"a person's commits":              {"no edit goes unasked; Published ones are in main", ann, false, false, keptDraft, keptProposed, retires, waits},
		"a person's commits, recorded":    {"there is a door", ann, false, true, discard(draft), discard(proposed), retires, waits},
		"edits that have no names":        {"no advice loses what it cannot name", Ownership{Author: ann.Author}, false, true, fmt.Sprintf(unnamed, draft.Describe()), fmt.Sprintf(unnamed, proposed.Describe()), retires, waits},
		"orphan":                          {"what is Published is left as it is", leave, false, false, releases + left(draft), releases + left(proposed), nothing, waits},
		"orphan, a person's":              {"a release keeps every edit", annLeaves, false, false, releases + left(draft), releases + left(proposed), nothing, waits},
		"orphan, for another":             {"a dependency that was never Published is of no use", forOther, false, false, goes, goes, nothing, waits},
		"orphan, for another, a person's": {"no edit goes unasked", forOtherAnn, false, false, keptDraft, keptProposed, nothing, waits},
		"a dependency":                    {"in a whole run", needed, false, false, goes, goes, retires, waits},
		"a dependency, left alone":        {"dependencies are left alone", needed, true, false, alone, alone, alone, alone},
		"no dependency, left alone":       {"only dependencies are", Ownership{}, true, false, goes, goes, retires, waits},
		"orphan, recorded":                {"what is Published is released in the record", leave, false, true, releases + left(draft), releases + left(proposed), releases, waits},
		"orphan, recorded, a dependency":  {"who needs it has it again", Ownership{Policy: "orphan", For: "default/shop", Dependency: true}, false, true, goes, goes, unneeded, waits},
	}
	for name, c := range cases {
		one := func(phase string, p *Package, r *Revision, want string) {
			t.Run(name+"/"+phase, func(t *testing.T) {
				o := orphan(p, c.owner, r)
				o.Alone, o.Repo.Records = c.alone, c.recorded
				list := Remove(o)
				if len(list) != 1 || list[0].Revision != r {
					t.Fatalf("%+v", list)
				}
				why := ""
				if len(list[0].Reasons) > 0 {
					why = list[0].Reasons[0]
				}
				if got := string(list[0].Decision.Action()) + ": " + why; got != want {
					t.Errorf("%s: got %q\nwant %q", c.reason, got, want)
				}
				for _, m := range list[0].Decision.Moves(Hash{99}) {
					if m.Name == lifecycle.PublishedRef(webPath, 1) {
						t.Errorf("the tag moves: %+v", m)
					}
				}
			})
		}
		v1, gone := publishedOf(1, 9), doomedOf(1, 9)
		one("Draft", webPackage(nil, draft), draft, c.draft)
		one("Proposed", webPackage(nil, proposed), proposed, c.proposed)
		one("Published", webPackage(tags(tag(1, 9)), v1), v1, c.published)
		one("DeletionProposed", webPackage(tags(doomedTag(1, 9)), gone), gone, c.doomed)
	}
}

// A run that cannot judge whether a variant is wanted says so of each revision, and
// gives no reason or advice that supposes that the variant is gone.
func TestRemoveInDoubt(t *testing.T) {
	const doubt = "this run cannot tell whether a variant wants it: 1 input could not be read"
	draft, v1, doomed := draftOf(2, 10), publishedOf(1, 9), doomedOf(1, 9)
	edits := Ownership{Author: "Ann", Edits: []string{"data.a of ConfigMap x"}}
	held := func(o *Orphan) {
		o.Package.Entries = []record.Entry{{Place: record.Variant, Hold: &record.Word{By: "Bo", Reason: "freeze"}}}
	}
	for name, c := range map[string]struct {
		reason string
		o      *Orphan
		change func(*Orphan)
		want   []Removal
	}{
		"a Draft":           {"it may be wanted", orphan(webPackage(nil, draft), Ownership{}, draft), nil, []Removal{{ruled(Keep{}, doubt), draft}}},
		"an edited Draft":   {"no advice costs the edit", orphan(webPackage(nil, draft), edits, draft), nil, []Removal{{ruled(Keep{}, doubt), draft}}},
		"an edit, unnamed":  {"no advice costs the edit", orphan(webPackage(nil, draft), Ownership{Author: "Ann"}, draft), nil, []Removal{{ruled(Keep{}, doubt), draft}}},
		"policy orphan":     {"it is not released either", orphan(webPackage(nil, draft), Ownership{Policy: "orphan"}, draft), nil, []Removal{{ruled(Keep{}, doubt), draft}}},
		"Published":         {"", orphan(webPackage(tags(tag(1, 9)), v1), Ownership{}, v1), nil, []Removal{{ruled(Keep{}, doubt), v1}}},
		"both":              {"each is told", orphan(webPackage(tags(tag(1, 9)), draft, v1), edits, draft, v1), nil, []Removal{{ruled(Keep{}, doubt), draft}, {ruled(Keep{}, doubt), v1}}},
		"deletion proposed": {"approving it would delete what may be wanted", orphan(webPackage(tags(doomedTag(1, 9)), doomed), Ownership{}, doomed), nil, []Removal{{ruled(Wait{}, "its deletion is proposed, and "+doubt), doomed}}},
		"an upstream":       {"its variant may be there", orphan(webPackage(nil, draft), Ownership{}, draft), func(o *Orphan) { o.Upstream = true }, []Removal{{Ruling: ruled(Keep{}, doubt)}}},
		"held":              {"the hold is known", orphan(webPackage(nil, draft), edits, draft), held, []Removal{{Ruling: ruled(Keep{}, "held by Bo: freeze; "+doubt)}}},
		"what was said":     {"it is not forgotten", orphan(webPackage(nil), Ownership{}), held, []Removal{{Ruling: ruled(Keep{}, "held by Bo: freeze; "+doubt)}}},
		"a stranger":        {"its own Kptfile says so", orphan(webPackage(nil, draft), Ownership{}), nil, []Removal{{Ruling: ruled(Nothing{}, stranger)}}},
		"a target in doubt": {"what is in doubt is named already", orphan(webPackage(nil, draft), edits, draft), func(o *Orphan) { o.Kept = "nothing is known to need it, but x" }, []Removal{{Ruling: ruled(Keep{}, "nothing is known to need it, but x")}}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.o.Doubt = "1 input could not be read"; c.change != nil {
				c.change(c.o)
			}
			if d := cmp.Diff(c.want, Remove(c.o), unseen, errText); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

// Each revision of a package by itself.
func TestRemove(t *testing.T) {
	one, two := tag(1, 9), doomedTag(2, 8)
	draft, v1 := draftOf(2, 10), publishedOf(1, 9)
	surplus, ninth, tenth := draftOf(3, 12), draftOf(9, 12), draftOf(10, 13)
	leave := Ownership{Policy: "orphan"}
	both := webPackage(tags(one), draft, v1)
	became := webPackage(tags(one), surplus, proposedOf(3, 12, by("")), v1)
	older := webPackage(tags(one, two), doomedOf(2, 8))
	own := func(o *Orphan, changes ...func(*Orphan)) *Orphan {
		for _, c := range changes {
			c(o)
		}
		return o
	}
	says := func(r *Revision, owner Ownership) func(*Orphan) {
		return func(o *Orphan) { o.Owners[r.Ref.Name] = owner }
	}
	cases := map[string]struct {
		reason string
		o      *Orphan
		want   []Removal
	}{
		"a Draft and a Published": {
			"the Draft goes, the deletion of the other is proposed", orphan(both, Ownership{}, draft, v1),
			[]Removal{{ruled(Discard{Revision: draft, Withdrawn: true}, gone), draft}, {ruled(Retire{webPath, tags(one)}, gone), v1}},
		},
		"the Draft is a person's now": {
			"a revision without an owner was given up", orphan(both, Ownership{}, v1),
			[]Removal{{ruled(Retire{webPath, tags(one)}, gone), v1}},
		},
		"the newest says orphan": {
			"the variant last said so", own(orphan(both, Ownership{}, v1), says(draft, leave)),
			[]Removal{{ruled(Release{draft}, gone+"; deletionPolicy orphan leaves the package"+left(draft)), draft}},
		},
		"the newest says delete": {
			"the variant last said so", own(orphan(both, leave, v1), says(draft, Ownership{})),
			[]Removal{{ruled(Discard{Revision: draft, Withdrawn: true}, gone), draft}, {ruled(Retire{webPath, tags(one)}, gone), v1}},
		},
		"the newest of ten Drafts says orphan": {
			"it is the newest by its number, not by its name", own(orphan(webPackage(nil, ninth, tenth), Ownership{}, ninth), says(tenth, leave)),
			[]Removal{{ruled(Release{tenth}, gone+"; deletionPolicy orphan leaves the package"+left(tenth)), tenth}, {ruled(Release{ninth}, gone+"; deletionPolicy orphan leaves the package"+left(ninth)), ninth}},
		},
		"only Published, orphan": {
			"there is something to tell", orphan(webPackage(tags(one), v1), leave, v1), []Removal{{ruled(Nothing{}), v1}},
		},
		"what is proposed already is not proposed again": {
			"", orphan(webPackage(tags(one, tag(2, 8)), publishedOf(2, 8)), Ownership{}, publishedOf(2, 8)),
			[]Removal{{ruled(Retire{webPath, tags(one, tag(2, 8))}, gone), publishedOf(2, 8)}},
		},
		"an older proposed for deletion": {
			"the others follow", orphan(webPackage(tags(doomedTag(1, 9), tag(2, 8)), publishedOf(2, 8)), Ownership{}, publishedOf(2, 8)),
			[]Removal{{ruled(Retire{webPath, tags(tag(2, 8))}, gone), publishedOf(2, 8)}},
		},
		"the latest proposed for deletion": {
			"a person decides", orphan(older, Ownership{}, doomedOf(2, 8)),
			[]Removal{{ruled(Wait{}, "proposed for deletion: approve that, or reject it"), doomedOf(2, 8)}},
		},
		"a surplus Draft": {
			"all of it stands in what it became", orphan(became, Ownership{Author: "Ann"}, surplus),
			[]Removal{{ruled(Discard{Revision: surplus, Withdrawn: true}, gone), surplus}},
		},
		"another's surplus Draft":   {"", orphan(became, Ownership{}, v1), []Removal{{ruled(Retire{webPath, tags(one)}, gone), v1}}},
		"nothing is its own":        {"all of it was given up", orphan(both, Ownership{}), []Removal{{Ruling: ruled(Nothing{}, stranger)}}},
		"a Draft that was given up": {"nothing is Published either", orphan(webPackage(nil, draft), Ownership{}), []Removal{{Ruling: ruled(Nothing{}, stranger)}}},
		"kept": {
			"something else forbids it", own(orphan(both, Ownership{}, draft, v1), func(o *Orphan) { o.Kept = "read elsewhere" }),
			[]Removal{{Ruling: ruled(Keep{}, "read elsewhere")}},
		},
		"unread": {
			"nothing is decided about what could not be read", own(orphan(both, Ownership{}, draft, v1), func(o *Orphan) { o.Err, o.Kept = errors.New("broken"), "x" }),
			[]Removal{{Ruling: failed(errors.New("broken"))}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, Remove(c.o), unseen, errText); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

// left is what the release of an open revision says of its branch.
func left(r *Revision) string {
	return ", and its branch " + r.Ref.Short() + ", for you to delete where it is not wanted"
}
