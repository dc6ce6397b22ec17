package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var fleets = flag.Int("fleets", 4, "how many random fleets TestNamespacesAtRandom plays; 100 are a thorough run")

// TestNamespacesAtRandom plays fleets at random whose packages stand in two folders and at the top, with one name in several
// places: approvals, upgrades, downgrades and removals. After each command main has what its packages need where they need it,
// and each fleet is at rest after one apply.
func TestNamespacesAtRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(*fleets) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 58))
			w := newWorld(t, "c1")
			w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+"}\n")
			const packages, versions = 5, 3
			for n := range packages {
				for v := 1; v <= versions; v++ {
					w.offer(fmt.Sprint("p", n), fmt.Sprintf("%d.0.0", v), needsInNamespaces(r, n, v), nil)
				}
			}
			g := &namespaced{world: w, r: r, asks: map[string]int{}}
			for range 3 {
				g.ask(g.place(), 1+r.IntN(versions))
			}
			g.do("apply")
			g.do("approve", "--all")
			for range 5 {
				switch places := slices.Sorted(maps.Keys(g.asks)); r.IntN(6) {
				case 0:
					g.ask(g.place(), 1+r.IntN(versions))
				case 1, 2: // up or down
					g.ask(places[r.IntN(len(places))], 1+r.IntN(versions))
				case 3:
					if at := places[r.IntN(len(places))]; len(places) > 1 {
						delete(g.asks, at)
						w.write(strings.ReplaceAll(at, "/", "-")+".yaml", "# gone\n")
					}
				case 4:
					g.do("apply", "--upgrade", "*")
				case 5:
					g.do("approve", "c1/"+places[r.IntN(len(places))])
				}
				g.do("apply", "--prune", "--max-delete=9")
				g.atRest()
				g.do("approve", []string{"--all", "c1"}[r.IntN(2)])
			}
			g.do("apply", "--prune", "--max-delete=9")
			g.do("approve", "--all")
			g.do("apply", "--prune", "--max-delete=9")
			g.atRest()
		})
	}
}

// needsInNamespaces is needsAtRandom where half of the needs say where.
func needsInNamespaces(r *rand.Rand, n, v int) string {
	var list []string
	for d := range n {
		if r.IntN(2) == 0 {
			continue
		}
		version, where := []string{fmt.Sprintf("^%d", v), fmt.Sprintf("'>=%d'", v), "'*'"}[r.IntN(3)], ""
		switch r.IntN(4) {
		case 0:
			where = ", namespace: ''"
		case 1:
			where = ", namespace: '${installation.namespace}'"
		}
		list = append(list, fmt.Sprintf("{alias: p%d, package: p%d, version: %s%s}", d, d, version, where))
	}
	return "  requires: [" + strings.Join(list, ", ") + "]\n"
}

type namespaced struct {
	*world
	r    *rand.Rand
	asks map[string]int
	done []string
}

// place is where a package may stand: at the top, or in a folder.
func (g *namespaced) place() string {
	return path.Join([]string{"", "a", "b"}[g.r.IntN(3)], fmt.Sprint("p", 1+g.r.IntN(4)))
}

func (g *namespaced) ask(at string, version int) {
	g.asks[at] = version
	pkg := path.Base(at)
	text := variantOf(strings.ReplaceAll(at, "/", "-"), fmt.Sprintf("v%d.0.0", version), "c1", at, "")
	g.write(strings.ReplaceAll(at, "/", "-")+".yaml", strings.Replace(text, "package: web", "package: "+pkg, 1))
	g.done = append(g.done, fmt.Sprintf("ask for %s %d", at, version))
}

func (g *namespaced) do(args ...string) {
	g.t.Helper()
	res := g.run(args...)
	g.done = append(g.done, fmt.Sprintf("%v: %d", args, res.status))
	if bad := g.unmet(); bad != "" {
		g.t.Fatalf("%s\nafter\n%s\n%s%s", bad, strings.Join(g.done, "\n"), res.out, res.err)
	}
}

// atRest: another apply changes no branch and no tag.
func (g *namespaced) atRest() {
	g.t.Helper()
	refs := g.refs()
	lock := g.locksInGit()
	res := g.run("apply", "--prune", "--max-delete=9")
	if now := g.refs(); !maps.Equal(refs, now) {
		var moved []string
		for name, at := range now {
			if refs[name] != at {
				moved = append(moved, name)
			}
		}
		g.t.Log(gocmp.Diff(lock, g.locksInGit()))
		g.t.Fatalf("a second apply moves %v\nafter\n%s\n%s%s", moved, strings.Join(g.done, "\n"), res.out, res.err)
	}
}

// unmet is what a package on main needs and has not where it needs it, "" for nothing.
func (g *namespaced) unmet() string {
	g.t.Helper()
	type need struct {
		Package, Version string
		Namespace        *string
	}
	type manifest struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version  string
			Requires []need
		}
	}
	there := map[string]manifest{}
	for _, file := range strings.Fields(g.repos["c1"].Git(g.t, "ls-tree", "-r", "--name-only", "main")) {
		if path.Base(file) != "package.yaml" {
			continue
		}
		var m manifest
		if err := yaml.Unmarshal([]byte(g.show("c1", "main", file)), &m); err != nil {
			g.t.Fatal(err)
		}
		there[path.Dir(file)] = m
	}
	for at, m := range there {
		own := strings.TrimPrefix(path.Dir(at), ".")
		for _, n := range m.Spec.Requires {
			in := []string{own, ""} // whatever it says of where a new one is made
			met := false
			for place, o := range there {
				if o.Metadata.Name != n.Package || !slices.Contains(in, strings.TrimPrefix(path.Dir(place), ".")) {
					continue
				}
				has, needs := o.Spec.Version[:1], n.Version[len(n.Version)-1:]
				met = met || n.Version == "*" || has == needs || has > needs && strings.HasPrefix(n.Version, ">=")
			}
			if !met {
				return fmt.Sprintf("%s (%s %s) needs %s %s in %q, which is not on main", at, m.Metadata.Name, m.Spec.Version, n.Package, n.Version, in)
			}
		}
	}
	return ""
}
