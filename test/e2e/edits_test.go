package e2e

import (
	"encoding/json"
	"strings"
	"testing"
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
	w.mustRun(0, "approve", "--all")
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
			w.mustRun(0, "approve", "--all")
		}
		list := w.edits("c1/web", "--lost")
		if len(list) == 0 || len(list[0].Lost) != 1 || !strings.Contains(list[0].Lost[0], "local was 900m, by Ann Tester ("+hotfix[:7]+")") {
			t.Errorf("lost: %v", list)
		}
		w.contains(w.mustRun(0, "edits", "--lost").out, "lost by ", "900m", hotfix[:7])
	}
}
