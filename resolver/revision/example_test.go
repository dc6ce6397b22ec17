package revision_test

import (
	"fmt"

	"github.com/variform/variform/resolver/revision"
)

// A newer digest becomes the active revision; what only a collected one owned is an orphan.
func Example() {
	one := 1
	s := revision.State{Name: "provider", HistoryLimit: &one}
	s = s.Observe("sha256:a", []string{"crd/buckets", "crd/old"})
	s = s.Observe("sha256:b", []string{"crd/buckets"})
	s = s.Observe("sha256:c", []string{"crd/buckets"})
	kept, gone := s.Collect()
	fmt.Println("active", s.Current())
	fmt.Println("gone", gone, "and with it", revision.Orphans(s, kept))
	// Output:
	// active sha256:c
	// gone [sha256:a] and with it [crd/old]
}

// With Manual, a person activates what was observed.
func ExampleState_Activate() {
	s := revision.State{Name: "provider", Activation: revision.Manual}.Observe("sha256:a", nil)
	fmt.Printf("active %q\n", s.Current())
	s, err := s.Activate("sha256:a")
	fmt.Println("active", s.Current(), err)
	_, err = s.Activate("sha256:b")
	fmt.Println(err)
	// Output:
	// active ""
	// active sha256:a <nil>
	// package provider has no revision sha256:b to activate; it has sha256:a
}
