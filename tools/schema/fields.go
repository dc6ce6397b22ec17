package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// order is that of the kinds in the page of all fields.
var order = []string{"PackageVariantSet", "PackageVariant", "Repository", "PackageManifest", "Installation", "Catalog", "PackageLock", "Fleet", "RolloutStrategy", "Rollout", "InjectConfig"}

// Fields is the page of every field of every kind, made from their schemas.
func Fields(files map[string][]byte) ([]byte, error) {
	var b strings.Builder
	b.WriteString(`# Fields

Every field of every kind that a person writes, Porch's too. Generated from the Go types: ` + "`go generate ./tools/schema`" + `.
The same as JSON Schemas, for editors: [schema](schema/) ([set-up](editors.md)). What is required stands so; all else may be
left out. ` + "`[]`" + ` is each entry of a list, ` + "`*`" + ` each key of a map. Rules between fields are checked where a file is read, with its
line. A Kptfile is [kpt's own](https://kpt.dev/reference/schema/kptfile/).
`)
	var errs []error
	for _, kind := range order {
		s := &jsonschema.Schema{}
		if err := json.Unmarshal(files[strings.ToLower(kind)+".json"], s); err != nil {
			return nil, fmt.Errorf("the schema of %s: %w", kind, err)
		}
		f := fields{defs: s.Definitions}
		f.object("", s)
		errs = append(errs, f.errs...)
		version, _ := s.Properties.Get("apiVersion")
		fmt.Fprintf(&b, "\n## %s\n\n`apiVersion: %v`. %s\n\n| field | type | default | example | meaning |\n|---|---|---|---|---|\n%s", kind, version.Const, s.Description, f.rows.String())
	}
	return []byte(b.String()), errors.Join(errs...)
}

type fields struct {
	defs jsonschema.Definitions
	in   []string // definitions that are being listed
	rows strings.Builder
	errs []error
}

func (f *fields) object(path string, s *jsonschema.Schema) {
	if s.Properties == nil {
		return
	}
	for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
		if name := pair.Key; path != "" || name != "apiVersion" && name != "kind" {
			f.field(strings.TrimPrefix(path+"."+name, "."), pair.Value, slices.Contains(s.Required, name))
		}
	}
}

func (f *fields) field(path string, s *jsonschema.Schema, required bool) {
	if path == "status" { // of controllers
		return
	}
	about, ref := s.Description, ""
	inner, suffix := s, ""
	for {
		if inner.Ref != "" {
			ref = inner.Ref
			inner = f.defs[strings.TrimPrefix(ref, "#/$defs/")]
		}
		if about == "" {
			about = inner.Description
		}
		if inner.Items != nil {
			inner, suffix = inner.Items, suffix+"[]"
			continue
		}
		if more := inner.AdditionalProperties; more != nil && inner.Properties == nil && more.Not == nil {
			inner, suffix = more, suffix+".*"
			continue
		}
		break
	}
	if about == "" {
		f.errs = append(f.errs, fmt.Errorf("%s has no description: write a comment at its Go field", path))
	}
	if required {
		about = "required; " + about
	}
	fmt.Fprintf(&f.rows, "| `%s` | %s | %s | %s | %s |\n", path+suffix, typeOf(inner), code(s.Default), code(s.Examples...), strings.ReplaceAll(about, "|", `\|`))
	if slices.Contains(f.in, ref) && ref != "" {
		return
	}
	f.in = append(f.in, ref)
	f.object(path+suffix, inner)
	f.in = f.in[:len(f.in)-1]
}

func typeOf(s *jsonschema.Schema) string {
	switch {
	case len(s.Enum) > 0:
		return code(s.Enum...)
	case len(s.OneOf) > 0:
		var types []string
		for _, one := range s.OneOf {
			types = append(types, one.Type)
		}
		return strings.Join(types, " or ")
	}
	return s.Type
}

func code(values ...any) string {
	var out []string
	for _, v := range values {
		if v != nil {
			out = append(out, fmt.Sprintf("`%v`", v))
		}
	}
	return strings.Join(out, ", ")
}
