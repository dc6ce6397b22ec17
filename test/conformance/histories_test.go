package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/merge"
	"github.com/variform/variform/test/gittest"
)

// TestKptUpdatesGeneratedHistories plays histories of a package: upstream moves on
// twice, somebody edits the local copy, fetches a subpackage into it and updates
// that, and after each step of upstream `kpt pkg update` and our merge make the same
// of the three. Histories are made from their number: a failure names the one to run
// again.
func TestKptUpdatesGeneratedHistories(t *testing.T) {
	kpt, err := exec.LookPath("kpt")
	if err != nil {
		t.Skip("SKIPPED: kpt is not on the PATH")
	}
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out the comparison with real kpt")
	}
	gittest.RequireGit(t)
	histories := 12
	if os.Getenv("CI") != "" {
		histories = 60
	}
	for i := range histories {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			newHistory(t, kpt, uint64(i)).play()
		})
	}
}

// history is one package over time.
type history struct {
	*testing.T
	*rand.Rand
	kpt      string
	dir      string        // the local work tree; the package is in web/
	web, db  *gittest.Repo // upstreams of the package and of what is fetched into it
	upstream []*krm.Package
	composed bool // the package has db in it
	n        int
	told     []string // what was done, for failures
}

func newHistory(t *testing.T, kpt string, seed uint64) *history {
	return &history{T: t, Rand: rand.New(rand.NewPCG(seed, 11)), kpt: kpt, dir: t.TempDir(), web: gittest.NewRepo(t), db: gittest.NewRepo(t)}
}

func (h *history) play() {
	dbs := h.revise("db", h.generate("db", 1+h.IntN(2)))
	commits := h.publish(h.db, "db", dbs)
	h.upstream = h.revise("web", h.generate("web", 3+h.IntN(4)))
	if h.composed = h.IntN(4) == 0; h.composed {
		at := 0
		for v, p := range h.upstream {
			if v > 0 && h.IntN(2) == 0 {
				at = min(at+1, len(dbs)-1)
			}
			h.tell("web v"+fmt.Sprint(v+1), "has", fmt.Sprintf("db@v%d", at+1))
			h.upstream[v] = h.fetched(p, dbs[at], at+1, commits[at])
		}
	}
	h.publish(h.web, "web", h.upstream)
	h.run(h.kpt, "pkg", "get", h.web.Dir+"/web@v1", "web")
	h.run("git", "init", "--quiet")
	h.commit()
	for v := 2; v <= 3; v++ {
		for range h.IntN(4) {
			h.editLocally()
		}
		if h.IntN(2) == 0 {
			h.compose()
		}
		h.commit()
		local := h.local()
		h.run(h.kpt, "pkg", "update", fmt.Sprintf("web@v%d", v))
		res, err := merge.Packages(h.upstream[v-2], h.upstream[v-1], local, merge.Options{})
		if err != nil {
			h.Fatalf("%v\n%s", err, strings.Join(h.told, "\n"))
		}
		byKpt, ours := h.contents(h.local()), h.contents(res.Package)
		h.dropLeft(byKpt, ours, h.contents(local), h.upstream[v-2], h.upstream[v-1])
		if diff := cmp.Diff(byKpt, ours); diff != "" {
			h.Errorf("update to v%d (-kpt +ours):\n%s\n%s", v, diff, strings.Join(h.told, "\n"))
			return
		}
		h.commit()
	}
}

// dropLeft takes out what upstream removed, nobody edited, and kpt leaves all the
// same (docs/kpt.md#updates): the last resources of a subpackage, and resources with
// annotations that came by an earlier update.
func (h *history) dropLeft(byKpt, ours, local map[string]any, base, next *krm.Package) {
	h.Helper()
	before, after := h.contents(base), h.contents(next)
	for key := range byKpt {
		if ours[key] != nil || after[key] != nil || before[key] == nil || !cmp.Equal(before[key], local[key]) {
			continue
		}
		file, _, _ := strings.Cut(key, " ")
		rest := 0
		for other := range after {
			if path.Dir(other) == path.Dir(file) && !strings.HasPrefix(path.Base(other), "Kptfile ") {
				rest++
			}
		}
		metadata, _ := before[key].(map[string]any)["metadata"].(map[string]any)
		if metadata["annotations"] != nil || rest == 0 && path.Dir(file) != "." {
			h.tell("kpt", "leaves", key)
			delete(byKpt, key)
		}
	}
}

