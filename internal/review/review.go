// Package review makes a change over a whole fleet readable: it groups
// variants into classes whose change has one shape, so that a person reads each
// change once and not once a variant.
//
// Resources are paired by group, kind, namespace and name; what differs is
// written as field edits, normalised (a variant's own names become
// placeholders). Their fields are hashed, and the values that no machine explains;
// variants with the same hash are one class, whose other values stand in a table.
// Classes with something to look at, and small ones, come first. It is pure:
// packages in, report out.
package review

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/provenance"
)

// Change is what one variant would change.
type Change struct {
	// Variant names the variant; unique in a report.
	Variant string
	// Namespace is the variant's: names are unique in one.
	Namespace string
	// Set is the set that the variant is of, as namespace/name; "" for none.
	Set string
	// Package is what the variants are compared within, their upstream say:
	// variants of different packages are never one class.
	Package string
	// Versions are those of the upstream that the package goes from and to, as of
	// [Versions]; "" where they are not known.
	Versions string
	// Before and After are the package as it is and as it would be. A nil
	// Before means that everything is new, a nil After that all of it goes.
	Before, After *krm.Package
	// Machine is After without people's edits: what it has is explained, and may
	// differ inside a class. Where it is nil nothing is.
	Machine *krm.Package
	// First says that there was no revision yet: Before is what it is made from.
	First bool
	// Aliases maps the variant's own values (its repository's name, its
	// package's) to placeholder names, so that a change that differs in these
	// alone is the same change.
	Aliases map[string]string
	// Version identifies exactly what is shown, a commit say. It goes into
	// the class's ID: a class whose members moved since has another ID.
	Version string
	// Origins are those of After's values, nil where nobody asked: who is a class's
	// example shows them.
	Origins *provenance.Origins
	// Attention is what is to be seen before all else, "" for most: such changes
	// are in classes of their own, at the head.
	Attention string
	// Marks are what is to be known of it before it is decided.
	Marks []Mark
}

// MarkKind is what a Mark is about.
type MarkKind string

// The kinds of marks, in the order in which they are read.
const (
	Fails     MarkKind = "fails"     // it cannot be made, or was not made whole: nobody can approve it
	Invalid   MarkKind = "invalid"   // Kubernetes would refuse it
	Attention MarkKind = "attention" // Change.Attention
	Lost      MarkKind = "lost"      // an edit by hand was lost, or overruled
	SetBack   MarkKind = "set back"  // it brings back what people took back
	ByHand    MarkKind = "by hand"   // a part of the change was made by hand
	Outlier   MarkKind = "outlier"   // a value that does not go with the others
	Sensitive MarkKind = "sensitive" // what is never folded
	Unmet     MarkKind = "unmet"     // a readiness gate
	Moved     MarkKind = "moved"     // what others committed to the branch meanwhile
	Kept      MarkKind = "kept"      // an edit by hand that was there before
)

var markKinds = []MarkKind{Fails, Invalid, Attention, Lost, SetBack, ByHand, Outlier, Sensitive, Unmet, Moved, Kept}

// Mark is what a person is to look at before anything else.
type Mark struct {
	Kind MarkKind `json:"kind"`
	Text string   `json:"text"`
	// Members are the variants that it is about, sorted.
	Members []string `json:"members,omitempty"`
	// AllOf is the set, as namespace/name, whose variants the members are, as of a Class.
	AllOf string `json:"allOf,omitempty"`
	// Classes are the keys of their classes.
	Classes []string `json:"classes,omitempty"`
}

