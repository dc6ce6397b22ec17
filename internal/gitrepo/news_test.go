package gitrepo

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/variform/variform/test/gittest"
)

// What people wrote on Drafts comes in one request with what leads there, by what they wrote
// it upon: the files that are new where the machine's are here, and all where nothing is.
func TestFetchNews(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out the table of what a fetch of news finds")
	}
	const edited = 3
	here := func(y fullYard, p Place) Hash { return p.Commit }
	onBranch := func(y fullYard, p Place) Hash { return y.main }
	type newsCase struct {
		since  func(y fullYard, machine Place) Hash
		fresh  bool                                             // nothing of the packages is on the branch
		cold   bool                                             // the machine's folders are not here
		write  func(t *testing.T, y fullYard, branch, p string) // nil changes a file
		first  int                                              // requests of FetchFew
		rest   int                                              // for the folders then
		behind int                                              // commits that came besides
	}
	for name, c := range map[string]newsCase{
		"upon what is here":      {since: here, first: 1},
		"upon the branch":        {since: onBranch, fresh: true, cold: true, first: 1, behind: 1},
		"upon what it has, too":  {since: onBranch, cold: true, first: 1, rest: 1, behind: 1},
		"upon what is not here":  {since: here, cold: true, first: 1, rest: 1},
		"upon nobody knows what": {since: func(fullYard, Place) Hash { return Hash{} }, first: 1, rest: 1},
		"upon what is nowhere":   {since: func(fullYard, Place) Hash { return Hash{1} }, first: 1, behind: 1},
		"upon itself":            {since: func(y fullYard, p Place) Hash { return y.head(t, p) }, first: 1, rest: 1},
		"twice": {since: here, first: 1, behind: 1, write: func(t *testing.T, y fullYard, branch, p string) {
			edit(t, y, branch, p, "1")
			edit(t, y, branch, p, "2")
		}},
		"a file of a folder below": {since: here, first: 1, write: func(t *testing.T, y fullYard, branch, p string) {
			y.repo.Commit(t, branch, "by hand", gittest.Text{p + "/more/deep/a.yaml": "a: 1\n"})
		}},
		"the branch merged": {since: here, first: 1, behind: 1, write: func(t *testing.T, y fullYard, branch, p string) {
			y.repo.Commit(t, "main", "beside", gittest.Text{"notes-" + strings.ReplaceAll(p, "/", "-"): "x"})
			merge(t, y, branch, "main")
			edit(t, y, branch, p, "1")
		}},
		"on the branch by now": {since: here, first: 2, rest: 1, write: func(t *testing.T, y fullYard, branch, p string) {
			edit(t, y, branch, p, "1")
			merge(t, y, "main", branch)
		}},
		"more than is read so": {since: here, first: 2, rest: 1, write: func(t *testing.T, y fullYard, branch, p string) {
			large := make([]byte, newsBytes/edited+1<<20)
			_, _ = rand.Read(large)
			y.repo.Commit(t, branch, "by hand", gittest.Text{p + "/large.bin": string(large)})
		}},
	} {
		for _, cached := range []bool{true, false} {
			t.Run(fmt.Sprint(name, "/cached=", cached), func(t *testing.T) {
				y := withPackages(t, manyPackages)
				o := Options{}
				if cached {
					o.CacheDir = t.TempDir()
				}
				machine := y.drafts[:edited]
				if c.fresh {
					machine = y.fresh(t, edited)
				}
				r := openWith(t, y.urls["http"], o)
				if !c.cold {
					if err := r.FetchPlaces(t.Context(), machine...); err != nil {
						t.Fatal(err)
					}
				}
				write := c.write
				if write == nil {
					write = func(t *testing.T, y fullYard, branch, p string) { edit(t, y, branch, p, "1") }
				}
				for _, m := range machine {
					write(t, y, "drafts/"+m.Path+"/w", m.Path)
				}
				if err := r.Refresh(t.Context()); err != nil {
					t.Fatal(err)
				}
				var ways, folders []Place
				since := map[Place]Hash{}
				for _, m := range machine {
					p := Place{Commit: y.head(t, m), Path: m.Path}
					folders = append(folders, p)
					p.Way = true
					ways, since[p] = append(ways, p), c.since(y, m)
				}
				y.srv.ResetCounts()
				count := func(what string, want int) {
					t.Helper()
					if n := y.srv.Count(gittest.Fetch); n != want {
						t.Errorf("%s took %d requests, want %d", what, n, want)
					}
					y.srv.ResetCounts()
				}
				if err := r.FetchFew(t.Context(), func(p Place) Hash { return since[p] }, ways...); err != nil {
					t.Fatal(err)
				}
				count("the ways", c.first)
				for i, p := range folders {
					cs := r.commits.take(p.Commit)
					if cs[0] == nil || !r.leads(ways[i]) || whole(t, r, p.Commit) {
						t.Fatalf("what leads to %s did not come, or all did", p.Path)
					}
					if c.behind > 0 && r.commits.get(cs[0].Parents[0]) == nil {
						t.Errorf("what is behind it did not come")
					}
				}
				if err := r.FetchPlaces(t.Context(), folders...); err != nil {
					t.Fatal(err)
				}
				count("the folders", c.rest)
				if c.fresh {
					if err := r.FetchPlaces(t.Context(), machine...); err != nil {
						t.Fatal(err)
					}
					count("what the machine made", 0)
				}
				for _, p := range folders {
					tree, ok, err := r.TreeAt(t.Context(), p.Commit, p.Path)
					if err != nil || !ok {
						t.Fatal(ok, err)
					}
					files, err := r.ReadFiles(t.Context(), tree)
					if err != nil {
						t.Fatal(err)
					}
					want := y.repo.Git(t, "ls-tree", "-r", "--name-only", p.Commit.String()+":"+p.Path)
					var got []string
					for _, f := range files {
						got = append(got, f.Path)
						if text := y.repo.Git(t, "rev-parse", p.Commit.String()+":"+p.Path+"/"+f.Path); text != hashObject(plumbing.BlobObject, f.Data).String() {
							t.Errorf("%s of %s is another", f.Path, p.Path)
						}
					}
					if strings.Join(got, "\n") != want {
						t.Errorf("%s has %v, want %s", p.Path, got, want)
					}
				}
				count("to read them", 0)
			})
		}
	}
}

