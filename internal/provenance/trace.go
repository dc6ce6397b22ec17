package provenance

import (
	"bytes"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// Trace follows one package while it is made. It is not safe for concurrent use.
type Trace struct {
	docs  []*doc
	files map[string]file // those that hold no resource
	gone  map[place]Origin
	usual Origin
}

// doc is one resource after the last step, with the origin of each of its values.
type doc struct {
	path   string
	id     krm.ID
	node   *yaml.Node
	leaves map[string]*Origin // by field
	shared bool               // other traces read leaves
}

// put says where a value comes from, of this trace alone.
func (d *doc) put(field string, o Origin) {
	if d.shared {
		d.leaves, d.shared = maps.Clone(d.leaves), false
	}
	d.leaves[field] = &o
}

type file struct {
	data   []byte
	origin *Origin
}

// Value is a value that a step set.
type Value struct {
	File  string
	ID    krm.ID
	Field string // "" for a file that holds no resource
	Text  string
	// Line is the value's in the text that it was parsed from, 0 for one that was made.
	Line int
	// Was is the origin of the value that stood there, nil for none.
	Was *Origin
	// Gone says that the step took the value away.
	Gone bool
	// old is that value.
	old string
	doc int
}

// Setter says where a value comes from that a step set.
type Setter func(Value) Origin

// New begins with an upstream package, which messages call name.
func New(upstream *krm.Package, name string) *Trace {
	t := &Trace{files: map[string]file{}, gone: map[place]Origin{}, usual: Origin{Kind: Upstream, Package: name}}
	t.Step(upstream, func(v Value) Origin {
		return Origin{Kind: Upstream, Package: name, File: v.File, Line: v.Line, Field: v.Field}
	})
	return t
}

// Clone is a trace that goes on from the same place, so that packages that are made
// of one upstream share its beginning. The trace that was cloned is only read from
// then on.
func (t *Trace) Clone() *Trace {
	docs := make([]*doc, len(t.docs))
	for i, d := range t.docs {
		docs[i] = &doc{path: d.path, id: d.id, node: d.node, leaves: d.leaves, shared: true}
	}
	return &Trace{docs: docs, files: t.files, gone: maps.Clone(t.gone), usual: t.usual}
}

// Step notes the package after a step. What the step left alone keeps its origin.
func (t *Trace) Step(after *krm.Package, set Setter) { t.take(t.compare(after), set) }

// changes are what a step did: a package's values, of which those that it set have no
// origin yet.
type changes struct {
	docs  []*doc
	files map[string]file
	set   []pending
	gone  []loss
	back  []place // values that had gone and are there again
}

// pending is a value whose origin is to be found.
type pending struct {
	Value
	origin *Origin
}

// loss is a value that is there no more: what took it away is by, or is to be found.
type loss struct {
	at place
	Value
	by *Origin
}

// compare finds what a step did.
func (t *Trace) compare(after *krm.Package) *changes {
	resources := after.Resources()
	was := t.pair(resources)
	c := &changes{docs: make([]*doc, len(resources)), files: map[string]file{}}
	held := map[string]bool{}
	for i, r := range resources {
		held[r.Path()] = true
		node := yamltree.Deref(r.Node().YNode())
		if w := was[i]; w != nil && w.path == r.Path() && (w.node == node || yamltree.SameText(w.node, node)) {
			c.docs[i] = w
			continue
		}
		if !r.Settled() {
			node = yamltree.Copy(node) // the step's own may go on changing
		}
		c.docs[i] = &doc{path: r.Path(), id: r.ID(), node: node, leaves: map[string]*Origin{}}
		s := &stepper{changes: c, now: c.docs[i], was: was[i], index: i, line: r.Line() - node.Line, seen: map[string]bool{}, lost: len(t.gone) > 0}
		if r.Line() == 0 {
			s.line = -1
		}
		var old *yaml.Node
		if was[i] != nil {
			old = was[i].node
		}
		s.node("", "", old, node)
		s.missing()
	}
	kept := map[*doc]bool{}
	for _, d := range was {
		kept[d] = true
	}
	for _, d := range t.docs {
		if !kept[d] {
			c.lose(place{docKey{d.path, d.id}, ""}, Value{File: d.path, ID: d.id, Gone: true, doc: -1}, nil)
		}
	}
	for _, path := range after.Paths() {
		if held[path] {
			continue
		}
		f, _ := after.Read(path)
		had, ok := t.files[path]
		if !ok || !bytes.Equal(had.data, f.Data) {
			v := Value{File: path, Was: had.origin, doc: -1}
			had = file{f.Data, new(Origin)}
			c.set = append(c.set, pending{v, had.origin})
		}
		c.files[path] = had
	}
	return c
}

// take goes on with what a step did.
func (t *Trace) take(c *changes, set Setter) {
	for _, p := range c.set {
		*p.origin = set(p.Value)
	}
	for _, at := range c.back {
		delete(t.gone, at)
	}
	for _, l := range c.gone {
		if l.by == nil {
			t.gone[l.at] = set(l.Value)
		} else {
			t.gone[l.at] = *l.by
		}
	}
	t.docs, t.files = c.docs, c.files
}

func (c *changes) lose(at place, v Value, by *Origin) { c.gone = append(c.gone, loss{at, v, by}) }

// missing notes values of a resource that the step took away.
func (s *stepper) missing() {
	if s.was == nil {
		return
	}
	if was, now := s.was.id, s.now.id; was != now { // what gave it another name took the old one away
		by := s.now.leaves["metadata.name"]
		if was.Namespace != now.Namespace {
			by = s.now.leaves["metadata.namespace"]
		}
		if by != nil {
			s.lose(place{docKey{s.was.path, was}, ""}, Value{}, by)
		}
	}
	for field, o := range s.was.leaves {
		at := place{docKey{s.now.path, s.now.id}, field}
		if s.now.leaves[field] != nil || s.seen[field] {
			if s.lost {
				s.back = append(s.back, at)
			}
			continue
		}
		s.lose(at, Value{File: at.file, ID: at.id, Field: field, Was: o, Gone: true, doc: -1}, nil)
	}
}

// pair finds what resources were: those of their file and identity, of their file and
// kind in order, of their identity elsewhere.
func (t *Trace) pair(now []*krm.Resource) []*doc {
	if slices.EqualFunc(t.docs, now, func(d *doc, r *krm.Resource) bool { return d.path == r.Path() && d.id == r.ID() }) {
		return t.docs
	}
	out, used := make([]*doc, len(now)), make([]bool, len(t.docs))
	by := func(keyOf func(path string, id krm.ID) any) {
		free := map[any][]int{}
		for i, d := range t.docs {
			if !used[i] {
				k := keyOf(d.path, d.id)
				free[k] = append(free[k], i)
			}
		}
		for i, r := range now {
			if out[i] != nil {
				continue
			}
			if k := keyOf(r.Path(), r.ID()); len(free[k]) > 0 {
				out[i], used[free[k][0]] = t.docs[free[k][0]], true
				free[k] = free[k][1:]
			}
		}
	}
	by(func(path string, id krm.ID) any { return docKey{path, id} })
	by(func(path string, id krm.ID) any { return docKey{path, krm.ID{Group: id.Group, Kind: id.Kind}} })
	by(func(_ string, id krm.ID) any { return id })
	return out
}

// stepper compares a resource with what it was.
type stepper struct {
	*changes
	now, was *doc
	seen     map[string]bool // fields of was that are still there
	lost     bool            // something has gone before
	index    int
	line     int // of the file before the text that nodes count in, -1 where that is not known
}

// node walks two trees, either of which may be nil; was and at are their fields.
func (s *stepper) node(was, at string, a, b *yaml.Node) {
	a, b = yamltree.Deref(a), yamltree.Deref(b)
	if len(b.Content) == 0 {
		s.leaf(was, at, a, b)
		return
	}
	if a != nil && a.Kind != b.Kind {
		a = nil
	}
	switch b.Kind {
	case yaml.MappingNode:
		for k, v := range yamltree.Fields(b) {
			var old *yaml.Node
			if a != nil {
				old = yamltree.Child(a, k.Value)
			}
			s.node(yamltree.JoinField(was, k.Value), yamltree.JoinField(at, k.Value), old, v)
		}
	case yaml.SequenceNode:
		of := matched(a, b)
		for i, n := range b.Content {
			var old *yaml.Node
			place := was
			if of[i] >= 0 {
				old, place = a.Content[of[i]], item(was, a, of[i])
			}
			s.node(place, item(at, b, i), old, n)
		}
	}
}

// item is the field of a list's element.
func item(field string, list *yaml.Node, i int) string {
	if key := yamltree.ListKey(list); key != "" {
		return field + "[" + key + "=" + yamltree.ItemID(list.Content[i], key) + "]"
	}
	return field + "[" + strconv.Itoa(i) + "]"
}

func (s *stepper) leaf(was, at string, a, b *yaml.Node) {
	v := Value{File: s.now.path, ID: s.now.id, Field: at, Text: text(b), doc: s.index}
	if s.was != nil && a != nil {
		v.Was = s.was.leaves[was]
		s.seen[was] = true
		if v.old = text(a); len(a.Content) == 0 && a.Kind == b.Kind && v.old == v.Text && a.ShortTag() == b.ShortTag() && v.Was != nil {
			s.now.leaves[at] = v.Was
			return
		}
	}
	if s.line >= 0 && b.Line > 0 {
		v.Line = b.Line + s.line
	}
	o := new(Origin)
	s.now.leaves[at] = o
	s.set = append(s.set, pending{v, o})
}

// text is a leaf's value.
func text(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "{}"
	case yaml.SequenceNode:
		return "[]"
	}
	return n.Value
}

