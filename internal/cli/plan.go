package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
)

func newPlan(a *app) *cobra.Command {
	var exitCode bool
	c := &cobra.Command{
		Use:   "plan",
		Short: "show what would change, and why",
		Long: `Plan reads the fleet and its repositories and builds every package that would
change. It runs the same code as apply and writes nothing except its cache.`,
		Args: noNames,
		RunE: func(c *cobra.Command, _ []string) error {
			a.fleet.preview = true
			return a.plan(c.Context(), (*reconcile.Engine).Plan, func(s *opening, plan *reconcile.Plan) error {
				if err := a.printPlan(s, plan, false); err != nil {
					return err
				}
				return pending(plan, exitCode)
			})
		},
	}
	a.addFleet(c)
	a.addShard(c)
	a.addBuild(c)
	a.addOutput(c, reportFormats...)
	addExitCode(c, &exitCode)
	return c
}

func addExitCode(c *cobra.Command, exitCode *bool) {
	c.Flags().BoolVar(exitCode, "exit-code", false, "exit with 3 if apply would change something and nothing failed")
}

// pending ends a command that was asked for it with another status where changes are
// pending; what failed has its own.
func pending(plan *reconcile.Plan, asked bool) error {
	if asked && plan.Pending() && !plan.Failed() {
		return errPending
	}
	return nil
}

// plan reads the fleet, plans by one of the Engine's ways, and prints; what
// failed in part makes findings of the whole.
func (a *app) plan(ctx context.Context, run func(*reconcile.Engine, context.Context) (*reconcile.Plan, error), print func(*opening, *reconcile.Plan) error) error {
	p := a.progress()
	defer p.stop()
	s, err := a.open(ctx, p)
	if err != nil {
		return err
	}
	return a.planned(ctx, s, p, run, print)
}

func (a *app) planned(ctx context.Context, s *opening, p *progress, run func(*reconcile.Engine, context.Context) (*reconcile.Plan, error), print func(*opening, *reconcile.Plan) error) error {
	plan, err := run(s.engine, ctx)
	p.stop()
	if err != nil {
		return err
	}
	fleet.Locate(s.fleet, plan)
	if err := print(s, plan); err != nil {
		return err
	}
	return failed(plan)
}

// failed ends a command with findings where a plan holds failures.
func failed(p *reconcile.Plan) error {
	if !p.Failed() {
		return nil
	}
	causes, _ := failures(p)
	n := len(fleet.OncePerText(problemsOf(p))) + len(causes)
	if n == 0 && len(p.Braked) > 0 {
		return findings{"deletions are braked: nothing of them went"}
	}
	return findings{count.Of(n, "problem") + "; the other variants are not affected"}
}

func newApply(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "apply",
		Short: "write one Draft for each variant that changes",
		Long: `Apply writes or updates the Draft branch of every variant that changes. It sends
one atomic push per repository; the server refuses the push if a ref moved since
apply read it. A second apply changes nothing. For Repositories with the
annotation variform.dev/review, apply also keeps the pull requests up to date.`,
		Args: noNames,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.apply(c.Context())
		},
	}
	a.addFleet(c)
	a.addShard(c)
	a.addBuild(c)
	a.addOutput(c, reportFormats...)
	a.addPulls(c)
	c.Flags().IntVar(&a.fleet.maxRefs, "max-refs-per-push", 0, "split pushes into `N` refs each: some forges start no pipelines past a few (default: one push per repository)")
	return c
}

func (a *app) apply(ctx context.Context) error {
	p := a.progress()
	defer p.stop()
	if err := a.checkFlags(); err != nil {
		return err
	}
	in, err := a.load(ctx)
	if err != nil {
		return err
	}
	settled := a.settled(in)
	if again, ok := settled.Again(ctx, in.store); ok {
		return a.replay(sourceOf(ctx, in, again.Fleet), again)
	}
	a.fleet.heads = true
	s, err := a.session(ctx, in, p)
	if err != nil {
		return err
	}
	planAndApply := func(e *reconcile.Engine, ctx context.Context) (plan *reconcile.Plan, err error) {
		plan, s.pulled, err = s.Apply(ctx, func(ctx context.Context) ([]fleet.Pulled, error) {
			list, _, err := a.request(ctx, s, fleet.PullRequests{}) // what could not be read the plan has told
			return list, err
		}, func() { a.printTaken(e, false) }) // what is left there is among the plan's warnings
		return plan, err
	}
	err = a.planned(ctx, s, p, planAndApply, func(s *opening, plan *reconcile.Plan) error {
		if err := a.printPlan(s, plan, true); err != nil || !plan.Settled() || !s.OnlyRefs() || !fleet.Quiet(s.pulled) {
			return err
		}
		said, err := a.printed(s, plan) // as the next run prints it: warnings are known
		if err == nil {
			settled.Put(in.store, said)
		}
		return err
	})
	if bad := a.printUnpulled(s.pulled); bad > 0 && err == nil {
		err = findings{count.Of(bad, "problem") + " with pull requests: what was pushed is there, and the next run goes on"}
	}
	return err
}

func newDiff(a *app) *cobra.Command {
	var against string
	var exitCode bool
	c := &cobra.Command{
		Use:   "diff [NAME...]",
		Short: "show the change file by file",
		Long: `Diff prints what apply would change in each variant's package, as a patch against
its open Draft, its latest Published revision, or its upstream. If you name one
variant, "git apply" accepts the patch in the package's folder. On a terminal,
control characters appear as <U+202E>; elsewhere a comment names the files that
contain invisible characters.`,
		RunE: func(c *cobra.Command, args []string) error {
			if against != "draft" && against != "base" {
				return fmt.Errorf("--against %q: choose draft or base", against)
			}
			a.fleet.only, a.fleet.packages = append(a.fleet.only, args...), true
			a.fleet.preview = true
			return a.plan(c.Context(), (*reconcile.Engine).Plan, func(_ *opening, plan *reconcile.Plan) error {
				if err := a.printDiffs(plan, against); err != nil {
					return err
				}
				a.printFailures(plan, false)
				a.printProblems(plan)
				return pending(plan, exitCode)
			})
		},
	}
	a.addFleet(c)
	a.addShard(c)
	a.addBuild(c)
	a.addSelection(c)
	addExitCode(c, &exitCode)
	c.Flags().StringVar(&against, "against", "draft", "compare with draft (the open Draft, if there is one) or base (the latest Published revision, or the upstream)")
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
		text, err := a.diff(from, i.After)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(a.Out, a.paint(fmt.Sprintf("# %s: %s %s\n%s", i.Identity, i.Action, i.Workspace, text), diffColour)); err != nil {
			return err
		}
	}
	return nil
}

// diff is a change for who reads it: a person at a terminal, or a program.
func (a *app) diff(from, to *krm.Package) (string, error) {
	if !onTerminal(a.Out) {
		return review.Patch(from, to)
	}
	text, err := review.Diff(from, to)
	return review.Visible(text), err
}
