// Package build is the room between what is to be built and what moves: it makes
// the package of one wanted revision, renders it, and compares it with what is
// there. It decides nothing and writes nothing to a repository. See
// docs/design/heart.md.
package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/resolver"
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
	// Places says where things are written; nil knows of no file.
	Places Places
	// Statements is what this machine built before; nil knows of nothing.
	Statements Statements
	// StopOnConflict fails a variant whose update meets a true conflict.
	StopOnConflict bool
	// DraftOnFailure makes new Drafts also where rendering fails, unrendered.
	DraftOnFailure bool
	// Keep leaves Before, Base and After in what was made, for who shows them;
	// without it they are let go once the package was compared.
	Keep bool
	// Validator checks what was made.
	Validator decide.Validator

	// restless has, by upstream and functions, the function that is not idempotent,
	// "" for none.
	restless sync.Map
	locks    resolver.LockWriter
	// lockFiles has what new locks' files hold: those of a fleet are mostly alike.
	lockFiles krm.Cache
	// traces are those of upstreams, as begin has them.
	traces sync.Map
}

// Job is one revision to build.
type Job struct {
	decide.Question
	decide.Build
	Repo     *observe.Repo
	Upstream *decide.Upstream // nil for a lock
	Wires    *Wires           // nil where nothing was resolved
	// Stage gets the files of what is made; nil where nothing is to be pushed.
	Stage *gitrepo.Stage
	// Keep leaves this one's packages in what was made.
	Keep bool
	// Blame is given what was made, with where each of its values comes from, before it is
	// let go, and says what is kept of it; nil where nobody asks. It gets no lock, and no
	// package that is set back.
	Blame func(*krm.Package, *provenance.Origins) any
	// Crowded says that the package comes into a cluster where others are.
	Crowded bool
	// Prove says that what is made may be published unseen.
	Prove bool
	// Revert is the Published revision that the package is set back to; nil for
	// most. By is who asked for that.
	Revert *decide.Revision
	By     string
}

// Made is what came of a Job.
type Made struct {
	// Err is why there is no package, or, with a Tree, one that is not rendered, and Failure what may be remembered of that,
	// "" where another try may do. At is the time of the newest commit among what
	// went in.
	Err     error
	Failure string
	At      time.Time
	// Furnished says that it was made of a folder without a Kptfile.
	Furnished bool
	// Restless is the function that is not idempotent, where one was found.
	Restless string
	// Same says that it is what is there already, Back that it is what is Published
	// already, unlike the open Draft that it was made of.
	Same, Back bool
	// Tree is what the Draft is to hold; zero with Same or Err. Hydrated is the
	// package as the machine made it, before people's edits; zero where that is
	// not known.
	Tree, Hydrated decide.Hash
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
	// Machine is After without people's edits, nil where that is not known.
	Base, Before, After, Machine *krm.Package
	// Blamed is what Job.Blame gave, nil where it was not asked.
	Blamed any
	// Objects are those of the package, where the Job is Crowded.
	Objects []contents.Object
	// Conflicts are local values that an update lost to the upstream.
	Conflicts []merge.Conflict
	// Conditions and Unmet gates are those of the package.
	Conditions []kptfilev1.Condition
	Unmet      []decide.Gate
	Warnings   []string
	// Unproved is why it may not be published unseen, where Job.Prove asked.
	Unproved string
	// Findings are what Kubernetes would refuse of the package, weighed.
	Findings []decide.Finding
	// Attention is what is to be seen first: see decide.Outcome.
	Attention []string
}

// Make builds one revision. What fails is in Made.
func (b *Builder) Make(ctx context.Context, j Job) *Made {
	m := &maker{Builder: b, Job: j, Made: &Made{}, tracing: j.Blame != nil}
	m.At = m.inputsWhen()
	if err := m.make(ctx); err != nil {
		failed := &Made{Err: err, Failure: m.memorable(err), At: m.At, Warnings: m.Made.Warnings}
		if b.DraftOnFailure && b.Renderer != nil && failed.Failure != "" {
			return b.unrendered(ctx, j, failed)
		}
		return failed
	}
	if j.Prove && (j.From == nil || j.From.Number > 0 || !j.From.NeedsReview()) {
		m.Unproved = m.prove(ctx).Unseen(m.From)
	}
	if j.Blame != nil && m.trace != nil && m.Revert == nil {
		m.Blamed = j.Blame(m.After, m.trace.Origins())
	}
	if j.Crowded {
		m.Objects = contents.Of(m.After).Objects
	}
	if !b.Keep && !j.Keep {
		m.Base, m.Before, m.After, m.Machine = nil, nil, nil, nil
	}
	return m.Made
}

