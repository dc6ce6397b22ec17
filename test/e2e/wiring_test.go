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
