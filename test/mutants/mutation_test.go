package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMutations(t *testing.T) {
	const src = `package p

import "fmt"

func f(a, b int) error {
	if a < 2 && b != 0 {
		a++
		b = a
	}
	c := "text"
	switch c {
	case "x":
		g(true)
	}
	return fmt.Errorf("only words %d", 7)
}
`
	found, err := mutations("p.go", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found {
		got = append(got, m.String())
		if string(m.apply([]byte(src))) == src {
			t.Errorf("%s changes nothing", m)
		}
	}
	want := []string{
		"p.go:6: without: if a < 2 && b != 0 { a++ b = a }",
		"p.go:6: not: a < 2 && b != 0",
		"p.go:6: && is ||",
		"p.go:6: < is <=",
		"p.go:6: 2 is one more",
		"p.go:6: != is ==",
		"p.go:6: 0 is one more",
		"p.go:7: without: a++",
		"p.go:8: without: b = a",
		`p.go:10: "text" is another text`,
		`p.go:12: without the case: case "x": g(true)`,
		`p.go:12: "x" is another text`,
		"p.go:13: without: g(true)",
		"p.go:13: true is false",
	}
	if diff := cmp.Diff(set(want), set(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func set(lines []string) map[string]bool {
	out := map[string]bool{}
	for _, l := range lines {
		out[l] = true
	}
	return out
}

func TestApply(t *testing.T) {
	src := []byte("package p\n\nfunc f(a int) bool { return a < 10 }\n")
	found, err := mutations("p.go", src)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, m := range found {
		got[string(m.apply(src))] = true
	}
	for _, expr := range []string{"a <= 10", "a < 11"} {
		if want := fmt.Sprintf("package p\n\nfunc f(a int) bool { return %s }\n", expr); !got[want] {
			t.Errorf("%q is not among the faults", expr)
		}
	}
}
