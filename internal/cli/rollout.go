package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/reconcile"
)

// errWaiting ends a command with status 3: nothing failed, and a rollout goes on later.
var errWaiting = errors.New("a rollout waits")

// approveInWaves writes an approval as a Rollout.
func approveInWaves(ctx context.Context, a *app, s *opening, f *decideFlags, sel decide.Selection) error {
	req, err := f.request(ctx, s.engine, decide.Approve, sel)
	if err != nil {
		return err
	}
	r, file, err := fleet.WriteRollout(ctx, s.files, s.fleet, s.engine, req, f.classes, f.rollout)
	s.progress.stop()
	if errors.Is(err, reconcile.ErrNothing) || errors.Is(err, reconcile.ErrMoved) {
		return findings{err.Error()}
	}
	if err != nil {
		return err
	}
	drafts, in := 0, map[string]int{}
	for _, m := range r.Spec.Members {
		drafts, in[m.Wave] = drafts+len(m.Packages), in[m.Wave]+1
	}
	var waves, gates []string
	for _, w := range r.Spec.Strategy.Waves {
		waves = append(waves, fmt.Sprintf("%s %d", w.Name, in[w.Name]))
	}
	for _, g := range r.Spec.Strategy.Gates {
		gates = append(gates, gateText(g))
	}
	text := fmt.Sprintf("approved for rollout %s: %s in %s\n  %s\n", r.Name, count.Of(drafts, "Draft"), count.Of(len(waves), "wave"), strings.Join(waves, " · "))
	if len(gates) > 0 {
		text += "  gates: " + strings.Join(gates, " · ") + "\n"
	}
	_, err = fmt.Fprintf(a.Out, "%swrote %s\n\nnext: commit that file. %s then publishes wave after wave.\n", text, filepath.ToSlash(file), a.fleet.command("rollout advance"))
	return err
}

func gateText(g v1alpha1.RolloutGate) string {
	switch {
	case g.Calendar != nil:
		return strings.TrimSpace(g.Calendar.Allow + " " + g.Calendar.TimeZone)
	case g.Manual != nil:
		return "a person after " + g.Manual.After
	}
	return "soak " + g.Soak
}

func newRollout(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "rollout",
		Short: "advance, pause, resume, stop or roll back a rollout",
		Long: `A Rollout is one approval that is published in waves. "variform approve --rollout"
writes it as a file of the fleet, and advance publishes it as the gates of its strategy
allow. Run advance from cron or CI: it does what can be done now, and ends.

Exit status: 0 nothing more to do, 1 a member or a rollout needs a person, 3 a rollout
waits.`,
		Example: `  variform rollout advance -f fleet
  variform rollout status -f fleet web-1.4-prod
  variform rollout stop -f fleet web-1.4-prod c017`,
	}
	run := func(use, short, long string, act func(context.Context, *reconcile.Engine, []string) ([]*decide.RolloutReport, []*reconcile.Verdict, []error, error)) *cobra.Command {
		sub := &cobra.Command{
			Use: use + " [NAME...]", Short: short, Long: long,
			RunE: func(c *cobra.Command, names []string) error { return runRollouts(c.Context(), a, names, act) },
		}
		a.addFleet(sub)
		a.addNeeds(sub)
		a.addRenderFlags(sub)
		a.addFormats(sub, "table", []string{"table", "json", "yaml"})
		return sub
	}
	c.AddCommand(
		run("advance", "publish what the gates allow now", `Advance publishes the members of each open wave, dependencies first, and the lock that is
true then with the same push. It makes the same checks as approve, except for the freshness of
inputs: the Rollout binds the content that was approved. A hotfix on the registered
branch is kept if the approved change stays the same with it.`, reconcile.Advance),
		run("status", "show where rollouts are, and what they wait for", "Status reads and publishes nothing.",
			func(ctx context.Context, e *reconcile.Engine, names []string) ([]*decide.RolloutReport, []*reconcile.Verdict, []error, error) {
				list, problems, err := reconcile.Rollouts(ctx, e, names)
				return list, nil, problems, err
			}),
		changeCommand(a, "pause", "publish nothing until resume", func(r *v1alpha1.Rollout, _ []string) { r.Spec.Paused = true }),
		newResume(a), newStop(a), newRollback(a),
	)
	return c
}

// rolloutView is a Rollout as json and yaml print it.
type rolloutView struct {
	Name    string               `json:"name"`
	State   string               `json:"state"`
	Message string               `json:"message"`
	Waves   []decide.RolloutWave `json:"waves"`
	Members []memberView         `json:"members"`
}

type memberView struct {
	Target  string `json:"target"`
	Wave    string `json:"wave"`
	State   string `json:"state"`
	Message string `json:"message,omitempty"`
}

func runRollouts(ctx context.Context, a *app, names []string, act func(context.Context, *reconcile.Engine, []string) ([]*decide.RolloutReport, []*reconcile.Verdict, []error, error)) error {
	p := a.progress()
	defer p.stop()
	s, err := a.open(ctx, p)
	if err != nil {
		return err
	}
	list, published, problems, err := act(ctx, s.engine, names)
	p.stop()
	for _, p := range problems {
		a.fail("error: %v", p)
	}
	if errors.Is(err, reconcile.ErrNothing) {
		return findings{err.Error()}
	}
	if err != nil {
		return err
	}
	if a.output != "table" {
		err = encodeAs(a.Out, a.output, "RolloutList", map[string]any{"source": s.from(), "rollouts": rolloutViews(list)})
	} else {
		err = printHead(a, s.from(), count.Of(len(list), "rollout"))
		for _, v := range published {
			if err == nil {
				_, err = fmt.Fprintf(a.Out, "published %s v%d\n", v.Identity, v.Number)
			}
		}
		if err == nil {
			err = printRollouts(a, list, true)
		}
	}
	if err != nil {
		return err
	}
	return rolloutsEnd(list, len(problems))
}

