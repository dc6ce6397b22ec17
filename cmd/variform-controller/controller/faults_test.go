package controller_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

var (
	kills = flag.Int("kills", 5, "how many replicas TestShardedFleet kills")
	seeds = flag.Int64("seed", 0, "seed of the moments of faults; 0 takes one of the clock, which is logged")
)

// moments are random, and can be had again as far as a machine allows.
func moments(t *testing.T) *rand.Rand {
	seed := *seeds
	if seed == 0 {
		seed = time.Now().UnixNano()
	}
	t.Logf("-seed %d", seed)
	return rand.New(rand.NewSource(seed))
}

// wide is a fleet of objects: a set for clusters c0, c1 and so on, each of which injects
// one ConfigMap. A change of that is a step, which changes every Draft.
type wide struct {
	*world
	fixed      []string // the documents that no step changes
	set, fleet string
}

func newWide(t *testing.T, clusters, shards int) *wide {
	t.Helper()
	w := &wide{world: newWorld(t)}
	w.pkg(w.repo("catalog"), "web")
	w.fixed = []string{repository("catalog", w.git.RepoURL("catalog"), false)}
	var targets []string
	for n := range clusters {
		name := fmt.Sprintf("c%d", n)
		w.repo(name)
		w.fixed = append(w.fixed, repository(name, w.git.RepoURL(name), true))
		targets = append(targets, "{name: "+name+"}")
	}
	w.set = fmt.Sprintf(webSet, strings.Join(targets, ", "))
	w.fleet = strings.Replace(fmt.Sprintf(objectsFleet, "5m"), "prune: true", fmt.Sprintf("prune: true, shards: %d", shards), 1)
	w.apply(w.fixed...)
	w.apply(siteOf(0), w.set, w.fleet)
	return w
}

// siteOf is what is injected at a step.
func siteOf(step int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {region: r%d}\n", step)
}

// refsOf are all refs of all repositories, commit for commit.
type refsOf = map[string]map[string]string

// byCommand is what a command's runs leave, one at each step, each after what people do
// before it.
func (w *wide) byCommand(steps int, before map[int]func()) (after []refsOf) {
	w.Helper()
	w.asBefore(func() {
		dir, cache := w.TempDir(), w.TempDir()
		for n := range steps {
			if before[n] != nil {
				before[n]()
			}
			for name, text := range w.files(append([]string{siteOf(n), w.set}, w.fixed...)...) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					w.Fatal(err)
				}
			}
			var said bytes.Buffer
			if status := cli.Main(context.Background(), []string{"apply", "--prune", "-f", dir, "--cache-dir", cache}, cli.Streams{In: strings.NewReader(""), Out: &said, Err: &said}); status != 0 {
				w.Fatal(said.String())
			}
			after = append(after, w.refs())
			runtime.GC() // a command leaves files open, for its process ends
		}
	})
	return after
}

// comesTo waits until the refs are those of a command, whatever the API server does.
func (w *wide) comesTo(want refsOf) {
	w.Helper()
	diff := ""
	defer func() {
		if w.Failed() && diff != "" {
			w.Logf("-command +controller:\n%s", diff)
		}
	}()
	w.until("as after a command", func() bool { diff = cmp.Diff(want, w.refs()); return diff == "" })
}

// startedAgain is the API server that a test started after it had killed the first.
var startedAgain *exec.Cmd

// part finds a process of the control plane among the children of this one.
func part(t *testing.T, name string) (pid int, args []string) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(found) == 0 {
		t.Skip("skipped: needs /proc, to find the processes of the control plane")
	}
	for _, file := range found {
		stat, _ := os.ReadFile(file) // some have gone meanwhile
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(os.Getpid()) || fields[0] == "Z" {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		if filepath.Base(args[0]) == name {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			return pid, args
		}
	}
	t.Fatalf("no %s among the processes of this test", name)
	return 0, nil
}

// restartAPIServer kills it and starts it again as it was, after a while.
func (w *world) restartAPIServer(t *testing.T, away time.Duration) {
	t.Helper()
	pid, args := part(t, "kube-apiserver")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if startedAgain != nil {
		_ = startedAgain.Wait()
	}
	w.until("gone", func() bool { return syscall.Kill(pid, 0) != nil }) // envtest waits for the first
	time.Sleep(away)
	startedAgain = exec.Command(args[0], args[1:]...)
	startedAgain.Stderr = logs
	if err := startedAgain.Start(); err != nil {
		t.Fatal(err)
	}
	w.answers()
}

// answers waits until the API server answers.
func (w *world) answers() {
	w.Helper()
	w.until("answered", func() bool {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("variform.dev/v1alpha1")
		list.SetKind("FleetList")
		return w.api.List(context.Background(), list, client.InNamespace(w.namespace)) == nil
	})
}

