package wire

import (
	"net/url"
	"strings"

	"github.com/variform/variform/internal/lazyregexp"
)

// Redact is a URL without its password, and without a user that may be a token:
// only ssh's, which is no secret, stays. The text need not be a URL that can be
// parsed; what has no scheme is left as it is.
func Redact(raw string) string {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return raw
	}
	host, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	at := strings.LastIndexByte(host, '@')
	if at < 0 {
		if at = strings.LastIndexByte(rest, '@'); at >= 0 && strings.Contains(host, ":") && !portForm.MatchString(host) {
			return scheme + "://" + rest[at+1:] // a slash inside the password
		}
		return raw
	}
	user, _, _ := strings.Cut(host[:at], ":")
	if !keepsUser(scheme, user) {
		return scheme + "://" + host[at+1:] + path
	}
	return scheme + "://" + user + host[at:] + path
}

func keepsUser(scheme, user string) bool {
	plain, err := url.PathUnescape(user)
	return strings.Contains(strings.ToLower(scheme), "ssh") && err == nil && user != "" && !strings.Contains(plain, ":")
}

// portForm is a host with or without a port.
var portForm = lazyregexp.New(`^(?:\[[^\]]*\]|[^:]*)(?::\d*)?$`)
