package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

const (
	// sized is a manifest with a parameter that nothing gives: a gate that is not met.
	sized = "  parameters: [{name: size, to: {fieldPath: 'ConfigMap/db:data.size'}}]\n"
	dbMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: db\ndata:\n  size: \"1\"\n"
)

// needing has a catalogue of packages that need others, with a Catalog of them.
func needing(t *testing.T) *world {
	t.Helper()
	w := newHTTPWorld(t, "c1")
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: main}\nspec:\n  sources:\n  - git: {repo: "+w.url("catalog")+"}\n")
	return w
}

// offer publishes a version of a catalogue package.
func (w *world) offer(name, version, spec string, files gittest.Text) {
	w.t.Helper()
	catalogue, text := w.repos["catalog"], packageWith(name, "  version: "+version+"\n"+spec)
	for file, data := range files {
		text[name+"/"+file] = data
	}
	catalogue.Tag(w.t, name+"/v"+version, catalogue.Commit(w.t, "main", name+" "+version, text))
}

func (w *world) needs(name, version string) {
	w.t.Helper()
	w.write(name+".yaml", strings.ReplaceAll(variantOf(name, "v"+version, "c1", name, ""), "package: web", "package: "+name))
}

// on says whether a package stands on a branch.
func (w *world) on(branch, pkg string) bool {
	w.t.Helper()
	return w.repos["c1"].Git(w.t, "ls-tree", "--name-only", branch, pkg) != ""
}

func broken(pkg string) gittest.Text {
	return gittest.Text{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + pkg + "\npipeline:\n  mutators:\n  - image: example.com/nope:v1\n"}
}

func automatic(name, pkg string) string {
	return "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: " + name + "}\nspec: {target: c1, package: " + pkg + ", activation: Automatic}\n"
}

// A refusal travels to all that needs what was refused, with its cause, and to the
// lock; what is beside it goes.
func TestRefusalTravels(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("db", "1.0.0", sized, gittest.Text{"cm.yaml": dbMap})
	w.offer("mid", "1.0.0", "  requires: [{alias: db, package: db}]\n", nil)
	w.offer("app", "1.0.0", "  requires: [{alias: mid, package: mid}]\n", nil)
	w.offer("log", "1.0.0", "", nil)
	w.needs("app", "1.0.0")
	w.needs("log", "1.0.0")
	w.mustApply()
	r := w.mustRun(0, "status")
	w.contains(r.out, "gates not met: config.wiring.size", "it needs c1/db, which has gates that are not met: config.wiring.size")
	if n := strings.Count(r.out, "it needs c1/db"); n != 2 { // app by mid, and mid
		t.Errorf("%d packages are said to need db:\n%s", n, r.out)
	}
	for _, args := range [][]string{{"c1"}, {"app", "log"}, {"--all"}} {
		r := w.mustRun(1, append([]string{"approve"}, args...)...)
		w.contains(r.out, "config.wiring.size is False", "refused: it needs c1/db, which was refused")
		if n := strings.Count(r.out, "config.wiring.size is False"); n != 1 {
			t.Errorf("approve %v gives the cause %d times:\n%s", args, n, r.out)
		}
		for _, pkg := range []string{"app", "mid", "db"} {
			if w.on("main", pkg) {
				t.Fatalf("approve %v published %s:\n%s", args, pkg, r.out)
			}
			if w.on("main", "variform-lock") && strings.Contains(w.show("c1", "main", "variform-lock/lock.yaml"), "name: "+pkg+"\n") {
				t.Errorf("approve %v locked %s, which is not there", args, pkg)
			}
		}
		if args[0] == "c1" && !w.on("main", "log") {
			t.Error("log was not published")
		}
		if args[0] == "c1" {
			w.mustRun(1, "approve", "log") // it is Published
			w.write("log.yaml", strings.ReplaceAll(variantOf("log", "v1.0.0", "c1", "log", "  packageContext: {data: {k: v}}\n"), "package: web", "package: log"))
			w.mustApply()
		}
	}
	// In order of need, whatever their names, once the value is given.
	w.write("i.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: db}\nspec: {target: c1, package: db, parameters: {size: '3'}}\n")
	w.mustApply()
	w.mustRun(0, "approve", "c1")
	w.contains(w.repos["c1"].Git(t, "log", "--format=%s", "-4", "--first-parent", "main"), "Approve variform-lock/v2\nApprove app/v1\nApprove mid/v1\nApprove db/v1")
}

