package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/variform/variform/test/gittest"
)

// An origin is true: change the input that it names, and the value changes; change
// any other, and it does not.

// origin is what blame says of a value.
type blamedOrigin struct {
	Kind, File, Field, Object, Package, Function, Author string
	Line                                                 int
	Expression                                           string
	Also                                                 []blamedOrigin
}

type blamedValue struct {
	Variant, File, Resource, Field, Value string
	Origin                                blamedOrigin
}

func (v blamedValue) key() string {
	kind, _, _ := strings.Cut(v.Resource, "/")
	return v.File + " " + kind + " " + v.Field
}

func (w *world) blame(pkg string, more ...string) []blamedValue {
	w.t.Helper()
	r := w.mustRun(0, append([]string{"blame", "-o", "json", pkg}, more...)...)
	var doc struct{ Values []blamedValue }
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		w.t.Fatalf("%v\n%s", err, r.out)
	}
	return doc.Values
}

// feature is one way by which values come into a package.
type feature struct {
	name    string
	mutator string            // of the upstream's Kptfile
	files   map[string]string // of the upstream
	last    string            // of the upstream's Kptfile, at the end
	set     string            // a mutator of the set
	data    string            // a line of the set's package context
}

const catalogImage = "ghcr.io/kptdev/krm-functions-catalog/"

var features = []feature{
	{
		name:    "setters in a file",
		mutator: "- image: " + catalogImage + "apply-setters:v0.2\n  configPath: setters.yaml\n",
		files:   map[string]string{"setters.yaml": local("v1", "ConfigMap", "setters") + "data:\n  replicas: \"3\"\n  tag: \"1.4\"\n"},
	},
	{
		name:  "setters of the set",
		set:   "- image: " + catalogImage + "apply-setters:v0.2\n  configMap:\n    cpu: 100m\n  configMapExprs:\n  - key: tier\n    valueExpr: repository.labels['env']\n",
		files: map[string]string{"quota.yaml": "apiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: quota\nspec:\n  hard:\n    cpu: 1 # kpt-set: ${cpu}\n    tier: none # kpt-set: ${tier}-${cpu}\n"},
	},
	{name: "labels of the upstream", mutator: "- image: " + catalogImage + "set-labels:v0.2\n  configMap:\n    app: web\n    part: front\n"},
	{name: "annotations of the set", set: "- image: " + catalogImage + "set-annotations:v0.1\n  configMap:\n    owner: shop\n"},
	{name: "namespace", set: "- image: " + catalogImage + "set-namespace:v0.4\n  configMap:\n    namespace: shop\n"},
	{
		name: "replacements", data: "region: repository.labels['env']",
		mutator: "- image: " + catalogImage + "apply-replacements:v0.1\n  configPath: replace.yaml\n",
		files: map[string]string{"replace.yaml": local("fn.kpt.dev/v1alpha1", "ApplyReplacements", "replace") + `replacements:
- source:
    kind: ConfigMap
    name: kptfile.kpt.dev
    fieldPath: data.region
  targets:
  - select:
      kind: Service
    fieldPaths:
    - spec.region
    options:
      create: true
- source:
    kind: ConfigMap
    name: endpoints
    fieldPath: data.url
  targets:
  - select:
      kind: Service
    fieldPaths:
    - spec.url
    options:
      create: true
`},
	},
	{
		name:    "starlark",
		mutator: "- image: " + catalogImage + "starlark:v0.4\n  configPath: star.yaml\n",
		files: map[string]string{"star.yaml": local("fn.kpt.dev/v1alpha1", "StarlarkRun", "star") + `params:
  weight: 5
source: |
  for r in ctx.resource_list["items"]:
    if r["kind"] == "Service":
      r["spec"]["weight"] = ctx.resource_list["functionConfig"]["params"]["weight"] * 2
`},
	},
	{name: "image", mutator: "- image: " + catalogImage + "set-image:v0.1\n  configMap:\n    name: sidecar\n    newTag: \"2.0\"\n"},
	{
		name:    "search and replace",
		mutator: "- image: " + catalogImage + "search-replace:v0.2\n  configMap:\n    by-path: spec.port\n    put-value: \"8080\"\n",
	},
	{name: "a name's beginning", last: "- image: " + catalogImage + "ensure-name-substring:v0.2\n  configMap:\n    prepend: shop-\n"},
}

