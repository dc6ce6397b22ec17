package mutate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// TestUpstreamNodes compares the trees that are built by hand with what the
// types' own encoding gives.
func TestUpstreamNodes(t *testing.T) {
	git := &kptfilev1.Git{Repo: "https://example.com/c.git", Directory: "/app", Ref: "1.0"}
	lock := &kptfilev1.GitLock{Repo: git.Repo, Directory: "/", Ref: "app/v1", Commit: "0123456789012345678901234567890123456789"}
	cases := map[string]struct {
		typed any
		built *yaml.Node
	}{
		"upstream": {
			&kptfilev1.Upstream{Type: kptfilev1.GitOrigin, Git: git, UpdateStrategy: kptfilev1.FastForward},
			upstreamNode(&kptfilev1.Upstream{Type: kptfilev1.GitOrigin, Git: git, UpdateStrategy: kptfilev1.FastForward}),
		},
		"lock":    {&kptfilev1.Locator{Type: kptfilev1.GitOrigin, Git: lock}, lockNode(&kptfilev1.Locator{Type: kptfilev1.GitOrigin, Git: lock})},
		"generic": {&kptfilev1.Locator{Generic: generic}, lockNode(&kptfilev1.Locator{Generic: generic})},
		"empty":   {&kptfilev1.Locator{}, lockNode(&kptfilev1.Locator{})},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			want, err := encode(c.typed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(t, want), plain(t, c.built)); diff != "" {
				t.Errorf("another tree than the type's (-want +got):\n%s", diff)
			}
		})
	}
}

var generic = &kptfilev1.GenericLock{StoreID: "DB", ResourceID: "yes", ResourceVersion: "7"}

func plain(t *testing.T, n *yaml.Node) any {
	t.Helper()
	var out any
	if err := n.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}
