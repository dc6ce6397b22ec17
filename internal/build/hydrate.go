package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/review"
)

// origin is an upstream package, and what a Kptfile says about it.
type origin struct {
	pkg      *krm.Package
	upstream *kptfilev1.Upstream
	lock     *kptfilev1.Locator
	pathless bool // its package context is to have no package-path, as of hydration version 1
}

// hydrate is H(I) of docs/design/hydration-and-update.md: what the inputs of now
// make of an upstream package. Nothing of what is there goes in, but the labels
// and annotations of the Kptfile of an open Draft that goes on: those are set
// when a Draft is created.
func (m *maker) hydrate(ctx context.Context, o origin, draft *kptfilev1.KptFile) (*krm.Package, error) {
	p, err := m.clone(o, draft)
	if err != nil {
		return nil, err
	}
	return m.mutate(ctx, p)
}

// clone is the first step of hydrate, which nothing that people edit can mend.
func (m *maker) clone(o origin, draft *kptfilev1.KptFile) (*krm.Package, error) {
	labels, annotations := m.Variant().Spec.Labels, m.Variant().Spec.Annotations
	if draft != nil {
		labels, annotations = asCreated(labels, draft.Labels), asCreated(annotations, draft.Annotations)
	}
	packagePath := m.Want.Identity.Package
	if o.pathless {
		packagePath = ""
	}
	p, err := mutate.Clone(o.pkg, mutate.CloneOptions{
		Path: m.Package.Path, PackagePath: packagePath, Upstream: o.upstream, Lock: o.lock, Owner: m.owner(),
		Labels: labels, Annotations: annotations, Deployment: m.Job.Repo.Deployment,
	})
	if err != nil {
		return nil, decide.Stall(fmt.Errorf("upstream %s: %w", m.named(o), err))
	}
	m.begin(o)
	return p, nil
}

// readable returns an error where the upstream cannot be read, or follows base with
// something that cannot be merged. A nil base is none.
func (m *maker) readable(base *krm.Package) error {
	if err := merge.Readable(base, m.Upstream.Package); err != nil {
		return decide.Stall(fmt.Errorf("upstream %s: %w", m.Upstream, err))
	}
	return nil
}

// readableHere returns an error where what people edited cannot be read.
func (m *maker) readableHere(base, ours *krm.Package) error {
	if err := merge.ReadableLocal(base, ours); err != nil {
		return decide.Stall(fmt.Errorf("package %s at %s: %w", m.Package.Path, m.from(), err))
	}
	return nil
}

// named is what messages call an origin.
func (m *maker) named(o origin) string {
	if o.pkg != m.Upstream.Package && o.lock != nil && o.lock.Git != nil {
		return o.lock.Git.Directory + "@" + o.lock.Git.Ref
	}
	return m.Upstream.String()
}

// asCreated is what a variant wants of labels, as they were when the Draft was
// created.
func asCreated(want, have map[string]string) map[string]string {
	out := map[string]string{}
	for k := range want {
		if v, ok := have[k]; ok {
			out[k] = v
		}
	}
	return out
}

// mutate gives a package what its variant says, and renders it.
func (m *maker) mutate(ctx context.Context, p *krm.Package) (*krm.Package, error) {
	pv := m.Variant()
	m.Warnings = nil // those of the last time count
	m.note(p, m.cloned)
	report, err := mutate.Apply(p, pv, m.mutations())
	if err != nil {
		return nil, decide.Stall(fmt.Errorf("variant %s: %w", pv.Name, err))
	}
	m.injected = report
	m.Warnings = append(m.Warnings, Unfilled(report)...)
	m.note(p, m.mutated)
	if m.Wires != nil {
		if err := m.Wires.apply(p); err != nil {
			return nil, err
		}
		m.Warnings = append(m.Warnings, m.Wires.remarks()...)
	}
	if m.unwired() {
		if err := unwire(p); err != nil {
			return nil, err
		}
	}
	m.note(p, m.wired)
	if err := m.setOrder(p); err != nil {
		return nil, err
	}
	m.note(p, m.placed)
	if m.rendering == never {
		return p, nil
	}
	if p, err = m.render(ctx, p); err == nil {
		m.note(p, m.placed)
	}
	return p, err
}

func (m *maker) mutations() mutate.Options {
	return mutate.Options{Context: m.Context, AllowKinds: m.AllowKinds, DropStale: true}
}

// unwired says that values of other packages are in what is there, and left as
// they are in this run.
func (m *maker) unwired() bool { return m.Alone && m.From != nil && m.From.Inputs.Values != "" }

