package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

// rule sets columns that have one value.
type rule struct {
	name     string
	template string
	from     *rule
	affix    string // the value with a hole for from's
	// values has the value that follows from each of from's.
	values  map[string]*yaml.Node
	columns []*column
	// ids are the folders' values, "" where a folder has none.
	ids []string
	// usual is the value in the base; a folder that has it need not state it.
	usual   *yaml.Node
	isUsual bool
	// stated are the values that folders state against what follows.
	stated map[int]*yaml.Node
}

// id is a value with its type.
func id(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	return yamltree.Tag(n) + "\x00" + n.Value
}

// count counts the values of a column.
func (c *column) count(of func(i int, n *yaml.Node) string) map[string]int {
	n := map[string]int{}
	for i, v := range c.at {
		if v != nil {
			n[of(i, v)]++
		}
	}
	return n
}

func max1(n map[string]int) (most string) {
	for _, s := range slices.Sorted(maps.Keys(n)) {
		if most == "" || n[s] > n[most] {
			most = s
		}
	}
	return most
}

// identity reports whether the base needs the column as it is.
func (c *column) identity() bool {
	return len(c.steps) <= 2 && (c.steps[0].key == "metadata" && len(c.steps) == 2 && c.steps[1].key == "name" || c.steps[0].key == "kind" || c.steps[0].key == "apiVersion")
}

// classify decides what one column is by itself.
func (m *model) classify(c *column) {
	values := c.count(func(_ int, n *yaml.Node) string { return id(n) })
	top := max1(values)
	c.common = values[top]
	for _, n := range c.at {
		if n != nil && id(n) == top {
			c.value = n
			break
		}
	}
	templates := c.count(func(i int, n *yaml.Node) string {
		if yamltree.Tag(n) != yaml.NodeTagString {
			return ""
		}
		return m.folders[i].template(n.Value)
	})
	for t := range templates {
		if !strings.Contains(t, "${") {
			delete(templates, t)
		}
	}
	template := max1(templates)
	resources := has(c.resource)
	switch {
	case c.present < m.most(resources) && !c.identity():
		c.dropped = true
	case templates[template]*100 >= common*c.present && templates[template] > c.common && !c.fixed && !strings.Contains(c.base.Value, "${"):
		c.template = template
		c.value = yamltree.String(m.folders[0].inBase(template))
	case len(values) == 1:
	default:
		c.why = c.edit(values)
	}
	if c.resource.anchored {
		c.value, c.common, c.dropped = c.base, values[id(c.base)], false
	}
}

// edit is why the values of a column stay edits, "" where they may be a parameter.
func (c *column) edit(values map[string]int) string {
	repeated, folders, random := 0, 0, true
	for v, n := range values {
		if n > 1 {
			repeated++
			folders += n
		}
		_, text, _ := strings.Cut(v, "\x00")
		random = random && n == 1 && isRandom.Regexp().MatchString(text)
	}
	last := c.steps[len(c.steps)-1].key
	minority := c.present - c.common
	switch {
	case random || strings.HasPrefix(last, "checksum/") || last == "caBundle":
		return "generated"
	case c.fixed:
		return "no path names it in every folder"
	case slices.ContainsFunc(c.at, func(n *yaml.Node) bool { return n != nil && (n.Kind != yaml.ScalarNode || yamltree.IsNull(n)) }):
		return "not a single value everywhere"
	case repeated < 2 && minority*100 > (100-common)*c.present || folders*2 < c.present:
		return "most folders have a value of their own"
	case repeated < 2 || minority < 2 || minority*100 < seldom*c.present:
		return "few folders differ"
	}
	return ""
}

var isRandom = lazyregexp.New(`^([0-9a-fA-F]{8,}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[A-Za-z0-9+/_-]{24,}={0,2}|\S*-[0-9a-f]{8,10})$`)

// stay drops a column that has no usual value from the base.
func (c *column) stay(why string) {
	c.why = why
	c.dropped = !c.identity() && !c.resource.anchored && (why == "generated" || c.common*100 < common*c.present)
}

// dropItems drops edits without a usual value, and drops items whose key is dropped.
func (m *model) dropItems() {
	for _, c := range m.columns {
		if c.why != "" {
			c.stay(c.why)
		}
	}
	for _, c := range m.columns {
		for _, s := range c.steps {
			c.dropped = c.dropped || s.by != nil && s.by.dropped
		}
	}
}

