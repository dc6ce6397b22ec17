package gitrepo

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/wire"
)

// Repo is one Git repository. Safe for concurrent use.
type Repo struct {
	store    *Store
	loc      *location
	local    *gitDirs // nil for a remote repository
	cacheDir string
	objects  objectSource
	// outline has folders without their files, ways the folders that lead to some. They are
	// nil for a local repository.
	outline, ways *part
	commits       *commitCache

	logins logins

	mu       sync.Mutex
	refs     *Refs
	caps     *capability.List // of git-upload-pack; shared: read only
	endpoint transport.Endpoint
	asked    []Place // what was fetched, or was there; some twice
	askedTo  int     // as many are brought down to each once
	slow     error   // a server that is not HTTP's kept this run waiting: it is not asked again

	failing  atomic.Int32 // reads in a row that failed after all their attempts
	fetching sync.Mutex   // one fetch at a time: the second then finds its objects
	// largeRoots and wholeCommits say what it is not asked for: folders along with commits, and
	// commits without. fetching is held.
	largeRoots, wholeCommits bool

	treesMu sync.Mutex
	trees   map[Hash]*parsedTree
	// treesKept is how many entries trees have.
	treesKept int

	records recordStates

	knownMu sync.Mutex
	known   map[Hash]struct{} // objects that the server has
}

// close closes the files that were read from.
func (r *Repo) close() {
	r.commits.close()
	sources := []objectSource{r.objects}
	if r.local == nil {
		sources = append(sources, r.outline.objectSource, r.ways.objectSource)
	}
	for _, from := range sources {
		if d, ok := from.(*objectDir); ok {
			d.close()
		}
	}
}

// URL is the address as the user first wrote it, without userinfo secrets.
func (r *Repo) URL() string { return r.loc.display }

// Key is that of the address: one text for all its spellings.
func (r *Repo) Key() string { return r.loc.key }

// Refs is the newest snapshot of branches and tags; it does no I/O.
func (r *Repo) Refs() *Refs {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refs
}

// Index lists the package revisions below directory ("" is all), once per
// snapshot of the refs.
func (r *Repo) Index(directory string) *Index { return r.Refs().indexOf(directory) }

// movesFor is how often refs are read again while a revision seems to be on its way,
// half a second in all.
const movesFor = 3

