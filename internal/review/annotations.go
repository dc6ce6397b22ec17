package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxAnnotations is how many errors, and how many warnings, GitHub shows of
// one step; maxMessage bounds one of them.
const (
	maxAnnotations = 10
	maxMessage     = 4000
	someMembers    = 20 // named in an annotation
)

// severity of a finding: "error", "warning", or "" for none.
func (f *Finding) severity() string {
	switch f.Kind {
	case Failure:
		return "error"
	case Notice:
		return ""
	default:
		return "warning"
	}
}

// title is "37 variants: failure".
func (f *Finding) title() string { return f.who() + ": " + string(f.Kind) }

// GitHub writes the findings as workflow commands, which GitHub Actions shows
// at the files that they name: one command a class, errors first, ten errors
// and ten warnings at most, the last of which counts what is left out.
func GitHub(d *Digest) string {
	var b strings.Builder
	for _, severity := range []string{"error", "warning"} {
		var of []*Finding
		for i := range d.Findings {
			if d.Findings[i].severity() == severity {
				of = append(of, &d.Findings[i])
			}
		}
		rest := 0
		if len(of) > maxAnnotations {
			rest = len(of) - (maxAnnotations - 1)
			of = of[:maxAnnotations-1]
		}
		for _, f := range of {
			b.WriteString(f.command(severity))
		}
		if rest > 0 {
			fmt.Fprintf(&b, "::%s title=%s::%s\n", severity, escapeProperty(fmt.Sprintf("%d more classes of findings", rest)),
				"the summary has them all")
		}
	}
	return b.String()
}

func (f *Finding) command(severity string) string {
	properties := ""
	if f.File != "" {
		properties = "file=" + escapeProperty(f.File) + ","
		if f.Line > 0 {
			properties += fmt.Sprintf("line=%d,", f.Line)
		}
	}
	return fmt.Sprintf("::%s %stitle=%s::%s\n", severity, properties, escapeProperty(f.title()), escapeData(f.text()))
}

// text is the message and whom it is about.
func (f *Finding) text() string {
	message := Visible(strings.TrimSpace(f.Message))
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "…"
	}
	if len(f.Members) > 0 {
		message += "\n" + named(f.Members, someMembers)
	}
	return message
}

// The escapes of workflow commands.
var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func escapeData(s string) string     { return dataEscapes.Replace(s) }
func escapeProperty(s string) string { return propertyEscapes.Replace(s) }

// quality is an entry of GitLab's Code Quality report.
type quality struct {
	Description string `json:"description"`
	CheckName   string `json:"check_name"`
	Fingerprint string `json:"fingerprint"`
	Severity    string `json:"severity"`
	Location    struct {
		Path  string `json:"path"`
		Lines struct {
			Begin int `json:"begin"`
		} `json:"lines"`
	} `json:"location"`
}

// GitLab writes the findings as a Code Quality report, one entry a class, and
// gives each the finding's ID: a class that only grows is not new in a merge
// request.
func GitLab(d *Digest) (string, error) {
	out := []quality{}
	for i := range d.Findings {
		f := &d.Findings[i]
		if f.severity() == "" {
			continue
		}
		q := quality{Description: f.who() + ": " + f.text(), CheckName: "variform/" + string(f.Kind), Fingerprint: f.ID, Severity: "minor"}
		if f.severity() == "error" {
			q.Severity = "critical"
		} else if f.Kind == Deletion || f.Kind == Conflict {
			q.Severity = "major"
		}
		q.Location.Path = cmp.Or(f.File, d.Fleet, ".")
		q.Location.Lines.Begin = max(f.Line, 1)
		out = append(out, q)
	}
	slices.SortStableFunc(out, func(a, b quality) int {
		order := []string{"critical", "major", "minor"}
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	data, err := json.MarshalIndent(out, "", "  ")
	return string(data) + "\n", err
}
