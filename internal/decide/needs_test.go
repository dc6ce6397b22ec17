package decide

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/resolver"
)

// Nothing is approved without what it needs, and a lock with all that it names.
func TestRefuse(t *testing.T) {
	const lock = depend.LockPackage
	whole := []string{lock, "web", "db", "dns", "cache"}
	held := func(by map[string]*Candidate) {
		by["dns"].Package.Entries = []record.Entry{{Place: record.Variant, Owner: "fleet/default/dns", Hold: &record.Word{By: "Ann", Reason: "no"}}}
	}
	cases := map[string]struct {
		reason  string
		chosen  []string
		refused string // of chosen, before
		given   func(by map[string]*Candidate)
		want    map[string]string
	}{
		"without what it needs": {"the nearest is named", []string{"web"}, "", nil, map[string]string{"web": "it needs c1/db, which is open (Draft): approve that too, or the target c1 as a whole, or approve this alone with --dependencies=false"}},
		"with a part of it":     {"dns is open", []string{"web", "db"}, "", nil, map[string]string{"web": "it needs c1/dns, which is open (Proposed)", "db": "it needs c1/dns"}},
		"with all of it":        {"cache is not needed", []string{"web", "db", "dns"}, "", nil, map[string]string{}},
		"needs nothing":         {"", []string{"cache"}, "", nil, map[string]string{}},
		"refused itself":        {"the first reason stays", []string{"web"}, "web", nil, map[string]string{"web": "before"}},
		"what is not open":      {"a Published one is not approved", []string{"old"}, "", nil, map[string]string{}},
		"the lock alone":        {"it names what is open", []string{lock}, "", nil, map[string]string{lock: "it is published with the packages that it names, and c1/cache is open (Draft): approve that too"}},
		"the whole target":      {"", whole, "", nil, map[string]string{}},
		"refused at the end":    {"a refusal travels, with its cause", whole, "dns", nil, map[string]string{"dns": "before", "db": "it needs c1/dns, which was refused", "web": "it needs c1/dns, which was refused", lock: "and c1/dns was refused"}},
		"refused in between":    {"what is below goes", whole, "db", nil, map[string]string{"db": "before", "web": "it needs c1/db, which was refused", lock: "and c1/db was refused"}},
		"refused beside":        {"only the lock names it", whole, "cache", nil, map[string]string{"cache": "before", lock: "and c1/cache was refused"}},
		"a deletion refused":    {"the package stays", whole, "cache", func(by map[string]*Candidate) { by["cache"].From = lifecycle.DeletionProposed }, map[string]string{"cache": "before"}},
		"a lock that goes":      {"it names nothing any more", whole, "cache", func(by map[string]*Candidate) { by[lock].From = lifecycle.DeletionProposed }, map[string]string{"cache": "before"}},
		"held":                  {"it does not come", []string{"web", "db", lock}, "", held, map[string]string{"web": "it needs c1/dns, which is held by Ann: no: take that off", "db": "it needs c1/dns, which is held", lock: "and c1/cache is open"}},
		"discarded": {"it does not come", []string{"web", "db"}, "", func(by map[string]*Candidate) {
			by["dns"].Package.Entries = []record.Entry{{Place: record.Variant, Owner: "fleet/default/dns", Discarded: &record.Word{By: "Ann"}}}
		}, map[string]string{"web": "which was discarded by Ann: have it drafted again with apply --retry", "db": "it needs c1/dns"}},
		"never made": {"a lock may be ahead of that", []string{lock, "dns", "cache"}, "", func(by map[string]*Candidate) {
			by["old"].Repo.Wanted["apps/new"] = true
			by["web"].From, by["db"].From = lifecycle.Published, lifecycle.Published
		}, map[string]string{}},
		"needed, never made": {"it could not be built", []string{"web", "db", "dns"}, "", func(by map[string]*Candidate) { by["old"].Repo.Wanted["apps/new"] = true }, map[string]string{"db": "it needs c1/new, which is not there: run apply", "web": "it needs c1/new"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, by, all, locks := needs()
			if strings.Contains(name, "never made") {
				g := locks[Unit{Repo: r}]
				g["db"], g["new"] = Locked{Version: "1.0.0", Needs: []string{"dns", "new"}}, Locked{}
			}
			if c.given != nil {
				c.given(by)
			}
			chosen := pick(by, c.chosen...)
			if c.refused != "" {
				by[c.refused].Err = errors.New("before")
			}
			n := NewNeeds(chosen, all, locks, nil, nil)
			n.Refuse(chosen)
			n.Refuse(chosen) // again is no more
			for _, o := range all {
				if bad := saying(o.Err, c.want[o.Identity.Package]); bad != "" {
					t.Errorf("%s: %s: %s", c.reason, o.Identity, bad)
				}
			}
		})
	}
}

