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
	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/foreign"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
	"github.com/variform/variform/resolver"
)

// ResolveDependencies resolves what the Installations among the resources ask
// for and writes one PackageLock for each target (docs/design/functions.md).
// PackageManifests are the versions to choose from, Catalogs give default
// implementations, PackageLocks are previous answers, and
// CustomResourceDefinitions are APIs that the target serves. Documents of other
// systems say the same in their own kinds. Its functionConfig
// is absent or a ConfigMap with target (resolve this one only) and platform
// ("kubernetes=1.31.0").
//
// A conflict, or a choice that a person must make, is an error Result with the
// explanation, at each Installation that has a part in it; the other targets'
// locks are written all the same, and the conflicting one's is left as it is.
func ResolveDependencies(ctx context.Context, c *Call) error {
	r := &resolution{Call: c, locks: map[string]*krm.Resource{}, at: map[*v1alpha1.Installation]*krm.Resource{}}
	defer c.fold()
	o := c.options("target", "platform")
	r.documents.Platform = r.platforms(o["platform"])
	c.lists()
	r.read()
	if err := r.foreigners(); err != nil {
		return err
	}
	if c.failed() {
		return nil
	}
	targets := r.documents.Targets()
	if only, ok := o["target"]; ok {
		var names []string
		var named []*depend.Target
		for _, t := range targets {
			if names = append(names, t.Name()); t.Name() == only {
				named = append(named, t)
			}
		}
		if len(named) == 0 {
			c.configResult(fn.Error, "data.target", "functionConfig: no Installation has the target %q; there are %q", only, names)
			return nil
		}
		targets = named
	}
	pool, err := depend.NewPool(r.candidates, r.catalogs, nil)
	if err != nil {
		r.add(fn.Error, nil, "", "%v", err)
		return nil
	}
	for _, w := range pool.Warnings() {
		r.add(fn.Warning, nil, "", "%s", w)
	}
	var errs []error
	for _, t := range targets {
		errs = append(errs, r.resolve(ctx, pool, t))
	}
	return errors.Join(errs...)
}

type resolution struct {
	*Call
	documents  depend.Documents
	candidates []resolver.Package
	catalogs   []*v1alpha1.Catalog
	at         map[*v1alpha1.Installation]*krm.Resource
	locks      map[string]*krm.Resource // by target
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
		switch _, twice := out[name]; {
		case twice:
			r.configResult(fn.Error, "data.platform", "functionConfig: option \"platform\" names %s twice; give one version", name)
		case !resolver.IsVersion(version):
			r.configResult(fn.Error, "data.platform", "functionConfig: option \"platform\" has %q, and %q is no version; write it such as kubernetes=1.31.0", part, version)
		}
		out[name] = version
	}
	return out
}

// read takes in the kinds that a resolution is made of; mistakes are results.
func (r *resolution) read() {
	for _, res := range r.Resources() {
		if apis := contents.Served(res); len(apis) > 0 {
			r.documents.APIs = append(r.documents.APIs, apis...)
			continue
		}
		repository := res.Group() == configv1alpha1.Group && res.Kind() == configv1alpha1.KindRepository
		own := (res.Group() == v1alpha1.Group || repository) && api.Handles(res.APIVersion(), res.Kind())
		if !own && !api.Misplaced(res.APIVersion(), res.Kind()) {
			continue
		}
		obj, report := api.ParseNode(res.Node())
		r.issues(res, report)
		if report.Err() != nil {
			continue
		}
		switch o := obj.(type) {
		case *configv1alpha1.Repository:
			r.documents.Repositories = append(r.documents.Repositories, o)
		case *v1alpha1.PackageManifest:
			r.candidates = append(r.candidates, resolver.FromManifest(o))
		case *v1alpha1.Catalog:
			r.catalogs = append(r.catalogs, o)
		case *v1alpha1.Installation:
			r.documents.Installations = append(r.documents.Installations, o)
			r.at[o] = res
		case *v1alpha1.PackageLock:
			if first := r.locks[o.Spec.Target]; first != nil {
				r.add(fn.Error, res, "spec.target", "PackageLock %s in %s is for target %q as well; remove one", first.Name(), first.Path(), o.Spec.Target)
				continue
			}
			r.locks[o.Spec.Target] = res
			r.documents.Locks = append(r.documents.Locks, o)
		}
	}
}

