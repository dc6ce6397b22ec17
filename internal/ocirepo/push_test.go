package ocirepo

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/variform/variform/internal/krm"
)

func TestPushAndRead(t *testing.T) {
	s := newServer(t)
	ctx := context.Background()
	store, repo := open(t, s, Options{CacheDir: t.TempDir()})
	files := kpt("app", "1")
	ref := s.addr + "/blueprints/app:v3"
	first := push(t, store, ref, files)
	if first.Existed || first.Name != s.addr+"/blueprints/app@"+first.Digest || first.Tag != "v3" {
		t.Errorf("got %+v", first)
	}
	writes := s.count("PUT manifests") + s.count("POST blobs")
	if again := push(t, store, ref, files); !again.Existed || again.Digest != first.Digest {
		t.Errorf("again: got %+v", again)
	}
	if n := s.count("PUT manifests") + s.count("POST blobs"); n != writes {
		t.Errorf("a second push wrote: %d requests, then %d", writes, n)
	}
	got, err := repo.ReadPackage(ctx, "app", first.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(files, textsOf(t, got)); diff != "" {
		t.Errorf("(-pushed +read):\n%s", diff)
	}

	// Each caller has a package of its own.
	got.Remove("cm.yaml")
	other, err := repo.ReadPackage(ctx, "app", first.Digest)
	if err != nil || len(other.Paths()) != len(files) {
		t.Errorf("a caller's change is seen by another: %v, %v", other.Paths(), err)
	}
}

func TestImageIsReproducible(t *testing.T) {
	store := NewStore(Options{})
	digest := func(files map[string]string, number int) (config, manifest string) {
		t.Helper()
		img, err := store.imageOf(parse(t, files), number)
		if err != nil {
			t.Fatal(err)
		}
		c, err := img.ConfigName()
		if err != nil {
			t.Fatal(err)
		}
		d, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return c.String(), d.String()
	}
	config, manifest := digest(kpt("app", "1"), 0)
	for range 5 { // maps are shuffled
		if c, m := digest(kpt("app", "1"), 0); c != config || m != manifest {
			t.Fatal("one package, two digests")
		}
	}
	if c, m := digest(kpt("app", "1"), 4); c != config || m == manifest {
		t.Error("the number of a revision belongs into the manifest alone")
	}
	if c, _ := digest(kpt("app", "2"), 0); c == config {
		t.Error("another package has the same configuration")
	}
	// The configuration names the uncompressed content: the same on every machine
	// and with every version of Go's gzip.
	if want := "sha256:e408b3c3720e418df0af659e9c59f4e61f3f6b763953d1791b7d16241dd3c661"; config != want {
		t.Errorf("the digest of the configuration is %s, want %s: a change here changes every pushed package", config, want)
	}
}

// What Porch reads: the manifest's annotations, and the flattened image, where links and
// unknown entries are errors.
func TestPushedForm(t *testing.T) {
	s := newServer(t)
	store, _ := open(t, s, Options{})
	ref, err := name.ParseReference(push(t, store, s.addr+"/blueprints/app:v3", kpt("app", "1")).Name)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(img); err != nil {
		t.Error(err)
	}
	files := map[string]string{}
	for in := tar.NewReader(mutate.Extract(img)); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg || h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("entry %+v", h)
		}
		files[h.Name] = string(data)
	}
	if diff := cmp.Diff(kpt("app", "1"), files); diff != "" {
		t.Errorf("files (-pushed +extracted):\n%s", diff)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"kpt.dev/lifecycle": "Published", "kpt.dev/revision": "3", "org.opencontainers.image.title": "app"}
	if diff := cmp.Diff(want, m.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if m.MediaType != types.OCIManifestSchema1 || m.Config.MediaType != types.OCIConfigJSON || len(m.Layers) != 1 || m.Layers[0].MediaType != types.OCILayer {
		t.Errorf("got manifest %s, config %s, layers %v", m.MediaType, m.Config.MediaType, m.Layers)
	}
}