// render runs the package's pipelines, where there is a Renderer.
func (m *maker) render(ctx context.Context, p *krm.Package) (*krm.Package, error) {
	if m.Renderer == nil {
		return p, nil
	}
	run := m.Renderer.Render
	if w, ok := m.Renderer.(watcher); ok && m.trace != nil {
		run = func(ctx context.Context, p *krm.Package) (*render.Result, error) {
			return w.Watch(ctx, p, m.trace.Function)
		}
	}
	res, err := run(ctx, p)
	if err != nil {
		return nil, decide.Stall(fmt.Errorf("rendering %s: %w", m.Package.Path, err))
	}
	if _, ok := m.Renderer.(watcher); !ok {
		m.note(res.Package, unknownFunction)
	}
	m.functions = len(res.Functions)
	m.Warnings = append(m.Warnings, res.Notes...)
	for _, f := range res.Functions {
		m.Warnings = append(m.Warnings, remarks(f)...)
	}
	return m.rendered(p, res)
}

// rendered is what came of rendering a package, with what is no function's.
func (m *maker) rendered(p *krm.Package, res *render.Result) (*krm.Package, error) {
	if res.Package == p {
		return p, nil
	}
	out, err := merge.KeepIdentities(p, res.Package)
	if err == nil {
		err = m.keep(out, p)
	}
	if err != nil {
		return nil, decide.Stall(fmt.Errorf("rendering %s: %w", m.Package.Path, err))
	}
	return out, nil
}

// maxRemarks bounds what one function may have remarked upon.
const maxRemarks = 100

// remarks are a function's results that are no mere information.
func remarks(f render.FunctionResult) (out []string) {
	name, more := cmp.Or(f.Name, f.Image, f.Exec), 0
	for _, r := range f.Results {
		switch {
		case r.Severity == "" || r.Severity == "info":
		case len(out) == maxRemarks:
			more++
		default:
			out = append(out, fmt.Sprintf("%s: %s", name, r.String()))
		}
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("%s: and %s", name, count.Of(more, "more result")))
	}
	return out
}

// keep gives a rendered package what is no function's to change: whose it is, and
// where it comes from.
func (m *maker) keep(p, was *krm.Package) error {
	if p.Kptfile("") == nil {
		return decide.Stalled("a function of its pipeline has deleted the Kptfile, without which it is no package")
	}
	return errors.Join(mutate.KeepUpstream(p, was), mutate.SetOwner(p, m.owner()), m.setOrder(p))
}

// Unfilled returns a warning for each injection point that nothing fills, but for
// optional points that no injector selects: these keep the package's own values.
func Unfilled(r *injection.Report) []string {
	var out []string
	for _, o := range r.Outcomes {
		if !o.Injected() && (o.Required || o.Named) {
			out = append(out, fmt.Sprintf("%s: %s", o.ConditionType, o.Message))
		}
	}
	return out
}

// update brings the package that is there up to the inputs of now, and tells what
// that takes back of a Draft whose upstream others set.
func (m *maker) update(ctx context.Context, there *krm.Package) error {
	if err := m.bringUp(ctx, there); err != nil || m.otherwise == nil {
		return err
	}
	return m.takenBack(ctx, m.otherwise, there)
}

