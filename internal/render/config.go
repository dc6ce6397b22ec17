package render

import (
	"fmt"
	"path"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
)

func findConfig(p *krm.Package, n *pkgNode, f Function) error {
	if err := checkConfigPath(p, n.dir, f.ConfigPath); err != nil {
		return nil //nolint:nilerr // reported where the Kptfile was read
	}
	found := configsAt(n.local, n.dir, f.ConfigPath)
	if len(found) == 1 {
		return nil
	}
	if len(found) > 1 {
		return fmt.Errorf("%q holds %d resources, a functionConfig is exactly one", f.ConfigPath, len(found))
	}
	file := path.Join(n.dir, f.ConfigPath)
	if _, ok := p.Read(file); !ok {
		return fmt.Errorf("%q does not exist in the package", f.ConfigPath)
	}
	for _, problem := range p.Problems() {
		if problem.Path == file {
			return fmt.Errorf("%q cannot be read: %w", f.ConfigPath, problem.Err)
		}
	}
	return fmt.Errorf("%q holds no resource of this package (apiVersion and kind missing, another package's, or named by %s)", f.ConfigPath, ignoreFile)
}

func configsAt(rs []*krm.Resource, dir, config string) []*krm.Resource {
	file := path.Join(dir, config)
	var out []*krm.Resource
	for _, r := range rs {
		if r.Path() == file {
			out = append(out, r)
		}
	}
	return out
}

// configMapNode is the ConfigMap that kpt makes of a pipeline's configMap.
func configMapNode(data map[string]string) *yaml.RNode {
	keys := make([]string, 0, len(data))
	for k := range data {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	values := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	for _, k := range keys {
		values.Content = append(values.Content, stringNode(k), stringNode(data[k]))
	}
	meta := mapping("name", stringNode("function-input"))
	return yaml.NewRNode(mapping(
		"apiVersion", stringNode("v1"), "kind", stringNode("ConfigMap"), "metadata", meta, "data", values))
}

func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	for i := 0; i+1 < len(pairs); i += 2 {
		n.Content = append(n.Content, stringNode(pairs[i].(string)), pairs[i+1].(*yaml.Node))
	}
	return n
}

func stringNode(s string) *yaml.Node {
	return yaml.NewStringRNode(s).YNode()
}
