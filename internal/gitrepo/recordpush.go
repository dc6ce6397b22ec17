package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/record"
)

// recordAttempts bounds how often a push is repeated because the record alone
// has moved: each time another run got through.
const recordAttempts = 50

// pushGroup makes one push, with what the record is to say of it. The record
// never stops what it is about: where it cannot be read or written, the rest goes
// without it.
func (p *pusher) pushGroup(ctx context.Context, g group, results []RefResult) error {
	o := p.opts.Record
	if o == nil || len(g.edits) == 0 {
		return p.pushSome(ctx, g.updates, results)
	}
	ref, err := p.repo.refOf(*o), o.check()
	if ref == "" && err == nil {
		return p.pushSome(ctx, g.updates, results)
	}
	w := &recordWriter{pusher: p, of: *o, ref: ref, group: g, results: results}
	if err == nil {
		err = w.start(ctx)
	}
	if err != nil {
		return w.unrecorded(ctx, ref, err)
	}
	if w.now.tip.IsZero() && o.Begin != nil {
		w.group.edits = slices.Concat(o.Begin(ctx), w.group.edits)
	}
	return w.push(ctx)
}

func (p *pusher) pushSome(ctx context.Context, updates []RefUpdate, results []RefResult) error {
	if len(updates) == 0 {
		return nil
	}
	return p.push(ctx, updates, results)
}

// unrecorded pushes what is left without the record, and says that it was not
// written, and what to do. Of a push that is about nothing else that is the error.
func (w *recordWriter) unrecorded(ctx context.Context, ref string, err error) error {
	if len(w.group.updates) == 0 {
		return err
	}
	if failed := w.without(ctx); failed != nil {
		return failed
	}
	do := `look at it with "variform record check", and make it anew with "variform record rebuild"`
	var refused *RejectedError
	switch {
	case errors.Is(err, record.ErrNewer):
		do = "use that one"
	case errors.Is(err, record.ErrForeign):
		do = fmt.Sprintf("give this fleet a name of its own, in its Kptfile or by --manager, before it makes more, or go on as that one with --manager %s", w.of.Manager)
	case errors.As(err, &refused) && !strings.Contains(err.Error(), lacksObjects):
		do = fmt.Sprintf("allow that ref there, or say on the Repository where the record may stand: annotation %s, a ref or %q", record.Annotation, record.None)
	}
	w.repo.store.opts.Warn("the record %s of %s was not written, so that later updates may have to guess what was edited: %v; %s", ref, w.repo.URL(), err, do)
	return nil
}

// recordWriter makes the pushes of one group.
type recordWriter struct {
	*pusher
	of      RecordOf
	ref     string
	group   group
	results []RefResult

	// base is the record that was there when planning, nil where that is not
	// known; now the one that the next push goes on from.
	base, now *recordState
	// behind keeps the record's history where it could begin anew: the server
	// would not have that.
	behind bool
}

// start reads the record as it was when planning, or, where that has gone, as it
// is now.
func (w *recordWriter) start(ctx context.Context) error {
	tip := w.repo.Refs().Record(w.ref)
	s, err := w.repo.recordAt(ctx, w.ref, w.of.Manager, tip)
	if err == nil {
		err = w.of.foreign(s)
	}
	if errors.Is(err, record.ErrForeign) {
		return err
	}
	if w.of.Anew && (err == nil || record.Unusable(err)) && !errors.Is(err, record.ErrNewer) {
		w.now = &recordState{tip: tip, rec: record.New(w.of.Manager)}
		return nil
	}
	if err == nil {
		w.base, w.now = s, s
		return nil
	}
	if !isMissing(err) {
		return err
	}
	if _, rerr := w.refsNow(ctx); rerr != nil {
		return err
	}
	w.now, err = w.repo.recordAt(ctx, w.ref, w.of.Manager, w.repo.Refs().Record(w.ref))
	return err
}