// revise makes three revisions of a package, each some edits after the last.
func (h *history) revise(name string, p *krm.Package) []*krm.Package {
	out := []*krm.Package{p}
	for v := 2; v <= 3; v++ {
		p = p.Clone()
		for range 1 + h.IntN(4) {
			h.edit(p, fmt.Sprintf("%s v%d", name, v), true)
		}
		p = h.reread(p)
		out = append(out, p)
	}
	return out
}

// publish commits and tags revisions, and returns the commits.
func (h *history) publish(repo *gittest.Repo, name string, revisions []*krm.Package) []string {
	h.Helper()
	var commits []string
	for i, p := range revisions {
		tree := gittest.Text{}
		for _, f := range h.files(p) {
			tree[path.Join(name, f.Path)] = string(f.Data)
		}
		commit := repo.Commit(h.T, fmt.Sprintf("rel%d", i+1), fmt.Sprintf("%s v%d", name, i+1), tree)
		repo.Tag(h.T, fmt.Sprintf("v%d", i+1), commit)
		commits = append(commits, commit)
	}
	return commits
}

// fetched is a package with db in it, as `kpt pkg get` leaves it.
func (h *history) fetched(p, db *krm.Package, v int, commit string) *krm.Package {
	h.Helper()
	p = p.Clone()
	for _, f := range h.files(db) {
		if f.Path == "Kptfile" {
			at := fmt.Sprintf("    repo: %s\n    directory: /db\n    ref: v%d\n", h.db.Dir, v)
			f.Data = fmt.Appendf(f.Data, "upstream:\n  type: git\n  git:\n%s  updateStrategy: resource-merge\nupstreamLock:\n  type: git\n  git:\n%s    commit: %s\n", at, at, commit)
		}
		f.Path = "db/" + f.Path
		p.Write(f)
	}
	return h.reread(p)
}

func (h *history) name(prefix string) string {
	h.n++
	return fmt.Sprintf("%s%d", prefix, h.n)
}

// generate makes a package of some resources, a text and perhaps a subpackage.
func (h *history) generate(name string, resources int) *krm.Package {
	files := map[string]string{"Kptfile": historyKptfile(name), "README.md": "one\ntwo\nthree\n"}
	for range resources {
		file := h.name("f") + ".yaml"
		if name == "web" && h.IntN(3) == 0 {
			files["sub/Kptfile"] = historyKptfile("sub")
			file = "sub/" + file
		}
		var docs []string
		for range 1 + h.IntN(2) {
			docs = append(docs, fmt.Sprintf(historyKinds[h.IntN(len(historyKinds))], h.name("r")))
		}
		files[file] = strings.Join(docs, "---\n")
	}
	var list []krm.File
	for file, text := range files {
		list = append(list, krm.File{Path: file, Data: []byte(text)})
	}
	p, err := krm.Parse(list)
	if err != nil {
		h.Fatal(err)
	}
	return p
}

func historyKptfile(name string) string {
	return "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + name + "\ninfo:\n  description: first\n" +
		"pipeline:\n  mutators:\n  - image: set-labels:latest\n    configMap:\n      app: one\n      tier: two\n  - image: set-namespace:v0.4\n    configMap:\n      namespace: three\n"
}

var historyKinds = []string{
	"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  labels:\n    a: one\n    b: two\ndata:\n  k0: zero\n  k1: one\n  k2: two\n",
	"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %s\n  namespace: shop\n  labels:\n    a: one\nspec:\n  replicas: 1\n  template:\n    spec:\n      containers:\n" +
		"      - name: main\n        image: main:1\n        env:\n        - name: E0\n          value: zero\n        - name: E1\n          value: one\n      - name: side\n        image: side:1\n",
	"apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  labels:\n    a: one\nspec:\n  type: ClusterIP\n  selector:\n    app: one\n    tier: two\n  ports:\n  - name: web\n    port: 80\n    protocol: TCP\n    targetPort: 8080\n",
	"apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: %s\n  labels:\n    a: one\nspec:\n  size: small\n  deep:\n    er:\n      k0: zero\n      k1: one\n",
	"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: %s\n  labels:\n    a: one\nrules:\n- apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [get, list]\n",
}

