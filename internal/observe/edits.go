package observe

import (
	"context"
	"maps"
	"slices"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
)

// FetchEdits brings what tells people's edits of wanted packages apart (Hydrated,
// FindWriters), in a few requests a repository however many packages are edited. What
// cannot be had is asked for again by who needs it.
func (r *Reader) FetchEdits(ctx context.Context, wants []*decide.Want) {
	type revision struct {
		placed
		pkg *decide.Package
	}
	var all []revision
	var changed []placed
	tips, compared, branches := fetchSet{}, fetchSet{}, fetchSet{}
	for repo, p := range r.packagesOf(wants) {
		for _, h := range p.Revisions {
			if r.cfg.Manager.Signed(h.Owner, repo.Namespace) {
				all = append(all, revision{placed{repo, p.Path, h}, p})
				switch at := repo.standsAt(h); {
				case repo.knows(at, p.Path):
				case h.Number > 0:
					tips.way(repo, at, p.Path)
				case !unedited(p, h):
					tips.place(repo, at, p.Path)
				}
			}
		}
	}
	tips.run(ctx, r.Repositories())
	type edits struct{ merged, open []gitrepo.Place }
	edited, carried := map[Repository]*edits{}, map[*Repo]bool{}
	var published []revision
	for _, h := range all {
		if unedited, err := h.repo.Unedited(ctx, h.pkg, h.Revision); err != nil || unedited {
			continue
		}
		compared.place(h.repo, h.repo.standsAt(h.Revision), h.pkg.Path)
		changed = append(changed, h.placed)
		of := edited[h.repo.Git]
		if of == nil {
			of = &edits{}
			edited[h.repo.Git] = of
		}
		if tip := (gitrepo.Place{Commit: gitrepo.Hash(h.Ref.Commit), Path: h.pkg.Path}); h.Number > 0 {
			published, of.merged = append(published, h), append(of.merged, tip)
		} else {
			of.open = append(of.open, tip)
		}
		if h.pkg.Latest != nil { // edits that updates kept came to the branch with one of its commits
			carried[h.repo] = true
		}
	}
	repositories := slices.Collect(maps.Keys(edited))
	behind, _ := Parallel(ctx, r.Repositories(), repositories, func(ctx context.Context, git Repository) []gitrepo.Place {
		return behindEdits(ctx, git, edited[git].merged, edited[git].open)
	})
	for i, git := range repositories {
		for _, at := range behind[i] {
			compared[git][at] = true
		}
	}
	compared.run(ctx, r.Repositories())
	_, _ = Parallel(ctx, r.Repositories(), slices.Collect(maps.Keys(carried)), func(ctx context.Context, repo *Repo) struct{} {
		repo.fetchLine(ctx)
		return struct{}{}
	})
	var look []looked
	for _, h := range published {
		look = append(look, looked{h.repo, h.pkg})
	}
	r.readBranches(ctx, look) // wrote asks for it
	for _, h := range published {
		for _, c := range h.repo.wrote(h.pkg) {
			branches.place(h.repo, c, h.pkg.Path)
		}
	}
	branches.run(ctx, r.Repositories())
	r.fetchHydrated(ctx, changed)
}

// standsAt is the commit that has a revision as it is now: what was Published, the
// registered branch.
func (r *Repo) standsAt(h *decide.Revision) decide.Hash {
	if h.Number > 0 {
		return r.Head
	}
	return h.Ref.Commit
}

// knows says that a package at a commit can be read without a request.
func (r *Repo) knows(commit decide.Hash, path string) bool {
	tree, known := r.Git.KnownTreeAt(gitrepo.Hash(commit), path)
	return known && (tree.IsZero() || r.Git.HasTree(tree))
}

// Unedited says that a revision, as it stands now, is what the machine made; false where
// that is not known.
func (r *Repo) Unedited(ctx context.Context, p *decide.Package, h *decide.Revision) (bool, error) {
	if h.Machine == nil || h.Machine.Hydrated.IsZero() {
		return false, nil
	}
	if unedited(p, h) {
		return true, nil
	}
	tree, err := r.TreeAt(ctx, r.standsAt(h), p.Path)
	return err == nil && tree == h.Machine.Hydrated, err
}

// unedited says that the record and the commit itself tell so of an open revision: its root
// folder has as many entries as there are packages, and need not be read.
func unedited(p *decide.Package, h *decide.Revision) bool {
	_, known := recordedTree(p, h)
	return known && h.Number == 0
}

// behindEdits are the folders in commits of Git's that edits at tips are compared with, to
// find who wrote them: all parents as far back as the machine's own. Merged tips, which are
// among them, have been approved.
func behindEdits(ctx context.Context, git Repository, merged, tips []gitrepo.Place) (out []gitrepo.Place) {
	parents := func(c *gitrepo.Commit, path string) (all []gitrepo.Place) {
		for _, p := range c.Parents {
			all = append(all, gitrepo.Place{Commit: p, Path: path})
		}
		return all
	}
	out = append(out, merged...)
	if approved, err := commitsOf(ctx, git, merged); err == nil {
		for i, c := range approved {
			all := parents(c, merged[i].Path)
			out = append(out, all...)
			if n := len(all); n > 0 {
				tips = append(tips, all[n-1]) // the Draft
			}
		}
	}
	for n := 0; n < maxWriters && len(tips) > 0; n++ {
		commits, err := commitsOf(ctx, git, tips)
		if err != nil {
			return out
		}
		var next []gitrepo.Place
		for i, c := range commits {
			all := parents(c, tips[i].Path)
			out = append(out, all...)
			if c.Committer.Email != MachineEmail && len(all) > 0 {
				next = append(next, all[0])
			}
		}
		tips = next
	}
	return out
}

// commitsOf are the commits of places, in their order.
func commitsOf(ctx context.Context, git Repository, places []gitrepo.Place) ([]*gitrepo.Commit, error) {
	commits := make([]gitrepo.Hash, len(places))
	for i, p := range places {
		commits[i] = p.Commit
	}
	return git.Commits(ctx, commits...)
}
