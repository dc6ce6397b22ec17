package ocirepo

import (
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/version"
	"github.com/variform/variform/internal/wire"
)

// Options configures a Store. The zero value works: nothing on disk, the user's
// Docker keychain, the default limits.
type Options struct {
	// CacheDir keeps manifests and layers between runs, by digest. "" keeps
	// none. It may be deleted at any time.
	CacheDir string
	// Keychain has the credentials; nil is the user's Docker (or podman) one,
	// with its credential helpers.
	Keychain authn.Keychain
	// KeychainName is how errors name a Keychain that is not the user's, such as "Secret a/b".
	KeychainName string
	// Budget bounds how long a registry may keep a run waiting: it costs that
	// repository of images alone.
	Budget wire.Budget
	// Transport carries the requests; nil is one of the Store's own, which keeps
	// to Budget.
	Transport http.RoundTripper
	// Limits bounds what is read, Retry how often a registry is asked again.
	Limits Limits
	Retry  Retry
	// Jobs is how many requests Manifests makes at once; 0 is 8.
	Jobs int
	// Log receives notes on retries. nil drops them.
	Log func(format string, args ...any)
	// Warn receives what a person should know and need not stop for, each once:
	// a login that is sent without encryption. nil drops it.
	Warn func(format string, args ...any)
}

// Limits bounds what is read and pushed; zero fields take the defaults.
type Limits struct {
	BlobBytes    int64 // one layer as it is transferred: 64 MiB
	FileBytes    int64 // one file of a package: 16 MiB
	PackageBytes int64 // all files of a package: 256 MiB; all content of its layers: four times that
	PackageFiles int   // files of a package: 20,000; entries of its layers: ten times that
	Layers       int   // layers of an image: 256, as Crossplane has it
	Ratio        int64 // content per transferred byte of a layer, past the first 8 MiB: 200
	Names        int   // tags of a package, and repositories of a registry: 100,000
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *int64
		value int64
	}{{&l.BlobBytes, 64 << 20}, {&l.FileBytes, 16 << 20}, {&l.PackageBytes, 256 << 20}, {&l.Ratio, 200}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	for _, f := range []struct {
		field *int
		value int
	}{{&l.PackageFiles, 20_000}, {&l.Layers, 256}, {&l.Names, 100_000}} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}

// files are those of a package's files.
func (l Limits) files() boundary.Limits {
	return boundary.Limits{FileBytes: l.FileBytes, PackageBytes: l.PackageBytes, Files: l.PackageFiles}
}

// Store opens repositories and pushes packages. Safe for concurrent use.
type Store struct {
	opts    Options
	cache   blobCache
	secrets secrets
	keys    *keyring
	remote  []remote.Option
	puller  *remote.Puller
	err     error // of making it

	mu    sync.Mutex
	repos map[string]*Repo
}

// NewStore makes a Store.
func NewStore(o Options) *Store {
	o.Limits = o.Limits.withDefaults()
	o.Retry = o.Retry.withDefaults()
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	if o.Keychain == nil {
		o.Keychain = authn.DefaultKeychain
	}
	if o.Jobs <= 0 {
		o.Jobs = 8
	}
	if o.Transport == nil {
		o.Transport = wire.NewTransport(o.Budget, imageRepository, func(*http.Request) bool { return false })
	}
	o.Warn = wire.Once(o.Warn)
	guard := &loginGuard{inner: &answers{o.Transport}, warn: o.Warn}
	s := &Store{opts: o, repos: map[string]*Repo{}, keys: &keyring{inner: o.Keychain, name: o.KeychainName}}
	if o.CacheDir != "" {
		s.cache.dir, s.cache.most = filepath.Join(o.CacheDir, "oci", "sha256"), maxCacheBytes
	}
	s.remote = []remote.Option{
		remote.WithAuthFromKeychain(s.keys),
		remote.WithTransport(&retrier{inner: guard, policy: o.Retry, log: o.Log, secrets: &s.secrets}),
		remote.WithRetryPredicate(func(error) bool { return false }), // retrier does
		remote.WithRetryStatusCodes(),
		remote.WithJobs(o.Jobs),
		remote.WithUserAgent("variform/" + version.Version),
	}
	s.puller, s.err = remote.NewPuller(s.remote...)
	return s
}

// imageRepository is the repository of images that a request is about.
func imageRepository(r *http.Request) string {
	path := r.URL.Path
	for _, part := range []string{"/manifests/", "/blobs/", "/tags/", "/referrers/"} {
		if at := strings.LastIndex(path, part); at >= 0 {
			path = path[:at]
		}
	}
	return string(wire.OriginOf(r.URL)) + path
}

