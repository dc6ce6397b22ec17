package gitrepo

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/variform/variform/test/gittest"
)

// TestStoredCredentials: which line of a file a server gets.
func TestStoredCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	get := StoredCredentials(file)
	if user, password, err := get(t.Context(), "https://git.example.com/a"); user != "" || password != "" || err != nil {
		t.Errorf("no file: %q %q %v", user, password, err)
	}
	lines := "# by whom\n\nhttps://all:p%40ss@git.example.com\nhttps://team:t@git.example.com/team\nhttps://own:o@git.example.com/team/web/\nhttp://plain:h@other.example.com:8080\n"
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"https://git.example.com/else/x.git":    "all p@ss",
		"https://git.example.com/teams/x":       "all p@ss", // no folder of team
		"https://git.example.com:443/team/x":    "team t",
		"https://GIT.example.com/team/web.git":  "own o",
		"https://git.example.com/team/web":      "own o",
		"http://git.example.com/team/x":         " ",
		"https://git.example.com:8443/team/x":   " ",
		"http://other.example.com:8080/x":       "plain h",
		"https://git.example.com.evil.org/team": " ",
	} {
		user, password, err := get(t.Context(), address)
		if got := user + " " + password; got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", address, got, err, want)
		}
	}
	if err := os.WriteFile(file, []byte(lines+"s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := get(t.Context(), "https://git.example.com/x"); err == nil || !strings.Contains(err.Error(), "credentials:7: ") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a line that is no URL: %v", err)
	}
}

// TestLoginsFromAFile: a server that wants a login gets the file's, as it is when the
// repository is opened; without one the error says where it is to come from.
func TestLoginsFromAFile(t *testing.T) {
	s := gittest.NewServer(t)
	s.NewRepo(t, "web").Commit(t, "main", "begin", gittest.Text{"a": "b"})
	front := wantsLogin(t, s, "robot", "t0ken")
	file := filepath.Join(t.TempDir(), "credentials")
	open := func() error {
		_, err := NewStore(Options{CacheDir: t.TempDir(), Credentials: StoredCredentials(file)}).Open(t.Context(), front.srv.URL+"/web")
		return err
	}
	if err := open(); !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "give Variform one for ") {
		t.Errorf("without a login: %v", err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(front.srv.URL, "http://", "http://robot:t0ken@", 1)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(); err != nil {
		t.Error(err)
	}
}

// What a server can do is held once, however many repositories it has, and another's apart.
func TestCapabilitiesAreShared(t *testing.T) {
	srv := gittest.NewServer(t)
	store := NewStore(Options{})
	open := func(name string, filters bool) *Repo {
		t.Helper()
		repo := srv.NewRepo(t, name)
		repo.Commit(t, "main", "start", gittest.Text{"README.md": "x\n"})
		repo.Git(t, "config", "uploadpack.allowFilter", fmt.Sprint(filters))
		r, err := store.Open(t.Context(), srv.RepoURL(name))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a, b, other := open("a", true), open("b", true), open("other", false)
	if a.capabilities() != b.capabilities() || a.capabilities() == other.capabilities() {
		t.Error("alike ones are held apart, or others together")
	}
	if !a.capabilities().Supports(capability.Filter) || other.capabilities().Supports(capability.Filter) {
		t.Error("a repository can do what another can")
	}
}

// TestNoSSH: nothing is sent to an ssh server where its keys were not given for the address.
func TestNoSSH(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan bool, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(came)
				return
			}
			came <- true
			_ = c.Close()
		}
	}()
	for _, address := range []string{"ssh://git@" + l.Addr().String() + "/a", "git+ssh://git@" + l.Addr().String() + "/b"} {
		if _, err := NewStore(Options{NoSSH: true}).Open(t.Context(), address); !errors.Is(err, ErrAuth) || !strings.Contains(err.Error(), "use https") {
			t.Errorf("%s: %v", address, err)
		}
	}
	_ = l.Close()
	for range came {
		t.Error("the server was called")
	}
}
