package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// forgeMerge merges a branch of a repository into main as forges do.
func (w *world) forgeMerge(repo, branch, style string, remove bool) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "clone")
	git := func(args ...string) {
		w.t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = dir, append(gittest.Env(), "GIT_COMMITTER_NAME=Fay Forge", "GIT_COMMITTER_EMAIL=fay@example.com")
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	gittest.Run(w.t, w.dir, nil, "clone", "-q", w.repos[repo].Dir, dir)
	git("checkout", "-q", "-B", "main", "origin/main")
	switch style {
	case "merge":
		git("merge", "-q", "--no-ff", "-m", "Merge pull request 1", "origin/"+branch)
	case "squash":
		git("merge", "-q", "--squash", "origin/"+branch)
		git("commit", "-qm", "Update (#1)")
	case "rebase":
		git("checkout", "-q", "-B", "topic", "origin/"+branch)
		git("rebase", "-q", "--force-rebase", "main")
		git("checkout", "-q", "main")
		git("merge", "-q", "--ff-only", "topic")
	case "fast-forward":
		git("merge", "-q", "--ff-only", "origin/"+branch)
	}
	git("push", "-q", "origin", "main")
	if remove {
		git("push", "-q", "origin", "--delete", branch)
	}
}

// A Draft that was merged on a forge was approved by that, whatever the style of
// the merge, whether its branch is kept, edited or not, the first or an update:
// one run tags it on the branch, and another changes nothing.
func TestMergedOnAForge(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"merge", "squash", "rebase", "fast-forward"} {
		for _, kept := range []bool{true, false} {
			for _, update := range []bool{false, true} {
				for _, edited := range []bool{false, true} {
					name := style
					for text, is := range map[string]bool{", branch kept": kept, ", update": update, ", edited": edited} {
						if is {
							name += text
						}
					}
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						w := newWorld(t, "c1")
						if style != "fast-forward" { // main goes on meanwhile
							defer func() { w.repos["c1"].Fsck(t) }()
						}
						w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
						w.mustApply()
						branch, tag := "drafts/web/packagevariant-1", "refs/tags/web/v1"
						if update {
							w.mustRun(0, "approve", "--all")
							w.publishWeb(webV2, "v2")
							w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
							w.mustApply()
							branch, tag = "drafts/web/packagevariant-2", "refs/tags/web/v2"
						}
						if edited {
							w.edit("c1", branch, "web/settings.yaml", "level: info", "level: debug")
						}
						if style != "fast-forward" {
							w.repos["c1"].Commit(t, "main", "beside it", gittest.Text{"other.txt": "x\n"})
						}
						w.forgeMerge("c1", branch, style, !kept)
						main := w.repos["c1"].Git(t, "rev-parse", "main")
						w.repos["c1"].Commit(t, "main", "later, beside it", gittest.Text{"other.txt": "y\n"})
						plan := w.plan()
						p := w.mustApply()
						if actionOf(plan, workspaceOf(kept, branch)) == "" || len(plan.Variants) != len(p.Variants) {
							t.Errorf("plan: %s\napply: %s", plan.out, p.out)
						}
						refs := w.refs()
						if got := refs["c1 "+tag]; got != main {
							t.Errorf("%s is at %s, want %s where it came to main", tag, got, main)
						}
						if refs["c1 refs/heads/"+branch] != "" {
							t.Error("the Draft's branch is still there")
						}
						w.mustApply()
						w.unchanged(refs)
						// The next update keeps the edit and is no conflict.
						w.publishWeb(webCPU, "v3")
						w.write("variants/web.yaml", variantOf("web", "v3", "c1", "web", ""))
						next := w.mustApply()
						for _, v := range next.Variants {
							if v.Action != "redraft" || len(v.Conflicts) > 0 {
								t.Errorf("%+v", v)
							}
							if strings.HasSuffix(branch, v.Workspace) {
								t.Errorf("workspace %s is used twice", v.Workspace)
							}
							text := w.show("c1", v.Ref, "web/settings.yaml")
							if edited != strings.Contains(text, "debug") {
								t.Errorf("the edit: %v\n%s", edited, text)
							}
							w.contains(w.show("c1", v.Ref, "web/deployment.yaml"), "cpu: 300m")
						}
						w.mustRun(0, "approve", "--all")
					})
				}
			}
		}
	}
}

func workspaceOf(kept bool, branch string) string {
	if !kept {
		return ""
	}
	return branch[strings.LastIndex(branch, "/")+1:]
}

// What is merged and what comes then is decided in one run.
func TestMergedAndOutOfDate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "squash", true)
	w.publishWeb(webV2, "v2")
	w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
	var actions []string
	for _, v := range w.mustApply().Variants {
		actions = append(actions, v.Action)
	}
	if strings.Join(actions, " ") != "tag redraft" {
		t.Errorf("actions %q", actions)
	}
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
}

