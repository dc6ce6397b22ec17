package gitrepo

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/gittest"
)

// withDrafts puts packages beside each other on a branch, and a Draft of each on it. The
// cache folder knows what stands where, and has none of it.
func withDrafts(t *testing.T, url string, o Options, n int) (*Repo, []Place) {
	t.Helper()
	r := openWith(t, url, o)
	b := r.NewBatch()
	var main *Commit
	for i := range n {
		main = draftCommit(t, b, fmt.Sprintf("app-%03d", i), "w", main, files("app", 1))
	}
	if err := b.Create("refs/heads/main", main.Hash); err != nil {
		t.Fatal(err)
	}
	places := make([]Place, n)
	for i := range places {
		path := fmt.Sprintf("app-%03d", i)
		places[i] = Place{Commit: draft(t, b, path, "w", main, files(fmt.Sprint("app-", i), 2)).Hash, Path: path}
	}
	push(t, b)
	r = openWith(t, url, o)
	commits := make([]Hash, n)
	for i, p := range places {
		commits[i] = p.Commit
	}
	if _, err := r.Commits(t.Context(), commits...); err != nil {
		t.Fatal(err)
	}
	return r, places
}

// filtering is a site that leaves out what it is asked to, as forges do.
func filtering(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.repo.Git(t, "config", "uploadpack.allowFilter", "true")
	return s
}

func readable(t *testing.T, r *Repo, p Place) bool {
	t.Helper()
	tree, known := r.KnownTreeAt(p.Commit, p.Path)
	if !known {
		t.Fatalf("nobody knows what stands at %v", p)
	}
	got, err := r.ReadFiles(t.Context(), tree)
	return err == nil && len(got) == 2
}

func rootOf(t *testing.T, r *Repo, commit Hash) Hash {
	t.Helper()
	cs, err := r.Commits(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	return cs[0].Tree
}

// Folders come by themselves in one request, without the root folders of their commits,
// and along with commits that are asked for.
func TestFetchPlaces(t *testing.T) {
	for _, cached := range []bool{true, false} {
		t.Run(fmt.Sprint("cached=", cached), func(t *testing.T) {
			s := filtering(t)
			o := Options{CacheDir: t.TempDir()}
			r, places := withDrafts(t, s.urls["http"], o, 80)
			if !cached { // what stands where is known to a Store, too
				r.objects = newMemorySource()
			}
			s.srv.ResetCounts()
			if err := r.FetchPlaces(t.Context(), append([]Place{{Commit: places[0].Commit, Path: "nowhere"}}, places[:60]...)...); err != nil {
				t.Fatal(err)
			}
			// Nobody knew that there is no such folder: that commit came whole.
			if n := s.srv.Count(gittest.Fetch); n != 1 || !r.objects.has(rootOf(t, r, places[0].Commit)) {
				t.Errorf("%d requests", n)
			}
			for i, p := range places {
				if whole := r.objects.has(rootOf(t, r, p.Commit)); whole != (i == 0) {
					t.Fatalf("%d: the root folder is here: %t", i, whole)
				}
				if readable(t, r, p) != (i < 60) {
					t.Fatalf("%d: the folder is here: %t", i, i >= 60)
				}
			}
			if _, exists, err := r.TreeAt(t.Context(), places[0].Commit, "nowhere"); err != nil || exists {
				t.Fatal(exists, err)
			}

			s.srv.ResetCounts()
			again := append([]Place{{Commit: places[0].Commit, Path: "nowhere"}}, places[:60]...)
			if err := r.FetchPlaces(t.Context(), again...); err != nil || s.srv.Count(gittest.Fetch) != 0 {
				t.Errorf("what is here is asked for again: %v", err)
			}
			if err := r.FetchPlaces(t.Context(), Place{Commit: places[79].Commit}, places[78]); err != nil || s.srv.Count(gittest.Fetch) != 1 {
				t.Errorf("a commit and a folder: %d requests, %v", s.srv.Count(gittest.Fetch), err)
			}
			behind := r.commits.get(places[79].Commit).Parents[0]
			if !r.objects.has(rootOf(t, r, places[79].Commit)) || !readable(t, r, places[78]) || r.objects.has(behind) {
				t.Error("a commit and a folder, and nothing behind them")
			}
		})
	}
}

// A commit that nobody has read comes whole, so that it need not be asked for besides.
func TestFetchPlacesOfUnreadCommits(t *testing.T) {
	s := filtering(t)
	o := Options{CacheDir: t.TempDir()}
	_, places := withDrafts(t, s.urls["http"], o, 3)
	caches, err := filepath.Glob(filepath.Join(o.CacheDir, "git", "*", "commits"))
	if err != nil || len(caches) != 1 {
		t.Fatal(caches, err)
	}
	if err := os.RemoveAll(caches[0]); err != nil {
		t.Fatal(err)
	}
	r := openWith(t, s.urls["http"], o)
	s.srv.ResetCounts()
	if err := r.FetchPlaces(t.Context(), places...); err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		if rootOf(t, r, p.Commit); !readable(t, r, p) {
			t.Error(p)
		}
	}
	if n := s.srv.Count(gittest.Fetch); n != 1 {
		t.Errorf("%d requests", n)
	}
}

