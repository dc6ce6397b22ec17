package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/provenance"
	"github.com/variform/variform/internal/reconcile"
)

// newPlaces is fleet.NewPlaces where a variable hides the package.
var newPlaces = fleet.NewPlaces

// annotatedFormat prints a file, each line with its origin.
const annotatedFormat = "annotated"

func newBlame(a *app) *cobra.Command {
	var all bool
	var field string
	var since bool
	c := &cobra.Command{
		Use:   "blame PACKAGE [FILE | Kind/name[:field]]",
		Short: "show where each value comes from",
		Long: `Blame builds a package from its current inputs, with people's edits, and shows where
each value comes from: the upstream, a field or expression of a set, a context
object, another package's output, a function, or an edit by hand with its author. It
writes nothing.

PACKAGE is repository/package or a variant. By default blame lists the values that
differ from the upstream, and counts the rest. A FILE is printed with the origin of
each line.

--field with --all, or with names of a set, a repository or a package in place of
PACKAGE, compares one field over the fleet: each value, how many variants have it,
which ones, and where it comes from.

--since names the commit that brought an input's line into the fleet, with its author
and day, and whether that was after the package's last approval.`,
		Example: "  variform blame -f fleet c1/web\n  variform blame -f fleet c1/web deploy.yaml\n  variform blame -f fleet c1/web Deployment/web:spec.replicas -o json\n  variform blame -f fleet --all --field Deployment/web:spec.replicas",
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case field != "":
				if len(args) == 0 && !all {
					return errors.New("blame: give names, or --all for the whole fleet")
				}
				return a.blameField(c.Context(), args, field, since)
			case all:
				return errors.New("blame: --all needs --field: one field is compared over the fleet")
			case len(args) == 0 || len(args) > 2:
				return errors.New("blame: give a package, and a file, resource or field of it")
			}
			return a.blameOne(c.Context(), args[0], strings.Join(args[1:], ""), since)
		},
	}
	a.addBlame(c)
	a.addOutput(c, annotatedFormat)
	c.Flags().BoolVar(&all, "all", false, "with --field: compare over the whole fleet")
	c.Flags().StringVar(&field, "field", "", "compare this `field`, as Kind/name:path, over several packages")
	c.Flags().BoolVar(&since, "since", false, "name the commit and author of each input's line in the fleet's history")
	return c
}

func newImpact(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "impact FILE[:LINE]",
		Short: "show which fields an input or one of its lines sets",
		Long: `Impact lists the fields of all variants that a file of the fleet sets, or one line of
it with the lines indented below. These fields change if that input changes. Impact is
the reverse of blame. It writes nothing.`,
		Example: "  variform impact -f fleet sets.yaml:14\n  variform impact -f fleet context/c1.yaml -o json",
		Args:    cobra.ExactArgs(1),
		RunE:    func(c *cobra.Command, args []string) error { return a.impact(c.Context(), args[0]) },
	}
	a.addBlame(c)
	a.addOutput(c)
	return c
}

// addBlame adds the flags of commands that ask for origins.
func (a *app) addBlame(c *cobra.Command) {
	a.addFleet(c)
	a.addNeeds(c)
	a.addRenderFlags(c)
	c.Flags().StringSliceVar(&a.fleet.allowKinds, "allow-kind", nil, "as for apply")
	inner := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		a.fleet.blame, a.fleet.preview = true, true
		if inner != nil {
			return inner(c, args)
		}
		return nil
	}
}

// blamed makes packages, and keeps of each what take gives. failed says that some are not
// there.
func blamed[T any](ctx context.Context, a *app, s *opening, names []string, take func(*krm.Package, *provenance.Origins) T) (out []*reconcile.Blamed[T], failed, err error) {
	list, problems, err := reconcile.Blame(ctx, s.engine, names, take)
	s.progress.stop()
	if err != nil {
		return nil, nil, err
	}
	for _, b := range list {
		if b.Err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", b.Identity, b.Err))
			continue
		}
		out = append(out, b)
	}
	for _, problem := range problems {
		a.fail("error: %v", problem)
	}
	if len(problems) > 0 {
		failed = findings{count.Of(len(problems), "problem") + ": what is listed is not complete"}
	}
	return out, failed, nil
}

// blameView is a value as json and yaml print it. Its fields are a contract.
type blameView struct {
	Variant  string            `json:"variant"`
	File     string            `json:"file"`
	Resource string            `json:"resource,omitempty"`
	Field    string            `json:"field,omitempty"`
	Value    string            `json:"value"`
	Origin   provenance.Origin `json:"origin"`
	// AfterApproval says that the input's line came after the package's last approval.
	AfterApproval bool `json:"afterApproval,omitempty"`
}

