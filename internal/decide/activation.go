package decide

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/variform/variform/api"
	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/lifecycle"
)

// Policy is what an Installation says about the revisions of one package in one
// Repository (Crossplane's packages v2, revisionActivationPolicy and
// revisionHistoryLimit; docs/design/kinds.md). The zero value is the rule in Git:
// a person publishes, and every revision is kept.
type Policy struct {
	Automatic bool
	History   int // Published revisions kept beside the latest; 0: all
}

// Policies are the policies of a fleet.
type Policies map[Identity]Policy

// NewPolicies indexes Installations. Two for one package would have to be chosen
// between, so neither is used and both are named.
func NewPolicies(list []*variformv1alpha1.Installation) (Policies, []error) {
	out, named := Policies{}, Policies{}
	first, twice := map[Identity]string{}, map[Identity]bool{}
	var problems []error
	for _, in := range list {
		repo, dir, _ := strings.Cut(strings.Trim(in.Spec.Target, "/"), "/") // a target may be a folder
		id := Identity{api.NamespaceOr(in.Namespace), repo, path.Join(dir, in.Spec.Package)}
		if other, seen := first[id]; seen {
			problems = append(problems, fmt.Errorf("Installations %s/%s and %s/%s are both for package %q of target %q: keep one",
				id.Namespace, other, id.Namespace, in.Name, in.Spec.Package, in.Spec.Target))
			twice[id] = true
			continue
		}
		first[id] = in.Name
		p := Policy{Automatic: in.Spec.Activation == variformv1alpha1.ActivationAutomatic}
		if in.Spec.HistoryLimit != nil {
			p.History = *in.Spec.HistoryLimit
		}
		out[id] = p
		if repo != "" {
			named[Identity{id.Namespace, repo, path.Join(dir, in.Name)}] = p
		}
	}
	for id, p := range named { // what it asks for by itself has its name
		if _, ok := out[id]; !ok {
			out[id] = p
		}
	}
	for id := range twice {
		out[id] = Policy{} // a person publishes, whatever the namespace's says
	}
	return out, problems
}

// Of is the policy for a package: its own, or its namespace's for every target.
func (p Policies) Of(id Identity) Policy {
	if own, ok := p[id]; ok {
		return own
	}
	return p[Identity{id.Namespace, "", id.Package}]
}

// Gate is a readiness gate that is not met.
type Gate struct{ Type, Status, Message string }

// String tells how it stands.
func (g Gate) String() string { return fmt.Sprintf("%s is %s: %s", g.Type, g.Status, g.Message) }

// GateTypes lists the gates' types.
func GateTypes(gates []Gate) string {
	var types []string
	for _, g := range gates {
		types = append(types, g.Type)
	}
	return strings.Join(types, ", ")
}

// GatesError says which gates are not met.
func GatesError(unmet []Gate) error {
	lines := make([]string, len(unmet))
	for i, g := range unmet {
		lines[i] = g.String()
	}
	return fmt.Errorf("readiness gates are not met: %s: see that what they wait for is there, objects, other packages or a condition that somebody gives in the Kptfile, run apply, and approve again", strings.Join(lines, "; "))
}

// Outcome is what is known of one revision after it was built, or after it was
// decided that it need not be.
type Outcome struct {
	Question
	Intent Intent
	// Err is why a build failed, and Failure what may be remembered of that, "" where
	// it was not for what went in. At is the time of the newest commit that did. Anyway
	// says that a Draft was made all the same, which was not rendered.
	Err     error
	Failure string
	At      time.Time
	// Restless is the function that is not idempotent, where the build found one.
	Restless string
	Anyway   bool
	// Tried says that the build was tried; a survey builds nothing.
	Tried bool
	// Same says that the build gave what is there, Back that it gave what is
	// Published, unlike the open Draft that is there.
	Same, Back bool
	// Furnished reports that the build gave a folder without a Kptfile one.
	Furnished bool
	// Conflicts counts the edits by hand that the update met.
	Conflicts int
	// Attention is what a person is to see first of what was built, such as
	// BaseUnknown.
	Attention []string
	// Unmet are the gates of what was built, or of what is there where that is
	// asked for.
	Unmet []Gate
	// Unproved is why what is there, or was built, may not be published unseen,
	// "" where it may or nobody asked.
	Unproved string
	// Warnings of the build.
	Warnings []string
	// Ref is the branch of the Draft that was built.
	Ref string
}

