package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/variform/variform/internal/count"
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
	out, plan, err := blame(ctx, e, names, take)
	if err != nil {
		return nil, nil, err
	}
	return out, plan.unread(), nil
}

// unread are the inputs of a plan that could not be read.
func (p *Plan) unread() []error {
	problems := p.Problems
	for _, set := range p.Sets {
		problems = append(problems, set.Failures...)
	}
	return problems
}

// ErrUnwanted is why Explain makes nothing of a package.
var ErrUnwanted = errors.New("no variant wants it")

// Explain is Blame of the packages that identities name. One that no variant wants does
// not stop the others: its Err is [ErrUnwanted], or, where part of the fleet could not be
// read, that it cannot be told.
func Explain[T any](ctx context.Context, e *Engine, ids []decide.Identity, take func(*krm.Package, *provenance.Origins) T) (out []*Blamed[T], problems []error, err error) {
	e.cfg.lenient = true
	defer func() { e.cfg.lenient = false }()
	var names []string
	for _, id := range ids {
		names = append(names, id.String())
	}
	out, plan, err := blame(ctx, e, names, take)
	if err != nil {
		return nil, nil, err
	}
	wanted := map[decide.Identity]bool{}
	for _, w := range plan.run.snapshot.Wants {
		wanted[w.Identity] = true
	}
	why, problems := ErrUnwanted, plan.unread()
	if len(problems) > 0 {
		why = errors.New("this run cannot tell whether a variant wants it: " + count.Of(len(problems), "input") + " could not be read")
	}
	for _, id := range ids {
		if !wanted[id] {
			out = append(out, &Blamed[T]{Identity: id, Err: why})
		}
	}
	return out, problems, nil
}

func blame[T any](ctx context.Context, e *Engine, names []string, take func(*krm.Package, *provenance.Origins) T) (out []*Blamed[T], plan *Plan, err error) {
	was := e.cfg
	defer func() { e.cfg = was }()
	e.cfg.Only, e.cfg.Invoke, e.cfg.invokeAll = decide.Selection{Names: names}, names, len(names) == 0
	e.cfg.take = func(p *krm.Package, from *provenance.Origins) any { return take(p, from) }
	if plan, err = e.Plan(ctx); err != nil {
		return nil, nil, err
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
	return out, plan, nil
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
