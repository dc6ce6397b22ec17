package krm

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Rewrite writes trees in place of the documents of a YAML or JSON file, which
// need not be resources: docs[i] stands for the i-th document that is neither
// empty nor null. As in a Package, only what differs is written, the rest keeps
// its bytes.
//
// It fails where the file cannot be read, has another number of documents, or
// no text stands for a tree.
func Rewrite(f File, docs []*yaml.Node) (File, error) {
	read, problem := parseDocs(f.Data, Limits{}.withDefaults(), nil)
	if problem != nil {
		problem.Path = f.Path
		return File{}, *problem
	}
	src, nl := &parsed{File: f}, lineBreak(f.Data)
	var out []byte
	n := 0
	for i := range read {
		d := &read[i]
		text := f.Data[d.start:d.end]
		if d.memo != nil {
			if n < len(docs) {
				r := &Resource{path: f.Path, from: src, doc: d, node: yaml.NewRNode(docs[n])}
				var err error
				if text, _, err = r.encode(nl); err != nil {
					return File{}, err
				}
			}
			n++
		}
		out = append(out, text...)
	}
	if n != len(docs) {
		return File{}, fmt.Errorf("%s has %d documents, not %d", f.Path, n, len(docs))
	}
	f.Data = out
	return f, nil
}
