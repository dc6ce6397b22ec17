package api

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/variform/variform/internal/lazyregexp"
)

// FieldPath names one field of a resource by the steps from its root. Its text
// is that of Variform's messages: spec.ports[name=sql].port, data["a.b"],
// spec.args[0].
type FieldPath []FieldStep

// FieldStep is one step: a field of a map where Field is set, the one element
// of a list that has all Keys where there are some, otherwise the element at
// Index, from 0.
type FieldStep struct {
	Field string
	Keys  []FieldKey
	Index int
}

// FieldKey is a field of a list's element and the text of its value.
type FieldKey struct{ Name, Value string }

// ResourceField is a field of one resource,
// "[context/]Kind[.group][/name]:path" (docs/design/kinds.md).
type ResourceField struct {
	// Context is true for a context object, false for a resource of the package.
	Context bool
	Kind    string
	Group   string // empty: any group
	Name    string // empty: the only one of its kind
	Path    FieldPath
}

// Secret says whether the field is one of a core Secret.
func (f *ResourceField) Secret() bool { return IsSecret(f.Group, f.Kind) }

// Resource is the part before the path, without "context/".
func (f *ResourceField) Resource() string {
	s := f.Kind
	if f.Group != "" {
		s += "." + f.Group
	}
	if f.Name != "" {
		s += "/" + f.Name
	}
	return s
}

// String is the text that ParseResourceField reads.
func (f *ResourceField) String() string {
	s := f.Resource() + ":" + f.Path.String()
	if f.Context {
		s = contextPrefix + s
	}
	return s
}

const contextPrefix = "context/"

// resourceHead is what can stand before the colon of a field path and never
// before the first colon of a CEL expression, which has a "?" or "{" there.
var resourceHead = lazyregexp.New(`^[A-Za-z0-9._/-]*$`)

// IsResourceField says whether a text is meant as a ResourceField; an output's
// valueFrom that is not is a CEL expression.
func IsResourceField(text string) bool {
	head, _, ok := strings.Cut(text, ":")
	return ok && resourceHead.MatchString(head)
}

var (
	kindText  = lazyregexp.New(`^[A-Z][A-Za-z0-9]*$`)
	groupText = lazyregexp.New(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
	nameText  = lazyregexp.New(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)
)

// ParseResourceField reads "[context/]Kind[.group][/name]:path". The error says
// what is wrong and what to write.
func ParseResourceField(text string) (*ResourceField, error) {
	head, rest, ok := strings.Cut(text, ":")
	if !ok {
		return nil, fmt.Errorf("%q names no resource: write Kind/name:path, such as Service/db:spec.clusterIP", shorten(text))
	}
	f := &ResourceField{}
	head, f.Context = strings.CutPrefix(head, contextPrefix)
	kind, name, named := strings.Cut(head, "/")
	f.Name = name
	var grouped bool
	f.Kind, f.Group, grouped = strings.Cut(kind, ".")
	switch {
	case !kindText.MatchString(f.Kind):
		return nil, fmt.Errorf("%q is not a kind, such as ConfigMap", shorten(f.Kind))
	case grouped && !groupText.MatchString(f.Group):
		return nil, fmt.Errorf("%q is not an API group, such as apps; write Kind.group/name:path", shorten(f.Group))
	case named && !nameText.MatchString(f.Name):
		return nil, fmt.Errorf("%q is not a resource's name; write Kind/name:path", shorten(f.Name))
	case f.Kind == "Kptfile":
		return nil, errors.New("the Kptfile is no resource of the package; read or set the fields of another")
	}
	var err error
	f.Path, err = ParseFieldPath(rest)
	return f, err
}

// maxSteps bounds a path; no Kubernetes type is as deep.
const maxSteps = 100

// ParseFieldPath reads a path such as spec.ports[name=sql].port. Fields with
// one of .[]" are quoted, data["a.b"]; so are values with one of ,]" in
// them, [name="a,b"]. The error says at which character reading stopped.
func ParseFieldPath(text string) (FieldPath, error) {
	p := pathParser{text: text}
	for p.pos < len(p.text) {
		if err := p.step(); err != nil {
			return nil, fmt.Errorf("field path %q, character %d: %w", shorten(text), p.pos+1, err)
		}
		if len(p.out) > maxSteps {
			return nil, fmt.Errorf("field path %q has more than %d steps", shorten(text), maxSteps)
		}
	}
	if len(p.out) == 0 {
		return nil, errors.New("the field path is empty; name a field, such as metadata.name")
	}
	return p.out, nil
}

type pathParser struct {
	text string
	pos  int
	out  FieldPath
}

func (p *pathParser) step() error {
	if p.text[p.pos] == '[' {
		return p.bracket()
	}
	if len(p.out) > 0 {
		if p.text[p.pos] != '.' {
			return fmt.Errorf("a dot or a bracket must follow, not %q", p.text[p.pos])
		}
		p.pos++
	}
	name := p.until(".[]\"\n")
	if name == "" {
		return errors.New("a field's name must stand here; quote one with dots or brackets, such as data[\"a.b\"]")
	}
	p.out = append(p.out, FieldStep{Field: name})
	return nil
}

// until takes the text up to one of some characters.
func (p *pathParser) until(stop string) string {
	rest := p.text[p.pos:]
	if i := strings.IndexAny(rest, stop); i >= 0 {
		rest = rest[:i]
	}
	p.pos += len(rest)
	return rest
}

// bracket reads ["field"], [0] or [name=value,…].
func (p *pathParser) bracket() error {
	p.pos++
	if p.pos < len(p.text) && p.text[p.pos] == '"' {
		name, err := p.quoted()
		if err != nil {
			return err
		}
		if name == "" {
			return errors.New("the field's name is empty")
		}
		p.out = append(p.out, FieldStep{Field: name})
		return p.closing()
	}
	start := p.pos
	step := FieldStep{}
	for {
		name := p.until("=,]\"[\n")
		if p.pos < len(p.text) && p.text[p.pos] == ']' && len(step.Keys) == 0 {
			n, err := strconv.ParseUint(name, 10, 31)
			if err != nil {
				p.pos = start
				return fmt.Errorf("%q is no place in a list: write [0], [name=value] or [\"field\"]", shorten(name))
			}
			step.Index = int(n)
			break
		}
		if name == "" || p.pos >= len(p.text) || p.text[p.pos] != '=' {
			return errors.New("an element of a list is chosen with [name=value]")
		}
		p.pos++
		value, err := p.value()
		if err != nil {
			return err
		}
		step.Keys = append(step.Keys, FieldKey{name, value})
		if p.pos >= len(p.text) || p.text[p.pos] != ',' {
			break
		}
		p.pos++
	}
	p.out = append(p.out, step)
	return p.closing()
}

func (p *pathParser) value() (string, error) {
	if p.pos < len(p.text) && p.text[p.pos] == '"' {
		return p.quoted()
	}
	value := p.until(",]\"\n")
	if value == "" {
		return "", errors.New("a value must stand after \"=\"")
	}
	return value, nil
}

func (p *pathParser) quoted() (string, error) {
	prefix, err := strconv.QuotedPrefix(p.text[p.pos:])
	if err != nil {
		return "", errors.New("the quoted text has no end, or an escape that is none")
	}
	s, err := strconv.Unquote(prefix)
	if err != nil {
		return "", err
	}
	p.pos += len(prefix)
	return s, nil
}

func (p *pathParser) closing() error {
	if p.pos >= len(p.text) || p.text[p.pos] != ']' {
		return errors.New("a closing bracket is missing")
	}
	p.pos++
	return nil
}

// String is the path's text.
func (p FieldPath) String() string {
	var b strings.Builder
	for _, s := range p {
		if s.Field != "" && !strings.ContainsAny(s.Field, ".[]\"\n") && b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.String())
	}
	return b.String()
}

