// Package importer finds what existing folders have in common: a package, its
// parameters, and the values of each folder.
//
//	found, err := importer.Import(folders, importer.Options{Package: "web"})
//
// Resources are aligned by identity without the folder's name, lists by key, lists of
// single values as sets. A value that has a name of the folder's path in it is a
// template. A value that varies is a parameter where values repeat, or follows from
// another parameter. What is left stays an edit of its folder. The same folders give
// the same bytes, in whatever order.
//
// The package is pure. See docs/how-to/import.md.
package importer

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/krm"
)

// What counts as common, in percent.
const (
	common       = 60 // of folders have a value of the base; of fields a base must explain
	follows      = 99 // of folders in which a value follows from a parameter
	support      = 80 // of folders that a rule must be seen in
	seldom       = 2  // of folders: a value that fewer have is an edit
	outlying     = 50 // of a folder's fields that the base must explain
	usual        = 20 // of folders that have a text of the base that is no default
	least        = 10 // of all folders that a package must have
	mostPackages = 8
	mostParams   = 12
	leastFolders = 2
)

// Folder is one folder of the source.
type Folder struct {
	Path  string // below the source: eu/c001
	Names []Name // of its path, the folder's own first
	Files []krm.File
	// Problem is why it is left alone.
	Problem string
}

// Name is a folder's or an ancestor's, with the parameter that it gives.
type Name struct{ Parameter, Value string }

// Options say what the result is called.
type Options struct {
	Package string
}

// Result is what was found.
type Result struct {
	Packages []*Package
	// Skipped are folders that belong to no package, by path.
	Skipped        []Skipped
	Folders, Files int
}

// Skipped is a folder that is left alone.
type Skipped struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Package is one base with its folders.
type Package struct {
	Name  string
	Kind  string // of the objects
	Files []krm.File
	// PackageExpr computes a folder's path from its object, in CEL.
	PackageExpr string
	// Folders are sorted by path.
	Folders    []*Variant
	Parameters []*Parameter
	// Edits are fields of the base whose values stay edits.
	Edits []Edit
	// Fields are those of resources that folders share, Others count the other resources.
	Fields, Explained, Others int
}

// Variant is a folder as a variant of a Package.
type Variant struct {
	Folder Folder
	Object string // its name
	Data   []byte // the object
	// Resources are those that the base has, with so many Fields; Others are the rest.
	Resources, Fields, Explained, Others int
}

// Parameter is a value that folders give.
type Parameter struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Path reports whether the folder's path gives it.
	Path    bool    `json:"path,omitempty"`
	Default string  `json:"default,omitempty"`
	Values  []Value `json:"values"`
	Fields  int     `json:"fields"`
	// Follows is the parameter that gives the value, but for Contradictions.
	Follows        string          `json:"follows,omitempty"`
	Contradictions []Contradiction `json:"contradictions,omitempty"`
}

// Value is one of a parameter's, with the number of folders that have it.
type Value struct {
	Value   string `json:"value"`
	Folders int    `json:"folders"`
}

// Contradiction is a folder whose value is not the one that follows.
type Contradiction struct {
	Folder   string `json:"folder"`
	Value    string `json:"value"`
	Expected string `json:"expected"`
}

// Edit is a field whose values stay edits.
type Edit struct {
	Field   string `json:"field"`
	Folders int    `json:"folders"`
	Why     string `json:"why"`
}

// NoBaseError is returned where folders have too little in common.
type NoBaseError struct {
	Folders, Shared, Resources int
}

func (e *NoBaseError) Error() string {
	return fmt.Sprintf("these %d folders share %d of %s; there is no common base", e.Folders, e.Shared, count.Of(e.Resources, "resource"))
}

