package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// Where there is no forge, nothing is opened and nothing pushed, and that is said;
// what cannot be meant is refused first. The rest is test/forge's.
func TestPullRequestsWithoutAForge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/one.yaml", listSet("one", "web", "v1", "c1", "web"))
	w.write("sets/two.yaml", listSet("two", "web", "v1", "c2", "web"))
	w.mustApply()
	before := w.refs()
	r := w.mustRun(1, "propose", "--all", "--pull-requests")
	if n := strings.Count(r.err, ".git is on no forge"); n != 2 {
		t.Errorf("said %d times:\n%s", n, r.err)
	}
	for _, args := range [][]string{
		{"--all", "--pull-requests=bad"}, {"--pull-requests"}, {"--class", "0123456789ab@01234567", "--pull-requests"}, {"nothing", "--pull-requests"},
	} {
		w.mustRun(2, append([]string{"propose"}, args...)...)
	}
	w.unchanged(before)
}

// No request asks for what nobody can approve; that is said, whatever the forge does.
func TestPullRequestsLeaveWhatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.draftWithSetter()
	w.edit("c1", "drafts/web/packagevariant-1", "web/cm.yaml", "a: good", "a: bad")
	w.apply()
	before := w.refs()
	w.contains(w.mustRun(1, "propose", "--all", "--pull-requests").out, "c1/web", "left as it is: it fails: rendering web")
	w.unchanged(before)
}

// Where a Repository says how its Drafts are reviewed, apply keeps the requests, as
// propose does; where none says it, it makes none. A forge that fails is told, what
// was pushed is there, and the next run goes on.
func TestApplyKeepsRequests(t *testing.T) {
	w, f := newForgeWorld(t, "    variform.dev/review: class\n", "c1")
	w.write("set.yaml", listSet("s", "web", "v1", "c1", "a", "b"))
	f.refuse = func(*http.Request) int { return http.StatusBadGateway }
	p := w.apply()
	w.wantActions(p, all("create", "c1/a", "c1/b"))
	if p.status != 1 || !strings.Contains(p.err, "error: c1: GET ") || !strings.Contains(p.err, "1 problem with pull requests: what was pushed is there, and the next run goes on") {
		t.Fatalf("status %d\n%s", p.status, p.err)
	}
	f.refuse = nil
	r := w.mustRun(0, "apply")
	w.contains(r.out, "c1", "#1", " and 1 more)", "opened")
	heads := slices.Collect(maps.Keys(f.open("c1")))
	if len(heads) != 1 || !strings.HasPrefix(heads[0], "variform/variform/") {
		t.Fatalf("%v", heads)
	}
	f.wrote()
	before := w.refs()
	for _, out := range []string{w.mustRun(0, "apply").out, w.mustRun(0, "propose", "--all", "--pull-requests").out, w.mustRun(0, "apply").out} {
		if wrote := f.wrote(); len(wrote) > 0 || strings.Contains(out, "opened") {
			t.Errorf("a run with nothing to do: %v\n%s", wrote, out)
		}
	}
	w.unchanged(before)
	r = w.mustRun(1, "propose", "--all", "--pull-requests=variant")
	w.contains(r.err, "its Repository says variform.dev/review: class, and apply would make its requests so again")

	w.publishWeb(webV2, "v2")
	w.write("set.yaml", listSet("s", "web", "v2", "c1", "a", "b"))
	w.contains(w.mustRun(0, "apply").out, "#1", "updated")
	w.contains(w.mustRun(0, "propose", "c1/a", "--pull-requests").out, "#1", "left as it is: it asks for more than what was named: name b as well")
	f.change("c1", 1, func(r *request) { r.State = "closed" })
	r = w.mustRun(0, "apply", "--rerender", "c1/a")
	w.contains(r.out, "left as it is: it was closed")
	w.mustRun(0, "apply", "--only", "c1/a") // which does not ask for it
	w.contains(w.mustRun(0, "propose", "c1/a", "--pull-requests").out, "#2", "opened")
	w.write("set.yaml", listSet("s", "web", "v1", "c1", "a"))
	if p := w.mustApply("--prune"); !strings.Contains(p.out, `"action": "update"`) {
		t.Errorf("%s", p.out)
	}

	f.annotate("c1", "")
	f.wrote()
	w.publishWeb(webCPU, "v3")
	w.write("set.yaml", listSet("s", "web", "v3", "c1", "a"))
	w.mustApply()
	if wrote := f.wrote(); len(wrote) > 0 {
		t.Errorf("nobody asked for that: %v", wrote)
	}
	f.annotate("c1", "    variform.dev/review: klass\n")
	p = w.apply()
	if p.status != 1 || !strings.Contains(strings.Join(p.Problems, "\n"), "repositories/c1.yaml:6: annotation variform.dev/review can only be class, variant, repository") {
		t.Errorf("status %d: %v", p.status, p.Problems)
	}
}

