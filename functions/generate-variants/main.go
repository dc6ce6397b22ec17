// Command generate-variants is the KRM function of that name; see README.md.
package main

import (
	"os"

	"github.com/variform/variform/internal/fnmain"
)

func main() {
	os.Exit(fnmain.Main("generate-variants", os.Args[1:], fnmain.Std()))
}
