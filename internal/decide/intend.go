package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
	"github.com/variform/variform/resolver"
)

// Question is all that goes into what becomes of one revision of a wanted
// package before anything is built.
type Question struct {
	*Want
	Work
	Owner   string // how the variant signs
	Repo    *Repository
	Package *Package
	// Parts are the inputs of now.
	Parts Parts
	// Source names the upstream for people, "catalog/web@v2"; of a lock, "".
	Source string
	// Unfilled has a line for each injection point that nothing fills.
	Unfilled []string
	// Doubt is why values of other packages that changed are not to be trusted,
	// "" where they are.
	Doubt string
	// Fruitless reports whether a build of these inputs upon that revision came
	// to nothing before; nil knows of none.
	Fruitless func(key string) bool
	// Unrendered says that pipelines are left unrun, Unkept that nothing is
	// remembered of what was built but by Fruitless.
	Unrendered, Unkept bool
	// Alone says that dependencies are left alone in this run: what is built
	// gets no values of other packages.
	Alone bool
	// Automatic says that it is published unattended.
	Automatic bool
	// Proven and Own are what this machine states of an open one's commit: it is a build, and
	// it is its own, of a build and edits. Gave reports that a build of the inputs of now upon
	// the commit gave what it holds. See [Question.Confirm].
	Proven, Own, Gave bool
	// Surveyed reports that nothing is built in this run. What a run would do is as the record
	// has it then; what is proved is not.
	Surveyed bool
	// Last is the last build upon that revision that gave no commit, nil where
	// none is known. The record has it: this machine believes of an open one what it
	// Gave too.
	Last *Built
}

// Intent is what a revision needs: a closed sum of Build and Rule.
type Intent interface{ intent() }

// Build says that the package is to be built and compared with what is there.
type Build struct {
	As      Action // ActionCreate, ActionUpdate or ActionRedraft
	Reasons []string
	Inputs  Inputs
	// Key identifies the build, where it comes to nothing: the inputs and what
	// they were applied to. Of one that drops edits it is "".
	Key string
}

// Rule says what becomes of the revision without building.
type Rule struct{ Ruling }

func (Build) intent() {}
func (Rule) intent()  {}

const invokedReason = "rendered again, as was asked for"

// Intend compares the inputs recorded with the revision with those of now.
func Intend(q Question) Intent {
	b, ok := q.changed()
	if len(q.Drop) > 0 {
		b.Reasons = append(b.Reasons, "without the edit by hand of "+strings.Join(q.Drop, ", of ")+", as was asked for")
		ok = true
	}
	respected, waits := q.respected()
	switch {
	case q.Adopt && q.From.Phase == lifecycle.DeletionProposed:
		return Rule{ruled(Wait{}, RevisionName(q.From.Number)+" is proposed for deletion although the variant is wanted: reject the deletion")}
	case waits:
		return respected
	case !ok:
		return q.unchanged()
	}
	if newer, ok := q.newer(); ok {
		return newer
	}
	for _, s := range []string{q.brings(), q.takes()} {
		if s != "" {
			b.Reasons = append(b.Reasons, s)
		}
	}
	if q.From != nil && q.Doubt != "" && q.From.Inputs.Values != q.Parts.Values {
		return Rule{failed(Stalled("%s, so that its values, which would change, are not trusted", q.Doubt))}
	}
	b.Inputs = q.inputs(q.Parts)
	if rule, waits := q.discarded(); waits && len(q.Drop) == 0 {
		return rule
	}
	if q.From != nil && len(q.Drop) == 0 {
		of := []string{"unchanged", b.Inputs.Digest, q.From.Ref.Commit.String(), q.Package.Path}
		if b.Inputs.Points != "" {
			of = append(of, b.Inputs.Points)
		}
		b.Key = Digest(of...)
		known := q.proved(b.Inputs) || (q.Unkept || !q.remembered()) && q.Fruitless != nil && q.Fruitless(b.Key)
		if known && !q.Keeps() && !q.Invoked && !q.Rehydrate && (q.From.Number > 0 || !q.Behind()) {
			return q.unchanged()
		}
	}
	return b
}

// inputs are those of a build of these parts.
func (q Question) inputs(parts Parts) Inputs {
	if q.Alone && q.From != nil && q.From.Inputs.Values != "" {
		// What is built without its values is not what the next whole run would build.
		parts.Values = "left"
	}
	in := parts.Inputs(q.Package.Newest()).On(q.Package.Branch.Main())
	in.Keep = q.KeepEdits
	return in
}

