package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/internal/gittest"
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
