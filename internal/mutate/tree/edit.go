package tree

import (
	"slices"
	"sort"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
)

// Edit applies change to a resource's tree, and to its file only where the
// result means something else. change must do the same on the same tree; it is
// tried on a copy first, so that its error leaves the resource as it was.
// Edit reports whether the resource changed.
func Edit(r *krm.Resource, change func(root *yaml.Node) error) (bool, error) {
	have := r.Node().YNode()
	trial := r.Node().Copy().YNode()
	if err := change(trial); err != nil {
		return false, err
	}
	if Equal(have, trial) {
		return false, nil
	}
	return true, change(r.Edit().YNode())
}

// SortBy orders a sequence's items by a text of theirs, those with equal
// texts as they were; items already in order are left alone.
func SortBy(seq *yaml.Node, text func(*yaml.Node) string) {
	less := func(i, j int) bool { return text(seq.Content[i]) < text(seq.Content[j]) }
	if sort.SliceIsSorted(seq.Content, less) {
		return
	}
	sort.SliceStable(seq.Content, less)
}

// DeleteFunc drops the items of a sequence that drop says to, and reports how many.
func DeleteFunc(seq *yaml.Node, drop func(*yaml.Node) bool) int {
	before := len(seq.Content)
	seq.Content = slices.DeleteFunc(seq.Content, drop)
	return before - len(seq.Content)
}