// WithoutRendering is a build of a new Draft with its pipelines left unrun, since running
// them fails; false of an open one, which stays as it is.
func (q Question) WithoutRendering(b Build) (Build, bool) {
	parts := q.Parts
	parts.Functions, parts.Versions = []string{NotRendered}, []string{NotRendered}
	b.Inputs = q.inputs(parts)
	return b, BuiltAs(q.From) == "" && len(q.Drop) == 0 && len(q.Parts.Functions) > 0
}

// recorded is the Published revision that went into what is there.
func (q Question) recorded() *Published {
	if q.From == nil {
		return nil
	}
	return q.Package.Tagged(q.From.Inputs.Published)
}

// unchanged leaves the revision; what is built anew says itself what it lacks.
func (q Question) unchanged() Intent {
	r := Ruling{Decision: Nothing{}, Warnings: q.Unfilled}
	if b := q.Package.Branch; b != nil && q.From != nil && q.From.Number > 0 {
		r.Reasons = []string{q.Repo.Branch + " moved since " + RevisionName(q.From.Number) + b.by() + ": the next revision takes that along, and approve --main publishes it alone"}
	}
	return Rule{r}
}

// changed says what is to be built and why; false where nothing calls for it.
func (q Question) changed() (Build, bool) {
	from := q.From
	if from == nil {
		return Build{As: ActionCreate, Reasons: q.reasons(Inputs{})}, true // there are none to compare
	}
	then := q.Parts.Inputs(q.recorded()).On(from.Inputs.Main)
	as, adopted := ActionUpdate, "adopted"
	if from.Number > 0 {
		as, adopted = ActionRedraft, "adopted from "+RevisionName(from.Number)
	}
	lock := q.Lock()
	switch {
	case q.Adopt:
		if made, ok := q.Package.replaced(from); ok {
			adopted += ": " + replacedBy(from, made)
		}
		return Build{As: as, Reasons: []string{adopted}}, true
	case from.Inputs.Digest == "" && q.Unbuilt():
		return Build{As: as, Reasons: []string{mergedReason}}, true
	case from.Inputs.Points != then.Points, !q.made(from.Inputs, then, q.recorded()):
		return Build{As: as, Reasons: q.reasons(then)}, true
	case from.Number == 0 && q.overtaken():
		return Build{As: as, Reasons: []string{RevisionName(q.Package.Newest().Number) + " was published since"}}, true
	case from.Number == 0 && q.Package.Spent(from):
		return Build{As: as, Reasons: []string{"workspace " + from.Workspace + " is " + RevisionName(q.Package.Latest.Number) + " already"}}, true
	case from.Number == 0 && q.Behind():
		return Build{As: as, Reasons: []string{q.Repo.Branch + " moved since it was made" + q.Package.Branch.by()}}, true
	case q.Keeps():
		return Build{As: as, Reasons: []string{keepsReason}}, true
	case from.Number == 0 && lock != nil && lock.edited(from):
		return Build{As: as, Reasons: q.reasons(then)}, true
	case from.Number == 0 && q.Automatic && from.Inputs.Functions != then.Functions:
		return Build{As: as, Reasons: q.reasons(then)}, true
	case q.edited():
		return Build{As: as, Reasons: []string{"edited by hand (" + from.Ref.Commit.String()[:7] + "): rendered and validated"}}, true
	case from.Number > 0 && q.Package.Branch.undone() && (q.Recreate || q.Retry), from.Reverts() != "" && q.Retry:
		return Build{As: as, Reasons: []string{"made again, as was asked for"}}, true
	case q.Unbuilt():
		return Build{As: as, Reasons: []string{mergedReason}}, true
	case q.Invoked:
		return Build{As: as, Reasons: []string{invokedReason}}, true
	case q.Rehydrate && from.Inputs.Functions != then.Functions:
		return Build{As: as, Reasons: q.reasons(then)}, true
	case q.Rehydrate && lock == nil && q.hydration() < Hydration:
		return Build{As: as, Reasons: []string{fmt.Sprintf("made by an earlier version, hydration version %d now", Hydration)}}, true
	}
	return Build{As: as}, false
}

// keepsReason is why a Draft is made again of which Keeps says so.
const keepsReason = "edits by hand are to be kept now"

// Keeps says of an open revision that edits of what it updates, which it may have
// overruled, are to be kept now. It is committed with [Inputs.Keep] whatever comes of it:
// what people do to it from then on stands.
func (q Question) Keeps() bool {
	p := q.Package
	if q.From == nil || q.From.Number > 0 || p.Latest == nil || !q.KeepEdits || q.From.Inputs.Keep || q.Lock() != nil {
		return false
	}
	return q.From.Inputs.Main != "" || p.PublishedEdited() || len(p.Entries) == 0 // no record tells
}

