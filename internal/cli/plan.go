package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
)

func newPlan(a *app) *cobra.Command {
	var exitCode bool
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show what apply would do, and why",
		Long: `Plan reads the fleet and the repositories, builds every package that would
change, and writes nothing outside its cache. It runs the same code as apply.`,
		Args: noNames,
		RunE: func(c *cobra.Command, _ []string) error {
			p := a.progress()
			defer p.stop()
			s, err := a.open(c.Context(), p)
			if err != nil {
				return err
			}
			plan, err := s.engine.Plan(c.Context())
			p.stop()
			if err != nil {
				return err
			}
			s.locate(plan)
			if err := a.printPlan(plan, false); err != nil {
				return err
			}
			if exitCode && plan.Pending() && !plan.Failed() {
				return findings{"changes are pending"}
			}
			return failed(plan)
		},
	}
	a.addFleet(c)
	a.addBuild(c)
	a.addOutput(c)
	c.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 1 when changes are pending")
	return c
}

// failed ends a command with findings where a plan holds failures.
func failed(p *reconcile.Plan) error {
	if !p.Failed() {
		return nil
	}
	n := len(problemsOf(p)) + p.Count()[reconcile.Fail]
	return findings{plural(n, "problem") + "; the other variants are not affected"}
}

func newApply(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "apply",
		Short: "Write one Draft branch per variant",
		Long: `Apply brings every variant's Draft up to date: one atomic push per repository,
conditional on what was read. Running it again changes nothing.`,
		Args: noNames,
		RunE: func(c *cobra.Command, _ []string) error {
			p := a.progress()
			defer p.stop()
			s, err := a.open(c.Context(), p)
			if err != nil {
				return err
			}
			plan, err := s.engine.Plan(c.Context())
			if err != nil {
				return err
			}
			if err := s.engine.Apply(c.Context(), plan); err != nil {
				return err
			}
			p.stop()
			s.locate(plan)
			if err := a.printPlan(plan, true); err != nil {
				return err
			}
			return failed(plan)
		},
	}
	a.addFleet(c)
	a.addBuild(c)
	a.addOutput(c)
	c.Flags().IntVar(&a.fleet.maxRefs, "max-refs-per-push", 0, "split pushes into `N` refs each: some forges start no pipelines past a few (default: one push per repository)")
	return c
}

func newDiff(a *app) *cobra.Command {
	var against string
	c := &cobra.Command{
		Use:   "diff [NAME...]",
		Short: "Show what apply would change, file by file",
		Long: `Diff prints, as a patch, what apply would change in each variant's package:
against its open Draft, its latest Published revision, or its upstream.`,
		RunE: func(c *cobra.Command, args []string) error {
			if against != "draft" && against != "base" {
				return fmt.Errorf("--against %q: choose draft or base", against)
			}
			a.fleet.only = append(a.fleet.only, args...)
			p := a.progress()
			defer p.stop()
			s, err := a.open(c.Context(), p)
			if err != nil {
				return err
			}
			plan, err := s.engine.Plan(c.Context())
			p.stop()
			if err != nil {
				return err
			}
			s.locate(plan)
			if err := a.printDiffs(plan, against); err != nil {
				return err
			}
			a.printFailures(plan, false)
			a.printProblems(plan)
			return failed(plan)
		},
	}
	a.addFleet(c)
	a.addBuild(c)
	c.Flags().StringVar(&against, "against", "draft", "draft (the open Draft, where there is one) or base (the latest Published revision, or the upstream)")
	return c
}

func (a *app) printDiffs(plan *reconcile.Plan, against string) error {
	for _, i := range plan.Items {
		if i.After == nil || !i.Action.Pending() {
			continue
		}
		from := i.Before
		if from == nil || against == "base" {
			from = i.Base
		}
		text, err := review.Diff(from, i.After)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.Out, "# %s: %s %s\n%s", i.Identity, i.Action, i.Workspace, text); err != nil {
			return err
		}
	}
	return nil
}
