package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// What people committed to main becomes a revision of its own where somebody
// approves that, at the commit that brought it; it stays an edit in what comes then.
func TestApproveMain(t *testing.T) {
	t.Parallel()
	const file, old, fixed = "web/deployment.yaml", "cpu: 100m", "cpu: 900m"
	for name, draft := range map[string]bool{"alone": false, "beside a Draft": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			update := func(revision string) {
				w.publishWeb(webV2, revision)
				w.write("variants/web.yaml", variantOf("web", revision, "c1", "web", ""))
				w.mustApply()
			}
			w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			w.contains(w.mustRun(1, "approve", "--main", "web").err, "c1/web: no local change: no revision of it is Published")
			w.mustRun(0, "approve", "--all")
			w.contains(w.mustRun(1, "approve", "--main").err, "nothing to decide: c1/web: no local change: v1 is what is on main")
			if draft {
				update("v2")
			}
			w.edit("c1", "main", file, old, fixed)
			came := w.repos["c1"].Git(t, "rev-parse", "main")
			w.repos["c1"].Commit(t, "main", "later, beside it", gittest.Text{"other.txt": "x\n"})
			before := w.refs()
			w.contains(w.mustRun(0, "approve", "--main").out, "c1/web", "Published v2")
			delete(before, "c1 refs/variform/variform")
			after := w.refs()
			if after["c1 refs/tags/web/v2"] != came {
				t.Errorf("tagged %s, want %s", after["c1 refs/tags/web/v2"], came)
			}
			delete(after, "c1 refs/tags/web/v2")
			delete(after, "c1 refs/variform/variform")
			if len(after) != len(before) {
				t.Errorf("refs %v\nwere %v", after, before)
			}
			w.contains(w.mustRun(0, "record", "show").out, "v2")
			w.mustRun(0, "record", "check")
			w.mustRun(1, "approve", "--main", "web")
			if draft {
				p := w.mustApply()
				w.wantActions(p, all("update", "c1/web"))
				w.contains(p.out, "v2 was published since")
			} else {
				w.wantActions(w.mustApply(), map[string]string{})
				w.wantActions(w.mustApply("--cache-dir", t.TempDir()), map[string]string{})
				w.contains(w.mustRun(0, "edits").out, "cpu")
				update("v3")
			}
			now := w.refs()
			w.mustApply()
			w.unchanged(now)
			w.mustRun(0, "approve", "--all")
			w.contains(w.show("c1", "refs/tags/web/v3", file), fixed, "web:2.0")
			w.mustRun(0, "record", "check")
		})
	}
}

// What a forge squashed has no commit of the machine's: whose it is the record says,
// also of what comes upon it.
func TestApproveMainUponASquash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "squash", true)
	w.mustApply()
	w.edit("c1", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 900m")
	w.mustRun(0, "approve", "--main")
	w.mustRun(0, "record", "check")
	w.wantActions(w.mustApply(), map[string]string{})
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	v := w.mustApply().variant(t, "c1/web")
	if v.Action != "redraft" || len(v.Conflicts) > 0 {
		t.Fatalf("%+v", v)
	}
	w.contains(w.show("c1", v.Ref, "web/deployment.yaml"), "cpu: 900m", "web:2.0")
	w.write("v.yaml", "# gone\n")
	w.contains(w.mustApply("--prune").out, `"action": "retire"`)
}

// What stands on main is proved like a Draft.
func TestApproveMainRefuses(t *testing.T) {
	t.Parallel()
	commit := func(from, to string) func(w *world) {
		return func(w *world) { w.edit("c1", "main", "web/cm.yaml", from, to) }
	}
	for name, tt := range map[string]struct {
		change func(w *world)
		says   string // "" where it is approved
		args   []string
	}{
		"rendered":         {commit("a: good", "a: fine"), "", nil},
		"what fails":       {commit("a: good", "a: bad"), "bad value", nil},
		"what is rendered": {commit(`b: "5"`, `b: "7"`), "changes cm.yaml: correct that there", nil},
		"unrendered":       {commit("a: good", "a: fine"), "approve it where they run", []string{"--no-render"}},
		"a gate": {func(w *world) {
			text := w.show("c1", "main", "web/Kptfile")
			w.repos["c1"].Commit(t, "main", "gated", gittest.Text{"web/Kptfile": text + "info:\n  readinessGates:\n  - conditionType: ok\n"})
		}, "readiness gates are not met: ok", nil},
		"the variant's functions": {func(w *world) {
			text := w.show("c1", "main", "web/Kptfile")
			i := strings.Index(text, "pipeline:\n")
			w.repos["c1"].Commit(t, "main", "no pipeline", gittest.Text{"web/Kptfile": text[:i] + "info:\n  description: x\n"})
			commit("a: good", "a: bad")(w)
		}, "change the variant", nil},
		"where it comes from": {func(w *world) { w.edit("c1", "main", "web/Kptfile", "ref: web/v11", "ref: web/v99") }, "upstream or upstreamLock", nil},
		"with a change of the variant": {func(w *world) {
			w.write("v.yaml", variantOf("web", "v11", "c1", "web", mutator("apply-setters:v0.2", `b: "6"`)))
			commit("a: good", "a: fine")(w)
		}, "", nil},
		"held": {func(w *world) {
			commit("a: good", "a: fine")(w)
			w.mustRun(0, "hold", "web", "--reason", "not now")
		}, "held by ", nil},
		"deleted": {func(w *world) {
			w.repos["c1"].Commit(t, "main", "away", gittest.Files{{Path: "web", Mode: gittest.Deleted}})
		}, "deleted on main", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.draftWithSetter()
			w.mustRun(0, "approve", "--all")
			tt.change(w)
			before := w.refs()
			args := append([]string{"approve", "--main", "web"}, tt.args...)
			if tt.says == "" {
				w.contains(w.mustRun(0, args...).out, "Published v2")
				return
			}
			w.contains(w.mustRun(1, args...).out, "refused: ", tt.says)
			w.unchanged(before)
		})
	}
}

