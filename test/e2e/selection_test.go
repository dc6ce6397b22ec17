package e2e

import (
	"strings"
	"testing"
)

// Names, labels and times mean the same at every door; a class is shown whole, and
// decided in parts that keep its key.
func TestSelection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2", "c3", "c4")
	for name, region := range map[string]string{"c1": "eu", "c2": "us", "c3": "us", "c4": "us"} {
		w.write("repositories/"+name+".yaml", strings.Replace(repository(name, w.url(name), true, ""), "{env: prod}", "{env: prod, region: "+region+"}", 1))
	}
	w.write("sets/web.yaml", webSet)
	only := func(out string, want ...string) {
		t.Helper()
		for _, c := range []string{"c1/web", "c2/web", "c3/web", "c4/web"} {
			is := false
			for _, name := range want {
				is = is || name == c
			}
			if strings.Contains(out, c) != is {
				t.Fatalf("%s: %t, want %t in\n%s", c, !is, is, out)
			}
		}
	}
	only(w.mustRun(0, "diff", "-l", "region=eu").out, "c1/web")
	w.mustApply()
	only(w.mustRun(0, "status", "c2", "c3").out, "c2/web", "c3/web")
	only(w.mustRun(0, "status", "web", "-l", "region!=us").out, "c1/web")
	only(w.mustRun(0, "status", "-o", "wide", "--since", "2000-01-01").out, "c1/web", "c2/web", "c3/web", "c4/web")
	only(w.mustRun(0, "status", "--since", "2099-01-01").out)
	w.contains(w.mustRun(2, "status", "-l", "region=asia").err, `no package with the labels "region=asia"`)
	w.contains(w.mustRun(2, "status", "--since", "yesterday").err, "is no time")

	id := w.class("c1/web", "c2/web", "c3/web", "c4/web")
	for _, args := range [][]string{{"web"}, {"-l", "region=eu"}, {id[:5]}} {
		w.contains(w.mustRun(0, append([]string{"review", "--no-diff"}, args...)...).out, "class "+id)
	}
	w.contains(w.mustRun(2, "review", "--since", "2099-01-01").err, "nothing of that is open moved since 2099-01-01T00:00:00Z")

	only(w.mustRun(0, "approve", "--class", id[:len(id)-4], "-l", "region=eu", "-o", "name").out, "c1/web")
	if text := w.repos["c1"].Git(t, "log", "-1", "--format=%B", "main"); !strings.Contains(text, "\nVariform-Class: "+id[:12]+"\n") {
		t.Errorf("the approval's commit says not as which class:\n%s", text)
	}
	rest := w.class("c2/web", "c3/web", "c4/web")
	if rest[:13] != id[:13] {
		t.Errorf("the rest is %s, and was %s", rest, id)
	}
	only(w.mustRun(0, "approve", "--class", rest, "--percent", "34", "-o", "name").out, "c2/web", "c3/web")
	w.contains(w.mustRun(1, "approve", "-l", "region=eu").err, `no revision to approve with the labels "region=eu"`)
	only(w.mustRun(0, "approve", "-l", "region=us", "-o", "name").out, "c4/web")
	for _, wrong := range [][]string{{"--percent", "10"}, {"--class", rest, "--percent", "101"}, {"--class", rest, "--percent", "0"}, {"-l", "a in b"}, {"--main", "-l", "region=us"}} {
		w.mustRun(2, append([]string{"approve"}, wrong...)...)
	}
}
