package celexpr_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/celexpr"
)

func newEnv(tb testing.TB) *celexpr.Env {
	tb.Helper()
	env, err := celexpr.NewEnv(celexpr.String("repoDefault"), celexpr.Dynamic("target"), celexpr.Dynamic("upstream"))
	if err != nil {
		tb.Fatal(err)
	}
	return env
}

func vars() celexpr.Vars {
	return celexpr.Vars{
		"repoDefault": "cluster-01",
		"target": celexpr.Object("t", "default", map[string]string{"region": "useast1", "n": "3"},
			map[string]string{"big": strings.Repeat("x", 10_000)}),
	}
}

func TestEval(t *testing.T) {
	cases := map[string]struct {
		reason string
		expr   string
		want   string
		kind   error
		text   string // part of the error
	}{
		"variable":            {expr: "repoDefault", want: "cluster-01"},
		"label":               {expr: "target.labels['region'] + '-endpoints'", want: "useast1-endpoints"},
		"two labels":          {expr: "target.labels['region'] + target.labels['n']", want: "useast13", reason: "CEL takes the sum of two unknown types for bytes"},
		"bytes by value":      {expr: "b'abc'", kind: celexpr.ErrType, text: "type bytes"},
		"label by field":      {expr: "target.labels.region", want: "useast1"},
		"name and namespace":  {expr: "target.namespace + '/' + target.name", want: "default/t"},
		"guarded label":       {expr: "'no' in target.labels ? target.labels['no'] : 'none'", want: "none"},
		"has":                 {expr: "has(target.labels.no) ? 'yes' : 'no'", want: "no"},
		"string extension":    {expr: "repoDefault.split('-')[1].upperAscii()", want: "01"},
		"list extension":      {expr: "['b','a'].sort().join('-') + repoDefault", want: "a-bcluster-01", reason: "ext.Lists"},
		"math extension":      {expr: "string(math.greatest(1, 2)) + repoDefault", want: "2cluster-01"},
		"set extension":       {expr: "sets.contains(['a'], ['a']) ? repoDefault : ''", want: "cluster-01"},
		"encoder extension":   {expr: "base64.encode(bytes(repoDefault))", want: "Y2x1c3Rlci0wMQ=="},
		"constant":            {expr: "'a' + 'b'", want: "ab"},
		"constant with a map": {expr: "[1, 2].map(x, string(x)).join('')", want: "12"},
		"syntax":              {expr: "repoDefault +", kind: celexpr.ErrCompile, text: "Syntax error"},
		"undeclared":          {expr: "repository.name", kind: celexpr.ErrCompile, text: "the variables here are repoDefault, target, upstream"},
		"missing label":       {expr: "target.labels['no']", kind: celexpr.ErrEvaluate, text: "no such key: no"},
		"missing variable":    {expr: "upstream.name", kind: celexpr.ErrEvaluate, text: "upstream"},
		"number by type":      {expr: "1 + 2", kind: celexpr.ErrType, text: "type int", reason: "known without evaluating"},
		"number by value":     {expr: "target.labels.size()", kind: celexpr.ErrType, text: "type int"},
		"map by value":        {expr: "target.labels", kind: celexpr.ErrType, text: "type map"},
		"nested loops": {
			expr: "lists.range(1000).map(a, lists.range(1000).map(b, string(a * b)).join('')).join('') + repoDefault",
			kind: celexpr.ErrCost, text: "costs more than 1000000",
		},
		"nested loops in a constant": {
			expr: "string(lists.range(1000).all(a, lists.range(1000).all(b, [a].sort() == [a] && ['a', 'b', 'c'].distinct().size() > 0)))",
			kind: celexpr.ErrCost, text: "costs more than 1000000", reason: "folding is limited too",
		},
		"doubling strings": {
			expr: "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16].map(x, target.annotations.big.replace('x', target.annotations.big)).join('')",
			kind: celexpr.ErrEvaluate, text: "longer than 1048576", reason: "refused before it is made",
		},
		"joining a long string with itself": {
			expr: "lists.range(500).map(x, target.annotations.big).join(',')", kind: celexpr.ErrEvaluate, text: "longer than",
		},
		"formatting a long string often": {
			expr: "'" + strings.Repeat("%s", 200) + "'.format([" + strings.Repeat("target.annotations.big,", 200) + "''])",
			kind: celexpr.ErrEvaluate, text: "longer than",
		},
		"format":         {expr: "'%s-%d'.format([repoDefault, 7])", want: "cluster-01-7"},
		"replace":        {expr: "repoDefault.replace('cluster', 'c')", want: "c-01"},
		"replace some":   {expr: "(repoDefault + '-x').replace('-', '_', 1)", want: "cluster_01-x"},
		"replace none":   {expr: "repoDefault.replace('', '.', 0)", want: "cluster-01"},
		"replace empty":  {expr: "'ab'.replace('', '.')", want: ".a.b."},
		"join":           {expr: "['', 'a', '', repoDefault].join(',')", want: ",a,,cluster-01"},
		"join plain":     {expr: "['a', repoDefault].join()", want: "acluster-01"},
		"join empty":     {expr: "repoDefault.split('x').filter(s, false).join(',')", want: ""},
		"replace number": {expr: "repoDefault.replace(1, 2)", kind: celexpr.ErrCompile, text: "no matching overload"},
		"doubling in a chain": {
			expr: "[target.annotations.big]" + strings.Repeat(".map(x, x + x)", 20) + "[0]", kind: celexpr.ErrCost, text: "costs more than",
			reason: "the values are dynamic, which cel-go does not price by size",
		},
		"regular expression": {
			expr: "lists.range(500).all(x, target.annotations.big.matches('(a|b)*x+(y|z)*')) ? 'a' : 'b'", kind: celexpr.ErrCost, text: "costs more than",
		},
		"long chain": {
			expr: strings.TrimSuffix(strings.Repeat("target.annotations.big + ", 150), " + "), kind: celexpr.ErrCost, text: "costs more than",
		},
		"too long": {expr: "'" + strings.Repeat("a", 20_000) + "'", kind: celexpr.ErrCost, text: "longer than"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got string
			p, err := newEnv(t).Compile("spec.x", tc.expr)
			if err == nil {
				got, err = p.Eval(vars(), celexpr.NewBudget())
			}
			if got != tc.want || !errors.Is(err, tc.kind) || (err != nil) != (tc.kind != nil) {
				t.Fatalf("got %q, %v; want %q, %v (%s)", got, err, tc.want, tc.kind, tc.reason)
			}
			if err == nil {
				return
			}
			var ee *celexpr.Error
			if !errors.As(err, &ee) || ee.Field != "spec.x" || ee.Expr != tc.expr {
				t.Errorf("not an *Error with field and expression: %#v", err)
			}
			if !strings.Contains(err.Error(), tc.text) || !strings.HasPrefix(err.Error(), "spec.x: ") {
				t.Errorf("error %q does not name field and %q", err, tc.text)
			}
		})
	}
}

