// Package wiring carries values out of a rendered package and into another
// (Porter PEP003, "Wiring Dependencies"; docs/design/dependencies.md#wiring).
//
// Outputs of a manifest are compiled once and evaluated for every installation
// of the package; Apply puts the values into the parameters of a dependent;
// SetGates says in its Kptfile which values it still waits for.
//
// No content of a Secret is ever a value: what a package has of one is its name.
// The package is pure.
package wiring
