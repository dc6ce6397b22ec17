package merge

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/krm"
)

// isYAML says whether a file is YAML, or JSON, by its name.
func isYAML(p string) bool {
	return path.Base(p) == kptfilev1.KptFileName || slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(p))
}

// OtherFiles merges only the files that are no YAML by their names, as kpt syncs
// them: a file that local did not change follows upstream, one that it did
// stays. What both sides changed is a conflict that local wins.
func OtherFiles(base, upstream, local *krm.Package) (*Result, error) {
	m := newMerger(base, upstream, local, Options{})
	m.whole = true
	for _, u := range m.sortedUnits() {
		for _, p := range u.paths {
			if !isYAML(p) || path.Ext(p) == ".json" {
				m.opaque(m.change(p))
			}
		}
	}
	return m.result()
}

// opaque merges a file as a whole.
func (m *merger) opaque(c change) {
	switch {
	case sameFile(c.b, c.u) || sameFile(c.u, c.l):
		return
	case sameData(c.b, c.l) && (c.l != nil || c.b == nil) && (!m.o.Guess || c.u != nil):
		m.follow(c)
		return
	case c.u != nil && c.l != nil && sameData(c.b, c.u) || sameData(c.u, c.l):
		f := *c.l
		f.Mode = c.mode()
		m.write(f)
		return
	}
	if c.u != nil && c.l != nil && isYAML(c.path) && m.looseYAML(c) {
		return
	}
	if c.b != nil && c.u != nil && c.l != nil && !m.whole && !isYAML(c.path) && m.text(c) {
		return
	}
	m.noteFile(c, Local)
}

// follow gives a file that local did not change upstream's content.
func (m *merger) follow(c change) {
	if c.u == nil {
		m.remove(c.path)
		return
	}
	f := *c.u
	f.Mode = c.mode()
	m.write(f)
}

// looseYAML merges YAML that is no resource, such as a kustomization.yaml
// without a kind. It returns false where that cannot be done.
func (m *merger) looseYAML(c change) bool {
	if c.l.Mode == krm.Symlink || c.u.Mode == krm.Symlink || c.b != nil && c.b.Mode == krm.Symlink {
		return false
	}
	var base []byte
	if c.b != nil {
		base = c.b.Data
	}
	data, lost, err := documents(base, c.u.Data, *c.l, m.o)
	if err != nil {
		return false
	}
	for _, x := range lost {
		m.conflicts = append(m.conflicts, Conflict{
			Path: c.path, Field: x.field, Line: x.line, Base: x.b, Upstream: x.u, Local: x.l, Winner: x.winner,
		})
	}
	f := *c.l
	f.Data, f.Mode = data, c.mode()
	m.write(f)
	return true
}

// fileDigest names the content of a file without showing it.
func fileDigest(f *krm.File) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("sha256:%.6x (%d bytes)", sha256.Sum256(f.Data), len(f.Data))
}
