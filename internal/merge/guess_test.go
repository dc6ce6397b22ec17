package merge

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestGuess: where base is a guess nothing that local has goes, and what upstream
// has instead is told; what upstream adds comes, and a value that is as the guess
// has it follows.
func TestGuess(t *testing.T) {
	cm := func(name string, data ...string) string {
		return "-- " + name + ".yaml --\n" + configMap(name, data...)
	}
	file := func(text string) string { return "-- f --\n" + text }
	list := func(items ...string) string {
		return "-- l.yaml --\napiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: l\nspec:\n" + strings.Join(items, "")
	}
	words := func(items ...string) string { return "  words:\n  - " + strings.Join(items, "\n  - ") + "\n" }
	users := func(items ...string) string {
		var b strings.Builder
		b.WriteString("  users:\n")
		for _, i := range items {
			name, v, _ := strings.Cut(i, "=")
			fmt.Fprintf(&b, "  - name: %s\n    v: %s\n", name, v)
		}
		return b.String()
	}
	const thing = "l.yaml: Thing.example.com/l: spec."
	for name, tc := range map[string]mergeCase{
		"a value as it was follows": {base: cm("a", "x: 1"), upstream: cm("a", "x: 2"), local: cm("a", "x: 1"), want: cm("a", "x: 2")},
		"another value stays": {
			base: cm("a", "x: 1"), upstream: cm("a", "x: 2"), local: cm("a", "x: 3"), want: cm("a", "x: 3"),
			conflicts: []string{"a.yaml: ConfigMap/a: data.x: not taken, base unknown: upstream has 2; 3 stays"},
		},
		"a field that upstream removed stays": {
			base: cm("a", "x: 1", "y: 1"), upstream: cm("a", "x: 2"), local: cm("a", "x: 1", "y: 1"), want: cm("a", "x: 2", "y: 1"),
			conflicts: []string{"a.yaml: ConfigMap/a: data.y: not taken, base unknown: upstream has (deleted); 1 stays"},
		},
		"a field that upstream nulls stays": {
			base: cm("a", "x: 1", "y: 1"), upstream: cm("a", "x: null", "y: 1"), local: cm("a", "x: 1", "y: 1"), want: cm("a", "x: 1", "y: 1"),
			conflicts: []string{"a.yaml: ConfigMap/a: data.x: not taken, base unknown: upstream has null; 1 stays"},
		},
		"a field that is not there stays away": {
			base: cm("a", "x: 1", "y: 1"), upstream: cm("a", "x: 1", "y: 2"), local: cm("a", "x: 1"), want: cm("a", "x: 1"),
			conflicts: []string{"a.yaml: ConfigMap/a: data.y: not taken, base unknown: upstream has 2; (deleted) stays"},
		},
		"what upstream adds comes": {base: cm("a", "x: 1"), upstream: cm("a", "x: 1", "z: 1") + cm("b", "x: 1"), local: cm("a", "x: 3"), want: cm("a", "x: 3", "z: 1") + cm("b", "x: 1")},
		"a resource that upstream removed stays": {
			base: cm("a", "x: 1") + cm("b", "x: 1"), upstream: cm("a", "x: 1"), local: cm("a", "x: 1") + cm("b", "x: 1"), want: cm("a", "x: 1") + cm("b", "x: 1"),
			conflicts: []string{"b.yaml: ConfigMap/b: not taken, base unknown: upstream has (deleted); {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {x: 1}} stays"},
		},
		"a resource that is not there stays away": {
			base: cm("a", "x: 1") + cm("b", "x: 1"), upstream: cm("a", "x: 2") + cm("b", "x: 1"), local: cm("a", "x: 1"), want: cm("a", "x: 2"),
		},
		"a file that upstream removed stays": {
			base: file("1\n"), upstream: "", local: file("1\n"), want: file("1\n"),
			conflicts: []string{"f: not taken, base unknown: upstream has (deleted); sha256:4355a46b19d3 (2 bytes) stays"},
		},
		"a file that is as it was follows": {base: file("1\n"), upstream: file("2\n"), local: file("1\n"), want: file("2\n")},
		"a subpackage that upstream removed stays": {
			base: subpackage("s", "") + file("1\n"), upstream: file("1\n"), local: subpackage("s", "") + file("1\n"), want: file("1\n") + subpackage("s", ""),
			conflicts: []string{"s: not taken, base unknown: upstream has (deleted); (changed) stays"},
		},
		"items of a keyed list": {
			base: list(users("a=1", "b=1", "c=1")), upstream: list(users("a=2", "b=2", "d=1")), local: list(users("a=1", "b=3", "c=1")),
			want: list(users("a=2", "b=3", "c=1", "d=1")),
			conflicts: []string{
				thing + "users[name=b].v: not taken, base unknown: upstream has 2; 3 stays",
				thing + "users[name=c]: not taken, base unknown: upstream has (deleted); {name: c, v: 1} stays",
			},
		},
		"items of a keyed list in another order": {
			base: list(users("a=1", "b=1", "c=1")), upstream: list(users("b=1", "a=1")), local: list(users("a=1", "b=1", "c=1")),
			want:      list(users("b=1", "c=1", "a=1")),
			conflicts: []string{thing + "users[name=c]: not taken, base unknown: upstream has (deleted); {name: c, v: 1} stays"},
		},
		"what upstream adds to a list": {base: list(words("a", "b")), upstream: list(words("a", "b", "c")), local: list(words("x", "a")), want: list(words("x", "a", "c"))},
		"a list of which upstream takes": {
			base: list(words("a", "b")), upstream: list(words("a", "c")), local: list(words("a", "b")), want: list(words("a", "b")),
			conflicts: []string{thing + "words: not taken, base unknown: upstream has [a, c]; [a, b] stays"},
		},
		"a map that becomes a word": {
			base: list("  a:\n    b: 1\n"), upstream: list("  a: 1\n"), local: list("  a:\n    b: 1\n"), want: list("  a:\n    b: 1\n"),
			conflicts: []string{thing + "a: not taken, base unknown: upstream has 1; {b: 1} stays"},
		},
		"a function that upstream removed stays": {
			base:     "-- Kptfile --\n" + kptfileHead + "pipeline:\n  mutators:\n  - image: a:v1\n  - image: b:v1\n",
			upstream: "-- Kptfile --\n" + kptfileHead + "pipeline:\n  mutators:\n  - image: a:v2\n", local: "-- Kptfile --\n" + kptfileHead + "pipeline:\n  mutators:\n  - image: a:v1\n  - image: b:v1\n",
			want:      "-- Kptfile --\n" + kptfileHead + "pipeline:\n  mutators:\n  - image: a:v2\n  - image: b:v1\n",
			conflicts: []string{"Kptfile: Kptfile.kpt.dev/app: pipeline.mutators[image=b]: not taken, base unknown: upstream has (deleted); {image: 'b:v1'} stays"},
		},
		"a file of the variant's own": {
			base: cm("a", "x: 1"), upstream: cm("a", "x: 1"), local: cm("a", "x: 1") + cm("own", "x: 1"), want: cm("a", "x: 1") + cm("own", "x: 1"),
		},
	} {
		tc.options.Guess = true
		t.Run(name, tc.run)
	}
}