// unrendered makes a new Draft of what fails, for people to correct; what failed
// stays said. Where that fails too, only that is.
func (b *Builder) unrendered(ctx context.Context, j Job, failed *Made) *Made {
	plain := &Builder{Manager: b.Manager, Read: b.Read, Context: b.Context, AllowKinds: b.AllowKinds, StopOnConflict: b.StopOnConflict, Keep: b.Keep}
	plain.Validator.Checks = b.Validator.Checks
	var ok bool
	if j.Build, ok = j.WithoutRendering(j.Build); !ok {
		return failed
	}
	j.Reasons = append(j.Reasons[:len(j.Reasons):len(j.Reasons)], "not rendered: "+failed.Failure)
	made := plain.Make(ctx, j)
	if made.Err != nil || made.Same {
		return failed
	}
	made.Err, made.Failure = failed.Err, failed.Failure
	return made
}

// maker is one revision while it is built.
type maker struct {
	*Builder
	Job
	*Made

	pkg *krm.Package
	// machine is the package as the machine makes it, before people's edits; nil
	// where that is not known.
	machine *krm.Package
	// guessed says that what is there was made from is not known: the base of its
	// update is a guess.
	guessed bool
	// pathless builds as hydration version 1 did, without the package's path. policy is the
	// deletion policy to write, nil for the variant's: a change of it alone drafts nothing.
	pathless bool
	policy   *string
	// otherwise is what the machine made of an open Draft that others set to another
	// upstream since; nil for most.
	otherwise *krm.Package
	// notes are warnings of the update itself.
	notes []string
	// carried counts the first of Conflicts: what the branch's edits met in the
	// machine's last Draft.
	carried int
	// rendering is how a merged package is rendered.
	rendering rendering
	tracing   bool              // origins are asked for
	trace     *provenance.Trace // nil where they are not, or nothing is known yet
	// functions is how many the last render ran.
	functions int
	// oldUpstream is the ref of the upstreamLock and strategy the Kptfile's, both
	// read when updating.
	oldUpstream string
	strategy    merge.Strategy
	injected    *injection.Report // nil where nothing was
	// ordered is the Kptfile of what is there, which says what its resources were
	// given of an order; nil where nothing is.
	ordered *kptfilev1.KptFile
}

func (m *maker) make(ctx context.Context) error {
	begin := m.start
	if m.Revert != nil {
		begin = m.revert
	}
	if err := begin(ctx); err != nil {
		return err
	}
	return m.finish(ctx)
}

// finish compares what was built with what is there, and prepares the commit.
func (m *maker) finish(ctx context.Context) error {
	if err := m.askAgain(); err != nil {
		return err
	}
	files, err := m.pkg.Files()
	if err != nil {
		return err
	}
	k, err := mutate.Read(m.pkg, "")
	if err != nil {
		return err
	}
	if m.guessed {
		m.Attention = append(m.Attention, decide.BaseUnknown)
	}
	m.breaks()
	if m.Revert == nil && m.Lock() == nil {
		published := m.Base
		if m.Package.Latest == nil {
			published = nil
		}
		m.Findings = m.Validator.Check(m.Job.Repo.Repository, m.pkg, published)
	}
	slices.Sort(m.Attention)
	m.Attention = slices.Compact(m.Attention)
	m.After, m.Machine, m.Conditions, m.Unmet = m.pkg, m.machine, mutate.Conditions(k), observe.Unmet(k)
	m.Warnings = slices.Concat(m.Warnings, m.notes, review.PlainSecrets(m.pkg))
	if m.Revert != nil {
		return m.commit(ctx, files)
	}
	if m.From != nil && !m.Keeps() {
		if m.Same, err = m.unchanged(files); err != nil || m.Same {
			return err
		}
	}
	if m.Back, err = m.setBack(files); err != nil || m.Back {
		return err
	}
	m.Inputs.Points = m.added()
	return m.commit(ctx, files)
}

// added are the injection points that the machine did not make, for people did, and
// what they get.
func (m *maker) added() string {
	if m.pkg == m.machine || m.Lock() != nil {
		return ""
	}
	made := map[string]bool{}
	known := m.Upstream.Points
	if m.machine != nil {
		known = injection.Find(m.machine)
	}
	for i := range known {
		made[known[i].Word()] = true
	}
	added := slices.DeleteFunc(injection.Find(m.pkg), func(p injection.Point) bool { return made[p.Word()] })
	return decide.PointsOf(injection.Select(added, injection.Request{
		Namespace: m.Question.Namespace, Injectors: m.Variant().Spec.Injectors, Context: m.Context, AllowKinds: m.AllowKinds,
	}))
}

