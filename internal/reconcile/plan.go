package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/build"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/internal/wiring"
)

// Plan finds out what a run would do and builds every package that would
// change. It writes nothing to any repository. The error is non-nil only where
// nothing could be planned at all; what failed in part stands in the Plan.
func (e *Engine) Plan(ctx context.Context) (*Plan, error) { return e.plan(ctx, true) }

// Survey is Plan without building: changed inputs are found, not what comes of
// them, but for packages whose values others read. It is what status shows.
func (e *Engine) Survey(ctx context.Context) (*Plan, error) { return e.plan(ctx, false) }

func (e *Engine) plan(ctx context.Context, building bool) (*Plan, error) {
	e.read.OpenWhole, e.read.TreesAhead = !building && e.cfg.Only.All(), e.cfg.Only.All()
	s := e.read.Read(ctx)
	moved, untaken := e.takeHeads(ctx)
	if moved {
		s = e.read.Read(ctx)
	}
	e.read.TreesAhead = false // for who reads next
	if err := e.other(s); err != nil {
		return nil, err
	}
	s.Problems = append(s.Problems, untaken...)
	selected, err := e.only(s.Wants)
	if err == nil {
		err = e.invoke(selected)
		for _, w := range selected {
			w.Drop = e.cfg.drop[w.Identity]
		}
	}
	if err != nil {
		// A name that means nothing may be that of something that could not be read.
		return nil, errors.Join(append([]error{err}, s.Failures()...)...)
	}
	selected = slices.DeleteFunc(slices.Clone(selected), func(w *decide.Want) bool { return !e.mine(w.Identity) })
	r := e.newRun(s, building)
	e.read.FetchTrees(ctx, selected)
	if !building {
		e.read.FetchOpen(ctx, selected)
	}
	if e.cfg.Prune {
		r.fetchTrims(ctx, selected)
	}
	subjects, err := r.look(ctx, selected)
	if err == nil {
		todo := subjects
		if !building {
			near := r.suspects(ctx, selected)
			todo = slices.DeleteFunc(slices.Clone(subjects), func(s *subject) bool { return !near[s.want] })
		}
		err = r.build(ctx, todo)
	}
	if err == nil {
		subjects, err = r.apart(ctx, subjects)
	}
	if err == nil {
		subjects, err = r.relock(ctx, subjects)
	}
	if err == nil {
		err = r.prove(ctx, subjects)
	}
	if err != nil {
		return nil, err
	}
	plan := &Plan{Targets: targetPlans(s), Problems: slices.Concat(s.Problems, s.Unanswered), Warnings: append(s.Warnings, e.leftBehind(ctx)...), run: r}
	for _, t := range e.taken {
		if t.Err != nil {
			plan.Warnings = append(plan.Warnings, t.String())
		}
	}
	for _, set := range s.Sets {
		plan.Sets = append(plan.Sets, &SetStatus{*set})
	}
	trims := r.settle(ctx, plan, subjects)
	r.govern(ctx, plan.Items)
	r.await(plan.Items)
	r.remove(ctx, plan, trims)
	plan.Warnings = append(plan.Warnings, r.nameless(plan.Items)...)
	plan.moved(e.cfg.Only.Since)
	plan.sort()
	if err := r.sayEdits(ctx, plan.Items); err != nil {
		return nil, err
	}
	return plan, ctx.Err()
}

// run is one run's way through the rooms.
type run struct {
	*Engine
	snapshot *observe.Snapshot
	// alone says that what other packages give is taken as it was recorded.
	alone bool
	// building says that packages are built and compared.
	building bool
	mu       sync.Mutex
	subjects map[*decide.Want]*subject
	stages   map[observe.Repository]*gitrepo.Stage
	whens    map[time.Time]*publish.Commit // of what is only shown
}

func (e *Engine) newRun(s *observe.Snapshot, building bool) *run {
	r := &run{Engine: e, building: building, snapshot: s, subjects: map[*decide.Want]*subject{}, stages: map[observe.Repository]*gitrepo.Stage{}}
	e.wirer.Content = r.content
	return r
}

// stage is what a repository's push is to hold; nil where nothing is pushed.
func (r *run) stage(git observe.Repository) *gitrepo.Stage {
	if r.cfg.Preview {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stages[git]
	if s == nil {
		s = git.NewStage()
		r.stages[git] = s
	}
	return s
}

// closeStage lets go of what a repository's push held.
func (r *run) closeStage(git observe.Repository) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.stages[git]; s != nil {
		_ = s.Close() // only a temporary file
		delete(r.stages, git)
	}
}

// closeStages does so of those that nothing was pushed to, too.
func (r *run) closeStages() {
	for git := range maps.Clone(r.stages) {
		r.closeStage(git)
	}
}

// subject is a wanted package while it is decided about.
type subject struct {
	want      *decide.Want
	repo      *observe.Repo
	pkg       *decide.Package
	up        *decide.Upstream // nil for a lock
	wires     *build.Wires
	err       error
	revisions []*revision
	// beside are rulings about revisions that are not worked on.
	beside []besides
	trim   []decide.Published
}

// revision is one revision of a subject.
type revision struct {
	outcome decide.Outcome
	made    *build.Made
	unheld  *decide.Proof // of one that is held, in a survey
}

// builds says that the revision is to be built, or was.
func (v *revision) builds() bool {
	_, builds := v.outcome.Intent.(decide.Build)
	return builds
}

// changes says that it is to be built of other inputs than it was, or was.
func (v *revision) changes() bool {
	b, builds := v.outcome.Intent.(decide.Build)
	return builds && (v.outcome.From == nil || v.outcome.From.Inputs.Digest != b.Inputs.Digest)
}

type besides struct {
	decide.Ruling
	revision *decide.Revision
	pkg      *decide.Package // as it is then
}

