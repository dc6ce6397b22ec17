package ocirepo

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/variform/variform/internal/krm"
)

// server is the library's registry over real HTTP, with faults before it.
type server struct {
	addr  string // host:port
	inner http.Handler

	mu    sync.Mutex
	seen  map[string]int // "GET blobs" and the like
	fault func(http.ResponseWriter, *http.Request) bool
}

func newServer(t testing.TB) *server {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	s := &server{inner: inner, seen: map[string]int{}}
	h := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen[r.Method+" "+kindOf(r.URL.Path)]++
		fault := s.fault
		s.mu.Unlock()
		if fault != nil && fault(w, r) {
			return
		}
		inner.ServeHTTP(w, r)
	}))
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.Start()
	t.Cleanup(h.Close)
	s.addr = strings.TrimPrefix(h.URL, "http://")
	return s
}

func kindOf(path string) string {
	for _, k := range []string{"/blobs/", "/manifests/", "/tags/", "_catalog"} {
		if strings.Contains(path, k) {
			return strings.Trim(k, "/")
		}
	}
	return "ping"
}

// faults answers before the registry where f returns true.
func (s *server) faults(f func(http.ResponseWriter, *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func (s *server) count(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[key]
}

// only breaks requests of one kind, the first n of them.
func only(key string, n int, f http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Method+" "+kindOf(r.URL.Path) != key || n <= 0 {
			return false
		}
		n--
		f(w, r)
		return true
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

var quick = Retry{Attempts: 3, Base: time.Millisecond, MaxWait: 3 * time.Second}

func open(t testing.TB, s *server, o Options) (*Store, *Repo) {
	t.Helper()
	if o.Retry == (Retry{}) {
		o.Retry = quick
	}
	store := NewStore(o)
	repo, err := store.Open(s.addr + "/blueprints")
	if err != nil {
		t.Fatal(err)
	}
	return store, repo
}

func parse(t testing.TB, files map[string]string) *krm.Package {
	t.Helper()
	var list []krm.File
	for p, data := range files {
		f := krm.File{Path: p, Data: []byte(data)}
		if strings.HasSuffix(p, ".sh") {
			f.Mode = krm.Executable
		}
		list = append(list, f)
	}
	p, err := krm.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func kpt(pkg, value string) map[string]string {
	return map[string]string{
		"Kptfile":       "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + pkg + "\n",
		"cm.yaml":       "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm # why\ndata:\n  value: " + value + "\n",
		"sub/run.sh":    "#!/bin/sh\n",
		"package.yaml":  "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata:\n  name: " + pkg + "\nspec:\n  version: " + value + "\n",
		"sub/notes.txt": "notes",
	}
}

func textsOf(t testing.TB, p *krm.Package) map[string]string {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		out[f.Path] = string(f.Data)
		if (f.Mode == krm.Executable) != strings.HasSuffix(f.Path, ".sh") {
			t.Errorf("%s: mode %v", f.Path, f.Mode)
		}
	}
	return out
}

func push(t testing.TB, s *Store, ref string, files map[string]string) Pushed {
	t.Helper()
	p, err := s.Push(context.Background(), ref, parse(t, files), PushOptions{})
	if err != nil {
		t.Fatalf("pushing %s: %v", ref, err)
	}
	return p
}

// entry is one entry of a tar layer; typ 0 is a regular file.
type entry struct {
	name, data, link string
	typ              byte
	mode             int64
	size             int // of zeros, instead of data
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		data := []byte(e.data)
		if e.size > 0 {
			data = make([]byte, e.size)
		}
		h := &tar.Header{Name: e.name, Typeflag: e.typ, Linkname: e.link, Mode: e.mode | 0o644, Size: int64(len(data))}
		if e.typ == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func gz(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// raw is one layer of an image made by others.
type raw struct {
	data        []byte
	annotations map[string]string
}

func layers(data ...[]byte) []raw {
	var out []raw
	for _, d := range data {
		out = append(out, raw{data: d})
	}
	return out
}

func imageWith(t testing.TB, all []raw, annotations map[string]string) v1.Image {
	t.Helper()
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	for _, l := range all {
		var err error
		img, err = mutate.Append(img, mutate.Addendum{Layer: static.NewLayer(l.data, types.OCILayer), Annotations: l.annotations})
		if err != nil {
			t.Fatal(err)
		}
	}
	if annotations == nil {
		return img
	}
	return mutate.Annotations(img, annotations).(v1.Image)
}

// put writes an image as others do, and returns its digest.
func (s *server) put(t testing.TB, ref string, img remote.Taggable) string {
	t.Helper()
	tag, err := name.NewTag(s.addr + "/blueprints/" + ref)
	if err != nil {
		t.Fatal(err)
	}
	switch v := img.(type) {
	case v1.Image:
		err = remote.Write(tag, v)
	case v1.ImageIndex:
		err = remote.WriteIndex(tag, v)
	default:
		err = remote.Put(tag, img)
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	return digestOf(data)
}
