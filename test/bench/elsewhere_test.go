package bench

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/variform/variform/internal/cli"
)

// answer is what a server answered to a request, and how long that took it.
type answer struct {
	request
	status int
	given  http.Header
	text   bytes.Buffer
	took   time.Duration
	asked  bool // again
}

// recorder keeps what a server answers.
type recorder struct {
	http.ResponseWriter
	*answer
}

func (r *recorder) WriteHeader(status int) {
	r.status, r.given = status, r.ResponseWriter.Header().Clone()
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(text []byte) (int, error) {
	if r.status == 0 {
		r.WriteHeader(http.StatusOK)
	}
	r.text.Write(text)
	return r.ResponseWriter.Write(text)
}

// echo is a server with processors of its own, as forges have: it gives the answers that
// were given before, each as long after the request as it took then, and does nothing else.
type echo struct {
	mu       sync.Mutex
	answers  map[string][]*answer // by repository, in order
	unlooked []string             // requests that none was made like
}

// take is the answer to a request: to the same one, or to the next of that kind, for
// what a client has is told in another order.
func (e *echo) take(repo string, r request) *answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	like := func(a *answer) bool { return !a.asked && a.method == r.method && a.uri == r.uri }
	list := e.answers[repo]
	at := slices.IndexFunc(list, func(a *answer) bool { return like(a) && bytes.Equal(a.body, r.body) })
	if at < 0 {
		at = slices.IndexFunc(list, like)
	}
	if at < 0 {
		e.unlooked = append(e.unlooked, r.method+" "+r.uri)
		return nil
	}
	list[at].asked = true
	return list[at]
}

// serve answers, a round trip away.
func (e *echo) serve(w http.ResponseWriter, repo string, r request, delay time.Duration) {
	a := e.take(repo, r)
	if a == nil {
		http.Error(w, "nobody asked that before", http.StatusNotFound)
		return
	}
	time.Sleep(delay + a.took)
	maps.Copy(w.Header(), a.given)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.text.Bytes()) // a client that has gone tells by its status
}

// differs says how what was asked differs from what was asked before, "" for not at all.
func (e *echo) differs() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var unasked []string
	for _, list := range e.answers {
		for _, a := range list {
			if !a.asked {
				unasked = append(unasked, a.method+" "+a.uri)
			}
		}
	}
	if len(unasked)+len(e.unlooked) == 0 {
		return ""
	}
	return fmt.Sprintf("not asked again: %s; asked for the first time: %s", strings.Join(unasked, ", "), strings.Join(e.unlooked, ", "))
}

// againElsewhere runs a command once more, with a copy of the cache folder as it was
// before in its place, against a server elsewhere that answers what the same requests were
// answered.
func (w *world) againElsewhere(t testing.TB, cache string, args ...string) childCost {
	t.Helper()
	swap := func() { // what is remembered of a fleet is so for this folder
		for _, of := range [][2]string{{w.cache, cache}, {settled(), settledBeside(cache)}} {
			aside := of[1] + "-aside"
			for _, move := range [][2]string{{of[0], aside}, {of[1], of[0]}, {aside, of[1]}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	e := &echo{answers: w.line.kept()}
	swap()
	w.line.answerFrom(e)
	c := runSelf(t, w.args(args...)...)
	w.line.answerFrom(nil)
	swap()
	if text := e.differs(); text != "" {
		t.Fatalf("%s made other requests: the comparison is void: %s", args[0], text)
	}
	if err := errors.Join(os.RemoveAll(cache), os.RemoveAll(settledBeside(cache))); err != nil {
		t.Fatal(err)
	}
	return c
}

// settled is the folder of what runs with nothing to do left.
func settled() string { return filepath.Join(cli.StateDir(), "settled") }

// settledBeside is the copy of that folder that belongs to a copy of the cache. It is in
// the state folder, because a rename does not cross file systems.
func settledBeside(cache string) string {
	return settled() + "-" + strings.ReplaceAll(strings.Trim(cache, "/"), "/", "-")
}

// copyCache is a copy of the cache folder, and of that of settled runs beside it.
func (w *world) copyCache(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "cache")
	err := errors.Join(os.MkdirAll(settled(), 0o755), os.CopyFS(dir, os.DirFS(w.cache)), os.CopyFS(settledBeside(dir), os.DirFS(settled())))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// tabledElsewhere are the fleets of the table of servers elsewhere.
func tabledElsewhere() (list []scenario) {
	for _, n := range []int{300, 2000, 10_000} {
		list = append(list, scenario{variants: n, repositories: 300, http: true, delay: 50 * time.Millisecond, edited: 0.01, elsewhere: true})
	}
	return list
}

var elsewhereColumns = []string{"variants", "requests a repository", "the same requests", "server on the same cores", "÷", "server elsewhere", "÷", "CPU"}

// elsewhereTable is the table of servers elsewhere, by command.
func elsewhereTable(lines []measured) []string {
	return byCommand(elsewhereColumns, titles, lines, func(m measured) (step string, cells []string) {
		return m.step, []string{
			grouped(m.variants), fmt.Sprintf("%.2g", m.requests), seconds(m.floor.wall),
			seconds(m.child.wall), ratio(m.child.wall, m.floor.wall),
			seconds(m.away.wall), ratio(m.away.wall, m.floor.wall), seconds(m.away.cpu),
		}
	})
}

// TestElsewhereTableIsWhole makes the table of a small fleet: a command does against the
// echo of a server what it did against the server.
func TestElsewhereTableIsWhole(t *testing.T) {
	lines := measure(t, scenario{variants: 6, repositories: 3, http: true, delay: time.Millisecond, edited: 0.5, elsewhere: true})
	for _, m := range lines {
		if m.away.wall <= 0 || m.away.cpu <= 0 {
			t.Errorf("%s: something was not measured: %+v", m.step, m)
		}
	}
	wholeTable(t, elsewhereTable(lines), elsewhereColumns, len(titles))
}

// An echo gives each answer once, and tells what nobody asked before.
func TestEcho(t *testing.T) {
	a := func(uri, body string) *answer {
		return &answer{request: request{method: "POST", uri: uri, body: []byte(body)}}
	}
	one, two, other := a("/app.git/git-upload-pack", "1"), a("/app.git/git-upload-pack", "2"), a("/app.git/git-receive-pack", "")
	e := &echo{answers: map[string][]*answer{"app": {one, two, other}}}
	ask := func(uri, body string) *answer {
		return e.take("app", request{method: "POST", uri: uri, body: []byte(body)})
	}
	if got := ask("/app.git/git-upload-pack", "2"); got != two {
		t.Errorf("the same request got %v", got)
	}
	if got := ask("/app.git/git-upload-pack", "3"); got != one {
		t.Errorf("one like it got %v", got)
	}
	if got := ask("/app.git/git-upload-pack", "1"); got != nil {
		t.Errorf("what was asked already got %v", got)
	}
	if text := e.differs(); !strings.Contains(text, "not asked again: POST /app.git/git-receive-pack;") || !strings.HasSuffix(text, "first time: POST /app.git/git-upload-pack") {
		t.Errorf("it says %q", text)
	}
	e = &echo{answers: map[string][]*answer{"app": {a("/x", "")}}}
	ask("/x", "")
	if text := e.differs(); text != "" {
		t.Errorf("it says %q of the same requests", text)
	}
}
