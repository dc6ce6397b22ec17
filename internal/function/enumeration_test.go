package function

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
)

var catalogs = flag.Int("catalogs", 150, "how many random catalogs TestResolveAgainstEnumeration resolves; 1000 are a thorough run")

// version is one of a random catalogue: packages need those of greater numbers alone, so that there is no cycle.
type version struct {
	pkg     int
	version string
	cluster bool
	needs   []requirement
}

type requirement struct {
	pkg  int
	text string
}

// admits knows Masterminds' ranges, and that a version with a build is that build alone.
func (r requirement) admits(v *version) bool {
	if strings.Contains(r.text, "+") {
		return v.version == strings.TrimPrefix(r.text, "=")
	}
	c, err := semver.NewConstraint(r.text)
	return err == nil && c.Check(semver.MustParse(v.version))
}

// random is a catalogue in which versions of a package may differ in scope and in their build alone.
func random(r *rand.Rand) (all []*version) {
	n := 3 + r.IntN(4)
	ranges := []string{"*", ">=1", "<2", "^2", "<=2.0.0", ">=2", "=1.0.0", "1.0.0+b1", "=2.0.0+b2", "1.x || 3.x"}
	for p := range n {
		count := 1
		if p > 0 {
			count = 1 + r.IntN(4)
		}
		seen := map[string]bool{}
		for range count {
			v := &version{pkg: p, version: fmt.Sprintf("%d.0.0", 1+r.IntN(3)), cluster: r.IntN(3) == 0}
			v.version += []string{"", "+b1", "+b2"}[r.IntN(3)]
			if p == 0 {
				v.version = "1.0.0"
			}
			if seen[v.version] {
				continue
			}
			seen[v.version] = true
			taken := map[int]bool{}
			for range r.IntN(4) {
				if d := p + 1 + r.IntN(3); d < n && !taken[d] {
					taken[d] = true
					v.needs = append(v.needs, requirement{d, ranges[r.IntN(len(ranges))]})
				}
			}
			all = append(all, v)
		}
	}
	return all
}

// answered reports whether there is an answer, by trying all: each package has one instance at one version for all who need it, or
// one for each of them at versions that allow several.
func answered(all []*version) bool {
	of := map[int][]*version{}
	for _, v := range all {
		of[v.pkg] = append(of[v.pkg], v)
	}
	single := map[int]*version{} // nil: several
	var try func(p int) bool
	try = func(p int) bool {
		if of[p] == nil {
			memo := map[*version]bool{}
			var fits func(v *version) bool
			fits = func(v *version) bool {
				if known, ok := memo[v]; ok {
					return known
				}
				ok := true
				for _, r := range v.needs {
					ok = ok && slices.ContainsFunc(of[r.pkg], func(o *version) bool {
						return r.admits(o) && (single[r.pkg] == o || single[r.pkg] == nil && !o.cluster) && fits(o)
					})
				}
				memo[v] = ok
				return ok
			}
			return fits(of[0][0])
		}
		for _, v := range append(slices.Clone(of[p]), nil) {
			if single[p] = v; try(p + 1) {
				return true
			}
		}
		return false
	}
	return try(0)
}

// documents are the manifests of a catalogue and a request for its root, each package by a name.
func documents(all []*version, name func(int) string) []string {
	docs := []string{"apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: root}\nspec: {target: c1, package: " + name(0) + "}\n"}
	for _, v := range all {
		text := "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata: {name: " + name(v.pkg) + "}\nspec:\n  version: " + v.version + "\n"
		if v.cluster {
			text += "  scope: Cluster\n"
		}
		if len(v.needs) > 0 {
			text += "  requires:\n"
		}
		for _, r := range v.needs {
			text += fmt.Sprintf("  - {alias: d%d, package: %s, version: %q}\n", r.pkg, name(r.pkg), r.text)
		}
		docs = append(docs, text)
	}
	return docs
}

// locked is the function's lock of some documents, nil for a refusal.
func locked(t *testing.T, docs []string) *v1alpha1.PackageLock {
	t.Helper()
	files := ""
	for n, d := range docs {
		files += fmt.Sprintf("-- f%d.yaml --\n%s", n, d)
	}
	c, pkg := call(t, ResolveDependencies, files, "")
	if c.failed() {
		return nil
	}
	for _, r := range pkg.Resources() {
		if r.Kind() == v1alpha1.KindPackageLock {
			obj, report := api.ParseNode(r.Node())
			if report.Err() != nil {
				t.Fatal(report.Err())
			}
			return obj.(*v1alpha1.PackageLock)
		}
	}
	t.Fatalf("no lock, and no error: %v", said(c))
	return nil
}

