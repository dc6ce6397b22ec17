package observe

import (
	"fmt"
	"testing"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/decide"
)

// What stands in many targets of one repository costs no more for each than in few: its
// packages are sorted into targets once.
func TestReadStandingOfManyTargets(t *testing.T) {
	allocs := func(targets int) float64 {
		repo := &Repo{Repository: &decide.Repository{Namespace: "default", Name: "fleet", Annotations: map[string]string{decide.TargetsAnnotation: "clusters/*"}, Packages: map[string]*decide.Package{}}}
		var units []decide.Unit
		for i := range targets {
			dir := fmt.Sprintf("clusters/c-%d", i)
			units = append(units, decide.Unit{Repo: repo.Repository, Dir: dir})
			for _, name := range []string{"web", "db"} { // of which nothing is Published, and nothing read
				at := dir + "/" + name
				repo.Packages[at] = decide.NewPackage(at, nil)
			}
		}
		r := New(Config{Dependencies: &Dependencies{Catalogs: []*variformv1alpha1.Catalog{{}}}})
		r.repos = map[repoKey]*Repo{{"default", "fleet"}: repo}
		return testing.AllocsPerRun(5, func() {
			if got := r.ReadStanding(t.Context(), units); len(got) != targets {
				t.Errorf("%d targets, want %d", len(got), targets)
			}
		})
	}
	few, many := allocs(20), allocs(200)
	if t.Logf("%.0f allocations for 20 targets, %.0f for 200", few, many); many > 15*few {
		t.Errorf("%.0f allocations for 200 targets, %.0f for 20", many, few)
	}
}
