package wiring_test

import (
	"fmt"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/wiring"
)

func Example() {
	parse := func(text string) *krm.Package {
		p, err := krm.Parse([]krm.File{{Path: "r.yaml", Data: []byte(text)}})
		if err != nil {
			panic(err)
		}
		return p
	}
	database := parse("apiVersion: v1\nkind: Service\nmetadata: {name: db}\nspec: {clusterIP: None}\n")
	outputs, err := wiring.Compile([]v1alpha1.ManifestOutput{
		{ManifestField: v1alpha1.ManifestField{Name: "host"}, ValueFrom: "Service:metadata.name"},
		{ManifestField: v1alpha1.ManifestField{Name: "ip"}, ValueFrom: "context/ConfigMap/runtime:data.ip"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	values, unknown := outputs.Eval(wiring.Scope{Package: database})
	fmt.Println(values["host"], len(unknown), "unknown")

	web := parse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {host: localhost}\n")
	err = wiring.Apply(web, []wiring.Value{{
		Parameter: "host", To: v1alpha1.InputTarget{FieldPath: "ConfigMap:data.host"}, Text: values["host"],
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := web.Files()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(files[0].Data))
	// Output:
	// db 1 unknown
	// apiVersion: v1
	// kind: ConfigMap
	// metadata: {name: web}
	// data: {host: db}
}
