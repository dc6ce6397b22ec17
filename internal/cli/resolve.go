package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/catalog"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/session"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/resolver"
)

// resolveFlags are those of the commands that resolve dependencies.
type resolveFlags struct {
	targets  []string
	platform map[string]string
}

func (a *app) addResolve(c *cobra.Command, f *resolveFlags) {
	a.addFleet(c)
	c.Flags().StringSliceVar(&f.targets, "target", nil, "only these targets (default: all targets of Installations)")
	c.Flags().StringToStringVar(&f.platform, "platform", nil, "platform of the targets, such as kubernetes=1.31.0")
}

// resolved is what the commands that resolve dependencies print of.
type resolved struct {
	fleet   *source.Fleet
	git     *gitrepo.Store
	oci     *ocirepo.Store
	wanted  *catalog.Wanted
	targets []catalog.Target
	wrong   int // problems that were printed
}

// catalogues reads the fleet and all catalogues, and prints what is wrong there.
func (a *app) catalogues(ctx context.Context) (*resolved, error) {
	in, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	f, err := a.read(ctx, in)
	if err != nil {
		return nil, err
	}
	git, oci := in.store, a.registries(in.cache)
	content := catalog.Reader{Git: git, OCI: oci, Offered: f.Offered, Repositories: a.repositories}.Read(ctx, f.Catalogs)
	r := &resolved{fleet: f, git: git, oci: oci, wanted: &catalog.Wanted{
		Documents: depend.Documents{Repositories: f.Repositories, Installations: f.Installations, Locks: f.Locks},
		Catalogs:  f.Catalogs, Content: content,
	}}
	problems := content.Problems
	for _, p := range f.Problems {
		problems = append(problems, p)
	}
	for _, p := range problems {
		a.fail("error: %v", p)
	}
	r.wrong = len(problems)
	return r, nil
}

// resolve answers for the targets; conflicts are printed and counted.
func (a *app) resolve(ctx context.Context, f *resolveFlags) (*resolved, error) {
	r, err := a.catalogues(ctx)
	if err != nil {
		return nil, err
	}
	if err := answers(ctx, a, r, f); err != nil {
		return nil, err
	}
	return r, nil
}

// errNothingNeeded ends commands about dependencies of a fleet that has none.
var errNothingNeeded = errors.New("the fleet has no Installation, and no variant needs a package")

// answers resolves the targets, and asks a person where one has to choose.
func answers(ctx context.Context, a *app, r *resolved, f *resolveFlags) error {
	if err := a.answer(ctx, r, f); err != nil {
		return err
	}
	made := choices{in: bufio.NewReader(a.In), made: map[string]resolver.Override{}}
	for i := range r.targets {
		if err := a.choose(ctx, r, &r.targets[i], made); err != nil {
			return err
		}
	}
	a.printConflicts(r)
	return nil
}

// printConflicts prints why targets have no answer, or not all of it: each cause once.
func (a *app) printConflicts(r *resolved) {
	var causes []error
	where := map[string][]string{}
	for i := range r.targets {
		for _, err := range r.targets[i].Causes() {
			text := err.Error()
			if where[text] == nil {
				causes = append(causes, err)
			}
			where[text] = append(where[text], r.targets[i].Name)
		}
	}
	r.wrong += len(causes)
	for _, err := range causes {
		a.fail("error: %s%s", targetPrefix(strings.Join(decide.Limit(where[err.Error()], 3), ", ")), fleet.Explained(r.fleet, err))
	}
}

// warnOnce prints each warning once.
func (a *app) warnOnce(warnings []string) {
	said := map[string]bool{}
	for _, w := range warnings {
		if !said[w] {
			said[w] = true
			a.warn("%s", w)
		}
	}
}

// inGit says whether what is asked for concerns targets of which Git knows more
// than the documents do: what stands there decides as well, in every command as
// in plan.
func (r *resolved) inGit() bool {
	return len(r.fleet.Sets)+len(r.fleet.Variants) > 0 || slices.ContainsFunc(r.wanted.Targets(), func(t *depend.Target) bool {
		return r.wanted.Repository(t) != nil
	})
}

