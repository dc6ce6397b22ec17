package review

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/lazyregexp"
)

// Values are the different values of one field inside of a class.
type Values struct {
	File     string `json:"file"`
	Resource string `json:"resource,omitempty"`
	Op       Op     `json:"op"`
	Field    string `json:"field,omitempty"`
	// Values counts the different values, own names included.
	Values int `json:"values"`
	// Minor says that the field tells nothing beside others: it records what was
	// injected, belongs to the Kptfile, or is the digest of a locked version, and has no outlier.
	Minor bool `json:"minor,omitempty"`
	// From says where the example's value comes from, "" where nobody asked.
	From string `json:"from,omitempty"`
	// Patterns are the values, the variants' own names masked, the rarest first;
	// where there are too many, of a kind: digits as #, words as a. None of a Secret.
	Patterns []Pattern `json:"patterns,omitempty"`
}

// Pattern is what values of several members have in common.
type Pattern struct {
	Pattern  string `json:"pattern"`
	Variants int    `json:"variants"`
	// Example is one of the values, where the pattern is not one itself.
	Example string `json:"example,omitempty"`
	// Members are those that have it, where they are few.
	Members []string `json:"members,omitempty"`
}

const (
	maxPatterns = 10 // of a field, before values are put together
	fewOf       = 5  // members of a pattern that are named
)

// Where names the field for a person.
func (v Values) Where() string {
	return Edit{File: v.File, Resource: v.Resource, Field: v.Field}.what()
}

// ownNames says that all members have the same but for their own names.
func (v Values) ownNames() bool {
	return len(v.Patterns) == 1 && strings.Contains(v.Patterns[0].Pattern, "${")
}

// String tells the values in a line.
func (v Values) String() string {
	text := count.Of(v.Values, "value")
	for i, p := range v.Patterns {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		text += fmt.Sprintf("%s%s × %d", sep, quote(p.Pattern), p.Variants)
		if len(p.Members) > 0 && i < len(v.Patterns)-1 {
			text += " (" + strings.Join(p.Members, ", ") + ")"
		}
	}
	return text
}

// column is one cell of all members of a class.
type column struct {
	cell
	member string // the first one
	n      int
	others []other // those that have another value than the first
	told   Values  // its table, once the class was described
}

// other is a cell's value of another member: fleets have many.
type other struct{ before, after, masked, digest, tag, origin, member string }

func (c *column) add(o *cell, member string) {
	c.n++
	if o.before != c.before || o.after != c.after || o.digest != c.digest || o.tag != c.tag {
		c.others = append(c.others, other{o.before, o.after, o.masked, o.digest, o.tag, o.origin, member})
	}
}

// from is where a value of the column comes from, of a member that is known of.
func (c *column) from() string {
	text := c.origin
	for i := range c.others {
		text = cmp.Or(text, c.others[i].origin)
	}
	return text
}

// value is one value of a column, and who has it.
type value struct {
	raw, masked, tag string
	n                int
	members          []string // at most fewOf
}

// values are the different ones, those that are equal but for own names apart.
func (c *column) values() []value {
	at := map[string]int{}
	var out []value
	add := func(x other, n int, member string) {
		raw := now(c.Op, x.before, x.after)
		if x.before+x.after == "" {
			raw = x.digest
		}
		i, ok := at[x.tag+raw]
		if !ok {
			i = len(out)
			at[x.tag+raw] = i
			out = append(out, value{raw: raw, masked: x.masked, tag: x.tag})
		}
		if out[i].n += n; member != "" && len(out[i].members) < fewOf {
			out[i].members = append(out[i].members, member)
		}
	}
	first := c.member
	if c.n-len(c.others) > 1 {
		first = ""
	}
	add(other{before: c.before, after: c.after, masked: c.masked, digest: c.digest, tag: c.tag}, c.n-len(c.others), first)
	for _, o := range c.others {
		add(o, 1, o.member)
	}
	return out
}

// table is the column as a class shows it; false where all members have one value.
func (c *column) table() (Values, bool) {
	values := c.values()
	out := Values{File: c.File, Resource: c.Resource, Op: c.Op, Field: c.Field, Values: len(values), From: c.from()}
	if len(values) < 2 {
		return out, false
	}
	if c.before+c.after == "" {
		return out, true
	}
	for _, pattern := range []func(*value) string{masked, digits, words, theType} {
		out.Patterns = grouped(values, pattern)
		if n := len(out.Patterns); n <= maxPatterns && (n < 3 || n*2 <= c.n) {
			break
		}
	}
	return out, true
}

