package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A Draft's own edits stay when the registered branch moves on beside it: also
// those of what the Draft's update itself brought, which the branch does not have.
func TestEditsOfWhatADraftBrought(t *testing.T) {
	t.Parallel()
	const draft = "drafts/web/packagevariant-2"
	text := func(more ...string) string { return configMap("n", more...) }
	memory := func(from gittest.Text, to string) string {
		return strings.Replace(from["web/deployment.yaml"], "memory: 64Mi", "memory: "+to, 1)
	}
	v2 := merged(webV2, gittest.Text{"web/deployment.yaml": memory(webV2, "96Mi"), "web/new.yaml": text("a: 1", "b: 1"), "web/gone.yaml": configMap("gone", "a: 1")})
	v3 := merged(v2, gittest.Text{"web/deployment.yaml": memory(webV2, "128Mi"), "web/new.yaml": text("a: 1", "b: 2")})
	for name, c := range map[string]struct {
		before func(w *world)    // the Draft is made
		edit   gittest.Text      // the Draft's, "" removes the file
		main   [3]string         // a hotfix beside it: file, from, to
		want   map[string]string // file of the Draft and what is in it, "" for none
		said   []string          // conflicts
	}{
		"a value in a resource that is new": {
			edit: gittest.Text{"web/new.yaml": text("a: 7", "b: 1")},
			want: map[string]string{"web/new.yaml": `a: 7`, "web/settings.yaml": "level: warn"},
		},
		"a resource that is new, deleted": {
			edit: gittest.Text{"web/gone.yaml": ""},
			want: map[string]string{"web/gone.yaml": "", "web/new.yaml": "a: 1"},
		},
		"a value that has changed": {
			edit: gittest.Text{"web/deployment.yaml": strings.Replace(v2["web/deployment.yaml"], "web:2.0", "web:2.0-me", 1)},
			want: map[string]string{"web/deployment.yaml": "web:2.0-me"},
		},
		"a value that has changed, on both sides": {
			edit: gittest.Text{"web/deployment.yaml": strings.Replace(v2["web/deployment.yaml"], "web:2.0", "web:2.0-me", 1)},
			main: [3]string{"web/deployment.yaml", "web:1.0", "web:1.0-hot"},
			want: map[string]string{"web/deployment.yaml": "web:2.0-me"},
			said: []string{"image: upstream wins with example.com/web:2.0; local was example.com/web:1.0-hot"},
		},
		"a value that both people changed": {
			edit: gittest.Text{"web/deployment.yaml": strings.Replace(v2["web/deployment.yaml"], "replicas: 2", "replicas: 5", 1)},
			main: [3]string{"web/deployment.yaml", "replicas: 2", "replicas: 7"},
			want: map[string]string{"web/deployment.yaml": "replicas: 7"},
			said: []string{"spec.replicas: branch main wins with 7; the Draft was 5"},
		},
		"and what the branch loses is told again": {
			before: func(w *world) { w.edit("c1", "main", "web/deployment.yaml", "web:1.0", "web:1.0-hot") },
			edit:   gittest.Text{"web/new.yaml": text("a: 7", "b: 1")},
			want:   map[string]string{"web/deployment.yaml": "web:2.0", "web/new.yaml": "a: 7"},
			said:   []string{"image: upstream wins with example.com/web:2.0; local was example.com/web:1.0-hot"},
		},
		"and what the branch keeps against upstream is told once": {
			before: func(w *world) {
				w.edit("c1", "main", "web/deployment.yaml", "memory: 64Mi", "memory: 500Mi")
				w.edit("c1", "main", "web/deployment.yaml", "  name: web\n", "  name: web\n  annotations:\n    variform.dev/on-conflict: keep\n")
			},
			edit: gittest.Text{"web/new.yaml": text("a: 7", "b: 1")},
			want: map[string]string{"web/deployment.yaml": "memory: 500Mi", "web/new.yaml": "a: 7"},
			said: []string{"memory: local wins with 500Mi"},
		},
		"and what the branch keeps stays": {
			before: func(w *world) { w.edit("c1", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 900m") },
			edit:   gittest.Text{"web/new.yaml": text("a: 7", "b: 1")},
			want:   map[string]string{"web/deployment.yaml": "cpu: 900m", "web/new.yaml": "a: 7"},
		},
	} {
		for _, released := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", with a new version"}[released], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "c1")
				w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
				w.mustApply()
				w.mustRun(0, "approve", "--all")
				if c.before != nil {
					c.before(w)
				}
				w.publishWeb(v2, "v2")
				w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
				w.mustApply()
				var files gittest.Files
				for name, data := range c.edit {
					f := gittest.File{Path: name, Data: []byte(data)}
					if data == "" {
						f.Mode = gittest.Deleted
					}
					files = append(files, f)
				}
				w.repos["c1"].Commit(t, draft, "by hand", files)
				w.mustApply()
				main := c.main
				if main[0] == "" {
					main = [3]string{"web/settings.yaml", "level: info", "level: warn"}
				}
				w.edit("c1", "main", main[0], main[1], main[2])
				if released {
					w.publishWeb(v3, "v3")
					w.write("variants/web.yaml", variantOf("web", "v3", "c1", "web", ""))
				}
				v := w.mustApply().variant(t, "c1/web")
				if len(v.Conflicts) != len(c.said) {
					t.Errorf("conflicts %q, want %q", v.Conflicts, c.said)
				}
				w.contains(strings.Join(v.Conflicts, "\n"), c.said...)
				if !strings.Contains(strings.Join(c.said, ""), "local wins") {
					w.contains(w.mustRun(0, "edits", "--lost").out, c.said...)
				}
				for file, want := range c.want {
					if want == "" {
						w.lacks(w.repos["c1"].Git(t, "ls-tree", "-r", "--name-only", draft), file)
						continue
					}
					w.contains(w.show("c1", draft, file), want)
				}
				if released {
					w.contains(w.show("c1", draft, "web/new.yaml"), "b: 2")
				}
				before := w.refs()
				w.mustApply()
				w.unchanged(before)
				w.approveSeen()
			})
		}
	}
}

