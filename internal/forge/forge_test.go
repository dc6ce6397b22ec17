package forge

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestLocate(t *testing.T) {
	for name, c := range map[string]struct{ address, annotation, want, err string }{
		"https":              {"https://git.example.com/team/c1.git", "gitea", "https://git.example.com/ team/c1", ""},
		"no .git":            {"https://git.example.com/team/c1/", "gitea", "https://git.example.com/ team/c1", ""},
		"a folder":           {"https://example.com:8443/git/team/c1.git", "gitea", "https://example.com:8443/git/ team/c1", ""},
		"a user":             {"https://ann@git.example.com/team/c1", "gitea", "https://git.example.com/ team/c1", ""},
		"ssh":                {"ssh://git@git.example.com:2222/team/c1.git", "gitea https://git.example.com", "https://git.example.com/ team/c1", ""},
		"short ssh":          {"git@git.example.com:team/c1.git", "gitea  https://git.example.com/git/", "https://git.example.com/git/ team/c1", ""},
		"elsewhere":          {"https://git.example.com/team/c1", "gitea https://api.example.com", "https://api.example.com/ team/c1", ""},
		"ssh, not told":      {"git@git.example.com:team/c1.git", "gitea", "", "write it after the kind, as in variform.dev/forge: gitea https://git.example.com"},
		"no annotation":      {"https://git.example.com/team/c1", " ", "", "set the annotation variform.dev/forge, to one of gitea, github, gitlab"},
		"another":            {"https://bitbucket.org/team/c1", "bitbucket", "", `"bitbucket" is no forge that pull requests can be made on: there are gitea, github, gitlab`},
		"known":              {"https://github.com/team/c1.git", "", "https://github.com/ team/c1", ""},
		"known, by ssh":      {"git@github.com:team/c1.git", "", "https://github.com/ team/c1", ""},
		"its other port":     {"ssh://git@ssh.github.com:443/team/c1.git", "github", "https://github.com/ team/c1", ""},
		"a tenant":           {"git@acme.ghe.com:team/c1.git", "", "https://acme.ghe.com/ team/c1", ""},
		"no tenant":          {"https://ghe.com.example.com/team/c1", "", "", "set the annotation"},
		"Forgejo":            {"git@codeberg.org:team/c1.git", "", "https://codeberg.org/ team/c1", ""},
		"a kind of its own":  {"https://github.com/team/c1", "gitea", "https://github.com/ team/c1", ""},
		"groups":             {"git@gitlab.com:group/sub/team/c1.git", "", "https://gitlab.com/ group/sub/team/c1", ""},
		"own server":         {"https://git.example.com/group/sub/c1.git", "gitlab", "https://git.example.com/ group/sub/c1", ""},
		"in a folder":        {"https://example.com/gitlab/group/sub/c1.git", "gitlab https://example.com/gitlab", "https://example.com/gitlab/ group/sub/c1", ""},
		"ssh, in a folder":   {"git@example.com:group/sub/c1.git", "gitlab https://example.com/gitlab", "https://example.com/gitlab/ group/sub/c1", ""},
		"no group":           {"git@gitlab.com:c1.git", "", "", "names no owner"},
		"upwards":            {"https://gitlab.com/group/../c1.git", "", "", "names no owner"},
		"no owner":           {"https://git.example.com/c1", "gitea", "", "names no owner"},
		"a folder here":      {"/srv/git/c1.git", "gitea", "", "is on no forge"},
		"no address":         {"https://git.example.com/team/c1", "gitea git.example.com", "", "is no https address"},
		"a login":            {"https://git.example.com/team/c1", "gitea https://ann:secret@git.example.com", "", "is no https address"},
		"a login, elsewhere": {"https://ann:secret@git.example.com/c1", "gitea", "", "names no owner"},
	} {
		p, err := Locate(c.address, c.annotation)
		got := ""
		if err == nil {
			got = fmt.Sprint(p.Root, " ", p.Path)
		}
		if got != c.want || (err != nil) != (c.err != "") || err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A forge is known by its annotation or by its host, whether it can be located or not.
func TestKnown(t *testing.T) {
	for address, want := range map[string]bool{"git@github.com:team/c1": true, "https://gitlab.com/a/b/c": true, "https://acme.ghe.com/a/b": true, "https://git.example.com/a/b": false, "/srv/git": false} {
		if Known(address, " ") != want || !Known(address, "gitea") {
			t.Error(address)
		}
	}
}

// A token is for the server that the environment names.
func TestTokenOf(t *testing.T) {
	for at, cases := range map[string][]struct{ env, want string }{
		"https://git.example.com/": {
			{"", ""},
			{"GITEA_TOKEN=t", ""},
			{"GITEA_TOKEN=t GITEA_SERVER_URL=https://git.example.com", "t"},
			{"GITEA_TOKEN=t GITEA_SERVER_URL=https://GIT.example.com:443/", "t"},
			{"GITEA_TOKEN=t GITEA_SERVER_URL=http://git.example.com", ""},
			{"GITEA_TOKEN=t GITEA_SERVER_URL=https://git.example.com:8443", ""},
			{"GITEA_TOKEN=t GITEA_SERVER_URL=https://example.com", ""},
			{"GITEA_TOKEN=t GITEA_SERVER_URL=:", ""},
			{"GITHUB_TOKEN=t GITHUB_SERVER_URL=https://git.example.com", "t"},
			{"GH_TOKEN=t GH_HOST=git.example.com", "t"},
			{"GH_TOKEN=t", ""},
			{"GITLAB_TOKEN=t", ""},
			{"GITLAB_TOKEN=t CI_SERVER_URL=https://git.example.com", "t"},
			{"GITLAB_TOKEN=t GITLAB_HOST=git.example.com CI_SERVER_URL=https://gitlab.com", "t"},
			{"GITLAB_TOKEN=t GITLAB_HOST=gitlab.com CI_SERVER_URL=https://git.example.com", ""},
			{"CI_JOB_TOKEN=t CI_SERVER_URL=https://git.example.com", ""},
		},
		"https://github.com/": {
			{"GITHUB_TOKEN=a GH_TOKEN=b", "b"},
			{"GITHUB_TOKEN=a", "a"},
			{"GITHUB_TOKEN=a GITHUB_SERVER_URL=https://git.example.com", ""},
			{"GITHUB_TOKEN=a GH_TOKEN=b GITHUB_SERVER_URL=https://git.example.com", ""},
			{"GITHUB_TOKEN=a GH_TOKEN=b GITHUB_SERVER_URL=https://git.example.com GH_HOST=github.com", "b"},
			{"GITHUB_TOKEN=a GH_TOKEN=b GITHUB_SERVER_URL=https://github.com GH_HOST=git.example.com", "a"},
			{"GITEA_TOKEN=a GITLAB_TOKEN=b", ""},
		},
		"https://gitlab.com/": {{"GITLAB_TOKEN=t", "t"}, {"GITHUB_TOKEN=t", ""}},
		"http://github.com/":  {{"GITHUB_TOKEN=t", ""}},
		":":                   {{"GITHUB_TOKEN=t", ""}},
	} {
		for _, c := range cases {
			set := map[string]string{}
			for _, pair := range strings.Fields(c.env) {
				name, value, _ := strings.Cut(pair, "=")
				set[name] = value
			}
			if got := TokenOf(at, func(name string) string { return set[name] }); got != c.want {
				t.Errorf("%s with %s: %q, want %q", at, c.env, got, c.want)
			}
		}
	}
}

// The one server that a token goes to beside its own is GitHub's own API.
func TestAPI(t *testing.T) {
	for root, want := range map[string]string{
		"github https://github.com/":           "https://api.github.com/",
		"github https://acme.ghe.com/":         "https://api.acme.ghe.com/",
		"github https://git.example.com/x/":    "https://git.example.com/x/api/v3",
		"github https://github.com:8443/":      "https://github.com:8443/api/v3",
		"github http://github.com/":            "http://github.com/api/v3",
		"github https://github.com.evil.com/":  "https://github.com.evil.com/api/v3",
		"github https://evilghe.com/":          "https://evilghe.com/api/v3",
		"gitlab https://gitlab.com/":           "https://gitlab.com/api/v4",
		"gitea https://git.example.com:8443/a": "https://git.example.com:8443/a/api/v1",
	} {
		name, at, _ := strings.Cut(root, " ")
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := kinds[name].api(u).String(); got != want {
			t.Errorf("%s: %s, want %s", root, got, want)
		}
	}
}
