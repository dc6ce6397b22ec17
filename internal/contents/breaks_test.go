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
