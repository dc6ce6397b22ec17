package render

import (
	"context"
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
)

// TestKptGenerated renders generated packages with kpt, and with each runtime of
// ours: trees, success and results are the same. Packages are made from their
// number: a failure names the one to run again.
func TestKptGenerated(t *testing.T) {
	kpt := needKpt(t)
	count := 40
	if os.Getenv("CI") != "" {
		count = 200
	}
	for i := range count {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			p := pkg(t, generated(uint64(i)))
			sameAsKpt(t, p)
			mapped := withExec(t, p)
			dir, out := t.TempDir(), t.TempDir()
			save(t, mapped, dir)
			cmd := exec.Command(kpt, "fn", "render", dir, "--allow-exec", "--results-dir", out)
			cmd.Env = append(os.Environ(), "KPT_DISABLE_ATTRIBUTION=true")
			_ = cmd.Run() // sameAsKpt has compared how it ended
			text, err := os.ReadFile(filepath.Join(out, "results.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			viaExec, err := New(Options{AllowExec: true, NoContainers: true}).Render(context.Background(), mapped)
			if err != nil {
				return // kpt leaves out a function whose answer it refuses
			}
			list, err := viaExec.ResultList()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(saidIn(t, text), saidIn(t, list)); diff != "" {
				t.Errorf("results (-kpt +ours):\n%s", diff)
			}
		})
	}
}

// resultsSaid is what a list of results tells a person.
type resultsSaid struct {
	ExitCode int `yaml:"exitCode"`
	Items    []struct {
		ExitCode int      `yaml:"exitCode"`
		Results  []result `yaml:"results"`
	} `yaml:"items"`
}

type result struct {
	Message  string `yaml:"message"`
	Severity string `yaml:"severity"`
}

func saidIn(t testing.TB, text []byte) (s resultsSaid) {
	t.Helper()
	if err := yaml.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for _, item := range s.Items { // their order follows that of the resources
		slices.SortFunc(item.Results, func(a, b result) int { return strings.Compare(a.Severity+a.Message, b.Severity+b.Message) })
	}
	return s
}

// generator makes packages.
type generator struct {
	*rand.Rand
	files map[string]string
	n     int
	made  bool // one pipeline generates a resource of a fixed name
}

func generated(seed uint64) map[string]string {
	g := &generator{rand.New(rand.NewPCG(seed, 7)), map[string]string{}, 0, false}
	dirs := []string{""}
	for range g.IntN(4) {
		dirs = append(dirs, path.Join(dirs[g.IntN(len(dirs))], g.name("sub")))
	}
	for _, dir := range dirs {
		for range 1 + g.IntN(3) {
			g.resources(dir)
		}
	}
	for _, dir := range dirs {
		g.kptfile(dir)
	}
	return g.files
}

func (g *generator) name(prefix string) string {
	g.n++
	return fmt.Sprintf("%s%d", prefix, g.n)
}

func (g *generator) pick(of ...string) string { return of[g.IntN(len(of))] }

var generatedKinds = map[string]string{
	"ConfigMap":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %[1]s\n  namespace: old\n  labels: {tier: %[2]s}\ndata:\n  key: value-%[1]s # kpt-set: value-${color}\n",
	"Deployment": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: %[1]s\n  namespace: old\n  annotations: {team: %[2]s}\nspec:\n  replicas: 1 # kpt-set: ${replicas}\n  selector:\n    matchLabels: {app: %[1]s}\n  template:\n    metadata:\n      labels: {app: %[1]s}\n    spec:\n      containers:\n      - name: main\n        image: nginx:1.0\n",
	"Service":    "apiVersion: v1\nkind: Service\nmetadata:\n  name: %[1]s\nspec:\n  selector: {app: %[1]s, tier: %[2]s}\n",
	"Thing":      "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: %[1]s\nspec: {size: %[2]s, list: [1, 2]}\n",
}

func (g *generator) resources(dir string) {
	file := path.Join(dir, g.pick("", "", "folder", ".dot"), g.name("file")+g.pick(".yaml", ".yml"))
	var docs []string
	for range 1 + g.IntN(3) {
		docs = append(docs, fmt.Sprintf(generatedKinds[g.pick("ConfigMap", "Deployment", "Service", "Thing")], g.name("r"), g.pick("web", "db")))
	}
	g.files[file] = strings.Join(docs, "---\n")
}

