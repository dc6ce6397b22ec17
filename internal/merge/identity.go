package merge

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// mergeComment is the prefix of kpt's comment on metadata that keeps the
// identity of a resource whose name or namespace was changed.
const mergeComment = "kpt-merge:"

// item is a resource of one version, with what identifies it.
type item struct {
	r    *krm.Resource
	path string
	id   krm.ID // its own: the rendered identity of what a pipeline wrote
	key  krm.ID // what its upstream calls it: by the merge comment where there is one
}

func newItem(r *krm.Resource) *item {
	return &item{r: r, path: r.Path(), id: r.ID(), key: identity(r)}
}

func (i *item) tree() *yaml.Node {
	if i == nil {
		return nil
	}
	return i.r.Node().YNode()
}

func (i *item) resource() *krm.Resource {
	if i == nil {
		return nil
	}
	return i.r
}

// shown is the identity for people: the resource's own name.
func (i *item) shown() krm.ID {
	return i.id
}

func identity(r *krm.Resource) krm.ID {
	id := r.ID()
	if ns, name, ok := mergeIdentity(r.Node().YNode()); ok {
		id.Namespace, id.Name = ns, name
	}
	return id
}

// mergeIdentity reads "# kpt-merge: namespace/name" from the metadata field of
// a resource.
func mergeIdentity(n *yaml.Node) (namespace, name string, ok bool) {
	key := metadataKey(n)
	if key == nil {
		return "", "", false
	}
	c := strings.TrimSpace(strings.TrimPrefix(key.LineComment, "#"))
	c, ok = strings.CutPrefix(c, mergeComment)
	if !ok {
		return "", "", false
	}
	return strings.Cut(strings.TrimSpace(c), "/")
}

// withoutMergeComment is a resource's tree without the merge comment.
func withoutMergeComment(n *yaml.Node) *yaml.Node {
	if _, _, ok := mergeIdentity(n); !ok {
		return n
	}
	key := *metadataKey(n)
	key.LineComment = ""
	content := slices.Clone(n.Content)
	content[yamltree.Index(n, yaml.MetadataField)] = &key
	return with(n, content)
}

func metadataKey(n *yaml.Node) *yaml.Node {
	i := yamltree.Index(n, yaml.MetadataField)
	if i < 0 {
		return nil
	}
	return n.Content[i]
}

// tuple is one resource in up to three versions.
type tuple struct{ b, u, l *item }

// based is the resource as base has it.
func (t *tuple) based() *item { return t.b }

// origin is the resource as base has it, or, where base has none, as upstream has it.
func (t *tuple) origin() *item {
	if t.b == nil {
		return t.u
	}
	return t.b
}

// settled says that nothing changes its trees any more.
func (t *tuple) settled() bool {
	for _, it := range []*item{t.b, t.u, t.l} {
		if it != nil && !it.r.Settled() {
			return false
		}
	}
	return true
}

// DuplicateError is a resource that occurs twice in one file of one version,
// so that the change which upstream made to it has no single place to go.
type DuplicateError struct {
	Side     string // "base", "upstream" or "local"
	Path     string
	Resource krm.ID // by the merge comment where there is one
}

// Error names the resource and says what to do.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("found duplicate %q resources in file %q: %s is there more than once; "+
		"give the copy another name, or remove its %q comment", e.Side, e.Path, e.Resource, mergeComment)
}

// place is a resource's identity and where it is.
type place struct {
	path string
	key  krm.ID
}

func (i *item) place() place      { return place{i.path, i.key} }
func (i *item) loosePlace() place { return place{i.path, loose(i.key)} }

// loose is an identity in which no namespace means the default one, as some
// versions write it and others do not.
func loose(id krm.ID) krm.ID {
	if id.Namespace == api.DefaultNamespace {
		id.Namespace = ""
	}
	return id
}

