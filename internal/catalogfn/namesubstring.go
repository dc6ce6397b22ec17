package catalogfn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

var clusterDependsOnPattern = lazyregexp.New(`\A([-.\w]*)/([-.\w]*)/([-.\w]*)\z`)

// EnsureNameSubstring prepends or appends a text to the names that do not
// contain it, and follows the names to where other resources refer to them
// (also in depends-on annotations). CustomResourceDefinitions, APIServices,
// Namespaces and Kptfiles keep their names. Config: a ConfigMap with one entry,
// `prepend` or `append`, or an EnsureNameSubstring with `substring`, `editMode`
// and `additionalNameFields`.
func EnsureNameSubstring(_ context.Context, c *function.Call) error {
	s, ok := newNamer(c)
	if !ok {
		return nil
	}
	resources := c.Resources()
	for _, r := range resources {
		s.rename(r)
	}
	n := 0
	for _, r := range resources {
		if edit(c, r, func(root *yaml.Node, write bool) int { return s.resource(r, root, write) }) > 0 {
			n++
		}
	}
	c.Results.Infof("%d resource(s) changed", n)
	return nil
}

// renamed is one resource that gets a new name; its namespace is "" where it is
// cluster-scoped.
type renamed struct{ group, namespace string }

// namer knows what is renamed, by Kind/name.
type namer struct {
	c         *function.Call
	substring string
	after     bool
	extra     []fieldSpec
	renamed   map[string][]renamed
}

func newNamer(c *function.Call) (*namer, bool) {
	cfg := config(c)
	s := &namer{c: c, renamed: map[string][]renamed{}}
	mode := "prepend"
	switch {
	case isConfigMap(cfg):
		data := stringMap(cfg, "data")
		if len(data) != 1 {
			c.Results.Errorf("functionConfig: data has %d entries; give one, prepend or append", len(data))
			return nil, false
		}
		for k, v := range data {
			mode, s.substring = k, v
		}
	case isConfigKind(cfg, "EnsureNameSubstring"):
		s.substring = yamltree.Text(cfg, "substring")
		if m := yamltree.Text(cfg, "editMode"); m != "" {
			mode = m
		}
	default:
		wrongConfig(c, cfg, "a v1 ConfigMap", "a "+configAPIVersion+" EnsureNameSubstring")
		return nil, false
	}
	if mode != "prepend" && mode != "append" {
		c.Results.Errorf("functionConfig: edit mode %q is unknown; there are prepend and append", mode)
	}
	if s.substring == "" {
		c.Results.Errorf("functionConfig: substring is empty; give the text that names must contain")
	}
	extra, ok := extraFields(c, "additionalNameFields")
	s.after, s.extra = mode == "append", extra
	return s, ok && c.Results.ExitCode() == 0
}

func (s *namer) name(old string) string {
	if strings.Contains(old, s.substring) {
		return old
	}
	s.c.Spend(len(s.substring))
	if s.after {
		return old + s.substring
	}
	return s.substring + old
}

// keepsName are the kinds that keep their names.
func keepsName(g gvk) bool {
	switch g.kind {
	case "CustomResourceDefinition", "Namespace":
		return true
	}
	return g.is("apiregistration.k8s.io", "APIService") || g.is("kpt.dev", "Kptfile")
}

func (s *namer) rename(r *krm.Resource) {
	if keepsName(gvkOf(r)) || r.Name() == "" || s.name(r.Name()) == r.Name() {
		return
	}
	ns := ""
	if namespaced(r) {
		ns = api.NamespaceOr(r.Namespace())
	}
	key := r.Kind() + "/" + r.Name()
	s.renamed[key] = append(s.renamed[key], renamed{group: r.Group(), namespace: ns})
}

func (s *namer) resource(r *krm.Resource, root *yaml.Node, write bool) int {
	n := s.references(r, root, write)
	if keepsName(gvkOf(r)) {
		return n
	}
	n += s.own(r, root, write)
	return n + s.dependsOn(root, write)
}

func (s *namer) own(r *krm.Resource, root *yaml.Node, write bool) int {
	n := 0
	set := func(v *yaml.Node) {
		if v == nil || v.Kind != yaml.ScalarNode || v.Value == "" || s.name(v.Value) == v.Value {
			return
		}
		n++
		if write {
			setText(v, s.name(v.Value))
		}
	}
	set(yamltree.Path(root, "metadata", "name"))
	for _, f := range s.extra {
		if f.applies(r) && f.Path != "metadata/name" {
			f.Create = false
			f.visit(root, write, set)
		}
	}
	return n
}

// references follows renamed targets to where r names them.
func (s *namer) references(r *krm.Resource, root *yaml.Node, write bool) int {
	ns := api.NamespaceOr(r.Namespace())
	n := 0
	for _, ref := range nameReferences()[r.Kind()] {
		if ref.group != "" && ref.group != r.Group() {
			continue
		}
		walkSpec(root, ref.path, false, write, func(v *yaml.Node) {
			n += s.reference(ref, v, ns, write)
		})
	}
	return n
}

func (s *namer) reference(ref nameReference, v *yaml.Node, ns string, write bool) int {
	switch {
	case v == nil:
		return 0
	case v.Kind == yaml.SequenceNode:
		n := 0
		for _, e := range v.Content {
			n += s.reference(ref, yamltree.Deref(e), ns, write)
		}
		return n
	case v.Kind == yaml.MappingNode:
		if kind := yamltree.Text(v, "kind"); kind != "" && kind != ref.targetKind {
			return 0
		}
		if own := yamltree.Text(v, "namespace"); own != "" {
			ns = own
		}
		v = yamltree.Path(v, "name")
	}
	if v == nil || v.Kind != yaml.ScalarNode || !s.hits(ref, v.Value, ns) {
		return 0
	}
	if write {
		setText(v, s.name(v.Value))
	}
	return 1
}

func (s *namer) hits(ref nameReference, name, ns string) bool {
	return slices.ContainsFunc(s.renamed[ref.targetKind+"/"+name], func(t renamed) bool {
		return (ref.targetGroup == "" || ref.targetGroup == t.group) && (t.namespace == "" || t.namespace == ns)
	})
}

func (s *namer) dependsOn(root *yaml.Node, write bool) int {
	old := yamltree.Text(root, "metadata", "annotations", dependsOnAnnotation)
	var next string
	if m := dependsOnPattern.FindStringSubmatch(old); m != nil && s.moved(m[1], m[3], m[4]) {
		next = fmt.Sprintf("%s/namespaces/%s/%s/%s", m[1], m[2], m[3], s.name(m[4]))
	} else if m := clusterDependsOnPattern.FindStringSubmatch(old); m != nil && s.moved(m[1], m[2], m[3]) {
		next = fmt.Sprintf("%s/%s/%s", m[1], m[2], s.name(m[3]))
	}
	if next == "" || next == old {
		return 0
	}
	if write {
		putText(yamltree.Path(root, "metadata", "annotations"), dependsOnAnnotation, next)
	}
	return 1
}

func (s *namer) moved(group, kind, name string) bool {
	return slices.ContainsFunc(s.renamed[kind+"/"+name], func(t renamed) bool { return t.group == group })
}
