package resolver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver/internal/solve"
)

const (
	// defaultBudget is the work of a resolution, in steps: some seconds at the worst. Whole ecosystems take a hundredth;
	// what needs more was made to.
	defaultBudget = 150_000_000
	// bindSteps are those that it takes to find out how one requirement can be met, fitSteps those for each version that
	// may meet it, checkSteps those that it takes to look at one in a finished assignment.
	bindSteps, fitSteps, checkSteps = 50, 20, 10
)

// newWork is the work of one question.
func newWork(ctx context.Context, in Input) *solve.Work {
	return solve.NewWork(ctx, int64(cmp.Or(in.Budget, defaultBudget)))
}

// Resolve answers what is to be installed, reused and changed. The error is a [*ConflictError] or a
// [*NeedsInputError] where there is no answer, and says why, or the context's, which ends the search.
func Resolve(ctx context.Context, in Input) (*Resolution, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if in.Catalog == nil {
		in.Catalog = emptyCatalog()
	}
	w := newWork(ctx, in)
	u, found, err := search(in, w)
	if err != nil {
		return nil, err
	}
	r := &builder{u: u, a: found.Values, byID: map[int32]*Instance{}, asks: map[*Instance][]asker{}}
	out := r.build()
	out.Preferred = found.Preferred
	out.Effort = Effort{found.Stats.Decisions, found.Stats.Conflicts, found.Stats.Searches, w.Steps()}
	if err := verifyLock(in.Lock, out); err != nil {
		return nil, err
	}
	if err := u.invalid(out.unapplied()); err != nil {
		return nil, err
	}
	return out, nil
}

// maxSearches bounds the searches of a resolution, of which each takes packages for other scopes.
const maxSearches = 32

// search finds an answer in which the scope of each package is that of the versions that were chosen. It begins with
// the laxest scopes. Where an answer has a version of a stricter one, an answer with that scope comes first, and then one
// without the versions that have it: so every answer is found, whatever the scopes. Where there is none, the error is
// that of the stricter scopes.
func search(in Input, w *solve.Work) (*universe, solve.Result, error) {
	left := maxSearches
	var try func(scopes map[string]Scope, without map[string]bool) (*universe, solve.Result, error)
	try = func(scopes map[string]Scope, without map[string]bool) (*universe, solve.Result, error) {
		left--
		u := universeOf(in, maps.Clone(scopes))
		u.work, u.relaxed = w, without
		if err := u.unanswerable(); err != nil {
			return nil, solve.Result{}, err
		}
		s := solve.New(u)
		found, ok := s.Solve(solve.WithWork(w))
		if !ok {
			return nil, solve.Result{}, u.refuse(s, found)
		}
		s.Release()
		if err := w.Err(); err != nil { // else the answer would depend on when the context ended
			return nil, solve.Result{}, err
		}
		other := u.mistaken(found.Values)
		if len(other) == 0 {
			return u, found, nil
		}
		pkg := slices.Min(slices.Collect(maps.Keys(other)))
		strict := maps.Clone(scopes)
		strict[pkg] = other[pkg]
		u, found, err := try(strict, without)
		var conflict *ConflictError
		if err == nil || left <= 0 || w.Err() != nil || !errors.As(err, &conflict) || conflict.Kind == SearchLimit {
			return u, found, err
		}
		lax := maps.Clone(without)
		if lax == nil {
			lax = map[string]bool{}
		}
		lax[pkg] = true
		if u, found, more := try(scopes, lax); more == nil {
			return u, found, nil
		}
		return nil, solve.Result{}, err
	}
	return try(map[string]Scope{}, nil)
}

// unanswerable are mistakes of an input that need no search.
func (u *universe) unanswerable() error {
	for _, w := range u.wants {
		if w.Package == "" && u.installation(w.Namespace, w.name()) == nil {
			return &ConflictError{Kind: MissingInstallation, Summary: fmt.Sprintf("there is no installation %s to change, and no package is named", w.name())}
		}
	}
	return u.invalid(u.contradictions())
}

