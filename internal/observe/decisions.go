package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/variantgen"
)

// This file reads what single decisions ask for beside the tips of revisions:
// what folders hold, what Kptfiles say. It is read where it is needed, since
// most runs decide without it.

// FetchTrees brings, in one request a repository, the commits whose folders
// ReadTrees compares, where what they hold is not known yet; then the open
// revisions of packages that are other on the registered branch, and the branch's
// history of those.
func (r *Reader) FetchTrees(ctx context.Context, wants []*decide.Want) {
	r.fetchTrees(ctx, wants, fetchSet{}, recorded)
}

// FetchCompared is FetchTrees for who approves: what was Published is brought, whatever
// the record says of it, and in the same request what is open.
func (r *Reader) FetchCompared(ctx context.Context, wants []*decide.Want) {
	set := fetchSet{}
	for repo, p := range r.packagesOf(wants) {
		switch h := p.Open(); {
		case h == nil:
		case h.Machine != nil && h.Machine.Commit == h.Ref.Commit: // else it is built upon
			set.add(repo, p.Path, h)
		default:
			set.open(repo, p.Path, h)
		}
	}
	r.fetchTrees(ctx, wants, set, func(*decide.Package) (decide.Hash, bool) { return decide.Hash{}, false })
}

// fetchTrees is FetchTrees where recorded says what is known of what was Published. What is
// in set comes along.
func (r *Reader) fetchTrees(ctx context.Context, wants []*decide.Want, set fetchSet, recorded func(*decide.Package) (decide.Hash, bool)) {
	open := fetchSet{}
	var unrecorded []looked // without an open revision
	for repo, p := range r.packagesOf(wants) {
		if p.Open() == nil && len(p.Revisions) > 0 && len(p.Surplus) == 0 && !repo.comparable(p) {
			if p.Latest != nil && latestCommit(p) != repo.Head {
				if _, known := repo.Git.KnownTreeAt(gitrepo.Hash(repo.Head), p.Path); !known {
					set.way(repo, repo.Head, p.Path)
				}
			}
			if p.ComparedBy(repo.Head) == decide.ByRevision {
				unrecorded = append(unrecorded, looked{repo, p})
			}
			continue
		}
		commits := []decide.Hash{repo.Head, latestCommit(p)}
		if _, known := recorded(p); known {
			commits = commits[:1]
		}
		for _, commit := range commits {
			if _, known := repo.Git.KnownTreeAt(gitrepo.Hash(commit), p.Path); !known {
				set.way(repo, commit, p.Path)
			}
		}
	}
	set.run(ctx, r.Repositories())
	r.fetchPublishedTrees(ctx, unrecorded)
	var other []looked // on the registered branch
	for repo, p := range r.packagesOf(wants) {
		if p.Open() == nil && len(p.Heads()) > 0 && !repo.comparable(p) {
			if other, err := repo.other(ctx, p); err == nil && other {
				open.place(repo, repo.Head, p.Path)
				open.place(repo, latestCommit(p), p.Path)
			}
			continue
		}
		there, err := repo.TreeAt(ctx, repo.Head, p.Path)
		if err != nil {
			continue // ReadTrees says so
		}
		published, known := recorded(p)
		if !known {
			published, err = repo.TreeAt(ctx, latestCommit(p), p.Path)
		}
		if err != nil || there == published {
			continue
		}
		open.place(repo, repo.Head, p.Path)
		other = append(other, looked{repo, p})
		if p.Open() == nil || p.Latest == nil {
			continue
		}
		open.place(repo, latestCommit(p), p.Path)
		for _, h := range p.Revisions {
			if h.Phase.Open() {
				open.add(repo, p.Path, h)
			}
		}
	}
	open.run(ctx, r.Repositories())
	r.fetchMerged(ctx, other)
	var look []looked
	sound := slices.DeleteFunc(slices.Clone(wants), func(w *decide.Want) bool { return w.Err != nil })
	for repo, p := range r.packagesOf(sound) {
		if _, held := decide.Held(p); !held || p.Rollout != "" { // which may have been merged
			look = append(look, looked{repo, p})
		}
	}
	r.lookAt(ctx, look, r.ReadTrees)
}

// fetchMerged brings what ReadBranch reads of open revisions, any of which may have been
// merged where the registered branch has something else than what was Published last.
func (r *Reader) fetchMerged(ctx context.Context, list []looked) {
	open := map[looked][]*behind{}
	ways := fetchSet{} // mostly brought
	for _, l := range list {
		if l.Branch != nil || open[l] != nil {
			continue
		}
		for _, h := range l.Revisions {
			if h.Phase.Open() && h.Machine != nil {
				open[l] = append(open[l], &behind{path: l.Path, Revision: h})
			}
		}
		if open[l] == nil {
			continue
		}
		if _, known := l.repo.knownTreeAt(gitrepo.Hash(l.repo.Head), l.Path); !known {
			ways.way(l.repo, l.repo.Head, l.Path)
		}
	}
	ways.run(ctx, r.Repositories())
	merged, failed := map[*Repo][]*behind{}, map[*Repo]bool{}
	for _, l := range list {
		revisions := open[l]
		if delete(open, l); revisions == nil || failed[l.repo] {
			continue // of a branch that cannot be had each would ask once more
		}
		there, err := l.repo.TreeAt(ctx, l.repo.Head, l.Path)
		// What is not known may be merged: to read it of each would be a request for each.
		if was, known := l.published(); err == nil && !there.IsZero() && (!known || there != was) {
			merged[l.repo] = append(merged[l.repo], revisions...)
		}
		failed[l.repo] = err != nil
	}
	_, _ = Parallel(ctx, r.Repositories(), slices.Collect(maps.Keys(merged)), func(ctx context.Context, repo *Repo) struct{} {
		repo.fetchBehind(ctx, merged[repo])
		return struct{}{}
	})
}

// readBranches is ReadBranch of several packages, with few requests a repository. Who needs
// what could not be read asks again.
func (r *Reader) readBranches(ctx context.Context, list []looked) {
	r.fetchMerged(ctx, list)
	r.lookAt(ctx, list, r.ReadBranch)
}

// looked is a package that is looked at in its repository.
type looked struct {
	repo *Repo
	*decide.Package
}

