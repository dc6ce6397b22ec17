package render

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/variform/variform/internal/catalogfn"
	"github.com/variform/variform/internal/function"
)

// catalogRegistries are the places where the catalogue's images live.
var catalogRegistries = []string{"ghcr.io/kptdev/krm-functions-catalog", "gcr.io/kpt-fn"}

// builtins runs functions in process.
type builtins struct {
	own     map[string]function.Processor
	version string
	catalog bool
}

func newBuiltins(opts Options) *builtins {
	version := opts.BuiltinVersion
	if version == "" {
		version = "dev"
	}
	return &builtins{own: opts.Builtins, version: version, catalog: !opts.NoCatalog}
}

func (b *builtins) Name() string { return "builtin" }

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
		return processor{version: "builtin " + name + "@" + b.version, run: b.own[name]}, nil
	}
	if !b.catalog {
		return nil, ErrNotMine
	}
	for _, registry := range catalogRegistries {
		if name, ok := ref.under(registry); ok {
			return catalogFunction(name, ref.tag, f.Tag)
		}
	}
	return nil, ErrNotMine
}

func catalogFunction(name, tag, constraint string) (Invocation, error) {
	c, ok := catalogfn.Lookup(name)
	if !ok {
		return nil, ErrNotMine
	}
	if constraint != "" {
		tag = constraint
	}
	version, ok := supported(c.Versions, tag)
	if !ok {
		return nil, ErrNotMine
	}
	id := fmt.Sprintf("builtin %s@%s revision %d", name, version, c.Revision)
	return processor{version: id, run: c.Run}, nil
}

// supported finds the version that a tag asks for among the minor versions
// (newest last) that are built in: none and "latest" are the newest, v0.4 and
// v0.4.x are v0.4, a semver constraint takes the newest that fits.
func supported(versions []string, tag string) (string, bool) {
	if tag == "" || tag == "latest" {
		return versions[len(versions)-1], true
	}
	for _, v := range versions {
		if tag == v || strings.HasPrefix(tag, v+".") && exactVersion(tag) {
			return v, true
		}
	}
	if !isConstraint(tag) {
		return "", false
	}
	c, err := semver.NewConstraint(tag)
	if err != nil {
		return "", false
	}
	for _, v := range slices.Backward(versions) {
		if parsed, err := semver.NewVersion(v); err == nil && c.Check(parsed) {
			return v, true
		}
	}
	return "", false
}

func exactVersion(tag string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(tag, "v"))
	return err == nil
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
	version string
	run     function.Processor
}

func (p processor) Version() string { return p.version }

func (p processor) Run(ctx context.Context, c *Call) (Output, error) {
	c.Call.Dir = c.Dir
	if err := p.run(ctx, c.Call); err != nil {
		return Output{ExitCode: 1}, err
	}
	n := 0
	for _, r := range c.Results {
		if r.Severity == fn.Error {
			n++
		}
	}
	if n > 0 {
		return Output{ExitCode: 1}, fmt.Errorf("%w: %d error(s)", ErrFindings, n)
	}
	return Output{}, nil
}

// ErrFindings is what a function fails with that reported errors in its
// results; FunctionError.Results lists them.
var ErrFindings = errors.New("the function reported errors")
