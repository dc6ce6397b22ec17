package resolver

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/resolver/internal/solve"
)

// failure is why a requirement cannot be met by anything.
type failure struct {
	kind  Kind
	text  string // follows the subject: "needs db >=2, but …"
	short string // for an optional dependency that is skipped
	hints []Hint
	need  *NeededInput
}

// binder works out the ways in which one requirement of one parent can be met.
type binder struct {
	u      *universe
	s      *slot
	p      *Package
	r      *Requirement // with a user's override applied
	k      contract
	ns     string
	group  string
	known  bool // whether all templates that tell instances apart are known
	params map[string]string
	over   *Override
	pre    *Prereleases
	facts  *needFacts    // what the catalogue says of the requirement; nil where it is not the catalogue's as it is
	only   *Installation // the user's choice
	fail   *failure
}

// bind works out how a requirement of a version in a slot can be met.
func (u *universe) bind(s *slot, v *version, req *Requirement, f *needFacts) info {
	b := &binder{u: u, s: s, p: v.Package, r: req, k: f.contract, facts: f, known: true, pre: req.Prereleases}
	in := info{req: req, k: &f.contract}
	b.over = u.override(s, req)
	if b.over != nil && b.over.Install != nil && !*b.over.Install && req.Optional {
		in.skipped = "declined by the user"
		return in
	}
	b.apply()
	b.render()
	options := b.options(b.r, 0)
	if req.Optional {
		if len(options) == 0 {
			in.skipped = b.failure().short
			return in
		}
		options = append(options, option{skip: true, slot: -1, text: "without it"})
	}
	switch {
	case len(options) == 0:
		in.failure, in.has, in.need = b.failure(), true, solve.Need{Slot: solve.Impossible}
	case len(options) == 1 && options[0].slot < 0:
		in.static = &options[0]
	case len(options) == 1 && !options[0].support:
		in.static = &options[0]
		in.has, in.need = true, solve.Need{Slot: options[0].slot, Allowed: options[0].allowed}
	default:
		c := u.choice(s, req, f.text, options)
		in.has, in.need = true, solve.Need{Slot: c.id, Allowed: allOf(len(options))}
	}
	return in
}

// allOf is the set of candidates 1 to n.
func allOf(n int) solve.Set {
	s := solve.NewSet(n + 1)
	for v := 1; v <= n; v++ {
		s.Add(v)
	}
	return s
}

// choice is the slot for the ways in which a parent's requirement can be met. Versions of the parent with
// the same requirement share it.
func (u *universe) choice(s *slot, r *Requirement, text string, options []option) *slot {
	key := append(strconv.AppendInt([]byte("choice/"), int64(s.id), 10), text...)
	for _, o := range options {
		key = strconv.AppendInt(append(key, '/'), int64(o.slot), 10)
	}
	if c := u.byKey[string(key)]; c != nil {
		return c
	}
	return u.addSlot(string(key), &slot{kind: slotChoice, req: r, options: options, parent: s, pkg: r.Package})
}

// override is the user's choice for a requirement: by alias for what was asked for, by package anywhere.
func (u *universe) override(s *slot, r *Requirement) *Override {
	for _, w := range u.wants {
		for i := range w.Overrides {
			o := &w.Overrides[i]
			if o.Alias != "" && o.Alias == r.Alias && s.want == w || o.Alias == "" && o.Package != "" && o.Package == r.Package {
				return o
			}
		}
	}
	return nil
}

