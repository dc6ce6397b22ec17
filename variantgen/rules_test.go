package variantgen_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/celexpr"
	"github.com/variform/variform/variantgen"
)

// specOf is what a variant says beside its head and its upstream.
func specOf(t *testing.T, pv *v1alpha1.PackageVariant) string {
	t.Helper()
	data, err := variantgen.Encode(pv)
	if err != nil {
		t.Fatal(err)
	}
	_, spec, ok := strings.Cut(string(data), "    revision: 1\n")
	if !ok {
		t.Fatalf("no upstream:\n%s", data)
	}
	return spec
}

// TestTemplates: each part of a template, and each place of an expression in it.
func TestTemplates(t *testing.T) {
	const down = "  downstream:\n    repo: r1\n    package: foo\n"
	cases := map[string]struct{ template, want string }{
		"nothing":              {"{}", down},
		"a package":            {"downstream: {package: p}", "  downstream:\n    repo: r1\n    package: p\n"},
		"a repository":         {"downstream: {repo: r2}", "  downstream:\n    repo: r2\n    package: foo\n"},
		"both computed":        {`downstream: {repoExpr: "'r' + '3'", packageExpr: "repository.name + '/' + repoDefault + '/' + packageDefault"}`, "  downstream:\n    repo: r3\n    package: r3/r1/foo\n"},
		"target of a list":     {`downstream: {packageExpr: "target.repo + '-' + target.package"}`, "  downstream:\n    repo: r1\n    package: r1-foo\n"},
		"policies":             {"{adoptionPolicy: adoptExisting, deletionPolicy: orphan}", down + "  adoptionPolicy: adoptExisting\n  deletionPolicy: orphan\n"},
		"labels":               {`{labels: {a: plain, b: plain}, labelExprs: [{key: b, value: over}, {keyExpr: "'c' + 'd'", valueExpr: repoDefault}]}`, down + "  labels:\n    a: plain\n    b: over\n    cd: r1\n"},
		"annotations":          {`{annotations: {a: plain}, annotationExprs: [{key: a, valueExpr: "repository.labels['region']"}]}`, down + "  annotations:\n    a: useast1\n"},
		"the later one counts": {`{labelExprs: [{key: a, value: x}, {key: a, value: z}]}`, down + "  labels:\n    a: z\n"},
		"context":              {`packageContext: {data: {a: plain}, dataExprs: [{keyExpr: packageDefault, valueExpr: upstream.name}], removeKeys: [z, b], removeKeyExprs: ["'b'", "'a' + 'a'"]}`, down + "  packageContext:\n    data:\n      a: plain\n      foo: catalog.foo.v1\n    removeKeys:\n    - aa\n    - b\n    - z\n"},
		"an empty context":     {"packageContext: {}", down + "  packageContext: {}\n"},
		"injectors":            {`injectors: [{name: plain, kind: K, group: g, version: v1}, {nameExpr: "repository.name", point: settings}]`, down + "  injectors:\n  - group: g\n    version: v1\n    kind: K\n    name: plain\n  - name: r1\n    point: settings\n"},
		"functions":            {`pipeline: {validators: [{image: v}], mutators: [{image: a, configMap: {k: plain, l: plain}, configMapExprs: [{key: l, valueExpr: repoDefault}]}, {image: b, name: n}]}`, down + "  pipeline:\n    mutators:\n    - image: a\n      configMap:\n        k: plain\n        l: r1\n    - image: b\n      name: \"n\"\n    validators:\n    - image: v\n"},
		"validators alone":     {`pipeline: {validators: [{image: v, configMapExprs: [{keyExpr: "'k'", value: x}]}]}`, down + "  pipeline:\n    validators:\n    - image: v\n      configMap:\n        k: x\n"},
		"an empty pipeline":    {"pipeline: {}", down},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(tc.template, "{") {
				tc.template = " " + tc.template
			} else {
				tc.template = "\n      " + tc.template
			}
			res := expand(t, inputs(), setOf(t, "s", "  - repositories: [{name: r1}]\n    template:"+tc.template+"\n"))
			if err := res.Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, specOf(t, res.Variants[0])); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestVariables: what each variable shows, and what an object shows of itself.
func TestVariables(t *testing.T) {
	const object = "  - objectSelector: {apiVersion: v1, kind: ConfigMap, name: cm-a}\n    packageNames: [p]\n"
	const list = "  - repositories: [{name: r1}]\n"
	const selected = "  - repositorySelector: {matchLabels: {region: useast1}}\n"
	cases := map[string]struct{ target, expr, want string }{
		"repoDefault":               {list, "repoDefault", "r1"},
		"repoDefault of an object":  {object, "repoDefault", "cm-a"},
		"packageDefault":            {list, "packageDefault", "foo"},
		"packageDefault, named":     {object, "packageDefault", "p"},
		"repository, name":          {list, "repository.name", "r1"},
		"repository, namespace":     {list, "repository.namespace", "default"},
		"repository, label":         {list, "repository.labels['env']", "prod"},
		"repository of an object":   {object, "repository.name", "r3"},
		"upstream, name":            {list, "upstream.name", "catalog.foo.v1"},
		"upstream, namespace":       {list, "upstream.namespace", "default"},
		"upstream, label":           {list, "upstream.labels['team']", "x"},
		"upstream, annotation":      {list, "upstream.annotations['owner']", "y"},
		"target of a list, repo":    {list, "target.repo", "r1"},
		"target of a list, package": {list, "target.package", "foo"},
		"target, a Repository":      {selected, "target.name + ' ' + target.labels['region']", "r1 useast1"},
		"target, an object":         {object, "target.name + ' ' + target.namespace + ' ' + target.annotations['a']", "cm-a default b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			template := fmt.Sprintf("    template: {annotationExprs: [{key: v, valueExpr: %q}]", tc.expr)
			if tc.target == object {
				template += ", downstream: {repo: r3}"
			}
			res := expand(t, inputs(), setOf(t, "s", tc.target+template+"}\n"))
			if err := res.Err(); err != nil {
				t.Fatal(err)
			}
			if got := res.Variants[0].Spec.Annotations["v"]; got != tc.want {
				t.Errorf("%s is %q, want %q", tc.expr, got, tc.want)
			}
		})
	}
}

// TestEveryExpressionIsNamed: where one stands that fails.
func TestEveryExpressionIsNamed(t *testing.T) {
	const bad = "repository.labels['none']"
	cases := map[string]struct{ template, field string }{
		"packageExpr":     {"downstream: {packageExpr: %q}", "downstream.packageExpr"},
		"label, key":      {"labelExprs: [{key: a, value: b}, {keyExpr: %q, value: x}]", "labelExprs[1].keyExpr"},
		"label, value":    {"labelExprs: [{key: a, valueExpr: %q}]", "labelExprs[0].valueExpr"},
		"annotation":      {"annotationExprs: [{key: a, valueExpr: %q}]", "annotationExprs[0].valueExpr"},
		"context, key":    {"packageContext: {dataExprs: [{keyExpr: %q, value: x}]}", "packageContext.dataExprs[0].keyExpr"},
		"context, value":  {"packageContext: {dataExprs: [{key: a, valueExpr: %q}]}", "packageContext.dataExprs[0].valueExpr"},
		"context, remove": {"packageContext: {removeKeyExprs: [\"'a'\", %q]}", "packageContext.removeKeyExprs[1]"},
		"injector":        {"injectors: [{name: a}, {nameExpr: %q}]", "injectors[1].nameExpr"},
		"mutator":         {"pipeline: {mutators: [{image: a}, {image: b, configMapExprs: [{key: a, valueExpr: %q}]}]}", "pipeline.mutators[1].configMapExprs[0].valueExpr"},
		"validator":       {"pipeline: {validators: [{image: b, configMapExprs: [{keyExpr: %q, value: x}]}]}", "pipeline.validators[0].configMapExprs[0].keyExpr"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for what, text := range map[string]string{"evaluates": bad, "compiles": "repository.", "knows the upstream": "upstream.name"} {
				in := inputs()
				in.Upstreams = nil
				res := expand(t, in, setOf(t, "s", "  - repositories: [{name: r1}]\n    template:\n      "+fmt.Sprintf(tc.template, text)+"\n"))
				if len(res.Failures) != 1 || len(res.Variants) != 0 {
					t.Fatalf("%s: got %v", what, res.Failures)
				}
				f := res.Failures[0]
				if f.Field != "spec.targets[0].template."+tc.field || f.Expression != text {
					t.Errorf("%s: field %q, expression %q", what, f.Field, f.Expression)
				}
			}
		})
	}
}

