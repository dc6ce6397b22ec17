package observe

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/ocirepo"
)

// An upstreamLock leads to a Repository of its own namespace, and to the
// package there.
func TestLocked(t *testing.T) {
	registered := func(namespace, name string) *Repo {
		obj := &v1alpha1.Repository{}
		obj.Namespace, obj.Name = namespace, name
		return newRepo(obj)
	}
	oci := func(namespace, name, registry string) *Repo {
		r := registered(namespace, name)
		opened, err := OCI(ocirepo.NewStore(ocirepo.Options{})).Open(registry)
		if err != nil {
			t.Fatal(err)
		}
		r.OCI, r.Registry = opened, opened.Address()
		return r
	}
	git := func(name, url string) *Repo {
		r := registered("default", name)
		r.Git, r.Address = new(gitrepo.Repo), url
		r.Repository.Git = url
		return r
	}
	whole, blue := oci("default", "a-whole", "registry.example.com"), oci("default", "blue", "http://registry.example.com/team/blue")
	plain, again := git("plain", "https://git.example.com/c.git"), git("again", "https://git.example.com/c")
	e := New(Config{})
	e.sorted = []*Repo{whole, again, blue, plain, oci("other", "mirror", "mirror.example.com/x"), registered("default", "unread")}
	e.byURL = map[addressKey]*Repo{{"default", decide.PlainAddress("https://git.example.com/c")}: again}
	e.repos = map[repoKey]*Repo{{"default", "plain"}: plain, {"default", "blue"}: blue}

	image := func(name string) *kptfilev1.GitLock { return mutate.ImageLock(name, "v1", "sha256:0").Git }
	cases := map[string]struct {
		lock   *kptfilev1.GitLock
		prefer *Repo
		want   *Repo
		pkg    string
	}{
		"image":                     {image("registry.example.com/team/blue/a/b"), nil, whole, "team/blue/a/b"},
		"preferred registry":        {image("registry.example.com/team/blue/a/b"), blue, blue, "a/b"},
		"preferred, elsewhere":      {image("registry.example.com/team/blueprints/a"), blue, whole, "team/blueprints/a"},
		"the registered path":       {image("registry.example.com/team/blue"), blue, blue, ""},
		"preferred Git, an image":   {image("registry.example.com/x"), plain, whole, "x"},
		"another namespace's":       {image("mirror.example.com/x/y"), nil, nil, ""},
		"nobody's":                  {image("registry.example.com.evil.example/x"), nil, nil, ""},
		"Git":                       {&kptfilev1.GitLock{Repo: "https://git.example.com/c.git", Directory: "/a/b"}, nil, again, "a/b"},
		"preferred Git":             {&kptfilev1.GitLock{Repo: "https://git.example.com/c/", Directory: "a"}, plain, plain, "a"},
		"Git, a registry preferred": {&kptfilev1.GitLock{Repo: "https://git.example.com/c", Directory: "/"}, blue, again, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var prefer *decide.Repository
			if c.prefer != nil {
				prefer = c.prefer.Repository
			}
			got, pkg := e.Locked(t.Context(), "default", c.lock, prefer)
			if got != c.want || got != nil && pkg != c.pkg {
				t.Errorf("got %v, %q", got, pkg)
			}
		})
	}
}

func TestNeedsPerson(t *testing.T) {
	for kind, want := range map[error]bool{
		ocirepo.ErrNotFound: true, ocirepo.ErrAuth: true, ocirepo.ErrPackage: true, ocirepo.ErrLimit: true, ocirepo.ErrAddress: true,
		ocirepo.ErrUnavailable: false, ocirepo.ErrRateLimited: false, ocirepo.ErrDigest: false,
	} {
		err := NeedsPerson(fmt.Errorf("x: %w", kind))
		if decide.IsStalled(err) != want || !errors.Is(err, kind) {
			t.Errorf("%v: stalled %t", kind, decide.IsStalled(err))
		}
	}
}

// TestLockOfAPath: kpt writes the absolute path of a repository that is registered
// by a relative one.
func TestLockOfAPath(t *testing.T) {
	y := newYard(t)
	dir, err := filepath.EvalSymlinks(y.git.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(dir))
	y.fleet.Repositories[0].Spec.Git.Repo = filepath.Base(dir)
	r, _ := y.read()
	if got, pkg := r.Locked(t.Context(), "default", &kptfilev1.GitLock{Repo: strings.TrimSuffix(dir, ".git"), Directory: "/web"}, nil); got == nil || got.Name != "c1" || pkg != "web" {
		t.Errorf("got %v, %q", got, pkg)
	}
}
