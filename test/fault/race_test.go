package fault

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/variform/variform/internal/record"
)

// race is a fleet that several commands and people work on at once.
type race struct {
	*fleet
	packages map[string][]string
	clones   map[string]*work
	mu       sync.Mutex
	edits    []edit
	outcomes map[string]int
	seen     map[string]int // moves of a repository's refs that were looked at
	// withdraws says that Variform's own commits may be taken back, deletes that tags
	// may go.
	withdraws, deletes bool
}

func newRace(t *testing.T, packages map[string][]string) *race {
	f := newFleet(t, slices.Sorted(maps.Keys(packages))...)
	r := &race{fleet: f, packages: packages, clones: map[string]*work{}, outcomes: map[string]int{}, seen: map[string]int{}}
	for _, n := range f.names {
		f.repos[n].Hook(t, "post-receive", "exec cat >>moves")
		r.clones[n] = f.clone(n, "ann")
	}
	return r
}

// within is the race in a subtest.
func (r *race) within(t *testing.T) {
	r.fleet = r.at(t)
	for _, w := range r.clones {
		w.f = r.fleet
	}
}

// edit is a file that a person added to a package and pushed.
type edit struct{ repo, pkg, file string }

// Applies, decisions and people's pushes at once on one fleet: nobody's commit
// is lost, and when all are done one more apply makes of it what the fleet wants.
func TestRace(t *testing.T) {
	t.Parallel()
	rounds := amount(t, "FAULT_ROUNDS", 5, 2)
	r := newRace(t, map[string][]string{"one": numbered(0, 6), "two": numbered(6, 10)})
	for round := range rounds {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			r.within(t)
			r.round(round)
		})
		if t.Failed() {
			break
		}
	}
	r.fleet = r.at(t)
	r.fsck()
	for _, what := range slices.Sorted(maps.Keys(r.outcomes)) {
		t.Logf("%4d %s", r.outcomes[what], what)
	}
	if len(r.edits) < rounds {
		t.Errorf("only %d edits were pushed in %d rounds", len(r.edits), rounds)
	}
}

// Packages come and go while runs prune, people approve and a forge merges: no tag
// moves, the branch only goes forward, and when all are done the branch holds what the
// fleet wants, with a record that proves itself.
func TestRaceOfPrunes(t *testing.T) {
	t.Parallel()
	r := newRace(t, map[string][]string{"one": nil})
	r.withdraws, r.deletes = true, true
	prune := []string{"apply", "--prune", "--max-delete", "20"}
	approve := []string{"approve", "--all"}
	for round := range amount(t, "FAULT_ROUNDS", 5, 2) {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			r.within(t)
			var wanted []string
			for n := 2 * round; n < 2*round+2; n++ {
				r.must("quiet", "apply")
				wanted = nil
				for i, name := range numbered(0, 9) {
					if i%3 != n%3 {
						wanted = append(wanted, name)
					}
				}
				r.publish(n + 1)
				r.want(n+1, map[string][]string{"one": wanted})
			}
			var all sync.WaitGroup
			for i, commands := range [][][]string{{prune, prune}, {prune, approve}, {approve, approve, approve}} {
				all.Go(func() {
					for _, c := range commands {
						r.judge(r.variform(fmt.Sprint("racer", i), fmt.Sprint("racer-", i), c...))
					}
				})
			}
			all.Go(func() { r.merge("one") })
			all.Wait()
			r.srv.Wait()
			var said strings.Builder
			for _, c := range [][]string{prune, approve, prune} {
				child := r.variform("rae", "quiet", c...)
				r.judge(child)
				r.srv.Wait()
				fmt.Fprintf(&said, "%s%s", child, &child.out)
				fmt.Fprintln(&said, slices.Sorted(maps.Keys(r.refs())))
			}
			r.checkMoves("one", "after the race")
			if got := r.repos["one"].Git(t, "ls-tree", "-d", "--name-only", "main"); got != strings.Join(wanted, "\n") {
				t.Errorf("main holds\n%s\nwanted: %s\n%s\nits history:\n%s\nand the record's:\n%s", got, wanted, &said,
					r.repos["one"].Git(t, "log", "--format=%h %p %cn: %s", "main"),
					r.repos["one"].Git(t, "log", "-p", "--format=%h %p %cn: %s", "--glob=refs/variform/*", "--", "index"))
			}
			for ref := range r.refs() {
				if isOpen(ref) || strings.Contains(ref, " refs/heads/deletionProposed/") {
					t.Errorf("%s is left", ref)
				}
			}
			r.must("quiet", "record", "check")
			r.nothingToDo("quiet", prune[1:])
		})
		if t.Failed() {
			break
		}
	}
	r.fleet = r.at(t)
	r.fsck()
	for _, what := range slices.Sorted(maps.Keys(r.outcomes)) {
		t.Logf("%4d %s", r.outcomes[what], what)
	}
}

