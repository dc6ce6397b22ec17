// Package review makes a change over a whole fleet readable: it groups
// variants into classes of identical change, so that a person reads each
// change once and not once a variant.
//
// Resources are paired by group, kind, namespace and name; what differs is
// written as field edits, normalised (a variant's own names become
// placeholders) and hashed. Variants with the same hash are one class; small
// classes, the outliers, come first. It is pure: packages in, report out.
package review

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sort"

	"github.com/variform/variform/internal/krm"
)

// Change is what one variant would change.
type Change struct {
	// Variant names the variant; unique in a report.
	Variant string
	// Package is what the variants are compared within, their upstream say:
	// variants of different packages are never one class.
	Package string
	// Before and After are the package as it is and as it would be. A nil
	// Before means that everything is new, a nil After that all of it goes.
	Before, After *krm.Package
	// Aliases maps the variant's own values (its repository's name, its
	// package's) to placeholder names, so that a change that differs in these
	// alone is the same change.
	Aliases map[string]string
	// Version identifies exactly what is shown, a commit say. It goes into
	// the class's ID: a class whose members moved since has another ID.
	Version string
	// Attention is what is to be seen before all else, "" for most: such changes
	// are in classes of their own, at the head.
	Attention string
}

// Class is a set of variants of one package with one change.
type Class struct {
	// Package is the members' Change.Package.
	Package string `json:"package,omitempty"`
	// Key is 12 hexadecimal digits over the change: it stays while members come
	// and go.
	Key string `json:"key"`
	// ID is the key, and after an @ as many digits over each member and its
	// version: what was shown.
	ID string `json:"id"`
	// Attention is the members' Change.Attention.
	Attention string `json:"attention,omitempty"`
	// Members are the variants, sorted.
	Members []string `json:"members"`
	// Edits are the normalised edits, sorted by file, resource and field; none
	// where the members change only what records where they come from.
	Edits []Edit `json:"edits"`
	// Lines counts the changed lines of the example's diff.
	Lines int `json:"lines"`
	// Says is one line that tells how the class differs from the largest one
	// of its package.
	Says string `json:"says"`
	// Example is the member whose diff is shown.
	Example string `json:"example"`
	// Diff is the example's change as a unified diff, as it is: Visible makes it
	// safe to show.
	Diff string `json:"diff,omitempty"`
	// Hidden lists the characters of Diff that would not be seen, or would change
	// how the rest is read, and their lines in it: "U+202E in line 7".
	Hidden []string `json:"hidden,omitempty"`
}

// Report is the outcome of Classify.
type Report struct {
	// Summary is one sentence over all classes.
	Summary string `json:"summary"`
	// Variants counts those that change; Unchanged those that do not.
	Variants  int `json:"variants"`
	Unchanged int `json:"unchanged"`
	// Packages sum up the changes of one package each, in the order of Classes.
	Packages []Summary `json:"packages"`
	// Classes are sorted by package, those with Attention first, and then by size,
	// smallest first: outliers lead.
	Classes []Class `json:"classes"`
}

// Summary is one sentence over the classes of one package.
type Summary struct {
	Package  string `json:"package,omitempty"`
	Summary  string `json:"summary"`
	Variants int    `json:"variants"`
	Classes  int    `json:"classes"`
}

// Find returns the class with an ID, nil where there is none.
func (r *Report) Find(id string) *Class {
	for i := range r.Classes {
		if r.Classes[i].ID == id {
			return &r.Classes[i]
		}
	}
	return nil
}

// Keyed returns the class with a key, nil where there is none.
func (r *Report) Keyed(key string) *Class {
	for i := range r.Classes {
		if r.Classes[i].Key == key {
			return &r.Classes[i]
		}
	}
	return nil
}

// Classify groups changes. It fails only where a package cannot be written.
func Classify(changes []Change) (*Report, error) {
	report := &Report{Classes: []Class{}}
	groups := map[string]*group{}
	for i := range changes {
		c := &changes[i]
		edits, err := diffPackages(c)
		if err != nil {
			return nil, fmt.Errorf("comparing %s: %w", c.Variant, err)
		}
		if len(edits) == 0 {
			same, err := samePackage(c.Before, c.After)
			if err != nil {
				return nil, fmt.Errorf("comparing %s: %w", c.Variant, err)
			}
			if same {
				report.Unchanged++
				continue
			}
		}
		report.Variants++
		key := c.Package + "\x00" + hashEdits(edits)
		if c.Attention != "" {
			key += "\x00" + c.Attention
		}
		g := groups[key]
		if g == nil {
			g = &group{key: key, edits: edits}
			groups[key] = g
		}
		g.members = append(g.members, c)
	}
	ordered := make([]*group, 0, len(groups))
	for _, g := range groups {
		sort.Slice(g.members, func(i, j int) bool { return g.members[i].Variant < g.members[j].Variant })
		ordered = append(ordered, g)
	}
	sort.Slice(ordered, func(i, j int) bool {
		a, b := ordered[i].members, ordered[j].members
		if a[0].Package != b[0].Package {
			return a[0].Package < b[0].Package
		}
		if head := atHead(a[0].Attention, b[0].Attention); head != 0 {
			return head < 0
		}
		if len(a) != len(b) {
			return len(a) < len(b)
		}
		return a[0].Variant < b[0].Variant
	})
	for _, g := range ordered {
		class, err := g.class()
		if err != nil {
			return nil, err
		}
		report.Classes = append(report.Classes, class)
	}
	describe(report)
	return report, nil
}

// atHead orders what is to be seen first before the rest.
func atHead(a, b string) int {
	switch {
	case (a == "") == (b == ""):
		return 0
	case a != "":
		return -1
	}
	return 1
}

// group is a class in the making.
type group struct {
	key     string
	edits   []Edit
	members []*Change
}

func (g *group) class() (Class, error) {
	diff, lines, err := unified(g.members[0])
	if err != nil {
		return Class{}, fmt.Errorf("comparing %s: %w", g.members[0].Variant, err)
	}
	c := Class{Package: g.members[0].Package, Attention: g.members[0].Attention, Edits: g.edits, Lines: lines, Example: g.members[0].Variant, Diff: diff, Hidden: hiddenIn(diff)}
	h := sha256.New()
	_, _ = io.WriteString(h, g.key)
	c.Key = hex.EncodeToString(h.Sum(nil))[:12]
	for _, m := range g.members {
		c.Members = append(c.Members, m.Variant)
		_, _ = fmt.Fprintf(h, "\x00%s\x00%s", m.Variant, m.Version)
	}
	c.ID = c.Key + "@" + hex.EncodeToString(h.Sum(nil))[:12]
	return c, nil
}

func hashEdits(edits []Edit) string {
	h := sha256.New()
	for _, e := range edits {
		_, _ = fmt.Fprintf(h, "%q %q %q %q %q %q %q\n", e.File, e.Resource, e.Op, e.Field, e.Before, e.After, e.Digest)
	}
	return hex.EncodeToString(h.Sum(nil))
}
