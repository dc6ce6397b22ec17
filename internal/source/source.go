// Package source reads a management directory: the Repositories, sets, variants
// and context objects that say what a fleet is to be
// (docs/design/kinds.md#the-management-directory). It only reads, from a folder
// or from Git, and comes first in the flow: what it returns goes to variantgen
// and reconcile.
//
//	files, err := source.Open(ctx, "fleet/", source.Options{})
//	if err != nil {
//		return err // nothing could be read
//	}
//	fleet, err := files.Fleet(ctx)
//	if err != nil {
//		return err // ctx ended
//	}
//	for _, set := range fleet.Sets { … }
//	if len(fleet.Problems) > 0 {
//		log.Print(fleet.Problems.Error()) // the others are there; do not prune
//	}
//
// One bad document does not stop the rest: it is left out, each of its faults
// is a Problem with file, line, field and remedy.
package source

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/config/v1alpha2"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver"
)

// TreeReader reads a folder of a Git repository at a ref; the caller brings
// one. An empty ref is the repository's default branch, an empty dir its root.
// Paths of the result are relative to dir. Errors hold no credentials.
type TreeReader interface {
	ReadTree(ctx context.Context, url, ref, dir string) ([]krm.File, error)
}

// Options are the choices of Open; the zero value suits a folder.
type Options struct {
	// Git reads locations in Git; without it they are an error.
	Git TreeReader
	// Manager replaces the name that the root Kptfile gives.
	Manager string
	// Limits bound what is read; fields that are zero have DefaultLimits.
	Limits Limits
}

// Limits bound the input, so that a mistaken or hostile folder ends in an
// error instead of in exhausted memory.
type Limits struct {
	Files      int   // YAML files in all
	FileBytes  int64 // bytes of one file
	TotalBytes int64 // bytes of all of them
	Nodes      int   // YAML nodes of one document, its aliases written out
	Depth      int   // levels of one document
}

// DefaultLimits are far above any real fleet.
var DefaultLimits = Limits{
	Files:      200_000,
	FileBytes:  16 << 20,
	TotalBytes: 1 << 30,
	Nodes:      500_000,
	Depth:      100,
}

// Fleet is what a management directory holds. Its lists are in the order of
// the files' paths, then of the documents in a file; everything that could be
// read is in them and has a namespace. Treat it as read-only.
type Fleet struct {
	// Location is where it was read, without credentials.
	Location string
	// From is where that is, with credentials where it was given some.
	From Location
	// Claimed says that Manager is Options.Manager.
	Claimed bool
	// Manager is Options.Manager or the name of the root Kptfile; "" where
	// there is neither.
	Manager string
	// Checks are the severities of checks that the root Kptfile gives, by their names.
	Checks map[string]string

	Repositories []*v1alpha1.Repository
	Sets         []*v1alpha2.PackageVariantSet
	Variants     []*v1alpha1.PackageVariant
	// Installations say what targets have or want beside variants, and how
	// revisions become active.
	Installations []*variformv1alpha1.Installation
	// Catalogs say where versions of packages come from.
	Catalogs []*variformv1alpha1.Catalog
	// Locks are the recorded answers of the resolver.
	Locks []*variformv1alpha1.PackageLock
	// Rollouts are approvals that are published in waves, Strategies those to choose from.
	Rollouts   []*variformv1alpha1.Rollout
	Strategies []*variformv1alpha1.RolloutStrategy
	// Offered are versions of packages that documents of other systems are.
	Offered []resolver.Package
	// Objects are all other KRM objects: to be targeted or injected.
	Objects []*Object

	// Packages are the folders that were passed over, as they are packages of their
	// own, in order.
	Packages []string

	// Problems are the faults that kept something from being read.
	Problems api.Issues
	// Warnings are forms that were tolerated and fields without effect.
	Warnings api.Issues
	// Rejected are the objects that are not in the lists because of Problems,
	// as far as they can be named: a set among them is Stalled.
	Rejected []Rejected

	origins map[fieldKey]Origin // of all but Objects
	objects []*Object           // by Key
}

// fieldKey is a field of an object, or the object where the field is "".
type fieldKey struct {
	Key
	field string
}

// Origin says where an object of the Fleet stands; the zero Origin for one
// that is not in it.
func (f *Fleet) Origin(k Key) Origin {
	if i, ok := slices.BinarySearchFunc(f.objects, k, func(o *Object, k Key) int { return o.compare(k) }); ok {
		return f.objects[i].Origin
	}
	return f.origins[fieldKey{k, ""}]
}

// FieldOrigin says where a field of an object stands that explanations of conflicts
// name, or the nearest that it would stand in; for others where the object does.
func (f *Fleet) FieldOrigin(k Key, field string) Origin {
	if at, ok := f.origins[fieldKey{k, field}]; ok {
		return at
	}
	return f.Origin(k)
}

