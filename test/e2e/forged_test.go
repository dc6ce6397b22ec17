package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

const backdoor = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: backdoor\n"

// forge makes a Draft's last commit anew with other files and whatever message is
// wanted, under Variform's own name: to push to drafts/ is enough for it.
func (w *world) forge(repo, branch string, files gittest.Text, message func(string) string) {
	w.t.Helper()
	w.amend(repo, branch, files)
	r := w.repos[repo]
	const by = "Variform <variform@variform.dev>"
	head := r.Git(w.t, "cat-file", "commit", branch)
	header, text, _ := strings.Cut(head, "\n\n")
	var lines []string
	for line := range strings.SplitSeq(header, "\n") {
		if who, _, ok := strings.Cut(line, " "); ok && (who == "author" || who == "committer") {
			line = who + " " + by + line[strings.Index(line, ">")+1:]
		}
		lines = append(lines, line)
	}
	if message != nil {
		text = message(text)
	}
	commit := gittest.Run(w.t, r.Dir, []byte(strings.Join(lines, "\n")+"\n\n"+text), "hash-object", "-t", "commit", "-w", "--stdin")
	r.Git(w.t, "update-ref", "refs/heads/"+branch, commit)
}

// trailer is a line of a commit's message.
func trailer(message, name string) string {
	for line := range strings.SplitSeq(message, "\n") {
		if strings.HasPrefix(line, name+": ") {
			return line
		}
	}
	return ""
}

// What may be published unseen is what building makes again, byte for byte, of
// what stands on the branch: not what a commit says of itself.
func TestActivationBelievesNoCommit(t *testing.T) {
	t.Parallel()
	const draft2 = "drafts/web/packagevariant-2"
	cases := map[string]struct {
		reason string
		forge  func(w *world)
		action string
		says   string
	}{
		"a file": {
			"the trailers say that it is up to date",
			func(w *world) { w.forge("c1", draft2, gittest.Text{"web/b.yaml": backdoor}, nil) },
			"wait", "holds edits by hand or lost values",
		},
		"a value": {
			"in a file that is there",
			func(w *world) {
				w.forge("c1", draft2, gittest.Text{"web/deployment.yaml": strings.Replace(w.show("c1", draft2, "web/deployment.yaml"), "kind: Deployment", "kind: Deployment # mine", 1)}, nil)
			},
			"wait", "holds edits by hand or lost values",
		},
		"inputs of long ago": {
			"building is called for, and gives what is there",
			func(w *world) {
				w.forge("c1", draft2, gittest.Text{"web/b.yaml": backdoor}, func(m string) string {
					return strings.Replace(m, trailer(m, "Variform-Inputs"), "Variform-Inputs: sha256:0000 upstream=0 spec=0 context=0 functions=0 published=v1", 1)
				})
			},
			"wait", "holds edits by hand or lost values",
		},
		"and an update": {
			"what is built comes on top, and keeps the file",
			func(w *world) {
				w.forge("c1", draft2, gittest.Text{"web/b.yaml": backdoor}, nil)
				w.write("v.yaml", variantOf("one", "v2", "c1", "web", "  packageContext:\n    data: {round: \"2\"}\n"))
			},
			"update", "differs in b.yaml",
		},
		"no review is needed": {
			"an edited Draft whose word for it was taken out",
			func(w *world) {
				w.edit("c1", draft2, "web/deployment.yaml", "kind: Deployment", "kind: Deployment # mine")
				w.write("v.yaml", variantOf("one", "v2", "c1", "web", "  packageContext:\n    data: {round: \"2\"}\n"))
				w.mustApply()
				w.forge("c1", draft2, nil, func(m string) string { return strings.Replace(m, trailer(m, "Variform-Review")+"\n", "", 1) })
			},
			"wait", "review and approve it",
		},
		"a tag": {
			"nobody may push to main, but v9 is there, and new Drafts start from it",
			func(w *world) {
				w.forge("c1", draft2, gittest.Text{"web/b.yaml": backdoor}, nil)
				w.repos["c1"].Tag(w.t, "web/v9", w.repos["c1"].Git(w.t, "rev-parse", draft2))
				w.repos["c1"].Git(w.t, "branch", "-D", draft2)
				w.write("v.yaml", variantOf("one", "v1", "c1", "web", "  packageContext:\n    data: {round: \"2\"}\n"))
			},
			"redraft", "a person is to see first: base unknown",
		},
	}
	for name, c := range cases {
		for _, recorded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, recorded: %t", name, recorded), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "c1")
				says := "holds edits by hand or lost values" // the record does not know that commit
				if c.action == "redraft" {
					says = c.says // of what is made anew
				}
				if !recorded {
					says = c.says
					text := repository("c1", w.url("c1"), true, "")
					w.write("repositories/c1.yaml", strings.Replace(text, "  name: c1\n", "  name: c1\n  annotations: {variform.dev/record-ref: none}\n", 1))
				}
				w.publishWeb(webV2, "v2")
				w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
				w.write("i.yaml", installation("auto", "c1", "  activation: Automatic\n"))
				w.mustApply()
				w.write("i.yaml", "# by hand\n")
				w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
				w.mustApply()
				main := w.repos["c1"].Git(t, "rev-parse", "main")
				c.forge(w)
				w.write("i.yaml", installation("auto", "c1", "  activation: Automatic\n"))
				for _, run := range []string{"plan", "apply"} {
					p := w.planned(run, nil)
					w.wantActions(p, all(c.action, "c1/web"))
					v := p.variant(t, "c1/web")
					w.contains(strings.Join(append(v.Reasons, v.Warnings...), "\n"), "activation is Automatic, but", says)
				}
				w.wantActions(w.mustApply(), all("wait", "c1/web")) // nor the next time
				w.contains(w.mustRun(0, "status").out, says)
				if now := w.repos["c1"].Git(t, "rev-parse", "main"); now != main {
					t.Errorf("%s: published unseen:\n%s", c.reason, w.repos["c1"].Git(t, "show", "--stat", "main"))
				}
			})
		}
	}
}