func TestPushToATakenTag(t *testing.T) {
	s := newServer(t)
	ctx := context.Background()
	store, repo := open(t, s, Options{})
	ref := s.addr + "/blueprints/app:v1"
	first := push(t, store, ref, kpt("app", "1"))
	changed := parse(t, kpt("app", "2"))
	_, err := store.Push(ctx, ref, changed, PushOptions{})
	if !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), first.Digest) || !strings.Contains(err.Error(), "blueprints/app:v1") || !strings.Contains(err.Error(), "--force") {
		t.Errorf("got %v", err)
	}
	if at, err := repo.Resolve(ctx, Query{Package: "app", Revision: "v1"}); err != nil || at.Digest != first.Digest {
		t.Errorf("the refused push moved the tag: %+v, %v", at, err)
	}
	forced, err := store.Push(ctx, ref, changed, PushOptions{Force: true})
	if err != nil || forced.Existed || forced.Digest == first.Digest {
		t.Fatalf("forced: %+v, %v", forced, err)
	}
	repo.Refresh()
	if at, err := repo.Resolve(ctx, Query{Package: "app", Revision: "v1"}); err != nil || at.Digest != forced.Digest {
		t.Errorf("after Force: %+v, %v", at, err)
	}

	// What is no package at all is not overwritten either.
	s.put(t, "app:v2", imageWith(t, layers(gz(t, tarOf(t, entry{name: "bin", data: "x"}))), nil))
	if _, err := store.Push(ctx, s.addr+"/blueprints/app:v2", changed, PushOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("over another image: %v", err)
	}
}

// A package that was compressed by other means is the same package.
func TestPushOverOtherCompression(t *testing.T) {
	s := newServer(t)
	store, _ := open(t, s, Options{})
	p := parse(t, kpt("app", "1"))
	img, err := store.imageOf(p, 1)
	if err != nil {
		t.Fatal(err)
	}
	ref := s.addr + "/blueprints/app:v1"
	push(t, store, ref, kpt("app", "1"))
	data, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	m, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	// The same manifest but for the layer's digest, as another gzip would give.
	other := strings.ReplaceAll(string(data), m.Layers[0].Digest.Hex, strings.Repeat("ab", 32))
	digest := s.put(t, "app:v1", rawManifestOf{other, types.OCIManifestSchema1})
	got, err := store.Push(context.Background(), ref, p, PushOptions{})
	if err != nil || !got.Existed || got.Digest != digest {
		t.Errorf("got %+v, %v; want the digest that is there, %s", got, err, digest)
	}
}

type rawManifestOf struct {
	data string
	kind types.MediaType
}

func (r rawManifestOf) RawManifest() ([]byte, error)        { return []byte(r.data), nil }
func (r rawManifestOf) MediaType() (types.MediaType, error) { return r.kind, nil }

func TestPushRefuses(t *testing.T) {
	s := newServer(t)
	store, _ := open(t, s, Options{Limits: Limits{FileBytes: 1000}})
	with := func(extra ...krm.File) *krm.Package {
		p := parse(t, kpt("app", "1"))
		for _, f := range extra {
			p.Write(f)
		}
		return p
	}
	bare := with()
	bare.Remove("Kptfile")
	ref := s.addr + "/blueprints/app:v1"
	tests := map[string]struct {
		ref  string
		pkg  *krm.Package
		kind error
		text string
	}{
		"no Kptfile":      {ref, bare, ErrPackage, "no Kptfile"},
		"link":            {ref, with(krm.File{Path: "l", Mode: krm.Symlink, Data: []byte("cm.yaml")}), ErrPackage, "l is a symbolic link"},
		"several at once": {ref, with(krm.File{Path: "l", Mode: krm.Symlink, Data: []byte("cm.yaml")}, krm.File{Path: "../x"}), ErrPackage, `leads out of the package; l is a symbolic link`},
		"whiteout":        {ref, with(krm.File{Path: "a/.wh.b"}), ErrPackage, "a/.wh.b"},
		"large file":      {ref, with(krm.File{Path: "x", Data: make([]byte, 1001)}), ErrLimit, "x has 1001 bytes"},
		"no tag":          {s.addr + "/blueprints/app", with(), ErrAddress, "package:tag"},
		"a digest":        {s.addr + "/blueprints/app@sha256:" + strings.Repeat("a", 64), with(), ErrAddress, "package:tag"},
		"no registry":     {"app:v1", with(), ErrAddress, "package:tag"},
		"credentials":     {"me:geheim@" + ref, with(), ErrAddress, "docker login"},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			_, err := store.Push(context.Background(), tt.ref, tt.pkg, PushOptions{Force: true})
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("want %v with %q, got %v", tt.kind, tt.text, err)
			}
		})
	}
	if n := s.count("PUT manifests"); n != 0 {
		t.Errorf("%d manifests were written", n)
	}
}

