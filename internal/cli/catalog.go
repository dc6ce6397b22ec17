package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/catalog"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/pkgdir"
	"github.com/variform/variform/internal/session"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/resolver"
)

func newCatalog(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "catalog",
		Short: "list, change and fill Catalogs",
	}
	c.AddCommand(newCatalogList(a), newCatalogEdit(a, "add"), newCatalogEdit(a, "remove"), newCatalogImport(a))
	return c
}

// entryView is a version in a catalogue as json and yaml print it.
type entryView struct {
	Package     string            `json:"package"`
	Version     string            `json:"version"`
	Interfaces  []string          `json:"interfaces,omitempty"`
	DefaultFor  []string          `json:"defaultFor,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Keywords    []string          `json:"keywords,omitempty"`
	Description string            `json:"description,omitempty"`
	Catalog     string            `json:"catalog"`
	Source      string            `json:"source"`
	Tag         string            `json:"tag"`
	Digest      string            `json:"digest"`
}

func newCatalogList(a *app) *cobra.Command {
	var q catalog.Query
	c := &cobra.Command{
		Use:   "list",
		Short: "list the versions of packages and the default implementations of interfaces",
		Args:  noNames,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := a.catalogues(c.Context())
			if err != nil {
				return err
			}
			var passed []*resolver.VersionError
			for _, e := range r.wanted.Unusable {
				if e.Why == "" {
					passed = append(passed, e)
					continue
				}
				r.wrong++
				a.fail("error: %v", e)
			}
			a.warnOnce(depend.Warnings(passed))
			views := []entryView{}
			for i := range r.wanted.Entries {
				if e := &r.wanted.Entries[i]; q.Match(e) {
					views = append(views, viewOfEntry(e, r.wanted.Catalogs))
				}
			}
			if err := a.printEntries(views); err != nil {
				return err
			}
			return r.findings()
		},
	}
	a.addFleet(c)
	a.addOutput(c)
	c.Flags().StringToStringVar(&q.Labels, "label", nil, "only packages with this label, KEY=VALUE")
	c.Flags().StringVar(&q.Interface, "interface", "", "only packages that provide this interface")
	c.Flags().StringVar(&q.Name, "name", "", "only packages whose name contains this")
	c.Flags().StringVar(&q.Keyword, "keyword", "", "only packages with this keyword")
	return c
}

func viewOfEntry(e *catalog.Entry, catalogs []*v1alpha1.Catalog) entryView {
	v := entryView{
		Package: e.Package.Package, Version: e.Version, Labels: e.Labels, Keywords: e.Keywords, Description: e.Description,
		Catalog: e.Catalog, Source: e.Source, Tag: e.Tag, Digest: e.Digest,
	}
	for _, p := range e.Provides {
		if p.Interface == "" {
			continue
		}
		v.Interfaces = append(v.Interfaces, p.Interface)
		if slices.ContainsFunc(catalogs, func(c *v1alpha1.Catalog) bool { return c.Spec.Defaults[p.Interface] == v.Package }) {
			v.DefaultFor = append(v.DefaultFor, p.Interface)
		}
	}
	return v
}

func (a *app) printEntries(views []entryView) error {
	switch a.output {
	case "json", "yaml":
		return encodeAs(a.Out, a.output, "PackageList", map[string]any{"packages": views})
	case "name":
		for _, v := range views {
			if err := a.line("%s@%s", v.Package, v.Version); err != nil {
				return err
			}
		}
		return nil
	}
	header := []string{"PACKAGE", "VERSION", "INTERFACES", "DESCRIPTION"}
	if a.output == "wide" {
		header = append(header, "CATALOG", "SOURCE", "TAG", "DIGEST")
	}
	var rows [][]string
	for _, v := range views {
		interfaces := slices.Clone(v.Interfaces)
		for i, id := range interfaces {
			if slices.Contains(v.DefaultFor, id) {
				interfaces[i] = id + " (default)"
			}
		}
		row := []string{v.Package, v.Version, strings.Join(interfaces, ", "), v.Description}
		if a.output == "wide" {
			row = append(row, v.Catalog, v.Source, v.Tag, v.Digest)
		}
		rows = append(rows, row)
	}
	return a.table(header, rows)
}

// newCatalogEdit adds to a Catalog's file, or takes away from it; nothing else
// in the file changes.
func newCatalogEdit(a *app, verb string) *cobra.Command {
	var e catalog.Edit
	var file string
	adding := verb == "add"
	short, example := "add a source, packages or a default to a Catalog's file", `  variform catalog add --file catalog.yaml --package cert-manager \
    --git https://git.example.com/packages.git
  variform catalog add --file catalog.yaml --package cert-manager \
    --interface https://example.com/certificates`
	if !adding {
		short, example = "remove a source, packages or a default from a Catalog's file", `  variform catalog remove --file catalog.yaml \
    --git https://git.example.com/packages.git
  variform catalog remove --file catalog.yaml \
    --interface https://example.com/certificates`
	}
	c := &cobra.Command{
		Use: verb, Short: short, Example: example, Args: noNames,
		RunE: func(*cobra.Command, []string) error {
			data, err := os.ReadFile(file)
			if err != nil && (!adding || !errors.Is(err, os.ErrNotExist)) {
				return err
			}
			out, err := editCatalog(data, filepath.Base(file), func(k *v1alpha1.Catalog) error {
				if adding {
					return e.Add(k)
				}
				return e.Remove(k)
			})
			if err != nil {
				return err
			}
			return os.WriteFile(file, out, 0o644)
		},
	}
	f := c.Flags()
	f.StringVar(&file, "file", "", "the Catalog's file (made by add where it is missing)")
	f.StringVar(&e.Git, "git", "", "a Git repository: its URL or path")
	f.StringVar(&e.Directory, "directory", "", "the folder of the packages in the Git repository")
	f.StringVar(&e.OCI, "oci", "", "a repository of an OCI registry")
	f.StringSliceVar(&e.Packages, "package", nil, "packages of the source (default: all), or the package that implements --interface")
	f.StringVar(&e.Interface, "interface", "", "the interface whose default implementation is meant")
	_ = c.MarkFlagRequired("file")
	_ = c.MarkFlagFilename("file", "yaml", "yml")
	return c
}

