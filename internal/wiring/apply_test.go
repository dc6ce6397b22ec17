package wiring_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/catalogfn"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/wiring"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
)

func field(name, path, text, typ string) wiring.Value {
	return wiring.Value{Parameter: name, To: v1alpha1.InputTarget{FieldPath: path}, Text: text, Type: typ}
}

func setter(name, text string) wiring.Value {
	return wiring.Value{Parameter: name, To: v1alpha1.InputTarget{Setter: name}, Text: text}
}

const deployment = `# The author's own words.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas:   1  # how many
  paused: "no"
  strategy: # empty
  template:
    spec:
      containers:
      - name: web
        image: "web:1"   # kpt-set: web:${tag}
        args: [--a, --b]
      - {name: side, image: side:1}
`

// TestApplyField holds that one field changes, with its type, and every other byte stays.
func TestApplyField(t *testing.T) {
	for name, c := range map[string]struct {
		values   []wiring.Value
		old, new string // in the file
	}{
		"integer":        {[]wiring.Value{field("n", "Deployment/web:spec.replicas", "3", "integer")}, "replicas:   1  #", "replicas:   3  #"},
		"untyped number": {[]wiring.Value{field("n", "Deployment:spec.replicas", "3", "")}, "replicas:   1  #", "replicas:   3  #"},
		"untyped text":   {[]wiring.Value{field("n", "Deployment:spec.paused", "3", "")}, `"no"`, `"3"`},
		"boolean":        {[]wiring.Value{field("n", "Deployment.apps/web:spec.paused", "true", "boolean")}, `"no"`, `true`},
		"number":         {[]wiring.Value{field("n", "Deployment:spec.replicas", "1.5", "number")}, "replicas:   1  #", "replicas:   1.5  #"},
		"string that looks like a number": {
			[]wiring.Value{field("n", "Deployment:metadata.labels", "{}", "object"), field("n", "Deployment:metadata.labels.tier", "3", "string")},
			"  name: web\nspec:", "  name: web\n  labels:\n    tier: \"3\"\nspec:",
		},
		"new field":    {[]wiring.Value{field("n", "Deployment:spec.minReadySeconds", "5", "integer")}, "args: [--a, --b]\n      - {name: side, image: side:1}\n", "args: [--a, --b]\n      - {name: side, image: side:1}\n  minReadySeconds: 5\n"},
		"null parent":  {[]wiring.Value{field("n", "Deployment:spec.strategy.type", "Recreate", "string")}, "strategy: # empty\n", "strategy: # empty\n    type: Recreate\n"},
		"keyed":        {[]wiring.Value{field("n", "Deployment:spec.template.spec.containers[name=side].image", "side:2", "string")}, "side:1", "side:2"},
		"quoted style": {[]wiring.Value{field("n", "Deployment:spec.template.spec.containers[0].image", "web:2", "string")}, `"web:1"   #`, `"web:2"   #`},
		"element":      {[]wiring.Value{field("n", "Deployment:spec.template.spec.containers[0].args[1]", "c", "string")}, "--b]", "c]"},
		"array":        {[]wiring.Value{field("n", "Deployment:spec.template.spec.containers[0].args", `["--x"]`, "array")}, "[--a, --b]", `["--x"]`},
		"several":      {[]wiring.Value{field("a", "Deployment:spec.replicas", "2", "integer"), field("b", "Deployment:spec.replicas", "2", "integer")}, "replicas:   1  #", "replicas:   2  #"},
		"same":         {[]wiring.Value{field("n", "Deployment:spec.replicas", "1", "integer")}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := pkg(t, map[string]string{"Kptfile": kptfile, "web.yaml": deployment})
			want := strings.Replace(deployment, c.old, c.new, 1)
			for range 2 {
				if err := wiring.Apply(p, c.values); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(map[string]string{"Kptfile": kptfile, "web.yaml": want}, texts(t, p)); diff != "" {
					t.Fatal(diff)
				}
				p = pkg(t, texts(t, p))
			}
		})
	}
}

