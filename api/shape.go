package api

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	variformv1alpha1 "github.com/variform/variform/api/variform/v1alpha1"
)

// rules are what the jsonschema tag of a field says about its value.
type rules struct {
	enum    []string
	format  string
	minimum *int64
}

func rulesOf(f *reflect.StructField) rules {
	var r rules
	for _, part := range strings.Split(f.Tag.Get("jsonschema"), ",") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "enum":
			r.enum = append(r.enum, value)
		case "format":
			r.format = value
		case "minimum":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				r.minimum = &n
			}
		}
	}
	return r
}

// shapedPackage is the only package whose types are walked: others have tags of other meanings.
var shapedPackage = reflect.TypeOf(variformv1alpha1.PackageManifest{}).PkgPath()

// shape checks what the types themselves say: a string that is not
// `omitempty` is required, and jsonschema tags bound values. docs/schema is
// made of the same tags.
func (i *Issues) shape(path string, v reflect.Value, r rules) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			i.shape(path, v.Elem(), r)
		}
	case reflect.Struct:
		if v.Type().PkgPath() == shapedPackage {
			i.shapeFields(path, v)
		}
	case reflect.Slice:
		for n := range v.Len() {
			i.shape(index(path, n), v.Index(n), r)
		}
	case reflect.Map:
		for _, k := range sortedValues(v.MapKeys()) {
			i.shape(keyed(path, k.String()), v.MapIndex(k), rules{})
		}
	case reflect.String:
		i.word(path, v.String(), r)
	case reflect.Int:
		if r.minimum != nil && v.Int() < *r.minimum {
			i.add(path, fmt.Sprintf("%s must be at least %d, not %d", path, *r.minimum, v.Int()), "")
		}
	}
}

func sortedValues(keys []reflect.Value) []reflect.Value {
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

func (i *Issues) shapeFields(path string, v reflect.Value) {
	for n := range v.NumField() {
		f := v.Type().Field(n)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := join(path, name)
		if strings.Contains(opts, "inline") {
			at = path
		}
		if f.Type.Kind() == reflect.String && !strings.Contains(opts, "omitempty") && v.Field(n).Len() == 0 {
			i.required(at, "")
			continue
		}
		i.shape(at, v.Field(n), rulesOf(&f))
	}
}

func (i *Issues) word(path, value string, r rules) {
	if value == "" {
		return
	}
	if r.enum != nil && !slices.Contains(r.enum, value) {
		i.add(path, fmt.Sprintf("%s can only be %s", path, oneOf(r.enum)), wrongWord(value, r.enum...))
	}
	switch r.format {
	case "semver":
		if _, err := semver.StrictNewVersion(strings.TrimPrefix(value, "v")); err != nil {
			i.add(path, fmt.Sprintf("%s: %q is not a full semantic version", path, shorten(value)), "write three numbers, such as 1.2.0")
		}
	case "semver-range":
		if _, err := semver.NewConstraint(value); err != nil {
			i.add(path, fmt.Sprintf("%s: %q is not a range of versions", path, shorten(value)), `write one such as ">=1.2 <2", 1.x or ^1.2.3`)
		}
	case "semver-range-or-digest":
		if _, err := semver.NewConstraint(value); err != nil && DigestOf(value) == "" {
			i.add(path, fmt.Sprintf("%s: %q is neither a range of versions nor a digest", path, shorten(value)),
				`write one such as ">=1.2 <2", 1.x or ^1.2.3, or sha256: and the hash`)
		}
	}
}

// oneOf is `"a", "b" or "c"`.
func oneOf(words []string) string {
	quoted := make([]string, len(words))
	for n, w := range words {
		quoted[n] = strconv.Quote(w)
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// given lists the names of the choices that are there.
func given(choices map[string]bool) []string {
	var out []string
	for name, is := range choices {
		if is {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// exactlyOne reports none, or more than one, of some fields.
func (i *Issues) exactlyOne(path string, choices map[string]bool) {
	names := make([]string, 0, len(choices))
	for n := range choices {
		names = append(names, n)
	}
	slices.Sort(names)
	switch got := given(choices); len(got) {
	case 0:
		i.add(path, path+" needs one of "+strings.Join(names, ", "), "")
	case 1:
	default:
		i.add(path, fmt.Sprintf("%s has %s, which exclude each other", path, strings.Join(got, " and ")), "leave one of them")
	}
}

// unique reports what is there twice. Empty words do not count.
func (i *Issues) unique(path, field string, words []string) {
	first := map[string]int{}
	for n, w := range words {
		if w == "" {
			continue
		}
		if m, ok := first[w]; ok {
			at := join(index(path, n), field)
			i.add(at, fmt.Sprintf("%s: %q is there twice, first in %s", at, shorten(w), index(path, m)), "")
			continue
		}
		first[w] = n
	}
}
