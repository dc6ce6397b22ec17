package gitrepo

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/variform/variform/internal/wire"
)

// login is a user and password for one origin.
type login struct {
	user, password string
	from           string // where it was found, for messages
	url            string // that git's helpers were asked for
	helper         bool   // git's helpers gave it, and are told what became of it
	expires        bool   // Options.App gave it, and renews it
	told           bool
}

// logins are those of a repository, by the server that each was found for: a
// redirect takes none of them along.
type logins struct {
	mu     sync.Mutex
	by     map[wire.Origin]*login
	bad    map[wire.Origin]*login // refused; nobody is asked for another
	asked  map[wire.Origin]bool
	all    []*login // those that were refused as well: no message may hold them
	asking sync.Mutex
}

func (l *logins) put(o wire.Origin, found *login) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[wire.Origin]*login{}
	}
	l.by[o] = found
	l.all = append(l.all, found)
}

func (l *logins) get(o wire.Origin) *login {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[o]
}

// drop forgets a login that was refused, unless another has taken its place.
func (l *logins) drop(o wire.Origin, refused *login) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by[o] == refused {
		delete(l.by, o)
	}
	if l.bad == nil {
		l.bad = map[wire.Origin]*login{}
	}
	l.bad[o] = refused
}

// first says that nobody has been asked for this server's login yet.
func (l *logins) first(o wire.Origin) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked[o] {
		return false
	}
	if l.asked == nil {
		l.asked = map[wire.Origin]bool{}
	}
	l.asked[o] = true
	return true
}

// secrets are what no message may hold; the longest first, for one may hold another.
func (l *logins) secrets() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, a := range l.all {
		out = append(out, a.password, a.user, base64.StdEncoding.EncodeToString([]byte(a.user+":"+a.password)))
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}

// visit is what the requests of one session met. The session's context carries it.
type visit struct {
	repo *Repo

	mu       sync.Mutex
	refused  *refusal
	accepted map[wire.Origin]*login
}

type visitKey struct{}

// refusal is a server's no: 401 to no login or a bad one, 403 to a good one as a rule.
type refusal struct {
	origin wire.Origin
	url    string // of the repository there
	status int
	sent   *login // nil where there was none to send
}

func (v *visit) saw(u *url.URL, sent *login, status int) {
	o := wire.OriginOf(u)
	v.mu.Lock()
	defer v.mu.Unlock()
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		v.refused = &refusal{origin: o, url: repositoryAt(u), status: status, sent: sent}
		return
	}
	if sent != nil && status < http.StatusBadRequest {
		if v.accepted == nil {
			v.accepted = map[wire.Origin]*login{}
		}
		v.accepted[o] = sent
	}
}

// repositoryAt is the repository's own address in that of a request to it.
func repositoryAt(u *url.URL) string {
	path := u.EscapedPath()
	for _, end := range []string{"/info/refs", "/git-upload-pack", "/git-receive-pack"} {
		path = strings.TrimSuffix(path, end)
	}
	return u.Scheme + "://" + u.Host + path
}

// loginTransport gives each request the login of the server that it goes to, and
// no other. It is below what follows redirects.
type loginTransport struct {
	inner  http.RoundTripper
	config func() *gitConfig
	warn   func(format string, args ...any)
}

// RoundTrip implements http.RoundTripper.
func (t *loginTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	v, ok := req.Context().Value(visitKey{}).(*visit)
	if !ok {
		return t.inner.RoundTrip(req)
	}
	o := wire.OriginOf(req.URL)
	sent, err := v.current(req.Context(), o)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Header.Del("Authorization") // a redirect may name a login of its own
	given := t.config().headers(req)
	if sent != nil {
		req.SetBasicAuth(sent.user, sent.password)
	}
	if (sent != nil || given) && o.Exposed() {
		t.warn("the login for %s is sent without encryption: use https", o.Shown())
	}
	resp, err := t.inner.RoundTrip(req)
	if err == nil {
		v.saw(req.URL, sent, resp.StatusCode)
	}
	return resp, err
}

// current returns the login of a server, renewed where it expires.
func (v *visit) current(ctx context.Context, o wire.Origin) (*login, error) {
	r := v.repo
	l := r.logins.get(o)
	if l == nil || !l.expires {
		return l, nil
	}
	user, password, err := r.store.opts.App.Login(ctx, l.url)
	if err != nil || password == l.password {
		return l, err
	}
	next := &login{user: user, password: password, from: l.from, url: l.url, expires: true}
	r.logins.put(o, next)
	return next, nil
}

