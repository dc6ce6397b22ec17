package e2e

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/gittest"
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
	w.contains(r.out, "c1", "#1", "2 packages: ", "opened")
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

	git.Commit(t, head, "beside", gittest.Text{"NOTES": "x\n"})
	before := w.refs()
	w.contains(w.mustRun(0, "propose", "--all", "--pull-requests").err, "what Ann Tester (", "is left there, since NOTES is outside of its packages")
	if p := w.mustApply(); len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "NOTES is outside of its packages") {
		t.Errorf("%v", p.Warnings)
	}
	w.mustRun(0, "plan")
	w.unchanged(before)
}
