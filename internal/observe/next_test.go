package observe

import (
	"testing"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
)

// A package's history goes on at the merge of its own Draft. The merge of another
// package, to which a tag was moved, is no reason to leave the registered branch.
func TestNext(t *testing.T) {
	branch, draft, at := gitrepo.Hash{1}, gitrepo.Hash{2}, gitrepo.Hash{3}
	for name, c := range map[string]struct {
		number   int
		packages []string // of the commit's annotations
		parents  []gitrepo.Hash
		want     gitrepo.Hash
	}{
		"one parent":                          {1, []string{"app"}, []gitrepo.Hash{branch}, branch},
		"the approval of the package":         {1, []string{"app"}, []gitrepo.Hash{branch, draft}, draft},
		"a forge's merge that was tagged":     {1, nil, []gitrepo.Hash{branch, draft}, draft},
		"a forge's merge below a Draft":       {0, nil, []gitrepo.Hash{branch, draft}, branch},
		"the approval of another package":     {1, []string{"db"}, []gitrepo.Hash{branch, draft}, branch},
		"the approval of several packages":    {1, []string{"db", "app"}, []gitrepo.Hash{branch, draft}, draft},
		"another package's, below this Draft": {0, []string{"db"}, []gitrepo.Hash{branch, draft}, branch},
	} {
		t.Run(name, func(t *testing.T) {
			commit := &gitrepo.Commit{Hash: at, Parents: c.parents}
			for _, p := range c.packages {
				commit.Annotations = append(commit.Annotations, gitrepo.Annotation{Package: p})
			}
			h := &head{Revision: &decide.Revision{Number: c.number, Ref: decide.Ref{Commit: decide.Hash(at)}}, path: "app"}
			if got := h.next(commit); got != c.want {
				t.Errorf("goes on at %s, want %s", got, c.want)
			}
		})
	}
}
