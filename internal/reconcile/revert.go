package reconcile

import (
	"context"
	"fmt"

	"github.com/variform/variform/internal/build"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
)

// Revert makes, of each package that names mean, a Draft of what its Published
// revision n held. Problems are what could not be read; the error says that nothing
// was tried.
func (e *Engine) Revert(ctx context.Context, names []string, n int) (out []*Said, problems []error, err error) {
	s := e.read.Read(ctx)
	wants, err := called(s.Wants, names)
	if err != nil {
		return nil, s.Problems, err
	}
	by, err := gitrepo.UserSignature(ctx, e.cfg.Now())
	if err != nil {
		return nil, s.Problems, err
	}
	e.read.FetchTrees(ctx, wants)
	e.read.ReadUpstreams(ctx, wants)
	r := &run{Engine: e, snapshot: s, alone: true, stages: map[observe.Repository]*gitrepo.Stage{}}
	type result struct {
		*Said
		change *publish.Change
	}
	results, err := observe.Parallel(ctx, e.limit(), wants, func(ctx context.Context, w *decide.Want) result {
		said := &Said{Identity: w.Identity}
		c, err := r.revert(ctx, w, n, by.Name, said)
		said.Err = err
		return result{said, c}
	})
	if err != nil {
		return nil, s.Problems, err
	}
	changes := map[observe.Repository][]*publish.Change{}
	for _, res := range results {
		out = append(out, res.Said)
		if res.change != nil {
			changes[res.change.Repo.Git] = append(changes[res.change.Repo.Git], res.change)
		}
	}
	e.pushAll(ctx, r, changes)
	for _, res := range results {
		if res.change != nil {
			res.Err = res.change.Err
		}
	}
	return out, s.Problems, ctx.Err()
}

// revert builds what sets one package back; no change where that is done.
func (r *run) revert(ctx context.Context, w *decide.Want, n int, by string, said *Said) (*publish.Change, error) {
	s := &subject{want: w}
	var err error
	if s.repo, err = r.read.Downstream(w.Namespace, w.Repository); err != nil {
		return nil, err
	}
	s.pkg = s.repo.Package(s.repo.Path(w.Package))
	if err := r.read.ReadTrees(ctx, s.repo, s.pkg); err != nil {
		return nil, err
	}
	if err := r.read.ReadBranch(ctx, s.repo, s.pkg); err != nil {
		return nil, err
	}
	var old *decide.Revision
	if t := s.pkg.Tagged(decide.RevisionName(n)); t != nil {
		if old, _, err = s.repo.ReadPublished(ctx, s.pkg, *t); err != nil {
			return nil, err
		}
	}
	to, work, done, err := decide.Revert(r.manager, w, s.repo.Repository, s.pkg, n)
	if said.Now = done; err != nil || done != "" {
		return nil, err
	}
	if s.up = r.read.UpstreamOf(ctx, w); s.up.Err != nil {
		return nil, fmt.Errorf("it cannot be told what is set back: %w", s.up.Err)
	}
	q, err := r.question(s, work)
	if err != nil {
		return nil, err
	}
	b := q.Reverting(decide.RevisionName(to.Number))
	m := r.builder.Make(ctx, build.Job{Question: q, Build: b, Repo: s.repo, Stage: r.stage(s.repo.Git), Revert: old, By: by})
	if m.Err != nil {
		return nil, m.Err
	}
	said.Now = fmt.Sprintf("Draft %s sets it back to %s", m.Workspace, decide.RevisionName(to.Number))
	d := decide.Draft{As: b.As, Ref: m.Ref}
	if b.As == decide.ActionUpdate {
		d.From = work.From
	}
	return r.draftChange(s, d, b, m), nil
}

// reverting refuses a Draft that sets a package back where a person did more to it
// than meet its gates.
func reverting(ctx context.Context, repo *observe.Repo, path string, h *decide.Revision) error {
	err := h.Reverting()
	if err == nil || h.Amended() {
		return err
	}
	if same, serr := build.SameSince(ctx, repo, h, path); serr != nil || same {
		return serr
	}
	return err
}
