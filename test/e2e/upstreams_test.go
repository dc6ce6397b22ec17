package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A set sends two packages to each target; two injection points of one kind in one of
// them are filled by name. What changes of one upstream, or of one point, moves the
// Drafts of just that.
func TestUpstreamsAndPoints(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	point := func(name string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n  annotations:\n    kpt.dev/config-injection: required\ndata: {}\n"
	}
	publish := func(pkg, tag string, more gittest.Text) {
		more[pkg+"/Kptfile"] = kptfileOf(pkg)
		w.repos["catalog"].Tag(t, pkg+"/"+tag, w.repos["catalog"].Commit(t, "main", pkg+" "+tag, more))
	}
	publish("api", "v1", gittest.Text{"api/in.yaml": point("in"), "api/out.yaml": point("out")})
	publish("ui", "v1", gittest.Text{"ui/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ui\ndata:\n  v: one\n"})
	settings := func(name, value string) {
		w.write(name+".yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: "+name+"\n  namespace: default\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  at: "+value+"\n")
	}
	settings("inward", "10.0.0.1")
	settings("outward", "192.0.2.1")
	set := `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata:
  name: both
spec:
  upstreams:
  - {repo: catalog, package: api, revision: v1}
  - {repo: catalog, package: ui, revision: v1}
  targets:
  - repositorySelector: {matchLabels: {env: prod}}
    template:
      injectors:
      - {kind: ConfigMap, name: inward, point: in}
      - {kind: ConfigMap, name: outward, point: out}
`
	w.write("s.yaml", set)
	create := map[string]string{"c1/api": "create", "c1/ui": "create", "c2/api": "create", "c2/ui": "create"}
	w.wantActions(w.mustApply(), create)
	w.mustRun(0, "approve", "--all")
	for _, c := range []string{"c1", "c2"} {
		w.contains(w.show(c, "main", "api/in.yaml"), "name: in\n", "at: 10.0.0.1")
		w.contains(w.show(c, "main", "api/out.yaml"), "name: out\n", "at: 192.0.2.1")
		w.contains(w.show(c, "main", "ui/cm.yaml"), "v: one")
	}
	before := w.refs()
	w.mustApply()
	w.unchanged(before)

	settings("outward", "192.0.2.9")
	w.wantActions(w.mustApply(), map[string]string{"c1/api": "redraft", "c2/api": "redraft"})
	const draft = "drafts/api/packagevariant-2"
	w.contains(w.show("c1", draft, "api/out.yaml"), "at: 192.0.2.9")
	w.contains(w.show("c1", draft, "api/in.yaml"), "at: 10.0.0.1")
	w.mustRun(0, "approve", "--all")

	publish("ui", "v2", gittest.Text{"ui/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ui\ndata:\n  v: two\n"})
	set = strings.Replace(set, "package: ui, revision: v1", "package: ui, revision: v2", 1)
	w.write("s.yaml", set)
	w.wantActions(w.mustApply(), map[string]string{"c1/ui": "redraft", "c2/ui": "redraft"})
	w.mustRun(0, "approve", "--all")

	// A point that nothing fills has its package wait.
	w.write("s.yaml", strings.Replace(set, "point: out", "point: outt", 1))
	w.contains(w.mustApply().out, "config.injection.ConfigMap.out: no resource matched")
	w.contains(w.run("approve", "--all").out, "c1/api", "refused: readiness gates are not met: config.injection.ConfigMap.out is False")
}
