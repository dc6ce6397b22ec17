package ocirepo

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/krm"
)

const (
	titleAnnotation = "org.opencontainers.image.title" // of a layer: the name of the one file that it is
	whiteout        = ".wh."
	opaque          = ".wh..wh..opq"
	ratioFloor      = 8 << 20 // content that no ratio is asked of
)

// tree is the flattened content of layers.
//
// A container image that carries a package may hold what no package may:
// devices, links, large binaries. The first of these is kept as refusal, which
// counts where the content turns out to be a kpt package; from then on only
// package.yaml and Kptfiles are kept.
type tree struct {
	limits  Limits
	files   map[string]krm.File
	bytes   int64 // in files
	entries int
	content int64 // uncompressed, of all layers
	refusal error
	skip    func(name string) // is called for a file that no package holds and that is skipped
}

func newTree(l Limits) *tree {
	return &tree{limits: l, files: map[string]krm.File{}, skip: func(string) {}}
}

// layer is what one layer adds and takes away.
type layer struct {
	files map[string]krm.File
	dirs  map[string]bool // folders, those above files included
	gone  map[string]bool // whited out
	bare  map[string]bool // folders whose lower content is whited out
}

// add lays a layer over what is there.
func (t *tree) add(ctx context.Context, desc v1.Descriptor, data []byte) error {
	held, err := partial.CompressedToLayer(heldLayer{desc, data})
	if err != nil {
		return err
	}
	content, err := held.Uncompressed()
	if err != nil {
		return t.damaged(desc, err)
	}
	defer func() { _ = content.Close() }()
	in := bufio.NewReaderSize(&bounded{ctx: ctx, in: content, tree: t, most: max(int64(len(data))*t.limits.Ratio, ratioFloor)}, 64<<10)
	if title := desc.Annotations[titleAnnotation]; title != "" && !looksLikeTar(in) {
		return t.single(title, in)
	}
	l := &layer{files: map[string]krm.File{}, dirs: map[string]bool{}, gone: map[string]bool{}, bare: map[string]bool{}}
	entries := tar.NewReader(in)
	for {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = t.entry(l, h, entries)
		}
		if err != nil {
			return t.damaged(desc, err)
		}
	}
	t.overlay(l)
	return nil
}

func (t *tree) damaged(desc v1.Descriptor, err error) error {
	if content := (*contentError)(nil); errors.As(err, &content) {
		return badContent(content.kind, "layer %s: %v", desc.Digest, err)
	}
	for _, c := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, c) {
			return err
		}
	}
	return badContent(ErrPackage, "layer %s (%s) is no tar archive, or a damaged one: %v", desc.Digest, desc.MediaType, err)
}

// looksLikeTar: every writer since 1988 leaves a magic there; an empty archive is zeros.
func looksLikeTar(in *bufio.Reader) bool {
	block, err := in.Peek(512)
	return err == nil && (string(block[257:262]) == "ustar" || strings.Trim(string(block), "\x00") == "")
}

// single is a layer that is one file, as ORAS pushes files.
func (t *tree) single(title string, in io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(in, t.limits.FileBytes+1))
	if err != nil {
		return err
	}
	l := &layer{files: map[string]krm.File{}, dirs: map[string]bool{}}
	p, err := safePath(title)
	switch {
	case err != nil:
		t.refuse(err)
	case p == ".":
		t.refuse(badContent(ErrPackage, "a layer is one file and has the title %q", title))
	case t.fits(p, int64(len(data))):
		l.put(krm.File{Path: p, Data: data})
	}
	t.overlay(l)
	return nil
}

// entry takes one entry of an archive. An error ends the reading; what a package
// may not hold is a refusal.
func (t *tree) entry(l *layer, h *tar.Header, in io.Reader) error {
	if t.entries++; t.entries+len(l.dirs) > 10*t.limits.PackageFiles {
		return badContent(ErrLimit, "it has more than %d entries and folders", 10*t.limits.PackageFiles)
	}
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil
	}
	if slices.Contains(strings.Split(h.Name, "/"), ".git") {
		return nil // as when a package is read from a folder
	}
	if path.Base(h.Name) == boundary.Modules && h.Typeflag != tar.TypeDir {
		t.skip(h.Name)
		return nil
	}
	p, err := safePath(h.Name)
	if err != nil {
		t.refuse(err)
		return nil
	}
	dir, base := path.Split(p)
	switch {
	case base == opaque:
		l.bare[path.Clean(dir)] = true
		return nil
	case strings.HasPrefix(base, whiteout):
		l.gone[dir+strings.TrimPrefix(base, whiteout)] = true
		return nil
	case h.Typeflag == tar.TypeDir:
		l.dir(p)
		return nil
	}
	return t.file(l, p, h, in)
}

