package render

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	sigsyaml "sigs.k8s.io/yaml"
)

// hostile are pieces of strings that some style, reader or writer of YAML mistakes.
var hostile = []string{
	"\t", " ", "\n", "\n\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029", "\ufeff", "\u00a0", "\ufffd", "\x00", "\x1b", "\x7f",
	"---", "---\n", "...", "- ", ": ", " #", "|", ">", "'", "\"", "\\", "\\/", "{", "]", ",", "&a", "*a", "%", "<<", "null", "yes", "0x1",
	"é", "日本", "😀", "\ue000", "word", "all:\n\tgo build", strings.Repeat("long ", 2000),
}

// hostileMap is a ConfigMap with random strings, and its data.
func hostileMap(rng *rand.Rand) (text string, data map[string]string) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: ConfigMap\nmetadata:   # kept\n  name: cm\ndata:\n")
	data = map[string]string{}
	for i := range 20 {
		var v strings.Builder
		for range 1 + rng.IntN(5) {
			v.WriteString(hostile[rng.IntN(len(hostile))])
		}
		key := fmt.Sprintf("k%d", i)
		if i%4 == 0 {
			key += v.String()[:min(v.Len(), 1)]
		}
		if !json.Valid([]byte(strconv.Quote(key))) {
			key = fmt.Sprintf("k%d", i)
		}
		data[key] = v.String()
		fmt.Fprintf(&b, "  %s: %s\n", strconv.QuoteToASCII(key), strconv.QuoteToASCII(v.String()))
	}
	return b.String(), data
}

// copyData is a function by other libraries: it reads with go-yaml 2, adds a copy of each
// ConfigMap's data, and writes JSON.
func copyData(in []byte, out, errs io.Writer) int {
	var list map[string]any
	if err := sigsyaml.Unmarshal(in, &list); err != nil {
		_, _ = fmt.Fprintln(errs, err)
		return 1
	}
	for _, item := range list["items"].([]any) {
		if item := item.(map[string]any); item["kind"] == "ConfigMap" {
			item["copy"] = item["data"]
		}
	}
	if err := json.NewEncoder(out).Encode(list); err != nil {
		return 1
	}
	return 0
}

// TestStringsRoundTrip holds that functions get the strings that a package has, that it
// gets those that they return, and that the file keeps its bytes where they change nothing.
func TestStringsRoundTrip(t *testing.T) {
	const none, copied = "x = 1", `for r in ctx.resource_list["items"]:
  if r["kind"] == "ConfigMap":
    r["copy"] = r["data"]`
	starlark := func(source string) string {
		return "{image: \"starlark:v0.5\", configMap: {source: " + strconv.Quote(source) + "}}"
	}
	worker := starlarkKinds(t)["worker"]
	inside := starlarkKinds(t)["process"]
	programs := testOptions()
	programs.AllowExec = true
	for name, c := range map[string]struct {
		opts     Options
		function string
		copies   bool
	}{
		"Starlark":       {inside, starlark(none), false},
		"StarlarkCopies": {inside, starlark(copied), true},
		"Worker":         {worker, starlark(none), false},
		"WorkerCopies":   {worker, starlark(copied), true},
		"Cat":            {programs, "{exec: cat}", false},
		"ProgramCopies":  {programs, "{exec: " + self(t, "copy-data") + "}", true},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			r := New(c.opts)
			defer r.Close()
			for range 40 {
				text, data := hostileMap(rng)
				res, err := r.Render(t.Context(), pkg(t, map[string]string{"Kptfile": kptfileOf("p", "pipeline:\n  mutators:\n  - "+c.function+"\n"), "cm.yaml": text}))
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				got := contents(t, res.Package)["cm.yaml"]
				if !c.copies {
					if diff := cmp.Diff(text, got); diff != "" {
						t.Fatalf("the file changed (-want +got):\n%s", diff)
					}
					continue
				}
				var cm struct {
					Data map[string]string `json:"data"`
					Copy map[string]string `json:"copy"`
				}
				if err := sigsyaml.Unmarshal([]byte(got), &cm); err != nil {
					t.Fatalf("%v\n%s", err, got)
				}
				if diff := cmp.Diff(data, cm.Data); diff != "" {
					t.Fatalf("the strings changed (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(data, cm.Copy); diff != "" {
					t.Fatalf("the function's strings changed (-want +got):\n%s\n%s", diff, got)
				}
				if !strings.HasPrefix(got, text) {
					t.Fatalf("the lines of the file's own strings changed:\n%s", got)
				}
			}
		})
	}
}

// TestResultStringsRoundTrip holds that results.yaml has the messages that functions gave.
func TestResultStringsRoundTrip(t *testing.T) {
	for _, message := range append([]string{"\tone\ntwo", "  one\ntwo\n"}, hostile...) {
		r := &Result{Functions: []FunctionResult{{Results: fn.Results{{Message: message}}, Stderr: message}}}
		text, err := r.ResultList()
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Items []struct {
				Stderr  string `json:"stderr"`
				Results []struct {
					Message string `json:"message"`
				} `json:"results"`
			} `json:"items"`
		}
		if err := sigsyaml.Unmarshal(text, &got); err != nil {
			t.Errorf("%q: %v\n%s", message, err, text)
		} else if got.Items[0].Stderr != message || got.Items[0].Results[0].Message != message {
			t.Errorf("%q reads back as something else:\n%s", message, text)
		}
	}
}

// TestScriptMessageRoundTrips holds that the results have what a script printed.
func TestScriptMessageRoundTrips(t *testing.T) {
	for kind, opts := range starlarkKinds(t) {
		r := New(opts)
		res, err := r.Render(t.Context(), scripted(t, `print("\tone\ntwo\r\n")`))
		r.Close()
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		} else if got := res.Functions[0].Results; len(got) != 1 || got[0].Message != "print: \tone\ntwo\r\n" {
			t.Errorf("%s: %v", kind, got)
		}
	}
}
