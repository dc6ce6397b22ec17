package gitrepo

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/record"
)

// RecordOf says whose record is meant, and where it stands
// (docs/design/record.md).
type RecordOf struct {
	Manager string
	// Ref is its full name; "" is the manager's own ref, or its branch where the
	// server takes only branches, and record.None keeps no record.
	Ref string
	// Origin is where the fleet comes from, "" where that is not known. A record that
	// another origin wrote is not read, and not written, by one that is Unnamed, without
	// a name of its own.
	Origin  string
	Unnamed bool
	// Branch is the short name of the registered branch, whose folders that lead to packages
	// stand in the record; "" is none.
	Branch string
	// Author signs its commits, at the time of what they are about.
	Author Signature
	// Anew writes it in place of what is there, whatever that is, but for the
	// record of a newer version.
	Anew bool
	// Begin gives what a record says first that a push begins, before what that push
	// is about; nil is nothing.
	Begin func(ctx context.Context) []record.Edit
}

// check says what is wrong with Ref.
func (o RecordOf) check() error {
	if o.Ref == "" || o.Ref == record.None {
		return nil
	}
	if err := checkRefName(o.Ref); err != nil || strings.HasPrefix(o.Ref, tagsPrefix) {
		return errKind(record.ErrNone, "the annotation %s names no place for a record: %q is neither %q, nor a ref below %s or %s", record.Annotation, o.Ref, record.None, record.RefPrefix, headsPrefix)
	}
	return nil
}

// recordStates are the records read.
type recordStates struct {
	mu      sync.Mutex
	last    map[string]*recordState // by ref
	refused map[string]bool         // refs that the server does not take
	branch  string                  // the registered one, "" until it is known

	reading sync.Mutex // one record at a time: who waits finds it read
}

// recordState is a record at one commit.
type recordState struct {
	tip    Hash    // zero: there is none yet
	commit *Commit // nil then
	rec    *record.Record
	files  map[string]Hash // its files' blobs, by path
	// branch are the folders of the registered branch that led to packages then, the root first.
	branch []Hash
	// frame has the commit, which is first, and the trees that the record was read from.
	frame []rawObject
}

// objects are those that the record was read from, the commit first. Its files are made
// of what they say: nothing else is read of a record than what would be written.
func (s *recordState) objects() iter.Seq[rawObject] {
	return func(yield func(rawObject) bool) {
		for _, o := range s.frame {
			if !yield(o) {
				return
			}
		}
		for path, h := range s.files {
			if !yield(rawObject{h, plumbing.BlobObject, s.rec.File(path)}) {
				return
			}
		}
	}
}

type rawObject struct {
	hash Hash
	typ  plumbing.ObjectType
	data []byte
}

// refOf is the full name of a record, "" where none is kept.
func (r *Repo) refOf(o RecordOf) string {
	ref, branch, refs := record.Ref(o.Manager), record.Branch(o.Manager), r.Refs()
	switch {
	case o.Ref == record.None:
		return ""
	case o.Ref != "":
		return o.Ref
	case !refs.Record(ref).IsZero():
		return ref
	case !refs.Record(branch).IsZero() || r.refuses(ref):
		return branch
	default:
		return ref
	}
}

// refuses reports whether the server refused a record's ref in this run.
func (r *Repo) refuses(ref string) bool {
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	return r.records.refused[ref]
}

func (r *Repo) noteRefusal(ref string) {
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	if r.records.refused == nil {
		r.records.refused = map[string]bool{}
	}
	r.records.refused[ref] = true
}

// Record reads a record as it was when the refs were read; nil where there is
// none. A remote one is read in one request, of which the cache keeps what does
// not change. Errors are record.ErrNewer, record.ErrNone where the ref holds
// something else, those of damage, or the transport's.
func (r *Repo) Record(ctx context.Context, o RecordOf) (*record.Record, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ref := r.refOf(o)
	tip := r.Refs().Record(ref)
	if tip.IsZero() {
		return nil, nil
	}
	if o.Branch != "" {
		r.records.setBranch(o.Branch)
	}
	s, err := r.recordAt(ctx, ref, o.Manager, tip)
	if err == nil {
		err = o.foreign(s)
	}
	if err != nil {
		return nil, err
	}
	return s.rec, nil
}

const originTrailer = "\n\nVariform-Origin: "