// Two packages of one name, one of them global: each is published for those that need it, by a
// person and by itself, and an update of one does not touch the other.
func TestSameNames(t *testing.T) {
	t.Parallel()
	w := needing(t)
	for _, version := range []string{"1.0.0", "1.1.0"} {
		w.offer("db", version, "", nil)
	}
	w.offer("web", "1.0.0", "  requires: [{alias: db, package: db, namespace: '', version: ^1}]\n", nil)
	w.offer("shop", "1.0.0", "  requires: [{alias: db, package: db, namespace: '${installation.namespace}', version: =1.0.0}]\n", nil)
	for _, name := range []string{"web", "shop"} {
		w.write(name+".yaml", strings.Replace(variantOf(name, "v1.0.0", "c1", "team/"+name, ""), "package: web", "package: "+name, 1))
	}
	w.mustApply()
	r := w.mustRun(0, "approve", "c1/team/web")
	w.contains(r.out, "c1/db, c1/team/web ")
	w.lacks(r.out, "c1/team/db", "c1/team/shop")
	w.contains(w.repos["c1"].Git(t, "show", "db/v1:db/package.yaml"), "version: 1.1.0")
	w.wantActions(w.mustApply(), all("update", "c1/variform-lock"))
	refs := w.refs()
	w.mustApply()
	w.unchanged(refs)
	r = w.mustRun(0, "approve", "c1/team/shop")
	w.contains(r.out, "c1/team/db, c1/team/shop ")
	w.contains(w.repos["c1"].Git(t, "show", "team/db/v1:team/db/package.yaml"), "version: 1.0.0")
	w.contains(w.mustRun(0, "apply").out, "5 up to date")
	w.contains(w.mustRun(0, "graph", "c1").out, "db")
}

// What a variant, and what it needs, would ask a person for is listed like that of an
// Installation.
func TestExplainVariants(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("db", "1.0.0", sized, gittest.Text{"cm.yaml": dbMap})
	w.offer("app", "1.0.0", "  requires: [{alias: data, package: db}]\n", nil)
	w.needs("app", "1.0.0")
	for _, args := range [][]string{{"explain"}, {"explain", "app"}} {
		w.contains(w.mustRun(0, args...).out, "c1       app            data   parameter   size")
	}
	w.write("i.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: app}\nspec: {target: c1, package: app}\n")
	if out := w.mustRun(0, "explain", "app").out; strings.Count(out, "size") != 1 {
		t.Errorf("the same twice, or not at all:\n%s", out)
	}
	// A target runs on what its Repository says, for an Installation as for plan.
	w.offer("plat", "1.0.0", "  requires: [{alias: k, platform: {name: kubernetes, version: '>=1.25'}}]\n  parameters: [{name: zone, required: true, to: {fieldPath: 'ConfigMap/plat:data.zone'}}]\n", nil)
	w.needs("plat", "1.0.0")
	w.write("p.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: plat}\nspec: {target: c1, package: plat}\n")
	w.contains(w.mustRun(1, "explain", "plat").err, "no version of kubernetes is known")
	w.write("repositories/c1.yaml", strings.Replace(repository("c1", w.url("c1"), true, ""), "metadata:\n", "metadata:\n  annotations:\n    variform.dev/platform: kubernetes=1.30.0\n", 1))
	w.contains(w.mustRun(0, "explain", "plat").out, "c1       plat           plat   parameter   zone")
	w.contains(w.mustRun(2, "explain", "nosuch").err, `no Installation and no variant's package is called "nosuch"`)
}

// A package whose first Draft could not be made keeps what needs it, too.
func TestNeedsWhatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("db", "1.0.0", "", gittest.Text{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\npipeline:\n  mutators:\n  - image: example.com/nope:v1\n"})
	w.offer("app", "1.0.0", "  requires: [{alias: db, package: db}]\n", nil)
	w.needs("app", "1.0.0")
	w.write("auto.yaml", automatic("app", "app"))
	p := w.apply()
	if p.status != 1 || w.on("main", "app") {
		t.Fatalf("status %d\n%s", p.status, p.out)
	}
	w.contains(strings.Join(p.variant(t, "c1/app").Warnings, "\n"), "activation is Automatic, but it needs c1/db, which fails")
	w.contains(w.mustRun(1, "approve", "app").out, "it needs c1/db, which is not there: run apply")
	w.write("auto.yaml", "")
	if p = w.apply(); p.variant(t, "c1/app").Action != "wait" {
		t.Errorf("%s", p.out)
	}
	w.contains(p.variant(t, "c1/app").Reasons[0], "it needs c1/db, which fails")
	w.mustRun(0, "approve", "app", "--dependencies=false")
}

// A first lock is without a package that cannot be made, and what needs that: the rest
// goes on, and what is of that answer stays as it is.
func TestFirstLockWithout(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("db", "1.0.0", "", broken("db"))
	w.offer("lib", "1.0.0", "", gittest.Text{"cm.yaml": dbMap})
	w.offer("app", "1.0.0", "  requires: [{alias: db, package: db}]\n", nil)
	w.offer("good", "1.0.0", "  requires: [{alias: l, package: lib}]\n", nil)
	w.needs("app", "1.0.0")
	w.needs("good", "1.0.0")
	w.apply()
	w.mustRun(1, "approve", "--all")
	if !w.on("main", "good") || !w.on("main", "lib") || !w.on("main", "variform-lock") || w.on("main", "app") {
		t.Fatal("not just what does not need it was published")
	}
	w.offer("lib", "1.1.0", "", nil)
	before := w.refs()
	w.wantActions(w.apply(), map[string]string{"c1/app": "wait", "c1/db": "fail"})
	w.unchanged(before)
	w.offer("db", "1.0.1", "", nil)
	w.mustApply("--upgrade", "db")
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "variform-lock/lock.yaml"), "name: lib\n    version: 1.0.0\n", "owner: good")
	before = w.refs()
	w.mustApply()
	w.unchanged(before)
}

