package gitrepo

import (
	"encoding/base64"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// configured has git read a configuration, and a home folder with files.
func configured(t *testing.T, config string, home map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range home {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "gitconfig")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	t.Setenv("GIT_CONFIG_GLOBAL", file)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

func gitSays(t *testing.T, args ...string) string {
	t.Helper()
	out, _ := exec.Command("git", args...).Output() // 1: there is no such setting
	return strings.TrimSuffix(string(out), "\n")
}

// An address is what git makes of it.
func TestInsteadOf(t *testing.T) {
	configured(t, `
[url "https://mirror.example.com/"]
	insteadOf = https://github.com/
	insteadOf = gh:
[url "git@git.example.com:team/"]
	insteadOf = https://github.com/team/
[url "https://h/"]
	insteadOf = https://h/
`, nil)
	c := readGitConfig(t.Context())
	for _, address := range []string{
		"https://github.com/a/b.git", "https://github.com/team/b.git", "https://github.com/teams/b.git", "gh:a/b", "https://gitlab.com/a/b.git", "git@github.com:a/b.git", "https://h/x", "HTTPS://github.com/a",
	} {
		if got, want := c.address(address), gitSays(t, "ls-remote", "--get-url", address); got != want {
			t.Errorf("%s: %s, and git has %s", address, got, want)
		}
	}
}

// The last value for an address is that which git takes.
func TestGitConfigValues(t *testing.T) {
	configured(t, `
[http]
	extraHeader = X: every
	proxy = http://every:1
[http "https://*.example.com"]
	extraHeader = X: wild
[http "https://git.example.com/"]
	extraHeader = X: host
	proxy = http://host:1
[http "https://git.example.com/team"]
	extraHeader = X: team
[http "https://git.example.com:8443"]
	extraHeader = X: port
[http "http://git.example.com"]
	extraHeader = X: plain
[http "https://bob@git.example.com/own"]
	extraHeader = X: bob
[http "https://off.example.com"]
	proxy =
`, nil)
	c := readGitConfig(t.Context())
	for _, address := range []string{
		"https://git.example.com/a.git", "https://git.example.com/team/a.git", "https://git.example.com/teams/a.git", "https://other.example.com/a.git", "https://a.b.example.com/a.git",
		"https://git.example.com:8443/a.git", "https://git.example.com:443/a.git", "http://git.example.com/a.git", "https://bob@git.example.com/own/a.git", "https://git.example.com/own/a.git", "https://GIT.example.com/a.git", "https://off.example.com/a.git", "https://elsewhere.org/a.git",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"extraheader", "proxy"} {
			got := ""
			if values, _ := c.values(name, u); len(values) > 0 {
				got = values[len(values)-1]
			}
			if want := gitSays(t, "config", "--get-urlmatch", "http."+name, address); got != want {
				t.Errorf("%s of %s: %q, and git has %q", name, address, got, want)
			}
		}
	}
}

func TestNetrc(t *testing.T) {
	const text = "# ours\nmachine a.example.com login ann password one\nmacdef init\nmachine x login no password no\n\nmachine B.example.com\n  password two # not\n  login bob\n  account x\nmachine c.example.com login eve\ndefault login any password three\n"
	for host, want := range map[string]string{
		"a.example.com": "ann:one", "b.example.com": "bob:two", "c.example.com": "eve:", "d.example.com": "any:three", "x": "any:three",
	} {
		if user, password := parseNetrc(text, host); user+":"+password != want {
			t.Errorf("%s: %s:%s, want %s", host, user, password, want)
		}
	}
	if user, password := parseNetrc("machine a login", "a"); user+password != "" {
		t.Errorf("a file that is cut: %s:%s", user, password)
	}
}

// What git reads with its configuration alone, Variform reads: as actions/checkout leaves its
// login, by .netrc, by another address, and by a proxy. No message has the login.
func TestReachedAsByGit(t *testing.T) {
	const user, password = "x-access-token", "canary-of-the-configuration"
	basic := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	s := newSite(t)
	s.repo.Commit(t, "main", "base", gittest.Text{"a/Kptfile": kptfile("a")})
	guarded := wantsLogin(t, s.srv, user, password)
	address := guarded.srv.URL + "/fleet.git"
	through := 0
	proxy := recorded(t, func(w http.ResponseWriter, r *http.Request) {
		through++
		(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			to, _ := url.Parse(guarded.srv.URL)
			p.SetURL(to)
		}}).ServeHTTP(w, r)
	})
	header := "[http \"" + guarded.srv.URL + "/\"]\n\textraheader = AUTHORIZATION: Basic " + basic + "\n"
	for name, tt := range map[string]struct {
		config  string
		home    map[string]string
		address string
	}{
		"a header":        {header, nil, address},
		".netrc":          {"", map[string]string{".netrc": "machine 127.0.0.1 login " + user + " password " + password + "\n"}, address},
		"another address": {header + "[url \"" + guarded.srv.URL + "/\"]\n\tinsteadOf = https://git.example.invalid/\n", nil, "https://git.example.invalid/fleet.git"},
		"a proxy":         {"[http \"http://git.example.invalid\"]\n\tproxy = " + proxy.srv.URL + "\n\textraheader = Authorization: Basic " + basic + "\n", nil, "http://git.example.invalid/fleet.git"},
	} {
		t.Run(name, func(t *testing.T) {
			configured(t, tt.config, tt.home)
			r := open(t, tt.address)
			b := r.NewBatch()
			draft(t, b, "app-"+strings.Trim(strings.ReplaceAll(name, " ", "-"), "."), "w", head(t, r, "main"), files("app", 2))
			push(t, b)
			if r.URL() != tt.address {
				t.Errorf("it is called %s", r.URL())
			}
		})
	}
	if through == 0 {
		t.Error("nothing came by the proxy")
	}
	t.Run("of another", func(t *testing.T) {
		configured(t, header, nil)
		c := readGitConfig(t.Context())
		if d := cmp.Diff([]string{"Basic " + basic, basic}, c.secrets()); d != "" {
			t.Errorf("secrets: -want +got:\n%s", d)
		}
		elsewhere := recorded(t, s.srv.ServeHTTP)
		open(t, elsewhere.srv.URL+"/fleet.git")
		for _, sent := range elsewhere.logins() {
			if sent != "" {
				t.Errorf("another server was sent %q", sent)
			}
		}
	})
	t.Run("with logins of one's own", func(t *testing.T) {
		configured(t, header, nil)
		o := Options{Credentials: StoredCredentials(filepath.Join(t.TempDir(), "none"))}
		if _, err := NewStore(o).Open(t.Context(), address); err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("the user's login was used: %v", err)
		}
	})
}
