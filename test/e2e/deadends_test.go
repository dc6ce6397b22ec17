package e2e

import (
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A Draft that holds no package any more says so, and what leads on.
func TestDraftWithoutPackage(t *testing.T) {
	t.Parallel()
	for name, removed := range map[string][]string{
		"the folder":  {"web"},
		"the Kptfile": {"web/Kptfile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
			w.mustApply()
			var gone gittest.Files
			for _, f := range removed {
				gone = append(gone, gittest.File{Path: f, Mode: gittest.Deleted})
			}
			w.repos["c1"].Commit(t, "drafts/web/packagevariant-1", "by hand", gone)
			before := w.refs()
			says := "drafts/web/packagevariant-1 has no package in web any more"
			p := w.apply()
			w.wantActions(p, all("fail", "c1/web"))
			w.contains(p.out, says, "was removed by Ann Tester (", "restore it there, or, if nothing on that branch is to be kept, remove the Draft with: variform discard c1/web")
			if !p.variant(t, "c1/web").Stalled {
				t.Error("it is not Stalled")
			}
			w.contains(w.record("c1"), `"place":"built"`, says)
			entries := w.record("c1")
			w.contains(w.mustRun(1, "status", "-o", "yaml").out, says, "variform discard c1/web")
			w.apply("--cache-dir", t.TempDir())
			w.unchanged(before)
			if now := w.record("c1"); now != entries {
				t.Errorf("written again:\n%s\nwas\n%s", now, entries)
			}
			w.contains(w.mustRun(1, "approve", "c1/web").out, says, "variform discard c1/web")
			w.mustRun(1, "review")
			w.mustRun(0, "discard", "c1/web", "--reason", "empty")
			w.wantActions(w.mustApply("--retry", "c1/web"), all("create", "c1/web"))
			w.mustRun(0, "approve", "c1/web")
		})
	}
}

// What strangers publish where our Draft is open is theirs: the Draft waits for a
// person, is not published on top of it, and goes alone with its variant.
func TestStrangersPublishBesideOurDraft(t *testing.T) {
	t.Parallel()
	for name, owner := range map[string]string{
		"nobody's":          "",
		"another manager's": "  annotations: {variform.dev/variant: other/default/web}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			spec := variantOf("web", "v1", "c1", "web", "")
			w.write("v.yaml", spec)
			w.mustApply()
			theirs := w.repos["c1"].Commit(t, "main", "theirs", gittest.Text{"web/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\n" + owner, "web/cm.yaml": configMap("theirs", "a: b")})
			w.repos["c1"].Tag(t, "web/v1", theirs)
			before := w.refs()
			for range 2 {
				p := w.apply()
				w.wantActions(p, all("fail", "c1/web"))
				w.contains(p.out, `"stalled": true`, "variform discard c1/web")
			}
			w.contains(w.mustRun(1, "status", "-o", "json").out, "variform discard c1/web")
			w.contains(w.mustRun(1, "approve", "--all").out, "refused: ")
			w.unchanged(before)
			w.write("v.yaml", "# nothing\n")
			w.wantActions(w.mustApply("--prune"), all("discard", "c1/web"))
			w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1")
			w.wantActions(w.mustApply("--prune"), map[string]string{})
		})
	}
}

// A folder that others put on the branch beside a first Draft is what stands there:
// it is adopted, and the Draft starts from it, or the variant says why not.
func TestFolderComesBesideFirstDraft(t *testing.T) {
	t.Parallel()
	for name, adopts := range map[string]bool{"adopted": true, "not adopted": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			policy := map[bool]string{true: "  adoptionPolicy: adoptExisting\n"}[adopts]
			w.write("v.yaml", variantOf("web", "v1", "c1", "web", policy))
			w.mustApply()
			w.repos["c1"].Commit(t, "main", "theirs", merged(web("1.0", "700m", "info"), gittest.Text{"web/cm.yaml": configMap("theirs", "a: b")}))
			w.mustRun(1, "approve", "c1/web")
			if !adopts {
				before := w.refs()
				for range 2 {
					p := w.apply()
					w.wantActions(p, all("fail", "c1/web"))
					w.contains(p.out, `"stalled": true`, "is on branch main already", "adoptExisting", "variform discard c1/web")
				}
				w.contains(w.mustRun(1, "status", "-o", "json").out, "is on branch main already")
				w.unchanged(before)
				w.contains(w.mustRun(1, "approve", "c1/web").out, "adoptExisting")
				w.write("v.yaml", variantOf("web", "v1", "c1", "web", "  adoptionPolicy: adoptExisting\n"))
			}
			p := w.mustApply()
			w.contains(p.out, "adoptionPolicy is adoptExisting: becomes v1", "v1 was published since")
			w.wantRefs("c1", draft1, "refs/heads/main", "refs/tags/web/v1")
			w.wantActions(w.mustApply(), map[string]string{})
			text := w.texts("c1", draft1, "web/")
			w.contains(text, "cpu: 700m", "name: theirs")
			w.contains(w.approveSeen("c1/web").out, "Published v2")
			w.wantActions(w.mustApply(), map[string]string{})
			w.contains(w.texts("c1", "main", "web/"), "cpu: 700m", "name: theirs", "variform.dev/variant")
		})
	}
}

// A first Draft that a person changed while merging it was merged: that is v1, and
// the Draft is brought up to it.
func TestFirstDraftMergedWithAChange(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	files := gittest.Text{}
	for _, f := range []string{"Kptfile", "deployment.yaml", "settings.yaml", "package-context.yaml", "README.md"} {
		files["web/"+f] = w.show("c1", draft1, "web/"+f)
	}
	files["web/deployment.yaml"] = strings.Replace(files["web/deployment.yaml"], "cpu: 100m", "cpu: 700m", 1)
	merged := w.repos["c1"].Commit(t, "main", "squashed, with a change", files)
	w.contains(w.mustApply().out, "becomes v1")
	if at := w.refs()["c1 refs/tags/web/v1"]; at != merged {
		t.Errorf("v1 is at %s, want %s", at, merged)
	}
	w.wantActions(w.mustApply(), map[string]string{})
	w.wantActions(w.mustApply("--cache-dir", t.TempDir()), map[string]string{})
	w.run("approve", "--all")
	w.contains(w.texts("c1", "main", "web/"), "cpu: 700m")
}

// A commit of ours that a person made anew, without what it said, is told as that.
func TestAmendedDraftIsTold(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	first := w.repos["c1"].Git(t, "rev-parse", draft1)
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.mustApply()
	files := gittest.Text{}
	for _, f := range []string{"Kptfile", "deployment.yaml", "policy.yaml"} {
		files["web/"+f] = w.show("c1", draft1, "web/"+f)
	}
	amended := w.repos["c1"].CommitFrom(t, "drafts/web/packagevariant-1", first, "web v2, in my words", files)
	refused := w.mustRun(1, "approve", "c1/web").out
	w.contains(refused, "the commit that apply made was amended, or replaced, by Ann Tester ("+amended[:7]+"): run apply")
	w.lacks(refused, "upstream changed")
	w.mustApply()
	w.contains(w.mustRun(0, "approve", "c1/web").out, "Published v1")
}

// What publishing a first Draft would replace is what it is compared with.
func TestReviewComparesWithTheBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("web", "v1", "c1", "web", ""))
	w.mustApply()
	w.repos["c1"].Commit(t, "main", "theirs", web("1.0", "700m", "info"))
	w.contains(w.mustRun(0, "review").out, "-              cpu: 700m", "+              cpu: 100m")
}
