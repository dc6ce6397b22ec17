package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/review"
)

// tablePadding is how many spaces are between columns.
const tablePadding = 3

// table writes rows in aligned columns.
func table(w io.Writer, header []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 4, tablePadding, ' ', 0)
	if len(rows) > 0 {
		_, _ = fmt.Fprintln(t, strings.Join(header, "\t"))
	}
	for _, r := range rows {
		last := len(r) - 1
		lines := strings.Split(strings.TrimSpace(r[last]), "\n") // of a message: each below the other
		r[last] = lines[0]
		for i := range r {
			r[i] = oneLine(r[i])
			if r[i] == "" {
				r[i] = "-"
			}
		}
		_, _ = fmt.Fprintln(t, strings.TrimRight(strings.Join(r, "\t"), "\t "))
		for _, line := range lines[1:] {
			_, _ = fmt.Fprintln(t, strings.TrimRight(strings.Repeat("\t", last)+oneLine(line), "\t "))
		}
	}
	return t.Flush()
}

// oneLine keeps text of packages from breaking a table or a line, and a terminal.
func oneLine(s string) string { return review.Visible(breaks.Replace(s)) }

var breaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ")

// linef adds a line to a text that write prints.
func linef(b *strings.Builder, format string, args ...any) {
	b.WriteString(oneLine(fmt.Sprintf(format, args...)) + "\n")
}

// write prints lines for a reader. Text of packages in them steers neither the terminal
// nor a CI system.
func (a *app) write(text string, colour func(line string) string) error {
	_, err := io.WriteString(a.Out, a.paint(boundary.Log(review.Visible(text)), colour))
	return err
}

// line prints a line as write does.
func (s Streams) line(format string, args ...any) error {
	_, err := fmt.Fprintln(s.Out, boundary.Log(oneLine(fmt.Sprintf(format, args...))))
	return err
}

// encode prints a value as json or yaml.
func encode(w io.Writer, format string, v any) error {
	var b []byte
	var err error
	if format == "json" {
		b, err = json.MarshalIndent(v, "", "  ")
		b = append(b, '\n')
	} else {
		b, err = yaml.Marshal(v)
	}
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// outputVersion is that of what commands print as json and yaml: it is another one
// where a field goes, or means something else.
const outputVersion = "cli.variform.dev/v1alpha1"

// encodeAs prints a struct or a map as json or yaml, with its version and kind.
func encodeAs(w io.Writer, format, kind string, v any) error {
	fields, err := json.Marshal(v)
	if err != nil {
		return err
	}
	head := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q`, outputVersion, kind)
	if rest := fields[1:]; rest[0] != '}' {
		head = append(head, ',')
	}
	return encode(w, format, json.RawMessage(append(head, fields[1:]...)))
}

// objects prints KRM objects: documents as yaml, a List as json. Empty times
// and null fields of the Kubernetes types are left out.
func objects(w io.Writer, format string, list []any) error {
	return objectsOf(w, format, list, review.Source{}, nil)
}

// objectsOf names in a List the fleet and the shard that the objects are of.
func objectsOf(w io.Writer, format string, list []any, from review.Source, part *shardView) error {
	clean := make([]any, 0, len(list))
	for _, o := range list {
		b, err := json.Marshal(o)
		if err != nil {
			return err
		}
		var m any
		if err := json.Unmarshal(b, &m); err != nil {
			return err
		}
		clean = append(clean, withoutNulls(m))
	}
	if format == "json" {
		out := map[string]any{"apiVersion": "v1", "kind": "List", "items": clean}
		if from != (review.Source{}) {
			out["source"] = from
		}
		if part != nil {
			out["shard"] = part
		}
		return encode(w, format, out)
	}
	for i, o := range clean {
		if i > 0 {
			if _, err := fmt.Fprintln(w, "---"); err != nil {
				return err
			}
		}
		if err := encode(w, format, o); err != nil {
			return err
		}
	}
	return nil
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x == nil {
				delete(v, k)
			} else {
				v[k] = withoutNulls(x)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