// apply changes the requirement by the user's override: range, labels and sharing fall, the contract stays.
func (b *binder) apply() {
	o := b.over
	if o == nil {
		return
	}
	r := *b.r
	b.r, b.facts = &r, nil
	if o.Constraints != "" {
		r.Version, r.Default = o.Constraints, ""
		if _, err := b.u.rs.selection(o.Constraints); err != nil {
			b.fail = &failure{kind: InvalidRequest, text: fmt.Sprintf("was given %q for %s, which is neither a range of versions nor a digest", o.Constraints, b.r.Alias)}
		}
	}
	if o.Constraints != "" || o.Prereleases != nil {
		b.pre = o.Prereleases
	}
	ref := o.Reference
	if ref == "" && o.Alias != "" {
		ref = o.Package
	}
	if ref != "" {
		name, v, ok := CutReference(ref)
		r.Package, r.AnyOf, r.GVK = name, nil, nil
		if o.Constraints == "" {
			r.Version, r.Default = "", ""
		}
		switch {
		case ok && api.DigestOf(v) == "" && !IsVersion(v):
			b.fail = &failure{kind: InvalidRequest, text: fmt.Sprintf("was given %s for %s, of which %q is neither a version nor a digest", ref, b.r.Alias, v)}
		case ok:
			r.Version, r.Default = v, "" // nothing else will do, what is there included
		}
		r.Labels, r.Share = nil, Share{}
		b.k.id = ""
	}
	if o.Installation != "" {
		b.only = b.u.installation(b.s.namespace, o.Installation)
		if b.only == nil {
			b.fail = &failure{kind: MissingInstallation, text: fmt.Sprintf("was given the installation %s for %s, but there is none", o.Installation, b.r.Alias)}
		}
	}
}

// render works out what can be known before the search of the templates that tell instances apart.
func (b *binder) render() {
	text := func(t string) string {
		out, ok := expand(t, b.lookup)
		b.known = b.known && ok
		return out
	}
	b.group = text(b.r.Share.Group)
	b.ns = b.s.namespace
	if b.r.Namespace != nil {
		b.ns = text(*b.r.Namespace)
	}
	b.params = map[string]string{}
	for _, k := range sortedKeys(b.r.Parameters) {
		b.params[k] = text(b.r.Parameters[k])
	}
	for _, k := range sortedKeys(b.r.Credentials) {
		b.params["credential "+k] = text(b.r.Credentials[k])
	}
	if len(b.r.Labels) > 0 {
		labels := map[string]string{}
		for k, v := range b.r.Labels {
			labels[k] = text(v)
		}
		r := *b.r
		r.Labels = labels
		b.r = &r
	}
}

// lookup knows the template variables that do not depend on the search.
func (b *binder) lookup(path string) (string, bool) {
	s := b.s
	name := ""
	switch {
	case s.inst != nil:
		name = s.inst.Name
	case s.want != nil:
		name = s.want.name()
	}
	if rest, ok := strings.CutPrefix(path, "bundle.parameters."); ok {
		v, ok := s.params[rest]
		return v, ok
	}
	root := s.root
	if root == nil {
		root = &Request{}
	}
	switch strings.ToLower(path) {
	case "bundle.name":
		return b.p.Package, true
	case "bundle.version":
		return b.p.Version, true
	case "installation.namespace":
		return s.namespace, true
	case "installation.name":
		return name, name != ""
	case "installation.id":
		return s.namespace + "/" + name, name != ""
	case "installation.root.id":
		return root.Namespace + "/" + root.name(), s.root != nil
	case "installation.root.name":
		return root.name(), s.root != nil
	case "installation.root.namespace":
		return root.Namespace, s.root != nil
	}
	return "", false
}

// failure is why there is no way at all.
func (b *binder) failure() *failure {
	if b.fail == nil {
		return &failure{kind: NoSolution, text: "needs " + b.r.what() + ", which nothing offers", short: "nothing offers " + b.r.what()}
	}
	if b.fail.short == "" {
		b.fail.short = b.fail.text
	}
	return b.fail
}

func (b *binder) failed(f failure) {
	if b.fail == nil {
		b.fail = &f
		return
	}
	b.fail.text += "; " + strings.TrimPrefix(f.text, "needs ")
	b.fail.hints = append(b.fail.hints, f.hints...)
	if f.kind != b.fail.kind {
		b.fail.kind = NoSolution
	}
}

