package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// Values that the fleet gives make one class; what a person changes in a Draft makes
// another one and stands at the head.
func TestOneChangeIsOneClass(t *testing.T) {
	t.Parallel()
	repos := []string{"c1", "c2", "c3", "c4"}
	w := newWorld(t, repos...)
	w.publishWeb(gittest.Text{"web/Kptfile": kptfile(""), "web/e.yaml": "apiVersion: x.io/v1\nkind: E\nmetadata:\n  name: e\n  annotations:\n    kpt.dev/config-injection: required\nspec:\n  ip: x\n"}, "v9")
	var context strings.Builder
	for i, name := range repos {
		fmt.Fprintf(&context, "---\napiVersion: x.io/v1\nkind: E\nmetadata:\n  name: settings-%s\nspec:\n  ip: 10.0.0.%d\n", name, i+1)
		w.write("v"+name+".yaml", variantOf("web-"+name, "v9", name, "web", "  injectors: [{kind: E, name: settings-"+name+"}]\n"))
	}
	w.write("context/e.yaml", context.String())
	w.mustApply()
	r := w.review()
	if len(r.Classes) != 1 || len(r.Classes[0].Members) != 4 {
		t.Fatalf("%d classes: %s", len(r.Classes), r.Summary)
	}
	w.contains(r.Classes[0].Says, "creates the package; sets spec.ip of E e: 4 values (10.0.0.1 … 10.0.0.4)")

	w.edit("c2", "drafts/web/packagevariant-1", "web/e.yaml", "10.0.0.2", "10.6.6.6")
	again := w.review()
	if len(again.Classes) != 2 || len(again.Classes[0].Members) != 1 || again.Classes[1].Key != r.Classes[0].Key {
		t.Fatalf("%d classes: %s", len(again.Classes), again.Summary)
	}
	w.contains(again.Classes[0].Says, "spec.ip of E e x → 10.6.6.6")
	w.contains(w.mustRun(0, "review").out, "! edited by hand: c2/web\n")
	w.contains(w.mustRun(0, "review", "--no-diff").out, "  E e spec.ip: 3 values: 10.0.0.# × 3; and ")
}

// Members that are a whole set are told by its name, and by their own where one of the
// set is not among them.
func TestAllOfASet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "one", "two", "three"))
	w.contains(w.mustRun(0, "plan", "-o", "markdown").out, "all of set `web`")
	w.mustApply()
	w.contains(w.mustRun(0, "review", "-o", "markdown").out, "all of set `web`")
	w.contains(w.mustRun(0, "review").out, "\n  all of set web\n")
	w.contains(w.mustRun(0, "review", "--all-members").out, "\n  c1/one, c1/three, c1/two\n")
	w.mustRun(0, "approve", "c1/two")
	w.contains(w.mustRun(0, "review").out, "\n  c1/one, c1/three\n")
}
