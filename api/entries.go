package api

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

type entry struct{ key, value *yaml.Node }

// entries lists a mapping's fields with merge keys (`<<`) followed, reports
// repeated keys, and keeps the last of each as YAML readers do.
func (d *decoder) entries(n *yaml.Node, path string) []entry {
	out := make([]entry, 0, len(n.Content)/2)
	at := make(map[string]int, len(n.Content)/2)
	var merged []*yaml.Node
	for k, v := range yamltree.Fields(n) {
		if k.Tag == "!!merge" || (k.Value == "<<" && k.Style == 0) {
			merged = append(merged, v)
			continue
		}
		if k.Kind != yaml.ScalarNode {
			d.errorf(k, path, orDocument(path)+" has a key that is not a string", "")
			continue
		}
		if j, ok := at[k.Value]; ok {
			d.errorf(k, join(path, k.Value), fmt.Sprintf("%s is given twice, first on line %d",
				join(path, k.Value), d.fileLine(out[j].key.Line)), "remove one of them")
			out[j] = entry{k, v}
			continue
		}
		at[k.Value] = len(out)
		out = append(out, entry{k, v})
	}
	for _, m := range merged {
		out = d.merge(out, at, m, path)
	}
	return out
}

func (d *decoder) merge(out []entry, at map[string]int, m *yaml.Node, path string) []entry {
	m = yamltree.Deref(m)
	if m == nil || !d.enter(m, path) {
		return out
	}
	defer func() { d.depth-- }()
	if m.Kind == yaml.SequenceNode {
		for _, c := range m.Content {
			out = d.merge(out, at, c, path)
		}
		return out
	}
	if m.Kind != yaml.MappingNode {
		d.wrongType(m, path, "a map under <<")
		return out
	}
	for _, e := range d.entries(m, path) {
		if _, ok := at[e.key.Value]; !ok {
			at[e.key.Value] = len(out)
			out = append(out, e)
		}
	}
	return out
}