// what names what a requirement asks for, as a person would.
func (r *Requirement) what() string {
	switch {
	case r.GVK != nil:
		return "the API " + r.GVK.String()
	case r.Platform != "":
		return strings.TrimSpace(r.Platform + " " + r.Version)
	case len(r.AnyOf) > 0:
		var parts []string
		for i := range r.AnyOf {
			parts = append(parts, r.AnyOf[i].what())
		}
		return "one of " + strings.Join(parts, ", ")
	case r.Package == "" && r.Interface.id() != "":
		return strings.TrimSpace("interface " + r.Interface.id() + " " + r.Interface.Version)
	case r.Package == "":
		return "an implementation of " + r.Alias
	}
	v := r.asked()
	if v == "*" {
		v = ""
	}
	return at(r.Package, v)
}

// asked is the range or the digest of a requirement, or else its default.
func (r *Requirement) asked() string {
	if r.Version != "" {
		return r.Version
	}
	return r.Default
}

// options lists the ways to meet a requirement, best first.
func (b *binder) options(r *Requirement, alt int) []option {
	switch {
	case b.fail != nil: // by the user's override
		return nil
	case b.only != nil:
		return b.chosen()
	case len(r.AnyOf) > 0:
		var out []option
		for i := range r.AnyOf {
			out = append(out, b.alternative(r, i)...)
		}
		slices.SortStableFunc(out, func(a, c option) int { return cmp.Compare(b.brings(&a), b.brings(&c)) })
		return out
	case r.GVK != nil:
		return b.apis(r, alt)
	case r.Platform != "":
		return b.platform(r, alt)
	}
	return b.packages(r, alt)
}

// brings returns 0 if an option uses an installed or locked package, and 1 if it adds one.
func (b *binder) brings(o *option) int {
	if o.skip || o.slot >= 0 && b.u.slots[o.slot].kind != slotInst && len(lockedIn(b.u.in.Lock, b.u.slots[o.slot].pkg, b.u.slots[o.slot].namespace)) == 0 {
		return 1
	}
	return 0
}

// alternative is one alternative of a requirement; what it does not say is the requirement's.
func (b *binder) alternative(r *Requirement, i int) []option {
	a := r.AnyOf[i]
	if a.Alias == "" {
		a.Alias = r.Alias
	}
	if a.Share == (Share{}) {
		a.Share = r.Share
	}
	if a.Labels == nil {
		a.Labels = r.Labels
	}
	sub := *b
	sub.r, sub.fail, sub.facts = &a, nil, nil
	if a.Prereleases != nil {
		sub.pre = a.Prereleases
	}
	sub.k = b.u.cat.contract(b.p, &a)
	if o := b.u.override(b.s, &a); o != nil && o.Alias == "" {
		sub.over = o
		sub.apply()
	}
	out := sub.options(sub.r, 0)
	for n := range out {
		out[n].alt = i + 1
	}
	if sub.fail != nil {
		b.failed(*sub.fail)
	}
	return out
}

// chosen is the one installation that the user chose: it skips the criteria, but not what is used of it.
func (b *binder) chosen() []option {
	i := b.only
	missing := b.k.missing(b.u.outputs(i))
	if v := b.u.manifest(i); v != nil {
		for _, p := range b.k.of.Uses.Parameters {
			if _, ok := match(Field{Name: p}, v.Parameters); !ok {
				missing = append(missing, "parameter "+p)
			}
		}
	}
	if len(missing) > 0 {
		b.fail = &failure{
			kind: InterfaceMismatch,
			text: fmt.Sprintf("was given the installation %s for %s, but it has no %s", i.Ref(), b.r.Alias, strings.Join(missing, " and no ")),
		}
		return nil
	}
	s := b.u.instSlot(i, nil)
	return []option{{slot: s.id, allowed: s.currentSet(), req: b.r, text: "the installation " + i.Ref()}}
}

func (s *slot) currentSet() solve.Set {
	set := solve.NewSet(len(s.cands) + 1)
	for i, c := range s.cands {
		if c.current {
			set.Add(i + 1)
		}
	}
	return set
}

