package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
)

func newRecord(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "record",
		Short: "show, check or rebuild the records of built packages",
		Long: `Each Git repository has a record next to its packages. For each Draft, for the
content of the registered branch, and for the latest Published revisions, it holds the
package as variform built it, before people's edits. Updates start from the record.`,
	}
	c.AddCommand(
		a.recordCommand("show", "list the entries of the records", (*reconcile.Engine).Records),
		a.recordCommand("check", "check each entry against Git; exit 1 if one is false", (*reconcile.Engine).CheckRecords),
		a.recordCommand("rebuild", "write the records again from commits; exit 1 if content is lost", (*reconcile.Engine).RebuildRecords),
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
			if err := a.printRecorded(s.from(), list); err != nil {
				return err
			}
			return a.recordFindings(list, problems)
		},
	}
	a.addFleet(c)
	a.addOutput(c)
	return c
}

func (a *app) printRecorded(from review.Source, list []*reconcile.Recorded) error {
	switch a.output {
	case "json", "yaml":
		if list == nil {
			list = []*reconcile.Recorded{}
		}
		return encodeAs(a.Out, a.output, "RecordList", map[string]any{"source": from, "entries": list})
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
