package decide

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

func reverting(to string) change { return func(r *Revision) { r.Machine.Reverts = to + " by Ann" } }

func TestRevert(t *testing.T) {
	// v1 and v2 of the trees 41 and 42.
	with := func(revisions ...*Revision) *Package {
		p := webPackage(tags(tag(1, 8), tag(2, 9)), append(revisions, publishedOf(2, 9))...)
		p.Trees = []Folder{{Hash{8}, Hash{41}}, {Hash{9}, Hash{42}}}
		return p
	}
	on := func(b *Branch, p *Package) *Package {
		p.Branch = b
		return p
	}
	hotfix := &Branch{Tree: Hash{50}}
	draft := draftOf(3, 10, since("v2"), reverting("v1"))
	behind := draftOf(3, 10, since("v1"), reverting("v1"))
	foreign := with()
	foreign.Latest.Owner = "other/default/web"
	clash := wanted()
	clash.Err = errors.New("two want it")
	merged := with(draftOf(3, 10))
	merged.Learn(Hash{10}, Hash{43})
	merged.Learn(Hash{12}, Hash{43})
	doomed := webPackage(tags(doomedTag(1, 8)), doomedOf(1, 8))
	for name, c := range map[string]struct {
		want *Want // wanted() where it is nil
		p    *Package
		n    int
		head Hash
		from *Revision // nil: the latest Published
		done string
		err  string
	}{
		"the one before":            {p: with(), n: 1},
		"the latest":                {p: with(), n: 2, done: "v2, the latest Published, is that already"},
		"the latest, after a fix":   {p: on(hotfix, with()), n: 2},
		"beside a Draft":            {p: with(draftOf(3, 10)), n: 1},
		"once more":                 {p: with(draft), n: 1, done: "Draft packagevariant-3 sets it back to v1 by Ann already"},
		"once more, another's":      {p: with(draftOf(3, 10, since("v2"), reverting("v1"), by("other/default/web"))), n: 1},
		"once more, after a fix":    {p: on(hotfix, with(draft)), n: 1, from: draft},
		"once more, after v2":       {p: with(behind), n: 1, from: behind},
		"another one":               {p: with(draft), n: 2, from: draft},
		"another one, edited":       {p: with(draftOf(3, 10, reverting("v1"), edited)), n: 2, err: "Draft packagevariant-3, which sets it back to v1 by Ann, was edited by hand (0a00000): go on from it with apply --retry c1/web, or, to lose the edit, discard it first"},
		"a merged Draft":            {p: merged, head: Hash{12}, n: 1, err: "a Draft of it was merged into main, and the next apply tags it there: run that first"},
		"unknown":                   {p: with(), n: 7, err: "it has no v7: there are v1, v2"},
		"never Published":           {p: webPackage(nil, draftOf(1, 10)), n: 1, err: "no revision of it is Published"},
		"another's":                 {p: foreign, n: 1, err: "Published v2 is no package of this fleet"},
		"held":                      {p: saidOf(with(), record.Entry{Hold: &ann}), n: 1, err: "held by Ann"},
		"proposed for deletion":     {p: doomed, n: 1, err: "v1 is proposed for deletion: reject that first"},
		"a lock":                    {want: webLock(lockOf(), nil, nil), p: with(), n: 1, err: "set back the packages that it names"},
		"wanted by two":             {want: clash, p: with(), n: 1, err: "two want it"},
		"what v1 was, by any means": {p: func() *Package { p := with(); p.Learn(Hash{9}, Hash{41}); return p }(), n: 1, done: "v2, the latest Published, is that already"},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.want
			if w == nil {
				w = wanted()
			}
			repo := repository()
			repo.Head = c.head
			to, work, done, err := Revert(fleet, w, repo, c.p, c.n)
			if s := saying(err, c.err); s != "" {
				t.Fatal(s)
			}
			if err != nil {
				return
			}
			from := c.from
			if from == nil {
				from = c.p.Latest
			}
			if done != c.done || to.Number != c.n || c.done == "" && work.From != from {
				t.Errorf("v%d upon %v, %q", to.Number, work.From, done)
			}
		})
	}
}

