package review

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// TestRuns holds what takes a text apart to the patterns that say what it means.
func TestRuns(t *testing.T) {
	token := regexp.MustCompile(`\$\{\w+\}|[0-9]+|\pL+|[^0-9\pL]`)
	digit, letter, index := regexp.MustCompile(`[0-9]+`), regexp.MustCompile(`\pL+`), regexp.MustCompile(`\[[0-9]*\]`)
	pieces := []string{"${variant}", "${a_1}", "${", "${}", "${a-b}", "$", "{", "}", "_", "a", "é", "Ω", "中", "7", "042", "[", "]", "[]", "[12]", "[a=1]", ".", " ", "\xff", "\xc3", "²", "٣"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var b strings.Builder
		for range r.IntN(9) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		s := b.String()
		if got, want := tokens(s), token.FindAllString(s, -1); !slices.Equal(got, want) {
			t.Fatalf("tokens of %q: got %q, want %q", s, got, want)
		}
		if got, want := replaceRuns(s, "#", isDigit), digit.ReplaceAllString(s, "#"); got != want {
			t.Fatalf("numbers of %q: got %q, want %q", s, got, want)
		}
		if got, want := replaceRuns(s, "a", unicode.IsLetter), letter.ReplaceAllString(s, "a"); got != want {
			t.Fatalf("words of %q: got %q, want %q", s, got, want)
		}
		if got, want := withoutIndexes(s), index.ReplaceAllString(s, "[]"); got != want {
			t.Fatalf("indexes of %q: got %q, want %q", s, got, want)
		}
		if got, want := turns(s), turnsBy(digit, s); !slices.Equal(got, want) {
			t.Fatalf("turns of %q: got %q, want %q", s, got, want)
		}
	}
}

func turnsBy(digit *regexp.Regexp, name string) []string {
	out, from := []string{""}, 0
	for _, at := range digit.FindAllStringIndex(name, -1) {
		if at[1]-at[0] > maxDigits {
			continue
		}
		out[len(out)-1] = name[from:at[0]]
		out, from = append(out, name[at[0]:at[1]], ""), at[1]
	}
	out[len(out)-1] = name[from:]
	return out
}

// TestInQuotes holds the quotes that make a class's key to strconv's: a key stays.
func TestInQuotes(t *testing.T) {
	for _, text := range []string{"", "a", "data.a[b=c]", `a"b`, `a\b`, "a\x00b", "a\nb", "\x7f", "~", " ", "é", "\xff"} {
		if got, want := string(inQuotes(nil, text, "b")), strconv.Quote(text)+` "b"`; got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// TestEntries finds the last of a key, in mappings of few fields and of many.
func TestEntries(t *testing.T) {
	for _, n := range []int{0, 1, fewFields, fewFields + 1, 100} {
		text := "twice: first\n"
		for i := range n {
			text += fmt.Sprintf("k%d: %d\n", i, i)
		}
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		mapping := doc.Content[0]
		mapping.Content = append(mapping.Content, yamltree.Copy(mapping.Content[0]), yaml.NewStringRNode("last").YNode())
		e := entriesOf(mapping)
		if (e.index != nil) != (n+2 > fewFields) {
			t.Errorf("%d fields: indexed %v", n+2, e.index != nil)
		}
		for key, want := range map[string]string{"twice": "last", "k0": "0", fmt.Sprintf("k%d", n-1): strconv.Itoa(n - 1)} {
			got, ok := e.of(key)
			if n == 0 && key != "twice" {
				if ok {
					t.Errorf("%d fields have %s", n, key)
				}
				continue
			}
			if !ok || got.key.Value != key || got.value.Value != want {
				t.Errorf("%s of %d fields: got %v, want %s", key, n, got, want)
			}
		}
	}
	if _, ok := entriesOf(nil).of("a"); ok {
		t.Error("nothing has a field")
	}
}

// TestEdges holds that what is told from afar to be no number and no host would not be one.
func TestEdges(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "-1.5Gi": true, "": false, "a": false, "-": false, ".5": false, "1xyz": false, "９": false} {
		if got := amountOf(text) != nil; got != want || got != amount.MatchString(text) {
			t.Errorf("%q: an amount %v, want %v", text, got, want)
		}
	}
	for _, c := range []struct{ before, after, want string }{
		{"10", "100", "tenfold of what it was, 10"},
		{"a.example.com", "b.example.org", "of another domain than what it was, a.example.com"},
		{"a.example.com", "b.example.com", ""},
		{"localhost", "b.example.org", ""},
		{"a.example.com", "localhost", ""},
	} {
		if got := leap("spec.host", c.before, c.after); got != c.want {
			t.Errorf("%s to %s: got %q, want %q", c.before, c.after, got, c.want)
		}
	}
}
