package render

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// resultListDoc is kpt's FunctionResultList.
type resultListDoc struct {
	APIVersion string         `yaml:"apiVersion"`
	Kind       string         `yaml:"kind"`
	Metadata   map[string]any `yaml:"metadata"`
	ExitCode   int            `yaml:"exitCode"`
	Items      []resultDoc    `yaml:"items,omitempty"`
}

type resultDoc struct {
	Image    string     `yaml:"image,omitempty"`
	Exec     string     `yaml:"exec,omitempty"`
	Stderr   string     `yaml:"stderr,omitempty"`
	ExitCode int        `yaml:"exitCode"`
	Results  fn.Results `yaml:"results,omitempty"`
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
	if err := enc.Encode(doc); err != nil {
		return nil, fmt.Errorf("encoding the function results: %w", err)
	}
	return buf.Bytes(), enc.Close()
}

// WriteSummary prints one line per function and below it its results and its
// standard error, at most lines of each; 0 prints all.
func (r *Result) WriteSummary(w io.Writer, lines int) error {
	var b strings.Builder
	for _, f := range r.Functions {
		what := f.Image
		if f.Exec != "" {
			what = "exec " + f.Exec
		}
		fmt.Fprintf(&b, "%s: %s %s (%s, %d resource(s))\n", path.Join(".", f.Package), what, strings.ToLower(string(f.Outcome)), f.Runtime, f.Selected)
		var said []string
		for _, res := range f.Results {
			said = append(said, resultLine(res))
		}
		writeLines(&b, said, lines)
		if s := strings.TrimRight(f.Stderr, "\n"); s != "" {
			writeLines(&b, strings.Split(s, "\n"), lines)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeLines(b *strings.Builder, said []string, limit int) {
	for i, s := range said {
		if limit > 0 && i == limit {
			fmt.Fprintf(b, "  … %d more\n", len(said)-i)
			return
		}
		fmt.Fprintf(b, "  %s\n", s)
	}
}
