package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/internal/build"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/review"
)

// Edited is what people changed in one revision of a wanted package: all that is
// other there than what the machine made.
type Edited struct {
	Variant  string `json:"variant"`
	Name     string `json:"name"`
	Revision string `json:"revision"` // "main" (the registered branch), or an open revision's workspace
	Commit   string `json:"commit"`
	// By is who committed there last by hand, with the commit, "" where none did
	// since the machine's own.
	By    string        `json:"by,omitempty"`
	Edits []review.Edit `json:"edits"`
	// Lost are the edits that an update lost or overruled, where those were asked
	// for: Commit is the update's then.
	Lost []string `json:"lost,omitempty"`
	// Unknown is why the edits cannot be told apart from what the machine made.
	Unknown string `json:"unknown,omitempty"`

	id decide.Identity
	// newest says that a Draft without one of its edits would be made from it.
	newest bool
}

// errNoBase says that no commit and no record tells what the machine made.
var errNoBase = errors.New("it was adopted, or made by an older version: what the machine made of it is not known until its next update")

// Edits lists people's edits in what stands on the registered branch and in open
// revisions of this manager's packages, those that names mean or all, in order.
// Revisions without an edit are left out. Problems are what could not be read. Drafts that
// this machine knows nothing of are built, for what their commits claim proves nothing.
func (e *Engine) Edits(ctx context.Context, names []string) (out []*Edited, problems []error, err error) {
	made := map[decide.Hash]*krm.Package{}
	fetch := func(ctx context.Context, s *observe.Snapshot, wants []*decide.Want) {
		e.read.FetchEdits(ctx, wants)
		chosen := byIdentity(wants)
		list := slices.DeleteFunc(e.decidable(s, decide.Approve), func(c *decide.Candidate) bool { return chosen[c.Identity] == nil })
		judge(ctx, e, s, list)
		for _, c := range list {
			if c.Built != nil {
				made[c.Head.Ref.Commit] = c.Built
			}
		}
	}
	return e.eachEdited(ctx, names, fetch, func(ctx context.Context, w *decide.Want) ([]*Edited, error) { return e.edited(ctx, w, made) })
}

// LostEdits lists the edits that updates lost or overruled, by what their commits
// say: those of open revisions and of what was published last, the newest first.
func (e *Engine) LostEdits(ctx context.Context, names []string) (out []*Edited, problems []error, err error) {
	return e.eachEdited(ctx, names, func(context.Context, *observe.Snapshot, []*decide.Want) {}, e.lost)
}

// PlanWithout is Plan for the packages that names mean and that have edits by hand
// of these names (review.Called), or any without names, in their newest open revision,
// or, where they have none, on the registered branch: without those edits. The error says that
// nothing was planned.
func (e *Engine) PlanWithout(ctx context.Context, names, edits []string) (*Plan, error) {
	list, problems, err := e.Edits(ctx, names)
	if err == nil {
		e.cfg.drop, err = dropped(list, edits)
	}
	if err != nil {
		return nil, errors.Join(append([]error{err}, problems...)...)
	}
	e.cfg.Only = decide.Selection{}
	for id := range e.cfg.drop {
		e.cfg.Only.Names = append(e.cfg.Only.Names, id.String())
	}
	return e.Plan(ctx)
}

// PlanKeeping is Plan for the packages that names mean, with what people wrote on the
// registered branch wherever an open Draft, or the next one, would replace it.
func PlanKeeping(ctx context.Context, e *Engine, names []string) (*Plan, error) {
	e.cfg.keep, e.cfg.Only = names, decide.Selection{Names: names}
	return e.Plan(ctx)
}

// dropped are the edits that names mean, all without names, by package.
func dropped(list []*Edited, names []string) (map[decide.Identity][]string, error) {
	out := map[decide.Identity][]string{}
	var without, refused []error
	for _, of := range list {
		if !of.newest {
			continue
		}
		err := error(nil)
		if of.Unknown != "" {
			err = errors.New(of.Unknown)
		}
		for _, name := range names {
			if err == nil {
				_, err = review.Called(of.Edits, name)
			}
		}
		switch {
		case err == nil && len(names) > 0:
			out[of.id] = names
			continue
		case err == nil:
			for _, edit := range of.Edits {
				out[of.id] = append(out[of.id], edit.Name())
			}
			continue
		case errors.Is(err, review.ErrNoEdit):
			without = append(without, fmt.Errorf("%s %s: %w", of.Variant, of.Revision, err))
		default:
			refused = append(refused, fmt.Errorf("%s %s: %w", of.Variant, of.Revision, err))
		}
	}
	switch {
	case len(refused) > 0:
		return nil, errors.Join(refused...)
	case len(out) > 0:
		return out, nil
	case len(without) == 0:
		return nil, errors.New("nobody edited by hand what is open of these packages, or, where nothing is, stands on the branch")
	}
	return nil, errors.Join(without...)
}