// parameters finds the rules by which columns are set.
func (m *model) parameters() {
	var open []*column
	templates := map[string]*rule{}
	for _, c := range m.columns {
		switch {
		case c.dropped || c.why != "":
		case c.template != "":
			m.templateRule(c, templates)
		case len(c.count(func(_ int, n *yaml.Node) string { return id(n) })) > 1:
			open = append(open, c)
		}
	}
	var groups []*rule // of columns with equal values
	for _, c := range open {
		ids := make([]string, len(c.at))
		for i, n := range c.at {
			ids[i] = id(n)
		}
		if !join(groups, c, ids) {
			groups = append(groups, &rule{columns: []*column{c}, ids: ids, usual: c.value, isUsual: c.common*100 >= common*c.present, stated: map[int]*yaml.Node{}})
		}
	}
	for _, g := range groups {
		g.anonymize()
	}
	slices.SortStableFunc(groups, func(a, b *rule) int { // what is most like a parameter comes last
		return cmp.Or(cmp.Compare(len(a.columns), len(b.columns)), cmp.Compare(a.words(), b.words()), cmp.Compare(b.size(), a.size()))
	})
	var paths []*rule
	for _, n := range m.folders[0].Names[1:] {
		paths = append(paths, m.pathRule(n.Parameter))
	}
	roots := slices.Clone(groups)
	for _, g := range groups {
		if g.follow(slices.Concat(paths, roots)) {
			roots = slices.DeleteFunc(roots, func(r *rule) bool { return r == g })
		}
	}
	m.rules = append(m.rules, groups...)
	m.limit(roots)
	for _, r := range m.rules {
		for _, c := range r.columns {
			c.rule = r
		}
	}
	m.order()
	m.nameRules()
}

// anonymize gives the base no folder's own text where few others have it.
func (r *rule) anonymize() {
	for _, c := range r.columns {
		if !r.isUsual && c.common*100 < usual*c.present && !c.resource.anchored && yamltree.Tag(c.value) == yaml.NodeTagString {
			c.value = yamltree.String(placeholder)
			r.usual = c.value
		}
	}
}

// pathRule is a name of the folders' path as a parameter that others may follow from.
func (m *model) pathRule(parameter string) *rule {
	r := &rule{name: parameter, ids: make([]string, len(m.folders))}
	for i, f := range m.folders {
		for _, n := range f.Names {
			if n.Parameter == parameter {
				r.ids[i] = id(yamltree.String(n.Value))
			}
		}
	}
	return r
}

// templateRule adds a column to the rule of its template, or makes one where folders
// differ.
func (m *model) templateRule(c *column, rules map[string]*rule) {
	stated := map[int]*yaml.Node{}
	key := c.template
	for i, n := range c.at {
		if n != nil && (yamltree.Tag(n) != yaml.NodeTagString || n.Value != m.folders[i].expand(c.template)) {
			stated[i] = n
			key += fmt.Sprintf("\x00%d=%s", i, id(n))
		}
	}
	r := rules[key]
	if r == nil {
		r = &rule{template: c.template, stated: stated}
		rules[key] = r
		m.rules = append(m.rules, r)
	}
	r.columns = append(r.columns, c)
}

// words counts the values that are texts.
func (r *rule) words() (n int) {
	for _, v := range r.ids {
		if strings.HasPrefix(v, yaml.NodeTagString) {
			n++
		}
	}
	return n
}

// size is the length of all values.
func (r *rule) size() (n int) {
	for _, v := range r.ids {
		n += len(v)
	}
	return n
}

// join adds a column to a group whose values it has in every folder that has both.
func join(groups []*rule, c *column, ids []string) bool {
	for _, r := range groups {
		both := 0
		for i, v := range ids {
			if v != "" && r.ids[i] != "" {
				if both++; v != r.ids[i] {
					both = -1
					break
				}
			}
		}
		if both < 1 || both*100 < support*c.present || id(r.usual) != id(c.value) {
			continue
		}
		for i, v := range ids {
			if r.ids[i] == "" {
				r.ids[i] = v
			}
		}
		r.columns = append(r.columns, c)
		return true
	}
	return false
}

