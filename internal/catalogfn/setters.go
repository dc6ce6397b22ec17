package catalogfn

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

// setterComment marks a field that setters fill.
const setterComment = "# kpt-set: "

var setterReference = lazyregexp.New(`\$\{([^}]*)\}`)

// visitor walks a tree; path elements are joined by dots, list indexes stand in
// brackets.
type visitor struct {
	// scalar is called for each scalar value.
	scalar func(n *yaml.Node, path string)
	// list is called for each sequence that is a mapping's value, with its key.
	list func(key, value *yaml.Node, path string)
}

func (v visitor) walk(n *yaml.Node, path string) {
	switch n.Kind {
	case yaml.MappingNode:
		if v.list != nil {
			for key, value := range yamltree.Fields(n) {
				if value.Kind == yaml.SequenceNode {
					v.list(key, value, join(path, key.Value))
				}
			}
		}
		for key, value := range yamltree.Fields(n) {
			v.walk(value, join(path, key.Value))
		}
	case yaml.SequenceNode:
		for i, e := range n.Content {
			v.walk(e, fmt.Sprintf("%s[%d]", path, i))
		}
	case yaml.ScalarNode:
		v.scalar(n, path)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// setterRules are the differences between releases of apply-setters.
type setterRules struct {
	matchRequired bool // v0.1: an error where no field is marked with a setter
}

// run fills the fields that `# kpt-set:` comments mark, from the data
// of a ConfigMap: scalars from patterns such as `${image}:${tag}`, lists from one
// setter whose value is a YAML list. In a pattern, what no setter gives is taken
// from the field's present value.
func (rules setterRules) run(_ context.Context, c *function.Call) error {
	cfg := config(c)
	if cfg == nil || yamltree.Path(cfg, "data") == nil {
		c.Results.Errorf("functionConfig: data is missing; give a ConfigMap with setters and their values")
		return nil
	}
	values := stringMap(cfg, "data")
	found := false
	for _, r := range c.Resources() {
		a := &setterApplier{c: c, values: values, keys: sortedKeys(values)}
		edit(c, r, func(root *yaml.Node, write bool) int { return a.apply(root, write) })
		for _, m := range a.matches {
			say(c, r, "info", m.path, m.message)
		}
		for _, e := range a.errors {
			say(c, r, "error", e.path, e.message)
		}
		found = found || len(a.matches)+len(a.errors) > 0
	}
	switch {
	case found:
	case rules.matchRequired:
		c.Results.Errorf("no field is marked with one of the setters")
	default:
		c.Results.Infof("no field is marked with one of the setters")
	}
	return nil
}

type note struct{ path, message string }

type setterApplier struct {
	c       *function.Call
	values  map[string]string
	keys    []string
	write   bool
	changed int
	matches []note
	errors  []note
}

func (a *setterApplier) apply(root *yaml.Node, write bool) int {
	a.write, a.changed, a.matches, a.errors = write, 0, nil, nil
	visitor{scalar: a.scalar, list: a.list}.walk(root, "")
	if len(a.errors) > 0 {
		return 0
	}
	return a.changed
}

// pattern is what a setter comment says, "" where it is none or names no given
// setter.
func (a *setterApplier) pattern(comment string) string {
	p, ok := strings.CutPrefix(comment, setterComment)
	if !ok {
		return ""
	}
	p = strings.TrimSpace(p)
	for _, k := range a.keys {
		if strings.Contains(p, "${"+k+"}") {
			return p
		}
	}
	return ""
}

func (a *setterApplier) scalar(n *yaml.Node, path string) {
	pattern := a.pattern(n.LineComment)
	if pattern == "" {
		return
	}
	value := pattern
	for _, k := range a.keys {
		value = fill(a.c, value, "${"+k+"}", a.values[k])
	}
	for k, v := range presentValues(pattern, n.Value) {
		value = fill(a.c, value, "${"+k+"}", v)
	}
	if open := setterReference.Regexp().FindAllString(value, -1); len(open) > 0 {
		a.errors = append(a.errors, note{path, fmt.Sprintf("values for setters %v must be provided", open)})
		return
	}
	a.c.Spend(len(value) + len(path))
	a.matches = append(a.matches, note{path, fmt.Sprintf("set field value to %q", value)})
	next := *n
	setImplied(&next, value)
	if next.Value == n.Value && next.ShortTag() == n.ShortTag() {
		return
	}
	a.changed++
	if a.write {
		*n = next
	}
}

// presentValues reads setters off a field's present value; none where one of
// them would be empty or the value does not fit the pattern.
func presentValues(pattern, value string) map[string]string {
	names := setterReference.Regexp().FindAllStringSubmatch(pattern, -1)
	expr := setterReference.ReplaceAllString(pattern, "\x00")
	expr = strings.ReplaceAll(regexp.QuoteMeta(expr), "\x00", "(.*)")
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil
	}
	m := re.FindStringSubmatch(value)
	if len(m) != len(names)+1 {
		return nil
	}
	out := map[string]string{}
	for i, name := range names {
		if m[i+1] == "" {
			return nil
		}
		out[name[1]] = m[i+1]
	}
	return out
}

func (a *setterApplier) list(key, value *yaml.Node, path string) {
	comment := key.LineComment
	if value.Style&yaml.FlowStyle != 0 {
		comment = value.LineComment
	}
	pattern := a.pattern(comment)
	if pattern == "" {
		return
	}
	refs := setterReference.Regexp().FindAllStringSubmatch(pattern, -1)
	if len(refs) != 1 || refs[0][0] != pattern {
		a.errors = append(a.errors, note{path, fmt.Sprintf("a list takes one setter, such as ${name}, not %q", pattern)})
		return
	}
	text := a.values[refs[0][1]]
	content, err := listValue(text)
	if err != nil {
		a.errors = append(a.errors, note{path, err.Error()})
		return
	}
	a.c.Spend(len(text) + len(path))
	a.matches = append(a.matches, note{path, fmt.Sprintf("set field value to %q", text)})
	if sameList(value.Content, content) {
		return
	}
	a.changed++
	if !a.write {
		return
	}
	value.Content = content
	if len(content) == 0 {
		value.Style, value.LineComment, key.LineComment = yaml.FlowStyle, comment, ""
		return
	}
	value.Style, value.LineComment, key.LineComment = 0, "", comment
}

func listValue(text string) ([]*yaml.Node, error) {
	if text == "" {
		return nil, nil
	}
	n, err := yaml.Parse(text)
	if err != nil || n.YNode().Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("a list takes a list, such as [a, b], but the setter's value is %q", text)
	}
	for _, e := range n.YNode().Content {
		e.Line, e.Column = 0, 0
	}
	return n.YNode().Content, nil
}

