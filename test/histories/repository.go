package histories

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// hash names an object.
type hash = plumbing.Hash

// repository is plain Git: what people, forges and the checks do and see.
// A failure is a panic, which the history that runs turns into its own.
type repository struct {
	name string
	// with calls f with the storage, while no server uses it.
	with func(f func(s storer.Storer))
	// forged are commits that say they are the machine's, and are not.
	forged map[hash]bool
}

// entry is one file of a commit.
type entry struct {
	mode filemode.FileMode
	hash hash
}

// files are a commit's, by path.
type files map[string]entry

const mainRef = "refs/heads/main"

// epoch dates people's commits: a clock counts seconds from it.
const epoch = 1700000000

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// refs are all refs by name.
func (r *repository) refs() map[string]hash {
	out := map[string]hash{}
	r.with(func(s storer.Storer) {
		it, err := s.IterReferences()
		for errors.Is(err, dotgit.ErrEmptyRefFile) { // git's lock, while another's push moves one
			it, err = s.IterReferences()
		}
		must(0, err)
		_ = it.ForEach(func(ref *plumbing.Reference) error {
			if ref.Type() == plumbing.HashReference {
				out[ref.Name().String()] = ref.Hash()
			}
			return nil
		})
	})
	return out
}

func (r *repository) ref(name string) hash { return r.refs()[name] }

// set moves a ref; a zero hash removes it.
func (r *repository) set(name string, h hash) {
	r.with(func(s storer.Storer) {
		var err error
		if h.IsZero() {
			err = s.RemoveReference(plumbing.ReferenceName(name))
		} else {
			err = s.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(name), h))
		}
		must(0, err)
	})
}

// commit reads a commit.
func (r *repository) commit(h hash) (c *object.Commit) {
	r.with(func(s storer.Storer) { c = must(object.GetCommit(s, h)) })
	return c
}

// files lists what a commit holds; none for the zero hash.
func (r *repository) files(commit hash) files {
	out := files{}
	if commit.IsZero() {
		return out
	}
	r.with(func(s storer.Storer) { list(s, must(object.GetCommit(s, commit)).TreeHash, "", out) })
	return out
}

// list leaves out what is not there below a commit's root: this server takes a record
// that was forged to name a tree which it does not have, as others do not.
func list(s storer.Storer, tree hash, prefix string, out files) {
	t, err := object.GetTree(s, tree)
	if err != nil && prefix != "" {
		return
	}
	for _, e := range must(t, err).Entries {
		if e.Mode == filemode.Dir {
			list(s, e.Hash, prefix+e.Name+"/", out)
			continue
		}
		out[prefix+e.Name] = entry{e.Mode, e.Hash}
	}
}

// text is a file's content, "" where it is not there.
func (r *repository) text(f files, path string) string {
	e, ok := f[path]
	if !ok {
		return ""
	}
	return string(r.blob(e.hash))
}

func (r *repository) blob(h hash) (data []byte) {
	r.with(func(s storer.Storer) {
		b := must(object.GetBlob(s, h))
		in := must(b.Reader())
		defer in.Close()
		data = make([]byte, b.Size)
		for n := 0; n < len(data); {
			k, err := in.Read(data[n:])
			if n += k; k == 0 {
				must(0, err)
			}
		}
	})
	return data
}

// put stores a text as a file's content.
func (r *repository) put(text string) entry {
	var h hash
	r.with(func(s storer.Storer) {
		o := s.NewEncodedObject()
		o.SetType(plumbing.BlobObject)
		w := must(o.Writer())
		must(w.Write([]byte(text)))
		must(0, w.Close())
		h = must(s.SetEncodedObject(o))
	})
	return entry{filemode.Regular, h}
}

