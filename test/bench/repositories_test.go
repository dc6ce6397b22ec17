package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

// line is a Git server that is some way off.
type line struct {
	*gittest.Server
	url   string
	delay time.Duration // of each answer

	mu sync.Mutex
	// keep has it keep what it answers in answered, by repository. Where elsewhere is
	// not nil, that answers.
	keep      bool
	elsewhere *echo
	answered  map[string][]*answer
	asked     map[string][]request // by repository, in order
	inside    int
	most      int           // at once
	few       int           // that began where at most one other was waited for
	served    time.Duration // that the server took, the delay left out
}

// request is one that the command made.
type request struct {
	method, uri string
	header      http.Header
	body        []byte
}

func newLine(b testing.TB, srv *gittest.Server, delay time.Duration) *line {
	l := &line{Server: srv, delay: delay}
	at := httptest.NewServer(l)
	b.Cleanup(at.Close)
	l.url = at.URL
	l.forget()
	return l
}

func (l *line) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked, l.answered, l.most, l.few, l.served = map[string][]request{}, map[string][]*answer{}, 0, 0, 0
}

// keepAnswers has it keep what it answers.
func (l *line) keepAnswers(keep bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = keep
}

// kept is what it answered, when all of it is answered.
func (l *line) kept() map[string][]*answer {
	l.wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answered
}

// answers has it take others' answers for its own.
func (l *line) answers(list map[string][]*answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered = list
}

// answerFrom has another answer in its place; nil is nobody.
func (l *line) answerFrom(e *echo) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.elsewhere = e; e == nil {
		l.answered = nil
	}
}

// serving is what run cost, with what the server's programs took for it. No other programs
// may run beside. nil is no server.
func (l *line) serving(run func() cost) cost {
	if l == nil {
		return run()
	}
	before, _ := ended()
	c := run()
	l.wait()
	if after, counts := ended(); counts {
		c.server = max(0, after-before-c.cpu)
	}
	return c
}

// wait returns when all that was asked is done.
func (l *line) wait() {
	for inside := 1; inside > 0; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		inside = l.inside
		l.mu.Unlock()
	}
}

// ServeHTTP implements http.Handler.
func (l *line) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	repo, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	asked := request{r.Method, r.URL.RequestURI(), r.Header.Clone(), body}
	kept := &answer{request: asked}
	l.mu.Lock()
	if e := l.elsewhere; e != nil {
		l.mu.Unlock()
		e.serve(w, repo, asked, l.delay)
		return
	}
	l.asked[repo] = append(l.asked[repo], asked)
	if l.keep {
		l.answered[repo] = append(l.answered[repo], kept)
		w = &recorder{w, kept}
	}
	l.inside++
	l.most = max(l.most, l.inside)
	if l.inside <= 2 {
		l.few++
	}
	l.mu.Unlock()
	time.Sleep(l.delay)
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	start := time.Now()
	defer func() { // also of one whose client has gone
		l.mu.Lock()
		kept.took = time.Since(start)
		l.served += kept.took
		l.inside--
		l.mu.Unlock()
	}()
	l.Server.ServeHTTP(w, r)
}

// What the server's programs take is told from what the client takes.
func TestServing(t *testing.T) {
	if _, counts := ended(); !counts {
		t.Skip("skipped: the system does not say what programs took")
	}
	srv := gittest.NewServer(t)
	repo := srv.NewRepo(t, "slow")
	l := newLine(t, srv, 0)
	clone := gittest.NewRepo(t)
	clone.Commit(t, "main", "start", gittest.Text{"README.md": "x"})
	push := func(branch string) cost {
		return l.serving(func() cost { return git(t, clone.Dir, nil, "push", "-q", l.url+"/slow.git", "main:"+branch) })
	}
	idle := push("a")
	repo.Hook(t, "update", "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done")
	busy := push("b")
	if busy.server < 4*idle.server || busy.server < busy.cpu || busy.server < 100*time.Millisecond {
		t.Errorf("a server that counts took %s, the client %s; one that does not %s", busy.server, busy.cpu, idle.server)
	}
}

