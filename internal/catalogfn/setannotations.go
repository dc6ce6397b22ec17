package catalogfn

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// annotationFields are where annotations go besides metadata.annotations: the
// templates of what makes pods, as kustomize's commonAnnotations has them.
var annotationFields = []fieldSpec{
	{Path: "metadata/annotations", Create: true},
	{Path: "spec/template/metadata/annotations", Create: true, Version: "v1", Kind: "ReplicationController"},
	{Path: "spec/template/metadata/annotations", Create: true, Kind: "Deployment"},
	{Path: "spec/template/metadata/annotations", Create: true, Kind: "ReplicaSet"},
	{Path: "spec/template/metadata/annotations", Create: true, Kind: "DaemonSet"},
	{Path: "spec/template/metadata/annotations", Create: true, Kind: "StatefulSet"},
	{Path: "spec/template/metadata/annotations", Create: true, Group: "batch", Kind: "Job"},
	{Path: "spec/jobTemplate/metadata/annotations", Create: true, Group: "batch", Kind: "CronJob"},
	{Path: "spec/jobTemplate/spec/template/metadata/annotations", Create: true, Group: "batch", Kind: "CronJob"},
}

// fieldSpec is kustomize's: which resources, and which field of them.
type fieldSpec struct {
	Group   string `yaml:"group"`
	Version string `yaml:"version"`
	Kind    string `yaml:"kind"`
	Path    string `yaml:"path"`
	Create  bool   `yaml:"create"`
}

func (f fieldSpec) applies(r *krm.Resource) bool {
	return (f.Group == "" || f.Group == r.Group()) && (f.Version == "" || f.Version == r.Version()) && (f.Kind == "" || f.Kind == r.Kind())
}

// visit calls do for each node at the field: sequences on the way are walked,
// missing mappings made with create (do is then told so with nil while not writing).
func (f fieldSpec) visit(root *yaml.Node, write bool, do func(n *yaml.Node)) {
	walkSpec(root, splitSpecPath(f.Path), f.Create, write, do)
}

// splitSpecPath splits at slashes; "\/" is a slash of a key.
func splitSpecPath(p string) []string {
	parts := strings.Split(strings.ReplaceAll(p, `\/`, "\x00"), "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "\x00", "/")
	}
	return parts
}

func walkSpec(n *yaml.Node, keys []string, create, write bool, do func(*yaml.Node)) {
	n = yamltree.Deref(n)
	switch {
	case len(keys) == 0:
		do(n)
	case n == nil:
		if create && !write {
			do(nil)
		}
	case n.Kind == yaml.SequenceNode:
		for _, e := range n.Content {
			walkSpec(e, keys, create, write, do)
		}
	case n.Kind == yaml.MappingNode:
		key, isList := strings.CutSuffix(keys[0], "[]")
		next := yamltree.Path(n, key)
		if next != nil && next.Kind == yaml.ScalarNode && next.ShortTag() == yaml.NodeTagNull {
			next = nil
		}
		if next == nil && (!create || isList) {
			return
		}
		if next == nil && write {
			next = ensureMap(n, key)
		}
		walkSpec(next, keys[1:], create, write, do)
	}
}

// SetAnnotations adds and updates annotations in metadata and in the templates
// of what makes pods, in local configuration too. Config: a ConfigMap whose data
// are the annotations, or a SetAnnotations with `annotations` and
// `additionalAnnotationFields`.
func SetAnnotations(_ context.Context, c *function.Call) error {
	values, ok := mapConfig(c, "annotations", "SetAnnotations", "SetAnnotationConfig")
	if !ok {
		return nil
	}
	fields, ok := extraFields(c, "additionalAnnotationFields")
	if !ok {
		return nil
	}
	fields = append(fields, annotationFields...)
	keys := sortedKeys(values)
	changed := false
	for _, r := range c.Resources() {
		n := edit(c, r, func(root *yaml.Node, write bool) int { return setEntries(r, root, fields, keys, values, write) })
		if n > 0 {
			changed = true
			say(c, r, "info", "metadata.annotations", fmt.Sprintf("set %d annotation(s): %s", n, strings.Join(keys, ", ")))
		}
	}
	if !changed {
		c.Results.Infof("no annotations changed")
	}
	return nil
}

// setEntries sets keys in the mappings at the fields, and counts those that differ.
func setEntries(r *krm.Resource, root *yaml.Node, fields []fieldSpec, keys []string, values map[string]string, write bool) int {
	n := 0
	for _, f := range fields {
		if !f.applies(r) {
			continue
		}
		f.visit(root, write, func(m *yaml.Node) {
			if m != nil && m.Kind != yaml.MappingNode {
				return
			}
			for _, k := range keys {
				if old := yamltree.Path(m, k); old != nil && old.Value == values[k] && old.ShortTag() == yaml.NodeTagString {
					continue
				}
				n++
				if write {
					m.Style &^= yaml.FlowStyle
					putText(m, k, values[k])
				}
			}
		})
	}
	return n
}

// extraFields reads additional field specs; `fieldSpecs` is their older name.
func extraFields(c *function.Call, name string) ([]fieldSpec, bool) {
	cfg := config(c)
	if isConfigMap(cfg) {
		return nil, true
	}
	now, old := yamltree.Path(cfg, name), yamltree.Path(cfg, "fieldSpecs")
	if now != nil && old != nil {
		c.Results.Errorf("functionConfig: both %s and fieldSpecs are given; fieldSpecs is the older name, drop it", name)
		return nil, false
	}
	if now == nil {
		now = old
	}
	var fields []fieldSpec
	if err := decode(now, &fields); err != nil {
		c.Results.Errorf("%s: %v", name, err)
		return nil, false
	}
	return fields, true
}