func (w *recordWriter) push(ctx context.Context) error {
	if w.repo.local != nil && len(w.group.updates) > 0 {
		var end func()
		ctx, end = w.repo.startAhead(ctx)
		defer end()
	}
	for attempt := 1; ; attempt++ {
		next, anew, err := w.commit()
		if err != nil {
			return w.unrecorded(ctx, w.ref, err)
		}
		if next == nil { // it says so already
			return w.without(ctx)
		}
		err = w.attempt(ctx, RefUpdate{Name: w.ref, Old: w.now.tip, New: next.tip})
		if err == nil {
			w.claimed()
			w.repo.keepRecord(w.ref, next)
			return nil
		}
		again := false
		if moved := w.onlyMoved(err); moved != nil && attempt < recordAttempts {
			if again, err = w.relay(ctx, moved, err); !again {
				return err
			}
		} else if w.blames(err) && anew && !w.behind {
			w.behind, again = true, true
		}
		if again {
			continue
		}
		if w.blames(err) {
			return w.refusedRecord(ctx, err)
		}
		return w.others(err)
	}
}

// claimed says that a record which was any unnamed fleet's is this one's from now on.
func (w *recordWriter) claimed() {
	if was := w.now; w.of.Unnamed && w.of.Origin != "" && was.commit != nil && was.rec.Origin == "" {
		w.repo.store.opts.Warn("the record %s of %s did not say which fleet wrote it, and is that of %s from now on: another one without a name of its own has to take one, or to go on as this one with --manager %s", w.ref, w.repo.URL(), w.of.Origin, w.of.Manager)
	}
}

// left are the updates that have not moved yet: on a server that is not atomic,
// some may have.
func (w *recordWriter) left() (updates []RefUpdate, results []*RefResult) {
	for i := range w.results {
		if w.results[i].Outcome != Moved {
			updates, results = append(updates, w.group.updates[i]), append(results, &w.results[i])
		}
	}
	return updates, results
}

// attempt is one push of what is left, with updates of records.
func (w *recordWriter) attempt(ctx context.Context, records ...RefUpdate) error {
	left, of := w.left()
	results := make([]RefResult, len(left)+len(records))
	for i, u := range append(left, records...) {
		results[i] = RefResult{RefUpdate: u, Outcome: NotTried}
	}
	w.beside = w.ref
	defer func() { w.beside = "" }()
	all := make([]RefUpdate, len(results))
	for i, r := range results {
		all[i] = r.RefUpdate
	}
	err := w.pusher.push(ctx, all, results)
	for i, r := range of {
		*r = results[i]
	}
	if still, _ := w.left(); len(still) == 0 && errors.Is(err, ErrUnknownOutcome) && len(left) > 0 {
		return nil // all moved at once, and the record has moved on since
	}
	return err
}

// without pushes what is left without the record.
func (w *recordWriter) without(ctx context.Context) error {
	if left, _ := w.left(); len(left) == 0 {
		return nil
	}
	return w.attempt(ctx)
}

// onlyMoved is where the record is now, where nothing else stopped a push.
func (w *recordWriter) onlyMoved(err error) *StaleRef {
	var stale *StaleError
	if errors.As(err, &stale) && len(stale.Refs) == 1 && stale.Refs[0].Name == w.ref && !errors.Is(err, ErrRejected) {
		return &stale.Refs[0]
	}
	return nil
}

// relay takes the record as it is now for the next attempt. Entries of a package
// that another run changed too are planned again: stale is the error for that.
func (w *recordWriter) relay(ctx context.Context, moved *StaleRef, stale error) (again bool, err error) {
	if w.of.Anew {
		return false, stale
	}
	now, err := w.repo.recordAt(ctx, w.ref, w.of.Manager, moved.Actual)
	if isMissing(err) { // it moved once more
		if _, rerr := w.refsNow(ctx); rerr == nil {
			now, err = w.repo.recordAt(ctx, w.ref, w.of.Manager, w.repo.Refs().Record(w.ref))
		}
	}
	if err == nil {
		err = w.of.foreign(now)
	}
	if err != nil {
		return false, w.unrecorded(ctx, w.ref, err)
	}
	if w.base != nil && len(now.rec.Moved(w.base.rec, w.group.edits)) > 0 {
		return false, stale
	}
	w.now = now
	return true, nil
}

