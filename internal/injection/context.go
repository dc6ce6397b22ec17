package injection

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/yamltree"
)

// Object is a candidate for injection.
type Object struct {
	// Node is the object, nil where Load reads the one that Of names when it is asked
	// for. It is only read, and must not change while the Context is in use.
	Node *yaml.RNode
	Load func() *yaml.RNode
	Of   ID

	Origin string // where it comes from, for messages: a file, an item; may be ""
}

// ID is what an object is found by. An empty namespace counts as api.DefaultNamespace.
type ID struct{ APIVersion, Kind, Namespace, Name string }

// ID is the object's own.
func (o *Object) ID() ID {
	if o.Node == nil {
		return o.Of
	}
	root := o.Node.YNode()
	return ID{
		APIVersion: yamltree.Text(root, "apiVersion"), Kind: yamltree.Text(root, "kind"),
		Namespace: yamltree.Text(root, "metadata", "namespace"), Name: yamltree.Text(root, "metadata", "name"),
	}
}

// Root is the object's document.
func (o *Object) Root() *yaml.Node {
	if o.Node == nil {
		return o.Load().YNode()
	}
	return o.Node.YNode()
}

// Context is an index of candidate objects by namespace, group, version, kind
// and name. It is built once and safe for concurrent use; nil is an empty one.
type Context struct {
	objects map[key]*entry
	kinds   map[key]bool // keys without a name
}

type key struct{ namespace, group, version, kind, name string }

type entry struct {
	Object
	key  key
	once sync.Once
	body body
}

// body is the part of an object that is injected.
type body struct {
	value  *yaml.Node
	digest string
	err    error
}

// NewContext indexes objects. Two objects with one identity are an error that
// names both, as is an object without apiVersion, kind or name; all of them
// are listed. An empty namespace counts as api.DefaultNamespace.
func NewContext(objects []Object) (*Context, error) {
	c := &Context{objects: make(map[key]*entry, len(objects)), kinds: map[key]bool{}}
	var errs []error
	for i := range objects {
		o := objects[i]
		k := keyOf(o.ID())
		if k.version == "" || k.kind == "" || k.name == "" {
			errs = append(errs, fmt.Errorf("context object %sneeds apiVersion, kind and metadata.name", o.origin()))
			continue
		}
		if old, ok := c.objects[k]; ok {
			errs = append(errs, fmt.Errorf("context object %s stands twice, %sand %s; keep one", k, old.origin(), strings.TrimSpace(o.origin())))
			continue
		}
		c.objects[k] = &entry{Object: o, key: k}
		k.name = ""
		c.kinds[k] = true
	}
	return c, errors.Join(errs...)
}

func (o Object) origin() string {
	if o.Origin == "" {
		return ""
	}
	return "(" + o.Origin + ") "
}

// Len is the number of objects.
func (c *Context) Len() int {
	if c == nil {
		return 0
	}
	return len(c.objects)
}

func (c *Context) has(k key) bool {
	k.name = ""
	return c != nil && c.kinds[k]
}

func (c *Context) get(k key) *entry {
	if c == nil {
		return nil
	}
	return c.objects[k]
}

func keyOf(id ID) key {
	group, version := splitAPIVersion(id.APIVersion)
	return key{namespace: api.NamespaceOr(id.Namespace), group: group, version: version, kind: id.Kind, name: id.Name}
}

func splitAPIVersion(s string) (group, version string) {
	if g, v, ok := strings.Cut(s, "/"); ok {
		return g, v
	}
	return "", s
}

// String is the object's identity for people.
func (k key) String() string {
	kind := k.kind + "." + k.version
	if k.group != "" {
		kind += "." + k.group
	}
	return fmt.Sprintf("%s %s/%s", kind, k.namespace, k.name)
}

// isSecret says whether the kind is core's Secret.
func (k key) isSecret() bool { return api.IsSecret(k.group, k.kind) }

// field names the part of a kind that is injected: Porch's PackageVariant
// design has data for ConfigMaps and spec for the rest; a Secret, where one is
// allowed, has data.
func (k key) field() string {
	if k.isSecret() || k.group == "" && k.kind == "ConfigMap" {
		return "data"
	}
	return "spec"
}

// read returns the injected part of the object and its digest, made once.
func (e *entry) read() body {
	e.once.Do(func() { e.body = e.load() })
	return e.body
}

func (e *entry) load() body {
	field := e.key.field()
	value := yamltree.Child(e.Root(), field)
	if value == nil {
		return body{err: fmt.Errorf("field %q not found in resource %q", field, e.key.name)}
	}
	plain, err := yamltree.Plain(value)
	if err != nil {
		return body{err: fmt.Errorf("field %q of resource %q: %w", field, e.key.name, err)}
	}
	h := sha256.New()
	if err := yamltree.WriteCanonical(h, plain); err != nil {
		return body{err: err}
	}
	return body{value: plain, digest: "sha256:" + hex.EncodeToString(h.Sum(nil))}
}

// Texts are the values that a report's objects gave, keys left out.
func (c *Context) Texts(r *Report) []string {
	var out []string
	if r == nil {
		return nil
	}
	for _, ref := range r.Used() {
		if e := c.get(key{ref.Namespace, ref.Group, ref.Version, ref.Kind, ref.Name}); e != nil {
			out = texts(out, e.read().value)
		}
	}
	return out
}

func texts(out []string, n *yaml.Node) []string {
	switch {
	case n == nil:
	case n.Kind == yaml.ScalarNode:
		out = append(out, n.Value)
	default:
		for i, c := range n.Content {
			if n.Kind != yaml.MappingNode || i%2 == 1 {
				out = texts(out, c)
			}
		}
	}
	return out
}
