package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// Values are traced to what set them, through functions and the hands of people.
func TestBlame(t *testing.T) {
	t.Parallel()
	w, _ := originsWorld(t, slices.DeleteFunc(slices.Clone(features), func(f feature) bool { return f.last != "" })) // replacements find nothing under other names
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	repo := w.repos["c1"]
	text := w.show("c1", "main", "app/service.yaml")
	tags := w.show("c1", "main", "app/setters.yaml")
	repo.Commit(t, "main", "by hand", gittest.Text{
		"app/service.yaml": strings.Replace(text, "name: web", "name: web\n  finalizers: [keep]", 1),
		"app/setters.yaml": strings.Replace(tags, `tag: "1.4"`, `tag: "1.7"`, 1),
	})
	refs := w.refs()
	want := map[string]string{
		"Deployment/web:spec.replicas":                                     "catalog/app@app/v1 setters.yaml:8 via apply-setters:v0.2",
		"Deployment/web:spec.template.spec.containers[name=side].image":    "via set-image:v0.1",
		"Deployment/web:spec.template.spec.containers[name=web].image":     "edited by ",
		"Service/web:metadata.finalizers":                                  "edited by ",
		"Service/web:spec.url":                                             "context.yaml:6 ConfigMap c1 data.url via apply-replacements:v0.1",
		"Service/web:spec.region":                                          "repository.labels['env'] via apply-replacements:v0.1",
		"Service/web:metadata.namespace":                                   "pipeline.mutators[2].configMap.namespace via set-namespace:v0.4",
		"Service/web:metadata.labels.part":                                 "via set-labels:v0.2",
		"ConfigMap/kptfile.kpt.dev:data.stage":                             "set.yaml:19 packageContext.data.stage",
		"ConfigMap/kptfile.kpt.dev:data.package-path":                      "the package's own package-path",
		"Service.example.com/web:spec.port":                                "",
		"Deployment.apps/web:spec.template.spec.containers[name=web].name": "catalog/app@app/v1 deploy.yaml:10",
	}
	for what, by := range want {
		if by == "" {
			w.contains(w.mustRun(2, "blame", "c1/app", what).err, `no file, resource or field "`+what+`"`)
			continue
		}
		w.contains(w.mustRun(0, "blame", "c1/app", what).out, by)
	}
	annotated := w.mustRun(0, "blame", "c1/app", "deploy.yaml").out
	w.contains(annotated, "catalog/app@app/v1 deploy.yaml:2 ", "|   replicas: 3 # kpt-set: ${replicas}\n")
	if got := strings.Count(annotated, "\n"); got != strings.Count(w.show("c1", "main", "app/deploy.yaml"), "\n") {
		t.Errorf("%d lines:\n%s", got, annotated)
	}
	w.contains(w.mustRun(0, "blame", "c1/app", "notes.txt").out, "catalog/app@app/v1 notes.txt | for people")
	w.contains(w.mustRun(0, "blame", "c1/app").out, "RESOURCE", "more as in catalog/app@app/v1")
	w.unchanged(refs)

	w.contains(w.mustRun(2, "blame").err, "give a package")
	w.contains(w.mustRun(2, "blame", "c1/app", "none.yaml").err, `no file, resource or field "none.yaml"`)
	w.contains(w.mustRun(2, "blame", "nowhere").err, `nothing is called "nowhere"`)
	w.contains(w.mustRun(2, "blame", "c1/app", "-o", "annotated").err, "name a file of the package")
}

// stagedSet makes web on each cluster; keys of its package context follow.
const stagedSet = webSet + `      template:
        packageContext:
          data:
`

