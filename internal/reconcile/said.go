package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
	"github.com/variform/variform/internal/record"
)

// Said is what a person said of a package, and what became of that.
type Said struct {
	decide.Identity
	Now string
	Err error

	repo    *observe.Repo
	entry   record.Entry
	discard []decide.Discard
}

// Hold keeps the packages that names mean as they are: they are neither drafted,
// published nor removed until the hold is taken off. Problems are what could not be
// read; the error says that nothing was tried.
func (e *Engine) Hold(ctx context.Context, names []string, reason string) (out []*Said, problems []error, err error) {
	none := func(*observe.Snapshot) []*decide.Orphan { return nil }
	nothing := func(context.Context, []*decide.Want) {}
	return e.say(ctx, names, none, (*decide.Want).Names, reason, nothing, func(a addressed, p *decide.Package, word record.Word, s *Said) {
		s.Now = "held: " + reason
		s.entry, s.Err = decide.SayHold(e.manager, a.want, s.repo.Repository, p, word)
	})
}

// Discard removes the open revisions that names mean, themselves or their packages, so
// that no Draft of the same inputs is made again unasked; also those that no variant
// wants any more.
func (e *Engine) Discard(ctx context.Context, names []string, reason string) (out []*Said, problems []error, err error) {
	means := func(w *decide.Want) []string {
		repo, err := e.read.Downstream(w.Namespace, w.Repository)
		if err != nil {
			return w.Names()
		}
		return append(w.Names(), w.DraftNames(repo.Package(repo.Path(w.Package)))...)
	}
	orphans := func(s *observe.Snapshot) []*decide.Orphan {
		return e.read.Orphans(ctx, s, e.read.UpstreamPlaces(s.Wants))
	}
	return e.say(ctx, names, orphans, means, reason, e.read.FetchTrees, func(a addressed, p *decide.Package, word record.Word, s *Said) {
		if s.Err = e.read.ReadTrees(ctx, s.repo, p); s.Err != nil {
			return
		}
		if a.orphan != nil {
			s.entry, s.discard, s.Err = a.orphan.SayDiscard(e.manager, names, word)
		} else {
			s.entry, s.discard, s.Err = decide.SayDiscard(e.manager, a.want, s.repo.Repository, p, names, word)
		}
		if s.Err != nil {
			return
		}
		var what []string
		for _, d := range s.discard {
			editor := ""
			if d.Revision.NeedsReview() {
				if editor, s.Err = s.repo.Editor(ctx, d.Revision); s.Err != nil {
					return
				}
			}
			what = append(what, d.Describe(editor))
		}
		s.Now = "discarded " + strings.Join(what, ", and ") + ": " + reason
	})
}

// addressed is a package that a person says something of: a wanted one, or one that
// no variant wants.
type addressed struct {
	decide.Identity
	want   *decide.Want
	orphan *decide.Orphan
}

func (e *Engine) say(ctx context.Context, names []string, orphans func(*observe.Snapshot) []*decide.Orphan, means func(*decide.Want) []string, reason string, fetch func(context.Context, []*decide.Want), decided func(addressed, *decide.Package, record.Word, *Said)) (out []*Said, problems []error, err error) {
	s := e.read.Read(ctx)
	var all []addressed
	for _, w := range s.Wants {
		all = append(all, addressed{w.Identity, w, nil})
	}
	for _, o := range orphans(s) {
		all = append(all, addressed{o.Identity, nil, o})
	}
	chosen, missing := decide.Meant(decide.Selection{Names: names}, all, func(a addressed) decide.Selectable {
		return decide.Selectable{Names: func() []string {
			if a.orphan != nil {
				return a.orphan.Names()
			}
			return means(a.want)
		}}
	})
	if err := unknown(missing, s.Wants); err != nil {
		return nil, s.Problems, err
	}
	by, err := gitrepo.UserSignature(ctx, e.cfg.Now())
	if err != nil {
		return nil, s.Problems, err
	}
	var wants []*decide.Want
	for _, a := range chosen {
		if a.want != nil {
			wants = append(wants, a.want)
		}
	}
	fetch(ctx, wants)
	for _, a := range chosen {
		said := &Said{Identity: a.Identity}
		out = append(out, said)
		if said.repo, said.Err = e.read.Downstream(a.Namespace, a.Repository); said.Err == nil {
			decided(a, said.repo.Package(said.repo.Path(a.Package)), record.Word{By: by.Name, Reason: reason}, said)
		}
	}
	e.write(ctx, out)
	return out, s.Problems, ctx.Err()
}