// Alone, a lock still says what is there, and nothing else is governed.
func TestRefuseAlone(t *testing.T) {
	_, by, list, _ := needs()
	other, elsewhere, _ := fleetOf(map[string]*Revision{"db": draftOf(1, 2)})
	other.Name = "c2"
	elsewhere["db"].Err = errors.New("refused")
	lock := by[depend.LockPackage]
	Needs{}.Refuse(append(list, elsewhere["db"]))
	if lock.Err != nil {
		t.Errorf("another target's: %v", lock.Err)
	}
	by["db"].Err = errors.New("gates")
	Needs{}.Refuse(list)
	if bad := saying(lock.Err, "it is published with the packages that it names, and c1/db was refused"); bad != "" || by["web"].Err != nil {
		t.Errorf("%s; web: %v", bad, by["web"].Err)
	}
}

// A lock names a package as it stands where another revision of it could not be made, or
// needs what could not.
func TestRefuseNamed(t *testing.T) {
	for version, want := range map[string]string{"1.0.0": "", "2.0.0": "it is published with the packages that it names, and c1/web was refused"} {
		r, by, all, locks := needs()
		u := Unit{Repo: r}
		by["web"].Err = errors.New("before")
		n := NewNeeds(all, all, locks, Locks{u: {"web": {Version: version}}}, Standing{u: {"web": {Package: "web", Version: "1.0.0"}}})
		n.Refuse(all)
		if bad := saying(by[depend.LockPackage].Err, want); bad != "" {
			t.Errorf("%s: %s", version, bad)
		}
	}
}

