package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/record"
)

// Batch collects new objects and ref updates of one Repo, and pushes them as one
// pack. Nothing is written before Push. Safe for concurrent use; what is pushed
// depends on what was added, not on the order.
type Batch struct {
	repo  *Repo
	stage *Stage // of its packages

	mu      sync.Mutex
	objects map[Hash]*newObject
	commits map[Hash]*Commit
	groups  []group
	absent  map[string]bool // refs that must not be there
	refs    map[string]bool
	known   map[Hash]struct{} // objects that the server has, found while grafting

	treeMu sync.Mutex
	trees  map[Hash]*parsedTree
	bases  map[Hash][]byte // trees of the record as it was, made from its index
}

// group is what moves in one push.
type group struct {
	updates []RefUpdate
	edits   []record.Edit
}

// newObject is an object of the batch. A grafted tree has no data of its own:
// it is its base with a few bytes changed. What is in the stage has none either.
type newObject struct {
	hash   Hash
	typ    plumbing.ObjectType
	data   []byte
	staged staged // of length 0 for none
	graft  *graft
	needs  []Hash // objects that it leads to, and its base
}

// graft is a tree as its base with base[off:off+drop] replaced by insert.
type graft struct {
	base      Hash
	baseLen   int
	off, drop int
	insert    []byte
	depth     int // grafts below this one in the batch
}

// maxGraftDepth bounds chains of deltas, as git's own packs do.
const maxGraftDepth = 50

type parsedTree struct {
	raw     []byte
	entries []treeEntry
}

// NewBatch starts an empty Batch with a Stage of its own.
func (r *Repo) NewBatch() *Batch { return r.NewStage().NewBatch() }

// NewBatch starts an empty Batch that has the stage's packages.
func (s *Stage) NewBatch() *Batch {
	return &Batch{
		repo:    s.repo,
		stage:   s,
		objects: map[Hash]*newObject{},
		commits: map[Hash]*Commit{},
		refs:    map[string]bool{},
		known:   map[Hash]struct{}{},
		trees:   map[Hash]*parsedTree{},
		bases:   map[Hash][]byte{},
	}
}

func (b *Batch) add(o *newObject) Hash {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.objects[o.hash]; !ok {
		b.objects[o.hash] = o
	}
	return o.hash
}

// PackageTree is Stage.PackageTree of what the batch was made from.
func (b *Batch) PackageTree(files []krm.File) (Hash, error) { return b.stage.PackageTree(files) }

// dirNode is a folder being built.
type dirNode struct {
	entries []treeEntry // files
	dirs    map[string]*dirNode
}

func (d *dirNode) add(f krm.File, add func(*newObject) error) error {
	segs := strings.Split(f.Path, "/")
	dir := d
	for i, seg := range segs[:len(segs)-1] {
		if findEntry(dir.entries, seg) != nil {
			return fmt.Errorf("%q is a file, and %q needs it to be a folder", strings.Join(segs[:i+1], "/"), f.Path)
		}
		next, ok := dir.dirs[seg]
		if !ok {
			next = &dirNode{}
			if dir.dirs == nil {
				dir.dirs = map[string]*dirNode{}
			}
			dir.dirs[seg] = next
		}
		dir = next
	}
	name := segs[len(segs)-1]
	if dir.dirs[name] != nil || len(dir.entries) > 0 && dir.entries[len(dir.entries)-1].name == name {
		return fmt.Errorf("two files, or a file and a folder, have the path %q", f.Path)
	}
	mode := modeRegular
	switch f.Mode {
	case krm.Executable:
		mode = modeExecutable
	case krm.Symlink:
		mode = modeSymlink
	}
	h := hashObject(plumbing.BlobObject, f.Data)
	dir.entries = append(dir.entries, treeEntry{mode: mode, name: name, hash: h})
	return add(&newObject{hash: h, typ: plumbing.BlobObject, data: f.Data})
}

