package e2e

import (
	"strings"
	"testing"
)

// conditions are those that status tells of the one variant, type=status:reason, and the
// messages behind them.
func (w *world) conditions(status int) (types, messages string) {
	w.t.Helper()
	out := w.mustRun(status, "status", "-o", "yaml").out
	_, list, _ := strings.Cut(out, "  conditions:\n")
	var reason, state string
	var all []string
	for line := range strings.Lines(list) {
		key, value, _ := strings.Cut(strings.TrimLeft(line, " -"), ": ")
		switch value = strings.Trim(strings.TrimSpace(value), `"`); key {
		case "reason":
			reason = value
		case "status":
			state = value
		case "type":
			all = append(all, value+"="+state+":"+reason)
		}
	}
	return strings.Join(all, " "), list
}

// status says of an open Draft, from the record and without building, whether it is
// proved, why it is not, and which gates it does not meet: what approve says, too.
func TestStatusTellsProofs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	text := refusing("good")
	for i, f := range text {
		if f.Path == "web/Kptfile" {
			text[i].Data = append(f.Data, "info:\n  readinessGates:\n  - conditionType: sec.review\n"...)
		}
	}
	w.release("v11", text)
	w.write("v.yaml", variantOf("web", "v11", "c1", "web", ""))
	w.mustApply()
	told := func(status int, proved, gates, row string, says ...string) {
		t.Helper()
		got, list := w.conditions(status)
		if want := "Proved=" + proved + " GatesMet=" + gates; !strings.HasSuffix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
		w.contains(strings.Join(strings.Fields(list), " "), says...)
		w.contains(strings.Join(strings.Fields(w.run("status", "-o", "wide").out), " "), row)
	}
	told(0, "True:Proved", "False:Unmet", "Draft packagevariant-1 True gates not met: sec.review", "sec.review is Unknown")
	w.contains(w.mustRun(1, "approve", "web").out, "sec.review is Unknown")

	w.edit("c1", draft1[len("refs/heads/"):], "web/cm.yaml", "a: good", "a: bad")
	before := w.refs()
	told(0, "False:Unproved", "False:Unmet", "packagevariant-1 False edited by hand", "packagevariant-1: edited by hand", "no run has built it since")
	w.unchanged(before)

	w.apply()
	told(1, "False:Failing", "False:Unmet", "packagevariant-1 False v.yaml", "bad value", "lastTransitionTime")
	w.contains(w.mustRun(1, "approve", "web").out, "its variant fails", "bad value")

	w.edit("c1", draft1[len("refs/heads/"):], "web/cm.yaml", "a: bad", "a: fine")
	w.meet(draft1[len("refs/heads/"):])
	w.mustApply()
	told(0, "False:Edited", "True:Met", "packagevariant-1 False 2 edits by hand on packagevariant-1")
	w.approveSeen()
	if got, _ := w.conditions(0); strings.Contains(got, "Proved") {
		t.Errorf("a Published revision: %s", got)
	}
}

// Which function is not idempotent stands in the record with the build that found it.
func TestStatusNamesTheRestless(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	const count = "      source: |\n        for r in ctx.resource_list[\"items\"]:\n          if r[\"kind\"] == \"ConfigMap\" and r[\"metadata\"][\"name\"] == \"c\":\n            r[\"data\"][\"n\"] = r[\"data\"].get(\"n\", \"\") + \"x\"\n"
	release := func(tag, value string) {
		text := refusing(value)
		for i, f := range text {
			if f.Path == "web/Kptfile" {
				text[i].Data = []byte(kptfile("pipeline:\n  mutators:\n  - image: starlark:v0.5\n    configMap:\n" + count))
			}
		}
		w.release(tag, text)
		w.write("v.yaml", variantOf("web", tag, "c1", "web", ""))
	}
	const name = "function starlark:v0.5 of the Kptfile's pipeline changes what it has made already"
	release("v11", "good")
	w.mustApply()
	w.lacks(w.mustRun(0, "status").out, name)
	w.edit("c1", draft1[len("refs/heads/"):], "web/cm.yaml", "a: good", "a: mine")
	w.contains(w.mustApply().out, name)
	w.contains(w.mustRun(0, "status").out, name) // of a build that gave what is there
	w.approveSeen()
	w.lacks(w.mustRun(0, "status").out, name)
	release("v12", "better")
	w.mustApply()
	w.contains(w.mustRun(0, "status", "-o", "wide").out, "packagevariant-2   True     loses 1 edit: data.a mine → better (by Ann Tester) of ConfigMap c; "+name) // of a commit
}
