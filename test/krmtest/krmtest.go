// Package krmtest makes the packages that tests work on, and reads them back.
//
//	p := krmtest.Package(t, map[string]string{"Kptfile": "…", "cm.yaml": "…"})
package krmtest

import (
	"testing"

	"github.com/variform/variform/internal/krm"
)

// Package is a package of files by path.
func Package(t testing.TB, files map[string]string) *krm.Package {
	t.Helper()
	list := make([]krm.File, 0, len(files))
	for path, data := range files {
		list = append(list, krm.File{Path: path, Data: []byte(data)})
	}
	p, err := krm.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Texts are a package's files by path: the inverse of Package.
func Texts(t testing.TB, p *krm.Package) map[string]string {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string, len(files))
	for _, f := range files {
		out[f.Path] = string(f.Data)
	}
	return out
}
