// Package build is the room between what is to be built and what moves: it makes
// the package of one wanted revision, renders it, and compares it with what is
// there. It decides nothing and writes nothing to a repository. See
// docs/design/heart.md.
package build

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/review"
)

// Renderer renders packages; *render.Renderer is one. It is safe for concurrent
// use, and gives the same package for the same one.
type Renderer interface {
	Render(ctx context.Context, p *krm.Package) (*render.Result, error)
}

// Builder makes packages. It is safe for concurrent use.
type Builder struct {
	Manager decide.Manager
	Read    *observe.Reader
	// Renderer is nil where pipelines are left unrun.
	Renderer   Renderer
	Context    *injection.Context
	AllowKinds []string
	// StopOnConflict fails a variant whose update meets a true conflict.
	StopOnConflict bool
	// Keep leaves Before, Base and After in what was made, for who shows them;
	// without it they are let go once the package was compared. Forget lets the
	// Files go too: nothing is to be pushed.
	Keep, Forget bool
}

// Job is one revision to build.
type Job struct {
	decide.Question
	decide.Build
	Repo     *observe.Repo
	Upstream *decide.Upstream // nil for a lock
	Wires    *Wires           // nil where nothing was resolved
	// Keep leaves this one's packages in what was made.
	Keep bool
	// Prove says that what is made may be published unseen.
	Prove bool
}

// Made is what came of a Job.
type Made struct {
	// Err is why there is no package.
	Err error
	// Same says that it is what is there already.
	Same bool
	// Files are what the Draft is to hold; nil with Same or Err.
	Files []krm.File
	// Root is the commit whose tree the package is put into, zero for an empty
	// one; Parents, When and Message are the commit's.
	Root    decide.Hash
	Parents []decide.Hash
	When    time.Time
	Message string
	// Workspace and Ref are where the Draft is, or will be.
	Workspace, Ref string

	// Base is what a reviewer compares with: the latest Published revision, or
	// the upstream for a first Draft. Before is the open Draft as it is, nil
	// without one. After is what was built. See Builder.Keep.
	Base, Before, After *krm.Package
	// Conflicts are local values that an update lost to the upstream.
	Conflicts []merge.Conflict
	// Conditions and Unmet gates are those of the package.
	Conditions []kptfilev1.Condition
	Unmet      []decide.Gate
	Warnings   []string
	// Unproved is why it may not be published unseen, where Job.Prove asked.
	Unproved string
}

// Make builds one revision. What fails is in Made.
func (b *Builder) Make(ctx context.Context, j Job) *Made {
	m := &maker{Builder: b, Job: j, Made: &Made{}}
	if err := m.make(ctx); err != nil {
		return &Made{Err: err, Warnings: m.Made.Warnings}
	}
	if j.Prove && (j.From == nil || j.From.Number > 0 || !j.From.NeedsReview()) {
		m.Unproved = m.prove(ctx)
	}
	if !b.Keep && !j.Keep {
		m.Base, m.Before, m.After = nil, nil, nil
	}
	if b.Forget {
		m.Files = nil
	}
	return m.Made
}

// maker is one revision while it is built.
type maker struct {
	*Builder
	Job
	*Made

	pkg *krm.Package
	// oldUpstream is the ref of the upstreamLock and strategy the Kptfile's, both
	// read when updating.
	oldUpstream string
	strategy    merge.Strategy
}

func (m *maker) make(ctx context.Context) error {
	if err := m.start(ctx); err != nil {
		return err
	}
	if m.Lock() == nil {
		if err := m.mutate(ctx); err != nil {
			return err
		}
	}
	return m.finish(ctx)
}

