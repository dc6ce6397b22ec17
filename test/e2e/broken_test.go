package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// Ten targets are broken in ten ways: all others are as in a fleet without them, to
// the hash of each commit, and each cause is told once.
func TestTenBrokenTargets(t *testing.T) {
	t.Parallel()
	const healthy = 190
	var clusters, broken []string
	for i := range healthy {
		clusters = append(clusters, fmt.Sprintf("c%03d", i))
	}
	for i := range 10 {
		broken = append(broken, fmt.Sprintf("b%d", i))
	}
	w := newWorld(t, append(clusters, broken...)...)
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+"}\n")
	w.offer("db", "1.0.0", "  scope: Cluster\n", gittest.Text{"cm.yaml": dbMap})
	w.offer("db", "2.0.0", "  scope: Cluster\n", gittest.Text{"cm.yaml": dbMap})
	w.offer("app", "1.0.0", "  requires: [{alias: db, package: db, version: ^1}]\n", nil)
	w.offer("other", "1.0.0", "  requires: [{alias: db, package: db, version: ^2}]\n", nil)
	w.offer("broken", "1.0.0", "", gittest.Text{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: broken}\npipeline:\n  validators: [{exec: no-such-function}]\n"})
	w.write("app.yaml", "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: app}\nspec:\n  upstream: {repo: catalog, package: app, revision: v1.0.0}\n  targets:\n  - repositorySelector: {matchLabels: {env: prod}}\n")
	files := map[string]string{}
	for _, b := range broken {
		files[b] = repository(b, w.url(b), true, "")
		w.write("repositories/"+b+".yaml", "")
	}
	w.mustRun(0, "apply")
	refs := func() map[string]map[string]string {
		out := map[string]map[string]string{}
		for _, c := range clusters {
			out[c] = w.repos[c].AllRefs(t)
		}
		return out
	}
	alone := refs()
	if len(alone["c000"]) < 4 {
		t.Fatalf("too little is made: %v", alone["c000"])
	}
	for _, c := range clusters {
		for ref := range alone[c] {
			if ref != "refs/heads/main" {
				if err := os.Remove(filepath.Join(w.repos[c].Dir, ref)); err != nil { // faster than git, 600 times
					t.Fatal(err)
				}
			}
		}
	}

	variant := func(name, cluster, pkg, at, revision string) string {
		return strings.Replace(variantOf(name, revision, cluster, at, ""), "package: web", "package: "+pkg, 1)
	}
	installation := func(name, cluster, more string) string {
		return "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: " + name + "}\nspec: {target: " + cluster + ", " + more + "}\n"
	}
	annotated := func(name, key, value string) string {
		return strings.Replace(files[name], "metadata:\n", "metadata:\n  annotations: {"+key+": "+value+"}\n", 1)
	}
	files["b0"] = annotated("b0", "variform.dev/platform", "kubernetes")
	w.write("b1.yaml", installation("b1", "b1", `package: app, dependencies: {overrides: [{package: db, constraints: ">=9"}]}`))
	w.write("b2.yaml", installation("b2", "b2", "package: nosuch"))
	w.write("b3.yaml", variant("b3", "b3", "other", "other", "v1.0.0"))
	w.write("b4.yaml", variant("b4", "b4", "other", "other", "v9.9.9"))
	files["b5"] = strings.Replace(files["b5"], w.url("b5"), w.url("b5")+".gone", 1)
	lock := w.repos["b6"].Commit(t, "main", "theirs", gittest.Text{"variform-lock/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: variform-lock}\n", "variform-lock/lock.yaml": "{}\n"})
	w.repos["b6"].Tag(t, "variform-lock/v1", lock)
	theirs := w.repos["b7"].Commit(t, "main", "theirs", packageWith("theirs", "  no such field: 1\n"))
	w.repos["b7"].Tag(t, "theirs/v1", theirs)
	w.write("b8.yaml", variant("b8", "b8", "broken", "broken", "v1.0.0"))
	w.write("b9.yaml", variant("x1", "b9", "db", "x1", "v1.0.0")+"---\n"+variant("x2", "b9", "db", "x2", "v1.0.0"))
	for _, b := range broken {
		w.write("repositories/"+b+".yaml", files[b])
	}
	r := w.mustRun(1, "apply")
	if d := cmp.Diff(alone, refs()); d != "" {
		t.Errorf("-alone +beside broken ones:\n%s", d)
	}
	var lines []string
	for line := range strings.Lines(r.err) {
		if strings.HasPrefix(line, "error: ") {
			lines = append(lines, line)
		}
	}
	for cause, said := range map[string]string{
		"b0": `annotation variform.dev/platform: "kubernetes"`, "b1": "b1/app: app.yaml:1: dependencies: cannot resolve app 1.0.0", "b2": "b2.yaml:1: target b2: Installation of b2: dependencies: cannot resolve nosuch",
		"b3": "b3/app: app.yaml:1: dependencies: cannot resolve app 1.0.0, other 1.0.0", "b4": "b4/other: b4.yaml:1: spec.upstream: ", "b5": "b5.git.gone\" does not exist", "b6": "is the lock of nobody known",
		"b7": "no such field", "b8": "b8/broken", "b9": "b9/x1: b9.yaml:1: dependencies: x1 and x2 are both variants of db",
	} {
		n := 0
		for _, line := range lines {
			if strings.Contains(line, said) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s is told %d times", cause, n)
		}
	}
	if t.Failed() {
		t.Logf("%s%s", r.out, strings.Join(lines, ""))
	}
}
