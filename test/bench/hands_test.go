package bench

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

// hands are what people do to Drafts, each by a name and to one of its own.
var hands = []struct {
	name string
	do   func(h *hand)
}{
	{"a file", func(h *hand) { h.commit("part-05.yaml", "a: 1\n") }},
	{"twice", func(h *hand) { h.commit("part-05.yaml", "a: 1\n"); h.commit("part-06.yaml", "a: 2\n") }},
	{"a file less", func(h *hand) { h.git("rm", "-q", h.pkg+"/part-07.yaml"); h.git("commit", "-qm", "less") }},
	{"a folder more", func(h *hand) { h.commit("more/deep/a.yaml", "a: 1\n") }},
	{"the Kptfile", func(h *hand) {
		text := h.git("show", "HEAD:"+h.pkg+"/Kptfile")
		h.commit("Kptfile", text+"\n# by hand\n")
	}},
	{"nothing", func(h *hand) { h.git("commit", "-q", "--allow-empty", "-m", "nothing") }},
	{"back again", func(h *hand) { h.commit("part-05.yaml", "a: 1\n"); h.git("revert", "--no-edit", "HEAD") }},
	{"beside it", func(h *hand) { h.commit("../elsewhere/notes.yaml", "a: 1\n") }},
	{"the branch merged", func(h *hand) {
		h.git("merge", "-q", "--no-ff", "-m", "merge", "origin/main")
		h.commit("part-05.yaml", "a: 1\n")
	}},
	{"a merge alone", func(h *hand) { h.git("merge", "-q", "--no-ff", "-m", "merge", "origin/main") }},
	{"rebased", func(h *hand) { h.commit("part-05.yaml", "a: 1\n"); h.git("rebase", "-q", "origin/main") }},
	{"amended", func(h *hand) {
		h.write("part-05.yaml", "a: 1\n")
		h.git("add", "-A")
		h.git("commit", "-q", "--amend", "--no-edit")
	}},
	{"squashed", func(h *hand) {
		h.commit("part-05.yaml", "a: 1\n")
		h.git("reset", "-q", "--soft", "HEAD~2")
		h.git("commit", "-qm", "all in one")
	}},
	{"on the branch by now", func(h *hand) {
		h.commit("part-05.yaml", "a: 1\n")
		h.git("push", "-q", "-f", "origin", "HEAD:"+h.branch)
		h.git("checkout", "-q", "-B", "merged", "origin/main")
		h.git("merge", "-q", "--no-ff", "-m", "merged", h.branch)
		h.git("push", "-q", "origin", "HEAD:main")
		h.git("checkout", "-q", h.branch)
	}},
	{"begun anew", func(h *hand) { h.git("reset", "-q", "--hard", "origin/main") }},
	{"another history", func(h *hand) {
		h.git("checkout", "-q", "--orphan", "other")
		h.git("commit", "-qm", "without parents")
		h.git("branch", "-q", "-M", h.branch)
	}},
}

// hand is a person with a clone, who is at a Draft.
type hand struct {
	testing.TB
	dir, branch, pkg string
}

func (h *hand) git(args ...string) string {
	h.Helper()
	return gittest.Run(h, h.dir, nil, append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...)
}

func (h *hand) write(file, text string) {
	h.Helper()
	(&world{dir: h.dir}).write(h, filepath.Join(h.pkg, file), text)
}

func (h *hand) commit(file, text string) {
	h.Helper()
	h.write(file, text)
	h.git("add", "-A")
	h.git("commit", "-qm", "by hand")
}

// Whatever people do to Drafts, a machine that knows what it made of them says of them what
// one says that has read nothing, with few packages and with many, of first Drafts and of updates.
func TestHandsAreReadTheSame(t *testing.T) {
	for _, variants := range []int{30, 104} {
		for _, update := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/update=%t", variants, update), func(t *testing.T) {
				w := newWorld(t, scenario{variants: variants, http: true})
				w.apply(t)
				if update {
					w.run(t, "approve", "--all")
					w.publish(t, scenario{})
					w.apply(t)
				}
				made := w.copyCache(t)
				w.run(t, "review")
				reviewed := w.copyCache(t)
				w.cache = made
				w.fleet.Commit(t, "main", "beside", gittest.Text{"notes.md": "x\n"})
				clone := filepath.Join(t.TempDir(), "clone")
				gittest.Run(t, "", nil, "clone", "-q", "--no-local", w.fleet.Dir, clone)
				drafts := map[string]string{}
				w.eachDraft(t, func(branch, pkg string) { drafts[pkg] = branch })
				for i, do := range hands {
					h := &hand{t, clone, drafts[variantName(i)], variantName(i)}
					h.git("fetch", "-q", "origin")
					h.git("checkout", "-q", "-f", h.branch)
					do.do(h)
					h.git("push", "-q", "-f", "origin", "HEAD:"+h.branch)
				}
				for _, command := range []string{"plan", "status", "review", "edits"} {
					said := map[string]string{}
					for name, cache := range map[string]string{"nothing": "", "what it made": made, "what it reviewed": reviewed} {
						if w.cache = t.TempDir(); cache != "" {
							w.cache = cache
							w.cache = w.copyCache(t)
						}
						var out, errs bytes.Buffer
						status := cli.Main(context.Background(), w.args(command, "-o", "json"), cli.Streams{In: &bytes.Buffer{}, Out: &out, Err: &errs, State: cli.StateDir()})
						said[name] = when.ReplaceAllString(fmt.Sprintf("%s%s\nstatus %d", out.String(), errs.String(), status), "now")
					}
					for name, text := range said {
						if text != said["nothing"] {
							t.Errorf("%s by who has read %s differs from who has read nothing:\n%s", command, name, firstDifference(said["nothing"], text))
						}
					}
					if command == "edits" {
						for i, do := range hands[:5] {
							if !strings.Contains(said["nothing"], variantName(i)) {
								t.Errorf("%q is no edit: the test says nothing", do.name)
							}
						}
					}
				}
			})
		}
	}
}

// when is the time at which status is asked.
var when = regexp.MustCompile(`"lastTransitionTime": "[^"]*"`)

// firstDifference is where two texts part, a line of each.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\n- %.300s\n+ %.300s", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d lines and %d", len(x), len(y))
}
