package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/check"
	"github.com/variform/variform/internal/lifecycle"
)

// TestWeigh has which findings are errors: those that the Published revision lacks.
func TestWeigh(t *testing.T) {
	at := func(name, field string) check.Finding {
		return check.Finding{Check: check.UnknownField, Kind: "Pod", Name: name, Field: field}
	}
	required := check.Finding{Check: check.Required, Kind: "Pod", Name: "web", Field: "spec"}
	version := check.Finding{Check: check.Version, Kind: "Ingress", Name: "web", Field: "apiVersion"}
	twice := check.Finding{Check: check.Duplicate, Kind: "Ingress", Name: "web", Field: "metadata.name"}
	list := func(f ...check.Finding) []check.Finding { return f }
	tests := map[string]struct {
		findings, published []check.Finding
		checks              map[string]string
		stated              bool
		want                string
		reason              string
	}{
		"none":                    {},
		"new":                     {findings: list(at("web", "a")), want: "web a error"},
		"published":               {findings: list(at("web", "a")), published: list(at("web", "a")), want: "web a warning"},
		"corrected":               {published: list(at("web", "a"))},
		"another field":           {findings: list(at("web", "b")), published: list(at("web", "a")), want: "web b error"},
		"renamed":                 {findings: list(at("app", "a")), published: list(at("web", "a")), want: "app a warning"},
		"moved in its list":       {findings: list(at("web", "c[1].a")), published: list(at("web", "c[0].a")), want: "web c[1].a warning"},
		"one more, and it is new": {findings: list(at("app", "a"), at("web", "a")), published: list(at("web", "a")), want: "app a error, web a warning", reason: "the one that was there is told from the new one by its name"},
		"one more in a list":      {findings: list(at("web", "c[0].a"), at("web", "c[1].a")), published: list(at("web", "c[0].a")), want: "web c[0].a warning, web c[1].a error"},
		"an older server":         {findings: list(version), want: "web apiVersion warning", reason: "the target may run a version that is older than those that are known"},
		"a server that is known":  {findings: list(version), stated: true, want: "web apiVersion error"},
		"twice":                   {findings: list(twice), stated: true, want: "web metadata.name warning", reason: "a server takes both"},
		"missing":                 {findings: list(required), want: "web spec warning", reason: "a webhook may add it"},
		"missing, by the fleet":   {findings: list(required), checks: map[string]string{check.Required: check.Error}, want: "web spec error"},
		"missing, published":      {findings: list(required), published: list(required), checks: map[string]string{check.Required: check.Error}, want: "web spec warning"},
		"off":                     {findings: list(at("web", "a"), required), checks: map[string]string{check.UnknownField: check.Off}, want: "web spec warning"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Weigh(tt.findings, tt.published, tt.checks, tt.stated) {
				got = append(got, fmt.Sprintf("%s %s %s", f.Name, f.Field, f.Severity))
			}
			if d := cmp.Diff(tt.want, strings.Join(got, ", ")); d != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, d)
			}
		})
	}
}

// invalidFindings are three errors, two of them alike, and a warning.
var invalidFindings = []check.Finding{
	{Check: check.Value, Severity: check.Error, File: "b.yaml", Line: 9, Kind: "Pod", Message: "spec.x is\n7", Hint: "use 8"},
	{Check: check.UnknownField, Severity: check.Error, File: "a.yaml", Line: 3, Kind: "Deployment", Name: "web", Message: "unknown field a"},
	{Check: check.UnknownField, Severity: check.Error, File: "a.yaml", Line: 5, Kind: "Deployment", Name: "app", Message: "unknown field a"},
	{Check: check.Required, Severity: check.Warning, Kind: "Deployment", Message: "required"},
}

