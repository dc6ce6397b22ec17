package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/session"
)

func newStatus(a *app) *cobra.Command {
	var exitCode bool
	c := &cobra.Command{
		Use:   "status [NAME...]",
		Short: "show where each set stands, and what needs you",
		Long: `Status reads refs and commits and builds nothing. It takes failures of the last
apply from the repositories' records.

A table counts the variants of each set; each variant counts once:
  LIVE       the registered branch holds what the fleet asks for
  TO REVIEW  a Draft or a proposal waits for you
  WAITING    you have to decide something first; WHY names it
  TO APPLY   the next apply writes something
  ROLLOUT    a rollout publishes it; the column is left out if there is none
  LEAVING    the fleet no longer asks for it; apply --prune removes it

WHY gives each reason once, with the variants that it is the reason for. If apply keeps
pull requests, WHY also gives the address and state of the Draft's request.

NAMES, or -o wide, list each variant. PROVED tells whether an open revision equals a
build of the current inputs, edits included.

-o yaml prints the sets and variants with their conditions and downstreamTargets.`,
		RunE: func(c *cobra.Command, args []string) error {
			a.fleet.only = append(a.fleet.only, args...)
			return a.plan(c.Context(), (*reconcile.Engine).Survey, func(s *opening, plan *reconcile.Plan) error {
				a.tellRequests(c.Context(), s, plan)
				if err := a.printStatus(c.Context(), s, plan); err != nil || !exitCode || plan.Failed() {
					return err
				}
				if _, next := fleet.OverviewOf(plan, false).Next(); next != "" {
					return errPending
				}
				return nil
			})
		},
	}
	a.addFleet(c)
	a.addShard(c)
	a.addOutput(c)
	a.addSelection(c)
	c.Flags().StringSliceVar(&a.fleet.only, "only", nil, "only these variants, sets, repositories or packages")
	c.Flags().StringSliceVar(&a.fleet.allowKinds, "allow-kind", nil, "as for apply")
	a.addNeeds(c)
	a.addRenderFlags(c)
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 3 if a variant waits for you or apply would change something, and nothing failed")
	return c
}

func (a *app) printStatus(ctx context.Context, s *opening, plan *reconcile.Plan) error {
	switch a.output {
	case "json", "yaml":
		part := a.part(s)
		if part != nil {
			part.states(plan)
		}
		err := objectsOf(a.Out, a.output, fleet.StatusObjects(s.fleet, plan), s.from(), part)
		a.printProblems(plan)
		return err
	case "name":
		for _, i := range plan.Items {
			if _, err := fmt.Fprintln(a.Out, i.Identity.String()); err != nil {
				return err
			}
		}
		return nil
	}
	if err := printHead(a, s.from(), size(plan)); err != nil {
		return err
	}
	err := printVariants(a, plan)
	if err == nil {
		err = printSets(a, plan)
	}
	a.printFailures(plan, a.output == "wide" || len(a.fleet.only) > 0)
	a.printProblems(plan)
	if err == nil && len(s.fleet.Rollouts) > 0 {
		err = printCarried(ctx, a, s)
	}
	if err != nil {
		return err
	}
	return printNext(a, fleet.OverviewOf(plan, false))
}

// printVariants shows each variant, where those are asked for.
func printVariants(a *app, plan *reconcile.Plan) error {
	header := []string{"VARIANT", "READY", "STALLED", "LIFECYCLE", "REVISION", "PROVED", "WHY"}
	switch {
	case a.output == "wide":
		header = append(header, "NAME", "SET", "UPSTREAM", "REF")
	case len(a.fleet.only) == 0:
		return nil
	}
	var rows [][]string
	for _, items := range fleet.ByVariant(plan.Items) {
		for _, of := range byRevision(items) {
			rows = append(rows, a.statusRow(of))
		}
	}
	if err := a.table(header, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Out)
	return err
}

// printCarried prints where rollouts are that are not over.
func printCarried(ctx context.Context, a *app, s *opening) error {
	list, _, err := reconcile.Rollouts(ctx, s.engine, nil) // what could not be read the plan reports
	if err != nil {
		return err
	}
	return printRollouts(a, list, false)
}

