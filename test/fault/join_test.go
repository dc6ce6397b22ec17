package fault

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// joined is what the shards of a command's run print, joined.
func (f *fleet) joined(n int, args ...string) string {
	f.t.Helper()
	join := []string{"report", "join"}
	if o := outputOf(args); o != "json" {
		join = append(join, "-o", o)
	}
	for i, c := range f.shards(n, 0, 7, append(args[:len(args)-2:len(args)-2], "-o", "json")...) {
		if s := c.status(); s != 0 && s != 1 {
			f.t.Fatal(c)
		}
		file := filepath.Join(f.dir, fmt.Sprintf("part-%d.json", i))
		if err := os.WriteFile(file, c.out.Bytes(), 0o600); err != nil {
			f.t.Fatal(err)
		}
		join = append(join, file)
	}
	c := start(f.t, "rae", join...)
	if c.status() != 0 {
		f.t.Fatal(c)
	}
	return c.out.String()
}

func outputOf(args []string) string { return args[len(args)-1] }

// whole is what the command prints that is run for the whole fleet.
func (f *fleet) whole(args ...string) string {
	f.t.Helper()
	c := f.variform("rae", "peace", args...)
	if s := c.status(); s != 0 && s != 1 {
		f.t.Fatal(c)
	}
	f.srv.Wait()
	return c.out.String()
}

func (f *fleet) wantJoined(n int, args ...string) {
	f.t.Helper()
	want := f.whole(args...)
	if d := cmp.Diff(want, f.joined(n, args...)); d != "" {
		f.t.Errorf("%s of %d shards, joined (-whole +joined):\n%s", strings.Join(args, " "), n, d)
	}
}

// What shards print, joined, is to the byte what one run prints, over random fleets:
// with packages that fail, that people edited, that nothing wants any more, and values
// that stand out.
func TestJoin(t *testing.T) {
	t.Parallel()
	for seed := range amount(t, "FAULT_ROUNDS", 2, 1) {
		t.Run(fmt.Sprint("fleet ", seed), func(t *testing.T) {
			f := split(t)
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			for revision := 1; revision <= 3; revision++ {
				if revision > 1 {
					f.publish(revision)
				}
				f.wantOf(revision, func(string, int) bool { return random.IntN(4) > 0 })
				f.beside(random)
				f.srv.Wait()
				n := 2 + random.IntN(4)
				for _, args := range [][]string{
					{"plan", "-o", "json"}, {"plan", "-o", "markdown"}, {"status", "-o", "json"}, {"review", "-o", "json"},
				} {
					f.at(t).wantJoined(n, args...)
				}
				f.keep()
				want := f.whole("apply", "-o", "json")
				f.restore()
				if d := cmp.Diff(want, f.joined(n, "apply", "-o", "json")); d != "" {
					t.Errorf("apply of %d shards, joined (-whole +joined):\n%s", n, d)
				}
				f.edit(random)
				f.wantJoined(n, "review", "-o", "json")
				f.wantJoined(n, "review", "--no-diff", "-o", "yaml")
				if revision == 1 {
					f.wantJoined(n, "review", "--origins", "-o", "json")
				}
				f.wantJoined(n, "status", "-o", "yaml")
				f.approveAsShown(n, random)
			}
		})
	}
}

// beside makes what is not the set's: variants by hand that are unlike the others, and
// such as fail.
func (f *fleet) beside(random *rand.Rand) {
	f.t.Helper()
	var b strings.Builder
	for i := range 12 {
		replicas := 3
		if random.IntN(5) == 0 {
			replicas = 300
		}
		revision := "v1"
		if random.IntN(6) == 0 {
			revision = "v99"
		}
		fmt.Fprintf(&b, `---
apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata: {name: hand-%d}
spec:
  upstream: {repo: catalog, package: web, revision: %s}
  downstream: {repo: %s, package: hand-%[1]d}
  pipeline:
    mutators:
      - {name: scale, image: "ghcr.io/kptdev/krm-functions-catalog/set-replicas:v0.1.1", configMap: {replicas: "%[4]d"}}
      - {name: owner, image: "ghcr.io/kptdev/krm-functions-catalog/set-annotations:v0.1.4", configMap: {owner: "team-%[5]d.example.com"}}
`, i, revision, f.names[random.IntN(len(f.names))], replicas, random.IntN(12))
	}
	f.write("hand.yaml", b.String())
}

// edit has a person write into some of the open Drafts.
func (f *fleet) edit(random *rand.Rand) {
	f.t.Helper()
	for _, repo := range f.names {
		w := f.clone(repo, "ann")
		for _, line := range strings.Fields(w.must("for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/origin/drafts")) {
			if random.IntN(4) > 0 {
				continue
			}
			w.must("checkout", "-q", "-B", "edit", "origin/"+line)
			pkg := line[len("drafts/"):strings.LastIndexByte(line, '/')]
			file := filepath.Join(w.dir, filepath.FromSlash(pkg), "deployment.yaml")
			data, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			data = bytes.ReplaceAll(data, []byte(`":8080"`), fmt.Appendf(nil, `":%d"`, 8081+random.IntN(2)))
			if err := os.WriteFile(file, data, 0o600); err != nil {
				f.t.Fatal(err)
			}
			w.must("commit", "-qam", "another port", "--allow-empty")
			w.must("push", "-q", "origin", "edit:refs/heads/"+line)
		}
	}
	f.srv.Wait()
}

// approveAsShown approves a class of the joined review by its ID, of all shards at once.
func (f *fleet) approveAsShown(n int, random *rand.Rand) {
	f.t.Helper()
	ids := strings.Fields(f.whole("review", "-o", "name"))
	if len(ids) == 0 {
		f.t.Fatal("nothing is open")
	}
	id := ids[random.IntN(len(ids))]
	if !strings.Contains(f.joined(n, "review", "-o", "json"), `"`+id+`"`) {
		f.t.Errorf("the joined review has no class %s", id)
	}
	c := f.variform("rae", "peace", "approve", "--class", id)
	if s := c.status(); s != 0 && !strings.Contains(c.err.String(), "refused") && !strings.Contains(c.err.String(), "could not be approved") {
		f.t.Error(c)
	}
	f.srv.Wait()
}
