package publish

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/test/gittest"
)

const inputs = "sha256:00ff"

// keeping is a Reader of a manager whose record is kept.
func keeping() *observe.Reader { return observe.New(observe.Config{Manager: "fleet"}) }

// edited is a first Draft that is not what the machine made.
func (b *bench) edited(pkg string) (c *Change, hydrated string) {
	b.t.Helper()
	c = b.draft(pkg)
	c.Commit.Tree = b.tree("Kptfile", kptfile, "cm.yaml", "kind: ConfigMap\nmetadata: {name: edited}\n")
	c.Commit.Hydrated = b.tree("Kptfile", kptfile, "cm.yaml", "kind: ConfigMap\nmetadata: {name: "+pkg+"}\n")
	b.sign(c)
	return c, c.Commit.Hydrated.String()
}

// sign says in the change's commit what the machine made.
func (b *bench) sign(c *Change) {
	b.t.Helper()
	var err error
	c.Commit.Message, err = gitrepo.FormatMessage("Draft", &gitrepo.Annotation{Package: c.Package.Path, WorkspaceName: "packagevariant-1"},
		gitrepo.Trailers{Variant: "fleet/default/" + c.Package.Path, Inputs: inputs + " spec=12", Hydrated: c.Commit.Hydrated.String()})
	if err != nil {
		b.t.Fatal(err)
	}
}

// keep pushes changes of a manager that keeps a record, and gives its entries.
func (b *bench) keep(changes ...*Change) []record.Entry {
	b.t.Helper()
	p := &Pusher{Stage: b.stage, Read: keeping(), Again: func(context.Context, observe.Repository, []*Change) ([]*Change, error) {
		b.t.Error("it was planned again")
		return nil, nil
	}}
	p.Push(b.t.Context(), b.repo.Git, changes)
	for _, c := range changes {
		if c.Err != nil {
			b.t.Fatal(c.Err)
		}
	}
	return b.record()
}

func (b *bench) record() []record.Entry {
	b.t.Helper()
	b.refresh()
	rec, err := b.repo.Git.Record(b.t.Context(), gitrepo.RecordOf{Manager: "fleet"})
	if err != nil || rec == nil {
		b.t.Fatal(err)
	}
	return rec.Entries()
}