// TestComputedValuesAreChecked: a value that has no place there is blamed on
// the expression that made it.
func TestComputedValuesAreChecked(t *testing.T) {
	cases := map[string]struct{ template, field, expr, text string }{
		"remove a reserved key":       {`packageContext: {removeKeyExprs: ["'na' + 'me'"]}`, "packageContext.removeKeyExprs[0]", "'na' + 'me'", `"name"`},
		"an empty key of a function":  {`pipeline: {mutators: [{image: a, configMapExprs: [{keyExpr: "''", value: x}]}]}`, "pipeline.mutators[0].configMapExprs[0].keyExpr", "''", "the key is empty"},
		"a label's key":               {`labelExprs: [{keyExpr: "'-'", valueExpr: "'x'"}]`, "labelExprs[0].keyExpr", "'-'", `"-"`},
		"a label's value, both given": {`labelExprs: [{keyExpr: "'k'", valueExpr: "'-'"}]`, "labelExprs[0].valueExpr", "'-'", `"-"`},
		"an empty injector":           {`injectors: [{nameExpr: "''"}]`, "injectors[0].nameExpr", "''", "must not be empty"},
		"a package":                   {`downstream: {packageExpr: "'a/../b'"}`, "downstream.packageExpr", "'a/../b'", "`..`"},
		"a package that is nothing":   {`downstream: {packageExpr: "''"}`, "downstream.packageExpr", "''", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res := expand(t, inputs(), setOf(t, "s", "  - repositories: [{name: r1}]\n    template:\n      "+tc.template+"\n"))
			if len(res.Failures) != 1 || len(res.Variants) != 0 {
				if name == "a package that is nothing" { // an empty expression is none
					return
				}
				t.Fatalf("got %v, %v", names(res), res.Failures)
			}
			f := res.Failures[0]
			if f.Field != "spec.targets[0].template."+tc.field || f.Expression != tc.expr || !errors.Is(f, variantgen.ErrValue) || !strings.Contains(f.Error(), tc.text) {
				t.Errorf("field %q, expression %q: %v", f.Field, f.Expression, f)
			}
		})
	}
}