// foreign says that a record is of another fleet without a name.
func (o RecordOf) foreign(s *recordState) error {
	if !o.Unnamed || o.Origin == "" || s.rec.Origin == "" || s.rec.Origin == o.Origin {
		return nil
	}
	return errKind(record.ErrForeign, "the fleet of %s wrote it, and this one is of %s", s.rec.Origin, o.Origin)
}

// originOf is where the fleet comes from that made a record's commit.
func originOf(c *Commit) string {
	if at := strings.LastIndex(c.Message, originTrailer); at >= 0 {
		return strings.TrimSpace(c.Message[at+len(originTrailer):])
	}
	return ""
}

// recordAt reads the record that a ref holds at a commit.
func (r *Repo) recordAt(ctx context.Context, ref, manager string, tip Hash) (*recordState, error) {
	if tip.IsZero() {
		return &recordState{rec: record.New(manager)}, nil
	}
	r.records.reading.Lock()
	defer r.records.reading.Unlock()
	last := r.lastRecord(ref)
	if last != nil && last.tip == tip {
		return last, nil
	}
	s, err := r.readRecord(ctx, ref, tip, last)
	if err != nil {
		return nil, fmt.Errorf("reading the record %s of %s: %w", ref, r.URL(), err)
	}
	r.keepRecord(ref, s)
	return s, nil
}

// lastRecord is the record as it was read last, in this run or another.
func (r *Repo) lastRecord(ref string) *recordState {
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	if s, ok := r.records.last[ref]; ok || r.cacheDir == "" {
		return s
	}
	s := loadRecord(r.recordCache(ref))
	r.setRecord(ref, s)
	return s
}

func (r *Repo) setRecord(ref string, s *recordState) {
	if r.records.last == nil {
		r.records.last = map[string]*recordState{}
	}
	r.records.last[ref] = s
}

func (r *Repo) keepRecord(ref string, s *recordState) {
	r.records.mu.Lock()
	defer r.records.mu.Unlock()
	r.setRecord(ref, s)
	if r.cacheDir == "" {
		return
	}
	if err := saveRecord(r.recordCache(ref), s.objects()); err != nil {
		r.store.opts.Log("writing the cache: %v", err)
	}
}

func (r *Repo) recordCache(ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return filepath.Join(r.cacheDir, "record-"+hex.EncodeToString(sum[:8]))
}

// recordDepth is how deep the files of the index stand: the record's trees are
// not read with them.
const recordDepth = 3

// readRecord asks the server for what last has not, and for everything where
// that is not enough. What a filter leaves out must not get among the objects of
// the cache, which are whole: they are kept apart.
func (r *Repo) readRecord(ctx context.Context, ref string, tip Hash, last *recordState) (*recordState, error) {
	pool := map[Hash]rawObject{}
	get := func(h Hash) (rawObject, error) {
		if o, ok := pool[h]; ok {
			return o, nil
		}
		typ, data, err := r.objects.read(h, r.store.opts.Limits.FileBytes)
		return rawObject{h, typ, data}, err
	}
	if r.local != nil || r.objects.has(tip) {
		if s, err := recordFrom(tip, get); err == nil || !isMissing(err) {
			return s, err
		}
	}
	r.fetching.Lock()
	defer r.fetching.Unlock()
	have := Hash{}
	if last != nil {
		have = last.tip
		for o := range last.objects() {
			pool[o.hash] = o
		}
	}
	for r.capabilities().Supports(capability.Filter) && !r.lacks(byDepth) {
		q := request{wants: []Hash{tip}, depth: 1, filter: packp.FilterTreeDepth(recordDepth)}
		if !have.IsZero() {
			q.haves, q.alone = []Hash{have}, true
		}
		err := r.uploadOnce(ctx, q, func(pack io.Reader) error { return addObjects(pool, pack) })
		answered := err == nil
		if answered {
			var s *recordState
			if s, err = recordFrom(tip, get); err == nil {
				r.keepBranch(s, pool)
			}
			if err == nil || !isMissing(err) {
				return s, err
			}
		}
		switch {
		case isFinal(ctx, err):
			return nil, err
		case !have.IsZero():
			r.store.opts.Log("the record %s of %s could not be brought up to date (%v): reading it whole", ref, r.URL(), err)
			have = Hash{}
		case answered, isMissing(err), isTemporary(err), isAuth(err), errors.Is(err, ErrAuth):
			return nil, err
		default:
			r.without(byDepth, err)
		}
	}
	if err := r.fetchTrees(ctx, []Hash{tip}, 1); err != nil {
		return nil, err
	}
	return recordFrom(tip, get)
}

