package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/gittest"
	"github.com/variform/variform/internal/record"
)

// paced are repositories of which some answer late, or not.
type paced struct {
	Repositories
	mu     sync.Mutex
	opened []string                // addresses
	before func(url string) error  // of Open
	asked  func(url, what string)  // of what is read of one that is open
	broken func(url string) error  // reading commits
	known  map[string]*pacedSource // by address
}

type pacedSource struct {
	Repository
	of  *paced
	url string
}

func (p *paced) Open(ctx context.Context, url string) (Repository, error) {
	p.mu.Lock()
	p.opened = append(p.opened, url)
	p.mu.Unlock()
	if p.before != nil {
		if err := p.before(url); err != nil {
			return nil, err
		}
	}
	git, err := p.Repositories.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]*pacedSource{}
	}
	if p.known[url] == nil {
		p.known[url] = &pacedSource{git, p, url}
	}
	return p.known[url], nil
}

func (s *pacedSource) Commits(ctx context.Context, hashes ...gitrepo.Hash) ([]*gitrepo.Commit, error) {
	if s.of.asked != nil {
		s.of.asked(s.url, "commits")
	}
	if s.of.broken != nil {
		if err := s.of.broken(s.url); err != nil {
			return nil, err
		}
	}
	return s.Repository.Commits(ctx, hashes...)
}

func (s *pacedSource) TreeAt(ctx context.Context, commit gitrepo.Hash, dir string) (gitrepo.Hash, bool, error) {
	if s.of.asked != nil {
		s.of.asked(s.url, "trees")
	}
	return s.Repository.TreeAt(ctx, commit, dir)
}

// pacedFleet is a fleet of one variant in c1, whose upstream is the last by name.
func pacedFleet(t *testing.T, names ...string) (fleet Fleet, at map[string]string) {
	t.Helper()
	at = map[string]string{}
	for _, name := range append(names, "z-catalog", "c1") {
		git := gittest.NewRepo(t)
		at[name] = git.Dir
		git.Commit(t, "main", "start", gittest.Text{"README.md": name + "\n"})
		if name == "z-catalog" {
			git.Commit(t, "main", "release", gittest.Text{"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n"})
			git.Tag(t, "web/v1", "main")
		}
		obj := &v1alpha1.Repository{}
		obj.Namespace, obj.Name = "default", name
		obj.Spec.Git = &v1alpha1.GitRepository{Repo: git.Dir}
		fleet.Repositories = append(fleet.Repositories, obj)
	}
	pv := &v1alpha1.PackageVariant{}
	pv.Namespace, pv.Name = "default", "web"
	pv.Spec.Upstream = &v1alpha1.Upstream{Repo: "z-catalog", Package: "web", Revision: "v1"}
	pv.Spec.Downstream = &v1alpha1.Downstream{Repo: "c1", Package: "web"}
	fleet.Variants = []*v1alpha1.PackageVariant{pv}
	return fleet, at
}

// A repository whose refs come late keeps none from being read further: the upstream, what
// is wanted, and where it is to stand.
func TestSlowRepositoryHoldsUpNone(t *testing.T) {
	for name, c := range map[string]struct {
		ahead bool
		until map[string]string // what is read before the slow one answers, by Repository
	}{
		"the upstream": {false, map[string]string{"z-catalog": "commits"}},
		"tips":         {false, map[string]string{"z-catalog": "commits", "c1": "commits"}},
		"trees":        {true, map[string]string{"z-catalog": "commits", "c1": "trees"}},
	} {
		t.Run(name, func(t *testing.T) {
			fleet, at := pacedFleet(t, "a-slow")
			var mu sync.Mutex
			left, all := len(c.until), make(chan struct{})
			p := &paced{Repositories: Git(gitrepo.NewStore(gitrepo.Options{}))}
			seen := map[string]bool{}
			p.asked = func(url, what string) {
				mu.Lock()
				defer mu.Unlock()
				for repo, wanted := range c.until {
					if url == at[repo] && what == wanted && !seen[repo] {
						seen[repo] = true
						if left--; left == 0 {
							close(all)
						}
					}
				}
			}
			p.before = func(url string) error {
				if url != at["a-slow"] {
					return nil
				}
				select {
				case <-all:
					return nil
				case <-time.After(10 * time.Second):
					return errors.New("nobody else is read meanwhile")
				}
			}
			r := New(Config{Fleet: fleet, Git: p, Manager: "fleet"})
			r.TreesAhead = c.ahead
			if s := r.ReadOpen(t.Context()); len(s.Problems) > 0 || len(s.Wants) != 1 {
				t.Fatal(s.Problems)
			}
		})
	}
}