// pairing matches the resources of three versions.
type pairing struct {
	sides [3][]*item

	// fixed are the identities in files that no side changed: a resource of
	// such a one is not looked for elsewhere.
	fixed identities

	// once are the identities that each version has once at most, noted when they
	// are first needed.
	once identities
}

// identities are sets of the two identities that a resource has.
type identities struct{ key, id map[krm.ID]bool }

// pairItems matches the resources of base to those of both sides, then what
// both sides added. Upstream identities come first: at one path, then anywhere,
// if each version has the identity only once, then at one path under another
// namespace. Rendered identities come second, in the same way: what a package
// holds that was rendered elsewhere names its upstream identity in no comment.
func pairItems(b, u, l []*item, fixed identities) []*tuple {
	p := &pairing{sides: [3][]*item{b, u, l}, fixed: fixed}
	tuples := make([]*tuple, 0, len(b))
	for _, it := range b {
		tuples = append(tuples, &tuple{b: it})
	}
	toU := func(t *tuple) **item { return &t.u }
	toL := func(t *tuple) **item { return &t.l }
	newU := p.join(tuples, u, toU)
	newL := p.join(tuples, l, toL)
	newU = p.join(tuples, newU, toU) // by what local is called
	for _, it := range newU {
		tuples = append(tuples, &tuple{u: it})
	}
	for _, it := range p.join(tuples[len(b):], newL, toL) {
		tuples = append(tuples, &tuple{l: it})
	}
	return tuples
}

// join puts the items of a version into the tuples that are about them, and
// returns those that no tuple is about.
func (p *pairing) join(tuples []*tuple, side []*item, to func(*tuple) **item) []*item {
	free := slices.DeleteFunc(slices.Clone(tuples), func(t *tuple) bool { return *to(t) != nil })
	m := matching{tuples: free, items: side, to: to}
	if kinds := p.rendered(free, side); len(kinds) > 0 {
		m.kinds = kinds
		p.byRendered(&m)
		m.kinds = nil
	}
	p.byUpstream(&m)
	p.byRendered(&m)
	p.byKind(&m)
	return m.items
}

// byUpstream matches by upstream identities.
func (p *pairing) byUpstream(m *matching) {
	m.tier((*tuple).origin, (*item).place)
	m.tier((*tuple).origin, (*item).loosePlace)
	m.tier((*tuple).origin, func(it *item) place {
		id := loose(it.key)
		if p.fixed.key[id] || !p.occursOnce().key[id] {
			return it.place() // a second look changes nothing
		}
		return place{key: id}
	})
	m.tier((*tuple).based, func(it *item) place { return place{it.path, anyNamespace(it.key)} })
}

// byRendered matches by rendered identities: those of a base that a pipeline wrote,
// then those of the other side.
func (p *pairing) byRendered(m *matching) {
	renamed := func(t *tuple) *item {
		if t.b == nil || t.b.key == t.b.id {
			return nil
		}
		return t.b
	}
	for _, known := range []func(*tuple) *item{
		renamed, func(t *tuple) *item { return t.u }, func(t *tuple) *item { return t.l }, (*tuple).based,
	} {
		m.tier(known, func(it *item) place { return place{it.path, loose(it.id)} })
		m.tier(known, func(it *item) place {
			id := loose(it.id)
			if p.fixed.id[id] || !p.occursOnce().id[id] {
				return place{it.path, id}
			}
			return place{key: id}
		})
		m.tier(func(t *tuple) *item {
			if t.b == nil { // both sides added them: they may be two things
				return nil
			}
			return known(t)
		}, func(it *item) place { return place{it.path, anyNamespace(it.id)} })
	}
}

// byKind matches what has no name on one side by its kind and its file: a resource
// that gets a name, or loses it, is the same one.
func (p *pairing) byKind(m *matching) {
	ofKind := func(it *item) place { return place{it.path, krm.ID{Group: it.id.Group, Kind: it.id.Kind}} }
	m.tier(func(t *tuple) *item {
		if t.b == nil || t.b.id.Name != "" {
			return nil
		}
		return t.b
	}, ofKind)
	m.tier(func(t *tuple) *item {
		if t.b == nil {
			return nil
		}
		return &item{path: t.b.path, id: ofKind(t.b).key}
	}, func(it *item) place { return place{it.path, it.id} })
}

