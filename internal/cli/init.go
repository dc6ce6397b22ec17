package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/source"
)

// initFlags are the answers that flags of init give.
type initFlags struct {
	name, catalog, layout, pkg, version string
	to, clusters                        []string
	labels                              map[string]string
}

// initQuestions are the flags of questions that every new fleet answers, as help and the
// error without a terminal list them.
var initQuestions = [][2]string{
	{"name", "name of this fleet, which marks what it creates"},
	{"catalog", "the packages: a Git repository, `URL[//dir][@branch]`, or its folder"},
	{"layout", "where packages go: folders (one repository, one folder a cluster), repositories (one a cluster), or existing (with packages to adopt)"},
	{"to", "that repository, or those repositories: `URL[//dir][@branch]`, or folders"},
	{"package", "first package to roll out"},
	{"version", "its version: a number, a tag, a branch, a commit, latest, or a range"},
}

func newInit(a *app) *cobra.Command {
	var f initFlags
	c := &cobra.Command{
		Use:   "init DIR",
		Short: "write a new fleet, by questions or flags",
		Long: `Init writes the files of a new fleet to DIR: its name, its repositories, and a set of one
package. On a terminal it asks for what no flag gives; elsewhere it never asks. The same
answers give the same files. It reads the repositories and changes none of them. It
overwrites no file.`,
		Example: `  variform init fleet
  variform init fleet --name platform --package web-app --version v2 \
    --catalog https://git.example.com/catalog.git --layout folders \
    --to https://git.example.com/clusters.git//clusters
  variform init fleet --layout repositories --to git/c001.git,git/c002.git`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes the folder of the new fleet: %q", c.CommandPath(), c.CommandPath()+" fleet")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return initFleet(c.Context(), a, args[0], f) },
	}
	for i, into := range []*string{&f.name, &f.catalog, &f.layout, nil, &f.pkg, &f.version} {
		if q := initQuestions[i]; into != nil {
			c.Flags().StringVar(into, q[0], "", q[1])
		} else {
			c.Flags().StringSliceVar(&f.to, q[0], nil, q[1])
		}
	}
	c.Flags().StringSliceVar(&f.clusters, "cluster", nil, "folders of clusters in one repository (default: those that exist)")
	c.Flags().StringToStringVar(&f.labels, "label", map[string]string{"env": "prod"}, "labels of the clusters, `KEY=VALUE`, which the set selects")
	_ = c.RegisterFlagCompletionFunc("layout", cobra.FixedCompletions(fleet.Layouts, cobra.ShellCompDirectiveNoFileComp))
	a.addCache(c)
	return c
}

// initiation is one run of init.
type initiation struct {
	*app
	in    *bufio.Reader // nil where nobody is asked
	store *gitrepo.Store
	flags initFlags
	start fleet.Start
	// packages has the packages of the catalog, offered their names.
	packages *fleet.Checkout
	offered  []string
	clusters *fleet.Checkout // nil where each has a repository
	folders  []string        // in clusters
}

func initFleet(ctx context.Context, a *app, dir string, f initFlags) error {
	if err := fleet.CheckNew(dir); err != nil {
		return err
	}
	n := &initiation{app: a, flags: f, start: fleet.Start{Labels: f.labels}}
	open := f.open()
	if isTerminal(a.In) && isTerminal(a.Err) {
		n.in = bufio.NewReader(a.In)
		if open != "" {
			a.tell("A fleet is a folder that says which packages go to which clusters.\n\n")
		}
	} else if open != "" {
		return errors.New("init asks nothing without a terminal: give these flags too" + open)
	}
	cache, err := a.fleet.cache()
	if err != nil {
		return err
	}
	n.store = a.gitStore(cache)
	for _, step := range []func(context.Context) error{n.name, n.layout, n.version} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return n.write(ctx, dir)
}

// open lists the flags of questions that no flag answers.
func (f *initFlags) open() string {
	var out strings.Builder
	for i, given := range []string{f.name, f.catalog, f.layout, strings.Join(f.to, ","), f.pkg, f.version} {
		if q := initQuestions[i]; given == "" {
			fmt.Fprintf(&out, "\n--%-8s %s", q[0], strings.ReplaceAll(q[1], "`", ""))
		}
	}
	return out.String()
}

