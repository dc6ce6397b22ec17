package reconcile

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/variform/variform/api/config/v1alpha1"
	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/lifecycle"
	"github.com/variform/variform/internal/observe"
)

// Behind is an upstream revision that a set or a variant names, with a newer one
// Published.
type Behind struct {
	Set      string // "" for variants that no set made
	Upstream string // repository/package
	Current  string // the ref that the set or variant names
	Newest   string // the ref of the highest Published revision
	Variants []string
}

// FindBehind lists the upstream revisions that sets and variants pin and that have a newer
// Published revision, sorted by upstream, set and current revision. Upstreams that
// follow the newest revision are never behind. Problems are upstreams that could not
// be read, each once.
func FindBehind(ctx context.Context, e *Engine) (out []Behind, problems []error) {
	s := e.read.Read(ctx)
	problems = s.Problems
	var pinned []*decide.Want
	for _, w := range s.Wants {
		if u := w.Upstream(); u != nil && !w.Derived && !lifecycle.Follows(*u) {
			pinned = append(pinned, w)
		}
	}
	e.read.ReadUpstreams(ctx, pinned)
	observe.ReadNewest(ctx, e.read, pinned)
	type key struct{ set, upstream, current, newest string }
	variants, told := map[key][]string{}, map[string]bool{}
	for _, w := range pinned {
		u := w.Upstream()
		current, newest := e.read.UpstreamOf(ctx, w), e.read.ReadUpstream(ctx, w.Namespace, v1alpha1.Upstream{Repo: u.Repo, Package: u.Package})
		if err := errors.Join(current.Err, newest.Err); err != nil {
			if !told[err.Error()] {
				problems = append(problems, err)
			}
			told[err.Error()] = true
			continue
		}
		if k := (key{w.Set, u.Repo + "/" + u.Package, current.Ref(), newest.Ref()}); k.current != k.newest {
			variants[k] = append(variants[k], w.Identity.String())
		}
	}
	for k, names := range variants {
		slices.Sort(names)
		out = append(out, Behind{k.set, k.upstream, k.current, k.newest, names})
	}
	slices.SortFunc(out, func(a, b Behind) int {
		return cmp.Or(cmp.Compare(a.Upstream, b.Upstream), cmp.Compare(a.Set, b.Set), cmp.Compare(a.Current, b.Current))
	})
	return out, problems
}
