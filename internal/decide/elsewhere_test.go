package decide

import (
	"testing"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

// porchs is a revision that Porch published: its commit is none of the machine's, and its
// workspace is that of a Draft.
func porchs(r *Revision) { r.Machine, r.Inputs = nil, Inputs{} }

// TestTrace is the table of what is known of a revision that another tool published.
func TestTrace(t *testing.T) {
	const inputs, older = "sha256:aa upstream=u spec=s context=c functions=f", "sha256:bb upstream=v spec=s context=c functions=f"
	made := func(in string, hydrated byte) *Machine {
		return &Machine{Commit: Hash{hydrated}, Ours: true, Inputs: in, Hydrated: Hash{hydrated}}
	}
	draft := draftOf(1, 10)
	entry := func(place record.Place, n int, in string) record.Entry {
		return record.Entry{Path: webPath, Place: place, Workspace: workspace(n), Commit: Hash{10}.String(), Hydrated: Hash{7}.String(), Inputs: in, Owner: webOwner}
	}
	past := record.Entry{Path: webPath, Place: record.Past, Revision: 1, Commit: Hash{20}.String()}
	same := func(at byte, m *Machine) Origin { return Origin{At: Hash{at}, Machine: m, Same: true} }
	other := func(at byte, m *Machine) Origin { return Origin{At: Hash{at}, Machine: m} }
	for name, c := range map[string]struct {
		reason    string
		revisions []*Revision
		entries   []record.Entry
		origins   []Origin
		inputs    string // of the Published revision; "" is nothing known
		settled   bool   // the Draft is surplus
	}{
		"approved as it stands":     {"nothing of the Draft is left", []*Revision{draft, publishedOf(1, 20, porchs)}, nil, []Origin{same(10, made(inputs, 7))}, inputs, true},
		"and proposed":              {"as of a Draft", []*Revision{proposedOf(1, 10), publishedOf(1, 20, porchs)}, nil, []Origin{same(10, made(inputs, 7))}, inputs, true},
		"approved before an update": {"the Draft goes on, from what was approved", []*Revision{draft, publishedOf(1, 20, porchs)}, nil, []Origin{other(10, made(inputs, 7)), same(9, made(older, 6))}, older, false},
		"edited when approved":      {"the edit is the approver's, the rest is the machine's", []*Revision{draft, publishedOf(1, 20, porchs)}, nil, []Origin{other(10, made(inputs, 7))}, inputs, true},
		"edited after an update":    {"nobody knows which commit the approver began with", []*Revision{draft, publishedOf(1, 20, porchs)}, nil, []Origin{other(10, made(inputs, 7)), other(9, made(older, 6))}, inputs, false},
		"edited on both sides":      {"the Draft holds a person's edit", []*Revision{draftOf(1, 10, edited), publishedOf(1, 20, porchs)}, nil, []Origin{other(10, made(inputs, 7))}, inputs, false},
		"the Draft has gone":        {"the record knows its workspace", []*Revision{publishedOf(1, 20, porchs)}, []record.Entry{entry(record.Open, 1, inputs)}, nil, inputs, false},
		"of both":                   {"a commit was compared, the record not", []*Revision{draft, publishedOf(1, 20, porchs)}, []record.Entry{entry(record.Open, 1, older)}, []Origin{same(10, made(inputs, 7))}, inputs, true},
		"over an earlier one":       {"that commit is of another workspace", []*Revision{publishedOf(2, 20, func(r *Revision) { r.Machine, r.Inputs = made(older, 6), ParseInputs(older) })}, []record.Entry{entry(record.Open, 2, inputs)}, nil, inputs, false},
		"another workspace":         {"a Draft of Porch's own", []*Revision{draftOf(2, 10), publishedOf(1, 20, porchs)}, []record.Entry{entry(record.Open, 2, inputs)}, nil, "", false},
		"no workspace":              {"a forge squashed it", []*Revision{publishedOf(1, 20, porchs, func(r *Revision) { r.Workspace = "" })}, []record.Entry{{Path: webPath, Place: record.Open, Inputs: inputs}}, nil, "", false},
		"a person made the Draft":   {"nobody knows what the machine made", []*Revision{draft, publishedOf(1, 20, porchs)}, nil, []Origin{same(10, nil)}, "", false},
		"the record knows it":       {"it was read already", []*Revision{draft, publishedOf(1, 20, porchs)}, []record.Entry{past, entry(record.Open, 1, inputs)}, []Origin{same(10, made(inputs, 7))}, "", false},
		"approved here":             {"its own commit says it", []*Revision{draft, publishedOf(1, 20)}, []record.Entry{entry(record.Open, 1, inputs)}, []Origin{same(10, made(inputs, 7))}, "", false},
		"nothing is published":      {"there is nothing to tell", []*Revision{draft}, nil, []Origin{same(10, made(inputs, 7))}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			var tags []Published
			for _, r := range c.revisions {
				if r.Number > 0 {
					tags = append(tags, tag(r.Number, 20))
				}
			}
			list := make([]*Revision, len(c.revisions))
			for i, r := range c.revisions {
				one := *r
				list[i] = &one
			}
			p := webPackage(tags, list...)
			p.Entries = c.entries
			p.Trace(c.origins)
			got := ""
			if p.Latest != nil && p.Latest.Inputs != (Inputs{}) {
				got = p.Latest.Inputs.String()
			}
			if got != c.inputs || len(p.Surplus) == 1 != c.settled {
				t.Errorf("inputs %q, want %q; settled %t, want %t: %s", got, c.inputs, len(p.Surplus) == 1, c.settled, c.reason)
			}
			if known := p.Publication() != nil; known != (c.inputs != "") {
				t.Errorf("the record is to say it: %t", known)
			}
			rulings := Leftover(fleet, wanted(), p)
			if (len(rulings) == 1) != c.settled || c.settled && rulings[0].Reasons[0] != map[bool]string{false: "another tool published it as v1", true: "another tool edited it, and published it as v1"}[p.retouched] {
				t.Errorf("%v", rulings)
			}
			if c.settled && (p.Open() != nil || !p.told()) {
				t.Error("the Draft is still there, or its approval is recorded twice")
			}
		})
	}
}

// TestApproved finds the open revision that another tool published.
func TestApproved(t *testing.T) {
	for name, c := range map[string]struct {
		revisions []*Revision
		want      lifecycle.Phase
	}{
		"a Draft":        {[]*Revision{draftOf(1, 10), publishedOf(1, 20, porchs)}, lifecycle.Draft},
		"a proposed one": {[]*Revision{proposedOf(1, 10), publishedOf(1, 20, porchs)}, lifecycle.Proposed},
		"another":        {[]*Revision{draftOf(2, 10), publishedOf(1, 20, porchs)}, ""},
		"published here": {[]*Revision{draftOf(1, 10), publishedOf(1, 20)}, ""},
	} {
		p := webPackage([]Published{tag(1, 20)}, c.revisions...)
		var got lifecycle.Phase
		if r := p.Approved(); r != nil {
			got = r.Phase
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