// matched finds for each element of a list what it was in another, -1 for nothing.
func matched(a, b *yaml.Node) []int {
	out := make([]int, len(b.Content))
	for i := range out {
		out[i] = -1
	}
	if a == nil {
		return out
	}
	if key := yamltree.ListKey(a, b); key != "" {
		at := map[string]int{}
		for i, n := range a.Content {
			at[yamltree.ItemID(n, key)] = i
		}
		for i, n := range b.Content {
			if j, ok := at[yamltree.ItemID(n, key)]; ok {
				out[i] = j
			}
		}
		return out
	}
	x, y, start := a.Content, b.Content, 0
	for start < len(x) && start < len(y) && yamltree.SameText(x[start], y[start]) {
		out[start] = start
		start++
	}
	endX, endY := len(x), len(y)
	for endX > start && endY > start && yamltree.SameText(x[endX-1], y[endY-1]) {
		endX, endY = endX-1, endY-1
		out[endY] = endX
	}
	if endX-start == endY-start {
		for i := start; i < endY; i++ {
			out[i] = i
		}
	}
	return out
}

// Origins are those of the package after the last step.
func (t *Trace) Origins() *Origins {
	parts := make([]part, 0, len(t.docs)+len(t.files))
	for _, d := range t.docs {
		d.shared = true
		parts = append(parts, part{docKey{d.path, d.id}, sync.OnceValue(leavesOf(d, d.leaves))})
	}
	for _, path := range slices.Sorted(maps.Keys(t.files)) {
		leaf := Leaf{File: path, Origin: *t.files[path].origin}
		parts = append(parts, part{docKey{file: path}, func() []Leaf { return []Leaf{leaf} }})
	}
	return newOrigins(parts, t.usual, maps.Clone(t.gone))
}