// Class is a set of variants of one package whose change has one shape: the same
// fields, and of what a person wrote and of what is sensitive the same values.
type Class struct {
	// Package is the members' Change.Package.
	Package string `json:"package,omitempty"`
	// Versions are the members' Change.Versions, "" where they differ.
	Versions string `json:"versions,omitempty"`
	// Key is 12 hexadecimal digits over the shape: it stays while members come
	// and go.
	Key string `json:"key"`
	// ID is the key, and after an @ as many digits over each member and its
	// version: what was shown.
	ID string `json:"id"`
	// Attention is the members' Change.Attention.
	Attention string `json:"attention,omitempty"`
	// Members are the variants, sorted.
	Members []string `json:"members"`
	// AllOf is the set, as namespace/name, whose variants the members are, all of them
	// and no other; "" for none.
	AllOf string `json:"allOf,omitempty"`
	// Edits are the example's, normalised and sorted by file, resource and field;
	// none where the members change only what records where they come from.
	Edits []Edit `json:"edits"`
	// Values are the fields that differ between members, those with outliers first.
	Values []Values `json:"values,omitempty"`
	// Marks are what to look at first.
	Marks []Mark `json:"marks,omitempty"`
	// Lines counts the changed lines of the example's diff.
	Lines int `json:"lines"`
	// Says is one line that tells what happens.
	Says string `json:"says"`
	// Example is the member whose diff is shown.
	Example string `json:"example"`
	// Diff is the example's change as a unified diff, as it is: Visible makes it
	// safe to show.
	Diff string `json:"diff,omitempty"`
	// Origins say where the lines come from that the example adds, by LineOf.
	Origins map[string]string `json:"origins,omitempty"`
	// Hidden lists the characters of Diff that would not be seen, or would change
	// how the rest is read, and their lines in it: "U+202E in line 7".
	Hidden []string `json:"hidden,omitempty"`
}

// AllOfSet names members that are all of a set and more than one as such, "" where they
// are not.
func AllOfSet(members []string, set string) string {
	if len(members) < 2 || set == "" {
		return ""
	}
	return path.Base(set)
}

// Report is the outcome of Classify.
type Report struct {
	// Summary is one sentence over all classes.
	Summary string `json:"summary"`
	// Variants counts those that change; Unchanged those that do not.
	Variants  int `json:"variants"`
	Unchanged int `json:"unchanged"`
	// Marks are what to look at first, of all classes.
	Marks []Mark `json:"marks,omitempty"`
	// Packages sum up the changes of one package each, in the order of Classes.
	Packages []Summary `json:"packages"`
	// Classes are sorted by package, those with marks first, and then by size,
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

// Of is a report of some of its classes.
func (r *Report) Of(classes []Class) *Report {
	out := &Report{Classes: classes, Marks: head(classes)}
	for i := range out.Marks {
		m := &out.Marks[i]
		for _, all := range r.Marks { // of as many, it is the same
			if all.Kind == m.Kind && all.Text == m.Text && len(all.Members) == len(m.Members) {
				m.AllOf = all.AllOf
			}
		}
	}
	for i := range classes {
		out.Variants += len(classes[i].Members)
	}
	describe(out)
	return out
}

// Compared is what one variant changes, ready to be classified.
type Compared struct {
	change Change
	shape  *shape
	key    string
	same   bool
}

// Compare finds what a change is made of. It is the larger part of the work, and
// changes do not wait for one another.
func Compare(c Change) (out *Compared, err error) {
	out = &Compared{change: c}
	if out.shape, err = shapeOf(&c); err == nil && len(out.shape.edits) == 0 {
		out.same, err = samePackage(c.Before, c.After)
	}
	if err != nil {
		return nil, fmt.Errorf("comparing %s: %w", c.Variant, err)
	}
	out.key = out.shape.key(&c)
	return out, nil
}

// Key is that of the change's class.
func (c *Compared) Key() string { return c.key }

// Classifier groups changes as they come. It keeps the packages of each class's
// example alone, so that a fleet need not be in memory. The zero value is ready.
type Classifier struct {
	// Sets counts all variants of each set, by namespace/name; nil where that is not known.
	Sets map[string]int

	groups    map[string]*group
	byName    map[string]revision // of groups, once a Report asked for it
	unchanged int
}

// Add takes a variant's change into its class.
func (r *Classifier) Add(variant string, c *Compared) {
	if c.same {
		r.unchanged++
		return
	}
	r.byName = nil
	g := r.groups[c.key]
	if g == nil {
		g = &group{key: c.key, marks: map[markOf][]string{}}
		for i := range c.shape.cells {
			g.columns = append(g.columns, column{cell: c.shape.cells[i], member: variant})
		}
		if r.groups == nil {
			r.groups = map[string]*group{}
		}
		r.groups[c.key] = g
	}
	g.add(variant, c)
}

// ErrOther is returned by Explain for another package than the one that is shown.
var ErrOther = errors.New("the inputs of now make another package: run apply")

// Explain records where the values of an example come from: made is the example, made
// once more.
func (r *Classifier) Explain(variant string, made *krm.Package, origins *provenance.Origins) error {
	for _, g := range r.groups {
		if g.example.Variant != variant {
			continue
		}
		edits, err := Edits(made, g.example.After)
		switch {
		case err != nil:
			return err
		case len(edits) > 0:
			return ErrOther
		}
		g.example.Origins, g.told = origins, nil
		s, err := shapeOf(&g.example)
		if err != nil {
			return err
		}
		g.origins = map[string]string{}
		for i := range s.cells {
			g.origins[s.cells[i].place()] = s.cells[i].origin
		}
	}
	return nil
}

// Report are the classes of what was added so far.
func (r *Classifier) Report() (*Report, error) {
	report := &Report{Classes: []Class{}, Unchanged: r.unchanged}
	for _, g := range r.groups {
		class, err := g.class()
		if err != nil {
			return nil, err
		}
		class.AllOf = wholeSet(g.members, r.Sets)
		report.Variants += len(g.members)
		report.Classes = append(report.Classes, class)
	}
	slices.SortFunc(report.Classes, func(a, b Class) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), a.Compare(&b), cmp.Compare(a.Members[0], b.Members[0]))
	})
	report.Marks = head(report.Classes)
	for i := range report.Classes {
		r.wholeSets(report.Classes[i].Marks)
	}
	r.wholeSets(report.Marks)
	describe(report)
	return report, nil
}

