package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/review"
)

// maxMembers is how many members of a class are named without --all-members.
const maxMembers = 5

func folded(members []string) string {
	if more := len(members) - maxMembers; more > 0 {
		members = append(members[:maxMembers:maxMembers], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(members, ", ")
}

// foldedOf is folded of members that may be a set, whole.
func foldedOf(members []string, allOf string) string {
	if set := review.AllOfSet(members, allOf); set != "" {
		return "all of set " + set
	}
	return folded(review.Ranges(members))
}

// reviewFlags say how a review is shown.
type reviewFlags struct {
	members, noDiff, origins, open bool
}

func newReview(a *app) *cobra.Command {
	var f reviewFlags
	c := &cobra.Command{
		Use:   "review [CLASS | NAME...]",
		Short: "read each change once",
		Long: `Review groups the open Drafts and Proposed revisions into classes of identical
change, against the latest Published revision, or against the upstream for a first
Draft. Outliers come first. A class's ID identifies exactly this content: approve
--class ID refuses if anything in the class changed. Select classes by ID (or its
first characters), or by names of variants, sets, repositories or packages, labels
and --since; review shows each selected class whole. -o html writes one page.`,
		RunE: func(c *cobra.Command, args []string) error { return a.review(c.Context(), &f, args) },
	}
	a.addFleet(c)
	a.addShard(c)
	a.addOutput(c, markdownFormat, htmlFormat)
	a.addSelection(c)
	a.addNeeds(c)
	a.addRenderFlags(c)
	c.Flags().StringSliceVar(&a.fleet.allowKinds, "allow-kind", nil, "as for apply, for --origins")
	c.Flags().BoolVar(&f.members, "all-members", false, "list every member of each class")
	c.Flags().BoolVar(&f.noDiff, "no-diff", false, "omit the example diffs")
	c.Flags().BoolVar(&f.origins, "origins", false, "rebuild the examples and show where their values come from")
	c.Flags().BoolVar(&f.open, "open", false, "write the page (-o html) to a temporary file and open it in the browser")
	return c
}

func (a *app) review(ctx context.Context, f *reviewFlags, args []string) error {
	if f.open {
		a.output = htmlFormat
	}
	a.fleet.blame, a.fleet.preview = f.origins, f.origins
	sel, err := a.selection(args)
	if err != nil {
		return err
	}
	if a.fleet.shard != "" && !sel.All() {
		return errors.New("review: --shard shows all that is open in it: a class that is chosen by name, label or time may have members in other shards, so join what all shards show (variform report join), or leave out --shard")
	}
	s, shown, report, err := a.shown(ctx, sel, f.origins)
	if err != nil {
		return err
	}
	part := a.part(s, f.noDiff, f.origins)
	if part != nil {
		part.Notes = shown.Notes(report.Classes)
		if part.Classes, err = shown.Parts(); err != nil {
			return err
		}
	}
	if f.noDiff {
		part.withoutDiffs()
		for i := range report.Classes {
			report.Classes[i].Diff = ""
		}
	}
	view := reviewView{s.from(), report, shown.Findings(report.Classes), part}
	if f.open {
		err = a.browse(ctx, func() error { return a.printReview(view, f.members) })
	} else {
		err = a.printReview(view, f.members)
	}
	if err != nil {
		return err
	}
	for i := range view.Findings {
		f := &view.Findings[i]
		a.note("warning: %s: %s", folded(f.Members), f.Message)
	}
	for _, p := range shown.Problems {
		a.fail("error: %v", p)
	}
	if len(shown.Problems) > 0 {
		return findings{count.Of(len(shown.Problems), "problem") + ": the report is not complete"}
	}
	return nil
}

// shown reads what is open, and what of it is meant.
func (a *app) shown(ctx context.Context, sel decide.Selection, origins bool) (*opening, *fleet.Shown, *review.Report, error) {
	p := a.progress()
	defer p.stop()
	s, err := a.open(ctx, p)
	if err != nil {
		return nil, nil, nil, err
	}
	shown, err := fleet.Show(ctx, s.engine)
	if err != nil {
		return nil, nil, nil, err
	}
	report, err := shown.Select(sel)
	if err != nil || !origins {
		return s, shown, report, err
	}
	if err := shown.Explain(ctx, s.engine, report.Classes); err != nil {
		return nil, nil, nil, err
	}
	report, err = shown.Select(sel)
	return s, shown, report, err
}

// reviewView is a review as json and yaml print it. Its fields are a contract.
type reviewView struct {
	Source review.Source `json:"source,omitzero"`
	*review.Report
	Findings []review.Finding `json:"findings,omitempty"`
	Shard    *shardView       `json:"shard,omitempty"`
}

func (a *app) printReview(r reviewView, all bool) error {
	switch a.output {
	case "json", "yaml":
		return encodeAs(a.Out, a.output, "Review", r)
	case markdownFormat, htmlFormat:
		return a.printDigest(&review.Digest{Command: "review", Source: r.Source, Summary: r.Summary, Changes: r.Report, Findings: r.Findings})
	case "name":
		for _, c := range r.Classes {
			if _, err := fmt.Fprintln(a.Out, c.ID); err != nil {
				return err
			}
		}
		return nil
	}
	var b strings.Builder
	if len(r.Packages) == 1 { // its summary is what happens
		linef(&b, "%s", headline(r.Source, count.Of(r.Variants, "variant")+" in "+count.Of(len(r.Classes), "class", "classes")))
		linef(&b, "%s", r.Summary)
	} else {
		linef(&b, "%s", headline(r.Source, r.Summary))
	}
	index(&b, r.Classes)
	printMarks(&b, r.Marks)
	for n, c := range r.Classes {
		if n == 0 || r.Classes[n-1].Diff != "" { // lines below a class are indented
			b.WriteByte('\n')
		}
		linef(&b, "class %s  %s  %s", c.ID, count.Of(len(c.Members), "variant"), c.Headline())
		names := foldedOf(c.Members, c.AllOf)
		if all || a.output == "wide" {
			names = strings.Join(c.Members, ", ")
		}
		linef(&b, "  %s", names)
		for _, m := range c.Marks {
			if m.Kind == review.Lost {
				printMark(&b, "  ", m)
			}
		}
		a.printValues(&b, &c)
		if c.Diff != "" {
			linef(&b, "  example: %s", c.Example)
			for line := range strings.Lines(c.Diff) {
				b.WriteString("    " + line)
			}
		}
	}
	b.WriteString(a.fleet.next(r.Classes))
	return a.write(b.String(), reviewColour)
}

// maxHeadline is how much of a class's headline fits the index of a review.
const maxHeadline = 52

// index lists the classes of a review that has several.
func index(b *strings.Builder, classes []review.Class) {
	if len(classes) < 2 {
		return
	}
	var rows [][]string
	for i, c := range classes {
		var look []string
		for _, m := range c.Marks {
			if kind := string(m.Kind); !slices.Contains(look, kind) {
				look = append(look, kind)
			}
		}
		mark := " "
		if len(look) > 0 {
			mark = "! " + strings.Join(look, ", ")
		}
		rows = append(rows, []string{fmt.Sprint(i + 1), fmt.Sprint(len(c.Members)), shortened(c.Headline(), maxHeadline), mark})
	}
	b.WriteByte('\n')
	_ = table(b, []string{"#", "VARIANTS", "CHANGE", "LOOK AT"}, rows) // a Builder takes all
}

// next returns the command that approves the first class. The IDs of the others are above it.
func (f *fleetFlags) next(classes []review.Class) string {
	if len(classes) == 0 {
		return ""
	}
	return fmt.Sprintf("next: %s    # %s of %s\n", f.command("approve --class "+classes[0].ID), count.Of(len(classes[0].Members), "variant"), classes[0].Package)
}

// maxValues is how many fields of a class are told in a review that fits a screen, and
// maxWithOutliers of one that has something to look at among its values.
const (
	maxValues       = 2
	maxWithOutliers = 3
)

// printValues writes the fields that differ between members, those that are read first
// and, in a table that is no program's and not wide, no others.
func (a *app) printValues(b *strings.Builder, c *review.Class) {
	most := maxValues
	if slices.ContainsFunc(c.Marks, func(m review.Mark) bool { return m.Kind == review.Outlier }) {
		most = maxWithOutliers
	}
	for i, v := range c.Values {
		rest := len(c.Values) - i - 1
		last := a.output != "wide" && rest > 0 && (i == most-1 || c.Values[i+1].Minor && rest > 1)
		if last {
			linef(b, "  %s: %s; and %s (-o wide lists them)", v.Where(), v, count.Of(rest, "more field"))
			return
		}
		linef(b, "  %s: %s", v.Where(), v)
	}
}

// maxMarks is how many lines stand at the head of a review.
const maxMarks = 15

// printMarks writes what to look at first, before any class.
func printMarks(b *strings.Builder, marks []review.Mark) {
	for i, m := range marks {
		if i == maxMarks && len(marks) > maxMarks+1 {
			fmt.Fprintf(b, "! and %d more: the classes tell\n", len(marks)-i)
			return
		}
		printMark(b, "", m)
	}
}

func printMark(b *strings.Builder, indent string, m review.Mark) {
	names := foldedOf(m.Members, m.AllOf)
	if m.AllOf == "" && (m.Kind == review.Lost || m.Kind == review.ByHand) {
		names = strings.Join(m.Members, ", ")
	}
	text := m.Text
	if m.Kind == review.Outlier {
		text = "outlier: " + text
	}
	linef(b, "%s! %s: %s", indent, text, names)
}
