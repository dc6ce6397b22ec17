package source

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/krm"
)

// Text is an object of an API server as a file of it would be. Who reads thousands of
// objects keeps these, and lets go of the objects.
type Text struct{ file }

// OfObjects is a management directory of objects that were read from an API server: each
// is read as a file of its name would be, with the same checks. location says where they
// were read, and the manager is in opts.
func OfObjects(location string, objects []Text, opts Options) *Directory {
	opts.Limits = opts.Limits.withDefaults()
	d := &Directory{loc: Location{Objects: location}, opts: opts, kptfile: file{name: kptfileName, err: fs.ErrNotExist}}
	for _, o := range objects {
		if int64(len(o.data)) > opts.Limits.FileBytes {
			o.err = errTooLarge
		}
		d.files = append(d.files, o.file)
	}
	slices.SortStableFunc(d.files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return d
}

// TextOf writes a decoded object as a file, without changing it. What the server keeps
// about an object is no part of that: who set its fields, its version, and the status of
// kinds that Variform acts on, which is Variform's own answer.
func TextOf(object map[string]any) Text {
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	meta, _ := object["metadata"].(map[string]any)
	k := Key{Group: krm.GroupOf(text(object, "apiVersion")), Kind: text(object, "kind"), Namespace: api.NamespaceOr(text(meta, "namespace")), Name: text(meta, "name")}
	object = maps.Clone(object)
	if meta != nil {
		meta = maps.Clone(meta)
		delete(meta, "managedFields")
		delete(meta, "resourceVersion")
		object["metadata"] = meta
	}
	if acted(k.Kind) && api.Handles(text(object, "apiVersion"), k.Kind) {
		delete(object, "status")
	}
	data, err := yaml.Marshal(object)
	if err != nil {
		err = fmt.Errorf("it cannot be written as YAML: %w", err)
	}
	return Text{file{name: k.String(), data: data, err: err, object: true}}
}

// withoutLines takes away what a line of an object's text would mean: nobody sees that
// text.
func (r fileResult) withoutLines() fileResult {
	for n := range r.items {
		it := &r.items[n]
		it.origin.Line, it.fields = 0, nil
		noLines(it.report.Errors)
		noLines(it.report.Warnings)
		if o, ok := it.obj.(*Object); ok {
			o.Origin.Line = 0
		}
	}
	noLines(r.problems)
	noLines(r.warnings)
	return r
}

func noLines(list api.Issues) {
	for n := range list {
		list[n].Line = 0
	}
}
