package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/internal/gittest"
)

// A Draft that is merged on the forge while a run updates it: what came to the branch is
// what its earlier commit made, and no edit of what the later one did.
func TestMergedBeforeItsUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	set := webSet + `      template:
        pipeline:
          mutators:
            - image: ghcr.io/kptdev/krm-functions-catalog/set-annotations:v0.1
              configMap: {team: blue}
`
	w.write("sets/web.yaml", set)
	w.mustApply()
	c1 := w.repos["c1"]
	made := w.refs()["c1 "+draft1]
	w.write("sets/web.yaml", strings.Replace(set, "  name: web\n", "  name: other\n", 1)) // and with it its functions
	w.mustApply()
	main, tree := c1.Git(t, "rev-parse", "main"), c1.Git(t, "rev-parse", made+"^{tree}")
	merge := c1.Git(t, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit-tree", "-p", main, "-p", made, "-m", "Merge request", tree)
	c1.Git(t, "update-ref", "refs/heads/main", merge)

	p := w.mustApply()
	if v := p.variant(t, "c1/web"); len(v.Conflicts) > 0 {
		t.Errorf("conflicts: %q", v.Conflicts)
	}
	kptfile := w.show("c1", "drafts/web/packagevariant-2", "web/Kptfile")
	w.contains(kptfile, "name: PackageVariant.other-c1-web..0")
	if strings.Count(kptfile, "set-annotations") != 1 {
		t.Errorf("its function runs twice:\n%s", kptfile)
	}
	w.contains(w.mustRun(0, "edits").out, "0 edits in 0 revisions")
}

// A person squashes a Draft with what is below it, so that one commit has both messages; it is
// merged, and the Draft goes on: what was merged is Published all the same.
func TestSquashedWithWhatIsBelow(t *testing.T) {
	t.Parallel()
	for _, newestFirst := range []bool{false, true} {
		t.Run(fmt.Sprintf("newest first: %t", newestFirst), func(t *testing.T) { squashedWithWhatIsBelow(t, newestFirst) })
	}
}

func squashedWithWhatIsBelow(t *testing.T, newestFirst bool) {
	w := newWorld(t, "c1")
	w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	branch, fleet := "drafts/web/packagevariant-2", w.repos["c1"]
	messages := []string{fleet.Git(t, "log", "-1", "--format=%B", "main"), fleet.Git(t, "log", "-1", "--format=%B", branch)}
	if newestFirst {
		slices.Reverse(messages)
	}
	dir := filepath.Join(t.TempDir(), "clone")
	gittest.Run(t, w.dir, nil, "clone", "-q", "-b", branch, fleet.Dir, dir)
	gittest.Run(t, dir, nil, "reset", "-q", "--soft", "origin/main")
	gittest.Run(t, dir, nil, "commit", "-qm", strings.Join(messages, "\n\n"))
	gittest.Run(t, dir, nil, "push", "-qf", "origin", "HEAD:"+branch)
	w.forgeMerge("c1", branch, "squash", false)
	merged := fleet.Git(t, "rev-parse", "main")
	fleet.Commit(t, branch, "more", gittest.Text{"web/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"})
	w.mustApply()
	if at := fleet.AllRefs(t)["refs/tags/web/v2"]; at != merged {
		t.Errorf("v2 is %q, what was merged is %s", at, merged)
	}
}
