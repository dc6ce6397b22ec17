package source

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
)

// OfObjects is a management directory of objects that were read from an API server,
// decoded: each is read as a file of its name would be, with the same checks. What the
// server keeps about an object is no part of it: who set its fields, its version, and
// the status of kinds that Variform acts on, which is Variform's own answer.
// location says where they were read, and the manager is in opts. objects are not changed.
func OfObjects(location string, objects []map[string]any, opts Options) *Directory {
	opts.Limits = opts.Limits.withDefaults()
	d := &Directory{loc: Location{Objects: location}, opts: opts, kptfile: file{name: kptfileName, err: fs.ErrNotExist}}
	for _, o := range objects {
		d.files = append(d.files, fileOf(o, opts.Limits))
	}
	slices.SortStableFunc(d.files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return d
}

// fileOf writes an object as a file.
func fileOf(o map[string]any, limits Limits) file {
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	meta, _ := o["metadata"].(map[string]any)
	k := Key{Group: groupOf(text(o, "apiVersion")), Kind: text(o, "kind"), Namespace: api.NamespaceOr(text(meta, "namespace")), Name: text(meta, "name")}
	o = maps.Clone(o)
	if meta != nil {
		meta = maps.Clone(meta)
		delete(meta, "managedFields")
		delete(meta, "resourceVersion")
		o["metadata"] = meta
	}
	if acted(k.Kind) && api.Handles(text(o, "apiVersion"), k.Kind) {
		delete(o, "status")
	}
	data, err := yaml.Marshal(o)
	switch {
	case err != nil:
		err = fmt.Errorf("it cannot be written as YAML: %w", err)
	case int64(len(data)) > limits.FileBytes:
		err = errTooLarge
	}
	return file{name: k.String(), data: data, err: err, object: true}
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