// look finds out what wanted packages need, in waves where some read what others
// give: those are built first.
func (r *run) look(ctx context.Context, wants []*decide.Want) ([]*subject, error) {
	var out []*subject
	for _, wave := range decide.Waves(wants) {
		subjects, err := observe.Parallel(ctx, r.limit(), wave, r.subject)
		if err == nil {
			err = r.reconsider(ctx, subjects)
		}
		if err != nil {
			return nil, err
		}
		var first []*subject
		for _, s := range subjects {
			r.mu.Lock()
			r.subjects[s.want] = s
			r.mu.Unlock()
			if s.want.Read {
				first = append(first, s)
			}
		}
		if err := r.build(ctx, first); err != nil {
			return nil, err
		}
		out = append(out, subjects...)
	}
	return out, nil
}

func (e *Engine) limit() int {
	if e.cfg.Concurrency > 0 {
		return e.cfg.Concurrency
	}
	return runtime.NumCPU()
}

// subject asks what is to become of one wanted package.
func (r *run) subject(ctx context.Context, w *decide.Want) *subject {
	s := &subject{want: w}
	if wires, err := r.wirer.Wire(ctx, w); err != nil && w.Err == nil {
		w.Err = err
	} else {
		s.wires = wires
	}
	s.err = r.ask(ctx, s)
	return s
}

// reconsider looks at the registered branch before anything is built upon a
// Published revision: where others wrote there, it is asked once more. Runs with
// nothing to build need not look.
func (r *run) reconsider(ctx context.Context, subjects []*subject) error {
	var todo []*subject
	var questions []*decide.Question
	for _, s := range subjects {
		for _, v := range s.revisions {
			if builds := v.builds() || s.want.Recreate || s.want.Retry; builds && v.outcome.From != nil && v.outcome.From.Number > 0 && s.err == nil {
				todo, questions = append(todo, s), append(questions, &v.outcome.Question)
				break
			}
		}
	}
	if len(todo) == 0 {
		return nil
	}
	r.read.FetchStarts(ctx, questions, r.likelyBeside(ctx, subjects)...)
	of := func(s *subject) *observe.Repo { return s.repo }
	return observe.SideBySide(ctx, r.read, todo, of, func(ctx context.Context, s *subject) error {
		p := s.repo.Package(s.pkg.Path)
		looked := p.Branch != nil || p.Lost != nil
		if s.err = r.read.ReadBranch(ctx, s.repo, p); s.err == nil && (p.Branch != nil || p.Lost != nil) && !looked {
			s.revisions, s.beside, s.trim = nil, nil, nil
			s.err = r.ask(ctx, s)
		}
		return nil
	})
}

func (r *run) ask(ctx context.Context, s *subject) (err error) {
	w := s.want
	if s.repo, err = r.read.Downstream(w.Namespace, w.Repository); err != nil {
		s.repo = nil
		return decide.Stalled("spec.downstream.repo: %w", err)
	}
	s.pkg = s.repo.Package(s.repo.Path(w.Package))
	if w.Err != nil {
		return w.Err
	}
	if ruling, held := decide.Held(s.pkg); held && r.cfg.take == nil {
		s.waits(w, ruling)
		if !r.building || s.pkg.Rollout != "" {
			r.unheld(ctx, s)
		}
		return nil
	}
	return r.askFree(ctx, s)
}

// unheld says of the open revision of a package that is held what would be known of
// it if nobody held it.
func (r *run) unheld(ctx context.Context, s *subject) {
	v := s.revisions[0]
	if decide.BuiltAs(v.outcome.From) == "" {
		return
	}
	free := &subject{want: s.want, repo: s.repo, pkg: s.pkg, wires: s.wires}
	if err := r.askFree(ctx, free); err != nil {
		v.unheld = &decide.Proof{State: decide.Failing, Why: err.Error()}
		return
	}
	for _, f := range free.revisions {
		if f.outcome.From == nil || f.outcome.From.Ref != v.outcome.From.Ref {
			continue
		}
		v.unheld = f.outcome.Proof()
		if why := f.outcome.NewerWaits(); why != "" {
			v.outcome.Warnings = append(v.outcome.Warnings, why)
		}
	}
}

// askFree is ask for a package that nobody holds.
func (r *run) askFree(ctx context.Context, s *subject) error {
	w := s.want
	if w.Lock() == nil {
		s.up = r.read.UpstreamOf(ctx, w)
		if ruling, waits := decide.Unpublished(w.Upstream(), s.up); waits {
			s.waits(w, ruling)
			return nil
		}
		if s.up.Err != nil {
			return fmt.Errorf("spec.upstream: %w", s.up.Err)
		}
		if s.up.Repo.Git == s.repo.Repository.Git && s.up.Path == s.pkg.Path {
			return decide.Stalled("spec.downstream: the package would be its own upstream (%s)", s.up.Path)
		}
	}
	if err := r.read.ReadTrees(ctx, s.repo, s.pkg); err != nil {
		return err
	}
	for again := true; again; {
		ruling, tagged, ok := decide.Landed(r.manager, w, s.repo.Repository, s.pkg)
		if !ok {
			break
		}
		tag := ruling.Decision.(decide.Tag)
		if s.repo.Deployment && w.Lock() == nil && !tag.Again && !tag.Adopts {
			unmet, err := s.repo.Gates(ctx, tagged, tagged.Latest)
			if err != nil {
				return err
			}
			ruling.Warnings = append(ruling.Warnings, decide.MergedUnmet(tag, unmet)...)
		}
		s.beside = append(s.beside, besides{ruling, tag.Draft, tagged})
		s.pkg = tagged
		if again = tag.Again; again { // what came since is seen from there
			if err := r.read.ReadBranch(ctx, s.repo, s.pkg); err != nil {
				return err
			}
		}
	}
	notes, err := r.tagMain(ctx, s)
	if err != nil {
		return err
	}
	if note := decide.Unadopted(w, s.pkg); note != "" {
		notes = append(notes, note)
	}
	works, err := decide.Select(r.manager, w, s.repo.Repository, s.pkg)
	if err == nil {
		err = s.repo.Blocked(s.pkg.Refs()...)
	}
	if err != nil {
		return err
	}
	for _, work := range works {
		q, err := r.question(s, work)
		if err != nil {
			return err
		}
		q.Surveyed = !r.building
		q = confirm(r.Engine, q, s.repo)
		o := decide.Outcome{Question: q, Intent: decide.Intend(q)}
		if _, build := o.Intent.(decide.Build); build { // else there is no need to ask
			o.Last = s.repo.LastBuild(ctx, s.pkg.Path, o.From)
			o.Intent = decide.Intend(o.Question)
		}
		if err := r.gates(ctx, s, &o); err != nil {
			o.Intent = decide.Rule{Ruling: decide.Ruling{Decision: decide.Fail{}, Err: err}}
		}
		if work.From.Reverts() != "" && work.From.Phase.Open() {
			differs, _, err := reverting(ctx, s.repo, s.pkg, work.From)
			o.Unproved = work.From.Unreverted(differs, err)
		}
		o.Warnings = append(o.Warnings, notes...)
		s.revisions = append(s.revisions, &revision{outcome: o})
	}
	r.besides(ctx, s)
	return nil
}

