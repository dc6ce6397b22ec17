package publish

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/test/gittest"
)

// bench is a Git repository of a real server with something on main, read once.
type bench struct {
	t      *testing.T
	server *gittest.Server
	git    *gittest.Repo
	main   decide.Hash
	repo   *observe.Repo
	// stage has the packages of changes.
	stage *gitrepo.Stage
}

func newBench(t *testing.T) *bench {
	t.Helper()
	server := gittest.NewServer(t)
	git := server.NewRepo(t, "c1")
	main := git.Commit(t, "main", "start", gittest.Files{{Path: "README.md", Mode: gittest.Regular, Data: []byte("x\n")}})
	b := &bench{t: t, server: server, git: git, main: decide.ParseHash(main)}
	b.reach(server.RepoURL("c1"))
	return b
}

// reach reads the repository, anew, by an address of it.
func (b *bench) reach(url string) {
	b.t.Helper()
	store := gitrepo.NewStore(gitrepo.Options{CacheDir: b.t.TempDir()})
	r, err := observe.Git(store).Open(b.t.Context(), url)
	if err != nil {
		b.t.Fatal(err)
	}
	facts := &decide.Repository{Namespace: "default", Name: "c1", Git: url, Branch: "main", Head: b.main}
	b.repo, b.stage = &observe.Repo{Repository: facts, Git: r}, r.NewStage()
	b.refresh()
	if err := r.Fetch(b.t.Context(), gitrepo.Hash(facts.Head)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) refresh() {
	b.t.Helper()
	if err := b.repo.Git.Refresh(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// draft is a first Draft of a package.
func (b *bench) draft(pkg string) *Change {
	return &Change{
		Repo: b.repo, Package: decide.NewPackage(pkg, nil),
		Decision: decide.Draft{As: decide.ActionCreate, Ref: draftRef(pkg)},
		Commit: &Commit{
			Tree: b.tree("cm.yaml", "kind: ConfigMap\n"), Root: b.main, Parents: []decide.Hash{b.main},
			When: time.Unix(1700000100, 0).UTC(), Message: "Draft of " + pkg,
		},
	}
}

// tree is a package of files and their text, in turn.
func (b *bench) tree(files ...string) decide.Hash {
	b.t.Helper()
	var list []krm.File
	for i := 0; i < len(files); i += 2 {
		list = append(list, krm.File{Path: files[i], Data: []byte(files[i+1])})
	}
	tree, err := b.stage.PackageTree(list)
	if err != nil {
		b.t.Fatal(err)
	}
	return decide.Hash(tree)
}

func draftRef(pkg string) string { return lifecycle.DraftRef(pkg, "packagevariant-1") }

// push pushes changes, and returns what was lost to races.
func (b *bench) push(again []*Change, changes ...*Change) (lost []*Change) {
	b.t.Helper()
	p := &Pusher{Stage: b.stage, Again: func(ctx context.Context, git observe.Repository, l []*Change) ([]*Change, error) {
		lost = append(lost, l...)
		return again, git.Refresh(ctx)
	}}
	p.Push(b.t.Context(), b.repo.Git, changes)
	return lost
}

func TestPushDraft(t *testing.T) {
	b := newBench(t)
	c := b.draft("web")
	if lost := b.push(nil, c); len(lost) > 0 || c.Err != nil {
		t.Fatalf("lost %d: %v", len(lost), c.Err)
	}
	refs := b.git.Refs(t)
	if refs[draftRef("web")] != c.Hash.String() || refs["refs/heads/main"] != b.main.String() || len(refs) != 2 {
		t.Errorf("refs %v", refs)
	}
	if got := b.git.Show(t, c.Hash.String(), "web/cm.yaml"); !strings.HasPrefix(got, "kind: ConfigMap") {
		t.Errorf("content %q", got)
	}
	if got := b.git.Show(t, c.Hash.String(), "README.md"); !strings.HasPrefix(got, "x") {
		t.Errorf("what stood beside it: %q", got)
	}
	want := "Variform variform@variform.dev 1700000100 " + b.main.String() + " Draft of web"
	if got := b.git.Git(t, "log", "-1", "--format=%cn %ce %ct %P %s", c.Hash.String()); got != want {
		t.Errorf("commit %q, want %q", got, want)
	}
	b.git.Fsck(t)
}

// A lost race is decided about again, once for what was lost.
func TestPushLostRace(t *testing.T) {
	b := newBench(t)
	web, db, again := b.draft("web"), b.draft("db"), b.draft("new")
	other := b.git.CommitFrom(t, strings.TrimPrefix(draftRef("web"), "refs/heads/"), "main", "another's", gittest.Files{})
	lost := b.push([]*Change{again}, web, db)
	if !slices.Equal(lost, []*Change{web, db}) || again.Err != nil {
		t.Fatalf("lost %d: %v", len(lost), again.Err)
	}
	refs := b.git.Refs(t)
	if refs[draftRef("web")] != other || refs[draftRef("db")] != "" || refs[draftRef("new")] != again.Hash.String() {
		t.Errorf("refs %v", refs)
	}
}

// A run that cannot decide again says both why it lost and why that failed.
func TestPushAgainFails(t *testing.T) {
	b := newBench(t)
	web := b.draft("web")
	b.git.Branch(t, strings.TrimPrefix(draftRef("web"), "refs/heads/"), b.main.String())
	broken := errors.New("unread")
	p := &Pusher{Stage: b.stage, Again: func(context.Context, observe.Repository, []*Change) ([]*Change, error) { return nil, broken }}
	p.Push(t.Context(), b.repo.Git, []*Change{web})
	if !errors.Is(web.Err, broken) || !errors.Is(web.Err, gitrepo.ErrStale) {
		t.Error(web.Err)
	}
}

// One change that the server refuses stops no other.
func TestPushApart(t *testing.T) {
	b := newBench(t)
	b.git.Hook(t, "update", `case "$1" in */bad/*) echo not this one >&2; exit 1;; esac`)
	list := []*Change{b.draft("a"), b.draft("bad"), b.draft("c"), b.draft("d")}
	if lost := b.push(nil, list...); len(lost) > 0 {
		t.Errorf("a refusal is no race: %d lost", len(lost))
	}
	refs := b.git.Refs(t)
	for _, c := range list {
		bad := c.Package.Path == "bad"
		if (c.Err != nil) != bad || bad && !errors.Is(c.Err, gitrepo.ErrRejected) {
			t.Errorf("%s: %v", c.Package.Path, c.Err)
		}
		if made := refs[draftRef(c.Package.Path)]; (made == "") != bad || !bad && made != c.Hash.String() {
			t.Errorf("%s is at %q", c.Package.Path, made)
		}
	}
}

// A server that refuses the objects of one package, or a request of that size,
// gets those of the others.
func TestPushOfObjectsApart(t *testing.T) {
	large := make([]byte, 100<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(large)
	for name, at := range map[string]func(b *bench) string{
		"in Git": func(b *bench) string {
			b.git.Git(b.t, "config", "receive.maxInputSize", "50000")
			return b.server.RepoURL("c1")
		},
		"before Git": func(b *bench) string {
			real, err := url.Parse(b.server.URL)
			if err != nil {
				b.t.Fatal(err)
			}
			proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(real) }}
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ContentLength > 50_000 {
					w.WriteHeader(http.StatusRequestEntityTooLarge)
					return
				}
				proxy.ServeHTTP(w, r)
			}))
			b.t.Cleanup(front.Close)
			return front.URL + "/c1.git"
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.reach(at(b))
			list := []*Change{b.draft("a"), b.draft("bad"), b.draft("c"), b.draft("d")}
			list[1].Commit.Tree = b.tree("cm.yaml", "kind: ConfigMap\n", "large", string(large))
			b.push(nil, list...)
			refs := b.git.Refs(t)
			for _, c := range list {
				bad := c.Package.Path == "bad"
				if (c.Err != nil) != bad || bad && !errors.Is(c.Err, gitrepo.ErrRejected) {
					t.Errorf("%s: %v", c.Package.Path, c.Err)
				}
				if made := refs[draftRef(c.Package.Path)]; (made == "") != bad {
					t.Errorf("%s is at %q", c.Package.Path, made)
				}
			}
		})
	}
}

