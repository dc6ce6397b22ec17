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
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/test/gittest"
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

// ask is before what is read of one that is open.
func (s *pacedSource) ask(what string) error {
	if s.of.asked != nil {
		s.of.asked(s.url, what)
	}
	if s.of.broken == nil {
		return nil
	}
	return s.of.broken(s.url)
}

func (s *pacedSource) Commits(ctx context.Context, hashes ...gitrepo.Hash) ([]*gitrepo.Commit, error) {
	if err := s.ask("commits"); err != nil {
		return nil, err
	}
	return s.Repository.Commits(ctx, hashes...)
}

func (s *pacedSource) FetchResolved(ctx context.Context, queries ...gitrepo.Query) error {
	if err := s.ask("queries"); err != nil {
		return err
	}
	return s.Repository.FetchResolved(ctx, queries...)
}

func (s *pacedSource) FetchPlaces(ctx context.Context, places ...gitrepo.Place) error {
	if err := s.ask("places"); err != nil {
		return err
	}
	return s.Repository.FetchPlaces(ctx, places...)
}

func (s *pacedSource) TreeAt(ctx context.Context, commit gitrepo.Hash, dir string) (gitrepo.Hash, bool, error) {
	if s.of.asked != nil {
		s.of.asked(s.url, "trees")
	}
	return s.Repository.TreeAt(ctx, commit, dir)
}

func (s *pacedSource) LetGo() {
	if s.of.asked != nil {
		s.of.asked(s.url, "nothing more")
	}
	s.Repository.LetGo()
}

// gauge counts how many calls are at once. They wait until as many are as may be.
type gauge struct {
	mu        sync.Mutex
	now, most int
	limit     int
	full      chan struct{}
}

func newGauge(limit int) *gauge { return &gauge{limit: limit, full: make(chan struct{})} }

func (g *gauge) call(string) error {
	g.mu.Lock()
	g.now++
	if g.now > g.most {
		if g.most = g.now; g.most == g.limit {
			close(g.full)
		}
	}
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.now--
	}()
	select {
	case <-g.full:
		time.Sleep(5 * time.Millisecond) // for one too many to come
		return nil
	case <-time.After(10 * time.Second):
		return errors.New("fewer are talked to at once than may be")
	}
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

// Who reads all reads upstreams while what is wanted of them is found out; who reads a part, or
// leaves repositories to others, waits for what that is.
func TestUpstreamsAreReadAhead(t *testing.T) {
	fleet, at := pacedFleet(t, "a")
	git := &gittest.Repo{Dir: at["a"]}
	git.Commit(t, "main", "release", gittest.Text{"web/Kptfile": kptfileOf("web", "nobody"), "db/Kptfile": kptfileOf("db", "nobody")})
	git.Tag(t, "web/v1", "main")
	git.Tag(t, "db/v1", "main")
	set := &v1alpha2.PackageVariantSet{}
	set.Namespace, set.Name = "default", "web"
	set.Spec.Upstream = &v1alpha1.Upstream{Repo: "a", Package: "web", Revision: "v1"}
	set.Spec.Targets = []v1alpha2.Target{{Repositories: []v1alpha2.RepositoryTarget{{Name: "c1"}}}}
	pv := &v1alpha1.PackageVariant{}
	pv.Namespace, pv.Name = "default", "db"
	pv.Spec.Upstream = &v1alpha1.Upstream{Repo: "a", Package: "db", Revision: "v1"}
	pv.Spec.Downstream = &v1alpha1.Downstream{Repo: "c1", Package: "db"}
	fleet.Sets, fleet.Variants = []*v1alpha2.PackageVariantSet{set}, []*v1alpha1.PackageVariant{pv}
	within := map[string]bool{}
	for _, obj := range fleet.Repositories {
		within[ShardKey(obj)] = obj.Name == "c1"
	}
	for _, c := range []struct {
		all    bool
		within map[string]bool
	}{{all: true}, {}, {all: true, within: within}} {
		ahead := c.all && c.within == nil
		r := New(Config{Fleet: fleet, Git: Git(gitrepo.NewStore(gitrepo.Options{})), Manager: "fleet", Within: c.within})
		r.TreesAhead = c.all
		s := r.ReadOpen(t.Context())
		if len(s.Failures()) > 0 || len(s.Wants) != 2 {
			t.Fatal(s.Failures(), len(s.Wants))
		}
		for _, w := range s.Wants {
			if read := r.upstream.has(keyOf(w)); read != ahead {
				t.Errorf("the upstream of %s is read: %t, want %t", w.Identity, read, ahead)
			}
		}
	}
}

