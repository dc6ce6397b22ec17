package decide

import "github.com/variform/variform/internal/lifecycle"

// Question is all that goes into what becomes of one revision of a wanted
// package before anything is built.
type Question struct {
	*Want
	Work
	Repo    *Repository
	Package *Package
	// Parts are the inputs of now.
	Parts Parts
	// Source names the upstream for people, "catalog/web@v2"; of a lock, "".
	Source string
	// Unfilled has a line for each injection point that nothing fills.
	Unfilled []string
	// Alone says that dependencies are left alone in this run: what is built
	// gets no values of other packages.
	Alone bool
	// Doubt is why values of other packages that changed are not to be trusted,
	// "" where they are.
	Doubt string
	// Fruitless reports whether a build of these inputs upon that revision came
	// to nothing before; nil knows of none.
	Fruitless func(key string) bool
}

// Intent is what a revision needs: a closed sum of Build and Rule.
type Intent interface{ intent() }

// Build says that the package is to be built and compared with what is there.
type Build struct {
	As      Action // ActionCreate, ActionUpdate or ActionRedraft
	Reasons []string
	Inputs  Inputs
	// Key identifies the build, where it comes to nothing: the inputs and what
	// they were applied to.
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
	switch {
	case q.merged():
		return Rule{ruled(Tag{Ref: q.nextTag(), Draft: q.From},
			"merged into "+q.Repo.Branch+" by other means: becomes "+RevisionName(q.Package.Next()))}
	case q.Adopt && q.From.Phase == lifecycle.DeletionProposed:
		return Rule{ruled(Wait{}, RevisionName(q.From.Number)+" is proposed for deletion although the variant is wanted: reject the deletion")}
	case !ok:
		return q.unchanged()
	}
	recorded, newest := q.recorded(), q.Package.Newest()
	then := q.Parts.Inputs(recorded)
	if q.From != nil && q.Doubt != "" && q.From.Inputs.Values != then.Values {
		return Rule{failed(Stalled("%s, so that its values, which would change, are not trusted", q.Doubt))}
	}
	parts := q.Parts
	if q.Alone && q.From != nil && q.From.Inputs.Values != "" {
		// What is built without its values is not what the next whole run would build.
		parts.Values = "left"
	}
	b.Inputs = parts.Inputs(newest)
	if q.From != nil {
		b.Key = Digest("unchanged", b.Inputs.Digest, q.From.Ref.Commit.String(), q.Package.Path)
		if q.Fruitless != nil && !q.Invoked && (q.From.Number > 0 || !q.Behind()) && q.Fruitless(b.Key) {
			return q.unchanged()
		}
	}
	return b
}

func (q Question) nextTag() string { return lifecycle.PublishedRef(q.Package.Path, q.Package.Next()) }

// recorded is the Published revision that went into what is there.
func (q Question) recorded() *Published {
	if q.From == nil {
		return nil
	}
	return q.Package.Tagged(q.From.Inputs.Published)
}

// unchanged leaves the revision; what is built anew says itself what it lacks.
func (q Question) unchanged() Intent {
	return Rule{Ruling{Decision: Nothing{}, Warnings: q.Unfilled}}
}

// changed says what is to be built and why; false where nothing calls for it.
func (q Question) changed() (Build, bool) {
	from, then := q.From, q.Parts.Inputs(q.recorded())
	as, adopted := ActionUpdate, "adopted"
	if from != nil && from.Number > 0 {
		as, adopted = ActionRedraft, "adopted from "+RevisionName(from.Number)
	}
	lock := q.Lock()
	switch {
	case from == nil:
		return Build{As: ActionCreate, Reasons: q.reasons(then)}, true
	case q.Adopt:
		return Build{As: as, Reasons: []string{adopted}}, true
	case from.Inputs.Digest != then.Digest:
		return Build{As: as, Reasons: q.reasons(then)}, true
	case from.Number == 0 && q.Behind():
		return Build{As: as, Reasons: []string{RevisionName(q.Package.Newest().Number) + " was published since"}}, true
	case from.Number == 0 && lock != nil && lock.edited(from):
		return Build{As: as, Reasons: q.reasons(then)}, true
	case q.Invoked:
		return Build{As: as, Reasons: []string{invokedReason}}, true
	}
	return Build{}, false
}

// Behind reports whether a revision was published after the one that an open
// Draft started from.
func (q Question) Behind() bool {
	newest := q.Package.Newest()
	return newest != nil && (q.Since == nil || q.Since.Number < newest.Number)
}

// reasons tell why a revision is made.
func (q Question) reasons(now Inputs) []string {
	lock := q.Lock()
	switch {
	case lock != nil:
		return lock.reasons(q.From)
	case q.From != nil:
		return Why(q.From.Inputs, now, q.Source)
	case len(q.Needs) > 0:
		return []string{"new: from " + q.Source + ", needed by " + joined(Limit(q.Needs, 3))}
	}
	return []string{"new: from " + q.Source}
}

// merged reports whether an open Draft's content stands in the registered
// branch though no revision says so: a pull request was merged on a forge.
func (q Question) merged() bool {
	if q.From == nil || q.From.Number > 0 || q.Adopt {
		return false
	}
	there, known := q.Package.Tree(q.Repo.Head)
	if !known || there.IsZero() {
		return false
	}
	if newest := q.Package.Newest(); newest != nil {
		if published, known := q.Package.Tree(newest.Ref.Commit); !known || there == published {
			return false
		}
	}
	draft, known := q.Package.Tree(q.From.Ref.Commit)
	return known && draft == there
}
