package api

import (
	"strings"

	"github.com/variform/variform/api/config/v1alpha2"
)

func (i *Issues) template(field string, t *v1alpha2.PackageVariantTemplate) {
	i.policies(field, "", deref(t.AdoptionPolicy), deref(t.DeletionPolicy))
	if t.Downstream != nil {
		i.downstreamTemplate(field, t.Downstream)
	}
	i.mapExprs(field+".labelExprs", t.LabelExprs)
	i.mapExprs(field+".annotationExprs", t.AnnotationExprs)
	if t.PackageContext != nil {
		i.contextTemplate(field+".packageContext", t.PackageContext)
	}
	for n := range t.Injectors {
		i.injectorTemplate(index(field+".injectors", n), &t.Injectors[n])
	}
	if p := t.Pipeline; p != nil {
		for n := range p.Validators {
			i.functionTemplate(index(field+".pipeline.validators", n), &p.Validators[n])
		}
		for n := range p.Mutators {
			i.functionTemplate(index(field+".pipeline.mutators", n), &p.Mutators[n])
		}
	}
	i.labels(field+".labels", t.Labels)
	i.annotations(field+".annotations", t.Annotations)
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// onlyOne reports a plain field and its expression given together.
func (i *Issues) onlyOne(at, field, plain, expr string, both bool) {
	if both {
		i.add(at, field+" may specify only one of `"+plain+"` and `"+expr+"`", "remove one of them")
	}
}

func (i *Issues) downstreamTemplate(field string, d *v1alpha2.DownstreamTemplate) {
	at := field + ".downstream"
	i.onlyOne(at, field, "downstream.repo", "downstream.repoExpr", d.Repo != nil && d.RepoExpr != nil)
	i.onlyOne(at, field, "downstream.package", "downstream.packageExpr", d.Package != nil && d.PackageExpr != nil)
	if deref(d.Repo) != "" {
		i.name(at+".repo", *d.Repo)
	}
	i.packagePath(at+".package", deref(d.Package))
}

func (i *Issues) mapExprs(field string, list []v1alpha2.MapExpr) {
	for n := range list {
		at, e := index(field, n), &list[n]
		i.onlyOne(at, at, "key", "keyExpr", e.Key != nil && e.KeyExpr != nil)
		i.onlyOne(at, at, "value", "valueExpr", e.Value != nil && e.ValueExpr != nil)
		if deref(e.Key) == "" && e.KeyExpr == nil {
			i.add(at, at+" must specify either `key` or `keyExpr`", "")
		}
		i.expression(at+".keyExpr", e.KeyExpr)
		i.expression(at+".valueExpr", e.ValueExpr)
		if key := deref(e.Key); key != "" {
			i.mapKey(at+".key", field, key)
		}
	}
}

// mapKey checks a constant key of a computed entry by what the map is for.
func (i *Issues) mapKey(at, field, key string) {
	var err error
	switch {
	case strings.HasSuffix(field, ".labelExprs"):
		err = CheckLabel(key, "")
	case strings.HasSuffix(field, ".annotationExprs"):
		err = CheckAnnotation(key)
	case strings.HasSuffix(field, ".dataExprs"):
		if IsReservedContextKey(key) {
			i.add(at, at+" must not be the key \""+key+"\"", "kpt sets this key itself; remove it")
			return
		}
		i.contextKey(at, key)
	}
	if err != nil {
		i.add(at, at+": "+err.Error(), "")
	}
}

func (i *Issues) expression(field string, expr *string) {
	if expr != nil && strings.TrimSpace(*expr) == "" {
		i.add(field, field+" must not be empty", "write a CEL expression that gives a string")
	}
}

func (i *Issues) contextTemplate(field string, c *v1alpha2.PackageContextTemplate) {
	i.mapExprs(field+".dataExprs", c.DataExprs)
	i.packageContext(field, c.Data, c.RemoveKeys)
	for n := range c.RemoveKeyExprs {
		i.expression(index(field+".removeKeyExprs", n), &c.RemoveKeyExprs[n])
	}
}

func (i *Issues) injectorTemplate(field string, t *v1alpha2.InjectionSelectorTemplate) {
	i.onlyOne(field, field, "name", "nameExpr", t.Name != nil && t.NameExpr != nil)
	if t.Name == nil && t.NameExpr == nil {
		i.add(field, field+" must specify either `name` or `nameExpr`", "an injector selects its object by name")
	}
	if t.Name != nil && *t.Name == "" && t.NameExpr == nil {
		i.add(field+".name", field+".name must not be empty", "an injector selects its object by name")
	}
	i.expression(field+".nameExpr", t.NameExpr)
}

func (i *Issues) functionTemplate(field string, f *v1alpha2.FunctionTemplate) {
	i.function(field, &f.Function)
	if strings.Contains(f.Name, ".") {
		i.add(field+".name", field+".name must not contain '.'", "the dot separates the parts of the name in the Kptfile")
	}
	if f.ConfigPath != "" && len(f.ConfigMapExprs) > 0 {
		i.add(field, field+" may specify only one of `configPath` and `configMapExprs`", "")
	}
	i.mapExprs(field+".configMapExprs", f.ConfigMapExprs)
}
