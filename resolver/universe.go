package resolver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/variform/variform/api"
	"github.com/variform/variform/resolver/internal/solve"
)

// slotKind says what a slot of the search stands for.
type slotKind int

const (
	slotRoot   slotKind = iota // what is asked for
	slotInst                   // an installation that exists
	slotFresh                  // an installation that may be made
	slotChoice                 // which way a requirement is met
)

// slot is one variable of the search.
type slot struct {
	kind slotKind
	id   int32

	pkg       string
	namespace string
	cands     []cand
	inst      *Installation
	want      *Request // what asked for it, where something did
	target    bool     // asked for by name: free to change
	asked     bool     // may be a version of no catalogue
	managed   bool     // follows an upgrade of its parent
	share     Share
	labels    map[string]string
	params    map[string]string // what is known of its parameters
	parent    *slot             // of an instance that is made for one parent alone
	root      *Request
	maker     *slot          // the slot whose requirement it was first made for
	locked    *LockedPackage // what the lock has in its place, nil for nothing

	req     *Requirement // slotChoice
	options []option

	limits []limit
	infos  map[int32][]info
}

// cand is one candidate of a slot: a version, known by its manifest or, of an installation, by its number.
type cand struct {
	v       *version
	text    string
	sem     *semver.Version
	digest  string // "" where it is not known
	current bool
}

// limit says why a slot is restricted.
type limit struct {
	allowed solve.Set
	text    string
	hints   []Hint
}

// option is one way to meet a requirement.
type option struct {
	skip    bool
	slot    int32 // -1 for what needs no slot
	allowed solve.Set
	alt     int // the alternative of anyOf, from 1; 0 outside
	req     *Requirement
	api     bool
	support bool // only if something else brings the slot in
	fresh   bool // a new instance of the package that was named
	text    string
}

// info is what became of one requirement of a candidate.
type info struct {
	req     *Requirement
	k       *contract // of req
	need    solve.Need
	has     bool // need is one
	static  *option
	failure *failure
	skipped string   // why an optional one is left out
	text    string   // for needs that are no requirements
	want    *Request // of the root's needs
}

// universe is the problem of one resolution as the search sees it.
type universe struct {
	in      Input
	cat     *Catalog
	rs      *ranges
	slots   []*slot
	byKey   map[string]*slot
	insts   []*Installation
	wants   []*Request
	managed map[string]bool
	ranged  map[[2]string]bool         // packages and ranges of which the versions are found
	own     map[*Installation]*version // manifests that the catalogue does not have
	scopes  map[string]Scope           // by package
	relaxed map[string]bool            // packages whose versions of stricter scopes are left out
	cycles  []checked
	force   *force
	work    *solve.Work // of the whole resolution
}

// checked is the reason of a clause that a finished assignment broke.
type checked struct {
	kind Kind
	text string
}

func newUniverse(in Input) *universe { return universeOf(in, map[string]Scope{}) }

// universeOf takes scopes of packages for what they are, whatever their versions say.
func universeOf(in Input, scopes map[string]Scope) *universe {
	u := &universe{
		scopes: scopes,
		work:   newWork(context.Background(), in),
		in:     in, cat: in.Catalog, rs: &ranges{of: &in.Catalog.ranges}, byKey: map[string]*slot{},
		managed: map[string]bool{}, ranged: map[[2]string]bool{}, own: map[*Installation]*version{},
	}
	for i := range in.Installations {
		u.insts = append(u.insts, u.numbered(&in.Installations[i]))
	}
	slices.SortFunc(u.insts, func(a, b *Installation) int {
		return strings.Compare(a.Namespace+"\x00"+a.Name, b.Namespace+"\x00"+b.Name)
	})
	for i := range in.Want {
		u.wants = append(u.wants, &in.Want[i])
	}
	slices.SortStableFunc(u.wants, func(a, b *Request) int {
		return strings.Compare(a.Namespace+"\x00"+a.name(), b.Namespace+"\x00"+b.name())
	})
	u.addSlot("", &slot{kind: slotRoot, cands: []cand{{}}})
	for _, w := range u.wants {
		if i := u.installation(w.Namespace, w.name()); i != nil && w.Upgrade && !w.SkipDependencies {
			u.follow(i, func(l Lifecycle) bool { return l.Does(l.Upgrade) })
		}
	}
	return u
}