// Where an update needs a package that cannot be made, what is Published beside it is
// locked, by people and unattended, and stays so.
func TestLockBesideWhatFails(t *testing.T) {
	t.Parallel()
	for _, unattended := range []bool{false, true} {
		t.Run(fmt.Sprint("unattended ", unattended), func(t *testing.T) {
			t.Parallel()
			w := needing(t)
			for _, v := range []string{"1", "2"} {
				w.offer("log", v+".0.0", "  scope: Cluster\n", nil)
				w.offer("front", v+".0.0", "  requires: [{alias: l, package: log, version: ^"+v+"}]\n", nil)
			}
			w.offer("bad", "1.0.0", "", broken("bad"))
			w.offer("app", "1.0.0", "", nil)
			w.offer("app", "2.0.0", "  requires: [{alias: b, package: bad}]\n", nil)
			publish := func(status int) {
				t.Helper()
				applied := w.apply()
				for _, v := range applied.Variants {
					if said := slices.Compact(slices.Sorted(slices.Values(v.Warnings))); len(said) != len(v.Warnings) {
						t.Errorf("%s: said more than once: %q", v.Variant, v.Warnings)
					}
				}
				if !unattended {
					w.mustRun(status, "approve", "--all")
				}
			}
			if unattended {
				for _, pkg := range []string{"log", "front", "app", "variform-lock"} {
					w.write("auto-"+pkg+".yaml", strings.ReplaceAll(automatic(pkg, pkg), "target: c1, ", ""))
				}
			}
			w.needs("app", "1.0.0")
			w.needs("front", "1.0.0")
			publish(0)
			w.needs("app", "2.0.0")
			w.needs("front", "2.0.0")
			publish(1)
			lock := w.show("c1", "main", "variform-lock/lock.yaml")
			w.contains(lock, "name: app\n    version: 1.0.0\n", "name: log\n    version: 2.0.0\n", "name: front\n    version: 2.0.0\n")
			w.lacks(lock, "bad")
			w.offer("log", "2.1.0", "  scope: Cluster\n", nil) // nobody asks for it
			before := w.refs()
			p := w.apply()
			w.wantActions(p, map[string]string{"c1/app": "wait", "c1/bad": "fail"})
			w.contains(p.variant(t, "c1/app").Reasons[0], "it needs c1/bad, which fails")
			w.unchanged(before)
			w.contains(w.mustRun(1, "status").out, "it needs c1/bad, which fails")

			w.offer("bad", "1.0.1", "", nil)
			w.apply("--upgrade", "bad")
			if unattended {
				w.mustRun(0, "approve", "bad")
				w.mustApply()
			} else {
				w.mustRun(0, "approve", "--all")
			}
			w.contains(w.show("c1", "main", "variform-lock/lock.yaml"), "name: app\n    version: 2.0.0\n", "name: bad\n    version: 1.0.1\n", "name: log\n    version: 2.0.0\n")
		})
	}
}

// A dependency is not drafted anew for another reason to be there: the record says it.
func TestMadeForAnother(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("lib", "1.0.0", "  scope: Cluster\n", nil)
	for _, pkg := range []string{"a", "b"} {
		w.offer(pkg, "1.0.0", "  requires: [{alias: l, package: lib}]\n", nil)
		w.needs(pkg, "1.0.0")
	}
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "lib/Kptfile"), "default/a")
	w.offer("a", "1.1.0", "", nil)
	w.needs("a", "1.1.0")
	w.wantActions(w.mustApply(), map[string]string{"c1/a": "redraft", "c1/lib": "record", "c1/variform-lock": "redraft"})
	w.mustRun(0, "approve", "--all")
	before := w.refs()
	w.wantActions(w.mustApply(), map[string]string{})
	w.unchanged(before)
	w.offer("lib", "1.1.0", "  scope: Cluster\n", nil)
	w.mustApply("--upgrade", "lib")
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "lib/Kptfile"), "default/b")

	// Without any, it stays, and status lists what does.
	const unneeded = "it was brought for others, and nothing needs it any more"
	w.lacks(w.mustRun(0, "status").out, unneeded)
	w.offer("b", "1.1.0", "", nil)
	w.needs("b", "1.1.0")
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	before = w.refs()
	w.wantActions(w.mustApply(), all("keep", "c1/variform-lock"))
	w.unchanged(before)
	w.contains(w.run("status").out, unneeded)
}

