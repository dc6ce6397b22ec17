package krm

import (
	"encoding/json"
	"errors"
	"path"
	"slices"
	"sort"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// Clone returns an independent copy. It copies no tree but those that were
// edited.
func (p *Package) Clone() *Package {
	c := &Package{limits: p.limits, cache: p.cache, touched: p.touched, files: make([]*file, len(p.files))}
	n := 0
	for _, f := range p.files {
		n += len(f.docs)
	}
	files := make([]file, len(p.files))
	slab := make([]Resource, 0, n)
	handles := make([]*Resource, 0, n)
	for i, f := range p.files {
		start := len(handles)
		for _, r := range f.docs {
			slab = append(slab, *r)
			nr := &slab[len(slab)-1]
			nr.pkg = c
			if r.node != nil {
				nr.node = copyRNode(r.node)
			}
			handles = append(handles, nr)
		}
		// The capacity ends with the file: an added resource must not reach the next file's.
		files[i] = file{parsed: f.parsed, docs: handles[start:len(handles):len(handles)]}
		c.files[i] = &files[i]
	}
	if p.order != nil {
		c.order = p.reorder(c)
	}
	return c
}

// reorder lists the resources of the clone c in the order of p.
func (p *Package) reorder(c *Package) []*Resource {
	twin := make(map[*Resource]*Resource, len(p.order))
	for i, f := range p.files {
		for j, r := range f.docs {
			twin[r] = c.files[i].docs[j]
		}
	}
	out := make([]*Resource, 0, len(p.order))
	for _, r := range p.order {
		if t, ok := twin[r]; ok {
			out = append(out, t)
		}
	}
	return out
}

func copyRNode(n *yaml.RNode) *yaml.RNode { return yaml.NewRNode(yamltree.Copy(n.Document())) }

// Paths lists the files, sorted; those that lost their last document are left out.
func (p *Package) Paths() []string {
	out := make([]string, 0, len(p.files))
	for _, f := range p.files {
		if !f.gone() {
			out = append(out, f.Path)
		}
	}
	return out
}

// Read returns a file with its present bytes, edits included. An edit that
// cannot be written (Files says why) leaves the bytes as they were.
func (p *Package) Read(path string) (File, bool) {
	i, ok := p.find(path)
	if !ok || p.files[i].gone() {
		return File{}, false
	}
	f, err := p.files[i].bytes()
	if err != nil {
		return p.files[i].File, true
	}
	return f, true
}

// Write adds or replaces a file; its YAML is parsed anew.
func (p *Package) Write(f File) {
	p.touched = true
	if p.limits == (Limits{}) {
		p.limits = p.limits.withDefaults()
	}
	p.put(p.open(p.parseFile(f))[0])
}

// WriteIf is Write where fits holds for what it replaces: the resources that the
// file has now, and those that it would have. It reports whether the file was
// written; a file that cannot be read is not. Only what differs from the file in
// this package and in like is parsed.
func (p *Package) WriteIf(f File, like *Package, fits func(now, then []*Resource) bool) bool {
	parsed := p.parseFile(f, p.content(f.Path).known, like.content(f.Path).known)
	if parsed.problem != nil || isJSON(f.Path) && !json.Valid(f.Data) {
		return false
	}
	nf := p.open(parsed)[0]
	var now []*Resource
	if i, ok := p.find(f.Path); ok {
		now = slices.DeleteFunc(slices.Clone(p.files[i].docs), (*Resource).Deleted)
	}
	if !fits(now, nf.docs) {
		return false
	}
	p.touched = true
	p.put(nf)
	return true
}

// Reread writes the files that were edited and reads them again, so that each
// tree, comments included, is that of its text. It fails as Files does, and for a
// text that cannot be read.
func (p *Package) Reread() error {
	var errs []error
	for _, f := range slices.Clone(p.files) {
		if !f.dirty() || f.gone() {
			continue
		}
		b, err := f.bytes()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		parsed := p.parseFile(b, f.read, f.content.known)
		if parsed.problem != nil {
			errs = append(errs, *parsed.problem)
			continue
		}
		p.touched = true
		p.put(p.open(parsed)[0])
	}
	return errors.Join(errs...)
}

// read is known for the texts that PutText put.
func (f *file) read(i int) ([]byte, *yaml.Node) {
	if i < len(f.docs) && f.docs[i].put != nil && f.docs[i].put.read {
		return f.docs[i].put.last.text, f.docs[i].put.tree
	}
	return nil, nil
}

// content returns what a file was parsed as, nil where it was not.
func (p *Package) content(path string) *content {
	if i, ok := p.find(path); ok {
		return p.files[i].content
	}
	return nil
}

func (p *Package) put(nf *file) {
	i, ok := p.find(nf.Path)
	if ok {
		p.forget(p.files[i].docs)
		p.files[i] = nf
	} else {
		p.files = slices.Insert(p.files, i, nf)
	}
	if p.order != nil {
		p.order = append(p.order, nf.docs...)
	}
}

// forget takes resources out of a given order.
func (p *Package) forget(gone []*Resource) {
	if p.order != nil && len(gone) > 0 {
		p.order = slices.DeleteFunc(p.order, func(r *Resource) bool { return slices.Contains(gone, r) })
	}
}

// Remove drops a file and its resources.
func (p *Package) Remove(path string) {
	if i, ok := p.find(path); ok {
		p.touched = true
		p.forget(p.files[i].docs)
		p.files = slices.Delete(p.files, i, i+1)
	}
}

// Resources lists the KRM documents by path, then by place in the file; those
// of a package made FromNodes in the order given, added ones last. Handles
// stay valid until their file is written or removed.
func (p *Package) Resources() []*Resource {
	n := 0
	for _, f := range p.files {
		n += len(f.docs)
	}
	out := make([]*Resource, 0, n)
	if p.order != nil {
		for _, r := range p.order {
			if !r.deleted {
				out = append(out, r)
			}
		}
		return out
	}
	for _, f := range p.files {
		for _, r := range f.docs {
			if !r.deleted {
				out = append(out, r)
			}
		}
	}
	return out
}

// Problems lists the files whose YAML could not be read, by path.
func (p *Package) Problems() []Problem {
	var out []Problem
	for _, f := range p.files {
		if f.problem != nil {
			out = append(out, *f.problem)
		}
	}
	return out
}

var errForeign = errors.New("it is YAML without apiVersion and kind, no KRM resource")

// Foreign lists the files in which a document was read that is no KRM resource,
// by path, each with the line of the first such document.
func (p *Package) Foreign() []Problem {
	var out []Problem
	for _, f := range p.files {
		for i := range f.parsed.docs {
			if d := &f.parsed.docs[i]; d.meta.kind == "" && !yamltree.IsNull(d.root) {
				out = append(out, Problem{Path: f.Path, Line: d.line + yamltree.Deref(d.root).Line, Err: errForeign})
				break
			}
		}
	}
	return out
}

// Kptfile returns the Kptfile resource of a directory of the package, "" or
// "." for the root; nil where there is none.
func (p *Package) Kptfile(dir string) *Resource {
	i, ok := p.find(path.Join(dir, "Kptfile"))
	if !ok {
		return nil
	}
	for _, r := range p.files[i].docs {
		if !r.deleted && r.Kind() == "Kptfile" {
			return r
		}
	}
	return nil
}

// Subpackages lists the directories below the root that have a Kptfile, sorted.
func (p *Package) Subpackages() []string {
	var out []string
	for _, f := range p.files {
		if dir, base := path.Split(f.Path); base == "Kptfile" && dir != "" && !f.gone() {
			out = append(out, path.Clean(dir))
		}
	}
	sort.Strings(out)
	return out
}

// Add appends a resource to the file at path, made where missing. The package
// takes the tree over.
func (p *Package) Add(path string, node *yaml.RNode) *Resource {
	r := &Resource{pkg: p, node: node}
	p.append(path, r)
	if p.order != nil {
		p.order = append(p.order, r)
	}
	return r
}

// append puts a resource behind the last document of a file.
func (p *Package) append(path string, r *Resource) {
	i, ok := p.find(path)
	if !ok {
		p.files = slices.Insert(p.files, i, &file{parsed: &parsed{File: File{Path: path}}})
	}
	f := p.files[i]
	r.path, r.index = path, 0
	for i := range f.parsed.docs {
		if !yamltree.IsNull(f.parsed.docs[i].root) {
			r.index = f.parsed.docs[i].index + 1
		}
	}
	for _, other := range f.docs {
		r.index = max(r.index, other.index+1)
	}
	f.docs = append(f.docs, r)
}

// Dirty reports whether anything may differ from what was parsed: a resource
// was opened for editing, added, moved or deleted, a file written or removed.
func (p *Package) Dirty() bool {
	return p.touched || slices.ContainsFunc(p.files, (*file).dirty)
}

// Changed reports whether anything does differ in meaning from what was
// parsed, or a file was written or removed.
func (p *Package) Changed() bool {
	if p.touched {
		return true
	}
	for _, f := range p.files {
		if len(f.docs) != f.krm || slices.ContainsFunc(f.docs, (*Resource).Changed) {
			return true
		}
	}
	return false
}

func (p *Package) find(path string) (int, bool) {
	i := sort.Search(len(p.files), func(i int) bool { return p.files[i].Path >= path })
	return i, i < len(p.files) && p.files[i].Path == path
}

// dirty reports whether the file's bytes have to be made anew.
func (f *file) dirty() bool {
	return len(f.docs) != f.krm || slices.ContainsFunc(f.docs, func(r *Resource) bool {
		return r.edited() != nil || r.deleted || r.from != f.parsed
	})
}

// gone reports whether a file lost its documents and has nothing else left.
func (f *file) gone() bool {
	for _, r := range f.docs {
		if !r.deleted {
			return false
		}
	}
	if !f.dirty() {
		return false
	}
	for i := range f.parsed.docs {
		if d := &f.parsed.docs[i]; d.meta.kind == "" && !trivialText(f.Data[d.start:d.end]) {
			return false
		}
	}
	return f.problem == nil && (len(f.parsed.docs) > 0 || len(f.Data) == 0)
}
