package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/wire"
)

// Servers are the forges of a run. Clients of one server share its connections, are
// signed in once, and wait together where it asks them to. Safe for concurrent use.
type Servers struct {
	// App, where not nil, logs in at its server, before any other login.
	App *App

	login  Login
	budget wire.Budget
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error

	mu  sync.Mutex
	all map[string]*server
}

// NewServers returns Servers. No login is sent to another server than the one that it
// is for.
func NewServers(login Login, b wire.Budget) *Servers {
	return &Servers{login: login, budget: b.WithDefaults(), now: time.Now, sleep: wire.Sleep, all: map[string]*server{}}
}

// At is the Client of a repository.
func (s *Servers) At(p Place) *Client {
	k := kinds[p.Kind]
	s.mu.Lock()
	defer s.mu.Unlock()
	root := p.Root.String()
	if s.all[root] == nil {
		s.all[root] = &server{Servers: s, root: p.Root, http: &http.Client{
			Transport:     wire.NewTransport(s.budget, repositoryOf, func(r *http.Request) bool { return r.Method != http.MethodGet }),
			CheckRedirect: stay,
		}}
	}
	return &Client{k.adapter(&conn{server: s.all[root], kind: k, place: p, api: strings.TrimSuffix(k.api(p.Root).String(), "/")})}
}

// repository is the key of the one that a request is about.
type repository struct{}

func repositoryOf(r *http.Request) string {
	path, _ := r.Context().Value(repository{}).(string)
	return path
}

// stay follows no redirect to another server, and none of a change.
func stay(req *http.Request, via []*http.Request) error {
	if len(via) > 5 || wire.OriginOf(req.URL) != wire.OriginOf(via[0].URL) || via[0].Method != http.MethodGet {
		return http.ErrUseLastResponse
	}
	return nil
}

type server struct {
	*Servers
	root *url.URL
	http *http.Client

	once           sync.Once
	user, password string
	err            error

	held time.Time // nothing is asked before; under Servers.mu
}

func (s *server) signIn(ctx context.Context) (user, password string, err error) {
	if user, password, err = s.App.Login(ctx, s.root.String()); err != nil || password != "" {
		return user, password, err
	}
	s.once.Do(func() { s.user, s.password, s.err = s.login(ctx, s.root.String()) })
	return s.user, s.password, s.err
}

// hold keeps everybody from asking before a time.
func (s *server) hold(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until.After(s.held) {
		s.held = until
	}
}

// turn waits until the server may be asked, as long as that is worth it.
func (s *server) turn(ctx context.Context) error {
	s.mu.Lock()
	until := s.held
	s.mu.Unlock()
	wait := until.Sub(s.now())
	if wait <= 0 {
		return nil
	}
	if end, ok := ctx.Deadline(); wait > s.budget.Push || ok && until.After(end) {
		return &LimitError{Server: wire.OriginOf(s.root).Shown(), Until: until, Wait: wait}
	}
	return s.sleep(ctx, wait)
}

// LimitError is a forge that has been asked too much, for longer than a run waits.
type LimitError struct {
	Server string
	Until  time.Time
	Wait   time.Duration
}

// Error says when to come back.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%s takes no more requests of this login until %s: run again then, in %s; what is done stays, and the rest is done then", e.Server, e.Until.UTC().Format(time.RFC3339), e.Wait.Round(time.Second))
}

// conn makes the calls for one repository.
type conn struct {
	*server
	kind  *kind
	place Place
	api   string // without a slash at its end
}

// Error is a forge's refusal.
type Error struct {
	Method, What string
	Status       int
	Says, Help   string
}

// Error says what was asked for, what the forge said, and what to do.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.Method, e.What, e.Status, e.Says)
	if e.Help != "" {
		text += ": " + e.Help
	}
	return text
}

// refuses says that an error is a forge's refusal with a status, whose text has these
// words.
func refuses(err error, status int, words string) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status && strings.Contains(strings.ToLower(e.Says), words)
}

const (
	maxAnswer = 32 << 20 // bytes
	// maxAsks bounds how often a call is made that is put off.
	maxAsks = 5
)

// call asks for something of the repository, or where its path begins with a slash
// of the forge; out is for the answer.
func (c *conn) call(ctx context.Context, method, path string, body, out any) error {
	_, err := c.ask(ctx, method, path, body, out)
	return err
}

