package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
	"github.com/variform/variform/internal/review"
)

// ToRollOut checks what a request approves as Decide does, and returns it as the members of a
// Rollout, sorted, with their labels. Nothing is published. It returns an error unless all of
// it can be approved.
func ToRollOut(ctx context.Context, e *Engine, req Request) ([]*decide.RolloutMember, error) {
	s := e.read.ReadOpen(ctx)
	chosen, needs, problems, err := e.candidates(ctx, s, req)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("a rollout is approved whole, and a part cannot be read: %w", errors.Join(problems...))
	}
	chosen = slices.DeleteFunc(chosen, (*decide.Candidate).IsLock) // written with what they name
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w: the classes hold nothing that a rollout publishes", ErrNothing)
	}
	byRepo := map[observe.Repository][]*Verdict{}
	for _, c := range chosen {
		v := &Verdict{Candidate: c, Repo: e.read.Repo(c.Namespace, c.Repository)}
		byRepo[v.Repo.Git] = append(byRepo[v.Repo.Git], v)
	}
	_, err = observe.Parallel(ctx, e.read.Repositories(), slices.Collect(maps.Values(byRepo)), func(ctx context.Context, list []*Verdict) struct{} {
		publish.Check(ctx, e.read, needs, list)
		return struct{}{}
	})
	if err != nil {
		return nil, err
	}
	members := map[string]*decide.RolloutMember{}
	var refused []string
	for _, c := range chosen {
		if !c.From.Open() {
			c.Err = errors.New("it is a deletion: approve it without --rollout")
		}
		p, err := approved(ctx, e, c)
		if c.Err != nil || err != nil {
			refused = append(refused, fmt.Sprintf("%s: %v", c.Identity, errors.Join(c.Err, err)))
			continue
		}
		target := path.Join(c.Repository, c.Unit().Dir)
		if members[target] == nil {
			members[target] = &decide.RolloutMember{Target: target, Labels: c.Selectable().Labels}
		}
		members[target].Packages = append(members[target].Packages, p)
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("a rollout is approved whole, and %d of %d cannot be: %s", len(refused), len(chosen), strings.Join(decide.Limit(refused, 5), "; "))
	}
	return slices.SortedFunc(maps.Values(members), func(a, b *decide.RolloutMember) int { return strings.Compare(a.Target, b.Target) }), nil
}

// approved binds what is approved of one package.
func approved(ctx context.Context, e *Engine, c *decide.Candidate) (*decide.RolloutPackage, error) {
	repo, at := e.read.Repo(c.Namespace, c.Repository), c.Package.Path
	tree, draft, err := repo.ReadPackage(ctx, c.Head.Ref.Commit, at)
	if err != nil {
		return nil, err
	}
	base, there, err := packageAt(ctx, repo, repo.Head, at)
	if err != nil {
		return nil, err
	}
	p := &decide.RolloutPackage{Identity: c.Identity, Version: versionOf(draft)}
	p.Name, _ = c.Unit().Below(at)
	p.Draft, p.Tree, p.Head, p.Base = c.Head.Ref.Commit.String(), tree.String(), written(repo.Head), written(base)
	if m := c.Judged().Machine; m != nil {
		p.Built = written(m.Hydrated)
	}
	p.Change, err = review.ChangeDigest(there, draft)
	return p, err
}

func written(h decide.Hash) string {
	if h.IsZero() {
		return ""
	}
	return h.String()
}

// packageAt reads a package at a commit, nil where the commit has none.
func packageAt(ctx context.Context, repo *observe.Repo, commit decide.Hash, at string) (decide.Hash, *krm.Package, error) {
	tree, err := repo.TreeAt(ctx, commit, at)
	if err != nil || tree.IsZero() {
		return tree, nil, err
	}
	return repo.ReadPackage(ctx, commit, at)
}

// rollouts is what is known of the Rollouts of a fleet.
type rollouts struct {
	*Engine
	snapshot *observe.Snapshot
	wanted   map[decide.Identity]*decide.Want
	open     []*decide.Candidate
	drafts   map[decide.Identity][]*decide.Candidate // of open
	refused  map[decide.Identity]error               // in this run; nil for a race that was lost once
}

