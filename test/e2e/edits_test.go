package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

type editedRevision struct {
	Variant, Revision, By, Unknown string
	Edits                          []struct{ File, Resource, Op, Field, Before, After, By string }
	Lost                           []string
}

func (w *world) edits(names ...string) (out []editedRevision) {
	w.t.Helper()
	r := w.mustRun(0, append([]string{"edits", "-o", "json"}, names...)...)
	var doc struct{ Revisions []editedRevision }
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		w.t.Fatalf("%v\n%s", err, r.out)
	}
	return doc.Revisions
}

func (r editedRevision) String() string {
	var edits []string
	for _, e := range r.Edits {
		edits = append(edits, strings.Join([]string{e.File, e.Op, e.Resource, e.Field, e.Before, e.After}, "|"))
	}
	return r.Variant + " " + r.Revision + " by " + r.By + ": " + strings.Join(edits, "; ")
}

// People's edits are what is other than the machine made: on the branch and on
// Drafts, carried from revision to revision, and still known when only the record
// can tell.
func TestEdits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	const cpu, level = "deployment.yaml|change|Deployment web|spec.template.spec.containers[name=web].resources.requests.cpu|100m|900m", "settings.yaml|change|ConfigMap settings|data.level|info|debug"
	w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.write("variants/other.yaml", variantOf("other", "v1", "c2", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	want := func(says string, list ...string) {
		t.Helper()
		var got []string
		for _, r := range w.edits() {
			if r.Unknown != "" {
				t.Errorf("%s: %s", says, r.Unknown)
			}
			by, _, _ := strings.Cut(r.By, " (")
			r.By = by
			got = append(got, r.String())
		}
		if strings.Join(got, "\n") != strings.Join(list, "\n") {
			t.Errorf("%s:\n%s\nwant:\n%s", says, strings.Join(got, "\n"), strings.Join(list, "\n"))
		}
	}
	want("nothing was edited")
	hotfix := w.edit("c1", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 900m")
	want("a hotfix", "c1/web main by Ann Tester: "+cpu)
	w.publishWeb(webV2, "v2")
	w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	onDraft := w.edit("c1", "drafts/web/packagevariant-2", "web/settings.yaml", "level: info", "level: debug")
	want("and an edit of the Draft that carries it",
		"c1/web packagevariant-2 by Ann Tester: "+cpu+"; "+level, "c1/web main by Ann Tester: "+cpu)
	if list := w.edits("other"); len(list) != 0 {
		t.Errorf("of another variant: %v", list)
	}
	w.contains(w.mustRun(0, "edits").out, "900m", "Ann Tester", "3 edits in 2 revisions")
	w.approveSeen()
	want("approved", "c1/web main by : "+cpu+"; "+level)
	w.publishWeb(webV1, "v3")
	w.write("variants/web.yaml", variantOf("web", "v3", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	want("carried on", "c1/web main by : "+cpu+"; "+level)
	for i, commit := range []string{hotfix, onDraft} {
		if by := w.edits()[0].Edits[i].By; by != "Ann Tester ("+commit[:7]+")" {
			t.Errorf("edit %d is by %q, want commit %s", i, by, commit)
		}
	}
	w.mustRun(2, "edits", "nobody")

	// What an update loses is told with who wrote it, and still after that.
	w.publishWeb(webCPU, "v4")
	w.write("variants/web.yaml", variantOf("web", "v4", "c1", "web", ""))
	w.contains(strings.Join(w.mustApply().variant(t, "c1/web").Conflicts, "\n"), "local was 900m, by Ann Tester ("+hotfix[:7]+")")
	for _, decided := range []bool{false, true} {
		if decided {
			w.mustRun(0, "approve", "--all", "--accept-lost")
		}
		list := w.edits("c1/web", "--lost")
		if len(list) == 0 || len(list[0].Lost) != 1 || !strings.Contains(list[0].Lost[0], "local was 900m, by Ann Tester ("+hotfix[:7]+")") {
			t.Errorf("lost: %v", list)
		}
		w.contains(w.mustRun(0, "edits", "--lost").out, "lost by ", "900m", hotfix[:7])
	}
}

// An edit that stands on the branch is its writer's in a Draft that carries it over as
// well, whether the Draft was there before or not; one that a person changed there is not.
func TestEditsOfADraftHaveWriters(t *testing.T) {
	t.Parallel()
	const draft = "packagevariant-2"
	for name, c := range map[string]struct {
		before, after [2]string // main's edit, before and after the Draft was made
		onDraft       string    // what a person makes of it there
	}{
		"before the Draft":             {before: [2]string{"cpu: 100m", "cpu: 900m"}},
		"beside the Draft":             {after: [2]string{"cpu: 100m", "cpu: 900m"}},
		"and another one on the Draft": {before: [2]string{"cpu: 100m", "cpu: 900m"}, onDraft: "cpu: 800m"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			var by string
			edit := func(change [2]string) {
				if change[0] != "" {
					by = "Ann Tester (" + w.edit("c1", "main", "web/deployment.yaml", change[0], change[1])[:7] + ")"
				}
			}
			edit(c.before)
			w.publishWeb(webV2, "v2")
			w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
			w.mustApply()
			edit(c.after)
			w.mustApply()
			want := map[string]string{"main": by, draft: by}
			if c.onDraft != "" {
				want[draft] = "Ann Tester (" + w.edit("c1", "drafts/web/"+draft, "web/deployment.yaml", "cpu: 900m", c.onDraft)[:7] + ")"
			}
			for _, r := range w.edits() {
				if len(r.Edits) != 1 || r.Edits[0].By != want[r.Revision] || want[r.Revision] == "" {
					t.Errorf("%s: by %q, want %q", r, r.Edits[0].By, want[r.Revision])
				}
				delete(want, r.Revision)
			}
			if len(want) > 0 {
				t.Errorf("no edits in %v", want)
			}
		})
	}
}

// An edit that is dropped goes in a Draft, from the branch or from the Draft that is
// open; all others stay, and no later run brings it back.
func TestDropEdit(t *testing.T) {
	t.Parallel()
	const cpu, replicas = "Deployment web spec.template.spec.containers[name=web].resources.requests.cpu", "Deployment web spec.replicas"
	for name, tt := range map[string]struct {
		drop  []string
		open  bool // the edits are on an open Draft
		says  string
		lacks []string // of the Draft
		has   []string
		same  []string // files that are what the machine made
	}{
		"a field":                {drop: []string{replicas}, lacks: []string{"replicas: 5"}, has: []string{"replicas: 2", "cpu: 900m", "level: debug"}},
		"of the Draft":           {drop: []string{replicas}, open: true, lacks: []string{"replicas: 5"}, has: []string{"replicas: 2", "cpu: 900m", "level: debug"}},
		"by the field alone":     {drop: []string{"data.level"}, lacks: []string{"level: debug"}, has: []string{"replicas: 5", "cpu: 900m"}, same: []string{"settings.yaml"}},
		"several":                {drop: []string{replicas, "deployment.yaml " + cpu}, lacks: []string{"replicas: 5", "900m"}, has: []string{"level: debug"}, same: []string{"deployment.yaml"}},
		"a file":                 {drop: []string{"README.md"}, lacks: []string{"# mine"}, has: []string{"replicas: 5", "level: debug"}, same: []string{"README.md"}},
		"a resource":             {drop: []string{"ConfigMap extra"}, lacks: []string{"name: extra"}, has: []string{"replicas: 5"}},
		"the newest commit":      {drop: []string{"ConfigMap gone", "ConfigMap extra"}, lacks: []string{"name: extra"}, has: []string{"name: gone", "replicas: 5"}},
		"what was removed":       {drop: []string{"ConfigMap gone"}, lacks: nil, has: []string{"name: gone", "replicas: 5"}, same: []string{"gone.yaml"}},
		"unknown":                {drop: []string{"spec.nosuch"}, says: "no edit is called that; there is: README.md; Deployment web spec.replicas"},
		"more than one":          {drop: []string{"deployment.yaml"}, says: "may mean each of: deployment.yaml Deployment web spec.replicas; deployment.yaml Deployment web spec.template"},
		"one of several unknown": {drop: []string{replicas, "x"}, says: `"x": no edit`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.publishWeb(gittest.Text{"web/gone.yaml": configMap("gone", "a: b")}, "v2")
			w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
			w.mustApply()
			branch := "drafts/web/packagevariant-1"
			if !tt.open {
				w.mustRun(0, "approve", "--all")
				branch = "main"
			}
			made := map[string]string{}
			for _, f := range tt.same {
				made[f] = w.show("c1", "refs/heads/"+branch, "web/"+f)
			}
			w.edit("c1", branch, "web/deployment.yaml", "replicas: 2", "replicas: 5")
			w.edit("c1", branch, "web/deployment.yaml", "cpu: 100m", "cpu: 900m")
			w.edit("c1", branch, "web/settings.yaml", "level: info", "level: debug")
			w.edit("c1", branch, "web/README.md", "# web", "# mine")
			w.repos["c1"].Commit(t, branch, "by hand", gittest.Files{
				{Path: "web/extra.yaml", Data: []byte(configMap("extra", "a: b"))}, {Path: "web/gone.yaml", Mode: gittest.Deleted},
			})
			args := []string{"edits", "web", "-o", "json"}
			for _, d := range tt.drop {
				args = append(args, "--drop", d)
			}
			before := w.refs()
			if tt.says != "" {
				w.contains(w.mustRun(2, args...).err, tt.says)
				w.unchanged(before)
				return
			}
			var p planned
			if err := json.Unmarshal([]byte(w.mustRun(0, args...).out), &p); err != nil || len(p.Variants) != 1 {
				t.Fatal(err, p.Variants)
			}
			v := p.Variants[0]
			w.contains(strings.Join(v.Reasons, "\n"), "without the edit by hand of "+tt.drop[0])
			text := w.texts("c1", v.Commit, "web/")
			w.contains(text, tt.has...)
			w.lacks(text, tt.lacks...)
			for f, was := range made {
				if now := w.show("c1", v.Commit, "web/"+f); now != was {
					t.Errorf("%s is\n%s\nwas\n%s", f, now, was)
				}
			}
			drafted := w.refs()
			w.wantActions(w.mustApply(), map[string]string{})
			w.unchanged(drafted)
			// The branch moves on beside it, and the upstream: it stays away.
			w.edit("c1", "main", "README.md", "# c1", "# c1 too")
			if !tt.open {
				w.edit("c1", "main", "web/deployment.yaml", "memory: 64Mi", "memory: 65Mi")
				w.wantActions(w.mustApply(), all("update", "c1/web"))
			}
			w.publishWeb(merged(webV2, gittest.Text{"web/gone.yaml": configMap("gone", "a: b")}), "v3")
			w.write("v.yaml", variantOf("web", "v3", "c1", "web", ""))
			w.wantActions(w.mustApply(), all("update", "c1/web"))
			w.approveSeen()
			text = w.texts("c1", "main", "web/")
			w.contains(text, append(tt.has, "web:2.0")...)
			w.lacks(text, tt.lacks...)
		})
	}
}

// A Draft without the only edit is what the machine made, and stays so.
func TestDropOnlyEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.edit("c1", "main", "web/deployment.yaml", "replicas: 2", "replicas: 5")
	w.mustRun(0, "edits", "web", "--drop", "spec.replicas")
	w.edit("c1", "main", "web/deployment.yaml", "memory: 64Mi", "memory: 65Mi")
	w.wantActions(w.mustApply(), all("update", "c1/web"))
	text := w.show("c1", "refs/heads/drafts/web/packagevariant-2", "web/deployment.yaml")
	w.contains(text, "memory: 65Mi", "replicas: 2")
	w.contains(w.mustRun(2, "edits", "web", "--drop", "spec.replicas").err, "no edit is called that; there is: Deployment web spec.template")
	w.contains(w.mustRun(2, "edits", "--drop", "spec.replicas").err, "give the names")
	w.mustRun(0, "edits", "web", "--drop", "spec.template.spec.containers[name=web].resources.requests.memory")
	w.approveSeen()
	if len(w.edits()) != 0 {
		t.Error(w.edits())
	}
	w.contains(w.mustRun(2, "edits", "web", "--drop", "spec.replicas").err, "nobody edited")
}

// What cannot be dropped is told, with what to change instead, and nothing moves; what
// a pipeline made of an edit goes with it.
func TestDropDerived(t *testing.T) {
	t.Parallel()
	const setter, value = "Kptfile web pipeline.mutators[image=apply-setters].configMap.a", "ConfigMap c data.a"
	for name, tt := range map[string]struct {
		drop string
		hold bool
		says []string
	}{
		"what a function sets": {drop: value, says: []string{"the edit by hand of " + value + " cannot be dropped, for that is made again: change function apply-setters:v0.2"}},
		"the setter":           {drop: setter},
		"held":                 {drop: setter, hold: true, says: []string{"the edit by hand was not dropped: held by ", "not now: variform hold --off c1/web takes that off"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.release("v11", files(gittest.Text{
				"Kptfile": kptfile("pipeline:\n  mutators:\n  - image: apply-setters:v0.2\n    configMap:\n      a: \"1\"\n"),
				"c.yaml":  configMap("c", "a: \"1\" # kpt-set: ${a}", "b: \"1\""),
			}))
			w.write("v.yaml", variantOf("web", "v11", "c1", "web", ""))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.edit("c1", "main", "web/Kptfile", `a: "1"`, `a: "5"`)
			w.edit("c1", "main", "web/c.yaml", `a: "1"`, `a: "5"`)
			w.edit("c1", "main", "web/c.yaml", `b: "1"`, `b: "2"`)
			if tt.hold {
				w.mustRun(0, "hold", "web", "--reason", "not now")
			}
			args := []string{"edits", "web", "-o", "json", "--drop", tt.drop}
			if tt.says != nil {
				before := w.refs()
				r := w.mustRun(1, args...)
				w.contains(r.out, tt.says...)
				w.unchanged(before)
				return
			}
			var p planned
			r := w.mustRun(0, args...)
			if err := json.Unmarshal([]byte(r.out), &p); err != nil {
				t.Fatal(err)
			}
			if v := p.Variants[0]; len(v.Conflicts) > 0 || len(v.Edits) > 0 {
				t.Errorf("%q %v of what nobody edited", v.Conflicts, v.Edits)
			}
			w.contains(w.texts("c1", p.Variants[0].Commit, "web/"), `a: "1"`, `b: "2"`)
			w.lacks(w.texts("c1", p.Variants[0].Commit, "web/"), `a: "5"`)
		})
	}
}
