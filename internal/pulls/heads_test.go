package pulls

import "testing"

// No two requests have one head, whatever they were found by.
func TestOneHeadEach(t *testing.T) {
	a, b := draft("alpha", "1", "k1"), draft("beta", "2", "k1")
	was := had(7, ByClass, a)
	a.Class, a.Commit = "k2", "3"
	seen := map[string]bool{}
	for _, s := range Plan(Terms{Manager: "fleet"}, Group(ByClass, "fleet", []Draft{a, b}), []Open{was}) {
		if seen[s.Request.Branch] {
			t.Errorf("%s is the head of two", s.Request.Branch)
		}
		seen[s.Request.Branch] = true
	}
	if len(seen) != 2 {
		t.Error(seen)
	}
}
