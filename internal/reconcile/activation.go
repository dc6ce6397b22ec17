package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"golang.org/x/sync/errgroup"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
)

// policy is what an Installation says about the revisions of one package in
// one Repository (seed 004, revisionActivationPolicy and revisionHistoryLimit;
// design section 3). The zero value is the rule in Git: a person publishes, and
// every revision is kept.
type policy struct {
	automatic bool
	history   int // Published revisions kept beside the latest; 0: all
}

// defaultNamespace is that of objects of a management directory that name none.
const defaultNamespace = "default"

// readPolicies indexes the Installations. Two for one package would have to be
// chosen between, so neither is used and both are named.
func (e *Engine) readPolicies() []error {
	e.policies = map[Identity]policy{}
	named := map[Identity]policy{}
	first, twiceNamed := map[Identity]string{}, map[Identity]bool{}
	var problems []error
	for _, in := range e.cfg.Fleet.Installations {
		repo, dir, _ := strings.Cut(strings.Trim(in.Spec.Target, "/"), "/") // a target may be a folder
		id := Identity{cmp.Or(in.Namespace, defaultNamespace), repo, path.Join(dir, in.Spec.Package)}
		if other, twice := first[id]; twice {
			problems = append(problems, fmt.Errorf("Installations %s/%s and %s/%s are both for package %q of target %q: keep one",
				id.Namespace, other, id.Namespace, in.Name, in.Spec.Package, in.Spec.Target))
			twiceNamed[id] = true
			continue
		}
		first[id] = in.Name
		p := policy{automatic: in.Spec.Activation == variformv1alpha1.ActivationAutomatic}
		if in.Spec.HistoryLimit != nil {
			p.history = *in.Spec.HistoryLimit
		}
		e.policies[id] = p
		if repo != "" {
			named[Identity{id.Namespace, repo, path.Join(dir, in.Name)}] = p
		}
	}
	for id, p := range named { // what it asks for by itself has its name
		if _, ok := e.policies[id]; !ok {
			e.policies[id] = p
		}
	}
	for id := range twiceNamed {
		e.policies[id] = policy{} // a person publishes, whatever the namespace's says
	}
	return problems
}

// policy is the one for a package: its own, or its namespace's for every target.
func (e *Engine) policy(id Identity) policy {
	if p, ok := e.policies[id]; ok {
		return p
	}
	return e.policies[Identity{id.Namespace, "", id.Package}]
}

// needsReview reports whether the commit that a build makes holds what a person
// should see: edits by hand on the Draft, or local values that were lost. The
// commit says so, and what comes after it inherits it.
func (w *work) needsReview(conflicts int) bool {
	return conflicts > 0 || w.from != nil && w.from.Number == 0 && w.from.needsReview()
}

func (h *head) needsReview() bool {
	return h.machine == nil || h.machine.Hash != h.Ref.Commit || h.amended() || h.machine.Trailers.Review != ""
}

// amended reports whether a person made the commit anew that Variform made:
// amend, squash and rebase keep its message, and with it the trailers.
func (h *head) amended() bool {
	return h.machine != nil && h.Number == 0 && h.machine.Committer.Email != author.Email
}

// activate plans to publish what a variant with activation Automatic has ready.
func (e *Engine) activate(ctx context.Context, w *work, item *Item) {
	if !e.policy(item.Identity).automatic {
		return
	}
	if item.oneOfSeveral {
		item.chooseOne()
		return
	}
	switch item.Action {
	case Create, Update, Redraft:
		item.publish = true // build looks at what came of it
	case UpToDate:
		switch {
		case w.from == nil || !item.Phase.Open():
			return
		case item.Phase == lifecycle.Proposed:
			item.Action, item.Reasons = Wait, []string{"proposed by a person: approve it, or reject it"}
			return
		}
		_, pkg, err := w.repo.readPackage(ctx, w.from.Ref.Commit, w.state.path)
		if err != nil {
			item.fail(err)
			return
		}
		k, err := mutate.Read(pkg, "")
		if err != nil {
			item.fail(stalledError{err})
			return
		}
		if why := e.held(w, w.from.needsReview(), mutate.Unmet(k)); why != "" {
			item.Action, item.Reasons = Wait, []string{why}
			return
		}
		item.Action, item.Reasons, item.publish = Publish, []string{"activation is Automatic"}, true
	default:
	}
}

