package variantgen

import (
	"cmp"
	"errors"
	"slices"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/celexpr"
)

// Object is what a target object shows to selectors and expressions.
type Object struct {
	APIVersion  string
	Kind        string
	Namespace   string // empty means "default"
	Name        string
	Labels      map[string]string
	Annotations map[string]string
}

// Metadata is what an upstream package shows to expressions: its name
// <repo>.<package>.<workspace>, the set's namespace, and the labels and
// annotations of its Kptfile or PackageRevision.
type Metadata struct {
	Name        string
	Namespace   string
	Labels      map[string]string
	Annotations map[string]string
}

// ErrUpstreamUnknown is returned by Upstreams where nothing is known about an
// upstream, not even whether it exists: only expressions that use `upstream`
// fail then.
var ErrUpstreamUnknown = errors.New("nothing is known about the upstream package")

// Upstreams looks up the metadata of upstream packages. It is asked at most
// once for each set and expansion, and only by sets whose expressions use
// `upstream`. An error other than ErrUpstreamUnknown fails the whole set.
type Upstreams interface {
	Upstream(namespace string, u v1alpha1.Upstream) (Metadata, error)
}

// UpstreamFunc is a function as Upstreams.
type UpstreamFunc func(namespace string, u v1alpha1.Upstream) (Metadata, error)

// Upstream calls the function.
func (f UpstreamFunc) Upstream(namespace string, u v1alpha1.Upstream) (Metadata, error) {
	return f(namespace, u)
}

// Inputs is everything that sets may refer to. An empty namespace means "default".
type Inputs struct {
	Repositories []*v1alpha1.Repository

	// RepositoriesUnknown says that Repositories is not the whole truth. A
	// repository that is not among them is no error then; only expressions
	// that use `repository` fail for it.
	RepositoriesUnknown bool

	// Objects are the candidates of objectSelectors. Repositories need not be
	// repeated here.
	Objects []Object

	// Upstreams may be nil: then nothing is known about any upstream.
	Upstreams Upstreams

	// Written are the PackageVariants that are not generated. One with a
	// generated name replaces its generated twin; one for the same downstream
	// under another name is an error
	// (docs/design/kinds.md#the-management-directory). Those whose owner is one of
	// the sets that are expanded are left out.
	Written []*v1alpha1.PackageVariant
}

// Env is Inputs, indexed once for any number of sets. It is not safe for
// concurrent use.
type Env struct {
	repos        map[string]*namespaceRepos
	reposUnknown bool
	objects      map[objectKey][]*object
	upstreams    Upstreams
	written      []*v1alpha1.PackageVariant
}

type namespaceRepos struct {
	byName map[string]*object
	sorted []*object
}

type objectKey struct{ apiVersion, kind, namespace string }

// object is a candidate with the value that expressions see, made on first use.
type object struct {
	Object
	value any
}

func (o *object) celValue() any {
	if o.value == nil {
		o.value = celexpr.Object(o.Name, o.Namespace, o.Labels, o.Annotations)
	}
	return o.value
}

// NewEnv indexes inputs.
func NewEnv(in Inputs) *Env {
	e := &Env{
		repos: map[string]*namespaceRepos{}, objects: map[objectKey][]*object{},
		reposUnknown: in.RepositoriesUnknown, upstreams: in.Upstreams,
		written: slices.Clone(in.Written),
	}
	for _, r := range in.Repositories {
		e.addRepository(r)
	}
	for i := range in.Objects {
		e.addObject(in.Objects[i])
	}
	for _, r := range e.repos {
		sortObjects(r.sorted)
	}
	for k, list := range e.objects {
		sortObjects(list)
		e.objects[k] = slices.CompactFunc(list, func(a, b *object) bool { return a.Name == b.Name })
	}
	return e
}

func sortObjects(list []*object) {
	slices.SortStableFunc(list, func(a, b *object) int { return cmp.Compare(a.Name, b.Name) })
}

func (e *Env) addRepository(r *v1alpha1.Repository) {
	o := &object{Object: Object{
		APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindRepository,
		Namespace: api.NamespaceOr(r.Namespace), Name: r.Name, Labels: r.Labels, Annotations: r.Annotations,
	}}
	in := e.repos[o.Namespace]
	if in == nil {
		in = &namespaceRepos{byName: map[string]*object{}}
		e.repos[o.Namespace] = in
	}
	if in.byName[o.Name] != nil {
		return
	}
	in.byName[o.Name] = o
	in.sorted = append(in.sorted, o)
	k := objectKey{o.APIVersion, o.Kind, o.Namespace}
	e.objects[k] = append(e.objects[k], o)
}

func (e *Env) addObject(o Object) {
	o.Namespace = api.NamespaceOr(o.Namespace)
	k := objectKey{o.APIVersion, o.Kind, o.Namespace}
	e.objects[k] = append(e.objects[k], &object{Object: o})
}

func (e *Env) repository(namespace, name string) *object {
	if in := e.repos[namespace]; in != nil {
		return in.byName[name]
	}
	return nil
}

func (e *Env) repositories(namespace string) []*object {
	if in := e.repos[namespace]; in != nil {
		return in.sorted
	}
	return nil
}