// numbered is an installation that is known by its digest alone, with the version that has it in the catalogue.
func (u *universe) numbered(i *Installation) *Installation {
	digest := api.DigestOf(i.Version)
	if digest == "" {
		return i
	}
	out := *i
	out.Digest = digest
	if v := u.cat.withDigest(i.Package, digest); v != nil {
		out.Version = v.Version
	}
	return &out
}

// follow marks the managed dependencies of an installation, transitively.
func (u *universe) follow(i *Installation, reaches func(Lifecycle) bool) {
	p := u.manifest(i)
	if p == nil {
		return
	}
	for k := range p.Requires {
		r := &p.Requires[k]
		d := u.installation(i.Namespace, i.Bindings[r.Alias])
		if d != nil && reaches(r.Lifecycle) && !u.managed[d.Ref()] {
			u.managed[d.Ref()] = true
			u.follow(d, reaches)
		}
	}
}

// installation finds an installation by "name" (in a namespace, else global) or "namespace/name".
func (u *universe) installation(ns, name string) *Installation {
	var global *Installation
	for _, i := range u.insts {
		if i.Ref() == name && strings.Contains(name, "/") || i.Name == name && i.Namespace == ns {
			return i
		}
		if i.Name == name && i.Namespace == "" {
			global = i
		}
	}
	return global
}

// manifest is the catalogue's entry of an installation's version, or nil.
func (u *universe) manifest(i *Installation) *version {
	if v := u.cat.find(i.Package, i.Version); v != nil || i.Manifest == nil {
		return v
	}
	v := u.own[i]
	if v == nil {
		v = &version{Package: i.Manifest, index: -1}
		v.sem, _ = parseVersion(i.Version)
		u.own[i] = v
	}
	return v
}

// outputs of an installation: what it is found to have, what it says, or what its version declares.
func (u *universe) outputs(i *Installation) []Field {
	switch {
	case i.Actual != nil:
		return i.Actual.Outputs
	case i.Outputs != nil:
		return i.Outputs
	}
	if v := u.manifest(i); v != nil {
		return v.Outputs
	}
	return nil
}

func (u *universe) addSlot(key string, s *slot) *slot {
	s.id = int32(len(u.slots))
	s.infos = map[int32][]info{}
	u.slots = append(u.slots, s)
	u.byKey[key] = s
	return s
}

// Size implements solve.Source.
func (u *universe) Size(id int32) int {
	s := u.slots[id]
	if s.kind == slotChoice {
		return len(s.options)
	}
	return max(len(s.cands), 1)
}

// Limits implements solve.Source.
func (u *universe) Limits(id int32) []solve.Limit {
	var out []solve.Limit
	for _, l := range u.slots[id].limits {
		out = append(out, solve.Limit{Allowed: l.allowed})
	}
	return out
}

// Needs implements solve.Source.
func (u *universe) Needs(id, value int32) []solve.Need {
	s := u.slots[id]
	if s.kind == slotChoice {
		o := s.options[value-1]
		if o.skip || o.slot < 0 {
			return nil
		}
		return []solve.Need{{Slot: o.slot, Allowed: o.allowed}}
	}
	infos := u.infosOf(s, value)
	out := make([]solve.Need, 0, len(infos))
	for i := range infos {
		if infos[i].has {
			out = append(out, infos[i].need)
		}
	}
	return out
}

