package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/resolver"
)

func TestVerbApplies(t *testing.T) {
	phases := []lifecycle.Phase{lifecycle.Draft, lifecycle.Proposed, lifecycle.Published, lifecycle.DeletionProposed}
	for verb, want := range map[Verb][]bool{
		Propose: {true, false, false, false}, Approve: {true, true, false, true}, Reject: {false, true, false, true},
		"": {true, true, true, true}, "publish": {false, false, false, false},
	} {
		for n, p := range phases {
			if got := verb.Applies(p); got != want[n] {
				t.Errorf("%q of %s: %t", verb, p, got)
			}
		}
	}
}

// at is a revision of a package of Repository c1.
func at(pkg string, r *Revision) (*Package, *Revision) {
	own := *r
	place := "apps/" + pkg
	switch own.Phase {
	case lifecycle.Draft:
		own.Ref.Name = lifecycle.DraftRef(place, own.Workspace)
	case lifecycle.Proposed:
		own.Ref.Name = lifecycle.ProposedRef(place, own.Workspace)
	default:
		own.Ref.Name = lifecycle.PublishedRef(place, own.Number)
	}
	return NewPackage(place, nil, &own), &own
}

// fleetOf is Repository c1 with a revision of each package, and its candidates.
func fleetOf(revisions map[string]*Revision) (*Repository, map[string]*Candidate, []*Candidate) {
	r := repository()
	for pkg, rev := range revisions {
		p, _ := at(pkg, rev)
		r.Packages[p.Path] = p
	}
	list, by := Candidates(fleet, []*Repository{r}, ""), map[string]*Candidate{}
	for _, c := range list {
		by[c.Identity.Package] = c
	}
	return r, by, list
}

func names(list []*Candidate) []string {
	var out []string
	for _, c := range list {
		out = append(out, c.Identity.String()+" "+c.Head.Describe())
	}
	return out
}

