package function

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/yamltree"
	"github.com/variform/variform/variantgen"
)

// GenerateVariants makes the PackageVariants of all PackageVariantSets among
// the resources (docs/design/fan-out.md, docs/design/functions.md). Its
// functionConfig is absent or a ConfigMap with prune ("true": remove variants
// that no target asks for any more), maxDelete (how many at most) and onError
// (fail or continue).
//
// Repositories, PackageRevisions and every other resource are what sets refer
// to. Without any Repository among the resources none is known to be missing.
func GenerateVariants(_ context.Context, c *Call) error {
	g := &generation{Call: c, failing: map[setKey]bool{}, empty: map[setKey]bool{}, sets: map[setKey]*krm.Resource{}}
	defer g.fold()
	if !g.options() || g.lists() {
		return nil
	}
	g.read()
	env := variantgen.NewEnv(g.inputs)
	result := variantgen.ExpandAll(env, g.parsed...)
	g.report(result)
	if err := g.write(result); err != nil {
		return err
	}
	g.prune()
	g.add(fn.Info, nil, "", "%s of %s: %d added, %d changed, %d unchanged, %d removed",
		number(g.added+g.changed+g.unchanged, "PackageVariant"), number(len(g.sets), "PackageVariantSet"), g.added, g.changed, g.unchanged, g.removed)
	return nil
}

// The values of the option onError.
const (
	onErrorFail     = "fail"
	onErrorContinue = "continue"
)

type setKey struct{ namespace, name string }

// downstream is a variant's identity (docs/design/fan-out.md).
type downstream struct{ namespace, repo, pkg string }

// existing is a generated variant among the resources.
type existing struct {
	*krm.Resource
	set  setKey // of its labels; name "" where they do not say
	kept bool
}

type generation struct {
	*Call

	prunes    bool
	maxDelete int // -1 where it is not given
	severity  fn.Severity

	inputs    variantgen.Inputs
	revisions []*configv1alpha1.PackageRevision
	parsed    []*v1alpha2.PackageVariantSet
	sets      map[setKey]*krm.Resource
	failing   map[setKey]bool
	empty     map[setKey]bool // sets that give no variant
	variants  []*existing

	added, changed, unchanged, removed int // PackageVariants
}

// options reads the functionConfig; false where it is wrong.
func (g *generation) options() bool {
	o := g.Call.options("prune", "maxDelete", "onError")
	g.prunes = g.boolean(o, "prune")
	g.maxDelete = -1
	if text, ok := o["maxDelete"]; ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			g.configResult(fn.Error, "data.maxDelete", "functionConfig: option \"maxDelete\" is %q and must be a number, 0 or more", text)
		}
		g.maxDelete = n
	}
	switch v, ok := o["onError"]; {
	case !ok || v == onErrorFail:
		g.severity = fn.Error
	case v == onErrorContinue:
		g.severity = fn.Warning
	default:
		g.configResult(fn.Error, "data.onError", "functionConfig: option \"onError\" is %q and must be %q or %q", v, onErrorFail, onErrorContinue)
	}
	return !g.failed()
}

// read sorts the resources into what they are for a set.
func (g *generation) read() {
	g.inputs.RepositoriesUnknown = true
	for _, r := range g.Resources() {
		if api.Misplaced(r.APIVersion(), r.Kind()) {
			g.readKind(r)
			continue
		}
		if !api.Handles(r.APIVersion(), r.Kind()) || r.Group() == v1alpha1.Group {
			g.inputs.Objects = append(g.inputs.Objects, target(r))
			continue
		}
		if r.Kind() == configv1alpha1.KindPackageVariant && v1alpha1.IsGenerated(stringsOf(r, "labels")) {
			set := v1alpha1.SetOf(stringsOf(r, "labels"), stringsOf(r, "annotations"))
			g.variants = append(g.variants, &existing{Resource: r, set: setKey{api.NamespaceOr(r.Namespace()), set}})
			continue
		}
		g.readKind(r)
	}
	g.inputs.Upstreams = variantgen.UpstreamFunc(g.upstream)
}