// Status says where a Draft's request is, and that it was turned down; a forge that
// does not answer is a warning, and one of a fleet that keeps none is not asked.
func TestStatusOfRequests(t *testing.T) {
	w, f := newForgeWorld(t, "    variform.dev/review: class\n", "c1")
	w.write("set.yaml", listSet("s", "web", "v1", "c1", "a", "b"))
	w.mustApply()
	says := func(want string) {
		t.Helper()
		for line := range strings.Lines(w.mustRun(0, "status").out) {
			if strings.HasPrefix(line, "c1/") {
				w.contains(line, want)
			}
		}
	}
	says("request " + f.requests["c1"][0].HTMLURL + " waits for its review")
	w.contains(w.mustRun(0, "status", "-o", "yaml").out, " waits for its review")
	f.change("c1", 1, func(r *request) { r.State = "closed" })
	says("turned down: request " + f.requests["c1"][0].HTMLURL + " was closed; propose NAME --pull-requests opens another")
	f.refuse = func(*http.Request) int { return http.StatusBadGateway }
	w.contains(w.mustRun(0, "status").err, "warning: c1: its pull requests are not known: GET ")
	f.annotate("c1", "")
	w.lacks(w.mustRun(0, "status").err, "warning")
}

// Somebody deletes the branch of an open request: status reports it, the next run
// creates the branch again with the same commit, and the one after it does nothing.
func TestRequestWithoutItsBranch(t *testing.T) {
	w, f := newForgeWorld(t, "    variform.dev/review: class\n", "c1")
	w.write("set.yaml", listSet("s", "web", "v1", "c1", "a", "b"))
	w.mustApply()
	before := w.refs()
	head := f.requests["c1"][0].Head.Ref
	w.repos["c1"].Git(t, "update-ref", "-d", "refs/heads/"+head)
	w.contains(w.mustRun(0, "status").out, "lost its branch "+head+": apply creates it again")
	f.wrote()
	w.mustRun(0, "apply")
	w.unchanged(before)
	w.contains(w.mustRun(0, "status").out, " waits for its review")
	f.wrote()
	w.mustRun(0, "apply")
	if wrote := f.wrote(); len(wrote) > 0 {
		t.Errorf("the run after it wrote %v", wrote)
	}
}

// What was turned down stays so, however much was closed since.
func TestTurnedDownLongAgo(t *testing.T) {
	w, f := newForgeWorld(t, "    variform.dev/review: variant\n", "c1")
	w.write("set.yaml", listSet("s", "web", "v1", "c1", "a", "b", "c", "d"))
	w.mustApply()
	if n := len(f.open("c1")); n != 4 {
		t.Fatalf("%d are open", n)
	}
	for n := range 4 {
		f.change("c1", n+1, func(r *request) { r.State = "closed" })
	}
	f.closed = 2
	f.wrote()
	w.contains(w.mustRun(0, "propose", "--all", "--pull-requests").out, "#1", "#2", "#3", "#4", "left as it is: it was closed")
	if wrote := f.wrote(); len(wrote) > 0 {
		t.Errorf("%v", wrote)
	}
}

// Repositories that are one branch are reviewed in one way.
func TestOneBranchTwoReviews(t *testing.T) {
	w, f := newForgeWorld(t, "    variform.dev/review: class\n", "c1")
	both := repository("c1", w.url("team/c1"), true, "one") + "---\n" + repository("c2", w.url("team/c1"), true, "two")
	for _, mode := range []string{"class", "variant"} {
		both = strings.Replace(both, "metadata:\n  name", "metadata:\n  annotations: {variform.dev/forge: gitea "+f.URL+", variform.dev/review: "+mode+"}\n  name", 1)
	}
	w.write("repositories/c1.yaml", both)
	w.write("sets/one.yaml", listSet("one", "web", "v1", "c1", "a"))
	w.write("sets/two.yaml", listSet("two", "web", "v1", "c2", "a"))
	r := w.mustRun(1, "apply")
	w.contains(r.err, "Repositories c1 and c2 are one branch, and are to be reviewed by class and by variant")
	if d := cmp.Diff(map[string]*request{}, f.open("c1")); d != "" {
		t.Error(d)
	}
}

