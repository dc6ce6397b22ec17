package ocirepo

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
)

const (
	kptText = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"
	xpkg    = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata:\n  name: conf\n"
)

var kptEntry = entry{name: "Kptfile", data: kptText}

func zst(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

// What others push reads as the files that they mean.
func TestForeignForms(t *testing.T) {
	base := map[string]string{xpkgAnnotation: xpkgBase}
	whole := map[string]string{"Kptfile": kptText, "a.yaml": "a: 1\n"}
	tests := map[string]struct {
		layers []raw
		want   map[string]string
	}{
		"tar":            {layers(tarOf(t, kptEntry, entry{name: "a.yaml", data: "a: 1\n"})), whole},
		"tar.gz":         {layers(gz(t, tarOf(t, kptEntry, entry{name: "a.yaml", data: "a: 1\n"}))), whole},
		"tar.zst":        {layers(zst(t, tarOf(t, kptEntry, entry{name: "a.yaml", data: "a: 1\n"}))), whole},
		"./ and folders": {layers(tarOf(t, entry{name: "./", typ: tar.TypeDir}, entry{name: "./Kptfile", data: kptText}, entry{name: "./a.yaml", data: "a: 1\n"})), whole},
		"one top folder": {layers(tarOf(t, entry{name: "app/", typ: tar.TypeDir}, entry{name: "app/Kptfile", data: kptText}, entry{name: "app/a.yaml", data: "a: 1\n"})), whole},
		"git archive":    {layers(tarOf(t, entry{name: "app/Kptfile", data: kptText}, entry{name: "app/a.yaml", data: "a: 1\n"}, entry{name: "app/.git/config", data: "x"})), whole},
		"files of ORAS": {[]raw{
			{[]byte(kptText), map[string]string{titleAnnotation: "Kptfile"}},
			{[]byte("a: 1\n"), map[string]string{titleAnnotation: "a.yaml"}},
		}, whole},
		"folder of ORAS": {[]raw{{gz(t, tarOf(t, entry{name: "app/Kptfile", data: kptText}, entry{name: "app/a.yaml", data: "a: 1\n"})), map[string]string{titleAnnotation: "app"}}}, whole},
		"layers, as Porch's updates": {layers(
			gz(t, tarOf(t, kptEntry, entry{name: "a.yaml", data: "old"}, entry{name: "b/c.yaml", data: "gone"}, entry{name: "d/e.yaml", data: "gone"}, entry{name: "d/f/g", data: "gone"}, entry{name: "h", data: "file"}, entry{name: "i/j", data: "gone"})),
			tarOf(t, entry{name: "a.yaml", data: "a: 1\n"}, entry{name: ".wh.b"}, entry{name: "d/.wh..wh..opq"}, entry{name: "d/new", data: "n"}, entry{name: "h/k", data: "in a folder now"}, entry{name: "i", data: "a file now"}),
		), map[string]string{"Kptfile": kptText, "a.yaml": "a: 1\n", "d/new": "n", "h/k": "in a folder now", "i": "a file now"}},
		"whiteouts are for lower layers": {layers(tarOf(t, kptEntry, entry{name: "a.yaml", data: "a: 1\n"}, entry{name: ".wh.a.yaml"})), whole},
		"a link inside":                  {layers(tarOf(t, kptEntry, entry{name: "a/b", data: "x"}, entry{name: "a/c", typ: tar.TypeSymlink, link: "../Kptfile"})), map[string]string{"Kptfile": kptText, "a/b": "x", "a/c": "../Kptfile"}},
		"xpkg, marked":                   {[]raw{{gz(t, tarOf(t, entry{name: "bin", size: 100})), nil}, {gz(t, tarOf(t, entry{name: "package.yaml", data: xpkg}, entry{name: "other", data: "x"})), base}}, map[string]string{"package.yaml": xpkg}},
		"xpkg, flattened": {layers(
			tarOf(t, entry{name: "dev/null", typ: tar.TypeChar}, entry{name: "lib", typ: tar.TypeSymlink, link: "/usr/lib"}, entry{name: "package.yaml", data: "old"}),
			tarOf(t, entry{name: "usr/bin/provider", size: 2 << 20}, entry{name: "package.yaml", data: xpkg}),
		), map[string]string{"package.yaml": xpkg}},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			s := newServer(t)
			_, repo := open(t, s, Options{Limits: Limits{FileBytes: 1 << 20}})
			digest := s.put(t, "app:v1", imageWith(t, tt.layers, nil))
			got, err := repo.ReadPackage(context.Background(), "app", digest)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, textsOf(t, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What is no package, or no safe one, is refused by name, and nothing of it is read.
func TestHostileContent(t *testing.T) {
	base := map[string]string{xpkgAnnotation: xpkgBase}
	one := func(e ...entry) []raw { return layers(gz(t, tarOf(t, append([]entry{kptEntry}, e...)...))) }
	var many []entry
	for i := range 60 {
		many = append(many, entry{name: fmt.Sprintf("f%d", i)})
	}
	link := func(name, to string) entry { return entry{name: name, typ: tar.TypeSymlink, link: to} }
	whole := gz(t, tarOf(t, kptEntry, entry{name: "random", data: strings.Repeat("abc\x01\xfe", 500)}))
	tests := map[string]struct {
		layers []raw
		kind   error
		text   string
	}{
		"..":                     {one(entry{name: "../evil", data: "x"}), ErrPackage, `"../evil" leads out`},
		".. inside":              {one(entry{name: "a/../../evil", data: "x"}), ErrPackage, "leads out"},
		"absolute":               {one(entry{name: "/etc/evil", data: "x"}), ErrPackage, "is an absolute path"},
		"backslash":              {one(entry{name: `..\evil`, data: "x"}), ErrPackage, "backslash"},
		"no name":                {one(entry{name: ".", data: "x"}), ErrPackage, `path "."`},
		"control character":      {one(entry{name: "a\nb", data: "x"}), ErrPackage, "control character"},
		"deep":                   {one(entry{name: strings.Repeat("d/", 150) + "f", data: "x"}), ErrLimit, "deeper than 100 folders"},
		"whiteout of ..":         {one(entry{name: "../.wh.x"}), ErrPackage, "leads out"},
		"absolute link":          {one(link("l", "/etc/passwd")), ErrPackage, "l is a symbolic link that leads out"},
		"link out":               {one(link("a/l", "../../x")), ErrPackage, "a/l is a symbolic link that leads out"},
		"link up after down":     {one(link("a/b/up", "../.."), link("a/b/t", "up/../x")), ErrPackage, "a/b/t is a symbolic link that is not written plainly"},
		"file below a link":      {one(link("l", "a"), entry{name: "l/f", data: "x"}), ErrPackage, "l is a file and a folder"},
		"device":                 {one(entry{name: "null", typ: tar.TypeChar}), ErrPackage, "null is a device"},
		"pipe":                   {one(entry{name: "p", typ: tar.TypeFifo}), ErrPackage, "p is a device, pipe"},
		"hard link":              {one(entry{name: "h", typ: tar.TypeLink, link: "Kptfile"}), ErrPackage, "hard link"},
		"twice":                  {one(entry{name: "a", data: "1"}, entry{name: "./a", data: "2"}), ErrPackage, "a is twice"},
		"large file":             {one(entry{name: "big", size: 2 << 20}), ErrLimit, "big has more than 1048576 bytes"},
		"large package":          {one(entry{name: "a", size: 1 << 20}, entry{name: "b", size: 1 << 20}, entry{name: "c", size: 1 << 20}, entry{name: "d", size: 1 << 20}, entry{name: "e"}), ErrLimit, "more than 4194304 bytes"},
		"many files":             {one(many...), ErrLimit, "more than 50 files"},
		"many entries":           {layers(gz(t, tarOf(t, repeat(entry{name: "d/", typ: tar.TypeDir}, 600)...))), ErrLimit, "more than 500 entries"},
		"bomb":                   {layers(gz(t, tarOf(t, kptEntry, entry{name: "zeros", size: 12 << 20}))), ErrLimit, "more than 200 times its size"},
		"bomb, zstd":             {layers(zst(t, tarOf(t, kptEntry, entry{name: "zeros", size: 12 << 20}))), ErrLimit, "more than 200 times its size"},
		"much in several layers": {layers(tarOf(t, entry{name: "a", size: 6 << 20}), tarOf(t, entry{name: "b", size: 6 << 20}), tarOf(t, entry{name: "c", size: 6 << 20})), ErrLimit, "the layers hold more than 16777216 bytes"},
		"many layers":            {layers(repeat(tarOf(t, kptEntry), 11)...), ErrLimit, "11 layers, more than 10"},
		"large layer":            {layers(tarOf(t, kptEntry, entry{name: "a", size: 8 << 20})), ErrLimit, "more than 8388608"},
		"cut archive":            {layers(tarOf(t, kptEntry)[:540], tarOf(t)), ErrPackage, "damaged"},
		"cut gzip":               {layers(whole[:len(whole)/2]), ErrPackage, "damaged"},
		"no archive":             {layers([]byte("hello")), ErrPackage, "is no tar archive"},
		"no package":             {layers(tarOf(t, entry{name: "bin/sh", data: "x"})), ErrPackage, "holds: bin/sh"},
		"nothing":                {nil, ErrPackage, "holds: nothing"},
		"two folders":            {layers(tarOf(t, entry{name: "a/Kptfile", data: kptText}, entry{name: "b/Kptfile", data: kptText})), ErrPackage, "neither a Kptfile"},
		"other package.yaml":     {layers(tarOf(t, entry{name: "package.yaml", data: "name: x\n"})), ErrPackage, "neither a Kptfile"},
		"marked, no stream":      {[]raw{{tarOf(t, kptEntry), base}}, ErrPackage, "has no package.yaml"},
		"marked, a link":         {[]raw{{tarOf(t, link("package.yaml", "/etc/passwd")), base}}, ErrPackage, "has no package.yaml"},
		"marked twice":           {[]raw{{tarOf(t, entry{name: "package.yaml", data: xpkg}), base}, {tarOf(t, entry{name: "package.yaml", data: xpkg + "#\n"}), base}}, ErrPackage, "two of its layers"},
		"title that leads out":   {[]raw{{[]byte(kptText), map[string]string{titleAnnotation: "Kptfile"}}, {[]byte("x"), map[string]string{titleAnnotation: "../evil"}}}, ErrPackage, "leads out"},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			s := newServer(t)
			_, repo := open(t, s, Options{Limits: Limits{FileBytes: 1 << 20, PackageBytes: 4 << 20, PackageFiles: 50, Layers: 10, BlobBytes: 8 << 20}})
			digest := s.put(t, "app:v1", imageWith(t, tt.layers, nil))
			got, err := repo.ReadPackage(context.Background(), "app", digest)
			if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), s.addr+"/blueprints/app@"+digest) {
				t.Errorf("want %v with %q, got %v, %v", tt.kind, tt.text, err, got)
			}
		})
	}
}

