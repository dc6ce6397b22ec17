package observe

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/mutate"
	"github.com/variform/variform/internal/record"
)

// maxEarlier bounds the earlier revisions that are looked at for one that the
// registered branch was set back to.
const maxEarlier = 5

// ReadBranch finds what the registered branch holds of a package where that is
// not the latest Published revision: a Draft that was merged by other means than
// an approval, an earlier revision, or what others committed. It sets
// decide.Package.Branch; one caller at a time for each package.
func (r *Reader) ReadBranch(ctx context.Context, repo *Repo, p *decide.Package) error {
	if p.Branch != nil || repo.Head.IsZero() {
		return nil
	}
	there, err := repo.learn(ctx, p, repo.Head)
	if err != nil {
		return err
	}
	published, err := repo.learn(ctx, p, latestCommit(p))
	same := there == published
	if err == nil && !same {
		same, err = repo.learnSame(ctx, p, repo.Head, latestCommit(p))
		p.Reformatted = same
	}
	if err == nil && same && p.Unconfirmed() {
		err = repo.since(ctx, p)
	}
	if err != nil || same {
		return err
	}
	b := &decide.Branch{Tree: there}
	run, err := repo.run(ctx, p, b)
	if err != nil {
		return err
	}
	if !there.IsZero() {
		if err := repo.numbers(ctx, p, run.numbered, run.absent); err != nil || p.Lost != nil {
			return err
		}
		if !run.apart || run.short || b.Rewritten { // else what was Published last never was on the branch
			b.Reverted, err = repo.earlier(ctx, p, there)
		}
		merged := *b
		if err == nil {
			err = repo.readMerged(ctx, p, &merged, run)
		}
		if err == nil && !merged.Landed.IsZero() && merged.LandedTree != there {
			var same bool // apart from bookkeeping, as the next run sees it
			if same, err = repo.SameAt(ctx, p.Path, merged.Landed, repo.Head); same {
				merged.LandedTree = there
			}
		}
		if err != nil {
			return err
		}
		if m := merged.Merged; b.Reverted == nil || m != nil && m.Reverts != "" { // else people set it back there
			merged.Reverted = nil
			b = &merged
		}
	} else if p.Latest != nil {
		there, err := repo.standing(ctx)
		if err != nil {
			return err
		}
		b.Now = p.MovedTo(there)
	}
	p.Branch = b
	return nil
}

// standing are the folders of the registered branch that have a Kptfile and no tag, and
// who these say that they belong to. They are read once for each tip.
func (r *Repo) standing(ctx context.Context) ([]decide.OnBranch, error) {
	r.untagged.mu.Lock()
	defer r.untagged.mu.Unlock()
	if r.untagged.head == r.Head {
		return r.untagged.list, nil
	}
	head := gitrepo.Hash(r.Head)
	if err := r.Git.FetchOutline(ctx, head); err != nil {
		return nil, err
	}
	found, err := r.Git.Packages(ctx, head, r.Dir)
	if err != nil {
		return nil, err
	}
	var places []gitrepo.Place
	for _, at := range found {
		if refs := r.refs[at.Path]; at.Path != "" && (refs == nil || refs.Latest() == nil) {
			places = append(places, gitrepo.Place{Commit: head, Path: at.Path})
		}
	}
	if err := r.Git.FetchPlaces(ctx, places...); err != nil {
		return nil, err
	}
	var list []decide.OnBranch
	for _, at := range places {
		k, err := r.kptfileAt(ctx, r.Head, at.Path)
		if err != nil {
			return nil, err
		}
		if k != nil {
			owner, _ := mutate.OwnerOf(k)
			list = append(list, decide.OnBranch{Path: r.Below(at.Path), Owner: owner.Variant})
		}
	}
	r.untagged.head, r.untagged.list = r.Head, list
	return list, nil
}

