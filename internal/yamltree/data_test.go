package yamltree

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMerged holds what merge keys bring in, and who wins.
func TestMerged(t *testing.T) {
	for in, want := range map[string]string{
		"{a: 1, b: 2}":                         "a=1 b=2",
		"{<<: {a: 1}, b: 2}":                   "a=1 b=2",
		"{a: 0, <<: {a: 1, b: 2}}":             "a=0 b=2",
		"{<<: {a: 1, b: 2}, a: 0}":             "a=0 b=2",
		"{<<: [{a: 1}, {a: 2, b: 3}]}":         "a=1 b=3",
		"{<<: {<<: {a: 1, c: 4}, a: 2}, b: 3}": "a=2 b=3 c=4",
		"{<<: [a, 1, ~]}":                      "",
		"{<<: text, a: 1}":                     "a=1",
		"{0x10: a, yes: b}":                    "0x10=a yes=b",
		"{a: null}":                            "a=null",
		"[a, b]":                               "",
		"{}":                                   "",
	} {
		fields := Merged(node(t, in))
		var got []string
		for _, k := range slices.Sorted(maps.Keys(fields)) {
			got = append(got, k+"="+fields[k].Value)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
	base := node(t, "base: &b {a: 1}\nuse:\n  <<: *b\n  c: 2\n")
	if got := Merged(Child(base, "use")); len(got) != 2 || got["a"].Value != "1" {
		t.Errorf("by alias: %v", got)
	}
}

// TestMergedEnds holds that a mapping which merges itself is read in finite time.
func TestMergedEnds(t *testing.T) {
	n := node(t, "&a\nb: 1\n<<: *a\n")
	if got := Merged(n); len(got) != 1 || got["b"] == nil {
		t.Errorf("got %v", got)
	}
	if !SameData(n, n) {
		t.Error("it is the same as itself")
	}
}

// TestSameDataIsTransitive goes through all triples of texts for related values.
func TestSameDataIsTransitive(t *testing.T) {
	texts := []string{
		"1", "1.0", "0x1", "'1'", "1e0", "2001-01-01", "'2001-01-01'", "~", "null", "''", "true", "True", "'true'",
		"{a: 1}", "{a: 1.0}", "{<<: {a: 1}}", "{<<: [{a: 1}, {a: 2}]}", "{a: 2}", "{1: a}", "{'1': a}", "{0x1: a}", "[1]", "[1.0]", "[]", "{}",
	}
	same := func(x, y string) bool { return SameData(node(t, x), node(t, y)) }
	for _, x := range texts {
		for _, y := range texts {
			if !same(x, y) {
				continue
			}
			for _, z := range texts {
				if same(y, z) && !same(x, z) {
					t.Errorf("%s is %s, which is %s, and they are not the same", x, y, z)
				}
			}
		}
	}
}

// TestWriteCanonicalIsKept holds the bytes: digests of them are written into
// packages, and must not change.
func TestWriteCanonicalIsKept(t *testing.T) {
	n, err := Plain(node(t, "b: [1, x, ~, true, 1.50]\na: {d: 'e', c: &x {k: v}}\nl: *x\n"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := WriteCanonical(&b, n); err != nil {
		t.Fatal(err)
	}
	line := func(tag, value string) string { return fmt.Sprintf("%s %q\n", tag, value) }
	str := func(s string) string { return line("!!str", s) }
	want := "{3\n" +
		str("a") + "{2\n" + str("c") + "{1\n" + str("k") + str("v") + str("d") + str("e") +
		str("b") + "[5\n" + line("!!int", "1") + str("x") + line("!!null", "") + line("!!bool", "true") + line("!!float", "1.50") +
		str("l") + "{1\n" + str("k") + str("v")
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStringMap(t *testing.T) {
	got := text(t, StringMap(map[string]string{"b": "1", "a": "x y", "on": "", "c": "l1\nl2\n"}))
	if diff := cmp.Diff("a: x y\nb: \"1\"\nc: |\n  l1\n  l2\n\"on\": \"\"\n", got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := text(t, StringMap(nil)); got != "{}\n" {
		t.Errorf("an empty one is %q", got)
	}
}
