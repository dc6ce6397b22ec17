package importer

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// model is what folders have in common: their resources, aligned, and the columns of
// their fields.
type model struct {
	name      string
	folders   []*folder
	resources []*baseResource
	columns   []*column
	rules     []*rule
	explained []int // fields, by folder
}

// baseResource is a resource of the base.
type baseResource struct {
	key, file string
	of        []*resource // by folder, nil where it lacks the resource
	medoid    int         // the folder that its text is taken from
	name      *column
	namespace *column
	ambiguous bool // another one has its kind and name
	anchored  bool // its text has aliases, and stays as it is
}

// column is one field of the base with its values in each folder.
type column struct {
	resource *baseResource
	steps    []step
	base     *yaml.Node   // in the medoid
	at       []*yaml.Node // by folder, nil where it lacks the field
	present  int
	// fixed reports that no path names the field in every folder.
	fixed bool

	value    *yaml.Node // in the base
	common   int        // folders that have the value
	template string     // where most folders have it
	dropped  bool
	why      string // it is an edit
	rule     *rule
}

// step leads to a field: a key, the item of a list that a field of it names, or the only
// item of a list.
type step struct {
	key  string
	item bool
	by   *column // the value of the item's key
}

func newModel(folders []*folder, name string) (*model, error) {
	m := &model{name: name, folders: folders, explained: make([]int, len(folders))}
	m.align()
	m.choose()
	for _, r := range m.resources {
		nodes := make([]*yaml.Node, len(folders))
		for i, of := range r.of {
			if of != nil {
				nodes[i] = of.Node().YNode()
			}
		}
		r.anchored = yamltree.HasAlias(nodes[r.medoid])
		m.walk(r, nodes[r.medoid], nodes, nil, false)
	}
	for _, c := range m.columns {
		m.classify(c)
	}
	m.dropItems()
	m.parameters()
	m.reach()
	for _, c := range m.columns {
		for i := range folders {
			if c.at[i] != nil && !c.dropped && m.isExplained(c, i) {
				m.explained[i]++
			}
		}
	}
	return m, nil
}

// size is the number of fields of the base.
func (m *model) size() (n int) {
	for _, c := range m.columns {
		if !c.dropped {
			n++
		}
	}
	return n
}

// align finds the resources that most folders have: by identity, else as the only one of
// their kind that is left, in the folder or in a file.
func (m *model) align() {
	by := map[string]*baseResource{}
	used := map[*resource]bool{}
	take := func(key string, i int, r *resource) {
		b := by[key]
		if b == nil {
			b = &baseResource{key: key, of: make([]*resource, len(m.folders))}
			by[key] = b
		}
		if b.of[i] == nil {
			b.of[i] = r
		}
	}
	keep := func() {
		for key, b := range by {
			if has(b) < m.most(len(m.folders)) {
				delete(by, key)
				continue
			}
			for _, r := range b.of {
				used[r] = true
			}
		}
	}
	for i, f := range m.folders {
		for _, r := range f.resources {
			take(r.key, i, r)
		}
	}
	keep()
	for i, f := range m.folders {
		left, lacking := map[string][]*resource{}, map[string][]*baseResource{}
		for _, r := range f.resources {
			if !used[r] {
				left[r.kind] = append(left[r.kind], r)
			}
		}
		for key, b := range by {
			if b.of[i] == nil {
				kind, _, _ := strings.Cut(key, "/")
				lacking[kind] = append(lacking[kind], b)
			}
		}
		for kind, rs := range left {
			if len(rs) == 1 && len(lacking[kind]) == 1 {
				lacking[kind][0].of[i] = rs[0]
				used[rs[0]] = true
			}
		}
	}
	for i, f := range m.folders {
		in := map[string][]*resource{}
		for _, r := range f.resources {
			if !used[r] {
				in[r.kind+"//"+r.Path()] = append(in[r.kind+"//"+r.Path()], r)
			}
		}
		for key, rs := range in {
			if len(rs) == 1 {
				take(key, i, rs[0])
			}
		}
	}
	keep()
	for _, b := range by {
		b.file = mostOf(b.of, func(r *resource) string { return r.Path() })
		b.ambiguous = strings.Count(strings.SplitN(b.key, "/", 2)[1], "/") > 1
		m.resources = append(m.resources, b)
	}
	slices.SortFunc(m.resources, func(a, b *baseResource) int {
		return cmp.Or(strings.Compare(a.file, b.file), strings.Compare(a.key, b.key))
	})
}

