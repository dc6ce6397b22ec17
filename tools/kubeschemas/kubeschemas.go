// Package kubeschemas makes internal/check/kubernetes.txt.gz: the fields of
// Kubernetes' own kinds in eight minor versions, from the OpenAPI documents in
// the source of Kubernetes.
//
//	go run ./tools/kubeschemas/mkkubeschemas
//
// Go's module proxy gives the source, and its checksum database the digests in
// Releases. The text has these lines:
//
//	kubernetes 1.37.0 h1:…             a release that was read
//	type apps.v1.DeploymentSpec        the fields below are those of this type
//	f0 strategy .apps.v1.DeploymentStrategy
//	ff! selector .meta.v1.LabelSelector
//	ff apps/v1 Deployment apps.v1.Deployment   (below "kinds")
//
// ff is a set of releases in hexadecimal, the first one in the lowest bit; ! marks a
// required field. A field's type is a scalar, =A|B for an enum, .NAME for a type, any,
// and []T or {}T for lists and maps.
package kubeschemas

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Release is a release of Kubernetes and the digest of its module.
type Release struct{ Version, Sum string }

// Releases are the releases that are read: the newest eight minor versions.
var Releases = []Release{
	{"1.30.0", "h1:u3Yw8rNlo2NDSGaDpoxoHXLPQnEu1tfqHATKOJe94HY="},
	{"1.31.0", "h1:sYAB12TTWexXKp4RxqJMm/7EC+P0mNOgn4Xdj5eu7HM="},
	{"1.32.0", "h1:4BDBWSolqPrv8GC3YfZw0CJvh5kA1TPnoX0FxDVd+qc="},
	{"1.33.0", "h1:BP5Y5yIzUZVeBuE/ESZvnw6TNxjXbLsCckIkljE+R0U="},
	{"1.34.0", "h1:NvUrwPAVB4W3mSOpJ/RtNGHWWYyUP/xPaX5rUSpzA0w="},
	{"1.35.0", "h1:PUOojD8c8E3csMP5NX+nLLne6SGqZjrYCscptyBfWMY="},
	{"1.36.0", "h1:JKaAkgSzI4+ZvNWrNJg56jAkUaOiqgBaJstmi6ycyoU="},
	{"1.37.0", "h1:TDSD+Izz9inqs7SmtJCAu7L5/DuYW9hAZ3GBdF6Ddkw="},
}

