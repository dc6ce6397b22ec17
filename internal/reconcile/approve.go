package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/build"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
)

// Request names the revisions that a person decides about.
type Request struct {
	Verb decide.Verb
	// Selection is of this manager's revisions, which Porch's names mean too; All
	// says that none is needed.
	decide.Selection
	All bool
	// Alone leaves out what is there because others need it, and locks. Without
	// it, what is named brings along what it needs.
	Alone bool
	// Expect, where not nil, are the only revisions meant, each as
	// the person saw it: one that moved since is refused, and then none is
	// decided. The Selection, and Part, take a part of them.
	Expect map[decide.RevisionID]decide.Seen
	Part   decide.Part
	// AcceptLost publishes revisions that lose edits by hand though nobody saw them as
	// members of a class.
	AcceptLost bool
	// AcceptEdits publishes revisions that hold edits though nobody saw them as a class.
	AcceptEdits bool
	// Unproved publishes revisions that cannot be built on this machine. The approval says so.
	Unproved bool
	// Replaces is the Rollout that may publish what is approved: it ends with this.
	Replaces string
	// Exempt are the checks that may find something, and Reason is why.
	Exempt []string
	Reason string
	// merges reports that a forge would merge it: who does so sees what a request shows.
	merges bool
}

// Verdict is what became of one revision.
type Verdict = publish.Verdict

// ErrNothing says that a request matched no revision that could be decided.
var ErrNothing = errors.New("nothing to decide")

// ErrMoved says that a revision is not what the person saw.
var ErrMoved = publish.ErrMoved

// Decide carries out a person's decision. Each repository's revisions move in
// one atomic push; verdicts are sorted like items. Problems are what could not
// be read, so that what it holds was not decided. The error says that nothing
// was tried.
func (e *Engine) Decide(ctx context.Context, req Request) (verdicts []*Verdict, problems []error, err error) {
	s := e.read.ReadOpen(ctx)
	chosen, needs, problems, err := e.candidates(ctx, s, req)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range chosen {
		verdicts = append(verdicts, &Verdict{Candidate: c, Repo: e.read.Repo(c.Namespace, c.Repository), Commit: c.Head.Ref.Commit.String()})
	}
	unlocked, err := carryOut(ctx, e, s, req.Verb, verdicts, needs(chosen))
	if unlocked != nil {
		problems = append(problems, unlocked)
	}
	return verdicts, problems, err
}

