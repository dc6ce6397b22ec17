package contents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
)

func parse(t *testing.T, files map[string]string) *krm.Package {
	t.Helper()
	var list []krm.File
	for path, text := range files {
		list = append(list, krm.File{Path: path, Data: []byte(text)})
	}
	p, err := krm.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\n" +
	"spec: {group: x.io, names: {kind: Foo}, versions: [{name: v1, served: true}, {name: v2, served: false}, {name: v3, served: true}]}\n"

func TestServes(t *testing.T) {
	foo := []GVK{{APIVersion: "x.io/v1", Kind: "Foo"}, {APIVersion: "x.io/v3", Kind: "Foo"}}
	for name, tc := range map[string]struct {
		text string
		want []GVK
	}{
		"the versions of a definition that are served": {crd, foo},
		"each once": {crd + "---\n" + crd, foo},
		"two":       {crd + "---\n" + strings.NewReplacer("Foo", "Bar", "foos", "bars").Replace(crd), append(foo[:2:2], GVK{APIVersion: "x.io/v1", Kind: "Bar"}, GVK{APIVersion: "x.io/v3", Kind: "Bar"})},
		"Crossplane's, with the claims": {
			"apiVersion: apiextensions.crossplane.io/v1\nkind: CompositeResourceDefinition\nmetadata: {name: xdbs.x.io}\nspec: {group: x.io, names: {kind: XDB}, claimNames: {kind: DB}, versions: [{name: v1, served: true}]}\n",
			[]GVK{{APIVersion: "x.io/v1", Kind: "XDB"}, {APIVersion: "x.io/v1", Kind: "DB"}},
		},
		"Crossplane's, without claims": {
			"apiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nmetadata: {name: xdbs.x.io}\nspec: {group: x.io, names: {kind: XDB}, versions: [{name: v1, served: true}]}\n",
			[]GVK{{APIVersion: "x.io/v1", Kind: "XDB"}},
		},
		"another's kind":             {strings.Replace(crd, "apiextensions.k8s.io", "example.com", 1), nil},
		"another kind":               {"apiVersion: apiextensions.k8s.io/v1\nkind: Other\nmetadata: {name: a}\nspec: {versions: [{name: v1, served: true}]}\n", nil},
		"without versions":           {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {versions: {}}\n", nil},
		"for the package's own work": {strings.Replace(crd, "name: foos.x.io", "name: foos.x.io, annotations: {config.kubernetes.io/local-config: 'true'}", 1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, Of(parse(t, map[string]string{"a.yaml": tc.text})).Serves); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if tc.want != nil && !Defines([]byte(tc.text)) {
				t.Error("is not looked at")
			}
		})
	}
}

func TestObjects(t *testing.T) {
	c := Of(parse(t, map[string]string{
		"Kptfile":              "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\npipeline: {mutators: [{image: apply-setters, configPath: setters.yaml}]}\n",
		"setters.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: setters}\n",
		"sub/Kptfile":          "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: s}\npipeline: {validators: [{image: x, configPath: v.yaml}]}\n",
		"sub/v.yaml":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v}\n",
		"package.yaml":         "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: p}\nspec:\n  provides:\n  - {interface: {id: i}}\n  - object: {group: apiextensions.crossplane.io, kind: Composition, name: theirs}\n",
		"package-context.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kptfile.kpt.dev, annotations: {config.kubernetes.io/local-config: \"true\"}}\n",
		"fn.yaml":              "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata: {name: fn}\n",
		"a.yaml": crd + "---\napiVersion: v1\nkind: Service\nmetadata: {name: db, namespace: n}\n---\napiVersion: x.io/v1\nkind: Foo\nmetadata: {name: f}\n" +
			"---\napiVersion: x.io/v2\nkind: Foo\nmetadata: {name: old}\n---\napiVersion: x.io/v2\nkind: Foo\nmetadata: {name: old2}\n" +
			"---\napiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: comp}\n",
	}))
	tell := func(list []Object) (out []string) {
		for _, o := range list {
			out = append(out, fmt.Sprintf("%s:%d %s of %s", o.Path, o.Line, o.ID, o.GVK()))
		}
		return out
	}
	if d := cmp.Diff([]string{
		"a.yaml:1 CustomResourceDefinition.apiextensions.k8s.io/foos.x.io of apiextensions.k8s.io/v1 CustomResourceDefinition",
		"a.yaml:6 Service/n/db of v1 Service", "a.yaml:10 Foo.x.io/f of x.io/v1 Foo", "a.yaml:14 Foo.x.io/old of x.io/v2 Foo", "a.yaml:18 Foo.x.io/old2 of x.io/v2 Foo",
		"a.yaml:22 Composition.apiextensions.crossplane.io/comp of apiextensions.crossplane.io/v1 Composition",
		"package.yaml:7 Composition.apiextensions.crossplane.io/theirs of  Composition",
	}, tell(c.Objects)); d != "" {
		t.Errorf("objects: -want +got:\n%s", d)
	}
	if d := cmp.Diff([]string{
		"a.yaml:14 Foo.x.io/old of x.io/v2 Foo", "a.yaml:22 Composition.apiextensions.crossplane.io/comp of apiextensions.crossplane.io/v1 Composition",
	}, tell(c.Uses())); d != "" {
		t.Errorf("uses: -want +got:\n%s", d)
	}
	if o := c.Objects[len(c.Objects)-1]; !o.Declared || !o.Placed() || c.Objects[0].Declared {
		t.Errorf("declared: %+v", c.Objects)
	}
}

func TestBuiltIn(t *testing.T) {
	for group, want := range map[string]bool{
		"": true, "apps": true, "networking.k8s.io": true, "gateway.networking.k8s.io": false, "snapshot.storage.k8s.io": false, "x.io": false,
	} {
		if BuiltIn(group) != want {
			t.Errorf("%q: %v", group, !want)
		}
	}
}
