package fnmain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

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
	if out, _, code := exec("validate-package", nil, ""); code != exitDone || !strings.Contains(out, "items: []") {
		t.Errorf("empty input: exit %d, %q", code, out)
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

func TestCountItems(t *testing.T) {
	cases := map[string]struct {
		in   string
		want int
	}{
		"block":      {"items:\n- a: [1]\n  b:\n  - x\n  - y\n# c\n- c: d\nresults:\n- r\n", 2},
		"indented":   {"kind: L\nitems:\n  - a: b\n    - x\n  - c: d\nfunctionConfig:\n  items:\n  - no\n", 2},
		"no items":   {"results:\n- r\n", 0},
		"flow style": {"items: [{a: b}]\n", 0},
		"at the end": {"items:\n- a", 1},
	}
	for name, c := range cases {
		if got := countItems([]byte(c.in)); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// What a function breaks over is an error result; the items stay.
func TestBrokenFunction(t *testing.T) {
	for name, process := range map[string]function.Processor{
		"panic": func(context.Context, *function.Call) error { panic("boom") },
		"error": func(_ context.Context, c *function.Call) error { c.Results.Warningf("seen"); return errors.New("boom") },
	} {
		t.Run(name, func(t *testing.T) {
			var out, text bytes.Buffer
			code := run(context.Background(), "f", process, "", Streams{In: strings.NewReader(oneItem), Out: &out, Err: &text})
			if code != exitFailed || !strings.Contains(out.String(), "name: a") || !strings.Contains(text.String(), "boom") {
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

func FuzzMain(f *testing.F) {
	f.Add(oneItem)
	f.Add("kind: ResourceList\nitems:\n- {apiVersion: kpt.dev/v1, kind: Kptfile, metadata: {name: a, annotations: {config.kubernetes.io/path: Kptfile}}}\n")
	f.Add("kind: ResourceList\nitems: [&a {kind: A, metadata: *a}]\n")
	f.Fuzz(func(t *testing.T, in string) {
		for _, name := range []string{"validate-package", "inject-config"} {
			out, text, code := exec(name, nil, in)
			if strings.Contains(text, "the function broke") {
				t.Fatalf("%s: %s", name, text)
			}
			if _, err := fn.ParseResourceList([]byte(out)); err != nil {
				t.Fatalf("%s: exit %d, output is no ResourceList: %v\n%s", name, code, err, out)
			}
		}
	})
}