// A hotfix on the registered branch is told, carried into the next Draft and
// published with it; nothing takes it back.
func TestHotfixOnMain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		draft bool // one is open when the hotfix comes
		again bool // another hotfix comes when there is a Draft
	}{"before a Draft": {}, "beside a Draft": {draft: true}, "twice": {again: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			update := func() planned {
				w.publishWeb(webV2, "v2")
				w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
				return w.mustApply()
			}
			if c.draft {
				update()
			}
			w.edit("c1", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 900m")
			if c.draft {
				r := w.mustRun(1, "approve", "--all")
				w.contains(r.out+r.err, "run apply")
				w.contains(w.mustApply().out, "main moved since it was made by Ann Tester")
			} else {
				w.contains(w.plan().out, "main moved since v1 by Ann Tester")
				update()
			}
			want := "cpu: 900m"
			if c.again {
				w.edit("c1", "main", "web/deployment.yaml", "cpu: 900m", "cpu: 950m")
				w.mustRun(1, "approve", "--all")
				w.mustApply()
				want = "cpu: 950m"
			}
			const second = "refs/heads/drafts/web/packagevariant-2"
			text := w.show("c1", second, "web/deployment.yaml")
			w.contains(text, want, "web:2.0")
			w.lacks(w.mustRun(0, "review").out, "+                              cpu")
			before := w.refs()
			w.mustApply()
			w.unchanged(before)
			w.mustRun(0, "approve", "--all")
			w.contains(w.show("c1", "main", "web/deployment.yaml"), want, "web:2.0")
			// It is an edit from now on.
			w.publishWeb(webV1, "v3")
			w.write("variants/web.yaml", variantOf("web", "v3", "c1", "web", ""))
			w.mustApply()
			w.contains(w.show("c1", "refs/heads/drafts/web/packagevariant-3", "web/deployment.yaml"), want, "web:1.0")
		})
	}
}

// What people take back on the registered branch waits: what they set back until its
// inputs change, what they deleted for a word of theirs.
func TestTakenBackOnMain(t *testing.T) {
	t.Parallel()
	setBack := func(w *world) gittest.Files {
		out := gittest.Files{{Path: "web/policy.yaml", Mode: gittest.Deleted}}
		for _, f := range []string{"Kptfile", "deployment.yaml"} {
			out = append(out, gittest.File{Path: "web/" + f, Data: []byte(w.show("c1", "refs/tags/web/v1", "web/"+f))})
		}
		return out
	}
	deleted := func(*world) gittest.Files { return gittest.Files{{Path: "web", Mode: gittest.Deleted}} }
	const back, away = "set back to v1 on main by Ann Tester", "deleted on main by Ann Tester"
	const rewritten = "set back to v1 on main (its history was rewritten)"
	for name, c := range map[string]struct {
		files  func(w *world) gittest.Files // nil: the branch is put back to what it was before the second
		squash string                       // the second is squashed by a forge: its branch "kept" or "deleted"
		says   string
		flag   string
		waits  bool // also with other inputs
	}{
		"set back":                       {setBack, "", back, "--retry", false},
		"set back, squashed, kept":       {setBack, "kept", back, "--retry", false},
		"set back, squashed and deleted": {setBack, "deleted", back, "--retry", false},
		"deleted":                        {deleted, "", away, "--recreate", true},
		"rewritten":                      {nil, "", rewritten, "--retry", false},
		"rewritten, a squash":            {nil, "deleted", rewritten, "--retry", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			for _, v := range []string{"v1", "v2"} {
				if v == "v2" {
					w.publishWeb(webV2, v)
				}
				w.write("variants/web.yaml", variantOf("web", v, "c1", "web", ""))
				w.mustApply()
				if v == "v2" && c.squash != "" {
					w.repos["c1"].Commit(t, "main", "beside it", gittest.Text{"other.txt": "x\n"})
					w.forgeMerge("c1", "drafts/web/packagevariant-2", "squash", c.squash == "deleted")
					w.mustApply()
				} else {
					w.mustRun(0, "approve", "--all")
				}
			}
			if c.files == nil {
				w.repos["c1"].Git(t, "update-ref", "refs/heads/main", "main~1")
			} else {
				w.repos["c1"].Commit(t, "main", "take it back", c.files(w))
			}
			before := w.refs()
			w.contains(w.mustApply().out, c.says, c.flag)
			w.mustApply("--cache-dir", t.TempDir())
			w.unchanged(before)
			w.publishWeb(webCPU, "v3")
			w.write("variants/web.yaml", variantOf("web", "v3", "c1", "web", ""))
			var p planned
			before = w.refs()
			if c.waits {
				w.contains(w.mustApply().out, c.says, c.flag)
				w.unchanged(before)
				p = w.mustApply(c.flag, "web")
			} else {
				p = w.mustApply()
				w.contains(p.out, "brings what v2 held with it, though it was "+c.says)
			}
			w.wantActions(p, map[string]string{"c1/web": "redraft"})
			now := w.refs()
			w.mustApply()
			w.mustApply("--cache-dir", t.TempDir())
			w.unchanged(now)
			w.contains(w.mustRun(0, "approve", "--all").out, "Published v3")
			w.contains(w.show("c1", "main", "web/deployment.yaml"), "cpu: 300m", "web:2.0")
			now = w.refs()
			w.mustApply()
			w.unchanged(now)
		})
	}
}

