package gitrepo

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/krm"
)

// The modes of tree entries.
const (
	modeDir        = "40000"
	modeRegular    = "100644"
	modeExecutable = "100755"
	modeSymlink    = "120000"
	modeSubmodule  = "160000"

	modeGroupWritable = "100664" // of old: a regular file
)

// treeEntry is one entry of a tree object; off and end are its bytes there.
type treeEntry struct {
	mode, name string
	hash       Hash
	off, end   int
}

// parsedTree is a tree to look names up in.
type parsedTree struct{ entries []treeEntry }

// parseTree reads a tree object, in its own order.
func parseTree(raw []byte) ([]treeEntry, error) {
	entries := make([]treeEntry, 0, len(raw)/40+1)
	text := string(raw)
	for at := 0; at < len(raw); {
		sp := strings.IndexByte(text[at:], ' ')
		nul := strings.IndexByte(text[at:], 0)
		if sp <= 0 || nul < sp || at+nul+21 > len(raw) {
			return nil, fmt.Errorf("a tree object is damaged at byte %d", at)
		}
		e := treeEntry{mode: text[at : at+sp], name: text[at+sp+1 : at+nul], off: at, end: at + nul + 21}
		copy(e.hash[:], raw[at+nul+1:])
		entries = append(entries, e)
		at = e.end
	}
	return entries, nil
}

// sortKey is what Git orders entries by: directories as if they ended in a slash.
func sortKey(mode, name string) string {
	if mode == modeDir {
		return name + "/"
	}
	return name
}

// entryOrder is the order of sortKey.
func entryOrder(a, b treeEntry) int {
	n := min(len(a.name), len(b.name))
	if c := strings.Compare(a.name[:n], b.name[:n]); c != 0 {
		return c
	}
	after := func(e treeEntry) byte {
		switch {
		case len(e.name) > n:
			return e.name[n]
		case e.mode == modeDir:
			return '/'
		}
		return 0
	}
	return cmp.Compare(after(a), after(b))
}

// layOut is a tree of entries, which it sorts, and what it leads to.
func layOut(entries []treeEntry) (raw []byte, needs []Hash) {
	slices.SortFunc(entries, entryOrder)
	size := 0
	for _, e := range entries {
		size += entrySize(e.mode, e.name)
	}
	raw, needs = make([]byte, 0, size), make([]Hash, 0, len(entries))
	for _, e := range entries {
		raw, needs = appendEntry(raw, e.mode, e.name, e.hash), append(needs, e.hash)
	}
	return raw, needs
}

func (r *Repo) readTree(h Hash) ([]treeEntry, error) {
	raw, err := r.readRaw(h)
	if err != nil {
		return nil, err
	}
	return parseTree(raw)
}

// TreeAt is the tree at a slash-separated path of a commit, "" for its root;
// false where the commit has no directory of that path. The commit must have been
// fetched (ErrMissingObject).
func (r *Repo) TreeAt(ctx context.Context, commit Hash, dir string) (Hash, bool, error) {
	if h, known := r.KnownTreeAt(commit, dir); known {
		return h, !h.IsZero(), nil
	}
	cs, err := r.Commits(ctx, commit)
	if err != nil {
		return Hash{}, false, err
	}
	h, ok, err := r.subtree(cs[0].Tree, dir)
	if err != nil {
		return Hash{}, false, fmt.Errorf("reading %q at commit %s of %s: %w", dir, commit, r.URL(), err)
	}
	r.store.places.put(commit, dir, h)
	return h, ok, nil
}

// KnownTreeAt is TreeAt from memory and the cache folder alone, for a commit
// that need not have been fetched. A known zero Hash says that there is no
// directory of that path.
func (r *Repo) KnownTreeAt(commit Hash, dir string) (tree Hash, known bool) {
	return r.store.places.get(commit, dir)
}

func (r *Repo) subtree(h Hash, dir string) (Hash, bool, error) {
	for _, seg := range splitPath(dir) {
		t, err := r.parsedTree(h)
		if err != nil {
			return Hash{}, false, err
		}
		e := t.dir(seg)
		if e == nil {
			return Hash{}, false, nil
		}
		h = e.hash
	}
	return h, true, nil
}

