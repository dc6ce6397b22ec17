package build

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/wiring"
)

// order is what the resources of a package are given of its place among others, by
// annotation (docs/design/dependencies.md#the-order-on-the-cluster).
type order map[string]string

// What deployers read, and where the Kptfile notes what was given.
const (
	syncWave  = "argocd.argoproj.io/sync-wave"
	dependsOn = "config.kubernetes.io/depends-on"
)

var orderKeys = []struct{ annotation, noted string }{
	{syncWave, variformv1alpha1.WaveAnnotation},
	{dependsOn, variformv1alpha1.DependsOnAnnotation},
}

// place gives a package its place in the order of its target.
func (r *Wirer) place(ctx context.Context, w *decide.Want, out *Wires) error {
	d := w.Target.Deployers
	if !d.ArgoCD && !d.Kpt {
		return nil
	}
	out.order = order{}
	if d.ArgoCD && w.Wave > 0 { // 0 is what Argo CD takes for granted
		out.order[syncWave] = strconv.Itoa(w.Wave)
	}
	if !d.Kpt {
		return nil
	}
	var refs []string
	for _, ref := range w.After {
		awaited, err := r.awaited(ctx, w.Target, ref, map[string]bool{w.Ref: true})
		if err != nil {
			return decide.Stall(fmt.Errorf("its place after %s: %w", ref, err))
		}
		if len(awaited) == 0 {
			out.notes = append(out.notes, "annotation "+dependsOn+" cannot name "+ref+": none of its resources says its namespace")
		}
		refs = append(refs, awaited...)
	}
	slices.Sort(refs)
	out.order[dependsOn] = strings.Join(slices.Compact(refs), ",")
	return nil
}

// awaited are the resources that say when a package is there, as kpt names them: of
// one that brings none that can be named, those of what it needs.
func (r *Wirer) awaited(ctx context.Context, t *decide.Target, ref string, seen map[string]bool) ([]string, error) {
	if seen[ref] {
		return nil, nil
	}
	seen[ref] = true
	w, pkg := t.Wants[ref], t.There[ref].Package
	if w != nil {
		var err error
		var nothing *wiring.WaitError
		if pkg, err = r.Content(ctx, w); err != nil && !errors.As(err, &nothing) {
			return nil, err
		}
	}
	if out := awaitedOf(pkg); len(out) > 0 || w == nil {
		return out, nil
	}
	var out []string
	for _, d := range w.After {
		more, err := r.awaited(ctx, t, d, seen)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// awaitedOf are a package's resources that take time to be ready, or else all that
// it has.
func awaitedOf(p *krm.Package) []string {
	if p == nil {
		return nil
	}
	var slow, all []string
	for _, r := range p.Resources() {
		name, ok := reference(r)
		if !ok || contents.Tooling(r) || isNamespace(r) {
			continue
		}
		all = append(all, name)
		if takesTime(r) {
			slow = append(slow, name)
		}
	}
	if len(slow) > 0 {
		return slow
	}
	return all
}

// reference names a resource as kpt does; false where that follows only from where it
// is applied.
func reference(r *krm.Resource) (string, bool) {
	namespaced, known := krm.Scope(r.Group(), r.Kind())
	switch ns := r.Namespace(); {
	case known && !namespaced:
		return r.Group() + "/" + r.Kind() + "/" + r.Name(), true
	case ns != "":
		return r.Group() + "/namespaces/" + ns + "/" + r.Kind() + "/" + r.Name(), true
	}
	return "", false
}

func isNamespace(r *krm.Resource) bool { return r.Group() == "" && r.Kind() == "Namespace" }

func isCRD(r *krm.Resource) bool {
	return r.Group() == "apiextensions.k8s.io" && r.Kind() == "CustomResourceDefinition"
}

// takesTime says that a resource is ready later than it is there: a workload, an API,
// or whatever a controller makes of a custom resource.
func takesTime(r *krm.Resource) bool {
	_, builtin := krm.Scope(r.Group(), r.Kind())
	return !builtin || isCRD(r) || slices.Contains([]string{"apps", "batch", "apiregistration.k8s.io"}, r.Group())
}

// setOrder gives a package's resources their place in the order, in place of the one
// that they were given before. What others wrote there stays; so does what is
// encrypted, whose signature covers annotations. Namespaces and CRDs need
// nothing, and what stands in them may be of a package that comes earlier.
func (m *maker) setOrder(p *krm.Package) error {
	if m.unwired() {
		return nil
	}
	var now order
	if m.Wires != nil {
		now = m.Wires.order
	}
	kptfile := p.Kptfile("")
	for _, k := range orderKeys {
		given, _ := kptfile.Annotation(k.noted) // by a machine, this one or that of the upstream
		before := ""
		if m.ordered != nil {
			before = m.ordered.Annotations[k.noted]
		}
		if now[k.annotation] == "" && given == "" && before == "" {
			continue
		}
		if err := annotate(kptfile, k.noted, now[k.annotation]); err != nil {
			return decide.Stall(err)
		}
		for _, r := range p.Resources() {
			has, there := r.Annotation(k.annotation)
			others := there && has != given && (has != before || m.makes(r))
			if contents.Tooling(r) || isNamespace(r) || isCRD(r) || r.Encrypted() || others {
				continue
			}
			if err := annotate(r, k.annotation, now[k.annotation]); err != nil {
				return decide.Stall(err)
			}
		}
	}
	return nil
}

// makes says that the machine makes a resource of a merged package: it came with its
// place already.
func (m *maker) makes(r *krm.Resource) bool {
	return m.machine != nil && slices.ContainsFunc(m.machine.Resources(), func(o *krm.Resource) bool { return o.ID() == r.ID() })
}

func annotate(r *krm.Resource, key, value string) error {
	if value == "" {
		r.RemoveAnnotation(key)
		return nil
	}
	return r.SetAnnotation(key, value)
}