// bringUp is a three-way merge of what the machine made of a package last, what it
// makes of it now, and what is there. Where nobody edited it the second is the
// result.
func (m *maker) bringUp(ctx context.Context, there *krm.Package) error {
	if there.Kptfile("") == nil && m.Furnishes() {
		return m.furnish(ctx, there)
	}
	kptfile, err := mutate.Read(there, "")
	if err != nil {
		return decide.Stall(fmt.Errorf("package %s at %s: %w", m.Package.Path, m.from(), err))
	}
	if m.strategy = m.Strategy; m.strategy == "" {
		if m.strategy, err = mutate.Strategy(kptfile); err != nil {
			return decide.Stall(err)
		}
	}
	if lock := mutate.Lock(kptfile); lock != nil {
		m.oldUpstream = lock.Ref
	}
	var draft *kptfilev1.KptFile
	if m.From.Number == 0 {
		draft = kptfile
	}
	from := m.From
	if b := m.Package.Branch; from.Number > 0 && b != nil && b.Reverted != nil {
		from = b.Reverted
	}
	if err := m.readable(nil); err != nil {
		return err
	}
	base, guess, err := m.hydrated(ctx, from, there, kptfile)
	if err != nil {
		return err
	}
	if base != nil {
		if there, err = m.owned(ctx, base, there); err != nil {
			return err
		}
	}
	ours := there
	behind := m.From.Number == 0 && m.Behind()
	if (behind || m.Keeps()) && base != nil {
		known := base
		base, ours, err = m.onto(ctx, base, there)
		switch {
		case base != nil || err != nil:
		case behind:
			guess = known
		default:
			base = known
			m.Warnings = append(m.Warnings, "edits by hand of what was published are not brought back, for what the machine had made of it is not known")
		}
	}
	if behind && base == nil && guess != nil && err == nil {
		ours, err = m.rebase(ctx, guess, there, merge.Options{})
	}
	if err != nil {
		return err
	}
	if base == nil {
		base, m.guessed = guess, !m.unwired()
	}
	full := ours
	if ours, err = m.without(ctx, base, ours); err != nil {
		return err
	}
	if base == nil {
		return m.updateUpstream(ctx, there, kptfile)
	}
	if err := errors.Join(m.readable(base), m.readableHere(base, ours)); err != nil {
		return err
	}
	same, err := samePackage(base, ours)
	if err != nil {
		return err
	}
	now := origin{pkg: m.Upstream.Package, upstream: m.Upstream.Kptfile(kptfile.Upstream), lock: m.Upstream.Lock, pathless: m.pathless}
	cloned, err := m.clone(now, draft)
	if err != nil {
		return err
	}
	theirs, failed := m.mutate(ctx, cloned)
	if failed == nil && !m.guessed {
		if err := m.dropped(ctx, kptfile, base, theirs); err != nil {
			return err
		}
	}
	switch {
	case same:
		m.pkg, m.machine = theirs, theirs
		return failed
	case failed != nil: // an edit may be what it lacks
		return m.updateUpstream(ctx, there, kptfile)
	}
	if same, err = samePackage(base, theirs); err != nil {
		return err
	}
	if same { // nothing is updated: an edit of a Draft alone is not for the strategy
		m.strategy = kptfilev1.ResourceMerge
	}
	local := ours
	if m.guessed {
		local = m.withInjected(ours)
	}
	before, o := len(m.Conflicts), merge.Options{Strategy: m.strategy, Guess: m.guessed, Keep: m.KeepEdits}
	if m.pkg, err = m.merge(m.Upstream.String(), base, theirs, local, o); err != nil {
		return err
	}
	if m.trace != nil {
		by, err := m.edited(ctx, base, ours)
		if err != nil {
			return err
		}
		m.note(m.pkg, by)
	}
	made := m.traced(theirs, func(again *maker) error {
		_, err := again.hydrate(ctx, now, draft)
		return err
	})
	for _, c := range [][]merge.Conflict{m.Conflicts[:m.carried], m.Conflicts[before:]} {
		if err := m.explain(made, c); err != nil {
			return err
		}
	}
	carried := slices.DeleteFunc(slices.Clone(m.Conflicts[:m.carried]), func(c merge.Conflict) bool {
		return slices.ContainsFunc(m.Conflicts[m.carried:], c.SamePlace)
	})
	m.Conflicts = append(carried, m.Conflicts[m.carried:]...)
	m.machine = theirs
	restful, other, err := m.rests(ctx, theirs)
	if err != nil {
		return err
	}
	known, err := samePipelines(theirs, m.pkg)
	if err != nil {
		return err
	}
	m.rendering = never
	if restful && known {
		m.rendering = untilRest
	}
	if err := m.settle(ctx, kptfile); err != nil {
		return err
	}
	if !known {
		if restful, other, err = m.comesToRest(ctx); err != nil {
			return err
		}
		if restful {
			m.rendering = untilRest
			if err := m.settle(ctx, kptfile); err != nil {
				return err
			}
		}
	}
	if !restful {
		m.Restless = other
		m.Warnings = append(m.Warnings, other+" changes what it has made already, so that the package was not rendered again after its edits were merged")
	}
	merged := sync.OnceValues(func() (*krm.Package, error) {
		res, err := merge.Packages(base, theirs, local, o)
		if err != nil {
			return nil, err
		}
		return res.Package, nil
	})
	settled := m.traced(m.pkg, func(again *maker) (err error) {
		if again.trace, err = made(); err != nil {
			return err
		}
		p, err := merged()
		if err != nil {
			return err
		}
		again.pkg = p.Clone()
		again.note(again.pkg, byHand)
		return again.settle(ctx, kptfile)
	})
	if err := m.cameBack(base, full, merged, settled); err != nil {
		return err
	}
	return m.overruled(ctx, base, ours, local, merged, settled)
}

// furnish is bringUp for a folder without a Kptfile: it gets the upstream's.
func (m *maker) furnish(ctx context.Context, there *krm.Package) error {
	if _, broken := there.Read(kptfilev1.KptFileName); broken {
		_, err := mutate.Read(there, "")
		return decide.Stall(fmt.Errorf("package %s at %s: %w", m.Package.Path, m.from(), err))
	}
	p, err := mutate.Clone(m.Upstream.Package, mutate.CloneOptions{Path: m.Package.Path, PackagePath: m.Want.Identity.Package, Deployment: m.Job.Repo.Deployment})
	if err == nil {
		there, err = mutate.Furnish(there, p)
	}
	if err != nil {
		return decide.Stall(fmt.Errorf("upstream %s: %w", m.Upstream, err))
	}
	m.Furnished = true
	return m.bringUp(ctx, there)
}

