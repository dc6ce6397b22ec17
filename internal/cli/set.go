package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/fleet"
)

func newSet(a *app) *cobra.Command {
	var version string
	c := &cobra.Command{
		Use:   "set NAME... --version VERSION",
		Short: "change the version of sets and variants in files",
		Long: `Set writes VERSION into the upstream of each PackageVariantSet or PackageVariant NAME,
in the files of the fleet's folder: into spec.upstream.workspaceName where that is
there, else into spec.upstream.revision. Comments, order and everything else in the
files stay. It commits nothing and does not look whether the package has that version:
run plan next.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, names []string) error {
			if version == "" {
				return fmt.Errorf("which version: give it with --version; %s lists what is newer", a.fleet.command("outdated"))
			}
			for _, name := range names {
				if err := set(c.Context(), a, name, version); err != nil {
					return err
				}
			}
			_, err := fmt.Fprintf(a.Out, "next: %s\n", a.fleet.command("plan"))
			return err
		},
	}
	c.Flags().StringVar(&version, "version", "", "the `version` to set: a number, a tag, a branch, a commit, latest, or a range of versions")
	a.addFleet(c)
	return c
}

// set changes one set or variant. The files are read for each: the one before may have changed.
func set(ctx context.Context, a *app, name, version string) error {
	in, err := a.load(ctx)
	if err != nil {
		return err
	}
	folder := in.files.Folder()
	if folder == "" {
		return fmt.Errorf("%s is in Git: set writes files, so clone it, and give the folder with -f", a.fleet.location)
	}
	f, err := in.files.Fleet(ctx)
	if err != nil {
		return err
	}
	to, err := fleet.SetVersion(in.files, f, name, version)
	if err != nil {
		return err
	}
	to.At.File = filepath.Join(folder, filepath.FromSlash(to.At.File))
	if to.Was == to.Now {
		_, err = fmt.Fprintf(a.Out, "%s: %s %s has %s already\n", to.At, to.Kind, name, to.Now)
		return err
	}
	if err := os.WriteFile(to.At.File, to.Text, 0o644); err != nil { // the file is there, and keeps its mode
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%s: %s %s: %s → %s\n", to.At, to.Kind, name, to.Was, to.Now)
	return err
}
