package e2e

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// A new revision that cannot be read fails all variants alike, with file and line: also
// those of which a person edited the file, another file, or its Kptfile. Nothing moves,
// and the revision after it arrives with all edits kept.
func TestUnreadableUpstream(t *testing.T) {
	t.Parallel()
	kptfile := kptfileOf("multi")
	all := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  v: one\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\ndata:\n  v: one\n"
	good := gittest.Text{"multi/Kptfile": kptfile, "multi/all.yaml": all, "multi/sub/Kptfile": kptfileOf("sub"), "multi/sub/s.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: s\ndata:\n  v: one\n"}
	corrected := maps.Clone(good)
	corrected["multi/new.txt"] = "new\n"
	for name, tc := range map[string]struct{ file, text, want string }{
		"a file":                {"multi/all.yaml", strings.Replace(all, "name: b", "name: {b", 1), "upstream catalog/multi@multi/v2: all.yaml:11: it is not valid YAML"},
		"another encoding":      {"multi/all.yaml", strings.Replace(all, "v: one", "v: \xe9", 1), "upstream catalog/multi@multi/v2: all.yaml:6: it is not UTF-8 text"},
		"a lost name":           {"multi/all.yaml", strings.Replace(all, "  name: b\n", "  labels: {b: c}\n", 1), "upstream catalog/multi@multi/v2: all.yaml:8: the ConfigMap has no metadata.name"},
		"a list":                {"multi/all.yaml", all + "---\n- c\n", "upstream catalog/multi@multi/v2: all.yaml:15: it is YAML without apiVersion and kind"},
		"the Kptfile":           {"multi/Kptfile", kptfile + "pipeline: [{\n", "upstream catalog/multi@multi/v2: Kptfile:"},
		"an old Kptfile":        {"multi/Kptfile", strings.Replace(kptfile, "kpt.dev/v1", "kpt.dev/v1alpha2", 1), "upstream catalog/multi@multi/v2: Kptfile:1: its apiVersion is"},
		"a subpackage":          {"multi/sub/Kptfile", kptfileOf("sub") + "pipeline: [{\n", "upstream catalog/multi@multi/v2: sub/Kptfile:"},
		"a subpackage of v1a2":  {"multi/sub/Kptfile", strings.Replace(kptfileOf("sub"), "kpt.dev/v1", "kpt.dev/v1alpha2", 1), "upstream catalog/multi@multi/v2: sub/Kptfile:1: its apiVersion is"},
		"a subpackage of other": {"multi/sub/Kptfile", "a: b\n", "upstream catalog/multi@multi/v2: sub/Kptfile:1: it has no document of kind Kptfile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusters := []string{"c1", "c2", "c3", "c4"}
			w := newWorld(t, clusters...)
			w.repos["catalog"].Tag(t, "multi/v1", w.repos["catalog"].Commit(t, "main", "v1", good))
			put := func(revision string) {
				for _, c := range clusters {
					w.write(c+".yaml", strings.Replace(variantOf(c, revision, c, "multi", ""), "package: web", "package: multi", 1))
				}
			}
			put("v1")
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			edit := func(c, file, from, to string) {
				t.Helper()
				text := w.repos[c].Show(t, "main", file)
				if !strings.Contains(text, from) {
					t.Fatalf("%s: no %q in %q", file, from, text)
				}
				w.repos[c].Commit(t, "main", "by hand", gittest.Text{file: strings.Replace(text, from, to, 1)})
			}
			edit("c2", "multi/all.yaml", "v: one", "v: mine")
			edit("c3", "multi/sub/s.yaml", "v: one", "v: mine")
			edit("c4", "multi/sub/Kptfile", "metadata:\n", "info:\n  description: mine\nmetadata:\n")

			w.repos["catalog"].Tag(t, "multi/v2", w.repos["catalog"].Commit(t, "main", "v2", gittest.Text{tc.file: tc.text, "multi/new.txt": "new\n"}))
			put("v2")
			before := w.refs()
			for _, command := range []string{"plan", "apply"} {
				r := w.run(command)
				if !strings.Contains(r.out, "fail     4          c[1-4]/multi") {
					t.Errorf("%s: not all fail:\n%s%s", command, r.out, r.err)
				}
				w.contains(r.err, "error: c1/multi: ", tc.want, "error: the same for 3 more variants (c2/multi, c3/multi, c4/multi): ")
			}
			w.run("approve", "--all")
			if diff := cmp.Diff(before, w.refs()); diff != "" {
				t.Errorf("refs moved:\n%s", diff)
			}

			w.repos["catalog"].Tag(t, "multi/v3", w.repos["catalog"].Commit(t, "main", "v3", corrected))
			put("v3")
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			for c, mine := range map[string]string{"c2": "multi/all.yaml", "c3": "multi/sub/s.yaml", "c4": "multi/sub/Kptfile"} {
				w.contains(w.repos[c].Show(t, "main", mine), "mine")
				w.contains(w.repos[c].Show(t, "main", "multi/all.yaml"), "name: b")
				w.contains(w.repos[c].Show(t, "main", "multi/new.txt"), "new")
			}
		})
	}
}

// What a person left unreadable on main is reported as that, with file and line, before
// and after the next revision; nothing is removed, and nothing is merged with it.
func TestUnreadableOnMain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	cm := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: one\n"
	at := func(n, text string) {
		w.repos["catalog"].Tag(t, "multi/v"+n, w.repos["catalog"].Commit(t, "main", "v"+n, gittest.Text{"multi/Kptfile": kptfileOf("multi"), "multi/x.yaml": text}))
		w.write("v.yaml", strings.Replace(variantOf("v", "v"+n, "c1", "multi", ""), "package: web", "package: multi", 1))
	}
	at("1", cm)
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	main := w.repos["c1"].Show(t, "main", "multi/x.yaml")
	w.repos["c1"].Commit(t, "main", "half a merge", gittest.Text{"multi/x.yaml": strings.Replace(main, "  a: one\n", "<<<<<<< HEAD\n  a: mine\n=======\n  a: theirs\n>>>>>>> other\n", 1)})
	const where = "x.yaml:6"
	for _, command := range []string{"plan", "status", "edits"} {
		r := w.run(command)
		if !strings.Contains(r.out, where) || strings.Contains(r.out, "removed") {
			t.Errorf("%s:\n%s%s", command, r.out, r.err)
		}
	}
	r := w.mustRun(1, "approve", "--main", "c1/multi")
	w.contains(r.out+r.err, where)
	at("2", strings.Replace(cm, "a: one", "a: two", 1))
	before := w.refs()
	for _, command := range []string{"plan", "apply", "status"} {
		r := w.mustRun(1, command)
		w.contains(r.err, "package multi at branch main: "+where+": it is not valid YAML: conflict marker <<<<<<<")
	}
	if diff := cmp.Diff(before, w.refs()); diff != "" {
		t.Errorf("refs moved:\n%s", diff)
	}
}