// What a person commits to the head of a request comes onto its Drafts with the next
// run, is built there as any edit, and the head is made anew of them; no forge is asked
// for that. Where it cannot, it stays and that is said.
func TestCommitsOnAHead(t *testing.T) {
	w, f := newForgeWorld(t, "    variform.dev/review: class\n", "c1")
	w.write("set.yaml", listSet("s", "web", "v1", "c1", "a", "b"))
	w.mustApply()
	head := slices.Collect(maps.Keys(f.open("c1")))[0]
	git := w.repos["c1"]
	w.edit("c1", head, "a/deployment.yaml", "cpu: 100m", "cpu: 150m")
	f.annotate("c1", "    variform.dev/review: class\n    a: b\n") // what is settled is not looked at
	f.refuse = func(*http.Request) int { return http.StatusBadGateway }
	r := w.mustRun(1, "apply")
	w.contains(r.err, "Repository c1: what Ann Tester (", "committed to "+head+" is on the Drafts of a now, which the head is made of")
	if got := git.Git(t, "log", "-2", "--format=%an %s", "drafts/a/packagevariant-1"); got != "Ann Tester by hand\nVariform Clone catalog/web@web/v1 into a" {
		t.Errorf("%s", got)
	}
	if got := w.show("c1", head, "a/deployment.yaml"); !strings.Contains(got, "cpu: 150m") || git.Git(t, "log", "-1", "--format=%an", head) != "Variform" {
		t.Errorf("%s", got)
	}
	w.contains(w.mustRun(0, "edits").out, "c1/a", "Ann Tester")
	f.refuse = nil
	w.contains(w.mustRun(0, "apply").out, "#1", "updated", "#2", "opened") // they are two classes now
	if now := f.open("c1"); len(now) != 2 || now[head] == nil || !strings.Contains(now[head].Body, "members=b ") {
		t.Errorf("%+v", now)
	}
	if body := f.open("c1")[head].Body; !strings.Contains(body, "\n`1 variant of catalog/web`\n") {
		t.Errorf("what the title says is said again:\n%s", body)
	}

	git.Commit(t, head, "beside", gittest.Text{"NOTES": "x\n"})
	before := w.refs()
	w.contains(w.mustRun(0, "propose", "--all", "--pull-requests").err, "what Ann Tester (", "is left there, since NOTES is outside of its packages")
	if p := w.mustApply(); len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "NOTES is outside of its packages") {
		t.Errorf("%v", p.Warnings)
	}
	w.mustRun(0, "plan")
	w.unchanged(before)
}

// What a person committed to the head of a request, and merged with it before a run took it
// onto the Draft, is an edit of that Draft: what the machine made of it is known.
func TestMergedWithACommitOnItsHead(t *testing.T) {
	for _, c := range []struct{ remove, elsewhere bool }{{false, false}, {true, false}, {true, true}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			w, f := newForgeWorld(t, "    variform.dev/review: class\n", "c1")
			w.write("set.yaml", listSet("s", "web", "v1", "c1", "a", "b"))
			w.mustApply()
			head := slices.Collect(maps.Keys(f.open("c1")))[0]
			w.edit("c1", head, "a/deployment.yaml", "cpu: 100m", "cpu: 150m")
			w.forgeMerge("c1", head, "merge", true)
			git := w.repos["c1"]
			if c.remove {
				git.Git(t, "branch", "-D", "drafts/a/packagevariant-1", "drafts/b/packagevariant-1")
			}
			w.publishWeb(webV2, "v2")
			w.write("set.yaml", listSet("s", "web", "v2", "c1", "a", "b"))
			cache := []string{}
			if c.elsewhere {
				cache = []string{"--cache-dir", t.TempDir()}
			}
			r := w.mustRun(0, append([]string{"apply"}, cache...)...)
			w.lacks(r.out+r.err, "base unknown")
			draft := "drafts/a/packagevariant-2"
			w.contains(w.show("c1", draft, "a/deployment.yaml"), "cpu: 150m", "web:2.0")
			w.lacks(git.Git(t, "log", "-1", "--format=%B", draft), "base unknown")
			w.contains(w.mustRun(0, "edits").out, "c1/a", "cpu")
			before := w.refs()
			w.mustApply()
			w.unchanged(before)
		})
	}
}

