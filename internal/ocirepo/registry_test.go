package ocirepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// dockerRegistry starts Debian's registry, which has other habits than the one in process.
func dockerRegistry(t *testing.T) (addr string) {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("SKIPPED: docker-registry is not on the PATH, so that packages went through the registry in process alone (apt-get install docker-registry)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: %q, secret: test}\n", filepath.Join(dir, "data"), addr)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(program, "serve", config)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for range 200 {
		if resp, err := http.Get("http://" + addr + "/v2/"); err == nil {
			_ = resp.Body.Close()
			return addr
		}
		time.Sleep(50 * time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	t.Fatalf("docker-registry does not answer:\n%s", out.String())
	return ""
}

func TestDockerRegistry(t *testing.T) {
	addr := dockerRegistry(t)
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
		if diff := cmp.Diff(kpt("app", tag), contents(t, p)); diff != "" {
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