// merge is a forge on which people merge what is open, one after the other.
func (r *race) merge(repo string) {
	w := r.clones[repo]
	for range 6 {
		_, err := w.git("fetch", "-q", "--prune", "origin")
		open, _ := w.git("for-each-ref", "--count=1", "--format=%(refname)", "refs/remotes/origin/drafts")
		for _, args := range [][]string{{"checkout", "-q", "--detach", "origin/main"}, {"merge", "-q", "--no-ff", "-m", "merged", open}, {"push", "-q", "origin", "HEAD:main"}} {
			if err == nil && open != "" {
				_, err = w.git(args...)
			}
		}
		if err != nil {
			_, _ = w.git("merge", "--abort") // it may not have come to that
		}
		r.count(fmt.Sprint("merge: ", err == nil && open != ""))
	}
}

func (r *race) round(n int) {
	r.t.Helper()
	r.publish(n + 1)
	r.want(n+1, r.packages)
	random := rand.New(rand.NewPCG(uint64(n), 0))
	decide := func() []string { // about one package, or all
		names := slices.Concat(r.packages["one"], r.packages["two"], []string{"two", "--all", "--all"})
		return []string{[]string{"propose", "approve", "approve", "reject"}[random.IntN(4)], names[random.IntN(len(names))]}
	}
	var all sync.WaitGroup
	for i, commands := range [][][]string{
		{{"apply"}, decide(), {"apply"}},
		{{"apply"}, {"apply", "--max-refs-per-push", "1"}},
		{decide(), decide(), decide(), {"approve", "--all"}},
		{decide(), {"apply"}, decide(), decide()},
	} {
		all.Add(1)
		go func() {
			defer all.Done()
			cache := fmt.Sprint("racer-", max(1, i)) // two share one
			for _, c := range commands {
				r.judge(r.variform(fmt.Sprint("racer", i), cache, c...))
			}
		}()
	}
	for _, repo := range r.names {
		seed := random.Uint64()
		all.Add(1)
		go func() {
			defer all.Done()
			r.editAll(repo, n, rand.New(rand.NewPCG(seed, 0)))
		}()
	}
	all.Wait()
	r.srv.Wait()
	r.check("after the race")
	r.must("quiet", "apply")
	r.check("after a quiet apply")
	r.nothingToDo("quiet", nil)
}

// harmless is what a command may say that lost a race: nothing is wrong, and it
// may be run again.
var harmless = regexp.MustCompile(`nothing to decide|changed since it was shown|someone else has moved|` +
	`was published since this Draft began|since this Draft was made: run apply|no run has built it since|with another content than this first Draft`)

// judge counts how a command ended.
func (r *race) judge(c *child) {
	status := c.status()
	r.mu.Lock()
	defer r.mu.Unlock()
	what := c.cmd.Args[1]
	if status == 0 {
		r.outcomes[what+": done"]++
		return
	}
	said := harmless.FindString(c.out.String() + c.err.String())
	switch {
	case said == "":
		r.t.Errorf("%s\n%s", c, &c.out)
	case what == "apply":
		r.t.Log(c)
	}
	r.outcomes[what+": "+said]++
}

