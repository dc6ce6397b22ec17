package publish

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/test/gittest"
)

const kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"

func files(path, data string) gittest.Files {
	return gittest.Files{{Path: path, Mode: gittest.Regular, Data: []byte(data)}}
}

func short(ref string) string { return strings.TrimPrefix(ref, "refs/heads/") }

// open is a first revision of a package on a branch, whose Kptfile is text.
func (b *bench) open(pkg string, phase lifecycle.Phase, text string) *Verdict {
	b.t.Helper()
	ref := draftRef(pkg)
	if phase == lifecycle.Proposed {
		ref = lifecycle.ProposedRef(pkg, "packagevariant-1")
	}
	hash := decide.ParseHash(b.git.CommitFrom(b.t, short(ref), b.main.String(), "Draft of "+pkg, files(pkg+"/Kptfile", text)))
	r := &decide.Revision{
		Ref: decide.Ref{Name: ref, Hash: hash, Commit: hash}, Workspace: "packagevariant-1", Phase: phase, Owner: "fleet/default/" + pkg,
		Machine: &decide.Machine{Commit: hash, Ours: true, Variant: "fleet/default/" + pkg, Inputs: "sha256:00"}, When: time.Unix(1700000200, 0).UTC(),
	}
	return b.verdict(decide.NewPackage(pkg, nil, r), r)
}

func (b *bench) verdict(p *decide.Package, r *decide.Revision) *Verdict {
	return &Verdict{Repo: b.repo, Candidate: &decide.Candidate{
		Identity: decide.Identity{Namespace: "default", Repository: "c1", Package: p.Path}, Workspace: r.Workspace,
		From: r.Phase, Revision: r.Number, Head: r, Package: p, Repo: b.repo.Repository,
	}}
}

func (b *bench) decide(verb decide.Verb, list ...*Verdict) map[string]string {
	b.t.Helper()
	b.refresh()
	a := &Approver{Verb: verb, Signature: gitrepo.Signature{Name: "Ann", Email: "ann@example.com", When: time.Unix(1700000300, 0).UTC()}}
	a.Decide(b.t.Context(), b.repo.Git, list)
	return b.git.Refs(b.t)
}

// Propose and reject move a branch's name, and no commit.
func TestProposeReject(t *testing.T) {
	b := newBench(t)
	web := b.open("web", lifecycle.Draft, kptfile)
	at, proposed := web.Head.Ref.Hash.String(), lifecycle.ProposedRef("web", "packagevariant-1")
	main := b.main.String()
	if d := cmp.Diff(map[string]string{"refs/heads/main": main, proposed: at}, b.decide(decide.Propose, web)); d != "" || web.Err != nil || web.To != lifecycle.Proposed {
		t.Fatalf("%v: -want +got:\n%s", web.Err, d)
	}
	back := *web.Head
	back.Ref.Name, back.Phase = proposed, lifecycle.Proposed
	v := b.verdict(decide.NewPackage("web", nil, &back), &back)
	if d := cmp.Diff(map[string]string{"refs/heads/main": main, draftRef("web"): at}, b.decide(decide.Reject, v)); d != "" || v.Err != nil || v.To != lifecycle.Draft {
		t.Fatalf("%v: -want +got:\n%s", v.Err, d)
	}
}

