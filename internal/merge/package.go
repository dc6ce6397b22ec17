package merge

import (
	"errors"
	"path"
	"slices"
	"sort"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// resourceMerge merges unit by unit.
func (m *merger) resourceMerge() error {
	if m.o.Subpackage && m.followsOther() {
		return nil
	}
	var errs []error
	for _, u := range m.sortedUnits() {
		if u.dir != "." && m.independent(u) {
			continue
		}
		errs = append(errs, m.mergeUnit(u))
	}
	m.index()
	for _, w := range m.open {
		errs = append(errs, w.run())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, w := range m.open {
		w.mergeTexts()
	}
	return m.reread()
}

// reread makes the trees of the merged package those of its texts, so that what
// follows sees the comments that the files have.
func (m *merger) reread() error {
	if err := m.out.Reread(); err != nil {
		return err
	}
	m.noteComments()
	return nil
}

// followsOther says whether local was pointed at another upstream than base.
func (m *merger) followsOther() bool {
	b, l := ynode(m.b.kptfile(".")), ynode(m.l.kptfile("."))
	was := yamltree.Path(b, "upstream", "git")
	return yamltree.Child(b, "upstream") != nil && !equal(was, yamltree.Path(l, "upstream", "git"))
}

// mergeUnit decides what becomes of a package as a whole, and merges what needs
// no look into its files.
func (m *merger) mergeUnit(u *unit) error {
	b, up, l := m.b.exists(u), m.u.exists(u), m.l.exists(u)
	if u.dir == "." || l && up {
		return m.mergeFiles(u)
	}
	switch {
	case up && !b: // new in upstream
		for _, p := range u.paths {
			m.opaque(m.change(p))
		}
	case up: // deleted locally
		if !m.alike(u, m.b, m.u) {
			m.noteUnit(u, "(subpackage)", "(changed)", "")
		}
	case l && b: // deleted upstream
		if m.o.Guess || !m.untouched(u) {
			m.noteUnit(u, "(subpackage)", "", "(changed)")
			return nil
		}
		for _, p := range u.paths {
			m.remove(p)
		}
	}
	return nil
}

func (m *merger) alike(u *unit, a, b *version) bool {
	for _, p := range u.paths {
		if !sameFile(a.file(p), b.file(p)) {
			return false
		}
	}
	return true
}

// untouched says whether local has a unit as base has it, but for what kpt notes in
// the resources that it fetches.
func (m *merger) untouched(u *unit) bool {
	for _, p := range u.paths {
		b, l := m.b.docs[p], m.l.docs[p]
		if sameFile(m.b.file(p), m.l.file(p)) {
			continue
		}
		if len(b) == 0 || m.b.files[p].Mode != m.l.files[p].Mode || !slices.EqualFunc(b, l, func(x, y *krm.Resource) bool { return equal(unmarked(ynode(x)), unmarked(ynode(y))) }) ||
			addsLine(commentLines(m.b.file(p)), commentLines(m.l.file(p))) {
			return false
		}
	}
	return true
}

// unitMerge is the merge of the files of one unit.
type unitMerge struct {
	*merger
	unit    *unit
	changes []change        // files that are not the same in all versions
	whole   map[string]bool // taken from upstream as they are, or removed with it
	pairs   []*mergedPair
}

// mergeFiles merges a unit that both sides have.
func (m *merger) mergeFiles(u *unit) error {
	w := &unitMerge{merger: m, unit: u, whole: map[string]bool{}}
	upstreamChanged := false
	for _, p := range u.paths {
		c := m.change(p)
		if sameFile(c.b, c.u) && sameFile(c.b, c.l) {
			continue
		}
		upstreamChanged = upstreamChanged || !sameFile(c.b, c.u)
		if path.Base(p) == kptfilev1.KptFileName && path.Dir(p) == u.dir {
			if err := m.mergeKptfile(u, c, u.dir != "." || m.o.Subpackage); err != nil {
				return err
			}
			continue
		}
		w.changes = append(w.changes, c)
	}
	if upstreamChanged {
		w.takeWhole()
		m.open = append(m.open, w)
	}
	return nil
}

// run merges the resources of the files that changed.
func (w *unitMerge) run() error {
	var sides [3][]*item
	for _, c := range w.changes {
		if w.closed[c.path] {
			continue
		}
		for s, v := range []*version{w.b, w.u, w.l} {
			for _, r := range v.docs[c.path] {
				sides[s] = append(sides[s], newItem(r))
			}
		}
	}
	if err := w.dropDuplicates(&sides); err != nil {
		return err
	}
	var errs []error
	for _, t := range pairItems(sides[0], sides[1], sides[2], w.fixed()) {
		errs = append(errs, w.apply(t))
	}
	return errors.Join(errs...)
}

// takeWhole merges the files that need no look into them.
func (w *unitMerge) takeWhole() {
	for _, c := range w.changes {
		switch {
		case !w.hasDocs(c.path):
			w.opaque(c)
		case sameFile(c.b, c.u) || sameFile(c.u, c.l):
		case sameData(c.b, c.l) && (!w.o.Guess || c.l == nil):
			w.whole[c.path] = true
			w.follow(c)
		case c.l != nil && c.u != nil && c.l.Mode != c.mode():
			f := *c.l
			f.Mode = c.mode()
			w.write(f)
		}
	}
}

// hasDocs reports whether a file is merged by its resources.
func (w *unitMerge) hasDocs(p string) bool {
	return !w.closed[p] && len(w.b.docs[p])+len(w.u.docs[p])+len(w.l.docs[p]) > 0
}

// fixed lists the identities in files that no side changed.
func (w *unitMerge) fixed() identities {
	open := map[string]bool{}
	for _, c := range w.changes {
		open[c.path] = true
	}
	out := identities{map[krm.ID]bool{}, map[krm.ID]bool{}}
	for _, p := range w.unit.paths {
		if open[p] {
			continue
		}
		for _, r := range w.l.docs[p] {
			out.key[loose(identity(r))], out.id[loose(r.ID())] = true, true
		}
	}
	return out
}

// docPlace is a document of a file.
type docPlace struct {
	path  string
	index int
}

// index finds the resources of the merged package, once no file is replaced
// any more.
func (m *merger) index() {
	m.handles = map[docPlace]*krm.Resource{}
	if len(m.open) == 0 {
		return
	}
	for _, r := range m.out.Resources() {
		m.handles[docPlace{r.Path(), r.Index()}] = r
	}
}

// handle is the resource of the merged package that a resource of local, or of
// a file that was taken from upstream, became.
func (m *merger) handle(it *item) *krm.Resource {
	return m.handles[docPlace{it.path, it.r.Index()}]
}

// apply brings one resource to its merged state.
func (w *unitMerge) apply(t *tuple) error {
	switch {
	case t.u == nil && t.l == nil, t.u == nil && t.b == nil:
		return nil
	case t.b == nil && t.l == nil:
		w.addNew(t)
		return nil
	case t.u == nil:
		w.deletedUpstream(t)
		return nil
	case t.l == nil:
		w.deletedLocally(t)
		return nil
	}
	return w.mergeBoth(t)
}

func (w *unitMerge) addNew(t *tuple) {
	if !w.whole[t.u.path] {
		w.add(t.u.path, adopt(t.u.tree()))
	}
}

func (w *unitMerge) add(p string, n *yaml.Node) {
	w.out.Add(p, yaml.NewRNode(n))
}

func (w *unitMerge) deletedUpstream(t *tuple) {
	s := schemaField{next: schemaFor(t.l.r.APIVersion(), t.l.r.Kind())}
	if w.o.Guess || w.doc(t.l.r).edited(s, unmarked(t.b.tree()), unmarked(t.l.tree())) || w.remarked(t) {
		w.noteWhole(t)
		return
	}
	w.drop(t.l)
}

func (w *unitMerge) deletedLocally(t *tuple) {
	if !equal(t.b.tree(), t.u.tree()) {
		w.noteWhole(t)
	}
	if w.whole[t.u.path] {
		w.delete(t.u)
	}
}

// drop deletes a local resource, unless its file was replaced anyway.
func (w *unitMerge) drop(it *item) {
	if !w.whole[it.path] {
		w.delete(it)
	}
}

func (w *unitMerge) delete(it *item) {
	if r := w.handle(it); r != nil {
		r.Delete()
	}
}

// mergeBoth merges a resource that both sides have. It goes where local moved
// it, else where upstream did.
func (w *unitMerge) mergeBoth(t *tuple) error {
	if w.whole[t.l.path] && t.u.path == t.l.path {
		return nil
	}
	target := t.l.path
	switch {
	case t.b == nil:
		if !w.o.Guess {
			target = t.u.path
		}
	case t.u.path == t.l.path || t.u.path == t.b.path:
	case t.l.path == t.b.path:
		target = t.u.path
	default:
		w.notePlaces(t)
	}
	p, err := w.mergeItems(t, target)
	if err != nil {
		return err
	}
	n := p.tree
	w.pairs = append(w.pairs, p)
	if target != t.l.path {
		w.move(t, n)
		return nil
	}
	if w.whole[t.u.path] && t.u.path != target {
		w.delete(t.u)
	}
	if n != t.l.tree() {
		w.set(t, t.l, n)
	}
	return nil
}

// notePlaces notes that both sides moved a resource, each to another file.
func (w *unitMerge) notePlaces(t *tuple) {
	w.conflicts = append(w.conflicts, Conflict{
		Path: t.l.path, Line: t.l.r.Line(), Resource: t.l.shown(), Field: "(file)",
		Base: t.b.path, Upstream: t.u.path, Local: t.l.path, Winner: Local,
	})
}

// move puts a merged resource into the file where upstream moved it.
func (w *unitMerge) move(t *tuple, n *yaml.Node) {
	r := w.handle(t.l)
	switch {
	case w.whole[t.u.path]:
		w.drop(t.l)
		if !yamltree.SameText(n, t.u.tree()) {
			w.set(t, t.u, n)
		}
	case w.whole[t.l.path] || r == nil: // its file is gone
		w.add(t.u.path, yamltree.Copy(n))
	default:
		w.set(t, t.l, n)
		r.Move(t.u.path)
	}
}

// set gives a resource of the merged package its merged tree, which shares what it
// can with the three.
func (w *unitMerge) set(t *tuple, it *item, n *yaml.Node) {
	if r := w.handle(it); r != nil {
		if t.settled() {
			r.Put(n)
		} else {
			r.Replace(yaml.NewRNode(yamltree.Copy(n)))
		}
	}
}

// dropDuplicates takes out the resources that are in one file twice. That is
// an error only where upstream changed them and the file is not taken whole.
func (w *unitMerge) dropDuplicates(sides *[3][]*item) error {
	doubled := findDoubled(sides)
	if len(doubled) == 0 {
		return nil
	}
	groups := [3]map[place][]*yaml.Node{{}, {}, {}}
	for s := range sides {
		var kept []*item
		for _, it := range sides[s] {
			k := it.loosePlace()
			if doubled[k] == nil {
				kept = append(kept, it)
				continue
			}
			groups[s][k] = append(groups[s][k], it.tree())
		}
		sides[s] = kept
	}
	var errs []error
	for k, err := range doubled {
		if w.whole[k.path] || alike(groups[0][k], groups[1][k]) || alike(groups[1][k], groups[2][k]) {
			continue
		}
		errs = append(errs, err)
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errors.Join(errs...)
}

// findDoubled lists what one version has twice in one file, local first.
func findDoubled(sides *[3][]*item) map[place]error {
	doubled := map[place]error{}
	for s := 2; s >= 0; s-- {
		seen := map[place]bool{}
		for _, it := range sides[s] {
			k := it.loosePlace()
			if seen[it.place()] && doubled[k] == nil {
				doubled[k] = &DuplicateError{Side: [3]string{"base", "upstream", "local"}[s], Path: it.path, Resource: it.key}
			}
			seen[it.place()] = true
		}
	}
	return doubled
}