// platform compares what the installation runs on with a range.
func (b *binder) platform(r *Requirement, alt int) []option {
	have, ok := b.u.in.Platform[r.Platform]
	v, err := parseVersion(have)
	if ok && err == nil && b.u.rs.holds(r.Version, v) {
		return []option{{slot: -1, alt: alt, req: r, text: r.Platform + " " + have}}
	}
	text := fmt.Sprintf("needs %s, but the platform here is %s %s", r.what(), r.Platform, have)
	if !ok {
		text = fmt.Sprintf("needs %s, but no version of %s is known here", r.what(), r.Platform)
	}
	b.failed(failure{kind: NoSolution, text: text, hints: []Hint{{Text: fmt.Sprintf("run %s %s, or take a version of %s that supports %s %s", r.Platform, r.Version, b.p.Package, r.Platform, have)}}})
	return nil
}

// apis are the ways to have an API: it is served, an installation provides it, something else in the graph
// brings it, or, where that is wanted, the catalogue is searched.
func (b *binder) apis(r *Requirement, alt int) []option {
	var out []option
	if slices.Contains(b.u.in.APIs, *r.GVK) {
		out = append(out, option{slot: -1, alt: alt, req: r, api: true, text: "the API, which is served"})
	}
	for _, i := range b.u.insts {
		if v := b.u.manifest(i); v != nil && v.provides(*r.GVK) {
			s := b.u.instSlot(i, nil)
			out = append(out, option{slot: s.id, allowed: b.providers(s, *r.GVK), alt: alt, req: r, api: true, text: "the installation " + i.Ref()})
		}
	}
	search := b.installs() && b.s.root != nil && b.s.root.SearchProviders
	var offers, searched []string
	for _, v := range b.u.cat.providers[*r.GVK] {
		name := v.Package.Package
		offers = append(offers, name+" "+v.Version)
		if b.u.scoped(name, b.ns) != nil {
			continue
		}
		if s := b.provider(name); search || b.besides(s) {
			out = append(out, option{slot: s.id, allowed: b.providers(s, *r.GVK), alt: alt, req: r, api: true, support: !search, text: name + ", which provides it"})
			if !b.besides(s) {
				searched = append(searched, name)
			}
		}
	}
	if len(searched) > 1 && len(searched) == len(out) {
		b.failed(b.choose(r, searched, "which more than one package provides"))
		return nil
	}
	if len(out) > 0 {
		return out
	}
	text := fmt.Sprintf("needs %s, which is not served here", r.what())
	for _, a := range b.u.in.APIs {
		if a.Kind == r.GVK.Kind && a.Group() == r.GVK.Group() {
			text += fmt.Sprintf(" (%s is)", a)
		}
	}
	if len(offers) == 0 {
		text += b.nearly(*r.GVK)
	}
	f := failure{kind: MissingProvider, text: text}
	for _, o := range offers {
		f.hints = append(f.hints, Hint{Text: fmt.Sprintf("install %s, which provides %s, or set true", o, r.GVK), Field: FieldSearchProviders, Of: b.u.rootOf(b.s)})
	}
	b.failed(f)
	return nil
}

// nearly says which package of the catalogue provides another version of an API, "" for none.
func (b *binder) nearly(g GVK) string {
	for _, name := range b.u.cat.names {
		for _, v := range b.u.cat.versions(name) {
			for _, p := range v.Provides {
				if p.GVK != nil && p.GVK.Kind == g.Kind && p.GVK.Group() == g.Group() {
					return fmt.Sprintf("; %s %s provides %s", name, v.Version, p.GVK)
				}
			}
		}
	}
	return ""
}

func (v *version) provides(g GVK) bool {
	return slices.ContainsFunc(v.Provides, func(p Provide) bool { return p.GVK != nil && *p.GVK == g })
}

// providers are the candidates of a slot that provide an API.
func (b *binder) providers(s *slot, g GVK) solve.Set {
	set := solve.NewSet(len(s.cands) + 1)
	for i, c := range s.cands {
		if c.v != nil && c.v.provides(g) {
			set.Add(i + 1)
		}
	}
	return set
}