// since is numbers of the newest commits since what was Published last, where the registered
// branch holds just that: a newer revision that was set back there may have lost its tag.
func (r *Repo) since(ctx context.Context, p *decide.Package) error {
	if r.Head == latestCommit(p) {
		return nil
	}
	commits, err := r.Git.FirstParents(ctx, gitrepo.Hash(r.Head), firstLine)
	if err != nil {
		return err
	}
	if at := slices.IndexFunc(commits, func(c *gitrepo.Commit) bool { return decide.Hash(c.Hash) == latestCommit(p) }); at >= 0 {
		commits = commits[:at]
	}
	return r.numbers(ctx, p, commits, func(int) bool { return false })
}

// numbers is noteNumbers, and reads the newest revision without a tag.
func (r *Repo) numbers(ctx context.Context, p *decide.Package, commits []*gitrepo.Commit, absent func(int) bool) error {
	noteNumbers(p, commits, absent)
	lost, ok, err := p.Untagged()
	if err != nil || !ok {
		return err
	}
	at := decide.Ref{Name: lifecycle.PublishedRef(p.Path, lost.Number), Hash: lost.Commit, Commit: lost.Commit}
	p.Lost, _, err = r.ReadPublished(ctx, p, decide.Published{Number: lost.Number, Ref: at})
	return err
}

// ReadNumbers notes which revisions of a package that has no tag commits of the registered
// branch published: it was deleted, and no number is used twice. As much as the record spares
// is not read.
func (r *Repo) ReadNumbers(ctx context.Context, p *decide.Package) error {
	if p.Latest != nil || r.Head.IsZero() {
		return nil
	}
	most := lineLimit
	if r.Recorded != nil {
		most = firstLine
	}
	commits, err := r.Git.FirstParents(ctx, gitrepo.Hash(r.Head), most)
	if err == nil {
		noteNumbers(p, commits, func(int) bool { return true })
	}
	return err
}

// deletedUntagged notes that a package without a tag was deleted on the registered branch: the branch
// came by the commit at which the record has its last revision, and held it there.
func deletedUntagged(ctx context.Context, r *Repo, p *decide.Package) error {
	last := decide.PublishedOnce(p)
	if last.Number == 0 || r.Head.IsZero() {
		return nil
	}
	commits, err := r.Git.FirstParents(ctx, gitrepo.Hash(r.Head), lineLimit)
	if err != nil || !slices.ContainsFunc(commits, func(c *gitrepo.Commit) bool { return decide.Hash(c.Hash) == last.Commit }) {
		return err
	}
	if was, err := r.learn(ctx, p, last.Commit); err != nil || was.IsZero() {
		return err
	}
	p.Branch = &decide.Branch{}
	return nil
}

// noteNumbers notes the revisions that these commits of the registered branch, newest first,
// published and whose tags are missing. It also notes the latest revision, because its tag
// may have been moved. absent reports whether a commit lacks the package.
func noteNumbers(p *decide.Package, commits []*gitrepo.Commit, absent func(int) bool) {
	p.Numbers = nil
	deleted := false
	for i, c := range commits {
		deleted = deleted || absent(i)
		for _, a := range c.Annotations {
			n, err := strconv.Atoi(a.Revision)
			if err == nil && n > 0 && a.Package == p.Path && (p.Latest != nil && p.Latest.Number == n || p.Tagged(decide.RevisionName(n)) == nil) {
				p.Numbers = append(p.Numbers, decide.Numbered{Number: n, Commit: decide.Hash(c.Hash), Deleted: deleted})
			}
		}
	}
}

// history is the branch's first-parent history of a package since its latest
// Published revision.
type history struct {
	*line
	path string
	// since are its commits, the newest first, without the one that brought that
	// revision; all that could be looked at, where that never was on the branch,
	// and apart is set. short says that more commits are behind.
	since        []*gitrepo.Commit
	apart, short bool
	// numbered are since and, where the tag was made beside the branch, the commit that
	// brought what it holds: that may say which revision it published.
	numbered []*gitrepo.Commit
	// came is the commit of since at which the present tree came.
	came int
}

// tree is the package in the commit of since at a position.
func (h *history) tree(i int) (decide.Hash, error) {
	tree, err := h.along.Tree(i, h.path)
	return decide.Hash(tree), err
}

// absent reports whether the package is not in the commit of since at a position.
func (h *history) absent(i int) bool {
	tree, err := h.tree(i)
	return err == nil && tree.IsZero()
}