// What a pipeline made of the branch's edits in a Draft is no edit of the Draft.
func TestDraftFollowsASetterOfTheBranch(t *testing.T) {
	t.Parallel()
	const draft = "drafts/web/packagevariant-2"
	w := newWorld(t, "c1")
	kpt := kptfile("pipeline:\n  mutators:\n  - image: apply-setters:v0.2\n    configMap:\n      a: \"1\"\n")
	target := func(n string) string { return configMap(n, "a: \"1\" # kpt-set: ${a}", "b: \"1\"") }
	set := func(from, to string) {
		w.edit("c1", "main", "web/Kptfile", from, to)
		w.edit("c1", "main", "web/c.yaml", from, to)
	}
	w.release("v11", files(gittest.Text{"Kptfile": kpt, "c.yaml": target("c")}))
	w.write("v.yaml", variantOf("web", "v11", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	set(`a: "1"`, `a: "5"`)
	w.release("v12", files(gittest.Text{"Kptfile": kpt, "c.yaml": target("c"), "d.yaml": target("d")}))
	w.write("v.yaml", variantOf("web", "v12", "c1", "web", ""))
	w.mustApply()
	w.contains(w.show("c1", draft, "web/d.yaml"), `a: "5"`)
	w.edit("c1", draft, "web/d.yaml", `b: "1"`, `b: "2"`)
	w.mustApply()
	set(`a: "5"`, `a: "6"`)
	if v := w.mustApply().variant(t, "c1/web"); len(v.Conflicts) > 0 {
		t.Errorf("conflicts %q of edits that nobody made", v.Conflicts)
	}
	w.contains(w.show("c1", draft, "web/d.yaml"), `a: "6"`, `b: "2"`)
}

// A strategy is for updates: a person's edit on a Draft stays until there is one,
// and what that drops is listed by field, also what the branch brought.
func TestStrategiesDropWithTheNextUpdate(t *testing.T) {
	t.Parallel()
	const draft = "drafts/web/packagevariant-2"
	for strategy, fails := range map[string]bool{"force-delete-replace": false, "copy-merge": false, "fast-forward": true} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			want := func(revision string) {
				w.write("web.yaml", strings.Replace(variantOf("web", revision, "c1", "web", ""), "  name: web\n", "  name: web\n  annotations: {variform.dev/update-strategy: "+strategy+"}\n", 1))
			}
			want("v1")
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.publishWeb(webV2, "v2")
			want("v2")
			w.mustApply()
			w.edit("c1", draft, "web/deployment.yaml", "cpu: 100m", "cpu: 700m")
			if v := w.mustApply(); len(v.variant(t, "c1/web").Conflicts) > 0 {
				t.Errorf("conflicts without an update: %s", v.out)
			}
			w.contains(w.show("c1", draft, "web/deployment.yaml"), "cpu: 700m")
			w.edit("c1", "main", "web/settings.yaml", "level: info", "level: warn")
			w.publishWeb(webCPU, "v3")
			want("v3")
			v := w.apply().variant(t, "c1/web")
			if fails {
				w.contains(v.Error, "modified locally")
				return
			}
			w.contains(strings.Join(v.Conflicts, "\n"), "700m", "data.level", "warn")
			w.contains(w.show("c1", draft, "web/deployment.yaml"), "cpu: 300m")
		})
	}
}