func (g *generation) readKind(r *krm.Resource) {
	obj, report := api.ParseNode(r.Node())
	bad := report.Err() != nil
	g.problems(r, report)
	switch o := obj.(type) {
	case *v1alpha2.PackageVariantSet:
		key := setKey{api.NamespaceOr(o.Namespace), o.Name}
		g.sets[key] = r
		g.failing[key] = g.failing[key] || bad
		if !bad {
			g.parsed = append(g.parsed, o)
		}
	case *configv1alpha1.Repository:
		g.inputs.RepositoriesUnknown = false
		if !bad {
			g.inputs.Repositories = append(g.inputs.Repositories, o)
		}
	case *configv1alpha1.PackageVariant:
		if !bad {
			g.inputs.Written = append(g.inputs.Written, o)
		}
	case *configv1alpha1.PackageRevision:
		g.revisions = append(g.revisions, o)
	}
	if bad && r.Kind() == v1alpha2.KindPackageVariantSet {
		g.failing[setKey{api.NamespaceOr(r.Namespace()), r.Name()}] = true
	}
}

// problems reports what api found, errors at the severity that onError asks for.
func (g *generation) problems(r *krm.Resource, report api.Report) {
	at := len(g.Results)
	g.issues(r, report)
	for _, result := range g.Results[at:] {
		if result.Severity == fn.Error {
			result.Severity = g.severity
		}
	}
}

// target is a resource as sets see it. What tools write into annotations on
// the way is no part of it.
func target(r *krm.Resource) variantgen.Object {
	annotations := stringsOf(r, "annotations")
	for k := range annotations {
		if toolAnnotation(k) {
			delete(annotations, k)
		}
	}
	return variantgen.Object{
		APIVersion: r.APIVersion(), Kind: r.Kind(), Namespace: r.Namespace(), Name: r.Name(),
		Labels: stringsOf(r, "labels"), Annotations: annotations,
	}
}

func toolAnnotation(key string) bool {
	return strings.HasPrefix(key, "internal.config.kubernetes.io/") || strings.HasPrefix(key, "config.k8s.io/") ||
		key == krm.LegacyPathAnnotation || key == krm.LegacyIndexAnnotation
}

// stringsOf reads metadata.labels or metadata.annotations into a new map.
func stringsOf(r *krm.Resource, field string) map[string]string {
	n := yamltree.Path(r.Node().YNode(), "metadata", field)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	out := make(map[string]string, len(n.Content)/2)
	for k, v := range yamltree.Fields(n) {
		out[k.Value] = yamltree.Text(v)
	}
	return out
}

// upstream is the PackageRevision that a set's upstream means, as expressions
// see it.
func (g *generation) upstream(namespace string, u configv1alpha1.Upstream) (variantgen.Metadata, error) {
	found, object, err := g.find(namespace, u)
	if err != nil {
		return variantgen.Metadata{}, variantgen.ErrUpstreamUnknown
	}
	return variantgen.Metadata{
		Name:      strings.Join([]string{u.Repo, u.Package, found.Workspace}, "."),
		Namespace: namespace, Labels: object.Labels, Annotations: object.Annotations,
	}, nil
}

// find finds the PackageRevision that an upstream means.
func (g *generation) find(namespace string, u configv1alpha1.Upstream) (lifecycle.Revision, *configv1alpha1.PackageRevision, error) {
	var revisions []lifecycle.Revision
	objects := map[string]*configv1alpha1.PackageRevision{}
	for _, pr := range g.revisions {
		if api.NamespaceOr(pr.Namespace) != namespace {
			continue
		}
		objects[pr.Name] = pr
		revisions = append(revisions, lifecycle.Revision{
			Name: pr.Name, Repository: pr.Spec.Repository, Package: pr.Spec.PackageName,
			Workspace: pr.Spec.WorkspaceName, Revision: pr.Spec.Revision, Phase: pr.Spec.Lifecycle,
		})
	}
	found, err := lifecycle.FindUpstream(u, revisions)
	return found, objects[found.Name], err
}

