package render

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/krmignore"
)

// pkgNode is one package of the tree that is rendered.
type pkgNode struct {
	dir       string // "" for the root
	children  []*pkgNode
	functions []Function
	local     []*krm.Resource // the package's own resources, in kpt's walking order
	notes     []string        // where kpt would not render it
}

// walk calls visit for each package, children first, in kpt's order.
func (n *pkgNode) walk(visit func(*pkgNode) error) error {
	for _, c := range n.children {
		if err := c.walk(visit); err != nil {
			return err
		}
	}
	return visit(n)
}

// allNotes are those of n and of the packages below it.
func (n *pkgNode) allNotes() (out []string) {
	_ = n.walk(func(c *pkgNode) error {
		out = append(out, c.notes...)
		return nil
	})
	return out
}

// count is how many packages there are from n down, and functions in them.
func (n *pkgNode) count() (packages, functions int) {
	_ = n.walk(func(c *pkgNode) error {
		packages++
		functions += len(c.functions)
		return nil
	})
	return packages, functions
}

// buildTree finds the packages of p and what belongs to each. All unreadable
// Kptfiles are reported at once.
func buildTree(p *krm.Package, registry string) (*pkgNode, error) {
	dirs := packageDirs(p)
	nodes := map[string]*pkgNode{"": {}}
	var errs []error
	for _, d := range dirs {
		n := nodes[d]
		if n == nil {
			n = &pkgNode{dir: d}
			nodes[d] = n
		}
		if d != "" {
			parent := nodes[owner(nodes, path.Dir(d))]
			parent.children = append(parent.children, n)
		}
		fns, bad := readPipeline(p, d, registry)
		n.functions, errs = fns, append(errs, bad...)
	}
	errs = append(errs, assign(p, nodes)...)
	for _, d := range dirs {
		errs = append(errs, checkConfigs(p, nodes[d])...)
	}
	return nodes[""], errors.Join(errs...)
}

// packageDirs lists the directories with a Kptfile, parents before children,
// the root first even without one (its Kptfile is then reported missing).
func packageDirs(p *krm.Package) []string {
	dirs := []string{""}
	for _, f := range p.Paths() {
		if path.Base(f) != "Kptfile" || f == "Kptfile" || strings.HasPrefix(f, ".git/") || strings.Contains(f, "/.git/") {
			continue
		}
		dirs = append(dirs, path.Dir(f))
	}
	slices.Sort(dirs)
	return dirs
}

// owner is the innermost package that a directory lies in.
func owner(nodes map[string]*pkgNode, dir string) string {
	for dir != "." && dir != "" && dir != "/" {
		if nodes[dir] != nil {
			return dir
		}
		dir = path.Dir(dir)
	}
	return ""
}

// assign gives each package its own resources, and reports the files among them
// that nobody can read: what is in there would escape every function.
func assign(p *krm.Package, nodes map[string]*pkgNode) []error {
	owns := ownership(p, nodes)
	for _, r := range p.Resources() {
		if n := owns(r.Path()); n != nil {
			n.local = append(n.local, r)
		}
	}
	for _, n := range nodes {
		sortWalk(n.local)
	}
	var errs []error
	for _, problem := range p.Problems() {
		if owns(problem.Path) != nil && path.Base(problem.Path) != "Kptfile" { // those were reported with their pipelines
			errs = append(errs, &UnreadableError{Problem: problem})
		}
	}
	for _, foreign := range p.Foreign() {
		if n := owns(foreign.Path); n != nil && !isKustomization(path.Base(foreign.Path)) {
			n.notes = append(n.notes, fmt.Sprintf("%v, and is passed over: kpt fn render refuses the package; name the file in %s", foreign, krmignore.Name))
		}
	}
	return errs
}

// ownership says which package a file belongs to; nil where that package's
// ignore file names it.
func ownership(p *krm.Package, nodes map[string]*pkgNode) func(file string) *pkgNode {
	ignores := map[string]krmignore.Matcher{}
	for dir := range nodes {
		ignores[dir] = ignored(p, dir)
	}
	owners := map[string]string{}
	return func(file string) *pkgNode {
		dir := path.Dir(file)
		own, ok := owners[dir]
		if !ok {
			own = owner(nodes, dir)
			owners[dir] = own
		}
		if ignores[own].Ignores(relTo(own, file), false) {
			return nil
		}
		return nodes[own]
	}
}

// sortWalk orders resources as a walk of the directories meets them: by path
// component, not by string.
func sortWalk(rs []*krm.Resource) {
	slices.SortStableFunc(rs, func(a, b *krm.Resource) int { return compareWalk(a.Path(), b.Path()) })
}

func compareWalk(a, b string) int {
	for a != "" && b != "" {
		ha, ta, _ := strings.Cut(a, "/")
		hb, tb, _ := strings.Cut(b, "/")
		if c := cmp.Compare(ha, hb); c != 0 {
			return c
		}
		a, b = ta, tb
	}
	return cmp.Compare(a, b)
}

// ignored reads dir's .krmignore. As in kpt a package has one, beside its
// Kptfile, and it speaks for the package's own files alone.
func ignored(p *krm.Package, dir string) krmignore.Matcher {
	f, ok := p.Read(path.Join(dir, krmignore.Name))
	if !ok || f.Mode == krm.Symlink {
		return krmignore.Matcher{}
	}
	return krmignore.Matcher{}.With("", f.Data)
}

// relTo is a path below dir, relative to it.
func relTo(dir, p string) string {
	if dir == "" {
		return p
	}
	return strings.TrimPrefix(p, dir+"/")
}

// inside says whether a path lies in dir.
func inside(dir, p string) bool {
	return dir == "" || strings.HasPrefix(p, dir+"/")
}

// checkConfigs reports functionConfigs that are not exactly one resource of
// their package.
func checkConfigs(p *krm.Package, n *pkgNode) []error {
	var errs []error
	for _, f := range n.functions {
		if f.ConfigPath == "" {
			continue
		}
		if err := findConfig(p, n, f); err != nil {
			errs = append(errs, &PipelineError{Package: n.dir, Field: f.field() + ".configPath", Err: err})
		}
	}
	return errs
}
