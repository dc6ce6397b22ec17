package variantgen

import (
	"fmt"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/celexpr"
)

// scope gives the variables their values, without a map.
type scope struct {
	repoDefault, packageDefault string
	upstream                    any
	target                      any
	repository                  *object
}

// ResolveName implements celexpr.Activation.
func (s *scope) ResolveName(name string) (any, bool) {
	switch name {
	case varRepoDefault:
		return s.repoDefault, true
	case varPackageDefault:
		return s.packageDefault, true
	case varTarget:
		if s.target == nil {
			s.target = map[string]string{"repo": s.repoDefault, "package": s.packageDefault}
		}
		return s.target, true
	case varUpstream:
		return s.upstream, s.upstream != nil
	case varRepository:
		if s.repository == nil {
			return nil, false
		}
		return s.repository.celValue(), true
	}
	return nil, false
}

// Parent implements celexpr.Activation.
func (s *scope) Parent() celexpr.Activation { return nil }

// renderer makes the variants of one expansion of one set.
type renderer struct {
	*Expander
	env         *Env
	budget      *celexpr.Budget
	upstreamVal any
	upstreamErr error

	scope  scope
	target *Target
	fails  []Failure // of the present target
}

func (r *renderer) failed(err error, field string) {
	r.fails = append(r.fails, failure(r.describe(r.target), err, field))
}

// eval evaluates one expression for the present target; false after a failure.
func (r *renderer) eval(e *expr) (string, bool) {
	if s, ok := e.Constant(); ok {
		return s, true
	}
	if e.upstream && r.upstreamVal == nil {
		r.expressionFailed(e, r.upstreamErr)
		return "", false
	}
	if e.repository && r.scope.repository == nil {
		r.expressionFailed(e, errorf(ErrRepository, "`repository` cannot be used: %s", r.noRepository(r.scope.repoDefault)))
		return "", false
	}
	s, err := e.Eval(&r.scope, r.budget)
	if err != nil {
		r.failed(err, e.Field())
		return "", false
	}
	return s, true
}

func (r *renderer) expressionFailed(e *expr, err error) {
	f := failure(r.describe(r.target), err, e.Field())
	f.Expression = e.Expr()
	r.fails = append(r.fails, f)
}

func (r *renderer) invalid(e *expr, value string, err error) {
	r.expressionFailed(e, errorf(ErrValue, "%s: the expression `%s` gave %q: %v", e.Field(), e.Expr(), value, err))
}

// variant is a PackageVariant with the parts that every one has, in one allocation.
type variant struct {
	pv   v1alpha1.PackageVariant
	up   v1alpha1.Upstream
	down v1alpha1.Downstream
	pc   v1alpha1.PackageContext
}

// render makes the spec for one target, nil after failures.
func (r *renderer) render(t *Target) *v1alpha1.PackageVariant {
	r.target, r.fails = t, r.fails[:0]
	r.scope = scope{repoDefault: t.RepoDefault, packageDefault: t.PackageDefault, upstream: r.upstreamVal}
	if t.object != nil {
		r.scope.target = t.object.celValue()
	}
	v := &variant{up: *r.Expander.upstream}
	spec := &v.pv.Spec
	spec.Upstream, spec.Downstream = &v.up, &v.down
	tmpl := r.targets[t.Index].template
	if tmpl == nil {
		tmpl = &noTemplate
	}
	if !r.downstream(&v.down, tmpl) {
		return nil
	}
	spec.AdoptionPolicy, spec.DeletionPolicy = tmpl.adoption, tmpl.deletion
	spec.Labels = r.overlay(&tmpl.labels)
	spec.Annotations = r.overlay(&tmpl.annotations)
	if tmpl.context != nil {
		v.pc = v1alpha1.PackageContext{Data: r.overlay(&tmpl.context.data), RemoveKeys: r.removeKeys(tmpl.context)}
		spec.PackageContext = &v.pc
	}
	spec.Injectors = r.injectors(tmpl.injectors)
	if len(tmpl.validators)+len(tmpl.mutators) > 0 {
		spec.Pipeline = &kptfilev1.Pipeline{Validators: r.functions(tmpl.validators), Mutators: r.functions(tmpl.mutators)}
	}
	if len(r.fails) > 0 {
		return nil
	}
	return &v.pv
}

var noTemplate template

