package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// threeRevisions publishes web v1 to v3 in c1.
func threeRevisions(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "c1")
	for i, files := range []gittest.Text{nil, webV2, webCPU} {
		version := "v" + string(rune('1'+i))
		if files != nil {
			w.publishWeb(files, version)
		}
		w.write("web.yaml", variantOf("web", version, "c1", "web", ""))
		w.mustApply()
		w.mustRun(0, "approve", "--all")
	}
	return w
}

// Lost tags come back where they were, by the branch's lines, with and without the record, and no
// number is used twice.
func TestLostTags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tags   []string
		record bool // stays
		hotfix bool // since
	}{
		"all":                            {[]string{"v1", "v2", "v3"}, true, false},
		"all, and the record":            {[]string{"v1", "v2", "v3"}, false, false},
		"all, with a hotfix since":       {[]string{"v1", "v2", "v3"}, false, true},
		"the newest":                     {[]string{"v3"}, true, false},
		"the newest, with a hotfix":      {[]string{"v3"}, false, true},
		"the two newest, and the record": {[]string{"v2", "v3"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := threeRevisions(t)
			v3 := w.refs()["c1 refs/tags/web/v3"]
			for _, tag := range c.tags {
				w.repos["c1"].Git(t, "tag", "-d", "web/"+tag)
			}
			if !c.record {
				w.repos["c1"].Git(t, "update-ref", "-d", "refs/variform/variform")
			}
			if c.hotfix {
				w.edit("c1", "main", "web/settings.yaml", "level: info", "level: debug")
			}
			cold := w.plan("--cache-dir", t.TempDir())
			if warm := w.plan(); cold.out != warm.out {
				t.Errorf("with an empty cache:\n%s\nwith a cache:\n%s", cold.out, warm.out)
			}
			w.mustApply()
			if got := w.refs()["c1 refs/tags/web/v3"]; got != v3 {
				t.Fatalf("v3 is at %q, was at %s\n%s", got, v3, cold.out)
			}
			before := w.refs()
			w.mustApply()
			w.unchanged(before)
			w.publishWeb(webV2, "v4")
			w.write("web.yaml", variantOf("web", "v4", "c1", "web", ""))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			if w.refs()["c1 refs/tags/web/v4"] == "" {
				t.Errorf("refs %v", w.refNames("c1"))
			}
		})
	}
}

// The newest revision was set back on the registered branch, and lost its tag and the record:
// the branch has what the older tag has, and the number is not used again all the same.
func TestLostTagOfWhatWasSetBack(t *testing.T) {
	t.Parallel()
	w := threeRevisions(t)
	v3 := w.refs()["c1 refs/tags/web/v3"]
	back := w.repos["c1"].Git(t, "commit-tree", "-p", "main", "-m", "back", "web/v2^{tree}")
	w.repos["c1"].Git(t, "update-ref", "refs/heads/main", back)
	w.repos["c1"].Git(t, "tag", "-d", "web/v3")
	w.repos["c1"].Git(t, "update-ref", "-d", "refs/variform/variform")
	w.publishWeb(webV1, "v4")
	w.write("web.yaml", variantOf("web", "v4", "c1", "web", ""))
	cold := w.plan("--cache-dir", t.TempDir())
	if warm := w.plan(); cold.out != warm.out {
		t.Errorf("with an empty cache:\n%s\nwith a cache:\n%s", cold.out, warm.out)
	}
	w.contains(cold.out, "tag v3 is missing: set again at "+v3[:7])
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	if got := w.refs(); got["c1 refs/tags/web/v3"] != v3 || got["c1 refs/tags/web/v4"] == "" {
		t.Errorf("refs %v", w.refNames("c1"))
	}
}

