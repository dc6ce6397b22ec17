// Package fleet has the rules that every door obeys with a fleet that was read:
// who manages it and whether it may be pruned, what a class that was shown
// stands for when it is decided, and which file and line a failure is about. A
// door (the command line, a controller) prints, or writes status.
//
//	manager, err := fleet.Manager(read, prune)
//	shown, err := fleet.Show(ctx, engine)
//	expect, err := shown.Classes(decide.Approve, "3f2a91c04b7d")
package fleet

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/source"
	"github.com/variform/variform/internal/wire"
	"github.com/variform/variform/variantgen"
)

// DefaultManager signs packages where the management root has no name.
const DefaultManager = "variform"

// Manager is who signs the packages of a fleet. An unnamed fleet cannot be
// pruned: its packages cannot be told from another unnamed one's.
func Manager(f *source.Fleet, prune bool) (string, error) {
	if prune && f.Manager == "" {
		return "", fmt.Errorf("--prune: %s has no name of its own, so its packages cannot be told from those of another unnamed one: give --manager %s to go on with those that were made so far, or, before the first apply, a Kptfile with metadata.name", f.Location, DefaultManager)
	}
	manager := cmp.Or(f.Manager, DefaultManager)
	if err := api.CheckName(manager); err != nil {
		return "", fmt.Errorf("manager %q: %w: set --manager, or the name in the management directory's Kptfile", manager, err)
	}
	return manager, nil
}

// ComesFrom is where a fleet comes from: the address, however it is spelled, and the
// folder that it is read from. Of a local folder remote says what it is a clone of. ""
// is one that is on this machine alone.
func ComesFrom(f *source.Fleet, remote func(folder string) (url, dir string)) string {
	url, dir := f.From.URL, f.From.Dir
	if f.From.Folder != "" {
		url, dir = remote(f.From.Folder)
	}
	plain := decide.PlainAddress(url)
	if onMachine := !strings.Contains(url, ":") || filepath.IsAbs(plain); onMachine {
		return ""
	}
	host, path, _ := strings.Cut(wire.Redact(plain), "/")
	if at := strings.LastIndexByte(host, ':'); at >= 0 {
		host = host[:at] // ssh and https of one server often have ports of their own
	}
	return host + "/" + path + "//" + dir
}

// Wanted is what the engine takes of a fleet that was read. Objects stand in it
// twice: as targets of sets, and as what may be injected.
func Wanted(f *source.Fleet) (reconcile.Fleet, error) {
	out := reconcile.Fleet{
		Repositories: f.Repositories, Sets: f.Sets, Variants: f.Variants, Installations: f.Installations, Rollouts: f.Rollouts, Checks: f.Checks,
		Hidden: f.MayHide(v1alpha1.KindInstallation, v1alpha1.KindCatalog),
	}
	for _, p := range f.Problems {
		out.Problems = append(out.Problems, p)
	}
	out.Objects, out.ContextObjects = slices.Grow(out.Objects, len(f.Objects)), slices.Grow(out.ContextObjects, len(f.Objects))
	for _, o := range f.Objects {
		out.Objects = append(out.Objects, targetOf(o))
		out.ContextObjects = append(out.ContextObjects, injection.Object{Source: contextObject{o}})
	}
	var err error
	if out.Context, err = injection.NewContext(out.ContextObjects); err != nil {
		return out, fmt.Errorf("context objects: %w", err)
	}
	return out, nil
}

// contextObject is an object as it may be injected.
type contextObject struct{ *source.Object }

func (o contextObject) ID() injection.ID {
	return injection.ID{APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name}
}

func (o contextObject) From() string { return o.Origin.String() }

// targetOf is an object as sets select it.
func targetOf(o *source.Object) variantgen.Object {
	return variantgen.Object{
		APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Labels: o.Labels, Annotations: o.Annotations,
	}
}