// byWorkspace names a variant's upstream by workspace, where the PackageRevision
// is among the resources: Porch's controllers read no revision.
func (g *generation) byWorkspace(pv *configv1alpha1.PackageVariant) {
	u := pv.Spec.Upstream
	if u == nil || u.Revision == "" || u.WorkspaceName != "" {
		return
	}
	if found, _, err := g.find(api.NamespaceOr(pv.Namespace), *u); err == nil && found.Workspace != "" {
		pv.Spec.Upstream = &configv1alpha1.Upstream{Repo: u.Repo, Package: u.Package, WorkspaceName: found.Workspace}
	}
}

// unknown says that a variant's upstream is not among the PackageRevisions of its
// Repository, where some of that are there; "" where it is.
func (g *generation) unknown(pv *configv1alpha1.PackageVariant) string {
	u := pv.Spec.Upstream
	if u == nil {
		return ""
	}
	var have []string
	listed := false
	for _, pr := range g.revisions {
		if api.NamespaceOr(pr.Namespace) != api.NamespaceOr(pv.Namespace) || pr.Spec.Repository != u.Repo {
			continue
		}
		if listed = true; pr.Spec.PackageName == u.Package {
			have = append(have, pr.Spec.WorkspaceName)
		}
	}
	if _, _, err := g.find(api.NamespaceOr(pv.Namespace), *u); err == nil || !listed {
		return ""
	}
	slices.Sort(have)
	named := cmp.Or(u.WorkspaceName, string(u.Revision), "its newest Published revision")
	return fmt.Sprintf("upstream %s/%s has no revision %s among the PackageRevisions here, which have: %s", u.Repo, u.Package, named, cmp.Or(strings.Join(have, ", "), "none of that package"))
}

// report turns failures and warnings into results and remembers which sets
// must lose no variant.
func (g *generation) report(result variantgen.Result) {
	for _, f := range result.Failures {
		key := setKey{api.NamespaceOr(f.Namespace), f.Set}
		g.failing[key] = true
		message := f.Err.Error()
		if f.Description != "" {
			message = f.Description + ": " + message
		}
		g.add(g.severity, g.sets[key], f.Field, "%s", message)
	}
	for _, w := range result.Warnings {
		g.add(fn.Warning, g.sets[setKey{api.NamespaceOr(w.Namespace), w.Set}], "", "%s", w)
	}
	made := map[setKey]bool{}
	for i := range result.Variants {
		o := result.Origin(i)
		made[setKey{api.NamespaceOr(o.Namespace), o.Set}] = true
	}
	for key := range g.sets {
		g.empty[key] = !made[key]
	}
}

// write brings the generated variants among the resources: an existing one of
// the same downstream, or else of the same name, is changed, others are added
// in a file beside their set.
func (g *generation) write(result variantgen.Result) error {
	byDownstream, byName := map[downstream]*existing{}, map[setKey]*existing{}
	for _, e := range g.variants {
		root := e.Node().YNode()
		byDownstream[downstream{api.NamespaceOr(e.Namespace()), yamltree.Text(root, "spec", "downstream", "repo"), yamltree.Text(root, "spec", "downstream", "package")}] = e
		byName[setKey{api.NamespaceOr(e.Namespace()), e.Name()}] = e
	}
	var errs []error
	said := map[string]bool{}
	for i, pv := range result.Variants {
		origin := result.Origin(i)
		if origin.Set == "" || pv.Spec.Downstream == nil {
			continue
		}
		set := g.sets[setKey{api.NamespaceOr(origin.Namespace), origin.Set}]
		if text := g.unknown(pv); text != "" && !said[origin.Set+"\x00"+text] {
			said[origin.Set+"\x00"+text] = true
			g.add(fn.Warning, set, "spec.upstream", "%s", text)
		}
		e := byDownstream[downstream{api.NamespaceOr(pv.Namespace), pv.Spec.Downstream.Repo, pv.Spec.Downstream.Package}]
		if e == nil || e.kept {
			e = byName[setKey{api.NamespaceOr(pv.Namespace), pv.Name}]
		}
		g.byWorkspace(pv)
		errs = append(errs, g.writeOne(pv, e, set))
	}
	return errors.Join(errs...)
}

