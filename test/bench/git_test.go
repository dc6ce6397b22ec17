package bench

import (
	"bytes"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// cost is what a side of a comparison took.
type cost struct {
	wall   time.Duration
	cpu    time.Duration // user and system, of processes and their children; 0 where not known
	server time.Duration // user and system, of the server's git programs; 0 where not known
}

func (c *cost) add(d cost) {
	c.wall += d.wall
	c.cpu += d.cpu
	c.server += d.server
}

// git runs git and says what that cost.
func git(b testing.TB, dir string, stdin []byte, args ...string) cost {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, gittest.Env(), bytes.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	start := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, errs.String())
	}
	return cost{wall: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// twin is a copy of a world's fleet repository from before a run, which the floor
// then brings to the same state by git alone.
type twin struct {
	repo *gittest.Repo
	url  string
	line *line             // nil for a path
	old  map[string]string // refs
}

func newTwin(b testing.TB, w *world) *twin {
	b.Helper()
	t := &twin{}
	if w.srv != nil {
		srv := gittest.NewServer(b)
		t.repo = srv.NewRepo(b, "twin")
		t.line = newLine(b, srv, w.line.delay)
		t.url = t.line.url + "/twin.git"
	} else {
		t.repo = gittest.NewRepo(b)
		t.url = t.repo.Dir
	}
	gittest.Run(b, t.repo.Dir, nil, "fetch", "-q", w.fleet.Dir, "+refs/*:refs/*")
	t.old = t.repo.Refs(b)
	return t
}

// floor writes the objects of the world's last run with git: a fast-import into a
// clone and one push of the Draft branches. What is to be imported and the clone
// are made before the clock starts. The refs must come out the same, to the hash.
func (t *twin) floor(b testing.TB, w *world) cost {
	b.Helper()
	clone := filepath.Join(b.TempDir(), "clone.git")
	gittest.Run(b, "", nil, "clone", "-q", "--bare", t.repo.Dir, clone)
	stream := t.stream(b, w)
	c := git(b, clone, stream, "fast-import", "--quiet", "--force")
	c.add(t.line.serving(func() cost {
		return git(b, clone, nil, "push", "-q", "--atomic", t.url, "refs/heads/drafts/*:refs/heads/drafts/*")
	}))
	if !maps.Equal(t.repo.Refs(b), w.fleet.Refs(b)) {
		b.Fatal("git did not make the same commits: the comparison is void")
	}
	return c
}

// mirror pushes with git what the world's last run moved, with its objects at hand.
func (t *twin) mirror(b testing.TB, w *world) cost {
	b.Helper()
	clone := filepath.Join(b.TempDir(), "clone.git")
	gittest.Run(b, "", nil, "clone", "-q", "--mirror", t.repo.Dir, clone)
	gittest.Run(b, clone, nil, "fetch", "-q", "--prune", w.fleet.Dir, "+refs/*:refs/*")
	c := t.line.serving(func() cost { return git(b, clone, nil, "push", "-q", "--atomic", "--mirror", t.url) })
	if !maps.Equal(t.repo.Refs(b), w.fleet.Refs(b)) {
		b.Fatal("git did not come to the same refs: the comparison is void")
	}
	return c
}

// stream is all that was written since the twin was made.
func (t *twin) stream(b testing.TB, w *world) []byte {
	b.Helper()
	var revs bytes.Buffer
	for _, hash := range t.old {
		fmt.Fprintf(&revs, "^%s\n", hash)
	}
	for ref := range w.drafts(b) {
		fmt.Fprintln(&revs, ref)
	}
	out := gittest.Run(b, w.fleet.Dir, revs.Bytes(), "fast-export", "--reference-excluded-parents", "--stdin")
	return []byte(out + "\n")
}

// readHeads is the floor of a run with nothing to do: the refs, and the commits
// that those name which say what is there: branches, and of each package the newest tag.
func readHeads(b testing.TB, w *world) cost {
	b.Helper()
	refs := w.fleet.Refs(b)
	newest := map[string]int{}
	var wanted []string
	for ref := range refs {
		if pkg, n, ok := publishedBy(ref); ok {
			newest[pkg] = max(newest[pkg], n)
		} else if strings.HasPrefix(ref, "refs/heads/") {
			wanted = append(wanted, ref)
		}
	}
	for pkg, n := range newest {
		wanted = append(wanted, fmt.Sprintf("refs/tags/%s/v%d", pkg, n))
	}
	slices.Sort(wanted)
	var names, hashes bytes.Buffer
	for _, ref := range wanted {
		fmt.Fprintln(&names, ref)
		fmt.Fprintln(&hashes, refs[ref])
	}
	c := git(b, "", nil, "ls-remote", w.fleetURL)
	if w.srv == nil {
		c.add(git(b, w.fleet.Dir, hashes.Bytes(), "cat-file", "--batch"))
		return c
	}
	dir := filepath.Join(b.TempDir(), "heads.git")
	gittest.Run(b, "", nil, "init", "-q", "--bare", dir)
	c.add(git(b, dir, names.Bytes(), "fetch", "-q", "--depth", "1", "--no-tags", "--filter=tree:0", "--stdin", w.fleetURL))
	return c
}

// publishedBy is what a tag says: revision n of a package.
func publishedBy(ref string) (pkg string, n int, ok bool) {
	name, ok := strings.CutPrefix(ref, "refs/tags/")
	at := strings.LastIndex(name, "/v")
	if !ok || at < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(name[at+2:])
	return name[:at], n, err == nil
}

func TestPublishedBy(t *testing.T) {
	for ref, want := range map[string]string{
		"refs/tags/web/v1": "web 1 true", "refs/tags/team/web/v12": "team/web 12 true", "refs/tags/web/v1.2.0": "web 0 false",
		"refs/tags/v1": " 0 false", "refs/heads/web/v1": " 0 false",
	} {
		if pkg, n, ok := publishedBy(ref); fmt.Sprint(pkg, " ", n, " ", ok) != want {
			t.Errorf("%s: %s %d %t, want %s", ref, pkg, n, ok, want)
		}
	}
}
