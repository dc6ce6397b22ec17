package gitrepo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Place is a folder of a commit; a Path of "" is all of it.
type Place struct {
	Commit Hash
	Path   string
	// Way asks for no more than the folders that lead to Path, of which the tree there is
	// known then, and upon which another can be put in its place.
	Way bool
	// Tree is what stands there where who asks knows it by other means, zero where the
	// commit is to tell.
	Tree Hash
}

// Fetch makes the whole trees of these commits readable: nothing to do for a
// local repository, one request for all that is missing otherwise.
func (r *Repo) Fetch(ctx context.Context, commits ...Hash) error {
	places := make([]Place, len(commits))
	for i, h := range commits {
		places[i].Commit = h
	}
	return r.FetchPlaces(ctx, places...)
}

// FetchPlaces is Fetch for who reads no more than these folders. Whose tree is known
// (KnownTreeAt) comes by itself where the server gives that out, with its commit
// otherwise. Beside many packages what leads to a few is asked for first.
func (r *Repo) FetchPlaces(ctx context.Context, places ...Place) error {
	if r.local != nil {
		commits := make([]Hash, len(places))
		for i, p := range places {
			commits[i] = p.Commit
		}
		_, err := r.Commits(ctx, r.commits.unseen(commits)...)
		return err
	}
	r.fetching.Lock()
	defer r.fetching.Unlock()
	r.ask(places)
	return r.fetchPlaces(ctx, places)
}

// ask notes what is asked for. A set of these would take some times as much.
func (r *Repo) ask(places []Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked = append(r.asked, places...); len(r.asked) > r.askedTo {
		r.asked = eachOnce(r.asked)
		r.askedTo = 2*len(r.asked) + 64
	}
}