// answer takes the answer of a flag, or asks until take accepts one. An empty line is the
// usual answer; more is said of it.
func (n *initiation) answer(ctx context.Context, flag, given, question, usual, more string, take func(string) error) error {
	if given != "" {
		if err := take(given); err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		return nil
	}
	for {
		prompt := question + "\n> "
		if usual != "" {
			at := strings.LastIndexByte(question, '\n') + 1
			prompt = question[:at] + fmt.Sprintf("%-51s [%s%s]: ", question[at:], oneLine(usual), more)
		}
		_, _ = fmt.Fprint(n.Err, prompt)
		line, err := readLine(ctx, n.in)
		if err != nil {
			return fmt.Errorf("reading the answer for --%s: %w", flag, err)
		}
		if line = cmp.Or(strings.TrimSpace(line), usual); line == "" {
			continue
		}
		if err = take(line); err == nil || ctx.Err() != nil {
			return err
		}
		n.fail("  %v", err)
	}
}

// name asks for the fleet's name and its packages.
func (n *initiation) name(ctx context.Context) error {
	err := n.answer(ctx, "name", n.flags.name, "Name of this fleet (signs what it makes)", fleet.UsualName, "", func(name string) error {
		if n.start.Name = name; api.CheckName(name) != nil {
			return fmt.Errorf("%q is not a valid name: use lower-case letters, digits and dashes", name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return n.answer(ctx, "catalog", n.flags.catalog, "Where are your packages? A Git repository or a folder.", "", "", func(address string) (err error) {
		if n.packages, n.offered, err = fleet.ReadCatalog(ctx, n.store, address); err != nil {
			return err
		}
		n.start.Catalog = n.packages.Repository
		n.found(count.Of(len(n.offered), "package")+" on "+n.start.Catalog.Spec.Git.Branch, n.offered)
		return nil
	})
}

// found prints what a repository has.
func (n *initiation) found(what string, names []string) {
	if !n.quiet {
		n.tell(oneLine(fmt.Sprintf("  found %s: %s", what, folded(names))) + "\n")
	}
}

// layout asks where packages go.
func (n *initiation) layout(ctx context.Context) error {
	err := n.answer(ctx, "layout", n.flags.layout, `Where do they go?
  1  one repository, one folder a cluster
  2  one repository a cluster
  3  I have such folders already, with packages to adopt
`, "1", "", func(text string) (err error) {
		n.start.Layout, err = fleet.ParseLayout(text)
		return err
	})
	if err != nil {
		return err
	}
	question := map[string]string{
		fleet.LayoutFolders: "That repository:", fleet.LayoutRepositories: "Those repositories, separated by commas:",
		fleet.LayoutExisting: "That repository, or those, separated by commas:",
	}[n.start.Layout]
	several := false
	err = n.answer(ctx, "to", strings.Join(n.flags.to, ","), question, "", "", func(text string) (err error) {
		addresses := words(text)
		if several = n.start.Layout == fleet.LayoutRepositories || n.start.Layout == fleet.LayoutExisting && len(addresses) > 1; several {
			n.start.Clusters, err = fleet.ReadClusters(ctx, n.store, addresses, n.flags.labels)
			return err
		}
		n.clusters, n.folders, err = fleet.ReadFolders(ctx, n.store, text, n.start.Layout == fleet.LayoutExisting)
		return err
	})
	if err != nil || several {
		return err
	}
	return n.cluster(ctx)
}

// cluster takes the folders of clusters that there are, and asks for names where there are
// none.
func (n *initiation) cluster(ctx context.Context) error {
	names, exist := n.folders, n.start.Layout == fleet.LayoutExisting
	below := cmp.Or(n.clusters.Repository.Spec.Git.Directory, ".") + "/"
	switch {
	case len(n.flags.clusters) > 0 && exist:
		for _, name := range n.flags.clusters {
			if err := fleet.Known("folder below "+below, name, names); err != nil {
				return fmt.Errorf("--cluster: %w", err)
			}
		}
	case len(n.flags.clusters) == 0 && len(names) > 0:
		n.found(count.Of(len(names), "folder")+" below "+below, names)
		n.flags.clusters = names
	case exist:
		return fmt.Errorf("%s has no folders below %s: add // and the folder that they are in to the address", n.clusters.Repository.Spec.Git.Repo, below)
	case len(n.flags.clusters) == 0 && n.in == nil:
		return fmt.Errorf("%s has no folder below %s yet: name your clusters with --cluster", n.clusters.Repository.Spec.Git.Repo, below)
	}
	question := fmt.Sprintf("No folder is below %s yet. Names of your clusters, separated by commas:", below)
	return n.answer(ctx, "cluster", strings.Join(n.flags.clusters, ","), question, "", "", func(text string) (err error) {
		n.start.Clusters, err = n.clusters.Folders(words(text), n.flags.labels)
		return err
	})
}

// words are the parts of a list with commas.
func words(text string) (out []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// version asks for the package and its version.
func (n *initiation) version(ctx context.Context) error {
	err := n.answer(ctx, "package", n.flags.pkg, "First package to roll out", n.offered[0], "", func(pkg string) error {
		n.start.Package = pkg
		return fleet.Known("package", pkg, n.offered)
	})
	if err != nil {
		return err
	}
	if n.start.Layout != fleet.LayoutExisting {
		there, err := fleet.Holding(ctx, n.store, n.start.Clusters, n.start.Package)
		if err == nil && len(there) > 0 {
			err = fmt.Errorf("the folder %s exists already in %s: give --layout existing to adopt it", n.start.Package, folded(review.Ranges(there)))
		}
		if err != nil {
			return err
		}
	}
	newest, tagged := n.packages.Newest(ctx, n.start.Package)
	more := ", the newest"
	if !tagged {
		more = ", the branch: it has no tag"
	}
	return n.answer(ctx, "version", n.flags.version, "Version", newest, more, func(version string) error {
		n.start.Version = version
		return n.packages.CheckVersion(ctx, n.start.Package, version)
	})
}

// write writes the fleet, and has it planned.
func (n *initiation) write(ctx context.Context, dir string) error {
	for _, r := range append([]*v1alpha1.Repository{n.start.Catalog}, n.start.Clusters...) {
		git := *r.Spec.Git // folders of one repository have it in common
		git.Repo = source.PathFrom(dir, git.Repo)
		r.Spec.Git = &git
	}
	files, err := n.start.Files()
	if err != nil {
		return err
	}
	if err := fleet.WriteNew(dir, files); err != nil {
		return err
	}
	names := make([]string, len(n.start.Clusters))
	for i, r := range n.start.Clusters {
		names[i] = r.Name
	}
	if n.in != nil {
		n.tell("\n")
	}
	verb := "wrote"
	for i, what := range []string{
		"the name", n.start.Catalog.Name + ", " + folded(review.Ranges(names)),
		fmt.Sprintf("%s %s for all that have %s", n.start.Package, n.start.Version, n.start.Selector()),
	} {
		name := filepath.Join(dir, files[i].Path)
		width := len(filepath.Join(dir, fleet.StartFiles[1]))
		if _, err := fmt.Fprintln(n.Out, verb+" "+oneLine(fmt.Sprintf("%-*s  %s", width, name, what))); err != nil {
			return err
		}
		verb = "     "
	}
	n.fleet.location, n.fleet.preview = dir, true
	return n.plan(ctx, (*reconcile.Engine).Plan, func(s *opening, p *reconcile.Plan) error {
		if p.Failed() {
			return n.printPlan(s, p, false)
		}
		n.printDetails(p)
		_, err := fmt.Fprintf(n.Out, "checked: %s can be built.\n\nnext: %s\n", count.Of(len(fleet.ByVariant(p.Items)), "variant"), n.fleet.command("plan"))
		return err
	})
}