// lookAt calls read with each package once, in many repositories at once. Who needs what
// could not be read asks again.
func (r *Reader) lookAt(ctx context.Context, list []looked, read func(context.Context, *Repo, *decide.Package) error) {
	seen := map[*decide.Package]bool{}
	list = slices.DeleteFunc(list, func(l looked) bool {
		twice := seen[l.Package]
		seen[l.Package] = true
		return twice
	})
	_ = SideBySide(ctx, r, list, func(l looked) *Repo { return l.repo }, func(ctx context.Context, l looked) error {
		return read(ctx, l.repo, l.Package)
	})
}

// FetchOpen brings the open revisions of wanted packages for ReadMade, in one request a
// repository.
func (r *Reader) FetchOpen(ctx context.Context, wants []*decide.Want) {
	r.fetchMade(ctx, wants, (*decide.Package).Open)
}

// FetchStanding brings what stands on the registered branch of wanted packages that others
// wrote there, and what the machine made of what was Published.
func (r *Reader) FetchStanding(ctx context.Context, wants []*decide.Want) {
	set := fetchSet{}
	var published []placed
	for repo, p := range r.packagesOf(wants) {
		if p.Branch != nil && p.Latest != nil {
			set.place(repo, repo.Head, p.Path)
			published = append(published, placed{repo, p.Path, p.Latest})
		}
	}
	set.run(ctx, r.Repositories())
	r.fetchHydrated(ctx, published)
}

// FetchMain is FetchTrees for who publishes what people committed to the registered
// branch: of each package ReadMain has what it compares. unread are those whose branch
// cannot be had, which is asked for once.
func (r *Reader) FetchMain(ctx context.Context, wants []*decide.Want) (unread map[*decide.Package]error) {
	unread = r.readHeads(ctx, wants)
	wants = slices.DeleteFunc(slices.Clone(wants), func(w *decide.Want) bool {
		repo := r.RepoOf(w)
		return repo != nil && unread[repo.Package(repo.Path(w.Package))] != nil
	})
	var look []looked
	for repo, p := range r.packagesOf(wants) {
		if p.Branch == nil && p.Latest != nil && !repo.stoodStill(ctx, p) {
			look = append(look, looked{repo, p})
		}
	}
	r.fetchPublishedTrees(ctx, look) // else FetchTrees brings more
	r.FetchTrees(ctx, wants)
	other := fetchSet{}
	for _, l := range look {
		there, _ := l.Tree(l.repo.Head)
		if published, known := l.Tree(latestCommit(l.Package)); known && there != published {
			other.place(l.repo, l.repo.Head, l.Path)
			other.add(l.repo, l.Path, l.Latest)
		}
	}
	other.run(ctx, r.Repositories())
	r.readBranches(ctx, look)
	return unread
}

// readHeads learns what the registered branch has of each package, and why where it cannot
// be had: of one repository the packages share that, for each would ask in vain.
func (r *Reader) readHeads(ctx context.Context, wants []*decide.Want) map[*decide.Package]error {
	packages := map[*Repo][]*decide.Package{}
	for repo, p := range r.packagesOf(wants) {
		packages[repo] = append(packages[repo], p)
	}
	unread := map[*decide.Package]error{}
	var mu sync.Mutex
	_, _ = Parallel(ctx, r.Repositories(), slices.Collect(maps.Keys(packages)), func(ctx context.Context, repo *Repo) (failed error) {
		for _, p := range packages[repo] {
			err := failed
			if _, known := repo.knownTreeAt(gitrepo.Hash(repo.Head), p.Path); failed == nil || known {
				_, err = repo.learn(ctx, p, repo.Head)
			}
			if err != nil {
				mu.Lock()
				failed, unread[p] = err, err
				mu.Unlock()
			}
		}
		return failed
	})
	return unread
}

// fetchPublishedTrees learns the trees of what was Published last of packages, from folders
// alone: most stand on the registered branch as they are, and no file of those is read.
func (r *Reader) fetchPublishedTrees(ctx context.Context, list []looked) {
	outlines := map[Repository][]gitrepo.Hash{}
	for _, l := range list {
		at := gitrepo.Hash(latestCommit(l.Package))
		if _, known := l.repo.Git.KnownTreeAt(at, l.Path); !known {
			outlines[l.repo.Git] = append(outlines[l.repo.Git], at)
		}
	}
	_, _ = Parallel(ctx, r.Repositories(), slices.Collect(maps.Keys(outlines)), func(ctx context.Context, git Repository) error {
		return git.FetchOutline(ctx, outlines[git]...)
	})
	ways := fetchSet{} // of those that did not come so
	for _, l := range list {
		at := latestCommit(l.Package)
		if tree, ok, err := l.repo.Git.TreeAt(ctx, gitrepo.Hash(at), l.Path); err != nil {
			ways.way(l.repo, at, l.Path)
		} else if ok {
			l.Learn(at, decide.Hash(tree))
		}
	}
	ways.run(ctx, r.Repositories())
}

// ReadMain is ReadBranch for who publishes what people committed to the registered branch:
// what was Published is not read where the branch has it, as the record and the revision's
// own commit say.
func (r *Reader) ReadMain(ctx context.Context, repo *Repo, p *decide.Package) error {
	if err := r.ReadTrees(ctx, repo, p); err != nil || repo.stoodStill(ctx, p) {
		return err
	}
	return r.ReadBranch(ctx, repo, p)
}

// stoodStill says that the registered branch has what recordedTree tells of the latest
// Published revision; false also where the branch cannot be read, which ReadBranch says.
func (r *Repo) stoodStill(ctx context.Context, p *decide.Package) bool {
	if p.Branch != nil || p.Latest == nil || r.Head.IsZero() {
		return false
	}
	published, known := recordedTree(p, p.Latest)
	if !known {
		return false
	}
	there, err := r.learn(ctx, p, r.Head)
	return err == nil && there == published
}

// FetchNewest is FetchOpen, of what was Published last where nothing is open.
func (r *Reader) FetchNewest(ctx context.Context, wants []*decide.Want) {
	r.fetchMade(ctx, wants, (*decide.Package).OpenOrLatest)
}

func (r *Reader) fetchMade(ctx context.Context, wants []*decide.Want, revision func(*decide.Package) *decide.Revision) {
	set := fetchSet{}
	for repo, p := range r.packagesOf(wants) {
		set.made(repo, p, revision(p))
	}
	set.run(ctx, r.Repositories())
}

