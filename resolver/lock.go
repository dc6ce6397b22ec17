package resolver

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

// lockedPackage is the package of a locked instance.
func lockedPackage(p *LockedPackage) string {
	if p.Package != "" {
		return p.Package
	}
	return p.Name
}

// lockedIn are what a lock says of a package in a namespace, or in any where that one has none, by namespace and name.
// There are several where its scope leaves room for more than one.
func lockedIn(l *Lock, pkg, ns string) []*LockedPackage {
	if l == nil {
		return nil
	}
	var here, elsewhere []*LockedPackage
	for i := range l.Packages {
		switch p := &l.Packages[i]; {
		case lockedPackage(p) != pkg:
		case p.Namespace == ns:
			here = append(here, p)
		default:
			elsewhere = append(elsewhere, p)
		}
	}
	if len(here) == 0 {
		here = elsewhere
	}
	slices.SortStableFunc(here, func(a, b *LockedPackage) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return here
}

// locks tells whether one of some locked packages is at a version, known by its number or its digest. Locks of other
// systems may have the digest alone.
func locks(ps []*LockedPackage, version, digest string) bool {
	return slices.ContainsFunc(ps, func(p *LockedPackage) bool {
		if p.Version == "" {
			return p.Digest != "" && p.Digest == digest
		}
		return sameVersion(p.Version, version)
	})
}

// verifyLock compares the digests of what was resolved with those that are locked.
func verifyLock(l *Lock, r *Resolution) error {
	if l == nil {
		return nil
	}
	e := &ConflictError{Kind: DigestMismatch, Summary: "a locked version is no longer what was locked:"}
	var moved []string
	for _, i := range r.Instances {
		for n := range l.Packages {
			p := &l.Packages[n]
			if lockedPackage(p) != i.Package || p.Version != i.Version || p.Digest == "" || i.Digest == "" || p.Digest == i.Digest {
				continue
			}
			text := fmt.Sprintf("%s %s was locked as %s and is now %s", i.Package, i.Version, p.Digest, i.Digest)
			moved = append(moved, i.Ref())
			if !slices.Contains(e.Reasons, text) {
				e.Reasons = append(e.Reasons, text)
				e.Moved = append(e.Moved, i.Package+"@"+i.Version)
			}
		}
	}
	if len(e.Reasons) == 0 {
		return nil
	}
	for _, i := range r.Instances {
		if i.Requested && slices.ContainsFunc(r.Reaches(i.Ref()), func(ref string) bool { return slices.Contains(moved, ref) }) {
			e.Asked = append(e.Asked, i.Ref())
		}
	}
	slices.Sort(e.Asked)
	e.Hints = []Hint{{Text: "find out why the version moved, or who edited the lock; to accept it, remove its entry from the lock"}}
	return e
}

// Document is the lock as a PackageLock of a target.
func (r *Resolution) Document(target string) *v1alpha1.PackageLock {
	out := &v1alpha1.PackageLock{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindPackageLock},
		ObjectMeta: metav1.ObjectMeta{Name: LockName(target)},
		Spec:       *r.Lock,
	}
	out.Spec.Target = target
	return out
}

var notInNames = lazyregexp.New(`[^a-z0-9.]+`)

// LockName is the name of a target's PackageLock: the target as a name of Kubernetes can
// be. Its spec.target has it as it is.
func LockName(target string) string {
	name := notInNames.ReplaceAllString(strings.ToLower(target), "-")
	if name = strings.Trim(name[:min(len(name), 253)], "-."); name == "" {
		return "lock"
	}
	return name
}

// LockWriter writes locks for people to review: the same lock gives the same bytes, and one changed dependency changes
// its own lines only. Locks that differ in what names their target are encoded once. It may be used by many at once.
type LockWriter struct {
	mu    sync.Mutex
	alike map[[sha256.Size]byte]namedText
}

// namedText is the text of a lock without the two names of its target: metadata.name and
// spec.target stand between its parts, in this order.
type namedText [3][]byte

// maxAlike bounds what is kept for targets that are alike.
const maxAlike = 16

