package fault

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/programs"
)

// A process that is killed while it writes its cache leaves one that serves the
// next run.
func TestKilledWhileWritingTheCache(t *testing.T) {
	t.Parallel()
	points := max(2, amount(t, "FAULT_POINTS", 25, 6)/5)
	f := grown(t)
	d := f.undisturbed(scenario{args: pruning})
	size := cacheBytes(t, f.cache("peace"))
	killed := 0
	for k := range points {
		at := size * int64(2*k+1) / int64(2*points)
		t.Run(fmt.Sprintf("at byte %d of %d", at, size), func(t *testing.T) {
			f := f.at(t)
			f.restore()
			cache := fmt.Sprint("filling-", at)
			c := f.variform("rae", cache, append([]string{"apply"}, d.args...)...)
			for running := true; running && cacheBytes(t, f.cache(cache)) < at; {
				select {
				case <-c.done:
					running = false
				default:
				}
			}
			c.kill()
			if c.status() < 0 {
				killed++
			}
			f.srv.Wait()
			f.wholePushes(d)
			f.again(d, cache, k == 0)
		})
	}
	if killed <= points/2 && !t.Failed() {
		t.Errorf("only %d of %d runs were killed before they ended", killed, points)
	}
}

// files lists the files below a folder that is being worked in.
func files(t testing.TB, dir string) map[string]fs.FileInfo {
	t.Helper()
	out := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return gone(err)
		}
		info, err := e.Info()
		if err == nil {
			out[p] = info
		}
		return gone(err)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// gone is err, but nil for what is not there, or no longer.
func gone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

func cacheBytes(t testing.TB, dir string) int64 {
	n := int64(0)
	for _, info := range files(t, dir) {
		n += info.Size()
	}
	return n
}

// damage is what a process killed, or a machine that lost its power, leaves of
// a file.
var damage = map[string]func(r *rand.Rand, data []byte) []byte{
	"cut":   func(r *rand.Rand, data []byte) []byte { return data[:r.IntN(len(data))] },
	"empty": func(*rand.Rand, []byte) []byte { return nil },
	"zeros": func(r *rand.Rand, data []byte) []byte {
		clear(data[r.IntN(len(data)):])
		return data
	},
	"gone": nil,
}

// A cache with damaged files costs time and nothing else.
func TestDamagedCache(t *testing.T) {
	t.Parallel()
	rounds := max(4, amount(t, "FAULT_POINTS", 25, 6)/4)
	f := grown(t)
	d := f.undisturbed(scenario{args: pruning})
	kinds := map[string]bool{}
	for file := range files(t, f.cache("peace")) {
		kinds[filepath.Ext(file)] = true
	}
	for _, ext := range []string{".pack", ".idx", ""} { // "" is the commits
		if !kinds[ext] {
			t.Fatalf("the cache has no file of kind %q: %v", ext, kinds)
		}
	}
	for seed := range rounds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			f := f.at(t)
			f.restore()
			cache := fmt.Sprint("damaged-", seed)
			copyDir(t, f.cache("peace"), f.cache(cache))
			r := rand.New(rand.NewPCG(uint64(seed), 0))
			for _, what := range harm(t, r, f.cache(cache)) {
				t.Log(what)
			}
			f.again(d, cache, seed == 0)
		})
	}
}

