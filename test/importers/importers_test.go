// Package importers is a program of others: a module of its own, which sees of
// Variform what any stranger sees. That it compiles is the test.
package importers

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/injector"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/variantgen"
)

func TestAPI(t *testing.T) {
	obj, report := api.Parse([]byte("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: a}\nspec:\n  upstream: {repo: c, package: web, revision: v1}\n  downstream: {repo: r, package: web}\n"))
	if pv, ok := obj.(*v1alpha1.PackageVariant); report.Err() != nil || !ok || pv.Namespace != api.DefaultNamespace {
		t.Errorf("got %+v, %v", obj, report.Err())
	}
}

func TestFanOut(t *testing.T) {
	set := &v1alpha2.PackageVariantSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1alpha2.PackageVariantSetSpec{
			Upstream: &v1alpha1.Upstream{Repo: "catalog", Package: "web", Revision: "v1"},
			Targets:  []v1alpha2.Target{{Repositories: []v1alpha2.RepositoryTarget{{Name: "c1"}}}},
		},
	}
	env := variantgen.NewEnv(variantgen.Inputs{Repositories: []*v1alpha1.Repository{{ObjectMeta: metav1.ObjectMeta{Name: "c1"}}}})
	if result := variantgen.ExpandAll(env, set); len(result.Variants) != 1 || len(result.Failures) != 0 {
		t.Errorf("got %+v", result)
	}
}

func TestResolve(t *testing.T) {
	cat, err := resolver.NewCatalog([]resolver.Package{{Package: "app", Version: "1.0.0"}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := resolver.Resolve(t.Context(), resolver.Input{Catalog: cat, Want: []resolver.Request{{Package: "app", Version: "1.0.0"}}})
	if err != nil || len(res.Instances) != 1 {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestInject(t *testing.T) {
	files, outcomes, err := injector.Inject([]injector.File{
		{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n")},
		{Path: "p.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p, annotations: {kpt.dev/config-injection: required}}\n")},
	}, injector.Request{
		Injectors: []v1alpha1.InjectionSelector{{Name: "o"}},
		Objects:   []injector.Object{{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: o}\ndata: {a: b}\n")}},
	})
	if err != nil || len(files) != 2 || len(outcomes) != 1 || outcomes[0].Object == "" {
		t.Errorf("got %v, %+v, %v", files, outcomes, err)
	}
}
