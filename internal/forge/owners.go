package forge

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/variform/variform/internal/lazyregexp"
)

// Owners are the rules of a repository's code owners. Nil has none.
type Owners struct {
	// sections each have a say of their own.
	sections []*ownerSection
}

type ownerSection struct {
	name     string
	defaults []string
	rules    []ownerRule
	all      bool // every rule that matches counts, not the last alone
}

type ownerRule struct {
	match  *regexp.Regexp
	not    bool // owners of what does not match
	never  bool // whatever other rules say, of what matches nobody is
	owners []string
}

// CodeOwners reads the rules that a repository's forge goes by, from the first file
// that it looks for and that read has. Lines that it cannot read say nothing, as on
// the forges. A repository on no forge has none.
func CodeOwners(address, annotation string, read func(path string) (data []byte, ok bool, err error)) (*Owners, error) {
	p, err := Locate(address, annotation)
	if err != nil {
		return nil, nil //nolint:nilerr // whoever asks for requests hears of it
	}
	k := kinds[p.Kind]
	for _, path := range k.ownersFiles {
		data, ok, err := read(path)
		if err != nil {
			return nil, err
		}
		if ok {
			o := &Owners{}
			k.ownersRules(o, ownerLines(string(data)))
			return o, nil
		}
	}
	return nil, nil
}

// Of names who owns a file, sorted.
func (o *Owners) Of(path string) []string {
	if o == nil {
		return nil
	}
	out := map[string]bool{}
	for _, s := range o.sections {
		for _, owner := range s.of(path) {
			out[owner] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

func (s *ownerSection) of(path string) (out []string) {
	for _, r := range s.rules {
		switch matches := r.match.MatchString(path) != r.not; {
		case !matches:
		case r.never:
			return nil
		case s.all:
			out = append(out, r.owners...)
		default:
			out = r.owners
		}
	}
	return out
}

// githubOwners are gitignore's patterns but for what takes one back; the last that
// matches counts, one without owners too.
func githubOwners(o *Owners, lines [][]string) {
	s := &ownerSection{}
	for _, words := range lines {
		if strings.ContainsAny(words[0], "![") {
			continue
		}
		pattern := words[0]
		anchored := strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
		if m := glob(strings.TrimPrefix(pattern, "/"), anchored, !strings.HasSuffix(pattern, "/*")); m != nil {
			s.rules = append(s.rules, ownerRule{match: m, owners: words[1:]})
		}
	}
	o.sections = []*ownerSection{s}
}

// gitlabSection is a section's name and how many have to approve.
var gitlabSection = lazyregexp.New(`^\^?\[([^\]]+)\](?:\[\d+\])?$`)

// gitlabOwners are shell patterns in sections, in each of which the last that matches
// counts; one that begins with a slash is of the root, and a folder ends in one.
func gitlabOwners(o *Owners, lines [][]string) {
	section := func(name string, defaults []string) *ownerSection {
		for _, s := range o.sections {
			if strings.EqualFold(s.name, name) {
				return s
			}
		}
		s := &ownerSection{name: name, defaults: defaults}
		o.sections = append(o.sections, s)
		return s
	}
	s := section("", nil)
	for _, words := range lines {
		line := strings.Join(words, " ")
		if end := strings.LastIndexByte(line, ']'); end >= 0 && gitlabSection.MatchString(line[:end+1]) {
			s = section(gitlabSection.FindStringSubmatch(line[:end+1])[1], owning(strings.Fields(line[end+1:])))
			continue
		}
		pattern, never := strings.CutPrefix(words[0], "!")
		owners := owning(words[1:])
		if len(owners) == 0 {
			owners = s.defaults
		}
		if m := glob(strings.TrimPrefix(pattern, "/"), strings.HasPrefix(pattern, "/"), false); m != nil {
			s.rules = append(s.rules, ownerRule{match: m, never: never, owners: owners})
		}
	}
}

// owning are the words that name somebody.
func owning(words []string) (out []string) {
	for _, w := range words {
		if strings.Contains(w, "@") {
			out = append(out, w)
		}
	}
	return out
}

// giteaOwners are regular expressions for whole paths, each of which counts.
func giteaOwners(o *Owners, lines [][]string) {
	s := &ownerSection{all: true}
	for _, words := range lines {
		pattern, not := strings.CutPrefix(words[0], "!")
		m, err := regexp.Compile("^" + strings.TrimPrefix(pattern, "/") + "$")
		if err == nil {
			s.rules = append(s.rules, ownerRule{match: m, not: not, owners: words[1:]})
		}
	}
	o.sections = []*ownerSection{s}
}

// ownerLines are the lines that say something, in words; a backslash makes the next
// character an ordinary one.
func ownerLines(text string) (out [][]string) {
	for line := range strings.Lines(text) {
		var words []string
		var word strings.Builder
		end := func() {
			if word.Len() > 0 {
				words = append(words, word.String())
			}
			word.Reset()
		}
		escaped := false
	characters:
		for _, c := range strings.TrimSpace(line) {
			switch {
			case escaped:
				escaped = false
				word.WriteRune(c)
			case c == '\\':
				escaped = true
			case c == '#':
				break characters
			case c == ' ' || c == '\t':
				end()
			default:
				word.WriteRune(c)
			}
		}
		end()
		if len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

// glob is a pattern of paths: of the root or of any folder, of a folder with all that
// is below it where it ends in a slash, or may.
func glob(pattern string, anchored, below bool) *regexp.Regexp {
	var out strings.Builder
	out.WriteString("^")
	if !anchored {
		out.WriteString("(?:.*/)?")
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	for pattern != "" {
		switch {
		case strings.HasPrefix(pattern, "**/"):
			out.WriteString("(?:.*/)?")
			pattern = pattern[3:]
		case strings.HasPrefix(pattern, "**"):
			out.WriteString(".*")
			pattern = pattern[2:]
		case pattern[0] == '*':
			out.WriteString("[^/]*")
			pattern = pattern[1:]
		case pattern[0] == '?':
			out.WriteString("[^/]")
			pattern = pattern[1:]
		default:
			n := strings.IndexAny(pattern, "*?")
			if n < 0 {
				n = len(pattern)
			}
			out.WriteString(regexp.QuoteMeta(pattern[:n]))
			pattern = pattern[n:]
		}
	}
	if below {
		out.WriteString("(?:/.*)?")
	}
	m, err := regexp.Compile(out.String() + "$")
	if err != nil {
		return nil // no UTF-8
	}
	return m
}
