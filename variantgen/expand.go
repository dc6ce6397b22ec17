package variantgen

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/celexpr"
)

// candidate is a rendered variant before names and duplicates are settled.
type candidate struct {
	*Expander // nil for a variant written by hand
	target    Target
	pv        *v1alpha1.PackageVariant
	dropped   bool
}

func (c *candidate) origin() Origin {
	if c.Expander == nil {
		return Origin{
			Namespace: api.NamespaceOr(c.pv.Namespace), Variant: c.pv.Name, Target: -1,
			Description: "PackageVariant " + api.NamespaceOr(c.pv.Namespace) + "/" + c.pv.Name,
		}
	}
	return c.describe(&c.target)
}

// Expand makes the variants of this set alone. Duplicates are looked for in
// the set and among Inputs.Written; use ExpandAll where there are more sets.
func (e *Expander) Expand(env *Env) Result { return Expand(env, e) }

// ExpandAll compiles and expands sets together, which finds a downstream that
// two of them target.
func ExpandAll(env *Env, sets ...*v1alpha2.PackageVariantSet) Result {
	list := make([]*Expander, len(sets))
	for i, s := range sets {
		list[i], _ = New(s)
	}
	return Expand(env, list...)
}

// Expand is ExpandAll for sets that are compiled already. The order of the sets
// does not change the result.
func Expand(env *Env, sets ...*Expander) Result {
	sets = slices.Clone(sets)
	slices.SortStableFunc(sets, func(a, b *Expander) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.set.Name, b.set.Name))
	})
	var res Result
	var all []candidate
	for _, e := range sets {
		all = e.candidates(env, all, &res)
	}
	settleNames(all)
	all = append(all, written(env, sets)...)
	dropTwins(all, &res)
	dropDuplicates(all, &res)
	res.collect(all)
	return res
}

// candidates renders one set's targets, for each of its upstreams.
func (e *Expander) candidates(env *Env, all []candidate, res *Result) []candidate {
	res.Failures = append(res.Failures, e.failures...)
	budget := celexpr.NewBudget()
	for i := range e.upstreams {
		one := *e
		one.upstream = &e.upstreams[i]
		targets, warnings := one.Targets(env)
		if i == 0 { // the same for all
			res.Warnings = append(res.Warnings, warnings...)
		}
		all = one.variants(env, budget, targets, all, res)
	}
	return all
}

// variants renders the targets of one upstream.
func (e *Expander) variants(env *Env, budget *celexpr.Budget, targets []Target, all []candidate, res *Result) []candidate {
	if len(all)+len(targets) > MaxTargets {
		err := fmt.Errorf("with this set there are more than %d targets; narrow its selectors", MaxTargets)
		res.Failures = append(res.Failures, failure(e.origin(-1), err, "spec.targets"))
		return all
	}
	r := renderer{Expander: e, env: env, budget: budget}
	if err := r.loadUpstream(); err != nil {
		res.Failures = append(res.Failures, failure(e.origin(-1), err, "spec.upstream"))
		return all
	}
	label, annotation := variformv1alpha1.SetMetadata(e.set.Name)
	labels, annotations := map[string]string{variformv1alpha1.SetKey: label}, map[string]string(nil)
	if annotation != "" {
		annotations = map[string]string{variformv1alpha1.SetKey: annotation}
	}
	all = slices.Grow(all, len(targets))
	for i := range targets {
		pv := r.render(&targets[i])
		res.Failures = append(res.Failures, r.fails...)
		if pv == nil {
			continue
		}
		pv.APIVersion, pv.Kind, pv.Namespace = v1alpha1.APIVersion, v1alpha1.KindPackageVariant, e.namespace
		pv.Labels, pv.Annotations = labels, annotations
		all = append(all, candidate{Expander: e, target: targets[i], pv: pv})
	}
	return all
}

// loadUpstream asks for the upstream's metadata if an expression needs it.
func (r *renderer) loadUpstream() error {
	if !r.uses {
		return nil
	}
	err := ErrUpstreamUnknown
	if r.env.upstreams != nil {
		var m Metadata
		m, err = r.env.upstreams.Upstream(r.namespace, *r.Expander.upstream)
		if err == nil {
			r.upstreamVal = celexpr.Object(m.Name, m.Namespace, m.Labels, m.Annotations)
			return nil
		}
	}
	if errors.Is(err, ErrUpstreamUnknown) {
		r.upstreamErr = fmt.Errorf("`upstream` cannot be used: %w; give its PackageRevision, or do without", err)
		return nil
	}
	return fmt.Errorf("upstream package %s in repository %s could not be loaded: %w",
		r.Expander.upstream.Package, r.Expander.upstream.Repo, err)
}

type nameKey struct{ namespace, name string }

// settleNames gives each variant its name; those that would share one all get
// a hash of their own.
func settleNames(all []candidate) {
	for i := range all {
		d := all[i].pv.Spec.Downstream
		all[i].pv.Name = Name(all[i].set.Name, d.Repo, d.Package)
	}
	hashed := map[int]bool{}
	for again := true; again; { // a hash could meet another's plain name
		again = false
		for _, i := range clashes(all) {
			if hashed[i] {
				continue
			}
			hashed[i], again = true, true
			d := all[i].pv.Spec.Downstream
			all[i].pv.Name = distinctName(all[i].set.Name, d.Repo, d.Package)
		}
	}
}

