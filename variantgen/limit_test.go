package variantgen

import (
	"fmt"
	"strings"
	"testing"

	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
)

// Criteria multiply: a set that asks for too much fails and is not unrolled,
// the others go on.
func TestMaxTargets(t *testing.T) {
	in := Inputs{RepositoriesUnknown: true}
	for i := range 1000 {
		in.Objects = append(in.Objects, Object{APIVersion: "v1", Kind: "Team", Name: fmt.Sprintf("t%d", i)})
	}
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("p%d", i))
	}
	set := func(name string, targets ...v1alpha2.Target) *v1alpha2.PackageVariantSet {
		s := &v1alpha2.PackageVariantSet{Spec: v1alpha2.PackageVariantSetSpec{
			Upstream: &configv1alpha1.Upstream{Repo: "catalog", Package: "web", Revision: "v1"}, Targets: targets,
		}}
		s.Name = name
		return s
	}
	team := &v1alpha2.ObjectSelector{}
	team.APIVersion, team.Kind = "v1", "Team"
	huge := set("huge", v1alpha2.Target{ObjectSelector: team, PackageNames: names})
	small := set("small", v1alpha2.Target{Repositories: []v1alpha2.RepositoryTarget{{Name: "r"}}})

	e, fails := New(huge)
	if len(fails) > 0 {
		t.Fatal(fails)
	}
	if targets, _ := e.Targets(NewEnv(in)); len(targets) > MaxTargets+len(names) {
		t.Errorf("%d targets were unrolled, at most %d count", len(targets), MaxTargets)
	}
	res := ExpandAll(NewEnv(in), huge, small)
	if len(res.Failures) != 1 || !strings.Contains(res.Failures[0].Err.Error(), "more than 100000 targets") || len(res.Variants) != 1 {
		t.Errorf("%d variants, failures %v", len(res.Variants), res.Failures)
	}
}