// editAll is a person who adds files to whatever is open in a repository.
func (r *race) editAll(repo string, round int, random *rand.Rand) {
	w := r.clones[repo]
	for k := range 8 {
		if _, err := w.git("fetch", "-q", "--prune", "origin"); err != nil {
			r.count("edit: not fetched")
			continue
		}
		list, err := w.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/origin/drafts", "refs/remotes/origin/proposed")
		open := strings.Fields(list)
		if err != nil || len(open) == 0 {
			r.count("edit: nothing open")
			continue
		}
		r.edit(w, repo, open[random.IntN(len(open))], fmt.Sprintf("hand-%d-%d.yaml", round, k))
	}
}

// edit adds a file to an open branch, unless the branch moves meanwhile.
func (r *race) edit(w *work, repo, branch, file string) {
	pkg := strings.Split(branch, "/")[1]
	at := "refs/remotes/origin/" + branch
	was, err := w.git("rev-parse", at)
	if err != nil {
		r.t.Error(err)
		return
	}
	path := filepath.Join(w.dir, pkg, file)
	for _, args := range [][]string{{"checkout", "-q", "--detach", at}, nil, {"add", "."}, {"commit", "-q", "-m", "by hand"}} {
		if args == nil {
			err = os.WriteFile(path, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "+strings.TrimSuffix(file, ".yaml")+"\n"), 0o600)
		} else {
			_, err = w.git(args...)
		}
		if err != nil {
			r.t.Error(err)
			return
		}
	}
	if _, err := w.git("push", "-q", "--force-with-lease="+branch+":"+was, "origin", "HEAD:refs/heads/"+branch); err != nil {
		r.count("edit: lost the race")
		return
	}
	r.count("edit: done")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.edits = append(r.edits, edit{repo, pkg, pkg + "/" + file})
}

func (r *race) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[what]++
}

// check checks what must hold whenever nobody is at work.
func (r *race) check(when string) {
	r.t.Helper()
	for _, repo := range r.names {
		r.checkMoves(repo, when)
		r.checkPackages(repo, when)
	}
	// A hand edit is in the package's open revision, or else in what is published.
	newest := map[string]string{}
	for ref := range r.refs() {
		if isOpen(ref) {
			_, newest[packageOf(ref)], _ = strings.Cut(ref, " ")
		}
	}
	files := map[string]string{}
	for _, e := range r.edits {
		at := newest[e.repo+"/"+e.pkg]
		if at == "" {
			at = "refs/heads/main"
		}
		if files[e.repo+at] == "" {
			files[e.repo+at] = "\n" + r.repos[e.repo].Git(r.t, "ls-tree", "-r", "--name-only", at) + "\n"
		}
		if !strings.Contains(files[e.repo+at], "\n"+e.file+"\n") {
			r.t.Errorf("%s: the hand edit %s of %s is not in %s", when, e.file, e.repo, at)
		}
	}
}

// isOpen says whether a ref, after "repository " or alone, is an open revision.
func isOpen(ref string) bool {
	ref = ref[strings.IndexByte(ref, ' ')+1:]
	return strings.HasPrefix(ref, "refs/heads/drafts/") || strings.HasPrefix(ref, "refs/heads/proposed/")
}

