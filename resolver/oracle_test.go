package resolver

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/oracletest"
)

var someRanges = []string{"*", ">=1", "<2", "^2", "1.x", "<=2.0.0", ">=2", "3.x", "1.0.0", ">=1.0.0 <3.0.0", "1.x || 3.x"}

// randomCatalog has up to 6 packages of up to 3 versions; root is r 1.0.0.
func randomCatalog(rng *rand.Rand, scope Scope) []Package {
	n := 2 + rng.IntN(5)
	var out []Package
	requires := func(from, most int) []Requirement {
		var rs []Requirement
		for k := range rng.IntN(most + 1) {
			rs = append(rs, Requirement{Alias: fmt.Sprintf("d%d", k), Package: fmt.Sprintf("p%d", rng.IntN(n)), Version: someRanges[rng.IntN(len(someRanges))]})
		}
		return rs
	}
	out = append(out, Package{Package: "r", Version: "1.0.0", Scope: scope, Requires: requires(-1, 3)})
	for p := range n {
		for v := 1; v <= 1+rng.IntN(3); v++ {
			out = append(out, Package{Package: fmt.Sprintf("p%d", p), Version: fmt.Sprintf("%d.0.0", v), Scope: scope, Requires: requires(p, 2)})
		}
	}
	return out
}

// choosyCatalog has many solutions: r needs several packages in any version, and each of their versions may restrict one
// package further on. Some ranges are the digest of a version.
func choosyCatalog(rng *rand.Rand) []Package {
	const n, first, most = 5, 3, 4
	out := []Package{{Package: "r", Version: "1.0.0", Scope: ScopeCluster}}
	for p := range first {
		out[0].Requires = append(out[0].Requires, Requirement{Alias: fmt.Sprintf("d%d", rng.IntN(100)*10+p), Package: fmt.Sprintf("p%d", p), Version: "*"})
	}
	for p := range n {
		for v := 1; v <= most; v++ {
			k := Package{Package: fmt.Sprintf("p%d", p), Version: fmt.Sprintf("%d.0.0", v), Digest: fmt.Sprintf("sha256:p%dv%d", p, v), Scope: ScopeCluster}
			if on := p + 1 + rng.IntN(n); on < n {
				version := fmt.Sprintf("%d.x || %d.x", 1+rng.IntN(most), 1+rng.IntN(most))
				if rng.IntN(4) == 0 {
					version = fmt.Sprintf("sha256:p%dv%d", on, 1+rng.IntN(most))
				}
				k.Requires = append(k.Requires, Requirement{Alias: "d", Package: fmt.Sprintf("p%d", on), Version: version})
			}
			out = append(out, k)
		}
	}
	return out
}

