// Command variform-functions is every function of Variform in one binary, for
// one image: `variform-functions inject-config`, or run as inject-config.
package main

import (
	"os"

	"github.com/variform/variform/internal/fnmain"
)

func main() {
	os.Exit(fnmain.All(os.Args, fnmain.Std()))
}
