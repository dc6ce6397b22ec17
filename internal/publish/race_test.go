package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/test/gittest"
)

// raced is a repository that is read as a run reads it, with the Drafts of some
// packages, and a server on which something can happen before each request.
type raced struct {
	*bench
	server *gittest.Server
	read   *observe.Reader
}

func newRaced(t *testing.T, packages ...string) *raced {
	t.Helper()
	server := gittest.NewServer(t)
	git := server.NewRepo(t, "c1")
	main := git.Commit(t, "main", "start", files("README.md", "x\n"))
	for _, p := range packages {
		git.CommitFrom(t, short(draftRef(p)), main, "Draft of "+p, files(p+"/Kptfile", kptfile))
	}
	obj := &v1alpha1.Repository{}
	obj.Namespace, obj.Name = "default", "c1"
	obj.Spec.Git = &v1alpha1.GitRepository{Repo: server.RepoURL("c1"), Branch: "main"}
	store := gitrepo.NewStore(gitrepo.Options{CacheDir: t.TempDir()})
	read := observe.New(observe.Config{Fleet: observe.Fleet{Repositories: []*v1alpha1.Repository{obj}}, Git: observe.Git(store), Manager: "fleet"})
	if s := read.ReadOpen(t.Context()); len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	repo := read.Repo("default", "c1")
	return &raced{bench: &bench{t: t, git: git, main: decide.ParseHash(main), repo: repo, stage: repo.Git.NewStage()}, server: server, read: read}
}

// of is what a person saw of a package's Draft.
func (r *raced) of(pkg string) *Verdict {
	r.t.Helper()
	p := r.repo.Package(pkg)
	return r.verdict(p, p.At(draftRef(pkg)))
}

// decideWhile decides while something happens before each push.
func (r *raced) decideWhile(verb decide.Verb, happens func(push int), list ...*Verdict) map[string]string {
	r.t.Helper()
	pushes := 0
	r.server.Before(func(kind, _ string) {
		if kind == gittest.Push {
			pushes++
			happens(pushes)
		}
	})
	r.server.ResetCounts()
	a := &Approver{Read: r.read, Verb: verb, Signature: gitrepo.Signature{Name: "Ann", Email: "ann@example.com", When: time.Unix(1700000300, 0).UTC()}}
	a.Decide(r.t.Context(), r.repo.Git, list)
	r.server.Before(nil)
	return r.git.Refs(r.t)
}

// Where the branch moved meanwhile, and not what was shown, the approval follows.
func TestApproveLostRace(t *testing.T) {
	r := newRaced(t, "web", "db")
	web, db := r.of("web"), r.of("db")
	var theirs string
	refs := r.decideWhile(decide.Approve, func(push int) {
		if push == 1 {
			theirs = r.git.Commit(t, "main", "another's", files("README.md", "y\n"))
		}
	}, web, db)
	if web.Err != nil || db.Err != nil || r.server.Count(gittest.Push) != 2 {
		t.Fatalf("%v, %v, %d pushes", web.Err, db.Err, r.server.Count(gittest.Push))
	}
	if got := r.git.Git(t, "rev-list", "--first-parent", "main"); got != strings.Join([]string{db.Commit, web.Commit, theirs, r.main.String()}, "\n") {
		t.Errorf("main: %s", got)
	}
	if refs[lifecycle.PublishedRef("web", 1)] != web.Commit || refs[lifecycle.PublishedRef("db", 1)] != db.Commit || len(refs) != 3 {
		t.Errorf("refs %v", refs)
	}
	if got := r.git.Show(t, "main", "README.md"); strings.TrimSpace(got) != "y" {
		t.Errorf("what the other wrote: %q", got)
	}
}

