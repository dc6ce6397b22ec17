package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"golang.org/x/sync/errgroup"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
)

// Decision is what a person decides about a package revision.
type Decision string

// The decisions. Approve publishes a Draft or a Proposed revision and carries
// out a proposed deletion; Reject returns a Proposed one to Draft and takes a
// proposed deletion back.
const (
	Propose Decision = "propose"
	Approve Decision = "approve"
	Reject  Decision = "reject"
)

// Request names the revisions that a person decides about.
type Request struct {
	Decision Decision
	// Names are variants, repository/package, sets, repositories, packages or
	// Porch's revision names; All is all of this manager's.
	Names []string
	All   bool
	// Alone leaves out what is there because others need it, and locks. Without
	// it, what is named brings along what it needs.
	Alone bool
	// Expect, where not nil, are the only revisions meant, each with the commit
	// that the person saw: one that moved since is refused, and then none is
	// decided.
	Expect map[Revision]string
}

// Revision names one open revision of a variant.
type Revision struct {
	Identity
	Workspace string
}

// Verdict is what became of one revision.
type Verdict struct {
	Identity
	Workspace string
	From, To  lifecycle.Phase // To is empty where a package was removed
	Revision  int             // N of vN, once published
	Commit    string
	Err       error

	head  *head
	state *state
	repo  *repository
}

// ErrNothing says that a request matched no revision that could be decided.
var ErrNothing = errors.New("nothing to decide")

// ErrMoved says that a revision is not what the person saw.
var ErrMoved = errors.New("changed since it was shown")

// Decide carries out a person's decision. Each repository's revisions move in
// one atomic push; verdicts are sorted like items. Problems are what could not
// be read, so that what it holds was not decided. The error says that nothing
// was tried.
func (e *Engine) Decide(ctx context.Context, req Request) (verdicts []*Verdict, problems []error, err error) {
	verdicts, problems, err = e.candidates(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	signature, err := gitrepo.UserSignature(ctx, e.cfg.Now())
	if err != nil {
		return nil, nil, err
	}
	switch req.Decision {
	case Approve:
		oneEach(verdicts)
	case Reject:
		e.rejectable(verdicts)
	}
	byRepo := map[*gitrepo.Repo][]*Verdict{}
	for _, v := range verdicts {
		byRepo[v.repo.git] = append(byRepo[v.repo.git], v)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(e.ioLimit())
	for git, list := range byRepo {
		g.Go(func() error {
			e.decideRepo(gctx, git, list, req.Decision, signature)
			return nil
		})
	}
	_ = g.Wait()
	return verdicts, problems, ctx.Err()
}

// rejectable refuses to return a revision to Draft where the next run would
// publish it all the same.
func (e *Engine) rejectable(list []*Verdict) {
	for _, v := range list {
		if v.From == lifecycle.Proposed && e.policy(v.Identity).automatic && !v.head.needsReview() {
			v.Err = errors.New("its Installation has activation Automatic, so that the next run would publish the Draft: set activation Manual first, or correct the revision")
		}
	}
}

// candidates finds the revisions that a request means.
func (e *Engine) candidates(ctx context.Context, req Request) ([]*Verdict, []error, error) {
	plan := &Plan{}
	problems := append(e.readPolicies(), e.openRepositories(ctx)...)
	sets := map[Identity]string{}
	for _, v := range e.expand(ctx, plan) {
		sets[v.Identity] = v.set
	}
	problems = append(problems, e.readHeads(ctx)...)
	problems = append(problems, plan.Problems...)
	for _, s := range plan.Sets {
		problems = append(problems, s.Failures...)
	}
	used := map[string]bool{}
	var out []*Verdict
	decidable := e.decidable(req.Decision)
	for _, v := range decidable {
		if req.Expect != nil {
			if _, ok := req.Expect[v.revision()]; !ok {
				continue
			}
		} else if !req.All && !v.named(req.Names, sets[v.Identity], used) {
			continue
		}
		out = append(out, v)
	}
	var errs []error
	for _, n := range req.Names {
		if !used[n] && req.Expect == nil {
			errs = append(errs, fmt.Errorf("%w: %s", ErrNothing, e.undecidable(req.Decision, n, sets)))
		}
	}
	if req.Expect == nil {
		var unread []error
		if out, unread = e.withNeeds(ctx, req, out, decidable); len(unread) > 0 {
			errs = append(errs, unread...)
		}
	}
	errs = append(errs, e.apart(ctx, req, out, decidable)...)
	errs = append(errs, expectations(out, req.Expect)...)
	if len(out) == 0 && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("%w: no revision to %s", ErrNothing, req.Decision))
	}
	if len(errs) > 0 {
		return nil, nil, errors.Join(append(errs, problems...)...)
	}
	return out, problems, nil
}

