package decide

import (
	"slices"
	"testing"
)

// A package that people moved is found by the owner that its Kptfile names.
func TestMovedOnBranch(t *testing.T) {
	published := func(owner string) *Package { return webPackage(tags(tag(1, 9)), publishedOf(1, 9, by(owner))) }
	for name, c := range map[string]struct {
		reason string
		p      *Package
		there  []OnBranch
		want   []string
	}{
		"moved":         {"it names its owner", published(webOwner), []OnBranch{{"api", "fleet/default/api"}, {"apps/web", webOwner}}, []string{"apps/web"}},
		"twice":         {"nobody knows which", published(webOwner), []OnBranch{{"a/web", webOwner}, {"b/web", webOwner}}, []string{"a/web", "b/web"}},
		"deleted":       {"what is there is others'", published(webOwner), []OnBranch{{"apps/web", "fleet/default/other"}, {"old", ""}}, nil},
		"of nobody":     {"all that nobody owns is not it", published(""), []OnBranch{{"old", ""}}, nil},
		"not Published": {"it never was on the branch", webPackage(nil, draftOf(1, 9)), []OnBranch{{"apps/web", webOwner}}, nil},
	} {
		if got := c.p.MovedTo(c.there); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
}
