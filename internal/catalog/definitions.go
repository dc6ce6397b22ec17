package catalog

import (
	"bytes"
	"fmt"
	"path"
	"slices"

	"github.com/variform/variform/internal/boundary"
	"github.com/variform/variform/internal/contents"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/resolver"
)

// Serve is the same where packages provide, beside what their manifests say, the
// APIs of their definitions. Files are read for the groups of needed APIs alone.
func (c Content) Serve(needed []resolver.GVK) Content {
	var groups []string
	for _, g := range needed {
		if group := g.Group(); !contents.BuiltIn(group) && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	if len(groups) == 0 {
		return c
	}
	slices.Sort(groups)
	c.Entries, c.Problems = slices.Clone(c.Entries), slices.Clip(c.Problems)
	for i := range c.Entries {
		e := &c.Entries[i]
		if e.defines == nil {
			continue
		}
		apis, err := e.defines(groups)
		if err != nil {
			c.Problems = append(c.Problems, fmt.Errorf("Catalog %s: source %s: %s: %w", e.Catalog, e.Source, e.Tag, err))
			continue
		}
		e.Provide(apis...)
	}
	return c
}

// definitions finds what packages of one Git repository define, in each file and
// folder once: versions have most of theirs in common.
type definitions struct {
	repo   *gitrepo.Repo
	groups []string
	known  map[gitrepo.Hash][]resolver.GVK
}

// below are the APIs of some groups that a fetched folder defines. It is not safe
// for concurrent use.
func (d *definitions) below(tree gitrepo.Hash, groups []string) ([]resolver.GVK, error) {
	if !slices.Equal(d.groups, groups) {
		d.groups, d.known = groups, map[gitrepo.Hash][]resolver.GVK{}
	}
	return d.folder(tree, "", 0)
}

func (d *definitions) folder(tree gitrepo.Hash, dir string, depth int) ([]resolver.GVK, error) {
	if out, ok := d.known[tree]; ok {
		return out, nil
	}
	if depth > boundary.MaxDepth {
		return nil, fmt.Errorf("folders are more than %d deep at %q", boundary.MaxDepth, dir)
	}
	entries, err := d.repo.Entries(tree)
	if err != nil {
		return nil, err
	}
	var out []resolver.GVK
	for _, e := range entries {
		p := path.Join(dir, e.Name)
		var more []resolver.GVK
		if e.Dir {
			more, err = d.folder(e.Hash, p, depth+1)
		} else {
			more, err = d.file(e.Hash, p)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	d.known[tree] = out
	return out, nil
}

func (d *definitions) file(blob gitrepo.Hash, p string) ([]resolver.GVK, error) {
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(p)) {
		return nil, nil
	}
	if out, ok := d.known[blob]; ok {
		return out, nil
	}
	data, err := d.repo.ReadBlob(blob)
	if err != nil {
		return nil, fmt.Errorf("file %q: %w", p, err)
	}
	out := defined(krm.File{Path: p, Data: data}, d.groups)
	d.known[blob] = out
	return out, nil
}

// defined are the APIs of some groups that a file defines. One that cannot be
// parsed defines none: whoever takes the package is told.
func defined(f krm.File, groups []string) (out []resolver.GVK) {
	named := func(group string) bool { return bytes.Contains(f.Data, []byte(group)) }
	if !contents.Defines(f.Data) || !slices.ContainsFunc(groups, named) {
		return nil
	}
	p, err := krm.Parse([]krm.File{f})
	if err != nil {
		return nil
	}
	for _, g := range contents.Of(p).Serves {
		if slices.Contains(groups, g.Group()) {
			out = append(out, g)
		}
	}
	return out
}
