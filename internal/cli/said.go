package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/reconcile"
)

func newHold(a *app) *cobra.Command {
	var reason string
	var off bool
	c := &cobra.Command{
		Use:   "hold NAME...",
		Short: "Leave packages as they are until the hold is taken off",
		Long: `A package that is held is neither drafted, published nor removed: plan and
status say who holds it and why. NAMES are variants, repository/package, sets,
repositories, targets or packages. The record of the repository keeps the hold.`,
		Example: "  variform hold -f fleet c1/web --reason 'incident 12'\n  variform hold -f fleet c1/web --off",
		RunE: func(c *cobra.Command, names []string) error {
			switch {
			case off && reason != "":
				return errors.New("hold: give --reason or --off, not both")
			case !off && reason == "":
				return errors.New("hold: say why with --reason")
			}
			return a.say(c, names, func(e *reconcile.Engine, ctx context.Context) ([]*reconcile.Said, []error, error) {
				if off {
					return e.Unhold(ctx, names)
				}
				return e.Hold(ctx, names, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for all who read plan and status")
	c.Flags().BoolVar(&off, "off", false, "take the hold off")
	a.addSaying(c)
	return c
}

func newDiscard(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "discard NAME...",
		Short: "Remove open Drafts, and make none of the same inputs again",
		Long: `The open Draft of a package goes, edits and all. apply makes none again until
what goes into it has changed, or --retry asks for it; plan and status say who
discarded it and why. The record of the repository keeps that. Of several open
ones, as beside a revert, say which: NAMES may be those of Drafts too.`,
		Example: "  variform discard -f fleet c1/web --reason 'not this version'\n  variform apply -f fleet --retry c1/web",
		RunE: func(c *cobra.Command, names []string) error {
			if reason == "" {
				return errors.New("discard: say why with --reason")
			}
			return a.say(c, names, func(e *reconcile.Engine, ctx context.Context) ([]*reconcile.Said, []error, error) {
				return e.Discard(ctx, names, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for all who read plan and status")
	a.addSaying(c)
	return c
}

func newRevert(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "revert NAME vN",
		Short: "Draft what a Published revision held",
		Long: `The Draft holds what revision vN held, to the byte, and is reviewed and approved
like any other. What it takes back is not drafted again until what goes into the
package changes, or apply --retry asks for it. NAME is a variant,
repository/package, a set, a repository, a target or a package.`,
		Example: "  variform revert -f fleet c1/web v1\n  variform approve -f fleet c1/web",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("revert: give a name and a Published revision, such as \"revert c1/web v1\"")
			}
			n, err := strconv.Atoi(strings.TrimPrefix(args[1], "v"))
			if err != nil || n <= 0 {
				return fmt.Errorf("revert: %q is no Published revision: give vN", args[1])
			}
			return a.say(c, args[:1], func(e *reconcile.Engine, ctx context.Context) ([]*reconcile.Said, []error, error) {
				return e.Revert(ctx, args[:1], n)
			})
		},
	}
	a.addSaying(c)
	c.Flags().StringSliceVar(&a.fleet.allowKinds, "allow-kind", nil, "as given to apply: what may be injected is an input")
	a.addRenderFlags(c)
	return c
}

func (a *app) addSaying(c *cobra.Command) {
	a.addFleet(c)
	a.addDependencies(c)
	a.addOutput(c)
}

// saidView is what json and yaml print.
type saidView struct {
	Variant   string `json:"variant"`
	Namespace string `json:"namespace"`
	Now       string `json:"now,omitempty"`
	Error     string `json:"error,omitempty"`
}

// say records what a person says of packages, and prints what became of it.
func (a *app) say(c *cobra.Command, names []string, run func(*reconcile.Engine, context.Context) ([]*reconcile.Said, []error, error)) error {
	if len(names) == 0 {
		return fmt.Errorf("%s: give names (variant, repository/package, set, repository, target or package)", c.Name())
	}
	p := a.progress()
	defer p.stop()
	s, err := a.open(c.Context(), p)
	if err != nil {
		return err
	}
	list, problems, err := run(s.engine, c.Context())
	p.stop()
	for _, p := range problems {
		a.fail("error: %v", p)
	}
	if err != nil {
		return err
	}
	views, rows, bad := []saidView{}, [][]string{}, len(problems)
	for _, said := range list {
		v := saidView{Variant: said.Identity.String(), Namespace: said.Namespace, Now: said.Now}
		now := v.Now
		if said.Err != nil {
			bad++
			v.Now, v.Error, now = "", said.Err.Error(), "refused: "+said.Err.Error()
		}
		views, rows = append(views, v), append(rows, []string{v.Variant, now})
	}
	switch a.output {
	case "json", "yaml":
		err = encodeAs(a.Out, a.output, "VariantList", map[string]any{"variants": views})
	case "name":
		for _, v := range views {
			if v.Error == "" {
				_, err = fmt.Fprintln(a.Out, v.Variant)
			}
		}
	default:
		err = a.table([]string{"VARIANT", "NOW"}, rows)
	}
	if err == nil && bad > 0 {
		err = findings{count.Of(bad, "problem")}
	}
	return err
}
