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
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
	"github.com/variform/variform/internal/publish"
	"github.com/variform/variform/internal/pulls"
	"github.com/variform/variform/internal/reconcile"
	"github.com/variform/variform/internal/review"
	"github.com/variform/variform/internal/source"
)

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
	Forge func(address, annotation string) (pulls.Forge, error)
	// MaxWrites bounds what the run writes: requests to forges, and pushes of heads. 0 is
	// no bound.
	MaxWrites int
	// Page is the address of a page that checks lead to, "" for none.
	Page string
	// Concurrency bounds how many repositories are worked on at once, 0 is one.
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
	// ids are the revisions of names; fails are why Drafts fail, by their packages.
	ids   map[string]decide.RevisionID
	fails map[string]string

	wanted []pulls.Request
	forge  pulls.Forge
	terms  pulls.Terms
	tips   map[string]string // of branches
	steps  []pulls.Step
	unused []string // branches that are to go
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
		d = &drafts{repo: repo, mode: mode, err: err, whole: true, named: map[string]bool{}, others: map[string]bool{}, ids: map[string]decide.RevisionID{}, fails: map[string]string{}, changes: map[string]*review.Classifier{}}
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
	for _, d := range all {
		if d.err == nil {
			d.wanted, d.err = s.requests(string(e.Manager()), d)
		}
	}
	if err := prove(ctx, e, all, o.Page); err != nil {
		return nil, s.Problems, err
	}
	each := func(f func(context.Context, *drafts) []Pulled) ([]Pulled, error) {
		results, err := observe.Parallel(ctx, cmp.Or(o.Concurrency, 1), all, f)
		return slices.Concat(results...), err
	}
	if _, err := each(func(ctx context.Context, d *drafts) []Pulled {
		if d.err == nil {
			d.err = d.plan(ctx, e, o)
		}
		return nil
	}); err != nil {
		return nil, s.Problems, err
	}
	steps := make([][]pulls.Step, len(all))
	for i, d := range all {
		steps[i] = d.steps
	}
	rest := pulls.Allot(o.MaxWrites, steps)
	for _, d := range all { // what nothing asks for any more goes last
		if o.MaxWrites > 0 && len(d.unused) > 0 {
			if rest--; rest < 0 {
				d.unused = nil
			}
		}
	}
	list, err = each(func(ctx context.Context, d *drafts) []Pulled { return append(d.left, d.carryOut(ctx, e)...) })
	return list, s.Problems, err
}

// prove finds out what approve would say of each request.
func prove(ctx context.Context, e *reconcile.Engine, all []*drafts, page string) error {
	var groups [][]decide.RevisionID
	for _, d := range all {
		for _, r := range d.wanted {
			var group []decide.RevisionID
			for _, draft := range r.Drafts {
				group = append(group, d.ids[draft.Name])
			}
			groups = append(groups, group)
		}
	}
	refused, err := e.Check(ctx, groups)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, d := range all {
		for i := range d.wanted {
			r := &d.wanted[i]
			var verdicts []pulls.Verdict
			for _, draft := range r.Drafts {
				no := cmp.Or(refused[d.ids[draft.Name]], err)
				v := pulls.Verdict{Name: draft.Name, Behind: decide.IsBehind(no), Loses: draft.Loses}
				if no != nil {
					v.Refused, _, _ = strings.Cut(no.Error(), "\n")
				}
				verdicts = append(verdicts, v)
			}
			r.Proof = pulls.Proof(verdicts, page)
		}
	}
	return nil
}

// add takes a Draft in.
func (d *drafts) add(ctx context.Context, p *places, manager, name string, repo *observe.Repo, r *reconcile.Shown, changes *review.Compared) {
	if !p.Selection.Means(named(name, r)) {
		d.whole, d.others[repo.Path(r.Identity.Package)] = false, true
		return
	}
	if r.Fails != "" { // a request that has it stays as it is
		why, _, _ := strings.Cut(r.Fails, "\n")
		d.whole, d.fails[repo.Path(r.Identity.Package)] = false, why
		d.left = append(d.left, Pulled{Repository: repo.Name, Step: pulls.Step{
			Action: pulls.ActionKeep, Request: &pulls.Request{Title: name, Drafts: []pulls.Draft{{Name: name}}}, Why: why,
		}})
		return
	}
	draft := pulls.Draft{Name: name, Path: repo.Path(r.Identity.Package), Branch: strings.TrimPrefix(r.Ref, lifecycle.BranchRef("")), Commit: r.Commit, Class: changes.Key(), Package: r.Upstream[strings.LastIndexByte(r.Upstream, '/')+1:], Was: r.Was, Now: r.Now, Loses: decide.Loses(r.Lost), Edited: r.Edited, Opening: p.of(repo, r)}
	if d.mode == pulls.ByClass {
		draft.Owners = d.owners(ctx, draft.Path)
	}
	head := pulls.Head(d.mode, manager, draft)
	if d.changes[head] == nil {
		d.changes[head] = &review.Classifier{}
	}
	d.changes[head].Add(name, changes)
	d.ids[name] = decide.RevisionID{Identity: r.Identity, Workspace: r.Workspace}
	d.named[name] = p.Asked && len(p.Selection.Names) > 0
	d.list = append(d.list, draft)
}

