package catalogfn_test

import (
	"context"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/catalogfn"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
)

func Example() {
	p, err := krm.Parse([]krm.File{{Path: "cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app # ours\n")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, _ := catalogfn.Lookup("set-annotations")
	call := &function.Call{
		Package: p,
		Config:  yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {team: red}\n"),
	}
	if err := f.Releases[len(f.Releases)-1].Run(context.Background(), call); err != nil {
		fmt.Println(err)
		return
	}
	files, err := p.Files()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(files[0].Data))
	// Output:
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   name: app # ours
	//   annotations:
	//     team: red
}
