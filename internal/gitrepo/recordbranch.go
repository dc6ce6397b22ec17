package gitrepo

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/variform/variform/internal/record"
)

// This file has a record hold the folders of the registered branch that lead to packages. What
// stands on the branch is compared in every run, and these come with the record then, in place
// of a request of their own. Nobody is believed for that: a tree is what its name says, and of
// which commit it is that commit says.

// branchFolder is where they stand in the record, each by its number.
const branchFolder = "branch"

func (s *recordStates) setBranch(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.branch = name
}

// branchOf reads which they are; none where that is not as it is written.
func branchOf(tree Hash, read func(Hash, plumbing.ObjectType) ([]byte, error)) (out []Hash, err error) {
	raw, err := read(tree, plumbing.TreeObject)
	if err != nil {
		return nil, err
	}
	entries, err := parseTree(raw)
	for i, e := range entries {
		if e.mode != modeDir || e.name != strconv.Itoa(i) || i >= fewFolders {
			return nil, nil
		}
		out = append(out, e.hash)
	}
	return out, err
}

// branchFolders are they once a push is made that makes something there, or upon it; of any
// other what the record said stays. Those below the root lead to what is made: they are at
// hand wherever that is, so that the record is the same. Of a server that leaves nothing out
// of what it sends they would bring all that is below them, and of a local repository nobody
// is spared anything.
func (w *recordWriter) branchFolders() []Hash {
	if !w.repo.capabilities().Supports(capability.Filter) || w.repo.lacks(byDepth) {
		return nil
	}
	at := Hash{}
	if ref, ok := w.repo.Refs().Branch(w.of.Branch); ok {
		at = ref.Commit
	}
	for _, u := range w.group.updates {
		if u.Name == headsPrefix+w.of.Branch {
			at = u.New
		}
	}
	there := map[Hash]bool{at: true} // and what this batch made below it: approvals are one group
	for c := w.batch.made(at); c != nil && len(c.Parents) > 0; c = w.batch.made(c.Parents[0]) {
		there[c.Parents[0]] = true
	}
	dirs, some := map[string]bool{}, false
	for _, e := range w.group.edits {
		made := w.batch.made(commitOf(e))
		if made == nil || !there[made.Hash] && (len(made.Parents) == 0 || made.Parents[0] != at) {
			continue
		}
		some = true
		for dir := path.Dir(e.Package()); dir != "." && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	c := cmp.Or(w.batch.made(at), w.repo.commits.get(at))
	if !some || c == nil {
		return w.now.branch
	}
	folders, out := map[string]Hash{".": c.Tree}, []Hash{c.Tree}
	if was := w.now.branch; len(was) > 0 && was[0] == c.Tree {
		out = slices.Clone(was)
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) { // each after the one that leads to it
		h := w.dirOf(folders[path.Dir(dir)], path.Base(dir))
		if folders[dir] = h; len(out) < fewFolders && !h.IsZero() && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// commitOf is the commit of a revision that an edit is about, zero of another edit.
func commitOf(e record.Edit) Hash {
	switch e := e.(type) {
	case record.Put:
		return plumbing.NewHash(e.Commit)
	case record.Publish:
		return plumbing.NewHash(e.Commit)
	}
	return Hash{}
}

// dirOf is a folder of a tree; zero where it has none.
func (w *recordWriter) dirOf(tree Hash, name string) Hash {
	if tree.IsZero() {
		return tree
	}
	k, err := w.batch.tree(tree)
	if err != nil {
		return Hash{}
	}
	defer w.batch.release(k)
	d, err := findDir(k.raw, name, 0)
	if err != nil {
		return Hash{}
	}
	return d.hash
}

// keepBranch keeps the folders that came with a record. Repo.fetching is held.
func (r *Repo) keepBranch(s *recordState, pool map[Hash]rawObject) {
	trees := map[Hash]rawObject{}
	for _, h := range s.branch {
		if o, came := pool[h]; came && o.typ == plumbing.TreeObject && !r.treesOf(h).has(h) {
			trees[h] = o
		}
	}
	if err := r.storeObjects(r.ways.objectSource, trees); err != nil { // only a cache
		r.store.opts.Log("writing the cache: %v", err)
	}
}

// fetchWithBranch is fetchCommits that brings the registered branch's along, where its folders
// came with a record. It is not done where there is nothing to bring, or it cannot be had.
func (r *Repo) fetchWithBranch(ctx context.Context, commits []Hash) (done bool, err error) {
	at := r.recordedBranch()
	if at.IsZero() {
		return false, nil
	}
	_, before := r.ways.asked[at]
	r.ways.asked[at] = struct{}{}
	// In the order of their packages: a server that leaves root folders out reads each first, most
	// often as what differs from the one before: sorted by hash 10,000 took it five times as long.
	if !slices.Contains(commits, at) {
		commits = append(slices.Clone(commits), at)
	}
	err = r.fetchCommitsAlone(ctx, commits, 1)
	if isMissing(err) { // whoever needs it says so
		if !before {
			delete(r.ways.asked, at)
		}
		return false, nil
	}
	r.ways.depth = max(r.ways.depth, uint64(min(r.longestPath(), fewFolders)))
	return true, err
}

// recordedBranch is the registered branch's commit, where that is not here and its folders may be.
func (r *Repo) recordedBranch() Hash {
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	ref, ok := r.Refs().Branch(r.records.branch)
	if !ok || r.commits.get(ref.Commit) != nil {
		return Hash{}
	}
	for _, s := range r.records.last {
		if s != nil && len(s.branch) > 0 && r.ways.has(s.branch[0]) {
			return ref.Commit
		}
	}
	return Hash{}
}