func mustCatalog(t testing.TB, ps []Package) *Catalog {
	t.Helper()
	c, err := NewCatalog(ps)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func wantR() []Request { return []Request{{Package: "r", Version: "1.0.0", Namespace: "n"}} }

// choice maps packages to versions: one instance of each.
type choice map[string]string

// oracle knows a catalogue by nothing but its documents, Masterminds' Check and what a digest looks like here.
type oracle struct {
	c    *Catalog
	memo map[string][]string // admitted, by package and range
}

func newOracle(c *Catalog) oracle { return oracle{c, map[string][]string{}} }

func (o oracle) needs(a choice, pkg string) []Requirement { return o.c.find(pkg, a[pkg]).Requires }

// admitted are a package's versions in a range, newest first.
func (o oracle) admitted(r Requirement) []string {
	out, ok := o.memo[r.Package+" "+r.Version]
	if ok {
		return out
	}
	c, err := semver.NewConstraint(r.Version)
	for _, v := range o.c.versions(r.Package) {
		if err == nil && c.Check(v.sem) || r.Version == v.Digest {
			out = append(out, v.Version)
		}
	}
	o.memo[r.Package+" "+r.Version] = out
	return out
}

// all lists every choice that is complete, valid, minimal and without a cycle.
func (o oracle) all() []choice {
	var out []choice
	var rec func(a choice, queue []string, at int)
	rec = func(a choice, queue []string, at int) {
		if at == len(queue) {
			if o.valid(a) {
				c := choice{}
				for k, v := range a {
					c[k] = v
				}
				out = append(out, c)
			}
			return
		}
		p := queue[at]
		for _, v := range o.c.versions(p) {
			if p == "r" && v.Version != "1.0.0" {
				continue
			}
			a[p] = v.Version
			q := slices.Clone(queue)
			for _, r := range v.Requires {
				if !slices.Contains(q, r.Package) {
					q = append(q, r.Package)
				}
			}
			rec(a, q, at+1)
			delete(a, p)
		}
	}
	rec(choice{}, []string{"r"}, 0)
	return out
}

func (o oracle) valid(a choice) bool {
	state := map[string]int{}
	var acyclic func(p string) bool
	acyclic = func(p string) bool {
		if state[p] != 0 {
			return state[p] == 2
		}
		state[p] = 1
		for _, r := range o.needs(a, p) {
			if !slices.Contains(o.admitted(r), a[r.Package]) || !acyclic(r.Package) {
				return false
			}
		}
		state[p] = 2
		return true
	}
	return acyclic("r")
}

// better compares by the documented order: by layers, in each the largest step back first.
func (o oracle) better(a, b choice) bool {
	layer, seen, done := []string{"r"}, map[string]bool{"r": true}, []string{"r"}
	for len(layer) > 0 {
		var next []string
		for _, p := range layer {
			for _, r := range o.needs(a, p) {
				if !seen[r.Package] {
					seen[r.Package] = true
					next = append(next, r.Package)
				}
			}
		}
		ka, kb, first := 0, 0, 0
		for _, p := range next {
			allowed := o.allowed(a, done, p)
			x, y := slices.Index(allowed, a[p]), slices.Index(allowed, b[p])
			ka, kb = max(ka, x), max(kb, y)
			if first == 0 {
				first = x - y
			}
		}
		if ka != kb {
			return ka < kb
		}
		if first != 0 {
			return first < 0
		}
		layer, done = next, append(done, next...)
	}
	return false
}

func (o oracle) allowed(a choice, done []string, p string) []string {
	var out []string
	for _, v := range o.c.versions(p) {
		ok := true
		for _, d := range done {
			for _, r := range o.needs(a, d) {
				ok = ok && (r.Package != p || slices.Contains(o.admitted(r), v.Version))
			}
		}
		if ok {
			out = append(out, v.Version)
		}
	}
	return out
}

func TestOracle(t *testing.T) {
	solvable, several := 0, 0
	for i := range oracletest.Universes(t) {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		ps := choosyCatalog(rng)
		if i%2 == 0 {
			ps = randomCatalog(rng, ScopeCluster)
		}
		cat := mustCatalog(t, ps)
		res, err := Resolve(t.Context(), Input{Catalog: cat, Want: wantR()})
		o := newOracle(cat)
		every := o.all()
		if (err == nil) != (len(every) > 0) {
			t.Fatalf("universe %d: %v, but there are %d solutions", i, err, len(every))
		}
		if err != nil {
			continue
		}
		solvable++
		if len(every) > 1 {
			several++
		}
		got := choice{}
		for _, x := range res.Instances {
			got[x.Package] = x.Version
		}
		if !o.valid(got) {
			t.Fatalf("universe %d: invalid: %v", i, got)
		}
		if !res.Preferred {
			t.Errorf("universe %d: not proven best", i)
		}
		for _, e := range every {
			if o.better(e, got) {
				t.Fatalf("universe %d: %v is better than %v", i, e, got)
			}
		}
	}
	if n := oracletest.Universes(t); solvable == n || several < n/4 {
		t.Errorf("of %d universes %d can be resolved, %d of them in several ways: the test shows little", n, solvable, several)
	}
}

// TestScopesWiden holds that what can be resolved with one instance of each package can be with many, that all
// bindings are then in range, and that shuffled input gives the same bytes.
func TestScopesWiden(t *testing.T) {
	for i := range oracletest.Universes(t) / 10 {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		seed := rng.Uint64()
		gen := func(s Scope) []Package { return randomCatalog(rand.New(rand.NewPCG(seed, 1)), s) }
		_, narrow := Resolve(t.Context(), Input{Catalog: mustCatalog(t, gen(ScopeCluster)), Want: wantR()})
		ps := gen(ScopeAny)
		cat := mustCatalog(t, ps)
		res, err := Resolve(t.Context(), Input{Catalog: cat, Want: wantR()})
		if narrow == nil && err != nil {
			t.Fatalf("universe %d: resolves with one instance each, but not with many: %v", i, err)
		}
		rng.Shuffle(len(ps), func(a, b int) { ps[a], ps[b] = ps[b], ps[a] })
		for k := range ps {
			rs := slices.Clone(ps[k].Requires)
			rng.Shuffle(len(rs), func(a, b int) { rs[a], rs[b] = rs[b], rs[a] })
			ps[k].Requires = rs
		}
		again, err2 := Resolve(t.Context(), Input{Catalog: mustCatalog(t, ps), Want: wantR()})
		if diff := cmp.Diff(bytesOf(t, res, err), bytesOf(t, again, err2)); diff != "" {
			t.Fatalf("universe %d: shuffled input gives another answer:\n%s", i, diff)
		}
		if err == nil {
			checkBindings(t, i, res, cat)
		}
	}
}

// TestMixedScopes holds that where versions of a package have different scopes, there is an answer if there is one in
// which each package either has one instance, or none of the versions that allow no more.
func TestMixedScopes(t *testing.T) {
	refused, mixed := 0, 0
	for i := range oracletest.Universes(t) / 5 {
		rng := rand.New(rand.NewPCG(uint64(i), 6))
		ps := randomCatalog(rng, ScopeAny)
		var names []string
		for k := range ps {
			if rng.IntN(3) == 0 && ps[k].Package != "r" {
				ps[k].Scope = ScopeCluster
			}
			if !slices.Contains(names, ps[k].Package) && ps[k].Package != "r" {
				names = append(names, ps[k].Package)
			}
		}
		possible := 0
		for choice := range 1 << len(names) {
			var of []Package
			for _, p := range ps {
				at := slices.Index(names, p.Package)
				if one := at >= 0 && choice>>at&1 == 1; one {
					p.Scope = ScopeCluster
				} else if p.Scope == ScopeCluster {
					continue
				}
				of = append(of, p)
			}
			if _, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, of), Want: wantR()}); err == nil {
				possible++
			}
		}
		res, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, ps), Want: wantR()})
		if (err == nil) != (possible > 0) {
			t.Fatalf("universe %d: %v, and %d choices of scopes have an answer", i, err, possible)
		}
		switch {
		case err != nil:
			refused++
		case possible < 1<<len(names):
			mixed++
		}
		if err != nil {
			continue
		}
		checkBindings(t, i, res, mustCatalog(t, ps))
		instances, strict := map[string]int{}, map[string]bool{}
		for _, x := range res.Instances {
			instances[x.Package]++
			strict[x.Package] = strict[x.Package] || x.manifest.Scope == ScopeCluster
		}
		for pkg := range strict {
			if strict[pkg] && instances[pkg] > 1 {
				t.Fatalf("universe %d: %d instances of %s, of which one allows no more", i, instances[pkg], pkg)
			}
		}
	}
	if n := oracletest.Universes(t) / 5; refused == 0 || refused == n || mixed < n/10 {
		t.Errorf("of %d universes %d are refused, and scopes decide %d: the test shows little", n, refused, mixed)
	}
}

