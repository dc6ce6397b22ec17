package decide

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBrake(t *testing.T) {
	cases := map[string]struct {
		reason          string
		going, staying  int
		maxDelete       int
		otherSetStaying int
		braked          bool
		empty           bool
	}{
		"two of three":       {"the brake is for many", 2, 1, -1, 0, false, false},
		"three of four":      {"more than a quarter, and three", 3, 1, -1, 0, true, false},
		"three of twelve":    {"exactly a quarter is not more", 3, 9, -1, 0, false, false},
		"three of eleven":    {"a little more than a quarter", 3, 8, -1, 0, true, false},
		"another set's":      {"each set counts for itself", 3, 1, -1, 100, true, false},
		"named":              {"the number was said", 3, 1, 3, 0, false, false},
		"one less than that": {"the number was another", 4, 1, 3, 0, true, false},
		"zero":               {"nothing may go", 3, 1, 0, 0, true, false},
		"all of two":         {"a set that selects nothing is a mistake", 2, 0, -1, 0, true, false},
		"one target empty":   {"its packages may be missed", 1, 11, -1, 0, true, true},
		"all of two, named":  {"or is meant", 2, 0, 2, 0, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			sets := []SetSize{{Namespace: "default", Name: "web", Variants: c.staying, Empty: c.empty}, {Namespace: "default", Name: "other", Variants: c.otherSetStaying}}
			var list []*Removed
			for i := range c.going {
				o := &Orphan{Identity: Identity{"default", "c1", fmt.Sprint("p", i)}, Set: "web"}
				// A package counts once, whatever goes of it: a Draft, what is Published, its ownership.
				for _, d := range [][]Decision{{Discard{}, Retire{}}, {Retire{}}, {Release{}}}[i%3] {
					list = append(list, &Removed{Orphan: o, Removal: Removal{Ruling: ruled(d)}})
				}
			}
			var wanted []*Want
			for i := range c.staying {
				wanted = append(wanted, &Want{Identity: Identity{"default", "c2", fmt.Sprint("q", i)}, Set: "web"})
			}
			for i := range c.otherSetStaying {
				wanted = append(wanted, &Want{Identity: Identity{"default", "c3", fmt.Sprint("r", i)}, Set: "other"})
			}
			warnings := Pruning{Prune: true, MaxDelete: c.maxDelete}.Settle(list, wanted, sets)
			for _, r := range list {
				if got := r.Decision.Action() == ActionKeep; got != c.braked {
					t.Errorf("%s: %s %v (%s)", r.Identity, r.Decision.Action(), r.Reasons, c.reason)
				} else if got && !strings.Contains(r.Reasons[0], fmt.Sprintf("--max-delete=%d", c.going)) {
					t.Errorf("no remedy in %q", r.Reasons[0])
				}
			}
			if got := len(warnings) > 0; got != c.braked {
				t.Errorf("warnings %q", warnings)
			}
		})
	}
}

// The warnings name what was braked, sorted; another namespace's set of the same
// name counts for itself.
func TestBrakeBySet(t *testing.T) {
	var list []*Removed
	going := func(namespace, set string, n int) {
		for i := range n {
			o := &Orphan{Identity: Identity{namespace, "c1", fmt.Sprint(set, i)}, Set: set}
			list = append(list, &Removed{Orphan: o, Removal: Removal{Ruling: ruled(Retire{})}})
		}
	}
	going("default", "web", 3)
	going("default", "", 4)
	going("team", "web", 1)
	list = append(list, &Removed{Orphan: &Orphan{Identity: Identity{"default", "c1", "x"}, Set: "web"}, Removal: Removal{Ruling: ruled(Wait{}, "proposed")}})
	wanted := []*Want{{Identity: Identity{"default", "c2", "q"}, Set: "web"}, {Identity: Identity{"team", "c2", "q"}, Set: "web"}}
	sets := []SetSize{{Namespace: "default", Name: "web", Variants: 1}, {Namespace: "team", Name: "web", Variants: 1}}

	got := Pruning{Prune: true, MaxDelete: -1}.Settle(list, wanted, sets)
	want := []string{"deletions braked: 3 of 4 packages of web", "deletions braked: 4 of 4 packages of what no set makes"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("warnings: -want +got:\n%s", d)
	}
	reasons := map[string]int{}
	for _, r := range list {
		reasons[string(r.Decision.Action())+strings.Join(r.Reasons, "")]++
	}
	wantReasons := map[string]int{
		"keepits variant has gone, but set default/web would lose 3 of 4 packages at once: if that is meant, run with --max-delete=3":   3,
		"keepits variant has gone, but what no set makes would lose 4 of 4 packages at once: if that is meant, run with --max-delete=4": 4,
		"retire": 1, "waitproposed": 1,
	}
	if d := cmp.Diff(wantReasons, reasons); d != "" {
		t.Errorf("reasons: -want +got:\n%s", d)
	}
}

