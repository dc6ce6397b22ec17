// Package krm holds kpt packages as bytes first and YAML trees second.
//
// The source bytes of a file stay the truth. A Resource is one KRM document of
// a file; it is read as a tree, edited as a tree through Edit, and written back
// by splicing only what changed into the bytes it came from
// (docs/design/hydration-and-update.md#bytes). What nothing edited keeps its
// bytes.
//
// Comments alone are not compared, with one exception: a new, not empty line
// comment of a scalar is written. Where comments count, as in a merge, PutText and
// WriteIf take a text as a whole, and Reread makes the trees of edited files those
// of their texts.
//
// The package is pure: no file system, no network, no clock.
package krm

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Mode is the kind of a file, as Git keeps it.
type Mode uint8

// The modes of a file.
const (
	Regular Mode = iota
	Executable
	Symlink // Data is the link's target
)

// File is one file of a package. Data is never modified by this package and
// must not be modified by callers.
type File struct {
	Path string // slash-separated, relative to the package's root, clean
	Mode Mode
	Data []byte
}

// Problem is a file whose YAML does not parse or passes a limit. The file is
// carried as opaque bytes; those that need its resources make it an error.
type Problem struct {
	Path string
	Line int // 1-based, 0 where unknown
	Err  error
}

// Error says where the problem is and what it is.
func (p Problem) Error() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", p.Path, p.Line, p.Err)
	}
	return fmt.Sprintf("%s: %v", p.Path, p.Err)
}

// Unwrap returns Err.
func (p Problem) Unwrap() error { return p.Err }

// Package is an ordered set of files and the KRM resources in them.
//
// Many goroutines may read and Clone one Package as long as none changes it.
// Each clone belongs to one goroutine at a time; clones are independent and
// share what was parsed until Edit copies a tree.
type Package struct {
	files   []*file     // sorted by path
	order   []*Resource // of a package made FromNodes; nil otherwise
	limits  Limits
	cache   *Cache // nil where nothing is shared
	touched bool   // a file was written or removed
}

// file is a file of one package: what was parsed, shared, and this package's
// resources in it. Those of the parsed text stand first and in order.
type file struct {
	*parsed
	docs []*Resource
}

// parsed is what a file's bytes hold. It is never changed.
type parsed struct {
	File
	docs    []document
	krm     int  // documents that are KRM resources
	given   bool // made FromNodes, without bytes
	problem *Problem
	content *content // keeps what docs are of in the Cache
}

// document is one document of a file.
type document struct {
	chunk
	root  *yaml.Node // the document node; nil where there is no content
	meta  meta
	index int // among the documents with content
	memo  *memo
}

// meta identifies a resource, and has the maps of its metadata, nil where there are none.
type meta struct {
	apiVersion, kind, name, namespace string
	annotations, labels               *yaml.Node
}

// Resource is one KRM document (apiVersion, kind) of a package.
type Resource struct {
	pkg     *Package
	path    string
	index   int
	from    *parsed     // where it was parsed; nil where it was added
	doc     *document   // in from
	given   *yaml.RNode // the tree of a resource made FromNodes
	node    *yaml.RNode // own tree; nil until edited
	put     *put        // the tree in place of the parsed one; nil for most
	deleted bool
	exact   bool // line comments that the tree lacks are removed from the text
}
