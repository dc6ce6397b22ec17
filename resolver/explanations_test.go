package resolver

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/explanations.md")

// TestExplanations writes what every failing request of the cases says to docs/explanations.md, so that a
// person can judge how it reads, and fails when that file no longer says the same.
func TestExplanations(t *testing.T) {
	if os.Getenv("CASES_DIR") != "" {
		t.Skip("the document is made of the project's own cases")
	}
	files, err := filepath.Glob(filepath.Join(casesDir(t), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob(filepath.Join("testdata", "cases", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# How conflicts read\n\nWhat the resolver says for every conformance case that has no answer, and for the cases in resolver/testdata.\n" +
		"Generated: `go test ./resolver -run TestExplanations -update`.\n\nFirst come five graphs like those that people have. Names and versions are public ones, " +
		"and where no public document has a range it is made up.\n")
	graphs, err := filepath.Glob(filepath.Join("testdata", "graphs", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range graphs {
		writeGraph(t, &b, f)
	}
	for _, f := range append(files, own...) {
		if data, err := os.ReadFile(f); err == nil && elsewhere.Match(data) {
			continue
		}
		c := readCase(t, f)
		for i, o := range outcomes(t, c) {
			if o.err == nil {
				continue
			}
			title := strings.TrimSuffix(filepath.Base(f), ".yaml")
			if len(c.When.Each)+len(c.When.Sequence) > 0 {
				title += fmt.Sprintf(", request %d", i+1)
			}
			fmt.Fprintf(&b, "\n## %s\n\n```text\n%s\n```\n", title, o.err)
		}
	}
	file := filepath.Join("..", "docs", "explanations.md")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != b.String() {
		t.Errorf("%s is out of date; run go test ./resolver -run TestExplanations -update", file)
	}
}

// writeGraph writes a case whole: what it is about, by the comment at its head, and what comes of each request,
// where that is an answer, too.
func writeGraph(t *testing.T, b *strings.Builder, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := readCase(t, file)
	fmt.Fprintf(b, "\n## %s\n\n", strings.ReplaceAll(c.Case, "-", " "))
	for line := range strings.Lines(string(data)) {
		about, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		b.WriteString(about)
	}
	for _, o := range outcomes(t, c) {
		fmt.Fprintf(b, "\n`%s %s`:\n\n```text\n", o.req.Package, o.req.Version)
		if o.err != nil {
			fmt.Fprintf(b, "%s\n```\n", o.err)
			continue
		}
		for _, i := range o.res.Instances {
			fmt.Fprintf(b, "%s %s\n", i.Package, i.Version)
			for _, line := range o.res.Why(i.Ref()) {
				fmt.Fprintf(b, "  %s\n", line)
			}
		}
		b.WriteString("```\n")
	}
}