// generatedMutators are entries of a pipeline; %s is a name of its own. None changes its
// own entry, which the installed kpt would write and we keep (TestOwnConfiguration): what
// search-replace looks for is no text of its own configuration.
var generatedMutators = []string{
	"  - image: set-namespace:v0.4\n    configMap: {namespace: ns-%s}\n",
	"  - image: set-labels:v0.2\n    configMap: {made-by: %s}\n",
	"  - image: set-annotations:v0.1\n    configMap: {note: %s}\n",
	"  - image: apply-setters:v0.2\n    configMap: {color: %s, replicas: '3'}\n",
	"  - image: search-replace:v0.2\n    configMap: {by-value-regex: '^w[e]b$', put-value: %s}\n",
	"  - image: ensure-name-substring:v0.2\n    configMap: {prepend: %s-}\n",
	"  - image: ghcr.io/variform/generate:v1\n",
	"  - image: ghcr.io/variform/note:v1\n    configMap: {by: %s}\n",
}

// scripts of pipelines: they add, move, drop, change, and fail.
var generatedScripts = []string{
	`items.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "annotations": {NOW: PLACE}}})`,
	`items.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "namespace": "made"}})`,
	`items.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME, "annotations": {OLDER: PLACE}}})`,
	"for r in items:\n  if r['kind'] == 'Thing':\n    r['metadata']['annotations'][NOW] = NAME + '-' + r['metadata']['name'] + '.yaml'",
	"for r in items:\n  if r['kind'] == 'Service':\n    r['metadata']['annotations'][OLDER] = NAME + '-' + r['metadata']['name'] + '.yaml'",
	`ctx.resource_list["items"] = [r for r in items if r["kind"] != "Service"]`,
	"for r in items:\n  if r['kind'] == 'Deployment':\n    r['spec']['replicas'] += 1",
	`fail("no " + NAME)`,
	`print("said " + NAME)`,
}

func (g *generator) kptfile(dir string) {
	lists := map[string]string{}
	for _, list := range []string{"mutators", "mutators", "mutators", "validators"} {
		if g.IntN(3) > 0 {
			lists[list] += g.function(dir)
		}
	}
	text := ""
	for _, list := range []string{"mutators", "validators"} {
		if lists[list] != "" {
			text += "  " + list + ":\n" + lists[list]
		}
	}
	if text != "" {
		text = "pipeline:\n" + text
	}
	g.files[path.Join(dir, "Kptfile")] = kptfileOf(g.name("pkg"), text)
	if g.IntN(4) == 0 {
		g.files[path.Join(dir, ".krmignore")] = "folder\n"
	}
}

func (g *generator) function(dir string) string {
	entry := g.pick(generatedMutators...)
	switch {
	case strings.Contains(entry, "/generate:") && g.made:
		entry = fmt.Sprintf(generatedMutators[1], g.name("v")) // kpt refuses a second one of that place
	case strings.Contains(entry, "/generate:"):
		g.made = true
	case strings.Contains(entry, "%s"):
		entry = fmt.Sprintf(entry, g.name("v"))
	}
	if g.IntN(3) == 0 {
		entry = g.script(dir)
	}
	for _, list := range []string{"selectors", "exclude"} {
		if g.IntN(4) == 0 {
			by := g.pick("kind: ConfigMap", "kind: Deployment", "namespace: old", "labels: {tier: web}", "apiVersion: v1", "annotations: {team: db}", "name: r3", "kind: Kptfile")
			if strings.Contains(entry, "search-replace:") {
				by = strings.ReplaceAll(by, "web", "db") // it would replace the text in its own entry
			}
			entry += "    " + list + ":\n    - " + by + "\n"
		}
	}
	return entry
}

func (g *generator) script(dir string) string {
	source := g.pick(generatedScripts...)
	if strings.HasPrefix(source, "fail") && g.IntN(2) == 0 {
		source = generatedScripts[0]
	}
	name := g.name("run")
	lines := fmt.Sprintf("NAME = %q\nPLACE = %q\nNOW = %q\nOLDER = %q\nitems = ctx.resource_list['items']\n%s", name, g.pick(name+".yaml", "./"+name+".yaml", "a//"+name+".yaml", "/"+name+".yaml"), nowPath, olderPath, source)
	g.files[path.Join(dir, name+".yaml")] = "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: " + name + "\nsource: |\n  " + strings.ReplaceAll(lines, "\n", "\n  ") + "\n"
	return "  - image: starlark:v0.5\n    configPath: " + name + ".yaml\n"
}
