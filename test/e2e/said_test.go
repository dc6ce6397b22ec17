package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A package that is held is neither drafted, published nor removed; plan and
// status say why, and it is no failure.
func TestHold(t *testing.T) {
	t.Parallel()
	const says = "held by "
	v1, v2 := variantOf("web", "v1", "c1", "web", ""), variantOf("web", "v2", "c1", "web", "")
	for name, tt := range map[string]struct {
		before func(w *world) // what is there when it is held
		after  func(w *world) // and what happens then
		off    string         // what apply does without the hold
	}{
		"before there is anything": {func(*world) {}, func(*world) {}, "create"},
		"with a Draft": {
			func(w *world) { w.mustApply() },
			func(w *world) {
				w.write("v.yaml", v2)
				r := w.mustRun(1, "approve", "--all")
				w.contains(r.out, "refused: "+says, "no release before Monday", "variform hold --off c1/web")
			}, "update",
		},
		"Published": {
			func(w *world) {
				w.mustApply()
				w.mustRun(0, "approve", "--all")
			},
			func(w *world) { w.write("v.yaml", v2) }, "redraft",
		},
		"merged by a forge": {
			func(w *world) { w.mustApply() },
			func(w *world) {
				w.repos["c1"].Git(t, "update-ref", "refs/heads/main", "refs/heads/drafts/web/packagevariant-1")
			}, "tag",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			w.write("v.yaml", v1)
			tt.before(w)
			w.contains(w.mustRun(0, "hold", "web", "--reason", "no release before Monday").out, "c1/web", "held: no release before Monday")
			tt.after(w)
			before := w.refs()
			for _, p := range []planned{w.plan("--exit-code"), w.mustApply(), w.mustApply("--cache-dir", t.TempDir())} {
				if p.status != 0 {
					t.Errorf("status %d", p.status)
				}
				w.wantActions(p, all("wait", "c1/web"))
				w.contains(p.out, says, "no release before Monday")
			}
			if out := w.mustRun(0, "status").out; strings.Count(out, says) != 1 {
				t.Errorf("it is not said once:\n%s", out)
			}
			w.unchanged(before)
			w.mustRun(0, "record", "rebuild")
			w.contains(w.mustRun(0, "hold", "--off", "c1/web").out, "no longer held")
			w.mustRun(2, "hold", "--off", "c1/web")
			p := w.mustApply()
			if !strings.Contains(p.out, `"action": "`+tt.off+`"`) {
				t.Errorf("no %s: %v", tt.off, p.actions())
			}
		})
	}
}

// What is held stays when its variant goes, and the hold can be taken off then.
func TestHoldOfWhatGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "hold", "c1/web", "--reason", "look at it")
	w.write("v.yaml", "# nothing\n")
	before := w.refs()
	p := w.mustApply("--prune")
	w.wantActions(p, all("keep", "c1/web"))
	w.contains(p.out, "it is held by", "look at it")
	w.unchanged(before)
	w.mustRun(0, "hold", "--off", "c1/web")
	w.wantActions(w.mustApply("--prune"), all("discard", "c1/web"))
}

// What a forge merged is tagged before it is set back, and
// then it is not drafted again.
func TestRevertOfWhatWasMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	w.forgeMerge("c1", "drafts/web/packagevariant-2", "merge", true)
	before := w.refs()
	w.contains(w.mustRun(1, "revert", "web", "v1").out, "merged into main", "the next apply tags it")
	w.unchanged(before)
	w.mustApply()
	w.mustRun(0, "revert", "web", "v1")
	w.mustRun(0, "approve", "--all")
	before = w.refs()
	w.mustApply()
	w.unchanged(before)
}

// What a forge merged is not discarded by the name of its Draft: a run tags it first,
// and what was merged stays the variant's, so that it can go.
func TestDiscardOfWhatWasMerged(t *testing.T) {
	t.Parallel()
	// A merge and a squash leave no line of the Draft's workspace on main.
	deleted := map[string]string{"merge": "v1", "squash": "v1", "rebase": "packagevariant-1", "fast-forward": "packagevariant-1"}
	for style := range deleted {
		for name, wentOn := range map[string]bool{"as it was merged": false, "it went on": true} {
			t.Run(style+", "+name, func(t *testing.T) {
				t.Parallel()
				w := newHTTPWorld(t, "c1")
				w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
				w.mustApply()
				const draft = "drafts/web/packagevariant-1"
				if style != "fast-forward" {
					w.repos["c1"].Commit(t, "main", "beside it", gittest.Text{"other.txt": "x\n"})
				}
				w.forgeMerge("c1", draft, style, false)
				if wentOn {
					w.edit("c1", draft, "web/settings.yaml", "level: info", "level: debug")
				}
				before := w.refs()
				w.contains(w.mustRun(1, "discard", "web", "--reason", "no").out, "merged into main", "the next apply tags it")
				w.unchanged(before)
				w.mustApply()
				if _, tagged := w.refs()["c1 refs/tags/web/v1"]; !tagged {
					t.Error("it is not tagged")
				}
				w.write("v.yaml", "# nothing\n")
				w.mustApply("--prune")
				if wentOn {
					r := w.mustRun(1, "approve", "--all")
					w.contains(r.out, "c1.web."+deleted[style]+" (DeletionProposed)")
					w.mustRun(0, "approve", "c1.web."+deleted[style])
				} else {
					w.mustRun(0, "approve", "--all")
				}
				if w.on("main", "web") {
					t.Error("it is on main, and nobody's")
				}
			})
		}
	}
}

