package api

import (
	"math/rand/v2"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// TestIsWord holds that what is written without asking a parser is a string to it, and that most of a lock is.
func TestIsWord(t *testing.T) {
	for _, s := range []string{"postgres", "git:4b825dc642cb6eb9a060e54bf8d69288fbee4904", "https://example.com/org/catalog.git", "needed-by/shop"} {
		if !isWord(s) {
			t.Errorf("%q asks a parser", s)
		}
	}
	const letters = "aefglnorstuy0159.-_/@+:, #'\"{[!&*|>%~=<"
	rng := rand.New(rand.NewPCG(1, 2))
	words := 0
	for range 100_000 {
		b := make([]byte, 1+rng.IntN(9))
		for i := range b {
			n := len(letters)
			if rng.IntN(8) > 0 { // few of the marks
				n = 23
			}
			b[i] = letters[rng.IntN(n)]
		}
		if s := string(b); isWord(s) {
			if words++; yaml.IsValueNonString(s) {
				t.Fatalf("%q is no string", s)
			}
		}
	}
	if words < 1000 {
		t.Errorf("%d words: the test shows little", words)
	}
}
