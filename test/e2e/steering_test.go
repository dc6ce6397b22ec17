package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/variform/variform/test/gittest"
)

// evil returns a text of a package that would begin lines of what is printed, steer a
// terminal, and give a CI system commands.
func evil(word string) string {
	return word + "\nEVIL " + word + "\r::error::EVIL\u2028EVIL\u0085EVIL\x1b[31m\u202eEVIL\n::stop-commands::EVIL\n  ::warning::EVIL\n##[error]EVIL\nEVIL"
}

func quoted(text string) string { return strconv.QuoteToASCII(text) }

// steered finds lines that begin with text of a package, or that a CI system acts on.
var steered = regexp.MustCompile(`(?m)^EVIL|^\s*::|##\[|##vso\[`)

// inert fails where text of a package reaches the beginning of a line, or a control
// character reaches the terminal.
func (w *world) inert(command string, r result) {
	w.t.Helper()
	for where, text := range map[string]string{"stdout": r.out, "stderr": r.err} {
		if at := steered.FindStringIndex(text); at != nil {
			w.t.Errorf("%s: %s has a line that begins with text of a package: %q\n%s", command, where, text[at[0]:min(len(text), at[1]+40)], text)
		}
		if at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }); at >= 0 {
			w.t.Errorf("%s: %s has a control character: %q\n%s", command, where, text[max(0, at-20):min(len(text), at+20)], text)
		}
	}
}

func evilPackage(version string) gittest.Text {
	of := func(kind, name string) string {
		return "apiVersion: example.com/v1\nkind: " + quoted(kind) + "\nmetadata: {name: " + quoted(name) + "}\ndata:\n  # ::error::EVIL " + version + "\n  value: " +
			quoted(evil(version)) + "\n  " + quoted(evil("key")) + ": " + version + "\n  own: a\n"
	}
	return gittest.Text{
		"web/Kptfile":                     web("1.0", "100m", "info")["web/Kptfile"],
		"web/::stop-commands::x.yaml":     of("Evil", "one"),
		"web/two.yaml":                    of("::error::EVIL", "two"),
		"web/three.yaml":                  of("Evil", evil("three")),
		"web/::error::EVIL.md":            "::error::EVIL " + version + "\n",
		"web/" + version + "/::gone.yaml": of("Evil", "four"),
	}
}

// No command prints a line that begins with text of a package, whatever lines that has,
// and no control character.
func TestTextOfPackagesSteersNothing(t *testing.T) {
	w := newWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.publishWeb(evilPackage("v1"), "v1")
	run := func(args ...string) {
		t.Helper()
		w.inert(strings.Join(args, " "), w.run(args...))
	}
	show := func(name string) {
		t.Helper()
		for _, args := range [][]string{
			{"plan"},
			{"plan", "-o", "wide"},
			{"status"},
			{"status", "-o", "wide"},
			{"review"},
			{"review", "-o", "wide"},
			{"review", "--members"},
			{"edits"},
			{"edits", "-o", "wide"},
			{"edits", "--lost"},
			{"blame", name},
			{"blame", name, "-o", "wide"},
			{"blame", name, "two.yaml"},
			{"blame", name, "::stop-commands::x.yaml"},
			{"blame", "--field", "data.value"},
			{"blame", "--field", "data.value", "-o", "wide"},
			{"impact", "--on", "web@v1"},
			{"record"},
			{"record", "--check"},
		} {
			run(args...)
		}
	}
	show("c1/web")
	w.inert("apply", w.mustRun(0, "apply"))
	show("c1/web")
	w.inert("approve", w.mustRun(0, "approve", "--all"))
	for _, file := range []string{"web/two.yaml", "web/::stop-commands::x.yaml", "web/three.yaml"} {
		w.edit("c1", "main", file, "own: a", "own: "+quoted(evil("mine")))
		w.edit("c1", "main", file, quoted(evil("v1")), quoted(evil("edited"))+" # ::error::EVIL")
	}
	show("c1/web")
	w.publishWeb(evilPackage("v2"), "v2")
	w.write("sets/web.yaml", strings.Replace(webSet, "revision: v1", "revision: v2", 1))
	show("c1/web")
	w.inert("apply", w.mustRun(0, "apply"))
	show("c1/web")
	run("approve", "web")
	run("approve", "web", "--accept-lost")
	run("revert", "c1/web", "--to", "v1")
	show("c1/web")
}

// What functions say, and what cannot be read, steers nothing either.
func TestFailuresSteerNothing(t *testing.T) {
	for name, files := range map[string]gittest.Text{
		"a function fails": {"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\npipeline:\n  mutators:\n    - image: starlark:v0.5\n      configMap:\n        source: " +
			quoted("fail("+quoted(evil("why"))+")") + "\n", "web/a.yaml": configMap("a", "a: 1")},
		"a setter without a value": {
			"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\npipeline:\n  mutators:\n    - image: apply-setters:v0.2\n      configMap: {a: b}\n",
			"web/a.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + quoted(evil("a")) + "}\ndata:\n  a: " + quoted(evil("1")) + " # kpt-set: ${" + "::error::EVIL}\n",
		},
		"a value of the wrong type": {"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\npipeline: " + quoted(evil("x")) + "\n"},
		"no YAML":                   {"web/Kptfile": webV1["web/Kptfile"], "web/::error::EVIL.yaml": "a: b: c\n::error::EVIL\n"},
		"an unknown image":          {"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\npipeline:\n  mutators:\n    - image: " + quoted(evil("x")) + "\n"},
		"a validator": {"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\npipeline:\n  validators:\n    - image: starlark:v0.5\n      name: " + quoted(evil("n")) + "\n      configMap:\n        source: " +
			quoted("fail("+quoted(evil("why"))+")") + "\n", "web/a.yaml": configMap("a", "a: 1")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "c1")
			w.write("sets/web.yaml", webSet)
			w.publishWeb(files, "v1")
			for _, args := range [][]string{{"plan"}, {"plan", "-o", "wide"}, {"apply"}, {"status"}, {"status", "-o", "wide"}, {"review"}, {"edits"}, {"diff"}} {
				w.inert(strings.Join(args, " "), w.run(args...))
			}
			dir := filepath.Join(w.dir, "local")
			for path, text := range files {
				file := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(path, "web/")))
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range [][]string{{"render", dir}, {"render", dir, "-v"}, {"pin", dir}} {
				w.inert(args[0], runIn(filepath.Join(w.dir, "cache"), args...))
			}
		})
	}
}