// String is one step as it stands in a path, without a dot before it.
func (s FieldStep) String() string {
	switch {
	case s.Field != "" && strings.ContainsAny(s.Field, ".[]\"\n"):
		return "[" + strconv.Quote(s.Field) + "]"
	case s.Field != "":
		return s.Field
	case len(s.Keys) == 0:
		return "[" + strconv.Itoa(s.Index) + "]"
	}
	parts := make([]string, len(s.Keys))
	for i, k := range s.Keys {
		value := k.Value
		if value == "" || strings.ContainsAny(value, ",]\"\n") {
			value = strconv.Quote(value)
		}
		parts[i] = k.Name + "=" + value
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// CheckReadable says why the field cannot be an output: it is content of a
// Secret (docs/design/kinds.md: credentials are references, never rendered
// outputs). Identity, labels and type of a Secret are none.
func (f *ResourceField) CheckReadable() error {
	if !f.Secret() || f.Path.under("apiVersion", "kind", "type") || f.Path[0].Field == "metadata" && f.Path[1:].under("name", "namespace", "labels") {
		return nil
	}
	return errors.New("what a Secret holds is never an output; give its metadata.name, by which others can refer to it")
}

// CheckSettable says why a parameter cannot set the field: it is another's, it
// names its resource, or a Secret holds it.
func (f *ResourceField) CheckSettable() error {
	switch {
	case f.Context:
		return errors.New("context objects are only read; name a resource of the package")
	case f.Path.is("apiVersion"), f.Path.is("kind"), f.Path.is("metadata"), f.Path.is("metadata", "name"):
		return fmt.Errorf("%s says which resource it is and cannot be set; use a setter for it", f.Path)
	case f.Secret() && !f.Path.under("metadata", "type"):
		return errors.New("a Secret's content does not belong in Git; let the package refer to one by name")
	}
	return nil
}

// under says whether the first step is one of some fields.
func (p FieldPath) under(fields ...string) bool {
	return len(p) > 0 && slices.Contains(fields, p[0].Field)
}

func (p FieldPath) is(fields ...string) bool {
	return len(p) == len(fields) && slices.EqualFunc(p, fields, func(s FieldStep, f string) bool { return s.Field == f })
}
