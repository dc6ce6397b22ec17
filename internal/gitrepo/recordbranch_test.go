package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/test/gittest"
)

// branch lists what the record holds of the registered branch, as names of what is on main.
func (k *keeper) branch() (out []string) {
	k.t.Helper()
	names := map[string]string{k.git.Git(k.t, "rev-parse", "main^{tree}"): "main"}
	for line := range strings.Lines(k.git.Git(k.t, "ls-tree", "-r", "-d", "main")) {
		meta, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		names[strings.Fields(meta)[2]] = path
	}
	listed := gittest.Run(k.t, k.git.Dir, nil, "ls-tree", recordRef+":"+branchFolder)
	for i, line := range strings.Split(strings.TrimSpace(listed), "\n") {
		fields := strings.Fields(line)
		if fields[1] != "tree" || fields[3] != fmt.Sprint(i) {
			k.t.Fatalf("the record has %q", line)
		}
		out = append(out, names[fields[2]])
	}
	return out
}

// drafted pushes Drafts of packages upon the branch as it is.
func (k *keeper) drafted(n int, paths ...string) {
	k.t.Helper()
	k.open(k.opts.CacheDir)
	b := k.repo.NewBatch()
	for _, path := range paths {
		k.edited(b, path, n)
	}
	k.mustPush(b)
}

// The folders of the branch that lead to packages are in the record: a machine with an empty
// cache asks for none of them, as long as the branch is where it was.
func TestRecordBranch(t *testing.T) {
	many := make([]string, fewFolders)
	for i := range many {
		many[i] = fmt.Sprintf("at-%d/app", i)
	}
	for name, c := range map[string]struct {
		paths, want []string
		asked       int // requests for what leads to the packages
	}{
		"at the root":     {paths: []string{"db", "web"}, want: []string{"main"}},
		"in a folder":     {paths: []string{"clusters/db", "clusters/web"}, want: []string{"main", "clusters"}},
		"in folders":      {paths: []string{"a/b/db", "a/web", "-/c"}, want: []string{"main", "-", "a", "a/b"}},
		"in many folders": {paths: many, want: []string{"main", "at-0", "at-1", "at-2"}, asked: 1},
	} {
		for _, moved := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/moved %t", name, moved), func(t *testing.T) {
				k := newKeeper(t, "uploadpack.allowFilter=true")
				k.of.Branch = "main"
				for _, path := range c.paths {
					k.git.Commit(t, "main", "package", gittest.Text{path + "/Kptfile": kptfile(path)})
				}
				k.drafted(1, c.paths...)
				if diff := cmp.Diff(c.want, k.branch()); diff != "" {
					t.Errorf("the record holds (-want +got):\n%s", diff)
				}
				if moved {
					k.git.Commit(t, "main", "hotfix", gittest.Text{c.paths[0] + "/fix": "x\n"})
					c.asked = 1
				}
				k.open(t.TempDir())
				k.repo.largeRoots = true // as of many packages: nothing comes along but that
				if _, err := k.repo.Record(t.Context(), k.of); err != nil {
					t.Fatal(err)
				}
				main, _ := k.repo.Refs().Branch("main")
				draft, _ := k.repo.Refs().Branch("drafts/" + c.paths[0] + "/packagevariant-1")
				k.srv.ResetCounts()
				if _, err := k.repo.Commits(t.Context(), draft.Commit); err != nil {
					t.Fatal(err)
				}
				if n := k.srv.Count(gittest.Fetch); n != 1 || k.repo.commits.get(main.Commit) == nil {
					t.Errorf("%d requests for commits; the branch's is here: %t", n, k.repo.commits.get(main.Commit) != nil)
				}
				var ways []Place
				for _, path := range c.paths {
					ways = append(ways, Place{Commit: main.Commit, Path: path, Way: true})
				}
				if err := k.repo.FetchPlaces(t.Context(), ways...); err != nil {
					t.Fatal(err)
				}
				if n := k.srv.Count(gittest.Fetch) - 1; n != c.asked {
					t.Errorf("%d requests for what leads to packages, want %d", n, c.asked)
				}
				for _, p := range ways {
					want := k.git.Git(t, "rev-parse", "main:"+p.Path)
					if tree, ok, err := k.repo.TreeAt(t.Context(), p.Commit, p.Path); err != nil || !ok || tree.String() != want {
						t.Errorf("%s: %s, %t, %v, want %s", p.Path, tree, ok, err, want)
					}
				}
				k.quiet()
			})
		}
	}
}