// eachEdited calls f for each package that names mean, once all that it asks for was fetched.
func (e *Engine) eachEdited(ctx context.Context, names []string, fetch func(context.Context, *observe.Snapshot, []*decide.Want), f func(context.Context, *decide.Want) ([]*Edited, error)) (out []*Edited, problems []error, err error) {
	s := e.read.Read(ctx) // what targets need among it
	problems = s.Problems
	wants := s.Wants
	if len(names) > 0 {
		if wants, err = called(wants, names); err != nil {
			return nil, problems, err
		}
	}
	fetch(ctx, s, wants)
	type result struct {
		*decide.Want
		list []*Edited
		err  error
	}
	results := make([]*result, len(wants))
	for i, w := range wants {
		results[i] = &result{Want: w}
	}
	of := func(r *result) *observe.Repo { return e.read.RepoOf(r.Want) }
	err = observe.SideBySide(ctx, e.read, results, of, func(ctx context.Context, r *result) error {
		r.list, r.err = f(ctx, r.Want)
		return nil
	})
	for _, r := range results {
		if r.err != nil {
			problems = append(problems, fmt.Errorf("reading %s: %w", r.Identity, r.err))
		}
		out = append(out, r.list...)
	}
	return out, problems, err
}

// maxUpdates is how far the history of a revision is asked for lost edits.
const maxUpdates = 50