// Rollouts reports where the Rollouts of the fleet are: those of these names, or all. Problems
// are what could not be read.
func Rollouts(ctx context.Context, e *Engine, names []string) (list []*decide.RolloutReport, problems []error, err error) {
	r := &rollouts{Engine: e, refused: map[decide.Identity]error{}}
	list, err = r.read(ctx, names)
	return list, r.problems(), err
}

// Advance publishes what the Rollouts of these names, or all, allow now, and reports where they
// are then. Running it twice, or twice at once, changes nothing more.
func Advance(ctx context.Context, e *Engine, names []string) (list []*decide.RolloutReport, published []*Verdict, problems []error, err error) {
	r := &rollouts{Engine: e, refused: map[decide.Identity]error{}}
	for {
		if list, err = r.read(ctx, names); err != nil || len(list) == 0 {
			return list, published, r.problems(), err
		}
		now, err := r.publish(ctx, list)
		if err != nil || len(now) == 0 {
			return list, published, r.problems(), err
		}
		for _, v := range now {
			if v.Err == nil {
				r.refused[v.Identity] = errors.New("it was published, and its branch does not hold it: look what its server does with pushes")
				published = append(published, v)
			}
		}
	}
}

// problems are what could not be read, the fleet's own among them.
func (r *rollouts) problems() []error {
	if r.snapshot == nil {
		return r.cfg.Fleet.Problems
	}
	return slices.Concat(r.cfg.Fleet.Problems, r.snapshot.Failures())
}

func (r *rollouts) read(ctx context.Context, names []string) (out []*decide.RolloutReport, err error) {
	all := r.cfg.Fleet.Rollouts
	replacedBy, known := map[string]string{}, []string{}
	for _, o := range all {
		replacedBy[o.Spec.Replaces] = o.Name
		known = append(known, o.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("%w: no Rollout is called %q: %s", ErrNothing, n, decide.Hint(n, known, "run rollout status to see what there is"))
		}
	}
	if len(all)+len(r.cfg.Fleet.Problems) == 0 {
		return nil, nil
	}
	r.snapshot = r.Engine.read.ReadOpen(ctx)
	r.wanted, r.open = byIdentity(r.snapshot.Wants), r.decidable(r.snapshot, decide.Approve)
	r.drafts = map[decide.Identity][]*decide.Candidate{}
	for _, c := range r.open {
		if c.From.Open() {
			r.drafts[c.Identity] = append(r.drafts[c.Identity], c)
		}
	}
	for _, o := range all {
		var members []*decide.RolloutMember
		var packages []*decide.RolloutPackage
		for _, m := range o.Spec.Members {
			member := &decide.RolloutMember{Target: m.Target, Wave: m.Wave}
			repo, dir, _ := strings.Cut(m.Target, "/")
			for _, p := range m.Packages {
				id := decide.Identity{Namespace: o.Namespace, Repository: repo, Package: path.Join(dir, p.Name)}
				member.Packages = append(member.Packages, &decide.RolloutPackage{RolloutPackage: p, Identity: id, Exempt: decide.ExemptOf(o), Refused: r.refused[id]})
			}
			members, packages = append(members, member), append(packages, member.Packages...)
		}
		of := func(p *decide.RolloutPackage) *observe.Repo {
			return r.Engine.read.Repo(p.Identity.Namespace, p.Identity.Repository)
		}
		if err := observe.SideBySide(ctx, r.Engine.read, packages, of, r.look); err != nil {
			return nil, err
		}
		out = append(out, decide.RolloutOf(o, members, replacedBy[o.Name], r.cfg.Now()))
	}
	decide.Contested(out)
	if len(r.cfg.Fleet.Problems) > 0 { // one may be of a Rollout that stops or replaces another
		decide.Doubted(out)
	}
	return slices.DeleteFunc(out, func(o *decide.RolloutReport) bool { return len(names) > 0 && !slices.Contains(names, o.Name) }), ctx.Err()
}