// values are what is asked for of a package.
type values struct {
	leaves    []provenance.Leaf
	more      int // that are left out, for they are not the package's own
	lines     []provenance.Line
	annotated bool // a file is printed by its lines
	err       error
}

// valuesOf takes what is asked for out of a package.
func (a *app) valuesOf(p *krm.Package, from *provenance.Origins, what string) (v values) {
	f, isFile := p.Read(what)
	if v.annotated = a.output == annotatedFormat || isFile && a.output == outputs[0]; v.annotated {
		if !isFile {
			v.err = fmt.Errorf("-o %s: name a file of the package", annotatedFormat)
		} else {
			v.lines, v.err = from.Annotate(f)
		}
		return v
	}
	v.leaves, v.err = from.Select(what)
	if what == "" && !slices.Contains([]string{"wide", "json", "yaml"}, a.output) {
		own := provenance.Own(v.leaves)
		v.leaves, v.more = own, len(v.leaves)-len(own)
	}
	return v
}

func (a *app) blameOne(ctx context.Context, pkg, what string, since bool) error {
	p := a.progress()
	defer p.stop()
	s, err := a.open(ctx, p)
	if err != nil {
		return err
	}
	list, failed, err := blamed(ctx, a, s, []string{pkg}, func(p *krm.Package, from *provenance.Origins) values { return a.valuesOf(p, from, what) })
	if err != nil || len(list) == 0 {
		if err == nil {
			err = failed
		}
		return err
	}
	if len(list) > 1 {
		return fmt.Errorf("%q means %s: give one, as repository/package, or compare a field with --field", pkg, count.Of(len(list), "package"))
	}
	b := list[0]
	v := b.Taken
	if v.err != nil {
		return v.err
	}
	if since && v.annotated {
		err = addSince(ctx, s, v.lines, func(l *provenance.Line) []*provenance.Origin { return []*provenance.Origin{l.Origin} })
	} else if since {
		err = addSince(ctx, s, v.leaves, func(l *provenance.Leaf) []*provenance.Origin { return []*provenance.Origin{&l.Origin} })
	}
	switch {
	case err != nil:
	case v.annotated:
		err = a.printAnnotated(b)
	default:
		err = a.printLeaves(b, since)
	}
	if err != nil {
		return err
	}
	return failed
}

func (a *app) printLeaves(b *reconcile.Blamed[values], since bool) error {
	leaves := b.Taken.leaves
	if a.output == "json" || a.output == "yaml" {
		views := make([]blameView, len(leaves))
		for i, l := range leaves {
			views[i] = blameView{b.Identity.String(), l.File, l.Resource(), l.Field, l.Value, l.Origin, l.Origin.Since.After(b.Approved)}
		}
		return encodeAs(a.Out, a.output, "ValueList", map[string]any{"values": views})
	}
	var rows [][]string
	for _, l := range leaves {
		where := l.Resource()
		if where == "" || where == "Kptfile/"+l.ID.Name {
			where = l.File
		}
		rows = append(rows, []string{
			where, l.Field, a.shortValue(l),
			l.Origin.String(), sinceText(l.Origin, b.Approved),
		})
	}
	if err := a.sinceTable([]string{"RESOURCE", "FIELD", "VALUE", "FROM"}, rows, since); err != nil {
		return err
	}
	if more := b.Taken.more; more > 0 {
		_, err := fmt.Fprintf(a.Out, "%s more as in %s, or kept by variform (-o wide lists them)\n", count.Of(more, "value"), b.Upstream)
		return err
	}
	return nil
}

// maxShown bounds a value in a table.
const maxShown = 40

func (a *app) shortValue(l provenance.Leaf) string {
	text := firstLine(l.Value)
	switch r := []rune(text); {
	case l.ID.IsSecret():
		return "(secret)"
	case len(r) > maxShown && a.output != "wide" && onTerminal(a.Out):
		return string(r[:maxShown]) + "…"
	}
	return text
}

