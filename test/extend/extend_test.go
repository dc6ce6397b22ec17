package extend

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// root is the repository, from this folder.
const root = "../.."

// TestAdditions adds all at once, for each build of a copy takes its time.
func TestAdditions(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short: nothing was added to a copy of the repository")
	}
	c := scratch(t)
	additions, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(additions) != 5 {
		t.Fatalf("%v, %v: want a function, a dialect, a report, a forge and a runtime", additions, err)
	}
	for _, file := range additions {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if err := c.put(f); err != nil {
				t.Fatalf("%s: %s: %v", file, f.Name, err)
			}
		}
	}

	c.run("", "go", "generate", "./tools/schema")
	c.run("", "go", "build", "-o", "bin/", "./cmd/variform", "./functions/count-resources")
	c.run("", "go", "test", "-skip", "TestBudgets", "./test/depcheck", "./resolver/dialect/lines") // additions exceed budgets
	c.run("", "go", "test", "-run", "Added", "./internal/forge", "./internal/render")

	said := c.run("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n", "bin/count-resources")
	if !strings.Contains(said, "message: 1 resource") {
		t.Errorf("the function says %s", said)
	}
	if help := c.run("", "bin/count-resources", "--help"); !strings.Contains(help, "Count the resources of a package") {
		t.Errorf("its help is %s", help)
	}
	if page := c.read("functions/count-resources/README.md"); !strings.Contains(page, "Count the resources of a package.") {
		t.Errorf("its page is %s", page)
	}
	if said := c.run(`{"command": "plan", "summary": "3 variants: 3 to create"}`, "bin/variform", "report", "-o", "line"); said != "plan: 3 variants: 3 to create\n" {
		t.Errorf("the report says %q", said)
	}
}

// copied is a copy of the repository.
type copied struct {
	t   *testing.T
	dir string
}

// scratch copies what Git knows of, or would take.
func scratch(t *testing.T) copied {
	t.Helper()
	c := copied{t, t.TempDir()}
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Skipf("SKIPPED: git does not list the repository's files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || !info.Mode().IsRegular() { // removed and not yet committed, or a link
			continue
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		c.write(name, data)
	}
	return c
}

func (c copied) write(name string, data []byte) {
	c.t.Helper()
	to := filepath.Join(c.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c copied) read(name string) string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(name)))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

// put writes a file of an addition. "NAME, after TEXT" is an edit: it goes below the
// one line of a file that TEXT begins.
func (c copied) put(f txtar.File) error {
	name, after, edit := strings.Cut(f.Name, ", after ")
	if !edit {
		c.write(name, f.Data)
		return nil
	}
	var out bytes.Buffer
	found := 0
	for line := range strings.Lines(c.read(name)) {
		out.WriteString(line)
		if strings.HasPrefix(strings.TrimSpace(line), after) {
			found++
			out.Write(f.Data)
		}
	}
	if found != 1 {
		return fmt.Errorf("%d lines begin with %q, and not one", found, after)
	}
	c.write(name, out.Bytes())
	return nil
}

// run runs a command in the copy, which has to succeed, and returns what it printed.
func (c copied) run(stdin, name string, args ...string) string {
	c.t.Helper()
	if strings.HasPrefix(name, "bin/") {
		name = filepath.Join(c.dir, name)
	}
	cmd := exec.CommandContext(c.t.Context(), name, args...)
	cmd.Dir, cmd.Stdin = c.dir, strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		c.t.Fatalf("%s %v: %v\n%s%s", name, args, err, &out, &errs)
	}
	return out.String()
}