func TestInvalid(t *testing.T) {
	want := []string{"Deployment: unknown field a (unknown-field)", "Pod: spec.x is 7; use 8 (value)"}
	if d := cmp.Diff(want, Invalid(invalidFindings)); d != "" {
		t.Error(d)
	}
	commit := Hash{1}
	draft := func(r *Revision) *Revision { // as its commit has it
		r.Ref.Commit = commit
		r.Machine = &Machine{Commit: commit, Ours: true, Invalid: InvalidTrailer(invalidFindings)}
		return r
	}
	if d := cmp.Diff(want, draft(&Revision{Phase: lifecycle.Draft}).Invalid()); d != "" {
		t.Errorf("from a commit: %s", d)
	}
	edited := draft(&Revision{Phase: lifecycle.Draft})
	edited.Ref.Commit = Hash{2}
	for name, r := range map[string]*Revision{"none": nil, "Published": draft(&Revision{Phase: lifecycle.Published}), "edited since": edited} {
		if got := r.Invalid(); got != nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestRefuseInvalid(t *testing.T) {
	tests := map[string]struct {
		findings []check.Finding
		exempt   []string
		err      string
		recorded string
	}{
		"nothing":       {},
		"a warning":     {findings: invalidFindings[3:]},
		"the first":     {findings: invalidFindings, err: "it does not validate: b.yaml:9: Pod: spec.x is 7; use 8 (value): correct the package, or add --exempt value --reason TEXT"},
		"exempted":      {findings: invalidFindings[1:], exempt: []string{"unknown-field"}, recorded: "unknown-field: it is right"},
		"one of two":    {findings: invalidFindings, exempt: []string{"value"}, err: "a.yaml:3: Deployment: unknown field a"},
		"both":          {findings: invalidFindings, exempt: []string{"value", "type", "unknown-field"}, recorded: "unknown-field, value: it is right"},
		"needs none":    {findings: invalidFindings[3:], exempt: []string{"value"}},
		"another check": {findings: invalidFindings[1:], exempt: []string{"type"}, err: "--exempt unknown-field"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := &Candidate{Findings: tt.findings}
			RefuseInvalid([]*Candidate{c}, tt.exempt, "it is\nright")
			switch {
			case (c.Err != nil) != (tt.err != ""), c.Err != nil && !strings.Contains(c.Err.Error(), tt.err):
				t.Errorf("refused as %v, want %q", c.Err, tt.err)
			case c.Exempt != tt.recorded:
				t.Errorf("the approval has %q, want %q", c.Exempt, tt.recorded)
			}
		})
	}
}

// TestRefuseInvalidOnce has one error for a mistake that is at several lines.
func TestRefuseInvalidOnce(t *testing.T) {
	in := func(file string, lines ...int) *Candidate {
		c := &Candidate{}
		for _, line := range lines {
			c.Findings = append(c.Findings, check.Finding{Check: check.Type, Severity: check.Error, File: file, Line: line, Kind: "Pod", Message: "wrong"})
		}
		return c
	}
	for name, tt := range map[string]struct {
		list []*Candidate
		want string
	}{
		"one line":    {list: []*Candidate{in("a.yaml", 3, 7), in("a.yaml", 3)}, want: "a.yaml:3: Pod"},
		"other lines": {list: []*Candidate{in("a.yaml", 3), in("a.yaml", 4), in("a.yaml", 3)}, want: "validate: a.yaml: Pod"},
		"other files": {list: []*Candidate{in("a.yaml", 3), in("b.yaml", 3)}, want: "validate: Pod"},
	} {
		RefuseInvalid(tt.list, nil, "")
		for _, c := range tt.list {
			if c.Err == nil || !strings.Contains(c.Err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", name, c.Err, tt.want)
			}
		}
	}
}

func TestKubernetesOf(t *testing.T) {
	for annotation, want := range map[string]string{"": "", "crossplane=1.2": "", "crossplane=1.2, kubernetes=1.31.2": "1.31.2"} {
		if got := KubernetesOf(&Repository{Annotations: map[string]string{"variform.dev/platform": annotation}}); got != want {
			t.Errorf("%q: %q, want %q", annotation, got, want)
		}
	}
}
