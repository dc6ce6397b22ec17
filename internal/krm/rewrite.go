package krm

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Rewrite writes trees in place of the documents of a YAML or JSON file, which
// need not be resources: docs[i] stands for the i-th document that is neither
// empty nor null. As in a Package, only what differs is written, the rest keeps
// its bytes; line comments that a tree lacks are removed as well.
//
// It reports whether only what differs was written: elsewhere a document was
// written anew. It fails where the file cannot be read, has another number of documents, or
// no text stands for a tree.
func Rewrite(f File, docs []*yaml.Node) (out File, kept bool, err error) {
	read, problem := parseDocs(f.Path, f.Data, Limits{}.withDefaults())
	if problem != nil {
		problem.Path = f.Path
		return File{}, false, *problem
	}
	nl := lineBreak(f.Data)
	var data []byte
	kept = true
	n := 0
	for i := range read {
		d := &read[i]
		text := f.Data[d.start:d.end]
		if d.memo != nil {
			if n < len(docs) {
				var same bool
				if text, same, err = d.rewrite(f, docs[n], nl); err != nil {
					return File{}, false, err
				}
				kept = kept && same
			}
			n++
		}
		data = append(data, text...)
	}
	if n != len(docs) {
		return File{}, false, fmt.Errorf("%s has %d documents, not %d", f.Path, n, len(docs))
	}
	f.Data = data
	return f, kept, nil
}

// rewrite writes a tree in place of a document of a file, as Rewrite does.
func (d *document) rewrite(f File, tree *yaml.Node, nl string) (text []byte, kept bool, err error) {
	r := &Resource{path: f.Path, from: &parsed{File: f}, doc: d, node: yaml.NewRNode(tree), exact: true}
	return r.encode(nl)
}