// Beside lists what differs between two fetched commits outside of folders: the
// paths of files and of other folders, not looked into, sorted.
func (r *Repo) Beside(ctx context.Context, a, b Hash, dirs ...string) ([]string, error) {
	cs, err := r.Commits(ctx, a, b)
	if err != nil {
		return nil, err
	}
	within := make([][]string, len(dirs))
	for i, dir := range dirs {
		within[i] = splitPath(dir)
	}
	out, err := r.beside(cs[0].Tree, cs[1].Tree, "", within)
	if err != nil {
		return nil, fmt.Errorf("comparing commits %s and %s of %s: %w", a, b, r.URL(), err)
	}
	sort.Strings(out)
	return out, nil
}

// OnlyAt says that two commits differ in no more than a folder, of which base has that tree:
// in the place of tip's it makes base's root folder. It reads what leads there in tip, and
// nothing of base but its commit; false also where either is not at hand.
func (r *Repo) OnlyAt(base, tip Hash, dir string, tree Hash) bool {
	cs := r.commits.take(base, tip)
	if cs[0] == nil || cs[1] == nil || tree.IsZero() {
		return false
	}
	root, err := r.with(cs[1].Tree, splitPath(dir), tree)
	return err == nil && root == cs[0].Tree
}

// with is a tree's hash were leaf the folder at segs in it.
func (r *Repo) with(tree Hash, segs []string, leaf Hash) (Hash, error) {
	if len(segs) == 0 {
		return leaf, nil
	}
	var raw []byte
	if !tree.IsZero() {
		var err error
		if raw, err = r.readRaw(tree); err != nil {
			return Hash{}, err
		}
	}
	at, err := findDir(raw, segs[0], 0)
	if err != nil {
		return Hash{}, err
	}
	child, err := r.with(at.hash, segs[1:], leaf)
	if err != nil {
		return Hash{}, err
	}
	return hashObject(plumbing.TreeObject, slices.Concat(raw[:at.off], treeEntryBytes(modeDir, segs[0], child), raw[at.end:])), nil
}

func (r *Repo) beside(a, b Hash, prefix string, within [][]string) ([]string, error) {
	if a == b || slices.ContainsFunc(within, func(segs []string) bool { return len(segs) == 0 }) {
		return nil, nil
	}
	x, err := r.entries(a)
	if err != nil {
		return nil, err
	}
	y, err := r.entries(b)
	if err != nil {
		return nil, err
	}
	var out []string
	names := slices.Collect(maps.Keys(x))
	for name := range y {
		if _, both := x[name]; !both {
			names = append(names, name)
		}
	}
	for _, name := range names {
		p, q := x[name], y[name]
		var deeper [][]string
		for _, segs := range within {
			if segs[0] == name {
				deeper = append(deeper, segs[1:])
			}
		}
		if len(deeper) > 0 && (p.mode == modeDir || p.mode == "") && (q.mode == modeDir || q.mode == "") {
			below, err := r.beside(p.hash, q.hash, path.Join(prefix, name), deeper)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
		} else if p.mode != q.mode || p.hash != q.hash {
			out = append(out, path.Join(prefix, name))
		}
	}
	return out, nil
}

// entries are a tree's by name; a zero Hash has none.
func (r *Repo) entries(tree Hash) (map[string]treeEntry, error) {
	if tree.IsZero() {
		return nil, nil
	}
	t, err := r.parsedTree(tree)
	if err != nil {
		return nil, err
	}
	out := make(map[string]treeEntry, len(t.entries))
	for _, e := range t.entries {
		out[e.name] = e
	}
	return out, nil
}

// treesKept bounds the entries of the trees that are kept parsed: a branch's root is
// asked for each package below it, other commits' roots once each.
const treesKept = 60_000

// parsedTree is readTree for looking up paths: the trees asked for last are kept.
func (r *Repo) parsedTree(h Hash) (*parsedTree, error) {
	r.treesMu.Lock()
	t := r.trees[h]
	r.treesMu.Unlock()
	if t != nil {
		return t, nil
	}
	entries, err := r.readTree(h)
	if err != nil {
		return nil, err
	}
	t = &parsedTree{entries: entries}
	r.treesMu.Lock()
	defer r.treesMu.Unlock()
	if r.trees == nil {
		r.trees = map[Hash]*parsedTree{}
	}
	r.treesKept += len(entries)
	for old, its := range r.trees { // any one: what is asked for often is soon back
		if r.treesKept <= treesKept {
			break
		}
		r.treesKept -= len(its.entries)
		delete(r.trees, old)
	}
	if was := r.trees[h]; was != nil { // by another in between
		r.treesKept -= len(was.entries)
	}
	r.trees[h] = t
	return t, nil
}

