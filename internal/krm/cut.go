package krm

import (
	"bytes"
	"unicode/utf8"
)

// bom is the byte order mark of UTF-8.
const bom = "\xef\xbb\xbf"

// chunk is the text of one document of a file with its leading separator.
type chunk struct {
	start, end int
	line       int // lines before start
}

// lineEnd returns where the text of the line at i ends and where the next one
// starts. YAML 1.1 breaks lines at CR, LF, CR LF, NEL, LS and PS.
func lineEnd(data []byte, i int) (end, next int) {
	for ; i < len(data); i++ {
		if c := data[i]; c > '\r' && c != 0xc2 && c != 0xe2 { // as most, and none of breakAt's
			continue
		}
		if n := breakAt(data, i); n > 0 {
			return i, i + n
		}
	}
	return i, i
}

// breakAt returns the length of the line break at i, 0 where there is none.
func breakAt(data []byte, i int) int {
	switch c := data[i]; {
	case c == '\n':
		return 1
	case c == '\r':
		if i+1 < len(data) && data[i+1] == '\n' {
			return 2
		}
		return 1
	case c == 0xc2 && i+1 < len(data) && data[i+1] == 0x85:
		return 2
	case c == 0xe2 && i+2 < len(data) && data[i+1] == 0x80 && data[i+2]&^1 == 0xa8:
		return 3
	}
	return 0
}

// isMarker reports whether a line is the document marker mark (--- or ...).
func isMarker(line []byte, mark string) bool {
	if len(line) < 3 || string(line[:3]) != mark {
		return false
	}
	return len(line) == 3 || line[3] == ' ' || line[3] == '\t'
}

// isTrivial reports whether a line is blank or a comment.
func isTrivial(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) == 0 || line[0] == '#'
}

// cutter holds what it knows of the document that it is in.
type cutter struct {
	chunks             []chunk
	at                 chunk
	content, directive bool // seen since at.start
	ended              bool // a line "..." was the last that mattered
}

// cut splits a file at its document separators. The chunks follow one another
// without a gap, so that joined they are the file. A separator opens its
// chunk; directives stand with the document that they belong to.
func cut(data []byte) []chunk {
	var c cutter
	pos := 0
	if bytes.HasPrefix(data, []byte(bom)) {
		pos = len(bom)
	}
	for first, line := pos, 0; pos < len(data); line++ {
		end, next := lineEnd(data, pos)
		c.line(data[pos:end], pos, line, pos == first)
		pos = next
	}
	c.at.end = len(data)
	return append(c.chunks, c.at)
}

func (c *cutter) line(text []byte, pos, line int, first bool) {
	switch {
	case isMarker(text, "---"):
		if !first && (c.content || !c.directive) {
			c.next(pos, line)
		}
		c.content, c.directive, c.ended = true, false, false
	case isMarker(text, "..."):
		c.ended = true
	case len(text) > 0 && text[0] == '%' && (c.ended || !c.content):
		if c.ended {
			c.next(pos, line)
		}
		c.directive = true
	case !isTrivial(text):
		c.content = true
	}
}

func (c *cutter) next(pos, line int) {
	c.at.end = pos
	c.chunks = append(c.chunks, c.at)
	*c = cutter{chunks: c.chunks, at: chunk{start: pos, line: line}}
}

// trivialText reports whether a text has nothing but blanks, comments,
// separators and a byte order mark.
func trivialText(data []byte) bool {
	data = bytes.TrimPrefix(data, []byte(bom))
	for pos := 0; pos < len(data); {
		end, next := lineEnd(data, pos)
		text := data[pos:end]
		if isMarker(text, "---") || isMarker(text, "...") {
			text = text[3:]
		}
		if !isTrivial(text) {
			return false
		}
		pos = next
	}
	return true
}

// lineBreak is the line break that a text uses: that of its first line.
func lineBreak(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// validText reports where and why a file cannot be YAML text at all; why is "" where it
// can.
func validText(data []byte) (at int, why string) {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return 0, "it is UTF-16 text; save it as UTF-8"
	}
	if at := bytes.IndexByte(data, 0); at >= 0 {
		return at, "it has a NUL byte, so it is no YAML text"
	}
	if utf8.Valid(data) {
		return 0, ""
	}
	for {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			return at, "it is not UTF-8 text"
		}
		at += n
	}
}
