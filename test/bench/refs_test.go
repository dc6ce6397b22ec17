package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// refsLine is a line of the table of a repository with many refs.
type refsLine struct {
	step      string
	packed    bool // by git pack-refs --all, else each a file
	path      bool // without a Git server
	child     childCost
	yardstick string
	floor     time.Duration
	served    time.Duration // by the server, in all
	requests  int
	read      int64 // bytes of refs that were sent to be read
	write     int64 // and to be written
}

// refsTitles are the commands of that table, in its order.
var refsTitles = []title{
	{"cold again", "`apply` with nothing to do, an empty cache folder"},
	{"nothing to do", "`apply` with nothing to do"},
	{"plan", "`plan`"},
	{"one Draft", "`apply` of one change"},
	{"one approval", "`approve` of it"},
}

// measureRefs makes a repository with as many refs, half of them Drafts and half tags,
// and runs commands that move one of them or none: with each ref a file and with all in
// one, over HTTP and by path.
func measureRefs(t testing.TB, refs int) (lines []refsLine) {
	t.Helper()
	s := scenario{variants: refs / 2, http: true}
	w := newWorld(t, s)
	w.apply(t)
	w.run(t, "approve", "--all")
	w.publish(t, s)
	w.apply(t)
	if n := len(w.drafts(t)); n != 2*s.variants {
		t.Fatalf("the repository has %d Drafts and tags, want %d", n, 2*s.variants)
	}
	base := w.srv
	for _, packed := range []bool{false, true} {
		srv := base.Twin(t)
		w.srv, w.line.Server = srv, srv // at the same address
		w.fleet = srv.Repo("fleet")
		w.fleets = []*gittest.Repo{w.fleet}
		if packed {
			w.fleet.Git(t, "pack-refs", "--all")
		}
		run := func(w *world, step string, command ...string) {
			t.Helper()
			w.line.forget()
			srv.ResetCounts()
			line := refsLine{step: step, packed: packed, path: w.fleetURL == w.fleet.Dir, child: runSelf(t, append(w.args(command...), patience)...)}
			passed := srv.Passed()
			line.served, line.requests = w.line.served, w.line.requests()
			line.read, line.write = passed[gittest.Stream{Kind: gittest.ReadRefs, Answer: true}], passed[gittest.Stream{Kind: gittest.WriteRefs, Answer: true}]
			lines = append(lines, line)
			t.Logf("%s, packed: %t, by path: %t: %s, %s of it the server, %d kB of refs", step, packed, line.path, seconds(line.child.wall), seconds(line.served), (line.read+line.write)/1000)
		}
		for i, path := range []bool{false, true} {
			w := w.elsewhere(t, path)
			first := len(lines)
			run(w, "cold again", "apply")
			w.apply(t)
			run(w, "nothing to do", "apply")
			run(w, "plan", "plan")
			before := w.drafts(t)
			text := fmt.Sprintf(cluster, i, (i+1)%regions)
			w.write(t, fmt.Sprintf("clusters/cluster-%05d.yaml", i), text)
			run(w, "one Draft", "apply")
			if moved := movedRefs(before, w.drafts(t)); moved != 1 {
				t.Fatalf("one change moved %d refs: the measurement is void", moved)
			}
			run(w, "one approval", "approve", "fleet/"+variantName(i))
			if moved := movedRefs(before, w.drafts(t)); moved != 2 {
				t.Fatalf("one approval moved %d refs, want a Draft and a tag: the measurement is void", moved)
			}
			list, push := git(t, "", nil, "ls-remote", w.fleetURL).wall, w.pushOne(t, fmt.Sprintf("other-%d", i))
			for i := range lines[first:] {
				line := &lines[first+i]
				line.yardstick, line.floor = "`git ls-remote`", list
				if strings.HasPrefix(line.step, "one") {
					line.yardstick, line.floor = "`git push` of one", push
				}
			}
		}
	}
	return lines
}

// elsewhere is the same fleet in another management directory and with an empty cache
// folder, its repository by path or not.
func (w *world) elsewhere(t testing.TB, path bool) *world {
	t.Helper()
	other := *w
	other.dir, other.cache = filepath.Join(t.TempDir(), "management"), t.TempDir()
	if err := os.CopyFS(other.dir, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	if path {
		other.fleetURL = w.fleet.Dir
		other.write(t, "repositories/fleet.yaml", fmt.Sprintf(repository, "fleet", true, other.fleetURL))
	}
	return &other
}

// pushOne has git push a branch whose commit is there.
func (w *world) pushOne(t testing.TB, branch string) time.Duration {
	t.Helper()
	clone := filepath.Join(t.TempDir(), "clone.git")
	gittest.Run(t, "", nil, "clone", "-q", "--bare", "--single-branch", "--no-tags", "--depth", "1", w.fleet.URL(), clone)
	return git(t, clone, nil, "push", "-q", w.fleetURL, "HEAD:refs/heads/"+branch).wall
}

// movedRefs counts the refs that came, went or hold something else.
func movedRefs(before, after map[string]string) (n int) {
	for name, hash := range after {
		if before[name] != hash {
			n++
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			n++
		}
	}
	return n
}

// refsColumns are those of the table of many refs behind the command.
var refsColumns = []string{"refs are", "by", "time", "of it the server", "yardstick", "÷", "CPU", "MB", "requests", "kB of refs to read", "to write"}

func (l refsLine) cells() []string {
	kept, by, served, requests, read, write := "files", "HTTP", seconds(l.served), fmt.Sprint(l.requests), fmt.Sprint(l.read/1000), fmt.Sprint(l.write/1000)
	if l.packed {
		kept = "packed"
	}
	if l.path {
		by, served, requests, read, write = "a path", "none", "none", "none", "none"
	}
	return []string{kept, by, seconds(l.child.wall), served, l.yardstick, ratio(l.child.wall, l.floor), seconds(l.child.cpu), fmt.Sprint(l.child.Peak / 1e6), requests, read, write}
}

// refsTable is the table of many refs, by command.
func refsTable(lines []refsLine) []string {
	return byCommand(refsColumns, refsTitles, lines, func(l refsLine) (string, []string) { return l.step, l.cells() })
}

// TestRefsTableIsWhole makes the table of a few refs.
func TestRefsTableIsWhole(t *testing.T) {
	lines := measureRefs(t, 8)
	for _, l := range lines {
		if l.child.wall <= 0 || l.child.cpu <= 0 || l.floor <= 0 || !l.path && (l.served <= 0 || l.requests < 1 || l.read <= 0) {
			t.Errorf("something was not measured: %+v", l)
		}
		if asks := !l.path && slices.Contains([]string{"one Draft", "one approval"}, l.step); asks != (l.write > 0) { // each push asks first
			t.Errorf("%s: %d bytes of refs to write", l.step, l.write)
		}
	}
	wholeTable(t, refsTable(lines), refsColumns, 4*len(refsTitles))
}