// mutate gives the package what its variant says, and renders it.
func (m *maker) mutate(ctx context.Context) error {
	pv := m.Variant()
	report, err := mutate.Apply(m.pkg, pv, mutate.Options{Context: m.Context, AllowKinds: m.AllowKinds, DropStale: true})
	if err != nil {
		return fmt.Errorf("variant %s: %w", pv.Name, err)
	}
	m.Warnings = append(m.Warnings, Unfilled(report)...)
	if m.Wires != nil {
		if err := m.Wires.apply(m.pkg); err != nil {
			return err
		}
		m.Warnings = append(m.Warnings, m.Wires.waiting()...)
	}
	if m.Alone && m.From != nil && m.From.Inputs.Values != "" {
		if err := unwire(m.pkg); err != nil {
			return err
		}
	}
	return m.render(ctx)
}

// Unfilled is a warning for each injection point that nothing fills.
func Unfilled(r *injection.Report) []string {
	var out []string
	for _, o := range r.Outcomes {
		if !o.Injected() {
			out = append(out, fmt.Sprintf("%s: %s", o.ConditionType, o.Message))
		}
	}
	return out
}

// render runs the package's pipelines, where there is a Renderer.
func (m *maker) render(ctx context.Context) error {
	if m.Renderer == nil {
		return nil
	}
	res, err := m.Renderer.Render(ctx, m.pkg)
	if err != nil {
		return decide.Stall(fmt.Errorf("rendering %s: %w", m.Package.Path, err))
	}
	m.Warnings = append(m.Warnings, res.Notes...)
	for _, f := range res.Functions {
		for _, r := range f.Results {
			if r.Severity != "" && r.Severity != "info" {
				m.Warnings = append(m.Warnings, fmt.Sprintf("%s: %s", cmp.Or(f.Name, f.Image, f.Exec), r.String()))
			}
		}
	}
	if m.pkg, err = merge.KeepIdentities(m.pkg, res.Package); err != nil {
		return fmt.Errorf("rendering %s: %w", m.Package.Path, err)
	}
	return nil
}

// finish compares what was built with what is there, and prepares the commit.
func (m *maker) finish(ctx context.Context) error {
	files, err := m.pkg.Files()
	if err != nil {
		return err
	}
	k, err := mutate.Read(m.pkg, "")
	if err != nil {
		return err
	}
	m.After, m.Conditions, m.Unmet = m.pkg, mutate.Conditions(k), observe.Unmet(k)
	m.Warnings = append(m.Warnings, review.PlainSecrets(m.pkg)...)
	if m.From != nil {
		if m.Same, err = m.unchanged(files); err != nil || m.Same {
			return err
		}
	}
	m.Files = files
	return m.prepare(ctx)
}

// unchanged reports whether the build gave what is there already. A Draft that
// is behind gets its commit all the same: it records that the Draft now stands
// on the latest Published revision, which approve asks for.
func (m *maker) unchanged(files []krm.File) (bool, error) {
	have := m.Before
	if have == nil {
		have = m.Base
	}
	there, err := have.Files()
	if err != nil || !sameFiles(there, files) {
		return false, err
	}
	return m.From.Number > 0 || !m.Behind(), nil
}

func sameFiles(a, b []krm.File) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameFile(a[i], b[i]) {
			return false
		}
	}
	return true
}

func sameFile(a, b krm.File) bool {
	return a.Path == b.Path && a.Mode == b.Mode && bytes.Equal(a.Data, b.Data)
}

// prepare fills in what the commit needs: parents, time, message.
func (m *maker) prepare(ctx context.Context) error {
	var inputs []gitrepo.Hash
	if m.From != nil {
		inputs = append(inputs, gitrepo.Hash(m.From.Ref.Commit))
	}
	if m.From != nil && m.From.Number == 0 {
		m.Workspace = m.From.Workspace
		m.Root, m.Parents = m.From.Ref.Commit, []decide.Hash{m.From.Ref.Commit}
	} else {
		used, err := m.Job.Repo.Workspaces(ctx, m.Package.Path)
		if err != nil {
			return err
		}
		m.Workspace = lifecycle.NextWorkspace(used...)
		head := m.Job.Repo.Head
		if head.IsZero() && !m.Job.Repo.MayStart {
			return decide.Stalled("Repository %s has no branch %q: create it, or set spec.git.createBranch: true", m.Repository, m.Job.Repo.Branch)
		}
		if !head.IsZero() {
			m.Root, m.Parents = head, []decide.Hash{head}
			inputs = append(inputs, gitrepo.Hash(head))
		}
	}
	m.Ref = lifecycle.DraftRef(m.Package.Path, m.Workspace)
	m.When = m.madeWhen()
	commits, err := m.Job.Repo.Git.Commits(ctx, inputs...)
	if err != nil {
		return err
	}
	for _, c := range commits {
		if c.Committer.When.After(m.When) {
			m.When = c.Committer.When
		}
	}
	m.Message, err = m.message()
	return err
}