func TestUses(t *testing.T) {
	cases := map[string]struct {
		expr string
		want map[string]bool
	}{
		"direct":      {"upstream.name + repoDefault", map[string]bool{"upstream": true, "repoDefault": true, "target": false}},
		"in a string": {"'upstream' + repoDefault", map[string]bool{"upstream": false, "repoDefault": true}},
		"as a field":  {"target.upstream", map[string]bool{"upstream": false, "target": true}},
		"in a loop":   {"['a'].map(x, x + upstream.name)[0]", map[string]bool{"upstream": true, "x": false, "@result": false}},
		"in a branch": {"true ? repoDefault : upstream.name", map[string]bool{"upstream": true}},
		"constant":    {"'a'", map[string]bool{"upstream": false}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := newEnv(t).Compile("f", tc.expr)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for v := range tc.want {
				got[v] = p.Uses(v)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConstantIsFolded(t *testing.T) {
	p, err := newEnv(t).Compile("f", "'a' + 'b'")
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := p.Constant(); !ok || got != "ab" {
		t.Errorf("got %q, %t", got, ok)
	}
	if _, err := p.Eval(nil, celexpr.NewBudgetOf(0)); err != nil {
		t.Errorf("a folded constant costs nothing: %v", err)
	}
}

func TestBudgetIsShared(t *testing.T) {
	env, budget := newEnv(t), celexpr.NewBudgetOf(20_000)
	p, err := env.Compile("f", "lists.range(100).map(x, string(x)).join('') + repoDefault")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if _, err = p.Eval(vars(), budget); err != nil {
			if !errors.Is(err, celexpr.ErrCost) || !strings.Contains(err.Error(), "together") || i == 0 {
				t.Fatalf("after %d: %v", i, err)
			}
			return
		}
	}
	t.Fatal("the budget never ran out")
}

func TestContextStopsALoop(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p, err := newEnv(t).Compile("f", "lists.range(5000).map(x, string(x)).join('') + repoDefault")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.EvalContext(ctx, vars(), celexpr.NewBudget()); !errors.Is(err, celexpr.ErrEvaluate) {
		t.Errorf("got %v", err)
	}
}

func TestFieldsOfOneText(t *testing.T) {
	env := newEnv(t)
	for _, field := range []string{"a", "b"} {
		p, err := env.Compile(field, "target.labels['no']")
		if err != nil {
			t.Fatal(err)
		}
		var ee *celexpr.Error
		if _, err := p.Eval(vars(), celexpr.NewBudget()); !errors.As(err, &ee) || ee.Field != field {
			t.Errorf("the shared program names field %v", err)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{"'a'", "target.labels['x']", "[1].map(x, x)", "repoDefault.split('-')[0]", "a ? b", "{'a': 1}.a"} {
		f.Add(s)
	}
	env := newEnv(f)
	f.Fuzz(func(_ *testing.T, expr string) {
		if p, err := env.Fresh().Compile("f", expr); err == nil {
			_, _ = p.Eval(vars(), celexpr.NewBudget())
		}
	})
}

// BenchmarkEval compares the cheap path, one with cost tracking, and a constant.
func BenchmarkEval(b *testing.B) {
	for name, expr := range map[string]string{
		"label": "target.labels['region'] + '-endpoints'", "tracked": "target.labels['region'].replace('us', 'eu')", "constant": "'a' + 'b'",
	} {
		b.Run(name, func(b *testing.B) {
			p, err := newEnv(b).Compile("f", expr)
			if err != nil {
				b.Fatal(err)
			}
			v, budget := vars(), celexpr.NewBudgetOf(1<<60)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Eval(v, budget); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