// TestPropertyGuess: whatever base is, all that local has is there after.
func TestPropertyGuess(t *testing.T) {
	for n := range uint64(rounds) {
		r := rand.New(rand.NewPCG(n, 5))
		base := randomModel(r)
		upstream, local := base.copy(), base.copy()
		for i := range 1 + r.IntN(8) {
			randomEdit(r, upstream, fmt.Sprintf("EU%d", i)).apply(upstream)
			randomEdit(r, local, fmt.Sprintf("EL%d", i)).apply(local)
		}
		if n%4 == 0 {
			base = randomModel(r)
		}
		l := local.pkg(t)
		res, err := Packages(base.pkg(t), upstream.pkg(t), l, Options{Guess: true})
		if err != nil {
			t.Fatalf("seed %d: %v", n, err)
		}
		there := modelOf(t, res.Package)
		for id, doc := range modelOf(t, l) {
			is, ok := there[id].(map[string]any)
			if !ok {
				t.Fatalf("seed %d: %s is gone", n, id)
			}
			if gone := lacks(doc.(map[string]any)["root"], is["root"], id); gone != "" {
				t.Fatalf("seed %d: %s is gone\n%s", n, gone, textOf(t, res.Package))
			}
		}
	}
}

// lacks names a field or an item of have that is not in is; values may differ.
func lacks(have, is any, at string) string {
	switch have := have.(type) {
	case map[string]any:
		m, ok := is.(map[string]any)
		if !ok {
			return at
		}
		for k, v := range have {
			if _, ok := m[k]; !ok {
				return at + "." + k
			}
			if gone := lacks(v, m[k], at+"."+k); gone != "" {
				return gone
			}
		}
	case []any:
		items := map[string]any{}
		list, _ := is.([]any)
		for _, v := range list {
			items[sortKey(v)] = v
		}
		for _, v := range have {
			k := sortKey(v)
			if _, ok := items[k]; !ok && !strings.HasPrefix(k, "fn") { // an image may have another tag
				return at + "[" + k + "]"
			}
			if m, ok := v.(map[string]any); ok && items[k] != nil {
				if gone := lacks(m, items[k], at+"["+k+"]"); gone != "" {
					return gone
				}
			}
		}
	}
	return ""
}
