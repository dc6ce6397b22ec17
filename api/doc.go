// Package api reads, defaults, validates and writes the kinds that Variform
// works with: Porch's PackageVariant, PackageVariantSet, Repository and (as
// data) PackageRevision, and Variform's own InjectConfig, PackageManifest,
// Installation, Catalog and PackageLock (design section 3).
//
// It is the lowest layer: bytes or YAML trees in, typed objects and a Report
// out, no I/O. All findings are reported at once, each with field path, line
// and what to do.
//
//	obj, report := api.Parse(data, api.WithFile("fleet/set.yaml"))
//	if err := report.Err(); err != nil {
//		return err // fleet/set.yaml:7: unknown field spec.target (hint: did you mean "targets"?)
//	}
//	set := obj.(*v1alpha2.PackageVariantSet)
package api
