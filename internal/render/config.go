package render

import (
	"fmt"
	"path"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/krmignore"
	"github.com/variform/variform/internal/yamltree"
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
	return fmt.Errorf("%q holds no resource of this package (apiVersion and kind missing, another package's, or named by %s)", f.ConfigPath, krmignore.Name)
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
	root, meta := yamltree.Map(), yamltree.Map()
	yamltree.SetString(meta, nil, "name", "function-input")
	yamltree.SetString(root, nil, "apiVersion", "v1")
	yamltree.SetString(root, nil, "kind", "ConfigMap")
	yamltree.Set(root, nil, "metadata", meta)
	yamltree.Set(root, nil, "data", yamltree.StringMap(data))
	return yaml.NewRNode(root)
}
