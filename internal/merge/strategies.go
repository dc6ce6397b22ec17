package merge

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// ErrModified is what a ModifiedError is.
var ErrModified = errors.New("the package was modified locally")

// ModifiedError says that fast-forward cannot be done.
type ModifiedError struct {
	Paths []string // what differs from base, sorted
}

// Error lists the files and says what to do.
func (e *ModifiedError) Error() string {
	return fmt.Sprintf("%v: %s; use another update strategy, such as %s",
		ErrModified, strings.Join(e.Paths, ", "), kptfilev1.ResourceMerge)
}

// Is makes errors.Is(err, ErrModified) true.
func (e *ModifiedError) Is(target error) bool { return target == ErrModified }

// fastForward replaces a package that was not modified locally.
func (m *merger) fastForward() error {
	var modified []string
	for _, u := range m.sortedUnits() {
		if u.dir != "." && m.independent(u) {
			continue
		}
		for _, p := range u.paths {
			if !slices.Contains(m.o.Own, p) && !m.unmodified(u, p) {
				modified = append(modified, p)
			}
		}
	}
	if len(modified) > 0 && len(m.b.files) > 0 {
		slices.Sort(modified)
		return &ModifiedError{Paths: modified}
	}
	if err := m.replace(); err != nil {
		return err
	}
	m.clearRendered()
	return nil
}

// unmodified reports whether local has a file as base has it, but for its layout and
// what other tools noted in it. The root's Kptfile may differ in what a package owns.
func (m *merger) unmodified(u *unit, p string) bool {
	b, l := m.b.file(p), m.l.file(p)
	if sameFile(b, l) || b != nil && l != nil && b.Mode == l.Mode && krm.SameLayout(m.b.pkg, m.l.pkg, p) {
		return true
	}
	if p != kptfilev1.KptFileName || l == nil {
		return false
	}
	ln := ynode(m.l.kptfile(u.dir))
	bn := ynode(m.b.kptfile(u.dir))
	return ln != nil && equal(inherited(bn, ln), inherited(ln, ln))
}

// clearRendered removes what other tools noted in the root's Kptfile: it is about
// other content.
func (m *merger) clearRendered() {
	k := m.out.Kptfile(".")
	if k == nil {
		return
	}
	n := ynode(k)
	if cleared := withoutBookkeeping(n); cleared != n {
		k.Replace(yaml.NewRNode(yamltree.Copy(cleared)))
	}
}

// replace gives local the files of upstream, but for the identity of the root
// and for subpackages that follow an upstream of their own.
func (m *merger) replace() error {
	for _, u := range m.sortedUnits() {
		if u.dir != "." && m.independent(u) {
			continue
		}
		for _, p := range u.paths {
			if p == kptfilev1.KptFileName && m.l.kptfile(".") != nil {
				continue
			}
			m.overwrite(m.change(p), true)
		}
	}
	return m.rootKptfile()
}

// rootKptfile merges the Kptfile of the root; upstream and upstreamLock follow.
func (m *merger) rootKptfile() error {
	if m.l.kptfile(".") == nil || m.u.kptfile(".") == nil {
		return nil
	}
	return m.mergeKptfile(m.units["."], m.change(kptfilev1.KptFileName), true)
}

// overwrite takes upstream's file. A file that upstream does not have goes if
// all is replaced.
func (m *merger) overwrite(c change, replace bool) {
	switch {
	case sameFile(c.u, c.l):
	case c.u != nil:
		m.write(*c.u)
	case slices.Contains(m.o.Own, c.path):
	case replace:
		m.remove(c.path)
	}
}

// copyMerge copies upstream over local. Files that upstream never had stay;
// those that it deleted go. A local edit that is lost is a conflict.
func (m *merger) copyMerge() error {
	for _, u := range m.sortedUnits() {
		for _, p := range u.paths {
			if p == kptfilev1.KptFileName && m.l.kptfile(".") != nil {
				continue
			}
			c := m.change(p)
			if c.l != nil && !sameFile(c.b, c.l) && !sameFile(c.u, c.l) && (c.u != nil || c.b != nil) {
				m.noteLost(c)
			}
			m.overwrite(c, c.b != nil)
		}
	}
	return m.rootKptfile()
}

// noteLost notes a local file that upstream's replaces. The Kptfile of a
// subpackage always differs and is no loss.
func (m *merger) noteLost(c change) {
	if path.Base(c.path) != kptfilev1.KptFileName && !slices.Contains(m.o.Own, c.path) {
		m.noteFile(c, Upstream)
	}
}
