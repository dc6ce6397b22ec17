package catalogfn

import (
	"context"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
)

// oneOf is a call of a release: its configuration and its resources.
type oneOf struct {
	function, version string
	config, in        string
}

// runRelease returns what a release makes of the resources, and what it reports.
func runRelease(t *testing.T, c oneOf) (out, results string, failed bool) {
	t.Helper()
	f, _ := Lookup(c.function)
	r, ok := f.At(c.version)
	if !ok {
		t.Fatalf("no %s %s", c.function, c.version)
	}
	p := parse(t, map[string]string{"r.yaml": c.in})
	call := &function.Call{Package: p, Config: yaml.MustParse(c.config)}
	if err := function.Run(context.Background(), r.Run, call); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, r := range call.Results {
		said = append(said, r.String())
	}
	return files(t, p)["r.yaml"], strings.Join(said, "\n"), call.Results.ExitCode() != 0
}

const replaced = `apiVersion: v1
kind: ConfigMap
metadata: {name: src}
data: {v: http, num: "8080", truth: "yes", f: "2", img: "a:b"}
---
apiVersion: x.io/v1
kind: D
metadata: {name: d}
spec: {port: 80, truth: true, f: 1.5, n: null, s: "x", q: '7', m: {a: b}, l: [1, 2], ls: [{name: ab, v: 1}, {name: ac, v: 2}], text: a-b-c, in: '{"x": 1}'} # end
`

// TestReplacementReleases compares what each release writes into fields of each type. The
// releases' own programs write the same, but where a case says what they do instead.
func TestReplacementReleases(t *testing.T) {
	const num, word = "{kind: ConfigMap, name: src, fieldPath: data.num}", "{kind: ConfigMap, name: src, fieldPath: data.v}"
	for name, c := range map[string]struct {
		reason, source, field, options string
		early, later                   string // what is in the output; an error where it begins with "!"
	}{
		"missing field":          {"v0.1.1 skips a resource without the field", word, "spec.none", "", "port: 80", "!there is no such field"},
		"missing element":        {"v0.1.1 skips a list without the element", word, "spec.ls.[name=zz].v", "", "port: 80", "!there is no such field"},
		"below a value":          {"neither looks into a single value", word, "spec.port.x", "", "!wrong", "!wrong"},
		"inside a text":          {"nor into the YAML of a text", word, "spec.in.x", "", "!wrong", "!there is no such field"},
		"number into number":     {"v0.1.1 copies the text, v0.1.2 keeps the target's type", num, "spec.port", "", `port: "8080"`, "port: 8080"},
		"word into number":       {"v0.1.5 writes !!int http, which nothing reads", word, "spec.port", "", "port: http", `!an integer (80), and "http" is not`},
		"word into truth":        {"likewise", word, "spec.truth", "", "truth: http", `!a boolean (true), and "http" is not`},
		"yes into truth":         {"yes is a boolean for an API server", "{kind: ConfigMap, name: src, fieldPath: data.truth}", "spec.truth", "", `truth: "yes"`, "truth: true"},
		"number into fraction":   {"a whole number is a number", "{kind: ConfigMap, name: src, fieldPath: data.f}", "spec.f", "", `f: "2"`, "f: 2,"},
		"word into fraction":     {"a word is none", word, "spec.f", "", "f: http", `!a number (1.5), and "http" is not`},
		"word into nothing":      {"v0.1.5 writes !!null http", word, "spec.n", "", "n: http", "n: http"},
		"text into nothing":      {"what is empty takes the value's type", num, "spec.n", "", `n: "8080"`, `n: "8080"`},
		"number into text":       {"v0.1.1 copies the type, v0.1.2 keeps the target's", "{kind: D, fieldPath: spec.port}", "spec.s", "", "s: 80", `s: "80"`},
		"mapping into text":      {"v0.1.5 empties the field", "{kind: D, fieldPath: spec.m}", "spec.s", "", "s: {a: b}", "!the source is a mapping or a list"},
		"word into mapping":      {"a mapping or a list is replaced", word, "spec.m", "", "m: http", "m: http"},
		"created":                {"a text that looks like a number stays a text; v0.1.5 writes a number", num, "spec.new", "{create: true}", `new: "8080"`, `new: "8080"`},
		"created, plain":         {"a plain word needs no quotes", word, "spec.new", "{create: true}", "new: http", "new: http"},
		"created element":        {"elements are created too", word, "spec.ls.[name=zz].v", "{create: true}", "name: zz", "name: zz"},
		"every element":          {"only later releases follow *", "{kind: D, fieldPath: spec.port}", "spec.ls.*.v", "", "!wrong", "v: 80"},
		"elements by expression": {"the element's value is a regular expression in later releases", "{kind: D, fieldPath: spec.port}", "spec.ls.[name=a.*].v", "", "v: 1", "v: 80"},
		"part":                   {"a part of a text", word, "spec.text", "{delimiter: '-', index: 1}", "text: a-http-c", "text: a-http-c"},
		"appended to a number":   {"the whole counts", num, "spec.port", "{delimiter: '-', index: 9}", `port: "80-8080"`, `!"80-8080" is not`},
	} {
		t.Run(name, func(t *testing.T) {
			options := ""
			if c.options != "" {
				options = "\n    options: " + c.options
			}
			config := "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata: {name: r}\nreplacements:\n- source: " + c.source + "\n  targets:\n  - select: {kind: D}\n    fieldPaths:\n    - \"" + c.field + "\"" + options + "\n"
			for version, want := range map[string]string{"v0.1.0": c.early, "v0.1.1": c.early, "v0.1.2": c.later, "v0.1.5": c.later} {
				out, said, failed := runRelease(t, oneOf{"apply-replacements", version, config, replaced})
				message, fails := strings.CutPrefix(want, "!")
				switch {
				case fails && (!failed || !strings.Contains(said, message) || out != replaced):
					t.Errorf("%s, %s: want an error with %q, got %s\n%s", version, c.reason, message, said, out)
				case !fails && (failed || !strings.Contains(out, want)):
					t.Errorf("%s, %s: want %q, got %s\n%s", version, c.reason, want, said, out)
				}
			}
		})
	}
}

