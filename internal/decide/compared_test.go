package decide

import (
	"testing"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

func TestComparedBy(t *testing.T) {
	t.Parallel()
	v1, entry := Hash{1}, record.Entry{Path: "web", Place: record.Past, Revision: 1, Commit: Hash{1}.String(), Tree: Hash{7}.String()}
	for reason, c := range map[string]struct {
		latest  bool
		head    Hash
		entries []record.Entry
		want    string
	}{
		"nothing is Published":            {head: Hash{2}, want: NoComparison},
		"the branch does not exist":       {latest: true, want: NoComparison},
		"the branch is at the revision":   {latest: true, head: v1, want: NoComparison},
		"the record knows the revision":   {latest: true, head: Hash{2}, entries: []record.Entry{entry}, want: ByRecord},
		"record-ref: none, or it is lost": {latest: true, head: Hash{2}, want: ByRevision},
		"the record knows another commit": {latest: true, head: Hash{2}, entries: []record.Entry{{Path: "web", Place: record.Past, Revision: 1, Commit: Hash{3}.String(), Tree: Hash{7}.String()}}, want: ByRevision},
	} {
		var revisions []*Revision
		if c.latest {
			revisions = append(revisions, &Revision{Number: 1, Phase: lifecycle.Published, Ref: Ref{Commit: v1}})
		}
		p := NewPackage("web", nil, revisions...)
		p.Entries = c.entries
		if got := p.ComparedBy(c.head); got != c.want {
			t.Errorf("%s: %q", reason, got)
		}
	}
}