// TestOrderOfInput holds that nothing depends on the order of what is given: packages, their requirements, requests,
// installations, APIs and the entries of a lock.
func TestOrderOfInput(t *testing.T) {
	errs, changes := 0, 0
	for i := range oracletest.Universes(t) / 4 {
		rng := rand.New(rand.NewPCG(uint64(i), 13))
		ps := layeredCatalog(rng)
		if i%2 == 0 {
			for n := range ps {
				ps[n].Scope = ScopeAny
			}
		}
		first, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, ps), Want: wantR()})
		if err != nil {
			continue
		}
		in := Input{
			Installations: first.Installations(nil), Lock: first.Lock, APIs: []GVK{*gvk("A"), *gvk("B")},
			Want: []Request{
				{Package: "s", Namespace: "n", Allow: Changes{Upgrade: true, Downgrade: true}},
				{Package: "p1", Namespace: "n", Version: ">=1", Upgrade: true},
			},
		}
		if i%2 == 0 { // else there is one place for it
			in.Want = append(in.Want, Request{Package: "s", Name: "t", Namespace: "m"})
		}
		outcome := func() string {
			in.Catalog = mustCatalog(t, ps)
			res, err := Resolve(t.Context(), in)
			if err != nil {
				errs++
				return err.Error()
			}
			changes += len(res.Changes)
			return bytesOf(t, res, nil) + fmt.Sprint(res.Changes, res.Skipped, res.Wiring)
		}
		want := outcome()
		for range 3 {
			shuffle(rng, ps)
			for n := range ps {
				ps[n].Requires = slices.Clone(ps[n].Requires)
				shuffle(rng, ps[n].Requires)
			}
			lock := *in.Lock
			lock.Packages = slices.Clone(lock.Packages)
			shuffle(rng, lock.Packages)
			in.Lock = &lock
			shuffle(rng, in.Installations)
			shuffle(rng, in.Want)
			shuffle(rng, in.APIs)
			if diff := cmp.Diff(want, outcome()); diff != "" {
				t.Fatalf("universe %d: shuffled input gives another answer:\n%s", i, diff)
			}
		}
	}
	if errs == 0 || changes == 0 {
		t.Errorf("%d errors and %d changes were compared: the test shows little", errs, changes)
	}
}

