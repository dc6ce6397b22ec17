package krm

import (
	"fmt"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Where one plain word was put for another the text is not parsed again: it means the
// tree all the same. All else is to be parsed.
func TestWordsAreProved(t *testing.T) {
	words := []string{
		"2", "-2", "010", "1_000", "0x1f", "1e3", ".5", ".inf", ".", "..", "...", "---", "a", "web", "registry.example.com:5000/a/b:v1.2.3",
		"repo@sha256:0123", "a:", "a:b", ":a", "a#b", "#a", "null", "~", "true", "yes", "on", "2001-01-01", "12:30:45", "@a", "+1", "a+b", "-", "- a",
		"a b", "a: b", "?a", "!a", "%a", "'a'", `"a"`, "", "a\nb", "é", "=", "<<", "/etc/x", "_", "a,b", "[a]", "{a}",
	}
	texts := []string{
		"k: v\nvalue: %s\nz: 1\n", "value: %s # kept\n", "list:\n- a\n- %s\n- b\n", "list:\n- %s\n", "a:\n  b:\n  - c: %s\n    d: 1\n", "value:   %s   \n",
		"value:\n  %s\n", "{value: %s}\n", "a: &x 1\nb: *x\nvalue: %s\n", "value: !!str %s\n", "value: %s", "value: %s\r\nz: 1\r\n",
	}
	proved, parsed := 0, 0
	for _, text := range texts {
		for _, old := range words {
			data := fmt.Appendf(nil, text, old)
			before, _, err := decode(data)
			if err != nil || before == nil {
				continue
			}
			o := find(before, old)
			if o == nil {
				continue
			}
			for _, word := range words {
				for _, tag := range []string{"", yaml.NodeTagString} {
					after, _, err := decode(data)
					if err != nil {
						t.Fatal(err)
					}
					n := find(after, old)
					n.Value, n.Style, n.Tag = word, 0, tag
					out, sure, ok := splice(data, "\n", before, after, false)
					switch {
					case !ok || !sure:
						parsed++
					case !means(out, after):
						t.Errorf("%q with %q for %q: %q does not mean it", data, word, old, out)
					default:
						proved++
					}
				}
			}
		}
	}
	if proved < 1000 || parsed < 1000 {
		t.Errorf("%d proved, %d to be parsed", proved, parsed)
	}
	for text, want := range map[string]bool{
		"image: a:v1\n": true, "image: a:v1 # setter\n": true, "- a:v1\n": true,
		"{image: a:v1}\n": false, "image: 'a:v1'\n": false, "image: &x a:v1\n": false, "image: !!str a:v1\n": false,
	} {
		before, _, _ := decode([]byte(text))
		after, _, _ := decode([]byte(text))
		find(after, "a:v1").Value = "a:v2"
		if _, sure, ok := splice([]byte(text), "\n", before, after, false); !ok || sure != want {
			t.Errorf("%q: proved %v, want %v", text, sure, want)
		}
	}
}

// find is the scalar of a value, but not a key.
func find(n *yaml.Node, value string) *yaml.Node {
	if n.Kind == yaml.ScalarNode && n.Value == value {
		return n
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			continue
		}
		if found := find(c, value); found != nil {
			return found
		}
	}
	return nil
}
