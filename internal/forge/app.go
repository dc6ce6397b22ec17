package forge

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/wire"
)

// AppNames are the names of the settings of a GitHub App.
type AppNames struct{ ID, Installation, Key, Base string }

// Where the settings of a GitHub App are: AppVariables in an environment, AppKeys in a Secret,
// with the names that Flux has for them.
var (
	AppVariables = AppNames{"VARIFORM_GITHUB_APP_ID", "VARIFORM_GITHUB_APP_INSTALLATION_ID", "VARIFORM_GITHUB_APP_PRIVATE_KEY", "VARIFORM_GITHUB_APP_BASE_URL"}
	AppKeys      = AppNames{"githubAppID", "githubAppInstallationID", "githubAppPrivateKey", "githubAppBaseURL"}
)

// App logs in as an installation of a GitHub App, for Git over https and for the API. A token
// of it lasts an hour and is renewed before. Safe for concurrent use; a nil App logs in nowhere.
type App struct {
	id, installation string
	key              *rsa.PrivateKey
	server           wire.Origin
	api              string // without a slash at its end
	budget           wire.Budget
	now              func() time.Time

	mu      sync.Mutex
	token   string
	expires time.Time
}

const (
	// appClock is how far GitHub's clock may be behind; it takes what lasts ten minutes at most.
	appClock = time.Minute
	appLasts = 5 * time.Minute
	// appRenew is how long before its end a token is renewed: a push may take that long.
	appRenew = 15 * time.Minute
	// appAnswer bounds what is read of an answer, in bytes.
	appAnswer = 1 << 20
)

var (
	appID           = lazyregexp.New(`^[A-Za-z0-9._-]+$`)
	appInstallation = lazyregexp.New(`^[0-9]+$`)
)

// NewApp reads the settings of an App, nil where there are none. Errors name the setting that
// is wrong, and never its value.
func NewApp(names AppNames, get func(name string) string, b wire.Budget, now func() time.Time) (*App, error) {
	value := func(name string) string { return strings.TrimSpace(get(name)) }
	a := &App{id: value(names.ID), installation: value(names.Installation), budget: b.WithDefaults(), now: now}
	key := value(names.Key)
	if a.id == "" && a.installation == "" && key == "" {
		return nil, nil
	}
	for _, s := range []struct{ name, value string }{{names.ID, a.id}, {names.Installation, a.installation}, {names.Key, key}} {
		if s.value == "" {
			return nil, fmt.Errorf("%s is missing: a GitHub App logs in with %s, %s and %s", s.name, names.ID, names.Installation, names.Key)
		}
	}
	if !appID.MatchString(a.id) {
		return nil, fmt.Errorf("%s is no ID of a GitHub App: it is the number, or the client ID, on the App's page", names.ID)
	}
	if !appInstallation.MatchString(a.installation) {
		return nil, fmt.Errorf("%s is no number: it is at the end of the installation's address, …/installations/NUMBER", names.Installation)
	}
	var err error
	if a.key, err = appKey(key); err != nil {
		return nil, fmt.Errorf("%s: %w: generate a private key on the App's page, and give the .pem file as it is", names.Key, err)
	}
	root, err := appRoot(value(names.Base))
	if err != nil {
		return nil, fmt.Errorf("%s %w", names.Base, err)
	}
	a.server, a.api = wire.OriginOf(root), strings.TrimSuffix(github.api(root).String(), "/")
	return a, nil
}

// appKey reads a private key. Of an environment that takes one line a value, \n are its ends.
func appKey(text string) (*rsa.PrivateKey, error) {
	if !strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, `\n`, "\n")
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("it is not a private key in PEM format")
	}
	if strings.Contains(block.Type, "ENCRYPTED") || block.Headers["DEK-Info"] != "" {
		return nil, errors.New("the private key is encrypted")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil { // not that error: it may hold something of the key
		return nil, fmt.Errorf("the PEM block %q holds no private key that can be read", block.Type)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return nil, errors.New("the private key is not for RSA, as GitHub's are")
	}
	return key, nil
}

