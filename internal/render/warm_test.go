package render

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An image that cannot be had is asked for once, however many variants need it, and
// again when some time has gone.
func TestFetchFails(t *testing.T) {
	dir := t.TempDir()
	calls, program := filepath.Join(dir, "calls"), filepath.Join(dir, "engine")
	script := "#!/bin/sh\necho \"$1\" >>" + calls + "\nif [ -e " + dir + "/there ] && [ \"$1\" = image ]; then echo '[{\"Id\": \"1\"}]'; exit 0; fi\necho no registry >&2\nexit 1\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	i := &image{
		engine: engine{name: "podman", file: program}, ref: reference{repository: "example.com/f"}, pull: PullIfNotPresent,
		folder: func() (string, error) { return dir, nil },
	}
	pulls := func() int {
		data, _ := os.ReadFile(calls)
		return strings.Count(string(data), "pull")
	}

	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := i.prepare(stopped); err == nil || i.failed != nil {
		t.Errorf("%v: what was stopped is not tried again", err)
	}
	for range 3 {
		if _, err := i.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "podman could not pull example.com/f") {
			t.Fatalf("%v", err)
		}
	}
	if n := pulls(); n != 1 {
		t.Errorf("pulled %d times", n)
	}
	i.failedAt = time.Now().Add(-fetchAgain)
	if _, err := i.prepare(t.Context()); err == nil || pulls() != 2 {
		t.Errorf("%v, pulled %d times", err, pulls())
	}
	if err := os.WriteFile(filepath.Join(dir, "there"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	i.failedAt = time.Now().Add(-fetchAgain)
	if c, err := i.prepare(t.Context()); err != nil || c.ID != "1" || i.failed != nil {
		t.Errorf("%v, %+v", err, c)
	}
}