// No more repositories are talked to at once than may be, whatever is read of them: refs,
// what sets ask of upstreams, tips, folders.
func TestRepositoriesAtOnce(t *testing.T) {
	fleet, at := pacedFleet(t, "a", "b", "c", "d", "e", "f")
	for _, name := range []string{"a", "b", "c", "d", "e"} { // also upstreams, which expressions ask for
		git := &gittest.Repo{Dir: at[name]}
		git.Commit(t, "main", "release", gittest.Text{"web/Kptfile": kptfileOf("web", "nobody")})
		git.Tag(t, "web/v1", "main")
		set := &v1alpha2.PackageVariantSet{}
		set.Namespace, set.Name = "default", name
		set.Spec.Upstream = &v1alpha1.Upstream{Repo: name, Package: "web", Revision: "v1"}
		expr := "'" + name + "-' + upstream.name"
		set.Spec.Targets = []v1alpha2.Target{{
			Repositories: []v1alpha2.RepositoryTarget{{Name: "c1"}},
			Template:     &v1alpha2.PackageVariantTemplate{Downstream: &v1alpha2.DownstreamTemplate{PackageExpr: &expr}},
		}}
		fleet.Sets = append(fleet.Sets, set)
	}
	for _, limit := range []int{1, 2, 4} {
		g := newGauge(limit)
		p := &paced{Repositories: Git(gitrepo.NewStore(gitrepo.Options{})), before: g.call, broken: g.call}
		r := New(Config{Fleet: fleet, Git: p, Manager: "fleet", Repositories: limit})
		r.TreesAhead = true
		if s := r.ReadOpen(t.Context()); len(s.Failures()) > 0 || len(s.Wants) != 6 {
			t.Fatal(s.Failures(), len(s.Wants))
		}
		if g.most != limit {
			t.Errorf("%d are talked to at once, of %d", g.most, limit)
		}
	}
}

