package wiring

import (
	"fmt"
	"slices"
	"sync"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
)

// Objects are context objects, by namespace. They are safe for concurrent use;
// nil holds none. Built once for a run, they read each object once.
type Objects struct {
	spaces func() map[string]*space // few fleets have outputs
}

// NewObjects are the objects of an injection.Context, in their order. As there, an
// empty namespace counts as api.DefaultNamespace.
func NewObjects(objects []injection.Object) *Objects {
	return &Objects{spaces: sync.OnceValue(func() map[string]*space { return spacesOf(objects) })}
}

func spacesOf(objects []injection.Object) map[string]*space {
	byNamespace := map[string][]*object{}
	for i := range objects {
		o := newObject(&objects[i])
		o.namespace = api.NamespaceOr(o.namespace)
		byNamespace[o.namespace] = append(byNamespace[o.namespace], o)
	}
	out := make(map[string]*space, len(byNamespace))
	for namespace, list := range byNamespace {
		out[namespace] = newSpace(list)
	}
	return out
}

// in returns the objects of a namespace.
func (o *Objects) in(namespace string) *space {
	if o != nil {
		if s := o.spaces()[namespace]; s != nil {
			return s
		}
	}
	return newSpace(nil)
}

// resourcesOf are the resources of a package that outputs are read from: all
// but Kptfiles and context objects that stand among them.
func resourcesOf(resources []*krm.Resource) *space {
	var list []*object
	for _, r := range resources {
		if ordinary(r) {
			list = append(list, objectOf(r))
		}
	}
	return newSpace(list)
}

// ordinary says whether a resource is the package's own and no Kptfile.
func ordinary(r *krm.Resource) bool {
	mark, _ := r.Annotation(v1alpha1.ContextAnnotation)
	return mark != "true" && (r.Kind() != kptfilev1.KptFileKind || r.Group() != kptfilev1.KptFileGroup)
}

// space is a list of objects that outputs can name.
type space struct {
	objects []*object
	byKind  map[string][]*object
	once    [2]sync.Once
	lists   [2][]any // without Secrets, with them
}

func newSpace(objects []*object) *space {
	s := &space{objects: objects, byKind: make(map[string][]*object, len(objects))}
	for _, o := range objects {
		s.byKind[o.kind] = append(s.byKind[o.kind], o)
	}
	return s
}

// list is the objects as values of expressions, made once.
func (s *space) list(secrets bool) []any {
	i := 0
	if secrets {
		i = 1
	}
	s.once[i].Do(func() {
		s.lists[i] = make([]any, 0, len(s.objects))
		for _, o := range s.objects {
			if secrets || !o.secret() {
				s.lists[i] = append(s.lists[i], o.read())
			}
		}
	})
	return s.lists[i]
}

// find lists the objects that a field path may mean.
func (s *space) find(f *api.ResourceField) []*object {
	return slices.DeleteFunc(slices.Clone(s.byKind[f.Kind]), func(o *object) bool {
		return f.Group != "" && o.group != f.Group || f.Name != "" && o.name != f.Name
	})
}

// object is one resource or context object.
type object struct {
	load                         func() *yaml.Node
	group, kind, namespace, name string
	origin                       string // file or what the object's source says
	open, once                   sync.Once
	node                         *yaml.Node
	value                        any
}

func newObject(from *injection.Object) *object {
	id := from.ID()
	group := krm.GroupOf(id.APIVersion)
	return &object{load: from.Root, origin: from.From(), group: group, kind: id.Kind, namespace: id.Namespace, name: id.Name}
}

// objectOf is a resource as an object.
func objectOf(r *krm.Resource) *object {
	return newObject(&injection.Object{Node: r.Node(), Origin: r.Path()})
}

// root is the object's document, read once.
func (o *object) root() *yaml.Node {
	o.open.Do(func() { o.node = o.load() })
	return o.node
}

func (o *object) secret() bool { return api.IsSecret(o.group, o.kind) }

// String is the object's identity for people, with its origin.
func (o *object) String() string {
	s := o.kind
	if o.group != "" {
		s += "." + o.group
	}
	s += " " + o.name
	if o.namespace != "" {
		s = fmt.Sprintf("%s in namespace %s", s, o.namespace)
	}
	if o.origin != "" {
		s += " (" + o.origin + ")"
	}
	return s
}

// read is the object as a value of expressions, made once.
func (o *object) read() any {
	o.once.Do(func() { o.value = toValue(o.root()) })
	return o.value
}
