package krm

import (
	"bytes"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// patched is the tree of a text that differs from one which was parsed only in
// plain scalars and the comments behind them, as another version of a file mostly
// does: the parser would give the same. It reports false where there is more to it.
func patched(root *yaml.Node, old, text []byte) (*yaml.Node, bool) {
	words, ok := changedWords(old, text)
	if !ok || len(words) == 0 {
		return root, ok
	}
	p := patcher{words: words}
	if p.own = yamltree.HasAlias(root); p.own { // an alias is to point into its own tree
		root = yamltree.Copy(root)
	}
	out := p.node(root)
	return out, len(p.words) == 0
}

// word is a plain scalar that ends a line but for a comment, in two texts: a word, or several.
type word struct {
	line, column int
	old, now     string
	comments     [2]string // before and after; both or none
}

// changedWords are the words in which two texts differ, in order; false where they
// differ in anything else.
func changedWords(old, text []byte) (words []word, ok bool) {
	for line := 1; len(old) > 0 && len(text) > 0; line++ {
		end, next := lineEnd(old, 0)
		if next > end && old[next-1] == '\n' && bytes.HasPrefix(text, old[:next]) { // as most
			old, text = old[next:], text[next:]
			continue
		}
		end2, next2 := lineEnd(text, 0)
		if !bytes.Equal(old[:next], text[:next2]) {
			w, ok := changedWord(old[:end], text[:end2])
			if !ok || !bytes.Equal(old[end:next], text[end2:next2]) {
				return nil, false
			}
			w.line = line
			words = append(words, w)
		}
		old, text = old[next:], text[next2:]
	}
	return words, len(old) == len(text)
}

func changedWord(old, now []byte) (word, bool) {
	if !yamltree.IsASCII(old) || !yamltree.IsASCII(now) {
		return word{}, false
	}
	a, comment := cutComment(old)
	b, comment2 := cutComment(now)
	at := lastValue(a)
	if at == 0 || !bytes.HasPrefix(b, a[:at]) || !yamltree.IsPlain(b[at:]) || (comment == "") != (comment2 == "") {
		return word{}, false
	}
	return word{column: at + 1, old: string(a[at:]), now: string(b[at:]), comments: [2]string{comment, comment2}}, true
}

// lastValue is where the value of a line's last key begins, or where there is none its
// last word: a plain scalar has no colon before a space. The tree says whether it is one.
func lastValue(line []byte) int {
	i := bytes.LastIndex(line, []byte(": ")) + 1
	if i == 0 {
		return bytes.LastIndexByte(line, ' ') + 1
	}
	return len(line) - len(bytes.TrimLeft(line[i:], " "))
}

// cutComment parts a line from the comment at its end.
func cutComment(line []byte) (body []byte, comment string) {
	if i := bytes.Index(line, []byte(" #")); i >= 0 {
		line, comment = line[:i], string(line[i+1:])
	}
	return bytes.TrimRight(line, " "), comment
}

// patcher puts words into a tree, in the order of the text.
type patcher struct {
	words []word
	own   bool // the tree is nobody else's
}

// node is a node with the words that stand in it; where there are none it is the same
// one, for what is parsed is never changed.
func (p *patcher) node(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		return p.scalar(n)
	}
	if n.Style&yaml.FlowStyle != 0 {
		return n
	}
	first, step := 0, 1
	if n.Kind == yaml.MappingNode {
		first, step = 1, 2
	}
	out := n
	for i := first; i < len(n.Content) && len(p.words) > 0; i += step {
		now := p.node(n.Content[i])
		if now == n.Content[i] {
			continue
		}
		if out == n {
			own := *n
			own.Content = slices.Clone(n.Content)
			out = &own
		}
		out.Content[i] = now
	}
	return out
}

func (p *patcher) scalar(n *yaml.Node) *yaml.Node {
	w := p.words[0]
	if n.Kind != yaml.ScalarNode || n.Line != w.line || n.Column != w.column || n.Value != w.old || n.LineComment != w.comments[0] || n.Style != 0 || n.Anchor != "" {
		return n
	}
	if !p.own {
		own := *n
		n = &own
	}
	n.Value, n.Tag, n.LineComment = w.now, "", w.comments[1]
	n.Tag = n.ShortTag()
	p.words = p.words[1:]
	return n
}