// Unattended publication, too, goes by what is needed, and in order.
func TestAutomaticNeeds(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("db", "1.0.0", "", nil)
	w.offer("app", "1.0.0", "  requires: [{alias: db, package: db}]\n", nil)
	w.needs("app", "1.0.0")
	w.write("app-auto.yaml", automatic("app", "app"))
	const waits = "activation is Automatic, but it needs c1/db, which waits for approval"
	w.contains(strings.Join(w.plan().variant(t, "c1/app").Warnings, "\n"), waits)
	w.mustApply()
	p := w.mustApply()
	w.wantActions(p, all("wait", "c1/app"))
	w.contains(p.variant(t, "c1/app").Reasons[0], waits)
	w.contains(w.mustRun(0, "status").out, waits)
	if w.on("main", "app") {
		t.Fatal("app was published without db")
	}
	before := w.refs()
	w.mustApply()
	w.unchanged(before)

	w.write("db-auto.yaml", automatic("db", "db"))
	w.mustApply()
	w.contains(w.repos["c1"].Git(t, "log", "--format=%s", "-3", "--first-parent", "main"), "Approve variform-lock/v1\nApprove app/v1\nApprove db/v1")

	// What is held stays, and what needs it waits.
	w.mustRun(0, "hold", "db", "--reason", "no")
	w.offer("app", "1.1.0", "  requires: [{alias: db, package: db}]\n", nil)
	w.needs("app", "1.1.0")
	p = w.mustApply()
	w.lacks(p.out, "it needs c1/db") // it stands as it is to be
	w.contains(w.repos["c1"].Git(t, "log", "--format=%s", "-2", "--first-parent", "main"), "Approve variform-lock/v2\nApprove app/v2")
}

// What a server refuses by a rule of its own is left out, with what needs it; the
// rest is published.
func TestServerRefusesOne(t *testing.T) {
	t.Parallel()
	for name, hook := range map[string]struct{ when, text string }{
		"of one ref":               {"update", `case "$1" in refs/tags/db/*) echo not this one >&2; exit 1;; esac`},
		"of all, and one is named": {"pre-receive", `while read old new ref; do case $ref in refs/tags/db/*) echo "no $ref, please" >&2; exit 1;; esac; done`},
	} {
		for _, unattended := range []bool{false, true} {
			t.Run(fmt.Sprint(name, unattended), func(t *testing.T) {
				t.Parallel()
				w := needing(t)
				w.offer("db", "1.0.0", "", nil)
				w.offer("app", "1.0.0", "  requires: [{alias: db, package: db}]\n", nil)
				w.offer("log", "1.0.0", "", nil)
				w.needs("app", "1.0.0")
				w.needs("log", "1.0.0")
				w.repos["c1"].Hook(t, hook.when, hook.text)
				var out string
				if unattended {
					for _, pkg := range []string{"app", "db", "log"} {
						w.write(pkg+"-auto.yaml", automatic(pkg, pkg))
					}
					p := w.apply()
					if out = p.out; p.status != 1 {
						t.Errorf("status %d", p.status)
					}
				} else {
					w.mustApply()
					out = w.mustRun(1, "approve", "c1").out
				}
				w.contains(out, "the server refused", "it needs c1/db, which was refused")
				for pkg, want := range map[string]bool{"db": false, "app": false, "log": true, "variform-lock": true} {
					if w.on("main", pkg) != want {
						t.Errorf("%s is on main: %t\n%s", pkg, !want, out)
					}
				}
			})
		}
	}
}

// What is set back must leave others what they need as they stand; set back
// together, they go in one push.
func TestRevertNeeds(t *testing.T) {
	t.Parallel()
	w := needing(t)
	for _, v := range []string{"1", "2"} {
		w.offer("db", v+".0.0", "", nil)
		w.offer("app", v+".0.0", "  requires: [{alias: db, package: db, version: ^"+v+"}]\n", nil)
		w.needs("db", v+".0.0")
		w.needs("app", v+".0.0")
		w.mustApply()
		if v == "2" { // nor may it go forward alone
			w.contains(w.mustRun(1, "approve", "db").out, "c1/app needs db ^1, which db 2.0.0 is not: approve a revision of that too")
		}
		w.mustRun(0, "approve", "c1")
	}
	w.mustRun(0, "revert", "db", "v1")
	before := w.refs()
	w.contains(w.mustRun(1, "approve", "db").out, "c1/app needs db ^2, which db 1.0.0 is not", "revert it as well")
	w.contains(w.mustRun(1, "approve", "--all").out, "c1/app needs db ^2")
	w.unchanged(before)

	w.mustRun(0, "revert", "app", "v1")
	w.mustRun(0, "approve", "app") // with what it needs
	w.contains(w.repos["c1"].Git(t, "log", "--format=%s", "-2", "--first-parent", "main"), "Approve app/v3\nApprove db/v3")
	w.contains(w.show("c1", "main", "app/package.yaml"), "^1")
	w.mustRun(0, "status")

	// Alone, by one's own responsibility.
	w.mustApply("--retry", "c1")
	w.mustRun(0, "approve", "c1")
	w.contains(w.show("c1", "main", "db/package.yaml"), "version: 2.0.0")
	w.mustRun(0, "revert", "db", "v1")
	w.mustRun(0, "approve", "db", "--dependencies=false")
	w.contains(w.show("c1", "main", "db/package.yaml"), "version: 1.0.0")

	// What stands there is not what others need from now on.
	w.offer("app", "2.1.0", "  requires: [{alias: db, package: db, version: ^2}]\n", nil)
	w.needs("app", "2.1.0")
	w.apply()
	w.contains(w.mustRun(1, "approve", "app").out, "it needs c1/db, which was set back to v1 by ")
}

