package contents

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/internal/yamltree"
)

// loss is a field of a schema that admits less than it did, and what to do.
type loss struct{ field, what, do string }

const (
	pruned   = "an API server drops that from objects at their next change: move elsewhere what they say there before"
	refused  = "an API server may refuse every change of an object that does not fit: have such objects changed before"
	remerged = "who applies part of it merges it differently from then on: see that those who write it agree"
)

// narrowed lists in the order of their fields what objects of a version could hold, and
// can no more, by the OpenAPI schemas of then and now. Defaults break nothing: an API
// server sets them when it reads.
func narrowed(was, is *yaml.Node) []loss {
	if was == nil || is == nil {
		return nil
	}
	var c narrowing
	c.compare("", was, is)
	return c
}

type narrowing []loss

func (c *narrowing) add(field, do, format string, args ...any) {
	*c = append(*c, loss{field, fmt.Sprintf(format, args...), do})
}

// compare follows what stands in both; is is never nil.
func (c *narrowing) compare(field string, was, is *yaml.Node) {
	c.types(field, was, is)
	c.enum(field, was, is)
	for _, b := range bounds {
		c.bound(field, b, was, is)
	}
	c.others(field, was, is)
	c.lists(field, was, is)
	c.fields(field, was, is)
	if a, b := yamltree.Child(was, "items"), yamltree.Child(is, "items"); a != nil && b != nil {
		c.compare(field+"[*]", a, b)
	}
}

// types tells of a type that values had and may have no more.
func (c *narrowing) types(field string, was, is *yaml.Node) {
	old, now := types(was), types(is)
	if len(now) == 0 {
		return
	}
	gone := slices.DeleteFunc(slices.Clone(old), func(t string) bool { return slices.Contains(now, t) })
	switch {
	case len(old) == 0:
		c.add(field, refused, "%s only", strings.Join(now, " or "))
	case len(gone) > 0:
		c.add(field, refused, "%s instead of %s", strings.Join(now, " or "), strings.Join(old, " or "))
	case flag(was, "nullable") && !flag(is, "nullable"):
		c.add(field, refused, "no null any more")
	}
}

// types are those that a schema admits; none where it admits any.
func types(schema *yaml.Node) []string {
	switch t := yamltree.Text(schema, "type"); {
	case flag(schema, "x-kubernetes-int-or-string"):
		return []string{"integer", "string"}
	case t == "":
		return nil
	case t == "number":
		return []string{"integer", "number"}
	default:
		return []string{t}
	}
}

func (c *narrowing) enum(field string, was, is *yaml.Node) {
	old, now := texts(was, "enum"), texts(is, "enum")
	gone := slices.DeleteFunc(slices.Clone(old), func(v string) bool { return slices.Contains(now, v) })
	switch {
	case len(now) == 0:
	case len(old) == 0:
		c.add(field, refused, "only %s", some(now))
	case len(gone) > 0:
		c.add(field, refused, "no %s any more", some(gone))
	}
}

// aBound is a keyword that bounds values. Upper ones count downwards.
type aBound struct {
	key, exclusive string
	upper          bool
	none           float64 // what it is where it is not said
}

var bounds = []aBound{
	{"minimum", "exclusiveMinimum", false, math.Inf(-1)},
	{"maximum", "exclusiveMaximum", true, math.Inf(1)},
	{"minLength", "", false, 0},
	{"maxLength", "", true, math.Inf(1)},
	{"minItems", "", false, 0},
	{"maxItems", "", true, math.Inf(1)},
	{"minProperties", "", false, 0},
	{"maxProperties", "", true, math.Inf(1)},
}

func (c *narrowing) bound(field string, b aBound, was, is *yaml.Node) {
	old, now := b.of(was), b.of(is)
	if b.upper {
		old, now = -old, -now
	}
	narrower := now == old && flag(is, b.exclusive) && !flag(was, b.exclusive)
	switch text := yamltree.Text(was, b.key); {
	case narrower:
		c.add(field, refused, "%s", b.exclusive)
	case now <= old:
	case text == "":
		c.add(field, refused, "%s %s", b.key, yamltree.Text(is, b.key))
	default:
		c.add(field, refused, "%s %s instead of %s", b.key, yamltree.Text(is, b.key), text)
	}
}

func (b aBound) of(schema *yaml.Node) float64 {
	if f, err := strconv.ParseFloat(yamltree.Text(schema, b.key), 64); err == nil {
		return f
	}
	return b.none
}