func TestCandidates(t *testing.T) {
	web := webPackage(tags(tag(1, 9)), draftOf(2, 1), proposedOf(3, 2), publishedOf(1, 9))
	db, _ := at("db", draftOf(1, 3))
	other, _ := at("theirs", draftOf(1, 3, by("other/default/web")))
	inner := repository(webPackage(nil, draftOf(2, 1)))
	inner.Name, inner.Dir = "inner", "apps/web"
	outer := repository(webPackage(nil, draftOf(2, 1)))
	outer.Name, outer.Dir = "outer", ""
	outerWants := repository(webPackage(nil, draftOf(2, 1)))
	outerWants.Name, outerWants.Dir, outerWants.Wanted[webPath] = "outer", "", true
	unread := repository(db)
	unread.Git = ""
	elsewhere := repository(webPackage(nil, draftOf(2, 1)))
	elsewhere.Name, elsewhere.Git = "c2", "https://git/c2"
	cases := map[string]struct {
		reason string
		repos  []*Repository
		verb   Verb
		want   []string
	}{
		"all":      {"sorted by package, then in the order of refs", []*Repository{repository(web, db, other)}, "", []string{"c1/db Draft packagevariant-1", "c1/web Draft packagevariant-2", "c1/web Proposed packagevariant-3", "c1/web Published v1"}},
		"approve":  {"what is open", []*Repository{repository(web)}, Approve, []string{"c1/web Draft packagevariant-2", "c1/web Proposed packagevariant-3"}},
		"propose":  {"", []*Repository{repository(web)}, Propose, []string{"c1/web Draft packagevariant-2"}},
		"reject":   {"", []*Repository{repository(web)}, Reject, []string{"c1/web Proposed packagevariant-3"}},
		"another":  {"another manager's", []*Repository{repository(other)}, "", nil},
		"unread":   {"what could not be read has none", []*Repository{unread}, "", nil},
		"shared":   {"as the innermost's", []*Repository{outer, inner}, "", []string{"inner/ Draft packagevariant-2"}},
		"reversed": {"whatever the order", []*Repository{inner, outer}, "", []string{"inner/ Draft packagevariant-2"}},
		"wanted":   {"as the one's that wants it", []*Repository{inner, outerWants}, "", []string{"outer/apps/web Draft packagevariant-2"}},
		"apart":    {"two Git repositories", []*Repository{elsewhere, repository(webPackage(nil, draftOf(2, 1)))}, "", []string{"c1/web Draft packagevariant-2", "c2/web Draft packagevariant-2"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Candidates(fleet, c.repos, c.verb)
			if d := cmp.Diff(c.want, names(got)); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
	c := Candidates(fleet, []*Repository{repository(web)}, "")[2]
	if c.Workspace != workspace(1) || c.From != lifecycle.Published || c.Revision != 1 || c.Head != web.Latest || c.Package != web || c.ID() != (RevisionID{Identity{"default", "c1", "web"}, workspace(1)}) {
		t.Errorf("%+v", c)
	}
}

func TestCalled(t *testing.T) {
	r, by, _ := fleetOf(map[string]*Revision{"clusters/a/web": draftOf(1, 1, by("fleet/default/web-a"))})
	r.Annotations = map[string]string{TargetsAnnotation: "clusters/*"}
	c := by["clusters/a/web"]
	c.Set = "webs"
	for name, want := range map[string]bool{
		"web-a": true, "c1/clusters/a": true, "c1/clusters/a/web": true, "webs": true, "c1": true, "clusters/a/web": true, "c1.clusters.a.web.packagevariant-1": true,
		"": false, "web": false, "c2": false, "c1/clusters": false,
	} {
		if got := slices.Contains(c.Names(), name); got != want {
			t.Errorf("Called(%q) = %t", name, got)
		}
	}
	c.Set = ""
	if slices.Contains(c.Names(), "") {
		t.Error("no name means what no set makes")
	}
}

// Many names of many candidates cost what both are, not their product.
func TestMeantOfMany(t *testing.T) {
	const packages = 200
	revisions, names := map[string]*Revision{}, []string{}
	for i := range packages {
		name := fmt.Sprintf("p%03d", i)
		revisions[name], names = draftOf(1, 1), append(names, "c1/"+name)
	}
	r, _, _ := fleetOf(revisions)
	all := Candidates(fleet, []*Repository{r}, Approve)
	var chosen []*Candidate
	var missing []string
	allocs := testing.AllocsPerRun(5, func() {
		chosen, missing = Meant(Selection{Names: append(names, "c9")}, all, (*Candidate).Selectable)
	})
	if len(chosen) != packages || len(missing) != 1 {
		t.Errorf("%d are meant, %q mean nothing", len(chosen), missing)
	}
	if most := 30.0 * packages; allocs > most {
		t.Errorf("%.0f allocations for %d names of as many packages, want %.0f at most", allocs, packages, most)
	}
}

func TestOneEach(t *testing.T) {
	list := Candidates(fleet, []*Repository{repository(webPackage(nil, draftOf(1, 1), proposedOf(2, 2)))}, "")
	_, one, _ := fleetOf(map[string]*Revision{"db": draftOf(1, 3)})
	OneEach(append(list, one["db"]))
	const text = "c1/web has several revisions to decide: c1.web.packagevariant-1 (Draft), c1.web.packagevariant-2 (Proposed): approve one by that name, or reject or delete the others"
	for _, c := range list {
		if c.Err == nil || c.Err.Error() != text {
			t.Errorf("%v", c.Err)
		}
	}
	if one["db"].Err != nil {
		t.Error(one["db"].Err)
	}
}

func TestRefuseWanted(t *testing.T) {
	const (
		again  = "it is proposed for deletion, and wanted again: run apply, which takes the proposal back, or remove what wants it"
		unread = "not all inputs could be read, so that it cannot be told that nothing wants it: correct them, and approve again"
	)
	doomed, draft := doomedOf(1, 9), draftOf(1, 1)
	cases := map[string]struct {
		reason string
		r      *Revision
		wanted bool
		lock   *Revision // of the target
		names  []string  // in the lock
		unread bool
		err    error
		want   string
	}{
		"nobody wants it":          {"", doomed, false, nil, nil, false, nil, ""},
		"a variant wants it":       {"no approval deletes what is wanted", doomed, true, nil, nil, false, nil, again},
		"a lock names it":          {"another package needs it", doomed, false, publishedOf(1, 5), []string{"web"}, false, nil, again},
		"an open lock names it":    {"another package needs it", doomed, false, draftOf(1, 5), []string{"web"}, false, nil, again},
		"a lock names others":      {"", doomed, false, publishedOf(1, 5), []string{"db"}, false, nil, ""},
		"a lock that goes as well": {"it is not to stay", doomed, false, doomedOf(1, 5), []string{"web"}, false, nil, ""},
		"inputs unread":            {"one may want it", doomed, false, nil, nil, true, nil, unread},
		"wanted, inputs unread":    {"what is known is said", doomed, true, nil, nil, true, nil, again},
		"a Draft":                  {"it is not deleted", draft, true, nil, nil, true, nil, ""},
		"refused before":           {"the first reason stays", doomed, true, nil, nil, false, errors.New("before"), "before"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			revisions := map[string]*Revision{"web": c.r}
			if c.lock != nil {
				revisions[depend.LockPackage] = c.lock
			}
			r, by, _ := fleetOf(revisions)
			r.Wanted[webPath] = c.wanted
			web := by["web"]
			web.Err = c.err
			graph := LockGraph{}
			for _, n := range c.names {
				graph[n] = Locked{}
			}
			RefuseWanted([]*Candidate{web}, Locks{Unit{Repo: r}: graph}, c.unread)
			if bad := saying(web.Err, c.want); bad != "" {
				t.Errorf("%s: %s", c.reason, bad)
			}
		})
	}
}

func TestRefuseAutomatic(t *testing.T) {
	for name, c := range map[string]struct {
		reason    string
		r         *Revision
		automatic bool
		refused   bool
	}{
		"Automatic":         {"the next run would publish the Draft", proposedOf(1, 1), true, true},
		"Manual":            {"", proposedOf(1, 1), false, false},
		"edited":            {"what holds edits waits for a person", proposedOf(1, 1, edited), true, false},
		"deletion proposed": {"no Draft comes of it", doomedOf(1, 1), true, false},
	} {
		_, by, list := fleetOf(map[string]*Revision{"web": c.r})
		RefuseAutomatic(list, Policies{{"default", "c1", "web"}: {Automatic: c.automatic}})
		if got := by["web"].Err != nil; got != c.refused {
			t.Errorf("%s: %v (%s)", name, by["web"].Err, c.reason)
		}
	}
}

func TestUnits(t *testing.T) {
	r, by, list := fleetOf(map[string]*Revision{"clusters/a/web": draftOf(1, 1), "clusters/a/db": draftOf(1, 2), "clusters/b/web": draftOf(1, 3), "clusters/b/variform-lock": draftOf(1, 4)})
	r.Annotations = map[string]string{TargetsAnnotation: "clusters/*"}
	want := []Unit{{r, "clusters/a"}, {r, "clusters/b"}}
	got := Units(list)
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("units %+v", got)
	}
	if p := want[0].LockPath(); p != "apps/clusters/a/variform-lock" {
		t.Errorf("lock %s", p)
	}
	if want[0].locked() || !want[1].locked() {
		t.Error("a target's lock is another's")
	}
	if want[0].target() != "c1/clusters/a" || by["clusters/a/web"].ref() != "web" {
		t.Errorf("%s, %s", want[0].target(), by["clusters/a/web"].ref())
	}
	if by["clusters/a/web"].IsLock() || !by["clusters/b/variform-lock"].IsLock() {
		t.Error("a lock is known by its name")
	}
}

func TestNewLockGraph(t *testing.T) {
	lock := &resolver.Lock{Packages: []resolver.LockedPackage{
		{Name: "web", Namespace: "team", Dependencies: []variformv1alpha1.LockedEdge{{Name: "db"}, {Name: "dns"}}}, // not the db beside it
		{Name: "db", Namespace: "team", Version: "1.0.0", Dependencies: []variformv1alpha1.LockedEdge{{Name: "dns"}}},
		{Name: "db", Dependencies: []variformv1alpha1.LockedEdge{{Name: "web", Namespace: "team"}}},
		{Name: "dns", Dependencies: []variformv1alpha1.LockedEdge{{Name: "db", Namespace: "team"}}},
	}}
	want := LockGraph{"team/web": {Needs: []string{"db", "dns"}}, "team/db": {Version: "1.0.0", Needs: []string{"dns"}}, "db": {Needs: []string{"team/web"}}, "dns": {Needs: []string{"team/db"}}}
	g := NewLockGraph(lock)
	if d := cmp.Diff(want, g); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if d := cmp.Diff(map[string]bool{"db": true, "team/db": true, "dns": true, "team/web": true}, g.below("team/web")); d != "" {
		t.Errorf("a circle: -want +got:\n%s", d)
	}
	if !g.has("db") || g.has("web") {
		t.Error("what the lock has")
	}
}

// What web needs: db, which needs dns. cache is beside them.
func needs() (*Repository, map[string]*Candidate, []*Candidate, Locks) {
	r, by, list := fleetOf(map[string]*Revision{
		"web": draftOf(1, 1), "db": draftOf(1, 2), "dns": proposedOf(1, 3), "cache": draftOf(1, 4), "old": publishedOf(1, 6), depend.LockPackage: draftOf(1, 5),
	})
	return r, by, list, Locks{Unit{Repo: r}: LockGraph{"web": {Version: "1.0.0", Needs: []string{"db"}}, "db": {Version: "1.0.0", Needs: []string{"dns", "old"}}, "dns": {}, "cache": {}}}
}

func pick(by map[string]*Candidate, pkgs ...string) []*Candidate {
	var out []*Candidate
	for _, p := range pkgs {
		out = append(out, by[p])
	}
	return out
}

func TestWithNeeds(t *testing.T) {
	cases := map[string]struct {
		reason  string
		chosen  []string
		noLocks bool
		foreign bool // another Repository has packages of the same names
		want    []string
	}{
		"what it needs":         {"of all depths; what is Published needs nothing", []string{"web"}, false, false, []string{"db", "dns", "web"}},
		"one that needs little": {"", []string{"db"}, false, false, []string{"db", "dns"}},
		"all":                   {"with the lock, as nothing else is left open", []string{"web", "cache"}, false, false, []string{"cache", "db", "dns", depend.LockPackage, "web"}},
		"all but one":           {"the lock says what is there", []string{"db", "cache"}, false, false, []string{"cache", "db", "dns"}},
		"without a lock":        {"nothing is known", []string{"web", "cache", "db", "dns"}, true, false, []string{"cache", "db", "dns", "web"}},
		"another target":        {"each by its own lock", []string{"web"}, false, true, []string{"db", "dns", "web"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, by, all, locks := needs()
			if c.noLocks {
				locks = nil
			}
			if c.foreign {
				other, _, more := fleetOf(map[string]*Revision{"db": draftOf(1, 2)})
				other.Name, other.Git = "c2", "https://git/c2"
				all = append(all, more...)
			}
			var got []string
			for _, n := range WithNeeds(pick(by, c.chosen...), all, locks) {
				got = append(got, n.Identity.Package)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

// on says that a revision was made of what others had committed to the branch.
func on(tree byte) change {
	return func(r *Revision) {
		r.Since, r.Inputs.Published, r.Inputs.Main = "v1", "v1", (&Branch{Tree: Hash{tree}}).Main()
	}
}

// A workspace is one revision: what stands open in one that is Published goes on
// in another.
func TestSpent(t *testing.T) {
	v1 := publishedOf(1, 9)
	v1.Workspace = "packagevariant-1"
	for name, c := range map[string]struct {
		draft *Revision
		want  bool
	}{
		"the same workspace": {draftOf(1, 10, since("v1")), true},
		"another":            {draftOf(2, 10, since("v1")), false},
		"none":               {nil, false},
		"the revision":       {v1, false},
	} {
		p := &Package{Path: webPath, Latest: v1, Tags: tags(tag(1, 9)), Trees: []Folder{{Hash{100}, Hash{50}}, {Hash{9}, Hash{50}}}}
		if got := p.Spent(c.draft); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		q := Question{Work: Work{From: c.draft, Since: p.Newest()}, Package: p}
		if c.draft == nil || c.draft.Number > 0 {
			continue
		}
		if got := q.Behind(); got != c.want {
			t.Errorf("%s: behind %t", name, got)
		}
		err := Unmoved(&Candidate{Head: c.draft, Package: p, Workspace: c.draft.Workspace, Repo: &Repository{Branch: "main"}}, Hash{100}, Hash{60})
		if refused := err != nil && strings.Contains(err.Error(), "is v1 already"); refused != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnmoved(t *testing.T) {
	head, v1, draft := Hash{100}, Hash{9}, Hash{60}
	since1 := draftOf(2, 10, since("v1"))
	cases := map[string]struct {
		reason string
		from   *Revision
		tags   []Published
		trees  []Folder
		branch Hash
		want   string
	}{
		"a first one":             {"the branch has nothing there", draftOf(1, 10), nil, []Folder{{head, Hash{}}}, head, ""},
		"no branch yet":           {"nothing can be taken back", draftOf(1, 10), nil, nil, Hash{}, ""},
		"something is there":      {"another put it there", draftOf(1, 10), nil, []Folder{{head, Hash{50}}}, head, "branch main has apps/web already, with another content than this first Draft, which would replace it: remove it there, or have it adopted (spec.adoptionPolicy: adoptExisting) by apply, and approve again"},
		"the Draft is there":      {"it was merged by hand", draftOf(1, 10), nil, []Folder{{head, draft}}, head, ""},
		"as v1 was":               {"what it started from", since1, tags(tag(1, 9)), []Folder{{head, Hash{50}}, {v1, Hash{50}}}, head, ""},
		"v1 was changed":          {"on the branch, by another", since1, tags(tag(1, 9)), []Folder{{head, Hash{51}}, {v1, Hash{50}}}, head, "branch main holds changes in apps/web"},
		"v1 was deleted":          {"on the branch, by another", since1, tags(tag(1, 9)), []Folder{{head, Hash{}}, {v1, Hash{50}}}, head, "branch main holds changes in apps/web"},
		"the Draft, after v1":     {"it was merged by hand", since1, tags(tag(1, 9)), []Folder{{head, draft}, {v1, Hash{50}}}, head, ""},
		"v2 came":                 {"the Draft would take it back", since1, tags(tag(1, 9), tag(2, 8)), []Folder{{head, Hash{50}}, {v1, Hash{50}}}, head, "v2 was published since this Draft began: run apply to bring it in, review, and approve again"},
		"v1 came":                 {"the Draft began before", draftOf(1, 10), tags(tag(1, 9)), []Folder{{head, Hash{50}}, {v1, Hash{50}}}, head, "v1 was published since this Draft began"},
		"v2 came, no branch":      {"", since1, tags(tag(1, 9), tag(2, 8)), nil, Hash{}, "v2 was published since this Draft began"},
		"made of what is there":   {"others' commits are in it", draftOf(1, 10, on(50)), tags(tag(1, 9)), []Folder{{head, Hash{50}}}, head, ""},
		"moved since":             {"it was made of other commits", draftOf(1, 10, on(50)), tags(tag(1, 9)), []Folder{{head, Hash{51}}}, head, "branch main moved in apps/web since this Draft was made: run apply to bring that in, review, and approve again"},
		"the same came":           {"the Draft was merged", draftOf(1, 10, on(50)), tags(tag(1, 9)), []Folder{{head, draft}}, head, ""},
		"made again":              {"a person wants what another deleted", draftOf(1, 10, recorded(Inputs{Main: deleted, Published: "v1"}), since("v1")), tags(tag(1, 9)), []Folder{{head, Hash{}}, {Hash{9}, Hash{50}}}, head, ""},
		"deleted since":           {"nobody asked for it again", since1, tags(tag(1, 9)), []Folder{{head, Hash{}}, {Hash{9}, Hash{50}}}, head, "branch main holds changes"},
		"the branch was not read": {"nothing is published on a guess", draftOf(1, 10), nil, nil, head, "what branch main holds in apps/web was not read"},
		"v1 was not read":         {"nothing is published on a guess", since1, tags(tag(1, 9)), []Folder{{head, Hash{50}}}, head, "what branch main holds in apps/web was not read"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := webPackage(c.tags, c.from)
			p.Trees = c.trees
			err := Unmoved(&Candidate{Head: c.from, Package: p, Repo: repository(p)}, c.branch, draft)
			if bad := saying(err, c.want); bad != "" {
				t.Errorf("%s: %s", c.reason, bad)
			}
			if err != nil && IsBehind(err) != strings.Contains(err.Error(), ": run apply") {
				t.Errorf("that a run is lacking: %t, of %v", IsBehind(err), err)
			}
		})
	}
}

// What was drafted for others goes where its target has no use for it, and waits
// where that cannot be told.
func TestUnneeded(t *testing.T) {
	repo := repository(webPackage(nil, draftOf(1, 10)))
	c := Candidates(fleet, []*Repository{repo}, Approve)[0]
	target := func(r *Repository, dir string, err error) *Target {
		t := NewTarget(r, dir)
		t.Err = err
		return t
	}
	other, stands := repository(), target(repo, "", nil)
	stands.Answer = &depend.Answer{Failed: map[string]error{"shop": errors.New("no such tag")}, Stands: []string{"web"}}
	for name, tt := range map[string]struct {
		targets []*Target
		err     string
	}{
		"it stands":      {[]*Target{stands}, "cannot be told whether it is still needed: no such tag"},
		"no answer":      {[]*Target{target(repo, "", errors.New("no version fits"))}, "cannot be told whether it is still needed: no version fits"},
		"no use":         {[]*Target{target(repo, "", nil)}, "nothing needs it any more: run apply --prune"},
		"other targets":  {[]*Target{target(other, "", nil), target(repo, "team", nil)}, ""},
		"none was asked": {nil, ""},
	} {
		if s := saying(c.Unneeded(tt.targets), tt.err); s != "" {
			t.Errorf("%s: %s", name, s)
		}
	}
}
