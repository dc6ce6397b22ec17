package resolver

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/test/oracletest"
)

func lockOf(t *testing.T, ps []Package) *v1alpha1.PackageLock {
	t.Helper()
	res, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, ps), Want: []Request{{Package: "app", Namespace: "n"}}})
	if err != nil {
		t.Fatal(err)
	}
	return res.Document("edge")
}

// TestUpdateLockKeepsComments holds that what people wrote into a lock stays where it was when packages come, go and
// change, and that each such change changes its own lines only.
func TestUpdateLockKeepsComments(t *testing.T) {
	app := Package{Package: "app", Version: "1.0.0", Requires: []Requirement{
		{Alias: "a", Package: "a", Parameters: map[string]string{"p": "1", "q": "2"}}, {Alias: "c", Package: "c"},
	}}
	a := Package{Package: "a", Version: "1.0.0", Digest: "sha256:a1", Parameters: []Field{{Name: "p"}, {Name: "q"}}, Provides: []Provide{{GVK: gvk("A")}}}
	c := Package{Package: "c", Version: "1.0.0", Digest: "sha256:c1", Provides: []Provide{{GVK: gvk("C")}}}
	first := lockOf(t, []Package{app, a, c})
	data, err := new(LockWriter).Update(nil, first)
	if err != nil {
		t.Fatal(err)
	}
	commented := strings.NewReplacer(
		"kind: PackageLock\n", "kind: PackageLock\n# ours\n",
		"  name: edge\n", "  name: edge\n  labels: {team: a} # mine\n",
		"  - name: c\n", "  # of c\n  - name: c\n",
		"    digest: sha256:a1\n", "    digest: sha256:a1 # checked\n",
		"    version: 1.0.0\n    digest: sha256:c1", "    version: 1.0.0 # pinned for now\n    digest: sha256:c1",
		"    - field: parameters.q\n", "    # of q\n    - field: parameters.q\n",
		"    x.org/C: n/c\n", "    x.org/C: n/c # theirs\n",
		"  - - n/app\n", "  - - n/app # last\n",
	).Replace(string(data))
	if n := strings.Count(commented, "#"); n != 8 {
		t.Fatalf("%d comments in\n%s", n, commented)
	}
	same, err := new(LockWriter).Update([]byte(commented), first)
	if diff := cmp.Diff(commented, string(same)); err != nil || diff != "" {
		t.Errorf("the same lock: %v\n%s", err, diff)
	}
	b := Package{Package: "b", Version: "1.0.0", Provides: []Provide{{GVK: gvk("B")}}}
	withB := app
	withB.Requires = append([]Requirement{{Alias: "b", Package: "b"}}, app.Requires...)
	a2 := a
	a2.Version, a2.Digest = "1.1.0", "sha256:a2"
	noDigest := c
	noDigest.Digest = ""
	withoutQ := app
	withoutQ.Requires = []Requirement{{Alias: "a", Package: "a", Parameters: map[string]string{"p": "1"}}, app.Requires[1]}
	for name, tt := range map[string]struct {
		packages []Package
		lost     int // comments that stood on what went
	}{
		"another comes":  {packages: []Package{withB, a, b, c}},
		"one changes":    {packages: []Package{app, a2, c}},
		"a field goes":   {packages: []Package{app, a, noDigest}},
		"a mapping goes": {packages: []Package{withoutQ, a, c}, lost: 1},
	} {
		t.Run(name, func(t *testing.T) {
			want := lockOf(t, tt.packages)
			got, err := new(LockWriter).Update([]byte(commented), want)
			if err != nil {
				t.Fatal(err)
			}
			back, err := ParseLock(got)
			if diff := cmp.Diff(&want.Spec, back, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			if n := strings.Count(string(got), "#"); n != 8-tt.lost {
				t.Errorf("%d comments are left in\n%s", n, got)
			}
			fresh, err := new(LockWriter).Update(nil, want)
			if err != nil {
				t.Fatal(err)
			}
			gone, in := difference(commented, string(got))
			freshGone, freshIn := difference(string(data), string(fresh))
			if diff := cmp.Diff([][]string{freshGone, freshIn}, [][]string{gone, in}); diff != "" || len(gone)+len(in) == 0 {
				t.Errorf("other lines changed than in a lock without comments:\n%s\n%s", diff, got)
			}
		})
	}
	for name, previous := range map[string]string{
		"no YAML": "a: [", "another kind": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "nothing": "",
		"no map": "apiVersion: variform.dev/v1alpha1\nkind: PackageLock\nmetadata: {name: edge}\nspec: text\n", "two": string(data) + "---\n" + string(data),
	} {
		if got, err := new(LockWriter).Update([]byte(previous), first); err != nil || string(got) != string(data) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(string(data), string(got)))
		}
	}
}