// Approvals of one repository are commits that follow each other on the branch,
// one for each package, in one push.
func TestApprove(t *testing.T) {
	b := newBench(t)
	web, db := b.open("web", lifecycle.Proposed, kptfile), b.open("db", lifecycle.Draft, kptfile)
	refs := b.decide(decide.Approve, web, db)
	for _, v := range []*Verdict{web, db} {
		if v.Err != nil || v.To != lifecycle.Published || v.Number != 1 || refs[lifecycle.PublishedRef(v.Package.Path, 1)] != v.Commit || refs[v.Head.Ref.Name] != "" {
			t.Errorf("%s: %v, %s", v.Identity, v.Err, v.To)
		}
	}
	if len(refs) != 3 || refs["refs/heads/main"] != db.Commit {
		t.Errorf("refs %v", refs)
	}
	want := b.main.String() + " " + web.Head.Ref.Hash.String() + " Ann 1700000300 Approve web/v1"
	if got := b.git.Git(t, "log", "-1", "--format=%P %an %at %s", web.Commit); got != want {
		t.Errorf("merge %q, want %q", got, want)
	}
	body := b.git.Git(t, "log", "-1", "--format=%B", db.Commit)
	for _, line := range []string{"Variform-Variant: fleet/default/db", "Variform-Inputs: sha256:00"} {
		if !strings.Contains(body, line) {
			t.Errorf("no %q in:\n%s", line, body)
		}
	}
	for _, path := range []string{"README.md", "web/Kptfile", "db/Kptfile"} {
		b.git.Show(t, "main", path)
	}
	b.git.Fsck(t)
}

// Variform's own approval has the time of the newest of what it joins.
func TestApproveByMachine(t *testing.T) {
	b := newBench(t)
	web := b.open("web", lifecycle.Draft, kptfile)
	b.refresh()
	Machine(nil, decide.Needs{}).Decide(t.Context(), b.repo.Git, []*Verdict{web})
	if web.Err != nil {
		t.Fatal(web.Err)
	}
	if got := b.git.Git(t, "log", "-1", "--format=%ae %at", web.Commit); got != "variform@variform.dev 1700000200" {
		t.Errorf("signed %q", got)
	}
}

// What is refused stays, with the lock that names it; the others go through.
func TestApproveRefuses(t *testing.T) {
	gated := kptfile + "info:\n  readinessGates:\n  - conditionType: ready\nstatus:\n  conditions:\n  - {type: ready, status: \"False\", message: waiting}\n"
	b := newBench(t)
	b.repo.Deployment = true
	lock, bad, web := b.open(depend.LockPackage, lifecycle.Draft, kptfile), b.open("bad", lifecycle.Draft, gated), b.open("web", lifecycle.Draft, kptfile)
	refs := b.decide(decide.Approve, lock, bad, web)
	for v, want := range map[*Verdict]string{lock: "c1/bad was refused", bad: "readiness gates are not met: ready is False: waiting"} {
		if v.Err == nil || !strings.Contains(v.Err.Error(), want) || refs[v.Head.Ref.Name] != v.Head.Ref.Hash.String() || refs[lifecycle.PublishedRef(v.Package.Path, 1)] != "" {
			t.Errorf("%s: %v", v.Identity, v.Err)
		}
	}
	if web.Err != nil || refs["refs/tags/web/v1"] == "" {
		t.Errorf("web: %v", web.Err)
	}
}

// What stands beside the Kptfile is not parsed to be approved, and held within the bounds
// of packages all the same.
func TestApproveHoldsFilesWithinBounds(t *testing.T) {
	b := newBench(t)
	broken, name, link := b.open("broken", lifecycle.Draft, kptfile), b.open("name", lifecycle.Draft, kptfile), b.open("link", lifecycle.Draft, kptfile)
	for v, f := range map[*Verdict]gittest.File{
		broken: {Path: "broken/a.yaml", Mode: gittest.Regular, Data: []byte("a: [b\n")},
		name:   {Path: "name/GIT~1", Mode: gittest.Regular, Data: []byte("x")},
		link:   {Path: "link/out", Mode: gittest.Symlink, Data: []byte("../../etc/passwd")},
	} {
		h := v.Head
		h.Ref.Hash = decide.ParseHash(b.git.CommitFrom(t, short(h.Ref.Name), h.Ref.Hash.String(), "by hand", gittest.Files{f}))
		h.Ref.Commit = h.Ref.Hash
	}
	b.decide(decide.Approve, broken, name, link)
	if broken.Err != nil || broken.To != lifecycle.Published {
		t.Errorf("broken: %v", broken.Err)
	}
	for v, want := range map[*Verdict]string{name: "reserved for Git", link: "out of the package"} {
		if v.Err == nil || !strings.Contains(v.Err.Error(), want) {
			t.Errorf("%s: %v, want %q", v.Identity, v.Err, want)
		}
	}
}