// The commit of a repository's only package comes whole.
func TestFetchPlacesOfOnePackage(t *testing.T) {
	s := newSite(t)
	r, places := withDrafts(t, s.urls["http"], Options{CacheDir: t.TempDir()}, 1)
	if err := r.FetchPlaces(t.Context(), places...); err != nil {
		t.Fatal(err)
	}
	if !r.objects.has(rootOf(t, r, places[0].Commit)) {
		t.Error("the root folder is not here")
	}
}

// What folders cost does not grow with what is beside them.
func TestFetchPlacesCost(t *testing.T) {
	cost := map[int]int64{}
	for _, beside := range []int{40, 400} {
		s := filtering(t)
		r, places := withDrafts(t, s.urls["http"], Options{CacheDir: t.TempDir()}, beside)
		s.srv.ResetCounts()
		if err := r.FetchPlaces(t.Context(), places[:30]...); err != nil {
			t.Fatal(err)
		}
		for stream, n := range s.srv.Passed() {
			if stream.Answer {
				cost[beside] += n
			}
		}
	}
	if cost[400] > cost[40]*11/10 {
		t.Errorf("30 folders: %d bytes beside 40, %d beside 400", cost[40], cost[400])
	}
}

// A server that knows nothing of Git's protocol v2 is asked for whole commits, and not
// asked again in that run, whatever the repository.
func TestFetchPlacesOfCommits(t *testing.T) {
	tried := 0
	count := func(next http.RoundTripper, refuse func(*http.Request) *http.Response) roundTripper {
		return func(req *http.Request) (*http.Response, error) {
			if req.Header.Get("Git-Protocol") != "" {
				tried++
				if resp := refuse(req); resp != nil {
					return resp, nil
				}
			}
			return next.RoundTrip(req)
		}
	}
	answer := func(status int, body string) func(*http.Request) *http.Response {
		return func(req *http.Request) *http.Response {
			w := httptest.NewRecorder()
			w.WriteHeader(status)
			_, _ = w.WriteString(body)
			resp := w.Result()
			resp.Request = req
			return resp
		}
	}
	pkt := func(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }
	server := gittest.NewMemory()
	for name, refuse := range map[string]func(*http.Request) *http.Response{
		"a server of v0":       func(*http.Request) *http.Response { return nil },
		"nothing":              answer(http.StatusOK, ""),
		"a page":               answer(http.StatusOK, "<html>"),
		"no":                   answer(http.StatusBadRequest, "what?"),
		"a failure":            answer(http.StatusInternalServerError, "oops"),
		"elsewhere":            answer(http.StatusFound, ""),
		"an error":             answer(http.StatusOK, pkt("ERR upload-pack: protocol error")),
		"cut short":            answer(http.StatusOK, "0011pack"),
		"an end":               answer(http.StatusOK, "0000"),
		"a pack that is not":   answer(http.StatusOK, pkt("shallow-info\n")+"0001"+pkt("packfile\n")+pkt("\x01PACK")+"0000"),
		"a pack of other than": answer(http.StatusOK, pkt("packfile\n")+pkt("\x01"+emptyPack)+"0000"),
		"a fault with a pack":  answer(http.StatusOK, pkt("packfile\n")+pkt("\x03out of memory")+"0000"),
	} {
		t.Run(name, func(t *testing.T) {
			tried = 0
			most := 1
			if name == "a failure" || name == "cut short" || name == "a pack that is not" { // that may pass
				most = readAttempts
			}
			server.NewRepo("fleet")
			server.NewRepo("other")
			o := Options{CacheDir: t.TempDir(), Key: []byte("a key"), Transport: count(server, refuse)}
			var places []Place
			store := NewStore(o)
			for _, url := range []string{"http://git.test/fleet.git", "http://git.test/other.git"} {
				_, places = withDrafts(t, url, o, 5)
				r, err := store.Open(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.FetchPlaces(t.Context(), places[1:4]...); err != nil {
					t.Fatal(err)
				}
				for i, p := range places {
					if got := readable(t, r, p); got != (1 <= i && i < 4) {
						t.Errorf("%d: %t", i, got)
					}
				}
			}
			if tried != most {
				t.Errorf("tried %d times, want %d", tried, most)
			}
		})
	}
}

// emptyPack is a sound pack of nothing.
const emptyPack = "PACK\x00\x00\x00\x02\x00\x00\x00\x00\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"

// A failure that passes, and one that has another cause, are no reason not to ask a server
// for folders.
func TestFetchPlacesAfterAFailure(t *testing.T) {
	s := filtering(t)
	o := Options{CacheDir: t.TempDir()}
	r, places := withDrafts(t, s.urls["http"], o, 4)
	s.srv.FailNext(gittest.Fetch, http.StatusServiceUnavailable)
	if err := r.FetchPlaces(t.Context(), places[0]); err != nil {
		t.Fatal(err)
	}
	if r.objects.has(rootOf(t, r, places[0].Commit)) || !readable(t, r, places[0]) {
		t.Error("after 503 the folder came with its commit, or not at all")
	}
	s.srv.FailNext(gittest.Fetch, http.StatusForbidden)
	_ = r.FetchPlaces(t.Context(), places[1]) // by v0, or not at all
	if err := r.FetchPlaces(t.Context(), places[2]); err != nil || r.objects.has(rootOf(t, r, places[2].Commit)) {
		t.Errorf("after 403 the folder came with its commit, or not at all: %v", err)
	}
	r.store.opts.Limits.FetchBytes = 50
	if err := r.FetchPlaces(t.Context(), places[3]); !errors.Is(err, ErrLimit) || !r.mayTryV2() {
		t.Errorf("a limit: %v", err)
	}
}

// What fails in passing is tried as often as ever, whether a server has answered by v2 before
// or not, and is no reason to think that it does not know that, once or in one repository.
func TestV2AfterFailures(t *testing.T) {
	for _, spoke := range []bool{false, true} {
		srv := gittest.NewServer(t)
		urls, places := map[string]string{}, map[string][]Place{}
		for _, name := range []string{"a", "b"} {
			srv.NewRepo(t, name).Git(t, "config", "uploadpack.allowFilter", "true")
			urls[name] = srv.RepoURL(name)
			_, places[name] = withDrafts(t, urls[name], Options{CacheDir: t.TempDir()}, 5)
		}
		var posts []string
		status := 0
		store := NewStore(Options{CacheDir: t.TempDir(), Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			if status == 0 || req.Method != http.MethodPost || !strings.HasPrefix(req.URL.Path, "/a.git") {
				return http.DefaultTransport.RoundTrip(req)
			}
			posts = append(posts, req.Header.Get("Git-Protocol"))
			w := httptest.NewRecorder()
			w.WriteHeader(status)
			resp := w.Result()
			resp.Request = req
			return resp, nil
		})})
		repo := map[string]*Repo{}
		for name, url := range urls {
			r, err := store.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			if repo[name] = r; spoke {
				if _, err := r.Commits(t.Context(), places[name][0].Commit); err != nil {
					t.Fatal(err)
				}
			}
		}
		r := repo["a"]
		for _, c := range []struct {
			status, failing int
			posts           [2][]string // before it answered by v2, and after
		}{
			{http.StatusServiceUnavailable, 1, [2][]string{{"version=2", "", "", ""}, {"version=2", "version=2", "version=2"}}},
			{http.StatusServiceUnavailable, 2, [2][]string{{"version=2", "", "", ""}, {"version=2", "version=2", "version=2"}}},
			{http.StatusNotFound, -1, [2][]string{{"version=2"}, {"version=2"}}},
			{http.StatusForbidden, -1, [2][]string{{"version=2", ""}, {"version=2", ""}}},
		} {
			status, posts = c.status, nil
			want := c.posts[0]
			if spoke {
				want = c.posts[1]
			}
			if _, err := r.Commits(t.Context(), places["a"][1].Commit); err == nil || !slices.Equal(posts, want) || c.failing >= 0 && int(r.failing.Load()) != c.failing || !r.mayTryV2() {
				t.Errorf("spoke %t, %d: asked by %q, %d failing, %v", spoke, c.status, posts, r.failing.Load(), err)
			}
		}
		status = http.StatusBadRequest
		if _, err := r.Commits(t.Context(), places["a"][2].Commit); err == nil || r.mayTryV2() != spoke || repo["b"].mayTryV2() != spoke {
			t.Errorf("spoke %t: after 400 it is asked by v2: %t, %v", spoke, r.mayTryV2(), err)
		}
		status = 0
		if _, err := r.Commits(t.Context(), places["a"][3].Commit); err != nil {
			t.Error(err)
		}
	}
}

