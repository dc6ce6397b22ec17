// Package enginetest runs a container engine for tests, and makes images for it of
// a program of this machine, without a registry. What it makes goes with Close.
//
//	enginetest.Need(t)
//	err := enginetest.Load(exe, map[string][]string{"example.com/note:v1": {"/fn", "note"}})
package enginetest

import (
	"archive/tar"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// variable chooses the engine, as for kpt.
const variable = "KPT_FN_RUNTIME"

// Name is podman, or what the user has chosen for kpt.
var Name = cmp.Or(os.Getenv(variable), "podman")

// ErrNoEngine is an engine that does not work here.
var ErrNoEngine = errors.New(Name + " does not work here")

// conf lets podman run as root without the right to raise limits.
const conf = `[containers]
default_ulimits = ["nofile=1024:20000", "nproc=4096:32768"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
`

var (
	mu   sync.Mutex
	undo []func()
)

func atClose(f func()) {
	mu.Lock()
	defer mu.Unlock()
	undo = append(undo, f)
}

// Close removes the images that were loaded, and what Environ made.
func Close() {
	mu.Lock()
	defer mu.Unlock()
	for i := len(undo) - 1; i >= 0; i-- {
		undo[i]()
	}
	undo = nil
}

// Environ is what an engine needs beside this process's environment to work here.
var Environ = sync.OnceValue(func() []string {
	env := []string{variable + "=" + Name}
	if os.Getenv("CONTAINERS_CONF") != "" || os.Geteuid() != 0 {
		return env
	}
	file := filepath.Join(os.TempDir(), fmt.Sprintf("containers-%d.conf", os.Getpid()))
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		panic(err)
	}
	atClose(func() { _ = os.Remove(file) })
	return append(env, "CONTAINERS_CONF="+file)
})

// Run runs a command of the engine, and returns what it prints.
func Run(args ...string) (string, error) {
	cmd := exec.Command(Name, args...)
	cmd.Env = append(os.Environ(), Environ()...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Need skips the test where there is no engine.
func Need(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out the container runtime")
	}
	if _, err := exec.LookPath(Name); err != nil {
		t.Skipf("SKIPPED: %s is not on the PATH, the container runtime did not run", Name)
	}
}

// Load makes images that hold a static program as /fn and no more, by name with
// the command of each: they share their layer. It is ErrNoEngine where the engine
// takes none.
func Load(program string, commands map[string][]string) error {
	l, err := layer(program)
	if err != nil {
		return err
	}
	base, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		return err
	}
	rootfs, err := base.ConfigFile()
	if err != nil {
		return err
	}
	all := map[name.Tag]v1.Image{}
	for image, command := range commands {
		config := v1.Config{Entrypoint: command, Env: []string{"OF_THE_IMAGE=yes"}}
		img, err := mutate.ConfigFile(base, &v1.ConfigFile{OS: "linux", Architecture: runtime.GOARCH, RootFS: rootfs.RootFS, Config: config})
		if err != nil {
			return err
		}
		ref, err := name.NewTag(image)
		if err != nil {
			return err
		}
		all[ref] = img
	}
	dir, err := os.MkdirTemp("", "images")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	archive := filepath.Join(dir, "images.tar")
	if err := tarball.MultiWriteToFile(archive, all); err != nil {
		return err
	}
	atClose(func() {
		for ref := range all {
			_, _ = Run("rmi", "--force", ref.String())
		}
	})
	if out, err := Run("load", "-q", "-i", archive); err != nil {
		return fmt.Errorf("%w: %w: %s", ErrNoEngine, err, out)
	}
	return nil
}

func layer(program string) (v1.Layer, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, f := range []struct {
		name string
		data []byte
	}{{"fn", binary}, {"etc/passwd", []byte("nobody:x:65534:65534:nobody:/:/sbin/nologin\n")}} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.data))}))
		_, werr := w.Write(f.data)
		err = errors.Join(err, werr)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil })
}