// expectations checks that every revision that a person saw is there, as seen.
func expectations(found []*Verdict, expect map[Revision]string) []error {
	have := map[Revision]string{}
	for _, v := range found {
		have[v.revision()] = v.head.Ref.Commit.String()
	}
	var errs []error
	for id, commit := range expect {
		if have[id] != commit {
			errs = append(errs, fmt.Errorf("%s %w: review again", id, ErrMoved))
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errs
}

func (v *Verdict) revision() Revision { return Revision{v.Identity, v.Workspace} }

func (v *Verdict) named(names []string, set string, used map[string]bool) bool {
	target := path.Join(v.Repository, depend.In(v.repo.obj.Annotations[variformv1alpha1.TargetsAnnotation], v.Package))
	variant := v.head.owner[strings.LastIndex(v.head.owner, "/")+1:]
	mine := []string{variant, target, v.Identity.String(), set, v.Repository, v.Package, RevisionName(v.Repository, v.Package, v.Workspace)}
	hit := false
	for _, n := range names {
		if n != "" && slices.Contains(mine, n) {
			hit, used[n] = true, true
		}
	}
	return hit
}

// undecidable says why a name means nothing to decide: it stands where no such
// decision is made, or there is none.
func (e *Engine) undecidable(d Decision, name string, sets map[Identity]string) string {
	var at []string
	for _, v := range e.decidable("") {
		if v.named([]string{name}, sets[v.Identity], map[string]bool{}) {
			at = append(at, fmt.Sprintf("%s is %s", v.Identity, strings.TrimSpace(string(v.From)+" "+revisionName(v.Revision))))
		}
	}
	if len(at) == 0 {
		return fmt.Sprintf("no revision of this fleet is called %q", name)
	}
	return fmt.Sprintf("%s: there is nothing to %s", strings.Join(limit(at, 5), ", "), d)
}

// decidable lists this manager's revisions that a decision applies to (all of
// them for none), each once: where several Repositories show it, as the one that a variant wants it
// in, else as the innermost.
func (e *Engine) decidable(d Decision) []*Verdict {
	var out []*Verdict
	at := map[place]int{}
	for _, r := range e.sortedRepos() {
		if r.git == nil || r.err != nil {
			continue
		}
		for _, path := range sortedStates(r.states) {
			s := r.states[path]
			for _, rev := range s.revisions {
				h := s.headOf(rev)
				if h == nil || !e.mine(h.owner, r.obj.Namespace) || d != "" && !applies(d, rev.Phase) {
					continue
				}
				v := &Verdict{
					Identity:  Identity{r.obj.Namespace, r.obj.Name, rev.Package},
					Workspace: rev.Workspace, From: rev.Phase, Revision: rev.Revision,
					Commit: h.Ref.Commit.String(), head: h, state: s, repo: r,
				}
				k, seen := at[place{r.git, h.Ref.Name}]
				switch {
				case !seen:
					at[place{r.git, h.Ref.Name}] = len(out)
					out = append(out, v)
				case r.closer(out[k].repo, path):
					out[k] = v
				}
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].Identity, out[j].Identity
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Package, b.Package)) < 0
	})
	return out
}

// place is a folder or a ref of a Git repository, however many Repositories
// show it.
type place struct {
	git  *gitrepo.Repo
	name string
}

// closer says whether a package is rather r's than other's.
func (r *repository) closer(other *repository, path string) bool {
	if r.wanted[path] != other.wanted[path] {
		return r.wanted[path]
	}
	return len(r.dir) > len(other.dir)
}

// oneEach refuses to publish or delete one package twice at once: which of its
// revisions is meant is for a person to say.
func oneEach(list []*Verdict) {
	by := map[place][]*Verdict{}
	for _, v := range list {
		by[place{v.repo.git, v.state.path}] = append(by[place{v.repo.git, v.state.path}], v)
	}
	for _, same := range by {
		if len(same) < 2 {
			continue
		}
		names := make([]string, len(same))
		for i, v := range same {
			names[i] = fmt.Sprintf("%s (%s)", RevisionName(v.Repository, v.Package, v.Workspace), v.From)
		}
		for _, v := range same {
			v.Err = fmt.Errorf("%s has several revisions to decide: %s: approve one by that name, or reject or delete the others", v.Identity, strings.Join(names, ", "))
		}
	}
}