// A tag that a person moved is reported, with any cache, with and without the record, and
// nothing is drafted, approved or tagged upon it.
func TestMovedTag(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to   string
		says string
	}{
		"to a hotfix":           {"main", "that revision was Published at V3"},
		"to an older revision":  {"web/v1", "that revision was Published at V3"},
		"to an older hotfix":    {"hotfix", "that revision was Published at V3"},
		"to a Draft made of it": {"drafts/web/packagevariant-4", "that revision was Published at V3"},
	} {
		for _, record := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "c1")
				for i, files := range []gittest.Text{nil, webV2, webCPU} {
					version := "v" + string(rune('1'+i))
					if files != nil {
						w.publishWeb(files, version)
					}
					w.write("web.yaml", variantOf("web", version, "c1", "web", ""))
					w.mustApply()
					if i == 1 { // upon v1, below v2
						w.repos["c1"].Commit(t, "main", "beside", gittest.Text{"x.txt": "x\n"})
						w.repos["c1"].Git(t, "branch", "hotfix", "main")
						w.mustApply()
					}
					w.mustRun(0, "approve", "--all")
				}
				v3 := w.refs()["c1 refs/tags/web/v3"]
				w.publishWeb(webV1, "v4")
				w.write("web.yaml", variantOf("web", "v4", "c1", "web", ""))
				w.mustApply()
				w.edit("c1", "main", "web/settings.yaml", "level: info", "level: debug")
				w.repos["c1"].Git(t, "tag", "-f", "web/v3", c.to)
				if !record {
					w.repos["c1"].Git(t, "update-ref", "-d", "refs/variform/variform")
				}
				cold := w.plan("--cache-dir", t.TempDir())
				if warm := w.plan(); cold.out != warm.out {
					t.Errorf("with an empty cache:\n%s\nwith a cache:\n%s", cold.out, warm.out)
				}
				w.contains(cold.variant(t, "c1/web").Error, "tag v3 is at", strings.ReplaceAll(c.says, "V3", v3[:7]), "move the tag back")
				before := w.refs()
				w.run("apply")
				w.run("approve", "--all")
				w.unchanged(before)
				w.repos["c1"].Git(t, "tag", "-f", "web/v3", v3)
				w.mustApply()
				w.mustRun(0, "approve", "--all")
				if w.refs()["c1 refs/tags/web/v4"] == "" {
					t.Errorf("refs %v", w.refNames("c1"))
				}
			})
		}
	}
}

// What the record says of the number and the commit of a revision changes no verdict, and
// the next revision is Published as ever.
func TestForgedRevision(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(w *world, v3, hotfix string){
		"its commit":  func(w *world, v3, hotfix string) { w.forgeRecord(v3, hotfix) },
		"its number":  func(w *world, _, _ string) { w.forgeRecord(`"revision":3`, `"revision":7`) },
		"another's":   func(w *world, v3, _ string) { w.forgeRecord(w.refs()["c1 refs/tags/web/v2"], v3) },
		"no revision": func(w *world, _, _ string) { w.repos["c1"].Git(w.t, "update-ref", "-d", recordRef) },
	} {
		for _, lost := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := threeRevisions(t)
				v3 := w.refs()["c1 refs/tags/web/v3"]
				w.edit("c1", "main", "web/settings.yaml", "level: info", "level: debug")
				if lost {
					w.repos["c1"].Git(t, "tag", "-d", "web/v3")
				}
				honest := w.plan("--cache-dir", t.TempDir())
				forge(w, v3, w.repos["c1"].Git(t, "rev-parse", "main"))
				if forged := w.plan("--cache-dir", t.TempDir()); forged.out != honest.out {
					t.Errorf("with what is true:\n%s\nforged:\n%s", honest.out, forged.out)
				}
				w.mustApply()
				w.publishWeb(webV2, "v4")
				w.write("web.yaml", variantOf("web", "v4", "c1", "web", ""))
				w.mustApply()
				w.mustRun(0, "approve", "--all")
				w.contains(w.show("c1", "main", "web/settings.yaml"), "level: debug")
				if got := w.refs()["c1 refs/tags/web/v3"]; got != v3 {
					t.Errorf("v3 is at %q, was at %s", got, v3)
				}
			})
		}
	}
}

// A Draft whose branch a person renamed is one revision, whichever way it is merged: the next
// one has a workspace of its own at once.
func TestRenamedDraft(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"merge", "squash", "rebase", "fast-forward"} {
		for _, remove := range []bool{true, false} {
			t.Run(style, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "c1")
				w.write("web.yaml", variantOf("web", "v1", "c1", "web", ""))
				w.mustApply()
				w.repos["c1"].Git(t, "branch", "-m", "drafts/web/packagevariant-1", "drafts/web/ours")
				w.forgeMerge("c1", "drafts/web/ours", style, remove)
				w.publishWeb(webV2, "v2")
				w.write("web.yaml", variantOf("web", "v2", "c1", "web", ""))
				done := w.mustApply()
				before := w.refs()
				if before["c1 refs/tags/web/v1"] == "" || before["c1 refs/heads/drafts/web/packagevariant-2"] == "" || before["c1 refs/heads/drafts/web/ours"] != "" {
					t.Errorf("refs %v\n%s", w.refNames("c1"), done.out)
				}
				w.mustApply()
				w.unchanged(before)
			})
		}
	}
}