// follow makes a group follow from the parameter that explains most of it, if one does.
func (r *rule) follow(roots []*rule) bool {
	var best *rule
	for _, a := range roots {
		if a == r {
			continue
		}
		if f := r.following(a); f != nil && (best == nil || len(f.stated) < len(best.stated)) {
			best = f
		}
	}
	if best == nil {
		return false
	}
	*r = *best
	if r.affix != "" {
		for _, c := range r.columns {
			c.value = yamltree.String(strings.ReplaceAll(r.affix, hole, r.from.usual.Value))
		}
		r.usual = r.columns[0].value
	}
	return true
}

// hole stands for the value of the parameter in a rule's affix.
const hole = "${}"

// following is the group as it follows from another one, nil where it does not.
func (r *rule) following(a *rule) *rule {
	groups, affixes, both := map[string]map[string]int{}, map[string]int{}, 0
	present, minority, wrong, repeated := 0, 0, 0, 0
	for i, v := range r.ids {
		if v == "" {
			continue
		}
		if present++; v != id(r.usual) {
			minority++
		}
		if from := a.ids[i]; from != "" {
			both++
			if groups[from] == nil {
				groups[from] = map[string]int{}
			}
			groups[from][v]++
			affixes[affix(v, from)]++
		}
	}
	expected := map[string]string{}
	for from, values := range groups {
		top, n := max1(values), 0
		for _, k := range values {
			n += k
		}
		if n > 1 {
			repeated += n
		}
		wrong += n - values[top]
		expected[from] = top
	}
	most := max(1, both*(100-follows)/100)
	if both*100 < support*present || repeated*100 < support*both || wrong > most || wrong*4 > minority {
		return nil
	}
	out := *r
	out.from, out.isUsual, out.stated, out.values = a, true, map[int]*yaml.Node{}, map[string]*yaml.Node{}
	if text := max1(affixes); a.usual != nil && affixes[text] >= both-most && strings.Contains(text, hole) && strings.Count(text, "${") == 1 {
		out.affix = text
		for from := range expected {
			expected[from] = id(yamltree.String(strings.ReplaceAll(text, hole, textOf(from))))
		}
	} else if e, ok := expected[id(a.usual)]; a.isUsual && ok && e != id(r.usual) { // no object states it
		return nil
	}
	for i, v := range r.ids {
		switch want, ok := expected[a.ids[i]]; {
		case v == "":
		case ok && v != want, !ok && (out.affix != "" || v != id(r.usual)):
			out.stated[i] = r.at(i)
		case out.affix == "" && v != id(r.usual):
			out.values[textOf(a.ids[i])] = plain(r.at(i))
		}
	}
	return &out
}

// affix is a text with a hole for another one.
func affix(v, from string) string {
	if !strings.HasPrefix(v, yaml.NodeTagString) || !strings.HasPrefix(from, yaml.NodeTagString) || strings.Contains(v, "${") {
		return ""
	}
	return replaceWord(textOf(v), textOf(from), hole)
}

// textOf is the text of an id.
func textOf(id string) string {
	_, text, _ := strings.Cut(id, "\x00")
	return text
}

// at is a folder's value.
func (r *rule) at(i int) *yaml.Node {
	for _, c := range r.columns {
		if c.at[i] != nil {
			return c.at[i]
		}
	}
	return nil
}

// limit keeps the parameters that explain most; what the others set stays edits.
func (m *model) limit(roots []*rule) {
	weight := func(root *rule) (n int) {
		for _, r := range m.rules {
			if r == root || r.from == root {
				for _, c := range r.columns {
					n += c.present - c.common
				}
			}
		}
		return n
	}
	if len(roots) <= mostParams {
		return
	}
	weights := map[*rule]int{}
	for _, r := range roots {
		weights[r] = weight(r)
	}
	roots = slices.Clone(roots)
	slices.SortStableFunc(roots, func(a, b *rule) int { return cmp.Compare(weights[b], weights[a]) })
	for _, root := range roots[mostParams:] {
		m.rules = slices.DeleteFunc(m.rules, func(r *rule) bool {
			if r != root && r.from != root {
				return false
			}
			for _, c := range r.columns {
				c.stay("other parameters explain more")
			}
			return true
		})
	}
}

