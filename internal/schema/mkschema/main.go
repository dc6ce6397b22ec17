// Command mkschema writes the JSON Schema files of docs/schema; `go generate`
// runs it in internal/schema.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/variform/variform/internal/schema"
)

func main() {
	out := flag.String("out", "../../docs/schema", "folder for one file a kind")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "mkschema:", err)
		os.Exit(2)
	}
}

func write(out string) error {
	files, err := schema.Files("../..", "internal/schema")
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
