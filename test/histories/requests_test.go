package histories

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// TestHistoriesOfRequests plays histories in which people work on a forge.
func TestHistoriesOfRequests(t *testing.T) {
	gittest.RequireGit(t)
	p := newPlayer(t, *choice)
	switch {
	case p.Histories == 0 && testing.Short():
		p.Histories = 6
	case p.Histories == 0:
		p.Histories = 40
	}
	p.generate = generateRequests
	p.run(t)
}

// TestForgedHistories plays histories in which somebody forges Drafts, records and heads: nothing
// of that is published but as it was shown, and no edit is lost unnamed.
func TestForgedHistories(t *testing.T) {
	gittest.RequireGit(t)
	p := newPlayer(t, *choice)
	switch {
	case p.Histories == 0 && testing.Short():
		p.Histories, p.Steps = 6, min(p.Steps, 10)
	case p.Histories == 0:
		p.Histories = 40
	}
	p.generate = generateForged
	p.run(t)
}

// TestWritesOverRepositories: a fleet of 300 packages writes three times for each
// request that it opens, and three for each change of one, pushes and checks counted,
// however many repositories it is in.
func TestWritesOverRepositories(t *testing.T) {
	gittest.RequireGit(t)
	for _, n := range []int{10, 300} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			m := gittest.NewMemory()
			git := forge(memoryForge{m})
			if n < 100 { // go-git takes no head of so many packages, git does
				git = httpForge{t, gittest.NewServer(t)}
			}
			ctx, d := withRequests(withServer(t.Context(), m), git, "gitea class")
			w := newWorld(ctx, d, scratch(t), n, 1)
			var pushes atomic.Int32
			d.Before(func(kind, _ string) {
				if kind == gittest.Push {
					pushes.Add(1)
				}
			})
			apply := func() int {
				w.describe(w.dir, "")
				names := make([]string, 300/n)
				for i := range names {
					names[i] = fmt.Sprintf("p%d", i)
				}
				var set strings.Builder
				fmt.Fprintf(&set, "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: app}\nspec:\n  upstream: {repo: catalog, package: app, revision: v%d}\n  targets:\n  - repositories:\n", w.pkgs[0].version)
				for _, t := range w.targets {
					fmt.Fprintf(&set, "    - {name: %s, packageNames: [%s]}\n", t.name, strings.Join(names, ", "))
				}
				must(0, os.WriteFile(filepath.Join(w.dir, "set-app.yaml"), []byte(set.String()), 0o600))
				d.calls()
				pushes.Store(0)
				if r := w.runOn(ctx, w.dir, "apply"); r.status != 0 {
					t.Fatalf("%s%s", r.out, r.err)
				}
				return len(d.calls()) + int(pushes.Load()) - n // Drafts have a push of their own
			}
			got := []int{apply()}
			w.pkgs[0].level++
			w.release(w.pkgs[0])
			got = append(got, apply(), apply()+n)
			if want := []int{3 * n, 3 * n, 0}; !slices.Equal(got, want) {
				t.Errorf("opened, changed, and nothing to do: %v, want %v", got, want)
			}
		})
	}
}
