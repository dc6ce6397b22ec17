package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/test/gittest"
)

const recordRef = "refs/variform/fleet"

// keeper is a repository with a record, and a run that writes to it.
type keeper struct {
	t    testing.TB
	srv  *gittest.Server
	git  *gittest.Repo
	url  string
	repo *Repo
	opts Options
	said *[]string // warnings
	of   RecordOf
}

func newKeeper(t testing.TB, config ...string) *keeper {
	t.Helper()
	srv := gittest.NewServer(t)
	k := &keeper{t: t, srv: srv, git: srv.NewRepo(t, "fleet"), url: srv.RepoURL("fleet"), said: &[]string{}, of: RecordOf{Manager: "fleet", Author: machine}}
	for _, c := range config {
		key, value, _ := strings.Cut(c, "=")
		k.git.Git(t, "config", key, value)
	}
	k.git.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
	k.open(t.TempDir())
	return k
}

// open begins another run, with a cache folder of its own or an earlier run's.
func (k *keeper) open(cache string) {
	k.t.Helper()
	var mu sync.Mutex
	k.opts = Options{CacheDir: cache, Warn: func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		*k.said = append(*k.said, fmt.Sprintf(format, args...))
	}}
	k.repo = openWith(k.t, k.url, k.opts)
}

// edited adds a Draft whose package is not what the machine made, and its entry.
func (k *keeper) edited(b *Batch, path string, n int) record.Entry {
	k.t.Helper()
	hydrated, err := b.PackageTree([]krm.File{{Path: "Kptfile", Data: []byte(kptfile(path))}, {Path: "made.yaml", Data: fmt.Appendf(nil, "n: %d\n", n)}})
	if err != nil {
		k.t.Fatal(err)
	}
	c := draftCommit(k.t, b, path, fmt.Sprintf("packagevariant-%d", n), head(k.t, k.repo, "main"), files(path, 2))
	tree, err := b.PackageTree(files(path, 2))
	if err != nil {
		k.t.Fatal(err)
	}
	e := record.Entry{
		Path: path, Place: record.Open, Workspace: fmt.Sprintf("packagevariant-%d", n),
		Commit: c.Hash.String(), Tree: tree.String(), Hydrated: hydrated.String(), Owner: "fleet/default/" + path,
	}
	if err := b.Recorded([]record.Edit{record.Put{Entry: e}}, RefUpdate{Name: lifecycle.DraftRef(path, e.Workspace), New: c.Hash}); err != nil {
		k.t.Fatal(err)
	}
	return e
}

func (k *keeper) push(b *Batch, most int) error {
	_, err := b.Push(k.t.Context(), PushOptions{Record: &k.of, MaxRefsPerPush: most})
	return err
}

func (k *keeper) mustPush(b *Batch) {
	k.t.Helper()
	if err := k.push(b, 0); err != nil {
		k.t.Fatal(err)
	}
}

// entries are those of the record as a new run reads them.
func (k *keeper) entries() []string {
	k.t.Helper()
	rec, err := openWith(k.t, k.url, Options{}).Record(k.t.Context(), k.of)
	if err != nil {
		k.t.Fatal(err)
	}
	var out []string
	if rec != nil {
		for _, e := range rec.Entries() {
			out = append(out, e.Name())
		}
	}
	return out
}

func (k *keeper) quiet() {
	k.t.Helper()
	if len(*k.said) > 0 {
		k.t.Errorf("warned: %v", *k.said)
	}
}

// The record moves in the same push as what it is about, and keeps the trees
// that no commit holds.
func TestRecordPush(t *testing.T) {
	k := newKeeper(t)
	k.srv.ResetCounts()
	b := k.repo.NewBatch()
	web, db := k.edited(b, "web", 1), k.edited(b, "team/db", 1)
	k.mustPush(b)
	if n := k.srv.Count(gittest.Push); n != 1 {
		t.Errorf("%d pushes", n)
	}
	if n := k.srv.Count(gittest.Fetch); n != 1 { // of main
		t.Errorf("%d fetches", n)
	}
	k.quiet()
	k.git.Fsck(t)
	for path, tree := range map[string]string{"open/web/packagevariant-1": web.Hydrated, "open/team/db/packagevariant-1": db.Hydrated} {
		if got := k.git.Git(t, "rev-parse", recordRef+":"+path); got != tree {
			t.Errorf("%s is %s, want %s", path, got, tree)
		}
	}
	if d := cmp.Diff([]string{"open/team/db/packagevariant-1", "open/web/packagevariant-1"}, k.entries()); d != "" {
		t.Error(d)
	}
	if got := k.git.Git(t, "log", "-1", "--format=%an %ae %at|%P|%s", recordRef); got != "Variform variform@localhost 1700000001||Record 1 of fleet" && got != "Variform variform@localhost 1700000000||Record 1 of fleet" {
		t.Errorf("commit %q", got)
	}
}