// What came to the branch while an approval was on its way keeps what it needs, too.
func TestRevertNeedsLostRace(t *testing.T) {
	t.Parallel()
	w := needing(t)
	for _, v := range []string{"1.0.0", "2.0.0"} {
		w.offer("db", v, "", nil)
		w.needs("db", v)
		w.mustApply()
		w.mustRun(0, "approve", "db")
	}
	w.mustRun(0, "revert", "db", "v1")
	var once sync.Once
	w.srv.Before(func(kind, _ string) {
		if kind == gittest.Push {
			once.Do(func() {
				theirs := packageWith("theirs", "  version: 1.0.0\n  requires: [{alias: db, package: db, version: ^2}]\n")
				w.repos["c1"].Tag(t, "theirs/v1", w.repos["c1"].Commit(t, "main", "theirs", theirs))
			})
		}
	})
	w.contains(w.mustRun(1, "approve", "db").out, "c1/theirs needs db ^2, which db 1.0.0 is not")
	w.srv.Before(nil)
	w.contains(w.show("c1", "main", "db/package.yaml"), "version: 2.0.0")
}

// A conflict fails what takes part in it and is new; what was answered before keeps
// its lock, and what has nothing to do with it goes on.
func TestConflictIsItsOwn(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("cm", "1.0.0", "  scope: Cluster\n", nil)
	w.offer("cm", "2.0.0", "  scope: Cluster\n", nil)
	w.offer("other", "1.0.0", "", nil)
	w.offer("good", "1.0.0", "  requires: [{alias: c, package: cm, version: ^1}]\n", nil)
	w.offer("good", "2.0.0", "  requires: [{alias: c, package: cm, version: ^1}, {alias: n, package: nowhere}]\n", nil)
	w.offer("bad", "1.0.0", "  requires: [{alias: c, package: cm, version: ^2}]\n", nil)
	w.needs("good", "1.0.0")
	w.needs("other", "1.0.0")
	w.mustApply()
	w.mustRun(0, "approve", "--all")

	w.offer("other", "2.0.0", "", nil)
	w.needs("other", "2.0.0")
	w.needs("bad", "1.0.0")
	r := w.mustRun(1, "apply", "--prune")
	w.contains(r.err, "error: c1/bad: bad.yaml:1: dependencies: cannot resolve bad 1.0.0, good 1.0.0:", "needs cm ^2")
	w.contains(r.out, "c1/other", "5 variants: 2 drafted anew, 1 failed, 2 up to date")
	w.mustRun(0, "approve", "--all")
	w.contains(w.mustRun(1, "status").out, "5 variants: 1 failed, 4 up to date")

	// An update that has no answer leaves what is there, which others may need.
	if err := os.Remove(filepath.Join(w.fleet(), "bad.yaml")); err != nil {
		t.Fatal(err)
	}
	w.needs("good", "2.0.0")
	w.offer("other", "3.0.0", "  requires: [{alias: g, package: good, version: ^1}]\n", nil)
	w.needs("other", "3.0.0")
	r = w.mustRun(1, "apply", "--prune")
	w.contains(r.err, "error: c1/good: good.yaml:1: dependencies: cannot resolve good 2.0.0:", "no package nowhere is in the catalogue")
	w.contains(r.out, "c1/other", "4 variants: 2 drafted anew, 1 failed, 1 up to date")
	w.mustRun(0, "approve", "--all")

	// So does an upstream that cannot be read.
	w.needs("good", "7.0.0")
	w.offer("other", "4.0.0", "  requires: [{alias: g, package: good, version: ^1}]\n", nil)
	w.needs("other", "4.0.0")
	r = w.mustRun(1, "apply", "--prune")
	w.contains(r.err, "error: c1/good: good.yaml:1: spec.upstream: ", "v7.0.0")
	w.contains(r.out, "c1/other", "2 drafted anew")
	if !w.on("main", "cm") {
		t.Error("cm has gone from main")
	}
	w.mustRun(0, "approve", "--all")
	before := w.repos["c1"].AllRefs(t)
	w.mustRun(1, "apply", "--prune")
	if d := cmp.Diff(before, w.repos["c1"].AllRefs(t)); d != "" {
		t.Errorf("a second run changed something:\n%s", d)
	}
	w.needs("good", "1.0.0")
	w.contains(w.mustRun(0, "apply", "--prune").out, "4 variants: 4 up to date")
}

// What an Installation asks for, and no variant, fails the run: once a cause.
func TestUnansweredInstallation(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.write("x.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: x}\nspec: {target: c1, package: nowhere}\n")
	for _, command := range []string{"plan", "apply", "status"} {
		r := w.mustRun(1, command)
		w.contains(r.err, "error: x.yaml:1: target c1: Installation of x: dependencies: cannot resolve nowhere:", "no package nowhere is in the catalogue", "1 problem")
	}
	w.write("x.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: x}\nspec: {target: c9, package: nowhere}\n")
	w.contains(w.mustRun(1, "plan").err, "error: x.yaml:1: Installation default/x: spec.target: c9 is in no registered Repository")
}

