package contents

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBreaks(t *testing.T) {
	const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\n" +
		"spec: {group: x.io, scope: Namespaced, names: {kind: Foo}, versions: [{name: v1beta1, served: true, storage: false}, {name: v1, served: true, storage: true}]}\n"
	change := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(crd) }
	const v1 = "{name: v1, served: true, storage: true}"
	for name, tc := range map[string]struct {
		now  map[string]string
		want []string
	}{
		"nothing":               {now: map[string]string{"a.yaml": crd}},
		"another file":          {now: map[string]string{"crds/foos.yaml": crd}},
		"a version comes":       {now: map[string]string{"a.yaml": change(v1, v1+", {name: v2, served: true, storage: false}")}},
		"another is stored":     {now: map[string]string{"a.yaml": change(v1, "{name: v1, served: true, storage: false}, {name: v2, served: true, storage: true}")}},
		"one is not served":     {map[string]string{"a.yaml": change("v1beta1, served: true", "v1beta1, served: false")}, []string{"foos.x.io does not serve v1beta1 any more"}},
		"one goes":              {map[string]string{"a.yaml": change("{name: v1beta1, served: true, storage: false}, ", "")}, []string{"foos.x.io does not serve v1beta1 any more"}},
		"the stored one goes":   {map[string]string{"a.yaml": change(v1, "{name: v2, served: true, storage: true}")}, []string{"foos.x.io has no v1 any more, which was stored"}},
		"another scope":         {map[string]string{"a.yaml": change("Namespaced", "Cluster")}, []string{"foos.x.io becomes a Cluster Foo instead of a Namespaced Foo"}},
		"another kind":          {map[string]string{"a.yaml": change("kind: Foo", "kind: Fooo")}, []string{"foos.x.io becomes a Namespaced Fooo instead of a Namespaced Foo"}},
		"it goes":               {map[string]string{"a.yaml": "kind: Other\n"}, []string{"foos.x.io goes"}},
		"another name":          {map[string]string{"a.yaml": change("foos.x.io", "bars.x.io")}, []string{"foos.x.io goes"}},
		"it is for tools alone": {map[string]string{"a.yaml": change("{name: foos.x.io}", "{name: foos.x.io, annotations: {config.kubernetes.io/local-config: 'true'}}")}, []string{"foos.x.io goes"}},
	} {
		var got []string
		for _, b := range Breaks(parse(t, map[string]string{"a.yaml": crd}), parse(t, tc.now)) {
			if got = append(got, b.What); b.Do == "" || strings.Contains(b.What, ";") {
				t.Errorf("%s: %+v: it says what to do, and is one part of a trailer", name, b)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Crossplane makes a CustomResourceDefinition of each CompositeResourceDefinition, of
// which the referenceable version is stored, and one more for claims.
func TestBreaksOfComposites(t *testing.T) {
	const xrd = "apiVersion: apiextensions.crossplane.io/v1\nkind: CompositeResourceDefinition\nmetadata: {name: xfoos.x.io}\n" +
		"spec: {group: x.io, names: {kind: XFoo, plural: xfoos}, claimNames: {kind: Foo, plural: foos}, versions: [" +
		"{name: v1beta1, served: true, referenceable: false}, {name: v1, served: true, referenceable: true, schema: {openAPIV3Schema: {properties: {spec: {properties: {size: {type: integer, maximum: 9}}}}}}}]}\n"
	for name, tc := range map[string]struct {
		from, to string
		want     []string
	}{
		"nothing":             {},
		"less is admitted":    {"maximum: 9", "maximum: 8", []string{"xfoos.x.io v1: spec.size: maximum 8 instead of 9"}},
		"one is not served":   {"{name: v1beta1, served: true", "{name: v1beta1, served: false", []string{"xfoos.x.io does not serve v1beta1 any more"}},
		"the stored one goes": {"{name: v1, ", "{name: v2, ", []string{"xfoos.x.io has no v1 any more, which was stored"}},
		"no claims":           {"claimNames: {kind: Foo, plural: foos}, ", "", []string{"xfoos.x.io becomes a LegacyCluster XFoo instead of a LegacyCluster XFoo and Foo"}},
		"the next API":        {"crossplane.io/v1", "crossplane.io/v2", []string{"xfoos.x.io becomes a Namespaced XFoo and Foo instead of a LegacyCluster XFoo and Foo"}},
		"as it was, spelled":  {"spec: {", "spec: {scope: LegacyCluster, ", nil},
		"another definition":  {"kind: CompositeResourceDefinition", "kind: CompositionRevision", []string{"xfoos.x.io goes"}},
	} {
		var got []string
		for _, b := range Breaks(parse(t, map[string]string{"a.yaml": xrd}), parse(t, map[string]string{"a.yaml": strings.Replace(xrd, tc.from, tc.to, 1)})) {
			got = append(got, b.What)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}
