package lifecycle_test

import (
	"fmt"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/lifecycle"
)

func Example() {
	revisions := []lifecycle.Revision{
		{Repository: "cluster-01", Package: "web", Workspace: "packagevariant-1", Revision: 1, Phase: lifecycle.Published, Owners: []string{"fleet/default/web"}},
		{Repository: "cluster-01", Package: "web", Workspace: "packagevariant-2", Phase: lifecycle.Draft, Owners: []string{"fleet/default/web"}},
		{Repository: "cluster-01", Package: "web", Workspace: "mine", Phase: lifecycle.Draft},
	}
	s := lifecycle.Downstream("fleet/default/web", "cluster-01", "web", v1alpha1.AdoptNone, revisions)
	fmt.Println(s.Continue[0].Workspace, "goes on;", s.Foreign[0].Workspace, "is somebody else's")
	fmt.Println(lifecycle.NextWorkspace("packagevariant-1", "packagevariant-2"))
	// Output:
	// packagevariant-2 goes on; mine is somebody else's
	// packagevariant-3
}