func repeat[T any](v T, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func TestIndexOfPlatforms(t *testing.T) {
	s := newServer(t)
	_, repo := open(t, s, Options{})
	of := func(text string) v1.Image {
		return imageWith(t, layers(tarOf(t, kptEntry, entry{name: "for", data: text})), nil)
	}
	platform := func(os, arch string) v1.Descriptor {
		return v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: os, Architecture: arch}}
	}
	index := func(adds ...mutate.IndexAddendum) v1.ImageIndex {
		return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), adds...)
	}
	attestation := mutate.IndexAddendum{Add: of("attestation"), Descriptor: platform("unknown", "unknown")}
	arm := mutate.IndexAddendum{Add: of("arm"), Descriptor: platform("linux", "arm64")}
	amd := mutate.IndexAddendum{Add: of("amd"), Descriptor: platform("linux", "amd64")}
	tests := map[string]struct {
		index v1.ImageIndex
		want  string
	}{
		"amd64":        {index(attestation, arm, amd), "amd"},
		"the first":    {index(attestation, arm), "arm"},
		"in one other": {index(mutate.IndexAddendum{Add: index(amd)}), "amd"},
		"no image":     {index(attestation), ""},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			digest := s.put(t, "app:"+strings.ReplaceAll(title, " ", "-"), tt.index)
			p, err := repo.ReadPackage(context.Background(), "app", digest)
			if tt.want == "" {
				if !errors.Is(err, ErrPackage) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || textsOf(t, p)["for"] != tt.want {
				t.Errorf("got %v, %v", p, err)
			}
		})
	}
	if at, err := repo.Resolve(context.Background(), Query{Package: "app", Revision: "amd64"}); err != nil || at.Digest == "" {
		t.Errorf("%+v, %v", at, err)
	} else if want, err := tests["amd64"].index.Digest(); err != nil || at.Digest != want.String() {
		t.Errorf("the recorded digest is %s, want the index's, %s", at.Digest, want)
	}
}

