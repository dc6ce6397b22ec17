package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"fmt"
	"hash"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/record"
)

// Batch collects new objects and ref updates of one Repo, and pushes them as one
// pack. Nothing is written before Push. Safe for concurrent use; what is pushed
// depends on what was added, not on the order.
type Batch struct {
	repo  *Repo
	stage *Stage // of its packages, and of what is made of them
	own   bool   // the stage is this batch's alone

	mu      sync.Mutex
	objects map[Hash]*newObject
	commits map[Hash]*Commit // made by Commit
	models  models           // of commits
	groups  []group
	refs    map[string]bool
	known   map[Hash]struct{} // objects that the server has, found while grafting

	treeMu sync.Mutex
	trees  map[Hash]*keptTree // those used last, to build upon
	spare  [][]byte           // bytes of trees that went
	order  []Hash             // of trees, as they came
	size   int                // of trees, in bytes
	bases  map[Hash][]byte    // trees of the record as it was, made from its index
}

// group is what moves in one push.
type group struct {
	updates []RefUpdate
	edits   []record.Edit
}

// newObject is an object of the batch. Its bytes are in the stage, as what differs from
// another where it was made from that, or is like it.
type newObject struct {
	hash   Hash
	typ    plumbing.ObjectType
	data   []byte // until it is staged
	staged staged
	base   Hash   // of what delta starts from; zero where it is whole
	delta  []byte // until it is staged
	link   int    // in its chain of trees; 0 where it is whole
	needs  []Hash // objects that it leads to, and a base that is no model
}

// NewBatch starts an empty Batch with a Stage of its own.
func (r *Repo) NewBatch() *Batch {
	b := r.NewStage().NewBatch()
	b.own = true
	return b
}

// NewBatch starts an empty Batch that has the stage's packages.
func (s *Stage) NewBatch() *Batch {
	return &Batch{
		repo:    s.repo,
		stage:   s,
		objects: map[Hash]*newObject{},
		commits: map[Hash]*Commit{},
		refs:    map[string]bool{},
		known:   map[Hash]struct{}{},
		trees:   map[Hash]*keptTree{},
		bases:   map[Hash][]byte{},
	}
}

// Close lets the objects of a batch with a Stage of its own go.
func (b *Batch) Close() error {
	if b.own {
		return b.stage.Close()
	}
	return nil
}

// add keeps an object, and its bytes in the stage.
func (b *Batch) add(o *newObject) Hash {
	b.mu.Lock()
	_, there := b.objects[o.hash]
	b.mu.Unlock()
	if there {
		return o.hash
	}
	b.stage.write(o)
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, there := b.objects[o.hash]; !there {
		b.objects[o.hash] = o
	}
	return o.hash
}

// addCommit is add of a commit, as a delta of one that is like it.
func (b *Batch) addCommit(o *newObject) {
	key, size := modelKey{typ: o.typ}, len(o.data)
	b.mu.Lock()
	near := b.models.near(key)
	b.mu.Unlock()
	o.differ(near, b.stage.textOf)
	b.add(o)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.objects[o.hash] == o && o.base.IsZero() {
		b.models.put(key, o, size)
	}
}

// made is a commit that Commit made, nil for another.
func (b *Batch) made(h Hash) *Commit {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.commits[h]
}

// whole is an object's data, of a delta too. Bases are kept in memo: []byte by Hash.
func (b *Batch) whole(o *newObject, memo *sync.Map) ([]byte, error) {
	if o.typ == plumbing.TreeObject {
		k, err := b.tree(o.hash)
		if err != nil {
			return nil, err
		}
		return k.raw, nil // held for good
	}
	data, err := b.stage.data(o)
	if err != nil || o.base.IsZero() {
		return data, err
	}
	base, known := memo.Load(o.base)
	if !known {
		if base, err = b.stage.data(b.object(o.base)); err != nil {
			return nil, err
		}
		memo.Store(o.base, base)
	}
	return packfile.PatchDelta(base.([]byte), data)
}

// PackageTree is Stage.PackageTree of what the batch was made from.
func (b *Batch) PackageTree(files []krm.File) (Hash, error) { return b.stage.PackageTree(files) }

// dirNode is a folder being built.
type dirNode struct {
	entries []treeEntry // files
	dirs    map[string]*dirNode
}

