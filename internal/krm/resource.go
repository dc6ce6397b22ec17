package krm

import (
	"bytes"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/yamltree"
)

// ID identifies a resource within a package or a cluster's API of one version.
type ID struct {
	Group, Kind, Namespace, Name string
}

// IsSecret reports whether the resource is a core Secret.
func (id ID) IsSecret() bool { return api.IsSecret(id.Group, id.Kind) }

// String is kind.group/namespace/name, for people.
func (id ID) String() string {
	s := id.Kind
	if id.Group != "" {
		s += "." + id.Group
	}
	if id.Namespace != "" {
		s += "/" + id.Namespace
	}
	return s + "/" + id.Name
}

// Path is the file of the resource.
func (r *Resource) Path() string { return r.path }

// Index is its place among the documents of the file, from 0. Documents that
// are no resources count, empty ones do not.
func (r *Resource) Index() int { return r.index }

// Line is the line of the file that was parsed in which the resource's
// content starts, from 1; 0 for one that was added.
func (r *Resource) Line() int {
	if r.doc == nil {
		return 0
	}
	return r.doc.line + yamltree.Deref(r.doc.root).Line
}

// SourceOf returns the text that a resource was parsed from, of which it is the value; nil
// for one that was edited or added.
func SourceOf(r *Resource) []byte {
	if !r.parsed() {
		return nil
	}
	return r.text()
}

// shared is the tree that clones share; nil where the resource has its own.
func (r *Resource) shared() *yaml.Node {
	switch {
	case r.node != nil:
		return nil
	case r.put != nil:
		return r.put.tree
	case r.doc != nil:
		return r.doc.root
	}
	return r.given.Document()
}

// parsed reports whether the tree is that of the text.
func (r *Resource) parsed() bool { return r.node == nil && r.put == nil && r.doc != nil }

// edited is the tree that the resource has instead of what it came with, nil where
// it has none.
func (r *Resource) edited() *yaml.Node {
	switch {
	case r.node != nil:
		return r.node.Document()
	case r.put != nil:
		return r.put.tree
	}
	return nil
}

// tree is the present tree.
func (r *Resource) tree() *yaml.Node { return yamltree.Deref(r.document()) }

// document is the present tree with the document's own node, where it has one.
func (r *Resource) document() *yaml.Node {
	if r.node != nil {
		return r.node.Document()
	}
	return r.shared()
}

// APIVersion is the resource's apiVersion; like Kind, Name and Namespace it is
// "" where absent.
func (r *Resource) APIVersion() string {
	if r.parsed() {
		return r.doc.meta.apiVersion
	}
	return yamltree.Text(r.tree(), "apiVersion")
}

// Kind is the resource's kind.
func (r *Resource) Kind() string {
	if r.parsed() {
		return r.doc.meta.kind
	}
	return yamltree.Text(r.tree(), "kind")
}

// Name is metadata.name.
func (r *Resource) Name() string {
	if r.parsed() {
		return r.doc.meta.name
	}
	return yamltree.Text(r.tree(), "metadata", "name")
}

// Namespace is metadata.namespace.
func (r *Resource) Namespace() string {
	if r.parsed() {
		return r.doc.meta.namespace
	}
	return yamltree.Text(r.tree(), "metadata", "namespace")
}

// Group is the API group, "" for the core group.
func (r *Resource) Group() string { return GroupOf(r.APIVersion()) }

// GroupOf returns the group of an apiVersion, "" for the core group.
func GroupOf(apiVersion string) string {
	g, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return g
}

// Version is the API version without its group.
func (r *Resource) Version() string {
	_, v, ok := strings.Cut(r.APIVersion(), "/")
	if !ok {
		return r.APIVersion()
	}
	return v
}

// ID returns what identifies the resource.
func (r *Resource) ID() ID {
	return ID{Group: r.Group(), Kind: r.Kind(), Namespace: r.Namespace(), Name: r.Name()}
}