// Applies says whether a decision can be made about a revision of a phase.
func Applies(d Decision, p lifecycle.Phase) bool { return applies(d, p) }

func applies(d Decision, p lifecycle.Phase) bool {
	switch d {
	case Propose:
		return p == lifecycle.Draft
	case Approve:
		return p.Open() || p == lifecycle.DeletionProposed
	case Reject:
		return p == lifecycle.Proposed || p == lifecycle.DeletionProposed
	default:
		return false
	}
}

// decideRepo decides one repository's revisions, again where the registered
// branch was moved by another in between.
func (e *Engine) decideRepo(ctx context.Context, git *gitrepo.Repo, list []*Verdict, d Decision, sig gitrepo.Signature) {
	fetchAll(ctx, git, list, d)
	for attempt := 1; ; attempt++ {
		b := git.NewBatch()
		m := &merger{batch: b, signature: sig, heads: map[string]branchHead{}}
		for _, v := range locksLast(list) {
			if v.Err == nil {
				v.Err = whole(v, list, d)
			}
			if v.Err == nil {
				v.Err = m.add(ctx, v, d)
			}
		}
		if len(m.updates) == 0 {
			return
		}
		if err := m.finish(); err != nil {
			fail(list, err)
			return
		}
		_, err := b.Push(ctx, gitrepo.PushOptions{RequireAtomic: true})
		if err == nil {
			return
		}
		retry := errors.Is(err, gitrepo.ErrStale) || errors.Is(err, gitrepo.ErrUnknownOutcome)
		if !retry || attempt == attempts || ctx.Err() != nil {
			fail(list, err)
			return
		}
		if err := e.reread(ctx, git, list, d); err != nil {
			fail(list, err)
			return
		}
	}
}

// fetchAll brings what publishing reads in one request. A failure is not
// reported here: whoever needs the objects asks again and fails by name.
func fetchAll(ctx context.Context, git *gitrepo.Repo, list []*Verdict, d Decision) {
	if d != Approve {
		return
	}
	var commits []gitrepo.Hash
	for _, v := range list {
		if v.Err == nil {
			commits = append(commits, v.repo.head(), v.head.Ref.Commit)
		}
	}
	_ = git.Fetch(ctx, commits...)
}

func fail(list []*Verdict, err error) {
	for _, v := range list {
		if v.Err == nil {
			v.Err = err
		}
	}
}

// reread finds the same revisions after a lost race. One whose own content
// moved is not decided: the person has not seen it.
func (e *Engine) reread(ctx context.Context, git *gitrepo.Repo, list []*Verdict, d Decision) error {
	if err := e.rereadRepo(ctx, git); err != nil {
		return err
	}
	for _, v := range list {
		if v.Err != nil {
			continue
		}
		s := v.repo.stateOf(v.state.path)
		h := s.heads[v.head.Ref.Name]
		if h == nil || h.Ref.Hash != v.head.Ref.Hash || !applies(d, lifecycle.Phase(h.Lifecycle)) {
			v.Err = fmt.Errorf("%s %w: look at it again", v.head.Ref.Name, ErrMoved)
			continue
		}
		v.state, v.head = s, h
	}
	return nil
}

// branchHead is where a registered branch is, and will be.
type branchHead struct {
	was, commit, tree gitrepo.Hash
	when              time.Time // of commit
}

// merger collects the ref updates of one repository's verdicts; approvals on
// one branch follow each other.
type merger struct {
	batch     *gitrepo.Batch
	signature gitrepo.Signature
	heads     map[string]branchHead // by branch
	updates   []gitrepo.RefUpdate
}

