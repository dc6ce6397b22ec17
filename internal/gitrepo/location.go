package gitrepo

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/wire"
)

// location is a parsed repository address.
type location struct {
	display  string // as the user wrote it, without secrets
	key      string // equal for addresses of one repository
	local    string // absolute path; "" for a remote one
	endpoint transport.Endpoint
	user     string // from the URL's userinfo, http(s) only
	password string
}

func (l *location) http() bool {
	return l.endpoint.Protocol == "http" || l.endpoint.Protocol == "https"
}

// url is the address of an http(s) repository, without userinfo.
func (l *location) url() *url.URL {
	u, err := url.Parse(l.key)
	if err != nil {
		return &url.URL{}
	}
	return u
}

var scpForm = lazyregexp.New(`^(?:[^@/:\s]+@)?(?:\[[0-9a-fA-F:]+\]|[^/:\s]{2,}):[^:].*$`)

// parseLocation understands local paths, file://, http(s)://, ssh://, git://
// and the scp form. Its errors never hold the userinfo.
func parseLocation(raw string) (*location, error) {
	raw = strings.TrimSpace(raw)
	switch {
	case raw == "":
		return nil, fmt.Errorf("the repository address is empty")
	case strings.ContainsAny(raw, "\x00\n\r"):
		return nil, fmt.Errorf("the repository address %q holds control characters", wire.Redact(raw))
	case strings.Contains(raw, "://"):
		return parseURL(raw)
	case strings.Contains(raw, "::"):
		return nil, errKind(ErrUnsupported, "the repository address %q: remote helpers (%q) are not supported", wire.Redact(raw), "::")
	case scpForm.MatchString(raw):
		return parseSCP(raw)
	}
	return parsePath(raw, raw)
}

func parseURL(raw string) (*location, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the repository address %q is not a URL", wire.Redact(raw))
	}
	switch scheme := strings.ToLower(u.Scheme); scheme {
	case "file":
		if u.Host != "" && u.Host != "localhost" {
			return nil, fmt.Errorf("the repository address %q names a host: write file:///path", raw)
		}
		return parsePath(raw, filepath.FromSlash(u.Path))
	case "http", "https":
		return parseHTTP(raw, u, scheme)
	case "ssh", "git+ssh", "ssh+git", "git":
		return parseSSH(raw, u, scheme)
	default:
		return nil, errKind(ErrUnsupported, "the repository address %q: scheme %q is not one of file, http, https, ssh, git", wire.Redact(raw), u.Scheme)
	}
}

func parseHTTP(raw string, u *url.URL, scheme string) (*location, error) {
	if u.Host == "" {
		return nil, fmt.Errorf("the repository address %q has no host", wire.Redact(raw))
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the repository address %q has a query or a fragment", wire.Redact(strings.SplitN(raw, "?", 2)[0]))
	}
	l := &location{display: wire.Redact(raw)}
	if u.User != nil {
		l.user = u.User.Username()
		l.password, _ = u.User.Password()
	}
	for _, part := range []string{u.Host, u.Path, l.user, l.password} {
		if strings.ContainsFunc(part, unicode.IsControl) { // written as %0a: a line of its own to a credential helper
			return nil, fmt.Errorf("the repository address %q holds control characters", l.display)
		}
	}
	clean := *u
	clean.User, clean.Scheme = nil, scheme
	clean.Path = strings.TrimRight(clean.Path, "/")
	clean.RawPath = strings.TrimRight(clean.RawPath, "/")
	ep, err := transport.NewEndpoint(clean.String())
	if err != nil {
		return nil, fmt.Errorf("the repository address %q is not understood", l.display)
	}
	l.endpoint = *ep
	clean.Host = strings.ToLower(clean.Host)
	l.key = clean.String()
	return l, nil
}

func parseSSH(raw string, u *url.URL, scheme string) (*location, error) {
	if u.Host == "" {
		return nil, fmt.Errorf("the repository address %q has no host", wire.Redact(raw))
	}
	clean := *u
	if scheme != "git" {
		clean.Scheme = "ssh"
	}
	ep, err := transport.NewEndpoint(clean.String())
	if err != nil {
		return nil, fmt.Errorf("the repository address %q is not understood", wire.Redact(raw))
	}
	ep.Password = "" // keys only: the user's agent
	l := &location{display: wire.Redact(raw), endpoint: *ep}
	l.key = ep.String()
	return l, nil
}

func parseSCP(raw string) (*location, error) {
	ep, err := transport.NewEndpoint(raw)
	if err != nil || ep.Protocol != "ssh" {
		return nil, fmt.Errorf("the repository address %q is not understood", raw)
	}
	l := &location{display: raw, key: ep.String(), endpoint: *ep}
	if ep.Port == sshPort { // of go-git; an alias may have another
		l.endpoint.Port = 0
	}
	return l, nil
}

const sshPort = 22

func parsePath(raw, path string) (*location, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("the repository path %q: %w", raw, err)
	}
	real := abs
	if r, err := filepath.EvalSymlinks(abs); err == nil {
		real = r
	}
	l := &location{display: raw, key: "file://" + filepath.ToSlash(real), local: abs}
	l.endpoint = transport.Endpoint{Protocol: "file", Path: abs}
	return l, nil
}

// Key is one text for all spellings of an address that this package takes for one;
// of what is no address, the address itself.
func Key(address string) string {
	l, err := parseLocation(address)
	if err != nil {
		return wire.Redact(address)
	}
	return l.key
}

// Display is an address as its user wrote it, without secrets; "" where it is
// none. Repo.URL gives the spelling of whoever opened the repository first.
func Display(address string) string {
	l, err := parseLocation(address)
	if err != nil {
		return ""
	}
	return l.display
}