// What is not made upon the branch leaves what the record says of that, wherever it is written:
// another machine may not have the branch. And what is not said is not made up.
func TestRecordBranchStays(t *testing.T) {
	k := newKeeper(t, "uploadpack.allowFilter=true")
	k.of.Branch = "main"
	k.git.Commit(t, "main", "packages", gittest.Text{"a/web/Kptfile": kptfile("web"), "b/db/Kptfile": kptfile("db")})
	k.drafted(1, "a/web")
	k.drafted(1, "b/db") // upon the same
	if diff := cmp.Diff([]string{"main", "a", "b"}, k.branch()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	k.git.Commit(t, "main", "hotfix", gittest.Text{"a/web/fix": "x\n"})
	said := record.Put{Entry: record.Entry{Path: "a/web", Place: record.Built, Inputs: "sha256:00", At: "2026-01-01T00:00:00Z"}}
	for _, branch := range []string{"main", "", "none"} {
		k.open(t.TempDir())
		k.of.Branch, said.Inputs = branch, said.Inputs+"0"
		if branch == "main" {
			head(t, k.repo, "main")
		}
		k.mustPush(recordedOnly(t, k.repo, said))
		if diff := cmp.Diff([]string{"", "", "b"}, k.branch()); diff != "" { // of main as it was
			t.Errorf("branch %q (-want +got):\n%s", branch, diff)
		}
	}
	k.of.Branch = "main"
	k.drafted(2, "a/web")
	if diff := cmp.Diff([]string{"main", "a"}, k.branch()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Nor does what is made upon what the branch was, or merges it.
	for n, parents := range []func(now *Commit) []Hash{
		func(now *Commit) []Hash { return now.Parents },
		func(now *Commit) []Hash { return []Hash{now.Parents[0], now.Hash} },
	} {
		k.git.Commit(t, "main", "hotfix", gittest.Text{"a/web/fix": fmt.Sprint(n)})
		k.open(t.TempDir())
		b := k.repo.NewBatch()
		main := head(t, k.repo, "main")
		c, e := k.made(b, "b/db", main.Tree, parents(main))
		e.Place, e.Workspace = record.Open, fmt.Sprintf("upon-%d", n)
		if err := b.Recorded([]record.Edit{record.Put{Entry: e}}, RefUpdate{Name: "refs/heads/drafts/b/db/" + e.Workspace, New: c.Hash}); err != nil {
			t.Fatal(err)
		}
		k.mustPush(b)
		if diff := cmp.Diff([]string{"", ""}, k.branch()); diff != "" {
			t.Errorf("%d (-want +got):\n%s", n, diff)
		}
	}
	// Of a branch that this push moves it is what it is moved to, by all that it makes there.
	k.open(k.opts.CacheDir)
	b := k.repo.NewBatch()
	first := head(t, k.repo, "main")
	main, edits := first, []record.Edit{}
	for _, path := range []string{"a/web", "b/db"} {
		c, e := k.made(b, path, main.Tree, []Hash{main.Hash})
		e.Workspace, e.Revision = "packagevariant-1", 1
		main, edits = c, append(edits, record.Publish{Entry: e})
	}
	if err := b.Recorded(edits, RefUpdate{Name: "refs/heads/main", Old: first.Hash, New: main.Hash}); err != nil {
		t.Fatal(err)
	}
	k.mustPush(b)
	if diff := cmp.Diff([]string{"main", "a", "b"}, k.branch()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	k.git.Fsck(t)
}

// made is a commit that gives a package a folder, and what an entry says of it.
func (k *keeper) made(b *Batch, path string, root Hash, parents []Hash) (*Commit, record.Entry) {
	k.t.Helper()
	tree, err := b.PackageTree(files(path, 3))
	if err != nil {
		k.t.Fatal(err)
	}
	c, err := b.Commit(k.t.Context(), CommitSpec{Root: root, Path: path, PackageTree: tree, Parents: parents, Author: machine, Message: "Make " + path})
	if err != nil {
		k.t.Fatal(err)
	}
	return c, record.Entry{Path: path, Commit: c.Hash.String(), Tree: tree.String(), Hydrated: tree.String()}
}

// A server that leaves nothing out of what it sends would send all that is below these folders
// with the record, and of a local repository they spare nobody anything.
func TestRecordBranchOfWhoNeedsNone(t *testing.T) {
	for name, c := range map[string]struct {
		config, url string
		want        int
	}{
		"filters":            {config: "uploadpack.allowFilter=true", want: 1},
		"no filters":         {config: "uploadpack.allowFilter=false"},
		"no filter by depth": {config: "uploadpackfilter.tree.allow=false"},
		"local":              {config: "uploadpack.allowFilter=true", url: "local"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, "uploadpack.allowFilter=true")
			k.of.Branch = "main"
			if c.url != "" {
				k.url = k.git.URL()
			}
			k.drafted(1, "a")
			key, value, _ := strings.Cut(c.config, "=")
			k.git.Git(t, "config", key, value)
			k.open(t.TempDir())
			k.drafted(2, "b")
			got := strings.Count(gittest.Run(t, k.git.Dir, nil, "ls-tree", recordRef), "\t"+branchFolder+"\n")
			if got != c.want {
				t.Errorf("the record has %d folders of the branch, want %d", got, c.want)
			}
		})
	}
}

// The next record is written upon one with folders of the branch as upon one without.
func TestRecordBranchIsBuiltUpon(t *testing.T) {
	var sizes []int64
	for _, branch := range []string{"", "main"} {
		k := newKeeper(t, "uploadpack.allowFilter=true")
		k.of.Branch = branch
		var paths []string
		for i := range 60 {
			paths = append(paths, fmt.Sprintf("app-%02d", i))
		}
		k.drafted(1, paths...)
		b := k.repo.NewBatch()
		k.edited(b, "app-07", 2)
		rep, err := b.Push(t.Context(), PushOptions{Record: &k.of})
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, rep.Bytes)
	}
	if sizes[1] > sizes[0]+500 {
		t.Errorf("a push has %d bytes, and %d with folders of the branch", sizes[0], sizes[1])
	}
}