func (m *maker) madeWhen() time.Time {
	if lock := m.Lock(); lock != nil {
		return lock.When
	}
	return m.Upstream.When
}

// start is the first step: a clone of the upstream, or the revision that is
// there, brought up to the upstream; of a lock, its package with what was
// resolved.
func (m *maker) start(ctx context.Context) (err error) {
	if m.From == nil {
		return m.first()
	}
	_, there, err := m.Job.Repo.ReadPackage(ctx, m.From.Ref.Commit, m.Package.Path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", m.From.Ref.Name, err)
	}
	if err := m.setBase(ctx, there); err != nil {
		return err
	}
	if lock := m.Lock(); lock != nil {
		m.pkg, err = writeLock(lock, there, m.owner())
		return err
	}
	return m.update(ctx, there)
}

func (m *maker) first() (err error) {
	if lock := m.Lock(); lock != nil {
		m.pkg, err = writeLock(lock, nil, m.owner())
		return err
	}
	pv := m.Variant()
	m.Base = m.Upstream.Package
	m.pkg, err = mutate.Clone(m.Upstream.Package, mutate.CloneOptions{
		Path: m.Package.Path, Upstream: m.Upstream.Kptfile(nil), Lock: m.Upstream.Lock, Owner: m.owner(),
		Labels: pv.Spec.Labels, Annotations: pv.Spec.Annotations, Deployment: m.Job.Repo.Deployment,
	})
	return err
}

// setBase finds what a reviewer compares with.
func (m *maker) setBase(ctx context.Context, there *krm.Package) error {
	if m.From.Number == 0 {
		m.Before = there
	}
	switch latest := m.Package.Latest; latest {
	case m.From:
		m.Base = there
	case nil:
		if m.Upstream != nil {
			m.Base = m.Upstream.Package
		}
	default:
		_, p, err := m.Job.Repo.ReadPackage(ctx, latest.Ref.Commit, m.Package.Path)
		if err != nil {
			return fmt.Errorf("reading %s: %w", latest.Ref.Name, err)
		}
		m.Base = p
	}
	return nil
}

func (m *maker) owner() mutate.Owner {
	return mutate.Owner{
		Variant: m.Manager.Sign(m.Namespace, m.Name), Set: m.Set,
		DeletionPolicy: string(m.DeletionPolicy()), For: m.MadeFor,
	}
}

// update merges what changed upstream, and what was published since the Draft
// began, into the package that is there.
func (m *maker) update(ctx context.Context, local *krm.Package) error {
	kptfile, err := mutate.Read(local, "")
	if err != nil {
		return decide.Stall(fmt.Errorf("package %s at %s: %w", m.Package.Path, m.From.Ref.Name, err))
	}
	if m.strategy, err = mutate.Strategy(kptfile); err != nil {
		return decide.Stall(err)
	}
	lock := mutate.Lock(kptfile)
	baseContent, base, err := m.base(ctx, lock)
	if err != nil {
		return err
	}
	m.oldUpstream, m.pkg = lock.Ref, local.Clone()
	if m.From.Number == 0 && m.Behind() {
		if err := m.rebase(ctx, base); err != nil {
			return err
		}
	}
	if baseContent != m.Upstream.Content {
		if err := m.merge(m.Upstream.String(), base, m.Upstream.Package, m.strategy); err != nil {
			return err
		}
	}
	if err := m.dropRenamed(kptfile); err != nil {
		return err
	}
	return errors.Join(
		mutate.SetUpstream(m.pkg, m.Upstream.Kptfile(kptfile.Upstream), m.Upstream.Lock),
		mutate.SetOwner(m.pkg, m.owner()),
	)
}

