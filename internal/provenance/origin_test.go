package provenance

import (
	"slices"
	"testing"

	"github.com/variform/variform/internal/krm"
)

func TestString(t *testing.T) {
	for want, o := range map[string]Origin{
		"cat/web@v1 deploy.yaml:7": {Kind: Upstream, Package: "cat/web@v1", File: "deploy.yaml", Line: 7, Field: "spec.replicas"},
		"sets.yaml:12 packageContext.data.region via apply-setters:v0.2": {
			Kind: Template, File: "sets.yaml", Line: 12, Object: "PackageVariantSet web", Field: "spec.targets[0].template.packageContext.data.region",
			Via: []Via{{Carrier: Function, Name: "ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2"}},
		},
		"sets.yaml:12 repository.name": {Kind: Template, File: "sets.yaml", Line: 12, Object: "PackageVariantSet web", Field: "spec.targets[0].template.injectors[0].nameExpr", Expression: "repository.name"},
		"edited by Robin (4f2a91c)":    {Kind: Person, Author: "Robin", Commit: "4f2a91c"},
		"edited by hand":               {Kind: Person},
	} {
		if got := o.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestShape(t *testing.T) {
	a := Origin{Kind: Object, Object: "ConfigMap c1", File: "c1.yaml", Line: 3, Field: "data.x", Via: []Via{{Carrier: Function, Name: "r.io:5000/set:v1"}}}
	b := Origin{Kind: Object, Object: "ConfigMap c2", File: "c2.yaml", Line: 9, Field: "data.x", Via: []Via{{Carrier: Function, Name: "r.io:5000/set:v2"}}}
	if a.Shape() != b.Shape() {
		t.Errorf("%s, %s: objects, lines and versions are in it", a.Shape(), b.Shape())
	}
	if b.Field = "data.y"; a.Shape() == b.Shape() {
		t.Error("two fields have one shape")
	}
}

func TestAt(t *testing.T) {
	id := krm.ID{Kind: "ConfigMap", Name: "c"}
	up, hand := Origin{Kind: Upstream}, Origin{Kind: Person}
	o := newOrigins([]part{{docKey{"f.yaml", id}, func() []Leaf { return []Leaf{{"f.yaml", id, "data.a", "1", up}, {"f.yaml", id, "data.ab", "2", hand}} }}}, Origin{Kind: Upstream, Package: "p"}, nil)
	for field, want := range map[string]Kind{"data.a": Upstream, "data.ab": Person, "data": Person, "": Person, "spec": Upstream} {
		if got, ok := o.At("f.yaml", id, field); !ok || got.Kind != want {
			t.Errorf("%s: %v, want %s", field, got, want)
		}
	}
	if _, ok := (*Origins)(nil).At("f.yaml", id, "data.a"); ok {
		t.Error("nothing is known, and something is said")
	}
}

// What comes from an upstream has the shape of its place there, whatever the version.
func TestShapeOfUpstream(t *testing.T) {
	a := Origin{Kind: Upstream, Package: "cat/web@v1", File: "d.yaml", Line: 3, Field: "spec.replicas"}
	b := Origin{Kind: Upstream, Package: "cat/web@v2", File: "d.yaml", Line: 9, Field: "spec.replicas"}
	if a.Shape() != b.Shape() {
		t.Errorf("%s, %s: versions and lines are in it", a.Shape(), b.Shape())
	}
	if b.File = "e.yaml"; a.Shape() == b.Shape() {
		t.Errorf("%s: files are not in it", a.Shape())
	}
}

// A function that refuses a text as a number, or as a truth, is asked with another one.
func TestOthers(t *testing.T) {
	for value, want := range map[string][]string{
		"gold": {"gold#"}, "3": {"3#", "4"}, "true": {"true#", "false"}, "": {"#"},
	} {
		if got := others(value, "#"); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

// Paths of replacements and of values meet in one form.
func TestPlainPath(t *testing.T) {
	for kustomize, own := range map[string]string{
		"spec.replicas":                     "spec.replicas",
		`data.a\.b`:                         "data[a.b]",
		"spec.containers.[name=web].args.0": "spec.containers[name=web].args[0]",
		`metadata.annotations.a\.b/c`:       "metadata.annotations[a.b/c]",
	} {
		if a, b := kustomizePath(kustomize), plainPath(own); a != b {
			t.Errorf("%s is %s, %s is %s", kustomize, a, own, b)
		}
	}
}