// Where a Repository asks for it each local change is a revision with the next run, if
// it stands the test of approve --main, and none without.
func TestTagMainAlways(t *testing.T) {
	t.Parallel()
	const says = "for variform.dev/tag-main is always"
	asking := func(t *testing.T, value string) *world {
		w := newHTTPWorld(t, "c1")
		w.write("repositories/c1.yaml", strings.Replace(repository("c1", w.url("c1"), true, ""), "  name: c1\n", "  name: c1\n  annotations: {variform.dev/tag-main: "+value+"}\n", 1))
		w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
		w.mustApply()
		w.mustRun(0, "approve", "--all")
		return w
	}
	hotfix := func(w *world) string {
		return w.edit("c1", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 900m")
	}
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		w := asking(t, "always")
		w.wantActions(w.mustApply(), map[string]string{})
		came := hotfix(w)
		w.contains(w.mustRun(0, "status").out, "main moved since v1")
		w.contains(w.plan().out, "becomes v2, "+says)
		p := w.mustApply()
		w.wantActions(p, all("tag", "c1/web"))
		if at := w.refs()["c1 refs/tags/web/v2"]; at != came {
			t.Errorf("v2 is at %q, want %s", at, came)
		}
		before := w.refs()
		for _, p := range []planned{w.mustApply(), w.mustApply("--cache-dir", t.TempDir())} {
			w.wantActions(p, map[string]string{})
		}
		w.unchanged(before)
		w.contains(w.mustRun(0, "edits").out, "cpu")
	})
	t.Run("beside a Draft", func(t *testing.T) {
		t.Parallel()
		w := asking(t, "always")
		w.publishWeb(webV2, "v2")
		w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
		w.mustApply()
		hotfix(w)
		w.contains(w.mustApply().out, "becomes v2, "+says, "v2 was published since")
		before := w.refs()
		w.wantActions(w.mustApply(), map[string]string{})
		w.unchanged(before)
		w.mustRun(0, "approve", "--all")
		w.contains(w.texts("c1", "refs/tags/web/v3", "web/"), "cpu: 900m", "web:2.0")
	})
	t.Run("upon a Draft that a forge squashed", func(t *testing.T) {
		t.Parallel()
		w := asking(t, "always")
		w.publishWeb(webV2, "v2")
		w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
		w.mustApply()
		w.forgeMerge("c1", "drafts/web/packagevariant-2", "squash", true)
		hotfix(w)
		w.mustApply()
		before := w.refs()
		if before["c1 refs/tags/web/v2"] == "" || before["c1 refs/tags/web/v3"] == "" {
			t.Error(w.refNames("c1"))
		}
		w.wantActions(w.mustApply(), map[string]string{})
		w.unchanged(before)
		w.mustRun(0, "record", "check")
	})
	for name, tt := range map[string]struct {
		value, says string
		run         []string
		before      func(w *world)
	}{
		"what the machine owns was changed": {
			value: "always", says: "what stands on main becomes no revision: what the variant gives is the machine's",
			before: func(w *world) { w.edit("c1", "main", "web/Kptfile", "ref: web/v1", "ref: web/v99") },
		},
		"unrendered": {value: "always", says: "pipelines are left unrun", run: []string{"--no-render"}, before: func(w *world) { hotfix(w) }},
		"held": {value: "always", says: "held by", before: func(w *world) {
			hotfix(w)
			w.mustRun(0, "hold", "web", "--reason", "x")
		}},
		"no such value": {value: "allways", says: `variform.dev/tag-main is \"allways\", and means nothing but as \"always\"`, before: func(w *world) { hotfix(w) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := asking(t, tt.value)
			tt.before(w)
			w.contains(w.apply(tt.run...).out, tt.says)
			if at := w.refs()["c1 refs/tags/web/v2"]; at != "" {
				t.Error("it was tagged")
			}
		})
	}
}