// What a server does not have is no reason not to ask it for folders.
func TestFetchPlacesThatAreGone(t *testing.T) {
	s := filtering(t)
	r, places := withDrafts(t, s.urls["http"], Options{CacheDir: t.TempDir()}, 3)
	gone := plumbing.NewHash(strings.Repeat("1", 40))
	r.store.places.put(places[0].Commit, "gone", gone)
	if err := r.FetchPlaces(t.Context(), Place{Commit: places[0].Commit, Path: "gone"}); err != nil {
		t.Fatal(err) // the commit came
	}
	if !r.objects.has(rootOf(t, r, places[0].Commit)) || !r.mayTryV2() {
		t.Error("asked for a folder that is gone")
	}
	s.srv.ResetCounts()
	if err := r.FetchPlaces(t.Context(), places[1:]...); err != nil || s.srv.Count(gittest.Fetch) != 1 {
		t.Errorf("%d requests, %v", s.srv.Count(gittest.Fetch), err)
	}
	if err := r.FetchPlaces(t.Context(), Place{Commit: gone, Path: "app"}); !errors.Is(err, ErrMissingObject) {
		t.Error(err)
	}
}

// A login is sent with what is asked by v2, and asked for where there is none yet.
func TestFetchPlacesWithALogin(t *testing.T) {
	s := filtering(t)
	o := Options{CacheDir: t.TempDir()}
	_, places := withDrafts(t, s.urls["http"], o, 2)
	r := openWith(t, s.urls["http"], o)
	s.srv.RequireLogin("ann", "secret") // since the refs were read
	u := strings.TrimPrefix(s.srv.URL, "http://")
	helper(t, map[string]string{u: "ann:secret"})
	if err := r.FetchPlaces(t.Context(), places...); err != nil {
		t.Fatal(err)
	}
	if !readable(t, r, places[0]) || r.objects.has(rootOf(t, r, places[0].Commit)) {
		t.Error("the folder came with its commit, or not at all")
	}
}

