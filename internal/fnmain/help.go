package fnmain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/variform/variform/internal/function"
)

// writeHelp is what --help prints, for people and for kpt fn doc.
func writeHelp(w io.Writer, name string, d function.Doc) error {
	_, err := fmt.Fprintf(w, `%s: %s

%s

Usage:
  %s [FILE] < ResourceList > ResourceList

  FILE is a functionConfig, in place of the one in the ResourceList.
  --help prints this, --doc the same as JSON.

functionConfig:
%s
Exit codes: 0 done, 1 a result has severity error (the list is written all the
same), 2 wrong usage.

Bounds: %d MiB and %d items a list, %d MiB an item, %d values, %s.
`, name, d.Short, strings.TrimSpace(d.Long), name, indent(d.Config), MaxBytes>>20, MaxItems, MaxItemBytes>>20, MaxValues, MaxTime)
	return err
}

func indent(s string) string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		if line != "" {
			line = "  " + line
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// writeDoc is what --doc prints, in the SDK's shape.
func writeDoc(w io.Writer, name string, d function.Doc) error {
	out, err := json.MarshalIndent(map[string]any{
		"short": d.Short, "long": strings.TrimSpace(d.Long), "examples": strings.TrimSpace(d.Config),
		"image": name, "description": d.Short, "tags": []string{"variform"}, "license": "Apache-2.0",
	}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", out)
	return err
}
