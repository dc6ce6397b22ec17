package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/provenance"
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

	classes review.Classifier
}

// Show groups what is open.
func Show(ctx context.Context, e *reconcile.Engine) (*Shown, error) {
	return show(ctx, e, func(string, *reconcile.Shown, *review.Compared) {})
}

// show tells each of what is open as it comes.
func show(ctx context.Context, e *reconcile.Engine, each func(name string, r *reconcile.Shown, changes *review.Compared)) (*Shown, error) {
	s := &Shown{Revisions: map[string]*reconcile.Shown{}}
	var incomplete []error
	sets, problems, err := e.Open(ctx, func(r *reconcile.Shown, changes *review.Compared) {
		name := r.Identity.String()
		if _, taken := s.Revisions[name]; taken {
			name += "/" + r.Workspace
		}
		s.Revisions[name] = r
		s.classes.Add(name, changes)
		each(name, r, changes)
		for _, w := range r.Warnings {
			incomplete = append(incomplete, fmt.Errorf("%s: %s", r.Identity, w))
		}
	})
	if err != nil {
		return nil, err
	}
	s.classes.Sets, s.Problems = sets, append(problems, incomplete...)
	s.Report, err = s.classes.Report()
	return s, err
}

// Explain makes the examples of these classes once more, for where their values come
// from, which the Report has then. A note of each example that cannot be explained says
// why. What stops all of them is among the Problems.
func (s *Shown) Explain(ctx context.Context, e *reconcile.Engine, classes []review.Class) error {
	example, ids := map[decide.Identity]string{}, []decide.Identity{}
	for _, c := range classes {
		if r := s.Revisions[c.Example]; r.Phase != lifecycle.DeletionProposed {
			example[r.Identity], ids = c.Example, append(ids, r.Identity)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	type made struct {
		*krm.Package
		*provenance.Origins
	}
	blamed, problems, err := reconcile.Explain(ctx, e, ids, func(p *krm.Package, from *provenance.Origins) made { return made{p, from} })
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // the review itself is whole
		s.Problems = append(s.Problems, fmt.Errorf("where values come from: %w", err))
		return nil
	}
	s.Problems = append(s.Problems, problems...)
	for _, b := range blamed {
		name, ok := example[b.Identity]
		if !ok {
			continue
		}
		why := b.Err
		if b.Taken.Package != nil {
			why = s.classes.Explain(name, b.Taken.Package, b.Taken.Origins)
		}
		if why != nil {
			r := s.Revisions[name]
			r.Notes = append(r.Notes, fmt.Sprintf("where its values come from is not known: %v", why))
		}
	}
	s.Report, err = s.classes.Report()
	return err
}

// Findings are what is to be known of the members of these classes before they are
// decided; what several have in common is one finding.
func (s *Shown) Findings(classes []review.Class) []review.Finding {
	return review.Group(s.Notes(classes))
}

// Parts are the classes of all that is shown, where that is a part of a fleet.
func (s *Shown) Parts() (*review.Parts, error) { return s.classes.Parts() }

// Notes are what Findings are made of.
func (s *Shown) Notes(classes []review.Class) []review.Note {
	var notes []review.Note
	for _, c := range classes {
		for _, name := range c.Members {
			r := s.Revisions[name]
			for _, n := range r.Notes {
				notes = append(notes, review.Note{Kind: review.Warning, Message: n, Variant: name, Aliases: r.Aliases()})
			}
		}
	}
	return notes
}

// ErrUnknown says that nothing that is open is what was asked for.
var ErrUnknown = errors.New("run review without arguments to see what is open")

// Select keeps the classes that a selection means: those with a member of that
// name, those labels and that age, whole, for that is how they are approved. Among
// the names may be IDs and keys of classes, or how they begin.
func (s *Shown) Select(sel decide.Selection) (*review.Report, error) {
	if sel.All() {
		return s.Report, nil
	}
	rest := decide.Selection{Labels: sel.Labels, Since: sel.Since}
	names, classes := []string{}, map[string]bool{}
	for _, n := range sel.Names {
		if _, missing := s.members(decide.Selection{Names: []string{n}}); len(missing) == 0 {
			names = append(names, n)
			continue
		}
		switch class, err := s.abbreviated(n); {
		case err != nil:
			return nil, err
		case class == nil:
			return nil, fmt.Errorf("no class and no open revision is called %q: %s%w", n, s.nearest(n), ErrUnknown)
		default:
			classes[class.ID] = true
		}
	}
	fitting, _ := s.members(rest)
	chosen := fitting
	if len(sel.Names) > 0 {
		rest.Names, chosen = names, nil
		if len(names) > 0 {
			chosen, _ = s.members(rest)
		}
	}
	var out []review.Class
	for _, c := range s.Report.Classes {
		if anyOf(chosen, c.Members) || classes[c.ID] && anyOf(fitting, c.Members) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("nothing of that is open %s: %w", sel, ErrUnknown)
	}
	return s.Report.Of(out), nil
}

func anyOf(set map[string]bool, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return set[n] })
}

