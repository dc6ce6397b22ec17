package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
)

func newEdits(a *app) *cobra.Command {
	var lost bool
	var drop []string
	c := &cobra.Command{
		Use:   "edits [NAMES]",
		Short: "list what people changed by hand; keep or drop it",
		Long: `Edits lists everything that differs from what variform built: on the registered
branch of each package, and in its open Drafts. NAMES are variants,
repository/package, sets, repositories, targets or packages; without names, edits
lists the whole fleet. Updates keep these edits; --lost lists the edits that an update
lost.

"edits keep" drafts a variant again with people's edits where an update would replace
them, "edits drop" without them.`,
		Example: "  variform edits -f fleet\n  variform edits -f fleet cluster-1/web -o json\n  variform edits -f fleet --lost\n  variform edits keep cluster-1/web -f fleet\n  variform edits drop cluster-1/web --edit spec.replicas -f fleet",
		RunE: func(c *cobra.Command, names []string) error {
			switch {
			case lost && len(drop) > 0:
				return errors.New("edits: give --lost or --drop, not both")
			case len(drop) > 0 && len(names) == 0:
				return errors.New("edits: give the names of whose edits --drop takes back")
			case len(drop) > 0:
				return a.dropEdits(c.Context(), names, drop)
			}
			p := a.progress()
			defer p.stop()
			s, err := a.open(c.Context(), p)
			if err != nil {
				return err
			}
			edits := s.engine.Edits
			if lost {
				edits = s.engine.LostEdits
			}
			list, problems, err := edits(c.Context(), names)
			p.stop()
			if err != nil {
				return err
			}
			if err := a.printEdits(s.from(), list); err != nil {
				return err
			}
			for _, problem := range problems {
				a.fail("error: %v", problem)
			}
			if len(problems) > 0 {
				return findings{count.Of(len(problems), "problem")}
			}
			return nil
		},
	}
	c.AddCommand(newKeepEdits(a), newDropEdits(a))
	a.addRedraft(c)
	c.Flags().StringArrayVar(&drop, "drop", nil, "as edits drop --edit `EDIT`")
	_ = c.Flags().MarkHidden("drop")
	c.Flags().BoolVar(&lost, "lost", false, "list the edits that updates lost, with their authors, from the commits of open and latest revisions")
	return c
}

func newKeepEdits(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "keep NAMES",
		Short: "draft variants again with people's edits",
		Long: `Keep makes the open Drafts of these variants again. Where the update and a person
changed the same, the person's value stands, in this Draft and in those after it. Keep
writes the Drafts; you review and approve them. To keep all edits of a variant or set
in each update, give it the annotation variform.dev/on-conflict: keep.`,
		Example: "  variform edits keep cluster-1/web -f fleet",
		Args:    someNames,
		RunE: func(c *cobra.Command, names []string) error {
			return a.redraft(c.Context(), func(e *reconcile.Engine, ctx context.Context) (*reconcile.Plan, error) {
				return reconcile.PlanKeeping(ctx, e, names)
			})
		},
	}
	a.addRedraft(c)
	return c
}

func newDropEdits(a *app) *cobra.Command {
	var edits []string
	c := &cobra.Command{
		Use:   "drop NAMES",
		Short: "draft variants again without people's edits",
		Long: `Drop creates a Draft without the edits of these variants, or adds a commit to the open
Draft. With --edit, only these edits go, and variants without such an edit do not
change. EDIT is the text that "variform edits" shows after the operation; a field, a
resource or a file is enough if only one edit concerns it. An edit that the variant or
its pipeline would make again, or in a held package, is not dropped; the message names
what to change.`,
		Example: "  variform edits drop cluster-1/web -f fleet\n  variform edits drop cluster-1/web --edit spec.replicas -f fleet",
		Args:    someNames,
		RunE:    func(c *cobra.Command, names []string) error { return a.dropEdits(c.Context(), names, edits) },
	}
	a.addRedraft(c)
	c.Flags().StringArrayVar(&edits, "edit", nil, "drop only this `EDIT`; repeatable")
	return c
}

// someNames refuses a command without names.
func someNames(c *cobra.Command, names []string) error {
	if len(names) == 0 {
		return fmt.Errorf("%s: give the names of variants, sets, repositories, targets or packages", c.CommandPath())
	}
	return nil
}

func (a *app) addRedraft(c *cobra.Command) {
	a.addFleet(c)
	a.addNeeds(c)
	a.addRenderFlags(c)
	a.addOutput(c)
}

// dropEdits plans and applies packages without some of their edits.
func (a *app) dropEdits(ctx context.Context, names, drop []string) error {
	return a.redraft(ctx, func(e *reconcile.Engine, ctx context.Context) (*reconcile.Plan, error) {
		return e.PlanWithout(ctx, names, drop)
	})
}

// redraft applies a plan of some packages.
func (a *app) redraft(ctx context.Context, planOf func(*reconcile.Engine, context.Context) (*reconcile.Plan, error)) error {
	planAndApply := func(e *reconcile.Engine, ctx context.Context) (*reconcile.Plan, error) {
		plan, err := planOf(e, ctx)
		if err != nil {
			return nil, err
		}
		return plan, e.Apply(ctx, plan)
	}
	return a.plan(ctx, planAndApply, func(s *opening, plan *reconcile.Plan) error { return a.printPlan(s, plan, true) })
}

func (a *app) printEdits(from review.Source, list []*reconcile.Edited) error {
	edits := 0
	for _, e := range list {
		edits += len(e.Edits) + len(e.Lost)
	}
	switch a.output {
	case "json", "yaml":
		if list == nil {
			list = []*reconcile.Edited{}
		}
		return encodeAs(a.Out, a.output, "EditList", map[string]any{"source": from, "edits": edits, "revisions": list})
	case "name":
		for _, e := range list {
			if _, err := fmt.Fprintln(a.Out, e.Variant, e.Revision); err != nil {
				return err
			}
		}
		return nil
	}
	var rows [][]string
	for _, e := range list {
		if e.Unknown != "" {
			rows = append(rows, []string{e.Variant, e.Revision, "-", e.Unknown, "", "", e.By})
		}
		for _, text := range e.Lost {
			rows = append(rows, []string{e.Variant, e.Revision, "", "lost by " + short(e.Commit), text, "", ""})
		}
		for _, edit := range e.Edits {
			where := edit.Field
			if edit.Resource != "" {
				where = edit.Resource
				if edit.Field != "" {
					where += " " + edit.Field
				}
			}
			file := edit.File
			if edit.Line > 0 {
				file = fmt.Sprintf("%s:%d", file, edit.Line)
			}
			rows = append(rows, []string{
				e.Variant, e.Revision, file, edit.Verb() + " " + where,
				edit.Before, edit.After, edit.By,
			})
		}
	}
	if err := a.table([]string{"VARIANT", "ON", "FILE", "EDIT", "MADE", "NOW", "BY"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.Out, "%s in %s\n", count.Of(edits, "edit"), count.Of(len(list), "revision"))
	return err
}
