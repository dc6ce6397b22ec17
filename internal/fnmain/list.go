package fnmain

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// packagePath is kpt's annotation with the folder of an item's own package. It
// is absolute under "kpt fn render", where paths are relative to it, and absent
// elsewhere.
const packagePath = "internal.config.kubernetes.io/package-path"

// pathAnnotations have an item's path; the second is what older writers set.
var pathAnnotations = []string{krm.PathAnnotation, krm.LegacyPathAnnotation}

// list is one ResourceList.
type list struct {
	items      []item
	dash       int         // the column of the items' dashes in their text
	config     *yaml.RNode // nil where there is none
	configText []byte      // with its key; nil where it is to be encoded
	results    fn.Results
}

// item is one object of a list.
type item struct {
	node *yaml.RNode
	text []byte // its lines on stdin; nil where they are not known
	lead int    // bytes of comment lines before its dash
}

// call runs the function on the items as a package and takes its result over:
// items in their order, without those that the function deleted, then new ones.
// A panic, or more time than limit, becomes an error and leaves the items as
// they are; a function that goes on then is left to the end of the process.
func (l *list) call(ctx context.Context, process function.Processor, limit time.Duration) error {
	nodes := make([]*yaml.RNode, len(l.items))
	for i := range l.items {
		nodes[i] = l.items[i].node
	}
	folders := packagePaths(nodes)
	root := commonFolder(folders)
	p, err := krm.FromItems(nodes, func(n *yaml.RNode) string { return modelPath(n, root) })
	if err != nil {
		return err
	}
	before := p.Resources()
	c := &function.Call{Package: p, Config: l.config}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- safely(ctx, c, process) }()
	select {
	case err := <-done:
		l.results = append(l.results, c.Results...)
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return fmt.Errorf("it did not end within %s (MaxTime); %s", limit, fewer)
	}
	return l.take(p, before, root, folders)
}

func safely(ctx context.Context, c *function.Call, process function.Processor) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the function broke: %v", r)
		}
	}()
	function.CheckPlaces(c)
	return function.Run(ctx, process, c)
}

// take makes the package's resources the list's items. What the function did
// not change keeps its text.
func (l *list) take(p *krm.Package, before []*krm.Resource, root string, folders []string) error {
	was := make(map[*krm.Resource]item, len(before))
	for i, r := range before {
		was[r] = l.items[i]
	}
	resources := p.Resources() // new ones last
	if at := slices.IndexFunc(resources, func(r *krm.Resource) bool { _, known := was[r]; return !known }); at >= 0 {
		slices.SortStableFunc(resources[at:], func(a, b *krm.Resource) int { return strings.Compare(a.Path(), b.Path()) })
	}
	items := make([]item, 0, len(resources))
	for _, r := range resources {
		it, ok := was[r]
		switch {
		case !ok:
			it.node = r.Edit()
			if err := setPlace(it.node, r, root, folders); err != nil {
				return fmt.Errorf("placing the new %s %s: %w", r.Kind(), r.Name(), err)
			}
		case r.Changed():
			it.node, it.text = r.Node(), it.text[:it.lead]
		}
		items = append(items, it)
	}
	l.items = items
	return nil
}