// tree is the folder with all that is in it.
func (d *dirNode) tree(add func(*newObject) error) (Hash, error) {
	entries := d.entries
	for name, sub := range d.dirs {
		h, err := sub.tree(add)
		if err != nil {
			return Hash{}, err
		}
		entries = append(entries, treeEntry{mode: modeDir, name: name, hash: h})
	}
	sort.Slice(entries, func(i, j int) bool {
		return sortKey(entries[i].mode, entries[i].name) < sortKey(entries[j].mode, entries[j].name)
	})
	var raw bytes.Buffer
	needs := make([]Hash, 0, len(entries))
	for _, e := range entries {
		raw.Write(treeEntryBytes(e.mode, e.name, e.hash))
		needs = append(needs, e.hash)
	}
	o := newTree(raw.Bytes(), needs)
	return o.hash, add(o)
}

func (b *Batch) addTree(raw []byte, needs []Hash) Hash {
	return b.add(newTree(raw, needs))
}

func newTree(raw []byte, needs []Hash) *newObject {
	return &newObject{hash: hashObject(plumbing.TreeObject, raw), typ: plumbing.TreeObject, data: raw, needs: needs}
}

// CommitSpec is a commit to make.
type CommitSpec struct {
	// Root is the root tree to graft into: of a fetched commit of this
	// repository or of an earlier commit of this batch. Zero is an empty tree.
	Root Hash
	// Path is where PackageTree goes; what is there is replaced, all beside it
	// kept. "" replaces the whole root.
	Path string
	// PackageTree is from Batch.PackageTree or a tree of this repository. Zero
	// removes what is at Path, with the folders that this leaves empty.
	PackageTree Hash
	// More are packages to put into Root as well, none in another or in Path.
	More      []PackageAt
	Parents   []Hash
	Author    Signature
	Committer Signature // zero: Author
	Message   string
}

// Commit adds a commit. The same spec gives the same hash. Root must be readable
// (ErrMissingObject); a file where Path needs a folder is an error.
func (b *Batch) Commit(ctx context.Context, s CommitSpec) (*Commit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	root := s.Root
	for _, p := range append([]PackageAt{{s.Path, s.PackageTree}}, s.More...) {
		var err error
		if root, err = b.graftRoot(root, p); err != nil {
			return nil, fmt.Errorf("writing package %q to %s: %w", p.Path, b.repo.URL(), err)
		}
	}
	if s.Committer == (Signature{}) {
		s.Committer = s.Author
	}
	raw := encodeCommit(root, s.Parents, s.Author, s.Committer, s.Message)
	h := hashObject(plumbing.CommitObject, raw)
	c, err := parseCommit(h, raw)
	if err != nil {
		return nil, err
	}
	b.add(&newObject{hash: h, typ: plumbing.CommitObject, data: raw, needs: append([]Hash{root}, s.Parents...)})
	b.mu.Lock()
	b.commits[h] = c
	b.mu.Unlock()
	b.repo.store.places.put(h, s.Path, s.PackageTree)
	for _, p := range s.More {
		b.repo.store.places.put(h, p.Path, p.Tree)
	}
	return c, nil
}

func (b *Batch) graftRoot(root Hash, p PackageAt) (Hash, error) {
	if p.Path == "" {
		if p.Tree.IsZero() {
			return b.addTree(nil, nil), nil
		}
		b.learn(root)
		return p.Tree, nil
	}
	if err := boundary.Path(p.Path); err != nil {
		return Hash{}, err
	}
	root, err := b.graft(root, strings.Split(p.Path, "/"), p.Tree)
	if err != nil || !root.IsZero() {
		return root, err
	}
	return b.addTree(nil, nil), nil
}

// graft puts leaf at segs below tree and returns the new tree; zero where
// nothing is left of it.
func (b *Batch) graft(tree Hash, segs []string, leaf Hash) (Hash, error) {
	if len(segs) == 0 {
		b.learn(tree)
		return leaf, nil
	}
	parsed, err := b.tree(tree)
	if err != nil {
		return Hash{}, err
	}
	name := segs[0]
	at, old := parsed.place(name)
	child := Hash{}
	if old != nil {
		child = old.hash
	} else if e := findFile(parsed, name); e != nil {
		return Hash{}, fmt.Errorf("%q is a file there, not a folder", name)
	}
	if child, err = b.graft(child, segs[1:], leaf); err != nil {
		return Hash{}, err
	}
	switch {
	case child.IsZero() && old == nil, old != nil && old.hash == child:
		return tree, nil
	case child.IsZero() && len(parsed.entries) == 1:
		return Hash{}, nil
	}
	g := &graft{base: tree, baseLen: len(parsed.raw), off: at}
	if old != nil {
		g.drop = old.end - old.off
	}
	needs := []Hash{tree}
	if !child.IsZero() {
		g.insert = treeEntryBytes(modeDir, name, child)
		needs = append(needs, child)
	}
	return b.addGraft(parsed.raw, g, needs), nil
}

