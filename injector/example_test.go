package injector_test

import (
	"fmt"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/injector"
)

func Example() {
	files, outcomes, err := injector.Inject([]injector.File{
		{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n")},
		{Path: "cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: endpoints # ours\n  annotations:\n    kpt.dev/config-injection: required\ndata: {url: none}\n")},
	}, injector.Request{
		Injectors: []v1alpha1.InjectionSelector{{Name: "useast1"}},
		Objects: []injector.Object{{
			Data:   []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: useast1}\ndata: {url: https://a}\n"),
			Origin: "fleet/useast1.yaml",
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcomes[0].Condition, "from", outcomes[0].Object)
	fmt.Print(string(files[1].Data))
	// Output:
	// config.injection.ConfigMap.endpoints from /v1 ConfigMap default/useast1
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   name: endpoints # ours
	//   annotations:
	//     kpt.dev/config-injection: required
	//     kpt.dev/injected-resource-name: useast1
	//     kpt.dev/injected-resource: useast1
	// data: {url: https://a}
}

// A required point that nothing fills is an outcome, and no error: the Kptfile says so in
// a condition, which holds approval.
func ExampleInject_unmet() {
	files, outcomes, err := injector.Inject([]injector.File{
		{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n")},
		{Path: "cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: endpoints\n  annotations: {kpt.dev/config-injection: required}\n")},
	}, injector.Request{Injectors: []v1alpha1.InjectionSelector{{Name: "useast1"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(outcomes[0].Condition, outcomes[0].Object == "")
	fmt.Print(string(files[0].Data))
	// Output:
	// config.injection.ConfigMap.endpoints true
	// apiVersion: kpt.dev/v1
	// kind: Kptfile
	// metadata: {name: web}
	// info:
	//   readinessGates:
	//   - conditionType: config.injection.ConfigMap.endpoints
	// status:
	//   conditions:
	//   - type: config.injection.ConfigMap.endpoints
	//     status: "False"
	//     message: no in-cluster resources of type v1.ConfigMap
	//     reason: NoResourceSelected
}
