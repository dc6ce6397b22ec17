package reconcile_test

import (
	"context"
	"fmt"
	"time"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/test/gittest"
)

// A fleet is planned and applied; the second plan has nothing to do.
func Example() {
	ctx := context.Background()
	server := gittest.NewMemory()
	server.NewRepo("catalog")
	server.NewRepo("c1")
	store := gitrepo.NewStore(gitrepo.Options{Transport: server})
	release(ctx, store, "web", "v1")

	e := reconcile.New(reconcile.Config{
		Git:     observe.Git(store),
		Manager: "fleet",
		Fleet: reconcile.Fleet{
			Repositories: []*v1alpha1.Repository{registered("catalog"), registered("c1")},
			Variants:     []*v1alpha1.PackageVariant{variant("web", "v1", "c1")},
		},
	})
	for range 2 {
		plan, err := e.Plan(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, i := range plan.Items {
			fmt.Println(i.Identity, i.Action, i.Workspace, i.Reasons)
		}
		if err := e.Apply(ctx, plan); err != nil || plan.Failed() {
			fmt.Println(err)
		}
	}
	// Output:
	// c1/web create packagevariant-1 [new: from catalog/web@web/v1]
	// c1/web none packagevariant-1 []
}

const host = "http://git.example.com/"

func registered(name string) *v1alpha1.Repository {
	r := &v1alpha1.Repository{Spec: v1alpha1.RepositorySpec{
		Type: v1alpha1.RepositoryGit, Git: &v1alpha1.GitRepository{Repo: host + name + ".git", CreateBranch: true},
	}}
	r.Namespace, r.Name = "default", name
	return r
}

func variant(pkg, revision, repo string) *v1alpha1.PackageVariant {
	pv := &v1alpha1.PackageVariant{Spec: v1alpha1.PackageVariantSpec{
		Upstream:   &v1alpha1.Upstream{Repo: "catalog", Package: pkg, Revision: v1alpha1.Revision(revision)},
		Downstream: &v1alpha1.Downstream{Repo: repo, Package: pkg},
	}}
	pv.Namespace, pv.Name = "default", pkg
	return pv
}

// release commits a package to the catalogue and tags it.
func release(ctx context.Context, store *gitrepo.Store, pkg, tag string) {
	repo := must(store.Open(ctx, host+"catalog.git"))
	b := repo.NewBatch()
	tree := must(b.PackageTree([]krm.File{{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + pkg + "\n")}}))
	c := must(b.Commit(ctx, gitrepo.CommitSpec{
		Path: pkg, PackageTree: tree, Message: "Release\n", Author: gitrepo.Signature{Name: "Robin", Email: "robin@example.com", When: time.Unix(1, 0)},
	}))
	if err := b.Together(gitrepo.RefUpdate{Name: "refs/heads/main", New: c.Hash}, gitrepo.RefUpdate{Name: "refs/tags/" + pkg + "/" + tag, New: c.Hash}); err != nil {
		panic(err)
	}
	must(b.Push(ctx, gitrepo.PushOptions{}))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
