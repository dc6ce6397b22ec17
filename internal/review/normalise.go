package review

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// normaliser replaces a variant's own values by placeholders, as whole words.
type normaliser struct {
	values []string // longest first
	names  map[string]string
}

func newNormaliser(aliases map[string]string) *normaliser {
	n := &normaliser{names: aliases}
	for v := range aliases {
		if v != "" {
			n.values = append(n.values, v)
		}
	}
	sort.Slice(n.values, func(i, j int) bool {
		if a, b := len(n.values[i]), len(n.values[j]); a != b {
			return a > b
		}
		return n.values[i] < n.values[j]
	})
	return n
}

func (n *normaliser) text(s string) string {
	for _, v := range n.values {
		s = replaceWord(s, v, "${"+n.names[v]+"}")
	}
	return s
}

// replaceWord replaces old where no letter or digit touches it.
func replaceWord(s, old, with string) string {
	if !strings.Contains(s, old) {
		return s
	}
	var b strings.Builder
	rest, done := s, 0
	for {
		i := strings.Index(rest[done:], old)
		if i < 0 {
			b.WriteString(rest)
			return b.String()
		}
		i += done
		end := i + len(old)
		prev, _ := utf8.DecodeLastRuneInString(rest[:i])
		next, _ := utf8.DecodeRuneInString(rest[end:])
		if (i == 0 || !wordRune(prev)) && (end == len(rest) || !wordRune(next)) {
			b.WriteString(rest[:i])
			b.WriteString(with)
			rest, done = rest[end:], 0
			continue
		}
		_, size := utf8.DecodeRuneInString(rest[i:])
		done = i + size
	}
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