// members are those of a selection.
func (s *Shown) members(sel decide.Selection) (members map[string]bool, missing []string) {
	chosen, missing := decide.Meant(sel, slices.Sorted(maps.Keys(s.Revisions)), func(name string) decide.Selectable {
		return named(name, s.Revisions[name])
	})
	members = map[string]bool{}
	for _, name := range chosen {
		members[name] = true
	}
	return members, missing
}

// nearest is the open revision that may have been meant, and "".
func (s *Shown) nearest(name string) string {
	var names []string
	for at, r := range s.Revisions {
		names = append(names, named(at, r).Names()...)
	}
	slices.Sort(names)
	hint := decide.Hint(name, names, "")
	if hint != "" {
		hint += " "
	}
	return hint
}

// named is what a selection of a revision goes by: its name in the report too.
func named(name string, r *reconcile.Shown) decide.Selectable {
	at := r.Selectable
	names := at.Names
	at.Names = func() []string { return append(names(), name) }
	return at
}

// Bounds of what stands for a class: as short as Git has it for the key, and long
// enough that nobody makes another one for what was shown.
const (
	shortestKey   = 4
	shortestShown = 8
)

var abbreviation = lazyregexp.New(`^[0-9a-f]{4,12}(@[0-9a-f]*)?$`)

// abbreviated finds the class whose ID or key a text is or begins, nil where it is
// none; one that begins several is an error that names them.
func (s *Shown) abbreviated(text string) (*review.Class, error) {
	key, shown, exact := strings.Cut(text, "@")
	if !abbreviation.MatchString(text) || exact && len(shown) < shortestShown {
		return nil, nil
	}
	var found []*review.Class
	for i := range s.Report.Classes {
		c := &s.Report.Classes[i]
		k, id, _ := strings.Cut(c.ID, "@")
		if strings.HasPrefix(k, key) && strings.HasPrefix(id, shown) {
			found = append(found, c)
		}
	}
	if len(found) < 2 {
		return first(found), nil
	}
	var ids []string
	for _, c := range found {
		ids = append(ids, fmt.Sprintf("%s (%s)", c.ID, c.Says))
	}
	return nil, fmt.Errorf("%q begins %d classes: %s", text, len(found), strings.Join(decide.Limit(ids, maxNamed), "; "))
}

// maxNamed is how many classes an error names.
const maxNamed = 5

func first(list []*review.Class) *review.Class {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// ErrClass says that a class cannot be decided as it was shown.
var ErrClass = errors.New("the class is not what was shown")

// classError is an ErrClass with its reason.
type classError struct{ error }

func (classError) Is(target error) bool { return target == ErrClass }

// absent says why there is no class with an ID, and which has its key now.
func (s *Shown) absent(id string) error {
	key, shown, exact := strings.Cut(id, "@")
	now, err := s.abbreviated(key)
	switch {
	case err != nil:
		return err
	case now == nil:
		return fmt.Errorf("no class %s: its members have changed since it was shown, or were decided; run review again", id)
	case !exact || shown == "":
		return fmt.Errorf("class %s has %s now: say which members were seen, with the whole ID %s", key, count.Of(len(now.Members), "member"), now.ID)
	case len(shown) < shortestShown:
		return fmt.Errorf("class %s: at least %d characters after the @ say which members were seen: give %s", id, shortestShown, now.ID)
	}
	return fmt.Errorf("no class %s: its members have changed since it was shown, or were decided; run review again: it has %s now, as %s", id, count.Of(len(now.Members), "member"), now.ID)
}

// Classes are the revisions to decide for the classes with these IDs, together:
// each exactly as it was shown, or none of them. An ID may be shortened, as Git's
// names are. Members that the decision does
// not apply to, a Draft among what is to be rejected, are left out.
func (s *Shown) Classes(d decide.Verb, ids ...string) (map[decide.RevisionID]decide.Seen, error) {
	expect := map[decide.RevisionID]decide.Seen{}
	var errs []error
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		var class *review.Class
		if strings.Contains(id, "@") { // a key alone says not what was seen
			var err error
			if class, err = s.abbreviated(id); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		if class == nil {
			errs = append(errs, s.absent(id))
			continue
		}
		before := len(expect)
		for _, m := range class.Members {
			if r := s.Revisions[m]; d.Applies(r.Phase) {
				expect[decide.RevisionID{Identity: r.Identity, Workspace: r.Workspace}] = decide.Seen{Commit: r.Commit, Class: class.Key}
			}
		}
		if len(expect) == before {
			errs = append(errs, fmt.Errorf("class %s has nothing to %s", id, d))
		}
	}
	if len(errs) > 0 {
		return nil, classError{errors.Join(append(errs, s.Problems...)...)}
	}
	return expect, nil
}