// edited are the fields of kinds that messages name.
var edited = map[string][]string{
	variformv1alpha1.KindInstallation: {resolver.FieldOverrides, resolver.FieldAllowChanges, resolver.FieldSearchProviders},
	variformv1alpha1.KindCatalog:      {resolver.FieldDefaults, fieldSources},
	v1alpha1.KindRepository:           {fieldRepo},
}

// Object is a KRM object of no kind that Variform acts on.
type Object struct {
	Key
	APIVersion  string
	Labels      map[string]string
	Annotations map[string]string
	Origin      Origin

	node *yaml.RNode // nil where the object is its text's only one
	text chunk
}

// Node is the document, without aliases: do not change it. It is read when it is asked
// for, as few of a fleet's are: a parsed document takes twenty times its text.
func (o *Object) Node() *yaml.RNode {
	if o.node != nil {
		return o.node
	}
	docs, _ := o.text.parse() // it was read before
	root, _ := flat(docs[0].root, unlimited)
	return yaml.NewRNode(root)
}

// Digest tells the object's content from any other.
func (o *Object) Digest() string {
	text := o.text.data
	if o.node != nil {
		text = []byte(o.node.MustString())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// unlimited are bounds of what was found to be within its own.
var unlimited = Limits{Nodes: math.MaxInt, Depth: math.MaxInt}

// Key is an object's identity (docs/design/kinds.md#the-management-directory).
// The version is no part of it.
type Key struct {
	Group, Kind, Namespace, Name string
}

// String is "Kind.group namespace/name", without the group of core kinds.
func (k Key) String() string {
	kind := k.Kind
	if k.Group != "" {
		kind += "." + k.Group
	}
	return kind + " " + k.Namespace + "/" + k.Name
}

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.Name, other.Name), cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Group, other.Group))
}

// Origin is a place in a file.
type Origin struct {
	File string // slash-separated, below the management directory
	Line int    // 1-based
}

// String is "file:line".
func (o Origin) String() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Rejected is an object that was found and could not be used.
type Rejected struct {
	Key
	Origin Origin
	Issues api.Issues
}

// Directory is a management directory whose files were read, and not parsed yet.
type Directory struct {
	loc      Location
	opts     Options
	files    []file // that are to be parsed, by name
	packages []string
	problems api.Issues
	kptfile  file // of the root
}

// Open reads the files of the management directory at location: a folder, or Git as
// URL[//dir][@ref]. The error is about the location as a whole: it does not
// exist, Git could not be read, a limit was passed, ctx ended. Faults of files
// and documents are the Fleet's Problems.
func Open(ctx context.Context, location string, opts Options) (*Directory, error) {
	opts.Limits = opts.Limits.withDefaults()
	loc, err := ParseLocation(location)
	if err != nil {
		return nil, err
	}
	t, err := open(ctx, loc, opts.Git)
	if err != nil {
		return nil, err
	}
	defer t.close()
	d := &Directory{loc: loc, opts: opts}
	if err := d.read(ctx, t); err != nil {
		return nil, fmt.Errorf("reading the management directory %s: %w", loc, err)
	}
	return d, nil
}

// Digest tells the directory's content from any other; "" where a part of it could
// not be read.
func (d *Directory) Digest() string {
	sum := sha256.New()
	for _, f := range append(d.files, d.kptfile) {
		if f.err != nil && !errors.Is(f.err, fs.ErrNotExist) {
			return ""
		}
		_, _ = fmt.Fprintf(sum, "%s\x00%d\x00", f.name, len(f.data))
		sum.Write(f.data)
	}
	if len(d.problems) > 0 {
		return ""
	}
	for _, p := range d.packages {
		_, _ = fmt.Fprintf(sum, "%s\x00", p)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Fleet parses the files; the error is that ctx ended.
func (d *Directory) Fleet(ctx context.Context) (*Fleet, error) {
	c := &collector{fleet: &Fleet{Location: d.loc.String(), From: d.loc, Packages: d.packages, Problems: d.problems}, limits: d.opts.Limits}
	if err := c.parse(ctx, d.files); err != nil {
		return nil, fmt.Errorf("reading the management directory %s: %w", d.loc, err)
	}
	c.manager(d.kptfile, d.opts.Manager)
	c.checks(d.kptfile.data)
	f := c.finish()
	if d.loc.Folder != "" {
		f.relocate(d.loc.Folder)
	}
	return f, nil
}

func (l Limits) withDefaults() Limits {
	pick := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	pick64 := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	pick(&l.Files, DefaultLimits.Files)
	pick(&l.Nodes, DefaultLimits.Nodes)
	pick(&l.Depth, DefaultLimits.Depth)
	pick64(&l.FileBytes, DefaultLimits.FileBytes)
	pick64(&l.TotalBytes, DefaultLimits.TotalBytes)
	return l
}
