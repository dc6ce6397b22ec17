package page

import (
	"strconv"
	"strings"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/review"
)

// file is one file of a diff.
type file struct {
	Name string
	Rows []row
}

// row is a line of a file, before and after; a line number of 0 is none.
type row struct {
	Kind        string // same, both, old, new, or part for what is no line of a file
	Left, Right string
	L, R        int
	// From says where the value in Right comes from, "" where that is not known.
	From string
}

// reader reads a unified diff; lines that replace one another stand beside each other.
type reader struct {
	origins  map[string]string
	out      []file
	old, now []row // since the last line that is on both sides
	was      string
	path     string
	// left and right are the next lines, and how many there are to come in this hunk.
	left, right, lefts, rights int
}

func sideBySide(c *review.Class) []file {
	r := &reader{origins: c.Origins}
	for line := range strings.Lines(c.Diff) {
		r.read(strings.TrimRight(line, "\r\n"))
	}
	r.flush()
	return r.out
}

var hunk = lazyregexp.New(`^@@ -([0-9]+)(?:,([0-9]+))? \+([0-9]+)(?:,([0-9]+))? @@`)

func (r *reader) read(line string) {
	switch {
	case r.lefts > 0 || r.rights > 0:
		r.inside(line)
	case hunk.MatchString(line):
		r.flush()
		m := hunk.FindStringSubmatch(line)
		r.left, r.lefts, r.right, r.rights = number(m[1]), number(m[2]), number(m[3]), number(m[4])
		if n := len(r.out); n > 0 && len(r.out[n-1].Rows) > 0 {
			r.add(row{Kind: "part", Left: "⋯"})
		}
	case strings.HasPrefix(line, "diff --git "):
		r.file(line[strings.LastIndex(line, " b/")+len(" b/"):], "")
	case strings.HasPrefix(line, "--- "):
		r.was = line[len("--- "):]
	case strings.HasPrefix(line, "+++ "):
		switch path := strings.TrimPrefix(line[len("+++ "):], "b/"); {
		case path == "/dev/null":
			r.file(strings.TrimPrefix(r.was, "a/"), " (removed)")
		case r.was == "/dev/null":
			r.file(path, " (new)")
		default:
			r.file(path, "")
		}
	case !strings.HasPrefix(line, `\`): // of a mode, or a binary file; else that a last line has no end
		r.flush()
		r.add(row{Kind: "part", Left: line})
	}
}

// number is 1 where a hunk does not say it.
func number(text string) int {
	if text == "" {
		return 1
	}
	n, _ := strconv.Atoi(text)
	return n
}

// file begins a file, or goes on with it after its mode.
func (r *reader) file(path, what string) {
	r.flush()
	if n := len(r.out); n == 0 || r.path != path {
		r.out = append(r.out, file{})
	}
	r.path, r.out[len(r.out)-1].Name = path, path+what
}

// inside takes a line of a hunk.
func (r *reader) inside(line string) {
	sign, text := byte(' '), ""
	if line != "" {
		sign, text = line[0], line[1:]
	}
	switch sign {
	case '-':
		r.old = append(r.old, row{Kind: "old", Left: text, L: r.left})
		r.left, r.lefts = r.left+1, r.lefts-1
	case '+':
		r.now = append(r.now, row{Kind: "new", Right: text, R: r.right, From: r.origins[review.LineOf(r.path, r.right)]})
		r.right, r.rights = r.right+1, r.rights-1
	case '\\':
	default:
		r.flush()
		r.add(row{Kind: "same", Left: text, Right: text, L: r.left, R: r.right})
		r.left, r.lefts, r.right, r.rights = r.left+1, r.lefts-1, r.right+1, r.rights-1
	}
}

func (r *reader) add(line row) {
	if len(r.out) == 0 {
		r.out = append(r.out, file{})
	}
	f := &r.out[len(r.out)-1]
	f.Rows = append(f.Rows, line)
}

// flush puts lines that replace one another side by side.
func (r *reader) flush() {
	for i := range max(len(r.old), len(r.now)) {
		switch {
		case i >= len(r.now):
			r.add(r.old[i])
		case i >= len(r.old):
			r.add(r.now[i])
		default:
			r.add(row{Kind: "both", Left: r.old[i].Left, Right: r.now[i].Right, L: r.old[i].L, R: r.now[i].R, From: r.now[i].From})
		}
	}
	r.old, r.now = nil, nil
}
