package histories

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/memory"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	fleets     = 50
	fleetSteps = 8
)

// TestFleets compares the refs of generated fleets, after each of some steps,
// with those on record: a line a fleet, a word a step. What a change of the code
// moves shows here to the hash; -update records it.
func TestFleets(t *testing.T) {
	gittest.RequireGit(t)
	lines := make([]string, fleets)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range fleets {
		dir := scratch(t)
		g.Go(func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("fleet %d: %v", i, p)
				}
			}()
			lines[i] = play(uint64(i), dir)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "fleets.txt")
	have := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(have, "\n")); d != "" {
		t.Errorf("refs of generated fleets (-recorded +now):\n%s", d)
	}
}

// generated is a fleet of many features, and its repositories.
type generated struct {
	*rand.Rand
	dir     string
	ctx     context.Context
	repos   map[string]*repository
	clock   int64
	targets []string // Repositories of clusters, those that are wanted
	gone    []string // Repositories that are not, for now
	pkgs    []*upstreamPackage
	semver  bool // versions as packages' manifests need them
	edits   int
}

// upstreamPackage is one package of the catalogue, and how the fleet uses it.
type upstreamPackage struct {
	name     string
	version  int
	revision int // that the fleet asks for
	// What the package has.
	pipeline               []string
	context, inject, sub   bool
	required               bool
	needs                  string
	extra                  int // a resource that comes with this version and goes with the next but one
	template, target       string
	deletion, labels, tier string
}

// newGenerated creates the fleet of a seed and the first releases of its packages.
func newGenerated(seed uint64, dir string) *generated {
	server := gittest.NewMemory()
	g := &generated{
		Rand: rand.New(rand.NewPCG(seed, 11)), dir: dir, ctx: withServer(context.Background(), server), repos: map[string]*repository{},
	}
	g.repo(server, "catalog")
	for i := range 1 + g.IntN(4) {
		name := fmt.Sprintf("c%d", i+1)
		g.repo(server, name)
		g.targets = append(g.targets, name)
	}
	g.semver = g.IntN(3) == 0
	for i, name := range []string{"app", "db", "net"}[:1+g.IntN(3)] {
		g.pkgs = append(g.pkgs, g.newPackage(name, i))
	}
	for _, p := range g.pkgs {
		g.release(p)
	}
	return g
}

// play runs a fleet's steps and returns a word for the refs after each.
func play(seed uint64, dir string) string {
	g := newGenerated(seed, dir)
	words := []string{fmt.Sprintf("%02d", seed)}
	for step := range fleetSteps {
		command := []string{"apply"}
		if step > 0 {
			command = g.step()
		}
		g.describe()
		status := g.run(command...)
		words = append(words, fmt.Sprintf("%s:%d:%s", command[0], status, digest(g.repos)))
	}
	return strings.Join(words, " ")
}

func (g *generated) repo(server *gittest.Memory, name string) {
	m := server.NewRepo(name)
	r := &repository{name: name, with: func(f func(s storer.Storer)) { m.With(func(s *memory.Storage) { f(s) }) }}
	g.repos[name] = r
	r.set(mainRef, r.make(g.tick(), "start", files{"README.md": r.put("# " + name + "\n")}))
}

func (g *generated) tick() int64 {
	g.clock++
	return g.clock
}

func (g *generated) chance(percent int) bool { return g.IntN(100) < percent }

func one[T any](g *rand.Rand, list ...T) T { return list[g.IntN(len(list))] }

var functions = []string{
	"{image: 'ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2', configMap: {team: blue}}",
	"{image: 'ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4', configMap: {namespace: shop}}",
	"{image: 'ghcr.io/kptdev/krm-functions-catalog/apply-setters:v0.2', configMap: {tier: gold}}",
	"{image: 'ghcr.io/kptdev/krm-functions-catalog/set-annotations:v0.1', configMap: {by: pipeline}}",
}

func (g *generated) newPackage(name string, i int) *upstreamPackage {
	p := &upstreamPackage{
		name: name, context: g.chance(60), inject: g.chance(40), required: g.chance(30), sub: g.chance(25), extra: 2,
		deletion: one(g.Rand, "", "delete", "orphan"), labels: one(g.Rand, "", "one"), tier: "silver",
	}
	for _, f := range functions {
		if g.chance(25) {
			p.pipeline = append(p.pipeline, f)
		}
	}
	p.template = one(g.Rand, "none", "context", "pipeline", "expr")
	p.target = one(g.Rand, "selector", "repositories", "objects", "variant")
	if i > 0 && g.semver {
		g.pkgs[0].needs = name
		p.target = "dependency"
	}
	return p
}

// release commits and tags the next version of a package.
func (g *generated) release(p *upstreamPackage) {
	p.version++
	p.revision = p.version
	r := g.repos["catalog"]
	tip := r.ref(mainRef)
	f := maps.Clone(r.files(tip))
	maps.DeleteFunc(f, func(path string, _ entry) bool { return strings.HasPrefix(path, p.name+"/") })
	for path, text := range p.files() {
		f[p.name+"/"+path] = r.put(text)
	}
	c := r.make(g.tick(), fmt.Sprintf("%s %d", p.name, p.version), f, tip)
	r.set(mainRef, c)
	r.set("refs/tags/"+p.name+"/"+g.tag(p), c)
}

