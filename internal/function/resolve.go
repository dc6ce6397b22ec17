package function

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
	"github.com/variform/variform/resolver"
)

// ResolveDependencies resolves what the Installations among the resources ask
// for and writes one PackageLock for each target (docs/design/functions.md).
// PackageManifests are the versions to choose from, Catalogs give default
// implementations, PackageLocks are previous answers, and
// CustomResourceDefinitions are APIs that the target serves. Its functionConfig
// is absent or a ConfigMap with target (resolve this one only) and platform
// ("kubernetes=1.31").
//
// A conflict, or a choice that a person must make, is an error Result with the
// explanation, at each Installation that has a part in it; the other targets'
// locks are written all the same, and the conflicting one's is left as it is.
func ResolveDependencies(_ context.Context, c *Call) error {
	r := &resolution{Call: c, locks: map[string]*krm.Resource{}, previous: map[string]*v1alpha1.PackageLock{}, at: map[*v1alpha1.Installation]*krm.Resource{}}
	o := c.options("target", "platform")
	r.platform = r.platforms(o["platform"])
	r.read()
	if c.failed() {
		return nil
	}
	targets := resolver.Targets(r.documents.Installations)
	if only, ok := o["target"]; ok {
		if !slices.Contains(targets, only) {
			c.configResult(fn.Error, "data.target", "functionConfig: no Installation has the target %q; there are %q", only, targets)
			return nil
		}
		targets = []string{only}
	}
	cat, err := r.documents.Catalog()
	if err != nil {
		r.add(fn.Error, nil, "", "%v", err)
		return nil
	}
	var errs []error
	for _, t := range targets {
		errs = append(errs, r.resolve(cat, t))
	}
	return errors.Join(errs...)
}

type resolution struct {
	*Call
	documents resolver.Documents
	apis      []resolver.GVK
	platform  map[string]string
	at        map[*v1alpha1.Installation]*krm.Resource
	locks     map[string]*krm.Resource         // by target
	previous  map[string]*v1alpha1.PackageLock // by target
}

// platforms reads "name=version, …".
func (r *resolution) platforms(text string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' }) {
		name, version, ok := strings.Cut(part, "=")
		if !ok || name == "" || version == "" {
			r.configResult(fn.Error, "data.platform", "functionConfig: option \"platform\" has %q and must be name=version, such as kubernetes=1.31.0", part)
			continue
		}
		out[name] = version
	}
	return out
}

// read takes in the kinds that a resolution is made of; mistakes are results.
func (r *resolution) read() {
	for _, res := range r.Resources() {
		if apis := depend.Served(res); len(apis) > 0 {
			r.apis = append(r.apis, apis...)
			continue
		}
		if res.Group() != v1alpha1.Group || !api.Handles(res.APIVersion(), res.Kind()) {
			continue
		}
		obj, report := api.ParseNode(res.Node())
		r.issues(res, report)
		if report.Err() != nil {
			continue
		}
		switch o := obj.(type) {
		case *v1alpha1.PackageManifest:
			r.documents.Candidates = append(r.documents.Candidates, resolver.FromManifest(o))
		case *v1alpha1.Catalog:
			r.documents.Catalogs = append(r.documents.Catalogs, o)
		case *v1alpha1.Installation:
			r.documents.Installations = append(r.documents.Installations, o)
			r.at[o] = res
		case *v1alpha1.PackageLock:
			if first := r.locks[o.Spec.Target]; first != nil {
				r.add(fn.Error, res, "spec.target", "PackageLock %s in %s is for target %q as well; remove one", first.Name(), first.Path(), o.Spec.Target)
				continue
			}
			r.locks[o.Spec.Target], r.previous[o.Spec.Target] = res, o
		}
	}
}

// resolve answers for one target and writes its lock.
func (r *resolution) resolve(cat *resolver.Catalog, target string) error {
	documents := r.documents
	documents.Lock = r.previous[target]
	in := documents.InputFrom(cat, target)
	in.APIs, in.Platform = r.apis, r.platform
	res, err := resolver.Resolve(in)
	if err != nil {
		r.report(target, err)
		return nil
	}
	r.unmapped(target, res)
	return r.write(target, res)
}

// report puts an explanation at the Installations of the target, or at no
// resource where several have a part in it.
func (r *resolution) report(target string, err error) {
	var at *krm.Resource
	count := 0
	for _, i := range r.documents.Installations {
		if i.Spec.Target == "" || i.Spec.Target == target {
			at, count = r.at[i], count+1
		}
	}
	if count != 1 {
		at = nil
	}
	r.add(fn.Error, at, "", "%s%s", r.name(target), err)
}

func (r *resolution) name(target string) string {
	if target == "" {
		return ""
	}
	return fmt.Sprintf("target %s: ", target)
}

// unmapped says which values only a person can give.
func (r *resolution) unmapped(target string, res *resolver.Resolution) {
	aliases := make([]string, 0, len(res.Unmapped))
	for alias := range res.Unmapped {
		aliases = append(aliases, alias)
	}
	slices.Sort(aliases)
	for _, alias := range aliases {
		in := res.Unmapped[alias]
		if len(in.Parameters) > 0 {
			r.add(fn.Warning, nil, "spec.parameters", "%sdependency %s takes the parameters %q, which nothing sets: give them as \"%s.<name>\"", r.name(target), alias, in.Parameters, alias)
		}
		if len(in.Credentials) > 0 {
			r.add(fn.Warning, nil, "spec.credentials", "%sdependency %s takes the credentials %q, which nothing sets: give them as \"%s.<name>\"", r.name(target), alias, in.Credentials, alias)
		}
	}
}

// write puts the lock where the previous one stands, else beside the first
// Installation. What did not change keeps its bytes.
func (r *resolution) write(target string, res *resolver.Resolution) error {
	lock := res.Document(target)
	want, err := api.ToNode(lock)
	if err != nil {
		return fmt.Errorf("writing the PackageLock of target %q: %w", target, err)
	}
	if have := r.locks[target]; have != nil {
		_, err := have.Modify(func(root *yaml.Node) error {
			spec := yamltree.Ensure(root, variantOrder, "spec")
			if spec == nil {
				return errors.New("spec must be a map")
			}
			yamltree.Assign(spec, yamltree.Child(want.YNode(), "spec"), nil)
			return nil
		})
		return err
	}
	dir := "."
	for _, i := range r.documents.Installations {
		if i.Spec.Target == "" || i.Spec.Target == target {
			dir = path.Dir(r.at[i].Path())
			break
		}
	}
	r.Package.Add(path.Join(dir, "packagelock_"+cmp.Or(lock.Name, "lock")+".yaml"), want)
	return nil
}
