// Package forge speaks to the servers that hold Git repositories and have pull
// requests: GitHub, GitLab, Gitea and Forgejo. It reads requests, opens, changes
// and closes them, sets checks of commits, and keeps nothing: what is to be there is
// decided in internal/pulls.
//
// A forge of another kind is a file with an adapter, and a line in kinds.
package forge

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/wire"
)

// Annotation of a Repository says which program its forge is, and where it is where
// that does not follow from the repository's address: "gitea", or
// "gitea https://git.example.com".
const Annotation = "variform.dev/forge"

// What a forge can be.
const (
	Gitea  = "gitea" // and Forgejo
	GitHub = "github"
	GitLab = "gitlab"
)

// Client speaks to one repository's forge. It is safe for concurrent use.
type Client struct{ pulls.Forge }

// kind is what differs between forges beside their requests.
type kind struct {
	name  string
	hosts map[string]string // those that are known to be of it, with the host that they are reached at
	// under says that repositories are in groups of any depth, not in an owner's one.
	under bool
	// api is where a forge's API is.
	api func(root *url.URL) *url.URL
	// repo is where a repository is in it.
	repo func(path string) string
	// sign puts a login into a request. A token is a password without a user.
	sign func(r *http.Request, user, password string)
	// tokens are the variables of the environment that hold one.
	tokens []token
	// needs is what a token has to be allowed to do, and advice what else to do where a
	// login is refused.
	needs, advice string
	// ownersFiles are where it looks for code owners, the first that is there counts, and
	// ownersRules reads them.
	ownersFiles []string
	ownersRules func(o *Owners, lines [][]string)
	adapter     func(*conn) pulls.Forge
}

var kinds = map[string]*kind{
	Gitea:  &gitea,
	GitHub: &github,
	GitLab: &gitlab,
}

func kindNames() string {
	return strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")
}

// kindOf is the kind of a host that is known, nil for others.
func kindOf(host string) (k *kind, at string) {
	host = strings.ToLower(host)
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		if at := k.hosts[host]; at != "" {
			return k, at
		}
	}
	if strings.HasSuffix(host, tenants) {
		return &github, host
	}
	return nil, ""
}

// reposOf is where most have a repository.
func reposOf(path string) string {
	owner, name, _ := strings.Cut(path, "/")
	return "repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name)
}

// bearer signs as OAuth does. A login's user is not needed.
func bearer(r *http.Request, _, password string) {
	if password != "" {
		r.Header.Set("Authorization", "Bearer "+password)
	}
}

// Place is one repository on a forge.
type Place struct {
	Kind string
	Root *url.URL // of the forge
	Path string   // owner/name, or with all groups that it is in
}

// Known says that a repository's forge can be told: it is annotated, or on a host
// that everybody knows.
func Known(address, annotation string) bool {
	if strings.TrimSpace(annotation) != "" {
		return true
	}
	at, err := parseAddress(address)
	if err != nil {
		return false
	}
	k, _ := kindOf(at.Hostname())
	return k != nil
}

// Locate finds a repository's place by its Git address and its annotation, "" where
// it has none.
func Locate(address, annotation string) (Place, error) {
	name, root, _ := strings.Cut(strings.TrimSpace(annotation), " ")
	k := kinds[name]
	if name != "" && k == nil {
		return Place{}, fmt.Errorf("%s: %q is no forge that pull requests can be made on: there are %s; %s is Forgejo's, too", Annotation, name, kindNames(), Gitea)
	}
	at, err := parseAddress(address)
	if err != nil {
		return Place{}, err
	}
	known, host := kindOf(at.Hostname())
	if k == nil {
		if k = known; k == nil {
			return Place{}, fmt.Errorf("its Repository does not say which forge it is on: set the annotation %s, to one of %s, or to \"%s https://git.example.com\"", Annotation, kindNames(), Gitea)
		}
	}
	segs := strings.Split(strings.Trim(strings.TrimSuffix(strings.TrimRight(at.Path, "/"), ".git"), "/"), "/")
	p := Place{Kind: k.name}
	switch root = strings.TrimSpace(root); {
	case root != "":
		if p.Root, err = url.Parse(root); err != nil || p.Root.Scheme != "https" && p.Root.Scheme != "http" || p.Root.Host == "" || p.Root.User != nil {
			return Place{}, fmt.Errorf("%s: %q is no https address of a forge", Annotation, wire.Redact(root))
		}
		p.Root = p.Root.JoinPath("/")
		if folder := strings.Split(strings.Trim(p.Root.Path, "/"), "/"); k.under && len(segs) > len(folder) && slices.Equal(segs[:len(folder)], folder) {
			segs = segs[len(folder):] // the forge's, no group
		}
	case known == k:
		p.Root = &url.URL{Scheme: "https", Host: host, Path: "/"}
	case at.Scheme != "https" && at.Scheme != "http":
		return Place{}, fmt.Errorf("the address %s does not say where the forge's API is: write it after the kind, as in %s: %s https://%s", wire.Redact(address), Annotation, k.name, at.Hostname())
	default:
		p.Root = &url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/"}
		if !k.under && len(segs) > 2 {
			p.Root.Path += strings.Join(segs[:len(segs)-2], "/") + "/"
		}
	}
	if !k.under && len(segs) > 2 {
		segs = segs[len(segs)-2:]
	}
	if len(segs) < 2 || slices.ContainsFunc(segs, func(s string) bool { return s == "" || s == "." || s == ".." }) {
		return Place{}, fmt.Errorf("the address %s names no owner and repository of a forge", wire.Redact(address))
	}
	p.Path = strings.Join(segs, "/")
	return p, nil
}

// parseAddress reads a Git address, ssh's short form too.
func parseAddress(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		host, path, ok := strings.Cut(address, ":")
		if !ok || strings.Contains(host, "/") {
			return nil, fmt.Errorf("%s is on no forge", wire.Redact(address))
		}
		return &url.URL{Scheme: "ssh", Host: host[strings.LastIndexByte(host, '@')+1:], Path: "/" + path}, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%s is on no forge", wire.Redact(address))
	}
	return u, nil
}

// Login gives what to sign in with at an address, both empty where there is nothing.
// A user without a name means that the password is a token.
type Login func(ctx context.Context, address string) (user, password string, err error)

// token is a variable of the environment that has one, for the server that the first
// of servers names which is set.
type token struct {
	name    string
	servers []string
	server  string // where none of them is set, "" for none
}

// TokenOf is a token of the environment for a forge, "" where there is none. Each is
// for one server: a fleet's files may name any.
func TokenOf(address string, env func(string) string) string {
	at, err := url.Parse(address)
	if err != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		for _, t := range kinds[name].tokens {
			if value := env(t.name); value != "" && wire.OriginOf(at) == t.origin(env) {
				return value
			}
		}
	}
	return ""
}

// origin is the server that a token is for, "" where that is none.
func (t *token) origin(env func(string) string) wire.Origin {
	server := t.server
	for _, name := range slices.Backward(t.servers) {
		if named := env(name); named != "" {
			server = named
		}
	}
	if server != "" && !strings.Contains(server, "://") {
		server = "https://" + server // a host alone
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return ""
	}
	return wire.OriginOf(u)
}
