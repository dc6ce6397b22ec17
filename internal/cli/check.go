package cli

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/check"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/pkgdir"
)

func newCheck(a *app) *cobra.Command {
	var kubernetes string
	c := &cobra.Command{
		Use:   "check [DIR]",
		Short: "find what Kubernetes would refuse in a folder of YAML",
		Long: `Check reads the resources in DIR (default: the current folder) and reports what
Kubernetes would refuse: unknown fields, wrong types, missing fields, values that are
not allowed, invalid names and labels, duplicates, and versions that are not served.
It knows Kubernetes' own kinds, and those of the CustomResourceDefinitions in DIR. It
needs no cluster and changes nothing. Files that a kustomization or a function uses as
its input, templates of charts and local-config resources are not checked.

The exit status is 1 where there is a finding.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return checkFolder(a, path.Join(slices.Concat(args, []string{"."})[0]), kubernetes)
		},
	}
	a.addFormats(c, outputs[0], []string{outputs[0], "json", "yaml"})
	known := check.Known()
	c.Flags().StringVar(&kubernetes, "kubernetes", "", fmt.Sprintf("check for this `minor` version of Kubernetes, %s to %s (default: accept what one of them accepts)", known[0], known[len(known)-1]))
	_ = c.RegisterFlagCompletionFunc("kubernetes", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func checkFolder(a *app, dir, kubernetes string) error {
	if known := check.Known(); kubernetes != "" && !slices.Contains(known, kubernetes) {
		return fmt.Errorf("--kubernetes %q: choose one of %s", kubernetes, strings.Join(known, ", "))
	}
	files, err := pkgdir.ReadYAML(dir, a.note)
	if err != nil {
		return err
	}
	pkg, err := krm.Parse(pkgdir.Kept(files, a.note))
	if err != nil {
		return err
	}
	result := check.Resources(pkg, check.Options{Kubernetes: kubernetes})
	for i := range result.Findings {
		f := &result.Findings[i]
		f.File = filepath.ToSlash(filepath.Join(dir, f.File))
	}
	if err := printFindings(a, result); err != nil {
		return err
	}
	if n := len(result.Findings); n > 0 {
		return findings{count.Of(n, "finding") + " in " + count.Of(result.Checked, "resource")}
	}
	return nil
}

// printFindings prints a line for each finding, as compilers do, or the result for a program.
func printFindings(a *app, r check.Result) error {
	if a.output != outputs[0] {
		return encodeAs(a.Out, a.output, "CheckResult", r)
	}
	var b strings.Builder
	for _, f := range r.Findings {
		linef(&b, "%s:%d: %s: %s (%s)", f.File, f.Line, f.Severity, f, f.Check)
	}
	if len(r.Unknown) > 0 {
		a.note("note: no schema for %s", folded(r.Unknown))
	}
	if len(r.Findings) == 0 {
		a.note("checked %s", count.Of(r.Checked, "resource"))
	}
	return a.write(b.String(), func(string) string { return "" })
}