// foreigners reads the documents of other systems, file by file, as a management
// directory's are. Another system's lock counts where there is none of ours.
func (r *resolution) foreigners() error {
	var files []string
	text, first := map[string]string{}, map[string]*krm.Resource{}
	for _, res := range r.Resources() {
		if !foreign.Knows(res.APIVersion()) {
			continue
		}
		doc, err := res.Node().String()
		if err != nil {
			return fmt.Errorf("%s: %w", res.Path(), err)
		}
		if first[res.Path()] == nil {
			files, first[res.Path()] = append(files, res.Path()), res
		}
		text[res.Path()] += "---\n" + doc
	}
	for _, file := range files {
		docs, err := foreign.Whole(file, []byte(text[file]))
		var issues api.Issues
		switch {
		case errors.As(err, &issues):
			r.issues(first[file], api.Report{Errors: issues})
			continue
		case err != nil:
			r.add(fn.Error, first[file], "", "%v", err)
			continue
		case docs == nil:
			continue
		}
		r.issues(first[file], api.Report{Warnings: docs.Warnings})
		r.candidates = append(r.candidates, docs.Packages...)
		for _, i := range docs.Installations {
			r.documents.Installations = append(r.documents.Installations, i)
			r.at[i] = first[file]
		}
		if docs.Lock != nil && r.locks[docs.Lock.Spec.Target] == nil {
			r.documents.Locks = append(r.documents.Locks, docs.Lock)
		}
	}
	return nil
}

// resolve answers for one target and writes its lock.
func (r *resolution) resolve(ctx context.Context, pool *depend.Pool, t *depend.Target) error {
	a := t.Resolve(ctx, pool)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if a.Lock == nil {
		r.report(t, a.Err)
		return nil
	}
	for _, err := range a.Causes() {
		r.report(t, err)
	}
	r.unmapped(t.Name(), a.Resolution)
	return r.write(t, a.Lock)
}

// report puts an explanation at the Installation and the field that its first hint would
// have a person edit, else at the target's Installation, or at no resource where several
// have a part in it.
func (r *resolution) report(t *depend.Target, err error) {
	var at *krm.Resource
	field := ""
	if len(t.Installations) == 1 {
		at = r.at[t.Installations[0]]
	}
	if c, ok := errors.AsType[*depend.Conflict](err); ok && len(c.Edits) > 0 && len(c.Edits[0].Installations) == 1 {
		at, field = r.at[c.Edits[0].Installations[0]], c.Edits[0].Hint.Field
	}
	r.add(fn.Error, at, field, "%s%s", r.name(t.Name()), err)
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
func (r *resolution) write(t *depend.Target, lock *v1alpha1.PackageLock) error {
	want, err := api.ToNode(lock)
	if err != nil {
		return fmt.Errorf("writing the PackageLock of target %q: %w", t.Name(), err)
	}
	report := func(at *krm.Resource, done string) {
		r.add(fn.Info, at, "", "%sPackageLock %s, with %s for %s", r.name(t.Name()), done, number(len(lock.Spec.Packages), "package"), number(len(t.Installations), "Installation"))
	}
	if have := r.locks[t.Name()]; have != nil {
		changed, err := have.Modify(func(root *yaml.Node) error {
			spec := yamltree.Ensure(root, variantOrder, "spec")
			if spec == nil {
				return errors.New("spec must be a map")
			}
			yamltree.Assign(spec, yamltree.Child(want.YNode(), "spec"), nil)
			return nil
		})
		report(have, map[bool]string{true: "changed", false: "unchanged"}[changed])
		return err
	}
	dir := path.Dir(r.at[t.Installations[0]].Path())
	report(r.Package.Add(path.Join(dir, "packagelock_"+cmp.Or(lock.Name, "lock")+".yaml"), want), "added")
	return nil
}