func (d *dirNode) add(f krm.File, add func(newObject, string) bool) error {
	dir, name := d, f.Path
	for {
		seg, rest, below := strings.Cut(name, "/")
		if !below {
			break
		}
		if findEntry(dir.entries, seg) != nil {
			return fmt.Errorf("%q is a file, and %q needs it to be a folder", f.Path[:len(f.Path)-len(rest)-1], f.Path)
		}
		next, ok := dir.dirs[seg]
		if !ok {
			next = &dirNode{}
			if dir.dirs == nil {
				dir.dirs = map[string]*dirNode{}
			}
			dir.dirs[seg] = next
		}
		dir, name = next, rest
	}
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
	add(newObject{hash: h, typ: plumbing.BlobObject, data: f.Data}, f.Path)
	return nil
}

// tree is the folder with all that is in it.
func (d *dirNode) tree(path string, add func(newObject, string) bool) Hash {
	entries := d.entries
	for name, sub := range d.dirs {
		entries = append(entries, treeEntry{mode: modeDir, name: name, hash: sub.tree(path+name+"/", add)})
	}
	o := newTree(layOut(entries))
	add(o, path)
	return o.hash
}

func (b *Batch) addTree(raw []byte, needs []Hash) Hash {
	o := newTree(raw, needs)
	return b.add(&o)
}

func newTree(raw []byte, needs []Hash) newObject {
	return newObject{hash: hashObject(plumbing.TreeObject, raw), typ: plumbing.TreeObject, data: raw, needs: needs}
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
	b.addCommit(&newObject{hash: h, typ: plumbing.CommitObject, data: raw, needs: append([]Hash{root}, s.Parents...)})
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
	base, err := b.tree(tree)
	if err != nil {
		return Hash{}, err
	}
	defer b.release(base)
	name := segs[0]
	b.treeMu.Lock()
	near := base.near
	b.treeMu.Unlock()
	at, err := findDir(base.raw, name, near.before(name))
	if err != nil {
		return Hash{}, fmt.Errorf("tree %s: %w", tree, err)
	}
	if at.file {
		return Hash{}, fmt.Errorf("%q is a file there, not a folder", name)
	}
	child, err := b.graft(at.hash, segs[1:], leaf)
	switch {
	case err != nil:
		return Hash{}, err
	case child == at.hash:
		return tree, nil
	case child.IsZero() && at.off == 0 && at.end == len(base.raw):
		return Hash{}, nil
	}
	g := &graft{off: at.off, drop: at.end - at.off}
	if !child.IsZero() {
		g.insert = treeEntryBytes(modeDir, name, child)
	}
	return b.addGraft(tree, base, g, child, near.move(base.raw, name, g)), nil
}

// graft is a tree as another's bytes with those of one entry replaced.
type graft struct {
	off, drop int
	insert    []byte
}

// parts are the tree's bytes, one after the other.
func (g *graft) parts(base []byte) [][]byte {
	return [][]byte{base[:g.off], g.insert, base[g.off+g.drop:]}
}

// size is how many bytes those are.
func (g *graft) size(base []byte) int { return len(base) - g.drop + len(g.insert) }

// mark is a place in a tree's bytes where an entry begins, and all before it sort before
// the folder of a name. Fleets are worked on in the order of their names, so that each
// package is looked for, and hashed, from where the last one was: of ten thousand in one
// folder half.
type mark struct {
	name string
	at   int
	// sum has hashed what is before, of a tree of so many bytes; nil for nothing.
	sum  hash.Hash
	size int
}

// before is where to look for a folder: a file of its name comes after that, too.
func (m mark) before(name string) int {
	if name > m.name+"/" {
		return m.at
	}
	return 0
}

// move is the mark at a graft of the same tree.
func (m mark) move(raw []byte, name string, g *graft) mark {
	size, from := g.size(raw), m.at
	sum := m.sum
	if sum == nil || m.size != size || from > g.off {
		sum, from = sha1.New(), 0
		begin(sum, plumbing.TreeObject, size)
	} else {
		sum = cloned(sum)
	}
	sum.Write(raw[from:g.off])
	return mark{name, g.off, sum, size}
}

// hash is the name of the tree whose bytes go on so from the mark.
func (m mark) hash(rest ...[]byte) (out Hash) {
	sum := cloned(m.sum)
	for _, data := range rest {
		sum.Write(data)
	}
	sum.Sum(out[:0])
	return out
}

func cloned(h hash.Hash) hash.Hash {
	c, err := h.(hash.Cloner).Clone()
	if err != nil {
		panic(err) // of the standard library none fails
	}
	return c
}

