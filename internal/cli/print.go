package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"

	"sigs.k8s.io/yaml"
)

// table writes rows in aligned columns.
func table(w io.Writer, header []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 4, 3, ' ', 0)
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

// oneLine keeps a message from breaking a table, or a terminal.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r):
			return -1
		default:
			return r
		}
	}, s)
	return s
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
	return objectsOf(w, format, list, nil)
}

// objectsOf says in a List which shard they are of.
func objectsOf(w io.Writer, format string, list []any, part *shardView) error {
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