// order sorts the rules: by the folder's path, then as the base has their first fields.
func (m *model) order() {
	at := map[*column]int{}
	for i, c := range m.columns {
		at[c] = i
	}
	for _, r := range m.rules {
		slices.SortFunc(r.columns, func(a, b *column) int { return cmp.Compare(at[a], at[b]) })
	}
	kind := func(r *rule) int {
		switch {
		case r.template != "":
			return 0
		case r.from == nil:
			return 1
		}
		return 2
	}
	slices.SortFunc(m.rules, func(a, b *rule) int {
		return cmp.Or(cmp.Compare(kind(a), kind(b)), cmp.Compare(at[a.columns[0]], at[b.columns[0]]))
	})
}

// nameRules names the parameters: by the field's key, with what is around it where that
// is taken.
func (m *model) nameRules() {
	taken := map[string]bool{}
	for _, n := range m.folders[0].Names {
		taken[n.Parameter] = true
	}
	for _, r := range m.rules {
		if (r.template != "" || r.from != nil) && len(r.stated) == 0 && !slices.ContainsFunc(m.rules, func(o *rule) bool { return o.from == r }) {
			continue
		}
		words := r.columns[0].words()
		name := camel(words[0])
		for _, w := range words[1:] {
			if name != "" && !taken[name] && !generic[name] {
				break
			}
			if name == "value" {
				name = ""
			}
			name = camel(w + " " + name)
		}
		for base, n := name, 'B'; taken[name]; n++ {
			name = base + string(n)
		}
		taken[name], r.name = true, name
	}
}

// words lead to a column, from the inside out: keys, and keys of list items.
func (c *column) words() (out []string) {
	for i, s := range slices.Backward(c.steps) {
		switch {
		case s.by == c || s.key == "0" || s.key == "metadata":
		case s.by != nil:
			out = append(out, s.by.inPath())
		case i+1 < len(c.steps) && c.steps[i+1].item:
			out = append(out, strings.TrimSuffix(s.key, "s"))
		default:
			out = append(out, s.key[strings.LastIndex(s.key, "/")+1:])
		}
	}
	return append(out, c.resource.kindName(), c.resource.name.inPath(), "field")
}

var notWord = lazyregexp.New(`[^A-Za-z0-9]+`)

var generic = map[string]bool{"name": true, "namespace": true, "value": true, "key": true}

// camel joins words: LOG_LEVEL is logLevel, slack-channel slackChannel.
func camel(text string) string {
	var out strings.Builder
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if w == strings.ToUpper(w) {
			w = strings.ToLower(w)
		}
		first := strings.ToUpper
		if out.Len() == 0 {
			first = strings.ToLower
		}
		_, size := utf8.DecodeRuneInString(w)
		out.WriteString(first(w[:size]) + w[size:])
	}
	return strings.TrimLeftFunc(out.String(), unicode.IsDigit)
}

// reach takes values away that set-fields could not find in their folder: those of a
// resource, or of a list's item, with another name than the rules give it.
func (m *model) reach() {
	for _, c := range m.columns {
		keys := []*column{c.resource.name}
		for _, s := range c.steps {
			if s.by != nil {
				keys = append(keys, s.by)
			}
		}
		for i := range c.at {
			if c.at[i] != nil && slices.ContainsFunc(keys, func(k *column) bool { return k != c && k.at[i] != nil && !m.isExplained(k, i) }) {
				c.at[i] = nil
			}
		}
	}
	for _, r := range m.rules {
		for i := range m.folders {
			if !slices.ContainsFunc(r.columns, func(c *column) bool { return c.at[i] != nil }) {
				delete(r.stated, i)
			}
		}
	}
}

// isExplained reports whether the base and the folder's object give a folder's value.
func (m *model) isExplained(c *column, i int) bool {
	return c.rule != nil || c.template == "" && id(c.at[i]) == id(c.value)
}

// plain is a value without what its text has around it.
func plain(n *yaml.Node) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Tag: yamltree.Tag(n), Value: n.Value}
	if out.Tag == yaml.NodeTagString {
		return yamltree.String(n.Value)
	}
	return out
}
