package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/variform/variform/internal/gitrepo"
	"github.com/variform/variform/internal/lifecycle"
)

// A new Draft's push is conditional on its branch not being there: Git can make
// a push conditional only on the refs that it moves. While the push is on its
// way another run may make the same Draft, and someone propose or publish it,
// which takes the branch away again; then the push goes through, and the
// workspace is there twice. What this run made so is withdrawn at once
// (overtaken); what a run made that died there, by the next one (isSurplus).

// isSurplus reports whether all of a Draft stands in a revision that its
// workspace became meanwhile.
func (s *state) isSurplus(h *head) bool {
	if h.Lifecycle != gitrepo.Draft {
		return false
	}
	for _, o := range s.heads {
		if o.workspace != h.workspace {
			continue
		}
		switch {
		case o.Lifecycle == gitrepo.Proposed && (o.Ref.Commit == h.Ref.Commit || o.machine != nil && o.machine.Hash == h.Ref.Commit),
			o.Number > 0 && slices.Contains(o.commit.Parents, h.Ref.Commit):
			return true
		}
	}
	return false
}

// discardSurplus plans the removal of a variant's surplus Drafts.
func (e *Engine) discardSurplus(w *work, base *Item) []*Item {
	var items []*Item
	for _, h := range w.state.surplus {
		if !e.mine(h.owner, w.Namespace) {
			continue
		}
		item, n := *base, *w
		n.from = h
		item.Action, item.Reasons = Discard, []string{"all of it was proposed or published meanwhile"}
		item.Path, item.Workspace, item.Phase = w.state.path, h.workspace, lifecycle.Draft
		item.Ref, item.Commit = h.Ref.Name, h.Ref.Commit.String()
		item.write = &write{work: &n}
		items = append(items, &item)
	}
	return items
}

// overtaken withdraws the Drafts just made whose package was taken on by
// others meanwhile, but none that has moved since. It returns their items, to
// be planned again, and a *gitrepo.StaleError that names what had come.
func (e *Engine) overtaken(ctx context.Context, git *gitrepo.Repo, items []*Item) ([]*Item, error) {
	items = slices.DeleteFunc(slices.Clone(items), func(i *Item) bool { return !i.makesDraft() })
	if len(items) == 0 {
		return nil, nil
	}
	if err := git.Refresh(ctx); err != nil {
		return nil, nil //nolint:nilerr // the push is done: what cannot be seen now, the next run sees
	}
	var back []*Item
	stale := &gitrepo.StaleError{URL: git.URL()}
	for _, i := range items {
		came := i.write.work.came(git.Index("").Package(i.Path), i.Ref)
		if len(came) == 0 {
			continue
		}
		b := git.NewBatch()
		if err := b.Delete(i.Ref, parseHash(i.Commit)); err != nil {
			return nil, err
		}
		if _, err := b.Push(ctx, gitrepo.PushOptions{}); err == nil {
			back, stale.Refs = append(back, i), append(stale.Refs, came...)
		}
	}
	if len(back) == 0 {
		return nil, nil
	}
	slices.SortFunc(stale.Refs, func(a, b gitrepo.StaleRef) int { return strings.Compare(a.Name, b.Name) })
	return back, fmt.Errorf("withdrawing Drafts: %w", stale)
}

// makesDraft reports whether an item makes a branch for a new Draft.
func (i *Item) makesDraft() bool {
	if i.Action == Fail || i.write.work == nil || i.Action == Tag || i.Action == Discard {
		return false
	}
	from := i.write.work.from
	return from == nil || from.Number > 0
}

// came lists the open revisions and the publications of a package that were not
// there when the work was planned, but for the Draft that it made.
func (w *work) came(now *gitrepo.PackageRefs, made string) []gitrepo.StaleRef {
	known := map[string]bool{made: true}
	list := func(p *gitrepo.PackageRefs) []gitrepo.Revision {
		return slices.Concat(p.Drafts, p.Proposed, p.Published)
	}
	for _, r := range list(w.state.refs) {
		known[r.Ref.Name] = true
	}
	var out []gitrepo.StaleRef
	for _, r := range list(now) {
		if !known[r.Ref.Name] {
			out = append(out, gitrepo.StaleRef{Name: r.Ref.Name, Actual: r.Ref.Hash})
		}
	}
	return out
}
