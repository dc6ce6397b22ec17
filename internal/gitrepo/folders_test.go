package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// fullYard is a repository with n packages two folders deep on its branch, and a Draft of
// each, seen by who has read nothing of it yet.
type fullYard struct {
	*site
	main   Hash
	drafts []Place
}

func withPackages(t *testing.T, n int) fullYard {
	t.Helper()
	y := fullYard{site: filtering(t)}
	b := openWith(t, y.urls["http"], Options{}).NewBatch()
	var main *Commit
	for i := range n {
		main = draftCommit(t, b, yardPath(i), "w", main, files(fmt.Sprint("app-", i), 3))
	}
	if err := b.Create("refs/heads/main", main.Hash); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		c := draft(t, b, yardPath(i), "w", main, files(fmt.Sprint("app-", i), 4))
		y.drafts = append(y.drafts, Place{Commit: c.Hash, Path: yardPath(i)})
	}
	push(t, b)
	y.main = main.Hash
	return y
}

func yardPath(i int) string { return fmt.Sprintf("clusters/app-%03d", i) }

// way is what leads to a package on the branch.
func (y fullYard) way(i int) Place { return Place{Commit: y.main, Path: yardPath(i), Way: true} }

// whole says whether all of a commit is here.
func whole(t *testing.T, r *Repo, commit Hash) bool {
	t.Helper()
	missing, err := r.incomplete([]Hash{commit})
	if err != nil {
		t.Fatal(err)
	}
	return len(missing) == 0
}

// Beside many packages what leads to a few is asked for by itself: then their trees are
// known, and others can be put in their place.
func TestFetchWays(t *testing.T) {
	y := withPackages(t, manyPackages)
	first := func(n int, of func(int) Place) (out []Place) {
		for i := range n {
			out = append(out, of(i))
		}
		return out
	}
	there := func(i int) Place { return Place{Commit: y.main, Path: yardPath(i)} }
	draft := func(i int) Place { return y.drafts[i] }
	draftWay := func(i int) Place { p := y.drafts[i]; p.Way = true; return p }
	for name, c := range map[string]struct {
		places   []Place
		requests int
		whole    bool // the branch's, or the first Draft's
	}{
		"one":                        {first(1, y.way), 1, false},
		"ways to all":                {first(manyPackages, y.way), 1, false},
		"a quarter of the folders":   {first(manyPackages/fewFolders, there), 2, false},
		"more folders":               {first(manyPackages/fewFolders+1, there), 1, true},
		"a folder, and what leads":   {[]Place{y.way(7), {Commit: y.main, Path: yardPath(7)}}, 2, false},
		"a folder":                   {[]Place{{Commit: y.main, Path: yardPath(7)}}, 2, false},
		"a folder that is not there": {[]Place{{Commit: y.main, Path: "clusters/gone/app"}}, 1, false},
		"nor the folder above it":    {[]Place{{Commit: y.main, Path: "gone/app"}}, 1, false},
		"a way and all of it":        {[]Place{y.way(1), {Commit: y.main}}, 1, true},
		"all of it, and a way":       {[]Place{{Commit: y.main}, y.way(1)}, 1, true},
		"a few commits":              {first(fewCommits, draft), 2, false},
		"a way, and many folders":    {append([]Place{y.way(1)}, y.drafts[:manyPackages/fewFolders+1]...), 1, true},
		"more commits":               {first(fewCommits+1, draft), 1, true},
		"ways in more commits":       {first(fewCommits+1, draftWay), 1, true},
	} {
		for _, cached := range []bool{true, false} {
			t.Run(fmt.Sprint(name, "/cached=", cached), func(t *testing.T) {
				o := Options{}
				if cached {
					o.CacheDir = t.TempDir()
				}
				r := openWith(t, y.urls["http"], o)
				for _, want := range []int{c.requests, 0} {
					y.srv.ResetCounts()
					if err := r.FetchPlaces(t.Context(), c.places...); err != nil {
						t.Fatal(err)
					}
					if n := y.srv.Count(gittest.Fetch); n != want {
						t.Errorf("%d requests, want %d", n, want)
					}
				}
				if whole(t, r, c.places[0].Commit) != c.whole {
					t.Errorf("the whole commit is here: %t", !c.whole)
				}
				for _, p := range c.places {
					tree, exists, err := r.TreeAt(t.Context(), p.Commit, p.Path)
					if err != nil || exists == strings.Contains(p.Path, "gone") {
						t.Fatalf("what stands at %v: %t, %v", p, exists, err)
					}
					if exists && !c.whole && r.HasTree(tree) == p.Way && !slices.Contains(c.places, Place{Commit: p.Commit, Path: p.Path}) {
						t.Errorf("the files of %v are here: %t", p, p.Way)
					}
					if !p.Way && exists {
						if _, err := r.ReadFiles(t.Context(), tree); err != nil {
							t.Error(err)
						}
					}
				}
				if n := y.srv.Count(gittest.Fetch); n != 0 {
					t.Errorf("to read it took %d requests", n)
				}
			})
		}
	}
}