// FetchReverted is FetchTrees for who sets packages back to a Published revision, name: that
// and the latest are brought, and what came to the registered branch since is read.
func (r *Reader) FetchReverted(ctx context.Context, wants []*decide.Want, name string) {
	r.FetchTrees(ctx, wants)
	set := fetchSet{}
	var look []looked
	for repo, p := range r.packagesOf(wants) {
		set.add(repo, p.Path, p.Latest)
		if t := p.Tagged(name); t != nil {
			set.place(repo, t.Ref.Commit, p.Path)
		}
		look = append(look, looked{repo, p})
	}
	set.run(ctx, r.Repositories())
	r.readBranches(ctx, look)
}

// ReadMade reads a package at a revision by what recordedTree tells, for who neither
// publishes that revision nor builds upon it, but works on another, or shows it: to find it
// by its commit's root folder costs as many entries as there are packages.
func (r *Repo) ReadMade(ctx context.Context, p *decide.Package, h *decide.Revision) (*krm.Package, error) {
	if tree, known := recordedTree(p, h); known && r.Git.HasTree(gitrepo.Hash(tree)) {
		return r.Git.ReadPackage(ctx, gitrepo.Hash(tree))
	}
	_, pkg, err := r.ReadPackage(ctx, h.Ref.Commit, p.Path)
	return pkg, err
}

// recordedTree is what a revision holds by the record and by the revision's own commit,
// which names what the machine made: who publishes a Draft that nobody edited says so.
func recordedTree(p *decide.Package, h *decide.Revision) (tree decide.Hash, known bool) {
	if tree, known = p.RecordedTree(h); !known || !h.Made() || tree != h.Machine.Hydrated {
		return decide.Hash{}, false
	}
	return tree, true
}

// comparable says that the registered branch may be compared with what is
// Published of a package at the cost of what changed on the branch: the other
// side is known already.
func (r *Repo) comparable(p *decide.Package) bool {
	if p.Latest == nil || p.Latest.Ref.Commit == r.Head {
		return false
	}
	_, known := r.Git.KnownTreeAt(gitrepo.Hash(p.Latest.Ref.Commit), p.Path)
	return known
}

// other reports whether the registered branch has a package no more, or another one than was
// Published last. Where the record has that, no revision is read.
func (r *Repo) other(ctx context.Context, p *decide.Package) (bool, error) {
	by := p.ComparedBy(r.Head)
	if by == decide.NoComparison {
		return false, nil
	}
	there, err := r.TreeAt(ctx, r.Head, p.Path)
	if err != nil || there.IsZero() {
		return true, err
	}
	published, _ := p.RecordedTree(p.Latest)
	if by == decide.ByRevision {
		published, err = r.TreeAt(ctx, latestCommit(p), p.Path)
	}
	return there != published, err
}

// recorded is what the record says was Published last of a package that has an open
// revision. Where that stands on the registered branch nothing came there, and the
// Published revision itself need not be read: its root folder has as many entries as the
// branch has packages.
func recorded(p *decide.Package) (tree decide.Hash, known bool) {
	if p.Open() == nil || p.Latest == nil {
		return decide.Hash{}, false
	}
	return p.RecordedTree(p.Latest)
}

// published is what was Published last, as far as it is known.
func (l looked) published() (tree decide.Hash, known bool) {
	if tree, known = l.Tree(latestCommit(l.Package)); known {
		return tree, true
	}
	if tree, known = recorded(l.Package); known {
		return tree, true
	}
	at, known := l.repo.knownTreeAt(gitrepo.Hash(latestCommit(l.Package)), l.Path)
	return decide.Hash(at), known
}

func latestCommit(p *decide.Package) decide.Hash {
	if p.Latest == nil {
		return decide.Hash{}
	}
	return p.Latest.Ref.Commit
}

// ReadTrees finds what the folder of a wanted package holds at the registered
// branch, and where that tells nothing, at its latest Published revision and its
// open ones. One caller at a time for each package.
func (r *Reader) ReadTrees(ctx context.Context, repo *Repo, p *decide.Package) error {
	if p.Open() == nil && len(p.Heads()) > 0 {
		if !repo.comparable(p) {
			if other, err := repo.other(ctx, p); err != nil || !other && !p.Unconfirmed() {
				return err // it is read before anything is built
			}
		}
		return r.ReadBranch(ctx, repo, p)
	}
	there, err := repo.learn(ctx, p, repo.Head)
	if err != nil {
		return err
	}
	if there.IsZero() && p.Latest == nil {
		return deletedUntagged(ctx, repo, p)
	}
	if p.Open() == nil {
		return r.ReadBranch(ctx, repo, p)
	}
	if was, known := recorded(p); known && there == was {
		return nil
	}
	published, err := repo.learn(ctx, p, latestCommit(p))
	if err != nil || there == published && !p.Unconfirmed() {
		return err
	}
	for _, h := range p.Revisions {
		if there != published && h.Phase.Open() {
			if _, err := repo.learn(ctx, p, h.Ref.Commit); err != nil {
				return err
			}
		}
	}
	return r.ReadBranch(ctx, repo, p)
}

// learn notes what a package's folder holds at a commit.
func (r *Repo) learn(ctx context.Context, p *decide.Package, commit decide.Hash) (decide.Hash, error) {
	if tree, known := p.Tree(commit); known {
		return tree, nil
	}
	tree, err := r.TreeAt(ctx, commit, p.Path)
	if err != nil {
		return tree, err
	}
	p.Learn(commit, tree)
	return tree, nil
}

// ReadStart finds what decide.Unmoved compares. branch is where the registered
// branch is.
func (r *Repo) ReadStart(ctx context.Context, c *decide.Candidate, branch decide.Hash) error {
	if branch.IsZero() {
		return nil
	}
	if _, err := r.learn(ctx, c.Package, branch); err != nil {
		return err
	}
	if since := c.Package.Tagged(c.Head.Since); since != nil {
		_, err := r.learn(ctx, c.Package, since.Ref.Commit)
		if err == nil && c.Head.Inputs.Main == "" { // else it was made upon what stood there
			_, err = r.learnSame(ctx, c.Package, branch, since.Ref.Commit)
		}
		return err
	}
	return nil
}

