package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"github.com/spf13/cobra"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/importer"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/pkgdir"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/source"
)

// importFlags are those of import.
type importFlags struct {
	pkg, to, catalog, pathNames string
	asIs, dryRun                bool
}

func newImport(a *app) *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import 'SOURCE//FOLDERS'",
		Short: "find what existing folders have in common",
		Long: `Import finds what folders of a repository have in common: one package, its parameters,
and the values of each folder. It writes the package to the catalog, and to the fleet
a PackageVariantSet that adopts the folders, with one object for each. It builds every
variant as apply does, and compares the result with the folder. The folders themselves
do not change.

SOURCE//FOLDERS is a Git address with a pattern, URL//clusters/*@branch, or a pattern of
local folders in a Git repository. Import overwrites no file. It fails with status 1 if
the folders have no common base.`,
		Example: `  variform import 'clusters/*' --package cluster --to fleet --catalog catalog
  variform import 'https://git.example.com/apps.git//*/*@main' --package app \
    --to fleet --catalog catalog --path-names '{region}/{name}' --dry-run`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return fmt.Errorf("%s takes one pattern, not %d: quote it, such as 'clusters/*'", c.CommandPath(), len(args))
		},
		RunE: func(c *cobra.Command, args []string) error {
			return (&importRun{app: a, importFlags: f}).run(c.Context(), args[0])
		},
	}
	c.Flags().StringVar(&f.pkg, "package", "", "`name` of the package")
	c.Flags().StringVar(&f.to, "to", "", "folder of the fleet, which is created if it is missing")
	c.Flags().StringVar(&f.catalog, "catalog", "", "`folder` that gets the package")
	c.Flags().StringVar(&f.pathNames, "path-names", "", "`parameters` that the folders' paths give, such as {region}/{name} (default: {name}, or {group}/{name})")
	c.Flags().BoolVar(&f.asIs, "as-is", false, "import the files of folders with a kustomization.yaml as they are")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "write nothing")
	for _, name := range []string{"package", "to", "catalog"} {
		_ = c.MarkFlagRequired(name)
	}
	a.addFormats(c, "table", []string{"table", "json", "yaml"})
	a.addCache(c)
	return c
}

// importRun is one run of import.
type importRun struct {
	*app
	importFlags
	in     *fleet.Imported
	owned  int // folders that are variants
	to     fleet.ImportedTo
	result *importer.Result
	files  []krm.File // to write
	proof  proof
}

// proof compares what adoption builds with the folders.
type proof struct {
	Variants  int                `json:"variants"`
	Identical int                `json:"identical"`
	Others    []importer.Skipped `json:"others"`
}

func (n *importRun) run(ctx context.Context, address string) error {
	cache, err := n.app.fleet.cache()
	if err != nil {
		return err
	}
	if n.in, err = fleet.ReadImport(ctx, n.gitStore(cache), address, func(dir string) ([]krm.File, error) { return pkgdir.Read(dir, nil) }); err != nil {
		return err
	}
	folders, err := n.folders(address)
	if err != nil {
		return err
	}
	if len(folders) == 0 {
		_, err := fmt.Fprintf(n.Out, "nothing to import: %s are variants already\n", count.Of(n.owned, "folder"))
		return err
	}
	var none *importer.NoBaseError
	n.result, err = importer.Import(ctx, folders, importer.Options{Package: n.pkg})
	if errors.As(err, &none) {
		return findings{err.Error()}
	} else if err != nil {
		return err
	}
	if err := n.place(ctx); err != nil {
		return err
	}
	if err := n.verify(ctx); err != nil {
		return fmt.Errorf("building what was found: %w", err)
	}
	written := 0
	if !n.dryRun {
		if written, err = fleet.WriteAll(n.files); err != nil {
			return err
		}
	}
	return n.print(written)
}

// folders are those to import, without variants.
func (n *importRun) folders(address string) (out []importer.Folder, err error) {
	switch found := n.in.Folders; len(found) {
	case 0:
		return nil, fmt.Errorf("%s matches no folder: give a pattern of folders, such as 'clusters/*'", address)
	case 1:
		if strings.ContainsAny(address, "*?[") {
			return nil, fmt.Errorf("%s matches only %s: a common base needs two folders or more", address, found[0].Path)
		}
	}
	prefix, names, err := importer.PathNames(n.in.Pattern, n.pathNames)
	if err != nil {
		return nil, err
	}
	n.in.Repository.Spec.Git.Directory = prefix
	kustomized := 0
	for _, f := range n.in.Folders {
		name := strings.TrimPrefix(strings.TrimPrefix(f.Path, prefix), "/")
		in := importer.Folder{Path: name, Names: names(name), Files: f.Files}
		if f.Err != nil {
			in.Problem = f.Err.Error()
		}
		owned, kustomization := false, false
		for _, file := range f.Files {
			owned = owned || file.Path == kptfilev1.KptFileName && isOwned(file)
			kustomization = kustomization || slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, file.Path)
		}
		if kustomization {
			kustomized++
		}
		if owned {
			n.owned++
		} else {
			out = append(out, in)
		}
	}
	if kustomized > 0 && !n.asIs {
		return nil, fmt.Errorf("%d of %s have a kustomization.yaml, which import does not build: give --as-is to import their files as they are", kustomized, folders(len(n.in.Folders)))
	}
	return out, nil
}