// Commits are asked for in the order in which they are wanted, the branch's behind them: to send
// them by that of their hashes takes a server with many packages five times as long.
func TestRecordBranchKeepsOrder(t *testing.T) {
	k := newKeeper(t, "uploadpack.allowFilter=true")
	k.of.Branch = "main"
	var tips []Hash
	for i := range 6 {
		tips = append(tips, plumbing.NewHash(k.git.Commit(t, "main", "package", gittest.Text{fmt.Sprintf("app-%d/Kptfile", i): kptfile("app")})))
	}
	k.drafted(1, "app-0", "app-1")
	var body []byte
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		k.srv.ServeHTTP(w, r)
	}))
	defer front.Close()
	k.url = front.URL + "/fleet.git"
	main := tips[len(tips)-1]
	for _, tips := range [][]Hash{tips[:5], tips} { // the branch's is among them, or comes along
		for range 2 {
			slices.Reverse(tips) // one of both is not the order of their hashes
			k.open(t.TempDir())
			k.repo.largeRoots = true // as of many packages
			if _, err := k.repo.Record(t.Context(), k.of); err != nil {
				t.Fatal(err)
			}
			if _, err := k.repo.Commits(t.Context(), tips...); err != nil {
				t.Fatal(err)
			}
			want := slices.Clone(tips)
			if !slices.Contains(want, main) {
				want = append(want, main)
			}
			var got []Hash
			for _, m := range regexp.MustCompile(`want ([0-9a-f]{40})`).FindAllSubmatch(body, -1) {
				got = append(got, plumbing.NewHash(string(m[1])))
			}
			if !slices.Equal(got, want) {
				t.Errorf("asked for\n%v, want\n%v", got, want)
			}
		}
	}
	k.quiet()
}

// A branch whose commit is gone fails nothing that does not ask for it.
func TestRecordBranchGone(t *testing.T) {
	k := newKeeper(t, "uploadpack.allowFilter=true")
	k.of.Branch = "main"
	k.drafted(1, "web")
	was := k.git.Git(t, "rev-parse", "main")
	k.git.Commit(t, "main", "more", gittest.Text{"more": "x\n"})
	k.drafted(2, "db")
	k.open(t.TempDir())
	gone, _ := k.repo.Refs().Branch("main")
	for _, ref := range []string{"drafts/db/packagevariant-2"} {
		k.git.Git(t, "update-ref", "-d", "refs/heads/"+ref)
	}
	k.git.Git(t, "update-ref", "refs/heads/main", was)
	if _, err := k.repo.Record(t.Context(), k.of); err != nil {
		t.Fatal(err)
	}
	k.git.Git(t, "reflog", "expire", "--expire=now", "--all")
	k.git.Git(t, "-c", "gc.recentObjectsHook=", "prune", "--expire=now")
	draft, _ := k.repo.Refs().Branch("drafts/web/packagevariant-1")
	if _, err := k.repo.Commits(t.Context(), draft.Commit); err != nil {
		t.Error(err)
	}
	if _, asked := k.repo.ways.asked[gone.Commit]; asked {
		t.Error("it would be asked for again and again")
	}
}

