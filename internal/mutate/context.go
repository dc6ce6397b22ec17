package mutate

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// reserved are the keys of the package context that kpt and Porch keep.
var reserved = []string{"name", "package-path"}

// findContext returns the ConfigMap with the context of the package in a
// folder, "" for the root: that in PackageContextFile, or one of that name
// elsewhere in that package; nil where there is none.
func findContext(p *krm.Package, dir string) *krm.Resource {
	var found *krm.Resource
	for _, r := range p.Resources() {
		if r.APIVersion() != "v1" || r.Kind() != "ConfigMap" || r.Name() != PackageContextName || packageOf(p, r.Path()) != dir {
			continue
		}
		if r.Path() == path.Join(dir, PackageContextFile) {
			return r
		}
		if found == nil {
			found = r
		}
	}
	return found
}

// packageOf is the folder of the package that a file belongs to, "" for the
// root.
func packageOf(p *krm.Package, file string) string {
	for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if p.Kptfile(dir) != nil {
			return dir
		}
	}
	return ""
}

// cloneContext sets the name and the path in the package context of a new
// package, and makes the context where a deployment repository lacks it, in the
// form that Porch gives it. Elsewhere a context without a path stays without.
func cloneContext(p *krm.Package, name, packagePath string, deployment bool) error {
	if r := findContext(p, ""); r != nil {
		_, err := r.Modify(func(root *yaml.Node) error {
			data := yamltree.Ensure(root, configMapKeys, "data")
			if data == nil {
				return fieldf("data", "must be a map")
			}
			yamltree.SetString(data, reserved, "name", name)
			if packagePath != "" && (deployment || yamltree.Child(data, "package-path") != nil) {
				yamltree.SetString(data, reserved, "package-path", packagePath)
			}
			return nil
		})
		return inFile(r.Path(), err)
	}
	if !deployment {
		return nil
	}
	for _, problem := range p.Problems() {
		if problem.Path == PackageContextFile {
			return &Error{PackageContextFile, "", fmt.Errorf("%w; correct it so that the package context can be added", problem.Err)}
		}
	}
	p.Add(PackageContextFile, yaml.NewRNode(newContext(name, packagePath)))
	return nil
}

// DropUngiven takes out of a package that Clone made what Clone gives each and
// there lacks, as packages that others made do: the package context, and the
// strategy of updates.
func DropUngiven(p, there *krm.Package) error {
	if r := findContext(p, ""); r != nil && findContext(there, "") == nil {
		r.Delete()
	}
	k, err := Read(there, "")
	if err != nil || k.Upstream == nil || k.Upstream.UpdateStrategy != "" {
		return err
	}
	return editRoot(p, func(root *yaml.Node) error {
		yamltree.Remove(yamltree.Child(root, "upstream"), "updateStrategy")
		return nil
	})
}

// EnsureContext makes the context of a package that has none, as Clone does in a
// deployment repository.
func EnsureContext(p *krm.Package, name, packagePath string) error {
	if findContext(p, "") != nil {
		return nil
	}
	return cloneContext(p, name, packagePath, true)
}

// HasPackagePath reports whether the package context tells the package's path:
// hydration version 1 gave none.
func HasPackagePath(p *krm.Package) bool {
	r := findContext(p, "")
	return r != nil && yamltree.Path(r.Node().YNode(), "data", "package-path") != nil
}

func newContext(name, packagePath string) *yaml.Node {
	root := yamltree.Copy(plainContext())
	data := yamltree.Child(root, "data")
	yamltree.SetString(data, nil, "name", name)
	if packagePath != "" {
		yamltree.SetString(data, nil, "package-path", packagePath)
	}
	return root
}

// plainContext is the context of a package without a name.
var plainContext = sync.OnceValue(func() *yaml.Node {
	annotations := yamltree.Map()
	yamltree.SetString(annotations, nil, localConfig, "true")
	meta, data, root := yamltree.Map(), yamltree.Map(), yamltree.Map()
	yamltree.SetString(meta, nil, "name", PackageContextName)
	yamltree.Set(meta, nil, "annotations", annotations)
	yamltree.SetString(data, nil, "name", "")
	yamltree.SetString(root, nil, "apiVersion", "v1")
	yamltree.SetString(root, nil, "kind", "ConfigMap")
	yamltree.Set(root, nil, "metadata", meta)
	yamltree.Set(root, nil, "data", data)
	return root
})

// applyContext does spec.packageContext (Porch's PackageVariant design,
// "Package Context Injection"): it needs the ConfigMap, a removed key beats a
// given one, and the reserved keys are refused.
func applyContext(p *krm.Package, dir string, pc *v1alpha1.PackageContext) error {
	if pc == nil || len(pc.Data) == 0 && len(pc.RemoveKeys) == 0 {
		return nil
	}
	errs := refuseReserved(pc)
	r := findContext(p, dir)
	if r == nil {
		errs = append(errs, fieldf("spec.packageContext", "the package has no ConfigMap %q; clone it into a deployment repository, or add %s to the upstream, or to the package where that was adopted", PackageContextName, PackageContextFile))
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	_, err := r.ModifyFields(func(root *yaml.Node) error { return setContext(root, pc) }, "data")
	return inFile(r.Path(), err)
}

// DroppedKeys lists the keys of the root package's context that was has and now has not,
// sorted: those that a variant's spec.packageContext.data no longer sets. Keys that its
// removeKeys name, and those of upstream, which the package was taken from, are left out;
// upstream may be nil.
func DroppedKeys(was, now, upstream *krm.Package, pc *v1alpha1.PackageContext) (out []string) {
	known := func(p *krm.Package, key string) bool {
		if p == nil {
			return false
		}
		r := findContext(p, "")
		return r != nil && yamltree.Path(r.Node().YNode(), "data", key) != nil
	}
	r := findContext(was, "")
	if r == nil {
		return nil
	}
	for k := range yamltree.Fields(yamltree.Path(r.Node().YNode(), "data")) {
		if !known(now, k.Value) && !known(upstream, k.Value) && (pc == nil || !slices.Contains(pc.RemoveKeys, k.Value)) {
			out = append(out, k.Value)
		}
	}
	slices.Sort(out)
	return out
}

// SetContext sets keys of the root package's context, under the rules of a
// PackageVariant's spec.packageContext.data.
func SetContext(p *krm.Package, data map[string]string) error {
	return applyContext(p, "", &v1alpha1.PackageContext{Data: data})
}

func refuseReserved(pc *v1alpha1.PackageContext) []error {
	var errs []error
	for _, key := range reserved {
		if _, ok := pc.Data[key]; ok {
			errs = append(errs, fieldf("spec.packageContext.data", "the key %q is kept by kpt; choose another", key))
		}
		for _, remove := range pc.RemoveKeys {
			if remove == key {
				errs = append(errs, fieldf("spec.packageContext.removeKeys", "the key %q is kept by kpt and cannot be removed", key))
			}
		}
	}
	return errs
}

func setContext(root *yaml.Node, pc *v1alpha1.PackageContext) error {
	data := yamltree.Child(root, "data")
	if data == nil || data.Kind != yaml.MappingNode {
		return fieldf("data", "must be a map that holds at least name")
	}
	data = yamltree.Ensure(root, configMapKeys, "data")
	remove := map[string]bool{}
	for _, k := range pc.RemoveKeys {
		remove[k] = true
		yamltree.Remove(data, k)
	}
	for _, k := range slices.Sorted(maps.Keys(pc.Data)) {
		if !remove[k] {
			yamltree.SetString(data, nil, k, pc.Data[k])
		}
	}
	return nil
}
