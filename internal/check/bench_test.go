package check

import (
	"fmt"
	"testing"

	"github.com/variform/variform/internal/krm"
)

// BenchmarkResources checks a package of 100 Deployments and 100 ConfigMaps.
func BenchmarkResources(b *testing.B) {
	var files []krm.File
	for i := range 100 {
		files = append(files, krm.File{Path: fmt.Sprintf("d%d.yaml", i), Data: []byte((deployment + template)[len("## a.yaml\n"):])},
			krm.File{Path: fmt.Sprintf("c%d.yaml", i), Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n")})
	}
	p, err := krm.Parse(files)
	if err != nil {
		b.Fatal(err)
	}
	load()
	b.ReportAllocs()
	for b.Loop() {
		Resources(p, Options{})
	}
}

// BenchmarkLoad reads the schemas, as a program does once.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		read()
	}
}