// What stands on the branch and what is Published come of the open entry, and
// `git diff` between the record and the branch shows what people changed.
func TestRecordPublish(t *testing.T) {
	k := newKeeper(t)
	b := k.repo.NewBatch()
	e := k.edited(b, "web", 1)
	k.mustPush(b)
	b = k.repo.NewBatch()
	merge, err := b.Commit(t.Context(), CommitSpec{Root: head(t, k.repo, "main").Tree, Path: "web", PackageTree: hashOf(e.Tree), Parents: []Hash{head(t, k.repo, "main").Hash, hashOf(e.Commit)}, Author: machine, Message: "Approve"})
	if err != nil {
		t.Fatal(err)
	}
	made := e
	made.Revision, made.Commit = 1, merge.Hash.String()
	if err := b.Recorded([]record.Edit{record.Publish{Entry: made}},
		RefUpdate{"refs/heads/main", head(t, k.repo, "main").Hash, merge.Hash}, RefUpdate{Name: "refs/tags/web/v1", New: merge.Hash},
		RefUpdate{Name: lifecycle.DraftRef("web", e.Workspace), Old: hashOf(e.Commit)}); err != nil {
		t.Fatal(err)
	}
	k.mustPush(b)
	k.quiet()
	if d := cmp.Diff([]string{"main/web", "past/web/v1"}, k.entries()); d != "" {
		t.Error(d)
	}
	got := k.git.Git(t, "diff", "--name-status", recordRef+":main", "main", "--", "web")
	if got != "D\tweb/made.yaml\nA\tweb/res-01.yaml" {
		t.Errorf("edits:\n%s", got)
	}
	k.git.Fsck(t)
}

func hashOf(s string) Hash { return plumbing.NewHash(s) }

// A run with the earlier one's cache reads no record again, and one with an old
// cache only what is new in it.
func TestRecordCache(t *testing.T) {
	for name, config := range map[string][]string{"filtered": {"uploadpack.allowFilter=true"}, "whole": {"uploadpack.allowFilter=false"}} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, config...)
			b := k.repo.NewBatch()
			for i := range 200 {
				k.edited(b, fmt.Sprintf("app-%d", i), 1)
			}
			k.mustPush(b)
			own, old, fresh := k.opts.CacheDir, t.TempDir(), t.TempDir()
			k.open(old)
			read := func(want int, what string) (answered int64) {
				t.Helper()
				k.srv.ResetCounts()
				rec, err := k.repo.Record(t.Context(), k.of)
				if err != nil || len(rec.Entries()) != want {
					t.Fatalf("%s: %v", what, err)
				}
				return k.srv.Passed()[gittest.Stream{Kind: gittest.Fetch, Answer: true}]
			}
			cold := read(200, "cold")
			k.open(own)
			b = k.repo.NewBatch()
			k.edited(b, "app-0", 2)
			k.mustPush(b)
			if read(201, "what this run wrote"); k.srv.Count(gittest.Fetch) != 0 {
				t.Error("a run reads what it wrote")
			}
			k.open(own)
			if read(201, "what a run before wrote"); k.srv.Count(gittest.Fetch) != 0 {
				t.Error("a run reads what one before wrote")
			}
			for _, o := range k.repo.lastRecord(recordRef).frame {
				if cap(o.data) > 2*len(o.data) {
					t.Errorf("the %s of a record holds %d bytes for its %d", o.typ, cap(o.data), len(o.data))
				}
			}
			k.open(old)
			news := read(201, "an old cache")
			if name == "filtered" && (k.srv.Count(gittest.Fetch) != 1 || news > cold/10) {
				t.Errorf("%d fetches, %d bytes where all are %d", k.srv.Count(gittest.Fetch), news, cold)
			}
			k.open(fresh)
			read(201, "no cache")
			k.quiet()
			k.git.Fsck(t)
		})
	}
}

// A server sends what is new as it likes, also upon what is no part of what is read.
func TestRecordUponMore(t *testing.T) {
	k := newKeeper(t, "uploadpack.allowFilter=true")
	b := k.repo.NewBatch()
	for n := range 60 {
		k.edited(b, "web", n)
	}
	k.mustPush(b)
	was := k.git.Git(t, "rev-parse", recordRef)
	versions := hashOf(k.git.Git(t, "rev-parse", recordRef+":open/web")) // all of the package
	other := *k
	other.open(t.TempDir())
	b = other.repo.NewBatch()
	other.edited(b, "web", 60)
	other.mustPush(b)
	thin := gittest.Run(t, k.git.Dir, []byte(recordRef+"\n^"+was+"\n"), "pack-objects", "--revs", "--thin", "--stdout", "-q")
	if !strings.Contains(thin, string(versions[:])) {
		t.Fatal("git sends no delta upon what is not read")
	}
	k.open(k.opts.CacheDir)
	k.srv.ResetCounts()
	rec, err := k.repo.Record(t.Context(), k.of)
	if err != nil || len(rec.Entries()) != 61 || k.srv.Count(gittest.Fetch) != 1 {
		t.Errorf("%d requests, %v", k.srv.Count(gittest.Fetch), err)
	}
}