// What people wrote is told by field and author: on the branch by plan, review and
// status, on a Draft and in what was Published with it by status.
func TestSaysEdits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("s.yaml", webSet)
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.lacks(w.mustRun(0, "status").out, "by hand")
	hand := w.edit("c1", "main", "web/deployment.yaml", "replicas: 2", "replicas: 7")
	on := "1 edit by hand on main since v1: spec.replicas of Deployment web 2 → 7 by Ann Tester (" + hand[:7] + ")"
	w.contains(w.mustRun(0, "status").out, on)
	for _, command := range []string{"plan", "apply"} { // though nothing else is due
		w.contains(w.mustRun(0, command).out, "main moved since v1 by Ann Tester", on, "2 up to date")
	}
	w.publishWeb(webV2, "v2")
	w.write("s.yaml", strings.Replace(webSet, "revision: v1", "revision: v2", 1))
	w.contains(w.plan().out, "with what is on main since v1 by Ann Tester", on)
	w.contains(w.mustApply().out, on)
	w.contains(w.mustRun(0, "review").out, "! "+on+": c1/web")
	w.contains(w.mustRun(0, "status").out, on)
	draft := w.edit("c2", "drafts/web/packagevariant-2", "web/deployment.yaml", "replicas: 2", "replicas: 5")
	w.mustApply()
	of := "spec.replicas of Deployment web 2 → 5 by Ann Tester (" + draft[:7] + ")"
	w.contains(w.mustRun(0, "status").out, "1 edit by hand on packagevariant-2: "+of)
	w.approveSeen()
	for _, cache := range []string{filepath.Join(w.dir, "cache"), t.TempDir()} { // what is known, and what is fetched for it
		w.contains(w.mustRun(0, "status", "--cache-dir", cache).out, "1 edit by hand on main: "+of)
	}
}

// What cannot be read is looked for where it stands: on the branch, and not at the tag.
func TestBrokenOnMain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.repos["c1"].Commit(t, "main", "break it", gittest.Text{"web/Kptfile": "kind: [\n"})
	w.contains(w.run("status", "-o", "yaml").out, "package web at branch main: Kptfile", `status: "True"
    type: Stalled`)
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	p := w.apply()
	w.contains(p.out+p.err, "package web at branch main: Kptfile")
	w.lacks(p.out+p.err, "at refs/tags/web/v1")
}

// What was deleted is made again though nothing else has changed since.
func TestRecreateOfTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.repos["c1"].Commit(t, "main", "take it back", gittest.Files{{Path: "web", Mode: gittest.Deleted}})
	w.mustApply()
	w.wantActions(w.mustApply("--recreate", "web"), map[string]string{"c1/web": "redraft"})
	w.contains(w.mustRun(0, "review").out, "creates Kptfile web, README.md, Deployment web")
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
	w.mustRun(0, "approve", "--all")
	w.contains(w.show("c1", "main", "web/deployment.yaml"), "web:1.0")
	before = w.refs()
	w.mustApply()
	w.unchanged(before)
}

// A hotfix that a Draft began after is no part of that Draft, also where a person
// made the Draft's commit anew with words of their own, or began the branch.
func TestDraftAfterAHotfix(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(w *world, draft string){
		"amended": func(w *world, draft string) {
			w.forge("c1", draft, nil, func(string) string { return "my own words\n" })
		},
		"begun by a person": func(w *world, draft string) {
			w.repos["c1"].Git(w.t, "branch", "-f", draft, "main")
			w.edit("c1", draft, "web/settings.yaml", "level: info", "level: debug")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.edit("c1", "main", "web/deployment.yaml", "cpu: 100m", "cpu: 900m")
			w.publishWeb(webV2, "v2")
			w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
			w.mustApply()
			spoil(w, "drafts/web/packagevariant-2")
			w.wantActions(w.mustApply(), map[string]string{"c1/web": "update"})
			if at := w.refs()["c1 refs/tags/web/v2"]; at != "" {
				t.Errorf("the hotfix was tagged as v2, at %s", at)
			}
			w.contains(w.show("c1", "refs/heads/drafts/web/packagevariant-2", "web/deployment.yaml"), "cpu: 900m", "web:2.0")
			before := w.refs()
			w.mustApply()
			w.unchanged(before)
			w.approveSeen()
			w.contains(w.show("c1", "refs/tags/web/v2", "web/deployment.yaml"), "cpu: 900m", "web:2.0")
		})
	}
}

