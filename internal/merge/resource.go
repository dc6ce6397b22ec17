package merge

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// merge merges three versions of a resource, and notes what is lost. It returns
// local itself where nothing changes; base may be nil.
func (d *doc) merge(s *schema, b, u, l *yaml.Node) (*yaml.Node, error) {
	var err error
	trees := [3]*yaml.Node{b, u, l}
	for i, n := range trees {
		if trees[i], err = expand(n); err != nil {
			return nil, fmt.Errorf("%s version: %w", [3]string{"base", "upstream", "local"}[i], err)
		}
	}
	n := d.value(schemaField{next: s}, trees[0], trees[1], trees[2])
	if n == nil || n == trees[2] || yamltree.SameText(n, trees[2]) {
		return l, nil
	}
	return n, nil
}

// mergeItems merges the trees of a tuple that both sides have.
func (m *merger) mergeItems(t *tuple, path string) (*mergedPair, error) {
	b, u, l := t.b.tree(), t.u.tree(), t.l.tree()
	if _, _, marked := mergeIdentity(l); m.o.Guess && !marked {
		u = withoutMergeComment(u) // local is found by its rendered identity as well
	}
	if yamltree.SameText(u, l) {
		return &mergedPair{tuple: t, tree: l}, nil
	}
	s := schemaFor(t.u.r.APIVersion(), t.u.r.Kind())
	d := m.doc(t.l.r)
	n, err := d.merge(s, b, u, l)
	if err != nil {
		return nil, fmt.Errorf("merging %s in %s: %w", t.l.shown(), path, err)
	}
	if b == nil && !equal(u, l) {
		d.lost, d.comments = d.bothAdded(), nil
	}
	comments := slices.DeleteFunc(d.comments, func(c lostComment) bool {
		return slices.ContainsFunc(d.lost, func(v lost) bool { return v.field == c.field })
	})
	m.note(path, t.l, d.lost)
	return &mergedPair{tuple: t, tree: n, comments: comments, shape: d.shape && b != nil && len(d.elsewhere) == 0}, nil
}

// note turns the conflicts of a document into those of the package.
func (m *merger) note(path string, it *item, found []lost) {
	for _, c := range found {
		if c.line > 0 { // of the document
			c.line += it.r.Line() - it.tree().Line
		}
		m.conflicts = append(m.conflicts, Conflict{
			Path: path, Resource: it.shown(), Field: c.field, Line: c.line,
			Base: c.b, Upstream: c.u, Local: c.l, Winner: c.winner, Fate: c.fate,
		})
	}
}

// doc is the merge of one of local's resources.
func (m *merger) doc(l *krm.Resource) *doc {
	d := &doc{secret: l.ID().IsSecret(), guess: m.o.Guess, keep: m.keeps(l), stands: m.o.Stands}
	fields, _ := l.Annotation(v1alpha1.OwnedElsewhereAnnotation)
	for field := range strings.SplitSeq(fields, ",") {
		if field = strings.TrimSpace(field); field != "" {
			d.elsewhere = append(d.elsewhere, field)
		}
	}
	return d
}

// keeps says whether local wins where both sides changed a value of a resource, nil
// for other files.
func (m *merger) keeps(l *krm.Resource) bool {
	for _, r := range []*krm.Resource{l, m.l.kptfile(".")} {
		if r == nil {
			continue
		}
		switch says, _ := r.Annotation(v1alpha1.OnConflictAnnotation); says {
		case v1alpha1.OnConflictKeep:
			return true
		case v1alpha1.OnConflictUpstream:
			return false
		}
	}
	return m.o.Keep
}

// bothAdded makes one conflict of those of a resource that both sides added.
func (d *doc) bothAdded() []lost {
	all := lost{winner: Upstream, fate: BothAdded}
	if d.keeps() {
		all.winner = Local
	}
	var u, l []string
	for _, c := range d.lost {
		u, l = append(u, c.field+": "+orDeleted(c.u)), append(l, c.field+": "+orDeleted(c.l))
	}
	all.u, all.l = strings.Join(u, ", "), strings.Join(l, ", ")
	return []lost{all}
}

// noteWhole notes a conflict about a whole resource that local keeps its way:
// one side deleted what the other changed.
func (m *merger) noteWhole(t *tuple) {
	it := t.l
	if it == nil {
		it = t.u
	}
	d := m.doc(it.r)
	d.conflict(t.b.tree(), t.u.tree(), t.l.tree(), Local)
	if t.u == nil && !m.o.Guess {
		d.lost[0].fate = KeptThoughRemoved
	}
	m.note(it.path, it, d.lost)
}
