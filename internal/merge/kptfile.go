package merge

import (
	"fmt"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// kptfileSchema is what identifies the items of a Kptfile's lists.
var kptfileSchema = &schema{fields: map[string]schemaField{
	"pipeline": {next: &schema{fields: map[string]schemaField{
		"mutators":   {list: true, functions: true},
		"validators": {list: true, functions: true},
	}}},
	"info": {next: &schema{fields: map[string]schemaField{
		"readinessGates": {list: true, keys: []string{"conditionType"}},
		"keywords":       {list: true, set: true},
		"emails":         {list: true, set: true},
	}}},
	"status": {next: &schema{fields: map[string]schemaField{
		"conditions": {list: true, keys: []string{"type"}},
	}}},
}}

// ownership are the annotations that say to which variant a package belongs;
// they are never inherited (docs/design/kinds.md#labels-and-annotations).
var ownership = []string{"variform.dev/variant", "variform.dev/set", "variform.dev/deletion-policy"}

// Kptfile merges three Kptfiles. Functions are matched by name, then by image
// without its tag or by executable; gates and conditions by type. name and
// namespace, and what a package owns (annotations of ownership, the outcome of
// a render), are local's. So are upstream and upstreamLock, unless
// followUpstream is set and upstream has them. A missing base or upstream is
// nil; nothing is modified, and the result is local itself where nothing
// changes.
func Kptfile(base, upstream, local *yaml.RNode, followUpstream bool) (*yaml.RNode, []Conflict, error) {
	l := local.YNode()
	n, lost, err := mergeKptfiles(rootOf(base), rootOf(upstream), l, followUpstream, Options{})
	if err != nil {
		return nil, nil, err
	}
	var conflicts []Conflict
	for _, c := range lost {
		conflicts = append(conflicts, Conflict{
			Path: kptfilev1.KptFileName, Resource: krm.ID{Group: kptfilev1.KptFileGroup, Kind: kptfilev1.KptFileKind, Name: yamltree.Text(l, "metadata", "name")},
			Field: c.field, Line: c.line, Base: c.b, Upstream: c.u, Local: c.l, Winner: c.winner,
		})
	}
	if n == l {
		return local, conflicts, nil
	}
	return yaml.NewRNode(yamltree.Copy(n)), conflicts, nil
}

func rootOf(n *yaml.RNode) *yaml.Node {
	if n == nil {
		return nil
	}
	return n.YNode()
}

func mergeKptfiles(b, u, l *yaml.Node, followUpstream bool, o Options) (*yaml.Node, []lost, error) {
	var err error
	for _, n := range []**yaml.Node{&b, &u, &l} {
		if *n, err = expand(*n); err != nil {
			return nil, nil, err
		}
	}
	d := &doc{guess: o.Guess}
	n := d.value(schemaField{next: kptfileSchema}, inherited(b, l), inherited(u, l), l)
	if n == nil {
		return nil, nil, fmt.Errorf("the Kptfile is not a map")
	}
	if followUpstream {
		for _, field := range []string{"upstream", "upstreamLock"} {
			n = setField(n, field, yamltree.Child(u, field), u)
			if yamltree.Child(u, field) == nil && equal(yamltree.Child(b, field), yamltree.Child(n, field)) {
				n = without(n, field)
			}
		}
	}
	return n, d.lost, nil
}

// inherited cuts a Kptfile down to what a package takes from its upstream; one
// that is missing has nothing but its type.
func inherited(n, like *yaml.Node) *yaml.Node {
	if !yamltree.IsMap(n) {
		n = &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, Content: typeOf(like)}
	}
	n = without(n, "upstream", "upstreamLock")
	n = below(n, "metadata", func(meta *yaml.Node) *yaml.Node {
		meta = without(meta, "name", "namespace")
		return below(meta, "annotations", func(a *yaml.Node) *yaml.Node { return without(a, ownership...) })
	})
	return withoutBookkeeping(n)
}

// withoutBookkeeping returns a Kptfile without what other tools noted in it.
func withoutBookkeeping(n *yaml.Node) *yaml.Node {
	return yamltree.Without(n, func(field string) bool { return krm.IsBookkeeping(kptfilev1.KptFileKind, field) })
}

func typeOf(n *yaml.Node) []*yaml.Node {
	var out []*yaml.Node
	for k, v := range yamltree.Fields(n) {
		if k.Value == "apiVersion" || k.Value == "kind" {
			out = append(out, k, v)
		}
	}
	return out
}

// without returns a mapping without some fields; nil where that leaves
// nothing.
func without(n *yaml.Node, fields ...string) *yaml.Node {
	if !yamltree.IsMap(n) {
		return n
	}
	var content []*yaml.Node
	for k, v := range yamltree.Fields(n) {
		if !slices.Contains(fields, k.Value) {
			content = append(content, k, v)
		}
	}
	if len(content) == len(n.Content) {
		return n
	}
	if len(content) == 0 {
		return nil
	}
	return with(n, content)
}

// below replaces the value of one field; nil drops it.
func below(n *yaml.Node, field string, change func(*yaml.Node) *yaml.Node) *yaml.Node {
	v := yamltree.Child(n, field)
	if v == nil {
		return n
	}
	nv := change(v)
	switch nv {
	case v:
		return n
	case nil:
		return without(n, field)
	}
	content := slices.Clone(n.Content)
	content[yamltree.Index(n, field)+1] = nv
	return with(n, content)
}

// setField gives a mapping a field of upstream, in the place that Kptfiles have
// it where it is new; nil changes nothing.
func setField(n *yaml.Node, field string, v, from *yaml.Node) *yaml.Node {
	if v == nil || equal(yamltree.Child(n, field), v) {
		return n
	}
	if yamltree.Child(n, field) != nil {
		return below(n, field, func(*yaml.Node) *yaml.Node { return adopt(v) })
	}
	at := 0
	for _, key := range []string{"apiVersion", "kind", "metadata", "upstream"} {
		if i := yamltree.Index(n, key); i >= at {
			at = i + 2
		}
	}
	return with(n, slices.Insert(slices.Clone(n.Content), at, adopt(entries(from)[field].key), adopt(v)))
}

// mergeKptfile merges the Kptfile of a unit.
func (m *merger) mergeKptfile(u *unit, c change, followUpstream bool) error {
	b, up, l := m.b.kptfile(u.dir), m.u.kptfile(u.dir), m.l.kptfile(u.dir)
	switch {
	case l == nil && b == nil:
		if up != nil {
			m.follow(c)
		}
		return nil
	case l == nil || up == nil && b == nil:
		return nil
	case up == nil && u.dir != ".": // no subpackage any more
		m.opaque(c)
		return nil
	}
	n, lost, err := mergeKptfiles(ynode(b), ynode(up), ynode(l), followUpstream, m.o)
	if err != nil {
		return fmt.Errorf("merging %s: %w", c.path, err)
	}
	m.note(c.path, newItem(l), lost)
	is := m.out.Kptfile(u.dir)
	if !yamltree.SameText(n, ynode(l)) {
		is.Replace(yaml.NewRNode(yamltree.Copy(n)))
	}
	m.mergeText(is, b, up, l, n)
	return nil
}