// tagMain makes a revision of what others committed to the registered branch, where
// the Repository asks for that and it stands the test of approve --main; untagged says
// why it does not. Who builds nothing does not try.
func (r *run) tagMain(ctx context.Context, s *subject) (untagged []string, err error) {
	if !s.repo.TagsMain() || s.want.Lock() != nil || !r.building {
		return nil, nil
	}
	if err := r.read.ReadBranch(ctx, s.repo, s.pkg); err != nil {
		return nil, err
	}
	tag, tagged, err := decide.OnMain(r.manager, s.want, s.repo.Repository, s.pkg)
	if err != nil {
		return nil, nil //nolint:nilerr // there is nothing, or other rules tell why it waits
	}
	if err := r.builder.Stands(ctx, s.repo, s.want, s.pkg); err != nil {
		return []string{fmt.Sprintf("what stands on %s becomes no revision: %v", s.repo.Branch, err)}, nil
	}
	s.beside = append(s.beside, besides{decide.AtOnce(tag, s.repo.Repository, s.pkg), nil, tagged})
	s.pkg = tagged
	return nil, nil
}

// waits leaves the package as it is.
func (s *subject) waits(w *decide.Want, ruling decide.Ruling) {
	from := s.pkg.Open()
	if from == nil {
		from = s.pkg.Latest
	}
	q := decide.Question{Want: w, Work: decide.Work{From: from}, Repo: s.repo.Repository, Package: s.pkg}
	s.revisions = append(s.revisions, &revision{outcome: decide.Outcome{Question: q, Intent: decide.Rule{Ruling: ruling}}})
}

// question collects what goes into the decision about one revision.
func (r *run) question(s *subject, work decide.Work) (decide.Question, error) {
	w := s.want
	q := decide.Question{
		Want: w, Work: work, Owner: r.manager.Sign(w.Namespace, w.Name), Repo: s.repo.Repository, Package: s.pkg, Alone: r.alone || r.cfg.Dependencies == nil,
		Unrendered: r.cfg.Renderer == nil, Unkept: s.repo.Unkept(),
		Automatic: r.snapshot.Policies.Of(w.Identity).Automatic,
	}
	pv := w.Variant()
	if pv == nil { // a lock's own spec is where it stands
		pv = &v1alpha1.PackageVariant{}
		pv.Spec.Downstream = &v1alpha1.Downstream{Repo: w.Repository, Package: w.Package}
	}
	spec, err := decide.SpecDigest(pv, q.Owner, w.Set, w.MadeFor)
	if err != nil {
		return q, err
	}
	var points []injection.Point
	if s.up != nil {
		points = s.up.Points
		q.Source = unique.Make(s.up.String()).Value() // one for all that it is the upstream of
		q.Parts.UpstreamTree = s.up.Content
		q.Parts.UpstreamRef = unique.Make(s.up.Repo.Address + "\x00" + s.up.Path + "\x00" + s.up.Ref()).Value()
		q.Parts.Functions, q.Parts.Versions = r.read.FunctionsOf(w, s.up)
	} else {
		q.Parts.UpstreamTree, q.Parts.UpstreamRef = w.Lock().Digest, "\x00"+s.pkg.Path+"\x00"
		q.Parts.Functions, q.Parts.Versions = r.read.FunctionsOf(w, nil)
	}
	request := injection.Request{
		Namespace: w.Namespace, Injectors: pv.Spec.Injectors, Context: r.cfg.Fleet.Context, AllowKinds: r.cfg.AllowKinds,
	}
	selection := injection.Select(points, request)
	if work.From != nil {
		q.Parts.Points = decide.PointsOf(injection.Select(work.From.Inputs.Added(), request))
	}
	q.Parts.Spec, q.Parts.Context, q.Unfilled = spec, selection.Digest(), build.Unfilled(selection)
	switch {
	case q.Alone && work.From != nil:
		q.Parts.Values = work.From.Inputs.Values
	case s.wires != nil:
		q.Parts.Values = decide.ValuesDigest(s.wires.Text())
		q.Doubt = w.Target.Doubt.Values()
	}
	if r.cfg.Memo != nil {
		q.Fruitless = r.cfg.Memo.Has
	}
	return q, nil
}

