package fnmain

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/yamltree"
)

// oddStrings are pieces of strings that some style, reader or writer of YAML mistakes.
var oddStrings = []string{
	"\t", " ", "\n", "\n\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\ufeff", "\u00a0", "\x00", "\x1b", "\x7f", "---", "---\n", "...",
	"- ", ": ", " #", "|", ">", "'", "\"", "\\", "{", "]", ",", "&a", "*a", "%", "<<", "null", "é", "😀", "word", strings.Repeat("long ", 2000),
}

// TestStringsRoundTrip holds that a function gets the strings of the list, that the list
// gets those that it sets, and that the rest keeps its text.
func TestStringsRoundTrip(t *testing.T) {
	copies := func(_ context.Context, c *function.Call) error {
		for _, r := range c.Package.Resources() {
			if r.Name() == "changed" {
				n := r.Edit().YNode()
				yamltree.Set(n, nil, "copy", yamltree.Copy(yamltree.Child(n, "data")))
				yamltree.Set(n, nil, "text", yamltree.String(yamltree.Text(n, "data", "k0")))
			}
		}
		return nil
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		var data strings.Builder
		want := map[string]string{}
		for i := range 10 {
			var v strings.Builder
			for range 1 + rng.IntN(5) {
				v.WriteString(oddStrings[rng.IntN(len(oddStrings))])
			}
			key := "k" + strconv.Itoa(i)
			want[key] = v.String()
			data.WriteString("    " + key + ": " + strconv.QuoteToASCII(v.String()) + "\n")
		}
		item := func(name string) string {
			return "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name:   " + name + "}\n  data:\n" + data.String()
		}
		in := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + item("same") + item("changed")
		var out, errs bytes.Buffer
		if code := run(t.Context(), "copies", copies, "", Streams{In: strings.NewReader(in), Out: &out, Err: &errs}); code != exitDone {
			t.Fatalf("exit %d: %s%s", code, errs.String(), in)
		}
		if !strings.Contains(out.String(), item("same")) {
			t.Fatalf("an unchanged item lost its text:\n%s", out.String())
		}
		if _, err := yaml.Parse(out.String()); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if asJSON, err := sigsyaml.YAMLToJSON([]byte(in)); err != nil {
			t.Fatal(err)
		} else if l, err := parseList(asJSON); err != nil || len(l.items) != 2 {
			t.Fatalf("as JSON: %v\n%s", err, asJSON)
		} else if got := yamltree.Text(l.items[0].node.YNode(), "data", "k0"); got != want["k0"] {
			t.Fatalf("as JSON: got %q, want %q", got, want["k0"])
		}
		var list struct {
			Items []struct {
				Data map[string]string `json:"data"`
				Copy map[string]string `json:"copy"`
				Text string            `json:"text"`
			} `json:"items"`
		}
		if err := sigsyaml.Unmarshal(out.Bytes(), &list); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		got := list.Items[1]
		if diff := cmp.Diff([]map[string]string{want, want}, []map[string]string{got.Data, got.Copy}); diff != "" || got.Text != want["k0"] {
			t.Fatalf("the strings changed (-want +got):\n%s\n%s", diff, out.String())
		}
	}
}
