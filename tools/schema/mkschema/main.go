// Command mkschema writes the JSON Schema files of docs/schema and the functions'
// pages; `go generate` runs it in tools/schema.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/variform/variform/tools/schema"
)

func main() {
	out := flag.String("out", "../../docs/schema", "folder for one file a kind")
	crds := flag.String("crds", "../../config/crd", "folder for one file a kind of the API server")
	functions := flag.String("functions", "../../functions", "folder with a folder a function")
	flag.Parse()
	if err := write(*out, *crds, *functions); err != nil {
		fmt.Fprintln(os.Stderr, "mkschema:", err)
		os.Exit(2)
	}
}

func write(out, crds, functions string) error {
	files, err := schema.Files("../..", "tools/schema")
	if err != nil {
		return err
	}
	list, err := schema.Fields(files)
	if err != nil {
		return err
	}
	if err := writeAll(filepath.Dir(out), map[string][]byte{"fields.md": list}); err != nil {
		return err
	}
	pages, err := schema.Pages(os.DirFS(functions))
	if err != nil {
		return err
	}
	if err := writeAll(out, files); err != nil {
		return err
	}
	if files, err = schema.CRDs("../..", "tools/schema"); err != nil {
		return err
	}
	if err := writeAll(crds, files); err != nil {
		return err
	}
	return writeAll(functions, pages)
}

func writeAll(dir string, files map[string][]byte) error {
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