func rolloutViews(list []*decide.RolloutReport) []rolloutView {
	views := []rolloutView{}
	for _, r := range list {
		v := rolloutView{Name: r.Name, State: r.State, Message: r.Message, Waves: r.Waves}
		for _, m := range r.Members {
			v.Members = append(v.Members, memberView{m.Target, m.Wave, m.State, m.Why})
		}
		views = append(views, v)
	}
	return views
}

// rolloutsEnd is how a command ends that shows rollouts.
func rolloutsEnd(list []*decide.RolloutReport, problems int) error {
	waits := false
	for _, r := range list {
		waits = waits || r.Waits()
		stopped := slices.ContainsFunc(r.Members, func(m *decide.RolloutMember) bool { return m.Why != "" })
		if r.State == decide.RolloutBlocked || r.Active() && stopped {
			problems++
		}
	}
	switch {
	case problems > 0:
		return findings{count.Of(problems, "problem") + " with rollouts"}
	case waits:
		return errWaiting
	}
	return nil
}

// printRollouts prints a line for each Rollout and, with members, one for each that does not go
// on; those that are over where all is set.
func printRollouts(a *app, list []*decide.RolloutReport, all bool) error {
	var rows [][]string
	for _, r := range list {
		if all || r.Active() {
			rows = append(rows, []string{r.Name, r.State, r.Message})
		}
	}
	if len(rows) == 0 {
		if !all {
			return nil
		}
		_, err := fmt.Fprintln(a.Out, "no rollouts")
		return err
	}
	if !all {
		if _, err := fmt.Fprintln(a.Out); err != nil {
			return err
		}
	}
	if err := a.table([]string{"ROLLOUT", "STATE", "WHERE"}, rows); err != nil {
		return err
	}
	for _, r := range list {
		for _, m := range r.Members {
			if m.Why != "" && r.Active() {
				a.fail("%s: %s is %s: %s", r.Name, m.Target, m.State, m.Why)
			}
		}
	}
	return nil
}

// changeRollout changes the file of a Rollout, and prints what to do then.
func changeRollout(ctx context.Context, a *app, name string, change func(*v1alpha1.Rollout) error) error {
	in, err := a.load(ctx)
	if err != nil {
		return err
	}
	f, err := in.files.Fleet(ctx)
	if err != nil {
		return err
	}
	if err := fleet.ChangeRollout(in.files, f, name, change); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "changed rollout %s\n\nnext: commit its file.\n", name)
	return err
}

func changeCommand(a *app, use, short string, change func(*v1alpha1.Rollout, []string)) *cobra.Command {
	c := &cobra.Command{
		Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1),
		Long: strings.ToUpper(use[:1]) + use[1:] + " changes the file of the Rollout. It takes effect once advance reads it.",
		RunE: func(c *cobra.Command, args []string) error {
			return changeRollout(c.Context(), a, args[0], func(r *v1alpha1.Rollout) error {
				change(r, args[1:])
				return nil
			})
		},
	}
	a.addFleet(c)
	return c
}

func newResume(a *app) *cobra.Command {
	var after string
	c := changeCommand(a, "resume", "go on, or pass a manual gate", func(r *v1alpha1.Rollout, _ []string) {
		if r.Spec.Paused = false; after != "" && !slices.Contains(r.Spec.Passed, after) {
			r.Spec.Passed = append(r.Spec.Passed, after)
		}
	})
	c.Flags().StringVar(&after, "after", "", "pass the manual gate after this `wave`")
	return c
}

func newStop(a *app) *cobra.Command {
	c := changeCommand(a, "stop", "end a rollout, or take targets out of it", func(r *v1alpha1.Rollout, targets []string) {
		if len(targets) == 0 {
			r.Spec.Stopped = true
		}
		for _, t := range targets {
			if !slices.Contains(r.Spec.Except, t) {
				r.Spec.Except = append(r.Spec.Except, t)
			}
		}
	})
	c.Use, c.Args = "stop NAME [TARGET...]", cobra.MinimumNArgs(1)
	c.Long = `Stop ends a Rollout, or takes TARGETs out of it: it publishes nothing of them any more.
The next apply updates their Drafts, which are then reviewed and approved by themselves.
What was published stays.`
	return c
}

func newRollback(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "rollback NAME WAVE", Short: "pause, and draft what a wave had before", Args: cobra.ExactArgs(2),
		Long: `Rollback pauses the Rollout, and writes Drafts with the content that each published
member of WAVE had before. Review and approve them like any Draft.`,
	}
	a.addSaying(c)
	c.Flags().StringSliceVar(&a.fleet.allowKinds, "allow-kind", nil, "as given to apply: what may be injected is an input")
	a.addRenderFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		before := map[int][]string{}
		err := changeRollout(c.Context(), a, args[0], func(r *v1alpha1.Rollout) error {
			r.Spec.Paused = true
			s, err := a.open(c.Context(), a.progress())
			if err == nil {
				before, err = reconcile.Before(c.Context(), s.engine, args[0], args[1])
			}
			return err
		})
		for n, names := range before {
			if err == nil {
				err = a.say(c, names, func(e *reconcile.Engine, ctx context.Context) ([]*reconcile.Said, []error, error) {
					return e.Revert(ctx, names, n)
				})
			}
		}
		return err
	}
	return c
}
