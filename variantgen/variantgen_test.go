package variantgen_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/celexpr"
	"github.com/variform/variform/variantgen"
)

func setIn(tb testing.TB, obj any) *v1alpha2.PackageVariantSet {
	tb.Helper()
	set, ok := obj.(*v1alpha2.PackageVariantSet)
	if !ok {
		tb.Fatalf("%T is no PackageVariantSet", obj)
	}
	return set
}

// setOf reads a set whose targets are given as YAML.
func setOf(tb testing.TB, name, targets string) *v1alpha2.PackageVariantSet {
	tb.Helper()
	return parseSet(tb, fmt.Sprintf(`apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: %s, namespace: default}
spec:
  upstream: {repo: catalog, package: foo, revision: 1}
  targets:
%s`, name, targets))
}

func inputs() variantgen.Inputs {
	return variantgen.Inputs{
		Repositories: []*v1alpha1.Repository{
			repo("r1", map[string]string{"env": "prod", "org": "hr", "region": "useast1"}),
			repo("r2", map[string]string{"env": "prod", "org": "hr"}),
			repo("r3", map[string]string{"env": "dev"}),
		},
		Objects: []variantgen.Object{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "cm-b", Labels: map[string]string{"repo": "r2"}},
			{APIVersion: "v1", Kind: "ConfigMap", Name: "cm-a", Labels: map[string]string{"repo": "r1"}, Annotations: map[string]string{"a": "b"}},
			{APIVersion: "v1", Kind: "ConfigMap", Name: "cm-c", Namespace: "other", Labels: map[string]string{"repo": "r3"}},
		},
		Upstreams: variantgen.UpstreamFunc(func(ns string, u v1alpha1.Upstream) (variantgen.Metadata, error) {
			return variantgen.Metadata{
				Name: u.Repo + "." + u.Package + ".v1", Namespace: ns,
				Labels: map[string]string{"team": "x"}, Annotations: map[string]string{"owner": "y"},
			}, nil
		}),
	}
}

func expand(tb testing.TB, in variantgen.Inputs, sets ...*v1alpha2.PackageVariantSet) variantgen.Result {
	tb.Helper()
	return variantgen.ExpandAll(variantgen.NewEnv(in), sets...)
}

func names(res variantgen.Result) []string {
	var out []string
	for _, pv := range res.Variants {
		out = append(out, pv.Name+" "+pv.Spec.Downstream.Repo+"/"+pv.Spec.Downstream.Package)
	}
	return out
}

