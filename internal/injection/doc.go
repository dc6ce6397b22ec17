// Package injection copies configuration from context objects into the injection
// points of a package (Porch's PackageVariant design, "Configuration Injection
// Details"; docs/design/injection.md).
//
// A package names its injection points with an annotation; a PackageVariant
// brings ordered selectors; a Context holds the objects that can be chosen. The
// chosen object's spec (data of a ConfigMap) replaces the point's, and the root
// Kptfile's conditions say what became of each point.
//
// Select alone answers what would be injected, without a package to change:
// with the points of an upstream kept, a reconciler knows from it whether its
// inputs changed. The package is pure.
package injection

import "github.com/variform/variform/api/variform/v1alpha1"

// The annotations of injection points. A point is asked for with
// AnnotationPoint; the others name the object whose configuration it holds:
// AnnotationInjectedName as Porch's PackageVariant design has it,
// AnnotationInjected as Porch writes it.
const (
	AnnotationPoint        = v1alpha1.InjectionAnnotation
	AnnotationInjectedName = v1alpha1.InjectedNameAnnotation
	AnnotationInjected     = v1alpha1.InjectedAnnotation
)

// The values of AnnotationPoint.
const (
	Required = v1alpha1.InjectionRequired
	Optional = v1alpha1.InjectionOptional
)

// ConditionPrefix begins the type of each point's condition, followed by the
// kind and the name of the point.
const ConditionPrefix = "config.injection."

// The reasons of a point's condition, as Porch has them.
const (
	ReasonInjected    = "ConfigInjected"     // status True
	ReasonNotSelected = "NoResourceSelected" // status False
)
