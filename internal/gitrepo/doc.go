// Package gitrepo is the Git store: it reads packages from Git repositories and
// writes Draft branches into them (docs/design/git.md).
//
// Nothing here needs a work tree. Refs are read in one round trip, commits
// without their trees where the server allows it, packages once per tree hash.
// Writing builds one thin pack of all new objects and pushes it atomically,
// conditional on the refs that the caller planned with: a lost race is a
// *StaleError that names the refs, and nothing has moved.
//
// The layout is Porch's, so that either tool reads what the other wrote:
// branches drafts/<path>/<workspace> and proposed/<path>/<workspace>, tags
// <path>/vN, branches deletionProposed/<path>/vN, and Porch's annotation line in
// commit messages.
//
//	store := gitrepo.NewStore(gitrepo.Options{CacheDir: dir})
//	repo, err := store.Open(ctx, "https://git.example.com/fleet.git")
//	at, err := repo.Resolve(ctx, gitrepo.Query{Package: "base-ns", Revision: "v1", Branch: "main"})
//	err = repo.Fetch(ctx, at.Commit)
//	tree, ok, err := repo.TreeAt(ctx, at.Commit, at.Path)
//	pkg, err := repo.ReadPackage(ctx, tree)
//
//	b := repo.NewBatch()
//	pt, err := b.PackageTree(files)
//	c, err := b.Commit(ctx, gitrepo.CommitSpec{Root: head.Tree, Path: "base-ns", PackageTree: pt, Parents: …})
//	err = b.Create(lifecycle.DraftRef("base-ns", "packagevariant-1"), c.Hash)
//	report, err := b.Push(ctx, gitrepo.PushOptions{})
package gitrepo
