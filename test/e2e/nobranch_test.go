package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// branchGone are the ways in which a registered branch is missing, and the
// branches that its repository has then.
var branchGone = map[string]struct {
	lose func(w *world)
	name string // registered
	has  string
}{
	"renamed on the forge": {func(w *world) { w.repos["c1"].Git(w.t, "branch", "-m", "main", "trunk") }, "main", "there are: trunk"},
	"deleted":              {func(w *world) { w.repos["c1"].Git(w.t, "update-ref", "-d", "refs/heads/main") }, "main", "the repository has no other branch"},
	"mistyped": {func(w *world) {
		w.write("repositories/c1.yaml", strings.Replace(repository("c1", w.url("c1"), true, ""), "branch: main", "branch: mian", 1))
	}, "mian", "there are: main"},
}

// Where a registered branch does not exist, every verb fails with the branches that
// do, changes nothing there, and goes on with the other repositories.
func TestNoRegisteredBranch(t *testing.T) {
	t.Parallel()
	for how, gone := range branchGone {
		for state, reach := range map[string]func(w *world){
			"nothing drafted": nil,
			"a first Draft":   func(w *world) { w.mustApply() },
			"Published":       func(w *world) { w.mustApply(); w.mustRun(0, "approve", "--all") },
			"a Draft": func(w *world) {
				w.mustApply()
				w.mustRun(0, "approve", "--all")
				w.upgrade()
			},
			"an edited Draft": func(w *world) {
				w.mustApply()
				w.mustRun(0, "approve", "--all")
				w.upgrade()
				w.edit("c1", "drafts/web/packagevariant-2", "web/settings.yaml", "level: info", "level: debug")
			},
			"Proposed": func(w *world) {
				w.mustApply()
				w.mustRun(0, "approve", "--all")
				w.upgrade()
				w.mustRun(0, "propose", "--all")
			},
			"a proposed deletion": func(w *world) {
				w.mustApply()
				w.mustRun(0, "approve", "--all")
				w.write("variants/c1.yaml", "")
				w.mustApply("--prune")
			},
		} {
			if how == "deleted" && state == "nothing drafted" {
				continue // a repository without any commit
			}
			t.Run(how+", "+state, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "c1", "c2")
				w.write("variants/c1.yaml", variantOf("web", "v1", "c1", "web", ""))
				w.write("variants/c2.yaml", variantOf("other", "v1", "c2", "web", ""))
				if reach != nil {
					reach(w)
				}
				gone.lose(w)
				before := w.repos["c1"].Refs(t)
				says := []string{"branch " + gone.name + " does not exist in ", gone.has}
				for _, verb := range []string{
					"plan", "status", "review", "edits", "diff", "blame c1/web", "impact variants/c2.yaml:1", "record check", "record show", "record rebuild",
					"propose --all", "approve --all", "approve c1/web", "reject --all", "discard c1/web --reason no", "approve --main c1/web",
					"revert c1/web v1", "hold c1/web --reason later", "apply", "apply --prune", "apply --retry c1/web", "apply --recreate c1/web", "review --origins",
				} {
					r := w.run(strings.Fields(verb)...)
					if r.status == 0 {
						t.Errorf("%s: status 0\n%s%s", verb, r.out, r.err)
					}
					for _, part := range says {
						if !strings.Contains(r.out+r.err, part) {
							t.Errorf("%s lacks %q:\n%s%s", verb, part, r.out, r.err)
						}
					}
				}
				if now := w.repos["c1"].Refs(t); len(now) != len(before) {
					t.Errorf("refs %v, before %v", now, before)
				}
				for ref, at := range before {
					if now := w.repos["c1"].Refs(t)[ref]; now != at {
						t.Errorf("%s moved", ref)
					}
				}
				if state != "a proposed deletion" {
					w.contains(w.run("status", "-o", "json").out, `"reason": "Error"`)
				}
				// The other repository goes on.
				w.run("approve", "c2/web")
				w.contains(strings.Join(w.refNames("c2"), " "), "refs/tags/web/v1")
				if how == "deleted" {
					return
				}
				// With its branch back it goes on as if nothing had been.
				if how == "mistyped" {
					w.write("repositories/c1.yaml", repository("c1", w.url("c1"), true, ""))
				} else {
					w.write("repositories/c1.yaml", strings.Replace(repository("c1", w.url("c1"), true, ""), "branch: main", "branch: trunk", 1))
				}
				w.mustApply()
			})
		}
	}
}

// upgrade asks for web v2 in c1, and drafts it.
func (w *world) upgrade() {
	w.t.Helper()
	w.publishWeb(webV2, "v2")
	w.write("variants/c1.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
}

// A branch is created where createBranch says so, and by the first approval in a
// repository that has no commit but Drafts.
func TestCreatesRegisteredBranch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start  func(w *world)
		branch string
		create bool
	}{
		"no commit":                          {func(*world) {}, "main", false},
		"createBranch beside another":        {func(w *world) { w.repos["c1"].Commit(w.t, "trunk", "start", gittest.Text{"a.txt": "a\n"}) }, "main", true},
		"createBranch of another, no commit": {func(*world) {}, "packages", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repo("c1", true)
			object := strings.Replace(repository("c1", w.url("c1"), true, ""), "branch: main", "branch: "+c.branch, 1)
			if c.create {
				object += "    createBranch: true\n"
			}
			w.write("repositories/c1.yaml", object)
			c.start(w)
			w.write("variants/c1.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			w.edit("c1", "drafts/web/packagevariant-1", "web/settings.yaml", "level: info", "level: debug")
			for _, verb := range []string{"plan", "status", "edits", "review", "record check"} {
				w.mustRun(0, strings.Fields(verb)...)
			}
			w.mustApply()
			w.approveSeen()
			w.contains(w.show("c1", c.branch, "web/settings.yaml"), "debug")
		})
	}
}
