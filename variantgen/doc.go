// Package variantgen turns PackageVariantSets into PackageVariants (Porch's
// PackageVariant design, "PackageVariantSet API"; docs/design/fan-out.md). It
// is pure: everything that a set may refer to is given in an Env.
//
// Expressions are compiled once per set. One bad target does not stop the
// others. The same input gives the same output, byte for byte.
package variantgen
