package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// resultListDoc is kpt's FunctionResultList.
type resultListDoc struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	ExitCode   int            `json:"exitCode"`
	Items      []resultDoc    `json:"items,omitempty"`
}

type resultDoc struct {
	Image    string     `json:"image,omitempty"`
	Exec     string     `json:"exec,omitempty"`
	Stderr   string     `json:"stderr,omitempty"`
	ExitCode int        `json:"exitCode"`
	Results  fn.Results `json:"results,omitempty"`
}

// ResultList is what the functions had to say as kpt's `--results-dir` writes
// it to results.yaml: a FunctionResultList of kpt.dev/v1.
func (r *Result) ResultList() ([]byte, error) {
	doc := resultListDoc{
		APIVersion: "kpt.dev/v1", Kind: "FunctionResultList", Metadata: map[string]any{"name": "fnresults"},
	}
	for _, f := range r.Functions {
		if f.Outcome == Failed {
			doc.ExitCode = 1
		}
		doc.Items = append(doc.Items, resultDoc{
			Image: f.Image, Exec: f.Exec, Stderr: f.Stderr, ExitCode: f.ExitCode, Results: f.Results,
		})
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	tree, err := yamltree.Encode(doc)
	if err == nil {
		err = enc.Encode(yamltree.Portable(tree))
	}
	if err != nil {
		return nil, fmt.Errorf("encoding the function results: %w", err)
	}
	return buf.Bytes(), enc.Close()
}

// WriteSummary prints what each function did as kpt does: whether it passed, its
// results, its standard error and its exit code. Of standard error it prints at
// most lines lines a function; 0 prints all.
func (r *Result) WriteSummary(w io.Writer, lines int) error {
	var b strings.Builder
	in := ""
	for i, f := range r.Functions {
		if i == 0 || f.Package != in {
			in = f.Package
			fmt.Fprintf(&b, "Package %q:\n", path.Join(".", in))
		}
		verb, what := "PASS", cmp.Or(f.Exec, f.Image)
		if f.Outcome == Failed {
			verb = "FAIL"
		}
		fmt.Fprintf(&b, "[%s] %q in %s\n", verb, what, f.Duration.Round(100*time.Millisecond))
		if len(f.Results) > 0 {
			b.WriteString("  Results:\n")
		}
		for _, res := range f.Results {
			fmt.Fprintf(&b, "    %s\n", resultLine(res))
		}
		writeStderr(&b, f.Stderr, lines)
		if f.ExitCode != 0 {
			fmt.Fprintf(&b, "  Exit code: %d\n", f.ExitCode)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeStderr(b *strings.Builder, text string, limit int) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	b.WriteString("  Stderr:\n")
	for i, line := range strings.Split(text, "\n") {
		if limit > 0 && i == limit {
			fmt.Fprintf(b, "    ...(%d line(s) more)\n", strings.Count(text, "\n")+1-i)
			return
		}
		fmt.Fprintf(b, "    %q\n", line)
	}
}
