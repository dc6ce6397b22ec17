package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	configv1alpha1 "github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/api/variform/v1alpha1"
	"github.com/variform/variform/internal/count"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/forge"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/source"
)

// Forge is what is asked of the forge of one repository.
type Forge interface {
	// Requests lists those to a branch: all that are open, and the latest of the
	// closed ones.
	Requests(ctx context.Context, base string) ([]pulls.Open, error)
	// Open gives the open one that is there already, where it is: pulls.ErrNothing says
	// that the branch has nothing to merge.
	Open(ctx context.Context, base, branch string, c pulls.Content) (pulls.Open, error)
	Update(ctx context.Context, o pulls.Open, title, body string) error
	Close(ctx context.Context, number int, body, why string) error
	// Status sets a check of a commit, where it does not say that already.
	Status(ctx context.Context, commit string, s pulls.Status) error
}

// PullRequests says which pull requests are to be made.
type PullRequests struct {
	// Mode is that of Repositories whose annotation variform.dev/review says none; ""
	// leaves these alone. Given says that a person asked for it: one that says another
	// is refused, since apply would change its requests back.
	Mode      pulls.Mode
	Given     bool
	Selection decide.Selection
	// Asked says that a person asked for what is selected: names that mean nothing are
	// an error, and a request for what is named is opened again though it was closed.
	Asked bool
	// Fleet has what requests are opened with, in annotations; nil has nothing.
	Fleet *source.Fleet
	// Forge reaches that of a Repository by its address and its annotation.
	Forge func(address, annotation string) (Forge, error)
	// Concurrency bounds how many repositories are worked on at once.
	Concurrency int
}

// Pulled is what became of one pull request.
type Pulled struct {
	Repository string
	pulls.Step
	URL string
	Err error
}

// drafts are those of one branch of a Git repository, under the first Repository
// that shows it.
type drafts struct {
	repo  *observe.Repo
	mode  pulls.Mode
	err   error
	list  []pulls.Draft
	whole bool // none of the repository's is left out
	named map[string]bool
	// others are the packages of Drafts that were left out.
	others map[string]bool
	// left are Drafts that nobody can approve, and no request asks for.
	left []Pulled
	// changes are those of each request, by the head that it would have.
	changes map[string]*review.Classifier
	// rules are those of the code's owners, once they were read.
	rules *forge.Owners
	ruled bool
}

// Kept says that a fleet has Repositories whose requests apply keeps.
func Kept(f *source.Fleet) bool {
	return slices.ContainsFunc(f.Repositories, func(r *configv1alpha1.Repository) bool { return r.Annotations[v1alpha1.ReviewAnnotation] != "" })
}

// mode is how the Drafts of a Repository are put together, "" for not at all.
func (o *PullRequests) mode(repo *observe.Repo) (pulls.Mode, error) {
	says := pulls.Mode(repo.Annotations[v1alpha1.ReviewAnnotation])
	if says != "" && o.Given && says != o.Mode {
		return "", fmt.Errorf("its Repository says %s: %s, and apply would make its requests so again: leave the mode out, or write it there", v1alpha1.ReviewAnnotation, says)
	}
	return cmp.Or(says, o.Mode), nil
}

// places are the branches that Drafts go to, each once.
type places struct {
	PullRequests
	openings
	by map[string]*drafts
}

// at is the place of a Repository, nil where there are to be no requests.
func (p *places) at(repo *observe.Repo) *drafts {
	mode, err := p.mode(repo)
	if mode == "" && err == nil {
		return nil
	}
	at := repo.Git.URL() + "#" + repo.Branch
	d := p.by[at]
	if d == nil {
		d = &drafts{repo: repo, mode: mode, err: err, whole: true, named: map[string]bool{}, others: map[string]bool{}, changes: map[string]*review.Classifier{}}
		p.by[at] = d
	}
	if d.mode != mode && d.err == nil {
		d.err = cmp.Or(err, fmt.Errorf("Repositories %s and %s are one branch, and are to be reviewed by %s and by %s: give both the same %s", d.repo.Name, repo.Name, d.mode, mode, v1alpha1.ReviewAnnotation))
	}
	return d
}