// encode writes a lock as api.Encode does.
func (w *LockWriter) encode(l *v1alpha1.PackageLock) ([]byte, error) {
	if !isName(l.Name) || !isName(l.Spec.Target) {
		return api.Encode(l)
	}
	common := *l
	common.Name, common.Spec.Target = "a-name", "a-target"
	text, err := json.Marshal(&common)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(text)
	w.mu.Lock()
	named, ok := w.alike[key]
	w.mu.Unlock()
	if !ok {
		if named, ok, err = newNamedText(&common); err != nil {
			return nil, err
		}
		if !ok {
			return api.Encode(l)
		}
		w.mu.Lock()
		if w.alike == nil || len(w.alike) == maxAlike {
			w.alike = map[[sha256.Size]byte]namedText{}
		}
		w.alike[key] = named
		w.mu.Unlock()
	}
	return slices.Concat(named[0], []byte(l.Name), named[1], []byte(l.Spec.Target), named[2]), nil
}

// isName says that a string is written as it is, wherever one like it stands, and not in quotes.
func isName(s string) bool {
	return yamltree.IsWord([]byte(s)) && !yamltree.Ambiguous(s) && !strings.HasPrefix(s, "...")
}

// newNamedText cuts the names out of a lock's text, the first that stand so: metadata begins with its name, and spec with
// the target. It reports false for a lock that has a namespace before.
func newNamedText(l *v1alpha1.PackageLock) (out namedText, ok bool, err error) {
	text, err := api.Encode(l)
	if err != nil {
		return out, false, err
	}
	meta, rest, ok := bytes.Cut(text, []byte("\nmetadata:\n  name: "+l.Name+"\n"))
	spec, body, found := bytes.Cut(rest, []byte("spec:\n  target: "+l.Spec.Target+"\n"))
	return namedText{
		slices.Concat(meta, []byte("\nmetadata:\n  name: ")), slices.Concat([]byte("\n"), spec, []byte("spec:\n  target: ")), slices.Concat([]byte("\n"), body),
	}, ok && found, nil
}

// Update writes a lock over the text of the previous one, nil for none: what says the same keeps its bytes, and the
// comments that people wrote at what changed or moved stay there. A text that is no PackageLock, or cannot be read, is replaced.
func (w *LockWriter) Update(previous []byte, l *v1alpha1.PackageLock) ([]byte, error) {
	if len(previous) == 0 {
		return w.encode(l)
	}
	p, err := krm.Parse([]krm.File{{Path: "lock.yaml", Data: previous}})
	if err != nil || len(p.Problems()) > 0 || len(p.Resources()) != 1 || p.Resources()[0].Kind() != v1alpha1.KindPackageLock {
		return w.encode(l)
	}
	node, err := api.ToNode(l)
	if err != nil {
		return nil, err
	}
	shape := errors.New("the previous lock has something else where its maps should be")
	_, err = p.Resources()[0].Modify(func(root *yaml.Node) error {
		want := node.Copy().YNode() // parts of it become root's
		kinds := []string{"apiVersion", "kind", "metadata", "spec"}
		yamltree.SetString(root, kinds, "apiVersion", l.APIVersion)
		meta, spec := yamltree.Ensure(root, kinds, "metadata"), yamltree.Ensure(root, kinds, "spec")
		if meta == nil || spec == nil {
			return shape
		}
		yamltree.SetString(meta, nil, "name", l.Name)
		for _, k := range sortedKeys(l.Annotations) { // beside those of others
			annotations := yamltree.Ensure(meta, nil, "annotations")
			if annotations == nil {
				return shape
			}
			yamltree.SetString(annotations, nil, k, l.Annotations[k])
		}
		yamltree.Assign(spec, yamltree.Child(want, "spec"), []string{"target", "packages", "customResourceDefinitions", "compositions", "plan"})
		return nil
	})
	if errors.Is(err, shape) {
		return w.encode(l)
	}
	if err != nil {
		return nil, fmt.Errorf("writing PackageLock %q: %w", l.Name, err)
	}
	files, err := p.Files()
	if err != nil {
		return nil, fmt.Errorf("writing PackageLock %q: %w", l.Name, err)
	}
	return files[0].Data, nil
}

// ParseLock reads a PackageLock document. The error lists all that is wrong with a lock that was damaged by
// hand, each with its field and line.
func ParseLock(data []byte) (*Lock, error) {
	obj, report := api.Parse(data)
	d, ok := obj.(*v1alpha1.PackageLock)
	if err := report.Err(); err != nil {
		return nil, fmt.Errorf("reading PackageLock: %w\nhint: resolve again to repair the lock", err)
	}
	if !ok {
		return nil, fmt.Errorf("reading PackageLock: the document is a %T, not a %s PackageLock", obj, v1alpha1.APIVersion)
	}
	return &d.Spec, nil
}