// breaks has a person see first what an update takes from those who have objects of its
// definitions.
func (m *maker) breaks() {
	if m.Package.Latest == nil || m.Base == nil {
		return
	}
	for _, b := range contents.Breaks(m.Base, m.pkg) {
		m.Attention = append(m.Attention, b.What)
		m.Warnings = append(m.Warnings, b.What+": "+b.Do)
	}
}

// commit stages what was built, and prepares its commit.
func (m *maker) commit(ctx context.Context, files []krm.File) error {
	if err := m.stage(files); err != nil {
		return err
	}
	return m.prepare(ctx)
}

// setBack reports whether an open Draft came to hold what is Published, so that
// nothing is left to approve. What an update lost is for a person to see first.
func (m *maker) setBack(files []krm.File) (bool, error) {
	if m.From == nil || m.From.Number > 0 || m.Package.Latest == nil || m.Package.Branch != nil || len(m.Conflicts) > 0 {
		return false, nil
	}
	return krm.SameWritten(m.pkg, files, m.Base)
}

// stage keeps what was made for the push, and the package as the machine made
// it for the next update to start from.
func (m *maker) stage(files []krm.File) (err error) {
	if m.Tree, err = m.keepTree(files); err != nil || m.machine == nil {
		return err
	}
	if m.Hydrated = m.Tree; m.machine != m.pkg {
		if files, err = m.machine.Files(); err == nil {
			m.Hydrated, err = m.keepTree(files)
		}
	}
	if err == nil && m.Revert == nil { // else it is what somebody says of an earlier revision
		state(m, m.Hydrated)
	}
	return err
}

func (m *maker) keepTree(files []krm.File) (decide.Hash, error) {
	keep := m.Job.Repo.Git.PackageTree
	if m.Stage != nil {
		keep = m.Stage.PackageTree
	}
	tree, err := keep(files)
	return decide.Hash(tree), err
}

// unchanged reports whether the build gave what is there already. A Draft that
// is behind gets its commit all the same: it records that the Draft now stands
// on the latest Published revision, which approve asks for; so does one that set its
// package back, and goes on. What was deleted on the registered branch is not there.
func (m *maker) unchanged(files []krm.File) (bool, error) {
	if b := m.Package.Branch; m.From.Number > 0 && b != nil && b.Tree.IsZero() {
		return false, nil
	}
	have := m.Before
	if have == nil {
		have = m.Base
	}
	if same, err := krm.SameWritten(m.pkg, files, have); err != nil || !same {
		return false, err
	}
	return m.From.Number > 0 || !m.Behind() && (m.From.Reverts() == "" || m.Revert != nil), nil
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
		if m.Workspace = m.From.Workspace; m.Package.Spent(m.From) {
			if err := m.nextWorkspace(ctx); err != nil {
				return err
			}
		}
		m.Root, m.Parents = m.From.Ref.Commit, []decide.Hash{m.From.Ref.Commit}
	} else {
		if err := m.nextWorkspace(ctx); err != nil {
			return err
		}
		if head := m.Job.Repo.Head; !head.IsZero() {
			m.Root, m.Parents = head, []decide.Hash{head}
			inputs = append(inputs, gitrepo.Hash(head))
		}
	}
	m.Ref = lifecycle.DraftRef(m.Package.Path, m.Workspace)
	if err := m.Job.Repo.Blocked(m.Ref); err != nil {
		return err
	}
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
	if m.Stage != nil { // else nobody commits it
		m.Message, err = m.message()
	}
	return err
}

func (m *maker) nextWorkspace(ctx context.Context) error {
	used, err := m.Job.Repo.Workspaces(ctx, m.Package.Path)
	if latest := m.Package.Latest; latest != nil {
		used = append(used, latest.Was())
	}
	used = append(used, m.Package.Gone().Workspace)
	m.Workspace = lifecycle.NextWorkspace(used...)
	return err
}

func (m *maker) madeWhen() time.Time {
	if m.Revert != nil {
		return m.Revert.When
	}
	if lock := m.Lock(); lock != nil {
		return lock.When
	}
	return m.Upstream.When
}

// inputsWhen is the time of the newest commit among what goes in.
func (m *maker) inputsWhen() time.Time {
	when := m.madeWhen()
	if m.From != nil && m.From.When.After(when) {
		return m.From.When
	}
	return when
}