func (g *generation) writeOne(pv *configv1alpha1.PackageVariant, e *existing, set *krm.Resource) error {
	data, err := variantgen.Encode(pv)
	if err != nil {
		return fmt.Errorf("writing PackageVariant %q: %w", pv.Name, err)
	}
	want, err := yaml.Parse(string(data))
	if err != nil {
		return fmt.Errorf("writing PackageVariant %q: %w", pv.Name, err)
	}
	if e != nil && !e.kept {
		e.kept = true
		changed, err := e.Resource.Modify(func(root *yaml.Node) error { return become(root, want.Copy().YNode()) })
		if changed {
			g.changed++
		} else {
			g.unchanged++
		}
		return err
	}
	g.added++
	dir := ""
	if set != nil {
		dir = path.Dir(set.Path())
	}
	g.Package.Add(path.Join(dir, "packagevariant_"+pv.Name+".yaml"), want)
	return nil
}

var variantOrder = []string{"apiVersion", "kind", "metadata", "spec", "status"}

// become gives an existing variant the generated name, labels, annotations and
// spec. Labels and annotations that a set does not give stay, as does status.
func become(root, want *yaml.Node) error {
	meta, wantMeta := yamltree.Ensure(root, variantOrder, "metadata"), yamltree.Child(want, "metadata")
	if meta == nil {
		return errors.New("metadata must be a map")
	}
	yamltree.SetString(meta, nil, "name", yamltree.Text(wantMeta, "name"))
	for _, field := range []string{"labels", "annotations"} {
		values := yamltree.Child(wantMeta, field)
		if values == nil {
			continue
		}
		have := yamltree.Ensure(meta, []string{"name", "namespace", "labels", "annotations"}, field)
		if have == nil {
			return fmt.Errorf("metadata.%s must be a map", field)
		}
		for k, v := range yamltree.Fields(values) {
			yamltree.SetString(have, nil, k.Value, v.Value)
		}
	}
	spec := yamltree.Ensure(root, variantOrder, "spec")
	if spec == nil {
		return errors.New("spec must be a map")
	}
	yamltree.Assign(spec, yamltree.Child(want, "spec"), nil)
	return nil
}

// prune removes variants that no target asks for any more, set by set; the
// brake and failing targets keep them.
func (g *generation) prune() {
	stale, total := map[setKey][]*existing{}, map[setKey]int{}
	count := 0
	for _, e := range g.variants {
		total[e.set]++
		if !e.kept {
			stale[e.set] = append(stale[e.set], e)
			count++
		}
	}
	if count == 0 {
		return
	}
	if !g.prunes {
		for _, e := range g.variants {
			if !e.kept {
				g.add(fn.Info, e.Resource, "", "no target asks for this PackageVariant any more; set option prune to remove it")
			}
		}
		return
	}
	if g.maxDelete >= 0 && count > g.maxDelete {
		g.configResult(fn.Error, "data.maxDelete", "%d PackageVariants would be removed and maxDelete is %d; none was", count, g.maxDelete)
		return
	}
	for _, e := range g.variants {
		if e.kept {
			continue
		}
		if why := g.hold(e.set, len(stale[e.set]), total[e.set]); why != "" {
			g.add(fn.Warning, e.Resource, "", "no target asks for this PackageVariant any more; it stays because %s", why)
			continue
		}
		g.add(fn.Info, e.Resource, "", "removed: no target asks for this PackageVariant any more")
		e.Delete()
		g.removed++
	}
}

// hold says why a set's stale variants must stay, "" where they may go.
func (g *generation) hold(set setKey, stale, total int) string {
	if set.name == "" {
		for _, failing := range g.failing {
			if failing {
				return "a set has failing targets and the variant does not say which set it is of"
			}
		}
	}
	switch {
	case g.failing[set]:
		return "its set has failing targets"
	case g.maxDelete >= 0:
		return ""
	case g.empty[set]:
		return "its set gives no variant at all; set maxDelete if that is meant"
	case lifecycle.Braked(stale, total):
		return fmt.Sprintf("%d of its set's %d variants would go; set maxDelete to %d if that is meant", stale, total, stale)
	}
	return ""
}