func (m *merger) add(ctx context.Context, v *Verdict, d Decision) error {
	path, ref := v.state.path, v.head.Ref
	switch {
	case d == Propose:
		v.To = lifecycle.Proposed
		m.move(ref, gitrepo.ProposedRef(path, v.Workspace))
	case d == Reject && v.From == lifecycle.Proposed:
		v.To = lifecycle.Draft
		m.move(ref, gitrepo.DraftRef(path, v.Workspace))
	case d == Reject:
		v.To = lifecycle.Published
		for _, p := range deletions(v.state) {
			m.updates = append(m.updates, gitrepo.RefUpdate{Name: p.Deletion.Name, Old: p.Deletion.Hash})
		}
	case v.From == lifecycle.DeletionProposed:
		return m.remove(ctx, v)
	default:
		return m.publish(ctx, v)
	}
	return nil
}

func (m *merger) move(from gitrepo.Ref, to string) {
	m.updates = append(m.updates, gitrepo.RefUpdate{Name: to, New: from.Commit}, gitrepo.RefUpdate{Name: from.Name, Old: from.Hash})
}

func deletions(s *state) []gitrepo.Revision {
	var out []gitrepo.Revision
	for _, p := range s.refs.Published {
		if p.Lifecycle == gitrepo.DeletionProposed {
			out = append(out, p)
		}
	}
	return out
}

// head reads the registered branch once.
func (m *merger) head(ctx context.Context, r *repository) (branchHead, error) {
	if h, ok := m.heads[r.branch]; ok {
		return h, nil
	}
	var h branchHead
	if commit := r.head(); !commit.IsZero() {
		if err := r.git.Fetch(ctx, commit); err != nil {
			return h, err
		}
		commits, err := r.git.Commits(ctx, commit)
		if err != nil {
			return h, err
		}
		h = branchHead{was: commit, commit: commit, tree: commits[0].Tree, when: commits[0].Committer.When}
	}
	m.heads[r.branch] = h
	return h, nil
}

// publish merges a Draft into the registered branch and tags it.
func (m *merger) publish(ctx context.Context, v *Verdict) error {
	r, path := v.repo, v.state.path
	tree, pkg, err := r.readPackage(ctx, v.head.Ref.Commit, path)
	if err != nil {
		return err
	}
	if err := v.onlyPackage(ctx); err != nil {
		return err
	}
	kptfile, err := mutate.Read(pkg, "")
	if err != nil {
		return err
	}
	if unmet := mutate.Unmet(kptfile); len(unmet) > 0 && r.obj.Spec.Deployment {
		return gatesError(unmet)
	}
	h, err := m.head(ctx, r)
	if err != nil {
		return err
	}
	if err := m.unmoved(ctx, v, h, tree); err != nil {
		return err
	}
	n := v.state.refs.NextNumber()
	message, err := gitrepo.FormatMessage(fmt.Sprintf("Approve %s/v%d", path, n),
		&gitrepo.Annotation{Package: path, WorkspaceName: v.Workspace, Revision: fmt.Sprint(n)}, v.head.trailers())
	if err != nil {
		return err
	}
	parents := []gitrepo.Hash{v.head.Ref.Commit}
	if !h.commit.IsZero() {
		parents = []gitrepo.Hash{h.commit, v.head.Ref.Commit}
	}
	sig := m.signature
	if sig.When.IsZero() { // Variform's own: of the newest of what it joins
		sig.When = h.when
		if at := v.head.commit.Committer.When; at.After(sig.When) {
			sig.When = at
		}
	}
	c, err := m.batch.Commit(ctx, gitrepo.CommitSpec{
		Root: h.tree, Path: path, PackageTree: tree, Parents: parents, Author: sig, Message: message,
	})
	if err != nil {
		return err
	}
	m.heads[r.branch] = branchHead{was: h.was, commit: c.Hash, tree: c.Tree, when: c.Committer.When}
	m.updates = append(m.updates,
		gitrepo.RefUpdate{Name: gitrepo.PublishedRef(path, n), New: c.Hash},
		gitrepo.RefUpdate{Name: v.head.Ref.Name, Old: v.head.Ref.Hash})
	v.To, v.Revision, v.Commit = lifecycle.Published, n, c.Hash.String()
	return nil
}