// What image automation set on main comes back where a strategy that replaces left it
// out of a Draft, and another strategy updates that; a person's value on the Draft
// stays.
func TestOwnedElsewhereComesBack(t *testing.T) {
	t.Parallel()
	const draft = "drafts/web/packagevariant-2"
	app := func(image, x string) gittest.Text {
		return gittest.Text{
			"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n",
			"c.yaml":  configMap("c", "image: "+image+" # {\"$imagepolicy\": \"flux-system:app\"}", "x: "+x),
		}
	}
	for name, mine := range map[string]bool{"automation's": false, "a person's on the Draft": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			want := func(revision, strategy string) {
				w.write("web.yaml", strings.Replace(variantOf("web", revision, "c1", "web", ""), "  name: web\n", "  name: web\n  annotations: {variform.dev/update-strategy: "+strategy+"}\n", 1))
			}
			w.release("v11", files(app("app:1", "a")))
			want("v11", "resource-merge")
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.edit("c1", "main", "web/c.yaml", "app:1", "app:5")
			w.release("v12", files(app("app:1", "b")))
			want("v12", "force-delete-replace")
			w.contains(strings.Join(w.mustApply().variant(t, "c1/web").Conflicts, "\n"), "app:5")
			w.contains(w.show("c1", draft, "web/c.yaml"), "app:1")
			image := "app:5"
			if mine {
				image = "app:7"
				w.edit("c1", draft, "web/c.yaml", "app:1", image)
			}
			w.release("v13", files(app("app:2", "c")))
			want("v13", "resource-merge")
			w.mustApply()
			w.contains(w.show("c1", draft, "web/c.yaml"), image, "x: c")
		})
	}
}

// A forge may merge a Draft as a person left it while a run renders that: what
// came is tagged, and the Draft goes on from there.
func TestMergedBeforeItWasRendered(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"merge", "squash", "rebase", "fast-forward"} {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			const draft = "drafts/web/packagevariant-1"
			w := newWorld(t, "c1")
			w.draftWithSetter()
			w.edit("c1", draft, "web/cm.yaml", `b: "5"`, "c: mine\n  b: \"7\"")
			w.wantActions(w.mustApply(), map[string]string{"c1/web": "update"})
			w.repos["c1"].Branch(t, "as-edited", w.repos["c1"].Git(t, "rev-parse", draft+"~1"))
			w.forgeMerge("c1", "as-edited", style, true)
			w.mustApply()
			w.contains(w.show("c1", "refs/tags/web/v1", "web/cm.yaml"), `b: "7"`)
			before := w.refs()
			w.mustApply()
			w.unchanged(before)
			w.mustRun(0, "approve", "--all", "--accept-lost")
			w.contains(w.show("c1", "main", "web/cm.yaml"), "c: mine", `b: "5"`)
		})
	}
}

// A Draft that a person edited and a forge merged before any run built it is built next:
// the revision is as it was merged, and the next Draft is as it is rendered.
func TestMergedBeforeItWasBuilt(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"merge", "squash", "rebase", "fast-forward"} {
		for _, removed := range []bool{true, false} {
			t.Run(fmt.Sprint(style, removed), func(t *testing.T) {
				t.Parallel()
				const draft = "drafts/web/packagevariant-1"
				w := newWorld(t, "c1")
				w.draftWithSetter()
				w.edit("c1", draft, "web/cm.yaml", `b: "5"`, "c: mine\n  b: \"7\"")
				w.forgeMerge("c1", draft, style, removed)
				w.contains(w.mustRun(0, "status", "-o", "yaml").out, "type: Proved", "reason: Unproved")
				const why = "no run built what was merged: rendered and validated"
				w.contains(w.mustRun(0, "plan").out, "merged into main by other means: becomes v1", why)
				w.contains(w.mustApply().out, why)
				w.contains(w.show("c1", "refs/tags/web/v1", "web/cm.yaml"), "c: mine", `b: "7"`)
				w.contains(w.show("c1", "drafts/web/packagevariant-2", "web/cm.yaml"), "c: mine", `b: "5"`)
				before := w.refs()
				w.mustApply()
				w.unchanged(before)
				w.mustRun(0, "approve", "--all", "--accept-lost")
				w.contains(w.show("c1", "main", "web/cm.yaml"), "c: mine", `b: "5"`)

				if style == "squash" && removed {
					return // nothing tells any more what the machine made
				}
				// An edit that rendering leaves as it is makes no Draft, and is built once.
				w.write("v.yaml", variantOf("web", "v11", "c1", "web", mutator("apply-setters:v0.2", `b: "6"`)))
				w.mustApply()
				w.edit("c1", "drafts/web/packagevariant-3", "web/cm.yaml", "c: mine", "c: yours")
				w.forgeMerge("c1", "drafts/web/packagevariant-3", style, removed)
				w.wantActions(w.mustApply(), map[string]string{"c1/web": "tag"})
				before = w.refs()
				w.lacks(w.mustRun(0, "status", "-o", "yaml").out, "Unproved")
				w.mustApply()
				w.unchanged(before)
			})
		}
	}
}

