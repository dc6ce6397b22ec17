package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

const (
	wave    = "argocd.argoproj.io/sync-wave"
	depends = "config.kubernetes.io/depends-on"
)

// deployment is what a package of the order's tests brings.
func deployment(name string) gittest.Text {
	text := func(kind, name string) string {
		return "kind: " + kind + "\nmetadata:\n  name: " + name + "\n  namespace: shop\n"
	}
	return gittest.Text{
		"app.yaml": "apiVersion: apps/v1\n" + text("Deployment", name) + "---\napiVersion: v1\n" + text("Service", name),
		"own.yaml": "apiVersion: v1\n" + text("ConfigMap", name+"-own") + "  annotations:\n    " + wave + ": \"7\"\n",
		"ns.yaml":  "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop-" + name + "\n",
	}
}

// told has a cluster whose deployers are told of the order: app needs mid, which needs
// db, and log stands beside them.
func told(t *testing.T, deployers string) *world {
	t.Helper()
	w := needing(t)
	w.offer("db", "1.0.0", "", deployment("db"))
	w.offer("mid", "1.0.0", "  requires: [{alias: db, package: db}]\n", deployment("mid"))
	w.offer("app", "1.0.0", "  requires: [{alias: mid, package: mid}]\n", deployment("app"))
	w.offer("log", "1.0.0", "", deployment("log"))
	w.tell(deployers)
	w.needs("app", "1.0.0")
	w.needs("log", "1.0.0")
	return w
}

// tell says who is told of the order.
func (w *world) tell(deployers string) {
	text := repository("c1", w.url("c1"), true, "")
	if deployers != "" {
		text = strings.Replace(text, "  name: c1\n", "  name: c1\n  annotations: {variform.dev/order: '"+deployers+"'}\n", 1)
	}
	w.write("repositories/c1.yaml", text)
}

// drafted is a file of the newest Draft of a package, or else of main.
func (w *world) drafted(pkg, file string) string {
	w.t.Helper()
	commit := "main"
	if refs := slices.Sorted(maps.Keys(w.heads("c1", "drafts/"+pkg+"/"))); len(refs) > 0 {
		commit = refs[len(refs)-1]
	}
	return w.show("c1", commit, pkg+"/"+file)
}

// heads are the branches below a prefix.
func (w *world) heads(repo, prefix string) map[string]bool {
	out := map[string]bool{}
	for _, ref := range w.refNames(repo) {
		if strings.HasPrefix(ref, "refs/heads/"+prefix) {
			out[ref] = true
		}
	}
	return out
}