func TestManifests(t *testing.T) {
	s := newServer(t)
	ctx := context.Background()
	dir := t.TempDir()
	store, repo := open(t, s, Options{CacheDir: dir, Jobs: 3})
	one := push(t, store, s.addr+"/blueprints/app:v1.0.0", kpt("app", "one"))
	push(t, store, s.addr+"/blueprints/app:v1.0.1", kpt("app", "one"))
	two := push(t, store, s.addr+"/blueprints/app:v1", kpt("app", "two"))
	push(t, store, s.addr+"/blueprints/app:edge", kpt("app", "edge"))
	bare := kpt("app", "bare")
	delete(bare, "package.yaml")
	three := push(t, store, s.addr+"/blueprints/app:1.1.0", bare)
	broken := s.put(t, "app:1.2.0", imageWith(t, layers(tarOf(t, entry{name: "../x"}, kptEntry)), nil))
	cross := s.put(t, "app:1.3.0", imageWith(t, []raw{{gz(t, tarOf(t, entry{name: "package.yaml", data: xpkg})), map[string]string{xpkgAnnotation: xpkgBase}}}, nil))
	porch := func(tag, lifecycle, revision string) string {
		return s.put(t, "app:"+tag, imageWith(t, layers(tarOf(t, kptEntry, entry{name: "package.yaml", data: tag})), map[string]string{lifecycleAnnotation: lifecycle, revisionAnnotation: revision}))
	}
	numbered := porch("packagevariant-7", "Published", "7")
	porch("v9", "Draft", "9")
	before := s.count("GET blobs")

	got, err := repo.Manifests(ctx, "app")
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Tag, Digest, Data string
		Crossplane, Err   bool
	}
	var rows []row
	for _, m := range got {
		rows = append(rows, row{m.Tag, m.Digest, string(m.Data), m.Crossplane, m.Err != nil})
		if m.Err == nil && !m.Crossplane && string(m.Kptfile) != bare["Kptfile"] && m.Number != 7 {
			t.Errorf("%s: Kptfile %q", m.Tag, m.Kptfile)
		}
		if m.Package != "app" || m.Name != s.addr+"/blueprints/app@"+m.Digest {
			t.Errorf("%s: name %q", m.Tag, m.Name)
		}
		if m.Err != nil && !errors.Is(m.Err, ErrPackage) {
			t.Errorf("%s: %v", m.Tag, m.Err)
		}
	}
	want := []row{
		{"v1", two.Digest, kpt("app", "two")["package.yaml"], false, false},
		{"packagevariant-7", numbered, "packagevariant-7", false, false},
		{"v1.0.0", one.Digest, kpt("app", "one")["package.yaml"], false, false},
		{"v1.0.1", one.Digest, kpt("app", "one")["package.yaml"], false, false},
		{"1.1.0", three.Digest, "", false, false},
		{"1.2.0", broken, "", false, true},
		{"1.3.0", cross, xpkg, true, false},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := s.count("GET blobs") - before; n != 6 {
		t.Errorf("%d layers were read, want each of 6 once", n)
	}
	if _, err := repo.ReadPackage(ctx, "app", two.Digest); err != nil {
		t.Error(err)
	}
	_, later := open(t, s, Options{CacheDir: dir})
	manifests := s.count("GET manifests")
	if again, err := later.Manifests(ctx, "app"); err != nil || len(again) != len(got) {
		t.Errorf("%v, %v", again, err)
	}
	if n := s.count("GET blobs") - before; n != 6 {
		t.Errorf("with a warm cache %d more layers were read", n-6)
	}
	if n := s.count("GET manifests") - manifests; n != 0 {
		t.Errorf("with a warm cache %d manifests were read", n)
	}
}

