package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/internal/gittest"
)

// definition is a CustomResourceDefinition of Foos in x.io that serves versions.
func definition(versions ...string) string {
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\nspec:\n  group: x.io\n  names: {kind: Foo, plural: foos}\n  scope: Namespaced\n  versions:\n"
	for _, v := range versions {
		text += "  - {name: " + v + ", served: true, storage: true}\n"
	}
	return text
}

// What a package's definitions serve it provides, in every version of it, whatever
// its manifest says.
func TestProvidesByContent(t *testing.T) {
	t.Parallel()
	w := needing(t)
	w.offer("op", "1.0.0", "", gittest.Text{"crds/crd.yaml": definition("v1beta1")})
	w.offer("op", "2.0.0", "", gittest.Text{"crds/crd.yaml": definition("v1")})
	w.offer("op", "3.0.0", "", gittest.Text{"crds/crd.yaml": definition("v2")})
	w.offer("app", "1.0.0", "  requires: [{alias: o, package: op}, {alias: a, gvk: {apiVersion: x.io/v1, kind: Foo}}]\n", nil)
	w.needs("app", "1.0.0")
	p := w.mustApply()
	if up := p.variant(t, "c1/op").Upstream; !strings.Contains(up, "op@op/v2.0.0") {
		t.Errorf("op comes as %s\n%s", up, p.out)
	}
	w.contains(w.mustRun(0, "resolve").out, "op")

	w.offer("alone", "1.0.0", "  requires: [{alias: a, gvk: {apiVersion: x.io/v3, kind: Foo}}]\n", nil)
	w.needs("alone", "1.0.0")
	w.contains(w.mustRun(1, "plan").err, "needs the API x.io/v3 Foo, which is not served here")
	w.offer("odd", "1.0.0", "  provides: [{gvk: {apiVersion: x.io/v3, kind: Foo}}, {gvk: {apiVersion: y.io/v1, kind: Bar}}]\n", gittest.Text{"crd.yaml": definition("v1", "v2")})
	w.write("app.yaml", "")
	w.write("alone.yaml", "")
	w.needs("odd", "1.0.0")
	r := w.mustRun(0, "plan")
	w.contains(r.err, "upstream catalog/odd@odd/v1.0.0: package.yaml: spec.provides has x.io/v3 Foo, and the definition in the package serves v1, v2 alone")
	w.lacks(r.err, "y.io/v1 Bar")
}
