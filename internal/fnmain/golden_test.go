package fnmain

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
)

var update = flag.Bool("update", false, "write the expected files of functions/*/testdata")

const functionsDir = "../../functions"

// TestGolden runs each case of functions/<name>/testdata/<case>: input.yaml,
// perhaps config.yaml, to expected.yaml (stdout) and expected.txt (exit code
// and stderr). A case that succeeds is run a second time on its own output,
// which must not change.
func TestGolden(t *testing.T) {
	inputs, err := filepath.Glob(filepath.Join(functionsDir, "*", "testdata", "*", "input.yaml"))
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, input := range inputs {
		dir := filepath.Dir(input)
		name := filepath.Base(filepath.Dir(filepath.Dir(dir)))
		t.Run(name+"/"+filepath.Base(dir), func(t *testing.T) { golden(t, name, dir) })
	}
}

func golden(t *testing.T, name, dir string) {
	in := readFile(t, filepath.Join(dir, "input.yaml"))
	var args []string
	if config := filepath.Join(dir, "config.yaml"); exists(config) {
		args = append(args, config)
	}
	out, text, code := exec(name, args, in)
	compare(t, filepath.Join(dir, "expected.yaml"), out)
	compare(t, filepath.Join(dir, "expected.txt"), fmt.Sprintf("exit %d\n%s", code, text))
	if code != exitDone {
		return
	}
	again, _, code := exec(name, args, out)
	if diff := cmp.Diff(items(t, out), items(t, again)); diff != "" || code != exitDone {
		t.Errorf("a second run changes items (exit %d, -first +second):\n%s", code, diff)
	}
}

func exec(name string, args []string, in string) (out, text string, code int) {
	var stdout, stderr bytes.Buffer
	code = Main(name, args, Streams{In: strings.NewReader(in), Out: &stdout, Err: &stderr, ReadFile: os.ReadFile})
	return stdout.String(), stderr.String(), code
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(readFile(t, file), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func items(t *testing.T, list string) string {
	t.Helper()
	n, err := yaml.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	s, err := n.Field("items").Value.String()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readFile(t testing.TB, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// TestDocs holds that each function has docs, that its example of a
// functionConfig can be read, and that it knows the fields that it documents and
// no option beside them.
func TestDocs(t *testing.T) {
	if len(function.Docs) != len(function.Builtin) {
		t.Errorf("%d docs for %d functions", len(function.Docs), len(function.Builtin))
	}
	for name := range function.Builtin {
		t.Run(name, func(t *testing.T) {
			doc := function.Docs[name]
			if doc.Short == "" || doc.Long == "" || doc.Config == "" || len(doc.Tags) == 0 || len(doc.Fields) == 0 {
				t.Fatalf("incomplete docs: %+v", doc)
			}
			config, err := yaml.Parse(doc.Config)
			if err != nil {
				t.Fatalf("Config is no YAML: %v", err)
			}
			for _, f := range doc.Fields {
				doc := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: a}\n%s", config.GetApiVersion(), config.GetKind(), nested(f.Path, fieldValue(f)))
				if text := said(t, name, doc); strings.Contains(text, "unknown") || strings.Contains(text, "must be a") {
					t.Errorf("%s as %s: %s", f.Path, f.Type, text)
				}
			}
			if config.GetKind() != "ConfigMap" {
				return
			}
			var options []string
			for _, f := range doc.Fields {
				options = append(options, strings.TrimPrefix(f.Path, "data."))
			}
			want := fmt.Sprintf("unknown option \"x\"; there are %q", options)
			if text := said(t, name, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: a}\n"); !strings.Contains(text, want) {
				t.Errorf("an unknown option: %q, want %q", text, want)
			}
		})
	}
}

// said is what a function has to say to a functionConfig.
func said(t *testing.T, name, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	_, text, _ := exec(name, []string{file}, oneItem)
	return text
}

// fieldValue is a value of a field's type.
func fieldValue(f function.Field) string {
	switch {
	case len(f.Values) > 0:
		return strconv.Quote(f.Values[0])
	case f.Pattern != "":
		return `"1"`
	}
	return map[string]string{"string": "a=1", "object": "{repo: a}", "strings": "[a]", "texts": "{a: b}", "objects": "[{}]"}[f.Type]
}

// nested is a field at its path.
func nested(path, value string) string {
	var b strings.Builder
	indent := ""
	for _, name := range strings.Split(path, ".") {
		name, list := strings.CutSuffix(name, "[]")
		b.WriteString(indent + name + ":\n")
		indent = strings.ReplaceAll(indent, "-", " ") + "  "
		if list {
			indent += "- "
		}
	}
	return strings.TrimSuffix(b.String(), "\n") + " " + value + "\n"
}
