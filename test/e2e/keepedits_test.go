package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// Who sees that an update overrules a hotfix, and says that edits are to be kept, gets a
// Draft with it, whatever else changed; the Draft as it was is not published meanwhile.
func TestKeepEditsAfterwards(t *testing.T) {
	const draft = "drafts/web/packagevariant-2"
	for name, c := range map[string]struct {
		edits    func(w *world) // the Draft's
		newer    bool           // a version of upstream meanwhile
		merged   bool           // the first Draft by others, and the hotfix with it
		none     bool           // there is no record
		harmless bool           // the hotfix is no conflict
		want     string
		told     string
	}{
		"nothing else":        {want: "cpu: 250m"},
		"another version":     {newer: true, want: "cpu: 250m"},
		"merged by others":    {merged: true, want: "cpu: 250m"},
		"no record":           {none: true, want: "cpu: 250m"},
		"no record, merged":   {none: true, merged: true, want: "cpu: 250m"},
		"no conflict":         {harmless: true, want: "cpu: 300m"},
		"neither":             {none: true, harmless: true, want: "cpu: 300m"},
		"edits beside it":     {edits: func(w *world) { w.edit("c1", draft, "web/settings.yaml", "level: info", "level: warn") }, want: "cpu: 250m"},
		"the same, by people": {edits: func(w *world) { w.edit("c1", draft, "web/deployment.yaml", "cpu: 300m", "cpu: 700m") }, want: "cpu: 250m", told: "branch main wins with 250m; the Draft was 700m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			if c.none {
				text := repository("c1", w.url("c1"), true, "")
				w.write("repositories/c1.yaml", strings.Replace(text, "  name: c1\n", "  name: c1\n  annotations: {variform.dev/record-ref: none}\n", 1))
			}
			w.write("sets/web.yaml", webSet)
			w.mustApply()
			hotfix := func(branch string) { w.edit("c1", branch, "web/deployment.yaml", "cpu: 100m", "cpu: 250m") }
			if c.harmless {
				hotfix = func(branch string) { w.edit("c1", branch, "web/settings.yaml", "level: info", "level: debug") }
			}
			if c.merged {
				hotfix("drafts/web/packagevariant-1")
				w.repos["c1"].Git(t, "branch", "-f", "main", "drafts/web/packagevariant-1")
				w.mustApply()
			} else {
				w.mustRun(0, "approve", "--all")
				hotfix("main")
			}
			w.publishWeb(webCPU, "v2")
			set := strings.Replace(webSet, "revision: v1", "revision: v2", 1)
			w.write("sets/web.yaml", set)
			if said := strings.Join(w.mustApply().variant(t, "c1/web").Conflicts, "\n"); !c.harmless {
				w.contains(said, "upstream wins with 300m; local was 250m")
			}
			if c.edits != nil {
				c.edits(w)
				w.mustApply()
			}
			was := w.refs()["c1 refs/heads/"+draft]

			set = strings.Replace(set, "metadata:\n", "metadata:\n  annotations: {variform.dev/on-conflict: keep}\n", 1)
			says := "edits by hand are to be kept now: run apply, review, and approve again"
			if c.newer {
				w.publishWeb(merged(webCPU, gittest.Text{"web/new.yaml": configMap("new", "a: 1")}), "v3")
				set = strings.Replace(set, "revision: v2", "revision: v3", 1)
			}
			w.write("sets/web.yaml", set)
			w.contains(w.mustRun(1, "approve", "--all").out, says)
			w.contains(strings.Join(w.mustApply().variant(t, "c1/web").Conflicts, "\n"), c.told)
			w.contains(w.show("c1", draft, "web/deployment.yaml"), c.want)
			if name == "edits beside it" {
				w.contains(w.show("c1", draft, "web/settings.yaml"), "level: warn")
			}
			if again := w.mustApply(); w.refs()["c1 refs/heads/"+draft] == was && c.edits == nil || again.variant(t, "c1/web").Action != "none" {
				t.Errorf("the Draft is as it was, or is made once more: %+v", again.variant(t, "c1/web"))
			}
			if c.told != "" { // the Draft's edit is lost to the branch's
				w.contains(w.mustRun(1, "approve", "--all").out, "loses 1 edit")
			}
			w.approveSeen()
			w.contains(w.show("c1", "main", "web/deployment.yaml"), c.want)
		})
	}
}
