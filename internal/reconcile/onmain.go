package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
)

// ApproveMain publishes what people committed to the registered branches of
// packages, those that names mean or all, each as a revision of its own. Problems
// are what could not be read; the error says that nothing was tried.
func (e *Engine) ApproveMain(ctx context.Context, names []string) (verdicts []*Verdict, problems []error, err error) {
	s := e.read.Read(ctx)
	wants := s.Wants
	if len(names) > 0 {
		if wants, err = called(wants, names); err != nil {
			return nil, nil, errors.Join(append([]error{err}, s.Failures()...)...)
		}
	}
	unread := e.read.FetchMain(ctx, wants)
	e.read.FetchStanding(ctx, wants)
	type result struct {
		*Verdict
		change *publish.Change
	}
	looked, err := observe.Parallel(ctx, e.limit(), wants, func(ctx context.Context, w *decide.Want) result {
		v, c := e.onMain(ctx, w, unread)
		return result{v, c}
	})
	if err != nil {
		return nil, nil, err
	}
	changes := map[observe.Repository][]*publish.Change{}
	of := map[*publish.Change]*Verdict{}
	var nothing []string
	for _, l := range looked {
		if l.Verdict == nil {
			continue
		}
		if errors.Is(l.Err, decide.ErrNoLocalChange) {
			nothing = append(nothing, fmt.Sprintf("%s: %v", l.Identity, l.Err))
			continue
		}
		verdicts = append(verdicts, l.Verdict)
		if l.Err == nil {
			git := l.Repo.Git
			changes[git], of[l.change] = append(changes[git], l.change), l.Verdict
		}
	}
	if len(verdicts) == 0 {
		err := fmt.Errorf("%w: %s", ErrNothing, strings.Join(decide.Limit(nothing, 5), "; "))
		return nil, nil, errors.Join(append([]error{err}, s.Failures()...)...)
	}
	e.pushAll(ctx, &run{Engine: e, stages: map[observe.Repository]*gitrepo.Stage{}}, changes)
	for c, v := range of {
		if v.Err = c.Err; v.Err == nil {
			v.To, v.Number = lifecycle.Published, c.Package.Latest.Number
		}
	}
	return verdicts, s.Failures(), ctx.Err()
}

// pushAll pushes what a person asked for, each repository's changes at once.
func (e *Engine) pushAll(ctx context.Context, r *run, changes map[observe.Repository][]*publish.Change) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(e.read.Repositories())
	for git, list := range changes {
		g.Go(func() error {
			p := publish.Pusher{Read: e.read, Stage: r.stage(git), Again: moved}
			p.Push(ctx, git, list)
			r.closeStage(git)
			return nil
		})
	}
	_ = g.Wait()
	r.closeStages()
}

// moved ends what a lost race undid: the person has not seen what came.
func moved(context.Context, observe.Repository, []*publish.Change) ([]*publish.Change, error) {
	return nil, fmt.Errorf("what is to be published %w: look at it again", ErrMoved)
}

// onMain finds out what is to be published of one package as it stands on its
// registered branch; of one that is not there, or a lock, nothing.
func (e *Engine) onMain(ctx context.Context, w *decide.Want, unread map[*decide.Package]error) (*Verdict, *publish.Change) {
	repo, err := e.read.Downstream(w.Namespace, w.Repository)
	if err != nil || w.Lock() != nil {
		return nil, nil
	}
	p := repo.Package(repo.Path(w.Package))
	c := &decide.Candidate{Identity: w.Identity, From: lifecycle.Published, Head: p.Latest, Package: p, Repo: repo.Repository, Set: w.Set}
	v := &Verdict{Candidate: c, Repo: repo}
	if p.Latest != nil {
		v.Revision = p.Latest.Number
	}
	if c.Err = unread[p]; c.Err == nil {
		c.Err = e.read.ReadMain(ctx, repo, p)
	}
	if c.Err != nil {
		return v, nil
	}
	tag, now, err := decide.OnMain(e.manager, w, repo.Repository, p)
	if err == nil {
		err = e.builder.Stands(ctx, repo, w, p)
	}
	if c.Err = err; err != nil {
		return v, nil
	}
	v.Commit = tag.Commit.String()
	return v, &publish.Change{Repo: repo, Package: now, Decision: tag}
}