// activateOne leaves it to a person which of several Drafts is to be published.
func activateOne(items []*Item) {
	n := 0
	for _, i := range items {
		if i.publish {
			n++
		}
	}
	if n < 2 {
		return
	}
	for _, i := range items {
		if i.publish {
			i.oneOfSeveral, i.publish = true, false
			i.chooseOne()
		}
	}
}

// chooseOne says what a person is to do about several Drafts.
func (i *Item) chooseOne() {
	const why = "activation is Automatic, but the package has several Drafts: approve one, and delete the others"
	if i.Action == Publish || i.Action == UpToDate {
		i.Action, i.Reasons = Wait, []string{why}
	} else {
		i.Warnings = append(i.Warnings, why)
	}
}

// held says why a Draft is not published although activation is Automatic.
func (e *Engine) held(w *work, review bool, unmet []kptfilev1.Condition) string {
	switch {
	case len(e.cfg.Fleet.Problems) > 0: // one may be the Installation that says Manual
		return "activation is Automatic, but not all inputs could be read: correct them first"
	case e.cfg.Renderer == nil:
		return "activation is Automatic, but the pipelines of packages are left unrun"
	case review:
		return "activation is Automatic, but the Draft holds edits by hand or lost values: review and approve it"
	case len(unmet) > 0 && w.repo.obj.Spec.Deployment:
		return "activation is Automatic, but " + gatesError(unmet).Error()
	default:
		return ""
	}
}

// activateBuilt decides about a package that was just built.
func (e *Engine) activateBuilt(item *Item) error {
	if !item.publish {
		return nil
	}
	k, err := mutate.Read(item.After, "")
	if err != nil {
		return err
	}
	w := item.write.work
	if why := e.held(w, w.needsReview(len(item.Conflicts)), mutate.Unmet(k)); why != "" {
		item.publish = false
		item.Warnings = append(item.Warnings, why)
		return nil
	}
	item.Reasons = append(item.Reasons, "published at once: activation is Automatic")
	return nil
}