// builder makes a resolution of an assignment.
type builder struct {
	u    *universe
	a    solve.Assignment
	byID map[int32]*Instance
	out  *Resolution
	// asks are the requirements that lead to an instance, in the order of the walk.
	asks map[*Instance][]asker
}

// asker is one requirement of an instance.
type asker struct {
	parent *Instance
	alias  string
}

func (b *builder) build() *Resolution {
	b.out = &Resolution{RequiredOutputs: map[string][]string{}, Unmapped: map[string]Inputs{}, Asked: map[string]Inputs{}}
	order := b.u.reachable(b.a, true)
	for _, s := range order[1:] {
		i := b.instance(s)
		b.byID[s.id] = i
		b.out.Instances = append(b.out.Instances, i)
	}
	b.own(order)
	b.share()
	b.name()
	for _, s := range order[1:] {
		b.bind(s)
	}
	b.wire()
	b.changes()
	b.create()
	b.inputs()
	b.out.IgnoredTags = b.u.cat.IgnoredTags()
	b.plan(order)
	b.out.Disputes = b.out.disputes()
	return b.out
}

// instance is a slot's instance, not yet bound.
func (b *builder) instance(s *slot) *Instance {
	c := s.cands[b.a.Value(s.id)-1]
	i := &Instance{Package: s.pkg, Version: c.text, Namespace: s.namespace, Share: s.share, Labels: s.labels, slot: s, manifest: c.v, scope: b.u.scope(s.pkg)}
	if c.v != nil {
		i.Tag, i.Source, i.Digest = c.v.Tag, c.v.Source, c.v.Digest
	}
	i.locked = locks(lockedIn(b.u.in.Lock, s.pkg, s.namespace), c.text, c.digest)
	if s.inst != nil {
		i.Existing, i.From, i.Name = true, s.inst.Version, s.inst.Name
		i.Owner, i.ManagedBy = s.inst.Owner, s.inst.ManagedBy
	}
	if w := s.want; w != nil {
		i.Requested, i.Direct, i.Parameters, i.root = true, true, w.Parameters, w
		if s.inst == nil {
			i.Name = w.name()
		}
	}
	return i
}

// own gives each new instance its owner: the first that needs it, in the order of the walk.
func (b *builder) own(order []*slot) {
	for _, s := range order[1:] {
		parent := b.byID[s.id]
		for _, e := range b.u.edges(s, b.a) {
			i := b.byID[e.to.id]
			if parent.Requested {
				i.Direct = true
			}
			if e.info.req != nil {
				b.asks[i] = append(b.asks[i], asker{parent, e.info.req.Alias})
			}
			if i.Existing || i.Requested || i.Alias != "" || e.info.req == nil {
				continue
			}
			i.Alias = e.info.req.Alias
			i.root, i.maker = parent.root, parent
			if e.info.req.Lifecycle.Managed {
				i.ManagedBy = parent.Name
			}
		}
	}
}

// share spells out the mode of new instances.
func (b *builder) share() {
	for _, i := range b.out.Instances {
		if !i.Existing && i.Share.Mode == "" {
			i.Share.Mode = ModeGroup
		}
	}
}

// nameAsLocked gives new instances the names that a lock has for them: those of the same package that were made
// for one of the same needs. Parents are named first.
func (b *builder) nameAsLocked(l *Lock, taken map[string]bool, alike bool) {
	for again := true; again; {
		again = false
		for _, i := range b.out.Instances {
			if i.Name != "" {
				continue
			}
			for n := range l.Packages {
				p := &l.Packages[n]
				if lockedPackage(p) != i.Package || p.Namespace != i.Namespace || taken[lockedRef(p)] || alike && !i.sharedAs(p) {
					continue
				}
				if slices.ContainsFunc(b.asks[i], func(a asker) bool {
					return a.parent.Name != "" && slices.Contains(p.NeededBy, v1alpha1.LockedEdge{Alias: a.alias, Namespace: a.parent.Namespace, Name: a.parent.Name})
				}) {
					i.Name, again = p.Name, true
					taken[i.Ref()] = true
					break
				}
			}
		}
	}
}

