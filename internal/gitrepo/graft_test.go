package gitrepo

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"net/http"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/test/gittest"
)

// names sort one way as files and another as folders.
var names = []string{"a", "a-b", "a-b-c", "a.b", "a0", "ab", "a b", "b", "b+", "b.", "B", "é"}

// What grafting makes of a tree is what git makes of the same entries, whatever comes,
// goes and is replaced, and however long the chain is.
func TestGrafts(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	repo := gittest.NewRepo(t)
	r := open(t, repo.Dir)
	b := r.NewBatch()
	leaves := make([]Hash, 3)
	for i := range leaves {
		leaves[i] = b.mustTree(t, files(fmt.Sprint("p", i), 1))
	}
	c := &Commit{}
	there := map[string]Hash{}
	for step := range 400 {
		name, leaf := names[random.Intn(len(names))], leaves[random.Intn(len(leaves))]
		if random.Intn(4) == 0 {
			leaf = Hash{}
		}
		var parents []Hash
		if step > 0 {
			parents = []Hash{c.Hash}
		}
		next, err := b.Commit(t.Context(), CommitSpec{Root: c.Tree, Path: name, PackageTree: leaf, Parents: parents, Author: machine, Message: fmt.Sprint(step)})
		if err != nil {
			t.Fatal(err)
		}
		if c, there[name] = next, leaf; leaf.IsZero() {
			delete(there, name)
		}
		var list strings.Builder
		for name, h := range there {
			fmt.Fprintf(&list, "040000 tree %s\t%s\n", h, name)
		}
		if want := strings.TrimSpace(gittest.Run(t, repo.Dir, []byte(list.String()), "mktree", "--missing")); want != c.Tree.String() {
			t.Fatalf("step %d, %q: tree %s, git makes %s of\n%s", step, name, c.Tree, want, list.String())
		}
	}
	// Drafts are built upon one commit each: the next looks on from where the last was.
	base := c.Tree
	for i, name := range []string{"p/a", "p/b"} {
		if _, err := b.Commit(t.Context(), CommitSpec{Root: base, Path: name, PackageTree: leaves[i], Parents: []Hash{c.Hash}, Author: machine, Message: name}); err != nil {
			t.Fatal(err)
		}
		if near := b.trees[base].near; near.name != "p" {
			t.Errorf("after %q the next looks on from %q", name, near.name)
		}
	}
	if err := b.Create("refs/heads/main", c.Hash); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Push(t.Context(), PushOptions{}); err != nil {
		t.Fatal(err)
	}
	repo.Fsck(t)
}

// A file where a package is to be is refused, and one beside it of which the name
// begins alike is not.
func TestFindDir(t *testing.T) {
	h := Hash{7}
	tree := func(entries ...string) (raw []byte) {
		for _, e := range entries {
			mode, name := modeRegular, e
			if dir, ok := strings.CutSuffix(e, "/"); ok {
				mode, name = modeDir, dir
			}
			raw = append(raw, treeEntryBytes(mode, name, h)...)
		}
		return raw
	}
	for _, tc := range []struct {
		tree []string
		name string
		at   int // entries before it
		file bool
		have bool
	}{
		{nil, "a", 0, false, false},
		{[]string{"a/"}, "a", 0, false, true},
		{[]string{"a-b/", "a/"}, "a", 1, false, true},
		{[]string{"a/"}, "a-b", 0, false, false},
		{[]string{"a-b"}, "a", 1, false, false},
		{[]string{"a", "a-b"}, "a", 2, true, false},
		{[]string{"a0/"}, "a", 0, false, false},
		{[]string{"a", "b/", "c"}, "b", 1, false, true},
		{[]string{"a", "c"}, "b", 1, false, false},
	} {
		raw := tree(tc.tree...)
		got, err := findDir(raw, tc.name, 0)
		if want := len(tree(tc.tree[:tc.at]...)); err != nil || got.off != want || got.file != tc.file || (got.end > got.off) != tc.have || tc.have != (got.hash == h) {
			t.Errorf("%q in %q: %+v, %v; want it at %d", tc.name, tc.tree, got, err, want)
		}
	}
	for _, damaged := range []string{"40000 a", "40000 a\x00short", "a\x0012345678901234567890", " a\x0012345678901234567890"} {
		if _, err := findDir([]byte(damaged), "z", 0); err == nil || !strings.Contains(err.Error(), "damaged at byte 0") {
			t.Errorf("%q: %v", damaged, err)
		}
	}
}

