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

// nameRules are the differences between releases of ensure-name-substring.
type nameRules struct {
	// first is v0.1.1: Kptfiles are renamed too, depends-on annotations are left alone.
	first bool
}

// run prepends or appends a text to the names that do not contain it, and follows the
// names to where other resources refer to them (also in depends-on annotations).
// CustomResourceDefinitions, APIServices, Namespaces and Kptfiles keep their names.
// Config: a ConfigMap with one entry, `prepend` or `append`, or an EnsureNameSubstring
// with `substring`, `editMode` and `additionalNameFields`.
func (rules nameRules) run(_ context.Context, c *function.Call) error {
	if !distinct(c, "metadata.name") {
		return nil
	}
	s, ok := newNamer(c, rules)
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

// renamed is one resource that gets a new name. Its namespace is "" where it is
// cluster-scoped, and written is the one that it has in its file.
type renamed struct{ group, namespace, written string }

// namer knows what is renamed, by Kind/name.
type namer struct {
	nameRules
	c         *function.Call
	substring string
	after     bool
	extra     []fieldSpec
	renamed   map[string][]renamed
}

func newNamer(c *function.Call, rules nameRules) (*namer, bool) {
	cfg := config(c)
	s := &namer{nameRules: rules, c: c, renamed: map[string][]renamed{}}
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

// keepsName reports whether resources of a kind keep their names.
func (s *namer) keepsName(g gvk) bool {
	switch g.kind {
	case "CustomResourceDefinition", "Namespace":
		return true
	}
	return g.is("apiregistration.k8s.io", "APIService") || !s.first && g.is("kpt.dev", "Kptfile")
}

func (s *namer) rename(r *krm.Resource) {
	if s.keepsName(gvkOf(r)) || r.Name() == "" || s.name(r.Name()) == r.Name() {
		return
	}
	key := r.Kind() + "/" + r.Name()
	s.renamed[key] = append(s.renamed[key], renamed{group: r.Group(), namespace: namespaceOf(r), written: r.Namespace()})
}

// namespaceOf returns the namespace that a resource is in; "" where it is cluster-scoped.
func namespaceOf(r *krm.Resource) string {
	if !namespaced(r) {
		return ""
	}
	return api.NamespaceOr(r.Namespace())
}

func (s *namer) resource(r *krm.Resource, root *yaml.Node, write bool) int {
	n := s.references(r, root, write)
	if s.keepsName(gvkOf(r)) {
		return n
	}
	n += s.own(r, root, write)
	if s.first {
		return n
	}
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
	from := namespaceOf(r)
	var named []string // the namespaces of a RoleBinding's service accounts
	for _, e := range yamltree.Items(root, "subjects") {
		if r.Kind() == "RoleBinding" && yamltree.Text(e, "kind") == "ServiceAccount" {
			named = append(named, yamltree.Text(e, "namespace"))
		}
	}
	n := 0
	for _, ref := range nameReferences()[r.Kind()] {
		if ref.group != "" && ref.group != r.Group() || !ref.fits(root) {
			continue
		}
		inReach := func(t renamed) bool {
			return from == "" || t.namespace == "" || t.namespace == from ||
				ref.targetKind == "ServiceAccount" && t.written != "" && slices.Contains(named, t.written)
		}
		walkSpec(root, ref.path, false, write, func(v *yaml.Node) {
			n += s.reference(ref, v, inReach, write)
		})
	}
	return n
}

// fits reports whether the roleRef, where the reference is one, is of the target's kind.
func (ref nameReference) fits(root *yaml.Node) bool {
	group, kind := yamltree.Path(root, "roleRef", "apiGroup"), yamltree.Path(root, "roleRef", "kind")
	return ref.path[0] != "roleRef" || group == nil || kind == nil || group.Value == ref.targetGroup && kind.Value == ref.targetKind
}

// reference sets the name in a text, in each element of a list, or in a mapping with a
// name and perhaps a namespace. As kustomize does, it takes the field for a reference to
// the target's kind, whatever a kind beside the name says.
func (s *namer) reference(ref nameReference, v *yaml.Node, inReach func(renamed) bool, write bool) int {
	if v == nil {
		return 0
	}
	name, within := v, (*yaml.Node)(nil)
	switch v.Kind {
	case yaml.SequenceNode:
		n := 0
		for _, e := range v.Content {
			n += s.reference(ref, yamltree.Deref(e), inReach, write)
		}
		return n
	case yaml.MappingNode:
		name, within = yamltree.Path(v, "name"), yamltree.Path(v, "namespace")
	}
	if name == nil || name.Kind != yaml.ScalarNode {
		return 0
	}
	i := slices.IndexFunc(s.renamed[ref.targetKind+"/"+name.Value], func(t renamed) bool {
		return (ref.targetGroup == "" || ref.targetGroup == t.group) && inReach(t) &&
			(within == nil || t.namespace == api.NamespaceOr(within.Value))
	})
	if i < 0 {
		return 0
	}
	if target := s.renamed[ref.targetKind+"/"+name.Value][i]; write {
		setText(name, s.name(name.Value))
		if v != name && target.written != "" {
			putText(v, "namespace", target.written)
		}
	}
	return 1
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
