package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/check"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
)

type decideFlags struct {
	pulls   string
	all     bool
	classes []string
	alone   bool
	main    bool
	lost    bool // --accept-lost
	edits   bool // --accept-edits
	// unproved is --unproved.
	unproved bool
	exempt   []string // --exempt
	reason   string   // --reason
	part     decide.Part
	rollout  fleet.Waves
}

func newPropose(a *app) *cobra.Command {
	return newDecide(a, decide.Propose, "open pull requests, or mark Drafts as Proposed",
		`Propose marks Drafts as Proposed, as Porch does.

With --pull-requests the Drafts stay Drafts, and propose opens requests on each
repository's forge: one per class of identical change (class), one per Draft
(variant), or one for all (repository). It updates open requests, and closes them
when none of their Drafts waits any more. The Repository's annotation
variform.dev/forge names the forge. With the annotation variform.dev/review (class,
variant or repository), apply does the same. Merging a request publishes its
packages. Closing it rejects the change until a Draft changes or you name a Draft.`)
}

func newApprove(a *app) *cobra.Command {
	return newDecide(a, decide.Approve, "publish Drafts, or carry out a proposed deletion",
		`Approve merges each package into its registered branch and tags it vN, with one
atomic push per repository. It refuses a Draft whose variant fails or whose inputs
changed since the last apply, and, in deployment repositories, a Draft with an unmet
readiness gate.

--class ID approves exactly what review showed under that ID, and refuses if any of
it changed. Several classes (--class A --class B) are approved together or not at
all. You may shorten an ID to 4 characters before the @ and 8 after it. Names, -l,
--max and --percent select a part of a class; the rest keeps the part of its ID
before the @. A revision that loses an edit by hand needs the ID of the class that
showed the loss, or --accept-lost.

Approve builds each revision that this machine has not built. A Draft that holds more
than a build, an edit by hand for example, needs the ID of the class that showed the
edits, or --accept-edits. A revision that cannot be built here needs --unproved.

--rollout STRATEGY publishes nothing yet: it writes rollouts/NAME.yaml into the fleet's
folder, with the waves of that RolloutStrategy. Once the file is committed, "variform
rollout advance" publishes wave after wave.

A Draft that does not validate, for Kubernetes would refuse it, is not published,
except for what was published before. --exempt CHECK --reason TEXT publishes it.

--main publishes what people committed to the registered branch, of NAMES or of
all, as a revision of its own. Drafts do not change; the next apply updates them.`)
}

func newReject(a *app) *cobra.Command {
	return newDecide(a, decide.Reject, "send proposed revisions back to Draft", "Reject returns Proposed revisions to Draft, and cancels a proposed deletion.")
}

