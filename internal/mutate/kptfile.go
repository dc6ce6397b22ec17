package mutate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// ErrNoKptfile says that a folder holds no Kptfile, or none that can be used.
var ErrNoKptfile = errors.New("no usable Kptfile")

// Kptfile returns the resource of the Kptfile in a directory of the package,
// "" for the root. Its errors wrap ErrNoKptfile and say what to do.
func Kptfile(p *krm.Package, dir string) (*krm.Resource, error) {
	file := path.Join(dir, kptfilev1.KptFileName)
	r := p.Kptfile(dir)
	if r == nil {
		return nil, missing(p, file)
	}
	if v := r.APIVersion(); v != kptfilev1.KptFileAPIVersion {
		return nil, &Error{file, "apiVersion", fmt.Errorf("%w: it is %q and must be %q; bring the package to the present form first", ErrNoKptfile, v, kptfilev1.KptFileAPIVersion)}
	}
	if meta := yamltree.Child(r.Node().YNode(), "metadata"); meta != nil && meta.Kind != yaml.MappingNode && !yamltree.IsNull(meta) {
		return nil, &Error{file, "metadata", fmt.Errorf("%w: it must be a map", ErrNoKptfile)}
	}
	return r, nil
}

func missing(p *krm.Package, file string) error {
	if _, ok := p.Read(file); !ok {
		return &Error{file, "", fmt.Errorf("%w: the file is missing, so this is no kpt package; run \"kpt pkg init\" in that folder and commit it", ErrNoKptfile)}
	}
	for _, problem := range p.Problems() {
		if problem.Path == file {
			return &Error{file, "", fmt.Errorf("%w: its YAML cannot be read at line %d: %w; correct it", ErrNoKptfile, problem.Line, problem.Err)}
		}
	}
	return &Error{file, "", fmt.Errorf("%w: it holds no document of kind Kptfile; give it apiVersion %s, kind %s and metadata.name",
		ErrNoKptfile, kptfilev1.KptFileAPIVersion, kptfilev1.KptFileKind)}
}

// Read decodes the Kptfile of a directory. Fields that the type does not know
// are ignored; a field of the wrong shape is an error.
func Read(p *krm.Package, dir string) (*kptfilev1.KptFile, error) {
	r, err := Kptfile(p, dir)
	if err != nil {
		return nil, err
	}
	var k kptfilev1.KptFile
	if err := r.Node().YNode().Decode(&k); err != nil {
		return nil, &Error{r.Path(), "", fmt.Errorf("%w: %w; correct that field", ErrNoKptfile, err)}
	}
	return &k, nil
}

// OCIOrigin is the type of an upstream in a registry. kpt never released an
// origin for registries and reads strictly: it refuses a section "oci", but takes
// any type. So an image stands in the section that it knows: repo
// oci://registry.example.com/path/package, directory /, ref (the tag) and, in the
// lock, commit (the digest).
const OCIOrigin kptfilev1.OriginType = "oci"

// ImageScheme is what the address of an image begins with in a Kptfile.
const ImageScheme = "oci://"

// ImageLock is the upstreamLock of a package from a registry: image is its
// address without tag and scheme, ref the tag or digest asked for.
func ImageLock(image, ref, digest string) *kptfilev1.Locator {
	return &kptfilev1.Locator{Type: OCIOrigin, Git: &kptfilev1.GitLock{
		Repo: ImageScheme + image, Directory: "/", Ref: ref, Commit: digest,
	}}
}

// Image is the address of the image that a lock names, without tag and scheme;
// ok is false for one on Git.
func Image(lock *kptfilev1.GitLock) (image string, ok bool) {
	return strings.CutPrefix(lock.Repo, ImageScheme)
}

// Lock is the Kptfile's upstreamLock on Git or of an image, nil where there is
// none.
func Lock(k *kptfilev1.KptFile) *kptfilev1.GitLock {
	if k.UpstreamLock == nil {
		return nil
	}
	return k.UpstreamLock.Git
}

// Conditions are those of the Kptfile's status, in its order.
func Conditions(k *kptfilev1.KptFile) []kptfilev1.Condition {
	if k.Status == nil {
		return nil
	}
	return k.Status.Conditions
}

// Gates are the condition types that must be True, in the Kptfile's order.
func Gates(k *kptfilev1.KptFile) []string {
	if k.Info == nil {
		return nil
	}
	out := make([]string, 0, len(k.Info.ReadinessGates))
	for _, g := range k.Info.ReadinessGates {
		out = append(out, g.ConditionType)
	}
	return out
}

