package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/ocirepo"
	"github.com/variform/variform/internal/pkgdir"
	"github.com/variform/variform/internal/session"
	"github.com/variform/variform/internal/source"
)

// registries opens OCI registries, with the user's Docker keychain.
func (a *app) registries(cache string) *ocirepo.Store {
	return ocirepo.NewStore(ocirepo.Options{CacheDir: cache, Log: a.log(), Warn: a.warn, Budget: a.budget()})
}

// pushFlags are those of push.
type pushFlags struct {
	from  string
	force bool
}

func newPush(a *app) *cobra.Command {
	var f pushFlags
	c := &cobra.Command{
		Use:   "push [DIR] IMAGE[:TAG]",
		Short: "publish a package in an OCI registry",
		Long: `Push publishes the kpt package in DIR (default: the current folder), or with --from a
revision in Git, as an OCI image with one layer, and prints IMAGE@DIGEST. A Repository
of type oci serves it as an upstream.

Without a TAG the package becomes the next revision, vN. Pushing the same package to a
tag again changes nothing; a different package needs --force. The digest depends only
on the files and the revision's number. Push omits .git folders and the files that
.krmignore names. Log in with docker login.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 2 {
				if dir = args[0]; f.from != "" {
					return fmt.Errorf("--from %s and %s: give one of them", f.from, dir)
				}
			}
			return a.push(c.Context(), f, dir, args[len(args)-1])
		},
	}
	c.Flags().StringVar(&f.from, "from", "", "take the package from Git: URL//package[@revision] (default revision: the latest Published)")
	c.Flags().BoolVar(&f.force, "force", false, "move an existing TAG to this package")
	a.addCache(c)
	return c
}

func (a *app) push(ctx context.Context, f pushFlags, dir, image string) error {
	cache, err := a.fleet.cache()
	if err != nil {
		return err
	}
	pkg, err := a.packageToPush(ctx, f, dir, cache)
	if err != nil {
		return fmt.Errorf("reading %s: %w", cmp.Or(f.from, dir), err)
	}
	store := a.registries(cache)
	var pushed ocirepo.Pushed
	switch {
	case strings.Contains(path.Base(image), ":"):
		pushed, err = store.Push(ctx, image, pkg, ocirepo.PushOptions{Force: f.force})
	case f.force:
		return fmt.Errorf("--force moves a tag: name it, %s:TAG", image)
	default:
		pushed, err = store.PushNext(ctx, image, pkg)
	}
	if err != nil {
		return err
	}
	if pushed.Existed {
		a.note("tag %s holds this package already", pushed.Tag)
	} else {
		a.note("pushed as tag %s", pushed.Tag)
	}
	_, err = fmt.Fprintln(a.Out, pushed.Name)
	return err
}

func (a *app) packageToPush(ctx context.Context, f pushFlags, dir, cache string) (*krm.Package, error) {
	read := func() ([]krm.File, error) { return pkgdir.Read(dir, a.note) }
	if f.from != "" {
		read = func() ([]krm.File, error) { return a.filesInGit(ctx, f.from, cache) }
	}
	files, err := read()
	if err != nil {
		return nil, err
	}
	pkg, err := krm.Parse(pkgdir.Kept(files, a.note))
	if err != nil {
		return nil, err
	}
	_, err = mutate.Kptfile(pkg, "")
	return pkg, err
}

// filesInGit reads a package at a revision, found as upstreams are.
func (a *app) filesInGit(ctx context.Context, from, cache string) ([]krm.File, error) {
	loc, err := source.ParseLocation(from)
	if err != nil {
		return nil, err
	}
	if !loc.Git() || loc.Dir == "" {
		return nil, errors.New("write it as URL//package[@revision]")
	}
	store := a.gitStore(cache)
	repo, err := store.Open(ctx, loc.URL)
	if err != nil {
		return nil, err
	}
	at, err := repo.Resolve(ctx, gitrepo.Query{Package: loc.Dir, Revision: loc.Ref})
	if err != nil {
		return nil, err
	}
	return session.GitTree{Store: store}.ReadTree(ctx, loc.URL, at.Commit.String(), at.Path)
}