// What takes a revision back is of its inputs: those of now where they are the same.
func TestReverting(t *testing.T) {
	newer := parts()
	newer.UpstreamTree = "another"
	q := func(p Parts, was Inputs, open bool) Question {
		from := publishedOf(2, 9, recorded(was))
		q := Question{Want: wanted(), Repo: repository(), Package: webPackage(tags(tag(1, 8), tag(2, 9)), from), Parts: p}
		q.Package.Branch = &Branch{Tree: Hash{50}}
		if q.From = from; open {
			q.From = draftOf(3, 10, reverting("v2"))
		}
		return q
	}
	first := tag(1, 8)
	was, second := parts().Inputs(&first), tag(2, 9)
	main := (&Branch{Tree: Hash{50}}).Main()
	now := parts().Inputs(&second).On(main)
	taken := was
	taken.Published, taken.Main, taken.Digest = "v2", main, Digest("set back", was.Digest)
	for name, c := range map[string]struct {
		q    Question
		want Inputs
		as   Action
	}{
		"as it is now":       {q(parts(), was, false), now, ActionRedraft},
		"onto its Draft":     {q(parts(), was, true), now, ActionUpdate},
		"what changed since": {q(newer, was, false), taken, ActionRedraft},
		"of unknown inputs":  {q(parts(), Inputs{}, false), now, ActionRedraft},
	} {
		b := c.q.Reverting("v1")
		if d := cmp.Diff(Build{As: c.as, Reasons: []string{"set back to v1"}, Inputs: c.want}, b); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// What was set back is left until it is decided, what it takes back changes, or
// somebody asks.
func TestReverted(t *testing.T) {
	newer := parts()
	newer.UpstreamTree = "another"
	second, third := tag(2, 9), tag(3, 10)
	draft := draftOf(3, 10, since("v2"), recorded(parts().Inputs(&second)), reverting("v1"))
	published := publishedOf(3, 10, recorded(parts().Inputs(&second)), reverting("v1"))
	asItWas := publishedOf(3, 10, recorded(parts().Inputs(&second)), reverting("v2"))
	const open = "sets it back to v1 by Ann: approve it, or discard it; apply --retry c1/web drafts the variant as it is now instead"
	for name, c := range map[string]struct {
		from  *Revision
		parts Parts
		retry bool
		waits string
		as    Action
	}{
		"a Draft":                 {draft, parts(), false, open, ""},
		"a Draft, newer inputs":   {draft, newer, false, open, ""},
		"a Draft, asked for":      {draft, parts(), true, "", ActionUpdate},
		"Published":               {published, parts(), false, "set back to v1 by Ann: apply --retry c1/web drafts what was set back again", ""},
		"Published, newer":        {published, newer, false, "", ActionRedraft},
		"Published as it was":     {asItWas, parts(), false, "set back to v2 by Ann: apply --retry c1/web drafts what was set back again", ""},
		"as it was, newer":        {asItWas, newer, false, "", ActionRedraft},
		"Published, asked for":    {published, parts(), true, "", ActionRedraft},
		"Published, no revert":    {publishedOf(3, 10, recorded(parts().Inputs(&second))), parts(), true, "", ""},
		"a Draft, edited by hand": {draftOf(3, 10, since("v2"), recorded(parts().Inputs(&second)), reverting("v1"), edited), parts(), false, open, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := wanted()
			w.Retry = c.retry
			p := webPackage(tags(tag(1, 8), second), c.from, publishedOf(2, 9))
			if c.from.Number > 0 {
				p = webPackage(tags(tag(1, 8), second, third), c.from)
			}
			q := Question{Want: w, Work: Work{From: c.from, Since: &second}, Repo: repository(p), Package: p, Parts: c.parts}
			switch i := Intend(q).(type) {
			case Build:
				if c.as != i.As {
					t.Errorf("%s: %v", i.As, i.Reasons)
				}
				brings := c.from == published && !c.retry // of v2, which was there between v1 and v3
				if brings != slices.Contains(i.Reasons, "brings what was taken back with it, though it was set back to v1 by Ann") || c.from == asItWas && len(i.Reasons) != 1 {
					t.Errorf("%q", i.Reasons)
				}
			case Rule:
				if (i.Decision == Wait{}) != (c.waits != "") || c.waits != "" && i.Reasons[0] != c.waits || c.as != "" {
					t.Errorf("%T: %v", i.Decision, i.Reasons)
				}
			}
		})
	}
	if err := draft.Reverting(); err != nil {
		t.Error(err)
	}
	if s := saying(draftOf(3, 10, reverting("v1"), edited).Reverting(), "was edited by hand (0a00000)"); s != "" {
		t.Error(s)
	}
}

func TestEarlier(t *testing.T) {
	past := func(n int, tree byte, commit byte) record.Entry {
		return record.Entry{Place: record.Past, Revision: n, Tree: Hash{tree}.String(), Commit: Hash{commit}.String()}
	}
	p := webPackage(tags(tag(2, 12), tag(3, 13), tag(4, 14)), publishedOf(4, 14))
	p.Entries = []record.Entry{past(1, 41, 11), past(2, 41, 12), past(4, 41, 14), {Place: record.Main, Tree: Hash{41}.String()}}
	gone := Published{Number: 1, Ref: Ref{Name: lifecycle.PublishedRef(webPath, 1), Commit: Hash{11}}}
	for name, c := range map[string]struct {
		tree byte
		most int
		want []Published
	}{
		"what the record names, and what it does not know": {41, 5, tags(tag(3, 13), tag(2, 12), gone)},
		"what it does not know":                            {42, 5, tags(tag(3, 13))},
		"not all":                                          {41, 2, tags(tag(3, 13), tag(2, 12))},
	} {
		if d := cmp.Diff(c.want, p.Earlier(Hash{c.tree}, c.most)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
