// Package ocirepo reads packages from OCI registries and pushes them there: kpt
// packages as Porch keeps them in a Repository of type oci, Crossplane xpkgs and
// packages pushed as plain OCI artifacts.
//
// A package is a repository below the registered path, a revision a tag of it:
// vN, or the workspace in a repository that Porch wrote. What is recorded is the
// digest: content is fetched by it, compared with it, and cached by it.
//
//	store := ocirepo.NewStore(ocirepo.Options{CacheDir: dir})
//	repo, err := store.Open("registry.example.com/blueprints")
//	at, err := repo.Resolve(ctx, ocirepo.Query{Package: "base-ns", Revision: "v1"})
//	pkg, err := repo.ReadPackage(ctx, "base-ns", at.Digest)
//
//	pushed, err := store.Push(ctx, "registry.example.com/blueprints/base-ns:v2", pkg, ocirepo.PushOptions{})
//
// Errors name registry, repository, tag and what to do; test for their kinds
// with errors.Is. No credential is in any of them.
package ocirepo
