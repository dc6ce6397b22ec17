package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/variform/variform/test/gittest"
)

// TestClosedUnderNeeds plays small fleets at random, with packages that need others,
// that cannot be built and that wait at a gate. Whatever people ask for, edit and decide in
// whatever order, main of the target has what its packages need after every command: by plain
// Git and the manifests there.
func TestClosedUnderNeeds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 14))
			w := newWorld(t, "c1")
			w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+"}\n")
			const packages, versions = 5, 3
			for n := range packages {
				for v := 1; v <= versions; v++ {
					w.offer(fmt.Sprint("p", n), fmt.Sprintf("%d.0.0", v), needsAtRandom(r, n, v), gittest.Text{"cm.yaml": dbMap})
				}
			}
			one := func() string { return fmt.Sprint("p", r.IntN(packages)) }
			for n := range packages {
				w.needs(fmt.Sprint("p", n), "1.0.0")
			}
			w.run("apply")
			w.run("approve", "--all")
			var done []string
			for range 20 {
				var args []string
				switch r.IntN(14) {
				case 0, 1, 2:
					pkg := one()
					w.needs(pkg, fmt.Sprintf("%d.0.0", 1+r.IntN(versions)))
					if r.IntN(4) == 0 {
						w.write(pkg+"-auto.yaml", automatic(pkg, pkg))
					}
					args = []string{"apply"}
				case 3:
					w.write(one()+".yaml", "# gone\n")
					args = []string{"apply", "--prune", "--max-delete=9"}
				case 4, 5, 6:
					args = []string{"approve", one()}
				case 7:
					args = []string{"approve", "--all"}
				case 8:
					args = []string{"revert", one(), fmt.Sprint("v", 1+r.IntN(2))}
				case 9:
					args = []string{"hold", one(), "--reason", "no"}
				case 10:
					args = []string{"hold", "--off", one()}
				case 11:
					args = []string{"apply", "--retry", "c1"}
				case 12:
					args = []string{"apply"}
					done = append(done, "edit of "+w.editADraft(r, "c1"))
				case 13:
					pkg := one()
					w.write(pkg+"-asked.yaml", asked(pkg+"-asked", fmt.Sprintf("target: c1, package: %s, constraints: '>=%d'", pkg, 1+r.IntN(versions))))
					args = []string{"apply"}
				}
				res := w.run(args...)
				done = append(done, fmt.Sprintf("%v: %d", args, res.status))
				if bad := w.unmet("c1"); bad != "" {
					t.Fatalf("%s\nafter\n%s\n%s%s", bad, strings.Join(done, "\n"), res.out, res.err)
				}
			}
		})
	}
}

// editADraft has a person change one of the open Drafts, or nothing where none is.
func (w *world) editADraft(r *rand.Rand, repo string) string {
	w.t.Helper()
	drafts := slices.DeleteFunc(slices.Sorted(maps.Keys(w.repos[repo].AllRefs(w.t))), func(ref string) bool {
		return !strings.HasPrefix(ref, "refs/heads/drafts/p")
	})
	if len(drafts) == 0 {
		return ""
	}
	branch := strings.TrimPrefix(drafts[r.IntN(len(drafts))], "refs/heads/")
	w.repos[repo].Commit(w.t, branch, "by hand", gittest.Text{strings.Split(branch, "/")[1] + "/edited.yaml": dbMap})
	return branch
}

// needsAtRandom is the manifest of package n at version v: it needs some of those
// before it, and some have a gate that is not met.
func needsAtRandom(r *rand.Rand, n, v int) string {
	var list []string
	for d := range n {
		switch r.IntN(4) {
		case 0:
			list = append(list, fmt.Sprintf("{alias: p%d, package: p%d, version: ^%d}", d, d, v))
		case 1:
			list = append(list, fmt.Sprintf("{alias: p%d, package: p%d, version: '>=%d'}", d, d, v))
		}
	}
	out := "  requires: [" + strings.Join(list, ", ") + "]\n"
	if v > 1 && r.IntN(10) == 0 {
		out += sized
	}
	return out
}

// unmet is what a package on main needs and has not, "" for nothing.
func (w *world) unmet(repo string) string {
	w.t.Helper()
	type manifest struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version  string
			Requires []struct{ Package, Version string }
		}
	}
	var all []manifest
	for _, file := range strings.Fields(w.repos[repo].Git(w.t, "ls-tree", "-r", "--name-only", "main")) {
		if !strings.HasSuffix(file, "/package.yaml") {
			continue
		}
		var m manifest
		if err := yaml.Unmarshal([]byte(w.show(repo, "main", file)), &m); err != nil {
			w.t.Fatal(err)
		}
		all = append(all, m)
	}
	for _, m := range all {
		for _, r := range m.Spec.Requires {
			met := false
			for _, o := range all {
				has, needs := o.Spec.Version[:1], r.Version[len(r.Version)-1:]
				met = met || o.Metadata.Name == r.Package && (has == needs || has > needs && strings.HasPrefix(r.Version, ">="))
			}
			if !met {
				return fmt.Sprintf("%s %s needs %s %s, which is not on main", m.Metadata.Name, m.Spec.Version, r.Package, r.Version)
			}
		}
	}
	return ""
}