// A Draft that was discarded is not made again until what goes into it changes, or
// somebody asks for it.
func TestDiscard(t *testing.T) {
	t.Parallel()
	for name, published := range map[string]bool{"a first Draft": false, "a later one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			version, again, draft := "v1", "create", "packagevariant-1"
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			if published {
				w.mustRun(0, "approve", "--all")
				version, again, draft = "v2", "redraft", "packagevariant-2"
				w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
				w.mustApply()
			}
			w.contains(w.mustRun(0, "discard", "web", "--reason", "too big").out, "discarded Draft ", ": too big")
			if strings.Contains(strings.Join(w.refNames("c1"), " "), draft) {
				t.Error("the Draft is there")
			}
			before := w.refs()
			for _, p := range []planned{w.mustApply(), w.mustApply("--cache-dir", t.TempDir())} {
				w.wantActions(p, all("wait", "c1/web"))
				w.contains(p.out, "discarded by ", "too big", "--retry c1/web")
			}
			w.unchanged(before)
			// The policy alone is nothing new.
			w.write("v.yaml", variantOf("web", version, "c1", "web", policy("orphan")))
			w.lacks(w.mustApply().out, `"action": "`+again+`"`)
			w.unchanged(before)
			r := w.mustRun(1, "discard", "web", "--reason", "again")
			w.contains(r.out, "it has no open Draft")

			w.contains(w.mustApply("--retry", "web").out, `"action": "`+again+`"`)
			w.wantActions(w.mustApply(), map[string]string{})
			w.mustRun(0, "discard", "web", "--reason", "still too big")
			w.write("v.yaml", variantOf("web", version, "c1", "web", "  packageContext: {data: {size: small}}\n"))
			w.contains(w.mustApply().out, `"action": "`+again+`"`)
			w.wantActions(w.mustApply(), map[string]string{})
		})
	}
}

// Where no record is kept, or the server takes none, nothing is said to be kept, and
// nothing goes.
func TestSaidUnrecorded(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]string{"none": "", "refused": `case "$1" in refs/variform/*|*/variform-record/*) exit 1;; esac`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			if hook != "" {
				w.repos["c1"].Hook(t, "update", hook)
			} else {
				text := repository("c1", w.url("c1"), true, "")
				w.write("repositories/c1.yaml", strings.Replace(text, "  name: c1\n", "  name: c1\n  annotations: {variform.dev/record-ref: none}\n", 1))
			}
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			before := w.refs()
			w.contains(w.mustRun(1, "hold", "web", "--reason", "x").out, "refused: ", "record")
			w.contains(w.mustRun(1, "discard", "web", "--reason", "x").out, "refused: ", "record")
			w.unchanged(before)
			w.wantActions(w.mustApply(), map[string]string{})
		})
	}
}

func TestSaidMistakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	for _, c := range []struct{ args, says string }{
		{"hold web", "--reason"},
		{"hold web --off --reason x", "not both"},
		{"hold --reason x", "give names"},
		{"hold nosuch --reason x", "nothing is called"},
		{"hold nosuch --off", "nothing that is held"},
		{"discard web", "--reason"},
		{"discard --reason x", "give names"},
	} {
		w.contains(w.mustRun(2, strings.Fields(c.args)...).err, c.says)
	}
}

// A Draft whose variant was set back to what is Published has nothing to approve.
func TestSetBackDraftGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	before := w.refs()
	w.wantActions(w.plan(), all("discard", "c1/web"))
	w.unchanged(before)
	p := w.mustApply()
	w.wantActions(p, all("discard", "c1/web"))
	w.contains(p.out, "nothing is left of it: the package is to be what v1 is")
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1")
	w.wantActions(w.mustApply(), map[string]string{})
	w.wantActions(w.mustApply("--cache-dir", t.TempDir()), map[string]string{})

	// What a person wrote there is something.
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	w.edit("c1", "drafts/web/packagevariant-2", "web/deployment.yaml", "replicas: 2", "replicas: 7")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.wantActions(w.mustApply(), all("update", "c1/web"))
}

