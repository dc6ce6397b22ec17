package krm_test

import (
	"fmt"

	"github.com/variform/variform/internal/krm"
)

func Example() {
	data := []byte("# settings of team red\napiVersion: v1\nkind: ConfigMap\nmetadata:   {name: settings}\ndata:\n  a: 'x'   # as it was\n")
	p, err := krm.Parse([]krm.File{{Path: "cm.yaml", Data: data}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range p.Resources() {
		if r.Kind() == "ConfigMap" {
			if err := r.SetAnnotation("team", "red"); err != nil {
				fmt.Println(err)
			}
		}
	}
	files, err := p.Files()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(files[0].Data))
	// Output:
	// # settings of team red
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:   {name: settings, annotations: {team: red}}
	// data:
	//   a: 'x'   # as it was
}
