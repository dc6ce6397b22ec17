package gitrepo

import (
	"context"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/lifecycle"
)

// Query names an upstream revision (design section 3). With both Revision and
// Workspace, Revision decides.
type Query struct {
	Directory, Package  string
	Revision, Workspace string
	Branch              string // the registered branch; "main" where empty
}

// Rule says which rule of design section 3 found a revision.
type Rule string

// The rules, in the order in which they are tried.
const (
	RuleRevision   Rule = "revision"          // N or vN: tag <package>/vN
	RulePackageTag Rule = "package tag"       // tag <package>/<revision>
	RuleTag        Rule = "tag"               // tag <revision>
	RuleBranch     Rule = "branch"            // branch <revision>
	RuleCommit     Rule = "commit"            // commit, whole or abbreviated
	RuleRange      Rule = "range"             // semver range over tags <package>/v<semver>
	RuleLatest     Rule = "latest"            // nothing asked: the highest Published
	RuleWorkspace  Rule = "workspace"         // workspaceName
	RuleRegistered Rule = "registered branch" // -1: the registered branch's content
)

// Resolved is where a Query led. The commit need not be fetched yet, nor is it
// known yet whether it has the package: see Repo.Fetch and Repo.TreeAt.
type Resolved struct {
	Path      string // of the package in the repository
	Commit    Hash
	Ref       string // for upstream.git.ref: a tag's or branch's short name, or the commit
	FullRef   string // "" where it is a commit
	Rule      Rule
	Number    int       // of a Published revision; 0 otherwise
	Workspace string    // where the query or the ref names it
	Lifecycle Lifecycle // where it is a package revision; "" otherwise
}

// Resolve finds the commit of a revision. *NotFoundError lists what there is.
func (r *Repo) Resolve(ctx context.Context, q Query) (Resolved, error) {
	q.Package = strings.Trim(q.Package, "/")
	if q.Branch == "" {
		q.Branch = "main"
	}
	refs := r.Refs()
	s := &resolver{repo: r, ctx: ctx, q: q, refs: refs, path: PackagePath(q.Directory, q.Package)}
	s.pkg = refs.indexOf("").Package(s.path)
	if s.path == "" {
		return Resolved{}, s.notFound("the package has no name", nil)
	}
	switch {
	case q.Revision != "":
		return s.revision(strings.TrimSpace(q.Revision))
	case q.Workspace != "":
		return s.workspace()
	}
	if l := s.pkg.Latest(); l != nil {
		return s.published(*l, RuleLatest), nil
	}
	return Resolved{}, s.notFound("no revision of it is Published", s.near(""))
}

type resolver struct {
	repo *Repo
	ctx  context.Context //nolint:containedctx // lives for one call
	q    Query
	refs *Refs
	path string
	pkg  *PackageRefs
}

func (s *resolver) revision(rev string) (Resolved, error) {
	if rev == "-1" {
		return s.registered()
	}
	if n, ok := lifecycle.Number(rev); ok && n > 0 {
		for _, p := range s.pkg.Published {
			if p.Number == n {
				return s.published(p, RuleRevision), nil
			}
		}
	}
	if ref, ok := s.refs.Tag(s.path + "/" + rev); ok && !ref.Commit.IsZero() {
		return s.byRef(ref, RulePackageTag), nil
	}
	if ref, ok := s.refs.Tag(rev); ok && !ref.Commit.IsZero() {
		return s.byRef(ref, RuleTag), nil
	}
	if ref, ok := s.refs.Branch(rev); ok {
		return s.byRef(ref, RuleBranch), nil
	}
	if commitForm.MatchString(rev) {
		return s.commit(strings.ToLower(rev))
	}
	if lifecycle.IsRange(rev) {
		return s.semverRange(rev)
	}
	return Resolved{}, s.notFound("no tag, branch or commit has that name", s.near(rev))
}

var commitForm = regexp.MustCompile(`^[0-9a-fA-F]{4,40}$`)

func (s *resolver) published(p Revision, rule Rule) Resolved {
	res := s.byRef(p.Ref, rule)
	res.Number, res.Lifecycle = p.Number, p.Lifecycle
	return res
}