// Unmet lists the gates whose condition is not True, as a condition each: the
// Kptfile's own, or one of status Unknown where it has none.
func Unmet(k *kptfilev1.KptFile) []kptfilev1.Condition {
	have := map[string]kptfilev1.Condition{}
	for _, c := range Conditions(k) {
		have[c.Type] = c
	}
	var out []kptfilev1.Condition
	for _, gate := range Gates(k) {
		c, ok := have[gate]
		if !ok {
			c = kptfilev1.Condition{Type: gate, Status: kptfilev1.ConditionUnknown, Message: "no condition of this type"}
		}
		if c.Status != kptfilev1.ConditionTrue {
			out = append(out, c)
		}
	}
	return out
}

// Strategy is how the package takes updates: upstream.updateStrategy, or
// resource-merge. An unknown one is an error that lists those there are.
func Strategy(k *kptfilev1.KptFile) (kptfilev1.UpdateStrategyType, error) {
	if k.Upstream == nil || k.Upstream.UpdateStrategy == "" {
		return defaultStrategy, nil
	}
	s, err := kptfilev1.ToUpdateStrategy(string(k.Upstream.UpdateStrategy))
	if err != nil {
		return "", &Error{kptfilev1.KptFileName, "upstream.updateStrategy", fmt.Errorf("%w; use one of %v", err, kptfilev1.UpdateStrategiesAsStrings())}
	}
	return s, nil
}

// OwnerOf reads the ownership annotations; ok is false where nobody owns the package.
func OwnerOf(k *kptfilev1.KptFile) (o Owner, ok bool) {
	a := k.Annotations
	o = Owner{Variant: a[AnnotationVariant], Set: a[AnnotationSet], DeletionPolicy: a[AnnotationDeletionPolicy], For: a[AnnotationFor]}
	return o, o.Variant != ""
}

// SetOwner writes the ownership annotations into the root Kptfile; fields of o
// that are empty leave no annotation. With the zero Owner it drops them
// (deletion policy orphan).
func SetOwner(p *krm.Package, o Owner) error {
	r, err := Kptfile(p, "")
	if err != nil || o.owns(r.Node().YNode()) { // mostly it is so already: a trial would cost a copy
		return err
	}
	return editRoot(p, func(root *yaml.Node) error { return setOwner(root, o) })
}

// owns says that a Kptfile has the very annotations of an owner.
func (o Owner) owns(root *yaml.Node) bool {
	annotations := yamltree.Path(root, "metadata", "annotations")
	return !slices.ContainsFunc(o.annotations(), func(a annotation) bool {
		have := yamltree.Child(annotations, a.key)
		if a.value == "" {
			return have != nil
		}
		return !yamltree.IsScalar(have) || have.ShortTag() != yaml.NodeTagString || have.Value != a.value
	})
}

// annotation is one of the ownership annotations, with an empty value none.
type annotation struct{ key, value string }

func (o Owner) annotations() []annotation {
	return []annotation{{AnnotationVariant, o.Variant}, {AnnotationSet, o.Set}, {AnnotationDeletionPolicy, o.DeletionPolicy}, {AnnotationFor, o.For}}
}

// DropConditions removes the conditions of these types from the root Kptfile's status.
func DropConditions(p *krm.Package, types []string) error {
	return editRoot(p, func(root *yaml.Node) error {
		status := yamltree.Child(root, "status")
		list := yamltree.Child(status, "conditions")
		if list == nil {
			return nil
		}
		yamltree.DeleteFunc(list, func(c *yaml.Node) bool { return slices.Contains(types, yamltree.Text(c, "type")) })
		yamltree.RemoveEmpty(status, "conditions")
		yamltree.RemoveEmpty(root, "status")
		return nil
	})
}

// SetUpstream writes upstream and upstreamLock into the root Kptfile, of a
// package that was just merged with a new upstream. A nil part is removed.
func SetUpstream(p *krm.Package, upstream *kptfilev1.Upstream, lock *kptfilev1.Locator) error {
	r, err := Kptfile(p, "")
	if err != nil {
		return err
	}
	root, same := r.Node().YNode(), true
	for key, want := range map[string]*yaml.Node{"upstream": upstreamNode(upstream), "upstreamLock": lockNode(lock)} {
		have := yamltree.Child(root, key)
		same = same && (have == nil) == (want == nil) && yamltree.SameValue(have, want)
	}
	if same { // mostly: a trial would cost a copy
		return nil
	}
	return editRoot(p, func(root *yaml.Node) error { return setUpstream(root, upstream, lock) })
}

