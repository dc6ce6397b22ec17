package hostile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// image is what a registry has: a manifest of one layer, and the blobs.
type image struct {
	manifest []byte
	blobs    map[string][]byte
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// imageOf has one layer; its digest and size may be said to be others.
func imageOf(t *testing.T, layer []byte, as string, size int64) image {
	t.Helper()
	const config = "{}"
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
		"config": map[string]any{"mediaType": "application/vnd.oci.image.config.v1+json", "digest": digest([]byte(config)), "size": len(config)},
		"layers": []any{map[string]any{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": as, "size": size}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return image{manifest, map[string][]byte{as: layer, digest([]byte(config)): []byte(config)}}
}

// layerOf is a compressed archive of a Kptfile and what fill adds.
func layerOf(t *testing.T, fill func(*tar.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	put(w, "Kptfile", kptfile)
	if fill != nil {
		fill(w)
	}
	_ = w.Close()
	_ = z.Close()
	return b.Bytes()
}

func put(w *tar.Writer, name, data string) {
	_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))})
	_, _ = io.WriteString(w, data)
}

// serveImage answers as a registry that has i as web:v1.
func serveImage(i image, w http.ResponseWriter, r *http.Request) {
	_, at, _ := strings.Cut(r.URL.Path, "/x/foo/")
	var body []byte
	switch {
	case strings.HasPrefix(at, "tags/list"):
		w.Header().Set("Content-Type", "application/json")
		body = []byte(`{"name": "x/foo", "tags": ["v1"]}`)
	case strings.HasPrefix(at, "manifests/"):
		w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
		w.Header().Set("Docker-Content-Digest", digest(i.manifest))
		body = i.manifest
	case strings.HasPrefix(at, "blobs/"):
		body = i.blobs[strings.TrimPrefix(at, "blobs/")]
	case at != "":
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// badRegistries are the ways of a registry; those that need an image have it.
func badRegistries(good image, thief string) map[string]func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
	type answer = func(w http.ResponseWriter, r *http.Request, over <-chan struct{})
	at := func(part string, do answer) answer {
		return func(w http.ResponseWriter, r *http.Request, over <-chan struct{}) {
			if strings.Contains(r.URL.Path, part) {
				do(w, r, over)
				return
			}
			serveImage(good, w, r)
		}
	}
	trickle := func(w http.ResponseWriter, _ *http.Request, over <-chan struct{}) {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if _, err := io.WriteString(w, " "); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
			}
		}
	}
	redirect := func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		http.Redirect(w, r, thief+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	}
	return map[string]answer{
		"hang":         func(_ http.ResponseWriter, _ *http.Request, over <-chan struct{}) { <-over },
		"hang-at-blob": at("/blobs/", func(_ http.ResponseWriter, _ *http.Request, over <-chan struct{}) { <-over }),
		"trickle":      at("/manifests/", trickle),
		"trickle-blob": at("/blobs/", trickle),
		"nothing":      func(http.ResponseWriter, *http.Request, <-chan struct{}) {},
		"page": func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			_, _ = io.WriteString(w, "<html>Sign in \x1b[2J")
		},
		"garbage": at("/manifests/", func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			_, _ = w.Write(bytes.Repeat([]byte{0xff, 0, 0x1b}, 1000))
		}),
		"cut-blob": at("/blobs/", func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Length", "5000")
			_, _ = io.WriteString(w, "x")
		}),
		"huge-manifest": at("/manifests/", func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Type", "application/vnd.oci.image.manifest.v1+json")
			pour(w, strings.Repeat(" ", 1<<16))
		}),
		"gzip-manifest": at("/manifests/", func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Encoding", "gzip")
			pour(gzip.NewWriter(w), strings.Repeat(" ", 1<<16))
		}),
		"huge-blob": at("/blobs/", func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) { pour(w, strings.Repeat("x", 1<<16)) }),
		"refusal": func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			w.WriteHeader(http.StatusForbidden)
			pour(w, "you sent "+r.Header.Get("Authorization")+"\x1b[2J")
		},
		"redirect":      redirect,
		"redirect-blob": at("/blobs/", redirect),
		"token": func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+thief+`/token",service="x",scope="repository:x/foo:pull"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
	}
}

// badImages are what a registry may have; each is served as it should be.
func badImages(t *testing.T) map[string]image {
	t.Helper()
	whole := func(fill func(*tar.Writer)) image {
		l := layerOf(t, fill)
		return imageOf(t, l, digest(l), int64(len(l)))
	}
	good := layerOf(t, func(w *tar.Writer) { put(w, "name", "good") })
	return map[string]image{
		"up":       whole(func(w *tar.Writer) { put(w, "../../../tmp/x", "x") }),
		"absolute": whole(func(w *tar.Writer) { put(w, "/etc/x", "x") }),
		"link": whole(func(w *tar.Writer) {
			_ = w.WriteHeader(&tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc"})
		}),
		"device": whole(func(w *tar.Writer) { _ = w.WriteHeader(&tar.Header{Name: "d", Typeflag: tar.TypeBlock}) }),
		"bomb": whole(func(w *tar.Writer) {
			zeros := strings.Repeat("\x00", 8<<20)
			for i := range 60 {
				put(w, fmt.Sprint("z", i), zeros)
			}
		}),
		"files": whole(func(w *tar.Writer) {
			for i := range 30_000 {
				put(w, fmt.Sprint("f", i), "")
			}
		}),
		"cut":   imageOf(t, good[:len(good)/2], digest(good[:len(good)/2]), int64(len(good)/2)),
		"lies":  imageOf(t, layerOf(t, func(w *tar.Writer) { put(w, "b.yaml", "x") }), digest(good), int64(len(good))),
		"size":  imageOf(t, good, digest(good), 1<<40),
		"minus": imageOf(t, good, digest(good), -1),
	}
}

// Registries in one fleet, beside an upstream and a downstream that mean well.
func TestHostileRegistries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "good")
	w.publish("foo", gittest.Files{{Path: "Kptfile", Data: []byte(kptfile)}})
	w.variant("foo", "good", "")
	thief := serve(t, func(w http.ResponseWriter, _ *http.Request, _ <-chan struct{}) {
		w.WriteHeader(http.StatusUnauthorized)
	})
	// Each has content of its own: what is known by its digest is asked of nobody.
	own := func(name string) image {
		layer := layerOf(t, func(w *tar.Writer) { put(w, "name", name) })
		return imageOf(t, layer, digest(layer), int64(len(layer)))
	}
	fine := own("fine")
	servers := map[string]*server{}
	for name := range badRegistries(fine, thief.URL) {
		servers[name] = serve(t, badRegistries(own(name), thief.URL)[name])
	}
	for name, i := range badImages(t) {
		servers["image-"+name] = serve(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) { serveImage(i, w, r) })
	}
	servers["fine"] = serve(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) { serveImage(fine, w, r) })
	auths := map[string]any{}
	for name, s := range servers {
		host := strings.TrimPrefix(s.URL, "http://")
		auths[host] = map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte("bob:" + canary))}
		w.write("oci-"+name+".yaml", fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: oci-%s}\nspec: {type: oci, oci: {registry: %q}}\n", name, host+"/x"))
		w.write("pv-"+name+".yaml", fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: %[1]s}\nspec:\n  upstream: {repo: oci-%[1]s, package: foo, revision: v1}\n  downstream: {repo: good, package: %[1]s}\n", name))
	}
	config, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.dir, ".docker"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, ".docker", "config.json"), config, 0o600); err != nil {
		t.Fatal(err)
	}
	r := w.apply()
	w.wantServed(r)
	for name := range servers {
		if name == "fine" {
			w.wantRow(r, name, "")
		} else if v := r.variants["good/"+name]; v.Action != "fail" {
			t.Errorf("%s: %q, want a failure", name, v.Action)
		}
	}
	thief.wantNoLogin(t)
	w.wantNoLeak("good")
}