// discarded waits where a person discarded a Draft of these very inputs, whatever was
// Published or committed to the branch since.
func (q Question) discarded() (Rule, bool) {
	if q.Retry || q.Recreate || q.From != nil && q.From.Number == 0 {
		return Rule{}, false
	}
	for _, s := range q.Package.sayings() {
		if d := s.Discarded; d != nil && q.as(s).discards(*d) {
			return Rule{ruled(Wait{}, fmt.Sprintf("discarded by %s%s: %s: apply --retry %s drafts it again", d.By, s.whose(), d.Reason, q.Identity))}, true
		}
	}
	return Rule{}, false
}

// discards reports whether a word is about a Draft of the inputs of now, for whichever
// set that was made.
func (q Question) discards(d record.Word) bool {
	then := ParseInputs(d.Inputs)
	if q.readsDiscarded() {
		q.Parts.Values = then.Values
	}
	upon, was := q.Package.Tagged(then.Published), *q.Want
	was.Set, was.MadeFor = d.Set, d.For
	for _, q.Want = range []*Want{q.Want, &was} {
		if q.made(then, q.Parts.Inputs(upon).On(then.Main), upon) {
			return true
		}
	}
	return false
}

// as is the question of the variant as another's record has it: who owns it, and
// what set it comes from, is among the inputs.
func (q Question) as(s Saying) Question {
	if s.In != nil {
		w := *q.Want
		w.Set, w.MadeFor = s.Set, s.For
		q.Want, q.Owner = &w, s.Owner
	}
	return q
}

// readsDiscarded says that a package which gives it values was discarded too: they
// are others for that, and make it no other package.
func (q Question) readsDiscarded() bool {
	res := q.Resolution()
	if res == nil {
		return false
	}
	return slices.ContainsFunc(res.Reads(q.Ref), func(o resolver.OutputRef) bool {
		w := q.Target.Wants[o.Instance]
		if w == nil {
			return false
		}
		return slices.ContainsFunc(q.Repo.Package(q.Repo.Path(w.Package)).sayings(), func(s Saying) bool { return s.Discarded != nil })
	})
}

// made reports whether recorded inputs are these, but for the deletion policy
// and, of what is Published, the set and whom it was made for: they are part of the
// digest, and make no Draft by themselves (see Restated). Digests of earlier versions of this program had those of
// built-in functions.
func (q Question) made(was, of Inputs, published *Published) bool {
	switch {
	case was.Digest == of.Digest:
		return true
	case was.Upstream != "" && was.Upstream != of.Upstream, was.Context != "" && was.Context != of.Context:
		return false // no other policy or version makes that the same
	}
	pv, older := q.Variant(), q.Parts
	older.Functions = older.Versions
	is := func(p Parts) bool { return p.Inputs(published).On(was.Main).Digest == was.Digest }
	if pv == nil || !q.Repo.Records { // where no record tells them, a Draft does
		return is(older)
	}
	for _, policy := range []v1alpha1.DeletionPolicy{"", v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan} {
		for _, w := range q.reasonsToBe() {
			other := *pv
			other.Spec.DeletionPolicy = policy
			spec, err := SpecDigest(&other, q.Owner, w.set, w.madeFor)
			if err != nil {
				continue
			}
			for _, parts := range []Parts{q.Parts, older} {
				if parts.Spec = spec; is(parts) {
					return true
				}
			}
		}
	}
	return false
}

// reason is why a package is there: the set that wants it, and whom it was made for.
type reason struct{ set, madeFor string }

