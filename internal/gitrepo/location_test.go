package gitrepo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

func TestParseLocation(t *testing.T) {
	tests := map[string]struct {
		raw                      string
		display, protocol, local string
		key, user, pass          string
	}{
		"Plain":     {raw: "https://Example.com/a/b.git/", display: "https://Example.com/a/b.git/", protocol: "https", key: "https://example.com/a/b.git"},
		"Token":     {raw: "https://tok3n@example.com/a", display: "https://example.com/a", protocol: "https", key: "https://example.com/a", user: "tok3n"},
		"Password":  {raw: "http://u:p%40ss@example.com:8080/a", display: "http://example.com:8080/a", protocol: "http", key: "http://example.com:8080/a", user: "u", pass: "p@ss"},
		"SSH":       {raw: "ssh://git@example.com:2222/a", display: "ssh://git@example.com:2222/a", protocol: "ssh", key: "ssh://git@example.com:2222/a"},
		"SSHPass":   {raw: "ssh://git:pw@example.com/a", display: "ssh://git@example.com/a", protocol: "ssh", key: "ssh://git@example.com/a"},
		"SCP":       {raw: "git@example.com:team/a.git", display: "git@example.com:team/a.git", protocol: "ssh", key: "ssh://git@example.com/team/a.git"},
		"Path":      {raw: "/srv/none/a.git", display: "/srv/none/a.git", protocol: "file", local: "/srv/none/a.git", key: "file:///srv/none/a.git"},
		"PathColon": {raw: "/srv/none/a:b", display: "/srv/none/a:b", protocol: "file", local: "/srv/none/a:b", key: "file:///srv/none/a:b"},
		"File":      {raw: "file:///srv/none/a%20b", display: "file:///srv/none/a%20b", protocol: "file", local: "/srv/none/a b", key: "file:///srv/none/a b"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			l, err := parseLocation(tc.raw)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{l.display, l.endpoint.Protocol, l.local, l.key, l.user, l.password}
			if d := cmp.Diff([]string{tc.display, tc.protocol, tc.local, tc.key, tc.user, tc.pass}, got); d != "" {
				t.Error(d)
			}
			if l.endpoint.Password != "" || tc.protocol != "ssh" && l.endpoint.User != "" {
				t.Errorf("the endpoint carries a login: %+v", l.endpoint)
			}
		})
	}
}

