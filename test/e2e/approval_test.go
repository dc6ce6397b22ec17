package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A Draft is approved as its variant is now: what has moved on since the last
// apply, or fails, is refused.
func TestApproveRefusesWhatMovedOn(t *testing.T) {
	t.Parallel()
	spec := func(more string) string {
		return variantOf("web", "v11", "c1", "web", "  injectors:\n  - name: settings\n"+more)
	}
	for name, tt := range map[string]struct {
		change func(w *world)
		says   string
	}{
		"the upstream": {func(w *world) { w.write("v.yaml", strings.Replace(spec(""), "v11", "v13", 1)) }, "upstream changed: now catalog/web@web/v13"},
		"the spec":     {func(w *world) { w.write("v.yaml", spec("  packageContext: {data: {k: v}}\n")) }, "variant spec changed since this Draft was made: run apply"},
		"the context":  {func(w *world) { w.write("settings.yaml", configMap("settings", "a: other")) }, "injected context objects changed since this Draft was made: run apply"},
		"no upstream":  {func(w *world) { w.write("v.yaml", strings.Replace(spec(""), "v11", "v99", 1)) }, "it cannot be told whether this Draft is of today's inputs: upstream catalog/web"},
		"it fails": {func(w *world) {
			w.write("v.yaml", strings.Replace(spec(""), "v11", "v12", 1))
			w.apply()
		}, "its variant fails: rendering web"},
		"nothing":        {func(w *world) {}, ""},
		"no variant":     {func(w *world) { w.write("v.yaml", "# none\n") }, ""},
		"labels":         {func(w *world) { w.write("v.yaml", spec("  labels: {l: x}\n")) }, ""},         // for new Drafts
		"the policy":     {func(w *world) { w.write("v.yaml", spec("  deletionPolicy: orphan\n")) }, ""}, // in force without a Draft
		"other objects":  {func(w *world) { w.write("other.yaml", configMap("other", "a: x")) }, ""},
		"another failed": {func(w *world) { w.write("v2.yaml", variantOf("two", "v12", "c1", "two", "")); w.apply() }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			injectable := refusing("good")
			for i, f := range injectable {
				injectable[i].Data = []byte(strings.Replace(string(f.Data), "metadata:\n  name: c\n", "metadata:\n  name: c\n  annotations: {kpt.dev/config-injection: optional}\n", 1))
			}
			w.release("v11", injectable)
			w.release("v12", refusing("bad"))
			w.release("v13", refusing("fair"))
			w.write("settings.yaml", configMap("settings", "a: some"))
			w.write("v.yaml", spec(""))
			w.mustApply()
			tt.change(w)
			if tt.says == "" {
				w.contains(w.mustRun(0, "approve", "c1/web").out, "Published v1")
				return
			}
			before := w.refs()
			w.contains(w.mustRun(1, "approve", "c1/web").out, "refused: ", tt.says)
			w.unchanged(before)
		})
	}
}

// What moved on and makes no difference is approved: the record says so, on each
// machine, and is written once.
func TestApproveWhatMovedOnToTheSame(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", "  packageContext: {}\n"))
	w.mustRun(1, "approve", "c1/web")
	w.wantActions(w.mustApply(), map[string]string{})
	entries := w.record("c1")
	w.contains(entries, `"place":"built"`)
	w.lacks(entries, "failure")
	other := filepath.Join(w.dir, "another machine's cache")
	for range 2 {
		w.wantActions(w.mustApply("--cache-dir", other), map[string]string{})
		w.wantActions(w.mustApply(), map[string]string{})
	}
	if now := w.record("c1"); now != entries {
		t.Errorf("written again:\n%s\nwas\n%s", now, entries)
	}
	w.mustRun(0, "approve", "c1/web")
	w.lacks(w.record("c1"), "built")
}