// dir finds the folder of a name; nil where there is none.
func (t *parsedTree) dir(name string) *treeEntry {
	key := name + "/"
	i, ok := sort.Find(len(t.entries), func(i int) int {
		return strings.Compare(key, sortKey(t.entries[i].mode, t.entries[i].name))
	})
	if !ok || t.entries[i].mode != modeDir {
		return nil
	}
	return &t.entries[i]
}

func findEntry(entries []treeEntry, name string) *treeEntry {
	for i := range entries {
		if entries[i].name == name {
			return &entries[i]
		}
	}
	return nil
}

func splitPath(p string) []string {
	if p = strings.Trim(p, "/"); p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

// PackageAt is a package found in a tree.
type PackageAt struct {
	Path string // in the repository
	Tree Hash
}

// Packages lists the packages below dir of a fetched commit, sorted by path: the
// folders with a Kptfile that are in no other package, as Porch finds them.
func (r *Repo) Packages(ctx context.Context, commit Hash, dir string) ([]PackageAt, error) {
	dir = strings.Trim(dir, "/")
	root, ok, err := r.TreeAt(ctx, commit, dir)
	if err != nil || !ok {
		return nil, err
	}
	var out []PackageAt
	if err := r.findPackages(ctx, root, dir, 0, &out); err != nil {
		return nil, fmt.Errorf("looking for packages at commit %s of %s: %w", commit, r.URL(), err)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	return out, nil
}

const maxTreeDepth = 200

func (r *Repo) findPackages(ctx context.Context, tree Hash, dir string, depth int, out *[]PackageAt) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if depth > maxTreeDepth {
		return errKind(ErrLimit, "folders are more than %d deep at %q", maxTreeDepth, dir)
	}
	entries, err := r.readTree(tree)
	if err != nil {
		return err
	}
	if e := findEntry(entries, "Kptfile"); e != nil && (e.mode == modeRegular || e.mode == modeExecutable) {
		*out = append(*out, PackageAt{Path: dir, Tree: tree})
		return nil
	}
	for _, e := range entries {
		if e.mode != modeDir {
			continue
		}
		if err := r.findPackages(ctx, e.hash, path.Join(dir, e.name), depth+1, out); err != nil {
			return err
		}
	}
	return nil
}

// ReadFiles reads all files below a tree, sorted by path. Submodules are
// ErrUnsupported; what passes the boundary's rules is an error that names the file
// and the bound, ErrLimit for sizes and counts. Data is shared: read only.
// A .gitmodules is skipped.
func (r *Repo) ReadFiles(ctx context.Context, tree Hash) ([]krm.File, error) {
	return r.readFiles(ctx, tree, &fileReader{})
}

func (r *Repo) readFiles(ctx context.Context, tree Hash, rd *fileReader) ([]krm.File, error) {
	rd.repo, rd.limits = r, r.store.opts.Limits
	rd.tally = boundary.NewTally(rd.limits.files())
	err := rd.walk(ctx, tree, "", 0)
	if rd.large {
		defer func() { <-r.store.large }()
	}
	slices.SortFunc(rd.files, func(a, b krm.File) int { return strings.Compare(a.Path, b.Path) })
	if err == nil {
		limits := rd.limits.files()
		limits.Apart = rd.submodules
		err = boundary.Files(rd.files, limits)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the package with tree %s of %s: %w", tree, r.URL(), err)
	}
	r.knowAll(rd.seen)
	return rd.files, nil
}

type fileReader struct {
	repo   *Repo
	limits Limits
	tally  *boundary.Tally
	files  []krm.File
	seen   []Hash
	trees  int
	bytes  int
	large  bool // the store's is held
	// submodules are skipped: what is read is no package but may hold some.
	submodules bool
}

// largePackage is the bytes that many packages may have at once.
const largePackage = 16 << 20

// maxFolders bounds the folders of a package: a tree can hold itself many times
// over without a file.
const maxFolders = 100_000

func (rd *fileReader) walk(ctx context.Context, tree Hash, dir string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if rd.trees++; depth > boundary.MaxDepth || rd.trees > maxFolders {
		return errKind(ErrLimit, "folders are more than %d deep or more than %d at %q", boundary.MaxDepth, maxFolders, dir)
	}
	entries, err := rd.repo.readTree(tree)
	if err != nil {
		return err
	}
	rd.seen = append(slices.Grow(rd.seen, len(entries)+1), tree)
	rd.files = slices.Grow(rd.files, len(entries))
	for _, e := range entries {
		p := path.Join(dir, e.name)
		if e.name == boundary.Modules && e.mode != modeDir || rd.submodules && e.mode == modeSubmodule {
			rd.repo.store.opts.Warn("%s: skipped %s: Git submodules are not read", rd.repo.URL(), p)
			continue
		}
		if err := boundary.Name(e.name); err != nil {
			return fmt.Errorf("in folder %q: %w", dir, err)
		}
		if e.mode == modeDir {
			err = rd.walk(ctx, e.hash, p, depth+1)
		} else {
			err = rd.file(e, p)
		}
		if err == nil && rd.bytes > largePackage && !rd.large {
			select {
			case rd.repo.store.large <- struct{}{}:
				rd.large = true
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (rd *fileReader) file(e treeEntry, p string) error {
	if e.mode == modeSubmodule {
		return errKind(ErrUnsupported, "%q is a Git submodule, which packages cannot hold: copy its files in, or remove it", p)
	}
	data, known := rd.repo.store.blobs.get(e.hash)
	if !known {
		var typ plumbing.ObjectType
		var err error
		if typ, data, err = rd.repo.objects.read(e.hash, rd.limits.FileBytes); err != nil {
			return fmt.Errorf("file %q: %w", p, err)
		}
		if typ != plumbing.BlobObject {
			return fmt.Errorf("file %q: the Git object %s is a %s, not a blob", p, e.hash, typ)
		}
		rd.repo.store.blobs.put(e.hash, data)
	}
	if err := rd.tally.Add(p, int64(len(data))); err != nil {
		return err
	}
	f := krm.File{Path: p, Data: data}
	switch e.mode {
	case modeRegular, modeGroupWritable:
	case modeExecutable:
		f.Mode = krm.Executable
	case modeSymlink:
		f.Mode = krm.Symlink
	default:
		return errKind(ErrUnsupported, "file %q has the mode %s, which no file of a package has", p, e.mode)
	}
	rd.bytes += len(data)
	rd.files = append(rd.files, f)
	rd.seen = append(rd.seen, e.hash)
	return nil
}

// FilesAt reads all files of a folder at a branch, a tag or a commit; no name is
// the branch that HEAD names. Limits are those of packages. Submodules are skipped.
func (r *Repo) FilesAt(ctx context.Context, name, dir string) ([]krm.File, error) {
	commit, err := Named(r, name)
	if err != nil {
		return nil, err
	}
	if err := r.Fetch(ctx, commit); err != nil {
		return nil, err
	}
	tree, ok, err := r.TreeAt(ctx, commit, strings.Trim(path.Clean("/"+dir), "/"))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s has no folder %q at %s", r.URL(), dir, commit)
	}
	return r.readFiles(ctx, tree, &fileReader{submodules: true})
}

// Named returns the commit of a branch, a tag or a commit; no name is the branch that HEAD
// names. The commit need not be fetched yet.
func Named(r *Repo, name string) (Hash, error) {
	refs := r.Refs()
	if name == "" {
		head := refs.Head()
		if head == "" {
			head = "refs/heads/main"
		}
		if ref, ok := refs.Get(head); ok {
			return ref.Commit, nil
		}
		return Hash{}, fmt.Errorf("%s is empty, or its HEAD names no branch: add @<branch>", r.URL())
	}
	for _, find := range []func(string) (Ref, bool){refs.Branch, refs.Tag, refs.Get} {
		if ref, ok := find(name); ok {
			return ref.Commit, nil
		}
	}
	if b, err := hex.DecodeString(name); err == nil && len(b) == len(Hash{}) {
		return Hash(b), nil
	}
	return Hash{}, fmt.Errorf("%s has no branch, tag or commit %q", r.URL(), name)
}

// ReadFile reads one file directly in a fetched tree; false where it has none
// of that name. It is bounded like the files of a package.
func (r *Repo) ReadFile(tree Hash, name string) (data []byte, ok bool, err error) {
	t, err := r.parsedTree(tree)
	if err != nil {
		return nil, false, err
	}
	e := findEntry(t.entries, name)
	if e == nil || e.mode != modeRegular && e.mode != modeExecutable {
		return nil, false, nil
	}
	_, data, err = r.objects.read(e.hash, r.store.opts.Limits.FileBytes)
	if err != nil {
		return nil, false, fmt.Errorf("file %q of the tree %s of %s: %w", name, tree, r.URL(), err)
	}
	return data, true, nil
}

// Entry is a folder, or a file that is no link, directly in a tree.
type Entry struct {
	Name string
	Dir  bool
	Hash Hash
}

// Entries lists what stands directly in a fetched tree, links and submodules apart.
func (r *Repo) Entries(tree Hash) ([]Entry, error) {
	entries, err := r.readTree(tree)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, len(entries))
	for _, e := range entries {
		if e.mode != modeSymlink && e.mode != modeSubmodule {
			out = append(out, Entry{e.name, e.mode == modeDir, e.hash})
		}
	}
	return out, nil
}

// ReadBlob reads a fetched file, bounded like the files of a package.
func (r *Repo) ReadBlob(h Hash) ([]byte, error) {
	_, data, err := r.objects.read(h, r.store.opts.Limits.FileBytes)
	return data, err
}

// HasTree reports whether a tree is at hand with all below it: objects come only in
// whole packs.
func (r *Repo) HasTree(tree Hash) bool { return r.objects.has(tree) }

// ReadPackage reads the package at a tree. What equal files hold is shared with other
// packages of the Store. Errors are those of ReadFiles.
func (r *Repo) ReadPackage(ctx context.Context, tree Hash) (*krm.Package, error) {
	files, err := r.ReadFiles(ctx, tree)
	if err != nil {
		return nil, err
	}
	p, err := krm.Parse(files, krm.WithCache(r.store.parsed))
	if err != nil {
		return nil, fmt.Errorf("reading the package with tree %s of %s: %w", tree, r.URL(), err)
	}
	return p, nil
}

// blobCache keeps the content of files by object: variants of one upstream have most
// of them in common. What was asked for of late is kept.
type blobCache struct {
	mu       sync.Mutex
	now, old map[Hash][]byte
	bytes    int // of now
}

// blobCacheBytes bounds one half of a blobCache, and a file in it by a tenth of that.
const blobCacheBytes = 8 << 20

func (c *blobCache) get(h Hash) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, ok := c.now[h]
	if !ok {
		if data, ok = c.old[h]; ok {
			c.keep(h, data)
		}
	}
	return data, ok
}

func (c *blobCache) put(h Hash, data []byte) {
	if len(data) > blobCacheBytes/10 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(h, data)
}

func (c *blobCache) keep(h Hash, data []byte) {
	if c.now == nil || c.bytes > blobCacheBytes {
		c.old, c.now, c.bytes = c.now, map[Hash][]byte{}, 0
	}
	if _, ok := c.now[h]; !ok {
		c.bytes += len(data) + 100
	}
	c.now[h] = data
}

// knowAll notes objects that the server has, so that pushes leave them out.
func (r *Repo) knowAll(hs []Hash) {
	r.knownMu.Lock()
	defer r.knownMu.Unlock()
	for _, h := range hs {
		r.known[h] = struct{}{}
	}
}

func (r *Repo) knows(h Hash) bool {
	r.knownMu.Lock()
	defer r.knownMu.Unlock()
	_, ok := r.known[h]
	return ok
}

func containsAny(s string, subs ...string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

func treeEntryBytes(mode, name string, h Hash) []byte {
	return appendEntry(make([]byte, 0, entrySize(mode, name)), mode, name, h)
}

// entrySize is how many bytes a tree has of an entry.
func entrySize(mode, name string) int {
	return len(mode) + len(" ") + len(name) + len("\x00") + len(Hash{})
}

func appendEntry(raw []byte, mode, name string, h Hash) []byte {
	raw = append(append(raw, mode...), ' ')
	raw = append(append(raw, name...), 0)
	return append(raw, h[:]...)
}