// A push that breaks in the middle goes on.
func TestPushThroughFaults(t *testing.T) {
	for _, key := range []string{"HEAD manifests", "POST blobs", "PATCH blobs", "PUT blobs", "PUT manifests"} {
		for _, code := range []int{http.StatusInternalServerError, http.StatusTooManyRequests} {
			s := newServer(t)
			store, repo := open(t, s, Options{})
			s.faults(only(key, 1, status(code)))
			pushed := push(t, store, s.addr+"/blueprints/app:v1", kpt("app", "1"))
			if got, err := repo.ReadPackage(context.Background(), "app", pushed.Digest); err != nil || len(got.Paths()) != 5 {
				t.Errorf("%s %d: %v", key, code, err)
			}
		}
	}
	s := newServer(t)
	store, _ := open(t, s, Options{})
	s.faults(only("PUT manifests", 99, status(http.StatusInternalServerError)))
	_, err := store.Push(context.Background(), s.addr+"/blueprints/app:v1", parse(t, kpt("app", "1")), PushOptions{})
	if !errors.Is(err, ErrUnavailable) || s.count("PUT manifests") != quick.Attempts {
		t.Errorf("got %v after %d attempts", err, s.count("PUT manifests"))
	}
}

func TestPushNext(t *testing.T) {
	s := newServer(t)
	ctx := context.Background()
	store, repo := open(t, s, Options{})
	image := s.addr + "/blueprints/app"
	for i, step := range []struct {
		value, tag string
		existed    bool
	}{{"1", "v1", false}, {"1", "v1", true}, {"2", "v2", false}, {"1", "v3", false}, {"1", "v3", true}} {
		got, err := store.PushNext(ctx, image, parse(t, kpt("app", step.value)))
		if err != nil || got.Tag != step.tag || got.Existed != step.existed {
			t.Errorf("step %d: got %+v, %v", i, got, err)
		}
	}
	// Tags that are no numbers do not count, gaps are not filled.
	push(t, store, image+":v2.0.0", kpt("app", "1"))
	push(t, store, image+":v11", kpt("app", "3"))
	if got, err := store.PushNext(ctx, image, parse(t, kpt("app", "4"))); err != nil || got.Tag != "v12" {
		t.Errorf("after v11: %+v, %v", got, err)
	}
	if at, err := repo.Resolve(ctx, Query{Package: "app"}); err != nil || at.Tag != "v12" {
		t.Errorf("the latest is %+v, %v", at, err)
	}
	s.faults(only("GET tags", 99, status(http.StatusInternalServerError)))
	if _, err := store.PushNext(ctx, image, parse(t, kpt("app", "5"))); !errors.Is(err, ErrUnavailable) {
		t.Errorf("tags that cannot be listed: %v", err)
	}
	for _, bad := range []string{"", "app:v1", s.addr} {
		if got, err := store.PushNext(ctx, bad, parse(t, kpt("app", "5"))); !errors.Is(err, ErrAddress) {
			t.Errorf("%q: %+v, %v", bad, got, err)
		}
	}
}