// Of a record nothing is here that is behind the last that was read, and the server is told so:
// what goes back to what it was before is sent.
func TestRecordThatGoesBack(t *testing.T) {
	k := newKeeper(t, "uploadpack.allowFilter=true")
	say := func(inputs string) {
		b := k.repo.NewBatch()
		e := record.Entry{Path: "web", Place: record.Built, Inputs: inputs, At: "2026-01-01T00:00:00Z"}
		if err := b.Recorded([]record.Edit{record.Put{Entry: e}}); err != nil {
			t.Fatal(err)
		}
		k.mustPush(b)
	}
	writer := k.opts.CacheDir
	say("sha256:01")
	say("sha256:02")
	reader := t.TempDir()
	k.open(reader)
	if _, err := k.repo.Record(t.Context(), k.of); err != nil {
		t.Fatal(err)
	}
	was := k.repo.Refs().Record(recordRef)
	k.open(writer)
	say("sha256:01")
	var asked string
	spy := roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Body != nil {
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req.Body, asked = io.NopCloser(bytes.NewReader(body)), string(body)
		}
		return http.DefaultTransport.RoundTrip(req)
	})
	k.repo = openWith(t, k.url, Options{CacheDir: reader, Transport: spy})
	k.srv.ResetCounts()
	rec, err := k.repo.Record(t.Context(), k.of)
	if err != nil || len(rec.Entries()) != 1 || rec.Entries()[0].Inputs != "sha256:01" || k.srv.Count(gittest.Fetch) != 1 {
		t.Errorf("%d requests, %v", k.srv.Count(gittest.Fetch), err)
	}
	if !strings.Contains(asked, "have "+was.String()) || !strings.Contains(asked, "shallow "+was.String()) {
		t.Errorf("the server is not told what is here:\n%s", asked)
	}
}

// A server may give out no folders by their depth, but commits without any: a record is read
// with all that it holds there.
func TestRecordWithoutDepth(t *testing.T) {
	k := newKeeper(t, "uploadpack.allowFilter=true", "uploadpackfilter.tree.maxDepth=0")
	b := k.repo.NewBatch()
	k.edited(b, "web", 1)
	k.mustPush(b)
	k.open(t.TempDir())
	k.srv.ResetCounts()
	rec, err := k.repo.Record(t.Context(), k.of)
	if err != nil || len(rec.Entries()) != 1 || k.srv.Count(gittest.Fetch) != 2 || !k.repo.lacks(byDepth) {
		t.Errorf("%d requests, %v", k.srv.Count(gittest.Fetch), err)
	}
}

// What is new in a record is read over a stream too.
func TestRecordStream(t *testing.T) {
	k := newKeeper(t, "uploadpack.allowFilter=true")
	k.url = daemon(t, k.git)
	k.open(t.TempDir())
	for n := 1; n < 4; n++ {
		other := *k
		other.open(t.TempDir())
		b := other.repo.NewBatch()
		other.edited(b, "web", n)
		other.mustPush(b)
		k.open(k.opts.CacheDir)
		was := k.repo.lastRecord(recordRef)
		if n > 1 && (was == nil || len(was.rec.Entries()) != n-1) {
			t.Fatalf("the cache has %v", was)
		}
		rec, err := k.repo.Record(t.Context(), k.of)
		if err != nil || len(rec.Entries()) != n {
			t.Fatalf("%d: %v", n, err)
		}
	}
	k.quiet()
	k.git.Fsck(t)
}

// What cannot be brought up to date by v2 or v0 is read whole, once, and then without a filter.
func TestRecordReadWhole(t *testing.T) {
	for fails, wants := range map[int]bool{1: true, 2: true, 3: true, 4: false} {
		k := newKeeper(t, "uploadpack.allowFilter=true")
		b := k.repo.NewBatch()
		k.edited(b, "web", 1)
		k.mustPush(b)
		other := *k
		other.open(t.TempDir())
		b = other.repo.NewBatch()
		other.edited(b, "web", 2)
		other.mustPush(b)
		k.open(k.opts.CacheDir)
		k.srv.ResetCounts()
		for range fails {
			k.srv.FailNext(gittest.Fetch, 400)
		}
		rec, err := k.repo.Record(t.Context(), k.of)
		if (err == nil) != wants || wants && len(rec.Entries()) != 2 || k.srv.Count(gittest.Fetch) != min(fails+1, 4) {
			t.Errorf("%d failures: %v after %d requests", fails, err, k.srv.Count(gittest.Fetch))
		}
	}
}

