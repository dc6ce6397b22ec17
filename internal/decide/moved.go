package decide

import (
	"fmt"
	"strings"
)

// OnBranch is a folder of the registered branch that no tag names, by its path below the
// Repository's folder, and who its Kptfile says that it belongs to.
type OnBranch struct{ Path, Owner string }

// MovedTo returns the folders to which people moved a Published package that the registered
// branch does not have at its path: their Kptfiles name its owner.
func (p *Package) MovedTo(there []OnBranch) (paths []string) {
	if p.Latest == nil || p.Latest.Owner == "" {
		return nil
	}
	for _, s := range there {
		if s.Owner == p.Latest.Owner {
			paths = append(paths, s.Path)
		}
	}
	return paths
}

// away returns the reason and the remedy for a package that people deleted or moved on
// the registered branch.
func (b *Branch) away(w *Want, repo *Repository) string {
	if len(b.Now) == 0 {
		return fmt.Sprintf("deleted on %s%s: apply --recreate %s makes it again, or take its variant away", repo.Branch, b.by(), w.Identity)
	}
	var follow string
	if !w.Derived && w.Lock() == nil {
		in := "its variant"
		if w.Set != "" {
			in = "PackageVariantSet " + w.Set
		}
		follow = fmt.Sprintf("set downstream.package to %s in %s, or ", b.Now[0], in)
	}
	return fmt.Sprintf("moved to %s on %s%s: %smove it back to %s; apply --recreate %s makes another there",
		strings.Join(b.Now, " and "), repo.Branch, b.by(), follow, w.Package, w.Identity)
}