// isOwned reports whether a Kptfile is that of a variant.
func isOwned(kptfile krm.File) bool {
	p, err := krm.Parse([]krm.File{kptfile})
	if err != nil {
		return false
	}
	k, err := mutate.Read(p, "")
	if err != nil {
		return false
	}
	_, ok := mutate.OwnerOf(k)
	return ok
}

// described are the packages as the fleet's files have them.
func (n *importRun) described() (out []fleet.ImportedPackage) {
	for _, p := range n.result.Packages {
		d := fleet.ImportedPackage{Name: p.Name, Kind: p.Kind, PackageExpr: p.PackageExpr}
		for _, v := range p.Folders {
			d.Objects = append(d.Objects, krm.File{Path: v.Object + ".yaml", Data: v.Data})
		}
		out = append(out, d)
	}
	return out
}

// place decides which Repositories the fleet needs, and which files are written where.
func (n *importRun) place(ctx context.Context) (err error) {
	n.to.Source, n.to.APIVersion = n.in.Repository, importer.APIVersion
	if n.to.Catalog, err = fleet.CatalogFor(filepath.Clean(n.catalog)); err != nil {
		return err
	}
	var have []*v1alpha1.Repository
	if _, err := os.Stat(filepath.Join(n.importFlags.to, "Kptfile")); err != nil {
		n.to.Fleet = fleet.UsualName
	} else {
		files, err := source.Open(ctx, n.importFlags.to, source.Options{})
		if err != nil {
			return err
		}
		there, err := files.Fleet(ctx)
		if err != nil {
			return err
		}
		have = there.Repositories
	}
	var add []*v1alpha1.Repository
	git := n.to.Source.Spec.Git
	name := strings.TrimSuffix(path.Base(filepath.ToSlash(source.Absolute(git.Repo))), ".git")
	for _, r := range []struct {
		*v1alpha1.Repository
		name string
	}{{n.to.Catalog, "catalog"}, {n.to.Source, name}} {
		git := *r.Spec.Git
		git.Repo = source.PathFrom(n.importFlags.to, git.Repo)
		if r.Spec.Git = &git; !fleet.KnownRepository(have, r.Repository, r.name) {
			add = append(add, r.Repository)
		}
		have = append(have, r.Repository)
	}
	described, err := n.to.Files(n.described(), add...)
	if err != nil {
		return err
	}
	for _, f := range described {
		n.files = append(n.files, krm.File{Path: filepath.Join(n.importFlags.to, filepath.FromSlash(f.Path)), Data: f.Data})
	}
	for _, p := range n.result.Packages {
		for _, f := range p.Files {
			n.files = append(n.files, krm.File{Path: filepath.Join(n.catalog, filepath.FromSlash(path.Join(p.Name, f.Path))), Data: f.Data})
		}
	}
	return nil
}

// verify builds all variants, as plan does, of copies of the folders and of the package.
func (n *importRun) verify(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "variform-import-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	was := map[string]map[string][]byte{}
	var sources, packages []krm.File
	for _, p := range n.result.Packages {
		for _, v := range p.Folders {
			was[v.Folder.Path] = map[string][]byte{}
			for _, f := range v.Folder.Files {
				was[v.Folder.Path][f.Path] = f.Data
				sources = append(sources, krm.File{Path: path.Join(v.Folder.Path, f.Path), Data: f.Data, Mode: f.Mode})
			}
		}
		for _, f := range p.Files {
			packages = append(packages, krm.File{Path: path.Join(p.Name, f.Path), Data: f.Data, Mode: f.Mode})
		}
	}
	staged := fleet.ImportedTo{Fleet: fleet.UsualName, APIVersion: importer.APIVersion}
	for _, r := range []struct {
		name  string
		files []krm.File
		to    **v1alpha1.Repository
	}{{"catalog", packages, &staged.Catalog}, {"source", sources, &staged.Source}} {
		if err := commitCopy(ctx, filepath.Join(dir, r.name), r.files, n.tags()); err != nil {
			return err
		}
		if *r.to, err = fleet.NewRepository(n.to.Source.ObjectMeta, filepath.Join(dir, r.name)+"@main", r.name == "source"); err != nil {
			return err
		}
		(*r.to).Name = r.name
	}
	files, err := staged.Files(n.described(), staged.Catalog, staged.Source)
	if err != nil {
		return err
	}
	for i := range files {
		files[i].Path = filepath.Join(dir, "fleet", filepath.FromSlash(files[i].Path))
	}
	if _, err := fleet.WriteAll(files); err != nil {
		return err
	}
	return n.compare(ctx, dir, was)
}

