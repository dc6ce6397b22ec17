package fault

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// split is a fleet over several Git repositories, of which two are shown by several
// Repositories, by folder and by branch.
func split(t *testing.T) *fleet {
	t.Helper()
	var names []string
	for i := range 8 {
		names = append(names, fmt.Sprintf("cluster-%d", i))
	}
	f := newFleet(t, names...)
	for name, of := range map[string]string{
		"edge-0": "{repo: " + f.srv.RepoURL("cluster-0") + ", branch: main, directory: edge}",
		// The same Git repository, as somebody else spells it.
		"next-1": "{repo: " + f.srv.RepoURL("cluster-1") + "/, branch: next, directory: next, createBranch: true}",
	} {
		f.write("repositories/"+name+".yaml", "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: "+name+"}\nspec:\n  type: git\n  git: "+of+"\n")
	}
	f.publish(1)
	f.wantOf(1, func(string, int) bool { return true })
	f.srv.Wait()
	return f
}

// wantOf makes the set want, of three packages in each Repository, those that are to be.
func (f *fleet) wantOf(revision int, wanted func(repo string, n int) bool) {
	f.t.Helper()
	names := f.names
	f.names = append(append([]string{}, names...), "edge-0", "next-1")
	defer func() { f.names = names }()
	packages := map[string][]string{}
	for _, r := range f.names {
		for n := range 3 {
			if wanted(r, n) {
				packages[r] = append(packages[r], fmt.Sprintf("web-%d", n))
			}
		}
	}
	f.want(revision, packages)
}

// shards runs a command once for each of n shards, side by side, each until it ends by
// itself: before, it is killed so many times at random. It returns the commands.
func (f *fleet) shards(n, kills int, seed uint64, args ...string) []*child {
	f.t.Helper()
	out := make([]*child, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			run := func() *child {
				return f.variform("rae", fmt.Sprintf("shard-%d-of-%d-%d", i, n, seed), append(args, "--shard", fmt.Sprintf("%d/%d", i+1, n))...)
			}
			for range kills {
				c := run()
				time.Sleep(time.Duration(random.IntN(250)) * time.Millisecond)
				c.kill()
			}
			out[i] = run()
			out[i].status()
		})
	}
	all.Wait()
	f.srv.Wait()
	return out
}

func (f *fleet) endWell(children []*child) {
	f.t.Helper()
	for _, c := range children {
		if c.status() != 0 {
			f.t.Error(c)
		}
	}
}

// Four machines that share a fleet make of it what one makes, to the hash, however
// they are killed; a fifth that joins while they run does nothing twice.
func TestShards(t *testing.T) {
	t.Parallel()
	f := split(t)
	for round := range amount(t, "FAULT_ROUNDS", 3, 2) {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			f := f.at(t)
			if round > 0 { // an update, of which some was approved
				f.must("peace", "approve", f.names[round%len(f.names)], f.names[(round+1)%len(f.names)])
				f.publish(round + 1)
				f.wantOf(round+1, func(string, int) bool { return true })
				// One that is made from another's, as long as that is its upstream: the next
				// update merges with what it was made from, whichever shard has that.
				upstream := "{repo: " + f.names[1] + ", package: web-0, revision: v1}"
				if round > 1 {
					upstream = fmt.Sprintf("{repo: catalog, package: web, revision: v%d}", round)
				}
				f.write("chain.yaml", "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: chain}\nspec:\n  upstream: "+upstream+"\n  downstream: {repo: cluster-7, package: chain}\n")
			}
			f.keep()
			f.srv.ResetCounts()
			f.must("alone"+fmt.Sprint(round), "apply")
			alone, whole := f.srv.Count(gittest.ReadRefs), f.refs()
			for n, kills := range []int{0, 3} {
				f.restore()
				f.srv.ResetCounts()
				f.endWell(f.shards(4, kills, uint64(10*round+n), "apply"))
				f.wantRefs(whole, "four shards, killed %d times each", kills)
				// The catalogue, and what another is made from, is read by each.
				if read := f.srv.Count(gittest.ReadRefs); kills == 0 && read > alone+2*3 {
					t.Errorf("the refs of repositories were read %d times by four shards, and %d times by one run", read, alone)
				}
			}
			f.restore()
			// A busy server holds the locks of refs for longer than git waits for another's.
			f.hook("reference-transaction", `if [ "$1" = prepared ]; then sleep 0.3; fi; cat >/dev/null`)
			var both sync.WaitGroup
			var four, five []*child
			both.Go(func() { four = f.shards(4, 1, uint64(10*round+2), "apply") })
			both.Go(func() { five = f.shards(5, 0, uint64(10*round+3), "apply") })
			both.Wait()
			f.hook("reference-transaction", "cat >/dev/null")
			f.endWell(four)
			f.endWell(five)
			f.wantRefs(whole, "five shards beside four")
			f.srv.ResetCounts()
			f.endWell(f.shards(5, 0, uint64(10*round+4), "apply"))
			if n := f.srv.Count(gittest.WriteRefs) + f.srv.Count(gittest.Push); n != 0 {
				t.Errorf("%d pushes of shards though there is nothing to do", n)
			}
			f.fsck()
		})
	}
}