// dropped warns of keys of the package context that the variant no longer sets.
func (m *maker) dropped(ctx context.Context, kptfile *kptfilev1.KptFile, base, theirs *krm.Package) error {
	pv := m.Variant()
	keys := mutate.DroppedKeys(base, theirs, nil, pv.Spec.PackageContext)
	if len(keys) == 0 {
		return nil
	}
	_, old, err := m.lockedUpstream(ctx, mutate.Lock(kptfile))
	if err != nil {
		return nil //nolint:nilerr // who needs it says so
	}
	if keys = mutate.DroppedKeys(base, theirs, old, pv.Spec.PackageContext); len(keys) > 0 {
		m.notes = append(m.notes, fmt.Sprintf("%s loses data.%s: spec.packageContext.data of PackageVariant %s no longer sets that; to keep it, set it there",
			mutate.PackageContextFile, strings.Join(keys, ", data."), pv.Name))
	}
	return nil
}

// withInjected is a package with its injection points filled: where base is a guess
// their content would else be taken for what is to stay, and is not.
func (m *maker) withInjected(p *krm.Package) *krm.Package {
	out := p.Clone()
	if _, err := mutate.Inject(out, m.Variant(), m.mutations()); err != nil {
		return p // settle says what is wrong with it
	}
	return out
}

// cameBack refuses to drop edits that are made again by the variant itself, or by
// its pipeline: full has them still.
func (m *maker) cameBack(base, full *krm.Package, merged func() (*krm.Package, error), settled func() (*provenance.Trace, error)) error {
	if len(m.Drop) == 0 {
		return nil
	}
	edits, err := review.Edits(base, full)
	if err != nil {
		return err
	}
	for _, name := range m.Drop {
		e, err := review.Called(edits, name)
		if err != nil {
			return err
		}
		has := func(p *krm.Package) (bool, error) {
			changed, err := review.Edits(full, p)
			return !slices.ContainsFunc(changed, e.Within), err
		}
		if back, err := has(m.pkg); err != nil || !back {
			if err != nil {
				return err
			}
			continue
		}
		who, err := "", error(nil)
		if p, failed := merged(); failed != nil {
			err = failed
		} else if back, failed := has(p); failed != nil || !back {
			who, err = m.written(settled, e.File, e.ID, e.Field)
			err = errors.Join(err, failed)
		}
		if err != nil {
			return err
		}
		return decide.Stalled("the edit by hand of %s cannot be dropped, for that is made again: change %s", name, cmp.Or(who, "what it comes from"))
	}
	return nil
}

// without takes the edits back that are to be dropped, and with them what the
// variant and its pipeline make of these alone.
func (m *maker) without(ctx context.Context, base, ours *krm.Package) (*krm.Package, error) {
	if len(m.Drop) == 0 {
		return ours, nil
	}
	if base == nil || m.guessed {
		return nil, decide.Stalled("what the machine made of it is not known, so that its edits cannot be told apart: change it by hand")
	}
	edits, err := review.Edits(base, ours)
	if err != nil {
		return nil, err
	}
	var drop []review.Edit
	for _, name := range m.Drop {
		e, err := review.Called(edits, name)
		if err != nil {
			return nil, decide.Stall(err)
		}
		drop = append(drop, e)
	}
	rest := slices.DeleteFunc(slices.Clone(edits), func(e review.Edit) bool { return slices.Contains(drop, e) })
	if alone, err := review.Without(base, ours, rest...); err == nil && len(rest) > 0 {
		again, made := *m, *m.Made
		again.Made = &made
		if p, err := again.mutate(ctx, alone); err == nil { // else nothing comes of them
			if edits, err = review.Edits(base, p); err != nil {
				return nil, err
			}
			drop = append(drop, slices.DeleteFunc(rest, func(e review.Edit) bool { return !slices.Contains(edits, e) })...)
		}
	}
	ours, err = review.Without(base, ours, drop...)
	return ours, decide.Stall(err)
}

// settle gives a merged package what is the machine's, and renders it.
func (m *maker) settle(ctx context.Context, was *kptfilev1.KptFile) error {
	err := errors.Join(
		m.dropRenamed(was),
		mutate.SetUpstream(m.pkg, m.Upstream.Kptfile(was.Upstream), m.Upstream.Lock),
		mutate.SetOwner(m.pkg, m.owner()),
	)
	if err == nil {
		m.ordered = was
		m.pkg, err = m.mutate(ctx, m.pkg)
	}
	if err == nil && m.rendering == untilRest {
		err = m.toRest(ctx)
	}
	if err == nil {
		m.note(m.pkg, unknownFunction)
	}
	return err
}