// carryOut pushes decisions. unlocked is why targets could not be resolved for their locks; with an
// error nothing was tried, or the context ended.
func carryOut(ctx context.Context, e *Engine, s *observe.Snapshot, verb decide.Verb, verdicts []*Verdict, needs decide.Needs) (unlocked, err error) {
	signature, err := gitrepo.UserSignature(ctx, e.cfg.Now())
	if err != nil {
		return nil, err
	}
	byRepo, chosen := map[observe.Repository][]*Verdict{}, []*decide.Candidate{}
	for _, v := range verdicts {
		byRepo[v.Repo.Git] = append(byRepo[v.Repo.Git], v)
		chosen = append(chosen, v.Candidate)
	}
	a := &publish.Approver{Read: e.read, Verb: verb, Needs: needs, Signature: signature}
	if verb == decide.Approve {
		unlocked = readLocks(ctx, e, s, chosen)
		a.Lock = newLocker(e.newRun(s, false)).after
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(e.read.Repositories())
	for git, list := range byRepo {
		g.Go(func() error {
			a.Decide(gctx, git, list)
			return nil
		})
	}
	_ = g.Wait()
	e.published(verdicts)
	return unlocked, ctx.Err()
}

// Check says which of the revisions that were read last by Open approve would refuse,
// and why, where each group of one repository's were approved by itself. Nothing moves.
func (e *Engine) Check(ctx context.Context, groups [][]decide.RevisionID) (map[decide.RevisionID]error, error) {
	group := map[decide.RevisionID]int{}
	for i, g := range groups {
		for _, id := range g {
			group[id] = i
		}
	}
	req := Request{Verb: decide.Approve, Expect: map[decide.RevisionID]decide.Seen{}, AcceptLost: true, merges: true} // who merges sees the request
	for _, c := range e.decidable(e.opened, decide.Approve) {
		if _, asked := group[c.ID()]; asked {
			req.Expect[c.ID()] = decide.Seen{Commit: c.Head.Ref.Commit.String()}
		}
	}
	if len(req.Expect) == 0 {
		return nil, nil
	}
	chosen, needs, _, err := e.candidates(ctx, e.opened, req)
	if err != nil {
		return nil, err
	}
	lists := make([][]*Verdict, len(groups))
	byRepo := map[observe.Repository][]int{}
	for _, c := range chosen {
		i, v := group[c.ID()], &Verdict{Candidate: c, Repo: e.read.Repo(c.Namespace, c.Repository)}
		if lists[i] = append(lists[i], v); len(lists[i]) == 1 {
			byRepo[v.Repo.Git] = append(byRepo[v.Repo.Git], i)
		}
	}
	_, err = observe.Parallel(ctx, e.read.Repositories(), slices.Collect(maps.Values(byRepo)), func(ctx context.Context, of []int) struct{} {
		for _, i := range of {
			publish.Check(ctx, e.read, needs, lists[i])
		}
		return struct{}{}
	})
	refused := map[decide.RevisionID]error{}
	for _, c := range chosen {
		refused[c.ID()] = c.Err
	}
	return refused, err
}

// candidates finds the revisions that a request means, and says of each whether
// it is refused, and what governs a part of them that is decided by itself.
func (e *Engine) candidates(ctx context.Context, s *observe.Snapshot, req Request) ([]*decide.Candidate, func([]*decide.Candidate) decide.Needs, []error, error) {
	problems := s.Failures()
	open := e.decidable(s, req.Verb)
	chosen, missing := choose(open, req)
	chosen = slices.DeleteFunc(chosen, func(c *decide.Candidate) bool { return !e.mine(c.Identity) })
	var errs []error
	if req.Expect != nil {
		errs = expectations(chosen, req.Expect)
		chosen, missing = part(chosen, req)
	}
	errs = append(errs, e.undecidable(s, req.Verb, missing)...)
	var locks decide.Locks
	var lockErr error
	if req.Verb != decide.Reject {
		locks, lockErr = e.read.ReadLocks(ctx, decide.Units(chosen))
	}
	named := maps.Clone(locks)
	needLocks := !req.Alone && req.Verb == decide.Approve
	governed := needLocks && e.cfg.Dependencies != nil && len(e.cfg.Dependencies.Catalogs) > 0
	if governed {
		if e.read.ReadDrafts(ctx, chosen); locks.Outdated(chosen) {
			if err := e.readNeeds(ctx, s); err != nil {
				errs = append(errs, err)
			}
			locks.Answers(s.Targets)
		}
	}
	if req.Expect == nil {
		switch {
		case req.Alone:
			var err error
			if chosen, err = e.askedFor(ctx, chosen); err != nil {
				errs = append(errs, err)
			}
		case !req.All && req.Verb != decide.Reject && len(chosen) > 0:
			needLocks = true
			chosen = decide.WithNeeds(chosen, open, locks)
		}
	}
	if needLocks && lockErr != nil {
		errs = append(errs, lockErr)
	}
	needs := func([]*decide.Candidate) decide.Needs { return decide.Needs{} }
	switch req.Verb {
	case decide.Approve:
		if !req.Alone {
			var stands decide.Standing
			if governed {
				e.read.ReadDrafts(ctx, chosen)
				stands = e.read.ReadStanding(ctx, decide.Units(chosen))
			}
			needs = func(part []*decide.Candidate) decide.Needs { return decide.NewNeeds(part, open, locks, named, stands) }
		}
		decide.OneEach(chosen)
		decide.RefuseHeld(chosen, req.Replaces)
		decide.RefuseWanted(chosen, locks, len(e.cfg.Fleet.Problems)+len(problems) > 0)
		e.refuseOutdated(ctx, s, chosen)
		e.readLost(ctx, chosen)
		decide.RefuseLost(chosen, req.AcceptLost)
		readFindings(ctx, e, chosen)
		decide.RefuseInvalid(chosen, req.Exempt, req.Reason)
		decide.RefuseEdited(chosen, req.Unproved, req.merges || req.AcceptEdits)
	case decide.Reject:
		decide.RefuseAutomatic(chosen, s.Policies)
	}
	if len(chosen) == 0 && len(errs) == 0 && e.cfg.Shard.Whole() { // a shard may have none
		errs = append(errs, fmt.Errorf("%w: no revision to %s", ErrNothing, strings.TrimSpace(string(req.Verb)+" "+req.Selection.String())))
	}
	if len(errs) > 0 {
		return nil, nil, nil, errors.Join(append(errs, problems...)...)
	}
	return chosen, needs, problems, nil
}

// refuseOutdated refuses the Drafts of wanted packages that are not of the inputs
// of now, or whose last build failed. Nothing is built for that, but what a person
// edited and no run has built since; what other packages give is taken as it was
// recorded.
func (e *Engine) refuseOutdated(ctx context.Context, s *observe.Snapshot, chosen []*decide.Candidate) {
	wants := byIdentity(s.Wants)
	needed := e.neededIn(ctx, chosen, wants)
	if len(needed) > 0 && len(s.Targets) == 0 {
		if err := e.readNeeds(ctx, s); err != nil {
			for c := range needed {
				c.Err = err
			}
		}
		wants = byIdentity(s.Wants)
	}
	r := &run{Engine: e, snapshot: s, alone: true}
	var subjects []*subject
	var asked []*decide.Want
	of := map[*subject]*decide.Candidate{}
	for _, c := range chosen {
		repo := e.read.Repo(c.Namespace, c.Repository)
		switch w := wants[c.Identity]; {
		case c.Err != nil:
		case w == nil && needed[c]:
			c.Err = c.Unneeded(s.Targets)
		case w == nil:
			if c.Err = e.unwanted(ctx, repo, c); c.From.Open() && stated(e, repo, c.Package.Path, c.Head.Ref.Commit) != decide.Proved {
				c.Unprovable, c.Unbased = errors.New("no variant asks for it"), true
			}
		case w.Err != nil && c.From.Open():
			c.Err = fmt.Errorf("its variant fails: %w", w.Err)
		case c.From.Open():
			sub := &subject{want: w, repo: repo, pkg: c.Package}
			subjects, asked, of[sub] = append(subjects, sub), append(asked, w), c
		}
	}
	e.read.ReadUpstreams(ctx, asked)
	if err := e.relocked(ctx, s, subjects, of); err != nil {
		for _, sub := range subjects {
			of[sub].Err = err
		}
	}
	e.read.FetchCompared(ctx, asked)
	var unproved []*subject
	var questions []*decide.Question
	at := map[*subject]*decide.Question{}
	looked, _ := observe.Parallel(ctx, e.limit(), subjects, func(ctx context.Context, sub *subject) *decide.Question {
		q, err := r.outdated(ctx, sub, of[sub])
		of[sub].Err = err
		return q
	})
	for i, q := range looked {
		if q != nil && of[subjects[i]].Err == nil && !q.Proven {
			unproved, at[subjects[i]] = append(unproved, subjects[i]), q
			questions = append(questions, again(*q)...)
		}
	}
	e.read.FetchStarts(ctx, questions)
	_, _ = observe.Parallel(ctx, e.limit(), unproved, func(ctx context.Context, sub *subject) struct{} {
		of[sub].Err = r.unproved(ctx, sub, of[sub], *at[sub])
		return struct{}{}
	})
}

// relocked has locks that are other than answers of now name what is known not to be
// made, and what needs that, as it stands: so a run has drafted them.
func (e *Engine) relocked(ctx context.Context, s *observe.Snapshot, subjects []*subject, of map[*subject]*decide.Candidate) error {
	var locks, beside []*decide.Want
	for _, sub := range subjects {
		lock := sub.want.Lock()
		if lock == nil || len(lock.Differs(of[sub].Head)) == 0 {
			continue
		}
		locks = append(locks, sub.want)
		for _, w := range s.Wants {
			if w.Target == sub.want.Target && w != sub.want {
				beside = append(beside, w)
			}
		}
	}
	if len(locks) == 0 {
		return nil
	}
	r := e.newRun(s, false)
	e.read.FetchTrees(ctx, beside)
	looked, err := r.look(ctx, beside)
	if err == nil {
		_, err = r.unmade(looked, locks)
	}
	return err
}

func byIdentity(list []*decide.Want) map[decide.Identity]*decide.Want {
	out := map[decide.Identity]*decide.Want{}
	for _, w := range list {
		out[w.Identity] = w
	}
	return out
}

// neededIn are the open candidates that no variant wants but that are there for
// others, and locks: what is to become of them their targets' dependencies say.
func (e *Engine) neededIn(ctx context.Context, chosen []*decide.Candidate, wants map[decide.Identity]*decide.Want) map[*decide.Candidate]bool {
	var list []*decide.Candidate
	for _, c := range chosen {
		if e.cfg.Dependencies != nil && c.Err == nil && c.From.Open() && wants[c.Identity] == nil {
			list = append(list, c)
		}
	}
	e.read.FetchHeads(ctx, list)
	needed, _ := observe.Parallel(ctx, e.limit(), list, func(ctx context.Context, c *decide.Candidate) bool {
		var made string
		made, c.Err = e.read.MadeFor(ctx, c)
		return c.Err == nil && (c.IsLock() || made != "")
	})
	out := map[*decide.Candidate]bool{}
	for i, c := range list {
		if needed[i] {
			out[c] = true
		}
	}
	return out
}

// unwanted refuses what a person edited that nothing wants: locks, and what is
// there because others need it, are known to a whole run alone.
func (e *Engine) unwanted(ctx context.Context, repo *observe.Repo, c *decide.Candidate) error {
	if !c.Edited() || c.IsLock() {
		return nil
	}
	if needed, err := e.read.MadeFor(ctx, c); err != nil || needed != "" {
		return err
	}
	return c.Unwanted(repo.LastBuild(ctx, c.Package.Path, c.Head))
}

func (r *run) outdated(ctx context.Context, s *subject, c *decide.Candidate) (_ *decide.Question, err error) {
	if c.Head.Reverts() != "" {
		var based bool
		c.Edits, based, err = reverting(ctx, s.repo, c.Package, c.Head)
		c.Unbased = !based
		return nil, err
	}
	if s.want.Lock() == nil {
		if s.up = r.read.UpstreamOf(ctx, s.want); s.up.Err != nil {
			return nil, fmt.Errorf("it cannot be told whether this Draft is of today's inputs: %w", s.up.Err)
		}
	}
	q, err := r.question(s, decide.Work{From: c.Head, Since: c.Package.Tagged(c.Head.Since)})
	if err != nil {
		return nil, err
	}
	if err := r.read.ReadBranch(ctx, s.repo, c.Package); err != nil { // it may say whose the package is
		return nil, err
	}
	if err := decide.Strangers(r.manager, s.want, c.Package); err != nil {
		return nil, err
	}
	q.Last = s.repo.LastBuild(ctx, c.Package.Path, c.Head)
	q = confirm(r.Engine, q, s.repo)
	return &q, q.Current()
}

// unproved builds a Draft again that this machine knows nothing of. What is more than that
// build is edits, which are built too: it refuses them where that fails or gives something
// else, for who approves is to see that first. One that is behind is for [decide.Unmoved].
func (r *run) unproved(ctx context.Context, s *subject, c *decide.Candidate, q decide.Question) error {
	there, err := s.repo.TreeAt(ctx, s.repo.Head, s.pkg.Path)
	if err != nil {
		return err
	}
	draft, err := s.repo.TreeAt(ctx, q.From.Ref.Commit, s.pkg.Path)
	if err != nil {
		return err
	}
	known, err := decide.HowProved(q, there == draft, r.builder.Renderer != nil, s.repo.Branch)
	switch c.Unbased = !q.Own && known != ""; known {
	case decide.Proved:
	case decide.Edited:
		c.Edits = []string{s.pkg.Path}
		return nil
	case decide.Unproved:
		c.Unprovable = err
		return nil
	default:
		return err
	}
	p := r.builder.Prove(ctx, build.Job{Question: q, Repo: s.repo, Upstream: s.up})
	if !q.Own { // else the machine's own commit says it
		if c.Unbased, err = unbased(s, q.From, p.Machine); err != nil {
			return err
		}
	}
	if c.Edits = p.Differs; c.Unbased || len(c.Edits) > 0 {
		c.Built = p.Machine
	}
	switch {
	case p.Proved():
		state(r.Engine, s.repo, s.pkg.Path, q.From.Ref.Commit, string(decide.Proved))
		return nil
	case build.Unavailable(p.Err):
		c.Unprovable = p.Err
		return nil
	case p.Err != nil:
		c.Edits = []string{"files that cannot be told apart (" + p.Err.Error() + ")"}
	}
	if q.Gave || q.Own {
		return nil
	}
	return builtUpon(ctx, r, s, q)
}

// unbased reports whether a revision names something else than what the machine makes of it.
func unbased(s *subject, from *decide.Revision, machine *krm.Package) (bool, error) {
	if from.Machine == nil || machine == nil {
		return true, nil
	}
	files, err := machine.Files()
	if err != nil {
		return true, err
	}
	tree, err := s.repo.Git.PackageTree(files)
	return decide.Hash(tree) != from.Machine.Hydrated, err
}

// builtUpon builds a Draft with the edits that it holds, and refuses it where that gives
// something else.
func builtUpon(ctx context.Context, r *run, s *subject, q decide.Question) error {
	if q.From.Made() {
		q.From = q.From.Disowned()
	}
	intent := decide.Intend(q)
	if rule, ok := intent.(decide.Rule); ok {
		if rule.Decision.Action() == decide.ActionNone {
			return nil
		}
		return fmt.Errorf("%s: %s", q.ByHand(), strings.Join(rule.Reasons, "; "))
	}
	made := r.builder.Make(ctx, build.Job{Question: q, Build: intent.(decide.Build), Repo: s.repo, Upstream: s.up})
	switch {
	case made.Err != nil:
		return fmt.Errorf("%s; building it fails: %w\nwhen that is corrected, or where those functions can run, run apply, review, and approve again", q.ByHand(), made.Err)
	case !made.Same:
		return decide.Behind("%s; building it changes it: run apply, review, and approve again", q.ByHand())
	}
	state(r.Engine, s.repo, s.pkg.Path, q.From.Ref.Commit, q.InputsKey())
	return nil
}

// decidable lists what a verb applies to, with the sets that want it.
func (e *Engine) decidable(s *observe.Snapshot, verb decide.Verb) []*decide.Candidate {
	wants := byIdentity(s.Wants)
	out := decide.Candidates(e.manager, e.read.Facts(), verb)
	for _, c := range out {
		if w := wants[c.Identity]; w != nil {
			c.Set, c.Labels = w.Set, w.Labels()
		}
	}
	return out
}

// choose takes what a request means out of what could be decided about; missing
// are the names that mean nothing.
func choose(open []*decide.Candidate, req Request) (chosen []*decide.Candidate, missing []string) {
	switch {
	case req.Expect != nil:
		return slices.DeleteFunc(slices.Clone(open), func(c *decide.Candidate) bool {
			_, seen := req.Expect[c.ID()]
			return !seen
		}), nil
	case req.Selection.All() && !req.All:
		return nil, nil
	}
	return decide.Meant(req.Selection, open, (*decide.Candidate).Selectable)
}

// part takes what a selection and a limit mean of what a person saw.
func part(seen []*decide.Candidate, req Request) (chosen []*decide.Candidate, missing []string) {
	seen, missing = decide.Meant(req.Selection, seen, (*decide.Candidate).Selectable)
	return seen[:req.Part.Of(len(seen))], missing
}

// askedFor leaves out what is there because others need it, and locks.
func (e *Engine) askedFor(ctx context.Context, chosen []*decide.Candidate) (out []*decide.Candidate, err error) {
	var errs []error
	for _, c := range chosen {
		made, err := e.read.MadeFor(ctx, c)
		if err != nil {
			errs = append(errs, err)
		} else if made == "" {
			out = append(out, c)
		}
	}
	return out, errors.Join(errs...)
}

// undecidable says of each name why it means nothing to decide: it stands where no such
// decision is made, or there is none.
func (e *Engine) undecidable(s *observe.Snapshot, verb decide.Verb, names []string) (errs []error) {
	if len(names) == 0 {
		return nil
	}
	at := map[string][]string{}
	for _, n := range names {
		at[n] = nil
	}
	var there []string
	for _, c := range e.decidable(s, "") {
		there = append(there, c.Names()...)
		is := fmt.Sprintf("%s is %s", c.Identity, strings.TrimSpace(string(c.From)+" "+decide.RevisionName(c.Revision)))
		for _, n := range slices.Compact(slices.Sorted(slices.Values(c.Names()))) {
			if _, asked := at[n]; asked {
				at[n] = append(at[n], is)
			}
		}
	}
	for i, n := range names {
		if i == 3 { // to look for what is like many names takes as many walks over all
			there = nil
		}
		if len(at[n]) == 0 {
			errs = append(errs, fmt.Errorf("%w: no revision of this fleet is called %q: %s", ErrNothing, n, decide.Hint(n, there, "run status to see what there is")))
			continue
		}
		errs = append(errs, fmt.Errorf("%w: %s: there is nothing to %s", ErrNothing, strings.Join(decide.Limit(at[n], 5), ", "), verb))
	}
	return errs
}

// expectations checks that every revision that a person saw is there, as seen, and
// notes as which class.
func expectations(found []*decide.Candidate, expect map[decide.RevisionID]decide.Seen) []error {
	have := map[decide.RevisionID]string{}
	for _, c := range found {
		have[c.ID()], c.Class = c.Head.Ref.Commit.String(), expect[c.ID()].Class
	}
	var errs []error
	for id, seen := range expect {
		if have[id] != seen.Commit {
			errs = append(errs, fmt.Errorf("%s %w: review again", id, ErrMoved))
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errs
}