// encode writes the list; items keep their order.
func (l *list) encode() ([]byte, error) {
	out := bytes.NewBuffer(make([]byte, 0, l.size()))
	out.WriteString("apiVersion: " + kio.ResourceListAPIVersion + "\nkind: " + kio.ResourceListKind + "\n")
	if len(l.items) == 0 {
		out.WriteString("items: []\n")
	} else {
		out.WriteString("items:\n")
	}
	for i := range l.items {
		if err := l.items[i].write(out, l.dash); err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
	}
	if l.configText != nil {
		writeLines(out, l.configText)
	} else if l.config != nil {
		if err := encodeKey(out, configKey, l.config.YNode()); err != nil {
			return nil, err
		}
	}
	if len(l.results) > 0 {
		results, err := yamltree.Encode(l.results)
		if err != nil {
			return nil, err
		}
		if err := encodeKey(out, "results", results); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// size is about how long the list's text will be.
func (l *list) size() int {
	n := 1 << 12
	for i := range l.items {
		n += len(l.items[i].text)
	}
	return n + len(l.configText)
}

// write puts an item at the column of the list's dashes.
func (it item) write(out *bytes.Buffer, dash int) error {
	writeLines(out, it.text)
	if len(it.text) > it.lead {
		return nil
	}
	var text bytes.Buffer
	if err := encodeNode(&text, yamltree.Seq(it.node.YNode())); err != nil {
		return err
	}
	for line := range bytes.Lines(text.Bytes()) {
		if len(line) > 1 {
			out.WriteString(strings.Repeat(" ", dash))
		}
		out.Write(line)
	}
	return nil
}

// writeLines writes whole lines.
func writeLines(out *bytes.Buffer, text []byte) {
	out.Write(text)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		out.WriteByte('\n')
	}
}

func encodeKey(out *bytes.Buffer, key string, value *yaml.Node) error {
	m := yamltree.Map()
	yamltree.Set(m, nil, key, value)
	return encodeNode(out, m)
}

// encodeNode encodes a tree. The encoder panics on some trees that the parser
// made of malformed text; that is an error like any other.
func encodeNode(out *bytes.Buffer, n *yaml.Node) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it cannot be written as YAML: %v", r)
		}
	}()
	enc := yaml.NewEncoder(out)
	if err := enc.Encode(yamltree.Portable(n)); err != nil {
		return err
	}
	return enc.Close()
}

func annotation(n *yaml.RNode, keys ...string) string {
	annotations := yamltree.Path(n.YNode(), "metadata", "annotations")
	for _, k := range keys {
		if v := yamltree.Text(annotations, k); v != "" {
			return v
		}
	}
	return ""
}

// modelPath is the item's path from the folder that all items share; what would
// leave that folder is held inside it, for the annotations keep the truth.
func modelPath(n *yaml.RNode, root string) string {
	p := annotation(n, pathAnnotations...)
	if p == "" {
		p = strings.ToLower(yamltree.Text(n.YNode(), "kind")+"_"+yamltree.Text(n.YNode(), "metadata", "name")) + ".yaml"
	}
	if dir := annotation(n, packagePath); dir != "" {
		p = path.Join(strings.TrimPrefix(path.Clean(dir), root), p)
	}
	return strings.TrimPrefix(path.Clean("/"+p), "/")
}

// packagePaths lists the package folders of the items, each once.
func packagePaths(nodes []*yaml.RNode) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, n := range nodes {
		if dir := annotation(n, packagePath); !seen[dir] {
			seen[dir] = true
			out = append(out, path.Clean(dir))
		}
	}
	return out
}

// commonFolder is the deepest folder that holds all package folders, "" where
// there is none.
func commonFolder(dirs []string) string {
	if len(dirs) == 0 {
		return ""
	}
	common := dirs[0]
	for _, d := range dirs[1:] {
		for !within(d, common) {
			common = path.Dir(common)
		}
	}
	return strings.TrimSuffix(common, "/")
}

func within(dir, parent string) bool {
	return parent == "/" || parent == "." || dir == parent || strings.HasPrefix(dir, parent+"/")
}

// setPlace gives a new item the annotations that tell kpt where to write it:
// those of the deepest package that holds its path.
func setPlace(n *yaml.RNode, r *krm.Resource, root string, packages []string) error {
	file, pkg := r.Path(), ""
	for _, dir := range packages {
		rel := strings.TrimPrefix(strings.TrimPrefix(dir, root), "/")
		if len(dir) > len(pkg) && (rel == "" || strings.HasPrefix(r.Path(), rel+"/")) {
			pkg, file = dir, strings.TrimPrefix(strings.TrimPrefix(r.Path(), rel), "/")
		}
	}
	places := []struct{ key, value string }{
		{krm.IndexAnnotation, strconv.Itoa(r.Index())},
		{packagePath, pkg},
		{krm.PathAnnotation, file},
	}
	for _, a := range places {
		if a.value == "" {
			continue
		}
		annotations := yamltree.Ensure(yamltree.Ensure(n.YNode(), nil, "metadata"), []string{"name", "namespace", "labels", "annotations"}, "annotations")
		if annotations == nil {
			return fmt.Errorf("metadata.annotations must be a map")
		}
		yamltree.SetString(annotations, nil, a.key, a.value)
	}
	return nil
}
