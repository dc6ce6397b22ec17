// Package record is what a manager remembers of the packages that it made in one
// repository: for each of their revisions the tree of what the machine made,
// before people's edits, and what it was made from. It stands in a ref of its
// own, apart from what people edit. The package knows the record's files, the
// layout of its trees and its edits; internal/gitrepo reads and pushes it. See
// docs/design/record.md.
package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/variform/variform/internal/boundary"
)

// Place says what an entry is about.
type Place string

// The places of entries, which are folders of the record too.
const (
	Main Place = "main" // what stands on the registered branch
	Open Place = "open" // a Draft or Proposed revision, by its workspace
	Past Place = "past" // a Published revision
	// Built is what came of the last build of an open revision, or, without a
	// workspace, of a new one, where that gave no commit. It has no trees.
	Built Place = "built"
	// Variant is what the fleet says of the package itself, where that is other
	// than what its revisions were made by, and what people said to it. It has no
	// tree.
	Variant Place = "variant"
	// Gone is the highest revision whose deletion was approved: its number and its
	// workspace are not used again. It has no tree.
	Gone Place = "gone"
)

// Nobody is the Owner of a package that its variant has released: of its Commit.
const Nobody = "-"

// pastKept is how many Published revisions of a package are remembered.
const pastKept = 5

// withdrawnKept is for how many pushes of the record what was withdrawn is remembered:
// until then each run looks for it on the branch, which a machine without a cache has to
// read for that.
const withdrawnKept = 10

// justWithdrawn stands for the Number of the record that an edit is for.
const justWithdrawn = -1

