package cli

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/pkgdir"
	"github.com/variform/variform/internal/render"
	"github.com/variform/variform/internal/session"
)

func newPin(a *app) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "pin [DIR]...",
		Short: "pin function images in Kptfiles to their digests",
		Long: `Pin replaces the tag of each function image in the Kptfiles below DIR (default: the
current folder) with the digest that the tag points at: image@digest. Pinned images
and everything else in the files do not change. A pinned image runs in a container,
even if variform has the function built in.

If one image cannot be pinned, pin writes nothing. Log in with docker login.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			for _, dir := range args {
				if err := a.pin(c.Context(), dir, dry); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&a.fleet.images, "allow-image", nil, "also pin images that match this `pattern` (default: variform's and kpt's functions)")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be pinned, and write nothing")
	return c
}

func (a *app) pin(ctx context.Context, dir string, dry bool) error {
	files, err := pkgdir.Read(dir, a.note)
	if err != nil {
		return err
	}
	before := slices.DeleteFunc(files, func(f krm.File) bool { return path.Base(f.Path) != "Kptfile" })
	if len(before) == 0 {
		return fmt.Errorf("%s: no Kptfile there or below: give the folder of a package", dir)
	}
	pkg, err := krm.Parse(before)
	if err != nil {
		return err
	}
	opts := render.Options{AllowedImages: session.AllowedImages(a.fleet.images...), Builtins: function.Builtin}
	pins, err := render.Pin(ctx, pkg, opts, a.registries("").ImageDigest)
	if err != nil {
		return findings{fmt.Sprintf("nothing was pinned in %s:\n%v", dir, err)}
	}
	after, err := pkg.Files()
	if err != nil {
		return err
	}
	write := pkgdir.Write
	if dry {
		write = pkgdir.Changed
	}
	if _, err := write(dir, before, after); err != nil {
		return err
	}
	return a.printPins(dir, pins)
}

func (a *app) printPins(dir string, pins []render.Pinned) error {
	had, builtin := 0, 0
	for _, p := range pins {
		if p.Was == p.Image {
			had++
			continue
		}
		if p.Builtin {
			builtin++
		}
		file := filepath.ToSlash(filepath.Join(dir, filepath.FromSlash(p.File)))
		if err := a.line("%s: %s: %s to %s", file, p.Field, p.Was, p.Image); err != nil {
			return err
		}
	}
	a.note("%s: %d pinned, %d pinned before", dir, len(pins)-had, had)
	if builtin > 0 {
		a.note("%d of them ran built in so far and need a container engine from now on", builtin)
	}
	return nil
}
