package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/test/gittest"
)

// validWorld is a world in which packages are checked.
func validWorld(t *testing.T, clusters ...string) *world {
	t.Helper()
	w := newWorld(t, clusters...)
	w.write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: variform}\n")
	return w
}

// An update that Kubernetes would refuse is one line over all its variants, and nobody publishes it
// without a reason. What is Published already stops nothing, and neither does a missing field.
func TestInvalid(t *testing.T) {
	t.Parallel()
	w := validWorld(t, "c1", "c2", "c3")
	publish := func(version string, spec ...string) {
		text := packageWith("web", "")
		text["web/deployment.yaml"] = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n" + strings.Join(spec, "\n") +
			"\n  template: {spec: {containers: [{name: web}]}}\n"
		w.publishWeb(text, version)
	}
	publish("v1", "  old: 1")
	publish("v2", "  old: 1", "  replcas: 2")
	publish("v3", "  old: 1", "  replicas: 3")
	w.write("set.yaml", webSet)
	const (
		old     = "does not validate: Deployment: unknown field spec.old (unknown-field)"
		replcas = "does not validate: Deployment: unknown field spec.replcas; did you mean \"replicas\"? (unknown-field)"
	)
	w.contains(w.mustRun(0, "plan").out, "does not validate   3          c[1-3]/web", old+"\n")
	w.mustApply()
	w.contains(w.mustRun(0, "status").out, old+"\n")
	w.contains(w.mustRun(0, "status", "-o", "json").out, `"type": "DoesNotValidate"`)
	refused := w.mustRun(1, "approve", "--all")
	w.contains(refused.out, "refused: it does not validate: deployment.yaml:5: Deployment: unknown field spec.old (unknown-field): correct the package, or add --exempt unknown-field --reason TEXT")
	if n := strings.Count(refused.out, "does not validate"); n != 1 {
		t.Errorf("%d lines, want one:\n%s", n, refused.out)
	}
	w.contains(w.mustRun(1, "approve", "--all", "--exempt", "type", "--reason", "it is so").out, "unknown field spec.old")
	w.mustRun(2, "approve", "--all", "--exempt", "unknown-field")
	w.contains(w.mustRun(2, "approve", "--all", "--exempt", "unknown", "--reason", "x").err, "choose one of duplicate, label")
	w.contains(w.mustRun(0, "approve", "--all", "--exempt", "unknown-field", "--reason", "known to the operator", "-o", "json").out,
		`"exempt": "unknown-field: known to the operator"`, `"field": "spec.old"`, `"line": 5`)
	w.lacks(w.mustRun(0, "status").out, "does not validate")

	w.write("set.yaml", strings.Replace(webSet, "revision: v1", "revision: v2", 1))
	w.contains(w.mustRun(0, "plan", "-o", "json").out, `"check": "unknown-field"`, `"severity": "warning"`, `"severity": "error"`)
	w.mustApply()
	shown := w.mustRun(0, "review")
	w.contains(shown.out, "3 variants in 1 class", "! "+replcas+": ")
	w.lacks(shown.out, "unknown field spec.old", "spec.selector")
	w.contains(shown.err, "v1 was exempted from unknown-field: known to the operator")
	w.contains(w.mustRun(1, "approve", "--all").out, replcas[len("does not validate: "):])

	// An update of the Draft corrects it.
	w.write("set.yaml", strings.Replace(webSet, "revision: v1", "revision: v3", 1))
	w.mustApply()
	w.lacks(w.mustRun(0, "status").out, "does not validate")
	w.mustRun(0, "approve", "--all")
}

// A person's edit of a Draft is checked as well, and the fleet's Kptfile can switch a check off.
func TestInvalidEdit(t *testing.T) {
	t.Parallel()
	w := validWorld(t, "c1")
	w.publishWeb(webV1, "v1")
	w.write("set.yaml", webSet)
	w.mustApply()
	w.edit("c1", "drafts/web/packagevariant-1", "web/settings.yaml", "level: info", "level: 80")
	w.mustApply()
	w.contains(w.mustRun(1, "approve", "--all", "--accept-edits").out, "does not validate: settings.yaml:8: ConfigMap: data.level")
	kptfile := func(checks string) {
		w.write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: variform, annotations: {variform.dev/checks: "+checks+"}}\n")
	}
	kptfile("type=of")
	w.contains(w.mustRun(1, "plan").err, `"type=of" must be CHECK=error, =warning or =off`)
	kptfile("type=off")
	w.mustRun(0, "approve", "--all", "--accept-edits")
}

// Automatic waits for a person where Kubernetes would refuse the package.
func TestInvalidAutomatic(t *testing.T) {
	t.Parallel()
	w := validWorld(t, "c1")
	text := packageWith("web", "")
	text["web/config.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndta: {}\n"
	w.publishWeb(text, "v1")
	w.write("set.yaml", webSet)
	w.write("installation.yaml", installation("web", "c1", "  activation: Automatic\n"))
	const why = "activation is Automatic, but it does not validate: ConfigMap: unknown field dta"
	w.contains(w.mustApply().out, why)
	w.contains(w.mustRun(0, "status").out, why)
	w.contains(w.mustApply().out, why)
	w.mustRun(0, "approve", "--all", "--exempt", "unknown-field", "--reason", "x")
}

// A Rollout is approved without what Kubernetes would refuse, or with an exemption in its file, which
// each wave records.
func TestInvalidRollout(t *testing.T) {
	t.Parallel()
	w := &clocked{validWorld(t, "c1", "c2"), time.Now()}
	w.publishWeb(webV1, "v1")
	w.write("sets/web.yaml", webSet)
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(merged(webV1, gittest.Text{"web/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndta: {}\n"}), "v2")
	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v2", 1))
	w.write("strategy.yaml", "apiVersion: variform.dev/v1alpha1\nkind: RolloutStrategy\nmetadata: {name: prod}\nspec: {waves: [{name: all}]}\n")
	w.mustApply()
	approve := append([]string{"approve", "--rollout", "prod"}, w.classes()...)
	w.contains(w.mustRun(2, approve...).err, "unknown field dta", "--exempt unknown-field --reason TEXT")
	w.mustRun(0, append(approve, "--exempt", "unknown-field", "--reason", "the operator reads it")...)
	w.at(0, "rollout", "advance")
	for _, repo := range []string{"c1", "c2"} {
		w.contains(w.repos[repo].Git(t, "log", "-1", "--format=%B", "main"), "Variform-Exempt: unknown-field: the operator reads it")
	}
}