// place finds the directory entry of a name, and where in the bytes it belongs.
func (t *parsedTree) place(name string) (int, *treeEntry) {
	key := name + "/"
	i := sort.Search(len(t.entries), func(i int) bool {
		return sortKey(t.entries[i].mode, t.entries[i].name) >= key
	})
	if i == len(t.entries) {
		return len(t.raw), nil
	}
	e := &t.entries[i]
	if e.name == name && e.mode == modeDir {
		return e.off, e
	}
	return e.off, nil
}

func findFile(t *parsedTree, name string) *treeEntry {
	i := sort.Search(len(t.entries), func(i int) bool {
		return sortKey(t.entries[i].mode, t.entries[i].name) >= name
	})
	if i < len(t.entries) && t.entries[i].name == name {
		return &t.entries[i]
	}
	return nil
}

// smallTree is the size up to which a tree is sent whole: a delta would save nothing.
const smallTree = 160

func (b *Batch) addGraft(base []byte, g *graft, needs []Hash) Hash {
	size := g.baseLen - g.drop + len(g.insert)
	b.mu.Lock()
	if o := b.find(g.base); o != nil && o.graft != nil {
		g.depth = o.graft.depth + 1
	}
	b.mu.Unlock()
	if g.base.IsZero() || size <= smallTree || g.depth >= maxGraftDepth {
		raw := g.apply(base)
		entries, err := parseTree(raw)
		if err == nil {
			needs = needs[:0]
			for _, e := range entries {
				needs = append(needs, e.hash)
			}
		}
		return b.addTree(raw, needs)
	}
	h := sha1.New()
	var head [32]byte
	hd := append(head[:0], "tree "...)
	hd = strconv.AppendInt(hd, int64(size), 10)
	h.Write(append(hd, 0))
	h.Write(base[:g.off])
	h.Write(g.insert)
	h.Write(base[g.off+g.drop:])
	o := &newObject{typ: plumbing.TreeObject, graft: g, needs: needs}
	h.Sum(o.hash[:0])
	return b.add(o)
}

func (g *graft) apply(base []byte) []byte {
	out := make([]byte, 0, len(base)-g.drop+len(g.insert))
	out = append(out, base[:g.off]...)
	out = append(out, g.insert...)
	return append(out, base[g.off+g.drop:]...)
}

// keptTrees bounds the parsed trees kept for grafting: bases are few, chains of
// commits use each once.
const keptTrees = 64

// tree reads and parses a tree of the batch or of the repository.
func (b *Batch) tree(h Hash) (*parsedTree, error) {
	if h.IsZero() {
		return &parsedTree{}, nil
	}
	b.treeMu.Lock()
	defer b.treeMu.Unlock()
	if t, ok := b.trees[h]; ok {
		return t, nil
	}
	raw, err := b.rawTree(h)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(raw)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", h, err)
	}
	if len(b.trees) >= keptTrees {
		clear(b.trees)
	}
	t := &parsedTree{raw: raw, entries: entries}
	b.trees[h] = t
	return t, nil
}

func (b *Batch) object(h Hash) *newObject {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.find(h)
}

// find is object with the lock held.
func (b *Batch) find(h Hash) *newObject {
	if o := b.objects[h]; o != nil {
		return o
	}
	return b.stage.object(h)
}

// rawTree gives a tree's bytes, following grafts down to their base.
func (b *Batch) rawTree(h Hash) ([]byte, error) {
	var chain []*graft
	for {
		if t, ok := b.trees[h]; ok {
			return applyGrafts(t.raw, chain), nil
		}
		o := b.object(h)
		if o == nil {
			break
		}
		if o.staged.len > 0 {
			raw, err := b.stage.read(h)
			return applyGrafts(raw, chain), err
		}
		if o.graft == nil {
			return applyGrafts(o.data, chain), nil
		}
		chain = append(chain, o.graft)
		h = o.graft.base
	}
	if raw, ok := b.bases[h]; ok {
		return applyGrafts(raw, chain), nil
	}
	typ, raw, err := b.repo.objects.read(h, 0)
	if err == nil && typ != plumbing.TreeObject {
		err = fmt.Errorf("the Git object %s is a %s, not a tree", h, typ)
	}
	if err != nil {
		return nil, err
	}
	return applyGrafts(raw, chain), nil
}

