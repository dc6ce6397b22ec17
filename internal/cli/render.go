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

// rendering is what `variform render` was asked for.
type rendering struct {
	dir     string // the package
	output  string // toStdout, toUnwrapped, a folder, or "": back to dir
	results string // a folder for results.yaml, or ""
	dry     bool
}

// Values of render's --output that are no folder.
const (
	toStdout    = "stdout"
	toUnwrapped = "unwrap"
)

func newRender(a *app) *cobra.Command {
	r := rendering{dir: "."}
	c := &cobra.Command{
		Use:   "render [DIR]",
		Short: "run the pipelines of a package in a folder",
		Long: `Render runs the Kptfile pipelines of the package in DIR (default: the current folder)
as kpt fn render does, and writes the changed files. Files that no function changes
keep their bytes. With --output the package does not change.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				r.dir = args[0]
			}
			return a.render(c.Context(), r)
		},
	}
	a.addRenderFlags(c)
	c.Flags().BoolVar(&r.dry, "dry-run", false, "print what would change, and write nothing")
	c.Flags().StringVarP(&r.output, "output", "o", "", "write the resources elsewhere: stdout (a ResourceList), unwrap (documents on stdout) or a new `folder`")
	c.Flags().StringVar(&r.results, "results-dir", "", "folder for results.yaml, with the functions' results as kpt writes them")
	_ = c.MarkFlagDirname("results-dir")
	c.MarkFlagsMutuallyExclusive("dry-run", "output")
	return c
}

func (a *app) render(ctx context.Context, r rendering) error {
	if err := r.prepare(); err != nil {
		return err
	}
	before, err := pkgdir.Read(r.dir, a.note)
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
		if rerr := writeResults(r.results, res); rerr != nil {
			return rerr
		}
	}
	if err != nil {
		return errors.Join(a.savePartial(r, before, res), findings{a.failures(err)})
	}
	for _, n := range res.Notes {
		a.note("note: %s", n)
	}
	return a.writeRendered(r, before, res)
}

// prepare makes what has to be there, and refuses what must not be, before
// anything runs.
func (r rendering) prepare() error {
	if r.results != "" {
		if err := os.MkdirAll(r.results, 0o755); err != nil {
			return fmt.Errorf("--results-dir: %w", err)
		}
	}
	if r.output == "" || r.output == toStdout || r.output == toUnwrapped {
		return nil
	}
	if _, err := os.Lstat(r.output); err == nil {
		return fmt.Errorf("--output: %s is there already; remove it or name another folder", r.output)
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("--output: %w", err)
	}
	return nil
}

// savePartial writes back what was rendered before a failure, where the package
// asks for that.
func (a *app) savePartial(r rendering, before []krm.File, res *render.Result) error {
	if res == nil || res.Package == nil || r.output != "" {
		return nil
	}
	a.note("note: kpt.dev/save-on-render-failure: what was rendered before the failure is kept")
	return a.writeRendered(r, before, res)
}

// writeResults writes what the functions had to say into a folder; none for "".
func writeResults(dir string, res *render.Result) error {
	if dir == "" {
		return nil
	}
	list, err := res.ResultList()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "results.yaml"), list, 0o644)
}

func (a *app) writeRendered(r rendering, before []krm.File, res *render.Result) error {
	switch r.output {
	case "":
		after, err := res.Package.Files()
		if err != nil {
			return err
		}
		return a.writeBack(r, before, after)
	case toStdout:
		return a.print(res.ResourceList())
	case toUnwrapped:
		return a.print(res.Unwrapped())
	}
	files, err := res.Files()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.output, 0o755); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	_, err = pkgdir.Write(r.output, nil, files)
	return err
}

func (a *app) print(text []byte, err error) error {
	if err == nil {
		_, err = a.Out.Write(text)
	}
	return err
}

func (a *app) writeBack(r rendering, before, after []krm.File) error {
	write := pkgdir.Write
	if r.dry {
		write = pkgdir.Changed
	}
	changed, err := write(r.dir, before, after)
	for _, p := range changed {
		if perr := a.line("%s", p); perr != nil {
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
	var b strings.Builder
	_ = res.WriteSummary(&b, lines)
	a.tell(b.String())
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