// What nobody forged is published by the next run, also where it came about in
// several steps.
func TestActivationProvesDrafts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", "  packageContext:\n    data: {round: \"2\"}\n"))
	w.mustApply()
	w.write("i.yaml", installation("auto", "c1", "  activation: Automatic\n"))
	w.wantActions(w.plan(), all("publish", "c1/web"))
	w.mustApply()
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1")

	// A Draft that waits can be thrown away, and comes again as it should be.
	w.write("i.yaml", "# by hand\n")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.forge("c1", "drafts/web/packagevariant-2", gittest.Text{"web/b.yaml": backdoor}, nil)
	w.write("i.yaml", installation("auto", "c1", "  activation: Automatic\n"))
	w.wantActions(w.mustApply(), all("wait", "c1/web"))
	w.repos["c1"].Git(t, "branch", "-D", "drafts/web/packagevariant-2")
	w.mustApply()
	w.wantRefs("c1", "refs/heads/main", "refs/tags/web/v1", "refs/tags/web/v2")
	w.lacks(w.repos["c1"].Git(t, "ls-tree", "-r", "--name-only", "main"), "b.yaml")
}

// Trailers that the record does not know are a person's: what they say is built
// before it is approved, and by the next run.
func TestApproveBelievesNoCommit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		from, to string
		apply    string // what apply does
		refused  string // by approve, before that
		after    string // by approve, after that
		anew     bool   // another Draft's branch, of which the record knows nothing
	}{
		"what is refused":          {"a: good", "a: bad", "fail", "building it fails", "its variant fails", false},
		"what is set":              {`b: "5"`, `b: "7"`, "update", "building it changes it", "", false},
		"what may stand":           {"a: good", "a: fine", "", "", "", false},
		"what is refused, unknown": {"a: good", "a: bad", "fail", "building it fails", "its variant fails", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.draftWithSetter()
			branch := "drafts/web/packagevariant-1"
			if tt.anew {
				w.repos["c1"].Branch(t, "drafts/web/packagevariant-2", w.repos["c1"].Git(t, "rev-parse", branch))
				w.repos["c1"].Git(t, "update-ref", "-d", "refs/heads/"+branch)
				branch = "drafts/web/packagevariant-2"
			}
			text := strings.Replace(w.show("c1", "refs/heads/"+branch, "web/cm.yaml"), tt.from, tt.to, 1)
			w.forge("c1", branch, gittest.Text{"web/cm.yaml": text}, func(m string) string { return strings.Replace(m, "packagevariant-1", branch[len("drafts/web/"):], 1) })
			before := w.refs()
			if tt.refused != "" {
				w.contains(w.mustRun(1, "approve", "c1/web").out, "it was edited by hand", tt.refused)
				w.unchanged(before)
			}
			want := map[string]string{}
			if tt.apply != "" {
				want["c1/web"] = tt.apply
			}
			w.wantActions(w.apply(), want)
			again := w.refs()
			w.apply()
			w.unchanged(again)
			if tt.after != "" {
				w.contains(w.mustRun(1, "approve", "c1/web").out, tt.after)
				return
			}
			w.contains(w.approveSeen("c1/web").out, "Published v1")
		})
	}
}

