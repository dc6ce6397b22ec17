package reconcile

import (
	"path"
	"strings"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/depend"
	"github.com/variform/variform/internal/review"
)

// Change is what the item's action would change, in review's terms, against
// the open Draft or, without one, what a reviewer compares with. It is false
// for an item for which nothing was built.
func (i *Item) Change() (review.Change, bool) {
	if i.After == nil || !i.Action.Pending() {
		return review.Change{}, false
	}
	from := i.Before
	if from == nil {
		from = i.Base
	}
	upstream, _, _ := strings.Cut(i.Upstream, "@")
	if i.Lock {
		upstream = depend.LockPackage
	}
	return review.Change{
		Variant: i.Identity.String(), Namespace: i.Namespace, Set: setOf(i.Namespace, i.Set), Package: upstream, Versions: versionsOf(from, i.After, i.Before == nil && i.Action == decide.ActionCreate), Before: from, After: i.After, Machine: i.Machine, Version: i.Commit,
		First: i.Before == nil && i.Action == decide.ActionCreate, Aliases: i.Aliases(), Attention: strings.Join(i.Attention, "; "), Marks: marks(failure(i.Err), i.Invalid, i.Lost, false, "", nil),
	}, true
}

// Aliases maps the variant's own names to placeholders, as in review.Change.
// A name that the upstream has too says nothing about the variant.
func (i *Item) Aliases() map[string]string {
	upstream, _, _ := strings.Cut(i.Upstream, "@")
	out := aliases(i.Identity, i.Name, path.Base(upstream))
	if i.Variant != nil && i.Variant.Spec.Upstream != nil {
		delete(out, i.Variant.Spec.Upstream.Repo)
		delete(out, path.Base(i.Variant.Spec.Upstream.Package))
	}
	return out
}

func failure(err error) string {
	if err == nil {
		return ""
	}
	return "it fails: " + err.Error()
}