// appRoot returns the server of an App by the address of it, or of its API; "" is github.com.
func appRoot(base string) (*url.URL, error) {
	if base == "" {
		return &url.URL{Scheme: "https", Host: "github.com", Path: "/"}, nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || wire.OriginOf(u).Exposed() {
		return nil, errors.New("is no https address: give that of the GitHub server, as in https://github.example.com")
	}
	root := &url.URL{Scheme: u.Scheme, Host: u.Host}
	if host, of := strings.CutPrefix(u.Host, "api."); of {
		if k, _ := kindOf(host); k == &github {
			root.Host = host
		}
	}
	return root.JoinPath(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/api/v3"), "/"), nil
}

// Same reports whether two Apps are one installation with one key, so that either's token is as
// good.
func (a *App) Same(b *App) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.id == b.id && a.installation == b.installation && a.server == b.server && a.api == b.api && a.key.Equal(b.key)
}

// Login returns what to log in with at an address of the App's server, both empty at others.
func (a *App) Login(ctx context.Context, address string) (user, password string, err error) {
	if a == nil {
		return "", "", nil
	}
	at, err := url.Parse(address)
	if err != nil || wire.OriginOf(at) != a.server {
		return "", "", nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	if a.token == "" || !now.Before(a.expires.Add(-appRenew)) {
		token, expires, err := a.renew(ctx, now)
		switch {
		case err == nil:
			a.token, a.expires = token, expires
		case a.token == "" || !now.Before(a.expires): // else the one at hand is good for a while
			return "", "", err
		}
	}
	return "x-access-token", a.token, nil
}

// Reject forgets a token that was refused: the next login takes another.
func (a *App) Reject(token string) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token == token {
		a.token = ""
	}
}

// renew asks for another token.
func (a *App) renew(ctx context.Context, now time.Time) (token string, expires time.Time, err error) {
	signed, err := a.signed(now)
	if err != nil {
		return "", expires, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.api+"/app/installations/"+a.installation+"/access_tokens", nil)
	if err != nil {
		return "", expires, err
	}
	github.sign(req, "", signed)
	t := wire.NewTransport(a.budget, func(*http.Request) string { return "" }, func(*http.Request) bool { return false })
	defer t.CloseIdleConnections()
	res, err := (&http.Client{Transport: t, CheckRedirect: stay}).Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return "", expires, fmt.Errorf("%s: a token for the GitHub App %s: %w", a.server.Shown(), a.id, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, appAnswer))
	if err != nil {
		return "", expires, fmt.Errorf("%s: a token for the GitHub App %s: %w", a.server.Shown(), a.id, err)
	}
	if res.StatusCode != http.StatusCreated {
		return "", expires, a.refusal(res.StatusCode, says(bytes.ReplaceAll(text, []byte(signed), []byte("***"))))
	}
	var given struct {
		Token   string    `json:"token"`
		Expires time.Time `json:"expires_at"`
	}
	if err := json.Unmarshal(text, &given); err != nil || given.Token == "" { // not that error: it may have the token
		return "", expires, fmt.Errorf("%s gave no token for the GitHub App %s: its answer is not what GitHub gives", a.server.Shown(), a.id)
	}
	return given.Token, given.Expires, nil
}

// signed is a JSON Web Token by which the App itself logs in.
func (a *App) signed(now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"iss": a.id, "iat": now.Add(-appClock).Unix(), "exp": now.Add(appLasts).Unix()})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	sig, err := rsa.SignPKCS1v15(nil, a.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("signing with the private key of the GitHub App %s: %w", a.id, err)
	}
	return text + "." + encode(sig), nil
}

func (a *App) refusal(status int, text string) *Error {
	e := &Error{Method: http.MethodPost, What: a.server.Shown() + "/app/installations/" + a.installation + "/access_tokens", Status: status, Says: text}
	switch status {
	case http.StatusUnauthorized:
		e.Help = fmt.Sprintf("the private key is none of the GitHub App %s, or the clock of this machine is wrong: check the App's ID, and generate another key on its page", a.id)
	case http.StatusNotFound:
		e.Help = fmt.Sprintf("the GitHub App %s has no installation %s: install it, and take the number from the installation's address, …/installations/NUMBER", a.id, a.installation)
	case http.StatusForbidden:
		e.Help = "the installation is suspended, or may not log in: see its page"
	}
	return e
}