// How much of a set goes at once is counted over all shards: none of them loses what
// the set would not lose.
func TestShardsPrune(t *testing.T) {
	t.Parallel()
	f := split(t)
	f.must("peace", "apply")
	f.wantOf(1, func(repo string, n int) bool { return n > 0 || repo == "edge-0" }) // 9 of 30
	f.keep()
	before := f.refs()
	f.shards(4, 0, 1, "apply", "--prune")
	f.wantRefs(before, "braked shards")
	for i, c := range f.shards(4, 0, 1, "apply", "--prune", "--max-delete", "8") {
		if c.status() != 1 || !strings.Contains(c.err.String(), "deletions braked: 9 of 30 packages of web") {
			t.Errorf("shard %d/4: %s", i+1, c)
		}
	}
	f.wantRefs(before, "braked shards")
	f.must("peace", "apply", "--prune", "--max-delete", "9")
	whole := f.refs()
	f.restore()
	f.endWell(f.shards(4, 2, 2, "apply", "--prune", "--max-delete", "9"))
	f.wantRefs(whole, "shards that prune")
}

// offer makes version 1.0.0 of a package in a repository, with what it says in its
// package.yaml.
func (f *fleet) offer(repo, name, spec string) {
	f.t.Helper()
	c := f.repos[repo].Commit(f.t, "main", name, gittest.Text{
		name + "/Kptfile":      "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n",
		name + "/package.yaml": "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata:\n  name: " + name + "\n  annotations: {config.kubernetes.io/local-config: \"true\"}\nspec:\n  version: 1.0.0\n" + spec,
		name + "/config.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  is: " + name + "\n",
	})
	f.repos[repo].Tag(f.t, name+"/v1.0.0", c)
}

// A target, its lock and what it needs are one shard's; what others are made from can
// be had by each target, of whichever shard.
func TestShardsOfTargets(t *testing.T) {
	t.Parallel()
	f := split(t)
	f.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+f.srv.RepoURL("catalog")+"}\n")
	f.offer("catalog", "db", "  scope: Cluster\n")
	f.offer("catalog", "app", "  requires: [{alias: db, package: db, version: ^1}]\n")
	f.offer("catalog", "more", "  requires: [{alias: side, package: side, version: ^1}]\n")
	f.offer("cluster-0", "side", "  scope: Cluster\n") // not in the catalogue
	variant := func(pkg, from, repo string) string {
		return fmt.Sprintf("---\napiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: %s-%s}\nspec:\n  upstream: {repo: %s, package: %[1]s, revision: v1.0.0}\n  downstream: {repo: %[2]s, package: own-%[1]s}\n", pkg, repo, from)
	}
	text := variant("side", "cluster-0", "cluster-1")
	for i, repo := range f.names {
		text += variant([]string{"app", "more"}[i%2], "catalog", repo)
	}
	f.write("targets.yaml", text)
	f.keep()
	end := f.variform("rae", "peace", "apply")
	status := end.status()
	f.srv.Wait()
	whole := f.refs()
	locks := 0
	for ref := range whole {
		if strings.Contains(ref, "/variform-lock/") {
			locks++
		}
	}
	if locks < 4 {
		t.Fatalf("%d targets have a lock: %s%s", locks, end, &end.out)
	}
	f.restore()
	worst := 0
	for _, c := range f.shards(4, 2, 1, "apply") {
		worst = max(worst, c.status())
	}
	if worst != status {
		t.Errorf("shards end with status %d, want %d", worst, status)
	}
	f.wantRefs(whole, "shards of targets")
	f.wantJoined(4, "plan", "-o", "json")
	f.wantJoined(4, "status", "-o", "json")

	// A name is told by the whole fleet, and decided by the shard that has it.
	for _, c := range f.shards(4, 0, 1, "approve", "web-set-is-not-there") {
		if c.status() != 1 {
			t.Error(c)
		}
	}
	f.endWell(f.shards(4, 0, 1, "approve", "cluster-5/web-0"))
	if n := len(whole) - len(f.refs()); f.refs()["cluster-5 refs/tags/web-0/v1"] == "" {
		t.Errorf("cluster-5/web-0 is not Published; %d refs fewer", n)
	}
	f.endWell(f.shards(4, 0, 1, "approve", "--all"))
	for ref := range f.refs() {
		if isOpen(ref) && strings.Contains(ref, "/web-") {
			t.Errorf("%s is left open", ref)
		}
	}
	for _, c := range f.shards(2, 0, 1, "approve", "--class", "0123@01234567") {
		if c.status() != 2 || !strings.Contains(c.err.String(), "--class cannot be combined with --shard") {
			t.Error(c)
		}
	}
}
