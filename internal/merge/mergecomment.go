package merge

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// UpstreamIdentifier is the annotation in which kpt keeps what a resource was
// called in its upstream: group|kind|namespace|name.
const UpstreamIdentifier = "internal.kpt.dev/upstream-identifier"

// AddMergeComments does what kpt does to a package that it fetches: each
// resource gets the comment "# kpt-merge: namespace/name" on metadata, unless
// it has one, and the annotation [UpstreamIdentifier]. A resource that is
// renamed later keeps its identity by them. Kptfiles, resources without name,
// namespace and labels, and what is no resource stay as they are. p is changed
// in place; handles of its resources are invalid afterwards.
func AddMergeComments(p *krm.Package) error {
	missing := map[string][]*krm.Resource{}
	for _, r := range p.Resources() {
		key := metadataKey(r.Node().YNode())
		if marked(r) && !strings.Contains(key.LineComment, mergeComment) {
			missing[r.Path()] = append(missing[r.Path()], r)
		}
	}
	for name, rs := range missing {
		f, _ := p.Read(name)
		f.Data = addComments(f.Data, rs, func(r *krm.Resource) (string, string) { return r.Namespace(), r.Name() })
		p.Write(f)
	}
	var errs []error
	for _, r := range p.Resources() {
		if !marked(r) {
			continue
		}
		if err := r.SetAnnotation(UpstreamIdentifier, upstreamIdentifier(r)); err != nil {
			errs = append(errs, fmt.Errorf("marking %s in %s: %w", r.ID(), r.Path(), err))
		}
	}
	return errors.Join(errs...)
}

// marked says whether kpt marks a resource.
func marked(r *krm.Resource) bool {
	if path.Base(r.Path()) == kptfilev1.KptFileName {
		return false
	}
	meta := yamltree.Child(r.Node().YNode(), yaml.MetadataField)
	return yamltree.IsMap(meta) && (r.Name() != "" || r.Namespace() != "" || len(entries(yamltree.Child(meta, "labels"))) > 0)
}

// unmarked is a resource's tree without the annotation that kpt gives it when it
// fetches it, which is nobody's edit.
func unmarked(n *yaml.Node) *yaml.Node {
	if yamltree.Path(n, yaml.MetadataField, yaml.AnnotationsField, UpstreamIdentifier) == nil {
		return n
	}
	n = yamltree.Copy(n)
	meta := yamltree.Child(n, yaml.MetadataField)
	annotations := yamltree.Child(meta, yaml.AnnotationsField)
	if yamltree.Remove(annotations, UpstreamIdentifier); len(annotations.Content) == 0 {
		yamltree.Remove(meta, yaml.AnnotationsField)
	}
	return n
}

func upstreamIdentifier(r *krm.Resource) string {
	id := identity(r)
	return strings.Join([]string{id.Group, id.Kind, api.NamespaceOr(id.Namespace), id.Name}, "|")
}

// addComments writes the comment behind "metadata:" of each resource of a
// file. One whose metadata is written in flow has no place for it.
func addComments(data []byte, rs []*krm.Resource, called func(*krm.Resource) (namespace, name string)) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	for _, r := range rs {
		root := r.Node().YNode()
		meta := yamltree.Child(root, yaml.MetadataField)
		at := r.Line() - root.Line + metadataKey(root).Line - 1
		if meta.Style&yaml.FlowStyle != 0 || root.Style&yaml.FlowStyle != 0 || at < 0 || at >= len(lines) {
			continue
		}
		text := bytes.TrimRight(lines[at], " \t\r\n")
		if !bytes.HasSuffix(text, []byte(":")) {
			continue
		}
		end := lines[at][len(bytes.TrimRight(lines[at], "\r\n")):]
		namespace, name := called(r)
		lines[at] = slices.Concat(text, fmt.Appendf(nil, " # %s %s/%s", mergeComment, namespace, name), end)
	}
	return bytes.Join(lines, nil)
}