// TestPackagesOfLists: constants are checked where they come from.
func TestPackagesOfLists(t *testing.T) {
	set := setOf(t, "s", "  - repositories: [{name: r1, packageNames: [x]}]\n")
	set.Spec.Targets[0].Repositories[0].PackageNames[0] = "../x"
	res := expand(t, inputs(), set)
	if len(res.Failures) != 1 || !errors.Is(res.Failures[0], variantgen.ErrValue) || !strings.Contains(res.Failures[0].Error(), "downstream package") {
		t.Errorf("got %v", res.Failures)
	}
}

// TestMissingRepositoryIsNamed: by the field that names it.
func TestMissingRepositoryIsNamed(t *testing.T) {
	cases := map[string]struct{ target, field string }{
		"a list":        {"  - repositories: [{name: r1}, {name: no}]\n", "spec.targets[0].repositories[1].name"},
		"a template":    {"  - repositories: [{name: r1}]\n    template: {downstream: {repo: no}}\n", "spec.targets[0].template.downstream.repo"},
		"an expression": {"  - repositories: [{name: r1}]\n    template: {downstream: {repoExpr: \"'n' + 'o'\"}}\n", "spec.targets[0].template.downstream.repoExpr"},
		"an object":     {"  - objectSelector: {apiVersion: v1, kind: ConfigMap, name: cm-a}\n", "spec.targets[0]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res := expand(t, inputs(), setOf(t, "s", tc.target))
			if len(res.Failures) != 1 || res.Failures[0].Field != tc.field || !errors.Is(res.Failures[0], variantgen.ErrRepository) {
				t.Errorf("got %+v, want the field %s", res.Failures, tc.field)
			}
		})
	}
	in := inputs()
	in.RepositoriesUnknown = true
	res := expand(t, in, setOf(t, "s", "  - repositories: [{name: no}]\n"))
	if len(res.Failures) != 0 || len(res.Variants) != 1 {
		t.Errorf("not all Repositories are known: %v", res.Failures)
	}
}

