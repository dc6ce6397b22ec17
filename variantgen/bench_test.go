package variantgen_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/variantgen"
)

// The five expressions of the yardstick: a labelExpr, an annotationExpr with
// keyExpr and valueExpr, a packageExpr, a packageContext dataExpr and an
// injector's nameExpr. That is six evaluations a variant.
const benchSet = `apiVersion: config.porch.kpt.dev/v1alpha2
kind: PackageVariantSet
metadata: {name: fleet, namespace: default}
spec:
  upstream: {repo: catalog, package: base-ns, revision: 1}
  targets:
  - repositorySelector: {matchLabels: {env: prod}}
    template:
      downstream:
        packageExpr: "packageDefault + '-' + repository.labels['region']"
      labelExprs:
      - key: org
        valueExpr: "repository.labels['org']"
      annotationExprs:
      - keyExpr: "'bigco.com/' + target.labels['org']"
        valueExpr: "target.name + '.' + repository.labels['region']"
      packageContext:
        dataExprs:
        - key: cluster
          valueExpr: "repository.name + '-' + repoDefault"
      injectors:
      - kind: Endpoints
        nameExpr: "repository.labels['region'] + '-endpoints'"
`

func benchRepos(n int) []*v1alpha1.Repository {
	repos := make([]*v1alpha1.Repository, n)
	for i := range repos {
		r := &v1alpha1.Repository{}
		r.Name, r.Namespace = fmt.Sprintf("cluster-%05d", i), "default"
		r.Labels = map[string]string{"env": "prod", "org": "hr", "region": fmt.Sprintf("useast%d", i%7)}
		repos[i] = r
	}
	return repos
}

func parseSet(tb testing.TB, text string) *v1alpha2.PackageVariantSet {
	tb.Helper()
	obj, report := api.Parse([]byte(text))
	if err := report.Err(); err != nil {
		tb.Fatal(err)
	}
	return obj.(*v1alpha2.PackageVariantSet)
}

// BenchmarkExpand gives time and allocations of one variant, everything
// included: indexing, compiling, selecting, evaluating, naming, sorting.
//
//	go test ./variantgen -bench Expand -benchmem
func BenchmarkExpand(b *testing.B) {
	set := parseSet(b, benchSet)
	for _, n := range []int{100, 1_000, 10_000} {
		repos := benchRepos(n)
		b.Run(fmt.Sprintf("targets=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				expandBench(b, set, repos)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/variant")
		})
	}
}

func expandBench(tb testing.TB, set *v1alpha2.PackageVariantSet, repos []*v1alpha1.Repository) {
	res := variantgen.ExpandAll(variantgen.NewEnv(variantgen.Inputs{Repositories: repos}), set)
	if len(res.Variants) != len(repos) || len(res.Failures) > 0 {
		tb.Fatalf("%d variants, %v", len(res.Variants), res.Err())
	}
}

// BenchmarkAgainstNaive runs the same expressions the way Porch's controller
// does, an environment and a program for each target and expression, and
// reports how many times longer that takes.
func BenchmarkAgainstNaive(b *testing.B) {
	const n = 1_000
	set, repos := parseSet(b, benchSet), benchRepos(n)
	var ours, naive time.Duration
	for b.Loop() {
		start := time.Now()
		expandBench(b, set, repos)
		ours += time.Since(start)
		start = time.Now()
		for _, r := range repos[:n/10] {
			naiveVariant(b, set, r)
		}
		naive += 10 * time.Since(start)
	}
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N*n), "ns/variant")
	b.ReportMetric(float64(naive.Nanoseconds())/float64(b.N*n), "naive-ns/variant")
	b.ReportMetric(float64(naive)/float64(ours), "naive/ours")
}

// naiveVariant compiles and evaluates each expression for one target.
func naiveVariant(tb testing.TB, set *v1alpha2.PackageVariantSet, r *v1alpha1.Repository) map[string]string {
	obj := map[string]any{"name": r.Name, "namespace": r.Namespace, "labels": r.Labels, "annotations": r.Annotations}
	vars := map[string]any{
		"repoDefault": r.Name, "packageDefault": set.Spec.Upstream.Package, "repository": obj, "target": obj,
		"upstream": map[string]any{"name": "catalog.base-ns.v1"},
	}
	t := set.Spec.Targets[0].Template
	out := map[string]string{}
	for _, text := range []*string{
		t.Downstream.PackageExpr, t.LabelExprs[0].ValueExpr, t.AnnotationExprs[0].KeyExpr, t.AnnotationExprs[0].ValueExpr,
		t.PackageContext.DataExprs[0].ValueExpr, t.Injectors[0].NameExpr,
	} {
		out[*text] = naiveEval(tb, *text, vars)
	}
	return out
}

func naiveEval(tb testing.TB, text string, vars map[string]any) string {
	env, err := cel.NewEnv(
		cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.Variable("repoDefault", cel.StringType), cel.Variable("packageDefault", cel.StringType),
		cel.Variable("upstream", cel.DynType), cel.Variable("target", cel.DynType), cel.Variable("repository", cel.DynType),
	)
	if err != nil {
		tb.Fatal(err)
	}
	tree, issues := env.Compile(text)
	if issues.Err() != nil {
		tb.Fatal(issues.Err())
	}
	prog, err := env.Program(tree, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		tb.Fatal(err)
	}
	val, _, err := prog.Eval(vars)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := val.ConvertToNative(reflect.TypeFor[string]())
	if err != nil {
		tb.Fatal(err)
	}
	return s.(string)
}
