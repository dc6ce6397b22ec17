package render

import (
	"errors"
	"strings"
)

// splitWords splits a command as a shell does, without expanding anything:
// white space, single and double quotes, backslash, and comments.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	started := false
	quote := rune(0)
	escaped := false
	end := func() {
		if started {
			words = append(words, word.String())
			word.Reset()
			started = false
		}
	}
	for _, c := range s {
		switch {
		case escaped:
			if quote == '"' && c != '"' && c != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0:
			if c == quote {
				quote = 0
				continue
			}
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			end()
		case c == '#' && !started:
			return words, nil
		default:
			word.WriteRune(c)
			started = true
		}
	}
	end()
	if quote != 0 || escaped {
		return nil, errors.New("a quote or an escape is not closed")
	}
	return words, nil
}