// gates reads the gates of an open revision that may be published as it is, or whose
// proof is shown.
func (r *run) gates(ctx context.Context, s *subject, o *decide.Outcome) (err error) {
	if o.From == nil {
		return nil
	}
	if !o.From.Phase.Open() {
		if !r.building && o.ShowsGates(hasGates(s.up)) {
			o.Unmet, err = s.repo.Gates(ctx, s.pkg, o.From)
		}
		return err
	}
	rule, ok := o.Intent.(decide.Rule)
	stays := ok && rule.Decision.Action() == decide.ActionNone
	if shown := !r.building && s.repo.Deployment; shown || stays && r.snapshot.Policies.Of(s.want.Identity).Automatic {
		o.Unmet, err = s.repo.Gates(ctx, s.pkg, o.From)
	}
	if !stays { // what is built anew tells what is wrong with it
		return nil
	}
	return err
}

// hasGates reports whether an upstream has readiness gates.
func hasGates(up *decide.Upstream) bool {
	if up == nil || up.Package == nil {
		return false
	}
	k, err := mutate.Read(up.Package, "")
	return err == nil && len(mutate.Gates(k)) > 0
}

// besides rules about what is not worked on: proposals of deletion that are taken
// back, surplus Drafts, revisions beyond a limit.
func (r *run) besides(ctx context.Context, s *subject) {
	if ruling, ok := decide.Restored(r.manager, s.want, s.pkg); ok {
		s.beside = append(s.beside, besides{ruling, s.pkg.Latest, s.pkg})
	}
	for _, ruling := range decide.Leftover(r.manager, s.want, s.pkg) {
		s.beside = append(s.beside, besides{ruling, ruling.Decision.(decide.Discard).Revision, s.pkg})
	}
	if !r.cfg.Prune {
		return
	}
	for _, t := range r.trimmable(s.want, s.pkg) {
		// What was there before the package was adopted is not ours to remove.
		mine, err := r.read.Published(ctx, s.repo, s.pkg.Path, t)
		if err != nil {
			o := &s.revisions[0].outcome
			o.Warnings = append(o.Warnings, fmt.Sprintf("historyLimit: reading %s: %v", decide.RevisionName(t.Number), err))
		}
		if mine {
			s.trim = append(s.trim, t)
		}
	}
}

// trimmable are the revisions of a package beyond its set's limit.
func (r *run) trimmable(w *decide.Want, p *decide.Package) []decide.Published {
	return decide.Trimmable(r.manager, w, p, r.snapshot.Policies.Of(w.Identity).History)
}

// fetchTrims brings the commits of what is beyond the limits: each says whose it is.
func (r *run) fetchTrims(ctx context.Context, wants []*decide.Want) {
	trims := map[*observe.Repo][]decide.Published{}
	for _, w := range wants {
		if repo := r.read.RepoOf(w); repo != nil && repo.Git != nil {
			trims[repo] = append(trims[repo], r.trimmable(w, repo.Package(repo.Path(w.Package)))...)
		}
	}
	r.read.FetchPublished(ctx, trims)
}

// build builds what is to be built and was not yet, many at once.
func (r *run) build(ctx context.Context, subjects []*subject) error {
	type task struct {
		*subject
		*revision
	}
	var todo []task
	var questions []*decide.Question
	var wants []*decide.Want
	for _, s := range subjects {
		for _, v := range s.revisions {
			if v.builds() && v.made == nil {
				if todo = append(todo, task{s, v}); len(wants) == 0 || wants[len(wants)-1] != s.want {
					wants = append(wants, s.want)
				}
				questions = append(questions, &v.outcome.Question)
			}
		}
	}
	if len(todo) == 0 {
		return nil
	}
	r.read.FetchStarts(ctx, questions, r.likelyBeside(ctx, subjects)...)
	if r.cfg.take != nil { // who wrote an edit is asked, too, which takes commits that only its history names
		r.read.FetchEdits(ctx, wants)
		_ = observe.SideBySide(ctx, r.read, wants, r.read.RepoOf, func(ctx context.Context, w *decide.Want) error {
			_, err := r.edited(ctx, w, nil) // what fails does so again
			return err
		})
	}
	var mu sync.Mutex
	done := 0
	_, err := observe.Parallel(ctx, r.limit(), todo, func(ctx context.Context, t task) struct{} {
		r.make(ctx, t.subject, t.revision)
		mu.Lock()
		defer mu.Unlock()
		done++
		r.progress(Progress{Stage: "variants", Done: done, Total: len(todo), Item: t.want.Identity.String()})
		return struct{}{}
	})
	return err
}

func (s *subject) job(o *decide.Outcome) build.Job {
	return build.Job{Question: o.Question, Repo: s.repo, Upstream: s.up, Wires: s.wires}
}

func (r *run) activation() decide.Activation {
	return decide.Activation{
		Policies: r.snapshot.Policies, Unread: len(r.cfg.Fleet.Problems) > 0, Unrendered: r.cfg.Renderer == nil,
	}
}

func (r *run) make(ctx context.Context, s *subject, v *revision) {
	o := &v.outcome
	b := o.Intent.(decide.Build)
	job := s.job(o)
	job.Stage = r.stage(s.repo.Git)
	job.Crowded = crowded(s.want)
	job.Blame = r.cfg.take
	job.Build, job.Keep, job.Prove = b, s.want.Read, r.snapshot.Policies.Of(s.want.Identity).Automatic
	v.made = r.builder.Make(ctx, job)
	m := v.made
	o.Attention = m.Attention
	o.Tried, o.Err, o.Same, o.Conflicts, o.Unmet, o.Unproved, o.Ref = true, m.Err, m.Same, len(m.Conflicts), m.Unmet, m.Unproved, m.Ref
	o.Back, o.Furnished = m.Back, m.Furnished
	o.Failure, o.At, o.Anyway = m.Failure, m.At, m.Err != nil && m.Ref != ""
	o.Restless = m.Restless
	if job.Prove {
		o.Unproved = cmp.Or(decide.NotValid(decide.Invalid(m.Findings)), o.Unproved)
	}
	if o.From == nil { // the inputs stand in what was built, and nothing else is compared with them
		o.Parts = decide.Parts{}
	}
	o.Warnings = append(o.Warnings, m.Warnings...)
	if m.Same && (o.EditedOpen() || o.Proven || o.Own) { // else it is proved first
		state(r.Engine, s.repo, s.pkg.Path, o.From.Ref.Commit, o.InputsKey())
		o.Gave = true
	}
	if m.Same && r.cfg.Memo != nil && b.Key != "" {
		r.cfg.Memo.Put(b.Key)
	}
}