// others tells of keywords that narrow by coming, and of which cannot be told whether
// they do by changing.
func (c *narrowing) others(field string, was, is *yaml.Node) {
	for _, key := range []string{"pattern", "format", "multipleOf", "allOf", "anyOf", "oneOf", "not", "x-kubernetes-embedded-resource"} {
		old, now := yamltree.Child(was, key), yamltree.Child(is, key)
		switch {
		case now == nil || old != nil && yamltree.SameData(old, now):
		case key == "format" && slices.Contains([]string{"int32", "int64", "float", "double"}, now.Value): // nobody checks those
		case key == "anyOf" && flag(is, "x-kubernetes-int-or-string"): // says the two types
		case old == nil:
			c.add(field, refused, "a new %s", key)
		default:
			c.add(field, refused, "another %s", key)
		}
	}
	rules := map[string]bool{}
	for _, r := range yamltree.Items(was, "x-kubernetes-validations") {
		rules[yamltree.Text(r, "rule")] = true
	}
	for _, r := range yamltree.Items(is, "x-kubernetes-validations") {
		if rule := yamltree.Text(r, "rule"); !rules[rule] {
			c.add(field, refused, "a new rule, %s", some([]string{rule}))
		}
	}
}

// lists tells of lists and maps that are merged differently when they are applied.
func (c *narrowing) lists(field string, was, is *yaml.Node) {
	for _, k := range [][2]string{{"list", "atomic"}, {"map", "granular"}} {
		key := "x-kubernetes-" + k[0] + "-type"
		old, now := cmp.Or(yamltree.Text(was, key), k[1]), cmp.Or(yamltree.Text(is, key), k[1])
		if old != now {
			c.add(field, remerged, "a %s that is %s instead of %s", k[0], now, old)
		}
	}
	old, now := texts(was, "x-kubernetes-list-map-keys"), texts(is, "x-kubernetes-list-map-keys")
	if len(old) > 0 && len(now) > 0 && !slices.Equal(old, now) {
		c.add(field, remerged, "items told apart by %s instead of %s", some(now), some(old))
	}
}

// fields compares what stands below an object.
func (c *narrowing) fields(field string, was, is *yaml.Node) {
	old, now := yamltree.Merged(yamltree.Child(was, "properties")), yamltree.Merged(yamltree.Child(is, "properties"))
	required := texts(was, "required")
	for _, name := range texts(is, "required") {
		if !slices.Contains(required, name) && yamltree.Child(now[name], "default") == nil {
			c.add(yamltree.JoinField(field, name), refused, "required")
		}
	}
	rest := yamltree.Child(is, "additionalProperties")
	open := flag(is, "x-kubernetes-preserve-unknown-fields") || rest != nil && rest.Value == "true"
	for _, name := range slices.Sorted(maps.Keys(old)) {
		switch is := cmp.Or(now[name], rest); {
		case is == nil && !open && !(field == "" && slices.Contains([]string{"apiVersion", "kind", "metadata"}, name)):
			c.add(yamltree.JoinField(field, name), pruned, "gone")
		case yamltree.IsMap(is):
			c.compare(yamltree.JoinField(field, name), old[name], is)
		}
	}
	had := yamltree.Child(was, "additionalProperties")
	switch {
	case rest == nil && !open && (had != nil || flag(was, "x-kubernetes-preserve-unknown-fields")):
		c.add(field, pruned, "only fields that the schema names")
	case yamltree.IsMap(had) && yamltree.IsMap(rest):
		c.compare(field+".*", had, rest)
	}
}

func flag(schema *yaml.Node, key string) bool {
	return key != "" && yamltree.Text(schema, key) == "true"
}

// texts are the scalars of a list, as YAML means them.
func texts(schema *yaml.Node, key string) (out []string) {
	for _, n := range yamltree.Items(schema, key) {
		if n = yamltree.Deref(n); yamltree.IsScalar(n) {
			out = append(out, yamltree.Canonical(n))
		}
	}
	return out
}

// some are the first of many texts.
func some(texts []string) string {
	const most, long = 5, 60
	out := make([]string, 0, most)
	for _, t := range texts[:min(len(texts), most)] {
		if r := []rune(t); len(r) > long {
			t = string(r[:long]) + "…"
		}
		out = append(out, strconv.Quote(t))
	}
	if n := len(texts) - most; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}