// blames reports whether a push may have been refused because of the record: the
// server says so, or it says the same of all refs.
func (w *recordWriter) blames(err error) bool {
	var refused *RejectedError
	if !errors.As(err, &refused) || refused.Held() || errors.Is(err, ErrStale) {
		return false
	}
	return slices.ContainsFunc(refused.Refs, func(r RefMessage) bool {
		// "atomic" is in what git says of refs that it has nothing against.
		return r.Name == w.ref && (len(refused.Refs) == 1 || !strings.Contains(r.Message, "atomic"))
	})
}

// refusedRecord pushes the rest, and the record to a branch where the server may
// take only those. What is refused without the record too was not its fault.
func (w *recordWriter) refusedRecord(ctx context.Context, err error) error {
	own := record.Ref(w.of.Manager)
	if w.of.Ref != "" || w.ref != own || !w.now.tip.IsZero() {
		return w.unrecorded(ctx, w.ref, err)
	}
	if failed := w.without(ctx); failed != nil {
		return failed
	}
	w.repo.noteRefusal(own)
	branch := &recordWriter{pusher: w.pusher, of: w.of, ref: record.Branch(w.of.Manager), group: group{edits: w.group.edits}, now: w.now}
	next, _, berr := branch.commit()
	if berr == nil && next != nil {
		berr = branch.attempt(ctx, RefUpdate{Name: branch.ref, New: next.tip})
	}
	if berr != nil {
		return w.unrecorded(ctx, own, err)
	}
	w.repo.keepRecord(branch.ref, next)
	return nil
}

// others is an error without what it says of the record.
func (w *recordWriter) others(err error) error {
	var stale *StaleError
	if errors.As(err, &stale) && len(stale.Refs) > 1 {
		stale.Refs = slices.DeleteFunc(stale.Refs, func(r StaleRef) bool { return r.Name == w.ref })
	}
	var refused *RejectedError
	if errors.As(err, &refused) && len(refused.Refs) > 1 {
		refused.Refs = slices.DeleteFunc(refused.Refs, func(r RefMessage) bool { return r.Name == w.ref })
	}
	return err
}

// commit makes the record's next commit; nil where nothing changes.
func (w *recordWriter) commit() (next *recordState, anew bool, err error) {
	when := w.when()
	rec, anew, err := w.now.rec.With(w.group.edits, when)
	anew = anew || w.of.Anew
	if err != nil || !anew && w.now.rec.Same(rec) {
		return nil, false, err
	}
	rec.Origin = w.of.Origin
	s := &recordState{rec: rec, files: map[string]Hash{}}
	var todo []string
	for path, edited := range rec.Files(w.now.rec) {
		if s.files[path] = w.now.files[path]; edited {
			todo = append(todo, path)
		}
	}
	made := make([]Hash, len(todo))
	_ = cores.Each(context.Background(), 0, len(todo), func(i int) error {
		data := rec.File(todo[i])
		if made[i] = hashObject(plumbing.BlobObject, data); made[i] != s.files[todo[i]] { // else it is there
			w.batch.add(&newObject{hash: made[i], typ: plumbing.BlobObject, data: data})
		}
		return nil
	})
	for i, path := range todo {
		s.files[path] = made[i]
	}
	s.branch = w.branchFolders()
	root := sealRecord(rec, s.files, s.branch)
	var was *folder
	if w.now.commit != nil {
		// Only what is there as it would be written can be left out, and built upon.
		if was = sealRecord(w.now.rec, w.now.files, w.now.branch); was.hash != w.now.commit.Tree {
			was = nil
		}
	}
	w.batch.addFolder(root, was)
	var parents []Hash
	if !w.now.tip.IsZero() && (!anew || w.behind) {
		parents = []Hash{w.now.tip}
	}
	author := w.of.Author
	author.When = when
	raw := encodeCommit(root.hash, parents, author, author, w.message(rec))
	s.tip = hashObject(plumbing.CommitObject, raw)
	if s.commit, err = parseCommit(s.tip, raw); err != nil {
		return nil, false, err
	}
	w.batch.add(&newObject{hash: s.tip, typ: plumbing.CommitObject, data: raw, needs: []Hash{root.hash}})
	s.frame = []rawObject{{s.tip, plumbing.CommitObject, raw}, {root.hash, plumbing.TreeObject, root.raw}}
	for _, name := range []string{"index", branchFolder} {
		if dir := root.dirs[name]; dir != nil {
			s.frame = append(s.frame, rawObject{dir.hash, plumbing.TreeObject, dir.raw})
		}
	}
	return s, anew, nil
}