// TestSetsThatCannotBeCompiled: a set without an upstream, and a selector that is
// none, say so; the other targets and sets go on.
func TestSetsThatCannotBeCompiled(t *testing.T) {
	none := setOf(t, "none", "  - repositories: [{name: r1}]\n")
	none.Spec.Upstream = nil
	selector := setOf(t, "selector", "  - repositories: [{name: r2}]\n  - repositorySelector: {matchExpressions: [{key: a, operator: Exists}]}\n")
	selector.Spec.Targets[1].RepositorySelector.MatchExpressions[0].Operator = "Sometimes"
	res := expand(t, inputs(), none, selector)
	if diff := cmp.Diff([]string{"selector-r2-foo r2/foo"}, names(res)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var got []string
	for _, f := range res.Failures {
		got = append(got, f.Set+" "+f.Field)
	}
	if diff := cmp.Diff([]string{"none spec.upstream", "selector spec.targets[1]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, w := range res.Warnings {
		t.Errorf("a target that is broken is called empty: %v", w)
	}
}

// TestOriginsAreDescribed: for people, by the entry of the set.
func TestOriginsAreDescribed(t *testing.T) {
	set := setOf(t, "s", "  - repositories: [{name: r1, packageNames: [a, b]}, {name: r2}]\n"+
		"  - repositorySelector: {matchLabels: {env: dev}}\n    packageNames: [c]\n"+
		"  - objectSelector: {apiVersion: v1, kind: ConfigMap, name: cm-a}\n    template: {downstream: {repo: r1, package: d}}\n")
	res := expand(t, inputs(), set)
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for i, pv := range res.Variants {
		o := res.Origin(i)
		got[pv.Name] = fmt.Sprintf("%d %s", o.Target, o)
	}
	const s = "PackageVariantSet default/s: spec.targets"
	want := map[string]string{
		"s-r1-a":   "0 " + s + "[0].repositories[0].packageNames[0] (r1/a)",
		"s-r1-b":   "0 " + s + "[0].repositories[0].packageNames[1] (r1/b)",
		"s-r2-foo": "0 " + s + "[0].repositories[1] (r2/foo)",
		"s-r3-c":   "1 " + s + "[1].repositorySelector (Repository r3, package c)",
		"s-r1-d":   "2 " + s + "[2].objectSelector (ConfigMap cm-a, package foo)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEmptySelectionsAreMarked: what each kind of target says where it selects
// nothing, so that nothing is deleted for it.
func TestEmptySelectionsAreMarked(t *testing.T) {
	set := setOf(t, "s", "  - repositories: [{name: r1}]\n  - repositorySelector: {matchLabels: {no: such}}\n")
	set.Spec.Targets[0].Repositories = nil
	res := expand(t, inputs(), set)
	if len(res.Warnings) != 2 {
		t.Fatalf("got %v", res.Warnings)
	}
	for i, text := range []string{"repositories is empty", "repositorySelector matches no Repository"} {
		if w := res.Warnings[i]; !w.Empty || w.Target != i || !strings.Contains(w.String(), text) {
			t.Errorf("warning %d: %+v, want %q", i, w, text)
		}
	}
}

// TestWarningsAndFailuresAreSorted: by set, then by target, then by field.
func TestWarningsAndFailuresAreSorted(t *testing.T) {
	target := "  - repositories: [{name: r1}]\n    template: {labelExprs: [{key: a, valueExpr: \"repository.labels['z']\"}], annotationExprs: [{key: a, valueExpr: \"repository.labels['z']\"}]}\n"
	empty := "  - repositorySelector: {matchLabels: {no: such}}\n"
	res := expand(t, inputs(), setOf(t, "b", target+empty+empty), setOf(t, "a", empty+target))
	var got []string
	for _, f := range res.Failures {
		got = append(got, f.Set+" "+f.Field)
		if !errors.Is(f, celexpr.ErrEvaluate) {
			t.Errorf("got %v", f)
		}
	}
	for _, w := range res.Warnings {
		got = append(got, fmt.Sprintf("%s %d", w.Set, w.Target))
	}
	want := []string{
		"a spec.targets[1].template.annotationExprs[0].valueExpr", "a spec.targets[1].template.labelExprs[0].valueExpr",
		"b spec.targets[0].template.annotationExprs[0].valueExpr", "b spec.targets[0].template.labelExprs[0].valueExpr",
		"a 0", "b 1", "b 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNamesThatMeet: two variants never share a name, and one that is written by
// hand keeps its own.
func TestNamesThatMeet(t *testing.T) {
	in := inputs()
	in.Repositories = append(in.Repositories, repo("r1-a", nil))
	res := expand(t, in, setOf(t, "s", "  - repositories: [{name: r1, packageNames: [a-b]}, {name: r1-a, packageNames: [b]}, {name: r2}]\n"))
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, pv := range res.Variants {
		if seen[pv.Name] {
			t.Errorf("the name %s is there twice", pv.Name)
		}
		seen[pv.Name] = true
	}
	if seen["s-r1-a-b"] || !seen["s-r2-foo"] || len(seen) != 3 {
		t.Errorf("got %v, want hashes for the two that meet alone", names(res))
	}
}

// TestInputsAreIndexed: namespaces, and objects that are given twice.
func TestInputsAreIndexed(t *testing.T) {
	in := variantgen.Inputs{
		Repositories: []*v1alpha1.Repository{repo("b", nil), repo("a", map[string]string{"l": "first"}), repo("a", map[string]string{"l": "second"})},
		Objects: []variantgen.Object{
			{APIVersion: "v1", Kind: "K", Name: "b"},
			{APIVersion: "v1", Kind: "K", Name: "a", Namespace: "default"},
			{APIVersion: "v1", Kind: "K", Name: "a"},
			{APIVersion: "v2", Kind: "K", Name: "c"},
			{APIVersion: "v1", Kind: "L", Name: "c"},
		},
	}
	far := repo("far", nil)
	far.Namespace = "far"
	in.Repositories = append(in.Repositories, far)
	res := expand(t, in, setOf(t, "s", "  - objectSelector: {apiVersion: v1, kind: K}\n    template: {downstream: {repo: a, packageExpr: \"'p/' + target.name\"}}\n"+
		"  - repositorySelector: {}\n    template: {annotationExprs: [{key: l, valueExpr: \"has(target.labels.l) ? target.labels['l'] : 'none'\"}]}\n"))
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, pv := range res.Variants {
		got[pv.Spec.Downstream.Repo+"/"+pv.Spec.Downstream.Package] = pv.Spec.Annotations["l"]
	}
	if diff := cmp.Diff(map[string]string{"a/p/a": "", "a/p/b": "", "a/foo": "first", "b/foo": "none"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSetMetadata: whose a variant is.
func TestSetMetadata(t *testing.T) {
	long := strings.Repeat("set-", 20) + "x"
	for name, set := range map[string]string{"short": "s", "long": long} {
		res := expand(t, inputs(), setOf(t, set, "  - repositories: [{name: r1}]\n"))
		if err := res.Err(); err != nil {
			t.Fatal(err)
		}
		pv := res.Variants[0]
		label, annotation := pv.Labels["variform.dev/set"], pv.Annotations["variform.dev/set"]
		if pv.APIVersion != v1alpha1.APIVersion || pv.Kind != "PackageVariant" || pv.Namespace != "default" || label == "" || len(label) > 63 {
			t.Errorf("%s: %s %s in %s with the label %q", name, pv.APIVersion, pv.Kind, pv.Namespace, label)
		}
		if name == "short" && (label != set || pv.Annotations != nil) || name == "long" && annotation != set {
			t.Errorf("%s: label %q, annotation %q", name, label, annotation)
		}
	}
}
