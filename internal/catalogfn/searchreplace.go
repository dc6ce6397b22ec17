package catalogfn

import (
	"context"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

// SearchReplace finds fields by value, regular expression, path and file, and
// puts values and comments there. Config: the data of a ConfigMap with
// by-value, by-value-regex, by-path, by-file-path, put-value and put-comment. A
// plain by-path with put-value alone makes the field where it is missing.
func SearchReplace(_ context.Context, c *function.Call) error {
	s, ok := newSearcher(c)
	if !ok {
		return nil
	}
	found := false
	for _, r := range c.Resources() {
		if s.file != nil && !s.file(r.Path()) {
			continue
		}
		edit(c, r, func(root *yaml.Node, write bool) int { return s.resource(root, write) })
		for _, m := range s.matches {
			say(c, r, "info", m.path, m.message)
		}
		for _, e := range s.errors {
			say(c, r, "error", e.path, e.message)
		}
		found = found || len(s.matches)+len(s.errors) > 0
	}
	if !found {
		c.Results.Infof("no matches")
	}
	return nil
}

type searcher struct {
	c                                 *function.Call
	value, path, putValue, putComment string
	regex                             *pattern
	file                              func(string) bool
	write                             bool
	changed                           int
	matches, errors                   []note
}

func newSearcher(c *function.Call) (*searcher, bool) {
	data := stringMap(config(c), "data")
	if len(data) == 0 {
		c.Results.Errorf("functionConfig: data is empty; give a ConfigMap with matchers (by-value, by-value-regex, by-path, by-file-path, put-value, put-comment)")
		return nil, false
	}
	s := &searcher{c: c, value: data["by-value"], path: data["by-path"], putValue: data["put-value"], putComment: data["put-comment"]}
	for _, k := range sortedKeys(data) {
		switch k {
		case "by-value", "by-value-regex", "by-path", "by-file-path", "put-value", "put-comment":
		default:
			c.Results.Errorf("functionConfig: %q is no matcher; there are by-value, by-value-regex, by-path, by-file-path, put-value and put-comment", k)
		}
	}
	if expr := data["by-value-regex"]; expr != "" {
		if s.value != "" {
			c.Results.Errorf("functionConfig: both by-value and by-value-regex are given; give one of them")
		}
		re, err := compile(c, expr)
		if err != nil {
			c.Results.Errorf("functionConfig: by-value-regex: %v", err)
		}
		s.regex = re
	}
	if glob := data["by-file-path"]; glob != "" {
		if _, err := path.Match(glob, ""); err != nil {
			c.Results.Errorf("functionConfig: by-file-path %q: %v", glob, err)
		}
		s.file = func(p string) bool { return matchGlob(strings.Split(glob, "/"), strings.Split(p, "/")) }
	}
	return s, c.Results.ExitCode() == 0
}

// matchGlob matches path components; ** stands for any number of them.
func matchGlob(glob, parts []string) bool {
	for len(glob) > 0 {
		if glob[0] == "**" {
			for i := 0; i <= len(parts); i++ {
				if matchGlob(glob[1:], parts[i:]) {
					return true
				}
			}
			return false
		}
		if len(parts) == 0 {
			return false
		}
		if ok, err := path.Match(glob[0], parts[0]); err != nil || !ok {
			return false
		}
		glob, parts = glob[1:], parts[1:]
	}
	return len(parts) == 0
}

func (s *searcher) resource(root *yaml.Node, write bool) int {
	s.write, s.changed, s.matches, s.errors = write, 0, nil, nil
	if s.plainPut() {
		s.put(root)
		return s.changed
	}
	v := visitor{scalar: s.scalar}
	if s.putComment != "" && s.path != "" {
		v.list = s.list
	}
	v.walk(root, "")
	if len(s.errors) > 0 {
		return 0
	}
	return s.changed
}

// plainPut says whether a value goes to one place, whatever stands there.
func (s *searcher) plainPut() bool {
	if s.path == "" || s.value != "" || s.regex != nil || s.putValue == "" || strings.ContainsAny(s.path, "[*") {
		return false
	}
	return !strings.Contains("."+s.path+".", "..")
}

func (s *searcher) put(root *yaml.Node) {
	keys := strings.Split(s.path, ".")
	s.matches = append(s.matches, note{s.path, fmt.Sprintf("Mutated field value to %q", s.putValue)})
	next := &yaml.Node{Kind: yaml.ScalarNode}
	setImplied(next, s.putValue)
	old := yamltree.Path(root, keys...)
	if old != nil && old.Kind == yaml.ScalarNode && old.Value == next.Value && old.ShortTag() == next.Tag {
		return
	}
	s.changed++
	if !s.write {
		return
	}
	m := ensureMap(root, keys[:len(keys)-1]...)
	if m == nil {
		return
	}
	last := keys[len(keys)-1]
	if i := yamltree.Index(m, last); i >= 0 {
		next.LineComment, next.HeadComment, next.FootComment = m.Content[i+1].LineComment, m.Content[i+1].HeadComment, m.Content[i+1].FootComment
		m.Content[i+1] = next
		return
	}
	m.Content = append(m.Content, stringNode(last), next)
}

func (s *searcher) scalar(n *yaml.Node, path string) {
	s.c.Spend(0)
	if !s.hits(n, path) {
		return
	}
	next := *n
	if s.putComment != "" {
		comment, err := s.resolve(n.Value, s.putComment)
		if err != nil {
			s.errors = append(s.errors, note{path, err.Error()})
			return
		}
		next.LineComment = asComment(comment)
	}
	if s.putValue != "" {
		value, err := s.resolve(n.Value, s.putValue)
		if err != nil {
			s.errors = append(s.errors, note{path, err.Error()})
			return
		}
		setImplied(&next, value)
	}
	s.c.Spend(len(next.Value) + len(path))
	verb := "Mutated field value to"
	if s.putComment == "" && s.putValue == "" {
		verb = "Matched field value"
	}
	s.matches = append(s.matches, note{path, fmt.Sprintf("%s %q", verb, next.Value)})
	if next.Value == n.Value && next.ShortTag() == n.ShortTag() && next.LineComment == n.LineComment {
		return
	}
	s.changed++
	if s.write {
		*n = next
	}
}

func asComment(s string) string {
	if strings.HasPrefix(s, "#") {
		return s
	}
	return "# " + s
}

func (s *searcher) hits(n *yaml.Node, path string) bool {
	inPath := s.path != "" && pathMatches(s.path, path)
	value := s.value != "" && s.value == n.Value || s.regex != nil && s.regex.matches(n.Value)
	byValue := s.value != "" || s.regex != nil
	switch {
	case byValue && s.path != "":
		return value && inPath
	case byValue:
		return value
	}
	return inPath
}

// resolve puts the regular expression's groups into ${1}, ${2}, ….
func (s *searcher) resolve(value, pattern string) (string, error) {
	if s.regex == nil {
		return pattern, nil
	}
	for i, group := range s.regex.groups(value) {
		if i > 0 {
			pattern = fill(s.c, pattern, fmt.Sprintf("${%d}", i), group)
		}
	}
	if open := openGroup.Regexp().FindString(pattern); open != "" {
		return "", fmt.Errorf("by-value-regex has no group for %s", open)
	}
	return pattern, nil
}

var openGroup = lazyregexp.New(`\$\{[0-9]+\}`)

// list puts a comment on a list's key.
func (s *searcher) list(key, value *yaml.Node, path string) {
	if !pathMatches(s.path, path) {
		return
	}
	comment := asComment(s.putComment)
	s.matches = append(s.matches, note{path, fmt.Sprintf("Mutated field comment to %q", comment)})
	if key.LineComment == comment && value.Style&yaml.FlowStyle == 0 {
		return
	}
	s.changed++
	if s.write {
		key.LineComment, value.LineComment = comment, ""
		value.Style = 0
	}
}

// pathMatches matches a path such as spec.containers[0].image with a pattern: *
// is any element, ** any number of them, name[*] any entry of a list.
func pathMatches(pattern, path string) bool {
	return matchElements(strings.Split(pattern, "."), strings.Split(path, "."))
}

func matchElements(pattern, elems []string) bool {
	// row[j]: the first j patterns match the elements so far
	row := make([]bool, len(pattern)+1)
	row[0] = true
	for j := 1; j <= len(pattern) && pattern[j-1] == "**"; j++ {
		row[j] = true
	}
	for _, e := range elems {
		next := make([]bool, len(pattern)+1)
		for j := 1; j <= len(pattern); j++ {
			switch p := pattern[j-1]; {
			case p == "**":
				next[j] = next[j-1] || row[j]
			case p == "*" || elementMatches(p, e):
				next[j] = row[j-1]
			}
		}
		row = next
	}
	return row[len(pattern)]
}

func elementMatches(pattern, elem string) bool {
	if pattern == elem {
		return true
	}
	name, index, ok := strings.Cut(elem, "[")
	patternName, patternIndex, patternOK := strings.Cut(pattern, "[")
	if !ok || !patternOK || patternName != "*" && patternName != name {
		return false
	}
	return patternIndex == "*]" || patternIndex == index
}
