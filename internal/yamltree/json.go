package yamltree

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// JSON parses a text that is one JSON value, as encoding/json reads it, and reports false
// where the text is anything else. The tree is the one that the YAML library gives for the text
// where that reads it as the same: flow collections and strings in double quotes, with their
// places. YAML 1.1 refuses some JSON (\/, surrogate pairs, keys of more than 1,024 characters)
// and reads line breaks other than LF in strings as blanks. A key that occurs twice is in the
// tree twice.
func JSON(data []byte) (*yaml.Node, bool) {
	text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if !utf8.Valid(text) || !json.Valid(text) {
		return nil, false
	}
	p := &jsonParser{data: text, line: 1, column: 1}
	p.blanks()
	doc := &yaml.Node{Kind: yaml.DocumentNode, Line: p.line, Column: p.column}
	doc.Content = []*yaml.Node{p.value()}
	return doc, true
}

// jsonParser reads a valid text.
type jsonParser struct {
	data         []byte
	line, column int // of data's first character, from 1
}

// skip passes n bytes. Lines end where YAML 1.1 ends them, so that places are those of the
// YAML library.
func (p *jsonParser) skip(n int) []byte {
	text := p.data[:n]
	p.data = p.data[n:]
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		switch {
		case r == '\r' && bytes.HasPrefix(rest, []byte("\n")) || r == '\r' && len(rest) == 0 && bytes.HasPrefix(p.data, []byte("\n")):
			// the line ends with the LF
		case r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029:
			p.line, p.column = p.line+1, 1
		default:
			p.column++
		}
	}
	return text
}

func (p *jsonParser) blanks() {
	p.skip(len(p.data) - len(bytes.TrimLeft(p.data, " \t\r\n")))
}

func (p *jsonParser) value() *yaml.Node {
	n := &yaml.Node{Line: p.line, Column: p.column}
	switch p.data[0] {
	case '{':
		n.Kind, n.Tag, n.Style = yaml.MappingNode, yaml.NodeTagMap, yaml.FlowStyle
		p.collection(n, '}')
	case '[':
		n.Kind, n.Tag, n.Style = yaml.SequenceNode, yaml.NodeTagSeq, yaml.FlowStyle
		p.collection(n, ']')
	case '"':
		n.Kind, n.Tag, n.Style = yaml.ScalarNode, yaml.NodeTagString, yaml.DoubleQuotedStyle
		_ = json.Unmarshal(p.skip(jsonStringEnd(p.data)), &n.Value) // it is valid
	default:
		end := bytes.IndexAny(p.data, ",]} \t\r\n")
		if end < 0 {
			end = len(p.data)
		}
		n.Kind, n.Value = yaml.ScalarNode, string(p.skip(end))
		if n.Tag = n.ShortTag(); n.Tag == yaml.NodeTagString { // a number that YAML has no room for
			n.Tag = yaml.NodeTagFloat
		}
	}
	return n
}

// collection reads keys and values, or items, up to the closing bracket.
func (p *jsonParser) collection(n *yaml.Node, closing byte) {
	p.skip(1)
	for {
		p.blanks()
		switch p.data[0] {
		case closing:
			p.skip(1)
			return
		case ',', ':':
			p.skip(1)
			continue
		}
		n.Content = append(n.Content, p.value())
	}
}

// jsonStringEnd is where the string ends that the text begins with.
func jsonStringEnd(text []byte) int {
	i := 1
	for ; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}
