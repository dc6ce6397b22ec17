package krm

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// quoted is the set of styles that make any scalar a string.
const quoted = yaml.Style(1<<1 | 1<<2 | 1<<3 | 1<<4)

// canPlain reports whether a string can stand without quotes.
func canPlain(s string, flow bool) bool { return !yamltree.Ambiguous(s) && plainSyntax(s, flow) }

// plainSyntax reports whether a text that is not empty is one scalar without quotes,
// whatever its type.
func plainSyntax(s string, flow bool) bool {
	if !yamltree.Printable(s, false) || s[0] == ' ' || s[len(s)-1] == ' ' || s[len(s)-1] == ':' {
		return false
	}
	if strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") {
		return false
	}
	if strings.IndexByte(",[]{}#&*!|>'\"%@`", s[0]) >= 0 {
		return false
	}
	if strings.IndexByte("-?:", s[0]) >= 0 && (len(s) == 1 || s[1] == ' ' || flow) {
		return false
	}
	if strings.Contains(s, ": ") || strings.Contains(s, " #") {
		return false
	}
	return !flow || !strings.ContainsAny(s, ",[]{}?")
}

// singleQuote writes a printable string in single quotes.
func singleQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// doubleQuote writes any string in double quotes, in a form that JSON reads too.
func doubleQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case yamltree.Printable(string(r), false) && r != utf8.RuneError:
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// literal returns the header and the lines of a literal block.
func literal(s string) (header string, lines []string) {
	trimmed := strings.TrimRight(s, "\n")
	switch len(s) - len(trimmed) {
	case 0:
		return "|-", strings.Split(trimmed, "\n")
	case 1:
		return "|", strings.Split(trimmed, "\n")
	}
	return "|+", strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// inlineScalar writes a scalar on one line in the style nearest to want.
func inlineScalar(n *yaml.Node, want yaml.Style, flow bool) string {
	tag := n.ShortTag()
	if tag == yaml.NodeTagString || n.Style&yaml.TaggedStyle != 0 && n.Style&quoted != 0 {
		return tagOf(n) + inlineString(n.Value, want, flow)
	}
	if tag == yaml.NodeTagNull && strings.TrimSpace(n.Value) == "" {
		return tagOf(n) + "null"
	}
	plain := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		if canPlain(n.Value, flow) || plain.ShortTag() != yaml.NodeTagString {
			return tagOf(n) + n.Value
		}
	case plain.ShortTag() == tag:
		return n.Value
	}
	t := n.Tag
	if !strings.HasPrefix(t, "!") {
		t = tag
	}
	return t + " " + inlineString(n.Value, want, flow)
}

// tagOf is the explicit tag of a node with a space behind it, "" without.
func tagOf(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle == 0 || n.Tag == "" {
		return ""
	}
	tag := n.ShortTag()
	if strings.HasPrefix(tag, "!") {
		return tag + " "
	}
	return "!<" + tag + "> "
}

func inlineString(s string, want yaml.Style, flow bool) string {
	if want&yaml.DoubleQuotedStyle != 0 || !yamltree.Printable(s, false) {
		return doubleQuote(s)
	}
	if want&yaml.SingleQuotedStyle != 0 {
		return singleQuote(s)
	}
	if canPlain(s, flow) {
		return s
	}
	return doubleQuote(s)
}