// Annotation returns one annotation and whether it is there.
func (r *Resource) Annotation(key string) (string, bool) { return r.metaValue(annotations, key) }

// Label returns one label and whether it is there.
func (r *Resource) Label(key string) (string, bool) { return r.metaValue(labels, key) }

// Encrypted says whether SOPS made the resource: its signature covers all values.
func (r *Resource) Encrypted() bool { return yamltree.IsMap(yamltree.Child(r.tree(), "sops")) }

// annotations and labels are the maps of metadata.
const (
	annotations = "annotations"
	labels      = "labels"
)

func (r *Resource) metaValue(kind, key string) (string, bool) {
	v := yamltree.Child(r.metaMap(kind), key)
	if v == nil || v.Kind != yaml.ScalarNode {
		return "", false
	}
	return v.Value, true
}

// metaMap is a map of the resource's metadata, nil where there is none.
func (r *Resource) metaMap(kind string) *yaml.Node {
	switch {
	case !r.parsed():
		return yamltree.Path(r.tree(), "metadata", kind)
	case kind == annotations:
		return r.doc.meta.annotations
	default:
		return r.doc.meta.labels
	}
}

// Node is the present tree, for reading only: it is shared between clones.
func (r *Resource) Node() *yaml.RNode {
	if n := r.shared(); n != nil {
		return yaml.NewRNode(n) // an own wrapper: kyaml keeps state in it
	}
	return r.node
}

// Edit returns the tree for changing; the first call copies it.
func (r *Resource) Edit() *yaml.RNode {
	if n := r.shared(); n != nil {
		r.node = yaml.NewRNode(yamltree.Copy(n))
	}
	return r.node
}

// Modify applies change to a copy of the resource's tree, which takes the tree's place
// where it has another value, and reports whether it has. An error leaves the resource
// as it was, and so does a change of style alone, which would not be written. Nodes
// that Edit gave before are the resource's no more.
func (r *Resource) Modify(change func(root *yaml.Node) error) (bool, error) {
	have := r.document()
	tree := yamltree.Copy(have) // with the comments of the document itself
	if err := change(yamltree.Deref(tree)); err != nil {
		return false, err
	}
	if yamltree.SameValue(have, tree) {
		return false, nil
	}
	r.node = yaml.NewRNode(tree)
	return true, nil
}

// ModifyFields is Modify with a change that touches those fields of the root alone: the
// trial copies no others. What was Settled stays so, and shares them with what it was; but
// not where there are aliases.
func (r *Resource) ModifyFields(change func(root *yaml.Node) error, fields ...string) (bool, error) {
	have, whole := r.tree(), r.document()
	if have == nil || r.given != nil && r.node == nil || yamltree.HasAlias(whole) { // an alias elsewhere may stand for what is copied
		return r.Modify(change)
	}
	root := *have
	root.Content = make([]*yaml.Node, 0, len(have.Content))
	for key, value := range yamltree.Fields(have) {
		if slices.Contains(fields, key.Value) { // also one that is there twice
			value = yamltree.Copy(value)
		}
		root.Content = append(root.Content, key, value)
	}
	if err := change(&root); err != nil {
		return false, err
	}
	if yamltree.SameValue(have, &root) {
		return false, nil
	}
	tree := &root
	if doc := *whole; doc.Kind == yaml.DocumentNode { // has comments of its own
		doc.Content = []*yaml.Node{tree}
		tree = &doc
	}
	if r.node == nil {
		r.Put(tree)
	} else {
		r.node = yaml.NewRNode(tree)
	}
	return true, nil
}

// Replace makes node the resource's tree; the resource takes it over. What is
// written are the differences. With nil the resource is again what it was
// parsed as.
func (r *Resource) Replace(node *yaml.RNode) { r.node, r.put = node, nil }

// Put is Replace with a tree that nothing changes any more: clones share it, and
// the text that it is written as. It is for resources that were parsed.
func (r *Resource) Put(tree *yaml.Node) { r.node, r.put = nil, &put{tree: tree} }

