package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/source"
)

// creating is what the subcommands of create share.
type creating struct {
	app      *app
	meta     metav1.ObjectMeta
	upstream string
	version  string
	adopt    bool
}

func newCreate(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "create",
		Short: "print a repository, set, variant or installation",
		Long: `Create prints the YAML of one object of a fleet, checked as plan checks it. Append it to
a file in the fleet's folder. It reads and writes no file.`,
		Example: `  variform create repository c004 --git https://git.example.com/c004.git \
    --label env=prod --deployment >> fleet/repositories.yaml
  variform create set web-app --upstream catalog/web-app --version v2 \
    -l env=prod > fleet/web-app.yaml
  variform create variant web-app --upstream catalog/web-app --to c001`,
	}
	f := &creating{app: a}
	c.AddCommand(newCreateRepository(f), newCreateSet(f), newCreateVariant(f), newCreateInstallation(f))
	for _, sub := range c.Commands() {
		sub.Flags().StringVar(&f.meta.Namespace, "namespace", "", "namespace of the object (default: default)")
	}
	return c
}

// command is one subcommand: make gives the object.
func (f *creating) command(kind, short, long, example string, make func() (any, error)) *cobra.Command {
	return &cobra.Command{
		Use: kind + " NAME", Short: short, Long: long, Example: example, Args: oneName,
		RunE: func(_ *cobra.Command, args []string) error {
			f.meta.Name = args[0]
			obj, err := make()
			if err != nil {
				return err
			}
			text, err := fleet.Document(obj)
			if err != nil {
				return err
			}
			_, err = f.app.Out.Write(text)
			return err
		},
	}
}

// oneName takes the name of what is to be created.
func oneName(c *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return fmt.Errorf("%s takes one NAME, not %d: see %q", c.CommandPath(), len(args), c.CommandPath()+" --help")
}

// addUpstream adds the flags of what is made from a package.
func (f *creating) addUpstream(c *cobra.Command) {
	c.Flags().StringVar(&f.upstream, "upstream", "", "the package, as `REPOSITORY/PACKAGE`")
	c.Flags().StringVar(&f.version, "version", "", "its `version`: a number, a tag, a branch, a commit, latest, or a range (default: the highest Published one)")
	c.Flags().BoolVar(&f.adopt, "adopt", false, "take over packages that exist there and have no owner")
	_ = c.MarkFlagRequired("upstream")
}

func newCreateRepository(f *creating) *cobra.Command {
	var git, oci string
	var deployment bool
	c := f.command("repository", "print a Repository: a place that holds packages", `Repository prints a Repository: a repository with packages to take, or a cluster's.
Sets select the clusters' Repositories by their labels.`,
		`  variform create repository catalog --git https://git.example.com/catalog.git
  variform create repository c004 --label env=prod --deployment \
    --git https://git.example.com/clusters.git//clusters/c004@main
  variform create repository packages --oci registry.example.com/packages`, func() (any, error) {
			if (git == "") == (oci == "") {
				return nil, errors.New("give the address of the packages: --git for a Git repository, or --oci for a registry")
			}
			if oci != "" {
				return fleet.NewOCIRepository(f.meta, oci), nil
			}
			r, err := fleet.NewRepository(f.meta, git, deployment)
			if err == nil { // nobody knows which file gets it
				r.Spec.Git.Repo = source.Absolute(r.Spec.Git.Repo)
			}
			return r, err
		})
	c.Flags().StringVar(&git, "git", "", "a Git repository: `URL[//dir][@branch]`, or its path, which is printed absolute")
	c.Flags().StringVar(&oci, "oci", "", "a repository of an OCI registry, for packages to take")
	c.Flags().StringToStringVar(&f.meta.Labels, "label", nil, "a label, `KEY=VALUE`; sets select by labels")
	c.Flags().Lookup("label").DefValue = "" // help names no default
	c.Flags().BoolVar(&deployment, "deployment", false, "what is Published there is deployed: unmet readiness gates block approval")
	return c
}

func newCreateSet(f *creating) *cobra.Command {
	var repositories []string
	var selector string
	c := f.command("set", "print a PackageVariantSet: one package for many repositories", `Set prints a PackageVariantSet: one variant of a package for each Repository that it
selects by label or names.`,
		`  variform create set web-app --upstream catalog/web-app -l env=prod
  variform create set web-app --upstream catalog/web-app --version '>=1.4 <2' \
    --repository c001,c002`, func() (any, error) {
			up, err := fleet.Upstream(f.upstream, f.version)
			if err != nil {
				return nil, err
			}
			return fleet.NewSet(f.meta, up, repositories, selector, f.adopt)
		})
	f.addUpstream(c)
	c.Flags().StringVarP(&selector, "selector", "l", "", "the Repositories with these labels, such as env=prod,region!=us")
	c.Flags().StringSliceVar(&repositories, "repository", nil, "the Repositories with these names")
	return c
}

func newCreateVariant(f *creating) *cobra.Command {
	var to string
	c := f.command("variant", "print a PackageVariant: one package for one repository", `Variant prints a PackageVariant: a package in one Repository.`,
		`  variform create variant web-app --upstream catalog/web-app --to c001
  variform create variant web-eu --upstream catalog/web-app --version v2 \
    --to c001/web-eu`, func() (any, error) {
			up, err := fleet.Upstream(f.upstream, f.version)
			if err != nil {
				return nil, err
			}
			return fleet.NewVariant(f.meta, up, to, f.adopt), nil
		})
	f.addUpstream(c)
	c.Flags().StringVar(&to, "to", "", "where it goes, as `REPOSITORY[/PACKAGE]` (default: the upstream's name of it)")
	_ = c.MarkFlagRequired("to")
	return c
}

func newCreateInstallation(f *creating) *cobra.Command {
	var target, pkg string
	c := f.command("installation", "print an Installation: a package with what it needs", `Installation prints an Installation: a package of the fleet's Catalogs for one target,
with the packages that it needs.`,
		`  variform create installation shop --target c001 --package storefront
  variform create installation shop --target c001/shop --package storefront \
    --version '>=1.4 <2'`, func() (any, error) {
			return fleet.NewInstallation(f.meta, target, pkg, f.version), nil
		})
	c.Flags().StringVar(&target, "target", "", "the target: a `REPOSITORY[/FOLDER]`")
	c.Flags().StringVar(&pkg, "package", "", "the package, by its name in the Catalogs")
	c.Flags().StringVar(&f.version, "version", "", "a version, a range of versions, or a digest (default: the newest)")
	_ = c.MarkFlagRequired("target")
	_ = c.MarkFlagRequired("package")
	return c
}
