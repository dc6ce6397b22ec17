package merge

import (
	"bytes"
	"fmt"
	"hash/fnv"
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
	var out []string
	at, atL := 0, 0 // what of base and of local is done
	hl, hu := hunks(lineHashes(b), lineHashes(l)), hunks(lineHashes(b), lineHashes(u))
	for len(hl) > 0 || len(hu) > 0 {
		rl, ru := region(&hl, &hu)
		from, to := first(rl, ru), end(rl, ru)
		out = append(out, l[atL:atL+from-at]...)
		atL += from - at
		was, theirs, ours := b[from:to], b[from:to], l[atL:atL+to-from+growth(rl)]
		if len(ru) > 0 {
			at := ru[0].x0 - (ru[0].b0 - from)
			theirs = u[at : at+to-from+growth(ru)]
		}
		stands := ours
		switch {
		case len(ru) == 0 || slices.Equal(theirs, ours):
		case len(rl) == 0:
			stands = theirs
		default:
			clash := Conflict{
				Path: c.path, Line: atL + 1, Field: fmt.Sprintf("line %d", atL+1), Winner: Local,
				Base: showLines(was), Upstream: showLines(theirs), Local: showLines(ours),
			}
			if !m.o.Guess && !m.keeps(nil) {
				stands, clash.Winner = theirs, Upstream
			}
			m.conflicts = append(m.conflicts, clash)
		}
		out = append(out, stands...)
		at, atL = to, atL+len(ours)
	}
	f := *c.l
	f.Data, f.Mode = []byte(strings.Join(append(out, l[atL:]...), "")), c.mode()
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

func lineHashes(lines []string) []uint64 {
	out := make([]uint64, len(lines))
	for i, line := range lines {
		h := fnv.New64a()
		_, _ = h.Write([]byte(line))
		out[i] = h.Sum64()
	}
	return out
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