// fresh are Drafts of packages that the branch does not have.
func (y fullYard) fresh(t *testing.T, n int) (out []Place) {
	t.Helper()
	r := openWith(t, y.urls["http"], Options{})
	cs, err := r.Commits(t.Context(), y.main)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Fetch(t.Context(), y.main); err != nil {
		t.Fatal(err)
	}
	b := r.NewBatch()
	for i := range n {
		path := fmt.Sprintf("clusters/fresh-%d", i)
		out = append(out, Place{Commit: draft(t, b, path, "w", cs[0], files(fmt.Sprint("fresh-", i), 4)).Hash, Path: path})
	}
	push(t, b)
	return out
}

// head is where a Draft is now.
func (y fullYard) head(t *testing.T, p Place) Hash {
	t.Helper()
	return plumbing.NewHash(y.repo.Git(t, "rev-parse", "refs/heads/drafts/"+p.Path+"/w"))
}

func edit(t *testing.T, y fullYard, branch, path, value string) {
	t.Helper()
	y.repo.Commit(t, branch, "by hand", gittest.Text{path + "/res-01.yaml": "a: " + value + "\n"})
}

// merge makes a merge of another branch into one, which has nothing that the other changes.
func merge(t *testing.T, y fullYard, into, other string) {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone")
	gittest.Run(t, "", nil, "clone", "-q", "--no-local", "-b", into, y.repo.Dir, clone)
	gittest.Run(t, clone, nil, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "merge", "-q", "--no-ff", "-m", "merge", "origin/"+other)
	gittest.Run(t, clone, nil, "push", "-q", "origin", into)
}

// Of many commits nothing is asked. A server that does not know v2 is asked for what leads to
// few of them.
func TestFetchNewsOfFew(t *testing.T) {
	y := withPackages(t, newsCommits+1)
	for n, want := range map[int]int{fewCommits + 1: 1, newsCommits: 1, newsCommits + 1: 0} {
		r := openWith(t, y.urls["http"], Options{})
		ways := slices.Clone(y.drafts[:n])
		for i := range ways {
			ways[i].Way = true
		}
		y.srv.ResetCounts()
		if err := r.FetchFew(t.Context(), func(Place) Hash { return y.main }, slices.Clone(ways)...); err != nil {
			t.Fatal(err)
		}
		if got := y.srv.Count(gittest.Fetch); got != want {
			t.Errorf("%d commits took %d requests, want %d", n, got, want)
		}
		for _, p := range ways {
			if r.leads(p) != (want > 0) {
				t.Fatalf("of %d commits, what leads to %s is here: %t", n, p.Path, r.leads(p))
			}
		}
	}
	r := openWith(t, y.urls["http"], Options{})
	r.without(byV2, errKind(ErrUnsupported, "of this test"))
	y.srv.ResetCounts()
	p := y.drafts[0]
	p.Way = true
	if err := r.FetchFew(t.Context(), func(Place) Hash { return y.main }, p); err != nil || y.srv.Count(gittest.Fetch) != 1 || !r.leads(p) {
		t.Errorf("by v0: %v after %d requests", err, y.srv.Count(gittest.Fetch))
	}
}

