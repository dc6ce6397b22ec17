package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// twice publishes v1 and v2 of web, v1 with an edit of a person's.
func (w *world) twice() {
	w.t.Helper()
	w.publishWeb(webV2, "v2")
	for _, v := range []string{"v1", "v2"} {
		w.write("v.yaml", variantOf("web", v, "c1", "web", ""))
		w.mustApply()
		if v == "v1" {
			w.edit("c1", "drafts/web/packagevariant-1", "web/settings.yaml", "level: info", "level: debug")
			w.approveSeen()
			continue
		}
		w.mustRun(0, "approve", "--all")
	}
}

// tree is what a commit holds of web.
func (w *world) tree(commit string) string {
	w.t.Helper()
	return w.repos["c1"].Git(w.t, "rev-parse", commit+":web")
}

// A revert makes a Draft of what an earlier revision held, for people to review and
// approve. No run undoes it, until what it took back changes or somebody asks.
func TestRevert(t *testing.T) {
	t.Parallel()
	const draft = "refs/heads/drafts/web/packagevariant-3"
	for name, next := range map[string]func(w *world) planned{
		"retried": func(w *world) planned { return w.mustApply("--retry", "web") },
		"the next version": func(w *world) planned {
			w.publishWeb(webCPU, "v3")
			w.write("v.yaml", variantOf("web", "v3", "c1", "web", ""))
			return w.mustApply()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.twice()
			w.contains(w.mustRun(0, "revert", "web", "v1").out, "c1/web", "Draft packagevariant-3 sets it back to v1")
			if w.tree(draft) != w.tree("web/v1") {
				t.Error("the Draft is not what v1 was")
			}
			before := w.refs()
			w.contains(w.mustRun(0, "revert", "c1/web", "v1").out, "sets it back to v1 by", "already")
			for _, p := range []planned{w.plan("--exit-code"), w.mustApply(), w.mustApply("--cache-dir", t.TempDir())} {
				w.wantActions(p, all("wait", "c1/web"))
				w.contains(p.out, "sets it back to v1 by ", "approve it, or discard it", "--retry c1/web")
			}
			w.contains(w.mustRun(0, "review").out, "web:1.0")
			w.mustRun(0, "record", "check")
			w.unchanged(before)

			w.contains(w.mustRun(0, "approve", "web").out, "Published v3")
			if w.tree("main") != w.tree("web/v1") || w.tree("web/v3") != w.tree("web/v1") {
				t.Error("main is not what v1 was")
			}
			w.contains(w.repos["c1"].Git(t, "log", "-1", "--format=%B", "main"), "Variform-Hydrated: ") // the next update starts from it
			before = w.refs()
			for _, p := range []planned{w.mustApply(), w.mustApply("--cache-dir", t.TempDir())} {
				w.wantActions(p, all("wait", "c1/web"))
				w.contains(p.out, "set back to v1 by ", "apply --retry c1/web drafts what was set back again")
			}
			w.contains(w.mustRun(0, "status").out, "set back to v1")
			w.contains(w.mustRun(0, "revert", "c1/web", "v1").out, "v3, the latest Published, is that already")
			w.mustRun(0, "record", "check")
			w.unchanged(before)

			p := next(w)
			w.wantActions(p, all("redraft", "c1/web"))
			if v := p.variant(t, "c1/web"); len(v.Conflicts) > 0 {
				t.Errorf("conflicts %v", v.Conflicts)
			}
			w.contains(w.show("c1", "refs/heads/drafts/web/packagevariant-4", "web/deployment.yaml"), "web:2.0")
			w.contains(w.show("c1", "refs/heads/drafts/web/packagevariant-4", "web/settings.yaml"), "level: debug")
			before = w.refs()
			w.mustApply()
			w.unchanged(before)
			w.mustRun(0, "approve", "--all")
			w.wantActions(w.mustApply(), map[string]string{})
		})
	}
}