// Open returns the repository at an address as spec.oci.registry of a Repository
// has it: a host and, as a rule, a path below which each package is an image
// repository, "registry.example.com/blueprints". oci:// and https:// are
// accepted before it; http:// asks for plain HTTP, which localhost and private
// addresses have by default. Nothing is asked of the registry yet; one address
// gives one Repo. The error is ErrAddress.
func (s *Store) Open(address string) (*Repo, error) {
	if s.err != nil {
		return nil, fmt.Errorf("preparing access to OCI registries: %w", s.err)
	}
	r, err := s.at(address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.registry.Scheme() + "://" + r.Address()
	if known, ok := s.repos[key]; ok {
		return known, nil
	}
	s.repos[key] = r
	return r, nil
}

// Opened says how many repositories were opened.
func (s *Store) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.repos)
}

// at is the place that an address names, with nothing known of it yet.
func (s *Store) at(address string) (*Repo, error) {
	rest, options, err := parseScheme(address)
	if err != nil {
		return nil, err
	}
	r := &Repo{store: s, options: options}
	if r.registry, r.path, err = parsePath(rest, options); err != nil {
		return nil, err
	}
	return r, nil
}

// parseScheme takes the scheme off an address.
func parseScheme(address string) (rest string, options []name.Option, err error) {
	rest = strings.TrimSpace(address)
	if _, after, ok := strings.Cut(rest, "@"); ok && !strings.HasPrefix(after, digestPrefix) {
		// The address is not shown: what stands before the @ may be a password.
		return "", nil, badContent(ErrAddress, "the address of an OCI registry must not hold a user or a password: remove what stands before the @, and log in with docker login")
	}
	scheme, after, ok := strings.Cut(rest, "://")
	if !ok {
		return rest, nil, nil
	}
	switch strings.ToLower(scheme) {
	case "oci", "https":
	case "http":
		options = []name.Option{name.Insecure}
	default:
		return "", nil, badContent(ErrAddress, "%q: scheme %q is not one of an OCI registry: write registry.example.com/path, with oci:// before it or without", address, scheme)
	}
	return after, options, nil
}

// parsePath splits host and path.
func parsePath(rest string, options []name.Option) (name.Registry, string, error) {
	rest = strings.Trim(rest, "/")
	bad := func(err error) (name.Registry, string, error) {
		return name.Registry{}, "", badContent(ErrAddress, "%q: %v; write it as registry.example.com/path, without a tag", rest, err)
	}
	host := !strings.Contains(rest, "/") && (strings.ContainsAny(rest, ".:") || rest == "localhost")
	if host {
		reg, err := name.NewRegistry(rest, options...)
		if err != nil {
			return bad(err)
		}
		return reg, "", nil
	}
	repo, err := name.NewRepository(rest, options...)
	if err != nil {
		return bad(err)
	}
	return repo.Registry, repo.RepositoryStr(), nil
}

// Repo is a registered place in a registry. What it was told about tags stands
// until Refresh, so that a run sees one state. Safe for concurrent use.
type Repo struct {
	store    *Store
	registry name.Registry
	path     string // "" for the registry itself
	options  []name.Option

	tags     memo[[]string]       // by package
	digests  memo[string]         // by package and tag
	packages memo[*krm.Package]   // by package and digest; cloned for each caller
	metas    memo[packageMeta]    // by package and digest
	images   memo[*imageManifest] // by package and digest
}

// Address is the host and the path, without a scheme.
func (r *Repo) Address() string { return path.Join(r.registry.RegistryStr(), r.path) }

// Refresh forgets what tags there are and where they point, and what was read.
func (r *Repo) Refresh() {
	r.tags.forget()
	r.digests.forget()
	r.packages.forget()
	r.metas.forget()
	r.images.forget()
}

// repository is the image repository of a package; "" is the registered path
// itself.
func (r *Repo) repository(pkg string) (name.Repository, error) {
	full := path.Join(r.Address(), strings.Trim(pkg, "/"))
	repo, err := name.NewRepository(full, r.options...)
	if err != nil || !strings.Contains(full, "/") || strings.Contains("/"+pkg+"/", "/../") {
		return name.Repository{}, badContent(ErrAddress, "package %q of %s: it is no name of an image repository: lower-case letters, digits, and ._- between them, with / between parts", pkg, r.Address())
	}
	return repo, nil
}

// at is the place of a failure.
func at(op string, repo name.Repository, reference string) Error {
	return Error{Op: op, Registry: repo.RegistryStr(), Repository: repo.RepositoryStr(), Reference: reference}
}