// needInfos are the infos of a candidate that are needs, in the order of Needs.
func (u *universe) needInfos(s *slot, value int32) []info {
	return slices.DeleteFunc(slices.Clone(u.infosOf(s, value)), func(i info) bool { return !i.has })
}

// infosOf works out the requirements of a candidate, once.
func (u *universe) infosOf(s *slot, value int32) []info {
	if got, ok := s.infos[value]; ok {
		return got
	}
	s.infos[value] = nil
	var out []info
	switch {
	case s.kind == slotRoot:
		out = u.rootInfos(s)
	case len(s.cands) > 0:
		out = u.candInfos(s, s.cands[value-1])
	}
	s.infos[value] = out
	u.work.Spend(bindSteps * len(out))
	for n := range out {
		u.spendRange(out[n].req)
	}
	return out
}

// spendRange counts what it takes to find the versions in a range, once a resolution: whether the catalogue
// knew them already is another's work, and a budget is the same for each target.
func (u *universe) spendRange(r *Requirement) {
	if r == nil || r.Package == "" {
		return
	}
	key := [2]string{r.Package, r.Version}
	if e := u.cat.packages[r.Package]; e != nil && !u.ranged[key] {
		u.ranged[key] = true
		u.work.Spend(fitSteps * len(e.versions))
	}
}

// candInfos are the requirements of one version, and those of the installations that depend on the slot.
func (u *universe) candInfos(s *slot, c cand) []info {
	if a := u.aside(s, c); a != nil {
		return a
	}
	if s.kind == slotInst && c.current && !s.target && !s.managed {
		return nil // it is there: what it needs was met when it came
	}
	var out []info
	if s.kind == slotInst && !c.current {
		out = append(out, u.dependents(s, c)...)
	}
	if c.v == nil || s.want != nil && s.want.SkipDependencies {
		return out
	}
	facts := u.cat.facts(c.v)
	if ps := facts.problems; len(ps) > 0 {
		f := &failure{kind: ps[0].kind, text: "is not valid: " + ps[0].text}
		for _, p := range ps[1:] {
			f.text += "; " + p.text
		}
		return append(out, failed(nil, f))
	}
	out = slices.Grow(out, len(c.v.Requires))
	for i := range c.v.Requires {
		out = append(out, u.bind(s, c.v, &c.v.Requires[i], &facts.needs[i]))
	}
	return out
}

func failed(r *Requirement, f *failure) info {
	return info{req: r, has: true, need: solve.Need{Slot: solve.Impossible}, failure: f}
}

// rootInfos are the needs of what is asked for.
func (u *universe) rootInfos(root *slot) []info {
	var out []info
	fail := func(w *Request, kind Kind, text string) {
		i := failed(nil, &failure{kind: kind, text: "asks for " + w.what() + text})
		i.want = w
		out = append(out, i)
	}
	for _, w := range u.wants {
		s := u.wantSlot(w)
		if s == nil || len(s.cands) == 0 {
			fail(w, NoSolution, ", but "+u.unknown(w.Package, w.Version))
			continue
		}
		set, err := u.wanted(s, w)
		text := "you asked for " + at(s.pkg, w.Version)
		if err != nil {
			fail(w, InvalidDeclaration, fmt.Sprintf(": %v", err))
			continue
		}
		if set.Count() == 0 {
			fail(w, NoSolution, ", but "+u.offers(s.pkg, w.Version))
			continue
		}
		out = append(out, info{has: true, need: solve.Need{Slot: s.id, Allowed: set}, text: text, want: w})
	}
	return out
}

func (r *Request) what() string {
	p := r.Package
	if p == "" {
		p = r.Name
	}
	return at(p, r.Version)
}

// wanted are the candidates that a request admits.
func (u *universe) wanted(s *slot, w *Request) (solve.Set, error) {
	sel, err := u.rs.selection(w.Version)
	if err != nil {
		return nil, fmt.Errorf("%q is neither a range of versions nor a digest: %w", w.Version, err)
	}
	set := solve.NewSet(len(s.cands) + 1)
	for i, cd := range s.cands {
		if w.Version == "" && (cd.sem == nil || cd.current) || cd.sem != nil && w.Version == cd.text || sel.admits(cd.sem, cd.digest, w.Prereleases) {
			set.Add(i + 1)
		}
	}
	return set, nil
}

