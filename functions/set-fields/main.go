// Command set-fields is the KRM function of that name; see README.md.
package main

import (
	"os"

	"github.com/variform/variform/internal/fnmain"
)

func main() {
	os.Exit(fnmain.Main("set-fields", os.Args[1:], fnmain.Std()))
}
