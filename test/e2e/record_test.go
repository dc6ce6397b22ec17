package e2e

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

const recordRef = "refs/variform/variform" // of a root without a name

// edited is a fleet whose one Draft holds an edit through an update: no commit has
// what the machine made of that.
func edited(t *testing.T) *world {
	w := newWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.edit("c1", "drafts/web/packagevariant-1", "web/deployment.yaml", "kind: Deployment", "kind: Deployment # mine")
	w.write("v.yaml", variantOf("one", "v2", "c1", "web", ""))
	w.mustApply()
	if _, ok := w.repos["c1"].AllRefs(t)[recordRef]; !ok {
		t.Fatalf("there is no record: %v", w.repos["c1"].AllRefs(t))
	}
	return w
}

// forgeRecord replaces text in the record's index.
func (w *world) forgeRecord(old, now string) {
	w.t.Helper()
	git := w.repos["c1"]
	changed := gittest.Text{}
	for _, path := range strings.Fields(git.Git(w.t, "ls-tree", "-r", "--name-only", recordRef, "index/")) {
		if text := git.Show(w.t, recordRef, path); strings.Contains(text, old) {
			changed[path] = strings.ReplaceAll(text, old, now)
		}
	}
	if len(changed) == 0 {
		w.t.Fatalf("the record has no %q", old)
	}
	git.Git(w.t, "update-ref", recordRef, git.CommitFrom(w.t, "forging", recordRef, "forged", changed))
	git.Git(w.t, "update-ref", "-d", "refs/heads/forging")
}

func TestRecordCommands(t *testing.T) {
	t.Parallel()
	w := edited(t)
	w.contains(w.mustRun(0, "record", "show").out, "c1", "open/web/packagevariant-1", "yes", "/default/one", "1 entry")
	w.contains(w.mustRun(0, "record", "show", "-o", "yaml").out, "place: open", "repository: c1", "hydrated: ")
	w.contains(w.mustRun(0, "record", "show", "-o", "name").out, "c1 open/web/packagevariant-1\n")
	w.mustRun(0, "record", "check")
	w.approveSeen()
	w.contains(w.mustRun(0, "record", "check", "-o", "wide").out, "main/web", "past/web/v1", "2 entries")
	w.mustRun(0, "record", "rebuild")
	w.contains(w.mustRun(0, "record", "check").out, "main/web", "past/web/v1")
	// The next update starts from what the record has.
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	draft := w.show("c1", "drafts/web/packagevariant-2", "web/deployment.yaml")
	w.contains(draft, "kind: Deployment # mine", "replicas: 2")
	w.mustRun(0, "record", "check")
}

// A record that lies, or is lost, is found out, and costs no run.
func TestRecordFindings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		harm func(w *world)
		says []string // check
		// made is whether rebuild makes all anew.
		made bool
	}{
		"another tree": {func(w *world) {
			hydrated := w.repos["c1"].Git(w.t, "rev-parse", recordRef+":open/web/packagevariant-1")
			w.forgeRecord(hydrated, w.repos["c1"].Git(w.t, "rev-parse", "drafts/web/packagevariant-1:web"))
		}, []string{"its commit names another tree"}, true},
		"another commit": {func(w *world) {
			w.forgeRecord(w.repos["c1"].Git(w.t, "rev-parse", "drafts/web/packagevariant-1"), strings.Repeat("1", 40))
		}, []string{"the repository has its commit no more"}, true},
		"another workspace": {func(w *world) { w.forgeRecord("packagevariant-1", "packagevariant-7") }, []string{"no such revision is there"}, true},
		"damaged":           {func(w *world) { w.forgeRecord(`"place"`, `"plaice"`) }, []string{"unknown field", "index/"}, true},
		"newer":             {func(w *world) { w.forgeRecord("record/v1", "record/v3") }, []string{"newer version of variform"}, false},
		"lost":              {func(w *world) { w.repos["c1"].Git(w.t, "update-ref", "-d", recordRef) }, nil, true},
		"lost for good": {func(w *world) {
			w.repos["c1"].Git(w.t, "update-ref", "-d", recordRef)
			w.repos["c1"].Git(w.t, "gc", "-q", "--prune=now")
		}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := edited(t)
			tt.harm(w)
			status := 1
			if tt.says == nil {
				status = 0
			}
			r := w.mustRun(status, "record", "check")
			w.contains(r.out+r.err, tt.says...)
			w.mustRun(0, "plan")
			w.wantActions(w.mustApply(), map[string]string{})
			if tt.made {
				w.mustRun(0, "record", "rebuild")
				w.contains(w.mustRun(0, "record", "check").out, "open/web/packagevariant-1")
				return
			}
			w.mustRun(1, "record", "rebuild")
			w.write("v.yaml", variantOf("one", "v2", "c1", "web", "  packageContext:\n    data: {round: \"2\"}\n"))
			w.wantActions(w.mustApply(), all("update", "c1/web"))
			w.contains(w.show("c1", "drafts/web/packagevariant-1", "web/deployment.yaml"), "kind: Deployment # mine")
		})
	}
}

