package conformance_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/test/gittest"
)

// TestKptUpdatesComposedPackages: a package with a subpackage that was fetched
// from an upstream of its own is updated by kpt and merged by us; what the files
// hold then is the same.
func TestKptUpdatesComposedPackages(t *testing.T) {
	kpt, err := exec.LookPath("kpt")
	if err != nil {
		t.Skip("kpt is not on the PATH")
	}
	if testing.Short() {
		t.Skip("kpt takes seconds a case")
	}
	gittest.RequireGit(t)
	dep := gittest.NewRepo(t)
	commits := map[string]string{}
	for _, v := range []string{"1", "2", "9"} {
		commits[v] = dep.Commit(t, "main", v, gittest.Text{"db/Kptfile": kptfileOf("db", ""), "db/cm.yaml": configMapOf("db", v, "1")})
		dep.Tag(t, "v"+v, commits[v])
	}
	upstream := func(v string) string {
		at := "    repo: " + dep.URL() + "\n    directory: /db\n    ref: v" + v + "\n"
		return "upstream:\n  type: git\n  git:\n" + at + "  updateStrategy: resource-merge\nupstreamLock:\n  type: git\n  git:\n" + at + "    commit: " + commits[v] + "\n"
	}
	web := func(v string, db gittest.Text) gittest.Text {
		out := gittest.Text{"web/Kptfile": kptfileOf("web", ""), "web/cm.yaml": configMapOf("web", v, "1")}
		for name, text := range db {
			out["web/db/"+name] = text
		}
		return out
	}
	db := func(v, data, mine string) gittest.Text {
		return gittest.Text{"Kptfile": kptfileOf("db", upstream(v)), "cm.yaml": configMapOf("db", data, mine)}
	}
	cases := map[string]struct {
		base, next gittest.Text
		local      gittest.Text // what somebody wrote into the subpackage
		goes       []string     // what goes here, and kpt keeps: docs/kpt.md, "Updates"
	}{
		"moved on upstream":               {web("1", db("1", "1", "1")), web("2", db("2", "2", "1")), nil, nil},
		"moved on upstream, edited":       {web("1", db("1", "1", "1")), web("2", db("2", "2", "1")), gittest.Text{"cm.yaml": configMapOf("db", "1", "mine")}, nil},
		"moved on here":                   {web("1", db("1", "1", "1")), web("2", db("2", "2", "1")), db("9", "9", "1"), nil},
		"left upstream":                   {web("1", db("1", "1", "1")), web("2", nil), nil, []string{"db/Kptfile", "db/cm.yaml"}},
		"left upstream, edited":           {web("1", db("1", "1", "1")), web("2", nil), gittest.Text{"cm.yaml": configMapOf("db", "1", "mine")}, nil},
		"beside what changed":             {web("1", db("1", "1", "1")), web("2", db("1", "1", "1")), nil, nil},
		"fetched upstream since the last": {web("1", nil), web("2", db("2", "2", "1")), nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			repo := gittest.NewRepo(t)
			repo.Tag(t, "v1", repo.Commit(t, "main", "one", tc.base))
			repo.Tag(t, "v2", repo.Commit(t, "main", "two", tc.next))
			dir := t.TempDir()
			run := func(command string, args ...string) {
				t.Helper()
				cmd := exec.Command(command, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "KPT_CACHE_DIR="+filepath.Join(dir, ".kpt"))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s %s: %v\n%s", command, strings.Join(args, " "), err, out)
				}
			}
			run(kpt, "pkg", "get", repo.Dir+"/web@v1", "web")
			for file, text := range tc.local {
				if err := os.WriteFile(filepath.Join(dir, "web", "db", file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			local, err := packageAt(filepath.Join(dir, "web"))
			if err != nil {
				t.Fatal(err)
			}
			run("git", "init", "--quiet")
			run("git", "add", "web")
			run("git", "commit", "--quiet", "--message", "web")
			run(kpt, "pkg", "update", "web@v2")
			theirs, err := packageAt(filepath.Join(dir, "web"))
			if err != nil {
				t.Fatal(err)
			}
			res, err := merge.Packages(packageOf(t, tc.base), packageOf(t, tc.next), local, merge.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := held(theirs)
			for _, file := range tc.goes {
				if want[file] == "" {
					t.Errorf("kpt does not keep %s any more: mend docs/kpt.md", file)
				}
				delete(want, file)
			}
			if diff := cmp.Diff(want, held(res.Package)); diff != "" {
				t.Errorf("(-kpt +ours):\n%s", diff)
			}
		})
	}
}

func kptfileOf(name, more string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\n" + more
}

func configMapOf(name, a, b string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  a: \"" + a + "\"\n  b: \"" + b + "\"\n"
}

// packageOf is the package web of a tree.
func packageOf(t *testing.T, tree gittest.Text) *krm.Package {
	t.Helper()
	var files []krm.File
	for name, text := range maps.All(tree) {
		files = append(files, krm.File{Path: strings.TrimPrefix(name, "web/"), Data: []byte(text)})
	}
	p, err := krm.Parse(files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// held is what the files of a package hold, but for what kpt writes about the
// root's upstream, and about where resources come from.
func held(p *krm.Package) map[string]string {
	out := map[string]string{}
	for _, r := range p.Resources() {
		text := ""
		for _, field := range []string{"data.a", "data.b", "upstream.git.ref"} {
			if v, err := r.Node().GetString(field); err == nil && r.Path() != "Kptfile" {
				text += field + "=" + v + " "
			}
		}
		out[r.Path()] = text
	}
	return out
}