// clashes lists the variants whose name another one has.
func clashes(all []candidate) []int {
	first := make(map[nameKey]int, len(all))
	var out []int
	for i := range all {
		k := nameKey{all[i].namespace, all[i].pv.Name}
		if j, ok := first[k]; ok {
			out = append(out, i, j)
			continue
		}
		first[k] = i
	}
	return out
}

// written are the variants that none of the sets made: a dump of a cluster has
// those that Porch's controller made of them, too.
func written(env *Env, sets []*Expander) []candidate {
	known := make(map[nameKey]bool, len(sets))
	for _, e := range sets {
		known[nameKey{e.namespace, e.set.Name}] = true
	}
	out := make([]candidate, 0, len(env.written))
	for _, pv := range env.written {
		made := slices.ContainsFunc(pv.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == v1alpha2.KindPackageVariantSet && known[nameKey{api.NamespaceOr(pv.Namespace), o.Name}]
		})
		if !made {
			out = append(out, candidate{pv: pv})
		}
	}
	return out
}

// dropTwins removes generated variants whose name a written one has.
func dropTwins(all []candidate, res *Result) {
	byHand := map[nameKey]bool{}
	for i := range all {
		if all[i].Expander == nil {
			byHand[nameKey{api.NamespaceOr(all[i].pv.Namespace), all[i].pv.Name}] = true
		}
	}
	if len(byHand) == 0 {
		return
	}
	for i := range all {
		c := &all[i]
		if c.Expander == nil || !byHand[nameKey{c.namespace, c.pv.Name}] {
			continue
		}
		c.dropped = true
		res.Warnings = append(res.Warnings, Warning{
			Origin: c.origin(), Message: fmt.Sprintf("PackageVariant %s/%s is written by hand and replaces the generated one", c.namespace, c.pv.Name),
		})
	}
}

type downstreamKey struct{ namespace, repo, pkg string }

// dropDuplicates removes the generated variants of a downstream that is
// targeted more than once: which of them is meant cannot be known.
func dropDuplicates(all []candidate, res *Result) {
	first := make(map[downstreamKey]int, len(all))
	groups := map[downstreamKey][]int{}
	for i := range all {
		c := &all[i]
		if c.dropped || c.pv.Spec.Downstream == nil {
			continue
		}
		k := downstreamKey{api.NamespaceOr(c.pv.Namespace), c.pv.Spec.Downstream.Repo, c.pv.Spec.Downstream.Package}
		j, ok := first[k]
		if !ok {
			first[k] = i
			continue
		}
		if groups[k] == nil {
			groups[k] = []int{j}
		}
		groups[k] = append(groups[k], i)
	}
	for k, members := range groups {
		res.Failures = append(res.Failures, duplicates(all, k, members)...)
	}
}

// duplicates makes one failure for each member, naming the others.
func duplicates(all []candidate, k downstreamKey, members []int) []Failure {
	origins := make([]Origin, len(members))
	for n, i := range members {
		all[i].dropped = true
		origins[n] = all[i].origin()
	}
	out, cause := make([]Failure, len(members)), rivals(origins, k)
	for n := range members {
		out[n] = Failure{Origin: origins[n], cause: cause, Err: errorf(ErrDuplicate,
			"downstream package %s/%s is targeted by this and by %s; give one of them another name with packageNames or template.downstream",
			k.repo, k.pkg, others(origins, n))}
	}
	return out
}

// rivals are the targets of sets, and variants written by hand, that want one downstream
// package: where the same overlap in more packages, that is one mistake. A target that wants
// one package several times makes another mistake with each.
func rivals(origins []Origin, k downstreamKey) string {
	targets := map[string]bool{}
	for _, o := range origins {
		targets[fmt.Sprintf("%s/%s/%s[%d]", o.Namespace, o.Set, o.Variant, o.Target)] = true
	}
	if len(targets) == 1 {
		return k.repo + "/" + k.pkg
	}
	return strings.Join(slices.Sorted(maps.Keys(targets)), ", ")
}

const namedOthers = 3

// others names the origins apart from one of them, the first few of many.
func others(origins []Origin, not int) string {
	var names []string
	for n := 0; n < len(origins) && len(names) < namedOthers; n++ {
		if n != not {
			names = append(names, origins[n].String())
		}
	}
	text := strings.Join(names, ", ")
	if more := len(origins) - 1 - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// collect takes the generated variants that are left, and sorts everything.
func (res *Result) collect(all []candidate) {
	for _, c := range all {
		if c.Expander == nil && !c.dropped {
			res.Written = append(res.Written, c.pv)
		}
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return c.dropped || c.Expander == nil })
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.pv.Name, b.pv.Name))
	})
	res.Variants = make([]*v1alpha1.PackageVariant, len(all))
	for i := range all {
		res.Variants[i] = all[i].pv
	}
	res.candidates = all
	slices.SortStableFunc(res.Failures, func(a, b Failure) int {
		return cmp.Or(a.Origin.compare(b.Origin), cmp.Compare(a.Field, b.Field))
	})
	slices.SortStableFunc(res.Warnings, func(a, b Warning) int { return a.Origin.compare(b.Origin) })
}

func (o Origin) compare(p Origin) int {
	return cmp.Or(cmp.Compare(o.Namespace, p.Namespace), cmp.Compare(o.Set, p.Set),
		cmp.Compare(o.Target, p.Target), cmp.Compare(o.Description, p.Description))
}