// answer resolves the targets that are in Git, with all that Git says of them,
// and those that only Installations name.
func (a *app) answer(ctx context.Context, r *resolved, f *resolveFlags) error {
	r.wanted.Platform, a.fleet.platform = f.platform, f.platform
	warnings := depend.Warnings(r.wanted.Unusable)
	if r.inGit() {
		more, problems, err := a.answerFleet(ctx, r)
		if err != nil {
			return err
		}
		warnings = append(warnings, more...)
		for _, p := range problems {
			r.wrong++
			a.fail("error: %v", p)
		}
	}
	a.warnOnce(warnings)
	if len(r.wanted.Installations)+len(r.targets) == 0 {
		return fmt.Errorf("%s: %w", r.fleet.Location, errNothingNeeded)
	}
	left, err := r.wanted.Without(r.targets, f.targets)
	if err != nil {
		return err
	}
	r.targets = catalog.Named(r.targets, f.targets)
	if len(left) > 0 {
		more, err := r.wanted.Resolve(ctx, runtime.NumCPU(), left...)
		if err != nil {
			return err
		}
		r.targets = append(r.targets, more...)
	}
	return nil
}

// answerFleet asks the engine that plans, so that nothing is told but what a
// plan would do.
func (a *app) answerFleet(ctx context.Context, r *resolved) (warnings []string, problems []error, err error) {
	cfg, err := configOf(a, r)
	if err != nil {
		return nil, nil, err
	}
	o, err := a.options(r.git, r.oci)
	if err != nil {
		return nil, nil, err
	}
	cfg.Dependencies = session.Dependencies(r.fleet, o, func(context.Context) catalog.Content {
		return r.wanted.Content
	})
	plan, err := reconcile.New(cfg).Resolve(ctx)
	for _, t := range plan.Targets {
		r.targets = append(r.targets, catalog.FromAnswer(t.Name, t.Answer, t.Err))
	}
	problems = slices.DeleteFunc(plan.Problems, func(p error) bool { return slices.Contains(r.wanted.Problems, p) }) // they were printed
	return plan.Warnings, problems, err
}

// configOf is that of an engine which resolves, and builds nothing.
func configOf(a *app, r *resolved) (reconcile.Config, error) {
	a.fleet.noRender = true
	o, err := a.options(r.git, r.oci)
	if err != nil {
		return reconcile.Config{}, err
	}
	cfg, err := session.Config(r.fleet, o)
	if err != nil {
		return cfg, err
	}
	cfg.Fleet.Problems = nil // they were printed
	cfg.OCI = observe.OCI(r.oci, r.fleet.Catalogs...)
	return cfg, nil
}

func targetPrefix(name string) string {
	if name == "" {
		return ""
	}
	return "target " + name + ": "
}

// choices are what a person chose, by what was asked: many targets need the same one.
type choices struct {
	in   *bufio.Reader
	made map[string]resolver.Override
}

// choose asks a person, at a terminal, for the choices that a target needs and that no
// other one needed.
func (a *app) choose(ctx context.Context, r *resolved, t *catalog.Target, c choices) error {
	failed := errors.Join(append(t.Failed, t.Err)...)
	var needs *resolver.NeedsInputError
	if !errors.As(failed, &needs) || !isTerminal(a.In) || !isTerminal(a.Err) {
		return nil
	}
	for _, n := range needs.Needs {
		key := fmt.Sprintf("%q", n)
		choice, known := c.made[key]
		if !known {
			offer, err := a.ask(ctx, c.in, targetPrefix(t.Name), n)
			if err != nil {
				return err
			}
			choice = resolver.Override{Alias: n.Alias, Reference: offer}
			c.made[key] = choice
			a.note("to keep the choice, %s", placeOf(r, failed, choice))
		}
		for i := range t.Input.Want {
			t.Input.Want[i].Overrides = append(slices.Clone(t.Input.Want[i].Overrides), choice)
		}
	}
	t.Solve(ctx)
	return context.Cause(ctx)
}

// ask has a person choose one of what is offered.
func (a *app) ask(ctx context.Context, in *bufio.Reader, prefix string, n resolver.NeededInput) (string, error) {
	a.tell(oneLine(fmt.Sprintf("%s%s: several packages provide %s:", prefix, n.Alias, n.Kind)) + "\n")
	for i, o := range n.Offers {
		a.tell(oneLine(fmt.Sprintf("  %d) %s", i+1, o)) + "\n")
	}
	_, _ = fmt.Fprintf(a.Err, "which one? [1-%d] ", len(n.Offers))
	line, err := readLine(ctx, in)
	if err != nil {
		return "", fmt.Errorf("reading the choice for %s: %w", n.Alias, err)
	}
	at, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || at < 1 || at > len(n.Offers) {
		return "", fmt.Errorf("%q is none of 1 to %d", strings.TrimSpace(line), len(n.Offers))
	}
	return n.Offers[at-1], nil
}

