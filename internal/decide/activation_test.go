package decide

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/record"
)

func installation(name, target, pkg string, automatic bool, history int) *variformv1alpha1.Installation {
	i := &variformv1alpha1.Installation{}
	i.Name, i.Spec.Target, i.Spec.Package = name, target, pkg
	if automatic {
		i.Spec.Activation = variformv1alpha1.ActivationAutomatic
	}
	if history >= 0 {
		i.Spec.HistoryLimit = &history
	}
	return i
}

func TestPolicies(t *testing.T) {
	inTeam := installation("b", "", "web", true, -1)
	inTeam.Namespace = "team"
	web := Identity{"default", "c1", "web"}
	cases := map[string]struct {
		reason string
		list   []*variformv1alpha1.Installation
		of     Identity
		want   Policy
		err    string
	}{
		"none":              {"a person publishes, and all stays", nil, web, Policy{}, ""},
		"its own":           {"", []*variformv1alpha1.Installation{installation("a", "c1", "web", true, 3)}, web, Policy{true, 3}, ""},
		"Manual":            {"the default", []*variformv1alpha1.Installation{installation("a", "c1", "web", false, -1)}, web, Policy{}, ""},
		"every target's":    {"of its namespace", []*variformv1alpha1.Installation{installation("a", "", "web", true, 2)}, web, Policy{true, 2}, ""},
		"its own first":     {"before every target's", []*variformv1alpha1.Installation{installation("a", "", "web", true, 2), installation("b", "c1", "web", false, 5)}, web, Policy{false, 5}, ""},
		"another target's":  {"", []*variformv1alpha1.Installation{installation("a", "c2", "web", true, -1)}, web, Policy{}, ""},
		"another package's": {"", []*variformv1alpha1.Installation{installation("a", "c1", "db", true, -1)}, web, Policy{}, ""},
		"another namespace's": {
			"a namespace is a wall", []*variformv1alpha1.Installation{inTeam}, web, Policy{}, "",
		},
		"by its name": {"what it asks for by itself stands under its name", []*variformv1alpha1.Installation{installation("shop-db", "c1", "postgres", true, -1)}, Identity{"default", "c1", "shop-db"}, Policy{Automatic: true}, ""},
		"by its name, in no target": {
			"it asks for nothing by itself", []*variformv1alpha1.Installation{installation("shop-db", "", "postgres", true, -1)}, Identity{"default", "", "shop-db"}, Policy{}, "",
		},
		"a package before a name": {
			"what names the package means it", []*variformv1alpha1.Installation{installation("web", "c1", "other", true, -1), installation("x", "c1", "web", false, 1)}, web, Policy{History: 1}, "",
		},
		"a folder is the target": {"", []*variformv1alpha1.Installation{installation("a", "/c1/team/", "web", true, -1)}, Identity{"default", "c1", "team/web"}, Policy{Automatic: true}, ""},
		"a folder, by its name":  {"", []*variformv1alpha1.Installation{installation("mine", "c1/team", "web", true, -1)}, Identity{"default", "c1", "team/mine"}, Policy{Automatic: true}, ""},
		"two": {
			"neither is used, whatever the namespace's says",
			[]*variformv1alpha1.Installation{installation("a", "c1", "web", true, 1), installation("b", "c1", "web", true, 2), installation("c", "", "web", true, 3)},
			web,
			Policy{},
			`Installations default/a and default/b are both for package "web" of target "c1": keep one`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, problems := NewPolicies(c.list)
			if bad := saying(errors.Join(problems...), c.err); bad != "" {
				t.Error(bad)
			}
			if d := cmp.Diff(c.want, p.Of(c.of)); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

// Edits that were to be dropped and stay are a failure, which says why.
func TestUndropped(t *testing.T) {
	dropping := func(o *Outcome) {
		w := *o.Want
		o.Want, w.Drop = &w, []string{"x"}
	}
	held := func(o *Outcome) {
		o.Package = saidOf(webPackage(nil, o.From), record.Entry{Hold: &ann})
	}
	plain := func(o *Outcome) { o.Package = webPackage(nil, o.From) }
	for says, o := range map[string]*Outcome{
		"held by Ann: not now: variform hold --off c1/web takes that off": outcome(draftOf(1, 10), Rule{ruled(Wait{}, "held")}, dropping, held),
		"was not dropped: set back":                                       outcome(draftOf(1, 10), Rule{ruled(Wait{}, "set back")}, dropping, plain),
		"is what it is already":                                           outcome(draftOf(1, 10), Build{}, dropping, func(o *Outcome) { o.Same = true }, plain),
	} {
		if r := o.ruling(); r.Decision != (Fail{}) || saying(r.Err, says) != "" {
			t.Errorf("%v: %v", r.Decision, saying(r.Err, says))
		}
	}
	if r := outcome(draftOf(1, 10), Build{As: ActionUpdate}, dropping, plain).ruling(); r.Err != nil {
		t.Error(r.Err)
	}
	if r := outcome(draftOf(1, 10), Rule{ruled(Wait{}, "held")}).ruling(); r.Err != nil {
		t.Error(r.Err)
	}
}

// outcome is what is known of web after Intend, and after a build of it.
func outcome(from *Revision, i Intent, changes ...func(*Outcome)) *Outcome {
	o := &Outcome{
		Question: Question{Want: wanted(), Work: Work{From: from}, Repo: repository(), Package: webPackage(nil)}, Intent: i, Tried: true,
		Warnings: []string{"built"}, Ref: "refs/heads/drafts/apps/web/packagevariant-1",
	}
	for _, c := range changes {
		c(o)
	}
	return o
}

func TestRule(t *testing.T) {
	create := Build{As: ActionCreate, Reasons: []string{"new"}}
	update := Build{As: ActionUpdate, Reasons: []string{"changed"}}
	redraft := Build{As: ActionRedraft, Reasons: []string{"changed"}}
	upToDate := Rule{Ruling{Decision: Nothing{}, Warnings: []string{"unfilled"}}}
	draft, second, handMade, proposed, v1 := draftOf(1, 10), draftOf(2, 11), draftOf(1, 10, edited), proposedOf(1, 12), publishedOf(1, 9)
	const ref = "refs/heads/drafts/apps/web/packagevariant-1"

	same := func(o *Outcome) { o.Same = true }
	lost := func(o *Outcome) { o.Conflicts = 1 }
	survey := func(o *Outcome) { o.Tried = false }
	broken := func(o *Outcome) { o.Err = errors.New("no Kptfile") }
	anyway := func(o *Outcome) { o.Anyway = true }
	unmet := func(o *Outcome) { o.Unmet = []Gate{{"ready", "False", "waiting"}, {"injected", "Unknown", "?"}} }
	forged := func(o *Outcome) { o.Unproved = "it is forged" }
	deployed := func(o *Outcome) { o.Repo.Deployment = true }
	after := func(latest *Revision, b *Branch) func(*Outcome) {
		return func(o *Outcome) { o.Package = webPackage(tags(tag(1, 9)), latest); o.Package.Branch = b }
	}
	reverted := publishedOf(3, 9, reverting("v1"))

	asBuilt, built, there := []string{"built"}, Draft{As: ActionCreate, Ref: ref}, []string{"unfilled", "built"}
	anywayBuilt := []string{"built", "drafted without running its functions, which fail: it cannot be approved"}
	const (
		atOnce = "published at once: activation is Automatic"
		unread = "activation is Automatic, but not all inputs could be read: correct them first"
		unrun  = "activation is Automatic, but the pipelines of packages are left unrun"
		review = "activation is Automatic, but the Draft holds edits by hand or lost values: review and approve it"
		gates  = "activation is Automatic, but readiness gates are not met: ready is False: waiting; injected is Unknown: ?: see that what they wait for is there, objects, other packages or a condition that somebody gives in the Kptfile, run apply, and approve again"
		choice = "activation is Automatic, but the package has several Drafts: approve one, and delete the others"
		other  = "activation is Automatic, but it is forged"
		back   = "activation is Automatic, but it brings back what people took back: review and approve it"
		person = "proposed by a person: approve it, or reject it"
	)
	cases := map[string]struct {
		reason    string
		automatic bool
		a         Activation
		outcomes  []*Outcome
		want      []Ruling
	}{
		"Manual, a first Draft": {"a person publishes", false, Activation{}, []*Outcome{outcome(nil, create)}, []Ruling{{Decision: built, Reasons: []string{"new"}, Warnings: asBuilt}}},
		"Manual, an update": {
			"the commit goes on the Draft that is there", false,
			Activation{},
			[]*Outcome{outcome(draft, update)},
			[]Ruling{{Decision: Draft{As: ActionUpdate, Ref: ref, From: draft}, Reasons: []string{"changed"}, Warnings: asBuilt}},
		},
		"Manual, a new Draft": {
			"it continues no revision", false,
			Activation{},
			[]*Outcome{outcome(v1, redraft)},
			[]Ruling{{Decision: Draft{As: ActionRedraft, Ref: ref}, Reasons: []string{"changed"}, Warnings: asBuilt}},
		},
		"Manual, nothing came of it": {"the build gave what is there", false, Activation{}, []*Outcome{outcome(draft, update, same)}, []Ruling{{Decision: Nothing{}, Warnings: asBuilt}}},
		"Manual, it failed":          {"", false, Activation{}, []*Outcome{outcome(draft, update, broken, same)}, []Ruling{{Decision: Fail{}, Err: errors.New("no Kptfile"), Warnings: asBuilt}}},
		"Manual, drafted anyway": {
			"it is said that it fails", false,
			Activation{},
			[]*Outcome{outcome(nil, create, broken, anyway)},
			[]Ruling{{Decision: built, Reasons: []string{"new"}, Err: errors.New("no Kptfile"), Warnings: anywayBuilt}},
		},
		"Automatic, with what is to be seen first": {
			"a person does", true,
			Activation{},
			[]*Outcome{outcome(nil, create, func(o *Outcome) { o.Attention = []string{"b", "a", "a"} })},
			[]Ruling{{Decision: built, Reasons: []string{"new"}, Warnings: []string{"built", "activation is Automatic, but a person is to see first: a; b: review and approve it"}, considered: true}},
		},
		"Automatic, drafted anyway": {
			"nobody publishes what fails", true,
			Activation{},
			[]*Outcome{outcome(nil, create, broken, anyway)},
			[]Ruling{{Decision: built, Reasons: []string{"new"}, Err: errors.New("no Kptfile"), Warnings: anywayBuilt}},
		},
		"Manual, up to date": {"", false, Activation{}, []*Outcome{outcome(draft, upToDate)}, []Ruling{{Decision: Nothing{}, Warnings: there}}},
		"Manual, two Drafts": {
			"each for itself", false,
			Activation{},
			[]*Outcome{outcome(nil, create), outcome(second, upToDate)},
			[]Ruling{{Decision: built, Reasons: []string{"new"}, Warnings: asBuilt}, {Decision: Nothing{}, Warnings: there}},
		},

		"a first Draft": {"published by the run that makes it", true, Activation{}, []*Outcome{outcome(nil, create)}, []Ruling{{Decision: built, Reasons: []string{"new", atOnce}, Warnings: asBuilt, Publish: true}}},
		"a survey":      {"it builds nothing, and so knows no reason to hold", true, Activation{Unread: true}, []*Outcome{outcome(nil, create, survey)}, []Ruling{{Decision: built, Reasons: []string{"new"}, Warnings: asBuilt, Publish: true}}},
		"inputs unread": {"one may say Manual", true, Activation{Unread: true}, []*Outcome{outcome(nil, create)}, []Ruling{{Decision: built, Reasons: []string{"new"}, Warnings: []string{"built", unread}}}},
		"not rendered":  {"nobody saw what it gives", true, Activation{Unrendered: true}, []*Outcome{outcome(nil, create)}, []Ruling{{Decision: built, Reasons: []string{"new"}, Warnings: []string{"built", unrun}}}},
		"values lost":   {"a person should see it", true, Activation{}, []*Outcome{outcome(nil, create, lost)}, []Ruling{{Decision: built, Reasons: []string{"new"}, Warnings: []string{"built", review}}}},
		"edited by hand": {
			"a person should see it", true,
			Activation{},
			[]*Outcome{outcome(handMade, update)},
			[]Ruling{{Decision: Draft{As: ActionUpdate, Ref: ref, From: handMade}, Reasons: []string{"changed"}, Warnings: []string{"built", review}}},
		},
		"edits in what is Published": {
			"a person approved them", true,
			Activation{},
			[]*Outcome{outcome(publishedOf(1, 9, edited), redraft)},
			[]Ruling{{Decision: Draft{As: ActionRedraft, Ref: ref}, Reasons: []string{"changed", atOnce}, Warnings: asBuilt, Publish: true}},
		},
		"gates of a deployment": {"they are not met", true, Activation{}, []*Outcome{outcome(nil, create, unmet, deployed)}, []Ruling{{Decision: built, Reasons: []string{"new"}, Warnings: []string{"built", gates}}}},
		"gates of a catalogue":  {"they bind deployments only", true, Activation{}, []*Outcome{outcome(nil, create, unmet)}, []Ruling{{Decision: built, Reasons: []string{"new", atOnce}, Warnings: asBuilt, Publish: true}}},
		"an update that is not proved": {
			"a person should see it", true,
			Activation{},
			[]*Outcome{outcome(draft, update, forged)},
			[]Ruling{{Decision: Draft{As: ActionUpdate, Ref: ref, From: draft}, Reasons: []string{"changed"}, Warnings: []string{"built", other}}},
		},
		"it failed": {"", true, Activation{}, []*Outcome{outcome(draft, update, broken)}, []Ruling{{Decision: Fail{}, Err: errors.New("no Kptfile"), Warnings: asBuilt}}},

		"a Draft up to date":            {"published now", true, Activation{}, []*Outcome{outcome(draft, upToDate)}, []Ruling{{Decision: Publish{draft}, Reasons: []string{"activation is Automatic"}, Warnings: there, Publish: true}}},
		"a Draft, nothing came of it":   {"published now", true, Activation{}, []*Outcome{outcome(draft, update, same)}, []Ruling{{Decision: Publish{draft}, Reasons: []string{"activation is Automatic"}, Warnings: asBuilt, Publish: true}}},
		"after a revert":                {"no activation publishes again what a person took back", true, Activation{}, []*Outcome{outcome(reverted, redraft, after(reverted, nil))}, []Ruling{{Decision: Draft{As: ActionRedraft, Ref: ref}, Reasons: []string{"changed"}, Warnings: []string{"built", back}}}},
		"a Draft after a revert":        {"", true, Activation{}, []*Outcome{outcome(draft, upToDate, after(reverted, nil))}, []Ruling{{Decision: Wait{}, Reasons: []string{back}, Warnings: there}}},
		"after a revert on the branch":  {"", true, Activation{}, []*Outcome{outcome(v1, redraft, after(v1, &Branch{Tree: Hash{40}, Reverted: publishedOf(1, 8)}))}, []Ruling{{Decision: Draft{As: ActionRedraft, Ref: ref}, Reasons: []string{"changed"}, Warnings: []string{"built", back}}}},
		"the revert itself":             {"it takes back, and is held elsewhere", true, Activation{}, []*Outcome{outcome(draftOf(1, 10, reverting("v1")), upToDate, after(reverted, nil))}, []Ruling{{Decision: Publish{draftOf(1, 10, reverting("v1"))}, Reasons: []string{"activation is Automatic"}, Warnings: there, Publish: true}}},
		"after a hotfix":                {"that is kept", true, Activation{}, []*Outcome{outcome(v1, redraft, after(v1, &Branch{Tree: Hash{40}}))}, []Ruling{{Decision: Draft{As: ActionRedraft, Ref: ref}, Reasons: []string{"changed", atOnce}, Warnings: asBuilt, Publish: true}}},
		"a Draft, edited":               {"a person should see it", true, Activation{}, []*Outcome{outcome(handMade, upToDate)}, []Ruling{{Decision: Wait{}, Reasons: []string{review}, Warnings: there}}},
		"a Draft, not proved":           {"a person should see it", true, Activation{}, []*Outcome{outcome(draft, upToDate, forged)}, []Ruling{{Decision: Wait{}, Reasons: []string{other}, Warnings: there}}},
		"a Draft, not proved, by hand":  {"nobody asked", false, Activation{}, []*Outcome{outcome(draft, upToDate, forged)}, []Ruling{{Decision: Nothing{}, Warnings: there}}},
		"a Draft, inputs unread":        {"", true, Activation{Unread: true}, []*Outcome{outcome(draft, upToDate)}, []Ruling{{Decision: Wait{}, Reasons: []string{unread}, Warnings: there}}},
		"a Draft, gates":                {"", true, Activation{}, []*Outcome{outcome(draft, upToDate, unmet, deployed)}, []Ruling{{Decision: Wait{}, Reasons: []string{gates}, Warnings: there}}},
		"a Draft, gates of a catalogue": {"", true, Activation{}, []*Outcome{outcome(draft, upToDate, unmet)}, []Ruling{{Decision: Publish{draft}, Reasons: []string{"activation is Automatic"}, Warnings: there, Publish: true}}},
		"Proposed, up to date":          {"who proposed waits for a person", true, Activation{Unread: true}, []*Outcome{outcome(proposed, upToDate)}, []Ruling{{Decision: Wait{}, Reasons: []string{person}, Warnings: there}}},
		"Published, up to date":         {"nothing to publish", true, Activation{}, []*Outcome{outcome(v1, upToDate)}, []Ruling{{Decision: Nothing{}, Warnings: there}}},
		"first, nothing came of it":     {"nothing to publish", true, Activation{}, []*Outcome{outcome(nil, create, same)}, []Ruling{{Decision: Nothing{}, Warnings: asBuilt}}},
		"merged elsewhere": {
			"it has its tag at once", true,
			Activation{},
			[]*Outcome{outcome(draft, Rule{ruled(Tag{Ref: "t", Draft: draft}, "merged")})},
			[]Ruling{{Decision: Tag{Ref: "t", Draft: draft}, Reasons: []string{"merged"}, Warnings: asBuilt}},
		},
		"waiting": {"", true, Activation{}, []*Outcome{outcome(v1, Rule{ruled(Wait{}, "to be deleted")})}, []Ruling{{Decision: Wait{}, Reasons: []string{"to be deleted"}, Warnings: asBuilt}}},

		"two Drafts": {
			"a person says which", true,
			Activation{},
			[]*Outcome{outcome(draft, upToDate), outcome(second, upToDate)},
			[]Ruling{{Decision: Wait{}, Reasons: []string{choice}, Warnings: there}, {Decision: Wait{}, Reasons: []string{choice}, Warnings: there}},
		},
		"two Drafts, one built": {
			"it is built all the same", true,
			Activation{},
			[]*Outcome{outcome(draft, update), outcome(second, upToDate)},
			[]Ruling{
				{Decision: Draft{As: ActionUpdate, Ref: ref, From: draft}, Reasons: []string{"changed"}, Warnings: []string{"built", choice}},
				{Decision: Wait{}, Reasons: []string{choice}, Warnings: there},
			},
		},
		"two Drafts, one failed": {
			"what was to be built counts whatever came of it", true,
			Activation{},
			[]*Outcome{outcome(draft, update, broken), outcome(second, upToDate)},
			[]Ruling{
				{Decision: Fail{}, Err: errors.New("no Kptfile"), Warnings: []string{"built", choice}},
				{Decision: Wait{}, Reasons: []string{choice}, Warnings: there},
			},
		},
		"two Drafts, one edited": {
			"the edited one waits for a person, the other is the only one that would go", true,
			Activation{},
			[]*Outcome{outcome(handMade, upToDate), outcome(second, upToDate)},
			[]Ruling{{Decision: Wait{}, Reasons: []string{review}, Warnings: there}, {Decision: Publish{second}, Reasons: []string{"activation is Automatic"}, Warnings: there, Publish: true}},
		},
		"a Draft and a Proposed": {
			"the Proposed one waits for a person", true,
			Activation{},
			[]*Outcome{outcome(second, upToDate), outcome(proposed, upToDate)},
			[]Ruling{{Decision: Publish{second}, Reasons: []string{"activation is Automatic"}, Warnings: there, Publish: true}, {Decision: Wait{}, Reasons: []string{person}, Warnings: there}},
		},
		"three, two of which would go": {
			"the third keeps its reason", true,
			Activation{},
			[]*Outcome{outcome(draft, upToDate), outcome(handMade, upToDate), outcome(second, update, same)},
			[]Ruling{{Decision: Wait{}, Reasons: []string{choice}, Warnings: there}, {Decision: Wait{}, Reasons: []string{review}, Warnings: there}, {Decision: Wait{}, Reasons: []string{choice}, Warnings: asBuilt}},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.a.Policies = Policies{{"default", "c1", "web"}: {Automatic: c.automatic}}
			if d := cmp.Diff(c.want, c.a.Rule(c.outcomes), unseen, errText); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

// What an intent holds is not written to by what is ruled on it.
func TestRuleSharesNothing(t *testing.T) {
	reasons, warnings := make([]string, 1, 5), make([]string, 1, 5)
	i := Rule{Ruling{Decision: Nothing{}, Warnings: warnings}}
	b := Build{As: ActionCreate, Reasons: reasons}
	a := Activation{Policies: Policies{{"default", "c1", "web"}: {Automatic: true}}}
	a.Rule([]*Outcome{outcome(nil, b)})
	a.Rule([]*Outcome{outcome(draftOf(1, 1), i)})
	if reasons[:2][1] != "" || warnings[:2][1] != "" {
		t.Errorf("written behind the end: %q, %q", reasons[:2], warnings[:2])
	}
}

func TestOutcomeNeedsReview(t *testing.T) {
	for name, c := range map[string]struct {
		from *Revision
		lost int
		want bool
	}{
		"first": {nil, 0, false}, "a Draft": {draftOf(1, 1), 0, false}, "edited": {draftOf(1, 1, edited), 0, true},
		"Published with edits": {publishedOf(1, 1, edited), 0, false}, "lost": {nil, 2, true}, "lost of Published": {publishedOf(1, 1), 1, true},
	} {
		o := outcome(c.from, Build{})
		o.Conflicts = c.lost
		if got := o.NeedsReview(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		w := *o.Want
		w.Drop = []string{"x"}
		if o.Want = &w; !o.NeedsReview() {
			t.Errorf("%s: an edit was dropped", name)
		}
	}
}

// What would be published as it is has to be proved; all else has not.
func TestProves(t *testing.T) {
	upToDate, update := Rule{Ruling{Decision: Nothing{}}}, Build{As: ActionUpdate}
	for name, c := range map[string]struct {
		a    Activation
		o    *Outcome
		want bool
	}{
		"a Draft up to date": {Activation{}, outcome(draftOf(1, 1), upToDate), true},
		"to be built":        {Activation{}, outcome(draftOf(1, 1), update), false},
		"edited":             {Activation{}, outcome(draftOf(1, 1, edited), upToDate), false},
		"Proposed":           {Activation{}, outcome(proposedOf(1, 1), upToDate), false},
		"Published":          {Activation{}, outcome(publishedOf(1, 1), upToDate), false},
		"inputs unread":      {Activation{Unread: true}, outcome(draftOf(1, 1), upToDate), false},
	} {
		c.a.Policies = Policies{{"default", "c1", "web"}: {Automatic: true}}
		if got := c.a.Proves(c.o); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if c.a.Policies = nil; c.a.Proves(c.o) {
			t.Errorf("%s: activation is Manual", name)
		}
	}
}
