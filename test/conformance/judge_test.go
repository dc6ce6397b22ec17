package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestJudge: what is listed and passes is stale, what is not listed fails.
func TestJudge(t *testing.T) {
	const key = "judge-suite/case"
	cases := map[string]struct {
		listed            map[string]string
		run               func(r *R)
		problems, excused []string
	}{
		"passes":        {run: func(*R) {}},
		"fails":         {run: func(r *R) { r.Errorf("no") }, problems: []string{"no"}},
		"listed, fails": {listed: map[string]string{key: "why"}, run: func(r *R) { r.Errorf("no") }, excused: []string{key + ": why"}},
		"listed, passes": {
			listed: map[string]string{key: "why"}, run: func(*R) {},
			problems: []string{"stale deviation: " + key + " passes; remove it from the list"},
		},
		"part listed, fails": {
			listed: map[string]string{key + "/p": "why"}, run: func(r *R) { r.Part("p", func() { r.Errorf("no") }) },
			excused: []string{key + "/p: why"},
		},
		"part listed, passes": {
			listed: map[string]string{key + "/p": "why"}, run: func(r *R) { r.Part("p", func() {}) },
			problems: []string{"stale deviation: " + key + "/p passes; remove it from the list"},
		},
		"part fails beside a listed one": {
			listed: map[string]string{key + "/p": "why"},
			run: func(r *R) {
				r.Part("p", func() { r.Errorf("no") })
				r.Part("q", func() { r.Errorf("no") })
			},
			problems: []string{"q: no"}, excused: []string{key + "/p: why"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			saved := deviations
			defer func() { deviations = saved }()
			deviations = tc.listed
			r := &R{key: key, failed: map[string][]string{}}
			tc.run(r)
			problems, excused := r.judge()
			if diff := cmp.Diff([][]string{tc.problems, tc.excused}, [][]string{problems, excused}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
