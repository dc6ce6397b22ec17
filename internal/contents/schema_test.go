package contents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// schemas is a definition with a schema for v1, and one for v1alpha1.
func schemas(v1, v1alpha1 string) map[string]string {
	return map[string]string{"a.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: foos.x.io}\n" +
		"spec: {group: x.io, scope: Namespaced, names: {kind: Foo}, versions: [" +
		"{name: v1, served: true, storage: true, schema: {openAPIV3Schema: " + v1 + "}}, {name: v1alpha1, served: true, storage: false, schema: {openAPIV3Schema: " + v1alpha1 + "}}]}\n"}
}

func TestBreaksOfSchemas(t *testing.T) {
	const preserve = "x-kubernetes-preserve-unknown-fields: true"
	for name, tc := range map[string]struct {
		was, is string // the schema of spec
		want    string
	}{
		"nothing":                    {"{type: object, properties: {a: {type: string}}}", "{type: object, properties: {a: {type: string}}}", ""},
		"another description":        {"{type: object, description: a}", "{type: object, description: b}", ""},
		"a field comes":              {"{properties: {a: {type: string}}}", "{properties: {a: {type: string}, b: {type: string}}}", ""},
		"a field goes":               {"{properties: {a: {type: string}, b: {type: string}}}", "{properties: {a: {type: string}}}", "spec.b: gone"},
		"one below goes":             {"{properties: {a: {items: {properties: {b: {}}}}}}", "{properties: {a: {items: {properties: {}}}}}", "spec.a[*].b: gone"},
		"it goes, all are kept":      {"{properties: {b: {type: string}}}", "{" + preserve + "}", ""},
		"it goes, all are strings":   {"{properties: {b: {type: string}}}", "{additionalProperties: {type: string}}", ""},
		"it goes, all are integers":  {"{properties: {b: {type: string}}}", "{additionalProperties: {type: integer}}", "spec.b: integer instead of string"},
		"it goes, all are there":     {"{properties: {b: {type: string}}}", "{additionalProperties: true}", ""},
		"a map's values":             {"{additionalProperties: {type: string}}", "{additionalProperties: {type: string, maxLength: 3}}", "spec.*: maxLength 3"},
		"a map has names":            {"{additionalProperties: {type: string}}", "{properties: {b: {type: string}}}", "spec: only fields that the schema names"},
		"a map keeps all":            {"{additionalProperties: {type: string}}", "{" + preserve + "}", ""},
		"all were kept":              {"{" + preserve + "}", "{properties: {b: {type: string}}}", "spec: only fields that the schema names"},
		"required":                   {"{properties: {a: {}}, required: [a]}", "{properties: {a: {}, b: {}}, required: [b, a]}", "spec.b: required"},
		"required no more":           {"{properties: {a: {}}, required: [a]}", "{properties: {a: {}}}", ""},
		"required, with a default":   {"{properties: {a: {}}}", "{properties: {a: {default: 1}}, required: [a]}", ""},
		"another default":            {"{properties: {a: {default: 1}}}", "{properties: {a: {default: 2}}}", ""},
		"another type":               {"{type: string}", "{type: integer}", "spec: integer instead of string"},
		"numbers beside integers":    {"{type: integer}", "{type: number}", ""},
		"integers alone":             {"{type: number}", "{type: integer}", "spec: integer instead of integer or number"},
		"integers beside strings":    {"{type: string}", "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}", ""},
		"strings alone":              {"{x-kubernetes-int-or-string: true}", "{type: string}", "spec: string instead of integer or string"},
		"a type at all":              {"{" + preserve + "}", "{type: object, " + preserve + "}", "spec: object only"},
		"no null":                    {"{type: string, nullable: true}", "{type: string}", "spec: no null any more"},
		"null":                       {"{type: string}", "{type: string, nullable: true}", ""},
		"one value less":             {"{enum: [a, b, 3]}", "{enum: [3, a, c]}", `spec: no "b" any more`},
		"one value more":             {"{enum: [a]}", "{enum: [a, b]}", ""},
		"no values any more":         {"{enum: [a]}", "{}", ""},
		"values at all":              {"{}", "{enum: [a, 'b; c']}", `spec: only "a", "b, c"`},
		"a higher minimum":           {"{minimum: 1}", "{minimum: 2}", "spec: minimum 2 instead of 1"},
		"a lower minimum":            {"{minimum: 1}", "{minimum: 0.5}", ""},
		"the same, spelt otherwise":  {"{minimum: 10}", "{minimum: 1e1}", ""},
		"a minimum":                  {"{}", "{minimum: -5}", "spec: minimum -5"},
		"exclusive":                  {"{minimum: 1}", "{minimum: 1, exclusiveMinimum: true}", "spec: exclusiveMinimum"},
		"exclusive of less":          {"{minimum: 1}", "{minimum: 0, exclusiveMinimum: true}", ""},
		"a lower maximum":            {"{maximum: 9}", "{maximum: 8}", "spec: maximum 8 instead of 9"},
		"a higher maximum":           {"{maximum: 9}", "{maximum: 10}", ""},
		"a maximum goes":             {"{maximum: 9}", "{}", ""},
		"a length that all have":     {"{}", "{minLength: 0}", ""},
		"a length":                   {"{}", "{minLength: 1}", "spec: minLength 1"},
		"fewer items":                {"{maxItems: 3}", "{maxItems: 2}", "spec: maxItems 2 instead of 3"},
		"a pattern":                  {"{}", "{pattern: a}", "spec: a new pattern"},
		"another pattern":            {"{pattern: a}", "{pattern: b}", "spec: another pattern"},
		"a pattern goes":             {"{pattern: a}", "{}", ""},
		"a format":                   {"{}", "{format: date}", "spec: a new format"},
		"a format that nobody reads": {"{format: int64}", "{format: int32}", ""},
		"alternatives":               {"{oneOf: [{required: [a]}]}", "{oneOf: [{required: [b]}]}", "spec: another oneOf"},
		"the same alternatives":      {"{oneOf: [{required: [a], minimum: 1}]}", "{oneOf: [{minimum: 1, required: [a]}]}", ""},
		"a rule":                     {"{x-kubernetes-validations: [{rule: a}]}", "{x-kubernetes-validations: [{rule: b, message: m}, {rule: a, message: n}]}", `spec: a new rule, "b"`},
		"a list becomes a set":       {"{type: array}", "{type: array, x-kubernetes-list-type: set}", "spec: a list that is set instead of atomic"},
		"a list stays atomic":        {"{type: array}", "{type: array, x-kubernetes-list-type: atomic}", ""},
		"other keys":                 {"{x-kubernetes-list-map-keys: [a]}", "{x-kubernetes-list-map-keys: [a, b]}", `spec: items told apart by "a", "b" instead of "a"`},
		"a map becomes atomic":       {"{type: object}", "{type: object, x-kubernetes-map-type: atomic}", "spec: a map that is atomic instead of granular"},
		"a name with dots":           {"{properties: {a.b/c: {}}}", "{properties: {}}", "spec[a.b/c]: gone"},
	} {
		root := func(spec string) string { return "{type: object, properties: {spec: " + spec + "}}" }
		got := Breaks(parse(t, schemas(root(tc.was), root("{}"))), parse(t, schemas(root(tc.is), root("{}"))))
		want := []string{}
		if tc.want != "" {
			want = append(want, "foos.x.io v1: "+tc.want)
		}
		if diff := cmp.Diff(want, whats(t, got)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// whats are what is told, each of it with what to do, on one line and in one part of a
// trailer.
func whats(t *testing.T, breaks []Break) []string {
	t.Helper()
	out := []string{}
	for _, b := range breaks {
		if out = append(out, b.What); b.Do == "" || strings.ContainsAny(b.What, ";\n\r") {
			t.Errorf("%+v: it says what to do, and is one part of a trailer", b)
		}
	}
	return out
}

// What several versions lose alike is told once, what is everywhere in an object is
// kept in any case, and only versions that can have objects count.
func TestBreaksOfVersions(t *testing.T) {
	two := func(a, b string) map[string]string { return schemas(a, b) }
	const full, none = "{properties: {apiVersion: {}, metadata: {}, a: {}}}", "{properties: {}}"
	for name, tc := range map[string]struct {
		was, is map[string]string
		want    []string
	}{
		"both": {two(full, full), two(none, none), []string{"foos.x.io v1, v1alpha1: a: gone"}},
		"one":  {two(full, full), two(full, none), []string{"foos.x.io v1alpha1: a: gone"}},
		"none that has a schema": {
			map[string]string{"a.yaml": strings.ReplaceAll(two(full, full)["a.yaml"], "schema", "other")}, two(none, none), []string{},
		},
		"one that is not served": {
			map[string]string{"a.yaml": strings.Replace(two(full, full)["a.yaml"], "v1alpha1, served: true", "v1alpha1, served: false", 1)}, two(full, none), []string{},
		},
		"line breaks": {two(strings.Replace(full, " a:", ` "a\nVariform-Review":`, 1), none), two(none, none), []string{"foos.x.io v1: a Variform-Review: gone"}},
	} {
		if diff := cmp.Diff(tc.want, whats(t, Breaks(parse(t, tc.was), parse(t, tc.is)))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

// Of very many the first are told.
func TestManyBreaks(t *testing.T) {
	var fields []string
	for i := range 500 {
		fields = append(fields, fmt.Sprintf("f%03d: {}", i))
	}
	full := "{properties: {" + strings.Join(fields, ", ") + "}}"
	got := whats(t, Breaks(parse(t, schemas(full, full)), parse(t, schemas("{}", "{}"))))
	if len(got) != most+1 || got[0] != "foos.x.io v1, v1alpha1: f000: gone" || got[most] != "foos.x.io admits less in 480 more places" {
		t.Errorf("%d: %q", len(got), got)
	}
}