func (n *importRun) tags() (out []string) {
	for _, p := range n.result.Packages {
		out = append(out, p.Name+"/v1")
	}
	return out
}

// compare plans a copy of the fleet, and compares what it builds with the folders.
func (n *importRun) compare(ctx context.Context, dir string, was map[string]map[string][]byte) error {
	a, state := n.app, n.State
	flags := a.fleet
	defer func() { a.fleet, a.State = flags, state }()
	a.fleet = fleetFlags{}
	a.addBuild(&cobra.Command{}) // as plan builds without flags
	a.fleet.location, a.fleet.cacheDir, a.State = filepath.Join(dir, "fleet"), filepath.Join(dir, "cache"), filepath.Join(dir, "state")
	a.fleet.preview, a.fleet.packages = true, true
	p := a.progress()
	defer p.stop()
	s, err := a.open(ctx, p)
	if err != nil {
		return err
	}
	plan, err := s.engine.Plan(ctx)
	if err != nil {
		return err
	}
	if problems := problemsOf(plan); len(problems) > 0 {
		return errors.New(problems[0])
	}
	n.proof.Others = []importer.Skipped{}
	for _, i := range plan.Items {
		files, ok := was[i.Package]
		if !ok || i.Err == nil && i.After == nil { // its tag
			continue
		}
		n.proof.Variants++
		if why := differs(i, files); why != "" {
			n.proof.Others = append(n.proof.Others, importer.Skipped{Path: i.Package, Why: why})
			continue
		}
		n.proof.Identical++
	}
	return nil
}

// differs names the first file in which a variant is not its folder.
func differs(i *reconcile.Item, files map[string][]byte) string {
	if i.Err != nil {
		return i.Err.Error()
	}
	for name, data := range files {
		if f, ok := i.After.Read(name); !ok {
			return name + " is missing"
		} else if !bytes.Equal(f.Data, data) {
			return name + " differs"
		}
	}
	return ""
}