// A variant whose upstream is another variant's package waits for that one.
func TestChainWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("a.yaml", variantOf("a", "v1", "c1", "web", ""))
	for name, upstream := range map[string]string{"b": "{repo: c1, package: web, revision: v1}", "c": "{repo: c1, package: web}"} {
		w.write(name+".yaml", strings.Replace(variantOf(name, "v1", "c2", name, ""), `{repo: catalog, package: web, revision: "v1"}`, upstream, 1))
	}
	p := w.mustApply()
	w.wantActions(p, map[string]string{"c1/web": "create", "c2/b": "wait", "c2/c": "wait"})
	w.contains(p.out, "its upstream c1/web is a variant of this fleet that is not Published yet")
	w.wantActions(w.mustApply(), all("wait", "c2/b", "c2/c"))
	w.mustRun(0, "approve", "c1/web")
	w.wantActions(w.mustApply(), all("create", "c2/b", "c2/c"))
	w.wantActions(w.mustApply(), map[string]string{})
}

// What people said of a variant goes with it, and no sooner.
func TestSaidGoesWithItsVariant(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		published bool
		say       []string
		goes      string // with its variant
		again     string // with another of its name
		waits     bool   // without --prune
	}{
		"a first Draft, discarded": {false, []string{"discard"}, "forget", "create", true},
		"a later one, discarded":   {true, []string{"discard"}, "retire", "redraft", true},
		"held before there is any": {false, []string{"discard", "hold"}, "forget", "create", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			spec := variantOf("web", "v1", "c1", "web", "")
			w.write("v.yaml", spec)
			w.mustApply()
			if tt.published {
				w.mustRun(0, "approve", "--all")
				spec = variantOf("web", "v2", "c1", "web", "")
				w.write("v.yaml", spec)
				w.mustApply()
			}
			for _, verb := range tt.say {
				w.mustRun(0, verb, "web", "--reason", "not this")
			}
			w.write("v.yaml", "# nothing\n")
			before := w.refs()
			w.wantActions(w.mustApply(), all("keep", "c1/web"))
			w.unchanged(before)
			w.write("v.yaml", spec)
			w.wantActions(w.mustApply(), all("wait", "c1/web"))
			w.write("v.yaml", "# nothing\n")
			w.wantActions(w.plan("--prune"), all(tt.goes, "c1/web"))
			w.wantActions(w.mustApply("--prune"), all(tt.goes, "c1/web"))
			w.lacks(w.mustRun(0, "record", "show", "-o", "json").out, "not this")
			if tt.goes == "forget" {
				w.wantActions(w.mustApply("--prune"), map[string]string{})
				w.mustRun(0, "record", "check")
			}
			w.write("v.yaml", spec)
			w.contains(w.mustApply().out, `"action": "`+tt.again+`"`)
		})
	}
}

// With the Draft that goes, what was said of it goes too, and what strangers have
// there keeps nothing.
func TestSaidGoesWithItsDraft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy string
		ours   bool   // a person puts the Draft that was discarded back
		goes   string // then
	}{
		"put back":         {"delete", true, "discard"},
		"put back, orphan": {"orphan", true, "release"},
		"a stranger's":     {"delete", false, "forget"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", "  deletionPolicy: "+tt.policy+"\n"))
			w.mustApply()
			draft := w.repos["c1"].Git(t, "rev-parse", draft1)
			w.mustRun(0, "discard", "web", "--reason", "not this")
			if !tt.ours {
				draft = w.repos["c1"].Git(t, "rev-parse", "main")
			}
			w.repos["c1"].Branch(t, "drafts/web/packagevariant-1", draft)
			w.write("v.yaml", "# nothing\n")
			w.wantActions(w.mustApply("--prune"), all(tt.goes, "c1/web"))
			w.lacks(w.mustRun(0, "record", "show", "-o", "json").out, "not this")
			w.wantActions(w.mustApply("--prune"), map[string]string{})
		})
	}
}

