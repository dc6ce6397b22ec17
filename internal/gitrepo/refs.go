package gitrepo

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/record"
)

// Ref is one branch or tag.
type Ref struct {
	Name   string // full: refs/heads/… or refs/tags/…
	Hash   Hash   // what the ref holds: updates are conditional on this
	Commit Hash   // Hash, peeled where it is an annotated tag; zero where it is known to lead to no commit
}

// Refs is an immutable snapshot of a repository's branches and tags, and, apart
// from them, of the records of managers. Safe for concurrent use.
type Refs struct {
	list    []Ref // by name
	byName  map[string]int
	records map[string]Hash // by full name; those that are branches are in list too
	head    string

	mu    sync.Mutex
	index map[string]*Index
}

// moving says that a revision may have been seen on its way: the server lists refs
// while a push moves them, so that a Draft that is being proposed, or sent back, as it is
// or made anew, can be both for a moment.
func (s *Refs) moving() bool {
	return slices.ContainsFunc(s.list, func(ref Ref) bool {
		at, ok := strings.CutPrefix(ref.Name, lifecycle.ProposedPrefix)
		if ok {
			_, ok = s.byName[lifecycle.DraftsPrefix+at]
		}
		return ok
	})
}

// newRefs sorts branches, tags and records out.
func newRefs(all []Ref, head string) *Refs {
	s := &Refs{list: make([]Ref, 0, len(all)), records: map[string]Hash{}, head: head, byName: make(map[string]int, len(all)), index: map[string]*Index{}}
	for _, r := range all {
		if record.IsRef(r.Name) {
			s.records[r.Name] = r.Hash
		}
		if isHeadOrTag(r.Name) {
			s.list = append(s.list, r)
		}
	}
	sort.Slice(s.list, func(i, j int) bool { return s.list[i].Name < s.list[j].Name })
	for i, r := range s.list {
		s.byName[r.Name] = i
	}
	return s
}

// isOurs reports whether a snapshot has a ref of that name.
func isOurs(name string) bool { return isHeadOrTag(name) || record.IsRef(name) }

func isHeadOrTag(name string) bool {
	return strings.HasPrefix(name, headsPrefix) || strings.HasPrefix(name, tagsPrefix)
}

// Get returns a ref by its full name.
func (s *Refs) Get(name string) (Ref, bool) {
	if i, ok := s.byName[name]; ok {
		return s.list[i], true
	}
	return Ref{}, false
}

// Branch returns refs/heads/<name>.
func (s *Refs) Branch(name string) (Ref, bool) { return s.Get(headsPrefix + name) }

// Tag returns refs/tags/<name>.
func (s *Refs) Tag(name string) (Ref, bool) { return s.Get(tagsPrefix + name) }

// Head is the full name of the branch that HEAD points to, "" where unknown.
// The branch need not exist.
func (s *Refs) Head() string { return s.head }

// Record is where a record is, zero where there is none of that full name.
func (s *Refs) Record(name string) Hash {
	if h, ok := s.records[name]; ok {
		return h
	}
	r, _ := s.Get(name)
	return r.Hash
}

// Records lists the full names of all managers' records, sorted.
func (s *Refs) Records() []string { return slices.Sorted(maps.Keys(s.records)) }

// All lists the refs, sorted by name. Shared: read only.
func (s *Refs) All() []Ref { return s.list }

// hashes are what all refs hold.
func (s *Refs) hashes() map[string]Hash {
	out := make(map[string]Hash, len(s.list)+len(s.records))
	for _, r := range s.list {
		out[r.Name] = r.Hash
	}
	maps.Copy(out, s.records)
	return out
}

// Digest tells the snapshot from any other: names, what they hold, and HEAD.
func (s *Refs) Digest() string {
	sum := sha256.New()
	put := func(name string, h Hash) {
		_, _ = io.WriteString(sum, name)
		_, _ = sum.Write(append(h[:], 0))
	}
	put(s.head, Hash{})
	for _, r := range s.list {
		put(r.Name, r.Hash)
	}
	for _, name := range s.Records() {
		put(name, s.records[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Len is the number of refs.
func (s *Refs) Len() int { return len(s.list) }

// indexOf is newIndex, once per directory.
func (s *Refs) indexOf(directory string) *Index {
	directory = strings.Trim(directory, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.index[directory]
	if !ok {
		x = newIndex(s, directory)
		s.index[directory] = x
	}
	return x
}

// apply returns a snapshot with updates made.
func (s *Refs) apply(updates []RefUpdate) *Refs {
	changed := make(map[string]Hash, len(updates))
	for _, u := range updates {
		changed[u.Name] = u.New
	}
	list := make([]Ref, 0, len(s.list)+len(updates))
	for _, r := range s.list {
		if _, ok := changed[r.Name]; !ok {
			list = append(list, r)
		}
	}
	for name, h := range s.records {
		if _, ok := changed[name]; !ok && !isHeadOrTag(name) {
			list = append(list, Ref{Name: name, Hash: h, Commit: h})
		}
	}
	for name, h := range changed {
		if !h.IsZero() {
			list = append(list, Ref{Name: name, Hash: h, Commit: h})
		}
	}
	return newRefs(list, s.head)
}
