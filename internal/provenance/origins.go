package provenance

import (
	"slices"
	"strings"

	"github.com/variform/variform/internal/krm"
)

// Leaf is one value of a package: a scalar, or an empty list or map. Of a file that
// holds no resource it is the file, without ID and Field.
type Leaf struct {
	File string
	ID   krm.ID
	// Field is the path in the resource, as review.Edit has it.
	Field  string
	Value  string
	Origin Origin
}

// Origins are those of all values of one package. nil has none.
type Origins struct {
	parts []part // in the order of the package
	byDoc map[docKey][]int
	// gone are values that steps took away, usual is what is said of others that are
	// not there.
	gone  map[place]Origin
	usual Origin
}

// part is a resource or a file, whose leaves are made when they are asked for.
type part struct {
	docKey
	leaves func() []Leaf
}

type place struct {
	docKey
	field string
}

type docKey struct {
	file string
	id   krm.ID
}

// Leaves are all values, in the order of files and documents.
func (o *Origins) Leaves() (out []Leaf) {
	if o == nil {
		return nil
	}
	for _, p := range o.parts {
		out = append(out, p.leaves()...)
	}
	return out
}

// Under are the values at a field of a resource and below it; "" is all of it.
func (o *Origins) Under(file string, id krm.ID, field string) []Leaf {
	if o == nil {
		return nil
	}
	field = unquoted.Replace(field)
	var out []Leaf
	for _, i := range o.byDoc[docKey{file, id}] {
		for _, l := range o.parts[i].leaves() {
			if within(l.Field, field) {
				out = append(out, l)
			}
		}
	}
	return out
}

// At is where a field of a resource comes from: of one that holds several values,
// a person's before all, else the first; of one that is not there any more, what took
// it away, or the upstream that has it no more. It is false without Origins alone.
func (o *Origins) At(file string, id krm.ID, field string) (Origin, bool) {
	if o == nil {
		return Origin{}, false
	}
	if list := o.Under(file, id, field); len(list) > 0 {
		return common(list), true
	}
	for _, f := range []string{unquoted.Replace(field), ""} {
		if by, ok := o.gone[place{docKey{file, id}, f}]; ok {
			return by, true
		}
	}
	return o.usual, true
}

// unquoted brings a path of api.FieldPath to the form of yamltree.JoinField.
var unquoted = strings.NewReplacer(`["`, "[", `"]`, "]", `="`, "=")

// common is the origin of several values: a person's before all others.
func common(list []Leaf) Origin {
	if i := slices.IndexFunc(list, func(l Leaf) bool { return !l.Origin.Explained() }); i >= 0 {
		return list[i].Origin
	}
	return list[0].Origin
}

// within says that a field is another one, or below it.
func within(field, at string) bool {
	rest, ok := strings.CutPrefix(field, at)
	return ok && (at == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
}

func newOrigins(parts []part, usual Origin, gone map[place]Origin) *Origins {
	o := &Origins{parts: parts, byDoc: map[docKey][]int{}, usual: usual, gone: gone}
	for i, p := range parts {
		o.byDoc[p.docKey] = append(o.byDoc[p.docKey], i)
	}
	return o
}