// onlyPackage refuses a Draft on which people changed more than the package:
// publishing takes the package alone, and the rest would be lost unseen.
func (v *Verdict) onlyPackage(ctx context.Context) error {
	h, r, path := v.head, v.repo, v.state.path
	if h.machine == nil || h.machine.Hash == h.Ref.Commit && !h.amended() {
		return nil
	}
	base := h.machine.Hash
	if h.amended() {
		if len(h.machine.Parents) == 0 {
			return nil
		}
		base = h.machine.Parents[0]
	}
	if err := r.git.Fetch(ctx, base, h.Ref.Commit); err != nil {
		return err
	}
	beside, err := r.git.Beside(ctx, base, h.Ref.Commit, path)
	if err != nil || len(beside) == 0 {
		return err
	}
	if main := r.head(); !main.IsZero() { // what was merged from there is not lost
		if err := r.git.Fetch(ctx, main); err != nil {
			return err
		}
		missing, err := r.git.Beside(ctx, main, h.Ref.Commit, path)
		if err != nil {
			return err
		}
		beside = slices.DeleteFunc(beside, func(p string) bool { return !slices.Contains(missing, p) })
		if len(beside) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%s changes %s outside of %s, and publishing takes the package alone: undo that there, or move it to a branch of its own, and approve again",
		shortRef(h.Ref.Name), strings.Join(limit(beside, 5), ", "), path)
}

func (h *head) trailers() gitrepo.Trailers {
	if h.machine == nil {
		return gitrepo.Trailers{}
	}
	return h.machine.Trailers
}

func gatesError(unmet []kptfilev1.Condition) error {
	lines := make([]string, len(unmet))
	for i, c := range unmet {
		lines[i] = fmt.Sprintf("%s is %s: %s", c.Type, c.Status, c.Message)
	}
	return fmt.Errorf("readiness gates are not met: %s: see that the objects they wait for are there, run apply, and approve again", strings.Join(lines, "; "))
}

// unmoved checks that the registered branch holds what the Draft started from,
// so that publishing takes nothing back that another put there.
func (m *merger) unmoved(ctx context.Context, v *Verdict, h branchHead, draft gitrepo.Hash) error {
	r, s := v.repo, v.state
	since := s.published(v.head.since)
	if latest := s.latest; latest != nil && (since == nil || since.Number != latest.Number) {
		return fmt.Errorf("%s was published since this Draft began: run apply to bring it in, review, and approve again", revisionName(latest.Number))
	}
	if h.was.IsZero() {
		return nil
	}
	there, err := r.treeAt(ctx, h.was, s.path)
	if err != nil {
		return err
	}
	var started gitrepo.Hash
	if since != nil {
		if started, err = r.treeAt(ctx, since.Ref.Commit, s.path); err != nil {
			return err
		}
	}
	if there != started && there != draft {
		return fmt.Errorf("branch %s holds changes in %s that are in no published revision, and publishing the Draft would take them back: revert them there, or make them in the Draft", r.branch, s.path)
	}
	return nil
}

// remove carries out a proposed deletion: the package leaves the registered
// branch, its tags and the proposals go.
func (m *merger) remove(ctx context.Context, v *Verdict) error {
	r, path := v.repo, v.state.path
	h, err := m.head(ctx, r)
	if err != nil {
		return err
	}
	there, err := r.treeAt(ctx, h.was, path)
	if err != nil {
		return err
	}
	if !there.IsZero() {
		message, err := gitrepo.FormatMessage("Delete "+path, &gitrepo.Annotation{Package: path}, gitrepo.Trailers{Variant: released})
		if err != nil {
			return err
		}
		c, err := m.batch.Commit(ctx, gitrepo.CommitSpec{Root: h.tree, Path: path, Parents: []gitrepo.Hash{h.commit}, Author: m.signature, Message: message})
		if err != nil {
			return err
		}
		m.heads[r.branch] = branchHead{was: h.was, commit: c.Hash, tree: c.Tree, when: c.Committer.When}
		v.Commit = c.Hash.String()
	}
	for _, p := range deletions(v.state) {
		m.updates = append(m.updates,
			gitrepo.RefUpdate{Name: p.Deletion.Name, Old: p.Deletion.Hash},
			gitrepo.RefUpdate{Name: p.Ref.Name, Old: p.Ref.Hash})
	}
	v.To, v.Revision = "", 0
	return nil
}

// finish adds the branches' own moves and hands everything to the batch as one.
func (m *merger) finish() error {
	for branch, h := range m.heads {
		if h.commit != h.was {
			m.updates = append(m.updates, gitrepo.RefUpdate{Name: gitrepo.BranchRef(branch), Old: h.was, New: h.commit})
		}
	}
	sort.Slice(m.updates, func(i, j int) bool { return m.updates[i].Name < m.updates[j].Name })
	return m.batch.Together(m.updates...)
}
