package krm

import (
	"bytes"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// refillable is a text that an edit of a document gave. An edit that differs from it in
// plain strings alone gives the same text with those in their places: the variants of an
// upstream mostly differ in nothing but their name.
type refillable struct {
	tree   *yaml.Node // nothing changes it any more
	nl     string
	text   []byte
	places []place // of the tree's scalars that are no keys, in its order
}

// place is where a plain string stands in a text.
type place struct {
	at   int  // its first byte, -1 where no other may stand
	word bool // only a word may: what was there before the edit may go over several lines
}

// newRefillable finds the places of what edited made of the document was, and text what
// that is written as. It reports false where the text has none.
func newRefillable(was, edited *yaml.Node, nl string, text []byte) (*refillable, bool) {
	p := placer{source: newSource(text, nl)}
	if yamltree.HasAlias(was) { // which stays where it means the same
		return nil, false
	}
	find := func(read *yaml.Node) { p.node(yamltree.Deref(edited), yamltree.Deref(read), yamltree.Deref(was)) }
	if !yamltree.Simply(text, find) {
		read, _, err := library(text)
		if err != nil || read == nil {
			return nil, false
		}
		find(read)
	}
	return &refillable{tree: edited, nl: nl, text: text, places: p.places}, slices.ContainsFunc(p.places, func(at place) bool { return at.at >= 0 })
}

// placer looks for the places of a tree's scalars in the text that it was written as.
type placer struct {
	*source
	places []place
}

// node takes what was read for a value from the text, nil where that is not known, and
// what the value was before the edit, nil for a new one.
func (p *placer) node(n, read, was *yaml.Node) {
	if read != nil && read.Style&yaml.FlowStyle != 0 {
		read = nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		reads, had := fieldsOf(read), fieldsOf(was)
		for key, value := range yamltree.Fields(n) {
			k, _ := yamltree.KeyOf(key)
			if had[k].value != nil && !p.beside(reads[k].key) {
				p.node(value, nil, nil)
			} else {
				p.node(value, reads[k].value, had[k].value)
			}
		}
	case yaml.SequenceNode:
		if was != nil || read != nil && len(read.Content) != len(n.Content) {
			read = nil // which items belong together depends on what is in them
		}
		for i, item := range n.Content {
			if read == nil {
				p.node(item, nil, nil)
			} else {
				p.node(item, read.Content[i], nil)
			}
		}
	case yaml.ScalarNode:
		p.places = append(p.places, p.scalar(n, read, was))
	}
}

// field is a key of a mapping with its value.
type field struct{ key, value *yaml.Node }

// fieldsOf are the fields of a mapping, none of what is no mapping or has a key twice.
func fieldsOf(m *yaml.Node) map[yamltree.Key]field {
	if m == nil || m.Kind != yaml.MappingNode {
		return nil
	}
	keys, _ := yamltree.Keys(m)
	out := make(map[yamltree.Key]field, len(keys))
	for k, i := range keys {
		out[k] = field{m.Content[i], m.Content[i+1]}
	}
	return out
}

// beside reports whether a key has its colon behind it: where it has a line of its own
// ("? key"), the splicer writes the document anew.
func (p *placer) beside(key *yaml.Node) bool {
	if key != nil {
		p.colon(key)
	}
	ok := key != nil && p.err == nil
	p.err = nil
	return ok
}

func (p *placer) scalar(n, read, was *yaml.Node) place {
	none := place{at: -1}
	if read == nil || !refills(n, was != nil) {
		return none
	}
	if was != nil && (was.Style != 0 || was.Anchor != "" || n.LineComment != "" && n.LineComment != was.LineComment) {
		return none // what is the same again keeps its tag and anchor, and gets the comment in another way
	}
	at := p.offset(read)
	if p.err != nil || !bytes.HasPrefix(p.data[at:], []byte(n.Value)) { // it has quotes, or an anchor
		p.err = nil
		return none
	}
	return place{at: at, word: was != nil}
}

// refills says that a scalar is a string which is written as it is where one like it is, if
// that has a place.
func refills(n *yaml.Node, word bool) bool {
	text := []byte(n.Value)
	return n.Style == 0 && n.Anchor == "" && yamltree.IsASCII(text) && (yamltree.IsWord(text) || !word && yamltree.IsPlain(text)) &&
		canPlain(n.Value, false)
}

// fill returns what a tree is written as that differs in nothing but plain strings.
func (r *refillable) fill(tree *yaml.Node, nl string) ([]byte, bool) {
	if nl != r.nl {
		return nil, false
	}
	s := splicer{source: &source{data: r.text}}
	alike := yamltree.IdenticalBut(r.tree, tree, func(i int, was, now *yaml.Node) bool {
		p := r.places[i]
		if p.at < 0 || !refills(now, p.word) {
			return false
		}
		s.edit(p.at, p.at+len(was.Value), now.Value)
		return true
	})
	switch {
	case !alike:
		return nil, false
	case len(s.edits) == 0:
		return r.text, true
	}
	text, ok := s.apply()
	return slices.Clip(text), ok // it is shared: appending must copy
}
