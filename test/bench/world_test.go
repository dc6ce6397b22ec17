package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/variform/variform/internal/cli"
	"github.com/variform/variform/internal/gittest"
)

// scenario is what a fleet looks like.
type scenario struct {
	variants int
	http     bool // behind a Git server, else local paths
	render   bool // a pipeline that changes every resource
}

func (s scenario) String() string {
	kind := "path"
	if s.http {
		kind = "http"
	}
	if s.render {
		kind += "-rendered"
	}
	return fmt.Sprintf("%s/%d", kind, s.variants)
}

// world is a catalogue, one repository for all variants and a management
// directory that wants a variant of the package for each of its clusters.
type world struct {
	dir, cache     string
	catalog, fleet *gittest.Repo
	fleetURL       string
	srv            *gittest.Server // nil for paths
}

func newWorld(b testing.TB, s scenario) *world {
	b.Helper()
	gittest.RequireGit(b)
	w := &world{dir: filepath.Join(b.TempDir(), "management"), cache: b.TempDir()}
	if s.http {
		srv := gittest.NewServer(b)
		w.srv = srv
		w.catalog, w.fleet = srv.NewRepo(b, "catalog"), srv.NewRepo(b, "fleet")
		w.write(b, "catalog.yaml", fmt.Sprintf(repository, "catalog", false, srv.RepoURL("catalog")))
		w.fleetURL = srv.RepoURL("fleet")
	} else {
		w.catalog, w.fleet = gittest.NewRepo(b), gittest.NewRepo(b)
		w.write(b, "catalog.yaml", fmt.Sprintf(repository, "catalog", false, w.catalog.Dir))
		w.fleetURL = w.fleet.Dir
	}
	w.write(b, "fleet.yaml", fmt.Sprintf(repository, "fleet", true, w.fleetURL))
	w.catalog.Tag(b, "app/v1", w.catalog.Commit(b, "main", "app v1", catalogPackage("v1.0.0", s.render)))
	w.fleet.Commit(b, "main", "start", gittest.Text{"README.md": "# fleet\n"})
	w.want(b, "v1")
	for i := range regions {
		w.write(b, fmt.Sprintf("regions/region-%d.yaml", i), fmt.Sprintf(region, i))
	}
	for i := range s.variants {
		w.write(b, fmt.Sprintf("clusters/cluster-%05d.yaml", i), fmt.Sprintf(cluster, i, i%regions))
	}
	return w
}

// publish makes v2 of the package, which changes the image of eight files, and
// makes the set want it.
func (w *world) publish(b testing.TB, s scenario) {
	b.Helper()
	w.catalog.Tag(b, "app/v2", w.catalog.Commit(b, "main", "app v2", catalogPackage("v2.0.0", s.render)))
	w.want(b, "v2")
}

func (w *world) want(b testing.TB, revision string) {
	w.write(b, "set.yaml", fmt.Sprintf(set, revision))
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
	if status := cli.Main(context.Background(), w.args(command...), cli.Streams{In: &bytes.Buffer{}, Out: &out, Err: &errs}); status != 0 {
		b.Fatalf("variform %s ended with status %d\n%s\n%s", command[0], status, out.String(), errs.String())
	}
	return out.String()
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
