package decide

import "github.com/variform/variform/api/config/v1alpha1"

// Furnished is the reason of the first Draft of a folder that others made without a
// Kptfile.
const Furnished = "the folder has no Kptfile: the Draft adds it"

// Furnishes reports whether a Published revision without a Kptfile gets one: it is a
// folder that others made, and the variant adopts what exists. A Kptfile that the
// machine made and that is gone is an error.
func (q Question) Furnishes() bool {
	return q.Lock() == nil && q.From != nil && q.From.Number > 0 && q.From.Machine == nil && q.adoption() == v1alpha1.AdoptExisting
}
