package decide

import (
	"strings"
	"testing"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/record"
)

// unmade removes the machine's commit from a revision.
func unmade(r *Revision) { r.Owner, r.Machine, r.By = "", nil, "Pat" }

// A Draft whose history somebody replaced is theirs: the variant waits, and makes none
// beside it unasked.
func TestReplaced(t *testing.T) {
	entry := func(change ...func(*record.Entry)) record.Entry {
		e := record.Entry{Place: record.Open, Workspace: workspace(2), Commit: Hash{8}.String(), Owner: webOwner}
		for _, f := range change {
			f(&e)
		}
		return e
	}
	orphan := draftOf(2, 10, unmade)
	for name, c := range map[string]struct {
		reason string
		draft  *Revision
		entry  record.Entry
		latest *Revision
		change func(*Question)
		says   string // "" where it does not wait
	}{
		"replaced":           {"what people wrote is not left out", orphan, entry(), publishedOf(1, 9), nil, "history of drafts/apps/web/packagevariant-2 was replaced by Pat (0a00000): the commit that apply made (0800000) is not in it: push"},
		"the first Draft":    {"", orphan, entry(), nil, nil, "history of drafts/apps/web/packagevariant-2 was replaced"},
		"Proposed":           {"", proposedOf(2, 10, unmade), entry(), publishedOf(1, 9), nil, "history of proposed/apps/web/packagevariant-2 was replaced"},
		"a way on":           {"its variant may adopt it", orphan, entry(), nil, nil, "adoptExisting"},
		"asked for":          {"a person wants one beside it", orphan, entry(), publishedOf(1, 9), func(q *Question) { q.Retry = true }, ""},
		"amended":            {"it is the variant's, with edits", draftOf(2, 10, func(r *Revision) { r.Machine.Ours = false }), entry(), nil, nil, ""},
		"edited":             {"the machine's commit is behind", draftOf(2, 10, edited), entry(), nil, nil, ""},
		"another's":          {"it is not this variant's", draftOf(2, 10, unmade, by("team/default/web")), entry(), nil, nil, ""},
		"unknown":            {"nothing tells that it was the machine's", orphan, entry(func(e *record.Entry) { e.Workspace = workspace(3) }), nil, nil, ""},
		"withdrawn":          {"a person began another of its name", orphan, entry(func(e *record.Entry) { e.Withdrawn = 4 }), nil, nil, ""},
		"released":           {"it is nobody's", orphan, entry(func(e *record.Entry) { e.Owner = record.Nobody }), nil, nil, ""},
		"published":          {"another tool published it", orphan, entry(), publishedOf(2, 9), nil, ""},
		"what was Published": {"that is no Draft", orphan, entry(func(e *record.Entry) { e.Place = record.Past }), publishedOf(1, 9), nil, ""},
	} {
		revisions, published := []*Revision{c.draft}, tags()
		if c.latest != nil {
			revisions, published = append(revisions, c.latest), tags(tag(c.latest.Number, 9))
		}
		p := webPackage(published, revisions...)
		p.Entries = []record.Entry{c.entry}
		q := asked(p, c.latest, upgraded)
		if c.change != nil {
			c.change(&q)
		}
		rule, waits := q.respected()
		if got := strings.Join(rule.Reasons, ""); waits != (c.says != "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q: %s", name, got, c.says, c.reason)
		}
	}
	p := webPackage(nil, orphan)
	p.Entries = []record.Entry{entry()}
	q := asked(p, orphan)
	q.Adopt = true
	if b, ok := Intend(q).(Build); !ok || !strings.Contains(b.Reasons[0], "adopted: history of drafts/apps/web/packagevariant-2 was replaced by Pat") {
		t.Errorf("adopted: %+v", Intend(q))
	}
	then := entry(func(e *record.Entry) { e.Inputs = parts().Inputs(&Published{Number: 1}).String() })
	latest := publishedOf(1, 9)
	p = webPackage(tags(tag(1, 9)), orphan, latest)
	p.Entries = []record.Entry{then}
	adopts := wanted(func(pv *v1alpha1.PackageVariant) { pv.Spec.AdoptionPolicy = v1alpha1.AdoptExisting })
	if works, err := Select(fleet, adopts, repository(p), p); err != nil || len(works) != 1 || works[0].From != orphan || works[0].Since == nil || works[0].Since.Number != 1 {
		t.Errorf("adopted, of the record's revision: %+v, %v", works, err)
	}
	own := draftOf(3, 11)
	p = webPackage(nil, orphan, own)
	p.Entries = []record.Entry{entry()}
	if rule, waits := asked(p, own).replaced(); waits {
		t.Errorf("the variant went on in another: %q", rule.Reasons)
	}
}