// nameAsGroup gives new instances of a group the names that the lock has in it, though nobody is left there: it is made
// for the group, whoever comes and goes. Nobody else gets them.
func (b *builder) nameAsGroup(apart map[string]*LockedPackage, taken map[string]bool) {
	for _, ref := range sortedKeys(apart) {
		p := apart[ref]
		if at := slices.IndexFunc(b.out.Instances, func(i *Instance) bool {
			return i.Name == "" && i.Package == lockedPackage(p) && i.Namespace == p.Namespace && p.Share.Mode != ModeNone && i.sharedAs(p)
		}); at >= 0 && !taken[ref] {
			b.out.Instances[at].Name, taken[ref] = p.Name, true
		}
	}
}

// name gives new instances the name of their package, or, where that is taken, one made of their parent's
// and their alias.
func (b *builder) name() {
	taken := map[string]bool{}
	for _, i := range b.u.insts {
		taken[i.Ref()] = true
	}
	for _, i := range b.out.Instances {
		if i.Name != "" {
			taken[i.Ref()] = true
		}
	}
	apart := map[string]*LockedPackage{}        // what the lock has that is not for all
	for _, alike := range []bool{true, false} { // who changes its group takes nothing from who does not
		for _, l := range []*Lock{b.u.in.Lock, b.u.in.Placed} {
			if l == nil {
				continue
			}
			b.nameAsLocked(l, taken, alike)
			for n := range l.Packages {
				if p := &l.Packages[n]; p.Share != nil {
					apart[lockedRef(p)] = p
				}
			}
		}
	}
	b.nameAsGroup(apart, taken)
	for _, i := range b.out.Instances {
		if i.Name != "" {
			continue
		}
		base := i.maker.Name + "-" + i.Alias
		for n, try := range []string{baseName(i.Package), base} {
			if i.Name = try; !taken[i.Ref()] && apart[i.Ref()] == nil || n == 1 {
				break
			}
		}
		for n := 2; taken[i.Ref()] || apart[i.Ref()] != nil; n++ {
			i.Name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[i.Ref()] = true
	}
	b.keepMakers()
	for _, i := range b.out.Instances {
		if !i.Existing && !i.Requested {
			i.Owner = i.maker.Name
			if i.ManagedBy != "" {
				i.ManagedBy = i.Owner
			}
		}
	}
}

// keepMakers leaves a shared instance with whom it was made for, by the lock, as long as that one needs it: who comes
// later changes nothing about it.
func (b *builder) keepMakers() {
	for _, i := range b.out.Instances {
		if i.Existing || i.Requested {
			continue
		}
		for _, l := range []*Lock{b.u.in.Lock, b.u.in.Placed} {
			p := lockedAs(l, i)
			if p == nil {
				continue
			}
			if at := slices.IndexFunc(b.asks[i], func(a asker) bool { return a.parent.Ref() == p.Owner }); at >= 0 {
				a := b.asks[i][at]
				i.Alias, i.root, i.maker = a.alias, a.parent.root, a.parent
				break
			}
		}
	}
}

func lockedAs(l *Lock, i *Instance) *LockedPackage {
	if l == nil {
		return nil
	}
	for n := range l.Packages {
		if p := &l.Packages[n]; lockedRef(p) == i.Ref() && lockedPackage(p) == i.Package {
			return p
		}
	}
	return nil
}

// bind records what each requirement of an instance got.
func (b *builder) bind(s *slot) {
	i := b.byID[s.id]
	if i.manifest != nil && s.want != nil && s.want.SkipDependencies {
		for _, r := range i.manifest.Requires {
			b.out.SkippedDependencies = append(b.out.SkippedDependencies, r.Alias)
		}
		return
	}
	for _, in := range b.u.infosOf(s, b.a.Value(s.id)) {
		switch {
		case in.req == nil:
		case in.skipped != "":
			b.out.Skipped = append(b.out.Skipped, Skipped{i.Name, in.req.Alias, in.skipped})
		default:
			b.bindInfo(i, in)
		}
	}
}

func (b *builder) bindInfo(i *Instance, in info) {
	o := in.static
	if o == nil {
		c := b.u.slots[in.need.Slot]
		o = &c.options[b.a.Value(c.id)-1]
	}
	if o.skip {
		b.out.Skipped = append(b.out.Skipped, Skipped{i.Name, in.req.Alias, "it cannot be had together with the rest"})
		return
	}
	bd := Binding{Alias: in.req.Alias, Alternative: o.alt, Needs: in.req.what(), Range: in.req.Version}
	if o.req != nil {
		bd.GVK = o.req.GVK
	}
	if o.slot < 0 {
		bd.Use = UsePlatform
		if o.api {
			bd.Use = UseAPI
		}
		i.Bindings = append(i.Bindings, bd)
		return
	}
	d := b.byID[o.slot]
	bd.Use, bd.Package, bd.Version, bd.Tag, bd.Installation, bd.Namespace = UseNew, d.Package, d.Version, d.Tag, d.Name, d.Namespace
	bd.CreatedBy = d.Owner
	bd.Created = !d.Existing && !d.Requested && d.Owner == i.Name
	outputs := []Field(nil)
	if d.manifest != nil {
		outputs = d.manifest.Outputs
	}
	if d.Existing {
		bd.Use = UseExisting
		if d.From == d.Version {
			outputs = b.u.outputs(d.slot.inst)
		}
	}
	if m := in.k.outputMap(outputs); len(m) > 0 {
		bd.OutputMap = m
	}
	if uses := slices.Sorted(slices.Values(append(slices.Clone(in.k.uses), mapKeys(in.k, bd.OutputMap)...))); len(uses) > 0 && i.Requested {
		b.out.RequiredOutputs[in.req.Alias] = slices.Compact(uses)
	}
	if bd.Use == UseNew && o.fresh {
		bd.passed = b.u.passed(in.req, in.k, d.Package, d.Namespace, d.slot.share.Group)
	}
	i.Bindings = append(i.Bindings, bd)
}

// passed returns why installations are not used in place of a new instance of a package: those of the package, and
// those that no catalogue knows where any package may meet the requirement.
func (u *universe) passed(r *Requirement, k *contract, pkg, ns, group string) (out []string) {
	if r.Share.Mode == ModeNone {
		return nil
	}
	for _, i := range u.insts {
		same := i.Package == pkg
		if i.Namespace != ns && i.Namespace != "" || !same && (!i.Unmanaged || !k.byInterface()) {
			continue
		}
		what := at(i.Package, i.Version)
		if i.Unversioned {
			what = i.Package
		}
		if why := unfit(u, i, r, k, group, same); why != "" {
			out = append(out, fmt.Sprintf("%s is there as %s, but %s", what, i.Ref(), why))
		}
	}
	return out
}

// unfit returns why an installation cannot meet a requirement, "" if it could.
func unfit(u *universe, i *Installation, r *Requirement, k *contract, group string, same bool) string {
	if i.Mode == ModeNone {
		return "is shared with nobody"
	}
	if i.Group != group {
		return fmt.Sprintf("is shared with group %q, and group %q needs it", i.Group, group)
	}
	for _, name := range sortedKeys(r.Labels) {
		if i.Labels[name] != r.Labels[name] {
			return fmt.Sprintf("has no label %s: %s", name, r.Labels[name])
		}
	}
	v := u.manifest(i)
	if v == nil || !k.offered(v.Provides, u.rs) {
		if id := strings.TrimSpace(k.id + " " + k.versionRange); id != "" {
			return unknownOf(i, v, "does not provide interface "+id, "provide interface "+id, "provides")
		}
	}
	if missing := strings.Join(k.missing(u.outputs(i)), ", "); missing != "" {
		return unknownOf(i, v, "has no "+missing, "have "+missing, "outputs")
	}
	sel, err := u.rs.selection(r.Version)
	switch version, bad := parseVersion(i.Version); {
	case !same || r.Version == "" || err != nil || bad == nil && sel.admits(version, i.Digest, r.Prereleases):
		return ""
	case i.Unversioned:
		return fmt.Sprintf("nothing tells its version, and %s is needed", r.Version)
	}
	return fmt.Sprintf("%s is needed", r.Version)
}

// unknownOf returns that an installation lacks something or, where nothing states it, what to write.
func unknownOf(i *Installation, v *version, lacks, what, field string) string {
	switch {
	case i.Unmanaged && v != nil && v.index < 0:
		return fmt.Sprintf("is not known to %s: if it does, list it in status.%s of Installation %s", what, field, i.Name)
	case v == nil:
		return fmt.Sprintf("is not known to %s: it has no PackageManifest, and no catalogue has that version", what)
	}
	return lacks
}

func mapKeys(k *contract, m map[string]string) []string {
	var out []string
	for _, o := range k.doc.Outputs {
		if _, ok := m[o.Name]; ok {
			out = append(out, o.Name)
		}
	}
	return out
}

// wire lists how values pass between instances.
func (b *builder) wire() {
	for _, p := range b.out.Instances {
		if p.manifest == nil || p.stays() {
			continue
		}
		for n := range p.manifest.Requires {
			r := &p.manifest.Requires[n]
			at := slices.IndexFunc(p.Bindings, func(x Binding) bool { return x.Alias == r.Alias && x.Installation != "" })
			if at < 0 {
				continue
			}
			d := b.out.Find(ref(&p.Bindings[at]))
			b.wireInto(p, d, r)
		}
	}
}

func (b *builder) wireInto(p, d *Instance, r *Requirement) {
	add := func(to *Instance, field, template, from string) {
		into := &b.out.Wiring
		if to == d && d.Existing {
			into = &b.out.made
		}
		*into = append(*into, Wire{To: to.Ref(), Field: field, Template: template, Parent: p.Ref(), From: from})
	}
	if d.manifest != nil {
		// A mapping that the package has no input for is no mistake: it is left out.
		for _, k := range sortedKeys(r.Parameters) {
			if _, ok := match(Field{Name: k}, d.manifest.Parameters); ok {
				add(d, "parameters."+k, r.Parameters[k], "")
			}
		}
		for _, k := range sortedKeys(r.Credentials) {
			if _, ok := match(Field{Name: k}, d.manifest.Credentials); ok {
				add(d, "credentials."+k, r.Credentials[k], "")
			}
		}
	}
	for _, k := range sortedKeys(r.Outputs) {
		add(p, "outputs."+k, r.Outputs[k], d.Ref())
	}
}

// changes lists the installations whose version changes.
func (b *builder) changes() {
	for _, i := range b.out.Instances {
		if p := b.placed(i); !i.Existing && p != nil {
			i.From = p.Version
		}
		if i.From == "" || i.From == i.Version {
			continue
		}
		c := Change{Installation: i.Name, From: i.From, To: i.Version, Kind: "upgrade"}
		from, err := parseVersion(i.From)
		to, err2 := parseVersion(i.Version)
		if err == nil && err2 == nil && to.LessThan(from) {
			c.Kind = "downgrade"
		}
		b.out.Changes = append(b.out.Changes, c)
	}
}

// placed is what an earlier resolution put in place of a new instance, nil for nothing.
func (b *builder) placed(i *Instance) *LockedPackage {
	if b.u.in.Placed == nil {
		return nil
	}
	for n := range b.u.in.Placed.Packages {
		if p := &b.u.in.Placed.Packages[n]; lockedRef(p) == i.Ref() && lockedPackage(p) == i.Package {
			return p
		}
	}
	return nil
}

// create lists what is to be made now.
func (b *builder) create() {
	for _, i := range b.out.Instances {
		if i.Existing {
			continue
		}
		if i.root != nil && strings.EqualFold(i.root.Materialise, "direct") && !i.Direct && !b.next(i) {
			continue
		}
		i.Create = true
		b.out.Creates = append(b.out.Creates, i.Name)
	}
	slices.Sort(b.out.Creates)
}

// next tells whether an indirect dependency is there, or its turn has come: what needs it is in place.
func (b *builder) next(i *Instance) bool {
	return b.placed(i) != nil || slices.ContainsFunc(b.asks[i], func(a asker) bool { return b.placed(a.parent) != nil })
}

// inputs collects what a person has to give: the inputs of what was asked for, and those of new
// dependencies that nothing maps.
func (b *builder) inputs() {
	for _, i := range b.out.Instances {
		if i.Existing || i.manifest == nil {
			continue
		}
		given := map[string]bool{}
		for _, w := range b.out.Wiring {
			if w.To == i.Ref() {
				given[w.Field] = true
			}
		}
		prefix, key := i.Alias+".", i.Alias
		if i.Requested {
			prefix, key = "", "root"
		}
		if i.root != nil {
			for k := range i.root.Parameters {
				if n, ok := strings.CutPrefix(k, prefix); ok {
					given["parameters."+n] = true
				}
			}
			for k := range i.root.Credentials {
				if n, ok := strings.CutPrefix(k, prefix); ok {
					given["credentials."+n] = true
				}
			}
		}
		in := Inputs{open("parameters.", i.manifest.Parameters, given), open("credentials.", i.manifest.Credentials, given)}
		if in.empty() {
			continue
		}
		b.out.Asked[key] = in
		if !i.Requested {
			b.out.Unmapped[key] = in
		}
	}
}

func open(prefix string, fields []Field, given map[string]bool) []string {
	var out []string
	for _, f := range fields {
		if f.needsValue() && !given[prefix+f.Name] {
			out = append(out, f.Name)
		}
	}
	slices.Sort(out)
	return out
}

// plan orders the execution in waves: what an instance needs, or reads an output of, comes before it. What is
// there already and stays as it is has no part in it, but in the lock's plan.
func (b *builder) plan(order []*slot) {
	after := map[string]map[string]bool{}
	for _, s := range order {
		for from, es := range b.u.before(s, b.a) {
			if from == solve.Root {
				continue
			}
			f := b.byID[from].Ref()
			if after[f] == nil {
				after[f] = map[string]bool{}
			}
			for _, e := range es {
				after[f][b.byID[e.to.id].Ref()] = true
			}
		}
	}
	var todo []string
	for _, i := range b.out.Instances {
		if !i.stays() {
			todo = append(todo, i.Ref())
		}
	}
	b.out.Plan, _ = waves(todo, after)
	b.out.Lock = b.out.lock(b.u.in.Lock, after)
}

// waves sorts names into waves: each comes after all of the names that it is after. ok is false for names that
// wait for one another; they are the last wave.
func waves(names []string, after map[string]map[string]bool) (out [][]string, ok bool) {
	rest := slices.Sorted(slices.Values(names))
	waits := map[string]bool{}
	for _, r := range rest {
		waits[r] = true
	}
	for len(rest) > 0 {
		var wave, later []string
		for _, r := range rest {
			ready := true
			for d := range after[r] {
				ready = ready && !waits[d]
			}
			if ready {
				wave = append(wave, r)
			} else {
				later = append(later, r)
			}
		}
		if len(wave) == 0 {
			return append(out, rest), false
		}
		for _, w := range wave {
			delete(waits, w)
		}
		out, rest = append(out, wave), later
	}
	return out, true
}
