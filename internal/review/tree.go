package review

import (
	"path"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
)

// maxValue bounds how much of a value an Edit shows.
const maxValue = 200

// tree compares two trees of one resource, field by field.
func (d *differ) tree(before, after *krm.Resource) {
	w := &walker{d: d, file: after.Path(), resource: title(after), secret: after.Kind() == "Secret", kptfile: after.Kind() == "Kptfile", context: isContext(after)}
	w.node("", before.Node().YNode(), after.Node().YNode())
}

type walker struct {
	d               *differ
	file, resource  string
	secret, kptfile bool
	context         bool // the package context
}

func (w *walker) node(field string, a, b *yaml.Node) {
	a, b = resolve(a), resolve(b)
	if w.kptfile && isBookkeeping(field) || w.context && field == "data.name" {
		return
	}
	if w.kptfile && field == "upstream" && (a == nil || b == nil) {
		return // a first Draft begins to have one
	}
	switch {
	case a == nil && b == nil:
	case a == nil && w.kptfile && b.Kind == yaml.MappingNode && holdsBookkeeping(field):
		w.mapping(field, &yaml.Node{Kind: yaml.MappingNode}, b)
	case b == nil && w.kptfile && a.Kind == yaml.MappingNode && holdsBookkeeping(field):
		w.mapping(field, a, &yaml.Node{Kind: yaml.MappingNode})
	case a == nil:
		w.value(field, Add, nil, b)
	case b == nil:
		w.value(field, Remove, a, nil)
	case a.Kind == yaml.MappingNode && b.Kind == yaml.MappingNode:
		w.mapping(field, a, b)
	case a.Kind == yaml.SequenceNode && b.Kind == yaml.SequenceNode:
		w.sequence(field, a, b)
	case a.Kind == yaml.ScalarNode && b.Kind == yaml.ScalarNode && a.Value == b.Value && a.ShortTag() == b.ShortTag():
		w.comment(field, comments(a), comments(b))
	default:
		w.value(field, Update, a, b)
	}
}

// resolve follows documents and aliases to the node that counts.
func resolve(n *yaml.Node) *yaml.Node {
	for depth := 0; n != nil && depth < 32; depth++ {
		switch {
		case n.Kind == yaml.DocumentNode && len(n.Content) == 1:
			n = n.Content[0]
		case n.Kind == yaml.AliasNode:
			n = n.Alias
		default:
			return n
		}
	}
	return n
}

func (w *walker) mapping(field string, a, b *yaml.Node) {
	old, keys := entries(a), map[string]*yaml.Node{}
	for i := 0; i+1 < len(a.Content); i += 2 {
		keys[a.Content[i].Value] = a.Content[i]
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(b.Content); i += 2 {
		k := b.Content[i].Value
		seen[k] = true
		if had := keys[k]; had != nil {
			w.comment(join(field, k), comments(had), comments(b.Content[i]))
		}
		w.node(join(field, k), old[k], b.Content[i+1])
	}
	for i := 0; i+1 < len(a.Content); i += 2 {
		if k := a.Content[i].Value; !seen[k] {
			w.node(join(field, k), a.Content[i+1], nil)
		}
	}
}

// comments are a node's own, which may mean something: setters stand in them.
func comments(n *yaml.Node) string {
	return strings.TrimSpace(strings.Join([]string{n.HeadComment, n.LineComment, n.FootComment}, "\n"))
}

// comment reports a comment that changed where its value did not.
func (w *walker) comment(field, before, after string) {
	if before == after || w.kptfile && isBookkeeping(field) {
		return
	}
	w.d.add(Edit{
		File: w.file, Resource: w.resource, Op: Format, Field: w.d.norm.text(field), Before: short(before), After: short(after),
		Digest: digest([]byte(w.d.norm.text(before) + "\x00" + w.d.norm.text(after))),
	})
}

func entries(n *yaml.Node) map[string]*yaml.Node {
	m := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		m[n.Content[i].Value] = n.Content[i+1]
	}
	return m
}