// checkMoves checks all that refs ever did: every commit that a ref was at can
// still be reached, tags never move, the registered branch only goes forward.
func (r *race) checkMoves(repo, when string) {
	r.t.Helper()
	g := r.repos[repo]
	reached := map[string]bool{}
	for _, h := range strings.Fields(g.Git(r.t, "rev-list", "--all")) {
		reached[h] = true
	}
	moves, err := os.ReadFile(filepath.Join(g.Dir, "moves"))
	if err != nil {
		r.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(moves)), "\n")
	zero := strings.Repeat("0", 40)
	for i, line := range lines {
		f := strings.Fields(line)
		if len(f) != 3 {
			r.t.Fatalf("%s: a move of %s reads %q", when, repo, line)
		}
		was, now, ref := f[0], f[1], f[2]
		if record.IsRef(ref) { // its history begins anew at times
			continue
		}
		for _, h := range []string{was, now} {
			if h != zero && !reached[h] && (!r.withdraws || g.Git(r.t, "log", "-1", "--format=%an", h) != "Variform") {
				r.t.Errorf("%s: %s %s was at %s, which is lost", when, repo, ref, h)
			}
		}
		if strings.HasPrefix(ref, "refs/tags/") && was != zero && (now != zero || !r.deletes) {
			r.t.Errorf("%s: %s %s moved", when, repo, line)
		}
		if ref == "refs/heads/main" && i >= r.seen[repo] {
			if _, err := runGit(g.Dir, "ann", "merge-base", "--is-ancestor", was, now); err != nil {
				r.t.Errorf("%s: main of %s went back: %s: %v", when, repo, line, err)
			}
		}
	}
	r.seen[repo] = len(lines)
}

// checkPackages checks that each package has one open revision at most, that
// its revisions count from 1 without a gap, and that approvals are whole: in the
// registered branch, tagged, and with no open branch left of them.
func (r *race) checkPackages(repo, when string) {
	r.t.Helper()
	g := r.repos[repo]
	open, tags := map[string][]string{}, map[string][]int{}
	for ref := range g.Refs(r.t) {
		pkg := strings.TrimPrefix(packageOf(repo+" "+ref), repo+"/")
		switch {
		case isOpen(ref):
			open[pkg] = append(open[pkg], ref)
			if _, err := runGit(g.Dir, "ann", "merge-base", "--is-ancestor", ref, "main"); err == nil {
				r.t.Errorf("%s: %s %s was published and is still open", when, repo, ref)
			}
		case strings.HasPrefix(ref, "refs/tags/"):
			n, err := strconv.Atoi(ref[strings.LastIndex(ref, "/v")+2:])
			if err != nil {
				r.t.Fatal(err)
			}
			tags[pkg] = append(tags[pkg], n)
		}
	}
	for _, pkg := range r.packages[repo] {
		if len(open[pkg]) > 1 {
			r.t.Errorf("%s: %s/%s is open more than once: %v", when, repo, pkg, open[pkg])
		}
		slices.Sort(tags[pkg])
		for i, n := range tags[pkg] {
			if n != i+1 {
				r.t.Errorf("%s: revisions of %s/%s: %v", when, repo, pkg, tags[pkg])
				break
			}
		}
		r.checkApproved(repo, pkg, len(tags[pkg]), when)
	}
}

// checkApproved checks that the registered branch holds the latest revision,
// and that it has as many approvals of the package as there are tags.
func (r *race) checkApproved(repo, pkg string, latest int, when string) {
	r.t.Helper()
	g := r.repos[repo]
	approvals := strings.Fields(g.Git(r.t, "log", "--first-parent", "--format=%H", "--grep=^Approve "+pkg+"/v", "main"))
	if len(approvals) != latest {
		r.t.Errorf("%s: main of %s has %d approvals of %s, and there are %d tags", when, repo, len(approvals), pkg, latest)
	}
	if latest == 0 {
		return
	}
	tag := fmt.Sprintf("refs/tags/%s/v%d", pkg, latest)
	if is, of := g.Git(r.t, "rev-parse", "main:"+pkg), g.Git(r.t, "rev-parse", tag+":"+pkg); is != of {
		r.t.Errorf("%s: main of %s holds something else in %s than %s", when, repo, pkg, tag)
	}
	if got := g.Git(r.t, "rev-parse", tag+"^{commit}"); approvals[0] != got {
		r.t.Errorf("%s: %s of %s is at %s, approved was %s", when, tag, repo, got, approvals[0])
	}
}