func (c *conn) ask(ctx context.Context, method, path string, body, out any) (http.Header, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	for range maxAsks {
		if err := c.turn(ctx); err != nil {
			return nil, err
		}
		res, err := c.send(ctx, method, path, data)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", method, c.shown(path), err)
		}
		if until, limited := res.putOff(c.now()); limited {
			c.hold(until)
			continue
		}
		switch {
		case res.status/100 != 2:
			return nil, c.refusal(method, path, res)
		case out != nil:
			if err := json.Unmarshal(res.text, out); err != nil {
				return nil, fmt.Errorf("%s %s: the answer is not what %s gives: %w", method, c.shown(path), c.kind.name, err)
			}
		}
		return res.head, nil
	}
	if err := c.turn(ctx); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s %s: the forge put it off %d times: run again later", method, c.shown(path), maxAsks)
}

// graphql is GitHub's other API.
const graphql = "/graphql"

// soon asks again where a forge has not found out yet whether a request can be merged,
// as it does after it was opened, or its head moved; and where Gitea refuses because
// the same request is changed in the same moment: by another run with 409, and with 500
// where it closes by itself what it is asked to close, as a branch of it is gone.
func (c *conn) soon(ctx context.Context, call func() error) error {
	for try := 1; ; try++ {
		err := call()
		var e *Error
		if try == 2*maxAsks || !errors.As(err, &e) || e.Status != http.StatusMethodNotAllowed && !alreadyChanged(err) {
			return err
		}
		if err := c.sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

func alreadyChanged(err error) bool {
	const words = "already changed"
	return refuses(err, http.StatusConflict, words) || refuses(err, http.StatusInternalServerError, words)
}

// answer is what a forge said.
type answer struct {
	status   int
	head     http.Header
	text     []byte
	password string // that the request was sent with
}

func (c *conn) send(ctx context.Context, method, path string, data []byte) (*answer, error) {
	at := c.api + path
	switch {
	case path == graphql: // beside /api/v3, where that is not a host of its own
		at = strings.TrimSuffix(c.api, "/v3") + path
	case !strings.HasPrefix(path, "/"):
		at = c.api + "/" + c.kind.repo(c.place.Path) + "/" + path
	}
	ctx = context.WithValue(ctx, repository{}, c.place.Path)
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if data != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	user, password, err := c.signIn(ctx)
	switch at := wire.OriginOf(c.root); {
	case err != nil:
		return nil, fmt.Errorf("signing in at %s: %w", at.Shown(), err)
	case password != "" && at.Exposed():
		return nil, fmt.Errorf("%s is not encrypted, and a login would be seen on the way: give the forge's https address in %s", at.Shown(), Annotation)
	}
	c.kind.sign(req, user, password)
	res, err := c.http.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // its text has the address once more
		}
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode == http.StatusUnauthorized {
		c.App.Reject(password)
	}
	return &answer{res.StatusCode, res.Header, text, password}, err
}

// putOff says that a forge refuses a request for now, and until when.
func (res *answer) putOff(now time.Time) (time.Time, bool) {
	if res.status != http.StatusForbidden && res.status != http.StatusTooManyRequests {
		return time.Time{}, false
	}
	if after, ok := wire.RetryAfter(res.head, now); ok {
		return now.Add(after), true
	}
	for _, prefix := range []string{"X-Ratelimit-", "Ratelimit-"} {
		if at, err := strconv.ParseInt(res.head.Get(prefix+"Reset"), 10, 64); err == nil && res.head.Get(prefix+"Remaining") == "0" {
			return time.Unix(at, 0).Add(time.Second), true // its clock is not ours
		}
	}
	if res.status == http.StatusTooManyRequests || strings.Contains(strings.ToLower(says(res.text)), "rate limit") {
		return now.Add(time.Minute), true
	}
	return time.Time{}, false
}

func (c *conn) refusal(method, path string, res *answer) *Error {
	text := res.text
	if res.password != "" {
		text = bytes.ReplaceAll(text, []byte(res.password), []byte("***"))
	}
	e := &Error{Method: method, What: c.shown(path), Status: res.status, Says: says(text)}
	switch {
	case res.status == http.StatusUnauthorized:
		e.Help = "sign in, with one of Git's credential helpers, or " + c.kind.signIn()
	case res.status == http.StatusForbidden:
		e.Help = "the login may not do that: a token needs " + c.kind.needs
		if wants := res.head.Get("X-Accepted-GitHub-Permissions"); wants != "" {
			e.Help += ", for this call " + oneLine(wants, 100)
		}
	case res.status == http.StatusNotFound:
		e.Help = "there is no such repository, or the login may not see it: a token needs " + c.kind.needs
	case res.status/100 == 3:
		e.Help = "the repository has moved: give its Repository the address that it has now"
	}
	if c.kind.advice != "" && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, res.status) {
		e.Help += ". " + c.kind.advice
	}
	return e
}

