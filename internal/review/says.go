package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/yamltree"
)

// Bounds of a headline.
const (
	saidFields = 2  // fields that are told with their values
	saidThings = 3  // resources or files that are named
	saidValue  = 60 // bytes of a value
	maxMarks   = 5  // of one kind and reason
)

// describe writes what is said of a class: values, marks, and the headline.
func (g *group) describe(c *Class) {
	var outlying, plain, own, last []Values
	for i := range g.columns {
		col := &g.columns[i]
		if g.shape.gone {
			break
		}
		marks := col.marks(c.Members)
		c.Marks = append(c.Marks, marks...)
		t, differs := col.table()
		t.From = cmp.Or(g.origins[col.place()], t.From)
		col.told = t
		switch {
		case !differs:
		case len(marks) > 0:
			outlying = append(outlying, t)
		case minor(col.id.Kind, col.Field):
			t.Minor = true
			last = append(last, t)
		case t.ownNames():
			own = append(own, t)
		default:
			plain = append(plain, t)
		}
	}
	c.Values = slices.Concat(outlying, plain, own, last)
	c.Marks = append(c.Marks, g.sensitive(c.Members)...)
	for of, members := range g.marks {
		c.Marks = append(c.Marks, Mark{Kind: of.kind, Text: of.text, Members: slices.Sorted(slices.Values(members))})
	}
	c.Says = g.says()
	if slices.ContainsFunc(c.Marks, func(m Mark) bool { return m.Kind == Lost }) {
		c.Says = "edit lost: " + c.Says
	}
	if c.Attention != "" {
		c.Marks = append(c.Marks, Mark{Kind: Attention, Text: c.Attention, Members: c.Members})
		c.Says = c.Attention + ": " + c.Says
	}
	slices.SortFunc(c.Marks, func(a, b Mark) int {
		if d := a.compare(b); d != 0 {
			return d
		}
		return strings.Compare(a.Text, b.Text)
	})
}

// marks are the outliers of a column: beside the other members, and beside what was
// there.
func (c *column) marks(all []string) []Mark {
	if c.secret || c.before+c.after == "" {
		return nil
	}
	var out []Mark
	found := outliers(c.values())
	for i, o := range found {
		if i == maxMarks {
			out = append(out, Mark{Kind: Outlier, Text: fmt.Sprintf("%s: %s", c.of(), count.Of(len(found)-i, "more outlier"))})
			break
		}
		out = append(out, Mark{Kind: Outlier, Text: fmt.Sprintf("%s is %s: %s", c.of(), quote(o.masked), o.why), Members: o.members})
	}
	if len(out) > 0 || c.Op != Update {
		return out
	}
	return c.leaps(all)
}

// leaps are the values that are striking beside those that were there: one mark.
func (c *column) leaps(all []string) []Mark {
	said, others := "", map[string]bool{}
	var members []string
	for i := range c.others {
		o := &c.others[i]
		others[o.member] = true
		if why := leap(c.Field, o.before, o.after); why != "" {
			said, members = fmt.Sprintf("%s is %s: %s", c.of(), quote(o.masked), why), append(members, o.member)
		}
	}
	if why := leap(c.Field, c.before, c.after); why != "" {
		said = fmt.Sprintf("%s is %s: %s", c.of(), quote(c.masked), why)
		for _, m := range all {
			if !others[m] {
				members = append(members, m)
			}
		}
	}
	if said == "" {
		return nil
	}
	slices.Sort(members)
	return []Mark{{Kind: Outlier, Text: said, Members: members}}
}

// of names a cell's field for a sentence.
func (c *cell) of() string {
	switch {
	case c.Resource == "":
		return c.File
	case c.Field == "":
		return c.Resource
	}
	return c.Field + " of " + c.Resource
}

// sensitive says what is never folded, a line for each reason and thing.
func (g *group) sensitive(members []string) []Mark {
	if g.shape.gone {
		return []Mark{{Kind: Sensitive, Text: "deleted: the package", Members: members}}
	}
	var out []Mark
	said, more := map[string]bool{}, map[string]int{}
	for i := range g.columns {
		c := &g.columns[i]
		if c.sensitive == "" {
			continue
		}
		text := c.sensitive + ": " + c.touches()
		switch {
		case said[text]:
			continue
		case len(said) >= maxMarks:
			more[c.sensitive]++
			continue
		}
		said[text] = true
		out = append(out, Mark{Kind: Sensitive, Text: text, Members: members})
	}
	for why, n := range more {
		out = append(out, Mark{Kind: Sensitive, Text: fmt.Sprintf("%s: %s", why, count.Of(n, "more change")), Members: members})
	}
	return out
}