// kindOf is a group and a kind.
type kindOf struct{ group, kind string }

func (i *item) kind() kindOf { return kindOf{i.id.Group, i.id.Kind} }

// rendered are the kinds of which a version has more by their rendered identities than by
// their upstream ones: where a pipeline renames a to b and b to c, b and c are
// what it made, and not the upstream's b beside another c.
func (p *pairing) rendered(tuples []*tuple, side []*item) map[kindOf]bool {
	var calls, names map[krm.ID]bool
	for _, t := range tuples {
		it := t.b
		if it != nil && it.key == it.id && t.u != nil {
			it = t.u
		}
		if it == nil || it.key == it.id {
			continue
		}
		if calls == nil {
			calls, names = map[krm.ID]bool{}, map[krm.ID]bool{}
		}
		calls[it.key], names[it.id] = true, true
	}
	if calls == nil {
		return nil // mostly
	}
	more := map[kindOf]int{}
	for _, it := range side {
		if it.key != it.id {
			continue
		}
		if names[it.id] {
			more[it.kind()]++
		}
		if calls[it.key] {
			more[it.kind()]--
		}
	}
	out := map[kindOf]bool{}
	for k, n := range more {
		if n > 0 {
			out[k] = true
		}
	}
	return out
}

// occursOnce notes the identities of all versions.
func (p *pairing) occursOnce() identities {
	if p.once.key == nil {
		p.once = identities{map[krm.ID]bool{}, map[krm.ID]bool{}}
		for _, side := range p.sides {
			noteOnce(p.once.key, side, func(it *item) krm.ID { return loose(it.key) })
			noteOnce(p.once.id, side, func(it *item) krm.ID { return loose(it.id) })
		}
	}
	return p.once
}

func noteOnce(once map[krm.ID]bool, side []*item, of func(*item) krm.ID) {
	seen := make(map[krm.ID]bool, len(side))
	for _, it := range side {
		id := of(it)
		if _, known := once[id]; !known {
			once[id] = true
		}
		if seen[id] {
			once[id] = false
		}
		seen[id] = true
	}
}

func anyNamespace(id krm.ID) krm.ID {
	id.Namespace = ""
	return id
}

// matching puts items into tuples, tier by tier: each matches what the ones before
// it left over.
type matching struct {
	tuples []*tuple
	items  []*item
	to     func(*tuple) **item
	kinds  map[kindOf]bool // that are looked at; nil is all
}

// tier matches what is left over and unique by a place. known is the item of a tuple
// that it goes by, nil where the tuple is left out.
func (m *matching) tier(known func(*tuple) *item, placeOf func(*item) place) {
	at, count := map[place]*item{}, map[place]int{}
	for _, it := range m.items {
		if m.kinds == nil || m.kinds[it.kind()] {
			k := placeOf(it)
			at[k] = it
			count[k]++
		}
	}
	if len(at) == 0 || len(m.tuples) == 0 {
		return
	}
	countT := map[place]int{}
	for _, t := range m.tuples {
		if it := known(t); it != nil {
			countT[placeOf(it)]++
		}
	}
	taken := map[*item]bool{}
	for _, t := range m.tuples {
		it := known(t)
		if it == nil {
			continue
		}
		if k := placeOf(it); countT[k] == 1 && count[k] == 1 {
			*m.to(t) = at[k]
			taken[at[k]] = true
		}
	}
	if len(taken) == 0 {
		return
	}
	m.items = slices.DeleteFunc(slices.Clone(m.items), func(it *item) bool { return taken[it] })
	m.tuples = slices.DeleteFunc(m.tuples, func(t *tuple) bool { return *m.to(t) != nil })
}
