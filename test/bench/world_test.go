package bench

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/test/gittest"
)

// scenario is what a fleet looks like. Its variants are packages of one repository, or
// of several evenly.
type scenario struct {
	variants     int
	repositories int           // 0 is one
	http         bool          // behind a Git server, else local paths
	delay        time.Duration // of each answer of the Git server
	render       bool          // a pipeline that changes every resource
	files        int           // of the package; 0 is packageFiles
	fileBytes    int           // that each of its manifests has at least; 0 is as people write them
	edited       float64       // the share of variants whose first Drafts people edit
	elsewhere    bool          // measured with a server elsewhere, too
	needs        []dependency  // the package that is wanted instead, and those below it
}

func (s scenario) String() string {
	kind := "path"
	if s.http {
		kind = "http"
	}
	if s.render {
		kind += "-rendered"
	}
	name := fmt.Sprintf("%s/%d", kind, s.variants)
	if s.repositories > 0 {
		name += fmt.Sprintf("/over-%d", s.repositories)
	}
	if s.delay > 0 {
		name += "/" + s.delay.String()
	}
	if s.elsewhere {
		name += "/elsewhere"
	}
	return name
}

// world is a catalogue, the repositories of a fleet and a management directory that
// wants a variant of the package for each of its clusters.
type world struct {
	dir, cache string
	catalog    *gittest.Repo
	fleet      *gittest.Repo   // the first of fleets
	fleets     []*gittest.Repo // that variants go to
	fleetURL   string
	line       *line           // to srv
	srv        *gittest.Server // nil for paths
}

func newWorld(b testing.TB, s scenario) *world {
	b.Helper()
	gittest.RequireGit(b)
	w := &world{dir: filepath.Join(b.TempDir(), "management"), cache: b.TempDir()}
	newRepo := func(string) *gittest.Repo { return gittest.NewRepo(b) }
	if s.http {
		w.srv = gittest.NewServer(b)
		w.line = newLine(b, w.srv, s.delay)
		newRepo = func(name string) *gittest.Repo { return w.srv.NewRepo(b, name) }
	}
	w.catalog = newRepo("catalog")
	w.write(b, "catalog.yaml", fmt.Sprintf(repository, "catalog", false, w.url(w.catalog)))
	names := []string{"fleet"}
	if s.repositories > 0 {
		names = nil
		for i := range s.repositories {
			names = append(names, fleetName(i))
		}
	}
	w.fleet = newRepo(names[0])
	w.fleetURL = w.url(w.fleet)
	w.fleet.Git(b, "config", "uploadpack.allowFilter", "true") // as forges do
	w.fleet.Commit(b, "main", "start", gittest.Text{"README.md": "# fleet\n"})
	if err := os.RemoveAll(filepath.Join(w.fleet.Dir, "hooks")); err != nil { // samples, to be copied with the rest
		b.Fatal(err)
	}
	for i, name := range names {
		r := w.fleet
		if i > 0 {
			r = newRepoLike(b, w.fleet, name)
		}
		w.fleets = append(w.fleets, r)
		text := fmt.Sprintf(repository, name, true, w.url(r))
		if s.needs != nil {
			text = strings.Replace(text, "  name: fleet\n", "  name: fleet\n  annotations: {variform.dev/targets: \"clusters/*\"}\n", 1)
		}
		w.write(b, "repositories/"+name+".yaml", text)
	}
	if s.needs != nil {
		w.publishAll(b, s.needs)
	} else {
		w.publishApp(b, s, "v1")
	}
	for i := range regions {
		w.write(b, fmt.Sprintf("regions/region-%d.yaml", i), fmt.Sprintf(region, i))
	}
	for i := range s.variants {
		text := fmt.Sprintf(cluster, i, i%regions)
		if s.repositories > 0 {
			text = strings.Replace(text, "    env: prod\n", "    env: prod\n    repository: "+fleetName(i%s.repositories)+"\n", 1)
		}
		w.write(b, fmt.Sprintf("clusters/cluster-%05d.yaml", i), text)
	}
	return w
}

func fleetName(i int) string { return fmt.Sprintf("fleet-%05d", i) }

// newRepoLike copies a repository to a sibling of it: a thousand are made quickly so.
func newRepoLike(b testing.TB, r *gittest.Repo, name string) *gittest.Repo {
	b.Helper()
	dir := filepath.Join(filepath.Dir(r.Dir), name+".git")
	if err := os.CopyFS(dir, os.DirFS(r.Dir)); err != nil {
		b.Fatal(err)
	}
	return &gittest.Repo{Dir: dir}
}

// url is the address of a repository, its path where there is no server.
func (w *world) url(r *gittest.Repo) string {
	if w.line == nil {
		return r.Dir
	}
	return w.line.url + "/" + filepath.Base(r.Dir)
}

// publish makes v2 of the package, which changes the image of eight files, and
// makes the set want it.
func (w *world) publish(b testing.TB, s scenario) {
	b.Helper()
	w.publishApp(b, s, "v2")
}

func (w *world) publishApp(b testing.TB, s scenario, revision string) {
	b.Helper()
	w.catalog.Tag(b, "app/"+revision, w.catalog.Commit(b, "main", "app "+revision, s.catalogPackage(revision+".0.0")))
	w.want(b, revision)
}

// want makes the set want a revision of the package.
func (w *world) want(b testing.TB, revision string) {
	text := fmt.Sprintf(set, revision)
	if len(w.fleets) > 1 {
		text = strings.Replace(text, "repo: fleet", "repoExpr: target.labels['repository']", 1)
	}
	w.write(b, "set.yaml", text)
}

