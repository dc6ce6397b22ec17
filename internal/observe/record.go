package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/record"
)

// RecordOf says whose record a run keeps in a repository, and where. Of several
// Repositories that show it the first that says so decides.
func (r *Reader) RecordOf(git Repository) gitrepo.RecordOf { return r.recordOf(r.Showing(git)) }

func (r *Reader) recordOf(shown []*Repo) gitrepo.RecordOf {
	of := gitrepo.RecordOf{Manager: string(r.cfg.Manager), Origin: r.cfg.Origin, Unnamed: r.cfg.Unnamed}
	if len(shown) > 0 {
		of.Branch = shown[0].Branch
	}
	for _, repo := range shown {
		if at := repo.Annotations[record.Annotation]; at != "" {
			of.Ref = at
			break
		}
	}
	return of
}

// readRecord reads this manager's record, nil where there is none or it cannot be
// used: who writes it says what is wrong with it.
func (r *Repo) readRecord(ctx context.Context) (*record.Record, error) {
	rec, err := r.Git.Record(ctx, r.record)
	r.Records = err == nil && r.record.Ref != record.None
	if r.foreign = nil; errors.Is(err, record.ErrForeign) {
		r.foreign = err
	}
	return readable(rec, err)
}

// readable is a record, or nil for what is none that can be read.
func readable(rec *record.Record, err error) (*record.Record, error) {
	if record.Unusable(err) {
		return nil, nil
	}
	return rec, err
}

// Showing are the Repositories that show a Git repository, by namespace and name.
func (r *Reader) Showing(git Repository) []*Repo { return showing(r.sorted, git) }

func showing(list []*Repo, git Repository) (out []*Repo) {
	for _, repo := range list {
		if repo.Git == git && git != nil {
			out = append(out, repo)
		}
	}
	return out
}

// Shows reports whether a path of the Git repository is below the Repository's
// folder.
func (r *Repo) Shows(path string) bool {
	return r.Dir == "" || strings.HasPrefix(path, r.Dir+"/")
}

// GitRepositories are the first Repositories of each Git repository that could be
// read, by namespace and name.
func (r *Reader) GitRepositories() (out []*Repo) {
	for _, repo := range r.sorted {
		if repo.Git != nil && repo.Err == nil && r.Showing(repo.Git)[0] == repo {
			out = append(out, repo)
		}
	}
	return out
}

// Unkept says that the repository is to have no record.
func (r *Repo) Unkept() bool { return r.record.Ref == record.None }

// LastBuild is what the manager's record says of the last build of a package upon
// a revision, nil for a new one, that gave no commit; nil where it says nothing,
// or cannot be read.
func (r *Repo) LastBuild(ctx context.Context, path string, from *decide.Revision) *decide.Built {
	rec, err := r.Git.Record(ctx, r.record)
	if err != nil {
		return nil // who writes it says what is wrong with it
	}
	for _, e := range rec.Package(path) {
		if e.Place == record.Built && e.Workspace == decide.BuiltAs(from) {
			b := &decide.Built{Commit: decide.ParseHash(e.Commit), Inputs: decide.ParseInputs(e.Inputs), Restless: e.Restless, Failure: e.Failure}
			b.At, _ = time.Parse(time.RFC3339, e.At)
			return b
		}
	}
	return nil
}

// FetchAll brings all revisions that a Git repository has open or Published last, those
// that some entries of records are about, its registered branches, and all that records
// hold, in one request; and in another the commits that these entries name. A failure is
// not reported here: whoever needs the objects asks again.
func (r *Reader) FetchAll(ctx context.Context, repo *Repo, entries ...record.Entry) {
	var commits, named []gitrepo.Hash
	for _, e := range entries {
		if at, _, found := r.revisionOf(repo, e); found {
			commits = append(commits, gitrepo.Hash(at))
			named = append(named, gitrepo.Hash(decide.ParseHash(e.Commit)))
		}
	}
	for _, shown := range r.Showing(repo.Git) {
		commits = append(commits, gitrepo.Hash(shown.Head))
		for _, path := range shown.Paths() {
			for _, h := range shown.Package(path).Heads() {
				commits = append(commits, gitrepo.Hash(h.Ref.Commit))
			}
		}
	}
	refs := repo.Git.Refs()
	for _, name := range refs.Records() {
		commits = append(commits, refs.Record(name))
	}
	_ = repo.Git.Fetch(ctx, commits...)
	set := commitSet{}
	set.add(repo, named...)
	set.run(ctx, 1)
}

