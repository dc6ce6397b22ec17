package ocirepo

import (
	"context"
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/revision"
)

// Porch's annotations of a package revision's manifest. Porch reads them from the
// manifest and writes them on the last layer's descriptor: both are read here.
const (
	lifecycleAnnotation = "kpt.dev/lifecycle"
	revisionAnnotation  = "kpt.dev/revision"
)

// createdAnnotation is the image-spec's.
const createdAnnotation = "org.opencontainers.image.created"

// Query names a revision (docs/design/kinds.md#revisions, for registries). With
// both Revision and Workspace, Revision decides; with neither, it is the
// highest Published.
type Query struct {
	Package             string // "" where the registered path is the package
	Revision, Workspace string
}

// Revision is a tag of a package. Tags of signatures and the like are left out.
type Revision struct {
	Tag     string
	Number  int    // N of a tag vN; 0 otherwise
	Version string // of a tag that is a whole semantic version, without "v"; "" otherwise

	semver *semver.Version
}

// Resolved is where a Query led.
type Resolved struct {
	Package   string
	Tag       string // "" where it is a digest
	Digest    string // "sha256:…", of the manifest or index that the tag points at
	Name      string // for locks: "registry.example.com/blueprints/base-ns@sha256:…"
	Rule      revision.Rule
	Number    int             // of a numbered revision; 0 otherwise
	Version   string          // where the tag is a semantic version
	Lifecycle lifecycle.Phase // as Porch annotated it; Published where it did not
	// Created is the time that its annotation names; zero where it has none.
	Created time.Time
}

// Revisions lists the tags of a package: numbered ones ascending, then versions
// ascending, then the others by name. Errors are those of the registry:
// ErrNotFound, ErrAuth, ErrRateLimited, ErrUnavailable.
func (r *Repo) Revisions(ctx context.Context, pkg string) ([]Revision, error) {
	repo, err := r.repository(pkg)
	if err != nil {
		return nil, err
	}
	return r.revisions(ctx, repo)
}

func (r *Repo) revisions(ctx context.Context, repo name.Repository) ([]Revision, error) {
	tags, err := r.tagNames(ctx, repo)
	if err != nil {
		return nil, err
	}
	out := make([]Revision, 0, len(tags))
	for _, t := range tags {
		if !attached.MatchString(t) {
			out = append(out, revisionOf(t))
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].before(out[j]) })
	return slices.CompactFunc(out, func(a, b Revision) bool { return a.Tag == b.Tag }), nil
}

// attached are the tags of signatures, attestations and referrers of an image.
var attached = lazyregexp.New(`^sha256-[0-9a-f]{64}(\.[a-z]+)?$`)

var numberedTag = lazyregexp.New(`^v[1-9][0-9]{0,8}$`)

func revisionOf(tag string) Revision {
	rev := Revision{Tag: tag}
	if numberedTag.MatchString(tag) {
		rev.Number, _ = strconv.Atoi(tag[1:]) // digits alone
		return rev
	}
	if v, ok := revision.ParseVersion(tag); ok {
		rev.semver, rev.Version = v, v.String()
	}
	return rev
}

func (a Revision) rank() int {
	switch {
	case a.Number > 0:
		return 0
	case a.semver != nil:
		return 1
	}
	return unranked
}

// unranked are tags that name no revision by themselves.
const unranked = 2

func (a Revision) before(b Revision) bool {
	if x, y := a.rank(), b.rank(); x != y {
		return x < y
	}
	if a.Number != b.Number {
		return a.Number < b.Number
	}
	if a.semver != nil {
		if c := a.semver.Compare(b.semver); c != 0 {
			return c < 0
		}
	}
	return a.Tag < b.Tag
}

// Resolve finds the digest of a revision. *NotFoundError lists the tags; other
// errors are those of the registry.
func (r *Repo) Resolve(ctx context.Context, q Query) (Resolved, error) {
	q.Package = strings.Trim(q.Package, "/")
	q.Revision, q.Workspace = strings.TrimSpace(q.Revision), strings.TrimSpace(q.Workspace)
	repo, err := r.repository(q.Package)
	if err != nil {
		return Resolved{}, err
	}
	at, rule, err := revision.Find(ctx, revision.Query{Revision: q.Revision, Workspace: q.Workspace}, revision.Registry, &resolver{repo: r, image: repo, q: q})
	at.Rule = rule
	return at, err
}