// Gates are the readiness gates that a revision of a package does not meet; who publishes
// it looks again.
func (r *Repo) Gates(ctx context.Context, p *decide.Package, h *decide.Revision) ([]decide.Gate, error) {
	pkg, err := r.ReadMade(ctx, p, h)
	if err != nil {
		return nil, err
	}
	if _, ok := pkg.Read(kptfilev1.KptFileName); !ok {
		return nil, nil // an adopted folder has none before its first Draft
	}
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return nil, decide.Stall(err)
	}
	return Unmet(k), nil
}

// Unmet are the readiness gates that a Kptfile does not meet.
func Unmet(k *kptfilev1.KptFile) []decide.Gate {
	var out []decide.Gate
	for _, c := range mutate.Unmet(k) {
		out = append(out, decide.Gate{Type: c.Type, Status: string(c.Status), Message: c.Message})
	}
	return out
}

// Orphans lists the packages of this manager's that nothing wants, sorted by
// Repository and path, with what their Kptfiles say; upstreams are those that stay
// for what is made of them ([Reader.UpstreamPlaces]).
func (r *Reader) Orphans(ctx context.Context, s *Snapshot, upstreams map[decide.Place]bool) []*decide.Orphan {
	want, seen := map[decide.Identity]bool{}, map[decide.Place]bool{}
	for _, w := range s.Wants {
		want[w.Identity] = true
		if at, ok := r.place(w); ok {
			seen[at] = true
		}
	}
	var out, gone []*decide.Orphan
	set := fetchSet{} // their Kptfiles have the last word: brought in one request a repository
	add := func(repo *Repo, o *decide.Orphan) {
		gone = append(gone, o)
		set.add(repo, o.Package.Path, o.Package.Heads()...)
		set.branch(repo, o.Package.Path)
	}
	for _, repo := range r.sorted {
		if repo.Git == nil || repo.Err != nil {
			continue
		}
		for _, path := range repo.Paths() {
			p := repo.Packages[path]
			owner, at := cmp.Or(p.NewestOwner(), decide.ReplacedOwner(p)), repo.Place(path)
			id := decide.Identity{Namespace: repo.Namespace, Repository: repo.Name, Package: repo.Below(path)}
			// One folder may be seen through several Repositories: whoever
			// wants it, wants it.
			if !r.cfg.Manager.Signed(owner, repo.Namespace) || want[id] || seen[at] {
				continue
			}
			seen[at] = true
			o := &decide.Orphan{
				Identity: id, Name: decide.OwnerName(owner), Repo: repo.Repository, Package: p,
				Alone: r.cfg.Dependencies == nil,
			}
			out = append(out, o)
			why, held := s.untouchable(repo, at)
			switch {
			case held:
				o.Kept = "nothing is known to need it, but " + why
			case upstreams[at]:
				o.Upstream = true
			default:
				add(repo, o)
			}
		}
		for _, e := range repo.vanished() {
			at := repo.Place(e.Path)
			id := decide.Identity{Namespace: repo.Namespace, Repository: repo.Name, Package: repo.Below(e.Path)}
			if !r.cfg.Manager.Signed(e.Owner, repo.Namespace) || want[id] || seen[at] {
				continue
			}
			seen[at] = true
			p := decide.NewPackage(e.Path, nil)
			p.Entries, p.Others = repo.Recorded.Package(e.Path), repo.Others
			o := &decide.Orphan{
				Identity: id, Name: decide.OwnerName(e.Owner), Set: e.Set, MadeFor: e.For,
				Repo: repo.Repository, Package: p, Alone: r.cfg.Dependencies == nil,
			}
			out = append(out, o)
			if why, held := s.untouchable(repo, at); held {
				o.Kept = "nothing is known to need it, but " + why
				continue
			}
			add(repo, o)
		}
	}
	set.run(ctx, r.Repositories())
	_, _ = Parallel(ctx, r.limit(), gone, func(ctx context.Context, o *decide.Orphan) struct{} {
		r.ReadOrphan(ctx, o)
		return struct{}{}
	})
	// What the record alone knew of, and the branch has not, was turned down.
	return slices.DeleteFunc(out, func(o *decide.Orphan) bool {
		return o.Err == nil && len(o.Package.Heads()) == 0 && !o.Package.Spoken()
	})
}

// untouchable is why a package that nothing seems to want is left alone.
func (s *Snapshot) untouchable(repo *Repo, at decide.Place) (why string, held bool) {
	if why, held = s.Untouchable[at]; !held {
		why, held = s.Untouchable[repo.Place("")]
	}
	return why, held
}

// vanished are packages below the Repository's folder of which only the record
// knows: their Draft's branch has gone, merged or not, or their tags, as Porch
// carries out a deletion; or people said something of them.
func (r *Repo) vanished() (out []record.Entry) {
	if r.Recorded == nil {
		return nil
	}
	seen := map[string]bool{}
	for e := range r.Recorded.All() {
		p := r.Packages[e.Path]
		told := (e.Place == record.Open || e.Place == record.Main) && p == nil || e.Place == record.Variant && (e.Hold != nil || e.Discarded != nil) && !r.mine(p)
		if told && !seen[e.Path] && r.Shows(e.Path) {
			seen[e.Path] = true
			out = append(out, e)
		}
	}
	slices.SortFunc(out, record.Entry.Compare)
	return out
}

// mine says that a revision of a package is of this manager's.
func (r *Repo) mine(p *decide.Package) bool {
	return p != nil && slices.ContainsFunc(p.Heads(), func(h *decide.Revision) bool { return strings.HasPrefix(h.Owner, r.record.Manager+"/") })
}

// ReadOrphan reads what becomes of an orphan depends on: whether its Draft was
// merged, and who made its revisions. What cannot be read is its error.
func (r *Reader) ReadOrphan(ctx context.Context, o *decide.Orphan) {
	repo := r.repos[repoKey{o.Namespace, o.Repository}]
	if err := r.ReadTrees(ctx, repo, o.Package); err != nil {
		o.Err = fmt.Errorf("removing %s: %w", o.Identity, err)
		return
	}
	w := &decide.Want{Identity: o.Identity, Name: o.Name}
	if ruling, tagged, ok := decide.Landed(r.cfg.Manager, w, repo.Repository, o.Package); ok {
		o.Landed, o.Package = &ruling, tagged
	}
	o.Owners = map[string]decide.Ownership{}
	r.readOwners(ctx, o)
}

