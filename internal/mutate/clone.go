package mutate

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// CloneOptions says what a cloned package becomes.
type CloneOptions struct {
	// Path is the package's path in the downstream repository; its last
	// element becomes the package's name, as with kpt.
	Path string
	// PackagePath is its path below its Repository, the context's package-path;
	// "" gives none.
	PackagePath string
	// Upstream and Lock say where it comes from; nil leaves the downstream
	// without. An empty update strategy becomes resource-merge.
	Upstream *kptfilev1.Upstream
	Lock     *kptfilev1.Locator
	// Owner is who the package belongs to from now on.
	Owner Owner
	// Labels and Annotations of the variant are set on the Kptfile, at creation
	// only (Porch's PackageVariant design, "Basic Spec Fields"). Annotations
	// under AnnotationPrefix are refused.
	Labels, Annotations map[string]string
	// Deployment says that the downstream's repository is a deployment
	// repository: a package context is made where it is missing.
	Deployment bool
}

// Clone returns a new package with the upstream's content
// (docs/design/hydration-and-update.md#from-inputs-to-a-package, step 1). The
// upstream is not changed. Subpackages keep their Kptfiles, but no Kptfile
// keeps the upstream's ownership, and the root none of the conditions that an
// injection wrote. All errors are returned at once.
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
			_, err := r.Modify(func(root *yaml.Node) error { dropOwn(root); return nil })
			errs = append(errs, inFile(r.Path(), err))
		}
	}
	errs = append(errs, opts.adopt(p, name))
	errs = append(errs, cloneContext(p, name, opts.PackagePath, opts.Deployment))
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
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(k, AnnotationPrefix) {
			errs = append(errs, fieldf("spec.annotations", "%q is Variform's own; choose another key", k))
		}
	}
	return errors.Join(errs...)
}

// adopt turns the upstream's Kptfile into the downstream's.
func (o *CloneOptions) adopt(p *krm.Package, name string) error {
	r, err := Kptfile(p, "")
	if err != nil {
		return err
	}
	_, err = r.Modify(func(root *yaml.Node) error {
		dropOwn(root)
		injection.DropConditions(root, func(string) bool { return true })
		meta := yamltree.Ensure(root, kptfileOrder, "metadata")
		if meta == nil {
			return fieldf("metadata", "must be a map")
		}
		yamltree.SetString(meta, metadataOrder, "name", name)
		return errors.Join(
			setStrings(root, "labels", o.Labels),
			setStrings(root, "annotations", o.Annotations),
			setOwner(root, o.Owner),
			setUpstream(root, o.Upstream, o.Lock),
		)
	})
	return inFile(r.Path(), err)
}

// dropOwn removes every annotation of Variform from a Kptfile.
func dropOwn(root *yaml.Node) {
	meta := yamltree.Child(root, "metadata")
	annotations := yamltree.Child(meta, "annotations")
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return
	}
	var own []string
	for k := range yamltree.Fields(annotations) {
		if strings.HasPrefix(k.Value, AnnotationPrefix) {
			own = append(own, k.Value)
		}
	}
	for _, k := range own {
		yamltree.Remove(annotations, k)
	}
	if len(own) > 0 {
		yamltree.RemoveEmpty(meta, "annotations")
	}
}
