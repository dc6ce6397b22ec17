package importer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const placeholder = "example" // stands in the base for the folder's name

// template returns a text with the names of the folder's path as ${NAME}.
func (f *folder) template(text string) string {
	if strings.Contains(text, "${") {
		return text
	}
	for _, n := range f.Names {
		text = replaceWord(text, n.Value, "${"+n.Parameter+"}")
	}
	return text
}

// expand is the reverse of template.
func (f *folder) expand(template string) string {
	for _, n := range f.Names {
		template = strings.ReplaceAll(template, "${"+n.Parameter+"}", n.Value)
	}
	return template
}

// inBase is a template as the base has it.
func (f *folder) inBase(template string) string {
	for i, n := range f.Names {
		stand := placeholder
		if i > 0 {
			stand = n.Parameter
		}
		template = strings.ReplaceAll(template, "${"+n.Parameter+"}", stand)
	}
	return template
}

// replaceWord replaces a word where no letter or digit is beside it.
func replaceWord(text, word, by string) string {
	if word == "" {
		return text
	}
	var out strings.Builder
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			out.WriteString(text[at:])
			return out.String()
		}
		i += at
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		inName := strings.LastIndex(text[:i], "${") > strings.LastIndex(text[:i], "}")
		if isWord(before) || isWord(after) || inName {
			out.WriteString(text[at : i+1])
			at = i + 1
			continue
		}
		out.WriteString(text[at:i] + by)
		at = i + len(word)
	}
}

func isWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
