package review

import (
	"cmp"
	"path"
	"strconv"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

// maxValue bounds how much of a value an Edit shows.
const maxValue = 200

// tree compares two trees of one resource, field by field.
func (d *differ) tree(before, after *krm.Resource) {
	w := &walker{d: d, file: after.Path(), resource: title(after), id: after.ID(), kptfile: after.Kind() == "Kptfile", context: isContext(after)}
	w.node("", before.Node().YNode(), after.Node().YNode())
}

type walker struct {
	d              *differ
	file, resource string
	id             krm.ID
	kptfile        bool
	context        bool // the package context
}

func (w *walker) node(field string, a, b *yaml.Node) {
	a, b = yamltree.Deref(a), yamltree.Deref(b)
	if isBookkeeping(w.id.Kind, field) || w.context && isOwnName(field) {
		return
	}
	if w.kptfile && (field == "upstream" && (a == nil || b == nil) || oneUpstream(field, yamltree.Text(a), yamltree.Text(b))) {
		return // a first Draft begins to have one
	}
	if a == nil || b == nil {
		w.oneSided(field, a, b)
		return
	}
	switch {
	case a.Kind == yaml.MappingNode && b.Kind == yaml.MappingNode:
		w.comment(field, comments(a), comments(b))
		w.mapping(field, a, b)
	case a.Kind == yaml.SequenceNode && b.Kind == yaml.SequenceNode:
		w.comment(field, comments(a), comments(b))
		w.sequence(field, a, b)
	case a.Kind == yaml.ScalarNode && b.Kind == yaml.ScalarNode && (w.d.forms || a.Value == b.Value && yamltree.Tag(a) == yamltree.Tag(b)):
		w.comment(field, comments(a), comments(b))
	default:
		w.value(field, Update, a, b)
	}
}

// oneUpstream reports whether two values of a field of a Kptfile are two forms of one upstream: Porch
// writes a directory without its first slash, and leaves out the usual strategy.
func oneUpstream(field, was, is string) bool {
	const usual = string(kptfilev1.ResourceMerge)
	switch {
	case was == is: // a comment may differ
	case field == "upstream.updateStrategy":
		return cmp.Or(was, usual) == cmp.Or(is, usual)
	case field == "upstream.git.directory", field == "upstreamLock.git.directory":
		return was != "" && is != "" && strings.Trim(was, "/") == strings.Trim(is, "/")
	}
	return false
}

// oneSided compares a field that at most one side has.
func (w *walker) oneSided(field string, a, b *yaml.Node) {
	there := cmp.Or(a, b)
	switch {
	case there == nil || w.bookkeepingAlone(field, there):
	case w.kptfile && there.Kind == yaml.MappingNode && holdsBookkeeping(field):
		empty := &yaml.Node{Kind: there.Kind}
		w.mapping(field, cmp.Or(a, empty), cmp.Or(b, empty))
	case w.kptfile && there.Kind == yaml.SequenceNode && field == "status.conditions":
		empty := &yaml.Node{Kind: there.Kind}
		w.sequence(field, cmp.Or(a, empty), cmp.Or(b, empty))
	case a == nil:
		w.value(field, Add, nil, b)
	default:
		w.value(field, Remove, a, nil)
	}
}

// bookkeepingAlone reports whether a map of annotations holds only what tools note there.
func (w *walker) bookkeepingAlone(field string, n *yaml.Node) bool {
	return field == "metadata.annotations" && n.Kind == yaml.MappingNode && len(n.Content) > 0 &&
		len(yamltree.Without(&yaml.Node{Kind: n.Kind, Content: n.Content}, func(f string) bool { return isBookkeeping(w.id.Kind, field+f) }).Content) == 0
}

func (w *walker) mapping(field string, a, b *yaml.Node) {
	old, now := entriesOf(a), entriesOf(b)
	for k, v := range yamltree.Fields(b) {
		had, ok := old.of(k.Value)
		if ok && yamltree.SameText(had.key, k) && yamltree.SameText(had.value, v) {
			continue
		}
		at := yamltree.JoinField(field, k.Value)
		if ok {
			w.comment(at, comments(had.key), comments(k))
		}
		w.node(at, had.value, v)
	}
	for k, v := range yamltree.Fields(a) {
		if _, ok := now.of(k.Value); !ok {
			w.node(yamltree.JoinField(field, k.Value), v, nil)
		}
	}
}

// comments are a node's own, which may mean something: setters stand in them. A
// merge comment is bookkeeping.
func comments(n *yaml.Node) string {
	text := strings.Join([]string{n.HeadComment, n.LineComment, n.FootComment}, "\n")
	if strings.Contains(text, "kpt-merge:") {
		text = mergeComment.Regexp().ReplaceAllString(text, "")
	}
	return strings.TrimSpace(text)
}

// mergeComment is the comment in which the upstream identity of a resource stands.
var mergeComment = lazyregexp.New(`(?m)[ \t]*# kpt-merge:.*$`)

// comment reports a comment that changed where its value did not. kpt writes a Kptfile
// without its comments: one that is gone is nobody's edit.
func (w *walker) comment(field, before, after string) {
	if w.kptfile && after == "" {
		return
	}
	if before == after || isBookkeeping(w.id.Kind, field) {
		return
	}
	w.d.add(Edit{
		File: w.file, Resource: w.resource, ID: w.id, Op: Comment, Field: field, Before: short(before), After: short(after),
		Digest: w.d.norm.digest(field, before, after),
	})
}

// entry is one field of a mapping.
type entry struct{ key, value *yaml.Node }

// entries finds the fields of a mapping by their keys; of a key that is there twice the
// last counts.
type entries struct {
	n     *yaml.Node       // nil has none
	index map[string]entry // nil where there are few
}

// fewFields are looked at one after the other quicker than by an index.
const fewFields = 16

func entriesOf(n *yaml.Node) entries {
	e := entries{n: n}
	if n != nil && len(n.Content) > 2*fewFields {
		e.index = make(map[string]entry, len(n.Content)/2)
		for k, v := range yamltree.Fields(n) {
			e.index[k.Value] = entry{k, v}
		}
	}
	return e
}

func (e entries) of(key string) (found entry, ok bool) {
	if e.index != nil {
		found, ok = e.index[key]
		return found, ok
	}
	for k, v := range yamltree.Fields(e.n) {
		if k.Value == key {
			found, ok = entry{k, v}, true
		}
	}
	return found, ok
}

// sequence pairs items by their identifying key where both lists have one,
// else by place after cutting the common ends.
func (w *walker) sequence(field string, a, b *yaml.Node) {
	if key := yamltree.ListKey(a, b); key != "" {
		old := map[string]*yaml.Node{}
		for _, n := range a.Content {
			old[yamltree.ItemID(n, key)] = n
		}
		for _, n := range b.Content {
			id := yamltree.ItemID(n, key)
			w.node(field+"["+key+"="+id+"]", old[id], n)
			delete(old, id)
		}
		for _, n := range a.Content {
			if id := yamltree.ItemID(n, key); old[id] == n {
				w.node(field+"["+key+"="+id+"]", n, nil)
			}
		}
		return
	}
	x, y := a.Content, b.Content
	start := 0
	for start < len(x) && start < len(y) && yamltree.SameText(x[start], y[start]) {
		start++
	}
	for len(x) > start && len(y) > start && yamltree.SameText(x[len(x)-1], y[len(y)-1]) {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	for i := start; i < max(len(x), len(y)); i++ {
		var m, n *yaml.Node
		if i < len(x) {
			m = x[i]
		}
		if i < len(y) {
			n = y[i]
		}
		w.node(field+"["+strconv.Itoa(i)+"]", m, n)
	}
}

func (w *walker) value(field string, op Op, a, b *yaml.Node) {
	e := Edit{File: w.file, Resource: w.resource, ID: w.id, Op: op, Field: field}
	w.d.find(found{Edit: e, was: a, is: b})
	if yamltree.IsScalar(a) && yamltree.IsScalar(b) {
		w.d.scalar(e, a, b)
		return
	}
	if a != nil {
		e.Op = Remove
		w.d.leaves(e, a)
	}
	if b != nil {
		e.Op = Add
		w.d.leaves(e, b)
	}
}

func valueText(n *yaml.Node) string {
	switch {
	case n == nil:
		return ""
	case n.Kind == yaml.ScalarNode && (n.ShortTag() == yaml.NodeTagString || isNumber(n)):
		return n.Value
	default:
		c := *n
		c.HeadComment, c.LineComment, c.FootComment = "", "", ""
		return yamlText(&c)
	}
}

// isNumber says whether a scalar is a number or a boolean that its value alone writes.
func isNumber(n *yaml.Node) bool {
	switch n.Tag {
	case yaml.NodeTagInt, yaml.NodeTagFloat, yaml.NodeTagBool:
		return n.Style == 0 && n.Anchor == ""
	}
	return false
}

func short(s string) string {
	if len(s) <= maxValue {
		return s
	}
	return strings.ToValidUTF8(s[:maxValue], "") + "…"
}

// isBookkeeping names what other tools note in a package, and the fields of a Kptfile
// that record which revision the package came from and whose it is: they differ by
// nature and are no change to review. Another upstream, update strategy or deletion
// policy is one.
func isBookkeeping(kind, field string) bool {
	if krm.IsBookkeeping(kind, field) {
		return true
	}
	if kind != kptfilev1.KptFileKind {
		return false
	}
	for _, own := range []string{"metadata.name", "upstream.git.ref", "upstreamLock"} {
		if field == own || strings.HasPrefix(field, own+".") {
			return true
		}
	}
	return strings.HasPrefix(field, "metadata.annotations[variform.dev/") && field != "metadata.annotations[variform.dev/deletion-policy]"
}

// isContext reports whether a resource is a package's context, which has the
// package's own name and path: bookkeeping, too.
func isContext(r *krm.Resource) bool {
	return r.Kind() == "ConfigMap" && r.Name() == "kptfile.kpt.dev"
}

// ownNames are the lines of a package context with the package's own name and path.
var ownNames = lazyregexp.New(`(?m)^ +(name|package-path):.*\n?`)

func isOwnName(field string) bool { return field == "data.name" || field == "data.package-path" }

// withoutName is a package context without the package's own name and path.
func withoutName(n *yaml.Node) *yaml.Node {
	out := yaml.CopyYNode(n)
	data := yamltree.Path(out, "data")
	for _, key := range []string{"name", "package-path"} {
		yamltree.Remove(data, key)
	}
	return out
}

func isBookkeepingFile(p string) bool { return path.Base(p) == "Kptfile" }

// holdsBookkeeping names the maps of a Kptfile in which bookkeeping stands
// beside other entries, so that they are compared entry by entry.
func holdsBookkeeping(field string) bool {
	return field == "metadata" || field == "metadata.annotations" || field == "status"
}
