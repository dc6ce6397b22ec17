package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/fleet"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
)

// sourceOf returns where the files come from that the command reads. A commit that
// cannot be found is left out: a screen does not fail for its first line.
func sourceOf(ctx context.Context, in inputs, name string) review.Source {
	at := in.files.Location()
	out := review.Source{Name: cmp.Or(name, at.String()), Read: time.Now().UTC().Truncate(time.Second)}
	if !at.Git() {
		out.Commit, out.Modified = gitrepo.WorkTree(ctx, at.Folder)
		return out
	}
	repo, err := in.store.Open(ctx, at.URL)
	if err != nil {
		return out
	}
	if commit, err := gitrepo.Named(repo, at.Ref); err == nil {
		out.Commit = commit.String()
	}
	return out
}

// headline is the first line of a screen: the fleet, and how much the screen is about.
func headline(from review.Source, much string) string { return from.String() + "    " + much }

// size counts the sets, variants and repositories of a plan.
func size(p *reconcile.Plan) string {
	type place struct{ namespace, name string }
	sets, repositories := map[place]bool{}, map[place]bool{}
	for _, i := range p.Items {
		if i.Set != "" {
			sets[place{i.Namespace, i.Set}] = true
		}
		repositories[place{i.Namespace, i.Repository}] = true
	}
	parts := []string{count.Of(len(fleet.ByVariant(p.Items)), "variant"), count.Of(len(repositories), "repository", "repositories")}
	if len(sets) > 0 {
		parts = append([]string{count.Of(len(sets), "set")}, parts...)
	}
	return strings.Join(parts, " · ")
}

// printHead prints the first line of a screen, and an empty one before its tables.
func printHead(a *app, from review.Source, much string) error {
	return a.write(headline(from, much)+"\n\n", func(string) string { return bold })
}
