package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRules holds what sets and variants must say, all mistakes of a document at once
// and in the words of Porch's own validation.
func TestRules(t *testing.T) {
	const set = "apiVersion: config.porch.kpt.dev/v1alpha2\nkind: PackageVariantSet\nmetadata: {name: s}\nspec:\n"
	const up = "  upstream: {repo: r, package: p, revision: v1}\n"
	const variant = "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: PackageVariant\nmetadata: {name: v}\nspec:\n"
	repository := func(annotations string) string {
		return "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: Repository\nmetadata: {name: r, annotations: " + annotations + "}\nspec: {type: git, git: {repo: /r}}\n"
	}
	target := func(s string) string { return set + up + "  targets:\n  - " + s + "\n" }
	template := func(s string) string {
		return target("{repositories: [{name: r}], template: {" + s + "}}")
	}
	cases := map[string]struct {
		text string
		want []string
	}{
		"nothing": {set + "  {}\n", []string{"must specify at least one item in spec.targets", "spec.upstream is a required field"}},
		"empty upstream": {set + "  upstream: {}\n  targets: [{repositories: [{name: r}]}]\n", []string{
			"spec.upstream.package is a required field", "spec.upstream.repo is a required field",
		}},
		"the newest Published": {set + "  upstream: {repo: r, package: p}\n  targets: [{repositories: [{name: r}]}]\n", nil},
		"upstreams beside it":  {set + "  upstream: {repo: r, package: p}\n  upstreams: [{repo: r, package: q}]\n  targets: [{repositories: [{name: r}]}]\n", []string{"spec.upstreams stands in the place of spec.upstream, not beside it"}},
		"wrong upstreams":      {set + "  upstreams: [{repo: r, package: p}, {repo: R, revision: \"0\"}]\n  targets: [{repositories: [{name: r}]}]\n", []string{"spec.upstreams[1].package is a required field", "spec.upstreams[1].repo: \"R\" is not a valid name", "either spec.upstreams[1].revision or spec.upstreams[1].workspaceName must be specified"}},
		"revision zero":        {set + "  upstream: {repo: r, package: p, revision: \"0\"}\n  targets: [{repositories: [{name: r}]}]\n", []string{"either spec.upstream.revision or spec.upstream.workspaceName must be specified"}},
		"a workspace is one":   {set + "  upstream: {repo: r, package: p, workspaceName: w}\n  targets: [{repositories: [{name: r}]}]\n", nil},
		"no way to target":     {target("{packageNames: [a]}"), []string{"spec.targets[0] must specify one of `repositories`, `repositorySelector`, or `objectSelector`"}},
		"two ways": {target("{repositories: [{name: r}], repositorySelector: {}}"), []string{
			"spec.targets[0] must specify one of `repositories`, `repositorySelector`, or `objectSelector`",
		}},
		"no repositories":   {target("{repositories: []}"), []string{"spec.targets[0].repositories must not be an empty list if specified"}},
		"nameless":          {target("{repositories: [{name: \"\", packageNames: [\"\"]}]}"), []string{"spec.targets[0].repositories[0].name cannot be empty", "spec.targets[0].repositories[0].packageNames[0] cannot be empty"}},
		"names beside both": {target("{repositories: [{name: r}], packageNames: [a]}"), []string{"spec.targets[0].packageNames stands beside a selector, not beside `repositories`"}},
		"plain and computed": {template("downstream: {repo: a, repoExpr: b, package: c, packageExpr: d}"), []string{
			"spec.targets[0].template may specify only one of `downstream.package` and `downstream.packageExpr`", "spec.targets[0].template may specify only one of `downstream.repo` and `downstream.repoExpr`",
		}},
		"a map's entries": {template("labelExprs: [{key: a, keyExpr: b, value: c, valueExpr: d}, {value: x}]"), []string{
			"spec.targets[0].template.labelExprs[0] may specify only one of `key` and `keyExpr`", "spec.targets[0].template.labelExprs[0] may specify only one of `value` and `valueExpr`",
			"spec.targets[0].template.labelExprs[1] must specify either `key` or `keyExpr`",
		}},
		"empty expressions": {template("annotationExprs: [{keyExpr: ' ', valueExpr: x}], injectors: [{nameExpr: ''}]"), []string{
			"spec.targets[0].template.annotationExprs[0].keyExpr must not be empty", "spec.targets[0].template.injectors[0].nameExpr must not be empty",
		}},
		"kpt's keys": {template("packageContext: {data: {name: x}, removeKeys: [package-path], dataExprs: [{key: name, value: y}]}"), []string{
			`spec.targets[0].template.packageContext.data: Invalid value: {"name":"x"}: must not contain the key "name"`, `spec.targets[0].template.packageContext.dataExprs[0].key must not be the key "name"`,
			`spec.targets[0].template.packageContext.removeKeys: Invalid value: ["package-path"]: must not contain the key "package-path"`,
		}},
		"injectors": {template("injectors: [{kind: A}, {name: a, nameExpr: b}, {name: ''}]"), []string{
			"spec.targets[0].template.injectors[0] must specify either `name` or `nameExpr`", "spec.targets[0].template.injectors[1] may specify only one of `name` and `nameExpr`",
			"spec.targets[0].template.injectors[2].name must not be empty",
		}},
		"empty variant":        {variant + "  {}\n", []string{"missing required field spec.downstream", "missing required field spec.upstream"}},
		"half a variant":       {variant + "  upstream: {}\n  downstream: {}\n", []string{"missing required field spec.downstream.package", "missing required field spec.downstream.repo", "missing required field spec.upstream.package", "missing required field spec.upstream.repo"}},
		"odd revisions":        {variant + "  upstream: {repo: r, package: p, revision: -2}\n  downstream: {repo: r, package: q}\n", []string{"spec.upstream.revision must not start with a dash"}},
		"controls":             {variant + "  upstream: {repo: r, package: p, revision: \"a\\tb\"}\n  downstream: {repo: r, package: q}\n", []string{"spec.upstream.revision holds control characters"}},
		"how to review":        {repository("{variform.dev/review: class}"), nil},
		"no way to review":     {repository("{variform.dev/review: classes}"), []string{"annotation variform.dev/review can only be class, variant, repository"}},
		"none at all":          {repository("{variform.dev/review: ''}"), []string{"annotation variform.dev/review can only be class, variant, repository"}},
		"a draft":              {repository(`{variform.dev/review-draft: "true"}`), nil},
		"no draft":             {repository(`{variform.dev/review-draft: "yes"}`), []string{`annotation variform.dev/review-draft can only be "true" or "false"`}},
		"merged by the forge":  {repository("{variform.dev/review-auto-merge: squash}"), nil},
		"no style of merge":    {repository(`{variform.dev/review-auto-merge: "true"}`), []string{"annotation variform.dev/review-auto-merge can only be merge, squash, rebase, never"}},
		"the branch":           {variant + "  upstream: {repo: r, package: p, revision: -1}\n  downstream: {repo: r, package: q}\n", nil},
		"no revision is right": {variant + "  upstream: {repo: r, package: p}\n  downstream: {repo: r, package: q}\n", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, report := Parse([]byte(tc.text))
			got := map[string]bool{}
			for _, m := range report.Errors.Messages() {
				got[m] = true
			}
			want := map[string]bool{}
			for _, m := range tc.want {
				want[m] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestBareGroup: Porch's own test data has the group without a version.
func TestBareGroup(t *testing.T) {
	for _, kind := range []string{"PackageVariantSet", "PackageVariant"} {
		text := []byte("apiVersion: config.porch.kpt.dev\nkind: " + kind + "\nmetadata: {name: x}\n")
		if obj, report := Decode(text, AllowBareGroup()); obj == nil || len(report.Errors) > 0 {
			t.Errorf("%s: %v", kind, report.Errors)
		}
		if obj, report := Decode(text); obj != nil || len(report.Errors) == 0 {
			t.Errorf("%s: taken without the option", kind)
		}
	}
}

func TestCheckContextKey(t *testing.T) {
	for key, want := range map[string]bool{"a": true, "a.b-c_d": true, "name": false, "package-path": false, "": false, "a/b": false, "..": false} {
		if err := CheckContextKey(key); (err == nil) != want {
			t.Errorf("%q: %v", key, err)
		}
	}
}