// tag is the name of the version that the fleet asks for.
func (g *generated) tag(p *upstreamPackage) string {
	if g.semver {
		return fmt.Sprintf("v%d.0.0", p.revision)
	}
	return fmt.Sprintf("v%d", p.revision)
}

func (p *upstreamPackage) files() map[string]string {
	out := map[string]string{
		"Kptfile":     "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: " + p.name + "\ninfo:\n  description: A package. # a comment\n",
		"README.md":   fmt.Sprintf("# %s %d\n", p.name, p.version),
		"config.yaml": fmt.Sprintf("# what it runs with\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  level: v%d\n  tier: base # kpt-set: ${tier}\n  fixed: \"1\"\n", p.version),
		"deploy.yaml": fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %s\nspec:\n  replicas: 2\n\n  template:\n    spec:\n      containers:\n        - name: main   # the only one\n          image: example.com/%[1]s:%d.0\n          args: ['--listen', \":8080\"]\n", p.name, p.version),
	}
	if len(p.pipeline) > 0 {
		out["Kptfile"] += "pipeline:\n  mutators:\n"
		for _, f := range p.pipeline {
			out["Kptfile"] += "    - " + f + "\n"
		}
	}
	if p.context {
		out["package-context.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  name: example\n  color: red\n"
	}
	if p.inject {
		mode := map[bool]string{true: "required", false: "optional"}[p.required]
		out["settings.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  annotations:\n    kpt.dev/config-injection: " + mode + "\ndata:\n  size: small\n"
	}
	if p.sub {
		out["sub/Kptfile"] = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n"
		out["sub/config.yaml"] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sub\ndata:\n  level: v%d\n", p.version)
	}
	if p.version >= p.extra && p.version < p.extra+2 {
		out["extra.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extra\ndata:\n  a: b\n"
	}
	if p.needs != "" {
		out["package.yaml"] = manifest(p.name, "\n  requires:\n  - {alias: it, package: "+p.needs+"}")
	}
	return out
}

func manifest(name, spec string) string {
	return "apiVersion: variform.dev/v1alpha1\nkind: PackageManifest\nmetadata:\n  name: " + name + "\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nspec:" + spec + "\n"
}

// describe writes the management directory.
func (g *generated) describe() {
	folder := filepath.Join(g.dir, "fleet")
	must(0, os.RemoveAll(folder))
	must(0, os.MkdirAll(folder, 0o755))
	save := func(name, text string) { must(0, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644)) }
	save("Kptfile", "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: generated\n")
	for _, name := range slices.Concat([]string{"catalog"}, g.targets, g.gone) {
		labels := map[bool]string{true: "{env: prod}", false: "{env: none}"}[slices.Contains(g.targets, name)]
		save("repo-"+name+".yaml", repositoryObject(name, labels, name != "catalog"))
		if slices.Contains(g.targets, name) {
			save("site-"+name+".yaml", fmt.Sprintf("apiVersion: example.com/v1\nkind: Site\nmetadata:\n  name: %s\n  labels: {env: prod}\nspec:\n  size: %s\n", name, g.pkgs[0].tier))
		}
	}
	save("settings.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: loud\ndata:\n  size: "+g.pkgs[0].tier+"\n")
	if g.semver {
		save("catalog.yaml", "apiVersion: variform.dev/v1alpha1\nkind: Catalog\nmetadata:\n  name: main\nspec:\n  sources:\n  - git:\n      repo: http://"+host+"/catalog.git\n")
	}
	for _, p := range g.pkgs {
		if p.target != "dependency" {
			save("want-"+p.name+".yaml", g.want(p))
		}
	}
}

func repositoryObject(name, labels string, deployment bool) string {
	return fmt.Sprintf("apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata:\n  name: %s\n  labels: %s\nspec:\n  type: git\n  deployment: %t\n  git:\n    repo: http://%s/%[1]s.git\n    branch: main\n", name, labels, deployment, host)
}

// want is the set, or the variant, of a package.
func (g *generated) want(p *upstreamPackage) string {
	upstream := fmt.Sprintf("  upstream: {repo: catalog, package: %s, revision: %s}\n", p.name, g.tag(p))
	injectors := "injectors: [{kind: ConfigMap, name: loud}]"
	if p.target == "variant" {
		if len(g.targets) == 0 {
			return "# nothing\n"
		}
		text := "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata:\n  name: " + p.name + "\nspec:\n" + upstream +
			"  downstream: {repo: " + g.targets[0] + ", package: " + p.name + "}\n"
		if p.deletion != "" {
			text += "  deletionPolicy: " + p.deletion + "\n"
		}
		if p.inject {
			text += "  " + injectors + "\n"
		}
		return text
	}
	head := "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata:\n  name: " + p.name + "\nspec:\n" + upstream + "  targets:\n"
	switch p.target {
	case "selector":
		head += "  - repositorySelector: {matchLabels: {env: prod}}\n"
	case "objects":
		head += "  - objectSelector: {apiVersion: example.com/v1, kind: Site, matchLabels: {env: prod}}\n"
	case "repositories":
		head += "  - repositories:\n"
		for i, name := range g.targets {
			head += "    - {name: " + name + ", packageNames: [" + p.name + ", " + fmt.Sprintf("%s-%d", p.name, i) + "]}\n"
		}
		if len(g.targets) == 0 {
			return "# nothing\n"
		}
	}
	return head + "    template:\n" + g.templateOf(p, injectors)
}

func (g *generated) templateOf(p *upstreamPackage, injectors string) string {
	out := ""
	line := func(text string) { out += "      " + text + "\n" }
	if p.deletion != "" {
		line("deletionPolicy: " + p.deletion)
	}
	if p.labels != "" {
		line("labels: {l: " + p.labels + "}")
	}
	if p.target == "objects" {
		line("downstream: {repoExpr: target.name, package: sites/" + p.name + "}")
	}
	if p.inject {
		line(injectors)
	}
	switch p.template {
	case "context":
		if p.context {
			line("packageContext: {data: {tier: " + p.tier + "}, removeKeys: [color]}")
		}
	case "pipeline":
		line("pipeline: {mutators: [{image: 'ghcr.io/kptdev/krm-functions-catalog/set-annotations:v0.1', configMap: {tier: " + p.tier + "}}]}")
	case "expr":
		if p.context {
			line("packageContext: {dataExprs: [{key: where, valueExpr: \"repository.name + '-" + p.tier + "'\"}]}")
		}
		line("annotationExprs: [{key: where, valueExpr: repository.name}]")
	}
	if out == "" {
		line("adoptionPolicy: adoptNone")
	}
	return out
}

// step changes something by other hands, and returns what is run then.
func (g *generated) step() []string {
	p := one(g.Rand, g.pkgs...)
	switch g.IntN(14) {
	case 0, 1, 2:
		g.release(p)
		if g.chance(30) && len(p.pipeline) > 0 {
			p.pipeline = p.pipeline[1:]
		}
	case 3, 4, 5:
		return []string{"approve", "--all", "--accept-lost"}
	case 6:
		return []string{"approve", p.name, "--accept-lost"}
	case 7:
		return []string{one(g.Rand, "propose", "reject"), "--all"}
	case 8:
		g.edit(one(g.Rand, slices.Sorted(maps.Keys(g.repos))...), "refs/heads/drafts/")
	case 9:
		g.edit(one(g.Rand, slices.Sorted(maps.Keys(g.repos))...), mainRef)
	case 10:
		if len(g.targets) > 1 {
			g.gone, g.targets = append(g.gone, g.targets[0]), g.targets[1:]
		}
		return []string{"apply", "--prune"}
	case 11:
		g.targets, g.gone = slices.Concat(g.gone, g.targets), nil
	case 12:
		p.tier = fmt.Sprintf("tier%d", g.tick())
	case 13:
		g.mergeDraft(one(g.Rand, g.repoNames()...))
	}
	return []string{"apply"}
}

func (g *generated) repoNames() []string { return slices.Sorted(maps.Keys(g.repos)) }

// edit is a person's commit on the first branch below a prefix that has a
// package: one value changed.
func (g *generated) edit(repo, prefix string) {
	r := g.repos[repo]
	if repo == "catalog" {
		return
	}
	refs := r.refs()
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if !strings.HasPrefix(ref, prefix) {
			continue
		}
		f := maps.Clone(r.files(refs[ref]))
		for _, path := range slices.Sorted(maps.Keys(f)) {
			if !strings.HasSuffix(path, "/deploy.yaml") {
				continue
			}
			g.edits++
			f[path] = r.put(strings.Replace(r.text(f, path), "replicas: 2", fmt.Sprintf("replicas: %d", 10+g.edits), 1))
			r.set(ref, r.make(g.tick(), "edit", f, refs[ref]))
			return
		}
	}
}

// mergeDraft merges the first Draft as a forge does, by a commit of two parents.
func (g *generated) mergeDraft(repo string) {
	r := g.repos[repo]
	refs := r.refs()
	for _, ref := range slices.Sorted(maps.Keys(refs)) {
		if !strings.HasPrefix(ref, "refs/heads/drafts/") {
			continue
		}
		main, tip := refs[mainRef], refs[ref]
		if f, ok := merged(r.files(r.base(main, tip)), r.files(main), r.files(tip)); ok {
			r.set(mainRef, r.make(g.tick(), "Merge "+ref, f, main, tip))
		}
		return
	}
}

// run runs the command line in this process.
func (g *generated) run(args ...string) int {
	var out, errs bytes.Buffer
	return cli.Main(g.ctx, append(args, "-f", filepath.Join(g.dir, "fleet"), "--cache-dir", filepath.Join(g.dir, "cache")),
		cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, State: filepath.Join(g.dir, "state")})
}