// asTaken is hydrated for a package that no variant made: what is there has
// nothing of a variant's, and is the upstream's as it was taken or as it was
// rendered; else the nearer of these is the guess.
func (m *maker) asTaken(ctx context.Context, o origin, there *krm.Package) (base, guess *krm.Package, err error) {
	path := m.Want.Identity.Package
	if o.pathless {
		path = ""
	}
	p, err := mutate.Clone(o.pkg, mutate.CloneOptions{
		Path: m.Package.Path, PackagePath: path, Upstream: o.upstream, Lock: o.lock, Deployment: m.Job.Repo.Deployment,
	})
	if err == nil {
		err = mutate.DropUngiven(p, there)
	}
	if err != nil {
		return nil, nil, decide.Stall(fmt.Errorf("upstream %s: %w", m.named(o), err))
	}
	candidates := []*krm.Package{p}
	if m.Renderer != nil {
		if rendered, err := m.renderAlone(ctx, p); err == nil { // else it was taken all the same
			candidates = append(candidates, rendered)
		}
	}
	files, err := there.Files()
	if err != nil {
		return nil, nil, err
	}
	nearest := 0
	for _, c := range candidates {
		if same, err := krm.SameContent(c, there); err != nil || same {
			return c, nil, err
		}
		have, err := c.Files()
		if err != nil {
			return nil, nil, err
		}
		if n := len(changed(have, files)); guess == nil || n < nearest {
			guess, nearest = c, n
		}
	}
	return nil, guess, nil
}

// sameLock says whether a package was taken from the upstream that a Kptfile
// names: where others merged a Draft, the machine's last commit may be of an
// earlier one.
func sameLock(p *krm.Package, k *kptfilev1.KptFile) bool {
	was, err := mutate.Read(p, "")
	if err != nil {
		return false
	}
	a, b := mutate.Lock(was), mutate.Lock(k)
	return a != nil && b != nil && *a == *b
}

// onto is what an open Draft and the registered branch hold by people's hands, on
// top of what the machine made of the Draft last, which is the base then. What is
// the Draft's own is what differs from the branch as it stood when the Draft began:
// the rest follows the branch. A Draft without edits goes, unless there were some on
// the branch that it set back: its base is what the machine made of the branch. A nil base says that one of both is not known.
func (m *maker) onto(ctx context.Context, made, draft *krm.Package) (base, ours *krm.Package, err error) {
	latest, branch, err := m.published(ctx)
	if err != nil {
		return nil, nil, err
	}
	kptfile, err := mutate.Read(branch, "")
	if err != nil {
		return nil, draft, nil //nolint:nilerr // the upstream's merge says what is wrong with it
	}
	published, _, err := m.hydrated(ctx, latest, branch, kptfile)
	if err != nil || published == nil {
		return nil, draft, err
	}
	began, err := m.began(ctx)
	if err != nil {
		return nil, nil, err
	}
	same, err := samePackage(made, draft)
	if err == nil && same && began != nil && !m.Keeps() {
		same, err = samePackage(published, began)
	}
	if err != nil || same {
		return published, branch, err
	}
	o := merge.Options{Keep: m.KeepEdits} // by fields: what the strategy drops, the update of the Draft itself lists
	if branch, err = m.merge(m.Upstream.String(), published, made, branch, o); err != nil {
		return nil, nil, err
	}
	m.carried = len(m.Conflicts)
	if began == nil {
		began = made
	} else {
		if m.Keeps() { // as it was when the Draft was made
			o.Keep = false
		}
		res, err := merge.Packages(published, made, began, o)
		if err != nil {
			return nil, nil, decide.Stall(fmt.Errorf("merging %s: %w", m.publishedName(), err))
		}
		// What its pipeline made of those edits is not the Draft's own.
		warnings := m.Warnings
		if began, err = m.mutate(ctx, res.Package); err != nil {
			began = res.Package
		}
		m.Warnings = warnings
	}
	ours, err = m.merge(m.publishedName(), began, branch, draft, merge.Options{Stands: true, Theirs: m.publishedName(), Ours: merge.DraftSide})
	return made, ours, err
}

// owned is an open Draft with what stands on the registered branch of what is owned
// elsewhere, where nobody set it on the Draft: a strategy that replaces left it out,
// and another one is to find it again.
func (m *maker) owned(ctx context.Context, made, draft *krm.Package) (*krm.Package, error) {
	if m.From.Number != 0 || m.Package.Latest == nil {
		return draft, nil
	}
	if any, err := merge.HasOwned(draft); err != nil || !any {
		return draft, err
	}
	latest, branch, err := m.published(ctx)
	if err != nil {
		return nil, err
	}
	kptfile, err := mutate.Read(branch, "")
	if err != nil {
		return draft, nil //nolint:nilerr // the merge says what is wrong with it
	}
	published, _, err := m.hydrated(ctx, latest, branch, kptfile)
	if err != nil || published == nil {
		return draft, err
	}
	return merge.Owned(made, draft, published, branch), nil
}

