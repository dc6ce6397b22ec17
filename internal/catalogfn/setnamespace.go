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

// contextConfigMap is the name of a package's context, whose `name` is the
// namespace where no `namespace` is given.
const contextConfigMap = "kptfile.kpt.dev"

// dependsOnPattern is a reference to a namespaced resource.
var dependsOnPattern = lazyregexp.New(`\A([-.\w]*)/namespaces/([-.\w]*)/([-.\w]*)/([-.\w]*)\z`)

// SetNamespace gives resources a namespace: metadata.namespace of namespaced
// ones (built-in kinds by what they are, others by having one), the name of
// Namespaces, the subjects of (Cluster)RoleBindings, the service of
// CustomResourceDefinition webhooks and of APIServices, and depends-on
// annotations that point to a resource that moved. Local configuration is left
// alone. Config: a ConfigMap with `namespace` (and `namespaceMatcher`), the
// package context, or a SetNamespace.
func SetNamespace(_ context.Context, c *function.Call) error {
	to, matcher, ok := namespaceConfig(c)
	if !ok {
		return nil
	}
	s := namespaceSetter{to: to, matcher: matcher, old: map[string]bool{}, moved: map[string]bool{}}
	var work []*krm.Resource
	for _, r := range c.Resources() {
		if !isLocal(r.Node().YNode()) {
			work = append(work, r)
		}
	}
	for _, r := range work {
		s.remember(r)
	}
	for _, r := range work {
		edit(c, r, func(root *yaml.Node, write bool) int { return s.set(r, root, write) })
	}
	s.report(c)
	return nil
}

func namespaceConfig(c *function.Call) (to, matcher string, ok bool) {
	cfg := config(c)
	switch {
	case isConfigMap(cfg):
		to, matcher = yamltree.Text(cfg, "data", "namespace"), yamltree.Text(cfg, "data", "namespaceMatcher")
		field := "data.namespace"
		if to == "" && yamltree.Text(cfg, "metadata", "name") == contextConfigMap {
			to, field = yamltree.Text(cfg, "data", "name"), "data.name"
		}
		if to == "" {
			c.Results.Errorf("functionConfig: %s is empty; give the new namespace", field)
		}
	case isConfigKind(cfg, "SetNamespace"):
		to, matcher = yamltree.Text(cfg, "namespace"), yamltree.Text(cfg, "namespaceMatcher")
		if to == "" {
			c.Results.Errorf("functionConfig: namespace is empty; give the new namespace")
		}
	default:
		wrongConfig(c, cfg, "a v1 ConfigMap", "a "+configAPIVersion+" SetNamespace")
	}
	return to, matcher, to != ""
}

type namespaceSetter struct {
	to, matcher string
	old         map[string]bool // namespaces that were replaced
	moved       map[string]bool // depends-on references of all resources, as they were
	values      int
	references  int
}

func (s *namespaceSetter) remember(r *krm.Resource) {
	if !namespaced(r) {
		return
	}
	ns := api.NamespaceOr(r.Namespace())
	s.moved[fmt.Sprintf("%s/namespaces/%s/%s/%s", r.Group(), ns, r.Kind(), r.Name())] = true
}

func (s *namespaceSetter) set(r *krm.Resource, root *yaml.Node, write bool) int {
	n := 0
	g := gvkOf(r)
	replace := func(parent *yaml.Node, key string) {
		n += s.replace(parent, key, write)
	}
	switch {
	case g.is(coreGroup, "Namespace"):
		replace(yamltree.Path(root, "metadata"), "name")
	case g.is("apiextensions.k8s.io", "CustomResourceDefinition"):
		replace(yamltree.Path(root, "spec", "conversion", "webhook", "clientConfig", "service"), "namespace")
	case g.is("apiregistration.k8s.io", "APIService"):
		replace(yamltree.Path(root, "spec", "service"), "namespace")
	case g.kind == "ClusterRoleBinding" || g.kind == "RoleBinding":
		for _, subject := range yamltree.Items(root, "subjects") {
			replace(yamltree.Deref(subject), "namespace")
		}
	}
	if namespaced(r) {
		n += s.setOwn(root, write)
	}
	return n + s.setDependsOn(root, write)
}

// replace changes a namespace that is set.
func (s *namespaceSetter) replace(parent *yaml.Node, key string, write bool) int {
	old := yamltree.Path(parent, key)
	if old == nil || old.Value == "" || !s.hits(old.Value) {
		return 0
	}
	s.count(old.Value, write)
	if write {
		putText(parent, key, s.to)
	}
	return 1
}

// setOwn changes metadata.namespace; a missing one is the default one.
func (s *namespaceSetter) setOwn(root *yaml.Node, write bool) int {
	old := yamltree.Text(root, "metadata", "namespace")
	if old == s.to {
		return 0
	}
	old = api.NamespaceOr(old)
	if old != s.to && !s.hits(old) {
		return 0
	}
	s.count(old, write)
	if write {
		putText(ensureMap(root, "metadata"), "namespace", s.to)
	}
	return 1
}

func (s *namespaceSetter) setDependsOn(root *yaml.Node, write bool) int {
	old := yamltree.Text(root, "metadata", "annotations", dependsOnAnnotation)
	m := dependsOnPattern.FindStringSubmatch(old)
	if m == nil || !s.moved[old] || !s.hits(m[2]) {
		return 0
	}
	if write {
		s.references++
		m[2] = s.to
		putText(yamltree.Path(root, "metadata", "annotations"), dependsOnAnnotation, fmt.Sprintf("%s/namespaces/%s/%s/%s", m[1], m[2], m[3], m[4]))
	}
	return 1
}

func (s *namespaceSetter) hits(old string) bool {
	return old != s.to && (s.matcher == "" || s.matcher == old)
}

func (s *namespaceSetter) count(old string, write bool) {
	if write {
		s.old[old] = true
		s.values++
	}
}

func (s *namespaceSetter) report(c *function.Call) {
	old := make([]string, 0, len(s.old))
	for ns := range s.old {
		old = append(old, ns)
	}
	slices.Sort(old)
	if s.values == 0 {
		c.Results.Infof("all matching namespaces are already %q; no value changed", s.to)
	} else {
		c.Results.Infof("namespace [%s] updated to %q, %d value(s) changed", strings.Join(old, " "), s.to, s.values)
	}
	if s.references > 0 {
		c.Results.Infof("depends-on annotations updated to %q, %d value(s) changed", s.to, s.references)
	}
}