func TestOrder(t *testing.T) {
	_, by, list, locks := needs()
	n := NewNeeds(list, list, locks, nil, nil)
	got := names(n.Order(pick(by, depend.LockPackage, "web", "cache", "dns", "db")))
	want := []string{"c1/dns Proposed packagevariant-1", "c1/db Draft packagevariant-1", "c1/web Draft packagevariant-1", "c1/cache Draft packagevariant-1", "c1/variform-lock Draft packagevariant-1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	circle := LockGraph{"a": {Version: "1", Needs: []string{"b"}}, "b": {Version: "1", Needs: []string{"c"}}, "c": {Version: "1", Needs: []string{"a"}}, "d": {Version: "1", Needs: []string{"a"}}}
	if d := cmp.Diff([]string{"c", "b", "a", "d"}, circle.order([]string{"d", "a", "b", "c"})); d != "" {
		t.Errorf("a circle: -want +got:\n%s", d)
	}
	// Who only reads what another gives needs it by the plan alone; needs go before the plan.
	lock := lockOf("app", "1", "db", "1", "web", "1")
	lock.Plan = [][]string{{"web", "gone"}, {"db"}, {"app"}}
	if d := cmp.Diff([]string{"web", "db", "app"}, NewLockGraph(&lock).order([]string{"app", "db", "web"})); d != "" {
		t.Errorf("a plan: -want +got:\n%s", d)
	}
	lock.Packages[2].Dependencies = []variformv1alpha1.LockedEdge{{Name: "app"}}
	if d := cmp.Diff([]string{"app", "web"}, NewLockGraph(&lock).order([]string{"app", "web"})); d != "" {
		t.Errorf("against the plan: -want +got:\n%s", d)
	}
	if got := circle.cause("d", Stops{"c": {}}); got != "c" || circle.cause("d", Stops{"d": {}}) != "" {
		t.Errorf("cause %q", got)
	}
}

// Without a person, too: what waits or fails keeps what needs it.
func TestWithout(t *testing.T) {
	tg := resolved(t, catalogue(), "shop", "log") // shop needs db, db needs disk
	there := ruled(Nothing{})
	goes := Ruling{Decision: Draft{}, Publish: true}
	cases := map[string]struct {
		reason string
		db     Ruling
		disk   Ruling
		open   bool // disk
		want   []string
	}{
		"all go":             {"", goes, goes, false, []string{"", "", "", ""}},
		"all is there":       {"", there, there, false, []string{"", "", "", ""}},
		"a Draft waits":      {"for a person", ruled(Draft{}), there, false, []string{"it needs c1/db, which waits for approval", "", "", ""}},
		"an older one waits": {"", goes, there, true, []string{"it needs c1/disk, which waits for approval", "", "it needs c1/disk, which waits for approval", ""}},
		"one fails":          {"the cause is named, however far", goes, failed(errors.New("x")), false, []string{"it needs c1/disk, which fails", "", "it needs c1/disk, which fails", ""}},
		"drafted, though":    {"it fails", Ruling{Decision: Draft{}, Publish: true, Err: errors.New("x")}, there, false, []string{"it needs c1/db, which fails", "", "", ""}},
		"one is held":        {"", ruled(Wait{}), there, false, []string{"it needs c1/db, which waits", "", "", ""}},
		"one is discarded":   {"what is Published stays", ruled(Discard{}), there, false, []string{"", "", "", ""}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := tg.Wants
			got := Without([]Coming{Comes(w["shop"], goes, false), Comes(w["log"], goes, false), Comes(w["db"], c.db, false), Comes(w["disk"], c.disk, c.open)}, nil)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
	w := tg.Wants
	if got := Without([]Coming{Comes(w["shop"], goes, false), Comes(w["db"], ruled(Wait{}), true), Comes(w["db"], goes, true)}, nil); got[0] != "" {
		t.Errorf("of several Drafts one goes: %q", got)
	}
	// A lock waits for what it names otherwise than it stands.
	unit := Unit{Repo: tg.Repo}
	for name, c := range map[string]struct {
		named  resolver.Lock
		stands Standing
		want   string
	}{
		"names it":              {lockOf("log", "1.1.0"), nil, "it is published with the packages that it names, and c1/log waits for approval"},
		"names it otherwise":    {lockOf("log", "1.1.0"), Standing{unit: {"log": {Version: "1.0.0"}}}, "it is published with the packages that it names, and c1/log waits for approval"},
		"names it as it stands": {lockOf("log", "1.0.0"), Standing{unit: {"log": {Version: "1.0.0"}}}, ""},
		"names it not":          {lockOf("db", "1.0.0"), nil, ""},
	} {
		lock := webLock(c.named, nil, nil)
		lock.Target = tg
		if got := Without([]Coming{Comes(lock, goes, false), Comes(w["log"], ruled(Draft{}), false)}, c.stands); got[0] != c.want {
			t.Errorf("a lock that %s: %q", name, got[0])
		}
	}
	// What a person is to approve tells what it needs that fails, and no more.
	for how, want := range map[Decision]string{Fail{}: "it needs c1/disk, which fails", Wait{}: "", Draft{}: ""} {
		got := Without([]Coming{Comes(w["shop"], there, true), Comes(w["db"], ruled(Draft{}), false), Comes(w["disk"], ruled(how), false), Comes(w["log"], there, true)}, nil)
		if d := cmp.Diff([]string{want, want, "", ""}, got); d != "" {
			t.Errorf("%T: -want +got:\n%s", how, d)
		}
	}
	// What is held as it is to be keeps nobody.
	for version, want := range map[string]string{"1.0.0": "", "0.9.0": "it needs c1/db, which waits"} {
		stands := Standing{Unit{Repo: tg.Repo}: {"db": {Package: "db", Version: version}}}
		if got := Without([]Coming{Comes(w["shop"], goes, false), Comes(w["db"], ruled(Wait{}), false)}, stands); got[0] != want {
			t.Errorf("held at %s: %q", version, got[0])
		}
	}
	// Nor does it take what others need as they stand.
	db, app := Comes(w["db"], goes, false), &resolver.Package{Package: "app", Requires: []resolver.Requirement{{Package: "db", Version: "^1"}}}
	db.Offer = &resolver.Package{Package: "db", Version: "2.0.0"}
	there1 := Standing{Unit{Repo: tg.Repo}: {"app": app, "db": {Package: "db", Version: "1.0.0"}}}
	got := Without([]Coming{Comes(w["shop"], goes, false), db}, there1)
	if bad := saying(errors.New(got[1]), "c1/app needs db ^1, which db 2.0.0 is not"); bad != "" || got[0] != "it needs c1/db, which is not published either" {
		t.Errorf("%s; %q", bad, got)
	}
	if got := Without([]Coming{Comes(&Want{}, goes, false), Comes(&Want{Target: &Target{}}, goes, false)}, nil); got[0]+got[1] != "" {
		t.Errorf("without an answer: %q", got)
	}
}

// A lock that is not of what stands open, or names what is nowhere, tells nothing.
func TestOutdated(t *testing.T) {
	holds := func(version string, needs int) *resolver.Package {
		return &resolver.Package{Version: version, Requires: make([]resolver.Requirement, needs)}
	}
	for name, c := range map[string]struct {
		reason string
		offer  *resolver.Package
		more   string // in the lock
		want   bool
	}{
		"of this":         {"", holds("1.0.0", 1), "", false},
		"of this content": {"build metadata tell content apart", holds("1.0.0+g12", 1), "", false},
		"of another":      {"", holds("1.1.0", 1), "", true},
		"needs nothing":   {"whatever its version", holds("1.1.0", 0), "", false},
		"not read":        {"it is refused when it is published", nil, "", false},
		"names more":      {"of which there is no revision", nil, "new", true},
	} {
		r, by, list, locks := needs()
		g := locks[Unit{Repo: r}]
		g["web"] = Locked{Version: "1.0.0", Needs: []string{"db"}}
		if c.more != "" {
			g[c.more] = Locked{}
		}
		by["web"].Offer = c.offer
		if got := locks.Outdated(list); got != c.want {
			t.Errorf("%s: %s: %t", name, c.reason, got)
		}
	}
	_, by, list, _ := needs()
	by["web"].Offer = holds("1.0.0", 1)
	if !(Locks{}).Outdated(list) {
		t.Error("there is no lock")
	}
}

func TestAnswers(t *testing.T) {
	tg := resolved(t, catalogue(), "shop")
	locks := Locks{}
	locks.Answers([]*Target{tg, {}})
	if d := cmp.Diff(Locks{Unit{Repo: tg.Repo}: {"shop": {Version: "1.0.0", Needs: []string{"db"}, Wave: 2}, "db": {Version: "1.0.0", Needs: []string{"disk"}, Wave: 1}, "disk": {Version: "1.0.0"}}}[Unit{Repo: tg.Repo}], locks[Unit{Repo: tg.Repo}]); d != "" || len(locks) != 1 {
		t.Errorf("-want +got:\n%s", d)
	}
}

// A revision, or a deletion, that takes from a package beside it what that needs as
// it stands is refused, unless what needs it does without in the same approval.
func TestRefuseTaking(t *testing.T) {
	pkg := func(name, version string, needs ...string) *resolver.Package {
		p := &resolver.Package{Package: name, Version: version}
		for _, n := range needs {
			p.Requires = append(p.Requires, resolver.Requirement{Alias: "x", Package: strings.Fields(n)[0], Version: strings.Fields(n)[1]})
		}
		return p
	}
	optional := pkg("web", "1.0.0", "db ^2")
	optional.Requires[0].Optional = true
	const refused = "c1/web needs db ^2, which db 1.0.0 is not: approve a revision of that too which does without (revert it as well, say), or approve this alone with --dependencies=false"
	for name, c := range map[string]struct {
		reason  string
		stands  map[string]*resolver.Package
		db, web *resolver.Package // what is approved; nil: not
		deleted bool              // db
		want    string            // of db
	}{
		"taken":           {"", map[string]*resolver.Package{"db": pkg("db", "2.0.0"), "web": pkg("web", "1.0.0", "db ^2")}, pkg("db", "1.0.0"), nil, false, refused},
		"removed":         {"", map[string]*resolver.Package{"db": pkg("db", "2.0.0"), "web": pkg("web", "1.0.0", "db ^2")}, nil, nil, true, "c1/web needs db ^2, and this removes it: remove that first, or approve this alone"},
		"still met":       {"", map[string]*resolver.Package{"db": pkg("db", "2.0.0"), "web": pkg("web", "1.0.0", "db >=1")}, pkg("db", "1.0.0"), nil, false, ""},
		"met by another":  {"", map[string]*resolver.Package{"db": pkg("db", "2.0.0"), "db2": pkg("db", "2.1.0"), "web": pkg("web", "1.0.0", "db ^2")}, pkg("db", "1.0.0"), nil, false, ""},
		"never met":       {"an override, say", map[string]*resolver.Package{"db": pkg("db", "3.0.0"), "web": pkg("web", "1.0.0", "db ^2")}, pkg("db", "1.0.0"), nil, false, ""},
		"optional":        {"", map[string]*resolver.Package{"db": pkg("db", "2.0.0"), "web": optional}, pkg("db", "1.0.0"), nil, false, ""},
		"both set back":   {"in one push", map[string]*resolver.Package{"db": pkg("db", "2.0.0"), "web": pkg("web", "2.0.0", "db ^2")}, pkg("db", "1.0.0"), pkg("web", "1.0.0", "db ^1"), false, ""},
		"both go forward": {"in one push", map[string]*resolver.Package{"db": pkg("db", "1.0.0"), "web": pkg("web", "1.0.0", "db ^1")}, pkg("db", "2.0.0"), pkg("web", "2.0.0", "db ^2"), false, ""},
		"the first":       {"nothing stood there", map[string]*resolver.Package{"web": pkg("web", "1.0.0", "db ^2")}, pkg("db", "1.0.0"), nil, false, ""},
		"nothing is read": {"", nil, pkg("db", "1.0.0"), nil, false, ""},
	} {
		r, by, _, _ := needs()
		u := Unit{Repo: r}
		list := pick(by, "db")
		by["db"].Offer, by["web"].Offer = c.db, c.web
		if c.deleted {
			by["db"].From = lifecycle.DeletionProposed
		}
		if c.web != nil {
			list = append(list, by["web"])
		}
		Needs{Locks: Locks{u: {"web": {Version: "1.0.0", Needs: []string{"db"}}}}, Stands: Standing{u: c.stands}}.Refuse(list)
		if bad := saying(by["db"].Err, c.want); bad != "" || by["web"].Err != nil {
			t.Errorf("%s: %s: %s; web: %v", name, c.reason, bad, by["web"].Err)
		}
	}
	// What is set back needs what it needed then.
	for version, want := range map[string]string{"1.2.0": "", "2.0.0": "it needs db ^1, as it was then, and that is not there: revert that as well"} {
		r, by, _, _ := needs()
		by["web"].Offer, by["web"].Head.Machine = pkg("web", "1.0.0", "db ^1"), &Machine{Reverts: "v1 by Ann"}
		Needs{Stands: Standing{Unit{Repo: r}: {"db": pkg("db", version), "web": pkg("web", "2.0.0", "db >=1")}}}.Refuse(pick(by, "web"))
		if bad := saying(by["web"].Err, want); bad != "" {
			t.Error(bad)
		}
	}
	// Where what was to go with it is refused, it is, too.
	r, by, _, _ := needs()
	u := Unit{Repo: r}
	by["db"].Offer, by["web"].Err = pkg("db", "2.0.0"), errors.New("gates")
	Needs{Stands: Standing{u: {"db": pkg("db", "1.0.0"), "web": pkg("web", "1.0.0", "db ^1")}}}.Refuse(pick(by, "db", "web"))
	if bad := saying(by["db"].Err, "c1/web needs db ^1, which db 2.0.0 is not"); bad != "" {
		t.Error(bad)
	}
}

// What stands there as the lock has it is there, whatever people said of it.
func TestMissing(t *testing.T) {
	word := &record.Word{By: "Ann", Reason: "no"}
	back := publishedOf(1, 6)
	back.Machine = &Machine{Reverts: "v1 by Ann"}
	for name, c := range map[string]struct {
		entry  record.Entry
		latest *Revision
		stands string
		want   string
	}{
		"held, as it is to be":  {record.Entry{Hold: word}, publishedOf(1, 6), "1.0.0", ""},
		"held":                  {record.Entry{Hold: word}, publishedOf(1, 6), "0.9.0", "is held by Ann: no"},
		"discarded, as it is":   {record.Entry{Discarded: word}, publishedOf(1, 6), "1.0.0", ""},
		"discarded":             {record.Entry{Discarded: word}, publishedOf(1, 6), "0.9.0", "was discarded by Ann"},
		"set back":              {record.Entry{}, back, "0.9.0", "was set back to v1 by Ann"},
		"set back, as it is":    {record.Entry{}, back, "1.0.0", ""},
		"Published, and behind": {record.Entry{}, publishedOf(1, 6), "0.9.0", ""},
	} {
		r, by, _ := fleetOf(map[string]*Revision{"db": c.latest})
		c.entry.Place, c.entry.Owner = record.Variant, "fleet/default/db"
		by["db"].Package.Entries = []record.Entry{c.entry}
		got := LockGraph{"db": {Version: "1.0.0"}}.missing(Unit{Repo: r}, map[string]*resolver.Package{"db": {Version: c.stands}})
		if got["db"].How != c.want && !strings.HasPrefix(got["db"].How, c.want+":") {
			t.Errorf("%s: %q", name, got["db"].How)
		}
	}
}

// What is open says which gate of another package it waits for, nearest first.
func TestAwaits(t *testing.T) {
	tg := resolved(t, catalogue(), "shop") // shop needs db, db needs disk
	elsewhere := *tg
	elsewhere.Directory = "elsewhere"
	of := func(ref string, t *Target) *Want { return &Want{Ref: ref, Target: t} }
	unmet := &Proof{State: Proved, Gated: true, Unmet: []Gate{{Type: "size"}}}
	asked := &Proof{State: Proved, Unmet: []Gate{{Type: "size"}}}
	open := &Proof{State: Proved, Gated: true}
	waits := func(ref string) string {
		return "it needs " + Unit{Repo: tg.Repo}.identity(ref).String() + ", which has gates that are not met: size"
	}
	for name, c := range map[string]struct {
		wants  []*Want
		proofs []*Proof
		want   []string
	}{
		"near and far":              {[]*Want{of("shop", tg), of("db", tg), of("disk", tg)}, []*Proof{open, open, unmet}, []string{waits("disk"), waits("disk"), ""}},
		"the nearest":               {[]*Want{of("shop", tg), of("db", tg), of("disk", tg)}, []*Proof{open, unmet, unmet}, []string{waits("db"), waits("disk"), ""}},
		"gates that nobody asks":    {[]*Want{of("shop", tg), of("db", tg)}, []*Proof{open, asked}, []string{"", ""}},
		"one of its Drafts is well": {[]*Want{of("shop", tg), of("db", tg), of("db", tg)}, []*Proof{open, unmet, open}, []string{"", "", ""}},
		"not open":                  {[]*Want{of("shop", tg), of("db", tg)}, []*Proof{nil, unmet}, []string{"", ""}},
		"no answer":                 {[]*Want{of("shop", &Target{Repo: tg.Repo}), of("db", &Target{Repo: tg.Repo})}, []*Proof{open, unmet}, []string{"", ""}},
		"no target":                 {[]*Want{of("shop", nil)}, []*Proof{open}, []string{""}},
		"another target's":          {[]*Want{of("shop", tg), of("db", &elsewhere)}, []*Proof{open, unmet}, []string{"", ""}},
	} {
		if diff := cmp.Diff(c.want, Awaits(c.wants, c.proofs)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