// A package that an optional need would bring a second time beneath itself comes once,
// and the need is left out.
func TestOptionalCycle(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("oa", "1.0.0", "  requires: [{alias: b, package: ob, optional: true}]\n", nil)
	w.offer("ob", "1.0.0", "  requires: [{alias: a, package: oa}]\n", nil)
	w.needs("oa", "1.0.0")
	w.wantActions(w.plan(), map[string]string{"c1/oa": "create", "c1/variform-lock": "create"})
	w.needs("ob", "1.0.0") // who wants both asks for both
	w.wantActions(w.plan(), map[string]string{"c1/oa": "create", "c1/ob": "create", "c1/variform-lock": "create"})
}

// What is there already is used by the identifier of an output, whatever the output is
// called, also in a version that no catalogue has; where it is not known to have the
// output, another one is made aloud.
func TestUsedByIdentifier(t *testing.T) {
	t.Parallel()
	w := needing(t)
	output := func(name string) string {
		return "  outputs: [{name: " + name + ", id: example.com/host, valueFrom: 'ConfigMap/db:data.size'}]\n"
	}
	w.offer("db", "2.0.0", output("host"), gittest.Text{"cm.yaml": dbMap})
	w.offer("app", "1.0.0", "  requires: [{alias: data, package: db, interface: {document: {outputs: [{name: h, id: example.com/host}]}}}]\n", nil)
	w.needs("app", "1.0.0")
	theirs := func(spec string) {
		text := packageWith("db", spec)
		text["db/cm.yaml"] = dbMap
		w.repos["c1"].Commit(t, "main", "theirs", text)
	}
	theirs("  version: 0.9.0\n" + output("addr"))
	w.wantActions(w.plan(), map[string]string{"c1/app": "create", "c1/variform-lock": "create"})
	theirs("  version: 0.9.0\n")
	p := w.plan()
	w.wantActions(p, map[string]string{"c1/app": "create", "c1/app-data": "create", "c1/variform-lock": "create"})
	w.contains(w.mustRun(0, "plan").err, "requires[data]: db 0.9.0 is there as db, but has no output h (id example.com/host); app-data is made beside it")
	w.repos["c1"].Git(t, "update-ref", "refs/heads/main", "main~2")
	w.write("i.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: db}\nspec: {target: c1, package: db}\nstatus: {currentRevision: 0.9.0}\n")
	w.contains(w.mustRun(0, "plan").err, "db 0.9.0 is there as db, but is not known to have output h (id example.com/host): if it does, list it in status.outputs of Installation db; app-data is made beside it")
}

// A server that others manage is used with its outputs, whatever its package, also where
// the fleet has no Catalog, and is not made a second time where nothing tells its version.
func TestUnmanagedInstallation(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("sql", "1.0.0", "  outputs: [{name: conn, id: example.com/conn, valueFrom: self.name}]\n", nil)
	w.offer("app", "1.0.0", "  requires: [{alias: s, package: sql, interface: {document: {outputs: [{name: c, id: example.com/conn}]}}}]\n"+
		"  parameters: [{name: h, default: '${bundle.dependencies.s.outputs.c}', to: {fieldPath: 'ConfigMap/app:data.h'}}]\n",
		gittest.Text{"cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {h: none}\n"})
	w.needs("app", "1.0.0")
	closet := func(pkg, status string) {
		w.write("closet.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: closet}\nspec: {target: c1, package: "+pkg+", parameters: {conn: jdbc}}\nstatus: {"+status+"}\n")
	}
	used, beside := all("create", "c1/app", "c1/variform-lock"), all("create", "c1/app", "c1/sql", "c1/variform-lock")
	closet("server", "currentRevision: 0.9.0")
	w.wantActions(w.plan(), beside)
	w.contains(w.mustRun(0, "plan", "-o", "wide").err, "requires[s]: server 0.9.0 is there as closet, but is not known to have output c (id example.com/conn): if it does, list it in status.outputs of Installation closet; sql is made beside it")
	for _, c := range [][2]string{
		{"server", "currentRevision: prod, outputs: [{name: conn, id: example.com/conn}]"}, {"sql", "currentRevision: 0.1.0"}, {"sql", "currentRevision: prod"},
	} {
		closet(c[0], c[1])
		w.wantActions(w.plan(), used)
	}
	w.write("catalog.yaml", "")
	w.contains(w.plan().variant(t, "c1/app").Error, "no package sql is in the catalogue; sql is there as closet, but is not known to have output c (id example.com/conn): if it does, list it in status.outputs of Installation closet")
	closet("server", "currentRevision: prod, outputs: [{name: conn, id: example.com/conn}]")
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "app/cm.yaml"), "h: jdbc")
	w.contains(w.show("c1", "main", "variform-lock/lock.yaml"), "name: closet")
	if p := w.apply(); p.status != 0 || len(p.actions()) > 0 {
		t.Errorf("a second run does something: %v\n%s%s", p.actions(), p.out, p.err)
	}
}