func sameList(a, b []*yaml.Node) bool {
	return slices.EqualFunc(a, b, func(x, y *yaml.Node) bool {
		return x.Kind == yaml.ScalarNode && y.Kind == yaml.ScalarNode && x.Value == y.Value && x.ShortTag() == y.ShortTag()
	})
}

// CreateSetters marks fields with `# kpt-set:` comments where their value
// contains a setter's value; the data of a ConfigMap gives setters and values. A
// setter whose value is a YAML list marks lists of the same elements.
func CreateSetters(_ context.Context, c *function.Call) error {
	s, ok := newSetterCreator(c)
	if !ok {
		return nil
	}
	found := false
	for _, r := range c.Resources() {
		edit(c, r, s.create)
		for _, m := range s.matches {
			say(c, r, "info", m.path, m.message)
		}
		found = found || len(s.matches) > 0
	}
	if !found {
		c.Results.Errorf("no field has the value of one of the setters")
	}
	return nil
}

// maxSetterName is a length that no name of a setter has, but to do harm.
const maxSetterName = 1000

type setterCreator struct {
	c        *function.Call
	values   []string // of scalar setters, longest first
	longest  int      // name of one
	replacer *strings.Replacer
	lists    map[string]string // elements → setter
	write    bool
	changed  int
	matches  []note
}

func newSetterCreator(c *function.Call) (*setterCreator, bool) {
	data := stringMap(config(c), "data")
	if len(data) == 0 {
		c.Results.Errorf("functionConfig: data is empty; give a ConfigMap with setters and their values")
		return nil, false
	}
	s := &setterCreator{c: c, lists: map[string]string{}}
	keys := sortedKeys(data)
	ok := true
	for _, k := range slices.Backward(keys) {
		n, err := yaml.Parse(data[k])
		switch {
		case err != nil || n.YNode() == nil:
			c.Results.Errorf("functionConfig: data.%s is neither a value nor a list", k)
			ok = false
		case n.YNode().Kind == yaml.SequenceNode:
			s.lists[listKey(n.YNode().Content)] = k
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return len(data[b]) - len(data[a]) })
	var pairs []string
	for _, k := range keys {
		if n, err := yaml.Parse(data[k]); err == nil && n.YNode() != nil && n.YNode().Kind == yaml.ScalarNode && data[k] != "" {
			pairs = append(pairs, data[k], "${"+k+"}")
			s.values, s.longest = append(s.values, data[k]), max(s.longest, len(k))
		}
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s, ok
}

func listKey(nodes []*yaml.Node) string {
	values := make([]string, len(nodes))
	for i, n := range nodes {
		values[i] = yamltree.Deref(n).Value
	}
	slices.Sort(values)
	return fmt.Sprintf("%d\x00%s", len(values), strings.Join(values, "\x00"))
}

func (s *setterCreator) create(root *yaml.Node, write bool) int {
	s.write, s.changed, s.matches = write, 0, nil
	visitor{scalar: s.scalar, list: s.list}.walk(root, "")
	return s.changed
}

func (s *setterCreator) scalar(n *yaml.Node, path string) {
	if strings.Contains(n.Value, "\n") {
		return
	}
	if n.Value != "" && s.longest > maxSetterName {
		s.c.Spend(len(n.Value) * s.longest)
	}
	pattern := s.replacer.Replace(n.Value)
	if pattern == n.Value {
		return
	}
	s.mark(n, path, pattern, n.Value)
}

func (s *setterCreator) mark(n *yaml.Node, path, pattern, value string) {
	comment := setterComment + pattern
	s.c.Spend(len(comment) + len(value) + len(path))
	s.matches = append(s.matches, note{path, fmt.Sprintf("added line comment %q to the field with value %q", comment, value)})
	if n.LineComment == comment {
		return
	}
	s.changed++
	if s.write {
		n.LineComment = comment
	}
}

func (s *setterCreator) list(key, value *yaml.Node, path string) {
	name, whole := s.lists[listKey(value.Content)]
	flow := value.Style&yaml.FlowStyle != 0
	if flow && len(value.Content) > 0 && (whole || s.holdsSetter(value)) {
		s.changed++ // comments need a line each
		if s.write {
			value.Style = 0
		}
		flow = false
	}
	if !whole {
		return
	}
	at := key
	if flow {
		at = value
	}
	s.mark(at, path, "${"+name+"}", fmt.Sprint(values(value.Content)))
}

func (s *setterCreator) holdsSetter(list *yaml.Node) bool {
	for _, e := range list.Content {
		for _, v := range s.values {
			if strings.Contains(yamltree.Deref(e).Value, v) {
				return true
			}
		}
	}
	return false
}

func values(nodes []*yaml.Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = yamltree.Deref(n).Value
	}
	return out
}