// The tree of a package that folders lead to which are here already is told by who asks for
// the way, at no cost.
func TestFetchWaysThatAreHere(t *testing.T) {
	for _, packages := range []int{manyPackages - 1, manyPackages} {
		y := withPackages(t, packages)
		r := openWith(t, y.urls["http"], Options{})
		if err := r.FetchOutline(t.Context(), y.main); err != nil {
			t.Fatal(err)
		}
		y.srv.ResetCounts()
		if err := r.FetchPlaces(t.Context(), y.way(3), Place{Commit: y.main, Path: "clusters/gone", Way: true}); err != nil {
			t.Fatal(err)
		}
		if tree, known := r.KnownTreeAt(y.main, yardPath(3)); !known || tree.IsZero() {
			t.Errorf("of %d packages one that is led to is not told", packages)
		}
		if tree, known := r.KnownTreeAt(y.main, "clusters/gone"); !known || !tree.IsZero() {
			t.Errorf("of %d packages one that is none is not told", packages)
		}
		if n := y.srv.Count(gittest.Fetch); n != 0 {
			t.Errorf("%d requests for what is here", n)
		}
	}
}

// Who pushed to a branch has what leads to its packages, in the same run and the next: Drafts
// are made upon it without a request. Of Drafts nothing is kept.
func TestWaysOfWhatWasPushed(t *testing.T) {
	for _, cached := range []bool{true, false} {
		y := withPackages(t, manyPackages)
		o := Options{}
		if cached {
			o.CacheDir = t.TempDir()
		}
		r := openWith(t, y.urls["http"], o)
		if err := r.FetchPlaces(t.Context(), y.way(0)); err != nil {
			t.Fatal(err)
		}
		b := r.NewBatch()
		was := head(t, r, "main")
		c := draftCommit(t, b, "beside", "w", was, files("beside", 2))
		for i := range 3 {
			c = draftCommit(t, b, yardPath(i), "w", c, files(fmt.Sprint("new-", i), 5))
		}
		if err := b.Update("refs/heads/main", was.Hash, c.Hash); err != nil {
			t.Fatal(err)
		}
		other := draft(t, b, yardPath(7), "other", c, files("other", 2))
		push(t, b)
		for _, next := range []bool{false, true} {
			if next && cached {
				r = openWith(t, y.urls["http"], o)
			}
			r.trees = nil
			if r.ways.has(other.Tree) {
				t.Error("what leads to a Draft's package is kept")
			}
			y.srv.ResetCounts()
			places := []Place{{Commit: c.Hash, Path: yardPath(1), Way: true}, {Commit: c.Hash, Path: yardPath(50), Way: true}, {Commit: c.Hash, Path: "beside", Way: true}}
			if err := r.FetchPlaces(t.Context(), places...); err != nil {
				t.Fatal(err)
			}
			for _, p := range places {
				want := y.repo.Git(t, "rev-parse", p.Commit.String()+":"+p.Path)
				if tree, ok, err := r.subtree(c.Tree, p.Path); err != nil || !ok || tree.String() != want {
					t.Errorf("%s: %s, %t, %v, want %s", p.Path, tree, ok, err, want)
				}
			}
			if n := y.srv.Count(gittest.Fetch); n != 0 || whole(t, r, c.Hash) {
				t.Errorf("%d requests for what was pushed; all of it is here: %t", n, whole(t, r, c.Hash))
			}
		}
	}
}

