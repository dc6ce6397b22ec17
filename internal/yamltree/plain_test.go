package yamltree

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestPlain(t *testing.T) {
	n := node(t, "base: &b {x: 1, z: [p, q]} # c\nuse:\n  <<: *b\n  x: 2\n  s: |\n    text\nempty: {}\n")
	got, err := Plain(n)
	if err != nil {
		t.Fatal(err)
	}
	want := "base:\n  x: 1\n  z:\n  - p\n  - q\nuse:\n  x: 2\n  s: |\n    text\n  z:\n  - p\n  - q\nempty: {}\n"
	if diff := cmp.Diff(want, text(t, got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPlainIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x]\n")
	for i := 1; i < 20; i++ {
		b.WriteString("a" + string(rune('a'+i)) + ": &a" + string(rune('a'+i)) + " [" + strings.Repeat("*a"+prev(i)+", ", 9) + "x]\n")
	}
	if _, err := Plain(node(t, b.String())); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if _, err := Plain(node(t, strings.Repeat("[", MaxDepth+5)+strings.Repeat("]", MaxDepth+5))); !errors.Is(err, ErrTooLarge) {
		t.Errorf("deep: got %v, want ErrTooLarge", err)
	}
}

func TestCheck(t *testing.T) {
	if err := Check(node(t, "a: &x {b: [1, 2]}\nc: [*x, *x]\n")); err != nil {
		t.Error(err)
	}
	for name, s := range map[string]string{"itself": "&a\nb: *a\n", "deep": strings.Repeat("[", MaxDepth+5) + strings.Repeat("]", MaxDepth+5)} {
		if err := Check(node(t, s)); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func prev(i int) string {
	if i == 1 {
		return "0"
	}
	return string(rune('a' + i - 1))
}

func TestWriteCanonicalAgreesWithSameValue(t *testing.T) {
	texts := []string{"{a: 1, b: [x]}", "b: [\"x\"]\na: 1", "a: 1\nb: []", "a: \"1\"", "a: 1", "a: null", "a: ~", "a: {}", "a: []", "[]", "{}", "a: [[x], y]", "a: [[x, y]]"}
	for _, x := range texts {
		for _, y := range texts {
			a, b := node(t, x), node(t, y)
			var wa, wb strings.Builder
			if err := errors.Join(WriteCanonical(&wa, a), WriteCanonical(&wb, b)); err != nil {
				t.Fatal(err)
			}
			if (wa.String() == wb.String()) != SameValue(a, b) {
				t.Errorf("%q and %q: canonical forms and SameValue disagree", x, y)
			}
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"a: &x [1, *x]", "a: &x {b: c}\nd: {<<: *x}", "{}", "- |\n  x\n", "a: !!binary aGk=", "? {a: b}\n: c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := yaml.Parse(s)
		if err != nil || n.YNode() == nil {
			return
		}
		once, err := Plain(n.YNode())
		if err != nil {
			return
		}
		again, err := Plain(once)
		if err != nil || !SameValue(once, again) {
			t.Fatalf("Plain is not stable: %v", err)
		}
		var a, b strings.Builder
		if err := errors.Join(WriteCanonical(&a, once), WriteCanonical(&b, again)); err != nil || a.String() != b.String() {
			t.Fatalf("canonical form is not stable: %v", err)
		}
	})
}