func shuffle[T any](rng *rand.Rand, s []T) {
	rng.Shuffle(len(s), func(a, b int) { s[a], s[b] = s[b], s[a] })
}

func bytesOf(t *testing.T, r *Resolution, err error) string {
	t.Helper()
	if err != nil {
		return err.Error()
	}
	data, jerr := json.MarshalIndent([]any{r.Lock, r.Plan, r.Creates}, "", " ")
	if jerr != nil {
		t.Fatal(jerr)
	}
	return string(data)
}

func checkBindings(t *testing.T, i int, res *Resolution, cat *Catalog) {
	t.Helper()
	for _, x := range res.Instances {
		for k, r := range cat.find(x.Package, x.Version).Requires {
			if b := x.Bindings[k]; b.Alias != r.Alias || !slices.Contains(newOracle(cat).admitted(r), b.Version) {
				t.Fatalf("universe %d: %s %s needs %s %s and got %+v", i, x.Package, x.Version, r.Package, r.Version, b)
			}
		}
	}
}

// TestLockIsKept holds that a resolution against its own lock is the same one, and that versions that are
// added to the catalogue then change nothing. Where packages may have several instances, and some of them share, which
// of them is the locked one cannot always be told before the search: there nearly all locks are kept.
func TestLockIsKept(t *testing.T) {
	several, other := 0, 0
	for i := range oracletest.Universes(t) / 5 {
		scope := []Scope{ScopeCluster, ScopeAny}[i%2]
		ps := randomCatalog(rand.New(rand.NewPCG(uint64(i), 9)), scope)
		res, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, ps), Want: wantR()})
		if err != nil {
			continue
		}
		for p := range 6 {
			for _, v := range []string{"1.9.9", "2.9.9", "9.0.0"} {
				ps = append(ps, Package{Package: fmt.Sprintf("p%d", p), Version: v, Scope: scope})
			}
		}
		again, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, ps), Want: wantR(), Lock: res.Lock})
		diff := cmp.Diff(bytesOf(t, res, nil), bytesOf(t, again, err))
		if diff != "" && scope == ScopeCluster {
			t.Fatalf("universe %d: the lock is not kept:\n%s", i, diff)
		}
		if scope == ScopeAny {
			several++
		}
		if diff != "" {
			other++
		}
	}
	if other > several/50 || several == 0 {
		t.Errorf("%d of %d locks are not kept where packages may have several instances", other, several)
	}
}

