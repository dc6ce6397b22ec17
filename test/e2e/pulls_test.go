package e2e

import (
	"strings"
	"testing"
)

// Where no forge is told, nothing is opened and nothing pushed, and that is said
// once; what cannot be meant is refused first. The rest is test/forge's.
func TestPullRequestsWithoutAForge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/one.yaml", listSet("one", "web", "v1", "c1", "web"))
	w.write("sets/two.yaml", listSet("two", "web", "v1", "c2", "web"))
	w.mustApply()
	before := w.refs()
	r := w.mustRun(1, "propose", "--all", "--pull-requests")
	if n := strings.Count(r.err, "set the annotation variform.dev/forge"); n != 1 || !strings.Contains(r.err, "c1, c2: its Repository does not say") {
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
