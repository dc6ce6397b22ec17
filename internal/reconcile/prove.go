package reconcile

import (
	"cmp"
	"context"

	"github.com/variform/variform/internal/build"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/observe"
)

// This file asks and makes the statements of this machine about open revisions
// (docs/design/trust.md#what-proved-means). What their commits and the record say proves
// nothing.

// confirm is a question with what this machine states of its revision.
func confirm(e *Engine, q decide.Question, repo *observe.Repo) decide.Question {
	if e.cfg.Statements == nil || decide.BuiltAs(q.From) == "" {
		return q
	}
	return q.Confirm(stated(e, repo, q.Package.Path, q.From.Ref.Commit), e.cfg.Statements.Has(statementOf(repo, q.Package.Path, q.From.Ref.Commit, q.InputsKey())...))
}

// stated is what this machine states of a commit.
func stated(e *Engine, repo *observe.Repo, path string, commit decide.Hash) decide.ProofState {
	for _, state := range []decide.ProofState{decide.Proved, decide.Edited} {
		if e.cfg.Statements != nil && e.cfg.Statements.Has(statementOf(repo, path, commit, string(state))...) {
			return state
		}
	}
	return ""
}

// state states something of a commit.
func state(e *Engine, repo *observe.Repo, path string, commit decide.Hash, what string) {
	if e.cfg.Statements != nil && what != "" && !commit.IsZero() {
		e.cfg.Statements.Put(statementOf(repo, path, commit, what)...)
	}
}

func statementOf(repo *observe.Repo, path string, commit decide.Hash, what string) []string {
	return []string{"draft", decide.PlainAddress(repo.Repository.Git), path, commit.String(), what}
}

// prove builds those open revisions again that are to be published as they are, and those
// that this machine knows nothing of: many at once. What is more than a build is a person's,
// and is built as such.
func (r *run) prove(ctx context.Context, subjects []*subject) error {
	type task struct {
		*subject
		*revision
		publish bool
	}
	var todo []task
	var questions []*decide.Question
	a := r.activation()
	for _, s := range subjects {
		for _, v := range s.revisions {
			publish := a.Proves(&v.outcome)
			if publish || r.building && s.err == nil && v.unconfirmed() {
				todo = append(todo, task{s, v, publish})
				questions = append(questions, again(v.outcome.Question)...)
			}
		}
	}
	if len(todo) == 0 {
		return nil
	}
	r.read.FetchStarts(ctx, questions)
	if _, err := observe.Parallel(ctx, r.limit(), todo, func(ctx context.Context, t task) struct{} {
		o := &t.outcome
		p := r.builder.Prove(ctx, t.job(o))
		if t.publish {
			invalid := decide.Invalid(findingsOf(ctx, r.Engine, t.repo, t.pkg, o.From))
			o.Unproved = cmp.Or(decide.NotValid(invalid), p.Unseen(o.From))
		}
		if o.Unconfirmed() {
			proven(r, t.subject, o, p)
		}
		return struct{}{}
	}); err != nil {
		return err
	}
	return r.build(ctx, subjects)
}

// again are what building an open revision again reads: it, and what is Published.
func again(q decide.Question) []*decide.Question {
	out := []*decide.Question{&q}
	if latest := q.Package.Latest; latest != nil {
		from := q
		from.From = latest
		out = append(out, &from)
	}
	return out
}

// unconfirmed reports whether a revision stays as it is on the word of its commit alone.
func (v *revision) unconfirmed() bool {
	rule, ok := v.outcome.Intent.(decide.Rule)
	stays := ok && rule.Err == nil && rule.Decision == decide.Nothing{}
	if stays && v.outcome.Package.Rollout != "" { // its content was approved
		return false
	}
	return (stays || v.outcome.Tried && v.outcome.Same) && v.outcome.Unconfirmed()
}

// proven takes over what building a revision again showed.
func proven(r *run, s *subject, o *decide.Outcome, p *build.Proven) {
	commit := o.From.Ref.Commit
	switch {
	case p.Proved():
		o.Proven = true
		state(r.Engine, s.repo, s.pkg.Path, commit, string(decide.Proved))
	case len(p.Differs) > 0:
		if o.Question.From = o.From.Disowned(); !o.Tried {
			o.Intent = decide.Intend(o.Question)
			return
		}
	default:
		o.Warnings = append(o.Warnings, "it cannot be proved here: "+p.Err.Error())
		return
	}
	if o.Tried {
		o.Gave = true
		state(r.Engine, s.repo, s.pkg.Path, commit, o.InputsKey())
	}
}

// judge builds open candidates again that this machine knows nothing of, so that what they
// hold beyond a build is shown as edits. Those that cannot be judged, for they are not of the
// inputs of now, say of themselves what is shown; approve refuses them.
func judge(ctx context.Context, e *Engine, s *observe.Snapshot, list []*decide.Candidate) {
	var copies, of []*decide.Candidate
	for _, c := range list {
		repo := e.read.Repo(c.Namespace, c.Repository)
		state := stated(e, repo, c.Package.Path, c.Head.Ref.Commit)
		if state == decide.Edited {
			c.Edits = []string{c.Package.Path}
		}
		if c.From.Open() && c.Head.Reverts() == "" && state == "" {
			again := *c
			copies, of = append(copies, &again), append(of, c)
		}
	}
	e.refuseOutdated(ctx, s, copies)
	for i, c := range copies {
		of[i].Edits, of[i].Built = c.Edits, c.Built
	}
}