// What is not what the person saw any more is not decided about; the rest is.
func TestDecideWhatMoved(t *testing.T) {
	tests := map[string]struct {
		verb    decide.Verb
		happens func(r *raced) // to db's Draft
		refs    func(r *raced, web *Verdict) map[string]string
	}{
		"a person's commit": {
			decide.Approve,
			func(r *raced) {
				r.git.Commit(r.t, short(draftRef("db")), "by hand", files("db/Kptfile", kptfile+"# x\n"))
			},
			func(r *raced, web *Verdict) map[string]string {
				return map[string]string{"refs/heads/main": web.Commit, lifecycle.PublishedRef("web", 1): web.Commit, draftRef("db"): r.git.Refs(r.t)[draftRef("db")]}
			},
		},
		"it has gone": {
			decide.Approve,
			func(r *raced) { r.git.Git(r.t, "update-ref", "-d", draftRef("db")) },
			func(_ *raced, web *Verdict) map[string]string {
				return map[string]string{"refs/heads/main": web.Commit, lifecycle.PublishedRef("web", 1): web.Commit}
			},
		},
		"another proposed it": {
			decide.Propose,
			func(r *raced) {
				r.git.Branch(r.t, short(lifecycle.ProposedRef("db", "packagevariant-1")), r.git.Refs(r.t)[draftRef("db")])
				r.git.Git(r.t, "update-ref", "-d", draftRef("db"))
			},
			func(r *raced, web *Verdict) map[string]string {
				return map[string]string{
					"refs/heads/main": r.main.String(), lifecycle.ProposedRef("web", "packagevariant-1"): web.Head.Ref.Hash.String(),
					lifecycle.ProposedRef("db", "packagevariant-1"): r.git.Refs(r.t)[lifecycle.ProposedRef("db", "packagevariant-1")],
				}
			},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRaced(t, "web", "db")
			web, db := r.of("web"), r.of("db")
			refs := r.decideWhile(tt.verb, func(push int) {
				if push == 1 {
					tt.happens(r)
				}
			}, web, db)
			if !errors.Is(db.Err, ErrMoved) || !strings.Contains(db.Err.Error(), draftRef("db")) || web.Err != nil {
				t.Errorf("db: %v, web: %v", db.Err, web.Err)
			}
			if d := cmp.Diff(tt.refs(r, web), refs); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// A race that is lost again and again ends, and says so.
func TestDecideGivesUp(t *testing.T) {
	r := newRaced(t, "web")
	web := r.of("web")
	refs := r.decideWhile(decide.Approve, func(push int) {
		r.git.Commit(t, "main", "again", files("README.md", fmt.Sprint(push)))
	}, web)
	if !errors.Is(web.Err, gitrepo.ErrStale) || r.server.Count(gittest.Push) != attempts || refs[draftRef("web")] == "" {
		t.Errorf("%v after %d pushes", web.Err, r.server.Count(gittest.Push))
	}
}

// What cannot be read again is not decided about, nor is anything after an interrupt.
func TestDecideCannotReadAgain(t *testing.T) {
	t.Run("unread", func(t *testing.T) {
		r := newRaced(t, "web")
		web := r.of("web")
		r.decideWhile(decide.Approve, func(int) {
			r.git.Commit(t, "main", "another's", files("README.md", "y\n"))
			for range 20 {
				r.server.FailNext(gittest.ReadRefs, 403)
			}
		}, web)
		if web.Err == nil || errors.Is(web.Err, gitrepo.ErrStale) || r.server.Count(gittest.Push) != 1 {
			t.Errorf("%v after %d pushes", web.Err, r.server.Count(gittest.Push))
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		r := newRaced(t, "web")
		web := r.of("web")
		ctx, stop := context.WithCancel(t.Context())
		r.server.Before(func(kind, _ string) {
			if kind == gittest.Push {
				r.git.Commit(t, "main", "another's", files("README.md", "y\n"))
				stop()
			}
		})
		a := &Approver{Read: r.read, Verb: decide.Approve}
		a.Decide(ctx, r.repo.Git, []*Verdict{web})
		r.server.Before(nil)
		if refs := r.git.Refs(t); web.Err == nil || refs[lifecycle.PublishedRef("web", 1)] != "" || r.server.Count(gittest.Push) != 1 {
			t.Errorf("%v after %d pushes", web.Err, r.server.Count(gittest.Push))
		}
	})
}

// A lost answer is no lost push: what was approved is not approved twice.
func TestDecideLostAnswer(t *testing.T) {
	r := newRaced(t, "web")
	web := r.of("web")
	r.server.DropPushReply()
	refs := r.decideWhile(decide.Approve, func(int) {}, web)
	if len(refs) != 2 || refs[lifecycle.PublishedRef("web", 1)] != refs["refs/heads/main"] || refs["refs/heads/main"] == r.main.String() {
		t.Errorf("%v: refs %v", web.Err, refs)
	}
}

// A push of few refs at a time moves those of a change together, and what moved
// before another part was stale is not lost.
func TestPushMaxRefs(t *testing.T) {
	r := newRaced(t)
	list := []*Change{r.draft("a"), r.draft("b"), r.draft("c")}
	r.server.ResetCounts()
	p := &Pusher{Stage: r.stage, MaxRefs: 1, Again: func(_ context.Context, _ observe.Repository, lost []*Change) ([]*Change, error) {
		t.Errorf("%d lost", len(lost))
		return nil, nil
	}}
	p.Push(t.Context(), r.repo.Git, list)
	if n := r.server.Count(gittest.Push); n != 3 {
		t.Errorf("%d pushes of one ref each, want 3", n)
	}
	again := []*Change{r.draft("d"), r.draft("e"), r.draft("f")}
	theirs := r.git.CommitFrom(t, short(draftRef("e")), "main", "another's", gittest.Files{})
	var lost []*Change
	p.Again = func(_ context.Context, _ observe.Repository, l []*Change) ([]*Change, error) {
		lost = l
		return nil, nil
	}
	p.Push(t.Context(), r.repo.Git, again)
	refs := r.git.Refs(t)
	if !slices.Contains(lost, again[1]) || slices.Contains(lost, again[0]) || refs[draftRef("d")] != again[0].Hash.String() || refs[draftRef("e")] != theirs {
		t.Errorf("%d lost, refs %v", len(lost), refs)
	}
	for _, c := range lost {
		if made := refs[c.Decision.(decide.Draft).Ref]; made == c.Hash.String() {
			t.Errorf("%s is lost and there", c.Package.Path)
		}
	}
}

func TestLanded(t *testing.T) {
	hash := func(s string) decide.Hash { return decide.ParseHash(strings.Repeat(s, 40)) }
	move := func(name, from, to string) decide.Move {
		return decide.Move{Name: name, Old: hash(from), New: hash(to)}
	}
	result := func(name string, o gitrepo.Outcome) gitrepo.RefResult {
		return gitrepo.RefResult{RefUpdate: gitrepo.RefUpdate{Name: name}, Outcome: o}
	}
	tests := map[string]struct {
		moves []decide.Move
		refs  []gitrepo.RefResult
		want  bool
	}{
		"nothing was tried":         {nil, []gitrepo.RefResult{result("a", gitrepo.Moved)}, false},
		"all moved":                 {[]decide.Move{move("a", "1", "2"), move("b", "1", "2")}, []gitrepo.RefResult{result("a", gitrepo.Moved), result("b", gitrepo.Moved)}, true},
		"one did not":               {[]decide.Move{move("a", "1", "2"), move("b", "1", "2")}, []gitrepo.RefResult{result("a", gitrepo.Moved), result("b", gitrepo.Unmoved)}, false},
		"nothing is known of one":   {[]decide.Move{move("a", "1", "2")}, []gitrepo.RefResult{result("a", gitrepo.Unknown)}, false},
		"one is not in the report":  {[]decide.Move{move("a", "1", "2")}, nil, false},
		"one had nowhere to go":     {[]decide.Move{move("a", "1", "1"), move("b", "1", "2")}, []gitrepo.RefResult{result("b", gitrepo.Moved)}, true},
		"another's of the same end": {[]decide.Move{move("a", "1", "2")}, []gitrepo.RefResult{result("aa", gitrepo.Moved)}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (&Change{moves: tt.moves}).landed(&gitrepo.PushReport{Refs: tt.refs}); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// A release is a commit on the revision's own branch, of the time of what it
// follows, that says whose the package is no more.
func TestReleaseCommit(t *testing.T) {
	r := newRaced(t, "web")
	p := r.repo.Package("web")
	h := p.At(draftRef("web"))
	made, err := ReleaseCommit(t.Context(), r.repo, h, "web", r.tree("Kptfile", kptfile+"# free\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := &Change{Repo: r.repo, Package: p, Decision: decide.Release{Revision: h}, Commit: made}
	if err := r.repo.Git.Fetch(t.Context(), gitrepo.Hash(h.Ref.Commit)); err != nil {
		t.Fatal(err)
	}
	if lost := r.push(nil, c); len(lost) > 0 || c.Err != nil {
		t.Fatal(c.Err)
	}
	tip := r.git.Refs(t)[draftRef("web")]
	when := r.git.Git(t, "log", "-1", "--format=%ct", h.Ref.Commit.String())
	want := h.Ref.Commit.String() + " variform@variform.dev " + when + " " + when + " Release web"
	if got := r.git.Git(t, "log", "-1", "--format=%P %ae %at %ct %s", tip); got != want {
		t.Errorf("commit %q, want %q", got, want)
	}
	body := r.git.Git(t, "log", "-1", "--format=%B", tip)
	for _, text := range []string{"deletionPolicy orphan", "Variform-Variant: " + observe.Released, `"workspaceName":"packagevariant-1"`, `"package":"web"`} {
		if !strings.Contains(body, text) {
			t.Errorf("no %q in:\n%s", text, body)
		}
	}
	if got := r.git.Show(t, tip, "web/Kptfile"); !strings.HasSuffix(strings.TrimSpace(got), "# free") {
		t.Errorf("content %q", got)
	}
	gone := *h
	gone.Ref.Commit = decide.ParseHash(strings.Repeat("1", 40))
	if _, err := ReleaseCommit(t.Context(), r.repo, &gone, "web", decide.Hash{}); !errors.Is(err, gitrepo.ErrMissingObject) {
		t.Errorf("of a commit that is not there: %v", err)
	}
}

// What came meanwhile is what was not there, but for what was made.
func TestCame(t *testing.T) {
	revision := func(name string) gitrepo.Revision { return gitrepo.Revision{Ref: gitrepo.Ref{Name: name}} }
	head := &decide.Revision{Ref: decide.Ref{Name: "refs/heads/drafts/web/old"}, Phase: lifecycle.Draft}
	then := decide.NewPackage("web", []decide.Published{{Number: 1, Ref: decide.Ref{Name: "refs/tags/web/v1"}}}, head)
	now := &gitrepo.PackageRefs{
		Drafts:    []gitrepo.Revision{revision("refs/heads/drafts/web/made"), revision("refs/heads/drafts/web/old"), revision("refs/heads/drafts/web/new")},
		Proposed:  []gitrepo.Revision{revision("refs/heads/proposed/web/new")},
		Published: []gitrepo.Revision{revision("refs/tags/web/v1"), revision("refs/tags/web/v2")},
	}
	var got []string
	for _, r := range came(then, now, "refs/heads/drafts/web/made") {
		got = append(got, r.Name)
	}
	if d := cmp.Diff([]string{"refs/heads/drafts/web/new", "refs/heads/proposed/web/new", "refs/tags/web/v2"}, got); d != "" {
		t.Error(d)
	}
}
