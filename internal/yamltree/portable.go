package yamltree

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// blockStyles are the styles that write a string on lines of its own.
var blockStyles = yaml.LiteralStyle | yaml.FoldedStyle

// Portable changes a tree, in place, so that the text that the YAML library writes for it
// reads back as the same values, for that library and for others. It returns n.
//
// The library writes a string of several lines as a block, whatever the first line
// begins with, and refuses to read the block where that is a tab. Such strings, and
// those with characters that readers take for line breaks or refuse, get double quotes.
// A null for which nothing stands in a flow collection, as in {a, b: }, is
// written out: the library would write an empty string.
func Portable(n *yaml.Node) *yaml.Node {
	portable(n, false)
	return n
}

func portable(n *yaml.Node, flow bool) {
	if n == nil {
		return
	}
	if n.Kind == yaml.ScalarNode {
		portableScalar(n, flow)
	}
	flow = flow || n.Style&yaml.FlowStyle != 0
	for _, c := range n.Content {
		portable(c, flow)
	}
}

func portableScalar(n *yaml.Node, flow bool) {
	switch {
	case n.Value == "":
		if flow && n.ShortTag() == yaml.NodeTagNull {
			n.Value = "null"
		}
	case n.Value == MergeKey && n.ShortTag() == yaml.NodeTagString:
		n.Style |= yaml.DoubleQuotedStyle // the library writes it plain
	case !strings.Contains(n.Value, "\n") && Printable(n.Value, false):
		if n.Style&blockStyles != 0 { // a line of blanks alone is no content
			n.Style = n.Style&^blockStyles | yaml.DoubleQuotedStyle
		}
	case n.Style&blockStyles == yaml.FoldedStyle, !CanLiteral(n.Value):
		n.Style = n.Style&^(blockStyles|yaml.SingleQuotedStyle) | yaml.DoubleQuotedStyle
	}
}

// Printable reports whether a string has nothing that needs an escape; lines allows line
// feeds and tabs.
func Printable(s string, lines bool) bool {
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

// CanLiteral reports whether every reader of YAML takes the string from a literal block
// without an indentation indicator.
func CanLiteral(s string) bool {
	if !Printable(s, true) || strings.Trim(s, "\n") == "" {
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
