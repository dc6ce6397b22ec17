package ocirepo

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/variform/variform/internal/wire"
)

// loginGuard keeps logins with the servers that they were first sent to: scheme,
// host and port. The library below compares hosts alone, and sends the body of a
// login where a redirect asks for that.
type loginGuard struct {
	inner http.RoundTripper
	warn  func(format string, args ...any)

	mu   sync.Mutex
	sent map[string]map[wire.Origin]bool // by Authorization
}

// RoundTrip implements http.RoundTripper.
func (g *loginGuard) RoundTrip(req *http.Request) (*http.Response, error) {
	o := wire.OriginOf(req.URL)
	login := req.Header.Get("Authorization")
	switch {
	case req.Response == nil:
		g.learn(login, o)
	case isLoginForm(req):
		return nil, fmt.Errorf("%s redirects a login to another address, which is not followed", wire.OriginOf(req.Response.Request.URL).Shown())
	case g.foreign(login, o):
		req = req.Clone(req.Context())
		req.Header.Del("Authorization")
		login = ""
	}
	if login != "" && o.Exposed() {
		g.warn("the login for %s is sent without encryption: use https", o.Shown())
	}
	return g.inner.RoundTrip(req)
}

func (g *loginGuard) learn(login string, o wire.Origin) {
	if login == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sent == nil || len(g.sent) > 1000 {
		g.sent = map[string]map[wire.Origin]bool{}
	}
	if g.sent[login] == nil {
		g.sent[login] = map[wire.Origin]bool{}
	}
	g.sent[login][o] = true
}

// foreign: the login is another server's. One that no server was sent yet was
// got for this one.
func (g *loginGuard) foreign(login string, o wire.Origin) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	known := g.sent[login]
	return len(known) > 0 && !known[o]
}

// keyring notes for which registries the user has a login.
type keyring struct {
	inner authn.Keychain
	name  string // where the logins are; "" is Docker's configuration
	mu    sync.Mutex
	has   map[string]bool
}

// Resolve implements authn.Keychain.
func (k *keyring) Resolve(r authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), r)
}

// ResolveContext implements authn.ContextKeychain.
func (k *keyring) ResolveContext(ctx context.Context, r authn.Resource) (authn.Authenticator, error) {
	auth, err := authn.Resolve(ctx, k.inner, r)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.has == nil {
		k.has = map[string]bool{}
	}
	k.has[r.RegistryStr()] = err == nil && auth != authn.Anonymous
	return auth, err
}

// remedy returns whose login was refused, and what to do.
func (k *keyring) remedy(registry string) string {
	const hidden = "check that the repository exists: many registries refuse access to what is not there"
	k.mu.Lock()
	has := k.has[registry]
	k.mu.Unlock()
	switch {
	case has && k.name != "":
		return fmt.Sprintf("the login that %s has for %s was refused, or may not do this: put one of an account that may there, or %s", k.name, registry, hidden)
	case has:
		return fmt.Sprintf("the login that Docker's configuration has for %s was refused, or may not do this: log in again with an account that may (docker login %s), or %s", registry, registry, hidden)
	case k.name != "":
		return fmt.Sprintf("%s has no login for %s: put one there, or %s", k.name, registry, hidden)
	}
	return fmt.Sprintf("Docker's configuration has no login for %s: log in (docker login %s), or %s", registry, registry, hidden)
}