// What a Draft brought along from the registered branch is no edit of its own:
// where somebody takes it back there, the Draft does so too.
func TestTakenBackBesideADraft(t *testing.T) {
	t.Parallel()
	const file, old, edited = "web/deployment.yaml", "cpu: 100m", "cpu: 900m"
	for name, edit := range map[string]func(w *world){
		"an approved edit": func(w *world) {
			w.edit("c1", "drafts/web/packagevariant-1", file, old, edited)
			w.approveSeen()
		},
		"a hotfix": func(w *world) {
			w.mustRun(0, "approve", "--all")
			w.edit("c1", "main", file, old, edited)
		},
	} {
		for _, own := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", and the Draft's own edits"}[own], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "c1")
				w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
				w.mustApply()
				edit(w)
				w.publishWeb(webV2, "v2")
				w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
				w.mustApply()
				const draft = "drafts/web/packagevariant-2"
				w.contains(w.show("c1", draft, file), edited)
				if own {
					w.edit("c1", draft, "web/settings.yaml", "level: info", "level: debug")
				}
				w.edit("c1", "main", file, edited, old)
				w.mustRun(1, "approve", "--all")
				w.mustApply()
				text := w.show("c1", draft, file)
				w.contains(text, old, "web:2.0")
				w.lacks(text, edited)
				if own {
					w.contains(w.show("c1", draft, "web/settings.yaml"), "level: debug")
				}
				before := w.refs()
				w.mustApply()
				w.unchanged(before)
				w.approveSeen()
			})
		}
	}
}

// What a person put where a first Draft is to go is not replaced, and what is
// said to do about that helps.
func TestFolderBesideAFirstDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.repos["c1"].Commit(t, "main", "mine", gittest.Text{"web/mine.txt": "x\n"})
	if p := w.apply(); p.status != 1 || !p.variant(t, "c1/web").Stalled {
		t.Errorf("status %d\n%s", p.status, p.out)
	}
	r := w.mustRun(1, "approve", "--all")
	w.contains(r.out+r.err, "main has web already", "remove it there")
	w.lacks(r.out+r.err, "run apply")
	w.repos["c1"].Commit(t, "main", "not mine", gittest.Files{{Path: "web", Mode: gittest.Deleted}})
	w.mustRun(0, "approve", "--all")
}

// Where a server lets no tag be made, a run says so and goes on: the next update is
// drafted, and a run that may tags what stands there.
func TestTagsAreProtected(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.repos["c1"].Hook(t, "update", `case "$1" in refs/tags/*) echo "Tag is protected" >&2; exit 1;; esac`)
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "squash", true)
	p := w.mustApply()
	w.wantActions(p, all("wait", "c1/web"))
	w.contains(p.out, "merged, and its tag web/v1 was refused", "Tag is protected", w.repos["c1"].Git(t, "rev-parse", "main"))
	before := w.refs()
	w.mustApply()
	w.unchanged(before)

	w.publishWeb(webV2, "v2")
	w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	var draft string
	for _, name := range w.refNames("c1") {
		if branch, ok := strings.CutPrefix(name, "refs/heads/drafts/"); ok {
			draft = "drafts/" + branch
		}
	}
	first := w.repos["c1"].Git(t, "rev-parse", "main")
	w.forgeMerge("c1", draft, "squash", true)
	w.repos["c1"].Hook(t, "update", "exit 0")
	w.wantActions(w.mustApply(), all("tag", "c1/web"))
	w.mustApply()
	for tag, want := range map[string]string{"web/v1": first, "web/v2": w.repos["c1"].Git(t, "rev-parse", "main")} {
		if got := w.repos["c1"].Git(t, "rev-parse", tag+"^{commit}"); got != want {
			t.Errorf("%s is %s, want %s", tag, got, want)
		}
	}
}

// A Draft that was merged, and that the record has lost, is tagged by one run; the
// next has nothing to say of it.
func TestMergedWithoutARecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("set.yaml", listSet("web", "web", "v1", "c1", "web"))
	w.mustApply()
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "merge", false)
	w.repos["c1"].Git(t, "update-ref", "-d", recordRef)
	w.wantActions(w.mustApply(), all("tag", "c1/web"))
	w.wantActions(w.mustApply(), map[string]string{})
}

