package krm

import (
	"sort"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// lcsCells bounds the table of the exact comparison of two sequences; longer
// ones are matched greedily, in linear time.
const lcsCells = 1 << 16

// align pairs the items of two sequences, in order: for each of n the index in
// o of the item that it came from, -1 for a new one. Equal items come first,
// then those between them that share an identifying field, then neighbours.
func align(o, n []*yaml.Node) []int {
	pairs := make([]int, len(n))
	for j := range pairs {
		pairs[j] = -1
	}
	start := 0
	for start < min(len(o), len(n)) && yamltree.SameValue(o[start], n[start]) {
		pairs[start] = start
		start++
	}
	oe, ne := len(o), len(n)
	for oe > start && ne > start && yamltree.SameValue(o[oe-1], n[ne-1]) {
		oe--
		ne--
		pairs[ne] = oe
	}
	matchEqual(o[start:oe], n[start:ne], pairs[start:ne], start)
	oi, nj := start, start
	for j := start; j <= ne; j++ {
		if j < ne && pairs[j] < 0 {
			continue
		}
		to := oe
		if j < ne {
			to = pairs[j]
		}
		matchSimilar(o[oi:to], n[nj:j], pairs[nj:j], oi)
		oi, nj = to+1, j+1
	}
	return pairs
}

// matchEqual pairs equal items; pairs holds indexes into o plus base.
func matchEqual(o, n []*yaml.Node, pairs []int, base int) {
	if len(o) == 0 || len(n) == 0 {
		return
	}
	a, b := hashes(o), hashes(n)
	if len(a)*len(b) <= lcsCells {
		longest(a, b, pairs, base)
		return
	}
	where := map[uint64][]int{}
	for i, h := range a {
		where[h] = append(where[h], i)
	}
	next := 0
	for j, h := range b {
		w := where[h]
		if k := sort.SearchInts(w, next); k < len(w) {
			pairs[j] = w[k] + base
			next = w[k] + 1
		}
	}
}

func hashes(items []*yaml.Node) []uint64 {
	out := make([]uint64, len(items))
	for i, n := range items {
		out[i] = yamltree.Hash(n)
	}
	return out
}

// longest pairs the items of a longest common subsequence.
func longest(a, b []uint64, pairs []int, base int) {
	width := len(b) + 1
	table := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs[j] = i + base
			i++
			j++
		case table[(i+1)*width+j] >= table[i*width+j+1]:
			i++
		default:
			j++
		}
	}
}

// identifying are fields that tell the items of a list apart.
var identifying = []string{"name", "mountPath", "key", "containerPort", "port", "image", "id"}

// matchSimilar pairs items between two equal ones.
func matchSimilar(o, n []*yaml.Node, pairs []int, base int) {
	if len(o) == 0 || len(n) == 0 {
		return
	}
	for _, f := range identifying {
		a, b := values(o, f), values(n, f)
		if a == nil || b == nil {
			continue
		}
		matchValues(o, n, a, b, pairs, base)
		return
	}
	for j := range min(len(o), len(n)) {
		pairs[j] = base + j
	}
}

// values returns a field of each item; nil where one has none.
func values(items []*yaml.Node, name string) []string {
	out := make([]string, len(items))
	for i, n := range items {
		v := yamltree.Child(n, name)
		if v == nil || v.Kind != yaml.ScalarNode {
			return nil
		}
		out[i] = v.Value
	}
	return out
}

// matchValues pairs items with equal values in order, then those between them
// where both sides have as many.
func matchValues(o, n []*yaml.Node, a, b []string, pairs []int, base int) {
	where := map[string][]int{}
	for i, v := range a {
		where[v] = append(where[v], i)
	}
	oi, nj := 0, 0
	rest := func(to, j int) {
		if to-oi == j-nj {
			for k := nj; k < j; k++ {
				pairs[k] = base + oi + k - nj
			}
		}
	}
	for j, v := range b {
		w := where[v]
		if k := sort.SearchInts(w, oi); k < len(w) {
			rest(w[k], j)
			pairs[j] = base + w[k]
			oi, nj = w[k]+1, j+1
		}
	}
	rest(len(o), len(n))
}