// downstream finds repository and package in the order of Porch's
// PackageVariant design: repoExpr without `repository`, then the Repository,
// then packageExpr with it.
func (r *renderer) downstream(d *v1alpha1.Downstream, t *template) bool {
	d.Repo, d.Package = r.target.RepoDefault, r.target.PackageDefault
	if t.repo != "" {
		d.Repo = t.repo
	}
	var ok bool
	if t.repoExpr != nil {
		if d.Repo, ok = r.eval(t.repoExpr); !ok {
			return false
		}
	}
	r.scope.repository = r.env.repository(r.namespace, d.Repo)
	if r.scope.repository == nil && !r.env.reposUnknown {
		r.failed(errorf(ErrRepository, "%s", r.noRepository(d.Repo)), r.repoField(t))
		return false
	}
	if t.pkg != "" {
		d.Package = t.pkg
	}
	if t.pkgExpr == nil {
		return r.packagePath(d.Package)
	}
	if d.Package, ok = r.eval(t.pkgExpr); !ok {
		return false
	}
	if err := api.CheckPackagePath(d.Package); err != nil {
		r.invalid(t.pkgExpr, d.Package, err)
		return false
	}
	return true
}

func (r *renderer) packagePath(path string) bool {
	if err := api.CheckPackagePath(path); err != nil {
		r.failed(errorf(ErrValue, "downstream package: %v", err), "")
		return false
	}
	return true
}

func (r *renderer) repoField(t *template) string {
	field := r.targets[r.target.Index].field
	switch {
	case t.repoExpr != nil:
		return t.repoExpr.Field()
	case t.repo != "":
		return field + ".template.downstream.repo"
	case r.target.object == nil:
		return field + at(".repositories", r.target.repo) + ".name"
	}
	return field
}

func (r *renderer) noRepository(name string) string {
	known := r.env.repositories(r.namespace)
	names := make([]string, len(known))
	for i, o := range known {
		names[i] = o.Name
	}
	text := fmt.Sprintf("repository %q could not be loaded: namespace %q has no Repository of that name", name, r.namespace)
	if hint := api.DidYouMean(name, names); hint != "" {
		return text + "; " + hint
	}
	return text
}

// overlay is the plain map with the computed entries over it, nil if empty.
func (r *renderer) overlay(m *mapTemplate) map[string]string {
	if len(m.plain)+len(m.entries) == 0 {
		return nil
	}
	out := make(map[string]string, len(m.plain)+len(m.entries))
	for k, v := range m.plain {
		out[k] = v
	}
	for i := range m.entries {
		r.entry(out, m, &m.entries[i])
	}
	return out
}

func (r *renderer) entry(out map[string]string, m *mapTemplate, e *mapEntry) {
	key, value, ok := e.key, e.value, true
	if e.keyExpr != nil {
		key, ok = r.eval(e.keyExpr)
	}
	if e.valExpr != nil {
		var got bool
		value, got = r.eval(e.valExpr)
		ok = ok && got
	}
	if !ok {
		return
	}
	if err := m.check(key, value); err != nil {
		r.invalidEntry(e, key, value, err)
		return
	}
	out[key] = value
}

// invalidEntry blames the value's expression, or the key's where only that is computed.
func (r *renderer) invalidEntry(e *mapEntry, key, value string, err error) {
	switch {
	case e.keyExpr != nil && (e.valExpr == nil || api.CheckAnnotation(key) != nil):
		r.invalid(e.keyExpr, key, err)
	case e.valExpr != nil:
		r.invalid(e.valExpr, value, err)
	default:
		r.failed(errorf(ErrValue, "%v", err), e.field)
	}
}

// removeKeys are sorted and without repeats, as Porch's.
func (r *renderer) removeKeys(t *contextTemplate) []string {
	if len(t.removeKeys)+len(t.removeExprs) == 0 {
		return nil
	}
	out := make([]string, 0, len(t.removeKeys)+len(t.removeExprs))
	out = append(out, t.removeKeys...)
	for _, e := range t.removeExprs {
		key, ok := r.eval(e)
		if !ok {
			continue
		}
		if err := checkContext(key, ""); err != nil {
			r.invalid(e, key, err)
			continue
		}
		out = append(out, key)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *renderer) injectors(list []injectorTemplate) []v1alpha1.InjectionSelector {
	if len(list) == 0 {
		return nil
	}
	out := make([]v1alpha1.InjectionSelector, len(list))
	for i := range list {
		t := &list[i]
		out[i] = t.InjectionSelector
		if t.nameExpr == nil {
			continue
		}
		name, ok := r.eval(t.nameExpr)
		if !ok {
			continue
		}
		if name == "" {
			r.invalid(t.nameExpr, name, errorf(ErrValue, "an injector's name must not be empty"))
		}
		out[i].Name = name
	}
	return out
}

func (r *renderer) functions(list []functionTemplate) []kptfilev1.Function {
	if len(list) == 0 {
		return nil
	}
	out := make([]kptfilev1.Function, len(list))
	for i := range list {
		out[i] = list[i].Function
		out[i].ConfigMap = r.overlay(&list[i].configMap)
	}
	return out
}
