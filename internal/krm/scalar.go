package krm

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// oldTypes match plain text that a YAML 1.1 reader takes for another type
// than a string although the YAML 1.2 reader in use here does not: numbers of
// base 60, octals, exponents without a dot, numbers with underscores, dates.
var oldTypes = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?`,
	`[-+]?0o?[0-7_]+`,
	`[-+]?0b[01_]+`,
	`[-+]?0x[0-9a-fA-F_]+`,
	`[-+]?[0-9][0-9_,]*`,
	`[-+]?(?:[0-9][0-9_]*)?\.?[0-9_]*(?:[eE][-+]?[0-9]+)?`,
	`[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)`,
	`[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?`,
}, "|") + `)$`)

// oldBools are what YAML 1.1 reads as a boolean.
var oldBools = map[string]bool{
	"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true,
}

// Ambiguous reports whether a string, written without quotes, is read as
// another type by a YAML 1.1 or 1.2 reader: yes, on, 1e3, 0x1, null, ~, 1_000,
// dates, 12:30:45. The writer quotes such strings.
func Ambiguous(s string) bool {
	if s == "" || s == "<<" || s == "=" || oldBools[strings.ToLower(s)] {
		return true
	}
	if strings.IndexByte("0123456789+-.nN~tTfF", s[0]) < 0 {
		return false
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Value: s}
	return n.ShortTag() != tagStr || oldTypes.MatchString(s)
}

// canPlain reports whether a string can stand without quotes.
func canPlain(s string, flow bool) bool {
	if Ambiguous(s) || !printable(s, false) || s[0] == ' ' || s[len(s)-1] == ' ' || s[len(s)-1] == ':' {
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

// printable reports whether a string has nothing that needs an escape; lines
// allows line feeds and tabs.
func printable(s string, lines bool) bool {
	for _, r := range s {
		if r >= ' ' && r < 0x7f {
			continue
		}
		if lines && (r == '\n' || r == '\t') {
			continue
		}
		if r < 0xa0 || r == utf8.RuneError || r == 0x2028 || r == 0x2029 || r == 0xfeff || !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) {
			return false
		}
	}
	return true
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
		case printable(string(r), false) && r != utf8.RuneError:
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

// canLiteral reports whether a string can stand as a literal block.
func canLiteral(s string) bool {
	if !printable(s, true) || strings.Trim(s, "\n") == "" {
		return false
	}
	for i, line := range strings.Split(s, "\n") {
		if strings.HasPrefix(line, "\t") || i == 0 && (line == "" || line[0] == ' ') {
			return false
		}
		if line != "" && strings.TrimLeft(line, " \t") == "" {
			return false
		}
	}
	return true
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
	if tag == tagStr || n.Style&yaml.TaggedStyle != 0 && n.Style&quoted != 0 {
		return tagOf(n) + inlineString(n.Value, want, flow)
	}
	if tag == tagNull && strings.TrimSpace(n.Value) == "" {
		return tagOf(n) + "null"
	}
	plain := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
	switch {
	case n.Style&yaml.TaggedStyle != 0:
		if canPlain(n.Value, flow) || plain.ShortTag() != tagStr {
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
	if want&yaml.DoubleQuotedStyle != 0 || !printable(s, false) {
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
