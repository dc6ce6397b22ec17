package variantgen_test

import (
	"strings"
	"testing"

	"github.com/variform/variform/variantgen"
)

// Where says for each field of a variant what of its set gave it.
func TestWhere(t *testing.T) {
	set := setOf(t, "s", `  - repositories: [{name: r1}]
    template:
      labels: {a: plain}
      labelExprs: [{key: b, valueExpr: repoDefault}, {keyExpr: "'c' + repoDefault", value: x}]
      annotations: {a: plain}
      packageContext: {data: {a: plain}, dataExprs: [{key: region, valueExpr: "repository.labels['region']"}]}
      injectors: [{name: plain, kind: K}, {nameExpr: repoDefault, kind: K}]
      pipeline:
        validators: [{image: v, configMapExprs: [{key: k, valueExpr: packageDefault}]}]
        mutators: [{image: m, configMap: {k: plain}}]
`)
	env := variantgen.NewEnv(inputs())
	res := variantgen.ExpandAll(env, set)
	if len(res.Variants) != 1 || len(res.Failures) > 0 {
		t.Fatalf("%v %v", names(res), res.Failures)
	}
	const base = "spec.targets[0].template."
	for steps, want := range map[string]variantgen.Written{
		"upstream revision":                 {Field: "spec.upstream.revision"},
		"downstream":                        {Field: "spec.targets[0]"},
		"labels a":                          {Field: base + "labels.a"},
		"labels b":                          {Field: base + "labelExprs[0].valueExpr", Expression: "repoDefault"},
		"labels cr1":                        {Field: base + "labelExprs[1].value"},
		"annotations a":                     {Field: base + "annotations.a"},
		"packageContext data a":             {Field: base + "packageContext.data.a"},
		"packageContext data region":        {Field: base + "packageContext.dataExprs[0].valueExpr", Expression: "repository.labels['region']"},
		"injectors 0":                       {Field: base + "injectors[0].name"},
		"injectors 1":                       {Field: base + "injectors[1].nameExpr", Expression: "repoDefault"},
		"pipeline validators 0 configMap k": {Field: base + "pipeline.validators[0].configMapExprs[0].valueExpr", Expression: "packageDefault"},
		"pipeline validators 0 image":       {Field: base + "pipeline.validators[0].image"},
		"pipeline mutators 0 configMap k":   {Field: base + "pipeline.mutators[0].configMap.k"},
		"pipeline mutators 1 configMap k":   {Field: base + "pipeline.mutators[1].configMap.k"},
	} {
		if got := res.Where(env, 0, strings.Fields(steps)...); got != want {
			t.Errorf("%s: %+v, want %+v", steps, got, want)
		}
	}
}
