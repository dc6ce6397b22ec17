package e2e

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// What people edited is told apart in as many requests for one package as for many,
// and a machine that knows nothing yet says what another does.
func TestEditsRequests(t *testing.T) {
	t.Parallel()
	asked := map[string][]int64{} // fetches of each command, by how many are edited
	var order []string
	for _, edited := range []int{1, 8} {
		w := newHTTPWorld(t, "c1")
		w.repos["c1"].Git(t, "config", "uploadpack.allowFilter", "true") // else all comes with the commits
		var names []string
		for i := range edited + 8 {
			names = append(names, fmt.Sprintf("p%d", i))
		}
		var fetches atomic.Int64
		w.srv.Before(func(kind, repo string) {
			if kind == gittest.Fetch && repo == "c1" {
				fetches.Add(1)
			}
		})
		// says runs a command on a machine that knows nothing.
		says := func(when, command string, each int) {
			t.Helper()
			key := command + " " + when
			fetches.Store(0)
			out := w.mustRun(0, command, "-o", "wide", "--cache-dir", t.TempDir()).out
			if asked[key] = append(asked[key], fetches.Load()); len(asked[key]) == 1 {
				order = append(order, key)
			}
			if n := strings.Count(out, "Ann Tester ("); n != each*edited {
				t.Errorf("%s names who edited %d times, want %d:\n%s", key, n, each*edited, out)
			}
			if known := w.mustRun(0, command, "-o", "wide").out; known != out {
				t.Errorf("%s on a new machine:\n%swhere what is known says\n%s", key, out, known)
			}
		}
		w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", names...))
		w.mustApply()
		for _, n := range names[:edited] {
			w.edit("c1", "drafts/"+n+"/packagevariant-1", n+"/settings.yaml", "level: info", "level: warn")
			w.edit("c1", "drafts/"+n+"/packagevariant-1", n+"/settings.yaml", "level: warn", "level: debug")
		}
		says("of Drafts", "edits", 1)
		says("of Drafts", "status", 1)
		w.approveSeen()
		says("of what was approved", "edits", 1)
		update := func(version string) {
			t.Helper()
			w.publishWeb(webV2, version)
			w.write("sets/web.yaml", listSet("web", "web", version, "c1", names...))
			w.mustApply()
		}
		update("v2")
		says("carried over", "status", 1)
		says("carried over", "edits", 2)
		w.mustRun(0, "approve", "--all")
		for _, n := range names[:edited] {
			w.edit("c1", "main", n+"/settings.yaml", "level: debug", "level: error")
			w.edit("c1", "main", n+"/settings.yaml", "level: error", "level: trace")
		}
		says("on main", "edits", 1)
		says("on main", "status", 2)
		update("v3")
		says("of main carried over", "status", 2)
		says("of main carried over", "edits", 2)
	}
	for _, key := range order {
		if n := asked[key]; n[1] > n[0]+1 || n[1] > 9 { // one more where the branch goes back further
			t.Errorf("%s: %d fetches for one package, %d for eight", key, n[0], n[1])
		}
	}
}

// Drafts that people edited, or whose commit they amended, are approved, and updated, in as
// many requests as one, also where this machine made them and nothing looked at them since:
// what lies beside their packages is compared, and kept.
func TestRequestsOfEditedDrafts(t *testing.T) {
	t.Parallel()
	asked := map[string][]int64{}
	for _, edited := range []int{1, 5} {
		for what, c := range map[string]struct {
			edit    func(w *world, draft, name string)
			command []string
			release bool
		}{
			"approve, edited": {edit: func(w *world, draft, name string) {
				w.edit("c1", draft, name+"/settings.yaml", "level: info", "level: debug")
			}, command: []string{"approve"}},
			"approve, amended": {edit: func(w *world, draft, name string) {
				w.amend("c1", draft, gittest.Text{name + "/more.yaml": "# more\n"})
			}, command: []string{"approve"}},
			"update, edited": {edit: func(w *world, draft, name string) {
				w.edit("c1", draft, name+"/settings.yaml", "level: info", "level: debug")
			}, command: []string{"apply"}, release: true},
			"update": {edit: func(*world, string, string) {}, command: []string{"apply"}, release: true},
		} {
			w := newHTTPWorld(t, "c1")
			w.repos["c1"].Git(t, "config", "uploadpack.allowFilter", "true")
			var names []string
			for i := range edited {
				names = append(names, fmt.Sprintf("p%d", i))
			}
			w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", append(names, "other")...))
			w.mustApply()
			for _, n := range names {
				c.edit(w, "drafts/"+n+"/packagevariant-1", n)
			}
			if c.release {
				w.publishWeb(webV2, "v2")
				w.write("sets/web.yaml", listSet("web", "web", "v2", "c1", append(names, "other")...))
			}
			if c.command[0] == "approve" {
				c.command = w.seen()
			}
			var fetches atomic.Int64
			w.srv.Before(func(kind, repo string) {
				if kind == gittest.Fetch && repo == "c1" {
					fetches.Add(1)
				}
			})
			w.mustRun(0, c.command...)
			asked[what] = append(asked[what], fetches.Load())
		}
	}
	for what, n := range asked {
		if most := map[string]int64{"approve, edited": 3, "approve, amended": 3, "update, edited": 2, "update": 1}[what]; n[1] > n[0] || n[0] > most {
			t.Errorf("%s: %d fetches for one, %d for five, want %d at most", what, n[0], n[1], most)
		}
	}
	t.Log(asked)
}