// TestLiteralSource holds which releases know sourceValue.
func TestLiteralSource(t *testing.T) {
	config := "apiVersion: fn.kpt.dev/v1alpha1\nkind: ApplyReplacements\nmetadata: {name: r}\nreplacements:\n- sourceValue: z\n  targets:\n  - select: {kind: D}\n    fieldPaths: [spec.s]\n"
	for version, want := range map[string]bool{"v0.1.1": false, "v0.1.2": false, "v0.1.5": true} {
		if out, said, failed := runRelease(t, oneOf{"apply-replacements", version, config, replaced}); failed == want || want && !strings.Contains(out, `s: "z"`) {
			t.Errorf("%s: %s\n%s", version, said, out)
		}
	}
}

// TestNamespaceReleases holds the differences between releases of set-namespace.
func TestNamespaceReleases(t *testing.T) {
	const upstream = ", annotations: {internal.kpt.dev/upstream-identifier: "
	for name, c := range map[string]struct {
		reason, data, in string
		first, later     string // what is in the output; an error where it begins with "!"
	}{
		"subjects": {
			"v0.4.2 takes a RoleBinding for a namespaced resource alone", "namespace: new",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: rb, namespace: old}\nsubjects:\n- {kind: ServiceAccount, name: sa, namespace: old}\n",
			"namespace: new}\nsubjects:\n- {kind: ServiceAccount, name: sa, namespace: new}", "namespace: new}\nsubjects:\n- {kind: ServiceAccount, name: sa, namespace: old}",
		},
		"cluster subjects": {
			"both change subjects of ClusterRoleBindings", "namespace: new",
			"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: rb}\nsubjects:\n- {kind: ServiceAccount, name: sa, namespace: old}\n",
			"name: sa, namespace: new}", "name: sa, namespace: new}",
		},
		"matcher": {
			"v0.4.1 knows no matcher", "namespace: new, namespaceMatcher: b",
			"apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: a}\n", "namespace: new", "namespace: a",
		},
		"matcher upstream": {
			"the matcher is compared with the namespace upstream too", "namespace: new, namespaceMatcher: b",
			"apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: a" + upstream + "'|Service|b|s'}}\n", "namespace: new", "namespace: new",
		},
		"none upstream": {
			"v0.4.2 leaves a resource alone that had no namespace upstream", "namespace: new",
			"apiVersion: x.io/v1\nkind: Foo\nmetadata: {name: s, namespace: a" + upstream + "'x.io|Foo|~C|s'}}\n", "namespace: new", "namespace: a",
		},
		"duplicates": {
			"v0.4.1 refuses what the namespace makes equal", "namespace: new",
			"apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: a}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: b}\n",
			"!two resources Service s", "namespace: new}\n---",
		},
		"depends on core": {
			"v0.4.1 compares the core group with v1", "namespace: new",
			"apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: a, annotations: {config.kubernetes.io/depends-on: /namespaces/a/Service/s}}\n",
			"/namespaces/a/Service/s", "/namespaces/new/Service/s",
		},
		"depends on": {
			"a reference follows a resource that moves", "namespace: new",
			"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: s, namespace: a, annotations: {config.kubernetes.io/depends-on: apps/namespaces/a/Deployment/s}}\n",
			"apps/namespaces/new/Deployment/s", "apps/namespaces/new/Deployment/s",
		},
		"no webhook": {
			"the releases give a CustomResourceDefinition without a webhook one that no API server accepts", "namespace: new",
			"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\nspec: {group: x.io}\n", "spec: {group: x.io}\n", "spec: {group: x.io}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: f}\ndata: {" + c.data + "}\n"
			for version, want := range map[string]string{"v0.4.0": c.first, "v0.4.1": c.first, "v0.4.2": c.later, "v0.4.5": c.later} {
				out, said, failed := runRelease(t, oneOf{"set-namespace", version, config, c.in})
				message, fails := strings.CutPrefix(want, "!")
				if failed != fails || fails && !strings.Contains(said, message) || !fails && !strings.Contains(out, want) {
					t.Errorf("%s, %s: want %q, got %s\n%s", version, c.reason, want, said, out)
				}
			}
		})
	}
}