// What is wanted follows from the upstreams: they are asked first, and each repository once.
func TestUpstreamsAreReadFirst(t *testing.T) {
	fleet, at := pacedFleet(t, "a", "b")
	p := &paced{Repositories: Git(gitrepo.NewStore(gitrepo.Options{}))}
	if s := New(Config{Fleet: fleet, Git: p, Manager: "fleet", Repositories: 1}).ReadOpen(t.Context()); len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	want := []string{at["z-catalog"], at["a"], at["b"], at["c1"]}
	if !slices.Equal(p.opened, want) {
		t.Errorf("opened %q, want %q", p.opened, want)
	}
}

// No more repositories are talked to at once than may be, whatever is read of them.
func TestRepositoriesAtOnce(t *testing.T) {
	fleet, _ := pacedFleet(t, "a", "b", "c", "d", "e", "f")
	var mu sync.Mutex
	now, most := 0, 0
	talk := func() {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		mu.Lock()
		now--
		mu.Unlock()
	}
	p := &paced{Repositories: Git(gitrepo.NewStore(gitrepo.Options{}))}
	p.before = func(string) error { talk(); return nil }
	p.broken = func(string) error { talk(); return nil }
	r := New(Config{Fleet: fleet, Git: p, Manager: "fleet", Repositories: 2})
	r.TreesAhead = true
	if s := r.ReadOpen(t.Context()); len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	if most > 3 { // the upstream is read beside them
		t.Errorf("%d are talked to at once, of 2", most)
	}
}