// Where something came after the Draft of a revert, or beside it, a way leads on.
func TestRevertBeside(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after func(w *world)
		again         bool   // it has to be asked for once more
		refused       string // by approve
	}{
		"a hotfix came before": {before: func(w *world) { w.edit("c1", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 900m") }},
		"a hotfix came after": {
			after:   func(w *world) { w.edit("c1", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 900m") },
			refused: "branch main holds changes in web", again: true,
		},
		"it was deleted on main": {before: func(w *world) {
			w.repos["c1"].Commit(w.t, "main", "away", gittest.Files{{Path: "web", Mode: gittest.Deleted}})
		}},
		"the upstream moved on": {after: func(w *world) {
			w.publishWeb(webCPU, "v3")
			w.write("v.yaml", variantOf("web", "v3", "c1", "web", ""))
			w.mustApply()
		}},
		"an open Draft": {before: func(w *world) {
			w.publishWeb(webCPU, "v3")
			w.write("v.yaml", variantOf("web", "v3", "c1", "web", ""))
			w.mustApply()
		}},
		"another revert": {after: func(w *world) {
			w.mustRun(0, "revert", "web", "v2")
			w.wantActions(w.mustApply(), all("wait", "c1/web"))
		}, again: true},
		"edited by hand": {after: func(w *world) {
			w.edit("c1", "drafts/web/packagevariant-3", "web/deployment.yaml", "cpu: 100m", "cpu: 900m")
			w.contains(w.mustRun(1, "revert", "web", "v1").out, "was edited by hand by Ann Tester (", "or, to lose the edit, discard it first")
			w.contains(w.mustRun(1, "approve", "web").out, "was edited by hand", "--retry")
			w.mustRun(0, "discard", "web", "--reason", "not so")
		}, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.twice()
			if tt.before != nil {
				tt.before(w)
			}
			w.mustRun(0, "revert", "web", "v1")
			if tt.after != nil {
				tt.after(w)
			}
			approve := func(status int) string {
				for _, ref := range w.refNames("c1") {
					if ws, ok := strings.CutPrefix(ref, "refs/heads/drafts/web/"); ok && strings.Contains(w.repos["c1"].Git(t, "log", "-1", "--format=%B", ref), "Variform-Reverts: v1 by ") {
						return w.mustRun(status, "approve", "c1.web."+ws).out
					}
				}
				return ""
			}
			if tt.refused != "" {
				w.contains(approve(1), tt.refused)
			}
			if tt.again {
				w.mustRun(0, "revert", "web", "v1")
			}
			w.contains(approve(0), "Published v3")
			if w.tree("main") != w.tree("web/v1") {
				t.Error("main is not what v1 was")
			}
			w.mustApply()
			before := w.refs()
			w.mustApply()
			w.unchanged(before)
		})
	}
}

// A Draft of a revert may be merged on a forge, too, in any style, and its branch
// kept or deleted: the package stays set back like one that was approved.
func TestRevertMergedOnAForge(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"merge", "squash", "rebase", "fast-forward"} {
		for _, kept := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, branch kept %t", style, kept), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "c1")
				w.twice()
				w.mustRun(0, "revert", "web", "v1")
				if style != "fast-forward" {
					w.repos["c1"].Commit(t, "main", "beside it", gittest.Text{"other.txt": "x\n"})
				}
				w.forgeMerge("c1", "drafts/web/packagevariant-3", style, !kept)
				w.contains(w.mustApply().out, "becomes v3", "set back to v1 by ", "apply --retry c1/web drafts what was set back again")
				if w.tree("web/v3") != w.tree("web/v1") {
					t.Error("v3 is not what v1 was")
				}
				before := w.refs()
				for _, p := range []planned{w.mustApply(), w.mustApply("--cache-dir", t.TempDir())} {
					w.wantActions(p, all("wait", "c1/web"))
					w.contains(p.out, "set back to v1 by ", "apply --retry c1/web drafts what was set back again")
				}
				w.mustRun(0, "record", "check")
				w.unchanged(before)
				w.publishWeb(webCPU, "v3")
				w.write("v.yaml", variantOf("web", "v3", "c1", "web", ""))
				v := w.mustApply().variant(t, "c1/web")
				if v.Action != "redraft" || len(v.Conflicts) > 0 {
					t.Fatalf("%+v", v)
				}
				w.contains(w.show("c1", v.Ref, "web/settings.yaml"), "level: debug")
				w.contains(w.show("c1", v.Ref, "web/deployment.yaml"), "cpu: 300m", "web:2.0")
				before = w.refs()
				w.mustApply()
				w.unchanged(before)
				w.contains(w.mustRun(0, "approve", "--all").out, "Published v4")
				w.wantActions(w.mustApply(), map[string]string{})
			})
		}
	}
}

func TestRevertRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.twice()
	w.write("other.yaml", variantOf("other", "v1", "c1", "other", ""))
	for _, c := range []struct {
		status int
		args   string
		says   string
	}{
		{2, "revert web", "give a name and a Published revision"},
		{2, "revert web now", "is no Published revision"},
		{2, "revert web v0", "is no Published revision"},
		{2, "revert nosuch v1", "nothing is called"},
		{1, "revert web v7", "it has no v7: there are v1, v2"},
		{1, "revert other v1", "no revision of it is Published"},
		{0, "revert web v2", "v2, the latest Published, is that already"},
	} {
		before := w.refs()
		r := w.mustRun(c.status, strings.Fields(c.args)...)
		w.contains(r.out+r.err, c.says)
		w.unchanged(before)
	}
	w.mustRun(0, "hold", "web", "--reason", "not now")
	w.contains(w.mustRun(1, "revert", "web", "v1").out, "held by ", "variform hold --off c1/web")
}

// What the branch was set back to the record knows, also where the tag has gone.
func TestSetBackByTheRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.twice()
	files := gittest.Files{{Path: "web/policy.yaml", Mode: gittest.Deleted}}
	for _, f := range []string{"Kptfile", "deployment.yaml"} {
		files = append(files, gittest.File{Path: "web/" + f, Data: []byte(w.show("c1", "web/v1", "web/"+f))})
	}
	w.repos["c1"].Git(t, "tag", "-d", "web/v1")
	w.repos["c1"].Commit(t, "main", "take it back", files)
	w.contains(w.mustApply().out, "set back to v1 on main by ", "--retry")
	p := w.mustApply("--retry", "web")
	w.wantActions(p, all("redraft", "c1/web"))
	if v := p.variant(t, "c1/web"); len(v.Conflicts) > 0 {
		t.Error(v.Conflicts)
	}
	w.contains(w.show("c1", "refs/heads/drafts/web/packagevariant-3", "web/settings.yaml"), "level: debug")
	w.contains(w.show("c1", "refs/heads/drafts/web/packagevariant-3", "web/deployment.yaml"), "web:2.0")
}

// A revision of which it is not known what the machine made, as of a folder that was
// adopted, can be set back to like any other.
func TestRevertToWhatWasAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.repos["c1"].Commit(t, "main", "mine", web("1.0", "700m", "info"))
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", "  adoptionPolicy: adoptExisting\n"))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.mustRun(0, "revert", "web", "v1")
	w.mustApply()
	w.contains(w.mustRun(0, "approve", "--all").out, "Published v3")
	w.lacks(w.show("c1", "main", "web/Kptfile"), "upstreamLock")
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
}

// Where the branch moves beside a Draft that sets a package back, apply says what
// leads on.
func TestRevertBesideAHotfix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.mustRun(0, "revert", "web", "v1")
	w.edit("c1", "main", "web/settings.yaml", "level: info", "level: warn")
	w.mustRun(1, "approve", "--all")
	w.contains(w.mustApply().out, "main moved since: run revert c1/web v1 again")
	w.mustRun(0, "revert", "c1/web", "v1")
	w.contains(w.mustRun(0, "approve", "--all").out, "Published v3")
}

