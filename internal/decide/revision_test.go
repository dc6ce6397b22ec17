package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

func TestHash(t *testing.T) {
	digits := strings.Repeat("0a", 20)
	for text, want := range map[string]string{
		digits: digits, "": Hash{}.String(), "0a": Hash{}.String(), strings.Repeat("xy", 20): Hash{}.String(), digits + "0a": Hash{}.String(),
	} {
		got := ParseHash(text)
		if got.String() != want || got.IsZero() != (text != digits) {
			t.Errorf("ParseHash(%q) = %s", text, got)
		}
	}
}

func TestIdentity(t *testing.T) {
	id := Identity{"default", "c1", "web"}
	for other, want := range map[Identity]int{
		id: 0, {"e", "a", "a"}: -1, {"a", "z", "z"}: 1, {"default", "c2", "a"}: -1, {"default", "c0", "z"}: 1, {"default", "c1", "x"}: -1, {"default", "c1", "v"}: 1,
	} {
		if got := id.Compare(other); got != want {
			t.Errorf("compared with %+v: %d, want %d", other, got, want)
		}
	}
	if id.String() != "c1/web" || PorchName("c1", "team/web", "w") != "c1.team.web.w" {
		t.Errorf("names %s, %s", id, PorchName("c1", "team/web", "w"))
	}
	for want, r := range map[string]Revision{"c1.team.web.w": {Workspace: "w", Number: 2}, "c1.team.web.v2": {Number: 2}} {
		if got := r.PorchName("c1", "team/web"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestNeedsReview(t *testing.T) {
	amended := func(r *Revision) { r.Machine.Ours = false }
	cases := map[string]struct {
		reason  string
		r       *Revision
		needs   bool
		amended bool
	}{
		"as built":          {"nothing but Variform's commit", draftOf(1, 1), false, false},
		"committed upon":    {"a person's commit on top", draftOf(1, 1, edited), true, false},
		"amended":           {"a person made the commit anew", draftOf(1, 1, amended), true, true},
		"marked":            {"the build says so", draftOf(1, 1, func(r *Revision) { r.Machine.Review = "1" }), true, false},
		"no machine commit": {"all of it is a person's", draftOf(1, 1, func(r *Revision) { r.Machine = nil }), true, false},
		"published":         {"who approved is the committer", publishedOf(1, 1, amended), false, false},
	}
	for name, c := range cases {
		if c.r.NeedsReview() != c.needs || c.r.Amended() != c.amended {
			t.Errorf("%s: needs review %t, amended %t (%s)", name, c.r.NeedsReview(), c.r.Amended(), c.reason)
		}
	}
}

func TestDescribe(t *testing.T) {
	for want, r := range map[string]*Revision{
		"Draft packagevariant-1": draftOf(1, 1), "Published v2": publishedOf(2, 1), "Proposed": {Phase: lifecycle.Proposed},
	} {
		if got := r.Describe(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := draftOf(1, 1).Ref.Short(); got != "drafts/apps/web/packagevariant-1" {
		t.Errorf("short name %q", got)
	}
}

// A Draft is surplus where all of it stands in what its workspace became.
func TestSurplus(t *testing.T) {
	inWorkspace := func(n int) change { return func(r *Revision) { r.Workspace = workspace(n) } }
	cases := map[string]struct {
		reason  string
		others  []*Revision
		surplus bool
	}{
		"alone":                        {"nothing became of it", nil, false},
		"proposed as it is":            {"the same commit is Proposed", []*Revision{proposedOf(1, 10)}, true},
		"proposed and edited since":    {"the Proposed one was built by that commit", []*Revision{proposedOf(1, 11, func(r *Revision) { r.Machine.Commit = Hash{10} })}, true},
		"another is proposed":          {"the Draft holds something else", []*Revision{proposedOf(1, 11)}, false},
		"proposed by a person":         {"no machine commit says that it holds the Draft", []*Revision{proposedOf(1, 11, func(r *Revision) { r.Machine = nil })}, false},
		"another workspace":            {"it became something else", []*Revision{proposedOf(2, 10)}, false},
		"published":                    {"the publication joined it", []*Revision{publishedOf(1, 20, parents(Hash{19}, Hash{10}))}, true},
		"published without it":         {"the publication joined another commit", []*Revision{publishedOf(1, 20, parents(Hash{19}))}, false},
		"published from another":       {"its workspace was another", []*Revision{publishedOf(1, 20, parents(Hash{10}), inWorkspace(2))}, false},
		"a Draft on top":               {"a Draft is no publication", []*Revision{draftOf(2, 20, parents(Hash{10}), inWorkspace(1))}, false},
		"deletion proposed":            {"it was published all the same", []*Revision{doomedOf(1, 20, parents(Hash{10}))}, true},
		"several, the last is its own": {"any of them", []*Revision{proposedOf(2, 10), publishedOf(1, 20, parents(Hash{10}))}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := draftOf(1, 10)
			p := webPackage(nil, append([]*Revision{d}, c.others...)...)
			if got := len(p.Surplus) == 1 && p.Surplus[0] == d; got != c.surplus {
				t.Errorf("surplus %t, want %t: %s", got, c.surplus, c.reason)
			}
			if len(p.Heads()) != len(c.others)+1 || len(p.Revisions)+len(p.Surplus) != len(p.Heads()) {
				t.Errorf("%d revisions and %d surplus", len(p.Revisions), len(p.Surplus))
			}
		})
	}
	p := webPackage(nil, proposedOf(1, 10), proposedOf(1, 10))
	if len(p.Surplus) != 0 {
		t.Error("only Drafts are surplus")
	}
}

func TestNewPackage(t *testing.T) {
	list := []*Revision{publishedOf(1, 1), proposedOf(2, 3), publishedOf(3, 4), draftOf(2, 2), publishedOf(2, 9)}
	p := webPackage(nil, list...)
	var refs []string
	for _, r := range p.Revisions {
		refs = append(refs, r.Ref.Name)
	}
	want := []string{
		"refs/heads/drafts/apps/web/packagevariant-2", "refs/heads/proposed/apps/web/packagevariant-2",
		"refs/tags/apps/web/v1", "refs/tags/apps/web/v2", "refs/tags/apps/web/v3",
	}
	if d := cmp.Diff(want, refs); d != "" {
		t.Errorf("order: -want +got:\n%s", d)
	}
	if list[0].Number != 1 || p.Latest != list[2] {
		t.Errorf("the list was reordered, or the latest is %s", p.Latest.Describe())
	}
	for _, r := range list {
		if p.At(r.Ref.Name) != r {
			t.Errorf("%s is not found", r.Ref.Name)
		}
	}
	if p.At("refs/heads/other") != nil {
		t.Error("found what is not there")
	}
}

// What a package says of itself.
func TestPackage(t *testing.T) {
	type answers struct {
		Next                          int
		Open, Newest, Owner           string
		Published                     bool
		Deletions                     int
		Downstreams                   []Downstream
		TaggedV1, TaggedV9, TaggedNot bool
	}
	mine := func(r *Revision) bool { return r.Owner == webOwner }
	cases := map[string]struct {
		reason string
		p      *Package
		want   answers
	}{
		"empty": {"", webPackage(nil), answers{Next: 1}},
		"a Draft": {
			"", webPackage(nil, draftOf(1, 1)),
			answers{Next: 1, Open: "Draft packagevariant-1", Owner: webOwner, Downstreams: []Downstream{{workspace(1), lifecycle.Draft}}},
		},
		"another's Draft and Published of mine": {
			"the open one counts for the owner, status names what is owned", webPackage(tags(tag(1, 1)), draftOf(2, 2, by("x/y/z")), publishedOf(1, 1)),
			answers{Next: 2, Open: "Draft packagevariant-2", Newest: "v1", Owner: "x/y/z", Published: true, TaggedV1: true, Downstreams: []Downstream{{workspace(1), lifecycle.Published}}},
		},
		"nobody's Draft": {
			"it says nothing of the owner", webPackage(tags(tag(1, 1)), draftOf(2, 2, by("")), publishedOf(1, 1)),
			answers{Next: 2, Open: "Draft packagevariant-2", Newest: "v1", Owner: webOwner, Published: true, TaggedV1: true, Downstreams: []Downstream{{workspace(1), lifecycle.Published}}},
		},
		"a Draft and a Proposed": {
			"both are open", webPackage(tags(tag(1, 1)), draftOf(2, 2), proposedOf(3, 3), publishedOf(1, 1)),
			answers{
				Next: 2, Open: "Proposed packagevariant-3", Newest: "v1", Owner: webOwner, Published: true, TaggedV1: true,
				Downstreams: []Downstream{{workspace(2), lifecycle.Draft}, {workspace(3), lifecycle.Proposed}},
			},
		},
		"the tenth Draft beside the ninth": {
			"the newest by its number, not by its name", webPackage(nil, draftOf(9, 1, by("x/y/z")), draftOf(10, 2)),
			answers{Next: 1, Open: "Draft packagevariant-10", Owner: webOwner, Downstreams: []Downstream{{workspace(10), lifecycle.Draft}}},
		},
		"a person's Draft beside its own": {
			"what Variform named is the newest", webPackage(nil, draftOf(1, 1), draftOf(2, 2, by("x/y/z"), func(r *Revision) { r.Workspace = "zeal" })),
			answers{Next: 1, Open: "Draft packagevariant-1", Owner: webOwner, Downstreams: []Downstream{{workspace(1), lifecycle.Draft}}},
		},
		"a gap in the numbers": {
			"a number is never used again", webPackage(tags(tag(1, 1), tag(9, 2)), publishedOf(9, 2, by("x/y/z"))),
			answers{Next: 10, Newest: "v9", Owner: "x/y/z", Published: true, TaggedV1: true, TaggedV9: true},
		},
		"deleted": {
			"nor after that", knowing(webPackage(nil), nil, deletedTo(4)), answers{Next: 5},
		},
		"deleted by another manager": {
			"whoever did that", knowing(webPackage(nil), []record.Entry{deletedTo(2)}, deletedTo(4)), answers{Next: 5},
		},
		"deleted, and Published since": {
			"the highest counts", knowing(webPackage(tags(tag(9, 2)), publishedOf(9, 2, by("x/y/z"))), nil, deletedTo(4)),
			answers{Next: 10, Newest: "v9", Owner: "x/y/z", Published: true, TaggedV9: true},
		},
		"deletion proposed": {
			"it is not meant to stay", webPackage(tags(tag(1, 1), doomedTag(2, 2)), doomedOf(2, 2)),
			answers{Next: 3, Newest: "v2", Owner: webOwner, Deletions: 1, TaggedV1: true, Downstreams: []Downstream{{workspace(2), lifecycle.DeletionProposed}}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := answers{
				Next: c.p.Next(), Owner: c.p.NewestOwner(), Published: c.p.IsPublished(), Deletions: len(c.p.Deletions()), Downstreams: c.p.Downstreams(mine),
				TaggedV1: c.p.Tagged("v1") != nil, TaggedV9: c.p.Tagged("v9") != nil, TaggedNot: c.p.Tagged("") != nil,
			}
			if r := c.p.Open(); r != nil {
				got.Open = r.Describe()
			}
			if n := c.p.Newest(); n != nil {
				got.Newest = RevisionName(n.Number)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

func TestTree(t *testing.T) {
	p := webPackage(nil)
	p.Trees = []Folder{{Hash{1}, Hash{11}}, {Hash{2}, Hash{}}}
	for name, c := range map[string]struct {
		commit, tree Hash
		known        bool
	}{
		"looked at":          {Hash{1}, Hash{11}, true},
		"has no such folder": {Hash{2}, Hash{}, true},
		"no commit":          {Hash{}, Hash{}, true},
		"not looked at":      {Hash{3}, Hash{}, false},
	} {
		if tree, known := p.Tree(c.commit); tree != c.tree || known != c.known {
			t.Errorf("%s: %s, %t", name, tree, known)
		}
	}
}

// A manager's packages are its own, and no other's whose name begins alike.
func TestSigned(t *testing.T) {
	for owner, want := range map[string]bool{
		"fleet/default/web": true, "fleet/other/web": false, "fleet2/default/web": false,
		"": false, "-": false, "fleet/default": false, "x/fleet/default/web": false,
	} {
		if got := fleet.Signed(owner, "default"); got != want {
			t.Errorf("Signed(%q) = %t", owner, got)
		}
	}
	if s := fleet.Sign("default", "web"); s != webOwner || OwnerName(s) != "web" || OwnerName("-") != "-" {
		t.Errorf("signed %q by %q", s, OwnerName(s))
	}
}

func deletedTo(n int) record.Entry {
	return record.Entry{Path: webPath, Place: record.Gone, Revision: n, Workspace: workspace(n)}
}

// knowing is a package of which this manager's record has entries, and another's one.
func knowing(p *Package, entries []record.Entry, other record.Entry) *Package {
	rec, _, err := record.New("other").With([]record.Edit{record.Put{Entry: other}}, noon)
	if err != nil {
		panic(err)
	}
	if p.Entries = entries; entries == nil {
		p.Entries = []record.Entry{other}
		return p
	}
	p.Others = []*record.Record{rec}
	return p
}

func TestEdited(t *testing.T) {
	made, other := Hash{7}, Hash{8}
	for name, c := range map[string]struct {
		machine *Machine
		entry   record.Entry
		want    [2]bool // with a folder that is another, and Published as the record has it
	}{
		"another's":        {nil, record.Entry{Place: record.Main, Hydrated: made.String(), Tree: other.String()}, [2]bool{}},
		"of an older hand": {&Machine{}, record.Entry{Place: record.Main, Hydrated: Hash{}.String(), Tree: other.String()}, [2]bool{}},
		"no record":        {&Machine{Hydrated: made}, record.Entry{}, [2]bool{true, false}},
		"as it was made":   {&Machine{Hydrated: made}, record.Entry{Place: record.Main, Hydrated: made.String(), Tree: made.String()}, [2]bool{true, false}},
		"edited":           {&Machine{Hydrated: made}, record.Entry{Place: record.Main, Hydrated: made.String(), Tree: other.String()}, [2]bool{true, true}},
		"of another":       {&Machine{Hydrated: made}, record.Entry{Place: record.Main, Hydrated: other.String(), Tree: made.String()}, [2]bool{true, false}},
		"an older one":     {&Machine{Hydrated: made}, record.Entry{Place: record.Past, Hydrated: made.String(), Tree: other.String()}, [2]bool{true, false}},
	} {
		r := publishedOf(1, 1)
		r.Machine = c.machine
		p := webPackage(nil, r)
		p.Entries = []record.Entry{c.entry}
		if got := [2]bool{r.Edited(other), p.PublishedEdited()}; got != c.want || r.Edited(made) && c.machine != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (&Package{}).PublishedEdited() {
		t.Error("nothing is Published")
	}
}
