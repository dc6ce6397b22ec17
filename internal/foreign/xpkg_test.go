package foreign

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/krm"
)

func TestReference(t *testing.T) {
	mirror := &v1alpha1.OCISource{Repository: "oci://mirror.example.com/x/", MirrorOf: "xpkg.example.org"}
	other := &v1alpha1.OCISource{Repository: "other.example.com"}
	for image, want := range map[string]string{
		"mirror.example.com/x/org/p":  "xpkg.example.org/org/p",
		"mirror.example.com/x":        "xpkg.example.org",
		"mirror.example.com/xy/org/p": "mirror.example.com/xy/org/p",
		"other.example.com/org/p":     "other.example.com/org/p",
	} {
		if got := Reference(image, other, mirror); got != want {
			t.Errorf("%s: %s", image, got)
		}
	}
}

func TestXpkg(t *testing.T) {
	const stream = "apiVersion: meta.pkg.crossplane.io/v1\nkind: KIND\nmetadata: {name: p}\nspec: {dependsOn: [{function: xpkg.example.org/f, version: '>=v1.0.0'}]}\n"
	for _, kind := range kinds {
		files, err := Xpkg([]byte(strings.Replace(stream, "KIND", kind, 1)), "m.example.com/org/p", "sha256:d", "xpkg.example.org/org/p")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := krm.Parse(files); err != nil {
			t.Error(err)
		}
		want := "apiVersion: pkg.crossplane.io/v1\nkind: " + kind + "\nmetadata:\n  name: p\nspec:\n  package: m.example.com/org/p@sha256:d\n  skipDependencyResolution: true\n"
		if d := cmp.Diff(want, string(files[2].Data)); d != "" || files[2].Path != strings.ToLower(kind)+".yaml" {
			t.Errorf("%s: %s", files[2].Path, d)
		}
		if text := string(files[1].Data); !strings.Contains(text, "name: xpkg.example.org/org/p\n") || !strings.Contains(text, "package: xpkg.example.org/f\n") {
			t.Errorf("the manifest is\n%s", text)
		}
	}
	brings := strings.Replace(stream, "KIND", "Configuration", 1) + "---\napiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: db}\n" +
		"---\napiVersion: apiextensions.crossplane.io/v2\nkind: CompositeResourceDefinition\nmetadata: {name: xdbs.x.io}\nspec: {group: x.io, names: {kind: XDB}, versions: [{name: v1, served: true}]}\n" +
		"---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: validating-webhook-configuration}\n"
	files, err := Xpkg([]byte(brings), "m.example.com/org/p", "sha256:d", "xpkg.example.org/org/p")
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	for _, o := range contents.Of(pkg).Objects {
		objects = append(objects, o.ID.String())
	}
	if d := cmp.Diff([]string{
		"CompositeResourceDefinition.apiextensions.crossplane.io/xdbs.x.io", "Composition.apiextensions.crossplane.io/db", "Configuration.pkg.crossplane.io/p",
	}, slices.Sorted(slices.Values(objects))); d != "" {
		t.Errorf("objects: -want +got:\n%s", d)
	}
	for text, want := range map[string]string{
		strings.Replace(stream, "KIND", "Other", 1):                                           "is no Crossplane package that can be read",
		strings.Repeat(strings.Replace(stream, "KIND", "Provider", 1)+"---\n", 2):             "package.yaml holds 2 packages",
		strings.Replace(strings.Replace(stream, "KIND", "Provider", 1), ">=v1.0.0", "x y", 1): "spec.requires[0].version",
		"kind: x": "is no Crossplane package that can be read",
	} {
		if _, err := Xpkg([]byte(text), "m.example.com/org/p", "sha256:d", "xpkg.example.org/org/p"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Xpkg([]byte(strings.Replace(stream, "KIND", "Provider", 1)), "m.example.com/p", "sha256:d", "Bad Name/p"); err == nil {
		t.Error("the name was taken")
	}
}
