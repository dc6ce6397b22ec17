package fnmain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
)

const oneItem = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n"

func TestArguments(t *testing.T) {
	cases := map[string]struct {
		args []string
		code int
		want string // in stdout and stderr together
	}{
		"help":          {[]string{"--help"}, exitDone, "Usage:"},
		"help wins":     {[]string{"file", "-h"}, exitDone, "Usage:"},
		"unknown flags": {[]string{"--strict", "-x"}, exitUsage, `unknown flag "-x"`},
		"two files":     {[]string{"a", "b"}, exitUsage, `unexpected argument "b"`},
		"missing file":  {[]string{"no-such-file"}, exitFailed, "reading functionConfig: open no-such-file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			out, text, code := exec("validate-package", c.args, oneItem)
			if code != c.code || !strings.Contains(out+text, c.want) {
				t.Errorf("exit %d, %q, %q", code, out, text)
			}
		})
	}
	if _, text, code := exec("no-such-function", nil, ""); code != exitUsage || text == "" {
		t.Errorf("unknown function: exit %d, %q", code, text)
	}
}

// A functionConfig that is a file is bounded as the list is.
func TestConfigFile(t *testing.T) {
	cases := map[string]struct {
		text string
		want string // "" where it is taken
	}{
		"an object":          {"---\n# options\napiVersion: v1\nkind: ConfigMap\ndata: {strict: \"true\"}\n---\n", ""},
		"empty":              {"", "it holds no object"},
		"a list":             {"- a\n", "it holds no object"},
		"two objects":        {"kind: A\n---\nkind: B\n", "a second document starts"},
		"no YAML":            {"a: [", "not valid YAML"},
		"no text":            {"a: \xff", "not UTF-8"},
		"too large":          {"a: " + strings.Repeat("x", MaxItemBytes), "MaxItemBytes"},
		"too many values":    {"a: [" + strings.Repeat("a,", MaxValues) + "]", "MaxValues"},
		"aliases of aliases": {"a:\n" + laughs(""), "too large"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out, text bytes.Buffer
			s := Streams{In: strings.NewReader(oneItem), Out: &out, Err: &text, ReadFile: func(string) ([]byte, error) { return []byte(c.text), nil }}
			code := Main("validate-package", []string{"config.yaml"}, s)
			if (code == exitDone) != (c.want == "") || !strings.Contains(text.String(), c.want) {
				t.Errorf("exit %d: %.300s, want %q", code, text.String(), c.want)
			}
		})
	}
}

func TestDocIsJSON(t *testing.T) {
	out, _, code := exec("inject-config", []string{"--doc"}, "")
	var doc map[string]any
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != exitDone || doc["short"] == "" {
		t.Errorf("exit %d, %v, %s", code, err, out)
	}
}