// edit changes one thing of a package. A person changes no text and drops no part of
// a list's item: there kpt is known to err.
func (h *history) edit(p *krm.Package, who string, upstream bool) {
	what := h.IntN(12)
	switch {
	case what == 0:
		file, name := h.name("new")+".yaml", h.name("r")
		p.Write(krm.File{Path: file, Data: fmt.Appendf(nil, historyKinds[h.IntN(len(historyKinds))], name)})
		h.tell(who, "adds", file)
		return
	case what == 1:
		if r := h.pick(p, false); r != nil {
			r.Delete()
			h.tell(who, "drops", r.ID().String())
		}
		return
	case what == 2 && upstream:
		f, _ := p.Read("README.md")
		f.Data = []byte(strings.Replace(string(f.Data), "two", "two "+h.name("t"), 1))
		p.Write(f)
		h.tell(who, "changes", "README.md")
		return
	case what == 3:
		file := h.name("text") + ".txt"
		p.Write(krm.File{Path: file, Data: []byte(file + "\n")})
		h.tell(who, "adds", file)
		return
	}
	r := h.pick(p, h.IntN(6) == 0)
	if r == nil {
		return
	}
	places := historyPlaces[r.Kind()]
	place := places[h.IntN(len(places))]
	h.change(r, who, place, upstream)
}