// reasonsToBe are that of now and, of what is Published, those that the record has. A
// Draft is proved with that of now.
func (q Question) reasonsToBe() []reason {
	out := []reason{{q.Set, q.MadeFor}}
	if q.From != nil && q.From.Number == 0 {
		return out
	}
	for _, e := range q.Package.Entries {
		if r := (reason{e.Set, e.For}); !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// Behind reports whether the registered branch holds something else than what an
// open Draft started from: a revision published since, the Draft itself as it was
// once, or what others committed.
func (q Question) Behind() bool {
	main := q.Package.Branch.Main()
	switch {
	case q.overtaken(), q.Package.Spent(q.From):
		return true
	case q.From == nil || q.Package.Latest == nil || main == q.From.Inputs.Main:
		return false
	}
	return main != deleted || q.Recreate
}

// overtaken reports whether a revision was published after the one that an open
// Draft started from.
func (q Question) overtaken() bool {
	newest := q.Package.Newest()
	return newest != nil && (q.Since == nil || q.Since.Number < newest.Number)
}

// respected is what people did to the package: one whose Draft they replaced waits, so
// does one that they deleted or moved on the registered branch, and one that they set
// back until its inputs are others.
func (q Question) respected() (Rule, bool) {
	if rule, waits := q.replaced(); waits {
		return rule, true
	}
	b := q.Package.Branch
	switch gone := PublishedOnce(q.Package); {
	case q.From == nil && b.Deleted() && !q.Recreate && !q.Derived && q.Lock() == nil: // what others need comes again
		return Rule{ruled(Wait{}, fmt.Sprintf("%s was Published, its tag is missing, and the package is deleted on %s: apply --recreate %s makes it again, or take its variant away", RevisionName(gone.Number), q.Repo.Branch, q.Identity))}, true
	case q.From == nil || q.Adopt || b == nil || q.From.Number == 0 && q.From.Inputs.Main == b.Main(): // or was drafted upon that
	case b.Main() == deleted && q.Package.Latest != nil && !q.Recreate:
		return Rule{ruled(Wait{}, b.away(q.Want, q.Repo))}, true
	case b.Reverted != nil && !q.Retry && !q.since():
		return Rule{ruled(Wait{}, fmt.Sprintf("set back to %s on %s%s: apply --retry %s drafts what was set back again", RevisionName(b.Reverted.Number), q.Repo.Branch, b.by(), q.Identity))}, true
	}
	return q.reverted()
}

// since says that the inputs of now are known to be others than those of what was
// Published last.
func (q Question) since() bool {
	was := q.Package.Latest.Inputs
	upon := q.Package.published(was.Published)
	known := was.Digest != "" && (upon != nil || was.Published == "")
	return known && !q.made(was, q.Parts.Inputs(upon).On(was.Main), upon)
}

// brings says that a build brings along what people took back, "" where it does not,
// or they asked for that.
func (q Question) brings() string {
	b := q.Package.Branch
	switch {
	case q.Retry || q.From == nil:
	case b != nil && b.Reverted != nil && (q.From.Number > 0 || q.From.Inputs.Main != b.Main()):
		return fmt.Sprintf("brings what %s held with it, though it was set back to %s on %s%s", RevisionName(q.Package.Latest.Number), RevisionName(b.Reverted.Number), q.Repo.Branch, b.by())
	// Set back to the revision just before, it had lost what stood on the branch alone.
	case q.From.Number > 0 && q.From.Reverts() != "" && !q.From.revertsTo(RevisionName(q.From.Number-1)):
		return "brings what was taken back with it, though it was set back to " + q.From.Reverts()
	}
	return ""
}

// takes says that a new Draft takes along what others committed to the branch since
// the latest revision, "" where they did not, or took it back.
func (q Question) takes() string {
	if b := q.Package.Branch; b.Moved() && q.From != nil && q.From.Number > 0 && !q.Adopt {
		return fmt.Sprintf("with what is on %s since %s%s", q.Repo.Branch, RevisionName(q.From.Number), b.by())
	}
	return ""
}

// NoPackage is the failure of an open revision that holds no package any more.
func (q Question) NoPackage() error {
	way := "remove the Draft with: variform discard " + q.Identity.String() + " --reason TEXT"
	if q.Adopt {
		way = "delete that branch"
	}
	return Stalled("%s has no package in %s any more, its folder or its Kptfile was removed%s: restore it there, or, if nothing on that branch is to be kept, %s", q.From.Ref.Short(), q.Package.Path, q.From.lastBy(), way)
}

// undone says that a person took back what was Published.
func (b *Branch) undone() bool { return b != nil && (b.Tree.IsZero() || b.Reverted != nil) }

// Moved says that others committed to the package on the branch, and took back
// nothing that was Published.
func (b *Branch) Moved() bool { return b != nil && !b.undone() }

// by names who brought what stands on the branch.
func (b *Branch) by() string {
	switch {
	case b == nil:
		return ""
	case b.Rewritten:
		return " (its history was rewritten)"
	case b.By == "":
		return ""
	}
	return " by " + b.By
}

// reasons tell why a revision is made.
func (q Question) reasons(now Inputs) []string {
	lock := q.Lock()
	switch {
	case lock != nil:
		return lock.reasons(q.From)
	case q.From != nil && q.rewritten() && !q.From.Inputs.Fits(now):
		return []string{q.amended()}
	case q.From != nil:
		return Why(q.From.Inputs, now, q.Source)
	case len(q.Needs) > 0:
		return []string{"new: from " + q.Source + ", needed by " + joined(Limit(q.Needs, 3))}
	}
	return []string{"new: from " + q.Source}
}
