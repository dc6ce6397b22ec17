package api_test

import (
	"fmt"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
)

func Example() {
	data := []byte(`apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: web}
spec:
  upstream: {repo: catalog, package: web, revision: v1}
  downstream: {repo: cluster-01, package: web}
`)
	obj, report := api.Parse(data, api.WithFile("fleet/web.yaml"))
	if err := report.Err(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(obj.(*v1alpha1.PackageVariant).Spec.Downstream.Repo)

	_, report = api.Parse([]byte(string(data)+"  target: x\n"), api.WithFile("fleet/web.yaml"))
	fmt.Println(report.Err())
	// Output:
	// cluster-01
	// fleet/web.yaml:7: unknown field spec.target (hint: the fields here are adoptionPolicy, annotations, deletionPolicy, downstream, injectors, labels, packageContext, pipeline, upstream)
}

// Objects that are made in Go get defaults and are checked like those of files.
func ExampleValidate() {
	set := &v1alpha2.PackageVariantSet{Spec: v1alpha2.PackageVariantSetSpec{
		Upstream: &v1alpha1.Upstream{Repo: "catalog"},
		Targets:  []v1alpha2.Target{{Repositories: []v1alpha2.RepositoryTarget{{Name: "cluster-01"}}}},
	}}
	api.Default(set)
	for _, issue := range api.Validate(set) {
		fmt.Println(issue)
	}
	// Output:
	// metadata.name is a required field
	// spec.upstream.package is a required field (hint: the package's path in that Repository)
}

// Encode writes an object as YAML; the same object gives the same bytes.
func ExampleEncode() {
	pv := &v1alpha1.PackageVariant{Spec: v1alpha1.PackageVariantSpec{
		Upstream:   &v1alpha1.Upstream{Repo: "catalog", Package: "web", WorkspaceName: "v1"},
		Downstream: &v1alpha1.Downstream{Repo: "cluster-01", Package: "web"},
	}}
	pv.APIVersion, pv.Kind, pv.Name = "config.porch.kpt.dev/v1alpha1", "PackageVariant", "web"
	text, err := api.Encode(pv)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	// Output:
	// apiVersion: config.porch.kpt.dev/v1alpha1
	// kind: PackageVariant
	// metadata:
	//   name: web
	// spec:
	//   upstream:
	//     repo: catalog
	//     package: web
	//     workspaceName: v1
	//   downstream:
	//     repo: cluster-01
	//     package: web
}
