// Package ocitest starts Debian's docker-registry for tests, which has other
// habits than the registry in process: no Referrers API above all.
//
//	addr := ocitest.Registry(t)
package ocitest

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Registry starts a docker-registry that keeps nothing and returns its address,
// "127.0.0.1:port". It ends with the test, which is skipped where the program is
// not there.
func Registry(t testing.TB) (addr string) {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		t.Skip("SKIPPED: docker-registry is not on the PATH, so that only the registry in process is tested (apt-get install docker-registry)")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: %q, secret: test, relativeurls: true}\n", filepath.Join(dir, "data"), addr)
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
	stop := func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(stop)
	for range 400 {
		if resp, err := http.Get("http://" + addr + "/v2/"); err == nil {
			_ = resp.Body.Close()
			return addr
		}
		time.Sleep(50 * time.Millisecond)
	}
	stop()
	t.Fatalf("docker-registry does not answer:\n%s", out.String())
	return ""
}
