package fnmain

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate/tree"
)

// packagePath is kpt's annotation with the folder of an item's own package. It
// is absolute under "kpt fn render", where paths are relative to it, and absent
// elsewhere.
const packagePath = "internal.config.kubernetes.io/package-path"

// list is one ResourceList: its items as nodes, which are edited in place.
type list struct {
	items   []*yaml.RNode
	config  *yaml.RNode // nil where there is none
	results fn.Results
}

func newList(rl *fn.ResourceList) *list {
	l := &list{items: make([]*yaml.RNode, len(rl.Items)), results: rl.Results}
	for i, item := range rl.Items {
		l.items[i] = item.MoveToResourceNode()
	}
	if rl.FunctionConfig != nil && !rl.FunctionConfig.IsEmpty() {
		l.config = rl.FunctionConfig.MoveToResourceNode()
	}
	return l
}

// call runs the function on the items as a package and takes its result over:
// items in their order, without those that the function deleted, then new ones.
// A panic becomes an error and leaves the items as they are.
func (l *list) call(ctx context.Context, process function.Processor) (err error) {
	p := &krm.Package{}
	root := commonFolder(l.items)
	handles := make([]*krm.Resource, len(l.items))
	for i, n := range l.items {
		handles[i] = p.Add(modelPath(n, root), n)
	}
	c := &function.Call{Package: p, Config: l.config}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the function broke: %v", r)
		}
		l.results = append(l.results, c.Results...)
	}()
	if err := process(ctx, c); err != nil {
		return err
	}
	return l.take(p, handles, root)
}

// take makes the package's resources the list's items.
func (l *list) take(p *krm.Package, handles []*krm.Resource, root string) error {
	resources := p.Resources()
	present := make(map[*krm.Resource]bool, len(resources))
	for _, r := range resources {
		present[r] = true
	}
	items := l.items[:0:0]
	known := make(map[*krm.Resource]bool, len(handles))
	for _, r := range handles {
		known[r] = true
		if present[r] {
			items = append(items, r.Node())
		}
	}
	packages := packagePaths(l.items)
	for _, r := range resources {
		if known[r] {
			continue
		}
		n := r.Edit()
		if err := setPlace(n, r, root, packages); err != nil {
			return fmt.Errorf("placing the new %s %s: %w", r.Kind(), r.Name(), err)
		}
		items = append(items, n)
	}
	l.items = items
	return nil
}

// encode writes the list; items that nothing changed keep the text that their
// nodes stand for, and all keep their order.
func (l *list) encode() ([]byte, error) {
	root := tree.Map()
	tree.SetString(root, nil, "apiVersion", kio.ResourceListAPIVersion)
	tree.SetString(root, nil, "kind", kio.ResourceListKind)
	items := tree.Seq()
	for _, n := range l.items {
		items.Content = append(items.Content, n.YNode())
	}
	if len(items.Content) == 0 {
		items.Style = yaml.FlowStyle
	}
	tree.Set(root, nil, "items", items)
	if l.config != nil {
		tree.Set(root, nil, "functionConfig", l.config.YNode())
	}
	if len(l.results) > 0 {
		results := &yaml.Node{}
		if err := results.Encode(l.results); err != nil {
			return nil, err
		}
		tree.Set(root, nil, "results", results)
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

func annotation(n *yaml.RNode, keys ...string) string {
	annotations := tree.Path(n.YNode(), "metadata", "annotations")
	for _, k := range keys {
		if v := tree.Text(annotations, k); v != "" {
			return v
		}
	}
	return ""
}

// modelPath is the item's path from the folder that all items share; what would
// leave that folder is held inside it, for the annotations keep the truth.
func modelPath(n *yaml.RNode, root string) string {
	p := annotation(n, kioutil.PathAnnotation, kioutil.LegacyPathAnnotation) //nolint:staticcheck // what older writers set
	if p == "" {
		p = strings.ToLower(tree.Text(n.YNode(), "kind")+"_"+tree.Text(n.YNode(), "metadata", "name")) + ".yaml"
	}
	if dir := annotation(n, packagePath); dir != "" {
		p = path.Join(strings.TrimPrefix(path.Clean(dir), root), p)
	}
	return strings.TrimPrefix(path.Clean("/"+p), "/")
}

// packagePaths lists the package folders of the items, each once.
func packagePaths(items []*yaml.RNode) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, n := range items {
		if dir := annotation(n, packagePath); !seen[dir] {
			seen[dir] = true
			out = append(out, path.Clean(dir))
		}
	}
	return out
}

// commonFolder is the deepest folder that holds all package folders, "" where
// no item names one.
func commonFolder(items []*yaml.RNode) string {
	dirs := packagePaths(items)
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
		{kioutil.IndexAnnotation, strconv.Itoa(r.Index())},
		{packagePath, pkg},
		{kioutil.PathAnnotation, file},
	}
	for _, a := range places {
		if a.value == "" {
			continue
		}
		annotations := tree.Ensure(tree.Ensure(n.YNode(), nil, "metadata"), []string{"name", "namespace", "labels", "annotations"}, "annotations")
		if annotations == nil {
			return fmt.Errorf("metadata.annotations must be a map")
		}
		tree.SetString(annotations, nil, a.key, a.value)
	}
	return nil
}