// What the fleet says of a package holds where no revision of it is left: its Draft was merged.
func TestRecordOfMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", "  deletionPolicy: orphan\n"))
	w.mustApply()
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "squash", true)
	none := "no such package is there"
	if r := w.mustRun(1, "record", "check"); strings.Contains(r.out+r.err, none) {
		t.Errorf("%s%s", r.out, r.err)
	}
	w.repos["c1"].CommitFrom(t, "main", w.repos["c1"].Git(t, "rev-list", "--max-parents=0", "main"), "gone", gittest.Text{"README.md": "x\n"})
	w.contains(w.mustRun(1, "record", "check").out, none)
}

// An entry may name anything: where what the machine made is no tree, it is not known.
func TestRecordOfNoTree(t *testing.T) {
	t.Parallel()
	w := edited(t)
	git := w.repos["c1"]
	w.forgeMerge("c1", "drafts/web/packagevariant-1", "squash", true)
	w.mustApply()
	made := git.Git(t, "rev-parse", recordRef+":main/web")
	w.forgeRecord(made, git.Git(t, "rev-parse", "main"))
	w.publishWeb(webCPU, "v3")
	w.write("v.yaml", variantOf("one", "v3", "c1", "web", ""))
	r := w.mustRun(0, "plan", "-o", "json", "--cache-dir="+t.TempDir())
	w.contains(r.out, `"action": "redraft"`, "base unknown")
}

// What waits is shown with the files of all Drafts, whose commits come with them.
func TestReviewRequests(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", "a", "b", "c", "d"))
	w.mustApply()
	w.repos["c1"].Git(t, "config", "uploadpack.allowFilter", "true") // commits can be asked for alone
	for _, command := range []string{"review", "status"} {
		w.srv.ResetCounts()
		w.mustRun(0, command, "--cache-dir="+t.TempDir())
		// The catalogue's commit, for status its tree, the Drafts, and the record.
		if n := w.srv.Count(gittest.Fetch); n > 3 {
			t.Errorf("%s: %d requests", command, n)
		}
	}
}

// A run with nothing to do reads no record, though packages have edits; one that
// updates them reads it once.
func TestRecordRequests(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	w.publishWeb(webV2, "v2")
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", names...))
	w.mustApply()
	for _, n := range names {
		w.edit("c1", "drafts/"+n+"/packagevariant-1", n+"/deployment.yaml", "kind: Deployment", "kind: Deployment # mine")
	}
	w.write("sets/web.yaml", listSet("web", "web", "v2", "c1", names...))
	w.mustApply()
	w.srv.ResetCounts()
	w.wantActions(w.mustApply(), map[string]string{})
	if n := w.srv.Count(gittest.Fetch) + w.srv.Count(gittest.Push); n != 0 {
		t.Errorf("%d requests to do nothing", n)
	}
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", names...))
	cache := "--cache-dir=" + t.TempDir() // that of nobody's
	w.srv.ResetCounts()
	w.mustApply(cache)
	// The catalogue's and the repository's commits, their trees, and of the record
	// the index and the trees.
	if n := w.srv.Count(gittest.Fetch); n > 5 {
		t.Errorf("%d requests for %d packages", n, len(names))
	}
	for _, n := range names {
		w.contains(w.show("c1", "drafts/"+n+"/packagevariant-1", n+"/deployment.yaml"), "# mine", "replicas: 2")
	}
	w.repos["c1"].Fsck(t)
}