// start is the first step: a clone of the upstream, or the revision that is
// there, brought up to the upstream; of a lock, its package with what was
// resolved.
func (m *maker) start(ctx context.Context) (err error) {
	if m.From == nil {
		return m.first(ctx)
	}
	at := m.From.Ref.Commit
	if m.From.Number > 0 && (m.branch() || m.Package.Reformatted) {
		at = m.Repo.Head
	}
	_, there, err := m.Job.Repo.ReadPackage(ctx, at, m.Package.Path)
	switch {
	case m.From.Number == 0 && (errors.Is(err, observe.ErrNoFolder) || err == nil && there.Kptfile("") == nil):
		return m.NoPackage()
	case err != nil:
		return fmt.Errorf("reading %s: %w", m.from(), err)
	}
	if err := m.setBase(ctx, there); err != nil {
		return err
	}
	if lock := m.Lock(); lock != nil {
		if _, told := there.Read(fluxFile); told && lock.Flux == nil {
			m.Warnings = append(m.Warnings, fluxFile+" goes, and Flux deletes what its Kustomizations applied, unless their spec.prune is false on the cluster by then")
		}
		return m.relock(ctx, lock, there)
	}
	return m.update(ctx, there)
}

// from names where what is there stands: what is only to be adopted has no tag yet, and
// what others changed on the branch is in none.
func (m *maker) from() string {
	if _, there := m.Job.Repo.Git.Refs().Get(m.From.Ref.Name); !there || m.From.Number > 0 && m.branch() {
		return "branch " + m.Repo.Branch
	}
	return m.From.Ref.Name
}

func (m *maker) first(ctx context.Context) (err error) {
	if lock := m.Lock(); lock != nil {
		m.pkg, err = m.writeLock(lock, nil, m.owner())
		m.machine = m.pkg
		return err
	}
	m.Base = m.Upstream.Package
	if m.Renderer != nil { // else people correct it in the Draft
		if err := m.readable(nil); err != nil {
			return err
		}
	}
	m.pkg, err = m.hydrate(ctx, origin{pkg: m.Upstream.Package, upstream: m.Upstream.Kptfile(nil), lock: m.Upstream.Lock, pathless: m.pathless}, nil)
	m.machine = m.pkg
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
		_, p, err := m.published(ctx)
		if err != nil {
			return err
		}
		m.Base = p
	}
	return nil
}

// branch says that the registered branch holds something else than what was
// Published last: updates start from that.
func (m *maker) branch() bool {
	b := m.Package.Branch
	return b != nil && !b.Tree.IsZero() && m.Package.Latest != nil
}

// published is what an update of the package starts from: what stands on the
// registered branch, which is the latest Published revision where nobody else
// wrote there. The revision is the one that it was made from.
func (m *maker) published(ctx context.Context) (*decide.Revision, *krm.Package, error) {
	latest := m.Package.Latest
	at, name := latest.Ref.Commit, latest.Ref.Name
	if m.branch() || m.Package.Reformatted {
		at, name = m.Repo.Head, m.Repo.Branch
	}
	if m.branch() && m.Package.Branch.Reverted != nil {
		latest = m.Package.Branch.Reverted
	}
	_, p, err := m.Job.Repo.ReadPackage(ctx, at, m.Package.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return latest, p, nil
}

func (m *maker) owner() mutate.Owner {
	o := mutate.Owner{
		Variant: m.Manager.Sign(m.Namespace, m.Name), Set: m.Set,
		DeletionPolicy: string(m.DeletionPolicy()), For: m.MadeFor,
	}
	if m.policy != nil {
		o.DeletionPolicy = *m.policy
	}
	return o
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

// lockedUpstream is the upstream that a package was last taken from, and what it
// holds: for one that does not say so, which others made, the wanted one.
func (m *maker) lockedUpstream(ctx context.Context, lock *kptfilev1.GitLock) (content string, p *krm.Package, err error) {
	if lock == nil || lock.Commit == "" {
		return m.Upstream.Content, m.Upstream.Package, nil
	}
	from := m.from()
	repo, pkg := m.Read.Locked(ctx, m.Namespace, lock, m.Upstream.Repo)
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
	err = fmt.Errorf(text, from, lock.Directory, lock.Commit, err, "a tag that holds the commit brings it back")
	if errors.Is(err, gitrepo.ErrMissingObject) {
		err = decide.Stall(err)
	}
	return "", nil, err
}

// Released is an open revision's package, and the same without its ownership.
func Released(ctx context.Context, repo *observe.Repo, h *decide.Revision, path string) (before, after *krm.Package, err error) {
	if _, before, err = repo.ReadPackage(ctx, h.Ref.Commit, path); err != nil {
		return nil, nil, err
	}
	after = before.Clone()
	return before, after, mutate.SetOwner(after, mutate.Owner{})
}