// fault is what a lock has wrong by the catalogue that it is of, "" for nothing.
func fault(l *v1alpha1.PackageLock, all []*version, name func(int) string) string {
	at, per := map[string]*version{}, map[int][]*version{}
	for n := range l.Spec.Packages {
		p := &l.Spec.Packages[n]
		i := slices.IndexFunc(all, func(v *version) bool { return name(v.pkg) == cmp.Or(p.Package, p.Name) && v.version == p.Version })
		if i < 0 {
			return fmt.Sprintf("%s %s is in no catalogue", p.Name, p.Version)
		}
		at[p.Name] = all[i]
		per[all[i].pkg] = append(per[all[i].pkg], all[i])
	}
	for _, list := range per {
		if len(list) > 1 && slices.ContainsFunc(list, func(v *version) bool { return v.cluster }) {
			return fmt.Sprintf("%d instances of %s, of which one allows no other", len(list), name(list[0].pkg))
		}
	}
	needed := map[string]bool{"root": true}
	for _, p := range l.Spec.Packages {
		for _, r := range at[p.Name].needs {
			i := slices.IndexFunc(p.Dependencies, func(e v1alpha1.LockedEdge) bool { return e.Alias == fmt.Sprint("d", r.pkg) })
			if i < 0 || at[p.Dependencies[i].Name] == nil || at[p.Dependencies[i].Name].pkg != r.pkg || !r.admits(at[p.Dependencies[i].Name]) {
				return fmt.Sprintf("%s needs %s %s, and has %v", p.Name, name(r.pkg), r.text, p.Dependencies)
			}
			needed[p.Dependencies[i].Name] = true
		}
	}
	if len(needed) != len(at) {
		return fmt.Sprintf("of %d instances %d are needed", len(at), len(needed))
	}
	return ""
}

// TestResolveAgainstEnumeration compares the function with trying all, over random catalogues with mixed scopes and builds: no
// answer is invalid, none is refused that there is, and nothing depends on the order or the names of what is given. With a lock,
// what newer versions there are moves nothing.
func TestResolveAgainstEnumeration(t *testing.T) {
	refused := 0
	for seed := range uint64(*catalogs) {
		r := rand.New(rand.NewPCG(seed, 5))
		all := random(r)
		plain := func(n int) string { return fmt.Sprint("p", n) }
		docs := documents(all, plain)
		lock, want := locked(t, docs), answered(all)
		if (lock != nil) != want {
			t.Fatalf("catalogue %d: answered is %v, and there is one: %v\n%s", seed, lock != nil, want, strings.Join(docs, "---\n"))
		}
		shuffled := slices.Clone(docs)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := gocmp.Diff(lock, locked(t, shuffled)); diff != "" {
			t.Fatalf("catalogue %d: the order counts:\n%s", seed, diff)
		}
		if lock == nil {
			refused++
			continue
		}
		if bad := fault(lock, all, plain); bad != "" {
			t.Fatalf("catalogue %d: %s\n%s", seed, bad, strings.Join(docs, "---\n"))
		}
		renamed := func(n int) string { return fmt.Sprintf("p%d", 9-n) }
		if diff := gocmp.Diff(versionsOf(lock, plain), versionsOf(locked(t, documents(all, renamed)), renamed)); diff != "" {
			t.Fatalf("catalogue %d: names count:\n%s\n%s", seed, diff, strings.Join(docs, "---\n"))
		}
		text, err := api.Encode(lock)
		if err != nil {
			t.Fatal(err)
		}
		more := slices.Clone(all)
		for _, v := range all {
			if v.pkg > 0 {
				more = append(more, &version{pkg: v.pkg, version: fmt.Sprintf("3.%d.0", 1+len(more)), cluster: v.cluster})
			}
		}
		if diff := gocmp.Diff(lock, locked(t, append(documents(more, plain), string(text)))); diff != "" {
			t.Fatalf("catalogue %d: what is locked moves:\n%s", seed, diff)
		}
	}
	if refused == 0 || refused == *catalogs {
		t.Errorf("%d of %d are refused: the test shows little", refused, *catalogs)
	}
	t.Logf("%d of %d are refused", refused, *catalogs)
}

// versionsOf are the versions of each package of a lock.
func versionsOf(l *v1alpha1.PackageLock, name func(int) string) map[int][]string {
	out := map[int][]string{}
	for _, p := range l.Spec.Packages {
		for n := range 10 {
			if name(n) == cmp.Or(p.Package, p.Name) {
				out[n] = append(out[n], p.Version)
			}
		}
	}
	for _, list := range maps.All(out) {
		slices.Sort(list)
	}
	return out
}