// editDrafts changes a line of the Drafts of some variants, each in a way of its own, as
// people do.
func (w *world) editDrafts(b testing.TB, s scenario) {
	b.Helper()
	const file = "part-05.yaml"
	edits := 0
	branches := make([][]string, len(w.fleets))
	for i := range s.variants {
		if int(float64(i+1)*s.edited) == edits {
			continue
		}
		edits++
		at, pkg := i%len(w.fleets), variantName(i)
		if branches[at] == nil {
			branches[at] = slices.Collect(maps.Keys(w.fleets[at].Refs(b)))
		}
		draft := slices.IndexFunc(branches[at], func(ref string) bool { return strings.HasPrefix(ref, "refs/heads/drafts/"+pkg+"/") })
		if draft < 0 {
			b.Fatalf("%s has no Draft to edit", pkg)
		}
		branch := strings.TrimPrefix(branches[at][draft], "refs/heads/")
		text := w.fleets[at].Show(b, branch, pkg+"/"+file)
		edited := strings.Replace(text, "workers", fmt.Sprintf("helpers-%d", i), 1)
		if edited == text {
			b.Fatalf("%s of %s has nothing to edit:\n%s", file, branch, text)
		}
		w.fleets[at].Commit(b, branch, "by hand", gittest.Text{pkg + "/" + file: edited})
	}
}

// eachDraft calls do with each Draft's branch and its package.
func (w *world) eachDraft(b testing.TB, do func(branch, pkg string)) {
	b.Helper()
	for _, ref := range slices.Sorted(maps.Keys(w.drafts(b))) {
		if branch, is := strings.CutPrefix(ref, "refs/heads/"); is && strings.HasPrefix(branch, "drafts/") {
			do(branch, strings.Split(branch, "/")[1])
		}
	}
}

// squash brings all Drafts to the registered branch in one commit, as people do with a
// request of their own.
func (w *world) squash(b testing.TB) {
	b.Helper()
	squashed := gittest.Text{}
	w.eachDraft(b, func(branch, pkg string) {
		for _, file := range strings.Fields(w.fleet.Git(b, "ls-tree", "-r", "--name-only", branch, pkg)) {
			squashed[file] = w.fleet.Git(b, "show", branch+":"+file) + "\n"
		}
	})
	w.fleet.Commit(b, "main", "squashed", squashed)
}

func (w *world) write(b testing.TB, name, content string) {
	b.Helper()
	file := filepath.Join(w.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

// applyArgs is the command that is measured.
func (w *world) applyArgs() []string { return w.args("apply") }

func (w *world) args(command ...string) []string {
	if command[0] == "approve" && !slices.Contains(command, "--main") {
		command = append(command, "--accept-edits")
	}
	return append(command, "--quiet", "-f", w.dir, "--cache-dir", w.cache)
}

// apply runs the whole command in this process, with nothing kept from the run
// before but the cache folder.
func (w *world) apply(b testing.TB) (output string) {
	b.Helper()
	return w.run(b, "apply")
}

func (w *world) run(b testing.TB, command ...string) (output string) {
	b.Helper()
	var out, errs bytes.Buffer
	if status := cli.Main(context.Background(), w.args(command...), cli.Streams{In: &bytes.Buffer{}, Out: &out, Err: &errs, State: cli.StateDir()}); status != 0 {
		b.Fatalf("variform %s ended with status %d\n%s\n%s", command[0], status, out.String(), errs.String())
	}
	return out.String()
}

// requestsAnew is run on a machine that has read nothing, and how many requests it made.
func (w *world) requestsAnew(b testing.TB, command ...string) int {
	b.Helper()
	w.cache = b.TempDir()
	w.line.forget()
	w.run(b, command...)
	return w.line.requests()
}

// timed is run, and how long it took.
func (w *world) timed(b testing.TB, command ...string) time.Duration {
	b.Helper()
	start := time.Now()
	w.run(b, command...)
	return time.Since(start)
}

// drafts counts the Draft branches, so that no run measures a failure.
func (w *world) drafts(b testing.TB) map[string]string {
	b.Helper()
	refs := w.fleet.Refs(b)
	delete(refs, "refs/heads/main")
	return refs
}

const regions = 5

const repository = `apiVersion: config.porch.kpt.dev/v1alpha1
kind: Repository
metadata:
  name: %s
spec:
  type: git
  deployment: %t
  git:
    repo: %s
    branch: main
`

// set has the five expressions of the expansion benchmark's kind: a package, a
// label, a context value, an injector's name, and the repository left plain.
const set = `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata:
  name: apps
spec:
  upstream: {repo: catalog, package: app, revision: %s}
  targets:
    - objectSelector:
        apiVersion: platform.example.com/v1
        kind: Cluster
        matchLabels: {env: prod}
      template:
        downstream:
          repo: fleet
          packageExpr: "target.name + '-app'"
        labelExprs:
          - key: region
            valueExpr: target.labels['region']
        packageContext:
          dataExprs:
            - key: cluster
              valueExpr: target.name
        injectors:
          - kind: ConfigMap
            nameExpr: target.labels['region'] + '-settings'
`

const region = `apiVersion: v1
kind: ConfigMap
metadata:
  name: region-%[1]d-settings
data:
  endpoint: https://region-%[1]d.example.com
`

const cluster = `apiVersion: platform.example.com/v1
kind: Cluster
metadata:
  name: cluster-%05d
  labels:
    env: prod
    region: region-%d
spec:
  zones: [a, b]
`
