package decide

import (
	"slices"
	"strings"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

// Repository is what is known of one Repository object and of what is behind
// it. Read only once it was read.
type Repository struct {
	Namespace, Name string
	// Address is the Repository's own spelling: another Repository of the same
	// Git repository must not change what is written into packages.
	Address string
	// Git is the address of the Git repository behind it, Registry that of a
	// registry; both are empty where it could not be read.
	Git, Registry string
	// Dir is the folder that holds its packages, Branch the registered branch
	// and Head its commit. Head is zero only where the first approval may create
	// the branch (Registered).
	Dir, Branch string
	Head        Hash
	Deployment  bool
	Annotations map[string]string
	Labels      map[string]string
	// Records says that this manager's record of it is kept, and could be read;
	// Recorded is it, nil where there is none yet.
	Records  bool
	Recorded *record.Record
	// Others are the records of other fleets there, where packages are wanted or
	// this manager's.
	Others []*record.Record
	// Packages are those with revisions, by path.
	Packages map[string]*Package
	// Wanted are the paths at which a wanted package is to stand.
	Wanted map[string]bool
}

// Path is where a package stands in the Git repository.
func (r *Repository) Path(pkg string) string { return lifecycle.PackagePath(r.Dir, pkg) }

// Below is a path's package: what follows the Repository's folder.
func (r *Repository) Below(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, r.Dir), "/")
}

// Package is what the repository holds at a path; never nil.
func (r *Repository) Package(path string) *Package {
	if p := r.Packages[path]; p != nil {
		return p
	}
	p := NewPackage(path, nil)
	p.Entries, p.Others = r.Recorded.Package(path), r.Others
	return p
}

// Paths lists the paths of its packages, sorted.
func (r *Repository) Paths() []string {
	out := make([]string, 0, len(r.Packages))
	for p := range r.Packages {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// Place is a folder of the Git repository, "" for all of it, however its address is
// written: Repositories may spell one address in several ways.
func (r *Repository) Place(path string) Place { return Place{PlainAddress(r.Git), path} }

// closer says whether a package is rather r's than other's: where several
// Repositories show it, it is the one's that a variant wants it in, else the
// innermost's.
func (r *Repository) closer(other *Repository, path string) bool {
	if r.Wanted[path] != other.Wanted[path] {
		return r.Wanted[path]
	}
	return len(r.Dir) > len(other.Dir)
}

// SameAddress reports whether two addresses are one repository's.
func SameAddress(a, b string) bool { return PlainAddress(a) == PlainAddress(b) }

// PlainAddress is a repository's address without what makes no difference: how it
// is reached (https, ssh and their default ports, a user), .git, and the case of
// the host's name.
func PlainAddress(url string) string {
	url = strings.TrimPrefix(strings.TrimSuffix(strings.TrimRight(url, "/"), ".git"), "file://")
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		// git@host:path, but no path of Windows.
		host, path, scp := strings.Cut(url, ":")
		if !scp || len(host) < 2 || strings.ContainsAny(host, "/\\") {
			return url
		}
		scheme, rest = "ssh", host+"/"+strings.TrimLeft(path, "/")
	}
	host, path, _ := strings.Cut(rest, "/")
	host = strings.ToLower(host[strings.LastIndex(host, "@")+1:])
	host = strings.TrimSuffix(host, map[string]string{"https": ":443", "http": ":80", "ssh": ":22"}[strings.ToLower(scheme)])
	return host + "/" + path
}
