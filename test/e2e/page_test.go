package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

// readTime is when a page's fleet was read, which a result does not tell.
var readTime = regexp.MustCompile(`, read <time [^>]*>[^<]*</time>`)

// The page has what review and plan have, says where values come from where that is
// asked, and opens in the browser of the machine.
func TestPage(t *testing.T) {
	w := newWorld(t, "c1", "c2", "c3", "c4")
	evil := "<script>alert(1)</script>"
	w.publishWeb(gittest.Text{"web/Kptfile": kptfile(""), "web/e.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: e\ndata:\n  motd: \"" + evil + "\"\n"}, "v9")
	for _, c := range []string{"c1", "c2", "c3", "c4"} {
		w.write("v"+c+".yaml", variantOf("web-"+c, "v9", c, "web", "  packageContext: {data: {cluster: "+c+"}}\n"))
	}
	plan := w.mustRun(0, "plan", "-o", "json").out
	file := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	html := w.mustRun(0, "plan", "-o", "html").out
	w.contains(html, "<h1>Variform plan</h1>", "c[1-4]/web", "variform diff c1/web")
	var again, errs bytes.Buffer
	if cli.Main(t.Context(), []string{"report", "-o", "html", file}, cli.Streams{Out: &again, Err: &errs}); again.String() != readTime.ReplaceAllString(html, "") {
		t.Errorf("report makes another page of the plan's JSON than plan does: %s", errs.String())
	}
	w.mustApply()
	id := w.class("c1/web", "c2/web", "c3/web", "c4/web")
	html = w.mustRun(0, "review", "-o", "html").out
	w.contains(html, "variform approve --class "+id, "c[1-4]/web", "package-context.yaml (new)")
	if strings.Contains(html, "vc1.yaml") || strings.Contains(html, evil) {
		t.Error("origins that nobody asked for, or a value that is no text")
	}
	html = w.mustRun(0, "review", "--origins", "-o", "html").out
	w.contains(html, "<td>vc1.yaml:", `<span class=tip> ← vc1.yaml:`, "variform approve --class "+id)
	w.contains(w.mustRun(0, "review", "--origins", "-o", "json").out, `"from": "vc1.yaml:`, `"package-context.yaml:`)

	// A Draft that is not what would be made today says nothing of where it comes from.
	w.write("vc1.yaml", variantOf("web-c1", "v9", "c1", "web", "  packageContext: {data: {cluster: other}}\n"))
	if html = w.mustRun(0, "review", "--origins", "-o", "html").out; strings.Contains(html, "vc1.yaml:") {
		t.Error("an origin of a value that the Draft does not have")
	}

	// What cannot be explained is reported, and hides nothing of the rest.
	w.write("vc2.yaml", "")
	w.write("vc3.yaml", variantOf("web-c3", "v10", "c3", "web", ""))
	w.write("own.yaml", variantOf("own", "v9", "c1", "own", "  packageContext: {data: {cluster: own, more: own}}\n")+"---\n"+variantOf("gone", "v9", "c1", "gone", "  packageContext: {data: {cluster: gone}}\n  labels: {a: b}\n"))
	w.mustRun(0, "apply", "--only", "c1/own,c1/gone")
	w.write("own.yaml", variantOf("own", "v9", "c1", "own", "  packageContext: {data: {cluster: own, more: own}}\n"))
	shown := w.mustRun(0, "review").out
	for _, format := range []string{"table", "json", "html"} {
		r := w.mustRun(0, "review", "--origins", "-o", format)
		w.contains(r.out+r.err, "c1/gone", "where its values come from is not known: no variant wants it")
		if format == "html" {
			w.contains(r.out, " ← own.yaml:")
		}
	}
	w.contains(shown, "c1/gone")

	bin := t.TempDir()
	xdgOpen := func(does string) {
		if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\n"+does+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	xdgOpen(`cp "$1" ` + bin + "/opened")
	t.Setenv("TMPDIR", bin)
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	opened := strings.TrimSpace(w.mustRun(0, "review", "--open").out)
	data, err := os.ReadFile(filepath.Join(bin, "opened"))
	if err != nil || filepath.Dir(opened) != bin {
		t.Fatal(err, opened)
	}
	w.contains(string(data), "variform approve --class "+id)
	xdgOpen("exit 3")
	r := w.mustRun(0, "review", "--open")
	w.contains(r.err, "no browser could be opened")
	if _, err := os.Stat(strings.TrimSpace(r.out)); err != nil {
		t.Error(err)
	}
}
