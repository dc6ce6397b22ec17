package render

import (
	"bytes"
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	gitignore "github.com/monochromegane/go-gitignore"

	"github.com/variform/variform/internal/krm"
)

// ignoreFile names what a package's rendering leaves out, as kpt reads it: one
// per package, at its root, with gitignore patterns.
const ignoreFile = ".krmignore"

// pkgNode is one package of the tree that is rendered.
type pkgNode struct {
	dir       string // "" for the root
	children  []*pkgNode
	functions []Function
	local     []*krm.Resource // the package's own resources, in kpt's walking order
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
	assign(p, nodes)
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

func assign(p *krm.Package, nodes map[string]*pkgNode) {
	ignores := map[string]func(rel string) bool{}
	for dir := range nodes {
		ignores[dir] = ignoreMatcher(p, dir)
	}
	owners := map[string]string{}
	for _, r := range p.Resources() {
		dir := path.Dir(r.Path())
		own, ok := owners[dir]
		if !ok {
			own = owner(nodes, dir)
			owners[dir] = own
		}
		if match := ignores[own]; match != nil && match(relTo(own, r.Path())) {
			continue
		}
		nodes[own].local = append(nodes[own].local, r)
	}
	for _, n := range nodes {
		sortWalk(n.local)
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

// ignoreMatcher reads dir's .krmignore; nil where there is none. A path is
// ignored when it or one of its directories matches.
func ignoreMatcher(p *krm.Package, dir string) func(rel string) bool {
	f, ok := p.Read(path.Join(dir, ignoreFile))
	if !ok || f.Mode == krm.Symlink {
		return nil
	}
	const base = "/p"
	m := gitignore.NewGitIgnoreFromReader(base, bytes.NewReader(f.Data))
	return func(rel string) bool {
		for i := range rel {
			if rel[i] == '/' && m.Match(base+"/"+rel[:i], true) {
				return true
			}
		}
		return m.Match(base+"/"+rel, false)
	}
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