// A record that was set back takes what was approved since for a Draft whose branch has
// gone. What people set back on main, and went on with, is no merge of that: nothing is
// tagged, whatever the machine has read before.
func TestRecordSetBackIsNoMerge(t *testing.T) {
	t.Parallel()
	level := func(w *world, old, now string) {
		w.edit("c1", "main", "web/settings.yaml", "level: "+old, "level: "+now)
	}
	for name, c := range map[string]struct {
		update bool           // v1 was approved, then v2
		hands  func(w *world) // on main
	}{
		"of v1": {false, func(w *world) { level(w, "info", "debug"); level(w, "debug", "info") }},
		"of v2": {true, func(w *world) { level(w, "info", "debug"); level(w, "debug", "info") }},
		"of v1 for v2": {true, func(w *world) {
			w.repos["c1"].Commit(w.t, "main", "back", gittest.Files{
				{Path: "web/policy.yaml", Mode: gittest.Deleted},
				{Path: "web/Kptfile", Data: []byte(w.show("c1", "web/v1", "web/Kptfile"))},
				{Path: "web/deployment.yaml", Data: []byte(w.show("c1", "web/v1", "web/deployment.yaml"))},
			})
		}},
	} {
		for _, read := range []string{"", "edits"} {
			t.Run(name+" "+read, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "c1")
				git := w.repos["c1"]
				w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
				w.mustApply()
				was := git.Git(t, "rev-parse", recordRef)
				w.mustRun(0, "approve", "--all")
				if c.update {
					w.publishWeb(webV2, "v2")
					w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
					w.mustApply()
					if name == "of v2" {
						was = git.Git(t, "rev-parse", recordRef)
					}
					w.mustRun(0, "approve", "--all")
				}
				c.hands(w)
				level(w, "info", "trace")
				git.Git(t, "update-ref", recordRef, was)
				if read != "" {
					w.mustRun(0, read)
				}
				before := w.refs()
				p := w.mustApply()
				after := w.refs()
				delete(before, "c1 "+recordRef)
				delete(after, "c1 "+recordRef)
				if d := cmp.Diff(before, after); d != "" {
					t.Errorf("-before +after:\n%s\n%s", d, p.out)
				}
			})
		}
	}
}

// Whose a squashed package is no commit says. Where the record has lost it, the next run
// that wants the package records it again: once nobody does, prune finds it.
func TestSquashedThenTheRecordIsLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	git := w.repos["c1"]
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "squash", true)
	w.wantActions(w.mustApply(), all("tag", "c1/web"))
	git.Git(t, "update-ref", "-d", recordRef)
	w.contains(w.mustApply().out, "neither the record nor its commit tells whose it is")
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
	w.write("v.yaml", "")
	w.mustApply("--prune")
	if w.refs()["c1 refs/heads/deletionProposed/web/v1"] == "" {
		t.Errorf("nothing proposes to delete it: %v", w.refs())
	}
}

// Where the server takes no record, nothing else fails for that, and the packages are not
// pushed one by one to find out which.
func TestSquashedWhereNoRecordIsTaken(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.repos["c1"].Hook(t, "update", `case "$1" in refs/variform/*|*/variform-record/*) exit 1;; esac`)
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b", "c", "d"))
	w.mustApply()
	for name, style := range map[string]string{"a": "squash", "b": "squash", "c": "merge", "d": "merge"} {
		w.forgeMerge("c1", "drafts/"+name+"/packagevariant-1", style, true)
	}
	w.wantActions(w.mustApply(), all("tag", "c1/a", "c1/b", "c1/c", "c1/d"))
	before := w.refs()
	for range 2 {
		w.srv.ResetCounts()
		p := w.mustApply()
		w.wantActions(p, map[string]string{})
		w.contains(p.out, "prune will not find it once nothing wants it")
		if n := w.srv.Count(gittest.Push); n > 2 {
			t.Errorf("%d pushes", n)
		}
		w.unchanged(before)
	}
}

// A hotfix branch that began at the commit of a Draft which is Published is no merge of
// that Draft.
func TestHotfixFromAnEarlierRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	git := w.repos["c1"]
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "fast-forward", true)
	w.mustApply()
	git.Git(t, "branch", "hotfix", "main")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	git.Commit(t, "hotfix", "mine", gittest.Text{"web/mine.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\n"})
	w.forgeMerge("c1", "hotfix", "merge", true)
	before := w.refs()
	w.wantActions(w.mustApply(), map[string]string{})
	w.unchanged(before)
}

