package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/pkgdir"
	"github.com/variform/variform/internal/render"
)

func newRender(a *app) *cobra.Command {
	var dry bool
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
			return a.render(c.Context(), dir, dry)
		},
	}
	a.addRenderFlags(c)
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would change and write nothing")
	return c
}

func (a *app) render(ctx context.Context, dir string, dry bool) error {
	before, err := pkgdir.Read(dir)
	if err != nil {
		return err
	}
	if !render.HasFunctions(before) {
		return nil
	}
	pkg, err := krm.Parse(before)
	if err != nil {
		return err
	}
	res, err := a.fleet.renderer().Render(ctx, pkg)
	if res != nil {
		a.printFunctions(res)
	}
	if err != nil {
		return findings{err.Error()}
	}
	after, err := res.Package.Files()
	if err != nil {
		return err
	}
	return a.writeRendered(dir, before, after, dry)
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

func (a *app) printFunctions(res *render.Result) {
	for _, f := range res.Functions {
		a.note("%s %s: %s", cmp.Or(f.Package, "."), cmp.Or(f.Name, f.Image, f.Exec), f.Outcome)
		for _, r := range f.Results {
			a.note("  %s", r.String())
		}
		if f.Outcome == render.Failed && f.Stderr != "" {
			a.note("  %s", f.Stderr)
		}
	}
}
