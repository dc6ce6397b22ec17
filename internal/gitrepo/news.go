package gitrepo

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// This file asks for what people wrote by what they wrote it upon. By their commits it takes
// two requests otherwise: what leads to a folder tells which to ask for.

// Of more commits, or where it is larger, what is new is asked for without knowing where it began.
const (
	newsCommits = 256
	newsSteps   = 16       // of history that are looked behind each
	newsBytes   = 8 << 20  // of the pack
	newsWhole   = 32 << 20 // in memory
)

// fetchNews brings commits that were made upon others, and what is between, with what neither
// these have nor the branch that people merge from, in one request for all: what leads to
// their folders, and the folders of which the rest is here. What does not come is asked for
// as if nobody had known where it began. Repo.fetching is held.
func (r *Repo) fetchNews(ctx context.Context, since func(Place) Hash, places []Place) error {
	if !r.mayTryV2() {
		return nil
	}
	var q request
	var asked []Place
	for _, p := range places {
		if at := since(p); !at.IsZero() && at != p.Commit {
			asked, q.wants, q.haves = append(asked, p), append(q.wants, p.Commit), append(q.haves, at)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	if head, ok := r.Refs().Get(r.Refs().Head()); ok {
		q.haves = append(q.haves, head.Commit)
	}
	q.wants, q.haves = sorted(q.wants), sorted(q.haves)
	keep, finish := r.packSink(r.ways.objectSource)
	answered, err := r.fetchV2(ctx, q, func(pack io.Reader) error {
		return keep(&limitedReader{r: pack, left: newsBytes, what: "what is new is"})
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrLimit), !answered:
		return nil
	case err != nil:
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	if err := r.readBehind(q.wants); err != nil {
		return err
	}
	defer r.store.places.flush()
	news, left := map[Hash]rawObject{}, int64(newsWhole)
	for _, p := range asked {
		segs := splitPath(p.Path)
		for range newsSteps { // what the machine made may be behind what people did
			c := r.commits.get(p.Commit)
			if c == nil || !r.leads(p) || len(segs) == 0 {
				break
			}
			tree, ok, err := r.subtree(c.Tree, p.Path)
			if err != nil || !ok {
				break // who reads it says so
			}
			r.store.places.put(p.Commit, p.Path, tree)
			if r.objects.has(tree) {
				break
			}
			var objects []rawObject
			if r.gather(tree, &objects, &left) {
				for _, o := range objects {
					news[o.hash] = o
				}
			}
			if len(c.Parents) == 0 {
				break
			}
			p.Commit = c.Parents[0]
		}
	}
	return r.storeObjects(r.objects, news)
}

// readBehind takes the commits of what came as ways into the cache, with those behind them.
func (r *Repo) readBehind(commits []Hash) error {
	seen := map[Hash]bool{}
	for step := 0; step < newsCommits && len(commits) > 0; step++ {
		if err := r.readFrom(r.ways, r.missingCommits(commits)); err != nil {
			return err
		}
		var behind []Hash
		for _, c := range r.commits.take(commits...) {
			for i := 0; c != nil && i < len(c.Parents); i++ {
				if p := c.Parents[i]; !seen[p] && r.ways.has(p) {
					seen[p], behind = true, append(behind, p)
				}
			}
		}
		commits = behind
	}
	return nil
}

// gather lists all that is below a tree, from what came and from what was here: packs go one
// by one, and each has to be whole by itself. False where something is in neither, as a
// submodule is, or where it is more than what is left.
func (r *Repo) gather(h Hash, into *[]rawObject, left *int64) bool {
	if *left <= 0 {
		return false
	}
	from := objectSource(r.ways)
	if !from.has(h) {
		from = r.objects
	}
	typ, data, err := from.read(h, *left)
	if err != nil {
		return false
	}
	*into, *left = append(*into, rawObject{h, typ, data}), *left-int64(len(data))
	if typ != plumbing.TreeObject {
		return true
	}
	entries, err := parseTree(data)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !r.gather(e.hash, into, left) {
			return false
		}
	}
	return true
}

// storeObjects puts objects into a part of the cache, in a pack of their own.
func (r *Repo) storeObjects(to objectSource, objects map[Hash]rawObject) error {
	if len(objects) == 0 {
		return nil
	}
	keep, finish := r.packSink(to)
	if err := keep(packOf(objects)); err != nil {
		return err
	}
	return finish()
}

// packOf is a pack of whole objects.
func packOf(objects map[Hash]rawObject) io.Reader {
	e := encoders.Get().(*packEncoder) // a library's has a compressor of its own each time
	defer encoders.Put(e)
	pack := binary.BigEndian.AppendUint32([]byte(packHead), uint32(len(objects)))
	for _, h := range sorted(slices.Collect(maps.Keys(objects))) {
		e.out.Reset()
		e.entry(&newObject{typ: objects[h].typ, data: objects[h].data})
		pack = append(pack, e.out.Bytes()...)
	}
	sum := sha1.Sum(pack)
	return bytes.NewReader(append(pack, sum[:]...))
}
