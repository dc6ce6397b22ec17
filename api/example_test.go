package api_test

import (
	"fmt"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
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