// UpstreamPlaces are the packages that wanted ones come from: their revisions are
// named by upstreamLocks and never go.
func (r *Reader) UpstreamPlaces(wants []*decide.Want) map[decide.Place]bool {
	out := map[decide.Place]bool{}
	for _, w := range wants {
		u := w.Upstream()
		if u == nil {
			continue
		}
		if repo := r.repos[repoKey{w.Namespace, u.Repo}]; repo != nil && repo.Git != nil {
			out[repo.Place(repo.Path(u.Package))] = true
		}
	}
	return out
}

// readOwners reads who made an orphan's revisions: whether a person gave them up
// the Kptfiles say, what the variant last said the record, where it knows. What
// cannot be read is the orphan's error.
func (r *Reader) readOwners(ctx context.Context, o *decide.Orphan) {
	repo := r.repos[repoKey{o.Namespace, o.Repository}]
	given := o.Package.Given(r.cfg.Manager, o.Namespace)
	for _, h := range o.Package.Revisions {
		if !r.cfg.Manager.Signed(h.Owner, o.Namespace) || given && h == o.Package.Latest {
			continue
		}
		if err := r.readOwner(ctx, repo, o, h); err != nil {
			o.Err = fmt.Errorf("removing %s: %w", h.Ref.Name, err)
			return
		}
	}
	if len(o.Owners) == 0 {
		return
	}
	for _, h := range o.Package.Surplus {
		if r.cfg.Manager.Signed(h.Owner, o.Namespace) {
			o.Owners[h.Ref.Name] = decide.Ownership{}
		}
	}
}

func (r *Reader) readOwner(ctx context.Context, repo *Repo, o *decide.Orphan, h *decide.Revision) error {
	tree, pkg, err := repo.ReadPackage(ctx, h.Ref.Commit, o.Package.Path)
	if err != nil {
		return err
	}
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return err
	}
	owner, owned := mutate.OwnerOf(k)
	if !owned || !r.cfg.Manager.Signed(owner.Variant, o.Namespace) {
		// The Kptfile has the last word: a person gave it up, or away.
		return nil
	}
	if e, stated := o.Package.Stated(h); stated {
		owner.Set, owner.For, owner.DeletionPolicy = e.Set, e.For, e.DeletionPolicy
	}
	out := decide.Ownership{Policy: owner.DeletionPolicy, For: owner.For}
	out.Dependency = owner.For != "" || owner.Variant == r.cfg.Manager.Sign(o.Namespace, variantgen.Name("dependency", o.Repository, o.Identity.Package))
	if h.Phase.Open() && h.NeedsReview() {
		same, err := repo.asMade(ctx, h, o.Package.Path, tree)
		if err == nil && !same {
			out.Author, err = repo.Editor(ctx, h)
		}
		if err == nil && out.Author != "" {
			out.Edits, err = repo.editNames(ctx, o.Package.Path, h, pkg)
		}
		if err != nil {
			return err
		}
	}
	o.Owners[h.Ref.Name] = out
	if o.Set == "" && o.MadeFor == "" {
		o.Set, o.MadeFor = owner.Set, owner.For
	}
	return nil
}

// asMade says that people left an open revision, of whose package that is the tree, as the
// machine made it apart from bookkeeping, and all beside it: they brought it up to date with the branch, say, as
// a forge does by a button.
func (r *Repo) asMade(ctx context.Context, h *decide.Revision, path string, tree decide.Hash) (bool, error) {
	base := begunAt(h)
	if base.IsZero() || !h.Machine.Ours {
		return false, nil
	}
	if h.Machine.Hydrated != tree {
		made, err := r.TreeAt(ctx, h.Machine.Commit, path)
		if err != nil || made != h.Machine.Hydrated {
			return false, err
		}
		if same, err := r.SameAt(ctx, path, h.Machine.Commit, h.Ref.Commit); err != nil || !same {
			return false, err
		}
	}
	beside, err := r.Beyond(ctx, gitrepo.Hash(base), gitrepo.Hash(h.Ref.Commit), path)
	return len(beside) == 0, err
}

// editNames names people's edits of a revision; nil where what the machine made is
// not known.
func (r *Repo) editNames(ctx context.Context, path string, h *decide.Revision, there *krm.Package) (out []string, err error) {
	base, err := r.Hydrated(ctx, path, h)
	if err != nil || base == nil {
		return nil, err
	}
	edits, err := review.Edits(base, there)
	if err != nil {
		return nil, nil //nolint:nilerr // a file that cannot be read has edits that cannot be named
	}
	for _, e := range edits {
		out = append(out, e.String())
	}
	return out, nil
}

// Editor is who committed to an open revision by hand what the registered branch has
// not, "" for nobody: at its tip, or below what the machine made of that since.
func (r *Repo) Editor(ctx context.Context, h *decide.Revision) (string, error) {
	theirs := func(_ int, c *gitrepo.Commit) bool { return c.Committer.Email != MachineEmail }
	found, err := r.Git.FindAncestors(ctx, []gitrepo.Hash{gitrepo.Hash(h.Ref.Commit)}, walkLimit, theirs)
	if err != nil || len(found) == 0 || found[0] == nil {
		return "", err
	}
	c := found[0]
	if !r.Head.IsZero() { // the branch may begin with it, or have it by a merge that was set back since
		on := func(_ int, b *gitrepo.Commit) bool {
			return b.Hash == c.Hash || slices.Contains(b.Parents, gitrepo.Hash(h.Ref.Commit))
		}
		main, err := r.Git.FindAncestors(ctx, []gitrepo.Hash{gitrepo.Hash(r.Head)}, walkLimit, on)
		if err != nil || len(main) > 0 && main[0] != nil {
			return "", err
		}
	}
	return c.Author.Name + " (" + c.Hash.String()[:7] + ")", nil
}

