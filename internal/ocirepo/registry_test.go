package ocirepo

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/ocitest"
)

func TestDockerRegistry(t *testing.T) {
	addr := ocitest.Registry(t)
	ctx := context.Background()
	store := NewStore(Options{CacheDir: t.TempDir(), Retry: quick})
	repo, err := store.Open(addr + "/blueprints")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Resolve(ctx, Query{Package: "team/app", Revision: "v1"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("before the first push: %v", err)
	}
	repo.Refresh()
	pushed := map[string]Pushed{}
	for _, tag := range []string{"v1", "v2", "v1.0.0", "v1.1.0"} {
		pushed[tag] = push(t, store, addr+"/blueprints/team/app:"+tag, kpt("app", tag))
	}
	if again := push(t, store, addr+"/blueprints/team/app:v2", kpt("app", "v2")); !again.Existed || again.Digest != pushed["v2"].Digest {
		t.Errorf("again: %+v", again)
	}
	if _, err := store.Push(ctx, addr+"/blueprints/team/app:v2", parse(t, kpt("app", "other")), PushOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("another package: %v", err)
	}
	if got, err := repo.Packages(ctx); err != nil || !cmp.Equal(got, []string{"team/app"}) {
		t.Errorf("packages: %v, %v", got, err)
	}
	for revision, tag := range map[string]string{"": "v2", "1": "v1", "^1": "v1.1.0"} {
		at, err := repo.Resolve(ctx, Query{Package: "team/app", Revision: revision})
		if err != nil || at.Tag != tag || at.Digest != pushed[tag].Digest {
			t.Errorf("revision %q: %+v, %v", revision, at, err)
			continue
		}
		p, err := repo.ReadPackage(ctx, "team/app", at.Digest)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(kpt("app", tag), textsOf(t, p)); diff != "" {
			t.Errorf("%s (-pushed +read):\n%s", tag, diff)
		}
	}
	manifests, err := repo.Manifests(ctx, "team/app")
	if err != nil || len(manifests) != 4 {
		t.Fatalf("manifests: %v, %v", manifests, err)
	}
	for _, m := range manifests {
		if m.Err != nil || string(m.Data) != kpt("app", m.Tag)["package.yaml"] {
			t.Errorf("%s: %q, %v", m.Tag, m.Data, m.Err)
		}
	}
}
