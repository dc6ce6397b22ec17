package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/reconcile"
)

type decideFlags struct {
	pulls   string
	all     bool
	classes []string
	alone   bool
	main    bool
	lost    bool // --accept-lost
	part    decide.Part
}

func newPropose(a *app) *cobra.Command {
	return newDecide(a, decide.Propose, "Propose Drafts for publication",
		`Propose marks Drafts as Proposed, Porch's word for what waits for approval. With
--pull-requests they stay Drafts, and each repository's forge gets pull requests
for them instead: one for each class of identical change (class), for each Draft
(variant), or one for all (repository). They are opened, brought up to date, and
closed where all of a repository is proposed and nothing of them waits any more.
The annotation variform.dev/forge of a Repository says which forge that is; one with
variform.dev/review (class, variant or repository) has apply do that. Merging
one, in any style, publishes what it holds; closing one turns it down until its
Drafts change, or until one of them is named.`)
}

func newApprove(a *app) *cobra.Command {
	return newDecide(a, decide.Approve, "Publish Drafts or Proposed revisions, or carry out a proposed deletion",
		`Approve merges each package into its registered branch and tags it vN, one
atomic push per repository. It refuses a Draft whose variant has moved on since
the last apply, or fails. In deployment repositories it refuses while a
readiness gate is not met. --class ID approves what review showed under that ID
and refuses when any of it has changed since; several (--class A --class B, or
--class A,B) are approved together or not at all. An ID may be shortened, to 4
characters before the @ and 8 after it. Names or -l beside --class, --max and
--percent take a part of it: what is left keeps the part of its ID before the @.
A revision that loses an edit by hand is refused unless one of these IDs, whose
review shows the loss, or --accept-lost approves it.
--main publishes what people committed to the registered branch, of NAMES or all,
as a revision of its own; Drafts stay as they are, and the next apply brings them
up to it.`)
}

func newReject(a *app) *cobra.Command {
	return newDecide(a, decide.Reject, "Return Proposed revisions to Draft, or take back a proposed deletion", "")
}

func newDecide(a *app, d decide.Verb, short, long string) *cobra.Command {
	var f decideFlags
	c := &cobra.Command{
		Use: string(d) + " [NAME...]", Short: short, Long: long,
		RunE: func(c *cobra.Command, args []string) error {
			class := len(f.classes) > 0
			if f.main && (f.all || class || f.part != (decide.Part{}) || a.fleet.labels != "") {
				return fmt.Errorf("%s: --main takes names, or nothing for all: it goes with none of --all, --class, -l, --max and --percent", d)
			}
			if n := len(args); n == 0 && a.fleet.labels == "" && !f.all && !class && !f.main || f.all && (n > 0 || class) || f.part != (decide.Part{}) && !class {
				return fmt.Errorf("%s: give names (variant, repository/package, set, repository, target or package), or --all, labels (-l), or --class ID (with names, -l, --max or --percent for a part of it)", d)
			}
			if class && a.fleet.shard != "" {
				return fmt.Errorf("%s: --class goes without --shard: the ID of a class stands for its members in all shards, and to %[1]s builds nothing", d)
			}
			if err := f.part.Check(); err != nil {
				return fmt.Errorf("%s: %w", d, err)
			}
			for _, name := range []string{"max", "percent"} { // a script that computed 0 must not take all
				if part := c.Flags().Lookup(name); part.Changed && part.Value.String() == "0" {
					return fmt.Errorf("%s: --%s 0 takes nothing: give 1 or more, or leave it out for all", d, name)
				}
			}
			if f.pulls != "" && class {
				return fmt.Errorf("%s: --pull-requests takes names, labels or --all: what each request holds follows from its mode", d)
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
			verdicts, problems, err := f.decide(c.Context(), s.engine, d, sel)
			p.stop()
			if err != nil {
				if errors.Is(err, reconcile.ErrNothing) || errors.Is(err, reconcile.ErrMoved) {
					return findings{err.Error()}
				}
				return err
			}
			err = a.printVerdicts(d, verdicts)
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
		c.Flags().StringSliceVar(&a.fleet.allowKinds, "allow-kind", nil, "as given to apply: what may be injected is an input")
		a.addRenderFlags(c)
		c.Flags().BoolVar(&f.lost, "accept-lost", false, "publish revisions that lose edits by hand, though no --class showed that")
		c.Flags().BoolVar(&f.main, "main", false, "what people committed to the registered branch, each as a revision of its own")
	}
	if d == decide.Propose {
		a.addPulls(c)
		c.Flags().StringVar(&f.pulls, "pull-requests", "", "make pull requests on the repositories' forges, one for each `class`, variant or repository (default: what the annotation variform.dev/review says, else class)")
		c.Flags().Lookup("pull-requests").NoOptDefVal = usualMode
	}
	a.addOutput(c)
	c.Flags().BoolVar(&f.all, "all", false, "all that are open")
	a.addLabels(c)
	c.Flags().IntVar(&f.part.Max, "max", 0, "at most so many of what --class says, the first by name")
	c.Flags().IntVar(&f.part.Percent, "percent", 0, "this part of what --class says, rounded up, the first by name")
	c.Flags().StringSliceVar(&f.classes, "class", nil, "a class of review, exactly as it was shown; several add up")
	return c
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
	req := reconcile.Request{Verb: d, Selection: sel, All: f.all, Alone: f.alone, Part: f.part, AcceptLost: f.lost}
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
}

func (a *app) printVerdicts(d decide.Verb, verdicts []*reconcile.Verdict) error {
	views := make([]verdictView, 0, len(verdicts))
	var rows [][]string
	bad := 0
	for _, v := range verdicts {
		view := verdictView{
			Variant: v.Identity.String(), Namespace: v.Namespace, Workspace: v.Workspace,
			From: string(v.From), To: string(v.To), Revision: v.Number, Commit: v.Commit, Lost: v.Lost,
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
		err = encodeAs(a.Out, a.output, "RevisionList", map[string]any{"revisions": views})
	case "name":
		for _, v := range views {
			if v.Error == "" {
				_, err = fmt.Fprintln(a.Out, v.Variant)
			}
		}
	default:
		err = a.table([]string{"VARIANT", "WORKSPACE", "WAS", "NOW"}, rows)
	}
	if err == nil && bad > 0 {
		return findings{fmt.Sprintf("%d of %s could not be %s", bad, count.Of(len(verdicts), "revision"), map[decide.Verb]string{
			decide.Propose: "proposed", decide.Approve: "approved", decide.Reject: "rejected",
		}[d])}
	}
	return err
}
