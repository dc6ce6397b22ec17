package merge_test

import (
	"fmt"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
)

func Example() {
	parse := func(color, size string) *krm.Package {
		p, err := krm.Parse([]krm.File{{Path: "cm.yaml", Data: []byte(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata:\n  color: " + color + "\n  size: " + size + "\n")}})
		if err != nil {
			panic(err)
		}
		return p
	}
	res, err := merge.Packages(parse("red", "small"), parse("blue", "small"), parse("green", "large"), merge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range res.Conflicts {
		fmt.Println(c)
	}
	files, err := res.Package.Files()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(files[0].Data))
	// Output:
	// cm.yaml: ConfigMap/app: data.color: upstream wins with blue; local was green
	// apiVersion: v1
	// kind: ConfigMap
	// metadata: {name: app}
	// data:
	//   color: blue
	//   size: large
}