// wantSlot is the slot of something that is asked for: the installation of that name or in that scope if
// there is one, else a new one.
func (u *universe) wantSlot(w *Request) *slot {
	i := u.installation(w.Namespace, w.name())
	if i != nil && (i.Namespace != w.Namespace || w.Package != "" && i.Package != w.Package) {
		i = nil
	}
	if i == nil && w.Package != "" {
		i = u.scoped(w.Package, w.Namespace)
	}
	if i != nil {
		return u.instSlot(i, w)
	}
	key := u.scopeKey(w.Package, w.Namespace)
	if key == "" {
		key = "want/" + w.Namespace + "/" + w.name()
	}
	s := u.byKey[key]
	if s == nil {
		s = u.addSlot(key, &slot{kind: slotFresh, pkg: w.Package, namespace: w.Namespace, root: w, asked: true})
		s.locked = u.lockedAs(w.Namespace, w.name(), w.Package)
		s.cands = u.candidates(s)
	}
	s.want, s.target, s.params, s.labels = w, true, w.Parameters, w.Labels
	s.share = Share{Mode: w.Mode, Group: w.Group}
	return s
}

// scoped is the installation that takes the one place that a package's scope leaves, if there is one.
func (u *universe) scoped(pkg, ns string) *Installation {
	scope := u.scope(pkg)
	for _, i := range u.insts {
		if i.Package == pkg && (scope == ScopeCluster || scope == ScopeNamespace && i.Namespace == ns) {
			return i
		}
	}
	return nil
}

// scopeKey names the one place that a package's scope leaves for it; empty where scope leaves many.
func (u *universe) scopeKey(pkg, ns string) string {
	switch u.scope(pkg) {
	case ScopeCluster:
		return "cluster/" + pkg
	case ScopeNamespace:
		return "namespace/" + ns + "/" + pkg
	}
	return ""
}

// candidates of a new instance: what it is locked at first, then what others of its package are, then the newest.
func (u *universe) candidates(s *slot) []cand {
	e := u.cat.packages[s.pkg]
	if e == nil {
		return nil
	}
	cands := e.public
	if s.asked {
		cands = e.asked
	}
	locked := lockedIn(u.in.Lock, s.pkg, s.namespace)
	if len(locked) == 0 || u.upgrades(s) {
		return slices.Clip(cands)
	}
	cands = u.kept(e, cands)
	rank := func(c cand) int {
		switch {
		case s.locked != nil && locks([]*LockedPackage{s.locked}, c.text, c.digest):
			return 0
		case locks(locked, c.text, c.digest):
			return 1
		}
		return 2
	}
	out := slices.Clone(cands)
	slices.SortStableFunc(out, func(a, b cand) int { return rank(a) - rank(b) })
	return out
}

// kept are candidates with the versions that only the lock has, each in the place of another with its number.
func (u *universe) kept(e *entry, cands []cand) []cand {
	for _, c := range e.cands {
		if !c.v.Gone || !slices.ContainsFunc(u.in.Lock.Packages, func(p LockedPackage) bool {
			return lockedPackage(&p) == e.name && p.Digest == c.digest && sameVersion(p.Version, c.text)
		}) {
			continue
		}
		cands = append(slices.DeleteFunc(slices.Clone(cands), func(o cand) bool { return o.text == c.text }), c)
		slices.SortStableFunc(cands, func(a, b cand) int { return compareVersions(b.v, a.v) })
	}
	return cands
}

