package reconcile

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"

	"github.com/variform/variform/internal/cores"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/resolver"
)

// Shown is a revision that waits for a person, with what it changes.
type Shown struct {
	decide.Identity
	Name, Set string
	Workspace string
	Phase     lifecycle.Phase
	Ref       string
	Commit    string
	// Upstream is repository/package that it comes from, "" where unknown.
	Upstream string
	// Was and Now are the versions of the upstream in Base and in Package, "" where there is
	// none: of a first Draft Was is.
	Was, Now string
	// BaseName is what it is compared with: "v2", or its upstream.
	BaseName string
	// Base may be nil where it could not be read. Package is nil for a
	// proposed deletion. Both go once they were compared.
	Base, Package *krm.Package
	// Machine is Package without people's edits, nil where that is not known; First
	// says that nothing of it is Published yet.
	Machine *krm.Package
	First   bool
	// Warnings say why what is shown is not complete; Notes say what stands in
	// the way of a decision, or is to be known before one.
	Warnings, Notes []string
	// Attention is what is to be seen first, such as decide.BaseUnknown.
	Attention []string
	// Edited reports that it holds more than building it makes.
	Edited bool
	// Lost are the edits by hand that publishing it loses, Unmet the readiness gates
	// that it does not meet.
	Lost  []decide.LostEdit
	Unmet []decide.Gate
	// Findings are what Kubernetes would refuse of it, weighed.
	Findings []decide.Finding
	// Fails is why it cannot be approved as it is.
	Fails string
	// SetBack says that people took back what the revision brings again.
	SetBack bool
	// Moved tells the edits that others committed to the branch meanwhile.
	Moved string

	// Selectable is what a selection of it goes by.
	decide.Selectable
}

// Open reads every revision of this manager's that a person can decide about,
// and what each is to be compared with: the latest Published revision, or the
// upstream for a first Draft. Each is given to take with what it changes, in order and one
// at a time, and has no packages any more: a fleet of them is not kept. Sets counts the
// variants of each set, as review.Classifier wants it. Problems are what could not be read.
func (e *Engine) Open(ctx context.Context, take func(*Shown, *review.Compared)) (sets map[string]int, problems []error, err error) {
	e.read.OpenWhole = true
	s := e.read.ReadOpen(ctx)
	moved, untaken := e.takeHeads(ctx)
	if moved {
		s = e.read.ReadOpen(ctx)
	}
	s.Problems = append(s.Problems, untaken...)
	e.opened = s
	list := slices.DeleteFunc(e.decidable(s, decide.Approve), func(c *decide.Candidate) bool { return !e.mine(c.Identity) })
	e.read.FetchShown(ctx, list)
	judge(ctx, e, s, list)
	line := queue{ready: map[int]func(){}}
	failed := make([]error, len(list))
	err = cores.Each(ctx, e.limit(), len(list), func(i int) error {
		shown, changes, err := e.compared(ctx, list[i])
		line.put(i, func() {
			if failed[i] = err; shown != nil && err == nil {
				take(shown, changes)
			}
		})
		return nil
	})
	problems = s.Problems
	for i, err := range failed {
		if err != nil {
			problems = append(problems, fmt.Errorf("reading %s of %s: %w", list[i].Head.Ref.Name, list[i].Identity, err))
		}
	}
	return sizes(s.Sets), problems, err
}

// compared is a revision with what it changes, without its packages.
func (e *Engine) compared(ctx context.Context, c *decide.Candidate) (*Shown, *review.Compared, error) {
	s, err := e.show(ctx, c)
	if s == nil || err != nil {
		return nil, nil, err
	}
	if s.Now = versionOf(s.Package); !s.First {
		s.Was = versionOf(s.Base)
	}
	if c.From.Open() && c.Head.Reverts() == "" {
		before := s.Base
		if s.First {
			before = nil
		}
		s.Findings = e.builder.Validator.Check(e.read.Repo(c.Namespace, c.Repository).Repository, s.Package, before)
	}
	changes, err := review.Compare(s.change())
	s.Base, s.Package, s.Machine = nil, nil, nil
	return s, changes, err
}

// versionsOf are the versions of a change; a first revision comes from none.
func versionsOf(from, to *krm.Package, first bool) string {
	if first {
		from = nil
	}
	return review.Versions(versionOf(from), versionOf(to))
}

