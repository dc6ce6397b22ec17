// Package wiring carries values out of a rendered package and into another
// (seed 000, "Wiring Dependencies"; design section 3).
//
// Outputs of a manifest are compiled once and evaluated for every installation
// of the package; Apply puts the values into the parameters of a dependent;
// SetGates says in its Kptfile which values it still waits for.
//
//	outputs, err := wiring.Compile(manifest.Spec.Outputs)
//	values, unknown := outputs.Eval(wiring.Scope{Package: rendered, Context: objects, Namespace: "default"})
//	err = wiring.Apply(dependent, []wiring.Value{{Parameter: "host", To: to, Text: values["host"]}})
//	err = wiring.SetGates(dependent, gates)
//
// No content of a Secret is ever a value: what a package has of one is its name.
// The package is pure.
package wiring