func TestSettleHoldsBack(t *testing.T) {
	for name, c := range map[string]struct {
		reason  string
		p       Pruning
		goes    bool
		says    string
		allowed bool
	}{
		"off":             {"nothing is deleted unasked", Pruning{MaxDelete: -1}, false, "its variant has gone; run with --prune to act on that", false},
		"on":              {"", Pruning{Prune: true, MaxDelete: -1}, true, "", true},
		"blocked":         {"", Pruning{Prune: true, Blocked: []string{"a", "b"}}, false, "its variant has gone, and nothing is deleted: a; b", false},
		"blocked and off": {"the block is told first", Pruning{Blocked: []string{"a"}}, false, "its variant has gone, and nothing is deleted: a", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Orphan{Identity: Identity{"default", "c1", "web"}}
			r := &Removed{o, Removal{Ruling: ruled(Discard{})}}
			wait := &Removed{o, Removal{Ruling: ruled(Wait{}, "proposed")}}
			if w := c.p.Settle([]*Removed{r, wait}, []*Want{{}}, []SetSize{{Variants: 1}}); len(w) > 0 {
				t.Errorf("warnings %q", w)
			}
			if got := strings.Join(r.Reasons, ""); r.Goes() != c.goes || got != c.says || c.p.Allowed() != c.allowed {
				t.Errorf("%s: %s %q", c.reason, r.Decision.Action(), got)
			}
			if wait.Decision != (Wait{}) || wait.Reasons[0] != "proposed" {
				t.Errorf("what stays is told otherwise: %q", wait.Reasons)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		restricted bool
		unread     int
		nowhere    int
		sets       []SetSize
		want       []string
	}{
		"a typo":     {false, 0, 2, nil, []string{"2 variants of a Repository that is not there"}},
		"nothing":    {false, 0, 0, []SetSize{{Name: "web", Variants: 1}}, nil},
		"restricted": {true, 0, 0, nil, []string{"--only restricts the run"}},
		"unread":     {false, 2, 0, nil, []string{"2 inputs could not be read"}},
		"one unread": {false, 1, 0, nil, []string{"1 input could not be read"}},
		"a target":   {false, 0, 0, []SetSize{{Namespace: "default", Name: "web", Failed: 1}, {Name: "db"}}, []string{"set default/web has 1 target that failed"}},
		"all":        {true, 1, 1, []SetSize{{Namespace: "n", Name: "s", Failed: 2}}, []string{"--only restricts the run", "1 input could not be read", "1 variant of a Repository that is not there", "set n/s has 2 targets that failed"}},
	} {
		if d := cmp.Diff(c.want, Blocks(c.restricted, c.unread, c.nowhere, c.sets)); d != "" {
			t.Errorf("%s: -want +got:\n%s", name, d)
		}
	}
}

// What a package has as its upstream stays, whoever wants it.
func TestKeepLocked(t *testing.T) {
	p := webPackage(tags(tag(1, 1)), publishedOf(1, 1))
	o := orphan(p, Ownership{})
	o.Repo.Git = "https://git/c1.git/"
	removed := func(d Decision) *Removed { return &Removed{o, Removal{Ruling: ruled(d)}} }
	list := []*Removed{removed(Retire{}), removed(Wait{})}
	KeepLocked(list, func(at Place) bool { return at == Place{"git/c1", webPath} })
	if list[0].Decision != (Keep{}) || list[0].Reasons[0] != "its variant has gone, but a package has it as its upstream, by its upstreamLock" || list[1].Decision != (Wait{}) {
		t.Errorf("%+v, %+v", list[0].Ruling, list[1].Ruling)
	}
	other := removed(Discard{})
	KeepLocked([]*Removed{other}, func(at Place) bool { return at.Name != webPath })
	if other.Decision.Action() != ActionDiscard {
		t.Errorf("kept though nothing has it as its upstream: %+v", other.Ruling)
	}
}
