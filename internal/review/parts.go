package review

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/internal/krm"
)

// Parts are the classes of a part of a fleet, with all that the classes of the whole
// are made of. They cross from one process to another.
type Parts struct {
	Sets      map[string]int `json:"sets,omitempty"`
	Unchanged int            `json:"unchanged,omitempty"`
	Classes   []Part         `json:"classes,omitempty"`
}

// Part is a class of a part of a fleet.
type Part struct {
	Key       string         `json:"key"`
	Package   string         `json:"package,omitempty"`
	Attention string         `json:"attention,omitempty"`
	First     bool           `json:"first,omitempty"`
	Gone      bool           `json:"gone,omitempty"`
	Members   []PartMember   `json:"members"`
	Marks     []Mark         `json:"marks,omitempty"`
	Columns   []PartColumn   `json:"columns,omitempty"`
	Example   PartialExample `json:"example"`
}

// PartMember is a member of a class, by the name that the class has for it.
type PartMember struct {
	Name      string `json:"name"`
	Version   string `json:"version,omitempty"`
	Versions  string `json:"versions,omitempty"`
	Variant   string `json:"variant"`
	Namespace string `json:"namespace,omitempty"`
	Set       string `json:"set,omitempty"`
}

// PartialExample is what a class tells of its first member by name.
type PartialExample struct {
	Name    string            `json:"name"`
	Bare    bool              `json:"bare,omitempty"` // there was nothing before
	Edits   []PartEdit        `json:"edits,omitempty"`
	Marks   []Mark            `json:"marks,omitempty"`
	Diff    string            `json:"diff,omitempty"`
	Lines   int               `json:"lines"`
	Hidden  []string          `json:"hidden,omitempty"`
	Origins map[string]string `json:"origins,omitempty"` // of lines
	From    map[string]string `json:"from,omitempty"`    // of values, by place
}

// PartEdit is an edit with the resource as it is.
type PartEdit struct {
	Edit
	Of krm.ID `json:"of"`
}

// PartColumn is a cell of all members: what the first that came has, and what others
// have instead.
type PartColumn struct {
	Cell   PartCell    `json:"cell"`
	Member string      `json:"member"`
	Others []PartOther `json:"others,omitempty"`
}

