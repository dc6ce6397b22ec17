package fnmain

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

// TestDocs keeps a function's README and metadata in step with its own help.
func TestDocs(t *testing.T) {
	for name := range function.Builtin {
		t.Run(name, func(t *testing.T) {
			doc := function.Docs[name]
			if doc.Short == "" || doc.Long == "" || doc.Config == "" {
				t.Fatalf("incomplete docs: %+v", doc)
			}
			readme := readFile(t, filepath.Join(functionsDir, name, "README.md"))
			if !strings.Contains(readme, "# "+name) || !strings.Contains(readme, doc.Short) {
				t.Errorf("README.md lacks the title %q or the text %q", "# "+name, doc.Short)
			}
			var meta struct{ Description, Image string }
			if err := yaml.Unmarshal([]byte(readFile(t, filepath.Join(functionsDir, name, "metadata.yaml"))), &meta); err != nil {
				t.Fatal(err)
			}
			if meta.Description != doc.Short || !strings.HasSuffix(meta.Image, "/"+name) {
				t.Errorf("metadata.yaml: description %q, image %q", meta.Description, meta.Image)
			}
			if _, err := yaml.Parse(doc.Config); err != nil {
				t.Errorf("Config is no YAML: %v", err)
			}
			out, _, code := exec(name, []string{"--help"}, "")
			if code != exitDone || !strings.Contains(out, doc.Short) || !strings.Contains(out, "functionConfig:") {
				t.Errorf("--help: exit %d, %q", code, out)
			}
		})
	}
	if len(function.Docs) != len(function.Builtin) {
		t.Errorf("%d docs for %d functions", len(function.Docs), len(function.Builtin))
	}
}
