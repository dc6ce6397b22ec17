package schema

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/variform/variform/internal/function"
)

// TestFiles holds that docs/schema is what the types say today.
func TestFiles(t *testing.T) {
	files, err := Files("../..", "tools/schema")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("..", "..", "docs", "schema")
	have, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(have) != len(files) {
		t.Errorf("%d files in docs/schema, want %d: %v", len(have), len(files), err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("docs/schema/%s is stale: run go generate ./tools/schema\n%s", name, diff)
		}
	}
}

// TestFields holds that docs/fields.md has every field of every kind as it is today.
func TestFields(t *testing.T) {
	files, err := Files("../..", "tools/schema")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Fields(files)
	if err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", "docs", "fields.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/fields.md is stale: run go generate ./tools/schema\n%s", diff)
	}
	if d := cmp.Diff(slices.Sorted(maps.Keys(kinds)), slices.Sorted(slices.Values(order))); d != "" {
		t.Errorf("kinds on the page (-want +got):\n%s", d)
	}
	for _, line := range []string{
		"| `spec.git.branch` | string | `main` |  | Branch is where",
		"| `spec.targets[].template.injectors[].nameExpr` | string |  | `repository.labels['region']` |",
		"| `spec.upstream.revision` | string or integer |  | `v2`, `>=1.2.0 <2` |",
		"| `spec.pipeline.mutators[].configMap.*` | string |",
		"| `spec.package` | string |  |  | required; ",
	} {
		if !strings.Contains(string(got), line) {
			t.Errorf("docs/fields.md lacks %q", line)
		}
	}
}

// TestPages holds that the functions' pages are what function.Docs and the
// examples say today.
func TestPages(t *testing.T) {
	dir := filepath.Join("..", "..", "functions")
	pages, err := Pages(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("functions/%s is stale: run go generate ./tools/schema\n%s", name, diff)
		}
	}
	if len(pages) != 2*len(function.Docs) {
		t.Errorf("%d pages, want two a function", len(pages))
	}
}

// What a page must have is asked for by name.
func TestPagesNeedTheirParts(t *testing.T) {
	whole := fstest.MapFS{}
	for name := range function.Docs {
		whole[name+"/README.md"] = &fstest.MapFile{Data: []byte("x\n<!-- about: go generate ./tools/schema -->\nold\n<!-- about: end -->\n<!-- examples: go generate ./tools/schema -->\n<!-- examples: end -->\ny\n")}
		whole[name+"/examples/a/Kptfile"] = &fstest.MapFile{Data: []byte("info: {description: an example.}\n")}
		whole[name+"/examples/a/.expected/config.yaml"] = &fstest.MapFile{Data: []byte("exitCode: 1\n")}
	}
	pages, err := Pages(whole)
	readme := string(pages["inject-config/README.md"])
	if err != nil || !strings.HasPrefix(readme, "x\n") || !strings.HasSuffix(readme, "y\n") || strings.Contains(readme, "old") ||
		!strings.Contains(readme, "- [a](examples/a): an example (exit code 1).\n") {
		t.Errorf("%v:\n%s", err, readme)
	}
	for file, data := range map[string]string{
		"inject-config/README.md": "# inject-config\n", "inject-config/examples/a/Kptfile": "info: {}\n", "inject-config/examples/a/.expected/config.yaml": "a: [",
	} {
		broken := maps.Clone(whole)
		broken[file] = &fstest.MapFile{Data: []byte(data)}
		if _, err := Pages(broken); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
	delete(whole, "inject-config/examples/a/Kptfile")
	if _, err := Pages(whole); err == nil || !strings.Contains(err.Error(), "functions/inject-config/examples has no package") {
		t.Error(err)
	}
}

// TestSchemaIsWhole walks the types beside the schemas: every field of ours is there, described, bounded by its
// tag, and nothing else is allowed beside them.
func TestSchemaIsWhole(t *testing.T) {
	files, err := Files("../..", "tools/schema")
	if err != nil {
		t.Fatal(err)
	}
	for kind, obj := range kinds {
		var s map[string]any
		if err := json.Unmarshal(files[strings.ToLower(kind)+".json"], &s); err != nil {
			t.Fatal(err)
		}
		w := walker{t: t, defs: s["$defs"].(map[string]any), seen: map[reflect.Type]bool{}}
		w.object(kind, reflect.TypeOf(obj), s)
		if s["properties"].(map[string]any)["kind"].(map[string]any)["const"] != kind {
			t.Errorf("%s: the kind is not fixed", kind)
		}
	}
}

type walker struct {
	t    *testing.T
	defs map[string]any
	seen map[reflect.Type]bool
}

func (w walker) object(path string, typ reflect.Type, s map[string]any) {
	if w.seen[typ] {
		return
	}
	w.seen[typ] = true
	props, _ := s["properties"].(map[string]any)
	if s["additionalProperties"] != false || s["description"] == nil {
		w.t.Errorf("%s: other fields are allowed, or there is no description", path)
	}
	for n := range typ.NumField() {
		f := typ.Field(n)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if strings.Contains(opts, "inline") {
			if strings.HasPrefix(f.Type.PkgPath(), module) {
				w.fields(path, f.Type, props)
			}
			continue
		}
		w.field(path+"."+name, &f, props[name])
	}
}

func (w walker) fields(path string, typ reflect.Type, props map[string]any) {
	for n := range typ.NumField() {
		f := typ.Field(n)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		w.field(path+"."+name, &f, props[name])
	}
}

func (w walker) field(path string, f *reflect.StructField, schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		w.t.Errorf("%s is not in the schema", path)
		return
	}
	if s["description"] == nil {
		if ref, ok := w.deref(s)["description"]; !ok || ref == "" {
			w.t.Errorf("%s has no description", path)
		}
	}
	tag := f.Tag.Get("jsonschema")
	text, err := json.Marshal(s)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, rule := range strings.FieldsFunc(tag, func(r rune) bool { return r == ',' }) {
		_, value, _ := strings.Cut(rule, "=")
		for _, word := range strings.Split(value, ";") { // the types of oneof_type
			if !strings.Contains(string(text), word) {
				w.t.Errorf("%s: %s is not in %s", path, rule, text)
			}
		}
	}
	typ := f.Type
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
		for _, into := range []string{"items", "additionalProperties"} {
			if inner, ok := s[into].(map[string]any); ok {
				s = inner
			}
		}
	}
	if typ.Kind() == reflect.Struct && strings.HasPrefix(typ.PkgPath(), module) {
		w.object(path, typ, w.deref(s))
	}
}

func (w walker) deref(s map[string]any) map[string]any {
	ref, ok := s["$ref"].(string)
	if !ok {
		return s
	}
	d, ok := w.defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	if !ok {
		w.t.Errorf("%s leads nowhere", ref)
	}
	return d
}
