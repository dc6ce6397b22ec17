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
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/function"
)

// Function is one function of the catalogue.
type Function struct {
	// Name is the last element of its image path.
	Name string
	// Releases are the releases that are built in, oldest first.
	Releases []Release
}

// Release is the behavior of one release, or of several that behave alike: what each does
// follows from its source and from the libraries that its go.mod pins.
type Release struct {
	// Versions are of one minor version, oldest first: v0.1.0, v0.1.1.
	Versions []string
	// Moved reports that they are newer than the catalogue's move to ghcr.io/kptdev:
	// v0.1 or latest in the registry of before does not mean them.
	Moved bool
	// Revision grows when the output changes for the same input.
	Revision int
	// Run is the function; nil where List is.
	Run function.Processor
	// List is the function as a program sees its call: it gets a ResourceList and
	// changes its items. Results of severity error mean that it failed.
	List func(ctx context.Context, list *yaml.Node) (fn.Results, error)
}

// Last returns the newest of the versions.
func (r Release) Last() string { return r.Versions[len(r.Versions)-1] }

// Minor returns the minor version, such as v0.1.
func (r Release) Minor() string { return r.Versions[0][:strings.LastIndex(r.Versions[0], ".")] }

// Versions lists all versions that are built in, oldest first.
func (f Function) Versions() (out []string) {
	for _, r := range f.Releases {
		out = append(out, r.Versions...)
	}
	return out
}

// ID names the behavior of a release: its minor version where it is the newest one there,
// its last version otherwise. Versions that a digest of inputs has must not change without
// a change of behavior.
func (f Function) ID(r Release) string {
	for _, other := range f.Releases {
		if other.Minor() == r.Minor() && slices.Compare(other.Versions, r.Versions) > 0 {
			return r.Last()
		}
	}
	return r.Minor()
}

var catalogue = []Function{
	{"apply-replacements", []Release{
		{Versions: []string{"v0.1.0", "v0.1.1"}, Revision: 2, Run: replacementRules{whole: true}.run},
		{Versions: []string{"v0.1.2"}, Moved: true, Revision: 2, Run: replacementRules{}.run},
		{Versions: []string{"v0.1.5"}, Moved: true, Revision: 2, Run: replacementRules{literal: true}.run},
	}},
	{"apply-setters", []Release{
		{Versions: []string{"v0.1.1"}, Revision: 2, Run: setterRules{matchRequired: true}.run},
		{Versions: []string{"v0.2.0", "v0.2.1", "v0.2.2"}, Revision: 1, Run: setterRules{}.run},
	}},
	{"create-setters", []Release{{Versions: []string{"v0.1.0"}, Revision: 1, Run: CreateSetters}}},
	{"ensure-name-substring", []Release{
		{Versions: []string{"v0.1.1"}, Revision: 1, Run: nameRules{first: true}.run},
		{Versions: []string{"v0.2.0", "v0.2.1"}, Revision: 2, Run: nameRules{}.run},
	}},
	{"remove-local-config-resources", []Release{{Versions: []string{"v0.1.0"}, Revision: 1, Run: RemoveLocalConfigResources}}},
	{"search-replace", []Release{{Versions: []string{"v0.2.0", "v0.2.1"}, Revision: 1, Run: SearchReplace}}},
	{"set-annotations", []Release{{Versions: []string{"v0.1.4", "v0.1.5"}, Revision: 1, Run: SetAnnotations}}},
	{"set-image", []Release{{Versions: []string{"v0.1.0", "v0.1.1", "v0.1.2"}, Revision: 1, Run: SetImage}}},
	{"set-labels", []Release{
		{Versions: []string{"v0.1.5"}, Revision: 1, Run: setLabelFields},
		{Versions: []string{"v0.2.0", "v0.2.1", "v0.2.2"}, Revision: 1, Run: SetLabels},
	}},
	{"set-namespace", []Release{
		{Versions: []string{"v0.4.0", "v0.4.1"}, Revision: 2, Run: namespaceRules{first: true}.run},
		{Versions: []string{"v0.4.2", "v0.4.5"}, Moved: true, Revision: 2, Run: namespaceRules{}.run},
	}},
	{"set-project-id", []Release{{Versions: []string{"v0.2.0", "v0.2.1"}, Revision: 1, Run: SetProjectID}}},
	{"starlark", []Release{
		{Versions: []string{"v0.4.0"}, Revision: 3, List: scriptRules{}.run},
		{Versions: []string{"v0.4.1", "v0.4.2", "v0.4.3"}, Revision: 2, List: scriptRules{sameGVK}.run},
		{Versions: []string{"v0.5.0"}, Revision: 2, List: scriptRules{sameGVK}.run},
		{Versions: []string{"v0.5.1"}, Moved: true, Revision: 3, List: scriptRules{coreGVK}.run},
		{Versions: []string{"v0.5.2", "v0.5.5"}, Moved: true, Revision: 3, List: scriptRules{likeGVK}.run},
	}},
	{"upsert-resource", []Release{{Versions: []string{"v0.2.0", "v0.2.1"}, Revision: 1, Run: UpsertResource}}},
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

// At finds the release with a version; false where it is not built in.
func (f Function) At(version string) (Release, bool) {
	for _, r := range f.Releases {
		if slices.Contains(r.Versions, version) {
			return r, true
		}
	}
	return Release{}, false
}
