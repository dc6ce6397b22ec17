package gitrepo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/revision"
)

// Query names an upstream's revision (package revision says what it means).
// With both Revision and Workspace, Revision decides.
type Query struct {
	Directory, Package  string
	Revision, Workspace string
	Branch              string // the registered branch; "main" where empty
}

// Resolved is where a Query led. The commit need not be fetched yet, nor is it
// known yet whether it has the package: see Repo.Fetch and Repo.TreeAt.
type Resolved struct {
	Path      string // of the package in the repository
	Commit    Hash
	Ref       string // for upstream.git.ref: a tag's or branch's short name, or the commit
	FullRef   string // "" where it is a commit
	Rule      revision.Rule
	Number    int             // of a Published revision; 0 otherwise
	Workspace string          // where the query or the ref names it
	Lifecycle lifecycle.Phase // where it is a package revision; "" otherwise
}

// Resolve finds the commit of a revision. *NotFoundError lists what there is.
func (r *Repo) Resolve(ctx context.Context, q Query) (Resolved, error) {
	q.Package = strings.Trim(q.Package, "/")
	if q.Branch == "" {
		q.Branch = "main"
	}
	refs := r.Refs()
	s := &resolver{repo: r, q: q, refs: refs, path: lifecycle.PackagePath(q.Directory, q.Package)}
	s.pkg = refs.indexOf("").Package(s.path)
	if s.path == "" {
		return Resolved{}, s.notFound("the package has no name", nil)
	}
	at, rule, err := revision.Find(ctx, revision.Query{Revision: q.Revision, Workspace: q.Workspace}, revision.Git, s)
	if at.Rule == "" {
		at.Rule = rule
	}
	return at, err
}

// FetchResolved brings the commits that Resolve reads to answer queries, in one request
// those of Published revisions, where a workspace is asked for, and in another those that
// are named whole. That one is not there is for Resolve to say.
func (r *Repo) FetchResolved(ctx context.Context, queries ...Query) error {
	var published, named []Hash
	refs := r.Refs()
	for _, q := range queries {
		switch {
		case plumbing.IsHash(q.Revision):
			named = append(named, plumbing.NewHash(q.Revision))
		case q.Revision == "" && q.Workspace != "":
			pkg := refs.indexOf("").Package(lifecycle.PackagePath(q.Directory, strings.Trim(q.Package, "/")))
			if pkg.open(q.Workspace) != nil {
				continue
			}
			for _, p := range pkg.Published {
				if !p.Ref.Commit.IsZero() {
					published = append(published, p.Ref.Commit)
				}
			}
		}
	}
	if _, err := r.Commits(ctx, published...); err != nil {
		return err
	}
	return r.fetchThere(ctx, named)
}

// fetchThere brings those commits that are there. A server refuses all where one is not: then
// each half is asked for by itself.
func (r *Repo) fetchThere(ctx context.Context, commits []Hash) error {
	_, err := r.Commits(ctx, commits...)
	if !isMissing(err) {
		return err
	}
	if len(commits) < 2 {
		return nil
	}
	half := len(commits) / 2
	if err := r.fetchThere(ctx, commits[:half]); err != nil {
		return err
	}
	return r.fetchThere(ctx, commits[half:])
}

// resolver gives the names of one package.
type resolver struct {
	repo *Repo
	q    Query
	refs *Refs
	path string
	pkg  *PackageRefs
}

// Look finds a revision by one rule (revision.Names).
func (s *resolver) Look(ctx context.Context, rule revision.Rule, text string) (Resolved, bool, error) {
	switch rule {
	case revision.RuleLatest:
		if l := s.pkg.Latest(); l != nil {
			return s.published(*l), true, nil
		}
		if v, ok := revision.Highest(s.versions()); ok {
			return s.tag(s.path + "/" + v.Tag)
		}
	case revision.RuleWorkspace:
		return s.workspace(ctx, text)
	case revision.RuleRegistered:
		return s.registered()
	case revision.RuleRevision:
		for _, p := range s.pkg.Published {
			if strconv.Itoa(p.Number) == text {
				return s.published(p), true, nil
			}
		}
	case revision.RulePackageTag, revision.RuleRange:
		return s.tag(s.path + "/" + text)
	case revision.RuleTag:
		return s.tag(text)
	case revision.RuleBranch:
		if ref, ok := s.refs.Branch(text); ok {
			return s.byRef(ref), true, nil
		}
	case revision.RuleCommit:
		return s.commit(ctx, strings.ToLower(text))
	}
	return Resolved{}, false, nil
}

