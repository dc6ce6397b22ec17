package review

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/variform/variform/internal/lazyregexp"
)

// normaliser replaces a variant's own values by placeholders, as whole words: in
// identities and in texts, never in image references, versions and numbers, where
// a target called "latest" means nothing.
type normaliser struct {
	values []alias // longest first
}

type alias struct{ value, placeholder string }

func newNormaliser(aliases map[string]string) *normaliser {
	n := &normaliser{}
	for v, name := range aliases {
		if strings.ContainsFunc(v, unicode.IsLetter) {
			n.values = append(n.values, alias{v, "${" + name + "}"})
		}
	}
	slices.SortFunc(n.values, func(a, b alias) int {
		return cmp.Or(len(b.value)-len(a.value), cmp.Compare(a.value, b.value))
	})
	return n
}

// identity normalises the name of a resource, a file or a field.
func (n *normaliser) identity(s string) string { return n.words(s, 1) }

// message normalises what is said of a variant: a tag is told by the sign before it.
func (n *normaliser) message(s string) string { return n.words(s, 1, ':', '@') }

// text normalises what may hold anything, where a short name says nothing.
func (n *normaliser) text(s string) string { return n.words(s, 3, ':', '@') }

func (n *normaliser) words(s string, shortest int, signs ...rune) string {
	for _, a := range n.values {
		if len(a.value) >= shortest {
			s = replaceWord(s, a.value, a.placeholder, signs...)
		}
	}
	return s
}

var (
	// exact values are no texts: versions, and images with a path and a tag or digest.
	exact = lazyregexp.New(`^(v[0-9]+|v?[0-9]+\.[0-9]+)([.+-][0-9A-Za-z.+-]*)?$|^[a-z0-9][a-z0-9._:-]*(/[a-z0-9._-]+)+(:[A-Za-z0-9_.-]+|@[a-z0-9]+:[0-9a-f]+)$`)
	// imageField has an image, or a part of one.
	imageField = lazyregexp.New(`(^|\.)(\w*[iI]mage|newTag|newName)$|(^|\.)images\[[^\]]*\]$`)
)

// value normalises the value of a field.
func (n *normaliser) value(field, s string) string {
	text := n.text(s)
	if text == s || exact.MatchString(s) || imageField.MatchString(field) {
		return s
	}
	return text
}

// replaceWord replaces old where no letter, no digit, and before it none of the
// signs touches it.
func replaceWord(s, old, with string, signs ...rune) string {
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
		if (i == 0 || !wordRune(prev) && !slices.Contains(signs, prev)) && (end == len(rest) || !wordRune(next)) {
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
