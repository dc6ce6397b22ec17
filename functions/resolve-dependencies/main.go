// Command resolve-dependencies is the KRM function of that name; see README.md.
package main

import (
	"os"

	"github.com/variform/variform/internal/fnmain"
)

func main() {
	os.Exit(fnmain.Main("resolve-dependencies", os.Args[1:], fnmain.Std()))
}
