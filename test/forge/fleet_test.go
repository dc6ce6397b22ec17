package forge

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

// fleet is a management directory, its catalogue, and repositories on a forge.
type fleet struct {
	*server
	dir     string
	catalog *gittest.Repo
}

func newFleet(t *testing.T, repos ...string) *fleet {
	t.Helper()
	s := newServer(t)
	f := &fleet{s, t.TempDir(), gittest.NewRepo(t)}
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword(user, password)
	secrets, config := filepath.Join(t.TempDir(), "credentials"), filepath.Join(t.TempDir(), "gitconfig")
	for name, text := range map[string]string{
		secrets: at.String() + "\n",
		config:  "[user]\n\tname = Ann\n\temail = ann@example.com\n[credential]\n\thelper = store --file=" + secrets + "\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	f.write("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: fleet}\n")
	f.write("catalog.yaml", f.registered("catalog", f.catalog.Dir, false))
	for _, name := range repos {
		f.repository(name, name == "tagless")
		f.write(name+".yaml", f.registered(name, f.address(name), true))
	}
	return f
}

func (f *fleet) registered(name, address string, deployment bool) string {
	on := map[bool]string{true: ", annotations: {variform.dev/forge: gitea}"}
	return fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: %s, labels: {cluster: \"%[2]t\"}%[4]s}\nspec: {type: git, deployment: %[2]t, git: {repo: %[3]q, branch: main}}\n", name, deployment, address, on[deployment])
}

func (f *fleet) write(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// publish puts a version of the package into the catalogue, and wants it.
func (f *fleet) publish(version, value string) {
	f.t.Helper()
	tree := gittest.Text{"web/a.yaml": settings("a", value)}
	if version == "v1" {
		tree["web/Kptfile"], tree["web/b.yaml"] = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: web}\n", settings("b", "1")
	}
	f.catalog.Tag(f.t, "web/"+version, f.catalog.Commit(f.t, "main", "web "+version, tree))
	f.write("set.yaml", "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: web}\nspec:\n  upstream: {repo: catalog, package: web, workspaceName: "+version+"}\n  targets:\n  - repositorySelector: {matchLabels: {cluster: \"true\"}}\n")
}

func settings(name, value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata:\n  a: \"" + value + "\"\n"
}

// run is a run on a machine that knows nothing of earlier ones.
func (f *fleet) run(args ...string) string {
	f.t.Helper()
	var out, errs bytes.Buffer
	args = append(args, "-f", f.dir, "--cache-dir", f.t.TempDir())
	if code := cli.Main(f.t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != 0 {
		f.t.Fatalf("variform %v: %d\n%s%s", args, code, out.String(), errs.String())
	}
	return out.String() + errs.String()
}

// git runs Git with the account's credentials.
func (f *fleet) git(dir string, args ...string) string {
	f.t.Helper()
	args = append([]string{"-c", "include.path=" + os.Getenv("GIT_CONFIG_GLOBAL")}, args...)
	return strings.TrimSpace(gittest.Run(f.t, dir, nil, args...))
}

// refs are a repository's branches and tags.
func (f *fleet) refs(repo string) map[string]string {
	f.t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(f.git(f.dir, "ls-remote", f.address(repo))) {
		hash, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/") || strings.HasPrefix(name, "refs/variform/") {
			out[name] = hash
		}
	}
	return out
}

// edit commits to a branch what a person changes there.
func (f *fleet) edit(repo, branch, file, text string) {
	f.t.Helper()
	dir := filepath.Join(f.t.TempDir(), "clone")
	f.git(f.dir, "clone", "-q", "--branch", branch, f.address(repo), dir)
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.git(dir, "commit", "-qam", "by hand")
	f.git(dir, "push", "-q")
}

func (f *fleet) show(repo, ref, file string) string {
	f.t.Helper()
	dir := filepath.Join(f.t.TempDir(), "clone")
	f.git(f.dir, "clone", "-q", "--branch", ref, f.address(repo), dir)
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

// A fleet whose branches are protected lives by pull requests alone: what is merged
// there, in any style, is tagged by the next run, and nothing is lost. Where tags
// are protected as well, runs say so and go on.
func TestProtected(t *testing.T) {
	styles := map[string]string{"merge": "merge", "squash": "squash", "rebase": "rebase", "forward": "fast-forward-only", "tagless": "squash"}
	repos := slices.Sorted(maps.Keys(styles))
	f := newFleet(t, repos...)
	draft := func(n int) string { return fmt.Sprintf("drafts/web/packagevariant-%d", n) }

	f.publish("v1", "1")
	f.run("apply")
	f.edit("squash", draft(1), "web/b.yaml", settings("b", "mine"))
	f.run("apply")
	for _, repo := range repos {
		f.merge(repo, draft(1), styles[repo])
	}
	said := f.run("apply")
	if !strings.Contains(said, "tag web/v1 was not made") || !strings.Contains(said, "Tag web/v1 is protected") {
		t.Errorf("nothing is said of protected tags:\n%s", said)
	}
	f.publish("v2", "2")
	f.run("apply")
	f.edit("merge", draft(2), "web/b.yaml", settings("b", "later"))
	f.run("apply")
	for _, repo := range repos {
		for name := range f.refs(repo) {
			if branch, ok := strings.CutPrefix(name, "refs/heads/drafts/"); ok {
				f.merge(repo, "drafts/"+branch, styles[repo])
			}
		}
	}
	f.run("apply")
	for _, repo := range repos {
		refs := f.refs(repo)
		want := []string{"refs/heads/main", "refs/tags/web/v1", "refs/tags/web/v2", "refs/variform/fleet"}
		if repo == "tagless" {
			want = []string{"refs/heads/main", "refs/variform/fleet"}
		}
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(refs))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", repo, diff)
		}
		if got := f.show(repo, "main", "web/a.yaml"); got != settings("a", "2") {
			t.Errorf("%s: main has\n%s", repo, got)
		}
		edit := map[string]string{"squash": "mine", "merge": "later"}[repo]
		if got := f.show(repo, "main", "web/b.yaml"); edit != "" && got != settings("b", edit) {
			t.Errorf("%s: the edit is lost:\n%s", repo, got)
		}
		f.run("apply")
		if diff := cmp.Diff(refs, f.refs(repo)); diff != "" {
			t.Errorf("%s: one more run moves (-want +got):\n%s", repo, diff)
		}
	}
}