// A Draft whose workspace was proposed while it was on its way is withdrawn, and
// decided about again; what else was made stays.
func TestPushOvertaken(t *testing.T) {
	b := newBench(t)
	proposed := lifecycle.ProposedRef("web", "packagevariant-1")
	b.git.Hook(t, "update", `case "$1" in */drafts/web/*) env -u GIT_QUARANTINE_PATH git update-ref `+proposed+` refs/heads/main;; esac`)
	web, db := b.draft("web"), b.draft("db")
	lost := b.push(nil, web, db)
	if !slices.Equal(lost, []*Change{web}) {
		t.Fatalf("lost %d", len(lost))
	}
	refs := b.git.Refs(t)
	if refs[draftRef("web")] != "" || refs[proposed] != b.main.String() || refs[draftRef("db")] != db.Hash.String() {
		t.Errorf("refs %v", refs)
	}
}

// What others made since the refs were read is seen after a push, and the Draft beside that is
// withdrawn.
func TestPushOvertakenBefore(t *testing.T) {
	for name, came := range map[string]string{
		"proposed":        lifecycle.ProposedRef("web", "packagevariant-1"),
		"Published":       lifecycle.PublishedRef("web", 1),
		"another's Draft": lifecycle.DraftRef("web", "by-hand"),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.push(nil, b.draft("first"))
			b.refresh()
			web, db := b.draft("web"), b.draft("db")
			b.git.Git(t, "update-ref", came, b.main.String())
			if lost := b.push(nil, web, db); !slices.Equal(lost, []*Change{web}) {
				t.Fatalf("lost %d", len(lost))
			}
			refs := b.git.Refs(t)
			if refs[draftRef("web")] != "" || refs[came] != b.main.String() || refs[draftRef("db")] != db.Hash.String() {
				t.Errorf("refs %v", refs)
			}
		})
	}
}