// Entry is what is known of one revision of a package. Names of Git objects are
// of 40 hexadecimal digits.
type Entry struct {
	Path      string `json:"path"` // of the package in the repository
	Place     Place  `json:"place"`
	Workspace string `json:"workspace,omitempty"`
	Revision  int    `json:"revision,omitempty"` // N of vN; 0 of what is open
	// Commit is the machine's, or the approval's, Tree the package there, and
	// Hydrated the package as the machine made it, before the edits that Tree has.
	// Of what was Built, Commit is what it was built upon, "" for none.
	Commit   string `json:"commit,omitempty"`
	Tree     string `json:"tree,omitempty"`
	Hydrated string `json:"hydrated,omitempty"`
	// Inputs is the digest of what it was made from, and Hydration the version of
	// the way that it was made. Of what was Built, is open, or was merged by others,
	// Inputs are all that the trailer of a commit says: a forge may squash it away.
	Inputs    string `json:"inputs,omitempty"`
	Hydration int    `json:"hydration,omitempty"`
	// Owner signs it; Set, For and DeletionPolicy are its variant's.
	Owner          string            `json:"owner,omitempty"`
	Set            string            `json:"set,omitempty"`
	For            string            `json:"for,omitempty"`
	DeletionPolicy string            `json:"deletionPolicy,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	// Hold and Discarded are what people said of a Variant: leave it as it is, and
	// make no Draft of these Inputs.
	Hold      *Word `json:"hold,omitempty"`
	Discarded *Word `json:"discarded,omitempty"`
	// Reverts says of a revision with trees that it sets its package back, "v1 by Ann".
	Reverts string `json:"reverts,omitempty"`
	// Withdrawn is the record's Number when a run removed the branch of the open revision,
	// for nothing wanted what it has any more, 0 for one that is open. Who merged it at that time is found
	// by the entry, which goes some pushes later.
	Withdrawn int `json:"withdrawn,omitempty"`
	// Restless is the function that is not idempotent, where the build of it found one.
	Restless string `json:"restless,omitempty"`
	// Failure is why what was Built failed, "" where it gave what is there; At is
	// the time of the newest commit among what went in.
	Failure string `json:"failure,omitempty"`
	At      string `json:"at,omitempty"`
}

// Word is what a person said of a package, and why.
type Word struct {
	By     string `json:"by"`
	Reason string `json:"reason"`
	Inputs string `json:"inputs,omitempty"` // all, as of what was Built
	// Set and For are those of the Draft that was discarded: they are among its inputs.
	Set string `json:"set,omitempty"`
	For string `json:"for,omitempty"`
}

// Name is where the entry's Hydrated stands in the record, but for packages that
// stand inside of others (see Record.Trees).
func (e Entry) Name() string {
	switch e.Place {
	case Open:
		return string(Open) + "/" + e.Path + "/" + e.Workspace
	case Past:
		return fmt.Sprintf("%s/%s/v%d", Past, e.Path, e.Revision)
	case Built:
		return strings.TrimSuffix(string(Built)+"/"+e.Path+"/"+e.Workspace, "/")
	default:
		return string(e.Place) + "/" + e.Path
	}
}

// Proved reports whether an entry is believed: it and the trailer of its commit
// name one tree, and that commit is behind what stands there now, or what stands
// there is the package that the entry was made for.
func (e Entry) Proved(trailer string, behind bool, there string) bool {
	return trailer != "" && trailer == e.Hydrated && (behind || there == e.Tree)
}

// Compare orders entries as they stand in a record: by path, those of a package by what they are of.
func (e Entry) Compare(o Entry) int {
	return cmp.Or(cmp.Compare(e.Path, o.Path), cmp.Compare(e.Place, o.Place), cmp.Compare(e.Revision, o.Revision), e.compareOpen(o))
}

// compareOpen tells the entries of open revisions apart; a package has one main entry, and one of
// each Published revision, whatever their workspace.
func (e Entry) compareOpen(o Entry) int {
	if e.Place != Open && e.Place != Built {
		return 0
	}
	return cmp.Compare(e.Workspace, o.Workspace)
}

func (e Entry) equal(o Entry) bool {
	labels := maps.Equal(e.Labels, o.Labels)
	e.Labels, o.Labels = nil, nil
	return labels && e.line() == o.line()
}

// check says what an entry lacks.
func (e Entry) check() error {
	if err := boundary.Path(e.Path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	switch e.Place {
	case Open, Built:
		anew := e.Place == Built && e.Workspace == ""
		if err := boundary.Name(e.Workspace); !anew && (err != nil || strings.Contains(e.Workspace, "/")) {
			return fmt.Errorf("workspace %q of an open revision is not one name", e.Workspace)
		}
		if e.Revision != 0 {
			return fmt.Errorf("revision: %d, and an open one has none", e.Revision)
		}
	case Past:
		if e.Revision <= 0 {
			return fmt.Errorf("revision: %d of a Published revision", e.Revision)
		}
	case Main:
		if e.Revision < 0 {
			return fmt.Errorf("revision: %d", e.Revision)
		}
	case Variant:
		return e.checkVariant()
	case Gone:
		if gone := (Entry{Path: e.Path, Place: Gone, Revision: max(e.Revision, 1), Workspace: e.Workspace}); !e.equal(gone) {
			return errors.New("an entry about a revision that has gone has its number and its workspace alone")
		}
		return nil
	default:
		return fmt.Errorf("place %q: it is none of %s, %s, %s, %s, %s and %s", e.Place, Main, Open, Past, Built, Variant, Gone)
	}
	return errors.Join(e.checkBuilt(), e.checkNames())
}

// checkBuilt says what an entry lacks, or has, as one of what was built, or not.
func (e Entry) checkBuilt() error {
	if e.Hold != nil || e.Discarded != nil {
		return fmt.Errorf("hold and discarded are of place %q", Variant)
	}
	if e.Withdrawn < 0 || e.Withdrawn > 0 && e.Place != Open {
		return fmt.Errorf("withdrawn is the number of a record, of place %q", Open)
	}
	if e.Place != Built {
		if e.Failure != "" || e.At != "" {
			return fmt.Errorf("failure and at are of place %q", Built)
		}
		return nil
	}
	if e.Tree+e.Hydrated+e.Reverts != "" {
		return errors.New("tree, hydrated and reverts: what gave no commit has none")
	}
	if _, err := time.Parse(time.RFC3339, e.At); err != nil {
		return fmt.Errorf("at: %w", err)
	}
	return nil
}

func (e Entry) checkNames() error {
	for _, h := range []struct{ field, hash string }{{"commit", e.Commit}, {"tree", e.Tree}, {"hydrated", e.Hydrated}} {
		if h.hash == "" && e.Place == Built {
			continue
		}
		if err := checkHash(h.field, h.hash); err != nil {
			return err
		}
	}
	return nil
}

func checkHash(field, hash string) error {
	if b, err := hex.DecodeString(hash); err != nil || len(b) != 20 || strings.ToLower(hash) != hash {
		return fmt.Errorf("%s: %q is not the name of a Git object, 40 hexadecimal digits", field, hash)
	}
	return nil
}

func (e Entry) checkVariant() error {
	switch {
	case e.Tree+e.Hydrated+e.Workspace+e.Inputs+e.Reverts+e.Restless != "" || e.Revision != 0 || e.Withdrawn != 0:
		return errors.New("an entry about a variant is of no revision")
	case e.Owner != Nobody && e.Commit != "":
		return errors.New("commit: an entry about a variant that owns its package has none")
	case e.Owner == Nobody:
		return checkHash("commit", e.Commit)
	}
	return nil
}

// Record is a manager's record of one repository. Read only once made: With
// makes another.
type Record struct {
	Manager string
	// Number counts its commits since it started, at Since.
	Number int
	Since  time.Time
	// Origin is where the fleet comes from that wrote it last, "" where that is not
	// known. It stands in the commit's message, and in no file.
	Origin string

	shards map[string]shard // by name, none empty
}

// shard is one file of the index: its entries, sorted. What they are written as follows from them.
type shard []Entry

// New is an empty record.
func New(manager string) *Record { return &Record{Manager: manager, shards: map[string]shard{}} }

func shardOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:1])
}

// Entries lists all, by path.
func (r *Record) Entries() []Entry {
	return slices.SortedFunc(r.All(), Entry.Compare)
}

// All are the entries, those of a package together and in order; a nil record has none.
func (r *Record) All() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		if r == nil {
			return
		}
		for _, s := range r.shards {
			for _, e := range s {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Package lists a package's entries: what stands on the branch, what is open,
// and the Published revisions, the oldest first. Shared: read only.
func (r *Record) Package(path string) []Entry {
	if r == nil {
		return nil
	}
	list := r.shards[shardOf(path)]
	from, _ := slices.BinarySearchFunc(list, path, func(e Entry, p string) int { return cmp.Compare(e.Path, p) })
	to := from
	for to < len(list) && list[to].Path == path {
		to++
	}
	return list[from:to:to]
}

// The record's history starts anew after so much.
const (
	maxCommits = 1000
	maxAge     = 90 * 24 * time.Hour
)

// With makes the record's next state: edits laid upon this one, at the time of
// what they are about. StartAnew says that its history may begin anew. The same
// edits in another order of packages give the same record. An entry that would
// not be read again is an error.
func (r *Record) With(edits []Edit, at time.Time) (next *Record, startAnew bool, err error) {
	next = &Record{Manager: r.Manager, Number: r.Number + 1, Since: r.Since, shards: maps.Clone(r.shards)}
	if startAnew = r.Number >= maxCommits || !r.Since.IsZero() && at.Sub(r.Since) > maxAge; startAnew || r.Number == 0 {
		next.Number, next.Since = 1, at.UTC().Truncate(time.Second)
	}
	byShard := map[string]map[string][]Edit{}
	for _, e := range edits {
		name := shardOf(e.Package())
		if byShard[name] == nil {
			byShard[name] = map[string][]Edit{}
		}
		byShard[name][e.Package()] = append(byShard[name][e.Package()], e)
	}
	// Where the history begins anew, pushes are counted anew.
	bygone := func(e Entry) bool { return e.Withdrawn != 0 && next.Number-e.Withdrawn >= withdrawnKept }
	recounted := func(e Entry) bool { return e.Withdrawn == justWithdrawn || e.Withdrawn != 0 && startAnew }
	for name, list := range next.shards {
		if slices.ContainsFunc(list, func(e Entry) bool { return bygone(e) || recounted(e) }) && byShard[name] == nil {
			byShard[name] = map[string][]Edit{}
		}
	}
	for name, paths := range byShard {
		was := next.shards[name]
		list := make([]Entry, 0, len(was)+len(paths)) // mostly an entry more of each
		for _, e := range was {
			if paths[e.Path] == nil && !bygone(e) {
				if recounted(e) {
					e.Withdrawn = next.Number
				}
				list = append(list, e)
			}
		}
		for path, edits := range paths {
			entries := slices.Clone(r.Package(path))
			for _, e := range edits {
				entries = e.apply(entries)
			}
			for i, e := range entries {
				if recounted(e) {
					e.Withdrawn = next.Number
					entries[i] = e
				}
				if err := e.check(); err != nil {
					return nil, false, fmt.Errorf("the record's entry of package %q: %w", path, err)
				}
			}
			list = append(list, entries...)
		}
		if len(list) == 0 {
			delete(next.shards, name)
			continue
		}
		slices.SortFunc(list, Entry.Compare)
		next.shards[name] = slices.Clip(list)
	}
	return next, startAnew, nil
}

// Same reports whether two records have the same entries.
func (r *Record) Same(o *Record) bool {
	return maps.EqualFunc(r.shards, o.shards, func(a, b shard) bool { return a.is(b) || slices.EqualFunc(a, b, Entry.equal) })
}

// is says that two shards are one: neither was edited since.
func (s shard) is(o shard) bool { return len(s) == len(o) && (len(s) == 0 || &s[0] == &o[0]) }

// Moved lists the packages of edits whose entries are not in r what they were in
// base, sorted: another run changed them too.
func (r *Record) Moved(base *Record, edits []Edit) []string {
	var out []string
	for _, e := range edits {
		if !slices.EqualFunc(base.Package(e.Package()), r.Package(e.Package()), Entry.equal) {
			out = append(out, e.Package())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Leaf is a folder of the record and the tree that is to stand there.
type Leaf struct{ Path, Tree string }

// apart is the folder of what would stand inside of another entry's tree.
const apart = "apart"

// Trees lists where the Hydrated of all entries stand, sorted by path. That of a
// package inside of another's folder stands apart: in its place it would change
// the other's.
func (r *Record) Trees() []Leaf {
	at := map[string]string{}
	for _, s := range r.shards {
		for _, e := range s {
			if e.Hydrated != "" {
				at[e.Name()] = e.Hydrated
			}
		}
	}
	out := make([]Leaf, 0, len(at))
	for name, tree := range at {
		if inside(name, at) {
			sum := sha256.Sum256([]byte(name))
			name = apart + "/" + hex.EncodeToString(sum[:20])
		}
		out = append(out, Leaf{name, tree})
	}
	slices.SortFunc(out, func(a, b Leaf) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func inside(name string, at map[string]string) bool {
	for i, c := range name {
		if c == '/' {
			if _, ok := at[name[:i]]; ok {
				return true
			}
		}
	}
	return false
}