// TestApplyShared holds that a value set at one place changes no other that YAML shares with it.
func TestApplyShared(t *testing.T) {
	const doc = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: &d {host: a}\nmore: *d\nbase: &b {p: 1}\nheir: {<<: *b}\n" +
		"list: [&one a, *one]\nword: &w x\nalso: *w\nthird: *w\n"
	p := pkg(t, map[string]string{"Kptfile": kptfile, "x.yaml": doc})
	if err := wiring.Apply(p, []wiring.Value{
		field("h", "ConfigMap:data.host", "b", ""), field("q", "ConfigMap:heir.p", "2", "integer"),
		field("one", "ConfigMap:list[0]", "b", ""), field("also", "ConfigMap:also", "zed", ""),
	}); err != nil {
		t.Fatal(err)
	}
	outputs, err := wiring.Compile([]v1alpha1.ManifestOutput{
		output("data", "ConfigMap:data.host"), output("more", "ConfigMap:more.host"), output("base", "ConfigMap:base.p"), output("heir", "ConfigMap:heir.p"),
		output("first", "ConfigMap:list[0]"), output("second", "ConfigMap:list[1]"), output("word", "ConfigMap:word"), output("also", "ConfigMap:also"),
	})
	if err != nil {
		t.Fatal(err)
	}
	got, unknown := outputs.Eval(wiring.Scope{Package: pkg(t, texts(t, p))})
	if diff := cmp.Diff(map[string]string{"data": "b", "more": "a", "base": "1", "heir": "2", "first": "b", "second": "a", "word": "x", "also": "zed"}, got); diff != "" {
		t.Error(diff, unknown)
	}
	if text := texts(t, p)["x.yaml"]; !strings.Contains(text, "word: &w x\nalso: zed\nthird: *w\n") {
		t.Errorf("what the value does not touch changed too:\n%s", text)
	}
	err = wiring.Apply(p, []wiring.Value{field("p", "ConfigMap:base.p", "3", "integer")})
	if err == nil || !strings.Contains(err.Error(), `the anchor &b is merged with "<<" elsewhere`) {
		t.Error(err)
	}
}

const packageContext = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kptfile.kpt.dev\ndata:\n  name: web # mine\n"

