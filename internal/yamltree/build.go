package yamltree

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Map returns a new, empty block mapping.
func Map() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap} }

// Seq returns a new block sequence.
func Seq(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Content: items}
}

// String returns a string scalar, quoted where YAML 1.1 or 1.2 would read the
// bare text as something else ("yes", "1.0").
func String(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s}
	switch {
	case strings.Contains(s, "\n"):
		n.Style = yaml.LiteralStyle
	case Ambiguous(s) || strings.TrimSpace(s) != s:
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// StringMap returns a mapping of strings with sorted keys.
func StringMap(m map[string]string) *yaml.Node {
	out := Map()
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out.Content = append(out.Content, String(k), String(m[k]))
	}
	return out
}

// oldTypes match plain text that a YAML 1.1 reader takes for another type
// than a string although the YAML 1.2 reader in use here does not: numbers of
// base 60, octals, exponents without a dot, numbers with underscores, dates.
var oldTypes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		`[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?`,
		`[-+]?0o?[0-7_]+`,
		`[-+]?0b[01_]+`,
		`[-+]?0x[0-9a-fA-F_]+`,
		`[-+]?[0-9][0-9_,]*`,
		`[-+]?(?:[0-9][0-9_]*)?\.?[0-9_]*(?:[eE][-+]?[0-9]+)?`,
		`[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)`,
		`[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?`,
	}, "|") + `)$`)
})

// oldBools are what YAML 1.1 reads as a boolean.
var oldBools = map[string]bool{
	"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true,
}

// quotes are the styles that make any scalar a string.
var quotes = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

// Tag returns the type of a scalar as the API server reads it. That is the YAML
// library's ShortTag, but for yes, no, on, off, y and n without quotes in a text that was
// parsed: kubectl and the API server take these words of YAML 1.1 for booleans, the
// library for strings.
func Tag(n *yaml.Node) string {
	tag := n.ShortTag()
	if tag == yaml.NodeTagString && n.Line > 0 && n.Kind == yaml.ScalarNode && n.Style&(quotes|yaml.TaggedStyle) == 0 && isOldBool(n.Value) {
		return yaml.NodeTagBool
	}
	return tag
}

// isOldBool reports whether YAML 1.1 reads a text as a boolean: in lower case, in upper
// case or as a word with a capital.
func isOldBool(s string) bool {
	if s == "" || len(s) > len("false") {
		return false
	}
	lower := strings.ToLower(s)
	return oldBools[lower] && (s == lower || s == strings.ToUpper(s) || s == strings.ToUpper(s[:1])+lower[1:])
}

// AsWritten reports whether a string has no quotes in a text that was parsed, although
// it is [Ambiguous].
func AsWritten(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Line > 0 && n.Style&(quotes|yaml.TaggedStyle) == 0 && n.ShortTag() == yaml.NodeTagString && n.Value != "" && n.Value != MergeKey &&
		Ambiguous(n.Value) && (&yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}).ShortTag() == yaml.NodeTagString
}

// Ambiguous reports whether a string, written without quotes, is read as
// another type by a YAML 1.1 or 1.2 reader: yes, on, 1e3, 0x1, null, ~, 1_000,
// dates, 12:30:45. The writer quotes such strings.
func Ambiguous(s string) bool {
	if s == "" || s == "<<" || s == "=" || len(s) <= len("false") && oldBools[strings.ToLower(s)] {
		return true
	}
	switch {
	case strings.IndexByte("0123456789+-.nN~tTfF", s[0]) < 0:
		return false
	case s[0] > '9' && len(s) > len("false"): // no word of another type is longer
		return false
	}
	n := yaml.Node{Kind: yaml.ScalarNode, Value: s} // of oldTypes none begins with one of the letters
	return n.ShortTag() != yaml.NodeTagString || s[0] <= '9' && oldTypes().MatchString(s)
}
