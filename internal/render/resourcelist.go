package render

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/catalogfn/carry"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// The annotations that carry a resource's place to a function and back, as kpt
// sets them. Each has an older twin that functions may still look at.
const (
	annPath        = "internal.config.kubernetes.io/path"
	annIndex       = "internal.config.kubernetes.io/index"
	annID          = "internal.config.kubernetes.io/id"
	annPackage     = "internal.config.kubernetes.io/package-path"
	annSeqIndent   = "internal.config.kubernetes.io/seqindent"
	annResourceID  = "internal.config.k8s.io/kpt-resource-id"
	annLegacyPath  = "config.kubernetes.io/path"
	annLegacyIndex = "config.kubernetes.io/index"
	annLegacyID    = "config.k8s.io/id"

	listAPIVersion = "config.kubernetes.io/v1"
	listKind       = "ResourceList"

	// packageRoot stands for the root of the rendered package in package-path,
	// which kpt makes the absolute path on its machine.
	packageRoot = "/package"
)

var transportAnnotations = []string{
	annPath, annIndex, annID, annPackage, annSeqIndent, annResourceID, annLegacyPath, annLegacyIndex, annLegacyID,
}

// resourceList carries one call to a program and its answer back.
type resourceList struct {
	call *Call
}

func newResourceList(c *Call) *resourceList { return &resourceList{call: c} }

// encode writes the call as the text of a ResourceList.
func (l *resourceList) encode() ([]byte, error) {
	doc, err := l.node()
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	if err := enc.Encode(yamltree.Portable(doc)); err != nil {
		return nil, fmt.Errorf("encoding the ResourceList: %w", err)
	}
	return buf.Bytes(), enc.Close()
}

// node is the call as a ResourceList; it is the caller's own.
func (l *resourceList) node() (*yaml.Node, error) {
	items := yamltree.Seq()
	for i, r := range l.call.Selected {
		n := l.annotated(r)
		set := []string{annID, strconv.Itoa(i + 1), annLegacyID, strconv.Itoa(i + 1)}
		if err := setAnnotations(n, set...); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Path(), err)
		}
		items.Content = append(items.Content, n)
	}
	doc := emptyList()
	yamltree.Set(doc, nil, "items", items)
	if l.call.Config != nil {
		yamltree.Set(doc, nil, "functionConfig", l.call.Config.Copy().YNode())
	}
	return doc, nil
}

// emptyList is a ResourceList with nothing in it.
func emptyList() *yaml.Node {
	doc := yamltree.Map()
	yamltree.SetString(doc, nil, "apiVersion", listAPIVersion)
	yamltree.SetString(doc, nil, "kind", listKind)
	return doc
}

func (l *resourceList) annotated(r *krm.Resource) *yaml.Node {
	n := r.Node().Copy().YNode()
	dir := l.call.PkgDir(r)
	file, index := relTo(dir, r.Path()), strconv.Itoa(r.Index())
	_ = setAnnotations(n, annPath, file, annIndex, index, annPackage, path.Join(packageRoot, dir),
		annLegacyPath, file, annLegacyIndex, index) // the same error is met when the id is set
	return n
}

// setAnnotations sets key, value pairs.
func setAnnotations(n *yaml.Node, pairs ...string) error {
	r := yaml.NewRNode(n)
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := r.PipeE(yaml.SetAnnotation(pairs[i], pairs[i+1])); err != nil {
			return fmt.Errorf("metadata.annotations: %w", err)
		}
	}
	return nil
}

// item is one resource of a program's answer.
type item struct {
	node  *yaml.Node
	id    int // of the resource that it was, from 1; 0 for a new one
	file  string
	index string
}

// apply brings an answer back, whatever runtime gave it: only what really
// differs is changed.
func (l *resourceList) apply(out []byte) error {
	doc, err := parseList(out)
	if err != nil {
		return err
	}
	l.call.Results = append(l.call.Results, resultsOf(doc)...)
	items, err := l.items(doc)
	if err != nil {
		return err
	}
	seen := make([]bool, len(l.call.Selected)+1)
	var added []item
	for _, it := range items {
		if it.id == 0 || seen[it.id] {
			added = append(added, it)
			continue
		}
		seen[it.id] = true
		r := l.call.Selected[it.id-1]
		if it.file != r.Path() {
			if err := checkTarget(l.call.Package, l.call.Dir, it.file); err != nil {
				return err
			}
			r.Move(it.file)
		}
		if carry.Differs(r.Node().YNode(), it.node) {
			carry.Over(r.Edit().YNode(), it.node)
		}
	}
	for i, r := range l.call.Selected {
		if !seen[i+1] {
			r.Delete()
		}
	}
	return l.add(added)
}

