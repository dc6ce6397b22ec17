package provenance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Select are the values that a text names: a file, Kind/name, or Kind/name:field
// with everything below it; "" is all. Kind may have its group, Kind.group/name, and
// the name may be left out. Naming nothing is an error. They hold nothing of the package.
func (o *Origins) Select(name string) ([]Leaf, error) {
	if o == nil {
		return nil, nil
	}
	_, field, _ := strings.Cut(name, ":")
	field = unquoted.Replace(field)
	var out []Leaf
	for _, p := range o.parts {
		if name != "" && p.file != name && !p.named(name) {
			continue
		}
		for _, l := range p.leaves() {
			if p.file == name || within(l.Field, field) {
				out = append(out, l.apart())
			}
		}
	}
	if name != "" && len(out) == 0 {
		return nil, fmt.Errorf("the package has no file, resource or field %q: name one as deploy.yaml, Deployment/web or Deployment/web:spec.replicas", name)
	}
	return out, nil
}

// apart is a leaf whose texts are no parts of a file, which would be kept whole.
func (l Leaf) apart() Leaf {
	for _, s := range []*string{&l.ID.Group, &l.ID.Kind, &l.ID.Namespace, &l.ID.Name, &l.Value} {
		*s = strings.Clone(*s)
	}
	return l
}

// named says that a text names the resource, or a field of it.
func (k docKey) named(name string) bool {
	resource, _, _ := strings.Cut(name, ":")
	kind, of, named := strings.Cut(resource, "/")
	kind, group, grouped := strings.Cut(kind, ".")
	return k.id.Kind == kind && (!grouped || k.id.Group == group) && (!named || k.id.Name == of)
}

// Resource is Kind/name, "" for a file that holds none.
func (l *Leaf) Resource() string {
	if l.ID.Kind == "" {
		return ""
	}
	return l.ID.Kind + "/" + l.ID.Name
}

// Own are the values that a variant has for itself: those that are neither the
// upstream's nor bookkeeping.
func Own(list []Leaf) []Leaf {
	var own []Leaf // as few as there are: an upstream has many more
	for _, l := range list {
		if l.Origin.Kind != Machine && (l.Origin.Kind != Upstream || len(l.Origin.Via) > 0) {
			own = append(own, l)
		}
	}
	return own
}

// Spread is one value of a field over a fleet.
type Spread struct {
	Field  string `json:"field"` // Kind/name:field
	Value  string `json:"value"`
	Origin Origin `json:"origin"` // of the first member
	// Members are the packages that have it, in order.
	Members []string `json:"members"`
	// AfterApproval counts the members that were last approved before the input's line
	// came, as Date tells it.
	AfterApproval int `json:"afterApproval,omitempty"`
	// Own are the members' own origins.
	Own      []*Origin `json:"-"`
	approved []time.Time
}

// Date takes from the members' own origins the newest Since, and counts the members that
// were approved before theirs came.
func (s *Spread) Date() {
	s.AfterApproval, s.Origin.Since = 0, nil
	for i, o := range s.Own {
		if o.Since.newer(s.Origin.Since) {
			s.Origin.Since = o.Since
		}
		if o.Since.After(s.approved[i]) {
			s.AfterApproval++
		}
	}
}

// Spreader gathers values over a fleet.
type Spreader struct {
	at   map[[3]string]int
	list []Spread
}

// Add notes the values of one member, which was last approved at a time, zero for never.
// Values of one origin but for its object and its lines are one. The leaves are not to be
// changed from then on.
func (s *Spreader) Add(member string, approved time.Time, leaves []Leaf) {
	if s.at == nil {
		s.at = map[[3]string]int{}
	}
	for n := range leaves {
		l := &leaves[n]
		field := l.Resource() + ":" + l.Field
		if l.ID.Kind == "" {
			field = l.File
		}
		k := [3]string{field, l.Value, l.Origin.Shape()}
		i, ok := s.at[k]
		if !ok {
			i = len(s.list)
			s.at[k] = i
			s.list = append(s.list, Spread{Field: field, Value: l.Value, Origin: l.Origin})
		}
		s.list[i].Members = append(s.list[i].Members, member)
		s.list[i].Own = append(s.list[i].Own, &l.Origin)
		s.list[i].approved = append(s.list[i].approved, approved)
	}
}

// All are the values, by field, the rarest first.
func (s *Spreader) All() []Spread {
	slices.SortStableFunc(s.list, func(a, b Spread) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(len(a.Members), len(b.Members)), cmp.Compare(a.Value, b.Value))
	})
	return s.list
}

// From are the values that come from these lines of a file, wholly or in part; a last
// line of 0 is all of it. They hold nothing of the package.
func (o *Origins) From(file string, first, last int) (out []Leaf) {
	if o == nil {
		return nil
	}
	of := func(by Origin) bool {
		return by.Kind != Person && by.File == file && (last == 0 || first <= by.Line && by.Line <= last)
	}
	for _, p := range o.parts {
		for _, l := range p.leaves() {
			if of(l.Origin) || slices.ContainsFunc(l.Origin.Also, of) {
				out = append(out, l.apart())
			}
		}
	}
	return out
}
