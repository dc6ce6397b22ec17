package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/injector"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/merge"
)

// variant is one wanted variant and where it came from.
type variant struct {
	Identity
	pv  *v1alpha1.PackageVariant
	set string
	err error // why it cannot be made beside the others; nil for most
	dep *dependent
	// invoked says that it is to be rendered again.
	invoked bool
}

// collide marks variants that would write to one folder, or one inside the
// other's: several Repositories may show the same folder of a Git repository,
// under other names, directories or branches, and refs are by folder.
func (e *Engine) collide(variants []*variant) {
	at := map[place][]*variant{}
	where := make([]place, len(variants))
	for i, v := range variants {
		if r := e.repos[repoKey{v.Namespace, v.Repository}]; r != nil && r.git != nil {
			where[i] = place{r.git, r.path(v.Package)}
			at[where[i]] = append(at[where[i]], v)
		}
	}
	for i, v := range variants {
		k := where[i]
		for _, o := range at[k] {
			if o != v && v.err == nil {
				v.err = stalled("spec.downstream: PackageVariant %s/%s (Repository %s) makes the same folder %q of %s: remove one of the two, or give one another package",
					o.Namespace, o.pv.Name, o.Repository, k.name, k.git.URL())
			}
		}
		for dir := path.Dir(k.name); k.git != nil && dir != "."; dir = path.Dir(dir) {
			for _, outer := range at[place{k.git, dir}] {
				const text = "spec.downstream: folder %q lies inside %q, and PackageVariant %s/%s makes %s: give one of them another package"
				v.err = stalled(text, k.name, dir, outer.Namespace, outer.pv.Name, "the outer one")
				if outer.err == nil {
					outer.err = stalled(text, k.name, dir, v.Namespace, v.pv.Name, "the inner one")
				}
			}
		}
	}
}

// isLock says whether it is a target's lock, which has no upstream.
func (v *variant) isLock() bool { return v.dep != nil && v.dep.lock != nil }

// wired is the short digest of the values that the variant is given, "" for
// none. Where dependencies are left alone they are what they were.
func (e *Engine) wired(w *work) string {
	switch {
	case e.cfg.Dependencies == nil && w.from != nil:
		return w.from.inputs.Values
	case w.dep == nil || w.dep.wires == nil:
		return ""
	}
	if text := w.dep.wires.text(); len(text) > 0 {
		return short(hash(text...))
	}
	return ""
}

// madeFor is what variform.dev/owner says of its package.
func (v *variant) madeFor() string {
	if v.dep == nil {
		return ""
	}
	return v.dep.owner
}

// work is one revision of one variant to bring up to date.
type work struct {
	*variant
	repo  *repository
	state *state
	up    upstreamResult
	owner string
	// from is the revision that the work continues: an open Draft, the latest
	// Published, or nil for a first Draft.
	from *head
	// since is the Published revision that from, an open Draft, started from.
	since  *head
	adopt  bool
	inputs inputs
	// oldUpstream is the ref of the upstreamLock and strategy the Kptfile's,
	// both read when updating.
	oldUpstream string
	strategy    merge.Strategy
}

// ownerID is how a variant signs what it owns.
func (e *Engine) ownerID(pv *v1alpha1.PackageVariant) string {
	return e.cfg.Manager + "/" + pv.Namespace + "/" + pv.Name
}

// mine reports whether an owner is a variant of this manager and namespace. A
// package's owner may have another name than the variant that makes it now: a
// variant is identified by what it makes.
func (e *Engine) mine(owner, namespace string) bool {
	return strings.HasPrefix(owner, e.cfg.Manager+"/"+namespace+"/")
}

// stalledError is a failure that needs a person.
type stalledError struct{ error }

func (s stalledError) Unwrap() error { return s.error }

func stalled(format string, args ...any) error { return stalledError{fmt.Errorf(format, args...)} }