// wholeSets says of marks which sets their members are, whole.
func (r *Classifier) wholeSets(marks []Mark) {
	if len(marks) == 0 || len(r.Sets) == 0 {
		return
	}
	if r.byName == nil {
		r.byName = map[string]revision{}
		for _, g := range r.groups {
			for _, m := range g.members {
				r.byName[m.variant] = m
			}
		}
	}
	for i := range marks {
		members := make([]revision, 0, len(marks[i].Members))
		for _, name := range marks[i].Members {
			members = append(members, r.byName[name])
		}
		marks[i].AllOf = wholeSet(members, r.Sets)
	}
}

// Compare orders classes for a reader: those with marks first, then the smallest.
func (c *Class) Compare(o *Class) int {
	return cmp.Or(c.rank()-o.rank(), len(c.Members)-len(o.Members))
}

// rank is the place of the class's first mark.
func (c *Class) rank() int {
	best := len(markKinds)
	for i := range c.Marks {
		if at := slices.Index(markKinds, c.Marks[i].Kind); at <= slices.Index(markKinds, Sensitive) {
			best = min(best, at)
		}
	}
	return best
}

// head gathers the marks of all classes: what is said of several is said once.
func head(classes []Class) []Mark {
	at := map[markOf]int{}
	var out []Mark
	for i := range classes {
		for _, m := range classes[i].Marks {
			j, ok := at[markOf{m.Kind, m.Text}]
			if !ok {
				j = len(out)
				at[markOf{m.Kind, m.Text}] = j
				out = append(out, Mark{Kind: m.Kind, Text: m.Text})
			}
			out[j].Members = append(out[j].Members, m.Members...)
			out[j].Classes = append(out[j].Classes, classes[i].Key)
		}
	}
	for i := range out {
		slices.Sort(out[i].Members)
	}
	slices.SortStableFunc(out, Mark.compare)
	return out
}

func (m Mark) compare(o Mark) int {
	return cmp.Or(slices.Index(markKinds, m.Kind)-slices.Index(markKinds, o.Kind), len(m.Members)-len(o.Members))
}