// look reads what the repository of a package holds of it. It fails only where the context ends.
func (r *rollouts) look(ctx context.Context, p *decide.RolloutPackage) error {
	repo, err := r.Engine.read.Downstream(p.Identity.Namespace, p.Identity.Repository)
	if err != nil {
		if p.Err = err; r.Engine.read.Repo(p.Identity.Namespace, p.Identity.Repository) == nil {
			p.Err, p.Gone = nil, true
		}
		return nil
	}
	pkg := repo.Package(repo.Path(p.Identity.Package))
	p.Held = decide.HeldBy(pkg)
	var found bool
	if p.Steps, found, p.Err = observe.StepsSince(ctx, repo, pkg.Path, decide.ParseHash(p.Head)); p.Err != nil {
		return ctx.Err()
	}
	if p.Rewritten = !found; found {
		p.Err = r.changes(ctx, repo, pkg.Path, p)
	}
	var draft *decide.Candidate
	if p.Err == nil {
		draft, p.Err = r.draft(ctx, p)
	}
	if p.HasDraft = draft != nil && p.Err == nil; p.HasDraft && p.Moved() {
		_, p.Differs, p.Err = r.carried(ctx, p)
	}
	if r.wanted[p.Identity] == nil && len(r.problems()) == 0 {
		needed := ""
		if p.HasDraft { // because others need it, perhaps
			needed, p.Err = r.Engine.read.MadeFor(ctx, draft)
		}
		p.Gone = needed == ""
	}
	return ctx.Err()
}

// changes reads the digest of each step to another content than the approved one.
func (r *rollouts) changes(ctx context.Context, repo *observe.Repo, at string, p *decide.RolloutPackage) error {
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Tree.IsZero() || s.Tree.String() == p.Tree || s.Tree.String() == p.Base {
			continue
		}
		_, before, err := packageAt(ctx, repo, s.Parent, at)
		if err != nil {
			return err
		}
		_, after, err := packageAt(ctx, repo, s.Commit, at)
		if err == nil {
			s.Change, err = review.ChangeDigest(before, after)
		}
		if err != nil && !decide.IsStalled(err) { // no package is no approved change
			return err
		}
	}
	return nil
}

// draft finds the open revision that holds what was approved, nil for none.
func (r *rollouts) draft(ctx context.Context, p *decide.RolloutPackage) (*decide.Candidate, error) {
	for _, c := range r.drafts[p.Identity] {
		if c.Head.Ref.Commit.String() == p.Draft {
			return c, nil
		}
		tree, err := r.Engine.read.Repo(c.Namespace, c.Repository).TreeAt(ctx, c.Head.Ref.Commit, c.Package.Path)
		if err != nil || tree.String() == p.Tree {
			return c, err
		}
	}
	return nil, nil
}

// carried lays the approved change upon what the branch holds. differs is why it is another
// change there.
func (r *rollouts) carried(ctx context.Context, p *decide.RolloutPackage) (out *krm.Package, differs string, err error) {
	repo := r.Engine.read.Repo(p.Identity.Namespace, p.Identity.Repository)
	at := repo.Path(p.Identity.Package)
	_, base, err := packageAt(ctx, repo, decide.ParseHash(p.Head), at)
	if err != nil {
		return nil, "", err
	}
	_, there, err := packageAt(ctx, repo, repo.Head, at)
	if err != nil {
		return nil, "", err
	}
	if base == nil || there == nil {
		return nil, fmt.Sprintf("it was created or deleted on branch %s since", repo.Branch), nil
	}
	c, err := r.draft(ctx, p)
	if err != nil || c == nil {
		return nil, "", err
	}
	_, draft, err := repo.ReadPackage(ctx, c.Head.Ref.Commit, at)
	if err != nil {
		return nil, "", err
	}
	res, err := merge.Packages(base, there, draft, merge.Options{Stands: true, Theirs: repo.Branch, Ours: merge.DraftSide})
	switch {
	case err != nil:
		return nil, fmt.Sprintf("it cannot be merged with branch %s: %v", repo.Branch, err), nil
	case len(res.Conflicts) > 0:
		return nil, fmt.Sprintf("branch %s changes the same: %s", repo.Branch, res.Conflicts[0]), nil
	}
	if out = res.Package; r.cfg.Renderer != nil {
		rendered, err := r.cfg.Renderer.Render(ctx, out)
		if err != nil {
			return nil, fmt.Sprintf("with what branch %s holds, rendering fails: %v", repo.Branch, err), nil
		}
		out = rendered.Package
	}
	change, err := review.ChangeDigest(there, out)
	if err == nil && change != p.Change {
		differs = fmt.Sprintf("with what branch %s holds, it is another change", repo.Branch)
	}
	return out, differs, err
}

