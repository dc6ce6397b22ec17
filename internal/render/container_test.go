package render

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// engineConf lets podman run as root without the right to raise limits.
const engineConf = `[containers]
default_ulimits = ["nofile=1024:20000", "nproc=4096:32768"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
`

// podman is the environment of a podman that works here; the test is skipped
// where there is none, or where the test binary cannot run in an empty image.
func podman(t *testing.T) []string {
	t.Helper()
	if _, err := exec.LookPath("podman"); err != nil {
		t.Skip("SKIPPED: podman is not on the PATH, the container runtime did not run")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(exe)
	if err != nil {
		t.Skipf("SKIPPED: the test binary is no ELF file: %v", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Skip("SKIPPED: the test binary is not static; run with CGO_ENABLED=0 to run it in a container")
		}
	}
	conf := filepath.Join(t.TempDir(), "containers.conf")
	if err := os.WriteFile(conf, []byte(engineConf), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "CONTAINERS_CONF="+conf, engineVariable+"=podman")
}

// loadImage makes an image of the test binary as one function and loads it.
func loadImage(t *testing.T, env []string, tag, fnName string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for file, content := range map[string][]byte{"fn": program, "etc/passwd": []byte("nobody:x:65534:65534:nobody:/:/sbin/nologin\n")} {
		if err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layer.Bytes())), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	img, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		t.Fatal(err)
	}
	img, err = mutate.Config(img, v1.Config{Entrypoint: []string{"/fn", runFunction, fnName}})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(tag)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(archive, ref, img); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("podman", "load", "-q", "-i", archive)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: podman does not work here: %v\n%s", err, out)
	}
}

func TestContainer(t *testing.T) {
	env := podman(t)
	const note, exit3, gone = "example.com/test/note:v1", "example.com/test/exit3:v1", "example.com/test/gone:v1"
	loadImage(t, env, note, "note")
	loadImage(t, env, exit3, "exit3")
	render := func(image string) (*Result, error) {
		p := pkg(t, map[string]string{"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - image: "+image+"\n    configMap: {k: v}\n"), "a.yaml": configMap("a # kept")})
		return New(Options{Environ: env, ImagePullPolicy: PullNever, AllowedImages: []string{"example.com/test/*"}}).Render(context.Background(), p)
	}
	res, err := render(note)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, res.Package)["a.yaml"], configMap("a # kept")+"  annotations:\n    k: v\n"; got != want {
		t.Errorf("got:\n%s", got)
	}
	if res.Functions[0].Runtime != "container" {
		t.Errorf("runtime %q", res.Functions[0].Runtime)
	}
	var fe *FunctionError
	if _, err := render(exit3); !errors.As(err, &fe) || fe.ExitCode != 3 || !strings.Contains(fe.Stderr, "went wrong") {
		t.Errorf("got %v", err)
	}
	var ue *UnavailableError
	if _, err := render(gone); !errors.As(err, &ue) {
		t.Errorf("a missing image: got %v", err)
	}
}
