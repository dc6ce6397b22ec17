package mutate

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
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
		"image":   {ImageLock("registry.example.com/c/app", "v1", digest), lockNode(ImageLock("registry.example.com/c/app", "v1", digest))},
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

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// kpt's own type, read strictly, takes what is written for an image.
func TestImageLockIsKpts(t *testing.T) {
	lock := ImageLock("registry.example.com/c/app", "stable", digest)
	p, err := krm.Parse([]krm.File{{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\nupstreamLock:\n  type: git\n  git:\n    repo: https://example.com/c.git\n    directory: /app\n    ref: main\n    commit: \"01\"\n")}})
	if err != nil {
		t.Fatal(err)
	}
	upstream := &kptfilev1.Upstream{Type: lock.Type, Git: &kptfilev1.Git{Repo: lock.Git.Repo, Directory: lock.Git.Directory, Ref: lock.Git.Ref}}
	if err := SetUpstream(p, upstream, lock); err != nil {
		t.Fatal(err)
	}
	f, _ := p.Read("Kptfile")
	var k kptfilev1.KptFile
	strict := yaml.NewDecoder(bytes.NewReader(f.Data))
	strict.KnownFields(true)
	if err := strict.Decode(&k); err != nil {
		t.Fatalf("%v\n%s", err, f.Data)
	}
	if diff := cmp.Diff(lock, k.UpstreamLock); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if image, ok := Image(Lock(&k)); !ok || image != "registry.example.com/c/app" {
		t.Errorf("image %q, %t", image, ok)
	}
	if image, ok := Image(&kptfilev1.GitLock{Repo: "https://example.com/c.git"}); ok {
		t.Errorf("Git is the image %q", image)
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

// What a function did to where a package comes from is set back.
func TestKeepUpstream(t *testing.T) {
	const head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"
	const upstream = "upstream:\n  type: git\n  git: {repo: https://example.com/c.git, directory: /app, ref: %s}\n  updateStrategy: resource-merge\n"
	const lock = "upstreamLock:\n  type: git\n  git: {repo: https://example.com/c.git, directory: /app, ref: %s, commit: \"01\"}\n"
	both := fmt.Sprintf(upstream+lock, "v1", "v1")
	for name, is := range map[string]string{
		"neither changed":      both,
		"the upstream changed": fmt.Sprintf(upstream+lock, "v2", "v1"),
		"the lock changed":     fmt.Sprintf(upstream+lock, "v1", "v2"),
		"the upstream is gone": fmt.Sprintf(lock, "v1"),
		"the lock is gone":     fmt.Sprintf(upstream, "v1"),
		"both are gone":        "",
	} {
		for _, had := range []string{both, ""} {
			t.Run(fmt.Sprintf("%s, was there: %t", name, had != ""), func(t *testing.T) {
				of, p := kptfilePackage(t, head+had), kptfilePackage(t, head+is+"info:\n  description: by the function\n")
				if err := KeepUpstream(p, of); err != nil {
					t.Fatal(err)
				}
				want, err := Read(of, "")
				if err != nil {
					t.Fatal(err)
				}
				got, err := Read(p, "")
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff([]any{want.Upstream, want.UpstreamLock, "by the function"}, []any{got.Upstream, got.UpstreamLock, got.Info.Description}); d != "" {
					t.Errorf("-want +got:\n%s", d)
				}
				if f, _ := p.Read("Kptfile"); is == had && string(f.Data) != head+is+"info:\n  description: by the function\n" {
					t.Errorf("it was written anew:\n%s", f.Data)
				}
			})
		}
	}
	of, p := kptfilePackage(t, head+"upstream: [a]\n"), kptfilePackage(t, head)
	if err := KeepUpstream(p, of); !errors.Is(err, ErrNoKptfile) {
		t.Errorf("an upstream of another shape: %v", err)
	}
}

func kptfilePackage(t *testing.T, text string) *krm.Package {
	t.Helper()
	p, err := krm.Parse([]krm.File{{Path: "Kptfile", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