// lockedAs is what the lock has of a package under a name, nil for nothing.
func (u *universe) lockedAs(ns, name, pkg string) *LockedPackage {
	if u.in.Lock == nil {
		return nil
	}
	for i := range u.in.Lock.Packages {
		if p := &u.in.Lock.Packages[i]; p.Namespace == ns && p.Name == name && lockedPackage(p) == pkg {
			return p
		}
	}
	return nil
}

// lockedBelow is what the lock has in the place of a package that a locked instance needs under an alias.
func (u *universe) lockedBelow(parent *LockedPackage, alias, pkg string) *LockedPackage {
	if parent == nil {
		return nil
	}
	var found *LockedPackage
	for _, d := range parent.Dependencies {
		p := u.lockedAs(d.Namespace, d.Name, pkg)
		if p != nil && d.Alias == alias {
			return p
		}
		found = cmp.Or(p, found)
	}
	return found
}

// plain tells whether the candidates of a slot are the catalogue's.
func (s *slot) plain(e *entry) bool {
	return e != nil && len(s.cands) == len(e.cands) && len(s.cands) > 0 && &s.cands[0] == &e.cands[0]
}

// upgrades tells whether the newest version of a slot is to be preferred to the one that is there.
func (u *universe) upgrades(s *slot) bool {
	return s.managed || s.want != nil && s.want.Upgrade || s.kind == slotFresh && s.want == nil &&
		(slices.Contains(u.in.Refresh, s.pkg) || slices.Contains(u.in.Refresh, "*"))
}

// instSlot is the slot of an installation.
func (u *universe) instSlot(i *Installation, w *Request) *slot {
	key := "inst/" + i.Ref()
	if s := u.byKey[key]; s != nil {
		return s
	}
	s := &slot{kind: slotInst, pkg: i.Package, namespace: i.Namespace, inst: i, want: w, target: w != nil, params: i.Values}
	s.managed = u.managed[i.Ref()]
	s.share, s.labels = Share{Mode: i.Mode, Group: i.Group}, i.Labels
	s.root, s.locked = w, u.lockedAs(i.Namespace, i.Name, i.Package)
	u.addSlot(key, s)
	cur := cand{text: i.Version, current: true, v: u.manifest(i), digest: i.Digest}
	cur.sem, _ = parseVersion(i.Version)
	if cur.v != nil && cur.digest == "" {
		cur.digest = cur.v.Digest
	}
	s.cands = []cand{cur}
	if s.target || s.managed || u.scope(i.Package) != ScopeAny {
		for _, c := range u.candidates(s) {
			if cur.v == nil || c.v != cur.v {
				s.cands = append(s.cands, c)
			}
		}
	}
	if u.upgrades(s) {
		slices.SortStableFunc(s.cands, func(a, b cand) int {
			if a.sem == nil || b.sem == nil {
				return 0
			}
			return b.sem.Compare(a.sem)
		})
	}
	if !s.target {
		u.restrict(s)
	}
	return s
}

// restrict limits how an installation may change when a dependency would have it change.
func (u *universe) restrict(s *slot) {
	up, down := s.managed, false
	if len(u.wants) > 0 && !s.managed {
		up, down = u.allows()
	}
	cur := s.current()
	if s.inst.Fixed {
		l := limit{allowed: s.currentSet(), text: fmt.Sprintf("%s %s is installed as %s, which others manage", s.pkg, cur.text, s.inst.Ref())}
		l.allowed.Add(0)
		l.hints = []Hint{{Text: fmt.Sprintf("have those who manage %s change it, or take a version that suits %s %s", s.inst.Ref(), s.pkg, cur.text)}}
		if s.inst.Unversioned {
			l.text = fmt.Sprintf("%s is installed as %s, which others manage, and nothing tells its version", s.pkg, s.inst.Ref())
			l.hints = []Hint{{Text: fmt.Sprintf("say which version %s is: by spec.version of a PackageManifest in it, by upstreamLock of its Kptfile, or by status.currentRevision of its Installation", s.inst.Ref())}}
		}
		s.limits = append(s.limits, l)
		return
	}
	u.hold(s, cur.sem, up, down, func(c cand) bool { return c.current },
		fmt.Sprintf("%s %s is installed as %s, %s", s.pkg, cur.text, s.inst.Ref(), u.scopeText(s)), s.inst.Ref())
}

