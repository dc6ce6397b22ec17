package decide

import "testing"

// TestFurnishes: whose Published revision may be without a Kptfile.
func TestFurnishes(t *testing.T) {
	made := func(r *Revision) { r.Machine = &Machine{} }
	none := func(r *Revision) { r.Machine = nil }
	for name, tc := range map[string]struct {
		want   *Want
		from   *Revision
		is     bool
		reason string
	}{
		"an adopted folder":    {wanted(adopting), publishedOf(1, 1, none), true, "others made it, and the variant takes it over"},
		"not adopted":          {wanted(), publishedOf(1, 1, none), false, "the variant takes nothing over"},
		"the machine's":        {wanted(adopting), publishedOf(1, 1, made), false, "it had a Kptfile, and somebody took it away"},
		"a Draft":              {wanted(adopting), draftOf(1, 1, none), false, "a Draft without a Kptfile is no package"},
		"nothing":              {wanted(adopting), nil, false, "a first Draft is a clone"},
		"of another manager's": {wanted(adopting), publishedOf(1, 1, made, by("other/default/web")), false, "its machine made a Kptfile"},
	} {
		t.Run(name, func(t *testing.T) {
			q := Question{Want: tc.want, Work: Work{From: tc.from}}
			if got := q.Furnishes(); got != tc.is {
				t.Errorf("got %t: %s", got, tc.reason)
			}
		})
	}
}
