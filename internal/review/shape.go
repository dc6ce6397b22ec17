package review

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// cell is one leaf of a change: a scalar of a resource, a file's content or mode.
// Its place is normalised, and without indexes: the length of a list is a value.
type cell struct {
	File, Resource string
	Op             Op
	Field          string

	id krm.ID
	// before and after are as they are, "" where there is nothing or a Secret's;
	// masked is what stands there now, or stood there, and was what it was, both normalised.
	before, after, masked, was string
	tag                        string // of YAML
	secret                     bool
	// digest stands for what is not in the texts.
	digest string
	// whole says that the resource was not there before, or is no longer.
	whole bool
	// byHand says that a person wrote it, or that who did is not known.
	byHand bool
	// why it is sensitive, "" where it is not.
	sensitive string
	// origin says where it comes from, "" where nobody asked.
	origin string
}

// maxLeaves bounds the cells of one value.
const maxLeaves = 2000

// withoutIndexes is a field whose places in lists are left out.
func withoutIndexes(field string) string {
	var b strings.Builder
	from := 0
	for i := range len(field) {
		if field[i] != '[' {
			continue
		}
		end := i + 1
		for end < len(field) && isDigit(rune(field[end])) {
			end++
		}
		if end < len(field) && field[end] == ']' {
			b.WriteString(field[from : i+1])
			from = end
		}
	}
	if from == 0 { // as most
		return field
	}
	b.WriteString(field[from:])
	return b.String()
}

// cellOf is an edit as a cell.
func (d *differ) cellOf(e Edit) cell {
	alone := differ{norm: d.norm, deep: true}
	alone.cell(e)
	return alone.cells[0]
}

// cell takes an edit as its own cell.
func (d *differ) cell(e Edit) {
	if d.deep {
		d.put(e, cell{before: e.Before, after: e.After, digest: e.Digest})
	}
}

// put normalises a cell's place and keeps it.
func (d *differ) put(e Edit, c cell) {
	c.File, c.Resource, c.Op, c.Field, c.id = d.norm.identity(e.File), d.norm.identity(e.Resource), e.Op, withoutIndexes(d.norm.identity(e.Field)), e.ID
	if by, ok := d.origins.At(e.File, e.ID, e.Field); ok {
		c.origin = by.String()
	}
	c.masked, c.was = d.norm.value(e.Field, c.now()), d.norm.value(e.Field, c.before)
	if d.cells == nil {
		d.cells = make([]cell, 0, usualEdits)
	}
	d.cells = append(d.cells, c)
}

// usualEdits is how many edits and cells there is room for at once.
const usualEdits = 16

func (c *cell) now() string { return now(c.Op, c.before, c.after) }

func now(op Op, before, after string) string {
	if after == "" && op != Update {
		return before
	}
	return after
}

func (d *differ) scalar(e Edit, a, b *yaml.Node) {
	if d.deep {
		d.put(e, cell{before: a.Value, after: b.Value, tag: b.ShortTag(), digest: d.norm.digest(e.Field, valueText(a), valueText(b)), secret: e.ID.IsSecret()}.sealed())
	}
}

// sealed is the cell without a Secret's value.
func (c cell) sealed() cell {
	if c.secret {
		c.digest = digest([]byte(c.before + "\x00" + c.after))
		c.before, c.after = "", ""
	}
	return c
}

// leaves takes the scalars of a value that is there on one side only.
func (d *differ) leaves(e Edit, n *yaml.Node) {
	if !d.deep {
		return
	}
	room, whole := maxLeaves, e.Field == ""
	var walk func(field string, n *yaml.Node)
	leaf := func(field, text, tag string) {
		e := e
		e.Field = field
		c := cell{tag: tag, digest: digest([]byte(text)), secret: e.ID.IsSecret(), whole: whole}
		if c.after = text; e.Op == Remove {
			c.before, c.after = text, ""
		}
		d.put(e, c.sealed())
	}
	walk = func(field string, n *yaml.Node) {
		room--
		switch {
		case room < 0 || n.Kind == yaml.AliasNode || n.Kind != yaml.ScalarNode && len(n.Content) == 0:
			leaf(field, valueText(n), n.ShortTag())
		case n.Kind == yaml.MappingNode:
			for k, v := range yamltree.Fields(n) {
				if w := yamltree.JoinField(field, k.Value); !isBookkeeping(e.ID.Kind, w) {
					walk(w, v)
				}
			}
		case n.Kind == yaml.SequenceNode:
			key := yamltree.ListKey(n)
			for i, item := range n.Content {
				at := fmt.Sprintf("%s[%d]", field, i)
				if key != "" {
					at = field + "[" + key + "=" + yamltree.ItemID(item, key) + "]"
				}
				walk(at, item)
			}
		default:
			leaf(field, n.Value, n.ShortTag())
		}
	}
	walk(e.Field, n)
}

// place is what cells of several members are told apart by.
func (c *cell) place() string {
	return strings.Join([]string{c.File, c.Resource, string(c.Op), c.Field}, "\x00")
}

// compare orders cells by place.
func (c *cell) compare(o *cell) int {
	for _, pair := range [...][2]string{{c.File, o.File}, {c.Resource, o.Resource}, {string(c.Op), string(o.Op)}, {c.Field, o.Field}} {
		if d := strings.Compare(pair[0], pair[1]); d != 0 {
			return d
		}
	}
	return 0
}

// shape is what one change is made of.
type shape struct {
	edits []found
	cells []cell // sorted by place, one of each
	marks []Mark
	norm  *normaliser // of edits
	// first and gone say that the package is new to its repository, or goes.
	first, gone bool
}

