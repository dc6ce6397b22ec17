package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/variform/variform/internal/decide"
	"github.com/variform/variform/internal/krm"
	"github.com/variform/variform/internal/provenance"
)

// Blamed is one package as the inputs of now make it: with its open Draft's edits, where
// there is one.
type Blamed[T any] struct {
	decide.Identity
	Name, Set, Upstream string
	// Taken is what Blame's take gave of it.
	Taken T
	// Approved is when the commit of the latest Published revision was made; zero for
	// none.
	Approved time.Time
	// Err is why it was not made.
	Err error
}

// Blame makes the packages that names mean, or all, once more, and gives each to take
// with where its values come from, many at once: a package is let go then, a fleet of them
// is not kept. What take gave of each is returned, in order. Nothing is written. It needs
// Config.Blame.
func Blame[T any](ctx context.Context, e *Engine, names []string, take func(*krm.Package, *provenance.Origins) T) (out []*Blamed[T], problems []error, err error) {
	was := e.cfg
	defer func() { e.cfg = was }()
	e.cfg.Only, e.cfg.Invoke, e.cfg.invokeAll = decide.Selection{Names: names}, names, len(names) == 0
	e.cfg.take = func(p *krm.Package, from *provenance.Origins) any { return take(p, from) }
	plan, err := e.Plan(ctx)
	if err != nil {
		return nil, nil, err
	}
	problems = plan.Problems
	for _, set := range plan.Sets {
		problems = append(problems, set.Failures...)
	}
	items := slices.DeleteFunc(slices.Clone(plan.Items), func(i *Item) bool { return i.Lock || i.want == nil })
	meant, _ := decide.Meant(decide.Selection{Names: names}, items, func(i *Item) decide.Selectable {
		return decide.Selectable{Names: i.want.Names}
	}) // those that these need were made besides; names that mean nothing were refused
	for _, i := range meant {
		taken, made := i.taken.(T)
		b := &Blamed[T]{Identity: i.Identity, Name: i.Name, Set: i.Set, Upstream: i.Upstream, Taken: taken, Approved: e.approved(i.Identity), Err: i.Err}
		if !made && b.Err == nil {
			if len(names) == 0 && e.deleted(i.Identity) {
				continue // there is none, and nobody asked for it
			}
			b.Err = errors.New(unmadeBecause(i))
		}
		if n := len(out); n > 0 && out[n-1].Identity == b.Identity { // a Published revision beside its Draft
			if made {
				out[n-1] = b
			}
			continue
		}
		out = append(out, b)
	}
	return out, problems, nil
}

// deleted says that people deleted a package on its registered branch.
func (e *Engine) deleted(id decide.Identity) bool {
	repo := e.Downstream(id.Namespace, id.Repository)
	return repo != nil && repo.Package(repo.Path(id.Package)).Branch.Deleted()
}

// approved is when a package was last Published, zero for never.
func (e *Engine) approved(id decide.Identity) time.Time {
	if repo := e.Downstream(id.Namespace, id.Repository); repo != nil {
		if latest := repo.Package(repo.Path(id.Package)).Latest; latest != nil {
			return latest.When
		}
	}
	return time.Time{}
}

// unmadeBecause says why there is nothing to blame of an item.
func unmadeBecause(i *Item) string {
	text := fmt.Sprintf("it is not made in this run: %s", i.Action)
	for _, r := range i.Reasons {
		text += ", " + r
	}
	return text
}
