package merge

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lazyregexp"
	"github.com/variform/variform/internal/yamltree"
)

// LosesEdit reports whether the merged package lacks local's change.
func (c Conflict) LosesEdit() bool {
	switch c.Fate {
	case Lost, Overruled:
		return true
	case BothAdded:
		return c.Winner == Upstream && c.Upstream+c.Local != ""
	}
	return false
}

// ParseConflict reads a line that Conflict.String wrote about an edit that was kept,
// lost or overruled, or about a value that was left out, and reports whether it is one. Line and Base are not in the line,
// and of an edit that was kept no value is read.
func ParseConflict(line string) (c Conflict, ok bool) {
	if place, text, found := strings.Cut(line, ": overruled with "); found {
		c.Fate, c.Winner = Overruled, Upstream
		text, c.By = cutBy(text)
		text, c.Instead = cutLast(text, ": change ")
		c.Upstream, c.Local = cutLast(text, ", the edit was ")
		return c.at(place), true
	}
	place, text, found := strings.Cut(line, " wins with ")
	if !found {
		return Conflict{}, false
	}
	place, winner := cutLast(place, ": ")
	c.Fate, c.Winner = Lost, Upstream
	if own, both := strings.CutSuffix(place, bothAddedIt); both {
		place, c.Fate = own, BothAdded
	} else if own, left := strings.CutSuffix(place, valueLeftOut); left {
		place, c.Fate = own, LeftOut
	}
	text, c.By = cutBy(text)
	if winner == string(Local) || winner == DraftSide {
		if c.Winner = Local; c.Fate == Lost {
			c.Fate = Kept
		}
		return c.at(place), true
	}
	for _, loser := range []string{string(Local), DraftSide} {
		if won, lost := cutLast(text, "; "+loser+" was "); lost != "" {
			c.Upstream, c.Local = won, lost
			return c.at(place), true
		}
	}
	return Conflict{}, false
}

// DraftSide is what Conflict.Ours calls a Draft.
const DraftSide = "the Draft"

// at is a conflict with the place that a line names, and values as they were.
func (c Conflict) at(place string) Conflict {
	path, rest, _ := strings.Cut(place, ": ")
	c.Path = path
	if id, field, _ := strings.Cut(rest, ": "); strings.Contains(id, "/") {
		c.Resource, c.Field = parseID(id), field
	} else {
		c.Field = rest
	}
	for _, v := range []*string{&c.Upstream, &c.Local} {
		if *v == orDeleted("") {
			*v = ""
		}
	}
	return c
}

// parseID reads what krm.ID writes.
func parseID(text string) (id krm.ID) {
	kind, name, _ := strings.Cut(text, "/")
	id.Kind, id.Group, _ = strings.Cut(kind, ".")
	if namespace, rest, found := strings.Cut(name, "/"); found {
		id.Namespace, name = namespace, rest
	}
	id.Name = name
	return id
}

// author is how a conflict names who wrote local's value.
var author = lazyregexp.New(`^.* \([0-9a-f]{7,}\)$`)

// cutBy cuts the author off.
func cutBy(text string) (before, by string) {
	if before, by = cutLast(text, ", by "); author.MatchString(by) {
		return before, by
	}
	return text, ""
}

// cutLast cuts around the last separator; without one all is before.
func cutLast(text, sep string) (before, after string) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):]
	}
	return text, ""
}

// In returns what a package has at the conflict's place, as conflicts show values;
// ok is false where that cannot be told: of files, of credentials, of what is cut
// short.
func (c Conflict) In(p *krm.Package) (value string, ok bool) {
	if p == nil || c.Resource == (krm.ID{}) || c.Field == "" || c.Field == "(file)" {
		return "", false
	}
	for _, r := range p.Resources() {
		if r.Path() != c.Path || r.ID() != c.Resource {
			continue
		}
		n, _ := yamltree.Nearest(r.Node().YNode(), c.PlainField())
		if n == nil {
			return "", true
		}
		value = c.shown(n)
		return value, !strings.Contains(value, redacted) && len(value) <= maxShown
	}
	return "", true
}

// PlainField is Field without the quotes around names that have a dot, as
// yamltree.JoinField writes it.
func (c Conflict) PlainField() string {
	return strings.NewReplacer(`["`, "[", `"]`, "]").Replace(c.Field)
}

// shown writes a value as the conflict's own: a text of one word has no quotes there
// where review wrote it.
func (c Conflict) shown(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode && n.Value == c.Local {
		return n.Value
	}
	steps := strings.FieldsFunc(c.Field, func(r rune) bool { return r == '.' })
	d := &doc{secret: c.Resource.IsSecret(), path: steps}
	return d.show(n)
}
