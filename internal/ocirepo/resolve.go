package ocirepo

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/lifecycle"
)

// Porch's annotations of a package revision's manifest. Porch reads them from the
// manifest and writes them on the last layer's descriptor: both are read here.
const (
	lifecycleAnnotation = "kpt.dev/lifecycle"
	revisionAnnotation  = "kpt.dev/revision"
)

// createdAnnotation is the image-spec's.
const createdAnnotation = "org.opencontainers.image.created"

// The lifecycles of Porch that count as Published.
const (
	published        = "Published"
	deletionProposed = "DeletionProposed"
)

// Query names a revision (design section 3, for registries). With both Revision
// and Workspace, Revision decides; with neither, it is the highest Published.
type Query struct {
	Package             string // "" where the registered path is the package
	Revision, Workspace string
}

// Rule says which rule found a revision.
type Rule string

// The rules, in the order in which they are tried.
const (
	RuleRevision  Rule = "revision"  // N or vN: tag vN, else the image that Porch numbered N
	RuleTag       Rule = "tag"       // tag <revision>
	RuleDigest    Rule = "digest"    // sha256:…
	RuleRange     Rule = "range"     // semver range over tags <semver> and v<semver>
	RuleLatest    Rule = "latest"    // nothing asked: the highest Published
	RuleWorkspace Rule = "workspace" // workspaceName: tag <workspace>, as in Porch
)

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
	Rule      Rule
	Number    int    // of a numbered revision; 0 otherwise
	Version   string // where the tag is a semantic version
	Lifecycle string // as Porch annotated it; Published where it did not
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
var attached = regexp.MustCompile(`^sha256-[0-9a-f]{64}(\.[a-z]+)?$`)

var numberedTag = regexp.MustCompile(`^v[1-9][0-9]{0,8}$`)

