package review

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible shows what would not be seen, would steer a terminal, or would change
// how the rest is read, as <U+202E>: controls, directions, invalid bytes. Line
// ends and tabs stay.
func Visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "<U+%04X>", r)
	}
	return b.String()
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (r == unicode.ReplacementChar || !unicode.IsGraphic(r))
}

// maxHidden bounds what is listed of a text.
const maxHidden = 20

// hiddenIn lists the hidden characters of a text by line.
func hiddenIn(text string) []string {
	if !strings.ContainsFunc(text, hidden) {
		return nil
	}
	var out []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		said := map[rune]bool{}
		for _, r := range line {
			if !hidden(r) || said[r] {
				continue
			}
			said[r] = true
			if len(out) == maxHidden {
				return append(out, "and more")
			}
			out = append(out, fmt.Sprintf("U+%04X in line %d", r, n))
		}
	}
	return out
}
