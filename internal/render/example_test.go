package render_test

import (
	"context"
	"fmt"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/render"
)

func Example() {
	pkg, err := krm.Parse([]krm.File{
		{Path: "Kptfile", Data: []byte(`apiVersion: kpt.dev/v1
kind: Kptfile
metadata: {name: web}
pipeline:
  mutators:
  - image: set-annotations:v0.1
    configMap: {team: red}
`)},
		{Path: "cm.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r := render.New(render.Options{})
	defer r.Close()
	res, err := r.Render(context.Background(), pkg) // pkg is not changed
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := res.Package.Files()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		if f.Path == "cm.yaml" {
			fmt.Print(string(f.Data))
		}
	}
	// Output:
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   name: app
	//   annotations:
	//     team: red
}