// versionOf is the version of the upstream that a package was made from, without the
// package's path, "" where it names none.
func versionOf(pkg *krm.Package) string {
	if pkg == nil {
		return ""
	}
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return ""
	}
	lock := mutate.Lock(k)
	if lock == nil {
		return ""
	}
	return strings.TrimPrefix(lock.Ref, strings.Trim(lock.Directory, "/")+"/")
}

// queue calls functions in the order of their places, one at a time, as they come.
type queue struct {
	mu    sync.Mutex
	next  int
	ready map[int]func()
}

func (q *queue) put(i int, f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready[i] = f
	for f := q.ready[q.next]; f != nil; f = q.ready[q.next] {
		delete(q.ready, q.next)
		q.next++
		f()
	}
}

func (e *Engine) show(ctx context.Context, c *decide.Candidate) (*Shown, error) {
	s := &Shown{
		Identity: c.Identity, Name: decide.OwnerName(c.Head.Owner), Set: c.Set,
		Workspace: c.Workspace, Phase: c.From, Ref: c.Head.Ref.Name, Commit: c.Head.Ref.Commit.String(),
		Attention: c.Head.Attention(), Selectable: c.Selectable(),
	}
	repo, folder := e.read.Repo(c.Namespace, c.Repository), c.Package.Path
	_, pkg, err := repo.ReadPackage(ctx, c.Head.Ref.Commit, folder)
	if err != nil {
		return nil, err
	}
	if err := repo.OnlyPackage(ctx, c.Head, folder); err != nil {
		s.Notes = append(s.Notes, err.Error())
	}
	if c.From == lifecycle.DeletionProposed {
		s.Base, s.BaseName = pkg, decide.RevisionName(c.Revision)
		return s, nil
	}
	s.Package = pkg
	s.Notes = append(s.Notes, review.PlainSecrets(pkg)...)
	s.Fails = c.Head.Fails(repo.LastBuild(ctx, folder, c.Head))
	k, err := mutate.Read(pkg, "")
	if err != nil {
		return nil, err
	}
	s.Unmet, s.Edited = observe.Unmet(k), len(c.Edits) > 0
	for _, before := range []string{decide.UnprovedBefore(c.Package), decide.ExemptBefore(c.Package)} {
		if before != "" {
			s.Notes = append(s.Notes, before)
		}
	}
	if err := e.origins(ctx, repo, c, s); err != nil {
		return nil, err
	}
	up, from, lock, err := e.cameFrom(ctx, c, k)
	switch {
	case err == nil:
		s.Upstream = up.Name + "/" + up.Below(from)
	case c.IsLock():
		s.Upstream = depend.LockPackage // a lock comes from nowhere
	default:
		s.Warnings = append(s.Warnings, err.Error())
	}
	if latest := c.Package.Latest; latest != nil {
		// What stands on the branch is what publishing replaces.
		at := latest.Ref.Commit
		s.BaseName = decide.RevisionName(latest.Number)
		there, err := repo.TreeAt(ctx, repo.Head, folder)
		if err != nil {
			return nil, err
		}
		if published, err := repo.TreeAt(ctx, at, folder); err != nil {
			return nil, err
		} else if there != published && !there.IsZero() {
			at, s.BaseName = repo.Head, repo.Branch
		} else if draft, err := repo.TreeAt(ctx, c.Head.Ref.Commit, folder); err != nil {
			return nil, err
		} else if there.IsZero() && draft == published { // it comes back as it was
			at, s.BaseName = decide.Hash{}, repo.Branch
		}
		if err := e.read.ReadBranch(ctx, repo, c.Package); err != nil {
			return nil, err
		}
		s.SetBack = c.Package.SetBack(c.Head)
		switch moved, err := e.moved(ctx, repo, c.Package); {
		case decide.IsStalled(err): // it is a package no more
			s.Warnings = append(s.Warnings, err.Error())
		case err != nil:
			return nil, err
		case moved != nil:
			s.Moved = moved.without(s.Lost).says()
		}
		if !at.IsZero() {
			_, s.Base, err = repo.ReadPackage(ctx, at, folder)
		}
		return s, err
	}
	there, err := repo.TreeAt(ctx, repo.Head, folder)
	if err != nil {
		return nil, err
	}
	if !there.IsZero() { // others put it there: publishing would replace it
		s.BaseName = repo.Branch
		_, s.Base, err = repo.ReadPackage(ctx, repo.Head, folder)
		return s, err
	}
	s.First = true
	if up != nil {
		s.BaseName = s.Upstream + "@" + lock.Ref
		if _, s.Base, err = up.ReadLocked(ctx, from, lock); err != nil {
			s.Warnings = append(s.Warnings, fmt.Sprintf("compared with nothing: %v", err))
		}
	}
	return s, nil
}

