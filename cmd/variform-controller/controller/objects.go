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
	"k8s.io/apimachinery/pkg/util/json"
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
	told  []live // of the kinds that are told what became of them
	texts []source.Text
	kinds []schema.GroupVersionKind // of what is selected and injected
	other []string                  // whose status another controller wrote
}

// live is what of an object is needed to tell what became of it, as thousands are held for
// as long as a run takes.
type live struct {
	kind            schema.GroupVersionKind
	namespace, name string
	generation      int64
	writer          string // another controller that wrote its status
	status          []byte // JSON
}

func liveOf(u *unstructured.Unstructured) (live, error) {
	status, err := json.Marshal(u.Object["status"])
	return live{u.GroupVersionKind(), u.GetNamespace(), u.GetName(), u.GetGeneration(), writer(u), status}, err
}

func (l *live) key() source.Key { return keyOf(l.kind.Group, l.kind.Kind, l.namespace, l.name) }

// object is as much of it as a status is told by.
func (l *live) object() (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(l.kind)
	u.SetNamespace(l.namespace)
	u.SetName(l.name)
	u.SetGeneration(l.generation)
	var status map[string]any
	if err := json.Unmarshal(l.status, &status); err != nil {
		return nil, err
	}
	if status != nil {
		u.Object["status"] = status
	}
	return u, nil
}

// variants says that there are PackageVariants among them, whose status tells of revisions.
func (o *objects) variants() bool {
	return slices.ContainsFunc(o.told, func(l live) bool { return l.kind == variantKind })
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
		list, texts, err := r.list(ctx, f.Namespace, k, selector)
		if meta.IsNoMatchError(err) && slices.Contains(asked, k) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, l := range list {
			if l.writer != "" && (k == setKind || k == variantKind) && !from.TakeOver {
				out.other = append(out.other, fmt.Sprintf("%s %s (%s)", k.Kind, l.name, l.writer))
			}
		}
		out.told, out.texts = append(out.told, list...), append(out.texts, texts...)
	}
	parsed, err := source.OfObjects("", out.texts, source.Options{}).Fleet(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range r.named(parsed, from.Context) {
		_, texts, err := r.list(ctx, f.Namespace, k, nil)
		if meta.IsNoMatchError(err) {
			continue // who names it is told that there is no such object
		}
		if err != nil {
			return nil, err
		}
		out.kinds, out.texts = append(out.kinds, k), append(out.texts, texts...)
	}
	return out, nil
}

// list is what is there and not about to go, all as of one moment. It is read in pages: an
// answer is held whole.
func (r *reader) list(ctx context.Context, namespace string, k schema.GroupVersionKind, selector client.MatchingLabels) (told []live, texts []source.Text, err error) {
	pages := pager.New(func(ctx context.Context, page metav1.ListOptions) (runtime.Object, error) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(k.GroupVersion().WithKind(k.Kind + "List"))
		options := []client.ListOption{client.InNamespace(namespace), client.Limit(page.Limit), client.Continue(page.Continue)}
		if len(selector) > 0 {
			options = append(options, selector)
		}
		if err := r.List(ctx, list, options...); err != nil {
			return list, err
		}
		if page.Continue == "" { // the first page, or all of it anew where the pages had become too old
			told, texts = nil, nil
		}
		for n := range list.Items {
			u := &list.Items[n]
			if u.GetDeletionTimestamp() != nil {
				continue
			}
			l, err := liveOf(u)
			if err != nil {
				return list, err
			}
			told, texts = append(told, l), append(texts, source.TextOf(u.Object))
		}
		list.Items = nil // the pager would keep them
		return list, nil
	})
	_, _, err = pages.List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, nil, r.mayNotList(namespace, k, err)
	} else if err != nil {
		return nil, nil, fmt.Errorf("listing kind %s of %s in namespace %s: %w", k.Kind, k.GroupVersion(), namespace, err)
	}
	return told, texts, nil
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
