package review

import (
	"fmt"
	"strings"
	"testing"
)

func TestRanges(t *testing.T) {
	for names, want := range map[string]string{
		"":                                 "",
		"a b":                              "a b",
		"c1/web c2/web":                    "c1/web c2/web",
		"c1/web c2/web c3/web":             "c[1-3]/web",
		"c10/web c8/web c9/web":            "c[8-10]/web",
		"c08/w c09/w c10/w c11/w":          "c[08-11]/w",
		"c1/w c2/w c3/w c5/w c7/w":         "c[1-3]/w c5/w c7/w",
		"c1/w1 c2/w1 c3/w1 c1/w2":          "c[1-3]/w1 c1/w2",
		"eu-1/x us-1/x eu-2/x eu-3/x":      "eu-[1-3]/x us-1/x",
		"a0001 a0002 a0003 a1 a2 a3":       "a[0001-0003] a[1-3]",
		"c1/a c1/b c2/a c2/b":              "c1/a c1/b c2/a c2/b",
		"a123456789012 a123456789013 b":    "a123456789012 a123456789013 b",
		"p1-v2/web p2-v2/web p3-v2/web zz": "p[1-3]-v2/web zz",
	} {
		if got := strings.Join(Ranges(strings.Fields(names)), " "); got != want {
			t.Errorf("%s: %s, want %s", names, got, want)
		}
	}
}

// Names may hold anything.
func TestRangesOfAnything(t *testing.T) {
	names := []string{"a1", "a\x00", "\x001\x00", "a\x001", "", "1", "a\xff2", "a\xff3", "a\xfd4", "[1-3]"}
	if got := Ranges(names); len(got) != len(names) {
		t.Errorf("%q", got)
	}
}

// What is written as ranges are the names, each once.
func TestRangesAreTheNames(t *testing.T) {
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("c%d/web-%d", i*7%1000, i%3), fmt.Sprintf("n%03d", i*13%1000))
	}
	got := map[string]int{}
	for _, r := range Ranges(names) {
		open, end := strings.IndexByte(r, '['), strings.IndexByte(r, ']')
		if open < 0 {
			got[r]++
			continue
		}
		from, to, _ := strings.Cut(r[open+1:end], "-")
		var a, b int
		if _, err := fmt.Sscan("1"+from, &a); err != nil { // a zero at the head is none of octal numbers
			t.Fatal(err)
		}
		if _, err := fmt.Sscan("1"+to, &b); err != nil {
			t.Fatal(err)
		}
		width := len(from)
		unit := 1
		for range width {
			unit *= 10
		}
		a -= unit
		unit = 1
		for range len(to) {
			unit *= 10
		}
		b -= unit
		for n := a; n <= b; n++ {
			text := fmt.Sprint(n)
			if from[0] == '0' {
				text = fmt.Sprintf("%0*d", width, n)
			}
			got[r[:open]+text+r[end+1:]]++
		}
	}
	if len(got) != len(names) {
		t.Errorf("%d names, want %d", len(got), len(names))
	}
	for _, n := range names {
		if got[n] != 1 {
			t.Errorf("%s: %d times", n, got[n])
		}
	}
}