// keptTree is a tree's bytes or, until they are asked for, what they are made from:
// a Draft's commit needs no more of its root than the name. Each approval of a fleet
// makes a root as large as the fleet, so that the bytes of one that nobody holds any
// more are those of the next.
type keptTree struct {
	raw   []byte
	own   bool      // raw was made here, and nobody else has it
	from  *keptTree // held
	graft *graft    // nil where raw is set
	size  int       // bytes of raw
	held  int       // by whom; treeMu is held to change it, and what follows
	near  mark      // where it was grafted last, or is the graft of another
	used  bool      // since it was kept, or spared
}

// bytes makes a kept tree's raw. treeMu is held.
func (b *Batch) bytes(k *keptTree) []byte {
	if k.graft == nil {
		return k.raw
	}
	var raw []byte
	if at := slices.IndexFunc(b.spare, func(s []byte) bool { return cap(s) >= k.size && cap(s) <= 2*k.size }); at >= 0 {
		raw, b.spare = b.spare[at][:0], slices.Delete(b.spare, at, at+1)
	} else {
		raw = make([]byte, 0, k.size+k.size/8) // the next ones have an entry more
	}
	for _, part := range k.graft.parts(k.from.raw) {
		raw = append(raw, part...)
	}
	from := k.from
	k.raw, k.own, k.from, k.graft = raw, true, nil, nil
	b.let(from)
	return raw
}

// release gives up a tree that was held: its bytes may become another's.
func (b *Batch) release(k *keptTree) {
	b.treeMu.Lock()
	defer b.treeMu.Unlock()
	b.let(k)
}

// let is release with treeMu held.
func (b *Batch) let(k *keptTree) {
	if k.held--; k.held > 0 {
		return
	}
	if k.from != nil {
		b.let(k.from)
	}
	if k.own && cap(k.raw) >= spareBytes {
		b.spare = append(b.spare[max(0, len(b.spare)-spareTrees+1):], k.raw)
	}
	k.raw, k.from = nil, nil
}

// spareTrees is how many trees' bytes wait for the next ones, and spareBytes of what
// size they are worth it.
const (
	spareTrees = 4
	spareBytes = 16 << 10
)

// place is where a folder is in a tree's bytes, or where it belongs: off is end then.
type place struct {
	off, end int
	hash     Hash
	file     bool // a file has the name
}

// findDir finds the folder of a name. It parses no more of a tree than it must: a
// branch's root is asked for each package below it. It looks from a place on, before which
// nothing has that name.
func findDir(raw []byte, name string, from int) (place, error) {
	key := name + "/"
	out := place{off: from, end: from}
	for at := from; at < len(raw); {
		end := entryEnd(raw, at)
		if end < 0 {
			return place{}, fmt.Errorf("a tree object is damaged at byte %d", at)
		}
		mode, its, _ := bytes.Cut(raw[at:end-sha1.Size-1], []byte(" "))
		dir := string(mode) == modeDir
		switch {
		case string(its) == name && dir:
			return place{off: at, end: end, hash: Hash(raw[end-sha1.Size : end])}, nil
		case string(its) == name:
			out.file = true
		}
		if string(its) > key || dir && len(its) < len(name) && string(its) == key[:len(its)] && key[len(its)] < '/' {
			break // as its slash comes after
		}
		at = end
		out.off, out.end = at, at
	}
	return out, nil
}

// entryEnd is where the entry of a tree ends that begins at a byte, -1 where it is
// damaged.
func entryEnd(raw []byte, at int) int {
	nul := bytes.IndexByte(raw[at:], 0)
	end := at + nul + 1 + sha1.Size
	if nul < 0 || end > len(raw) || bytes.IndexByte(raw[at:at+nul], ' ') <= 0 {
		return -1
	}
	return end
}

// smallTree is the size up to which a tree is sent whole: a delta would save nothing. Up to
// smallThin it costs a server more than it saves where it is upon what is not in the pack: that
// is read, compressed anew and written beside it.
const (
	smallTree = 160
	smallThin = 512
)

// chainRadix lays chains of deltas out: the k-th tree made one from another is a
// delta of the one before, or, where k is a multiple of a power of the radix, of the
// one that many before. So none is whole, and of a million the longest way to a whole
// one is seven times the number of k's digits: git allows 50 in packs of its own.
const chainRadix = 8

