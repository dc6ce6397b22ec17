package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// What may be a secret reaches neither a Draft nor a lock nor a message.
func TestCredentialsAreReferences(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("mid", "1.0.0", "  credentials: [{name: t, to: {fieldPath: 'ConfigMap/c:data.a'}}]\n", gittest.Text{"cm.yaml": configMap("c", "a: x")})
	for _, value := range []string{"hunter2", "${bundle.dependencies.m.outputs.hunter2}"} {
		w.offer("lit", "1.0.0", "  requires:\n  - {alias: m, package: mid, credentials: {t: '"+value+"'}}\n", nil)
		w.needs("lit", "1.0.0")
		p := w.apply()
		w.contains(p.variant(t, "c1/lit").Error, "package.yaml:9: spec.requires[0].credentials[t] must be a reference to a credential of this package", "write ${bundle.credentials.<name>}")
		w.lacks(p.out+p.err+w.mustRun(1, "status", "-v").out, "hunter2")
		if refs := w.repos["c1"].Git(t, "for-each-ref", "--format=%(refname)", "refs/heads/drafts"); strings.Contains(refs, "mid") || strings.Contains(refs, "lit") {
			t.Errorf("there is a Draft: %s", refs)
		}
	}
}

// A platform's version is a fact, whatever its vendor appends.
func TestPlatformOfAVendor(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.write("repositories/c1.yaml", strings.Replace(repository("c1", w.url("c1"), true, ""), "metadata:\n", "metadata:\n  annotations:\n    variform.dev/platform: kubernetes=v1.30.4-gke.1348000\n", 1))
	w.offer("new", "1.0.0", "  requires: [{alias: k, platform: {name: kubernetes, version: '>=1.30.5'}}]\n", nil)
	w.offer("app", "1.0.0", "  requires: [{alias: k, platform: {name: kubernetes, version: '>=1.22'}}]\n", nil)
	w.needs("app", "1.0.0")
	w.mustApply()
	w.needs("new", "1.0.0")
	w.contains(w.plan().variant(t, "c1/new").Error, "needs kubernetes >=1.30.5, but the platform here is kubernetes v1.30.4-gke.1348000")
}

// A parameter that is not required keeps the package's own value where the
// optional dependency is absent that would give it; a required one waits.
func TestOptionalValue(t *testing.T) {
	t.Parallel()
	w := needing(t)
	files := gittest.Text{"cm.yaml": configMap("c", "a: none")}
	spec := "  requires: [{alias: m, package: mon, optional: true}]\n  parameters:\n" +
		"  - {name: u, required: false, default: '${bundle.dependencies.m.outputs.url}', to: {fieldPath: 'ConfigMap/c:data.a'}}\n"
	w.offer("app", "1.0.0", spec, files)
	w.needs("app", "1.0.0")
	p := w.mustApply()
	w.contains(strings.Join(p.variant(t, "c1/app").Warnings, "\n"), "parameters.u keeps the package's own value: app has no dependency m here")
	w.lacks(w.texts("c1", "drafts/app/packagevariant-1", "app"), "config.wiring")
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "app/cm.yaml"), "a: none")

	w.offer("app", "1.1.0", strings.Replace(spec, "required: false, ", "", 1), files)
	w.needs("app", "1.1.0")
	w.mustApply()
	w.contains(w.mustRun(1, "approve", "--all").out, "config.wiring.u is False: app has no dependency m here")

	// Once it is there it gives its value, with the name of the installation.
	w.offer("mon", "1.0.0", "  outputs: [{name: url, valueFrom: \"'http://' + self.name\"}]\n", nil)
	w.offer("app", "1.2.0", spec, files)
	w.needs("app", "1.2.0")
	w.mustApply("--upgrade", "mon")
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "app/cm.yaml"), "a: http://mon")
}