func has(b *baseResource) (n int) {
	for _, r := range b.of {
		if r != nil {
			n++
		}
	}
	return n
}

// most is the number of folders that is common among n.
func (m *model) most(n int) int { return max(leastFolders, (common*n+99)/100) }

// mostOf is the most frequent text, the first of equals.
func mostOf[T comparable](list []T, text func(T) string) (out string) {
	var zero T
	n := map[string]int{}
	for _, v := range list {
		if v != zero {
			n[text(v)]++
		}
	}
	for _, s := range slices.Sorted(maps.Keys(n)) {
		if n[s] > n[out] {
			out = s
		}
	}
	return out
}

// choose takes the text of each file from the folder whose lines most folders have.
func (m *model) choose() {
	for i := 0; i < len(m.resources); {
		end := i + 1
		for end < len(m.resources) && m.resources[end].file == m.resources[i].file {
			end++
		}
		group := m.resources[i:end]
		center := m.center(func(f int) string { return m.textOf(group, f) }, func(f int) int { return m.inFile(group, f) })
		for _, r := range group {
			if r.medoid = center; r.of[center] == nil || r.of[center].Path() != r.file {
				r.medoid = m.center(func(f int) string { return m.textOf([]*baseResource{r}, f) }, func(f int) int { return m.inFile([]*baseResource{r}, f) })
			}
		}
		i = end
	}
}

// inFile counts the resources of a group that a folder has in the group's file.
func (m *model) inFile(group []*baseResource, f int) (n int) {
	for _, r := range group {
		if r.of[f] != nil && r.of[f].Path() == r.file {
			n++
		}
	}
	return n
}

// textOf is a folder's text of a group of one file, without the folder's names.
func (m *model) textOf(group []*baseResource, f int) string {
	var out strings.Builder
	for _, r := range group {
		if r.of[f] != nil && r.of[f].Path() == r.file {
			out.WriteString(r.of[f].Resource.String())
		}
	}
	return m.folders[f].template(out.String())
}

// center is the folder whose lines most folders have, of those that rank highest.
func (m *model) center(text func(int) string, rank func(int) int) int {
	type of struct {
		at, rank, weight int
		text             string
	}
	var all []of
	lines := map[line]int{}
	for i := range m.folders {
		if n := rank(i); n > 0 {
			all = append(all, of{at: i, rank: n, text: text(i)})
			for l := range linesOf(all[len(all)-1].text) {
				lines[l]++
			}
		}
	}
	for i := range all {
		for l := range linesOf(all[i].text) {
			all[i].weight += 2*lines[l] - len(all)
		}
	}
	return slices.MaxFunc(all, func(a, b of) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.weight, b.weight), strings.Compare(b.text, a.text), cmp.Compare(b.at, a.at))
	}).at
}

// line is one of a text; n numbers equal ones.
type line struct {
	text string
	n    int
}

func linesOf(text string) iter.Seq[line] {
	return func(yield func(line) bool) {
		seen := map[string]int{}
		for l := range strings.SplitSeq(text, "\n") {
			seen[l]++
			if !yield(line{l, seen[l]}) {
				return
			}
		}
	}
}

// walk makes the columns of a part of a resource. nodes has that part in each folder.
func (m *model) walk(r *baseResource, base *yaml.Node, nodes []*yaml.Node, steps []step, fixed bool) {
	base = yamltree.Deref(base)
	steps = steps[:len(steps):len(steps)]
	switch {
	case base.Kind == yaml.MappingNode && len(base.Content) > 0:
		for k, v := range yamltree.Fields(base) {
			if k.Value == yamltree.MergeKey {
				continue
			}
			m.walk(r, v, each(nodes, func(_ int, n *yaml.Node) *yaml.Node { return yamltree.Child(n, k.Value) }), append(steps, step{key: k.Value}), fixed || strings.HasPrefix(k.Value, "["))
		}
	case base.Kind == yaml.SequenceNode && len(base.Content) > 0:
		m.walkList(r, base, nodes, steps, fixed)
	default:
		m.column(r, base, nodes, steps, fixed)
	}
}

func each(nodes []*yaml.Node, f func(int, *yaml.Node) *yaml.Node) []*yaml.Node {
	out := make([]*yaml.Node, len(nodes))
	for i, n := range nodes {
		if n != nil {
			out[i] = f(i, n)
		}
	}
	return out
}

