package reconcile

import (
	"context"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/observe"
)

// readFindings finds what Kubernetes would refuse of candidates.
func readFindings(ctx context.Context, e *Engine, chosen []*decide.Candidate) {
	var list []*decide.Candidate
	for _, c := range chosen {
		if c.Err == nil && c.From.Open() && c.Repo.Deployment && !c.IsLock() && c.Head.Reverts() == "" {
			list = append(list, c)
		}
	}
	e.read.FetchHeads(ctx, list)
	_, _ = observe.Parallel(ctx, e.limit(), list, func(ctx context.Context, c *decide.Candidate) struct{} {
		c.Findings = findingsOf(ctx, e, e.read.Repo(c.Namespace, c.Repository), c.Package, c.Head)
		return struct{}{}
	})
}

// findingsOf checks the content of an open revision. What the registered branch holds is there
// already. What cannot be read has no findings: publishing it fails, or has its own reason.
func findingsOf(ctx context.Context, e *Engine, repo *observe.Repo, p *decide.Package, h *decide.Revision) []decide.Finding {
	_, draft, err := repo.ReadPackage(ctx, h.Ref.Commit, p.Path)
	if err != nil || len(decide.Invalid(e.builder.Validator.Check(repo.Repository, draft, nil))) == 0 {
		return nil
	}
	_, there, err := packageAt(ctx, repo, repo.Head, p.Path)
	if err != nil {
		return nil
	}
	return e.builder.Validator.Check(repo.Repository, draft, there)
}