// isStalled reports whether a failure goes away only when a person acts.
func isStalled(err error) bool {
	var s stalledError
	return errors.As(err, &s) || errors.Is(err, gitrepo.ErrNotFound)
}

// decide finds out what a variant needs, without building it. It returns one
// work for each revision to look at, at least one item.
func (e *Engine) decide(ctx context.Context, v *variant) []*Item {
	base := Item{Identity: v.Identity, Name: v.pv.Name, Set: v.set, Variant: v.pv, Action: UpToDate}
	if d := v.dep; d != nil {
		base.Owner, base.Lock = d.owner, d.lock != nil
		if base.Lock {
			base.Variant = nil
		}
	}
	works, err := e.survey(ctx, v, &base)
	if err != nil {
		return []*Item{base.fail(err)}
	}
	items := make([]*Item, 0, len(works))
	for _, w := range works {
		item := base
		item.Path = w.state.path
		if item.Upstream = w.up.String(); item.Lock {
			item.Upstream = ""
		}
		e.judge(ctx, w, &item)
		e.activate(ctx, w, &item)
		items = append(items, &item)
	}
	activateOne(items)
	if t := e.trim(ctx, works[0], items[0]); t != nil {
		items = append(items, t)
	}
	return append(items, e.discardSurplus(works[0], &base)...)
}

func (i *Item) fail(err error) *Item {
	i.Action, i.Err, i.Stalled = Fail, err, isStalled(err)
	return i
}

// survey resolves a variant's repositories and upstream and selects the
// revisions to work on.
func (e *Engine) survey(ctx context.Context, v *variant, item *Item) ([]*work, error) {
	repo, err := e.downstream(v.Namespace, v.Repository)
	if err != nil {
		return nil, stalled("spec.downstream.repo: %w", err)
	}
	if v.err != nil {
		return nil, v.err
	}
	s := repo.stateOf(repo.path(v.Package))
	var up upstreamResult
	if v.isLock() {
		up = v.dep.lock.source(repo, s.path)
	} else {
		up = e.resolveUpstream(ctx, v.Namespace, *v.pv.Spec.Upstream)
	}
	item.Path = s.path
	item.targets = s.targets(func(h *head) bool { return e.mine(h.owner, v.Namespace) })
	if up.err != nil {
		return nil, fmt.Errorf("spec.upstream: %w", up.err)
	}
	if up.repo.git == repo.git && up.path == s.path && !v.isLock() {
		return nil, stalled("spec.downstream: the package would be its own upstream (%s)", up.path)
	}
	owner := e.ownerID(v.pv)
	revisions := e.asOwned(s.revisions, owner, v.Namespace)
	sel := lifecycle.Downstream(owner, v.Repository, v.Package, v.pv.Spec.AdoptionPolicy, revisions)
	w := work{variant: v, repo: repo, state: s, up: up, owner: owner}
	if len(s.heads) == 0 {
		if err := w.vacant(ctx); err != nil {
			return nil, err
		}
	}
	return w.choose(sel)
}

// vacant refuses a folder that the registered branch has although no revision
// says so: a first Draft would replace what somebody put there.
func (w *work) vacant(ctx context.Context) error {
	tree, err := w.repo.treeAt(ctx, w.repo.head(), w.state.path)
	if err != nil || tree.IsZero() {
		return err
	}
	return stalled("package %q in Repository %s is on branch %s already, and no revision of it is Published: tag that commit %s/v1 and set spec.adoptionPolicy: adoptExisting to take it over, or choose another downstream package",
		w.Package, w.Repository, w.repo.branch, w.state.path)
}

// asOwned renames owners of this manager and namespace to the variant's
// present name.
func (e *Engine) asOwned(revisions []lifecycle.Revision, owner, namespace string) []lifecycle.Revision {
	out := make([]lifecycle.Revision, len(revisions))
	for i, r := range revisions {
		if len(r.Owners) == 1 && e.mine(r.Owners[0], namespace) {
			r.Owners = []string{owner}
		}
		out[i] = r
	}
	return out
}

