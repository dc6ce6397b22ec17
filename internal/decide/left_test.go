package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTakenOut(t *testing.T) {
	repo := func(address, dir string) *Repository { return &Repository{Address: address, Dir: dir} }
	known := map[string][]string{"https://git/c1": {"apps/db", "apps/web"}, "https://git/c2": {"web"}}
	for name, c := range map[string]struct {
		repos []*Repository
		want  map[string][]string
	}{
		"none":             {[]*Repository{repo("https://git/c1", "apps"), repo("https://git/c2", "")}, map[string][]string{}},
		"another spelling": {[]*Repository{repo("git@git:c1.git", ""), repo("https://git/c2/", "")}, map[string][]string{}},
		"one":              {[]*Repository{repo("https://git/c1", "apps")}, map[string][]string{"https://git/c2": {"web"}}},
		"all":              {nil, known},
		"a folder":         {[]*Repository{repo("https://git/c1", "apps/db"), repo("https://git/c2", "")}, map[string][]string{"https://git/c1": {"apps/db", "apps/web"}}},
		"in parts":         {[]*Repository{repo("https://git/c1", "other"), repo("https://git/c1", "apps"), repo("https://git/c2", "")}, map[string][]string{}},
	} {
		if d := cmp.Diff(c.want, TakenOut(known, c.repos)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
