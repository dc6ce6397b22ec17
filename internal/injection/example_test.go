package injection_test

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
)

func Example() {
	pkg, err := krm.Parse([]krm.File{
		{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n")},
		{Path: "cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: endpoints, annotations: {kpt.dev/config-injection: required}}\n")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	objects, err := injection.NewContext([]injection.Object{{
		Node:   yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: useast1}\ndata: {url: https://a}\n"),
		Origin: "fleet/useast1.yaml",
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := injection.Inject(pkg, injection.Request{
		Injectors: []v1alpha1.InjectionSelector{{Name: "useast1"}},
		Context:   objects,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range report.Outcomes {
		fmt.Println(o.ConditionType, o.Injected(), o.Object)
	}
	// Output:
	// config.injection.ConfigMap.endpoints true /v1 ConfigMap default/useast1
}
