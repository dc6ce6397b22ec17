package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// Bounds on one document, so that aliases and depth cannot exhaust anything.
const (
	maxNodes = 500_000
	maxDepth = 100
)

// decoder walks a YAML tree along a Go type and collects findings.
type decoder struct {
	options
	report  Report
	lenient bool // pass over unknown fields
	budget  int  // nodes that may still be visited
	depth   int
	stopped bool
}

func (d *decoder) fileLine(line int) int {
	if line == 0 {
		return 0
	}
	return line + d.line
}

func (d *decoder) issue(n *yaml.Node, field, message, hint string) Issue {
	line := 0
	if n != nil {
		line = d.fileLine(n.Line)
	}
	return Issue{File: d.file, Line: line, Field: field, Message: message, Hint: hint}
}

func (d *decoder) errorf(n *yaml.Node, field, message, hint string) {
	d.report.Errors = append(d.report.Errors, d.issue(n, field, message, hint))
}

func (d *decoder) warnf(n *yaml.Node, field, message, hint string) {
	d.report.Warnings = append(d.report.Warnings, d.issue(n, field, message, hint))
}

// enter counts a node and refuses to go on past the bounds.
func (d *decoder) enter(n *yaml.Node, path string) bool {
	if d.stopped {
		return false
	}
	d.budget--
	if d.budget < 0 || d.depth > maxDepth {
		d.stopped = true
		d.errorf(n, path, orDocument(path)+" is too large or too deep once its YAML aliases are followed",
			fmt.Sprintf("at most %d nodes and %d levels; write the values out instead of aliases", maxNodes, maxDepth))
		return false
	}
	d.depth++
	return true
}

func orDocument(path string) string {
	if path == "" {
		return "the document"
	}
	return path
}

var (
	rnodeType           = reflect.TypeOf((*yaml.RNode)(nil))
	jsonUnmarshalerType = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()
)

// value decodes one node into v. Null leaves v as it is.
func (d *decoder) value(v reflect.Value, n *yaml.Node, path string) {
	n = yamltree.Deref(n)
	if yamltree.IsNull(n) {
		return
	}
	if !d.enter(n, path) {
		return
	}
	defer func() { d.depth-- }()
	t := v.Type()
	switch {
	case t == rnodeType:
		d.rnode(v, n, path)
	case t.Kind() == reflect.Pointer:
		p := reflect.New(t.Elem())
		d.value(p.Elem(), n, path)
		v.Set(p)
	case reflect.PointerTo(t).Implements(jsonUnmarshalerType):
		d.custom(v, n, path)
	default:
		d.plain(v, n, path)
	}
}

func (d *decoder) plain(v reflect.Value, n *yaml.Node, path string) {
	switch v.Kind() {
	case reflect.Struct:
		d.structure(v, n, path)
	case reflect.Map:
		d.stringMap(v, n, path)
	case reflect.Slice:
		d.slice(v, n, path)
	case reflect.String:
		if s, ok := d.str(n, path); ok {
			v.SetString(s)
		}
	case reflect.Bool:
		if b, ok := d.boolean(n, path); ok {
			v.SetBool(b)
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if i, ok := d.integer(n, path); ok {
			v.SetInt(i)
		}
	case reflect.Interface:
		d.anything(v, n, path)
	default:
		d.custom(v, n, path)
	}
}

func (d *decoder) rnode(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, "an object")
		return
	}
	if c := d.copy(n, path); c != nil {
		v.Set(reflect.ValueOf(yaml.NewRNode(c)))
	}
}

// copy is a tree of its own, with aliases written out: their anchors may stand
// outside of it.
func (d *decoder) copy(n *yaml.Node, path string) *yaml.Node {
	if n = yamltree.Deref(n); n == nil || !d.enter(n, path) {
		return nil
	}
	defer func() { d.depth-- }()
	out := *n
	out.Anchor, out.Content = "", make([]*yaml.Node, 0, len(n.Content))
	for _, child := range n.Content {
		c := d.copy(child, path)
		if c == nil {
			return nil
		}
		out.Content = append(out.Content, c)
	}
	return &out
}

// custom hands a node to the type's own UnmarshalJSON.
func (d *decoder) custom(v reflect.Value, n *yaml.Node, path string) {
	var plain any
	if err := n.Decode(&plain); err != nil {
		d.errorf(n, path, fmt.Sprintf("%s cannot be read: %v", path, err), "")
		return
	}
	data, err := json.Marshal(plain)
	if err == nil {
		err = json.Unmarshal(data, v.Addr().Interface())
	}
	if err != nil {
		d.errorf(n, path, fmt.Sprintf("%s cannot be read: %v", path, err), "")
	}
}

func (d *decoder) anything(v reflect.Value, n *yaml.Node, path string) {
	var plain any
	if err := n.Decode(&plain); err != nil {
		d.errorf(n, path, fmt.Sprintf("%s cannot be read: %v", path, err), "")
		return
	}
	if plain != nil {
		v.Set(reflect.ValueOf(plain))
	}
}

func (d *decoder) slice(v reflect.Value, n *yaml.Node, path string) {
	elem := v.Type().Elem()
	if n.Kind == yaml.MappingNode && elem.Kind() == reflect.Struct {
		d.warnf(n, path, path+" is a list; the single map is read as its only entry", `put "- " before the entry`)
		one := reflect.New(elem).Elem()
		d.value(one, n, path+"[0]")
		v.Set(reflect.Append(v, one))
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, path, "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		if d.stopped {
			return
		}
		if item := yamltree.Deref(c); item != nil && yamltree.IsNull(item) && elem.Kind() != reflect.Struct {
			d.wrongType(item, index(path, i), describe(elem))
			continue
		}
		d.value(out.Index(i), c, index(path, i))
	}
	v.Set(reflect.AppendSlice(v, out))
	if v.IsNil() {
		v.Set(out)
	}
}

func (d *decoder) stringMap(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, "a map")
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.Content)/2)
	for _, e := range d.entries(n, path) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(item, e.value, keyed(path, e.key.Value))
		out.SetMapIndex(reflect.ValueOf(e.key.Value).Convert(v.Type().Key()), item)
	}
	v.Set(out)
}

func (d *decoder) structure(v reflect.Value, n *yaml.Node, path string) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, path, "a map")
		return
	}
	fields := fieldsOf(v.Type())
	for _, e := range d.entries(n, path) {
		name := e.key.Value
		if f, ok := fields.byName[name]; ok {
			if fields.texts[name] {
				e.value = asText(e.value)
			}
			d.value(v.FieldByIndex(f), e.value, join(path, name))
			continue
		}
		if real, ok := aliasOf(v.Type(), name); ok {
			d.warnf(e.key, join(path, name), fmt.Sprintf("%s is read as %s", join(path, name), join(path, real)),
				fmt.Sprintf("write %q", real))
			d.value(v.FieldByIndex(fields.byName[real]), e.value, join(path, real))
			continue
		}
		if !d.lenient {
			d.errorf(e.key, join(path, name), "unknown field "+join(path, name), unknownHint(v.Type(), name, fields.names))
		}
	}
}

// asText is a number or a boolean as the string that is written there.
func asText(n *yaml.Node) *yaml.Node {
	n = yamltree.Deref(n)
	if n == nil || n.Kind != yaml.ScalarNode || yamltree.IsNull(n) {
		return n
	}
	text := *n
	text.Tag = yaml.NodeTagString
	return &text
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func keyed(path, key string) string { return path + "[" + key + "]" }