// lost is LostEdits of one package.
func (e *Engine) lost(ctx context.Context, w *decide.Want) (out []*Edited, err error) {
	repo, err := e.read.Downstream(w.Namespace, w.Repository)
	if err != nil || w.Lock() != nil {
		return nil, err
	}
	p, seen := repo.Package(repo.Path(w.Package)), map[gitrepo.Hash]bool{}
	for _, h := range p.Revisions {
		if !e.manager.Signed(h.Owner, w.Namespace) {
			continue
		}
		tips := []gitrepo.Hash{gitrepo.Hash(h.Ref.Commit)}
		for _, parent := range h.Parents { // of a merge, the Draft
			tips = append(tips, gitrepo.Hash(parent))
		}
		err := eachUpdate(ctx, repo, p.Path, tips, gitrepo.Hash{}, func(c *gitrepo.Commit) {
			if list := build.Lost(c.Message); !seen[c.Hash] && len(list) > 0 {
				name := cmp.Or(decide.RevisionName(h.Number), h.Workspace)
				out = append(out, &Edited{id: w.Identity, Variant: w.Identity.String(), Name: w.Name, Revision: name, Commit: c.Hash.String(), Lost: list})
			}
			seen[c.Hash] = true
		})
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// eachUpdate calls f for the machine's commits of a package behind tips, the newest
// first, until one.
func eachUpdate(ctx context.Context, repo *observe.Repo, path string, tips []gitrepo.Hash, until gitrepo.Hash, f func(*gitrepo.Commit)) error {
	_, err := repo.Git.FindAncestors(ctx, tips, maxUpdates, func(_ int, c *gitrepo.Commit) bool {
		if c.Hash == until {
			return true
		}
		if c.Committer.Email == observe.MachineEmail && slices.ContainsFunc(c.Annotations, func(a gitrepo.Annotation) bool { return a.Package == path }) {
			f(c)
		}
		return false
	})
	return err
}

// edited is Edits of one package; made is what the machine makes of revisions that claim
// something else, by their commits.
func (e *Engine) edited(ctx context.Context, w *decide.Want, made map[decide.Hash]*krm.Package) (out []*Edited, err error) {
	repo, err := e.read.Downstream(w.Namespace, w.Repository)
	if err != nil || w.Lock() != nil {
		return nil, err
	}
	p := repo.Package(repo.Path(w.Package))
	for _, h := range p.Revisions {
		if !e.manager.Signed(h.Owner, w.Namespace) {
			continue
		}
		base := made[h.Ref.Commit]
		if unedited, err := repo.Unedited(ctx, p, h); err != nil {
			return nil, err
		} else if unedited && base == nil {
			continue
		}
		of := &Edited{
			id: w.Identity, newest: h == p.Open() || p.Open() == nil && h.Number > 0,
			Variant: w.Identity.String(), Name: w.Name, Revision: h.Workspace, Commit: h.Ref.Commit.String(),
		}
		from, at, came := h, h.Ref.Commit, h.Ref.Commit
		if h.Number > 0 {
			if err := e.read.ReadBranch(ctx, repo, p); err != nil {
				return nil, err
			}
			of.Revision = repo.Branch
			if b := p.Branch; b != nil {
				if b.Tree.IsZero() {
					continue // deleted there
				}
				of.Commit, of.By, at, came = repo.Head.String(), b.By, repo.Head, repo.Head
				if !b.Came.IsZero() {
					came = b.Came
				}
				if b.Reverted != nil {
					from = b.Reverted
				}
			}
		} else if of.By, err = repo.Editor(ctx, h); err != nil {
			return nil, err
		}
		if err := e.compare(ctx, repo, p.Path, base, from, at, came, of); err != nil {
			return nil, err
		}
		if len(of.Edits) > 0 || of.Unknown != "" {
			out = append(out, of)
		}
	}
	if at := slices.IndexFunc(out, func(of *Edited) bool { return of.Revision == repo.Branch }); at >= 0 {
		for _, of := range out {
			of.carried(out[at].Edits)
		}
	}
	return out, nil
}

// carried names the writers of edits that the machine carried over from the registered
// branch: what stands there beside a Draft is in none of the Draft's parents.
func (of *Edited) carried(branch []review.Edit) {
	for i := range of.Edits {
		e := &of.Edits[i]
		if e.By != "" {
			continue
		}
		same := func(o review.Edit) bool {
			return o.File == e.File && o.Resource == e.Resource && o.Field == e.Field && o.Op == e.Op && o.After == e.After && o.Digest == e.Digest
		}
		if at := slices.IndexFunc(branch, same); at >= 0 {
			e.By = branch[at].By
		}
	}
}

// sayEdits adds to what items say the edits that they lose, the edits by hand of what is
// open, or, where nothing is, stands on the registered branch, and of what others
// committed there. Where packages are built, it is only of what others committed.
func (r *run) sayEdits(ctx context.Context, items []*Item) error {
	var todo []*Item
	var wants []*decide.Want
	seen := map[*decide.Want]bool{}
	first := map[*Item]bool{} // of its package
	for _, i := range items {
		s := r.subjects[i.want]
		if s == nil || s.pkg == nil || s.want.Lock() != nil || i.Err != nil {
			continue
		}
		told := !seen[i.want] && (!r.building || (i.Action.Pending() || len(i.Reasons) > 0) && s.pkg.Branch.Moved())
		seen[i.want] = true
		loses := i.mayLose(s.pkg)
		if !told && !loses {
			continue
		}
		todo, first[i] = append(todo, i), told
		if edited, err := r.tellsEdits(ctx, s); loses && !r.building || err == nil && edited {
			wants = append(wants, i.want)
		}
	}
	r.read.FetchEdits(ctx, wants)
	of := func(i *Item) *observe.Repo { return r.subjects[i.want].repo }
	return observe.SideBySide(ctx, r.read, todo, of, func(ctx context.Context, i *Item) error {
		err := r.sayLost(ctx, i)
		var said []string
		if err == nil && first[i] {
			said, err = r.said(ctx, r.subjects[i.want], i.Lost)
		}
		switch loses := decide.Loses(i.Lost); {
		case err == nil:
			if loses != "" { // before all else: a table is cut
				said, i.Reasons = append(said, i.Reasons...), []string{loses}
			}
			i.Told = i.Told || len(said) > 0 || loses != ""
			i.Reasons = append(i.Reasons[:len(i.Reasons):len(i.Reasons)], said...)
		case !r.building: // else building it told
			i.fail(err)
		}
		return nil
	})
}

// said are the lines of sayEdits about one package, without the edits that are lost.
func (r *run) said(ctx context.Context, s *subject, lost []decide.LostEdit) (out []string, err error) {
	moved, err := r.moved(ctx, s.repo, s.pkg)
	if kept := moved.without(lost); kept != nil {
		out = append(out, kept.says())
	}
	if err != nil || moved != nil && s.pkg.Open() == nil {
		return out, err
	}
	if edited, err := r.tellsEdits(ctx, s); err != nil || !edited {
		return out, err
	}
	list, err := r.edited(ctx, s.want, nil)
	for _, of := range list {
		if of.newest && len(of.Edits) > 0 {
			out = append(out, of.says())
		}
	}
	return out, err
}

// tellsEdits says that the edits by hand of a package are to be told: of what is open, or,
// where nothing is, of what was Published.
func (r *run) tellsEdits(ctx context.Context, s *subject) (bool, error) {
	if r.building {
		return false, nil
	}
	open := s.pkg.Open()
	if open == nil {
		return s.pkg.PublishedEdited(), nil
	}
	if open.Machine == nil || open.Machine.Hydrated.IsZero() {
		return false, nil
	}
	unedited, err := s.repo.Unedited(ctx, s.pkg, open)
	return err == nil && !unedited, err
}

// moved are the edits that others committed to a package on the registered branch
// since its latest Published revision; nil where there are none.
func (e *Engine) moved(ctx context.Context, repo *observe.Repo, p *decide.Package) (*Edited, error) {
	if !p.Branch.Moved() || p.Latest == nil {
		return nil, nil
	}
	_, there, err := repo.ReadPackage(ctx, repo.Head, p.Path)
	if err != nil {
		return nil, err
	}
	_, base, err := repo.ReadPackage(ctx, p.Latest.Ref.Commit, p.Path)
	if err != nil {
		return nil, err
	}
	if _, err := mutate.Read(there, ""); err != nil && base.Kptfile("") != nil {
		return nil, decide.Stall(fmt.Errorf("package %s at branch %s: %w", p.Path, repo.Branch, err))
	}
	of := &Edited{Revision: repo.Branch + " since " + decide.RevisionName(p.Latest.Number)}
	if of.Edits, err = review.Edits(base, there); err != nil || len(of.Edits) == 0 {
		return nil, err
	}
	return of, repo.FindWriters(ctx, p.Path, cmp.Or(p.Branch.Came, repo.Head), base, of.Edits)
}

// without is what is left where some edits are lost, nil for nothing.
func (of *Edited) without(lost []decide.LostEdit) *Edited {
	if of == nil || len(lost) == 0 {
		return of
	}
	left := *of
	left.Edits = slices.DeleteFunc(slices.Clone(of.Edits), func(e review.Edit) bool {
		return slices.ContainsFunc(lost, func(l decide.LostEdit) bool { return l.File == e.File && l.ID() == e.ID && l.Field == e.Field })
	})
	if len(left.Edits) == 0 {
		return nil
	}
	return &left
}

// says names the edits in one line, "" for none.
func (of *Edited) says() string {
	if of == nil {
		return ""
	}
	var list []string
	for _, e := range of.Edits {
		text := e.String()
		if e.By != "" {
			text += " by " + review.Visible(e.By)
		}
		list = append(list, text)
	}
	return fmt.Sprintf("%s by hand on %s: %s", count.Of(len(list), "edit"), of.Revision, strings.Join(decide.Limit(list, 3), ", "))
}

// compare finds the edits at a commit of a package that was made from a revision; base is
// what the machine makes of it, nil where that is what the revision's commit says.
func (e *Engine) compare(ctx context.Context, repo *observe.Repo, path string, base *krm.Package, from *decide.Revision, at, came decide.Hash, of *Edited) error {
	_, there, err := repo.ReadPackage(ctx, at, path)
	if err == nil && base == nil {
		base, err = repo.Hydrated(ctx, path, from)
	}
	switch {
	case err != nil:
		return err
	case base == nil:
		of.Unknown = errNoBase.Error()
		return nil
	}
	if of.Edits, err = review.Edits(base, there); err != nil {
		return err
	}
	return repo.FindWriters(ctx, path, came, base, of.Edits)
}
