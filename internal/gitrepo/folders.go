package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/variform/variform/internal/wire"
)

// part has commits of which a filter left something out: it must not get among the
// objects, which are whole.
type part struct {
	objectSource
	asked map[Hash]struct{} // commits, here or not; Repo.fetching is held
	depth uint64            // of the folders that are in it, 1 is the root; 0 is all, without files
}

func (p *part) filter() packp.Filter {
	if p.depth > 0 {
		return packp.FilterTreeDepth(p.depth)
	}
	return packp.FilterBlobNone()
}

func newPart(from objectSource, depth uint64) *part { return &part{from, map[Hash]struct{}{}, depth} }

// treesOf is where a tree is read from.
func (r *Repo) treesOf(h Hash) objectSource {
	if r.local == nil && !r.objects.has(h) {
		for _, p := range []*part{r.outline, r.ways} {
			if p.has(h) {
				return p
			}
		}
	}
	return r.objects
}

// fetchPart brings what is in a part of commits.
func (r *Repo) fetchPart(ctx context.Context, p *part, commits []Hash) error {
	return r.fetchPartWithin(ctx, p, commits, math.MaxInt64)
}

// fetchPartWithin is fetchPart where the pack has so many bytes at most, and ErrLimit otherwise.
func (r *Repo) fetchPartWithin(ctx context.Context, p *part, commits []Hash, most int64) error {
	for _, h := range commits {
		p.asked[h] = struct{}{}
	}
	sink, finish := r.packSink(p.objectSource)
	keep := func(pack io.Reader) error {
		return sink(&limitedReader{r: pack, left: most, what: "what leads to packages is"})
	}
	if err := r.upload(ctx, request{wants: commits, depth: 1, filter: p.filter()}, keep); err != nil {
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	if err := r.readFrom(p, r.missingCommits(commits)); err != nil {
		return err
	}
	if i := slices.IndexFunc(commits, func(h Hash) bool { return !r.hasRoot(p, h) }); i >= 0 {
		return errKind(ErrMissingObject, "the server did not send %s", commits[i])
	}
	return nil
}

// hasRoot says that a part has a commit's root folder.
func (r *Repo) hasRoot(p *part, commit Hash) bool {
	c := r.commits.get(commit)
	return c != nil && p != nil && p.has(c.Tree)
}

// renewPart is renew for a part.
func (r *Repo) renewPart(p *part) error {
	if !r.fetching.TryLock() {
		return errors.New("it is being fetched")
	}
	defer r.fetching.Unlock()
	asked := slices.DeleteFunc(sorted(slices.Collect(maps.Keys(p.asked))), func(h Hash) bool { return r.hasRoot(p, h) })
	if len(asked) == 0 {
		return nil
	}
	if err := r.fetchPart(context.Background(), p, asked); err != nil { // bounded by its Budget
		return fmt.Errorf("fetching folders from %s: %w", r.URL(), err)
	}
	return nil
}

// FetchOutline makes the folders of these commits readable, not their files: nothing
// to do for a local repository, one request for all that is missing otherwise. A
// server that leaves nothing out sends the files, too.
func (r *Repo) FetchOutline(ctx context.Context, commits ...Hash) error {
	if r.local != nil || !r.capabilities().Supports(capability.Filter) {
		return r.Fetch(ctx, commits...)
	}
	r.fetching.Lock()
	defer r.fetching.Unlock()
	missing, err := r.incomplete(commits)
	for _, h := range missing {
		r.outline.asked[h] = struct{}{}
	}
	missing = slices.DeleteFunc(missing, r.Outlined)
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := r.fetchPart(ctx, r.outline, missing); err != nil {
		return fmt.Errorf("fetching folders from %s: %w", r.URL(), err)
	}
	return nil
}

// Outlined reports whether a commit's folders are at hand without its files.
func (r *Repo) Outlined(commit Hash) bool { return r.hasRoot(r.outline, commit) }

// leads says that the folders on the way to a place are at hand.
func (r *Repo) leads(p Place) bool {
	c := r.commits.get(p.Commit)
	if c == nil {
		return false
	}
	segs := splitPath(p.Path)
	if len(segs) == 0 || r.objects.has(c.Tree) || r.Outlined(p.Commit) {
		return true
	}
	for h, i := c.Tree, 0; r.treesOf(h).has(h); i++ {
		if i == len(segs)-1 {
			return true
		}
		t, err := r.parsedTree(h)
		if err != nil {
			return false
		}
		e := t.dir(segs[i])
		if e == nil {
			return true // as far as there is one
		}
		h = e.hash
	}
	return false
}

// A whole commit of a repository with many packages costs all of them, and is not asked
// for to read few. What leads to packages is asked for at few commits, for a server counts
// the entries of each folder that it stops at, and folders by themselves where they are few
// of one commit, so many times fewer than there are packages.
const (
	manyPackages = 100
	fewCommits   = 16
	fewFolders   = 4
)

// Many says that a repository has many packages.
func (r *Repo) Many() bool { return len(r.Index("").Packages()) >= manyPackages }

// fetchWays brings what leads to places, and tells the trees of those that are to be
// read, where that spares whole commits.
func (r *Repo) fetchWays(ctx context.Context, places []Place) error {
	commits, err := r.waysTo(places)
	if err != nil {
		return err
	}
	if len(commits) > 0 {
		err = r.fetchPart(ctx, r.ways, commits)
	}
	switch {
	case err == nil:
	case isFinal(ctx, err):
		return err
	case isMissing(err), isAuth(err), errors.Is(err, ErrAuth): // the whole commits say it better
		return nil
	default:
		r.without(byDepth, err)
		return nil
	}
	many := r.Many()
	for _, p := range places {
		if _, known := r.treeOf(p); !known && (p.Way || many) && r.leads(p) {
			if _, _, err := r.TreeAt(ctx, p.Commit, p.Path); err != nil && !errors.Is(err, ErrMissingObject) { // what is damaged in the cache is absent
				return err
			}
		}
	}
	return nil
}

// Commits bring with them, though nobody asked for it yet, as many entries of packages, of 35
// bytes and a name before they are compressed, and with all that is beside these as many bytes.
const (
	rootEntries = 4096
	rootBytes   = 256 << 10
)

// fetchRoots brings commits with what leads to packages, where that is little: what stands on
// a branch is compared next, which is a request of its own otherwise. It is not done where it
// would be much, or a server does not give out that.
func (r *Repo) fetchRoots(ctx context.Context, commits []Hash) (done bool, err error) {
	packages := r.Index("").Packages()
	depth := max(r.longestPath(), int(min(r.ways.depth, 3)))
	// Of a single package all comes along.
	if len(packages) < 2 || len(packages)*len(commits) > rootEntries || depth > 2 || r.largeRoots || r.lacks(byDepth) {
		return false, nil
	}
	r.ways.depth = uint64(depth)
	err = r.fetchPartWithin(ctx, r.ways, commits, rootBytes)
	switch {
	case errors.Is(err, ErrLimit):
		r.largeRoots = true
		for _, h := range commits {
			delete(r.ways.asked, h)
		}
		return false, nil
	case isMissing(err) && len(r.missingCommits(commits)) == 0: // its filter is another
		r.without(byDepth, err)
		return true, nil
	}
	if err == nil || isFinal(ctx, err) || isMissing(err) || isAuth(err) || errors.Is(err, ErrAuth) || errors.Is(err, ErrNoRepository) || isTemporary(err) {
		return true, err
	}
	r.without(byDepth, err)
	return false, nil
}

// longestPath is how many folders lead to a package, at least one.
func (r *Repo) longestPath() (n int) {
	n = 1
	for _, path := range r.Index("").Packages() {
		n = max(n, len(splitPath(path)))
	}
	return n
}

// waysTo are the commits of which fetchWays asks for less than all.
func (r *Repo) waysTo(places []Place) ([]Hash, error) {
	if !r.Many() || !r.capabilities().Supports(capability.Filter) || r.lacks(byDepth) {
		return nil, nil
	}
	whole := r.wholes(places)
	var commits []Hash
	for _, p := range places {
		if _, known := r.treeOf(p); whole[p.Commit] || p.Path == "" || known && !p.Way {
			continue
		}
		if leads := r.leads(p); leads && !r.hasRoot(r.ways, p.Commit) {
			continue // by all of it
		} else if leads {
			r.ways.asked[p.Commit] = struct{}{}
		} else {
			commits = append(commits, p.Commit)
		}
		r.ways.depth = max(r.ways.depth, uint64(len(splitPath(p.Path))))
	}
	commits, err := r.incomplete(sorted(commits))
	if len(commits) > fewCommits {
		return nil, err
	}
	return commits, err
}

// wholes are the commits that are asked for whole: somebody wants all of one, or about all
// that is in it, or the server gives out nothing less; and what leads to packages is where
// about all folders are asked for anyway, in one request with these. Of what is asked for by
// its tree nothing has to lead there.
func (r *Repo) wholes(places []Place) map[Hash]bool {
	apart, many, packages := r.givesAny(), r.Many(), len(r.Index("").Packages())
	whole, wanted, all := map[Hash]bool{}, map[Hash]int{}, 0
	for _, p := range places {
		if p.Way || r.holds(p) {
			continue
		}
		if wanted[p.Commit]++; p.Tree.IsZero() || !apart {
			all++
		}
		if p.Path == "" || !apart || many && wanted[p.Commit]*fewFolders > packages {
			whole[p.Commit] = true
		}
	}
	for _, p := range places {
		if p.Way && many && all*fewFolders > packages {
			whole[p.Commit] = true
		}
	}
	return whole
}

// holds says that what stands at a place is known and here.
func (r *Repo) holds(p Place) bool {
	tree, known := r.treeOf(p)
	return known && (tree.IsZero() || r.objects.has(tree))
}

// A server may not answer what is asked by one of these: this Store does not try it again.
const (
	byV2    = "Git's protocol v2"
	byDepth = "their depth"
)

// lack is what a server cannot be asked by.
type lack struct {
	server wire.Origin
	by     string
}

func (r *Repo) lacks(by string) bool {
	_, is := r.store.lacks.Load(lack{wire.OriginOf(r.loc.url()), by})
	return is
}

func (r *Repo) without(by string, why error) {
	r.store.lacks.Store(lack{wire.OriginOf(r.loc.url()), by}, true)
	r.store.opts.Log("%s does not give out what it is asked for by %s: %v", r.URL(), by, why)
}

// isFinal says of a failed request that to ask in another way would not help.
func isFinal(ctx context.Context, err error) bool {
	var disk *fs.PathError
	return ctx.Err() != nil || errors.Is(err, ErrLimit) || wire.IsSlow(err) || wire.IsRateLimited(err) || errors.As(err, &disk)
}

// readRaw reads a tree's bytes.
func (r *Repo) readRaw(tree Hash) ([]byte, error) {
	typ, raw, err := r.treesOf(tree).read(tree, 0)
	if err == nil && typ != plumbing.TreeObject {
		err = errKind(ErrMissingObject, "the Git object %s is a %s, not a tree", tree, typ)
	}
	return raw, err
}