// origins finds what the machine made of a shown revision, and what became of
// people's edits in it.
func (e *Engine) origins(ctx context.Context, repo *observe.Repo, c *decide.Candidate, s *Shown) error {
	there, err := repo.TreeAt(ctx, c.Head.Ref.Commit, c.Package.Path)
	if err != nil {
		return err
	}
	if c.Built != nil {
		s.Machine = c.Built
	} else if m := c.Head.Machine; m != nil && m.Hydrated == there {
		s.Machine = s.Package
	} else if s.Machine, err = repo.Hydrated(ctx, c.Package.Path, c.Head); err != nil {
		return err
	}
	s.Lost, err = e.lostEdits(ctx, repo, c.Package, c.Head, nil, e.updates)
	return err
}

// cameFrom finds the Repository that a Kptfile's upstreamLock names, and the
// package's folder or name there.
func (e *Engine) cameFrom(ctx context.Context, c *decide.Candidate, k *kptfilev1.KptFile) (*observe.Repo, string, *kptfilev1.GitLock, error) {
	lock := mutate.Lock(k)
	if lock == nil {
		return nil, "", nil, errors.New("its Kptfile has no upstreamLock")
	}
	if r, folder := e.read.Locked(ctx, c.Namespace, lock, nil); r != nil {
		return r, folder, lock, nil
	}
	return nil, "", nil, fmt.Errorf("its upstream %s is no registered Repository", lock.Repo)
}

// Aliases are the variant's own names.
func (s *Shown) Aliases() map[string]string {
	return aliases(s.Identity, s.Name, path.Base(s.Upstream))
}

// change is a shown revision in review's terms. The variant's own names are
// aliases, so that they make no difference between variants; a name that the
// upstream has too says nothing about the variant and is none.
func (s *Shown) change() review.Change {
	return review.Change{
		Variant: s.Identity.String(), Namespace: s.Namespace, Set: setOf(s.Namespace, s.Set), Package: s.Upstream, Versions: review.Versions(s.Was, s.Now), Before: s.Base, After: s.Package, Machine: s.Machine, First: s.First, Version: s.Commit,
		Aliases: s.Aliases(), Attention: strings.Join(s.Attention, "; "),
		Marks: marks(s.Fails, decide.Invalid(s.Findings), s.Lost, s.SetBack, s.Moved, s.Unmet),
	}
}

// marks are what is to be known of a change besides what it changes.
func marks(fails string, invalid []string, lost []decide.LostEdit, setBack bool, moved string, unmet []decide.Gate) (out []review.Mark) {
	if fails != "" {
		line, _, _ := strings.Cut(fails, "\n")
		out = append(out, review.Mark{Kind: review.Fails, Text: line + ": it cannot be approved"})
	}
	for _, what := range invalid {
		out = append(out, review.Mark{Kind: review.Invalid, Text: decide.DoesNotValidate + what})
	}
	if len(lost) > 0 {
		out = append(out, review.Mark{Kind: review.Lost, Text: decide.Loses(lost)})
	}
	if setBack {
		out = append(out, review.Mark{Kind: review.SetBack, Text: "brings back what people took back"})
	}
	if moved != "" {
		out = append(out, review.Mark{Kind: review.Moved, Text: moved})
	}
	if len(unmet) > 0 {
		out = append(out, review.Mark{Kind: review.Unmet, Text: "gates not met: " + decide.GateTypes(unmet)})
	}
	return out
}

func aliases(id decide.Identity, name, upstream string) map[string]string {
	out := map[string]string{name: "variant"}
	out[path.Base(id.Package)] = "package"
	out[id.Package] = "package"
	out[id.Repository] = "repository"
	if path.Base(id.Package) == depend.LockPackage {
		target := path.Join(id.Repository, path.Dir(id.Package))
		for _, own := range []string{target, resolver.LockName(target), strings.TrimPrefix(path.Dir(id.Package), ".")} {
			out[own] = "target"
		}
	}
	delete(out, "")
	delete(out, upstream)
	return out
}