// One field over the fleet, and the way back from a line of its input.
func TestBlameFleet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2", "c3")
	w.write("set.yaml", stagedSet+`            stage: live
          dataExprs:
          - key: tier
            valueExpr: "repository.name == 'c3' ? 'low' : 'high'"
`)
	type spread struct {
		Field, Value string
		Origin       blamedOrigin
		Members      []string
	}
	fields := func(args ...string) (out []spread) {
		t.Helper()
		var doc struct{ Fields []spread }
		if err := json.Unmarshal([]byte(w.mustRun(0, append(args, "-o", "json")...).out), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Fields
	}
	got := fields("blame", "--all", "--field", "ConfigMap/kptfile.kpt.dev:data.tier")
	if len(got) != 2 || got[0].Value != "low" || len(got[0].Members) != 1 || got[1].Value != "high" || len(got[1].Members) != 2 || got[1].Origin.Line != 20 {
		t.Errorf("%+v", got)
	}
	if got := fields("impact", "set.yaml:20"); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	if got := fields("impact", "set.yaml:15"); len(got) != 3 { // with what is indented below
		t.Errorf("%+v", got)
	}
	if got := fields("impact", "repositories/c1.yaml"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if got := fields("impact", "set.yaml:9"); len(got) != 1 || got[0].Field != "Kptfile/web:upstream.git.ref" || len(got[0].Members) != 3 || got[0].Origin.Line != 9 {
		t.Errorf("%+v", got)
	}
	w.contains(w.mustRun(0, "blame", "c1/web", "Kptfile/web:upstream").out, "set.yaml:7 spec.upstream.repo", "set.yaml:8 spec.upstream.package", "set.yaml:9 spec.upstream.revision", "set.yaml:6 spec.upstream\n")
	w.contains(w.mustRun(0, "impact", "set.yaml:17").out, "3 values in 3 variants of 3")
	w.contains(w.mustRun(2, "impact", "none.yaml:3").err, "none.yaml is no file of the management directory")
	w.contains(w.mustRun(2, "impact", "set.yaml:99").err, "set.yaml has ")
	w.contains(w.mustRun(2, "impact", "set.yaml:x").err, `"x" is no line`)
	w.contains(w.mustRun(2, "blame", "--all").err, "--all needs --field")

	// What somebody holds is there, what somebody deleted is not: who names it is told so.
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.mustRun(0, "hold", "c1", "--reason", "incident")
	w.repos["c2"].Commit(t, "main", "web goes", gittest.Files{{Path: "web", Mode: gittest.Deleted}})
	if got := fields("blame", "--all", "--field", "ConfigMap/kptfile.kpt.dev:data.tier"); len(got) != 2 || len(got[1].Members) != 1 {
		t.Errorf("%+v", got)
	}
	w.contains(w.mustRun(1, "blame", "c2/web").err, "it is not made in this run: wait, deleted on main")
}

// Who wrote an input, and when: of a fleet in a work tree and of the same by its
// repository, with what nobody committed.
func TestBlameSince(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	set := func(stage string) string {
		return stagedSet + "            stage: " + stage + "\n            team: a\n"
	}
	what := "ConfigMap/kptfile.kpt.dev:data"
	w.write("set.yaml", set("old"))
	w.contains(w.mustRun(2, "blame", "c1/web", what, "--since").err, "is in no Git repository")

	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", w.fleet()}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "all", "--author", "Ann <ann@example.com>", "--date", "2026-01-02T03:04:05Z")
	ann := git("rev-parse", "HEAD")
	w.write("set.yaml", "# a line more\n"+set("live"))
	git("commit", "-qam", "live", "--author", "Bob <bob@example.com>", "--date", "2026-02-03T03:04:05Z")
	bob := git("rev-parse", "HEAD")

	out := w.mustRun(0, "blame", "c1/web", what, "--since").out
	w.contains(out, "SINCE", ann[:7]+" 2026-01-02 Ann", bob[:7]+" 2026-02-03 Bob")
	w.contains(w.mustRun(0, "blame", "--all", "--field", what+".stage", "--since").out, "SINCE", bob[:7]+" 2026-02-03 Bob")
	w.contains(w.mustRun(0, "blame", "c1/web", "package-context.yaml", "--since").out, "packageContext.data.stage, "+bob[:7])
	if out := w.mustRun(0, "blame", "c1/web", what).out; strings.Contains(out, "SINCE") || strings.Contains(out, "Bob") {
		t.Errorf("nobody asked:\n%s", out)
	}
	w.contains(w.mustRun(0, "blame", "c1/web", what, "--since", "-o", "json").out, `"commit": "`+bob+`"`, `"author": "Bob"`, `"time": "2026-02-03T03:04:05Z"`)

	w.write("set.yaml", "# a line more\n# and one\n"+set("mine"))
	out = w.mustRun(0, "blame", "c1/web", what, "--since").out
	w.contains(out, "not committed", ann[:7]+" 2026-01-02 Ann")
	if strings.Contains(out, bob[:7]) {
		t.Errorf("overwritten:\n%s", out)
	}
	r := runIn(filepath.Join(w.dir, "cache"), "blame", "c1/web", what, "--since", "-f", "file://"+w.fleet()+"@main")
	w.contains(r.out+r.err, bob[:7]+" 2026-02-03 Bob")

	// What came after it was last approved says so; c2 is approved with it, c3 never was.
	git("checkout", "-q", "set.yaml")
	if out := w.mustRun(0, "blame", "c1/web", what, "--since").out; strings.Contains(out, "approval") {
		t.Errorf("never approved:\n%s", out)
	}
	w.mustApply()
	nextSecond := func() { // Git's times have no less, and its clock is a little late
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(1050 * time.Millisecond)))
	}
	nextSecond()
	w.mustRun(0, "approve", "c1/web")
	nextSecond()
	w.write("set.yaml", "# a line more\n"+set("late"))
	git("commit", "-qam", "late", "--author", "Cid <cid@example.com>", "--date", "2026-03-03T03:04:05Z")
	w.mustApply()
	nextSecond()
	w.mustRun(0, "approve", "c2/web")
	late := git("rev-parse", "HEAD")[:7] + " 2026-03-03 Cid"
	out = w.mustRun(0, "blame", "c1/web", what, "--since").out
	w.contains(out, late+", after the last approval\n")
	if strings.Count(out, "after the last approval") != 1 {
		t.Errorf("the other line is older:\n%s", out)
	}
	w.contains(w.mustRun(0, "blame", "--all", "--field", what+".stage", "--since").out, late+", after the last approval of 1 of 2\n")
	w.contains(w.mustRun(0, "blame", "c1/web", "package-context.yaml", "--since").out, late+", after the last approval |")
	w.contains(w.mustRun(0, "blame", "c1/web", what, "--since", "-o", "json").out, `"afterApproval": true`)
}
