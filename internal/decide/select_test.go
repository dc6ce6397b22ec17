package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/record"
)

func TestSelect(t *testing.T) {
	const (
		other   = "fleet/elsewhere/db"
		manager = "old/default/web"
	)
	type work struct {
		From  string
		Since int
		Adopt bool
	}
	adopt := wanted(adopting)
	derived := wanted()
	derived.Derived = true
	cases := map[string]struct {
		reason string
		want   *Want // wanted() where it is nil
		p      *Package
		works  []work
		err    string
	}{
		"nothing there":       {"a first Draft", nil, webPackage(nil), []work{{}}, ""},
		"its Draft":           {"goes on", nil, webPackage(nil, draftOf(1, 1)), []work{{From: "Draft packagevariant-1"}}, ""},
		"its Draft after v1":  {"it knows what it started from", nil, webPackage(tags(tag(1, 9)), draftOf(2, 1, since("v1")), publishedOf(1, 9)), []work{{From: "Draft packagevariant-2", Since: 1}}, ""},
		"its Published":       {"a new Draft from it", nil, webPackage(tags(tag(1, 9)), publishedOf(1, 9, since("v1"))), []work{{From: "Published v1"}}, ""},
		"under another name":  {"the variant was renamed: what it makes identifies it", nil, webPackage(nil, draftOf(1, 1, by("fleet/default/old"))), []work{{From: "Draft packagevariant-1"}}, ""},
		"two Drafts":          {"each for itself", nil, webPackage(nil, draftOf(1, 1), draftOf(2, 2)), []work{{From: "Draft packagevariant-1"}, {From: "Draft packagevariant-2"}}, ""},
		"a Draft, a Proposed": {"of different workspaces", nil, webPackage(nil, draftOf(1, 1), proposedOf(2, 2)), []work{{From: "Draft packagevariant-1"}, {From: "Proposed packagevariant-2"}}, ""},
		"deletion proposed":   {"it is wanted", nil, webPackage(tags(doomedTag(1, 9)), doomedOf(1, 9)), []work{{From: "DeletionProposed v1"}}, ""},
		"Draft and Proposed of one workspace": {
			"they hold different commits, and one would be lost", nil, webPackage(nil, draftOf(1, 1), proposedOf(1, 2)), nil,
			`package "web" in Repository c1 has workspace packagevariant-1 both as Draft and as Proposed: delete one of the branches drafts/apps/web/packagevariant-1 and proposed/apps/web/packagevariant-1`,
		},
		"a surplus Draft beside its Proposed": {"it is no revision any more", nil, webPackage(nil, draftOf(1, 1), proposedOf(1, 1)), []work{{From: "Proposed packagevariant-1"}}, ""},
		"another's Draft":                     {"never touched", nil, webPackage(nil, draftOf(1, 1, by(other))), nil, `belongs to the variant fleet/elsewhere/db (Draft packagevariant-1): give this variant another downstream package`},
		"another's Published":                 {"never touched, whatever the policy", adopt, webPackage(tags(tag(1, 9)), publishedOf(1, 9, by(other))), nil, "belongs to the variant fleet/elsewhere/db (Published v1)"},
		"its own beside another's":            {"what is its own goes on", nil, webPackage(nil, draftOf(1, 1, by(other)), draftOf(2, 2)), []work{{From: "Draft packagevariant-2"}}, ""},
		"another manager's":                   {"the fleet may have had that name", nil, webPackage(nil, draftOf(1, 1, by(manager))), nil, "of another manager: if this fleet had that name before, go on under it with --manager old"},
		"no signature":                        {"an owner without a manager", nil, webPackage(nil, draftOf(1, 1, by("-"))), nil, "belongs to the variant - (Draft"},
		"nobody's Draft":                      {"it is let be", nil, webPackage(nil, draftOf(1, 1, by(""))), []work{{}}, ""},
		"nobody's Draft and Published":        {"adoption has to be asked for", nil, webPackage(tags(tag(1, 9)), publishedOf(1, 9, by("")), draftOf(2, 2, by(""))), nil, "exists already"},
		"nobody's, needed":                    {"who wrote no variant cannot set its policy", derived, webPackage(tags(tag(1, 9)), publishedOf(1, 9, by(""))), nil, "have it published or deleted, or take it over with a PackageVariant"},
		"nobody's Draft, adopted":             {"", adopt, webPackage(nil, draftOf(1, 1, by(""))), []work{{From: "Draft packagevariant-1", Adopt: true}}, ""},
		"nobody's Draft beside its own":       {"only the stranger is adopted", adopt, webPackage(nil, draftOf(1, 1, by("")), draftOf(2, 2)), []work{{From: "Draft packagevariant-1", Adopt: true}, {From: "Draft packagevariant-2"}}, ""},
		"nobody's Published":                  {"adoption has to be asked for", nil, webPackage(tags(tag(1, 9)), publishedOf(1, 9, by(""))), nil, "exists already (Published v1)"},
		"nobody's Published beside its own":   {"what others published is theirs", nil, webPackage(tags(tag(1, 9)), publishedOf(1, 9, by("")), draftOf(1, 1)), nil, "(Published v1) and no variant made it: set spec.adoptionPolicy: adoptExisting to take it over, or choose another downstream package; to remove its Draft run: variform discard c1/web --reason TEXT"},
		"nobody's beside an edited one":       {"the edit is lost with the Draft, so that it is named", nil, webPackage(tags(tag(1, 9)), publishedOf(1, 9, by("")), draftOf(1, 10, edited)), nil, "; edited by hand: Draft packagevariant-1 (0a00000): keep what you need of that before you remove it with: variform discard c1/web --reason TEXT"},
		"another's Published beside its own":  {"whatever the policy", adopt, webPackage(tags(tag(1, 9)), publishedOf(1, 9, by(other)), draftOf(1, 1)), nil, "variform discard c1/web"},
		"nobody's beside its own, adopted":    {"the Draft is brought up to it", adopt, webPackage(tags(tag(1, 9)), publishedOf(1, 9, by("")), draftOf(1, 1)), []work{{From: "Draft packagevariant-1"}}, ""},
		"nobody's Published, adopted":         {"", adopt, webPackage(tags(tag(1, 9)), publishedOf(1, 9, by(""))), []work{{From: "Published v1", Adopt: true}}, ""},
		"nobody's, and another's":             {"one that belongs to somebody forbids it", adopt, webPackage(tags(tag(1, 9)), publishedOf(1, 9, by("")), draftOf(2, 2, by(other))), nil, "belongs to the variant fleet/elsewhere/db (Draft"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := c.want
			if w == nil {
				w = wanted()
			}
			works, err := Select(fleet, w, repository(c.p), c.p)
			if bad := saying(err, c.err); bad != "" {
				t.Fatal(bad)
			}
			if err != nil && !IsStalled(err) {
				t.Error("only a person can end it, and it is not stalled")
			}
			var got []work
			for _, n := range works {
				g := work{Adopt: n.Adopt}
				if n.From != nil {
					g.From = n.From.Describe()
				}
				if n.Since != nil {
					g.Since = n.Since.Number
				}
				got = append(got, g)
			}
			if d := cmp.Diff(c.works, got); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

// A folder on the registered branch that no revision tells of is somebody's.
func TestVacant(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		trees  []Folder
		tags   []Published
		revs   []*Revision
		err    string
	}{
		"nothing on the branch":   {"a first Draft", []Folder{{Hash{100}, Hash{}}}, nil, nil, ""},
		"something on the branch": {"a first Draft would replace it", []Folder{{Hash{100}, Hash{50}}}, nil, nil, `package "web" in Repository c1 is on branch main already, and no revision of it is Published: set spec.adoptionPolicy: adoptExisting to take it over as apps/web/v1`},
		"its own Draft":           {"that would replace it", []Folder{{Hash{100}, Hash{50}}}, nil, []*Revision{draftOf(1, 1)}, "take it over as apps/web/v1, or choose another downstream package; to remove its Draft run: variform discard c1/web --reason TEXT"},
		"its own Published":       {"revisions tell of it", []Folder{{Hash{100}, Hash{50}}}, tags(tag(1, 9)), []*Revision{publishedOf(1, 9)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := webPackage(c.tags, c.revs...)
			p.Trees = c.trees
			_, err := Select(fleet, wanted(func(pv *v1alpha1.PackageVariant) { adopting(pv) }), repository(p), p)
			if bad := saying(err, c.err); bad != "" {
				t.Errorf("%s: %s", c.reason, bad)
			}
		})
	}
}

// A folder that others made on the registered branch becomes a revision where a
// variant is to adopt it, and nobody else says that it is theirs.
func TestLandedAdopted(t *testing.T) {
	adopt := wanted(func(pv *v1alpha1.PackageVariant) { adopting(pv) })
	for name, c := range map[string]struct {
		reason string
		want   *Want
		owner  string
		revs   []*Revision
		adopts bool
		err    string // of Select, where it is not adopted
	}{
		"asked for":                 {"", adopt, "", nil, true, ""},
		"not asked for":             {"nothing is taken over unasked", wanted(), "", nil, false, "set spec.adoptionPolicy: adoptExisting"},
		"a copy of another":         {"the annotation counts where its variant is", adopt, "fleet/default/other", nil, true, ""},
		"another manager's":         {"it is theirs", adopt, "team/default/web", nil, false, "belongs to the variant team/default/web"},
		"beside its Draft":          {"that is brought up to it", adopt, "", []*Revision{draftOf(1, 10)}, true, ""},
		"beside it, not asked for":  {"the Draft would replace it", wanted(), "", []*Revision{draftOf(1, 10)}, false, "or choose another downstream package; to remove its Draft run: variform discard c1/web --reason TEXT"},
		"beside a stranger's":       {"no Draft of others stands for it", adopt, "", []*Revision{draftOf(1, 10, by(""))}, true, ""},
		"beside one, not asked for": {"it would be replaced", wanted(), "", []*Revision{draftOf(1, 10, by(""))}, false, "set spec.adoptionPolicy: adoptExisting"},
	} {
		t.Run(name, func(t *testing.T) {
			p := webPackage(nil, c.revs...)
			p.Trees = []Folder{{Hash{100}, Hash{50}}, {Hash{10}, Hash{51}}}
			p.Branch = &Branch{Tree: Hash{50}, Came: Hash{77}, Owner: c.owner}
			ruling, next, ok := Landed(fleet, c.want, repository(p), p)
			if ok != c.adopts {
				t.Fatalf("%t: %s", ok, c.reason)
			}
			if !ok {
				_, err := Select(fleet, c.want, repository(p), p)
				if bad := saying(err, c.err); bad != "" {
					t.Error(bad)
				}
				return
			}
			if want := (Tag{Ref: "refs/tags/apps/web/v1", Commit: Hash{77}, Adopts: true}); ruling.Decision != want {
				t.Errorf("%+v", ruling)
			}
			works, err := Select(fleet, c.want, repository(next), next)
			if err != nil || len(works) != 1 || works[0].From != next.Latest && c.revs == nil || c.owner == "" && works[0].Adopt == p.drafts(fleet, c.want) {
				t.Errorf("%+v, %v", works, err)
			}
		})
	}
}

// What a person wrote into the Kptfile on the registered branch says whose the
// package is: newer than what was Published.
func TestGiven(t *testing.T) {
	other := Hash{51}
	for name, c := range map[string]struct {
		reason string
		branch *Branch
		owner  string // of what is Published
		given  bool
		err    string // of Select
	}{
		"nothing moved":              {"", nil, "fleet/default/web", false, ""},
		"a hotfix":                   {"its annotation stands", &Branch{Tree: other, Owner: "fleet/default/web"}, "fleet/default/web", false, ""},
		"of another name":            {"what it makes identifies a variant", &Branch{Tree: other, Owner: "fleet/default/old"}, "fleet/default/web", false, ""},
		"of another manager":         {"", &Branch{Tree: other, Owner: "team/default/web", By: "Ann (1234567)"}, "fleet/default/web", true, `package "web" in Repository c1 belongs to the variant team/default/web: its Kptfile on the registered branch says so by Ann (1234567): take that annotation back there`},
		"of another namespace":       {"", &Branch{Tree: other, Owner: "fleet/elsewhere/web"}, "fleet/default/web", true, "belongs to the variant fleet/elsewhere/web"},
		"of nobody":                  {"who wants it goes on, nobody removes it", &Branch{Tree: other}, "fleet/default/web", true, ""},
		"deleted":                    {"there is no Kptfile that says anything", &Branch{}, "fleet/default/web", false, ""},
		"set back":                   {"to a revision from before", &Branch{Tree: other, Reverted: publishedOf(1, 8)}, "fleet/default/web", false, ""},
		"another manager's all over": {"it was never ours to give", &Branch{Tree: other, Owner: "team/default/web"}, "team/default/web", false, "(Published v1), of another manager"},
	} {
		t.Run(name, func(t *testing.T) {
			p := webPackage(tags(tag(1, 9)), publishedOf(1, 9, by(c.owner)))
			p.Branch = c.branch
			if given := p.Given(fleet, "default"); given != c.given {
				t.Errorf("given: %t: %s", given, c.reason)
			}
			_, err := Select(fleet, wanted(), repository(p), p)
			if bad := saying(err, c.err); bad != "" {
				t.Errorf("%s: %s", c.reason, bad)
			}
		})
	}
	if p := webPackage(nil); p.Given(fleet, "default") || p.Received(fleet, "default") {
		t.Error("what has no revision was given away")
	}
	for owner, taken := range map[string]bool{"fleet/default/web": true, "fleet/default/other": true, "fleet/elsewhere/web": false, "team/default/web": false, "": false} {
		p := webPackage(tags(tag(1, 9)), publishedOf(1, 9, by("team/default/web")))
		p.Branch = &Branch{Tree: other, Owner: owner}
		works, err := Select(fleet, wanted(), repository(p), p)
		if p.Received(fleet, "default") != taken || (err == nil) != taken || taken && (len(works) != 1 || !works[0].Adopt || works[0].From != p.Latest) {
			t.Errorf("given to %q: %v, %v", owner, works, err)
		}
	}
}

// TestUnadopted names the open revisions beside which a variant makes its own.
func TestUnadopted(t *testing.T) {
	nobodys := func(r *Revision) { r.Owner, r.By = "", "Pat" }
	adopts := func(pv *v1alpha1.PackageVariant) { pv.Spec.AdoptionPolicy = v1alpha1.AdoptExisting }
	again := wanted()
	again.Retry = true
	for name, c := range map[string]struct {
		want      *Want
		revisions []*Revision
		says      string
	}{
		"nobody's Draft":      {wanted(), []*Revision{draftOf(1, 10, nobodys)}, "Draft packagevariant-1 by Pat"},
		"beside its own":      {wanted(), []*Revision{draftOf(1, 10), draftOf(2, 11, nobodys)}, "Draft packagevariant-2 by Pat"},
		"it adopts them":      {wanted(adopts), []*Revision{draftOf(1, 10, nobodys)}, ""},
		"its own":             {wanted(), []*Revision{draftOf(1, 10)}, ""},
		"nobody's, published": {wanted(), []*Revision{publishedOf(1, 10, nobodys)}, ""},
		"replaced":            {wanted(), []*Revision{draftOf(7, 10, nobodys, unmade)}, ""}, // it waits for that
		"replaced, one more":  {again, []*Revision{draftOf(7, 10, nobodys, unmade)}, "Draft packagevariant-7, whose history was replaced by Pat"},
		"replaced, beside":    {wanted(), []*Revision{draftOf(7, 10, nobodys, unmade), draftOf(8, 11)}, "Draft packagevariant-7, whose history was replaced by Pat"},
	} {
		p := webPackage(nil, c.revisions...)
		p.Entries = []record.Entry{{Place: record.Open, Workspace: workspace(7), Commit: Hash{9}.String(), Owner: webOwner}}
		if got := Unadopted(c.want, p); (got != "") != (c.says != "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}