func FuzzRequirement(f *testing.F) {
	f.Add(`{"package":"b","version":">=1"}`)
	f.Add(`{"alias":"x","anyOf":[{"gvk":{"apiVersion":"a/v1","kind":"K"}},{"package":"b","version":"^1","share":{"mode":"none"}}],"optional":true}`)
	f.Add(`{"alias":"x","interface":{"id":"i","document":{"outputs":[{"name":"o"}]}},"parameters":{"p":"${bundle.dependencies.x.outputs.o}"}}`)
	f.Add(`{"package":"a","namespace":"${installation.namespace}x"}`)
	f.Add(`{"package":"a","parameters":{"p":"${bundle.parameters.p}x"},"share":{"mode":"none"}}`)
	f.Add(`{"package":"a","namespace":"${ installation.Namespace }","version":"~1.2 || 3"}`)
	f.Fuzz(func(t *testing.T, doc string) {
		var r Requirement
		if json.Unmarshal([]byte(doc), &r) != nil || alternatives(r) > 3 {
			return // a package that needs itself in many ways takes long to be refused
		}
		cat, err := NewCatalog([]Package{
			{Package: "a", Version: "1.0.0", Requires: []Requirement{r}},
			{Package: "b", Version: "1.0.0", Outputs: []Field{{Name: "o"}}, Provides: []Provide{{Interface: "i"}}},
			{Package: "b", Version: "2.0.0-rc.1"},
		}, WithDefaults(map[string]string{"i": "b"}))
		if err != nil {
			t.Fatal(err)
		}
		in := Input{Catalog: cat, Want: []Request{{Package: "a", Namespace: "n"}}}
		res, err := Resolve(t.Context(), in)
		var c *ConflictError
		if err != nil && (!errors.As(err, &c) || c.Summary == "" || len(c.Reasons) == 0) {
			t.Fatalf("an error without an explanation: %v", err)
		}
		if err == nil && res.Root() == nil {
			t.Fatal("a resolution without a root")
		}
	})
}

func alternatives(r Requirement) int {
	n := len(r.AnyOf)
	for _, a := range r.AnyOf {
		n += alternatives(a)
	}
	return n
}

func FuzzVersions(f *testing.F) {
	f.Add("1.2.3", ">=1", "v1.0.1")
	f.Add("1.2.3-rc.1+x", "1.x || ~2", "latest")
	f.Fuzz(func(t *testing.T, version, rng, tag string) {
		cat, err := NewCatalog([]Package{
			{Package: "a", Version: "1.0.0", Requires: []Requirement{{Alias: "b", Package: "b", Version: rng}}},
			{Package: "b", Version: version},
		}, withTags(map[string][]string{"b": {tag}}))
		if err != nil {
			return
		}
		res, err := Resolve(t.Context(), Input{Catalog: cat, Want: []Request{{Package: "a"}}})
		if err != nil {
			return
		}
		c, cerr := (&ranges{}).get(rng)
		v, verr := parseVersion(res.Binding("b").Version)
		if cerr != nil || verr != nil || !c.Check(v) {
			t.Fatalf("%q got %q", rng, res.Binding("b").Version)
		}
	})
}