// sequence pairs items by their identifying key where both lists have one,
// else by place after cutting the common ends.
func (w *walker) sequence(field string, a, b *yaml.Node) {
	if key := listKey(a, b); key != "" {
		old := map[string]*yaml.Node{}
		for _, n := range a.Content {
			old[entries(n)[key].Value] = n
		}
		for _, n := range b.Content {
			id := entries(n)[key].Value
			w.node(field+"["+key+"="+id+"]", old[id], n)
			delete(old, id)
		}
		for _, n := range a.Content {
			if id := entries(n)[key].Value; old[id] == n {
				w.node(field+"["+key+"="+id+"]", n, nil)
			}
		}
		return
	}
	x, y := a.Content, b.Content
	start := 0
	for start < len(x) && start < len(y) && yamlText(x[start]) == yamlText(y[start]) {
		start++
	}
	for len(x) > start && len(y) > start && yamlText(x[len(x)-1]) == yamlText(y[len(y)-1]) {
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

// listKey finds a key by which the mappings of both lists are told apart.
func listKey(lists ...*yaml.Node) string {
	for _, key := range []string{"name", "type", "conditionType", "image", "key", "mountPath", "containerPort", "port", "ip"} {
		if keyFits(key, lists) {
			return key
		}
	}
	return ""
}

func keyFits(key string, lists []*yaml.Node) bool {
	items := 0
	for _, l := range lists {
		seen := map[string]bool{}
		for _, n := range l.Content {
			if n.Kind != yaml.MappingNode {
				return false
			}
			v := entries(n)[key]
			if v == nil || v.Kind != yaml.ScalarNode || seen[v.Value] {
				return false
			}
			seen[v.Value] = true
			items++
		}
	}
	return items > 0
}

func (w *walker) value(field string, op Op, a, b *yaml.Node) {
	e := Edit{File: w.file, Resource: w.resource, Op: op, Field: w.d.norm.text(field)}
	before, after := valueText(a), valueText(b)
	e.Digest = digest([]byte(w.d.norm.text(before) + "\x00" + w.d.norm.text(after)))
	if !w.secret {
		e.Before, e.After = short(before), short(after)
	}
	w.d.add(e)
}

func valueText(n *yaml.Node) string {
	switch {
	case n == nil:
		return ""
	case n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagString:
		return n.Value
	default:
		c := *n
		c.HeadComment, c.LineComment, c.FootComment = "", "", ""
		return yamlText(&c)
	}
}

func short(s string) string {
	if len(s) <= maxValue {
		return s
	}
	return strings.ToValidUTF8(s[:maxValue], "") + "…"
}

func join(field, key string) string {
	if strings.ContainsAny(key, "./ ") {
		return field + "[" + key + "]"
	}
	if field == "" {
		return key
	}
	return field + "." + key
}

// isBookkeeping names the fields of a Kptfile that record which revision a
// package came from and whose it is: they differ by nature and are no change to
// review. Another upstream, update strategy or deletion policy is one.
func isBookkeeping(field string) bool {
	for _, own := range []string{"metadata.name", "upstream.git.ref", "upstreamLock"} {
		if field == own || strings.HasPrefix(field, own+".") {
			return true
		}
	}
	return strings.HasPrefix(field, "metadata.annotations[variform.dev/") && field != "metadata.annotations[variform.dev/deletion-policy]"
}

// isContext reports whether a resource is a package's context, whose data.name
// is the package's own name: bookkeeping, too.
func isContext(r *krm.Resource) bool {
	return r.Kind() == "ConfigMap" && r.Name() == "kptfile.kpt.dev"
}

// withoutName is a package context with an empty data.name.
func withoutName(n *yaml.Node) *yaml.Node {
	out := yaml.CopyYNode(n)
	if root := resolve(out); root != nil && root.Kind == yaml.MappingNode {
		if data := resolve(entries(root)["data"]); data != nil && data.Kind == yaml.MappingNode {
			if name := resolve(entries(data)["name"]); name != nil {
				name.Value = ""
			}
		}
	}
	return out
}

func isBookkeepingFile(p string) bool { return path.Base(p) == "Kptfile" }

// holdsBookkeeping names the maps of a Kptfile in which bookkeeping stands
// beside other entries, so that they are compared entry by entry.
func holdsBookkeeping(field string) bool {
	return field == "metadata" || field == "metadata.annotations"
}