func (m *model) column(r *baseResource, base *yaml.Node, nodes []*yaml.Node, steps []step, fixed bool) *column {
	c := &column{resource: r, steps: steps, base: base, fixed: fixed}
	c.at = each(nodes, func(_ int, n *yaml.Node) *yaml.Node {
		if n = yamltree.Deref(n); n == nil || n.Kind != base.Kind || len(n.Content) > 0 {
			return nil
		}
		c.present++
		return n
	})
	m.columns = append(m.columns, c)
	if len(steps) == 2 && steps[0].key == "metadata" {
		switch steps[1].key {
		case "name":
			r.name = c
		case "namespace":
			r.namespace = c
		}
	}
	return c
}

// walkList aligns a list's items by key, single values as a set; one that is left on
// both sides is the same one with another key.
func (m *model) walkList(r *baseResource, list *yaml.Node, nodes []*yaml.Node, steps []step, fixed bool) {
	key, scalars := itemKey(list)
	of := make([][]*yaml.Node, len(list.Content)) // by item, then folder
	for i := range of {
		of[i] = make([]*yaml.Node, len(nodes))
	}
	only := key == "" && !scalars && len(list.Content) == 1
	for f, n := range nodes {
		if n = yamltree.Deref(n); n == nil || n.Kind != yaml.SequenceNode || only && len(n.Content) != 1 {
			continue
		}
		for i, item := range m.pair(list, r.medoid, n, f, key) {
			of[i][f] = item
		}
	}
	for i, item := range list.Content {
		item = yamltree.Deref(item)
		at := step{item: true, key: key}
		switch {
		case item.Kind == yaml.ScalarNode:
			c := m.column(r, item, of[i], nil, fixed || !isPathSafe(item.Value))
			at.by = c
			c.steps = append(steps, at)
		case key != "":
			first := len(m.columns)
			value := yamltree.Child(item, key)
			by := &column{}
			at.by = by
			m.walk(r, item, of[i], append(steps, at), fixed || !isPathSafe(value.Value))
			for _, c := range m.columns[first:] { // the item's own key is one of its columns
				if c.base == value {
					*by = *c
					m.columns[slices.Index(m.columns, c)] = by
				}
			}
		default:
			at.key = "0"
			m.walk(r, item, of[i], append(steps, at), fixed || !only)
		}
	}
}

func isPathSafe(s string) bool { return s != "" && !strings.ContainsAny(s, "[]\n\\") }

// itemKey is the field by which items of a list differ.
func itemKey(list *yaml.Node) (key string, scalars bool) {
	first := yamltree.Deref(list.Content[0])
	if first.Kind == yaml.ScalarNode {
		return "", true
	}
	if key = yamltree.ListKey(list); key != "" && key != "image" {
		return key, false
	}
	for k, v := range yamltree.Fields(first) {
		if v = yamltree.Deref(v); v.Kind != yaml.ScalarNode {
			continue
		}
		seen := map[string]bool{}
		for _, item := range list.Content {
			if text := yamltree.Text(yamltree.Deref(item), k.Value); text != "" {
				seen[text] = true
			}
		}
		if len(seen) == len(list.Content) {
			return k.Value, false
		}
	}
	return "", false
}

// pair finds the items of a folder's list that are those of the base's.
func (m *model) pair(base *yaml.Node, medoid int, list *yaml.Node, f int, key string) []*yaml.Node {
	id := func(n *yaml.Node, f int) string {
		if key != "" {
			return m.folders[f].template(yamltree.Text(yamltree.Deref(n), key))
		}
		var b strings.Builder
		if p, err := yamltree.Plain(n); err == nil {
			_ = yamltree.WriteCanonical(&b, p) // a Builder takes all
		}
		return m.folders[f].template(b.String())
	}
	left := map[string][]*yaml.Node{}
	for _, n := range list.Content {
		left[id(n, f)] = append(left[id(n, f)], n)
	}
	out := make([]*yaml.Node, len(base.Content))
	open, free := -1, 0
	for i, n := range base.Content {
		if same := left[id(n, medoid)]; len(same) > 0 {
			out[i], left[id(n, medoid)] = same[0], same[1:]
			continue
		}
		open = i
		free++
	}
	var rest []*yaml.Node
	for _, ns := range left {
		rest = append(rest, ns...)
	}
	if free == 1 && len(rest) == 1 {
		out[open] = rest[0]
	}
	return out
}

// leaves counts the fields of a tree.
func leaves(n *yaml.Node) (total int) {
	if n = yamltree.Deref(n); n == nil || len(n.Content) == 0 {
		return 1
	}
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			total += leaves(c)
		}
	}
	return total
}