// Held are the Repositories of whose packages somebody holds one, by namespace and
// name.
func (r *Reader) Held() (out []*Repo) {
	for _, repo := range r.sorted {
		if repo.Err == nil && len(repo.Holds()) > 0 {
			out = append(out, repo)
		}
	}
	return out
}

// Owns says that a package in a Repository is this manager's.
func (r *Reader) Owns() bool {
	return slices.ContainsFunc(r.sorted, func(repo *Repo) bool {
		for _, p := range repo.Packages {
			if repo.mine(p) {
				return true
			}
		}
		return false
	})
}

// Holds are the entries of the packages below the Repository's folder that somebody
// holds, by path, those of others' records last.
func (r *Repo) Holds() (out []record.Entry) {
	seen := map[string]bool{}
	for _, rec := range append([]*record.Record{r.Recorded}, r.Others...) {
		if rec == nil {
			continue
		}
		first := len(out)
		for e := range rec.All() {
			if e.Hold != nil && r.Shows(e.Path) && !seen[e.Path] {
				seen[e.Path] = true
				out = append(out, e)
			}
		}
		slices.SortFunc(out[first:], record.Entry.Compare)
	}
	return out
}

// Unproved says why an entry of a record is not believed (record.Entry.Proved);
// "" where it is, and its tree can be read.
func (r *Reader) Unproved(ctx context.Context, repo *Repo, e record.Entry) string {
	if e.Place == record.Gone {
		return "" // what is not there proves nothing
	}
	if e.Place == record.Variant {
		if e.Hold != nil || e.Discarded != nil {
			return ""
		}
		there, err := r.isThere(ctx, repo, e.Path)
		switch {
		case err != nil:
			return unreadable(err)
		case !there:
			return "no such package is there"
		}
		return ""
	}
	at, behind, found := r.revisionOf(repo, e)
	switch {
	case e.Place == record.Built && (found || e.Workspace == ""):
		return "" // there is nothing to believe: the next build tells
	case !found && e.Withdrawn != 0:
		return r.Unread(ctx, repo, e.Hydrated)
	case !found:
		return "no such revision is there"
	}
	there, err := repo.TreeAt(ctx, at, e.Path)
	if err != nil {
		return unreadable(err)
	}
	commits, err := repo.Git.Commits(ctx, gitrepo.Hash(decide.ParseHash(e.Commit)))
	switch {
	case errors.Is(err, gitrepo.ErrMissingObject):
		return "the repository has its commit no more"
	case err != nil:
		return fmt.Sprintf("its commit cannot be read: %v", err)
	}
	switch named := trailersOf(commits[0], e).Hydrated; {
	case named == "" && there.String() == e.Tree: // others committed just that
	case named != e.Hydrated:
		return "its commit names another tree"
	case !e.Proved(named, behind(e.Commit), there.String()):
		return "what stands there is not of its commit"
	}
	return r.Unread(ctx, repo, e.Hydrated)
}

func unreadable(err error) string {
	return fmt.Sprintf("what stands there cannot be read: %v", err)
}

// isThere says that a package has revisions, or stands on a registered branch without, as
// one does whose Draft was merged.
func (r *Reader) isThere(ctx context.Context, repo *Repo, path string) (bool, error) {
	var errs []error
	for _, shown := range r.Showing(repo.Git) {
		if shown.Packages[path] != nil {
			return true, nil
		}
		tree, err := shown.TreeAt(ctx, shown.Head, path)
		if errs = append(errs, err); !tree.IsZero() {
			return true, nil
		}
	}
	return false, errors.Join(errs...)
}

// trailersOf are the trailers about an entry's revision in the commit that it names.
func trailersOf(c *gitrepo.Commit, e record.Entry) gitrepo.Trailers {
	own := about(e.Path, e.Workspace, e.Revision)
	return c.TrailersOf(func(a gitrepo.Annotation) bool { return own(a) && a.Trailers.Hydrated == e.Hydrated }, own)
}

// ShortInputs is what a record has of a trailer that a commit says for ever.
func ShortInputs(trailer string) string {
	if d := decide.ParseInputs(trailer).Digest; d != "" {
		return "sha256:" + d
	}
	return ""
}