// A Draft that brings back what an earlier revision held, for its variant went back to
// that upstream, is a Draft of its own: it is tagged where it came.
func TestDowngradeSquashedThenAHotfix(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	for _, revision := range []string{"v1", "v2"} {
		if revision == "v2" {
			w.publishWeb(webV2, "v2")
		}
		w.write("v.yaml", variantOf("web", revision, "c1", "web", ""))
		w.mustApply()
		w.mustRun(0, "approve", "--all")
	}
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	git := w.repos["c1"]
	if draft, was := git.Git(t, "rev-parse", "drafts/web/packagevariant-3:web"), git.Git(t, "rev-parse", "web/v1:web"); draft != was {
		t.Fatalf("the Draft holds %s, and v1 %s", draft, was)
	}
	w.forgeMerge("c1", "drafts/web/packagevariant-3", "squash", true)
	merged := git.Git(t, "rev-parse", "main")
	w.edit("c1", "main", "web/settings.yaml", "level: info", "level: debug")
	w.mustApply()
	if at := w.refs()["c1 refs/tags/web/v3"]; at != merged {
		t.Errorf("v3 is at %q, want %s", at, merged)
	}
}

// Of a Draft that was edited and squashed, and that the record knows as it was before,
// the tag's run notes what the machine had made: the next has nothing to do.
func TestSquashedWithARecordSetBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	git := w.repos["c1"]
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	was := git.Git(t, "rev-parse", recordRef)
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	git.Git(t, "update-ref", recordRef, was)
	draft := "drafts/web/packagevariant-1"
	w.edit("c1", draft, "web/settings.yaml", "level: info", "level: debug")
	w.forgeMerge("c1", draft, "squash", false)
	w.wantActions(w.mustApply(), all("tag", "c1/web"))
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
	w.publishWeb(webCPU, "v3")
	w.write("v.yaml", variantOf("web", "v3", "c1", "web", ""))
	next := w.mustApply()
	w.lacks(next.out, "base unknown")
	w.contains(w.show("c1", next.variant(t, "c1/web").Ref, "web/settings.yaml"), "level: debug")
}

// A Draft that was rebased into the branch, edited, and merged once more is merged as it
// stands: one revision, in one run.
func TestMergedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	draft := "drafts/web/packagevariant-1"
	w.repos["c1"].Commit(t, "main", "beside it", gittest.Text{"other.txt": "x\n"})
	w.forgeMerge("c1", draft, "rebase", false)
	w.repos["c1"].Commit(t, draft, "mine", gittest.Text{"web/mine.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\n"})
	w.forgeMerge("c1", draft, "merge", true)
	main := w.repos["c1"].Git(t, "rev-parse", "main")
	w.wantActions(w.mustApply(), all("tag", "c1/web"))
	if at := w.refs()["c1 refs/tags/web/v1"]; at != main {
		t.Errorf("v1 is at %s, want %s", at, main)
	}
	before := w.refs()
	w.mustApply()
	w.unchanged(before)
}

// A Draft that was squashed and whose branch is gone is known by the record: it is
// tagged where it came, and what came then is others' work on it.
func TestSquashedAndGoneThenAHotfix(t *testing.T) {
	t.Parallel()
	for name, update := range map[string]bool{"a first Draft": false, "an update": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			branch, tag := "drafts/web/packagevariant-1", "refs/tags/web/v1"
			if update {
				w.mustRun(0, "approve", "--all")
				w.publishWeb(webV2, "v2")
				w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
				w.mustApply()
				branch, tag = "drafts/web/packagevariant-2", "refs/tags/web/v2"
			}
			w.forgeMerge("c1", branch, "squash", true)
			merged := w.repos["c1"].Git(t, "rev-parse", "main")
			w.edit("c1", "main", "web/settings.yaml", "level: info", "level: debug")
			w.mustApply()
			if at := w.refs()["c1 "+tag]; at != merged {
				t.Errorf("the tag is at %s, want %s", at, merged)
			}
			w.contains(w.edits()[0].String(), "data.level|info|debug")
			w.mustApply()
			w.publishWeb(webCPU, "v3")
			w.write("v.yaml", variantOf("web", "v3", "c1", "web", ""))
			v := w.mustApply().variant(t, "c1/web")
			w.contains(w.texts("c1", v.Commit, "web/"), "cpu: 300m", "level: debug")
			if v.Workspace == "" || strings.HasSuffix(branch, v.Workspace) || len(v.Conflicts) > 0 {
				t.Errorf("%+v", v)
			}
			w.mustRun(0, "approve", "--all")
		})
	}
}

