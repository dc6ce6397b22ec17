// Package render runs the pipelines of a kpt package's Kptfiles, as `kpt fn
// render` does: subpackages first, mutators before validators, selectors and
// exclusions, generated and deleted resources
// (docs/design/functions.md#rendering; published documentation of kpt,
// "Declarative function execution").
//
// What no function changes keeps its bytes: functions work on the trees of an
// internal/krm package, and krm writes back only the entries that differ.
//
// Three runtimes run functions: builtin (in process, the default), exec (only
// with AllowExec) and container (podman, docker or nerdctl, where one is
// found). A function that none of them can run is reported for the whole
// package before anything runs.
//
// Departures from kpt 1.0.0-beta.56, all of them on the safe side:
//   - YAML documents without apiVersion and kind are left alone, with a note; kpt
//     refuses the package. What cannot be read as YAML is an error, as in kpt.
//   - A resource that several selectors match is passed once; kpt passes it
//     twice and then fails on its duplicate.
//   - The annotation package-path of exec and container functions starts at a
//     fixed root, so that results do not depend on the machine.
//   - Exec functions get a small environment (see Options.Environ).
//   - Unknown Kptfile fields are an error only inside the pipeline.
package render

import (
	"context"
	"time"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/krm"
)

// OwnRegistry is the image path of Variform's own functions: builtins named in
// Options.Builtins run for `<OwnRegistry>/<name>`.
const OwnRegistry = "ghcr.io/variform"

// DefaultRegistry is what a bare image such as `set-labels:v0.2` is resolved
// against, as in current kpt. The builtin catalogue answers to the older
// gcr.io/kpt-fn as well.
const DefaultRegistry = "ghcr.io/kptdev/krm-functions-catalog"

// PullPolicy says when a container image is pulled.
type PullPolicy string

// The pull policies, as kpt names them. Empty means PullIfNotPresent.
const (
	PullAlways       PullPolicy = "Always"
	PullIfNotPresent PullPolicy = "IfNotPresent"
	PullNever        PullPolicy = "Never"
)

// Runtime runs functions of one sort. Implementations are safe for concurrent
// use.
type Runtime interface {
	// Name is how messages call the runtime: "builtin", "exec", "container".
	Name() string
	// Resolve says how the runtime would run f. It returns ErrNotMine where
	// the function is none of its sort, and an UnavailableError where it is but
	// cannot or may not run here. It starts nothing.
	Resolve(f Function) (Invocation, error)
}

// Invocation is one function, ready to be called many times.
type Invocation interface {
	// Version identifies what would run: image, program, or built-in function with
	// its version.
	Version() string
	// Input is the Version for digests of inputs: of a built-in function the name
	// alone, as its version comes with this program.
	Input() string
	// Run runs the function on c.Selected. Edits, deletions and additions are
	// made on c.Package; results go to c.Results. The returned Output may be
	// set beside an error.
	Run(ctx context.Context, c *Call) (Output, error)
}

// Call is one invocation in a pipeline: the function's call and its place.
type Call struct {
	*function.Call
	// Dir is the directory of the package whose pipeline runs, "" for the root.
	Dir string
	// PkgDir tells which package each selected resource belongs to.
	PkgDir func(r *krm.Resource) string
}

// Output is what a function leaves besides its resources and results.
type Output struct {
	Stderr   string
	ExitCode int
}

// Options configure a Renderer. The zero value renders with the builtin
// catalogue, and with a container engine where one is found.
type Options struct {
	// Builtins are further in-process functions by name, for images
	// `<OwnRegistry>/<name>` with any tag.
	Builtins map[string]function.Processor
	// BuiltinVersion is the version of Builtins in Versions and in the input
	// digest; empty is "dev".
	BuiltinVersion string
	// Worker is the path of a program that calls Work for WorkerCommand, such as
	// variform itself: built-in functions that run what a package says, as starlark
	// does, run in it, within bounds of memory and time. Empty: they run in this
	// process, without a bound on their memory.
	Worker string
	// Workers bounds the processes of Worker for all Renderers that share it; nil is a pool
	// of one process for each processor.
	Workers *WorkerPool
	// Registry resolves bare image names; empty is DefaultRegistry.
	Registry string
	// AllowExec permits `exec:` functions.
	AllowExec bool
	// NoContainers forbids `image:` functions that no builtin covers.
	NoContainers bool
	// ImagePullPolicy is when images are pulled: once in a Renderer's life.
	ImagePullPolicy PullPolicy
	// Memory bounds a container in bytes; zero is 1 GiB.
	Memory int64
	// PIDs bounds a container's processes and threads; zero is 256.
	PIDs int
	// ContainerHelper is the path of a static Linux program that calls Helper
	// for HelperCommand, such as variform itself: one container of an image then
	// serves many calls, each as a process of its own. Empty: one container a call.
	ContainerHelper string
	// AllowedImages restricts container images to these patterns: an exact
	// image, an image without tag (any tag or digest), or a prefix that ends in
	// `/*`. nil allows every image; an empty list none.
	AllowedImages []string
	// Environ is the caller's environment as key=value: KPT_FN_RUNTIME, PATH
	// and what container engines need are read from it. nil is the process's own.
	Environ []string
	// Timeout bounds one function; zero is five minutes, as in kpt. A container
	// gets as much processor time as well.
	Timeout time.Duration
	// Runtimes replaces the three runtimes; they are asked in order.
	Runtimes []Runtime
}

// Result is a rendered package and what its functions did.
type Result struct {
	// Package is the rendered package, the input where nothing ran. Beside an error it is
	// what was rendered before, where the package asks for that, or nil.
	Package *krm.Package
	// Functions lists the functions that ran, in order.
	Functions []FunctionResult
	// Packages is how many packages the rendering walked, subpackages included.
	Packages int
	// Notes say where kpt would render the package otherwise, or not at all.
	Notes []string
}

// Outcome is how a function ended.
type Outcome string

// The outcomes. Success is the exit alone, as in kpt: Passed may come with
// results of severity error.
const (
	Passed Outcome = "Passed"
	Failed Outcome = "Failed"
)

// FunctionResult is what one function of a pipeline did.
type FunctionResult struct {
	Package  string // directory of the package, "" for the root
	Type     string // "mutators" or "validators"
	Index    int    // place in its list
	Name     string // the function's name in the Kptfile, may be empty
	Image    string // resolved image, or empty
	Exec     string // command, or empty
	Runtime  string // name of the runtime
	Version  string // identity of what ran
	Selected int    // how many resources it was given
	Outcome  Outcome
	Results  fn.Results
	Stderr   string
	ExitCode int
	Duration time.Duration
}