// So does that people set a package back, where the record alone says it.
func TestRevertedInAnothersRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("Kptfile", "")
	w.cloneOf("https://git.example.com/platform/fleet.git")
	w.twice()
	w.mustRun(0, "revert", "web", "v1")
	w.repos["c1"].Commit(t, "main", "beside it", gittest.Text{"other.txt": "x\n"})
	w.forgeMerge("c1", "drafts/web/packagevariant-3", "squash", true)
	w.contains(w.mustApply().out, "becomes v3", "set back to v1 by ")
	w.cloneOf("https://git.example.com/shop/fleet.git")
	before := w.refs()
	for _, p := range []planned{w.mustApply(), w.mustApply("--cache-dir", t.TempDir())} {
		w.wantActions(p, all("wait", "c1/web"))
		w.contains(p.out, "set back to v1 by ", "--retry c1/web")
	}
	w.unchanged(before)
}

// What people said of a package counts in whosever record it stands: of a fleet that
// moved elsewhere, or of another manager's that wanted the package, too. Who reads it
// says whose it is, and leaves it to them.
func TestSaidInAnothersRecord(t *testing.T) {
	t.Parallel()
	const whose = ", in the record of manager variform of git.example.com/platform/fleet//: "
	for name, move := range map[string]func(w *world){
		"the fleet moved": func(w *world) { w.cloneOf("https://git.example.com/shop/fleet.git") },
		"another manager": func(w *world) { w.manager("shop") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.write("Kptfile", "") // which names the fleet
			w.cloneOf("https://git.example.com/platform/fleet.git")
			w.write("v.yaml", variantOf("held", "v1", "c1", "held", "")+"---\n"+variantOf("gone", "v1", "c1", "gone", ""))
			w.mustRun(0, "hold", "held", "--reason", "not before Monday")
			w.mustApply()
			w.mustRun(0, "discard", "gone", "--reason", "too big")

			move(w)
			before := w.refs()
			for _, p := range []planned{w.plan("--exit-code"), w.mustApply("--cache-dir", t.TempDir())} {
				if p.status != 0 {
					t.Errorf("status %d", p.status)
				}
				w.wantActions(p, all("wait", "c1/held", "c1/gone"))
				w.contains(p.out, "held by ", whose+"not before Monday", "discarded by ", whose+"too big")
			}
			w.contains(w.mustRun(0, "status").out, whose+"not before Monday")
			w.contains(w.mustRun(1, "hold", "--off", "c1/held").out, "take that off with --manager variform")
			w.unchanged(before)

			if v := w.mustApply("--retry", "gone").variant(t, "c1/gone"); v.Action != "create" {
				t.Errorf("discarded: %s", v.Action)
			}
			w.mustRun(0, "hold", "--off", "c1/held", "--manager", "variform")
			if v := w.mustApply().variant(t, "c1/held"); v.Action != "create" {
				t.Errorf("held: %s", v.Action)
			}
		})
	}
}

// A revert makes its Draft beside the one that is open: which of them is discarded a
// person says, and what is discarded is named, with who edited it.
func TestDiscardBesideARevert(t *testing.T) {
	t.Parallel()
	const update, revert = "packagevariant-3", "packagevariant-4"
	for name, tt := range map[string]struct {
		discard []string
		names   []string // what it says
		stays   []string
		then    string // what apply does
	}{
		"the revert": {[]string{"c1.web." + revert}, []string{"discarded Draft " + revert + ", which sets it back to v1 by Rae Viewer: not now"}, []string{update}, ""},
		"the update": {[]string{"c1.web." + update}, []string{"discarded Draft " + update + ", edited by Ann Tester (", "): not now"}, []string{revert}, "wait"},
		"both":       {[]string{"c1.web." + update, "c1.web." + revert}, []string{"Draft " + update + ", edited by Ann Tester (", "Draft " + revert + ", which sets"}, nil, "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.twice()
			w.publishWeb(webCPU, "v3")
			w.write("v.yaml", variantOf("web", "v3", "c1", "web", ""))
			w.mustApply()
			w.edit("c1", "drafts/web/"+update, "web/deployment.yaml", "replicas: 2", "replicas: 7")
			w.mustApply()
			w.mustRun(0, "revert", "web", "v1")
			before := w.refs()
			w.contains(w.mustRun(1, "discard", "web", "--reason", "not now").out,
				"several open revisions: c1.web."+revert+" (Draft), which sets it back to v1 by Rae Viewer", "c1.web."+update+" (Draft)", "discard them by those names")
			w.unchanged(before)

			w.contains(w.mustRun(0, append([]string{"discard", "--reason", "not now"}, tt.discard...)...).out, tt.names...)
			var open []string
			for _, ref := range w.refNames("c1") {
				if ws, ok := strings.CutPrefix(ref, "refs/heads/drafts/web/"); ok {
					open = append(open, ws)
				}
			}
			if !slices.Equal(open, tt.stays) {
				t.Errorf("open: %v", open)
			}
			before = w.refs()
			p := w.mustApply()
			w.unchanged(before)
			want := map[string]string{}
			if tt.then != "" {
				want = all(tt.then, "c1/web")
			}
			w.wantActions(p, want)
			if slices.Contains(tt.stays, revert) { // and what was discarded stays so
				w.contains(w.mustRun(0, "approve", "--all").out, "Published v3")
				before = w.refs()
				p := w.mustApply()
				w.contains(p.out, "discarded by Rae Viewer: not now")
				w.unchanged(before)
			}
			w.write("v.yaml", variantOf("web", "v3", "c1", "web", "  packageContext: {data: {size: small}}\n"))
			w.lacks(w.mustApply().out, `"action": "wait"`)
		})
	}
}