// The cache of one run serves the next, and damage costs a fetch, not a package.
func TestDamagedCache(t *testing.T) {
	damage := map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"empty":   func([]byte) []byte { return nil },
		"flipped": func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"longer":  func(b []byte) []byte { return append(b, 'x') },
	}
	for title, change := range damage {
		t.Run(title, func(t *testing.T) {
			s := newServer(t)
			dir := t.TempDir()
			store, _ := open(t, s, Options{CacheDir: dir})
			digest := push(t, store, s.addr+"/blueprints/app:v1", kpt("app", "1")).Digest
			read := func() {
				t.Helper()
				_, repo := open(t, s, Options{CacheDir: dir})
				p, err := repo.ReadPackage(context.Background(), "app", digest)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(kpt("app", "1"), textsOf(t, p)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			fetches := func() int { return s.count("GET blobs") + s.count("GET manifests") }
			read()
			first := fetches()
			read()
			if n := fetches(); n != first {
				t.Errorf("a warm cache made %d fetches", n-first)
			}
			if n := damageFiles(t, dir, change); n != 2 {
				t.Fatalf("the cache has %d files", n)
			}
			read()
			if n := fetches(); n != first+2 {
				t.Errorf("two damaged files made %d fetches", n-first)
			}
			read()
			if n := fetches(); n != first+2 {
				t.Errorf("the cache was not repaired: %d fetches", n-first)
			}
		})
	}
}
