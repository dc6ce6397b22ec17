package e2e

import (
	"testing"

	"github.com/variform/variform/test/gittest"
)

// A .gitmodules is skipped with a note in each place where files are read; no package gets it.
func TestSkipsModules(t *testing.T) {
	t.Parallel()
	const modules = "[submodule \"x\"]\n\tpath = x\n\turl = https://example.com/x.git\n"
	w := newWorld(t, "c1")
	files := gittest.Text{".gitmodules": modules, "web/sub/.gitmodules": modules}
	for name, text := range web("1.0", "100m", "info") {
		files[name] = text
	}
	w.repos["catalog"].Commit(t, "main", "modules", files)
	w.repos["catalog"].Tag(t, "web/v2", w.repos["catalog"].Git(t, "rev-parse", "main"))
	w.write("v.yaml", variantOf("web", "v2", "c1", "web", ""))
	w.write("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata: {name: c}\nspec: {sources: [{git: {repo: "+w.url("catalog")+", ref: main}}]}\n")
	w.write(".gitmodules", modules)
	const note = "skipped .gitmodules: Git submodules are not read"
	list := w.run("catalog", "list")
	w.contains(list.err, "catalog.git: "+note, "no document of Carvel or Porter is there")
	w.write("catalog.yaml", "")
	w.contains(w.mustApply().err, "skipped sub/.gitmodules: Git submodules are not read")
	for _, name := range []string{"web/.gitmodules", "web/sub/.gitmodules"} {
		if got := w.repos["c1"].Git(t, "ls-tree", "-r", "--name-only", "drafts/web/packagevariant-1", name); got != "" {
			t.Errorf("the Draft has %s", got)
		}
	}
	// The management directory, read from Git.
	fleet := &gittest.Repo{Dir: w.fleet()}
	gittest.Run(t, w.fleet(), nil, "init", "-q", "-b", "main")
	gittest.Run(t, w.fleet(), nil, "add", ".")
	gittest.Run(t, w.fleet(), nil, "update-index", "--add", "--cacheinfo", "160000,"+w.repos["catalog"].Git(t, "rev-parse", "main")+",x")
	gittest.Run(t, w.fleet(), nil, "commit", "-qm", "fleet")
	r := runIn(t.TempDir(), "plan", "-f", fleet.Dir+"@main")
	if r.status != 0 {
		t.Errorf("plan of a folder in Git: status %d\n%s%s", r.status, r.out, r.err)
	}
	w.contains(r.err, note, "skipped x: Git submodules are not read")
}