// signIn says how to, for people.
func (k *kind) signIn() string {
	var names, servers []string
	for _, t := range k.tokens {
		names = append(names, t.name)
		for _, s := range t.servers {
			if !slices.Contains(servers, s) {
				servers = append(servers, s)
			}
		}
	}
	return fmt.Sprintf("the variable %s, for the server that %s names", strings.Join(names, " or "), strings.Join(servers, " or "))
}

// maxPages bounds how much of a list is read.
const maxPages = 200

// list reads a list in pages, at most so many.
func list[T any](ctx context.Context, c *conn, path string, query url.Values, most int) ([]T, error) {
	var out []T
	for range most {
		var page []T
		head, err := c.ask(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page)
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if query = next(head); query == nil {
			return out, nil
		}
	}
	if most < maxPages {
		return out, nil
	}
	return nil, fmt.Errorf("GET %s: there are more than %d pages", c.shown(path), most)
}

// next is what to ask for to get the next page, nil where there is none: the query of
// the Link header's address, whose server may be any.
func next(head http.Header) url.Values {
	for _, link := range strings.Split(strings.Join(head.Values("Link"), ","), ",") {
		address, params, _ := strings.Cut(link, ";")
		if !strings.Contains(params, `rel="next"`) {
			continue
		}
		if u, err := url.Parse(strings.Trim(strings.TrimSpace(address), "<>")); err == nil {
			return u.Query()
		}
	}
	return nil
}

// latest puts lists of requests together that were read one after the other: what
// was read later counts.
func latest(lists ...[]pulls.Open) []pulls.Open {
	var out []pulls.Open
	at := map[int]int{}
	for _, o := range slices.Concat(lists...) {
		if i, ok := at[o.Number]; ok {
			out[i] = o
			continue
		}
		at[o.Number] = len(out)
		out = append(out, o)
	}
	return out
}

// already finds the open request of a branch that a forge says is there: another run
// was faster. What the forge said is given where it is not.
func already(ctx context.Context, f pulls.Forge, base, branch string, said error) (pulls.Open, error) {
	all, err := f.Requests(ctx, base)
	if err != nil {
		return pulls.Open{}, err
	}
	for _, o := range all {
		if o.Branch == branch && !o.Closed && !o.Merged {
			return o, nil
		}
	}
	return pulls.Open{}, said
}

// set sets a status where the one that is there says something else.
func set[T comparable](ctx context.Context, c *conn, path string, there []T, want T) error {
	if slices.Contains(there, want) {
		return nil
	}
	return c.call(ctx, http.MethodPost, path, want, nil)
}

// shown is a call for people: the repository, and what of it.
func (c *conn) shown(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if of, ok := strings.CutPrefix(path, "/"); ok {
		return c.root.String() + of
	}
	return c.root.String() + c.place.Path + "/" + path
}

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// says is a refusal's text: forges put it in one of several places.
func says(body []byte) string {
	var e struct {
		Message     any    `json:"message"`
		Error       any    `json:"error"`
		Description string `json:"error_description"`
		Errors      any    `json:"errors"`
	}
	text := string(body)
	if json.Unmarshal(body, &e) == nil {
		parts := slices.Concat(words(e.Message), words(e.Error), words(e.Description), words(e.Errors))
		if len(parts) > 0 {
			text = strings.Join(parts, "; ")
		}
	}
	return oneLine(text, 300)
}

// words are the texts in a part of an answer that has no certain shape.
func words(v any) []string {
	switch v := v.(type) {
	case string:
		if v != "" {
			return []string{v}
		}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, words(e)...)
		}
		return out
	case map[string]any:
		if m := words(v["message"]); len(m) > 0 {
			return m
		}
		var out []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			for _, w := range words(v[key]) {
				out = append(out, key+" "+w)
			}
		}
		return out
	}
	return nil
}

// oneLine is a text in one line of so many characters.
func oneLine(text string, most int) string {
	line := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " "))
	if len(line) > most {
		line = append(line[:most-1:most-1], '…')
	}
	return string(line)
}

// plain is a text as pulls reads it: forges keep the line ends that browsers send.
func plain(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// undraft takes the words from a title by which some forges know a draft.
func undraft(title string, draft bool, prefixes ...string) string {
	for _, p := range prefixes {
		if draft && len(title) >= len(p) && strings.EqualFold(title[:len(p)], p) {
			return strings.TrimSpace(title[len(p):])
		}
	}
	return title
}

func drafted(title string, draft bool, prefix string) string {
	if draft {
		return prefix + " " + title
	}
	return title
}

// teams parts the names of teams, organisation/team, from people's.
func teams(reviewers []string) (people, teams []string) {
	for _, r := range reviewers {
		if strings.Contains(r, "/") {
			teams = append(teams, lastSegment(r))
			continue
		}
		people = append(people, r)
	}
	return people, teams
}
