// Package wire has what the adapters' HTTP requests share: whom a login belongs
// to, and what a request may cost.
package wire

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Origin is a server as logins are kept for it: scheme, host and port, so that
// none is sent to another by a redirect. "https://git.example.com:443".
type Origin string

// OriginOf is the origin of an address. A port that is not written is the
// scheme's own; letter case does not count.
func OriginOf(u *url.URL) Origin {
	scheme := strings.ToLower(u.Scheme)
	port := strings.TrimLeft(u.Port(), "0")
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return Origin(scheme + "://" + net.JoinHostPort(asciiLower(u.Hostname()), port))
}

// asciiLower leaves other alphabets alone: mapping them could make one host of two.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Shown is the origin as a person writes it: without the scheme's own port.
func (o Origin) Shown() string {
	s := string(o)
	for scheme, port := range map[string]string{"http://": ":80", "https://": ":443"} {
		if strings.HasPrefix(s, scheme) {
			s = strings.TrimSuffix(s, port)
		}
	}
	return s
}

// Exposed says that what is sent there can be read on the way: plain HTTP that
// leaves the machine.
func (o Origin) Exposed() bool {
	rest, plain := strings.CutPrefix(string(o), "http://")
	if !plain {
		return false
	}
	host, _, err := net.SplitHostPort(rest)
	if err != nil || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return err != nil
	}
	addr, err := netip.ParseAddr(host)
	return err != nil || !addr.IsLoopback()
}
