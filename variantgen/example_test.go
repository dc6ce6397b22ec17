package variantgen_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	"github.com/variform/variform/variantgen"
)

func Example() {
	cluster := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "cluster-01", Labels: map[string]string{"env": "prod"}}}
	set := &v1alpha2.PackageVariantSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: v1alpha2.PackageVariantSetSpec{
			Upstream: &v1alpha1.Upstream{Repo: "catalog", Package: "web", Revision: "v1"},
			Targets: []v1alpha2.Target{
				{RepositorySelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}},
				{Repositories: []v1alpha2.RepositoryTarget{{Name: "cluster-99"}}},
			},
		},
	}
	env := variantgen.NewEnv(variantgen.Inputs{Repositories: []*v1alpha1.Repository{cluster}})
	result := variantgen.ExpandAll(env, set)
	for _, pv := range result.Variants {
		fmt.Println(pv.Name)
	}
	for _, f := range result.Failures {
		fmt.Println(f)
	}
	// Output:
	// web-cluster-01-web
	// PackageVariantSet default/web: spec.targets[1].repositories[0] (cluster-99/web): spec.targets[1].repositories[0].name: repository "cluster-99" could not be loaded: namespace "default" has no Repository of that name; did you mean "cluster-01"?
}

// A template gives each variant its fields, as constants or by expressions; Encode writes
// one as people would.
func ExampleEncode() {
	repo, name := "'cluster-' + target.labels['cluster']", "target.name"
	set := &v1alpha2.PackageVariantSet{
		ObjectMeta: metav1.ObjectMeta{Name: "spaces"},
		Spec: v1alpha2.PackageVariantSetSpec{
			Upstream: &v1alpha1.Upstream{Repo: "catalog", Package: "namespace", WorkspaceName: "v1"},
			Targets: []v1alpha2.Target{{
				ObjectSelector: &v1alpha2.ObjectSelector{APIVersion: "example.com/v1", Kind: "Team"},
				Template: &v1alpha2.PackageVariantTemplate{
					Downstream: &v1alpha2.DownstreamTemplate{RepoExpr: &repo, PackageExpr: &name},
				},
			}},
		},
	}
	env := variantgen.NewEnv(variantgen.Inputs{
		Repositories: []*v1alpha1.Repository{{ObjectMeta: metav1.ObjectMeta{Name: "cluster-01"}}},
		Objects:      []variantgen.Object{{APIVersion: "example.com/v1", Kind: "Team", Name: "atlas", Labels: map[string]string{"cluster": "01"}}},
	})
	for _, pv := range variantgen.ExpandAll(env, set).Variants {
		text, err := variantgen.Encode(pv)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Print(string(text))
	}
	// Output:
	// apiVersion: config.porch.kpt.dev/v1alpha1
	// kind: PackageVariant
	// metadata:
	//   namespace: default
	//   name: spaces-cluster-01-atlas
	//   labels:
	//     variform.dev/set: spaces
	// spec:
	//   upstream:
	//     repo: catalog
	//     package: namespace
	//     workspaceName: v1
	//   downstream:
	//     repo: cluster-01
	//     package: atlas
}
