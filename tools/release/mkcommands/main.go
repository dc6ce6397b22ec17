// Command mkcommands writes docs/commands.md; `go generate` runs it in
// tools/release.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/variform/variform/tools/release"
)

func main() {
	out := flag.String("out", "../../docs/commands.md", "the file")
	flag.Parse()
	page, err := release.CommandsPage()
	if err == nil {
		err = os.WriteFile(*out, page, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mkcommands:", err)
		os.Exit(2)
	}
}
