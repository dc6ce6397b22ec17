package images

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func sample() Function {
	return Function{
		Name: "inject-config", Version: "v1.2.3", Revision: "c0ffee", Description: "injects", Documentation: "https://example.com/docs",
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
	if want := "sha256:ac1990dc2a8cc2d5ab5807c496b0e6a211895161b2ddc3ae3f13a7e66a1918c9"; got.String() != want {
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
		"org.opencontainers.image.title":         "inject-config",
		"org.opencontainers.image.version":       "v1.2.3",
		"org.opencontainers.image.revision":      "c0ffee",
		"org.opencontainers.image.description":   "injects",
		"org.opencontainers.image.documentation": "https://example.com/docs",
		"org.opencontainers.image.source":        Source,
		"org.opencontainers.image.licenses":      "Apache-2.0",
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
		if h.Typeflag == tar.TypeSymlink {
			out[h.Name] = "link " + h.Linkname
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

// program is a Go binary without modules, for every architecture the same.
var program = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "program")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for name, data := range map[string]string{"go.mod": "module example.com/program\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", "program", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	return os.ReadFile(filepath.Join(dir, "program"))
})

// binaries writes a folder for BuildFolder; each file's end makes it another one.
func binaries(t *testing.T, files ...string) string {
	t.Helper()
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range files {
		file := filepath.Join(bin, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(slices.Clone(binary), name...), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return bin
}

func release() Release {
	about := About{Description: "does", SourceURL: "https://example.com"}
	return Release{
		Version: "v1+x", Revision: "c0ffee", Created: time.Unix(1_700_000_000, 0), Registry: "example.com/fn",
		About: map[string]About{"a": about, "b": about},
	}
}

func TestBuildFolder(t *testing.T) {
	files := []string{"amd64/b", "arm64/b", "amd64/a", "arm64/a", "amd64/" + All, "arm64/" + All, "amd64/" + Controller, "arm64/" + Controller}
	out := t.TempDir()
	built, err := BuildFolder(binaries(t, files...), out, release())
	if err != nil {
		t.Fatal(err)
	}
	if len(built) != 4 || built[0].Name != "a" || built[1].Name != "b" || built[2].Name != Controller || built[3].Name != All {
		t.Fatalf("want images a, b, the controller and all, got %+v", built)
	}
	again := t.TempDir()
	if _, err := BuildFolder(binaries(t, files...), again, release()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sums(t, out), sums(t, again)); diff != "" {
		t.Errorf("two folders differ (-first +second):\n%s", diff)
	}

	// A layout has one nested entry with a name, as engines want it, and what refers to it.
	p, err := layout.FromPath(built[0].Layout)
	if err != nil {
		t.Fatal(err)
	}
	top, err := p.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	m, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Manifests) != 4 || m.Manifests[0].MediaType != types.OCIImageIndex || m.Manifests[0].Digest != built[0].Digest ||
		m.Manifests[0].Annotations[refName] != "a:v1_x" {
		t.Errorf("layout lists %+v", m.Manifests)
	}
	idx, referrers, err := readLayout(built[0].Layout)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(idx); err != nil {
		t.Errorf("validate.Index of the layout: %v", err)
	}
	checkReferrers(t, idx, referrers)

	// The archive is the image of its architecture, under a name that can be loaded.
	tag, err := name.NewTag("example.com/fn/a:v1_x")
	if err != nil {
		t.Fatal(err)
	}
	img, err := tarball.ImageFromPath(filepath.Join(out, "a-arm64.tar"), &tag)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := img.ConfigFile()
	if err != nil || cfg.Architecture != "arm64" {
		t.Errorf("archive for arm64: %+v, %v", cfg, err)
	}
}

// checkReferrers: each image of the index has a list of contents, and the index both.
func checkReferrers(t *testing.T, idx v1.ImageIndex, referrers []v1.Image) {
	t.Helper()
	m, err := idx.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := idx.Digest()
	if err != nil {
		t.Fatal(err)
	}
	want := map[v1.Hash]int{digest: len(m.Manifests)}
	for _, d := range m.Manifests {
		want[d.Digest] = 1
	}
	got := map[v1.Hash]int{}
	for _, r := range referrers {
		manifest, err := r.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if manifest.ArtifactType != SBOMType || manifest.Config.MediaType != emptyType {
			t.Errorf("a referrer is %+v", manifest)
		}
		got[manifest.Subject.Digest] = len(manifest.Layers)
		if err := validate.Image(r, validate.Fast); err != nil {
			t.Errorf("validate.Image of a referrer: %v", err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lists of contents by subject (-want +got):\n%s", diff)
	}
}

// sums are the checksums of all files of a folder.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		out[rel] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	return out
}

func TestAllInOne(t *testing.T) {
	img, err := Function{Name: All, Aliases: []string{"a", "b"}, Binaries: map[string][]byte{"amd64": []byte("x")}}.image("amd64")
	if err != nil {
		t.Fatal(err)
	}
	files := readFiles(t, img)
	for _, alias := range []string{"a", "b"} {
		if got := files["usr/local/bin/"+alias]; got != "link "+All {
			t.Errorf("%s is %q", alias, got)
		}
	}
}

func TestBuildFolderRefuses(t *testing.T) {
	large := binaries(t, "amd64/a")
	noise := make([]byte, MaxBytes)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	file := filepath.Join(large, "amd64", "a")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(data, noise...), 0o777); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ bin, want string }{
		"OneArchitecture": {binaries(t, "amd64/a", "arm64/a", "amd64/b"), "built for 1 of 2 architectures"},
		"Unknown":         {binaries(t, "amd64/c"), "functions/c/metadata.yaml"},
		"TooLarge":        {large, "more than 15728640"},
		"Empty":           {t.TempDir(), ErrNoBinaries.Error()},
	}
	for name, tc := range cases {
		if _, err := BuildFolder(tc.bin, t.TempDir(), release()); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// TestSBOM reads the list of contents of this test's own binary, which has modules.
func TestSBOM(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	f := Function{Name: "fn", Version: "v1", Binaries: map[string][]byte{"amd64": binary, "arm64": []byte("no Go")}}
	data, err := SBOM(f, "amd64", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	var doc spdxDocument
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != "SPDX-2.3" || doc.Creation.Created != "1970-01-01T00:00:00Z" || !strings.HasPrefix(doc.Namespace, "https://") {
		t.Errorf("document %+v", doc)
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("the test binary has no build information")
	}
	want := map[string]bool{"pkg:golang/" + info.Main.Path + "@v1": true, "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go"): true}
	for _, m := range info.Deps {
		want["pkg:golang/"+m.Path+"@"+strings.ReplaceAll(m.Version, "+", "%2B")] = true
	}
	got, ids := map[string]bool{}, map[string]bool{"SPDXRef-DOCUMENT": true}
	id := regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`)
	for _, p := range doc.Packages {
		got[p.ExternalRefs[0].Locator] = true
		if ids[p.ID] || !id.MatchString(p.ID) {
			t.Errorf("identifier %q is taken or malformed", p.ID)
		}
		ids[p.ID] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages (-want +got):\n%s", diff)
	}
	if len(doc.Relationships) != len(doc.Packages) {
		t.Errorf("%d relationships for %d packages", len(doc.Relationships), len(doc.Packages))
	}
	for _, r := range doc.Relationships {
		if !ids[r.Element] || !ids[r.Related] {
			t.Errorf("relationship of what is not there: %+v", r)
		}
	}
	if doc.Packages[0].Checksums[0].Value != fmt.Sprintf("%x", sha256.Sum256(binary)) {
		t.Error("the checksum is not the binary's")
	}
	if _, err := SBOM(f, "arm64", time.Unix(0, 0)); err == nil {
		t.Error("a binary that Go has not built has a list of contents")
	}
}
