package variantgen_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/variantgen"
)

// Variants of a fleet have few labels, and a map for each is most of what they take: those
// that are equal are one.
func TestEqualLabelsAreOneMap(t *testing.T) {
	var in variantgen.Inputs
	for i := range 6 {
		r := &v1alpha1.Repository{}
		r.Name, r.Namespace, r.Labels = fmt.Sprintf("cluster-%d", i), "default", map[string]string{"env": "prod", "region": fmt.Sprint("r", i%2)}
		in.Repositories = append(in.Repositories, r)
	}
	set := parseSet(t, `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: s}
spec:
  upstream: {repo: catalog, package: app, revision: v1}
  targets:
  - repositorySelector: {matchLabels: {env: prod}}
    template:
      labelExprs: [{key: region, valueExpr: "repository.labels['region']"}]
      annotationExprs: [{key: at, valueExpr: repository.name}]
`)
	res := variantgen.ExpandAll(variantgen.NewEnv(in), set)
	if err := res.Err(); err != nil || len(res.Variants) != 6 {
		t.Fatalf("%d variants: %v", len(res.Variants), err)
	}
	// A map is another one where what is put into it does not come into the other.
	distinct := func(of func(*v1alpha1.PackageVariant) map[string]string) (n int) {
		for i, pv := range res.Variants {
			if _, known := of(pv)["probe"]; !known {
				n++
				of(pv)["probe"] = fmt.Sprint(i)
			}
		}
		for _, pv := range res.Variants {
			delete(of(pv), "probe")
		}
		return n
	}
	for name, c := range map[string]struct {
		of   func(*v1alpha1.PackageVariant) map[string]string
		want int
	}{
		"labels":         {func(pv *v1alpha1.PackageVariant) map[string]string { return pv.Labels }, 1},
		"of packages":    {func(pv *v1alpha1.PackageVariant) map[string]string { return pv.Spec.Labels }, 2},
		"of one cluster": {func(pv *v1alpha1.PackageVariant) map[string]string { return pv.Spec.Annotations }, 6},
	} {
		if got := distinct(c.of); got != c.want {
			t.Errorf("%s: %d maps, want %d", name, got, c.want)
		}
	}
	for i, pv := range res.Variants {
		if want := map[string]string{"region": fmt.Sprint("r", i%2)}; !maps.Equal(pv.Spec.Labels, want) {
			t.Errorf("%s has labels %v, want %v", pv.Name, pv.Spec.Labels, want)
		}
	}
}
