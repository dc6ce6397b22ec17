package build

import (
	"errors"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// fluxFile is beside a target's lock, where Flux is told of its order.
const fluxFile = "flux.yaml"

const (
	fluxGroup = "kustomize.toolkit.fluxcd.io"
	managedBy = "app.kubernetes.io/managed-by"
	variform  = "variform"
)

const newKustomization = `apiVersion: ` + fluxGroup + `/v1
kind: Kustomization
metadata:
  name: ""
  namespace: ""
  labels:
    ` + managedBy + `: ` + variform + `
spec:
  interval: 10m
  path: ""
  prune: true
  sourceRef:
    kind: GitRepository
    name: ""
  wait: true
`

// tellFlux makes Kustomizations of a target's packages. Those that are there keep what
// people wrote into them, but name, path, source, and what they depend on among these.
func tellFlux(p *krm.Package, lock *decide.Lock) error {
	have, ours := map[string]*krm.Resource{}, map[string]bool{}
	for _, r := range p.Resources() {
		if by, _ := r.Label(managedBy); by == variform && r.Group() == fluxGroup && r.Kind() == "Kustomization" {
			have[r.Name()], ours[r.Name()] = r, true
		}
	}
	for _, k := range lock.Flux {
		ours[k.Name] = true
	}
	for _, k := range lock.Flux {
		r := have[k.Name]
		delete(have, k.Name)
		if r == nil {
			node, err := yaml.Parse(newKustomization)
			if err != nil {
				return err
			}
			r = p.Add(fluxFile, node)
		}
		_, err := r.Modify(func(root *yaml.Node) error { return kustomize(root, k, lock.Source, ours) })
		if err != nil {
			return err
		}
	}
	for _, r := range have {
		r.Delete()
	}
	return nil
}

// kustomize writes what of a Kustomization is the machine's. ours are the names of
// all those.
func kustomize(root *yaml.Node, k decide.Kustomization, source decide.FluxSource, ours map[string]bool) error {
	meta, spec := yamltree.Ensure(root, nil, "metadata"), yamltree.Ensure(root, nil, "spec")
	from := yamltree.Ensure(spec, nil, "sourceRef")
	if meta == nil || spec == nil || from == nil {
		return errors.New(fluxFile + ": metadata, spec and spec.sourceRef of Kustomization " + k.Name + " must be maps")
	}
	yamltree.SetString(meta, nil, "name", k.Name)
	yamltree.SetString(meta, nil, "namespace", source.Namespace)
	yamltree.SetString(spec, nil, "path", k.Path)
	yamltree.SetString(from, nil, "name", source.Name)
	list := yamltree.EnsureSeq(spec, nil, "dependsOn")
	if list == nil {
		return errors.New(fluxFile + ": spec.dependsOn of Kustomization " + k.Name + " must be a list")
	}
	var there []string
	yamltree.DeleteFunc(list, func(n *yaml.Node) bool {
		name := yamltree.Text(n, "name")
		other := yamltree.Text(n, "namespace")
		there = append(there, name)
		return (other == "" || other == source.Namespace) && ours[name] && !slices.Contains(k.After, name)
	})
	for _, name := range k.After {
		if !slices.Contains(there, name) {
			item := yamltree.Map()
			yamltree.SetString(item, nil, "name", name)
			list.Content = append(list.Content, item)
		}
	}
	yamltree.RemoveEmpty(spec, "dependsOn")
	return nil
}
