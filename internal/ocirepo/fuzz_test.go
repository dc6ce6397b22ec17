package ocirepo

import (
	"archive/tar"
	"context"
	"errors"
	"path"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/variform/variform/internal/krm"
)

// FuzzLayers reads two hostile layers: no panic, and no path that leaves the package, no
// more than the limits, only errors that say what they are.
func FuzzLayers(f *testing.F) {
	link := entry{name: "l", typ: tar.TypeSymlink, link: "../x"}
	f.Add(tarOf(f, kptEntry, entry{name: "a/b", data: "1"}), tarOf(f, entry{name: "a/.wh.b"}, link))
	f.Add(gz(f, tarOf(f, kptEntry)), tarOf(f, entry{name: "../evil", data: "x"}, entry{name: "d/.wh..wh..opq"}))
	f.Add(zst(f, tarOf(f, entry{name: "package.yaml", data: xpkg})), []byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, lower, upper []byte) {
		limits := Limits{FileBytes: 1 << 10, PackageBytes: 1 << 14, PackageFiles: 20}.withDefaults()
		tr := newTree(limits)
		for _, data := range [][]byte{lower, upper} {
			if err := tr.add(context.Background(), v1.Descriptor{}, data); err != nil {
				known(t, err)
				return
			}
		}
		files, err := tr.kptPackage()
		if files == nil && err == nil {
			files, err = tr.xpkg(false)
		}
		if err != nil {
			known(t, err)
			return
		}
		size := 0
		for _, f := range files {
			size += len(f.Data)
			if f.Path != path.Clean(f.Path) || path.IsAbs(f.Path) || strings.HasPrefix(f.Path, "..") {
				t.Errorf("path %q", f.Path)
			}
			if f.Mode == krm.Symlink && strings.HasPrefix(path.Join(path.Dir(f.Path), string(f.Data)), "../") {
				t.Errorf("link %q to %q", f.Path, f.Data)
			}
		}
		if len(files) > limits.PackageFiles || int64(size) > limits.PackageBytes {
			t.Errorf("%d files, %d bytes", len(files), size)
		}
		if _, err := krm.Parse(files); err != nil {
			t.Errorf("the files do not make a package: %v", err)
		}
	})
}

func known(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrPackage) && !errors.Is(err, ErrLimit) {
		t.Errorf("an error of no kind: %v", err)
	}
}