// An update of what is Published reads it from the registered branch: whoever published
// it knows which package that was, and brings no revision but one that the branch has
// other than that.
func TestPublishedRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edited  bool
		fetches int
	}{"as published": {false, 1}, "edited on main": {true, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
			w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", names...))
			w.mustApply()
			w.mustRun(0, "approve", "--all")
			w.publishWeb(webV2, "v2")
			if tc.edited {
				w.edit("c1", "main", "b/settings.yaml", "level: info", "level: debug")
			}
			w.write("sets/web.yaml", listSet("web", "web", "v2", "c1", names...))
			var fetches atomic.Int64
			w.srv.Before(func(kind, repo string) {
				if kind == gittest.Fetch && repo == "c1" {
					fetches.Add(1)
				}
			})
			p := w.mustApply()
			if n := int(fetches.Swap(0)); n > tc.fetches {
				t.Errorf("%d fetches, want %d", n, tc.fetches)
			}
			w.mustRun(0, "review") // of the Drafts alone, beside what was edited
			w.srv.Before(nil)
			if n := int(fetches.Load()); n > tc.fetches {
				t.Errorf("review: %d fetches, want %d", n, tc.fetches)
			}
			for _, n := range names {
				w.contains(w.texts("c1", p.variant(t, "c1/"+n).Commit, n+"/"), "web:2.0", map[bool]string{true: "level: debug", false: "level: info"}[tc.edited && n == "b"])
			}
			w.repos["c1"].Fsck(t)
		})
	}
}

// A fleet that shows a folder of a repository rebuilds what is there, and leaves
// what others of its name have elsewhere.
func TestRecordRebuildLeavesOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	w.write("v.yaml", variantOf("two", "v1", "c1", "api", ""))
	w.write("repositories/c1.yaml", repository("c1", w.url("c1"), false, "below"))
	w.mustApply()
	w.contains(w.mustRun(0, "record", "rebuild").out, "open/web/packagevariant-1", "open/below/api/packagevariant-1", "2 entries")
	w.write("repositories/c1.yaml", repository("c1", w.url("c1"), false, ""))
	out := w.mustRun(0, "record", "check", "-o", "yaml").out
	w.contains(out, "open", "path: web", "path: below/api")
	w.lacks(out, "finding")
}

// Each part of a push that is split has its entries.
func TestRecordSplitPush(t *testing.T) {
	t.Parallel()
	w := newHTTPWorld(t, "c1")
	names := []string{"a", "b", "c", "d", "e"}
	w.write("sets/web.yaml", listSet("web", "web", "v1", "c1", names...)+"      template:\n        labels: {team: shop}\n")
	w.srv.ResetCounts()
	w.mustApply("--max-refs-per-push", "2")
	if n := w.srv.Count(gittest.Push); n != 3 {
		t.Errorf("%d pushes", n)
	}
	w.contains(w.mustRun(0, "record", "check").out, "5 entries")
	if got := w.repos["c1"].Git(t, "rev-list", "--count", recordRef); got != "3" {
		t.Errorf("%s commits", got)
	}
	w.mustRun(0, "approve", "c1/a")
	was := w.mustRun(0, "record", "show", "-o", "yaml").out
	w.contains(was, "set: web", "team: shop", "place: past", "place: main", "place: open")
	if d := cmp.Diff(was, w.mustRun(0, "record", "rebuild", "-o", "yaml").out); d != "" {
		t.Errorf("rebuilt (-was +now):\n%s", d)
	}
	if d := cmp.Diff(was, w.mustRun(0, "record", "show", "-o", "yaml").out); d != "" {
		t.Errorf("written (-was +now):\n%s", d)
	}
}

