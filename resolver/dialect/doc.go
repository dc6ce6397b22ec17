// Package dialect holds what the readers of other systems' documents share:
// bytes in, the resolver's model out. Each system has a package of its own
// below this one.
//
// Reading is lenient where a document contradicts its own system's format, and
// says so: every departure is a warning with the line. It is an error only
// where what is meant cannot be told.
//
//	docs, err := porter.Read(data)
//	for _, w := range docs.Warnings { fmt.Println(w) } // line 7: … (hint: …)
//	cat, err := resolver.NewCatalog(docs.Packages)
package dialect

import (
	"github.com/variform/variform/api"
	"github.com/variform/variform/resolver"
)

// Documents is what was read, each list in the order of the file.
type Documents struct {
	// Packages are versions for a catalogue. Package and Version are empty where the document does not say: whoever
	// fetched it knows from which repository and tag.
	Packages []resolver.Package
	// Requests are installations that are asked for.
	Requests []resolver.Request
	// Installations are those that are there.
	Installations []resolver.Installation
	// Lock is the system's own lock, nil where there is none.
	Lock *resolver.Lock
	// Warnings name the lines of what was read although it is not as the format wants it.
	Warnings api.Issues
}