// addObjects adds to pool the objects of a pack. Deltas may be upon what is there; those
// upon anything else are left out, for a server takes what it likes of a commit that is
// here, and pool has of it what a record is read from.
func addObjects(pool map[Hash]rawObject, pack io.Reader) error {
	type base struct { // of a delta: an object at an offset of the pack, or of a name
		offset int64
		hash   Hash
	}
	type packed struct {
		offset int64 // 0 where it is not of the pack
		typ    plumbing.ObjectType
		data   []byte
	}
	scanner := packfile.NewScanner(pack)
	_, count, err := scanner.Header()
	if err != nil {
		return err
	}
	var whole []packed
	deltas := map[base][]packed{}
	for range count {
		h, err := scanner.NextObjectHeader()
		if err != nil {
			return err
		}
		var data bytes.Buffer
		if _, _, err := scanner.NextObject(&data); err != nil {
			return err
		}
		o := packed{h.Offset, h.Type, data.Bytes()}
		if !h.Type.IsDelta() {
			whole = append(whole, o)
			continue
		}
		of := base{h.OffsetReference, h.Reference}
		deltas[of] = append(deltas[of], o)
	}
	if _, err := scanner.Checksum(); err != nil {
		return err
	}
	for of := range deltas {
		if o, there := pool[of.hash]; there {
			whole = append(whole, packed{typ: o.typ, data: o.data})
		}
	}
	for len(whole) > 0 {
		o := whole[0]
		whole = whole[1:]
		h := plumbing.ComputeHash(o.typ, o.data)
		pool[h] = rawObject{h, o.typ, o.data}
		for _, of := range []base{{offset: o.offset}, {hash: h}} {
			for _, delta := range deltas[of] {
				data, err := packfile.PatchDelta(o.data, delta.data)
				if err != nil {
					return err
				}
				whole = append(whole, packed{delta.offset, o.typ, data})
			}
			delete(deltas, of)
		}
	}
	return nil
}

// recordFrom reads a record's commit, and its files, not its trees.
func recordFrom(tip Hash, get func(Hash) (rawObject, error)) (*recordState, error) {
	s := &recordState{tip: tip, files: map[string]Hash{}}
	read := func(h Hash, want plumbing.ObjectType) ([]byte, error) {
		o, err := get(h)
		if err == nil && o.typ != want {
			err = fmt.Errorf("%w: the Git object %s is a %s, not a %s", record.ErrNone, h, o.typ, want)
		}
		if want != plumbing.BlobObject {
			o.data = bytes.Clone(o.data) // not of all that it was read with
			s.frame = append(s.frame, o)
		}
		return o.data, err
	}
	raw, err := read(tip, plumbing.CommitObject)
	if err != nil {
		return nil, err
	}
	if s.commit, err = parseCommit(tip, raw); err != nil {
		return nil, err
	}
	var walk func(tree Hash, within string) error
	walk = func(tree Hash, within string) error {
		raw, err := read(tree, plumbing.TreeObject)
		if err != nil {
			return err
		}
		entries, err := parseTree(raw)
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := within + e.name
			switch {
			case e.mode == modeDir && path == branchFolder:
				if s.branch, err = branchOf(e.hash, read); err != nil {
					return err
				}
			case e.mode == modeDir && within == "" && record.IsFile(path+"/x"):
				if err := walk(e.hash, path+"/"); err != nil {
					return err
				}
			case e.mode != modeDir && record.IsFile(path):
				s.files[path] = e.hash
			}
		}
		return nil
	}
	if err := walk(s.commit.Tree, ""); err != nil {
		return nil, err
	}
	paths := slices.Sorted(maps.Keys(s.files))
	texts := make([][]byte, len(paths))
	_ = cores.Each(context.Background(), 0, len(paths), func(i int) error { // what fails is read once more
		if data, err := read(s.files[paths[i]], plumbing.BlobObject); err == nil {
			texts[i] = data
		}
		return nil
	})
	files := make(map[string][]byte, len(paths))
	for i, path := range paths {
		// Who reads what is damaged throws it away, and what others read meanwhile failed of that.
		if files[path] = texts[i]; texts[i] == nil {
			if files[path], err = read(s.files[path], plumbing.BlobObject); err != nil {
				return nil, err
			}
		}
	}
	if s.rec, err = record.Decode(files); err == nil {
		s.rec.Origin = originOf(s.commit)
	}
	return s, err
}