func newDecide(a *app, d decide.Verb, short, long string) *cobra.Command {
	var f decideFlags
	c := &cobra.Command{
		Use: string(d) + " [NAME...]", Short: short, Long: long,
		RunE: func(c *cobra.Command, args []string) error {
			class := len(f.classes) > 0
			if err := checkDecide(a, c, d, &f, args); err != nil {
				return err
			}
			sel, err := a.selection(args)
			if err != nil {
				return err
			}
			a.fleet.named = !sel.All() && !class
			p := a.progress()
			defer p.stop()
			a.fleet.heads = f.pulls != ""
			s, err := a.open(c.Context(), p)
			if err != nil {
				return err
			}
			if f.pulls != "" {
				return a.pullRequests(c.Context(), s, f.pulls, sel)
			}
			f.alone = !a.fleet.dependencies
			if f.rollout != (fleet.Waves{}) {
				return approveInWaves(c.Context(), a, s, &f, sel)
			}
			verdicts, problems, err := f.decide(c.Context(), s.engine, d, sel)
			p.stop()
			if err != nil {
				if errors.Is(err, reconcile.ErrNothing) || errors.Is(err, reconcile.ErrMoved) {
					return findings{err.Error()}
				}
				return err
			}
			err = a.printVerdicts(d, s.from(), verdicts)
			for _, p := range problems {
				a.fail("error: %v", p)
			}
			if err == nil && len(problems) > 0 {
				return findings{count.Of(len(problems), "problem") + ": what could not be read was not decided"}
			}
			return err
		},
	}
	a.addFleet(c)
	a.addShard(c)
	if d != decide.Approve {
		a.addDependencies(c)
	} else {
		a.addNeeds(c)
		c.Flags().StringSliceVar(&a.fleet.allowKinds, "allow-kind", nil, "as for apply")
		a.addRenderFlags(c)
		c.Flags().BoolVar(&f.lost, "accept-lost", false, "publish revisions that lose edits by hand, without a --class that showed the loss")
		c.Flags().BoolVar(&f.edits, "accept-edits", false, "publish revisions that hold edits, without a --class that showed them")
		c.Flags().BoolVar(&f.unproved, "unproved", false, "publish revisions that this machine cannot build; the approval and the next review say why")
		c.Flags().StringVar(&f.rollout.Strategy, "rollout", "", "publish --class in waves: write a Rollout with the waves of this `strategy` into the fleet's folder, and publish nothing yet")
		c.Flags().StringVar(&f.rollout.Name, "rollout-name", "", "`name` of the Rollout (default: package, version and strategy)")
		c.Flags().StringVar(&f.rollout.Replaces, "replaces", "", "end this `Rollout` with the new one")
		c.Flags().StringSliceVar(&f.exempt, "exempt", nil, "publish revisions although this `check` found something; repeatable, needs --reason")
		c.Flags().StringVar(&f.reason, "reason", "", "why --exempt is right; the approval and the next review have it")
		c.MarkFlagsRequiredTogether("exempt", "reason")
		_ = c.RegisterFlagCompletionFunc("exempt", cobra.FixedCompletions(check.Names, cobra.ShellCompDirectiveNoFileComp))
		c.Flags().BoolVar(&f.main, "main", false, "publish what people committed to the registered branch, as revisions of their own")
	}
	if d == decide.Propose {
		a.addPulls(c)
		c.Flags().StringVar(&f.pulls, "pull-requests", "", "open pull requests on the repositories' forges: one per `class`, variant or repository (default: the annotation variform.dev/review, else class)")
		c.Flags().Lookup("pull-requests").NoOptDefVal = usualMode
	}
	a.addOutput(c)
	c.Flags().BoolVar(&f.all, "all", false, "all open revisions")
	a.addLabels(c)
	c.Flags().IntVar(&f.part.Max, "max", 0, "at most this many variants of --class, the first by name")
	c.Flags().IntVar(&f.part.Percent, "percent", 0, "this percentage of --class, rounded up, the first by name")
	c.Flags().StringSliceVar(&f.classes, "class", nil, "a class, exactly as review showed it; repeatable")
	return c
}

// checkDecide refuses flags that do not go together.
func checkDecide(a *app, c *cobra.Command, d decide.Verb, f *decideFlags, args []string) error {
	class := len(f.classes) > 0
	if f.main && (f.all || class || f.part != (decide.Part{}) || a.fleet.labels != "") {
		return fmt.Errorf("%s: --main takes names, or nothing for all: it goes with none of --all, --class, -l, --max and --percent", d)
	}
	if n := len(args); n == 0 && a.fleet.labels == "" && !f.all && !class && !f.main || f.all && (n > 0 || class) || f.part != (decide.Part{}) && !class {
		return fmt.Errorf("%s: give names (variant, repository/package, set, repository, target or package), or --all, labels (-l), or --class ID (with names, -l, --max or --percent for a part of it)", d)
	}
	if class && a.fleet.shard != "" {
		return fmt.Errorf("%s: --class cannot be combined with --shard: a class has members in all shards", d)
	}
	if err := f.part.Check(); err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	for _, name := range []string{"max", "percent"} { // a script that computed 0 must not take all
		if part := c.Flags().Lookup(name); part.Changed && part.Value.String() == "0" {
			return fmt.Errorf("%s: --%s 0 takes nothing: give 1 or more, or leave it out for all", d, name)
		}
	}
	for _, name := range f.exempt {
		if !slices.Contains(check.Names, name) {
			return fmt.Errorf("%s: --exempt %q: choose one of %s", d, name, strings.Join(check.Names, ", "))
		}
	}
	if f.rollout != (fleet.Waves{}) && (!class || f.rollout.Strategy == "") {
		return fmt.Errorf("%s: a rollout needs --class ID and --rollout STRATEGY: it binds what review showed", d)
	}
	if f.pulls != "" && class {
		return fmt.Errorf("%s: --pull-requests takes names, labels or --all: what each request holds follows from its mode", d)
	}
	return nil
}

func (f *decideFlags) decide(ctx context.Context, e *reconcile.Engine, d decide.Verb, sel decide.Selection) ([]*reconcile.Verdict, []error, error) {
	if f.main {
		return e.ApproveMain(ctx, sel.Names)
	}
	req, err := f.request(ctx, e, d, sel)
	if err != nil {
		return nil, nil, err
	}
	return e.Decide(ctx, req)
}