// updateUpstream merges what changed upstream, and what was published since the
// Draft began, into the package that is there, where what the machine made of
// it is not known.
func (m *maker) updateUpstream(ctx context.Context, local *krm.Package, kptfile *kptfilev1.KptFile) error {
	content, base, err := m.lockedUpstream(ctx, mutate.Lock(kptfile))
	if err != nil {
		return err
	}
	m.pkg, m.Conflicts = local.Clone(), nil
	own := merge.Options{Own: []string{mutate.PackageContextFile}}
	if m.From.Number == 0 && m.Behind() {
		if m.pkg, err = m.rebase(ctx, base, m.pkg, own); err != nil {
			return err
		}
	}
	if content != m.Upstream.Content {
		if merge.Readable(nil, base) != nil { // a merge from it would take for removed what is in there
			if base, err = krm.Parse(nil); err != nil {
				return err
			}
			m.guessed = true
		}
		if err := m.readableHere(base, m.pkg); err != nil {
			return err
		}
		own.Strategy, own.Guess, own.Keep = m.strategy, m.guessed, m.KeepEdits
		if m.pkg, err = m.merge(m.Upstream.String(), base, m.Upstream.Package, m.pkg, own); err != nil {
			return err
		}
	}
	if m.guessed && m.Job.Repo.Deployment {
		if err := mutate.EnsureContext(m.pkg, path.Base(m.Package.Path), m.Want.Identity.Package); err != nil {
			return decide.Stall(err)
		}
	}
	if m.tracing {
		m.begin(origin{pkg: m.Upstream.Package, lock: m.Upstream.Lock})
		m.note(m.pkg, byHand)
	}
	if err := m.settle(ctx, kptfile); err != nil {
		return err
	}
	return m.leftOut(ctx)
}

// leftOut corrects the conflicts of a run that does not read the values of other
// packages. A value that the machine wrote is no edit by hand.
func (m *maker) leftOut(ctx context.Context) error {
	if !m.unwired() || !slices.ContainsFunc(m.Conflicts, merge.Conflict.LosesEdit) {
		return nil
	}
	made, err := m.Job.Repo.Hydrated(ctx, m.Package.Path, m.From)
	if err != nil {
		return err
	}
	machines := func(c merge.Conflict, p *krm.Package) bool {
		value, known := c.In(p)
		return c.LosesEdit() && known && value == c.Local
	}
	m.Conflicts = slices.DeleteFunc(m.Conflicts, func(c merge.Conflict) bool { return machines(c, made) && machines(c, m.pkg) })
	for i := range m.Conflicts {
		if machines(m.Conflicts[i], made) {
			m.Conflicts[i].Fate = merge.LeftOut
		}
	}
	return nil
}

// rebase brings what was published since a Draft began into the Draft.
func (m *maker) rebase(ctx context.Context, base, draft *krm.Package, o merge.Options) (*krm.Package, error) {
	since, err := m.began(ctx)
	if err != nil {
		return nil, err
	}
	if since == nil {
		since = base
	}
	_, theirs, err := m.published(ctx)
	if err != nil {
		return nil, err
	}
	o.Stands, o.Theirs, o.Ours = true, m.publishedName(), merge.DraftSide
	return m.merge(m.publishedName(), since, theirs, draft, o)
}

// began is what stood on the registered branch when an open Draft was made last,
// nil where that is not known.
func (m *maker) began(ctx context.Context) (p *krm.Package, err error) {
	if main := m.From.Inputs.Main; main != "" {
		if p, err = m.Job.Repo.Stood(ctx, m.Package.Path, main); err != nil || p != nil {
			return p, err
		}
	}
	if m.Since == nil {
		return nil, nil
	}
	if _, p, err = m.Job.Repo.ReadPackage(ctx, m.Since.Ref.Commit, m.Package.Path); err != nil {
		return nil, fmt.Errorf("reading %s: %w", m.Since.Ref.Name, err)
	}
	return p, nil
}

// publishedName is published for people.
func (m *maker) publishedName() string {
	if m.branch() {
		return "branch " + m.Repo.Branch
	}
	return decide.RevisionName(m.Package.Latest.Number)
}

// merge notes the conflicts of a merge, and stops at them where that was asked for.
func (m *maker) merge(what string, base, theirs, ours *krm.Package, o merge.Options) (*krm.Package, error) {
	res, err := merge.Packages(base, theirs, ours, o)
	if err != nil {
		return nil, decide.Stall(fmt.Errorf("merging %s: %w", what, err))
	}
	if err := m.stop(what, res.Conflicts); err != nil {
		return nil, err
	}
	m.Conflicts = append(m.Conflicts, res.Conflicts...)
	return res.Package, m.keptThoughRemoved(what, res)
}

