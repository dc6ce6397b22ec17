package pulls

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
)

// Content is what a request is opened with.
type Content struct {
	Title, Body string
	Opening
}

// Opening is what a request gets when it is opened: afterwards that is people's.
type Opening struct {
	Draft     bool // nobody is to merge it yet
	Labels    []string
	Assignees []string
	Reviewers []string // people, and teams as organisation/team
	// AutoMerge is the style in which the forge is to merge it by itself, "" for not at
	// all. A request has it where all its Drafts ask for the same.
	AutoMerge string
}

// with adds what another Draft of the same request asks for.
func (o Opening) with(other Opening) Opening {
	return Opening{
		Draft: o.Draft || other.Draft, Labels: union(o.Labels, other.Labels),
		Assignees: union(o.Assignees, other.Assignees), Reviewers: union(o.Reviewers, other.Reviewers),
	}
}

// union is sorted.
func union(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// OpeningOf reads the annotations of what a Draft comes from: each adds to the others.
func OpeningOf(annotations ...map[string]string) (o Opening) {
	for _, a := range annotations {
		o = o.with(Opening{
			Draft: a[v1alpha1.ReviewDraftAnnotation] == "true", Labels: listed(a[v1alpha1.ReviewLabelsAnnotation]),
			Assignees: people(a[v1alpha1.AssigneesAnnotation]), Reviewers: people(a[v1alpha1.ReviewersAnnotation]),
		})
	}
	for _, a := range annotations { // what is said nearest counts
		o.AutoMerge = cmp.Or(a[v1alpha1.ReviewAutoMergeAnnotation], o.AutoMerge)
	}
	if o.AutoMerge == v1alpha1.AutoMergeNever {
		o.AutoMerge = ""
	}
	return o
}

// listed are the words of a list with commas between them.
func listed(text string) (out []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// people are names, as they are or as they are mentioned.
func people(text string) (out []string) {
	for _, name := range listed(text) {
		out = append(out, strings.TrimPrefix(name, "@"))
	}
	return out
}

// ErrNothing says that a head has nothing that the registered branch lacks.
var ErrNothing = errors.New("there is nothing to merge: its branch has no commit that the registered branch lacks")
