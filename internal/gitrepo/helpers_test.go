package gitrepo

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/test/gittest"

	"github.com/variform/variform/internal/lifecycle"
)

var machine = Signature{Name: "Variform", Email: "variform@localhost", When: time.Unix(1700000000, 0).UTC()}

func kptfile(name string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n"
}

func open(t testing.TB, url string) *Repo {
	t.Helper()
	return openWith(t, url, Options{})
}

func openWith(t testing.TB, url string, o Options) *Repo {
	t.Helper()
	if o.Key == nil {
		o.Key = []byte("a key")
	}
	r, err := NewStore(o).Open(context.Background(), url)
	if err != nil {
		t.Fatalf("opening %s: %v", url, err)
	}
	return r
}

// site is one repository under each address that it has.
type site struct {
	repo *gittest.Repo
	srv  *gittest.Server
	urls map[string]string
}

func newSite(t testing.TB) *site {
	t.Helper()
	srv := gittest.NewServer(t)
	repo := srv.NewRepo(t, "fleet")
	return &site{repo: repo, srv: srv, urls: map[string]string{
		"path": repo.Dir, "file": repo.URL(), "http": srv.RepoURL("fleet"),
	}}
}

func files(name string, n int) []krm.File {
	out := []krm.File{{Path: "Kptfile", Data: []byte(kptfile(name))}}
	for i := 1; i < n; i++ {
		out = append(out, krm.File{Path: fmt.Sprintf("res-%02d.yaml", i), Data: fmt.Appendf(nil,
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: res-%02d\n  namespace: common\ndata:\n  key: value-%d\n  text: some longer text which is the same in every package\n", i, i)})
	}
	return out
}

// draft adds a Draft of a package to a batch and gives its commit.
func draft(t testing.TB, b *Batch, path, workspace string, base *Commit, fs []krm.File) *Commit {
	t.Helper()
	c := draftCommit(t, b, path, workspace, base, fs)
	if err := b.Create(lifecycle.DraftRef(path, workspace), c.Hash); err != nil {
		t.Fatal(err)
	}
	return c
}

func draftCommit(t testing.TB, b *Batch, path, workspace string, base *Commit, fs []krm.File) *Commit {
	t.Helper()
	tree, err := b.PackageTree(fs)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := FormatMessage("Create "+path, &Annotation{Package: path, WorkspaceName: workspace, Revision: "0"},
		Trailers{Variant: "m/default/" + path, Inputs: "sha256:00"})
	if err != nil {
		t.Fatal(err)
	}
	spec := CommitSpec{Path: path, PackageTree: tree, Author: machine, Message: msg}
	if base != nil {
		spec.Root, spec.Parents = base.Tree, []Hash{base.Hash}
	}
	c, err := b.Commit(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func head(t testing.TB, r *Repo, branch string) *Commit {
	t.Helper()
	ref, ok := r.Refs().Branch(branch)
	if !ok {
		t.Fatalf("no branch %s", branch)
	}
	if err := r.Fetch(context.Background(), ref.Commit); err != nil {
		t.Fatal(err)
	}
	cs, err := r.Commits(context.Background(), ref.Commit)
	if err != nil {
		t.Fatal(err)
	}
	return cs[0]
}

func push(t testing.TB, b *Batch) *PushReport {
	t.Helper()
	rep, err := b.Push(context.Background(), PushOptions{})
	if err != nil {
		t.Fatalf("push: %v", err)
	}
	return rep
}
