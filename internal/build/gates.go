package build

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/injection"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/review"
)

// askAgain takes the conditions out by which people met readiness gates for another
// content: of another revision, or of the open Draft as it was. The machine's stay. A
// package that would be what is Published already is left as it is, one of which it is
// not known what the machine made, and what is set back: it has the content that its
// gates were met for.
func (m *maker) askAgain() error {
	if m.Revert != nil || m.From == nil || m.machine == nil || m.machine == m.pkg {
		return nil
	}
	was := "an earlier revision"
	if m.From.Number > 0 {
		if same, err := samePackage(m.Base, m.pkg); err != nil || same {
			return err
		}
	}
	met, err := metByHand(m.pkg, m.machine)
	if met = slices.DeleteFunc(met, m.filled); err != nil || len(met) == 0 {
		return err
	}
	if m.Before != nil {
		same, err := sameContent(m.Before, m.pkg)
		if err != nil {
			return err
		}
		if was = "another content"; same {
			was = "an earlier revision"
			met, err = metByHand(m.pkg, m.machine, m.Before)
			if met = slices.DeleteFunc(met, m.filled); err != nil || len(met) == 0 {
				return err
			}
		}
	}
	m.pkg = m.pkg.Clone()
	for _, t := range met {
		m.Warnings = append(m.Warnings, "readiness gate "+t+" is to be met anew: it was met for "+was)
	}
	return mutate.DropConditions(m.pkg, met)
}

// filled says that injection met a gate in this build: a point that people added has
// no condition in what the machine makes without them.
func (m *maker) filled(gate string) bool {
	return m.injected != nil && slices.ContainsFunc(m.injected.Outcomes, func(o injection.Outcome) bool {
		return o.ConditionType == gate && o.Injected()
	})
}

// metBefore refuses gates of what stands on the registered branch that were met for
// the latest Published revision, where that has another content. made is what the
// machine made of it, nil where that is not known.
func metBefore(ctx context.Context, repo *observe.Repo, p *decide.Package, made, there *krm.Package) error {
	if made == nil || !repo.Deployment {
		return nil
	}
	met, err := metByHand(there, made)
	if err != nil || len(met) == 0 {
		return err
	}
	_, published, err := repo.ReadPackage(ctx, p.Latest.Ref.Commit, p.Path)
	if err != nil {
		return fmt.Errorf("reading %s: %w", p.Latest.Ref.Name, err)
	}
	if same, err := sameContent(published, there); err != nil || same {
		return err
	}
	was, err := conditions(published)
	if err != nil {
		return err
	}
	is, err := conditions(there)
	if err != nil {
		return err
	}
	met = slices.DeleteFunc(met, func(t string) bool { return was[t] != is[t] })
	if len(met) == 0 {
		return nil
	}
	return fmt.Errorf("readiness gates were met for %s, and not for what is on %s: %s: meet them there anew, by conditions of another reason or message",
		decide.RevisionName(p.Latest.Number), repo.Branch, strings.Join(met, ", "))
}

// SameSince reports whether an open revision still has the content of the machine's
// commit, whatever people said of its gates since.
func SameSince(ctx context.Context, repo *observe.Repo, r *decide.Revision, path string) (bool, error) {
	_, made, err := repo.ReadPackage(ctx, r.Machine.Commit, path)
	if err != nil {
		return false, fmt.Errorf("reading what apply made of %s: %w", r.Ref.Short(), err)
	}
	_, is, err := repo.ReadPackage(ctx, r.Ref.Commit, path)
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", r.Ref.Short(), err)
	}
	return sameContent(made, is)
}

// sameContent reports whether two packages hold the same, but for the status, the
// labels and the annotations of a Kptfile, and where it says that it comes from.
func sameContent(a, b *krm.Package) (bool, error) {
	differs, err := otherContent(a, b)
	return len(differs) == 0, err
}

// otherContent returns the paths, sorted, in which sameContent finds a difference.
func otherContent(a, b *krm.Package) (paths []string, err error) {
	edits, err := review.Edits(a, b)
	for _, e := range edits {
		if path.Base(e.File) != "Kptfile" || !slices.ContainsFunc([]string{"status", "metadata.labels", "metadata.annotations"}, func(field string) bool {
			return e.Field == field || strings.HasPrefix(e.Field, field+".")
		}) {
			paths = append(paths, e.File)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), err
}

// conditions are a package's, by type.
func conditions(p *krm.Package) (map[string]kptfilev1.Condition, error) {
	k, err := mutate.Read(p, "")
	if err != nil {
		return nil, err
	}
	out := map[string]kptfilev1.Condition{}
	for _, c := range mutate.Conditions(k) {
		out[c.Type] = c
	}
	return out, nil
}

// metByHand are the gates of a package whose condition True none of the others has.
func metByHand(p *krm.Package, others ...*krm.Package) ([]string, error) {
	k, err := mutate.Read(p, "")
	if err != nil {
		return nil, err
	}
	unmet := map[string]bool{}
	for _, c := range mutate.Unmet(k) {
		unmet[c.Type] = true
	}
	out := slices.DeleteFunc(mutate.Gates(k), func(t string) bool { return unmet[t] })
	for _, o := range others {
		has, err := conditions(o)
		if err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(out, func(t string) bool { return has[t].Status == kptfilev1.ConditionTrue })
	}
	return out, nil
}
