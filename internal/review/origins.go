package review

import (
	"fmt"
	"strings"
)

// LineOf names a line of a file, from 1, in Class.Origins.
func LineOf(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

// lineOrigins say where the lines come from that a diff adds, where somebody asked.
func lineOrigins(c *Change, text string) map[string]string {
	if c.Origins == nil || c.After == nil {
		return nil
	}
	out, added := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(text) {
		if now, ok := strings.CutPrefix(line, "+"); ok {
			added[strings.TrimRight(now, "\r\n")] = true
		}
	}
	for line := range strings.Lines(text) {
		path, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "+++ b/")
		if !ok {
			continue
		}
		f, ok := c.After.Read(path)
		if !ok { // what looks like a file's name, in a file
			continue
		}
		lines, err := c.Origins.Annotate(f)
		if err != nil { // what cannot be read has none
			continue
		}
		for i, l := range lines {
			if l.Origin != nil && added[l.Text] {
				out[LineOf(path, i+1)] = l.Origin.String()
			}
		}
	}
	return out
}