// leavesOf makes the leaves of a resource, whose origins are there already.
func leavesOf(d *doc, origins map[string]*Origin) func() []Leaf {
	return func() []Leaf {
		leaves := make([]Leaf, 0, len(origins))
		walk(d.node, "", func(field string, n *yaml.Node) {
			l := Leaf{File: d.path, ID: d.id, Field: field, Value: text(n)}
			if d.id.IsSecret() {
				l.Value = ""
			}
			if o := origins[field]; o != nil {
				l.Origin = *o
			}
			leaves = append(leaves, l)
		})
		return leaves
	}
}

// lines are the leaves of a tree in order, each with its line.
func lines(root *yaml.Node) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		more := true
		walk(root, "", func(field string, n *yaml.Node) { more = more && yield(field, n.Line) })
	}
}

// walk visits the leaves of a tree.
func walk(n *yaml.Node, at string, visit func(field string, n *yaml.Node)) {
	n = yamltree.Deref(n)
	switch {
	case len(n.Content) == 0:
		visit(at, n)
	case n.Kind == yaml.MappingNode:
		for k, v := range yamltree.Fields(n) {
			walk(v, yamltree.JoinField(at, k.Value), visit)
		}
	default:
		for i, v := range n.Content {
			walk(v, item(at, n, i), visit)
		}
	}
}
