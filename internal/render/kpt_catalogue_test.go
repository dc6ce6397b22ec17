package render

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/variform/variform/internal/catalogfn"
	"github.com/variform/variform/internal/krm"
)

// shop is a package that every catalogue function finds something to do in.
var shop = map[string]string{
	"app.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: old
spec:
  replicas: 1 # kpt-set: ${replicas}
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: main
        image: nginx:1.0
        envFrom:
        - configMapRef:
            name: settings
`,
	"config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: old\ndata:\n  greeting: hello\n",
	"local.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: local\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\ndata:\n  kept: here\n",
}

// catalogueCases has one package for each catalogue function: what the pipeline
// says, more files, and the lines that its documentation promises (gone: those
// that it promises to remove).
var catalogueCases = map[string]struct {
	pipeline   string
	files      map[string]string
	want, gone map[string][]string
}{
	"apply-replacements": {
		pipeline: "apply-replacements:v0.1\n    configPath: fn.yaml\n",
		files: map[string]string{"fn.yaml": "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata:\n  name: fn\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\n" +
			"replacements:\n- source:\n    kind: ConfigMap\n    name: settings\n    fieldPath: data.greeting\n  targets:\n  - select:\n      kind: Deployment\n    fieldPaths:\n    - spec.template.spec.containers.[name=main].image\n"},
		want: map[string][]string{"app.yaml": {"image: hello"}},
	},
	"apply-setters": {
		pipeline: "apply-setters:v0.2\n    configMap:\n      replicas: \"5\"\n",
		want:     map[string][]string{"app.yaml": {"replicas: 5 # kpt-set: ${replicas}"}},
	},
	"create-setters": {
		pipeline: "create-setters:v0.1\n    configMap:\n      tag: \"1.0\"\n",
		want:     map[string][]string{"app.yaml": {"image: nginx:1.0 # kpt-set: nginx:${tag}"}},
	},
	"ensure-name-substring": {
		pipeline: "ensure-name-substring:v0.2\n    configMap:\n      prepend: prod-\n    selectors:\n    - namespace: old\n",
		want:     map[string][]string{"app.yaml": {"  name: prod-web", "            name: prod-settings"}, "config.yaml": {"name: prod-settings"}},
		gone:     map[string][]string{"local.yaml": {"prod-"}},
	},
	"remove-local-config-resources": {
		pipeline: "remove-local-config-resources:v0.1\n    exclude:\n    - kind: Kptfile\n",
		want:     map[string][]string{"config.yaml": {"greeting: hello"}},
		gone:     map[string][]string{"local.yaml": {"kept: here"}},
	},
	"search-replace": {
		pipeline: "search-replace:v0.2\n    configMap:\n      by-value-regex: nginx:(.*)\n      put-value: caddy:${1}\n      put-comment: \"kpt-set: caddy:${tag}\"\n",
		want:     map[string][]string{"app.yaml": {"image: caddy:1.0"}},
	},
	"set-annotations": {
		pipeline: "set-annotations:v0.1\n    configMap:\n      team: red\n",
		want:     map[string][]string{"app.yaml": {"\n  annotations:\n    team: red\n", "\n      annotations:\n        team: red\n"}, "config.yaml": {"team: red"}},
	},
	"set-image": {
		pipeline: "set-image:v0.1\n    configMap:\n      name: nginx\n      newName: registry.example.com/nginx\n      newTag: \"2.0\"\n",
		want:     map[string][]string{"app.yaml": {"image: registry.example.com/nginx:2.0"}},
	},
	"set-labels": {
		pipeline: "set-labels:v0.2\n    configMap:\n      tier: web\n",
		want: map[string][]string{"app.yaml": {
			"\n  labels:\n    tier: web\n", "\n    matchLabels:\n      app: web\n      tier: web\n", "\n      labels:\n        app: web\n        tier: web\n",
		}, "config.yaml": {"tier: web"}},
	},
	"set-namespace": {
		pipeline: "set-namespace:v0.4\n    configMap:\n      namespace: new\n",
		want:     map[string][]string{"app.yaml": {"namespace: new"}, "config.yaml": {"namespace: new"}},
	},
	"set-project-id": {
		pipeline: "set-project-id:v0.2\n    configMap:\n      project-id: mine\n",
		files:    map[string]string{"topic.yaml": "apiVersion: pubsub.cnrm.cloud.google.com/v1beta1\nkind: PubSubTopic\nmetadata:\n  name: topic\n"},
		want:     map[string][]string{"topic.yaml": {"cnrm.cloud.google.com/project-id: mine"}, "Kptfile": {"      project-id: mine\n"}},
	},
	"starlark": {
		pipeline: "starlark:v0.5\n    configPath: fn.yaml\n",
		files: map[string]string{"fn.yaml": "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: fn\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\n" +
			"params:\n  replicas: 7\nsource: |\n  for r in ctx.resource_list[\"items\"]:\n    if r[\"kind\"] == \"Deployment\":\n      r[\"spec\"][\"replicas\"] = ctx.resource_list[\"functionConfig\"][\"params\"][\"replicas\"]\n"},
		want: map[string][]string{"app.yaml": {"replicas: 7"}},
	},
	"upsert-resource": {
		pipeline: "upsert-resource:v0.2\n    configPath: fn.yaml\n",
		files: map[string]string{"fn.yaml": "apiVersion: v1\nkind: List\nmetadata:\n  name: fn\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\nitems:\n" +
			"- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: settings\n    namespace: old\n  data:\n    farewell: bye\n" +
			"- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: fresh\n    namespace: there\n    annotations:\n      config.kubernetes.io/target-path: made/fresh.yaml\n  data:\n    a: b\n"},
		want: map[string][]string{"config.yaml": {"farewell: bye"}, "made/fresh.yaml": {"name: fresh"}},
		gone: map[string][]string{"config.yaml": {"greeting"}},
	},
}

// TestKptCatalogue renders a package with each function of the catalogue: its
// documented outcome, and the same documents as real kpt, which runs the
// function as a program.
func TestKptCatalogue(t *testing.T) {
	for _, f := range catalogfn.All() {
		t.Run(f.Name, func(t *testing.T) {
			c, ok := catalogueCases[f.Name]
			if !ok {
				t.Fatal("no case for this function")
			}
			files := maps.Clone(shop)
			maps.Copy(files, c.files)
			files["Kptfile"] = kptfileOf("shop", "pipeline:\n  mutators:\n  - image: "+catalogRegistries[0]+"/"+c.pipeline)
			p := pkg(t, files)
			ours, err := New(testOptions()).Render(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			promised(t, "ours", ours.Package, c.want, c.gone)
			byKpt := sameAsKpt(t, p)
			promised(t, "kpt", byKpt, c.want, c.gone)
		})
	}
}

func promised(t *testing.T, who string, p *krm.Package, want, gone map[string][]string) {
	t.Helper()
	got := contents(t, p)
	for _, file := range slices.Sorted(maps.Keys(want)) {
		for _, line := range want[file] {
			if !strings.Contains(got[file], line) {
				t.Errorf("%s: %s lacks %q:\n%s", who, file, line, got[file])
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(gone)) {
		for _, line := range gone[file] {
			if strings.Contains(got[file], line) {
				t.Errorf("%s: %s still has %q:\n%s", who, file, line, got[file])
			}
		}
	}
}