// has says that a commit is one of since.
func (h *history) has(c gitrepo.Hash) bool {
	i, ok := h.at[c]
	return ok && i < len(h.since)
}

// run finds where the present unbroken run of the package's tree began.
func (r *Repo) run(ctx context.Context, p *decide.Package, b *decide.Branch) (*history, error) {
	h, err := r.lineTo(ctx, gitrepo.Hash(latestCommit(p)), p.Path)
	if err != nil {
		return nil, err
	}
	for h.came+1 < len(h.since) {
		tree, err := h.tree(h.came + 1)
		if err != nil {
			return nil, err
		}
		if tree != b.Tree {
			break
		}
		h.came++
	}
	h.numbered = h.since
	if err := r.join(p, h); err != nil {
		return nil, err
	}
	b.Rewritten = h.apart && !h.short && slices.ContainsFunc(p.Entries, func(e record.Entry) bool {
		return e.Place == record.Past && e.Commit == latestCommit(p).String()
	})
	at := h.since[h.came]
	b.Came = decide.Hash(at.Hash)
	if h.came+1 < len(h.since) || !h.short { // else it came before what was looked at
		b.By = at.Author.Name + " (" + at.Hash.String()[:7] + ")"
	}
	return h, nil
}

// join finds, where the latest Published revision's own commit is not on the
// branch (its tag was made beside it), the commit that brought the same tree.
func (r *Repo) join(p *decide.Package, h *history) error {
	published, _ := p.Tree(latestCommit(p))
	if !h.apart || published.IsZero() {
		return nil
	}
	for i := h.came + 1; i < len(h.since); i++ {
		tree, err := h.tree(i)
		if err != nil {
			return err
		}
		if tree == published {
			h.apart, h.since, h.numbered = false, h.since[:i], h.since[:i+1]
			return nil
		}
	}
	return nil
}

// earlier finds the earlier revision that held a tree, nil for none.
func (r *Repo) earlier(ctx context.Context, p *decide.Package, tree decide.Hash) (*decide.Revision, error) {
	for _, t := range p.Earlier(tree, maxEarlier) {
		old, held, err := r.ReadPublished(ctx, p, t)
		switch {
		case errors.Is(err, gitrepo.ErrMissingObject): // its tag has gone
		case err != nil:
			return nil, err
		case held == tree && (old.Approved || p.Tagged(decide.RevisionName(t.Number)) != nil): // else the record alone has it
			return old, nil
		}
	}
	return nil, nil
}

// ReadPublished reads an earlier Published revision of a package, and the tree that
// it held.
func (r *Repo) ReadPublished(ctx context.Context, p *decide.Package, t decide.Published) (*decide.Revision, decide.Hash, error) {
	tree, err := r.learn(ctx, p, t.Ref.Commit)
	if err != nil {
		return nil, tree, err
	}
	h := &head{path: p.Path, entries: p.Entries, Revision: &decide.Revision{Ref: t.Ref, Number: t.Number, Phase: lifecycle.Published}}
	return h.Revision, tree, r.walk(ctx, []*head{h})
}