// TestControlPlaneFaults: an API server that is killed and comes back, and an etcd that
// answers nothing for seconds, stop nobody for good: replicas go on by themselves, and
// what they come to is what a command comes to, commit for commit.
func TestControlPlaneFaults(t *testing.T) {
	random := moments(t)
	w := newWide(t, 4, 2)
	const restarts, stops = 2, 2
	want := w.byCommand(1+restarts+stops, nil)
	for range 2 {
		w.replica(2 * time.Second)
	}
	w.comesTo(want[0])
	step := 0
	for range restarts {
		step++
		w.apply(siteOf(step))
		time.Sleep(time.Duration(random.Int63n(int64(700 * time.Millisecond))))
		w.restartAPIServer(t, time.Duration(random.Int63n(int64(2*time.Second))))
		w.comesTo(want[step])
	}
	for range stops {
		step++
		w.apply(siteOf(step))
		time.Sleep(time.Duration(random.Int63n(int64(700 * time.Millisecond))))
		pid, _ := part(t, "etcd")
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Second + time.Duration(random.Int63n(int64(time.Second)))) // Leases are lost meanwhile
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		w.answers()
		w.comesTo(want[step])
	}
	w.says(w.fleet, "Ready", "True Reconciled")
	w.says(w.set, "Ready", "True")
	w.comesTo(want[step])
}

// TestTwoVersions: replicas of two versions, as while a Deployment is rolled out, share the
// work and each other's results: what one made the other leaves alone.
func TestTwoVersions(t *testing.T) {
	w := newWide(t, 6, 4)
	want := w.byCommand(3, nil)
	old, next := w.process("v1.0.0"), w.process("v2.0.0")
	w.comesTo(want[0])
	w.until("shared", func() bool { s := w.share("-of-4"); return len(s) == 2 && s[0] == 2 })
	w.apply(siteOf(1))
	w.comesTo(want[1])
	w.says(w.fleet, "Ready", "True Reconciled")
	pushed := w.git.Count(gittest.Push)

	// The new version takes over what the old one made, and the other way round.
	for _, gone := range []*exec.Cmd{old, next} {
		version := "v1.0.0"
		if gone == old {
			version = "v2.0.0"
		}
		fetched := w.git.Count(gittest.ReadRefs)
		_ = gone.Process.Kill()
		_ = gone.Wait()
		w.until("taken over", func() bool {
			s := w.share("-of-4")
			return s[len(s)-1] == 4 && w.git.Count(gittest.ReadRefs) > fetched
		})
		w.says(w.fleet, "Ready", "True Reconciled")
		w.process(version)
		w.until("shared again", func() bool { s := w.share("-of-4"); return len(s) >= 2 && s[len(s)-1] == 2 && s[len(s)-2] == 2 })
	}
	w.comesTo(want[1])
	if n := w.git.Count(gittest.Push) - pushed; n != 0 {
		t.Errorf("nothing was to do, and the versions pushed %d times", n)
	}
	w.apply(siteOf(2))
	w.comesTo(want[2])
	w.says(w.fleet, "Ready", "True Reconciled")
	if n := w.git.Count(gittest.Push) - pushed; n != 6 {
		t.Errorf("a step of 6 repositories took %d pushes", n)
	}
}

// TestMergedOnTheServer: people merge Drafts on the server, each way that forges have; a
// controller finds them approved as the command does, commit for commit, and goes on.
func TestMergedOnTheServer(t *testing.T) {
	w := newWide(t, 3, 1)
	merges := [][]string{
		{"merge", "-q", "--no-ff", "-m", "Merge the request", "origin/drafts/web/packagevariant-1"},
		{"merge", "-q", "--ff-only", "origin/drafts/web/packagevariant-1"},
		{"merge", "-q", "--squash", "origin/drafts/web/packagevariant-1"},
	}
	merge := func() {
		for n, args := range merges {
			r, tree := w.repos[fmt.Sprintf("c%d", n)], filepath.Join(t.TempDir(), "tree")
			gittest.Run(t, "", nil, "clone", "-q", r.Dir, tree)
			gittest.Run(t, tree, nil, args...)
			if args[2] == "--squash" {
				gittest.Run(t, tree, nil, "commit", "-q", "-m", "Squashed")
			}
			gittest.Run(t, tree, nil, "push", "-q", "origin", "main")
		}
	}
	want := w.byCommand(3, map[int]func(){1: merge})
	for name, refs := range want[1] {
		if name != "catalog" && refs["refs/tags/web/v1"] == "" {
			t.Fatalf("the command did not find %s approved: %v", name, refs)
		}
	}
	w.start()
	w.comesTo(want[0])
	w.says(w.fleet, "Ready", "True Reconciled")
	merge()
	w.apply(siteOf(1)) // the approved and what is new at once
	w.comesTo(want[1])
	w.apply(siteOf(2))
	w.comesTo(want[2])
	w.says(w.fleet, "Ready", "True Reconciled: 3 package variants")
	w.says(w.set, "Ready", "True")
}

// TestNothingStaysOpen: a run leaves no file and no connection open; a controller runs for
// months.
func TestNothingStaysOpen(t *testing.T) {
	w := newWide(t, 2, 1)
	stop := w.start()
	for step := range 3 {
		w.apply(siteOf(step))
		w.says(w.fleet, "Ready", "True Reconciled")
		w.until("injected", func() bool {
			b := branches(w.repos["c1"], t)
			return len(b) == 1 && strings.Contains(w.repos["c1"].Show(t, b[0], "web/site.yaml"), fmt.Sprintf("region: r%d", step))
		})
	}
	stop()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Skip("skipped: needs /proc, to see what is open")
	}
	for _, l := range links {
		if file, _ := os.Readlink(l); strings.HasPrefix(file, w.caches[0]) {
			t.Errorf("%s is open", file)
		}
	}
	gone := make(chan struct{})
	go func() { w.git.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-time.After(20 * time.Second): // what is left to itself closes after 90
		t.Error("connections to the Git server are open")
	}
}