// A cache that is torn or damaged costs a fetch.
func TestRecordCacheDamaged(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"torn": func(b []byte) []byte { return b[:len(b)/2] }, "empty": func([]byte) []byte { return nil },
		"flipped": func(b []byte) []byte { b[len(b)-3] ^= 1; return b }, "lacks the end": func(b []byte) []byte { return b[:len(b)-1] },
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, "uploadpack.allowFilter=true")
			b := k.repo.NewBatch()
			k.edited(b, "web", 1)
			k.mustPush(b)
			files, err := filepath.Glob(filepath.Join(k.opts.CacheDir, "git", "*", "record-*"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			data, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(files[0], damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			k.open(k.opts.CacheDir)
			rec, err := k.repo.Record(t.Context(), k.of)
			if err != nil || len(rec.Entries()) != 1 {
				t.Error(err)
			}
		})
	}
}

// A tree that no branch holds is read from the record, however little the server
// gives out; others that are asked for come along.
func TestFetchRecorded(t *testing.T) {
	for name, config := range map[string][]string{
		"any object": {"uploadpack.allowFilter=true", "uploadpack.allowAnySHA1InWant=true"},
		"filter":     {"uploadpack.allowFilter=true"}, "nothing": {"uploadpack.allowFilter=false"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, config...)
			b := k.repo.NewBatch()
			web, db := k.edited(b, "web", 1), k.edited(b, "db", 2)
			k.mustPush(b)
			for _, manager := range []string{"fleet", "another"} {
				k.open(t.TempDir())
				k.srv.ResetCounts()
				for _, e := range []record.Entry{web, db} {
					ok, err := k.repo.FetchRecorded(t.Context(), RecordOf{Manager: manager}, hashOf(e.Hydrated))
					if err != nil || !ok {
						t.Fatalf("%s: %t, %v", e.Path, ok, err)
					}
					pkg, err := k.repo.ReadPackage(t.Context(), hashOf(e.Hydrated))
					if err != nil {
						t.Fatal(err)
					}
					if fs, err := pkg.Files(); err != nil || len(fs) != 2 {
						t.Errorf("%d files, %v", len(fs), err)
					}
				}
				if n := k.srv.Count(gittest.Fetch); n > 2 {
					t.Errorf("%d requests", n)
				}
				if ok, err := k.repo.FetchRecorded(t.Context(), RecordOf{Manager: manager}, Hash{1}); ok || err != nil {
					t.Errorf("of nothing: %t, %v", ok, err)
				}
			}
		})
	}
}

// A local repository's record is read from its objects.
func TestRecordLocal(t *testing.T) {
	k := newKeeper(t)
	k.url = k.git.Dir
	k.open(t.TempDir())
	b := k.repo.NewBatch()
	e := k.edited(b, "web", 1)
	k.mustPush(b)
	k.quiet()
	k.git.Git(t, "pack-refs", "--all")
	k.open("")
	ok, err := k.repo.FetchRecorded(t.Context(), k.of, hashOf(e.Hydrated))
	if err != nil || !ok || len(k.entries()) != 1 {
		t.Error(ok, err)
	}
	if len(k.repo.Refs().All()) != 2 {
		t.Errorf("the record is no branch: %v", k.repo.Refs().All())
	}
}

// Two runs whose packages have nothing in common but the record both get
// through, and neither plans again.
func TestRecordRace(t *testing.T) {
	for name, most := range map[string]int{"one push": 0, "a push for each": 1} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t)
			first := k.repo.NewBatch()
			k.edited(first, "start", 1)
			k.mustPush(first)
			var want []string
			var g sync.WaitGroup
			runs := 4
			errs := make([]error, runs)
			for run := range runs {
				repo := openWith(t, k.url, Options{CacheDir: t.TempDir()})
				mine := *k
				mine.repo = repo
				b := repo.NewBatch()
				for i := range 3 {
					mine.edited(b, fmt.Sprintf("run-%d-%d", run, i), 1)
					want = append(want, fmt.Sprintf("open/run-%d-%d/packagevariant-1", run, i))
				}
				g.Add(1)
				go func() {
					defer g.Done()
					_, errs[run] = b.Push(context.Background(), PushOptions{Record: &mine.of, MaxRefsPerPush: most})
				}()
			}
			g.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(append(want, "open/start/packagevariant-1"), k.entries()); d != "" {
				t.Error(d)
			}
			k.quiet()
			k.git.Fsck(t)
		})
	}
}

