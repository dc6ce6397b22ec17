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

func TestMovedTo(t *testing.T) {
	t.Parallel()
	web, db := Left{"web", "fleet/default/web-c1"}.String(), Left{"db", "fleet/default/db-c1"}.String()
	for reason, c := range map[string]struct {
		left []string
		now  map[string][]string
		want string
	}{
		"all packages, of the same owners":     {[]string{web, db}, map[string][]string{"https://new/c1": {db, web, "more"}}, "https://new/c1"},
		"a package is missing there":           {[]string{web, db}, map[string][]string{"https://new/c1": {web}}, ""},
		"the same path, of another owner":      {[]string{web}, map[string][]string{"https://git/c2": {Left{"web", "fleet/default/web-c2"}.String()}}, ""},
		"an older program noted no owner":      {[]string{"web"}, map[string][]string{"https://new/c1": {"web"}}, ""},
		"another spelling of the same address": {[]string{web}, map[string][]string{"ssh://git@old/c1.git": {web}}, ""},
		"nothing is left":                      {nil, map[string][]string{"https://new/c1": {web}}, ""},
		"the fleet has no other repository":    {[]string{web}, nil, ""},
	} {
		if got := MovedTo("https://old/c1", c.left, c.now); got != c.want {
			t.Errorf("%s: %q", reason, got)
		}
	}
}
