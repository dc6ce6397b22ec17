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
				if at := repo.standsAt(h); !repo.knows(at, p.Path) {
					tips.place(repo, at, p.Path)
				}
			}
		}
	}
	tips.run(ctx, r.Repositories())
	type edits struct{ merged, open []gitrepo.Hash }
	edited, carried := map[Repository]*edits{}, map[*Repo]bool{}
	var published []revision
	for _, h := range all {
		if unedited, err := h.repo.Unedited(ctx, h.pkg.Path, h.Revision); err != nil || unedited {
			continue
		}
		changed = append(changed, h.placed)
		of := edited[h.repo.Git]
		if of == nil {
			of = &edits{}
			edited[h.repo.Git] = of
		}
		if tip := gitrepo.Hash(h.Ref.Commit); h.Number > 0 {
			published, of.merged = append(published, h), append(of.merged, tip)
		} else {
			of.open = append(of.open, tip)
			if h.pkg.Latest != nil { // an update's edits came to the branch with one of its commits
				carried[h.repo] = true
			}
		}
	}
	repositories := slices.Collect(maps.Keys(edited))
	behind, _ := Parallel(ctx, r.Repositories(), repositories, func(ctx context.Context, git Repository) []gitrepo.Hash {
		return behindEdits(ctx, git, edited[git].merged, edited[git].open)
	})
	for i, git := range repositories {
		compared[git] = map[gitrepo.Place]bool{}
		for _, c := range behind[i] {
			compared[git][gitrepo.Place{Commit: c}] = true
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
	r.lookAt(ctx, look, r.ReadBranch) // wrote asks for it
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
func (r *Repo) Unedited(ctx context.Context, path string, h *decide.Revision) (bool, error) {
	if h.Machine == nil || h.Machine.Hydrated.IsZero() {
		return false, nil
	}
	tree, err := r.TreeAt(ctx, r.standsAt(h), path)
	return err == nil && tree == h.Machine.Hydrated, err
}

// behindEdits are the commits of Git's that edits at tips are compared with, to find who
// wrote them: all parents as far back as the machine's own. Merged tips, which are among
// them, have been approved.
func behindEdits(ctx context.Context, git Repository, merged, tips []gitrepo.Hash) (out []gitrepo.Hash) {
	out = append(out, merged...)
	approved, _ := git.Commits(ctx, merged...)
	for _, c := range approved {
		out = append(out, c.Parents...)
		if n := len(c.Parents); n > 0 {
			tips = append(tips, c.Parents[n-1]) // the Draft
		}
	}
	for n := 0; n < maxWriters && len(tips) > 0; n++ {
		commits, err := git.Commits(ctx, tips...)
		if err != nil {
			return out
		}
		tips = nil
		for _, c := range commits {
			out = append(out, c.Parents...)
			if c.Committer.Email != MachineEmail && len(c.Parents) > 0 {
				tips = append(tips, c.Parents[0])
			}
		}
	}
	return out
}
