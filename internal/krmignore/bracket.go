package krmignore

import (
	"fmt"
	"strings"
)

// set is which bytes a bracket matches.
type set [256]bool

// bracket reads [...] at the head of a glob and is its regular expression and
// how many bytes it takes; ok is false where it has no end, or names a class
// that there is not.
func bracket(glob string) (expr string, n int, ok bool) {
	i := 1
	negated := i < len(glob) && (glob[i] == '!' || glob[i] == '^')
	if negated {
		i++
	}
	var s set
	low := -1 // where a range may begin
	for first := true; first || i < len(glob) && glob[i] != ']'; first = false {
		if i >= len(glob) {
			return "", 0, false
		}
		switch class, after, found := namedClass(glob[i:]); {
		case glob[i] == '-' && low >= 0 && i+1 < len(glob) && glob[i+1] != ']':
			high, next, ok := member(glob, i+1)
			if !ok {
				return "", 0, false
			}
			for c := low; c <= int(high); c++ {
				s[c] = true
			}
			i, low = next, -1
		case found && class == nil:
			return "", 0, false
		case found:
			for c := range s {
				s[c] = s[c] || c < 0x80 && class(byte(c))
			}
			i, low = i+after, -1
		default:
			c, next, ok := member(glob, i)
			if !ok {
				return "", 0, false
			}
			s[c], i, low = true, next, int(c)
		}
	}
	if i >= len(glob) {
		return "", 0, false
	}
	return s.expr(negated), i + 1, true
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

// expr lists the bytes; no bracket matches a slash.
func (s set) expr(negated bool) string {
	var b strings.Builder
	for c, in := range s {
		if in != negated && c != '/' {
			fmt.Fprintf(&b, `\x{%x}`, c)
		}
	}
	if b.Len() == 0 {
		return `[^\x{0}-\x{10FFFF}]`
	}
	return "[" + b.String() + "]"
}

// namedClass reads [:name:]; found is false where there is none, and class nil
// where there is no class of that name.
func namedClass(glob string) (class func(byte) bool, n int, found bool) {
	rest, ok := strings.CutPrefix(glob, "[:")
	if !ok {
		return nil, 0, false
	}
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return nil, 0, true
	}
	name, ok := strings.CutSuffix(rest[:end], ":")
	if !ok {
		return nil, 0, false
	}
	return classes[name], len("[:") + end + 1, true
}

func between(low, high byte) func(byte) bool {
	return func(c byte) bool { return low <= c && c <= high }
}

func either(fs ...func(byte) bool) func(byte) bool {
	return func(c byte) bool {
		for _, f := range fs {
			if f(c) {
				return true
			}
		}
		return false
	}
}

func among(chars string) func(byte) bool {
	return func(c byte) bool { return strings.IndexByte(chars, c) >= 0 }
}

var (
	digit = between('0', '9')
	upper = between('A', 'Z')
	lower = between('a', 'z')
	punct = either(between('!', '/'), between(':', '@'), between('[', '`'), between('{', '~'))
)

// classes are POSIX's, of ASCII.
var classes = map[string]func(byte) bool{
	"alnum":  either(digit, upper, lower),
	"alpha":  either(upper, lower),
	"blank":  among(" \t"),
	"cntrl":  either(between(0, 0x1f), among("\x7f")),
	"digit":  digit,
	"graph":  between('!', '~'),
	"lower":  lower,
	"print":  between(' ', '~'),
	"punct":  punct,
	"space":  among(" \t\n\v\f\r"),
	"upper":  upper,
	"xdigit": either(digit, between('a', 'f'), between('A', 'F')),
}