func (f *decideFlags) request(ctx context.Context, e *reconcile.Engine, d decide.Verb, sel decide.Selection) (reconcile.Request, error) {
	req := reconcile.Request{Verb: d, Replaces: f.rollout.Replaces, Selection: sel, All: f.all, Alone: f.alone, Part: f.part, AcceptLost: f.lost, AcceptEdits: f.edits, Unproved: f.unproved, Exempt: f.exempt, Reason: f.reason}
	if len(f.classes) == 0 {
		return req, nil
	}
	shown, err := fleet.Show(ctx, e)
	if err != nil {
		return req, err
	}
	req.Expect, err = shown.Classes(d, f.classes...)
	if errors.Is(err, fleet.ErrClass) {
		err = findings{err.Error()}
	}
	return req, err
}

// maxNames is how many names, or ranges of them, stand in one row.
const maxNames = 3

// foldRows makes one row of rows that differ in their first cell alone, names, in a table that
// is not wide.
func (a *app) foldRows(rows [][]string) (out [][]string) {
	if a.output == "wide" {
		return rows
	}
	names := map[string][]string{}
	for _, r := range rows {
		key := fmt.Sprintf("%q", r[1:])
		if names[key] == nil {
			out = append(out, r)
		}
		names[key] = append(names[key], r[0])
	}
	for _, r := range out {
		if all := review.Ranges(names[fmt.Sprintf("%q", r[1:])]); len(all) > maxNames {
			r[0] = fmt.Sprintf("%s, and %d more", all[0], len(all)-1)
		} else {
			r[0] = strings.Join(all, ", ")
		}
	}
	return out
}

// verdictView is a verdict as json and yaml print it.
type verdictView struct {
	Variant   string `json:"variant"`
	Namespace string `json:"namespace"`
	Workspace string `json:"workspace,omitempty"`
	From      string `json:"from"`
	To        string `json:"to,omitempty"`
	Revision  int    `json:"revision,omitempty"`
	Commit    string `json:"commit,omitempty"`
	Error     string `json:"error,omitempty"`
	// Lost are the edits by hand that publishing it loses, or would.
	Lost []decide.LostEdit `json:"lost,omitempty"`
	// Findings are what Kubernetes would refuse, and Exempt the checks from which it was
	// exempted, and why.
	Findings []decide.Finding `json:"findings,omitempty"`
	Exempt   string           `json:"exempt,omitempty"`
}

func (a *app) printVerdicts(d decide.Verb, from review.Source, verdicts []*reconcile.Verdict) error {
	views := make([]verdictView, 0, len(verdicts))
	var rows [][]string
	bad := 0
	for _, v := range verdicts {
		view := verdictView{
			Variant: v.Identity.String(), Namespace: v.Namespace, Workspace: v.Workspace,
			From: string(v.From), To: string(v.To), Revision: v.Number, Commit: v.Commit, Lost: v.Lost, Findings: v.Findings, Exempt: v.Exempt,
		}
		to := cmp.Or(string(v.To), "removed")
		if v.Number > 0 && v.Err == nil {
			to = fmt.Sprintf("%s v%d", to, v.Number)
		}
		if len(v.Lost) > 0 && v.Err == nil {
			to += "; " + decide.Loses(v.Lost)
		}
		if v.Err != nil {
			bad++
			view.Revision = v.Revision
			view.Error, view.To, to = v.Err.Error(), "", "refused: "+v.Err.Error()
		}
		views = append(views, view)
		rows = append(rows, []string{view.Variant, view.Workspace, view.From, to})
	}
	var err error
	switch a.output {
	case "json", "yaml":
		err = encodeAs(a.Out, a.output, "RevisionList", map[string]any{"source": from, "revisions": views})
	case "name":
		for _, v := range views {
			if v.Error == "" {
				_, err = fmt.Fprintln(a.Out, v.Variant)
			}
		}
	default:
		if err = printHead(a, from, count.Of(len(verdicts), "revision")); err == nil {
			err = a.table([]string{"VARIANT", "WORKSPACE", "WAS", "NOW"}, a.foldRows(rows))
		}
	}
	if err == nil && bad > 0 {
		return findings{fmt.Sprintf("%d of %s could not be %s", bad, count.Of(len(verdicts), "revision"), map[decide.Verb]string{
			decide.Propose: "proposed", decide.Approve: "approved", decide.Reject: "rejected",
		}[d])}
	}
	return err
}
