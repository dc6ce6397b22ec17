package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
)

// Shown is everything that waits for a person, in classes.
type Shown struct {
	Report *review.Report
	// Revisions are the members by the names that the report has for them.
	Revisions map[string]*reconcile.Shown
	// Problems are what could not be read, or not be shown whole.
	Problems []error
}

// Show groups what is open.
func Show(ctx context.Context, e *reconcile.Engine) (*Shown, error) {
	open, problems, err := e.Open(ctx)
	if err != nil {
		return nil, err
	}
	s := &Shown{Revisions: map[string]*reconcile.Shown{}, Problems: problems}
	changes := make([]review.Change, 0, len(open))
	for _, r := range open {
		change := r.Change()
		if _, taken := s.Revisions[change.Variant]; taken {
			change.Variant += "/" + r.Workspace
		}
		s.Revisions[change.Variant] = r
		changes = append(changes, change)
		for _, w := range r.Warnings {
			s.Problems = append(s.Problems, fmt.Errorf("%s: %s", r.Identity, w))
		}
	}
	s.Report, err = review.Classify(changes)
	return s, err
}

// Findings are what is to be known of the members of these classes before they are
// decided; what several have in common is one finding.
func (s *Shown) Findings(classes []review.Class) []review.Finding {
	var notes []review.Note
	for _, c := range classes {
		for _, name := range c.Members {
			r := s.Revisions[name]
			for _, n := range r.Notes {
				notes = append(notes, review.Note{Kind: review.Warning, Message: n, Variant: name, Aliases: r.Change().Aliases})
			}
		}
	}
	return review.Group(notes)
}

// ErrClass says that a class cannot be decided as it was shown.
var ErrClass = errors.New("the class is not what was shown")

// classError is an ErrClass with its reason.
type classError struct{ error }

func (classError) Is(target error) bool { return target == ErrClass }

// absent says why there is no class with an ID, and which has its key now.
func (s *Shown) absent(id string) error {
	key, shown, exact := strings.Cut(id, "@")
	now := s.Report.Keyed(key)
	switch {
	case now == nil:
		return fmt.Errorf("no class %s: its members have changed since it was shown, or were decided; run review again", id)
	case !exact || shown == "":
		return fmt.Errorf("class %s has %s now: say which members were seen, with the whole ID %s", key, count.Of(len(now.Members), "member"), now.ID)
	}
	return fmt.Errorf("no class %s: its members have changed since it was shown, or were decided; run review again: it has %s now, as %s", id, count.Of(len(now.Members), "member"), now.ID)
}

// Classes are the commits to decide for the classes with these IDs, together:
// each exactly as it was shown, or none of them. Members that the decision does
// not apply to, a Draft among what is to be rejected, are left out.
func (s *Shown) Classes(d decide.Verb, ids ...string) (map[decide.RevisionID]string, error) {
	expect := map[decide.RevisionID]string{}
	var errs []error
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		class := s.Report.Find(id)
		if class == nil {
			errs = append(errs, s.absent(id))
			continue
		}
		n := len(expect)
		for _, m := range class.Members {
			if r := s.Revisions[m]; d.Applies(r.Phase) {
				expect[decide.RevisionID{Identity: r.Identity, Workspace: r.Workspace}] = r.Commit
			}
		}
		if len(expect) == n {
			errs = append(errs, fmt.Errorf("class %s has nothing to %s", id, d))
		}
	}
	if len(errs) > 0 {
		return nil, classError{errors.Join(append(errs, s.Problems...)...)}
	}
	return expect, nil
}
