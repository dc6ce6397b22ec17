// Command mkpicture draws the layers of the packages, and their budgets, into
// docs/architecture.md; `go generate` runs it in test/depcheck. With -sizes it
// prints how large the code is.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/variform/variform/test/depcheck"
	"github.com/variform/variform/tools/schema"
)

func main() {
	page := flag.String("page", "../../docs/architecture.md", "page with the marks of a part called layers")
	root := flag.String("root", "../..", "the module's folder")
	sizes := flag.Bool("sizes", false, "print the sizes beside their budgets, and write nothing")
	flag.Parse()
	act := draw
	if *sizes {
		act = show
	}
	if err := act(*page, *root); err != nil {
		fmt.Fprintln(os.Stderr, "mkpicture:", err)
		os.Exit(2)
	}
}

const module = "github.com/variform/variform"

// budgets reads test/depcheck/budgets.txt.
func budgets(root string) (depcheck.Budgets, error) {
	text, err := os.ReadFile(filepath.Join(root, "test", "depcheck", "budgets.txt"))
	if err != nil {
		return nil, err
	}
	return depcheck.ParseBudgets(text)
}

func show(_, root string) error {
	pkgs, err := depcheck.LoadAll(os.DirFS(root), module)
	if err != nil {
		return err
	}
	allowed, err := budgets(root)
	if err != nil {
		return err
	}
	_, err = fmt.Print(depcheck.Trend(depcheck.Measure(pkgs), allowed))
	return err
}

func draw(page, root string) error {
	pkgs, err := depcheck.Load(os.DirFS(root), module)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	picture := "\n```text\n" + depcheck.Picture(pkgs, depcheck.Placement) + "```\n\n"
	drawn, err := schema.Replace(string(text), "layers", "test/depcheck", picture)
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	allowed, err := budgets(root)
	if err != nil {
		return err
	}
	if drawn, err = schema.Replace(drawn, "sizes", "test/depcheck", "\n"+depcheck.Trend(nil, allowed)+"\n"); err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(drawn), 0o644)
}