// Input that cannot be read still gives a ResourceList with the error in it.
func TestUnreadableInput(t *testing.T) {
	for name, in := range map[string]string{
		"no YAML": "a: [", "no list": "apiVersion: v1\nkind: ConfigMap\n", "two documents": oneItem + "---\na: b\n",
		"an item that holds itself": "kind: ResourceList\nitems:\n- &a\n  apiVersion: v1\n  kind: A\n  metadata: {name: a, annotations: {kpt.dev/config-injection: required}}\n  spec: *a\n",
		"items of another shape":    "kind: ResourceList\nitems: {a: b}\n",
	} {
		t.Run(name, func(t *testing.T) {
			out, text, code := exec("validate-package", nil, in)
			rl, err := fn.ParseResourceList([]byte(out))
			if code != exitFailed || text == "" || err != nil || len(rl.Results) != 1 || rl.Results[0].Severity != fn.Error {
				t.Errorf("exit %d, %q, %v:\n%s", code, text, err, out)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	return len(p), nil
}

func TestLimits(t *testing.T) {
	if testing.Short() {
		t.Skip("reads MaxBytes")
	}
	var out, text bytes.Buffer
	if code := Main("validate-package", nil, Streams{In: endless{}, Out: &out, Err: &text}); code != exitFailed || !strings.Contains(text.String(), "MaxBytes") {
		t.Errorf("exit %d, %s", code, text.String())
	}
	many := "kind: ResourceList\nitems:\n" + strings.Repeat("- {kind: A}\n", MaxItems+1)
	if _, text, code := exec("validate-package", nil, many); code != exitFailed || !strings.Contains(text, "MaxItems") {
		t.Errorf("exit %d, %s", code, text)
	}
}

// Each cut is an item's own lines; what cannot be cut is read as one document.
func TestCut(t *testing.T) {
	cases := map[string]struct {
		in   string
		want []string // nil where it cannot be cut
	}{
		"block":            {"items:\n- a: [1]\n  b:\n  - x\n  - y\n# c\n- c: d\nresults:\n- r\n", []string{"- a: [1]\n  b:\n  - x\n  - y\n", "# c\n- c: d\n"}},
		"indented":         {"kind: L\nitems:\n  - a: b\n    - x\n  - c: d\nfunctionConfig:\n  items:\n  - no\n", []string{"  - a: b\n    - x\n", "  - c: d\n"}},
		"block scalar":     {"items:\n- a: |\n    # text\n\n    - b\n- c: d\n", []string{"- a: |\n    # text\n\n    - b\n", "- c: d\n"}},
		"at the end":       {"---\nitems: # all\n- a", []string{"- a"}},
		"no items":         {"results:\n- r\n", nil},
		"flow style":       {"items: [{a: b}]\n", nil},
		"two documents":    {"items:\n- a\n---\nitems:\n- b\n", nil},
		"a key twice":      {"items:\n- a\nitems:\n- b\n", nil},
		"a quoted key":     {"items:\n- a\n\"kind\": L\n", nil},
		"less indentation": {"items:\n  - a\n - b\n", nil},
		"tabs":             {"items:\n- a\n\t- b\n", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			cuts, ok := cut([]byte(c.in))
			var got []string
			for i := 0; ok && i < len(cuts.items); i++ {
				got = append(got, c.in[cuts.items[i].start:cuts.items[i].end])
			}
			if diff := cmp.Diff(c.want, got); diff != "" || ok != (c.want != nil) {
				t.Errorf("%v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

// What looks like an item's dash may stand in a string or a flow collection,
// and an alias may have its anchor in another item.
func TestCutsAreChecked(t *testing.T) {
	for name, in := range map[string]string{
		"string":  "kind: ResourceList\nitems:\n- kind: \"A\n- b\"\n",
		"alias":   "kind: ResourceList\nitems:\n- kind: A\n  b: &a [1]\n- kind: B\n  b: *a\n",
		"in head": "kind: ResourceList\nfunctionConfig: {a: \"\nitems:\n- a\n\"}\nresults: []\n",
	} {
		t.Run(name, func(t *testing.T) {
			root, err := decode([]byte(in))
			if err != nil {
				t.Fatal(err)
			}
			want, wantErr := (&list{}).head(root)
			got, err := parseList([]byte(in))
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%v, want %v", err, wantErr)
			}
			if err == nil && len(got.items) != len(want.Content) {
				t.Errorf("%d items, want %d", len(got.items), len(want.Content))
			}
		})
	}
}

// What a function breaks over is an error result; the items stay.
func TestBrokenFunction(t *testing.T) {
	for name, process := range map[string]function.Processor{
		"panic": func(context.Context, *function.Call) error { panic("boom") },
		"error": func(_ context.Context, c *function.Call) error { c.Results.Warningf("seen"); return errors.New("boom") },
		"endless": func(_ context.Context, c *function.Call) error {
			c.Resources()[0].Edit().YNode().Value = "changed"
			<-t.Context().Done()
			return errors.New("not seen")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, text bytes.Buffer
			code := run(context.Background(), "f", process, "", Streams{In: strings.NewReader(oneItem), Out: &out, Err: &text, Limit: time.Second})
			want := map[bool]string{true: "it did not end within 1s (MaxTime)", false: "boom"}[name == "endless"]
			if code != exitFailed || !strings.Contains(out.String(), "name: a") || !strings.Contains(text.String(), want) {
				t.Errorf("exit %d, %s, %s", code, text.String(), out.String())
			}
		})
	}
}

// Deleted items go, added ones get a place in the package that holds them.
func TestAddAndDelete(t *testing.T) {
	in := `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Gone
  metadata:
    name: gone
    annotations: {internal.config.kubernetes.io/path: a.yaml, internal.config.kubernetes.io/package-path: /w/p}
- apiVersion: v1
  kind: Kept
  metadata:
    name: kept
    annotations: {internal.config.kubernetes.io/path: b.yaml, internal.config.kubernetes.io/package-path: /w/p/sub}
results:
- message: from before
  severity: info
`
	process := func(_ context.Context, c *function.Call) error {
		for _, r := range c.Resources() {
			if r.Kind() == "Gone" {
				r.Delete()
			} else if r.Path() != "sub/b.yaml" {
				t.Errorf("path %q", r.Path())
			}
		}
		c.Package.Add("sub/b.yaml", yaml.MustParse("apiVersion: v1\nkind: New\nmetadata: {name: below}\n"))
		c.Package.Add("c.yaml", yaml.MustParse("apiVersion: v1\nkind: New\nmetadata: {name: root}\n"))
		return nil
	}
	var out bytes.Buffer
	if code := run(context.Background(), "f", process, "", Streams{In: strings.NewReader(in), Out: &out, Err: io.Discard}); code != exitDone {
		t.Fatalf("exit %d", code)
	}
	rl, err := fn.ParseResourceList(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range rl.Items {
		a := o.GetAnnotations()
		got = append(got, strings.Join([]string{o.GetName(), a[packagePath], a["internal.config.kubernetes.io/path"], a["internal.config.kubernetes.io/index"]}, " "))
	}
	want := "kept /w/p/sub b.yaml |root /w/p c.yaml 0|below /w/p/sub b.yaml 1"
	if strings.Join(got, "|") != want || len(rl.Results) != 1 {
		t.Errorf("got %q, want %q, results %v", strings.Join(got, "|"), want, rl.Results)
	}
}
