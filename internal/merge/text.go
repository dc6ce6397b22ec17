package merge

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/variform/variform/internal/krm"
)

// text merges a file that is no YAML line by line (diff3). Where both sides changed
// the same lines upstream's stand, or local's where those are to be kept. It
// returns false for what is no text.
func (m *merger) text(c change) bool {
	b, okB := textLines(c.b)
	u, okU := textLines(c.u)
	l, okL := textLines(c.l)
	if !okB || !okU || !okL {
		return false
	}
	out, _ := mergeLines(b, u, l, func(s stretch) []string {
		stands := s.u
		clash := Conflict{
			Path: c.path, Line: s.at + 1, Field: fmt.Sprintf("line %d", s.at+1), Winner: Upstream,
			Base: showLines(s.b), Upstream: showLines(s.u), Local: showLines(s.l),
		}
		if m.o.Guess || m.keeps(nil) {
			stands, clash.Winner = s.l, Local
		}
		m.conflicts = append(m.conflicts, clash)
		return stands
	})
	f := *c.l
	f.Data, f.Mode = []byte(strings.Join(out, "")), c.mode()
	m.write(f)
	return true
}

// textLines are a file's lines with their ends; false where it is no text.
func textLines(f *krm.File) (lines []string, ok bool) {
	if f.Mode == krm.Symlink || bytes.IndexByte(f.Data, 0) >= 0 || !utf8.Valid(f.Data) {
		return nil, false
	}
	return slices.Collect(strings.Lines(string(f.Data))), true
}

// end is where in base the last of some changes ends.
func end(lists ...[]hunk) (to int) {
	for _, r := range lists {
		if n := len(r); n > 0 {
			to = max(to, r[n-1].b1)
		}
	}
	return to
}

// growth is by how much changes make a list longer.
func growth(r []hunk) (n int) {
	for _, h := range r {
		n += h.x1 - h.x0 - (h.b1 - h.b0)
	}
	return n
}

// showLines writes lines in one, without credentials.
func showLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	text := strings.TrimRight(strings.Join(lines, ""), "\r\n")
	if credential.MatchString(text) {
		return redacted
	}
	return cut(strconv.Quote(userinfo.ReplaceAllString(text, "://…@")))
}