// printSets counts the variants of each set by what has to happen next, and ends with the
// reasons, where no list of variants has them, and the summary of all.
func printSets(a *app, plan *reconcile.Plan) error {
	var rows [][]string
	rollouts := fleet.OverviewOf(plan, false).Rollout > 0
	for _, o := range fleet.OverviewsOf(plan) {
		row := []string{cmp.Or(o.Set, "(no set)"), fmt.Sprint(o.Variants)}
		for _, n := range []int{o.Live, o.ToReview, o.Waiting, o.ToApply, o.Failing, o.Held, o.Leaving} {
			cell := "-"
			if n > 0 {
				cell = fmt.Sprint(n)
			}
			row = append(row, cell)
		}
		if rollouts {
			row = append(row, fmt.Sprint(o.Rollout))
		}
		rows = append(rows, row)
	}
	header := []string{"SET", "VARIANTS", "LIVE", "TO REVIEW", "WAITING", "TO APPLY", "FAILING", "HELD", "LEAVING"}
	if rollouts {
		header = append(header, "ROLLOUT")
	}
	if err := a.table(header, rows); err != nil {
		return err
	}
	if a.output != "wide" && len(a.fleet.only) == 0 {
		_, reasons := fleet.Rows(plan.Items)
		if err := printReasons(a, reasons); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.Out, "\n%s\n", summary(plan, false))
	return err
}

// tellRequests adds to what is said of Drafts where their requests stand.
func (a *app) tellRequests(ctx context.Context, s *opening, plan *reconcile.Plan) {
	failed := fleet.TellRequests(ctx, s.engine, plan, fleet.PullRequests{Fleet: s.fleet, Forge: session.Forges(a.budget(), nil, a.app), Concurrency: min(a.repositories, requestConcurrency)})
	for _, f := range unpulled(failed) {
		a.warn("%s: its pull requests are not known: %s", folded(f.Members), f.Message)
	}
}

// byRevision groups the items of one variant by the revision that they are about: what
// a run first does with what is there (a tag, a deletion taken back) and what it makes
// of that are one.
func byRevision(items []*reconcile.Item) [][]*reconcile.Item {
	var out [][]*reconcile.Item
	for _, i := range items {
		first := i.Action == decide.ActionTag || i.Action == decide.ActionRestore
		if at := slices.IndexFunc(out, func(of []*reconcile.Item) bool { return first || of[0].Ref == i.Ref && i.Ref != "" }); at >= 0 {
			out[at] = append(out[at], i)
			continue
		}
		out = append(out, []*reconcile.Item{i})
	}
	return out
}

// statusRow tells of the items of one revision.
func (a *app) statusRow(items []*reconcile.Item) []string {
	row := a.itemRow(items[0])
	for _, i := range items[1:] {
		more := a.itemRow(i)
		if more[statusReady] == "False" {
			row[statusReady] = "False"
		}
		if more[statusStalled] == "True" {
			row[statusStalled] = "True"
		}
		if i.Phase != "" { // it is about what is there still
			row[statusLifecycle], row[statusRevision] = more[statusLifecycle], more[statusRevision]
			copy(row[statusWhy+1:], more[statusWhy+1:])
		}
		row[statusProved] = cmp.Or(row[statusProved], more[statusProved])
		if row[statusWhy] == "" {
			row[statusWhy] = more[statusWhy]
		} else if more[statusWhy] != "" {
			row[statusWhy] = more[statusWhy] + "; " + row[statusWhy]
		}
	}
	return row
}

// Columns of the table.
const (
	_ = iota
	statusReady
	statusStalled
	statusLifecycle
	statusRevision
	statusProved
	statusWhy
)

func (a *app) itemRow(i *reconcile.Item) []string {
	ready, stalledText, phase, revision, proved := "True", "False", string(i.Phase), i.Workspace, ""
	switch {
	case i.Err != nil:
		ready = "False"
	case i.Action == decide.ActionCreate:
		ready, phase, revision = "False", "", ""
	case i.Action.Pending(), i.Action == decide.ActionKeep, i.Action == decide.ActionWait:
		ready = "False"
	}
	if i.Stalled {
		stalledText = "True"
	}
	if i.Revision > 0 {
		revision = fmt.Sprintf("v%d", i.Revision)
	}
	if i.Proof != nil {
		proved = "True"
		if i.Proof.State != decide.Proved {
			proved = "False"
		}
	}
	reason := strings.Join(fleet.ReasonsOf(i), "; ")
	if i.Err != nil {
		reason = firstLine(i.Err.Error())
	}
	row := []string{i.Identity.String(), ready, stalledText, phase, revision, proved, reason}
	if a.output == "wide" {
		row = append(row, i.Name, i.Set, i.Upstream, i.Ref)
	}
	return row
}