// shapeOf finds the cells of a change, and says of each whether a person wrote it.
func shapeOf(c *Change) (*shape, error) {
	d := &differ{norm: newNormaliser(c.Aliases), deep: true, origins: c.Origins, first: c.First}
	if err := d.packages(c.Before, c.After); err != nil {
		return nil, err
	}
	s := &shape{edits: d.edits, cells: merged(d.cells), marks: slices.Clone(c.Marks), gone: c.After == nil, first: c.First, norm: d.norm}
	if s.gone {
		return s, nil
	}
	if err := s.byHand(c); err != nil {
		return nil, err
	}
	known := imagesOf(c.Before)
	for i := range s.cells {
		c := &s.cells[i]
		if c.sensitive = sensitive(c, known); c.sensitive != "" && s.first && !c.isNews(d.renames) {
			c.sensitive = ""
		}
	}
	return s, nil
}

// merged joins the cells of one place: the items of a list. It takes the cells over.
func merged(cells []cell) []cell {
	slices.SortStableFunc(cells, func(a, b cell) int { return a.compare(&b) })
	out := cells[:0]
	for i := range cells {
		c := &cells[i]
		n := len(out)
		if n == 0 || out[n-1].compare(c) != 0 {
			out = append(out, *c)
			continue
		}
		was := &out[n-1]
		was.before, was.after, was.masked, was.was = listed(was.before, c.before), listed(was.after, c.after), listed(was.masked, c.masked), listed(was.was, c.was)
		was.digest = digest([]byte(was.digest + c.digest))
		if was.tag != c.tag {
			was.tag = ""
		}
	}
	return out
}

func listed(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// byHand finds what people wrote: what is other than the machine made it.
func (s *shape) byHand(c *Change) error {
	if c.Machine == nil {
		for i := range s.cells {
			s.cells[i].byHand = true
		}
		return nil
	}
	if c.Machine == c.After {
		return nil
	}
	d := &differ{norm: newNormaliser(c.Aliases), deep: true}
	if err := d.packages(c.Machine, c.After); err != nil {
		return err
	}
	known := forms{before: c.Before, machine: c.Machine, after: c.After}
	hand, kept := false, false
	for i := range d.edits {
		e := d.edits[i].Edit
		if !e.isWritten() {
			continue
		}
		had, err := known.had(e)
		if err != nil {
			return err
		}
		h := d.cellOf(e)
		switch {
		case had:
			kept = true
		case s.mark(&h):
			hand = true
		case e.Op.isForm(): // the change may hide it
			h.byHand, hand = true, true
			s.cells = append(s.cells, h)
		default:
			kept = true
		}
	}
	for i := range d.cells {
		switch h := &d.cells[i]; {
		case h.isWritten():
		case !s.hadLines(h) && s.mark(h):
			hand = true
		default:
			kept = true
		}
	}
	s.cells = merged(s.cells)
	if hand {
		s.marks = append(s.marks, Mark{Kind: ByHand, Text: "edited by hand"})
	}
	if kept {
		s.marks = append(s.marks, Mark{Kind: Kept, Text: "keeps edits by hand that were there before"})
	}
	return nil
}

// mark says of the cells that another one is about that a person wrote them. It
// returns false where there are none.
func (s *shape) mark(h *cell) (found bool) {
	for i := range s.cells {
		if s.cells[i].within(h) {
			s.cells[i].byHand, found = true, true
		}
	}
	return found
}

// hadLines reports whether a text of several lines, which a cell says that a person
// wrote, is made of lines that were there before and of the machine's.
func (s *shape) hadLines(h *cell) bool {
	if h.Op != Update || !strings.Contains(h.after, "\n") {
		return false
	}
	for i := range s.cells {
		if c := &s.cells[i]; c.compare(h) == 0 {
			return sameLines(c.before, h.before, h.after)
		}
	}
	return false
}

// within is Edit.Within of cells.
func (c *cell) within(o *cell) bool {
	return Edit{File: c.File, Resource: c.Resource, Field: c.Field}.Within(Edit{File: o.File, Resource: o.Resource, Field: o.Field})
}

// key hashes a shape: what a machine's origin explains may differ inside of a
// class, what a person wrote and what is sensitive may not.
func (s *shape) key(c *Change) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q %t %t", c.Package, c.Attention, s.gone, s.first)
	for _, m := range s.marks {
		if m.Kind == Fails || m.Kind == Lost || m.Kind == SetBack || m.Kind == ByHand {
			_, _ = fmt.Fprintf(h, " %q", m.Kind)
		}
	}
	_, _ = io.WriteString(h, "\n")
	if s.gone {
		return hex.EncodeToString(h.Sum(nil))
	}
	var line []byte
	for i := range s.cells {
		line = append(s.cells[i].key(line[:0]), '\n')
		_, _ = h.Write(line)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// key appends what all members of a class have in common of a cell.
func (c *cell) key(line []byte) []byte {
	line = inQuotes(line, c.File, c.Resource, string(c.Op), c.Field)
	line = strconv.AppendBool(append(line, ' '), c.whole)
	switch {
	case c.sensitive != "":
		line = inQuotes(append(line, ' '), c.exactly(), c.tag)
		line = strconv.AppendBool(append(line, ' '), c.byHand)
	case c.byHand:
		line = inQuotes(append(line, ' '), c.tag, c.was, c.masked)
		if c.before+c.after == "" {
			line = append(line, c.digest...)
		}
	}
	return line
}

// inQuotes appends texts, a space between them.
func inQuotes(line []byte, texts ...string) []byte {
	for i, text := range texts {
		if i > 0 {
			line = append(line, ' ')
		}
		if isPlain(text) { // quicker, and the same
			line = append(append(append(line, '"'), text...), '"')
			continue
		}
		line = strconv.AppendQuote(line, text)
	}
	return line
}

// isPlain says whether a text stands in quotes as it is.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
