package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// goneWorld is one in which web/v1 is Published and a Draft of v2 is open, with a
// deletion policy, and then its variant goes; a person does to the Draft what hand says.
func goneWorld(t *testing.T, policy, hand string) *world {
	t.Helper()
	w := newWorld(t, "c1")
	spec := ""
	if policy != "" {
		spec = "  deletionPolicy: " + policy + "\n"
	}
	w.write("variants/web.yaml", variantOf("web", "v1", "c1", "web", spec))
	w.mustApply()
	w.mustRun(0, "approve", "--all")
	w.publishWeb(webV2, "v2")
	w.write("variants/web.yaml", variantOf("web", "v2", "c1", "web", spec))
	w.mustApply()
	const branch = "drafts/web/packagevariant-2"
	bringUp := func() { // as a forge does by a button
		w.repos["c1"].Commit(t, "main", "beside", gittest.Text{"notes.md": "x\n"})
		clone := t.TempDir()
		gittest.Run(t, "", nil, "clone", "-q", "-b", branch, w.repos["c1"].Dir, clone)
		gittest.Run(t, clone, nil, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "merge", "-q", "--no-ff", "-m", "Merge main", "origin/main")
		gittest.Run(t, clone, nil, "push", "-q", "origin", branch)
	}
	switch hand {
	case "edits":
		w.edit("c1", branch, "web/policy.yaml", "deny: all", "deny: some")
	case "brings it up to date":
		bringUp()
	case "writes beside it":
		bringUp()
		w.repos["c1"].Commit(t, branch, "beside", gittest.Text{"elsewhere.md": "x\n"})
	case "edits and sets back":
		w.edit("c1", branch, "web/policy.yaml", "deny: all", "deny: some")
		w.edit("c1", branch, "web/policy.yaml", "deny: some", "deny: all")
	case "claims it is the machine's":
		w.edit("c1", branch, "web/policy.yaml", "deny: all", "deny: some")
		r := w.repos["c1"]
		made := r.Git(t, "rev-parse", branch+"^:web")
		raw := strings.ReplaceAll(r.Git(t, "cat-file", "commit", branch+"^")+"\n", "Variform-Hydrated: "+made, "Variform-Hydrated: "+r.Git(t, "rev-parse", branch+":web"))
		raw = strings.Replace(raw, r.Git(t, "rev-parse", branch+"^^{tree}"), r.Git(t, "rev-parse", branch+"^{tree}"), 1)
		raw = regexp.MustCompile(`(?m)^(author|committer) .*> `).ReplaceAllString(raw, "$1 Ann <ann@example.com> ")
		r.Git(t, "update-ref", "refs/heads/"+branch, gittest.Run(t, r.Dir, []byte(raw), "hash-object", "-t", "commit", "-w", "--stdin"))
	}
	w.write("variants/web.yaml", "# nothing\n")
	return w
}

// Each revision of a package whose variant has gone is decided by itself: a
// Published revision's tag stays where it is, whatever becomes of the open one.
func TestRemovalByRevision(t *testing.T) {
	t.Parallel()
	const draft, tag = "c1 refs/heads/drafts/web/packagevariant-2", "c1 refs/tags/web/v1"
	for name, c := range map[string]struct {
		policy  string
		hand    string
		actions []string // of the Published revision and the Draft, "" for none told
		draft   string   // what becomes of its branch
	}{
		"delete":                        {"", "", []string{"retire", "discard"}, "goes"},
		"delete, edited by hand":        {"delete", "edits", []string{"retire", "keep"}, "stays"},
		"delete, brought up to date":    {"delete", "brings it up to date", []string{"retire", "discard"}, "goes"},
		"delete, and written beside it": {"delete", "writes beside it", []string{"retire", "keep"}, "stays"},
		"delete, edited and set back":   {"delete", "edits and sets back", []string{"retire", "discard"}, "goes"},
		"delete, said to be as made":    {"delete", "claims it is the machine's", []string{"retire", "keep"}, "stays"},
		"orphan":                        {"orphan", "", []string{"release", "release"}, "moves"},
		"orphan, edited by hand":        {"orphan", "edits", []string{"release", "release"}, "moves"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := goneWorld(t, c.policy, c.hand)
			before := w.refs()
			plan := w.plan("--prune")
			w.unchanged(before)
			p := w.mustApply("--prune")
			for k, workspace := range []string{"packagevariant-1", "packagevariant-2"} {
				for what, run := range map[string]planned{"plan": plan, "apply": p} {
					if got := actionOf(run, workspace); got != c.actions[k] {
						t.Errorf("%s of %s: %q, want %q\n%s", what, workspace, got, c.actions[k], run.out)
					}
				}
			}
			after := w.refs()
			if after[tag] != before[tag] {
				t.Errorf("the Published tag moved from %s to %s", before[tag], after[tag])
			}
			got := "moves"
			switch after[draft] {
			case "":
				got = "goes"
			case before[draft]:
				got = "stays"
			}
			if got != c.draft {
				t.Errorf("the Draft's branch %s, want: %s", got, c.draft)
			}
			if c.draft == "stays" {
				w.contains(p.out, "by hand", "drafts/web/packagevariant-2")
			}
			if c.draft == "moves" && !strings.Contains(w.show("c1", "refs/tags/web/v1", "web/Kptfile"), "variform.dev/variant") {
				t.Error("the content of what is Published was touched")
			}
			w.mustApply("--prune")
			w.unchanged(after)
		})
	}
}

func actionOf(p planned, workspace string) string {
	for _, v := range p.Variants {
		if v.Workspace == workspace {
			return v.Action
		}
	}
	return ""
}

// Releases count for the brake as deletions do.
func TestReleasesAreBraked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	set := listSet("web", "web", "v1", "c1", "a", "b", "c", "d")
	w.write("sets/web.yaml", set+"      template: {deletionPolicy: orphan}\n")
	w.mustApply()
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "d")+"      template: {deletionPolicy: orphan}\n")
	before := w.refs()
	w.wantActions(w.apply("--prune"), all("keep", "c1/a", "c1/b", "c1/c"))
	w.unchanged(before)
	w.wantActions(w.mustApply("--prune", "--max-delete=3"), all("release", "c1/a", "c1/b", "c1/c"))
}
