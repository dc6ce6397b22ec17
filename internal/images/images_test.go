package images

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func sample() Function {
	return Function{
		Name: "inject-config", Version: "v1.2.3", Description: "injects",
		Binaries: map[string][]byte{"arm64": []byte("arm binary"), "amd64": []byte("amd binary")},
	}
}

func TestIndexIsReproducible(t *testing.T) {
	digest := func(f Function) string {
		t.Helper()
		idx, err := Index(f)
		if err != nil {
			t.Fatal(err)
		}
		h, err := idx.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return h.String()
	}
	first := digest(sample())
	if again := digest(sample()); again != first {
		t.Errorf("two builds of one input differ: %s and %s", first, again)
	}
	changed := sample()
	changed.Binaries["arm64"] = []byte("another")
	if digest(changed) == first {
		t.Error("another binary has the same digest")
	}
}

// The configuration names the layer's uncompressed digest, so that it is the
// same on every machine and with every version of Go's gzip.
func TestConfigIsPinned(t *testing.T) {
	img, err := sample().image("amd64")
	if err != nil {
		t.Fatal(err)
	}
	got, err := img.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if want := "sha256:96902c9d379aed1f1c4821231b0c175ac39b5d5ebd46e24599e2c923aaf03d94"; got.String() != want {
		t.Errorf("digest of the configuration is %s, want %s: a change here changes every published image", got, want)
	}
}

func TestIndexContents(t *testing.T) {
	idx, err := Index(sample())
	if err != nil {
		t.Fatal(err)
	}
	m, err := idx.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	wantAnnotations := map[string]string{
		"org.opencontainers.image.title":       "inject-config",
		"org.opencontainers.image.version":     "v1.2.3",
		"org.opencontainers.image.description": "injects",
		"org.opencontainers.image.source":      Source,
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
	if diff := cmp.Diff(wantAnnotations, m.Annotations); diff != "" {
		t.Errorf("annotations of the index (-want +got):\n%s", diff)
	}
	var platforms []string
	for _, d := range m.Manifests {
		platforms = append(platforms, d.Platform.String())
		img, err := idx.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, img, d.Platform.Architecture, wantAnnotations)
	}
	if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}

func checkImage(t *testing.T, img v1.Image, arch string, annotations map[string]string) {
	t.Helper()
	mt, err := img.MediaType()
	if err != nil || mt != types.OCIManifestSchema1 {
		t.Errorf("%s: media type %v, %v", arch, mt, err)
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Architecture != arch || cfg.OS != "linux" || !cfg.Created.IsZero() {
		t.Errorf("%s: config is for %s/%s, created %v", arch, cfg.OS, cfg.Architecture, cfg.Created)
	}
	want := v1.Config{
		Entrypoint: []string{"/usr/local/bin/inject-config"}, User: "65534:65534", WorkingDir: "/",
		Env: []string{"PATH=/usr/local/bin"}, Labels: annotations,
	}
	if diff := cmp.Diff(want, cfg.Config); diff != "" {
		t.Errorf("%s: config (-want +got):\n%s", arch, diff)
	}
	wantFiles := map[string]string{
		"etc/": "", "usr/": "", "usr/local/": "", "usr/local/bin/": "",
		"etc/passwd":                  "644 " + passwd,
		"usr/local/bin/inject-config": "755 " + map[string]string{"amd64": "amd binary", "arm64": "arm binary"}[arch],
	}
	if diff := cmp.Diff(wantFiles, readFiles(t, img)); diff != "" {
		t.Errorf("%s: files (-want +got):\n%s", arch, diff)
	}
}

func readFiles(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("want one layer, got %d, %v", len(layers), err)
	}
	rc, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	out := map[string]string{}
	for tr := tar.NewReader(rc); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			out[h.Name] = ""
			continue
		}
		mode := "644 "
		if h.Mode&0o111 != 0 {
			mode = "755 "
		}
		out[h.Name] = mode + string(data)
	}
}

func TestIndexWithoutBinaries(t *testing.T) {
	if _, err := Index(Function{Name: "f"}); !errors.Is(err, ErrNoBinaries) {
		t.Errorf("want ErrNoBinaries, got %v", err)
	}
}

func TestBuildFolder(t *testing.T) {
	bin := t.TempDir()
	write := func(name, data string) {
		t.Helper()
		file := filepath.Join(bin, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(data), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"amd64/b", "arm64/b", "amd64/a", "arm64/a"} {
		write(name, name)
	}
	out1, out2 := t.TempDir(), t.TempDir()
	first, err := BuildFolder(bin, out1, "v1")
	if err != nil {
		t.Fatal(err)
	}
	second, err := BuildFolder(bin, out2, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if len(first) != 2 || first[0].Name != "a" || first[1].Name != "b" {
		t.Fatalf("want images a and b, got %+v", first)
	}
	for i := range first {
		if first[i].Digest != second[i].Digest {
			t.Errorf("%s: two folders, two digests", first[i].Name)
		}
	}

	// A layout has one nested entry with a name, as engines want it.
	p, err := layout.FromPath(first[0].Layout)
	if err != nil {
		t.Fatal(err)
	}
	idx, err := p.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	m, err := idx.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != 1 || m.Manifests[0].MediaType != types.OCIImageIndex ||
		m.Manifests[0].Digest != first[0].Digest || m.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "a:v1" {
		t.Errorf("layout lists %+v", m.Manifests)
	}
	if err := validate.Index(idx); err != nil {
		t.Errorf("validate.Index of the layout: %v", err)
	}

	write("amd64/c", "only here")
	if _, err := BuildFolder(bin, out1, "v1"); err == nil {
		t.Error("a function without its arm64 binary was packed")
	}
	if _, err := BuildFolder(t.TempDir(), out1, "v1"); !errors.Is(err, ErrNoBinaries) {
		t.Errorf("an empty folder: want ErrNoBinaries, got %v", err)
	}
}
