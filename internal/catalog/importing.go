package catalog

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/foreign"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/krmignore"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/resolver"
)

// Imported are the manifests that a folder's packages are to have.
type Imported struct {
	Manifests []*v1alpha1.PackageManifest
	// Files are those that hold them, sorted.
	Files []krm.File
	// Notes say what was left as it is, or is lost.
	Notes []string
	// Problems are packages that have none, and why.
	Problems []error
}

// Import makes manifests of what a folder holds: of each kpt package, by its
// resources, and of documents of other systems. A package's name is its folder's,
// as a tag says it. One that has a manifest keeps it, unless anew is set.
func Import(files []krm.File, anew bool) *Imported {
	out := &Imported{}
	packages := map[string][]krm.File{}
	var others []krm.File
	roots := outermost(files)
	for _, f := range krmignore.Kept(files) {
		at := slices.IndexFunc(roots, func(dir string) bool { return dir == "." || strings.HasPrefix(f.Path, dir+"/") })
		switch {
		case f.Mode == krm.Symlink:
		case at < 0:
			others = append(others, f)
		default:
			dir := roots[at]
			f.Path = strings.TrimPrefix(f.Path, dir+"/")
			packages[dir] = append(packages[dir], f)
		}
	}
	for _, dir := range roots {
		if err := out.kpt(dir, packages[dir], anew); err != nil {
			out.Problems = append(out.Problems, fmt.Errorf("package %s: %w", dir, err))
		}
	}
	have := map[string]bool{}
	for _, f := range others {
		have[f.Path] = true
	}
	for _, f := range others {
		if err := out.foreign(f, have, anew); err != nil {
			out.Problems = append(out.Problems, err)
		}
	}
	slices.SortFunc(out.Files, func(a, b krm.File) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// outermost are the folders that are kpt packages and in none, sorted.
func outermost(files []krm.File) []string {
	var dirs []string
	for _, f := range files {
		if path.Base(f.Path) == kptfilev1.KptFileName {
			dirs = append(dirs, path.Dir(f.Path))
		}
	}
	slices.Sort(dirs)
	var out []string
	for _, d := range dirs {
		if !slices.ContainsFunc(out, func(o string) bool { return o == "." || strings.HasPrefix(d, o+"/") }) {
			out = append(out, d)
		}
	}
	return out
}

// kpt imports a kpt package.
func (out *Imported) kpt(dir string, files []krm.File, anew bool) error {
	pkg, err := krm.Parse(files)
	if err != nil {
		return err
	}
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return err
	}
	if f, ok := pkg.Read(ManifestFile); ok {
		switch obj, report := api.Parse(f.Data); {
		case !isManifest(obj) && report.Err() == nil || anew && !isManifest(obj):
			return fmt.Errorf("its %s holds something else than a manifest, which has to stand there: give that file another name", ManifestFile)
		case !anew:
			out.Notes = append(out.Notes, fmt.Sprintf("package %s has a manifest already", dir))
			return nil
		}
	}
	m, lost, err := described(pkg)
	if err != nil {
		return err
	}
	for _, l := range lost {
		out.Notes = append(out.Notes, fmt.Sprintf("package %s: a manifest cannot say %s", dir, l))
	}
	if m.Name = dir; dir == "." {
		m.Name = k.Name
	}
	if lock := mutate.Lock(k); lock != nil && m.Spec.Version == "" && strings.Contains(path.Base(lock.Ref), ".") { // else it is a number
		if v, ok := depend.TagVersion(lock.Ref); ok {
			m.Spec.Version = v
		}
	}
	derive(m, contents.Of(pkg))
	return out.add(path.Join(dir, ManifestFile), m)
}

func isManifest(obj any) bool {
	_, is := obj.(*v1alpha1.PackageManifest)
	return is
}

// described is what a document of another system says of a kpt package.
func described(pkg *krm.Package) (m *v1alpha1.PackageManifest, lost []string, err error) {
	for _, name := range foreign.Files {
		f, ok := pkg.Read(name)
		if !ok {
			continue
		}
		p, err := foreign.One(name, f.Data)
		if err != nil {
			return nil, nil, err
		}
		if p != nil {
			m, lost := foreign.Manifest(p)
			return m, lost, nil
		}
	}
	m, _ = foreign.Manifest(&resolver.Package{})
	return m, nil, nil
}

// derive adds what resources bring, and the APIs that they are of and that
// something else has to serve.
func derive(m *v1alpha1.PackageManifest, c *contents.Contents) {
	provides := func(g contents.GVK) bool {
		return slices.ContainsFunc(m.Spec.Provides, func(p v1alpha1.Provide) bool { return p.GVK != nil && *p.GVK == g })
	}
	for _, g := range c.Serves {
		if !provides(g) {
			m.Spec.Provides = append(m.Spec.Provides, v1alpha1.Provide{GVK: &g})
		}
	}
	aliases := map[string]bool{}
	for _, r := range m.Spec.Requires {
		aliases[r.Alias] = true
	}
	for _, o := range c.Uses() {
		g := o.GVK()
		if provides(g) || slices.ContainsFunc(m.Spec.Requires, func(r v1alpha1.Requirement) bool { return r.GVK != nil && *r.GVK == g }) {
			continue
		}
		alias := strings.ToLower(g.Kind)
		for n := 2; aliases[alias]; n++ {
			alias = fmt.Sprintf("%s-%d", strings.ToLower(g.Kind), n)
		}
		aliases[alias] = true
		m.Spec.Requires = append(m.Spec.Requires, v1alpha1.Requirement{Alias: alias, GVK: &g})
	}
}

// foreign imports a document that is in no kpt package. Its manifest stands beside
// it: as that of its folder, where the document is about that.
func (out *Imported) foreign(f krm.File, have map[string]bool, anew bool) error {
	docs, err := foreign.Read(f.Path, f.Data)
	if docs == nil || err != nil {
		return err
	}
	base := path.Base(f.Path)
	into := strings.TrimSuffix(f.Path, path.Ext(f.Path)) + ".manifest.yaml"
	if base != ManifestFile && slices.Contains(foreign.Files, base) {
		into = path.Join(path.Dir(f.Path), ManifestFile)
	}
	if len(docs.Packages) > 0 && have[into] && !anew {
		out.Notes = append(out.Notes, fmt.Sprintf("%s: %s is there already", f.Path, into))
		return nil
	}
	for n := range docs.Packages {
		p := &docs.Packages[n]
		if p.Package == "" {
			p.Package = path.Dir(f.Path)
		}
		m, lost := foreign.Manifest(p)
		for _, l := range lost {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: a manifest cannot say %s", f.Path, l))
		}
		if err := out.add(into, m); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}

// add checks a manifest as every reader of it will, and puts it into a file, after
// others that are for it.
func (out *Imported) add(file string, m *v1alpha1.PackageManifest) error {
	if issues := api.Validate(m); len(issues) > 0 {
		return issues
	}
	data, err := api.Encode(m)
	if err != nil {
		return err
	}
	out.Manifests = append(out.Manifests, m)
	if at := slices.IndexFunc(out.Files, func(f krm.File) bool { return f.Path == file }); at >= 0 {
		out.Files[at].Data = slices.Concat(out.Files[at].Data, []byte("---\n"), data)
		return nil
	}
	out.Files = append(out.Files, krm.File{Path: file, Data: data})
	return nil
}
