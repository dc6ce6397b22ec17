// Package images makes OCI images of static function binaries, without a base
// image, an engine or a registry: the same binaries give the same digest on
// every machine.
//
//	built, err := images.BuildFolder("dist/bin", "dist/images", images.Release{Version: "v1", About: about})
//	pushed, err := images.Push(ctx, "dist/images/inject-config", "registry.example.com/variform", []string{"v1"})
//
// An image holds two files: the binary as its entry point, and /etc/passwd
// with the user nobody, as whom kpt and Variform run functions. Certificates
// are left out: functions have no network, and a host's would make the digest
// depend on the host. Its list of contents, an SPDX document made of what the Go
// toolchain wrote into the binary, refers to it (OCI image-spec, "subject").
package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sort"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Source is the address that annotations and labels name as the origin.
const Source = "https://github.com/variform/variform"

const license = "Apache-2.0"

// passwd is /etc/passwd: kpt runs functions with --user nobody, which an
// engine looks up in the image.
const passwd = "root:x:0:0:root:/:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"

// nobody is the default user of an image, by number, as hardened clusters ask.
const nobody = "65534:65534"

// Function is one function to pack.
type Function struct {
	Name          string            // "inject-config"; the binary is /usr/local/bin/<Name>
	Version       string            // written into annotations, as the next three; "" leaves them out
	Revision      string            // the commit
	Description   string            // one line
	Documentation string            // an address
	Aliases       []string          // further names of the binary, beside it
	Binaries      map[string][]byte // static Linux binaries by GOARCH, at least one
}

// ErrNoBinaries reports a function without any binary.
var ErrNoBinaries = errors.New("no binaries given: build them first (make images)")

// Index packs a function for all its architectures, in order of their names.
// It is a function of its argument alone: equal input, equal digest.
func Index(f Function) (v1.ImageIndex, error) {
	if len(f.Binaries) == 0 {
		return nil, fmt.Errorf("image of function %q: %w", f.Name, ErrNoBinaries)
	}
	arches := make([]string, 0, len(f.Binaries))
	for arch := range f.Binaries {
		arches = append(arches, arch)
	}
	sort.Strings(arches)

	idx := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range arches {
		img, err := f.image(arch)
		if err != nil {
			return nil, fmt.Errorf("image of function %q for %s: %w", f.Name, arch, err)
		}
		idx = mutate.AppendManifests(idx, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	out, ok := mutate.Annotations(idx, f.annotations()).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("image of function %q: annotating the index gave no index", f.Name)
	}
	return out, nil
}

// image packs one architecture.
func (f Function) image(arch string) (v1.Image, error) {
	const dir = "usr/local/bin/"
	entries := []entry{
		{name: "etc/", dir: true},
		{name: "etc/passwd", data: []byte(passwd)},
		{name: "usr/", dir: true},
		{name: "usr/local/", dir: true},
		{name: dir, dir: true},
		{name: dir + f.Name, data: f.Binaries[arch], executable: true},
	}
	for _, alias := range f.Aliases {
		entries = append(entries, entry{name: dir + alias, link: f.Name})
	}
	layer, err := layerOf(entries)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "variform images", Comment: f.Name}})
	if err != nil {
		return nil, err
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture = "linux", arch
	cfg.Config.Entrypoint = []string{"/" + dir + f.Name}
	cfg.Config.User = nobody
	cfg.Config.WorkingDir = "/"
	cfg.Config.Env = []string{"PATH=/usr/local/bin"}
	cfg.Config.Labels = f.annotations()
	if img, err = mutate.ConfigFile(img, cfg); err != nil {
		return nil, err
	}
	out, ok := mutate.Annotations(img, f.annotations()).(v1.Image)
	if !ok {
		return nil, errors.New("annotating the image gave no image")
	}
	return out, nil
}

// annotations are the OCI image-spec's predefined keys; no time among them.
func (f Function) annotations() map[string]string {
	out := map[string]string{
		"org.opencontainers.image.title":    f.Name,
		"org.opencontainers.image.source":   Source,
		"org.opencontainers.image.licenses": license,
	}
	for key, value := range map[string]string{
		"version": f.Version, "revision": f.Revision, "description": f.Description, "documentation": f.Documentation,
	} {
		if value != "" {
			out["org.opencontainers.image."+key] = value
		}
	}
	return out
}

// entry is one file of a layer.
type entry struct {
	name       string
	data       []byte
	link       string // where it is a symbolic link: what it points at
	dir        bool
	executable bool
}

// layerOf packs entries with fixed owner, mode and time.
func layerOf(entries []entry) (v1.Layer, error) {
	var buf bytes.Buffer
	zw, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(e.data)), ModTime: time.Unix(0, 0).UTC(), Format: tar.FormatUSTAR}
		if e.executable {
			h.Mode = 0o755
		}
		if e.dir {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}
		if e.link != "" {
			h.Typeflag, h.Mode, h.Linkname = tar.TypeSymlink, 0o777, e.link
		}
		if err := tw.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("packing %s: %w", e.name, err)
		}
		if _, err := tw.Write(e.data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", e.name, err)
		}
	}
	if err := errors.Join(tw.Close(), zw.Close()); err != nil {
		return nil, err
	}
	data := buf.Bytes()
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		tarball.WithMediaType(types.OCILayer),
	)
}
