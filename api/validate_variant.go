package api

import (
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/api/config/v1alpha1"
)

// ValidatePackageVariant checks a variant by the rules of Porch's
// PackageVariant design, "PackageVariant API", and by ours: safe paths, valid
// metadata, valid functions. Where Porch has a text for a finding, the Message
// is that text.
func ValidatePackageVariant(pv *v1alpha1.PackageVariant) Issues {
	var i Issues
	i.metadata(&pv.ObjectMeta)
	i.variantUpstream(pv.Spec.Upstream)
	i.variantDownstream(pv.Spec.Downstream)
	i.policies("spec", " field", pv.Spec.AdoptionPolicy, pv.Spec.DeletionPolicy)
	if pc := pv.Spec.PackageContext; pc != nil {
		i.packageContext("spec.packageContext", pc.Data, pc.RemoveKeys)
	}
	i.injectors("spec.injectors", pv.Spec.Injectors)
	i.labels("spec.labels", pv.Spec.Labels)
	i.annotations("spec.annotations", pv.Spec.Annotations)
	if p := pv.Spec.Pipeline; p != nil {
		for n := range p.Validators {
			i.function(index("spec.pipeline.validators", n), &p.Validators[n])
		}
		for n := range p.Mutators {
			i.function(index("spec.pipeline.mutators", n), &p.Mutators[n])
		}
	}
	return i
}

func (i *Issues) missing(field, hint string) { i.add(field, "missing required field "+field, hint) }

// variantUpstream: a variant may leave out both revision and workspace, which
// means the highest Published revision (docs/design/kinds.md#revisions).
func (i *Issues) variantUpstream(u *v1alpha1.Upstream) {
	if u == nil {
		i.missing("spec.upstream", "name the package to derive from: {repo, package, revision}")
		return
	}
	if u.Repo == "" {
		i.missing("spec.upstream.repo", "the name of a Repository")
	}
	if u.Package == "" {
		i.missing("spec.upstream.package", "the package's path in that Repository")
	}
	i.upstreamValues("spec.upstream", u)
}

func (i *Issues) upstreamValues(field string, u *v1alpha1.Upstream) {
	if u.Repo != "" {
		i.name(field+".repo", u.Repo)
	}
	i.packagePath(field+".package", u.Package)
	if strings.ContainsFunc(string(u.Revision), isControl) {
		i.add(field+".revision", field+".revision holds control characters", "")
	}
	if strings.HasPrefix(string(u.Revision), "-") && u.Revision != "-1" {
		i.add(field+".revision", field+".revision must not start with a dash", "-1, the registered branch, is the only negative one")
	}
	if u.WorkspaceName != "" && badSegment(u.WorkspaceName) != "" {
		i.add(field+".workspaceName", field+".workspaceName: "+badSegment(u.WorkspaceName), "")
	}
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func (i *Issues) variantDownstream(d *v1alpha1.Downstream) {
	if d == nil {
		i.missing("spec.downstream", "name the package to make: {repo, package}")
		return
	}
	if d.Repo == "" {
		i.missing("spec.downstream.repo", "the name of a Repository")
	} else {
		i.name("spec.downstream.repo", d.Repo)
	}
	if d.Package == "" {
		i.missing("spec.downstream.package", "the package's path in that Repository")
	}
	i.packagePath("spec.downstream.package", d.Package)
}

// packagePath checks a path that is given; empty is another finding.
func (i *Issues) packagePath(field, path string) {
	if path == "" {
		return
	}
	if err := CheckPackagePath(path); err != nil {
		i.add(field, field+": "+err.Error(), "")
	}
}

func (i *Issues) injectors(field string, list []v1alpha1.InjectionSelector) {
	for n := range list {
		if at := index(field, n); list[n].Name == "" {
			i.add(at+".name", at+".name must not be empty", "an injector selects its object by name")
		}
	}
}

// function checks a Kptfile function: exactly one of image and exec, at most
// one of configPath and configMap, a configPath inside the package.
func (i *Issues) function(field string, f *kptfilev1.Function) {
	switch {
	case f.Image == "" && f.Exec == "":
		i.add(field+".image", field+".image must not be empty", "name an image, or a program with exec")
	case f.Image != "" && f.Exec != "":
		i.add(field, field+" may specify only one of `image` and `exec`", "")
	}
	if f.ConfigPath != "" && len(f.ConfigMap) > 0 {
		i.add(field, field+" may specify only one of `configPath` and `configMap`", "")
	}
	if f.ConfigPath != "" {
		i.configPath(field+".configPath", f.ConfigPath)
	}
	if f.Image != "" {
		if err := kptfilev1.ValidateFunctionImageURL(f.Image); err != nil {
			i.add(field+".image", field+".image: "+err.Error(), "such as ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2")
		}
	}
}

func (i *Issues) configPath(field, path string) {
	if strings.HasPrefix(path, "/") {
		i.add(field, field+" must be a path relative to the package", "")
		return
	}
	for _, seg := range strings.Split(path, "/") {
		if seg == ".." {
			i.add(field, field+" must not leave the package with `..`", "")
			return
		}
	}
}