// resolver gives the names of one package.
type resolver struct {
	repo  *Repo
	image name.Repository
	q     Query
}

var tagForm = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

// Look finds a revision by one rule (revision.Names).
func (s *resolver) Look(ctx context.Context, rule revision.Rule, text string) (res Resolved, ok bool, err error) {
	switch rule {
	case revision.RuleLatest:
		return s.latest(ctx)
	case revision.RuleRevision:
		return s.numbered(ctx, text)
	case revision.RuleDigest:
		res, _, err = s.at(ctx, text)
	case revision.RuleWorkspace:
		if !tagForm.MatchString(text) {
			return Resolved{}, false, s.notFound(ctx, "a workspace is a tag here, and this is no name of one", nil)
		}
		res, err = s.tag(ctx, revisionOf(text))
	case revision.RuleTag, revision.RuleRange:
		if !tagForm.MatchString(text) {
			return Resolved{}, false, nil
		}
		rev := revisionOf(text)
		if res, err = s.tag(ctx, rev); err == nil && rule == revision.RuleRange && rev.Number > 0 && !res.Lifecycle.Approved() {
			return Resolved{}, false, nil
		}
	}
	if errors.Is(err, ErrNotFound) {
		return Resolved{}, false, nil
	}
	return res, err == nil, err
}

// Versions are the tags <semver> and v<semver>, or else vN (revision.Names).
func (s *resolver) Versions(ctx context.Context) ([]revision.Version, error) {
	revisions, err := s.listed(ctx)
	if err != nil {
		return nil, err
	}
	var out []revision.Version
	for _, rev := range revisions {
		if rev.semver != nil {
			out = append(out, revision.Version{Tag: rev.Tag, Semver: rev.semver})
		}
	}
	if len(out) == 0 {
		for _, rev := range revisions {
			if rev.Number > 0 {
				out = append(out, revision.Published(rev.Number))
			}
		}
	}
	return out, nil
}

// None lists the tags that there are (revision.Names).
func (s *resolver) None(ctx context.Context, reason string, there []string) error {
	if s.q.Revision == "" && s.q.Workspace == "" {
		reason += ": no tag vN or <major>.<minor>.<patch>; name the tag"
	}
	return s.notFound(ctx, reason, there)
}

// numbered finds revision N: the tag vN, unless Porch gave that image another
// number or it is not Published; else the image that Porch numbered so.
func (s *resolver) numbered(ctx context.Context, number string) (Resolved, bool, error) {
	want := revisionOf("v" + number)
	res, err := s.tag(ctx, want)
	switch {
	case err == nil && res.Number == want.Number && res.Lifecycle.Approved():
		return res, true, nil
	case err != nil && !errors.Is(err, ErrNotFound):
		return Resolved{}, false, err
	}
	all, err := s.annotated(ctx)
	if err != nil {
		return Resolved{}, false, err
	}
	for _, res := range all {
		if strconv.Itoa(res.Number) == number {
			return res, true, nil
		}
	}
	return Resolved{}, false, nil
}

