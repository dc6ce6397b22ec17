package krm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// patchTexts have words, and what looks like them, at the ends of lines.
var patchTexts = []string{
	"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\ndata: {a: b}\n",
	"---\n# head\na: %s # line\n# foot\n\nb: [x,\n  %s\n]\n",
	"a:\n  - %s\n  -   %s # one\n  - b: %s\n    c: d\n  - - %s\n    - x\n",
	"a: |\n  text %s\n  k: %s\nb: >-\n  x\n  %s\nc: 'q\n  %s'\nd: \"q\n  %s\"\ne: %s",
	"a: %s\n  more\nb: x %s\nc: x\n  %s\n  y\nd:\n  %s\n",
	"? %s\n: %s\n? k\n: %s # c\n",
	"a: &x %s\nb: *x\nc: !!str %s\nd: !t %s\ne: &y\n  f: %s\ng: *y\n<<: *y\n",
	"a: # on the key\n  %s\nb: %s # one\n    # two\nc: %s # one\n\n  # two\nd: 1\n",
	"%s\n", "--- %s\n", "- %s\n", "k:  %s  \n", "k:\t%s\n", "k: %s\r\nl: %s # c\r\n", "k: é # é\nl: %s # é\n", "k: \"a\u2028  b\"\nl: %s\n",
	"\ufeffa: %s\nb: %s\n", "a: %s\n...\n", "{\"a\": \"%s\",\n \"b\": %s\n}\n", "a: 'x' # '%s\nb: \"#\" #%s\n",
}

var patchWords = []string{
	"2", "0x1f", "1e3", ".5", "a", "registry.example.com:5000/a/b:v1.2.3", "null", "~", "true", "yes", "2001-01-01", "a:", ":a", "a#b", "#a", "<<", "---", "...",
	"- a", "a b", "a: b", "*x", "&x", "'a'", `"a"`, "", "é", "{a}", "a # line", "a # one", "a # two", "a # c", "b # \x01", "b #", "b # c ", "b  #c", "a,", "a]", "|", ">-",
	`injected resource "a-settings" from cluster`, `injected resource "b-settings" from cluster # c`, "a  b", "a b:", "a b: c", "- a b", "-a b", "? a b", "2001-01-01 10:00:00", "1 2", "a b # c d", "a\tb", "a é", "'a b", "[a b", "a: b c", "/a b", "a {b}",
}

// TestPatched holds that a tree that was not parsed is the one that the parser gives.
func TestPatched(t *testing.T) {
	taken, parsed := 0, 0
	for _, text := range patchTexts {
		places := strings.Count(text, "%s")
		for at := range places {
			with := func(word string) []byte {
				args := make([]any, places)
				for i := range args {
					args[i] = fmt.Sprintf("w%d", i)
				}
				args[at] = word
				return fmt.Appendf(nil, text, args...)
			}
			for _, word := range patchWords {
				old := with(word)
				root, _, err := decode(old)
				if err != nil || root == nil {
					continue
				}
				for _, word := range patchWords {
					now := with(word)
					got, ok := patched(root, old, now)
					if !ok {
						parsed++
						continue
					}
					taken++
					if want, _, err := decode(now); err != nil || !sameNodes(got, want) {
						t.Errorf("%q after %q: not as it is parsed (%v)", now, old, err)
					}
				}
				if again, _, _ := decode(old); !sameNodes(again, root) {
					t.Errorf("%q: its tree has changed", old)
				}
			}
		}
	}
	for _, c := range [][2]string{{"- |-\n  |-\n", "- a [b]\n  |-\n"}, {"a: >\n  >\n", "a: b c\n  >\n"}, {"a: 'b'\n", "a: c\n"}, {"a: &b\n", "a: c\n"}} { // a mark, not a value
		root, _, err := decode([]byte(c[0]))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := patched(root, []byte(c[0]), []byte(c[1])); ok {
			t.Errorf("%q after %q is not parsed", c[1], c[0])
		}
	}
	if taken < 2000 || parsed < 2000 {
		t.Errorf("%d not parsed, %d parsed", taken, parsed)
	}
	const all = "# One\na: 1 # one\nb:\n  - c: x\n    d: &y z\n  - e\nf: g \"h\" i\n"
	for now, want := range map[string]bool{
		all: true, strings.Replace(all, "1 # one", "2 # two", 1): true, strings.Replace(all, "c: x", "c: y", 1): true,
		strings.Replace(all, "# One", "# Two", 1): false, strings.Replace(all, "a: 1", "f: 1", 1): false,
		strings.Replace(all, `"h"`, `"j"`, 1): true, strings.Replace(all, `g "h" i`, "j", 1): true, strings.Replace(all, "c: x", "c: x y", 1): true, strings.Replace(all, `"h"`, `h: j`, 1): false,
		strings.Replace(all, "- e", "- e f", 1): true, strings.Replace(all, " # one", "", 1): false,
		all + "j: 1\n": false, strings.TrimSuffix(all, "\n"): false, strings.Replace(all, "z", "x", 1): false,
	} {
		root, _, _ := decode([]byte(all))
		if _, ok := patched(root, []byte(all), []byte(now)); ok != want {
			t.Errorf("%q: got %v, want %v", now, ok, want)
		}
	}
}

// FuzzPatched holds the same for any two texts, and one line of the first by one of the second.
func FuzzPatched(f *testing.F) {
	for i, text := range patchTexts {
		f.Add([]byte(strings.ReplaceAll(text, "%s", "a")), []byte(strings.ReplaceAll(text, "%s", "b")), uint8(i))
	}
	f.Fuzz(func(t *testing.T, old, other []byte, line uint8) {
		root, _, err := decode(old)
		if err != nil || root == nil {
			return
		}
		lines, others := bytes.Split(old, []byte("\n")), bytes.Split(other, []byte("\n"))
		lines[int(line)%len(lines)] = others[int(line)%len(others)]
		for _, now := range [][]byte{other, bytes.Join(lines, []byte("\n"))} {
			got, ok := patched(root, old, now)
			if !ok {
				continue
			}
			if want, _, err := decode(now); err != nil || !sameNodes(got, want) {
				t.Errorf("%q after %q: not as it is parsed (%v)", now, old, err)
			}
		}
	})
}

// sameNodes compares all that the parser says of two trees.
func sameNodes(a, b *yaml.Node) bool {
	if a == nil || b == nil || len(a.Content) != len(b.Content) {
		return a == b
	}
	for i := range a.Content {
		if !sameNodes(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return a.Kind == b.Kind && a.Style == b.Style && a.Line == b.Line && a.Column == b.Column && a.Value == b.Value && a.Tag == b.Tag && a.Anchor == b.Anchor &&
		a.HeadComment == b.HeadComment && a.LineComment == b.LineComment && a.FootComment == b.FootComment &&
		(a.Kind != yaml.AliasNode || a.Alias.Line == b.Alias.Line && a.Alias.Column == b.Alias.Column) // it may stand within what it means
}