// placeOf says what to write where, so that a choice is not asked for again: as the hint
// of the conflict does, with file and line, where it has one for it.
func placeOf(r *resolved, failed error, choice resolver.Override) string {
	written := fmt.Sprintf("{alias: %s, reference: %s}", choice.Alias, choice.Reference)
	for line := range strings.Lines(fleet.Explained(r.fleet, failed)) {
		if at := strings.Index(line, written); at >= 0 {
			return "write " + strings.TrimSpace(line[at:])
		}
	}
	return "write " + written + " in " + resolver.FieldOverrides + " of the Installation"
}

// readLine reads what a person types, until ctx ends.
func readLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type typed struct {
		line string
		err  error
	}
	got := make(chan typed, 1)
	go func() {
		line, err := in.ReadString('\n')
		got <- typed{line, err}
	}()
	select {
	case t := <-got:
		return t.line, t.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// findings ends a command that printed what is wrong.
func (r *resolved) findings() error {
	if r.wrong == 0 {
		return nil
	}
	return findings{count.Of(r.wrong, "problem")}
}

func newResolve(a *app) *cobra.Command {
	var f resolveFlags
	c := &cobra.Command{
		Use:   "resolve",
		Short: "list the packages and versions that each target needs",
		Long: `Resolve reads the Installations, Catalogs and PackageLocks of the fleet and the
versions in the catalogs. For each target it lists which packages belong where, at
which versions. It explains a target's conflict and continues with the others. -o yaml
prints the PackageLocks.`,
		Args: noNames,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := a.resolve(c.Context(), &f)
			if err != nil {
				return err
			}
			if err := a.printResolved(r); err != nil {
				return err
			}
			return r.findings()
		},
	}
	a.addResolve(c, &f)
	a.addOutput(c)
	return c
}

func (a *app) printResolved(r *resolved) error {
	var rows [][]string
	var locks []any
	for i := range r.targets {
		t := &r.targets[i]
		if t.Err != nil {
			continue
		}
		lock := t.Lock
		locks = append(locks, lock)
		for _, p := range lock.Spec.Packages {
			row := []string{t.Name, cmp.Or(p.Package, p.Name), p.Version, strings.TrimPrefix(p.Namespace+"/"+p.Name, "/"), p.Why}
			if a.output == "wide" {
				row = append(row, p.Source, p.Digest)
			}
			rows = append(rows, row)
		}
		for _, alias := range slices.Sorted(maps.Keys(t.Resolution.Unmapped)) {
			in := t.Resolution.Unmapped[alias]
			a.note("warning: %s%s needs values that nothing sets: %s", targetPrefix(t.Name), alias, inputsText(in))
		}
	}
	switch a.output {
	case "json", "yaml":
		return objects(a.Out, a.output, locks)
	case "name":
		for _, row := range rows {
			if err := a.line("%s@%s", strings.TrimPrefix(row[0]+"/"+row[1], "/"), row[2]); err != nil {
				return err
			}
		}
		return nil
	}
	header := []string{"TARGET", "PACKAGE", "VERSION", "INSTALLATION", "WHY"}
	if a.output == "wide" {
		header = append(header, "SOURCE", "DIGEST")
	}
	return a.table(header, rows)
}

func inputsText(in resolver.Inputs) string {
	var parts []string
	for _, p := range in.Parameters {
		parts = append(parts, "parameter "+p)
	}
	for _, c := range in.Credentials {
		parts = append(parts, "credential "+c)
	}
	return strings.Join(parts, ", ")
}