// difference lists the lines, comments apart, that are in one text alone, by their longest common subsequence.
func difference(before, after string) (gone, in []string) {
	comments := regexp.MustCompile(`(?m)^ *#.*\n| +#.*$`)
	lines := func(text string) []string { return strings.Split(comments.ReplaceAllString(text, ""), "\n") }
	a, b := lines(before), lines(after)
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			length[i][j] = max(length[i+1][j], length[i][j+1])
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			gone, i = append(gone, strings.TrimSpace(a[i])), i+1
		default:
			in, j = append(in, strings.TrimSpace(b[j])), j+1
		}
	}
	return gone, in
}

// TestUpdateLockMeans holds that whatever lock stood there before, the text means the new one, and that without
// comments it is what is written without a previous one.
func TestUpdateLockMeans(t *testing.T) {
	var previous []byte
	for i := range oracletest.Universes(t) / 10 {
		ps := randomCatalog(rand.New(rand.NewPCG(uint64(i), 21)), ScopeAny)
		res, err := Resolve(t.Context(), Input{Catalog: mustCatalog(t, ps), Want: wantR()})
		if err != nil {
			continue
		}
		doc := res.Document(fmt.Sprint("t", i%3))
		want, err := new(LockWriter).Update(nil, doc)
		if err != nil {
			t.Fatal(err)
		}
		got, err := new(LockWriter).Update(previous, doc)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Fatalf("universe %d: after\n%s\n%s", i, previous, diff)
		}
		previous = got
	}
}

// What the lock made for a requirement stays also where something else of its package is asked for or is there since,
// so that what is left of it does not become another answer the next time.
func TestLockedApart(t *testing.T) {
	cat := mustCatalog(t, []Package{
		{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "d", Package: "db"}}},
		{Package: "db", Version: "1.0.0"},
		{Package: "db", Version: "2.0.0"},
	})
	app, db := Request{Name: "app", Package: "app"}, Request{Name: "mine", Package: "db", Version: "2.0.0"}
	first, err := Resolve(t.Context(), Input{Catalog: cat, Want: []Request{app}})
	if err != nil {
		t.Fatal(err)
	}
	both, err := Resolve(t.Context(), Input{Catalog: cat, Want: []Request{app, db}})
	if err != nil {
		t.Fatal(err)
	}
	there := []Installation{{Name: "theirs", Package: "db", Version: "2.0.0"}}
	for name, c := range map[string]struct {
		in   Input
		want string // what app is bound to
	}{
		"without a lock, what is asked for":          {Input{Want: []Request{app, db}}, "mine"},
		"without a lock, what is there":              {Input{Want: []Request{app}, Installations: there}, "theirs"},
		"locked, and another is asked for since":     {Input{Want: []Request{app, db}, Lock: first.Lock}, "db"},
		"locked, and another is there since":         {Input{Want: []Request{app}, Installations: there, Lock: first.Lock}, "db"},
		"locked to what is asked for":                {Input{Want: []Request{app, db}, Lock: both.Lock}, "mine"},
		"locked, and what was made is there already": {Input{Want: []Request{app}, Installations: []Installation{{Name: "db", Package: "db", Version: "2.0.0"}}, Lock: first.Lock}, "db"},
	} {
		c.in.Catalog = cat
		res, err := Resolve(t.Context(), c.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Find("app").Bindings[0].Installation; got != c.want {
			t.Errorf("%s: app is bound to %s, want %s", name, got, c.want)
		}
	}
}