// harm damages a third of the files of a folder, one at least.
func harm(t testing.TB, r *rand.Rand, dir string) []string {
	t.Helper()
	var names []string
	for name, info := range files(t, dir) {
		if info.Size() > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	ways := make([]string, 0, len(damage))
	for way := range damage {
		ways = append(ways, way)
	}
	slices.Sort(ways)
	var told []string
	for _, name := range names[:1+len(names)/3] {
		way := ways[r.IntN(len(ways))]
		told = append(told, way+": "+strings.TrimPrefix(name, dir))
		if damage[way] == nil {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		data, err := os.ReadFile(name)
		if err == nil {
			_ = os.Chmod(name, 0o600) // packs are read-only
			err = os.WriteFile(name, damage[way](r, data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return told
}

// Losing what was found to change nothing costs time and nothing else.
func TestDamagedMemo(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one")
	f.publish(1)
	f.want(1, map[string][]string{"one": numbered(0, 1)})
	f.must("zeros", "apply")
	f.publish(2)
	f.want(2, map[string][]string{"one": numbered(0, 1)})
	f.must("zeros", "plan")
	memos, _ := filepath.Glob(filepath.Join(f.cache("zeros"), "unchanged*"))
	for _, name := range append(memos, filepath.Join(f.cache("zeros"), "unchanged"), filepath.Join(f.state(), "built"), filepath.Join(f.state(), "key")) {
		if err := os.WriteFile(name, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.must("zeros", "apply")
	f.nothingToDo("zeros", nil)
}

// another is the command in another version: that of VARIFORM_OTHER, or today's
// with another stamp.
func another(t testing.TB) string {
	t.Helper()
	if name := os.Getenv("VARIFORM_OTHER"); name != "" {
		return name
	}
	name := filepath.Join(t.TempDir(), "variform")
	build := exec.Command("go", "build", "-ldflags", "-X github.com/variform/variform/internal/version.Version=v0.0.1", "-o", name, "github.com/variform/variform/cmd/variform")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return name
}

// Two versions of the command, and two processes of one, share a cache folder at
// once: each answers as it does with one of its own.
func TestSharedCache(t *testing.T) {
	t.Parallel()
	mine := programs.Command(t)
	theirs := another(t)
	f := newFleet(t, "one", "two")
	packages := map[string][]string{"one": numbered(0, 4), "two": numbered(4, 6)}
	f.publish(1)
	f.want(1, packages)
	f.must("peace", "apply")
	f.must("peace", "approve", "--all")
	f.publish(2)
	f.want(2, packages)
	plan := func(bin, cache string) *child {
		return startOf(t, bin, "rae", "plan", "-o", "json", "-f", filepath.Join(f.dir, "management"), "--cache-dir", f.cache(cache))
	}
	want := map[string]string{}
	for _, bin := range []string{mine, theirs} {
		c := plan(bin, "of-"+filepath.Base(filepath.Dir(bin)))
		if c.status() != 0 {
			t.Fatal(c)
		}
		want[bin] = c.out.String()
	}
	for round := range 3 { // the first with nothing in it
		var all []*child
		for _, bin := range []string{mine, theirs, mine, theirs} {
			all = append(all, plan(bin, "shared"))
		}
		for _, c := range all {
			if c.status() != 0 {
				t.Fatal(c)
			}
			if d := cmp.Diff(want[c.cmd.Path], c.out.String()); d != "" {
				t.Errorf("round %d, with a shared cache (-own +shared):\n%s", round, d)
			}
		}
	}
	f.must("shared", "apply")
	f.nothingToDo("shared", nil)
	f.fsck()
}

// What processes that died left in the cache goes after a day, and not before:
// it may be another's that is at work.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "one")
	f.publish(1)
	f.want(1, map[string][]string{"one": numbered(0, 1)})
	f.must("left", "apply")
	folders, err := filepath.Glob(filepath.Join(f.cache("left"), "git", "git", "*", "objects"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no object folders in the cache: %v", err)
	}
	folder := filepath.Dir(folders[0])
	if left, _ := filepath.Glob(filepath.Join(folder, "incoming-*")); len(left) > 0 {
		t.Errorf("a run in peace left %v", left)
	}
	old, young := filepath.Join(folder, "incoming-1"), filepath.Join(folder, "incoming-2")
	for _, dir := range []string{old, young} {
		if err := os.MkdirAll(filepath.Join(dir, "objects", "pack"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	f.must("left", "apply")
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", old, err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("another's folder has gone: %v", err)
	}
}