// Propose brings the forges' pull requests in line with what is open: Drafts of the
// selection, all of a repository or those that it means. Problems are what could not
// be read.
func Propose(ctx context.Context, e *reconcile.Engine, o PullRequests) (list []Pulled, problems []error, err error) {
	p := places{o, openingsOf(o.Fleet), map[string]*drafts{}}
	s, err := show(ctx, e, func(name string, r *reconcile.Shown, changes *review.Compared) {
		if r.Phase != lifecycle.Draft {
			return
		}
		repo := e.Downstream(r.Identity.Namespace, r.Identity.Repository)
		if d := p.at(repo); d != nil {
			d.add(ctx, &p, string(e.Manager()), name, repo, r, changes)
		}
	})
	if err != nil {
		return nil, nil, err
	}
	if _, missing := s.members(o.Selection); o.Asked && len(missing) > 0 {
		return nil, s.Problems, fmt.Errorf("nothing that is open is called %s: %w", strings.Join(missing, ", "), ErrUnknown)
	}
	if o.Selection.All() { // where nothing waits any more, requests may
		for _, repo := range e.Repositories() {
			if says := repo.Annotations[forge.Annotation]; says != "" || repo.Deployment && forge.Known(repo.Address, says) {
				p.at(repo)
			}
		}
	}
	var all []*drafts
	for _, key := range slices.Sorted(maps.Keys(p.by)) {
		p.by[key].whole = p.by[key].whole && len(s.Problems) == 0 // what could not be read may wait
		all = append(all, p.by[key])
	}
	results, err := observe.Parallel(ctx, cmp.Or(o.Concurrency, 8), all, func(ctx context.Context, d *drafts) []Pulled {
		return append(d.left, s.pull(ctx, e, o, d)...)
	})
	return slices.Concat(results...), s.Problems, err
}

// add takes a Draft in.
func (d *drafts) add(ctx context.Context, p *places, manager, name string, repo *observe.Repo, r *reconcile.Shown, changes *review.Compared) {
	if chosen, _ := decide.Meant(p.Selection, []string{name}, func(string) decide.Selectable { return named(name, r) }); len(chosen) == 0 {
		d.whole, d.others[repo.Path(r.Identity.Package)] = false, true
		return
	}
	if r.Fails != "" { // a request that has it stays as it is
		why, _, _ := strings.Cut(r.Fails, "\n")
		d.whole = false
		d.left = append(d.left, Pulled{Repository: repo.Name, Step: pulls.Step{
			Action: pulls.ActionKeep, Request: &pulls.Request{Title: name, Drafts: []pulls.Draft{{Name: name}}}, Why: why,
		}})
		return
	}
	draft := pulls.Draft{Name: name, Path: repo.Path(r.Identity.Package), Branch: strings.TrimPrefix(r.Ref, lifecycle.BranchRef("")), Commit: r.Commit, Class: changes.Key(), Opening: p.of(repo, r)}
	if d.mode == pulls.ByClass {
		draft.Owners = d.owners(ctx, draft.Path)
	}
	head := pulls.Head(d.mode, manager, draft)
	if d.changes[head] == nil {
		d.changes[head] = &review.Classifier{}
	}
	d.changes[head].Add(name, changes)
	d.named[name] = p.Asked && len(p.Selection.Names) > 0
	d.list = append(d.list, draft)
}