// eachOnce drops what comes again.
func eachOnce(places []Place) []Place {
	seen := make(map[Place]bool, len(places))
	return slices.DeleteFunc(places, func(p Place) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
}

// fetchPlaces is FetchPlaces of a remote repository with the lock held.
func (r *Repo) fetchPlaces(ctx context.Context, places []Place) error {
	if err := r.fetchWays(ctx, places); err != nil {
		return fmt.Errorf("fetching from %s: %w", r.URL(), err)
	}
	commits, folders, err := r.absent(places)
	if err == nil && len(folders) > 0 {
		if err = r.fetchAny(ctx, sorted(commits), sorted(slices.Collect(maps.Values(folders)))); err == nil {
			if commits, folders, err = r.absent(places); len(folders) > 0 {
				r.without(byV2, errors.New("it did not send what was asked for"))
			}
		} else if isMissing(err) || isAuth(err) || errors.Is(err, ErrAuth) { // by itself
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("fetching from %s: %w", r.URL(), err)
	}
	for p := range folders {
		commits = append(commits, p.Commit)
	}
	if len(commits) == 0 {
		return nil
	}
	if err := r.fetchTrees(ctx, sorted(commits), 1); err != nil {
		return fmt.Errorf("fetching from %s: %w", r.URL(), err)
	}
	if still, err := r.incomplete(commits); err != nil || len(still) > 0 {
		return errors.Join(err, errKind(ErrMissingObject, "fetching from %s: the server did not send %v", r.URL(), still))
	}
	return nil
}

// absent lists the commits that are not whole and the folders that are not at hand, with
// their trees, where these are known and may be asked for.
func (r *Repo) absent(places []Place) (commits []Hash, folders map[Place]Hash, err error) {
	// What is committed upon a repository's only package, once it is approved, is upon the
	// very root folder that its Draft has: it comes along.
	apart := r.givesAny() && len(r.Index("").Packages()) > 1
	whole := r.wholes(places)
	folders = map[Place]Hash{}
	for _, p := range places {
		tree, known := r.treeOf(p)
		switch {
		case p.Way && r.leads(p), !p.Way && r.holds(p):
		case !p.Way && known && apart && !whole[p.Commit]:
			folders[p] = tree
		default:
			commits = append(commits, p.Commit)
		}
	}
	commits, err = r.incomplete(sorted(commits))
	return commits, folders, err
}

// treeOf is what stands at a place, as far as that is known without a request.
func (r *Repo) treeOf(p Place) (tree Hash, known bool) {
	switch {
	case p.Path == "":
		return Hash{}, false
	case !p.Tree.IsZero():
		return p.Tree, true
	case r.commits.get(p.Commit) == nil && !r.objects.has(p.Commit):
		return Hash{}, false
	}
	return r.KnownTreeAt(p.Commit, p.Path)
}

// sorted are hashes in order, each once.
func sorted(list []Hash) []Hash {
	slices.SortFunc(list, func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(list)
}

// renew fetches again what this run has asked for and the cache no longer has. What
// is read while a fetch goes on is asked for by that.
func (r *Repo) renew() error {
	r.store.opts.Warn("the cache of %s was damaged, and is fetched again", r.URL())
	if !r.fetching.TryLock() {
		return errors.New("it is being fetched")
	}
	defer r.fetching.Unlock()
	r.mu.Lock()
	asked := eachOnce(slices.Clone(r.asked))
	r.mu.Unlock()
	return r.fetchPlaces(context.Background(), asked) // bounded by its Budget
}

// incomplete lists the commits whose trees are not at hand. Trees come only in
// whole packs, so a root tree that is here has all below it here too.
func (r *Repo) incomplete(commits []Hash) ([]Hash, error) {
	var stored, missing []Hash
	for _, h := range commits {
		if r.commits.get(h) == nil && r.objects.has(h) {
			stored = append(stored, h)
		}
	}
	if err := r.readStored(stored); err != nil {
		return nil, err
	}
	for _, h := range commits {
		if h.IsZero() {
			continue
		}
		if c := r.commits.get(h); c == nil || !r.objects.has(c.Tree) {
			missing = append(missing, h)
		}
	}
	return missing, nil
}

func (r *Repo) capabilities() *capability.List {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.caps == nil {
		return capability.NewList()
	}
	return r.caps
}

// fetchCommits reads commits into the commit cache.
func (r *Repo) fetchCommits(ctx context.Context, wants []Hash, depth int) error {
	if depth == 1 {
		if done, err := r.fetchWithBranch(ctx, wants); done {
			return err
		}
	}
	return r.fetchCommitsAlone(ctx, wants, depth)
}

func (r *Repo) fetchCommitsAlone(ctx context.Context, wants []Hash, depth int) error {
	if !r.capabilities().Supports(capability.Filter) || r.wholeCommits {
		if err := r.fetchTrees(ctx, wants, depth); err != nil {
			return err
		}
		return r.readStored(wants)
	}
	if depth == 1 {
		if done, err := r.fetchRoots(ctx, wants); done {
			return err
		}
	}
	store := memory.NewStorage()
	err := r.upload(ctx, request{wants: wants, depth: depth, filter: packp.FilterTreeDepth(0)}, func(pack io.Reader) error {
		return packfile.UpdateObjectStorage(store, pack)
	})
	if err != nil && !isFinal(ctx, err) && refusesFilter(err) {
		r.store.opts.Log("%s is asked for whole commits: %v", r.URL(), err)
		r.wholeCommits = true // it alone: others of the server may be set up otherwise
		return r.fetchCommitsAlone(ctx, wants, depth)
	}
	if err != nil {
		return err
	}
	return r.addCommits(store)
}

// refusesFilter says that a server leaves nothing out by this: an administrator may allow some
// filters alone (uploadpackfilter of git-config).
func refusesFilter(err error) bool {
	return strings.Contains(err.Error(), "filter 'tree'") || strings.Contains(err.Error(), "tree filter")
}

func (r *Repo) addCommits(store *memory.Storage) error {
	raws := make(map[Hash][]byte, len(store.Commits))
	for h, o := range store.Commits {
		data, err := readObject(o)
		if err != nil {
			return err
		}
		raws[h] = data
	}
	return r.commits.add(raws, unmade)
}

func readObject(o plumbing.EncodedObject) ([]byte, error) {
	rd, err := o.Reader()
	if err != nil {
		return nil, err
	}
	defer rd.Close()
	return io.ReadAll(rd)
}

// fetchTrees reads commits with all below them into the object store.
func (r *Repo) fetchTrees(ctx context.Context, wants []Hash, depth int) error {
	keep, finish := r.packSink(r.objects)
	if err := r.upload(ctx, request{wants: wants, depth: depth}, keep); err != nil {
		return err
	}
	return finish()
}

// packSink says where a pack goes: a file of the cache, or memory.
func (r *Repo) packSink(to objectSource) (keep func(io.Reader) error, finish func() error) {
	if mem, ok := to.(*memorySource); ok {
		store := memory.NewStorage()
		keep = func(pack io.Reader) error { return packfile.UpdateObjectStorage(store, pack) }
		return keep, func() error {
			mem.add(store)
			return r.addCommits(store)
		}
	}
	dir := to.(*objectDir)
	return func(pack io.Reader) error { return r.keepPack(dir, pack) }, func() error {
		dir.rescan()
		return nil
	}
}

const (
	packFolder = "objects/pack"
	incoming   = "incoming-" // folders of packs that are on their way
)

// keepPack writes a pack and its index to a folder of its own and moves them
// into the cache when they are whole, the index last: a process that dies, or
// another that looks at that moment, leaves and finds no half of one. What is
// damaged there is replaced.
func (r *Repo) keepPack(to *objectDir, pack io.Reader) error {
	tmp, err := os.MkdirTemp(r.cacheDir, incoming)
	if err != nil {
		return fmt.Errorf("writing the cache: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // trimCache does it otherwise
	store := filesystem.NewStorage(osfs.New(tmp), cache.NewObjectLRUDefault())
	if err := packfile.UpdateObjectStorage(store, pack); err != nil {
		return err
	}
	for _, ext := range []string{".pack", ".idx"} {
		names, err := filepath.Glob(filepath.Join(globEscape(tmp), packFolder, "*"+ext))
		for _, name := range names {
			err = errors.Join(err, os.Rename(name, filepath.Join(to.path, filepath.Base(packFolder), filepath.Base(name))))
		}
		if err != nil {
			return fmt.Errorf("writing the cache: %w", err)
		}
	}
	return nil
}

// upload asks for wants and hands the pack to keep. What a server gives out only
// along with the ref that leads to it, it is asked for by that ref.
func (r *Repo) upload(ctx context.Context, q request, keep func(io.Reader) error) error {
	err := r.uploadOnce(ctx, q, keep)
	if !isMissing(err) {
		return err
	}
	tips, steps := r.leadingTo(q.wants)
	if len(tips) == 0 {
		return err
	}
	if q.wants = tips; q.depth > 0 {
		q.depth += steps
	}
	return r.uploadOnce(ctx, q, keep)
}

// leadingTo finds, by the refs and commits that are known, what refs name that
// leads to all of wants, and within how many steps. There is nothing where refs
// name the wants themselves, or where one of them cannot be found.
func (r *Repo) leadingTo(wants []Hash) (tips []Hash, steps int) {
	left, seen := map[Hash]bool{}, map[Hash]bool{}
	for _, h := range wants {
		left[h] = true
	}
	type reached struct{ commit, tip Hash }
	var level []reached
	for _, ref := range r.Refs().All() {
		level = append(level, reached{ref.Commit, ref.Hash})
	}
	for ; ; steps++ {
		var next []reached
		for _, at := range level {
			if seen[at.commit] {
				continue
			}
			seen[at.commit] = true
			if left[at.commit] {
				delete(left, at.commit)
				if !slices.Contains(tips, at.tip) {
					tips = append(tips, at.tip)
				}
			}
			if c := r.commits.get(at.commit); c != nil {
				for _, p := range c.Parents {
					next = append(next, reached{p, at.tip})
				}
			}
		}
		if len(left) == 0 || len(next) == 0 {
			break
		}
		level = next
	}
	named := !slices.ContainsFunc(tips, func(h Hash) bool { return !slices.Contains(wants, h) })
	if len(left) > 0 || steps == 0 && named {
		return nil, 0
	}
	return tips, steps
}

// uploadOnce hands the pack of what is asked for to keep, which knows what deltas may be
// upon: by v2 where the server has that. It calls keep again where it asks again.
func (r *Repo) uploadOnce(ctx context.Context, q request, keep func(io.Reader) error) error {
	if r.mayTryV2() {
		if answered, err := r.fetchV2(ctx, q, keep); answered {
			return err
		}
	}
	if q.any && !r.offersAny() {
		return errKind(ErrMissingObject, "%s gives out nothing but what refs lead to", r.URL())
	}
	return r.retryRead(ctx, func() error {
		return r.withSession(ctx, false, func(ctx context.Context, s transport.Session) error {
			req := r.uploadRequest(q)
			resp, err := s.(transport.UploadPackSession).UploadPack(ctx, req)
			if err != nil {
				return notOurRef(err, q.wants)
			}
			defer func() { _ = resp.Close() }()
			pack := io.Reader(resp)
			switch {
			case req.Capabilities.Supports(capability.Sideband64k):
				pack = sideband.NewDemuxer(sideband.Sideband64k, resp)
			case req.Capabilities.Supports(capability.Sideband):
				pack = sideband.NewDemuxer(sideband.Sideband, resp)
			}
			if watch, ok := ctx.Value(streamKey{}).(func(io.Reader) io.Reader); ok {
				pack = watch(pack)
			}
			return notOurRef(r.keepLimited(pack, keep), q.wants)
		})
	})
}

// keepLimited hands a pack to keep, and reads to its end, so that the connection can be
// used again.
func (r *Repo) keepLimited(pack io.Reader, keep func(io.Reader) error) error {
	limited := &limitedReader{r: pack, left: r.store.opts.Limits.FetchBytes, what: "the pack that the server sends is"}
	if err := keep(limited); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, limited)
	return err
}

// Azure DevOps answers no request without multi_ack, which go-git leaves out of what
// servers offer unless told otherwise. Requests end with "done", so the answers to both
// forms are lines of ACK and NAK, and go-git reads those.
func init() { transport.UnsupportedCapabilities = []capability.Capability{capability.ThinPack} }

func (r *Repo) uploadRequest(q request) *packp.UploadPackRequest {
	caps := r.capabilities()
	req := packp.NewUploadPackRequestFromCapabilities(caps)
	req.Wants = append([]plumbing.Hash(nil), q.wants...)
	if caps.Supports(capability.NoProgress) {
		_ = req.Capabilities.Set(capability.NoProgress)
	}
	if q.depth > 0 && caps.Supports(capability.Shallow) {
		req.Depth = packp.DepthCommits(q.depth)
		_ = req.Capabilities.Set(capability.Shallow)
	}
	if q.filter != "" {
		req.Filter = q.filter
		_ = req.Capabilities.Set(capability.Filter)
	}
	if len(q.haves) > 0 {
		req.Haves = append([]plumbing.Hash(nil), q.haves...)
	}
	// Of a commit without its parents, as depth makes it, git leaves out what another one
	// holds for who takes deltas upon that, and for nobody else. go-git does not tell whether
	// a server has this; all that take filters do.
	if q.alone && caps.Supports(capability.Filter) {
		_ = req.Capabilities.Set(capability.ThinPack)
	}
	if q.alone && caps.Supports(capability.Shallow) {
		_ = req.Capabilities.Set(capability.Shallow)
		req.Shallows = append([]plumbing.Hash(nil), q.haves...)
	}
	return req
}

// notOurRef recognises a server that does not give out a commit.
func notOurRef(err error, wants []Hash) error {
	if err == nil || isAuth(err) || isTemporary(err) {
		return err
	}
	if text := err.Error(); containsAny(text, "not our ref", "upload-pack: not our", "unadvertised object", "empty git-upload-pack", "no such remote ref") {
		return errKind(ErrMissingObject, "the server does not give out one of the %d objects asked for (%s…): it was moved or deleted since the refs were read, or no branch or tag leads to it", len(wants), wants[0].String()[:12])
	}
	return err
}

// limitedReader fails, where io.LimitReader ends, at its bound.
type limitedReader struct {
	r    io.Reader
	left int64
	what string
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errKind(ErrLimit, "%s larger than the limit", l.what)
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.r.Read(p)
	l.left -= int64(n)
	return n, err
}

// memorySource keeps fetched objects in memory.
type memorySource struct {
	mu     sync.RWMutex
	stores []*memory.Storage
}

func newMemorySource() *memorySource { return &memorySource{} }

func (m *memorySource) add(s *memory.Storage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stores = append(m.stores, s)
}

func (m *memorySource) find(h Hash) plumbing.EncodedObject {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, s := range m.stores {
		if o, ok := s.Objects[h]; ok {
			return o
		}
	}
	return nil
}

func (m *memorySource) has(h Hash) bool { return m.find(h) != nil }

func (m *memorySource) read(h Hash, limit int64) (plumbing.ObjectType, []byte, error) {
	o := m.find(h)
	if o == nil {
		return 0, nil, errKind(ErrMissingObject, "the Git object %s was not fetched", h)
	}
	if limit > 0 && o.Size() > limit {
		return o.Type(), nil, errKind(ErrLimit, "the Git object %s has %d bytes, more than %d", h, o.Size(), limit)
	}
	data, err := readObject(o)
	return o.Type(), data, err
}