func TestApplyErrors(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": kptfile, "web.yaml": deployment, "more.yaml": strings.Replace(packageContext, "kptfile.kpt.dev", "a", 1) + "---\n" + strings.Replace(packageContext, "kptfile.kpt.dev", "b", 1)})
	err := wiring.Apply(p, []wiring.Value{
		{Parameter: "key", To: v1alpha1.InputTarget{ContextKey: "host"}, Text: "x"},
		{Parameter: "reserved", To: v1alpha1.InputTarget{ContextKey: "name"}, Text: "x"},
		{Parameter: "nowhere", Text: "x"},
		{Parameter: "two", To: v1alpha1.InputTarget{ContextKey: "a", Setter: "b"}, Text: "x"},
		setter("unused", "x"),
		field("gone", "Service/web:spec.x", "x", ""),
		field("deep", "Deployment:spec.selector.matchLabels", "{}", "object"),
		field("element", "Deployment:spec.template.spec.containers[name=none].image", "x", ""),
		field("scalar", "Deployment:spec.replicas.x", "x", ""),
		field("type", "Deployment:spec.replicas", "many", "integer"),
		field("huge", "Deployment:spec.x", "99999999999999999999", "integer"),
		field("yes", "Deployment:spec.paused", "yes", "boolean"),
		field("list", "Deployment:spec.template.spec.containers", "{}", "array"),
		field("unknown", "Deployment:spec.replicas", "x", "file"),
		field("again", "Deployment:spec.paused", "true", "boolean"),
		field("many", "ConfigMap:data.x", "x", ""),
		field("identity", "Deployment:metadata.name", "x", ""),
		field("secret", "Secret/x:data.p", "x", ""),
		field("context", "context/ConfigMap/a:data.x", "x", ""),
		field("path", "Deployment:spec[", "x", ""),
	})
	want := []string{
		"parameter key: spec.packageContext: the package has no ConfigMap \"kptfile.kpt.dev\"; clone it into a deployment repository, or add package-context.yaml to the upstream, or to the package where that was adopted",
		"parameter reserved: spec.packageContext.data: the key \"name\" is kept by kpt; choose another",
		"parameter reserved: spec.packageContext: the package has no ConfigMap \"kptfile.kpt.dev\"; clone it into a deployment repository, or add package-context.yaml to the upstream, or to the package where that was adopted",
		"parameter nowhere: its target must be exactly one of contextKey, setter and fieldPath",
		"parameter two: its target must be exactly one of contextKey, setter and fieldPath",
		"parameter unused: nothing in the package uses the setter \"unused\": no apply-setters function has it and no comment `# kpt-set: ${unused}` names it; correct to.setter or mark a field",
		"parameter gone: Service/web: the package has no such resource before it is rendered; correct the fieldPath or use a setter",
		"parameter deep: web.yaml: Deployment web: field spec.selector is not there, so spec.selector.matchLabels cannot be set; add it to the package",
		"parameter element: web.yaml: Deployment web: field spec.template.spec.containers[name=none] is not there, so spec.template.spec.containers[name=none].image cannot be set; add it to the package",
		"parameter scalar: web.yaml: Deployment web: spec.replicas is the number \"1\", so it can have no field x",
		"parameter type: the value is \"many\", which is not of type integer",
		"parameter huge: the value is \"99999999999999999999\", which is not of type integer",
		"parameter yes: the value is \"yes\", which is not of type boolean",
		"parameter list: the value is \"{}\", which is not of type array",
		"parameter unknown: parameter type has another value for the same place; give each a place of its own",
		"parameter again: parameter yes has another value for the same place; give each a place of its own",
		"parameter many: ConfigMap can be any of ConfigMap a (more.yaml), ConfigMap b (more.yaml); name one with Kind.group/name",
		"parameter identity: Deployment:metadata.name: metadata.name says which resource it is and cannot be set; use a setter for it",
		"parameter secret: Secret/x:data.p: a Secret's content does not belong in Git; let the package refer to one by name",
		"parameter context: context/ConfigMap/a:data.x: context objects are only read; name a resource of the package",
		"parameter path: field path \"spec[\", character 6: an element of a list is chosen with [name=value]",
	}
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestApplyContext(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": kptfile, "package-context.yaml": packageContext})
	for range 2 {
		if err := wiring.Apply(p, []wiring.Value{{Parameter: "port", To: v1alpha1.InputTarget{ContextKey: "port"}, Text: "5432", Type: "integer"}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(packageContext+"  port: \"5432\"\n", texts(t, p)["package-context.yaml"]); diff != "" {
			t.Error(diff)
		}
	}
}

func TestApplySetter(t *testing.T) {
	const (
		own     = kptfile + "pipeline:\n  mutators:\n  - image: example.org/fn/apply-setters@sha256:00\n    configMap:\n      tag: \"1\" # which\n"
		path    = kptfile + "pipeline:\n  mutators:\n  - image: apply-setters:v0.2\n    configPath: setters.yaml\n"
		config  = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: setters\ndata:\n  tag: \"1\" # which\n"
		other   = kptfile + "pipeline:\n  mutators:\n  - image: set-labels:v0.2 # theirs\n    configMap: {a: b}\n"
		variant = kptfile + "pipeline:\n  mutators:\n  - name: PackageVariant.v.f.0\n    image: set-labels:v0.2\n  - image: set-namespace:v0.4\n"
		added   = "  - name: wiring\n    image: apply-setters:v0.2\n    configMap:\n      tag: \"2\"\n"
	)
	for name, c := range map[string]struct {
		reason string
		files  map[string]string
		values []wiring.Value
		want   map[string]string // the files that change
	}{
		"config map": {
			files: map[string]string{"Kptfile": own}, values: []wiring.Value{setter("tag", "2")},
			want: map[string]string{"Kptfile": strings.Replace(own, `"1"`, `"2"`, 1)},
		},
		"config path": {
			files: map[string]string{"Kptfile": path, "setters.yaml": config}, values: []wiring.Value{setter("tag", "2")},
			want: map[string]string{"setters.yaml": strings.Replace(config, `"1"`, `"2"`, 1)},
		},
		"subpackage": {
			reason: "the subpackage's own function has the setter, the root's has not",
			files:  map[string]string{"Kptfile": strings.Replace(own, "tag", "x", 1), "sub/Kptfile": path, "sub/setters.yaml": config},
			values: []wiring.Value{setter("tag", "2")},
			want:   map[string]string{"sub/setters.yaml": strings.Replace(config, `"1"`, `"2"`, 1)},
		},
		"both": {
			files:  map[string]string{"Kptfile": own, "sub/Kptfile": path, "sub/setters.yaml": config},
			values: []wiring.Value{setter("tag", "2")},
			want:   map[string]string{"Kptfile": strings.Replace(own, `"1"`, `"2"`, 1), "sub/setters.yaml": strings.Replace(config, `"1"`, `"2"`, 1)},
		},
		"comment, with a function": {
			files:  map[string]string{"Kptfile": strings.Replace(own, "tag", "x", 1), "web.yaml": deployment},
			values: []wiring.Value{setter("tag", "2")},
			want:   map[string]string{"Kptfile": strings.Replace(own, "tag: \"1\" # which\n", "x: \"1\" # which\n      tag: \"2\"\n", 1)},
		},
		"comment below, function above": {
			files:  map[string]string{"Kptfile": path, "setters.yaml": strings.Replace(config, "tag", "x", 1), "sub/Kptfile": kptfile, "sub/web.yaml": deployment},
			values: []wiring.Value{setter("tag", "2")},
			want:   map[string]string{"setters.yaml": strings.Replace(config, "tag: \"1\" # which\n", "x: \"1\" # which\n  tag: \"2\"\n", 1)},
		},
		"comment, no pipeline": {
			files: map[string]string{"Kptfile": kptfile, "web.yaml": deployment}, values: []wiring.Value{setter("tag", "2")},
			want: map[string]string{"Kptfile": kptfile + "pipeline:\n  mutators:\n" + added},
		},
		"comment, other functions": {
			files: map[string]string{"Kptfile": other, "web.yaml": deployment}, values: []wiring.Value{setter("tag", "2")},
			want: map[string]string{"Kptfile": strings.Replace(other, "  - image", added+"  - image", 1)},
		},
		"comment, after a variant's functions": {
			reason: "a variant prepends its own on each run; the order must not change between two runs",
			files:  map[string]string{"Kptfile": variant, "web.yaml": deployment}, values: []wiring.Value{setter("tag", "2")},
			want: map[string]string{"Kptfile": strings.Replace(variant, "  - image: set-namespace", added+"  - image: set-namespace", 1)},
		},
		"two new setters": {
			files:  map[string]string{"Kptfile": kptfile, "web.yaml": strings.Replace(deployment, "${tag}", "${tag}-${arch}", 1)},
			values: []wiring.Value{setter("tag", "2"), setter("arch", "arm")},
			want:   map[string]string{"Kptfile": kptfile + "pipeline:\n  mutators:\n" + added + "      arch: arm\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pkg(t, c.files)
			want := map[string]string{}
			for path, data := range c.files {
				want[path] = data
			}
			for path, data := range c.want {
				want[path] = data
			}
			for range 2 {
				if err := wiring.Apply(p, c.values); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, texts(t, p)); diff != "" {
					t.Fatalf("%s\n%s", c.reason, diff)
				}
				p = pkg(t, texts(t, p))
			}
		})
	}
}

// TestApplySetterMissingConfig holds that a function without its configuration is named.
func TestApplySetterMissingConfig(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": kptfile + "pipeline:\n  mutators:\n  - image: apply-setters:v0.2\n    configPath: setters.yaml\n"})
	err := wiring.Apply(p, []wiring.Value{setter("tag", "2")})
	if want := `parameter tag: Kptfile: pipeline.mutators[0].configPath: no ConfigMap with setters stands in "setters.yaml"; add it or correct the path`; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

// TestSetterReachesField runs the catalogue's own function with what Apply wrote, and holds that the image is one
// that it is known by.
func TestSetterReachesField(t *testing.T) {
	p := pkg(t, map[string]string{"Kptfile": kptfile, "web.yaml": deployment})
	if err := wiring.Apply(p, []wiring.Value{setter("tag", "2")}); err != nil {
		t.Fatal(err)
	}
	k, err := mutate.Read(p, "")
	if err != nil {
		t.Fatal(err)
	}
	image := k.Pipeline.Mutators[0].Image
	name, version, _ := strings.Cut(image, ":")
	f, ok := catalogfn.Lookup(name)
	if !ok || !slices.ContainsFunc(f.Releases, func(r catalogfn.Release) bool { return r.Minor() == version }) {
		t.Fatalf("the catalogue has no %s", image)
	}
	config := pkg(t, map[string]string{"c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {tag: \"" + k.Pipeline.Mutators[0].ConfigMap["tag"] + "\"}\n"})
	call := &function.Call{Package: p, Config: config.Resources()[0].Node()}
	if err := f.Releases[len(f.Releases)-1].Run(context.Background(), call); err != nil || call.Results.ExitCode() != 0 {
		t.Fatal(err, call.Results)
	}
	if got := texts(t, p)["web.yaml"]; got != strings.Replace(deployment, "web:1", "web:2", 1) {
		t.Error(got)
	}
}

// TestRunsSettle holds that mutating and wiring in turns, as each run does, changes nothing after the first.
func TestRunsSettle(t *testing.T) {
	pv := &configv1alpha1.PackageVariant{}
	pv.Name, pv.Namespace = "v", "default"
	pv.Spec.Pipeline = &kptfilev1.Pipeline{Mutators: []kptfilev1.Function{{Name: "f", Image: "set-labels:v0.2", ConfigMap: map[string]string{"a": "b"}}}}
	point := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: site\n  annotations:\n    kpt.dev/config-injection: required\ndata: {}\n"
	p := pkg(t, map[string]string{"Kptfile": kptfile, "web.yaml": deployment, "site.yaml": point})
	var first map[string]string
	for range 3 {
		if _, err := mutate.Apply(p, pv, mutate.Options{DropStale: true}); err != nil {
			t.Fatal(err)
		}
		if err := wiring.Apply(p, []wiring.Value{setter("tag", "2")}); err != nil {
			t.Fatal(err)
		}
		if err := wiring.SetGates(p, []wiring.Gate{{Name: "tag", Met: true}, {Name: "a", Message: "waits"}}); err != nil {
			t.Fatal(err)
		}
		got := texts(t, p)
		if first == nil {
			first = got
		}
		if diff := cmp.Diff(first, got); diff != "" {
			t.Fatal(diff)
		}
		p = pkg(t, got)
	}
}
