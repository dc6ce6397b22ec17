package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/variform/variform/test/gittest"
)

// lockedPackage is a package of a PackageLock, as plain YAML has it.
type lockedPackage struct {
	Name, Package, Version, Digest, Source, Owner, Why string
	Dependencies                                       []struct{ Namespace, Name string }
}

func (p lockedPackage) pkg() string {
	if p.Package != "" {
		return p.Package
	}
	return p.Name
}

// TestSameAnswers plays small fleets at random and asks all commands the same
// questions at any moment: what resolve answers is what graph draws, why and why-not
// argue, outdated lists and apply drafts, and where one of them fails all do.
func TestSameAnswers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 3))
			w := newWorld(t, "c1", "c2")
			w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+"}\n")
			const packages = 5
			newest := map[string]int{}
			offer := func(n int) {
				pkg, scope := fmt.Sprint("p", n), ""
				if n < 2 && seed%2 == 0 && (seed%4 == 0 || r.IntN(2) == 0) { // of all its versions, or of some
					scope = "  scope: Cluster\n"
				}
				newest[pkg]++
				w.offer(pkg, fmt.Sprintf("%d.0.0", newest[pkg]), scope+needsAtRandom(r, n, min(newest[pkg], 3)), gittest.Text{"cm.yaml": dbMap})
			}
			for n := range packages {
				offer(n)
				offer(n)
			}
			one := func() string { return fmt.Sprint("p", r.IntN(packages)) }
			w.write("first.yaml", asked("first", "target: c1, package: p4"))
			asks, decided := map[string]bool{"p4": true}, map[string]bool{}
			for step := range 8 {
				what := ""
				switch pkg := one(); r.IntN(6) {
				case 0, 1:
					v := fmt.Sprint(1+r.IntN(newest[pkg]), ".0.0")
					if asks[pkg] {
						continue
					}
					decided[pkg] = true
					w.needs(pkg, v)
					what = pkg + " " + v
				case 2, 3:
					if decided[pkg] {
						continue // it would be about the variant
					}
					i := fmt.Sprintf("target: c%d, package: %s, constraints: '>=%d'", 1+r.IntN(2), pkg, 1+r.IntN(2))
					asks[pkg] = true
					w.write("i-"+pkg+".yaml", asked("i"+pkg, i))
					what = i
				case 4:
					offer(r.IntN(packages))
					what = "a release"
				case 5:
					w.run("approve", pkg)
					what = "approve " + pkg
				}
				t.Logf("%d: %s", step, what)
				w.sameAnswers(newest)
			}
		})
	}
}

// sameAnswers asks all commands about what is there, applies, and asks again.
func (w *world) sameAnswers(newest map[string]int) {
	t := w.t
	t.Helper()
	before := w.locksInGit()
	plan := w.run("plan", "-o", "json")
	res := w.run("resolve", "-o", "yaml")
	locks := locksOf(t, res.out)
	w.graphAgrees(locks)
	w.whyAgrees(locks, newest)
	w.outdatedAgrees(before, locks, newest)
	w.catalogAgrees(newest)
	if asked := w.run("explain"); res.status == 0 && asked.status != 0 { // each alone has an answer where all have one
		t.Errorf("explain ends with %d: %s", asked.status, asked.err)
	}
	applied := w.run("apply")
	if res.status != plan.status || plan.status != applied.status {
		t.Errorf("plan ends with %d, resolve with %d, apply with %d\n%s%s%s", plan.status, res.status, applied.status, plan.err, res.err, applied.err)
	}
	drafted := w.locksInGit()
	maps.DeleteFunc(drafted, func(target string, _ []lockedPackage) bool { return locks[target] == nil }) // nothing is asked for there
	if diff := cmp.Diff(locks, drafted); diff != "" {
		t.Errorf("(-resolve +drafted):\n%s\n%s%s", diff, applied.out, applied.err)
	}
	if again := w.run("apply"); !strings.Contains(again.out, "all up to date") && (strings.Contains(again.out, " update ") || strings.Contains(again.out, " create ") || strings.Contains(again.out, " redraft ")) {
		t.Errorf("a second apply:\n%s\nafter\n%s", again.out, applied.out)
	}
	if diff := cmp.Diff(locks, locksOf(t, w.run("resolve", "-o", "yaml").out)); diff != "" {
		t.Errorf("(-resolve +resolve after apply):\n%s", diff)
	}
	if t.Failed() {
		t.FailNow()
	}
}

func (w *world) graphAgrees(locks map[string][]lockedPackage) {
	w.t.Helper()
	var graphs []struct {
		Target string
		Nodes  []struct{ ID, Package, Version string }
		Edges  []struct{ From, To string }
	}
	if g := w.run("graph", "-o", "json"); strings.TrimSpace(g.out) != "" {
		if err := json.Unmarshal([]byte(g.out), &graphs); err != nil {
			w.t.Fatalf("%v: %s", err, g.out)
		}
	}
	drawn, wanted := map[string][]string{}, map[string][]string{}
	for _, g := range graphs {
		for _, n := range g.Nodes {
			if n.Version == "" { // it has no answer
				continue
			}
			drawn[g.Target] = append(drawn[g.Target], fmt.Sprint(n.ID, " is ", n.Package, " ", n.Version))
		}
		for _, e := range g.Edges {
			drawn[g.Target] = append(drawn[g.Target], e.From+" needs "+e.To)
		}
		slices.Sort(drawn[g.Target])
		drawn[g.Target] = slices.Compact(drawn[g.Target])
	}
	for target, list := range locks {
		for _, p := range list {
			wanted[target] = append(wanted[target], fmt.Sprint(p.Name, " is ", p.pkg(), " ", p.Version))
			for _, d := range p.Dependencies {
				wanted[target] = append(wanted[target], p.Name+" needs "+d.Name)
			}
		}
		slices.Sort(wanted[target])
		wanted[target] = slices.Compact(wanted[target])
	}
	if diff := cmp.Diff(wanted, drawn); diff != "" {
		w.t.Errorf("(-resolve +graph):\n%s", diff)
	}
}