func names(list []record.Entry) (out []string) {
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// head is the revision that a change made.
func (b *bench) head(c *Change) *decide.Revision {
	b.t.Helper()
	commits, err := b.repo.Git.Commits(b.t.Context(), gitrepo.Hash(c.Hash))
	if err != nil {
		b.t.Fatal(err)
	}
	t := commits[0].Trailers
	return &decide.Revision{
		Ref: decide.Ref{Name: draftRef(c.Package.Path), Hash: c.Hash, Commit: c.Hash}, Workspace: "packagevariant-1", Phase: lifecycle.Draft, Owner: t.Variant,
		Machine: &decide.Machine{Commit: c.Hash, Ours: true, Variant: t.Variant, Inputs: t.Inputs, Hydrated: decide.ParseHash(t.Hydrated)}, When: time.Unix(1700000200, 0),
	}
}

// approve publishes what a change made.
func (b *bench) approve(c *Change) *Verdict {
	b.t.Helper()
	r := b.head(c)
	v := b.verdict(decide.NewPackage(c.Package.Path, nil, r), r)
	a := &Approver{Read: keeping(), Verb: decide.Approve, Signature: gitrepo.Signature{Name: "Ann", Email: "ann@example.com", When: time.Unix(1700000300, 0).UTC()}}
	a.Decide(b.t.Context(), b.repo.Git, []*Verdict{v})
	if v.Err != nil {
		b.t.Fatal(v.Err)
	}
	return v
}

// A Draft with edits is remembered with what the machine made, and its approval
// makes of that what stands on the branch.
func TestRecordDraftAndApproval(t *testing.T) {
	b := newBench(t)
	c, hydrated := b.edited("web")
	c.Commit.Entry = record.Entry{Set: "webs", For: "default/shop", DeletionPolicy: "orphan", Labels: map[string]string{"a": "b"}}
	tree := func(commit string) string { return b.git.Git(t, "rev-parse", commit+":web") }
	got := b.keep(c)
	want := record.Entry{
		Path: "web", Place: record.Open, Workspace: "packagevariant-1", Commit: c.Hash.String(), Tree: tree(c.Hash.String()), Hydrated: hydrated,
		Inputs: inputs + " spec=12", Owner: "fleet/default/web", Set: "webs", For: "default/shop", DeletionPolicy: "orphan", Labels: map[string]string{"a": "b"},
	}
	if d := cmp.Diff([]record.Entry{want}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	v := b.approve(c)
	want.Place, want.Revision, want.Commit, want.Inputs = record.Main, 1, v.Commit, inputs
	past := want
	past.Place = record.Past
	if d := cmp.Diff([]record.Entry{want, past}, b.record()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := b.git.Git(t, "rev-parse", "refs/variform/fleet:main/web"); got != hydrated {
		t.Errorf("main/web is %s, want %s", got, hydrated)
	}
	b.git.Fsck(t)
	b.revision(v, hydrated)
}

// revision checks that a new run reads what the machine made.
func (b *bench) revision(v *Verdict, hydrated string) {
	b.t.Helper()
	store := gitrepo.NewStore(gitrepo.Options{CacheDir: b.t.TempDir()})
	git, err := observe.Git(store).Open(b.t.Context(), b.repo.Git.URL())
	if err != nil {
		b.t.Fatal(err)
	}
	repo := &observe.Repo{Repository: b.repo.Repository, Git: git}
	commit := decide.ParseHash(v.Commit)
	p, err := repo.Hydrated(b.t.Context(), "web", &decide.Revision{
		Ref: decide.Ref{Hash: commit, Commit: commit}, Machine: &decide.Machine{Commit: commit, Hydrated: decide.ParseHash(hydrated)},
	})
	if err != nil || p == nil {
		b.t.Fatalf("what the machine made: %v, %v", p, err)
	}
	files, err := p.Files()
	if err != nil || len(files) != 2 || !strings.Contains(string(files[1].Data), "name: web") {
		b.t.Errorf("files %v, %v", files, err)
	}
}

// A forge squashes a Draft and deletes its branch: what stands there is still
// known, by the package, whether or not the server still has the machine's commit.
func TestRecordSquashed(t *testing.T) {
	for name, tt := range map[string]struct {
		keep  bool // the server still gives the Draft's commit
		after string
		known bool
	}{
		"squashed": {true, "", true}, "squashed and changed": {true, "more", false}, "the commit has gone": {false, "", true}, "both": {false, "more", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			c, _ := b.edited("web")
			b.keep(c)
			list := gittest.Files{}
			for _, name := range []string{"Kptfile", "cm.yaml"} {
				text := b.git.Git(t, "show", draftRef("web")+":web/"+name) + "\n"
				list = append(list, gittest.File{Path: "web/" + name, Mode: gittest.Regular, Data: []byte(text + tt.after)})
			}
			squash := decide.ParseHash(b.git.Commit(t, "main", "Squashed by a forge", list))
			b.git.Git(t, "update-ref", "-d", draftRef("web"))
			if tt.keep {
				b.git.Git(t, "update-ref", "refs/heads/kept", c.Hash.String())
			}
			git, err := observe.Git(gitrepo.NewStore(gitrepo.Options{})).Open(t.Context(), b.repo.Git.URL())
			if err != nil {
				t.Fatal(err)
			}
			reader := observe.New(observe.Config{Manager: "fleet"})
			repo := &observe.Repo{Repository: b.repo.Repository, Git: git}
			repo.Keep(reader.RecordOf(repo.Git))
			p, err := repo.Hydrated(t.Context(), "web", &decide.Revision{Ref: decide.Ref{Hash: squash, Commit: squash}})
			if err != nil || (p != nil) != tt.known {
				t.Errorf("%v, %v", p, err)
			}
		})
	}
}

// Each decision says to the record what it does to the package's refs.
func TestRecordDecisions(t *testing.T) {
	for name, tt := range map[string]struct {
		decide func(b *bench, c *Change) *Change
		want   []string
	}{
		"nothing": {func(*bench, *Change) *Change { return nil }, []string{"open/web/packagevariant-1"}},
		"discard": {func(b *bench, c *Change) *Change { return &Change{Decision: decide.Discard{Revision: b.head(c)}} }, nil},
		"merged": {func(b *bench, c *Change) *Change {
			return &Change{Decision: decide.Tag{Ref: "refs/tags/web/v1", Draft: b.head(c)}}
		}, []string{"main/web", "past/web/v1"}},
		"released": {func(b *bench, c *Change) *Change { return b.released(c) }, nil},
		"updated by what is not known": {func(b *bench, c *Change) *Change {
			return &Change{Decision: decide.Draft{As: decide.ActionUpdate, Ref: draftRef("web"), From: b.head(c)}, Commit: &Commit{Tree: b.tree("Kptfile", kptfile), Root: c.Hash, Parents: []decide.Hash{c.Hash}, When: time.Unix(1700000300, 0), Message: "by hand"}}
		}, nil},
		"updated": {func(b *bench, c *Change) *Change {
			next, _ := b.edited("web")
			next.Commit.Tree = b.tree("Kptfile", kptfile)
			next.Commit.Hydrated = next.Commit.Tree
			next.Commit.Root, next.Commit.Parents = c.Hash, []decide.Hash{c.Hash}
			b.sign(next)
			next.Decision = decide.Draft{As: decide.ActionUpdate, Ref: draftRef("web"), From: b.head(c)}
			return next
		}, []string{"open/web/packagevariant-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			c, _ := b.edited("web")
			got := b.keep(c)
			if err := b.repo.Git.Fetch(t.Context(), gitrepo.Hash(c.Hash)); err != nil {
				t.Fatal(err)
			}
			if next := tt.decide(b, c); next != nil {
				r := b.head(c)
				next.Repo, next.Package = b.repo, decide.NewPackage("web", nil, r)
				got = b.keep(next)
			}
			if d := cmp.Diff(tt.want, names(got)); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			for _, e := range got {
				if n := e.Revision; e.Place != record.Open && n != 1 {
					t.Errorf("%s is of revision %d", e.Name(), n)
				}
			}
			b.git.Fsck(t)
		})
	}
}

func (b *bench) released(c *Change) *Change {
	b.t.Helper()
	r := b.head(c)
	commit, err := ReleaseCommit(b.t.Context(), b.repo, r, "web", b.tree("Kptfile", kptfile))
	if err != nil {
		b.t.Fatal(err)
	}
	return &Change{Decision: decide.Release{Revision: r}, Commit: commit}
}

// Revisions beyond a limit are forgotten, and packages that go.
func TestRecordTrimAndRemoval(t *testing.T) {
	b := newBench(t)
	web, _ := b.edited("web")
	db, _ := b.edited("db")
	b.keep(web, db)
	v := b.approve(web)
	b.refresh()
	b.repo.Head = decide.ParseHash(v.Commit)
	tag := decide.Published{Number: 1, Ref: decide.Ref{Name: "refs/tags/web/v1", Hash: b.repo.Head, Commit: b.repo.Head}}
	trim := &Change{Repo: b.repo, Package: decide.NewPackage("web", []decide.Published{tag}), Decision: decide.Trim{Tags: []decide.Published{tag}}}
	if d := cmp.Diff([]string{"open/db/packagevariant-1", "main/web"}, names(b.keep(trim))); d != "" {
		t.Errorf("trimmed: -want +got:\n%s", d)
	}
	b.git.Tag(t, "web/v1", v.Commit)
	b.git.Branch(t, "deletionProposed/web/v1", v.Commit)
	b.refresh()
	tag.Deletion = decide.Ref{Name: "refs/heads/deletionProposed/web/v1", Hash: b.repo.Head, Commit: b.repo.Head}
	r := &decide.Revision{Ref: tag.Ref, Workspace: "packagevariant-1", Number: 1, Phase: lifecycle.DeletionProposed}
	gone := b.verdict(decide.NewPackage("web", []decide.Published{tag}, r), r)
	(&Approver{Read: keeping(), Verb: decide.Approve, Signature: machine(time.Unix(1700000400, 0))}).Decide(t.Context(), b.repo.Git, []*Verdict{gone})
	if d := cmp.Diff([]string{"open/db/packagevariant-1", "gone/web"}, names(b.record())); d != "" || gone.Err != nil {
		t.Errorf("%v: -want +got:\n%s", gone.Err, d)
	}
}

// A Draft that is withdrawn is forgotten with its branch.
func TestRecordOvertaken(t *testing.T) {
	b := newBench(t)
	proposed := lifecycle.ProposedRef("web", "packagevariant-1")
	b.git.Hook(t, "update", `case "$1" in */drafts/web/*) env -u GIT_QUARANTINE_PATH git update-ref `+proposed+` refs/heads/main;; esac`)
	web, _ := b.edited("web")
	db, _ := b.edited("db")
	p := &Pusher{Stage: b.stage, Read: keeping(), Again: func(ctx context.Context, git observe.Repository, _ []*Change) ([]*Change, error) {
		return nil, git.Refresh(ctx)
	}}
	p.Push(t.Context(), b.repo.Git, []*Change{web, db})
	if d := cmp.Diff([]string{"open/db/packagevariant-1"}, names(b.record())); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// Two runs that have nothing but the record in common both get through, and
// neither decides again.
func TestRecordInCommon(t *testing.T) {
	b := newBench(t)
	other := &bench{t: t, git: b.git, main: b.main}
	git, err := observe.Git(gitrepo.NewStore(gitrepo.Options{CacheDir: t.TempDir()})).Open(t.Context(), b.repo.Git.URL())
	if err != nil {
		t.Fatal(err)
	}
	if err := git.Fetch(t.Context(), gitrepo.Hash(b.main)); err != nil {
		t.Fatal(err)
	}
	other.repo, other.stage = &observe.Repo{Repository: b.repo.Repository, Git: git}, git.NewStage()
	web, _ := b.edited("web")
	db, _ := other.edited("db")
	b.keep(web)
	if d := cmp.Diff([]string{"open/db/packagevariant-1", "open/web/packagevariant-1"}, names(other.keep(db))); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// What came of a build that gave no commit moves the record alone, at the time of
// what went in, and is read again as it was; the commit that comes takes its place.
func TestBuiltAlone(t *testing.T) {
	b := newBench(t)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	was := &decide.Built{Inputs: decide.ParseInputs("sha256:00ff upstream=1 spec=12"), Failure: "bad value\n  in \"web\"", At: at}
	failing := func(from *decide.Revision, built *decide.Built) *Change {
		return &Change{Repo: b.repo, Package: b.repo.Package("web"), Decision: decide.Fail{}, Built: BuiltEdit("web", from, built, "fleet/default/web")}
	}
	got := b.keep(failing(nil, was))
	want := []record.Entry{{
		Path: "web", Place: record.Built, Inputs: was.Inputs.String(), Owner: "fleet/default/web", Failure: was.Failure, At: "2026-01-02T03:04:05Z",
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("-want +got:\n%s", d)
	}
	if when := b.git.Git(t, "log", "-1", "--format=%cI", "refs/variform/fleet"); when != "2026-01-02T03:04:05Z" && when != "2026-01-02T03:04:05+00:00" {
		t.Errorf("at %s", when)
	}
	b.repo.Keep(keeping().RecordOf(b.repo.Git))
	if d := cmp.Diff(was, b.repo.LastBuild(t.Context(), "web", nil)); d != "" {
		t.Errorf("read: -want +got:\n%s", d)
	}
	draft, _ := b.edited("web")
	if d := cmp.Diff([]string{"open/web/packagevariant-1"}, names(b.keep(draft))); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	open := &decide.Revision{Workspace: "packagevariant-1", Ref: decide.Ref{Commit: draft.Hash}}
	upon := *was
	upon.Commit = draft.Hash
	if d := cmp.Diff([]string{"built/web/packagevariant-1", "open/web/packagevariant-1"}, names(b.keep(failing(open, &upon)))); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff(&upon, b.repo.LastBuild(t.Context(), "web", open)); d != "" {
		t.Errorf("read: -want +got:\n%s", d)
	}
	if got := b.repo.LastBuild(t.Context(), "web", nil); got != nil {
		t.Errorf("of a new Draft: %v", got)
	}
	if d := cmp.Diff([]string{"open/web/packagevariant-1"}, names(b.keep(failing(open, nil)))); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// What is said of a build that gave a commit is about that very commit, whatever it was
// built upon.
func TestBuiltWithItsCommit(t *testing.T) {
	b := newBench(t)
	c, _ := b.edited("web")
	upon := &decide.Revision{Workspace: "packagevariant-1"}
	c.Built = BuiltEdit("web", upon, &decide.Built{Commit: decide.Hash{7}, Restless: "starlark:v0.5", At: time.Unix(1700000000, 0)}, "fleet/default/web")
	for _, e := range b.keep(c) {
		if e.Place == record.Built {
			if e.Commit != c.Hash.String() || e.Restless != "starlark:v0.5" {
				t.Errorf("%+v, want it of %s", e, c.Hash)
			}
			return
		}
	}
	t.Error("nothing is said of the build")
}
