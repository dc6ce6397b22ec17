// Package resolver answers which packages, at which versions, are to be where, so that all that they need
// is met: requirements, a catalogue and an environment in, a [Resolution] or a [*ConflictError] out.
//
// It unites four published dependency models (Porter's PEP 003 in both forms, Carvel's packaging
// dependencies, Crossplane's packages v2) in one engine. The whole graph is always solved; what is created is
// decided afterwards ([Request.Materialise]). Scope decides whether an unfit version is replaced or joined, and an
// override drops range, labels and sharing, never the outputs that are used.
//
// The search is complete and its answer does not depend on the order of the input: an existing installation
// before a new one, the locked version before the newest, the newest before older ones, and no package steps back
// further than it must (see internal/solve). The package does no I/O and reads no clock.
//
// Our own kinds become its input by [FromManifest], [FromInstallation] and [Existing], and its answer a PackageLock by
// [Resolution.Document].
// The packages below resolver/dialect read the documents of the four systems.
package resolver