// annotated are the Published images with a number from Porch, by number; none
// where the package does not exist.
func (s *resolver) annotated(ctx context.Context) ([]Resolved, error) {
	revisions, err := s.repo.revisions(ctx, s.image)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found := make([]Resolved, len(revisions))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(s.repo.store.opts.Jobs)
	for i, rev := range revisions {
		g.Go(func() error {
			res, numbered, err := s.read(gctx, rev)
			if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrPackage) && !errors.Is(err, ErrLimit) {
				return err
			}
			if numbered && res.Lifecycle.Approved() {
				found[i] = res
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(r Resolved) bool { return r.Number == 0 })
	sort.SliceStable(found, func(i, j int) bool { return found[i].Number < found[j].Number })
	return found, nil
}

func (s *resolver) tag(ctx context.Context, rev Revision) (Resolved, error) {
	res, _, err := s.read(ctx, rev)
	return res, err
}

// read resolves a tag; numbered says that the number is Porch's.
func (s *resolver) read(ctx context.Context, rev Revision) (res Resolved, numbered bool, err error) {
	digest, err := s.repo.tagDigest(ctx, s.image, rev.Tag)
	if err != nil {
		return Resolved{}, false, err
	}
	res, numbered, err = s.at(ctx, digest)
	res.Tag, res.Version = rev.Tag, rev.Version
	if !numbered {
		res.Number = rev.Number
	}
	return res, numbered, err
}

func (s *resolver) at(ctx context.Context, digest string) (res Resolved, numbered bool, err error) {
	m, err := s.repo.image(ctx, s.image, digest)
	if err != nil {
		return Resolved{}, false, err
	}
	res = Resolved{
		Package: s.q.Package, Digest: digest, Name: s.image.Name() + "@" + digest,
		Lifecycle: lifecycle.Phase(m.annotation(lifecycleAnnotation)), Created: m.created(),
	}
	if res.Lifecycle == "" {
		res.Lifecycle = lifecycle.Published
	}
	if text := m.annotation(revisionAnnotation); text != "" {
		res.Number = revisionOf("v" + strings.TrimPrefix(text, "v")).Number
		numbered = true
	}
	return res, numbered, nil
}

// annotation reads an annotation of Porch's: of the manifest, of the index, or of the
// newest layer that has it.
func (m *imageManifest) annotation(key string) string {
	for at := m; at != nil; at = at.of {
		if v := at.Annotations[key]; v != "" {
			return v
		}
	}
	for _, l := range slices.Backward(m.Layers) {
		if v := l.Annotations[key]; v != "" {
			return v
		}
	}
	return ""
}

// created is the time of the annotation, zero where that is missing or damaged.
func (m *imageManifest) created() time.Time {
	t, err := time.Parse(time.RFC3339, m.annotation(createdAnnotation))
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// listed is the list of tags, a missing repository as *NotFoundError.
func (s *resolver) listed(ctx context.Context) ([]Revision, error) {
	revisions, err := s.repo.revisions(ctx, s.image)
	if errors.Is(err, ErrNotFound) {
		return nil, s.missing("the registry has no such package", nil)
	}
	return revisions, err
}

// latest is the highest tag vN; without such tags the highest version that is no
// prerelease; without those the highest number that Porch gave.
func (s *resolver) latest(ctx context.Context) (Resolved, bool, error) {
	revisions, err := s.listed(ctx)
	if err != nil {
		return Resolved{}, false, err
	}
	for rank := range unranked {
		for _, rev := range slices.Backward(revisions) {
			if rev.rank() != rank || rev.semver != nil && rev.semver.Prerelease() != "" {
				continue
			}
			if res, err := s.tag(ctx, rev); err != nil || res.Lifecycle.Approved() {
				return res, err == nil, err
			}
		}
	}
	all, err := s.annotated(ctx)
	if err != nil || len(all) == 0 {
		return Resolved{}, false, err
	}
	return all[len(all)-1], true, nil
}

// notFound lists what there is, as far as the registry tells, where there is
// not given.
func (s *resolver) notFound(ctx context.Context, reason string, there []string) error {
	if there != nil {
		return s.missing(reason, there)
	}
	revisions, err := s.repo.revisions(ctx, s.image)
	switch {
	case errors.Is(err, ErrNotFound):
		return s.missing("the registry has no such package", nil)
	case errors.Is(err, ErrRateLimited), errors.Is(err, ErrUnavailable), ctx.Err() != nil:
		return err
	}
	for rank := range unranked + 1 {
		for _, rev := range slices.Backward(revisions) {
			if rev.rank() == rank {
				there = append(there, rev.Tag)
			}
		}
	}
	return s.missing(reason, there)
}

func (s *resolver) missing(reason string, there []string) *NotFoundError {
	return &NotFoundError{Query: s.q, Repository: s.image.Name(), Reason: reason, Available: there}
}
