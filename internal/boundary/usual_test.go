package boundary

import (
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
)

// Usual names are passed without a look at what systems make of them: that look would find
// nothing.
func TestUsualNames(t *testing.T) {
	for name, want := range map[string]bool{
		"deployment.yaml": true, "Kptfile": true, "a": true, "A-b_c.0": true, "git": true, "a.git": true, "-": true, "a.": true,
		"": false, ".": false, "..": false, ".git": false, ".GIT": false, ".krmignore": false, "git~1": false, "gitmod~1": false, "a b": false, "a:b": false, "a/b": false, `a\b`: false, "é": false, "a\n": false,
	} {
		if got := usual(name); got != want {
			t.Errorf("%q: usual: %t, want %t", name, got, want)
		}
	}
	random, letters := rand.New(rand.NewPCG(1, 2)), []rune("gitmodulesGIT.~1:0-_ \u200ck\u212aſé/\\")
	found := 0
	for range 200_000 {
		var b strings.Builder
		for range 1 + random.IntN(11) {
			b.WriteRune(letters[random.IntN(len(letters))])
		}
		name := b.String()
		if usual(name) {
			found++
			if !plain(name) || strings.ContainsAny(name, `/\`) || isGit(name) {
				t.Fatalf("%q is no usual name", name)
			}
		}
		if got, want := Folded(name), strings.Map(fold, norm.NFC.String(name)); got != want {
			t.Fatalf("%q is folded to %q, want %q", name, got, want)
		}
	}
	if found < 1000 {
		t.Errorf("%d usual names: too few to tell", found)
	}
	if err := Name(strings.Repeat("a", MaxName+1)); err == nil {
		t.Error("a name that is too long is taken")
	}
}