// A Repository says where the record stands; a server that takes no such refs has
// it on a branch, which is no package.
func TestRecordPlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ annotation, hook, ref, warns string }{
		"usual":      {"", "", recordRef, ""},
		"a branch":   {"refs/heads/memory", "", "refs/heads/memory", ""},
		"none":       {"none", "", "", ""},
		"no ref":     {"memory", "", "", "variform.dev/record-ref"},
		"not taken":  {"", `case "$1" in refs/variform/*) exit 1;; esac`, "refs/heads/variform-record/variform", ""},
		"not at all": {"", `case "$1" in refs/variform/*|*/variform-record/*) exit 1;; esac`, "", "variform.dev/record-ref"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newHTTPWorld(t, "c1")
			if tt.annotation != "" {
				text := repository("c1", w.url("c1"), false, "")
				w.write("repositories/c1.yaml", strings.Replace(text, "  name: c1\n", "  name: c1\n  annotations: {variform.dev/record-ref: "+tt.annotation+"}\n", 1))
			}
			if tt.hook != "" {
				w.repos["c1"].Hook(t, "update", tt.hook)
			}
			w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
			p := w.mustApply()
			if tt.warns == "" {
				w.lacks(p.err, "record")
			}
			w.contains(p.err, tt.warns)
			var records []string
			for ref := range w.repos["c1"].AllRefs(t) {
				if ref != "refs/heads/main" && !strings.HasPrefix(ref, "refs/heads/drafts/") {
					records = append(records, ref)
				}
			}
			if got := strings.Join(records, " "); got != tt.ref {
				t.Errorf("the record is %q, want %q", got, tt.ref)
			}
			w.wantActions(w.mustApply(), map[string]string{})
			status, entries := 0, "1 entry"
			if tt.ref == "" {
				entries = "0 entries"
			}
			if tt.annotation == "memory" {
				status, entries = 1, ""
			}
			r := w.mustRun(status, "record", "check")
			w.contains(r.out, entries)
			w.mustRun(0, "approve", "--all")
			want := append(branches(tt.ref), "refs/heads/main", "refs/tags/web/v1")
			slices.Sort(want)
			w.wantRefs("c1", want...)
		})
	}
}

// branches are those of refs that are branches.
func branches(refs ...string) (out []string) {
	for _, r := range refs {
		if strings.HasPrefix(r, "refs/heads/") {
			out = append(out, r)
		}
	}
	return out
}

// cloneOf makes the management directory a clone of a repository.
func (w *world) cloneOf(url string) {
	w.write(".git/config", "[remote \"origin\"]\n\turl = "+url+"\n")
}

