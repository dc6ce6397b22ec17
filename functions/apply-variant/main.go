// Command apply-variant is the KRM function of that name; see README.md.
package main

import (
	"os"

	"github.com/variform/variform/internal/fnmain"
)

func main() {
	os.Exit(fnmain.Main("apply-variant", os.Args[1:], fnmain.Std()))
}