// Versions returns the tags <package>/v<semver> and <package>/<semver>, or else
// <package>/vN (revision.Names).
func (s *resolver) Versions(context.Context) ([]revision.Version, error) {
	out := s.versions()
	if len(out) == 0 {
		for _, p := range s.pkg.Published {
			out = append(out, revision.Published(p.Number))
		}
	}
	return out, nil
}

func (s *resolver) versions() (out []revision.Version) {
	for _, ref := range s.pkg.Tags {
		last := ref.Name[strings.LastIndexByte(ref.Name, '/')+1:]
		if v, ok := revision.ParseVersion(last); ok && !ref.Commit.IsZero() {
			out = append(out, revision.Version{Tag: last, Semver: v})
		}
	}
	return out
}

// None lists what there is of the package, or of like names (revision.Names).
func (s *resolver) None(_ context.Context, reason string, there []string) error {
	if there == nil {
		there = s.near(s.q.Revision)
	}
	return s.notFound(reason, there)
}

func (s *resolver) tag(name string) (Resolved, bool, error) {
	ref, ok := s.refs.Tag(name)
	if !ok || ref.Commit.IsZero() {
		return Resolved{}, false, nil
	}
	return s.byRef(ref), true, nil
}

func (s *resolver) published(p Revision) Resolved {
	res := s.byRef(p.Ref)
	res.Number, res.Lifecycle = p.Number, p.Lifecycle
	return res
}

func (s *resolver) byRef(ref Ref) Resolved {
	res := Resolved{Path: s.path, Commit: ref.Commit, FullRef: ref.Name}
	res.Ref = strings.TrimPrefix(strings.TrimPrefix(ref.Name, tagsPrefix), headsPrefix)
	for _, p := range s.pkg.Published {
		if p.Ref.Name == ref.Name {
			res.Number, res.Lifecycle = p.Number, p.Lifecycle
		}
	}
	for _, list := range [][]Revision{s.pkg.Drafts, s.pkg.Proposed} {
		for _, d := range list {
			if d.Ref.Name == ref.Name {
				res.Workspace, res.Lifecycle = d.Workspace, d.Lifecycle
			}
		}
	}
	return res
}

func (s *resolver) registered() (Resolved, bool, error) {
	ref, ok := s.refs.Branch(s.q.Branch)
	if !ok {
		return Resolved{}, false, s.notFound(fmt.Sprintf("the registered branch %q does not exist", s.q.Branch), s.branches())
	}
	res := s.byRef(ref)
	res.Rule = revision.RuleRegistered
	return res, true, nil
}

// commit finds a whole or abbreviated commit among what refs and the cache know;
// a whole one may be asked of the server.
func (s *resolver) commit(ctx context.Context, rev string) (Resolved, bool, error) {
	found := s.commits(rev)
	if len(found) != 1 {
		if len(found) == 0 {
			return Resolved{}, false, nil
		}
		return Resolved{}, false, s.notFound("the abbreviated commit is ambiguous", found)
	}
	h := plumbing.NewHash(found[0])
	if _, err := s.repo.Commits(ctx, h); err != nil {
		if isMissing(err) {
			err = s.notFound("the repository has no such commit, or its server gives out only those that a branch or tag names", s.near(rev))
		}
		return Resolved{}, false, err
	}
	return Resolved{Path: s.path, Commit: h, Ref: found[0]}, true, nil
}