// Two fleets without a name that come from different repositories never write one
// record; one that is reached otherwise, or that has a name, goes on.
func TestRecordOfAnotherOrigin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	w.write("Kptfile", "") // which names the fleet
	record := func() string { return w.repos["c1"].AllRefs(t)[recordRef] }
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.mustApply()
	begun := record()
	w.cloneOf("https://git.example.com/platform/fleet.git")
	w.wantActions(w.mustApply(), map[string]string{}) // the record of before is not touched for that
	if record() != begun {
		t.Error("the record moved with nothing to do")
	}
	w.write("w.yaml", variantOf("two", "v1", "c1", "second", ""))
	w.contains(w.mustRun(0, "apply").err, "did not say which fleet wrote it, and is that of git.example.com/platform/fleet// from now on")
	w.contains(w.repos["c1"].Git(t, "log", "-1", "--format=%B", recordRef), "Variform-Origin: git.example.com/platform/fleet//")

	w.cloneOf("git@git.example.com:platform/fleet.git")
	w.write("w.yaml", "")
	w.write("x.yaml", variantOf("three", "v1", "c1", "third", ""))
	w.lacks(w.mustRun(0, "apply").err, "record")
	before := record()

	w.cloneOf("https://git.example.com/shop/fleet.git")
	w.write("y.yaml", variantOf("four", "v1", "c1", "fourth", ""))
	w.contains(w.mustRun(0, "apply").err, "was not written", "the fleet of git.example.com/platform/fleet// wrote it, and this one is of git.example.com/shop/fleet//", "--manager variform")
	w.show("c1", "drafts/fourth/packagevariant-1", "fourth/Kptfile")
	for _, command := range []string{"plan", "status"} {
		w.forgetWarnings()
		r := w.run(command)
		w.contains(r.out+r.err, "Repository c1: the record is of another fleet", "What people said there of packages counts", "--manager variform")
	}
	if record() != before {
		t.Error("another fleet's record was written")
	}
	w.contains(w.mustRun(1, "hold", "c1/fourth", "--reason", "x").out, "has no record that could keep it")
	w.contains(w.mustRun(1, "record", "rebuild").err, "wrote it, and this one is of")

	w.write("y.yaml", "")
	w.write("z.yaml", variantOf("five", "v1", "c1", "fifth", ""))
	w.mustRun(0, "apply", "--manager", "variform")
	if record() == before {
		t.Error("the fleet was named, and did not write the record")
	}
	w.lacks(w.mustRun(0, "plan").err, "of another fleet") // it is this one's now
	w.cloneOf("https://git.example.com/platform/fleet.git")
	w.contains(w.mustRun(0, "plan").err, "the fleet of git.example.com/shop/fleet// wrote it")
}

// Fleets of one name write one record, wherever they come from: one may have moved. It
// is told as long as they take turns.
func TestRecordOfOneName(t *testing.T) {
	t.Parallel()
	const told = "manager shop of git.example.com/old/fleet// wrote the record there last, and this fleet is of git.example.com/new/fleet//"
	w := newWorld(t, "c1")
	w.manager("shop")
	w.cloneOf("https://git.example.com/old/fleet.git")
	w.write("v.yaml", variantOf("one", "v1", "c1", "web", ""))
	w.lacks(w.mustRun(0, "apply").err, "record")
	w.cloneOf("https://git.example.com/new/fleet.git")
	w.write("w.yaml", variantOf("two", "v1", "c1", "second", ""))
	for _, command := range []string{"plan", "status", "apply"} {
		w.forgetWarnings()
		r := w.mustRun(0, command)
		w.contains(r.out+r.err, told)
	}
	r := w.mustRun(0, "plan")
	w.lacks(r.out+r.err, "record")
	w.contains(w.mustRun(0, "record", "check").out, "2 entries")
}

// A record that was lost is begun by whatever is pushed next, and what else is open
// is no person's for that.
func TestRecordBegunAnew(t *testing.T) {
	for name, next := range map[string]func(w *world){
		"apply":   func(w *world) { w.write("b.yaml", variantOf("b", "v2", "c1", "b", "")); w.mustApply() },
		"approve": func(w *world) { w.mustRun(0, "approve", "c1/b") },
		"hold":    func(w *world) { w.mustRun(0, "hold", "c1/b", "--reason", "a window") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "c1")
			w.publishWeb(webV2, "v2")
			w.write("a.yaml", variantOf("a", "v1", "c1", "a", ""))
			w.write("b.yaml", variantOf("b", "v1", "c1", "b", ""))
			w.mustApply()
			open := w.repos["c1"].AllRefs(t)["refs/heads/drafts/a/packagevariant-1"]
			w.repos["c1"].Git(t, "update-ref", "-d", recordRef)
			next(w)
			w.contains(w.mustRun(0, "record", "show", "-o", "name").out, "c1 open/a/packagevariant-1\n")
			w.mustRun(0, "record", "check")
			w.mustApply()
			if now := w.repos["c1"].AllRefs(t)["refs/heads/drafts/a/packagevariant-1"]; now != open {
				t.Errorf("the Draft moved from %s to %s", open, now)
			}
		})
	}
}