// A branch that holds something else than the Draft started from is not written over.
func TestApproveMovedBranch(t *testing.T) {
	b := newBench(t)
	web := b.open("web", lifecycle.Draft, kptfile)
	b.repo.Head = decide.ParseHash(b.git.Commit(t, "main", "by hand", files("web/Kptfile", kptfile+"# mine\n")))
	refs := b.decide(decide.Approve, web)
	if web.Err == nil || !strings.Contains(web.Err.Error(), "branch main has web already, with another content") || refs["refs/heads/main"] != b.repo.Head.String() {
		t.Errorf("%v", web.Err)
	}
}

// A proposed deletion: rejected, it leaves nothing but the tag; approved, tag and
// folder go. Only then does a tag go.
func TestDeletion(t *testing.T) {
	doom := func(t *testing.T) (*bench, *Verdict) {
		b := newBench(t)
		commit := b.git.Commit(t, "main", "Approve web/v1", files("web/Kptfile", kptfile))
		b.git.Tag(t, "web/v1", commit)
		b.git.Branch(t, "deletionProposed/web/v1", commit)
		b.repo.Head = decide.ParseHash(commit)
		at := func(name string) decide.Ref { return decide.Ref{Name: name, Hash: b.repo.Head, Commit: b.repo.Head} }
		tag := decide.Published{Number: 1, Ref: at("refs/tags/web/v1"), Deletion: at("refs/heads/deletionProposed/web/v1")}
		r := &decide.Revision{Ref: tag.Ref, Workspace: "packagevariant-1", Number: 1, Phase: lifecycle.DeletionProposed}
		return b, b.verdict(decide.NewPackage("web", []decide.Published{tag}, r), r)
	}
	t.Run("reject", func(t *testing.T) {
		b, v := doom(t)
		head := b.repo.Head.String()
		if d := cmp.Diff(map[string]string{"refs/heads/main": head, "refs/tags/web/v1": head}, b.decide(decide.Reject, v)); d != "" || v.Err != nil || v.To != lifecycle.Published || v.Number != 1 {
			t.Errorf("%v: -want +got:\n%s", v.Err, d)
		}
	})
	t.Run("approve", func(t *testing.T) {
		b, v := doom(t)
		refs := b.decide(decide.Approve, v)
		if d := cmp.Diff(map[string]string{"refs/heads/main": v.Commit}, refs); d != "" || v.Err != nil || v.To != "" {
			t.Fatalf("%v: -want +got:\n%s", v.Err, d)
		}
		if got := b.git.Git(t, "ls-tree", "-r", "--name-only", "main"); got != "README.md" {
			t.Errorf("main has %q", got)
		}
		if got := b.git.Git(t, "log", "-1", "--format=%P %an %(trailers:key=Variform-Variant)", v.Commit); !strings.HasPrefix(got, b.repo.Head.String()+" Ann Variform-Variant: -") {
			t.Errorf("commit %q", got)
		}
	})
}

// A refusal of the server is told of all that was to be pushed, and nothing moves.
func TestApproveRejectedByServer(t *testing.T) {
	b := newBench(t)
	web := b.open("web", lifecycle.Draft, kptfile)
	b.git.Hook(t, "update", `case "$1" in refs/heads/main) echo protected >&2; exit 1;; esac`)
	refs := b.decide(decide.Approve, web)
	if !errors.Is(web.Err, gitrepo.ErrRejected) || len(refs) != 2 || refs["refs/heads/main"] != b.main.String() {
		t.Errorf("%v: refs %v", web.Err, refs)
	}
}
