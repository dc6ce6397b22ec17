package gitrepo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/transport"
	gitproto "github.com/go-git/go-git/v5/plumbing/transport/git"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/wire"
)

// Options configures a Store. The zero value works: nothing on disk, the user's
// own credential helpers, the default limits.
type Options struct {
	// CacheDir keeps commits and fetched objects of remote repositories between
	// runs. "" keeps them in memory. It may be deleted at any time between runs.
	CacheDir string
	// Key is this machine's, which tells what it wrote below CacheDir from what others did
	// where no content is named by its hash. Without one that is found out again by each run.
	Key []byte
	// Credentials answers a server that asks for a login. nil runs git's
	// credential helpers without a terminal.
	Credentials CredentialFunc
	// App has logins that expire, nil for none. It is asked after Credentials, and before
	// what git knows.
	App Expiring
	// NoSSH refuses addresses of ssh, whose keys are this user's, where others' addresses
	// are read by Credentials alone.
	NoSSH bool
	// Folder is what relative paths of repositories are relative to; "" is the current
	// folder.
	Folder string
	// Log receives notes, such as retries. nil drops them.
	Log func(format string, args ...any)
	// Warn receives what a person should know and need not stop for, each once:
	// a login that is sent without encryption. nil drops it.
	Warn func(format string, args ...any)
	// Limits bounds what is read.
	Limits Limits
	// Budget bounds how long a server may keep a run waiting: it costs that
	// repository alone.
	Budget wire.Budget
	// Transport carries http(s); nil is one of the Store's own, which keeps to
	// Budget.
	Transport http.RoundTripper
}

// Limits bounds what is read; zero fields take the defaults.
type Limits struct {
	FileBytes    int64 // one file of a package: 16 MiB
	PackageBytes int64 // all files of a package: 256 MiB
	PackageFiles int   // files of a package: 20,000
	FetchBytes   int64 // one pack of a server: 4 GiB
	RefsBytes    int64 // the refs of a server, and what it says of a push: 32 MiB, some 400,000 refs
}

func (l Limits) withDefaults() Limits {
	set := func(p *int64, v int64) {
		if *p <= 0 {
			*p = v
		}
	}
	set(&l.FileBytes, 16<<20)
	set(&l.PackageBytes, 256<<20)
	set(&l.FetchBytes, 4<<30)
	set(&l.RefsBytes, 32<<20)
	if l.PackageFiles <= 0 {
		l.PackageFiles = 20000
	}
	return l
}

// files are those of a package's files.
func (l Limits) files() boundary.Limits {
	return boundary.Limits{FileBytes: l.FileBytes, PackageBytes: l.PackageBytes, Files: l.PackageFiles}
}

// Store holds one Repo per repository, however its address is written. Safe for
// concurrent use.
type Store struct {
	opts    Options
	config  func() *gitConfig
	http    transport.Transport
	client  *http.Client // of http
	lacks   sync.Map     // lack
	speakV2 sync.Map     // *speech by wire.Origin
	caps    sync.Map     // *capability.List by its text
	blobs   blobCache
	parsed  *krm.Cache // of all packages: variants have most of their files in common
	places  placeCache
	models  modelTexts
	bases   baseCache
	spool   spool
	// large is held while a package is read that is: one at a time, so that many
	// such take the memory of one.
	large chan struct{}
	own   *wire.Transport // nil where the Options have one

	mu    sync.Mutex
	repos map[string]*openedRepo
}

type openedRepo struct {
	mu   sync.Mutex
	repo *Repo
}

// NewStore makes a Store.
func NewStore(o Options) *Store {
	o.Limits = o.Limits.withDefaults()
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	o.Budget = o.Budget.WithDefaults()
	config := sync.OnceValue(func() *gitConfig {
		var c gitConfig
		if o.Credentials == nil {
			c = readGitConfig(context.Background())
		}
		return &c
	})
	var own *wire.Transport
	if o.Transport == nil {
		own = wire.NewTransport(o.Budget, func(r *http.Request) string { return repositoryAt(r.URL) }, isPush)
		if base, ok := own.Inner.(*http.Transport); ok {
			base.Proxy = func(req *http.Request) (*url.URL, error) { return config().proxy(req) }
		}
		o.Transport = own
	}
	o.Warn = wire.Once(o.Warn)
	client := &http.Client{Transport: &loginTransport{inner: &answerTransport{&wire.Throttle{Inner: o.Transport, Log: o.Log, Budget: o.Budget}, o.Limits}, config: config, warn: o.Warn}}
	s := &Store{
		opts:   o,
		config: config,
		http:   githttp.NewClient(client),
		client: client,
		repos:  map[string]*openedRepo{},
		large:  make(chan struct{}, 1),
		own:    own,
		// Apart: what is dropped of the cache holds on to it, and must not to the Store.
		parsed: &krm.Cache{},
	}
	if o.CacheDir != "" && len(o.Key) > 0 {
		s.places.path, s.places.key = filepath.Join(o.CacheDir, "git", "trees"), o.Key
	}
	return s
}

