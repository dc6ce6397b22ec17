package api_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
)

const (
	variantHead = "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: pv}\n"
	variantBase = variantHead + "spec:\n  upstream: {repo: a, package: b, revision: 1}\n  downstream: {repo: c, package: d}\n"
	setHead     = "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: set}\nspec:\n  upstream: {repo: a, package: b, revision: 1}\n"
	repoHead    = "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: r}\nspec:\n"
)

// lines are the issues as "line field: message | hint".
func lines(list api.Issues) []string {
	var out []string
	for _, i := range list {
		s := fmt.Sprintf("%d %s", i.Line, i.Message)
		if i.Hint != "" {
			s += " | " + i.Hint
		}
		out = append(out, s)
	}
	return out
}

func TestErrors(t *testing.T) {
	cases := map[string]struct {
		doc  string
		want []string
	}{
		"unknown field, near a known one": {setHead + "  target:\n  - repositories: [{name: r}]\n", []string{
			`6 unknown field spec.target | did you mean "targets"?`,
			"4 must specify at least one item in spec.targets | each target has one of repositories, repositorySelector and objectSelector",
		}},
		"unknown field deep down": {setHead + "  targets:\n  - repositories: [{name: r}]\n    template:\n      labelExprs:\n      - key: a\n        valueExp: b\n", []string{
			`11 unknown field spec.targets[0].template.labelExprs[0].valueExp | did you mean "valueExpr"?`,
		}},
		"field in a wrong place": {setHead + "  adoptionPolicy: adoptNone\n  targets:\n  - repositories: [{name: r}]\n    labels: {a: b}\n", []string{
			"6 unknown field spec.adoptionPolicy | it belongs into spec.targets[].template",
			"9 unknown field spec.targets[0].labels | it belongs into this target's template",
		}},
		"a subpackage, as in Porch's tasks": {setHead + "  targets:\n  - repositories: [{name: r}]\n    template: {downstream: {package: a, subpackageDir: b}}\n", []string{
			"8 unknown field spec.targets[0].template.downstream.subpackageDir | Porch's clone and upgrade tasks have it, no variant does: put the subpackage into the upstream package, or make it a variant beside this one",
		}},
		"labels without matchLabels": {setHead + "  targets:\n  - repositorySelector: {foo: bar}\n", []string{
			"7 unknown field spec.targets[0].repositorySelector.foo | labels to match belong into matchLabels: {foo: …}",
		}},
		"namespace of an objectSelector": {setHead + "  targets:\n  - objectSelector: {apiVersion: v1, kind: Pod, namespace: x}\n", []string{
			"7 unknown field spec.targets[0].objectSelector.namespace | the namespace is always that of the set",
		}},
		"repeated key": {variantBase + "  adoptionPolicy: adoptNone\n  adoptionPolicy: adoptExisting\n", []string{
			"8 spec.adoptionPolicy is given twice, first on line 7 | remove one of them",
		}},
		"wrong types, all of them": {variantBase + "  labels: {a: 1, b: true}\n  injectors: x\n  packageContext: []\n", []string{
			`7 spec.labels[a] must be a string, not the integer 1 | quote it: "1"`,
			`7 spec.labels[b] must be a string, not the boolean true | quote it: "true"`,
			"8 spec.injectors must be a list, not a string",
			"9 spec.packageContext must be a map, not a list",
		}},
		"revision that is neither": {variantHead + "spec:\n  upstream: {repo: a, package: b, revision: 1.5}\n  downstream: {repo: c, package: d}\n", []string{
			"5 spec.upstream.revision cannot be read: revision must be a string or an integer, not 1.5",
		}},
		"policies": {variantBase + "  adoptionPolicy: adoptexisting\n  deletionPolicy: keep\n", []string{
			`7 spec.adoptionPolicy field can only be "adoptNone" or "adoptExisting" | did you mean "adoptExisting"?`,
			`8 spec.deletionPolicy can only be "orphan" or "delete" | it is "keep"`,
		}},
		"paths": {variantHead + "spec:\n  upstream: {repo: a, package: /b, revision: 1}\n  downstream: {repo: c, package: ../../etc}\n", []string{
			`5 spec.upstream.package: "/b" is an absolute path; leave out the leading slash`,
			"6 spec.downstream.package: \"../../etc\" is not a valid package path: it leaves the repository with `..`",
		}},
		"old set": {"apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariantSet\nmetadata: {name: x}\n", []string{
			"1 apiVersion config.porch.kpt.dev/v1alpha1 of PackageVariantSet is an old API that is not supported | rewrite it as config.porch.kpt.dev/v1alpha2: " +
				"targets[].package {repo, name} becomes repositories [{name: repo, packageNames: [name]}], targets[].repositories becomes repositorySelector, " +
				"targets[].objects.selectors[] becomes one target with objectSelector each, and packageName or repoName become template.downstream",
		}},
		"no version": {"apiVersion: config.porch.kpt.dev\nkind: PackageVariantSet\nmetadata: {name: x}\n", []string{
			`1 apiVersion "config.porch.kpt.dev" of kind PackageVariantSet is not known | use apiVersion: config.porch.kpt.dev/v1alpha2`,
		}},
		"misspelt kind": {"apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSets\n", []string{
			`2 kind "PackageVariantSets" of apiVersion config.porch.kpt.dev/v1alpha2 is not known | did you mean "PackageVariantSet"?`,
		}},
		"not YAML":        {"a: b: c\n", []string{"1 the document is not valid YAML: mapping values are not allowed in this context | check indentation and quoting near this line"}},
		"empty":           {"# nothing\n", []string{"0 the document is empty"}},
		"two documents":   {variantBase + "---\n" + variantBase, []string{"7 there is more than one document | give one document at a time"}},
		"a list":          {"- a\n", []string{"1 the document is not a mapping | a KRM resource has apiVersion, kind and metadata"}},
		"alias to itself": {variantBase + "  labels: &a\n    b: *a\n", []string{"7 spec.labels[b] must be a string, not a map"}},
		"metadata": {strings.Replace(variantBase, "{name: pv}", "{name: Pv_1, namespace: a.b, labels: {'a b': c}}", 1), []string{
			`3 metadata.name: "Pv_1" is not a valid name | a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
			`3 metadata.namespace: "a.b" is not a valid namespace | must not contain dots`,
			`3 metadata.labels[a b]: key "a b" is not valid: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
		}},
		"selector": {setHead + "  targets:\n  - repositorySelector: {matchExpressions: [{key: a, operator: in, values: [b]}, {key: a, operator: In}]}\n", []string{
			`7 spec.targets[0].repositorySelector.matchExpressions[0].operator can only be DoesNotExist, Exists, In, NotIn | did you mean "In"?`,
			`7 spec.targets[0].repositorySelector.matchExpressions[1]: values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty | In and NotIn need values; Exists and DoesNotExist take none`,
		}},
		"functions": {variantBase + "  pipeline:\n    mutators:\n    - {name: x}\n    - {image: a, exec: b}\n    - {image: a, configPath: ../x, configMap: {a: b}}\n    - {image: 'a b'}\n", []string{
			"9 spec.pipeline.mutators[0].image must not be empty | name an image, or a program with exec",
			"10 spec.pipeline.mutators[1] may specify only one of `image` and `exec`",
			"11 spec.pipeline.mutators[2] may specify only one of `configPath` and `configMap`",
			"11 spec.pipeline.mutators[2].configPath must not leave the package with `..`",
			"12 spec.pipeline.mutators[3].image: function image reference \"a b\" is invalid: invalid reference format | such as ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2",
		}},
		"set template": {setHead + "  targets:\n  - repositories: [{name: r}]\n    template:\n      labels: {a/b/c: d}\n      packageContext: {data: {name: x}, dataExprs: [{key: package-path, value: x}, {value: y}]}\n      injectors: [{nameExpr: ' '}]\n", []string{
			"10 spec.targets[0].template.packageContext.dataExprs[0].key must not be the key \"package-path\" | kpt sets this key itself; remove it",
			"10 spec.targets[0].template.packageContext.dataExprs[1] must specify either `key` or `keyExpr`",
			`10 spec.targets[0].template.packageContext.data: Invalid value: {"name":"x"}: must not contain the key "name" | kpt sets this key itself; remove it`,
			"11 spec.targets[0].template.injectors[0].nameExpr must not be empty | write a CEL expression that gives a string",
			`9 spec.targets[0].template.labels[a/b/c]: key "a/b/c" is not valid: a valid label key must consist of`,
		}},
		"packageNames beside repositories": {setHead + "  targets:\n  - repositories: [{name: r}]\n    packageNames: [a]\n", []string{
			"8 spec.targets[0].packageNames stands beside a selector, not beside `repositories` | put packageNames into each entry of repositories",
		}},
		"repository": {repoHead + "  type: gti\n  git: {url: x, branch: 'a b', directory: a/../b}\n", []string{
			`6 unknown field spec.git.url | the address is called "repo"`,
			`5 spec.type can only be "git" or "oci" | did you mean "git"?`,
		}},
		"git repository": {repoHead + "  git: {branch: 'a b', directory: a/../b}\n", []string{
			"5 spec.git.repo is a required field | the address of the Git repository: a URL or a path",
			`5 spec.git.branch: "a b" is not a valid branch name`,
			"5 spec.git.directory: \"a/../b\" is not a valid package path: it leaves the repository with `..`",
		}},
		"repository name": {strings.Replace(repoHead, "name: r", "name: a.b", 1) + "  oci: {registry: x}\n", []string{
			"3 metadata.name must conform to the RFC1123 DNS label standard | must not contain dots",
		}},
		"both kinds of repository": {repoHead + "  git: {repo: x}\n  oci: {registry: y}\n", []string{
			"6 spec.oci must not be given when spec.type is git | remove it, or change spec.type",
		}},
		"neither kind": {repoHead + "  deployment: true\n", []string{"4 spec.git is a required field | a Repository has a git section"}},
		"inject config": {"apiVersion: variform.dev/v1alpha1\nkind: InjectConfig\ninjectors: [{kind: X}]\nresources:\n- {apiVersion: v1}\n", []string{
			"3 injectors[0].name must not be empty | an injector selects its object by name",
			"5 resources[0].kind is a required field | each resource is a whole object",
			"5 resources[0].metadata.name is a required field | injectors select by name",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, report := api.Parse([]byte(tc.doc), api.WithFile("f.yaml"))
			got := lines(report.Errors)
			if len(got) == len(tc.want) {
				for i := range got { // long texts of Kubernetes are compared by their beginning
					if strings.HasPrefix(got[i]+" | ", tc.want[i]) {
						got[i] = tc.want[i]
					}
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if err := report.Err(); !errors.Is(err, api.ErrInvalid) || !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestBombs: what grows by aliases is refused, wherever it stands, and soon.
func TestBombs(t *testing.T) {
	var levels, merges strings.Builder
	levels.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	merges.WriteString("m0: &m0 {x: y}\n")
	for i := 1; i < 12; i++ {
		alias := fmt.Sprintf("*a%d", i-1)
		fmt.Fprintf(&levels, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(alias+", ", 10), ", "))
		merge := fmt.Sprintf("*m%d", i-1)
		fmt.Fprintf(&merges, "m%d: &m%d {<<: [%s]}\n", i, i, strings.TrimSuffix(strings.Repeat(merge+", ", 10), ", "))
	}
	const inject = "apiVersion: variform.dev/v1alpha1\nkind: InjectConfig\n"
	for name, doc := range map[string]string{
		"fields of managedFields": levels.String() + strings.Replace(variantBase, "{name: pv}", "{name: pv, managedFields: [{fieldsV1: {x: *a11}}]}", 1),
		"merged maps":             merges.String() + variantBase + "  labels: {<<: *m11}\n",
		"inline resources":        levels.String() + inject + "resources: [{apiVersion: v1, kind: X, metadata: {name: n}, data: *a11}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, report := api.Parse([]byte(doc))
			if !strings.Contains(report.Errors.Error(), "alias") {
				t.Errorf("not refused: %v", report.Errors)
			}
		})
	}
}

// TestTolerated: forms of the examples in Porch's PackageVariant design, and
// fields of Porch without effect here.
func TestTolerated(t *testing.T) {
	cases := map[string]struct {
		doc  string
		want []string
		same string // the documented form of the same
	}{
		"single map for a list": {
			doc:  setHead + "  targets:\n  - repositories: [{name: r}]\n    template:\n      labelExprs: {key: a, value: b}\n      annotationExprs: {key: a, value: b}\n",
			same: setHead + "  targets:\n  - repositories: [{name: r}]\n    template:\n      labelExprs: [{key: a, value: b}]\n      annotationExprs: [{key: a, value: b}]\n",
			want: []string{
				`9 spec.targets[0].template.labelExprs is a list; the single map is read as its only entry | put "- " before the entry`,
				`10 spec.targets[0].template.annotationExprs is a list; the single map is read as its only entry | put "- " before the entry`,
			},
		},
		"injectorExprs": {
			doc:  setHead + "  targets:\n  - repositories: [{name: r}]\n    template:\n      injectors: [{name: a}]\n      injectorExprs: [{nameExpr: \"'b'\"}]\n",
			same: setHead + "  targets:\n  - repositories: [{name: r}]\n    template:\n      injectors: [{name: a}, {nameExpr: \"'b'\"}]\n",
			want: []string{`10 spec.targets[0].template.injectorExprs is read as spec.targets[0].template.injectors | write "injectors"`},
		},
		"injectors of a variant": {
			doc:  variantBase + "  injectors:\n    name: x\n",
			same: variantBase + "  injectors:\n  - name: x\n",
			want: []string{`8 spec.injectors is a list; the single map is read as its only entry | put "- " before the entry`},
		},
		"packageNames beside a selector": {
			doc:  setHead + "  targets:\n  - repositorySelector: {}\n    packageNames: [a]\n",
			want: []string{"8 spec.targets[0].packageNames beside a selector works here, but Porch's controller ignores it"},
		},
		"revision as a string": {doc: strings.Replace(variantBase, "revision: 1", `revision: "1"`, 1), same: variantBase},
		"status and what kubectl adds": {
			doc: strings.Replace(variantBase, "{name: pv}", "{name: pv, uid: x, resourceVersion: '1', generation: 2, creationTimestamp: 2024-01-01T00:00:00Z, "+
				"managedFields: [{manager: m, operation: Update, apiVersion: v1, time: '2024-01-01T00:00:00Z', fieldsType: FieldsV1, fieldsV1: {'f:spec': {}}}]}", 1) +
				"status:\n  conditions: [{type: Ready, status: 'True', reason: r, message: m, lastTransitionTime: '2024-01-01T00:00:00Z'}]\n" +
				"  downstreamTargets: [{name: x, renderStatus: {result: {exitCode: 0}, error: ''}}]\n",
		},
		"a written status": {
			doc:  variantBase + "status: {conditions: []}\n",
			want: []string{"7 status has no effect here | state is read from Git"},
		},
		"Porch's repository fields": {
			doc: repoHead + "  description: d\n  content: Package\n  deployment: true\n  type: git\n  sync: {schedule: '* * * * *', runOnceAt: '2024-01-01T00:00:00Z'}\n" +
				"  git: {repo: 'https://u:p@h/r.git', branch: b, createBranch: true, directory: /d/, author: a, email: e, secretRef: {name: s}}\n",
			want: []string{
				"9 spec.sync has no effect here | every run reads the repository",
				"10 spec.git.secretRef has no effect here | credentials come from your own Git credential helper or Docker keychain",
				"10 spec.git.author has no effect here | Variform's commits have a fixed identity",
				"10 spec.git.email has no effect here | Variform's commits have a fixed identity",
				"10 spec.git.repo holds a password in clear | credentials come from your own Git credential helper or Docker keychain",
			},
		},
		"spec of an InjectConfig": {
			doc:  "apiVersion: variform.dev/v1alpha1\nkind: InjectConfig\nspec:\n  injectors: [{name: x}]\n",
			same: "apiVersion: variform.dev/v1alpha1\nkind: InjectConfig\ninjectors: [{name: x}]\n",
			want: []string{"4 the fields of an InjectConfig stand at the top level; those under spec are read as if they did"},
		},
		"Porch's package revision": {
			doc: "apiVersion: porch.kpt.dev/v1alpha1\nkind: PackageRevision\nmetadata: {name: r.p.v1, labels: {a: b}}\n" +
				"spec: {packageName: p, repository: r, workspaceName: v1, revision: 1, lifecycle: Published, tasks: [{type: init}], readinessGates: []}\nstatus: {publishedBy: me}\n",
		},
		"Porch's package revision of v1alpha2": {
			doc: "apiVersion: porch.kpt.dev/v1alpha2\nkind: PackageRevision\nmetadata: {name: r.p.v1}\n" +
				"spec: {packageName: p, repository: r, workspaceName: v1, lifecycle: Published, source: {init: {}}}\nstatus: {revision: 3, observedGeneration: 1}\n",
			same: "apiVersion: porch.kpt.dev/v1alpha2\nkind: PackageRevision\nmetadata: {name: r.p.v1}\n" +
				"spec: {packageName: p, repository: r, workspaceName: v1, lifecycle: Published, revision: 3}\nstatus: {revision: 3}\n",
		},
		"merge keys and aliases": {
			doc:  variantHead + "spec:\n  upstream: &u {repo: a, package: b, revision: 1}\n  downstream: {repo: c, package: d}\n  labels: &l {a: b}\n  annotations: {<<: *l, c: d}\n",
			same: variantBase + "  labels: {a: b}\n  annotations: {a: b, c: d}\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			obj, report := api.Parse([]byte(tc.doc))
			if err := report.Err(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, lines(report.Warnings)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if tc.same == "" {
				return
			}
			same, _ := api.Parse([]byte(tc.same))
			if diff := cmp.Diff(same, obj); diff != "" {
				t.Errorf("-documented form +got:\n%s", diff)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	for in, want := range map[string]string{"/": "", ".": "", "": "", "/a/b/": "a/b", "./a": "a", "a//b": "a/b"} {
		obj, report := api.Parse([]byte(repoHead + fmt.Sprintf("  git: {repo: x, directory: %q}\n", in)))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		r := obj.(*v1alpha1.Repository)
		got := []string{r.Namespace, string(r.Spec.Type), r.Spec.Git.Branch, r.Spec.Git.Directory}
		if diff := cmp.Diff([]string{"default", "git", "main", want}, got); diff != "" {
			t.Errorf("directory %q (-want +got):\n%s", in, diff)
		}
	}
}

func TestRevision(t *testing.T) {
	for in, want := range map[string]v1alpha1.Revision{"1": "1", "-1": "-1", "v1": "v1", `"2"`: "2", "'>=1.0 <2'": ">=1.0 <2", "1e3": "1e3"} {
		obj, _ := api.Parse([]byte(strings.Replace(variantBase, "revision: 1", "revision: "+in, 1)))
		if got := obj.(*v1alpha1.PackageVariant).Spec.Upstream.Revision; in != "1e3" && got != want {
			t.Errorf("revision: %s gave %q, want %q", in, got, want)
		}
	}
}

// TestLabelsOfSets: the pair of label and annotation names the set whatever its length.
func TestLabelsOfSets(t *testing.T) {
	for _, set := range []string{"s", strings.Repeat("a", 63), strings.Repeat("a", 54) + "." + strings.Repeat("b", 100)} {
		label, annotation := variformv1alpha1.SetMetadata(set)
		if err := api.CheckLabel(variformv1alpha1.SetKey, label); err != nil {
			t.Error(err)
		}
		labels := map[string]string{variformv1alpha1.SetKey: label}
		if got := variformv1alpha1.SetOf(labels, map[string]string{variformv1alpha1.SetKey: annotation}); got != set {
			t.Errorf("got %q, want %q", got, set)
		}
		if !variformv1alpha1.IsGenerated(labels) || variformv1alpha1.IsGenerated(nil) {
			t.Error("IsGenerated")
		}
	}
}

func TestHandles(t *testing.T) {
	for k, want := range map[[2]string]bool{
		{v1alpha1.APIVersion, "PackageVariant"}: true, {v1alpha1.APIVersion, "PackageVariantSet"}: true, {v1alpha1.Group, "Repository"}: true,
		{"v1", "ConfigMap"}: false, {"variform.dev/v1alpha1", "PackageManifest"}: true, {"variform.dev/v1", "Catalog"}: true, {"variform.dev/v1alpha1", "Fleet"}: true, {"variform.dev/v1alpha1", "Flet"}: false, {"config.porch.kpt.dev/v1alpha1", "FunctionConfig"}: false,
	} {
		if got := api.Handles(k[0], k[1]); got != want {
			t.Errorf("Handles(%q, %q) = %t", k[0], k[1], got)
		}
	}
}

func TestCheckPackagePath(t *testing.T) {
	for path, ok := range map[string]bool{
		"a": true, "a/b": true, "a.b/c-d_e": true, "": false, "/a": false, "a/": false, "a//b": false, "..": false, "a/../b": false, ".": false,
		strings.Repeat("a", 255) + "/b": true, "b/" + strings.Repeat("a", 256): false,
		"./a": false, ".git": false, "a.lock": false, "a b": false, "a:b": false, `a\b`: false, "-a": false, "a..b": false, "a\x00": false, "a@{b": false, "ä": true,
	} {
		if err := api.CheckPackagePath(path); (err == nil) != ok {
			t.Errorf("CheckPackagePath(%q) = %v", path, err)
		}
	}
}

// TestCheckLabel: the short ways round Kubernetes' own checks agree with them.
func TestCheckLabel(t *testing.T) {
	words := []string{"", "a", "A_b.c", "-a", "a-", "a b", "ä", ".", "a..b", strings.Repeat("a", 63), strings.Repeat("a", 64)}
	for _, prefix := range append(words, "foo.org", "foo..org", ".org", "org.", "Foo.org", strings.Repeat("a.", 126)+"a", strings.Repeat("a.", 127)+"a") {
		for _, name := range append(words, "a/b") {
			for _, key := range []string{name, prefix + "/" + name} {
				want := len(validation.IsQualifiedName(key)) == 0
				if got := api.CheckLabel(key, "v") == nil; got != want {
					t.Errorf("CheckLabel(%q) is valid: %t, want %t", key, got, want)
				}
			}
		}
	}
	for _, value := range words {
		want := len(validation.IsValidLabelValue(value)) == 0
		if got := api.CheckLabel("k", value) == nil; got != want {
			t.Errorf("CheckLabel(k, %q) is valid: %t, want %t", value, got, want)
		}
	}
}

func TestEncodeReadsBack(t *testing.T) {
	for _, doc := range []string{
		variantBase + "  labels: {a: 'yes', b: 'null', c: '1.0'}\n  annotations: {d: \"multi\\nline\", e: ' x ', f: '', g: '# x', h: '012', i: \"a: b\"}\n  pipeline: {validators: [{exec: x, selectors: [{kind: Y}], exclude: [{name: n}]}]}\n",
		setHead + "  targets:\n  - repositorySelector: {}\n  - objectSelector: {apiVersion: v1, kind: Pod, name: p, matchLabels: {a: b}}\n    template: {pipeline: {mutators: [{image: x, configMapExprs: [{key: k, valueExpr: e}]}]}}\n",
		repoHead + "  deployment: true\n  git: {repo: x, directory: a}\n",
		"apiVersion: variform.dev/v1alpha1\nkind: InjectConfig\ninjectors: [{name: x}]\nresources: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: c}}]\n",
	} {
		obj, report := api.Parse([]byte(doc))
		if err := report.Err(); err != nil {
			t.Fatal(err)
		}
		data, err := api.Encode(obj)
		if err != nil {
			t.Fatal(err)
		}
		back, report := api.Parse(data)
		if err := report.Err(); err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		again, _ := api.Encode(back)
		if diff := cmp.Diff(string(data), string(again)); diff != "" {
			t.Errorf("-first +second:\n%s", diff)
		}
		if _, ok := obj.(*variformv1alpha1.InjectConfig); !ok {
			if diff := cmp.Diff(obj, back, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-written +read:\n%s", diff)
			}
		}
	}
}

func TestNoSecretInIssues(t *testing.T) {
	_, report := api.Parse([]byte(repoHead + "  git: {repo: 'https://user:hunter2@h/r.git', branch: '..'}\n"))
	if text := report.Errors.Error() + report.Warnings.Error(); strings.Contains(text, "hunter2") || len(report.Errors) == 0 {
		t.Error(text)
	}
}

// FuzzParse: nothing panics, every issue has a message, and what parses can be
// written and read back to the same bytes.
func FuzzParse(f *testing.F) {
	for _, s := range []string{variantBase, setHead + "  targets: [{repositorySelector: {}}]\n", repoHead + "  git: {repo: x}\n", "a: &a [*a]", "{<<: {a: b}}", "kind: X"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		obj, report := api.Parse(data)
		if slices.ContainsFunc(report.Errors, func(i api.Issue) bool { return i.Message == "" }) {
			t.Error("an issue without a message")
		}
		if obj == nil || report.Err() != nil {
			return
		}
		first, err := api.Encode(obj)
		if err != nil {
			t.Fatal(err)
		}
		back, report := api.Parse(first)
		if err := report.Err(); err != nil {
			t.Fatalf("%v in\n%s", err, first)
		}
		second, err := api.Encode(back)
		if err != nil || string(first) != string(second) {
			t.Errorf("%v:\n%s\n%s", err, first, second)
		}
	})
}

func TestDigestOf(t *testing.T) {
	for text, want := range map[string]string{
		"sha256:0a": "sha256:0a", "@sha256:0a": "sha256:0a", "git:0a": "git:0a", "sha512+b64:A-_=": "sha512+b64:A-_=",
		"1.2.3": "", "sha256:": "", ":0a": "", "sha256:0 a": "", "a/b@sha256:0a": "", "@": "", "": "",
	} {
		if got := api.DigestOf(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for constraints, ok := range map[string]bool{">=1": true, "sha256:0a": true, "@sha256:0a": true, "newest": false} {
		doc := "apiVersion: variform.dev/v1alpha1\nkind: Installation\nmetadata: {name: a}\nspec: {package: p, constraints: '" + constraints + "'}\n"
		if _, report := api.Parse([]byte(doc)); (report.Err() == nil) != ok {
			t.Errorf("%s: %v", constraints, report.Err())
		}
	}
}