// write stores files as a tree.
func write(s storer.Storer, f files) hash {
	var tree object.Tree
	below := map[string]files{}
	for p, e := range f {
		dir, rest, deep := strings.Cut(p, "/")
		if !deep {
			tree.Entries = append(tree.Entries, object.TreeEntry{Name: p, Mode: e.mode, Hash: e.hash})
			continue
		}
		if below[dir] == nil {
			below[dir] = files{}
		}
		below[dir][rest] = e
	}
	for dir, f := range below {
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: dir, Mode: filemode.Dir, Hash: write(s, f)})
	}
	slices.SortFunc(tree.Entries, func(a, b object.TreeEntry) int { return strings.Compare(sortKey(a), sortKey(b)) })
	o := s.NewEncodedObject()
	must(0, tree.Encode(o))
	return must(s.SetEncodedObject(o))
}

func sortKey(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

// ann is who commits by plain Git.
const ann = "ann@example.com"

// byPerson says whether a commit was made by make, or is a forged one.
func (r *repository) byPerson(h hash) bool { return r.forged[h] || r.commit(h).Author.Email == ann }

// forge notes that a commit is a forged one.
func (r *repository) forge(h hash) {
	if r.forged == nil {
		r.forged = map[hash]bool{}
	}
	r.forged[h] = true
}

// tree stores files as a tree.
func (r *repository) tree(f files) (h hash) {
	r.with(func(s storer.Storer) { h = write(s, f) })
	return h
}

// amend stores a commit as it is with another message and other files.
func (r *repository) amend(c *object.Commit, message string, f files) (h hash) {
	r.with(func(s storer.Storer) {
		now := object.Commit{Author: c.Author, Committer: c.Committer, Message: message, TreeHash: write(s, f), ParentHashes: c.ParentHashes}
		o := s.NewEncodedObject()
		must(0, now.Encode(o))
		h = must(s.SetEncodedObject(o))
	})
	return h
}

// make stores a commit of a person, dated by a clock.
func (r *repository) make(clock int64, message string, f files, parents ...hash) (h hash) {
	sig := object.Signature{Name: "Ann Tester", Email: ann, When: time.Unix(epoch+clock, 0).UTC()}
	r.with(func(s storer.Storer) {
		c := object.Commit{Author: sig, Committer: sig, Message: message, TreeHash: write(s, f), ParentHashes: parents}
		o := s.NewEncodedObject()
		must(0, c.Encode(o))
		h = must(s.SetEncodedObject(o))
	})
	return h
}

// ancestors are a commit and all that lead to it.
func (r *repository) ancestors(h hash) map[hash]bool {
	out := map[hash]bool{}
	r.with(func(s storer.Storer) {
		for next := []hash{h}; len(next) > 0; {
			at := next[0]
			next = next[1:]
			if at.IsZero() || out[at] {
				continue
			}
			out[at] = true
			next = append(next, must(object.GetCommit(s, at)).ParentHashes...)
		}
	})
	return out
}

// base is the newest commit that two have in common, by first finding.
func (r *repository) base(a, b hash) hash {
	in := r.ancestors(a)
	seen := map[hash]bool{}
	for next := []hash{b}; len(next) > 0; {
		at := next[0]
		next = next[1:]
		if seen[at] {
			continue
		}
		if seen[at] = true; in[at] {
			return at
		}
		next = append(next, r.commit(at).ParentHashes...)
	}
	return hash{}
}

// merged are the files of a merge, file by file; not ok where both sides changed
// one differently.
func merged(base, ours, theirs files) (out files, ok bool) {
	out = maps.Clone(ours)
	for p := range union(base, theirs) {
		b, t, o := base[p], theirs[p], ours[p]
		switch {
		case t == b || t == o:
		case o != b:
			return nil, false
		case t == entry{}:
			delete(out, p)
		default:
			out[p] = t
		}
	}
	return out, true
}

func union(a, b files) map[string]bool {
	out := map[string]bool{}
	for p := range a {
		out[p] = true
	}
	for p := range b {
		out[p] = true
	}
	return out
}

// digest is a short hash of all refs of repositories.
func digest(repos map[string]*repository) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(repos)) {
		refs := repos[name].refs()
		for _, ref := range slices.Sorted(maps.Keys(refs)) {
			_, _ = fmt.Fprintln(sum, name, ref, refs[ref])
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:4])
}