// allows tells how what is there may change: as all requests agree.
func (u *universe) allows() (up, down bool) {
	up, down = true, true
	for _, w := range u.wants {
		up = up && w.Allow.Upgrade && !w.ValidateOnly
		down = down && w.Allow.Downgrade && !w.ValidateOnly
	}
	return up, down
}

// holdPlaced limits how what an earlier resolution put in place may change. Of several instances of a package
// it cannot be told here which one a slot is.
func (u *universe) holdPlaced(s *slot) {
	if u.in.Placed == nil {
		return
	}
	var placed *LockedPackage
	for i := range u.in.Placed.Packages {
		p := &u.in.Placed.Packages[i]
		if lockedPackage(p) != s.pkg || p.Namespace != s.namespace && u.scope(s.pkg) != ScopeCluster {
			continue
		}
		if placed != nil {
			return
		}
		placed = p
	}
	if placed == nil {
		return
	}
	cur, err := parseVersion(placed.Version)
	if err != nil {
		return
	}
	up, down := u.allows()
	u.hold(s, cur, up, down, func(c cand) bool { return c.sem != nil && c.sem.Equal(cur) },
		fmt.Sprintf("%s %s is in place as %s", s.pkg, placed.Version, lockedRef(placed)), lockedRef(placed))
}

// hold limits a slot to its current version and those that an upgrade or a downgrade leads to.
func (u *universe) hold(s *slot, cur *semver.Version, up, down bool, current func(cand) bool, text, ref string) {
	allowed := solve.NewSet(len(s.cands)+1, 0)
	newer, older := "", ""
	for i, c := range s.cands {
		step := 0
		if cur != nil && c.sem != nil {
			step = c.sem.Compare(cur)
		}
		if current(c) || step > 0 && up || step < 0 && down {
			allowed.Add(i + 1)
		}
		if step > 0 && newer == "" {
			newer = c.text
		}
		if step < 0 && older == "" {
			older = c.text
		}
	}
	if allowed.Count() == len(s.cands)+1 {
		return
	}
	l := limit{allowed: allowed, text: text}
	switch {
	case !up && !down:
		l.text += "; changing it is not allowed"
	case !down:
		l.text += "; a downgrade is not allowed"
	default:
		l.text += "; an upgrade is not allowed"
	}
	if newer != "" && !up {
		l.hints = append(l.hints, u.allowing("allow an upgrade of "+ref, "Upgrade"))
	}
	if older != "" && !down {
		l.hints = append(l.hints, u.allowing("allow a downgrade of "+ref, "Downgrade"))
	}
	s.limits = append(s.limits, l)
}

func (u *universe) scopeText(s *slot) string {
	switch u.scope(s.pkg) {
	case ScopeCluster:
		return "and there is one per cluster"
	case ScopeNamespace:
		return "and there is one per namespace"
	}
	return "and managed with its parent"
}

func (s *slot) current() cand {
	for _, c := range s.cands {
		if c.current {
			return c
		}
	}
	return cand{}
}

// dependents are the needs that come from the installations which depend on one that changes: each must be at
// a version that accepts the change.
func (u *universe) dependents(s *slot, c cand) []info {
	var out []info
	for _, j := range u.insts {
		if j == s.inst || !u.dependsOn(j, s) {
			continue
		}
		js := u.instSlot(j, nil)
		set := solve.NewSet(len(js.cands) + 1)
		for i, jc := range js.cands {
			if u.accepts(js, jc, s, c) {
				set.Add(i + 1)
				if jc.current && !js.target {
					set.Add(0)
				}
			}
		}
		if set.Count() == len(js.cands)+1 {
			continue
		}
		text := fmt.Sprintf("%s %s is used by %s", s.pkg, c.text, j.Ref())
		out = append(out, info{has: true, need: solve.Need{Slot: js.id, Allowed: set}, text: text})
	}
	return out
}