func newWhy(a *app) *cobra.Command {
	var f resolveFlags
	c := &cobra.Command{
		Use:   "why PACKAGE [RANGE]",
		Short: "show who needs a package, and why it has its version",
		Long: `Why shows, for each target with the package, which packages need it and why it has
its version. Targets with the same answer are grouped. A RANGE such as '<1.14' selects
the targets whose current or next version is in the range.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.resolve(c.Context(), &f)
			if err != nil {
				return err
			}
			within := ""
			if len(args) > 1 {
				within = args[1]
			}
			var said catalog.Said
			for i := range r.targets {
				t := &r.targets[i]
				lines, err := t.Why(args[0], within)
				if err != nil {
					return err
				}
				if len(lines) > 0 {
					said.Add(t.Name, lines)
				}
			}
			a.printSaid(&said)
			if len(said.Groups) == 0 && r.wrong == 0 {
				return findings{strings.TrimSpace(fmt.Sprintf("no target has %s %s", args[0], within))}
			}
			return r.findings()
		},
	}
	a.addResolve(c, &f)
	return c
}

func newWhyNot(a *app) *cobra.Command {
	var f resolveFlags
	c := &cobra.Command{
		Use:   "why-not PACKAGE VERSION",
		Short: "show why a target does not get a version",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.catalogues(c.Context())
			if err != nil {
				return err
			}
			if err := a.answer(c.Context(), r, &f); err != nil {
				return err
			}
			if err := r.wanted.Missing(args[0]); err != nil && len(r.wanted.Entries) > 0 {
				return err
			}
			a.printConflicts(r)
			var said catalog.Said
			for i := range r.targets {
				t := &r.targets[i]
				lines, err := t.WhyNot(c.Context(), args[0], args[1])
				if err != nil {
					r.wrong++
					a.fail("error: %s%v", targetPrefix(t.Name), err)
				} else if len(lines) > 0 {
					said.Add(t.Name, lines)
				}
			}
			a.printSaid(&said)
			return r.findings()
		},
	}
	a.addResolve(c, &f)
	return c
}

// printSaid prints what is told of targets, those of which the same is told
// together.
func (a *app) printSaid(said *catalog.Said) {
	for _, g := range said.Groups {
		indent := ""
		if names := strings.Join(g.Targets, ", "); names != "" {
			_ = a.line("%s", names)
			indent = "  "
		}
		for _, l := range g.Lines {
			_ = a.line("%s%s", indent, l)
		}
	}
}

func newExplain(a *app) *cobra.Command {
	var f resolveFlags
	c := &cobra.Command{
		Use:   "explain [INSTALLATION|PACKAGE...]",
		Short: "show the values of a package and its dependencies",
		RunE: func(c *cobra.Command, args []string) error {
			r, err := a.catalogues(c.Context())
			if err != nil {
				return err
			}
			if err := a.answer(c.Context(), r, &f); err != nil && !errors.Is(err, errNothingNeeded) {
				return err
			}
			rows, err := a.explain(c.Context(), r, args)
			if err != nil {
				return err
			}
			if err := a.table([]string{"TARGET", "INSTALLATION", "OF", "KIND", "NAME"}, rows); err != nil {
				return err
			}
			if len(rows) == 0 && r.wrong == 0 {
				a.note("nothing is asked for")
			}
			return r.findings()
		},
	}
	a.addResolve(c, &f)
	return c
}

// explain are the rows of what some names mean, an Installation or the package of a variant, or of all that is asked for.
func (a *app) explain(ctx context.Context, r *resolved, names []string) (rows [][]string, err error) {
	unknown, known := slices.Clone(names), []string{}
	for _, i := range r.wanted.Installations { // also without an answer
		known = append(known, i.Name)
	}
	for i := range r.targets {
		t := &r.targets[i]
		t.Alone(ctx, func(w resolver.Request, installations []string, res *resolver.Resolution, err error) {
			called := append(slices.Clip(installations), w.Ref())
			known = append(known, called...)
			if len(names) > 0 && !slices.ContainsFunc(called, func(n string) bool { return slices.Contains(names, n) }) {
				return
			}
			unknown = slices.DeleteFunc(unknown, func(n string) bool { return slices.Contains(called, n) })
			if err != nil {
				r.wrong++
				a.fail("error: %s%s: %v", targetPrefix(t.Name), called[0], err)
				return
			}
			rows = append(rows, askedRows(t.Name, called[0], w.Package, res)...)
		})
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("no Installation and no variant's package is called %q: %s", unknown[0], decide.Hint(unknown[0], known, "run explain without names for all"))
	}
	return rows, nil
}

func askedRows(target, name, pkg string, res *resolver.Resolution) [][]string {
	var rows [][]string
	for _, alias := range slices.Sorted(maps.Keys(res.Asked)) {
		of := alias
		if alias == "root" {
			of = pkg
		}
		for _, p := range res.Asked[alias].Parameters {
			rows = append(rows, []string{target, name, of, "parameter", p})
		}
		for _, c := range res.Asked[alias].Credentials {
			rows = append(rows, []string{target, name, of, "credential", c})
		}
	}
	return rows
}

func newGraph(a *app) *cobra.Command {
	var f resolveFlags
	format := "mermaid"
	formats := []string{"mermaid", "dot", "svg", "json", "yaml"}
	c := &cobra.Command{
		Use:   "graph [TARGET...]",
		Short: "draw the packages of targets and their dependencies",
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(formats, format) {
				return fmt.Errorf("--output %q: choose one of %s", format, strings.Join(formats, ", "))
			}
			f.targets = append(f.targets, args...)
			r, err := a.resolve(c.Context(), &f)
			if err != nil {
				return err
			}
			graphs := []catalog.Graph{}
			for i := range r.targets {
				graphs = append(graphs, r.targets[i].Graph())
			}
			switch format {
			case "dot":
				_, err = fmt.Fprint(a.Out, catalog.Dot(graphs...))
			case "svg":
				err = a.drawSVG(c.Context(), catalog.Dot(graphs...))
			case "mermaid":
				_, err = fmt.Fprint(a.Out, catalog.Mermaid(graphs...))
			default:
				err = encode(a.Out, format, graphs)
			}
			if err != nil {
				return err
			}
			return r.findings()
		},
	}
	a.addResolve(c, &f)
	c.Flags().StringVarP(&format, "output", "o", format, "output format: "+strings.Join(formats, "|"))
	return c
}

// drawSVG has Graphviz draw: the library that brings it into the program costs
// every other command its start.
func (a *app) drawSVG(ctx context.Context, dot string) error {
	program, err := exec.LookPath("dot")
	if err != nil {
		return errors.New("--output svg needs Graphviz' dot on the PATH: install graphviz, or take -o dot or -o mermaid")
	}
	c := exec.CommandContext(ctx, program, "-Tsvg")
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(dot), a.Out, a.Err
	if err := c.Run(); err != nil {
		return fmt.Errorf("drawing with %s: %w", program, err)
	}
	return nil
}

func newOutdated(a *app) *cobra.Command {
	var f resolveFlags
	c := &cobra.Command{
		Use:   "outdated",
		Short: "list packages with newer versions",
		Args:  noNames,
		Long: `Outdated lists the sets and variants whose upstream has a newer Published revision,
and the packages of targets that have newer versions, whether a target can get them or
not. It writes nothing. To update a set or variant, run set; a package of a target,
plan --upgrade.`,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := a.catalogues(c.Context())
			if err != nil {
				return err
			}
			behind, err := printBehind(c.Context(), a, r)
			if err != nil {
				return err
			}
			if err := answers(c.Context(), a, r, &f); err != nil && !errors.Is(err, errNothingNeeded) {
				return err
			}
			var rows [][]string
			for i := range r.targets {
				if r.targets[i].Err == nil {
					rows = append(rows, outdatedRows(&r.targets[i], r.wanted.Entries)...)
				}
			}
			if len(rows) > 0 {
				err = a.table([]string{"TARGET", "PACKAGE", "INSTALLATION", "CURRENT", "RESOLVED", "NEWEST"}, rows)
			} else if !behind && r.wrong == 0 {
				_, err = fmt.Fprintln(a.Out, "Every set, variant and package has its newest version.")
			}
			return cmp.Or(err, r.findings())
		},
	}
	a.addResolve(c, &f)
	return c
}

// printBehind lists the sets and variants that pin an older revision of their upstream.
func printBehind(ctx context.Context, a *app, r *resolved) (behind bool, err error) {
	if len(r.fleet.Sets)+len(r.fleet.Variants) == 0 {
		return false, nil
	}
	cfg, err := configOf(a, r)
	if err != nil {
		return false, err
	}
	list, problems := reconcile.FindBehind(ctx, reconcile.New(cfg))
	for _, p := range problems {
		r.wrong++
		a.fail("error: %v", p)
	}
	if len(list) == 0 {
		return false, nil
	}
	var rows [][]string
	for _, b := range list {
		members := foldedOf(b.Variants, "")
		if a.output == "wide" {
			members = strings.Join(b.Variants, ", ")
		}
		rows = append(rows, []string{cmp.Or(b.Set, "(no set)"), b.Upstream, b.Current, b.Newest, strconv.Itoa(len(b.Variants)), members})
	}
	return true, a.table([]string{"SET", "UPSTREAM", "CURRENT", "NEWEST", "VARIANTS", "WHERE"}, rows)
}

func outdatedRows(t *catalog.Target, entries []catalog.Entry) [][]string {
	locked := map[string]string{}
	if t.Input.Lock != nil {
		for _, p := range t.Input.Lock.Packages {
			locked[p.Namespace+"/"+p.Name] = p.Version
		}
	}
	var rows [][]string
	for _, i := range t.Resolution.Instances {
		newest := catalog.Newest(entries, i.Package)
		current := cmp.Or(i.From, locked[i.Namespace+"/"+i.Name])
		if !catalog.Newer(newest, i.Version) && !catalog.Newer(newest, current) {
			continue
		}
		rows = append(rows, []string{t.Name, i.Package, i.Ref(), current, i.Version, newest})
	}
	return rows
}
