package merge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/variform/variform/api"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/yamltree"
)

// Documents merges three versions of a YAML file document by document, by
// their order; they need not be resources. A missing base is empty. Where
// nothing changes, the result is local's bytes, and upstream's where local is
// base; else only what changes is written into local's bytes.
func Documents(base, upstream, local []byte) ([]byte, []Conflict, error) {
	data, lost, err := documents(base, upstream, krm.File{Path: "local.yaml", Data: local}, Options{})
	if err != nil {
		return nil, nil, err
	}
	var conflicts []Conflict
	for _, c := range lost {
		conflicts = append(conflicts, Conflict{Field: c.field, Line: c.line, Base: c.b, Upstream: c.u, Local: c.l, Winner: c.winner})
	}
	return data, conflicts, nil
}

var errDocuments = errors.New("the versions have different numbers of documents")

// documents is Documents for a file of a package, whose name says whether it
// is JSON.
func documents(base, upstream []byte, local krm.File, o Options) ([]byte, []lost, error) {
	var trees [3][]*yaml.Node
	for i, data := range [][]byte{base, upstream, local.Data} {
		var err error
		if trees[i], err = parse(data); err != nil {
			return nil, nil, fmt.Errorf("%s version: %w", [3]string{"base", "upstream", "local"}[i], err)
		}
	}
	b, u, l := trees[0], trees[1], trees[2]
	if len(u) != len(l) || len(b) > len(l) {
		return nil, nil, errDocuments
	}
	var all []lost
	changed := false
	for i := range l {
		var old *yaml.Node
		if i < len(b) {
			old = b[i]
		}
		apiVersion, kind := yamltree.Text(l[i], "apiVersion"), yamltree.Text(l[i], "kind")
		d := &doc{secret: api.IsSecret(krm.GroupOf(apiVersion), kind), guess: o.Guess, stands: o.Stands}
		n, err := d.merge(schemaFor(apiVersion, kind), old, u[i], l[i])
		if err != nil {
			return nil, nil, err
		}
		all = append(all, d.lost...)
		changed = changed || n != l[i]
		l[i] = n
	}
	switch {
	case !changed && bytes.Equal(base, upstream):
		return local.Data, all, nil
	case bytes.Equal(base, local.Data):
		return upstream, all, nil
	}
	if text, _ := (yamlText{keep: o.Keep}).merge(base, upstream, local.Data); text != nil && !o.Guess && path.Ext(local.Path) != ".json" {
		if f, kept, err := krm.Rewrite(krm.File{Path: local.Path, Data: text}, l); err == nil && kept {
			return f.Data, all, nil
		}
	}
	if !changed {
		return local.Data, all, nil
	}
	f, _, err := krm.Rewrite(local, l)
	return f.Data, all, err
}

func parse(data []byte) ([]*yaml.Node, error) {
	var out []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := dec.Decode(&n); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, err
		}
		if len(n.Content) != 1 {
			return nil, errors.New("it has an empty document")
		}
		out = append(out, n.Content[0])
	}
}
