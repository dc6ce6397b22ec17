package api

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/yamltree"
)

const (
	ownCredentials = "credentials come from your own Git credential helper or Docker keychain"
	noSchedule     = "every run reads the repository"
)

// noteIgnored warns about fields that are decoded but have no effect here, and
// about tolerated forms that need more than one field to see.
func (d *decoder) noteIgnored(obj any, root *yaml.Node) {
	_, hasStatus := obj.(*variformv1alpha1.Installation)
	if _, ok := obj.(*variformv1alpha1.Fleet); ok {
		hasStatus = true
	}
	live := yamltree.Text(root, "metadata", "resourceVersion") != "" // read from an API server
	if yamltree.Child(root, "status") != nil && !d.lenient && !hasStatus && !live {
		d.ignored(root, "status", "state is read from Git")
	}
	switch o := obj.(type) {
	case *v1alpha1.Repository:
		d.noteRepository(&o.Spec, root)
	case *v1alpha2.PackageVariantSet:
		d.noteSet(&o.Spec, root)
	case *variformv1alpha1.Catalog:
		d.noteCatalog(&o.Spec, root)
	}
}

func (d *decoder) ignored(root *yaml.Node, field, hint string) {
	issue := d.issue(nil, field, field+" has no effect here", hint)
	issue.Line = d.fileLine(Line(root, field))
	d.report.Warnings = append(d.report.Warnings, issue)
}

func (d *decoder) noteRepository(s *v1alpha1.RepositorySpec, root *yaml.Node) {
	if s.Sync != nil {
		d.ignored(root, "spec.sync", noSchedule)
	}
	if s.OCI != nil && s.OCI.SecretRef.Name != "" {
		d.ignored(root, "spec.oci.secretRef", ownCredentials)
	}
	if s.Git == nil {
		return
	}
	if s.Git.SecretRef.Name != "" {
		d.ignored(root, "spec.git.secretRef", ownCredentials)
	}
	if s.Git.Author != "" {
		d.ignored(root, "spec.git.author", "Variform's commits have a fixed identity")
	}
	if s.Git.Email != "" {
		d.ignored(root, "spec.git.email", "Variform's commits have a fixed identity")
	}
	if hasPassword(s.Git.Repo) {
		d.ignoredMessage(root, "spec.git.repo", "spec.git.repo holds a password in clear", ownCredentials)
	}
}

func (d *decoder) ignoredMessage(root *yaml.Node, field, message, hint string) {
	issue := d.issue(nil, field, message, hint)
	issue.Line = d.fileLine(Line(root, field))
	d.report.Warnings = append(d.report.Warnings, issue)
}

// hasPassword says whether a URL has user information with a colon in it.
func hasPassword(url string) bool {
	_, rest, ok := strings.Cut(url, "://")
	if !ok {
		return false
	}
	host, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	return at > 0 && strings.Contains(host[:at], ":")
}

func (d *decoder) noteCatalog(s *variformv1alpha1.CatalogSpec, root *yaml.Node) {
	for i := range s.Sources {
		if g := s.Sources[i].Git; g != nil && hasPassword(g.Repo) {
			field := fmt.Sprintf("spec.sources[%d].git.repo", i)
			d.ignoredMessage(root, field, field+" holds a password in clear", ownCredentials)
		}
	}
}

func (d *decoder) noteSet(s *v1alpha2.PackageVariantSetSpec, root *yaml.Node) {
	for i := range s.Targets {
		t := &s.Targets[i]
		if t.PackageNames != nil && (t.RepositorySelector != nil || t.ObjectSelector != nil) {
			field := fmt.Sprintf("spec.targets[%d].packageNames", i)
			d.ignoredMessage(root, field, field+" beside a selector works here, but Porch's controller ignores it", "")
		}
	}
}
