package histories

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/variform/variform/internal/decide"
)

// records is what the model knows of what befell the records.
type records struct {
	broken    map[string]bool // repositories whose record a newer version wrote
	squashed  map[place]bool  // a forge made main's content anew: the record alone knows what the machine made
	forgotten map[place]bool  // of which the record said something
	newer     map[place]hash  // a newer version of the program made this commit
	older     map[place]bool  // an older one made what is there, or some of it
}

func newRecords() records {
	return records{map[string]bool{}, map[place]bool{}, map[place]bool{}, map[place]hash{}, map[place]bool{}}
}

// recordRef is the name of a repository's record, "" where there is none.
func (r *repository) recordRef() (name string) {
	for ref := range r.refs() {
		if parse(ref).kind == ours {
			name = ref
		}
	}
	return name
}

var (
	newerHydration = regexp.MustCompile(fmt.Sprintf(`"hydration":(%d|99)\b`, decide.Hydration+1))
	hydrationField = regexp.MustCompile(`"hydration":\d+`)
	entryHash      = regexp.MustCompile(`"(commit|tree|hydrated)":"([0-9a-f]{40})"`)
	entryDigest    = regexp.MustCompile(`sha256:[0-9a-f]`)
	entryCommit    = regexp.MustCompile(`"path":"([^"]*)","place":"(?:main|open)".*"commit":"([0-9a-f]{40})"`)
)

// record is what happens to a repository's record: it is lost, set back, changed by
// hand, or written by a newer version of the program; or a newer version made all
// that is there.
func (w *world) record(o operation) {
	r := w.repos[at(w.targets, o.a).name]
	ref := r.recordRef()
	if ref == "" {
		return
	}
	tip := r.ref(ref)
	edit := func(change func(path, text string) string) {
		f := r.files(tip)
		for path := range f {
			if path == "record.yaml" || strings.HasPrefix(path, "index/") {
				f[path] = r.put(change(path, r.text(f, path)))
			}
		}
		r.set(ref, r.make(w.tick(), "Record", f, tip))
	}
	w.forget(r.name)
	switch o.b % 6 {
	case 0:
		w.log("the record of %s is lost", r.name)
		r.set(ref, hash{})
	case 1, 2:
		if p := r.commit(tip).ParentHashes; len(p) > 0 {
			w.log("the record of %s is set back", r.name)
			r.set(ref, p[0])
		}
	case 3:
		w.log("the record of %s is forged", r.name)
		edit(func(_, text string) string { return forged(text, o.c) })
	case 4:
		w.log("a newer version wrote the record of %s", r.name)
		w.broken[r.name] = true
		edit(func(_, text string) string { return strings.Replace(text, "record/v1", "record/v2", 1) })
	case 5:
		w.log("a newer version made what is in %s", r.name)
		edit(func(_, text string) string { return hydrationField.ReplaceAllString(text, `"hydration":99`) })
	}
	if o.b%6 != 0 && !w.broken[r.name] { // what it says of that cannot be read either
		w.madeByNewer(r)
	}
}

var pathLine = regexp.MustCompile(`(?m)^ +package-path: .*\n`)

