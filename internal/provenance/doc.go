// Package provenance says where each value of a package comes from: the line of
// the upstream, of the set, of the context object or the edit that set it, and the
// functions that carried it.
//
// The package is pure: packages in, origins out.
package provenance
