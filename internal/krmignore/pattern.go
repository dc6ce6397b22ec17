package krmignore

import (
	"path"
	"regexp"
	"strings"
)

// pattern is one line.
type pattern struct {
	keep     bool // with a ! before it
	dirOnly  bool
	anchored bool           // judged by the path below its folder, not by the name
	re       *regexp.Regexp // over latin1 text; nil matches nothing
}

func (p pattern) match(rel string, isDir bool) bool {
	if p.dirOnly && !isDir || p.re == nil {
		return false
	}
	if !p.anchored {
		rel = path.Base(rel)
	}
	return p.re.MatchString(latin1(rel))
}

// parse reads a file's lines.
func parse(text string) []pattern {
	var out []pattern
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = trimSpaces(strings.TrimSuffix(line, "\r"))
		if line != "" && line[0] != '#' {
			out = append(out, parseLine(line))
		}
	}
	return out
}

// trimSpaces cuts the spaces at the end that no backslash protects.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

func parseLine(line string) pattern {
	var p pattern
	line, p.keep = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if expr, ok := translate(line); ok {
		p.re = regexp.MustCompile(expr)
	}
	return p
}

// latin1 makes each byte a rune of its own: Git's wildcards count bytes, and a
// name need not be UTF-8.
func latin1(s string) string {
	for i := range len(s) {
		if s[i] >= 0x80 {
			runes := make([]rune, len(s))
			for j := range len(s) {
				runes[j] = rune(s[j])
			}
			return string(runes)
		}
	}
	return s
}

// translate makes a regular expression of a pattern, which takes linear time
// where a matcher that goes back may take exponential. It fails for a pattern
// that matches nothing: an open bracket, a backslash at the end.
func translate(glob string) (expr string, ok bool) {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	literal := true // nothing but literal text before: Git compares that by itself
	for i := 0; i < len(glob); {
		switch c := glob[i]; c {
		case '*':
			n := len(glob[i:]) - len(strings.TrimLeft(glob[i:], "*"))
			rest := glob[i+n:]
			// ** beside anything but slashes is a *, but for Git's own oddity
			// that literal text before the first wildcard does not count.
			whole := n > 1 && (literal || glob[i-1] == '/') && (rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
			switch {
			case !whole:
				b.WriteString(`[^/]*`)
			case rest == "":
				b.WriteString(`.*`)
			case rest[0] == '/':
				b.WriteString(`(?:.*/)?`)
				n++
			default:
				b.WriteString(`.*`)
			}
			i, literal = i+n, false
		case '?':
			b.WriteString(`[^/]`)
			i, literal = i+1, false
		case '[':
			class, n, ok := bracket(glob[i:])
			if !ok {
				return "", false
			}
			b.WriteString(class)
			i, literal = i+n, false
		case '\\':
			if i+1 == len(glob) {
				return "", false
			}
			b.WriteString(quote(glob[i+1]))
			i, literal = i+2, false
		default:
			b.WriteString(quote(c))
			i++
		}
	}
	b.WriteString(`\z`)
	return b.String(), true
}

// quote writes a byte as itself.
func quote(c byte) string { return regexp.QuoteMeta(latin1(string([]byte{c}))) }