// TestSetterReleases holds that only v0.1 requires a marked field.
func TestSetterReleases(t *testing.T) {
	for version, want := range map[string]bool{"v0.1.1": true, "v0.2.0": false, "v0.2.2": false} {
		_, said, failed := runRelease(t, oneOf{"apply-setters", version, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: f}\ndata: {none: x}\n", replaced})
		if failed != want || !strings.Contains(said, "no field is marked") {
			t.Errorf("%s: %s", version, said)
		}
	}
}

// TestScriptReleases holds the differences of the library krmfn.star.
func TestScriptReleases(t *testing.T) {
	f, _ := Lookup("starlark")
	for version, want := range map[string]string{
		"v0.4.0": "not built in", "v0.4.1": "core True, apps True, version False", "v0.4.3": "core True, apps True, version False",
		"v0.5.0": "core True, apps True, version False", "v0.5.1": "core True, apps False, version False", "v0.5.5": "core True, apps True, version True",
	} {
		r, _ := f.At(version)
		list := yaml.MustParse(`apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig:
  apiVersion: fn.kpt.dev/v1alpha1
  kind: StarlarkRun
  metadata: {name: s}
  source: |
    load("krmfn.star", "krmfn")
    a, b = ctx.resource_list["items"]
    print("core %s, apps %s, version %s" % (krmfn.match_gvk(a, "v1", "Service"), krmfn.match_gvk(b, "apps/v1", "Deployment"), krmfn.match_gvk(b, "v1", "Deployment")))
items:
- {apiVersion: v1, kind: Service, metadata: {name: a}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}
`)
		results, err := r.List(context.Background(), list.YNode())
		if err != nil || len(results) != 1 || !strings.Contains(results[0].Message, want) {
			t.Errorf("%s: want %q, got %v, %v", version, want, results, err)
		}
	}
}