// pull works on one repository.
func (s *Shown) pull(ctx context.Context, e *reconcile.Engine, o PullRequests, d *drafts) []Pulled {
	failed := func(err error) []Pulled { return []Pulled{{Repository: d.repo.Name, Err: err}} }
	if d.err != nil {
		return failed(d.err)
	}
	f, err := o.Forge(d.repo.Address, d.repo.Annotations[forge.Annotation])
	if err != nil {
		return failed(err)
	}
	if d.repo.Head.IsZero() {
		return failed(fmt.Errorf("branch %s has no commit yet: a pull request needs one to go to", d.repo.Branch))
	}
	there, err := f.Requests(ctx, d.repo.Branch)
	if err != nil {
		return failed(err)
	}
	wanted, err := s.requests(string(e.Manager()), d)
	if err != nil {
		return failed(err)
	}
	tips := map[string]string{}
	for _, r := range d.repo.Git.Refs().All() {
		if branch, ok := strings.CutPrefix(r.Name, lifecycle.BranchRef("")); ok {
			tips[branch] = r.Commit.String()
		}
	}
	var unread error
	terms := pulls.Terms{
		Manager: string(e.Manager()), Whole: d.whole,
		Asked:  func(p pulls.Draft) bool { return d.named[p.Name] },
		Others: func(path string) bool { return d.others[path] },
		Theirs: func(branch, _ string) string {
			tip := decide.ParseHash(tips[branch])
			if tip.IsZero() {
				return ""
			}
			edited, err := e.EditedHead(ctx, d.repo, tip)
			if err != nil {
				unread = errors.Join(unread, err)
				return ""
			}
			return edited.By()
		},
	}
	steps := pulls.Plan(terms, wanted, there)
	unused := pulls.Unused(terms, steps, tips)
	if unread != nil {
		return failed(unread)
	}
	var heads []*publish.Head
	for i := range steps {
		if s := &steps[i]; s.Build {
			heads = append(heads, head(s.Request, tips))
		}
	}
	if err := e.PushHeads(ctx, d.repo, heads); err != nil {
		return failed(fmt.Errorf("the branches of pull requests: %w", err))
	}
	out := make([]Pulled, len(steps))
	for i, step := range steps {
		out[i] = carryOut(ctx, f, d.repo, step)
	}
	heads = nil
	for _, branch := range unused {
		heads = append(heads, &publish.Head{Ref: lifecycle.BranchRef(branch), Old: decide.ParseHash(tips[branch])})
	}
	if err := e.PushHeads(ctx, d.repo, heads); err != nil {
		return append(out, failed(fmt.Errorf("removing branches of requests that are closed: %w", err))...)
	}
	return out
}

func carryOut(ctx context.Context, f Forge, repo *observe.Repo, step pulls.Step) Pulled {
	out := Pulled{Repository: repo.Name, Step: step}
	if step.Open != nil {
		out.URL = step.Open.URL
	}
	switch step.Action {
	case pulls.ActionOpen:
		var made pulls.Open
		if made, out.Err = f.Open(ctx, repo.Branch, step.Request.Branch, pulls.Content{Title: step.Title, Body: step.Body, Opening: step.Request.Opening}); made.Number > 0 {
			out.Open, out.URL = &made, made.URL
		}
		if errors.Is(out.Err, pulls.ErrNothing) { // it was merged meanwhile
			out.Action, out.Why, out.Err = pulls.ActionNone, out.Err.Error(), nil
		}
	case pulls.ActionUpdate:
		if step.Body != step.Open.Body || step.Title != step.Open.Title {
			out.Err = f.Update(ctx, *step.Open, step.Title, step.Body)
		}
	case pulls.ActionClose:
		out.Err = f.Close(ctx, step.Open.Number, step.Body, "Variform closes this: "+step.Why+".")
	}
	return out
}

func head(r *pulls.Request, tips map[string]string) *publish.Head {
	h := &publish.Head{Ref: lifecycle.BranchRef(r.Branch), Old: decide.ParseHash(tips[r.Branch])}
	for _, d := range r.Drafts {
		h.Drafts = append(h.Drafts, publish.HeadDraft{Path: d.Path, Commit: decide.ParseHash(d.Commit)})
	}
	h.Message = publish.HeadMessage(r.Title, h.Drafts)
	return h
}

// requests are the wanted ones, with what each says: its Drafts' change as a review
// shows it.
func (s *Shown) requests(manager string, d *drafts) ([]pulls.Request, error) {
	texts, says := map[string]string{}, map[string]string{}
	for head, changes := range d.changes {
		report, err := changes.Report()
		if err != nil {
			return nil, err
		}
		n := 0
		for _, c := range report.Classes {
			for _, m := range c.Members {
				says[m] = c.Says
				n++
			}
		}
		const footer = 1000
		texts[head] = review.Markdown(&review.Digest{Command: "review", Summary: report.Summary, Changes: report, Findings: s.Findings(report.Classes)}, review.MarkdownLimit-footer-200*n) +
			fmt.Sprintf("\nMerging this publishes %s, in any style; the next `variform apply` tags what was merged. Closing it turns the change down until it becomes another.", count.Of(n, "package"))
	}
	var list []pulls.Draft
	for _, draft := range d.list {
		if draft.Says = says[draft.Name]; draft.Says != "" { // else it changes nothing
			list = append(list, draft)
		}
	}
	wanted := pulls.Group(d.mode, manager, list)
	for i := range wanted {
		wanted[i].Text = texts[wanted[i].Branch]
	}
	return wanted, nil
}