func grouped(values []value, pattern func(*value) string) []Pattern {
	type kind struct {
		Pattern
		tokens []string // of the values, what differs as its pattern
	}
	found := map[string]*kind{}
	for i := range values {
		v := &values[i]
		name := pattern(v)
		p := found[name]
		if p == nil {
			p = &kind{tokens: tokens(v.masked)}
			found[name] = p
			p.Example = v.raw
		} else {
			p.tokens = alike(p.tokens, tokens(v.masked), name)
		}
		if p.Variants += v.n; p.Variants > fewOf {
			p.Members = nil
		} else {
			p.Members = append(p.Members, v.members...)
		}
	}
	out := make([]Pattern, 0, len(found))
	for _, p := range found {
		if p.Pattern.Pattern = short(strings.Join(p.tokens, "")); p.Pattern.Pattern == p.Example {
			p.Example = ""
		}
		p.Example = short(p.Example)
		out = append(out, p.Pattern)
	}
	slices.SortFunc(out, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(a.Variants, b.Variants), cmp.Compare(a.Pattern, b.Pattern))
	})
	return out
}

// alike is what two values of one kind have in common, the rest as a pattern; the
// kind's name where they are not of one make.
func alike(a, b []string, name string) []string {
	if len(a) != len(b) || slices.Equal(a, []string{name}) {
		return []string{name}
	}
	for i := range a {
		switch {
		case a[i] == b[i]:
		case strings.ContainsFunc(b[i], isDigit):
			a[i] = "#"
		case strings.ContainsFunc(b[i], unicode.IsLetter):
			a[i] = "a"
		default:
			return []string{name}
		}
	}
	return a
}

// tokens parts a value into placeholders, numbers, words, and each other character.
func tokens(s string) (out []string) {
	for len(s) > 0 {
		n := tokenLength(s)
		out, s = append(out, s[:n]), s[n:]
	}
	return out
}

func tokenLength(s string) int {
	if name, is := strings.CutPrefix(s, "${"); is {
		rest := strings.TrimLeftFunc(name, isNamed)
		if len(rest) < len(name) && strings.HasPrefix(rest, "}") {
			return len(s) - len(rest) + 1
		}
	}
	switch first, size := utf8.DecodeRuneInString(s); {
	case isDigit(first):
		return len(s) - len(strings.TrimLeftFunc(s, isDigit))
	case unicode.IsLetter(first):
		return len(s) - len(strings.TrimLeftFunc(s, unicode.IsLetter))
	default:
		return size
	}
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// isNamed says whether a placeholder's name may have it.
func isNamed(r rune) bool { return isDigit(r) || r == '_' || r|' ' >= 'a' && r|' ' <= 'z' }

// replaceRuns puts one text for each run of characters of a kind.
func replaceRuns(s, with string, kind func(rune) bool) string {
	i := strings.IndexFunc(s, kind)
	if i < 0 {
		return s
	}
	var b strings.Builder
	for ; i >= 0; i = strings.IndexFunc(s, kind) {
		b.WriteString(s[:i])
		b.WriteString(with)
		s = strings.TrimLeftFunc(s[i:], kind)
	}
	b.WriteString(s)
	return b.String()
}

func masked(v *value) string { return v.masked }

func digits(v *value) string {
	return replaceRuns(v.masked, "#", isDigit)
}

func words(v *value) string {
	if v.tag != yaml.NodeTagString {
		return digits(v)
	}
	return replaceRuns(digits(v), "a", unicode.IsLetter)
}

func theType(v *value) string {
	if number(v.tag) {
		return "number"
	}
	if v.tag == yaml.NodeTagString {
		return "text"
	}
	return cmp.Or(strings.TrimPrefix(v.tag, "!!"), "of several types")
}

func number(tag string) bool { return tag == yaml.NodeTagInt || tag == yaml.NodeTagFloat }

// outlier is a value that does not go with the others of its field.
type outlier struct {
	value
	why string
}

// outliers finds what is of another type than the others, at the edge of a number,
// or, of texts, of another pattern than most: where there is no such pattern nothing
// stands out.
func outliers(values []value) []outlier {
	total := 0
	for i := range values {
		total += values[i].n
	}
	types := counted(values, theType)
	common := commonest(types)
	var out []outlier
	var rest []value
	for _, v := range values {
		if theType(&v) != common && rare(types[theType(&v)], total) {
			out = append(out, outlier{v, "of another type than the others"})
			continue
		}
		rest = append(rest, v)
	}
	if median, ok := middle(rest); ok {
		for _, v := range rest {
			if why := edge(v.raw, median); why != "" && v.n*2 < total {
				out = append(out, outlier{v, why + " of the median, " + median})
			}
		}
		return out
	}
	for _, pattern := range []func(*value) string{digits, words} {
		of := counted(rest, pattern)
		common := commonest(of)
		if of[common]*2 <= total {
			continue
		}
		usual := grouped(slices.DeleteFunc(slices.Clone(rest), func(v value) bool { return pattern(&v) != common }), pattern)[0]
		for _, v := range rest {
			if p := pattern(&v); p != common && rare(of[p], total) {
				out = append(out, outlier{v, count.Of(of[common], "variant has", "variants have") + " " + quote(usual.Pattern)})
			}
		}
		break
	}
	return out
}

// rare says that so few of so many are to be looked at.
func rare(n, total int) bool { return n*10 <= total || n == 1 && total > 2 }

func counted(values []value, by func(*value) string) map[string]int {
	out := map[string]int{}
	for i := range values {
		out[by(&values[i])] += values[i].n
	}
	return out
}

func commonest(of map[string]int) string {
	best := ""
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if best == "" || of[name] > of[best] {
			best = name
		}
	}
	return best
}