// A commit on the branch whose message names a Draft, as the head of a request does, has
// nothing of that Draft: it is a hotfix, and the Draft goes on.
func TestHotfixThatNamesADraft(t *testing.T) {
	t.Parallel()
	for name, land := range map[string]func(w *world, message string, files gittest.Text){
		"a commit": func(w *world, message string, files gittest.Text) { w.repos["c1"].Commit(t, "main", message, files) },
		"a merge": func(w *world, message string, files gittest.Text) {
			w.repos["c1"].CommitFrom(t, "topic", "main", message, files)
			w.forgeMerge("c1", "topic", "merge", true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "c1")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.publishWeb(webV2, "v2")
			w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
			w.mustApply()
			g := w.repos["c1"]
			message := "Hotfix: debug until v2 is merged\n\nThe update waits in\n\nweb " + g.Git(t, "rev-parse", "drafts/web/packagevariant-2") + "\n"
			land(w, message, gittest.Text{"web/settings.yaml": strings.Replace(w.show("c1", "main", "web/settings.yaml"), "level: info", "level: debug", 1)})
			w.wantActions(w.mustApply(), all("update", "c1/web"))
			w.contains(w.show("c1", "drafts/web/packagevariant-2", "web/deployment.yaml"), "web:2.0")
			w.contains(w.show("c1", "drafts/web/packagevariant-2", "web/settings.yaml"), "level: debug")
		})
	}
}

// A hotfix on the branch after a request was merged is none of what was merged, whoever
// removed the Drafts' branches.
func TestMergedRequestThenHotfix(t *testing.T) {
	for _, style := range []string{"merge", "squash", "rebase", "fast-forward"} {
		for _, remove := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, Drafts removed: %t", style, remove), func(t *testing.T) {
				w, f := newForgeWorld(t, "    variform.dev/review: class\n", "c1")
				w.write("set.yaml", listSet("s", "web", "v1", "c1", "a", "b"))
				w.mustApply()
				w.forgeMerge("c1", slices.Collect(maps.Keys(f.open("c1")))[0], style, true)
				git := w.repos["c1"]
				if remove {
					git.Git(t, "branch", "-D", "drafts/a/packagevariant-1", "drafts/b/packagevariant-1")
				}
				merged := git.Git(t, "rev-parse", "main:a")
				w.edit("c1", "main", "a/settings.yaml", "level: info", "level: debug")
				w.mustRun(0, "apply")
				if got := git.Git(t, "rev-parse", "a/v1:a"); got != merged {
					t.Errorf("a/v1 has %s, want %s: what was merged", got, merged)
				}
				w.contains(w.mustRun(0, "edits").out, "c1/a", "Ann Tester")
			})
		}
	}
}

