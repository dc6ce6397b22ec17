package decide

// The comparisons: what a run compares the registered branch with to find out whether it
// holds what was Published last of a package. A machine's cache decides nothing: it only spares requests.
const (
	NoComparison = ""         // there is nothing to compare
	ByRecord     = "record"   // the record has the revision's tree
	ByRevision   = "revision" // the revision itself is read
)

// ComparedBy returns how a package without an open revision is compared with the registered
// branch, which is at head.
func (p *Package) ComparedBy(head Hash) string {
	if p.Latest == nil || head.IsZero() || p.Latest.Ref.Commit == head {
		return NoComparison
	}
	if _, known := p.RecordedTree(p.Latest); known {
		return ByRecord
	}
	return ByRevision
}