// dropRenamed removes the functions that the variant added under another name:
// they are known by it, and would go on running after the new ones.
func (m *maker) dropRenamed(was *kptfilev1.KptFile) error {
	owner, ok := mutate.OwnerOf(was)
	if !ok || owner.Variant == m.owner().Variant || !m.Manager.Signed(owner.Variant, m.Namespace) {
		return nil
	}
	return mutate.DropFunctions(m.pkg, path.Base(owner.Variant))
}

// rebase brings what was published since a Draft began into the Draft.
func (m *maker) rebase(ctx context.Context, base *krm.Package) (err error) {
	since := base
	if m.Since != nil {
		if _, since, err = m.Job.Repo.ReadPackage(ctx, m.Since.Ref.Commit, m.Package.Path); err != nil {
			return fmt.Errorf("reading %s: %w", m.Since.Ref.Name, err)
		}
	}
	latest := m.Package.Latest
	_, theirs, err := m.Job.Repo.ReadPackage(ctx, latest.Ref.Commit, m.Package.Path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", latest.Ref.Name, err)
	}
	return m.merge(decide.RevisionName(latest.Number), since, theirs, "")
}

func (m *maker) merge(what string, base, theirs *krm.Package, strategy merge.Strategy) error {
	res, err := merge.Packages(base, theirs, m.pkg, merge.Options{Strategy: strategy, Own: []string{mutate.PackageContextFile}})
	if err != nil {
		return decide.Stall(fmt.Errorf("merging %s: %w", what, err))
	}
	if len(res.Conflicts) > 0 && m.StopOnConflict {
		lines := make([]string, len(res.Conflicts))
		for i, c := range res.Conflicts {
			lines[i] = c.Undecided()
		}
		return decide.Stalled("merging %s: %s, and conflicts are set to stop:\n  %s", what, count.Of(len(lines), "conflict"), strings.Join(lines, "\n  "))
	}
	m.Conflicts = append(m.Conflicts, res.Conflicts...)
	m.pkg = res.Package
	return nil
}

// base is the upstream that a package was last taken from, and what it holds.
func (m *maker) base(ctx context.Context, lock *kptfilev1.GitLock) (content string, p *krm.Package, err error) {
	from := m.From.Ref.Name
	if lock == nil || lock.Commit == "" {
		return "", nil, decide.Stalled("%s has no upstreamLock in its Kptfile, so local edits cannot be told from the upstream's: add upstreamLock, or delete the revision to start anew", from)
	}
	repo, pkg := m.Read.Locked(m.Namespace, lock, m.Upstream.Repo)
	if repo == nil || repo.Err != nil {
		return "", nil, decide.Stalled("%s: upstreamLock names %s, which is no registered Repository of namespace %s: register it", from, lock.Repo, m.Namespace)
	}
	if content, p, err = repo.ReadLocked(ctx, pkg, lock); err == nil {
		return content, p, nil
	}
	const text = "reading the upstreamLock of %s (%s at %s): %w: it is needed to merge; %s"
	if repo.OCI != nil {
		return "", nil, observe.NeedsPerson(fmt.Errorf(text, from, lock.Repo, lock.Commit, err, "where it is gone, pushing that image again brings it back"))
	}
	return "", nil, decide.Stall(fmt.Errorf(text, from, lock.Directory, lock.Commit, err, "a tag that holds the commit brings it back"))
}

// Released is an open revision's package, and the same without its ownership.
func Released(ctx context.Context, repo *observe.Repo, h *decide.Revision, path string) (before, after *krm.Package, err error) {
	if _, before, err = repo.ReadPackage(ctx, h.Ref.Commit, path); err != nil {
		return nil, nil, err
	}
	after = before.Clone()
	return before, after, mutate.SetOwner(after, mutate.Owner{})
}
