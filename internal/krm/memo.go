package krm

import (
	"slices"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// memo keeps the last texts that a parsed document was written as. Clones of a
// package are often edited alike, as when a pipeline sets one label on every
// variant of an upstream: the same edit of the same document gives the same
// text. Safe for concurrent use.
type memo struct {
	mu      sync.Mutex
	written bool // once at least: a document written only once is not worth keeping
	texts   []memoText
	next    int
}

// memoText is a text and the tree that it was made from.
type memoText struct {
	tree *yaml.Node
	nl   string
	text []byte
	kept bool
}

// memoTexts is how many texts of a document are kept.
const memoTexts = 4

func (m *memo) find(tree *yaml.Node, nl string) (memoText, bool) {
	m.mu.Lock()
	texts := slices.Clone(m.texts)
	m.mu.Unlock()
	for _, w := range texts {
		if w.nl == nl && sameTree(w.tree, tree) {
			return w, true
		}
	}
	return memoText{}, false
}

func (m *memo) keep(tree *yaml.Node, nl string, text []byte, kept bool) {
	if _, aliases := countTree(tree); aliases {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.written {
		m.written = true
		return
	}
	w := memoText{tree: copyTree(tree), nl: nl, text: text, kept: kept}
	if len(m.texts) < memoTexts {
		m.texts = append(m.texts, w)
		return
	}
	m.texts[m.next] = w
	m.next = (m.next + 1) % memoTexts
}

// sameTree reports whether two trees agree in all that a text is made from,
// places and comments included. Trees with aliases never do.
func sameTree(a, b *yaml.Node) bool {
	if a == nil || b == nil || len(a.Content) != len(b.Content) || a.Alias != nil || b.Alias != nil {
		return false
	}
	if a.Kind != b.Kind || a.Style != b.Style || a.Line != b.Line || a.Column != b.Column ||
		a.Value != b.Value || a.Tag != b.Tag || a.Anchor != b.Anchor ||
		a.HeadComment != b.HeadComment || a.LineComment != b.LineComment || a.FootComment != b.FootComment {
		return false
	}
	for i := range a.Content {
		if !sameTree(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
