// Package injector copies configuration from context objects into the
// injection points of a package (seed 002, "Configuration Injection Details";
// design section 6).
//
// A package names its injection points with an annotation; a PackageVariant
// brings ordered selectors; a Context holds the objects that can be chosen. The
// chosen object's spec (data of a ConfigMap) replaces the point's, and the root
// Kptfile's conditions say what became of each point.
//
//	objects, _ := injector.NewContext(list)
//	report, err := injector.Inject(pkg, injector.Request{
//		Namespace: "default",
//		Injectors: pv.Spec.Injectors,
//		Context:   objects,
//	})
//	fmt.Println(report.Digest())
//
// Select alone answers what would be injected, without a package to change:
// with the points of an upstream kept, a reconciler knows from it whether its
// inputs changed. The package is pure.
package injector

import "github.com/variform/variform/api/variform/v1alpha1"

// The annotations of injection points. A point is asked for with
// AnnotationPoint; the others name the object whose configuration it holds:
// AnnotationInjectedName is the seed's, AnnotationInjected Porch's.
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

// DefaultNamespace stands for an empty namespace, of variants and of context
// objects alike (design section 3).
const DefaultNamespace = "default"