// makeOlder makes of a Draft that nobody edited what hydration version 1 had made of
// the same inputs, without the package's path in its context: that alone is no reason
// to draft it anew.
func (w *world) makeOlder(o operation) {
	w.apply()
	list := w.open(draft)
	if len(list) == 0 {
		return
	}
	b := at(list, o.a)
	r := w.repos[b.repo]
	now, f, ref := r.commit(b.tip), maps.Clone(r.files(b.tip)), r.recordRef()
	context := b.pkg + "/package-context.yaml"
	was := r.tree(f.below(b.pkg))
	text := r.text(f, context)
	f[context] = r.put(pathLine.ReplaceAllString(text, ""))
	tree := r.tree(f.below(b.pkg))
	if r.byPerson(b.tip) || ref == "" || w.newer[b.place] == b.tip || tree == was {
		return
	}
	unedited := fmt.Sprintf(`"commit":%q,"tree":%q,"hydrated":%[2]q`, b.tip.String(), was.String())
	index := r.files(r.ref(ref))
	for path := range index {
		entries := r.text(index, path)
		for line := range strings.Lines(entries) {
			// The record has a Draft that a person renamed under its old name: which version made it is not known.
			named := strings.Contains(line, fmt.Sprintf(`"workspace":%q`, parse(b.ref).last))
			if !named || !strings.Contains(line, `"place":"open"`) || !strings.Contains(line, unedited) {
				continue
			}
			tip := r.amend(now, strings.ReplaceAll(now.Message, was.String(), tree.String()), f)
			made := strings.NewReplacer(b.tip.String(), tip.String(), was.String(), tree.String()).Replace(line)
			index[path] = r.put(strings.Replace(entries, line, hydrationField.ReplaceAllString(made, `"hydration":1`), 1))
			w.log("an older version made %s of %s", b.pkg, b.repo)
			r.set(b.ref, tip)
			r.set(ref, r.make(w.tick(), "Record", index, r.ref(ref)))
			w.older[b.place] = true
			if w.apply(); r.ref(b.ref) != tip {
				w.violate("what an older version made is no reason for a Draft", b.place, "apply moves a Draft")
			}
			return
		}
	}
}

// madeByNewer notes what the record says that a newer version made.
func (w *world) madeByNewer(r *repository) {
	f := r.files(r.ref(r.recordRef()))
	for path := range f {
		for line := range strings.Lines(r.text(f, path)) {
			if m := entryCommit.FindStringSubmatch(line); m != nil && newerHydration.MatchString(line) {
				w.newer[place{r.name, m[1]}] = plumbing.NewHash(m[2])
			}
		}
	}
}

// forged is an index file with one value of one entry made another.
func forged(text string, n int) string {
	hashes := entryHash.FindAllStringSubmatchIndex(text, -1)
	digests := entryDigest.FindAllStringIndex(text, -1)
	switch {
	case len(hashes) > 0 && n%3 > 0:
		m, from := at(hashes, n/3), at(hashes, n/5)
		return text[:m[4]] + text[from[4]:from[5]] + text[m[5]:]
	case len(digests) > 0:
		m := at(digests, n/3)
		return text[:m[1]-1] + "0" + text[m[1]:]
	}
	return text
}

// isRecorded says whether the record has an entry of a package.
func (w *world) isRecorded(p place) bool {
	r := w.repos[p.repo]
	f := r.files(r.ref(r.recordRef()))
	for path := range f {
		if strings.HasPrefix(path, "index/") && strings.Contains(r.text(f, path), `"path":"`+p.pkg+`"`) {
			return true
		}
	}
	return false
}

// forget is what is not known of a repository's packages any more.
func (w *world) forget(repo string) {
	for _, p := range w.places() {
		if p.repo != repo {
			continue
		}
		w.waits[p] = w.waits[p] || w.held[p] // it may come back
		w.heldOnce[p] = w.heldOnce[p] || w.held[p]
		delete(w.held, p)
		delete(w.left, p)
		delete(w.newer, p)
		w.forgotten[p] = true
		w.edited[p] = w.edited[p] || w.squashed[p]
	}
}

// mend takes away records that this version does not write, as a person would.
func (w *world) mend() {
	for _, t := range w.targets {
		newer := slices.ContainsFunc(slices.Collect(maps.Keys(w.newer)), func(p place) bool { return p.repo == t.name })
		if r := w.repos[t.name]; w.broken[t.name] || newer {
			w.forget(t.name)
			if ref := r.recordRef(); ref != "" {
				r.set(ref, hash{})
			}
			delete(w.broken, t.name)
		}
	}
}

// checkNewer: what a newer version of the program made is let be.
func (w *world) checkNewer(before map[string]map[string]hash, m move, r result) {
	made, ok := w.newer[m.place()]
	if !ok || r.later || r.args[0] != "apply" || !m.parsed.open() || m.after.IsZero() || w.repos[m.repo].byPerson(m.after) {
		return
	}
	if m.before == made || m.before.IsZero() && before[m.repo][mainRef] == made {
		w.violate("what a newer version made is let be", m.place(), "apply moves a %s", m.parsed.kind)
	}
}