// neverKept are groups of APIs of which nothing stays, unseen, that upstream
// removed: RBAC, webhooks, CRDs.
var neverKept = []string{"rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io"}

// keptThoughRemoved looks at what upstream removed and an edit keeps.
func (m *maker) keptThoughRemoved(what string, res *merge.Result) error {
	for _, c := range res.Conflicts {
		if c.Fate != merge.KeptThoughRemoved {
			continue
		}
		m.Attention = append(m.Attention, decide.KeptThoughRemoved)
		for _, r := range res.Package.Resources() {
			in := r.Path() == c.Path || strings.HasPrefix(r.Path(), c.Path+"/")
			if in && (c.Resource == krm.ID{} || c.Resource == r.ID()) && slices.Contains(neverKept, r.Group()) {
				return decide.Stalled("merging %s: %s of %s was removed upstream, and an edit by hand would keep it: take the edit back, or delete it where it was edited", what, r.ID(), r.Path())
			}
		}
	}
	return nil
}

// explain finds the edits that a merge lost to a value that the variant itself, or
// its pipeline, gives: they are to be made there.
func (m *maker) explain(made func() (*provenance.Trace, error), conflicts []merge.Conflict) (err error) {
	for i := range conflicts {
		c := &conflicts[i]
		if c.Fate != merge.Lost {
			continue
		}
		if c.Instead, err = m.written(made, c.Path, c.Resource, c.Field); err != nil {
			return err
		}
		if c.Instead != "" {
			c.Fate = merge.Overruled
		}
	}
	return nil
}

func (m *maker) stop(what string, conflicts []merge.Conflict) error {
	if len(conflicts) == 0 || !m.StopOnConflict {
		return nil
	}
	lines := make([]string, len(conflicts))
	for i, c := range conflicts {
		lines[i] = c.Undecided()
	}
	return decide.Stalled("merging %s: %s, and conflicts are set to stop:\n  %s", what, count.Of(len(lines), "conflict"), strings.Join(lines, "\n  "))
}

// overruled notes people's edits that the merge kept and the variant's own
// mutations or its pipeline set back after it. local is ours as it was merged.
func (m *maker) overruled(ctx context.Context, base, ours, local *krm.Package, merged func() (*krm.Package, error), settled func() (*provenance.Trace, error)) (err error) {
	edits, err := review.Edits(base, ours)
	if err != nil || len(edits) == 0 {
		return err
	}
	defer func() {
		if err == nil && len(m.Conflicts) > 0 {
			err = m.sign(ctx, base, edits)
		}
	}()
	undone, err := review.Edits(ours, m.pkg)
	if err != nil {
		return err
	}
	if m.strategy == kptfilev1.CopyMerge { // it names files, and these are the fields
		m.Conflicts = slices.DeleteFunc(m.Conflicts, func(c merge.Conflict) bool {
			return c.Field == "" && c.Resource == krm.ID{} && slices.ContainsFunc(edits, func(e review.Edit) bool { return e.File == c.Path && e.Field != "" })
		})
	}
	type place struct{ file, resource string }
	undoneAt := map[place][]int{}
	for i, u := range undone {
		undoneAt[place{u.File, u.Resource}] = append(undoneAt[place{u.File, u.Resource}], i)
	}
	var found []merge.Conflict
	for _, e := range edits {
		i := -1
		if at := undoneAt[place{e.File, e.Resource}]; len(at) > 0 {
			if j := slices.IndexFunc(at, func(i int) bool { return undoes(undone[i], e) }); j >= 0 {
				i = at[j]
			}
		}
		at := slices.IndexFunc(m.Conflicts, func(c merge.Conflict) bool { return c.Path == e.File && (c.Field == "" || e.Field == c.Field) })
		if i < 0 || at >= 0 && (m.Conflicts[at].Winner != merge.Local || m.Conflicts[at].Field == "") {
			continue
		}
		c := merge.Conflict{
			Path: e.File, Resource: e.ID, Field: e.Field, Winner: merge.Upstream, Fate: merge.Overruled,
			Base: value(e.Before, e, review.Remove), Upstream: value(undone[i].After, undone[i], review.Add), Local: value(e.After, e, review.Add),
		}
		wrote := func(from, to *krm.Package) (bool, error) {
			edits, err := review.Edits(from, to)
			return slices.ContainsFunc(edits, func(o review.Edit) bool {
				return o.Op == undone[i].Op && o.Field == undone[i].Field && o.Within(undone[i])
			}), err
		}
		p, err := merged()
		if err != nil {
			return err
		}
		already, err := wrote(local, p)
		if err != nil {
			return err
		}
		if already && m.strategy == kptfilev1.ResourceMerge {
			continue // the merge has said what it lost
		}
		if !already {
			if c.Instead, err = m.written(settled, e.File, e.ID, e.Field); err != nil {
				return err
			}
		}
		if c.Instead == "" {
			c.Fate = merge.Lost // by the strategy
		}
		if at >= 0 {
			m.Conflicts[at] = c
			continue
		}
		found = append(found, c)
	}
	m.Conflicts = append(m.Conflicts, found...)
	return m.stop(m.Upstream.String(), found)
}