// The same of one that was rebased or fast-forwarded, where others' commits can be
// told from the Draft's own: who rebased it committed them all, and a merge is no part
// of it.
func TestRebasedAndGoneThenAHotfix(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"rebase", "fast-forward"} {
		for _, edited := range []bool{false, true} {
			for _, update := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, edited %t, update %t", style, edited, update), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t, "c1")
					w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
					w.mustApply()
					branch, tag := "drafts/web/packagevariant-1", "refs/tags/web/v1"
					if update {
						w.mustRun(0, "approve", "--all")
						w.publishWeb(webV2, "v2")
						w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
						w.mustApply()
						branch, tag = "drafts/web/packagevariant-2", "refs/tags/web/v2"
					}
					if edited {
						w.edit("c1", branch, "web/deployment.yaml", "replicas: 2", "replicas: 5")
					}
					w.forgeMerge("c1", branch, style, true)
					merged := w.repos["c1"].Git(t, "rev-parse", "main")
					hotfix := "main"
					if style == "fast-forward" {
						hotfix = "hotfix"
						w.repos["c1"].Branch(t, hotfix, merged)
					}
					w.edit("c1", hotfix, "web/settings.yaml", "level: info", "level: debug")
					if hotfix != "main" {
						w.forgeMerge("c1", hotfix, "merge", true)
					}
					w.mustApply()
					if at := w.refs()["c1 "+tag]; at != merged {
						t.Errorf("the tag is at %s, want %s", at, merged)
					}
					before := w.refs()
					w.mustApply()
					w.unchanged(before)
					w.contains(fmt.Sprint(w.edits()), "data.level|info|debug")
					w.publishWeb(webCPU, "v3")
					w.write("v.yaml", variantOf("web", "v3", "c1", "web", ""))
					v := w.mustApply().variant(t, "c1/web")
					w.contains(w.texts("c1", v.Commit, "web/"), "cpu: 300m", "level: debug")
					if edited {
						w.contains(w.texts("c1", v.Commit, "web/"), "replicas: 5")
					}
					w.mustRun(0, "approve", "--all")
				})
			}
		}
	}
}

// What took the package away, or set it back, is no part of a Draft, whoever
// committed it.
func TestRebasedAndSetBackByTheSame(t *testing.T) {
	t.Parallel()
	for _, update := range []bool{false, true} {
		t.Run(fmt.Sprintf("update %t", update), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			branch, tag := "drafts/web/packagevariant-1", "refs/tags/web/v1"
			if update {
				w.mustRun(0, "approve", "--all")
				w.publishWeb(webV2, "v2")
				w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
				w.mustApply()
				branch, tag = "drafts/web/packagevariant-2", "refs/tags/web/v2"
			}
			git := func(args ...string) string { return w.repos["c1"].Git(t, args...) }
			before := git("rev-parse", "main^{tree}")
			w.forgeMerge("c1", branch, "rebase", true)
			merged := git("rev-parse", "main")
			w.repos["c1"].Branch(t, "back", git("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit-tree", "-p", "main", "-m", "Revert", before))
			w.forgeMerge("c1", "back", "rebase", true)
			w.repos["c1"].Branch(t, "again", git("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit-tree", "-p", "main", "-m", "Again", merged+"^{tree}"))
			w.forgeMerge("c1", "again", "merge", true)
			w.mustApply()
			if at := w.refs()["c1 "+tag]; at != merged {
				t.Errorf("the tag is at %s, want %s", at, merged)
			}
			after := w.refs()
			w.mustApply()
			w.unchanged(after)
		})
	}
}

// What a person updates by hand on the branch was no Draft.
func TestUpdatedByHandOnTheBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	commit := w.repos["catalog"].Git(t, "rev-parse", "web/v2")
	kptfile := w.show("c1", "main", "web/Kptfile")
	was := w.repos["catalog"].Git(t, "rev-parse", "web/v1")
	kptfile = strings.NewReplacer("web/v1", "web/v2", was, commit).Replace(kptfile)
	w.repos["c1"].Commit(t, "main", "kpt pkg update", gittest.Text{"web/Kptfile": kptfile, "web/deployment.yaml": webV2["web/deployment.yaml"]})
	before := w.refs()
	w.lacks(w.mustApply().out, `"action": "tag"`)
	w.unchanged(before)
	w.publishWeb(webCPU, "v3")
	w.write("v.yaml", variantOf("web", "v3", "c1", "web", ""))
	w.wantActions(w.mustApply(), all("redraft", "c1/web"))
	w.mustRun(0, "approve", "--all")
	w.contains(w.texts("c1", "main", "web/"), "cpu: 300m", "web:2.0")
}

