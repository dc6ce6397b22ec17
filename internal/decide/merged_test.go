package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/record"
)

// A Draft with a person's edits that others merged is built once, whatever the style of
// the merge; what nobody edited, what was approved, and what was built is not.
func TestUnbuilt(t *testing.T) {
	made, theirs := Hash{50}, Hash{60}
	merged := func(changes ...change) *Revision {
		return publishedOf(1, 9, append([]change{func(r *Revision) {
			r.Machine = &Machine{Commit: Hash{8}, Ours: true, Hydrated: made, Inputs: parts().Inputs(nil).String()}
			r.Inputs = parts().Inputs(nil)
		}}, changes...)...)
	}
	machine := func(f func(*Machine)) change { return func(r *Revision) { f(r.Machine) } }
	entry := func(workspace string, tree Hash) []record.Entry {
		return []record.Entry{{Path: webPath, Place: record.Main, Workspace: workspace, Revision: 1, Commit: Hash{9}.String(), Tree: tree.String(), Hydrated: made.String()}}
	}
	now := parts().Inputs(&Published{Number: 1, Ref: tag(1, 9).Ref})
	for name, c := range map[string]struct {
		reason  string
		from    *Revision
		tree    Hash // at the tag, zero where it was not read
		entries []record.Entry
		change  func(*Question)
		want    bool
	}{
		"edited":                     {"a fast-forward, a merge or a rebase: the machine's commit is below", merged(), theirs, nil, nil, true},
		"squashed":                   {"the record alone tells", merged(func(r *Revision) { r.Workspace = "" }), Hash{}, entry(workspace(1), theirs), nil, true},
		"squashed with its message":  {"the forge's commit repeats the trailers", merged(machine(func(m *Machine) { m.Commit, m.Ours = Hash{9}, false })), theirs, nil, nil, true},
		"amended":                    {"a person made the machine's commit anew", merged(machine(func(m *Machine) { m.Commit, m.Ours = Hash{9}, false })), theirs, entry(workspace(1), theirs), nil, true},
		"not edited":                 {"it is what the machine made", merged(), made, nil, nil, false},
		"not edited, recorded":       {"it is what the machine made", merged(), Hash{}, entry(workspace(1), made), nil, false},
		"approved":                   {"approve asks for a build, and a person commits it", merged(func(r *Revision) { r.Approved = true }, machine(func(m *Machine) { m.Commit, m.Ours = Hash{9}, false })), theirs, entry(workspace(1), theirs), nil, false},
		"the machine's own":          {"a run built the edit, and a fast-forward merged it", merged(machine(func(m *Machine) { m.Commit = Hash{9} })), theirs, nil, nil, false},
		"a hotfix of approve --main": {"it was rendered then", merged(), theirs, entry("", theirs), nil, false},
		"unread":                     {"nothing tells what it holds", merged(), Hash{}, nil, nil, false},
		"no machine's":               {"nothing tells what was edited", merged(func(r *Revision) { r.Machine = nil }), theirs, nil, nil, false},
		"adopted":                    {"it is merged with the variant anyway", merged(), theirs, nil, adopted, false},
		"sets it back":               {"a build would bring what was taken back", merged(reverting("v0")), theirs, nil, nil, false},
		"built since": {"a run found that it is what building makes", merged(), theirs, nil, func(q *Question) {
			q.Last = &Built{Commit: Hash{9}, Inputs: now}
		}, false},
		"failed since": {"it is not known to be", merged(), theirs, nil, func(q *Question) {
			q.Last = &Built{Commit: Hash{9}, Inputs: now, Failure: "bad"}
		}, true},
		"built before":       {"another commit", merged(), theirs, nil, func(q *Question) { q.Last = &Built{Commit: Hash{8}, Inputs: now} }, true},
		"not to be rendered": {"this run cannot tell", merged(), theirs, nil, func(q *Question) { q.Unrendered = true }, false},
		"an open Draft":      {"that is built for being edited", draftOf(1, 9, edited), theirs, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := webPackage(tags(tag(1, 9)), c.from)
			p.Entries = c.entries
			if !c.tree.IsZero() {
				p.Learn(Hash{9}, c.tree)
			}
			q := asked(p, c.from)
			if c.change != nil {
				c.change(&q)
			}
			if got := q.Unbuilt(); got != c.want {
				t.Errorf("%s: %v", c.reason, got)
			}
			if !c.want {
				return
			}
			b, ok := Intend(q).(Build)
			if !ok || b.As != ActionRedraft || len(b.Reasons) != 1 || b.Reasons[0] != mergedReason {
				t.Errorf("%s: %+v", c.reason, Intend(q))
			}
			o := Outcome{Question: q, Intent: b}
			if p := o.Proof(); p == nil || p.State != Unproved && (q.Last == nil || p.State != Failing) {
				t.Errorf("%s: proof %+v", c.reason, p)
			}
			o.Tried, o.Same = true, true
			if built, tell := o.Remember(); !tell || built == nil || built.Commit != (Hash{9}) {
				t.Errorf("a build that gives what is there is not remembered: %+v", built)
			}
		})
	}
}

// The gates of what others published are reported.
func TestShowsGates(t *testing.T) {
	byForge := func(r *Revision) { r.Machine.Commit = Hash{8} }
	for name, c := range map[string]struct {
		from            *Revision
		unfilled, gated bool
		remote, want    bool
	}{
		"merged, nothing fills a point": {publishedOf(1, 9, byForge), true, false, false, true},
		"merged, with gates":            {publishedOf(1, 9, byForge), false, true, false, true},
		"merged, without gates":         {publishedOf(1, 9, byForge), false, false, false, false},
		"approved":                      {publishedOf(1, 9), true, true, false, false},
		"no deployment repository":      {publishedOf(1, 9, byForge), true, true, true, false},
		"a Draft":                       {draftOf(1, 9), true, true, false, false},
	} {
		q := asked(webPackage(tags(tag(1, 9)), c.from), c.from)
		if q.Repo.Deployment = !c.remote; !c.unfilled {
			q.Unfilled = nil
		}
		if got := q.ShowsGates(c.gated); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	unmet := []Gate{{"a", "False", "x"}, {"b", "Unknown", "y"}}
	want := []string{"merged although readiness gates are not met: a is False: x; b is Unknown: y"}
	if d := cmp.Diff(want, MergedUnmet(Tag{}, unmet)); d != "" || MergedUnmet(Tag{Adopts: true}, unmet) != nil || MergedUnmet(Tag{}, nil) != nil {
		t.Error(d)
	}
}