// PartCell is a cell.
type PartCell struct {
	File      string `json:"file"`
	Resource  string `json:"resource,omitempty"`
	Op        Op     `json:"op"`
	Field     string `json:"field,omitempty"`
	Of        krm.ID `json:"of"`
	Before    string `json:"before,omitempty"`
	After     string `json:"after,omitempty"`
	Masked    string `json:"masked,omitempty"`
	Was       string `json:"was,omitempty"`
	Tag       string `json:"tag,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Sensitive string `json:"sensitive,omitempty"`
	Origin    string `json:"origin,omitempty"`
	Secret    bool   `json:"secret,omitempty"`
	Whole     bool   `json:"whole,omitempty"`
	ByHand    bool   `json:"byHand,omitempty"`
}

// PartOther is a cell's value of another member.
type PartOther struct {
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Masked string `json:"masked,omitempty"`
	Digest string `json:"digest,omitempty"`
	Tag    string `json:"tag,omitempty"`
	Origin string `json:"origin,omitempty"`
	Member string `json:"member"`
}

// Parts are the classes of what was added so far.
func (r *Classifier) Parts() (*Parts, error) {
	out := &Parts{Sets: r.Sets, Unchanged: r.unchanged}
	for _, key := range slices.Sorted(maps.Keys(r.groups)) {
		g := r.groups[key]
		if err := g.tell(); err != nil {
			return nil, err
		}
		p := Part{Key: key, Package: g.example.Package, Attention: g.example.Attention, First: g.shape.first, Gone: g.shape.gone, Example: *g.told}
		for _, m := range g.members {
			p.Members = append(p.Members, PartMember{m.variant, m.version, m.versions, m.pkg, m.namespace, m.set})
		}
		slices.SortStableFunc(p.Members, PartMember.compare)
		for of, members := range g.marks {
			p.Marks = append(p.Marks, Mark{Kind: of.kind, Text: of.text, Members: slices.Sorted(slices.Values(members))})
		}
		slices.SortFunc(p.Marks, func(a, b Mark) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text)) })
		for i := range g.columns {
			if c := &g.columns[i]; !g.shape.gone {
				p.Columns = append(p.Columns, c.part())
			}
		}
		out.Classes = append(out.Classes, p)
	}
	return out, nil
}

// compare orders members as those of a whole fleet come: by the Repository and the
// package, whose names a slash parts.
func (m PartMember) compare(o PartMember) int {
	mr, mp, _ := strings.Cut(m.Variant, "/")
	or, op, _ := strings.Cut(o.Variant, "/")
	return cmp.Or(cmp.Compare(m.Namespace, o.Namespace), cmp.Compare(mr, or), cmp.Compare(mp, op))
}

func (c *column) part() PartColumn {
	out := PartColumn{Member: c.member, Cell: PartCell{
		File: c.File, Resource: c.Resource, Op: c.Op, Field: c.Field, Of: c.id, Before: c.before, After: c.after, Masked: c.masked, Was: c.was,
		Tag: c.tag, Digest: c.digest, Sensitive: c.sensitive, Origin: c.origin, Secret: c.secret, Whole: c.whole, ByHand: c.byHand,
	}}
	for _, o := range c.others {
		out.Others = append(out.Others, PartOther{o.before, o.after, o.masked, o.digest, o.tag, o.origin, o.member})
	}
	return out
}

func (p *PartCell) cell() cell {
	return cell{
		File: p.File, Resource: p.Resource, Op: p.Op, Field: p.Field, id: p.Of, before: p.Before, after: p.After, masked: p.Masked, was: p.Was,
		tag: p.Tag, digest: p.Digest, sensitive: p.Sensitive, origin: p.Origin, secret: p.Secret, whole: p.Whole, byHand: p.ByHand,
	}
}

// Join is the report of a whole fleet by those of its parts, as one Classifier would
// have it to which everything had been added.
func Join(parts ...*Parts) (*Report, error) {
	whole := Classifier{groups: map[string]*group{}}
	of := map[string][]*Part{}
	for _, p := range parts {
		whole.unchanged += p.Unchanged
		if p.Sets != nil { // as each part has them
			whole.Sets = p.Sets
		}
		for i := range p.Classes {
			c := &p.Classes[i]
			if len(c.Members) == 0 {
				return nil, errors.New("a class has no members")
			}
			of[c.Key] = append(of[c.Key], c)
		}
	}
	for key, list := range of {
		g, err := joined(key, list)
		if err != nil {
			return nil, err
		}
		whole.groups[key] = g
	}
	return whole.Report()
}

// joined is the class of several parts' classes of one key.
func joined(key string, list []*Part) (*group, error) {
	slices.SortFunc(list, func(a, b *Part) int { return a.Members[0].compare(b.Members[0]) })
	told := slices.MinFunc(list, func(a, b *Part) int { return cmp.Compare(a.Example.Name, b.Example.Name) })
	g := &group{
		key: key, told: &told.Example, origins: told.Example.From, marks: map[markOf][]string{},
		example: Change{Variant: told.Example.Name, Package: told.Package, Attention: told.Attention},
		shape:   &shape{first: told.First, gone: told.Gone, marks: told.Example.Marks},
	}
	for _, e := range told.Example.Edits {
		e.ID = e.Of
		g.edits = append(g.edits, e.Edit)
	}
	var members []PartMember
	for _, p := range list {
		if len(p.Columns) != len(list[0].Columns) {
			return nil, errors.New("classes of one key have other fields")
		}
		members = append(members, p.Members...)
		for _, m := range p.Marks {
			of := markOf{m.Kind, m.Text}
			g.marks[of] = append(g.marks[of], m.Members...)
		}
	}
	slices.SortStableFunc(members, PartMember.compare)
	for _, m := range members {
		g.members = append(g.members, revision{m.Name, m.Version, m.Versions, m.Variant, m.Namespace, m.Set})
	}
	for i := range list[0].Columns {
		values := map[string]cell{}
		for _, p := range list {
			p.Columns[i].values(p.Members, values)
		}
		c := column{cell: list[0].Columns[i].Cell.cell(), member: members[0].Name}
		for _, m := range members {
			v := values[m.Name]
			c.add(&v, m.Name)
		}
		g.columns = append(g.columns, c)
	}
	return g, nil
}

// values adds the cell of each member.
func (p *PartColumn) values(members []PartMember, out map[string]cell) {
	for _, m := range members {
		out[m.Name] = p.Cell.cell()
	}
	for _, o := range p.Others {
		c := out[o.Member]
		c.before, c.after, c.masked, c.digest, c.tag, c.origin = o.Before, o.After, o.Masked, o.Digest, o.Tag, o.Origin
		out[o.Member] = c
	}
}