// commitCopy makes a Git repository of files.
func commitCopy(ctx context.Context, dir string, files []krm.File, tags []string) error {
	for i := range files {
		name := filepath.Join(dir, filepath.FromSlash(files[i].Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		write := func() error { return os.WriteFile(name, files[i].Data, 0o600) }
		if files[i].Mode == krm.Symlink {
			write = func() error { return os.Symlink(string(files[i].Data), name) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	git := [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all", "--force", "."}, {"commit", "--quiet", "--no-verify", "--message=import"}}
	for _, tag := range tags {
		git = append(git, []string{"tag", tag})
	}
	for _, args := range git {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.autocrlf=false", "-c", "gc.auto=0", "-c", "commit.gpgSign=false"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_DIR="+filepath.Join(dir, ".git"), "GIT_WORK_TREE="+dir, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=variform", "GIT_AUTHOR_EMAIL=variform", "GIT_COMMITTER_NAME=variform", "GIT_COMMITTER_EMAIL=variform")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// importView is what -o json prints.
type importView struct {
	Folders  int                `json:"folders"`
	Files    int                `json:"files"`
	Packages []importedView     `json:"packages"`
	Skipped  []importer.Skipped `json:"skipped"`
	Proof    proof              `json:"proof"`
	Written  int                `json:"written"`
}

type importedView struct {
	Name       string                `json:"name"`
	Files      int                   `json:"files"`
	Fields     int                   `json:"fields"`
	Explained  int                   `json:"explained"`
	Others     int                   `json:"otherResources"`
	Parameters []*importer.Parameter `json:"parameters"`
	Edits      []importer.Edit       `json:"edits"`
	Folders    []importedFolder      `json:"folders"`
}

type importedFolder struct {
	Path     string `json:"path"`
	Distance int    `json:"distance"`
	Others   int    `json:"otherResources"`
}

func (n *importRun) view(written int) importView {
	v := importView{Folders: n.result.Folders, Files: n.result.Files, Skipped: n.result.Skipped, Proof: n.proof, Written: written}
	for _, p := range n.result.Packages {
		out := importedView{p.Name, len(p.Files), p.Fields, p.Explained, p.Others, p.Parameters, p.Edits, nil}
		for _, f := range p.Folders {
			out.Folders = append(out.Folders, importedFolder{f.Folder.Path, f.Fields - f.Explained, f.Others})
		}
		v.Packages = append(v.Packages, out)
	}
	return v
}

func (n *importRun) print(written int) error {
	if n.output != "table" {
		return encodeAs(n.Out, n.output, "Import", n.view(written))
	}
	var b strings.Builder
	line := func(head, format string, args ...any) {
		_, _ = fmt.Fprintf(&b, "%-18s  %s\n", head, oneLine(fmt.Sprintf(format, args...)))
	}
	_, _ = fmt.Fprintf(&b, "%s below %s, %s\n", folders(n.result.Folders), oneLine(path.Join(n.in.Repository.Spec.Git.Directory, ".")+"/"), thousands(n.result.Files)+" files")
	for _, p := range n.result.Packages {
		_, _ = b.WriteString("\n")
		own, given, follow, contradictions := parametersOf(p)
		line("package "+p.Name, "%s   %s   base + %s", folders(len(p.Folders)), count.Of(len(p.Files), "file"), count.Of(len(given), "parameter"))
		line("  from the folder", "%s", strings.Join(own, ", "))
		if len(given) > 0 {
			line("  parameters", "%s", strings.Join(given, " · "))
		}
		if len(follow) > 0 {
			line("  follow", "%s", strings.Join(follow, " · "))
		}
		few := 0
		for _, v := range p.Folders {
			if v.Fields-v.Explained <= 2 {
				few++
			}
		}
		line("  explained", "%.1f %% of %s fields; %s have ≤ 2 edits", 100*float64(p.Explained)/float64(max(p.Fields, 1)), thousands(p.Fields), folders(few))
		for _, c := range contradictions {
			line("  contradictions", "%s", c)
		}
		if p.Others > 0 {
			line("  not shared", "%s", thousands(p.Others)+" resources that few folders have")
		}
	}
	if len(n.result.Skipped) > 0 {
		_, _ = b.WriteString("\n")
		for _, s := range n.result.Skipped[:min(len(n.result.Skipped), 9)] {
			line("left alone", "%s: %s", s.Path, s.Why)
		}
		if more := len(n.result.Skipped) - 9; more > 0 {
			line("", "and %d more; -o json lists them", more)
		}
	}
	_, _ = fmt.Fprintf(&b, "\nproof: %s of %s identical to the byte after adoption%s\n", thousands(n.proof.Identical), thousands(n.proof.Variants), n.others())
	if err := n.write(b.String(), func(string) string { return "" }); err != nil {
		return err
	}
	return n.next(written)
}

// others names the variants that differ from their folders.
func (n *importRun) others() string {
	if len(n.proof.Others) == 0 {
		return ""
	}
	var out []string
	for _, o := range n.proof.Others[:min(len(n.proof.Others), 3)] {
		out = append(out, oneLine(o.Path+" ("+o.Why+")"))
	}
	if more := len(n.proof.Others) - 3; more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return "; the others: " + strings.Join(out, ", ")
}

// next prints what was written, and what to do.
func (n *importRun) next(written int) error {
	catalog, to := oneLine(n.catalog), oneLine(n.importFlags.to)
	switch {
	case n.dryRun:
		_, err := fmt.Fprintf(n.Out, "dry run: %s would be below %s and %s\n", thousands(len(n.files))+" files", to, catalog)
		return err
	case written == 0:
		_, err := fmt.Fprintf(n.Out, "nothing to do: all files exist\n")
		return err
	}
	git := n.to.Catalog.Spec.Git
	var tags, push []string
	for _, tag := range n.tags() {
		tags = append(tags, "git -C "+catalog+" tag "+path.Join(git.Directory, tag))
		push = append(push, path.Join(git.Directory, tag))
	}
	_, err := fmt.Fprintf(n.Out, "wrote %s below %s and %s\nnext: git -C %s add . && git -C %s commit -m 'Import %s' && %s\n      git -C %s push origin %s %s    # if the catalog has a remote\n      variform plan -f %s\n",
		thousands(written)+" files", to, catalog, catalog, catalog, n.pkg, strings.Join(tags, " && "), catalog, git.Branch, strings.Join(push, " "), to)
	return err
}

// parametersOf are the parameters of a package as the screen lists them.
func parametersOf(p *importer.Package) (own, given, follow, contradictions []string) {
	for _, q := range p.Parameters {
		text := fmt.Sprintf("%s %s", q.Name, thousands(len(q.Values)))
		switch {
		case q.Path:
			own = append(own, q.Name)
		case q.Follows == "":
			given = append(given, text)
		default:
			follow = append(follow, q.Name+" from "+q.Follows)
		}
		if len(q.Contradictions) > 0 {
			var names []string
			for _, c := range q.Contradictions {
				names = append(names, c.Folder)
			}
			contradictions = append(contradictions, fmt.Sprintf("%d: %s contradicts %s: %s", len(names), q.Name, q.Follows, folded(review.Ranges(names))))
		}
	}
	return own, given, follow, contradictions
}

func folders(n int) string {
	if n == 1 {
		return "1 folder"
	}
	return thousands(n) + " folders"
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