// publish publishes the members that are due, and returns what became of them.
func (r *rollouts) publish(ctx context.Context, list []*decide.RolloutReport) (verdicts []*Verdict, err error) {
	var chosen []*decide.Candidate
	for _, o := range list {
		for _, m := range o.Members {
			for _, p := range m.Packages {
				if !m.Publish || !p.Due() {
					continue
				}
				v, err := r.verdict(ctx, o, p)
				if err != nil {
					return nil, err
				}
				verdicts, chosen = append(verdicts, v), append(chosen, v.Candidate)
			}
		}
	}
	if len(verdicts) == 0 {
		return nil, nil
	}
	locks, err := r.Engine.read.ReadLocks(ctx, decide.Units(chosen))
	if err != nil {
		return nil, err
	}
	r.Engine.read.ReadDrafts(ctx, chosen)
	stands := r.Engine.read.ReadStanding(ctx, decide.Units(chosen))
	unlocked, err := carryOut(ctx, r.Engine, r.snapshot, decide.Approve, verdicts, decide.NewNeeds(chosen, r.open, locks, locks, stands))
	for _, v := range verdicts {
		switch _, before := r.refused[v.Identity]; {
		case errors.Is(v.Err, ErrMoved) && !before: // the next look finds what came first
			r.refused[v.Identity] = nil
		case v.Err != nil:
			r.refused[v.Identity] = v.Err
		}
	}
	return verdicts, errors.Join(err, unlocked)
}

// verdict is what to publish of a package: its Draft, or the same change upon a hotfix.
func (r *rollouts) verdict(ctx context.Context, o *decide.RolloutReport, p *decide.RolloutPackage) (*Verdict, error) {
	c, err := r.draft(ctx, p)
	if err != nil {
		return nil, err
	}
	m := c.Head.Machine
	c.Unbased = c.Head.Ref.Commit.String() != p.Draft || m == nil || m.Hydrated.String() != p.Built
	c.Exempt = p.Exempt
	v := &Verdict{Candidate: c, Repo: r.Engine.read.Repo(c.Namespace, c.Repository), Commit: c.Head.Ref.Commit.String()}
	if !p.Moved() {
		return v, nil
	}
	v.Upon = p.Steps[0].Tree
	pkg, _, err := r.carried(ctx, p)
	if err == nil {
		v.Carried, err = pkg.Files()
	}
	return v, err
}

// Before returns the packages of a Rollout's wave that it published, by the number of the
// revision that was there before.
func Before(ctx context.Context, e *Engine, name, wave string) (map[int][]string, error) {
	list, _, err := Rollouts(ctx, e, []string{name})
	if err != nil {
		return nil, err
	}
	out, known := map[int][]string{}, []string{}
	for _, w := range list[0].Waves {
		known = append(known, w.Name)
	}
	if !slices.Contains(known, wave) {
		return nil, fmt.Errorf("rollout %s has no wave %q: %s", name, wave, decide.Hint(wave, known, "it has "+strings.Join(known, ", ")))
	}
	for _, m := range list[0].Members {
		for _, p := range m.Packages {
			repo := e.read.Repo(p.Identity.Namespace, p.Identity.Repository)
			if m.Wave != wave || m.State != decide.MemberPublished || repo == nil {
				continue
			}
			if tags := repo.Package(repo.Path(p.Identity.Package)).Tags; len(tags) > 1 {
				n := tags[len(tags)-2].Number
				out[n] = append(out[n], p.Identity.String())
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: wave %s has no published member with an earlier revision", ErrNothing, wave)
	}
	return out, nil
}