// The check on a head says what approve would: it is set where it is not so already,
// says of what is behind that a run is lacking, and nothing is asked of the forge that
// the request itself tells.
func TestProofOfRequests(t *testing.T) {
	w, f := newForgeWorld(t, "    variform.dev/review: class\n", "c1")
	w.write("set.yaml", listSet("s", "web", "v1", "c1", "a", "b"))
	w.mustApply("--page-url", "https://pages.example.com/fleet")
	head := slices.Collect(maps.Keys(f.open("c1")))[0]
	want := status{Context: "variform/proof", State: "success", Description: "2 packages rendered, valid, their gates met", TargetURL: "https://pages.example.com/fleet"}
	if d := cmp.Diff(want, f.proof("c1", head)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	w.mustApply()
	f.wrote()

	// The inputs move, and the head does not: no run has applied them.
	w.publishWeb(webV2, "v2")
	w.write("set.yaml", listSet("s", "web", "v2", "c1", "a", "b"))
	w.mustRun(0, "propose", "--all", "--pull-requests")
	if got := f.proof("c1", head); got.State != "pending" || !strings.HasPrefix(got.Description, "1 more, and c1/a: ") || !strings.Contains(got.Description, "since this Draft was made: run apply") {
		t.Errorf("%+v", got)
	}
	if d := cmp.Diff([]string{"POST c1/statuses", "PATCH c1/pulls"}, f.wroteKinds()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	w.mustRun(0, "propose", "--all", "--pull-requests")
	if wrote := f.wrote(); len(wrote) > 0 {
		t.Errorf("it is so already: %v", wrote)
	}
	w.mustApply()
	if got := f.proof("c1", head); got.State != "success" {
		t.Errorf("%+v", got)
	}

	// A check that cannot be set is set by the next run.
	f.refuse = func(r *http.Request) int {
		if strings.Contains(r.URL.Path, "/statuses/") {
			return http.StatusForbidden
		}
		return 0
	}
	w.publishWeb(webCPU, "v3")
	w.write("set.yaml", listSet("s", "web", "v3", "c1", "a", "b"))
	if p := w.apply(); p.status != 1 || !strings.Contains(p.err, "/statuses/") {
		t.Errorf("status %d\n%s", p.status, p.err)
	}
	f.refuse = nil
	w.mustApply()
	if got := f.proof("c1", head); got.State != "success" {
		t.Errorf("%+v", got)
	}

	// What a person committed where it cannot be taken is proved by nobody.
	w.repos["c1"].Commit(t, head, "beside", gittest.Text{"NOTES": "x\n"})
	w.mustApply()
	if got := f.proof("c1", head); got.State != "failure" || !strings.Contains(got.Description, "is on no Draft") {
		t.Errorf("%+v", got)
	}
	f.wrote()
	w.mustApply()
	if wrote := f.wrote(); len(wrote) > 0 {
		t.Errorf("it is so already: %v", wrote)
	}
}

// A Draft with an unmet gate has a head that fails, and says which; what fails to
// build has one that says why, though no request asks for it.
func TestProofFails(t *testing.T) {
	w, f := newForgeWorld(t, "    variform.dev/review: variant\n", "c1")
	w.draftWithSetter()
	if got := f.proof("c1", "drafts/web/packagevariant-1"); got.State != "success" || got.Description != "1 package rendered, valid, its gates met" {
		t.Errorf("%+v", got)
	}
	w.edit("c1", "drafts/web/packagevariant-1", "web/cm.yaml", "a: good", "a: bad")
	w.apply()
	if got := f.proof("c1", "drafts/web/packagevariant-1"); got.State != "failure" || !strings.Contains(got.Description, "web: it fails: rendering web") {
		t.Errorf("%+v", got)
	}
}

// fourClasses wants n packages in one repository, whose changes are of four classes.
func (w *world) fourClasses(n int, versions ...string) {
	for c, version := range versions {
		var names []string
		for i := range n / len(versions) {
			names = append(names, fmt.Sprintf("p%d-%d", c, i))
		}
		template := fmt.Sprintf("      template: {packageContext: {data: {class%d: \"yes\"}}}\n", c)
		w.write(fmt.Sprintf("sets/%d.yaml", c), listSet(fmt.Sprintf("s%d", c), "web", version, "c1", names...)+template)
	}
}

// What a request holds makes no difference to what it costs to open it and to keep it.
// A run writes no more than it may, and the next goes on.
func TestWritesOfRequests(t *testing.T) {
	w, f := newForgeWorld(t, "", "c1")
	propose := func(args ...string) (r result, api, all int) {
		t.Helper()
		pushes := w.srv.Count(gittest.Push)
		r = w.mustRun(0, append([]string{"propose", "--all", "--pull-requests"}, args...)...)
		api = len(f.wrote())
		return r, api, api + w.srv.Count(gittest.Push) - pushes
	}
	const n = 300
	w.fourClasses(n, "v1", "v1", "v1", "v1")
	w.mustApply()
	runs := 0
	for later := true; later; runs++ {
		r, _, all := propose("--max-writes", "5")
		if later = strings.Contains(r.err, "left for the next run: --max-writes is 5"); all > 5 {
			t.Errorf("%d writes", all)
		}
	}
	if got := len(f.open("c1")); got != 4 || runs != 2 {
		t.Errorf("%d are open after %d runs", got, runs)
	}
	for _, r := range f.open("c1") {
		f.change("c1", r.Number, func(r *request) { r.State, r.Merged = "closed", true })
	}
	f.mu.Lock()
	f.statuses = map[string]status{}
	f.mu.Unlock()
	w.mustRun(0, "propose", "--all", "--pull-requests=repository") // so that heads go
	for _, r := range f.open("c1") {
		f.change("c1", r.Number, func(r *request) { r.State, r.Merged = "closed", true })
	}
	f.wrote()
	if _, _, all := propose(); len(f.open("c1")) != 4 || all > 20 {
		t.Errorf("%d writes for opening %d", all, len(f.open("c1")))
	}
	if _, _, all := propose(); all != 0 {
		t.Errorf("%d writes for nothing", all)
	}
	w.publishWeb(webV2, "v2")
	w.fourClasses(n, "v2", "v1", "v1", "v1")
	w.mustApply()
	if _, api, all := propose(); api != 2 || all != 3 {
		t.Errorf("%d writes for one changed class, %d with the push", api, all)
	}
	w.fourClasses(n, "v2", "v2", "v2", "v2")
	w.mustApply()
	if _, api, all := propose(); api != 6 || all != 7 {
		t.Errorf("%d writes for three changed classes, %d with the push", api, all)
	}
	for _, bad := range []string{"1", "3", "-1"} {
		w.contains(w.mustRun(2, "apply", "--max-writes", bad).err, "--max-writes "+bad+": give 4 or more")
	}
}

// manyClasses has n classes of two packages each.
func (w *world) manyClasses(n int, version string) {
	for i := range n {
		template := fmt.Sprintf("      template: {packageContext: {data: {class%d: \"yes\"}}}\n", i)
		w.write(fmt.Sprintf("sets/%d.yaml", i), listSet(fmt.Sprintf("s%d", i), "web", version, "c1", fmt.Sprintf("p%d-a", i), fmt.Sprintf("p%d-b", i))+template)
	}
}

// fetches counts those of a command of a machine that has read nothing.
func (w *world) fetches(args ...string) int {
	w.t.Helper()
	w.srv.ResetCounts()
	w.mustRun(0, append(args, "--cache-dir", w.t.TempDir())...)
	return w.srv.Count(gittest.Fetch)
}

// Heads of many requests are made, and read, in as many requests to their repository as
// those of few.
func TestReadsOfManyHeads(t *testing.T) {
	w, f := newForgeWorld(t, "    variform.dev/review: class\n", "c1")
	const n = 12
	at := func(when string, most int, args ...string) {
		t.Helper()
		if got := w.fetches(args...); got > most || len(f.open("c1")) != n {
			t.Errorf("%s: %d fetches for %d heads, want %d at most", when, got, len(f.open("c1")), most)
		}
	}
	w.manyClasses(n, "v1")
	at("making them", 6, "apply")
	at("nothing to do", 6, "apply")
	at("nothing to do", 6, "propose", "--all", "--pull-requests")
	w.publishWeb(webV2, "v2")
	w.manyClasses(n, "v2")
	at("an update", 9, "apply")
}

// What a fleet of 300 packages costs in each mode: opened, with one of four classes
// changed, and with nothing to do. docs/design/pull-requests.md has these.
func TestWritesByMode(t *testing.T) {
	for mode, want := range map[string][3]int{"variant": {600, 150, 0}, "class": {9, 3, 0}, "repository": {3, 3, 0}} {
		t.Run(mode, func(t *testing.T) {
			w, f := newForgeWorld(t, "", "c1")
			propose := func() int {
				pushes := w.srv.Count(gittest.Push)
				f.wrote()
				w.mustRun(0, "propose", "--all", "--pull-requests="+mode)
				return len(f.wrote()) + w.srv.Count(gittest.Push) - pushes
			}
			var got [3]int
			w.fourClasses(300, "v1", "v1", "v1", "v1")
			w.mustApply()
			got[0] = propose()
			w.publishWeb(webV2, "v2")
			w.fourClasses(300, "v2", "v1", "v1", "v1")
			w.mustApply()
			got[1] = propose()
			got[2] = propose()
			if got != want {
				t.Errorf("opened, changed, and nothing to do: %v, want %v", got, want)
			}
		})
	}
}

// Two runs side by side open nothing twice: the second finds it.
func TestRunsOpenOnce(t *testing.T) {
	for range 3 {
		w, f := newForgeWorld(t, "", "c1")
		w.fourClasses(8, "v1", "v1", "v1", "v1")
		w.mustApply()
		var done sync.WaitGroup
		results := make([]result, 2)
		for i := range results {
			done.Go(func() {
				results[i] = runIn(t.TempDir(), "propose", "--all", "--pull-requests", "-f", w.fleet())
			})
		}
		done.Wait()
		for _, r := range results {
			if r.status != 0 {
				t.Errorf("status %d\n%s%s", r.status, r.out, r.err)
			}
		}
		if n := len(f.requests["c1"]); n != 4 {
			t.Errorf("%d requests", n)
		}
	}
}
