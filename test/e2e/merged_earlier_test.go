package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
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

// A person squashes a Draft's commits, or these and what is below, so that one commit has both
// messages, in either order; it is merged, and may go on. What was merged is Published as made
// of what the Draft was: nothing of it is a person's edit, and its next update knows its base.
func TestSquashedWithWhatIsBelow(t *testing.T) {
	t.Parallel()
	for _, newestFirst := range []bool{false, true} {
		for name, merge := range map[string]func(w *world, messages ...string){
			"on its branch":      (*world).squashBranch,
			"on main":            (*world).squashOntoMain,
			"what was redrafted": (*world).squashOntoMain,
		} {
			t.Run(fmt.Sprintf("%s, newest first: %t", name, newestFirst), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "c1")
				w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
				w.mustApply()
				w.mustRun(0, "approve", "--all")
				below := "main"
				if name == "what was redrafted" {
					below = squashedDraft + "^"
					w.publishWeb(webV1, "v3")
					w.write("variants/web.yaml", variantOf("web", "v3", "c1", "web", ""))
					w.mustApply()
				}
				w.publishWeb(webV2, "v2")
				w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
				w.mustApply()
				fleet := w.repos["c1"]
				messages := []string{fleet.Git(t, "log", "-1", "--format=%B", below), fleet.Git(t, "log", "-1", "--format=%B", squashedDraft)}
				if newestFirst {
					slices.Reverse(messages)
				}
				merge(w, messages...)
				w.squashedIsKnown()
			})
		}
	}
}

const squashedDraft = "drafts/web/packagevariant-2"

// squashBranch makes one commit of what a Draft has, has that merged by a forge, and goes on.
func (w *world) squashBranch(messages ...string) {
	w.squash("refs/heads/"+squashedDraft, messages...)
	w.forgeMerge("c1", squashedDraft, "squash", false)
	w.repos["c1"].Commit(w.t, squashedDraft, "more", gittest.Text{"web/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"})
}

// squashOntoMain has the Draft in one commit of main, and its branch gone.
func (w *world) squashOntoMain(messages ...string) {
	w.squash("refs/heads/main", messages...)
	w.repos["c1"].Git(w.t, "branch", "-D", squashedDraft)
}

// squash brings a ref to one commit upon main of what the Draft has.
func (w *world) squash(ref string, messages ...string) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "clone")
	gittest.Run(w.t, w.dir, nil, "clone", "-q", "-b", squashedDraft, w.repos["c1"].Dir, dir)
	gittest.Run(w.t, dir, nil, "reset", "-q", "--soft", "origin/main")
	gittest.Run(w.t, dir, nil, "commit", "-qm", strings.Join(messages, "\n\n"))
	gittest.Run(w.t, dir, nil, "push", "-qf", "origin", "HEAD:"+ref)
}

// squashedIsKnown holds of what was squashed that it is Published as the machine made it.
func (w *world) squashedIsKnown() {
	w.t.Helper()
	fleet := w.repos["c1"]
	merged := fleet.Git(w.t, "rev-parse", "main")
	w.lacks(w.mustApply().out, "base unknown", `"lost"`)
	if at := fleet.AllRefs(w.t)["refs/tags/web/v2"]; at != merged {
		w.t.Errorf("v2 is %q, what was merged is %s", at, merged)
	}
	known := func() {
		w.t.Helper()
		for _, r := range w.edits() {
			for _, e := range r.Edits {
				if e.File != "more.yaml" {
					w.t.Errorf("what upstream changed is an edit of %s by %q: %+v", r.Revision, e.By, e)
				}
			}
		}
		w.mustRun(0, "record", "check")
		w.contains(w.mustRun(0, "blame", "web", "Deployment/web:spec.template.spec.containers[name=web].image").out, "catalog/web@web/v2 deployment.yaml:13")
	}
	known()
	w.publishWeb(web("2.1", "100m", "info"), "v4")
	w.write("variants/web.yaml", variantOf("web", "v4", "c1", "web", ""))
	w.lacks(w.mustApply().out, "base unknown", `"lost"`)
	w.contains(w.mustRun(0, "review").out, "image of Deployment web 2.0 → 2.1")
	w.lacks(w.mustRun(0, "review").out, "base unknown", "lost")
}
