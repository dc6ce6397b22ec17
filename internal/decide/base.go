package decide

// Base is what is known of the content that a merge would start from: what the machine made
// of a revision, as a commit's trailer or the record names it
// (docs/design/trust.md#what-proved-means).
type Base struct {
	// Approved reports that an approval on the registered branch names it, and Stated that
	// this machine built it.
	Approved, Stated bool
	// Rebuilt reports that the inputs of now give it from the revision's own upstream.
	// Restored reports that they do once they are laid upon it: it is of other inputs, and
	// holds no edit outside of what the variant sets.
	Rebuilt, Restored bool
}

// Trusted reports whether the base is known without building anything.
func (b Base) Trusted() bool { return b.Approved || b.Stated }

// Known reports whether a merge may start from the base. Any other is a guess, because
// anybody who may push can write the trailers of a Draft and the record: it keeps all edits,
// and a person decides.
func (b Base) Known() bool { return b.Trusted() || b.Rebuilt || b.Restored }