// A folder that is put together of what came and what was here is whole whatever becomes of
// the pack that the rest came in.
func TestFetchNewsIsWhole(t *testing.T) {
	y := withPackages(t, manyPackages)
	o := Options{CacheDir: t.TempDir()}
	m := y.drafts[0]
	r := openWith(t, y.urls["http"], o)
	if err := r.FetchPlaces(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	first, err := filepath.Glob(filepath.Join(o.CacheDir, "git", "*", packFolder, "*.pack"))
	if err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	edit(t, y, "drafts/"+m.Path+"/w", m.Path, "1")
	if err := r.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := Place{Commit: y.head(t, m), Path: m.Path}
	way := p
	way.Way = true
	if err := r.FetchFew(t.Context(), func(Place) Hash { return m.Commit }, way); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(first[0], 0); err != nil { // as a machine leaves it that dies
		t.Fatal(err)
	}
	r = openWith(t, y.urls["http"], o)
	if err := r.FetchPlaces(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	tree, _, err := r.TreeAt(t.Context(), p.Commit, p.Path)
	if err != nil {
		t.Fatal(err)
	}
	if files, err := r.ReadFiles(t.Context(), tree); err != nil || len(files) != 4 {
		t.Errorf("%d files, %v", len(files), err)
	}
}

// Commits that change nothing come without their root folders, which both sides are taken to
// have: of many of them no more is asked than of many that do.
func TestFetchNewsOfNothing(t *testing.T) {
	y := withPackages(t, manyPackages)
	for n, want := range map[int]int{fewCommits: 2, fewCommits + 1: 1} {
		r := openWith(t, y.urls["http"], Options{})
		var ways []Place
		since := map[Place]Hash{}
		for _, m := range y.drafts[:n] {
			y.repo.Commit(t, "drafts/"+m.Path+"/w", "run it again", gittest.Text{})
			w := Place{Commit: y.head(t, m), Path: m.Path, Way: true}
			ways, since[w] = append(ways, w), plumbing.NewHash(y.repo.Git(t, "rev-parse", w.Commit.String()+"^"))
		}
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		y.srv.ResetCounts()
		if err := r.FetchFew(t.Context(), func(p Place) Hash { return since[p] }, slices.Clone(ways)...); err != nil {
			t.Fatal(err)
		}
		if got := y.srv.Count(gittest.Fetch); got != want || whole(t, r, ways[0].Commit) {
			t.Errorf("%d commits: %d requests, want %d; all of one is here: %t", n, got, want, whole(t, r, ways[0].Commit))
		}
	}
}

// What is put together makes a pack that git takes, of large and small objects of all kinds.
func TestPackOf(t *testing.T) {
	objects := map[Hash]rawObject{}
	put := func(typ plumbing.ObjectType, data []byte) Hash {
		h := hashObject(typ, data)
		objects[h] = rawObject{h, typ, data}
		return h
	}
	put(plumbing.BlobObject, nil)
	put(plumbing.BlobObject, bytes.Repeat([]byte("line\n"), 50_000))
	put(plumbing.BlobObject, noisy(1)[1].Data)
	tree := put(plumbing.TreeObject, treeEntryBytes(modeRegular, "a", put(plumbing.BlobObject, []byte("a"))))
	put(plumbing.CommitObject, encodeCommit(tree, nil, machine, machine, "m"))
	pack, err := io.ReadAll(packOf(objects))
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := io.ReadAll(packOf(objects)); !bytes.Equal(again, pack) {
		t.Error("twice the same objects are two packs")
	}
	repo := gittest.NewRepo(t)
	file := filepath.Join(repo.Dir, "objects", "pack", "pack-of.pack")
	if err := os.WriteFile(file, pack, 0o600); err != nil {
		t.Fatal(err)
	}
	repo.Git(t, "index-pack", "--strict", file)
	for h, o := range objects {
		if got := repo.Git(t, "cat-file", "-s", h.String()); got != fmt.Sprint(len(o.data)) {
			t.Errorf("the %s %s has %s bytes, want %d", o.typ, h, got, len(o.data))
		}
	}
}

// What is put together is bounded in memory, and nothing is made of a damaged tree.
func TestGather(t *testing.T) {
	s := memory.NewStorage()
	put := func(typ plumbing.ObjectType, data []byte) Hash {
		o := &plumbing.MemoryObject{}
		o.SetType(typ)
		_, _ = o.Write(data)
		h, err := s.SetEncodedObject(o)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	file := bytes.Repeat([]byte("x"), 1000)
	tree := treeEntryBytes(modeRegular, "a", put(plumbing.BlobObject, file))
	root := treeEntryBytes(modeDir, "dir", put(plumbing.TreeObject, tree))
	link := append(slices.Clone(tree), treeEntryBytes(modeSubmodule, "other", Hash{1})...)
	ways := newMemorySource()
	for name, c := range map[string]struct {
		tree Hash
		left int
		ok   bool
	}{
		"all of it":           {put(plumbing.TreeObject, root), len(root) + len(tree) + len(file), true},
		"a byte less":         {put(plumbing.TreeObject, root), len(root) + len(tree) + len(file) - 1, false},
		"no more than a tree": {put(plumbing.TreeObject, root), len(root), false},
		"a submodule":         {put(plumbing.TreeObject, link), 1 << 20, false},
		"a damaged tree":      {put(plumbing.TreeObject, append(slices.Clone(tree), "40000 dir"...)), 1 << 20, false},
	} {
		ways.stores = []*memory.Storage{s}
		r := &Repo{objects: newMemorySource(), ways: newPart(ways, 1)}
		left := int64(c.left)
		var objects []rawObject
		if ok := r.gather(c.tree, &objects, &left); ok != c.ok || left < 0 {
			t.Errorf("%s: %t, %d left", name, ok, left)
		}
		held := 0
		for _, o := range objects {
			held += len(o.data)
		}
		if held > c.left || c.ok && len(objects) != 3 {
			t.Errorf("%s: %d objects of %d bytes", name, len(objects), held)
		}
	}
}

// A history that is long is looked behind no further than people write on a Draft.
func TestFetchNewsOfLongHistory(t *testing.T) {
	y := withPackages(t, manyPackages)
	m := y.drafts[0]
	for i := range 4 * newsSteps {
		edit(t, y, "drafts/"+m.Path+"/w", m.Path, fmt.Sprint(i))
	}
	r := openWith(t, y.urls["http"], Options{})
	way := Place{Commit: y.head(t, m), Path: m.Path, Way: true}
	if err := r.FetchFew(t.Context(), func(Place) Hash { return y.main }, way); err != nil {
		t.Fatal(err)
	}
	if n := len(r.store.places.at); n != newsSteps {
		t.Errorf("%d places are known, want %d", n, newsSteps)
	}
}

// What is gone is asked for once: who reads it reads the refs again.
func TestFetchNewsOfWhatIsGone(t *testing.T) {
	y := withPackages(t, manyPackages)
	r := openWith(t, y.urls["http"], Options{})
	y.srv.ResetCounts()
	gone := Place{Commit: Hash{1}, Path: yardPath(0), Way: true}
	err := r.FetchFew(t.Context(), func(Place) Hash { return y.main }, gone)
	if n := y.srv.Count(gittest.Fetch); !errors.Is(err, ErrMissingObject) || n != 1 {
		t.Errorf("%d requests, %v", n, err)
	}
}

// What came so is brought again where the cache is damaged, in the same run and the next.
func TestFetchNewsAgain(t *testing.T) {
	for _, next := range []bool{false, true} {
		y := withPackages(t, manyPackages)
		o := Options{CacheDir: t.TempDir()}
		m := y.fresh(t, 1)[0]
		edit(t, y, "drafts/"+m.Path+"/w", m.Path, "1")
		p := Place{Commit: y.head(t, m), Path: m.Path}
		way := p
		way.Way = true
		r := openWith(t, y.urls["http"], o)
		if err := r.FetchFew(t.Context(), func(Place) Hash { return y.main }, way); err != nil {
			t.Fatal(err)
		}
		tree, known := r.KnownTreeAt(p.Commit, p.Path)
		if !known || !r.HasTree(tree) {
			t.Fatal("the folder did not come")
		}
		packs, err := filepath.Glob(filepath.Join(o.CacheDir, "git", "*", "ways", packFolder, "*.pack"))
		if err != nil || len(packs) != 1 {
			t.Fatal(packs, err)
		}
		folders, _ := filepath.Glob(filepath.Join(o.CacheDir, "git", "*", packFolder, "*.pack"))
		for _, name := range append(packs, folders...) {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i := 12; i < len(data)-20; i++ {
				data[i] ^= 0x55
			}
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if next {
			r = openWith(t, y.urls["http"], o)
		}
		if err := r.FetchPlaces(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		r.trees = nil // read, that is, and not remembered
		if next {
			if err := r.FetchPlaces(t.Context(), way); err != nil {
				t.Fatal(err)
			}
		}
		if at, ok, err := r.subtree(rootOf(t, r, p.Commit), p.Path); err != nil || !ok || at != tree {
			t.Errorf("next %t: %s stands there, %t, %v", next, at, ok, err)
		}
		files, err := r.ReadFiles(t.Context(), tree)
		if err != nil || len(files) != 4 || string(files[1].Data) != "a: 1\n" {
			t.Errorf("next %t: %d files, %v", next, len(files), err)
		}
	}
}
