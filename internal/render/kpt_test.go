package render

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/catalogfn"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

func needKpt(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short leaves out the comparison with real kpt")
	}
	kpt, err := exec.LookPath("kpt")
	if err != nil {
		t.Skip("SKIPPED: kpt is not on the PATH, the comparison with real `kpt fn render` did not run")
	}
	return kpt
}

// kptRender renders a directory in place with real kpt.
func kptRender(t testing.TB, kpt, dir string) error {
	t.Helper()
	cmd := exec.Command(kpt, "fn", "render", dir, "--allow-exec")
	cmd.Env = append(os.Environ(), "KPT_DISABLE_ATTRIBUTION=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// trees are the documents of all YAML and JSON files, parsed.
func trees(t testing.TB, p *krm.Package) map[string][]any {
	t.Helper()
	out := map[string][]any{}
	for name, data := range contents(t, p) {
		if ext := filepath.Ext(name); ext != ".yaml" && ext != ".yml" && ext != ".json" && filepath.Base(name) != "Kptfile" {
			continue
		}
		d := yaml.NewDecoder(strings.NewReader(data))
		for {
			var v any
			err := d.Decode(&v)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, data)
			}
			if v != nil {
				out[name] = append(out[name], v)
			}
		}
	}
	return out
}

var imageLine = regexp.MustCompile(`(?m)^(\s*-?\s*)image: (?:ghcr\.io/kptdev/krm-functions-catalog/|gcr\.io/kpt-fn/|ghcr\.io/variform/)?([a-z-]+):\S+$`)

// withExec maps the catalogue's images of all Kptfiles to the test binary.
func withExec(t testing.TB, p *krm.Package) *krm.Package {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p = p.Clone()
	for _, name := range p.Paths() {
		if filepath.Base(name) != "Kptfile" {
			continue
		}
		f, _ := p.Read(name)
		f.Data = imageLine.ReplaceAll(f.Data, fmt.Appendf(nil, "${1}exec: %s %s ${2}", self, runFunction))
		p.Write(f)
	}
	return p
}