func local(apiVersion, kind, name string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n  annotations:\n    config.kubernetes.io/local-config: \"true\"\n"
}

func indent(n int, text string) (out string) {
	for line := range strings.Lines(text) {
		out += strings.Repeat(" ", n) + line
	}
	return out
}

// originsWorld is a fleet of one variant with these features.
func originsWorld(t *testing.T, list []feature) (w *world, upstream gittest.Text) {
	w = newWorld(t, "c1")
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n"
	upstream = gittest.Text{
		"app/endpoints.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: endpoints\n  annotations:\n    kpt.dev/config-injection: required\ndata:\n  url: none\n",
		"app/deploy.yaml": `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3 # kpt-set: ${replicas}
  template:
    spec:
      containers:
      - name: web
        image: nginx:1.4 # kpt-set: nginx:${tag}
      - name: side
        image: sidecar:1.0
`,
		"app/service.yaml": "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\nspec:\n  port: 80\n",
		"app/notes.txt":    "for people\n",
	}
	var mutators, last, own, data string
	for _, f := range list {
		mutators += f.mutator
		last += f.last
		own += f.set
		if f.data != "" {
			key, expr, _ := strings.Cut(f.data, ": ")
			data += "- key: " + key + "\n  valueExpr: " + expr + "\n"
		}
		for name, text := range f.files {
			upstream["app/"+name] = text
		}
	}
	if mutators += last; mutators != "" {
		kptfile += "pipeline:\n  mutators:\n" + indent(2, mutators)
	}
	upstream["app/Kptfile"] = kptfile
	w.repos["catalog"].Tag(t, "app/v1", w.repos["catalog"].Commit(t, "main", "app", upstream))
	set := `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata:
  name: app
spec:
  upstream:
    repo: catalog
    package: app
    revision: v1
  targets:
  - repositorySelector:
      matchLabels:
        env: prod
    template:
      labels:
        team: shop
      packageContext:
        data:
          stage: live
`
	if data != "" {
		set += "        dataExprs:\n" + indent(8, data)
	}
	set += "      injectors:\n      - name: c1\n"
	if own != "" {
		set += "      pipeline:\n        mutators:\n" + indent(8, own)
	}
	w.write("set.yaml", set)
	w.write("context.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c1\ndata:\n  url: https://c1.example.com\n  zone: a\n")
	return w, upstream
}

// others are fields of which another value would be another package: identities, and
// what the functions are.
var fixed = regexp.MustCompile(`^(apiVersion|kind|metadata\.name|metadata\.annotations.*|source|upstream.*|injectors.*|replacements.*|pipeline\..*\.(image|name|configPath)|.*\[name=[a-z]+\]\.name|spec\.upstream.*|.*\.(injectors|pipeline\.mutators)\[\d\]\.(name|image))$`)

var keyAndValue = regexp.MustCompile(`^(\s*(?:- )?[\w.-]+: )("?)([^"#]*?)("?)( #.*)?$`)

// changeLine changes the value on a line of YAML.
func changeLine(t *testing.T, text string, line int) string {
	t.Helper()
	lines := strings.Split(text, "\n")
	m := keyAndValue.FindStringSubmatch(lines[line-1])
	if m == nil {
		t.Fatalf("line %d has no value: %s", line, lines[line-1])
	}
	value := m[3] + "x"
	switch n, err := strconv.Atoi(m[3]); {
	case err == nil:
		value = strconv.Itoa(n + 1)
	case strings.HasPrefix(m[3], "repository."):
		value = m[3] + " + 'x'"
	case strings.HasSuffix(m[3], "-"):
		value = m[3] + "x-"
	}
	lines[line-1] = m[1] + m[2] + value + m[4] + m[5]
	return strings.Join(lines, "\n")
}