func applyGrafts(raw []byte, chain []*graft) []byte {
	for i := len(chain) - 1; i >= 0; i-- {
		raw = chain[i].apply(raw)
	}
	return raw
}

// learn notes all objects below a tree that the server has, as far as they can
// be read here: what replaces the tree shares most of them.
func (b *Batch) learn(tree Hash) {
	if tree.IsZero() || b.object(tree) != nil {
		return
	}
	b.mu.Lock()
	_, done := b.known[tree]
	b.known[tree] = struct{}{}
	b.mu.Unlock()
	if done {
		return
	}
	entries, err := b.repo.readTree(tree)
	if err != nil {
		return // sent again, then
	}
	for _, e := range entries {
		if e.mode == modeDir {
			b.learn(e.hash)
			continue
		}
		b.mu.Lock()
		b.known[e.hash] = struct{}{}
		b.mu.Unlock()
	}
}

// RefUpdate moves a ref from Old to New. A zero Old creates it, a zero New
// deletes it. Old is what the caller planned with.
type RefUpdate struct {
	Name     string // full
	Old, New Hash
}

// ExpectAbsent makes each push conditional on refs that it does not move: one of
// these that is there by then makes the push stale. The server's answer just
// before the push decides, for Git can make a push conditional only on what it
// moves.
func (b *Batch) ExpectAbsent(refs ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.absent == nil {
		b.absent = map[string]bool{}
	}
	for _, r := range refs {
		b.absent[r] = true
	}
}

// appeared lists refs of ExpectAbsent that are there and that the batch itself
// does not make.
func (b *Batch) appeared(now map[string]plumbing.Hash) []StaleRef {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []StaleRef
	for name := range b.absent {
		if at, ok := now[name]; ok && !b.refs[name] {
			out = append(out, StaleRef{Name: name, Actual: at})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Update moves a ref that was at old.
func (b *Batch) Update(ref string, old, to Hash) error {
	return b.Together(RefUpdate{Name: ref, Old: old, New: to})
}

// Create makes a ref that did not exist.
func (b *Batch) Create(ref string, to Hash) error {
	return b.Together(RefUpdate{Name: ref, New: to})
}

// Delete removes a ref that was at old.
func (b *Batch) Delete(ref string, old Hash) error {
	return b.Together(RefUpdate{Name: ref, Old: old})
}

// Together adds updates that belong in one push, whatever MaxRefsPerPush says.
// An update that changes nothing is left out; a ref named twice is an error, and
// so is one that would move a Published revision's tag: those never move.
func (b *Batch) Together(updates ...RefUpdate) error { return b.Recorded(nil, updates...) }

// Recorded is Together with what the record is to say of it (see
// PushOptions.Record). Where no ref moves, the record alone does.
func (b *Batch) Recorded(edits []record.Edit, updates ...RefUpdate) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]RefUpdate, 0, len(updates))
	named := make(map[string]bool, len(updates))
	for _, u := range updates {
		if err := checkRefName(u.Name); err != nil {
			return err
		}
		if b.refs[u.Name] || named[u.Name] {
			return fmt.Errorf("the ref %s is updated twice in one batch", u.Name)
		}
		named[u.Name] = true
		if isPublished(u.Name) && !u.Old.IsZero() && !u.New.IsZero() && u.Old != u.New {
			return fmt.Errorf("the tag %s would move from %s to %s: a Published revision never moves", u.Name, u.Old, u.New)
		}
		if u.Old != u.New {
			list = append(list, u)
		}
	}
	if len(list)+len(edits) == 0 {
		return nil
	}
	for _, u := range list {
		b.refs[u.Name] = true
	}
	b.groups = append(b.groups, group{list, edits})
	return nil
}

// Empty says whether there is nothing to push.
func (b *Batch) Empty() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.groups) == 0
}
