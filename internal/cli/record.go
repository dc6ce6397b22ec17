package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/reconcile"
)

func newRecord(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "record",
		Short: "Show, check or rebuild what variform remembers of the packages that it made",
		Long: `Beside its packages each Git repository has a record: for each Draft, for what
stands on the registered branch, and for the latest Published revisions, the
package as the machine made it, before people's edits. Updates start from it.`,
	}
	c.AddCommand(
		a.recordCommand("show", "List the entries of the records", (*reconcile.Engine).Records),
		a.recordCommand("check", "Hold each entry against what stands in Git; exit 1 where one is not believed", (*reconcile.Engine).CheckRecords),
		a.recordCommand("rebuild", "Write the records anew from what variform's commits say; exit 1 where something is lost", (*reconcile.Engine).RebuildRecords),
	)
	return c
}

func (a *app) recordCommand(use, short string, run func(*reconcile.Engine, context.Context) ([]*reconcile.Recorded, []error)) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: noNames,
		RunE: func(c *cobra.Command, _ []string) error {
			p := a.progress()
			defer p.stop()
			s, err := a.open(c.Context(), p)
			if err != nil {
				return err
			}
			list, problems := run(s.engine, c.Context())
			p.stop()
			if err := a.printRecorded(list); err != nil {
				return err
			}
			return a.recordFindings(list, problems)
		},
	}
	a.addFleet(c)
	a.addOutput(c)
	return c
}

func (a *app) printRecorded(list []*reconcile.Recorded) error {
	switch a.output {
	case "json", "yaml":
		if list == nil {
			list = []*reconcile.Recorded{}
		}
		return encodeAs(a.Out, a.output, "RecordList", map[string]any{"entries": list})
	case "name":
		for _, r := range list {
			if _, err := fmt.Fprintf(a.Out, "%s %s\n", r.Repository, r.Name()); err != nil {
				return err
			}
		}
		return nil
	}
	header := []string{"REPOSITORY", "ENTRY", "EDITED", "OWNER", "FINDING"}
	if a.output == "wide" {
		header = slices.Insert(header, 4, "COMMIT", "TREE", "HYDRATED", "INPUTS")
	}
	var rows [][]string
	for _, r := range list {
		edited := ""
		if r.Tree != r.Hydrated {
			edited = "yes"
		}
		row := []string{r.Repository, r.Name(), edited, r.Owner, r.Finding}
		if a.output == "wide" {
			row = slices.Insert(row, 4, r.Commit, r.Tree, r.Hydrated, decide.ParseInputs(r.Inputs).Digest)
		}
		rows = append(rows, row)
	}
	if err := a.table(header, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Out, count.Of(len(list), "entry", "entries"))
	return err
}

func (a *app) recordFindings(list []*reconcile.Recorded, problems []error) error {
	n := len(problems)
	for _, p := range problems {
		a.fail("error: %v", p)
	}
	for _, r := range list {
		if r.Finding != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return findings{count.Of(n, "finding")}
}