// retriable finds a login for the server that refused, and says whether there is
// a new one to try. It tells git's helpers which of theirs were good and bad.
func (r *Repo) retriable(ctx context.Context, v *visit, err error) (bool, error) {
	v.mu.Lock()
	no, accepted := v.refused, v.accepted
	v.mu.Unlock()
	for _, l := range accepted {
		r.tellHelpers(ctx, l, true)
	}
	if !isAuth(err) || no == nil {
		return false, err
	}
	if no.sent != nil && no.status == http.StatusUnauthorized {
		r.logins.drop(no.origin, no.sent)
		r.tellHelpers(ctx, no.sent, false)
		if no.sent.expires {
			r.store.opts.App.Reject(no.sent.password)
		}
	}
	if no.sent != nil && no.sent.password != "" {
		return false, r.refused(no)
	}
	r.logins.asking.Lock()
	defer r.logins.asking.Unlock()
	if r.logins.get(no.origin) != nil && no.sent == nil {
		return true, err // another session found one meanwhile
	}
	if !r.logins.first(no.origin) {
		return false, r.refused(no)
	}
	found, err := r.find(ctx, no)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case found != nil && err != nil:
		return false, fmt.Errorf("logging in to %s: %w", no.url, err)
	case found == nil:
		return false, r.noLogin(no, err)
	}
	r.logins.put(no.origin, found)
	return true, nil
}

// find asks for the login of a server. nil is none.
func (r *Repo) find(ctx context.Context, no *refusal) (*login, error) {
	l := &login{from: "that Variform was given for it", url: no.url}
	var err error
	f := r.store.opts.Credentials
	if f != nil {
		l.user, l.password, err = f(ctx, no.url)
	}
	if app := r.store.opts.App; app != nil && err == nil && l.password == "" {
		user, password, err := app.Login(ctx, no.url)
		if err != nil || password != "" {
			return &login{user: user, password: password, from: "of the GitHub App", url: no.url, expires: true}, err
		}
	}
	if f == nil {
		user := ""
		if no.sent != nil {
			user = no.sent.user
		}
		if l.user, l.password = netrcLogin(no.url); l.password != "" && (user == "" || user == l.user) {
			l.from = "that ~/.netrc has for it"
			return l, nil
		}
		l.from, l.helper = "that Git's credential helper has for it", true
		l.user, l.password, err = helperCredentials(ctx, no.url, user)
	}
	if err != nil || l.user == "" && l.password == "" {
		return nil, err
	}
	return l, nil
}

// tellHelpers says to git's helpers what became of a login of theirs, once, and
// for the server that answered: a server never unlearns another's.
func (r *Repo) tellHelpers(ctx context.Context, l *login, worked bool) {
	r.logins.mu.Lock()
	due := l.helper && (!l.told || !worked)
	l.told = true
	r.logins.mu.Unlock()
	if due {
		answerHelpers(ctx, worked, l.url, l.user, l.password)
	}
}

// place names the server that refused, and how it came into this.
func (r *Repo) place(no *refusal) string {
	if no.origin == wire.OriginOf(r.loc.url()) {
		return no.origin.Shown()
	}
	return no.origin.Shown() + ", where " + r.URL() + " redirects to,"
}

// refused says whose login was refused, and what to do.
func (r *Repo) refused(no *refusal) error {
	if no.sent == nil {
		r.logins.mu.Lock()
		no.sent = r.logins.bad[no.origin]
		r.logins.mu.Unlock()
	}
	switch {
	case no.sent == nil:
		return r.noLogin(no, nil)
	case no.status == http.StatusForbidden:
		return errKind(ErrAuth, "%s does not let the login %s do this with %s (HTTP 403): give its account access there, or use another account", r.place(no), no.sent.from, no.url)
	}
	return errKind(ErrAuth, "%s refuses the login %s (HTTP 401): renew it there, and see that its account may reach %s", r.place(no), no.sent.from, no.url)
}

func (r *Repo) noLogin(no *refusal, err error) error {
	why := ""
	if err != nil {
		why = ": " + r.scrub(err.Error())
	}
	remedy := fmt.Sprintf("set up a Git credential helper for %s (git help credentials)", no.origin.Shown())
	if r.store.opts.Credentials != nil {
		remedy = "give Variform one for " + no.origin.Shown()
	}
	return errKind(ErrAuth, "%s wants a login for %s (HTTP %d) and none was found%s: %s", r.place(no), no.url, no.status, why, remedy)
}
