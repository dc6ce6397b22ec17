package reconcile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/mutate"
)

// write is what an item will commit. work is nil for a removal.
type write struct {
	work    *work
	files   []krm.File
	root    gitrepo.Hash // commit whose tree the package is grafted into; zero: empty
	parents []gitrepo.Hash
	when    time.Time
	message string
	removal *removal
	refs    []gitrepo.RefUpdate // of the last attempt to push
}

// build makes the package of one item, and finds out whether it differs from
// what is there (design section 5). Nothing is written.
func (e *Engine) build(ctx context.Context, item *Item) {
	if item.write == nil || item.write.work == nil || item.Action == Tag || item.Action == Discard {
		return
	}
	if err := e.make(ctx, item); err != nil {
		item.fail(err)
		item.write = nil
	}
}

func (e *Engine) make(ctx context.Context, item *Item) error {
	w := item.write.work
	pkg, err := e.start(ctx, w, item)
	if err != nil {
		return err
	}
	if w.isLock() {
		return e.finish(ctx, item, pkg)
	}
	report, err := mutate.Apply(pkg, w.pv, mutate.Options{Context: e.cfg.Fleet.Context, AllowKinds: e.cfg.AllowKinds, DropStale: true})
	if err != nil {
		return fmt.Errorf("variant %s: %w", w.pv.Name, err)
	}
	item.Warnings = append(item.Warnings, unfilled(report)...)
	if w.dep != nil && w.dep.wires != nil {
		if err := w.dep.wires.apply(pkg); err != nil {
			return err
		}
		for _, g := range w.dep.wires.gates {
			if !g.Met {
				item.Warnings = append(item.Warnings, g.Name+": "+g.Message)
			}
		}
	}
	if e.cfg.Dependencies == nil && w.from != nil && w.from.inputs.Values != "" {
		if err := unwire(pkg); err != nil {
			return err
		}
	}
	if pkg, err = e.render(ctx, w, pkg, item); err != nil {
		return err
	}
	return e.finish(ctx, item, pkg)
}

// finish compares what was built with what is there, and prepares the commit.
func (e *Engine) finish(ctx context.Context, item *Item, pkg *krm.Package) (err error) {
	w := item.write.work
	if item.write.files, err = pkg.Files(); err != nil {
		return err
	}
	item.After = pkg
	if err := item.readConditions(); err != nil {
		return err
	}
	if item.Before != nil || w.from != nil {
		same, err := e.unchanged(item)
		if err != nil {
			return err
		}
		if same {
			e.activate(ctx, w, item)
			return nil
		}
	}
	if err := e.activateBuilt(item); err != nil {
		return err
	}
	return e.prepare(ctx, item)
}

// start is step 1: a clone of the upstream, or the revision that is there,
// brought up to the upstream.
func (e *Engine) start(ctx context.Context, w *work, item *Item) (*krm.Package, error) {
	if w.isLock() {
		return e.startLock(ctx, w, item)
	}
	if w.from == nil {
		item.Base = w.up.pkg
		return mutate.Clone(w.up.pkg, mutate.CloneOptions{
			Path: w.state.path, Upstream: w.up.upstream(nil), Lock: w.up.lock, Owner: w.ownerAnnotations(),
			Labels: w.pv.Spec.Labels, Annotations: w.pv.Spec.Annotations, Deployment: w.repo.obj.Spec.Deployment,
		})
	}
	_, local, err := w.repo.readPackage(ctx, w.from.Ref.Commit, w.state.path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", w.from.Ref.Name, err)
	}
	if err := e.setBase(ctx, w, item, local); err != nil {
		return nil, err
	}
	return e.update(ctx, w, item, local)
}

// startLock is the lock's package with what was resolved.
func (e *Engine) startLock(ctx context.Context, w *work, item *Item) (*krm.Package, error) {
	if w.from == nil {
		return w.dep.lock.write(nil, w.ownerAnnotations())
	}
	_, have, err := w.repo.readPackage(ctx, w.from.Ref.Commit, w.state.path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", w.from.Ref.Name, err)
	}
	if err := e.setBase(ctx, w, item, have); err != nil {
		return nil, err
	}
	return w.dep.lock.write(have, w.ownerAnnotations())
}

// setBase finds what a reviewer compares with.
func (e *Engine) setBase(ctx context.Context, w *work, item *Item, local *krm.Package) error {
	if w.from.Number == 0 {
		item.Before = local
	}
	switch latest := w.state.latest; latest {
	case w.from:
		item.Base = local
	case nil:
		item.Base = w.up.pkg
	default:
		_, p, err := w.repo.readPackage(ctx, latest.Ref.Commit, w.state.path)
		if err != nil {
			return fmt.Errorf("reading %s: %w", latest.Ref.Name, err)
		}
		item.Base = p
	}
	return nil
}