// withoutUnknown drops validators that are not built in (kubeconform).
func withoutUnknown(t testing.TB, p *krm.Package) *krm.Package {
	t.Helper()
	p = p.Clone()
	for _, r := range p.Resources() {
		if r.Kind() != "Kptfile" {
			continue
		}
		for _, list := range []string{"mutators", "validators"} {
			seq, err := r.Node().Pipe(yaml.Lookup("pipeline", list))
			if err != nil || seq == nil {
				continue
			}
			keep := &yaml.Node{Kind: yaml.SequenceNode}
			for _, e := range seq.Content() {
				ref, err := parseImage(yamltree.Child(e, "image").Value)
				if err != nil {
					t.Fatal(err)
				}
				name := ref.repository[strings.LastIndexByte(ref.repository, '/')+1:]
				if _, ok := catalogfn.Lookup(name); ok {
					keep.Content = append(keep.Content, e)
				}
			}
			if len(keep.Content) == len(seq.Content()) {
				continue
			}
			pipeline := yamltree.Child(r.Edit().YNode(), "pipeline")
			yamltree.Set(pipeline, nil, list, yaml.CopyYNode(keep))
			if len(keep.Content) == 0 {
				yamltree.Remove(pipeline, list)
			}
		}
	}
	out, err := krm.Parse(mustFiles(t, p))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func mustFiles(t testing.TB, p *krm.Package) []krm.File {
	t.Helper()
	files, err := p.Files()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sharedPackages lists the directories of real packages.
func sharedPackages(t testing.TB) []string {
	t.Helper()
	shared := os.Getenv("SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	found, _ := filepath.Glob(filepath.Join(shared, "packages", "*", "Kptfile"))
	if len(found) == 0 {
		t.Skipf("SKIPPED: no packages in %s; set SHARED to compare real ones", filepath.Join(shared, "packages"))
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

// ignorePipelines leaves out what differs on purpose: the functions' names.
func ignorePipelines(trees map[string][]any) map[string][]any {
	for name, docs := range trees {
		if filepath.Base(name) != "Kptfile" {
			continue
		}
		for _, d := range docs {
			delete(d.(map[string]any), "pipeline")
		}
	}
	return trees
}

// withoutOwn makes kpt leave out of a function's items the resource that its configPath
// names, as newer kpt (kpt #4673) and we do, and the installed one does not: each entry
// with a configPath excludes that resource. Nothing else of the package changes.
func withoutOwn(t testing.TB, p *krm.Package) *krm.Package {
	t.Helper()
	p = p.Clone()
	byPath := map[string]*krm.Resource{}
	for _, r := range p.Resources() {
		byPath[r.Path()] = r
	}
	for _, r := range p.Resources() {
		if r.Kind() != "Kptfile" {
			continue
		}
		for _, list := range []string{"mutators", "validators"} {
			for i, e := range yamltree.Items(r.Node().YNode(), "pipeline", list) {
				own := byPath[path.Join(path.Dir(r.Path()), yamltree.Text(e, "configPath"))]
				if own == nil || own == r {
					continue
				}
				e = yamltree.Items(r.Edit().YNode(), "pipeline", list)[i]
				exclude := yamltree.Child(e, "exclude")
				if exclude == nil {
					exclude = yamltree.Seq()
					yamltree.Set(e, nil, "exclude", exclude)
				}
				var selector yaml.Node
				if err := selector.Encode(map[string]string{"apiVersion": own.APIVersion(), "kind": own.Kind(), "name": own.Name()}); err != nil {
					t.Fatal(err)
				}
				exclude.Content = append(exclude.Content, &selector)
			}
		}
	}
	return p
}

// sameAsKpt renders a package with kpt, with our builtins and with our exec
// runtime, and compares documents. It returns what kpt made, nil where all fail.
func sameAsKpt(t *testing.T, p *krm.Package) *krm.Package {
	t.Helper()
	return sameAsKptBut(t, p, nil)
}

// sameAsKptBut expects of us all that kpt makes, and some files more.
func sameAsKptBut(t *testing.T, p *krm.Package, more map[string]string) *krm.Package {
	t.Helper()
	kpt := needKpt(t)
	mapped := withExec(t, p)
	dir := t.TempDir()
	save(t, withoutOwn(t, mapped), dir)
	kptErr := kptRender(t, kpt, dir)

	ours, err := New(testOptions()).Render(context.Background(), p)
	if (err != nil) != (kptErr != nil) {
		t.Fatalf("kpt: %v\nours: %v", kptErr, err)
	}
	viaExec, execErr := New(Options{AllowExec: true, NoContainers: true}).Render(context.Background(), mapped)
	if (execErr != nil) != (kptErr != nil) {
		t.Fatalf("kpt: %v\nours by exec: %v", kptErr, execErr)
	}
	if kptErr != nil {
		return nil
	}
	byKpt := load(t, dir)
	want := ignorePipelines(trees(t, byKpt))
	if len(more) > 0 {
		maps.Copy(want, trees(t, pkg(t, more)))
	}
	if diff := cmp.Diff(want, ignorePipelines(trees(t, ours.Package))); diff != "" {
		t.Errorf("builtin (-kpt +ours):\n%s", diff)
	}
	if diff := cmp.Diff(want, ignorePipelines(trees(t, viaExec.Package))); diff != "" {
		t.Errorf("exec (-kpt +ours):\n%s", diff)
	}
	return byKpt
}

func TestKptSharedPackages(t *testing.T) {
	for _, dir := range sharedPackages(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			sameAsKpt(t, withoutUnknown(t, load(t, dir)))
		})
	}
}

// TestKptSemantics compares what a pipeline does with selection, placement,
// deletion, configuration, ignored files and failures.
func TestKptSemantics(t *testing.T) {
	image := func(name string) string { return "  - image: " + own(name) + "\n" }
	cases := map[string]map[string]string{
		"Selectors": {
			"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n"+
				image("note")+"    configMap: {k: v}\n    selectors:\n    - kind: ConfigMap\n      name: a\n    - apiVersion: apps/v1\n"+
				image("note")+"    configMap: {x: y}\n    exclude:\n    - name: b\n    - labels: {tier: db}\n"),
			"a.yaml": configMap("a"), "b.yaml": configMap("b"), "c.yaml": fmt.Sprintf(deployment, 1), "d.yaml": configMap("d", "  labels: {tier: db}\n"),
		},
		"GenerateAndDrop": {
			"Kptfile":      kptfileOf("root", "pipeline:\n  mutators:\n"+image("note")+"    configMap: {k: v}\n"),
			"sub/Kptfile":  kptfileOf("sub", "pipeline:\n  mutators:\n"+image("generate")+image("drop")),
			"sub/one.yaml": configMap("drop-one"), "sub/both.yaml": configMap("drop-two") + "---\n" + configMap("keep"),
		},
		"GenerateSelected": {
			"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n"+image("drop")+"    selectors: [{name: drop-a}]\n"+image("generate")+"    selectors: [{name: a}]\n"+image("note")+"    configMap: {k: v}\n"),
			"a.yaml":  configMap("a"), "drop.yaml": configMap("drop-a") + "---\n" + configMap("drop-b"),
		},
		"Ignore": {
			"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n"+image("note")+"    configMap: {k: v}\n"), ".krmignore": "skipped.yaml\nfolder\n",
			"skipped.yaml": configMap("skipped"), "folder/x.yaml": configMap("x"), "other/skipped.yaml": configMap("also"), "seen.yaml": configMap("seen"),
			"sub/Kptfile": kptfileOf("sub", ""), "sub/skipped.yaml": configMap("subs"),
		},
		"JSON": {
			"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n"+image("note")+"    configMap: {k: 'yes'}\n    selectors: [{kind: ConfigMap}]\n"+image("drop")+image("generate-json")),
			"a.json":  `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"b": "<1>"}}`,
			"b.json":  "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"Secret\",\n  \"metadata\": {\"name\": \"b\"}\n}\n",
			"c.json":  `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "drop-c"}}`, "d.yaml": configMap("d"),
		},
		"JSONConfig": {
			"Kptfile":  kptfileOf("root", "pipeline:\n  mutators:\n"+image("note")+"    configPath: cfg.json\n"),
			"cfg.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cfg"}, "data": {"k": "v"}}`, "a.yaml": configMap("a"),
		},
		"ValidatorFails": {
			"Kptfile": kptfileOf("root", "pipeline:\n  validators:\n"+image("fail")), "a.yaml": configMap("a"),
		},
		"ValidatorChanges": {
			"Kptfile": kptfileOf("root", "pipeline:\n  validators:\n"+image("note")+"    configMap: {k: v}\n"+image("warn")), "a.yaml": configMap("a"),
		},
		"ConfigPath": {
			"Kptfile":      kptfileOf("root", "pipeline:\n  mutators:\n  - image: set-annotations:v0.1\n    configMap: {first: 'yes'}\n"+image("note")+"    configPath: dir/cfg.yaml\n"),
			"dir/cfg.yaml": configMap("cfg", "data: {k: v}\n"), "a.yaml": configMap("a"),
		},
		"Nested": {
			"Kptfile":   kptfileOf("root", "pipeline:\n  mutators:\n"+image("note")+"    configMap: {last: root}\n"),
			"b/Kptfile": kptfileOf("b", "pipeline:\n  mutators:\n"+image("note")+"    configMap: {last: b, b: 'yes'}\n"), "b/x.yaml": configMap("bx"),
			"b/c/d/Kptfile": kptfileOf("d", "pipeline:\n  mutators:\n"+image("note")+"    configMap: {last: d, d: 'yes'}\n"), "b/c/d/x.yaml": configMap("dx"), "b/c/y.yaml": configMap("cy"),
		},
		"Nameless":      {"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n"+image("warn")), "l.yaml": "apiVersion: v1\nkind: List\nitems: []\n"},
		"Kustomization": {"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n"+image("warn")), "kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n"},
		"Upsert": {
			"Kptfile":      kptfileOf("root", ""),
			"sub/Kptfile":  kptfileOf("sub", "pipeline:\n  mutators:\n  - image: upsert-resource:v0.2\n    configPath: up.yaml\n"),
			"sub/up.yaml":  "apiVersion: v1\nkind: List\nmetadata:\n  name: up\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: fresh\n    namespace: there\n  data: {a: b}\n",
			"sub/two.yaml": configMap("two"),
		},
		"UpsertItself": {
			"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - image: upsert-resource:v0.2\n    configPath: up.yaml\n"),
			"up.yaml": configMap("fresh", "data: {a: b}\n"),
		},
		"Starlark": {
			"Kptfile": kptfileOf("root", "pipeline:\n  mutators:\n  - image: starlark:v0.5\n    configPath: star.yaml\n"),
			"star.yaml": "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: s\nsource: |\n  items = ctx.resource_list[\"items\"]\n" +
				"  for r in items:\n    r[\"metadata\"][\"annotations\"][\"seen\"] = str(len(items))\n" +
				"  ctx.resource_list[\"items\"] = [r for r in items if r[\"metadata\"][\"name\"] != \"b\"] + [{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"new\"}}]\n",
			"a.yaml": configMap("a"), "b.yaml": configMap("b"), "w.yaml": fmt.Sprintf(deployment, 1),
		},
	}
	// The function does not see its configuration, so it finds nothing to replace and
	// adds the resource. The installed kpt loses what is added: it carries the id of
	// the configuration, which the call left out.
	more := map[string]map[string]string{"UpsertItself": {"configmap_fresh.yaml": cases["UpsertItself"]["up.yaml"]}}
	for name, files := range cases {
		t.Run(name, func(t *testing.T) { sameAsKptBut(t, pkg(t, files), more[name]) })
	}
}
