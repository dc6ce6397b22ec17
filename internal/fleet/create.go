package fleet

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/internal/wire"
)

// NewRepository returns the Repository of an address in Git, URL[//dir][@branch].
func NewRepository(meta metav1.ObjectMeta, address string, deployment bool) (*v1alpha1.Repository, error) {
	git, err := gitAddress(address)
	if err != nil {
		return nil, err
	}
	return &v1alpha1.Repository{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindRepository},
		ObjectMeta: meta,
		Spec:       v1alpha1.RepositorySpec{Deployment: deployment, Type: v1alpha1.RepositoryGit, Git: git},
	}, nil
}

// gitAddress reads URL[//dir][@branch]. A folder may be a repository with a work tree.
func gitAddress(address string) (*v1alpha1.GitRepository, error) {
	loc, err := source.ParseLocation(address)
	if errors.Is(err, source.ErrLocation) {
		return nil, fmt.Errorf("%q is neither the address of a Git repository nor a folder here: give URL[//dir][@branch], or a path", wire.Redact(address))
	} else if err != nil {
		return nil, err
	}
	if loc.URL == "" {
		loc.URL = loc.Folder
		if repo, dir, found := strings.Cut(address, "//"); found && repo != "" {
			loc.URL, loc.Dir = repo, strings.Trim(dir, "/")
		}
	}
	if loc.URL != wire.Redact(loc.URL) {
		return nil, errors.New(wire.Redact(loc.URL) + ": the address has a password, which a file of the fleet must not have: leave it out, and give the login to Git's credential helpers")
	}
	return &v1alpha1.GitRepository{Repo: loc.URL, Branch: loc.Ref, Directory: loc.Dir}, nil
}

// NewOCIRepository returns the Repository of packages in a registry.
func NewOCIRepository(meta metav1.ObjectMeta, registry string) *v1alpha1.Repository {
	return &v1alpha1.Repository{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindRepository},
		ObjectMeta: meta,
		Spec:       v1alpha1.RepositorySpec{Type: v1alpha1.RepositoryOCI, OCI: &v1alpha1.OCIRepository{Registry: registry}},
	}
}

// NewSet returns a set of one package in the Repositories that it names or selects by
// label.
func NewSet(meta metav1.ObjectMeta, upstream *v1alpha1.Upstream, repositories []string, selector string, adopt bool) (*v1alpha2.PackageVariantSet, error) {
	var target v1alpha2.Target
	for _, name := range repositories {
		target.Repositories = append(target.Repositories, v1alpha2.RepositoryTarget{Name: name})
	}
	if selector != "" {
		var err error
		if target.RepositorySelector, err = labelSelector(selector); err != nil {
			return nil, fmt.Errorf("--selector %q: %w: write it as env=prod,region!=us", selector, err)
		}
	}
	if (selector == "") == (len(repositories) == 0) {
		return nil, errors.New("which Repositories get the package: give --selector with their labels, or --repository with their names")
	}
	if adopt {
		policy := v1alpha1.AdoptExisting
		target.Template = &v1alpha2.PackageVariantTemplate{AdoptionPolicy: &policy}
	}
	return &v1alpha2.PackageVariantSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha2.APIVersion, Kind: v1alpha2.KindPackageVariantSet},
		ObjectMeta: meta,
		Spec:       v1alpha2.PackageVariantSetSpec{Upstream: upstream, Targets: []v1alpha2.Target{target}},
	}, nil
}

// labelSelector reads labels to match as -l of a command has them.
func labelSelector(text string) (*metav1.LabelSelector, error) {
	requirements, err := labels.ParseToRequirements(text)
	if err != nil {
		return nil, err
	}
	out := &metav1.LabelSelector{}
	for _, r := range requirements {
		values := r.Values().List()
		if op := r.Operator(); op == selection.Equals || op == selection.DoubleEquals {
			metav1.AddLabelToSelector(out, r.Key(), values[0])
			continue
		}
		op, known := map[selection.Operator]metav1.LabelSelectorOperator{
			selection.NotEquals: metav1.LabelSelectorOpNotIn, selection.NotIn: metav1.LabelSelectorOpNotIn, selection.In: metav1.LabelSelectorOpIn,
			selection.Exists: metav1.LabelSelectorOpExists, selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
		}[r.Operator()]
		if !known {
			return nil, fmt.Errorf("a Repository is not selected by %q", r.Operator())
		}
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement{Key: r.Key(), Operator: op, Values: values})
	}
	return out, nil
}

// NewVariant returns the variant of a package in one Repository: to is REPOSITORY, or
// REPOSITORY/PACKAGE where the package has another name there.
func NewVariant(meta metav1.ObjectMeta, upstream *v1alpha1.Upstream, to string, adopt bool) *v1alpha1.PackageVariant {
	down := v1alpha1.Downstream{Package: upstream.Package}
	repo, pkg, named := strings.Cut(to, "/")
	if down.Repo = repo; named {
		down.Package = pkg
	}
	v := &v1alpha1.PackageVariant{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.KindPackageVariant},
		ObjectMeta: meta,
		Spec:       v1alpha1.PackageVariantSpec{Upstream: upstream, Downstream: &down},
	}
	if adopt {
		v.Spec.AdoptionPolicy = v1alpha1.AdoptExisting
	}
	return v
}

// NewInstallation returns the wish for a package and what it needs on a target.
func NewInstallation(meta metav1.ObjectMeta, target, pkg, version string) *variformv1alpha1.Installation {
	return &variformv1alpha1.Installation{
		TypeMeta:   metav1.TypeMeta{APIVersion: variformv1alpha1.APIVersion, Kind: variformv1alpha1.KindInstallation},
		ObjectMeta: meta,
		Spec:       variformv1alpha1.InstallationSpec{Target: target, Package: pkg, Constraints: version},
	}
}

// Upstream reads REPOSITORY/PACKAGE; without a version it is the highest Published one.
func Upstream(of, version string) (*v1alpha1.Upstream, error) {
	repo, pkg, found := strings.Cut(of, "/")
	if !found || repo == "" || pkg == "" {
		return nil, fmt.Errorf("--upstream %q: give REPOSITORY/PACKAGE, such as catalog/web-app", of)
	}
	return &v1alpha1.Upstream{Repo: repo, Package: pkg, Revision: v1alpha1.Revision(version)}, nil
}

// Document returns an object as a document of a file, and what is wrong with it as plan
// would report it.
func Document(obj any) ([]byte, error) {
	text, err := api.Encode(obj)
	if err != nil {
		return nil, err
	}
	if _, report := api.Parse(text); len(report.Errors) > 0 {
		for i := range report.Errors {
			report.Errors[i].Line = 0 // of a file that nobody sees
		}
		return nil, report.Err()
	}
	return append([]byte("---\n"), text...), nil
}