func (s *resolver) byRef(ref Ref, rule Rule) Resolved {
	res := Resolved{Path: s.path, Commit: ref.Commit, FullRef: ref.Name, Rule: rule}
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

func (s *resolver) registered() (Resolved, error) {
	ref, ok := s.refs.Branch(s.q.Branch)
	if !ok {
		return Resolved{}, s.notFound(fmt.Sprintf("the registered branch %q does not exist", s.q.Branch), s.branches())
	}
	return s.byRef(ref, RuleRegistered), nil
}

// commit finds a whole or abbreviated commit among what refs and the cache know;
// a whole one may be asked of the server.
func (s *resolver) commit(rev string) (Resolved, error) {
	found := map[Hash]bool{}
	for _, ref := range s.refs.All() {
		if !ref.Commit.IsZero() && strings.HasPrefix(ref.Commit.String(), rev) {
			found[ref.Commit] = true
		}
	}
	for _, h := range s.repo.commits.matching(rev) {
		found[h] = true
	}
	if s.repo.local != nil && len(rev) < 40 {
		for _, h := range s.repo.localCommits(rev) {
			found[h] = true
		}
	}
	if len(rev) == 40 {
		found = map[Hash]bool{plumbing.NewHash(rev): true}
	}
	switch len(found) {
	case 0:
		return Resolved{}, s.notFound("no tag or branch has that name, and no known commit begins so", s.near(rev))
	case 1:
	default:
		var names []string
		for h := range found {
			names = append(names, h.String())
		}
		sort.Strings(names)
		return Resolved{}, s.notFound("the abbreviated commit is ambiguous", names)
	}
	for h := range found {
		if _, err := s.repo.Commits(s.ctx, h); err != nil {
			if isMissing(err) {
				return Resolved{}, s.notFound("the repository has no such commit, or its server gives out only those that a branch or tag names", s.near(rev))
			}
			return Resolved{}, err
		}
		return Resolved{Path: s.path, Commit: h, Ref: h.String(), Rule: RuleCommit}, nil
	}
	return Resolved{}, nil
}

func (s *resolver) semverRange(rev string) (Resolved, error) {
	c, err := semver.NewConstraint(rev)
	if err != nil {
		return Resolved{}, s.notFound("it is no tag, branch or commit, and does not read as a version range", s.near(rev))
	}
	type candidate struct {
		v   *semver.Version
		ref Ref
	}
	var all []candidate
	for _, ref := range s.pkg.Tags {
		last := ref.Name[strings.LastIndexByte(ref.Name, '/')+1:]
		digits, ok := strings.CutPrefix(last, "v")
		if !ok || ref.Commit.IsZero() {
			continue
		}
		if v, err := semver.StrictNewVersion(digits); err == nil {
			all = append(all, candidate{v, ref})
		}
	}
	sort.Slice(all, func(i, j int) bool {
		if c := all[i].v.Compare(all[j].v); c != 0 {
			return c > 0
		}
		return all[i].ref.Name > all[j].ref.Name // differing in build metadata alone
	})
	names := make([]string, 0, len(all))
	for _, x := range all {
		if c.Check(x.v) {
			return s.byRef(x.ref, RuleRange), nil
		}
		names = append(names, "v"+x.v.Original())
	}
	if len(all) == 0 {
		return Resolved{}, s.notFound(fmt.Sprintf("a version range looks at tags %s/v<major>.<minor>.<patch>, and there are none", s.path), s.near(""))
	}
	return Resolved{}, s.notFound("no version is in that range (prereleases only where the range names one)", names)
}

// workspace looks at Drafts and Proposed by ref, then at the annotations of
// Published revisions, then for Porch's placeholder, the registered branch.
func (s *resolver) workspace() (Resolved, error) {
	ws := s.q.Workspace
	for _, list := range [][]Revision{s.pkg.Drafts, s.pkg.Proposed} {
		for _, d := range list {
			if d.Workspace == ws {
				return s.byRef(d.Ref, RuleWorkspace), nil
			}
		}
	}
	names, err := s.repo.PublishedWorkspaces(s.ctx, s.pkg)
	if err != nil {
		return Resolved{}, err
	}
	for i := len(s.pkg.Published) - 1; i >= 0; i-- {
		if p := s.pkg.Published[i]; names[p.Ref.Name] == ws {
			res := s.published(p, RuleWorkspace)
			res.Workspace = ws
			return res, nil
		}
	}
	if ws == s.q.Branch {
		return s.registered()
	}
	var there []string
	for _, p := range s.pkg.Published {
		there = append(there, names[p.Ref.Name])
	}
	for _, list := range [][]Revision{s.pkg.Drafts, s.pkg.Proposed} {
		for _, d := range list {
			there = append(there, d.Workspace)
		}
	}
	if len(there) == 0 {
		there = s.near("")
	}
	return Resolved{}, s.notFound("it has no such workspace", nearest(ws, there))
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
