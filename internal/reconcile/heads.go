package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
	"github.com/variform/variform/internal/pulls"
)

// Downstream is the Repository of what was read last.
func (e *Engine) Downstream(namespace, name string) *observe.Repo {
	return e.read.Repo(namespace, name)
}

// Repositories are the Git repositories of what was read last, each once; of a shard
// its own.
func (e *Engine) Repositories() []*observe.Repo {
	return slices.DeleteFunc(e.read.GitRepositories(), func(r *observe.Repo) bool { return r.Elsewhere })
}

// PushHeads makes and removes branches for pull requests.
func (e *Engine) PushHeads(ctx context.Context, repo *observe.Repo, heads []*publish.Head) error {
	err := publish.PushHeads(ctx, repo, heads)
	if err == nil {
		for _, h := range heads {
			state(e, repo, h.Ref, h.Commit, stateHead)
		}
	}
	return err
}

// stateHead is what is stated of a head that this machine made.
const stateHead = "head"

// IsHead reports whether the tip of a head is what its Drafts make, by what this machine
// states or by comparing.
func IsHead(ctx context.Context, e *Engine, repo *observe.Repo, h *publish.Head) (bool, error) {
	if e.cfg.Statements != nil && e.cfg.Statements.Has(statementOf(repo, h.Ref, h.Old, stateHead)...) {
		return true, nil
	}
	is, err := h.Is(ctx, repo, h.Old)
	if is {
		state(e, repo, h.Ref, h.Old, stateHead)
	}
	return is, err
}

// EditedHead is what people committed to a head.
func (e *Engine) EditedHead(ctx context.Context, repo *observe.Repo, tip decide.Hash) (*publish.Edited, error) {
	return publish.ReadHead(ctx, repo, tip)
}

// Taken is what became of people's commits on the head of a pull request.
type Taken struct {
	*publish.Taken
	Repository string
}

// String says it for people.
func (t Taken) String() string {
	if t.Err != nil {
		return fmt.Sprintf("Repository %s: what %s committed to %s is left there, since %v", t.Repository, t.By, t.Branch, t.Err)
	}
	return fmt.Sprintf("Repository %s: what %s committed to %s is on the Drafts of %s now, which the head is made of", t.Repository, t.By, t.Branch, strings.Join(t.Drafts, ", "))
}

// Taken are those that were found since the Engine was made.
func (e *Engine) Taken() []Taken { return e.taken }

// takeHeads brings what people committed to heads onto their Drafts, where the run is
// to do that. It says whether Drafts moved, and what could not be read.
func (e *Engine) takeHeads(ctx context.Context) (moved bool, problems []error) {
	if !e.cfg.TakeHeads {
		return false, nil
	}
	e.cfg.TakeHeads = false // what comes during a run is the next one's
	type result struct {
		taken []Taken
		err   error
	}
	results, err := observe.Parallel(ctx, e.read.Repositories(), e.Repositories(), func(ctx context.Context, repo *observe.Repo) (r result) {
		prefix := lifecycle.BranchRef(pulls.BranchPrefix(string(e.manager)))
		var heads []gitrepo.Ref
		var tips []gitrepo.Hash
		for _, ref := range repo.Git.Refs().All() {
			if strings.HasPrefix(ref.Name, prefix) {
				heads, tips = append(heads, ref), append(tips, ref.Commit)
			}
		}
		_, _ = repo.Git.Commits(ctx, tips...) // in one request: what does not come is said of its head
		for _, ref := range heads {
			t, err := publish.TakeEdits(ctx, repo, ref)
			if err != nil {
				r.err = errors.Join(r.err, fmt.Errorf("Repository %s: what people committed to %s: %w", repo.Name, ref.Name, err))
			} else if t != nil {
				r.taken = append(r.taken, Taken{t, repo.Name})
			}
		}
		return r
	})
	for _, r := range results {
		e.taken = append(e.taken, r.taken...)
		if r.err != nil {
			problems = append(problems, r.err)
		}
		moved = moved || slices.ContainsFunc(r.taken, func(t Taken) bool { return t.Err == nil })
	}
	if err != nil {
		problems = append(problems, err)
	}
	return moved, problems
}

// Manager signs what is made.
func (e *Engine) Manager() decide.Manager { return e.manager }