// Unread says why a tree of a record cannot be read, "" where it can.
func (r *Reader) Unread(ctx context.Context, repo *Repo, tree string) string {
	switch ok, err := repo.Git.FetchRecorded(ctx, r.RecordOf(repo.Git), gitrepo.Hash(decide.ParseHash(tree))); {
	case err != nil:
		return fmt.Sprintf("its tree cannot be read: %v", err)
	case !ok:
		return "the repository has its tree no more"
	}
	return ""
}

// revisionOf finds what an entry is about: the commit, and whether another is the
// machine's below it.
func (r *Reader) revisionOf(repo *Repo, e record.Entry) (at decide.Hash, behind func(string) bool, found bool) {
	for _, shown := range r.Showing(repo.Git) {
		p := shown.Packages[e.Path]
		if p == nil {
			continue
		}
		for _, h := range p.Heads() {
			ofMachine := func(commit string) bool {
				return h.Ref.Commit.String() == commit || h.Machine != nil && h.Machine.Commit.String() == commit
			}
			switch {
			case (e.Place == record.Open || e.Place == record.Built) && h.Phase.Open() && h.Workspace == e.Workspace, e.Place == record.Past && h.Number == e.Revision && h.Number > 0:
				return h.Ref.Commit, ofMachine, true
			case e.Place == record.Main && h == p.Latest && !shown.Head.IsZero():
				return shown.Head, ofMachine, true
			}
		}
		for _, t := range p.Tags {
			if e.Place == record.Past && t.Number == e.Revision {
				return t.Ref.Commit, func(commit string) bool { return commit == t.Ref.Commit.String() }, true
			}
		}
	}
	return at, nil, false
}

// OpenEntries are what a record is to say that is begun where revisions of this
// manager's are open: what it does not know counts as a person's
// (decide.Package.Doubt). A record that was lost is begun so, too. What no commit
// holds is left out.
func (r *Reader) OpenEntries(ctx context.Context, git Repository) (out []record.Edit) {
	fetched, seen := false, map[string]bool{}
	for _, repo := range r.Showing(git) {
		for _, path := range repo.Paths() {
			for _, h := range repo.Package(path).Revisions {
				m := h.Machine
				if !h.Phase.Open() || seen[h.Ref.Name] || m == nil || !m.Ours || !r.cfg.Manager.Signed(h.Owner, repo.Namespace) {
					continue
				}
				if seen[h.Ref.Name] = true; !fetched {
					r.FetchAll(ctx, repo)
					fetched = true
				}
				at, err := repo.unedited(ctx, path, h)
				if at.tree.IsZero() && err == nil {
					at, err = repo.behind(ctx, path, h)
				}
				if at.tree.IsZero() || err != nil {
					continue
				}
				e := record.Entry{Path: path, Place: record.Open, Workspace: h.Workspace, Owner: h.Owner}
				if _, lacking := r.Rebuilt(ctx, repo, h, &e); lacking == "" {
					out = append(out, record.Put{Entry: e})
				}
			}
		}
	}
	return out
}

// Rebuilt fills the entry of a revision from what its commits say. It gives what
// the machine made, and says what is lacking for that, "" for nothing.
func (r *Reader) Rebuilt(ctx context.Context, repo *Repo, h *decide.Revision, e *record.Entry) (made []krm.File, lacking string) {
	if h.Machine == nil || h.Machine.Hydrated.IsZero() {
		return nil, "no commit says what the machine made"
	}
	commit := h.Machine.Commit
	if e.Place != record.Open {
		commit = h.Ref.Commit
	}
	tree, err := repo.TreeAt(ctx, commit, e.Path)
	if err != nil || tree.IsZero() {
		return nil, fmt.Sprintf("the package at its commit cannot be read: %v", err)
	}
	e.Commit, e.Tree, e.Hydrated = commit.String(), tree.String(), h.Machine.Hydrated.String()
	if e.Inputs = h.Machine.Inputs; e.Place != record.Open && h.Machine.Commit == h.Ref.Commit {
		e.Inputs = ShortInputs(e.Inputs)
	}
	p, err := repo.Hydrated(ctx, e.Path, h)
	if err == nil && p == nil {
		return nil, "the repository has what the machine made no more"
	}
	var k *kptfilev1.KptFile
	if err == nil {
		k, err = mutate.Read(p, "")
	}
	if err == nil {
		owner, _ := mutate.OwnerOf(k)
		e.Set, e.For, e.DeletionPolicy = owner.Set, owner.For, owner.DeletionPolicy
		made, err = p.Files()
	}
	if err != nil {
		return nil, fmt.Sprintf("what the machine made cannot be read: %v", err)
	}
	return made, ""
}