// bare makes requests that were made of another line, those of each repository in
// their order and 32 repositories side by side, and reads the answers.
func (l *line) bare(b testing.TB, asked map[string][]request) time.Duration {
	b.Helper()
	tr := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	defer tr.CloseIdleConnections()
	var g errgroup.Group
	g.SetLimit(32)
	start := time.Now()
	for _, list := range asked {
		g.Go(func() error {
			for _, r := range list {
				req, err := http.NewRequest(r.method, l.url+r.uri, bytes.NewReader(r.body))
				if err != nil {
					return err
				}
				req.Header = r.header.Clone()
				resp, err := tr.RoundTrip(req)
				if err != nil {
					return err
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					return err
				}
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					return fmt.Errorf("%s %s: %s", r.method, r.uri, resp.Status)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

// newFleetOfMany is a fleet with one repository for each cluster, a round trip away.
func newFleetOfMany(b testing.TB, n int, delay time.Duration) (*world, scenario) {
	b.Helper()
	s := scenario{variants: n, repositories: n, http: true, delay: delay}
	return newWorld(b, s), s
}

// BenchmarkRepositories takes a fleet of as many repositories as clusters, of one
// host that is a round trip away, through its life. Metrics:
//
//	×bare     time of the whole command over that of a client that does nothing but
//	          make the same requests, 32 repositories side by side
//	requests  for each repository, of those that packages go to
//	at-once   the most that were waiting for an answer
func BenchmarkRepositories(b *testing.B) {
	for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
		for _, n := range []int{60, 300} {
			b.Run(fmt.Sprintf("%s/%d", delay, n), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					w, s := newFleetOfMany(b, n, delay)
					l := w.line
					throughLife(b, w, s, func(phase string, mine, bare time.Duration) {
						key := strings.ReplaceAll(phase, " ", "-")
						requests := l.requests()
						b.ReportMetric(float64(mine)/float64(bare), key+":×bare")
						b.ReportMetric(float64(requests)/float64(n), key+":requests")
						b.ReportMetric(float64(l.most), key+":at-once")
						b.Logf("%-16s %8s bare %8s, %5d requests (%.2f a repository), %d for the catalogue, %d at once", phase, mine.Round(time.Millisecond), bare.Round(time.Millisecond), requests, float64(requests)/float64(n), len(l.asked["catalog"]), l.most)
					})
					b.StartTimer()
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// step is a command of a fleet's life.
type step struct {
	name    string
	command []string
	writes  bool // to the fleet's repositories
}

// live takes a fleet from its first Drafts to the next revision of the package, each
// command by run.
func (w *world) live(b testing.TB, s scenario, run func(step)) {
	b.Helper()
	run(step{"first apply", []string{"apply"}, true})
	run(step{"again", []string{"apply"}, false})
	run(step{"nothing to do", []string{"apply"}, false})
	run(step{"status", []string{"status"}, false})
	run(step{"review", []string{"review"}, false})
	w.editDrafts(b, s)
	run(step{"approve", []string{"approve", "--all"}, true})
	w.publish(b, s)
	run(step{"update", []string{"apply"}, true})
	run(step{"review update", []string{"review"}, false})
	run(step{"approve update", []string{"approve", "--all"}, true})
	w.cache = b.TempDir()
	run(step{"cold again", []string{"apply"}, false})
}

// throughLife runs the commands of a fleet's life, each beside a bare client.
func throughLife(b testing.TB, w *world, s scenario, done func(phase string, mine, bare time.Duration)) {
	b.Helper()
	w.live(b, s, func(st step) {
		bare := w.bare(b, s, st)
		settleDisk(b)
		mine := w.timed(b, st.command...)
		settleDisk(b)
		done(st.name, mine, bare().wall)
	})
}

// bare forgets what was asked so far. What it returns makes the requests of a step once
// more, against the repositories as they are now, and compares what they are then.
func (w *world) bare(b testing.TB, s scenario, st step) (replay func() cost) {
	b.Helper()
	srv := w.srv
	if st.writes {
		srv = srv.Twin(b)
	}
	other := newLine(b, srv, w.line.delay)
	other.keepAnswers(s.elsewhere)
	w.line.forget()
	return func() cost {
		took := other.serving(func() cost { return cost{wall: other.bare(b, w.line.asked)} })
		w.line.answers(other.kept())
		for _, r := range w.fleets {
			name := strings.TrimSuffix(filepath.Base(r.Dir), ".git")
			if st.writes && !maps.Equal(r.AllRefs(b), srv.Repo(name).AllRefs(b)) {
				b.Fatalf("%s: the same requests did not come to the same refs in %s: the comparison is void", st.name, name)
			}
		}
		return took
	}
}

// requests counts those for what packages go to, the catalogue's are left out.
func (l *line) requests() (n int) {
	for repo, list := range l.asked {
		if repo != "catalog" {
			n += len(list)
		}
	}
	return n
}

// What a run asks of each repository is refs, the objects that it lacks, and what a
// push takes: its refs, itself, and, where Drafts are new, a look at who else made some.
func TestRequestsPerRepository(t *testing.T) {
	const repositories = 6
	w, s := newFleetOfMany(t, repositories, 0)
	most := map[string]int{
		"first apply": 5, "again": 1, "nothing to do": 1, "status": 2, "review": 1, "approve": 3, // a Draft that status read
		"update": 4, "review update": 2, "approve update": 3, "cold again": 3, // the record among them
	}
	throughLife(t, w, s, func(phase string, _, _ time.Duration) {
		if got := w.line.requests(); got > most[phase]*repositories {
			t.Errorf("%s: %d requests for %d repositories, want %d for each at most", phase, got, repositories, most[phase])
		}
		delete(most, phase)
	})
	if len(most) > 0 {
		t.Errorf("not run: %v", most)
	}
}

// A machine that has read nothing yet asks for all of a repository that it needs at once,
// whether it makes one Draft or approves all.
func TestRequestsOfAnotherMachine(t *testing.T) {
	s := scenario{variants: 9, http: true}
	w := newWorld(t, s)
	w.apply(t)
	w.run(t, "approve", "--all")
	w.publish(t, s)
	elsewhere := func(most int, command ...string) {
		t.Helper()
		if got := w.requestsAnew(t, command...); got > most {
			t.Errorf("%s: %d requests for %d Drafts of one repository, want %d at most", command[0], got, s.variants, most)
		}
	}
	// What is Published of each, and each Draft, has a root folder of all packages: it is not read.
	asks := func(commits, others int, what string) {
		t.Helper()
		wants := map[bool]int{} // of commits, of others
		for _, r := range w.line.asked["fleet"] {
			for _, want := range wantLine.FindAllSubmatch(r.body, -1) {
				wants[w.fleet.Git(t, "cat-file", "-t", string(want[1])) == "commit"]++
			}
		}
		if wants[true] > commits || wants[false] > others {
			t.Errorf("%d commits and %d other objects are asked for, want %d and %d at most: %s", wants[true], wants[false], commits, others, what)
		}
	}
	elsewhere(7, "apply") // which makes the Drafts
	asks(s.variants+2, s.variants, "the commits of all tags, the record's and the branch's, and the packages that are on the branch")
	elsewhere(4, "review")
	asks(3*s.variants+2, 0, "the commits of all refs, the Drafts, the record's and the branch's")
	elsewhere(3, "apply") // what is on the branch comes with its commit
	asks(2*s.variants+2, 0, "the commits of all refs and the record's")
	w.write(t, "clusters/cluster-00000.yaml", fmt.Sprintf(cluster, 0, 1)) // another region
	elsewhere(6, "apply")
	elsewhere(6, "approve", "--all")
	w.write(t, "clusters/cluster-00000.yaml", fmt.Sprintf(cluster, 0, 2))
	elsewhere(4, "status")
	asks(s.variants+2, 2, "the commits of all tags, the record's and the branch's, and of the package that changes")
}

// A machine that has read nothing asks as much of a repository of one package as of one of many:
// of what does not change its refs, the record, and commits; for an approval, of what it is
// about besides, and what a push takes.
func TestRequestsOfANewMachine(t *testing.T) {
	for _, variants := range []int{1, 24, 120} {
		s := scenario{variants: variants, http: true}
		w := newWorld(t, s)
		for _, c := range []struct {
			before  func()
			command []string
			want    int // requests
		}{
			{nil, []string{"apply"}, 5},
			{nil, []string{"apply"}, 3},
			{func() { w.run(t, "approve", "--all") }, []string{"apply"}, 3},
			{func() { w.publish(t, s) }, []string{"plan"}, 4},
			{nil, []string{"apply"}, 7},
			{nil, []string{"apply"}, 3},
			{nil, []string{"approve", "--all"}, 6},
			{nil, []string{"status"}, 3},
		} {
			if c.before != nil {
				c.before()
			}
			want := c.want
			if variants == 1 && c.command[0] == "approve" {
				want++ // its one Draft is built without being read, and then read for its checks
			}
			if n := w.requestsAnew(t, c.command...); n != want {
				t.Errorf("%d variants, %s: %d requests, want %d", variants, c.command[0], n, want)
			}
		}
	}
}

// One change beside many packages costs none of these whole: each commit has a root folder
// as long as there are packages, and all their files.
func TestRequestsOfOneAmongMany(t *testing.T) {
	s := scenario{variants: 120, http: true}
	w := newWorld(t, s)
	w.apply(t)
	w.run(t, "approve", "--all")
	w.publish(t, s)
	w.apply(t)
	one := "fleet/" + variantName(0)
	draft := func() string {
		for ref := range w.drafts(t) {
			if branch, is := strings.CutPrefix(ref, "refs/heads/"); is && strings.HasPrefix(branch, "drafts/"+variantName(0)+"/") {
				return branch
			}
		}
		t.Fatal("there is no Draft")
		return ""
	}
	among := true // one is meant, and not all
	hotfixes := gittest.Text{}
	for i := range s.variants {
		hotfixes[variantName(i)+"/fix.yaml"] = fmt.Sprintf("a: %d\n", 100+i)
	}
	for _, c := range []struct {
		before  func()
		command []string
		most    int // requests
	}{
		{func() { w.write(t, "clusters/cluster-00000.yaml", fmt.Sprintf(cluster, 0, 1)) }, []string{"apply"}, 7},
		{nil, []string{"review", one}, 4},
		{nil, []string{"approve", one}, 8},
		{func() { w.write(t, "clusters/cluster-00000.yaml", fmt.Sprintf(cluster, 0, 2)) }, []string{"apply"}, 7},
		{func() {
			w.fleet.Commit(t, draft(), "by hand", gittest.Text{variantName(0) + "/by-hand.yaml": "a: 1\n"})
		}, []string{"review", one}, 7},
		{nil, []string{"edits", one}, 10},
		{nil, []string{"approve", one}, 9},
		{func() { w.fleet.Commit(t, "main", "hotfix", gittest.Text{variantName(0) + "/fix.yaml": "a: 2\n"}) }, []string{"status"}, 10},
		{nil, []string{"plan"}, 7},
		{func() { w.write(t, "clusters/cluster-00000.yaml", fmt.Sprintf(cluster, 0, 3)) }, []string{"apply"}, 12},
		{func() { w.fleet.Commit(t, "main", "hotfixes", hotfixes); among = false }, []string{"status"}, 10},
		{nil, []string{"plan"}, 9},
		{func() { os.Remove(filepath.Join(w.dir, "clusters/cluster-00001.yaml")) }, []string{"plan"}, 11},
	} {
		if c.before != nil {
			c.before()
		}
		if n := w.requestsAnew(t, c.command...); n > c.most {
			t.Errorf("%v: %d requests, want %d at most", c.command, n, c.most)
		}
		for _, r := range w.line.asked["fleet"] {
			if bytes.Contains(r.body, []byte("filter ")) || c.command[0] == "review" || !among { // which shows all that is open
				continue
			}
			for _, want := range wantLine.FindAllSubmatch(r.body, -1) {
				if h := string(want[1]); w.fleet.Git(t, "cat-file", "-t", h) == "commit" {
					t.Errorf("%v reads the whole commit %s", c.command[0], w.fleet.Git(t, "log", "-1", "--format=%h %s", h))
				}
			}
		}
	}
}

// An update of many packages of a repository asks for no more than one of one, where this
// machine reviewed and approved what is there: its refs twice, and the push, which asks for the
// refs itself. What it reviewed it approves by its refs and the push.
func TestRequestsOfUpdates(t *testing.T) {
	for _, variants := range []int{30, 120} {
		s := scenario{variants: variants, http: true}
		w := newWorld(t, s)
		w.apply(t)
		for _, revision := range []string{"v2", "v3"} {
			w.run(t, "review")
			w.line.forget()
			w.run(t, "approve", "--all")
			if n := w.line.requests(); n != 3 {
				t.Errorf("%d variants, approval before %s: %d requests, want 3", variants, revision, n)
			}
			w.publishApp(t, s, revision)
			w.line.forget()
			w.apply(t)
			if n := w.line.requests(); n != 4 {
				t.Errorf("%d variants, %s: %d requests, want 4", variants, revision, n)
			}
		}
	}
}

// What people edited beside many packages is read in few requests, on the machine that made
// the Drafts, whatever they changed beside.
func TestRequestsOfEditedAmongMany(t *testing.T) {
	s := scenario{variants: 120, http: true, edited: 0.05}
	w := newWorld(t, s)
	w.apply(t)
	w.editDrafts(t, s)
	made := w.copyCache(t)
	as := func(what string, most int, command ...string) {
		t.Helper()
		w.cache = made
		w.cache = w.copyCache(t)
		w.line.forget()
		w.run(t, command...)
		if n := w.line.requests(); n > most {
			t.Errorf("%s, %v: %d requests, want %d at most", what, command, n, most)
		}
	}
	as("edited", 4, "status") // among them one for the Drafts that nobody edited
	as("edited", 3, "plan")
	as("edited", 4, "edits")
	as("edited", 4, "review")
	for branch := range w.drafts(t) {
		if short := strings.TrimPrefix(branch, "refs/heads/"); strings.HasPrefix(short, "drafts/"+variantName(19)) || strings.HasPrefix(short, "drafts/"+variantName(39)) {
			w.fleet.Commit(t, short, "and beside it", gittest.Text{"elsewhere/notes.yaml": "a: 1\n"})
		}
	}
	as("beside packages", 6, "review")
	w = newWorld(t, s)
	w.apply(t)
	w.editDrafts(t, s)
	made = w.copyCache(t)
	as("edited", 5, "approve", "--all")
}

// Packages that were published many times cost a machine that has read nothing no request
// each, whether the record tells of their revisions or is lost.
func TestRequestsOfManyRevisions(t *testing.T) {
	s := scenario{variants: 24, http: true}
	w := newWorld(t, s)
	revision := 0
	publish := func() {
		t.Helper()
		revision++
		w.publishApp(t, s, fmt.Sprintf("v%d", revision))
		w.apply(t)
		w.run(t, "approve", "--all")
	}
	for range 7 {
		publish()
	}
	update := func() { revision++; w.publishApp(t, s, fmt.Sprintf("v%d", revision)) }
	lose := func() { w.fleet.Git(t, "update-ref", "-d", "refs/variform/variform") }
	by := variantName(0)
	for _, c := range []struct {
		when    string
		before  func()
		command []string
		most    int // requests
	}{
		{"nothing to do", nil, []string{"apply"}, 3},
		{"an update", update, []string{"plan"}, 4},
		{"an update", nil, []string{"apply"}, 7},
		{"an update", nil, []string{"review"}, 4},
		{"an update", nil, []string{"approve", "--all"}, 6},
		{"a hotfix", func() { w.fleet.Commit(t, "main", "hotfix", gittest.Text{by + "/fix.yaml": "a: 2\n"}) }, []string{"status"}, 6},
		{"a hotfix", nil, []string{"edits"}, 8},
		{"a hotfix", update, []string{"apply"}, 10},
		{"a hotfix", nil, []string{"approve", "--all"}, 9},
		{"the record is lost", func() { lose(); update() }, []string{"apply"}, 8},
		// Two more than with a record, for all packages: where tags alone name the published
		// revisions, the branch's history shows whether the newest tag is missing. And what the
		// machine made of the edited package went with the record, so that its Draft is built again.
		{"the record was lost", nil, []string{"approve", "--all"}, 8},
		{"a set that goes", func() {
			if err := os.Remove(filepath.Join(w.dir, "set.yaml")); err != nil {
				t.Fatal(err)
			}
		}, []string{"apply", "--prune", "--max-delete=100", "--manager=variform"}, 6},
		{"deletions", nil, []string{"approve", "--all"}, 6},
	} {
		if c.before != nil {
			c.before()
		}
		if n := w.requestsAnew(t, c.command...); n > c.most {
			t.Errorf("%s, %s: %d requests for %d packages, want %d at most", c.when, c.command[0], n, s.variants, c.most)
		}
	}
}

// What is asked about a whole fleet seldom costs a machine that has read nothing no request
// for each package either: who wrote what an update kept, what a record is worth, what
// packages are set back to.
func TestRequestsAboutAFleet(t *testing.T) {
	s := scenario{variants: 24, http: true}
	w := newWorld(t, s)
	w.apply(t)
	w.run(t, "approve", "--all")
	for i := range s.variants { // each by a commit of its own
		w.fleet.Commit(t, "main", "hotfix", gittest.Text{variantName(i) + "/fix.yaml": fmt.Sprintf(region, i)})
	}
	w.publish(t, s)
	w.apply(t)
	w.run(t, "approve", "--all")
	for _, c := range []struct {
		command []string
		most    int // requests
	}{
		{[]string{"edits"}, 8},
		{[]string{"blame", "--all", "--field", "ConfigMap/region-0-settings:data.endpoint"}, 9},
		{[]string{"impact", "set.yaml"}, 9},
		{[]string{"record", "check"}, 4},
		{[]string{"record", "rebuild"}, 6},
		{[]string{"revert", "apps", "v1"}, 8},
	} {
		if n := w.requestsAnew(t, c.command...); n > c.most {
			t.Errorf("%v: %d requests for %d packages, want %d at most", c.command, n, s.variants, c.most)
		}
	}
}

// Two sets that want the same packages are told of once each, however many these are.
func TestOverlappingSetsAreToldOnce(t *testing.T) {
	w := newWorld(t, scenario{variants: 60, files: 6})
	w.write(t, "other.yaml", strings.Replace(fmt.Sprintf(set, "v1"), "name: apps", "name: other", 1))
	for _, command := range []string{"plan", "apply", "status"} {
		var errs bytes.Buffer
		status := cli.Main(context.Background(), w.args(command), cli.Streams{In: &bytes.Buffer{}, Out: io.Discard, Err: &errs, State: cli.StateDir()})
		text := errs.String()
		if n := strings.Count(text, "is targeted by this and by"); status == 0 || n != 2 || strings.Count(text, "the same for 59 more targets") != 2 {
			t.Errorf("%s: status %d, and it is said %d times:\n%.2000s", command, status, n, text)
		}
	}
}

// Names that mean nothing to decide cost as much as there are, not all packages each.
func TestManyNamesOfNothing(t *testing.T) {
	s := scenario{variants: 200, files: 6}
	w := newWorld(t, s)
	w.apply(t)
	var names []string
	for i := range s.variants {
		names = append(names, fmt.Sprintf("nothing-%03d", i))
	}
	allocated := func(names ...string) uint64 {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var errs bytes.Buffer
		cli.Main(context.Background(), w.args(append([]string{"propose"}, names...)...), cli.Streams{In: &bytes.Buffer{}, Out: io.Discard, Err: &errs, State: cli.StateDir()})
		runtime.ReadMemStats(&after)
		if n := strings.Count(errs.String(), "no revision of this fleet is called"); n != len(names) {
			t.Errorf("%d names mean nothing, and %d are told of:\n%s", len(names), n, errs.String())
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(names[0]) // what is read once
	if one, all := allocated(names[0]), allocated(names...); all > 2*one {
		t.Errorf("%d names take %d bytes, one of them %d", len(names), all, one)
	}
}

// To look for what people committed to the registered branch takes a few requests, however
// many packages stand there, with Drafts of theirs or without, and whoever wrote what was
// Published of them.
func TestRequestsOfMain(t *testing.T) {
	const variants, most = 120, 10
	s := scenario{variants: variants, http: true, edited: 0.5}
	w := newWorld(t, s)
	w.apply(t)
	w.editDrafts(t, s)
	w.run(t, "approve", "--all")
	nothing := func(when string) {
		t.Helper()
		w.cache = t.TempDir()
		w.line.forget()
		var out, errs bytes.Buffer
		status := cli.Main(context.Background(), w.args("approve", "--main"), cli.Streams{In: &bytes.Buffer{}, Out: &out, Err: &errs, State: cli.StateDir()})
		if status == 0 || !strings.Contains(errs.String(), "nothing to decide") {
			t.Errorf("%s: status %d\n%s%s", when, status, out.String(), errs.String())
		}
		if n := w.line.requests(); n > most {
			t.Errorf("%s: %d requests for %d packages, want %d at most", when, n, variants, most)
		}
	}
	nothing("nothing is open")
	w.publish(t, s)
	w.apply(t)
	nothing("Drafts are open")
	w.fleet.Commit(t, "main", "hotfix", gittest.Text{variantName(0) + "/fix.yaml": fmt.Sprintf(region, 0), variantName(1) + "/fix.yaml": fmt.Sprintf(region, 1)})
	if n := w.requestsAnew(t, "approve", "--main"); n > most+2 { // of them the push
		t.Errorf("hotfixes: %d requests for %d packages, want %d at most", n, variants, most+2)
	}
	for i := range 2 {
		w.fleet.Git(t, "rev-parse", "--verify", "-q", "refs/tags/"+variantName(i)+"/v2")
	}
	nothing("hotfixes were published")

	// Without the record the folders of what is Published are compared with those of the
	// branch: no revision comes with its files, which are those of all packages.
	w.fleet.Git(t, "update-ref", "-d", "refs/variform/variform")
	nothing("the record is lost")
	refs := w.fleet.AllRefs(t)
	for ref, hash := range refs {
		if !strings.HasPrefix(ref, "refs/tags/") || hash == refs["refs/heads/main"] {
			continue
		}
		for _, r := range w.line.asked["fleet"] {
			if bytes.Contains(r.body, []byte("want "+hash)) && !bytes.Contains(r.body, []byte("filter ")) {
				t.Errorf("the record is lost: %s is asked for with its files", ref)
			}
		}
	}
	w.fleet.Commit(t, "main", "hotfix", gittest.Text{variantName(2) + "/fix.yaml": fmt.Sprintf(region, 2)})
	if n := w.requestsAnew(t, "approve", "--main"); n > most+3 { // of them the push, and one for the record
		t.Errorf("a hotfix, and the record is lost: %d requests for %d packages, want %d at most", n, variants, most+3)
	}
	w.fleet.Git(t, "rev-parse", "--verify", "-q", "refs/tags/"+variantName(2)+"/v2")

	// A branch that cannot be had is asked for once, and not by each package.
	head := w.fleet.Commit(t, "main", "gone", gittest.Text{variantName(3) + "/fix.yaml": fmt.Sprintf(region, 3)})
	if err := os.Remove(filepath.Join(w.fleet.Dir, "objects", head[:2], head[2:])); err != nil {
		t.Fatal(err)
	}
	w.cache = t.TempDir()
	w.line.forget()
	var errs bytes.Buffer
	status := cli.Main(context.Background(), w.args("approve", "--main"), cli.Streams{In: &bytes.Buffer{}, Out: io.Discard, Err: &errs, State: cli.StateDir()})
	if told := fmt.Sprintf("%d of %[1]d revisions could not be approved", variants); status == 0 || !strings.Contains(errs.String(), told) {
		t.Errorf("the branch is gone: status %d, want %q\n%s", status, told, errs.String())
	}
	if n := w.line.requests(); n > most {
		t.Errorf("the branch is gone: %d requests for %d packages, want %d at most", n, variants, most)
	}
}

// Drafts that people merged together, in their own way, are found in a few requests, however
// many there are.
func TestRequestsOfMergedDrafts(t *testing.T) {
	const variants, most = 24, 10
	s := scenario{variants: variants, http: true}
	w := newWorld(t, s)
	w.apply(t)
	for _, when := range []string{"first Drafts", "updates"} {
		w.squash(t)
		for _, command := range []string{"status", "plan", "apply"} {
			if n := w.requestsAnew(t, command); n > most {
				t.Errorf("%s are squashed, %s: %d requests for %d packages, want %d at most", when, command, n, variants, most)
			}
		}
		w.publish(t, s)
		w.apply(t)
	}
}

// What people write on Drafts, and on the registered branch beside them, is compared in a few
// requests, and so is what was made before it, when all of it was squashed.
func TestRequestsOfEditsEverywhere(t *testing.T) {
	s := scenario{variants: 24, http: true}
	w := newWorld(t, s)
	asks := func(when string, most int, command ...string) {
		t.Helper()
		if n := w.requestsAnew(t, command...); n > most {
			t.Errorf("%s, %s: %d requests for %d packages, want %d at most", when, command[0], n, s.variants, most)
		}
	}
	settings := func(name string, i int) string {
		return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: \"%d\"}\n", name, i)
	}
	hotfix := func(file string) {
		t.Helper()
		for i := range s.variants {
			w.fleet.Commit(t, "main", "hotfix", gittest.Text{variantName(i) + "/" + file + ".yaml": settings(file, i)})
		}
	}
	edit := func(from int) {
		t.Helper()
		w.eachDraft(t, func(branch, pkg string) {
			for i := range 2 {
				w.fleet.Commit(t, branch, "by hand", gittest.Text{pkg + "/by-hand.yaml": settings("by-hand", from+i)})
			}
		})
	}
	w.apply(t)
	edit(0)
	w.apply(t)
	w.run(t, "approve", "--all")
	hotfix("fix")
	w.apply(t)
	w.publishApp(t, s, "v2")
	w.apply(t)
	edit(2)
	w.publishApp(t, s, "v3") // upon what they wrote
	w.apply(t)
	hotfix("another")
	asks("hotfixes beside Drafts", 14, "review")
	asks("hotfixes beside Drafts", 16, "edits")
	w.apply(t)
	w.squash(t)
	w.apply(t)
	asks("squashed", 12, "impact", "set.yaml")
	w.publishApp(t, s, "v4")
	asks("squashed, an update", 14, "apply")
}

// A review of an update asks for no Published revision that stands on the registered branch:
// the root folder of each has as many entries as there are packages.
func TestReviewLeavesPublished(t *testing.T) {
	const variants = 120
	s := scenario{variants: variants, http: true}
	w := newWorld(t, s)
	w.apply(t)
	w.run(t, "approve", "--all")
	w.publish(t, s)
	w.apply(t)
	tags := map[string]bool{}
	refs := w.fleet.AllRefs(t)
	for ref, hash := range refs {
		tags[hash] = strings.HasPrefix(ref, "refs/tags/") && hash != refs["refs/heads/main"]
	}
	for name, run := range map[string]func(...string){
		"of the machine that updated": func(command ...string) { w.line.forget(); w.run(t, command...) },
		"of another":                  func(command ...string) { w.requestsAnew(t, command...) },
	} {
		run("review")
		published := 0
		for repo, list := range w.line.asked {
			for _, r := range list {
				if strings.Contains(string(r.body), "filter tree:0") {
					continue // for commits alone
				}
				for _, line := range strings.Split(string(r.body), "\n") {
					if _, want, ok := strings.Cut(line, "want "); ok && repo != "catalog" && tags[want[:min(40, len(want))]] {
						published++
					}
				}
			}
		}
		if published > 0 {
			t.Errorf("a review %s asks for %d Published revisions of %d", name, published, variants)
		}
	}
}

// First Drafts are compared with their upstreams, which come in one request.
func TestRequestsOfFirstReview(t *testing.T) {
	const upstreams = 12
	s := scenario{variants: upstreams, http: true}
	w := newWorld(t, s)
	w.catalog.Git(t, "config", "uploadpack.allowFilter", "true")
	for i := range upstreams {
		name := fmt.Sprintf("app-%d", i)
		w.catalog.Tag(t, name+"/v1", w.catalog.Commit(t, "main", name, gittest.Text{name + "/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n"}))
		text := strings.ReplaceAll(fmt.Sprintf(set, "v1"), "package: app,", "package: "+name+",")
		text = strings.NewReplacer("name: apps", "name: of-"+name, "-app'", "-"+name+"'").Replace(text)
		w.write(t, "sets/"+name+".yaml", text)
	}
	w.apply(t)
	w.requestsAnew(t, "review")
	if n := len(w.line.asked["catalog"]); n > 3 {
		t.Errorf("%d requests for %d upstreams, want refs and packages", n, upstreams)
	}
}

var wantLine = regexp.MustCompile(`want ([0-9a-f]{40})`)

// Processors do not bound how many repositories are talked to, a flag does.
func TestRepositoryConcurrency(t *testing.T) {
	for flag, c := range map[string]struct{ repositories, least, most int }{
		"--concurrency=1":            {20, 12, 32},
		"--repository-concurrency=2": {5, 2, 2},
	} {
		w, _ := newFleetOfMany(t, c.repositories, 200*time.Millisecond)
		l := w.line
		for _, run := range []string{"apply", "apply, which finds nothing", "apply of what has settled"} {
			l.forget()
			w.run(t, "apply", flag)
			if l.most < c.least || l.most > c.most {
				t.Errorf("%s %s: %d requests at once, want %d to %d", run, flag, l.most, c.least, c.most)
			}
		}
	}
}

// No command takes repositories one after the other, where people write to them too and
// nothing was read yet, as in a CI job.
func TestSideBySide(t *testing.T) {
	const n = 24
	s := scenario{variants: n, repositories: n, http: true, delay: 50 * time.Millisecond, edited: 1}
	w := newWorld(t, s)
	var names []string
	for i := range n {
		names = append(names, variantName(i))
	}
	run := func(when string, command ...string) {
		t.Helper()
		if got := w.requestsAnew(t, command...); got < n || w.line.few >= n {
			t.Errorf("%s, %s: of %d requests to %d repositories %d were made with one other at most", when, command[0], got, n, w.line.few)
		}
	}
	hotfix := func(file string) {
		for i, r := range w.fleets {
			name := variantName(i) + "/" + file
			text := r.Show(t, "main", name)
			fixed := strings.Replace(text, "workers", fmt.Sprintf("fixed-%d", i), 1)
			if fixed == text {
				t.Fatalf("%s has nothing to fix", name)
			}
			r.Commit(t, "main", "hotfix", gittest.Text{name: fixed})
		}
	}
	run("nothing there", "plan")
	run("nothing there", "apply")
	w.editDrafts(t, s)
	run("edited Drafts", "status")
	run("edited Drafts", "edits")
	run("edited Drafts", "review")
	run("edited Drafts", "approve", "--all")
	run("edits that were approved", "status")
	hotfix("part-07.yaml")
	run("a hotfix", "apply")
	run("a hotfix", "approve", "--main")
	hotfix("part-09.yaml")
	w.publish(t, s)
	run("an update upon a hotfix", "apply")
	run("an updated hotfix", "apply")
	run("an updated hotfix", "status")
	run("an updated hotfix", "review")
	run("an updated hotfix", "impact", "set.yaml")
	run("an updated hotfix", "approve", "--all")
	hotfix("part-11.yaml")
	run("another hotfix", "edits")
	w.publishApp(t, s, "v3")
	w.want(t, "v3")
	run("another update", "apply")
	run("another update", append([]string{"discard", "--reason=not now"}, names...)...)
	run("a discarded update", append([]string{"hold", "--reason=not now"}, names...)...)
	run("held packages", append([]string{"hold", "--off"}, names...)...)
}