// WriteComments has line comments that the resource's tree lacks removed from its
// text: many functions make nodes without the comments of those that they replace,
// so that otherwise such a comment stays.
func (r *Resource) WriteComments() { r.exact = true }

// PutText makes a text of one document, without separator, the resource's text, with
// what differs in tree written into it: see Rewrite. It reports false for ok where a value
// has no place in the text, and for a resource that was not parsed, and false for changed
// where the result is the text that the resource was parsed from. Then nothing changes.
func (r *Resource) PutText(text []byte, tree *yaml.Node) (changed, ok bool) {
	if r.doc == nil || isJSON(r.path) {
		return false, false
	}
	own := r.text()
	head := own[:len(own)-len(trimSeparator(bytes.TrimPrefix(own, []byte(bom))))]
	text = slices.Concat(head, text)
	docs, problem := parseDocs(r.path, text, r.pkg.limits.withDefaults(), func(int) ([]byte, *yaml.Node) { return own, r.doc.root })
	if problem != nil || len(docs) != 1 || docs[0].memo == nil {
		return false, false
	}
	nl := lineBreak(r.data())
	out, kept, err := docs[0].rewrite(File{Path: r.path, Data: text}, tree, nl)
	if err != nil || !kept || bytes.Equal(out, own) {
		return false, err == nil && kept
	}
	root, _, err := decodeLike([]known{func(int) ([]byte, *yaml.Node) { return text, docs[0].root }}, 0, out)
	if err != nil {
		return false, false
	}
	r.node, r.put = nil, &put{tree: root, read: true, last: memoText{nl: nl, text: out, kept: true}}
	return true, true
}

// Settled reports whether nothing changes what Node returns: it was parsed, or Put.
func (r *Resource) Settled() bool { return r.node == nil && r.given == nil }

// Delete drops the resource from its file; a file with no document left goes too.
func (r *Resource) Delete() { r.deleted = true }

// Deleted reports whether Delete was called.
func (r *Resource) Deleted() bool { return r.deleted }

// Move takes the resource to the end of another file, made where missing. Its
// text goes along, edits are kept.
func (r *Resource) Move(path string) {
	if path == r.path || r.deleted {
		return
	}
	if i, ok := r.pkg.find(r.path); ok {
		f := r.pkg.files[i]
		f.docs = slices.DeleteFunc(slices.Clone(f.docs), func(o *Resource) bool { return o == r })
	}
	r.pkg.append(path, r)
}

// Dirty reports whether the resource was opened for editing, added, moved or
// deleted.
func (r *Resource) Dirty() bool {
	return r.edited() != nil || r.deleted || r.moved()
}

func (r *Resource) moved() bool { return r.from != nil && r.from.Path != r.path }

// Changed reports whether the resource differs in meaning from what was
// parsed: comments and styles do not count, being added, moved or deleted does.
func (r *Resource) Changed() bool {
	switch {
	case r.deleted || r.moved():
		return true
	case r.edited() == nil:
		return false
	case r.doc != nil:
		return !yamltree.SameValue(r.doc.root, r.edited())
	}
	return r.given == nil || !yamltree.SameValue(r.given.Document(), r.edited())
}

// SetAnnotation sets an annotation to a string, quoted where it has to be. It
// does nothing where the annotation has that value already. It fails where
// metadata or its annotations are no mappings.
func (r *Resource) SetAnnotation(key, value string) error {
	return r.setMeta(annotations, key, value)
}

// SetLabel is SetAnnotation for labels.
func (r *Resource) SetLabel(key, value string) error { return r.setMeta(labels, key, value) }

// RemoveAnnotation drops an annotation, and the mapping with the last one. It
// does nothing where there is none.
func (r *Resource) RemoveAnnotation(key string) { r.removeMeta(annotations, key) }

// RemoveLabel is RemoveAnnotation for labels.
func (r *Resource) RemoveLabel(key string) { r.removeMeta(labels, key) }
