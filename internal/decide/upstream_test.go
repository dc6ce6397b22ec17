package decide

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver"
)

func TestUpstream(t *testing.T) {
	u := &Upstream{
		Repo: &Repository{Name: "catalog"}, Path: "apps/web", Workspace: "v1",
		Lock: &kptfilev1.Locator{Type: kptfilev1.GitOrigin, Git: &kptfilev1.GitLock{Repo: "https://git/catalog", Directory: "/apps/web", Ref: "web/v1", Commit: "0a"}},
	}
	if u.Ref() != "web/v1" || u.String() != "catalog/apps/web@web/v1" || u.PorchName("web") != "catalog.web.v1" {
		t.Errorf("%s, %s, %s", u.Ref(), u, u.PorchName("web"))
	}
	want := &kptfilev1.Upstream{Type: kptfilev1.GitOrigin, Git: &kptfilev1.Git{Repo: "https://git/catalog", Directory: "/apps/web", Ref: "web/v1"}}
	if d := cmp.Diff(want, u.Kptfile(nil)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	want.UpdateStrategy = kptfilev1.ForceDeleteReplace
	if d := cmp.Diff(want, u.Kptfile(&kptfilev1.Upstream{UpdateStrategy: kptfilev1.ForceDeleteReplace})); d != "" {
		t.Errorf("a person's strategy stays: -want +got:\n%s", d)
	}
}

const (
	manifest = `apiVersion: variform.dev/v1alpha1
kind: PackageManifest
metadata:
  name: web
spec:
  version: 1.2.3
  parameters:
  - {name: size, to: {contextKey: size}}
  - {name: given, to: {contextKey: given}}
  - {name: nowhere}
  - {name: small, default: "1", to: {contextKey: small}}
  - {name: may, required: false, to: {contextKey: may}}
  - {name: must, required: true, to: {contextKey: must}}
  credentials:
  - {name: password, to: {contextKey: secretName}}
  outputs:
  - {name: url}
  provides:
  - gvk: {apiVersion: example.com/v1, kind: Database}
`
	crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: databases.example.com
spec:
  group: example.com
  names: {kind: Database}
  versions:
  - {name: v1, served: true}
  - {name: v2, served: true}
`
)

func TestReadOffer(t *testing.T) {
	file := func(name, text string) krm.File { return krm.File{Path: name, Data: []byte(text)} }
	const digest = "git:0123456789abcdef"
	cases := map[string]struct {
		reason   string
		files    []krm.File
		tag      string
		want     string // package version
		provides []string
		apis     int
		err      string
	}{
		"no manifest":         {"named by its place, numbered by its tag", nil, "v3", "fallback 3.0.0", nil, 0, ""},
		"no number":           {"its content stands for one", nil, "main", "fallback 0.0.0-g0123456789ab", nil, 0, ""},
		"APIs":                {"are what it provides", []krm.File{file("crd.yaml", crd)}, "v3", "fallback 3.0.0", []string{"example.com/v1", "example.com/v2"}, 2, ""},
		"a manifest":          {"it has the last word", []krm.File{file(ManifestFile, manifest)}, "v3", "web 1.2.3", []string{"example.com/v1"}, 0, ""},
		"a manifest and APIs": {"each once", []krm.File{file(ManifestFile, manifest), file("crd.yaml", crd)}, "v3", "web 1.2.3", []string{"example.com/v1", "example.com/v2"}, 2, ""},
		"another kind":        {"", []krm.File{file(ManifestFile, "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: x}\nspec: {package: web}\n")}, "v3", "", nil, 0, "package.yaml holds no PackageManifest"},
		"broken":              {"", []krm.File{file(ManifestFile, "kind: [")}, "v3", "", nil, 0, "package.yaml"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := ReadOffer(parse(t, c.files...), "fallback", c.tag, digest)
			if bad := saying(o.Err, c.err); bad != "" {
				t.Fatal(bad)
			}
			if o.Err != nil {
				return
			}
			var provides []string
			for _, g := range provided(o.Package) {
				provides = append(provides, g.APIVersion)
			}
			if got := o.Package.Package + " " + o.Package.Version; got != c.want || len(o.APIs) != c.apis || o.Package.Tag != c.tag || o.Package.Digest != digest {
				t.Errorf("%s: %q, %d APIs", c.reason, got, len(o.APIs))
			}
			if d := cmp.Diff(c.provides, provides); d != "" {
				t.Errorf("%s: provides: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

func TestUnset(t *testing.T) {
	o := ReadOffer(parse(t, krm.File{Path: ManifestFile, Data: []byte(manifest)}), "", "v1", "git:0")
	if o.Err != nil || len(o.Outputs) != 1 || o.Outputs[0].Name != "url" || len(o.Inputs) != 7 {
		t.Fatalf("%+v", o)
	}
	got := o.Unset(map[string]bool{"parameters.given": true})
	if want := []string{"credentials.password", "parameters.must", "parameters.size"}; !slices.Equal(got, want) {
		t.Errorf("unset %v, want %v", got, want)
	}
	if got := (&Offer{Package: &resolver.Package{}}).Unset(nil); got != nil {
		t.Errorf("without a manifest: %v", got)
	}
}

// What is not required, or has a value of its own, stays as the package has it.
func TestSpares(t *testing.T) {
	yes, no, own, template := true, false, "3", "${bundle.dependencies.m.outputs.url}"
	for _, c := range []struct {
		required *bool
		fallback *string
		want     bool
	}{
		{nil, nil, false},
		{&yes, nil, false},
		{&no, nil, true},
		{nil, &own, true},
		{&yes, &own, false},
		{&no, &own, true},
		{nil, &template, false},
		{&yes, &template, false},
		{&no, &template, true},
	} {
		in := variformv1alpha1.ManifestInput{Required: c.required, Default: c.fallback}
		if Spares(&in) != c.want {
			t.Errorf("required %v, default %v", c.required, c.fallback)
		}
	}
}
