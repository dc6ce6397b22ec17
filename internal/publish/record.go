package publish

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/record"
)

// RecordOf says where a repository's record stands, and who writes it; nil keeps
// none.
func RecordOf(read *observe.Reader, git observe.Repository) *gitrepo.RecordOf {
	if read == nil {
		return nil
	}
	of := read.RecordOf(git)
	of.Author = machine(time.Time{})
	of.Begin = func(ctx context.Context) []record.Edit { return read.OpenEntries(ctx, git) }
	return &of
}

// workspaceOf is the workspace of an open revision's branch.
func workspaceOf(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

// BuiltEdit is what the record is to say of a build of a package upon a revision,
// nil for a new one, that gave no commit; b is nil where it is to say nothing.
func BuiltEdit(path string, from *decide.Revision, b *decide.Built, owner string) record.Edit {
	workspace := decide.BuiltAs(from)
	if b == nil {
		return record.Settle{Path: path, Workspace: workspace}
	}
	e := record.Entry{
		Path: path, Place: record.Built, Workspace: workspace, Inputs: b.Inputs.String(), Owner: owner,
		Restless: b.Restless, Failure: b.Failure, At: b.At.UTC().Format(time.RFC3339),
	}
	if !b.Commit.IsZero() {
		e.Commit = b.Commit.String()
	}
	return record.Put{Entry: e}
}

// edits are what the record is to say of a change.
func (c *Change) edits(ctx context.Context) []record.Edit {
	out := append(c.elsewhere(ctx), c.decided(ctx)...)
	if put, ok := c.Built.(record.Put); ok && c.Commit != nil {
		put.Commit = c.Hash.String() // it is about this very commit
		out = append(out, put)
	} else if c.Built != nil {
		out = append(out, c.Built)
	}
	if c.Unsaid {
		out = append(out, record.Unsay{Path: c.Package.Path})
	}
	if c.Said != nil {
		out = append(out, record.Put{Entry: *c.Said})
	}
	return out
}

// decided are what the record is to say of a decision. What the machine made is
// known where the commit names it.
func (c *Change) decided(ctx context.Context) []record.Edit {
	path := c.Package.Path
	switch d := c.Decision.(type) {
	case decide.Draft:
		if c.Commit == nil || c.Commit.Entry.Hydrated == "" {
			return []record.Edit{record.Drop{Path: path, Workspace: workspaceOf(d.Ref)}}
		}
		e := c.Commit.Entry
		e.Path, e.Place, e.Workspace = path, record.Open, workspaceOf(d.Ref)
		return []record.Edit{record.Put{Entry: e}}
	case decide.Tag:
		draft := d.Draft
		if latest := c.Package.Latest; latest != nil && latest.Ref.Name == d.Ref {
			draft = latest // the package as it is with the tag
		}
		n, err := strconv.Atoi(d.Ref[strings.LastIndex(d.Ref, "/v")+2:])
		if err != nil || draft == nil {
			return nil
		}
		tree, err := c.Repo.TreeAt(ctx, d.Commit, path)
		if err != nil {
			return nil // the next update says what cannot be read
		}
		e := published(path, draft, n, d.Commit.String(), tree)
		if m := draft.Machine; m != nil && e.Inputs != "" {
			e.Inputs = m.Inputs // its commit may go
		}
		e.Upon, e.Whose, e.Held = d.Local, true, c.holds(ctx, d.Draft)
		if s := c.Says; s != nil {
			e.Set, e.For, e.DeletionPolicy, e.Labels = s.Set, s.For, s.DeletionPolicy, s.Labels
		}
		return []record.Edit{e}
	case decide.Discard:
		if d.Withdrawn {
			return []record.Edit{record.Withdraw{Path: path, Workspace: d.Revision.Workspace}}
		}
		return []record.Edit{record.Drop{Path: path, Workspace: d.Revision.Workspace}}
	case decide.Release:
		if d.Revision.Number > 0 {
			return nil
		}
		return []record.Edit{record.Drop{Path: path, Workspace: d.Revision.Workspace}}
	case decide.Forget:
		return []record.Edit{record.Forget{Path: path}}
	case decide.Trim:
		return []record.Edit{trimmed(path, d.Tags)}
	default:
		return nil
	}
}

// elsewhere records what the machine made a revision from that another tool published.
func (c *Change) elsewhere(ctx context.Context) []record.Edit {
	latest := c.Package.Publication()
	if latest == nil || c.Decision.Action() == decide.ActionForget {
		return nil
	}
	tree, err := c.Repo.TreeAt(ctx, latest.Ref.Commit, c.Package.Path)
	if err != nil {
		return nil // the next update says what cannot be read
	}
	e := published(c.Package.Path, latest, latest.Number, latest.Ref.Commit.String(), tree)
	e.Inputs = latest.Machine.Inputs // no commit of its own says them
	e.Held, e.Whose = c.holds(ctx, latest), true
	return []record.Edit{e}
}

// holds says that what the machine made, of which the record has nothing, stands without
// edits in a commit of a Draft that is there and was merged as it stands.
func (c *Change) holds(ctx context.Context, draft *decide.Revision) bool {
	if draft == nil || draft.Machine == nil || draft.Machine.Hydrated.IsZero() {
		return false
	}
	made := draft.Machine.Hydrated
	if slices.ContainsFunc(c.Package.Entries, func(e record.Entry) bool {
		return e.Place == record.Open && e.Workspace == draft.Workspace && e.Hydrated == made.String()
	}) {
		return false
	}
	tree, err := c.Repo.TreeAt(ctx, draft.Machine.Commit, c.Package.Path)
	return err == nil && tree == made
}

// published says that a Draft became revision n, by a commit at which the package
// is tree.
func published(path string, draft *decide.Revision, n int, commit string, tree decide.Hash) record.Publish {
	e := record.Entry{Path: path, Workspace: draft.Workspace, Revision: n, Commit: commit, Tree: tree.String(), Owner: draft.Owner}
	if m := draft.Machine; m != nil && !m.Hydrated.IsZero() {
		e.Hydrated, e.Inputs, e.Reverts = m.Hydrated.String(), observe.ShortInputs(m.Inputs), m.Reverts
	}
	return record.Publish{Entry: e}
}

// forgotten says that the deletion of a package was approved.
func forgotten(p *decide.Package) record.Edit {
	e := record.Forget{Path: p.Path}
	if n := len(p.Tags); n > 0 {
		e.Revision = p.Tags[n-1].Number
	}
	if p.Latest != nil {
		e.Workspace = p.Latest.Was()
	}
	return e
}

func trimmed(path string, tags []decide.Published) record.Edit {
	e := record.Trim{Path: path}
	for _, t := range tags {
		e.Revisions = append(e.Revisions, t.Number)
	}
	slices.Sort(e.Revisions)
	return e
}

// made notes what a commit holds, and what the machine made, where the commit
// itself says that it did.
func (c *Change) made(commit *gitrepo.Commit) {
	e := &c.Commit.Entry
	e.Commit, e.Tree = commit.Hash.String(), c.Commit.Tree.String()
	e.Inputs, e.Owner, e.Reverts = commit.Trailers.Inputs, commit.Trailers.Variant, commit.Trailers.Reverts
	if e.Hydrated = ""; commit.Trailers.Hydrated == c.Commit.Hydrated.String() {
		e.Hydrated = c.Commit.Hydrated.String()
	}
}
