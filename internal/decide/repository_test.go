package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRepository(t *testing.T) {
	p, q := NewPackage("apps/web", nil, draftOf(1, 1)), NewPackage("apps/db", nil)
	r := repository(p, q)
	if d := cmp.Diff([]string{"apps/db", "apps/web"}, r.Paths()); d != "" {
		t.Errorf("paths: -want +got:\n%s", d)
	}
	if r.Package("apps/web") != p {
		t.Error("the package that is there is not given")
	}
	if got := r.Package("apps/new"); got == nil || got.Path != "apps/new" || len(r.Packages) != 2 {
		t.Errorf("what is not there: %+v", got)
	}
	if r.Path("team/web") != "apps/team/web" || r.Below("apps/team/web") != "team/web" {
		t.Errorf("path %s, below %s", r.Path("team/web"), r.Below("apps/team/web"))
	}
	if got := r.Place("apps/web"); got != (Place{"git/c1", "apps/web"}) {
		t.Errorf("place %+v", got)
	}
	all := &Repository{}
	if all.Path("web") != "web" || all.Below("web") != "web" {
		t.Error("without a folder the path is the package")
	}
}

// Of two Repositories that show one package, it is the one's that wants it.
func TestCloser(t *testing.T) {
	repo := func(dir string, wants bool) *Repository {
		return &Repository{Dir: dir, Wanted: map[string]bool{"apps/web": wants}}
	}
	for name, c := range map[string]struct {
		r, other *Repository
		want     bool
	}{
		"wanted in it":         {repo("", true), repo("apps", false), true},
		"wanted in the other":  {repo("apps", false), repo("", true), false},
		"inner, neither wants": {repo("apps", false), repo("", false), true},
		"outer, both want":     {repo("", true), repo("apps", true), false},
		"the same folder":      {repo("apps", false), repo("apps", false), false},
	} {
		if got := c.r.closer(c.other, "apps/web"); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestSameAddress(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want bool
	}{
		"equal":            {"https://h/a.git", "https://h/a.git", true},
		".git":             {"https://h/a.git", "https://h/a", true},
		"slash":            {"https://h/a/", "https://h/a.git/", true},
		"file":             {"file:///srv/a.git", "/srv/a", true},
		"another":          {"https://h/a", "https://h/ab", false},
		"a server":         {"https://h/a", "https://g/a", false},
		"ssh":              {"https://h/team/a.git", "ssh://git@h/team/a", true},
		"scp":              {"https://h/team/a.git", "git@h:team/a.git", true},
		"scp, no user":     {"h.example.com:team/a", "https://h.example.com/team/a", true},
		"a user":           {"https://robin:secret@h/a", "https://h/a", true},
		"the host's case":  {"https://H.example.com/a", "https://h.example.com/a", true},
		"the path's case":  {"https://h/A", "https://h/a", false},
		"default ports":    {"https://h:443/a", "ssh://git@h:22/a", true},
		"another port":     {"https://h:8443/a", "https://h/a", false},
		"https' over http": {"http://h:443/a", "https://h/a", false},
		"a host, no path":  {"/h/a", "https://h/a", false},
		"a drive":          {`C:\srv\a`, "https://c/srv/a", false},
		"a path and colon": {"/srv/a:b", "ssh:///srv/a/b", false},
	} {
		if got := SameAddress(c.a, c.b); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