func (l *resourceList) add(added []item) error {
	slices.SortStableFunc(added, func(a, b item) int {
		if a.file != b.file || a.index == "" || b.index == "" {
			return 0
		}
		x, _ := strconv.Atoi(a.index)
		y, _ := strconv.Atoi(b.index)
		return x - y
	})
	for _, it := range added {
		if err := checkTarget(l.call.Package, l.call.Dir, it.file); err != nil {
			return err
		}
		l.call.Package.Add(it.file, yaml.NewRNode(it.node))
	}
	return nil
}

// items reads the answer's resources, their places checked as kpt does: inside
// of the package, and no two at one place.
func (l *resourceList) items(doc *yaml.RNode) ([]item, error) {
	list, err := doc.Pipe(yaml.Lookup("items"))
	if err != nil {
		return nil, fmt.Errorf("output: items: %w", err)
	}
	nodes, err := list.Elements()
	if err != nil {
		return nil, fmt.Errorf("output: items: %w", err)
	}
	if err := measured(doc.YNode(), nodes); err != nil {
		return nil, err
	}
	var out []item
	var errs []error
	places := map[[2]string]bool{}
	for i, n := range nodes {
		it, err := l.item(n)
		if err != nil {
			errs = append(errs, fmt.Errorf("output: items[%d]: %w", i, err))
			continue
		}
		place := [2]string{it.file, it.index}
		if places[place] {
			errs = append(errs, fmt.Errorf("output: items[%d]: two resources have the place %s, index %q", i, it.file, it.index))
		}
		places[place] = true
		out = append(out, it)
	}
	return out, errors.Join(errs...)
}

// measured refuses items that no file may hold, before anything follows their
// aliases: these may lead to any place before them in the answer.
func measured(doc *yaml.Node, items []*yaml.RNode) error {
	m := krm.NewMeasure(krm.Limits{})
	for field, value := range yamltree.Fields(doc) {
		if field.Value != "items" {
			if line, err := m.Tree(value); err != nil {
				return fmt.Errorf("output: %s, line %d: %w", field.Value, line, err)
			}
			continue
		}
		for at, n := range items {
			if line, err := m.Tree(n.YNode()); err != nil {
				file := yamltree.Text(n.YNode(), "metadata", "annotations", annPath)
				return fmt.Errorf("output: items[%d], line %d, for %q: %w", at, line, file, err)
			}
		}
	}
	return nil
}

func (l *resourceList) item(n *yaml.RNode) (item, error) {
	if n.YNode() == nil || n.YNode().Kind != yaml.MappingNode {
		return item{}, errors.New("not a resource")
	}
	ann := n.GetAnnotations()
	first := func(keys ...string) string {
		for _, k := range keys {
			if v := ann[k]; v != "" {
				return v
			}
		}
		return ""
	}
	it := item{node: n.YNode(), index: first(annIndex, annLegacyIndex)}
	if id, err := strconv.Atoi(first(annID, annLegacyID)); err == nil && id >= 1 && id <= len(l.call.Selected) {
		it.id = id
	}
	file, err := l.answeredPath(it.id, ann)
	if err != nil {
		return item{}, err
	}
	if file == "" {
		file = defaultPath(n)
	}
	if err := checkKRM(n, file); err != nil {
		return item{}, err
	}
	dir, err := l.packageDir(first(annPackage))
	if err != nil {
		return item{}, err
	}
	it.file = path.Join(dir, file)
	if !inside(dir, it.file) {
		return item{}, fmt.Errorf("path %q leads out of package %s", file, dirName(dir))
	}
	l.restore(it)
	return it, nil
}

// answeredPath is where a function wants a resource, "" where it does not say: of
// the annotation and its older twin the one that it changed. A leading slash is
// the package's root, as in kpt.
func (l *resourceList) answeredPath(id int, ann map[string]string) (string, error) {
	now, older := ann[annPath], ann[annLegacyPath]
	if now == "" || now == older {
		return strings.TrimLeft(cmp.Or(now, older), "/"), nil
	}
	if older != "" {
		sent := ""
		if id > 0 {
			r := l.call.Selected[id-1]
			sent = relTo(l.call.PkgDir(r), r.Path())
		}
		switch sent {
		case now:
			now = older
		case older:
		default:
			return "", fmt.Errorf("%s is %q and %s is %q: set one of them", annPath, now, annLegacyPath, older)
		}
	}
	return strings.TrimLeft(now, "/"), nil
}