// touches tells what a cell does, of a whole resource in one.
func (c *cell) touches() string {
	switch {
	case c.whole && c.Op == Remove:
		return "deletes " + c.Resource
	case c.whole && c.id.Group != "" && c.kindIsSensitive():
		return "creates " + c.Resource
	case c.Resource == "" && c.Op == Remove:
		return "deletes " + c.File
	case c.Op == Remove:
		return "removes " + c.of()
	}
	return c.of() + " is " + quote(c.after)
}

// kindIsSensitive says that the cell's whole resource is, not its field.
func (c *cell) kindIsSensitive() bool {
	return slices.Contains([]string{"RBAC", "admission webhook", "custom resource definition", "network policy"}, c.sensitive)
}

func quote(s string) string {
	if len(s) > saidValue {
		s = strings.ToValidUTF8(s[:saidValue], "") + "…"
	}
	if s == "" || strings.ContainsAny(s, " \t\n,;") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// says is the headline: what happens, in this class.
func (g *group) says() string {
	s := g.shape
	var parts []string
	if s.gone {
		return "removes the package"
	}
	if s.first {
		parts = append(parts, "creates the package")
	}
	var created, deleted, rest []Edit
	for _, e := range g.edits {
		switch {
		case e.Field == "" && e.Op == Add:
			created = append(created, e)
		case e.Field == "" && e.Op == Remove:
			deleted = append(deleted, e)
		default:
			rest = append(rest, e)
		}
	}
	if g.told.Bare && s.first {
		return fmt.Sprintf("creates the package with %s", count.Of(len(created), "resource and file", "resources and files"))
	}
	verb := "deletes"
	if s.first { // it was never there
		verb = "leaves out"
	}
	parts = append(parts, things(verb, deleted)...)
	parts = append(parts, things("creates", created)...)
	parts = append(parts, g.handmade()...)
	if values := g.created(); len(rest) == 0 && len(created) == 1 && values != "" {
		parts = append(parts, values)
	}
	tell := slices.DeleteFunc(slices.Clone(rest), func(e Edit) bool { return minor(e.ID.Kind, e.Field) && !g.striking(e) })
	if len(tell) == 0 && len(parts) == 0 {
		tell = rest
	}
	parts = append(parts, g.fields(tell)...)
	if len(parts) == 0 {
		return "changes only what records where it comes from"
	}
	return strings.Join(parts, "; ")
}

// handmade tells what a person wrote into resources that are new.
func (g *group) handmade() (out []string) {
	known := slices.ContainsFunc(g.shape.marks, func(m Mark) bool { return m.Kind == ByHand })
	for i := range g.columns {
		if c := &g.columns[i]; known && c.byHand && c.whole && !c.secret && c.Op == Add && len(out) < saidFields {
			out = append(out, fmt.Sprintf("by hand %s of %s is %s", c.Field, c.Resource, quote(c.masked)))
		}
	}
	return out
}

// minor fields are told where there is nothing else: what a Kptfile says of the
// package, what functions note of their work, and which bytes a locked version is.
func minor(kind, field string) bool {
	return kind == "Kptfile" || kind == v1alpha1.KindPackageLock && strings.HasSuffix(field, "].digest") || strings.HasPrefix(field, "metadata.annotations[kpt.dev/") || strings.HasPrefix(field, "metadata.annotations[config.kubernetes.io/")
}

// things names resources and files.
func things(verb string, edits []Edit) []string {
	if len(edits) == 0 {
		return nil
	}
	var names []string
	for _, e := range edits {
		names = append(names, e.what())
	}
	return []string{verb + " " + listing(names)}
}

func listing(names []string) string {
	if n := len(names) - saidThings; n > 1 {
		names = append(slices.Clone(names[:saidThings]), fmt.Sprintf("%d more", n))
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// created tells the values of a new resource that differ, where they are few.
func (g *group) created() string {
	var out []string
	for i := range g.columns {
		if c := &g.columns[i]; len(c.others) > 0 && !minor(c.id.Kind, c.Field) {
			out = append(out, c.Field+": "+c.said())
		}
	}
	if len(out) == 0 || len(out) > saidFields {
		return ""
	}
	return strings.Join(out, ", ")
}

// fields tells what becomes of fields, the first few with their values.
func (g *group) fields(edits []Edit) []string {
	slices.SortStableFunc(edits, func(a, b Edit) int { return g.weight(a) - g.weight(b) })
	var out []string
	for i, e := range edits {
		if more := len(edits) - i; i >= saidFields && more > 1 {
			return append(out, "and "+count.Of(more, "more field"))
		}
		out = append(out, g.field(e))
	}
	return out
}

// striking says that an edit is to be told before others.
func (g *group) striking(e Edit) bool {
	c := g.column(e)
	return c != nil && (c.sensitive != "" || c.byHand)
}

// weight orders edits: images first, then replicas, then what is striking.
func (g *group) weight(e Edit) int {
	switch {
	case imageField.MatchString(e.Field) && e.ID.Kind != "Kptfile":
		return 0
	case strings.HasSuffix(strings.ToLower(e.Field), "replicas"):
		return 1
	case g.striking(e):
		return 2
	}
	return 3
}

// field tells one edit.
func (g *group) field(e Edit) string {
	name := e.File
	if e.Resource != "" {
		name = strings.TrimPrefix(e.Field+" of "+e.Resource, " of ")
	}
	switch {
	case e.Op == Move:
		return fmt.Sprintf("moves %s to %s", e.Resource, e.After)
	case e.Op == Mode:
		return fmt.Sprintf("mode of %s: %s", e.File, change(e.Before, e.After))
	case e.Op == Broken:
		return e.broken()
	case e.Op == Comment:
		return "comment at " + name
	case e.Op == Format:
		return "reformats " + name
	case e.Resource == "":
		return "changes " + name
	}
	c := g.column(e)
	if c == nil || c.secret || c.Op != e.Op { // a map or a list
		return verbs[e.Op] + " " + name
	}
	switch {
	case len(c.others) > 0 && c.ownNames():
		return "sets " + name + " to " + quote(c.masked)
	case len(c.others) > 0:
		return "sets " + name + ": " + c.said()
	case e.Op == Add:
		return "sets " + name + " to " + quote(c.masked)
	case e.Op == Remove:
		return "removes " + name + ", " + quote(c.was)
	case imageField.MatchString(e.Field) && yamltree.Repository(c.before) == yamltree.Repository(c.after) && yamltree.Repository(c.after) != c.after && yamltree.Repository(c.before) != c.before:
		at := len(yamltree.Repository(c.after)) + 1
		return fmt.Sprintf("image of %s %s → %s", g.holds(e), quote(c.before[at:]), quote(c.after[at:]))
	}
	return fmt.Sprintf("%s %s → %s", name, quote(c.was), quote(c.masked))
}

var verbs = map[Op]string{Add: "sets", Remove: "removes", Update: "changes"}

// holds names what runs an image: the resource, where it changes one alone.
func (g *group) holds(e Edit) string {
	n := 0
	for _, o := range g.edits {
		if o.Resource == e.Resource && imageField.MatchString(o.Field) {
			n++
		}
	}
	if n == 1 {
		return e.Resource
	}
	return strings.TrimSuffix(e.Field, ".image") + " of " + e.Resource
}

func (g *group) column(e Edit) *column {
	want := cell{File: e.File, Resource: e.Resource, Op: e.Op, Field: withoutIndexes(e.Field)}
	for i := range g.columns {
		if g.columns[i].compare(&want) == 0 {
			return &g.columns[i]
		}
	}
	return nil
}

// ownNames says that values differ in the members' own names alone.
func (c *column) ownNames() bool {
	return !slices.ContainsFunc(c.others, func(o other) bool { return o.masked != c.masked || o.tag != c.tag })
}

// said tells the values of a column that has several, by its table.
func (c *column) said() string {
	if c.ownNames() {
		return quote(c.masked)
	}
	t := &c.told
	if len(t.Patterns) == 0 {
		return count.Of(t.Values, "value")
	}
	common := t.Patterns[len(t.Patterns)-1]
	if len(t.Patterns) == 1 {
		values := c.values()
		slices.SortFunc(values, func(a, b value) int { return strings.Compare(a.raw, b.raw) })
		return fmt.Sprintf("%s (%s … %s)", count.Of(t.Values, "value"), quote(values[0].raw), quote(values[len(values)-1].raw))
	}
	if t.Values <= 3 {
		var all []string
		for _, p := range slices.Backward(t.Patterns) {
			all = append(all, fmt.Sprintf("%s × %d", quote(p.Pattern), p.Variants))
		}
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s (%s × %d …)", count.Of(t.Values, "value"), quote(common.Pattern), common.Variants)
}
