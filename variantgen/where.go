package variantgen

import (
	"strconv"

	"github.com/variform/variform/internal/celexpr"
	"github.com/variform/variform/internal/yamltree"
)

// Written is where a set says what a field of a variant is to be.
type Written struct {
	Field      string // of the set, such as spec.targets[0].template.labelExprs[1].valueExpr
	Expression string // the CEL expression there, empty where it is plain
}

// Where says what of its set gave Variants[i] a field of its spec, which is named
// by its steps: "packageContext", "data", "region". env is the one that the Result
// was made with.
func (r Result) Where(env *Env, i int, steps ...string) Written {
	c := r.candidates[i]
	ren := renderer{Expander: c.Expander, env: env, budget: celexpr.NewBudget(), target: &c.target}
	_ = ren.loadUpstream() // it was there when the variant was made
	ren.scope = scope{repoDefault: c.target.RepoDefault, packageDefault: c.target.PackageDefault, upstream: ren.upstreamVal}
	if c.target.object != nil {
		ren.scope.target = c.target.object.celValue()
	}
	ren.scope.repository = env.repository(c.namespace, c.pv.Spec.Downstream.Repo)
	return ren.where(c.targets[c.target.Index], steps)
}

func (r *renderer) where(of compiledTarget, steps []string) Written {
	t, base := of.template, of.field+".template"
	if steps[0] == "upstream" {
		return Written{Field: path("spec", steps)}
	}
	if t == nil || len(steps) < 2 {
		return Written{Field: of.field}
	}
	plain := Written{Field: path(base, steps)}
	key := steps[len(steps)-1]
	switch steps[0] {
	case "labels":
		return r.entryOf(&t.labels, key, plain)
	case "annotations":
		return r.entryOf(&t.annotations, key, plain)
	case "packageContext":
		if t.context != nil {
			return r.entryOf(&t.context.data, key, plain)
		}
	case "injectors":
		if n, err := strconv.Atoi(steps[1]); err == nil && n < len(t.injectors) && t.injectors[n].nameExpr != nil {
			return given(t.injectors[n].nameExpr)
		}
		return Written{Field: path(base, []string{"injectors", steps[1], "name"})}
	case "pipeline":
		list := t.mutators
		if steps[1] == "validators" {
			list = t.validators
		}
		if n, err := strconv.Atoi(steps[2]); err == nil && n < len(list) && len(steps) == 5 && steps[3] == "configMap" {
			return r.entryOf(&list[n].configMap, key, plain)
		}
	}
	return plain
}

// entryOf is the entry of a map that gives a key, the last where several do.
func (r *renderer) entryOf(m *mapTemplate, key string, plain Written) Written {
	for i := range m.entries {
		e := &m.entries[i]
		name := e.key
		if e.keyExpr != nil {
			name, _ = r.eval(e.keyExpr)
		}
		switch {
		case name != key:
		case e.valExpr != nil:
			plain = given(e.valExpr)
		default:
			plain = Written{Field: e.field + ".value"}
		}
	}
	return plain
}

func given(e *expr) Written { return Written{e.Field(), e.Expr()} }

// path joins steps; numbers are places in lists.
func path(field string, steps []string) string {
	for _, s := range steps {
		if _, err := strconv.Atoi(s); err == nil && field != "" {
			field += "[" + s + "]"
			continue
		}
		field = yamltree.JoinField(field, s)
	}
	return field
}
