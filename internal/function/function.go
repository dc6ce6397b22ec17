// Package function holds KRM functions as plain calls on a package: one
// Processor each, without process, image or ResourceList around it.
//
// The same Processor runs in process (internal/render, runtime builtin), as an
// exec function or a container (internal/fnmain, functions/*), and from the
// command line, so that all doors do the same.
package function

import (
	"context"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
)

// Call is one invocation: the whole interface of a KRM function.
type Call struct {
	// Package holds the resources; a function edits them (krm.Resource.Edit),
	// deletes them (Delete) and adds new ones (Package.Add).
	Package *krm.Package
	// Selected are the resources that the function may see and change, in
	// order: those that the pipeline's selectors chose. nil means all of Package.
	Selected []*krm.Resource
	// Dir is the folder in Package of the package whose pipeline calls, "" for
	// its root: the Kptfile there is the function's own.
	Dir string
	// Config is the functionConfig; nil where none was given.
	Config *yaml.RNode
	// Results collects what the function has to say to its user. A result of
	// severity error means that the function failed.
	Results fn.Results

	bounds *bounds // nil outside of Run
}

// Resources returns the resources to work on, deleted ones left out.
func (c *Call) Resources() []*krm.Resource {
	if c.Selected == nil {
		return c.Package.Resources()
	}
	return c.Selected
}

// Processor runs a function. A user's mistake is a Result, all of them listed;
// an error means that the function itself broke.
type Processor func(ctx context.Context, c *Call) error