// provider is the slot that a package which provides an API would have.
func (b *binder) provider(name string) *slot {
	r := &Requirement{Package: name}
	sub := &binder{u: b.u, s: b.s, p: b.p, r: r, ns: b.s.namespace, known: true, params: map[string]string{}}
	for _, w := range b.u.wants {
		if w.Package == name {
			return b.u.wantSlot(w)
		}
	}
	return sub.fresh(r, "")
}

// besides tells whether something beside the API's consumer may bring a provider in: another requirement of
// the same package or of anything in the catalogue names it.
func (b *binder) besides(s *slot) bool {
	e := b.u.cat.packages[s.pkg]
	return s.want != nil || e != nil && e.ranges > 0
}

// installs tells whether new installations may be made for a requirement.
func (b *binder) installs() bool {
	if b.over != nil && b.over.Install != nil && !*b.over.Install {
		return false
	}
	for _, w := range b.u.wants {
		if w.ValidateOnly {
			return false
		}
	}
	return true
}

// packages are the ways to have a package or an implementation of an interface.
func (b *binder) packages(r *Requirement, alt int) []option {
	pkg := b.u.cat.packageOf(r)
	out := b.existing(r, pkg)
	switch {
	case pkg == "" && len(out) == 0:
		b.failed(b.ask(r))
	case pkg == "":
	case b.u.scope(pkg) != ScopeAny && len(out) > 0 && b.holds(out):
	case b.installs() || b.place(pkg) != nil:
		made := b.made(r, pkg)
		if b.u.scope(pkg) == ScopeAny && b.lockedApart(r, pkg) {
			out, made = made, out
		}
		out = append(out, made...)
	case len(out) == 0:
		b.failed(failure{kind: MissingDependency, text: b.absent(r, pkg)})
	}
	for i := range out {
		out[i].alt, out[i].req = alt, r
	}
	return out
}

// lockedApart tells whether the lock has an instance of its own for a requirement: that stays, also where something
// else of the package is there or is asked for since.
func (b *binder) lockedApart(r *Requirement, pkg string) bool {
	p := b.u.lockedBelow(b.s.locked, r.Alias, pkg)
	there := func(i *Installation) bool { return i.Ref() == lockedRef(p) } // and not a global one of that name
	return p != nil && !slices.ContainsFunc(b.u.insts, there) && !slices.ContainsFunc(b.u.wants, func(w *Request) bool {
		return w.Namespace == p.Namespace && w.name() == p.Name
	})
}

// holds tells whether the one place that scope leaves is among the options.
func (b *binder) holds(options []option) bool {
	for _, o := range options {
		if s := b.u.slots[o.slot]; s.inst != nil && s == b.placeSlot(s.pkg) {
			return true
		}
	}
	return false
}

func (b *binder) placeSlot(pkg string) *slot {
	if i := b.place(pkg); i != nil {
		return b.u.instSlot(i, nil)
	}
	return nil
}

// place is the installation in the one place that scope leaves for a package.
func (b *binder) place(pkg string) *Installation { return b.u.scoped(pkg, b.ns) }

func (b *binder) absent(r *Requirement, pkg string) string {
	var have []string
	for _, i := range b.u.insts {
		if i.Package == pkg {
			have = append(have, fmt.Sprintf("%s is %s %s", i.Ref(), i.Package, i.Version))
		}
	}
	if len(have) == 0 {
		return fmt.Sprintf("needs %s, which is not installed, and nothing may be installed", r.what())
	}
	return fmt.Sprintf("needs %s, but %s, and nothing may be installed", r.what(), strings.Join(have, ", "))
}

// ask says that a person has to choose an implementation, and which there are.
func (b *binder) ask(r *Requirement) failure {
	return b.choose(r, b.offering(), "which has no default")
}

// offering are the packages that have what is needed.
func (b *binder) offering() (out []string) {
	for _, name := range b.u.cat.names {
		if slices.ContainsFunc(b.u.cat.versions(name), func(v *version) bool { return len(b.k.unmet(v.Package, b.u.rs)) == 0 }) {
			out = append(out, name)
		}
	}
	return out
}

