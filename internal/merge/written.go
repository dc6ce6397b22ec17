package merge

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// mergedPair is a resource that both sides have, merged by fields.
type mergedPair struct {
	*tuple
	tree     *yaml.Node
	comments []lostComment
	shape    bool // mappings or lists are among the conflicts
}

// mergeTexts gives the files that both sides changed their text. Where all lines
// merge, and the values are those of the merge by fields, it is the text that Git
// would make. Elsewhere each resource's own text is merged by lines, and the
// values are written into it.
func (w *unitMerge) mergeTexts() {
	whole := map[string]bool{}
	for _, c := range w.changes {
		whole[c.path] = !w.o.Guess && !w.whole[c.path] && w.hasDocs(c.path) && c.bothChanged() && w.wholeText(c)
	}
	for _, p := range w.pairs {
		r := w.placed(p.tuple)
		if r == nil || p.json() {
			continue
		}
		if whole[r.Path()] {
			p.comments = nil // no line was changed by both sides
			continue
		}
		w.mergeText(r, p.b.resource(), p.u.r, p.l.r, p.tree)
	}
}

// json reports whether a version of the resource is JSON.
func (p *mergedPair) json() bool {
	return slices.ContainsFunc([]*item{p.b, p.u, p.l}, func(it *item) bool { return it != nil && path.Ext(it.path) == ".json" })
}

// bothChanged reports whether all versions have the file, as text, and each
// another one.
func (c change) bothChanged() bool {
	for _, f := range []*krm.File{c.b, c.u, c.l} {
		if f == nil || f.Mode == krm.Symlink {
			return false
		}
	}
	return !sameData(c.b, c.u) && !sameData(c.b, c.l) && !sameData(c.u, c.l)
}

// wholeText merges a file by lines, where that gives the values of the merge by
// fields. The order of resources in the file is then that of the lines.
func (w *unitMerge) wholeText(c change) bool {
	text, clean := yamlText{}.merge(c.b.Data, c.u.Data, c.l.Data)
	if !clean {
		return false
	}
	f := krm.File{Path: c.path, Mode: c.mode(), Data: text}
	resolved := map[krm.ID]bool{}
	if !w.out.WriteIf(f, w.u.pkg, func(now, then []*krm.Resource) bool { return w.sameResources(now, then, resolved) }) {
		return false
	}
	w.conflicts = slices.DeleteFunc(w.conflicts, func(lost Conflict) bool { return lost.Path == c.path && resolved[lost.Resource] })
	return true
}

// sameResources reports whether merges by fields and by lines give the same
// resources, in any order. Where one side changed the shape of what the other
// side changed in, such as the key above a list, the fields have a conflict that
// the lines do not have: then these resources are resolved by the lines.
func (w *unitMerge) sameResources(fields, lines []*krm.Resource, resolved map[krm.ID]bool) bool {
	if len(fields) != len(lines) {
		return false
	}
	left := map[krm.ID][]*krm.Resource{}
	for _, r := range fields {
		left[r.ID()] = append(left[r.ID()], r)
	}
	for _, r := range lines {
		same := left[r.ID()]
		switch {
		case len(same) == 0:
			return false
		case yamltree.SameValue(ynode(same[0]), ynode(r)):
		case len(same) == 1 && w.changedShape(same[0]) && uniqueKeys(ynode(r)):
			resolved[r.ID()] = true
		default:
			return false
		}
		left[r.ID()] = same[1:]
	}
	return true
}

// uniqueKeys reports whether no mapping of a tree has one key twice, as lines have
// where both sides added the key at two places.
func uniqueKeys(n *yaml.Node) bool {
	if n == nil {
		return true
	}
	if n.Kind == yaml.MappingNode {
		if _, unique := yamltree.Keys(n); !unique {
			return false
		}
	}
	return !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return !uniqueKeys(c) })
}

// changedShape reports whether mappings or lists are among the conflicts of a
// resource.
func (w *unitMerge) changedShape(r *krm.Resource) bool {
	return slices.ContainsFunc(w.pairs, func(p *mergedPair) bool {
		return p.shape && p.l.shown() == r.ID() && w.placed(p.tuple) == r && !bytes.Contains(w.l.files[p.l.path].Data, []byte(imageMarker))
	})
}

// placed returns the resource of the merged package that a pair became.
func (w *unitMerge) placed(t *tuple) *krm.Resource {
	for _, it := range []*item{t.l, t.u} {
		if r := w.handle(it); r != nil && !r.Deleted() {
			return r
		}
	}
	return nil
}

// mergeText gives r the text that follows from merging three versions of it by lines,
// with the values of n. Where base is a guess or missing it takes local's text.
func (m *merger) mergeText(r, b, u, l *krm.Resource, n *yaml.Node) {
	var texts [3][]byte
	for i, r := range []*krm.Resource{b, u, l} {
		if r == nil {
			continue
		}
		var err error
		if texts[i], err = r.Text(); err != nil {
			return
		}
	}
	if b != nil && bytes.Equal(texts[0], texts[1]) || bytes.Equal(texts[1], texts[2]) {
		return // as most resources of a large file
	}
	if b != nil && u != nil && !m.o.Guess {
		if text, _ := (yamlText{keep: m.keeps(l)}).merge(texts[0], texts[1], texts[2]); text != nil {
			if _, ok := r.PutText(text, n); ok {
				return
			}
		}
	}
	_, _ = r.PutText(texts[2], n)
}

// noteComments notes the comments of one side that are not in the merged package
// because of one of the other side.
func (m *merger) noteComments() {
	var named map[krm.ID][]*krm.Resource
	for _, w := range m.open {
		for _, p := range w.pairs {
			if len(p.comments) == 0 {
				continue
			}
			if named == nil {
				named = map[krm.ID][]*krm.Resource{}
				for _, r := range m.out.Resources() {
					id := loose(identity(r))
					named[id] = append(named[id], r)
				}
			}
			m.noteLostComments(p, named[loose(p.l.key)])
		}
	}
}

// noteLostComments notes the lost comments of one resource. merged are the resources of
// its identity in the merged package.
func (m *merger) noteLostComments(p *mergedPair, merged []*krm.Resource) {
	there, at := map[string]bool{}, p.l.path
	for _, r := range merged {
		eachComment(r.Node().Document(), func(line string) { there[line] = true })
		at = r.Path()
	}
	var found []lost
	for _, c := range p.comments {
		if has(there, c.won) && (c.gone == "" || !has(there, c.gone)) {
			found = append(found, c.lost)
		}
	}
	m.note(at, p.l, found)
}

// has reports whether all lines of a comment are there.
func has(there map[string]bool, comment string) bool {
	for line := range strings.SplitSeq(comment, "\n") {
		if line = strings.TrimSpace(line); line != "" && !there[line] {
			return false
		}
	}
	return true
}

// eachComment calls see with each line of the comments of a tree.
func eachComment(n *yaml.Node, see func(string)) {
	if n == nil {
		return
	}
	for _, c := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for line := range strings.SplitSeq(c, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				see(line)
			}
		}
	}
	for _, c := range n.Content {
		eachComment(c, see)
	}
}