func TestExpand(t *testing.T) {
	cases := map[string]struct {
		reason   string
		targets  string
		want     []string
		warnings []string
	}{
		"object by name": {
			reason:  "objectSelector.name selects, which Porch ignores",
			targets: "  - objectSelector: {apiVersion: v1, kind: ConfigMap, name: cm-a}\n    template: {downstream: {repoExpr: \"target.labels['repo']\"}}\n",
			want:    []string{"s-r1-foo r1/foo"},
		},
		"objects of the set's namespace only": {
			targets: "  - objectSelector: {apiVersion: v1, kind: ConfigMap}\n    template: {downstream: {repoExpr: \"target.labels['repo']\"}}\n",
			want:    []string{"s-r1-foo r1/foo", "s-r2-foo r2/foo"},
		},
		"packageNames beside an objectSelector": {
			targets: "  - objectSelector: {apiVersion: v1, kind: ConfigMap, name: cm-a}\n    packageNames: [a, b]\n    template: {downstream: {repo: r3}}\n",
			want:    []string{"s-r3-a r3/a", "s-r3-b r3/b"},
		},
		"objectSelector of Repositories": {
			reason:  "Porch's PackageVariant design calls a repositorySelector the same",
			targets: "  - objectSelector: {apiVersion: config.porch.kpt.dev/v1alpha1, kind: Repository, matchLabels: {env: dev}}\n",
			want:    []string{"s-r3-foo r3/foo"},
		},
		"matchExpressions": {
			targets: "  - repositorySelector: {matchExpressions: [{key: region, operator: DoesNotExist}, {key: env, operator: In, values: [dev, prod]}]}\n",
			want:    []string{"s-r2-foo r2/foo", "s-r3-foo r3/foo"},
		},
		"empty selector selects all": {
			targets: "  - repositorySelector: {}\n",
			want:    []string{"s-r1-foo r1/foo", "s-r2-foo r2/foo", "s-r3-foo r3/foo"},
		},
		"empty selection warns": {
			targets: "  - repositorySelector: {matchLabels: {env: none}}\n  - objectSelector: {apiVersion: v1, kind: Pod}\n  - repositories: [{name: r1}]\n",
			want:    []string{"s-r1-foo r1/foo"},
			warnings: []string{
				`PackageVariantSet default/s: spec.targets[0]: repositorySelector matches no Repository in namespace "default"; the 3 there have the labels env=dev, env=prod, org=hr, region=useast1`,
				`PackageVariantSet default/s: spec.targets[1]: objectSelector matches no Pod of v1 in namespace "default"; there is none there`,
			},
		},
		"repository is the downstream's, target the selected": {
			reason:  "downstream.repo may lead elsewhere (Porch's PackageVariant design, table of target)",
			targets: "  - repositorySelector: {matchLabels: {region: useast1}}\n    template: {downstream: {repo: r2, packageExpr: \"target.name + '-' + repository.name + '-' + repoDefault\"}}\n",
			want:    []string{"s-r2-r1-r2-r1 r2/r1-r2-r1"},
		},
		"empty expressions are unset": {
			reason:  "as in Porch",
			targets: "  - repositories: [{name: r1}]\n    template: {downstream: {repoExpr: '', packageExpr: ''}}\n",
			want:    []string{"s-r1-foo r1/foo"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res := expand(t, inputs(), setOf(t, "s", tc.targets))
			if err := res.Err(); err != nil {
				t.Fatal(err)
			}
			var warnings []string
			for _, w := range res.Warnings {
				warnings = append(warnings, w.String())
			}
			if diff := cmp.Diff(tc.want, names(res)); diff != "" {
				t.Errorf("variants (-want +got) %s:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFailures: each names target, field and expression, and the good targets
// of the same set are made.
func TestFailures(t *testing.T) {
	const good = "  - repositories: [{name: r3, packageNames: [good]}]\n"
	cases := map[string]struct {
		target string
		field  string
		expr   string
		kind   error
		text   []string
		in     func(*variantgen.Inputs)
	}{
		"does not compile": {
			target: "  - repositories: [{name: r1}]\n    template: {labelExprs: [{key: a, value: b}, {key: a, valueExpr: \"repository.\"}]}\n",
			field:  "spec.targets[1].template.labelExprs[1].valueExpr", expr: "repository.", kind: celexpr.ErrCompile, text: []string{"Syntax error"},
		},
		"returns a number": {
			target: "  - repositories: [{name: r1}]\n    template: {downstream: {packageExpr: \"1 + 1\"}}\n",
			field:  "spec.targets[1].template.downstream.packageExpr", expr: "1 + 1", kind: celexpr.ErrType, text: []string{"type int", "string(…)"},
		},
		"costs too much": {
			target: "  - repositories: [{name: r1}]\n    template: {injectors: [{nameExpr: \"lists.range(2000).map(a, lists.range(2000).map(b, repoDefault)[0])[0]\"}]}\n",
			field:  "spec.targets[1].template.injectors[0].nameExpr", kind: celexpr.ErrCost, text: []string{"costs more than 1000000"},
			expr: "lists.range(2000).map(a, lists.range(2000).map(b, repoDefault)[0])[0]",
		},
		"names a missing label": {
			target: "  - repositories: [{name: r2}]\n    template: {packageContext: {dataExprs: [{key: k, valueExpr: \"repository.labels['region']\"}]}}\n",
			field:  "spec.targets[1].template.packageContext.dataExprs[0].valueExpr", expr: "repository.labels['region']",
			kind: celexpr.ErrEvaluate, text: []string{"no such key: region", "repositories[0] (r2/foo)"},
		},
		"repository in repoExpr": {
			target: "  - repositories: [{name: r1}]\n    template: {downstream: {repoExpr: repository.name}}\n",
			field:  "spec.targets[1].template.downstream.repoExpr", expr: "repository.name", kind: celexpr.ErrCompile, text: []string{"not there yet"},
		},
		"missing Repository": {
			target: "  - repositories: [{name: r11}]\n",
			field:  "spec.targets[1].repositories[0].name", kind: variantgen.ErrRepository, text: []string{`repository "r11" could not be loaded`, `did you mean "r1"?`},
		},
		"missing Repository of an expression": {
			target: "  - repositories: [{name: r1}]\n    template: {downstream: {repoExpr: \"repoDefault + '-x'\"}}\n",
			field:  "spec.targets[1].template.downstream.repoExpr", kind: variantgen.ErrRepository, text: []string{`"r1-x"`},
		},
		"package that leaves the repository": {
			target: "  - repositories: [{name: r1}]\n    template: {downstream: {packageExpr: \"'../' + repoDefault\"}}\n",
			field:  "spec.targets[1].template.downstream.packageExpr", expr: "'../' + repoDefault", kind: variantgen.ErrValue, text: []string{"`..`"},
		},
		"label value not valid": {
			target: "  - repositories: [{name: r1}]\n    template: {labelExprs: [{key: a, valueExpr: \"repoDefault + ' x'\"}]}\n",
			field:  "spec.targets[1].template.labelExprs[0].valueExpr", expr: "repoDefault + ' x'", kind: variantgen.ErrValue, text: []string{`"r1 x"`},
		},
		"computed key not valid": {
			target: "  - repositories: [{name: r1}]\n    template: {annotationExprs: [{keyExpr: \"repoDefault + '/b/c'\", value: x}]}\n",
			field:  "spec.targets[1].template.annotationExprs[0].keyExpr", expr: "repoDefault + '/b/c'", kind: variantgen.ErrValue, text: []string{"r1/b/c"},
		},
		"reserved context key": {
			target: "  - repositories: [{name: r1}]\n    template: {packageContext: {dataExprs: [{keyExpr: \"'na' + 'me'\", value: x}]}}\n",
			field:  "spec.targets[1].template.packageContext.dataExprs[0].keyExpr", expr: "'na' + 'me'", kind: variantgen.ErrValue, text: []string{`the key "name"`},
		},
		"injector without a name": {
			target: "  - repositories: [{name: r1}]\n    template: {injectors: [{nameExpr: \"repository.labels['org'].substring(2)\"}]}\n",
			field:  "spec.targets[1].template.injectors[0].nameExpr", expr: "repository.labels['org'].substring(2)", kind: variantgen.ErrValue, text: []string{"must not be empty"},
		},
		"upstream unknown": {
			target: "  - repositories: [{name: r1}]\n    template: {labelExprs: [{key: a, valueExpr: upstream.name}]}\n",
			field:  "spec.targets[1].template.labelExprs[0].valueExpr", expr: "upstream.name", kind: variantgen.ErrUpstreamUnknown, text: []string{"give its PackageRevision"},
			in: func(in *variantgen.Inputs) { in.Upstreams = nil },
		},
		"repository unknown": {
			target: "  - repositories: [{name: nowhere}]\n    template: {labelExprs: [{key: a, valueExpr: repository.name}]}\n",
			field:  "spec.targets[1].template.labelExprs[0].valueExpr", expr: "repository.name", kind: variantgen.ErrRepository, text: []string{"cannot be used"},
			in: func(in *variantgen.Inputs) { in.RepositoriesUnknown = true },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := inputs()
			if tc.in != nil {
				tc.in(&in)
			}
			res := expand(t, in, setOf(t, "s", good+tc.target))
			if diff := cmp.Diff([]string{"s-r3-good r3/good"}, names(res)); diff != "" {
				t.Errorf("the good target (-want +got):\n%s", diff)
			}
			if len(res.Failures) != 1 {
				t.Fatalf("want one failure, got %v", res.Failures)
			}
			f := res.Failures[0]
			if f.Target != 1 || f.Field != tc.field || f.Expression != tc.expr || !errors.Is(f, tc.kind) {
				t.Errorf("target %d, field %q, expression %q, error %v", f.Target, f.Field, f.Expression, f.Err)
			}
			for _, text := range append(tc.text, "PackageVariantSet default/s", "spec.targets[1]", tc.field) {
				if !strings.Contains(f.Error(), text) {
					t.Errorf("error %q does not say %q", f, text)
				}
			}
		})
	}
}

func TestFailureOfUpstream(t *testing.T) {
	in := inputs()
	gone := errors.New("no such package")
	in.Upstreams = variantgen.UpstreamFunc(func(string, v1alpha1.Upstream) (variantgen.Metadata, error) {
		return variantgen.Metadata{}, gone
	})
	uses := setOf(t, "a", "  - repositories: [{name: r1}]\n    template: {labelExprs: [{key: a, valueExpr: upstream.name}]}\n")
	not := setOf(t, "b", "  - repositories: [{name: r2}]\n")
	res := expand(t, in, uses, not)
	if len(res.Failures) != 1 || !errors.Is(res.Err(), gone) || res.Failures[0].Target != -1 || res.Failures[0].Field != "spec.upstream" {
		t.Errorf("got %v", res.Failures)
	}
	if diff := cmp.Diff([]string{"b-r2-foo r2/foo"}, names(res)); diff != "" {
		t.Error(diff)
	}
}

func TestAllFailuresOfATarget(t *testing.T) {
	res := expand(t, inputs(), setOf(t, "s", "  - repositories: [{name: r2}]\n    template:\n"+
		"      labelExprs: [{key: a, valueExpr: \"repository.labels['x']\"}, {key: b, valueExpr: \"repository.labels['y']\"}]\n"+
		"      injectors: [{nameExpr: \"repository.labels['z']\"}]\n"))
	if len(res.Failures) != 3 {
		t.Errorf("want all three failures, got %v", res.Failures)
	}
}

// TestDuplicates: one downstream, two targets: neither is made, both are named.
func TestDuplicates(t *testing.T) {
	cases := map[string]struct {
		a, b  string
		texts []string
	}{
		"in one set": {
			a:     "  - repositories: [{name: r1, packageNames: [x]}]\n  - repositorySelector: {matchLabels: {region: useast1}}\n    packageNames: [x]\n",
			texts: []string{"spec.targets[0].repositories[0].packageNames[0] (r1/x)", "spec.targets[1].repositorySelector (Repository r1, package x)"},
		},
		"in one list": {
			a:     "  - repositories: [{name: r1, packageNames: [x, x]}]\n",
			texts: []string{"packageNames[0]", "packageNames[1]"},
		},
		"across sets": {
			a: "  - repositories: [{name: r1, packageNames: [x]}]\n", b: "  - repositories: [{name: r2, packageNames: [x]}]\n    template: {downstream: {repo: r1}}\n",
			texts: []string{"PackageVariantSet default/a: spec.targets[0]", "PackageVariantSet default/b: spec.targets[0]"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sets := []*v1alpha2.PackageVariantSet{setOf(t, "a", tc.a+"  - repositories: [{name: r3}]\n")}
			if tc.b != "" {
				sets = append(sets, setOf(t, "b", tc.b))
			}
			res := expand(t, inputs(), sets...)
			if diff := cmp.Diff([]string{"a-r3-foo r3/foo"}, names(res)); diff != "" {
				t.Errorf("the others (-want +got):\n%s", diff)
			}
			if len(res.Failures) != 2 {
				t.Fatalf("want two failures, got %v", res.Failures)
			}
			for _, f := range res.Failures {
				for _, text := range append(tc.texts, "r1/x") {
					if !errors.Is(f, variantgen.ErrDuplicate) || !strings.Contains(f.Error(), text) {
						t.Errorf("failure %q does not say %q", f, text)
					}
				}
			}
		})
	}
}

// What two targets both want is one cause in each set, however many packages that are; what
// one wants twice is one by package.
func TestCausesOfDuplicates(t *testing.T) {
	in := variantgen.Inputs{Repositories: benchRepos(50)}
	all := "  - repositorySelector: {}\n"
	for name, tc := range map[string]struct {
		sets   []string
		causes int
	}{
		"two sets":    {[]string{all, all}, 1},
		"three sets":  {[]string{all, all, "  - repositories: [{name: cluster-00000}]\n"}, 2},
		"two targets": {[]string{all + all}, 1},
		"one package": {[]string{all + "    template: {downstream: {repo: cluster-00000}}\n"}, 1},
		"one list":    {[]string{"  - repositories: [{name: cluster-00000, packageNames: [x, x, y, y]}]\n"}, 2},
	} {
		var sets []*v1alpha2.PackageVariantSet
		for i, targets := range tc.sets {
			sets = append(sets, setOf(t, string(rune('a'+i)), targets))
		}
		causes := map[string]bool{}
		for _, f := range expand(t, in, sets...).Failures {
			causes[f.Cause()] = true
		}
		if len(causes) != tc.causes {
			t.Errorf("%s: want %d causes, got %d: %q", name, tc.causes, len(causes), slices.Sorted(maps.Keys(causes)))
		}
	}
	for i := range 3 { // each by hand what the set makes too: a mistake with each
		pv := &v1alpha1.PackageVariant{}
		pv.Namespace, pv.Name = "default", fmt.Sprint("own-", i)
		pv.Spec.Upstream = &v1alpha1.Upstream{Repo: "catalog", Package: "foo", Revision: "v1"}
		pv.Spec.Downstream = &v1alpha1.Downstream{Repo: fmt.Sprintf("cluster-%05d", i), Package: "foo"}
		in.Written = append(in.Written, pv)
	}
	causes := map[string]bool{}
	for _, f := range expand(t, in, setOf(t, "a", all)).Failures {
		causes[f.Cause()] = true
	}
	if len(causes) != 3 {
		t.Errorf("variants by hand: want 3 causes, got %q", slices.Sorted(maps.Keys(causes)))
	}
	plain := variantgen.Failure{Err: errors.New("bad")}
	if plain.Cause() != "bad" {
		t.Errorf("another error's cause is %q", plain.Cause())
	}
}

func TestManyDuplicatesStayShort(t *testing.T) {
	in := variantgen.Inputs{Repositories: benchRepos(2_000)}
	res := expand(t, in, setOf(t, "s", "  - repositorySelector: {}\n    template: {downstream: {repo: cluster-00000}}\n"))
	if len(res.Failures) != 2_000 || len(res.Failures[0].Error()) > 1_000 || !strings.Contains(res.Failures[0].Error(), "and 1996 more") {
		t.Errorf("%d failures, first %v", len(res.Failures), res.Failures[0])
	}
}

// A set of several upstreams makes a variant of each for each target: names and
// expressions are those of one, and a package that two would make is an error.
func TestUpstreams(t *testing.T) {
	set := func(template string) *v1alpha2.PackageVariantSet {
		out := setOf(t, "s", "  - repositories: [{name: r1}, {name: r2}]\n    template: {"+template+"}\n")
		out.Spec.Upstreams = []v1alpha1.Upstream{*out.Spec.Upstream, {Repo: "up", Package: "bar", WorkspaceName: "v2"}}
		out.Spec.Upstream = nil
		return out
	}
	res := expand(t, inputs(), set(`labelExprs: [{key: p, valueExpr: packageDefault}]`))
	if diff := cmp.Diff([]string{"s-r1-bar r1/bar", "s-r1-foo r1/foo", "s-r2-bar r2/bar", "s-r2-foo r2/foo"}, names(res)); diff != "" || len(res.Failures) > 0 {
		t.Errorf("%s %v", diff, res.Failures)
	}
	for _, pv := range res.Variants {
		if pv.Spec.Upstream.Package != pv.Spec.Downstream.Package || pv.Spec.Labels["p"] != pv.Spec.Downstream.Package {
			t.Errorf("%s: %+v %v", pv.Name, pv.Spec.Upstream, pv.Spec.Labels)
		}
	}
	res = expand(t, inputs(), set(`downstream: {package: one}`))
	if len(res.Failures) == 0 || len(res.Variants) > 0 {
		t.Errorf("one package of two upstreams: %v %v", names(res), res.Failures)
	}
}

// What Porch's controller made of a set in a cluster is no variant written by
// hand; what it made of another set is.
func TestMadeByController(t *testing.T) {
	made := func(set string) *v1alpha1.PackageVariant {
		pv := &v1alpha1.PackageVariant{}
		pv.Name, pv.Spec.Downstream = set+"-r1-foo", &v1alpha1.Downstream{Repo: "r1", Package: set}
		pv.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha2.APIVersion, Kind: "PackageVariantSet", Name: set}}
		return pv
	}
	in := inputs()
	in.Written = []*v1alpha1.PackageVariant{made("s"), made("gone")}
	res := expand(t, in, setOf(t, "s", "  - repositories: [{name: r1}]\n"))
	if diff := cmp.Diff([]string{"s-r1-foo r1/foo"}, names(res)); diff != "" || len(res.Warnings) > 0 {
		t.Errorf("%s %v", diff, res.Warnings)
	}
	if len(res.Written) != 1 || res.Written[0].Name != "gone-r1-foo" {
		t.Errorf("by hand: %v", res.Written)
	}
}

func TestWritten(t *testing.T) {
	byHand := func(name, repo, pkg string) *v1alpha1.PackageVariant {
		pv := &v1alpha1.PackageVariant{}
		pv.Name, pv.Spec.Downstream = name, &v1alpha1.Downstream{Repo: repo, Package: pkg}
		return pv
	}
	set := setOf(t, "s", "  - repositories: [{name: r1}, {name: r2}, {name: r3}]\n")
	in := inputs()
	in.Written = []*v1alpha1.PackageVariant{byHand("s-r1-foo", "r1", "foo"), byHand("mine", "r2", "foo"), byHand("beside", "r2", "bar")}
	res := expand(t, in, set)
	if diff := cmp.Diff([]string{"s-r3-foo r3/foo"}, names(res)); diff != "" {
		t.Error(diff)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0].Message, "s-r1-foo is written by hand") {
		t.Errorf("twin: %v", res.Warnings)
	}
	if len(res.Failures) != 2 || !strings.Contains(res.Err().Error(), "PackageVariant default/mine") {
		t.Errorf("same downstream under another name: %v", res.Failures)
	}
	var kept []string
	for _, pv := range res.Written {
		kept = append(kept, pv.Name)
	}
	if diff := cmp.Diff([]string{"s-r1-foo", "beside"}, kept); diff != "" {
		t.Errorf("Written (-want +got):\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	cases := map[string]struct {
		set, repo, pkg string
		want           string // a trailing dash stands for the hash
	}{
		"plain":      {"s", "r", "p", "s-r-p"},
		"dots":       {"s", "r", "p.q", "s-r-p.q"},
		"long":       {"my-pvs", "dnrepo4", "supersupersuperloooooooooooooooooooooooooooooooooooooooooooooooooongpkgname", "my-pvs-dnrepo4-supersupersuperlooooooooooooooooooooooo-bec36506"},
		"slash":      {"s", "r", "a/b", "s-r-a-b-"},
		"upper case": {"s", "r", "Foo", "s-r-foo-"},
		"underscore": {"s", "r", "a_b", "s-r-a-b-"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := variantgen.Name(tc.set, tc.repo, tc.pkg)
			if strings.HasSuffix(tc.want, "-") && len(got) == len(tc.want)+8 {
				got = got[:len(tc.want)]
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestNamesDiffer: what would share a name does not.
func TestNamesDiffer(t *testing.T) {
	in := variantgen.Inputs{RepositoriesUnknown: true}
	a := setOf(t, "a", "  - repositories: [{name: b-c, packageNames: [d]}, {name: b, packageNames: [c-d, c/d]}]\n")
	ab := setOf(t, "a-b", "  - repositories: [{name: c, packageNames: [d]}]\n")
	res := expand(t, in, a, ab)
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, n := range names(res) {
		name, _, _ := strings.Cut(n, " ")
		if seen[name] || name == "a-b-c-d" || !strings.HasPrefix(name, "a-b-c-d-") {
			t.Errorf("name %q is not distinct: %v", name, names(res))
		}
		seen[name] = true
	}
	if len(seen) != 4 {
		t.Errorf("want four names, got %v", names(res))
	}
}

// TestOrderDoesNotMatter: shuffled inputs give the same bytes.
func TestOrderDoesNotMatter(t *testing.T) {
	targets := "  - repositorySelector: {matchLabels: {env: prod}}\n    packageNames: [b, a]\n    template: {labels: {z: z, a: a}, labelExprs: [{key: n, valueExpr: repository.name}]}\n"
	sets := []*v1alpha2.PackageVariantSet{setOf(t, "s1", targets), setOf(t, "s2", "  - repositories: [{name: r3}]\n"), setOf(t, "s3", "  - repositories: [{name: r3}]\n")}
	var first []byte
	for range 10 {
		in := inputs()
		rand.Shuffle(len(in.Repositories), func(i, j int) {
			in.Repositories[i], in.Repositories[j] = in.Repositories[j], in.Repositories[i]
		})
		rand.Shuffle(len(sets), func(i, j int) { sets[i], sets[j] = sets[j], sets[i] })
		got := dump(t, expand(t, in, slices.Clone(sets)...))
		if first == nil {
			first = got
		}
		if diff := cmp.Diff(string(first), string(got)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func dump(t *testing.T, res variantgen.Result) []byte {
	var b bytes.Buffer
	for _, pv := range res.Variants {
		data, err := variantgen.Encode(pv)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n")
		b.Write(data)
	}
	for _, f := range res.Failures {
		b.WriteString(f.Error() + "\n")
	}
	return b.Bytes()
}

func TestEncode(t *testing.T) {
	res := expand(t, inputs(), setOf(t, "s", "  - repositories: [{name: r1}]\n    template:\n"+
		"      adoptionPolicy: adoptExisting\n      labels: {b: \"yes\", a: \"1\"}\n"+
		"      packageContext: {data: {k: v}, removeKeys: [z, y]}\n"+
		"      pipeline: {mutators: [{image: set-labels:v0.2, name: f, configMap: {x: y}}]}\n"+
		"      injectors: [{kind: ConfigMap, name: n}]\n"))
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	got, err := variantgen.Encode(res.Variants[0])
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: config.porch.kpt.dev/v1alpha1
kind: PackageVariant
metadata:
  namespace: default
  name: s-r1-foo
  labels:
    variform.dev/set: s
spec:
  upstream:
    repo: catalog
    package: foo
    revision: 1
  downstream:
    repo: r1
    package: foo
  adoptionPolicy: adoptExisting
  labels:
    a: "1"
    b: "yes"
  packageContext:
    data:
      k: v
    removeKeys:
    - "y"
    - z
  pipeline:
    mutators:
    - image: set-labels:v0.2
      configMap:
        x: "y"
      name: f
  injectors:
  - kind: ConfigMap
    name: "n"
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	back, report := api.Parse(got)
	if err := report.Err(); err != nil {
		t.Fatalf("what was written does not read: %v", err)
	}
	if diff := cmp.Diff(res.Variants[0], back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func FuzzName(f *testing.F) {
	f.Add("s", "r", "a/b")
	f.Add("s", "r", "..")
	f.Add(strings.Repeat("a.", 40)+"a", "r", "-")
	f.Fuzz(func(t *testing.T, set, repo, pkg string) {
		if api.CheckName(set) != nil || api.CheckName(repo) != nil || api.CheckPackagePath(pkg) != nil {
			t.Skip()
		}
		name := variantgen.Name(set, repo, pkg)
		if len(name) > 63 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			t.Errorf("Name(%q, %q, %q) = %q", set, repo, pkg, name)
		}
	})
}