// What another run recorded of the same package is planned again.
func TestRecordConflict(t *testing.T) {
	k := newKeeper(t)
	b := k.repo.NewBatch()
	e := k.edited(b, "web", 1)
	k.mustPush(b)
	late := openWith(t, k.url, Options{CacheDir: k.opts.CacheDir})
	if _, err := late.Record(t.Context(), k.of); err != nil {
		t.Fatal(err)
	}
	k.mustPush(recordedOnly(t, k.repo, record.Forget{Path: "web"}))
	e.Set = "new"
	lb := late.NewBatch()
	c := draftCommit(t, lb, "web", "packagevariant-9", nil, files("web", 1))
	if err := lb.Recorded([]record.Edit{record.Put{Entry: e}}, RefUpdate{Name: "refs/heads/drafts/web/packagevariant-9", New: c.Hash}); err != nil {
		t.Fatal(err)
	}
	_, err := lb.Push(t.Context(), PushOptions{Record: &k.of})
	if !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), recordRef) {
		t.Error(err)
	}
	if _, there := k.git.AllRefs(t)["refs/heads/drafts/web/packagevariant-9"]; there {
		t.Error("a part went through")
	}
}

// recordedOnly is a batch of edits that are about no ref.
func recordedOnly(t testing.TB, r *Repo, edits ...record.Edit) *Batch {
	t.Helper()
	b := r.NewBatch()
	if err := b.Recorded(edits); err != nil {
		t.Fatal(err)
	}
	return b
}

// A server that refuses the record's ref gets a branch, and one that refuses
// that too is asked for nothing but the rest.
func TestRecordRefused(t *testing.T) {
	hidden := `case "$1" in refs/variform/*) echo not here >&2; exit 1;; esac`
	for name, tt := range map[string]struct {
		hook, script string
		ref          string // of the annotation
		want         string // where the record is
		warned       string
	}{
		"takes it":          {want: recordRef},
		"update hook":       {hook: "update", script: hidden, want: "refs/heads/variform-record/fleet"},
		"pre-receive":       {hook: "pre-receive", script: "while read a b ref; do set -- $ref; " + hidden + "; done", want: "refs/heads/variform-record/fleet"},
		"no branch either":  {hook: "update", script: `case "$1" in refs/variform/*|*variform-record*) exit 1;; esac`, warned: "annotation variform.dev/record-ref"},
		"named":             {ref: "refs/heads/memory", want: "refs/heads/memory"},
		"named and refused": {hook: "update", script: `case "$1" in refs/heads/memory) exit 1;; esac`, ref: "refs/heads/memory", warned: "hook declined"},
		"none":              {ref: record.None},
		"no ref":            {ref: "refs/tags/memory", warned: "names no place for a record"},
		"bad name":          {ref: "memory", warned: "names no place for a record"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t)
			k.of.Ref = tt.ref
			if tt.hook != "" {
				k.git.Hook(t, tt.hook, tt.script)
			}
			for n := 1; n < 3; n++ {
				b := k.repo.NewBatch()
				e := k.edited(b, "web", n)
				k.mustPush(b)
				refs := k.git.AllRefs(t)
				if refs[lifecycle.DraftRef("web", e.Workspace)] != e.Commit {
					t.Error("the Draft did not go through")
				}
				delete(refs, "refs/heads/main")
				for ref := range refs {
					if !strings.HasPrefix(ref, lifecycle.DraftsPrefix) && ref != tt.want {
						t.Errorf("%s is there", ref)
					}
				}
				if tt.want != "" {
					if got := k.entries(); len(got) != n {
						t.Errorf("entries %v", got)
					}
				}
				k.open(t.TempDir()) // the next run
			}
			if said := strings.Join(*k.said, "\n"); tt.warned == "" && said != "" || !strings.Contains(said, tt.warned) {
				t.Errorf("warned %q, want %q", said, tt.warned)
			}
		})
	}
}

