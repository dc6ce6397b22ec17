package reconcile

import (
	"cmp"
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
	e.read.FetchReverted(ctx, wants, decide.RevisionName(n))
	e.read.ReadUpstreams(ctx, wants)
	r := &run{Engine: e, snapshot: s, alone: true, stages: map[observe.Repository]*gitrepo.Stage{}}
	defer r.closeStages()
	all, err := observe.Parallel(ctx, e.limit(), wants, func(ctx context.Context, w *decide.Want) *setBack {
		b := &setBack{said: &Said{Identity: w.Identity}, subject: &subject{want: w}}
		b.asked, b.said.Err = r.askBack(ctx, b, n, by.Name)
		return b
	})
	if err != nil {
		return nil, s.Problems, err
	}
	var asked []*setBack
	var starts []observe.SettingBack
	for _, b := range all {
		if out = append(out, b.said); b.asked {
			asked, starts = append(asked, b), append(starts, observe.SettingBack{Question: &b.job.Question, To: b.job.Revert})
		}
	}
	e.read.FetchRevertStarts(ctx, starts)
	built, err := observe.Parallel(ctx, e.limit(), asked, func(ctx context.Context, b *setBack) *publish.Change {
		c, err := r.revert(ctx, b)
		b.said.Err = err
		return c
	})
	if err != nil {
		return nil, s.Problems, err
	}
	changes := map[observe.Repository][]*publish.Change{}
	for _, c := range built {
		if c != nil {
			changes[c.Repo.Git] = append(changes[c.Repo.Git], c)
		}
	}
	e.pushAll(ctx, r, changes)
	for i, c := range built {
		if c != nil {
			asked[i].said.Err = c.Err
		}
	}
	return out, s.Problems, ctx.Err()
}

// setBack is one package that is to be set back.
type setBack struct {
	said    *Said
	subject *subject
	asked   bool // there is something to build
	job     build.Job
}

// askBack collects what sets a package back; asked is false where that is done.
func (r *run) askBack(ctx context.Context, b *setBack, n int, by string) (asked bool, err error) {
	s, w := b.subject, b.subject.want
	if s.repo, err = r.read.Downstream(w.Namespace, w.Repository); err != nil {
		return false, err
	}
	s.pkg = s.repo.Package(s.repo.Path(w.Package))
	if err := r.read.ReadTrees(ctx, s.repo, s.pkg); err != nil {
		return false, err
	}
	if err := r.read.ReadBranch(ctx, s.repo, s.pkg); err != nil {
		return false, err
	}
	var old *decide.Revision
	if t := s.pkg.Tagged(decide.RevisionName(n)); t != nil {
		if old, _, err = s.repo.ReadPublished(ctx, s.pkg, *t); err != nil {
			return false, err
		}
	}
	to, work, done, err := decide.Revert(r.manager, w, s.repo.Repository, s.pkg, n)
	if b.said.Now = done; err != nil || done != "" {
		return false, err
	}
	if s.up = r.read.UpstreamOf(ctx, w); s.up.Err != nil {
		return false, fmt.Errorf("it cannot be told what is set back: %w", s.up.Err)
	}
	q, err := r.question(s, work)
	if err != nil {
		return false, err
	}
	b.job = build.Job{Question: q, Build: q.Reverting(decide.RevisionName(to.Number)), Repo: s.repo, Stage: r.stage(s.repo.Git), Revert: old, By: by}
	return true, nil
}

// revert builds what sets a package back.
func (r *run) revert(ctx context.Context, b *setBack) (*publish.Change, error) {
	m := r.builder.Make(ctx, b.job)
	if m.Err != nil {
		return nil, m.Err
	}
	b.said.Now = fmt.Sprintf("Draft %s sets it back to %s", m.Workspace, decide.RevisionName(b.job.Revert.Number))
	d := decide.Draft{As: b.job.As, Ref: m.Ref}
	if d.As == decide.ActionUpdate {
		d.From = b.job.From
	}
	return r.draftChange(b.subject, d, b.job.Build, m), nil
}

// reverting refuses a Draft that sets a package back where a person did more to it
// than meet its gates; see [build.RevertDiffers].
func reverting(ctx context.Context, repo *observe.Repo, p *decide.Package, h *decide.Revision) (differs []string, based bool, err error) {
	if err := h.Reverting(); err != nil {
		if same, serr := build.SameSince(ctx, repo, h, p.Path); h.Amended() || serr != nil || !same {
			return nil, false, cmp.Or(serr, err)
		}
	}
	return build.RevertDiffers(ctx, repo, p, h)
}
