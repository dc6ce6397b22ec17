package mutate

import (
	"errors"
	"path"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/injector"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate/tree"
)

// CloneOptions says what a cloned package becomes.
type CloneOptions struct {
	// Path is the package's path in the downstream repository; its last
	// element becomes the package's name, as with kpt.
	Path string
	// Upstream and Lock say where it comes from; nil leaves the downstream
	// without. An empty update strategy becomes resource-merge.
	Upstream *kptfilev1.Upstream
	Lock     *kptfilev1.Locator
	// Owner is who the package belongs to from now on.
	Owner Owner
	// Labels and Annotations of the variant are set on the Kptfile, at creation
	// only (seed 002, "Basic Spec Fields"). Annotations under AnnotationPrefix
	// are refused.
	Labels, Annotations map[string]string
	// Deployment says that the downstream's repository is a deployment
	// repository: a package context is made where it is missing.
	Deployment bool
}

// Clone returns a new package with the upstream's content (design section 5,
// step 1). The upstream is not changed. Subpackages keep their Kptfiles, but
// no Kptfile keeps the upstream's ownership, and the root none of the
// conditions that an injection wrote. All errors are returned at once.
func Clone(upstream *krm.Package, opts CloneOptions) (*krm.Package, error) {
	name := path.Base(path.Clean("/" + opts.Path))
	if name == "/" {
		return nil, errors.New("cloning needs the path of the downstream package")
	}
	if _, err := Kptfile(upstream, ""); err != nil {
		return nil, err
	}
	p := upstream.Clone()
	errs := []error{refuseOwn(opts.Annotations)}
	for _, r := range p.Resources() {
		if isKptfile(r) && r.Path() != kptfilev1.KptFileName {
			_, err := tree.Edit(r, func(root *yaml.Node) error { dropOwn(root); return nil })
			errs = append(errs, inFile(r.Path(), err))
		}
	}
	errs = append(errs, editRoot(p, func(root *yaml.Node) error { return opts.adopt(root, name) }))
	errs = append(errs, cloneContext(p, name, opts.Deployment))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

func isKptfile(r *krm.Resource) bool {
	return path.Base(r.Path()) == kptfilev1.KptFileName && r.Kind() == kptfilev1.KptFileKind
}

// refuseOwn keeps a variant from forging ownership.
func refuseOwn(annotations map[string]string) error {
	var errs []error
	for _, k := range tree.Keys(annotations) {
		if strings.HasPrefix(k, AnnotationPrefix) {
			errs = append(errs, fieldf("spec.annotations", "%q is Variform's own; choose another key", k))
		}
	}
	return errors.Join(errs...)
}

// adopt turns the upstream's Kptfile into the downstream's.
func (o *CloneOptions) adopt(root *yaml.Node, name string) error {
	dropOwn(root)
	injector.DropConditions(root, func(string) bool { return true })
	meta := tree.Ensure(root, kptfileOrder, "metadata")
	if meta == nil {
		return fieldf("metadata", "must be a map")
	}
	tree.SetString(meta, metadataOrder, "name", name)
	return errors.Join(
		setStrings(root, "labels", o.Labels),
		setStrings(root, "annotations", o.Annotations),
		setOwner(root, o.Owner),
		setUpstream(root, o.Upstream, o.Lock),
	)
}

// dropOwn removes every annotation of Variform from a Kptfile.
func dropOwn(root *yaml.Node) {
	meta := tree.Child(root, "metadata")
	annotations := tree.Child(meta, "annotations")
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return
	}
	var own []string
	for i := 0; i+1 < len(annotations.Content); i += 2 {
		if k := annotations.Content[i].Value; strings.HasPrefix(k, AnnotationPrefix) {
			own = append(own, k)
		}
	}
	for _, k := range own {
		tree.Remove(annotations, k)
	}
	if len(own) > 0 {
		tree.RemoveEmpty(meta, "annotations")
	}
}
