package krm

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLineEnd finds the breaks of YAML 1.1, of any text.
func TestLineEnd(t *testing.T) {
	pieces := []string{"a", " ", "\t", "\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\u00c2", "\u2020", "é", "\xc2", "\xe2", "\xe2\x80", "\x0b", "\x00"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(8) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		data := []byte(b.String())
		want, after := len(data), len(data)
		for i := range data {
			if n := breakAt(data, i); n > 0 {
				want, after = i, i+n
				break
			}
		}
		if end, next := lineEnd(data, 0); end != want || next != after {
			t.Fatalf("%q: the line ends at %d and the next begins at %d, want %d and %d", data, end, next, want, after)
		}
	}
	for text, want := range map[string]int{"\n": 1, "\r\n": 2, "\r": 1, "\u0085": 2, "\u2028": 3, "\u2029": 3, "\u0084": 0, "\u2027": 0, "a": 0} {
		if got := breakAt([]byte(text), 0); got != want {
			t.Errorf("%q breaks a line with %d bytes, want %d", text, got, want)
		}
	}
}