// Of several Repositories that show one Git repository the first by name that says where
// the record is decides for all, though another is asked first.
func TestRecordOfSeveral(t *testing.T) {
	fleet, at := pacedFleet(t, "a")
	show := func(name, annotation string) {
		obj := &v1alpha1.Repository{}
		obj.Namespace, obj.Name, obj.Annotations = "default", name, map[string]string{record.Annotation: annotation}
		obj.Spec.Git = &v1alpha1.GitRepository{Repo: at["z-catalog"], Directory: name}
		fleet.Repositories = append(fleet.Repositories, obj)
	}
	show("zz", record.None)
	show("b", "refs/heads/remembered")
	r := New(Config{Fleet: fleet, Git: &paced{Repositories: Git(gitrepo.NewStore(gitrepo.Options{}))}, Manager: "fleet"})
	if s := r.ReadOpen(t.Context()); len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	for name, want := range map[string]string{"z-catalog": "refs/heads/remembered", "b": "refs/heads/remembered", "zz": "refs/heads/remembered", "a": "", "c1": ""} {
		if got := r.Repo("default", name).record.Ref; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// What cannot be read is told in the same order, whoever answers first, and keeps nobody
// else from being read.
func TestUnreadRepositories(t *testing.T) {
	fleet, at := pacedFleet(t, "gone-1", "gone-2", "torn-1", "torn-2")
	is := func(url string, names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return at[n] == url })
	}
	for _, name := range []string{"torn-1", "torn-2"} {
		(&gittest.Repo{Dir: at[name]}).Tag(t, "web/v1", "main")
	}
	for range 5 {
		p := &paced{Repositories: Git(gitrepo.NewStore(gitrepo.Options{}))}
		p.before = func(url string) error {
			if is(url, "gone-1", "gone-2") {
				return errors.New("it does not answer")
			}
			return nil
		}
		p.broken = func(url string) error {
			if is(url, "torn-1", "torn-2") {
				return errors.New("it is torn")
			}
			return nil
		}
		r := New(Config{Fleet: fleet, Git: p, Manager: "fleet"})
		r.TreesAhead = true
		s := r.ReadOpen(t.Context())
		var got []string
		for _, err := range s.Problems {
			got = append(got, err.Error())
		}
		var want []string
		for _, name := range []string{"gone-1", "gone-2"} {
			want = append(want, fmt.Sprintf("Repository default/%s: it does not answer", name))
		}
		for _, name := range []string{"torn-1", "torn-2"} {
			want = append(want, fmt.Sprintf("Repository default/%s: reading the tips of its packages: it is torn", name))
		}
		if !slices.Equal(got, want) || len(s.Wants) != 1 || r.Repo("default", "c1").Err != nil {
			t.Fatalf("%d wanted, problems:\n%s\nwant\n%s", len(s.Wants), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// The packages of many upstreams come in few requests, however they are named, and whoever
// asks first: expressions of sets, or who builds.
func TestRequestsOfManyUpstreams(t *testing.T) {
	for _, n := range []int{20, 120} { // beside a hundred what leads to a package is read first
		srv := gittest.NewServer(t)
		git := srv.NewRepo(t, "catalog")
		var commits []string
		for i := range n {
			name := fmt.Sprintf("p%03d", i)
			message := fmt.Sprintf("Approve\n\nkpt:{\"package\":%q,\"workspaceName\":\"w-%d\",\"revision\":\"1\"}\n", name, i)
			commits = append(commits, git.Commit(t, "main", message, gittest.Text{name + "/Kptfile": kptfileOf(name, "nobody")}))
			git.Tag(t, name+"/v1", commits[i])
		}
		for name, c := range map[string]struct {
			upstream func(i int) v1alpha1.Upstream
			sets     bool
		}{
			"a revision":  {func(int) v1alpha1.Upstream { return v1alpha1.Upstream{Revision: "v1"} }, false},
			"the newest":  {func(int) v1alpha1.Upstream { return v1alpha1.Upstream{} }, false},
			"a commit":    {func(i int) v1alpha1.Upstream { return v1alpha1.Upstream{Revision: v1alpha1.Revision(commits[i])} }, false},
			"a workspace": {func(i int) v1alpha1.Upstream { return v1alpha1.Upstream{WorkspaceName: fmt.Sprintf("w-%d", i)} }, false},
			"both": {func(i int) v1alpha1.Upstream {
				return v1alpha1.Upstream{Revision: "v1", WorkspaceName: fmt.Sprintf("w-%d", i)}
			}, false},
			"expressions of sets": {func(int) v1alpha1.Upstream { return v1alpha1.Upstream{Revision: "v1"} }, true},
		} {
			t.Run(fmt.Sprintf("%d/%s", n, name), func(t *testing.T) {
				var fleet Fleet
				obj := &v1alpha1.Repository{}
				obj.Namespace, obj.Name = "default", "catalog"
				obj.Spec.Git = &v1alpha1.GitRepository{Repo: srv.RepoURL("catalog")}
				fleet.Repositories = append(fleet.Repositories, obj)
				for i := range n {
					u := c.upstream(i)
					u.Repo, u.Package = "catalog", fmt.Sprintf("p%03d", i)
					if c.sets {
						set := &v1alpha2.PackageVariantSet{}
						set.Namespace, set.Name, set.Spec.Upstream = "default", u.Package, &u
						expr := "'of-' + upstream.name"
						set.Spec.Targets = []v1alpha2.Target{{
							Repositories: []v1alpha2.RepositoryTarget{{Name: "catalog"}},
							Template:     &v1alpha2.PackageVariantTemplate{Downstream: &v1alpha2.DownstreamTemplate{PackageExpr: &expr}},
						}}
						fleet.Sets = append(fleet.Sets, set)
						continue
					}
					pv := &v1alpha1.PackageVariant{}
					pv.Namespace, pv.Name = "default", u.Package
					pv.Spec.Upstream, pv.Spec.Downstream = &u, &v1alpha1.Downstream{Repo: "catalog", Package: "of-" + u.Package}
					fleet.Variants = append(fleet.Variants, pv)
				}
				r := New(Config{Fleet: fleet, Git: Git(gitrepo.NewStore(gitrepo.Options{})), Manager: "fleet"})
				before := srv.Count(gittest.Fetch)
				s := r.ReadOpen(t.Context())
				if len(s.Failures()) > 0 || len(s.Wants) != n {
					t.Fatalf("%d wanted, %v", len(s.Wants), s.Failures())
				}
				r.ReadUpstreams(t.Context(), s.Wants)
				for i, w := range s.Wants {
					if up := r.UpstreamOf(t.Context(), w); up.Err != nil || up.Lock.Git.Commit != commits[i] || up.Differs != "" {
						t.Errorf("%s: %v, %+v", w.Upstream().Package, up.Err, up.Lock)
					}
				}
				if got := srv.Count(gittest.Fetch) - before; got > 4 {
					t.Errorf("%d requests for %d upstreams", got, n)
				}
			})
		}
	}
}