// Readiness gates of what a forge merged are reported.
func TestMergedWithUnmetGates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.publishWeb(gittest.Text{"web/settings.yaml": injectionPoint("settings", "required")}, "v9")
	w.write("v.yaml", variantOf("web", "v9", "c1", "web", ""))
	w.mustApply()
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "squash", true)
	r := w.mustRun(0, "apply")
	w.contains(r.out+r.err, "merged although readiness gates are not met: config.injection.ConfigMap.settings is False")
	w.contains(w.mustRun(0, "status").out, "gates not met: config.injection.ConfigMap.settings")
}

// A program that writes what it read before (Porch does) sets a Draft back: the run
// that makes it anew says field by field what that takes back, and of whom.
func TestStaleWriteOnADraft(t *testing.T) {
	t.Parallel()
	set := func(to string) string { return mutator("apply-setters:v0.2", "quota: "+to) }
	quota := "data.quota: overruled with huge, the edit was large: change function apply-setters:v0.2, spec.pipeline of PackageVariant web, by Ann Tester ("
	lock := "Kptfile: Kptfile.kpt.dev/web: upstreamLock: upstream wins with web/v12; local was web/v11, by Ann Tester ("
	value := "a.yaml: ConfigMap/a: data.x: upstream wins with two; local was one, by Ann Tester ("
	for name, row := range map[string]struct {
		revision, quota string
		told, not       []string
	}{
		"the variant changed":  {"v11", "huge", []string{quota}, []string{lock, value}},
		"the upstream changed": {"v12", "large", []string{lock, value}, []string{quota}},
		"both":                 {"v12", "huge", []string{lock, value, quota}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			catalog := w.repos["catalog"]
			catalog.Tag(t, "web/v11", catalog.Commit(t, "main", "v11", files(merged(noWeb, gittest.Text{
				"a.yaml": configMap("a", "x: one"), "q.yaml": configMap("q", "quota: small # kpt-set: ${quota}"),
			}))))
			catalog.Tag(t, "web/v12", catalog.Commit(t, "main", "v12", files(gittest.Text{"a.yaml": configMap("a", "x: two")})))
			w.write("v.yaml", variantOf("web", "v11", "c1", "web", set("large")))
			w.mustApply()
			git := w.repos["c1"]
			old := git.Git(t, "rev-parse", draft1+"^{tree}")
			w.write("v.yaml", variantOf("web", row.revision, "c1", "web", set(row.quota)))
			w.mustApply()
			want := git.Git(t, "rev-parse", draft1+"^{tree}")
			git.Git(t, "update-ref", draft1, git.Git(t, "commit-tree", "-m", "edit", "-p", draft1, old))

			w.contains(w.apply("--on-conflict=stop").variant(t, "c1/web").Error, "conflicts are set to stop")
			for _, command := range []string{"plan", "apply"} {
				out := w.mustRun(0, command).err
				w.contains(out, row.told...)
				w.lacks(out, row.not...)
			}
			w.contains(git.Git(t, "log", "-1", "--format=%B", draft1), row.told...)
			if got := git.Git(t, "rev-parse", draft1+"^{tree}"); got != want {
				t.Errorf("the Draft is not what its variant says:\n%s", git.Git(t, "diff", want, got))
			}
			before := w.refs()
			w.mustApply()
			w.unchanged(before)
		})
	}
}
