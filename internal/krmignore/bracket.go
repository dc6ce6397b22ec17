package krmignore

import (
	"fmt"
	"strings"
)

// bracket reads [...] at the head of a glob and is its regular expression and
// how many bytes it takes; ok is false where it has no end, or names a class
// that there is not.
func bracket(glob string) (expr string, n int, ok bool) {
	i := 1
	var b strings.Builder
	negated := i < len(glob) && (glob[i] == '!' || glob[i] == '^')
	if negated {
		i++
	}
	low := -1 // where a range may begin
	for first := true; first || i < len(glob) && glob[i] != ']'; first = false {
		if i >= len(glob) {
			return "", 0, false
		}
		switch name, after, found := namedClass(glob[i:]); {
		case glob[i] == '-' && low >= 0 && i+1 < len(glob) && glob[i+1] != ']':
			high, next, ok := member(glob, i+1)
			if !ok {
				return "", 0, false
			}
			b.WriteString(span(low, int(high)))
			i, low = next, -1
		case found && classes[name] == "":
			return "", 0, false
		case found:
			b.WriteString(classes[name])
			i, low = i+after, -1
		default:
			c, next, ok := member(glob, i)
			if !ok {
				return "", 0, false
			}
			b.WriteString(span(int(c), int(c)))
			i, low = next, int(c)
		}
	}
	if i >= len(glob) {
		return "", 0, false
	}
	if negated {
		return "[^/" + b.String() + "]", i + 1, true
	}
	if b.Len() == 0 {
		return `[^\x{0}-\x{10FFFF}]`, i + 1, true
	}
	return "[" + b.String() + "]", i + 1, true
}

// span are the bytes from one to another without the slash, which no bracket matches.
func span(low, high int) string {
	switch {
	case low > high:
		return ""
	case low <= '/' && '/' <= high:
		return span(low, '/'-1) + span('/'+1, high)
	}
	return fmt.Sprintf(`\x{%x}-\x{%x}`, low, high)
}

// member is the byte at i, or the one that a backslash there protects.
func member(glob string, i int) (c byte, next int, ok bool) {
	if glob[i] == '\\' {
		i++
	}
	if i >= len(glob) {
		return 0, 0, false
	}
	return glob[i], i + 1, true
}

// namedClass reads [:name:]; found is false where there is none.
func namedClass(glob string) (name string, n int, found bool) {
	rest, ok := strings.CutPrefix(glob, "[:")
	if !ok {
		return "", 0, false
	}
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return "", 0, true
	}
	name, ok = strings.CutSuffix(rest[:end], ":")
	return name, len("[:") + end + 1, ok
}

// classes are POSIX's, of ASCII, as a regular expression has them in a bracket, without the slash.
var classes = map[string]string{
	"alnum":  "[:alnum:]",
	"alpha":  "[:alpha:]",
	"blank":  "[:blank:]",
	"cntrl":  "[:cntrl:]",
	"digit":  "[:digit:]",
	"graph":  "!-.0-~",
	"lower":  "[:lower:]",
	"print":  " -.0-~",
	"punct":  "!-.:-@[-`{-~",
	"space":  "[:space:]",
	"upper":  "[:upper:]",
	"xdigit": "[:xdigit:]",
}
