package injection

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/yamltree"
)

// Object is a candidate for injection.
type Object struct {
	// Node is the object, nil where Source has it. It is only read, and must not change
	// while the Context is in use.
	Node   *yaml.RNode
	Source Source

	Origin string // of Node, for messages: a file, an item; may be ""
}

// Source is an object that is read when it is asked for: few of a fleet's are.
type Source interface {
	ID() ID
	Node() *yaml.RNode
	From() string // as Object.Origin
}

// ID is what an object is found by. An empty namespace counts as api.DefaultNamespace.
type ID struct{ APIVersion, Kind, Namespace, Name string }

// ID is the object's own.
func (o *Object) ID() ID {
	if o.Node == nil {
		return o.Source.ID()
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
		return o.Source.Node().YNode()
	}
	return o.Node.YNode()
}

// From says where the object comes from.
func (o *Object) From() string {
	if o.Node == nil {
		return o.Source.From()
	}
	return o.Origin
}

// Context is an index of candidate objects by namespace, group, version, kind
// and name. It is built once and safe for concurrent use; nil is an empty one.
type Context struct {
	objects []Object
	// at has the places of objects by the hashes of their keys; where two objects have
	// one, the later has the next that is free: a key takes five times its hash.
	at    map[uint64]int32
	hash  func(key) uint64
	kinds map[key]bool // keys without a name

	mu   sync.Mutex
	used map[int32]*entry // those that were asked for
}

type key struct{ namespace, group, version, kind, name string }

type entry struct {
	*Object
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

// NewContext indexes objects, which it takes over. Two objects with one identity are an error that
// names both, as is an object without apiVersion, kind or name; all of them
// are listed. An empty namespace counts as api.DefaultNamespace.
func NewContext(objects []Object) (*Context, error) {
	seed := maphash.MakeSeed()
	return newContext(objects, func(k key) uint64 { return maphash.Comparable(seed, k) })
}

func newContext(objects []Object, hash func(key) uint64) (*Context, error) {
	c := &Context{objects: objects, at: make(map[uint64]int32, len(objects)), hash: hash, kinds: map[key]bool{}, used: map[int32]*entry{}}
	var errs []error
	for i := range objects {
		o := &objects[i]
		k := keyOf(o.ID())
		if k.version == "" || k.kind == "" || k.name == "" {
			errs = append(errs, fmt.Errorf("context object %sneeds apiVersion, kind and metadata.name", o.origin()))
			continue
		}
		old, hash, ok := c.find(k)
		if ok {
			errs = append(errs, fmt.Errorf("context object %s stands twice, %sand %s; keep one", k, objects[old].origin(), strings.TrimSpace(o.origin())))
			continue
		}
		c.at[hash] = int32(i)
		k.name = ""
		c.kinds[k] = true
	}
	return c, errors.Join(errs...)
}

// find is the place of the object of a key, or the hash that is free for it.
func (c *Context) find(k key) (at int32, hash uint64, ok bool) {
	for hash = c.hash(k); ; hash++ {
		if at, ok = c.at[hash]; !ok || keyOf(c.objects[at].ID()) == k {
			return at, hash, ok
		}
	}
}

func (o *Object) origin() string {
	if from := o.From(); from != "" {
		return "(" + from + ") "
	}
	return ""
}

// Len is the number of objects.
func (c *Context) Len() int {
	if c == nil {
		return 0
	}
	return len(c.at)
}

func (c *Context) has(k key) bool {
	k.name = ""
	return c != nil && c.kinds[k]
}

func (c *Context) get(k key) *entry {
	if c == nil {
		return nil
	}
	at, _, ok := c.find(k)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[at] == nil {
		c.used[at] = &entry{Object: &c.objects[at], key: k}
	}
	return c.used[at]
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
