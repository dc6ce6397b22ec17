package lifecycle

import (
	"testing"

	"github.com/variform/variform/api/config/v1alpha1"
)

func TestNextWorkspace(t *testing.T) {
	for want, used := range map[string][]string{
		"packagevariant-1":   nil,
		"packagevariant-4":   {"packagevariant-3", "packagevariant-1", "v9", "packagevariant-"},
		"packagevariant-101": {"packagevariant-90", "packagevariant-100", "packagevariant-0200", "packagevariant-+300", "packagevariant--400"},
	} {
		if got := NextWorkspace(used...); got != want {
			t.Errorf("NextWorkspace(%q) = %q, want %q", used, got, want)
		}
	}
}

func TestFindUpstream(t *testing.T) {
	revisions := []Revision{
		{Name: "branch", Repository: "r", Package: "p", Workspace: "main", Revision: -1, Phase: Published},
		{Name: "one", Repository: "r", Package: "p", Workspace: "ws1", Revision: 1, Phase: Published},
		{Name: "three", Repository: "r", Package: "p", Workspace: "ws3", Revision: 3, Phase: Published},
		{Name: "draft", Repository: "r", Package: "p", Workspace: "ws4", Phase: Draft},
		{Name: "other", Repository: "r", Package: "q", Workspace: "ws1", Revision: 9, Phase: Published},
	}
	for name, tt := range map[string]struct {
		revision, workspace, want string
	}{
		"highest published":        {"", "", "three"},
		"latest":                   {"latest", "", "three"},
		"number":                   {"1", "", "one"},
		"v and number":             {"v3", "", "three"},
		"workspace":                {"", "ws4", "draft"},
		"a workspace as revision":  {"ws1", "", "one"},
		"workspace beats revision": {"9", "ws1", "one"},
		"no such number":           {"2", "", ""},
		"no such workspace":        {"", "ws9", ""},
		"zero is no revision":      {"0", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			u := v1alpha1.Upstream{Repo: "r", Package: "p", Revision: v1alpha1.Revision(tt.revision), WorkspaceName: tt.workspace}
			got, err := FindUpstream(u, revisions)
			if got.Name != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q (%v), want %q", got.Name, err, tt.want)
			}
		})
	}
}