// Argo CD is told by waves: as deep as what a package needs goes, and no more when
// others come beside it. What a package says itself stays.
func TestOrderArgoCD(t *testing.T) {
	t.Parallel()
	w := told(t, "argocd")
	w.mustApply()
	for pkg, want := range map[string]string{"app": "2", "mid": "1", "db": "", "log": ""} {
		annotation := wave + ": \"" + want + "\"\n"
		if n := strings.Count(w.drafted(pkg, "app.yaml"), annotation); want != "" && n != 2 || want == "" && strings.Contains(w.drafted(pkg, "app.yaml"), wave) {
			t.Errorf("%s is not of wave %q:\n%s", pkg, want, w.drafted(pkg, "app.yaml"))
		}
		w.contains(w.drafted(pkg, "own.yaml"), wave+": \"7\"\n")
		w.lacks(w.drafted(pkg, "ns.yaml")+w.drafted(pkg, "package.yaml"), wave)
	}
	w.contains(w.drafted("app", "Kptfile"), "variform.dev/sync-wave: \"2\"\n")
	w.mustRun(0, "approve", "c1")
	before := w.refs()
	w.mustApply()
	w.unchanged(before)

	// What comes beside them moves nothing.
	w.offer("beside", "1.0.0", "  requires: [{alias: log, package: log}]\n", deployment("beside"))
	w.needs("beside", "1.0.0")
	w.wantActions(w.mustApply(), map[string]string{"c1/beside": "create", "c1/variform-lock": "redraft"})
	w.contains(w.drafted("beside", "app.yaml"), wave+": \"1\"\n")
	w.mustRun(0, "approve", "c1")

	// Edits by hand: a value of one's own, a resource of one's own.
	w.edit("c1", "main", "mid/app.yaml", wave+": \"1\"\n---", wave+": \"5\"\n---")
	w.repos["c1"].Commit(t, "main", "one more", gittest.Text{"mid/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n"})
	w.offer("mid", "1.1.0", "  requires: [{alias: db, package: db}]\n", deployment("mid"))
	w.mustApply("--upgrade", "mid")
	w.contains(w.drafted("mid", "app.yaml"), wave+": \"5\"\n---", wave+": \"1\"\n")
	w.contains(w.drafted("mid", "more.yaml"), wave+": \"1\"\n")
	w.mustRun(0, "approve", "c1")

	// A place that changes goes over what stands there, and says so where a person wrote it.
	w.offer("db", "1.1.0", "  requires: [{alias: log, package: log}]\n", deployment("db"))
	p := w.mustApply("--upgrade", "db")
	w.contains(w.drafted("mid", "more.yaml"), wave+": \"2\"\n")
	if n := strings.Count(w.drafted("mid", "app.yaml"), wave+": \"2\"\n"); n != 2 {
		t.Errorf("mid is not of wave 2:\n%s", w.drafted("mid", "app.yaml"))
	}
	edits := p.variant(t, "c1/mid").Edits
	at := slices.IndexFunc(edits, func(e struct{ Fate, File, Resource, Field, Instead string }) bool { return e.Fate == "overruled" })
	if at < 0 || edits[at].Instead != "annotation variform.dev/order of Repository c1" {
		t.Errorf("the edit is not told: %+v", edits)
	}
	w.mustRun(0, "approve", "c1", "--accept-lost")

	// Without dependencies it stays as it is; without the option it goes.
	w.write("ctx.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
	before = w.refs()
	w.mustApply("--dependencies=false")
	w.unchanged(before)
	w.tell("")
	w.mustApply()
	for _, pkg := range []string{"app", "mid", "db", "beside"} {
		w.lacks(w.drafted(pkg, "app.yaml")+w.drafted(pkg, "Kptfile"), "sync-wave")
		w.contains(w.drafted(pkg, "own.yaml"), wave+": \"7\"\n")
	}
	w.lacks(w.drafted("mid", "more.yaml"), wave)
	w.mustRun(0, "approve", "c1")
	before = w.refs()
	w.mustApply()
	w.unchanged(before)
}

// kpt is told by the resources that take time to be ready.
func TestOrderKpt(t *testing.T) {
	t.Parallel()
	w := told(t, "kpt")
	w.offer("bundle", "1.0.0", "  requires: [{alias: mid, package: mid}]\n", nil)
	w.offer("top", "1.0.0", "  requires: [{alias: b, package: bundle}, {alias: l, package: log}]\n", deployment("top"))
	w.offer("nowhere", "1.0.0", "", gittest.Text{"cm.yaml": dbMap})
	w.offer("after", "1.0.0", "  requires: [{alias: n, package: nowhere}]\n", deployment("after"))
	w.needs("top", "1.0.0")
	w.needs("after", "1.0.0")
	p := w.mustApply()
	const of = "apps/namespaces/shop/Deployment/"
	for pkg, want := range map[string]string{"mid": of + "db", "app": of + "mid", "top": of + "log," + of + "mid"} {
		if n := strings.Count(w.drafted(pkg, "app.yaml"), depends+": "+want+"\n"); n != 2 {
			t.Errorf("%s does not wait for %s:\n%s", pkg, want, w.drafted(pkg, "app.yaml"))
		}
		w.lacks(w.drafted(pkg, "ns.yaml"), depends)
	}
	w.lacks(w.drafted("db", "app.yaml")+w.drafted("after", "app.yaml"), depends)
	w.contains(strings.Join(p.variant(t, "c1/after").Warnings, "\n"), depends+" cannot name nowhere: none of its resources says its namespace")
	w.mustRun(0, "approve", "c1")
	before := w.refs()
	w.mustApply()
	w.unchanged(before)

	// A resource more moves those that wait for it, and what fails is waited for.
	files := deployment("db")
	files["more.yaml"] = strings.ReplaceAll(files["app.yaml"], "name: db", "name: db2")
	w.offer("db", "1.1.0", "", files)
	w.wantActions(w.mustApply("--upgrade", "db"), all("redraft", "c1/mid", "c1/db", "c1/variform-lock"))
	w.contains(w.drafted("mid", "app.yaml"), depends+": "+of+"db,"+of+"db2\n")
}

// Flux is told by Kustomizations beside the lock, in which people's own fields stay.
func TestOrderFlux(t *testing.T) {
	t.Parallel()
	w := told(t, "flux")
	w.mustApply()
	w.lacks(w.drafted("app", "app.yaml"), wave, depends)
	one := func(name, path, more string) string {
		return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: " + name + "\n  namespace: flux-system\n  labels:\n    app.kubernetes.io/managed-by: variform\n" +
			"spec:\n  interval: 10m\n  path: " + path + "\n  prune: true\n  sourceRef:\n    kind: GitRepository\n    name: flux-system\n  wait: true\n" + more
	}
	after := func(name string) string { return "  dependsOn:\n  - name: " + name + "\n" }
	want := one("app", "./app", after("mid")) + "---\n" + one("db", "./db", "") + "---\n" + one("log", "./log", "") + "---\n" + one("mid", "./mid", after("db"))
	if d := cmp.Diff(want, w.drafted("variform-lock", "flux.yaml")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	w.mustRun(0, "approve", "c1")
	before := w.refs()
	w.mustApply()
	w.unchanged(before)

	w.edit("c1", "main", "variform-lock/flux.yaml", "  interval: 10m\n  path: ./mid\n", "  interval: 3m\n  path: ./mid\n")
	w.edit("c1", "main", "variform-lock/flux.yaml", after("db"), after("db")+"  - name: secrets\n")
	w.tell("flux=team/fleet")
	w.offer("mid", "1.1.0", "", deployment("mid"))
	w.mustApply("--upgrade", "mid")
	moved := func(text string) string {
		return strings.ReplaceAll(strings.ReplaceAll(text, "namespace: flux-system", "namespace: team"), "name: flux-system", "name: fleet")
	}
	want = moved(one("app", "./app", after("mid")) + "---\n" + one("db", "./db", "") + "---\n" + one("log", "./log", "") + "---\n" +
		strings.Replace(one("mid", "./mid", after("secrets")), "10m", "3m", 1))
	if d := cmp.Diff(want, w.drafted("variform-lock", "flux.yaml")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	w.mustRun(0, "approve", "c1")

	// What needs nothing any more is deployed all the same, what goes is not.
	w.offer("app", "2.0.0", "", deployment("app"))
	w.needs("app", "2.0.0")
	w.write("log.yaml", "")
	w.mustApply("--prune")
	text := w.drafted("variform-lock", "flux.yaml")
	w.contains(text, "path: ./app\n", "path: ./mid\n", "path: ./db\n", "path: ./log\n")
	w.lacks(text, after("mid"))
	w.mustRun(0, "approve", "--all")
	w.mustApply()
	w.lacks(w.drafted("variform-lock", "flux.yaml"), "path: ./log\n")
	w.mustRun(0, "approve", "--all")

	// Without the option they go, with a warning.
	w.offer("app", "3.0.0", "  requires: [{alias: mid, package: mid}]\n", deployment("app"))
	w.needs("app", "3.0.0")
	w.tell("")
	w.contains(strings.Join(w.mustApply().variant(t, "c1/variform-lock").Warnings, "\n"), "flux.yaml goes, and Flux deletes what its Kustomizations applied")
	w.mustRun(0, "approve", "--all")
	w.lacks(w.repos["c1"].Git(t, "ls-tree", "-r", "--name-only", "main"), "flux.yaml")
	before = w.refs()
	w.mustApply()
	w.unchanged(before)
}

// A word that means nothing is told, with those that do.
func TestOrderOf(t *testing.T) {
	t.Parallel()
	w := told(t, "argo, flux")
	w.contains(w.mustRun(1, "plan", "-o", "wide").out, `annotation variform.dev/order: "argo" must be argocd, kpt, flux or flux=<namespace>/<GitRepository>`)
}