// dependsOn tells whether an installation is bound to a slot's.
func (u *universe) dependsOn(j *Installation, s *slot) bool {
	for _, name := range j.Bindings {
		if u.installation(j.Namespace, name) == s.inst {
			return true
		}
	}
	v := u.manifest(j)
	return v != nil && u.scoped(s.pkg, j.Namespace) == s.inst &&
		slices.ContainsFunc(v.Requires, func(r Requirement) bool { return r.Package == s.pkg && !r.Optional })
}

// accepts tells whether one version of a dependent accepts a version of what it depends on.
func (u *universe) accepts(js *slot, jc cand, s *slot, c cand) bool {
	if jc.v == nil || c.v == nil {
		return true
	}
	for i := range jc.v.Requires {
		r := &jc.v.Requires[i]
		bound := u.installation(js.namespace, js.inst.Bindings[r.Alias]) == s.inst
		if !bound && (r.Package != s.pkg || r.Optional) {
			continue
		}
		sel, err := u.rs.selection(r.Version)
		if r.Package == s.pkg && (err != nil || r.Version != "" && !sel.admits(c.sem, c.digest, r.Prereleases)) {
			return false
		}
		if len(u.cat.facts(jc.v).needs[i].contract.missing(c.v.Outputs)) > 0 {
			return false
		}
	}
	return true
}

// shorten joins names, and counts those past a number.
func shorten(names []string, n int) string {
	if len(names) <= n+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

func canonical(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // only types without a JSON form fail, and these have one
		return fmt.Sprint(v)
	}
	return string(data)
}

// scope is that of a package here: see [universe.mistaken].
func (u *universe) scope(pkg string) Scope {
	s, ok := u.scopes[pkg]
	if !ok {
		s = u.firstScope(pkg)
		u.scopes[pkg] = s
	}
	return s
}

// firstScope is that of the versions that are locked or there, so that a version which nobody takes changes nothing,
// else the laxest of all, which leaves the most answers.
func (u *universe) firstScope(pkg string) Scope {
	var out Scope
	if e := u.cat.packages[pkg]; e != nil && u.in.Lock != nil && !slices.Contains(u.in.Refresh, pkg) && !slices.Contains(u.in.Refresh, "*") {
		for i := range u.in.Lock.Packages {
			p := &u.in.Lock.Packages[i]
			if lockedPackage(p) != pkg {
				continue
			}
			for _, v := range e.versions {
				if v.Version == p.Version {
					out = stricter(out, v.Scope)
				}
			}
		}
	}
	for _, i := range u.insts {
		if v := u.manifest(i); i.Package == pkg && v != nil {
			out = stricter(out, v.Scope)
		}
	}
	return cmp.Or(out, u.cat.lax(pkg))
}

// mistaken are the scopes of an answer's versions that are stricter than what was taken for the scope of their package.
// How many of a package there can be says the version that is chosen, and which one is chosen depends on how many there
// are.
func (u *universe) mistaken(a solve.Assignment) map[string]Scope {
	found := map[string]Scope{}
	for _, s := range u.reachable(a, true)[1:] {
		if v := s.cands[a.Value(s.id)-1].v; v != nil {
			found[s.pkg] = stricter(found[s.pkg], v.Scope)
		}
	}
	for _, i := range u.insts { // what is there, and is not to change, says so as well
		if v := u.manifest(i); v != nil && found[i.Package] != "" {
			found[i.Package] = stricter(found[i.Package], v.Scope)
		}
	}
	maps.DeleteFunc(found, func(pkg string, s Scope) bool { return stricter(u.scope(pkg), s) == u.scope(pkg) })
	return found
}