// group is a class in the making.
type group struct {
	key     string
	shape   *shape // the example's
	example Change // the first member by name
	columns []column
	members []revision
	marks   map[markOf][]string // members
	told    *PartialExample     // of the example, once that was compared
	edits   []Edit              // of the example, told with it
	origins map[string]string   // of the example's values, by place
}

// revision is a variant of a group, at a version. Of several of one package each has a
// name of its own, and one package.
type revision struct{ variant, version, versions, pkg, namespace, set string }

// wholeSet is the set that revisions are, all of it and of no other, "" for none.
func wholeSet(members []revision, sets map[string]int) string {
	if len(members) == 0 {
		return ""
	}
	set, packages := members[0].set, map[string]bool{}
	for _, m := range members {
		if packages[m.pkg] = true; m.set != set {
			return ""
		}
	}
	if set == "" || len(packages) != sets[set] {
		return ""
	}
	return set
}

// markOf is a mark without its members.
type markOf struct {
	kind MarkKind
	text string
}

func (g *group) add(variant string, c *Compared) {
	g.told = nil
	if len(g.members) == 0 || variant < g.example.Variant {
		g.example, g.shape = c.change, c.shape
		g.example.Variant = variant
	}
	g.members = append(g.members, revision{variant, c.change.Version, c.change.Versions, c.change.Variant, c.change.Namespace, c.change.Set})
	for i := range min(len(g.columns), len(c.shape.cells)) { // of packages that go cells may differ
		g.columns[i].add(&c.shape.cells[i], variant)
	}
	for _, m := range c.shape.marks {
		of := markOf{m.Kind, m.Text}
		g.marks[of] = append(g.marks[of], variant)
	}
}

// tell compares the example. Of a class that was joined it is told by the part that
// has it.
func (g *group) tell() error {
	example := &g.example
	if g.told != nil {
		return nil
	}
	diff, lines, err := unified(example)
	if err != nil {
		return fmt.Errorf("comparing %s: %w", example.Variant, err)
	}
	g.told = &PartialExample{
		Name: example.Variant, Bare: example.Before == nil, Marks: g.shape.marks, Diff: diff, Lines: lines, Hidden: hiddenIn(diff), Origins: lineOrigins(example, diff), From: g.origins,
	}
	g.edits = g.shape.norm.edits(g.shape.edits)
	for _, e := range g.edits {
		g.told.Edits = append(g.told.Edits, PartEdit{e, e.ID})
	}
	return nil
}

// Versions returns what a package goes from and to, "v1→v2"; a version that is "" or the
// same is left out.
func Versions(was, now string) string {
	if was == "" || now == "" || was == now {
		return cmp.Or(now, was)
	}
	return was + "→" + now
}

// Headline begins with the package and its versions, and then tells the change.
func (c Class) Headline() string {
	if c.Package == "" {
		return c.Says
	}
	return strings.TrimSpace(path.Base(c.Package)+" "+c.Versions) + ": " + c.Says
}

func (g *group) class() (Class, error) {
	slices.SortFunc(g.members, func(a, b revision) int { return cmp.Compare(a.variant, b.variant) })
	if err := g.tell(); err != nil {
		return Class{}, err
	}
	c := Class{
		Package: g.example.Package, Versions: g.members[0].versions, Attention: g.example.Attention, Edits: g.edits, Lines: g.told.Lines,
		Example: g.told.Name, Diff: g.told.Diff, Hidden: g.told.Hidden, Origins: g.told.Origins,
	}
	h := sha256.New()
	_, _ = io.WriteString(h, g.key)
	c.Key = hex.EncodeToString(h.Sum(nil))[:12]
	for _, m := range g.members {
		c.Members = append(c.Members, m.variant)
		if m.versions != c.Versions {
			c.Versions = ""
		}
		_, _ = fmt.Fprintf(h, "\x00%s\x00%s", m.variant, m.version)
	}
	c.ID = c.Key + "@" + hex.EncodeToString(h.Sum(nil))[:12]
	g.describe(&c)
	return c, nil
}
