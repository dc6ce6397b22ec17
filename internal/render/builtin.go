package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/catalogfn"
	"github.com/variform/variform/internal/function"
	"github.com/variform/variform/internal/yamltree"
)

// movedFrom is the registry that the catalogue left in 2025.
const movedFrom = "gcr.io/kpt-fn"

// catalogRegistries are the places where the catalogue's images live.
var catalogRegistries = []string{"ghcr.io/kptdev/krm-functions-catalog", movedFrom}

// builtins runs functions in process.
type builtins struct {
	own     map[string]function.Processor
	version string
	workers *workers // nil: all run in this process
}

func newBuiltins(opts Options) *builtins {
	version := opts.BuiltinVersion
	if version == "" {
		version = "dev"
	}
	b := &builtins{own: opts.Builtins, version: version}
	if opts.Worker != "" {
		b.workers = newWorkers(opts.Worker, opts.Workers)
	}
	return b
}

func (b *builtins) Name() string { return builtinRuntime }

// Resolve takes our own functions with any tag, and catalogue functions of the
// versions that are known here. A digest or another registry is not ours.
func (b *builtins) Resolve(f Function) (Invocation, error) {
	if f.Image == "" {
		return nil, ErrNotMine
	}
	ref, err := parseImage(f.Image)
	if err != nil || ref.digest != "" {
		return nil, ErrNotMine
	}
	if name, ok := ref.under(OwnRegistry); ok && b.own[name] != nil {
		return processor{builtin + name, builtin + name + "@" + b.version, b.own[name]}, nil
	}
	for _, registry := range catalogRegistries {
		if name, ok := ref.under(registry); ok {
			return b.catalogFunction(name, cmp.Or(f.Tag, ref.tag), registry == movedFrom)
		}
	}
	return nil, ErrNotMine
}

func (b *builtins) catalogFunction(name, tag string, old bool) (Invocation, error) {
	c, ok := catalogfn.Lookup(name)
	if !ok {
		return nil, ErrNotMine
	}
	r, ok := supported(c, tag, old)
	if !ok {
		return nil, ErrNotMine
	}
	input, id := builtin+name, fmt.Sprintf("%s%s@%s revision %d", builtin, name, c.ID(r), r.Revision)
	switch {
	case r.List == nil:
		return processor{input, id, r.Run}, nil
	case b.workers == nil:
		return listProcessor{input, id, r.List}, nil
	}
	return &worked{process{version: id, builtin: input, cache: b.workers.cache, start: b.workers.of(name + "@" + r.Last())}}, nil
}

// supported finds the release that a tag asks for: none and "latest" are the newest,
// v0.4 is the newest of that minor version, v0.4.1 is that release, and a semver
// constraint takes the newest release that fits. In the old registry, tags that move stay
// where they were when the catalogue left it. A release that is not built in is never
// replaced by another one.
func supported(f catalogfn.Function, tag string, old bool) (catalogfn.Release, bool) {
	if r, ok := f.At(tag); ok {
		return r, true
	}
	var fits func(version string) bool
	switch constraint, err := semver.NewConstraint(tag); {
	case tag == "" || tag == "latest":
		fits = func(string) bool { return true }
	case isConstraint(tag) && err != nil:
		return catalogfn.Release{}, false
	case isConstraint(tag):
		fits = func(version string) bool { return constraint.Check(semver.MustParse(version)) }
	default:
		fits = func(version string) bool { return strings.HasPrefix(version, tag+".") && strings.Count(tag, ".") == 1 }
	}
	for _, r := range slices.Backward(f.Releases) {
		if !(old && r.Moved) && slices.ContainsFunc(r.Versions, fits) {
			return r, true
		}
	}
	return catalogfn.Release{}, false
}

// builtinVersions returns the versions in which a catalogue's image is built in; ""
// where it is not.
func builtinVersions(image string) string {
	ref, err := parseImage(image)
	if err != nil {
		return ""
	}
	for _, registry := range catalogRegistries {
		name, _ := ref.under(registry)
		if f, ok := catalogfn.Lookup(name); ok {
			return strings.Join(f.Versions(), ", ")
		}
	}
	return ""
}

// isConstraint tells a semver constraint from a plain tag.
func isConstraint(tag string) bool {
	if strings.ContainsAny(tag, "<>=~^*, |") {
		return true
	}
	return slices.ContainsFunc(strings.Split(strings.TrimPrefix(tag, "v"), "."), func(part string) bool {
		return part == "x" || part == "X"
	})
}

// processor is a function in process.
type processor struct {
	input, version string
	run            function.Processor
}

// builtinRuntime is the name of the runtime.
const builtinRuntime = "builtin"

// builtin begins what names a built-in function.
const builtin = "builtin "

func (p processor) Input() string { return p.input }

func (p processor) Version() string { return p.version }

func (p processor) Run(ctx context.Context, c *Call) (Output, error) {
	c.Call.Dir = c.Dir
	if err := function.Run(ctx, p.run, c.Call); err != nil {
		return Output{ExitCode: 1}, err
	}
	if err := reported(c.Results); err != nil {
		return Output{ExitCode: 1}, err
	}
	return Output{}, nil
}

// reported is ErrFindings where there are results of severity error.
func reported(results fn.Results) error {
	n := 0
	for _, r := range results {
		if r.Severity == fn.Error {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%w: %d error(s)", ErrFindings, n)
}

// listProcessor is a function in process that gets a ResourceList, as programs
// do. Where there are workers they run it: here its memory is this process's.
type listProcessor struct {
	input, version string
	run            func(ctx context.Context, list *yaml.Node) (fn.Results, error)
}

func (p listProcessor) Version() string { return p.version }

func (p listProcessor) Input() string { return p.input }

func (p listProcessor) Run(ctx context.Context, c *Call) (Output, error) {
	list := newResourceList(c)
	doc, err := list.node()
	if err != nil {
		return Output{}, err
	}
	results, err := p.run(ctx, doc)
	c.Results = append(c.Results, results...)
	if err == nil {
		err = reported(results)
	}
	if err != nil {
		return Output{ExitCode: 1}, err
	}
	text, err := yaml.String(yamltree.Portable(doc)) // as a program's answer is text: quotes come out alike
	if err != nil {
		return Output{}, fmt.Errorf("encoding the ResourceList: %w", err)
	}
	return Output{}, list.apply([]byte(text))
}

// ErrFindings is what a function fails with that reported errors in its
// results; FunctionError.Results lists them.
var ErrFindings = errors.New("the function reported errors")
