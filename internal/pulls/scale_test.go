package pulls

import (
	"fmt"
	"testing"
)

// many are Drafts, the requests for them in a mode, and what their forge has: each of
// them open, and as many that were closed as are read.
func many(mode Mode, n int) (t Terms, drafts []Draft, wanted []Request, there []Open) {
	t = Terms{Manager: "m", Mode: mode, Whole: true}
	for i := range n {
		path := fmt.Sprintf("p-%05d", i)
		drafts = append(drafts, Draft{Name: "c1/" + path, Path: path, Branch: "drafts/" + path + "/v1", Commit: fmt.Sprint(i), Class: fmt.Sprint(i / 10), Says: "s"})
	}
	wanted = Group(mode, t.Manager, drafts)
	for i := range wanted {
		r := &wanted[i]
		there = append(there, Open{Number: i + 1, Branch: r.Branch, Title: r.Title, Body: r.body(&t, "", "", "")})
	}
	for i := range 20 {
		o := there[i%len(wanted)]
		o.Number, o.Branch, o.Closed = n+i+1, "gone", true
		there = append(there, o)
	}
	return t, drafts, wanted, there
}

// Ten times as many Drafts of one repository cost ten times as much, however they are put
// together: no request is compared with each Draft, or with each request.
func TestManyDrafts(t *testing.T) {
	for _, mode := range []Mode{ByVariant, ByClass, ByRepository} {
		for what, run := range map[string]func(int) func(){
			"where requests stand": func(n int) func() {
				_, drafts, _, there := many(mode, n)
				return func() {
					if got := Standing(there, drafts); len(got) != n {
						t.Errorf("%d of %d Drafts have a request", len(got), n)
					}
				}
			},
			"what is to be done": func(n int) func() {
				terms, _, wanted, there := many(mode, n)
				return func() {
					for _, s := range Plan(terms, wanted, there) {
						if s.Action != ActionNone {
							t.Errorf("%s of %v", s.Action, s.Request)
						}
					}
				}
			},
		} {
			few, more := testing.AllocsPerRun(2, run(50)), testing.AllocsPerRun(2, run(500))
			if t.Logf("%s, %s: %.0f allocations for 50 Drafts, %.0f for 500", mode, what, few, more); more > 15*few {
				t.Errorf("%s, %s: %.0f allocations for 500 Drafts, %.0f for 50", mode, what, more, few)
			}
		}
	}
}