// What a decision says that it moves is what moves, and conditional on it.
func TestPushMoves(t *testing.T) {
	b := newBench(t)
	web := b.draft("web")
	b.push(nil, web)
	b.refresh()
	r := &decide.Revision{Ref: decide.Ref{Name: draftRef("web"), Hash: web.Hash, Commit: web.Hash}, Workspace: "packagevariant-1", Phase: lifecycle.Draft}
	pkg := decide.NewPackage("web", nil, r)
	stale := *r
	stale.Ref.Hash = b.main
	held := &Change{Repo: b.repo, Package: pkg, Decision: decide.Discard{Revision: &stale}}
	if lost := b.push(nil, held); len(lost) != 1 || b.git.Refs(t)[draftRef("web")] == "" {
		t.Errorf("what has moved since was removed: %d lost", len(lost))
	}
	tagged := &Change{Repo: b.repo, Package: pkg, Decision: decide.Tag{Ref: lifecycle.PublishedRef("web", 1), Commit: r.Ref.Commit, Draft: r}}
	if lost := b.push(nil, tagged); len(lost) > 0 || tagged.Err != nil {
		t.Fatalf("lost %d: %v", len(lost), tagged.Err)
	}
	refs := b.git.Refs(t)
	if refs["refs/tags/web/v1"] != web.Hash.String() || refs[draftRef("web")] != "" {
		t.Errorf("refs %v", refs)
	}
}

// A proposal of deletion goes with the tag that it is of, or after it, whatever
// the server refuses of the two and however the changes are parted.
func TestPushRetirementOfATag(t *testing.T) {
	tag, deletion := lifecycle.PublishedRef("web", 1), lifecycle.DeletionRef("web", 1)
	for name, c := range map[string]struct {
		refused string // of the server, a pattern
		others  int
		want    []string
	}{
		"both":                   {"none", 0, []string{deletion, tag}},
		"both, among others":     {"*/bad/*", 5, []string{deletion, tag}},
		"no tag":                 {"refs/tags/*", 0, nil},
		"no tag, among others":   {"refs/tags/*", 5, nil},
		"a tag alone":            {"*/deletionProposed/*", 0, []string{tag}},
		"a tag alone and others": {"*/deletionProposed/*", 5, []string{tag}},
	} {
		for _, most := range []int{0, 1} {
			t.Run(fmt.Sprintf("%s, %d refs a push", name, most), func(t *testing.T) {
				b := newBench(t)
				b.git.Hook(t, "update", `case "$1" in `+c.refused+`) echo not this one >&2; exit 1;; esac`)
				made := decide.Ref{Name: tag, Hash: b.main, Commit: b.main}
				pkg := decide.NewPackage("web", nil)
				tagged := &Change{Repo: b.repo, Package: pkg, Decision: decide.Tag{Ref: tag, Commit: b.main}}
				retired := &Change{Repo: b.repo, Package: pkg, Decision: decide.Retire{Path: "web", Tags: []decide.Published{{Number: 1, Ref: made}}}}
				list := []*Change{retired}
				for i := range c.others {
					list = append(list, b.draft([]string{"a", "bad", "c", "x", "y"}[i]))
				}
				p := &Pusher{Stage: b.stage, MaxRefs: most, Again: func(context.Context, observe.Repository, []*Change) ([]*Change, error) {
					return nil, errors.New("no race")
				}}
				p.Push(t.Context(), b.repo.Git, append(list, tagged))
				refs := b.git.Refs(t)
				var got []string
				for _, ref := range []string{deletion, tag} {
					if refs[ref] != "" {
						got = append(got, ref)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("made %q, want %q", got, c.want)
				}
				if no := !slices.Contains(c.want, tag); (tagged.Err != nil) != no || retired.Untagged() != no {
					t.Errorf("untagged %v: %v", retired.Untagged(), tagged.Err)
				}
				if no := !slices.Contains(c.want, deletion); (retired.Err != nil) != no || no && !errors.Is(retired.Err, gitrepo.ErrRejected) {
					t.Error(retired.Err)
				}
				for _, o := range list[1:] {
					if bad := c.refused == "*/bad/*" && o.Package.Path == "bad"; (refs[draftRef(o.Package.Path)] == "") != bad || (o.Err != nil) != bad {
						t.Errorf("%s: %v", o.Package.Path, o.Err)
					}
				}
			})
		}
	}
}