// readMerged finds out whether a Draft was merged: its own commit stands in the
// branch's history, or came with a merge; its line of Porch's stands in what was
// squashed; or the Kptfile has another upstreamLock, which Drafts alone write.
func (r *Repo) readMerged(ctx context.Context, p *decide.Package, b *decide.Branch, run *history) error {
	k, err := r.kptfileAt(ctx, r.Head, p.Path)
	if err != nil || k == nil {
		return err
	}
	owner, _ := mutate.OwnerOf(k)
	b.Owner = owner.Variant
	drafted, whole, err := r.drafted(ctx, p, run)
	if err == nil {
		err = r.landed(ctx, p, b, run)
	}
	if err != nil {
		return err
	}
	gone, err := r.gone(ctx, p)
	if err != nil {
		return err
	}
	if b.Landed.IsZero() && !whole {
		if err := r.remembered(ctx, p, b, run, gone, drafted == nil); err != nil {
			return err
		}
	}
	if drafted != nil && b.Landed.IsZero() {
		b.Drafted, b.Workspace, b.Merged = true, drafted.Workspace, drafted.Machine
	}
	if drafted == nil && b.Landed.IsZero() {
		named, err := r.named(ctx, p, run)
		if err != nil {
			return err
		}
		if named != nil {
			b.Drafted, b.Workspace, b.Merged = true, named.Workspace, named.Machine
			if named.Phase.Open() {
				b.Draft = named
			}
		}
	}
	if p.Latest == nil {
		b.Drafted = b.Drafted || p.Open() == nil // whose annotation is there made it
		return nil
	}
	if run.apart || r.Recorded != nil && len(gone) == 0 {
		return nil // there is no Draft that could have been merged
	}
	was, err := r.kptfileAt(ctx, p.Latest.Ref.Commit, p.Path)
	if err != nil || was == nil {
		return err
	}
	old, now := mutate.Lock(was), mutate.Lock(k)
	b.Drafted = b.Drafted || now != nil && (old == nil || *old != *now)
	return nil
}

