package pulls

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a Draft comes from adds up, and so do the Drafts of a request.
func TestOpening(t *testing.T) {
	repository := map[string]string{"variform.dev/reviewers": "@team/platform, ann", "variform.dev/review-labels": "fleet,good first issue ,"}
	set := map[string]string{"variform.dev/reviewers": "ann,bob", "variform.dev/assignees": "@carl", "variform.dev/review-draft": "true"}
	got := OpeningOf(repository, set, nil)
	want := Opening{Draft: true, Labels: []string{"fleet", "good first issue"}, Assignees: []string{"carl"}, Reviewers: []string{"ann", "bob", "team/platform"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := OpeningOf(map[string]string{"variform.dev/review-draft": "false"}); got.Draft {
		t.Error("a draft")
	}
	a, b := draft("alpha", "1", "k"), draft("beta", "2", "k")
	a.Opening, b.Opening = OpeningOf(repository), OpeningOf(set)
	if d := cmp.Diff(want, Group(ByClass, "fleet", []Draft{b, a})[0].Opening); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A class is one request for each of its packages' owners.
func TestOwners(t *testing.T) {
	a, b, c := draft("alpha", "1", "k"), draft("beta", "2", "k"), draft("gamma", "3", "k")
	a.Owners, b.Owners = []string{"@a", "@b"}, []string{"@a", "@b"}
	for mode, want := range map[Mode][][]string{
		ByClass:      {{"c1/gamma"}, {"c1/alpha", "c1/beta"}},
		ByRepository: {{"c1/alpha", "c1/beta", "c1/gamma"}},
		ByVariant:    {{"c1/alpha"}, {"c1/beta"}, {"c1/gamma"}},
	} {
		var got [][]string
		for _, r := range Group(mode, "fleet", []Draft{a, b, c}) {
			var names []string
			for _, d := range r.Drafts {
				names = append(names, d.Name)
			}
			got = append(got, names)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got:\n%s", mode, d)
		}
	}
	c.Owners = []string{"@c"}
	if one, other := Head(ByClass, "fleet", a), Head(ByClass, "fleet", c); one == other || one == "variform/fleet/k" {
		t.Errorf("%s, %s", one, other)
	}
}