// What a person commits to a Draft is rendered, validated and gated by the next
// run: as a commit on top, or, where nothing changes, by the record alone.
func TestEditsOnADraftAreBuilt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from, to string
		action   string // of apply
		says     string // by apply
		refused  string // by approve
		want     string // in the Draft
	}{
		"as rendered":   {"a: good", "a: fine", "", "", "", "a: fine"},
		"refused":       {"a: good", "a: bad", "fail", "bad value", "its variant fails: rendering web", "a: bad"},
		"rendered over": {`b: "5"`, `b: "7"`, "update", "edited by hand", "", `b: "5"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.draftWithSetter()
			w.edit("c1", "drafts/web/packagevariant-1", "web/cm.yaml", tt.from, tt.to)
			w.lacks(w.mustRun(0, "status").out, "True ")
			p := w.apply()
			want := map[string]string{}
			if tt.action != "" {
				want["c1/web"] = tt.action
			}
			w.wantActions(p, want)
			w.contains(p.out, tt.says)
			before, entries := w.refs(), w.record("c1")
			w.apply()
			w.unchanged(before)
			if now := w.record("c1"); now != entries {
				t.Errorf("written again:\n%s\nwas\n%s", now, entries)
			}
			w.contains(w.show("c1", draft1, "web/cm.yaml"), tt.want)
			if tt.refused != "" {
				w.contains(w.mustRun(1, "status", "-o", "json").out, tt.says)
				w.contains(w.mustRun(0, "review").out, "! it fails: rendering web", tt.says, "it cannot be approved: c1/web")
				w.contains(w.mustRun(1, "approve", "c1/web").out, tt.refused)
				return
			}
			w.mustRun(0, "status")
			w.contains(w.approveSeen("c1/web").out, "Published v1")
		})
	}
}

// A gate that a person takes out of a Draft is the machine's, and comes back.
func TestGateTakenOutByHand(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.publishWeb(merged(webV1, gittest.Text{"web/settings.yaml": gated}), "v2")
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
	w.mustApply()
	w.contains(w.mustRun(1, "approve", "c1/web").out, "readiness gates are not met")
	whole := w.show("c1", draft1, "web/Kptfile")
	info, _, _ := strings.Cut(whole, "  readinessGates:")
	w.repos["c1"].Commit(t, "drafts/web/packagevariant-1", "by hand", gittest.Text{"web/Kptfile": info})
	w.wantActions(w.mustApply(), all("update", "c1/web"))
	w.contains(w.show("c1", draft1, "web/Kptfile"), "readinessGates")
	w.contains(w.mustRun(1, "approve", "c1/web").out, "readiness gates are not met")
}

// Who approves a Draft that a person edited, and that no run has built since, has
// it built: what fails, or would come out as something else, is refused, and
// where functions cannot run nothing shows it.
func TestApproveBuildsWhatWasEdited(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from, to string
		flags    []string
		refused  []string
	}{
		"as rendered":       {from: "a: good", to: "a: fine"},
		"fails":             {from: "a: good", to: "a: bad", refused: []string{"no run has built it since", "bad value", "run apply"}},
		"rendered over":     {from: `b: "5"`, to: `b: "7"`, refused: []string{"building it changes it: run apply"}},
		"nothing can run":   {from: "a: good", to: "a: fine", flags: []string{"--no-render"}, refused: []string{"run apply, with its functions"}},
		"nobody has edited": {flags: []string{"--no-render"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.draftWithSetter()
			if tt.from != "" {
				w.edit("c1", "drafts/web/packagevariant-1", "web/cm.yaml", tt.from, tt.to)
			}
			before := w.refs()
			approve := append([]string{"approve", "c1/web"}, tt.flags...)
			if tt.refused == nil {
				if tt.from != "" {
					w.contains(w.mustRun(1, approve...).out, "it holds edits in cm.yaml")
					approve = w.seen()
				}
				w.contains(w.mustRun(0, approve...).out, "Published v1")
				return
			}
			w.contains(w.mustRun(1, approve...).out, tt.refused...)
			w.unchanged(before)
		})
	}
}

// So it is for a Draft that was made upon what others committed to main.
func TestApproveBuildsWhatWasEditedUponAHotfix(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ from, to, refused string }{
		"as rendered":   {"a: good", "a: fine", ""},
		"rendered over": {`b: "6"`, `b: "7"`, "building it changes it: run apply"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.draftWithSetter()
			w.mustRun(0, "approve", "--all")
			w.edit("c1", "main", "web/cm.yaml", "a: good", "c: hotfix\n  a: good")
			w.write("v.yaml", variantOf("web", "v11", "c1", "web", mutator("apply-setters:v0.2", `b: "6"`)))
			w.mustApply()
			w.edit("c1", "drafts/web/packagevariant-2", "web/cm.yaml", tt.from, tt.to)
			before := w.refs()
			if tt.refused == "" {
				w.approveSeen()
				w.contains(w.show("c1", "refs/tags/web/v2", "web/cm.yaml"), "c: hotfix", tt.to)
				return
			}
			w.contains(w.mustRun(1, "approve", "--all").out, tt.refused)
			w.unchanged(before)
		})
	}
}

// What was made without its functions is Published by who leaves them unrun, too,
// or after a run with them.
func TestApproveOfADraftMadeUnrendered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.draftWithSetter("--no-render")
	before := w.refs()
	w.contains(w.mustRun(1, "approve", "c1/web").out, "made without running its functions: run apply")
	w.unchanged(before)
	w.wantActions(w.mustApply(), map[string]string{"c1/web": "update"})
	w.mustRun(0, "approve", "c1/web")
	w.contains(w.show("c1", "refs/tags/web/v1", "web/cm.yaml"), `b: "5"`)

	w = newWorld(t, "c1")
	w.draftWithSetter("--no-render")
	w.mustRun(0, "approve", "c1/web", "--no-render")
}

// A Draft that a person edited is not Published once no variant wants it: no run
// would render that.
func TestApproveWhatNothingWants(t *testing.T) {
	t.Parallel()
	for name, built := range map[string]bool{"built since": true, "not built": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.draftWithSetter()
			w.edit("c1", "drafts/web/packagevariant-1", "web/cm.yaml", "a: good", "a: fine")
			if built {
				w.mustApply()
			}
			w.write("v.yaml", "")
			w.mustApply()
			if built {
				w.contains(w.mustRun(0, "approve", "c1/web", "--unproved").out, "Published v1")
				return
			}
			before := w.refs()
			w.contains(w.mustRun(1, "approve", "c1/web").out, "this run has no variant to build it for")
			w.unchanged(before)
		})
	}
}

// draftWithSetter makes a Draft of a package with a validator and a value that a
// setter sets.
func (w *world) draftWithSetter(flags ...string) {
	w.t.Helper()
	text := refusing("good")
	for i, f := range text {
		text[i].Data = []byte(strings.Replace(string(f.Data), "a: good\n", "a: good\n  b: \"1\" # kpt-set: ${b}\n", 1))
	}
	w.release("v11", text)
	w.write("v.yaml", variantOf("web", "v11", "c1", "web", mutator("apply-setters:v0.2", `b: "5"`)))
	w.mustApply(flags...)
}
