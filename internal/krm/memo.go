package krm

import (
	"hash/maphash"
	"slices"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// memo keeps the last texts that a parsed document was written as. Clones of a
// package are often edited alike, as when a pipeline sets one label on every
// variant of an upstream: the same edit of the same document gives the same
// text. Safe for concurrent use.
type memo struct {
	mu    sync.Mutex
	seen  []uint64   // sums of the last texts: one that is written only once is not worth keeping
	texts []memoText // a list that is not changed any more
	// where the next ones go once there are enough
	nextSeen, nextText int
}

// memoText is a text and the tree that it was made from.
type memoText struct {
	tree *yaml.Node
	nl   string
	text []byte
	kept bool
}

// memoTexts is how many texts of a document are kept, memoSeen how many texts
// are told from new ones: a fleet's variants come in turn, one region after the other.
const (
	memoTexts = 16
	memoSeen  = 64
)

var memoSeed = maphash.MakeSeed()

func (m *memo) find(tree *yaml.Node, nl string) (memoText, bool) {
	m.mu.Lock()
	texts := m.texts
	m.mu.Unlock()
	for _, w := range texts {
		if w.nl == nl && yamltree.Identical(w.tree, tree) {
			return w, true
		}
	}
	return memoText{}, false
}

// write returns the text of a tree, written now or before. With settled nothing
// changes the tree.
func (m *memo) write(tree *yaml.Node, nl string, settled bool, encode func() (text []byte, kept bool, err error)) (text []byte, kept bool, err error) {
	if w, ok := m.find(tree, nl); ok {
		return w.text, w.kept, nil
	}
	if text, kept, err = encode(); err != nil {
		return nil, false, err
	}
	text = slices.Clip(text) // it is shared: appending must copy
	m.keep(tree, nl, text, kept, settled)
	return text, kept, nil
}

// keep keeps a text that was written before; settled says that nothing changes its tree.
func (m *memo) keep(tree *yaml.Node, nl string, text []byte, kept, settled bool) {
	if yamltree.HasAlias(tree) {
		return
	}
	sum := maphash.Bytes(memoSeed, text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.seen, sum) {
		m.seen, m.nextSeen = newest(m.seen, memoSeen, m.nextSeen, sum)
		return
	}
	if !settled {
		tree = yamltree.Copy(tree)
	}
	m.texts, m.nextText = newest(slices.Clone(m.texts), memoTexts, m.nextText, memoText{tree: tree, nl: nl, text: text, kept: kept})
}

// newest puts what is new at the end of a list, and into the place of the oldest where
// that is full.
func newest[T any](list []T, most, next int, now T) ([]T, int) {
	if len(list) < most {
		return append(list, now), next
	}
	list[next] = now
	return list, (next + 1) % most
}

// put is a tree that nothing changes any more, and the last text that it was
// written as. Safe for concurrent use.
type put struct {
	tree *yaml.Node
	read bool // the tree is what the parser makes of the last text
	mu   sync.Mutex
	last memoText
}

// encode returns the tree's text, written now or before.
func (p *put) encode(nl string, write func() ([]byte, bool, error)) ([]byte, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last.text == nil || p.last.nl != nl {
		text, kept, err := write()
		if err != nil {
			return nil, false, err
		}
		p.last = memoText{nl: nl, text: text, kept: kept}
	}
	return p.last.text, p.last.kept, nil
}
