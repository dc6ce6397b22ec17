package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/pkgdir"
	"github.com/variform/variform/internal/render"
)

func newRender(a *app) *cobra.Command {
	var dry bool
	var results string
	c := &cobra.Command{
		Use:   "render [DIR]",
		Short: "Run the pipelines of a package in a folder, as kpt fn render does",
		Long: `Render runs the Kptfile pipelines of the package in DIR (the current folder by
default) and writes back what changed. Files that no function changes keep their
bytes.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return a.render(c.Context(), dir, results, dry)
		},
	}
	a.addRenderFlags(c)
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would change and write nothing")
	c.Flags().StringVar(&results, "results-dir", "", "folder for results.yaml: what the functions had to say, as kpt writes it")
	_ = c.MarkFlagDirname("results-dir")
	return c
}

func (a *app) render(ctx context.Context, dir, results string, dry bool) error {
	before, err := pkgdir.Read(dir)
	if err != nil {
		return err
	}
	pkg, err := krm.Parse(before)
	if err != nil {
		return err
	}
	renderer, err := a.renderer()
	if err != nil {
		return err
	}
	res, err := renderer.Render(ctx, pkg)
	if res != nil {
		a.printFunctions(res)
		if rerr := writeResults(results, res); rerr != nil {
			return rerr
		}
	}
	if err != nil {
		return findings{a.failures(err)}
	}
	for _, n := range res.Notes {
		a.note("note: %s", n)
	}
	after, err := res.Package.Files()
	if err != nil {
		return err
	}
	return a.writeRendered(dir, before, after, dry)
}

// writeResults writes what the functions had to say into a folder, made where
// it is missing; none for "".
func writeResults(dir string, res *render.Result) error {
	if dir == "" {
		return nil
	}
	list, err := res.ResultList()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "results.yaml"), list, 0o644)
}

func (a *app) writeRendered(dir string, before, after []krm.File, dry bool) error {
	write := pkgdir.Write
	if dry {
		write = pkgdir.Changed
	}
	changed, err := write(dir, before, after)
	for _, p := range changed {
		if _, perr := fmt.Fprintln(a.Out, p); perr != nil {
			return perr
		}
	}
	return err
}

// stderrLines is how much of a function's standard error is printed, as by kpt.
const stderrLines = 4

func (a *app) printFunctions(res *render.Result) {
	if a.quiet {
		return
	}
	lines := stderrLines
	if a.verbose {
		lines = 0
	}
	_ = res.WriteSummary(a.Err, lines) // there is nobody left to tell
}

// failures is a rendering's error; what was printed of its functions is left out.
func (a *app) failures(err error) string {
	var all interface{ Unwrap() []error }
	if errors.As(err, &all) {
		texts := make([]string, 0, len(all.Unwrap()))
		for _, one := range all.Unwrap() {
			texts = append(texts, a.failures(one))
		}
		return strings.Join(texts, "\n")
	}
	var failed *render.FunctionError
	if !a.quiet && errors.As(err, &failed) && failed.ExitCode != 0 {
		return failed.Brief()
	}
	return err.Error()
}
