// Package injector copies configuration from context objects into the injection
// points of a package (Porch's PackageVariant design, "Configuration Injection
// Details"; docs/design/injection.md): files in, files out, for programs of
// others. Variform itself takes internal/injection, which works on packages that
// are parsed already.
//
// A package names its injection points with an annotation; a PackageVariant
// brings ordered selectors, which choose among objects. The chosen object's spec
// (data of a ConfigMap) replaces the point's, and the root Kptfile's conditions
// say what became of each point. Comments, order and all bytes that need not
// change stay as they are. The package is pure.
package injector

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
)

// File is one file of a package; Path has slashes and is relative to its root.
type File struct {
	Path string
	Data []byte
}

// Object is a candidate for injection: one YAML document.
type Object struct {
	Data   []byte
	Origin string // where it comes from, for messages; may be ""
}

// Request says what to inject.
type Request struct {
	// Namespace is the variant's, "default" where it is empty; only objects of it
	// are candidates.
	Namespace string
	// Injectors are the variant's selectors, tried in order.
	Injectors []v1alpha1.InjectionSelector
	Objects   []Object
	// AllowKinds names kinds that are injected only by leave: "Secret".
	AllowKinds []string
}

// Outcome is what became of one point.
type Outcome struct {
	File, Kind, Name string // the point's
	Required         bool
	// Condition is its condition's type, Message that condition's text.
	Condition, Message string
	// Object is what was injected, "group/version kind namespace/name"; ""
	// where nothing was.
	Object string
}

// Inject returns the files with what the request selects injected, by path, and
// one outcome a point, in the order of the points. A point that nothing matched
// gets a condition False and is no error. An error names all that is wrong with
// points, objects or the Kptfile. A second run changes no byte.
func Inject(files []File, req Request) ([]File, []Outcome, error) {
	in := make([]krm.File, len(files))
	for i, f := range files {
		in[i] = krm.File{Path: f.Path, Data: f.Data}
	}
	pkg, err := krm.Parse(in)
	if err != nil {
		return nil, nil, err
	}
	objects, err := parseObjects(req.Objects)
	if err != nil {
		return nil, nil, err
	}
	report, err := injection.Inject(pkg, injection.Request{
		Namespace: req.Namespace, Injectors: req.Injectors, Context: objects, AllowKinds: req.AllowKinds, DropStale: true,
	})
	if err != nil {
		return nil, nil, err
	}
	result, err := pkg.Files()
	if err != nil {
		return nil, nil, err
	}
	out := make([]File, len(result))
	for i, f := range result {
		out[i] = File{Path: f.Path, Data: f.Data}
	}
	return out, outcomes(report), nil
}

func parseObjects(objects []Object) (*injection.Context, error) {
	list := make([]injection.Object, 0, len(objects))
	for i, o := range objects {
		node, err := yaml.Parse(string(o.Data))
		if err != nil {
			return nil, fmt.Errorf("object %d (%s): %w", i, o.Origin, err)
		}
		list = append(list, injection.Object{Node: node, Origin: o.Origin})
	}
	return injection.NewContext(list)
}

func outcomes(r *injection.Report) []Outcome {
	out := make([]Outcome, 0, len(r.Outcomes))
	for i := range r.Outcomes {
		o := &r.Outcomes[i]
		one := Outcome{File: o.File, Kind: o.Kind, Name: o.Name, Required: o.Required, Condition: o.ConditionType, Message: o.Message}
		if o.Injected() {
			one.Object = o.Object.String()
		}
		out = append(out, one)
	}
	return out
}