// schema is what is read of an OpenAPI schema.
type schema struct {
	Ref        string             `json:"$ref"`
	AllOf      []schema           `json:"allOf"`
	Type       string             `json:"type"`
	Format     string             `json:"format"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Additional *schema            `json:"additionalProperties"`
	Required   []string           `json:"required"`
}

type gvk struct{ Group, Version, Kind string }

// document is one file of the OpenAPI documents.
type document struct {
	Paths map[string]map[string]json.RawMessage `json:"paths"`

	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

// field is what a field is in one release.
type field struct {
	expr     string
	required bool
}

// table collects what the releases have.
type table struct {
	types map[string]map[string]map[field]uint // by type and field, the releases
	kinds map[string]uint                      // "apps/v1 Deployment TYPE"
}

// Text returns the text of the schemas of releases, each given as the file tree of its
// module, in the order of Releases.
func Text(modules []fs.FS) ([]byte, error) {
	t := table{types: map[string]map[string]map[field]uint{}, kinds: map[string]uint{}}
	for i, m := range modules {
		r, err := read(m)
		if err != nil {
			return nil, fmt.Errorf("kubernetes %s: %w", Releases[i].Version, err)
		}
		t.add(uint(1)<<i, r)
	}
	var b bytes.Buffer
	for _, r := range Releases[:len(modules)] {
		fmt.Fprintf(&b, "kubernetes %s %s\n", r.Version, r.Sum)
	}
	for _, name := range slices.Sorted(maps.Keys(t.types)) {
		fmt.Fprintf(&b, "type %s\n", name)
		for _, f := range slices.Sorted(maps.Keys(t.types[name])) {
			writeField(&b, name, f, t.types[name][f])
		}
	}
	b.WriteString("kinds\n")
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		fmt.Fprintf(&b, "%02x %s\n", t.kinds[kind], kind)
	}
	return b.Bytes(), nil
}

// writeField writes a line for each form of a field. A field is required in a release
// where that release and all later ones that have it say so: in older documents many
// fields are required that the server does not ask for.
func writeField(b *bytes.Buffer, typeName, name string, forms map[field]uint) {
	optional, types := uint(0), map[string]uint{}
	for f, releases := range forms {
		types[f.expr] |= releases
		if !f.required || notRequired(typeName, name, f.expr) {
			optional |= releases
		}
	}
	above := uint(0) // the releases above all those where it is optional
	for bit := uint(1) << (len(Releases) - 1); bit > optional; bit >>= 1 {
		above |= bit
	}
	for _, expr := range slices.Sorted(maps.Keys(types)) {
		for _, part := range []struct {
			releases uint
			mark     string
		}{{types[expr] &^ above, ""}, {types[expr] & above, "!"}} {
			if part.releases != 0 {
				fmt.Fprintf(b, "%02x%s %s %s\n", part.releases, part.mark, name, expr)
			}
		}
	}
}

// release is what one release has.
type release struct {
	schemas map[string]*schema
	enums   map[string]string // by enumKey
	kinds   map[gvk]string    // the type of a kind that can be created
}

func read(m fs.FS) (*release, error) {
	r := &release{schemas: map[string]*schema{}, kinds: map[gvk]string{}}
	files, err := fs.Glob(m, "api/openapi-spec/v3/*.json")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no OpenAPI documents: %w", err)
	}
	for _, name := range files {
		data, err := fs.ReadFile(m, name)
		if err != nil {
			return nil, err
		}
		var d document
		if err := json.Unmarshal(data, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		maps.Copy(r.schemas, d.Components.Schemas)
		if err := r.addKinds(d); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	r.enums, err = enums(m)
	return r, err
}

// addKinds finds the kinds that can be created, which are those with a POST.
func (r *release) addKinds(d document) error {
	for p, methods := range d.Paths {
		if methods["post"] == nil || strings.Contains(p, "{name}") {
			continue
		}
		var post struct {
			Kind gvk     `json:"x-kubernetes-group-version-kind"`
			Body content `json:"requestBody"`
		}
		if err := json.Unmarshal(methods["post"], &post); err != nil {
			return err
		}
		if !strings.Contains(post.Kind.Group, "authentication") && !strings.Contains(post.Kind.Group, "authorization.k8s.io") || strings.HasPrefix(post.Kind.Group, "rbac.") {
			r.kinds[post.Kind] = path.Base(post.Body.Content["*/*"].Schema.Ref)
		}
	}
	return nil
}

type content struct {
	Content map[string]struct {
		Schema schema `json:"schema"`
	} `json:"content"`
}

// short are the beginnings of names that types are written without.
var short = strings.NewReplacer("io.k8s.api.", "", "io.k8s.apimachinery.pkg.apis.", "", "io.k8s.apiextensions-apiserver.pkg.apis.", "", "io.k8s.kube-aggregator.pkg.apis.", "")

// add adds a release: its kinds and the types that they consist of.
func (t table) add(bit uint, r *release) {
	for kind, name := range r.kinds {
		version := kind.Version
		if kind.Group != "" {
			version = kind.Group + "/" + version
		}
		t.kinds[version+" "+kind.Kind+" "+short.Replace(name)] |= bit
		t.addType(bit, r, name, true, map[string]bool{})
	}
}

func (t table) addType(bit uint, r *release, name string, root bool, done map[string]bool) {
	if done[name] {
		return
	}
	done[name] = true
	s, id := r.schemas[name], short.Replace(name)
	if t.types[id] == nil {
		t.types[id] = map[string]map[field]uint{}
	}
	for prop, p := range s.Properties {
		expr, used := r.expr(p)
		if key := enumKey(id); r.enums[key+"."+prop] != "" {
			expr = strings.Replace(expr, "string", r.enums[key+"."+prop], 1)
		}
		if root && prop == "status" { // is not checked
			expr, used = "any", ""
		}
		if t.types[id][prop] == nil {
			t.types[id][prop] = map[field]uint{}
		}
		t.types[id][prop][field{expr, slices.Contains(s.Required, prop)}] |= bit
		if used != "" {
			t.addType(bit, r, used, false, done)
		}
	}
}

// expr returns how a schema is written, and the type that it uses, "" for none.
func (r *release) expr(s *schema) (expr, used string) {
	switch {
	case len(s.AllOf) > 0:
		return r.expr(&s.AllOf[0])
	case s.Ref != "":
		name := path.Base(s.Ref)
		if target := r.schemas[name]; len(target.Properties) == 0 {
			if strings.HasSuffix(name, ".Quantity") {
				return "quantity", ""
			}
			return r.expr(target)
		}
		return "." + short.Replace(name), name
	case s.Type == "array":
		expr, used = r.expr(s.Items)
		return "[]" + expr, used
	case s.Additional != nil:
		expr, used = r.expr(s.Additional)
		return "{}" + expr, used
	case s.Format == "double":
		return "number", ""
	case s.Format != "":
		return s.Format, ""
	case s.Type == "object" || s.Type == "":
		return "any", ""
	}
	return s.Type, ""
}

// Pack compresses a text, always to the same bytes.
func Pack(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