// TestLocksOfAlikeTargets holds that one writer gives each lock the bytes that encoding it alone gives.
func TestLocksOfAlikeTargets(t *testing.T) {
	app := Package{Package: "app", Version: "1.0.0", Requires: []Requirement{{Alias: "c", Package: "c"}}}
	c := Package{Package: "c", Version: "1.0.0", Digest: "sha256:c1", Provides: []Provide{{GVK: gvk("C")}}}
	alike, empty := lockOf(t, []Package{app, c}), &v1alpha1.PackageLock{}
	empty.APIVersion, empty.Kind, empty.Name = v1alpha1.APIVersion, v1alpha1.KindPackageLock, "lock"
	var w LockWriter
	for i, target := range []string{"c1", "123", "spec:", "c1", "", "clusters/c2", "a-target", "true", "two words", "2001-01-01", "...a", "..a", "a...", "..."} {
		for n := range 2 * maxAlike {
			for _, l := range []*v1alpha1.PackageLock{alike, empty} {
				own := *l
				own.Spec.Target, own.Annotations = target, map[string]string{"a": "b", "spec": "\nspec:\n  target: a-target\n"}
				if i%3 == 2 {
					own.Name = target
				}
				if n%4 == 3 {
					own.Namespace = "ns"
				}
				if n > 0 && len(own.Spec.Packages) > 0 {
					own.Spec.Plan = [][]string{{fmt.Sprint("p", n)}}
				}
				want, err := api.Encode(&own)
				if err != nil {
					t.Fatal(err)
				}
				got, err := w.Update(nil, &own)
				if d := cmp.Diff(string(want), string(got)); err != nil || d != "" {
					t.Errorf("%q: %v\n%s", target, err, d)
				}
			}
		}
	}
	if len(w.alike) == 0 || len(w.alike) > maxAlike {
		t.Errorf("%d texts are kept, want at most %d", len(w.alike), maxAlike)
	}
}

// What is locked for a package stays, though the one of that name at the top, and another one besides, are there.
func TestLockedBesideOthersOfItsName(t *testing.T) {
	needs := []Requirement{{Alias: "db", Package: "db", Version: "^3"}}
	in := Input{
		Catalog:          mustCatalog(t, []Package{{Package: "db", Version: "1.0.0"}, {Package: "db", Version: "3.0.0"}, {Package: "app", Version: "1.0.0", Requires: needs}}),
		ClusterNamespace: new(string), Want: []Request{{Package: "app", Namespace: "a"}},
	}
	first, err := Resolve(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	other, top := Installation{Name: "other", Package: "db", Version: "3.0.0", Fixed: true}, Installation{Name: "db", Package: "db", Version: "1.0.0", Fixed: true}
	shared := in
	shared.Want = append(shared.Want, Request{Package: "db", Version: "3.0.0"})
	if first, err := Resolve(t.Context(), shared); err != nil {
		t.Fatal(err)
	} else if shared.Lock, shared.Installations = first.Lock, []Installation{other}; len(first.Lock.Packages) != 2 {
		t.Fatalf("%+v", first.Lock)
	}
	if again, err := Resolve(t.Context(), shared); err != nil || cmp.Diff(shared.Lock, again.Lock) != "" {
		t.Errorf("what is asked for serves nobody any more: %v\n%s", err, cmp.Diff(shared.Lock, again.Lock))
	}
	in.Lock = first.Lock
	for name, there := range map[string][]Installation{"another": {other}, "its name at the top": {top}, "both": {other, top}} {
		in.Installations = there
		again, err := Resolve(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first.Lock, again.Lock); diff != "" {
			t.Errorf("%s: what is locked moves:\n%s", name, diff)
		}
	}
}
