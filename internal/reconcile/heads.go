package reconcile

import (
	"context"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
)

// Downstream is the Repository of what was read last.
func (e *Engine) Downstream(namespace, name string) *observe.Repo {
	return e.read.Repo(namespace, name)
}

// Repositories are the Git repositories of what was read last, each once.
func (e *Engine) Repositories() []*observe.Repo { return e.read.GitRepositories() }

// PushHeads makes and removes branches for pull requests.
func (e *Engine) PushHeads(ctx context.Context, repo *observe.Repo, heads []*publish.Head) error {
	return publish.PushHeads(ctx, repo, heads)
}

// Manager signs what is made.
func (e *Engine) Manager() decide.Manager { return e.manager }