// ReadUpstreamLocks finds the places that some package's upstreamLock names. It
// reads every package's Kptfile, so it is asked only where something is to go.
func (r *Reader) ReadUpstreamLocks(ctx context.Context) (map[decide.Place]bool, error) {
	type tip struct {
		repo *Repo
		path string
		head *decide.Revision
	}
	var tips []tip
	fetch := fetchSet{}
	for _, repo := range r.sorted {
		if repo.Git == nil || repo.Err != nil {
			continue
		}
		for _, path := range repo.Paths() {
			for _, h := range repo.Packages[path].Heads() {
				tips = append(tips, tip{repo, path, h})
				fetch.add(repo, path, h)
			}
		}
	}
	fetch.run(ctx, r.Repositories())
	type result struct {
		lock *kptfilev1.GitLock
		err  error
	}
	results, err := Parallel(ctx, r.limit(), tips, func(ctx context.Context, t tip) result {
		lock, err := t.repo.upstreamLock(ctx, t.head.Ref.Commit, t.path)
		if err != nil {
			err = fmt.Errorf("the upstreamLock of %s in Repository %s could not be read: %w", t.head.Ref.Name, t.repo.Name, err)
		}
		return result{lock, err}
	})
	if err != nil {
		return nil, err
	}
	out := map[decide.Place]bool{}
	for _, res := range results {
		if res.err != nil {
			return nil, res.err
		}
		if res.lock != nil {
			out[decide.Place{Git: decide.PlainAddress(res.lock.Repo), Name: strings.Trim(res.lock.Directory, "/")}] = true
		}
	}
	return out, nil
}

// upstreamLock is that of a package, nil where it has none or no Kptfile.
func (r *Repo) upstreamLock(ctx context.Context, commit decide.Hash, path string) (*kptfilev1.GitLock, error) {
	k, err := r.kptfileAt(ctx, commit, path)
	if err != nil || k == nil {
		return nil, err
	}
	return mutate.Lock(k), nil
}

// kptfileAt is the Kptfile of a package at a commit, nil where it has none, or none that
// can be read.
func (r *Repo) kptfileAt(ctx context.Context, commit decide.Hash, path string) (*kptfilev1.KptFile, error) {
	_, pkg, err := r.ReadKptfile(ctx, commit, path)
	if errors.Is(err, ErrNoFolder) {
		return nil, nil
	}
	if err != nil || pkg.Kptfile("") == nil {
		return nil, err
	}
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return nil, nil //nolint:nilerr // what is no Kptfile says nothing
	}
	return k, nil
}

// ReadLocks reads the newest locks of targets: the open ones, or the Published.
func (r *Reader) ReadLocks(ctx context.Context, units []decide.Unit) (decide.Locks, error) {
	set, newest := fetchSet{}, map[decide.Unit]*decide.Revision{}
	for _, u := range units {
		repo := r.repos[repoKey{u.Repo.Namespace, u.Repo.Name}]
		p := repo.Package(u.LockPath())
		if h := p.OpenOrLatest(); h != nil && r.cfg.Manager.Signed(h.Owner, repo.Namespace) {
			newest[u] = h
			set.add(repo, p.Path, h)
		}
	}
	set.run(ctx, r.Repositories())
	out := decide.Locks{}
	var errs []error
	for _, u := range units {
		h := newest[u]
		if h == nil {
			continue
		}
		repo := r.repos[repoKey{u.Repo.Namespace, u.Repo.Name}]
		lock, err := repo.readLock(ctx, h, u.LockPath())
		if err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: %w", h.Ref.Name, repo.Git.URL(), err))
			continue
		}
		out[u] = decide.NewLockGraph(lock)
	}
	return out, errors.Join(errs...)
}

// MadeFor is what a candidate's Kptfile says that it was made for, "" for what
// was asked for by itself.
func (r *Reader) MadeFor(ctx context.Context, c *decide.Candidate) (string, error) {
	repo := r.repos[repoKey{c.Repo.Namespace, c.Repo.Name}]
	_, pkg, err := repo.ReadKptfile(ctx, c.Head.Ref.Commit, c.Package.Path)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", c.Head.Ref.Name, err)
	}
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return "", nil //nolint:nilerr // nobody's dependency; the decision says what is wrong
	}
	owner, _ := mutate.OwnerOf(k)
	return owner.For, nil
}

// OnlyPackage refuses a Draft on which people changed more than the package:
// publishing takes the package alone, and the rest would be lost unseen.
func (r *Repo) OnlyPackage(ctx context.Context, h *decide.Revision, path string) error {
	base := begunAt(h)
	if base.IsZero() || r.onlyAt(base, h, path) {
		return nil
	}
	beside, err := r.Beyond(ctx, gitrepo.Hash(base), gitrepo.Hash(h.Ref.Commit), path)
	if err != nil || len(beside) == 0 {
		return err
	}
	return fmt.Errorf("%s changes %s outside of %s, and publishing takes the package alone: undo that there, or move it to a branch of its own, and approve again",
		h.Ref.Short(), strings.Join(decide.Limit(beside, 5), ", "), path)
}

// begunAt is the commit that people's changes of a Draft began at; zero where there are
// none, or nothing is known to be behind them.
func begunAt(h *decide.Revision) decide.Hash {
	switch {
	case h.Machine == nil || h.Made() || h.Amended() && len(h.Machine.Parents) == 0:
		return decide.Hash{}
	case h.Amended():
		return h.Machine.Parents[0]
	}
	return h.Machine.Commit
}

// onlyAt says that people changed no more of a Draft than the package since base, by what
// is at hand.
func (r *Repo) onlyAt(base decide.Hash, h *decide.Revision, path string) bool {
	tree, known := r.Git.KnownTreeAt(gitrepo.Hash(base), path)
	if !known && base == h.Machine.Commit {
		tree = gitrepo.Hash(h.Machine.Hydrated)
	}
	return r.Git.OnlyAt(gitrepo.Hash(base), gitrepo.Hash(h.Ref.Commit), path, tree)
}

// PlacesOf are what is read of a Draft to publish it: its folder and, where people
// changed it, what leads to that, for what is beside it.
func PlacesOf(h *decide.Revision, path string) []gitrepo.Place {
	out := []gitrepo.Place{{Commit: gitrepo.Hash(h.Ref.Commit), Path: path}}
	if base := begunAt(h); !base.IsZero() {
		out = append(out, ways([]gitrepo.Hash{out[0].Commit}, path)...)
	}
	return out
}

// PlacesBefore are what PlacesOf leaves to be read of a Draft that people changed, once
// that is at hand: what leads to the package where they began, unless nothing is beside it.
func (r *Repo) PlacesBefore(h *decide.Revision, path string) []gitrepo.Place {
	base := begunAt(h)
	if base.IsZero() || r.onlyAt(base, h, path) {
		return nil
	}
	return ways([]gitrepo.Hash{gitrepo.Hash(base)}, path)
}

// ways are what leads to folders in each of some commits.
func ways(commits []gitrepo.Hash, dirs ...string) (out []gitrepo.Place) {
	for _, c := range commits {
		for _, dir := range dirs {
			out = append(out, gitrepo.Place{Commit: c, Path: dir, Way: true})
		}
	}
	return out
}

