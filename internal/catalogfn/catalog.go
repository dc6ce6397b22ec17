// Package catalogfn holds functions of the kpt functions catalogue as plain Go:
// no process, no image, no ResourceList around them.
//
// Each follows the published documentation of its catalogue version (field
// paths, configuration, messages) and edits only what it changes, so that the
// rest of a file keeps its bytes. A user's mistake is a Result of severity
// error; all of them are listed.
//
//	f, ok := catalogfn.Lookup("set-labels")
//	err := f.Run(ctx, &function.Call{Package: p, Config: config})
//
// The package is pure: no file system, no network, no clock, no environment.
package catalogfn

import (
	"slices"

	"github.com/variform/variform/internal/function"
)

// Function is one function of the catalogue.
type Function struct {
	// Name is the last element of its image path.
	Name string
	// Versions lists the minor versions that Run behaves as, oldest first.
	Versions []string
	// Revision grows when Run's output changes for the same input.
	Revision int
	// Run is the function.
	Run function.Processor
}

var catalogue = []Function{
	{Name: "apply-replacements", Versions: []string{"v0.1"}, Revision: 1, Run: ApplyReplacements},
	{Name: "apply-setters", Versions: []string{"v0.1", "v0.2"}, Revision: 1, Run: ApplySetters},
	{Name: "create-setters", Versions: []string{"v0.1"}, Revision: 1, Run: CreateSetters},
	{Name: "ensure-name-substring", Versions: []string{"v0.2"}, Revision: 1, Run: EnsureNameSubstring},
	{Name: "remove-local-config-resources", Versions: []string{"v0.1"}, Revision: 1, Run: RemoveLocalConfigResources},
	{Name: "search-replace", Versions: []string{"v0.2"}, Revision: 1, Run: SearchReplace},
	{Name: "set-annotations", Versions: []string{"v0.1"}, Revision: 1, Run: SetAnnotations},
	{Name: "set-image", Versions: []string{"v0.1"}, Revision: 1, Run: SetImage},
	{Name: "set-labels", Versions: []string{"v0.2"}, Revision: 1, Run: SetLabels},
	{Name: "set-namespace", Versions: []string{"v0.4"}, Revision: 1, Run: SetNamespace},
	{Name: "starlark", Versions: []string{"v0.4", "v0.5"}, Revision: 1, Run: Starlark},
	{Name: "upsert-resource", Versions: []string{"v0.2"}, Revision: 1, Run: UpsertResource},
}

// All lists the functions by name.
func All() []Function { return slices.Clone(catalogue) }

// Lookup finds a function by name.
func Lookup(name string) (Function, bool) {
	i := slices.IndexFunc(catalogue, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return Function{}, false
	}
	return catalogue[i], true
}