// A hold is a condition of its own: what is known of the Draft that is held is told
// as of any other.
func TestHeldDraftIsProved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "hold", "web", "--reason", "look at it")
	w.contains(w.mustRun(0, "status", "web").out, "packagevariant-1   True     held by Rae Viewer: look at it")
	w.contains(w.mustRun(0, "status", "-o", "yaml").out,
		"  - message: 'held by Rae Viewer: look at it'\n    reason: Held\n    status: \"True\"\n    type: Held\n",
		"    reason: Proved\n    status: \"True\"\n    type: Proved\n", "reason: Waiting")

	w.write("v.yaml", variantOf("web", "v9", "c1", "web", ""))
	w.contains(w.mustRun(0, "status", "web").out, "packagevariant-1   False    held by Rae Viewer: look at it; spec.upstream: ", `revision "v9"`)
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.contains(w.mustRun(0, "status", "web").out, "packagevariant-1   False    held by Rae Viewer: look at it; upstream changed: now catalog/web@web/v2")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.edit("c1", "drafts/web/packagevariant-1", "web/settings.yaml", "info", "debug")
	w.contains(w.mustRun(0, "status", "web").out, "packagevariant-1   False    held by Rae Viewer: look at it; ", "no run has built it since")

	w.mustRun(0, "hold", "web", "--off")
	w.mustApply()
	status := w.mustRun(0, "status", "-o", "yaml").out
	w.contains(status, "reason: Edited\n    status: \"False\"\n    type: Proved\n")
	w.lacks(status, "Held")
}

// A Draft that stays for a person's commits though its variant has gone is discarded
// by name, and comes back by itself no more than any other.
func TestDiscardWhatNoVariantWants(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy, call string
		prune        bool
	}{
		"kept, by repository and package":  {"delete", "c1/web", true},
		"kept, by its variant":             {"delete", "one", true},
		"kept, by its Draft":               {"delete", "c1.web.packagevariant-2", true},
		"orphan, before it is left behind": {"orphan", "c1/web", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			w.write("v.yaml", variantOf("one", "v1", "c1", "web", "  deletionPolicy: "+tt.policy+"\n"))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			v2 := variantOf("one", "v2", "c1", "web", "  deletionPolicy: "+tt.policy+"\n")
			w.write("v.yaml", v2)
			w.mustApply()
			const draft2 = "refs/heads/drafts/web/packagevariant-2"
			w.edit("c1", "drafts/web/packagevariant-2", "web/settings.yaml", "info", "debug")
			w.write("v.yaml", "")
			if tt.prune {
				w.contains(w.mustApply("--prune").out, "its variant has gone, and Ann Tester (", "edited Draft packagevariant-2 by hand: data.level of ConfigMap settings info → debug: bring its variant back, or, to lose 1 edit, run variform discard c1.web.packagevariant-2 --reason TEXT")
			} else {
				w.mustApply()
			}
			if w.refs()["c1 "+draft2] == "" {
				t.Fatal("its Draft went unasked")
			}

			r := w.mustRun(0, "discard", tt.call, "--reason", "no use")
			w.contains(r.out, "c1/web", "discarded Draft packagevariant-2, edited by Ann Tester", "no use")
			if w.refs()["c1 "+draft2] != "" {
				t.Error("its Draft is still there")
			}
			w.contains(w.mustRun(1, "discard", "c1/web", "--reason", "again").out, "it has no open Draft of this fleet")
			w.write("v.yaml", v2)
			p := w.mustApply()
			v := p.variant(t, "c1/web")
			if v.Action == "redraft" || !strings.Contains(p.out, "discarded by Rae Viewer: no use") {
				t.Errorf("what was discarded is drafted again:\n%s", p.out)
			}
			w.mustApply("--retry", "c1/web")
			w.contains(w.show("c1", draft2, "web/settings.yaml"), "level: info")
		})
	}
}
