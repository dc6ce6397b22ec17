package catalogfn

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

const (
	localConfigAnnotation = "config.kubernetes.io/local-config"
	dependsOnAnnotation   = "config.kubernetes.io/depends-on"
	upstreamAnnotation    = "internal.kpt.dev/upstream-identifier"

	configAPIVersion = "fn.kpt.dev/v1alpha1"
)

// edit runs change on a resource's tree, first without writing: only a
// resource that changes is copied. change tells how many values differ. What the
// tree grows by is counted: values share their bytes until they are written out.
func edit(c *function.Call, r *krm.Resource, change func(root *yaml.Node, write bool) int) int {
	c.Spend(0)
	n := change(r.Node().YNode(), false)
	if n == 0 {
		return 0
	}
	root := r.Edit().YNode()
	before := size(root)
	change(root, true)
	c.Spend(max(0, size(root)-before))
	return n
}

// size is how many bytes a tree's values and comments take.
func size(n *yaml.Node) int {
	total := len(n.Value) + len(n.HeadComment) + len(n.LineComment) + len(n.FootComment) + 2
	for _, e := range n.Content {
		total += size(e)
	}
	return total
}

// fill puts a value into a text wherever its name stands.
func fill(c *function.Call, text, name, value string) string {
	if n := strings.Count(text, name); n > 0 {
		c.Spend(n * len(value))
		return strings.ReplaceAll(text, name, value)
	}
	return text
}

// pattern is a regular expression that is matched within the bounds of a call.
type pattern struct {
	*regexp.Regexp
	c     *function.Call
	steps int // for each byte, at most
}

func compile(c *function.Call, expr string) (*pattern, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	p := &pattern{Regexp: re, c: c, steps: 1}
	if parsed, err := syntax.Parse(expr, syntax.Perl); err == nil {
		if prog, err := syntax.Compile(parsed.Simplify()); err == nil {
			p.steps = len(prog.Inst)
		}
	}
	return p, nil
}

func (p *pattern) matches(value string) bool {
	p.c.Work(p.steps * len(value))
	return p.MatchString(value)
}

func (p *pattern) groups(value string) []string {
	p.c.Work(p.steps * len(value))
	return p.FindStringSubmatch(value)
}

// stringMap reads a mapping of scalars.
func stringMap(n *yaml.Node, keys ...string) map[string]string {
	v := yamltree.Path(n, keys...)
	if v == nil || v.Kind != yaml.MappingNode {
		return nil
	}
	out := make(map[string]string, len(v.Content)/2)
	for k, e := range yamltree.Fields(v) {
		if e = yamltree.Deref(e); yamltree.IsScalar(e) {
			out[k.Value] = e.Value
		}
	}
	return out
}

// setText gives an existing scalar a string value and keeps its quotes.
func setText(n *yaml.Node, v string) {
	n.Value, n.Tag = v, yaml.NodeTagString
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		n.Style = stringNode(v).Style
	}
}

// setImplied gives a scalar a value whose type is implied by what it looks
// like, as setters do.
func setImplied(n *yaml.Node, v string) {
	n.Value, n.Tag = v, ""
	if v == "" {
		n.Style = yaml.DoubleQuotedStyle
	}
	n.Tag = n.ShortTag()
	if yamltree.AsWritten(n) {
		n.Style = yaml.DoubleQuotedStyle
	}
}

// stringNode returns a string that no YAML reader takes for another type.
func stringNode(v string) *yaml.Node {
	n := yaml.NewStringRNode(v).YNode()
	if yamltree.Ambiguous(v) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// ensureMap returns the mapping at keys, made where it is missing or null; nil
// where something else stands there.
func ensureMap(n *yaml.Node, keys ...string) *yaml.Node {
	for _, k := range keys {
		if n = yamltree.Deref(n); n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		i := yamltree.Index(n, k)
		if i < 0 {
			n.Content = append(n.Content, stringNode(k), &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap})
			i = len(n.Content) - 2
		}
		if v := n.Content[i+1]; v.Kind == yaml.ScalarNode && v.ShortTag() == yaml.NodeTagNull {
			*v = yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, LineComment: v.LineComment, HeadComment: v.HeadComment}
		}
		n = n.Content[i+1]
	}
	n = yamltree.Deref(n)
	if n.Kind != yaml.MappingNode {
		return nil
	}
	if len(n.Content) == 0 {
		n.Style &^= yaml.FlowStyle
	}
	return n
}

// putText sets key in a mapping to a string.
func putText(m *yaml.Node, key, value string) {
	if i := yamltree.Index(m, key); i >= 0 {
		if v := m.Content[i+1]; v.Kind == yaml.ScalarNode {
			setText(v, value)
			return
		}
		m.Content[i+1] = stringNode(value)
		return
	}
	m.Content = append(m.Content, stringNode(key), stringNode(value))
}

// isLocal says whether a resource stays on the client: what it is annotated
// with anything but "false".
func isLocal(root *yaml.Node) bool {
	v := yamltree.Text(root, "metadata", "annotations", localConfigAnnotation)
	return v != "" && v != "false"
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// config is a call's functionConfig as a tree; nil where none was given.
func config(c *function.Call) *yaml.Node {
	if c.Config == nil {
		return nil
	}
	return c.Config.YNode()
}

func isConfigMap(root *yaml.Node) bool {
	return yamltree.Text(root, "kind") == "ConfigMap" && yamltree.Text(root, "apiVersion") == "v1"
}

func isConfigKind(root *yaml.Node, kinds ...string) bool {
	return yamltree.Text(root, "apiVersion") == configAPIVersion && slices.Contains(kinds, yamltree.Text(root, "kind"))
}

// wrongConfig reports a functionConfig that the function does not take.
func wrongConfig(c *function.Call, root *yaml.Node, want ...string) {
	c.Results.Errorf("%s", configProblem(root, want...))
}

func configProblem(root *yaml.Node, want ...string) string {
	if root == nil {
		return fmt.Sprintf("functionConfig is missing; give %s", strings.Join(want, " or "))
	}
	return fmt.Sprintf("functionConfig is %s %s; give %s", yamltree.Text(root, "apiVersion"), yamltree.Text(root, "kind"), strings.Join(want, " or "))
}

// decode reads a tree into a Go value.
func decode(n *yaml.Node, into any) error {
	if n == nil {
		return nil
	}
	if err := n.Decode(into); err != nil {
		return fmt.Errorf("functionConfig: %w", err)
	}
	return nil
}

// say adds a result about a field of a resource.
func say(c *function.Call, r *krm.Resource, severity fn.Severity, field, message string) {
	c.Spend(len(field) + len(message))
	res := &fn.Result{Message: message, Severity: severity}
	if r != nil {
		res.ResourceRef = &fn.ResourceRef{APIVersion: r.APIVersion(), Kind: r.Kind(), Namespace: r.Namespace(), Name: r.Name()}
		res.File = &fn.File{Path: r.Path(), Index: r.Index()}
	}
	if field != "" {
		res.Field = &fn.Field{Path: field}
	}
	c.Results = append(c.Results, res)
}

// gvk is a resource's kind, split.
type gvk struct{ group, version, kind string }

func gvkOf(r *krm.Resource) gvk { return gvk{group: r.Group(), version: r.Version(), kind: r.Kind()} }

// is compares; an empty group or version matches any but "core" is the core group.
func (g gvk) is(group, kind string) bool {
	if g.kind != kind {
		return false
	}
	switch group {
	case "":
		return true
	case coreGroup:
		return g.group == ""
	}
	return g.group == group
}

// coreGroup names the API group "" where "" means any.
const coreGroup = "core"