// choose turns a selection into works.
func (w work) choose(sel lifecycle.Selection) ([]*work, error) {
	if err := w.refuse(sel); err != nil {
		return nil, err
	}
	var works []*work
	for _, r := range sel.Continue {
		n := w
		n.from = w.state.headOf(r)
		if draft := w.state.heads[gitrepo.DraftRef(w.state.path, r.Workspace)]; r.Phase == lifecycle.Proposed && draft != nil && !slices.Contains(w.state.surplus, draft) {
			return nil, stalled("package %q in Repository %s has workspace %s both as Draft and as Proposed: delete one of the branches %s and %s",
				w.Package, w.Repository, r.Workspace, shortRef(draft.Ref.Name), shortRef(n.from.Ref.Name))
		}
		for _, a := range sel.Adopt {
			n.adopt = n.adopt || a.Name == r.Name && a.Phase == r.Phase
		}
		if n.from.Number == 0 {
			n.since = w.state.published(n.from.since)
		}
		works = append(works, &n)
	}
	if len(works) == 0 {
		// Nothing of its own: a first Draft, or one that adopts what is Published.
		n := w
		n.from = w.state.latest
		n.adopt = n.from != nil
		works = append(works, &n)
	}
	return works, nil
}

// refuse says why a variant may not touch the package that is there.
func (w work) refuse(sel lifecycle.Selection) error {
	if len(sel.Continue) > 0 {
		return nil
	}
	where := fmt.Sprintf("package %q in Repository %s", w.Package, w.Repository)
	for _, r := range sel.Foreign {
		if len(r.Owners) > 0 {
			if manager, rest, ok := strings.Cut(r.Owners[0], "/"); ok && strings.HasSuffix(w.owner, "/"+rest) {
				return stalled("%s belongs to the variant %s (%s), of another manager: if this fleet had that name before, go on under it with --manager %s; else give this variant another downstream package",
					where, r.Owners[0], describe(r), manager)
			}
			return stalled("%s belongs to the variant %s (%s): give this variant another downstream package, or remove that one first",
				where, r.Owners[0], describe(r))
		}
	}
	if len(sel.Foreign) > 0 && w.pv.Spec.AdoptionPolicy != v1alpha1.AdoptExisting {
		r, help := sel.Foreign[0], "set spec.adoptionPolicy: adoptExisting to take it over, or choose another downstream package"
		if w.dep != nil && w.dep.derived {
			help = "have it published or deleted, or take it over with a PackageVariant whose spec.adoptionPolicy is adoptExisting"
		}
		return stalled("%s exists already (%s) and no variant made it: %s", where, describe(r), help)
	}
	return nil
}

// describe names a revision for people: "Draft packagevariant-1", "Published v2".
func describe(r lifecycle.Revision) string {
	return strings.TrimSpace(string(r.Phase) + " " + cmp.Or(revisionName(r.Revision), r.Workspace))
}

func shortRef(name string) string { return strings.TrimPrefix(name, "refs/heads/") }

func (s *state) headOf(r lifecycle.Revision) *head {
	for _, h := range s.heads {
		if h.workspace == r.Workspace && h.Number == r.Revision && lifecycle.Phase(h.Lifecycle) == r.Phase {
			return h
		}
	}
	return nil
}

// published is the Published revision of a name such as v2; nil where there is
// none, or none was named.
func (s *state) published(name string) *head {
	for _, r := range s.refs.Published {
		if revisionName(r.Number) == name {
			if s.latest != nil && s.latest.Number == r.Number {
				return s.latest
			}
			return &head{Revision: r}
		}
	}
	return nil
}

func revisionName(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("v%d", n)
}

