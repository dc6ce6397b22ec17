package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// flipByte changes one byte of the first pack of a cache folder, and says how many it has.
func flipByte(t *testing.T, cache string, at int) (size int) {
	t.Helper()
	pack := packsIn(t, cache)[0]
	data, err := os.ReadFile(pack)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 0x40
	if err := errors.Join(os.Chmod(pack, 0o600), os.WriteFile(pack, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	return len(data)
}

func packsIn(t *testing.T, dir string) []string {
	t.Helper()
	packs, err := filepath.Glob(filepath.Join(dir, "git", "*", "objects", "pack", "*.pack"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs: %v, %v", packs, err)
	}
	return packs
}

// Whatever byte of a cached pack is another, the run that finds it reads the right
// content all the same.
func TestDamagedCacheIsRenewed(t *testing.T) {
	s := newSite(t)
	big := strings.Repeat("some text that is long enough to be packed\n", 200)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a"), "a/big.txt": big, "a/b/c.yaml": "x: y\n"})
	cache := t.TempDir()
	read := func(warned *[]string) (string, error) {
		store := NewStore(Options{CacheDir: cache, Warn: func(f string, a ...any) { *warned = append(*warned, fmt.Sprintf(f, a...)) }})
		ctx := context.Background()
		r, err := store.Open(ctx, s.urls["http"])
		if err != nil {
			return "", err
		}
		ref, _ := r.Refs().Branch("main")
		if err := r.Fetch(ctx, ref.Commit); err != nil {
			return "", err
		}
		tree, _, err := r.TreeAt(ctx, ref.Commit, "a")
		if err != nil {
			return "", err
		}
		files, err := r.ReadFiles(ctx, tree)
		return fmt.Sprint(files), err
	}
	var none []string
	want, err := read(&none)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	renewed := 0
	for at := 0; at == 0 || at < size; at += 7 {
		size = flipByte(t, cache, at)
		var warned []string
		got, err := read(&warned)
		if err != nil || got != want {
			t.Fatalf("byte %d of %d: %v", at, size, err)
		}
		renewed += len(warned)
		var again []string
		if got, err := read(&again); err != nil || got != want || len(again) > 0 && len(warned) > 0 {
			t.Fatalf("byte %d of %d, the run after: %v, %q", at, size, err, again)
		}
	}
	if renewed < 5 {
		t.Errorf("%d of %d damages were found out", renewed, size/7)
	}
}

func TestUnwritableCacheIsDoneWithout(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var warned []string
	r := openWith(t, s.urls["http"], Options{CacheDir: file, Warn: func(f string, a ...any) { warned = append(warned, fmt.Sprintf(f, a...)) }})
	b := r.NewBatch()
	draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
	push(t, b)
	if len(warned) != 1 || !strings.Contains(warned[0], file) {
		t.Errorf("warned %q", warned)
	}
}

// An empty answer of a server that had branches would have all of them made anew.
func TestEmptyAnswerIsDoubted(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	var empty atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !empty.Load() {
			s.srv.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		_, _ = io.WriteString(w, "001e# service=git-upload-pack\n00000000")
	}))
	t.Cleanup(srv.Close)
	cache, url, ctx := t.TempDir(), srv.URL+"/fleet.git", context.Background()
	r := openWith(t, url, Options{CacheDir: cache})
	head(t, r, "main")
	empty.Store(true)
	if err := r.Refresh(ctx); !errors.Is(err, ErrDoubtful) || r.Refs().Len() == 0 {
		t.Errorf("the same run: %v, %d refs", err, r.Refs().Len())
	}
	if _, err := NewStore(Options{CacheDir: cache}).Open(ctx, url); !errors.Is(err, ErrDoubtful) || !strings.Contains(err.Error(), cache) {
		t.Errorf("the next run: %v", err)
	}
	if _, err := NewStore(Options{CacheDir: t.TempDir()}).Open(ctx, url); err != nil {
		t.Errorf("a repository that nobody knew: %v", err)
	}
}

func TestWebPageForRefs(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/login") || strings.HasPrefix(r.URL.Path, "/page") {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html><body>Sign in</body></html>")
			return
		}
		http.Redirect(w, r, "/login", http.StatusFound)
	}))
	t.Cleanup(srv.Close)
	for _, path := range []string{"/page.git", "/fleet.git"} {
		_, err := NewStore(Options{}).Open(context.Background(), srv.URL+path)
		if !errors.Is(err, ErrNoRepository) || !strings.Contains(err.Error(), "web page") || strings.Contains(err.Error(), "service=") {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func TestNotAtomicIsSaidOnce(t *testing.T) {
	s := newSite(t)
	s.repo.Git(t, "config", "receive.advertiseAtomic", "false")
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	var warned []string
	r := openWith(t, s.urls["http"], Options{Warn: func(f string, a ...any) { warned = append(warned, fmt.Sprintf(f, a...)) }})
	for i := range 2 {
		b := r.NewBatch()
		draft(t, b, fmt.Sprintf("a%d", i), "w", head(t, r, "main"), files("a", 2))
		draft(t, b, fmt.Sprintf("b%d", i), "w", head(t, r, "main"), files("b", 2))
		push(t, b)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "cannot move several refs at once") {
		t.Errorf("warned %q", warned)
	}
}

// What leads to a package is read through a pack that was damaged in the cache: what is missing
// of it comes again.
func TestWayThroughDamage(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a"), "a/long.txt": strings.Repeat("some text that is long enough to be packed\n", 200), "a/b/c.yaml": "x: y\n"})
	cache := t.TempDir()
	read := func() (string, error) {
		_ = os.Remove(filepath.Join(cache, "git", "trees"))
		store := NewStore(Options{CacheDir: cache})
		r, err := store.Open(t.Context(), s.urls["http"])
		if err != nil {
			return "", err
		}
		main, _ := r.Refs().Branch("main")
		if err := r.FetchPlaces(t.Context(), Place{Commit: main.Commit, Path: "a", Way: true}); err != nil {
			return "", err
		}
		tree, _, err := r.TreeAt(t.Context(), main.Commit, "a")
		if err != nil {
			return "", err
		}
		files, err := r.ReadFiles(t.Context(), tree)
		return fmt.Sprint(files), err
	}
	want, err := read()
	if err != nil {
		t.Fatal(err)
	}
	size := 1
	for at := 0; at < size; at += 7 {
		size = flipByte(t, cache, at)
		if got, err := read(); err != nil || got != want {
			t.Errorf("byte %d of %d: %v", at, size, err)
		}
	}
}
