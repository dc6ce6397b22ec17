// Package foreign reads the documents of other package systems, Carvel's,
// Crossplane's and Porter's, where ours could stand as well: in a catalogue's
// source and in a management directory (docs/design/dependencies.md#documents-of-other-systems).
// The dialects below package resolver know their formats; this package knows which
// of them a file is in, and what of ours it becomes.
package foreign

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
	"github.com/variform/variform/resolver/dialect"
	"github.com/variform/variform/resolver/dialect/carvel"
	"github.com/variform/variform/resolver/dialect/crossplane"
	"github.com/variform/variform/resolver/dialect/porter"
)

// Documents are what a file says in another system's terms.
type Documents struct {
	// Packages are versions to choose from. Their Foreign is set.
	Packages []resolver.Package
	// Installations are what is asked for, or there.
	Installations []*v1alpha1.Installation
	// Lock is another system's answer, nil where there is none.
	Lock     *v1alpha1.PackageLock
	Warnings api.Issues
}

// system is how the documents of one system are known and read.
type system struct {
	kind  string   // of what it calls a package
	files []string // names that are certain, whatever is in them
	marks []string // in an apiVersion, they make it worth to be read
	read  func([]byte) (*dialect.Documents, error)
}

var systems = []system{
	{kind: carvelKind, marks: []string{"packaging.carvel.dev/"}, read: carvel.Read},
	{kind: "Crossplane package", files: []string{"crossplane.yaml", "upbound.yaml"}, marks: []string{"pkg.crossplane.io/", "meta.dev.upbound.io/"}, read: crossplane.Read},
	{kind: "Porter bundle", files: []string{"porter.yaml", "bundle.json"}, read: porter.Read},
}

// Files are the names that documents about one package have at its root, in the
// order in which they count.
var Files = []string{"package.yaml", "crossplane.yaml", "upbound.yaml", "porter.yaml", "bundle.json"}

// systemOf is the system of a file, by its name or else by what is in it; nil for
// one that is of none.
func systemOf(file string, data []byte) *system {
	for n := range systems {
		s := &systems[n]
		if slices.Contains(s.files, path.Base(file)) || slices.ContainsFunc(s.marks, func(m string) bool { return bytes.Contains(data, []byte(m)) }) {
			return s
		}
	}
	return nil
}

// Knows says whether an apiVersion is one of another system's.
func Knows(apiVersion string) bool {
	return slices.ContainsFunc(systems, func(s system) bool {
		return slices.ContainsFunc(s.marks, func(m string) bool { return strings.Contains(apiVersion, m) })
	})
}

// Read reads a file; nil where it holds no document of another system. The error
// names the file, and the lines.
func Read(file string, data []byte) (*Documents, error) {
	s := systemOf(file, data)
	if s == nil {
		return nil, nil
	}
	docs, err := s.read(data)
	var issues api.Issues
	switch {
	case errors.Is(err, dialect.ErrNoDocument):
		return nil, nil
	case errors.As(err, &issues):
		return nil, in(file, issues)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	out := &Documents{Packages: docs.Packages, Warnings: in(file, docs.Warnings)}
	for n := range out.Packages {
		out.Packages[n].Foreign = s.kind
	}
	for n := range docs.Requests {
		out.Installations = append(out.Installations, installation(&docs.Requests[n]))
	}
	if docs.Lock != nil {
		out.Lock = &v1alpha1.PackageLock{Spec: *docs.Lock}
		out.Lock.APIVersion, out.Lock.Kind, out.Lock.Name = v1alpha1.APIVersion, v1alpha1.KindPackageLock, "lock"
	}
	for n := range docs.Installations {
		out.there(&docs.Installations[n])
	}
	return out, nil
}

// Whole reads a file whose packages say their names and versions themselves: those
// that do not are left out, with a warning.
func Whole(file string, data []byte) (*Documents, error) {
	d, err := Read(file, data)
	if d == nil || err != nil {
		return nil, err
	}
	d.Packages = slices.DeleteFunc(d.Packages, func(p resolver.Package) bool {
		lacks := p.Package == "" || !resolver.IsVersion(p.Version)
		if lacks {
			d.Warnings = append(d.Warnings, api.Issue{
				File: file, Message: "the " + p.Foreign + " does not say its name and its version here, and is left out",
				Hint: "give it both, or have a Catalog read it where a tag says them",
			})
		}
		return lacks
	})
	for n := range d.Packages {
		p := &d.Packages[n]
		p.Version, p.Source = strings.TrimPrefix(p.Version, "v"), cmp.Or(p.Source, file)
	}
	return d, nil
}

func in(file string, issues api.Issues) api.Issues {
	out := slices.Clone(issues)
	for n := range out {
		out[n].File = file
	}
	return out
}

// One reads a file about one package; nil where it holds no document of another
// system.
func One(file string, data []byte) (*resolver.Package, error) {
	docs, err := Read(file, data)
	if docs == nil || err != nil {
		return nil, err
	}
	if n := len(docs.Packages); n != 1 {
		return nil, fmt.Errorf("%s holds %d packages, and the folder is one", file, n)
	}
	return &docs.Packages[0], nil
}

// installation is a request as a document of ours.
func installation(q *resolver.Request) *v1alpha1.Installation {
	i := &v1alpha1.Installation{}
	i.APIVersion, i.Kind = v1alpha1.APIVersion, v1alpha1.KindInstallation
	i.Name, i.Namespace = q.Name, q.Namespace
	i.Spec = v1alpha1.InstallationSpec{Package: q.Package, Constraints: q.Version, Prereleases: q.Prereleases}
	d := &v1alpha1.InstallationDependencies{Overrides: q.Overrides}
	if q.SkipDependencies {
		d.Enabled = new(bool)
	}
	if q.ValidateOnly {
		d.Install = new(bool)
	}
	if q.Materialise == "direct" {
		d.Materialise = "Direct"
	}
	i.Spec.Dependencies = d
	return i
}

// there records that an installation is there, beside what asks for it where
// something does.
func (d *Documents) there(o *resolver.Installation) {
	at := slices.IndexFunc(d.Installations, func(i *v1alpha1.Installation) bool { return i.Name == o.Name && i.Namespace == o.Namespace })
	if at < 0 {
		i := &v1alpha1.Installation{}
		i.APIVersion, i.Kind = v1alpha1.APIVersion, v1alpha1.KindInstallation
		i.Name, i.Namespace, i.Spec.Package = o.Name, o.Namespace, o.Package
		at, d.Installations = len(d.Installations), append(d.Installations, i)
	}
	i := d.Installations[at]
	i.Spec.Labels = o.Labels
	if o.Mode != "" || o.Group != "" {
		i.Spec.Share = &v1alpha1.Share{Mode: o.Mode, Group: o.Group}
	}
	if i.Status.CurrentRevision = o.Digest; o.Digest == "" {
		i.Status.CurrentRevision = o.Version
	}
	for _, alias := range slices.Sorted(maps.Keys(o.Bindings)) {
		i.Status.Dependencies = append(i.Status.Dependencies, v1alpha1.DependencyStatus{Alias: alias, Installation: o.Bindings[alias]})
	}
}
