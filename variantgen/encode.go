package variantgen

import (
	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
)

// Encode writes a variant as YAML: fields in the order of the examples in
// Porch's PackageVariant design, no status, no null timestamp. The same variant
// gives the same bytes.
func Encode(pv *v1alpha1.PackageVariant) ([]byte, error) {
	clean := *pv
	clean.Status = v1alpha1.PackageVariantStatus{}
	return api.Encode(&clean)
}