// whyAgrees: why names the versions that each target has, and why-not knows them.
func (w *world) whyAgrees(locks map[string][]lockedPackage, newest map[string]int) {
	w.t.Helper()
	for pkg, versions := range newest {
		has := map[string][]string{} // versions by target
		for target, list := range locks {
			for _, p := range list {
				if p.pkg() == pkg {
					has[target] = append(has[target], p.Version)
				}
			}
		}
		told := byTarget(w.run("why", pkg).out)
		maps.DeleteFunc(told, func(target, text string) bool { return has[target] == nil && strings.Contains(text, "has no answer") })
		if diff := cmp.Diff(slices.Sorted(maps.Keys(has)), slices.Sorted(maps.Keys(told))); diff != "" {
			w.t.Errorf("why %s (-resolve +why):\n%s", pkg, diff)
		}
		for target, list := range has {
			for _, v := range list {
				if !strings.Contains(told[target], " "+v) {
					w.t.Errorf("why %s on %s does not name %s:\n%s", pkg, target, v, told[target])
				}
			}
		}
		for n := 1; n <= versions; n++ {
			v := fmt.Sprint(n, ".0.0")
			for target, text := range byTarget(w.run("why-not", pkg, v).out) {
				if in := slices.Contains(has[target], v); in != strings.Contains(text, "is in the resolution") {
					w.t.Errorf("why-not %s %s on %s, which has %v:\n%s", pkg, v, target, has[target], text)
				}
			}
		}
	}
}

// byTarget are the lines below each target's name.
func byTarget(text string) map[string]string {
	out := map[string]string{}
	var targets []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, " ") {
			for _, t := range targets {
				out[t] += line
			}
			continue
		}
		targets = strings.Split(strings.TrimSpace(line), ", ")
		for _, t := range targets {
			if t != "" {
				out[t] += ""
			}
		}
	}
	return out
}

func (w *world) catalogAgrees(newest map[string]int) {
	w.t.Helper()
	var want, have []string
	for pkg, n := range newest {
		for v := 1; v <= n; v++ {
			want = append(want, fmt.Sprint(pkg, " ", v, ".0.0"))
		}
	}
	for line := range strings.Lines(w.mustRun(0, "catalog", "list").out) {
		if f := strings.Fields(line); newest[f[0]] > 0 { // not what the world has besides
			have = append(have, f[0]+" "+f[1])
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		w.t.Errorf("(-published +catalog):\n%s", diff)
	}
}

func (w *world) outdatedAgrees(before, locks map[string][]lockedPackage, newest map[string]int) {
	w.t.Helper()
	var want, have []string
	for target, list := range locks {
		for _, p := range list {
			now := "-"
			for _, was := range before[target] {
				if was.Name == p.Name && was.pkg() == p.pkg() {
					now = was.Version
				}
			}
			last := fmt.Sprint(newest[p.pkg()], ".0.0")
			if p.Version != last || now != "-" && now != last {
				want = append(want, strings.Join([]string{target, p.pkg(), p.Name, now, p.Version, last}, " "))
			}
		}
	}
	_, targets, _ := strings.Cut(w.run("outdated").out, "TARGET ")
	for line := range strings.Lines(targets) {
		if f := strings.Fields(line); len(f) == 6 {
			have = append(have, strings.Join(f, " "))
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if diff := cmp.Diff(want, have); diff != "" {
		w.t.Errorf("(-resolve +outdated):\n%s", diff)
	}
}

// locksOf are the packages of the PackageLocks of a text, by target.
func locksOf(t testing.TB, text string) map[string][]lockedPackage {
	t.Helper()
	out := map[string][]lockedPackage{}
	for _, doc := range strings.Split(text, "---\n") {
		var lock struct {
			Kind string
			Spec struct {
				Target   string
				Packages []lockedPackage
			}
		}
		if err := yaml.Unmarshal([]byte(doc), &lock); err != nil {
			t.Fatalf("%v: %s", err, doc)
		}
		if lock.Kind == "PackageLock" && len(lock.Spec.Packages) > 0 {
			out[lock.Spec.Target] = lock.Spec.Packages
		}
	}
	return out
}

// locksInGit are the newest locks of targets: a Draft, or what is on main.
func (w *world) locksInGit() map[string][]lockedPackage {
	w.t.Helper()
	out := map[string][]lockedPackage{}
	for _, c := range slices.Sorted(maps.Keys(w.repos)) {
		ref := "main"
		for _, name := range w.refNames(c) {
			if strings.Contains(name, "/variform-lock/") && !strings.Contains(name, "/tags/") {
				ref = name
			}
		}
		if w.repos[c].Git(w.t, "ls-tree", ref, "variform-lock/lock.yaml") != "" {
			maps.Copy(out, locksOf(w.t, w.show(c, ref, "variform-lock/lock.yaml")))
		}
	}
	return out
}