// TestOracleOfWhatIsThere holds that a request which may change what is installed is answered exactly when there is an
// answer, that everything installed still fits together afterwards, also what depends on what changed, and that
// nothing changes without need.
func TestOracleOfWhatIsThere(t *testing.T) {
	answered, moved, asked := 0, 0, 0
	for i := range oracletest.Universes(t) {
		rng := rand.New(rand.NewPCG(uint64(i), 11))
		cat := mustCatalog(t, layeredCatalog(rng))
		first, err := Resolve(t.Context(), Input{Catalog: cat, Want: wantR()})
		if err != nil {
			continue
		}
		have, before := first.Installations(nil), choice{}
		for _, h := range have {
			before[h.Package] = h.Version
		}
		want := Request{Package: "s", Namespace: "n", Allow: Changes{Upgrade: true, Downgrade: true}}
		res, err := Resolve(t.Context(), Input{Catalog: cat, Installations: have, Want: []Request{want}})
		asked++
		o := newOracle(cat)
		if possible := o.reachable(before); possible != (err == nil) {
			t.Fatalf("universe %d: %v, but that there is an answer is %v; installed %v", i, err, possible, before)
		}
		if err != nil {
			continue
		}
		answered++
		after := choice{}
		for _, x := range res.Installations(have) {
			after[x.Package] = x.Version
		}
		if bad := o.broken(after); bad != "" {
			t.Fatalf("universe %d: %s: %v became %v", i, bad, before, after)
		}
		for _, c := range res.Changes {
			kept := maps.Clone(after)
			kept[c.Installation] = c.From
			if o.broken(kept) == "" {
				t.Fatalf("universe %d: %s changed without need: %v became %v", i, c.Installation, before, after)
			}
			if len(o.users(after, c.Installation)) > 1 {
				moved++
			}
		}
	}
	if answered == asked || moved < asked/20 {
		t.Errorf("of %d requests %d were answered, %d changes were of what others use: the test shows little", asked, answered, moved)
	}
}

// layeredCatalog has r and s, which need some of the same packages; each needs only packages after it.
func layeredCatalog(rng *rand.Rand) []Package {
	const n = 5
	var out []Package
	add := func(name string, p, versions, most int) {
		for v := 1; v <= versions; v++ {
			k := Package{Package: name, Version: fmt.Sprintf("%d.0.0", v), Scope: ScopeCluster}
			for on := p + 1; on < n && len(k.Requires) < most; on++ {
				if rng.IntN(2) == 0 {
					k.Requires = append(k.Requires, Requirement{Alias: fmt.Sprintf("d%d", on), Package: fmt.Sprintf("p%d", on), Version: someRanges[rng.IntN(len(someRanges))]})
				}
			}
			out = append(out, k)
		}
	}
	add("r", -1, 1, 3)
	add("s", -1, 1, 3)
	for p := range n {
		add(fmt.Sprintf("p%d", p), p, 3, 2)
	}
	return out
}

// reachable tells whether s can be had beside all that is installed, each at some version.
func (o oracle) reachable(before choice) bool {
	free := slices.DeleteFunc(o.c.Packages(), func(p string) bool { return p == "r" || p == "s" })
	var rec func(a choice, at int) bool
	rec = func(a choice, at int) bool {
		if at == len(free) {
			return o.broken(a) == ""
		}
		p := free[at]
		for _, v := range o.c.versions(p) {
			a[p] = v.Version
			if rec(a, at+1) {
				return true
			}
		}
		delete(a, p)
		_, installed := before[p]
		return !installed && rec(a, at+1)
	}
	return rec(choice{"r": before["r"], "s": "1.0.0"}, 0)
}

// broken names a need that a choice leaves unmet, "" for none.
func (o oracle) broken(a choice) string {
	for _, p := range sortedKeys(a) {
		for _, r := range o.needs(a, p) {
			if !slices.Contains(o.admitted(r), a[r.Package]) {
				return fmt.Sprintf("%s needs %s %s", p, r.Package, r.Version)
			}
		}
	}
	return ""
}

// users are the packages that need one.
func (o oracle) users(a choice, pkg string) []string {
	var out []string
	for _, p := range sortedKeys(a) {
		if slices.ContainsFunc(o.needs(a, p), func(r Requirement) bool { return r.Package == pkg }) {
			out = append(out, p)
		}
	}
	return out
}
