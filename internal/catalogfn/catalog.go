// Package catalogfn holds functions of the kpt functions catalogue as plain Go:
// no process, no image, no ResourceList around them.
//
// Each follows the published documentation of its catalogue version (field
// paths, configuration, messages) and edits only what it changes, so that the
// rest of a file keeps its bytes. A user's mistake is a Result of severity
// error; all of them are listed.
//
// One that runs whatever a package says, as starlark does, works on a ResourceList
// instead (List): it can run in a process of its own, with bounds on that.
//
// The package is pure: no file system, no network, no clock, no environment.
package catalogfn

import (
	"context"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
)

// Function is one function of the catalogue.
type Function struct {
	// Name is the last element of its image path.
	Name string
	// Versions lists the minor versions that Run behaves as, oldest first.
	Versions []string
	// Patches is the highest patch release of each of Versions that is known to
	// have the same behaviour: of v0.4 with 1 these are v0.4.0 and v0.4.1.
	Patches []int
	// Revision grows when Run's output changes for the same input.
	Revision int
	// Run is the function; nil where List is.
	Run function.Processor
	// List is the function as a program sees its call: it gets a ResourceList and
	// changes its items. Results of severity error mean that it failed.
	List func(ctx context.Context, list *yaml.Node) (fn.Results, error)
}

var catalogue = []Function{
	{Name: "apply-replacements", Versions: []string{"v0.1"}, Patches: []int{2}, Revision: 1, Run: ApplyReplacements},
	{Name: "apply-setters", Versions: []string{"v0.1", "v0.2"}, Patches: []int{1, 1}, Revision: 1, Run: ApplySetters},
	{Name: "create-setters", Versions: []string{"v0.1"}, Patches: []int{0}, Revision: 1, Run: CreateSetters},
	{Name: "ensure-name-substring", Versions: []string{"v0.2"}, Patches: []int{0}, Revision: 1, Run: EnsureNameSubstring},
	{Name: "remove-local-config-resources", Versions: []string{"v0.1"}, Patches: []int{0}, Revision: 1, Run: RemoveLocalConfigResources},
	{Name: "search-replace", Versions: []string{"v0.2"}, Patches: []int{0}, Revision: 1, Run: SearchReplace},
	{Name: "set-annotations", Versions: []string{"v0.1"}, Patches: []int{4}, Revision: 1, Run: SetAnnotations},
	{Name: "set-image", Versions: []string{"v0.1"}, Patches: []int{1}, Revision: 1, Run: SetImage},
	{Name: "set-labels", Versions: []string{"v0.2"}, Patches: []int{1}, Revision: 1, Run: SetLabels},
	{Name: "set-namespace", Versions: []string{"v0.4"}, Patches: []int{1}, Revision: 1, Run: SetNamespace},
	{Name: "starlark", Versions: []string{"v0.4", "v0.5"}, Patches: []int{3, 1}, Revision: 2, List: Starlark},
	{Name: "upsert-resource", Versions: []string{"v0.2"}, Patches: []int{0}, Revision: 1, Run: UpsertResource},
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
