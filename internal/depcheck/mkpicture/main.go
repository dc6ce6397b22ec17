// Command mkpicture draws the layers of the packages into docs/architecture.md;
// `go generate` runs it in internal/depcheck.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/variform/variform/internal/depcheck"
	"github.com/variform/variform/internal/schema"
)

func main() {
	page := flag.String("page", "../../docs/architecture.md", "page with the marks of a part called layers")
	root := flag.String("root", "../..", "the module's folder")
	flag.Parse()
	if err := draw(*page, *root); err != nil {
		fmt.Fprintln(os.Stderr, "mkpicture:", err)
		os.Exit(2)
	}
}

func draw(page, root string) error {
	pkgs, err := depcheck.Load(os.DirFS(root), "github.com/variform/variform")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	picture := "\n```text\n" + depcheck.Picture(pkgs, depcheck.Placement) + "```\n\n"
	drawn, err := schema.Replace(string(text), "layers", "internal/depcheck", picture)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(drawn), 0o644)
}
