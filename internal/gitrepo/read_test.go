package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/test/gittest"
)

// TestReadsWhatGitStores compares our reading with git's own, object by object,
// however git keeps them.
func TestReadsWhatGitStores(t *testing.T) {
	for name, keep := range map[string]func(t *testing.T, r *gittest.Repo) string{
		"Loose": func(t *testing.T, r *gittest.Repo) string { return r.Dir },
		"Packed": func(t *testing.T, r *gittest.Repo) string {
			r.Git(t, "repack", "-adfq", "--depth=20", "--window=50")
			r.Git(t, "pack-refs", "--all")
			return r.Dir
		},
		"IndexVersion1": func(t *testing.T, r *gittest.Repo) string {
			r.Git(t, "-c", "pack.indexVersion=1", "repack", "-adfq")
			return r.Dir
		},
		"RefDeltas": func(t *testing.T, r *gittest.Repo) string {
			r.Git(t, "-c", "repack.usedeltabaseoffset=false", "repack", "-adfq")
			return r.Dir
		},
		"Alternates": func(t *testing.T, r *gittest.Repo) string {
			dir := filepath.Join(t.TempDir(), "shared.git")
			gittest.Run(t, "", nil, "clone", "-q", "--bare", "--shared", r.Dir, dir)
			return dir
		},
		"WorkTree": func(t *testing.T, r *gittest.Repo) string {
			dir := filepath.Join(t.TempDir(), "clone")
			gittest.Run(t, "", nil, "clone", "-q", r.Dir, dir)
			gittest.Run(t, dir, nil, "branch", "other", "origin/other")
			return dir
		},
		"LinkedWorkTree": func(t *testing.T, r *gittest.Repo) string {
			dir := filepath.Join(t.TempDir(), "linked")
			r.Git(t, "worktree", "add", "-q", dir, "other")
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			src := gittest.NewRepo(t)
			long := strings.Repeat("a line that deltas well\n", 400)
			for i := range 8 {
				src.Commit(t, "main", fmt.Sprint("c", i), gittest.Text{fmt.Sprintf("p%d/Kptfile", i): kptfile(fmt.Sprint("p", i)), "big.yaml": fmt.Sprintf("n: %d\n%s%d\n", i, long, i)})
			}
			src.Branch(t, "other", src.Git(t, "rev-parse", "main~3"))
			src.AnnotatedTag(t, "v1", "main~5")
			src.Tag(t, "light", src.Git(t, "rev-parse", "main~6"))
			src.Git(t, "tag", "-a", "-m", "nested", "nested", "v1")
			src.Git(t, "tag", "blob", src.Git(t, "rev-parse", "main:big.yaml"))
			dir := keep(t, src)
			r := open(t, dir)
			for _, line := range strings.Split(gittest.Run(t, dir, nil, "cat-file", "--batch-check", "--batch-all-objects"), "\n") {
				f := strings.Fields(line)
				h := plumbing.NewHash(f[0])
				typ, data, err := r.objects.read(h, 0)
				if err != nil || typ.String() != f[1] || fmt.Sprint(len(data)) != f[2] {
					t.Fatalf("%s: got %s of %d bytes, %v", line, typ, len(data), err)
				}
			}
			peeled := map[string]string{} // by name, what git peels it to: its last line
			for _, line := range strings.Split(gittest.Run(t, dir, nil, "show-ref", "-d"), "\n") {
				hash, ref, _ := strings.Cut(line, " ")
				peeled[strings.TrimSuffix(ref, "^{}")] = hash
			}
			var got []string
			for _, ref := range r.Refs().All() {
				got = append(got, fmt.Sprint(ref.Name, " ", ref.Hash))
				if want := peeled[ref.Name]; ref.Commit.String() != want && ref.Name != "refs/tags/blob" {
					t.Errorf("%s peels to %s, want %s", ref.Name, ref.Commit, want)
				}
			}
			want := strings.Split(gittest.Run(t, dir, nil, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags"), "\n")
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestPackageKinds(t *testing.T) {
	repo := gittest.NewRepo(t)
	at := func(fs ...gittest.File) Hash {
		h := repo.CommitFrom(t, "x", "", "x", gittest.Files(fs))
		repo.Git(t, "update-ref", "-d", "refs/heads/x")
		return plumbing.NewHash(repo.Git(t, "rev-parse", h+"^{tree}"))
	}
	sub := at(gittest.File{Path: "Kptfile", Data: []byte(kptfile("a"))}, gittest.File{Path: "mod", Mode: gittest.Submodule, Data: []byte(strings.Repeat("1", 40))})
	big := at(gittest.File{Path: "big", Data: make([]byte, 2000)})
	many := at(gittest.File{Path: "a"}, gittest.File{Path: "b"}, gittest.File{Path: "c"}, gittest.File{Path: "d"}, gittest.File{Path: "e"}, gittest.File{Path: "f"})
	heavy := at(gittest.File{Path: "a", Data: make([]byte, 900)}, gittest.File{Path: "b", Data: make([]byte, 901)}, gittest.File{Path: "c", Data: make([]byte, 902)}, gittest.File{Path: "d", Data: make([]byte, 903)})
	evilTree := func(name string) Hash {
		blob := gittest.Run(t, repo.Dir, []byte("x"), "hash-object", "-w", "--stdin")
		raw := append([]byte("100644 "+name+"\x00"), hashBytes(blob)...)
		return plumbing.NewHash(gittest.Run(t, repo.Dir, raw, "hash-object", "-t", "tree", "-w", "--stdin", "--literally"))
	}
	r := openWith(t, repo.Dir, Options{Limits: Limits{FileBytes: 1000, PackageBytes: 3000, PackageFiles: 5}})
	tests := map[string]struct {
		tree Hash
		want error
		text string
	}{
		"Submodule": {sub, ErrUnsupported, `"mod" is a Git submodule`},
		"BigFile":   {big, ErrLimit, `file "big"`},
		"ManyFiles": {many, ErrLimit, "more than 5 files"},
		"Heavy":     {heavy, ErrLimit, "more than 3000 bytes"},
		"DotGit":    {evilTree(".git"), nil, "reserved for Git"},
		"DotGIT":    {evilTree(".GiT "), nil, "reserved for Git"},
		"DotDot":    {evilTree(".."), nil, "no name of a file"},
		"Slash":     {evilTree("a/b"), nil, "slash"},
		"NotThere":  {Hash{7}, ErrMissingObject, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := r.ReadPackage(context.Background(), tc.tree)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func hashBytes(s string) []byte {
	h := plumbing.NewHash(s)
	return h[:]
}

func TestPackagesInTree(t *testing.T) {
	repo := gittest.NewRepo(t)
	h := plumbing.NewHash(repo.Commit(t, "main", "x", gittest.Text{
		"a/Kptfile": "k", "a/sub/Kptfile": "nested", "b/c/Kptfile": "k", "b/c-d/Kptfile": "k", "b/none/x": "", "d/Kptfile/x": "a folder", "Readme": "",
	}))
	r := open(t, repo.Dir)
	for dir, want := range map[string][]string{"": {"a", "b/c", "b/c-d"}, "b": {"b/c", "b/c-d"}, "/b/c/": {"b/c"}, "nowhere": nil} {
		ps, err := r.Packages(context.Background(), h, dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range ps {
			got = append(got, p.Path)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("below %q: %s", dir, d)
		}
	}
}

// The second run over HTTP reads refs only, whether or not the server filters.
func TestSecondRunFetchesNothing(t *testing.T) {
	for _, filter := range []bool{true, false} {
		t.Run(fmt.Sprint("filter=", filter), func(t *testing.T) {
			s := newSite(t)
			s.repo.Git(t, "config", "uploadpack.allowFilter", fmt.Sprint(filter))
			s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
			seed := open(t, s.urls["path"])
			b := seed.NewBatch()
			for i := range 30 {
				p := fmt.Sprintf("app-%02d", i)
				draft(t, b, p, "w", head(t, seed, "main"), files(p, 10))
			}
			push(t, b)

			cache := t.TempDir()
			ctx := context.Background()
			for run := range 3 {
				s.srv.ResetCounts()
				if run == 2 { // a damaged cache costs a fetch, never an error
					damage(t, cache)
				}
				r := openWith(t, s.urls["http"], Options{CacheDir: cache})
				var tips []Hash
				for _, p := range r.Index("").Packages() {
					tips = append(tips, r.Index("").Package(p).Drafts[0].Ref.Commit)
				}
				cs, err := r.Commits(ctx, tips...)
				if err != nil || len(cs) != 30 || cs[29].Trailers.Variant != "m/default/app-29" {
					t.Fatalf("run %d: %v %d", run, err, len(cs))
				}
				want := []int{1, 0, 1}[run]
				if run == 2 && !filter {
					want = 0 // the objects are still there
				}
				if got := s.srv.Count(gittest.Fetch); got != want || s.srv.Count(gittest.ReadRefs) != 1 {
					t.Errorf("run %d: %d fetches, want %d; %d ref reads", run, got, want, s.srv.Count(gittest.ReadRefs))
				}
			}

			s.srv.ResetCounts()
			r := openWith(t, s.urls["http"], Options{CacheDir: cache})
			h := head(t, r, "drafts/app-03/w")
			if _, ok, err := r.TreeAt(ctx, h.Hash, "app-03"); !ok || err != nil {
				t.Fatal(ok, err)
			}
			again := openWith(t, s.urls["http"], Options{CacheDir: cache})
			before := s.srv.Count(gittest.Fetch)
			h = head(t, again, "drafts/app-03/w")
			tree, _, _ := again.TreeAt(ctx, h.Hash, "app-03")
			if _, err := again.ReadPackage(ctx, tree); err != nil {
				t.Fatal(err)
			}
			if n := s.srv.Count(gittest.Fetch); n != before {
				t.Errorf("trees were fetched again")
			}
		})
	}
}

func damage(t *testing.T, cache string) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(cache, "git", "*", "commits"))
	if len(names) != 1 {
		t.Fatalf("cache files: %v", names)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 0x55
	if err := os.WriteFile(names[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What we pushed ourselves needs no fetch in the next run either.
func TestPushedCommitsAreCached(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	o := Options{CacheDir: t.TempDir()}
	r := openWith(t, s.urls["http"], o)
	b := r.NewBatch()
	c := draft(t, b, "app", "w", head(t, r, "main"), files("app", 3))
	push(t, b)
	s.srv.ResetCounts()
	cs, err := openWith(t, s.urls["http"], o).Commits(context.Background(), c.Hash)
	if err != nil || cs[0].Message != c.Message || s.srv.Count(gittest.Fetch) != 0 {
		t.Errorf("%v, %d fetches", err, s.srv.Count(gittest.Fetch))
	}
}

func TestFindAncestors(t *testing.T) {
	for _, filter := range []string{"true", "false"} {
		s := newSite(t)
		s.repo.Git(t, "config", "uploadpack.allowFilter", filter)
		base := s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": "0"})
		marked := s.repo.CommitFrom(t, "drafts/a/w", base, "x\n\nVariform-Inputs: sha256:1\n", gittest.Text{"a/Kptfile": "1"})
		for i := range 10 {
			s.repo.Commit(t, "drafts/a/w", "by hand", gittest.Text{"a/Kptfile": fmt.Sprint("hand", i)})
		}
		for _, kind := range []string{"path", "http"} {
			r := open(t, s.urls[kind])
			d, _ := r.Refs().Branch("drafts/a/w")
			m, _ := r.Refs().Branch("main")
			has := func(_ int, c *Commit) bool { return c.Trailers.Inputs != "" }
			got, err := r.FindAncestors(context.Background(), []Hash{d.Commit, m.Commit}, 1000, has)
			if err != nil || got[0] == nil || got[0].Hash.String() != marked || got[1] != nil {
				t.Errorf("%s, filter %s: %v %v", kind, filter, got, err)
			}
			if got, err := r.FindAncestors(context.Background(), []Hash{d.Commit}, 5, has); err != nil || got[0] != nil {
				t.Errorf("%s, limit: %v %v", kind, got, err)
			}
		}
	}
}

// The history of a branch comes in one request, however many ask for it at once, and what
// is known already in none.
func TestFirstParents(t *testing.T) {
	for _, filter := range []string{"true", "false"} {
		s := newSite(t)
		s.repo.Git(t, "config", "uploadpack.allowFilter", filter)
		var commits []string
		for i := range 20 {
			commits = append([]string{s.repo.Commit(t, "main", "x", gittest.Text{"a/Kptfile": fmt.Sprint(i)})}, commits...)
		}
		s.repo.Git(t, "branch", "side", commits[10])
		s.repo.Commit(t, "side", "beside", gittest.Text{"b/Kptfile": "0"})
		s.repo.Git(t, "update-ref", "refs/heads/main", s.repo.Git(t, "commit-tree", "-m", "merge", "-p", "main", "-p", "side", "main^{tree}"))
		commits = append([]string{s.repo.Git(t, "rev-parse", "main")}, commits...)
		for _, kind := range []string{"path", "http"} {
			r := open(t, s.urls[kind])
			main, _ := r.Refs().Branch("main")
			s.srv.ResetCounts()
			for _, c := range []struct{ n, fetches int }{{4, 1}, {3, 1}, {12, 2}, {21, 2}, {500, 2}} {
				var others errgroup.Group
				for range 8 {
					others.Go(func() error { _, err := r.FirstParents(t.Context(), main.Commit, c.n); return err })
				}
				got, err := r.FirstParents(t.Context(), main.Commit, c.n)
				if err := errors.Join(err, others.Wait()); err != nil {
					t.Fatal(err)
				}
				names := make([]string, len(got))
				for i, g := range got {
					names[i] = g.Hash.String()
				}
				if want := commits[:min(c.n, len(commits))]; !slices.Equal(names, want) {
					t.Errorf("%s, filter %s: %d are %d: %v", kind, filter, c.n, len(got), names)
				}
				if n := s.srv.Count(gittest.Fetch); kind == "http" && n != c.fetches {
					t.Errorf("filter %s, %d: %d requests, want %d", filter, c.n, n, c.fetches)
				}
			}
			if _, err := r.FirstParents(t.Context(), Hash{1}, 2); err == nil {
				t.Errorf("%s: history of nothing", kind)
			}
		}
	}
}

func TestConcurrentReads(t *testing.T) {
	s := newSite(t)
	for i := range 10 {
		s.repo.Commit(t, "main", "x", gittest.Text{fmt.Sprintf("p%d/Kptfile", i): kptfile("p")})
	}
	s.repo.Git(t, "repack", "-adfq")
	store := NewStore(Options{CacheDir: t.TempDir()})
	for _, kind := range []string{"path", "http"} {
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				ctx := context.Background()
				r, err := store.Open(ctx, s.urls[kind])
				if err != nil {
					t.Error(err)
					return
				}
				m, _ := r.Refs().Branch("main")
				if err := r.Fetch(ctx, m.Commit); err != nil {
					t.Error(err)
					return
				}
				tree, ok, err := r.TreeAt(ctx, m.Commit, fmt.Sprintf("p%d", i%10))
				if err != nil || !ok {
					t.Error(ok, err)
					return
				}
				p, err := r.ReadPackage(ctx, tree)
				if err != nil {
					t.Error(err)
					return
				}
				p.Remove("Kptfile") // our own clone
				r.Index("").Packages()
			}()
		}
		wg.Wait()
	}
	if n := s.srv.Count(gittest.Fetch); n != 1 {
		t.Errorf("%d fetches, want 1", n)
	}
}

// A push, a repack and a gc behind our back are noticed.
func TestLocalRepositoryChangesUnderUs(t *testing.T) {
	repo := gittest.NewRepo(t)
	repo.Commit(t, "main", "1", gittest.Text{"a/Kptfile": "1"})
	r := open(t, repo.Dir)
	head(t, r, "main")
	for i := range 3 {
		h := repo.Commit(t, "main", "x", gittest.Text{"a/Kptfile": fmt.Sprint(i)})
		repo.Git(t, "repack", "-adq")
		repo.Git(t, "pack-refs", "--all")
		if err := r.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		if c := head(t, r, "main"); c.Hash.String() != h {
			t.Errorf("main is %s, want %s", c.Hash, h)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	gittest.RequireGit(t)
	srv := gittest.NewServer(t)
	empty := t.TempDir()
	sha256 := filepath.Join(t.TempDir(), "s.git")
	if err := exec.Command("git", "init", "-q", "--bare", "--object-format=sha256", sha256).Run(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		url  string
		want error
		text string
	}{
		"Empty":      {"  ", nil, "empty"},
		"NoPath":     {filepath.Join(empty, "gone"), ErrNoRepository, "does not exist"},
		"NoRepo":     {empty, ErrNoRepository, "not a Git repository"},
		"NoFile":     {"file://" + empty + "/gone", ErrNoRepository, ""},
		"HTTP404":    {srv.RepoURL("gone"), ErrNoRepository, "no Git repository at"},
		"SHA256":     {sha256, ErrUnsupported, "sha256"},
		"Helper":     {"ext::sh -c true", ErrUnsupported, "remote helpers"},
		"Scheme":     {"ftp://x/y", ErrUnsupported, "scheme"},
		"NoHost":     {"https:///x", nil, "no host"},
		"Query":      {"https://x/y?token=hunter22", nil, "query"},
		"BadURL":     {"https://u:hunter22@ex ample/y", nil, "not a URL"},
		"BadEscapes": {"https://u:hunter22%zz@example.com/y", nil, "not a URL"},
		"FileHost":   {"file://host/x", nil, "names a host"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := NewStore(Options{}).Open(context.Background(), tc.url)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter22") {
				t.Errorf("the password is in the error: %v", err)
			}
		})
	}
}

func TestSHA256OverHTTP(t *testing.T) {
	s := newSite(t)
	dir := s.repo.Dir
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	gittest.Run(t, "", nil, "init", "-q", "--bare", "-b", "main", "--object-format=sha256", dir)
	s.repo.Commit(t, "main", "x", gittest.Text{"a": "b"})
	_, err := NewStore(Options{}).Open(context.Background(), s.urls["http"])
	if !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("got %v", err)
	}
}

func TestOneRepoPerAddress(t *testing.T) {
	s := newSite(t)
	st := NewStore(Options{})
	ctx := context.Background()
	var first *Repo
	for _, u := range []string{s.repo.Dir, s.repo.URL(), s.repo.Dir + "/", s.repo.Dir + "/../fleet.git"} {
		r, err := st.Open(ctx, u)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = r
		}
		if r != first {
			t.Errorf("%s is another Repo", u)
		}
	}
}

// A server lists refs while a push moves them: a revision that is both a Draft and
// Proposed is looked at again, and believed when it stays so.
func TestRefreshWhileARevisionMoves(t *testing.T) {
	for name, tt := range map[string]struct {
		proposed string // what it is at, "" for the Draft's commit
		moves    bool   // before the second request
		drafts   int
		requests int
	}{
		"on its way":      {"", true, 0, 2},
		"made anew":       {"main", true, 0, 2},
		"both, for good":  {"", false, 1, 4},
		"another content": {"main", false, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.repo.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
			c := s.repo.CommitFrom(t, "drafts/web/w1", "main", "draft", gittest.Text{"web/Kptfile": kptfile("web")})
			at := c
			if tt.proposed != "" {
				at = strings.TrimSpace(s.repo.Git(t, "rev-parse", tt.proposed))
			}
			s.repo.Git(t, "update-ref", lifecycle.ProposedRef("web", "w1"), at)
			n := 0
			s.srv.Before(func(kind, _ string) {
				if n++; tt.moves && n == 2 {
					s.repo.Git(t, "update-ref", "-d", lifecycle.DraftRef("web", "w1"))
				}
			})
			r, err := NewStore(Options{}).Open(t.Context(), s.urls["http"])
			if err != nil {
				t.Fatal(err)
			}
			p := r.Index("").Package("web")
			if len(p.Drafts) != tt.drafts || len(p.Proposed) != 1 || s.srv.Count(gittest.ReadRefs) != tt.requests {
				t.Errorf("%d Drafts and %d Proposed after %d requests", len(p.Drafts), len(p.Proposed), s.srv.Count(gittest.ReadRefs))
			}
		})
	}
}

// Entries are in the order of git mktree: folders as if they ended in a slash.
func TestEntryOrder(t *testing.T) {
	var entries []treeEntry
	for _, mode := range []string{modeRegular, modeDir, modeSymlink} {
		for _, name := range []string{"a", "a-b", "a.b", "a0", "ab", "a b", "b", "B", "a\x01", "\u00e4", "a\u00e4", ".", "a/"} {
			entries = append(entries, treeEntry{mode: mode, name: strings.TrimSuffix(name, "/")})
		}
	}
	for _, a := range entries {
		for _, b := range entries {
			if got, want := entryOrder(a, b), strings.Compare(sortKey(a.mode, a.name), sortKey(b.mode, b.name)); got != want {
				t.Errorf("%v and %v: %d, want %d", a, b, got, want)
			}
		}
	}
}