// NeedsReview reports whether what was built holds what a person should see:
// edits by hand on the Draft, or local values that were lost, or dropped. The commit says so,
// and what comes after it inherits it.
func (o *Outcome) NeedsReview() bool {
	return o.Conflicts > 0 || len(o.Attention) > 0 || len(o.Drop) > 0 || o.From != nil && o.From.Number == 0 && o.From.NeedsReview()
}

// BaseUnknown is the Attention to a package of which is not known what it was made
// from: nothing that stands there was taken away.
const BaseUnknown = "base unknown"

// KeptThoughRemoved is the Attention to a package that has what upstream removed,
// for an edit of it.
const KeptThoughRemoved = "removed upstream, kept for an edit"

// Review is what the commit says of that: see NeedsReview. A Draft's Attention
// stays until the Draft is decided.
func (o *Outcome) Review() string {
	if !o.NeedsReview() {
		return ""
	}
	return strings.TrimSuffix(reviewNeeded+"; "+strings.Join(o.attention(), "; "), "; ")
}

// attention is what is to be seen first of what was built and of the Draft.
func (o *Outcome) attention() []string {
	all := slices.Clone(o.Attention)
	if o.From != nil && o.From.Number == 0 {
		all = append(all, o.From.Attention()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Activation says whether Drafts may be published by this run.
type Activation struct {
	Policies Policies
	// Unread says that not all inputs could be read: one may be the Installation
	// that says Manual. Unrendered says that pipelines are left unrun.
	Unread, Unrendered bool
}

const (
	automatic    = "activation is Automatic, but "
	atOnceReason = "published at once: activation is Automatic"
)

// held says why a Draft is not published although activation is Automatic.
func (a Activation) held(o *Outcome, review bool) string {
	switch {
	case a.Unread:
		return automatic + "not all inputs could be read: correct them first"
	case a.Unrendered:
		return automatic + "the pipelines of packages are left unrun"
	case o.Package.SetBack(o.From):
		return automatic + "it brings back what people took back: review and approve it"
	case review && len(o.attention()) > 0:
		return automatic + "a person is to see first: " + strings.Join(o.attention(), "; ") + ": review and approve it"
	case review:
		return automatic + "the Draft holds edits by hand or lost values: review and approve it"
	case len(o.Unmet) > 0 && o.Repo.Deployment:
		return automatic + GatesError(o.Unmet).Error()
	case o.Unproved != "":
		return automatic + o.Unproved
	default:
		return ""
	}
}

// Rule gives each revision of one wanted package its ruling. Where several
// Drafts would be published, it is left to a person which.
func (a Activation) Rule(outcomes []*Outcome) []Ruling {
	rulings := make([]Ruling, len(outcomes))
	ready := 0
	for i, o := range outcomes {
		rulings[i] = o.ruling()
		if a.Policies.Of(o.Identity).Automatic {
			rulings[i] = a.publish(o, rulings[i])
		}
		if candidate(rulings[i]) {
			ready++
		}
	}
	if ready < 2 {
		return rulings
	}
	for i := range rulings {
		if candidate(rulings[i]) {
			rulings[i] = choose(rulings[i])
		}
	}
	return rulings
}

// ruling is what becomes of a revision, activation aside.
func (o *Outcome) ruling() Ruling {
	r := o.came()
	if _, waits := r.Decision.(Wait); len(o.Drop) > 0 && r.Err == nil && (waits || r.Decision == Nothing{}) {
		return Ruling{Decision: Fail{}, Err: o.undropped(r.Reasons), Warnings: r.Warnings}
	}
	return r
}

// undropped is why the edits stay that were to be dropped.
func (o *Outcome) undropped(reasons []string) error {
	const stays = "the edit by hand was not dropped: "
	switch h := o.Package.Hold(); {
	case h != nil:
		return Stalled("%s%w", stays, heldError(h, o.Identity))
	case len(reasons) > 0:
		return Stalled("%s%s", stays, strings.Join(reasons, "; "))
	}
	return Stalled("%swithout it the package is what it is already", stays)
}

// came is what came of the intent.
func (o *Outcome) came() Ruling {
	b, build := o.Intent.(Build)
	switch {
	case !build:
		r := o.Intent.(Rule).Ruling
		r.Warnings = append(r.Warnings[:len(r.Warnings):len(r.Warnings)], o.Warnings...)
		return r
	case o.Err != nil && o.Anyway:
		warnings := append(o.Warnings[:len(o.Warnings):len(o.Warnings)], "drafted without running its functions, which fail: it cannot be approved")
		return Ruling{Decision: Draft{As: b.As, Ref: o.Ref}, Err: o.Err, Reasons: b.Reasons, Warnings: warnings}
	case o.Err != nil:
		return Ruling{Decision: Fail{}, Err: o.Err, Warnings: o.Warnings}
	case !o.Tried && o.Last.fails(o.From, b.Inputs):
		return Ruling{Decision: Fail{}, Err: Stalled("%s", o.Last.Failure), Warnings: o.Warnings, Since: o.Last.At}
	case o.Same:
		return Ruling{Decision: Nothing{}, Warnings: o.Warnings}
	case o.Back:
		reason := "nothing is left of it: the package is to be what " + RevisionName(o.Package.Latest.Number) + " is"
		return Ruling{Decision: Discard{Revision: o.From, Withdrawn: true}, Reasons: append(b.Reasons[:len(b.Reasons):len(b.Reasons)], reason), Warnings: o.Warnings}
	}
	d := Draft{As: b.As, Ref: o.Ref}
	if b.As == ActionUpdate {
		d.From = o.From
	}
	reasons := b.Reasons
	if o.Furnished {
		reasons = append(reasons[:len(reasons):len(reasons)], Furnished)
	}
	return Ruling{Decision: d, Reasons: reasons, Warnings: o.Warnings}
}

// candidate reports whether a revision is one that would be published if it were
// the only one. What was to be built counts whatever came of it.
func candidate(r Ruling) bool {
	return r.Publish || r.considered
}

// publish decides about a revision whose activation is Automatic.
func (a Activation) publish(o *Outcome, r Ruling) Ruling {
	_, build := o.Intent.(Build)
	r.considered = build
	switch r.Decision.(type) {
	case Draft:
		if r.Err != nil {
			return r
		}
		if !o.Tried {
			r.Publish = true
			return r
		}
		if why := a.held(o, o.NeedsReview()); why != "" {
			r.Warnings = append(r.Warnings, why)
			return r
		}
		r.Publish = true
		r.Reasons = append(r.Reasons[:len(r.Reasons):len(r.Reasons)], atOnceReason)
		return r
	case Nothing:
		return a.publishThere(o, r)
	default:
		return r
	}
}

// publishThere decides about an open revision that is up to date.
func (a Activation) publishThere(o *Outcome, r Ruling) Ruling {
	if o.From == nil || !o.From.Phase.Open() || o.Package.Rollout != "" {
		return r
	}
	if o.From.Phase == lifecycle.Proposed {
		r.Decision, r.Reasons = Wait{}, []string{"proposed by a person: approve it, or reject it"}
		return r
	}
	why := a.held(o, o.From.NeedsReview())
	if invalid := NotValid(o.From.Invalid()); why == "" && !o.Tried && invalid != "" { // no build is needed for that
		why = automatic + invalid
	}
	if why != "" {
		r.Decision, r.Reasons = Wait{}, []string{why}
		return r
	}
	r.Decision, r.Reasons, r.Publish = Publish{o.From}, []string{"activation is Automatic"}, true
	return r
}

// Proves reports whether a revision that needs no build would be published, so
// that it has to be proved first.
func (a Activation) Proves(o *Outcome) bool {
	_, build := o.Intent.(Build)
	return !build && a.Policies.Of(o.Identity).Automatic && a.publish(o, o.ruling()).Publish
}

// choose says what a person is to do about several Drafts.
func choose(r Ruling) Ruling {
	return r.Withheld("the package has several Drafts: approve one, and delete the others")
}

// Withheld is a ruling that publishes nothing, and why.
func (r Ruling) Withheld(why string) Ruling {
	r.Publish = false
	switch r.Decision.(type) {
	case Publish, Nothing, Wait:
		r.Decision, r.Reasons = Wait{}, []string{automatic + why}
	default:
		r.Reasons = slices.DeleteFunc(slices.Clone(r.Reasons), func(s string) bool { return s == atOnceReason })
		r.Warnings = append(r.Warnings[:len(r.Warnings):len(r.Warnings)], automatic+why)
	}
	return r
}
