package v1alpha1

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
)

const (
	maxLabelValue = 63
	hashLength    = 8
)

// SetMetadata returns the label value that marks a PackageVariant as generated
// by a set, and an annotation value to write under the same key, which is
// empty while the label holds the name as it is. Set names may have 253
// characters and label values 63: a longer name is cut and gets a hash.
func SetMetadata(set string) (label, annotation string) {
	if len(set) <= maxLabelValue {
		return set, ""
	}
	sum := sha1.Sum([]byte(set))
	stub := strings.TrimRight(set[:maxLabelValue-hashLength-1], "-.")
	return stub + "-" + hex.EncodeToString(sum[:])[:hashLength], set
}

// SetOf reads back the name of the set that generated an object, from its
// labels and annotations. It is empty for an object written by hand.
func SetOf(labels, annotations map[string]string) string {
	if full := annotations[SetKey]; full != "" {
		return full
	}
	return labels[SetKey]
}

// IsGenerated says whether a set made the object: Variform's label, or
// Porch's, is on it.
func IsGenerated(labels map[string]string) bool {
	_, ours := labels[SetKey]
	_, porchs := labels[PorchSetLabel]
	return ours || porchs
}
