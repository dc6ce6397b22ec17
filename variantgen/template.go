package variantgen

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/celexpr"
)

// The CEL variables of Porch's PackageVariant design, "PackageVariant
// Template".
const (
	varRepoDefault    = "repoDefault"
	varPackageDefault = "packageDefault"
	varUpstream       = "upstream"
	varRepository     = "repository"
	varTarget         = "target"
)

// declared are the two environments: `repository` is not there for repoExpr,
// which decides what it is.
var declared = sync.OnceValues(func() (envs [2]*celexpr.Env, err error) {
	common := []celexpr.Variable{
		celexpr.String(varRepoDefault), celexpr.String(varPackageDefault),
		celexpr.Dynamic(varUpstream), celexpr.Dynamic(varTarget),
	}
	if envs[0], err = celexpr.NewEnv(common...); err != nil {
		return envs, err
	}
	envs[1], err = celexpr.NewEnv(append(common, celexpr.Dynamic(varRepository))...)
	return envs, err
})

// template is a compiled PackageVariantTemplate. A nil expr is a constant.
type template struct {
	repo, pkg         string // constants, empty for the defaults
	repoExpr, pkgExpr *expr
	adoption          v1alpha1.AdoptionPolicy
	deletion          v1alpha1.DeletionPolicy
	labels            mapTemplate
	annotations       mapTemplate
	context           *contextTemplate
	injectors         []injectorTemplate
	validators        []functionTemplate
	mutators          []functionTemplate
}

type expr struct {
	*celexpr.Program
	upstream, repository bool // which late variables it uses
}

type mapTemplate struct {
	plain   map[string]string
	entries []mapEntry
	check   func(key, value string) error
}

type mapEntry struct {
	field            string
	key, value       string
	keyExpr, valExpr *expr
}

type contextTemplate struct {
	data        mapTemplate
	removeKeys  []string
	removeExprs []*expr
}

type injectorTemplate struct {
	v1alpha1.InjectionSelector
	field    string
	nameExpr *expr
}

type functionTemplate struct {
	kptfilev1.Function
	configMap mapTemplate
}

// compiler compiles the expressions of one target's template and collects what
// does not compile.
type compiler struct {
	bare, full *celexpr.Env
	errs       []error
}

func newCompiler() (*compiler, error) {
	envs, err := declared()
	if err != nil {
		return nil, err
	}
	return &compiler{bare: envs[0].Fresh(), full: envs[1].Fresh()}, nil
}

func (c *compiler) expr(env *celexpr.Env, field, text string) *expr {
	p, err := env.Compile(field, text)
	if err != nil {
		c.errs = append(c.errs, withRepositoryHint(err, env == c.bare))
		return nil
	}
	return &expr{Program: p, upstream: p.Uses(varUpstream), repository: p.Uses(varRepository)}
}

// withRepositoryHint explains the one variable that repoExpr has not.
func withRepositoryHint(err error, bare bool) error {
	var ee *celexpr.Error
	if bare && errors.As(err, &ee) && strings.Contains(ee.Text, "'"+varRepository+"'") {
		ee.Hint = "`repository` is not there yet while repoExpr is evaluated; use `target` or `repoDefault`"
	}
	return err
}

func (c *compiler) optional(env *celexpr.Env, field string, text *string) *expr {
	if text == nil || *text == "" {
		return nil
	}
	return c.expr(env, field, *text)
}

func (c *compiler) template(field string, t *v1alpha2.PackageVariantTemplate) *template {
	out := &template{adoption: deref(t.AdoptionPolicy), deletion: deref(t.DeletionPolicy)}
	if d := t.Downstream; d != nil {
		out.repo, out.pkg = deref(d.Repo), deref(d.Package)
		out.repoExpr = c.optional(c.bare, field+".downstream.repoExpr", d.RepoExpr)
		out.pkgExpr = c.optional(c.full, field+".downstream.packageExpr", d.PackageExpr)
	}
	out.labels = c.mapTemplate(field+".labelExprs", t.Labels, t.LabelExprs, checkLabel)
	out.annotations = c.mapTemplate(field+".annotationExprs", t.Annotations, t.AnnotationExprs, checkAnnotation)
	if t.PackageContext != nil {
		out.context = c.context(field+".packageContext", t.PackageContext)
	}
	for i := range t.Injectors {
		out.injectors = append(out.injectors, c.injector(at(field+".injectors", i), &t.Injectors[i]))
	}
	if p := t.Pipeline; p != nil {
		out.validators = c.functions(field+".pipeline.validators", p.Validators)
		out.mutators = c.functions(field+".pipeline.mutators", p.Mutators)
	}
	return out
}

func (c *compiler) mapTemplate(field string, plain map[string]string, list []v1alpha2.MapExpr, check func(k, v string) error) mapTemplate {
	m := mapTemplate{plain: plain, check: check}
	for i := range list {
		e := &list[i]
		where := at(field, i)
		m.entries = append(m.entries, mapEntry{
			field: where, key: deref(e.Key), value: deref(e.Value),
			keyExpr: c.required(where+".keyExpr", e.KeyExpr), valExpr: c.required(where+".valueExpr", e.ValueExpr),
		})
	}
	return m
}

// required compiles an expression that is given, an empty one too: CEL says why not.
func (c *compiler) required(field string, text *string) *expr {
	if text == nil {
		return nil
	}
	return c.expr(c.full, field, *text)
}

func (c *compiler) context(field string, t *v1alpha2.PackageContextTemplate) *contextTemplate {
	out := &contextTemplate{
		data: c.mapTemplate(field+".dataExprs", t.Data, t.DataExprs, checkContext), removeKeys: t.RemoveKeys,
	}
	for i, text := range t.RemoveKeyExprs {
		out.removeExprs = append(out.removeExprs, c.expr(c.full, at(field+".removeKeyExprs", i), text))
	}
	return out
}

func (c *compiler) injector(field string, t *v1alpha2.InjectionSelectorTemplate) injectorTemplate {
	return injectorTemplate{
		InjectionSelector: v1alpha1.InjectionSelector{Group: t.Group, Version: t.Version, Kind: t.Kind, Name: deref(t.Name), Point: t.Point},
		field:             field, nameExpr: c.optional(c.full, field+".nameExpr", t.NameExpr),
	}
}

func (c *compiler) functions(field string, list []v1alpha2.FunctionTemplate) []functionTemplate {
	var out []functionTemplate
	for i := range list {
		out = append(out, functionTemplate{
			Function:  list[i].Function,
			configMap: c.mapTemplate(at(field, i)+".configMapExprs", list[i].ConfigMap, list[i].ConfigMapExprs, checkKey),
		})
	}
	return out
}

func at(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