// Folders that came with a record, and are damaged in the cache, are fetched again.
func TestRecordBranchIsRenewed(t *testing.T) {
	k := newKeeper(t, "uploadpack.allowFilter=true")
	k.of.Branch = "main"
	paths := []string{"clusters/db", "clusters/web"}
	for _, path := range paths {
		k.git.Commit(t, "main", "package", gittest.Text{path + "/Kptfile": kptfile(path)})
	}
	k.drafted(1, paths...)
	cache := t.TempDir()
	k.open(cache)
	k.repo.largeRoots = true
	if _, err := k.repo.Record(t.Context(), k.of); err != nil {
		t.Fatal(err)
	}
	draft, _ := k.repo.Refs().Branch("drafts/clusters/db/packagevariant-1")
	if _, err := k.repo.Commits(t.Context(), draft.Commit); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	err := filepath.WalkDir(k.repo.ways.objectSource.(*objectDir).path, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".pack") {
			damaged++
			err = errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("PACK"), 0o600))
		}
		return err
	})
	if err != nil || damaged == 0 {
		t.Fatal(damaged, err)
	}
	main := k.repo.commits.get(hashOf(k.git.Git(t, "rev-parse", "main")))
	for _, path := range paths {
		want := k.git.Git(t, "rev-parse", "main:"+path)
		if tree, ok, err := k.repo.subtree(main.Tree, path); err != nil || !ok || tree.String() != want {
			t.Errorf("%s: %s, %t, %v, want %s", path, tree, ok, err, want)
		}
	}
}

// A record whose folder of the branch is not as it is written is read without that, and written
// as it should be.
func TestRecordBranchOfOthers(t *testing.T) {
	for name, entries := range map[string]string{
		"a file":   "100644 blob FILE\t0\n",
		"a name":   "040000 tree ROOT\tmain\n",
		"a hole":   "040000 tree ROOT\t0\n040000 tree ROOT\t2\n",
		"too many": "040000 tree ROOT\t0\n040000 tree ROOT\t1\n040000 tree ROOT\t2\n040000 tree ROOT\t3\n040000 tree ROOT\t4\n",
		"nothing":  "",
		"another":  "040000 tree OTHER\t0\n",
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, "uploadpack.allowFilter=true")
			k.of.Branch = "main"
			k.git.Commit(t, "main", "package", gittest.Text{"web/Kptfile": kptfile("web")})
			k.drafted(1, "web")
			root := k.git.Git(t, "rev-parse", "main^{tree}")
			file, other := k.git.Git(t, "rev-parse", "main:README.md"), k.git.Git(t, "rev-parse", "main:web")
			listed := strings.NewReplacer("FILE", file, "ROOT", root, "OTHER", other).Replace(entries)
			dir := strings.TrimSpace(gittest.Run(t, k.git.Dir, []byte(listed), "mktree"))
			all := gittest.Run(t, k.git.Dir, nil, "ls-tree", recordRef)
			was := k.git.Git(t, "rev-parse", recordRef+":"+branchFolder)
			tree := strings.TrimSpace(gittest.Run(t, k.git.Dir, []byte(strings.ReplaceAll(all, was, dir)), "mktree"))
			k.git.Git(t, "update-ref", recordRef, k.git.Git(t, "commit-tree", "-p", recordRef, "-m", "by hand", tree))

			k.open(t.TempDir())
			rec, err := k.repo.Record(t.Context(), k.of)
			if err != nil || len(rec.Entries()) != 1 {
				t.Fatalf("%v, %v", rec, err)
			}
			k.repo.largeRoots = true
			main, _ := k.repo.Refs().Branch("main")
			draft, _ := k.repo.Refs().Branch("drafts/web/packagevariant-1")
			if _, err := k.repo.Commits(t.Context(), draft.Commit); err != nil {
				t.Fatal(err)
			}
			if err := k.repo.FetchPlaces(t.Context(), Place{Commit: main.Commit, Path: "web", Way: true}); err != nil {
				t.Fatal(err)
			}
			if tree, ok, err := k.repo.TreeAt(t.Context(), main.Commit, "web"); err != nil || !ok || tree.String() != other {
				t.Errorf("%s, %t, %v, want %s", tree, ok, err, other)
			}
			k.drafted(2, "web")
			if diff := cmp.Diff([]string{"main"}, k.branch()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			k.git.Fsck(t)
			k.quiet()
		})
	}
}
