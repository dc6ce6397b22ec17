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
		Short: "Write the digests of function images into Kptfiles",
		Long: `Pin looks up the digest that each function image's tag points at and writes it
into the Kptfiles below DIR (the current folder by default), as image@digest in
place of the tag. What is pinned already stays; nothing else in a file changes.
Pinned images run in containers, also those that variform has built in.

Nothing is written while any image cannot be pinned. Log in with docker login.`,
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
	c.Flags().StringSliceVar(&a.fleet.images, "allow-image", nil, "pin images of this `pattern` too (default: our functions' and kpt's)")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would be pinned and write nothing")
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
