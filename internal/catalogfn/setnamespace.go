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

// namespaceRules are the differences between releases of set-namespace.
type namespaceRules struct {
	// first is v0.4.0 and v0.4.1: subjects of RoleBindings move too, no namespaceMatcher, and
	// resources that the new namespace makes the same are an error.
	first bool
}

// run gives resources a namespace: metadata.namespace of namespaced
// ones (built-in kinds by what they are, others by having one), the name of
// Namespaces, the subjects of ClusterRoleBindings, the service of
// CustomResourceDefinition webhooks and of APIServices, and depends-on
// annotations that point to a resource that moved. Local configuration is left
// alone. Config: a ConfigMap with `namespace` (and `namespaceMatcher`), the
// package context, or a SetNamespace.
func (rules namespaceRules) run(_ context.Context, c *function.Call) error {
	to, matcher, ok := namespaceConfig(c)
	if !ok {
		return nil
	}
	if rules.first {
		matcher = ""
	}
	s := namespaceSetter{namespaceRules: rules, to: to, matcher: matcher, old: map[string]bool{}, moved: map[string]bool{}}
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
	for _, r := range work { // v0.4.1 looks whether the namespace is one that was replaced
		edit(c, r, s.setDependsOn)
	}
	if rules.first && !distinct(c, "metadata.namespace") {
		return nil
	}
	s.report(c)
	return nil
}

// distinct reports whether no two resources have one identity; the error is a result at
// the field.
func distinct(c *function.Call, field string) bool {
	seen := map[[4]string]bool{}
	for _, r := range c.Resources() {
		id := [4]string{r.APIVersion(), r.Kind(), api.NamespaceOr(r.Namespace()), r.Name()}
		if seen[id] {
			say(c, r, "error", field, fmt.Sprintf("there are two resources %s %s in namespace %q; remove or rename one", r.Kind(), r.Name(), r.Namespace()))
			return false
		}
		seen[id] = true
	}
	return true
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
	namespaceRules
	to, matcher string
	old         map[string]bool // namespaces that were replaced
	moved       map[string]bool // what depends-on annotations may refer to: resources as they were
	values      int
	references  int
}

// reference is what a depends-on annotation refers to, as a release compares it.
func (s *namespaceSetter) reference(group, namespace, kind, name string) string {
	if s.first {
		namespace = ""
	}
	return strings.Join([]string{group, namespace, kind, name}, "/")
}

func (s *namespaceSetter) remember(r *krm.Resource) {
	group := r.Group()
	switch {
	case s.first && group == "":
		group = r.APIVersion() // so no depends-on annotation refers to the core group
	case !s.first && !namespaced(r):
		return
	}
	s.moved[s.reference(group, api.NamespaceOr(r.Namespace()), r.Kind(), r.Name())] = true
}

func (s *namespaceSetter) set(r *krm.Resource, root *yaml.Node, write bool) int {
	n := 0
	g := gvkOf(r)
	origin := originOf(r)
	replace := func(parent *yaml.Node, key, origin string) {
		n += s.replace(parent, key, origin, write)
	}
	switch {
	case g.is(coreGroup, "Namespace"):
		replace(yamltree.Path(root, "metadata"), "name", origin.name)
	case g.is("apiextensions.k8s.io", "CustomResourceDefinition"):
		replace(yamltree.Path(root, "spec", "conversion", "webhook", "clientConfig", "service"), "namespace", "")
	case g.is("apiregistration.k8s.io", "APIService"):
		replace(yamltree.Path(root, "spec", "service"), "namespace", "")
	case g.kind == "ClusterRoleBinding" || g.kind == "RoleBinding":
		if namespaced(r) && !s.first {
			break
		}
		for _, subject := range yamltree.Items(root, "subjects") {
			replace(yamltree.Deref(subject), "namespace", "")
		}
	}
	if namespaced(r) && (s.first || origin.namespace != unknownNamespace) {
		n += s.setOwn(root, origin.namespace, write)
	}
	return n
}

// unknownNamespace is the namespace in kpt's note of the origin of a resource that had
// none.
const unknownNamespace = "~C"

// originPattern matches kpt's note of where a resource comes from.
var originPattern = lazyregexp.New(`[a-z0-9-.]*\|[A-Z][a-zA-Z0-9]*\|([a-z0-9-]{1,63}|~C)\|([a-z0-9-]{1,63})`)

// origin is the namespace and the name that a resource has upstream.
type origin struct{ namespace, name string }

// originOf reads kpt's note of a resource's origin; without one, the origin is the
// resource as it is.
func originOf(r *krm.Resource) origin {
	note, _ := r.Annotation(upstreamAnnotation)
	if note == "" {
		return origin{api.NamespaceOr(r.Namespace()), r.Name()}
	}
	m := originPattern.FindStringSubmatch(note)
	if m == nil {
		return origin{namespace: unknownNamespace}
	}
	return origin{m[1], m[2]}
}

// replace changes a namespace that is set.
func (s *namespaceSetter) replace(parent *yaml.Node, key, origin string, write bool) int {
	old := yamltree.Path(parent, key)
	if old == nil || old.Value == "" || !s.hits(old.Value, origin) {
		return 0
	}
	s.count(old.Value, write)
	if write {
		putText(parent, key, s.to)
	}
	return 1
}

// setOwn changes metadata.namespace; a missing one is the default one.
func (s *namespaceSetter) setOwn(root *yaml.Node, origin string, write bool) int {
	old := yamltree.Text(root, "metadata", "namespace")
	if old == s.to {
		return 0
	}
	old = api.NamespaceOr(old)
	if old != s.to && !s.hits(old, origin) {
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
	if m == nil || m[2] == s.to || !s.moved[s.reference(m[1], m[2], m[3], m[4])] {
		return 0
	}
	if hit := s.first && s.old[m[2]] || !s.first && s.hits(m[2], ""); !hit {
		return 0
	}
	if write {
		s.references++
		m[2] = s.to
		putText(yamltree.Path(root, "metadata", "annotations"), dependsOnAnnotation, fmt.Sprintf("%s/namespaces/%s/%s/%s", m[1], m[2], m[3], m[4]))
	}
	return 1
}

// hits reports whether a namespace is to be replaced, of what has it and had another one
// upstream.
func (s *namespaceSetter) hits(old, origin string) bool {
	return old != s.to && (s.matcher == "" || s.matcher == old || s.matcher == origin)
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