// saveRecord writes objects to a file, whole or not at all.
func saveRecord(path string, objects iter.Seq[rawObject]) error {
	return replaceFile(path, func(w io.Writer) error {
		out := bufio.NewWriter(w)
		for o := range objects {
			head := binary.BigEndian.AppendUint32(nil, uint32(len(o.data)))
			_, _ = out.Write(append(append(head, byte(o.typ)), o.hash[:]...))
			_, _ = out.Write(o.data)
		}
		return out.Flush() // says what failed
	})
}

// replaceFile puts a file into the place of one that may be there, whole or not at all.
func replaceFile(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), incoming)
	if err != nil {
		return err
	}
	if err = errors.Join(write(f), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// loadRecord reads what saveRecord wrote; nil where that is not all there, and
// sound.
func loadRecord(path string) *recordState {
	const head = 4 + 1 + 20
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	pool, tip := map[Hash]rawObject{}, Hash{}
	for len(data) >= head {
		n := int(binary.BigEndian.Uint32(data))
		if n > len(data)-head {
			return nil
		}
		o := rawObject{typ: plumbing.ObjectType(data[4]), data: data[head : head+n]}
		copy(o.hash[:], data[5:])
		if hashObject(o.typ, o.data) != o.hash {
			return nil
		}
		if tip.IsZero() {
			tip = o.hash
		}
		pool[o.hash], data = o, data[head+n:]
	}
	s, err := recordFrom(tip, func(h Hash) (rawObject, error) {
		o, ok := pool[h]
		if !ok {
			return o, errKind(ErrMissingObject, "the Git object %s is not in the cache", h)
		}
		return o, nil
	})
	if err != nil {
		return nil
	}
	return s
}

// FetchRecorded makes a tree readable that a record has an entry for: the given
// one, or else another manager's. It is false where none has, and it is not here
// already. Trees that are
// asked for come with all others of the record that no commit may lead to any
// more, in one request.
func (r *Repo) FetchRecorded(ctx context.Context, o RecordOf, tree Hash) (bool, error) {
	if err := o.check(); err != nil {
		return false, err
	}
	if r.objects.has(tree) {
		return true, nil
	}
	own := r.refOf(o)
	refs := append([]string{own}, r.Refs().Records()...)
	var errs []error
	for i, ref := range refs {
		tip := r.Refs().Record(ref)
		if tip.IsZero() || i > 0 && ref == own {
			continue
		}
		s, err := r.recordAt(ctx, ref, o.Manager, tip)
		if record.Unusable(err) {
			r.store.opts.Warn("%v: what was edited has to be guessed where nothing else tells it", err)
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !s.has(tree) {
			continue
		}
		if ok, err := r.fetchRecorded(ctx, s, tree); ok || err != nil {
			return ok, err
		}
	}
	return false, errors.Join(errs...)
}

// has says whether an entry has a tree.
func (s *recordState) has(tree Hash) bool {
	name := tree.String()
	for e := range s.rec.All() {
		if e.Hydrated == name {
			return true
		}
	}
	return false
}

// besides are the trees of entries that are not what stands there, or whose open revision
// is no more at the commit that has them.
func (s *recordState) besides(refs *Refs) (out []Hash) {
	tips := map[string]bool{}
	for _, ref := range refs.All() {
		tips[ref.Commit.String()] = true
	}
	for e := range s.rec.All() {
		if e.Hydrated != "" && (e.Hydrated != e.Tree || e.Place == record.Open && !tips[e.Commit]) {
			out = append(out, plumbing.NewHash(e.Hydrated))
		}
	}
	return sorted(out)
}

func (r *Repo) fetchRecorded(ctx context.Context, s *recordState, tree Hash) (bool, error) {
	if r.local != nil {
		return false, nil
	}
	r.fetching.Lock()
	defer r.fetching.Unlock()
	if r.objects.has(tree) {
		return true, nil
	}
	if r.givesAny() {
		all := append([]Hash{tree}, slices.DeleteFunc(s.besides(r.Refs()), r.objects.has)...)
		for _, wants := range [][]Hash{all, {tree}} {
			if err := r.fetchAny(ctx, nil, wants); err == nil || !isMissing(err) {
				return r.objects.has(tree), err
			}
		}
	}
	if r.objects.has(s.commit.Tree) { // whole, and the tree is not in it
		return false, nil
	}
	if err := r.fetchTrees(ctx, []Hash{s.tip}, 1); err != nil && !isMissing(err) {
		return false, err
	}
	return r.objects.has(tree), nil
}