// addGraft adds the tree that a graft makes. near is where that is, in both trees.
func (b *Batch) addGraft(base Hash, from *keptTree, g *graft, child Hash, near mark) Hash {
	kept := &keptTree{from: from, graft: g, size: g.size(from.raw), held: 1, near: near}
	h := near.hash(g.parts(from.raw)[1:]...)
	defer b.release(kept)
	b.treeMu.Lock()
	from.held++
	from.near = near
	b.keepTree(h, kept)
	b.treeMu.Unlock()
	if base.IsZero() || kept.size <= smallTree || kept.size <= smallThin && b.object(base) == nil {
		now := slices.Concat(g.parts(from.raw)...)
		return b.addTree(now, treeNeeds(now))
	}
	o := &newObject{hash: h, typ: plumbing.TreeObject, base: base, link: b.link(base) + 1}
	reach := 1
	for o.link%(reach*chainRadix) == 0 {
		reach *= chainRadix
	}
	if reach > 1 {
		for b.link(o.base) > o.link-reach {
			o.base = b.object(o.base).base
		}
		if far, err := b.tree(o.base); err == nil {
			b.treeMu.Lock()
			now := b.bytes(kept)
			b.treeMu.Unlock()
			o.delta, o.needs = treeDelta(far.raw, now)
			b.release(far)
			o.needs = append(o.needs, o.base)
			return b.add(o)
		}
		o.base = base // it cannot be read any more: a longer chain, then
	}
	o.delta = g.delta(len(from.raw))
	if o.needs = []Hash{base}; !child.IsZero() {
		o.needs = append(o.needs, child)
	}
	return b.add(o)
}

// link is a tree's place in its chain of deltas.
func (b *Batch) link(h Hash) int {
	if o := b.object(h); o != nil {
		return o.link
	}
	return 0
}

func treeNeeds(raw []byte) []Hash {
	var out []Hash
	for at := 0; at < len(raw); {
		end := entryEnd(raw, at)
		if end < 0 {
			break
		}
		out, at = append(out, Hash(raw[end-sha1.Size:end])), end
	}
	return out
}

// keptTrees bounds the trees kept for grafting, in bytes: bases are few, chains of
// commits use each a few times.
const keptTrees = 8 << 20

// tree reads a tree of the batch or of the repository, and holds it until it is released;
// that of a zero Hash is empty.
func (b *Batch) tree(h Hash) (*keptTree, error) {
	if h.IsZero() {
		return &keptTree{held: 1}, nil
	}
	b.treeMu.Lock()
	defer b.treeMu.Unlock()
	k := b.trees[h]
	if k == nil {
		raw, err := b.rawTree(h)
		if err != nil {
			return nil, err
		}
		k = &keptTree{raw: raw, size: len(raw)}
		k.held++
		b.keepTree(h, k)
		return k, nil
	}
	k.held++
	k.used = true
	b.bytes(k)
	return k, nil
}

// keepTree keeps a tree in place of those that came first, but for what was used since it
// came or was spared so: all Drafts of a fleet are built upon one tree. treeMu is held.
func (b *Batch) keepTree(h Hash, k *keptTree) {
	if _, kept := b.trees[h]; kept {
		return
	}
	for b.size+k.size > keptTrees && len(b.order) > 0 {
		at := b.order[0]
		b.order = b.order[1:]
		first := b.trees[at]
		if first.used {
			first.used = false
			b.order = append(b.order, at)
			continue
		}
		b.size -= first.size
		delete(b.trees, at)
		b.let(first)
	}
	k.held++
	b.trees[h], b.order, b.size = k, append(b.order, h), b.size+k.size
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

// rawTree gives a tree's bytes, following deltas down to their base. treeMu is held.
func (b *Batch) rawTree(h Hash) ([]byte, error) {
	var chain []*newObject
	kept := b.trees[h]
	var raw []byte
	ok := false
	for ; kept == nil; kept = b.trees[h] {
		o := b.object(h)
		if o == nil {
			break
		}
		if o.base.IsZero() {
			data, err := b.stage.data(o)
			if err != nil {
				return nil, err
			}
			raw, ok = data, true
			break
		}
		chain = append(chain, o)
		h = o.base
	}
	if kept != nil {
		raw, ok = b.bytes(kept), true
	}
	if !ok {
		raw, ok = b.bases[h]
	}
	if !ok {
		var err error
		if raw, err = b.repo.readRaw(h); err != nil {
			return nil, err
		}
	}
	for _, o := range slices.Backward(chain) {
		delta, err := b.stage.data(o)
		if err == nil {
			raw, err = packfile.PatchDelta(raw, delta)
		}
		if err != nil {
			return nil, fmt.Errorf("tree %s: %w", o.hash, err)
		}
	}
	return raw, nil
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
