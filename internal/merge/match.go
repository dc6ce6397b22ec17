package merge

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// matcher says which items of two versions of a list are the same thing.
type matcher struct {
	tiers []tier
	added int                     // how many of the tiers match what both sides added
	label func(*yaml.Node) string // the item in a field path: "name=app"
	id    func(*yaml.Node) string // what makes it another item
}

// tier is one way to identify items. The tiers are tried in order, each on
// what the ones before it left over.
type tier struct {
	key func(*yaml.Node) string // "" is no candidate

	// inOrder pairs items that share a key by their order, where both versions
	// have as many; without it a key must be unique.
	inOrder bool
}

// pair matches the items of a to those of b and returns for each of a the
// index in b, or -1.
func (m *matcher) pair(a, b []*yaml.Node) []int {
	ab := make([]int, len(a))
	for i := range ab {
		ab[i] = -1
	}
	taken := make([]bool, len(b))
	for _, t := range m.tiers {
		t.pair(a, b, ab, taken)
	}
	return ab
}

func (t tier) pair(a, b []*yaml.Node, ab []int, taken []bool) {
	groups := map[string][]int{}
	for j, n := range b {
		if taken[j] {
			continue
		}
		if k := t.key(n); k != "" {
			groups[k] = append(groups[k], j)
		}
	}
	mine := map[string][]int{}
	var keys []string
	for i, n := range a {
		if ab[i] >= 0 {
			continue
		}
		k := t.key(n)
		if k == "" || groups[k] == nil {
			continue
		}
		if mine[k] == nil {
			keys = append(keys, k)
		}
		mine[k] = append(mine[k], i)
	}
	for _, k := range keys {
		is, js := mine[k], groups[k]
		if len(is) == 1 && len(js) == 1 {
			ab[is[0]], taken[js[0]] = js[0], true
			continue
		}
		if t.inOrder {
			pairGroup(a, b, is, js, ab, taken)
		}
	}
}

// pairGroup matches items of one key: the equal ones first, then the rest by
// order where both versions have as many.
func pairGroup(a, b []*yaml.Node, is, js []int, ab []int, taken []bool) {
	byDigest := map[uint64][]int{}
	for _, j := range js {
		d := yamltree.Hash(b[j])
		byDigest[d] = append(byDigest[d], j)
	}
	for _, i := range is {
		if c := byDigest[yamltree.Hash(a[i])]; len(c) > 0 {
			ab[i], taken[c[0]] = c[0], true
			byDigest[yamltree.Hash(a[i])] = c[1:]
		}
	}
	var ri, rj []int
	for _, i := range is {
		if ab[i] < 0 {
			ri = append(ri, i)
		}
	}
	for _, j := range js {
		if !taken[j] {
			rj = append(rj, j)
		}
	}
	if len(ri) != len(rj) {
		return
	}
	for n, i := range ri {
		ab[i], taken[rj[n]] = rj[n], true
	}
}

// matcherFor chooses how the items of a list are identified: by the merge keys
// of their schema, else by a field that identifies them in all versions. It
// returns nil for lists of scalars and where no field does.
func matcherFor(f schemaField, lists ...*yaml.Node) *matcher {
	var items []*yaml.Node
	for _, l := range lists {
		if yamltree.IsSeq(l) {
			items = append(items, l.Content...)
		}
	}
	if len(items) == 0 {
		return nil
	}
	for _, it := range items {
		if !yamltree.IsMap(it) {
			return nil
		}
	}
	if f.functions {
		return functionMatcher
	}
	if len(f.keys) > 0 && allHave(items, f.keys[:1]) {
		return keyMatcher(f.keys)
	}
	for _, keys := range guesses {
		if allHave(items, keys) && uniqueIn(keys, lists) {
			return keyMatcher(keys)
		}
	}
	return nil
}

// guesses are the fields that identify the items of a list without a schema,
// the likeliest first.
var guesses = [][]string{
	{"name"},
	{"id"},
	{"key"},
	{"type"},
	{"conditionType"},
	{"alias"},
	{"mountPath"},
	{"devicePath"},
	{"containerPort"},
	{"ip"},
	{"topologyKey"},
	{"host"},
	{"path"},
	{"port"},
	{"url"},
	{"name", "kind"},
	{"name", "namespace"},
	{"name", "namespace", "kind"},
	{"host", "path"},
	{"port", "protocol"},
	{"kind", "group"},
	{"kind", "apiVersion"},
	{"kind"},
}

func allHave(items []*yaml.Node, keys []string) bool {
	for _, it := range items {
		for _, k := range keys {
			if yamltree.Text(it, k) == "" {
				return false
			}
		}
	}
	return true
}

func uniqueIn(keys []string, lists []*yaml.Node) bool {
	id := joined(keys)
	for _, l := range lists {
		if l == nil {
			continue
		}
		seen := make(map[string]bool, len(l.Content))
		for _, it := range l.Content {
			k := id(it)
			if seen[k] {
				return false
			}
			seen[k] = true
		}
	}
	return true
}

// keyMatcher matches by all keys, then by the primary one alone (a port whose
// protocol changed), then by name (a named port whose number changed).
func keyMatcher(keys []string) *matcher {
	m := &matcher{id: joined(keys), label: label(keys), added: 1}
	m.tiers = []tier{{key: m.id, inOrder: true}}
	if len(keys) > 1 {
		m.tiers = append(m.tiers, tier{key: joined(keys[:1])})
	}
	if keys[0] != "name" {
		m.tiers = append(m.tiers, tier{key: joined([]string{"name"})})
	}
	return m
}

// joined returns the values of fields as one key; "" where the first is
// missing. A protocol is TCP unless it says otherwise.
func joined(keys []string) func(*yaml.Node) string {
	if len(keys) == 1 {
		return func(n *yaml.Node) string { return yamltree.Text(n, keys[0]) }
	}
	return func(n *yaml.Node) string {
		var b strings.Builder
		for i, k := range keys {
			v := yamltree.Text(n, k)
			if v == "" && i == 0 {
				return ""
			}
			if v == "" && k == "protocol" {
				v = "TCP"
			}
			b.WriteString(v)
			b.WriteByte(0)
		}
		return b.String()
	}
}

func label(keys []string) func(*yaml.Node) string {
	return func(n *yaml.Node) string {
		var parts []string
		for _, k := range keys {
			if v := yamltree.Text(n, k); v != "" {
				parts = append(parts, k+"="+v)
			}
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
}

// functionMatcher matches the functions of a pipeline by name, then by image
// without its tag or by executable, as kpt does; of several with one image, the
// equal ones first, then by order.
var functionMatcher = &matcher{
	added: 2,
	id: func(n *yaml.Node) string {
		if name := yamltree.Text(n, "name"); name != "" {
			return "name " + name
		}
		return program(n)
	},
	label: func(n *yaml.Node) string {
		if name := yamltree.Text(n, "name"); name != "" {
			return "[name=" + name + "]"
		}
		return "[" + program(n) + "]"
	},
	tiers: []tier{
		{key: joined([]string{"name"}), inOrder: true},
		{key: func(n *yaml.Node) string {
			if yamltree.Text(n, "name") != "" {
				return ""
			}
			return program(n)
		}, inOrder: true},
		{key: program},
	},
}

// program is what a function runs: "image=registry/path" or "exec=path".
func program(n *yaml.Node) string {
	if e := yamltree.Text(n, "exec"); e != "" {
		return "exec=" + e
	}
	image, _, _ := strings.Cut(yamltree.Text(n, "image"), "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	if image == "" {
		return ""
	}
	return "image=" + image
}