// commits are the known commits that begin so, sorted.
func (s *resolver) commits(rev string) []string {
	if len(rev) == 40 {
		return []string{rev}
	}
	found := map[string]bool{}
	for _, ref := range s.refs.All() {
		if !ref.Commit.IsZero() && strings.HasPrefix(ref.Commit.String(), rev) {
			found[ref.Commit.String()] = true
		}
	}
	for _, h := range s.repo.commits.matching(rev) {
		found[h.String()] = true
	}
	if s.repo.local != nil {
		for _, h := range s.repo.localCommits(rev) {
			found[h.String()] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// workspace looks at Drafts and Proposed by ref, then at the annotations of
// Published revisions, then for Porch's placeholder, the registered branch.
func (s *resolver) workspace(ctx context.Context, ws string) (Resolved, bool, error) {
	if d := s.pkg.open(ws); d != nil {
		return s.byRef(d.Ref), true, nil
	}
	names, err := s.repo.PublishedWorkspaces(ctx, s.pkg)
	if err != nil {
		return Resolved{}, false, err
	}
	for _, p := range slices.Backward(s.pkg.Published) {
		if names[p.Ref.Name] == ws {
			res := s.published(p)
			res.Workspace = ws
			return res, true, nil
		}
	}
	if ws == s.q.Branch {
		return s.registered()
	}
	return Resolved{}, false, s.notFound("it has no such workspace", s.workspaces(names))
}

// open is the Draft or Proposed revision of a workspace, nil where there is none.
func (p *PackageRefs) open(workspace string) *Revision {
	for _, list := range [][]Revision{p.Drafts, p.Proposed} {
		for i := range list {
			if list[i].Workspace == workspace {
				return &list[i]
			}
		}
	}
	return nil
}

// workspaces are those that there are, nearest first; published names those of
// Published revisions by their tags.
func (s *resolver) workspaces(published map[string]string) []string {
	var there []string
	for _, p := range s.pkg.Published {
		there = append(there, published[p.Ref.Name])
	}
	for _, list := range [][]Revision{s.pkg.Drafts, s.pkg.Proposed} {
		for _, d := range list {
			there = append(there, d.Workspace)
		}
	}
	if len(there) == 0 {
		there = s.near("")
	}
	return nearest(s.q.Workspace, there)
}

// PublishedWorkspaces gives the workspace of each Published revision, by the full
// name of its tag: from Porch's annotation on the tagged commit, vN where it has
// none, as in Porch.
func (r *Repo) PublishedWorkspaces(ctx context.Context, p *PackageRefs) (map[string]string, error) {
	hashes := make([]Hash, 0, len(p.Published))
	for _, rev := range p.Published {
		if !rev.Ref.Commit.IsZero() {
			hashes = append(hashes, rev.Ref.Commit)
		}
	}
	if _, err := r.Commits(ctx, hashes...); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(p.Published))
	for _, rev := range p.Published {
		out[rev.Ref.Name] = "v" + strconv.Itoa(rev.Number)
		if c := r.commits.get(rev.Ref.Commit); c != nil {
			if ws := c.workspaceOf(p.Path); ws != "" {
				out[rev.Ref.Name] = ws
			}
		}
	}
	return out, nil
}

// workspaceOf reads Porch's annotation for a package path.
func (c *Commit) workspaceOf(path string) string {
	for _, a := range c.Annotations {
		if a.Package == path && a.WorkspaceName != "" {
			return a.WorkspaceName
		}
	}
	return ""
}

func (s *resolver) notFound(reason string, available []string) error {
	return &NotFoundError{Query: s.q, URL: s.repo.URL(), Reason: reason, Available: available}
}

// near lists the package's revisions, or, where it has none, packages of like
// names, and the branches.
func (s *resolver) near(rev string) []string {
	var names []string
	for i := len(s.pkg.Published) - 1; i >= 0; i-- {
		names = append(names, "v"+strconv.Itoa(s.pkg.Published[i].Number))
	}
	for _, t := range s.pkg.Tags {
		names = append(names, strings.TrimPrefix(t.Name, tagsPrefix+s.path+"/"))
	}
	if len(names) > 0 {
		return nearest(rev, names)
	}
	var others []string
	for _, p := range s.refs.indexOf(s.q.Directory).Packages() {
		if p != s.path {
			others = append(others, "package "+p)
		}
	}
	others = nearest("package "+s.path, others)
	return append(others[:min(len(others), 5)], s.branches()...)
}

func (s *resolver) branches() []string {
	var out []string
	for _, ref := range s.refs.All() {
		name, ok := strings.CutPrefix(ref.Name, headsPrefix)
		if ok && !containsAny(ref.Name, draftsPrefix, proposedPrefix, deletionPrefix) {
			out = append(out, "branch "+name)
		}
	}
	return nearest("branch "+s.q.Revision, out)
}

// nearest sorts names by edit distance to want, keeping the order among equals.
func nearest(want string, names []string) []string {
	if want == "" {
		return names
	}
	out := append([]string(nil), names...)
	if len(out) > 2000 {
		return out
	}
	dist := make(map[string]int, len(out))
	for _, n := range out {
		dist[n] = distance(want, n)
	}
	sort.SliceStable(out, func(i, j int) bool { return dist[out[i]] < dist[out[j]] })
	return out
}

// distance is Levenshtein's.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
