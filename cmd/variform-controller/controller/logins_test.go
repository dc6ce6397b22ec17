package controller_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/variform/variform/cmd/variform-controller/controller"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/ocirepo"
)

// guarded is a registry that lets users in, each with the password USER-word, and notes who came.
type guarded struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]bool
}

func newGuarded(t testing.TB) *guarded {
	t.Helper()
	g := &guarded{seen: map[string]bool{}}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		g.mu.Lock()
		g.seen[user] = true
		g.mu.Unlock()
		if user == "" || password != user+"-word" {
			w.Header().Set("WWW-Authenticate", `Basic realm="packages"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *guarded) host() string { return strings.TrimPrefix(g.URL, "http://") }

// users are those that came since it was asked last, "" for nobody.
func (g *guarded) users() (out []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for u := range g.seen {
		out = append(out, u)
	}
	g.seen = map[string]bool{}
	slices.Sort(out)
	return out
}

// docker is a Docker configuration with a login of a host, and more of it.
func docker(host, user, more string) string {
	return fmt.Sprintf(`{"auths": {"%s": {"auth": "%s"}}%s}`, host, base64.StdEncoding.EncodeToString([]byte(user+":"+user+"-word")), more)
}

// ambient is the login that the controller itself has for a host.
func ambient(t *testing.T, host string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(docker(host, "controller", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", dir)
}

// publish pushes a package to the registry as somebody.
func (g *guarded) publish(t testing.TB, pkg, user string) {
	t.Helper()
	s := ocirepo.NewStore(ocirepo.Options{Keychain: keychainOf(user)})
	p, err := krm.Parse([]krm.File{
		{Path: "Kptfile", Data: []byte("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n")},
		{Path: "app.yaml", Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Push(context.Background(), g.host()+"/"+pkg+":v1", p, ocirepo.PushOptions{}); err != nil {
		t.Fatal(err)
	}
	g.users()
}

type keychainOf string

func (k keychainOf) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: string(k), Password: string(k) + "-word"}, nil
}

// TestLoginsOfASecret: a registry receives only logins of the Secret, whatever the
// controller itself has for that host, and is no login for Git.
func TestLoginsOfASecret(t *testing.T) {
	g := newGuarded(t)
	g.publish(t, "team/web", "owner")
	ambient(t, g.host())
	bin := t.TempDir()
	helper := "#!/bin/sh\necho ran >>" + bin + "/ran\necho '{\"Username\": \"controller\", \"Secret\": \"controller-word\"}'\n"
	if err := os.WriteFile(filepath.Join(bin, "docker-credential-cloud"), []byte(helper), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	git := "http://git:git-word@" + g.host() + "\n"
	for name, tc := range map[string]struct {
		data map[string]string
		seen []string
		want string // of the error
	}{
		"its own":              {data: map[string]string{".dockerconfigjson": docker(g.host(), "tenant", "")}, seen: []string{"", "tenant"}},
		"with a scheme":        {data: map[string]string{".dockerconfigjson": docker("http://"+g.host(), "tenant", "")}, seen: []string{"", "tenant"}},
		"of a path":            {data: map[string]string{".dockerconfigjson": docker(g.host()+"/team", "tenant", "")}, seen: []string{"", "tenant"}},
		"of another path":      {data: map[string]string{".dockerconfigjson": docker(g.host()+"/other", "tenant", "")}, seen: []string{""}, want: "Secret a/b has no login for " + g.host()},
		"another server's":     {data: map[string]string{".dockerconfigjson": docker("other.example.com", "tenant", "")}, seen: []string{""}, want: "Secret a/b has no login for " + g.host()},
		"Git's alone":          {data: map[string]string{"credentials": git}, seen: []string{""}, want: "Secret a/b has no login for " + g.host()},
		"a helper of the host": {data: map[string]string{".dockerconfigjson": `{"credHelpers": {"` + g.host() + `": "cloud"}}`}, seen: []string{""}, want: "Secret a/b has no login"},
		"a helper of all":      {data: map[string]string{".dockerconfigjson": docker("other.example.com", "tenant", `, "credsStore": "cloud"`)}, seen: []string{""}, want: "Secret a/b has no login"},
		"a wrong one":          {data: map[string]string{".dockerconfigjson": fmt.Sprintf(`{"auths": {"%s": {"username": "tenant", "password": "tenant-wrong"}}}`, g.host())}, seen: []string{"", "tenant"}, want: "the login that Secret a/b has for"},
		"no JSON":              {data: map[string]string{".dockerconfigjson": "tenant-word"}, want: "Secret a/b: the key .dockerconfigjson is no Docker configuration"},
		"neither":              {data: map[string]string{"GITHUB_TOKEN": "x"}, want: "Secret a/b has no key credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			g.users()
			err := tagsOf(g.host()+"/team", "web", tc.data)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "tenant-w") {
				t.Errorf("a password: %v", err)
			}
			if got := g.users(); !slices.Equal(got, tc.seen) {
				t.Errorf("the registry saw %q, want %q", got, tc.seen)
			}
		})
	}
	if ran, _ := os.ReadFile(filepath.Join(bin, "ran")); len(ran) > 0 {
		t.Errorf("a helper of the controller's machine ran:\n%s", ran)
	}
}

// tagsOf asks a registry with the logins of a Secret a/b.
func tagsOf(address, pkg string, text map[string]string) error {
	data := map[string][]byte{}
	for k, v := range text {
		data[k] = []byte(v)
	}
	registries, err := controller.Registries("Secret a/b", data)
	if err != nil {
		return err
	}
	repo, err := registries.Open(address)
	if err != nil {
		return err
	}
	_, err = repo.Revisions(context.Background(), pkg)
	return err
}

// TestRegistryLoginsOfFleets: two Fleets read one registry, each by its own login, and one
// without a login for it by none.
func TestRegistryLoginsOfFleets(t *testing.T) {
	w := newWorld(t)
	g := newGuarded(t)
	g.publish(t, "team/web", "owner")
	ambient(t, g.host())
	w.repo("c1")
	w.start()
	w.apply(
		fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: catalog}\nspec: {type: oci, oci: {registry: %q}}\n", g.host()+"/team"),
		repository("c1", w.git.RepoURL("c1"), true),
		"apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: own}\nspec:\n  upstream: {repo: catalog, package: web, workspaceName: v1}\n  downstream: {repo: c1, package: own}\n",
	)
	for _, tc := range []struct{ secret, seen, says string }{
		{".dockerconfigjson: '" + docker(g.host(), "one", "") + "'", "[ one]", "True Reconciled"},
		{".dockerconfigjson: '" + docker(g.host(), "two", "") + "'", "[ two]", "True Reconciled"},
		{"credentials: ''", "[]", "False Error"},
		{"", "[ controller]", "True Reconciled"},
	} {
		fleet := strings.Replace(fmt.Sprintf(objectsFleet, "1s"), "prune: true", "secretRef: {name: logins}", 1)
		if tc.secret == "" {
			fleet = strings.Replace(fleet, ", secretRef: {name: logins}", "", 1)
		} else {
			w.apply("apiVersion: v1\nkind: Secret\nmetadata: {name: logins}\nstringData: {" + tc.secret + "}\n")
		}
		w.until("quiet", func() bool { g.users(); time.Sleep(300 * time.Millisecond); return len(g.users()) == 0 })
		w.apply(fleet)
		w.says(fleet, "Ready", tc.says)
		if got := fmt.Sprint(g.users()); got != tc.seen {
			t.Errorf("the registry saw %s, want %s", got, tc.seen)
		}
		if err := w.api.Delete(context.Background(), w.object(fleet)); err != nil {
			t.Fatal(err)
		}
		if tc.secret != "" {
			if err := w.api.Delete(context.Background(), w.object("apiVersion: v1\nkind: Secret\nmetadata: {name: logins}\n")); err != nil {
				t.Fatal(err)
			}
		}
	}
}