// Upstreams of another shard's Repositories, which are closed, are opened many at once.
func TestClosedUpstreamsSideBySide(t *testing.T) {
	fleet, at := pacedFleet(t, "a", "b", "c")
	fleet.Variants = nil
	for _, name := range []string{"a", "b", "c"} {
		git := &gittest.Repo{Dir: at[name]}
		git.Commit(t, "main", "release", gittest.Text{"web/Kptfile": kptfileOf("web", "nobody")})
		git.Tag(t, "web/v1", "main")
		pv := &v1alpha1.PackageVariant{}
		pv.Namespace, pv.Name = "default", name
		pv.Spec.Upstream = &v1alpha1.Upstream{Repo: name, Package: "web", Revision: "v1"}
		pv.Spec.Downstream = &v1alpha1.Downstream{Repo: "c1", Package: name}
		fleet.Variants = append(fleet.Variants, pv)
	}
	for _, limit := range []int{1, 2} { // nor more than may be
		g := newGauge(limit)
		p := &paced{Repositories: Git(gitrepo.NewStore(gitrepo.Options{}))}
		p.before = func(url string) error {
			if url == at["c1"] { // the one that is open
				return nil
			}
			return g.call(url)
		}
		r := New(Config{Fleet: fleet, Git: p, Manager: "fleet", Within: map[string]bool{ShardKey(fleet.Repositories[len(fleet.Repositories)-1]): true}, Repositories: limit})
		r.ReadUpstreams(t.Context(), r.ReadOpen(t.Context()).Wants)
		if g.most != limit {
			t.Errorf("%d are opened at once, of %d", g.most, limit)
		}
	}
	var opening sync.WaitGroup
	opening.Add(3)
	p := &paced{Repositories: Git(gitrepo.NewStore(gitrepo.Options{}))}
	p.before = func(url string) error {
		if url == at["c1"] {
			return nil
		}
		opening.Done()
		all := make(chan struct{})
		go func() { opening.Wait(); close(all) }()
		select { // each waits for the others
		case <-all:
			return nil
		case <-time.After(10 * time.Second):
			return errors.New("they are opened one after the other")
		}
	}
	within := map[string]bool{}
	for _, obj := range fleet.Repositories {
		within[ShardKey(obj)] = obj.Name == "c1"
	}
	r := New(Config{Fleet: fleet, Git: p, Manager: "fleet", Within: within})
	s := r.ReadOpen(t.Context())
	if len(s.Failures()) > 0 {
		t.Fatal(s.Failures())
	}
	r.ReadUpstreams(t.Context(), s.Wants)
	for _, w := range s.Wants {
		if up := r.UpstreamOf(t.Context(), w); up.Err != nil {
			t.Error(up.Err)
		}
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
// asks first: expressions of sets, or who builds. Wrong ones cost no more than themselves.
func TestRequestsOfManyUpstreams(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out many repositories")
	}
	for _, n := range []int{20, 120} { // beside a hundred what leads to a package is read first
		srv := gittest.NewServer(t)
		srv.NewRepo(t, "c1").Commit(t, "main", "start", gittest.Text{"README.md": "c1\n"})
		git := srv.NewRepo(t, "catalog")
		git.Git(t, "config", "uploadpack.allowFilter", "true") // as forges have it: what is not asked for does not come along
		git.Git(t, "config", "uploadpack.allowAnySHA1InWant", "true")
		var commits []string // of v1: the newer ones are read with the tips
		for v := 1; v <= 2; v++ {
			for i := range n {
				name := fmt.Sprintf("p%03d", i)
				message := fmt.Sprintf("Approve\n\nkpt:{\"package\":%q,\"workspaceName\":\"w%d-%d\",\"revision\":\"%d\"}\n", name, v, i, v)
				at := git.Commit(t, "main", message, gittest.Text{name + "/Kptfile": kptfileOf(name, "nobody") + fmt.Sprintf("# %d\n", v)})
				git.Tag(t, fmt.Sprintf("%s/v%d", name, v), at)
				if v == 1 {
					commits = append(commits, at)
				}
			}
		}
		byRevision := func(int) v1alpha1.Upstream { return v1alpha1.Upstream{Revision: "v1"} }
		byCommit := func(i int) v1alpha1.Upstream { return v1alpha1.Upstream{Revision: v1alpha1.Revision(commits[i])} }
		byWorkspace := func(i int) v1alpha1.Upstream { return v1alpha1.Upstream{WorkspaceName: fmt.Sprintf("w1-%d", i)} }
		const wrongCommit = "abababababababababababababababababababab"
		but := func(first v1alpha1.Upstream, others func(int) v1alpha1.Upstream) func(int) v1alpha1.Upstream {
			return func(i int) v1alpha1.Upstream {
				if i == 0 {
					return first
				}
				return others(i)
			}
		}
		for name, c := range map[string]struct {
			upstream func(i int) v1alpha1.Upstream
			sets     bool
			wrong    bool // the first
			most     int
		}{
			"revisions":  {byRevision, false, false, 3},
			"commits":    {byCommit, false, false, 4},
			"workspaces": {byWorkspace, false, false, 4},
			"both": {func(i int) v1alpha1.Upstream {
				return v1alpha1.Upstream{Revision: "v1", WorkspaceName: fmt.Sprintf("w1-%d", i)}
			}, false, false, 4},
			"sets, by revisions":              {byRevision, true, false, 3},
			"sets, by workspaces":             {byWorkspace, true, false, 4},
			"a wrong revision":                {but(v1alpha1.Upstream{Revision: "v9"}, byRevision), false, true, 3},
			"a wrong commit, else revisions":  {but(v1alpha1.Upstream{Revision: wrongCommit}, byRevision), false, true, 6},
			"a wrong commit, else workspaces": {but(v1alpha1.Upstream{Revision: wrongCommit}, byWorkspace), false, true, 7},
			"a wrong commit among commits":    {but(v1alpha1.Upstream{Revision: wrongCommit}, byCommit), false, true, 20}, // halves
			"a wrong workspace":               {but(v1alpha1.Upstream{WorkspaceName: "none"}, byWorkspace), false, true, 4},
		} {
			t.Run(fmt.Sprintf("%d/%s", n, name), func(t *testing.T) {
				var fleet Fleet
				for _, name := range []string{"c1", "catalog"} {
					obj := &v1alpha1.Repository{}
					obj.Namespace, obj.Name = "default", name
					obj.Spec.Git = &v1alpha1.GitRepository{Repo: srv.RepoURL(name)}
					fleet.Repositories = append(fleet.Repositories, obj)
				}
				for i := range n {
					u := c.upstream(i)
					u.Repo, u.Package = "catalog", fmt.Sprintf("p%03d", i)
					if c.sets {
						set := &v1alpha2.PackageVariantSet{}
						set.Namespace, set.Name, set.Spec.Upstream = "default", u.Package, &u
						expr := "'of-" + u.Package + "' + upstream.name.substring(0, 0)"
						set.Spec.Targets = []v1alpha2.Target{{
							Repositories: []v1alpha2.RepositoryTarget{{Name: "c1"}},
							Template:     &v1alpha2.PackageVariantTemplate{Downstream: &v1alpha2.DownstreamTemplate{PackageExpr: &expr}},
						}}
						fleet.Sets = append(fleet.Sets, set)
						continue
					}
					pv := &v1alpha1.PackageVariant{}
					pv.Namespace, pv.Name = "default", u.Package
					pv.Spec.Upstream, pv.Spec.Downstream = &u, &v1alpha1.Downstream{Repo: "c1", Package: "of-" + u.Package}
					fleet.Variants = append(fleet.Variants, pv)
				}
				r := New(Config{Fleet: fleet, Git: Git(gitrepo.NewStore(gitrepo.Options{})), Manager: "fleet"})
				before := srv.Count(gittest.Fetch)
				s := r.ReadOpen(t.Context())
				if len(s.Failures()) > 0 || len(s.Wants) != n {
					t.Fatalf("%d wanted, %v", len(s.Wants), s.Failures())
				}
				r.ReadUpstreams(t.Context(), s.Wants)
				for _, w := range s.Wants {
					var i int
					if _, err := fmt.Sscanf(w.Upstream().Package, "p%d", &i); err != nil {
						t.Fatal(err)
					}
					up := r.UpstreamOf(t.Context(), w)
					if c.wrong && i == 0 {
						if up.Err == nil {
							t.Error("it is not there")
						}
					} else if up.Err != nil || up.Lock.Git.Commit != commits[i] || up.Differs != "" {
						t.Errorf("%s: %v, %+v, %s", w.Upstream().Package, up.Err, up.Lock, up.Differs)
					}
				}
				got := srv.Count(gittest.Fetch) - before
				if t.Logf("%d requests", got); got > 1+c.most { // one for c1, which is none of the catalogue's
					t.Errorf("%d requests for %d upstreams", got, n)
				}
			})
		}
	}
}

// Who has read the tips of a repository says so, and reads none of their commits after, also
// where it is registered more than once.
func TestTipsAreLetGo(t *testing.T) {
	fleet, at := pacedFleet(t)
	for i := range 8 {
		obj := &v1alpha1.Repository{}
		obj.Namespace, obj.Name = fmt.Sprint("ns-", i), "c1"
		obj.Spec.Git = &v1alpha1.GitRepository{Repo: at["c1"]}
		fleet.Repositories = append(fleet.Repositories, obj)
	}
	var mu sync.Mutex
	asked := map[string][]string{}
	p := &paced{Repositories: Git(gitrepo.NewStore(gitrepo.Options{}))}
	p.asked = func(url, what string) {
		mu.Lock()
		defer mu.Unlock()
		asked[url] = append(asked[url], what)
	}
	if s := New(Config{Fleet: fleet, Git: p, Manager: "fleet"}).Read(t.Context()); len(s.Failures()) > 0 {
		t.Fatal(s.Failures())
	}
	mu.Lock()
	defer mu.Unlock()
	got := asked[at["c1"]]
	if i := slices.Index(got, "commits"); i < 0 {
		t.Error("no tip was read")
	}
	if i := slices.Index(got, "nothing more"); i < 0 || slices.Contains(got[i:], "commits") {
		t.Errorf("asked in this order: %q", got)
	}
}
