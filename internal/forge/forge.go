// Package forge speaks to the servers that hold Git repositories and have pull
// requests: Gitea and Forgejo. It reads requests, opens, changes and closes them,
// and keeps nothing: what is to be there is decided in internal/pulls.
package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/wire"
)

// Annotation of a Repository says which program its forge is, and where its API is
// where that does not follow from the repository's address: "gitea", or
// "gitea https://git.example.com".
const Annotation = "variform.dev/forge"

// Gitea is the kind of Gitea's and Forgejo's API, version 1.
const Gitea = "gitea"

// Place is one repository on a forge.
type Place struct {
	Kind  string
	Root  *url.URL // of the forge
	Owner string
	Name  string
}

// Locate finds a repository's place by its Git address and its annotation, "" where
// it has none.
func Locate(address, annotation string) (Place, error) {
	kind, root, _ := strings.Cut(strings.TrimSpace(annotation), " ")
	if kind == "" {
		return Place{}, fmt.Errorf("its Repository does not say which forge it is on: set the annotation %s, to %s or \"%s https://git.example.com\"", Annotation, Gitea, Gitea)
	}
	if kind != Gitea {
		return Place{}, fmt.Errorf("%s: %q is no forge that pull requests can be made on: there is %s, which is Forgejo's, too", Annotation, kind, Gitea)
	}
	at, err := parseAddress(address)
	if err != nil {
		return Place{}, err
	}
	segs := strings.Split(strings.Trim(strings.TrimSuffix(strings.TrimRight(at.Path, "/"), ".git"), "/"), "/")
	if len(segs) < 2 {
		return Place{}, fmt.Errorf("the address %s names no owner and repository of a forge", wire.Redact(address))
	}
	p := Place{Kind: kind, Owner: segs[len(segs)-2], Name: segs[len(segs)-1]}
	if root = strings.TrimSpace(root); root != "" {
		if p.Root, err = url.Parse(root); err != nil || p.Root.Scheme != "https" && p.Root.Scheme != "http" || p.Root.Host == "" || p.Root.User != nil {
			return Place{}, fmt.Errorf("%s: %q is no https address of a forge", Annotation, wire.Redact(root))
		}
		p.Root = p.Root.JoinPath("/")
		return p, nil
	}
	if at.Scheme != "https" && at.Scheme != "http" {
		return Place{}, fmt.Errorf("the address %s does not say where the forge's API is: write it after the kind, as in %s: %s https://%s", wire.Redact(address), Annotation, kind, at.Hostname())
	}
	p.Root = &url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/" + strings.Join(append(segs[:len(segs)-2:len(segs)-2], ""), "/")}
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

// TokenOf is a token of the environment for a forge, "" where there is none: that of
// GITEA_TOKEN, for the server that GITEA_SERVER_URL names and no other. A fleet's
// files may name any server.
func TokenOf(address string, env func(string) string) string {
	at, err := url.Parse(address)
	server, serr := url.Parse(env("GITEA_SERVER_URL"))
	if err != nil || serr != nil || server.Host == "" || wire.OriginOf(at) != wire.OriginOf(server) {
		return ""
	}
	return env("GITEA_TOKEN")
}

// Client speaks to one repository's forge. It is safe for concurrent use.
type Client struct {
	place Place
	login func(context.Context) (signedIn, error)
	http  *http.Client
}

type signedIn struct {
	user, password string
	err            error
}

// New returns a Client. No login is sent to another server than the forge.
func New(p Place, login Login, b wire.Budget) *Client {
	every := func(*http.Request) string { return p.Root.String() }
	var once sync.Once
	var found signedIn
	ask := func(ctx context.Context) (signedIn, error) {
		once.Do(func() { found.user, found.password, found.err = login(ctx, p.Root.String()) })
		return found, found.err
	}
	return &Client{place: p, login: ask, http: &http.Client{
		Transport: wire.NewTransport(b, every, func(r *http.Request) bool { return r.Method != http.MethodGet }),
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 5 || wire.OriginOf(req.URL) != wire.OriginOf(via[0].URL) || via[0].Method != http.MethodGet {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}}
}

// pageSize is how many requests are read at once: Gitea gives no more, unless it is
// configured to; maxPages bounds how many are looked at.
const (
	pageSize = 50
	maxPages = 200
)

// maxDescription is how much of a status people see: GitHub takes no more characters.
const maxDescription = 140

type gitRef struct {
	Ref string `json:"ref"`
	SHA string `json:"sha"`
}

type request struct {
	Number  int    `json:"number"`
	HTMLURL string `json:"html_url"`
	Title   string `json:"title"`
	Body    string `json:"body"`
	State   string `json:"state"`
	Merged  bool   `json:"merged"`
	Head    gitRef `json:"head"`
	Base    gitRef `json:"base"`
	User    struct {
		Login string `json:"login"`
	} `json:"user"`
}

func (r *request) open() pulls.Open {
	return pulls.Open{
		Number: r.Number, URL: r.HTMLURL, Branch: r.Head.Ref, Commit: r.Head.SHA, Title: r.Title,
		Body: strings.ReplaceAll(r.Body, "\r\n", "\n"), Author: r.User.Login,
		Closed: r.State == "closed" && !r.Merged, Merged: r.Merged,
	}
}

// Requests lists those that go to a branch: all that are open, and of the closed
// ones those that moved last.
func (c *Client) Requests(ctx context.Context, base string) ([]pulls.Open, error) {
	var out []pulls.Open
	for _, state := range []string{"open", "closed"} {
		for page := 1; page <= maxPages; page++ {
			var list []request
			q := url.Values{"state": {state}, "sort": {"recentupdate"}, "limit": {fmt.Sprint(pageSize)}, "page": {fmt.Sprint(page)}}
			if err := c.call(ctx, http.MethodGet, "pulls?"+q.Encode(), nil, &list); err != nil {
				return nil, err
			}
			for i := range list {
				if r := &list[i]; r.Base.Ref == base {
					out = append(out, r.open())
				}
			}
			if len(list) < pageSize || state == "closed" {
				break
			}
		}
	}
	return out, nil
}

// Open opens a request.
func (c *Client) Open(ctx context.Context, base, branch, title, body string) (pulls.Open, error) {
	var r request
	err := c.call(ctx, http.MethodPost, "pulls", map[string]any{"base": base, "head": branch, "title": title, "body": body}, &r)
	return r.open(), err
}

// Update says anew what a request is about.
func (c *Client) Update(ctx context.Context, number int, title, body string) error {
	return c.call(ctx, http.MethodPatch, fmt.Sprintf("pulls/%d", number), map[string]any{"title": title, "body": body}, nil)
}

// Close closes a request with a text, and says why.
func (c *Client) Close(ctx context.Context, number int, body, why string) error {
	if err := c.call(ctx, http.MethodPost, fmt.Sprintf("issues/%d/comments", number), map[string]any{"body": why}, nil); err != nil {
		return err
	}
	return c.call(ctx, http.MethodPatch, fmt.Sprintf("pulls/%d", number), map[string]any{"state": "closed", "body": body}, nil)
}

type status struct {
	Context     string `json:"context"`
	State       string `json:"state"`
	Description string `json:"description"`
	TargetURL   string `json:"target_url"`
}

// Status sets a check of a commit, where it does not say that already: forges keep
// every one that is set, and some of them count.
func (c *Client) Status(ctx context.Context, commit string, s pulls.Status) error {
	want := status{s.Context, string(s.State), oneLine(s.Description, maxDescription), s.URL}
	var there struct {
		Statuses []struct {
			status
			State string `json:"status"`
		} `json:"statuses"`
	}
	if err := c.call(ctx, http.MethodGet, "commits/"+url.PathEscape(commit)+"/status", nil, &there); err != nil {
		return err
	}
	for _, old := range there.Statuses {
		if old.status.State = old.State; old.status == want {
			return nil
		}
	}
	return c.call(ctx, http.MethodPost, "statuses/"+url.PathEscape(commit), want, nil)
}

// Error is a forge's refusal.
type Error struct {
	Method, Path string
	Status       int
	Says         string
}

// Error says what was asked for, and what the forge said.
func (e *Error) Error() string {
	help := ""
	switch e.Status {
	case http.StatusUnauthorized:
		help = ": sign in, with one of Git's credential helpers, or the variables GITEA_TOKEN and GITEA_SERVER_URL"
	case http.StatusForbidden:
		help = ": the login may not do that: a token needs to read and write repositories and issues"
	case http.StatusNotFound:
		help = ": there is no such repository, or the login may not see it"
	}
	return fmt.Sprintf("%s %s: %d %s%s", e.Method, e.Path, e.Status, e.Says, help)
}

const maxAnswer = 32 << 20 // bytes

func (c *Client) call(ctx context.Context, method, path string, body, out any) error {
	at := c.place.Root.JoinPath("api", "v1", "repos", c.place.Owner, c.place.Name).String() + "/" + path
	var data io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		data = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, at, data)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	as, err := c.login(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("signing in at %s: %w", wire.OriginOf(c.place.Root).Shown(), err)
	case as.password != "" && wire.OriginOf(c.place.Root).Exposed():
		return fmt.Errorf("%s is not encrypted, and a login would be seen on the way: give the forge's https address in %s", wire.OriginOf(c.place.Root).Shown(), Annotation)
	case as.user != "":
		req.SetBasicAuth(as.user, as.password)
	case as.password != "":
		req.Header.Set("Authorization", "token "+as.password)
	}
	res, err := c.http.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // its text has the address once more
		}
		return fmt.Errorf("%s %s: %w", method, c.shown(path), err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, c.shown(path), err)
	}
	if res.StatusCode/100 != 2 {
		said := says(text)
		if as.password != "" {
			said = strings.ReplaceAll(said, as.password, "***")
		}
		return &Error{method, c.shown(path), res.StatusCode, said}
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			return fmt.Errorf("%s %s: the answer is not what Gitea gives: %w", method, c.shown(path), err)
		}
	}
	return nil
}

// shown is a call for people: the repository, and what of it.
func (c *Client) shown(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return fmt.Sprintf("%s%s/%s/%s", c.place.Root, c.place.Owner, c.place.Name, path)
}

// says is a refusal's text.
func says(body []byte) string {
	var e struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &e) == nil && e.Message != "" {
		body = []byte(e.Message)
	}
	return oneLine(string(body), 300)
}

// oneLine is a text in one line of so many bytes.
func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-len("…")], "") + "…"
	}
	return text
}
