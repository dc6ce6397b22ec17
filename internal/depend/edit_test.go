package depend

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/resolver"
)

// TestEdit: a hint is about the Installation that decides about what it names, or about
// all that was asked for; a variant about which none decides is named itself.
func TestEdit(t *testing.T) {
	catalogue := []resolver.Package{needs("app", "1.0.0"), needs("web", "1.0.0"), needs("db", "1.0.0"), needs("old", "1.0.0")}
	tg := target(catalogue, "app", "web", "old")
	tg.Installations = []*v1alpha1.Installation{installation("c1", "app", "of-app"), installation("c1/team", "db", "db"), installation("", "db", "of all")}
	a := &Answer{Target: tg, Stands: []string{"old"}}
	a.in = &partial{}
	for _, ref := range []string{"app", "web", "old"} {
		a.in.Want = append(a.in.Want, resolver.Request{Name: ref})
	}
	a.in.Want = append(a.in.Want, resolver.Request{Name: "db", Namespace: "team"})
	for name, tt := range map[string]struct {
		hint                    resolver.Hint
		installations, variants []string
	}{
		"of a variant with an Installation": {hint: resolver.Hint{Field: resolver.FieldOverrides, Of: "app"}, installations: []string{"of-app"}},
		"of a variant without one":          {hint: resolver.Hint{Field: resolver.FieldOverrides, Of: "web"}, variants: []string{"web"}},
		"of what an Installation asks for":  {hint: resolver.Hint{Field: resolver.FieldOverrides, Of: "team/db"}, installations: []string{"db"}},
		"of all that may change":            {hint: resolver.Hint{Field: resolver.FieldAllowChanges}, installations: []string{"of-app", "db"}, variants: []string{"web"}},
		"of a Catalog":                      {hint: resolver.Hint{Field: resolver.FieldDefaults}},
	} {
		t.Run(name, func(t *testing.T) {
			e := a.edit(tt.hint)
			var installations, variants []string
			for _, i := range e.Installations {
				installations = append(installations, i.Name)
			}
			for _, v := range e.Variants {
				variants = append(variants, v.Ref)
			}
			if diff := cmp.Diff([][]string{tt.installations, tt.variants}, [][]string{installations, variants}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