func TestOriginsAreTrue(t *testing.T) {
	t.Parallel()
	seeds := 4
	if n, err := strconv.Atoi(os.Getenv("VARIFORM_ORIGINS")); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(uint64(seed), 15))
			list := slices.Clone(features)
			rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			if seed > 0 {
				list = list[:2+rnd.IntN(len(list)-2)]
			}
			w, upstream := originsWorld(t, list)
			was := map[string]blamedValue{}
			for _, v := range w.blame("c1/app") {
				if v.Origin.Kind == "" {
					t.Errorf("%s has no origin", v.key())
				}
				was[v.key()] = v
			}
			names := func(o blamedOrigin, at blamedOrigin) bool {
				return o.Kind != "function" && o.File == at.File && o.Line == at.Line && o.Package == at.Package
			}
			var inputs []blamedOrigin
			for _, key := range slices.Sorted(maps.Keys(was)) {
				o := was[key].Origin
				for _, o := range append([]blamedOrigin{o}, o.Also...) {
					known := slices.ContainsFunc(inputs, func(at blamedOrigin) bool { return names(o, at) })
					if o.Line > 0 && o.Kind != "function" && !known && !fixed.MatchString(o.Field) {
						inputs = append(inputs, o)
					}
				}
			}
			if len(inputs) < 5 {
				t.Fatalf("only %d inputs: %v", len(inputs), inputs)
			}
			for _, in := range inputs {
				restore := w.changeInput(upstream, in)
				now := map[string]blamedValue{}
				for _, v := range w.blame("c1/app") {
					now[v.key()] = v
				}
				restore()
				for key, v := range was {
					other, there := now[key]
					moved := !there || other.Value != v.Value
					of := names(v.Origin, in)
					also := slices.ContainsFunc(v.Origin.Also, func(o blamedOrigin) bool { return names(o, in) })
					own := v.Origin.Kind == "machine" || v.Origin.Kind == "name" || fixed.MatchString(v.Field)
					switch {
					case of && !moved && !own:
						t.Errorf("%s %s:%d %s changes, and %s, which is said to come from it, stays %q", in.Kind, in.File, in.Line, in.Field, key, v.Value)
					case moved && !of && !also && !own:
						t.Errorf("%s %s:%d %s changes, and %s with it, which is said to come from %+v: %q, now %q", in.Kind, in.File, in.Line, in.Field, key, v.Origin, v.Value, other.Value)
					}
				}
			}
			t.Logf("%d values, %d inputs", len(was), len(inputs))
		})
	}
}

// changeInput changes the line that an origin names, and gives the way back.
func (w *world) changeInput(upstream gittest.Text, in blamedOrigin) (restore func()) {
	w.t.Helper()
	t := w.t.(*testing.T)
	if in.Kind == "upstream" {
		changed := maps.Clone(upstream)
		changed["app/"+in.File] = changeLine(t, upstream["app/"+in.File], in.Line)
		c := w.repos["catalog"]
		before := strings.TrimSpace(c.Git(t, "rev-parse", "refs/tags/app/v1"))
		after := c.CommitFrom(t, "change", "", "changed", changed)
		c.Git(t, "update-ref", "refs/tags/app/v1", after)
		return func() { c.Git(t, "update-ref", "refs/tags/app/v1", before) }
	}
	data, err := os.ReadFile(w.fleet() + "/" + in.File)
	if err != nil {
		t.Fatal(err)
	}
	w.write(in.File, changeLine(t, string(data), in.Line))
	return func() { w.write(in.File, string(data)) }
}