// From where a tree was grafted last a folder is found, or its place, as from the tree's
// begin, and what is hashed from there on is the tree.
func TestMark(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	ahead, kept := 0, 0
	for range 2000 {
		f := &folder{}
		for _, name := range names {
			if random.Intn(2) == 0 {
				f.entries = append(f.entries, treeEntry{mode: []string{modeDir, modeRegular}[random.Intn(2)], name: name, hash: Hash{name[0], byte(len(name))}})
			}
		}
		f.seal()
		raw := f.raw
		near := mark{}
		for range 4 {
			name := names[random.Intn(len(names))]
			want, err := findDir(raw, name, 0)
			if err != nil {
				t.Fatal(err)
			}
			from := near.before(name)
			if got, err := findDir(raw, name, from); err != nil || got != want {
				t.Fatalf("%q after %q in %q: %+v, %v; want %+v", name, near.name, raw, got, err, want)
			}
			if want.file {
				continue
			}
			g := &graft{off: want.off, drop: want.end - want.off, insert: treeEntryBytes(modeDir, name, Hash{1})}
			next := near.move(raw, name, g)
			if from > 0 {
				ahead++
				if near.size == next.size {
					kept++
				}
			}
			near = next
			if got, want := near.hash(g.parts(raw)[1:]...), hashObject(plumbing.TreeObject, g.parts(raw)...); got != want {
				t.Fatalf("%q is hashed to %s, want %s", name, got, want)
			}
			if random.Intn(2) == 0 { // as each approval is made of the one before
				raw = slices.Concat(g.parts(raw)...)
			}
		}
	}
	if ahead < 300 || kept < 100 {
		t.Errorf("%d times it was looked from further on, %d times hashed: too few to tell", ahead, kept)
	}
}

// A tree that is built upon again and again stays among those kept, and what came since
// goes: else each few Drafts of a large fleet would have its root read again.
func TestTreeInUseIsKept(t *testing.T) {
	b := &Batch{trees: map[Hash]*keptTree{}}
	name := func(i int) Hash { return Hash{byte(i), byte(i >> 8), 1} }
	hold := func(h Hash) {
		k, err := b.tree(h)
		if err != nil {
			t.Fatal(err)
		}
		b.release(k)
	}
	const size = keptTrees / 10
	for i := range 100 {
		b.keepTree(name(i), &keptTree{raw: []byte{}, size: size})
		hold(name(0))
		if b.trees[name(i)] == nil || b.size > keptTrees || len(b.order) != len(b.trees) || b.size != size*len(b.trees) {
			t.Fatalf("after %d trees: %d of %d bytes, %d in order", i+1, len(b.trees), b.size, len(b.order))
		}
	}
	if b.trees[name(1)] != nil || b.trees[name(98)] == nil {
		t.Error("it is the oldest that goes")
	}
	for i := range 100 { // all of them used
		b.keepTree(name(200+i), &keptTree{raw: []byte{}, size: size})
		hold(name(200 + i))
	}
	if b.trees[name(299)] == nil || b.trees[name(0)] != nil || b.size > keptTrees {
		t.Errorf("%d trees of %d bytes", len(b.trees), b.size)
	}
}

// A delta makes of one tree the other, whatever they are, and says what is new.
func TestTreeDelta(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	tree := func() (raw []byte, has map[Hash]bool) {
		f := &folder{}
		has = map[Hash]bool{}
		for _, name := range names {
			if random.Intn(2) == 0 {
				continue
			}
			h := Hash{byte(random.Intn(2)), name[0], byte(len(name))}
			f.entries = append(f.entries, treeEntry{mode: []string{modeDir, modeRegular}[random.Intn(2)], name: name, hash: h})
			has[h] = true
		}
		f.seal()
		return f.raw, has
	}
	check := func(was, now []byte) []Hash {
		delta, brings := treeDelta(was, now)
		got, err := packfile.PatchDelta(was, delta)
		if err != nil || !bytes.Equal(got, now) {
			t.Fatalf("%v: of\n%q\nit makes\n%q, want\n%q", err, was, got, now)
		}
		return brings
	}
	for range 2000 {
		was, had := tree()
		now, has := tree()
		if len(was) == 0 || len(now) == 0 { // those are whole
			continue
		}
		brought := map[Hash]bool{}
		for _, h := range check(was, now) {
			if brought[h] = true; !has[h] {
				t.Fatalf("%s is brought, and not there", h)
			}
		}
		for h := range has {
			if !had[h] && !brought[h] {
				t.Fatalf("%s is new, and not brought", h)
			}
		}
	}
	sound, _ := tree()
	for _, damaged := range []string{"x", "40000 a\x00short", string(sound) + "rest"} {
		check(sound, []byte(damaged))
		check([]byte(damaged), sound)
	}
}

// wide commits so many packages side by side.
func (s *site) wide(t *testing.T, packages int) {
	t.Helper()
	tree := gittest.Text{}
	for i := range packages {
		tree[fmt.Sprintf("app-%04d/Kptfile", i)] = kptfile("x")
	}
	s.repo.Commit(t, "main", "base", tree)
}

