package build

import (
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
)

// askAgain takes the conditions out by which people met readiness gates of another
// revision: each revision is asked for its own. Those that the open Draft has itself
// stay, and so do the machine's. A package that would be what is Published already
// is left as it is, and one of which it is not known what the machine made.
func (m *maker) askAgain() error {
	if m.From == nil || m.machine == nil || m.machine == m.pkg {
		return nil
	}
	if m.From.Number > 0 {
		if same, err := samePackage(m.Base, m.pkg); err != nil || same {
			return err
		}
	}
	met, err := metByHand(m.pkg, m.machine, m.Before)
	if err != nil || len(met) == 0 {
		return err
	}
	m.pkg = m.pkg.Clone()
	for _, t := range met {
		m.Warnings = append(m.Warnings, "readiness gate "+t+" is to be met anew: it was met for an earlier revision")
	}
	return mutate.DropConditions(m.pkg, met)
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
		if o == nil {
			continue
		}
		k, err := mutate.Read(o, "")
		if err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(out, func(t string) bool {
			return slices.ContainsFunc(mutate.Conditions(k), func(c kptfilev1.Condition) bool {
				return c.Type == t && c.Status == kptfilev1.ConditionTrue
			})
		})
	}
	return out, nil
}