// update merges what changed upstream, and what was published since the Draft
// began, into the local package.
func (e *Engine) update(ctx context.Context, w *work, item *Item, local *krm.Package) (*krm.Package, error) {
	kptfile, err := mutate.Read(local, "")
	if err != nil {
		return nil, stalledError{fmt.Errorf("package %s at %s: %w", w.state.path, w.from.Ref.Name, err)}
	}
	strategy, err := mutate.Strategy(kptfile)
	if err != nil {
		return nil, stalledError{err}
	}
	lock := mutate.Lock(kptfile)
	baseContent, base, err := e.base(ctx, w, lock)
	if err != nil {
		return nil, err
	}
	w.oldUpstream, w.strategy = lock.Ref, strategy
	pkg := local.Clone()
	if w.from.Number == 0 && behind(w.since, w.state.latest) {
		if pkg, err = e.rebase(ctx, w, item, base, pkg); err != nil {
			return nil, err
		}
	}
	if baseContent != w.up.content {
		if pkg, err = e.merge(item, w.up.String(), base, w.up.pkg, pkg, strategy); err != nil {
			return nil, err
		}
	}
	if err := e.dropRenamed(w, kptfile, pkg); err != nil {
		return nil, err
	}
	return pkg, errors.Join(
		mutate.SetUpstream(pkg, w.up.upstream(kptfile.Upstream), w.up.lock),
		mutate.SetOwner(pkg, w.ownerAnnotations()),
	)
}

// dropRenamed removes the functions that the variant added under another name:
// they are known by it, and would go on running after the new ones.
func (e *Engine) dropRenamed(w *work, was *kptfilev1.KptFile, pkg *krm.Package) error {
	owner, ok := mutate.OwnerOf(was)
	if !ok || owner.Variant == w.owner || !e.mine(owner.Variant, w.Namespace) {
		return nil
	}
	return mutate.DropFunctions(pkg, path.Base(owner.Variant))
}

// rebase brings what was published since a Draft began into the Draft.
func (e *Engine) rebase(ctx context.Context, w *work, item *Item, base, pkg *krm.Package) (*krm.Package, error) {
	since := base
	var err error
	if w.since != nil {
		if _, since, err = w.repo.readPackage(ctx, w.since.Ref.Commit, w.state.path); err != nil {
			return nil, fmt.Errorf("reading %s: %w", w.since.Ref.Name, err)
		}
	}
	_, latest, err := w.repo.readPackage(ctx, w.state.latest.Ref.Commit, w.state.path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", w.state.latest.Ref.Name, err)
	}
	return e.merge(item, revisionName(w.state.latest.Number), since, latest, pkg, "")
}

func (e *Engine) merge(item *Item, what string, base, theirs, ours *krm.Package, strategy merge.Strategy) (*krm.Package, error) {
	res, err := merge.Packages(base, theirs, ours, merge.Options{Strategy: strategy, Own: []string{mutate.PackageContextFile}})
	if err != nil {
		return nil, stalledError{fmt.Errorf("merging %s: %w", what, err)}
	}
	if len(res.Conflicts) > 0 && e.cfg.StopOnConflict {
		lines := make([]string, len(res.Conflicts))
		for i, c := range res.Conflicts {
			lines[i] = c.Undecided()
		}
		return nil, stalled("merging %s: %s, and conflicts are set to stop:\n  %s", what, plural(len(lines), "conflict"), strings.Join(lines, "\n  "))
	}
	item.Conflicts = append(item.Conflicts, res.Conflicts...)
	return res.Package, nil
}

// base is the upstream that a package was last taken from, and what it holds.
func (e *Engine) base(ctx context.Context, w *work, lock *kptfilev1.GitLock) (content string, p *krm.Package, err error) {
	if lock == nil || lock.Commit == "" {
		return "", nil, stalled("%s has no upstreamLock in its Kptfile, so local edits cannot be told from the upstream's: add upstreamLock, or delete the revision to start anew", w.from.Ref.Name)
	}
	repo, pkg := e.locked(w.Namespace, lock, w.up.repo)
	if repo == nil || repo.err != nil {
		return "", nil, stalled("%s: upstreamLock names %s, which is no registered Repository of namespace %s: register it", w.from.Ref.Name, lock.Repo, w.Namespace)
	}
	if content, p, err = repo.readLocked(ctx, pkg, lock); err == nil {
		return content, p, nil
	}
	const text = "reading the upstreamLock of %s (%s at %s): %w: it is needed to merge; %s"
	if repo.oci != nil {
		return "", nil, needsPerson(fmt.Errorf(text, w.from.Ref.Name, lock.Repo, lock.Commit, err, "where it is gone, pushing that image again brings it back"))
	}
	return "", nil, stalledError{fmt.Errorf(text, w.from.Ref.Name, lock.Directory, lock.Commit, err, "a tag that holds the commit brings it back")}
}

func sameAddress(a, b string) bool { return plainAddress(a) == plainAddress(b) }

// plainAddress is a repository's address without what makes no difference.
func plainAddress(url string) string {
	return strings.TrimPrefix(strings.TrimSuffix(strings.TrimRight(url, "/"), ".git"), "file://")
}

func (w *work) ownerAnnotations() mutate.Owner {
	policy := w.pv.Spec.DeletionPolicy
	if policy == v1alpha1.DeletionDelete {
		policy = ""
	}
	return mutate.Owner{Variant: w.owner, Set: w.set, DeletionPolicy: string(policy), For: w.madeFor()}
}