func (t *tree) file(l *layer, p string, h *tar.Header, in io.Reader) error {
	if p == "." {
		t.refuse(badContent(ErrPackage, "an entry that is no folder has the path %q", h.Name))
		return nil
	}
	f := krm.File{Path: p}
	switch h.Typeflag {
	case tar.TypeReg:
		if h.Mode&0o111 != 0 {
			f.Mode = krm.Executable
		}
	case tar.TypeSymlink:
		f.Mode, f.Data = krm.Symlink, []byte(h.Linkname)
	default:
		t.refuse(badContent(ErrPackage, "%s is a device, pipe or hard link (tar type %q): a package has files, folders and symbolic links", p, h.Typeflag))
		return nil
	}
	if _, twice := l.files[p]; twice {
		t.refuse(badContent(ErrPackage, "%s is twice in one layer", p))
	}
	if !t.fits(p, max(h.Size, int64(len(f.Data)))) {
		return nil
	}
	if f.Mode != krm.Symlink {
		data, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		f.Data = data
	}
	l.put(f)
	return nil
}

// fits counts a file, and says whether it is to be kept.
func (t *tree) fits(p string, size int64) bool {
	switch {
	case size > t.limits.FileBytes:
		t.refuse(badContent(ErrLimit, "%s has more than %d bytes", p, t.limits.FileBytes))
		return false
	case t.bytes+size > t.limits.PackageBytes:
		t.refuse(badContent(ErrLimit, "the package has more than %d bytes", t.limits.PackageBytes))
	case len(t.files) >= t.limits.PackageFiles:
		t.refuse(badContent(ErrLimit, "the package has more than %d files", t.limits.PackageFiles))
	}
	if t.refusal != nil && (!essential(p) || t.bytes+size > t.limits.PackageBytes) {
		return false
	}
	t.bytes += size
	return true
}

// essential files tell what kind of package it is.
func essential(p string) bool {
	return p == packageFile || path.Base(p) == kptfile && strings.Count(p, "/") < 2
}

func (t *tree) refuse(err error) {
	if t.refusal != nil {
		return
	}
	t.refusal = err
	t.bytes = 0 // what is kept from now on has the whole limit
	maps.DeleteFunc(t.files, func(p string, _ krm.File) bool { return !essential(p) })
}

func (l *layer) put(f krm.File) {
	l.files[f.Path] = f
	l.dir(path.Dir(f.Path))
}

// dir notes a folder and those above it.
func (l *layer) dir(p string) {
	for ; p != "." && !l.dirs[p]; p = path.Dir(p) {
		l.dirs[p] = true
	}
}

// overlay takes from the lower files what the layer whites out or replaces, and
// adds its own.
func (t *tree) overlay(l *layer) {
	for p, f := range t.files {
		if l.hides(p) {
			delete(t.files, p)
			t.bytes = max(t.bytes-int64(len(f.Data)), 0)
		}
	}
	for p, f := range l.files {
		if l.dirs[p] {
			t.refuse(badContent(ErrPackage, "%s is a file and a folder in one layer", p))
		}
		t.files[p] = f
	}
	if len(t.files) > t.limits.PackageFiles {
		t.refuse(badContent(ErrLimit, "the package has more than %d files", t.limits.PackageFiles))
	}
}

// hides reports whether a lower layer's file is no longer there.
func (l *layer) hides(p string) bool {
	if _, replaced := l.files[p]; replaced || l.dirs[p] || l.gone[p] {
		return true
	}
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		if _, file := l.files[dir]; file || l.gone[dir] || l.bare[dir] {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// safePath makes a clean relative path of an entry's name, "." for the root, and
// refuses those that lead out of the package or that no file system takes.
func safePath(name string) (string, error) {
	if slices.Contains(strings.Split(name, "/"), "..") {
		return "", badContent(ErrPackage, "the path %q leads out of the package", name)
	}
	p := path.Clean(name)
	if name == "" || p == "." {
		return ".", nil
	}
	if err := boundary.Path(p); err != nil {
		return "", outside(err)
	}
	return p, nil
}

// kptPackage is the content as a kpt package: with a Kptfile at the root, or in
// the one folder that holds all. Nil where there is none.
func (t *tree) kptPackage() ([]krm.File, error) {
	top := ""
	if _, ok := t.files[kptfile]; !ok {
		if top = t.top(); top == "" {
			return nil, nil
		}
	}
	if t.refusal != nil {
		return nil, t.refusal
	}
	out := make([]krm.File, 0, len(t.files))
	for _, f := range t.files {
		f.Path = strings.TrimPrefix(f.Path, top)
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	if err := boundary.Files(out, t.limits.files()); err != nil {
		return nil, outside(err)
	}
	return out, nil
}

// top is the one folder that holds all files and a Kptfile, "folder/".
func (t *tree) top() string {
	top := ""
	for p := range t.files {
		first, _, below := strings.Cut(p, "/")
		if !below || top != "" && top != first+"/" {
			return ""
		}
		top = first + "/"
	}
	if _, ok := t.files[top+kptfile]; !ok {
		return ""
	}
	return top
}

// bounded stops the reading of content that grows past the limits.
type bounded struct {
	ctx  context.Context //nolint:containedctx // lives for one layer
	in   io.Reader
	tree *tree
	most int64 // of this layer
	read int64
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.in.Read(p)
	b.read += int64(n)
	b.tree.content += int64(n)
	switch all := 4 * b.tree.limits.PackageBytes; {
	case b.read > b.most:
		return n, badContent(ErrLimit, "it grows to more than %d times its size when it is unpacked", b.tree.limits.Ratio)
	case b.tree.content > all:
		return n, badContent(ErrLimit, "the layers hold more than %d bytes", all)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("unpacking: %w", err)
	}
	return n, err
}
