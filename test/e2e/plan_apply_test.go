package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/test/gittest"
)

// Plan writes nothing: no ref, no object, nothing in the management directory.
func TestPlanWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	before, git, fleet := w.refs(), snapshot(t, filepath.Join(w.dir, "git")), snapshot(t, w.fleet())

	w.wantActions(w.plan(), all("create", "c1/web", "c2/web"))
	w.mustRun(0, "diff")
	w.mustRun(0, "status")
	w.mustRun(0, "review")

	w.unchanged(before)
	if d := cmp.Diff(git, snapshot(t, filepath.Join(w.dir, "git"))); d != "" {
		t.Errorf("the repositories' files changed:\n%s", d)
	}
	if d := cmp.Diff(fleet, snapshot(t, w.fleet())); d != "" {
		t.Errorf("the management directory changed:\n%s", d)
	}
}

// Apply makes one Draft a variant, as Porch lays them out.
func TestApplyInPorchLayout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("repositories/sub.yaml", repository("sub", w.url("c2"), true, "shared/eu"))
	w.write("sets/web.yaml", webSet)
	main := w.refs()["c1 refs/heads/main"]
	w.wantActions(w.mustApply(), all("create", "c1/web", "c2/web", "sub/web"))

	w.wantRefs("c1", draft1, "refs/heads/main")
	w.wantRefs("c2", "refs/heads/drafts/shared/eu/web/packagevariant-1", draft1, "refs/heads/main")
	if got := w.refs()["c1 refs/heads/main"]; got != main {
		t.Errorf("main moved from %s to %s", main, got)
	}

	log := w.repos["c1"].Git(t, "log", "-1", "--format=%an <%ae>|%cn <%ce>|%P|%at|%ct%n%B", draft1)
	who, message, _ := strings.Cut(log, "\n")
	f := strings.Split(who, "|")
	if f[0] != "Variform <variform@variform.dev>" || f[1] != f[0] || f[2] != main {
		t.Errorf("author, committer, parent: %q, main is %s", f, main)
	}
	newest := w.repos["c1"].Git(t, "log", "-1", "--format=%ct", "main")
	if v1 := w.repos["catalog"].Git(t, "log", "-1", "--format=%ct", "web/v1"); v1 > newest {
		newest = v1
	}
	if f[3] != newest || f[4] != newest {
		t.Errorf("time %s, want that of the newest input, %s", f[3], newest)
	}
	lines := []string{
		`kpt:{"package":"web","workspaceName":"packagevariant-1","task":{"type":"clone","clone":{"upstreamRef":{"upstreamRef":{"name":"catalog.web.v1"}}}}}`,
		"Variform-Variant: variform/default/web-c1-web",
	}
	for _, l := range lines {
		if !strings.Contains(message+"\n", "\n"+l+"\n") {
			t.Errorf("the message has no line %s:\n%s", l, message)
		}
	}
	if !regexp.MustCompile(`(?m)^Variform-Inputs: sha256:[0-9a-f]{64} `).MatchString(message) {
		t.Errorf("the message has no digest of the inputs:\n%s", message)
	}
	w.contains(w.repos["c2"].Git(t, "log", "-1", "--format=%B", "drafts/shared/eu/web/packagevariant-1"), `kpt:{"package":"shared/eu/web",`)

	// The Draft holds the whole branch with the package grafted in.
	files := w.repos["c1"].Git(t, "ls-tree", "-r", "--name-only", draft1)
	want := "README.md\nweb/Kptfile\nweb/README.md\nweb/deployment.yaml\nweb/package-context.yaml\nweb/settings.yaml"
	if files != want {
		t.Errorf("files:\n%s\nwant:\n%s", files, want)
	}
	v1 := w.refs()["catalog refs/tags/web/v1"]
	w.contains(w.show("c1", draft1, "web/Kptfile"),
		"variform.dev/variant: variform/default/web-c1-web", "variform.dev/set: web", "ref: web/v1", "commit: "+v1, "# keep this comment", "repo: "+w.url("catalog"))
}

func TestApplyAgainChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1", "c2")
	w.write("sets/web.yaml", webSet)
	w.mustApply()
	before := w.refs()
	w.wantActions(w.mustApply(), map[string]string{})
	w.unchanged(before)

	// Nor does one that knows nothing: everything is in Git.
	if err := os.RemoveAll(filepath.Join(w.dir, "cache")); err != nil {
		t.Fatal(err)
	}
	w.wantActions(w.mustApply(), map[string]string{})
	w.unchanged(before)
	w.mustRun(0, "plan", "--exit-code")
}

// The same input gives the same commits, in a universe made from nothing.
func TestSameInputsSameCommits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	universe := func(concurrency string) map[string]string {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		w := makeWorld(t, dir, nil, []string{"c1", "c2", "c3"})
		w.write("sets/web.yaml", webSet)
		w.write("sets/more.yaml", listSet("more", "web", "v1", "c1", "a", "b", "c", "d"))
		w.write("context/settings.yaml", settings("settings", "debug"))
		w.mustApply("--concurrency", concurrency)
		w.publishWeb(webV2, "v2")
		w.write("sets/more.yaml", listSet("more", "web", "v2", "c1", "a", "b", "c", "d"))
		w.mustApply("--concurrency", concurrency)
		return w.refs()
	}
	first := universe("1")
	if d := cmp.Diff(first, universe("8")); d != "" {
		t.Errorf("other commits the second time (-first +second):\n%s", d)
	}
}

func settings(name, level string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  level: " + level + "\n"
}

// A fleet may stand in Git: URL[//dir][@ref].
func TestFleetFromGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "c1")
	git := gittest.NewRepo(t)
	tree := gittest.Text{
		"fleets/north/web.yaml":     webSet,
		"fleets/north/catalog.yaml": repository("catalog", w.url("catalog"), false, ""),
		"fleets/north/c1.yaml":      repository("c1", w.url("c1"), true, ""),
		"fleets/north/Kptfile":      "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: north\n",
	}
	first := git.Commit(t, "main", "fleet", tree)
	git.Branch(t, "old", first)
	git.Tag(t, "fleet-1", first)
	git.Commit(t, "main", "another package", gittest.Text{"fleets/north/web.yaml": strings.Replace(webSet, "          env: prod\n", "          env: prod\n      template:\n        downstream: {package: site}\n", 1)})

	cases := map[string]struct {
		suffix, want string
		status       int
	}{
		"head":          {suffix: "//fleets/north", want: "c1/site\n"},
		"branch":        {suffix: "//fleets/north@old", want: "c1/web\n"},
		"tag":           {suffix: "//fleets/north@fleet-1", want: "c1/web\n"},
		"commit":        {suffix: "//fleets/north@" + first, want: "c1/web\n"},
		"root":          {suffix: "@old", want: ""}, // a nested package is no part of the root's fleet
		"no such ref":   {suffix: "//fleets/north@nowhere", status: 2},
		"no such dir":   {suffix: "//fleets/south", status: 2},
		"not a repo":    {suffix: "-missing.git", status: 2},
		"out of bounds": {suffix: "//../../etc", status: 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := runIn(filepath.Join(t.TempDir(), "cache"), "plan", "-o", "name", "-f", git.URL()+c.suffix)
			if c.suffix == "@old" {
				c.status = 2 // nothing there to plan
			}
			if r.status != c.status || r.out != c.want {
				t.Errorf("status %d, output %q, want %d, %q\n%s", r.status, r.out, c.status, c.want, r.err)
			}
			if c.status == 2 && strings.TrimSpace(r.err) == "" {
				t.Error("failed and said nothing")
			}
		})
	}

	r := runIn(filepath.Join(t.TempDir(), "cache"), "apply", "-f", git.URL()+"//fleets/north")
	if r.status != 0 {
		t.Fatalf("apply: %d\n%s%s", r.status, r.out, r.err)
	}
	w.contains(w.show("c1", "drafts/site/packagevariant-1", "site/Kptfile"), "variform.dev/variant: north/default/web-c1-site")
}