// render runs the package's pipelines, where there is a Renderer.
func (e *Engine) render(ctx context.Context, w *work, pkg *krm.Package, item *Item) (*krm.Package, error) {
	if e.cfg.Renderer == nil {
		return pkg, nil
	}
	res, err := e.cfg.Renderer.Render(ctx, pkg)
	if err != nil {
		return nil, stalledError{fmt.Errorf("rendering %s: %w", w.state.path, err)}
	}
	for _, f := range res.Functions {
		for _, r := range f.Results {
			if r.Severity != "" && r.Severity != "info" {
				item.Warnings = append(item.Warnings, fmt.Sprintf("%s: %s", cmp.Or(f.Name, f.Image, f.Exec), r.String()))
			}
		}
	}
	out, err := merge.KeepIdentities(pkg, res.Package)
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", w.state.path, err)
	}
	return out, nil
}

func (i *Item) readConditions() error {
	k, err := mutate.Read(i.After, "")
	if err != nil {
		return err
	}
	i.Conditions = nil
	for _, c := range mutate.Conditions(k) {
		i.Conditions = append(i.Conditions, Condition{c.Type, string(c.Status), c.Reason, c.Message})
	}
	return nil
}

// unchanged reports whether the build gave what is there already, and says so
// in the item and the memo.
func (e *Engine) unchanged(item *Item) (bool, error) {
	w := item.write.work
	have := item.Before
	if have == nil {
		have = item.Base
	}
	files, err := have.Files()
	if err != nil {
		return false, err
	}
	if !sameFiles(files, item.write.files) {
		return false, nil
	}
	if w.from.Number == 0 && behind(w.since, w.state.latest) {
		// The files are the same, but the commit records that the Draft now
		// stands on the latest Published revision: approve asks for that.
		return false, nil
	}
	if e.cfg.Memo != nil {
		e.cfg.Memo.Put(w.memoKey())
	}
	item.Action, item.Reasons, item.write, item.publish = UpToDate, nil, nil, false
	return true, nil
}

func sameFiles(a, b []krm.File) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Path != b[i].Path || a[i].Mode != b[i].Mode || !bytes.Equal(a[i].Data, b[i].Data) {
			return false
		}
	}
	return true
}

// prepare fills in what the commit needs: parents, time, message.
func (e *Engine) prepare(ctx context.Context, item *Item) error {
	w, out := item.write.work, item.write
	var inputs []gitrepo.Hash
	if w.from != nil {
		inputs = append(inputs, w.from.Ref.Commit)
	}
	if w.from != nil && w.from.Number == 0 {
		item.Workspace = w.from.workspace
		out.root, out.parents = w.from.Ref.Commit, []gitrepo.Hash{w.from.Ref.Commit}
	} else {
		workspace, err := w.nextWorkspace(ctx)
		if err != nil {
			return err
		}
		item.Workspace, item.Revision = workspace, 0
		head := w.repo.head()
		if head.IsZero() && !w.repo.mayStart() {
			return stalled("Repository %s has no branch %q: create it, or set spec.git.createBranch: true", w.Repository, w.repo.branch)
		}
		if !head.IsZero() {
			out.root, out.parents = head, []gitrepo.Hash{head}
			inputs = append(inputs, head)
		}
	}
	item.Phase = lifecycle.Draft
	item.Ref = gitrepo.DraftRef(w.state.path, item.Workspace)
	out.when = w.up.when
	commits, err := w.repo.git.Commits(ctx, inputs...)
	if err != nil {
		return err
	}
	for _, c := range commits {
		if c.Committer.When.After(out.when) {
			out.when = c.Committer.When
		}
	}
	out.message, err = draftMessage(w, item)
	return err
}

// mayStart reports whether a first package may be written although the
// registered branch is not there: in an empty repository, or by leave.
func (r *repository) mayStart() bool {
	return r.obj.Spec.Git.CreateBranch || r.git.Refs().Len() == 0 || r.onlyOwnRefs()
}

// onlyOwnRefs reports whether the repository holds nothing but Drafts and the
// like: it was empty when the first was written.
func (r *repository) onlyOwnRefs() bool {
	for _, ref := range r.git.Refs().All() {
		name, ok := strings.CutPrefix(ref.Name, "refs/heads/")
		if !ok || !strings.HasPrefix(name, "drafts/") && !strings.HasPrefix(name, "proposed/") {
			return false
		}
	}
	return true
}

// nextWorkspace names the workspace of a new Draft, above all that were used.
func (w *work) nextWorkspace(ctx context.Context) (string, error) {
	used, err := w.repo.git.PublishedWorkspaces(ctx, w.state.refs)
	if err != nil {
		return "", err
	}
	names := slices.Collect(maps.Values(used))
	for _, r := range slices.Concat(w.state.refs.Drafts, w.state.refs.Proposed) {
		names = append(names, r.Workspace)
	}
	return lifecycle.NextWorkspace(names...), nil
}