// takenBack notes what became of an open Draft that was set to another upstream than
// the machine made it of, as a program does that writes what it read before.
func (m *maker) takenBack(ctx context.Context, made, there *krm.Package) error {
	edits, err := review.Edits(made, there)
	if err != nil {
		return err
	}
	undone, err := review.Edits(there, m.pkg)
	if err != nil {
		return err
	}
	k, err := mutate.Read(there, "")
	if err != nil {
		return err
	}
	var found []merge.Conflict
	if now, local := lockNames(m.Upstream.Lock.Git, mutate.Lock(k)); now != local {
		found = append(found, merge.Conflict{
			Path: kptfilev1.KptFileName, Resource: there.Kptfile("").ID(), Field: "upstreamLock", Winner: merge.Upstream, Fate: merge.Lost,
			Upstream: now, Local: local,
		})
	}
	for _, e := range edits {
		i := slices.IndexFunc(undone, func(u review.Edit) bool { return undoes(u, e) })
		if i < 0 || slices.ContainsFunc(m.Conflicts, func(c merge.Conflict) bool { return c.Path == e.File && c.Resource == e.ID && c.Field == e.Field }) {
			continue
		}
		found = append(found, merge.Conflict{
			Path: e.File, Resource: e.ID, Field: e.Field, Winner: merge.Upstream, Fate: merge.Lost,
			Base: value(e.Before, e, review.Remove), Upstream: value(undone[i].After, undone[i], review.Add), Local: value(e.After, e, review.Add),
		})
	}
	m.Conflicts = append(found, m.Conflicts...)
	if err := m.sign(ctx, made, edits); err != nil {
		return err
	}
	if len(edits) > 0 && len(found) > 0 {
		m.Conflicts[0].By = cmp.Or(m.Conflicts[0].By, edits[0].By)
	}
	return m.stop(m.Upstream.String(), found)
}

// lockNames names two upstreamLocks for people: by their refs, and where these are equal by
// their commits, too.
func lockNames(a, b *kptfilev1.GitLock) (string, string) {
	switch {
	case a == nil || b == nil:
		return refOf(a), refOf(b)
	case a.Ref != b.Ref:
		return a.Ref, b.Ref
	}
	return a.Ref + " (" + a.Commit + ")", b.Ref + " (" + b.Commit + ")"
}

func refOf(l *kptfilev1.GitLock) string {
	if l == nil {
		return ""
	}
	return l.Ref
}

// undoes says whether one edit takes another back, at least in part: what is put
// into what was added takes nothing from it.
func undoes(undone, e review.Edit) bool {
	return e.Within(undone) && (e.Op != review.Add || undone.Op != review.Add || len(undone.Field) <= len(e.Field))
}

// sign says who wrote the edits that conflicts are about.
func (m *maker) sign(ctx context.Context, base *krm.Package, edits []review.Edit) error {
	if err := m.Job.Repo.FindWriters(ctx, m.Package.Path, m.editedAt(), base, edits); err != nil {
		return err
	}
	for i := range m.Conflicts {
		c := &m.Conflicts[i]
		at := slices.IndexFunc(edits, func(e review.Edit) bool {
			return e.File == c.Path && e.ID == c.Resource && (e.Field == c.Field || e.Within(review.Edit{File: c.Path, Resource: e.Resource, Field: c.Field}))
		})
		if at >= 0 {
			c.By = edits[at].By
		}
	}
	return nil
}

// editedAt is the commit up to which people's edits are looked for.
func (m *maker) editedAt() decide.Hash {
	if b := m.Package.Branch; m.From.Number > 0 && b != nil && !b.Came.IsZero() {
		return b.Came
	}
	return m.From.Ref.Commit
}

// value is one side of an edit; of a whole resource or file that it is there, and of
// a file's text a digest.
func value(text string, e review.Edit, there review.Op) string {
	before, after, changed := strings.Cut(e.Digest, "..")
	switch {
	case e.Field == "" && e.Resource == "" && changed && there == review.Add:
		return after
	case e.Field == "" && e.Resource == "" && changed:
		return before
	case e.Field != "" || e.Op != there:
		return text
	case e.Resource == "":
		return "(file)"
	}
	return "(resource)"
}

func samePackage(a, b *krm.Package) (bool, error) {
	x, errX := a.Files()
	y, errY := b.Files()
	return errX == nil && errY == nil && sameFiles(x, y), errors.Join(errX, errY)
}