// Drift of a dependency is named: between the lock, its tag and the branch.
func TestDriftOfADependency(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("db", "1.0.0", "", gittest.Text{"cm.yaml": dbMap})
	w.offer("app", "1.0.0", "  requires: [{alias: data, package: db}]\n", nil)
	w.needs("app", "1.0.0")
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.mustApply()
	c1 := w.repos["c1"]
	head, tagged := strings.TrimSpace(c1.Git(t, "rev-parse", "main")), strings.TrimSpace(c1.Git(t, "rev-parse", "db/v1"))
	back := func() { c1.Git(t, "update-ref", "refs/heads/main", head) }

	c1.Commit(t, "main", "edit", gittest.Text{"db/cm.yaml": strings.ReplaceAll(dbMap, `"1"`, `"2"`)})
	w.contains(w.mustRun(0, "status").out, "main moved since v1 by")
	c1.Git(t, "tag", "-f", "db/v1", "main")
	w.contains(w.run("status").err, "tag db/v1 was moved or made by hand", "move the tag back")
	c1.Git(t, "tag", "-d", "db/v1")
	w.contains(w.run("status").out, "tag v1 is missing: set again at "+tagged[:7])
	back()
	c1.Git(t, "tag", "db/v1", tagged)
	lock := w.show("c1", "main", "variform-lock/lock.yaml")
	c1.Commit(t, "main", "edit", gittest.Text{"variform-lock/lock.yaml": strings.Replace(lock, "version: 1.0.0", "version: 0.9.0", 1)})
	w.contains(w.run("status").out, "main moved since v1 by")
	for _, pkg := range []string{"db", "variform-lock"} {
		back()
		c1.Commit(t, "main", "gone", gittest.Files{{Path: pkg, Mode: gittest.Deleted}})
		w.contains(w.run("status").out, "c1/"+pkg, "deleted on main by")
	}
}

// A lock that a person edited is not approved as it is: what was resolved is written with
// what it names.
func TestLockEditedByHand(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("db", "1.0.0", "", nil)
	w.offer("app", "1.0.0", "  requires: [{alias: db, package: db}]\n", nil)
	w.needs("app", "1.0.0")
	w.mustApply()
	const branch, file = "drafts/variform-lock/packagevariant-1", "variform-lock/lock.yaml"
	lock := w.show("c1", branch, file)
	w.repos["c1"].Commit(t, branch, "by hand", gittest.Text{file: strings.Replace(lock, "version: 1.0.0", "version: 0.9.0", 1)})
	w.contains(w.mustRun(1, "approve", "--all").out, "it was edited by hand")
	if got := w.show("c1", "main", file); got != lock {
		t.Errorf("the lock is\n%s", got)
	}
	w.wantActions(w.mustApply(), all("discard", "c1/variform-lock"))
}

// needingInFolders has a target in each folder of one repository; want applies a version of
// a package in each, that needs another.
func needingInFolders(t *testing.T, clusters ...string) (w *world, want func(version string)) {
	t.Helper()
	w = needing(t)
	w.write("repositories/c1.yaml", strings.Replace(repository("c1", w.url("c1"), true, ""), "metadata:\n", "metadata:\n  annotations: {variform.dev/targets: 'clusters/*'}\n", 1))
	w.offer("db", "1.0.0", "", nil)
	return w, func(version string) {
		t.Helper()
		w.offer("app", version, "  requires: [{alias: db, package: db}]\n", nil)
		for _, cluster := range clusters {
			w.write(cluster+".yaml", strings.ReplaceAll(variantOf("app-"+cluster, "v"+version, "c1", "clusters/"+cluster+"/app", ""), "package: web", "package: app"))
		}
		w.mustApply()
	}
}

// Locks of targets that need the same are one class, at first and as they change; one that
// a person edited is another, also once an update is put upon it.
func TestLocksOfAlikeTargets(t *testing.T) {
	t.Parallel()
	w, want := needingInFolders(t, "north", "south", "west")
	reviewed := func(texts ...string) {
		t.Helper()
		w.contains(w.mustRun(0, "review").out, texts...)
	}
	want("1.0.0")
	reviewed("3          variform-lock: ", "PackageLock ${target} spec.target: 3 values: ${target} × 3")
	const west = "clusters/west/variform-lock"
	w.repos["c1"].Commit(t, "drafts/"+west+"/packagevariant-1", "by hand", gittest.Text{west + "/more.yaml": dbMap})
	reviewed("1          variform-lock: ", "2          variform-lock: ", "edited by hand")
	want("1.1.0")
	w.contains(w.show("c1", "drafts/"+west+"/packagevariant-1", west+"/lock.yaml"), "version: 1.1.0")
	reviewed("1          variform-lock: ", "2          variform-lock: ", "edited by hand")
	w.approveSeen()
	want("1.2.0")
	reviewed("3          variform-lock: ", "keeps edits by hand that were there before")
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", west+"/lock.yaml"), "version: 1.2.0")
	w.contains(w.show("c1", "main", west+"/more.yaml"), "name: db")
	w.mustRun(0, "plan", "--exit-code")
}

