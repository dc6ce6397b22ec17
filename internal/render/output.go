package render

import (
	"bytes"
	"fmt"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// visible are the resources of the rendered package that its functions can see:
// those of subpackages before the package's own, no ignored ones.
func (r *Result) visible() []*krm.Resource {
	root, _ := buildTree(r.Package, DefaultRegistry) // what functions made of the pipelines does not run any more
	var out []*krm.Resource
	_ = root.walk(func(n *pkgNode) error {
		out = append(out, n.local...)
		return nil
	})
	return out
}

// ResourceList is the rendered package as `kpt fn render -o stdout` writes it: a
// ResourceList whose items say by annotations where they are.
func (r *Result) ResourceList() ([]byte, error) {
	items := yamltree.Seq()
	for _, res := range r.visible() {
		n, index := res.Node().Copy().YNode(), strconv.Itoa(res.Index())
		err := setAnnotations(n, annLegacyIndex, index, annLegacyPath, res.Path(), annIndex, index, annPath, res.Path())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", res.Path(), err)
		}
		items.Content = append(items.Content, n)
	}
	doc := emptyList()
	yamltree.Set(doc, nil, "items", items)
	var buf bytes.Buffer
	enc := yaml.NewEncoder(&buf)
	if err := enc.Encode(yamltree.Portable(doc)); err != nil {
		return nil, fmt.Errorf("encoding the ResourceList: %w", err)
	}
	return buf.Bytes(), enc.Close()
}

// Unwrapped is the rendered package as `kpt fn render -o unwrap` writes it: its
// resources as one stream of documents, each in the bytes of its file.
func (r *Result) Unwrapped() ([]byte, error) {
	var out []byte
	for i, res := range r.visible() {
		text, err := res.Text()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, "---\n"...)
		}
		out = append(out, text...)
		if !bytes.HasSuffix(text, []byte("\n")) {
			out = append(out, '\n')
		}
	}
	return out, nil
}

// Files are the files of the rendered package that `kpt fn render -o DIR` writes:
// those that hold resources which functions can see.
func (r *Result) Files() ([]krm.File, error) {
	held := map[string]bool{}
	for _, res := range r.visible() {
		held[res.Path()] = true
	}
	all, err := r.Package.Files()
	if err != nil {
		return nil, err
	}
	var out []krm.File
	for _, f := range all {
		if held[f.Path] {
			out = append(out, f)
		}
	}
	return out, nil
}