// A record that another push holds is refused to nobody: it goes nowhere else, and nothing
// goes without it.
func TestRecordHeld(t *testing.T) {
	for _, atomic := range []string{"true", "false"} {
		t.Run("atomic "+atomic, func(t *testing.T) {
			k := newKeeper(t, "receive.advertiseAtomic="+atomic)
			b := k.repo.NewBatch()
			k.edited(b, "web", 1)
			k.mustPush(b)
			lock := filepath.Join(k.git.Dir, filepath.FromSlash(recordRef)+".lock")
			if err := os.WriteFile(lock, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			before := k.git.AllRefs(t)
			var refused *RejectedError
			if err := k.push(recordedOnly(t, k.repo, record.Forget{Path: "web"}), 0); !errors.As(err, &refused) || !refused.Held() {
				t.Error(err)
			}
			if d := cmp.Diff(before, k.git.AllRefs(t)); d != "" {
				t.Error(d)
			}
			with := k.repo.NewBatch()
			e := k.edited(with, "db", 1)
			if err := k.push(with, 0); !errors.As(err, &refused) || !refused.Held() {
				t.Error(err)
			}
			after := k.git.AllRefs(t)
			delete(after, lifecycle.DraftRef("db", e.Workspace)) // moves on its own where pushes are not atomic
			if d := cmp.Diff(before, after); d != "" {
				t.Error(d)
			}
			if err := os.Remove(lock); err != nil {
				t.Fatal(err)
			}
			k.open(t.TempDir())
			k.mustPush(recordedOnly(t, k.repo, record.Put{Entry: e}))
			if got := k.entries(); len(got) != 2 {
				t.Errorf("entries %v", got)
			}
			k.quiet()
		})
	}
}

// What is refused for itself is refused as before, and the record does not move
// alone.
func TestRecordOfRefused(t *testing.T) {
	for hook, script := range map[string]string{
		"update":      `case "$1" in */bad/*) echo not this >&2; exit 1;; esac`,
		"pre-receive": `while read a b ref; do case "$ref" in */bad/*) echo not this >&2; exit 1;; esac; done`,
	} {
		t.Run(hook, func(t *testing.T) {
			k := newKeeper(t)
			k.git.Hook(t, hook, script)
			b := k.repo.NewBatch()
			k.edited(b, "bad", 1)
			err := k.push(b, 0)
			if !errors.Is(err, ErrRejected) || strings.Contains(err.Error(), recordRef) || !strings.Contains(err.Error(), "not this") {
				t.Error(err)
			}
			if len(k.git.AllRefs(t)) != 1 {
				t.Errorf("refs %v", k.git.AllRefs(t))
			}
			k.quiet()
		})
	}
}

// What stands in the record's ref and cannot be gone on from stays as it is, and
// stops nothing.
func TestRecordNotWritten(t *testing.T) {
	valid := func() gittest.Text {
		return gittest.Text{"record.yaml": "apiVersion: variform.dev/record/v1\nmanager: \"fleet\"\nnumber: 1\nsince: \"2026-01-02T03:04:05Z\"\n"}
	}
	with := func(path, text string) gittest.Text {
		f := valid()
		f[path] = text
		return f
	}
	missing := strings.Repeat("5", 40)
	for name, tt := range map[string]struct {
		tree   gittest.Tree
		warned string
	}{
		"newer":          {with("record.yaml", "apiVersion: variform.dev/record/v7\n"), "newer version of variform"},
		"newer index":    {with("index/00.yaml", "apiVersion: variform.dev/record/v2\n"), "newer version of variform"},
		"something else": {gittest.Text{"README.md": "x"}, "it holds no record"},
		"damaged":        {with("index/00.yaml", "apiVersion: variform.dev/record/v1\nentries:\n- {}\n"), "index/00.yaml:3"},
		"names no object": {
			with("index/4b.yaml", "apiVersion: variform.dev/record/v1\nentries:\n- {\"path\":\"web\",\"place\":\"main\",\"commit\":\""+missing+"\",\"tree\":\""+missing+"\",\"hydrated\":\""+missing+"\"}\n"), "record rebuild",
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, "uploadpack.allowFilter=true")
			at := k.git.Commit(t, "forged", "x", tt.tree)
			k.git.Git(t, "update-ref", recordRef, at)
			k.git.Git(t, "update-ref", "-d", "refs/heads/forged")
			k.open(t.TempDir())
			b := k.repo.NewBatch()
			e := k.edited(b, "db", 1)
			k.mustPush(b)
			refs := k.git.AllRefs(t)
			if refs[lifecycle.DraftRef("db", e.Workspace)] != e.Commit || refs[recordRef] != at {
				t.Errorf("refs %v", refs)
			}
			if said := strings.Join(*k.said, "\n"); !strings.Contains(said, tt.warned) {
				t.Errorf("warned %q", said)
			}
		})
	}
}

