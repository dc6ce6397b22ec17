package forge

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/variform/variform/internal/wire"
)

// theKey is the private key of all Apps here: making one takes a while.
var theKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func keyText() string { return pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(theKey())) }

// tokens is a GitHub server that gives out tokens of installation 42 of App 7, each for an
// hour, and serves requests to who has the last of them.
type tokens struct {
	t   *testing.T
	srv *httptest.Server

	mu     sync.Mutex
	now    time.Time
	given  int
	broken func(w http.ResponseWriter, jwt string) // answers instead, where not nil
	used   []string                                // the logins of other requests
}

func newTokens(t *testing.T) *tokens {
	s := &tokens{t: t, now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	s.srv = httptest.NewServer(s)
	t.Cleanup(s.srv.Close)
	return s
}

func (s *tokens) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *tokens) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *tokens) breakWith(f func(w http.ResponseWriter, jwt string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = f
}

// check finds what is wrong with a JSON Web Token, as GitHub does.
func (s *tokens) check(jwt string) error {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return fmt.Errorf("it has %d parts", len(parts))
	}
	var raw [3][]byte
	for i, p := range parts {
		var err error
		if raw[i], err = base64.RawURLEncoding.DecodeString(p); err != nil {
			return err
		}
	}
	var head struct{ Alg, Typ string }
	var claims struct {
		Iss      string
		Iat, Exp int64
	}
	if err := json.Unmarshal(raw[0], &head); err != nil || head.Alg != "RS256" || head.Typ != "JWT" {
		return fmt.Errorf("its head is %s", raw[0])
	}
	if err := json.Unmarshal(raw[1], &claims); err != nil || claims.Iss != "7" {
		return fmt.Errorf("its claims are %s", raw[1])
	}
	if at := s.now.Unix(); claims.Iat > at || claims.Exp <= at || claims.Exp > at+600 {
		return fmt.Errorf("its times are %d and %d at %d", claims.Iat, claims.Exp, at)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return rsa.VerifyPKCS1v15(&theKey().PublicKey, crypto.SHA256, sum[:], raw[2])
}

func (s *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	login, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if r.URL.Path != "/api/v3/app/installations/42/access_tokens" {
		if s.used = append(s.used, login); login != fmt.Sprintf("ghs_%d", s.given) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"message": "Bad credentials %s"}`, login)
			return
		}
		fmt.Fprint(w, "[]")
		return
	}
	if err := s.check(login); err != nil || r.Method != http.MethodPost {
		s.t.Errorf("%s with a bad token: %v", r.Method, err)
	}
	if s.broken != nil {
		s.broken(w, login)
		return
	}
	s.given++
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintf(w, `{"token": "ghs_%d", "expires_at": %q, "permissions": {"contents": "write"}}`, s.given, s.now.Add(time.Hour).Format(time.RFC3339))
}

func (s *tokens) settings() map[string]string {
	return map[string]string{AppKeys.ID: "7", AppKeys.Installation: "42", AppKeys.Key: keyText(), AppKeys.Base: s.srv.URL}
}

func (s *tokens) app(t *testing.T) *App {
	t.Helper()
	settings := s.settings()
	a, err := NewApp(AppKeys, func(name string) string { return settings[name] }, wire.Budget{}, s.clock)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A token is taken for as long as it lasts, less what a request may take.
func TestAppTokens(t *testing.T) {
	s := newTokens(t)
	a := s.app(t)
	away := func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusBadGateway) }
	for _, step := range []struct {
		passes time.Duration
		broken func(http.ResponseWriter, string)
		reject string
		want   string // "" is an error
		why    string
	}{
		{want: "ghs_1", why: "the first"},
		{passes: 44 * time.Minute, want: "ghs_1", why: "it lasts on"},
		{passes: 2 * time.Minute, want: "ghs_2", why: "it ends soon"},
		{passes: 50 * time.Minute, broken: away, want: "ghs_2", why: "no other is to be had, and it is good yet"},
		{want: "ghs_3", why: "the server is back"},
		{passes: 2 * time.Hour, broken: away, want: "", why: "it ended"},
		{want: "ghs_4", why: "the server is back again"},
		{reject: "ghs_3", want: "ghs_4", why: "an older one was refused"},
		{reject: "ghs_4", want: "ghs_5", why: "it was refused"},
	} {
		s.pass(step.passes)
		s.breakWith(step.broken)
		a.Reject(step.reject)
		user, got, err := a.Login(t.Context(), s.srv.URL+"/team/c1.git")
		if got != step.want || (err != nil) != (step.want == "") || err == nil && user != "x-access-token" {
			t.Errorf("%s: %s:%s, %v, want %q", step.why, user, got, err, step.want)
		}
	}
	for _, address := range []string{"https://github.com/team/c1", "http://127.0.0.1:1/team/c1", "https" + strings.TrimPrefix(s.srv.URL, "http"), "", "%"} {
		if user, token, err := a.Login(t.Context(), address); user+token != "" || err != nil {
			t.Errorf("%q: %s, %s, %v", address, user, token, err)
		}
	}
	if user, token, err := (*App)(nil).Login(t.Context(), s.srv.URL); user+token != "" || err != nil {
		t.Errorf("none: %s, %s, %v", user, token, err)
	}
}

// An error about a refusal of GitHub names the remedy and never the token.
func TestAppRefusals(t *testing.T) {
	says := func(status int) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, jwt string) {
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"message": "No %s"}`, jwt)
		}
	}
	for name, tc := range map[string]struct {
		broken func(http.ResponseWriter, string)
		want   []string
	}{
		"another key":     {says(http.StatusUnauthorized), []string{"401 No ***", "GitHub App 7", "clock", "generate another key"}},
		"no installation": {says(http.StatusNotFound), []string{"404 No ***", "GitHub App 7 has no installation 42", "…/installations/NUMBER"}},
		"suspended":       {says(http.StatusForbidden), []string{"403 No ***", "suspended"}},
		"a page": {func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, "<html>ghs_secret")
		}, []string{"gave no token"}},
		"no token": {func(w http.ResponseWriter, _ string) {
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"expires_at": "ghs_secret"}`)
		}, []string{"gave no token"}},
		"a redirect": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, []string{"307"}},
		"cut off": {func(w http.ResponseWriter, _ string) {
			w.Header().Set("Content-Length", "100")
			w.WriteHeader(http.StatusCreated)
		}, []string{"a token for the GitHub App 7", "EOF"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTokens(t)
			s.breakWith(tc.broken)
			_, token, err := s.app(t).Login(t.Context(), s.srv.URL)
			if err == nil || token != "" {
				t.Fatalf("got %q", token)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if text := err.Error(); strings.Contains(text, "ghs_") || strings.Contains(text, "eyJ") {
				t.Errorf("a secret: %v", err)
			}
		})
	}
}

func TestAppSettings(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ecDER, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(theKey())
	if err != nil {
		t.Fatal(err)
	}
	const canary = "canary-of-the-key"
	good := keyText()
	for name, tc := range map[string]struct {
		id, installation, key, base string
		want                        string // of the error, "" for none
		none                        bool
	}{
		"none":                  {none: true},
		"an address alone":      {base: "https://github.example.com", none: true},
		"all":                   {id: "7", installation: "42", key: good},
		"a client ID":           {id: "Iv23liAbC", installation: "42", key: good},
		"spaces around":         {id: " 7\n", installation: "42\n", key: "\n" + good + "\n"},
		"PKCS 8":                {id: "7", installation: "42", key: pemOf("PRIVATE KEY", pkcs8)},
		"a key in one line":     {id: "7", installation: "42", key: strings.ReplaceAll(strings.TrimSpace(good), "\n", `\n`)},
		"no ID":                 {installation: "42", key: good, want: "githubAppID is missing: a GitHub App logs in with githubAppID, githubAppInstallationID and githubAppPrivateKey"},
		"no installation":       {id: "7", key: good, want: "githubAppInstallationID is missing"},
		"no key":                {id: "7", installation: "42", want: "githubAppPrivateKey is missing"},
		"an ID with a path":     {id: "7/" + canary, installation: "42", key: good, want: "githubAppID is no ID of a GitHub App"},
		"an installation's URL": {id: "7", installation: "https://github.com/settings/installations/42", key: good, want: "githubAppInstallationID is no number"},
		"a path to the key":     {id: "7", installation: "42", key: "/etc/" + canary + ".pem", want: "githubAppPrivateKey: it is not a private key in PEM format: generate a private key on the App's page"},
		"half a key":            {id: "7", installation: "42", key: good[:len(good)/2], want: "it is not a private key in PEM format"},
		"a key that is garbage": {id: "7", installation: "42", key: pemOf("RSA PRIVATE KEY", []byte(canary)), want: `the PEM block "RSA PRIVATE KEY" holds no private key that can be read`},
		"a public key":          {id: "7", installation: "42", key: pemOf("PUBLIC KEY", x509.MarshalPKCS1PublicKey(&theKey().PublicKey)), want: `the PEM block "PUBLIC KEY" holds no private key`},
		"a key of another kind": {id: "7", installation: "42", key: pemOf("PRIVATE KEY", ecDER), want: "the private key is not for RSA"},
		"an encrypted key":      {id: "7", installation: "42", key: pemOf("ENCRYPTED PRIVATE KEY", []byte(canary)), want: "the private key is encrypted"},
		"a plain address":       {id: "7", installation: "42", key: good, base: "http://github.example.com", want: "githubAppBaseURL is no https address"},
		"an address with login": {id: "7", installation: "42", key: good, base: "https://u:" + canary + "@github.example.com", want: "githubAppBaseURL is no https address"},
		"a host":                {id: "7", installation: "42", key: good, base: "github.example.com", want: "githubAppBaseURL is no https address"},
	} {
		t.Run(name, func(t *testing.T) {
			values := map[string]string{AppKeys.ID: tc.id, AppKeys.Installation: tc.installation, AppKeys.Key: tc.key, AppKeys.Base: tc.base}
			a, err := NewApp(AppKeys, func(name string) string { return values[name] }, wire.Budget{}, time.Now)
			switch {
			case tc.want == "" && err != nil, tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Fatalf("got %v, want %q", err, tc.want)
			case err != nil && (strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "MII")):
				t.Errorf("a secret: %v", err)
			case (a == nil) != (tc.none || err != nil):
				t.Errorf("got an App: %t", a != nil)
			}
		})
	}
}

func TestAppServer(t *testing.T) {
	for base, want := range map[string][2]string{
		"":                                   {"https://github.com:443", "https://api.github.com"},
		"https://github.com":                 {"https://github.com:443", "https://api.github.com"},
		"https://api.github.com":             {"https://github.com:443", "https://api.github.com"},
		"https://acme.ghe.com":               {"https://acme.ghe.com:443", "https://api.acme.ghe.com"},
		"https://api.acme.ghe.com/":          {"https://acme.ghe.com:443", "https://api.acme.ghe.com"},
		"https://github.example.com":         {"https://github.example.com:443", "https://github.example.com/api/v3"},
		"https://github.example.com/api/v3":  {"https://github.example.com:443", "https://github.example.com/api/v3"},
		"https://github.example.com/api/v3/": {"https://github.example.com:443", "https://github.example.com/api/v3"},
		"https://api.example.com:8443":       {"https://api.example.com:8443", "https://api.example.com:8443/api/v3"},
	} {
		values := map[string]string{AppKeys.ID: "7", AppKeys.Installation: "42", AppKeys.Key: keyText(), AppKeys.Base: base}
		a, err := NewApp(AppKeys, func(name string) string { return values[name] }, wire.Budget{}, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{string(a.server), a.api}; got != want {
			t.Errorf("%q: %q, want %q", base, got, want)
		}
	}
}

// An App is kept for as long as each of its settings is the same.
func TestAppSame(t *testing.T) {
	s := newTokens(t)
	a := s.app(t)
	if !a.Same(s.app(t)) || !(*App)(nil).Same(nil) || a.Same(nil) || (*App)(nil).Same(a) {
		t.Error("the same are not, or others are")
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{AppKeys.ID: "8", AppKeys.Installation: "43", AppKeys.Base: "", AppKeys.Key: pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(other))} {
		settings := s.settings()
		settings[name] = value
		b, err := NewApp(AppKeys, func(name string) string { return settings[name] }, wire.Budget{}, s.clock)
		if err != nil {
			t.Fatal(err)
		}
		if a.Same(b) {
			t.Errorf("with another %s it is the same", name)
		}
	}
}

// Requests of pull requests are made with tokens of the App for as long as a run takes.
func TestAppOfForge(t *testing.T) {
	s := newTokens(t)
	servers := NewServers(func(context.Context, string) (string, string, error) {
		t.Error("asked for another login")
		return "", "", nil
	}, wire.Budget{})
	servers.App = s.app(t)
	root, err := url.Parse(s.srv.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	c := servers.At(Place{GitHub, root, "team/c1"})
	for range 2 {
		if _, err := c.Requests(t.Context(), "main"); err != nil {
			t.Fatal(err)
		}
		s.pass(2 * time.Hour)
	}
	s.mu.Lock()
	if s.given != 2 || len(s.used) < 4 || s.used[0] != "ghs_1" || s.used[len(s.used)-1] != "ghs_2" {
		t.Errorf("%d tokens, used as %q", s.given, s.used)
	}
	s.now = s.now.Add(-2 * time.Hour)
	s.given++ // that one was revoked
	s.mu.Unlock()
	if _, err := c.Requests(t.Context(), "main"); err == nil || !strings.Contains(err.Error(), "Bad credentials ***") {
		t.Errorf("got %v", err)
	}
	if _, err := c.Requests(t.Context(), "main"); err != nil {
		t.Errorf("after one that was refused: %v", err)
	}
	elsewhere := newTokens(t)
	at, err := url.Parse(elsewhere.srv.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	others := NewServers(func(context.Context, string) (string, string, error) { return "", "ghs_0", nil }, wire.Budget{})
	others.App = servers.App
	if _, err := others.At(Place{GitHub, at, "team/c1"}).Requests(t.Context(), "main"); err != nil || elsewhere.given > 0 || elsewhere.used[0] != "ghs_0" {
		t.Errorf("%v, %q", err, elsewhere.used)
	}
}