// targets are the revisions that status names: the open ones, or the latest
// Published where there is none (seed 002, "PackageVariant Status").
func (s *state) targets(owned func(*head) bool) []target {
	var out []target
	for _, r := range s.revisions {
		if h := s.headOf(r); h != nil && r.Phase.Open() && owned(h) {
			out = append(out, target{r.Workspace, r.Phase})
		}
	}
	if len(out) == 0 && s.latest != nil && owned(s.latest) {
		out = append(out, target{s.latest.workspace, lifecycle.Phase(s.latest.Lifecycle)})
	}
	return out
}

// judge compares the inputs recorded with the revision with those of now, and
// sets what is to be done.
func (e *Engine) judge(ctx context.Context, w *work, item *Item) {
	from := w.from
	if from != nil {
		item.Phase, item.Workspace, item.Revision = lifecycle.Phase(from.Lifecycle), from.workspace, from.Number
		item.Ref, item.Commit = from.Ref.Name, from.Ref.Commit.String()
	}
	// As recorded: with the Published revision that was started from then.
	var recorded *head
	if from != nil {
		recorded = w.state.published(from.inputs.Published)
	}
	parts, selection, err := e.inputsOf(w)
	if err != nil {
		item.fail(err)
		return
	}
	then, latest := parts.from(recorded).digest(), w.state.latest
	w.inputs = then
	if latest != recorded {
		w.inputs = parts.from(latest).digest()
	}
	defer func() {
		// What is built anew says so itself.
		if item.write == nil && item.Err == nil {
			item.Warnings = append(item.Warnings, unfilled(selection)...)
		}
	}()
	item.write = &write{work: w}
	if merged, err := w.mergedElsewhere(ctx); err != nil {
		item.fail(err)
		item.write = nil
		return
	} else if merged {
		n := revisionName(w.state.refs.NextNumber())
		item.Action, item.Reasons = Tag, []string{"merged into " + w.repo.branch + " by other means: becomes " + n}
		return
	}
	switch {
	case from == nil:
		item.Action, item.Reasons = Create, w.reasons(inputs{}, then)
		item.Phase = lifecycle.Draft
	case from.Number > 0:
		e.judgePublished(w, then, item)
	case w.adopt:
		item.Action, item.Reasons = Update, []string{"adopted"}
	case from.inputs.Digest != then.Digest:
		item.Action, item.Reasons = Update, w.reasons(from.inputs, then)
	case behind(w.since, latest):
		item.Action, item.Reasons = Update, []string{revisionName(latest.Number) + " was published since"}
	case w.isLock() && w.dep.lock.edited(from):
		item.Action, item.Reasons = Update, w.reasons(from.inputs, then)
	case w.invoked:
		item.Action, item.Reasons = Update, []string{invokedReason}
	default:
		item.write = nil
	}
	if d := w.dep; d != nil && d.wires != nil && item.write != nil && from != nil && from.inputs.Values != then.Values && d.target.doubt.why != "" && !d.target.doubt.loss {
		item.fail(stalled("%s, so that its values, which would change, are not trusted", d.target.doubt.why))
		item.write = nil
		return
	}
	if e.cfg.Dependencies == nil && item.write != nil && from != nil && from.inputs.Values != "" {
		// What is built without its values is not what the next whole run would build.
		parts.values = "left"
		w.inputs = parts.from(latest).digest()
	}
	if item.write != nil && e.cfg.Memo != nil && !w.invoked && from != nil && (from.Number > 0 || !behind(w.since, latest)) && e.cfg.Memo.Has(w.memoKey()) {
		item.Action, item.Reasons, item.write = UpToDate, nil, nil
	}
}

// reasons tell why a revision is made.
func (w *work) reasons(old, now inputs) []string {
	switch {
	case w.isLock():
		return w.dep.lock.changes(w.from)
	case w.from != nil:
		return why(old, now, w.up.String())
	case w.dep != nil && len(w.dep.needs) > 0:
		return []string{"new: from " + w.up.String() + ", needed by " + strings.Join(limit(w.dep.needs, 3), ", ")}
	}
	return []string{"new: from " + w.up.String()}
}