// A record whose trees are not what its index says is written anew as it says.
func TestRecordTreesLost(t *testing.T) {
	k := newKeeper(t)
	b := k.repo.NewBatch()
	k.edited(b, "web", 1)
	k.mustPush(b)
	// Another program leaves the index, and of the trees one.
	index := k.git.Git(t, "rev-parse", recordRef+":index")
	head := k.git.Git(t, "rev-parse", recordRef+":record.yaml")
	open := k.git.Git(t, "rev-parse", recordRef+":open")
	tree := strings.TrimSpace(gittest.Run(t, k.git.Dir, []byte("040000 tree "+index+"\tindex\n100644 blob "+head+"\trecord.yaml\n040000 tree "+open+"\topened\n"), "mktree"))
	at := k.git.Git(t, "commit-tree", "-m", "x", tree)
	k.git.Git(t, "update-ref", recordRef, at)
	k.open(t.TempDir())
	b = k.repo.NewBatch()
	k.edited(b, "db", 1)
	k.mustPush(b)
	k.quiet()
	k.git.Fsck(t)
	if got := k.git.Git(t, "ls-tree", "--name-only", recordRef+":open"); got != "db\nweb" {
		t.Errorf("open holds %q", got)
	}
}

// The history begins anew after so many commits, where the server lets it.
func TestRecordStartsAnew(t *testing.T) {
	for name, tt := range map[string]struct {
		script  string
		parents string
	}{
		"lets it": {"", "1"}, "keeps histories": {`case "$1" in refs/variform/*) [ "$(git merge-base "$2" "$3")" = "$2" ] || exit 1;; esac`, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t)
			b := k.repo.NewBatch()
			k.edited(b, "web", 1)
			k.mustPush(b)
			if tt.script != "" {
				k.git.Hook(t, "update", "[ $2 = 0000000000000000000000000000000000000000 ] || { "+tt.script+"; }")
			}
			text := strings.Replace(k.git.Show(t, recordRef, "record.yaml"), "number: 1\n", "number: 1000\n", 1)
			blob := strings.TrimSpace(gittest.Run(t, k.git.Dir, []byte(text), "hash-object", "-w", "--stdin"))
			list := strings.Replace(k.git.Git(t, "ls-tree", recordRef), k.git.Git(t, "rev-parse", recordRef+":record.yaml"), blob, 1)
			tree := strings.TrimSpace(gittest.Run(t, k.git.Dir, []byte(list+"\n"), "mktree"))
			k.git.Git(t, "update-ref", recordRef, k.git.Git(t, "commit-tree", "-p", recordRef, "-m", "many", tree))
			k.open(t.TempDir())
			b = k.repo.NewBatch()
			k.edited(b, "db", 1)
			k.mustPush(b)
			k.quiet()
			k.git.Fsck(t)
			if got := k.git.Git(t, "rev-list", "--count", recordRef); got != tt.parents {
				t.Errorf("%s commits, want %s", got, tt.parents)
			}
			if !strings.Contains(k.git.Show(t, recordRef, "record.yaml"), "number: 1\n") || len(k.entries()) != 2 {
				t.Errorf("record %s, entries %v", k.git.Show(t, recordRef, "record.yaml"), k.entries())
			}
		})
	}
}

// One change to a large record sends a file of its index and what changed in
// trees.
func TestRecordCost(t *testing.T) {
	k := newKeeper(t)
	b := k.repo.NewBatch()
	tree, err := b.PackageTree(files("x", 1))
	if err != nil {
		t.Fatal(err)
	}
	var edits []record.Edit
	for i := range 5000 {
		edits = append(edits, record.Put{Entry: record.Entry{Path: fmt.Sprintf("app-%d", i), Place: record.Main, Commit: tree.String(), Tree: tree.String(), Hydrated: tree.String()}})
	}
	if err := b.Recorded(edits); err != nil {
		t.Fatal(err)
	}
	k.mustPush(b)
	k.open(k.opts.CacheDir) // another run
	b = k.repo.NewBatch()
	k.edited(b, "app-2500", 1)
	rep, err := b.Push(t.Context(), PushOptions{Record: &k.of})
	if err != nil {
		t.Fatal(err)
	}
	// 2 commits, the Draft's root, package and files, the tree made and its file;
	// record.yaml, a file of the index and its folder, the root, and open/app-2500.
	if rep.Objects > 16 || rep.Bytes > 12000 {
		t.Errorf("%d objects, %d bytes", rep.Objects, rep.Bytes)
	}
	k.quiet()
	k.git.Fsck(t)
}