// Close ends the connections that wait for more and closes the files that were read from: a
// process that makes Stores again and again would run out of both. Nothing of the Store is
// to be used after it, or meanwhile.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.repos {
		if !o.mu.TryLock() { // whoever opens it was given up
			continue
		}
		if o.repo != nil {
			o.repo.close()
		}
		o.mu.Unlock()
	}
	s.places.close()
	if s.own != nil {
		s.own.CloseIdleConnections()
	}
}

// Open returns the repository at url: a local path, file://, http(s)://, ssh://,
// git:// or the scp form. The first call for a repository reads its refs in one
// round trip; later ones return the same Repo and read nothing. Errors are
// ErrNoRepository, ErrAuth, ErrUnsupported or the transport's.
func (s *Store) Open(ctx context.Context, url string) (*Repo, error) {
	loc, err := s.locate(url)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	o, ok := s.repos[loc.key]
	if !ok {
		o = &openedRepo{}
		s.repos[loc.key] = o
	}
	s.mu.Unlock()

	o.mu.Lock()
	defer o.mu.Unlock()
	if o.repo != nil {
		return o.repo, nil
	}
	r, err := s.newRepo(loc)
	if err != nil {
		return nil, err
	}
	if err := r.Refresh(ctx); err != nil {
		return nil, err
	}
	o.repo = r
	return r, nil
}

// Seen is what a Store saw of its repositories, by their addresses: digests of
// their refs. Places is how much is known of what stands where.
type Seen struct {
	Refs   map[string]string
	Places int64
}

// Seen says what was seen so far; false where some repository could not be read, or
// its address holds a login.
func (s *Store) Seen() (Seen, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := Seen{Refs: map[string]string{}}
	if st, err := os.Stat(s.places.path); err == nil {
		seen.Places = st.Size()
	}
	for _, o := range s.repos {
		o.mu.Lock()
		r := o.repo
		o.mu.Unlock()
		if r == nil || r.loc.user != "" || r.loc.password != "" {
			return Seen{}, false
		}
		seen.Refs[r.loc.display] = r.Refs().Digest()
	}
	return seen, true
}

// Sees reads the refs of the same repositories, and says whether they are as they
// were then.
func (s *Store) Sees(ctx context.Context, then Seen) bool {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.opts.Budget.Repositories)
	for address := range then.Refs {
		g.Go(func() error {
			_, err := s.Open(ctx, address)
			return err
		})
	}
	if g.Wait() != nil {
		return false
	}
	now, ok := s.Seen()
	return ok && now.Places == then.Places && maps.Equal(now.Refs, then.Refs)
}

// locate parses an address after insteadOf of Git's configuration. Messages show the address
// as it is written.
func (s *Store) locate(address string) (*location, error) {
	loc, err := parseLocation(address)
	if err != nil {
		return nil, err
	}
	if loc.local != "" {
		return s.below(loc)
	}
	if other := s.config().address(strings.TrimSpace(address)); other != strings.TrimSpace(address) {
		display := loc.display
		if loc, err = parseLocation(other); err != nil {
			return nil, fmt.Errorf("%w (url.*.insteadOf of Git's configuration has it for %s)", err, display)
		}
		loc.display = display
	}
	return loc, nil
}

// below takes a relative path from the folder of Options, or else, if it is only there,
// from the current one.
func (s *Store) below(loc *location) (*location, error) {
	if s.opts.Folder == "" || strings.Contains(loc.display, "://") || filepath.IsAbs(loc.display) {
		return loc, nil
	}
	path := filepath.Join(s.opts.Folder, loc.display)
	if _, err := os.Stat(path); err != nil {
		if _, err := os.Stat(loc.local); err == nil {
			return loc, nil
		}
	}
	return parsePath(loc.display, path)
}

