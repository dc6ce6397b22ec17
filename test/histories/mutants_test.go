package histories

import (
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/variform/variform/test/gittest"
)

var mutants = flag.Bool("mutants", false, "check in a copy of the code that each fault of testdata/mutants.yaml is found")

// mutant is a fault that the checker has to find.
type mutant struct{ Name, Text, Instead string }

// foundLine is what a failing history says first.
var foundLine = regexp.MustCompile(`seed \d+: (.*)`)

// TestMutantsHaveTheirPlaces: each fault has one place in the code of now.
func TestMutantsHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	for _, m := range readMutants(t) {
		find(t, filepath.Join("..", ".."), m.Text)
	}
}

func readMutants(t *testing.T) (list []mutant) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "mutants.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestMutants puts each fault into a copy of the code, and wants histories there
// to fail.
func TestMutants(t *testing.T) {
	if !*mutants {
		t.Skip("skipped: takes a build for each fault; make histories-mutants runs it")
	}
	root := copyOfCode(t)
	for _, m := range readMutants(t) {
		t.Run(m.Name, func(t *testing.T) {
			file, text := find(t, root, m.Text)
			if err := os.WriteFile(file, []byte(strings.Replace(text, m.Text, m.Instead, 1)), 0o644); err != nil {
				t.Fatal(err)
			}
			defer os.WriteFile(file, []byte(text), 0o644)
			run := exec.Command("go", "test", "./test/histories", "-count=1", "-run", "TestHistories$", "-histories", "100", "-steps", "30", "-first")
			run.Dir = root
			out, err := run.CombinedOutput()
			line := foundLine.FindStringSubmatch(string(out))
			switch {
			case err == nil:
				t.Error("100 histories found nothing")
			case line == nil, strings.Contains(line[1], "nothing panics"):
				t.Fatalf("the histories did not run: %v\n%s", err, out)
			default:
				t.Logf("found: %s", line[1])
			}
		})
	}
}

// find is the one file of the product that holds a text.
func find(t *testing.T, root, text string) (file, content string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		data, err := os.ReadFile(p)
		if n := strings.Count(string(data), text); n > 1 || n == 1 && file != "" {
			t.Fatalf("%q stands more than once: %s", text, p)
		} else if n == 1 {
			file, content = p, string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if file == "" {
		t.Fatalf("no code has %q: choose the fault's place anew", text)
	}
	return file, content
}

// copyOfCode is a copy of what a clone of this repository would hold.
func copyOfCode(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	list := gittest.Run(t, filepath.Join("..", ".."), nil, "ls-files", "-co", "--exclude-standard", "-z")
	for name := range strings.SplitSeq(strings.Trim(list, "\x00"), "\x00") {
		from := filepath.Join("..", "..", name)
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}