// A server writes what a delta is upon beside it where that is not in the pack: small trees
// are sent whole, of a record and of packages, and large ones as what changed in them.
func TestSmallTreesAreWhole(t *testing.T) {
	k := newKeeper(t)
	const packages = 60
	push := func(n int) *Batch {
		b := k.repo.NewBatch()
		main := head(t, k.repo, "main")
		if err := k.repo.Fetch(t.Context(), main.Hash); err != nil {
			t.Fatal(err)
		}
		tree, err := b.PackageTree(files(fmt.Sprint("x", n), 1))
		if err != nil {
			t.Fatal(err)
		}
		c := main
		var edits []record.Edit
		for i := range packages {
			path := fmt.Sprintf("app-%d", i)
			if i%8 == 0 {
				path = fmt.Sprintf("group/app-%d", i) // a small folder
			}
			c = draftCommit(t, b, path, "w", c, files(fmt.Sprint("x", n), 1))
			edits = append(edits, record.Put{Entry: record.Entry{Path: path, Place: record.Past, Revision: n, Commit: c.Hash.String(), Tree: tree.String(), Hydrated: tree.String()}})
		}
		if err := b.Recorded(edits, RefUpdate{Name: "refs/heads/main", Old: main.Hash, New: c.Hash}); err != nil {
			t.Fatal(err)
		}
		k.mustPush(b)
		return b
	}
	push(1)
	k.open(k.opts.CacheDir) // another run
	b := push(2)
	small, large := 0, 0
	for h, o := range b.objects {
		if o.typ != plumbing.TreeObject {
			continue
		}
		kept, err := b.tree(h)
		if err != nil {
			t.Fatal(err)
		}
		switch size, upon := len(kept.raw), !o.base.IsZero() && b.object(o.base) == nil; {
		case size > smallThin && upon:
			large++
		case upon:
			t.Errorf("a tree of %d bytes is sent as what differs from what the server has", size)
		case size > smallTree && size <= smallThin:
			small++
		}
	}
	if small == 0 || large == 0 {
		t.Errorf("%d small trees, %d large ones upon what is there: the test says nothing", small, large)
	}
	k.quiet()
	k.git.Fsck(t)
}

// A push that was killed leaves the record and what it is about both, or neither.
func TestRecordLostAnswer(t *testing.T) {
	k := newKeeper(t)
	b := k.repo.NewBatch()
	k.edited(b, "web", 1)
	k.srv.DropPushReply()
	k.mustPush(b) // it is found done
	if len(k.entries()) != 1 {
		t.Errorf("entries %v", k.entries())
	}
	b = k.repo.NewBatch()
	k.edited(b, "db", 1)
	k.srv.DropPushAfter(100) // which is sent again, as the server was not asked
	k.srv.DropPushAfter(100)
	if err := k.push(b, 0); !errors.Is(err, ErrUnknownOutcome) {
		t.Error(err)
	}
	if len(k.entries()) != 1 {
		t.Errorf("entries %v", k.entries())
	}
	k.quiet()
}

// The same edits give the same record, byte for byte.
func TestRecordSameBytes(t *testing.T) {
	made := func() string {
		k := newKeeper(t)
		b := k.repo.NewBatch()
		k.edited(b, "web", 1)
		k.edited(b, "db", 1)
		k.mustPush(b)
		return k.git.AllRefs(t)[recordRef]
	}
	if a, b := made(), made(); a != b {
		t.Errorf("%s and %s", a, b)
	}
}

// TestRecordIsReadAgain holds that what fails while others read is read once more: who found
// a pack damaged may have thrown it away meanwhile. What fails again is told by its place.
func TestRecordIsReadAgain(t *testing.T) {
	k := newKeeper(t)
	b := k.repo.NewBatch()
	for i := range 24 {
		k.edited(b, fmt.Sprintf("web%d", i), 1)
	}
	k.mustPush(b)
	tip := plumbing.NewHash(k.git.Git(t, "rev-parse", recordRef))
	r := open(t, k.git.Dir)
	reader := func(fails func(times int) error) func(Hash) (rawObject, error) {
		var mu sync.Mutex
		times := map[Hash]int{}
		return func(h Hash) (rawObject, error) {
			typ, data, err := r.objects.read(h, 0)
			if err == nil && typ == plumbing.BlobObject {
				mu.Lock()
				defer mu.Unlock()
				times[h]++
				err = fails(times[h])
			}
			return rawObject{h, typ, data}, err
		}
	}
	once := errors.New("damaged")
	s, err := recordFrom(tip, reader(func(times int) error {
		if times == 1 {
			return once
		}
		return nil
	}))
	if err != nil || s.rec.Package("web7") == nil || len(s.files) < 10 {
		t.Fatalf("got %v", err)
	}
	first := slices.Sorted(maps.Keys(s.files))[0]
	if _, err := recordFrom(tip, reader(func(int) error { return once })); !errors.Is(err, once) {
		t.Errorf("got %v, want %v", err, once)
	}
	if _, err := recordFrom(tip, func(h Hash) (rawObject, error) {
		o, err := reader(func(int) error { return nil })(h)
		if o.typ == plumbing.BlobObject {
			err = errors.New(h.String())
		}
		return o, err
	}); err == nil || err.Error() != s.files[first].String() {
		t.Errorf("got %v, want what %s has: %s", err, first, s.files[first])
	}
}
