package gitrepo

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

const (
	headsPrefix    = "refs/heads/"
	tagsPrefix     = "refs/tags/"
	draftsPrefix   = lifecycle.DraftsPrefix
	proposedPrefix = lifecycle.ProposedPrefix
	deletionPrefix = lifecycle.DeletionPrefix
)

// Revision is one package revision as the refs tell it.
type Revision struct {
	Package   string // full path in the repository: directory and package
	Workspace string // "" where Published: see Repo.PublishedWorkspaces
	Number    int    // N of vN; 0 for Draft and Proposed
	Lifecycle lifecycle.Phase
	Ref       Ref // the branch, or the tag vN
	Deletion  Ref // the deletionProposed branch, where DeletionProposed
}

// PackageRefs are all revisions of one package path.
type PackageRefs struct {
	Path      string
	Drafts    []Revision // by workspace, packagevariant-N by number
	Proposed  []Revision // likewise
	Published []Revision // by Number ascending; DeletionProposed ones included
	Tags      []Ref      // the other tags <path>/<x> (semver, floating), by name
}

// Latest is the highest Published revision; nil where there is none.
func (p *PackageRefs) Latest() *Revision {
	if len(p.Published) == 0 {
		return nil
	}
	return &p.Published[len(p.Published)-1]
}

// decimal reads digits without sign or leading zero.
func decimal(s string) (int, bool) {
	if s == "" || len(s) > 9 || s[0] == '0' && s != "0" {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// isPublished reports whether a ref is the tag of a Published revision.
func isPublished(ref string) bool {
	rest, tag := strings.CutPrefix(ref, tagsPrefix)
	_, name, ofPackage := splitRef(rest, "")
	_, numbered := revisionNumber(name)
	return tag && ofPackage && numbered
}

// Index is all package revisions of a repository, by package path. Shared: read only.
type Index struct {
	packages map[string]*PackageRefs
	paths    []string
}

// Package returns one package's refs; never nil, empty where the path has none.
func (x *Index) Package(path string) *PackageRefs {
	if p, ok := x.packages[path]; ok {
		return p
	}
	return &PackageRefs{Path: path}
}

// Packages lists the paths that have a Draft, a Proposed or a Published revision, sorted.
func (x *Index) Packages() []string { return x.paths }

// Tagged lists, sorted, all paths that a tag <path>/<x> names, those without a
// package revision (see Packages) among them.
func (x *Index) Tagged() []string {
	var out []string
	for path, p := range x.packages {
		if len(p.Published)+len(p.Tags) > 0 {
			out = append(out, path)
		}
	}
	sort.Strings(out)
	return out
}

// newIndex reads refs, sorted by name, in one pass. Only packages below
// directory count; "" is all.
func newIndex(refs *Refs, directory string) *Index {
	x := &Index{packages: map[string]*PackageRefs{}}
	within := ""
	if directory = strings.Trim(directory, "/"); directory != "" {
		within = directory + "/"
	}
	deletions := map[string]Ref{}
	for _, ref := range refs.All() {
		x.add(ref, within, deletions)
	}
	x.finish(deletions)
	return x
}

func (x *Index) add(ref Ref, within string, deletions map[string]Ref) {
	name := ref.Name
	switch {
	case strings.HasPrefix(name, draftsPrefix):
		if pkg, last, ok := splitRef(name[len(draftsPrefix):], within); ok {
			p := x.at(pkg)
			p.Drafts = append(p.Drafts, Revision{Package: pkg, Workspace: last, Lifecycle: lifecycle.Draft, Ref: ref})
		}
	case strings.HasPrefix(name, proposedPrefix):
		if pkg, last, ok := splitRef(name[len(proposedPrefix):], within); ok {
			p := x.at(pkg)
			p.Proposed = append(p.Proposed, Revision{Package: pkg, Workspace: last, Lifecycle: lifecycle.Proposed, Ref: ref})
		}
	case strings.HasPrefix(name, deletionPrefix):
		deletions[name[len(deletionPrefix):]] = ref
	case strings.HasPrefix(name, tagsPrefix):
		x.addTag(ref, within)
	}
}

func (x *Index) addTag(ref Ref, within string) {
	pkg, last, ok := splitRef(ref.Name[len(tagsPrefix):], within)
	if !ok {
		return
	}
	p := x.at(pkg)
	if n, ok := revisionNumber(last); ok {
		p.Published = append(p.Published, Revision{Package: pkg, Number: n, Lifecycle: lifecycle.Published, Ref: ref})
		return
	}
	p.Tags = append(p.Tags, ref)
}

// revisionNumber reads vN, N from 1.
func revisionNumber(s string) (int, bool) {
	digits, ok := strings.CutPrefix(s, "v")
	if !ok {
		return 0, false
	}
	n, ok := decimal(digits)
	return n, ok && n > 0
}

func (x *Index) at(path string) *PackageRefs {
	p, ok := x.packages[path]
	if !ok {
		p = &PackageRefs{Path: path}
		x.packages[path] = p
	}
	return p
}

func (x *Index) finish(deletions map[string]Ref) {
	for path, p := range x.packages {
		byWorkspace(p.Drafts)
		byWorkspace(p.Proposed)
		sort.Slice(p.Published, func(i, j int) bool { return p.Published[i].Number < p.Published[j].Number })
		for i := range p.Published {
			r := &p.Published[i]
			if d, ok := deletions[fmt.Sprintf("%s/v%d", path, r.Number)]; ok {
				r.Lifecycle, r.Deletion = lifecycle.DeletionProposed, d
			}
		}
		if len(p.Drafts)+len(p.Proposed)+len(p.Published) > 0 {
			x.paths = append(x.paths, path)
		}
	}
	sort.Strings(x.paths)
}

func byWorkspace(rs []Revision) {
	sort.Slice(rs, func(i, j int) bool {
		a, b := lifecycle.WorkspaceNumber(rs[i].Workspace), lifecycle.WorkspaceNumber(rs[j].Workspace)
		if a > 0 && b > 0 {
			return a < b
		}
		return rs[i].Workspace < rs[j].Workspace
	})
}

// splitRef cuts <path>/<last>, the path being all before the last segment.
func splitRef(rest, within string) (path, last string, ok bool) {
	i := strings.LastIndexByte(rest, '/')
	if i <= 0 || i == len(rest)-1 || !strings.HasPrefix(rest, within) || i < len(within) {
		return "", "", false
	}
	return rest[:i], rest[i+1:], true
}

// checkRefName applies git's rules for full ref names.
func checkRefName(name string) error {
	bad := func(why string) error { return fmt.Errorf("%q is not a valid ref name: %s", name, why) }
	if !isOurs(name) {
		return bad("it must begin with " + headsPrefix + ", " + tagsPrefix + " or " + record.RefPrefix)
	}
	if strings.ContainsAny(name, " ~^:?*[\\\x7f") || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return bad("it holds a character that git does not allow")
	}
	for _, c := range []byte(name) {
		if c < 0x20 {
			return bad("it holds a control character")
		}
	}
	for _, seg := range strings.Split(name, "/") {
		if seg == "" || strings.HasPrefix(seg, ".") || strings.HasSuffix(seg, ".lock") || strings.HasSuffix(seg, ".") {
			return bad("a part of it is empty, begins or ends with a dot, or ends with .lock")
		}
	}
	return nil
}