// pick is a resource, or a Kptfile, of the package itself.
func (h *history) pick(p *krm.Package, kptfile bool) *krm.Resource {
	var of []*krm.Resource
	for _, r := range p.Resources() {
		if (r.Kind() == "Kptfile") == kptfile && !strings.HasPrefix(r.Path(), "db/") {
			of = append(of, r)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return of[h.IntN(len(of))]
}

// historyPlaces are the fields that are changed, by kind; <new> is a name of its own.
var historyPlaces = map[string][]string{
	"ConfigMap":   {"data.k0", "data.k1", "data.k2", "data.<new>", "metadata.labels.a", "metadata.labels.<new>", "metadata.annotations.<new>"},
	"Deployment":  {"spec.replicas", "spec.template.spec.containers.[name=main].image", "spec.template.spec.containers.[name=main].env.[name=E0].value", "spec.template.spec.containers.[name=main].env.[name=<new>].value", "spec.template.spec.containers.[name=<new>].image", "metadata.labels.<new>", "spec.template.spec.containers.[name=side].image"},
	"Service":     {"spec.type", "spec.selector.app", "spec.selector.<new>", "metadata.labels.a", "metadata.annotations.<new>"},
	"Thing":       {"spec.size", "spec.deep.er.k0", "spec.deep.er.<new>", "spec.<new>", "metadata.labels.a"},
	"ClusterRole": {"metadata.labels.a", "metadata.labels.<new>", "metadata.annotations.<new>"},
	"Kptfile":     {"info.description", "info.site", "pipeline.mutators.[image=set-labels:latest].configMap.app", "pipeline.mutators.[image=set-labels:latest].configMap.<new>", "metadata.labels.<new>", "metadata.annotations.<new>"},
}

// change sets a field to a value of its own, or drops it.
func (h *history) change(r *krm.Resource, who, place string, upstream bool) {
	value := h.name("v")
	parts := strings.Split(strings.ReplaceAll(place, "<new>", h.name("new")), ".")
	last := parts[len(parts)-1]
	if h.IntN(5) == 0 && !strings.Contains(place, "<new>") {
		if n, err := r.Edit().Pipe(yaml.Lookup(parts[:len(parts)-1]...)); err == nil && n != nil && (upstream || !strings.Contains(place, "[")) {
			if err := n.PipeE(yaml.Clear(last)); err != nil {
				h.Fatal(err)
			}
			h.tell(who, "drops", r.ID().String()+" "+place)
			return
		}
	}
	n, err := r.Edit().Pipe(yaml.LookupCreate(yaml.MappingNode, parts[:len(parts)-1]...))
	if err != nil {
		h.Fatal(err)
	}
	node := yaml.NewStringRNode(value)
	if last == "replicas" {
		node = yaml.NewScalarRNode(fmt.Sprint(10 + h.n))
	}
	if err := n.PipeE(yaml.SetField(last, node)); err != nil {
		h.Fatal(err)
	}
	h.tell(who, "sets", r.ID().String()+" "+strings.Join(parts, ".")+" "+value)
}

func (h *history) tell(who, what, of string) { h.told = append(h.told, who+" "+what+" "+of) }

func (h *history) editLocally() {
	p := h.local()
	before := h.files(p)
	h.edit(p, "local", false)
	h.write(before, h.files(p))
}

// compose fetches another package into the local one, or updates it there.
func (h *history) compose() {
	if !h.composed {
		h.composed = true
		h.tell("local", "fetches", "db@v1")
		h.run(h.kpt, "pkg", "get", h.db.Dir+"/db@v1", "web/db")
		return
	}
	h.tell("local", "updates", "db@v2")
	h.commit()
	h.run(h.kpt, "pkg", "update", "web/db@v2")
}

func (h *history) local() *krm.Package {
	h.Helper()
	p, err := packageAt(filepath.Join(h.dir, "web"))
	if err != nil {
		h.Fatal(err)
	}
	return p
}

func (h *history) files(p *krm.Package) []krm.File {
	h.Helper()
	files, err := p.Files()
	if err != nil {
		h.Fatal(err)
	}
	return files
}

func (h *history) reread(p *krm.Package) *krm.Package {
	h.Helper()
	out, err := krm.Parse(h.files(p))
	if err != nil {
		h.Fatal(err)
	}
	return out
}

func (h *history) write(before, after []krm.File) {
	h.Helper()
	for _, f := range before {
		if !slices.ContainsFunc(after, func(o krm.File) bool { return o.Path == f.Path }) {
			if err := os.Remove(filepath.Join(h.dir, "web", f.Path)); err != nil {
				h.Fatal(err)
			}
		}
	}
	for _, f := range after {
		if err := os.WriteFile(filepath.Join(h.dir, "web", f.Path), f.Data, 0o600); err != nil {
			h.Fatal(err)
		}
	}
}

func (h *history) commit() {
	h.Helper()
	h.run("git", "add", "--all", "web")
	h.run("git", "commit", "--quiet", "--allow-empty", "--message", "web")
}

func (h *history) run(command string, args ...string) {
	h.Helper()
	cmd := exec.Command(command, args...)
	cmd.Dir = h.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "KPT_CACHE_DIR="+filepath.Join(h.dir, ".kpt"))
	if out, err := cmd.CombinedOutput(); err != nil {
		h.Fatalf("%s %s: %v\n%s\n%s", command, strings.Join(args, " "), err, out, strings.Join(h.told, "\n"))
	}
}

// contents is what a package holds, resource by resource, without what kpt notes
// about where things come from.
func (h *history) contents(p *krm.Package) map[string]any {
	h.Helper()
	out := map[string]any{}
	for _, f := range h.files(p) {
		if base := path.Base(f.Path); base != "Kptfile" && path.Ext(base) != ".yaml" {
			out[f.Path] = string(f.Data)
		}
	}
	for _, r := range p.Resources() {
		var v map[string]any
		if err := r.Node().YNode().Decode(&v); err != nil {
			h.Fatal(err)
		}
		if r.Path() == "Kptfile" {
			delete(v, "upstream")
			delete(v, "upstreamLock")
		}
		if m, ok := v["metadata"].(map[string]any); ok {
			if a, ok := m["annotations"].(map[string]any); ok {
				if delete(a, "internal.kpt.dev/upstream-identifier"); len(a) == 0 {
					delete(m, "annotations")
				}
			}
		}
		out[r.Path()+" "+r.ID().String()] = v
	}
	return out
}
