package resolver

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
)

// lockedPackage is the package of a locked instance.
func lockedPackage(p *LockedPackage) string {
	if p.Package != "" {
		return p.Package
	}
	return p.Name
}

// lockedIn is what a lock says of a package in a namespace, or in any where that one has none; nil if nothing.
func lockedIn(l *Lock, pkg, ns string) *LockedPackage {
	if l == nil {
		return nil
	}
	var found *LockedPackage
	for i := range l.Packages {
		p := &l.Packages[i]
		if lockedPackage(p) != pkg {
			continue
		}
		if p.Namespace == ns {
			return p
		}
		if found == nil {
			found = p
		}
	}
	return found
}

// locks tells whether a locked package (nil locks nothing) is at a version, known by its number or its digest.
// Locks of other systems may have the digest alone.
func locks(p *LockedPackage, version, digest string) bool {
	switch {
	case p == nil:
		return false
	case p.Version == "":
		return p.Digest != "" && p.Digest == digest
	}
	return sameVersion(p.Version, version)
}

// verifyLock compares the digests of what was resolved with those that are locked.
func verifyLock(l *Lock, r *Resolution) error {
	if l == nil {
		return nil
	}
	e := &ConflictError{Kind: DigestMismatch, Summary: "a locked version is no longer what was locked:"}
	for _, i := range r.Instances {
		for n := range l.Packages {
			p := &l.Packages[n]
			if lockedPackage(p) != i.Package || p.Version != i.Version || p.Digest == "" || i.Digest == "" || p.Digest == i.Digest {
				continue
			}
			text := fmt.Sprintf("%s %s was locked as %s and is now %s", i.Package, i.Version, p.Digest, i.Digest)
			if !slices.Contains(e.Reasons, text) {
				e.Reasons = append(e.Reasons, text)
			}
		}
	}
	if len(e.Reasons) == 0 {
		return nil
	}
	e.Hints = []string{"find out why the version moved; to accept it, remove its entry from the lock"}
	return e
}

// Document is the lock as a PackageLock of a target.
func (r *Resolution) Document(target string) *v1alpha1.PackageLock {
	out := &v1alpha1.PackageLock{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindPackageLock},
		ObjectMeta: metav1.ObjectMeta{Name: lockName(target)},
		Spec:       *r.Lock,
	}
	out.Spec.Target = target
	return out
}

var notInNames = regexp.MustCompile(`[^a-z0-9.]+`)

// lockName is a target as a name of Kubernetes can be: spec.target has it as it is.
func lockName(target string) string {
	name := notInNames.ReplaceAllString(strings.ToLower(target), "-")
	if name = strings.Trim(name[:min(len(name), 253)], "-."); name == "" {
		return "lock"
	}
	return name
}

// EncodeLock writes a lock for people to review: the same lock gives the same bytes, and one changed
// dependency changes its own lines only.
func EncodeLock(l *v1alpha1.PackageLock) ([]byte, error) { return api.Encode(l) }

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