// amount is a number with a unit, as Kubernetes writes quantities.
var amount = lazyregexp.New(`^(-?[0-9]+(?:\.[0-9]+)?)([a-zA-Z]{0,2})$`)

// amountOf is an amount's number and unit behind all of it, nil of what is none.
func amountOf(text string) []string {
	if text == "" || text[0] != '-' && !isDigit(rune(text[0])) { // as most
		return nil
	}
	return amount.FindStringSubmatch(text)
}

// middle is the median, where all are amounts of one unit.
func middle(values []value) (string, bool) {
	type one struct {
		of   float64
		text string
		n    int
	}
	var all []one
	total, unit := 0, ""
	for i, v := range values {
		m := amountOf(v.raw)
		if m == nil || i > 0 && m[2] != unit {
			return "", false
		}
		unit = m[2]
		of, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return "", false
		}
		all, total = append(all, one{of, v.raw, v.n}), total+v.n
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.text, b.text)) })
	seen := 0
	for _, o := range all {
		if seen += o.n; seen*2 >= total {
			return o.text, true
		}
	}
	return "", false
}

// edge says what a number is beside a usual one, "" where it is no edge.
func edge(text, usual string) string {
	m, u := amountOf(text), amountOf(usual)
	if m == nil || u == nil || m[2] != u[2] || text == usual {
		return ""
	}
	a, errA := strconv.ParseFloat(m[1], 64)
	b, errB := strconv.ParseFloat(u[1], 64)
	switch {
	case errA != nil || errB != nil || b == 0:
		return ""
	case a == 0:
		return "0 instead"
	case a/b >= 10:
		return "tenfold"
	case a/b <= 0.1:
		return "a tenth"
	}
	return ""
}

// host is a host name, or the one of an address; hostField has one.
var (
	host      = lazyregexp.New(`^([a-z][a-z0-9+.-]*://)?((?:[A-Za-z0-9_-]+\.)+[A-Za-z]{2,})(?::[0-9]+)?(?:/.*)?$`)
	hostField = lazyregexp.New(`(?i)(host|url|uri|endpoint|domain|server|issuer|address)s?(\[\])?$`)
)

// leap says what is striking about a field's value beside the one that was there.
func leap(field, before, after string) string {
	if why := edge(after, before); why != "" {
		return why + " of what it was, " + before
	}
	if !strings.Contains(before, ".") || !strings.Contains(after, ".") { // no hosts
		return ""
	}
	a, b := host.FindStringSubmatch(before), host.FindStringSubmatch(after)
	if a != nil && b != nil && (b[1] != "" || hostField.MatchString(field)) && domain(a[2]) != domain(b[2]) {
		return "of another domain than what it was, " + before
	}
	return ""
}

// domain is the end of a host name.
func domain(host string) string {
	parts := strings.Split(strings.ToLower(host), ".")
	return strings.Join(parts[max(0, len(parts)-2):], ".")
}