// packageDir reads package-path back; without one, the resource belongs to the
// package whose pipeline runs.
func (l *resourceList) packageDir(abs string) (string, error) {
	if abs == "" {
		return l.call.Dir, nil
	}
	if abs == packageRoot {
		return "", nil
	}
	dir, ok := strings.CutPrefix(path.Clean(abs), packageRoot+"/")
	if !ok {
		return "", fmt.Errorf("%s is %q, which is outside of the rendered package", annPackage, abs)
	}
	return dir, nil
}

// restore takes the transport's annotations off again; what a resource had
// under these names before, it keeps.
func (l *resourceList) restore(it item) {
	var before map[string]string
	if it.id > 0 {
		before = l.call.Selected[it.id-1].Node().GetAnnotations()
	}
	meta := yamltree.Child(it.node, yaml.MetadataField)
	ann := yamltree.Child(meta, yaml.AnnotationsField)
	if ann == nil {
		return
	}
	for _, k := range transportAnnotations {
		if v, ok := before[k]; ok {
			yamltree.SetString(ann, nil, k, v)
			continue
		}
		yamltree.Remove(ann, k)
	}
	l.dropEmpty(it, meta, ann)
}

// dropEmpty removes the mappings that were made for the transport alone.
func (l *resourceList) dropEmpty(it item, meta, ann *yaml.Node) {
	var was *yaml.Node
	if it.id > 0 {
		was = yamltree.Child(l.call.Selected[it.id-1].Node().YNode(), yaml.MetadataField)
	}
	if len(ann.Content) == 0 && yamltree.Child(was, yaml.AnnotationsField) == nil {
		yamltree.Remove(meta, yaml.AnnotationsField)
	}
	if len(meta.Content) == 0 && was == nil {
		yamltree.Remove(it.node, yaml.MetadataField)
	}
}

// defaultPath is where kpt puts a resource that came without a path.
func defaultPath(n *yaml.RNode) string {
	return path.Join(n.GetNamespace(), strings.ToLower(n.GetKind())+"_"+n.GetName()+".yaml")
}

// maxValues bounds what is parsed of a function's answer.
const maxValues = 2 * krm.DefaultValues

func parseList(out []byte) (*yaml.RNode, error) {
	if len(bytes.TrimSpace(out)) == 0 {
		return nil, errors.New("output: nothing was written; a function writes a ResourceList, also where it changes nothing")
	}
	if n := krm.Values(out); n > maxValues {
		return nil, fmt.Errorf("output: it has up to %d values, more than %d", n, maxValues)
	}
	doc, err := parseYAML(out)
	if err != nil {
		return nil, fmt.Errorf("output: not YAML: %w", err)
	}
	if !yamltree.IsMap(doc.YNode()) {
		return nil, errors.New("output: it is no mapping, not a ResourceList")
	}
	if doc.GetKind() != listKind {
		return nil, fmt.Errorf("output: kind is %q, not %s", doc.GetKind(), listKind)
	}
	return doc, nil
}

// parseYAML parses a program's answer, as JSON where it is that.
func parseYAML(out []byte) (*yaml.RNode, error) {
	if root, ok := yamltree.JSON(out); ok {
		return yaml.NewRNode(root.Content[0]), nil
	}
	return yaml.Parse(string(out))
}

// results reads what a failed program had to say; there may be nothing.
func (l *resourceList) results(out []byte) fn.Results {
	doc, err := parseList(out)
	if err != nil {
		return nil //nolint:nilerr // a list that cannot be read has no results; the caller reports the function
	}
	return resultsOf(doc)
}

// resultsOf reads results in the present form and in the two older ones: a
// mapping with items, and resource references with metadata.
func resultsOf(doc *yaml.RNode) fn.Results {
	n := yamltree.Child(doc.YNode(), "results")
	if n != nil && n.Kind == yaml.MappingNode {
		n = yamltree.Child(n, "items")
	}
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	var out fn.Results
	for _, e := range n.Content {
		r := &fn.Result{}
		if err := e.Decode(r); err != nil {
			r = &fn.Result{Message: "a result that cannot be read: " + err.Error(), Severity: fn.Warning}
		}
		olderForm(e, r)
		out = append(out, r)
	}
	return out
}

func olderForm(e *yaml.Node, r *fn.Result) {
	if meta := yamltree.Path(e, "resourceRef", "metadata"); meta != nil && r.ResourceRef != nil {
		if v := yamltree.Child(meta, "name"); v != nil {
			r.ResourceRef.Name = v.Value
		}
		if v := yamltree.Child(meta, "namespace"); v != nil {
			r.ResourceRef.Namespace = v.Value
		}
	}
	if v := yamltree.Path(e, "field", "suggestedValue"); v != nil && r.Field != nil {
		r.Field.ProposedValue = v.Value
	}
}
