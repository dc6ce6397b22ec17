package boundary

import (
	"strings"

	"github.com/variform/variform/internal/lazyregexp"
)

// Fullwidth forms look like the characters that forges interpret.
var fullwidth = strings.NewReplacer("[", "［", "]", "］", "*", "＊", "@", "＠", "#", "＃", "!", "！", "/", "／", ":", "：", "-", "‐")

// steering are the parts of a title, or of a commit's message, by which a forge or a
// CI system acts:
//
//   - marks that skip checks: [skip ci], [ci skip], [no ci], ***NO_CI***, skip-checks: true
//   - mentions: @name, not user@example.com or image@sha256
//   - references, which a closing word before them closes: #7, !7, GH-7, and addresses
//     of issues and requests
//   - keys of issue trackers behind a closing word: fixes ABC-7
var steering = lazyregexp.New(`(?i)` +
	`\[[^\[\]［］\n]*(?:\bskip|skip\b|\bno[ _-]?ci\b)[^\[\]［］\n]*\]|\*\*\*NO_CI\*\*\*|\bskip-checks:|` +
	`(?:^|[^\w])@[\w-]|[#!]\d|\bGH-\d|/(?:issues|pull|pulls|merge_requests|work_items)/\d|` +
	`\b(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)\b:?\s+[a-z][a-z0-9]+-\d`)

// Inert returns a text that may hold words of packages so that no forge acts upon
// it as a request's title or as a commit's message. What would steer one gets
// fullwidth characters, and reads as before. Equal texts give equal texts, and an
// inert text stays as it is.
func Inert(text string) string {
	for maySteer(text) && steering.MatchString(text) { // what is replaced may have been part of two
		text = steering.Regexp().ReplaceAllStringFunc(text, fullwidth.Replace)
	}
	return text
}

// maySteer reports whether a text has what an alternative of steering needs. Most texts have
// nothing of it, and the expression takes a tenth of a first apply.
func maySteer(text string) bool {
	for i := range len(text) {
		var before byte
		if i > 0 {
			before = text[i-1]
		}
		switch c := text[i]; {
		case c == '[', c == '*' && before == '*', c == '@' && !isWord(before),
			c == ':' && (before|0x20 == 's' || before == 0xBF): // of ſ, which folds to s
			return true
		case c < '0' || c > '9':
		case before == '#' || before == '!' || before == '/',
			before == '-' && (i > 1 && text[i-2]|0x20 == 'h' || closing(text)):
			return true
		}
	}
	return false
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// closing reports whether a text has a part of each closing word.
func closing(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "clo") || strings.Contains(text, "fix") || strings.Contains(text, "olv") || strings.Contains(text, "implement")
}

// runners are the prefixes by which CI systems find a command anywhere in a line.
var runners = strings.NewReplacer("##[", "## [", "##vso[", "## vso[")

// Log returns a text that may hold words of packages so that no CI system takes one
// of its lines for a command: GitHub reads lines that begin with ::, whatever space
// is before that, and as Azure Pipelines does it finds ##[ and ##vso[ anywhere.
func Log(text string) string {
	text = runners.Replace(text)
	if !strings.Contains(text, "::") {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			lines[i] = "> " + line
		}
	}
	return strings.Join(lines, "\n")
}