// choose says that a person has to choose one of some packages, and why.
func (b *binder) choose(r *Requirement, offers []string, why string) failure {
	f := failure{kind: InputNeeded, text: fmt.Sprintf("needs %s, %s", r.what(), why)}
	f.need = &NeededInput{Alias: r.Alias, Kind: "package", Offers: offers}
	for _, o := range offers {
		f.hints = append(f.hints, b.u.written(b.s, r, "reference", o, fmt.Sprintf("choose %s for %s", o, r.Alias)))
	}
	return f
}

// existing are the installations that match a requirement: local ones before global ones, one that is
// already bound, or locked for it, before all others. Something else that is being installed may match as well.
func (b *binder) existing(r *Requirement, pkg string) []option {
	if r.Share.Mode == ModeNone && b.u.scope(pkg) == ScopeAny {
		return nil
	}
	var local, global []option
	var bound string
	if b.s.inst != nil {
		bound = b.s.inst.Bindings[r.Alias]
	}
	held := b.u.lockedBelow(b.s.locked, r.Alias, pkg)
	add := func(ns, name string, o option) {
		o.text = "the installation " + name
		switch {
		case held != nil && held.Namespace == ns && held.Name == path.Base(name):
			local = slices.Insert(local, 0, o)
		case bound != "" && (name == bound || strings.HasSuffix(name, "/"+bound)):
			local = slices.Insert(local, 0, o)
		case ns == b.ns:
			local = append(local, o)
		default:
			global = append(global, o)
		}
	}
	for _, i := range b.u.insts {
		if set, s := b.fitsInstallation(r, pkg, i); set != nil {
			add(i.Namespace, i.Ref(), option{slot: s.id, allowed: set})
		}
	}
	if b.u.scope(pkg) == ScopeAny {
		for _, w := range b.u.wants {
			s := b.u.wantSlot(w)
			if s == nil || s.kind != slotFresh || s.pkg != pkg || w.Namespace != b.ns && w.Namespace != "" || !b.shares(r, s.share, s.labels) {
				continue
			}
			if set := b.fitting(s, r, pkg); set.Count() > 0 {
				add(w.Namespace, w.name(), option{slot: s.id, allowed: set})
			}
		}
	}
	return append(local, global...)
}

