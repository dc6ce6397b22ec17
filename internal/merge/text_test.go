package merge

import (
	"strings"
	"testing"
)

// TestText: files that are no YAML are merged line by line.
func TestText(t *testing.T) {
	f := func(text string) string { return "-- f --\n" + text }
	runCases(t, map[string]mergeCase{
		"other lines": {base: f("a\nb\nc\nd\n"), upstream: f("A\nb\nc\nd\n"), local: f("a\nb\nc\nD\n"), want: f("A\nb\nc\nD\n")},
		"lines that come and go": {
			base: f("a\nb\nc\nd\n"), upstream: f("a\nc\nd\ne\n"), local: f("0\na\nb\nc\nd\n"), want: f("0\na\nc\nd\ne\n"),
		},
		"one change on both": {base: f("a\nb\n"), upstream: f("A\nb\n"), local: f("A\nb\n"), want: f("A\nb\n")},
		"one line": {
			base: f("a\nb\nc\n"), upstream: f("a\n1\nc\n"), local: f("a\n2\nC\n"), want: f("a\n1\nc\n"),
			conflicts: []string{`f: line 2: upstream wins with "1\nc"; local was "2\nC"`},
		},
		"lines at one place": {
			base: f("a\nb\n"), upstream: f("a\n1\nb\n"), local: f("a\n2\nb\n"), want: f("a\n1\nb\n"),
			conflicts: []string{`f: line 2: upstream wins with "1"; local was "2"`},
		},
		"a line removed": {
			base: f("a\nb\nc\n"), upstream: f("a\nc\n"), local: f("a\nB\nc\n"), want: f("a\nc\n"),
			conflicts: []string{`f: line 2: upstream wins with (deleted); local was "B"`},
		},
		"kept": {
			base: f("a\nb\nc\nd\n"), upstream: f("a\n1\nc\nD\n"), local: f("a\n2\nc\nd\n"), want: f("a\n2\nc\nD\n"), options: Options{Keep: true},
			conflicts: []string{`f: line 2: local wins with "2"; upstream was "1"`},
		},
		"a password is not told": {
			base: f("a\n"), upstream: f("password=1\n"), local: f("password=2\n"), want: f("password=1\n"),
			conflicts: []string{`f: line 1: upstream wins with (redacted); local was (redacted)`},
		},
		"no text": {
			base: f("a\x00\n"), upstream: f("b\x00\n"), local: f("c\x00\n"), want: f("c\x00\n"),
			conflicts: []string{"f: local wins with sha256:a464381c2479 (3 bytes); upstream was sha256:7346c39d306e (3 bytes)"},
		},
	})
}

// TestKeep: where edits are to be kept local wins what both sides changed, and
// what nobody edited follows.
func TestKeep(t *testing.T) {
	list := func(text string) string {
		return "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: l\nspec:\n" + text
	}
	const at = "r.yaml: Thing.example.com/l: spec."
	for name, tc := range map[string]mergeCase{
		"a value, and one beside it": {
			base: list("  a: 1\n  b: 1\n"), upstream: list("  a: 2\n  b: 2\n"), local: list("  a: 3\n  b: 1\n"), want: list("  a: 3\n  b: 2\n"),
			conflicts: []string{at + "a: local wins with 3; upstream was 2"},
		},
		"a field that upstream removed": {
			base: list("  a: 1\n  b: 1\n  c: 1\n"), upstream: list("  c: 1\n"), local: list("  a: 3\n  b: 1\n  c: 1\n"), want: list("  a: 3\n  c: 1\n"),
			conflicts: []string{at + "a: local wins with 3; upstream was (deleted)"},
		},
		"a field that local removed": {
			base: list("  a: 1\n  b: 1\n"), upstream: list("  a: 2\n  b: 1\n"), local: list("  b: 1\n"), want: list("  b: 1\n"),
			conflicts: []string{at + "a: local wins with (deleted); upstream was 2"},
		},
		"an item that upstream removed": {
			base: list("  l:\n  - name: a\n    v: 1\n  - name: b\n    v: 1\n"), upstream: list("  l: []\n"),
			local: list("  l:\n  - name: a\n    v: 2\n  - name: b\n    v: 1\n"), want: list("  l:\n  - name: a\n    v: 2\n"),
			conflicts: []string{at + "l[name=a]: local wins with {name: a, v: 2}; upstream was (deleted)"},
		},
		"a word of a list": {
			base: list("  l: [a, b, c]\n"), upstream: list("  l: [a, B, c]\n"), local: list("  l: [a, mine, c]\n"), want: list("  l: [a, mine, c]\n"),
			conflicts: []string{at + "l[1]: local wins with [mine]; upstream was [B]"},
		},
		"another kind of value": {
			base: list("  a: 1\n"), upstream: list("  a:\n    b: 1\n"), local: list("  a: [1]\n"), want: list("  a: [1]\n"),
			conflicts: []string{at + "a: local wins with [1]; upstream was {b: 1}"},
		},
	} {
		tc.options.Keep = true
		t.Run(name, tc.run)
	}
}

// TestOwnedElsewhere: what others set is nobody's edit.
func TestOwnedElsewhere(t *testing.T) {
	doc := func(image, replicas string) string {
		return strings.Replace(deployment("      containers:\n      - name: app\n        image: "+image+"\n"), "metadata:\n", "metadata:\n  annotations:\n    variform.dev/owned-elsewhere: spec.replicas\n", 1) +
			"  replicas: " + replicas + "\n"
	}
	const marked = ` # {"$imagepolicy": "ns:app"}`
	runCases(t, map[string]mergeCase{
		"both changed":   {base: doc("a:1"+marked, "1"), upstream: doc("a:2"+marked, "2"), local: doc("a:9"+marked, "9"), want: doc("a:9"+marked, "9")},
		"upstream alone": {base: doc("a:1"+marked, "1"), upstream: doc("a:2"+marked, "2"), local: doc("a:1"+marked, "1"), want: doc("a:2"+marked, "2")},
		"both changed, and upstream is what stands": {
			base: doc("a:1"+marked, "1"), upstream: doc("a:9"+marked, "9"), local: doc("a:2"+marked, "2"), want: doc("a:9"+marked, "9"), options: Options{Stands: true},
		},
		"the Draft alone changed": {
			base: doc("a:1"+marked, "1"), upstream: doc("a:1"+marked, "1"), local: doc("a:2"+marked, "2"), want: doc("a:2"+marked, "2"), options: Options{Stands: true},
		},
		"upstream removed it": {base: doc("a:1"+marked, "1"), upstream: "", local: doc("a:9"+marked, "9"), want: ""},
		"upstream removed it, and a person edited": {
			base: doc("a:1"+marked, "1"), upstream: "", local: doc("b:9", "9"), want: doc("b:9", "9"),
			conflicts: []string{"r.yaml: Deployment.apps/web: removed upstream, kept for an edit: {apiVersion: apps/v1, kind: Deployment, metadata: {annotations: {variform.dev/owned-elsewhere: spec.replicas}, name: web…"},
		},
	})
}

// TestGuessAndStrategies: a guess says nothing to the strategies that replace a package,
// its Kptfile included.
func TestGuessAndStrategies(t *testing.T) {
	const plain = "-- Kptfile --\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"
	const described = plain + "info:\n  description: one\n"
	for _, strategy := range []Strategy{"force-delete-replace", "copy-merge", "fast-forward"} {
		runCases(t, map[string]mergeCase{
			string(strategy): {base: described, upstream: plain, local: described, want: plain, options: Options{Strategy: strategy, Guess: true}},
		})
	}
}