// Beyond lists what was changed from base to tip outside of folders, but for what was
// merged from the registered branch: that is not lost.
func (r *Repo) Beyond(ctx context.Context, base, tip gitrepo.Hash, dirs ...string) ([]string, error) {
	if err := r.Git.FetchPlaces(ctx, ways([]gitrepo.Hash{base, tip}, dirs...)...); err != nil {
		return nil, err
	}
	beside, err := r.Git.Beside(ctx, base, tip, dirs...)
	if err != nil || len(beside) == 0 {
		return nil, err
	}
	onMain, err := r.onMain(ctx, tip, base)
	if err != nil {
		return nil, err
	}
	if err := r.Git.FetchPlaces(ctx, ways(onMain, dirs...)...); err != nil {
		return nil, err
	}
	for _, main := range onMain {
		missing, err := r.Git.Beside(ctx, main, tip, dirs...)
		if err != nil {
			return nil, err
		}
		beside = slices.DeleteFunc(beside, func(p string) bool { return !slices.Contains(missing, p) })
		if len(beside) == 0 {
			break
		}
	}
	return beside, nil
}

// onMain are the registered branch's tip and, where people merged that branch into a
// Draft since the machine committed, the newest commit of it that they merged.
func (r *Repo) onMain(ctx context.Context, tip, machine gitrepo.Hash) (out []gitrepo.Hash, err error) {
	if r.Head.IsZero() {
		return nil, nil
	}
	head := gitrepo.Hash(r.Head)
	merged := map[gitrepo.Hash]bool{}
	if _, err := r.Git.FindAncestors(ctx, []gitrepo.Hash{tip}, walkLimit, func(_ int, c *gitrepo.Commit) bool {
		if c.Hash == machine {
			return true
		}
		for _, p := range c.Parents {
			merged[p] = true
		}
		return false
	}); err != nil {
		return nil, err
	}
	newest, err := r.Git.FindAncestors(ctx, []gitrepo.Hash{head}, walkLimit, func(_ int, c *gitrepo.Commit) bool { return merged[c.Hash] })
	if err != nil || newest[0] == nil || newest[0].Hash == head {
		return []gitrepo.Hash{head}, err
	}
	return []gitrepo.Hash{head, newest[0].Hash}, nil
}

// FetchHeads brings revisions, and what they are compared with, in one request a repository.
func (r *Reader) FetchHeads(ctx context.Context, list []*decide.Candidate) {
	r.fetchHeads(ctx, list, func(repo *Repo, p *decide.Package) bool { return repo.stands(p.Latest, p.Path) })
}

// FetchShown is FetchHeads for who decides nothing: what the record says was Published is
// not brought where that stands on the registered branch.
func (r *Reader) FetchShown(ctx context.Context, list []*decide.Candidate) {
	of := func(c *decide.Candidate) *Repo { return r.Repo(c.Repo.Namespace, c.Repo.Name) }
	branches := fetchSet{}
	for _, c := range list {
		branches.way(of(c), of(c).Head, c.Package.Path)
	}
	branches.run(ctx, r.Repositories())
	r.fetchHeads(ctx, list, func(repo *Repo, p *decide.Package) bool {
		return repo.stands(p.Latest, p.Path) || repo.standsAsRecorded(ctx, p, p.Latest)
	})
	var look []looked
	for _, c := range list {
		if c.Package.Latest != nil && c.From.Open() {
			look = append(look, looked{of(c), c.Package})
		}
	}
	r.readBranches(ctx, look)
	var heads []placed
	for _, c := range list {
		heads = append(heads, placed{of(c), c.Package.Path, c.Head})
	}
	r.fetchHydrated(ctx, heads)
	r.fetchFirst(ctx, list)
}

// fetchFirst brings the upstreams that first Drafts name, which they are compared with, in
// one request a repository. The Drafts are at hand; of those that were made of one package
// one is looked at.
func (r *Reader) fetchFirst(ctx context.Context, list []*decide.Candidate) {
	type content struct{ namespace, upstream string }
	known := map[content]bool{}
	list = slices.DeleteFunc(slices.Clone(list), func(c *decide.Candidate) bool {
		of := content{c.Namespace, c.Head.Inputs.Upstream}
		other := !c.From.Open() || c.Package.Latest != nil || of.upstream != "" && known[of]
		known[of] = known[of] || !other
		return other
	})
	type from struct {
		namespace string
		lock      kptfilev1.GitLock
	}
	locks, _ := Parallel(ctx, r.limit(), list, func(ctx context.Context, c *decide.Candidate) (out from) {
		repo := r.Repo(c.Repo.Namespace, c.Repo.Name)
		if lock, err := repo.upstreamLock(ctx, c.Head.Ref.Commit, c.Package.Path); err == nil && lock != nil {
			out = from{c.Namespace, *lock}
		}
		return out
	})
	seen := map[from]bool{{}: true} // what names none
	locks = slices.DeleteFunc(locks, func(at from) bool {
		twice := seen[at]
		seen[at] = true
		return twice
	})
	type upstream struct {
		repo   *Repo
		folder string
	}
	named, _ := Parallel(ctx, r.Repositories(), locks, func(ctx context.Context, at from) (up upstream) {
		up.repo, up.folder = r.Locked(ctx, at.namespace, &at.lock, nil)
		return up
	})
	set := fetchSet{}
	for i, up := range named {
		set.place(up.repo, decide.ParseHash(locks[i].lock.Commit), up.folder)
	}
	set.run(ctx, r.Repositories())
}

func (r *Reader) fetchHeads(ctx context.Context, list []*decide.Candidate, stands func(*Repo, *decide.Package) bool) {
	set := fetchSet{}
	for _, c := range list {
		repo := r.repos[repoKey{c.Repo.Namespace, c.Repo.Name}]
		path := c.Package.Path
		set.places(repo, PlacesOf(c.Head, path)...)
		if !stands(repo, c.Package) {
			set.add(repo, path, c.Package.Latest)
		}
		set.branch(repo, path)
	}
	set.run(ctx, r.Repositories())
	before := fetchSet{}
	for _, c := range list {
		repo := r.repos[repoKey{c.Repo.Namespace, c.Repo.Name}]
		before.places(repo, repo.PlacesBefore(c.Head, c.Package.Path)...)
	}
	before.run(ctx, r.Repositories())
}

