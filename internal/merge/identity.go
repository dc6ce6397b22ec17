package merge

import (
	"fmt"
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
	key  krm.ID // by the merge comment where there is one
}

func newItem(r *krm.Resource) *item {
	return &item{r: r, path: r.Path(), key: identity(r)}
}

func (i *item) tree() *yaml.Node {
	if i == nil {
		return nil
	}
	return i.r.Node().YNode()
}

// shown is the identity for people: the resource's own name.
func (i *item) shown() krm.ID {
	return i.r.ID()
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

func metadataKey(n *yaml.Node) *yaml.Node {
	i := yamltree.Index(n, yaml.MetadataField)
	if i < 0 {
		return nil
	}
	return n.Content[i]
}

// tuple is one resource in up to three versions.
type tuple struct{ b, u, l *item }

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
	// fixed are the identities in files that no side changed: a resource of
	// such a one is not looked for elsewhere.
	fixed map[krm.ID]bool

	// once are the identities that each version has once at most.
	once map[krm.ID]bool
}

// pairItems matches the resources of base to those of both sides, then what
// both sides added: at one path first, then anywhere, if each version has the
// identity only once, then at one path under another namespace.
func pairItems(b, u, l []*item, fixed map[krm.ID]bool) []*tuple {
	p := &pairing{fixed: fixed, once: map[krm.ID]bool{}}
	for _, side := range [][]*item{b, u, l} {
		p.noteOnce(side)
	}
	bu, bl := p.moved(b, u), p.moved(b, l)
	tuples := make([]*tuple, 0, len(b))
	usedU, usedL := make([]bool, len(u)), make([]bool, len(l))
	for i, it := range b {
		t := &tuple{b: it}
		if j := bu[i]; j >= 0 {
			t.u, usedU[j] = u[j], true
		}
		if k := bl[i]; k >= 0 {
			t.l, usedL[k] = l[k], true
		}
		tuples = append(tuples, t)
	}
	newU, newL := unused(u, usedU), unused(l, usedL)
	paired := make([]bool, len(newL))
	for i, j := range p.sides(newU, newL) {
		t := &tuple{u: newU[i]}
		if j >= 0 {
			t.l, paired[j] = newL[j], true
		}
		tuples = append(tuples, t)
	}
	for _, it := range unused(newL, paired) {
		tuples = append(tuples, &tuple{l: it})
	}
	return tuples
}

func (p *pairing) noteOnce(side []*item) {
	seen := make(map[krm.ID]bool, len(side))
	for _, it := range side {
		id := loose(it.key)
		if _, known := p.once[id]; !known {
			p.once[id] = true
		}
		if seen[id] {
			p.once[id] = false
		}
		seen[id] = true
	}
}

func unused(items []*item, used []bool) []*item {
	var out []*item
	for i, it := range items {
		if !used[i] {
			out = append(out, it)
		}
	}
	return out
}

// sides matches two versions.
func (p *pairing) sides(a, b []*item) []int {
	ab := make([]int, len(a))
	for i := range ab {
		ab[i] = -1
	}
	taken := make([]bool, len(b))
	pairTier(a, b, ab, taken, (*item).place)
	pairTier(a, b, ab, taken, (*item).loosePlace)
	pairTier(a, b, ab, taken, func(it *item) place {
		id := loose(it.key)
		if p.fixed[id] || !p.once[id] {
			return place{path: it.path, key: it.key} // a second look changes nothing
		}
		return place{key: id}
	})
	return ab
}

// moved matches base to one side: as sides does, then what is left at one path
// and differs in its namespace alone. A pipeline set it there, or one of the
// versions leaves it out. What both sides added is not matched like that: it may
// be two things.
func (p *pairing) moved(b, side []*item) []int {
	out := p.sides(b, side)
	taken := make([]bool, len(side))
	for _, j := range out {
		if j >= 0 {
			taken[j] = true
		}
	}
	pairTier(b, side, out, taken, func(it *item) place {
		id := it.key
		id.Namespace = ""
		return place{it.path, id}
	})
	return out
}

// pairTier matches what is left over and unique by a key.
func pairTier(a, b []*item, ab []int, taken []bool, keyOf func(*item) place) {
	countA, countB := map[place]int{}, map[place]int{}
	at := map[place]int{}
	for j, it := range b {
		if !taken[j] {
			k := keyOf(it)
			countB[k]++
			at[k] = j
		}
	}
	if len(at) == 0 {
		return
	}
	for i, it := range a {
		if ab[i] < 0 {
			countA[keyOf(it)]++
		}
	}
	for i, it := range a {
		if ab[i] >= 0 {
			continue
		}
		if k := keyOf(it); countA[k] == 1 && countB[k] == 1 && !taken[at[k]] {
			ab[i], taken[at[k]] = at[k], true
		}
	}
}
