package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/pager"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/source"
)

func gvk(apiVersion, kind string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

var (
	fleetKind      = gvk(variformv1alpha1.APIVersion, variformv1alpha1.KindFleet)
	repositoryKind = gvk(v1alpha1.APIVersion, v1alpha1.KindRepository)
	setKind        = gvk(v1alpha2.APIVersion, v1alpha2.KindPackageVariantSet)
	variantKind    = gvk(v1alpha1.APIVersion, v1alpha1.KindPackageVariant)
	// asked are the kinds that a cluster may do without.
	asked = []schema.GroupVersionKind{
		gvk(variformv1alpha1.APIVersion, variformv1alpha1.KindInstallation),
		gvk(variformv1alpha1.APIVersion, variformv1alpha1.KindCatalog),
		gvk(variformv1alpha1.APIVersion, variformv1alpha1.KindPackageLock),
	}
)

// objects are those of a namespace that make a fleet.
type objects struct {
	fleet   []unstructured.Unstructured // with a status of ours, or none
	context []unstructured.Unstructured
	kinds   []schema.GroupVersionKind // of context
	other   []string                  // whose status another controller wrote
}

// all is what source reads.
func (o *objects) all() (out []map[string]any) {
	for _, list := range [][]unstructured.Unstructured{o.fleet, o.context} {
		for n := range list {
			out = append(out, list[n].Object)
		}
	}
	return out
}

// variants says that there are PackageVariants among them, whose status tells of revisions.
func (o *objects) variants() bool {
	return slices.ContainsFunc(o.fleet, func(u unstructured.Unstructured) bool { return u.GetKind() == v1alpha1.KindPackageVariant })
}

// read lists what makes the fleet. Any error is one of the whole: a part of a fleet would
// look as if the rest had gone.
func (r *reader) read(ctx context.Context, f *variformv1alpha1.Fleet) (*objects, error) {
	out := &objects{}
	from := f.Spec.Source.Objects
	for _, k := range append([]schema.GroupVersionKind{repositoryKind, setKind, variantKind}, asked...) {
		selector := client.MatchingLabels(from.Selector)
		if k == repositoryKind {
			selector = nil // upstreams are few, and of all
		}
		list, err := r.list(ctx, f.Namespace, k, selector)
		if meta.IsNoMatchError(err) && slices.Contains(asked, k) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for n := range list {
			if by := writer(&list[n]); by != "" && (k == setKind || k == variantKind) && !from.TakeOver {
				out.other = append(out.other, fmt.Sprintf("%s %s (%s)", k.Kind, list[n].GetName(), by))
			}
			if k != repositoryKind { // whose status is asked for its writer when it is told
				list[n].SetManagedFields(nil)
			}
		}
		out.fleet = append(out.fleet, list...)
	}
	parsed, err := source.OfObjects("", out.all(), source.Options{}).Fleet(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range r.named(parsed, from.Context) {
		list, err := r.list(ctx, f.Namespace, k, nil)
		if meta.IsNoMatchError(err) {
			continue // who names it is told that there is no such object
		}
		if err != nil {
			return nil, err
		}
		out.kinds, out.context = append(out.kinds, k), append(out.context, list...)
	}
	return out, nil
}

// letGo drops what only the reading of a fleet needs: thousands of objects are held for as
// long as a run takes, to be told what became of them.
func (o *objects) letGo() {
	o.context = nil
	for n := range o.fleet {
		delete(o.fleet[n].Object, "spec")
	}
}

// list is what is there and not about to go, all as of one moment. It is read in pages:
// the text of an answer is held whole.
func (r *reader) list(ctx context.Context, namespace string, k schema.GroupVersionKind, selector client.MatchingLabels) ([]unstructured.Unstructured, error) {
	pages := pager.New(func(ctx context.Context, page metav1.ListOptions) (runtime.Object, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
		options := []client.ListOption{client.InNamespace(namespace), client.Limit(page.Limit), client.Continue(page.Continue)}
		if len(selector) > 0 {
			options = append(options, selector)
		}
		return list, r.List(ctx, list, options...)
	})
	list, _, err := pages.List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, r.mayNotList(namespace, k, err)
	} else if err != nil {
		return nil, fmt.Errorf("listing kind %s of %s in namespace %s: %w", k.Kind, k.GroupVersion(), namespace, err)
	}
	var out []unstructured.Unstructured
	err = meta.EachListItem(list, func(o runtime.Object) error {
		if u := o.(*unstructured.Unstructured); u.GetDeletionTimestamp() == nil {
			out = append(out, *u)
		}
		return nil
	})
	return out, err
}

// named are the kinds whose objects sets select and injectors inject, and those that the
// Fleet adds; kinds that are read anyway are not among them.
func (r *reader) named(f *source.Fleet, more []variformv1alpha1.FleetContext) (out []schema.GroupVersionKind) {
	add := func(k schema.GroupVersionKind) {
		if k.Kind != "" && !api.Handles(k.GroupVersion().String(), k.Kind) && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	injected := func(group, version, kind *string) {
		if kind == nil {
			return
		}
		of := schema.GroupKind{Kind: *kind}
		if group != nil {
			of.Group = *group
		}
		if api.IsSecret(of.Group, of.Kind) {
			return // nobody reads those unasked
		}
		if version != nil {
			add(of.WithVersion(*version))
		} else if m, err := r.mapper.RESTMapping(of); err == nil {
			add(m.GroupVersionKind)
		}
	}
	for _, c := range more {
		add(gvk(c.APIVersion, c.Kind))
	}
	for _, s := range f.Sets {
		for _, t := range s.Spec.Targets {
			if o := t.ObjectSelector; o != nil {
				add(gvk(o.APIVersion, o.Kind))
			}
			if t.Template != nil {
				for _, i := range t.Template.Injectors {
					injected(i.Group, i.Version, i.Kind)
				}
			}
		}
	}
	for _, v := range f.Variants {
		for _, i := range v.Spec.Injectors {
			injected(i.Group, i.Version, i.Kind)
		}
	}
	slices.SortFunc(out, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return out
}

// writer is another controller that wrote an object's status.
func writer(u *unstructured.Unstructured) string {
	for _, m := range u.GetManagedFields() {
		if m.Subresource == "status" && m.Manager != FieldManager {
			return m.Manager
		}
	}
	return ""
}