// A merge on a forge is found however many commits came after it, and all packages of
// a repository are looked for in one reading of its history.
func TestMergedLongAgo(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b"))
	w.mustApply()
	git := func(args ...string) string { return w.repos["c1"].Git(t, args...) }
	merged := map[string]string{}
	for _, name := range []string{"a", "b"} {
		w.forgeMerge("c1", "drafts/"+name+"/packagevariant-1", "squash", true)
		merged[name] = git("rev-parse", "main")
		var more strings.Builder // 300 commits beside it
		for i := range 300 {
			fmt.Fprintf(&more, "commit refs/heads/main\ncommitter Ann <ann@example.com> %d +0000\ndata 1\nx\n", 1700000000+i)
			if i == 0 {
				fmt.Fprintf(&more, "from %s\n", merged[name])
			}
			fmt.Fprintf(&more, "M 100644 inline other/n.txt\ndata %d\n%d\n\n", len(fmt.Sprint(i)), i)
		}
		cmd := exec.Command("git", "fast-import", "--quiet")
		cmd.Dir, cmd.Stdin = w.repos["c1"].Dir, strings.NewReader(more.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	w.srv.ResetCounts()
	w.mustApply()
	refs := w.refs()
	for name, want := range merged {
		if got := refs["c1 refs/tags/"+name+"/v1"]; got != want {
			t.Errorf("%s/v1 is at %s, want %s where it was merged", name, got, want)
		}
	}
	if n := w.srv.Count(gittest.Fetch); n > 3 {
		t.Errorf("%d requests for objects", n)
	}
}

// What people set back after a rebase is not merged once more, though it is what the
// Draft held before, and nobody wants the package any longer.
func TestSetBackAfterARebase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	draft := "drafts/web/packagevariant-1"
	w.edit("c1", draft, "web/settings.yaml", "level: info", "level: debug")
	w.forgeMerge("c1", draft, "rebase", false)
	w.edit("c1", draft, "web/settings.yaml", "level: debug", "level: trace")
	before := w.repos["c1"].Git(t, "rev-parse", "main~1^{tree}")
	w.repos["c1"].Git(t, "update-ref", "refs/heads/main", w.repos["c1"].Git(t, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit-tree", "-p", "main", "-m", "Revert", before))
	w.write("variants/web.yaml", "")
	for range 2 {
		w.mustApply("--prune", "--max-delete=9")
		if got := strings.TrimSpace(w.repos["c1"].Git(t, "tag", "-l", "web/*")); got != "web/v1" {
			t.Fatalf("tags %q, want web/v1 alone", got)
		}
	}
}

// A machine that knows nothing yet says of the branch what another one says: what was
// deleted there, or changed, is not up to date.
func TestMainOnANewMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	for _, name := range []string{"gone", "fixed", "still"} {
		w.write("variants/"+name+".yaml", variantOf(name, "v1", "c1", name, ""))
	}
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.mustApply()
	w.edit("c1", "main", "fixed/deployment.yaml", "replicas: 2", "replicas: 7")
	w.repos["c1"].Commit(t, "main", "away", gittest.Files{{Path: "gone", Mode: gittest.Deleted}})
	refs := w.refs()
	for _, command := range []string{"plan", "status", "apply"} {
		known := w.run(command)
		w.contains(known.out, "deleted on main by", "main moved since v1 by", "spec.replicas of Deployment web 2 → 7")
		if cold := w.run(command, "--cache-dir", t.TempDir()); cold.out != known.out {
			t.Errorf("%s on a new machine:\n%swhere what is known says\n%s", command, cold.out, known.out)
		}
	}
	w.unchanged(refs)
}

// So it is where Drafts are open: what the record says of the Published revisions stands for
// them only where the branch has the same.
func TestMainBesideDraftsOnANewMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	want := func(version string) {
		for _, name := range []string{"gone", "fixed", "still"} {
			w.write("variants/"+name+".yaml", variantOf(name, version, "c1", name, ""))
		}
		w.mustApply()
	}
	want("v1")
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	want("v2")
	w.edit("c1", "main", "fixed/deployment.yaml", "replicas: 2", "replicas: 7")
	w.repos["c1"].Commit(t, "main", "away", gittest.Files{{Path: "gone", Mode: gittest.Deleted}})
	for _, command := range []string{"plan", "status"} {
		known := w.run(command)
		w.contains(known.out, "deleted on main by", "7")
		if cold := w.run(command, "--cache-dir", t.TempDir()); cold.out != known.out {
			t.Errorf("%s on a new machine:\n%swhere what is known says\n%s", command, cold.out, known.out)
		}
	}
	w.mustRun(1, "approve", "c1/fixed", "--cache-dir", t.TempDir()) // main moved on
	w.mustRun(0, "approve", "c1/still", "--cache-dir", t.TempDir())
}
