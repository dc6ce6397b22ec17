package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
	"github.com/variform/variform/internal/record"
)

// Recorded is an entry of a repository's record (docs/design/record.md). Finding
// says why it is not believed, or, where a record is made anew, what keeps it out.
type Recorded struct {
	Repository string `json:"repository"`
	record.Entry
	Finding string `json:"finding,omitempty"`
}

// Records reads this manager's records, by repository and package. Problems are
// what could not be read.
func (e *Engine) Records(ctx context.Context) (out []*Recorded, problems []error) {
	return e.eachRecord(ctx, func(repo *observe.Repo) ([]*Recorded, error) { return e.recorded(ctx, repo) })
}

// CheckRecords is Records with each entry held against what stands there.
func (e *Engine) CheckRecords(ctx context.Context) (out []*Recorded, problems []error) {
	return e.eachRecord(ctx, func(repo *observe.Repo) ([]*Recorded, error) {
		list, err := e.recorded(ctx, repo)
		if len(list) > 0 {
			e.read.FetchAll(ctx, repo, entries(list)...)
		}
		for _, r := range list {
			r.Finding = e.read.Unproved(ctx, repo, r.Entry)
		}
		return list, err
	})
}

func (e *Engine) recorded(ctx context.Context, repo *observe.Repo) (list []*Recorded, err error) {
	rec, err := repo.Git.Record(ctx, e.read.RecordOf(repo.Git))
	if err != nil || rec == nil {
		return nil, err
	}
	for _, entry := range rec.Entries() {
		list = append(list, &Recorded{Repository: repo.Name, Entry: entry})
	}
	return list, nil
}

func entries(list []*Recorded) (out []record.Entry) {
	for _, r := range list {
		out = append(out, r.Entry)
	}
	return out
}

// RebuildRecords makes this manager's records anew from what its commits say. The
// entries that could not be made have a Finding.
func (e *Engine) RebuildRecords(ctx context.Context) (out []*Recorded, problems []error) {
	return e.eachRecord(ctx, func(repo *observe.Repo) ([]*Recorded, error) { return e.rebuild(ctx, repo) })
}

// eachRecord calls f for each Git repository, not for each Repository that shows it.
func (e *Engine) eachRecord(ctx context.Context, f func(*observe.Repo) ([]*Recorded, error)) (out []*Recorded, problems []error) {
	problems = e.read.ReadOpen(ctx).Problems
	type result struct {
		list []*Recorded
		err  error
	}
	repos := e.read.GitRepositories()
	results, err := observe.Parallel(ctx, e.read.Repositories(), repos, func(_ context.Context, repo *observe.Repo) result {
		list, err := f(repo)
		return result{list, err}
	})
	if err != nil {
		return nil, append(problems, err)
	}
	for i, r := range results {
		if r.err != nil {
			problems = append(problems, &observe.RepositoryError{Namespace: repos[i].Namespace, Name: repos[i].Name, Err: r.err})
		}
		out = append(out, r.list...)
	}
	slices.SortStableFunc(out, func(a, b *Recorded) int {
		return cmp.Or(cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Path, b.Path))
	})
	return out, problems
}

func (e *Engine) rebuild(ctx context.Context, repo *observe.Repo) (list []*Recorded, err error) {
	there, _ := e.recorded(ctx, repo) // one that cannot be read has none
	e.read.FetchAll(ctx, repo, entries(there)...)
	b := repo.Git.NewBatch()
	defer func() { _ = b.Close() }()
	var edits []record.Edit
	seen, have := map[string]bool{}, map[string]bool{} // paths, entries
	for _, shown := range e.read.Showing(repo.Git) {
		for _, path := range shown.Paths() {
			p := shown.Package(path)
			if seen[path] || !slices.ContainsFunc(p.Revisions, func(h *decide.Revision) bool { return e.manager.Signed(h.Owner, shown.Namespace) }) {
				continue
			}
			seen[path] = true
			for _, h := range p.Revisions {
				for _, entry := range entriesOf(path, h) {
					r := &Recorded{Repository: repo.Name, Entry: entry}
					list, have[r.Name()] = append(list, r), true
					var made []krm.File
					if made, r.Finding = e.read.Rebuilt(ctx, shown, h, &r.Entry); r.Finding != "" {
						continue
					}
					for _, was := range p.Entries { // no commit says it
						if was.Name() == r.Name() && was.Hydrated == r.Hydrated {
							r.Hydration, r.Reverts, r.Labels, r.Restless = was.Hydration, was.Reverts, was.Labels, was.Restless
						}
					}
					if _, err := b.PackageTree(made); err != nil { // the server may have lost it
						return nil, err
					}
					edits = append(edits, record.Put{Entry: r.Entry})
				}
			}
		}
	}
	for _, r := range there {
		if !have[r.Name()] && e.stays(ctx, repo, r.Entry, seen[r.Path]) {
			list, edits = append(list, r), append(edits, record.Put{Entry: r.Entry})
			if r.Withdrawn != 0 { // its number was that of the record before
				edits = append(edits, record.Withdraw{Path: r.Path, Workspace: r.Workspace})
			}
		}
	}
	of := publish.RecordOf(e.read, repo.Git)
	of.Anew, of.Begin = true, nil // it has all that is there
	if err := b.Recorded(edits); err != nil || len(edits) == 0 {
		return list, err
	}
	if _, err := b.Push(ctx, gitrepo.PushOptions{Record: of}); err != nil {
		return nil, fmt.Errorf("writing the record: %w", err)
	}
	return list, nil
}

// stays says whether an entry stays that is not made anew: that of a package which
// no Repository of this fleet shows, and what proves itself of others, but for open
// and latest revisions of packages whose commits were asked: what was said of a
// package itself no commit tells.
func (e *Engine) stays(ctx context.Context, repo *observe.Repo, entry record.Entry, asked bool) bool {
	if !slices.ContainsFunc(e.read.Showing(repo.Git), func(r *observe.Repo) bool { return r.Shows(entry.Path) }) {
		return e.read.Unread(ctx, repo, entry.Hydrated) == ""
	}
	if entry.Place == record.Built {
		return false // the next run builds it again, and says so
	}
	return (!asked || entry.Place == record.Past || entry.Place == record.Variant || entry.Place == record.Gone) && e.read.Unproved(ctx, repo, entry) == ""
}

// entriesOf are the entries that a revision is to have.
func entriesOf(path string, h *decide.Revision) []record.Entry {
	e := record.Entry{Path: path, Place: record.Open, Workspace: h.Workspace, Revision: h.Number, Owner: h.Owner}
	if h.Phase.Open() {
		return []record.Entry{e}
	}
	past := e
	e.Place, past.Place = record.Main, record.Past
	if h.Phase == lifecycle.DeletionProposed {
		return []record.Entry{past}
	}
	return []record.Entry{e, past}
}
