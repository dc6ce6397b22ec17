package e2e

import (
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A Secret in plain text stops no variant, and nobody overlooks it: plan, the report
// and review name the file, once for all that have it. So does plan for a file that
// kpt would not render.
func TestPlainSecretsAreFindings(t *testing.T) {
	w := newWorld(t, "c1", "c2")
	secret := "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\nstringData:\n  password: hunter2\n"
	w.publishWeb(merged(web("1", "1", "info"), gittest.Text{
		"web/db.yaml": secret, "web/sealed.yaml": secret + "sops:\n  mac: ENC[x]\n", "web/values.yaml": "replicas: 3\n",
	}), "v7")
	for _, c := range []string{"c1", "c2"} {
		w.write(c+".yaml", variantOf("web-"+c, "v7", c, "web", ""))
	}
	const found, foreign = "db.yaml: Secret db holds 1 value in plain text", "values.yaml:1: it is YAML without apiVersion and kind"
	r := w.mustRun(0, "plan")
	w.contains(r.err, "warning: c1/web: "+found, "the same for 1 more variant: "+found, "warning: c1/web: "+foreign)
	w.lacks(r.err+r.out, "sealed.yaml", "hunter2")
	w.contains(w.mustRun(0, "plan", "-o", "markdown").out, "Warnings", found)

	w.mustApply()
	r = w.mustRun(0, "review")
	w.contains(r.err, "warning: c1/web, c2/web: "+found)
	w.lacks(r.err, "sealed.yaml", "hunter2")
	w.contains(w.mustRun(0, "review", "-o", "markdown").out, "Warnings", found)
	w.contains(w.mustRun(0, "review", "-o", "json").out, `"kind": "warning"`, found)
	w.mustRun(0, "approve", "--all")
}
