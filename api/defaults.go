package api

import (
	"cmp"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
)

// DefaultNamespace is the namespace of a document that names none.
const DefaultNamespace = metav1.NamespaceDefault

// NamespaceOr is a document's namespace: ns, or the default one where that is
// empty.
func NamespaceOr(ns string) string { return cmp.Or(ns, DefaultNamespace) }

// IsSecret reports whether a kind is the core Secret, whose values are never
// printed. Kinds of that name in other groups are none.
func IsSecret(group, kind string) bool { return group == "" && kind == "Secret" }

// DefaultBranch is a Git Repository's branch where it names none.
const DefaultBranch = "main"

// Default fills in what a document may leave out: namespace "default", and for
// a Repository type git or oci (from the section that is there), branch "main"
// and a directory without slashes around it. A PackageRevision gets the number of
// its status, where Porch's v1alpha2 has it. Policies stay empty, which means
// adoptNone and delete. Other types are left alone.
func Default(obj any) {
	switch o := obj.(type) {
	case *v1alpha1.PackageVariant:
		o.Namespace = NamespaceOr(o.Namespace)
	case *v1alpha2.PackageVariantSet:
		o.Namespace = NamespaceOr(o.Namespace)
	case *v1alpha1.PackageRevision:
		o.Namespace = NamespaceOr(o.Namespace)
		o.Spec.Revision = cmp.Or(o.Spec.Revision, o.Status.Revision)
	case *variformv1alpha1.Fleet:
		o.Namespace = NamespaceOr(o.Namespace)
	case *variformv1alpha1.Rollout:
		o.Namespace = NamespaceOr(o.Namespace)
	case *variformv1alpha1.RolloutStrategy:
		o.Namespace = NamespaceOr(o.Namespace)
	case *variformv1alpha1.InjectConfig:
		o.Namespace = NamespaceOr(o.Namespace)
	case *v1alpha1.Repository:
		o.ObjectMeta.Namespace = NamespaceOr(o.ObjectMeta.Namespace)
		defaultRepository(&o.Spec)
	}
}

func defaultRepository(s *v1alpha1.RepositorySpec) {
	switch {
	case s.Type != "":
	case s.Git != nil:
		s.Type = v1alpha1.RepositoryGit
	case s.OCI != nil:
		s.Type = v1alpha1.RepositoryOCI
	}
	if s.Git == nil {
		return
	}
	if s.Git.Branch == "" {
		s.Git.Branch = DefaultBranch
	}
	s.Git.Directory = cleanDirectory(s.Git.Directory)
}

// cleanDirectory turns "/", ".", "/blueprints/" and "./a" into "", "",
// "blueprints" and "a". A directory with `..` stays as it is for Validate to refuse.
func cleanDirectory(dir string) string {
	for _, seg := range strings.Split(dir, "/") {
		if seg == ".." {
			return dir
		}
	}
	dir = strings.Trim(dir, "/")
	if dir = path.Clean(dir); dir == "." {
		return ""
	}
	return dir
}