// ReadDrafts reads what open candidates are as packages that need others; one that
// cannot be read is refused when it is published.
func (r *Reader) ReadDrafts(ctx context.Context, list []*decide.Candidate) {
	r.FetchHeads(ctx, list)
	_, _ = Parallel(ctx, r.limit(), list, func(ctx context.Context, c *decide.Candidate) struct{} {
		if c.From.Open() {
			repo := r.repos[repoKey{c.Repo.Namespace, c.Repo.Name}]
			c.Offer = repo.offerAt(ctx, c.Head.Ref.Commit, c.Package.Path)
		}
		return struct{}{}
	})
}

// ReadStanding reads what the registered branches hold of targets, where the fleet has
// dependencies. What cannot be read is left out.
func (r *Reader) ReadStanding(ctx context.Context, units []decide.Unit) decide.Standing {
	if d := r.cfg.Dependencies; d == nil || len(d.Catalogs) == 0 {
		return nil
	}
	type place struct {
		unit decide.Unit
		ref  string
	}
	var list []place
	heads := fetchSet{}
	paths := decide.PathsIn(units)
	for _, u := range units {
		repo := r.repos[repoKey{u.Repo.Namespace, u.Repo.Name}]
		for _, p := range paths[u] {
			if ref, here := u.Below(p); here && p != u.LockPath() && u.Repo.Package(p).Latest != nil {
				heads.place(repo, repo.Head, repo.Path(path.Join(u.Dir, ref)))
				list = append(list, place{u, ref})
			}
		}
	}
	heads.run(ctx, r.Repositories())
	read, _ := Parallel(ctx, r.limit(), list, func(ctx context.Context, at place) *resolver.Package {
		repo := r.repos[repoKey{at.unit.Repo.Namespace, at.unit.Repo.Name}]
		return repo.offerAt(ctx, repo.Head, repo.Path(path.Join(at.unit.Dir, at.ref)))
	})
	out := decide.Standing{}
	for _, u := range units {
		out[u] = map[string]*resolver.Package{}
	}
	for i, p := range read {
		if p != nil {
			out[list[i].unit][list[i].ref] = p
		}
	}
	return out
}

// offerAt is what a commit has at a path, nil where it has no package there, or none
// that can be read.
func (r *Repo) offerAt(ctx context.Context, commit decide.Hash, at string) *resolver.Package {
	_, pkg, err := r.ReadPackage(ctx, commit, at)
	if err != nil || pkg.Kptfile("") == nil {
		return nil
	}
	o := offerOf(pkg, path.Base(at), commit)
	if o.Err != nil {
		return nil
	}
	return o.Package
}

// stands says that a Published revision is what the registered branch has of its package:
// that is read then, for the root folder of the revision's commit has as many entries as
// the branch has packages.
func (r *Repo) stands(h *decide.Revision, path string) bool {
	if h == nil || h.Number == 0 {
		return false
	}
	published, known := r.Git.KnownTreeAt(gitrepo.Hash(h.Ref.Commit), path)
	there, also := r.Git.KnownTreeAt(gitrepo.Hash(r.Head), path)
	return known && also && there == published && !there.IsZero()
}

// standsAsRecorded says that the registered branch has of a package what a revision
// Published, as recordedTree tells it. Then nothing came there, and that is what the
// revision is read as.
func (r *Repo) standsAsRecorded(ctx context.Context, p *decide.Package, h *decide.Revision) bool {
	if h == nil || h.Number == 0 {
		return false
	}
	published, known := recordedTree(p, h)
	if !known {
		return false
	}
	there, exists, err := r.Git.TreeAt(ctx, gitrepo.Hash(r.Head), p.Path)
	if err != nil || !exists || decide.Hash(there) != published {
		return false
	}
	if r.recordedAt == nil {
		r.recordedAt = map[gitrepo.Place]gitrepo.Hash{}
	}
	r.recordedAt[gitrepo.Place{Commit: gitrepo.Hash(h.Ref.Commit), Path: p.Path}] = there
	return true
}

// FetchStarts brings the revisions that builds start from, in one request a
// repository, what the machine made of those, and what tells the next workspace; and, where
// such a request is made, the newest revisions of packages beside them.
func (r *Reader) FetchStarts(ctx context.Context, questions []*decide.Question, beside ...*decide.Want) {
	set, anew := fetchSet{}, map[*Repo][]string{}
	var starts []placed
	for _, q := range questions {
		repo := r.RepoOf(q.Want)
		if q.From != nil {
			starts = append(starts, placed{repo, q.Package.Path, q.From})
		}
		if latest := q.Package.Latest; latest != nil && latest != q.From && (q.Package.Branch.Moved() || q.Keeps()) { // a Draft follows the branch
			starts = append(starts, placed{repo, q.Package.Path, latest})
		}
		set.branch(repo, q.Package.Path)
		if from := q.From; from == nil || from.Number > 0 || q.Package.Spent(from) {
			anew[repo] = append(anew[repo], q.Package.Path)
		}
		published := q.From
		if from := q.From; from != nil && from.Phase.Open() {
			set.open(repo, q.Package.Path, from)
			published = q.Package.Latest // which a review compares with
		}
		if !repo.stands(published, q.Package.Path) && !repo.standsAsRecorded(ctx, q.Package, published) {
			set.add(repo, q.Package.Path, published)
		}
		for _, c := range repo.wrote(q.Package) {
			set.place(repo, c, q.Package.Path)
		}
	}
	for repo, p := range r.packagesOf(beside) {
		if set[repo.Git] != nil {
			set.made(repo, p, p.OpenOrLatest())
		}
	}
	set.run(ctx, r.Repositories())
	r.fetchWorkspaces(ctx, anew)
	r.fetchHydrated(ctx, starts)
}

// SettingBack is a question about a package that is set back to a revision.
type SettingBack struct {
	*decide.Question
	To *decide.Revision
}

// FetchRevertStarts is FetchStarts for packages that are set back.
func (r *Reader) FetchRevertStarts(ctx context.Context, list []SettingBack) {
	var questions []*decide.Question
	var reverted []placed
	for _, b := range list {
		questions = append(questions, b.Question)
		reverted = append(reverted, placed{r.RepoOf(b.Want), b.Package.Path, b.To})
	}
	r.FetchStarts(ctx, questions)
	r.fetchHydrated(ctx, reverted)
}