// editCatalog changes the one Catalog of a file and keeps the rest of its bytes.
func editCatalog(data []byte, name string, change func(*v1alpha1.Catalog) error) ([]byte, error) {
	if len(data) == 0 {
		data = []byte("apiVersion: " + v1alpha1.APIVersion + "\nkind: " + v1alpha1.KindCatalog + "\nmetadata:\n  name: catalog\nspec: {}\n")
	}
	p, err := krm.Parse([]krm.File{{Path: name, Data: data}})
	if err != nil {
		return nil, err
	}
	var found *krm.Resource
	for _, r := range p.Resources() {
		if r.Kind() == v1alpha1.KindCatalog && r.APIVersion() == v1alpha1.APIVersion {
			if found != nil {
				return nil, fmt.Errorf("%s holds several Catalogs: give each a file of its own", name)
			}
			found = r
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s holds no Catalog (%s)", name, v1alpha1.APIVersion)
	}
	obj, report := api.ParseNode(found.Node(), api.WithFile(name))
	if err := report.Err(); err != nil {
		return nil, err
	}
	k := obj.(*v1alpha1.Catalog)
	if err := change(k); err != nil {
		return nil, err
	}
	if err := catalog.Write(found, k); err != nil {
		return nil, err
	}
	files, err := p.Files()
	if err != nil {
		return nil, err
	}
	return files[0].Data, nil
}

// importing is what `variform catalog import` was asked for.
type importing struct{ dry, anew bool }

func newCatalogImport(a *app) *cobra.Command {
	var f importing
	c := &cobra.Command{
		Use:   "import [DIR|URL//dir@ref]",
		Short: "write the PackageManifests of packages that have none",
		Long: `Import writes package.yaml for each kpt package in DIR (default: the current folder)
that has none. It takes the name from the folder, the version from the upstreamLock,
and the provided APIs from the CustomResourceDefinitions. A package needs the APIs of
its resources that neither it nor Kubernetes serves. Import also turns documents of
Carvel, Crossplane and Porter into manifests. With -o yaml or json, and for packages
in Git, it prints the manifests and writes nothing. Read the manifests before you
publish them, because a package's parameters and outputs cannot be derived.`,
		Example: `  variform catalog import packages/
  variform catalog import \
    https://git.example.com/packages.git//catalog@main > manifests.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.importCatalog(c.Context(), f, append(args, ".")[0])
		},
	}
	a.addFormats(c, "table", []string{"table", "yaml", "json"})
	c.Flags().BoolVar(&f.dry, "dry-run", false, "print the files that import would write, and write nothing")
	c.Flags().BoolVar(&f.anew, "force", false, "overwrite existing manifests, with everything that you changed in them")
	a.addCache(c)
	return c
}

func (a *app) importCatalog(ctx context.Context, f importing, from string) error {
	loc, err := source.ParseLocation(from)
	if err != nil {
		return err
	}
	files, err := a.filesToImport(ctx, loc)
	if err != nil {
		return fmt.Errorf("reading %s: %w", loc, err)
	}
	found := catalog.Import(files, f.anew)
	for _, n := range found.Notes {
		a.note("%s", n)
	}
	for _, p := range found.Problems {
		a.fail("error: %v", p)
	}
	switch {
	case a.output != "table":
		err = objects(a.Out, a.output, asAny(found.Manifests))
	case loc.Git():
		err = objects(a.Out, "yaml", asAny(found.Manifests))
	default:
		err = a.writeManifests(loc.Folder, files, found.Files, f.dry)
	}
	if err != nil || len(found.Problems) == 0 {
		return err
	}
	return findings{count.Of(len(found.Problems), "problem")}
}

func asAny[T any](list []T) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

func (a *app) filesToImport(ctx context.Context, loc source.Location) ([]krm.File, error) {
	if !loc.Git() {
		return pkgdir.Read(loc.Folder, a.note)
	}
	cache, err := a.fleet.cache()
	if err != nil {
		return nil, err
	}
	return session.GitTree{Store: a.gitStore(cache)}.ReadTree(ctx, loc.URL, loc.Ref, loc.Dir)
}

func (a *app) writeManifests(dir string, there, manifests []krm.File, dry bool) error {
	write := pkgdir.Write
	if dry {
		write = pkgdir.Changed
	}
	before := slices.DeleteFunc(there, func(f krm.File) bool {
		return !slices.ContainsFunc(manifests, func(m krm.File) bool { return m.Path == f.Path })
	})
	changed, err := write(dir, before, manifests)
	if err != nil {
		return err
	}
	for _, file := range changed {
		if err := a.line("%s", file); err != nil {
			return err
		}
	}
	if len(changed) == 0 {
		a.note("no manifest is lacking")
	}
	return nil
}
