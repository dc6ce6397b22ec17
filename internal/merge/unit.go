package merge

import (
	"bytes"
	"path"
	"sort"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// version is one of the three inputs, indexed.
type version struct {
	pkg   *krm.Package
	files map[string]krm.File
	docs  map[string][]*krm.Resource
}

func newVersion(p *krm.Package) *version {
	v := &version{pkg: p, files: map[string]krm.File{}, docs: byPath(p)}
	for _, name := range p.Paths() {
		v.files[name], _ = p.Read(name)
	}
	return v
}

// byPath lists the resources of each file.
func byPath(p *krm.Package) map[string][]*krm.Resource {
	out := map[string][]*krm.Resource{}
	for _, r := range p.Resources() {
		out[r.Path()] = append(out[r.Path()], r)
	}
	return out
}

// kptfile is the Kptfile of a unit; nil where there is none.
func (v *version) kptfile(unit string) *krm.Resource { return v.pkg.Kptfile(unit) }

// merger is one merge of packages.
type merger struct {
	o         Options
	whole     bool // files without resources are not looked into
	b, u, l   *version
	closed    map[string]bool // files that one version cannot be read of: they are merged as a whole
	out       *krm.Package
	units     map[string]*unit
	open      []*unitMerge // whose resources are still to be merged
	handles   map[docPlace]*krm.Resource
	conflicts []Conflict
}

// unit is a package or subpackage: the files of a directory with a Kptfile
// that are in no deeper one.
type unit struct {
	dir   string // "." for the root
	paths []string
}

func newMerger(base, upstream, local *krm.Package, o Options) *merger {
	m := &merger{
		o: o, b: newVersion(base), u: newVersion(upstream), l: newVersion(local),
		out: local.Clone(), units: map[string]*unit{".": {dir: "."}}, closed: map[string]bool{},
	}
	all := map[string]bool{}
	for _, v := range []*version{m.b, m.u, m.l} {
		for _, problem := range v.pkg.Problems() {
			m.closed[problem.Path] = true
		}
		for p := range v.files {
			all[p] = true
			if path.Base(p) == kptfilev1.KptFileName && m.units[path.Dir(p)] == nil {
				m.units[path.Dir(p)] = &unit{dir: path.Dir(p)}
			}
		}
	}
	for p := range all {
		u := m.unitOf(p)
		u.paths = append(u.paths, p)
	}
	for _, u := range m.units {
		sort.Strings(u.paths)
	}
	return m
}

func (m *merger) unitOf(p string) *unit {
	for {
		p = path.Dir(p)
		if u := m.units[p]; u != nil {
			return u
		}
	}
}

// sortedUnits lists the units, each before those below it.
func (m *merger) sortedUnits() []*unit {
	out := make([]*unit, 0, len(m.units))
	for _, u := range m.units {
		out = append(out, u)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].dir == "." || out[j].dir == "." {
			return out[i].dir == "." && out[j].dir != "."
		}
		return out[i].dir < out[j].dir
	})
	return out
}

// exists says whether a version has the unit.
func (v *version) exists(u *unit) bool {
	for _, p := range u.paths {
		if _, ok := v.files[p]; ok {
			return true
		}
	}
	return false
}

// independent says whether local points a unit, or what it is within, at
// another upstream than base has for it: only its own update changes it then.
func (m *merger) independent(u *unit) bool {
	for dir := u.dir; dir != "."; dir = path.Dir(dir) {
		b, l := yamltree.Child(ynode(m.b.kptfile(dir)), "upstream"), yamltree.Child(ynode(m.l.kptfile(dir)), "upstream")
		if l != nil && !equal(without(b, "updateStrategy"), without(l, "updateStrategy")) {
			return true
		}
	}
	return false
}

// remove drops a file of the merged package.
func (m *merger) remove(p string) {
	m.out.Remove(p)
}

// write adds or replaces a file of the merged package.
func (m *merger) write(f krm.File) {
	m.out.Write(f)
}

func sameFile(a, b *krm.File) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Mode == b.Mode && bytes.Equal(a.Data, b.Data)
}

func sameData(a, b *krm.File) bool {
	if a == nil || b == nil {
		return a == b
	}
	return (a.Mode == krm.Symlink) == (b.Mode == krm.Symlink) && bytes.Equal(a.Data, b.Data)
}

func (v *version) file(p string) *krm.File {
	if f, ok := v.files[p]; ok {
		return &f
	}
	return nil
}

// change is one file in three versions; nil where a version has none.
type change struct {
	path    string
	b, u, l *krm.File
}

func (m *merger) change(p string) change {
	return change{path: p, b: m.b.file(p), u: m.u.file(p), l: m.l.file(p)}
}

// mode merges the mode of a file that stays or comes.
func (c change) mode() krm.Mode {
	switch {
	case c.l == nil:
		return c.u.Mode
	case c.u == nil || c.b != nil && c.u.Mode == c.b.Mode:
		return c.l.Mode
	}
	return c.u.Mode
}

// result sorts what the merge brought.
func (m *merger) result() (*Result, error) {
	for i, c := range m.conflicts {
		m.conflicts[i].Fate = m.o.fate(c)
	}
	sort.SliceStable(m.conflicts, func(i, j int) bool { return m.conflicts[i].Path < m.conflicts[j].Path })
	return &Result{Package: m.out, Conflicts: m.conflicts}, nil
}

// noteFile notes a conflict about a file or, with a directory, a subpackage.
func (m *merger) noteFile(c change, winner Side) {
	f := Conflict{Path: c.path, Winner: winner, Base: fileDigest(c.b), Upstream: fileDigest(c.u), Local: fileDigest(c.l)}
	if c.u == nil && winner == Local && !m.o.Guess {
		f.Fate = KeptThoughRemoved
	}
	m.conflicts = append(m.conflicts, f)
}

func (m *merger) noteUnit(u *unit, b, up, l string) {
	c := Conflict{Path: u.dir, Base: b, Upstream: up, Local: l, Winner: Local}
	if up == "" && !m.o.Guess {
		c.Fate = KeptThoughRemoved
	}
	m.conflicts = append(m.conflicts, c)
}

func ynode(r *krm.Resource) *yaml.Node {
	if r == nil {
		return nil
	}
	return r.Node().YNode()
}