// Commits of few packages come with what leads to these, of which nothing else is asked then;
// not of one, nor where it is much, or deep, nor from a server that gives out commits alone.
func TestRootsAlong(t *testing.T) {
	for name, c := range map[string]struct {
		packages, commits int
		config            []string
		commitsIn, waysIn int // requests
	}{
		"few":                        {packages: 20, commits: 21, commitsIn: 1},
		"one":                        {packages: 1, commits: 2, commitsIn: 1, waysIn: 1},
		"much":                       {packages: manyPackages, commits: 50, commitsIn: 1, waysIn: 1},
		"few of many":                {packages: manyPackages, commits: 10, commitsIn: 1},
		"no filter":                  {packages: 20, commits: 21, config: []string{"uploadpack.allowFilter", "false"}, commitsIn: 1},
		"a filter of commits":        {packages: 20, commits: 21, config: []string{"uploadpackfilter.tree.maxDepth", "0"}, commitsIn: 2, waysIn: 1},
		"no filter of commits alone": {packages: 20, commits: 21, config: []string{"uploadpackfilter.tree.allow", "false"}, commitsIn: 3},
	} {
		for _, cached := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/cached %t", name, cached), func(t *testing.T) {
				y := withPackages(t, c.packages)
				if len(c.config) > 0 {
					y.repo.Git(t, append([]string{"config"}, c.config...)...)
				}
				o := Options{}
				if cached {
					o.CacheDir = t.TempDir()
				}
				r := openWith(t, y.urls["http"], o)
				commits := []Hash{y.main}
				for _, d := range y.drafts[:c.commits-1] {
					commits = append(commits, d.Commit)
				}
				y.srv.ResetCounts()
				if _, err := r.Commits(t.Context(), commits...); err != nil {
					t.Fatal(err)
				}
				if n := y.srv.Count(gittest.Fetch); n != c.commitsIn {
					t.Errorf("%d requests for commits, want %d", n, c.commitsIn)
				}
				if again := openWith(t, y.urls["http"], o); cached {
					r = again // another run has it as well
				}
				y.srv.ResetCounts()
				if _, err := r.Commits(t.Context(), commits...); err != nil {
					t.Fatal(err)
				}
				var ways []Place
				for i := range c.packages {
					ways = append(ways, y.way(i))
				}
				if err := r.FetchPlaces(t.Context(), ways...); err != nil {
					t.Fatal(err)
				}
				for _, p := range ways {
					want := y.repo.Git(t, "rev-parse", p.Commit.String()+":"+p.Path)
					if tree, ok, err := r.TreeAt(t.Context(), p.Commit, p.Path); err != nil || !ok || tree.String() != want {
						t.Errorf("%s: %s, %t, %v, want %s", p.Path, tree, ok, err, want)
					}
				}
				if n := y.srv.Count(gittest.Fetch); n != c.waysIn {
					t.Errorf("%d requests for what is on the branch, want %d", n, c.waysIn)
				}
				if c.config == nil && c.packages > 1 && whole(t, r, y.main) {
					t.Error("all of the branch was sent")
				}
			})
		}
	}
	for name, beside := range map[string]gittest.Text{
		"a large file":    {"notes": strings.Repeat(string(noisy(1)[1].Data), 4)},
		"a deeper filter": nil,
	} {
		y := withPackages(t, 3)
		if beside != nil {
			y.repo.Commit(t, "main", "beside", beside)
		}
		r := openWith(t, y.urls["http"], Options{})
		if beside == nil {
			r.ways.depth = 3 // somebody looked at a package that is deep
		}
		main, _ := r.Refs().Branch("main")
		if _, err := r.Commits(t.Context(), main.Commit); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c := r.commits.get(main.Commit); c == nil || r.ways.has(c.Tree) || len(r.ways.asked) > 0 {
			t.Errorf("%s: folders came along", name)
		}
	}
	y := withPackages(t, 3)
	y.repo.Commit(t, "drafts/a/deep/one/w", "deep", gittest.Text{"a/deep/one/Kptfile": kptfile("one")})
	r := openWith(t, y.urls["http"], Options{})
	if _, err := r.Commits(t.Context(), y.main); err != nil {
		t.Fatal(err)
	}
	if c := r.commits.get(y.main); r.ways.has(c.Tree) {
		t.Error("beside a package that is deep folders came along")
	}
}