// plan reads what the forge has, and finds out what is to be done.
func (d *drafts) plan(ctx context.Context, e *reconcile.Engine, o PullRequests) (err error) {
	if d.forge, err = o.Forge(d.repo.Address, d.repo.Annotations[forge.Annotation]); err != nil {
		return err
	}
	if d.repo.Head.IsZero() {
		return fmt.Errorf("branch %s has no commit yet: a pull request needs one to go to", d.repo.Branch)
	}
	there, err := d.forge.Requests(ctx, d.repo.Branch)
	if err != nil {
		return err
	}
	d.tips = tips(d.repo)
	var unread error
	d.terms = pulls.Terms{
		Manager: string(e.Manager()), Whole: d.whole,
		Asked:  func(p pulls.Draft) bool { return d.named[p.Name] },
		Others: func(path string) bool { return d.others[path] },
		Fails:  func(path string) string { return d.fails[path] },
		Tip:    func(branch string) string { return d.tips[branch] },
		Theirs: func(branch, _ string) string {
			tip := decide.ParseHash(d.tips[branch])
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
		Astray: func(r *pulls.Request) bool {
			is, err := reconcile.IsHead(ctx, e, d.repo, head(r, d.tips))
			unread = errors.Join(unread, err)
			return err == nil && !is
		},
	}
	d.steps = pulls.Plan(d.terms, slices.Clone(d.wanted), there)
	if slices.ContainsFunc(d.steps, func(s pulls.Step) bool { return s.Action == pulls.ActionOpen }) { // was one of them turned down long ago?
		older, err := d.forge.Older(ctx, d.repo.Branch)
		if err != nil {
			return err
		}
		d.steps = pulls.Plan(d.terms, d.wanted, append(there, older...))
	}
	d.unused = pulls.Unused(d.terms, d.steps, d.tips)
	return unread
}

// tips are a repository's branches.
func tips(repo *observe.Repo) map[string]string {
	out := map[string]string{}
	for _, r := range repo.Git.Refs().All() {
		if branch, ok := strings.CutPrefix(r.Name, lifecycle.BranchRef("")); ok {
			out[branch] = r.Commit.String()
		}
	}
	return out
}

// carryOut does what was planned.
func (d *drafts) carryOut(ctx context.Context, e *reconcile.Engine) []Pulled {
	failed := func(err error) []Pulled { return []Pulled{{Repository: d.repo.Name, Err: err}} }
	if d.err != nil {
		return failed(d.err)
	}
	built := map[*pulls.Step]*publish.Head{}
	var heads []*publish.Head
	for i := range d.steps {
		if s := &d.steps[i]; s.Build {
			built[s] = head(s.Request, d.tips)
			heads = append(heads, built[s])
		}
	}
	if err := d.push(ctx, e, heads); err != nil {
		return failed(fmt.Errorf("the branches of pull requests: %w", err))
	}
	out := make([]Pulled, len(d.steps))
	for i := range d.steps {
		s := &d.steps[i]
		if h := built[s]; h != nil {
			s.At(d.terms, h.Commit.String())
		}
		out[i] = d.step(ctx, s)
	}
	heads = nil
	for _, branch := range d.unused {
		heads = append(heads, &publish.Head{Ref: lifecycle.BranchRef(branch), Old: decide.ParseHash(d.tips[branch])})
	}
	if err := d.push(ctx, e, heads); err != nil {
		return append(out, failed(fmt.Errorf("removing branches of requests that are closed: %w", err))...)
	}
	return out
}

// push moves heads. What another run did meanwhile is done: of the same Drafts it
// makes the same heads.
func (d *drafts) push(ctx context.Context, e *reconcile.Engine, heads []*publish.Head) error {
	err := e.PushHeads(ctx, d.repo, heads)
	if err == nil || !errors.Is(err, gitrepo.ErrStale) {
		return err
	}
	if rerr := d.repo.Git.Refresh(ctx); rerr != nil {
		return errors.Join(err, rerr)
	}
	now := tips(d.repo)
	for _, h := range heads {
		if decide.ParseHash(now[strings.TrimPrefix(h.Ref, lifecycle.BranchRef(""))]) != h.Commit {
			return err
		}
	}
	return nil
}

// step carries one out: its head's check first, so that the request says what was set.
func (d *drafts) step(ctx context.Context, s *pulls.Step) Pulled {
	var unchecked error
	if s.Check != nil && s.Commit != "" {
		if unchecked = d.forge.Status(ctx, s.Commit, *s.Check); unchecked != nil && s.Action != pulls.ActionKeep {
			s.Unchecked(d.terms)
		}
	}
	out := Pulled{Repository: d.repo.Name, Step: *s}
	asked := s.Open
	if s.Open != nil {
		out.URL = s.Open.URL
	}
	switch s.Action {
	case pulls.ActionOpen:
		var made pulls.Open
		if made, out.Err = d.forge.Open(ctx, d.repo.Branch, s.Request.Branch, pulls.Content{Title: s.Title, Body: s.Body, Opening: s.Request.Opening}); made.Number > 0 {
			out.Open, out.URL, asked = &made, made.URL, &made
		}
		if errors.Is(out.Err, pulls.ErrNothing) { // it was merged meanwhile
			out.Action, out.Why, out.Err = pulls.ActionNone, out.Err.Error(), nil
		}
	case pulls.ActionUpdate:
		if s.Body != s.Open.Body || s.Title != s.Open.Title {
			out.Err = d.forge.Update(ctx, *s.Open, s.Title, s.Body)
		}
	case pulls.ActionClose:
		out.Err = d.forge.Close(ctx, s.Open.Number, s.Body, "Variform closes this: "+s.Why+".")
	}
	if s.Merge != "" && asked != nil && !(s.Action == pulls.ActionUpdate && out.Err != nil) {
		now := *asked
		now.Commit = s.Commit
		if err := d.forge.AutoMerge(ctx, now, s.Merge); err != nil {
			s.Unmerged(d.terms)
			unmerged := fmt.Errorf("having the forge merge %s by itself: %w", cmp.Or(asked.URL, s.Title), err)
			out.Err = errors.Join(out.Err, unmerged, d.forge.Update(ctx, now, s.Title, s.Body))
		}
	}
	out.Err = errors.Join(out.Err, unchecked)
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
		summary := report.Summary
		if len(report.Classes) == 1 { // which the title and the class itself have
			summary = fmt.Sprintf("%s of %s", count.Of(n, "variant"), report.Classes[0].Package)
		}
		texts[head] = review.Markdown(&review.Digest{Command: "review", Summary: summary, Changes: report, Findings: s.Findings(report.Classes)}, review.MarkdownLimit-footer-min(200*n, pulls.MarkLimit)) +
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

// TellRequests adds to what is said of Drafts where their requests stand, as Requests finds
// them. What it returns are repositories whose forge gave none.
func TellRequests(ctx context.Context, e *reconcile.Engine, plan *reconcile.Plan, o PullRequests) []Pulled {
	if !Kept(o.Fleet) {
		return nil
	}
	found, failed, err := Requests(ctx, e, plan.Items, o)
	for i, request := range found {
		i.Reasons = append(slices.Clone(i.Reasons), request.Says())
	}
	if err != nil {
		failed = append(failed, Pulled{Repository: "pull requests", Err: err})
	}
	return failed
}

// Requests finds the requests of Drafts, where apply keeps requests: elsewhere no forge
// is asked. Failed are repositories whose forge gave none.
func Requests(ctx context.Context, e *reconcile.Engine, items []*reconcile.Item, o PullRequests) (found map[*reconcile.Item]pulls.Open, failed []Pulled, err error) {
	type place struct {
		repo  *observe.Repo
		items map[string]*reconcile.Item // by the paths of their packages
		list  []pulls.Draft
	}
	by := map[string]*place{}
	for _, i := range items {
		repo := e.Downstream(i.Namespace, i.Repository)
		if i.Phase != lifecycle.Draft || i.Ref == "" || repo == nil || repo.Git == nil || repo.Annotations[v1alpha1.ReviewAnnotation] == "" {
			continue
		}
		at := repo.Git.URL() + "#" + repo.Branch
		if by[at] == nil {
			by[at] = &place{repo, map[string]*reconcile.Item{}, nil}
		}
		by[at].items[repo.Path(i.Package)] = i
		by[at].list = append(by[at].list, pulls.Draft{Path: repo.Path(i.Package), Branch: strings.TrimPrefix(i.Ref, lifecycle.BranchRef("")), Commit: i.Commit})
	}
	type answer struct {
		at  *place
		all []pulls.Open
		err error
	}
	var places []*place
	for _, key := range slices.Sorted(maps.Keys(by)) {
		places = append(places, by[key])
	}
	answers, err := observe.Parallel(ctx, cmp.Or(o.Concurrency, 1), places, func(ctx context.Context, p *place) answer {
		f, err := o.Forge(p.repo.Address, p.repo.Annotations[forge.Annotation])
		if err != nil {
			return answer{p, nil, err}
		}
		all, err := f.Requests(ctx, p.repo.Branch)
		return answer{p, all, err}
	})
	found = map[*reconcile.Item]pulls.Open{}
	for _, a := range answers {
		if a.err != nil {
			failed = append(failed, Pulled{Repository: a.at.repo.Name, Err: a.err})
			continue
		}
		branches := tips(a.at.repo)
		for path, request := range pulls.Standing(a.all, a.at.list) {
			request.Headless = branches[request.Branch] == ""
			found[a.at.items[path]] = request
		}
	}
	return found, failed, err
}