// Import finds the common base of folders, or several. It returns a *NoBaseError where
// there is none.
func Import(ctx context.Context, folders []Folder, o Options) (*Result, error) {
	out := &Result{Folders: len(folders)}
	all := make([]*folder, len(folders))
	err := cores.Each(ctx, 0, len(folders), func(i int) (err error) {
		all[i], err = read(folders[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *folder) int { return strings.Compare(a.Path, b.Path) })
	var open []*folder
	for _, f := range all {
		out.Files += len(f.Files)
		switch {
		case f.problem != "":
			out.Skipped = append(out.Skipped, Skipped{f.Path, f.problem})
		case len(f.resources) == 0:
			out.Skipped = append(out.Skipped, Skipped{f.Path, "it has no resources"})
		default:
			open = append(open, f)
		}
	}
	readable := open
	if len(open) < leastFolders {
		why := ""
		for _, s := range out.Skipped[:min(len(out.Skipped), 3)] {
			why += fmt.Sprintf("; %s: %s", s.Path, s.Why)
		}
		return nil, fmt.Errorf("%d of %d folders can be imported, and a common base needs two%s", len(open), len(folders), why)
	}
	for len(open) >= max(leastFolders, least*len(readable)/100) && len(out.Packages) < mostPackages {
		name := o.Package
		if n := len(out.Packages); n > 0 {
			name = fmt.Sprintf("%s-%d", o.Package, n+1)
		}
		p, rest, err := findPackage(open, name)
		if err != nil {
			return nil, err
		}
		if p == nil || len(p.Folders)*100 < least*len(readable) {
			break
		}
		out.Packages, open = append(out.Packages, p), rest
	}
	placed := 0
	for _, p := range out.Packages {
		placed += len(p.Folders)
	}
	if placed*100 < common*len(readable) || placed == 0 {
		return nil, noBase(readable)
	}
	for _, f := range open {
		out.Skipped = append(out.Skipped, Skipped{f.Path, "it looks like no other folder"})
	}
	slices.SortFunc(out.Skipped, func(a, b Skipped) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

func noBase(folders []*folder) error {
	keys, shared := map[string]int{}, 0
	for _, f := range folders {
		for _, r := range f.resources {
			keys[r.key]++
		}
	}
	for _, n := range keys {
		if n*100 >= common*len(folders) {
			shared++
		}
	}
	return &NoBaseError{Folders: len(folders), Shared: shared, Resources: len(keys)}
}

// findPackage makes a package of the folders that share most, and returns the others.
func findPackage(folders []*folder, name string) (*Package, []*folder, error) {
	near, rest := nearest(folders)
	for range 3 { // outliers distort what is common: without them it is found again
		if len(near) < leastFolders {
			return nil, folders, nil
		}
		m, err := newModel(near, name)
		if err != nil {
			return nil, nil, err
		}
		var kept []*folder
		for i, f := range near {
			if m.explained[i]*100 >= outlying*m.size() {
				kept = append(kept, f)
			} else {
				rest = append(rest, f)
			}
		}
		if len(kept) < len(near) {
			near = kept
			continue
		}
		p, err := m.pkg()
		if err != nil || !p.explains() {
			return nil, folders, err
		}
		slices.SortFunc(rest, func(a, b *folder) int { return strings.Compare(a.Path, b.Path) })
		return p, rest, nil
	}
	return nil, folders, nil
}

// explains reports whether a base is worth having: it explains most fields of the
// resources that folders share, and most folders have few others.
func (p *Package) explains() bool {
	few := 0
	for _, v := range p.Folders {
		if v.Others <= v.Resources {
			few++
		}
	}
	return few*100 >= common*len(p.Folders) && p.Explained*100 >= common*p.Fields
}

// nearest returns the folders that share resources with the one that most folders are
// like, and the others.
func nearest(folders []*folder) (near, rest []*folder) {
	kinds := map[string]int{}
	for _, f := range folders {
		for _, r := range f.resources {
			kinds[r.key]++
		}
	}
	weight := func(f *folder) (n int) {
		for _, r := range f.resources {
			n += 2*kinds[r.key] - len(folders)
		}
		return n
	}
	center := slices.MaxFunc(folders, func(a, b *folder) int {
		return cmp.Or(cmp.Compare(weight(a), weight(b)), strings.Compare(b.signature(), a.signature()), strings.Compare(b.Path, a.Path))
	})
	has := map[string]bool{}
	for _, r := range center.resources {
		has[r.key] = true
	}
	for _, f := range folders {
		shared := 0
		for _, r := range f.resources {
			if has[r.key] {
				shared++
			}
		}
		if 2*shared >= len(has) {
			near = append(near, f)
		} else {
			rest = append(rest, f)
		}
	}
	return near, rest
}

// folder is one that was read.
type folder struct {
	Folder
	pkg       *krm.Package
	problem   string
	resources []*resource
}

// resource is one of a folder, by its identity without the folder's names.
type resource struct {
	*krm.Resource
	key    string // kind and name
	kind   string
	fields int
}

func (f *folder) signature() string {
	var out strings.Builder
	for _, r := range f.resources {
		out.WriteString(r.key + "\n")
	}
	return out.String()
}

func read(in Folder) (*folder, error) {
	f := &folder{Folder: in, problem: in.Problem}
	if f.problem != "" {
		return f, nil
	}
	slices.SortFunc(f.Files, func(a, b krm.File) int { return strings.Compare(a.Path, b.Path) })
	p, err := krm.Parse(f.Files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Path, err)
	}
	for _, problem := range p.Problems() {
		f.problem = problem.Error()
		return f, nil
	}
	f.pkg = p
	named := map[string]int{}
	for _, r := range p.Resources() {
		if path.Base(r.Path()) == kptfilev1.KptFileName || r.Group() == "kustomize.config.k8s.io" {
			continue
		}
		if r.Name() == "" {
			f.problem = fmt.Sprintf("%s:%d is a %s without metadata.name", r.Path(), r.Line(), r.Kind())
			return f, nil
		}
		kind := r.Kind() + "." + r.Group()
		key := kind + "/" + f.template(r.Name())
		named[key]++
		f.resources = append(f.resources, &resource{Resource: r, key: key, kind: kind, fields: leaves(r.Node().YNode())})
	}
	for _, r := range f.resources {
		if named[r.key] > 1 { // in several namespaces
			r.key += "/" + f.template(r.Namespace()) + "/" + r.Path()
		}
	}
	slices.SortStableFunc(f.resources, func(a, b *resource) int { return strings.Compare(a.key, b.key) })
	return f, nil
}