func revisionOf(tag string) Revision {
	rev := Revision{Tag: tag}
	if numberedTag.MatchString(tag) {
		rev.Number, _ = strconv.Atoi(tag[1:]) // digits alone
		return rev
	}
	// A tag cannot hold a plus: build metadata stand after an underscore, as in Helm.
	if v, err := semver.StrictNewVersion(strings.Replace(strings.TrimPrefix(tag, "v"), "_", "+", 1)); err == nil {
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
	s := &resolver{repo: r, image: repo, q: q}
	switch {
	case q.Revision != "":
		return s.revision(ctx)
	case q.Workspace != "":
		return s.workspace(ctx)
	}
	return s.latest(ctx)
}

type resolver struct {
	repo  *Repo
	image name.Repository
	q     Query
}

var tagForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`)

func (s *resolver) revision(ctx context.Context) (Resolved, error) {
	rev := s.q.Revision
	if number, ok := lifecycle.Number(rev); ok && number > 0 {
		res, ok, err := s.numbered(ctx, number)
		if ok || err != nil {
			return res, err
		}
	}
	if tagForm.MatchString(rev) {
		res, err := s.tag(ctx, revisionOf(rev), RuleTag)
		if !errors.Is(err, ErrNotFound) {
			return res, err
		}
	}
	switch {
	case isDigest(rev):
		return s.digest(ctx, rev)
	case strings.Contains(rev, ":"):
		return Resolved{}, s.notFound(ctx, "a digest is written sha256: and 64 hexadecimal digits, in lower case")
	case lifecycle.IsRange(rev):
		return s.semverRange(ctx)
	}
	return Resolved{}, s.notFound(ctx, "there is no such tag (branches and commits are Git's: a registry has tags and digests)")
}

// numbered finds revision N: the tag vN, unless Porch gave that image another
// number or it is not Published; else the image that Porch numbered so.
func (s *resolver) numbered(ctx context.Context, number int) (Resolved, bool, error) {
	want := revisionOf("v" + strconv.Itoa(number))
	res, err := s.tag(ctx, want, RuleRevision)
	switch {
	case err == nil && res.Number == number && isPublished(res.Lifecycle):
		return res, true, nil
	case err != nil && !errors.Is(err, ErrNotFound):
		return Resolved{}, false, err
	}
	all, err := s.annotated(ctx)
	if err != nil {
		return Resolved{}, false, err
	}
	for _, res := range all {
		if res.Number == number {
			res.Rule = RuleRevision
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
			res, numbered, err := s.read(gctx, rev, RuleRevision)
			if err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrPackage) && !errors.Is(err, ErrLimit) {
				return err
			}
			if numbered && isPublished(res.Lifecycle) {
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

func isPublished(lifecycle string) bool {
	return lifecycle == published || lifecycle == deletionProposed
}

func (s *resolver) tag(ctx context.Context, rev Revision, rule Rule) (Resolved, error) {
	res, _, err := s.read(ctx, rev, rule)
	return res, err
}

// read resolves a tag; numbered says that the number is Porch's.
func (s *resolver) read(ctx context.Context, rev Revision, rule Rule) (res Resolved, numbered bool, err error) {
	digest, err := s.repo.tagDigest(ctx, s.image, rev.Tag)
	if err != nil {
		return Resolved{}, false, err
	}
	res, numbered, err = s.at(ctx, digest, rule)
	res.Tag, res.Version = rev.Tag, rev.Version
	if !numbered {
		res.Number = rev.Number
	}
	return res, numbered, err
}

func (s *resolver) at(ctx context.Context, digest string, rule Rule) (res Resolved, numbered bool, err error) {
	m, err := s.repo.image(ctx, s.image, digest)
	if err != nil {
		return Resolved{}, false, err
	}
	res = Resolved{
		Package: s.q.Package, Digest: digest, Name: s.image.Name() + "@" + digest, Rule: rule,
		Lifecycle: m.annotation(lifecycleAnnotation), Created: m.created(),
	}
	if res.Lifecycle == "" {
		res.Lifecycle = published
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

func (s *resolver) digest(ctx context.Context, digest string) (Resolved, error) {
	res, _, err := s.at(ctx, digest, RuleDigest)
	if errors.Is(err, ErrNotFound) {
		return Resolved{}, s.notFound(ctx, "there is no such digest")
	}
	return res, err
}

func (s *resolver) workspace(ctx context.Context) (Resolved, error) {
	if !tagForm.MatchString(s.q.Workspace) {
		return Resolved{}, s.notFound(ctx, "a workspace is a tag here, and this is no name of one")
	}
	res, err := s.tag(ctx, revisionOf(s.q.Workspace), RuleWorkspace)
	if errors.Is(err, ErrNotFound) {
		return Resolved{}, s.notFound(ctx, "there is no such tag")
	}
	return res, err
}

func (s *resolver) semverRange(ctx context.Context) (Resolved, error) {
	c, err := semver.NewConstraint(s.q.Revision)
	if err != nil {
		return Resolved{}, s.notFound(ctx, "it is no tag, and does not read as a version range")
	}
	revisions, err := s.listed(ctx)
	if err != nil {
		return Resolved{}, err
	}
	seen := false
	for _, rev := range slices.Backward(revisions) {
		if rev.semver == nil {
			continue
		}
		seen = true
		if c.Check(rev.semver) {
			return s.tag(ctx, rev, RuleRange)
		}
	}
	if !seen {
		return Resolved{}, s.notFound(ctx, "a version range looks at tags v<major>.<minor>.<patch> (the v may be missing), and there are none")
	}
	return Resolved{}, s.notFound(ctx, "no version is in that range (prereleases only where the range names one)")
}

// listed is the list of tags, a missing repository as *NotFoundError.
func (s *resolver) listed(ctx context.Context) ([]Revision, error) {
	revisions, err := s.repo.revisions(ctx, s.image)
	if errors.Is(err, ErrNotFound) {
		return nil, s.missing("the registry has no such package")
	}
	return revisions, err
}

// latest is the highest tag vN; without such tags the highest version that is no
// prerelease; without those the highest number that Porch gave.
func (s *resolver) latest(ctx context.Context) (Resolved, error) {
	revisions, err := s.listed(ctx)
	if err != nil {
		return Resolved{}, err
	}
	for rank := range unranked {
		for _, rev := range slices.Backward(revisions) {
			if rev.rank() != rank || rev.semver != nil && rev.semver.Prerelease() != "" {
				continue
			}
			if res, err := s.tag(ctx, rev, RuleLatest); err != nil || isPublished(res.Lifecycle) {
				return res, err
			}
		}
	}
	all, err := s.annotated(ctx)
	if err != nil {
		return Resolved{}, err
	}
	if len(all) == 0 {
		return Resolved{}, s.notFound(ctx, "no revision of it is Published: no tag vN or <major>.<minor>.<patch>; name the tag")
	}
	res := all[len(all)-1]
	res.Rule = RuleLatest
	return res, nil
}

// notFound lists what there is, as far as the registry tells.
func (s *resolver) notFound(ctx context.Context, reason string) error {
	revisions, err := s.repo.revisions(ctx, s.image)
	switch {
	case errors.Is(err, ErrNotFound):
		return s.missing("the registry has no such package")
	case errors.Is(err, ErrRateLimited), errors.Is(err, ErrUnavailable), ctx.Err() != nil:
		return err
	}
	e := s.missing(reason)
	for rank := range unranked + 1 {
		for _, rev := range slices.Backward(revisions) {
			if rev.rank() == rank {
				e.Available = append(e.Available, rev.Tag)
			}
		}
	}
	return e
}

func (s *resolver) missing(reason string) *NotFoundError {
	return &NotFoundError{Query: s.q, Repository: s.image.Name(), Reason: reason}
}