func (s *Store) newRepo(loc *location) (*Repo, error) {
	r := &Repo{store: s, loc: loc, endpoint: loc.endpoint, known: map[Hash]struct{}{}}
	if loc.user != "" || loc.password != "" {
		r.logins.put(wire.OriginOf(loc.url()), &login{user: loc.user, password: loc.password, from: "that stands in the repository's address"})
	}
	if loc.local != "" {
		dirs, err := findGitDir(loc.local)
		if err != nil {
			return nil, err
		}
		r.local = dirs
		r.objects = openObjectDir(filepath.Join(dirs.common, "objects"), &s.bases)
		r.commits = openCommitCache(s.localCommits(loc))
		return r, nil
	}
	dir := s.cacheOf(loc)
	outline, ways := filepath.Join(dir, "outline"), filepath.Join(dir, "ways")
	cached := s.opts.CacheDir != ""
	if cached {
		if err := writable(filepath.Join(dir, packFolder), filepath.Join(outline, packFolder), filepath.Join(ways, packFolder)); err != nil {
			s.opts.Warn("nothing is kept for the next run: the cache folder %s cannot be written: %v", s.opts.CacheDir, err)
			cached = false
		}
	}
	if !cached {
		r.objects, r.outline, r.ways = newMemorySource(), newPart(newMemorySource(), 0), newPart(newMemorySource(), 1)
		r.commits = openCommitCache("")
		return r, nil
	}
	r.cacheDir = dir
	for _, folder := range []string{dir, outline, ways} {
		trimCache(folder)
	}
	cache := func(folder string, renew func() error) *objectDir {
		d := openObjectDir(filepath.Join(folder, "objects"), &s.bases)
		d.renew = renew
		return d
	}
	r.objects = cache(dir, r.renew)
	r.outline = newPart(cache(outline, func() error { return r.renewPart(r.outline) }), 0)
	r.ways = newPart(cache(ways, func() error { return r.renewPart(r.ways) }), 1)
	r.commits = openCommitCache(filepath.Join(dir, "commits"))
	return r, nil
}

// cacheOf is the folder of a repository's cache.
func (s *Store) cacheOf(loc *location) string {
	sum := sha256.Sum256([]byte(loc.key))
	return filepath.Join(s.opts.CacheDir, "git", hex.EncodeToString(sum[:12]))
}

// writable makes folders of packs where they are missing, and tries to write there.
func writable(dirs ...string) error {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		f, err := os.CreateTemp(filepath.Dir(filepath.Dir(dir)), incoming)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
			return err
		}
	}
	return nil
}

// localCommits is the file that keeps a local repository's commits: in one piece
// they are read faster than from its packs. "" where there is no cache folder.
func (s *Store) localCommits(loc *location) string {
	if s.opts.CacheDir == "" {
		return ""
	}
	dir := s.cacheOf(loc)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	return filepath.Join(dir, "commits")
}

// sharedCaps is a list that is held once for all that are alike: a server's repositories say
// the same.
func (s *Store) sharedCaps(l *capability.List) *capability.List {
	shared, _ := s.caps.LoadOrStore(l.String(), l)
	return shared.(*capability.List)
}

func (s *Store) transport(protocol string) (transport.Transport, error) {
	switch protocol {
	case "http", "https":
		return s.http, nil
	case "file":
		return localTransport{}, nil
	case "ssh":
		if s.opts.NoSSH {
			return nil, errKind(ErrAuth, "ssh would use keys that were not given for this address: use https, with a login of its own")
		}
		return sshTransport{s.config}, nil
	case "git":
		return gitproto.DefaultClient, nil
	}
	return nil, errKind(ErrUnsupported, "scheme %q is not supported", protocol)
}

const (
	maxCachePacks     = 200
	maxCachePackBytes = 2 << 30
)

// trimCache empties an object cache that has grown large: it fills again with
// what is in use. It removes what processes that died left a day ago.
func trimCache(dir string) {
	dead, _ := filepath.Glob(filepath.Join(globEscape(dir), incoming+"*"))
	for _, n := range dead {
		if st, err := os.Stat(n); err == nil && time.Since(st.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(n)
		}
	}
	names, _ := filepath.Glob(filepath.Join(globEscape(dir), packFolder, "*"))
	var size int64
	for _, n := range names {
		if st, err := os.Stat(n); err == nil {
			size += st.Size()
		}
	}
	if len(names) <= 2*maxCachePacks && size <= maxCachePackBytes {
		return
	}
	for _, n := range names {
		_ = os.Remove(n) // only a cache
	}
}
