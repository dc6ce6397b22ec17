// Package api reads, defaults, validates and writes the kinds that Variform
// works with: Porch's PackageVariant, PackageVariantSet, Repository and (as
// data) PackageRevision, and Variform's own InjectConfig, PackageManifest,
// Installation, Catalog and PackageLock (docs/design/kinds.md).
//
// It is the lowest layer: bytes or YAML trees in, typed objects and a Report
// out, no I/O. All findings are reported at once, each with field path, line
// and what to do.
package api
