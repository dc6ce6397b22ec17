package observe

import (
	"context"
	"errors"
	"slices"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/review"
)

// maxWriters is how many commits are looked at for who wrote a package's edits.
const maxWriters = 50

// FindWriters fills in By of the edits of a package at a commit, against what the
// machine made: the author and the oldest commit of the history that has the edit,
// "Robin (4f2a91c)". It stays "" where that is the machine's, or too far back.
func (r *Repo) FindWriters(ctx context.Context, path string, at decide.Hash, made *krm.Package, edits []review.Edit) error {
	w := &writers{repo: r, path: path, made: made, found: map[decide.Hash][]review.Edit{}}
	by := make([]string, len(edits))
	defer func() {
		for i := range edits {
			edits[i].By = by[i]
		}
	}()
	todo := map[decide.Hash][]int{}
	for i := range edits {
		todo[at] = append(todo[at], i)
	}
	order := []decide.Hash{at}
	for n := 0; n < len(order) && n < maxWriters; n++ {
		commits, err := r.Git.Commits(ctx, gitrepo.Hash(order[n]))
		if err != nil {
			return known(err)
		}
		c := commits[0]
		for _, p := range c.Parents {
			if len(todo[order[n]]) == 0 {
				break // found behind an earlier parent: what else was merged may have to be fetched
			}
			parent := decide.Hash(p)
			have, err := w.edits(ctx, parent)
			if err != nil {
				return known(err)
			}
			todo[order[n]] = slices.DeleteFunc(todo[order[n]], func(i int) bool {
				if !slices.Contains(have, edits[i]) {
					return false
				}
				if todo[parent] == nil {
					order = append(order, parent)
				}
				todo[parent] = append(todo[parent], i)
				return true
			})
		}
		for _, i := range todo[order[n]] {
			if c.Committer.Email != MachineEmail {
				by[i] = c.Author.Name + " (" + c.Hash.String()[:7] + ")"
			}
		}
	}
	return nil
}

// known is an error, but for a history that is not there any more.
func known(err error) error {
	if errors.Is(err, gitrepo.ErrMissingObject) {
		return nil
	}
	return err
}

// writers reads one package's edits at many commits.
type writers struct {
	repo  *Repo
	path  string
	made  *krm.Package
	found map[decide.Hash][]review.Edit // by tree
}

func (w *writers) edits(ctx context.Context, commit decide.Hash) ([]review.Edit, error) {
	tree, err := w.repo.TreeAt(ctx, commit, w.path)
	if err != nil || tree.IsZero() {
		return nil, err
	}
	if have, ok := w.found[tree]; ok {
		return have, nil
	}
	p, err := w.repo.Git.ReadPackage(ctx, gitrepo.Hash(tree)) // most often that of a revision
	if errors.Is(err, gitrepo.ErrMissingObject) {
		_, p, err = w.repo.ReadPackage(ctx, commit, w.path)
	}
	if err != nil {
		return nil, err
	}
	w.found[tree], err = review.Edits(w.made, p)
	return w.found[tree], err
}