// Drafts begin at one branch each: of the root of none more is made than its name, and
// what is built upon one of them finds it.
func TestDraftsRootsAreNotMade(t *testing.T) {
	s := newSite(t)
	const packages = 300
	s.wide(t, packages)
	r := openWith(t, s.urls["http"], Options{CacheDir: t.TempDir()})
	b := r.NewBatch()
	was := head(t, r, "main")
	leaf := b.mustTree(t, files("app", 1))
	made := func() (n int) {
		for _, k := range b.trees {
			if k.graft == nil {
				n++
			}
		}
		return n
	}
	var c *Commit
	for i := range packages {
		var err error
		if c, err = b.Commit(t.Context(), CommitSpec{Root: was.Tree, Path: fmt.Sprintf("app-%04d", i), PackageTree: leaf, Parents: []Hash{was.Hash}, Author: machine, Message: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
		if err := b.Update(fmt.Sprintf("refs/heads/drafts/%d", i), Hash{}, c.Hash); err != nil {
			t.Fatal(err)
		}
	}
	if n := made(); n != 1 || len(b.trees) != packages+1 || b.size > keptTrees {
		t.Errorf("%d of %d trees are made, %d bytes", n, len(b.trees), b.size)
	}
	again, err := b.Commit(t.Context(), CommitSpec{Root: c.Tree, Path: "another", PackageTree: leaf, Parents: []Hash{c.Hash}, Author: machine, Message: "again"})
	if err != nil {
		t.Fatal(err)
	}
	if n := made(); n != 2 {
		t.Errorf("%d trees are made", n)
	}
	if err := b.Update("refs/heads/drafts/another", Hash{}, again.Hash); err != nil {
		t.Fatal(err)
	}
	bases := r.objects.(*objectDir).bases
	bases.put(&packFile{dir: r.objects.(*objectDir)}, 0, plumbing.BlobObject, []byte("x"))
	rep, err := b.Push(t.Context(), PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Bytes > packages*400 { // whole, each root has 10 kB
		t.Errorf("%d bytes for %d Drafts", rep.Bytes, packages)
	}
	if bases.bytes > 0 || len(bases.items) > 0 {
		t.Errorf("%d bytes that packages were read with are held while pushing", bases.bytes)
	}
	if n := r.commits.len(); n < packages+2 {
		t.Errorf("%d commits are known", n)
	}
	s.repo.Fsck(t)
	if got := s.repo.Git(t, "ls-tree", "--name-only", again.Hash.String()); len(strings.Fields(got)) != packages+1 {
		t.Errorf("%d entries", len(strings.Fields(got)))
	}
}

// A thousand packages that are approved one after the other on one branch: none of the
// branch's trees is sent whole, and git follows no more than its own packs' chains.
func TestLongChain(t *testing.T) {
	s := newSite(t)
	const packages = 1000
	s.wide(t, packages)
	r := open(t, s.urls["http"])
	b := r.NewBatch()
	was := head(t, r, "main")
	c, leaf := was, b.mustTree(t, files("app", 1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range packages {
		var err error
		if c, err = b.Commit(t.Context(), CommitSpec{Root: c.Tree, Path: fmt.Sprintf("app-%04d", i), PackageTree: leaf, Parents: []Hash{c.Hash}, Author: machine, Message: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / packages; each > packages*35*6/7 && !testing.Short() { // under the race detector pools forget
		t.Errorf("%d bytes are allocated for each tree of %d", each, packages*35)
	}
	if err := b.Update("refs/heads/main", was.Hash, c.Hash); err != nil {
		t.Fatal(err)
	}
	s.repo.Git(t, "config", "receive.unpackLimit", "1") // so that the pack stays one
	rep, err := b.Push(t.Context(), PushOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if whole := int64(packages * packages * 35); rep.Bytes > whole/50 {
		t.Errorf("%d bytes for %d trees of %d", rep.Bytes, packages, packages*35)
	}
	if kept := int64(b.size) + int64(len(b.stage.tail)); kept > keptTrees+stageTail {
		t.Errorf("%d bytes are held", kept)
	}
	if err := b.Close(); err != nil || b.repo.store.spool.file != nil {
		t.Errorf("closed: %v", err)
	}
	s.repo.Fsck(t)
	packs, err := filepath.Glob(filepath.Join(s.repo.Dir, "objects/pack/*.idx"))
	if err != nil || len(packs) == 0 {
		t.Fatal("no packs", err)
	}
	depth := 0
	for _, m := range regexp.MustCompile(`chain length = (\d+)`).FindAllStringSubmatch(s.repo.Git(t, append([]string{"verify-pack", "-v"}, packs...)...), -1) {
		n := 0
		_, _ = fmt.Sscan(m[1], &n)
		depth = max(depth, n)
	}
	if depth < 3 || depth > 50 {
		t.Errorf("chains are up to %d deltas long", depth)
	}
}

// A pack is the same however often and in whatever pieces it is read, and as long as
// it says.
func TestPackReader(t *testing.T) {
	r := open(t, gittest.NewRepo(t).Dir)
	b := r.NewBatch()
	var objects []*newObject
	for i := range 5 {
		b.stage.add(newObject{hash: Hash{byte(i)}, typ: 3, data: bytes.Repeat([]byte{byte(i)}, i*100)}, "")
		objects = append(objects, b.stage.object(Hash{byte(i)}))
	}
	p, err := b.newPack(objects, true)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(p.reader())
	if err != nil || int64(len(whole)) != p.size() {
		t.Fatalf("%d bytes of %d: %v", len(whole), p.size(), err)
	}
	var pieces []byte
	for in, at := p.reader(), make([]byte, 7); ; {
		n, err := in.Read(at)
		pieces = append(pieces, at[:n]...)
		if err != nil {
			break
		}
	}
	if !bytes.Equal(whole, pieces) {
		t.Error("in pieces it is another")
	}
}

// A client that sends a push once more, as over a connection that was gone, sends the
// pack once more.
func TestPackIsSentAgain(t *testing.T) {
	r := open(t, gittest.NewRepo(t).Dir)
	b := r.NewBatch()
	b.mustTree(t, files("app", 3))
	p, err := b.newPack(slices.Collect(maps.Values(b.stage.objects)), true)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(withPack(t.Context(), p), http.MethodPost, "http://h/r.git/git-receive-pack", strings.NewReader("commands"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = (&answerTransport{inner: sent(func(out *http.Request) {
		first, err := io.ReadAll(out.Body)
		if err != nil || !bytes.HasPrefix(first, []byte("commandsPACK")) || int64(len(first)) != out.ContentLength {
			t.Errorf("%d bytes of %d: %v", len(first), out.ContentLength, err)
		}
		again, err := out.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		if second, err := io.ReadAll(again); err != nil || !bytes.Equal(first, second) {
			t.Errorf("the second time %d bytes of %d: %v", len(second), len(first), err)
		}
	})}).RoundTrip(req)
}

// sent takes what is sent, and answers nothing.
type sent func(*http.Request)

func (s sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s(r)
	return nil, io.EOF
}

// The bytes of trees that went are taken for others, never while somebody reads them:
// chains that grow side by side, and Drafts beside them, are what they are alone.
func TestTreesSideBySide(t *testing.T) {
	s := newSite(t)
	const packages, chains, long = 2000, 6, 60
	s.wide(t, packages)
	r := openWith(t, s.urls["http"], Options{CacheDir: t.TempDir()})
	b := r.NewBatch()
	was := head(t, r, "main")
	leaf := b.mustTree(t, files("app", 1))
	tips := make([]Hash, chains)
	var drafts sync.Map
	var g errgroup.Group
	for i := range chains {
		g.Go(func() error {
			c := was
			for n := range long {
				spec := CommitSpec{Root: c.Tree, Path: fmt.Sprintf("app-%04d", (n*chains+i)%packages), PackageTree: leaf, Parents: []Hash{c.Hash}, Author: machine, Message: fmt.Sprint(i, n)}
				next, err := b.Commit(t.Context(), spec)
				if err != nil {
					return err
				}
				spec.Root, spec.Path = was.Tree, "new-"+spec.Path // beside the chains, of their base
				draft, err := b.Commit(t.Context(), spec)
				if err != nil {
					return err
				}
				drafts.Store(fmt.Sprintf("refs/heads/drafts/%d-%d", i, n), draft.Hash)
				c = next
			}
			tips[i] = c.Hash
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, tip := range tips {
		if err := b.Update(fmt.Sprintf("refs/heads/chain-%d", i), Hash{}, tip); err != nil {
			t.Fatal(err)
		}
	}
	drafts.Range(func(ref, tip any) bool {
		if err := b.Update(ref.(string), Hash{}, tip.(Hash)); err != nil {
			t.Fatal(err)
		}
		return true
	})
	if _, err := b.Push(t.Context(), PushOptions{}); err != nil {
		t.Fatal(err)
	}
	s.repo.Fsck(t)
	for i, tip := range tips {
		changed := strings.Fields(s.repo.Git(t, "diff-tree", "--name-only", was.Hash.String(), tip.String()))
		if len(changed) != long || !slices.IsSorted(changed) || changed[0] != fmt.Sprintf("app-%04d", i) {
			t.Errorf("chain %d changed %d packages: %v", i, len(changed), changed)
		}
	}
}