// That nothing but one folder differs is told by what leads to it in one of two commits.
func TestOnlyAt(t *testing.T) {
	site := filtering(t)
	text := gittest.Text{"a/web/k": "1", "a/web/more/k": "1", "a/x": "1", "b/app/k": "1"}
	base := hashOf(site.repo.Commit(t, "main", "start", text))
	tree := func(path string) Hash { return hashOf(site.repo.Git(t, "rev-parse", "main:"+path)) }
	web, more, app := tree("a/web"), tree("a/web/more"), tree("b/app")
	commit := func(branch string, text gittest.Tree) Hash {
		return hashOf(site.repo.CommitFrom(t, branch, "main", branch, text))
	}
	gone := func(path string) gittest.File { return gittest.File{Path: path, Mode: gittest.Deleted} }
	for name, c := range map[string]struct {
		tip  Hash
		dir  string
		tree Hash
		want bool
	}{
		"the same":            {base, "a/web", web, true},
		"within":              {commit("within", gittest.Text{"a/web/k": "2"}), "a/web", web, true},
		"deeper within":       {commit("deeper", gittest.Text{"a/web/more/k": "2"}), "a/web", web, true},
		"within what is less": {commit("less", gittest.Text{"a/web/k": "2"}), "a/web/more", more, false},
		"beside":              {commit("beside", gittest.Text{"a/web/k": "2", "a/x": "2"}), "a/web", web, false},
		"above":               {commit("above", gittest.Text{"a/web/k": "2", "c": "2"}), "a/web", web, false},
		"another tree":        {commit("another", gittest.Text{"a/web/k": "2"}), "a/web", more, false},
		"no tree":             {commit("none", gittest.Text{"a/web/k": "2"}), "a/web", Hash{}, false},
		"gone":                {commit("gone", gittest.Files{gone("a/web")}), "a/web", web, true},
		"gone, and more":      {commit("all", gittest.Files{gone("a")}), "a/web", web, false},
		"the last one gone":   {commit("last", gittest.Files{gone("b")}), "b/app", app, true},
		"a file in its place": {commit("file", gittest.Files{gone("a/web"), {Path: "a/web", Data: []byte("1")}}), "a/web", web, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := openWith(t, site.urls["http"], Options{})
			if r.OnlyAt(base, c.tip, c.dir, c.tree) {
				t.Error("told of commits that are not here")
			}
			if _, err := r.Commits(t.Context(), base, c.tip); err != nil {
				t.Fatal(err)
			}
			if err := r.FetchPlaces(t.Context(), Place{Commit: c.tip, Path: c.dir, Way: true}); err != nil {
				t.Fatal(err)
			}
			if got := r.OnlyAt(base, c.tip, c.dir, c.tree); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// With fewer packages, without filters and by path commits are read whole, as before.
func TestFetchWaysByCommits(t *testing.T) {
	y := withPackages(t, manyPackages-1)
	r := openWith(t, y.urls["http"], Options{})
	if err := r.FetchPlaces(t.Context(), y.way(0)); err != nil || !whole(t, r, y.main) {
		t.Errorf("of fewer packages: %v", err)
	}
	y = withPackages(t, manyPackages)
	y.repo.Git(t, "config", "uploadpack.allowFilter", "false")
	r = openWith(t, y.urls["http"], Options{})
	if err := r.FetchPlaces(t.Context(), y.way(0)); err != nil || !whole(t, r, y.main) {
		t.Errorf("without filters: %v", err)
	}
	r = openWith(t, y.repo.Dir, Options{})
	if err := r.FetchPlaces(t.Context(), y.way(0)); err != nil || !r.leads(y.way(0)) || !whole(t, r, y.main) {
		t.Errorf("by path: %v", err)
	}
}

// A commit upon what leads to a package keeps all that is beside it, of which nothing was
// read.
func TestCommitUponAWay(t *testing.T) {
	y := withPackages(t, manyPackages)
	r := openWith(t, y.urls["http"], Options{CacheDir: t.TempDir()})
	added := "clusters/other/deep/app"
	places := []Place{y.way(3), y.way(4), {Commit: y.main, Path: added, Way: true}}
	if err := r.FetchPlaces(t.Context(), places...); err != nil {
		t.Fatal(err)
	}
	cs, err := r.Commits(t.Context(), y.main)
	if err != nil {
		t.Fatal(err)
	}
	b := r.NewBatch()
	tree, err := b.PackageTree(files("new", 5))
	if err != nil {
		t.Fatal(err)
	}
	c, err := b.Commit(t.Context(), CommitSpec{Root: cs[0].Tree, Path: yardPath(3), PackageTree: tree, More: []PackageAt{{Path: added, Tree: tree}}, Parents: []Hash{y.main}, Author: machine, Message: "put"})
	if err != nil {
		t.Fatal(err)
	}
	gone, err := b.Commit(t.Context(), CommitSpec{Root: c.Tree, Path: yardPath(4), Parents: []Hash{c.Hash}, Author: machine, Message: "remove"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Update("refs/heads/main", y.main, gone.Hash); err != nil {
		t.Fatal(err)
	}
	push(t, b)
	if whole(t, r, y.main) {
		t.Error("the whole commit was fetched for it")
	}
	y.repo.Git(t, "fsck", "--strict")
	changed := y.repo.Git(t, "diff", "--no-renames", "--name-status", y.main.String(), "main")
	for _, line := range strings.Split(strings.TrimSpace(changed), "\n") {
		if !strings.Contains(line, yardPath(3)+"/") && !strings.HasPrefix(line, "D\t"+yardPath(4)+"/") && !strings.HasPrefix(line, "A\t"+added+"/") {
			t.Errorf("%s", line)
		}
	}
	if n := len(strings.Split(y.repo.Git(t, "ls-tree", "--name-only", "main", "clusters/"), "\n")); n < manyPackages {
		t.Errorf("%d packages are left", n)
	}
}

// What leads to a package is of the next run, too, and is asked for again where the cache
// is damaged.
func TestWaysAreKept(t *testing.T) {
	y := withPackages(t, manyPackages)
	cache := t.TempDir()
	for run, want := range []int{1, 0, 1} {
		if run == 2 {
			packs, _ := filepath.Glob(filepath.Join(cache, "git", "*", "ways", packFolder, "*"))
			if len(packs) != 2 {
				t.Fatalf("packs: %v", packs)
			}
			for _, p := range packs {
				if err := os.Truncate(p, 40); err != nil {
					t.Fatal(err)
				}
			}
			_ = os.Remove(filepath.Join(cache, "git", "trees"))
		}
		r := openWith(t, y.urls["http"], Options{CacheDir: cache})
		y.srv.ResetCounts()
		if err := r.FetchPlaces(t.Context(), y.way(5)); err != nil {
			t.Fatal(err)
		}
		if tree, exists, err := r.TreeAt(t.Context(), y.main, yardPath(5)); err != nil || !exists || r.HasTree(tree) {
			t.Errorf("run %d: %t, %v", run, exists, err)
		}
		if n := y.srv.Count(gittest.Fetch); n != want {
			t.Errorf("run %d: %d requests, want %d", run, n, want)
		}
	}
}

// What was damaged is brought again by who reads it, whether this run fetched it or one
// before.
func TestPartsAreRenewed(t *testing.T) {
	y := withPackages(t, manyPackages)
	for part, ask := range map[string]func(*Repo) error{
		"ways":    func(r *Repo) error { return r.FetchPlaces(t.Context(), y.way(5)) },
		"outline": func(r *Repo) error { return r.FetchOutline(t.Context(), y.main) },
	} {
		for _, next := range []bool{false, true} {
			t.Run(fmt.Sprint(part, "/next=", next), func(t *testing.T) {
				cache := t.TempDir()
				r := openWith(t, y.urls["http"], Options{CacheDir: cache})
				if err := ask(r); err != nil {
					t.Fatal(err)
				}
				packs, _ := filepath.Glob(filepath.Join(cache, "git", "*", part, packFolder, "*.pack"))
				for _, p := range packs {
					data, err := os.ReadFile(p)
					if err != nil {
						t.Fatal(err)
					}
					for i := len(data) - 60; i < len(data)-20; i++ { // of the last object
						data[i] ^= 0x55
					}
					if err := os.WriteFile(p, data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				y.srv.ResetCounts()
				if next {
					r = openWith(t, y.urls["http"], Options{CacheDir: cache})
					if err := ask(r); err != nil { // which may read it
						t.Fatal(err)
					}
				}
				r.trees = nil // read, that is, and not remembered
				var err error
				for i := range manyPackages { // one of them needs what is damaged
					_, _, e := r.subtree(rootOf(t, r, y.main), yardPath(i)+"/deeper")
					if part == "ways" && isMissing(e) { // which ends above it
						_, _, e = r.subtree(rootOf(t, r, y.main), yardPath(i))
					}
					err = errors.Join(err, e)
				}
				if err != nil || len(packs) != 1 {
					t.Errorf("%d packs: %v", len(packs), err)
				}
				if n := y.srv.Count(gittest.Fetch); n != 1 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

// A server that cannot leave folders out by their depth is asked for whole commits, and
// not asked again in that run, whatever the repository. What fails for another reason is
// no such server.
func TestFetchWaysOfServersWithoutDepth(t *testing.T) {
	y := withPackages(t, manyPackages)
	second := y.srv.NewRepo(t, "second")
	second.Git(t, "config", "uploadpack.allowFilter", "true")
	second.Git(t, "fetch", "-q", y.repo.Dir, "+refs/*:refs/*")
	var tried int
	var refuse func(*http.Request) *http.Response
	o := Options{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Body != nil {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte("filter tree:2")) {
				if tried++; refuse != nil {
					return refuse(req), nil
				}
			}
		}
		return http.DefaultTransport.RoundTrip(req)
	})}
	says := func(status int, body string) func(*http.Request) *http.Response {
		return func(req *http.Request) *http.Response {
			return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}, Request: req, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
		}
	}
	for name, c := range map[string]struct {
		refuse func(*http.Request) *http.Response
		lacks  bool
		tried  int
	}{
		"an error":    {says(http.StatusOK, "0038ERR filter-spec 'tree:2': only 'tree:0' is supported"), true, 1},
		"a failure":   {says(http.StatusBadRequest, "what?"), true, 2}, // which can mean that it does not know v2
		"not allowed": {says(http.StatusForbidden, "no"), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			store := NewStore(o)
			tried = 0
			for i, url := range []string{y.urls["http"], strings.Replace(y.urls["http"], filepath.Base(y.urls["http"]), "second.git", 1)} {
				refuse = nil
				r, err := store.Open(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				refuse = c.refuse
				if err := r.FetchPlaces(t.Context(), y.way(i)); err != nil || !whole(t, r, y.main) {
					t.Errorf("repository %d: %v", i, err)
				}
				if r.lacks(byDepth) != c.lacks {
					t.Errorf("it is said to lack that: %t", !c.lacks)
				}
			}
			if c.tried > 0 && tried != c.tried {
				t.Errorf("tried %d times", tried)
			}
		})
	}
	refuse, tried = nil, 0
	r := openWith(t, y.urls["http"], o)
	if err := r.FetchPlaces(t.Context(), y.way(0)); err != nil || tried != 1 || whole(t, r, y.main) {
		t.Errorf("the test asks %d times for folders by their depth: %v", tried, err)
	}
}
