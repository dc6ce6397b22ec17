package provenance

import (
	"strings"

	"github.com/variform/variform/internal/krm"
)

// Line is one line of a file with the origin of the value that begins on it; nil for
// a line that has none, such as a comment.
type Line struct {
	Text   string  `json:"text"`
	Origin *Origin `json:"origin,omitempty"`
}

// Annotate gives each line of a package's file its origin.
func (o *Origins) Annotate(f krm.File) ([]Line, error) {
	var out []Line
	for line := range strings.Lines(string(f.Data)) {
		out = append(out, Line{Text: strings.TrimRight(line, "\r\n")})
	}
	p, err := krm.Parse([]krm.File{f})
	if err != nil {
		return nil, err
	}
	resources := p.Resources()
	for _, r := range resources {
		root := r.Node().YNode()
		at := map[string]Origin{}
		for _, l := range o.Under(f.Path, r.ID(), "") {
			at[l.Field] = l.Origin
		}
		for field, line := range lines(root) {
			if line += r.Line() - root.Line - 1; line >= 0 && line < len(out) && out[line].Origin == nil {
				if by, ok := at[field]; ok {
					out[line].Origin = &by
				}
			}
		}
	}
	if len(resources) == 0 {
		for _, l := range o.Leaves() {
			for i := range out {
				if l.File == f.Path {
					out[i].Origin = &l.Origin
				}
			}
		}
	}
	return out, nil
}