// Locks whose commits do not say what the machine made, as those of earlier programs, say it
// from their next update on where nobody edited them; what a person wrote into one is told
// apart, as before.
func TestLocksOfEarlierPrograms(t *testing.T) {
	t.Parallel()
	clusters := []string{"north", "south", "west"}
	w, want := needingInFolders(t, clusters...)
	c1 := w.repos["c1"]
	want("1.0.0")
	for _, cluster := range clusters {
		lock := "clusters/" + cluster + "/variform-lock"
		draft := "refs/heads/drafts/" + lock + "/packagevariant-1"
		if cluster == "west" {
			c1.Commit(t, strings.TrimPrefix(draft, "refs/heads/"), "by hand", gittest.Text{lock + "/more.yaml": dbMap})
			continue
		}
		raw := c1.Git(t, "cat-file", "commit", draft)
		head, trailer, ok := strings.Cut(raw, "Variform-Hydrated: ")
		if !ok {
			t.Fatalf("%s does not say what the machine made:\n%s", draft, raw)
		}
		_, rest, _ := strings.Cut(trailer, "\n")
		c1.Git(t, "update-ref", draft, gittest.Run(t, c1.Dir, []byte(head+rest), "hash-object", "-t", "commit", "-w", "--stdin"))
	}
	c1.Git(t, "update-ref", "-d", "refs/variform/variform")
	want("1.1.0")
	for _, cluster := range clusters {
		lock := "clusters/" + cluster + "/variform-lock"
		draft := "drafts/" + lock + "/packagevariant-1"
		made := strings.TrimSpace(c1.Git(t, "log", "-1", "--format=%(trailers:key=Variform-Hydrated,valueonly)", draft))
		if has := c1.Git(t, "rev-parse", draft+":"+lock); made == "" || (made == has) == (cluster == "west") {
			t.Errorf("%s: the machine made %q, and there is %s", draft, made, has)
		}
	}
	w.contains(w.mustRun(0, "review").out, "1          variform-lock: ", "2          variform-lock: ", "edited by hand: c1/clusters/west/variform-lock")
}

// The push that publishes a package of a target writes the lock that is true then: the lock
// never waits behind another change of the target.
func TestLockOfEachPush(t *testing.T) {
	t.Parallel()
	w := needing(t)
	for _, v := range []string{"1.0.0", "2.0.0"} {
		w.offer("lib-a", v, "", nil)
		w.offer("lib-b", v, "", nil)
		w.offer("a", v, "  requires: [{alias: l, package: lib-a, version: ="+v+"}]\n", nil)
		w.offer("b", v, "  requires: [{alias: l, package: lib-b, version: ="+v+"}]\n", nil)
	}
	// locked is the version of each package in the lock of a branch, in their order.
	locked := func(branch string) string {
		t.Helper()
		var out []string
		name := ""
		for _, line := range strings.Split(w.show("c1", branch, "variform-lock/lock.yaml"), "\n") {
			if rest, ok := strings.CutPrefix(line, "  - name: "); ok {
				name = rest
			} else if rest, ok := strings.CutPrefix(line, "    version: "); ok {
				out = append(out, name+" "+rest)
			}
		}
		return strings.Join(out, ", ")
	}
	atRest := func(when string) {
		t.Helper()
		w.mustApply()
		w.wantActions(w.mustApply(), map[string]string{})
		w.mustRun(0, "plan")
		if out := w.mustRun(0, "status").out; strings.Contains(out, "NEEDS ATTENTION") {
			t.Errorf("%s:\n%s", when, out)
		}
	}
	for _, step := range []struct{ version, first, then, middle, end string }{
		{"1.0.0", "a", "b", "a 1.0.0, lib-a 1.0.0", "a 1.0.0, b 1.0.0, lib-a 1.0.0, lib-b 1.0.0"},
		{"2.0.0", "b", "a", "a 1.0.0, b 2.0.0, lib-a 1.0.0, lib-b 2.0.0", "a 2.0.0, b 2.0.0, lib-a 2.0.0, lib-b 2.0.0"},
	} {
		w.needs("a", step.version)
		w.needs("b", step.version)
		w.mustApply()
		w.mustRun(0, "approve", step.first)
		if got := locked("main"); got != step.middle {
			t.Fatalf("after %s %s the lock has %s, want %s", step.first, step.version, got, step.middle)
		}
		if step.first == "b" { // the other Draft is approved with no run between
			atRest("one of two approved")
		}
		w.mustRun(0, "approve", step.then)
		if got := locked("main"); got != step.end {
			t.Fatalf("after %s %s the lock has %s, want %s", step.then, step.version, got, step.end)
		}
		if left := w.repos["c1"].Git(t, "branch", "--list", "drafts/*"); left != "" {
			t.Errorf("left of %s:\n%s", step.version, left)
		}
		atRest("all approved")
	}
	// What is published by itself is locked, whatever else of the target waits.
	w.write("automatic.yaml", automatic("a", "a"))
	w.offer("lib-b", "3.0.0", "", nil)
	w.offer("a", "3.0.0", "  requires: [{alias: l, package: lib-a, version: =2.0.0}]\n", nil)
	w.offer("b", "3.0.0", "  requires: [{alias: l, package: lib-b, version: =3.0.0}]\n", nil)
	w.needs("a", "3.0.0")
	w.needs("b", "3.0.0")
	w.mustApply()
	if got, want := locked("main"), "a 3.0.0, b 2.0.0, lib-a 2.0.0, lib-b 2.0.0"; got != want {
		t.Fatalf("after a run the lock has %s, want %s", got, want)
	}
	atRest("one published by itself")
}