// when is the time of the newest commit that a push is about, or of the record.
func (w *recordWriter) when() time.Time {
	when := record.Newest(w.group.edits)
	if w.now.commit != nil && w.now.commit.Committer.When.After(when) {
		when = w.now.commit.Committer.When
	}
	for _, u := range w.group.updates {
		c := w.batch.made(u.New)
		if c == nil {
			c = w.repo.commits.get(u.New)
		}
		if c != nil && c.Committer.When.After(when) {
			when = c.Committer.When
		}
	}
	if when.IsZero() {
		when = time.Unix(0, 0)
	}
	return when.UTC()
}

func (w *recordWriter) message(rec *record.Record) string {
	var paths []string
	for _, e := range w.group.edits {
		paths = append(paths, e.Package())
	}
	slices.Sort(paths)
	text := fmt.Sprintf("Record %d of %s\n\n%s\n", rec.Number, w.of.Manager, some(slices.Compact(paths)))
	if w.of.Origin != "" {
		text += strings.TrimPrefix(originTrailer, "\n") + w.of.Origin + "\n"
	}
	return text
}

// folder is a folder of a record.
type folder struct {
	entries []treeEntry // files, and trees of packages
	dirs    map[string]*folder

	raw   []byte
	hash  Hash
	needs []Hash
}

// sealRecord lays a record's files and trees out.
func sealRecord(rec *record.Record, files map[string]Hash, branch []Hash) *folder {
	root := &folder{}
	for path, h := range files {
		root.put(path, modeRegular, h)
	}
	for _, l := range rec.Trees() {
		root.put(l.Path, modeDir, plumbing.NewHash(l.Tree))
	}
	for i, h := range branch {
		root.put(branchFolder+"/"+strconv.Itoa(i), modeDir, h)
	}
	root.seal()
	return root
}

func (f *folder) put(path, mode string, h Hash) {
	for {
		name, rest, below := strings.Cut(path, "/")
		if !below {
			f.entries = append(f.entries, treeEntry{mode: mode, name: name, hash: h})
			return
		}
		next := f.dirs[name]
		if next == nil {
			next = &folder{}
			if f.dirs == nil {
				f.dirs = map[string]*folder{}
			}
			f.dirs[name] = next
		}
		f, path = next, rest
	}
}

func (f *folder) seal() {
	for name, d := range f.dirs {
		d.seal()
		f.entries = append(f.entries, treeEntry{mode: modeDir, name: name, hash: d.hash})
	}
	f.raw, f.needs = layOut(f.entries)
	f.hash = hashObject(plumbing.TreeObject, f.raw)
}

// addFolder adds what is not as it was: trees as what changed in them.
func (b *Batch) addFolder(f, was *folder) {
	if was != nil && was.hash == f.hash {
		return
	}
	names := slices.Collect(maps.Keys(f.dirs))
	_ = cores.Each(context.Background(), 0, len(names), func(i int) error {
		var then *folder
		if was != nil {
			then = was.dirs[names[i]]
		}
		b.addFolder(f.dirs[names[i]], then)
		return nil
	})
	if was == nil || len(f.raw) <= smallThin {
		b.addTree(f.raw, f.needs)
		return
	}
	b.treeMu.Lock()
	b.bases[was.hash] = was.raw
	b.treeMu.Unlock()
	delta, needs := treeDelta(was.raw, f.raw)
	b.add(&newObject{hash: f.hash, typ: plumbing.TreeObject, base: was.hash, delta: delta, link: 1, needs: append(needs, was.hash)})
}
