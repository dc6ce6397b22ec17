package reconcile

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/review"
)

// Shown is a revision that waits for a person, with what it changes.
type Shown struct {
	Identity
	Name, Set string
	Workspace string
	Phase     lifecycle.Phase
	Ref       string
	Commit    string
	// Upstream is repository/package that it comes from, "" where unknown.
	Upstream string
	// BaseName is what it is compared with: "v2", or its upstream.
	BaseName string
	// Base may be nil where it could not be read. Package is nil for a
	// proposed deletion.
	Base, Package *krm.Package
	// Warnings say why what is shown is not complete; Notes say what stands in
	// the way of a decision.
	Warnings, Notes []string
}

// Open reads every revision of this manager's that a person can decide about,
// and what each is to be compared with: the latest Published revision, or the
// upstream for a first Draft. Problems are what could not be read.
func (e *Engine) Open(ctx context.Context) (shown []*Shown, problems []error, err error) {
	plan := &Plan{}
	problems = e.openRepositories(ctx)
	sets := map[Identity]string{}
	for _, v := range e.expand(ctx, plan) {
		sets[v.Identity] = v.set
	}
	problems = append(problems, e.readHeads(ctx)...)
	list := e.decidable(Approve)
	set := fetchSet{}
	for _, v := range list {
		set.add(v.repo, v.head.Ref.Commit)
		if v.state.latest != nil {
			set.add(v.repo, v.state.latest.Ref.Commit)
		}
	}
	set.run(ctx, e.ioLimit())
	type result struct {
		shown *Shown
		err   error
	}
	results, err := parallel(ctx, e.limit(), list, func(ctx context.Context, v *Verdict) result {
		s, err := e.show(ctx, v)
		return result{s, err}
	})
	for i, r := range results {
		if r.err != nil {
			problems = append(problems, fmt.Errorf("reading %s of %s: %w", list[i].head.Ref.Name, list[i].Identity, r.err))
			continue
		}
		if r.shown != nil {
			r.shown.Set = sets[r.shown.Identity]
			shown = append(shown, r.shown)
		}
	}
	return shown, problems, err
}

func (e *Engine) show(ctx context.Context, v *Verdict) (*Shown, error) {
	s := &Shown{
		Identity: v.Identity, Name: v.head.owner[strings.LastIndex(v.head.owner, "/")+1:],
		Workspace: v.Workspace, Phase: v.From, Ref: v.head.Ref.Name, Commit: v.head.Ref.Commit.String(),
	}
	_, pkg, err := v.repo.readPackage(ctx, v.head.Ref.Commit, v.state.path)
	if err != nil {
		return nil, err
	}
	if err := v.onlyPackage(ctx); err != nil {
		s.Notes = append(s.Notes, err.Error())
	}
	if v.From == lifecycle.DeletionProposed {
		s.Base, s.BaseName = pkg, revisionName(v.Revision)
		return s, nil
	}
	s.Package = pkg
	up, folder, lock, err := e.cameFrom(v, pkg)
	switch {
	case err == nil:
		s.Upstream = up.obj.Name + "/" + strings.TrimPrefix(strings.TrimPrefix(folder, up.dir), "/")
	case path.Base(v.state.path) == depend.LockPackage:
		s.Upstream = depend.LockPackage // a lock comes from nowhere
	default:
		s.Warnings = append(s.Warnings, err.Error())
	}
	if latest := v.state.latest; latest != nil {
		s.BaseName = revisionName(latest.Number)
		_, s.Base, err = v.repo.readPackage(ctx, latest.Ref.Commit, v.state.path)
		return s, err
	}
	if up != nil {
		s.BaseName = s.Upstream + "@" + lock.Ref
		if _, s.Base, err = up.readLocked(ctx, folder, lock); err != nil {
			s.Warnings = append(s.Warnings, fmt.Sprintf("compared with nothing: %v", err))
		}
	}
	return s, nil
}

// cameFrom finds the Repository that a package's upstreamLock names, and the
// package's folder or name there.
func (e *Engine) cameFrom(v *Verdict, pkg *krm.Package) (*repository, string, *kptfilev1.GitLock, error) {
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return nil, "", nil, err
	}
	lock := mutate.Lock(k)
	if lock == nil {
		return nil, "", nil, errors.New("its Kptfile has no upstreamLock")
	}
	if r, folder := e.locked(v.Namespace, lock, nil); r != nil {
		return r, folder, lock, nil
	}
	return nil, "", nil, fmt.Errorf("its upstream %s is no registered Repository", lock.Repo)
}

// Change is a shown revision in review's terms. The variant's own names are
// aliases, so that they make no difference between variants; a name that the
// upstream has too says nothing about the variant and is none.
func (s *Shown) Change() review.Change {
	return review.Change{
		Variant: s.Identity.String(), Package: s.Upstream, Before: s.Base, After: s.Package, Version: s.Commit,
		Aliases: aliases(s.Identity, s.Name, path.Base(s.Upstream)),
	}
}

func aliases(id Identity, name, upstream string) map[string]string {
	out := map[string]string{name: "variant"}
	out[path.Base(id.Package)] = "package"
	out[id.Package] = "package"
	out[id.Repository] = "repository"
	delete(out, "")
	delete(out, upstream)
	return out
}