// publishActivated publishes the Drafts of variants with activation Automatic,
// those that this run wrote among them. They are read anew: a Draft that moved
// since is left for the next run.
func (e *Engine) publishActivated(ctx context.Context, items []*Item) {
	byRepo := map[*gitrepo.Repo][]*Item{}
	for _, i := range items {
		if i.publish && i.Err == nil {
			git := e.repos[repoKey{i.Namespace, i.Repository}].git
			byRepo[git] = append(byRepo[git], i)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(e.ioLimit())
	for git, list := range byRepo {
		g.Go(func() error {
			e.publishRepo(ctx, git, list)
			return nil
		})
	}
	_ = g.Wait()
}

func (e *Engine) publishRepo(ctx context.Context, git *gitrepo.Repo, items []*Item) {
	if err := e.rereadRepo(ctx, git); err != nil {
		failAll(items, err)
		return
	}
	var verdicts []*Verdict
	of := map[*Verdict]*Item{}
	for _, i := range items {
		repo := e.repos[repoKey{i.Namespace, i.Repository}]
		s := repo.stateOf(i.Path)
		at := slices.IndexFunc(s.revisions, func(r lifecycle.Revision) bool {
			h := s.headOf(r)
			return r.Phase.Open() && r.Workspace == i.Workspace && h != nil && h.Ref.Commit.String() == i.Commit
		})
		if at < 0 {
			i.Warnings = append(i.Warnings, "the Draft moved while it was to be published: the next run looks at it again")
			continue
		}
		rev := s.revisions[at]
		v := &Verdict{Identity: i.Identity, Workspace: i.Workspace, From: rev.Phase, Commit: i.Commit, head: s.headOf(rev), state: s, repo: repo}
		verdicts = append(verdicts, v)
		of[v] = i
	}
	oneEach(verdicts)
	e.decideRepo(ctx, git, verdicts, Approve, author)
	for _, v := range verdicts {
		i := of[v]
		switch {
		case errors.Is(v.Err, ErrMoved):
			i.Warnings = append(i.Warnings, v.Err.Error())
		case v.Err != nil:
			i.fail(fmt.Errorf("publishing (activation is Automatic): %w", v.Err))
		default:
			i.Phase, i.Revision, i.Commit = v.To, v.Revision, v.Commit
			i.Ref = gitrepo.PublishedRef(i.Path, v.Revision)
			i.targets = []target{{i.Workspace, v.To}}
		}
	}
}

// trims takes the items that trim made out of a plan, but for packages that a
// wanted variant has as its upstream: those keep all their revisions.
func (e *Engine) trims(plan *Plan, wanted []*variant) []*Item {
	var out []*Item
	plan.Items = slices.DeleteFunc(plan.Items, func(i *Item) bool {
		if i.Action == Trim {
			out = append(out, i)
		}
		return i.Action == Trim
	})
	if len(out) == 0 {
		return nil
	}
	upstreams := e.upstreamPlaces(wanted)
	return slices.DeleteFunc(out, func(i *Item) bool { return upstreams[i.write.removal.repo.git.URL()+"\x00"+i.Path] })
}

// trim plans to remove the Published revisions beyond an Installation's
// historyLimit. A revision that an open one started from stays; whether an
// upstreamLock names the package is keepLocked's to find out.
func (e *Engine) trim(ctx context.Context, w *work, item *Item) *Item {
	keep := e.policy(item.Identity).history
	latest := w.state.latest
	if keep == 0 || latest == nil || !e.cfg.Prune || item.Err != nil || !e.mine(latest.owner, w.Namespace) {
		return nil
	}
	oldest := latest.Number
	for _, h := range w.state.heads {
		if since := w.state.published(h.since); h.Number == 0 && since != nil {
			oldest = min(oldest, since.Number)
		}
	}
	var inactive []gitrepo.Revision
	for _, p := range w.state.refs.Published {
		if p.Number < latest.Number && p.Lifecycle == gitrepo.Published {
			inactive = append(inactive, p)
		}
	}
	if len(inactive) <= keep {
		return nil
	}
	r := &removal{repo: w.repo, state: w.state}
	var names []string
	for _, p := range inactive[:len(inactive)-keep] {
		if p.Number >= oldest {
			continue
		}
		// What was there before the package was adopted is not ours to remove.
		if mine, err := e.published(ctx, w, p); err != nil {
			item.Warnings = append(item.Warnings, fmt.Sprintf("historyLimit: reading %s: %v", revisionName(p.Number), err))
			continue
		} else if !mine {
			continue
		}
		names = append(names, revisionName(p.Number))
		r.refs = append(r.refs, gitrepo.RefUpdate{Name: p.Ref.Name, Old: p.Ref.Hash})
	}
	if len(names) == 0 {
		return nil
	}
	return &Item{
		Identity: item.Identity, Name: item.Name, Set: item.Set, Path: item.Path, Action: Trim,
		Reasons: []string{fmt.Sprintf("historyLimit %d: %s go", keep, strings.Join(limit(names, 5), ", "))},
		write:   &write{removal: r},
	}
}

// published reports whether a Published revision is one of this manager's.
func (e *Engine) published(ctx context.Context, w *work, p gitrepo.Revision) (bool, error) {
	commits, err := w.repo.git.Commits(ctx, p.Ref.Commit)
	if err != nil {
		return false, err
	}
	h := head{Revision: p}
	h.visit(commits[0])
	return e.mine(h.owner, w.Namespace), nil
}