const invokedReason = "rendered again, as was asked for"

func (e *Engine) judgePublished(w *work, then inputs, item *Item) {
	switch {
	case w.from.Lifecycle == gitrepo.DeletionProposed:
		item.write = nil
		item.Action = Wait
		item.Reasons = []string{revisionName(w.from.Number) + " is proposed for deletion although the variant is wanted: reject the deletion"}
	case w.adopt:
		item.Action, item.Reasons = Redraft, []string{"adopted from " + revisionName(w.from.Number)}
	case w.from.inputs.Digest != then.Digest:
		item.Action, item.Reasons = Redraft, w.reasons(w.from.inputs, then)
	case w.invoked:
		item.Action, item.Reasons = Redraft, []string{invokedReason}
	default:
		item.write = nil
	}
}

// mergedElsewhere reports whether an open Draft's content stands in the
// registered branch though no revision says so: a pull request was merged on a
// forge.
func (w *work) mergedElsewhere(ctx context.Context) (bool, error) {
	if w.from == nil || w.from.Number > 0 || w.adopt {
		return false, nil
	}
	there, err := w.repo.treeAt(ctx, w.repo.head(), w.state.path)
	if err != nil || there.IsZero() {
		return false, err
	}
	if w.state.latest != nil {
		published, err := w.repo.treeAt(ctx, w.state.latest.Ref.Commit, w.state.path)
		if err != nil || there == published {
			return false, err
		}
	}
	draft, err := w.repo.treeAt(ctx, w.from.Ref.Commit, w.state.path)
	return draft == there, err
}

// behind reports whether a revision was published after the one that a Draft
// started from.
func behind(since, latest *head) bool {
	return latest != nil && (since == nil || since.Number < latest.Number)
}

// memoKey identifies a build that came to nothing: the inputs and what they
// were applied to.
func (w *work) memoKey() string {
	return hash("unchanged", w.inputs.Digest, w.from.Ref.Commit.String(), w.state.path)
}

// inputsOf collects what goes into a variant, but for the Published revision
// that it starts from; selection says what fills its injection points.
func (e *Engine) inputsOf(w *work) (parts inputParts, selection *injector.Report, err error) {
	spec, err := canonicalSpec(w.variant, w.owner)
	if err != nil {
		return inputParts{}, nil, err
	}
	selection = injector.Select(w.up.points, e.injection(w.pv))
	return inputParts{
		upstreamTree: w.up.content, upstreamRef: w.up.repo.address() + "\x00" + w.up.path + "\x00" + w.up.ref(),
		spec: spec, functions: e.functions(w), context: selection.Digest(), values: e.wired(w),
	}, selection, nil
}

// unfilled is a warning for each injection point that nothing fills.
func unfilled(r *injector.Report) []string {
	var out []string
	for _, o := range r.Outcomes {
		if !o.Injected() {
			out = append(out, fmt.Sprintf("%s: %s", o.ConditionType, o.Message))
		}
	}
	return out
}

// treeAt is the package's tree in a commit, zero where it has none.
func (r *repository) treeAt(ctx context.Context, commit gitrepo.Hash, path string) (gitrepo.Hash, error) {
	if commit.IsZero() {
		return gitrepo.Hash{}, nil
	}
	if tree, known := r.git.KnownTreeAt(commit, path); known {
		return tree, nil
	}
	if err := r.git.Fetch(ctx, commit); err != nil {
		return gitrepo.Hash{}, err
	}
	tree, ok, err := r.git.TreeAt(ctx, commit, path)
	if err != nil || !ok {
		return gitrepo.Hash{}, err
	}
	return tree, nil
}

func (e *Engine) injection(pv *v1alpha1.PackageVariant) injector.Request {
	return injector.Request{Namespace: pv.Namespace, Injectors: pv.Spec.Injectors, Context: e.cfg.Fleet.Context, AllowKinds: e.cfg.AllowKinds}
}