// Unhold takes holds off: of packages that names mean, by repository/package, the
// variant's name or the package's, wanted or not.
func (e *Engine) Unhold(ctx context.Context, names []string) (out []*Said, problems []error, err error) {
	s := e.read.Read(ctx)
	used := map[string]bool{} // by each name: whether it means something
	for _, n := range names {
		used[n] = false
	}
	for _, repo := range e.read.Held() {
		for _, held := range repo.Holds() {
			id := decide.Identity{Namespace: repo.Namespace, Repository: repo.Name, Package: repo.Below(held.Path)}
			hit := false
			for _, n := range []string{id.String(), id.Package, id.Repository, held.Set, decide.OwnerName(held.Owner)} {
				if _, asked := used[n]; asked && n != "" {
					hit, used[n] = true, true
				}
			}
			if hit {
				said := &Said{Identity: id, Now: "no longer held", repo: repo}
				said.entry, said.Err = decide.SayOff(repo.Repository, repo.Package(held.Path))
				out = append(out, said)
			}
		}
	}
	for _, n := range names {
		if !used[n] {
			return nil, s.Problems, fmt.Errorf("nothing that is held is called %q: give repository/package, a repository, a set, a variant or a package", n)
		}
	}
	e.write(ctx, out)
	return out, s.Problems, ctx.Err()
}

// write records what was said, one push a repository, and then removes what was
// discarded: without a record of that it would come back.
func (e *Engine) write(ctx context.Context, list []*Said) {
	byRepo := map[observe.Repository][]*Said{}
	for _, s := range list {
		if s.Err == nil {
			byRepo[s.repo.Git] = append(byRepo[s.repo.Git], s)
		}
	}
	_, _ = observe.Parallel(ctx, e.read.Repositories(), slices.Collect(maps.Values(byRepo)), func(ctx context.Context, said []*Said) struct{} {
		if err := e.writeRepo(ctx, said); err != nil {
			for _, s := range said {
				s.Err = fmt.Errorf("recording it: %w", err)
			}
		}
		return struct{}{}
	})
}

// writeRepo is write for what is of one repository.
func (e *Engine) writeRepo(ctx context.Context, list []*Said) error {
	git := list[0].repo.Git
	b := git.NewBatch()
	defer func() { _ = b.Close() }()
	for _, s := range list {
		if err := b.Recorded([]record.Edit{record.Put{Entry: s.entry}}); err != nil {
			return err
		}
	}
	of := publish.RecordOf(e.read, git)
	if _, err := b.Push(ctx, gitrepo.PushOptions{Record: of}); err != nil {
		return err
	}
	if err := git.Refresh(ctx); err != nil {
		return err
	}
	drops := git.NewBatch()
	defer func() { _ = drops.Close() }()
	for _, s := range list {
		for _, d := range s.discard {
			var updates []gitrepo.RefUpdate
			for _, m := range d.Moves(decide.Hash{}) {
				updates = append(updates, gitrepo.RefUpdate{Name: m.Name, Old: gitrepo.Hash(m.Old), New: gitrepo.Hash(m.New)})
			}
			drop := record.Drop{Path: s.entry.Path, Workspace: d.Revision.Workspace}
			if err := drops.Recorded([]record.Edit{drop}, updates...); err != nil {
				return err
			}
		}
	}
	if drops.Empty() {
		return nil
	}
	_, err := drops.Push(ctx, gitrepo.PushOptions{Record: of})
	return err
}
