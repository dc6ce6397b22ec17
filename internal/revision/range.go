package revision

import (
	"cmp"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/variform/variform/internal/lazyregexp"
)

// Range is a range of versions as Masterminds/semver reads it, in which build metadata counts
// where a text names it: 1.0.0+k8s2 is that build alone, and >=1.0.0+k8s2 begins with it. A
// text that names none admits every build of its versions. The order is that of [Compare].
type Range struct {
	text string
	any  [][]part // all of one of them
}

// part is one comparison of a range, or all those without a build.
type part struct {
	plain    *semver.Constraints
	operator string
	version  *semver.Version // nil where no build is named
}

// built is a comparison that names a build.
var built = lazyregexp.New(`^([=!<>~^]*)\s*(v?[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?\+[0-9A-Za-z.-]+)$`)

// ParseRange reads a range.
func ParseRange(text string) (*Range, error) {
	r := &Range{text: text}
	for _, alternative := range strings.Split(text, "||") {
		all, err := partsOf(alternative)
		if err != nil {
			return nil, err
		}
		r.any = append(r.any, all)
	}
	return r, nil
}

func partsOf(text string) (all []part, err error) {
	if !strings.Contains(text, "+") {
		c, err := semver.NewConstraint(text)
		return []part{{plain: c}}, err
	}
	if from, to, ok := strings.Cut(text, " - "); ok {
		text = ">=" + strings.TrimSpace(from) + ", <=" + strings.TrimSpace(to)
	}
	for _, word := range words(text) {
		m := built.FindStringSubmatch(word)
		if m == nil {
			c, err := semver.NewConstraint(word)
			if err != nil {
				return nil, err
			}
			all = append(all, part{plain: c})
			continue
		}
		p := part{operator: m[1]}
		if p.version, err = semver.NewVersion(m[2]); err != nil {
			return nil, err
		}
		operator, name := p.operator, strings.TrimSuffix(m[2], "+"+p.version.Metadata())
		if operator == ">" || operator == "<" {
			operator += "=" // another build of the same version may be on that side
		}
		if p.plain, err = semver.NewConstraint(operator + name); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, err
}

// words are the comparisons of a range, each with its operator.
func words(text string) (out []string) {
	open := "" // an operator that stands apart
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		if strings.Trim(word, "=!<>~^") == "" {
			open += word
			continue
		}
		out, open = append(out, open+word), ""
	}
	return out
}

// Check reports whether a version is in the range; prereleases are where the range names one.
func (r *Range) Check(v *semver.Version) bool { return r.check(v, false) }

// CheckPrerelease is Check for a range that admits prereleases.
func (r *Range) CheckPrerelease(v *semver.Version) bool { return r.check(v, true) }

func (r *Range) check(v *semver.Version, pre bool) bool {
	for _, all := range r.any {
		ok := true
		for _, p := range all {
			ok = ok && p.check(v, pre)
		}
		if ok {
			return true
		}
	}
	return false
}

func (p part) check(v *semver.Version, pre bool) bool {
	plain := p.plain
	if pre && !plain.IncludePrerelease {
		wide := *plain
		wide.IncludePrerelease = true
		plain = &wide
	}
	if p.version == nil {
		return plain.Check(v)
	}
	switch n := Compare(v, p.version); p.operator {
	case "", "=":
		return n == 0
	case "!=":
		return n != 0
	case ">":
		return n > 0 && plain.Check(v)
	case "<":
		return n < 0 && plain.Check(v)
	case "<=":
		return n <= 0 && plain.Check(v)
	default: // >=, ^, ~
		return n >= 0 && plain.Check(v)
	}
}

func (r *Range) String() string { return r.text }

// Compare orders versions by precedence, then by build metadata, for which Semantic Versioning
// has no order: texts as such, and the numbers in them by their values, so that +k8s10 is after
// +k8s2, and a version without metadata is before one with.
func Compare(a, b *semver.Version) int {
	return cmp.Or(a.Compare(b), compareText(a.Metadata(), b.Metadata()))
}

// compareText orders texts with the numbers in them by their values.
func compareText(a, b string) int {
	for a != "" && b != "" {
		x, y := leading(a), leading(b)
		a, b = a[len(x):], b[len(y):]
		n := strings.Compare(x, y)
		if isDigit(x[0]) && isDigit(y[0]) {
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			n = cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
		}
		if n != 0 {
			return n
		}
	}
	return cmp.Compare(len(a), len(b))
}

// leading are the digits that a text begins with, or what stands before the first.
func leading(s string) string {
	n := 1
	for n < len(s) && isDigit(s[n]) == isDigit(s[0]) {
		n++
	}
	return s[:n]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
