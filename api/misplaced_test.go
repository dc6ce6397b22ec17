package api_test

import (
	"testing"

	"github.com/variform/variform/api"
)

// A kind is misplaced where no system can have it under that group.
func TestMisplaced(t *testing.T) {
	for reason, tc := range map[string]struct {
		apiVersion, kind string
		want             bool
	}{
		"the core has no such kind":         {"v1", "PackageVariantSet", true},
		"nor has it a Repository":           {"v1", "Repository", true},
		"a version alone":                   {"v1alpha2", "PackageVariantSet", true},
		"a group of Kubernetes":             {"apps/v1", "Fleet", true},
		"another of Kubernetes":             {"policy.k8s.io/v1", "Installation", true},
		"Porch's other group":               {"porch.kpt.dev/v1alpha1", "PackageVariantSet", true},
		"Porch's configuration":             {"config.porch.kpt.dev/v1alpha1", "PackageRevision", true},
		"our group, Porch's kind":           {"variform.dev/v1alpha1", "Repository", true},
		"Porch's group, our kind":           {"config.porch.kpt.dev/v1alpha1", "Installation", true},
		"a slip of the finger":              {"variform.de/v1alpha1", "Installation", true},
		"a group that nobody has it in":     {"example.com/v1", "PackageVariant", true},
		"no group at all":                   {"", "PackageVariant", true},
		"no group at all, and a common one": {"", "Repository", false},
		"right":                             {"config.porch.kpt.dev/v1alpha2", "PackageVariantSet", false},
		"right, another version":            {"config.porch.kpt.dev/v1", "PackageVariantSet", false}, // which Parse says
		"right, without a version":          {"config.porch.kpt.dev", "PackageVariantSet", false},
		"a Repository of Tekton":            {"pipelinesascode.tekton.dev/v1alpha1", "Repository", false},
		"a Repository of ECR":               {"ecr.aws.upbound.io/v1beta1", "Repository", false},
		"an Installation of Tigera":         {"operator.tigera.io/v1", "Installation", false},
		"an Installation of Porter":         {"getporter.org/v1", "Installation", false},
		"a Fleet of Agones":                 {"agones.dev/v1", "Fleet", false},
		"a PackageManifest of OLM":          {"packages.operators.coreos.com/v1", "PackageManifest", false},
		"a Composition of Crossplane":       {"apiextensions.crossplane.io/v1", "Composition", false},
		"a kind of nobody's":                {"v1", "ConfigMap", false},
	} {
		if got := api.Misplaced(tc.apiVersion, tc.kind); got != tc.want {
			t.Errorf("%s: %s %s is misplaced: %t", reason, tc.apiVersion, tc.kind, got)
		}
	}
}
