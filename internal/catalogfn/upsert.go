package catalogfn

import (
	"context"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

const targetPathAnnotation = "config.kubernetes.io/target-path"

// internalAnnotations are what a functionConfig may carry of its own place;
// they are not the resource's.
var internalAnnotations = []string{
	"config.kubernetes.io/function", "config.k8s.io/function", targetPathAnnotation,
	"internal.config.kubernetes.io/path", "internal.config.kubernetes.io/index", "internal.config.kubernetes.io/package-path",
	"internal.config.kubernetes.io/id", "internal.config.kubernetes.io/seqindent",
	"config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id",
}

// UpsertResource replaces resources by the functionConfig, or by the items of a
// List: those of the same group, kind, namespace and name (and of the file that
// the annotation config.kubernetes.io/target-path names). What nothing matches is
// added, to that file or to a new one.
func UpsertResource(_ context.Context, c *function.Call) error {
	cfg := config(c)
	if cfg == nil {
		wrongConfig(c, nil, "the resource to insert", "a List of them")
		return nil
	}
	wanted := []*yaml.Node{cfg}
	if yamltree.Text(cfg, "kind") == "List" {
		wanted = yamltree.Items(cfg, "items")
	}
	for i, w := range wanted {
		c.Spend(0)
		w = yamltree.Deref(w)
		if yamltree.Text(w, "apiVersion") == "" || yamltree.Text(w, "kind") == "" || yamltree.Text(w, "metadata", "name") == "" {
			c.Results.Errorf("functionConfig: resource %d has no apiVersion, kind or metadata.name", i)
			continue
		}
		upsert(c, w)
	}
	return nil
}

func upsert(c *function.Call, want *yaml.Node) {
	target := yamltree.Text(want, "metadata", "annotations", targetPathAnnotation)
	clean := cleaned(want)
	replaced := false
	for _, r := range c.Resources() {
		if !sameResource(r, want) || target != "" && target != r.Path() && !strings.HasSuffix(r.Path(), "/"+target) {
			continue
		}
		replaced = true
		c.Spend(size(clean))
		next := placedAs(clean, r.Node().YNode())
		if !yamltree.SameValue(r.Node().YNode(), next) {
			r.Replace(yaml.NewRNode(next))
			say(c, r, "info", "", "replaced")
		}
	}
	if replaced {
		return
	}
	if target == "" {
		target = DefaultPath(clean)
	}
	c.Spend(size(clean))
	r := c.Package.Add(target, yaml.NewRNode(clean))
	if c.Selected != nil {
		c.Selected = append(c.Selected, r)
	}
	say(c, r, "info", "", "added")
}

// placedAs is a copy of the resource with the place, if it carries one, of the
// resource that it replaces.
func placedAs(n, old *yaml.Node) *yaml.Node {
	n = yaml.CopyYNode(n)
	ann := yamltree.Path(old, "metadata", "annotations")
	if ann == nil {
		return n
	}
	for k, v := range yamltree.Fields(ann) {
		key := k.Value
		if key == targetPathAnnotation || !slices.Contains(internalAnnotations, key) {
			continue
		}
		if m := ensureMap(n, "metadata", "annotations"); m != nil {
			putText(m, key, v.Value)
		}
	}
	return n
}

// DefaultPath is the file of a resource that came without one, as kpt names it.
func DefaultPath(n *yaml.Node) string {
	return path.Join(yamltree.Text(n, "metadata", "namespace"), strings.ToLower(yamltree.Text(n, "kind"))+"_"+yamltree.Text(n, "metadata", "name")+".yaml")
}

func sameResource(r *krm.Resource, n *yaml.Node) bool {
	group, _, ok := strings.Cut(yamltree.Text(n, "apiVersion"), "/")
	if !ok {
		group = ""
	}
	return r.Kind() == yamltree.Text(n, "kind") && r.Name() == yamltree.Text(n, "metadata", "name") &&
		r.Namespace() == yamltree.Text(n, "metadata", "namespace") && r.Group() == group
}

// cleaned is the resource without what the functionConfig carries for itself.
func cleaned(n *yaml.Node) *yaml.Node {
	n = yaml.CopyYNode(n)
	meta := yamltree.Path(n, "metadata")
	ann := yamltree.Path(meta, "annotations")
	if ann == nil {
		return n
	}
	for _, k := range internalAnnotations {
		yamltree.Remove(ann, k)
	}
	if len(ann.Content) == 0 {
		yamltree.Remove(meta, "annotations")
	}
	return n
}