func TestLogin(t *testing.T) {
	const user, token = "robot", "s3cret-token-value"
	setup := func(t *testing.T) *site {
		s := newSite(t)
		s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
		s.srv.RequireLogin(user, token)
		return s
	}
	withUser := func(u, userinfo string) string { return strings.Replace(u, "://", "://"+userinfo+"@", 1) }
	works := func(t *testing.T, r *Repo) {
		t.Helper()
		b := r.NewBatch()
		draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
		push(t, b)
		if strings.Contains(r.URL(), token) {
			t.Errorf("URL is %s", r.URL())
		}
	}
	t.Run("InURL", func(t *testing.T) {
		s := setup(t)
		works(t, open(t, withUser(s.urls["http"], user+":"+token)))
	})
	t.Run("FromCallback", func(t *testing.T) {
		s := setup(t)
		asked := 0
		works(t, openWith(t, s.urls["http"], Options{Credentials: func(_ context.Context, u string) (string, string, error) {
			asked++
			if strings.Contains(u, "@") {
				t.Errorf("asked for %s", u)
			}
			return user, token, nil
		}}))
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
	t.Run("FromGitHelper", func(t *testing.T) {
		s := setup(t)
		home := t.TempDir()
		log := filepath.Join(home, "log")
		helper := filepath.Join(home, "helper")
		script := "#!/bin/sh\necho $1 >>" + log + "\nif [ $1 = get ]; then echo username=" + user + "; echo password=" + token + "; fi\n"
		if err := os.WriteFile(helper, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		config := filepath.Join(home, "gitconfig")
		if err := os.WriteFile(config, []byte("[credential]\n\thelper = "+helper+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("GIT_CONFIG_GLOBAL", config)
		t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
		works(t, open(t, s.urls["http"]))
		got, _ := os.ReadFile(log)
		if string(got) != "get\nstore\n" {
			t.Errorf("the helper was called for %q", got)
		}
	})
	t.Run("Refused", func(t *testing.T) {
		s := setup(t)
		for _, u := range []string{withUser(s.urls["http"], user+":wrong-"+token), s.urls["http"]} {
			o := Options{Credentials: func(context.Context, string) (string, string, error) { return user, "also-wrong-" + token, nil }}
			_, err := NewStore(o).Open(context.Background(), u)
			if !errors.Is(err, ErrAuth) || strings.Contains(err.Error(), token) {
				t.Errorf("got %v", err)
			}
		}
	})
	t.Run("HookRepeatsToken", func(t *testing.T) {
		s := setup(t)
		s.repo.Hook(t, "pre-receive", "echo you sent "+token+" >&2; exit 1")
		r := open(t, withUser(s.urls["http"], user+":"+token))
		b := r.NewBatch()
		draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
		rep, err := b.Push(context.Background(), PushOptions{})
		if !errors.Is(err, ErrRejected) || strings.Contains(err.Error(), token) || strings.Contains(strings.Join(rep.Messages, ""), token) {
			t.Errorf("got %v, %v", err, rep.Messages)
		}
	})
	t.Run("DeadServer", func(t *testing.T) {
		_, err := NewStore(Options{}).Open(context.Background(), "http://"+user+":"+token+"@127.0.0.1:1/x")
		if err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("got %v", err)
		}
	})
}

func TestReadsAreRetriedPushesAreNot(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	s.srv.FailNext(gittest.ReadRefs, 503)
	s.srv.FailNext(gittest.Fetch, 502)
	r := open(t, s.urls["http"])
	b := r.NewBatch()
	draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
	s.srv.FailNext(gittest.Push, 503)
	if _, err := b.Push(context.Background(), PushOptions{}); !errors.Is(err, ErrUnknownOutcome) {
		t.Errorf("got %v", err)
	}
	if n := s.srv.Count(gittest.Push); n != 1 {
		t.Errorf("pushed %d times", n)
	}
	s.srv.FailNext(gittest.Push, 400)
	if rep, err := b.Push(context.Background(), PushOptions{}); err == nil || errors.Is(err, ErrUnknownOutcome) || rep.Refs[0].Outcome != Unmoved {
		t.Errorf("got %v", err)
	}
	push(t, b)
}

// A server that is down is waited for some times, not for each package, and asked as
// before once it answers.
func TestServerThatIsDown(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	r := open(t, s.urls["http"])
	asks := func(failures int) (requests int, err error) {
		t.Helper()
		for range failures {
			s.srv.FailNext(gittest.ReadRefs, 503)
		}
		before := s.srv.Count(gittest.ReadRefs)
		err = r.Refresh(t.Context())
		return s.srv.Count(gittest.ReadRefs) - before, err
	}
	for i, c := range []struct{ failures, requests int }{
		{3, 3}, {3, 3}, {1, 1}, {1, 1}, // down
		{0, 1}, {2, 3}, // answers
	} {
		if n, err := asks(c.failures); n != c.requests || (err == nil) != (c.failures < c.requests) {
			t.Errorf("read %d: %d requests, want %d: %v", i, n, c.requests, err)
		}
	}
}

// TestServerIsLeftAlone: a forge's limit is waited for, in pushes too, and no longer than people wait.
func TestServerIsLeftAlone(t *testing.T) {
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	for _, kind := range []string{gittest.ReadRefs, gittest.Fetch, gittest.WriteRefs, gittest.Push} {
		s.srv.LimitNext(kind, "1")
	}
	r := open(t, s.urls["http"])
	b := r.NewBatch()
	draft(t, b, "app", "w", head(t, r, "main"), files("app", 2))
	push(t, b)
	if n := s.srv.Count(gittest.Push); n != 2 {
		t.Errorf("pushed %d times", n)
	}
	s.srv.LimitNext(gittest.Push, "3600")
	before := s.srv.Count(gittest.Push)
	b = r.NewBatch()
	draft(t, b, "app", "x", head(t, r, "main"), files("app", 3))
	_, err := b.Push(t.Context(), PushOptions{})
	if err == nil || errors.Is(err, ErrUnknownOutcome) || !strings.Contains(err.Error(), "refuses requests for 1h0m0s") {
		t.Errorf("got %v", err)
	}
	if n := s.srv.Count(gittest.Push) - before; n != 1 {
		t.Errorf("pushed %d times", n)
	}
	requests := s.srv.Count(gittest.ReadRefs)
	if err := r.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "refuses requests for") {
		t.Errorf("got %v", err)
	}
	if n := s.srv.Count(gittest.ReadRefs); n != requests {
		t.Errorf("what refuses was asked %d times", n-requests)
	}
}

func TestUserSignature(t *testing.T) {
	gittest.RequireGit(t)
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Chdir(t.TempDir())
	if s, err := UserSignature(context.Background(), machine.When); err == nil || !strings.Contains(err.Error(), "git config --global user.name") {
		t.Errorf("git knows nobody, we got %+v, %v", s, err)
	}
	t.Setenv("GIT_AUTHOR_NAME", "Bo Reviewer")
	t.Setenv("GIT_AUTHOR_EMAIL", "bo@example.com")
	for _, path := range []string{os.Getenv("PATH"), t.TempDir()} { // without git, too
		t.Setenv("PATH", path)
		s, err := UserSignature(context.Background(), machine.When)
		if want := (Signature{"Bo Reviewer", "bo@example.com", machine.When}); err != nil || s != want {
			t.Errorf("got %+v, %v", s, err)
		}
	}
}

// TestUserSignatureSaysWhatHinders holds that only who is unknown is told to say
// who they are.
func TestUserSignatureSaysWhatHinders(t *testing.T) {
	gittest.RequireGit(t)
	for k, v := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Bo Reviewer", "GIT_AUTHOR_EMAIL": "bo@example.com",
	} {
		t.Setenv(k, v)
	}
	t.Chdir(t.TempDir())
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	tests := map[string]struct {
		ctx  context.Context
		env  map[string]string
		want string
	}{
		"no git":       {context.Background(), map[string]string{"PATH": t.TempDir(), "GIT_AUTHOR_EMAIL": ""}, "set GIT_AUTHOR_NAME and GIT_AUTHOR_EMAIL"},
		"no such date": {context.Background(), map[string]string{"GIT_AUTHOR_DATE": "nonsense"}, "invalid date format: nonsense"},
		"interrupted":  {gone, nil, context.Canceled.Error()},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			s, err := UserSignature(tt.ctx, machine.When)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "git config") {
				t.Errorf("got %+v, %v, want %q", s, err, tt.want)
			}
		})
	}
}