// What changed only in its layout since a Draft was merged is no change by others: the run that
// tags the Draft sees it as the next one does.
func TestLineEndsAfterAMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("web.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "squash", false)
	text := w.show("c1", "main", "web/settings.yaml")
	w.repos["c1"].Commit(t, "main", "line ends", gittest.Text{"web/settings.yaml": strings.ReplaceAll(text+"\n", "\n", "\r\n")})
	w.publishWeb(webV2, "v2")
	w.write("web.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
}

// A package that was deleted and comes back uses none of its numbers again, with and without
// the record.
func TestNumberAfterADeletion(t *testing.T) {
	t.Parallel()
	for _, record := range []bool{true, false} {
		w := newWorld(t, "c1")
		w.write("web.yaml", variantOf("web", "v1", "c1", "web", ""))
		w.mustApply()
		w.mustRun(0, "approve", "--all")
		w.write("web.yaml", "")
		w.mustApply("--prune")
		w.mustRun(0, "approve", "--all")
		if !record {
			w.repos["c1"].Git(t, "update-ref", "-d", recordRef)
		}
		w.write("web.yaml", variantOf("web", "v1", "c1", "web", ""))
		w.mustApply()
		w.mustRun(0, "approve", "--all")
		if got := w.refs(); got["c1 refs/tags/web/v1"] != "" || got["c1 refs/tags/web/v2"] == "" {
			t.Errorf("record %t: refs %v", record, w.refNames("c1"))
		}
	}
}

// A change on the registered branch is seen with any cache, with and without a record.
func TestAnyCacheSeesMain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"a hotfix": func(w *world) { w.edit("c1", "main", "web/settings.yaml", "level: info", "level: debug") },
		"set back": func(w *world) {
			w.repos["c1"].Git(w.t, "read-tree", "--index-output="+filepath.Join(w.dir, "index"), "web/v2")
			tree := w.repos["c1"].Git(w.t, "rev-parse", "web/v2^{tree}")
			commit := w.repos["c1"].Git(w.t, "commit-tree", "-p", "main", "-m", "back", tree)
			w.repos["c1"].Git(w.t, "update-ref", "refs/heads/main", commit)
		},
		"nothing": func(w *world) { w.repos["c1"].Commit(w.t, "main", "beside", gittest.Text{"x.txt": "x\n"}) },
	} {
		for _, record := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := threeRevisions(t)
				change(w)
				if !record {
					w.repos["c1"].Git(t, "update-ref", "-d", "refs/variform/variform")
				}
				for _, verb := range []string{"plan", "status", "edits"} {
					cold, warm := w.run(verb, "--cache-dir", t.TempDir()), w.run(verb)
					if cold.out != warm.out || cold.status != warm.status {
						t.Errorf("%s, record %t, with an empty cache:\n%s\nwith a cache:\n%s", verb, record, cold.out, warm.out)
					}
				}
			})
		}
	}
}

// A repository that moved is noted once, with and without its record.
func TestRepositoryMoved(t *testing.T) {
	t.Parallel()
	for _, record := range []bool{true, false} {
		w := threeRevisions(t)
		w.mustApply()
		to := filepath.Join(w.dir, "git", "moved.git")
		gittest.Run(t, w.dir, nil, "clone", "-q", "--mirror", w.repos["c1"].Dir, to)
		if !record {
			gittest.Run(t, to, nil, "update-ref", "-d", "refs/variform/variform")
		}
		if err := os.RemoveAll(w.repos["c1"].Dir); err != nil {
			t.Fatal(err)
		}
		w.repos["c1"].Dir = to
		w.write("repositories/c1.yaml", repository("c1", to, true, ""))
		w.contains(strings.Join(w.plan().Warnings, "\n"), "c1.git moved: 1 package of this fleet in "+to+" now")
		for _, p := range []planned{w.plan(), w.mustApply(), w.plan()} {
			if len(p.Warnings) > 0 || len(p.actions()) > 0 {
				t.Errorf("record %t: %s", record, p.out)
			}
		}
	}
}

// A branch or a tag that shuts out a package's refs is reported by plan.
func TestRefsInTheWay(t *testing.T) {
	t.Parallel()
	for ref, says := range map[string]string{
		"refs/heads/drafts": "branch drafts exists in", "refs/heads/drafts/web": "branch drafts/web exists in", "refs/tags/web": "tag web exists in",
		"refs/tags/web/v1/x": "tag web/v1/x exists in", "refs/heads/drafts/web/packagevariant-1/x": "rename or delete that branch",
	} {
		w := newWorld(t, "c1", "c2")
		w.write("c1.yaml", variantOf("web", "v1", "c1", "web", ""))
		w.write("c2.yaml", variantOf("other", "v1", "c2", "web", ""))
		w.repos["c1"].Git(t, "update-ref", ref, "main")
		p := w.plan()
		w.contains(p.variant(t, "c1/web").Error, says)
		if !p.variant(t, "c1/web").Stalled || p.variant(t, "c2/web").Action != "create" {
			t.Errorf("%s: %s", ref, p.out)
		}
	}
}
