package ocirepo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/revision"
)

func TestResolve(t *testing.T) {
	s := newServer(t)
	store, repo := open(t, s, Options{})
	digests := map[string]string{}
	for _, tag := range []string{"v1", "v2", "v10", "v1.2.0", "1.3.0", "v1.4.0", "v2.0.0-rc.1", "stable", "1.5.0_build.7"} {
		digests[tag] = push(t, store, s.addr+"/blueprints/app:"+tag, kpt("app", tag)).Digest
	}
	push(t, store, s.addr+"/blueprints/plain:stable", kpt("plain", "stable"))
	// As Porch writes: the workspace is the tag, its state stands on the last layer.
	porch := func(ref, lifecycle, revision string) {
		l := raw{data: gz(t, tarOf(t, entry{name: "Kptfile", data: kpt("app", "")["Kptfile"] + "# " + ref + "\n"})), annotations: map[string]string{lifecycleAnnotation: lifecycle}}
		if revision != "" {
			l.annotations[revisionAnnotation] = revision
		}
		digests[ref] = s.put(t, ref, imageWith(t, []raw{l}, nil))
	}
	porch("porch:packagevariant-1", "Published", "1")
	porch("porch:v2", "Published", "7")
	porch("porch:v3", "Draft", "")
	porch("porch:ws", "Proposed", "")

	tests := map[string]struct {
		query     Query
		tag       string
		key       string // of digests, where it is not the tag
		rule      revision.Rule
		number    int
		version   string
		lifecycle lifecycle.Phase
		missing   string // text of the error
	}{
		"N":                        {query: Query{Package: "app", Revision: "2"}, tag: "v2", rule: revision.RuleRevision, number: 2},
		"vN":                       {query: Query{Package: "app", Revision: "v10"}, tag: "v10", rule: revision.RuleRevision, number: 10},
		"tag":                      {query: Query{Package: "app", Revision: "stable"}, tag: "stable", rule: revision.RuleTag},
		"tag of a version":         {query: Query{Package: "app", Revision: "v1.2.0"}, tag: "v1.2.0", rule: revision.RuleTag, version: "1.2.0"},
		"revision before space":    {query: Query{Package: "app", Revision: "v1", Workspace: "stable"}, tag: "v1", rule: revision.RuleRevision, number: 1},
		"range":                    {query: Query{Package: "app", Revision: "^1.2"}, tag: "1.5.0_build.7", rule: revision.RuleRange, version: "1.5.0+build.7"},
		"range with x":             {query: Query{Package: "app", Revision: "1.3.x"}, tag: "1.3.0", rule: revision.RuleRange, version: "1.3.0"},
		"prerelease when named":    {query: Query{Package: "app", Revision: ">=2.0.0-0"}, tag: "v2.0.0-rc.1", rule: revision.RuleRange, version: "2.0.0-rc.1"},
		"latest is the highest vN": {query: Query{Package: "app"}, tag: "v10", rule: revision.RuleLatest, number: 10},
		"workspace":                {query: Query{Package: "app", Workspace: "stable"}, tag: "stable", rule: revision.RuleWorkspace},
		"Porch's number":           {query: Query{Package: "porch", Revision: "1"}, tag: "packagevariant-1", key: "porch:packagevariant-1", rule: revision.RuleRevision, number: 1},
		"Porch's number, not vN":   {query: Query{Package: "porch", Revision: "7"}, tag: "v2", key: "porch:v2", rule: revision.RuleRevision, number: 7},
		"a tag, not the revision":  {query: Query{Package: "porch", Revision: "v2"}, tag: "v2", key: "porch:v2", rule: revision.RuleTag, number: 7},
		"a Draft by its tag":       {query: Query{Package: "porch", Workspace: "ws"}, tag: "ws", key: "porch:ws", rule: revision.RuleWorkspace, lifecycle: "Proposed"},
		"latest passes Drafts":     {query: Query{Package: "porch"}, tag: "v2", key: "porch:v2", rule: revision.RuleLatest, number: 7},
		"not there":                {query: Query{Package: "app", Revision: "v3"}, missing: `revision "v3": there is no such tag`},
		"range that none fits":     {query: Query{Package: "app", Revision: ">3"}, missing: "no version is in that range"},
		"a range passes Drafts":    {query: Query{Package: "porch", Revision: "*"}, tag: "v2", key: "porch:v2", rule: revision.RuleRange, number: 7},
		"no versions":              {query: Query{Package: "plain", Revision: "*"}, missing: "the package has none of them"},
		"bad digest":               {query: Query{Package: "app", Revision: "sha256:12"}, missing: "64 hexadecimal digits"},
		"unknown digest":           {query: Query{Package: "app", Revision: "sha256:" + strings.Repeat("0", 64)}, missing: "no such digest"},
		"unknown package":          {query: Query{Package: "nothing", Revision: "v1"}, missing: "no such package"},
		"unknown workspace":        {query: Query{Package: "app", Workspace: "w"}, missing: "there is: v10, v2, v1, "},
	}
	for title, tt := range tests {
		t.Run(title, func(t *testing.T) {
			got, err := repo.Resolve(context.Background(), tt.query)
			if tt.missing != "" {
				var nf *NotFoundError
				if !errors.Is(err, ErrNotFound) || !errors.As(err, &nf) || !strings.Contains(err.Error(), tt.missing) || !strings.Contains(err.Error(), s.addr+"/blueprints/"+tt.query.Package) {
					t.Fatalf("want a *NotFoundError with %q, got %v, %+v", tt.missing, err, got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			key, life := tt.key, tt.lifecycle
			if key == "" {
				key = tt.tag
			}
			if life == "" {
				life = lifecycle.Published
			}
			want := Resolved{
				Package: tt.query.Package, Tag: tt.tag, Digest: digests[key], Rule: tt.rule, Number: tt.number, Version: tt.version,
				Lifecycle: life, Name: s.addr + "/blueprints/" + tt.query.Package + "@" + digests[key],
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("digest", func(t *testing.T) {
		got, err := repo.Resolve(context.Background(), Query{Package: "app", Revision: digests["v1"]})
		if err != nil || got.Rule != revision.RuleDigest || got.Digest != digests["v1"] || got.Tag != "" || got.Number != 1 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestLatestVersionWithoutNumbers(t *testing.T) {
	s := newServer(t)
	store, repo := open(t, s, Options{})
	for _, tag := range []string{"v1.2.0", "v1.10.0", "v2.0.0-rc.1", "edge"} {
		push(t, store, s.addr+"/blueprints/app:"+tag, kpt("app", tag))
	}
	got, err := repo.Resolve(context.Background(), Query{Package: "app"})
	if err != nil || got.Tag != "v1.10.0" || got.Rule != revision.RuleLatest {
		t.Errorf("got %+v, %v", got, err)
	}
	push(t, store, s.addr+"/blueprints/floating:edge", kpt("app", ""))
	if got, err := repo.Resolve(context.Background(), Query{Package: "floating"}); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "name the tag; there is: edge") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRevisionsAndPackages(t *testing.T) {
	s := newServer(t)
	store, repo := open(t, s, Options{})
	ctx := context.Background()
	for _, tag := range []string{"v10", "v2", "v1.10.0", "1.9.0", "main", "sha256-" + strings.Repeat("a", 64) + ".sig"} {
		push(t, store, s.addr+"/blueprints/team/app:"+tag, kpt("app", "x"))
	}
	push(t, store, s.addr+"/blueprints/base:v1", kpt("base", "x"))
	push(t, store, s.addr+"/blueprints-of-others/base:v1", kpt("base", "x"))
	got, err := repo.Revisions(ctx, "team/app")
	if err != nil {
		t.Fatal(err)
	}
	want := []Revision{{Tag: "v2", Number: 2}, {Tag: "v10", Number: 10}, {Tag: "1.9.0", Version: "1.9.0"}, {Tag: "v1.10.0", Version: "1.10.0"}, {Tag: "main"}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Revision{})); diff != "" {
		t.Errorf("revisions (-want +got):\n%s", diff)
	}
	packages, err := repo.Packages(ctx)
	if diff := cmp.Diff([]string{"base", "team/app"}, packages); diff != "" || err != nil {
		t.Errorf("packages (-want +got): %v\n%s", err, diff)
	}

	// One state until Refresh.
	push(t, store, s.addr+"/blueprints/base:v2", kpt("base", "y"))
	before, err := repo.Revisions(ctx, "base")
	if err != nil {
		t.Fatal(err)
	}
	push(t, store, s.addr+"/blueprints/base:v3", kpt("base", "z"))
	same, err := repo.Revisions(ctx, "base")
	if err != nil || len(same) != len(before) {
		t.Errorf("a second look changed: %v, %v, %v", before, same, err)
	}
	repo.Refresh()
	if after, err := repo.Revisions(ctx, "base"); err != nil || len(after) != 3 {
		t.Errorf("after Refresh: %v, %v", after, err)
	}
}

func TestPackagesWithoutCatalogue(t *testing.T) {
	for _, code := range []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnauthorized} {
		s := newServer(t)
		_, repo := open(t, s, Options{})
		s.faults(only("GET _catalog", 99, status(code)))
		_, err := repo.Packages(context.Background())
		if !errors.Is(err, ErrNoCatalog) || !strings.Contains(err.Error(), "name the packages") || !strings.Contains(err.Error(), s.addr) {
			t.Errorf("%d: got %v", code, err)
		}
	}
}

// Listings come in pages, and are bounded.
func TestPages(t *testing.T) {
	s := newServer(t)
	_, repo := open(t, s, Options{Limits: Limits{Names: 5}})
	pages := 0
	s.faults(func(w http.ResponseWriter, r *http.Request) bool {
		if kindOf(r.URL.Path) != "/tags/" && kindOf(r.URL.Path) != "tags" {
			return false
		}
		pages++
		if !strings.Contains(r.URL.Path, "/short/") || pages == 1 {
			w.Header().Set("Link", fmt.Sprintf(`<%s?last=x%d>; rel="next"`, r.URL.Path, pages))
		}
		fmt.Fprintf(w, `{"name":"x","tags":["t%d","u%d"]}`, pages, pages)
		return true
	})
	got, err := repo.Revisions(context.Background(), "short")
	if err != nil || len(got) != 4 {
		t.Errorf("two pages: got %v, %v", got, err)
	}
	if _, err := repo.Revisions(context.Background(), "endless"); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), "more than 5 tags") {
		t.Errorf("endless: got %v", err)
	}
}

func TestAddresses(t *testing.T) {
	store := NewStore(Options{})
	good := map[string]string{
		"registry.example.com/a/b":         "registry.example.com/a/b",
		"oci://registry.example.com/a/":    "registry.example.com/a",
		"https://registry.example.com:5/a": "registry.example.com:5/a",
		"http://registry.example.com/a":    "registry.example.com/a",
		"localhost:5000":                   "localhost:5000",
		"registry.example.com":             "registry.example.com",
		"someone/packages":                 "index.docker.io/someone/packages",
	}
	for in, want := range good {
		r, err := store.Open(in)
		if err != nil || r.Address() != want {
			t.Errorf("%q: got %v, %v", in, r, err)
		}
	}
	if r, err := store.Open("http://registry.example.com/a"); err != nil || r.registry.Scheme() != "http" {
		t.Errorf("http:// does not ask for plain HTTP: %v", err)
	}
	for _, in := range []string{"", "registry.example.com/A", "registry.example.com/a:v1", "ssh://registry.example.com/a", "registry.example.com/a@sha256:" + strings.Repeat("a", 64)} {
		if _, err := store.Open(in); !errors.Is(err, ErrAddress) {
			t.Errorf("%q: got %v", in, err)
		}
	}
	for _, in := range []string{"https://me:geheim@registry.example.com/a", "me:geheim@registry.example.com/a@sha256:" + strings.Repeat("a", 64), "geheim@x"} {
		if _, err := store.Open(in); !errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "geheim") || !strings.Contains(err.Error(), "docker login") {
			t.Errorf("%q: got %v", in, err)
		}
	}
	one, err1 := store.Open("registry.example.com/a")
	two, err2 := store.Open("oci://registry.example.com/a/")
	if err1 != nil || err2 != nil || one != two {
		t.Error("one place, two Repos")
	}
	for _, pkg := range []string{"Upper", "../other", "a//../b", "a:b", "a b"} {
		if _, err := one.Revisions(context.Background(), pkg); !errors.Is(err, ErrAddress) {
			t.Errorf("package %q: got %v", pkg, err)
		}
	}
	host, err := store.Open("registry.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Revisions(context.Background(), ""); !errors.Is(err, ErrAddress) {
		t.Errorf("no package at all: got %v", err)
	}
}

func TestCreated(t *testing.T) {
	s := newServer(t)
	_, repo := open(t, s, Options{})
	layer := layers(gz(t, tarOf(t, entry{name: "Kptfile", data: kpt("app", "1")["Kptfile"]})))
	for text, want := range map[string]string{
		"2026-01-05T10:00:00+01:00": "2026-01-05T09:00:00Z", "yesterday": "0001-01-01T00:00:00Z", "": "0001-01-01T00:00:00Z",
	} {
		digest := s.put(t, "app:v1", imageWith(t, layer, map[string]string{createdAnnotation: text, "x": text}))
		got, err := repo.Resolve(context.Background(), Query{Package: "app", Revision: digest})
		if err != nil || got.Created.Format(time.RFC3339) != want {
			t.Errorf("%q: got %v, %v", text, got.Created, err)
		}
	}
}