// KeepUpstream gives a package the upstream and upstreamLock of another.
func KeepUpstream(p, of *krm.Package) error {
	has, err := Kptfile(p, "")
	if err != nil {
		return err
	}
	had, err := Kptfile(of, "")
	if err != nil {
		return err
	}
	same := true
	for _, key := range []string{"upstream", "upstreamLock"} {
		a, b := yamltree.Child(has.Node().YNode(), key), yamltree.Child(had.Node().YNode(), key)
		same = same && (a == nil) == (b == nil) && yamltree.SameValue(a, b)
	}
	if same { // mostly: to decode costs more
		return nil
	}
	k, err := Read(of, "")
	if err != nil {
		return err
	}
	return SetUpstream(p, k.Upstream, k.UpstreamLock)
}

func editRoot(p *krm.Package, change func(*yaml.Node) error) error {
	return editKptfile(p, "", change)
}

func editKptfile(p *krm.Package, dir string, change func(*yaml.Node) error) error {
	r, err := Kptfile(p, dir)
	if err != nil {
		return err
	}
	_, err = r.Modify(change)
	return inFile(r.Path(), err)
}

func setOwner(root *yaml.Node, o Owner) error {
	for _, a := range o.annotations() {
		if err := setAnnotation(root, a.key, a.value); err != nil {
			return err
		}
	}
	return nil
}

// setAnnotation sets an annotation, or removes it where value is empty.
func setAnnotation(root *yaml.Node, key, value string) error {
	if value == "" {
		meta := yamltree.Child(root, "metadata")
		if a := yamltree.Child(meta, "annotations"); a != nil && yamltree.Remove(a, key) {
			yamltree.RemoveEmpty(meta, "annotations")
		}
		return nil
	}
	return setStrings(root, "annotations", map[string]string{key: value})
}

// setStrings sets entries of metadata.labels or metadata.annotations.
func setStrings(root *yaml.Node, field string, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	meta := yamltree.Ensure(root, kptfileOrder, "metadata")
	if meta == nil {
		return fieldf("metadata", "must be a map")
	}
	m := yamltree.Ensure(meta, metadataOrder, field)
	if m == nil {
		return fieldf("metadata."+field, "must be a map")
	}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		yamltree.SetString(m, nil, k, values[k])
	}
	return nil
}

func setUpstream(root *yaml.Node, upstream *kptfilev1.Upstream, lock *kptfilev1.Locator) error {
	return errors.Join(assign(root, "upstream", upstreamNode(upstream)), assign(root, "upstreamLock", lockNode(lock)))
}

// upstreamNode is an upstream as a tree, nil for none.
func upstreamNode(u *kptfilev1.Upstream) *yaml.Node {
	if u == nil {
		return nil
	}
	n := filled([2]string{"type", string(u.Type)})
	if g := u.Git; g != nil {
		n.Content = append(n.Content, yamltree.String("git"), filled([2]string{"repo", g.Repo}, [2]string{"directory", g.Directory}, [2]string{"ref", g.Ref}))
	}
	n.Content = append(n.Content, yamltree.String("updateStrategy"), yamltree.String(string(cmp.Or(u.UpdateStrategy, defaultStrategy))))
	return n
}

// lockNode is an upstreamLock as a tree, nil for none.
func lockNode(l *kptfilev1.Locator) *yaml.Node {
	if l == nil {
		return nil
	}
	n := filled([2]string{"type", string(l.Type)})
	if g := l.Git; g != nil {
		n.Content = append(n.Content, yamltree.String("git"), filled(
			[2]string{"repo", g.Repo}, [2]string{"directory", g.Directory}, [2]string{"ref", g.Ref}, [2]string{"commit", g.Commit}))
	}
	if g := l.Generic; g != nil {
		n.Content = append(n.Content, yamltree.String("generic"), filled(
			[2]string{"storeID", g.StoreID}, [2]string{"resourceID", g.ResourceID}, [2]string{"resourceVersion", g.ResourceVersion}))
	}
	return n
}

// filled is a map of those keys that have a value.
func filled(values ...[2]string) *yaml.Node {
	m := yamltree.Map()
	for _, v := range values {
		if v[1] != "" {
			m.Content = append(m.Content, yamltree.String(v[0]), yamltree.String(v[1]))
		}
	}
	return m
}

// assign makes a key of the Kptfile mean a tree; nil removes it.
func assign(root *yaml.Node, key string, want *yaml.Node) error {
	if want == nil {
		yamltree.Remove(root, key)
		return nil
	}
	if yamltree.IsNull(yamltree.Child(root, key)) {
		yamltree.Set(root, kptfileOrder, key, want)
		return nil
	}
	have := yamltree.Ensure(root, kptfileOrder, key)
	if have == nil {
		return fieldf(key, "must be a map")
	}
	yamltree.Assign(have, want, upstreamOrder)
	return nil
}

// encode turns a typed value into a tree.
func encode(value any) (*yaml.Node, error) {
	var n yaml.Node
	if err := n.Encode(value); err != nil {
		return nil, err
	}
	return yamltree.Plain(&n)
}