// content is a wanted package as it will be: as built in this run, or as it is
// there.
func (r *run) content(ctx context.Context, w *decide.Want) (*krm.Package, error) {
	r.mu.Lock()
	s := r.subjects[w]
	r.mu.Unlock()
	if s == nil {
		return nil, &wiring.WaitError{Object: "package " + w.Ref, Field: "its outputs"}
	}
	if s.err != nil {
		return nil, fmt.Errorf("that package failed: %w", s.err)
	}
	v := s.revisions[0]
	if rule, ok := v.outcome.Intent.(decide.Rule); ok && rule.Err != nil {
		return nil, fmt.Errorf("that package failed: %w", rule.Err)
	}
	if v.made != nil && v.made.Err != nil {
		return nil, fmt.Errorf("that package failed: %w", v.made.Err)
	}
	if v.made != nil && v.made.After != nil {
		return v.made.After, nil
	}
	if v.outcome.From == nil { // held, or discarded, before there was any
		return nil, &wiring.WaitError{Object: "package " + w.Ref, Field: "its outputs"}
	}
	_, pkg, err := s.repo.ReadPackage(ctx, v.outcome.From.Ref.Commit, s.pkg.Path)
	return pkg, err
}

// only restricts wanted packages to those that Config.Only names, and what they
// need.
func (e *Engine) only(all []*decide.Want) ([]*decide.Want, error) {
	sel := e.cfg.Only
	if sel.Since = (time.Time{}); sel.All() {
		return all, nil
	}
	out, missing := decide.Meant(sel, all, e.selectable)
	if e.cfg.lenient {
		return decide.Needed(out, all), nil
	}
	if err := unknown(missing, all); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w %s%s", ErrNoneSuch, sel, labelsThere(sel, all, e.selectable))
	}
	return decide.Needed(out, all), nil
}

// labelsThere is which labels packages have, where a selection asks for others.
func labelsThere(sel decide.Selection, all []*decide.Want, of func(*decide.Want) decide.Selectable) string {
	if sel.Labels == nil {
		return ""
	}
	there := map[string]bool{}
	for _, w := range all {
		for key, value := range of(w).Labels {
			there[key+"="+value] = true
		}
	}
	if len(there) == 0 {
		return ": none has a label"
	}
	return ": there are the labels " + strings.Join(decide.Limit(slices.Sorted(maps.Keys(there)), 9), ", ")
}

// called are the wanted packages that names mean. A name that means none is an
// error.
func called(all []*decide.Want, names []string) ([]*decide.Want, error) {
	out, missing := decide.Meant(decide.Selection{Names: names}, all, func(w *decide.Want) decide.Selectable {
		return decide.Selectable{Names: w.Names}
	})
	return out, unknown(missing, all)
}

// unknown says of names that they mean none of all packages.
func unknown(names []string, all []*decide.Want) error {
	if len(names) == 0 {
		return nil
	}
	var there []string
	for _, w := range all {
		there = append(there, w.Names()...)
	}
	other := "give the name of a variant, repository/package, a set, a repository, a target or a package"
	return fmt.Errorf("nothing is called %q: %s", names[0], decide.Hint(names[0], there, other))
}

// ErrNoneSuch says that a selection means nothing.
var ErrNoneSuch = errors.New("there is no package")

func (e *Engine) selectable(w *decide.Want) decide.Selectable {
	s := decide.Selectable{Names: w.Names, Labels: w.Labels()}
	if repo := e.read.Repo(w.Namespace, w.Repository); repo != nil {
		s.Labels = decide.LabelsOf(repo.Labels, s.Labels)
	}
	return s
}

// moved leaves out what has not moved since a time: what waits for a run moves now.
func (p *Plan) moved(since time.Time) {
	p.Items = slices.DeleteFunc(p.Items, func(i *Item) bool {
		when := i.When
		switch {
		case i.change != nil && i.change.Commit != nil:
			when = i.change.Commit.When
		case i.Action.Pending(), i.Err != nil:
			when = i.Since
		}
		return !when.IsZero() && when.Before(since)
	})
}

