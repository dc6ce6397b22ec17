package cli

import (
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
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver"
)

func newCatalog(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "catalog",
		Short: "List what the Catalogs have, or change a Catalog's file",
	}
	c.AddCommand(newCatalogList(a), newCatalogEdit(a, "add"), newCatalogEdit(a, "remove"))
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
		Short: "List the versions of packages, the default implementation of an interface marked",
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
	c.Flags().StringVar(&q.Name, "name", "", "only packages whose name holds this")
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
		return encode(a.Out, a.output, map[string]any{"packages": views})
	case "name":
		for _, v := range views {
			if _, err := fmt.Fprintf(a.Out, "%s@%s\n", v.Package, v.Version); err != nil {
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
	return table(a.Out, header, rows)
}

// newCatalogEdit adds to a Catalog's file, or takes away from it; nothing else
// in the file changes.
func newCatalogEdit(a *app, verb string) *cobra.Command {
	var e catalog.Edit
	var file string
	adding := verb == "add"
	short, example := "Add a source, packages or a default implementation to a Catalog's file", `  variform catalog add --file catalog.yaml --git https://git.example.com/packages.git --package cert-manager
  variform catalog add --file catalog.yaml --package cert-manager --interface https://example.com/certificates`
	if !adding {
		short, example = "Remove a source, packages or a default implementation from a Catalog's file", `  variform catalog remove --file catalog.yaml --git https://git.example.com/packages.git
  variform catalog remove --file catalog.yaml --interface https://example.com/certificates`
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
