package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// refusing is a package with a validator that refuses a value of its ConfigMap.
func refusing(value string) gittest.Files {
	return files(gittest.Text{
		"cm.yaml": configMap("c", "a: "+value),
		"Kptfile": kptfile("pipeline:\n  validators:\n  - image: starlark:v0.5\n    configMap:\n" +
			`      source: '[fail("bad value") for r in ctx.resource_list["items"] if r["kind"] == "ConfigMap" and r["data"].get("a") == "bad"]'` + "\n"),
	})
}

// release publishes a revision of web that is nothing but these files.
func (w *world) release(tag string, text gittest.Files) {
	w.t.Helper()
	c := w.repos["catalog"]
	c.Tag(w.t, "web/"+tag, c.Commit(w.t, "main", "web "+tag, text))
}

// record is the text of all entries of a repository's record, "" without one.
func (w *world) record(repo string) string {
	w.t.Helper()
	r := w.repos[repo]
	if r.AllRefs(w.t)[recordRef] == "" {
		return ""
	}
	return r.Git(w.t, "rev-parse", recordRef) + "\n" + r.Git(w.t, "grep", "-h", "path", recordRef, "--", "index")
}

// The last build's failure is remembered with what went in: status tells it and
// builds nothing. It goes when a build works.
func TestFailuresAreRemembered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.release("v11", refusing("good"))
	w.release("v12", refusing("bad"))
	w.release("v13", refusing("fair"))
	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v11", 1))
	w.mustApply("--only", "c1")
	first := w.record("c1")
	w.lacks(first, "failure")
	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v12", 1))

	w.lacks(w.mustRun(0, "status").out, "bad value")
	if p := w.apply(); p.status != 1 {
		t.Fatalf("status %d\n%s", p.status, p.out)
	}
	before := w.refs()
	for _, repo := range []string{"c1", "c2"} { // c2 has no revision yet
		entries := w.record(repo)
		w.contains(entries, `"place":"built"`, `"failure":"rendering web:`, "bad value", "upstream=")
		w.apply()
		if now := w.record(repo); now != entries {
			t.Errorf("%s: a second apply writes\n%s\nfor\n%s", repo, now, entries)
		}
	}
	w.unchanged(before)
	for _, o := range [][]string{{"c1", "c2"}, {"-o", "wide"}} {
		out := w.mustRun(1, append([]string{"status"}, o...)...).out
		for _, name := range []string{"c1/web", "c2/web"} {
			_, row, _ := strings.Cut(out, name+" ")
			if f := strings.Fields(row); f[0] != "False" || f[1] != "True" || name == "c2/web" && f[2] != "-" {
				t.Errorf("%v: %s", o, out)
			}
		}
		w.contains(out, "2 failed")
	}
	r := w.mustRun(1, "status", "-o", "yaml")
	if n := strings.Count(r.out, "status: \"True\"\n    type: Stalled"); n != 2 {
		t.Errorf("%d Stalled:\n%s", n, r.out)
	}
	if n := strings.Count(r.out, "lastTransitionTime: \"2"); n != 8 {
		t.Errorf("%d times:\n%s", n, r.out)
	}
	w.contains(w.mustRun(1, "status", "-o", "json").out, "bad value", `"type": "Stalled"`,
		"2 of 2 package variants are not up to date: web-c1-web failed; web-c2-web failed")
	w.contains(w.mustRun(0, "record", "check").out, "built/web")

	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v13", 1))
	w.lacks(w.mustRun(0, "status", "-o", "yaml").out, "bad value")
	w.mustApply()
	for _, repo := range []string{"c1", "c2"} {
		w.lacks(w.record(repo), "failure", "built")
	}
	w.lacks(w.mustRun(0, "status").out, "bad value")
}

// A failure is forgotten when inputs come that give what is there.
func TestFailureOfNoEffectGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.release("v11", refusing("good"))
	w.release("v12", refusing("bad"))
	w.write("v.yaml", variantOf("web", "v11", "c1", "web", ""))
	w.mustApply()
	w.write("v.yaml", variantOf("web", "v12", "c1", "web", ""))
	w.apply()
	w.contains(w.record("c1"), "bad value")
	w.write("v.yaml", variantOf("web", "v11", "c1", "web", ""))
	w.mustApply() // the Draft's own inputs: nothing is built
	w.mustRun(0, "status")
	w.write("v.yaml", variantOf("web", "v11", "c1", "web", "  packageContext: {}\n"))
	w.mustApply()
	w.lacks(w.record("c1"), "bad value")
}

// Nothing of what context objects hold gets into the record, whatever a function
// says of it.
func TestFailuresTellNoContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	const hidden = "do-not-tell-this"
	text := refusing("good")
	for i := range text {
		switch text[i].Path {
		case "web/cm.yaml":
			text[i].Data = []byte(strings.Replace(string(text[i].Data), "metadata:\n", "metadata:\n  annotations:\n    kpt.dev/config-injection: required\n", 1))
		case "web/Kptfile":
			text[i].Data = []byte(strings.ReplaceAll(string(text[i].Data), `"bad value"`, `"not " + r["data"]["b"]`))
		}
	}
	w.release("v11", text)
	w.write("settings.yaml", configMap("settings", "a: bad", "b: "+hidden))
	w.write("v.yaml", variantOf("web", "v11", "c1", "web", "  injectors:\n  - name: settings\n"))
	if p := w.apply(); !strings.Contains(p.variant(t, "c1/web").Error, hidden) {
		t.Fatalf("the function does not say it:\n%s", p.out)
	}
	w.contains(w.record("c1"), "not ***")
	w.lacks(w.record("c1"), hidden)
	w.lacks(w.mustRun(1, "status", "-o", "json").out, hidden)
}

// A failure is remembered where the record is on a branch, and not where there is
// to be none.
func TestFailuresAndThePlaceOfTheRecord(t *testing.T) {
	t.Parallel()
	for annotation, remembered := range map[string]bool{"refs/heads/memory": true, "none": false} {
		t.Run(annotation, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			text := repository("c1", w.url("c1"), false, "")
			w.write("repositories/c1.yaml", strings.Replace(text, "  name: c1\n", "  name: c1\n  annotations: {variform.dev/record-ref: "+annotation+"}\n", 1))
			w.release("v11", refusing("bad"))
			w.write("v.yaml", variantOf("web", "v11", "c1", "web", ""))
			p := w.apply()
			w.lacks(p.err, "warning")
			if got := strings.Contains(w.run("status", "-o", "json").out, "bad value"); got != remembered {
				t.Errorf("status tells it: %v", got)
			}
		})
	}
}