// What the record says of a revision is taken by a machine that has read nothing only where
// the revision's own commit says it too: a hotfix that a forged record has for what was
// Published is one on every machine, for who builds, shows and checks.
func TestForgedPastIsNoPublishedRevision(t *testing.T) {
	forged := func(w *world) {
		t.Helper()
		g := w.repos["c1"]
		g.Git(t, "config", "uploadpack.allowFilter", "true")
		was := g.Git(t, "rev-parse", "main:a")
		w.edit("c1", "main", "a/settings.yaml", "level: info", "level: debug")
		w.forgeRecord(was, g.Git(t, "rev-parse", "main:a"))
	}
	release := func(w *world) {
		w.publishWeb(webV2, "v2")
		w.write("set.yaml", listSet("s", "web", "v2", "c1", "a", "b"))
	}
	t.Run("built", func(t *testing.T) {
		w := newHTTPWorld(t, "c1")
		w.write("set.yaml", listSet("s", "web", "v1", "c1", "a", "b"))
		w.mustApply()
		w.mustRun(0, "approve", "--all")
		forged(w)
		release(w)
		elsewhere := "--cache-dir=" + t.TempDir()
		p := w.mustApply(elsewhere)
		w.contains(fmt.Sprint(p.variant(t, "c1/a").Reasons), "with what is on main since v1 by Ann Tester")
		w.contains(trailer(w.repos["c1"].Git(t, "log", "-1", "--format=%B", "drafts/a/packagevariant-2"), "Variform-Inputs"), "main=")
		w.mustRun(0, "approve", "a", elsewhere)
		w.contains(w.show("c1", "main", "a/settings.yaml"), "level: debug")
	})
	t.Run("checked", func(t *testing.T) {
		w, f := newForgeWorld(t, "", "c1")
		w.write("set.yaml", listSet("s", "web", "v1", "c1", "a", "b"))
		w.mustApply()
		w.mustRun(0, "approve", "--all")
		release(w)
		w.mustApply()
		forged(w)
		w.run("propose", "--all", "--pull-requests", "--cache-dir", t.TempDir())
		open := f.open("c1")
		if len(open) == 0 {
			t.Fatal("no request")
		}
		for head := range open {
			if p := f.proof("c1", head); strings.Contains(head, "drafts/a/") && (p.State != "pending" || !strings.Contains(p.Description, "no published revision")) {
				t.Errorf("%s: %+v", head, p)
			}
		}
		w.contains(w.mustRun(1, "approve", "a", "--cache-dir", t.TempDir()).out, "branch main holds changes in a that are in no published revision")
	})
}

// A lock's commit is believed no more than a variant's, which says what the machine made of it.
func TestApproveBelievesNoLock(t *testing.T) {
	t.Parallel()
	w := told(t, "flux")
	w.mustApply()
	const branch, file = "drafts/variform-lock/packagevariant-1", "variform-lock/flux.yaml"
	made, flux := w.repos["c1"].Git(t, "rev-parse", branch+":variform-lock"), w.show("c1", branch, file)
	forged := gittest.Text{file: strings.Replace(flux, "path: ./app", "path: ./elsewhere", 1)}
	w.forge("c1", branch, forged, nil)
	now := w.repos["c1"].Git(t, "rev-parse", branch+":variform-lock")
	w.forge("c1", branch, forged, func(m string) string { return strings.Replace(m, made, now, 1) })
	w.contains(w.mustRun(1, "approve", "--all").out, "it was edited by hand", "building it changes it")
	if got := w.show("c1", "main", file); got != flux { // it is written anew with what it names
		t.Errorf("published is\n%s", got)
	}
	w.wantActions(w.mustApply(), all("discard", "c1/variform-lock"))
	w.mustRun(0, "plan", "--exit-code")
}
