package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/yamltree"
)

// Node is a place in a document. The zero Node is nothing at all: it reads as empty.
type Node struct {
	r     *Reader
	n     *yaml.Node
	line  int
	path  string
	depth int
}

// follow resolves aliases and counts the node. Of a null its place is left, past the
// bounds nothing.
func (v Node) follow() Node {
	if v.n = yamltree.Deref(v.n); yamltree.IsNull(v.n) {
		v.n = nil
		return v
	}
	v.r.budget--
	if v.r.budget == 0 || v.depth == maxDepth {
		v.r.budget = 0
		v.Error("the document is too large or too deep once its YAML aliases are followed",
			fmt.Sprintf("at most %d nodes and %d levels", maxNodes, maxDepth))
	}
	if v.r.budget <= 0 {
		return Node{}
	}
	return v
}

func (v Node) child(n *yaml.Node, line int, step string) Node {
	return Node{r: v.r, n: n, line: line, path: strings.TrimPrefix(v.path+step, "."), depth: v.depth + 1}.follow()
}

// Path is where the node is, such as spec.dependencies[0].gvk.
func (v Node) Path() string { return v.path }

// Is says that there is something.
func (v Node) Is() bool { return v.n != nil }

// IsMap says that it is a map.
func (v Node) IsMap() bool { return v.n != nil && v.n.Kind == yaml.MappingNode }

// IsList says that it is a list.
func (v Node) IsList() bool { return v.n != nil && v.n.Kind == yaml.SequenceNode }

// IsScalar says that it is a single value.
func (v Node) IsScalar() bool { return v.n != nil && v.n.Kind == yaml.ScalarNode }

// Warn reports what is read although it is not as it should be.
func (v Node) Warn(message, hint string) {
	if v.r == nil {
		return // past the bounds, which is an error of its own
	}
	v.r.Warnings = append(v.r.Warnings, api.Issue{Line: v.line, Field: v.path, Message: message, Hint: hint})
}

// Error reports what cannot be read.
func (v Node) Error(message, hint string) {
	if v.r == nil {
		return
	}
	v.r.errs = append(v.r.errs, api.Issue{Line: v.line, Field: v.path, Message: message, Hint: hint})
}

func (v Node) wrong(want string) {
	v.Error(v.path+" must be "+want, "")
}

// entry is one field of a map.
type entry struct {
	key   string
	value Node
}

// entries lists a map's fields, those that it merges in (`<<`) last.
func (v Node) entries() []entry {
	if !v.Is() {
		return nil
	}
	if !v.IsMap() {
		v.wrong("a map")
		return nil
	}
	var out, merged []entry
	seen := map[string]bool{}
	for k, val := range yamltree.Fields(v.n) {
		at := v.child(val, k.Line, "."+k.Value)
		switch {
		case k.Kind != yaml.ScalarNode:
			v.Error(v.path+" has a key that is not a word", "")
		case k.Value == "<<" && k.Style == 0:
			if at.IsMap() {
				merged = append(merged, at.entries()...)
			}
		case seen[k.Value]:
			Node{r: v.r, line: k.Line, path: v.path}.Error(fmt.Sprintf("%s is given twice", strings.TrimPrefix(v.path+"."+k.Value, ".")), "remove one of them")
		default:
			seen[k.Value] = true
			out = append(out, entry{k.Value, at})
		}
	}
	for _, m := range merged {
		if !seen[m.key] {
			seen[m.key] = true
			out = append(out, m)
		}
	}
	return out
}

// Fields are the fields of a map that has no others: a near miss is read as
// the name that it misses, what is not known is left out, both with a warning.
func (v Node) Fields(known ...string) map[string]Node {
	out := map[string]Node{}
	var rest []entry
	for _, e := range v.entries() {
		if slices.Contains(known, e.key) {
			out[e.key] = e.value
		} else {
			rest = append(rest, e)
		}
	}
	for _, e := range rest {
		at := e.value
		if !at.Is() {
			at = Node{r: v.r, line: v.line, path: strings.TrimPrefix(v.path+"."+e.key, ".")}
		}
		hint := api.DidYouMean(e.key, known)
		if name := near(hint); name != "" && !out[name].Is() {
			at.Warn(fmt.Sprintf("%s is read as %s", at.path, name), "write "+strconv.Quote(name))
			out[name] = e.value
			continue
		}
		if hint == "" {
			hint = "the fields here are " + strings.Join(known, ", ")
		}
		at.Warn(at.path+" is not known and is left out", hint)
	}
	return out
}

// near is the word in `did you mean "word"?`.
func near(hint string) string {
	_, rest, _ := strings.Cut(hint, `"`)
	word, _, _ := strings.Cut(rest, `"`)
	return word
}

// Some are some fields of a map that has others which do not matter here.
func (v Node) Some(known ...string) map[string]Node {
	out := map[string]Node{}
	for _, e := range v.entries() {
		if slices.Contains(known, e.key) {
			out[e.key] = e.value
		}
	}
	return out
}

// Get is one field of a map, following the names one after the other.
func (v Node) Get(names ...string) Node {
	for _, n := range names {
		if !v.IsMap() {
			return Node{}
		}
		v = v.Some(n)[n]
	}
	return v
}

// Keyed lists the fields of a map whose names are free.
func (v Node) Keyed(visit func(key string, value Node)) {
	for _, e := range v.entries() {
		visit(e.key, e.value)
	}
}

// Items are the entries of a list. A single map stands for a list of one, with a warning.
func (v Node) Items() []Node {
	switch {
	case !v.Is():
		return nil
	case v.IsMap():
		v.Warn(v.path+" is a list; the single map is read as its only entry", `put "- " before the entry`)
		return []Node{v}
	case !v.IsList():
		v.wrong("a list")
		return nil
	}
	var out []Node
	for i, n := range v.n.Content {
		if item := v.child(n, n.Line, fmt.Sprintf("[%d]", i)); item.Is() {
			out = append(out, item)
		}
	}
	return out
}

// Text is a single value as it is written: 1.20 stays 1.20, and on stays on.
func (v Node) Text() string {
	if v.Is() && !v.IsScalar() {
		v.wrong("a single value")
	}
	if !v.IsScalar() {
		return ""
	}
	return v.n.Value
}

// Texts are the words of a list.
func (v Node) Texts() []string {
	var out []string
	for _, i := range v.Items() {
		out = append(out, i.Text())
	}
	return out
}

// TextMap is a map of words; nil where it is empty.
func (v Node) TextMap() map[string]string {
	var out map[string]string
	for _, e := range v.entries() {
		if out == nil {
			out = map[string]string{}
		}
		out[e.key] = e.value.Text()
	}
	return out
}

// Bool is true or false, nil where there is nothing.
func (v Node) Bool() *bool {
	text := v.Text()
	if text == "" {
		return nil
	}
	b, err := strconv.ParseBool(text)
	if err != nil {
		v.wrong("true or false")
		return nil
	}
	return &b
}

// Walk visits every single value below a node.
func (v Node) Walk(visit func(Node)) {
	switch {
	case v.IsScalar():
		visit(v)
	case v.IsMap():
		for _, e := range v.entries() {
			e.value.Walk(visit)
		}
	case v.IsList():
		for _, i := range v.Items() {
			i.Walk(visit)
		}
	}
}
