package variantgen

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/internal/celexpr"
)

// Expander is a PackageVariantSet with its expressions compiled and its
// selectors parsed. It may be used for any number of expansions, one at a time.
type Expander struct {
	set       *v1alpha2.PackageVariantSet
	namespace string
	upstreams []v1alpha1.Upstream
	upstream  *v1alpha1.Upstream // the one of them that is expanded
	targets   []compiledTarget
	uses      bool // some expression uses `upstream`
	failures  []Failure
}

type compiledTarget struct {
	spec     *v1alpha2.Target
	field    string
	selector labels.Selector
	template *template
	broken   bool // something does not compile; its failures are in Expander.failures
}

// New compiles a set, which should be valid (api.ValidatePackageVariantSet).
// The failures name what does not compile; the targets that they belong to
// give no variants, the others do, and Expand reports the failures again. The
// Expander is never nil. The set must not be changed while it is in use.
func New(set *v1alpha2.PackageVariantSet) (*Expander, []Failure) {
	e := &Expander{set: set, namespace: api.NamespaceOr(set.Namespace), upstreams: set.Spec.AllUpstreams()}
	if len(e.upstreams) == 0 {
		e.fail(e.origin(-1), errors.New("spec.upstream is a required field"), "spec.upstream")
		return e, e.failures
	}
	e.upstream = &e.upstreams[0]
	c, err := newCompiler()
	if err != nil {
		e.fail(e.origin(-1), err, "")
		return e, e.failures
	}
	for i := range set.Spec.Targets {
		e.targets = append(e.targets, e.compile(c, i, &set.Spec.Targets[i]))
	}
	return e, e.failures
}

// Asks are the upstreams that an expansion asks [Upstreams] for, of the namespace.
func (e *Expander) Asks() (namespace string, upstreams []v1alpha1.Upstream) {
	if !e.uses {
		return e.namespace, nil
	}
	return e.namespace, e.upstreams
}

func (e *Expander) origin(target int) Origin {
	o := Origin{Namespace: e.namespace, Set: e.set.Name, Target: target}
	if target >= 0 {
		o.Description = at("spec.targets", target)
	}
	return o
}

func (e *Expander) fail(o Origin, err error, field string) {
	e.failures = append(e.failures, failure(o, err, field))
}

// failure fills in field and expression from the error where it has them.
func failure(o Origin, err error, field string) Failure {
	f := Failure{Origin: o, Field: field, Err: err}
	var ee *celexpr.Error
	if errors.As(err, &ee) {
		f.Field, f.Expression = ee.Field, ee.Expr
	}
	return f
}

func (e *Expander) compile(c *compiler, i int, spec *v1alpha2.Target) compiledTarget {
	t := compiledTarget{spec: spec, field: at("spec.targets", i)}
	before := len(e.failures)
	if spec.Template != nil {
		c.errs = nil
		t.template = c.template(t.field+".template", spec.Template)
		for _, err := range c.errs {
			e.fail(e.origin(i), err, "")
		}
		e.uses = e.uses || t.template.usesUpstream()
	}
	var err error
	if t.selector, err = selectorOf(spec); err != nil {
		e.fail(e.origin(i), err, t.field)
	}
	t.broken = len(e.failures) > before
	return t
}

// selectorOf parses the target's selector, nil where it has none.
func selectorOf(spec *v1alpha2.Target) (labels.Selector, error) {
	var s *metav1.LabelSelector
	switch {
	case spec.RepositorySelector != nil:
		s = spec.RepositorySelector
	case spec.ObjectSelector != nil:
		s = &spec.ObjectSelector.LabelSelector
	default:
		return nil, nil
	}
	out, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, fmt.Errorf("the label selector is not valid: %w", err)
	}
	return out, nil
}

func (t *template) usesUpstream() bool {
	found := false
	t.each(func(e *expr) { found = found || e.upstream })
	return found
}

// each visits every expression of a template.
func (t *template) each(visit func(*expr)) {
	one := func(e *expr) {
		if e != nil {
			visit(e)
		}
	}
	entries := func(m *mapTemplate) {
		for i := range m.entries {
			one(m.entries[i].keyExpr)
			one(m.entries[i].valExpr)
		}
	}
	one(t.repoExpr)
	one(t.pkgExpr)
	entries(&t.labels)
	entries(&t.annotations)
	if t.context != nil {
		entries(&t.context.data)
		for _, e := range t.context.removeExprs {
			one(e)
		}
	}
	for i := range t.injectors {
		one(t.injectors[i].nameExpr)
	}
	for i := range t.validators {
		entries(&t.validators[i].configMap)
	}
	for i := range t.mutators {
		entries(&t.mutators[i].configMap)
	}
}