// gone are what the record knows of Drafts whose branches have gone, under any name. One that is
// Published as it was, as far as is known in its workspace, is none: a record that was set
// back does not know of its approval.
func (r *Repo) gone(ctx context.Context, p *decide.Package) (out []record.Entry, err error) {
	for _, e := range p.Entries {
		open := func(o *decide.Revision) bool { return o.Phase.Open() && o.Named(e.Workspace) }
		if e.Place != record.Open || slices.ContainsFunc(p.Heads(), open) {
			continue
		}
		became, tree := p.Latest, decide.ParseHash(e.Tree)
		if published, _ := p.Tree(latestCommit(p)); became != nil && tree != published {
			if became, err = r.earlier(ctx, p, tree); err != nil {
				return nil, err
			}
		}
		if became != nil {
			as := publishedAs(p, became)
			if as == e.Workspace || as == "" && e.Reverts == "" {
				continue
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// remembered finds the commit at which a Draft came whose branch has gone: the oldest
// that has the package of its entry in the record. Where that is the Draft's own
// commit, those that follow may be the Draft's too, and it is looked for the first
// that is not; others' commits count where no own one is behind what stands there.
func (r *Repo) remembered(ctx context.Context, p *decide.Package, b *decide.Branch, run *history, gone []record.Entry, others bool) error {
	if len(gone) == 0 {
		return nil
	}
	for i := len(run.since) - 1; i >= 0; i-- {
		tree, err := run.tree(i)
		if err != nil {
			return err
		}
		for _, e := range gone {
			own := slices.ContainsFunc(run.since[i].Annotations, func(a gitrepo.Annotation) bool { return a.Package == p.Path })
			if e.Tree == tree.String() && own {
				return r.followed(p, b, run, i+1)
			}
			if e.Tree == tree.String() && others {
				b.Landed, b.LandedTree = decide.Hash(run.since[i].Hash), tree
				b.Workspace, b.Owner = e.Workspace, e.Owner
				b.Merged = b.Merged.Merged(e)
				return nil
			}
		}
	}
	return nil
}

// followed finds the end of a Draft that was rebased or fast-forwarded: the first n
// commits of a run are its own commit, the last, and all that came after. What a
// merge brought is none of it, nor what another committed than who rebased it, nor
// what took the package away or set it back to what is Published. Where all may be the
// Draft's, it was merged as it stands.
func (r *Repo) followed(p *decide.Package, b *decide.Branch, run *history, n int) error {
	since := run.since[:n]
	own := since[len(since)-1]
	last, tree := own, decide.Hash{}
	published, _ := p.Tree(latestCommit(p))
	for i := len(since) - 1; i >= 0; i-- {
		c := since[i]
		now, err := run.tree(i)
		switch rebased := own.Committer.Email != MachineEmail; {
		case err != nil:
			return err
		case now == tree:
		case now.IsZero() || now == published || len(c.Parents) > 1 || rebased && c.Committer.Email != own.Committer.Email:
			h := &head{path: p.Path, Revision: &decide.Revision{}}
			h.visit(own)
			b.Landed, b.LandedTree = decide.Hash(last.Hash), tree
			b.Workspace, b.Owner, b.Merged = h.Workspace, h.Owner, h.Machine
			return nil
		default:
			last, tree = c, now
		}
	}
	return nil
}

// drafted is the newest Draft's commit that came to the branch since the latest
// Published revision, nil for none; whole says that a merge brought it with what stands
// there now, whatever of it had come before.
func (r *Repo) drafted(ctx context.Context, p *decide.Package, run *history) (found *head, whole bool, err error) {
	of := func(c *gitrepo.Commit) *head {
		for _, a := range c.Annotations {
			if a.Package == p.Path && a.Revision == "" && a.WorkspaceName != "" && !isPublished(p, a.WorkspaceName) {
				h := &head{path: p.Path, Revision: &decide.Revision{Workspace: a.WorkspaceName}, entries: p.Entries}
				h.visit(c)
				return h
			}
		}
		return nil
	}
	since := run.since
	if run.apart {
		since = since[:run.came+1]
	}
	for i, c := range since {
		if h := of(c); h != nil {
			return h, false, nil
		}
		if i != run.came || !isMerge(c, p.Path) {
			continue
		}
		if _, err := r.Git.FindAncestors(ctx, c.Parents[1:2], walkLimit, func(_ int, c *gitrepo.Commit) bool {
			if run.has(c.Hash) || c.Hash == gitrepo.Hash(latestCommit(p)) {
				return true // of the branch
			}
			found = of(c)
			return found != nil || len(c.Annotations) > 0
		}); err != nil || found != nil {
			return found, found != nil, err
		}
	}
	return nil, false, nil
}

// isPublished says that a workspace is a revision's already: who began at its commit brings
// a hotfix.
func isPublished(p *decide.Package, workspace string) bool {
	return p.Latest != nil && publishedAs(p, p.Latest) == workspace || slices.ContainsFunc(p.Entries, func(e record.Entry) bool {
		return e.Place == record.Past && e.Workspace == workspace && p.Tagged(decide.RevisionName(e.Revision)) != nil
	})
}

// isMerge says that a commit merges something, and is no approval of the package.
func isMerge(c *gitrepo.Commit, path string) bool {
	return len(c.Parents) > 1 && !slices.ContainsFunc(c.Annotations, func(a gitrepo.Annotation) bool { return a.Package == path })
}

// named is the Draft that came with the head of a request, nil for none: what stands on the
// branch came with a merge of one, whose message names a Draft and which has its package.
// The head is no Draft's commit, and people may have committed to it before they merged it.
func (r *Repo) named(ctx context.Context, p *decide.Package, run *history) (*decide.Revision, error) {
	if run.came >= len(run.since) || !isMerge(run.since[run.came], p.Path) {
		return nil, nil
	}
	merge := run.since[run.came]
	draft := func(c *gitrepo.Commit) (at decide.Hash) {
		for _, place := range gitrepo.ParseHead(c.Message) {
			if place.Path == p.Path {
				at = decide.Hash(place.Commit)
			}
		}
		return at
	}
	found, err := r.Git.FindAncestors(ctx, merge.Parents[1:2], walkLimit, func(_ int, c *gitrepo.Commit) bool {
		return run.has(c.Hash) || c.Hash == gitrepo.Hash(latestCommit(p)) || len(c.Annotations) > 0 || !draft(c).IsZero()
	})
	if err != nil || found[0] == nil || draft(found[0]).IsZero() {
		return nil, err
	}
	head := found[0]
	made, tree, err := r.draftAt(ctx, p, draft(head))
	if err != nil || made == nil || isPublished(p, made.Workspace) {
		return nil, err
	}
	// A branch that was begun before has the branch's own commits, too.
	old, err := r.Git.FindAncestors(ctx, merge.Parents[:1], walkLimit, func(_ int, c *gitrepo.Commit) bool { return c.Hash == head.Hash })
	if err != nil || old[0] != nil {
		return nil, err
	}
	has, err := r.TreeAt(ctx, decide.Hash(head.Hash), p.Path)
	if errors.Is(err, gitrepo.ErrMissingObject) || has != tree {
		return nil, nil
	}
	return made, err
}

// draftAt is the Draft that the machine made with a commit, and its package: one that is
// open, or that the record knows of; nil for none.
func (r *Repo) draftAt(ctx context.Context, p *decide.Package, commit decide.Hash) (made *decide.Revision, tree decide.Hash, err error) {
	for _, e := range p.Entries {
		if e.Place == record.Open && e.Commit == commit.String() {
			var none *decide.Machine
			made, tree = &decide.Revision{Workspace: e.Workspace, Owner: e.Owner, Machine: none.Merged(e)}, decide.ParseHash(e.Tree)
		}
	}
	for _, o := range p.Revisions {
		if o.Phase.Open() && o.Ref.Commit == commit {
			if made = o; tree.IsZero() {
				tree, err = r.TreeAt(ctx, commit, p.Path)
			}
		}
	}
	if made != nil && made.Machine == nil {
		made = nil
	}
	return made, tree, err
}

// landed finds an open Draft whose content, or an earlier one of which, the
// branch has held since the latest Published revision: it was merged there, and
// then the branch, or the Draft, went on.
func (r *Repo) landed(ctx context.Context, p *decide.Package, b *decide.Branch, run *history) error {
	var trees []decide.Hash // of run.since
	published, _ := p.Tree(latestCommit(p))
	if p.Open() != nil {
		for i := range run.since {
			tree, err := run.tree(i)
			if err != nil {
				return err
			}
			trees = append(trees, tree)
		}
	}
	for _, o := range p.Revisions {
		if !o.Phase.Open() || o.Machine == nil {
			continue
		}
		since := trees // those that came after what the Draft was made upon
		if at := slices.IndexFunc(trees, func(t decide.Hash) bool {
			return o.Inputs.Main != "" && (&decide.Branch{Tree: t}).Main() == o.Inputs.Main
		}); at >= 0 {
			since = trees[:at]
		}
		commits, err := r.behindTip(ctx, p, o, run.has)
		if err != nil {
			return err
		}
		for _, c := range commits {
			tree, err := r.TreeAt(ctx, decide.Hash(c), p.Path)
			if err != nil {
				return err
			}
			i := len(since) - 1 // the oldest that has it
			for i >= 0 && since[i] != tree {
				i--
			}
			if tree == published && !tree.IsZero() && publishedAs(p, p.Latest) == o.Workspace {
				break // it was merged before: older content of it on the branch was set back
			}
			if i < 0 || tree.IsZero() || tree == published {
				continue
			}
			b.Landed, b.LandedTree = decide.Hash(run.since[i].Hash), tree
			if decide.Hash(c) == o.Ref.Commit {
				b.Draft = o
			} else { // it went on since
				at := decide.Ref{Name: o.Ref.Name, Hash: decide.Hash(c), Commit: decide.Hash(c)}
				h := &head{path: p.Path, entries: p.Entries, Revision: &decide.Revision{Ref: at, Workspace: o.Workspace, Phase: o.Phase}}
				if err := r.walk(ctx, []*head{h}); err != nil {
					return err
				}
				o = h.Revision
			}
			b.Workspace, b.Owner, b.Merged = o.Workspace, o.Owner, o.Machine
			return nil
		}
	}
	return nil
}

// publishedAs is the workspace of a Published revision, by the record where commits do not
// say: those of a rebase have lost it.
func publishedAs(p *decide.Package, r *decide.Revision) string {
	for _, e := range p.Entries {
		if e.Place == record.Past && r.Workspace == "" && e.Commit == r.Ref.Commit.String() {
			return e.Workspace
		}
	}
	return r.Workspace
}

// behindTip are the commits of an open revision from its tip to the first that
// made it. Where none of its own did, for a person began the branch, they end where
// it began: at a commit that is on the branch.
func (r *Repo) behindTip(ctx context.Context, p *decide.Package, o *decide.Revision, on func(gitrepo.Hash) bool) ([]gitrepo.Hash, error) {
	b := &behind{path: p.Path, Revision: o}
	if err := r.walkBehind(ctx, []*behind{b}); err != nil {
		return nil, err
	}
	commits := b.commits
	if began := slices.IndexFunc(commits, on); b.own > 0 {
		commits = commits[:b.own]
	} else if began >= 0 {
		commits = commits[:began]
	}
	return commits, r.Git.FetchPlaces(ctx, r.unknown(p.Path, commits)...)
}

// behind is an open revision of the package at a path, whose commits are looked for.
type behind struct {
	path string
	*decide.Revision
	commits []gitrepo.Hash // from its tip on
	own     int            // how many of them lead to the first that made it
	next    gitrepo.Hash
	last    gitrepo.Hash // that was made of it and of another, where there is one
}

// visit takes a commit in, and says that it is the last: those that were there before, too,
// come once more where history is read in steps.
func (b *behind) visit(c *gitrepo.Commit) bool {
	switch c.Hash {
	case b.last:
		return true
	case b.next:
	default:
		return false
	}
	own, others := false, false // both where people squashed it with what is below
	for _, a := range c.Annotations {
		switch {
		case a.Package != b.path:
		case a.Revision != "" || a.WorkspaceName != b.Workspace:
			others = true
		default:
			own = true
		}
	}
	if others && !own {
		return true
	}
	b.commits, b.next = append(b.commits, c.Hash), gitrepo.Hash{}
	if own {
		b.own = len(b.commits)
	}
	if others {
		b.last = c.Hash
		return true
	}
	if len(c.Parents) > 0 {
		b.next = c.Parents[0]
	}
	return len(c.Parents) == 0
}

// walkBehind finds the commits of several, in requests for all of them.
func (r *Repo) walkBehind(ctx context.Context, list []*behind) error {
	tips := make([]gitrepo.Hash, len(list))
	for i, b := range list {
		tips[i], b.next = gitrepo.Hash(b.Ref.Commit), gitrepo.Hash(b.Ref.Commit)
	}
	_, err := r.Git.FindAncestors(ctx, tips, walkLimit, func(i int, c *gitrepo.Commit) bool { return list[i].visit(c) })
	return err
}

// fetchBehind brings what behindTip reads of several. Who needs what could not be read
// asks again: one whose history cannot be had hinders no other.
func (r *Repo) fetchBehind(ctx context.Context, list []*behind) {
	r.fetchLine(ctx) // which ReadBranch reads: what Drafts are made upon is there then
	_ = r.walkBehind(ctx, list)
	var places []gitrepo.Place
	for _, b := range list {
		places = append(places, r.unknown(b.path, b.commits[:b.own])...)
	}
	_ = r.Git.FetchPlaces(ctx, places...)
}

// unknown are the ways to a path in the commits of which it is not known which tree they
// have there.
func (r *Repo) unknown(path string, commits []gitrepo.Hash) []gitrepo.Place {
	return ways(slices.DeleteFunc(slices.Clone(commits), func(c gitrepo.Hash) bool {
		_, known := r.Git.KnownTreeAt(c, path)
		return known
	}), path)
}

// Stood is a package as it stood on the registered branch when its tree was that
// of a decide.Inputs.Main, nil where it never was as far as was looked.
func (r *Repo) Stood(ctx context.Context, path, main string) (*krm.Package, error) {
	var commits []gitrepo.Hash
	if _, err := r.Git.FindAncestors(ctx, []gitrepo.Hash{gitrepo.Hash(r.Head)}, walkLimit, func(_ int, c *gitrepo.Commit) bool {
		if !slices.Contains(commits, c.Hash) {
			commits = append(commits, c.Hash)
		}
		return false
	}); err != nil {
		return nil, err
	}
	if err := r.Git.FetchPlaces(ctx, r.unknown(path, commits)...); err != nil {
		return nil, err
	}
	for _, c := range commits {
		tree, err := r.TreeAt(ctx, decide.Hash(c), path)
		if err != nil {
			return nil, err
		}
		if !tree.IsZero() && (&decide.Branch{Tree: tree}).Main() == main {
			_, p, err := r.ReadPackage(ctx, decide.Hash(c), path)
			return p, err
		}
	}
	return nil, nil
}