func (a *app) printAnnotated(b *reconcile.Blamed[values]) error {
	lines := b.Taken.lines
	from := func(o *provenance.Origin) string {
		text := o.String()
		if by := sinceText(*o, b.Approved); by != "" {
			text += ", " + by
		}
		return text
	}
	width := 0
	for _, l := range lines {
		if l.Origin != nil {
			width = max(width, len([]rune(from(l.Origin))))
		}
	}
	for _, l := range lines {
		by := ""
		if l.Origin != nil {
			by = from(l.Origin)
		}
		if err := a.line("%-*s | %s", width, by, l.Text); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) blameField(ctx context.Context, names []string, field string, since bool) error {
	p := a.progress()
	defer p.stop()
	session, err := a.open(ctx, p)
	if err != nil {
		return err
	}
	list, failed, err := blamed(ctx, a, session, names, func(_ *krm.Package, from *provenance.Origins) []provenance.Leaf {
		leaves, _ := from.Select(field) // none: the package has no such field
		return leaves
	})
	if err != nil {
		return err
	}
	var s provenance.Spreader
	for _, b := range list {
		s.Add(b.Identity.String(), b.Approved, b.Taken)
	}
	all := s.All()
	if len(all) == 0 {
		return fmt.Errorf("no package has a field %q: name one as Deployment/web:spec.replicas", field)
	}
	if since {
		if err := addSince(ctx, session, all, func(s *provenance.Spread) []*provenance.Origin { return s.Own }); err != nil {
			return err
		}
		for i := range all {
			all[i].Date()
		}
	}
	if err := a.printSpread(all, since); err != nil {
		return err
	}
	return failed
}

// addSince adds to the origins of a list who wrote the lines of inputs.
func addSince[T any](ctx context.Context, s *opening, list []T, of func(*T) []*provenance.Origin) error {
	var origins []*provenance.Origin
	for i := range list {
		origins = append(origins, of(&list[i])...)
	}
	return fleet.Since(ctx, s.store.Open, s.files, origins)
}

// sinceText says since when a value of a package is what it is, and whether that was
// after the package was last approved.
func sinceText(o provenance.Origin, approved time.Time) string {
	text := o.Since.String()
	if o.Since.After(approved) {
		text += ", after the last approval"
	}
	return text
}

// seenText is the same of the members of a value.
func seenText(s provenance.Spread) string {
	text := s.Origin.Since.String()
	if s.AfterApproval > 0 {
		text += fmt.Sprintf(", after the last approval of %d of %d", s.AfterApproval, len(s.Members))
	}
	return text
}

// sinceTable prints rows whose last column, since when a value is, is shown
// where it was asked for.
func (a *app) sinceTable(head []string, rows [][]string, since bool) error {
	head = append(head, "SINCE")
	if !since {
		head = head[:len(head)-1]
		for i, row := range rows {
			rows[i] = row[:len(head)]
		}
	}
	return a.table(head, rows)
}

func (a *app) printSpread(list []provenance.Spread, since bool) error {
	if a.output == "json" || a.output == "yaml" {
		if list == nil {
			list = []provenance.Spread{}
		}
		return encodeAs(a.Out, a.output, "FieldList", map[string]any{"fields": list})
	}
	var rows [][]string
	for _, s := range list {
		members := folded(s.Members)
		if a.output == "wide" {
			members = strings.Join(s.Members, ", ")
		}
		rows = append(rows, []string{
			s.Field, a.shortValue(provenance.Leaf{Value: s.Value}), strconv.Itoa(len(s.Members)),
			s.Origin.String(), members, seenText(s),
		})
	}
	return a.sinceTable([]string{"FIELD", "VALUE", "N", "FROM", "MEMBERS"}, rows, since)
}

func (a *app) impact(ctx context.Context, place string) error {
	file, line := place, 0
	if name, n, ok := cutLast(place, ":"); ok {
		var err error
		if line, err = strconv.Atoi(n); err != nil || line < 1 {
			return fmt.Errorf("impact: %q is no line: give FILE or FILE:LINE", n)
		}
		file = name
	}
	p := a.progress()
	defer p.stop()
	s, err := a.open(ctx, p)
	if err != nil {
		return err
	}
	last, err := s.files.Block(file, line)
	if err != nil {
		return err
	}
	list, failed, err := blamed(ctx, a, s, nil, func(_ *krm.Package, from *provenance.Origins) []provenance.Leaf { return from.From(file, line, last) })
	if err != nil {
		return err
	}
	var spread provenance.Spreader
	moved, variants := 0, 0
	for _, b := range list {
		if len(b.Taken) > 0 {
			spread.Add(b.Identity.String(), b.Approved, b.Taken)
			moved, variants = moved+len(b.Taken), variants+1
		}
	}
	if err := a.printSpread(spread.All(), false); err != nil {
		return err
	}
	if a.output == outputs[0] || a.output == "wide" {
		if _, err := fmt.Fprintf(a.Out, "%s in %s of %d\n", count.Of(moved, "value"), count.Of(variants, "variant"), len(list)); err != nil {
			return err
		}
	}
	return failed
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
