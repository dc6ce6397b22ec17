package krm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// A *.json file that is valid JSON is read as JSON, any other as YAML. Its text has to
// stay JSON after an edit. If a splice gives something else, the whole document is
// encoded again.

// isJSON reports whether a file is JSON by its name.
func isJSON(path string) bool { return strings.HasSuffix(path, ".json") }

// mayHoldJSON reports whether a JSON file may hold a resource. Others, such as
// dashboards and settings with comments, are not read at all.
func mayHoldJSON(data []byte) bool { return bytes.Contains(data, []byte("apiVersion")) }

// json reports whether the resource has to be written as JSON. A *.json file
// with something else in it is treated as the YAML that it is.
func (r *Resource) json() bool {
	return isJSON(r.path) && (r.doc == nil || r.moved() || json.Valid(r.text()))
}

// meansIn is means for a text in a file of that path.
func meansIn(path string, text []byte, tree *yaml.Node) bool {
	if isJSON(path) {
		if root, ok := yamltree.JSON(text); ok {
			return yamltree.SameValue(root, tree)
		}
	}
	return means(text, tree)
}

// text is the text that the resource was parsed from.
func (r *Resource) text() []byte { return r.from.Data[r.doc.start:r.doc.end] }

// encodeJSON returns the resource's text for a JSON file, as encode does.
func (r *Resource) encodeJSON(nl string) (text []byte, kept bool, err error) {
	var before []byte
	after := r.plainTree()
	if r.doc != nil {
		before = r.text()
		if out, ok := r.spliced(nl, settle(after)); ok && json.Valid(out) {
			return out, true, nil
		}
	}
	out, err := jsonText(after, before)
	return out, false, r.wrap(err)
}

// jsonText writes a tree as JSON, laid out like the text that it replaces.
func jsonText(tree *yaml.Node, like []byte) ([]byte, error) {
	flat, err := appendJSON(nil, tree, 0)
	if err != nil {
		return nil, err
	}
	out := flat
	if inner := bytes.TrimSpace(like); len(inner) == 0 || inner[0] != '{' || bytes.IndexByte(inner, '\n') >= 0 {
		var b bytes.Buffer
		if err := json.Indent(&b, flat, "", jsonIndent(inner)); err != nil {
			return nil, err
		}
		out = b.Bytes()
	}
	if len(like) == 0 || bytes.HasSuffix(like, []byte("\n")) {
		out = append(out, lineBreak(like)...)
	}
	if root, ok := yamltree.JSON(out); !ok || !yamltree.SameValue(root, tree) {
		return nil, errors.New("the tree cannot be written as JSON: it reads back as something else")
	}
	return out, nil
}

// jsonIndent is the white space before the first field of a text that has one
// field to a line.
func jsonIndent(text []byte) string {
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	if indent := rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))]; len(indent) > 0 && len(text) > 0 && text[0] == '{' {
		return string(indent)
	}
	return "  "
}

// appendJSON writes a tree on one line, its fields in their order.
func appendJSON(b []byte, n *yaml.Node, depth int) ([]byte, error) {
	n = yamltree.Deref(n)
	if depth > maxTree {
		return nil, errDeep
	}
	switch {
	case yamltree.IsNull(n):
		return append(b, "null"...), nil
	case n.Kind == yaml.MappingNode && yamltree.CustomTag(n) == "":
		return appendFields(b, n, depth)
	case n.Kind == yaml.SequenceNode && yamltree.CustomTag(n) == "":
		b = append(b, '[')
		for i, c := range n.Content {
			if i > 0 {
				b = append(b, ", "...)
			}
			var err error
			if b, err = appendJSON(b, c, depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case n.Kind == yaml.ScalarNode:
		return appendJSONScalar(b, n)
	}
	return nil, fmt.Errorf("JSON has nothing for the YAML tag %s", n.Tag)
}

func appendFields(b []byte, n *yaml.Node, depth int) ([]byte, error) {
	b = append(b, '{')
	for key, value := range yamltree.Fields(n) {
		if b[len(b)-1] != '{' {
			b = append(b, ", "...)
		}
		k := yamltree.Deref(key)
		if k.Kind != yaml.ScalarNode || k.ShortTag() != yaml.NodeTagString {
			return nil, fmt.Errorf("JSON has no keys but strings: %q is none", k.Value)
		}
		b = append(jsonString(b, k.Value), ": "...)
		var err error
		if b, err = appendJSON(b, value, depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendJSONScalar(b []byte, n *yaml.Node) ([]byte, error) {
	tag := n.ShortTag()
	if v, ok := yamltree.Bool(n); ok {
		return strconv.AppendBool(b, v), nil
	}
	if tag == yaml.NodeTagString {
		return jsonString(b, n.Value), nil
	}
	for _, value := range []string{n.Value, yamltree.Canonical(n)} {
		if tag == yaml.NodeTagInt || tag == yaml.NodeTagFloat {
			if json.Valid([]byte(value)) {
				return append(b, value...), nil
			}
		}
	}
	return nil, fmt.Errorf("JSON has nothing for the value %s (%s): write it as a string", n.Value, tag)
}

// jsonString quotes a string so that JSON and YAML read the same: unlike
// json.Marshal it leaves <, > and & alone, and it escapes what YAML takes for a
// line break or refuses.
func jsonString(b []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string into a buffer cannot fail
	for _, r := range string(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))) {
		if r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff {
			b = fmt.Appendf(b, "\\u%04x", r)
			continue
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}
