package merge

import (
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

const (
	redacted = "(redacted)"
	maxShown = 120 // bytes of a value in a plan
)

// credential is how fields are named whose values are not for showing; a
// reference to a secret may be shown.
var (
	credential = lazyregexp.New(`(?i)passw(or)?d|passphrase|secret|token|credential|private[-_]?key|api[-_]?key|access[-_]?key`)
	reference  = lazyregexp.New(`(?i)(name|ref|path|namespace|kind|type)$`)
	userinfo   = lazyregexp.New(`://[^/@\s]*@`)
)

// show writes a value in one line of YAML, without credentials.
func (d *doc) show(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	if d.hidden() {
		return redacted
	}
	return oneLine(redact(n, d.secret && len(d.path) == 0))
}

// showComment writes a comment in one line, without credentials.
func (d *doc) showComment(comment string) string {
	switch {
	case comment == "":
		return ""
	case d.hidden(), credential.MatchString(comment):
		return redacted
	}
	return cut(userinfo.ReplaceAllString(strings.Join(strings.Fields(comment), " "), "://…@"))
}

// hidden says whether the value at the present path is a credential.
func (d *doc) hidden() bool {
	if len(d.path) == 0 {
		return false
	}
	if d.secret && (d.path[0] == "data" || d.path[0] == "stringData") {
		return true
	}
	last := d.path[len(d.path)-1]
	if last == "value" && len(d.path) > 1 { // an environment variable
		last = strings.TrimSuffix(d.path[len(d.path)-2], "]")
		return credential.MatchString(last)
	}
	return isCredential(last)
}

func isCredential(field string) bool {
	return credential.MatchString(field) && !reference.MatchString(field)
}

// redact returns a copy without comments, styles and credentials, to be
// written as flow.
func redact(n *yaml.Node, secret bool) *yaml.Node {
	c := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value}
	switch n.Kind {
	case yaml.ScalarNode:
		c.Value = userinfo.ReplaceAllString(n.Value, "://…@")
		c.Style = n.Style & (yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle)
		if strings.Contains(c.Value, "\n") {
			c.Style = yaml.DoubleQuotedStyle // its lines are told apart in one
		}
		return c
	case yaml.AliasNode:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "*" + n.Value}
	}
	c.Style = yaml.FlowStyle
	variable := credential.MatchString(yamltree.Text(n, "name"))
	for i := 0; i < len(n.Content); i++ {
		if n.Kind != yaml.MappingNode || i+1 == len(n.Content) {
			c.Content = append(c.Content, redact(n.Content[i], false))
			continue
		}
		k, v := n.Content[i], n.Content[i+1]
		i++
		hide := secret && (k.Value == "data" || k.Value == "stringData") || variable && k.Value == "value"
		shown := &yaml.Node{Kind: yaml.ScalarNode, Value: redacted}
		if !hide && !(isCredential(k.Value) && yamltree.IsScalar(v)) {
			shown = redact(v, false)
		}
		c.Content = append(c.Content, redact(k, false), shown)
	}
	return c
}

func oneLine(n *yaml.Node) string {
	s, err := yaml.String(n)
	if err != nil {
		return "(not printable)"
	}
	return cut(strings.Join(strings.Fields(s), " "))
}

// cut shortens what is shown.
func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	n := maxShown
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