// Refresh reads the refs again.
func (r *Repo) Refresh(ctx context.Context) error {
	refs, err := r.readRefs(ctx)
	for again := 0; err == nil && again < movesFor && refs.moving(); again++ {
		if err = wire.Sleep(ctx, 25*time.Millisecond<<(2*again)); err == nil {
			refs, err = r.readRefs(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("reading the refs of %s: %w", r.URL(), err)
	}
	if refs.Len() == 0 && r.hadRefs() {
		return fmt.Errorf("reading the refs of %s: %w", r.URL(), errKind(ErrDoubtful, "the server says that the repository has no branch and no tag, and it had some when it was last read: that is not believed, for all in it would be made anew; if it was emptied on purpose, remove %s", cmp.Or(r.cacheDir, "nothing and run again")))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refs = refs
	return nil
}

// hadRefs says that a remote repository was not empty: when this run read it
// before, or when another did that left its commits in the cache.
func (r *Repo) hadRefs() bool {
	if r.local != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refs != nil && r.refs.Len() > 0 || r.refs == nil && r.commits.len() > 0
}

func (r *Repo) readRefs(ctx context.Context) (*Refs, error) {
	if r.local != nil && !r.local.reftable {
		return r.local.readRefs(r.objects, r.store.opts.Log)
	}
	var refs *Refs
	err := r.retryRead(ctx, func() error {
		adv, err := r.advertised(ctx)
		if err != nil {
			return err
		}
		refs = refsFrom(adv)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.caps = r.store.sharedCaps(adv.Capabilities)
		return nil
	})
	return refs, err
}

// advertised reads what git-upload-pack says at first; an empty repository is
// an empty answer.
func (r *Repo) advertised(ctx context.Context) (*packp.AdvRefs, error) {
	var adv *packp.AdvRefs
	err := r.withSession(ctx, false, func(ctx context.Context, s transport.Session) error {
		var err error
		adv, err = s.AdvertisedReferencesContext(ctx)
		if isEmptyRemote(err) {
			adv, err = packp.NewAdvRefs(), nil
		}
		return err
	})
	return adv, err
}

func refsFrom(adv *packp.AdvRefs) *Refs {
	list := make([]Ref, 0, len(adv.References))
	for name, h := range adv.References {
		if !isOurs(name) {
			continue
		}
		ref := Ref{Name: name, Hash: h, Commit: h}
		if p, ok := adv.Peeled[name]; ok {
			ref.Commit = p
		}
		list = append(list, ref)
	}
	return newRefs(list, advertisedHead(adv))
}

func advertisedHead(adv *packp.AdvRefs) string {
	for _, v := range adv.Capabilities.Get(capability.SymRef) {
		if len(v) > 5 && v[:5] == "HEAD:" {
			return v[5:]
		}
	}
	return ""
}

// Commits reads commits' metadata, in the order asked. What the cache does not
// have is read from a local repository's objects, or asked of the server in one
// request: without trees where the server allows it, with them otherwise. Only
// commits that refs name can be asked of most servers (ErrMissingObject).
func (r *Repo) Commits(ctx context.Context, hashes ...Hash) ([]*Commit, error) {
	if err := r.needCommits(ctx, hashes, 1); err != nil {
		return nil, fmt.Errorf("reading commits of %s: %w", r.URL(), err)
	}
	out := r.commits.take(hashes...)
	for i, c := range out {
		if c == nil {
			return nil, errKind(ErrMissingObject, "reading commits of %s: the server did not send %s", r.URL(), hashes[i])
		}
	}
	return out, nil
}

// LetGo drops the commits from memory that were read from the cache's file; who asks for
// one again makes it be read again.
func (r *Repo) LetGo() { r.commits.letGo() }

func (r *Repo) missingCommits(hashes []Hash) []Hash {
	there := r.commits.take(hashes...)
	var missing []Hash
	seen := map[Hash]bool{}
	for i, h := range hashes {
		if !h.IsZero() && !seen[h] && there[i] == nil {
			seen[h] = true
			missing = append(missing, h)
		}
	}
	return missing
}

func (r *Repo) needCommits(ctx context.Context, hashes []Hash, depth int) error {
	missing := r.missingCommits(hashes)
	if len(missing) == 0 {
		return nil
	}
	if err := r.readStored(missing); err != nil {
		return err
	}
	if missing = r.missingCommits(missing); len(missing) == 0 {
		return nil
	}
	if r.local != nil {
		return errKind(ErrMissingObject, "the repository has no commit %s", missing[0])
	}
	r.fetching.Lock()
	defer r.fetching.Unlock()
	if missing = r.missingCommits(missing); len(missing) == 0 {
		return nil
	}
	return r.fetchCommits(ctx, missing, depth)
}

// readStored takes commits from the objects at hand into the cache.
func (r *Repo) readStored(hashes []Hash) error { return r.readFrom(r.objects, hashes) }

func (r *Repo) readFrom(from objectSource, hashes []Hash) error {
	var mu sync.Mutex
	raws := make(map[Hash][]byte, len(hashes))
	err := cores.Each(context.Background(), 0, len(hashes), func(i int) error {
		h := hashes[i]
		if r.local == nil && !from.has(h) {
			return nil
		}
		typ, data, err := from.read(h, 0)
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if typ != plumbing.CommitObject {
			return errKind(ErrMissingObject, "the Git object %s is a %s, not a commit", h, typ)
		}
		mu.Lock()
		raws[h] = data
		mu.Unlock()
		return nil
	})
	if err != nil {
		return err
	}
	return r.commits.add(raws, unmade)
}

// FindAncestors finds, for each tip, the nearest commit that match accepts: the
// tip itself or one of its first parents, at most limit steps away; nil where
// there is none. History is read as far as needed and no further.
func (r *Repo) FindAncestors(ctx context.Context, tips []Hash, limit int, match func(tip int, c *Commit) bool) ([]*Commit, error) {
	found := make([]*Commit, len(tips))
	for depth := 1; ; depth *= 8 {
		var open []Hash
		known := 0 // as far as history is known, a request for less brings nothing
		for i, tip := range tips {
			var whole bool
			n := 0
			if found[i], whole = r.walkBack(tip, limit, func(c *Commit) bool { n++; return match(i, c) }); !whole {
				open, known = append(open, tip), max(known, n)
			}
		}
		if len(open) == 0 {
			return found, nil
		}
		depth = max(depth, min(8*known, limit+1))
		if err := r.deepen(ctx, open, depth, limit, nil); err != nil {
			return nil, fmt.Errorf("reading history of %s: %w", r.URL(), err)
		}
		if depth > 8*limit {
			return nil, errKind(ErrMissingObject, "reading history of %s: the server does not give the parents of %s", r.URL(), open[0])
		}
	}
}

// FirstParents lists a commit and its first parents, the newest first: n, or as
// many as there are. Other than FindAncestors, which looks for what is near, it asks
// for all of them in one request; callers that need them at once share it.
func (r *Repo) FirstParents(ctx context.Context, tip Hash, n int) ([]*Commit, error) {
	known := func() (out []*Commit, whole bool) {
		out = make([]*Commit, 0, n)
		_, whole = r.walkBack(tip, n, func(c *Commit) bool { out = append(out, c); return len(out) == n })
		return out, whole
	}
	if out, whole := known(); whole {
		return out, nil
	}
	missing := func() bool { _, whole := known(); return !whole }
	if err := r.deepen(ctx, []Hash{tip}, n, n, missing); err != nil {
		return nil, fmt.Errorf("reading history of %s: %w", r.URL(), err)
	}
	if out, whole := known(); whole {
		return out, nil
	}
	return nil, errKind(ErrMissingObject, "reading history of %s: the server does not give the parents of %s", r.URL(), tip)
}

// walkBack follows known commits; whole is false where it came to an unknown one.
func (r *Repo) walkBack(tip Hash, limit int, match func(*Commit) bool) (found *Commit, whole bool) {
	for h, n := tip, 0; n <= limit && !h.IsZero(); n++ {
		c := r.commits.get(h)
		if c == nil && r.objects.has(h) && r.readStored([]Hash{h}) == nil {
			c = r.commits.get(h)
		}
		if c == nil {
			return nil, false
		}
		if match(c) {
			return c, true
		}
		if len(c.Parents) == 0 {
			return nil, true
		}
		h = c.Parents[0]
	}
	return nil, true
}

// deepen brings the history of tips, unless missing says, when what others fetch has
// come, that nothing is; nil is always.
func (r *Repo) deepen(ctx context.Context, tips []Hash, depth, limit int, missing func() bool) error {
	if r.local != nil {
		return r.deepenLocal(tips, limit)
	}
	r.fetching.Lock()
	defer r.fetching.Unlock()
	if missing != nil && !missing() {
		return nil
	}
	return r.fetchCommits(ctx, tips, depth)
}

func (r *Repo) deepenLocal(tips []Hash, limit int) error {
	for _, tip := range tips {
		for h, n := tip, 0; n <= limit && !h.IsZero(); n++ {
			if r.commits.get(h) == nil {
				if err := r.readStored([]Hash{h}); err != nil {
					return err
				}
			}
			c := r.commits.get(h)
			if c == nil {
				return errKind(ErrMissingObject, "the repository has no commit %s", h)
			}
			if len(c.Parents) == 0 {
				break
			}
			h = c.Parents[0]
		}
	}
	return nil
}