// Of a package of which a cluster has one, what two parents want of it is
// honoured, or refused with both places; nothing is the first one's in silence.
func TestOneForAll(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("lib", "1.0.0", "  scope: Cluster\n  parameters: [{name: size, required: false, to: {fieldPath: 'ConfigMap/c:data.a'}}]\n", gittest.Text{"cm.yaml": configMap("c", "a: none")})
	needs := func(name, version, more string) {
		w.offer(name, version, "  requires: [{alias: l, package: lib, "+more+"}]\n", nil)
		w.needs(name, version)
	}
	needs("x1", "1.0.0", "parameters: {size: '10'}")
	needs("x2", "1.0.0", "parameters: {size: '99'}")
	p := w.apply()
	w.contains(p.variant(t, "c1/x2").Error, `requires[l] of x2 1.0.0 sets parameters.size of lib to "99", requires[l] of x1 1.0.0 sets it to "10", and there is one lib per cluster`)
	w.wantActions(p, map[string]string{"c1/lib": "create", "c1/x1": "create", "c1/x2": "fail", "c1/variform-lock": "create"})
	w.lacks(w.show("c1", "drafts/variform-lock/packagevariant-1", "variform-lock/lock.yaml"), "x2")
	needs("x2", "1.1.0", "parameters: {size: '10'}")
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "lib/cm.yaml"), `a: "10"`)

	needs("x2", "1.2.0", "share: {mode: none}")
	w.contains(w.apply().variant(t, "c1/x2").Error, "requires[l] of x2 1.2.0 has share.mode none, but x1 needs lib, too, and there is one lib per cluster")
	needs("x2", "1.3.0", "share: {group: mine}")
	w.contains(strings.Join(w.mustApply().variant(t, "c1/x2").Warnings, "\n"), `requires[l].share: lib is shared with x1, which is of group "" and not "mine"`)
}

// What an Installation cannot have done is refused, not passed over.
func TestInstallationWithoutEffect(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.write("i.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: a}\nspec:\n  target: c1\n  package: app\n  pull: {imagePullSecrets: [regcred]}\n  dependencies: {values: [{alias: d, secretRef: {name: s}}]}\n")
	r := w.run("plan")
	w.contains(r.out+r.err, "i.yaml:7: unknown field spec.pull", "by the pipeline of its variant", "i.yaml:8: unknown field spec.dependencies.values", "write spec.credentials")
}

// A default is read as it is written, and the greatest build is the newest.
func TestPlainDefault(t *testing.T) {
	t.Parallel()
	w := needing(t)
	for _, build := range []string{"k8s2", "k8s10"} {
		w.offer("db", "1.0.0+"+build, "  parameters: [{name: size, type: integer, to: {fieldPath: 'ConfigMap/c:data.a'}}]\n", gittest.Text{"cm.yaml": configMap("c", "a: 1")})
	}
	w.offer("app", "1.0.0", "  parameters: [{name: size, type: integer, default: 3}]\n  requires: [{alias: d, package: db, parameters: {size: '${bundle.parameters.size}'}}]\n", nil)
	w.needs("app", "1.0.0")
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "db/cm.yaml"), "a: 3")
	w.contains(w.show("c1", "main", "db/package.yaml"), "1.0.0+k8s10")
}

// What was made for a group is its, also when everybody in it is replaced.
func TestGroupsOfTheLock(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("db", "1.0.0", "", nil)
	group := func(pkg, name string) {
		w.offer(pkg, "1.0.0", "  requires: [{alias: d, package: db, share: {group: "+name+"}}]\n", nil)
		w.needs(pkg, "1.0.0")
	}
	group("a", "red")
	group("c", "blue")
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "variform-lock/lock.yaml"), "share:\n      group: red", "share:\n      group: blue")
	w.write("a.yaml", "")
	w.write("c.yaml", "")
	group("e", "blue")
	group("f", "red")
	w.wantActions(w.mustApply(), map[string]string{
		"c1/a": "keep", "c1/c": "keep", "c1/c-d": "record", "c1/db": "record", "c1/e": "create", "c1/f": "create", "c1/variform-lock": "redraft",
	})
	w.contains(w.mustRun(0, "resolve").out, "c-d            needed by e as d", "db             needed by f as d")
}
