package merge

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/krmignore"
	"github.com/variform/variform/internal/yamltree"
)

// UnreadableError is a package that cannot be one side of a merge: a file of it
// cannot be read, or a resource in it cannot be told from others. Everything in such
// a file would look removed.
type UnreadableError struct {
	Side     string        // "base", "upstream" or "local"; "" where no merge was started
	Problems []krm.Problem // by file and line, at least one
}

// maxProblems bounds the problems that an error lists.
const maxProblems = 3

// Error lists the first problems with file and line, and how to correct them.
func (e *UnreadableError) Error() string {
	var parts []string
	for i, p := range e.Problems {
		if i == maxProblems {
			parts = append(parts, fmt.Sprintf("and %d more", len(e.Problems)-i))
			break
		}
		parts = append(parts, p.Error())
	}
	text := strings.Join(parts, "; ")
	if e.Side != "" {
		text = e.Side + ": " + text
	}
	if slices.ContainsFunc(e.Problems, func(p krm.Problem) bool { return path.Base(p.Path) != kptfilev1.KptFileName }) {
		return fmt.Sprintf("%s: correct it, or name the file in %s", text, krmignore.Name)
	}
	return text + ": correct it"
}

// Unwrap returns the problems.
func (e *UnreadableError) Unwrap() []error {
	errs := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		errs[i] = p
	}
	return errs
}

// Readable returns an [*UnreadableError] where a package cannot follow base: a YAML
// file does not parse, a directory has no usable Kptfile, or a file in which base has
// resources has one without a name, or other YAML. A nil base is none. Files that the
// package's .krmignore names do not count.
func Readable(base, p *krm.Package) error { return readable("", base, p, nil) }

// ReadableLocal is Readable for the side of a merge that people edited. Nothing is read
// of a file that it has as base has it, for that follows upstream as a whole.
func ReadableLocal(base, local *krm.Package) error {
	return readable("", base, local, func(file string) bool { return haveAlike(base, local, file) })
}

// readableSides is Readable for the three sides of a merge. Nothing is read of base in a
// file that the other two have alike.
func readableSides(base, upstream, local *krm.Package) error {
	unedited := func(file string) bool { return haveAlike(base, local, file) }
	return errors.Join(
		readable("base", nil, base, func(file string) bool { return unedited(file) || haveAlike(upstream, local, file) }),
		readable("upstream", base, upstream, nil),
		readable("local", base, local, unedited),
	)
}

// haveAlike reports whether two packages have the same file.
func haveAlike(a, b *krm.Package, file string) bool {
	x, inA := a.Read(file)
	y, inB := b.Read(file)
	return inA && inB && sameFile(&x, &y)
}

// readable is Readable for a side of a merge without the files that skip names.
func readable(side string, base, p *krm.Package, skip func(file string) bool) error {
	problems := slices.Concat(unparsed(p), badKptfiles(p), nameless(base, p), strangers(base, p))
	if skip != nil {
		problems = slices.DeleteFunc(problems, func(p krm.Problem) bool { return skip(p.Path) })
	}
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b krm.Problem) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return &UnreadableError{Side: side, Problems: problems}
}

// unparsed lists the files whose YAML does not parse.
func unparsed(p *krm.Package) []krm.Problem {
	return slices.DeleteFunc(p.Problems(), func(problem krm.Problem) bool { return ignores(p, problem.Path) })
}

var (
	errLinkedKptfile = errors.New("it is a symbolic link: commit the Kptfile itself")
	errFolderKptfile = errors.New("it is a directory: a Kptfile is a file")
	errNoKptfile     = fmt.Errorf("it has no document of kind %s and apiVersion %s", kptfilev1.KptFileKind, kptfilev1.KptFileAPIVersion)
)

// badKptfiles lists the Kptfiles that parse and mark no package.
func badKptfiles(p *krm.Package) (out []krm.Problem) {
	for _, file := range p.Paths() {
		if dir, _, ok := strings.Cut("/"+file, "/"+kptfilev1.KptFileName+"/"); ok {
			out = append(out, krm.Problem{Path: strings.TrimPrefix(dir+"/"+kptfilev1.KptFileName, "/"), Err: errFolderKptfile})
		}
		if path.Base(file) != kptfilev1.KptFileName {
			continue
		}
		if line, err := badKptfile(p, file); err != nil {
			out = append(out, krm.Problem{Path: file, Line: line, Err: err})
		}
	}
	return slices.Compact(out)
}

func badKptfile(p *krm.Package, file string) (line int, err error) {
	f, _ := p.Read(file)
	r := p.Kptfile(path.Dir(file))
	switch {
	case f.Mode == krm.Symlink:
		return 0, errLinkedKptfile
	case r == nil && slices.ContainsFunc(p.Problems(), func(o krm.Problem) bool { return o.Path == file }):
		return 0, nil
	case r == nil:
		return 1, errNoKptfile
	case r.APIVersion() != kptfilev1.KptFileAPIVersion:
		return r.Line(), fmt.Errorf("its apiVersion is %q and must be %q", r.APIVersion(), kptfilev1.KptFileAPIVersion)
	}
	return 0, nil
}

// kindIn is a group and kind in a file.
type kindIn struct{ file, group, kind string }

func kindInFile(r *krm.Resource) kindIn { return kindIn{r.Path(), r.Group(), r.Kind()} }

// nameless lists the resources that nothing tells from others of their kind, where base
// tells all of that kind in the file.
func nameless(base, p *krm.Package) (out []krm.Problem) {
	for _, r := range p.Resources() {
		if r.Name() == "" && needsName(base, r) && !ignores(p, r.Path()) {
			out = append(out, krm.Problem{Path: r.Path(), Line: r.Line(), Err: fmt.Errorf("the %s has no metadata.name", r.Kind())})
		}
	}
	return out
}

// needsName reports whether a resource without a name is a mistake. A Kptfile is named
// when its package is cloned, and the API server completes a generateName.
func needsName(base *krm.Package, r *krm.Resource) bool {
	if base == nil || path.Base(r.Path()) == kptfilev1.KptFileName || yamltree.Text(r.Node().YNode(), "metadata", "generateName") != "" {
		return false
	}
	known := false
	for _, o := range base.Resources() {
		known = known || o.Path() == r.Path()
		if kindInFile(o) == kindInFile(r) && o.Name() == "" {
			return false
		}
	}
	return known
}

// strangers lists the files that hold other YAML where base has nothing but resources.
func strangers(base, p *krm.Package) []krm.Problem {
	foreign := p.Foreign()
	if base == nil || len(foreign) == 0 {
		return nil
	}
	only := map[string]bool{}
	for _, r := range base.Resources() {
		only[r.Path()] = true
	}
	for _, f := range base.Foreign() {
		delete(only, f.Path)
	}
	return slices.DeleteFunc(foreign, func(f krm.Problem) bool {
		return !only[f.Path] || path.Base(f.Path) == kptfilev1.KptFileName || ignores(p, f.Path)
	})
}

// ignores reports whether the .krmignore of the package in which a file lies names it.
func ignores(p *krm.Package, file string) bool {
	if path.Base(file) == kptfilev1.KptFileName {
		return false
	}
	dir := path.Dir(file)
	for ; dir != "."; dir = path.Dir(dir) {
		if _, ok := p.Read(path.Join(dir, kptfilev1.KptFileName)); ok {
			break
		}
	}
	f, ok := p.Read(path.Join(dir, krmignore.Name))
	if !ok || f.Mode == krm.Symlink {
		return false
	}
	return krmignore.Matcher{}.With(dir, f.Data).Ignores(file, false)
}