// What a person took back no activation publishes again: the next Draft waits for one
// of them, whether it is retried or its inputs are others.
func TestRevertIsNotUndoneUnattended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("installations/c1.yaml", installation("auto", "c1", "  activation: Automatic\n"))
	w.publishWeb(webV2, "v2")
	w.publishWeb(webCPU, "v3")
	want := func(version string) planned {
		w.write("v.yaml", variantOf("web", version, "c1", "web", ""))
		return w.mustApply()
	}
	want("v1")
	want("v2")
	w.mustRun(0, "revert", "web", "v1")
	w.mustRun(0, "approve", "c1/web")
	main := w.refs()["c1 refs/heads/main"]
	p := want("v3")
	w.wantActions(p, all("redraft", "c1/web"))
	w.contains(p.out, "brings what was taken back with it", "activation is Automatic, but it brings back what people took back: review and approve it")
	w.wantActions(w.mustApply(), all("wait", "c1/web"))
	if got := w.refs()["c1 refs/heads/main"]; got != main {
		t.Error("it was published")
	}
	w.mustRun(0, "approve", "c1/web")
	w.publishWeb(webV2, "v4")
	w.wantActions(want("v4"), all("redraft", "c1/web"))
	if got := w.refs()["c1 refs/tags/web/v5"]; got == "" {
		t.Error("what comes after a person's approval waits as well")
	}
}

// A Draft that sets a package back to what its inputs make now is gone on with by
// apply --retry, edited by hand or not, though nothing of it changes but what it is.
func TestRetriedRevertToWhatIsWanted(t *testing.T) {
	t.Parallel()
	for _, edited := range []bool{false, true} {
		w := newWorld(t, "c1")
		w.twice()
		w.mustRun(0, "revert", "web", "v1")
		w.mustRun(0, "approve", "web")
		w.mustRun(0, "revert", "web", "v2")
		if edited {
			w.edit("c1", "drafts/web/packagevariant-4", "web/deployment.yaml", "cpu: 100m", "cpu: 900m")
		}
		w.contains(w.mustApply().out, "sets it back to v2 by ", "apply --retry c1/web drafts the variant as it is now instead")
		w.wantActions(w.mustApply("--retry", "c1/web"), all("update", "c1/web"))
		before := w.refs()
		w.wantActions(w.mustApply(), map[string]string{})
		w.unchanged(before)
		if got := w.repos["c1"].Git(t, "log", "-1", "--format=%B", "drafts/web/packagevariant-4"); strings.Contains(got, "Variform-Reverts") {
			t.Errorf("it sets the package back still:\n%s", got)
		}
		w.approveSeen()
		w.contains(w.show("c1", "main", "web/deployment.yaml"), map[bool]string{true: "cpu: 900m", false: "cpu: 100m"}[edited])
		w.wantActions(w.mustApply(), map[string]string{})
	}
}

var hydrated = regexp.MustCompile(`(?m)^Variform-Hydrated: .*$`)

// A Draft that claims to set its package back, and holds more, is no revert: status tells it, and
// approve refuses it but by the class that shows the rest.
func TestForgedRevert(t *testing.T) {
	t.Parallel()
	const draft = "drafts/web/packagevariant-3"
	w := newWorld(t, "c1")
	w.twice()
	w.mustRun(0, "revert", "web", "v1")
	text := strings.Replace(w.show("c1", draft, "web/deployment.yaml"), "web:1.0", "web:forged", 1)
	g := w.repos["c1"]
	was, tree := g.Git(t, "rev-parse", draft), g.Git(t, "rev-parse", draft+":web")
	w.forge("c1", draft, gittest.Text{"web/deployment.yaml": text}, func(message string) string {
		return hydrated.ReplaceAllString(message, "Variform-Hydrated: "+g.Git(t, "rev-parse", draft+":web"))
	})
	w.forgeRecord(was, g.Git(t, "rev-parse", draft))
	w.forgeRecord(tree, g.Git(t, "rev-parse", draft+":web"))
	w.contains(w.mustRun(0, "status").out, "it says that it sets the package back to v1", "differs from that in deployment.yaml")
	w.contains(w.mustRun(0, "review").out, "web:forged")
	before := w.refs()
	r := w.mustRun(1, "approve", "web")
	w.contains(r.out+r.err, "it holds edits in deployment.yaml")
	w.unchanged(before)
}
