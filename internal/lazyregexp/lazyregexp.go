// Package lazyregexp has regular expressions that are compiled when they are first used: a
// program that has dozens of them pays for those that it needs, and not before it starts.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression in Go's syntax. It may be used by many at once.
type Pattern struct {
	expr string
	once sync.Once
	re   *regexp.Regexp
}

// New is the pattern of an expression; the first use of one that does not compile panics.
func New(expr string) *Pattern { return &Pattern{expr: expr} }

// Regexp is the compiled expression.
func (p *Pattern) Regexp() *regexp.Regexp {
	p.once.Do(func() { p.re = regexp.MustCompile(p.expr) })
	return p.re
}

// MatchString is that of regexp.Regexp, as are those that follow.
func (p *Pattern) MatchString(s string) bool { return p.Regexp().MatchString(s) }

// FindStringSubmatch returns the first match and its groups, nil for none.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.Regexp().FindStringSubmatch(s) }

// ReplaceAllString puts a text for each match, in which $1 stands for the first group.
func (p *Pattern) ReplaceAllString(s, by string) string { return p.Regexp().ReplaceAllString(s, by) }
