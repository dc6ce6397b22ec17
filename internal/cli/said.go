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
		Short: "leave packages as they are until you release them",
		Long: `Variform neither drafts, publishes nor removes a held package. Plan and status show
who holds it, and why. NAMES are variants, repository/package, sets, repositories,
targets or packages. The repository's record stores the hold.`,
		Example: "  variform hold -f fleet c1/web --reason 'incident 12'\n  variform hold -f fleet c1/web --off",
		RunE: func(c *cobra.Command, names []string) error {
			switch {
			case off && reason != "":
				return errors.New("hold: give --reason or --off, not both")
			case !off && reason == "":
				return errors.New("hold: give the reason with --reason TEXT")
			}
			return a.say(c, names, func(e *reconcile.Engine, ctx context.Context) ([]*reconcile.Said, []error, error) {
				if off {
					return e.Unhold(ctx, names)
				}
				return e.Hold(ctx, names, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason, which plan and status show")
	c.Flags().BoolVar(&off, "off", false, "release the packages")
	a.addSaying(c)
	return c
}

func newDiscard(a *app) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "discard NAME...",
		Short: "drop Drafts for good",
		Long: `Discard removes a package's open Draft with its edits. Apply creates the Draft again
only if an input of the package changes, or with --retry. Plan and status show who
discarded it, and why. The repository's record stores that. If a package has several
Drafts, name the Draft.`,
		Example: "  variform discard -f fleet c1/web --reason 'not this version'\n  variform apply -f fleet --retry c1/web",
		RunE: func(c *cobra.Command, names []string) error {
			if reason == "" {
				return errors.New("discard: give the reason with --reason TEXT")
			}
			return a.say(c, names, func(e *reconcile.Engine, ctx context.Context) ([]*reconcile.Said, []error, error) {
				return e.Discard(ctx, names, reason)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason, which plan and status show")
	a.addSaying(c)
	return c
}

func newRevert(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "revert NAME vN",
		Short: "draft an earlier revision",
		Long: `Revert writes a Draft with exactly the content of revision vN. You review and approve
it like any Draft. Apply drafts the reverted version again only if an input of the
package changes, or with --retry. NAME is a variant, repository/package, a set, a
repository, a target or a package.`,
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
		err = encodeAs(a.Out, a.output, "VariantList", map[string]any{"source": s.from(), "variants": views})
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