// invoke marks what is to be rendered again though nothing that goes into it
// has changed: the variants named, and what they need where they manage that.
func (e *Engine) invoke(all []*decide.Want) error {
	for _, w := range all {
		w.Rehydrate, w.Invoked = e.cfg.Rehydrate, e.cfg.invokeAll
	}
	for _, again := range []struct {
		names []string
		mark  func(*decide.Want)
	}{
		{e.cfg.Recreate, func(w *decide.Want) { w.Recreate = true }},
		{e.cfg.Retry, func(w *decide.Want) { w.Retry = true }},
		{e.cfg.keep, func(w *decide.Want) { w.KeepEdits = true }},
	} {
		if len(again.names) == 0 {
			continue
		}
		list, err := called(all, again.names)
		if err != nil {
			return err
		}
		for _, w := range list {
			again.mark(w)
		}
	}
	if len(e.cfg.Invoke) == 0 {
		return nil
	}
	list, err := called(all, e.cfg.Invoke)
	if e.cfg.lenient {
		err = nil
	}
	for at := 0; at < len(list); at++ {
		w := list[at]
		w.Invoked = true
		for _, d := range w.Managed() {
			if !d.Invoked && !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	return err
}

// trimmed are revisions of a wanted package that would go.
type trimmed struct {
	*subject
	item *Item
}

// rule is what came of a subject's revisions.
func (r *run) rule(s *subject) []decide.Ruling {
	var outcomes []*decide.Outcome
	for _, v := range s.revisions {
		outcomes = append(outcomes, &v.outcome)
	}
	return r.activation().Rule(outcomes)
}

// fails says whether something of a subject failed.
func (s *subject) fails(rulings []decide.Ruling) bool {
	return s.err != nil || slices.ContainsFunc(rulings, func(r decide.Ruling) bool { return r.Err != nil })
}

// unmade has locks name what could not be made, and what needs that, as it stands, and
// returns those that do.
func (r *run) unmade(subjects []*subject, locks []*decide.Want) (changed []*decide.Want, err error) {
	failed := map[decide.Identity]bool{}
	for _, s := range subjects {
		if s.fails(r.rule(s)) {
			failed[s.want.Identity] = true
		}
	}
	if len(failed) == 0 {
		return nil, nil
	}
	for _, w := range locks {
		lock, err := w.Lock().Without(w.Target, func(ref string) bool { return w.Target.Wants[ref] != nil && failed[w.Target.Wants[ref].Identity] })
		if err != nil {
			return nil, err
		}
		if lock != w.Lock() {
			w.Content, changed = lock, append(changed, w)
		}
	}
	return changed, nil
}

// relock makes locks anew that are not of what could be made.
func (r *run) relock(ctx context.Context, subjects []*subject) ([]*subject, error) {
	var locks []*decide.Want
	for _, s := range subjects {
		if s.want.Lock() != nil && s.err == nil {
			locks = append(locks, s.want)
		}
	}
	again, err := r.unmade(subjects, locks)
	if err != nil || len(again) == 0 {
		return subjects, err
	}
	made, err := r.look(ctx, again)
	if err == nil && r.building {
		err = r.build(ctx, made)
	}
	return append(slices.DeleteFunc(subjects, func(s *subject) bool { return slices.Contains(again, s.want) }), made...), err
}

// settle turns what came of subjects into the plan's items. What is to be trimmed
// is returned: whether it may go is for remove to find out.
func (r *run) settle(ctx context.Context, plan *Plan, subjects []*subject) (trims []trimmed) {
	rulings := make([][]decide.Ruling, len(subjects))
	failed := map[decide.Identity]bool{}
	for k, s := range subjects {
		rulings[k] = r.rule(s)
		failed[s.want.Identity] = s.fails(rulings[k])
	}
	for k, s := range subjects {
		first := len(plan.Items)
		if s.err != nil {
			item := r.row(s, nil).fail(s.err)
			if !r.building && s.pkg != nil && s.pkg.Open() != nil {
				item.Proof = &decide.Proof{State: decide.Failing, Why: s.err.Error()}
			}
			plan.Items = append(plan.Items, item)
			// What the fleet says of it is known all the same, but where another may say it.
			if item := r.restate(s, nil); item != nil && s.want.Err == nil {
				plan.Items = append(plan.Items, item)
			}
			continue
		}
		for j, v := range s.revisions {
			plan.Items = append(plan.Items, r.drafted(s, v, decide.HeldLock(&v.outcome, rulings[k][j])))
		}
		if item := r.restate(s, plan.Items[first:]); item != nil {
			plan.Items = append(plan.Items, item)
		}
		for _, b := range s.beside {
			if tag, ok := b.Decision.(decide.Tag); ok && tag.Adopts && failed[s.want.Identity] {
				for _, i := range plan.Items[first:] {
					if i.Ref == tag.Ref { // it is not made
						i.Phase, i.Revision, i.Ref, i.Commit = "", 0, "", ""
					}
				}
				continue
			}
			item := r.row(s, b.revision)
			item.rule(b.Ruling)
			says := s.want.Said()
			item.change = &publish.Change{Repo: s.repo, Package: b.pkg, Decision: b.Decision, Says: &says}
			plan.Items = append(plan.Items, item)
		}
		if len(s.trim) > 0 {
			item := &Item{Identity: s.want.Identity, Name: s.want.Name, Set: s.want.Set, Path: s.pkg.Path, want: s.want}
			item.rule(decide.Trimmed(s.trim, r.snapshot.Policies.Of(s.want.Identity).History))
			item.change = &publish.Change{Repo: s.repo, Package: s.pkg, Decision: item.decision}
			trims = append(trims, trimmed{s, item})
		}
		if !s.want.Read { // else who decides again may read what it gives
			s.revisions = nil
		}
	}
	return trims
}

// govern withholds what would be published without what it needs, or would take from
// others what they need.
func (r *run) govern(ctx context.Context, items []*Item) {
	var list []decide.Coming
	var of []*Item
	var units []decide.Unit
	for _, i := range items {
		if i.want == nil {
			continue
		}
		c := decide.Comes(i.want, decide.Ruling{Decision: i.decision, Err: i.Err, Publish: i.publish}, i.Phase.Open())
		if t := i.want.Target; c.Goes && t != nil && i.want.Upstream() != nil {
			if u := (decide.Unit{Repo: t.Repo, Dir: t.Directory}); !slices.Contains(units, u) {
				units = append(units, u)
			}
			if up := r.read.UpstreamOf(ctx, i.want); up.Err == nil && up.Offer.Err == nil {
				c.Offer = up.Offer.Package
			}
		}
		list, of = append(list, c), append(of, i)
	}
	for n, why := range decide.Without(list, r.read.ReadStanding(ctx, units)) {
		switch i := of[n]; {
		case why == "":
		case list[n].Goes:
			i.withhold(why)
		case i.decision == decide.Nothing{}:
			i.rule(decide.Ruling{Decision: decide.Wait{}, Reasons: []string{why}})
		case !slices.Contains(i.Warnings, why): // it was said when this was planned
			i.Warnings = append(i.Warnings, why)
		}
	}
}

// await says of what is open what it waits for, where that is not told by building it.
func (r *run) await(items []*Item) {
	var wants []*decide.Want
	var proofs []*decide.Proof
	for _, i := range items {
		if i.want != nil && i.Proof != nil {
			wants, proofs = append(wants, i.want), append(proofs, i.Proof)
		}
	}
	for n, why := range decide.Awaits(wants, proofs) {
		switch p := proofs[n]; {
		case why == "":
		case p.Why == "":
			p.Why = why
		default:
			p.Why += "; " + why
		}
	}
}

// withhold leaves unpublished what would have been.
func (i *Item) withhold(why string) {
	i.rule(decide.Ruling{Decision: i.decision, Reasons: i.Reasons}.Withheld(why))
}

// restate records what the fleet says of a package that is there: with what this
// run does about it anyway, or by an item of its own; nil for none.
func (r *run) restate(s *subject, made []*Item) *Item {
	if s.pkg == nil {
		return nil
	}
	var draft *decide.Draft
	for _, i := range made {
		if d, ok := i.decision.(decide.Draft); ok && (draft == nil || d.New()) {
			draft = &d
		}
	}
	ruling, ok := decide.Restated(r.manager, s.want, s.repo.Repository, s.pkg, draft)
	if !ok {
		return nil
	}
	said := ruling.Decision.(decide.Record).Entry
	change := &publish.Change{Repo: s.repo, Package: s.pkg, Decision: ruling.Decision, Said: &said}
	for _, i := range made {
		switch {
		case i.change != nil:
			i.change.Said = &said
		case i.decision == decide.Nothing{}:
			i.decision, i.Action, i.change = ruling.Decision, decide.ActionRecord, change
		default:
			continue
		}
		i.Reasons = append(i.Reasons[:len(i.Reasons):len(i.Reasons)], ruling.Reasons...)
		return nil
	}
	item := r.row(s, cmp.Or(s.pkg.Open(), s.pkg.Latest))
	item.rule(ruling)
	item.change = change
	return item
}

// row is the item of a subject, about one revision of it or none.
func (r *run) row(s *subject, at *decide.Revision) *Item {
	w := s.want
	item := &Item{
		Identity: w.Identity, Name: w.Name, Set: w.Set, Variant: w.Variant(), Owner: w.MadeFor, Lock: w.Lock() != nil, want: w,
		Action: decide.ActionNone, decision: decide.Nothing{},
	}
	if s.pkg != nil && s.repo != nil {
		item.Path = s.pkg.Path
		item.Held, item.Rollout = decide.HeldBy(s.pkg), s.pkg.Rollout
		item.downstreams = s.pkg.Downstreams(func(h *decide.Revision) bool { return r.manager.Signed(h.Owner, w.Namespace) })
	}
	if s.up != nil && s.up.Err == nil && s.err == nil {
		item.Upstream = s.up.String()
	}
	item.at(at)
	item.Invalid = at.Invalid()
	return item
}

// drafted is the item of one revision that was worked on.
func (r *run) drafted(s *subject, v *revision, ruling decide.Ruling) *Item {
	item := r.row(s, v.outcome.From)
	item.rule(ruling)
	if _, build := v.outcome.Intent.(decide.Build); build && v.outcome.From == nil && item.Err == nil {
		item.Phase = lifecycle.Draft
	}
	if !r.building {
		item.Proof = cmp.Or(v.unheld, v.outcome.Proof())
	}
	if m := v.made; m != nil && m.Err == nil {
		item.Conditions, item.Conflicts, item.Attention = m.Conditions, m.Conflicts, m.Attention
		item.Findings, item.Invalid = m.Findings, decide.Invalid(m.Findings)
		item.taken = m.Blamed
		if r.cfg.Packages && item.Action != decide.ActionWait {
			item.Base, item.Before, item.After, item.Machine = m.Base, m.Before, m.After, m.Machine
		}
	}
	if d, ok := item.decision.(decide.Discard); ok {
		item.change = &publish.Change{Repo: s.repo, Package: s.pkg, Decision: d}
	}
	if built, tell := v.outcome.Remember(); tell {
		owner := r.manager.Sign(s.want.Namespace, s.want.Name)
		item.change = &publish.Change{Repo: s.repo, Package: s.pkg, Decision: item.decision, Built: publish.BuiltEdit(s.pkg.Path, v.outcome.Upon(), built, owner)}
	}
	if d, ok := item.decision.(decide.Draft); ok && v.made != nil {
		m := v.made
		item.Workspace, item.Phase, item.Revision, item.Ref = m.Workspace, lifecycle.Draft, 0, m.Ref
		b, _ := v.outcome.Intent.(decide.Build)
		item.change = r.draftChange(s, d, b, m)
		if m.Err == nil {
			item.states = v.outcome.States(m.Hydrated != m.Tree, slices.Contains(m.Attention, decide.BaseUnknown))
		}
	}
	return item
}

// draftChange puts what was made on a Draft's branch. The record notes the build of
// one that is there though it failed, and of one of which it knows no more.
func (r *run) draftChange(s *subject, d decide.Draft, b decide.Build, m *build.Made) *publish.Change {
	c := &publish.Change{Repo: s.repo, Package: s.pkg, Decision: d}
	if r.cfg.Preview {
		c.Commit = r.uncommitted(m.When)
	} else {
		c.Commit = &publish.Commit{
			Tree: m.Tree, Hydrated: m.Hydrated, Root: m.Root, Parents: m.Parents, When: m.When, Message: m.Message, Entry: made(s.want, m),
		}
	}
	if m.Err != nil || m.Hydrated.IsZero() && s.want.Lock() == nil {
		built := &decide.Built{Inputs: b.Inputs, Restless: m.Restless, Failure: m.Failure, At: m.At}
		c.Built = publish.BuiltEdit(s.pkg.Path, &decide.Revision{Workspace: m.Workspace}, built, r.manager.Sign(s.want.Namespace, s.want.Name))
	}
	return c
}

// uncommitted is a commit that nobody makes: all that is asked of it is its time.
func (r *run) uncommitted(when time.Time) *publish.Commit {
	if r.whens == nil {
		r.whens = map[time.Time]*publish.Commit{}
	}
	if r.whens[when] == nil {
		r.whens[when] = &publish.Commit{When: when}
	}
	return r.whens[when]
}

// made is what the record says of a package that this program makes.
func made(w *decide.Want, m *build.Made) record.Entry {
	e := w.Said()
	e.Restless = m.Restless
	if w.Variant() != nil {
		e.Hydration = decide.Hydration
	}
	return e
}

// remove plans what becomes of this manager's packages whose variant has gone,
// and of revisions beyond a limit, unless something forbids deletions.
func (r *run) remove(ctx context.Context, plan *Plan, trims []trimmed) {
	upstreams := r.read.UpstreamPlaces(r.snapshot.Wants)
	trims = slices.DeleteFunc(trims, func(t trimmed) bool { return upstreams[t.repo.Place(t.pkg.Path)] })
	orphans := r.read.Orphans(ctx, r.snapshot, upstreams)
	if len(orphans)+len(trims) == 0 {
		return
	}
	nowhere := 0
	for _, w := range r.snapshot.Wants {
		if r.read.Repo(w.Namespace, w.Repository) == nil {
			nowhere++
		}
	}
	p := decide.Pruning{
		Prune: r.cfg.Prune, MaxDelete: r.cfg.MaxDelete,
		Blocked: decide.Blocks(!r.cfg.Only.All(), len(r.snapshot.Problems), nowhere, r.snapshot.Sizes()),
	}
	var removed []*decide.Removed
	for _, o := range orphans {
		o.Doubt = strings.Join(p.Blocked, "; ")
		for _, m := range decide.Remove(o) {
			removed = append(removed, &decide.Removed{Orphan: o, Removal: m})
		}
	}
	if p.Allowed() && (len(trims) > 0 || slices.ContainsFunc(removed, func(m *decide.Removed) bool { return m.Goes() })) {
		locked, err := r.read.ReadUpstreamLocks(ctx)
		if err != nil {
			p.Blocked = append(p.Blocked, err.Error())
		}
		isLocked := func(at decide.Place) bool { return locked[at] }
		decide.KeepLocked(removed, isLocked)
		trims = slices.DeleteFunc(trims, func(t trimmed) bool {
			return isLocked(decide.Place{Git: decide.PlainAddress(t.repo.Repository.Git), Name: t.pkg.Path})
		})
	}
	plan.PruneBlocked = p.Blocked
	plan.Braked = p.Settle(removed, r.snapshot.Wants, r.snapshot.Sizes())
	plan.Warnings = append(plan.Warnings, plan.Braked...)
	if p.Allowed() {
		for _, t := range trims {
			plan.Items = append(plan.Items, t.item)
		}
	}
	for _, m := range decide.Moving(removed) {
		if !r.mine(m.Identity) { // it counts, and its own shard moves it
			continue
		}
		plan.Items = append(plan.Items, r.removal(ctx, m))
	}
}

// nameless warns, before anything is there, of making the first packages of a fleet
// that has no name.
func (r *run) nameless(items []*Item) []string {
	first := func(i *Item) bool { return i.Action == decide.ActionCreate }
	if !r.cfg.Unnamed || !r.building || !slices.ContainsFunc(items, first) || r.read.Owns() {
		return nil
	}
	return []string{fmt.Sprintf("this fleet has no name: its packages are signed %q, as those of any other without one, which takes them for its own, and nothing can be pruned: before the first apply put a Kptfile with metadata.name into the management directory, or give --manager NAME each time", r.manager)}
}

// removal is the item of one revision that nothing wants.
func (r *run) removal(ctx context.Context, m *decide.Removed) *Item {
	o := m.Orphan
	repo := r.read.Repo(o.Namespace, o.Repository)
	item := &Item{Identity: o.Identity, Name: o.Name, Set: o.Set, Owner: o.MadeFor, Path: o.Package.Path, orphan: o}
	item.downstreams = o.Package.Downstreams(func(h *decide.Revision) bool { return r.manager.Signed(h.Owner, o.Namespace) })
	item.at(m.Revision)
	item.rule(m.Ruling)
	if !item.Action.Pending() {
		item.Told = m.Revision == nil && len(item.Reasons) > 0
		return item
	}
	item.change = &publish.Change{Repo: repo, Package: o.Package, Decision: item.decision, Unsaid: o.Unsaid(m.Removal)}
	release, ok := item.decision.(decide.Release)
	if !ok {
		return item
	}
	if said, published := release.Said(o.Package.Path); published {
		item.change.Said = &said
		return item
	}
	before, after, err := build.Released(ctx, repo, release.Revision, o.Package.Path)
	if err != nil {
		return item.fail(err)
	}
	if r.cfg.Packages {
		item.Before, item.After = before, after
	}
	if stage := r.stage(repo.Git); stage != nil {
		item.change.Commit, err = releaseCommit(ctx, stage, repo, release.Revision, o.Package.Path, after)
	}
	if err != nil {
		return item.fail(err)
	}
	return item
}

func releaseCommit(ctx context.Context, stage *gitrepo.Stage, repo *observe.Repo, h *decide.Revision, path string, after *krm.Package) (*publish.Commit, error) {
	files, err := after.Files()
	if err != nil {
		return nil, err
	}
	tree, err := stage.PackageTree(files)
	if err != nil {
		return nil, err
	}
	return publish.ReleaseCommit(ctx, repo, h, path, decide.Hash(tree))
}