// shares tells whether sharing and labels of an instance suit a requirement.
func (b *binder) shares(r *Requirement, have Share, labels map[string]string) bool {
	if have.Mode == ModeNone || have.Group != b.group {
		return false
	}
	for k, v := range r.Labels {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// fitsInstallation are the versions at which an installation would match; nil when none.
func (b *binder) fitsInstallation(r *Requirement, pkg string, i *Installation) (solve.Set, *slot) {
	scope := b.u.scope(i.Package)
	same := i.Package == pkg
	inScope := i.Namespace == b.ns || i.Namespace == "" || scope == ScopeCluster && same
	if !inScope || !same && !b.k.byInterface() {
		return nil, nil
	}
	if scope == ScopeAny && !b.shares(r, Share{Mode: i.Mode, Group: i.Group}, i.Labels) {
		return nil, nil
	}
	if i.Mode == ModeNone && scope != ScopeAny && r.Share.Mode == ModeNone {
		return nil, nil
	}
	if bad := b.k.missing(b.u.outputs(i)); len(bad) > 0 && scope == ScopeAny {
		return nil, nil
	}
	if v := b.u.manifest(i); b.k.id != "" && (v == nil || !b.k.offered(v.Provides, b.u.rs)) {
		return nil, nil
	}
	s := b.u.instSlot(i, nil)
	set := solve.NewSet(len(s.cands) + 1)
	found := false
	for n, c := range s.cands {
		var ok bool
		switch {
		case !same:
			ok = c.current
		case c.current:
			ok = b.inRange(r, c) && len(b.k.missing(b.u.outputs(i))) == 0
		case scope != ScopeAny:
			ok = b.fits(r, c)
		default:
			ok = b.fits(r, c) && (s.target || s.managed)
		}
		if ok {
			set.Add(n + 1)
			found = true
		}
	}
	if !found {
		return nil, nil
	}
	return set, s
}

// inRange tells whether the version of an installation is in the range; without a range any is.
func (b *binder) inRange(r *Requirement, c cand) bool {
	if r.Version == "" {
		return true
	}
	sel, err := b.u.rs.selection(r.Version)
	return err == nil && sel.admits(c.sem, c.digest, b.pre)
}

// fits tells whether a version of the catalogue can stand in: by range, and by the contract.
func (b *binder) fits(r *Requirement, c cand) bool {
	if c.v == nil {
		return false
	}
	if f := b.facts; f != nil && f.fits != nil && c.v.index >= 0 && c.v.Package.Package == f.pkg {
		return f.fits.Has(c.v.index)
	}
	return b.fitsAnew(r, c)
}

func (b *binder) fitsAnew(r *Requirement, c cand) bool {
	return c.v != nil && b.inVersions(r, c.v) && (b.k.trivial() || len(b.k.unmet(c.v.Package, b.u.rs)) == 0)
}

func (k contract) trivial() bool {
	return k.id == "" && len(k.uses) == 0 && len(k.of.Uses.Parameters) == 0 &&
		len(k.doc.Outputs)+len(k.doc.Parameters)+len(k.doc.Credentials) == 0
}

func (b *binder) inVersions(r *Requirement, v *version) bool { return v.in(r, b.pre, b.u.rs) }

// fitting are the candidates of a slot that a requirement admits. Where its range has none at all, its
// default stands in.
func (b *binder) fitting(s *slot, r *Requirement, pkg string) solve.Set {
	if f := b.facts; f != nil && f.cands != nil && f.pkg == pkg && (r.Version == "" || r.Default == "") && s.plain(b.u.cat.packages[pkg]) {
		return f.cands
	}
	set := solve.NewSet(len(s.cands) + 1)
	for i, c := range s.cands {
		if b.fits(r, c) {
			set.Add(i + 1)
		}
	}
	if r.Version != "" && r.Default != "" && !b.anyInRange(s, r) {
		only := *r
		only.Version = ""
		for i, c := range s.cands {
			if b.fitsAnew(&only, c) {
				set.Add(i + 1)
			}
		}
	}
	return set
}

func (b *binder) anyInRange(s *slot, r *Requirement) bool {
	return slices.ContainsFunc(s.cands, func(c cand) bool { return c.v != nil && b.inVersions(r, c.v) })
}

// made are the instances that can be made, or in the one place that scope leaves, changed.
func (b *binder) made(r *Requirement, pkg string) []option {
	if len(b.u.cat.versions(pkg)) == 0 {
		text := []string{fmt.Sprintf("needs %s, but %s", r.what(), b.u.unknown(pkg, r.asked()))}
		text = append(text, b.u.passed(r, &b.k, pkg, b.ns, b.group)...)
		b.failed(failure{kind: NoSolution, text: strings.Join(text, "; "), short: "no package " + pkg})
		return nil
	}
	if i := b.place(pkg); i != nil {
		s := b.u.instSlot(i, nil)
		if set := b.fitting(s, r, pkg); set.Count() > 0 {
			return []option{{slot: s.id, allowed: set, text: s.pkg + " in its one place"}}
		}
		b.failed(b.noVersion(r, pkg))
		return nil
	}
	s := b.fresh(r, "")
	set := b.fitting(s, r, pkg)
	if set.Count() == 0 {
		b.failed(b.noVersion(r, pkg))
		return nil
	}
	out := []option{{slot: s.id, allowed: set, text: "a new " + pkg, fresh: r.Package != ""}}
	if e := b.u.cat.packages[pkg]; b.u.scope(pkg) == ScopeAny && e.ranges > 1 && r.Share.Mode != ModeNone && b.known {
		own := b.fresh(r, r.Version+"|"+r.Default)
		out = append(out, option{slot: own.id, allowed: b.fitting(own, r, pkg), text: "a new " + pkg + " beside the shared one", fresh: r.Package != ""})
	}
	return out
}

// noVersion says which versions there are and why each falls away.
func (b *binder) noVersion(r *Requirement, pkg string) failure {
	var lacks []string
	without := map[string][]string{} // versions by what they lack
	for _, v := range b.u.cat.versions(pkg) {
		if !b.inVersions(r, v) {
			continue
		}
		what := strings.Join(b.k.unmet(v.Package, b.u.rs), ", no ")
		if without[what] == nil {
			lacks = append(lacks, what)
		}
		without[what] = append(without[what], v.Version)
	}
	var why []string
	for _, what := range lacks {
		why = append(why, fmt.Sprintf("%s %s has no %s", pkg, shorten(without[what], 3), what))
	}
	f := failure{kind: NoSolution, short: fmt.Sprintf("no version %s of %s", strings.TrimLeft(strings.TrimPrefix(r.what(), pkg), " @"), pkg)}
	if len(why) == 0 {
		f.text = fmt.Sprintf("needs %s, but %s", r.what(), b.u.offers(pkg, r.asked()))
		return f
	}
	f.text = fmt.Sprintf("needs %s, but %s", r.what(), shorten(why, 3)) + b.u.unusableOf(pkg, r.asked())
	if r.Package == "" { // a default, which need not be
		for _, o := range b.offering() {
			f.hints = append(f.hints, b.u.written(b.s, r, "reference", o, fmt.Sprintf("choose %s for %s", o, r.Alias)))
		}
	}
	return f
}

// fresh is the slot of a new instance: the place that scope leaves, one that is shared by all requirements of
// the same definition, or, where nothing may be shared, one for this parent alone.
func (b *binder) fresh(r *Requirement, own string) *slot {
	pkg := b.u.cat.packageOf(r)
	key, private, ns := b.u.scopeKey(pkg, b.ns), false, b.ns
	switch {
	case key != "":
		switch {
		case b.u.scope(pkg) != ScopeCluster:
		case b.u.in.ClusterNamespace != nil:
			ns = *b.u.in.ClusterNamespace
		case len(b.u.wants) > 0:
			ns = b.u.wants[0].Namespace
		}
	case r.Share.Mode == ModeNone || !b.known:
		for a := b.s; a != nil; a = a.parent {
			if a.kind == slotFresh && a.pkg == pkg {
				return a // a cycle: it is reported as one
			}
		}
		key, private = fmt.Sprintf("private/%d/%s/%s", b.s.id, r.Alias, pkg), true
	default:
		key = fmt.Sprintf("any/%s/%s/%s/%v/%v/%s", pkg, b.ns, b.group, canonical(r.Labels), canonical(b.params), own)
		if r.Interface != nil {
			key += canonical(r.Interface)
		}
	}
	if s := b.u.byKey[key]; s != nil {
		return s
	}
	if s := recurring(b.s, pkg); s != nil {
		return s
	}
	s := &slot{kind: slotFresh, pkg: pkg, namespace: ns, root: b.s.root, labels: r.Labels, maker: b.s}
	s.locked = b.u.lockedBelow(b.s.locked, b.r.Alias, pkg)
	s.share = Share{Mode: r.Share.Mode, Group: b.group}
	s.params = b.params
	if private {
		s.parent = b.s
	}
	b.u.addSlot(key, s)
	s.cands = b.u.candidates(s)
	b.u.holdPlaced(s)
	return s
}

// recurring is the second instance of a package on the way to a slot, where there is one: templates that grow
// with every step would otherwise make instances without end. Meeting it again is a cycle, and told as one.
func recurring(s *slot, pkg string) *slot {
	n := 0
	for ; s != nil; s = s.maker {
		if s.kind == slotFresh && s.pkg == pkg {
			if n++; n == 2 {
				return s
			}
		}
	}
	return nil
}
