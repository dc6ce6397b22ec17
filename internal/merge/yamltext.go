package merge

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// yamlText merges the text of YAML files and resources line by line. Comments,
// blank lines, quotes and order follow from it; values are those of the merge by
// fields, which is written over the text where they differ.
type yamlText struct {
	keep bool // local wins where both sides changed a comment
}

// merge returns the merged text, and reports whether no line was changed by both
// sides. It returns nil where a version is not text.
func (y yamlText) merge(b, u, l []byte) (text []byte, clean bool) {
	for _, data := range [][]byte{b, u, l} {
		if bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) {
			return nil, false
		}
	}
	mark, l := cutMark(l)
	crlf := crlf(l)
	var lines [3][]string
	for i, data := range [][]byte{b, u, l} {
		_, data = cutMark(data)
		lines[i] = linesAs(data, crlf)
	}
	out, clean := mergeLines(lines[0], lines[1], lines[2], y.resolve)
	return append(slices.Clone(mark), join(out)...), clean
}

// resolve merges lines that both sides changed. Lines that both added at one
// place are all kept. Otherwise a line's comment is merged apart from the rest:
// of the comments upstream's is taken, of the rest local's, into which the
// merge by fields is written.
func (y yamlText) resolve(s stretch) []string {
	if len(s.b) == 0 {
		return union(s.u, s.l)
	}
	tokens, _ := mergeLines(tokensOf(s.b), tokensOf(s.u), tokensOf(s.l), y.resolveTokens)
	return []string{strings.Join(tokens, "")}
}

// union returns local's lines with those of upstream that it lacks.
func union(u, l []string) []string {
	var out []string
	for _, s := range stretches(u, u, l) {
		out = append(out, s.l...)
		if !slices.Equal(s.u, s.l) {
			out = append(out, s.u...)
		}
	}
	return out
}

// resolveTokens merges the parts of lines.
func (y yamlText) resolveTokens(s stretch) []string {
	if len(s.b) == 0 {
		return union(s.u, s.l)
	}
	if len(s.b) == len(s.u) && len(s.b) == len(s.l) {
		out := make([]string, len(s.b))
		for i, b := range s.b {
			out[i] = y.token(b, s.u[i], s.l[i])
		}
		return out
	}
	if !y.keep && !slices.ContainsFunc(slices.Concat(s.b, s.u, s.l), func(t string) bool { return !isTail(t) && t != "" }) {
		return s.u
	}
	return s.l
}

// token merges one part of a line.
func (y yamlText) token(b, u, l string) string {
	switch {
	case b == l:
		return u
	case b != u && isTail(b) && isTail(u) && isTail(l) && !y.keep:
		return u
	}
	return l
}

// tokensOf parts each line in two: what is before its comment, and the comment
// with the line break.
func tokensOf(lines []string) []string {
	out := make([]string, 0, 2*len(lines))
	for _, line := range lines {
		at := commentAt(line)
		out = append(out, line[:at], line[at:])
	}
	return out
}

// isTail reports whether a token is a comment, or a line break alone.
func isTail(token string) bool {
	token = strings.TrimLeft(token, " \t")
	return token != "" && (token[0] == '#' || token[0] == '\n' || token[0] == '\r')
}

// commentAt returns where the comment of a line starts, with the blanks before
// it; without a comment it is where the line's text ends. Within a block scalar
// it may be wrong, which does no harm: values are not merged by it.
func commentAt(line string) int {
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && strings.IndexByte(" \t[{,:-", prev(line, i)) >= 0:
			quote = c
		case c == '#' && strings.IndexByte(" \t", prev(line, i)) >= 0:
			return len(strings.TrimRight(line[:i], " \t"))
		}
	}
	return len(strings.TrimRight(line, " \t\r\n"))
}

// prev is the byte before i, a blank at the start.
func prev(line string, i int) byte {
	if i == 0 {
		return ' '
	}
	return line[i-1]
}

// join joins lines; only the last one may lack its line break.
func join(lines []string) []byte {
	var b bytes.Buffer
	n := 0
	for _, line := range lines {
		n += len(line) + 1
	}
	b.Grow(n)
	for i, line := range lines {
		b.WriteString(line)
		if i < len(lines)-1 && line != "" && !strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// cutMark cuts the byte order mark off.
func cutMark(data []byte) (mark, rest []byte) {
	const n = len("\ufeff")
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		return data[:n], data[n:]
	}
	return nil, data
}

func crlf(data []byte) bool {
	i := bytes.IndexByte(data, '\n')
	return i > 0 && data[i-1] == '\r'
}

// linesAs returns the lines of a text with line breaks of the given kind.
func linesAs(data []byte, crlfs bool) []string {
	if crlf(data) != crlfs {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		if crlfs {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		}
	}
	lines := make([]string, 0, bytes.Count(data, []byte{'\n'})+1)
	return slices.AppendSeq(lines, strings.Lines(string(data)))
}