// Where a cache that has folders by themselves is damaged, they are fetched again, by
// themselves.
func TestDamagedPlacesAreRenewed(t *testing.T) {
	s := filtering(t)
	o := Options{CacheDir: t.TempDir()}
	r, places := withDrafts(t, s.urls["http"], o, 3)
	if err := r.FetchPlaces(t.Context(), places...); err != nil {
		t.Fatal(err)
	}
	for _, pack := range packsIn(t, o.CacheDir) {
		if err := os.Chmod(pack, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(pack, 40); err != nil {
			t.Fatal(err)
		}
	}
	r = openWith(t, s.urls["http"], o)
	if err := r.FetchPlaces(t.Context(), places...); err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		if !readable(t, r, p) || r.objects.has(rootOf(t, r, p.Commit)) {
			t.Error(p)
		}
	}
}

// More than may be fetched is an error, by whichever protocol it comes.
func TestFetchPlacesLimit(t *testing.T) {
	s := filtering(t)
	o := Options{CacheDir: t.TempDir()}
	_, places := withDrafts(t, s.urls["http"], o, 3)
	o.Limits.FetchBytes = 100
	if err := openWith(t, s.urls["http"], o).FetchPlaces(t.Context(), places...); !errors.Is(err, ErrLimit) {
		t.Error(err)
	}
}

// A local repository has all that it has.
func TestLocalPlaces(t *testing.T) {
	s := newSite(t)
	r, places := withDrafts(t, s.urls["path"], Options{}, 3)
	if err := r.FetchPlaces(t.Context(), places...); err != nil {
		t.Fatal(err)
	}
	var there []krm.File
	tree, _, err := r.TreeAt(t.Context(), places[0].Commit, places[0].Path)
	if err == nil {
		there, err = r.ReadFiles(t.Context(), tree)
	}
	if err != nil || len(there) != 2 {
		t.Error(len(there), err)
	}
	if err := r.FetchPlaces(t.Context(), Place{Commit: plumbing.NewHash(strings.Repeat("1", 40)), Path: "app"}); !errors.Is(err, ErrMissingObject) {
		t.Error(err)
	}
}
